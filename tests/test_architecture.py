"""Dependencies run one way, and the mathematics knows no scikit-learn."""

import ast
import sys
from pathlib import Path

import pytest

import skci

PACKAGE = Path(skci.__file__).parent

# Each module may import those listed before it, and the libraries named; folders come
# one after the other, so no folder imports from a later one.
LAYERS = [
    ("_arrays", {"numpy"}),
    ("_validation", {"numpy"}),
    ("exceptions", set()),
    ("measures.registry", {"numpy"}),
    ("measures.functional", {"numpy"}),
    ("measures.areas", {"numpy"}),
    ("measures.means", {"numpy", "scipy"}),
    ("measures.classes", {"numpy", "scipy"}),
    ("inference.design", {"numpy", "scipy"}),
    ("inference.critical.correlation", {"numpy", "scipy"}),
    ("inference.critical.exceedances", {"numpy", "scipy"}),
    ("inference.critical.tail", {"numpy"}),
    ("inference.critical.quantile", {"numpy", "scipy"}),
    ("inference.critical.law", {"numpy", "scipy"}),
    ("inference.intervals.statistic", {"numpy", "scipy"}),
    ("inference.intervals.closed_form", {"numpy", "scipy"}),
    ("inference.intervals.path", {"numpy", "scipy"}),
    ("inference.intervals.path_solver", {"numpy"}),
    ("inference.intervals.score", {"numpy"}),
    ("inference.intervals.methods", {"numpy", "scipy"}),
    ("inference.parameter", {"numpy"}),
    ("inference.sampling", {"numpy", "scipy"}),
    ("inference.joint", {"numpy", "scipy"}),
    ("inference.contrasts", {"numpy"}),
    ("inference.pvalues", {"numpy", "scipy"}),
    ("inference.ranking", {"numpy"}),
    ("inference.planning", {"numpy", "scipy"}),
    ("data.counting", {"numpy"}),
    ("data.sample", {"numpy"}),
    ("data.rows", {"numpy"}),
    ("data.labels", {"numpy"}),
    ("data.reading", {"numpy"}),
    ("data.responses", {"numpy", "sklearn"}),
    ("reports.rendering", {"pandas"}),
    ("reports.display", {"numpy", "matplotlib"}),
    ("reports.estimate", {"numpy", "sklearn"}),
    ("reports.base", {"numpy"}),
    ("reports.contrasts", {"numpy"}),
    ("reports.joint", {"numpy"}),
    ("metrics._binding", {"numpy"}),
    ("metrics._base", {"numpy", "sklearn"}),
    ("metrics._agreement", set()),
    ("metrics._binary", {"numpy"}),
    ("metrics._regression", {"numpy", "scipy"}),
    ("metrics._custom", {"numpy"}),
    ("metrics._scores", {"numpy", "sklearn"}),
    ("metrics._names", set()),
    ("metrics._metric_set", {"numpy"}),
    ("metrics", set()),
    ("planning", {"numpy"}),
    ("classification", {"numpy"}),
    ("evaluation", {"numpy"}),
    ("independent", {"numpy", "scipy"}),
    ("intervals", {"numpy"}),
    ("curves", {"numpy", "matplotlib"}),
]
ROOMS = ["measures", "inference", "inference.critical", "inference.intervals"]
ROOMS += ["data", "reports", "metrics"]


def imports_of(module):
    """Names of the modules that a module imports, those of skci without the prefix."""
    path = PACKAGE / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            if node.module == "skci.metrics":
                yield from (f"skci.metrics.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("module", "libraries"), LAYERS)
def test_imports_point_downward(module, libraries):
    names = [name for name, _ in LAYERS]
    below = {f"skci.{name}" for name in names[: names.index(module)]}
    package = {"skci.metrics"} if module.startswith("metrics") else set()
    for imported in imports_of(module):
        if module == "_report" and imported == "skci.reports.display":
            continue  # inside a method: a picture is drawn when asked for
        if imported.partition(".")[0] == "skci":
            assert imported in below | package, f"{module} imports {imported}"
        else:
            top = imported.partition(".")[0]
            assert top in libraries | sys.stdlib_module_names, (
                f"{module} imports {imported}"
            )
            assert "._" not in imported, f"{module} imports the private {imported}"


def test_every_module_has_its_layer():
    found = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
    }
    expected = {name for name, _ in LAYERS} - {"metrics"}
    packages = {f"{room}.__init__" for room in ROOMS}
    assert found == expected | packages | {"__init__", "__main__"}


def test_no_module_is_too_long_to_read():
    lengths = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert max(lengths.values()) < 600, lengths
