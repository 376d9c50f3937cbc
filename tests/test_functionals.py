"""Score limits of ratios of sums have a closed form, which is that of any function."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skci import make_metric_ci
from skci.metrics.labels import MEASURES

TABLES = [[[50, 10], [8, 30]], [[12, 3], [5, 9]], [[585, 2], [400, 3]]]
FUNCTIONS = {
    **{name: measure.function for name, measure in MEASURES.items() if measure.smooth},
    "scaled": lambda tp, fp, fn, tn: 3 * tp / (tp + fp),
    "of proportions": lambda tp, fp, fn, tn: 1 - fp - fn,
    "square": lambda tp, fp, fn, tn: tp * tp / (tp + fp),
    "root": lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn)),
    "sum": lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn),
    "weighted": lambda tp, fp, fn, tn: tp / (tp + 2 * fp + 3 * fn + 4 * tn),
    "gain": lambda tp, fp, fn, tn: 5 * tp - (tp + fp),
    "weighted hits": lambda tp, fp, fn, tn: (tp + 2 * tn) / (tp + tn + fp),
    # Precision, but for recalls below a hundredth.
    "jump": lambda tp, fp, fn, tn: (
        tp / (tp + fp) / (1 + np.exp(-1000 * (tp / (tp + fn) - 0.01)))
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_score_limits_do_not_depend_on_what_a_function_is_recognised_as(name):
    """A function that refuses empty cells is not recognised as a ratio."""

    def guarded(*cells):
        if any(np.any(np.real(cell) <= 0) for cell in cells):
            raise ValueError("an empty cell")
        return FUNCTIONS[name](*cells)

    for table in TABLES:
        found, expected = (
            make_metric_ci(g, name="g", bounds=(-100, 1000))
            .set_params(method="score")
            .from_confusion_matrix(table)
            for g in (FUNCTIONS[name], guarded)
        )
        width = expected.high - expected.low
        limits = found.confidence_interval(), expected.confidence_interval()
        assert_allclose(*limits, rtol=0, atol=1e-6 * width, err_msg=str(table))
        for limit, side in ((found.low, "greater"), (found.high, "less")):
            assert_allclose(found.pvalue(limit, side), 0.025, rtol=1e-3)
