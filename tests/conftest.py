"""Configuration of the test processes, and fixtures for every test."""

import os
import sys
from collections import defaultdict

import pytest

pytest.register_assert_rewrite("battery")

os.environ["MPLBACKEND"] = "Agg"
# A process per core already; read when NumPy is first imported, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")


_FEW, _EVERY = 9, 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark two in three parametrised cases of a test as slow, if it has many."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        for k, item in enumerate(same):
            if len(same) > _FEW and k % _EVERY:
                item.add_marker("slow")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
