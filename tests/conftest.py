"""Configuration of the test processes, and fixtures for every test."""

import os
import sys

import pytest

pytest.register_assert_rewrite("battery")

os.environ["MPLBACKEND"] = "Agg"
# A process per core already; read when NumPy is first imported, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption("--every", type=int, default=1, help="one in so many cases")


def pytest_collection_modifyitems(config, items):
    """Keep one in so many parametrised cases of each test."""
    every, cases, left_out = config.getoption("every"), {}, []
    for item in list(items):
        test = item.nodeid.partition("[")[0]
        cases[test] = cases.get(test, -1) + 1
        if cases[test] % every:
            items.remove(item)
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
