"""Marks of cases that are slow, or one of many: for parametrised tests."""

from itertools import chain, product

import pytest


def slow_except(fast, cases):
    """Parameters of a test, of which only some run by default.

    `fast` holds the cases that do, or is a function that says whether one does. Cases
    of several parameters are tuples.
    """
    is_fast = fast if callable(fast) else fast.__contains__
    return [case if is_fast(case) else slow(case) for case in cases]


def each_once(*axes):
    """All combinations of parameters; by default each value of the longest axis once.

    It meets the values of the other axes in turn, one further on after each round.
    Values of several parameters are tuples.
    """
    axes = [[_as_tuple(value) for value in axis] for axis in axes]
    sizes = [len(axis) for axis in axes]
    fast = {tuple((k + k // n) % n for n in sizes) for k in range(max(sizes))}
    cases = []
    for indices in product(*map(range, sizes)):
        case = tuple(chain(*map(list.__getitem__, axes, indices)))
        cases.append(case if indices in fast else slow(case))
    return cases


def slow(case):
    """A case that is deselected by default."""
    return pytest.param(*_as_tuple(case), marks=pytest.mark.slow)


def _as_tuple(case):
    return case if isinstance(case, tuple) else (case,)
