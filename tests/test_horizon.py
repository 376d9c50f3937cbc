"""Intervals that hold at every look: critical values, and coverage by simulation."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from slow import slow
from tables import raises, table

from skci import JointAccumulator
from skci.inference.critical.horizon import (
    Horizon,
    sequential_maximum,
)

# Pocock (1977), Biometrika 64, 191-199, table 1: critical values of equally spaced
# looks at a two-sided level of .05.
POCOCK = {2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413}


@pytest.mark.parametrize("looks", POCOCK)
def test_planned_looks_have_pocock_s_critical_values(looks):
    horizon = Horizon(tuple(100 * k for k in range(1, looks + 1)), continuous=False)
    q = sequential_maximum(np.ones((1, 1)), horizon).quantile(0.95)
    assert q == pytest.approx(POCOCK[looks], abs=2e-3)


def test_many_planned_looks_are_any_look():
    looks = tuple(range(100, 301))
    planned, any_look = (
        sequential_maximum(np.ones((1, 1)), horizon).quantile(0.95)
        for horizon in (Horizon(looks, False), Horizon((100, 300), True))
    )
    assert planned == any_look


def stays_within(boundary, length, cells=300):
    """P(|X| < boundary) over a length of an Ornstein-Uhlenbeck process in time.

    By Kolmogorov's backward equation, in finite differences.
    """
    x, step = np.linspace(-boundary, boundary, cells + 1, retstep=True)
    x = x[1:-1]
    generator = np.diag(np.full(len(x), -1 / step**2))
    generator += np.diag(0.5 / step**2 - x[:-1] / (4 * step), 1)
    generator += np.diag(0.5 / step**2 + x[1:] / (4 * step), -1)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * step
    return density @ expm(length * generator).sum(axis=1)


@pytest.mark.parametrize("ratio", [2, slow(10), slow(100)])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_the_critical_value_of_one_estimate_is_that_of_its_process(ratio, level):
    def excess(boundary):
        return stays_within(boundary, np.log(ratio)) - level

    law = sequential_maximum(
        np.ones((1, 1)), Horizon((100, 100 * ratio), continuous=True)
    )
    above = law.quantile(level) - brentq(excess, 1.5, 5, xtol=1e-4)
    assert 0 < above < 0.016  # on the safe side by a half percent at most


def largest(n_paths, looks, correlation, rng):
    """Largest standardised sum of the rows so far, at any look and of any parameter."""
    root = np.linalg.cholesky(correlation)
    total, most = 0.0, np.zeros(n_paths)
    for look, step in zip(looks, np.diff(looks, prepend=0), strict=True):
        total = total + np.sqrt(step) * rng.normal(size=(n_paths, len(root))) @ root.T
        np.maximum(most, np.abs(total).max(axis=1) / np.sqrt(look), out=most)
    return most


def correlated(size, correlation=0.5):
    return np.full((size, size), correlation) + (1 - correlation) * np.eye(size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 12])
def test_the_process_stays_within_the_critical_value_at_many_planned_looks(size):
    looks = np.linspace(100, 10_000, 400).astype(int)
    horizon = Horizon(tuple(looks.tolist()), continuous=False)
    law = sequential_maximum(correlated(size), horizon)
    most = largest(20_000, looks, correlated(size), np.random.default_rng(0))
    assert 0.03 < np.mean(most > law.quantile(0.95)) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_process_stays_within_the_critical_value_at_every_look(size, level):
    correlation = correlated(size, 0.6)
    law = sequential_maximum(correlation, Horizon((1000, 4000), continuous=True))
    looks = np.arange(1000, 4001)
    most = largest(4000, looks, correlation, np.random.default_rng(0))
    misses = np.mean(most > law.quantile(level))
    error = np.sqrt(level * (1 - level) / 4000)
    # Looks after each row are fewer than all times, for which the law is.
    assert -4 * error - 0.15 * (1 - level) < misses - (1 - level) < 3 * error


def test_the_tail_agrees_with_the_quantile():
    law = sequential_maximum(np.eye(2), Horizon((10, 1000), continuous=True))
    q = float(law.quantile(0.95))
    below, above = law.sf([q - 1e-6, q + 1e-6], level=0.95)
    assert below >= 0.05 > above
    assert law.sf(q) == pytest.approx(0.05, rel=0.03)


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    wrong = {"A": rng.random(n) < 0.2, "B": rng.random(n) < 0.3}
    return y, {model: np.where(each, 1 - y, y) for model, each in wrong.items()}


def accumulated(metrics, n=500, **columns):
    accumulator = JointAccumulator(metrics)
    y, predicted = stream(n)
    accumulator.update(y, predicted, **columns)
    return accumulator


def test_a_report_over_a_horizon_is_wider_and_consistent():
    accumulator = accumulated("accuracy")
    plain = accumulator.report()
    report = accumulator.report(horizon=(200, 20_000))
    assert "at every look from n = 200 to 20000" in str(report)
    assert 1.2 < report.critical_value / plain.critical_value < 1.6
    single = report.individual()
    assert report.critical_value > single.critical_value > 2.8
    assert report.at(0.8).critical_value < report.critical_value
    for each in (report, single, report.differences()):
        level = each.confidence_level
        for estimate in each.values():
            low, high = estimate.confidence_interval()
            width = high - low
            assert estimate.pvalue(low - 1e-3 * width) < 1 - level
            assert estimate.pvalue(low + 1e-3 * width) > 1 - level
            assert estimate.pvalue(low, "greater") < 0.7 * (1 - level)
    assert report.best("accuracy").models == ["A"]
    wide, narrow = report.best("accuracy").intervals, plain.best("accuracy").intervals
    assert wide[0, 1] > narrow[0, 1]
    two = accumulated(["accuracy", "recall"]).report(horizon=(200, 20_000))
    with pytest.raises(ValueError, match="adjust must be 'single-step' with a horizon"):
        two.differences(adjust="step-down").to_dict()


def test_planned_looks_are_a_list_or_a_range_and_cost_less():
    every, listed, any_look = (
        accumulated("accuracy").report(horizon=horizon)
        for horizon in (range(100, 1001, 100), [*range(100, 1001, 100)], (100, 1000))
    )
    assert every.to_dict() == listed.to_dict()
    assert "at 10 looks up to n = 1000" in str(every)
    assert every.critical_value < 0.95 * any_look.critical_value


def test_groups_are_the_units_of_a_horizon():
    accumulator = accumulated("accuracy", 600, groups=np.arange(600) // 3)
    assert "at 2 looks up to n = 200" in str(accumulator.report(horizon=[100, 200]))
    with pytest.raises(ValueError, match="number of rows or groups, 200, got"):
        accumulator.report(horizon=(300, 600))


@pytest.mark.parametrize(
    ("horizon", "message"),
    table("""
(100, 400) -> include the current number of rows or groups, 500, got
(501, 900) -> include the current number of rows or groups, 500, got
[100, 400, 600] -> contain the current number of rows or groups, 500, got
(100, 500, 900) -> a pair
[500, 100] -> ascending
(0, 900) -> ascending
[] -> a list of ascending
range(0) -> a list of ascending
500 -> a list of ascending
(100.5, 900) -> numbers of rows
"""),
)
def test_wrong_horizons_are_refused(horizon, message):
    with raises(message):
        accumulated("accuracy").report(horizon=eval(horizon))


def test_a_horizon_for_too_many_estimates_is_refused():
    with raises("at most 2048 estimates, got 3000"):
        sequential_maximum(np.eye(3000), Horizon((100, 1000), continuous=True))


@pytest.mark.slow
def test_no_interval_misses_at_any_look():
    """Accuracy, F1 and MCC of two models, a look after every 100 rows, 120 streams."""
    metrics = ["accuracy", "f1", "mcc"]
    truth = []
    for wrong in (0.2, 0.3):
        tp, fp, fn = 0.4 * (1 - wrong), 0.6 * wrong, 0.4 * wrong
        tn = 0.6 * (1 - wrong)
        root = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        f1 = 2 * tp / (2 * tp + fp + fn)
        truth += [1 - wrong, f1, (tp * tn - fp * fn) / root]
    truth, misses, crit = np.array(truth), 0, None  # it changes little
    for seed in range(120):
        accumulator = JointAccumulator(metrics, method="delta")
        y, predicted = stream(4000, seed)
        for start in range(0, 4000, 100):
            rows = slice(start, start + 100)
            accumulator.update(y[rows], {k: v[rows] for k, v in predicted.items()})
            if start + 100 < 200:
                continue
            if crit is None:
                crit = accumulator.report(horizon=(200, 4000)).critical_value
            report = accumulator.report()
            error = np.sqrt(report.covariance.diagonal())
            if (np.abs(report.estimates - truth) > crit * error).any():
                misses += 1
                break
    assert misses / 120 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
