"""The score interval against closed forms, a slow reference and its own promises."""

import numpy as np
import pytest
from battery import quiet
from metrics_battery import FORMULAS, METRICS
from pearson import pearson, score_limits, score_roots, tango
from scipy.optimize import brentq, minimize
from scipy.special import expit, xlogy
from scipy.stats import norm
from slow import slow_except
from tables import MEASURES

import skci
from skci.inference.intervals.ratio import as_ratio
from skci.inference.intervals.statistic import improved
from skci.measures.functional import CellFunctional, Functional

Z = norm.isf(0.025)
UNIT, BALANCED = (0.0, 1.0), (-1.0, 1.0)


class Smooth(Functional):
    """A function of the cells, differentiated by the complex step."""

    def __init__(self, function):
        self.function = function

    def estimate(self, p):
        return self(p)[0]

    def __call__(self, p):
        nudged = p[..., np.newaxis, :] + 1e-100j * np.eye(p.shape[-1])
        with np.errstate(all="ignore"):
            value = self.function(*np.moveaxis(nudged, -1, 0))
        gradient = value.imag / 1e-100
        influence = gradient - np.sum(p * gradient, axis=-1, keepdims=True)
        return value.real[..., 0], influence, gradient


def macro_f1(*cells):
    table = np.stack(cells).reshape(3, 3, *cells[0].shape)
    hits = np.stack([table[k, k] for k in range(3)])
    return np.mean(2 * hits / (table.sum(axis=0) + table.sum(axis=1)), axis=0)


NAMES = """accuracy precision recall specificity f0.5 f1 f2 jaccard balanced_accuracy
    matthews_corrcoef cohen_kappa g_mean lift cosine positive_likelihood_ratio
    negative_likelihood_ratio diagnostic_odds_ratio informedness markedness"""
FUNCTIONS = {name: (FORMULAS[name], METRICS[name].bounds) for name in NAMES.split()}
FUNCTIONS["macro-f1"] = macro_f1, UNIT
FUNCTIONALS = {name: Smooth(function) for name, (function, _) in FUNCTIONS.items()}
FEW_NAMES = ["f1", "cohen_kappa", "diagnostic_odds_ratio", "macro-f1"]
OWN = {name: CellFunctional(measure.function) for name, measure in MEASURES.items()}
"""Functionals of the package."""


def limits(name, tables, crit=Z, statistic=improved):
    """Limits of one measure at one table or more."""
    tables = np.atleast_2d(tables).astype(float)
    count = len(tables)
    low, high = score_limits(
        [FUNCTIONALS[name]] * count,
        tables,
        np.broadcast_to(crit, count),
        np.tile(FUNCTIONS[name][1], (count, 1)),
        statistic=statistic,
    )
    return np.stack([low, high], axis=-1)


def random_tables(name, sizes, seed):
    """Tables at which a measure is defined, many with empty cells."""
    rng, tables = np.random.default_rng(seed), []
    cells = 9 if name == "macro-f1" else 4
    while len(tables) < len(sizes):
        shares = rng.dirichlet(np.full(cells, 0.6))
        tables.append(rng.multinomial(sizes[len(tables)], shares))
        if np.isnan(estimate(name, tables[-1])):
            tables.pop()
    return np.array(tables, dtype=float)


def estimate(name, tables):
    with np.errstate(all="ignore"):
        return FUNCTIONS[name][0](*np.moveaxis(np.asarray(tables, float), -1, 0))


def line(name, value):
    """The scale on which precision is asked for."""
    low, high = FUNCTIONS[name][1]
    with np.errstate(all="ignore"):
        if np.isinf(high):
            return np.log(value - low)
        return np.log((value - low) / (high - value))


def off_line(name, place):
    low, high = FUNCTIONS[name][1]
    return np.exp(place) if np.isinf(high) else low + (high - low) * expit(place)


# Closed forms


def wilson(successes, trials, z=Z):
    centre = (successes + z**2 / 2) / (trials + z**2)
    spread = np.sqrt(successes * (trials - successes) / trials + z**2 / 4)
    half = z * spread / (trials + z**2)
    low = np.where(successes == 0, 0, centre - half)
    return np.stack([low, np.where(successes == trials, 1, centre + half)], axis=-1)


PROPORTIONS = {
    "accuracy": ([1, 0, 0, 1], [1, 1, 1, 1]),
    "precision": ([1, 0, 0, 0], [1, 1, 0, 0]),
    "recall": ([1, 0, 0, 0], [1, 0, 1, 0]),
    "specificity": ([0, 0, 0, 1], [0, 1, 0, 1]),
    "jaccard": ([1, 0, 0, 0], [1, 1, 1, 0]),
}


@pytest.mark.parametrize("name", PROPORTIONS)
@pytest.mark.parametrize("crit", [1.0, Z, 4.0])
def test_pearson_of_a_proportion_is_wilson(name, crit):
    tables = random_tables(name, [20, 30, 50, 200, 3000] * 8, seed=1)
    tables[0], tables[1] = [7, 0, 0, 13], [3.5, 1.25, 4, 9]  # also of weighted rows
    successes, trials = (tables @ np.array(part) for part in PROPORTIONS[name])
    found = limits(name, tables, crit, pearson)
    np.testing.assert_allclose(found, wilson(successes, trials, crit), atol=1e-7)


def test_pearson_of_a_paired_difference_is_tango():
    difference = Smooth(lambda both, first, second, neither: first - second)
    rng = np.random.default_rng(4)
    tables = rng.multinomial(40, rng.dirichlet(np.ones(4), 12)).astype(float)
    tables[0], tables[1] = [35, 0, 0, 5], [43, 0, 1, 0]
    arguments = [difference] * 12, tables, [Z] * 12, [BALANCED] * 12
    for table, low, high in zip(
        tables, *score_limits(*arguments, statistic=pearson), strict=True
    ):
        assert tango(table, low) == pytest.approx(Z, abs=1e-5)
        assert tango(table, high) == pytest.approx(-Z, abs=1e-5)


# A slow reference


def reference_statistic(name, table, value, statistic=improved):
    """S where the likelihood is largest under a value, by sequential programming."""
    n, p_hat = table.sum(), table / table.sum()
    cells = len(table)

    def gap(p):
        return line(name, FUNCTIONS[name][0](*p)) - line(name, value)

    def gap_slope(p):
        nudged = p[:, np.newaxis] + 1e-100j * np.eye(cells)
        return np.imag(line(name, FUNCTIONS[name][0](*nudged))) / 1e-100

    total = {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like}
    constraints = [{"type": "eq", "fun": gap, "jac": gap_slope}, total]
    best = None
    for spread in (0.02, 0.5, 3, 1e3):
        found = quiet(
            minimize,
            lambda p: -np.sum(xlogy(p_hat, p)),
            (table + spread) / (table + spread).sum(),
            jac=lambda p: -p_hat / p,
            method="SLSQP",
            bounds=[(1e-10, 1)] * cells,
            constraints=constraints,
            options={"ftol": 1e-13, "maxiter": 300},
        )
        feasible = abs(gap(found.x)) < 1e-7 and abs(found.x.sum() - 1) < 1e-9
        if feasible and (best is None or found.fun < best.fun):
            best = found
    p = best.x / best.x.sum()
    _, influence, _ = FUNCTIONALS[name](p)
    x2 = n * np.sum((p_hat - p) ** 2 / p)
    g2 = 2 * n * np.sum(xlogy(p_hat, p_hat / p))
    rho = np.sum(p_hat * influence**2) / np.sum(p * influence**2)
    return float(statistic(x2, g2, rho))


def sides(name, tables):
    """Each limit that is not an end of the range, with its table."""
    ends = FUNCTIONS[name][1]
    for table, found in zip(tables, limits(name, tables), strict=True):
        for limit, end in zip(found, ends, strict=True):
            if limit != end:
                yield table, limit


@pytest.mark.parametrize("name", slow_except(FEW_NAMES, FUNCTIONS))
def test_the_statistic_crosses_at_the_limit_and_not_before(name):
    tables = random_tables(name, [20, 40, 3000], seed=10)
    for table, limit in sides(name, tables):
        assert reference_statistic(name, table, limit) == pytest.approx(Z**2, abs=1e-3)
        data = line(name, estimate(name, (table + 1e-3) / (table + 1e-3).sum()))
        between = off_line(name, data + 0.9 * (line(name, limit) - data))
        assert reference_statistic(name, table, between) < Z**2


def test_the_limit_is_the_first_crossing():
    """Going down the lift crosses at 4.17, comes back, and crosses again at 3.59."""
    table = np.array([3.0, 0, 2, 39])
    low, _ = limits("lift", table)[0]
    assert low == pytest.approx(4.1702, abs=1e-4)
    assert reference_statistic("lift", table, 4.0) < Z**2
    again = brentq(
        lambda m: reference_statistic("lift", table, m) - Z**2, 4.0, 3.0, xtol=1e-6
    )
    assert again == pytest.approx(3.591, abs=1e-3)


@pytest.mark.parametrize("table", [[2.0, 1, 0, 97], [1.0, 0, 0, 29], [3.0, 2, 0, 15]])
def test_of_two_maxima_the_likelier_counts(table):
    """Two constrained maxima: in one an empty cell stays empty, in the other not."""
    low, _ = limits("lift", table)[0]
    table = np.array(table)
    assert reference_statistic("lift", table, low) == pytest.approx(Z**2, abs=1e-3)
    assert reference_statistic("lift", table, 1.02 * low) < Z**2


# Promises


RATIOS = [name for name in FUNCTIONS if name in OWN and as_ratio(OWN[name])]


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("statistic", [improved, pearson])
def test_closed_form_and_path_agree(name, statistic):
    sizes = np.repeat([5, 12, 30, 50, 200, 1000, 100_000], 4)
    tables = np.tile(random_tables(name, sizes, seed=24), (3, 1))
    count = len(tables)
    crit = np.repeat([1.0, Z, 4.0], count // 3)
    by_path = limits(name, tables, crit, statistic)
    closed = score_limits(
        [OWN[name]] * count,
        tables,
        crit,
        np.tile(UNIT, (count, 1)),
        statistic=statistic,
    )
    np.testing.assert_allclose(np.transpose(closed), by_path, atol=2e-7)


@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("null", [1e-15, 1e-20])
def test_the_root_of_a_statistic_far_from_the_estimate_is_not_rounded(hits, null):
    """Where X2 exceeds G2 by more than 1e16, S is the latter."""
    table, share = np.array([[hits, 100.0 - hits, 0, 0]]), hits / 100
    root = score_roots([OWN["precision"]], table, [null], [UNIT])
    g2 = 200 * (share * np.log(share / null) + (1 - share) * np.log1p(-share))
    assert root == pytest.approx(np.sqrt(g2), rel=1e-4)


LARGE = """MatthewsCorrCoef BalancedAccuracy PositiveLikelihoodRatio F1 CohenKappa
    NegativeLikelihoodRatio Accuracy"""


@pytest.mark.parametrize("n", [10**12, 10**15])
@pytest.mark.parametrize("name", LARGE.split())
def test_limits_of_large_tables_are_those_of_the_normal_approximation(name, n):
    table, metric = np.array([[3, 1], [2, 4]]) * (n // 10), getattr(skci, f"{name}CI")
    found = metric().from_confusion_matrix(table).confidence_interval()
    normal = metric(method="delta").from_confusion_matrix(table)
    expected = normal.confidence_interval()
    error = 1e-4 * normal.standard_error
    np.testing.assert_allclose(found, expected, rtol=0, atol=error)


@pytest.mark.parametrize("name", ["BalancedAccuracyCI", "AccuracyCI", "F1CI"])
def test_limits_of_few_errors_in_large_tables_are_those_of_rare_events(name):
    """As many errors of more rows are in the limit counts of Poisson."""
    missing = []
    for n in (10**7, 10**11):
        found = getattr(skci, name)().from_confusion_matrix([[n, 5], [3, n]])
        missing.append([(1 - limit) * n for limit in found.confidence_interval()])
    np.testing.assert_allclose(missing[0], missing[1], rtol=1e-4)


def statistic_of_ratio(cells, costs, value):
    """S of a ratio H / (H + costs @ cells), of cells tp, fp, fn and tn.

    The value is a linear constraint on the cells, whose multiplier is a root.
    """
    slopes = np.array([1 - value, -costs[0] * value, -costs[1] * value, 0])
    f = (cells + 1e-7) / (cells + 1e-7).sum()

    def gap(multiplier):
        return f @ (slopes / (1 + multiplier * slopes))

    ends = -1 / slopes.max(), -1 / slopes.min()
    multiplier = brentq(gap, ends[0] * (1 - 1e-14), ends[1] * (1 - 1e-14), xtol=1e-15)
    p, n, p_hat = f / (1 + multiplier * slopes), cells.sum(), cells / cells.sum()
    x2 = n * np.sum((p_hat - p) ** 2 / p)
    g2 = 2 * n * np.sum(xlogy(p_hat, p_hat / p) - p_hat + p)
    return improved(x2, g2, p_hat @ slopes**2 / (p @ slopes**2))


@pytest.mark.parametrize(
    ("costs", "cells", "level"),
    [
        ((0.33, 16.0), (0, 2, 3, 4), 0.99),
        ((1 / 1.01, 0.01 / 1.01), (0, 3, 1, 1), 0.99),
        ((1.0, 1.0), (0, 1, 2, 5), 0.95),
        ((0.5, 0.5), (0, 40, 30, 900), 0.999),
        ((0.2, 0.8), (0, 1, 0, 3), 0.9),
        ((0.2, 0.8), (3, 2, 1, 14), 0.95),
    ],
)
def test_upper_limits_of_ratios_with_few_hits(costs, cells, level):
    """Also without any, where the path starts far from the limit."""
    tp, fp, fn, tn = cells
    metric = skci.TverskyCI(*costs, confidence_level=level)
    high = metric.from_confusion_matrix([[tn, fp], [fn, tp]]).high
    cells = np.array(cells, dtype=float)
    estimate = tp / (tp + costs[0] * fp + costs[1] * fn)
    crit = norm.isf((1 - level) / 2) ** 2

    def excess(value):
        return statistic_of_ratio(cells, costs, value) - crit

    expected = brentq(excess, estimate + 1e-4, 1 - 1e-9)
    assert high == pytest.approx(expected, abs=2e-6)
