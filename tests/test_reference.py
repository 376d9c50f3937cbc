"""Every public name is in the reference, with an example, which runs as a doctest."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skci
from skci import exceptions, metrics
from skci.metrics.names import resolve_metric
from skci.metrics.rankings import RankingMetricCI

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = DOCS / "api.rst"
MODULES = [
    skci,
    *filter(inspect.ismodule, (getattr(skci, name) for name in skci.__all__)),
]
PUBLIC = {
    name: value
    for module in MODULES
    for name in module.__all__
    if not inspect.ismodule(value := getattr(module, name))
}


def listed(page):
    """Names that the ``autosummary`` directives of a page list."""
    blocks = re.findall(r"^\.\. autosummary::\n((?: +.*\n|\n)+)", page, re.MULTILINE)
    return re.findall(r"^ +(\w+)$", "".join(blocks), re.MULTILINE)


in_the_checkout = pytest.mark.skipif(
    not DOCS.exists(), reason="only the checkout has the pages"
)


@in_the_checkout
def test_the_reference_lists_every_public_name_once():
    assert sorted(listed(REFERENCE.read_text(encoding="utf-8"))) == sorted(PUBLIC)


@in_the_checkout
@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("metrics.rst", lambda metric: metric.reads == "scores"),
        ("rankings.rst", lambda metric: isinstance(metric, RankingMetricCI)),
    ],
)
def test_pages_name_every_metric_of_their_kind(page, kind):
    """Metrics of labels are in a table that is made, those of numbers in the API."""
    text = (DOCS / page).read_text(encoding="utf-8")
    names = [name for name in skci.available_metrics() if kind(resolve_metric(name))]
    assert len(names) > 9
    names = [re.sub(r"@\d+$", "@", name) for name in names]
    missing = [name for name in names if not re.search(rf'``"?{name}\b', text)]
    assert not missing, f"not in docs/{page}"


def test_every_public_object_has_an_example():
    has_example = re.compile(r"^Examples\n--------\n(.*\n)*?>>> ", re.MULTILINE)
    assert not [
        name
        for name in PUBLIC.keys() - set(exceptions.__all__)
        if not has_example.search(inspect.getdoc(PUBLIC[name]))
    ]


def test_every_metric_has_a_formula():
    """That of a custom metric is its user's."""
    classes = [name for name in metrics.__all__ if inspect.isclass(PUBLIC[name])]
    assert not [
        name
        for name in set(classes)
        - {"MetricCI", *(name for name in classes if name.startswith("Custom"))}
        if not re.search(r":math:`|\.\. math::", PUBLIC[name].__doc__)
    ]


def described(docstring):
    """Names in the section "Parameters" of a docstring."""
    section = re.search(
        r"\nParameters\n-+\n((?:.*\n)*?)(?=\S.*\n---|\Z)", f"{docstring}\n"
    )
    headings = re.findall(r"^\S.*", section[1], re.MULTILINE) if section else []
    names = ", ".join(heading.partition(" : ")[0] for heading in headings)
    return {name.lstrip("*") for name in names.split(", ")}


def callables():
    """Public functions, classes that are called, and their public methods."""
    for name, value in PUBLIC.items():
        if not inspect.isclass(value):
            yield name, value
            continue
        is_made = "eturned by" in value.__doc__ or name in exceptions.__all__
        if not is_made and not getattr(value, "_is_protocol", False):
            yield name, value
        # Methods of schemes are not public.
        methods = {} if name in skci.resampling.__all__ else vars(value)
        for attribute, method in methods.items():
            function = getattr(method, "__func__", method)
            if not inspect.isfunction(function) or attribute.startswith("_"):
                continue
            if ":meta private:" not in (function.__doc__ or ":meta private:"):
                yield f"{name}.{function.__name__}", function


def test_every_parameter_is_described():
    undescribed = {
        name: sorted(names)
        for name, function in callables()
        if (names := parameters(function) - described(inspect.getdoc(function)))
    }
    assert not undescribed


def parameters(function):
    return {*inspect.signature(function).parameters} - {"self", "cls"}


def test_no_function_or_metric_sends_the_reader_elsewhere():
    elsewhere = re.compile(r"^    See :", re.MULTILINE)
    assert not [
        name
        for name, function in callables()
        if "." not in name and elsewhere.search(inspect.getdoc(function))
    ]


def test_a_subclass_inherits_descriptions_of_options():
    class Mine(skci.F1CI):
        """Mine.

        Parameters
        ----------
        average : str
            What I say.
        """

    assert described(inspect.getdoc(Mine)) == parameters(skci.F1CI)
    assert "What I say." in Mine.__doc__
    assert "What I say." not in skci.F1CI.__doc__


def test_a_subclass_without_a_docstring_has_that_of_its_base():
    mine = type("Mine", (skci.F1CI,), {})
    assert inspect.getdoc(mine) == inspect.getdoc(skci.F1CI)


@pytest.mark.slow
def test_docstrings_may_be_stripped():
    code = "import skci; assert skci.F1CI.__doc__ is skci.joint_report.__doc__ is None"
    command = [sys.executable, "-OO", "-c", code.replace("assert", "exit(not") + ")"]
    assert subprocess.run(command, check=False).returncode == 0
