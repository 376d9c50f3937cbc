"""Configuration of the test processes, and fixtures for every test."""

import gc
import os
import sys
from collections import defaultdict

import pytest

pytest_plugins = "pytester"
pytest.register_assert_rewrite("battery")

os.environ["MPLBACKEND"] = "Agg"
# A process per core already; read when NumPy is first imported, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption(
        "--three-cases",
        action="store_true",
        help="run at most three cases of each test",
    )


@pytest.hookimpl(trylast=True)  # after slow tests are deselected
def pytest_collection_modifyitems(config, items):
    """Keep the first, the middle and the last case of each test, if asked to."""
    if not config.getoption("three_cases"):
        return
    by_test = defaultdict(list)
    for item in items:
        by_test[item.nodeid.partition("[")[0]].append(item)
    kept = {cases[k] for cases in by_test.values() for k in (0, len(cases) // 2, -1)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish():
    gc.freeze()  # or all tests are looked through in each collection of garbage


def pytest_runtest_setup():
    # Figures of tests before, and of examples of the documentation.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
