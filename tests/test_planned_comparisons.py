"""Plans of paired comparisons and of groups, without a pilot, against formulas."""

import math

import numpy as np
import pytest
from pearson import tango
from scipy.stats import binom, norm
from tables import table

from skci import ErrorRateCI, joint_report, sample_size
from skci.planning import minimum_detectable

Z = norm.isf(0.025)
FIRST = {"prevalence": 0.3, "recall": 0.8, "specificity": 0.9}
# By truth, prediction of the first model and of the second: the second has a recall of
# .86 and a specificity of .88, and they disagree on .06 and .1 of the rows of a label.
TABLE = np.array(
    [
        0.7 * np.array([[0.86, 0.04], [0.02, 0.08]]),
        0.3 * np.array([[0.12, 0.08], [0.02, 0.78]]),
    ]
)


def rows(difference, disagreement, power, distance=None):
    """Unconditional formula, from the variance of a paired difference."""
    variance = disagreement - difference**2
    reach = Z + norm.ppf(power)
    return reach**2 * variance / (distance or difference) ** 2


@pytest.mark.parametrize(
    ("difference", "disagreement", "power"),
    [(0.02, 0.1, 0.5), (-0.05, 0.2, 0.95), (0.1, 0.1, 0.8)],
)
def test_formula_of_paired_accuracies(difference, disagreement, power):
    options = {"disagreement": disagreement, "power": power}
    n = math.ceil(rows(difference, disagreement, power))
    for name, sign in (("accuracy", 1), ("error_rate", -1), ("neg_error_rate", 1)):
        planned = sample_size(name, difference=sign * difference, **options)
        assert planned == n
    d, half = difference, disagreement / 2  # of rows right by both .75, by chance
    right = [[0.25 - half, half + d / 2], [half - d / 2, 0.75 - half]]
    for negative in (np.zeros((2, 2)), np.flip(right)):
        assert sample_size("accuracy", expected=[negative, right], power=power) == n


def test_statsmodels_and_connor():
    """One needs no fewer rows with the greater variance of no difference, of Connor."""
    power = pytest.importorskip("statsmodels.stats.power")
    for d, D in ((0.02, 0.1), (0.03, 0.2)):
        options = {"difference": d, "disagreement": D, "power": 0.9}
        planned = sample_size("accuracy", **options)
        deviation = math.sqrt(D - d**2)
        one_sample = power.normal_sample_size_one_tail(d, 0.9, 0.025, deviation)
        assert planned == math.ceil(one_sample)
        connor = power.normal_sample_size_one_tail(
            d, 0.9, 0.025, std_null=math.sqrt(D), std_alternative=deviation
        )
        assert planned <= connor <= planned * (1 + d**2 / D)


def test_claims_about_a_margin():
    options = {"disagreement": 0.08, "margin": 0.03, "method": "delta", "power": 0.85}

    def planned(difference, claim):
        options["difference"] = difference
        negated = sample_size("neg_error_rate", claim=claim, **options)
        assert negated == sample_size("accuracy", claim=claim, **options)
        return negated

    assert planned(0, "not worse") == math.ceil(rows(0, 0.08, 0.85, 0.03))
    assert planned(-0.01, "not worse") == math.ceil(rows(-0.01, 0.08, 0.85, 0.02))
    assert planned(0.05, "better") == math.ceil(rows(0.05, 0.08, 0.85, 0.02))
    # Two one-sided tests reject with a power of 2 Phi(t) - 1 if there is no difference.
    assert planned(0, "equivalent") == math.ceil(rows(0, 0.08, 0.925, 0.03))


def exact_power(n, b_rate, c_rate, margin, claim):
    """Probability that score tests show a claim, over all tables of n rows."""
    rates = np.array([b_rate, c_rate])
    most = np.ceil(n * rates + 10 * np.sqrt(n * rates)).astype(int)
    b, c = np.ix_(np.arange(most[0] + 1), np.arange(most[1] + 1))
    rest = c_rate / (1 - b_rate)
    both = binom.pmf(b, n, b_rate) * binom.pmf(c, n - b, rest)
    limit = norm.isf(0.025)
    null = margin if claim == "better" else -margin
    shown = tango((n - b - c, b, c, 0), null) > limit
    if claim == "equivalent":
        shown &= tango((n - b - c, c, b, 0), null) > limit
    return np.sum(both * shown)


@pytest.mark.parametrize(
    ("disagreement", "difference", "margin", "claim"),
    [
        (0.02, 0.0, 0.015, "equivalent"),
        (0.005, 0.0, 0.01, "equivalent"),
        (0.005, 0.0, 0.01, "not worse"),
        (0.1, 0.0, 0.03, "not worse"),
        (0.1, -0.01, 0.04, "not worse"),
        (0.1, 0.05, 0.02, "better"),
        (0.04, 0.005, 0.02, "equivalent"),
    ],
)
def test_plans_with_a_margin_have_their_power(disagreement, difference, margin, claim):
    """The exact power of the score test is as planned, with few rows to spare."""
    options = {"disagreement": disagreement, "margin": margin, "claim": claim}
    n = sample_size("accuracy", difference=difference, power=0.8, **options)
    rates = (disagreement + difference) / 2, (disagreement - difference) / 2
    assert 0.795 < exact_power(n, *rates, margin, claim) < 0.85


def test_a_plan_without_a_margin_has_its_power():
    """The test that the score interval inverts is McNemar's."""
    n = sample_size("accuracy", difference=0.02, disagreement=0.1, power=0.8)
    assert exact_power(n, 0.06, 0.04, 1e-9, "better") == pytest.approx(0.8, abs=0.005)


@pytest.mark.parametrize(("name", "share"), [("recall", 0.3), ("tnr", 0.7)])
def test_rates_of_one_label(name, share):
    options = {"disagreement": 0.1, "power": 0.8}
    n = math.ceil(rows(0.04, 0.1, 0.8) / share)
    prevalence = {"prevalence": 0.3}
    planned = sample_size(name, expected=prevalence, difference=0.04, **options)
    assert planned == n
    least = minimum_detectable(n, name, prevalence=0.3, **options)
    assert least == pytest.approx(0.04, rel=1e-3)


@pytest.mark.parametrize("method", ["delta", "score", "blurred"])
@pytest.mark.parametrize("name", ["f1", "precision", "mcc", "accuracy"])
def test_plan_of_a_pilot_with_the_same_table(name, method):
    y, first, second = np.indices(TABLE.shape).reshape(3, -1)
    n = np.rint(1e6 * TABLE.ravel()).astype(int)
    models = {"second": second, "first": first}
    pilot = joint_report(y, models, metrics=name, counts=n, method=method).differences()
    planned = sample_size(name, method=method, power=0.8, expected=TABLE)
    assert planned == pytest.approx(pilot.sample_size(power=0.8), abs=1)
    planned = sample_size(name, 0.02, method=method, expected=50 * TABLE)
    assert planned == pytest.approx(pilot.sample_size(0.02), abs=1)


def test_minimum_detectable_inverts_the_formula():
    """Also with groups of 11 and a correlation of .3, whose design effect is 4."""
    n, options = 1000, {"disagreement": 0.1, "power": 0.8}
    ratio = (Z + norm.ppf(0.8)) ** 2 / n
    expected = math.sqrt(0.1 * ratio / (1 + ratio))
    assert minimum_detectable(n, "accuracy", **options) == pytest.approx(expected)
    for metric in ("error_rate", ErrorRateCI()):
        assert minimum_detectable(n, metric, **options) == pytest.approx(-expected)
    groups = {"group_size": 11, "correlation": 0.3}
    grouped = minimum_detectable(4 * n, "accuracy", **groups, **options)
    assert grouped == pytest.approx(expected)
    for one in (options | {"difference": 0.02}, {"half_width": 0.03, "expected": 0.8}):
        alone = sample_size("accuracy", **one)
        assert sample_size("accuracy", **one, **groups) == 4 * alone
    for claim, margin in (("better", 0.02), ("not worse", -0.02)):
        options |= {"margin": 0.02, "claim": claim}
        found = minimum_detectable(3000, "error_rate", **options)
        assert -found > margin
        planned = sample_size("error_rate", difference=found, **options)
        assert planned == pytest.approx(3000, abs=1)


ONE = {"half_width": 0.1, "expected": 0.8}
TWO = {"power": 0.8, "difference": 0.02, "disagreement": 0.1}


@pytest.mark.parametrize(
    ("options", "message"),
    table("""
{} -> either half_width or power
{"half_width": 0.1} -> expected must be a number, .*, got NoneType
{"power": 0.8, "expected": 0.8} -> power without requirement=, need two models
{"power": 0.8, "expected": [[], [0.8]]} -> expected must be a number
{"expected": TABLE} -> either half_width or power
{"expected": TABLE, "half_width": 0.1, "power": 0.8} -> either half_width or
{"power": 0.8, "expected": TABLE[0, 0]} -> expected must be a number
TWO | {"disagreement": None}
    -> exactly one of the two models is right, from 0.02 to 1, got None
TWO | {"difference": 0.2} -> from 0.2 to 1
{"power": 0.8, "disagreement": 0.1} -> power must be passed with
TWO | {"expected": 0.9} -> 'prevalence'.* got 0.9
TWO | {"expected": FIRST} -> the keys .'prevalence'., got the keys .*'recall'
TWO | {"difference": 0} -> difference must be given
TWO | {"difference": 2} -> between -1 and 1
ONE | {"margin": 0.1} -> margin and claim, and power
ONE | {"group_size": 3} -> group_size and corr.* got group_size=3, correlation=None$
ONE | {"group_size": 1e308, "correlation": 1} -> group_size must be from 1 to
ONE | {"group_size": 3, "correlation": -0.6} -> correlation must be above -0.5
TWO | {"claim": "better"} -> claim needs a margin
"""),
)
def test_wrong_parameters(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sample_size("accuracy", **eval(options))


@pytest.mark.parametrize("name", ["f1", "precision", "kappa", "recall_macro"])
def test_a_difference_of_other_metrics_does_not_tell_the_table(name):
    options = {"difference": 0.02, "disagreement": 0.1, "power": 0.8}
    with pytest.raises(ValueError, match="metric must be a proportion of all rows"):
        sample_size(name, expected={"prevalence": 0.3}, **options)
    with pytest.raises(ValueError, match=r"'prevalence': 0.5}, .* given, got None"):
        sample_size("recall", **options)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    table(r"""
1 -> {} -> n_samples must be from 2
1e300 -> {} -> n_samples must be from 2 to 2\*\*53
900 -> {"group_size": 1e4, "correlation": 1} -> n_samples must be from 2
30 -> {"disagreement": 0.1}
    -> power must be from .* to .*, got .*. With 30 rows, only this
900 -> {"disagreement": 1.5} -> disagreement must be
900 -> {"claim": "equivalent", "margin": 0.1} -> claim must be
900 -> {"claim": "better"} -> margin must be a finite number above 0
900 -> {"claim": np.zeros(2), "margin": 0.1} -> claim must be
900 -> {"power": 0.01}
    -> power must be from 0\.025 to 1, .* improvements from 0 to 0\.1$
900 -> {"power": 0.01, "claim": "better", "margin": 0.02}
    -> power must be from 0\.025 to 1, .* improvements from 0\.02 to
900 -> {"power": 0.01, "claim": "not worse", "margin": 0.02}
    -> power must be from 0\.025 to 1, .* improvements from -0\.02 to
"""),
)
def test_wrong_parameters_of_minimum_detectable(n, options, message):
    options = {"disagreement": 0.1, "power": 0.8} | eval(options)
    with pytest.raises(ValueError, match=message):
        minimum_detectable(eval(n), "accuracy", **options)
