"""Degrees of freedom, tails of influence values, and limits corrected for skewness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from skci import (
    R2CI,
    AccuracyCI,
    BrierScoreCI,
    LogLossCI,
    MeanAbsoluteErrorCI,
    MeanSquaredErrorCI,
    PearsonCorrelationCI,
    RocAucCI,
    RootMeanSquaredErrorCI,
    combine_independent,
    joint_report,
    make_metric_ci,
)
from skci.exceptions import DegenerateVarianceWarning
from skci.inference.designs.totals import (
    moments,
    shape_of_ratios,
    tail_shape,
    weight_of_tail,
)
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.rows import Influences, Rows

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

N = 80
RNG = np.random.default_rng(0)
P = RNG.normal(size=N)
Y = P + RNG.laplace(size=N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
GROUPS = RNG.integers(0, 25, N)

# Moments of influence values


def components(design, rows, influence, index):
    """Totals of centred influence values, and of an indicator of all rows."""
    counts = np.bincount(index, rows.weights, len(influence))
    columns = [influence - np.average(influence, weights=counts), np.ones_like(counts)]
    return design.components(Influences(columns, [index] * 2, rows))


def test_degrees_of_freedom_of_strata_are_those_of_welch():
    """Two independent samples, of which each is nearly normal."""
    quantiles = [stats.norm.isf((np.arange(m) + 0.5) / m) for m in (40, 9)]
    influence = np.append(quantiles[0], 3 * quantiles[1])
    strata = np.repeat([0, 1], [40, 9])
    design = IndependentRows(49, strata=strata)
    found = moments(components(design, Rows(np.ones(49)), influence, np.arange(49)))
    v = np.array([influence[strata == k] @ influence[strata == k] for k in (0, 1)])
    welch = v.sum() ** 2 / (v**2 / [39, 8]).sum()
    assert found.degrees_of_freedom == pytest.approx(welch, rel=0.05)


# Heavy tails


QUANTILES = (np.arange(100_000) + 0.5) / 100_000


@pytest.mark.parametrize(
    ("totals", "ratio"),
    [
        (stats.expon.ppf(QUANTILES), np.log(5) / np.log(4)),
        (
            stats.pareto(1.5).ppf(QUANTILES),
            (0.02 ** (-2 / 3) - 0.1 ** (-2 / 3)) / (0.1 ** (-2 / 3) - 0.4 ** (-2 / 3)),
        ),
        (stats.uniform.ppf(QUANTILES), 0.08 / 0.3),
    ],
    ids=["exponential", "Pareto", "uniform"],
)
def test_the_weight_of_a_tail_is_a_ratio_of_distances_of_quantiles(totals, ratio):
    for values in (totals, 7 * totals + 100, -totals / 3):
        values = values - values.mean()
        found = weight_of_tail(values, np.ones(len(values), int))
        assert found == pytest.approx(np.log(ratio), abs=1e-3)


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


def test_the_tail_is_that_of_weighted_totals_of_independent_units():
    """Groups are of one row or two."""
    rng = np.random.default_rng(6)
    unit, influence, weights = np.arange(300), rng.standard_t(2, 300), rng.random(300)
    number = 2 * unit // 3
    totals = weights * (influence - np.average(influence, weights=weights))
    rows = Rows.from_rows(unit, 300, weights)
    parts = components(IndependentRows(300), rows, influence, unit)
    found = tail_shape(parts, weight_of_tail)
    assert found == pytest.approx(weight_of_tail(totals, np.ones(300, int)))
    design = Clusters.from_rows(np.arange(200), number, unit, weights / rows.scale)
    found = tail_shape(components(design, rows, influence, unit), weight_of_tail)
    by_group = np.bincount(number, totals)
    assert found == pytest.approx(weight_of_tail(by_group, np.ones(200, int)))


def heavy_tail(estimate):
    """Whether an interval warns of heavy tails."""
    return any("heavy tails" in text for text in estimate.warnings)


HEAVY = stats.t(2).ppf((np.arange(200) + 0.5) / 200).clip(-8, 8)
NORMAL = stats.norm.ppf((np.arange(200) + 0.5) / 200)
PREDICTED = np.random.default_rng(2).normal(size=200)


@pytest.mark.parametrize("method", ["hall", "delta"])
@pytest.mark.parametrize(
    "metric", [MeanSquaredErrorCI, R2CI, PearsonCorrelationCI], ids=lambda m: m.__name__
)
def test_heavy_tails_warn_by_every_method(metric, method):
    """Quantiles of errors without a variance, less the largest, and normal ones."""
    measure = metric(method=method)
    heavy = measure(PREDICTED + HEAVY, PREDICTED)
    assert heavy_tail(heavy)
    is_bounded = metric is PearsonCorrelationCI
    assert any("variance may not exist" in x for x in heavy.warnings) != is_bounded
    assert not heavy_tail(measure(PREDICTED + NORMAL, PREDICTED))


def test_heavy_tails_warn_in_reports():
    y = PREDICTED + HEAVY
    models = {"a": PREDICTED, "b": PREDICTED / 2}
    report = joint_report(y, models, metrics=["mean_squared_error"])
    assert all(heavy_tail(report[label]) for label in report)
    compared = report.differences()
    assert all(heavy_tail(compared[label]) for label in compared)


def test_the_tail_of_independent_samples_is_that_of_the_most_extreme_one():
    """Rows of the smaller have more influence; together they would seem heavy."""
    rng = np.random.default_rng(3)
    reports = {}
    for name, n in (("small", 100), ("large", 5000)):
        p = rng.normal(size=n)
        y = p + rng.uniform(-1, 1, n)
        reports[name] = joint_report(y, p, metrics=["mean_squared_error"])
    compared = combine_independent(reports).differences()
    assert not any(heavy_tail(compared[label]) for label in compared)


def t3_errors(rng, n):
    p = rng.normal(size=n) * np.sqrt(3)
    return p + rng.standard_t(3, size=n), p


def normal_errors(rng, n):
    p = rng.normal(size=n)
    return p + rng.normal(size=n), p


@pytest.mark.parametrize("metric", [R2CI, MeanSquaredErrorCI])
@pytest.mark.parametrize(
    ("draw", "least", "most"), [(t3_errors, 0.3, 1), (normal_errors, 0, 0.02)]
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
    y = rng.random(300) < 0.1
    q = stats.beta.rvs(0.3, 3, size=300, random_state=rng)
    weights = 1 + rng.pareto(1.5, 300)
    for metric in (LogLossCI(), BrierScoreCI(), RocAucCI()):
        assert not heavy_tail(metric(y, q))
    for method in ("score", "delta", "blurred"):
        assert not heavy_tail(AccuracyCI(method=method)(y, q > 0.5))
        assert not heavy_tail(
            AccuracyCI(method=method)(y, q > 0.5, sample_weight=weights)
        )


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
    metric = MeanAbsoluteErrorCI(method="hall", confidence_level=level)
    found = metric(Y, P, sample_weight=weights, groups=groups).confidence_interval()
    weights = np.ones(N) if weights is None else weights
    units = np.arange(N) if groups is None else groups
    expected = halls_limits(np.abs(Y - P), level, weights, units)
    assert_allclose(found, expected, rtol=1e-8)


def test_limits_of_a_root_are_roots_of_limits():
    for method in ("delta", "hall"):
        square = MeanSquaredErrorCI(method=method)(Y, P).confidence_interval()
        root = RootMeanSquaredErrorCI(method=method)(Y, P).confidence_interval()
        assert_allclose(root, np.sqrt(square), rtol=1e-6)


def correlation(m):
    x, y, xx, yy, xy = m
    return (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))


def r2(m):
    e, y, yy = m
    return 1 - e / (yy - y * y)


def quotient(m):
    e, w = m
    return e / w


rate = make_metric_ci(
    lambda e, w: e / w,
    features=lambda y, p: np.stack([(y - p) ** 2, np.abs(y) + 0.1], axis=1),
    name="rate",
    bounds=(0, np.inf),
)

CURVED = {
    "r2": (R2CI(method="hall"), r2, np.stack([(Y - P) ** 2, Y, Y * Y])),
    "correlation": (
        PearsonCorrelationCI(method="hall"),
        correlation,
        np.stack([P, Y, P * P, Y * Y, P * Y]),
    ),
    "rate": (rate, quotient, np.stack([(Y - P) ** 2, np.abs(Y) + 0.1])),
}


@pytest.mark.parametrize("name", CURVED)
def test_the_quadratic_part_is_that_of_the_hessian(name):
    """Half of the second derivative along the covariance with the estimate.

    Of a ratio of sums it bends errors, of other functions it adds to the skewness.
    """
    metric, function, features = CURVED[name]
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


def lognormal_errors(rng, n):
    p = rng.normal(size=n)
    return p + rng.lognormal(size=n) - np.exp(0.5), p


def t5_errors(rng, n):
    p = rng.normal(size=n) * np.sqrt(5 / 3)
    return p + rng.standard_t(5, size=n), p


def rare_positives(rng, n):
    """A tenth is positive; probabilities are right, of an AUC of about .98."""
    y = np.arange(n) < n / 10
    score = rng.normal(size=n) + 2.9 * y
    odds = np.exp(2.9 * score - 2.9**2 / 2) / 9
    return y, odds / (1 + odds)


def mean_log_loss():
    rng = np.random.default_rng(9)
    y, p = rare_positives(rng, 1_000_000)
    return float(LogLossCI()(y, p))


SETTINGS = [
    (MeanSquaredErrorCI, lognormal_errors, 200, (np.e - 1) * np.e, 0.93),
    (MeanSquaredErrorCI, t5_errors, 200, 5 / 3, 0.93),
    (R2CI, t5_errors, 50, 0.5, 0.93),
    (PearsonCorrelationCI, t5_errors, 50, np.sqrt(0.5), 0.93),
    (LogLossCI, rare_positives, 100, mean_log_loss, 0.94),
]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "draw", "n", "truth", "least"), SETTINGS)
def test_hall_intervals_cover(metric, draw, n, truth, least):
    """Of 1,000 samples, with a Monte Carlo error of .007; normal ones cover less."""
    rng = np.random.default_rng(1)
    truth = truth() if callable(truth) else truth
    covered = np.zeros(2)
    for _ in range(1000):
        sample = draw(rng, n)
        for k, method in enumerate(("hall", "delta")):
            low, high = metric(method=method)(*sample).confidence_interval()
            covered[k] += low <= truth <= high
    hall, delta = covered / 1000
    assert least - 0.014 <= hall <= 0.99
    assert delta < hall - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_intervals_with_heavy_weights_cover(method):
    """Weights of a Pareto distribution without a variance, n = 200.

    Within .02 of nominal, and two Monte Carlo errors of .01; "delta", which covers .88
    with a normal quantile, is .04 short.
    """
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(500):
        y = rng.random(200) < 0.5
        p = np.where(rng.random(200) < 0.8, y, ~y)
        estimate = AccuracyCI(method=method)(
            y, p, sample_weight=1 + rng.pareto(1.5, 200)
        )
        low, high = estimate.confidence_interval()
        covered += low <= 0.8 <= high
    short = 0.04 if method == "delta" else 0.02
    assert covered / 500 >= 0.95 - short - 2 * 0.01


@pytest.mark.parametrize(
    "metric", [RocAucCI(), RocAucCI(method="delta"), AccuracyCI(method="delta")]
)
def test_an_interval_that_is_the_whole_range_is_not_called_too_narrow(metric):
    """Negative rows are in a single group, or all predictions are wrong."""
    y, groups = np.repeat([1, 0, 1], [2, 6, 9]), np.repeat([0, 1], [8, 9])
    y_pred = 1 - y if metric.reads == "labels" else np.arange(17) % 5 / 5
    estimate = metric(y, y_pred, groups=groups)
    with pytest.warns(DegenerateVarianceWarning):
        assert (estimate.low, estimate.high) == (0, 1)
    assert len(estimate.warnings) == 1 and "too narrow" not in estimate.warnings[0]
