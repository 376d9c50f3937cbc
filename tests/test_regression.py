"""Metrics of predicted numbers: functions of means over rows."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, pearsonr
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression

import skci
from skci import (
    R2CI,
    D2PinballCI,
    D2TweedieCI,
    JointEvaluator,
    MeanAbsoluteErrorCI,
    MeanPinballLossCI,
    MeanSquaredErrorCI,
    joint_report,
)
from skci.exceptions import DegenerateVarianceWarning
from skci.metrics import _regression

RNG = np.random.default_rng(0)
N = 250
Y = RNG.gamma(3.0, size=N) + 0.2
PREDICTED = {
    name: Y + RNG.normal(scale=scale, size=N) + 0.1
    for name, scale in (("A", 0.8), ("B", 1.0), ("C", 1.1))
}
P = PREDICTED["A"]
WEIGHTS = RNG.uniform(0.2, 3, N)
WEIGHTS[:10] = 0
GROUPS = RNG.integers(0, 50, N)


def weighted_correlation(y, p, sample_weight=None):
    if sample_weight is None:
        return pearsonr(y, p).statistic
    both = np.cov(y, p, aweights=sample_weight)
    return both[0, 1] / np.sqrt(both[0, 0] * both[1, 1])


def d2_pinball(alpha):
    """Share of the loss saved, of the constant among the truths that has least."""

    def score(y, p, **weights):
        def loss(values):
            return sk.mean_pinball_loss(y, values, alpha=alpha, **weights)

        return 1 - loss(p) / min(loss(np.full(len(y), constant)) for constant in y)

    return score


REFERENCES = {
    "mean_squared_error": sk.mean_squared_error,
    "root_mean_squared_error": sk.root_mean_squared_error,
    "mean_absolute_error": sk.mean_absolute_error,
    "mean_absolute_percentage_error": sk.mean_absolute_percentage_error,
    "mean_pinball_loss": sk.mean_pinball_loss,
    "r2": sk.r2_score,
    "explained_variance": sk.explained_variance_score,
    "d2_absolute_error": sk.d2_absolute_error_score,
    "d2_pinball": d2_pinball(0.5),
    "d2_tweedie": sk.d2_tweedie_score,
    "pearson_correlation": weighted_correlation,
}
METRICS = {
    cls().name: cls() for cls in (getattr(skci, name) for name in _regression.__all__)
}

POSITIVE = np.abs(P) + 0.1
"""Predictions for deviances that need them above 0."""
OPTIONS = {
    D2PinballCI(alpha=0.9): (P, d2_pinball(0.9)),
    D2PinballCI(alpha=0.13): (P, d2_pinball(0.13)),
    MeanPinballLossCI(alpha=0.9): (P, partial(sk.mean_pinball_loss, alpha=0.9)),
    **{
        D2TweedieCI(power=power): (POSITIVE, partial(sk.d2_tweedie_score, power=power))
        for power in (-1, 1, 1.5, 2, 3)
    },
}
EVERY = {name: (metric, P, REFERENCES[name]) for name, metric in METRICS.items()}
EVERY |= {repr(metric): (metric, *given) for metric, given in OPTIONS.items()}


def test_every_metric_has_a_reference():
    assert set(METRICS) == set(REFERENCES) <= set(skci.available_metrics())


@pytest.mark.parametrize("name", EVERY)
def test_estimates_are_those_of_sklearn(name):
    for weights in (None, WEIGHTS, np.arange(N) % 4):
        metric, p, reference = EVERY[name]
        found = metric(Y, p, sample_weight=weights)
        kept = slice(None) if weights is None else weights > 0
        options = {} if weights is None else {"sample_weight": weights[kept]}
        expected = reference(Y[kept], p[kept], **options)
        assert found == pytest.approx(expected, rel=1e-10)
        assert found.low < found < found.high


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_standard_errors_are_those_of_the_infinitesimal_jackknife(name, groups):
    (metric, p, _), step = EVERY[name], 1e-5
    units = np.arange(N) if groups is None else groups
    for weights in (np.ones(N), WEIGHTS):
        changes = [
            [
                metric(Y, p, sample_weight=weights * np.where(units == g, 1 + h, 1))
                for h in (step, -step)
            ]
            for g in np.unique(units[weights > 0])
        ]
        slopes = -np.diff(changes, axis=1) / (2 * step)
        number = len(slopes)
        expected = np.sqrt(number / (number - 1) * np.sum(np.square(slopes)))
        found = metric(Y, p, sample_weight=weights, groups=groups)
        assert found.standard_error == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", METRICS)
def test_order_shift_and_scale(name):
    """Of no matter where they should not; an error scales with the numbers."""
    metric = METRICS[name]
    expected = metric(Y, P)
    order = np.random.default_rng(1).permutation(N)
    again = metric(Y[order], P[order])
    assert_allclose(again.confidence_interval(), expected.confidence_interval())
    factor = {"mean_squared_error": 1e12}.get(name, 1e6)
    if metric._measure.bounds[0] != 0 or "percentage" in name:
        factor = 1
    scaled = metric(1e6 * Y, 1e6 * P).confidence_interval()
    assert_allclose(
        scaled, factor * np.array(expected.confidence_interval()), rtol=1e-6
    )
    if "percentage" not in name:
        shifted = metric(Y + 1e5, P + 1e5).confidence_interval()
        assert_allclose(shifted, expected.confidence_interval(), rtol=1e-6)


def test_a_mean_of_losses():
    losses = np.abs(Y - P)
    found = MeanAbsoluteErrorCI()(Y, P)
    error = losses.std(ddof=1) / np.sqrt(N)
    assert found.standard_error == pytest.approx(error)
    reach = norm.isf(0.025) * error
    assert_allclose(found.confidence_interval(), [found - reach, found + reach])


def test_pinball_losses():
    for alpha in (0.1, 0.9):
        found = MeanPinballLossCI(alpha=alpha)(Y, P)
        assert found == pytest.approx(sk.mean_pinball_loss(Y, P, alpha=alpha))
    with pytest.raises(ValueError, match="alpha must be a number from 0 to 1, got 2"):
        MeanPinballLossCI(alpha=2)(Y, P)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_differences_of_errors_are_paired(groups):
    report = joint_report(Y, PREDICTED, metrics=["mean_absolute_error"], groups=groups)
    compared = report.differences()
    losses = {name: np.abs(Y - p) for name, p in PREDICTED.items()}
    for metric, first, second in compared:
        found = compared[metric, first, second]
        difference = losses[first] - losses[second]
        assert found == pytest.approx(difference.mean())
        if groups is None:
            error = difference.std(ddof=1) / np.sqrt(N)
            assert found.standard_error == pytest.approx(error)
    assert report.best("mean_absolute_error").rules[0] == "A"
    ratios = report.differences(scale="ratio", control="C")
    assert ratios.estimates[0] == pytest.approx(losses["A"].mean() / losses["C"].mean())


def test_a_joint_report_of_regression():
    X = np.stack([Y + RNG.normal(size=N), RNG.normal(size=N)], axis=1)
    rules = {
        "one": LinearRegression().fit(X[:, :1], Y),
        "both": LinearRegression().fit(X, Y),
    }

    class First:
        def predict(self, X):
            return rules["one"].predict(X[:, :1])

    evaluator = JointEvaluator(
        {"one": First(), "both": rules["both"]}, ["r2", "mean_squared_error"]
    )
    report = evaluator.evaluate(X, Y, sample_weight=WEIGHTS)
    assert list(report) == [
        (rule, name)
        for rule in ("one", "both")
        for name in ("r2", "mean_squared_error")
    ]
    expected = R2CI()(Y, rules["both"].predict(X), sample_weight=WEIGHTS)
    assert report.individual()["both", "r2"].low == pytest.approx(expected.low)
    assert report["both", "r2"].low < expected.low
    assert len(report.findings(by="differences")) == 2


def test_intervals_cover():
    """Of a mean squared error and an R2 that are known; the error is .007."""
    rng = np.random.default_rng(2)
    held = np.zeros(2)
    for _ in range(1000):
        p = rng.normal(size=300)
        y = p + rng.normal(size=300)
        for k, (metric, truth) in enumerate([(MeanSquaredErrorCI, 1), (R2CI, 0.5)]):
            low, high = metric()(y, p).confidence_interval()
            held[k] += low <= truth <= high
    assert (held >= 930).all() and (held <= 970).all()


def test_no_error_at_all():
    for name in METRICS:
        with pytest.warns(DegenerateVarianceWarning, match="whole range"):
            found = METRICS[name](Y, Y).confidence_interval()
        assert found == METRICS[name]._measure.bounds


NEED_SPREAD = [
    name for name in EVERY if any(kind in name for kind in ("2", "vari", "corr"))
]


@pytest.mark.parametrize("constant", [3.0, 0.1])
@pytest.mark.parametrize("name", NEED_SPREAD)
def test_constant_truths(name, constant):
    metric, p, _ = EVERY[name]
    with pytest.warns(UndefinedMetricWarning):
        found = metric(np.full(N, constant), p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(found)
        assert found.confidence_interval() == metric._measure.bounds


def test_a_mean_that_has_no_deviance():
    counts = np.zeros(N)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=1)(counts, POSITIVE))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=-0.5)(-Y, POSITIVE))


@pytest.mark.parametrize(
    ("power", "y", "p", "message"),
    [
        (0.5, Y, P, "^power must be a finite number, not between 0 and 1.*, got 0.5"),
        ("1", Y, P, "^power must be a finite number"),
        (np.nan, Y, P, "^power must be a finite number"),
        (1, Y, -POSITIVE, "^y_pred must hold numbers above 0 .* at power 1, got -"),
        (-1, Y, 0 * Y, "^y_pred must hold numbers above 0 .* at power -1, got 0"),
        (1, -Y, POSITIVE, "^y_true must hold numbers from 0 on .* power 1, got -"),
        (2, 0 * Y, POSITIVE, "^y_true must hold numbers above 0 .* power 2, got 0"),
    ],
)
def test_numbers_that_have_no_deviance(power, y, p, message):
    with pytest.raises(ValueError, match=message):
        D2TweedieCI(power=power)(y, p)


def test_a_deviance_at_no_truth():
    """Of counts there may be none, and of a negative power any truths."""
    counts = np.floor(Y)
    assert counts.min() == 0
    shifted = Y - 1
    for power, y in ((1, counts), (1.7, counts), (-1, shifted), (-0.3, shifted)):
        expected = sk.d2_tweedie_score(y, POSITIVE, power=power)
        assert D2TweedieCI(power=power)(y, POSITIVE) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [D2PinballCI(alpha=0.8), D2TweedieCI(power=1)])
def test_standard_errors_of_shares_are_those_of_a_simulation(metric):
    """Though the constant is estimated; three Monte Carlo errors are .05."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(1800):
        p = rng.gamma(3.0, size=300)
        found.append(metric(rng.poisson(p) + rng.random(300), p))
    errors = [one.standard_error for one in found]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(found), rel=0.05)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (Y, P[:-1], "y_pred must have an entry for each of the 250 rows"),
        (Y, P * np.nan, "y_pred must hold finite numbers"),
        ([], [], "y_true must hold at least one number"),
        (np.stack([Y, Y], axis=1), P, r"one dimension, got shape \(250, 2\)"),
        (["a"] * N, P, "y_true must hold numbers"),
    ],
)
def test_wrong_numbers(y, p, message):
    with pytest.raises(ValueError, match=message):
        R2CI()(y, p)


def test_metrics_of_different_targets():
    labels = (Y > 2).astype(int)
    with pytest.raises(ValueError, match="metrics must be all of numbers or all"):
        joint_report(labels, {"A": labels}, metrics=["accuracy", "r2"])
    with pytest.raises(ValueError, match="must hold class labels, got continuous"):
        joint_report(Y, PREDICTED, metrics=["accuracy"])
    with pytest.raises(
        ValueError, match="y_pred= must be given for metrics of numbers"
    ):
        joint_report(Y, metrics=["r2"])
    for method in ("blurred", "score", "plus-four", "wilson", "logit"):
        with pytest.raises(ValueError, match=rf"'{method}' needs .* \['delta'\]"):
            joint_report(Y, PREDICTED, metrics=["r2"], method=method)


def simulated_losses(y, p):
    """Estimates of many samples at once, by the textbook."""
    error, spread = y - p, y - y.mean(axis=1, keepdims=True)
    squares, around = np.mean(error**2, axis=1), np.mean(spread**2, axis=1)
    middle = np.median(y, axis=1, keepdims=True)
    saved = 1 - np.abs(error).sum(axis=1) / np.abs(y - middle).sum(axis=1)
    other = p - p.mean(axis=1, keepdims=True)
    return {
        "mean_squared_error": squares,
        "root_mean_squared_error": np.sqrt(squares),
        "mean_absolute_error": np.abs(error).mean(axis=1),
        "mean_absolute_percentage_error": np.abs(error / y).mean(axis=1),
        "mean_pinball_loss": np.abs(error).mean(axis=1) / 2,
        "r2": 1 - squares / around,
        "explained_variance": 1 - error.var(axis=1) / around,
        "d2_absolute_error": saved,
        "d2_pinball": saved,
        "d2_tweedie": 1 - squares / around,
        "pearson_correlation": np.mean(spread * other, axis=1)
        / np.sqrt(around * np.mean(other**2, axis=1)),
    }


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "scale"), [(3.0, 0.8), (6.0, 2.0), (20.0, 1.0)])
def test_standard_errors_are_those_of_a_long_simulation(shape, scale):
    """Within 2 %; the Monte Carlo error is below 1 % of either side."""
    n, draws, looked_at = 4000, 10_000, 100
    rng = np.random.default_rng(7)
    estimates, errors = [], []
    for _ in range(draws // 1000):
        y = rng.gamma(shape, size=(1000, n)) + 1
        p = y + rng.normal(scale=scale, size=(1000, n)) + 0.1
        estimates.append(simulated_losses(y, p))
        report = [
            joint_report(y[k], p[k], metrics=list(METRICS))
            for k in range(looked_at * 1000 // draws)
        ]
        errors += [np.diag(one.covariance) for one in report]
    seen = np.sqrt(np.mean(errors, axis=0))
    for name, error in zip(METRICS, seen, strict=True):
        deviation = np.std(np.concatenate([own[name] for own in estimates]))
        assert error == pytest.approx(deviation, rel=0.02), name
