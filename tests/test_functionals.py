"""Which functions of four cells are ratios whose score limits have a closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skci import make_metric_ci
from skci.inference.intervals.ratio import as_ratio
from skci.measures.functional import CellFunctional
from skci.metrics.labels import MEASURES

FUNCTIONALS = {name: CellFunctional(m.function) for name, m in MEASURES.items()}
RATIOS = [name for name, g in FUNCTIONALS.items() if as_ratio(g) is not None]


@pytest.mark.parametrize("name", RATIOS)
def test_a_function_that_is_recognised_as_a_ratio_is_that_ratio(name):
    p = np.random.default_rng(1).dirichlet(np.full(4, 0.3), size=1000)
    _, ratio = as_ratio(FUNCTIONALS[name])
    numerator, denominator = ratio @ p.T
    assert_allclose(numerator / denominator, FUNCTIONALS[name].estimate(p))


def test_scale_and_sums_of_a_ratio_do_not_matter():
    """Of proportions, the sum of all cells is one."""
    _, precision = as_ratio(CellFunctional(lambda tp, fp, fn, tn: 3 * tp / (tp + fp)))
    assert_allclose(precision, [[3, 0, 0, 0], [1, 1, 0, 0]])
    _, accuracy = as_ratio(CellFunctional(lambda tp, fp, fn, tn: 1 - fp - fn))
    assert_allclose(accuracy, [[1, 0, 0, 1], [1, 1, 1, 1]])


@pytest.mark.parametrize(
    "function",
    [
        lambda tp, fp, fn, tn: tp * tp / (tp + fp),
        lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn)),
        lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn),
        lambda tp, fp, fn, tn: tp / (tp + 2 * fp + 3 * fn + 4 * tn),
        lambda tp, fp, fn, tn: 5 * tp - (tp + fp),
        lambda tp, fp, fn, tn: np.maximum(fp, fn),
        lambda tp, fp, fn, tn: tp / (tp + np.minimum(fp, fn)),
        lambda tp, fp, fn, tn: (tp + 2 * tn) / (tp + tn + fp),
    ],
)
def test_other_functions_are_not(function):
    assert as_ratio(CellFunctional(function)) is None


def guarded(tp, fp, fn, tn):
    if np.any(np.real(tp + fp) <= 0):
        raise ValueError("no predicted positives")
    return tp / (tp + fp)


def jump(tp, fp, fn, tn):
    """Precision, but for recalls below a hundredth."""
    return tp / (tp + fp) / (1 + np.exp(-1000 * (tp / (tp + fn) - 0.01)))


@pytest.mark.parametrize(
    ("function", "table"),
    [(guarded, [[50, 10], [8, 30]]), (jump, [[585, 2], [400, 3]])],
)
def test_score_limits_of_what_only_looks_like_a_ratio(function, table):
    """Of a function that refuses empty cells, or is a ratio away from the data."""
    metric = make_metric_ci(function, name="g", bounds=(0, 1))
    estimate = metric.set_params(method="score").from_confusion_matrix(table)
    assert estimate.low < float(estimate) < estimate.high
    level = {estimate.low: "greater", estimate.high: "less"}
    for limit, alternative in level.items():
        assert_allclose(estimate.pvalue(limit, alternative), 0.025, rtol=1e-3)
