"""Ratios of sums with small denominators, as word error rates with silent utterances.

Oracle: the studentised bootstrap, in which nothing is linearised.
"""

import numpy as np
import pytest

from skci import R2CI, PearsonCorrelationCI, joint_report, make_metric_ci

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


def numbers(seed, n=30):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, y + rng.normal(size=n)


def rate(words, edits):
    value = edits.sum(-1) / words.sum(-1)
    terms = (edits - value[..., np.newaxis] * words) * words.shape[-1]
    return value, terms / words.sum(-1)[..., np.newaxis]


def r2(y, p):
    centred = y - y.mean(-1, keepdims=True)
    errors, squares = (y - p) ** 2, centred**2
    share = (errors.mean(-1) / squares.mean(-1))[..., np.newaxis]
    terms = (share * squares - errors) / squares.mean(-1, keepdims=True)
    return 1 - share[..., 0], terms


def correlation(y, p):
    y, p = ((x - x.mean(-1, keepdims=True)) for x in (y, p))
    y, p = (x / np.sqrt((x * x).mean(-1, keepdims=True)) for x in (y, p))
    value = (y * p).mean(-1)
    return value, y * p - value[..., np.newaxis] * (y * y + p * p) / 2


def studentised_bootstrap(statistic, x, y, draws=4000):
    """Interval from studentised errors of resampled rows."""
    rng, n = np.random.default_rng(0), len(x)

    def estimate(x, y):
        value, terms = statistic(x, y)
        return value, terms.std(-1, ddof=1) / np.sqrt(n)

    value, error = estimate(x, y)
    rows = rng.integers(0, n, (draws, n))
    values, errors = estimate(x[rows], y[rows])
    t = np.quantile((values - value) / errors, [0.975, 0.025])
    return value - t * error


CASES = {
    "rate": (word_error_rate, rate, utterances),
    "rate, most silent": (
        word_error_rate,
        rate,
        lambda seed: utterances(seed, 60, 0.6),
    ),
    "r2": (R2CI(), r2, numbers),
    "correlation": (PearsonCorrelationCI(), correlation, numbers),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_limits_are_near_those_of_the_studentised_bootstrap(name):
    metric, statistic, draw = CASES[name]
    excess = []
    for seed in range(12):
        x, y = draw(seed)
        found = metric(x, y)
        low, high = studentised_bootstrap(statistic, x, y)
        assert found == pytest.approx(float(statistic(x, y)[0]))
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
