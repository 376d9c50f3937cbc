"""Functionals: what a function of four cells is, by what it does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skci.measures.functional import CellFunctional
from skci.measures.registry import MEASURES

RATIOS = [
    name
    for name in MEASURES
    if CellFunctional(MEASURES[name].function).linear_fractional
]


@pytest.mark.parametrize("name", RATIOS)
def test_a_function_that_is_recognised_as_a_ratio_is_that_ratio(name):
    functional = CellFunctional(MEASURES[name].function)
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=20)
    numerator, denominator = functional.linear_fractional
    assert_allclose(p @ numerator / (p @ denominator), functional.estimate(p))


def test_which_functions_are_recognised_as_ratios():
    found = {
        name
        for name in MEASURES
        if CellFunctional(MEASURES[name].function).linear_fractional
    }
    assert {"accuracy", "precision", "recall", "f0.5", "jaccard"} <= found
    assert not {"matthews_corrcoef", "cohen_kappa", "g_mean", "overlap"} & found


@pytest.mark.parametrize(
    "function",
    [
        lambda tp, fp, fn, tn: tp * tp / (tp + fp),
        lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn)),
        lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn),
        lambda tp, fp, fn, tn: np.where(tp + fp == 0, 0, tp / (tp + fp)),
        lambda tp, fp, fn, tn: np.maximum(fp, fn),
        lambda tp, fp, fn, tn: tp if tp == fp else tn,
        lambda tp, fp, fn, tn: tp.real + tn,
    ],
)
def test_other_functions_are_not(function):
    """Whatever they do with what they are called with, which are not numbers then."""
    assert CellFunctional(function).linear_fractional is None
