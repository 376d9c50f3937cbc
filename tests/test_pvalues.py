"""P-values: of claims, of differences, adjusted; never at odds with an interval."""

import numpy as np
import pytest
from metrics_battery import METRICS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, binomtest, norm
from slow import slow, slow_except

from skci import (
    F05CI,
    AccuracyCI,
    CohenKappaCI,
    LiftCI,
    PrecisionCI,
    RecallCI,
    confusion_matrix_report,
    joint_report,
)
from skci.exceptions import DegenerateVarianceWarning
from skci.inference.intervals.methods import METHODS

SMOOTH = [name for name in METRICS if METRICS[name]._measure.smooth]
SIDES = ["two-sided", "less", "greater"]


def accuracy(right, n, method, level=0.95):
    half = n // 2
    tn = min(half, right)
    tp = right - tn
    matrix = [[tn, half - tn], [n - half - tp, tp]]
    metric = AccuracyCI(method=method, confidence_level=level)
    return metric.from_confusion_matrix(matrix)


def random_report(seed, method="delta", metrics=("accuracy", "f1"), models=3):
    """Models whose errors go together, on few rows or many."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 60, 200, 1000]))
    y = np.arange(n) % 5 < rng.integers(2, 4)
    common = rng.random(n)
    predictions = {}
    for name in "ABCDEF"[:models]:
        hard = np.where(rng.random(n) < 0.7, common, rng.random(n))
        predictions[name] = (hard < rng.uniform(0.6, 0.95)) == y
    y = y.astype(int)
    predictions = {name: own.astype(int) for name, own in predictions.items()}
    return joint_report(y, predictions, metrics=list(metrics), method=method)


# Claims


def test_a_claimed_accuracy():
    """.78 is claimed, 75 of 100 are right: not refuted at 95 %."""
    measured = accuracy(75, 100, "wilson")
    z = (0.75 - 0.78) / np.sqrt(0.78 * 0.22 / 100)
    assert measured.pvalue(0.78) == pytest.approx(2 * norm.cdf(z))  # .47
    assert measured.pvalue(0.78) > 0.05 and measured.low < 0.78 < measured.high
    for method in METHODS:
        own = accuracy(75, 100, method)
        assert own.pvalue(0.78) > 0.05
        assert own.pvalue(0.9) < 0.02


@pytest.mark.parametrize(("right", "n"), [(75, 100), (43, 50), (180, 200)])
@pytest.mark.parametrize("null", [0.7, 0.8, 0.93])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_closed_forms(right, n, null):
    share = right / n
    wilson = (share - null) / np.sqrt(null * (1 - null) / n)
    delta = (share - null) / np.sqrt(share * (1 - share) / (n - 1))
    posterior = beta(right + 0.5, n - right + 0.5)
    greater = {  # the upper tail: to believe in a greater value
        "wilson": norm.sf(wilson),
        "delta": norm.sf(delta),
        "clopper-pearson": binom.sf(right - 1, n, null),
        "jeffreys": posterior.cdf(null),
    }
    less = greater | {
        "wilson": norm.cdf(wilson),
        "delta": norm.cdf(delta),
        "clopper-pearson": binom.cdf(right, n, null),
        "jeffreys": posterior.sf(null),
    }
    for method in greater:
        own = accuracy(right, n, method)
        smaller = min(less[method], greater[method])
        assert own.pvalue(null) == pytest.approx(min(2 * smaller, 1), rel=1e-6)
        one, other = (own.pvalue(null, side) for side in ("less", "greater"))
        assert one == pytest.approx(less[method], rel=1e-6)
        assert other == pytest.approx(greater[method], rel=1e-6)


@pytest.mark.parametrize("right", [0, 1, 8, 10])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_one_sided_exact_test(right):
    """Its tails share the value observed, and add up to more than 1."""
    estimate = accuracy(right, 10, "clopper-pearson")
    for null in (0.0, 0.05, 0.5, 0.8, 0.93, 1.0):
        for side in ("less", "greater"):
            exact = binomtest(right, 10, null, side).pvalue
            expected = pytest.approx(exact, rel=1e-6, abs=1e-12)
            assert estimate.pvalue(null, side) == expected, (null, side)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_one_sided_pvalues_at_an_end(method):
    """The limit at an end of the range excludes nothing; the other one all of it."""
    for right, side, other in [(0, "greater", "less"), (40, "less", "greater")]:
        own, end = accuracy(right, 40, method), right / 40
        if own._joint.has_limits[0]:
            assert own.pvalue(0.5, side) > 0.95
            assert own.pvalue(0.5, other) < 1e-3
            assert own.pvalue(end, side) >= 0.5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_at_a_limit_the_pvalue_is_alpha(method, level):
    """Of the level of the report: some methods add rows or variance for a level."""
    own = accuracy(170, 200, method, level)
    low, high = own.confidence_interval()
    assert own.pvalue(low) == pytest.approx(1 - level, rel=1e-5)
    assert own.pvalue(high) == pytest.approx(1 - level, rel=1e-5)
    assert own.pvalue(low, "greater") == pytest.approx((1 - level) / 2, rel=1e-5)
    if method != "clopper-pearson":  # whose tails share the value observed
        assert own.pvalue(low, "less") == pytest.approx((1 + level) / 2, rel=1e-5)
    assert own.pvalue(high, "less") == pytest.approx((1 - level) / 2, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_variance_of_the_report_serves_all_nulls(method, level):
    """The blurring and the rows added are those of the level of the report."""
    estimate = accuracy(170, 200, method)
    low, high = estimate.confidence_interval(level)
    fixed = METHODS[method].blurs or method in ("plus-four", "agresti-coull")
    if not fixed:
        assert estimate.pvalue(low) == pytest.approx(1 - level, rel=1e-5)
        assert estimate.pvalue(high) == pytest.approx(1 - level, rel=1e-5)
    if method == "blurred":
        error = 0.5 * np.diff(estimate.confidence_interval())[0] / norm.isf(0.025)
        z = (0.85 - low) / error
        assert estimate.pvalue(low) == pytest.approx(2 * norm.sf(z), rel=1e-6)


def test_a_null_at_an_end_that_the_interval_is_cut_to():
    """The statistic is that of the limit before it was cut."""
    metric = AccuracyCI(method="delta")
    with pytest.warns(UserWarning):
        estimate = metric.from_confusion_matrix([[27, 3], [0, 0]])
        low, high = estimate.confidence_interval()
        assert (round(low, 2), high) == (0.79, 1.0)
        z = 0.1 / np.sqrt(0.9 * 0.1 / 29)
        assert estimate.pvalue(1.0) == pytest.approx(2 * norm.sf(z), rel=1e-6)
        assert estimate.pvalue(1.0, "less") == pytest.approx(norm.sf(z), rel=1e-6)


@pytest.mark.parametrize("method", slow_except({*METHODS} - {"score"}, METHODS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_table_every_null(method):
    """Excluded exactly if p is below alpha, ends of the range and empty cells too."""
    nulls = [0.0, 1e-9, 0.03, 0.2, 0.5, 0.77, 0.97, 1 - 1e-9, 1.0]
    for n, level in [(5, 0.5), (12, 0.95), (30, 0.99)]:
        for right in range(n + 1):
            estimate = accuracy(right, n, method, level)
            low, high = estimate.confidence_interval()
            for null in nulls:
                excluded = not low <= null <= high
                assert (estimate.pvalue(null) < 1 - level) == excluded


@pytest.mark.parametrize("method", METHODS)
def test_farther_claims_have_smaller_pvalues(method):
    own = accuracy(170, 200, method)
    assert own.pvalue(float(own)) == 1
    for way in (np.linspace(0.85, 0.95, 8), np.linspace(0.85, 0.65, 8)):
        p = [own.pvalue(null) for null in way]
        assert (np.diff(p) < 0).all() and 0 < p[-1] < 0.01
    values = {type(own.pvalue(0.8, side)) for side in SIDES}
    assert values == {float}


def test_claims_at_an_end_of_the_range():
    perfect = accuracy(100, 100, "score")
    assert perfect.pvalue(1.0) == 1
    assert perfect.pvalue(0.99) > 0.05 > perfect.pvalue(0.95)
    good = accuracy(99, 100, "score")
    assert good.pvalue(1.0) < 1e-20  # one error refutes it
    assert good.pvalue(0.0) < 1e-20


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_not_known_refutes_nothing():
    perfect = accuracy(100, 100, "delta")
    with pytest.warns(DegenerateVarianceWarning):
        assert perfect.pvalue(0.3) == 1
    undefined = PrecisionCI(method="score").from_confusion_matrix([[50, 0], [50, 0]])
    assert undefined.pvalue(0.3) == 1
    once = RecallCI(method="blurred").from_confusion_matrix([[0, 0], [0, 1]])
    assert once.pvalue(0.3) == 1


@pytest.mark.parametrize("null", [-0.1, 1.1, np.nan, "0.5", None])
def test_wrong_claims(null):
    with pytest.raises(
        ValueError, match=r"null must be a number in the range \[0, 1\]"
    ):
        accuracy(75, 100, "delta").pvalue(null)
    with pytest.raises(ValueError, match="alternative must be one of"):
        accuracy(75, 100, "delta").pvalue(0.5, "larger")


# Never at odds with the interval


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
@pytest.mark.parametrize("seed", slow_except(range(2), range(8)))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_interval_excludes_the_null_exactly_if_p_is_below_alpha(method, seed):
    rng = np.random.default_rng(seed)
    level = [0.05, 0.5, 0.95, 0.99][seed % 4]
    report = random_report(seed, method, rng.choice(SMOOTH, 2, replace=False)).at(level)
    compared = [
        report.differences(),
        report.differences(adjust="none"),
        report.contrasts(rng.normal(size=(3, 6)), list("abc")),
    ]
    ratios = [name for name in report.metrics if METRICS[name].bounds[0] >= 0]
    if ratios:
        compared.append(report.differences(metrics=ratios, scale="ratio"))
    for each in compared:
        null = each._null
        low, high = each._joint.intervals.T
        assert_array_equal((low > null) | (high < null), each.pvalues < 1 - level)
        assert (each.pvalues >= 0).all() and (each.pvalues <= 1).all()


@pytest.mark.parametrize("method", ["delta", "blurred", "score", "plus-four"])
def test_joint_estimates_have_joint_pvalues(method):
    report = random_report(3, method)
    for level in (0.8, 0.99):
        at = report.at(level)
        for key in [("A", "f1"), ("C", "accuracy")]:
            low, high = at[key].confidence_interval()
            assert at[key].pvalue(low) == pytest.approx(1 - level, rel=1e-3)
            assert at[key].pvalue(high) == pytest.approx(1 - level, rel=1e-3)
    key = ("A", "f1")
    alone, among = report.individual()[key], report[key]
    null = float(among) - 2.5 * among.standard_error
    assert alone.pvalue(null) < among.pvalue(null) < len(report) * alone.pvalue(null)


def test_individual_estimates_do_not_know_of_each_other():
    report = random_report(4, "score").individual()
    alone = report.select(models="B", metrics="f1")
    assert report["B", "f1"].pvalue(0.7) == alone["B", "f1"].pvalue(0.7)


# Adjusted


def exceedance(correlation, z, sides=2, draws=200_000):
    """P(max Z > z) or P(max |Z| > z), however small, with its standard error.

    One of the events is made to happen; the more others happen with it, the less the
    draw counts (Owen, Maximov and Chertkov, 2019).
    """
    rng = np.random.default_rng(0)
    size = len(correlation)
    values, vectors = np.linalg.eigh(correlation)
    normal = rng.normal(size=(draws, size)) @ (vectors * np.sqrt(values.clip(0))).T
    which = rng.integers(size, size=draws)
    beyond = norm.isf(rng.random(draws) * norm.sf(z))
    if sides == 2:
        beyond *= rng.choice([-1, 1], draws)
    shift = beyond - normal[np.arange(draws), which]
    normal += shift[:, np.newaxis] * correlation[which]
    reached = np.abs(normal) if sides == 2 else normal
    weights = 1 / np.maximum((reached >= z - 1e-9).sum(axis=1), 1)
    scale = size * sides * norm.sf(z)
    return scale * weights.mean(), scale * weights.std() / np.sqrt(draws)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 6, 8])
def test_single_step_by_importance_sampling(seed):
    """To a few percent: a critical value that is off by .01 moves p by z as much."""
    compared = random_report(seed, "delta", models=4).differences()
    z = np.abs(compared.estimates / compared.to_dict()["standard_error"])
    for own, p in zip(z, compared.pvalues, strict=True):
        expected, error = exceedance(compared.correlation, own)
        tolerance = 4 * error + (0.02 + 0.01 * own) * expected
        assert p == pytest.approx(expected, abs=tolerance)


def test_one_sided_by_importance_sampling():
    compared = random_report(2, "delta", models=4).differences()
    for key in list(compared)[:6]:
        own = compared[key]
        z = float(own) / own.standard_error
        side, other = ("greater", "less") if z > 0 else ("less", "greater")
        expected, error = exceedance(compared.correlation, abs(z), sides=1)
        tolerance = 4 * error + (0.02 + 0.01 * abs(z)) * expected
        assert own.pvalue(0.0, side) == pytest.approx(expected, abs=tolerance)
        assert own.pvalue(0.0, other) == 1


@pytest.mark.parametrize("method", ["delta", "score"])
def test_one_sided_when_nearly_all_may_hold(method):
    """Some of several normals are above zero more often than not."""
    compared = random_report(6, method, models=4).differences()
    own = compared["f1", "A", "B"]
    k = list(compared).index(("f1", "A", "B"))
    variance = compared.covariance[k, k]
    near = [own - step * np.sqrt(variance) for step in (0.9, 0.3, 0.01, 0, -0.3)]
    p = [own.pvalue(float(null), "greater") for null in near]
    for step, found in zip((0.9, 0.3), p[:2], strict=True):
        expected, _ = exceedance(compared.correlation, step, sides=1)
        assert found == pytest.approx(expected, abs=0.02)
    assert p[1] > 0.5 and (np.diff(p) >= 0).all() and p[-1] == 1


def test_uncorrelated_estimates_have_sidak_pvalues():
    """Recall and specificity are of different rows."""
    matrix = [[150, 50], [30, 70]]
    report = confusion_matrix_report(
        matrix, metrics=["recall", "specificity"], method="delta"
    )
    assert abs(report.correlation[0, 1]) < 1e-12
    for key in report:
        p = report.individual()[key].pvalue(0.66)
        assert report[key].pvalue(0.66) == pytest.approx(1 - (1 - p) ** 2, rel=0.02)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
@pytest.mark.parametrize("seed", [1, 2, 7])
def test_step_down(method, seed):
    report = random_report(seed, method)
    alone = report.differences(adjust="none").pvalues
    single = report.differences().pvalues
    down = report.differences(adjust="step-down").pvalues
    order = np.argsort(alone)
    assert (down <= single * 1.01).all() and (alone <= down * 1.01).all()
    assert down[order[0]] == pytest.approx(single[order[0]], rel=0.02)
    assert (np.diff(down[order]) >= 0).all()


def test_step_down_is_single_step_of_those_that_remain():
    report = random_report(7, "delta")
    compared = report.differences()
    correlation = compared.correlation
    z = np.abs(compared.estimates / compared.to_dict()["standard_error"])
    expected = np.zeros(len(z))
    order = np.argsort(-z)
    least = 0.0
    for position, k in enumerate(order):
        remaining = order[position:]
        p, _ = exceedance(correlation[np.ix_(remaining, remaining)], z[k])
        expected[k] = least = max(least, p)
    found = report.differences(adjust="step-down").pvalues
    assert_allclose(found, expected, rtol=0.05)


def test_step_down_of_one_difference_is_individual():
    report = random_report(2, "score", ["f1"], models=2)
    down = report.differences(adjust="step-down").pvalues
    assert down == pytest.approx(report.differences(adjust="none").pvalues)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", ["delta", "score", "blurred"])
def test_clusters_of_any_size(method):
    """Degrees of freedom differ; an interval still excludes exactly if p < alpha."""
    rng = np.random.default_rng(4)
    groups = rng.choice(15, size=150, p=np.arange(1, 16) / 120)
    y = rng.integers(2, size=150)
    predictions = {
        name: np.where(rng.random(150) < right, y, 1 - y)
        for name, right in [("A", 0.6), ("B", 0.75), ("C", 0.9)]
    }
    report = joint_report(
        y, predictions, metrics=["accuracy", "recall"], groups=groups, method=method
    )
    for compared in (report.differences(), report.differences(adjust="none")):
        low, high = compared._joint.intervals.T
        assert_array_equal((low > 0) | (high < 0), compared.pvalues < 0.05)
    for key in report:
        low, high = report[key].confidence_interval()
        for null in (0.5, 0.7, 0.9, 1.0):
            excluded = not low <= null <= high
            assert (report[key].pvalue(null) < 0.05) == excluded


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("metric", "matrix", "nulls"),
    [
        slow((CohenKappaCI(method="score"), [[0, 1], [3, 0]], [-1, -0.6])),
        slow((LiftCI(method="score"), [[39, 0], [2, 3]], [3.9, 6])),
        (AccuracyCI(method="delta"), [[27, 3], [0, 0]], [0.7, 0.8, 0.95, 1]),
        (F05CI(method="delta"), [[27, 3], [0, 0]], [0, 0.5, 1]),
    ],
)
def test_a_pvalue_is_below_alpha_where_the_interval_excludes(metric, matrix, nulls):
    """Also where the statistic is not monotone, and at an end of the range."""
    found = metric.from_confusion_matrix(matrix)
    for null in nulls:
        p = found.pvalue(float(null))
        for alpha in (0.02 * p, 0.95 * p, min(1.05 * p, 0.99)):
            if alpha > 1e-9:
                low, high = found.confidence_interval(1 - alpha)
                assert (low <= null <= high) == (p >= alpha)
