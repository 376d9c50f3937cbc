"""Margins: noninferiority, superiority and equivalence against TOST and textbooks."""

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_allclose, assert_array_equal
from pearson import tango
from scipy import stats
from scipy.optimize import brentq, minimize_scalar
from simulated import some_models
from slow import each_once
from statsmodels.stats.weightstats import DescrStatsW
from tables import table

from skci import AccuracyCI, combine_independent, joint_intervals, joint_report

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=150)
NUMBERS = {
    name: TARGET + RNG.normal(size=150) * s for name, s in (("A", 1), ("B", 1.1))
}
LOSSES = {name: np.abs(values - TARGET) for name, values in NUMBERS.items()}

LABELS, MODELS = some_models(A=0.9, B=0.89, C=0.87, D=0.8)
TWO = joint_report(LABELS, MODELS, metrics=["accuracy", "f1"])
OF_F1 = TWO.differences(margin={"f1": 0.05})
P_VALUES = ["pvalue_not_worse", "pvalue_better", "pvalue_equivalent"]


def of_losses(method, margin):
    """Margin p-values of the only difference: of A and B, whose loss is greater."""
    report = joint_report(TARGET, NUMBERS, metrics="mean_absolute_error", method=method)
    columns = report.differences(margin=margin).to_dict()
    return [columns[name][0] for name in P_VALUES]


# One difference: other software and published numbers


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_two_one_sided_tests_of_statsmodels(margin):
    """Twice their p-values, which are below alpha / 2 where a 1 - alpha interval is."""
    saved = DescrStatsW(LOSSES["B"] - LOSSES["A"])
    equivalent, at_loss, at_gain = saved.ztost_mean(-margin, margin)
    better = saved.ztest_mean(margin, alternative="larger")[1]
    expected = np.minimum(2 * np.array([at_loss[1], better, equivalent]), 1)
    assert_allclose(of_losses("delta", margin), expected, rtol=1e-9)
    assert at_gain[1] <= equivalent


@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("cells", [(43, 0, 1, 0), (80, 8, 10, 12), (300, 20, 25, 50)])
def test_noninferiority_of_paired_proportions(cells, margin):
    first, second = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], cells, axis=1)
    models = {"new": first, "standard": second}
    options = {"metrics": "accuracy", "method": "score"}
    report = quiet(joint_report, np.ones_like(first), models, **options)
    (p,) = quiet(report.differences(margin=margin).to_dict)["pvalue_not_worse"]
    z = tango(cells, -margin)
    assert p == pytest.approx(2 * stats.norm.sf(z), rel=1e-5)
    if cells == (43, 0, 1, 0) and margin == 0.1:
        # Tango (1998), section 5: soft contact lenses
        assert (f"{p / 2:.3f}", f"{z:.3f}") == ("0.044", "1.709")


def farrington_manning(x, n, y, m, difference):
    """Score statistic of two proportions at the maximum likelihood under the null."""

    def deviance(q):
        likelihoods = stats.binom.logpmf([x, y], [n, m], [q + difference, q])
        return -likelihoods.sum()

    bounds = max(-difference, 0) + 1e-9, min(1 - difference, 1) - 1e-9
    q = minimize_scalar(
        deviance, bounds=bounds, method="bounded", options={"xatol": 1e-10}
    ).x
    p = q + difference
    return (x / n - y / m - difference) / np.sqrt(p * (1 - p) / n + q * (1 - q) / m)


@pytest.mark.parametrize("margin", [0.03, 0.05])
def test_equivalence_of_independent_proportions(margin):
    """Farrington and Manning (1990)."""
    metric = AccuracyCI(method="score")
    first = metric.from_confusion_matrix([[600, 100], [120, 680]])
    second = metric.from_confusion_matrix([[1000, 200], [150, 1050]])
    both = combine_independent({"first": first, "second": second})
    columns = both.differences(margin=margin).to_dict()
    z = [farrington_manning(1280, 1500, 2050, 2400, side * margin) for side in (-1, 1)]
    at_loss, at_gain = 2 * stats.norm.sf([z[0], -z[1]])
    assert columns["pvalue_not_worse"][0] == pytest.approx(at_loss, rel=1e-5)
    expected = max(at_loss, at_gain)
    assert columns["pvalue_equivalent"][0] == pytest.approx(expected, rel=1e-5)


# Several differences


def test_adjusted_pvalues_are_tails_of_the_maximum():
    report = joint_report(
        LABELS, MODELS, metrics=["accuracy", "error_rate"], method="delta"
    )
    differences = report.differences(margin={"accuracy": 0.02, "error_rate": 0.05})
    columns = differences.to_frame()
    gains = columns["estimate"].to_numpy() * np.repeat([1, -1], 6)
    margins = np.repeat([0.02, 0.05], 6)
    errors = np.sqrt(np.diag(differences.covariance))
    root = np.linalg.cholesky(differences.correlation[:6, :6] + 1e-12 * np.eye(6))
    maxima = np.abs(np.random.default_rng(1).normal(size=(400_000, 6)) @ root.T)
    maxima = np.sort(maxima.max(axis=1))  # an error rate is minus an accuracy

    def tail(distances):
        ranks = np.searchsorted(maxima, np.maximum(distances / errors, 0))
        return 1 - ranks / len(maxima)

    not_worse, not_better = tail(margins + gains), tail(margins - gains)
    expected = [not_worse, tail(gains - margins), np.maximum(not_worse, not_better)]
    assert_array_equal(columns["margin"], margins)
    assert_allclose(columns[P_VALUES].T, expected, rtol=0.03, atol=2e-4)


@pytest.mark.parametrize(
    ("method", "adjust"),
    each_once(["delta", "score", "blurred"], ["single-step", "step-down", "none"]),
)
def test_claims_are_those_of_the_intervals(method, adjust):
    """Also with step-down p-values of no difference."""
    report = joint_report(LABELS, MODELS, metrics=["f1", "error_rate"], method=method)
    shown = []
    for margin in (0.01, 0.03, 0.09):
        differences = report.differences(margin=margin, adjust=adjust)
        frame = differences.to_frame()
        limits = frame[["low", "high"]].to_numpy(copy=True)
        loss = frame.index.get_level_values("metric") == "error_rate"
        limits[loss] = -limits[loss, ::-1]
        low, high = limits.T
        expected = [low > -margin, low > margin, (low > -margin) & (high < margin)]
        assert_array_equal((frame[P_VALUES] < 0.05).to_numpy().T, expected)
        shown.append(np.sum(expected, axis=1))
    assert (np.sum(shown, axis=0) > 0).all()  # of each claim some hold


def test_metrics_without_a_margin():
    differences, plain = OF_F1, TWO.differences()
    frame = differences.to_frame()
    assert frame.loc["accuracy", ["margin", *P_VALUES]].isna().all(axis=None)
    assert frame.loc["f1", ["margin", *P_VALUES]].notna().all(axis=None)
    assert differences.to_dict()["margin"][0] is None
    assert_array_equal(frame["pvalue"], plain.pvalues)
    assert differences.findings()[:1] == plain.findings()[:1]  # of the accuracy
    assert str(differences).splitlines()[0].endswith(", margin 0.05")
    selected = differences.select(metric="f1", first="A", second="B").at(0.9)
    assert selected.to_dict()["margin"] == [0.05]


# In words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.02, 0.05, "first is better than second by more than 0.01"),
        (0.005, 0.015, "first is better than second"),
        (0.002, 0.008, "first is better than second, by less than 0.01"),
        (-0.004, 0.008, "first is equivalent to second within 0.01"),
        (-0.008, 0.004, "first is equivalent to second within 0.01"),
        (-0.008, 0.02, "first is not worse than second by more than 0.01"),
        (-0.02, 0.03, None),
        (-0.03, 0.02, None),
        (-0.02, 0.008, "second is not worse than first by more than 0.01"),
        (-0.008, -0.002, "second is better than first, by less than 0.01"),
        (-0.015, -0.005, "second is better than first"),
        (-0.05, -0.02, "second is better than first by more than 0.01"),
        (-np.inf, np.inf, None),
        (-0.005, np.inf, "first is not worse than second by more than 0.01"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])  # of losses the limits are exchanged
def test_the_most_that_an_interval_shows(low, high, words, sign):
    given = {("first", "accuracy"): 0.5, ("second", "accuracy"): 0.5}
    report = joint_intervals(given, np.eye(2), greater_is_better=sign > 0)
    differences = report.differences(margin=0.01)
    intervals = np.sort(sign * np.array([[low, high]]))
    vars(differences._joint)["intervals"] = intervals
    none = "no model is shown not to be worse than another by more than 0.01"
    assert differences.findings() == [f"On accuracy, {words or none}."]


def test_findings():
    accuracies = {"A": 0.90, "B": 0.895, "C": 0.91, "D": 0.80}
    report = joint_intervals([*accuracies.values()], np.eye(4) * 1e-5, names=[*"ABCD"])
    alone = report.differences(control="A", margin=0.02).individual().findings()
    assert alone[0] == "Taken alone: On estimate, B is equivalent to A within 0.02."
    losses = {(name, "loss"): value for name, value in accuracies.items()}
    worse = joint_intervals(losses, np.eye(4) * 1e-5, greater_is_better=False)
    found = worse.differences(margin=0.02, control="D").findings()
    assert found == ["On loss, D is better than A, B and C by more than 0.02."]


# Sample sizes


def planned(claim, margin, difference, power):
    """Normal power of one difference with the standard deviation of the pilot."""
    pilot = joint_report(
        TARGET, NUMBERS, metrics="mean_absolute_error", method="delta"
    ).differences(margin=margin)
    deviation = (LOSSES["A"] - LOSSES["B"]).std()
    rows = pilot.sample_size(power=power, difference=difference, claim=claim)
    again = pilot.power([rows - 1, rows], difference=difference, claim=claim)
    assert again[0, 0] < power <= again[1, 0]
    return rows, deviation


def test_rows_for_noninferiority():
    """The difference of losses is that of the first less the second."""
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    for difference, distance in [(0, 0.1), (-0.02, 0.12), (0.03, 0.07)]:
        rows, deviation = planned("not worse", 0.1, difference, 0.8)
        assert rows == pytest.approx((reach * deviation / distance) ** 2, abs=2)
    rows, deviation = planned("better", 0.1, -0.15, 0.8)
    assert rows == pytest.approx((reach * deviation / 0.05) ** 2, abs=2)


@pytest.mark.parametrize("difference", [0, 0.03, -0.03])
def test_rows_for_equivalence(difference):
    rows, deviation = planned("equivalent", 0.1, difference, 0.9)

    def power(n):
        error, z = deviation / np.sqrt(n), stats.norm.ppf(0.975)
        low, high = (np.array([-0.1, 0.1]) - difference) / error
        return stats.norm.cdf(high - z) - stats.norm.cdf(low + z)

    assert rows == pytest.approx(brentq(lambda n: power(n) - 0.9, 10, 1e5), abs=2)


def test_plans_of_several_metrics():
    options = {"difference": 0, "claim": "not worse"}
    power = OF_F1.power(2000, **options)
    assert np.isnan(power[:6]).all() and (power[6:] > 0.5).all()
    rows = OF_F1.sample_size(power=0.8, **options)
    assert (OF_F1.power(rows, **options)[6:] >= 0.8).all()


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    table("""
TWO.differences(margin=0) -> margin must be a finite number above 0
TWO.differences(margin=np.nan) -> margin must be a finite number above 0
TWO.differences(margin=np.inf) -> margin must be a finite number above 0
TWO.differences(margin="0.1") -> margin must be a finite number above 0
TWO.differences(margin=True) -> margin must be a finite number above 0
TWO.differences(margin={"f1": 0}) -> margin must be a finite number above 0
TWO.differences(margin=1) -> margin must be less than 1, got 1
TWO.differences(margin={}) -> margin must be a number or a mapping
TWO.differences(margin={"recall": 0.1}) -> margin must be a number or a mapping
TWO.differences(margin=0.1, scale="ratio") -> margin needs scale='difference'
TWO.differences().sample_size(power=0.8, claim="better") -> claim needs a margin
OF_F1.sample_size(power=0.8, claim="best") -> claim must be one of
OF_F1.sample_size(power=0.8, difference=-0.05, claim="not worse")
    -> difference must be between
OF_F1.sample_size(power=0.8, difference=0.06, claim="equivalent")
    -> difference must be between
OF_F1.sample_size(power=0.8, difference=0, claim="better")
    -> difference must be between
OF_F1.sample_size(power=0.8, difference={"accuracy": 0.0}, claim="not worse")
    -> have a value for at least one metric with a margin
OF_F1.sample_size(0.1, claim="better") -> either half_width must be given, or power
"""),
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)
