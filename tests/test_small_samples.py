"""Degrees of freedom from influence values, and limits corrected for skewness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from skci import (
    R2CI,
    AccuracyCI,
    LogLossCI,
    MeanAbsoluteErrorCI,
    MeanSquaredErrorCI,
    PearsonCorrelationCI,
    RootMeanSquaredErrorCI,
)
from skci.inference.design import Design

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

N = 80
RNG = np.random.default_rng(0)
P = RNG.normal(size=N)
Y = P + RNG.laplace(size=N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
GROUPS = RNG.integers(0, 25, N)

# Moments of influence values


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_moments_of_distinct_outcomes_are_those_of_rows(weights, groups):
    """Sums of powers over rows that are counted by outcome, and row by row."""
    outcome = RNG.integers(0, 3, N)
    influence = np.array([1.0, -2.0, 5.0])
    names = None if groups is None else (np.unique(groups), groups)
    design = Design.of_units(outcome, 3, weights, names)
    found = design.moments(influence, np.arange(3), np.ones(3, dtype=bool))
    w = np.ones(N) if weights is None else weights / design.scale
    values = w * (influence[outcome] - np.average(influence[outcome], weights=w))
    units = np.arange(N) if groups is None else groups
    totals = np.bincount(units, values)
    assert_allclose(found.sizes, [len(np.unique(units))])
    unit = np.log2(totals @ totals / found.squares) / 2
    assert_allclose(unit, unit.round(), atol=1e-12)
    totals *= 2.0 ** -unit.round()
    for k, power in zip((2, 3, 4), found[1:], strict=True):
        assert_allclose(power, [(totals**k).sum()], rtol=1e-12)


def test_degrees_of_freedom_of_strata_are_those_of_welch():
    """Two independent samples, of which each is nearly normal."""
    quantiles = [stats.norm.isf((np.arange(m) + 0.5) / m) for m in (40, 9)]
    influence = np.append(quantiles[0], 3 * quantiles[1])
    strata = np.repeat([0, 1], [40, 9])
    design = Design(np.ones(49), strata=strata)
    found = design.moments(influence, np.arange(49), np.ones(49, dtype=bool))
    v = np.array([influence[strata == k] @ influence[strata == k] for k in (0, 1)])
    welch = v.sum() ** 2 / (v**2 / [39, 8]).sum()
    assert found.degrees_of_freedom == pytest.approx(welch, rel=0.05)


# Hall's transformation


def halls_limits(losses, level=0.95):
    """Limits of a mean, solved for from the transformation of Hall (1992)."""
    n = len(losses)
    deviations = losses - losses.mean()
    g = (deviations**3).sum() / (deviations**2).sum() ** 1.5
    fourths = (deviations**4).sum() / (deviations**2).sum() ** 2
    df = min(n - 1, 2 / (fourths - 1 / n))
    error = losses.std(ddof=1) / np.sqrt(n)
    quantile = stats.t.isf((1 - level) / 2, df)
    limits = []
    for u in (quantile, -quantile):

        def excess(t, u=u):
            return t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6 - u

        limits.append(losses.mean() - error * optimize.brentq(excess, -1e4, 1e4))
    return limits


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_limits_of_a_mean_of_losses(level):
    metric = MeanAbsoluteErrorCI(method="hall", confidence_level=level)
    found = metric(Y, P).confidence_interval()
    assert_allclose(found, halls_limits(np.abs(Y - P), level), rtol=1e-9)


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


CURVED = {
    "r2": (R2CI, r2, np.stack([(Y - P) ** 2, Y, Y * Y])),
    "correlation": (
        PearsonCorrelationCI,
        correlation,
        np.stack([P, Y, P * P, Y * Y, P * Y]),
    ),
}


@pytest.mark.parametrize("name", CURVED)
def test_the_quadratic_part_is_that_of_the_hessian(name):
    """Half of the second derivative along the covariance with the estimate."""
    metric, function, features = CURVED[name]
    joint = metric(method="hall")(Y, P)._joint
    a, b = joint.sampling.hall_coefficients(0)
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
    assert_allclose([a, b], [g / 3 + bend, g / 6 + bend], rtol=0.03)


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
