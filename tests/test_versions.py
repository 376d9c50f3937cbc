"""``show_versions``, and the one place of the version."""

import re
import sys
from importlib.metadata import requires, version

import numpy as np

import skci
from skci import _packages

DEVELOPMENT = {"test", "lint", "docs", "bench"}
"""Extras that no code of the package needs."""


def shown(capsys):
    """Sections that are printed, each a mapping of names to versions."""
    assert skci.show_versions() is None
    captured = capsys.readouterr()
    assert captured.err == ""
    sections = {}
    for section in captured.out.split("\n\n"):
        title, *rows = section.splitlines()
        sections[title] = dict(map(str.strip, row.split(": ", 1)) for row in rows)
    return sections


def test_versions_are_those_that_run(capsys):
    found = shown(capsys)
    assert found["System"]["python"].startswith(sys.version.split()[0])
    assert found["System"]["executable"] == sys.executable
    assert found["Dependencies"]["numpy"] == np.__version__
    assert found["Dependencies"]["skci"] == skci.__version__ == version("skci")


def test_a_missing_package_is_shown_as_such(capsys, monkeypatch):
    monkeypatch.setitem(_packages._PACKAGES, "Optional", ("numpy", "no-such-package"))
    optional = {"numpy": np.__version__, "no-such-package": "not installed"}
    assert shown(capsys)["Optional"] == optional


def test_every_dependency_is_shown(capsys):
    found = shown(capsys)
    required, optional = set(), set()
    for requirement in requires("skci"):
        name = re.match(r"[\w-]+", requirement)[0]
        extra = re.search(r"extra == .([\w-]+)", requirement)
        if extra is None:
            required.add(name)
        elif extra[1] not in DEVELOPMENT and name != "skci":
            optional.add(name)
    assert found["Dependencies"].keys() == required | {"skci"}
    assert found["Optional"].keys() == optional | {"polars"}  # read through narwhals
