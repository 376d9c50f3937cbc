"""Every public name is in the reference, with an example, which runs as a doctest."""

import inspect
import re
from pathlib import Path

import pytest

import skci
from skci import exceptions, metrics

REFERENCE = Path(__file__).parents[1] / "docs" / "api.rst"
MODULES = [skci, metrics, exceptions]
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


def test_names_are_read_off_a_page():
    page = (
        "Title\n=====\n\n.. autosummary::\n   :toctree: generated\n\n   A\n   b_c\n\n"
        "A word\n\n.. autosummary::\n\n   D\n"
    )
    assert listed(page) == ["A", "b_c", "D"]


@pytest.mark.skipif(not REFERENCE.exists(), reason="only the checkout has the pages")
def test_the_reference_lists_every_public_name_once():
    assert sorted(listed(REFERENCE.read_text(encoding="utf-8"))) == sorted(PUBLIC)


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
        for name in set(classes) - {"MetricCI", "CustomCI", "CustomRegressionCI"}
        if not re.search(r":math:`|\.\. math::", PUBLIC[name].__doc__)
    ]
