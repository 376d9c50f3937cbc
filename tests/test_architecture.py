"""Dependencies run one way, and the mathematics knows no scikit-learn."""

import ast
import graphlib
import sys
from pathlib import Path

import pytest

import skci

PACKAGE = Path(skci.__file__).parent

# Rooms may import from those listed before them, and the libraries named. A room is a
# folder, or a module beside the folders; those of the last set are entry points.
ROOMS = {
    "_arrays": {"numpy"},
    "_validation": {"numpy"},
    "_versions": set(),
    "exceptions": set(),
    "measures": {"numpy", "scipy"},
    "inference": {"numpy", "scipy"},
    "data": {"array_api_compat", "dask", "numpy", "narwhals", "pyarrow", "sklearn"},
    "reports": {"numpy", "scipy", "sklearn", "pandas", "matplotlib"},
    "metrics": {"numpy", "scipy", "sklearn"},
    "resampling": {"numpy", "sklearn"},
}
ENTRY_POINTS = {
    "accumulation",
    "calibration",
    "classification",
    "cli",
    "curves",
    "evaluation",
    "folds",
    "independent",
    "intervals",
    "learning_curves",
    "model_selection",
    "planning",
    "refit",
    "scorers",
    "scoring",
    "searching",
}
BUILT_ON = {
    "cli": {"accumulation", "planning"},
    "scorers": {"evaluation"},
    "searching": {"model_selection"},
}
"""Entry points that are made from others, and these."""
ENTRY_LIBRARIES = {"numpy", "scipy", "sklearn"}

MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.stem not in ("__init__", "__main__")
}


def imports_of(module):
    """Names that a module imports, wherever in it; those of skci without the prefix."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [n for n in inner if n.removeprefix("skci.") in MODULES]
            yield from known or [node.module]


def room_of(module):
    return module.partition(".")[0]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_downward(module):
    room = room_of(module)
    assert room in ROOMS or room in ENTRY_POINTS, f"{room} has no place in the order"
    order = list(ROOMS)
    below = set(order[: order.index(room)] if room in ROOMS else order)
    libraries = ROOMS.get(room, ENTRY_LIBRARIES)
    for imported in imports_of(module):
        top = imported.partition(".")[0]
        if top == "skci":
            other = room_of(imported.removeprefix("skci."))
            allowed = below | {room} | BUILT_ON.get(room, set())
            assert other in allowed, f"{module} imports {imported}"
        else:
            allowed = libraries | sys.stdlib_module_names
            assert top in allowed, f"{module} imports {imported}"
            assert "._" not in imported, f"{module} imports the private {imported}"


def test_all_reports_and_displays_are_in_one_room():
    names = [name for name in skci.__all__ if name.endswith(("Report", "Display"))]
    modules = {name: getattr(skci, name).__module__ for name in names}
    rooms = {name: room_of(module[len("skci.") :]) for name, module in modules.items()}
    assert set(rooms.values()) == {"reports"}, rooms


def test_no_modules_import_each_other():
    graph = {
        module: {
            imported.removeprefix("skci.")
            for imported in imports_of(module)
            if imported.removeprefix("skci.") in MODULES
        }
        for module in MODULES
    }
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_module_is_too_long_to_read():
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines())
        for name, path in MODULES.items()
    }
    assert max(lengths.values()) < 600, lengths
