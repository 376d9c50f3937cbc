"""Marks of cases that are slow, or one of many: for parametrised tests."""

from itertools import chain, product

import pytest


def slow_except(fast, cases):
    """Parameters of a test, of which only some run by default.

    `fast` holds the cases that do, or is a function that says whether one does. Cases
    of several parameters are tuples.
    """
    cases = [*cases]
    if not callable(fast):
        assert all(case in cases for case in fast), "each must be one of the cases"
    is_fast = fast if callable(fast) else fast.__contains__
    return [case if is_fast(case) else slow(case) for case in cases]


def each_once(*axes):
    """All combinations of parameters; by default those of ``in_turn``."""
    axes = [[*axis] for axis in axes]
    fast = set(_turns(axes))
    return [
        _combined(axes, indices) if indices in fast else slow(_combined(axes, indices))
        for indices in product(*(range(len(axis)) for axis in axes))
    ]


def in_turn(*axes):
    """Combinations of parameters, in which each value of the longest axis is once.

    It meets the values of the other axes in turn, one further on after each round.
    Values of several parameters are tuples.
    """
    axes = [[*axis] for axis in axes]
    return [_combined(axes, indices) for indices in _turns(axes)]


def _turns(axes):
    sizes = [len(axis) for axis in axes]
    return [tuple((k + k // n) % n for n in sizes) for k in range(max(sizes))]


def _combined(axes, indices):
    return tuple(
        chain(*(_as_tuple(axis[k]) for axis, k in zip(axes, indices, strict=True)))
    )


def slow(case):
    """A case that is deselected by default."""
    return pytest.param(*_as_tuple(case), marks=pytest.mark.slow)


def _as_tuple(case):
    return case if isinstance(case, tuple) else (case,)
