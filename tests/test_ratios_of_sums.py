"""Ratios of sums with small denominators, as word error rates with silent utterances.

Oracle: the studentised bootstrap, in which nothing is linearised.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tables import MEASURES

from skci import joint_report, make_metric_ci

word_error_rate = make_metric_ci(
    lambda edits, words: edits / words,
    features=lambda words, edits: np.stack([edits, words], axis=1),
    name="word error rate",
    bounds=(0, np.inf),
    greater_is_better=False,
)


def utterances(seed, n=30, silent=1 / 3, inserted=2.0):
    """Words and edits of utterances, a share of which is silence."""
    rng = np.random.default_rng(seed)
    words = rng.integers(3, 12, n)
    words[: round(silent * n)] = 0
    edits = rng.binomial(words, rng.beta(1, 3, n))
    heard = (words == 0) * (rng.random(n) < 0.7)
    edits += heard * (rng.poisson(inserted, n) + 1)
    return 1.0 * words, 1.0 * edits


def rate(words, edits):
    value = edits.sum(-1) / words.sum(-1)
    terms = (edits - value[..., np.newaxis] * words) * words.shape[-1]
    return value, terms / words.sum(-1)[..., np.newaxis]


def studentised_bootstrap(words, edits, draws=4000):
    """Interval from studentised errors of resampled utterances."""
    rng, n = np.random.default_rng(0), len(words)

    def estimate(words, edits):
        value, terms = rate(words, edits)
        return value, terms.std(-1, ddof=1) / np.sqrt(n)

    value, error = estimate(words, edits)
    rows = rng.integers(0, n, (draws, n))
    values, errors = estimate(words[rows], edits[rows])
    t = np.quantile((values - value) / errors, [0.975, 0.025])
    return value - t * error


@pytest.mark.parametrize(("n", "silent"), [(30, 1 / 3), (60, 0.6)])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_limits_are_near_those_of_the_studentised_bootstrap(n, silent):
    excess = []
    for seed in range(12):
        words, edits = utterances(seed, n, silent)
        found = word_error_rate(words, edits)
        low, high = studentised_bootstrap(words, edits)
        assert found == pytest.approx(float(rate(words, edits)[0]))
        excess += [(low - found.low) / (high - low), (found.high - high) / (high - low)]
    # Limits were more than twice as far from the estimate in some samples.
    assert np.abs(excess).max() < 0.45 and np.abs(np.median(excess)) < 0.1


def test_joint_limits_and_their_reflection():
    words, edits = utterances(1)
    models = {"a": edits, "b": np.roll(edits, 1), "c": edits + words / 10}
    report = joint_report(words, models, metrics=word_error_rate)
    joint = report["a", "word error rate"]
    alone = word_error_rate(words, edits)
    assert joint.high - joint < 2 * (alone.high - alone)
    assert joint.low < alone.low < alone < alone.high < joint.high
    negative = make_metric_ci(
        lambda edits, words: -edits / words,
        features=lambda words, edits: np.stack([edits, words], axis=1),
        name="minus rate",
        bounds=(-np.inf, 0),
    )(words, edits)
    assert [negative.low, negative.high] == pytest.approx([-alone.high, -alone.low])
    for null in (0.3, 0.9, 1.5):
        level = 1 - alone.pvalue(null)
        limits = alone.confidence_interval(level)
        assert min(abs(np.subtract(limits, null))) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "silent", "inserted", "least"),
    [(30, 0, 2, 0.94), (30, 1 / 3, 2, 0.935), (30, 0.6, 2, 0.93), (60, 0.6, 4, 0.935)],
)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_coverage_of_rates(n, silent, inserted, least):
    """Coverage of 1500 samples, standard error .006."""
    words, edits = utterances(-1 % 2**32, 2_000_000, silent, inserted)
    true, covered = edits.sum() / words.sum(), []
    for seed in range(1500):
        found = word_error_rate(*utterances(seed, n, silent, inserted))
        covered.append(found.low <= true <= found.high)
    assert np.mean(covered) > least


# Functions that are ratios of sums


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
