"""Configuration of the test processes, and fixtures for every test."""

import gc
import os
import sys

import pytest

pytest_plugins = "pytester"
pytest.register_assert_rewrite("battery")

os.environ["MPLBACKEND"] = "Agg"
# A process per core already; read when NumPy is first imported, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish():
    gc.freeze()  # or all tests are looked through in each collection of garbage


def pytest_runtest_setup():
    # Figures of tests before, and of examples of the documentation.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
