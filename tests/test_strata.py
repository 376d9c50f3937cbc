"""Strata: rows of which a fixed number was drawn from each stratum."""

import math
import time
import tracemalloc
from functools import partial
from itertools import product

import numpy as np
import pytest
from battery import joint_limits, quiet
from pearson import pearson, score_limits
from scipy import optimize, stats
from sklearn import metrics
from slow import slow, slow_except
from tables import MEASURES, table

from skci import (
    AccuracyCI,
    combine_independent,
    grades_report,
    joint_report,
)
from skci.designs import Strata
from skci.exceptions import SmallSampleWarning
from skci.measures.functional import CellFunctional, MergedFunctional
from skci.measures.stratified import Poststratified
from skci.textbook import two_proportion_test

FUNCTIONS = {
    "accuracy": metrics.accuracy_score,
    "recall": metrics.recall_score,
    "precision": metrics.precision_score,
    "f1": metrics.f1_score,
    "mcc": metrics.matthews_corrcoef,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1_macro": partial(metrics.f1_score, average="macro"),
}


def data(seed=0, sizes=(90, 60)):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], sizes)
    first = np.where(rng.random(len(y)) < 0.85, y, 1 - y)
    second = np.where(rng.random(len(y)) < 0.75, first, 1 - first)
    return y, {"A": first, "B": second}, rng.integers(0, 3, len(y))


def linearised(value, strata, weights, kinds=None):
    """Stratified variance of a function of row weights, as R's survey linearises it.

    The totals are the derivatives in the weights, by central differences; they are the
    same for all rows of a kind.
    """
    kinds = np.arange(len(weights)) if kinds is None else kinds
    step, totals = 1e-6 * weights.mean(), np.empty(len(weights))
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        change = np.where(np.arange(len(weights)) == rows[0], step, 0)
        slope = (value(weights + change) - value(weights - change)) / (2 * step)
        totals[rows] = slope * weights[rows]
    parts = [totals[strata == stratum] for stratum in np.unique(strata)]
    return sum(len(part) * part.var(ddof=1) for part in parts)


@pytest.mark.parametrize(
    ("name", "by_label"),
    slow_except([("f1", True), ("f1_macro", False)], product(FUNCTIONS, [True, False])),
)
def test_linearised_variances(name, by_label):
    """Of strata by label with weights, and of strata beside it without."""
    y, models, sites = data()
    strata = y if by_label else sites
    weights = np.array([1.0, 0.2])[y] if by_label else np.ones(len(y))
    kinds = y + 2 * models["A"] + 4 * models["B"] + 8 * sites
    options = {"metrics": name, "design": Strata(strata), "sample_weight": weights}
    report = joint_report(y, models, method="delta", **options)

    def value(w, model):
        return FUNCTIONS[name](y, models[model], sample_weight=w)

    def difference(w):
        return value(w, "A") - value(w, "B")

    compared = report.differences()[name, "A", "B"]
    first = report["A", name], partial(value, model="A")
    for estimate, function in (first, (compared, difference)):
        expected = math.sqrt(linearised(function, strata, weights, kinds))
        assert estimate == pytest.approx(function(weights))
        assert estimate.standard_error == pytest.approx(expected, rel=1e-5)


SCORES = np.random.default_rng(1).random(150)
ROUNDED = {  # functions of truth and prediction, and how exact the derivative is
    # DeLong's variance is corrected for the sizes of the classes besides.
    "roc_auc": (metrics.roc_auc_score, 0.01),
    "brier_score": (metrics.brier_score_loss, 1e-4),
    "log_loss": (metrics.log_loss, 1e-4),
    "mean_squared_error": (metrics.mean_squared_error, 1e-5),
    "r2": (metrics.r2_score, 1e-5),
}


@pytest.mark.parametrize("name", slow_except(["roc_auc", "r2"], ROUNDED))
def test_linearised_variances_of_scores_and_numbers(name):
    y, models, sites = data()
    predicted = np.clip(0.3 * models["A"] + 0.7 * SCORES, 0.01, 0.99)
    strata, weights, kind = y, np.where(y == 1, 0.1, 0.9), "y_score"
    if name in ("mean_squared_error", "r2"):
        strata, weights, kind = sites, np.ones(150), "y_pred"
        y = sites + SCORES[::-1]
    options = {"design": Strata(strata), "sample_weight": weights, "metrics": name}
    report = joint_report(y, **{kind: predicted}, **options)
    function, error = ROUNDED[name]

    def value(w):
        return function(y, predicted, sample_weight=w)

    found = report["y_pred", name].standard_error
    expected = math.sqrt(linearised(value, strata, weights))
    assert found == pytest.approx(expected, rel=error)


def test_linearised_variances_of_subgroups():
    """Domains, of which a stratum holds a random number of rows."""
    y, models, sites = data()
    group = np.random.default_rng(2).choice(["x", "y"], len(y))
    inside = group == "x"
    kinds = y + 2 * models["A"] + 4 * sites + 16 * inside
    options = {"metrics": "f1", "by": group, "design": Strata(sites)}
    report = joint_report(y, models, method="delta", **options)

    def value(w):
        return metrics.f1_score(y, models["A"], sample_weight=w * inside)

    expected = math.sqrt(linearised(value, sites, np.ones(len(y)), kinds))
    found = report["A", "f1", "x"].standard_error
    assert found == pytest.approx(expected, rel=1e-5)


def test_textbook_mean_of_strata():
    """Cochran (1977), section 5.4: sum of W_h^2 p_h q_h / (n_h - 1)."""
    y, models, _ = data()
    n, shares = np.array([90, 60]), np.array([0.97, 0.03])
    right = [models["A"][y == h] == h for h in (0, 1)]
    variances = shares**2 * [each.var() for each in right] / (n - 1)
    options = {"design": Strata(y), "sample_weight": (shares / n)[y]}
    found = AccuracyCI(method="delta")(y, models["A"], **options)
    assert found == pytest.approx(shares @ [each.mean() for each in right])
    assert found.standard_error == pytest.approx(math.sqrt(variances.sum()))
    # Degrees of freedom of Satterthwaite, at most those of normal observations.
    fourths = np.array([stats.kurtosis(each, fisher=False) for each in right]) / n
    each = np.minimum(n - 1, 2 / (fourths - 1 / n))
    squares = variances * (n - 1) / n
    df = squares.sum() ** 2 / (squares**2 / each).sum()
    reach = stats.t.isf(0.025, df) * found.standard_error
    assert found.high - found == pytest.approx(reach, rel=1e-6)


@pytest.mark.parametrize("method", ["score", "wilson", "clopper-pearson", "jeffreys"])
def test_rates_of_a_label_are_those_of_a_fixed_number_of_trials(method):
    y, models, _ = data()
    options = {"metrics": ["recall", "specificity"], "method": method}
    plain = joint_report(y, models, **options)
    stratified = joint_report(y, models, design=Strata(y), **options)
    np.testing.assert_allclose(
        joint_limits(stratified.individual()), joint_limits(plain.individual())
    )
    assert "strata" not in str(stratified)


def test_pilot_of_strata():
    """The shares of the strata stay, and with them the variance of a row."""
    y, models, _ = data()
    right, options = models["A"] == y, {"metrics": "accuracy", "method": "delta"}
    report = joint_report(y, models["A"], design=Strata(y), **options)
    per_row = sum((y == h).mean() * right[y == h].var() for h in (0, 1))
    n = math.ceil(stats.norm.isf(0.025) ** 2 * per_row / 0.02**2)
    assert report.sample_size(0.02) == pytest.approx(n, rel=3e-3)  # of t, not z


def test_what_reports_say():
    y, models, sites = data()
    report = joint_report(y, models, metrics=["precision", "recall"], design=Strata(y))
    assert "n = 150 in 2 strata, effective n" in str(report)
    assert report["A", "recall"].design_effect == 1
    assert report["A", "precision"].design_effect < 1
    of_sites = AccuracyCI()(y, models["A"], design=Strata(sites))
    assert "in 3 strata" in repr(of_sites)
    with pytest.raises(ValueError, match="groups or strata"):
        two_proportion_test(of_sites, AccuracyCI()(y, models["B"]))
    with pytest.raises(ValueError, match="from one stratum"):
        AccuracyCI(method="wilson")(y, models["A"], design=Strata(sites))


def test_limits_of_many_strata():
    """Pearson's statistic of 100 binomials, whose likelihood has one multiplier."""
    size, crit = 100, 1.96
    rng = np.random.default_rng(0)
    n, shares = rng.integers(3, 15, size), rng.dirichlet(np.ones(size))
    right = rng.binomial(n, 0.95)
    counts = np.stack([right, n - right], axis=1)
    cells, strata = np.tile([0, 1], size), np.repeat(np.arange(size), 2)
    component = MergedFunctional(
        CellFunctional(MEASURES["accuracy"].function), cells, 4
    )
    functional = Poststratified(component, strata, shares)
    limits = score_limits(
        [functional], [counts.ravel()], [crit], [(0, 1)], statistic=pearson
    )

    def rates(multiplier):
        """Solve ``right / p - (n - right) / (1 - p) = multiplier * share`` for p."""
        a = multiplier * shares
        root = np.sqrt((n + a) ** 2 - 4 * a * right)
        rates = np.where(a > 0, 2 * right / (n + a + root), (n + a - root) / (2 * a))
        return np.clip(rates, 1e-12, 1 - 1e-12)

    def distance(multiplier, limit):
        return shares @ rates(multiplier) - limit

    for (limit,), end in zip(limits, (1e6, -1e6), strict=True):
        p = rates(optimize.brentq(distance, end, end / 1e9, args=(limit,)))
        statistic = (n * (right / n - p) ** 2 / (p * (1 - p))).sum()
        assert statistic == pytest.approx(crit**2, rel=1e-4)


@pytest.mark.parametrize("crit", [1.96, slow(3.3)])
def test_limits_of_tiny_strata(crit):
    """At the limits the best of several constrained maxima by SLSQP has the statistic.

    The rows are of strata of 2 to 5, where the general solver finds no upper limit.
    """
    rng = np.random.default_rng(34)
    size = int(rng.integers(5, 25))
    n = rng.integers(2, 6, size)
    counts = np.concatenate([rng.multinomial(k, [0.1, 0.2, 0.1, 0.6]) for k in n])
    shares = rng.lognormal(sigma=2, size=size)
    cells, strata = np.tile(np.arange(4), size), np.repeat(np.arange(size), 4)
    cell_functional = CellFunctional(MEASURES["matthews_corrcoef"].function)
    component = MergedFunctional(cell_functional, cells, 4)
    functional = Poststratified(component, strata, shares / shares.sum())
    limits = score_limits([functional], [counts], [crit], [(-1, 1)], statistic=pearson)
    f, p_hat = (counts + 1e-7) / (counts + 1e-7).sum(), counts / counts.sum()

    def proportions(x):
        e = np.exp(np.clip(x, -50, 50))
        return e * (np.bincount(strata, f) / np.bincount(strata, e))[strata]

    def loss(x):
        return -f @ np.log(proportions(x)), proportions(x) - f

    for (limit,) in limits:
        constraint = {
            "type": "eq",
            "fun": lambda x, limit=limit: functional.estimate(proportions(x)) - limit,
            "jac": lambda x: proportions(x) * functional(proportions(x)).influence,
        }
        options = {"method": "SLSQP", "options": {"maxiter": 500, "ftol": 1e-12}}
        starts = np.log(counts + 0.02 + rng.random((8, len(counts))) / 2)
        found = [
            optimize.minimize(loss, start, jac=True, constraints=constraint, **options)
            for start in starts
        ]
        best = min((each for each in found if each.success), key=lambda each: each.fun)
        p = proportions(best.x)
        statistic = counts.sum() * ((p_hat - p) ** 2 / p).sum()
        assert statistic == pytest.approx(crit**2, rel=1e-4)


def test_many_sparse_strata_warn():
    """Of a stratum with most of the weight nothing is known about errors."""
    stratum = np.repeat(np.arange(31), [50, *[8] * 30])
    weights = np.where(stratum, 0.1 / 240, 0.9 / 50)
    y, name = np.arange(290) % 7, "matthews_corrcoef"
    p = np.where((stratum > 0) & (np.arange(290) % 5 == 0), (y + 1) % 7, y)
    many, few = (
        joint_report(y, p, metrics=name, sample_weight=weights, design=Strata(each))
        for each in (stratum, np.minimum(stratum, 1))
    )
    with pytest.warns(SmallSampleWarning, match="few rows of a stratum with a large"):
        many["y_pred", name].confidence_interval()
    few["y_pred", name].confidence_interval()  # the table by stratum is small


def test_a_sparse_task_of_many_does_not_matter():
    # One task of 57 with two wrong items of 40 has next to no part of the variance.
    sizes = np.array([40] + [200] * 56)
    right = np.concatenate([np.arange(n) % 20 > (n > 40) * 6 for n in sizes])
    options = {"tasks": np.repeat(np.arange(57), sizes), "bounds": (0, 1)}
    assert grades_report(right.astype(float), **options).warnings == ()


def test_strata_that_do_not_count_are_none():
    """Of weight zero, also beside another test set."""
    y, models, sites = data()
    kept, options = sites > 0, {"metrics": "accuracy", "method": "delta"}
    weighted = {"design": Strata(sites), "sample_weight": kept * 1.0}
    found = joint_report(y, models["A"], **weighted, **options)
    rows, few = (y[kept], models["A"][kept]), Strata(sites[kept])
    alone = joint_report(*rows, design=few, **options)
    np.testing.assert_allclose(joint_limits(found), joint_limits(alone))
    both = quiet(combine_independent, {"one": found, "two": alone}).individual()
    np.testing.assert_allclose(joint_limits(both), [*joint_limits(alone)] * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    table("""
design=Strata([0] * 149 + [1]) -> at least two rows each, .* one row in 1
design=Strata([0] * 149) -> strata must have an entry for each of the 150
design=Strata([0.0] * 149 + [np.nan]) -> strata must name a stratum in every row
design=Strata([0] * 75 + [1] * 75), groups=range(150) -> groups must not be given
design=Strata([0] * 150), sample_weight=[1.0] * 149 + [2] -> from 1 to 2 in 0
"""),
)
def test_wrong_strata(options, message):
    y, models, _ = data()
    with pytest.raises(ValueError, match=message):
        joint_report(y, models, metrics="accuracy", **eval(f"dict({options})"))


@pytest.mark.slow
def test_intervals_of_many_tiny_strata_cover():
    """80 strata of 5 rows and unequal weights; the Monte Carlo error is .015."""
    rng = np.random.default_rng(0)
    stratum = np.repeat(np.arange(80), 5)
    rows = {"design": Strata(stratum), "sample_weight": rng.lognormal(size=80)[stratum]}
    truth = {"accuracy": 0.97, "recall": 0.97, "f1": 0.97 * 0.8 / (0.97 * 0.8 + 0.03)}
    hits, draws = np.zeros(3), 200
    for _ in range(draws):
        y = rng.random(400) < 0.4
        p = y ^ (rng.random(400) < 0.03)
        report = joint_report(y, p, metrics=[*truth], **rows)
        low, high = joint_limits(report.individual()).T
        hits += (low <= [*truth.values()]) & ([*truth.values()] <= high)
    assert min(hits) > 0.93 * draws


def test_memory_of_many_strata_is_linear():
    """Many strata of two rows, which would not fit if it grew with pairs of strata."""
    rng, peaks = np.random.default_rng(0), []
    for n_strata in (250, 1_000):
        y, predicted = rng.integers(0, 2, (2, 2 * n_strata))
        stratum = np.repeat(np.arange(n_strata), 2)
        rows = {"design": Strata(stratum), "metrics": "f1"}
        tracemalloc.start()
        for weights in (None, rng.integers(1, 4, n_strata)[stratum]):
            report = joint_report(y, predicted, sample_weight=weights, **rows)
            assert 0 < report["y_pred", "f1"].low < report["y_pred", "f1"].high < 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]


@pytest.mark.parametrize("metric", ["f1", "cohen_kappa", "roc_auc"])
def test_time_of_many_strata_is_linear(metric):
    # Of four times as many strata: quadratic growth takes 16 times as long.
    times, rng = [], np.random.default_rng(0)
    for n_strata in (15_000, 60_000):
        y, predicted = rng.integers(0, 2, (2, 4 * n_strata))
        design = Strata(np.arange(4 * n_strata) % n_strata)
        start = time.process_time()
        given = {"y_score" if metric == "roc_auc" else "y_pred": predicted * 1.0}
        report = joint_report(y, **given, metrics=metric, design=design)
        assert report["y_pred", metric].pvalue(0.1) < 1
        times.append(time.process_time() - start)
    assert times[1] < 9 * times[0]
