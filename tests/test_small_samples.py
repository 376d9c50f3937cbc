"""Degrees of freedom, tails of influence values, and limits corrected for skewness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

import skci
from skci.exceptions import DegenerateVarianceWarning
from skci.inference.designs.totals import shape_of_ratios, weight_of_tail

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

N = 80
RNG = np.random.default_rng(0)
P = RNG.normal(size=N)
Y = P + RNG.laplace(size=N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
GROUPS = RNG.integers(0, 25, N)


# Heavy tails


@pytest.mark.parametrize(
    "distribution",
    [stats.expon(), stats.pareto(1.5), stats.uniform()],
    ids=["exponential", "Pareto", "uniform"],
)
def test_the_weight_of_a_tail_is_a_ratio_of_distances_of_quantiles(distribution):
    low, middle, high = distribution.ppf([0.6, 0.9, 0.98])
    expected = np.log((high - middle) / (middle - low))
    totals = distribution.ppf((np.arange(100_000) + 0.5) / 100_000)
    for values in (totals, 7 * totals + 100, -totals / 3):
        found = weight_of_tail(values - values.mean(), np.ones(len(values), int))
        assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("shape", [0.2, 0.8])
def test_the_shape_by_ratios_is_that_of_a_pareto_distribution(shape):
    """Log ratios are exponential, so that the error is the shape over root m."""
    rng = np.random.default_rng(3)
    samples = rng.pareto(1 / shape, (400, 900)) + 1
    once = np.ones(901, int)
    found = [shape_of_ratios(np.append(0, sample), once) for sample in samples]
    m = 3 * np.sqrt(901)
    assert np.mean(found) == pytest.approx(shape, abs=4 * shape / np.sqrt(400 * m))
    assert np.std(found) == pytest.approx(shape / np.sqrt(m), rel=0.15)


def heavy_tail(estimate):
    """Whether an interval warns of heavy tails."""
    return any("heavy tails" in text for text in estimate.warnings)


HEAVY = stats.t(2).ppf((np.arange(200) + 0.5) / 200).clip(-8, 8)
NORMAL = stats.norm.ppf((np.arange(200) + 0.5) / 200)
PREDICTED = np.random.default_rng(2).normal(size=200)


@pytest.mark.parametrize("method", ["hall", "delta"])
@pytest.mark.parametrize("name", ["mean_squared_error", "r2", "pearson_correlation"])
def test_heavy_tails_warn_by_every_method(name, method):
    """Quantiles of errors without a variance, less the largest, and normal ones."""
    models = {"a": PREDICTED, "b": PREDICTED / 2}
    options = {"metrics": name, "method": method}
    report = skci.joint_report(PREDICTED + HEAVY, models, **options)
    assert all(map(heavy_tail, report.values()))
    if name == "mean_squared_error":
        assert all(map(heavy_tail, report.differences().values()))
    said = any("variance may not exist" in text for text in report["a", name].warnings)
    assert said != (name == "pearson_correlation")
    report = skci.joint_report(PREDICTED + NORMAL, models, **options)
    assert not heavy_tail(report["a", name])


def test_the_tail_of_independent_samples_is_that_of_the_most_extreme_one():
    """Rows of the smaller have more influence; together they would seem heavy."""
    rng, reports = np.random.default_rng(3), {}
    for n in (100, 5000):
        p = rng.normal(size=n)
        y = p + rng.uniform(-1, 1, n)
        reports[f"{n} rows"] = skci.joint_report(y, p, metrics="mean_squared_error")
    compared = skci.combine_independent(reports).differences()
    assert not any(map(heavy_tail, compared.values()))


def with_errors(errors):
    """Make a draw of normal predictions with errors of the same variance."""

    def draw(rng, n):
        p = errors.std() * rng.normal(size=n)
        return p + errors.rvs(n, random_state=rng), p

    return draw


@pytest.mark.parametrize("metric", [skci.R2CI, skci.MeanSquaredErrorCI])
@pytest.mark.parametrize(
    ("draw", "least", "most"),
    [(with_errors(stats.t(3)), 0.3, 1), (with_errors(stats.norm()), 0, 0.02)],
)
def test_tails_without_a_variance_are_found(metric, draw, least, most):
    """Of 1,000 rows: squared errors of t with 3 degrees of freedom have no variance.

    Those of samples whose mean squared error has far limits do not warn.
    """
    rng = np.random.default_rng(4)
    found = np.mean([heavy_tail(metric()(*draw(rng, 1000))) for _ in range(100)])
    assert least <= found <= most


def test_labels_and_probabilities_have_no_heavy_tails():
    """Neither do heavy weights of rows give any."""
    rng = np.random.default_rng(5)
    y, weights = rng.random(300) < 0.1, 1 + rng.pareto(1.5, 300)
    q = rng.beta(0.3, 3, size=300)
    for metric in (skci.LogLossCI(), skci.BrierScoreCI(), skci.RocAucCI()):
        assert not heavy_tail(metric(y, q))
    for method in ("score", "delta", "blurred"):
        metric = skci.AccuracyCI(method=method)
        assert not heavy_tail(metric(y, q > 0.5))
        assert not heavy_tail(metric(y, q > 0.5, sample_weight=weights))


# Hall's transformation


def halls_limits(losses, level, weights, units):
    """Limits of a mean, solved for from the transformation of Hall (1992).

    The weight of each unit is random: half of the second derivative of the ratio is
    in both coefficients.
    """
    _, units = np.unique(units, return_inverse=True)
    mean = np.average(losses, weights=weights)
    totals = np.bincount(units, weights * (losses - mean)) / weights.sum()
    n, squares = len(totals), (totals**2).sum()
    g = (totals**3).sum() / squares**1.5
    bend = -totals @ np.bincount(units, weights) / weights.sum() / np.sqrt(squares)
    a, b = g / 3 + bend, g / 6 + bend
    df = min(n - 1, 2 / ((totals**4).sum() / squares**2 - 1 / n))
    error = np.sqrt(n / (n - 1) * squares)
    quantile = stats.t.isf((1 - level) / 2, df)
    limits = []
    for u in (quantile, -quantile):

        def excess(t, u=u):
            return t + a * t**2 + a**2 * t**3 / 3 + b - u

        limits.append(mean - error * optimize.brentq(excess, -1e4, 1e4))
    return limits


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_limits_of_a_mean_of_losses(groups, weights, level):
    metric = skci.MeanAbsoluteErrorCI(method="hall", confidence_level=level)
    found = metric(Y, P, sample_weight=weights, groups=groups).confidence_interval()
    weights = np.ones(N) if weights is None else weights
    units = np.arange(N) if groups is None else groups
    expected = halls_limits(np.abs(Y - P), level, weights, units)
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("method", ["delta", "hall"])
def test_limits_of_a_root_are_roots_of_limits(method):
    square = skci.MeanSquaredErrorCI(method=method)(Y, P).confidence_interval()
    root = skci.RootMeanSquaredErrorCI(method=method)(Y, P).confidence_interval()
    assert_allclose(root, np.sqrt(square), rtol=1e-6)


def correlation(m):
    x, y, xx, yy, xy = m
    return (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))


RATE = skci.make_metric_ci(
    lambda e, w: e / w,
    features=lambda y, p: np.stack([(y - p) ** 2, np.abs(y) + 0.1], axis=1),
    name="rate",
    bounds=(0, np.inf),
)
CURVED = {
    "r2": (
        skci.R2CI(),
        lambda m: 1 - m[0] / (m[2] - m[1] ** 2),
        [(Y - P) ** 2, Y, Y * Y],
    ),
    "correlation": (
        skci.PearsonCorrelationCI(),
        correlation,
        [P, Y, P * P, Y * Y, P * Y],
    ),
    "rate": (RATE, lambda m: m[0] / m[1], [(Y - P) ** 2, np.abs(Y) + 0.1]),
}


@pytest.mark.parametrize("name", CURVED)
def test_the_quadratic_part_is_that_of_the_hessian(name):
    """Half of the second derivative along the covariance with the estimate.

    Of a ratio of sums it bends errors, of other functions it adds to the skewness.
    """
    metric, function, features = CURVED[name]
    features = np.stack(features)
    joint = metric(Y, P)._joint
    a, b, c = joint.source.task(0, joint.standard_errors[0]).hall
    mean, covariance = features.mean(axis=1), np.cov(features) / N

    def slope(m, k):
        return optimize.approx_fprime(m, function, 1e-5)[k]

    gradient = optimize.approx_fprime(mean, function, 1e-6)
    hessian = np.array(
        [optimize.approx_fprime(mean, slope, 1e-5, k) for k in range(len(mean))]
    )
    error = np.sqrt(gradient @ covariance @ gradient)
    direction = covariance @ gradient / error
    bend = direction @ hessian @ direction / (2 * error)
    linear = gradient @ (features - mean[:, np.newaxis])
    g = (linear**3).sum() / (linear**2).sum() ** 1.5
    added, bends = (0, bend) if name == "rate" else (bend, 0)
    expected = [g / 3 + added, g / 6 + added, bends]
    assert_allclose([a, b, c], expected, rtol=0.03, atol=1e-12)


# Coverage


def rare_positives(rng, n):
    """A tenth is positive; probabilities are right, of an AUC of about .98."""
    y = np.arange(n) < n / 10
    score = rng.normal(size=n) + 2.9 * y
    odds = np.exp(2.9 * score - 2.9**2 / 2) / 9
    return y, odds / (1 + odds)


SETTINGS = [
    (
        skci.MeanSquaredErrorCI,
        with_errors(stats.lognorm(1, loc=-np.exp(0.5))),
        200,
        0.93,
    ),
    (skci.R2CI, with_errors(stats.t(5)), 50, 0.93),
    (skci.PearsonCorrelationCI, with_errors(stats.t(5)), 50, 0.93),
    (skci.LogLossCI, rare_positives, 100, 0.94),
]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "draw", "n", "least"), SETTINGS)
def test_hall_intervals_cover(metric, draw, n, least):
    """Of 1,000 samples, with a Monte Carlo error of .007; normal ones cover less."""
    rng = np.random.default_rng(1)
    truth = float(metric()(*draw(np.random.default_rng(9), 1_000_000)))
    covered = np.zeros(2)
    for _ in range(1000):
        sample = draw(rng, n)
        for k, method in enumerate(("hall", "delta")):
            low, high = metric(method=method)(*sample).confidence_interval()
            covered[k] += low <= truth <= high
    hall, delta = covered / 1000
    assert least - 0.014 <= hall <= 0.99
    assert delta < hall - 0.02


@pytest.mark.parametrize(
    "metric",
    [skci.RocAucCI(), skci.RocAucCI(method="delta"), skci.AccuracyCI(method="delta")],
)
def test_an_interval_that_is_the_whole_range_is_not_called_too_narrow(metric):
    """Negative rows are in a single group, or all predictions are wrong."""
    y, groups = np.repeat([1, 0, 1], [2, 6, 9]), np.repeat([0, 1], [8, 9])
    y_pred = 1 - y if metric.reads == "labels" else np.arange(17) % 5 / 5
    estimate = metric(y, y_pred, groups=groups)
    with pytest.warns(DegenerateVarianceWarning):
        assert (estimate.low, estimate.high) == (0, 1)
    assert len(estimate.warnings) == 1 and "too narrow" not in estimate.warnings[0]
