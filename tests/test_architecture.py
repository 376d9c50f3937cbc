"""Dependencies run one way, public names, and ``show_versions``."""

import ast
import graphlib
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import requires, version
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import skci
from skci import _packages

PACKAGE = Path(skci.__file__).parent
ROOT = Path(__file__).parents[1]

# Rooms may import from those listed before them, and the libraries named. A room is a
# folder, or a module beside the folders; those of the last set are entry points.
ROOMS = {
    "_arrays": {"numpy"},
    "_options": set(),
    "_packages": set(),
    "_threads": {"threadpoolctl"},
    "_validation": {"numpy"},
    "_progress": set(),
    "exceptions": set(),
    "measures": {"numpy", "scipy"},
    "inference": {"numpy", "scipy"},
    "data": {"array_api_compat", "dask", "numpy", "narwhals", "pyarrow", "sklearn"},
    "reports": {"numpy", "scipy", "sklearn", "pandas", "matplotlib"},
    "metrics": {"numpy", "scipy", "sklearn"},
    "resampling": {"numpy", "sklearn"},
}
ENTRY_POINTS = {
    *("accumulation", "agreement", "cli", "cross_validation", "curves", "designs"),
    *("evaluation", "grades", "importance", "intervals", "labelling", "logs"),
    *("planning", "readers", "sequential", "textbook", "uplift", "votes"),
}
BUILT_ON = {
    **{
        name: {"evaluation"}
        for name in (
            *("accumulation", "cross_validation", "curves", "importance"),
            *("intervals", "uplift"),
        )
    },
    **{name: {"grades"} for name in ("agreement", "logs")},
    "cli": {
        *("accumulation", "designs", "evaluation", "grades", "logs", "planning"),
        *("readers", "sequential", "votes"),
    },
    "planning": {"labelling"},
    "sequential": {"accumulation", "grades"},
    "textbook": {"cross_validation", "grades", "intervals"},
}
"""Entry points that are made or described by others, and these."""
ENTRY_LIBRARIES = {"numpy", "scipy", "sklearn"}
APPLICATIONS = {
    *("agreement", "curves", "evaluation", "grades", "importance", "intervals"),
    *("labelling", "planning", "textbook", "uplift", "votes"),
}
PRIVATE = {
    "intervals": {"_joint", "_position"},
    "planning": {"_measure"},
    "textbook": {"_joint", "_parameter"},
    "uplift": {"_display", "_title"},
}
"""Private attributes of estimates and metrics that some applications read."""

NOT_PUBLIC = {
    **{"agreement": 9, "curves": 22, "evaluation": 38, "grades": 32, "importance": 14},
    **{"intervals": 14, "labelling": 7, "planning": 7, "textbook": 6, "votes": 18},
    "uplift": 11,
}
"""Number of names of the core that applications import and that are not public.

It may fall. Other applications, such as those of the documentation, need none.
"""

PUBLIC_MODULES = [
    *("designs", "exceptions", "inference", "logs", "metrics", "planning", "readers"),
    *("reports", "resampling", "textbook"),
]

MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.parent != PACKAGE or path.stem not in ("__init__", "__main__")
}


@cache
def nodes_of(module):
    """The syntax tree of a module, node by node."""
    return [*ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))]


def imports_of(module):
    """Names that a module imports, wherever in it; those of skci without the prefix."""
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            packages = [f"{name}.__init__" for name in inner]
            known = [n for n in inner + packages if n.removeprefix("skci.") in MODULES]
            yield from known or [node.module]


IMPORTS = {(module, imported) for module in MODULES for imported in imports_of(module)}


def room_of(module):
    return module.partition(".")[0]


def test_installing_is_by_a_clone():
    # The package is in no registry.
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.rst"), *PACKAGE.glob("**/*.py")]
    wrong = re.compile(r"install '?\"?skci\b")
    assert not [page for page in pages if wrong.search(page.read_text())]


def test_imports_point_downward():
    assert set(map(room_of, MODULES)) == ROOMS.keys() | ENTRY_POINTS
    order, upward = list(ROOMS), []
    for module, imported in IMPORTS:
        room, (top, _, inner) = room_of(module), imported.partition(".")
        known = top in ROOMS.get(room, ENTRY_LIBRARIES) | sys.stdlib_module_names
        if top == "skci":
            below = order[: order.index(room)] if room in ROOMS else order
            known = room_of(inner) in {*below, room} | BUILT_ON.get(room, set())
        if not known:
            upward.append((module, imported))
    assert not upward


def test_no_private_names_of_other_libraries_are_imported():
    private = re.compile(r"(?!skci).*\._|sklearn\.externals")
    assert not [pair for pair in IMPORTS if private.match(pair[1])]


def public_names():
    modules = [getattr(skci, name) for name in PUBLIC_MODULES]
    return {*skci.__all__}.union(*(module.__all__ for module in modules))


@pytest.mark.parametrize("module", sorted(APPLICATIONS))
def test_applications_use_what_is_public_in_the_core(module):
    core = re.compile(r"skci\.(?!_|exceptions)")
    used, of_core = set(), set()
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            used |= names
            of_core |= names if core.match(node.module) else set()
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) != "self":
            used.add(node.attr)
    private = {name for name in used if name[0] == "_" and name[:2] != "__"}
    assert private == PRIVATE.get(module, set())
    assert len(of_core - public_names()) <= NOT_PUBLIC[module]


@pytest.mark.parametrize("page", ["any_metric", "classes", "logs", "text"])
def test_recipes_of_extensions_use_public_names_alone(page):
    text = (ROOT / f"docs/{page}.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^>>> (?=from skci|import skci)(.*)", text, re.MULTILINE)
    for node in ast.parse("\n".join(lines)).body:
        path = node.module.removeprefix("skci").removeprefix(".")
        public = getattr(skci, path).__all__ if path else skci.__all__
        assert path in ["", *PUBLIC_MODULES]
        assert {alias.name for alias in node.names} <= {*public}


def test_values_are_compared_by_what_they_are():
    """A constant of a module is another object in a deep copy."""
    assert not [
        f"{module}: {ast.unparse(node)}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        and ast.unparse(node.comparators[0]).rpartition(".")[2].isupper()
    ]


def test_no_module_changes_the_filters_of_warnings():
    """They are those of all threads; only the command line has the process alone."""
    changes = {"catch_warnings", "filterwarnings", "simplefilter"}
    for module in {*MODULES} - {"cli.main"}:
        names = {getattr(node, "attr", "") for node in nodes_of(module)}
        assert not names & changes, module


def test_no_modules_import_each_other():
    sorter = graphlib.TopologicalSorter()
    for module, imported in IMPORTS:
        if imported.removeprefix("skci.") in MODULES:
            sorter.add(module, imported.removeprefix("skci."))
    sorter.prepare()  # raises CycleError


def test_names_are_imported_from_where_type_checkers_find_them():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.asname: node.module.removeprefix("skci").removeprefix(".")
        for node in block.body
        for alias in node.names
        if alias.name != "*"
    }
    assert declared == skci._MODULES
    assert {*skci.__all__} == {*declared, *skci.metrics.__all__}
    assert {*skci.__all__, "__version__"} == {*dir(skci)}
    with pytest.raises(AttributeError, match="has no attribute 'f1_report'"):
        _ = skci.f1_report


def test_modules_list_what_users_may_use_and_nothing_else():
    assert {*PUBLIC_MODULES} == {k for k, v in skci._MODULES.items() if not v}
    for name in PUBLIC_MODULES:
        module = getattr(skci, name)
        listed = dir(module)
        assert listed == sorted({*module.__all__})
        for each in listed:
            value = getattr(module, each)
            assert not each.startswith("_") and not isinstance(value, ModuleType)
            assert value.__doc__ and value.__module__.startswith("skci.")
    for each in {*dir(skci)} - {"__version__", *PUBLIC_MODULES}:
        assert callable(getattr(skci, each))


@pytest.mark.slow
def test_metrics_are_imported_without_what_only_entry_points_need():
    code = "import sys; from skci import F1CI; F1CI()([0, 1] * 30, [0, 1] * 30).low; "
    command = [sys.executable, "-c", code + "print(*sys.modules)"]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    imported = {".".join(name.split(".")[:2]) for name in run.stdout.split()}
    assert "skci.metrics" in imported
    assert not imported & {"skci.evaluation", "skci.resampling", "sklearn.linear_model"}


DEVELOPMENT = {"test", "lint", "docs", "bench", "trackers"}
"""Extras that no code of the package needs."""


def shown(capsys):
    """Printed names and versions."""
    assert skci.show_versions() is None
    captured = capsys.readouterr()
    assert captured.err == ""
    return dict(map(str.strip, row.split(": ", 1)) for row in captured.out.splitlines())


def test_versions_are_those_that_run(capsys):
    found = shown(capsys)
    assert found["python"].startswith(sys.version.split()[0])
    assert found["executable"] == sys.executable
    assert found["numpy"] == np.__version__
    assert found["skci"] == skci.__version__ == version("skci")


def test_a_missing_package_is_shown_as_such(capsys, monkeypatch):
    monkeypatch.setattr(_packages, "_OPTIONAL", ("no-such-package",))
    assert shown(capsys)["no-such-package"] == "not installed"


def test_every_dependency_is_shown(capsys):
    found, known = shown(capsys), set()
    for requirement in requires("skci"):
        extra = re.search(r"extra == .([\w-]+)", requirement)
        if extra is None or extra[1] not in DEVELOPMENT:
            known.add(re.match(r"[\w-]+", requirement)[0])
    packages = found.keys() - {"python", "executable", "machine"}
    assert packages == known | {"skci", "polars"}  # read by narwhals
