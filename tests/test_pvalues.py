"""P-values: of claims, of differences, adjusted; never at odds with an interval."""

import numpy as np
import pytest
from metrics_battery import METRICS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, binomtest, norm
from slow import slow, slow_except

import skci
from skci import AccuracyCI
from skci.exceptions import DegenerateVarianceWarning
from skci.inference.intervals.methods import METHODS

SMOOTH = [name for name in METRICS if METRICS[name]._measure.smooth]


def accuracy(right, n, method, level=0.95):
    half = n // 2
    tn = min(half, right)
    tp = right - tn
    matrix = [[tn, half - tn], [n - half - tp, tp]]
    metric = AccuracyCI(method=method, confidence_level=level)
    return metric.from_confusion_matrix(matrix)


def random_report(
    seed, method="delta", metrics=("accuracy", "f1"), models=3, grouped=False
):
    """Models whose errors go together, on few rows or many, in groups of any size."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 60, 200, 1000]))
    groups = rng.choice(15, size=n, p=np.arange(1, 16) / 120) if grouped else None
    y = np.arange(n) % 5 < rng.integers(2, 4)
    common = rng.random(n)
    predictions = {}
    for name in "ABCDEF"[:models]:
        hard = np.where(rng.random(n) < 0.7, common, rng.random(n))
        predictions[name] = (hard < rng.uniform(0.6, 0.95)) == y
    y = y.astype(int)
    predictions = {name: own.astype(int) for name, own in predictions.items()}
    options = {"metrics": [*metrics], "method": method, "groups": groups}
    return skci.joint_report(y, predictions, **options)


# Claims


@pytest.mark.parametrize("method", METHODS)
def test_a_claimed_accuracy(method):
    """.78 is claimed, 75 of 100 are right: not refuted at 95 %."""
    assert accuracy(75, 100, method).pvalue(0.78) > 0.05
    assert accuracy(75, 100, method).pvalue(0.9) < 0.02


@pytest.mark.parametrize(("right", "n"), [(75, 100), (43, 50), (180, 200)])
@pytest.mark.parametrize("null", [0.7, 0.8, 0.93])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_closed_forms(right, n, null):
    share = right / n
    wilson = (share - null) / np.sqrt(null * (1 - null) / n)
    delta = (share - null) / np.sqrt(share * (1 - share) / (n - 1))
    posterior = beta(right + 0.5, n - right + 0.5)
    tails = {  # the upper tail: to believe in a greater value
        "wilson": (norm.cdf(wilson), norm.sf(wilson)),
        "delta": (norm.cdf(delta), norm.sf(delta)),
        "clopper-pearson": (binom.cdf(right, n, null), binom.sf(right - 1, n, null)),
        "jeffreys": (posterior.sf(null), posterior.cdf(null)),
    }
    for method, (less, greater) in tails.items():
        own = accuracy(right, n, method)
        both = min(2 * less, 2 * greater, 1)
        for side, p in (("two-sided", both), ("less", less), ("greater", greater)):
            assert own.pvalue(null, side) == pytest.approx(p, rel=1e-6)


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


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_not_known_refutes_nothing():
    perfect = accuracy(100, 100, "score")
    assert perfect.pvalue(1.0) == 1
    assert perfect.pvalue(0.99) > 0.05 > perfect.pvalue(0.95)
    assert accuracy(99, 100, "score").pvalue(1.0) < 1e-20  # one error refutes it
    perfect = accuracy(100, 100, "delta")
    with pytest.warns(DegenerateVarianceWarning):
        assert perfect.pvalue(0.3) == 1
    undefined = skci.PrecisionCI(method="score").from_confusion_matrix(
        [[50, 0], [50, 0]]
    )
    assert undefined.pvalue(0.3) == 1
    once = skci.RecallCI(method="blurred").from_confusion_matrix([[0, 0], [0, 1]])
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
@pytest.mark.parametrize("seed", slow_except(range(3), range(8)))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_interval_excludes_the_null_exactly_if_p_is_below_alpha(method, seed):
    rng = np.random.default_rng(seed)
    level = [0.05, 0.5, 0.95, 0.99][seed % 4]
    metrics = rng.choice(SMOOTH, 2, replace=False)
    report = random_report(seed, method, metrics, grouped=seed % 4 == 2).at(level)
    compared = [
        report.differences(),
        report.differences(adjust="none"),
        report.contrasts(rng.normal(size=(3, 6)), list("abc")),
    ]
    ratios = [name for name in report.metrics if METRICS[name].bounds[0] >= 0]
    if ratios:
        compared.append(report.differences(metrics=ratios, scale="ratio"))
    for estimate in report.values():
        low, high = estimate.confidence_interval()
        for null in (0.5, 0.7, 0.9, 1.0):
            excluded = not low <= null <= high
            assert (estimate.pvalue(null) < 1 - level) == excluded
    for each in compared:
        null = each._null
        low, high = each._joint.intervals.T
        assert_array_equal((low > null) | (high < null), each.pvalues < 1 - level)
        assert (each.pvalues >= 0).all() and (each.pvalues <= 1).all()


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


def test_pvalues_by_importance_sampling():
    """To a few percent: a critical value that is off by .01 moves p by z as much."""
    compared = random_report(2, "delta", models=4).differences()
    correlation = compared.correlation
    for own in compared.values()[:6]:
        z = abs(float(own)) / own.standard_error
        side, other = ("greater", "less") if own > 0 else ("less", "greater")
        for sides, p in ((1, own.pvalue(0.0, side)), (2, own.pvalue(0.0))):
            expected, error = exceedance(correlation, z, sides)
            tolerance = 4 * error + (0.02 + 0.01 * z) * expected
            assert p == pytest.approx(expected, abs=tolerance)
        assert own.pvalue(0.0, other) == 1
        # some of several normals are above zero more often than not
        direction = 1 if own > 0 else -1
        near = [own - direction * z * own.standard_error for z in (0.9, 0.3, 0.01, 0)]
        p = [own.pvalue(float(null), side) for null in near]
        for z, found in zip((0.9, 0.3), p[:2], strict=True):
            expected, _ = exceedance(correlation, z, sides=1)
            assert found == pytest.approx(expected, abs=0.02)
        assert p[1] > 0.5 and (np.diff(p) >= 0).all() and p[-1] == 1


def test_uncorrelated_estimates_have_sidak_pvalues():
    """Recall and specificity are of different rows."""
    matrix = [[150, 50], [30, 70]]
    report = skci.confusion_matrix_report(
        matrix, metrics=["recall", "specificity"], method="delta"
    )
    assert abs(report.correlation[0, 1]) < 1e-12
    for key in report:
        p = report.individual()[key].pvalue(0.66)
        assert report[key].pvalue(0.66) == pytest.approx(1 - (1 - p) ** 2, rel=0.02)


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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("metric", "matrix", "nulls"),
    [
        slow((skci.CohenKappaCI(method="score"), [[0, 1], [3, 0]], [-1, -0.6])),
        slow((skci.LiftCI(method="score"), [[39, 0], [2, 3]], [3.9, 6])),
        (AccuracyCI(method="delta"), [[27, 3], [0, 0]], [0.7, 0.8, 0.95, 1]),
        (skci.F05CI(method="delta"), [[27, 3], [0, 0]], [0, 0.5, 1]),
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
