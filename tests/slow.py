"""Marks of cases that are slow, or one of many: for parametrised tests."""

import pytest


def slow_except(fast, cases):
    """Parameters of a test, of which only some run by default.

    `fast` holds the cases that do, or is a function that says whether one does. Cases
    of several parameters are tuples.
    """
    is_fast = fast if callable(fast) else fast.__contains__
    return [case if is_fast(case) else slow(case) for case in cases]


def slow(case):
    """A case that is deselected by default."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
