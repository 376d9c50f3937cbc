"""Dependencies run one way, and the mathematics knows no scikit-learn."""

import ast
import sys
from pathlib import Path

import pytest

import skci

PACKAGE = Path(skci.__file__).parent

# Each module may import those above its own line, and the libraries named.
LAYERS = [
    ("exceptions", set()),
    ("_measures", {"numpy"}),
    ("_functionals", {"numpy"}),
    ("_covariance", {"numpy", "scipy"}),
    ("_outcomes", {"numpy"}),
    ("_auc", {"numpy"}),
    ("_means", {"numpy", "scipy"}),
    ("_classes", {"numpy", "scipy"}),
    ("_exceedances", {"numpy", "scipy"}),
    ("_critical", {"numpy", "scipy"}),
    ("_statistic", {"numpy", "scipy"}),
    ("_tversky", {"numpy", "scipy"}),
    ("_curve", {"numpy", "scipy"}),
    ("_roads", {"numpy"}),
    ("_score", {"numpy"}),
    ("_intervals", {"numpy", "scipy"}),
    ("_parameter", {"numpy"}),
    ("_sampling", {"numpy"}),
    ("_joint", {"numpy", "scipy"}),
    ("_binding", {"numpy"}),
    ("_contrasts", {"numpy"}),
    ("_pvalues", {"numpy", "scipy"}),
    ("_rendering", {"pandas"}),
    ("_validation", {"numpy"}),
    ("_rows", {"numpy"}),
    ("_labels", {"numpy"}),
    ("_ranking", {"numpy"}),
    ("_planning", {"numpy", "scipy"}),
    ("_estimate", {"numpy", "sklearn"}),
    ("_responses", {"numpy", "sklearn"}),
    ("_report", {"numpy"}),
    ("comparison", {"numpy"}),
    ("report", {"numpy"}),
    ("metrics._base", {"numpy", "sklearn"}),
    ("metrics._agreement", set()),
    ("metrics._binary", {"numpy"}),
    ("metrics._regression", {"numpy", "scipy"}),
    ("metrics._custom", {"numpy"}),
    ("metrics._scores", {"numpy", "sklearn"}),
    ("metrics._names", set()),
    ("metrics", set()),
    ("planning", {"numpy"}),
    ("classification", {"numpy"}),
    ("_request", {"numpy"}),
    ("evaluation", {"numpy"}),
    ("independent", {"numpy", "scipy"}),
    ("display", {"numpy", "matplotlib"}),
    ("curves", {"numpy", "matplotlib"}),
]


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
        if module == "_report" and imported == "skci.display":
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
    assert found == expected | {"__init__", "__main__", "metrics.__init__"}


def test_no_module_is_too_long_to_read():
    lengths = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert max(lengths.values()) < 600, lengths
