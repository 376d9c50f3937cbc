"""Strata: rows of which a fixed number was drawn from each stratum."""

import math
import time
import tracemalloc
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from battery import quiet
from pearson import pearson, score_limits, score_roots
from scipy import optimize, stats
from sklearn import metrics
from slow import slow, slow_except
from tables import MEASURES

from skci import (
    AccuracyCI,
    PrecisionCI,
    combine_independent,
    grades_report,
    joint_report,
)
from skci.designs import Strata
from skci.exceptions import SmallSampleWarning
from skci.measures.functional import CellFunctional, Functional, MergedFunctional
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
    step = 1e-6 * weights.mean()
    totals = np.empty(len(weights))
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        change = np.zeros(len(weights))
        change[rows[0]] = step
        above, below = value(weights + change), value(weights - change)
        totals[rows] = (above - below) / (2 * step) * weights[rows]
    variance = 0.0
    for stratum in np.unique(strata):
        each = totals[strata == stratum]
        n = len(each)
        variance += n / (n - 1) * ((each - each.mean()) ** 2).sum()
    return variance


def limits(report):
    return [(report[key].low, report[key].high) for key in report]


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
    function = FUNCTIONS[name]
    values = {
        model: partial(lambda a, w: function(y, a, sample_weight=w), predicted)
        for model, predicted in models.items()
    }
    for model, value in values.items():
        expected = math.sqrt(linearised(value, strata, weights, kinds))
        assert report[model, name] == pytest.approx(value(weights))
        assert report[model, name].standard_error == pytest.approx(expected, rel=1e-5)
    difference = report.differences()[name, "A", "B"]
    both = linearised(lambda w: values["A"](w) - values["B"](w), strata, weights, kinds)
    assert difference.standard_error == pytest.approx(math.sqrt(both), rel=1e-5)


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
    strata, weights = y, np.where(y == 1, 0.1, 0.9)
    if name in ("mean_squared_error", "r2"):
        strata, weights, y = sites, np.ones(150), sites + SCORES[::-1]
    options = {"design": Strata(strata), "sample_weight": weights}
    kind = "y_pred" if strata is sites else "y_score"
    report = joint_report(y, **{kind: predicted}, metrics=name, **options)
    function, error = ROUNDED[name]
    expected = linearised(
        lambda w: function(y, predicted, sample_weight=w), strata, weights
    )
    found = report["y_pred", name].standard_error
    assert found == pytest.approx(math.sqrt(expected), rel=error)


def test_linearised_variances_of_subgroups():
    """Domains, of which a stratum holds a random number of rows."""
    y, models, sites = data()
    group = np.random.default_rng(2).choice(["x", "y"], len(y))
    kinds = y + 2 * models["A"] + 4 * sites + 16 * (group == "x")
    report = joint_report(
        y, models, metrics="f1", by=group, design=Strata(sites), method="delta"
    )
    for name in ("x", "y"):
        inside = group == name
        value = partial(
            lambda chosen, w: metrics.f1_score(
                y, models["A"], sample_weight=w * chosen
            ),
            inside,
        )
        expected = math.sqrt(linearised(value, sites, np.ones(len(y)), kinds))
        found = report["A", "f1", name].standard_error
        assert found == pytest.approx(expected, rel=1e-5)


def test_textbook_mean_of_strata():
    """Cochran (1977), section 5.4: sum of W_h^2 p_h q_h / (n_h - 1)."""
    y, models, _ = data()
    right = models["A"] == y
    shares = {0: 0.97, 1: 0.03}
    weights = np.where(y == 1, 0.03 / 60, 0.97 / 90)
    variances = {
        h: shares[h] ** 2 * right[y == h].var() / ((y == h).sum() - 1) for h in (0, 1)
    }
    found = AccuracyCI(method="delta")(
        y, models["A"], design=Strata(y), sample_weight=weights
    )
    assert found == pytest.approx(sum(shares[h] * right[y == h].mean() for h in (0, 1)))
    assert found.standard_error == pytest.approx(math.sqrt(sum(variances.values())))
    # Degrees of freedom of Satterthwaite, at most those of normal observations.
    df = 0.0
    for h, n in ((0, 90), (1, 60)):
        centred = right[y == h] - right[y == h].mean()
        fourth = (centred**4).sum() / (centred**2).sum() ** 2
        each = min(n - 1, 2 / (fourth - 1 / n))
        df += (variances[h] * (n - 1) / n) ** 2 / each
    df = sum(variances[h] * (n - 1) / n for h, n in ((0, 90), (1, 60))) ** 2 / df
    reach = stats.t.isf(0.025, df) * found.standard_error
    assert found.high - found == pytest.approx(reach, rel=1e-6)


@pytest.mark.parametrize("method", ["score", "wilson", "clopper-pearson", "jeffreys"])
def test_rates_of_a_label_are_those_of_a_fixed_number_of_trials(method):
    y, models, _ = data()
    names = ["recall", "specificity"]
    plain = joint_report(y, models, metrics=names, method=method)
    stratified = joint_report(y, models, metrics=names, method=method, design=Strata(y))
    for key in plain:
        low, high = plain.individual()[key].confidence_interval()
        assert stratified.individual()[key].low == pytest.approx(low)
        assert stratified.individual()[key].high == pytest.approx(high)
    assert "strata" not in str(stratified)


def test_pilot_of_strata():
    """The shares of the strata stay, and with them the variance of a row."""
    y, models, _ = data()
    right = models["A"] == y
    report = joint_report(
        y, models["A"], metrics="accuracy", method="delta", design=Strata(y)
    )
    per_row = sum((y == h).mean() * right[y == h].var() for h in (0, 1))
    n = math.ceil(stats.norm.isf(0.025) ** 2 * per_row / 0.02**2)
    assert report.sample_size(0.02) == pytest.approx(n, rel=3e-3)  # of t, not z


def test_what_reports_say():
    y, models, sites = data()
    report = joint_report(y, models, metrics=["precision", "recall"], design=Strata(y))
    assert "n = 150 in 2 strata, effective n" in str(report)
    assert report["A", "recall"].design_effect == 1
    assert report["A", "precision"].design_effect < 1
    assert "in 3 strata" in repr(AccuracyCI()(y, models["A"], design=Strata(sites)))
    plain = AccuracyCI()(y, models["B"])
    with pytest.raises(ValueError, match="groups or strata"):
        two_proportion_test(AccuracyCI()(y, models["A"], design=Strata(sites)), plain)
    with pytest.raises(ValueError, match="from one stratum"):
        AccuracyCI(method="wilson")(y, models["A"], design=Strata(sites))


class Opaque(Functional):
    """A functional of strata that does not say so, solved with all its derivatives."""

    def __init__(self, functional):
        self.estimate, self._evaluate = functional.estimate, functional.__call__

    def estimate(self, p):
        raise NotImplementedError

    def __call__(self, p):
        return self._evaluate(p)


def tables_of_strata(name, estimated, partial, size=6, draws=4):
    """A measure of a mixture, and counts of its cells; one in three is impossible."""
    rng = np.random.default_rng(0)
    cells, strata = np.tile(np.arange(4 + partial), size), np.arange(size)
    strata = np.repeat(strata, 4 + partial)
    possible = rng.random(len(cells)) < 2 / 3
    possible[np.isin(cells, [0, 3])] = True
    cells, strata = cells[possible], strata[possible]
    rates = np.array([0.5, 0.03, 0.04, 0.43, 0.1])[cells]
    counts = rng.poisson(rates * 20, (draws, len(cells)))
    shares = rng.dirichlet(np.full(size, 3.0))
    if estimated:
        counts = np.hstack([counts, np.tile(400 * shares, (draws, 1))])
    component = MergedFunctional(CellFunctional(MEASURES[name].function), cells, 4)
    return Poststratified(component, strata, None if estimated else shares), counts


@pytest.mark.parametrize("partial", [0, 1])
@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize(
    "name", ["f1", slow("matthews_corrcoef"), slow("diagnostic_odds_ratio")]
)
def test_solver_of_strata_agrees_with_the_general_one(name, estimated, partial):
    functional, counts = tables_of_strata(name, estimated, partial)
    estimates = functional.estimate(counts)
    crit, bounds = np.full(4, 1.96), np.tile(MEASURES[name].bounds, (4, 1))
    found, expected = (
        (
            *score_limits([each] * 4, counts, crit, bounds),
            score_roots([each] * 4, counts, 0.9 * estimates, bounds),
        )
        for each in (functional, Opaque(functional))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (found[0] < estimates).all()


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
    shares /= shares.sum()
    cells, strata = np.tile(np.arange(4), size), np.repeat(np.arange(size), 4)
    component = MergedFunctional(
        CellFunctional(MEASURES["matthews_corrcoef"].function), cells, 4
    )
    functional = Poststratified(component, strata, shares)
    limits = score_limits([functional], [counts], [crit], [(-1, 1)], statistic=pearson)
    f = (counts + 1e-7) / (counts + 1e-7).sum()

    def proportions(x):
        e = np.exp(np.clip(x, -50, 50))
        return e * (np.bincount(strata, f) / np.bincount(strata, e))[strata]

    for (limit,) in limits:
        constraint = {
            "type": "eq",
            "fun": lambda x, limit=limit: functional.estimate(proportions(x)) - limit,
            "jac": lambda x: proportions(x) * functional(proportions(x)).influence,
        }
        found = [
            optimize.minimize(
                lambda x: -f @ np.log(proportions(x)),
                np.log(counts + 0.02 + rng.random(len(counts)) / 2),
                jac=lambda x: proportions(x) - f,
                constraints=constraint,
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-12},
            )
            for _ in range(8)
        ]
        best = min((each for each in found if each.success), key=lambda each: each.fun)
        p = proportions(best.x)
        statistic = counts.sum() * ((counts / counts.sum() - p) ** 2 / p).sum()
        assert statistic == pytest.approx(crit**2, rel=1e-4)


def test_many_sparse_strata_warn():
    """Of a stratum with most of the weight nothing is known about errors."""
    stratum = np.repeat(np.arange(31), [50, *[8] * 30])
    weights = np.where(stratum, 0.1 / 240, 0.9 / 50)
    y = np.arange(290) % 7
    p = np.where((stratum > 0) & (np.arange(290) % 5 == 0), (y + 1) % 7, y)
    options = {"metrics": "matthews_corrcoef", "sample_weight": weights}
    report = joint_report(y, p, design=Strata(stratum), **options)
    with pytest.warns(SmallSampleWarning, match="few rows of a stratum with a large"):
        report["y_pred", "matthews_corrcoef"].confidence_interval()
    few = np.minimum(stratum, 1)  # of which the table by stratum is small
    report = joint_report(y, p, design=Strata(few), **options)
    report["y_pred", "matthews_corrcoef"].confidence_interval()


def test_a_sparse_task_of_many_does_not_matter():
    # One task of 57 with two wrong items of 40 has next to no part of the variance.
    sizes = np.array([40] + [200] * 56)
    task = np.repeat(np.arange(57), sizes)
    right = np.concatenate([np.arange(n) % 20 > (n > 40) * 6 for n in sizes])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallSampleWarning)
        str(grades_report(right.astype(float), tasks=task, bounds=(0, 1)))


def test_strata_that_do_not_count_are_none():
    """Of weight zero, also beside another test set."""
    y, models, sites = data()
    weights = np.where(sites == 0, 0, 1.0)
    kept = sites > 0
    options = {"metrics": "accuracy", "method": "delta"}
    found = joint_report(
        y, models["A"], design=Strata(sites), sample_weight=weights, **options
    )
    alone = joint_report(
        y[kept], models["A"][kept], design=Strata(sites[kept]), **options
    )
    np.testing.assert_allclose(limits(found), limits(alone))
    both = quiet(combine_independent, {"one": found, "two": alone}).individual()
    np.testing.assert_allclose(limits(both), limits(alone) * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"design": Strata([0] * 149 + [1])},
            "at least two rows each, .* one row in 1",
        ),
        (
            {"design": Strata([0] * 149)},
            "strata must have an entry for each of the 150",
        ),
        (
            {"design": Strata([0.0] * 149 + [np.nan])},
            "strata must name a stratum in every row",
        ),
        (
            {"design": Strata([0] * 75 + [1] * 75), "groups": range(150)},
            "groups must not be given",
        ),
        (
            {"design": Strata([0] * 150), "sample_weight": [1.0] * 149 + [2]},
            "from 1 to 2 in 0",
        ),
    ],
)
def test_wrong_strata(options, message):
    y, models, _ = data()
    with pytest.raises(ValueError, match=message):
        joint_report(y, models, metrics="accuracy", **options)


def coverage(method, recall, specificity, prevalence, draws, sizes=(150, 50)):
    """Coverage of the precision at a prevalence, of tables with fixed margins."""
    truth = prevalence * recall
    truth /= truth + (1 - prevalence) * (1 - specificity)
    rng = np.random.default_rng(0)
    y, answer = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    metric, hits = PrecisionCI(method=method), 0
    negatives, positives = sizes
    weights = np.array([1 - prevalence, 1 - prevalence, prevalence, prevalence])
    weights /= np.array([negatives, negatives, positives, positives])
    for _ in range(draws):
        tp = rng.binomial(positives, recall)
        tn = rng.binomial(negatives, specificity)
        n = np.array([tn, negatives - tn, positives - tp, tp])
        rows = np.repeat(np.arange(4), n)
        found = metric(
            y[rows], answer[rows], design=Strata(y[rows]), sample_weight=weights[rows]
        )
        hits += found.low <= truth <= found.high
    return hits / draws


@pytest.mark.slow
@pytest.mark.parametrize("method", ["score", "delta"])
def test_intervals_of_fixed_numbers_of_positives_cover(method):
    """Precision at a prevalence of .1; the Monte Carlo error is .007."""
    found = coverage(method, 0.8, 0.85, 0.1, draws=1000)
    assert found == pytest.approx(0.95, abs=0.02)


@pytest.mark.slow
def test_intervals_of_many_tiny_strata_cover():
    """80 strata of 5 rows and unequal weights; the Monte Carlo error is .015."""
    rng = np.random.default_rng(0)
    share = rng.lognormal(size=80)
    stratum = np.repeat(np.arange(80), 5)
    truth = {"accuracy": 0.97, "recall": 0.97, "f1": 0.97 * 0.8 / (0.97 * 0.8 + 0.03)}
    hits, draws = dict.fromkeys(truth, 0), 200
    for _ in range(draws):
        y = rng.random(400) < 0.4
        p = y ^ (rng.random(400) < 0.03)
        report = joint_report(
            y, p, metrics=[*truth], design=Strata(stratum), sample_weight=share[stratum]
        ).individual()
        for name, value in truth.items():
            low, high = report["y_pred", name].confidence_interval()
            hits[name] += low <= value <= high
    assert min(hits.values()) > 0.93 * draws


def test_memory_of_many_strata_is_linear():
    """Many strata of two rows, which would not fit if it grew with pairs of strata."""
    rng = np.random.default_rng(0)
    peaks = []
    for n_strata in (250, 1_000):
        y, predicted = rng.integers(0, 2, (2, 2 * n_strata))
        stratum = np.repeat(np.arange(n_strata), 2)
        weights = rng.integers(1, 4, n_strata)[stratum]
        tracemalloc.start()
        for weight in (None, weights):
            report = joint_report(
                y, predicted, metrics="f1", design=Strata(stratum), sample_weight=weight
            )
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


def test_an_undefined_gap_has_the_design_effect_of_equal_rows():
    """The other subgroup lacks a stratum, and with it one of the labels."""
    y = np.array([1, 1, 0, 0, 0])
    by = {"sex": np.array(["f", "f", "f", "m", "f"])}
    options = {"metrics": "informedness", "method": "blurred", "by": by}
    report = quiet(joint_report, y, {"A": y}, design=Strata(y), **options)
    gaps = quiet(report.gaps, to="rest")
    (gap,) = (gap for key, gap in gaps.items() if "f" in key)
    assert math.isnan(gap)
    assert gap.design_effect == 1
