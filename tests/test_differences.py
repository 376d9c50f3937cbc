"""Differences, ratios and contrasts against L theta, R and published intervals."""

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from battery import joint_limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from pearson import pearson_limits, pearson_root
from scipy.stats import norm
from simulated import some_models
from slow import each_once
from tables import table

from skci import PrecisionCI, joint_intervals, joint_report
from skci.inference import critical_value

REFERENCE = Path(__file__).parent / "reference"
METHODS = ["delta", "blurred", "score"]


def read(name):
    with open(REFERENCE / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


_ROWS = [[int(value) for value in row.values()] for row in read("contrasts_rows.csv")]
Y, A, B, C = np.repeat([row[:-1] for row in _ROWS], [row[-1] for row in _ROWS], 0).T
MODELS = {"A": A, "B": B, "C": C}


def report_of(metrics, method="delta", models=MODELS, **options):
    return joint_report(Y, models, metrics=metrics, method=method, **options)


def pairwise(models, metrics):
    """Coefficients of all differences, by metric, of a report by model."""
    each = np.eye(models * metrics).reshape(models, metrics, -1)
    return np.array(
        [
            each[first, metric] - each[second, metric]
            for metric in range(metrics)
            for first, second in combinations(range(models), 2)
        ]
    )


# L theta and L V L^T

NAMES = ["accuracy", "f1", "lift", "error_rate"]
PAIRS = pairwise(3, 4)


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("method", ["delta", "blurred"])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_differences_are_l_theta_with_covariance_l_v_lt(method, level, scale):
    """By the delta method, a ratio is a difference of logarithms."""
    report = report_of(NAMES, method, confidence_level=level)
    found = report.differences(scale=scale)
    change, slopes, units = np.positive, np.ones(12), np.ones(12)
    if scale == "ratio":
        change, slopes, units = np.log, 1 / report.estimates, found.estimates
    expected = PAIRS @ change(report.estimates)
    assert_allclose(change(found.estimates), expected, atol=1e-12)
    covariance = PAIRS * slopes @ report.covariance @ (PAIRS * slopes).T
    assert_allclose(found.covariance / np.outer(units, units), covariance, atol=1e-15)
    # what the rows tell, whatever the level: the blurring is not in it
    sampling = PAIRS * slopes @ report_of(NAMES).covariance @ (PAIRS * slopes).T
    columns = found.to_dict()
    errors = np.sqrt(np.diag(sampling))
    assert_allclose(columns["standard_error"], units * errors, rtol=1e-9)
    reach = np.sqrt(np.diag(covariance)) * critical_value(found.correlation, level)
    assert_allclose(change(columns["low"]), expected - reach, atol=1e-8)
    assert_allclose(change(columns["high"]), expected + reach, atol=1e-8)


# R


@pytest.mark.parametrize("case", ["pairs", "control", "ratios", "matrix"])
def test_agrees_with_multcomp(case):
    """The glht of R's multcomp, from coefficients and covariance alone."""
    report = report_of(["accuracy", "f1"])
    across = [
        [1, -1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, -1],
        [0.5, 0, 0.5, 0, -1, 0],
        [0, 0, 0, 2, 0, 0],
    ]
    options = {"control": {"control": "C"}, "ratios": {"scale": "ratio"}}
    own = (
        report.contrasts(across, list("abcd"))
        if case == "matrix"
        else report.differences(**options.get(case, {}))
    )
    change = np.log if case == "ratios" else np.positive
    lines = [line for line in read("contrasts.csv") if line["case"] == case]
    for level in (0.8, 0.95, 0.99):
        at = own.at(level)
        columns = {name: np.array(value) for name, value in at.to_dict().items()}
        expected = {
            name: np.array(
                [float(line[name]) for line in lines if float(line["level"]) == level]
            )
            for name in lines[0]
            if name != "case"
        }
        error = expected["standard_error"]
        assert_allclose(change(columns["estimate"]), expected["estimate"], atol=1e-9)
        slope = columns["estimate"] if case == "ratios" else 1
        assert_allclose(columns["standard_error"] / slope, error, rtol=1e-7)
        off = error * (expected["error"] + 2 * at.critical_value.error + 1e-6)
        assert (np.abs(change(columns["low"]) - expected["low"]) < off).all()
        assert (np.abs(change(columns["high"]) - expected["high"]) < off).all()
    # R's p-values have an error of some 1e-4; ours are known to a few percent
    assert_allclose(own.pvalues, expected["single_step"], rtol=0.02, atol=2e-4)
    if case != "matrix":
        free = report.differences(adjust="step-down", **options.get(case, {}))
        assert_allclose(free.pvalues, expected["free"], rtol=0.02, atol=2e-4)


# Published intervals and tests of paired proportions


def paired(both, first, second, neither):
    """Give rows that both, one or none of two models get right; truths alternate."""
    right = np.repeat(
        [[1, 1], [1, 0], [0, 1], [0, 0]], [both, first, second, neither], 0
    )
    y = np.arange(len(right)) % 2
    return y, {
        name: np.where(own, y, 1 - y) for name, own in zip("AB", right.T, strict=True)
    }


def score_difference(table, scale="difference"):
    """The accuracies of two models, compared by "score": table and functional."""
    y, models = paired(*table)
    report = joint_report(y, models, metrics=["accuracy"], method="score")
    return report.differences(scale=scale)


@pytest.mark.parametrize(
    ("table", "level", "published"),
    [
        # Tango (1998), Statistics in Medicine 17, tables V and VII
        ((43, 0, 1, 0), 0.90, ("-0.096", "0.037")),
        ((4, 9, 3, 16), 0.95, ("-0.027", "0.390")),
        # Agresti and Min (2005), Statistics in Medicine 24
        ((53, 16, 8, 9), 0.95, ("-0.020", "0.207")),
        # Tang, Ling, Ling and Tian (2010), Statistics in Medicine 29
        ((8, 3, 1, 2), 0.95, ("-0.1670", "0.4327")),
        # Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33
        ((1, 1, 7, 12), 0.95, ("-0.517", "-0.026")),
        # Fagerland, Lydersen and Laake (2017), Statistical Analysis of Contingency
        # Tables, chapter 8; as their R package contingencytables prints it
        ((59, 6, 16, 80), 0.95, ("-0.1240", "-0.0054")),
    ],
)
def test_published_intervals_of_tango(table, level, published):
    """The numbers are those that the tests of R's ratesci hold it to, but the last."""
    found = pearson_limits(score_difference(table), level)
    places = len(published[0].partition(".")[2])
    assert [f"{limit:.{places}f}" for limit in found] == list(published)


@pytest.mark.parametrize(
    ("table", "published"),
    [
        # Tang, Tang and Chan (2003), Statistics in Medicine 22, table II; they round
        # the upper limits down
        ((446, 5, 16, 690), (0.958, 0.991)),
        ((43, 0, 1, 0), (0.904, 1.038)),
    ],
)
def test_published_score_intervals_of_paired_ratios(table, published):
    found = pearson_limits(score_difference(table, "ratio"), 0.90)
    assert np.all(
        (found >= np.subtract(published, 5e-4)) & (found < np.add(published, 1e-3))
    )


@pytest.mark.parametrize(
    "table", [(43, 0, 1, 0), (4, 9, 3, 16), (1, 1, 7, 12), (400, 9, 30, 61)]
)
def test_mcnemar(table):
    """At no difference X2 is McNemar's statistic, and our statistic is X2."""
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    a, b, c, d = table
    known = tables.mcnemar([[a, b], [c, d]], exact=False, correction=False)
    for scale in ("difference", "ratio"):
        report = score_difference(table, scale)
        root = pearson_root(report, 1.0 if scale == "ratio" else 0.0)
        assert root**2 == pytest.approx(known.statistic, abs=1e-5)
        assert report.pvalues[0] == pytest.approx(known.pvalue, rel=1e-5)


# What must be so


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_identical_models_among_others(method):
    """What is known of the others does not depend on a copy."""
    names = ["accuracy", "f1"]
    report = report_of(names, method, MODELS | {"D": C.copy()})
    for adjust in ("none", "single-step", "step-down"):
        three = report.differences(adjust=adjust)
        assert three["f1", "C", "D"] == 0
        assert three.pvalues[-1] == 1
    again = report.differences().select(first=["A", "B"], second=["B", "C"])
    alone = report_of(names, method).differences()
    assert list(again) == list(alone)
    assert_allclose(again.covariance, alone.covariance, atol=1e-15)
    assert_allclose(again.to_dict()["low"], alone.to_dict()["low"], atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", [np.nan, 1.0])
def test_undefined_models_tell_nothing(method, scale, zero_division):
    models = {"A": A, "silent": 0 * Y, "B": B}
    metric = PrecisionCI(zero_division=zero_division)
    report = report_of([metric], method, models).differences(scale=scale)
    low = 0.0 if scale == "ratio" else -1.0
    high = np.inf if scale == "ratio" else 1.0
    for pair in [("A", "silent"), ("silent", "B")]:
        own = report["precision", *pair]
        assert np.isnan(own) and own.confidence_interval() == (low, high)
    assert report.pvalues[0] == report.pvalues[2] == 1
    # the third is as it would be alone
    alone = report_of(["precision"], method, {"A": A, "B": B})
    alone = alone.differences(scale=scale)
    own = report["precision", "A", "B"].confidence_interval()
    assert_allclose(own, alone["precision", "A", "B"].confidence_interval())
    assert report.pvalues[1] == pytest.approx(alone.pvalues[0])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimates_at_the_ends_of_their_range():
    models = {"A": A, "perfect": Y, "wrong": 1 - Y}
    report = report_of(["accuracy", "f1"], "score", models).differences()
    assert (report.pvalues < 0.01).all()
    assert report["f1", "perfect", "wrong"].high == 1
    assert 0.9 < report["f1", "perfect", "wrong"].low < 1


# Options


@pytest.mark.parametrize("name", ["accuracy", "g_mean"])
def test_infinite_ratios_have_a_lower_limit_where_the_pvalue_says_so(name):
    """The second model finds nothing, and is right about nothing."""
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    first = np.where(rng.random(60) < 0.8, y, ~y)
    report = joint_report(y, {"A": first, "B": ~y}, metrics=[name], method="score")
    compared = report.differences(scale="ratio")
    low, high = compared[name, "A", "B"].confidence_interval()
    assert compared.estimates[0] == high == np.inf
    assert low > 1 and compared.pvalues[0] < 1e-3


def test_control_is_second():
    report = report_of(["accuracy", "f1"])
    compared = report.differences(control="B", metrics="f1")
    assert list(compared) == [("f1", "A", "B"), ("f1", "C", "B")]
    everything = report.differences(metrics="f1")
    assert compared["f1", "A", "B"] == everything["f1", "A", "B"]
    assert compared["f1", "C", "B"] == -everything["f1", "B", "C"]
    # fewer comparisons, narrower intervals
    assert compared.critical_value < everything.critical_value


def test_default_method():
    """That of the report, or "score" if it does not serve differences."""
    for own, expected in [
        ("delta", "delta"), ("blurred", "blurred"), ("score", "score"),
        ("wilson", "score"), ("plus-four", "score"), ("jeffreys", "score"),
    ]:  # fmt: skip
        compared = report_of(["accuracy"], own).differences()
        assert compared["accuracy", "A", "B"].method == expected
        given = report_of(["accuracy"], own).differences(method="delta")
        assert given["accuracy", "A", "B"].method == "delta"
    wilson = report_of(["accuracy"], "wilson").contrasts([[1, -1, 0]], ["a"])
    assert wilson["a"].method == "score"
    assert given.contrasts([[1 / 3] * 3], ["mean"])["mean"].method == "delta"


def test_adjust():
    report = report_of(["accuracy", "f1"])
    single = report.differences()
    down = report.differences(adjust="step-down")
    none = report.differences(adjust="none")
    assert_array_equal(joint_limits(single), joint_limits(down))
    assert none.critical_value == pytest.approx(norm.isf(0.025))
    assert_array_equal(joint_limits(none), joint_limits(single.individual()))
    alone = report.individual()
    assert str(alone.differences()) == str(alone.differences(adjust="none"))
    assert alone.differences().findings()[0].startswith("Taken alone: ")
    assert_allclose(alone.differences(adjust="step-down").pvalues, none.pvalues)
    pair = report.select(models=["A", "B"], metrics="f1")
    (down,) = pair.differences(adjust="step-down").pvalues
    assert down == pytest.approx(pair.differences(adjust="none").pvalues[0])
    assert str(single).startswith("Joint 95% confidence intervals of differences")
    assert str(none).startswith("Individual 95% confidence intervals of differences")
    assert "joint interval" in str(single) and "individual" not in str(single)
    assert "95% confidence intervals of ratios" in str(
        report.differences(scale="ratio")
    )


ONE, TWO = report_of(["accuracy"]), report_of(["accuracy", "f1"])
THREE = report_of(["accuracy", "mcc", "overlap"])
RATIOS = ONE.differences(scale="ratio")
GIVEN = joint_intervals([0.7, 0.8, 0.5], np.eye(3) / 100, names=list("ABC"))


def eight_models():
    """Together with the truth they have 2^9 outcomes."""
    rng = np.random.default_rng(0)
    models = {str(k): np.where(rng.random(len(Y)) < 0.8, Y, 1 - Y) for k in range(8)}
    return report_of(["accuracy"], models=models)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
THREE.differences(scale="log") -> ValueError -> scale must be one of
THREE.differences(adjust="bonferroni") -> ValueError -> adjust must be one of
THREE.differences(control="D") -> KeyError -> control must be one of
THREE.differences(control=0) -> KeyError -> control must be one of
THREE.differences(metrics="f2") -> KeyError -> metric must be one of
THREE.differences(metrics=[]) -> ValueError -> metrics must contain at least one
THREE.differences(method="wilson") -> ValueError -> proportion, which 'accuracy' is not
THREE.differences(method="newton") -> ValueError -> method must be one of
THREE.differences(method="score") -> ValueError -> 'score' needs .* 'overlap'
THREE.differences(scale="ratio") -> ValueError -> never negative, got 'mcc'
THREE.select(models="A").differences()
    -> ValueError -> must have two models .* got \[\('A',
ONE.contrasts([[1, -1]], "a") -> ValueError -> matrix must have .* 3 columns
ONE.contrasts([1, -1, 0], "a") -> ValueError -> matrix must have
ONE.contrasts(np.zeros((0, 3)), "") -> ValueError -> matrix must have
ONE.contrasts([[0, 0, 0]], "a") -> ValueError -> must have no row of zeros
ONE.contrasts([[1, np.nan, 0]], "a") -> ValueError -> matrix must contain finite
ONE.contrasts([[1e21, 0, 0]], "a") -> ValueError -> matrix must contain .* got 1e[+]21$
ONE.contrasts([[1, 1e-21, 0]], "a") -> ValueError -> matrix must contain .* got 1e-21$
ONE.contrasts([["x", "y", "z"]], "a") -> TypeError -> matrix must contain numbers
ONE.contrasts([[1, -1, 0]], ["a", "b"]) -> ValueError -> labels must be 1 distinct
ONE.contrasts([[1, -1, 0], [1, 0, -1]], ["a", "a"])
    -> ValueError -> labels must be 2 distinct
TWO.contrasts({"x": {"A": 1, "Z": -1}})
    -> KeyError -> as in [(]'A', 'accuracy'[)], got 'Z'
TWO.contrasts({"x": {("A", "mcc"): 1}}) -> KeyError -> metric must be one of
TWO.contrasts({"x": 1})
    -> TypeError -> matrix must map the name of each contrast .* got 1 for 'x'
TWO.contrasts({"x": {"A": "b"}}) -> TypeError -> matrix must contain numbers
TWO.contrasts({}) -> ValueError -> matrix must have a row for each contrast
TWO.contrasts({"x": {"A": 1}, "y": {("A", "f1"): 1, ("A", "accuracy"): 1}})
    -> ValueError -> separately
THREE.select(metrics="overlap").contrasts([[1, -1, 0]], "a", method="score")
    -> ValueError -> needs a smooth measure
THREE.select(metrics="overlap").contrasts([[1, -1, 0]], "a", method="wilson")
    -> ValueError -> needs a proportion
eight_models().contrasts([[1 / 7] * 7 + [-1]], "a", method="score")
    -> ValueError -> at most 256 .*; use one of \['delta', 'hall', 'blurred'\]
RATIOS.contrasts([[1, 0, -1], [-1, 0, 1]], [*"ab"]).contrasts([[1, 1]], "c")
    -> ValueError -> ^matrix must not have a contrast in which
TWO.differences().select(model="A") -> KeyError -> label must be one of
TWO.differences().select(second="A") -> KeyError -> second must be one of
TWO.differences().select(first="B", second="B")
    -> ValueError -> select must keep at least one
TWO.differences()["f1"]
    -> KeyError -> by \(metric, first, second\), as in \('accuracy', 'A', 'B'\), got
TWO.differences()["A", "B", "f1"]
    -> KeyError -> metric must be one of \['accuracy', 'f1'\], got 'A'
TWO.differences()["f1", "B", "B"]
    -> KeyError -> as in \('accuracy', 'A', 'B'\), got \('f1', 'B', 'B'\)
TWO.differences()["f1", "A", "D"]
    -> KeyError -> report\[metric, first, second\]: second must be one of
"""),
)
def test_wrong_options(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


def test_contrasts_by_name_are_those_of_a_matrix():
    report = report_of(["accuracy", "f1"], by={"sex": np.arange(len(Y)) % 2})
    mean = {"A": 0.5, "B": 0.5, "C": -1}
    found = report.contrasts({"mean": mean})
    assert list(found.to_dict())[:3] == ["contrast", "metric", "sex"]
    for (_, metric, sex), estimate in found.items():
        weights = [mean[m] * ((f, s) == (metric, sex)) for m, f, s in report]
        expected = report.contrasts([weights], ["mean"])["mean"]
        assert float(estimate) == pytest.approx(float(expected), rel=1e-12)
        assert estimate.standard_error == pytest.approx(expected.standard_error)
        assert repr(estimate).startswith(f"{metric} of mean, sex = {sex} = ")
    # By labels, of one metric and of several.
    pair = {("A", "f1", "0"): 1, ("A", "f1", "1"): -1}
    gap = report.contrasts({"gap": pair})["gap", "f1"]
    assert float(gap) == pytest.approx(float(report.gaps()["A", "f1", "0", "1"]))
    across = {("A", "f1", "0"): 1, ("A", "accuracy", "0"): -1}
    both = report.contrasts({"gap": pair, "across": across})
    assert list(both) == [("gap",), ("across",)]
    with pytest.raises(KeyError, match=r"indexed by .* got \('A', '0'\)"):
        report.contrasts({"gap": {("A", "0"): 1, ("A", "1"): -1}})
    # Contrasts of differences, by what they compare.
    nested = report.differences().contrasts({"x": {"A - B": 1, "A - C": 1}})
    plain = report.contrasts({"x": {"A": 2, "B": -1, "C": -1}})
    assert_allclose(nested.estimates, plain.estimates, atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_contrasts_of_contrasts(method):
    """They are those of the combined coefficients."""
    report = report_of(["accuracy", "f1"], method=method)
    first = np.random.default_rng(0).normal(size=(3, len(report)))
    second = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
    contrasts = report.contrasts(first, list("abc"), method=method)
    nested = contrasts.contrasts(second, ["d", "e"], method=method)
    direct = report.contrasts(second @ first, ["d", "e"], method=method)
    assert_allclose(nested.covariance, direct.covariance, rtol=1e-9)
    for column in ("estimate", "low", "high", "pvalue"):
        assert_allclose(nested.to_dict()[column], direct.to_dict()[column], rtol=1e-6)


@pytest.mark.parametrize("report", [ONE, GIVEN])
@pytest.mark.parametrize("scale", [1, 1e-13])
def test_contrasts_whose_terms_cancel(report, scale):
    """Also where rounding leaves something: 0.1 + 0.2 is not 0.3."""
    matrix = scale * np.array([[0.1, -0.1, 0], [0.2, -0.2, 0], [0.3, -0.3, 0]])
    contrasts = report.contrasts([*matrix, [0, scale, -scale]], list("abcd"))
    with pytest.raises(
        ValueError, match=r"^matrix must not have a contrast .* got 'e'$"
    ):
        contrasts.contrasts([[0, 0, 0, 1], [1, 1, -1, 0]], ["d", "e"])
    remaining, alone = contrasts.contrasts([[1, 1, -1, 1]], ["e"])["e"], contrasts["d"]
    assert remaining == pytest.approx(alone, rel=1e-9, abs=0)
    assert remaining.pvalue() == pytest.approx(contrasts.individual()["d"].pvalue())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [3, -1, 1e-13])
def test_scaling_a_contrast_scales_its_interval(method, scale):
    report = report_of(["accuracy"], method=method)
    unit = report.contrasts([[1, -1, 0]], "a")["a"]
    other = report.contrasts([[scale, -scale, 0]], "a")["a"]
    expected = np.sort(np.multiply(unit.confidence_interval(), scale))
    assert_allclose(other.confidence_interval(), expected, rtol=1e-6)
    assert other == pytest.approx(scale * unit, rel=1e-6, abs=0)
    assert other.pvalue(0) == pytest.approx(unit.pvalue(0), rel=1e-6)


@pytest.mark.parametrize("number", [2, 6, 49])
def test_a_mean_has_the_range_of_its_terms(number):
    """Whatever K times 1/K rounds to, so that it has their interval method."""
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.4
    scores = {str(k): y + rng.normal(size=300) for k in range(number)}
    report = joint_report(y, y_score=scores, metrics="roc_auc")
    mean = report.contrasts([[1 / number] * number], ["mean"])["mean"]
    assert mean.method == "logit"
    assert mean == pytest.approx(report.estimates.mean())


def test_differences_from_an_area_at_its_end():
    """They share the variance that stands for the boundary: L V L'."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    scores = {"A": y + 0.0, "B": y + rng.normal(size=80), "C": y + rng.normal(size=80)}
    report = joint_report(y, y_score=scores, metrics="roc_auc", method="delta")
    differences = report.differences()
    matrix = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    expected = matrix @ report.covariance @ matrix.T
    assert expected[0, 1] > 0
    assert_allclose(differences.covariance, expected, rtol=1e-9)
    nested = differences.contrasts([[1, -1, 0]], ["C - B"]).covariance
    assert_allclose(nested[0, 0], expected[2, 2], rtol=1e-9)


def test_contrasts_of_ratios():
    """By the delta method from the covariance of the ratios."""
    ratios = report_of(["accuracy"]).differences(scale="ratio")
    matrix = np.array([[1.0, -1.0, 0.0]])
    contrasts = ratios.contrasts(matrix, ["first - second"])
    assert_allclose(contrasts.estimates, matrix @ ratios.estimates)
    expected = matrix @ ratios.covariance @ matrix.T
    assert_allclose(contrasts.covariance, expected, rtol=1e-9)


# A report like any other


@pytest.mark.parametrize("method", METHODS)
def test_selection(method):
    differences = report_of(["accuracy", "f1"], method).differences()
    some = differences.select(metric="f1", first=["A"])
    assert list(some) == [("f1", "A", "B"), ("f1", "A", "C")]
    assert some["f1", "A", "B"] == differences["f1", "A", "B"]
    assert some.critical_value < differences.critical_value
    assert some.to_dict()["pvalue"] == [each.pvalue(0) for each in some.values()]


REVERSED = {
    "of labels": lambda: report_of(["accuracy", "f1"], "score"),
    "alone": lambda: report_of(["accuracy", "f1"], "blurred").individual(),
    "grouped": lambda: report_of(["accuracy"], groups=np.arange(len(Y)) // 5),
    "undefined class": lambda: joint_report(
        Y, {"A": A, "B": 0 * B}, metrics=["precision_macro", "accuracy"]
    ),
    "losses": lambda: joint_report(
        Y + 1, {"A": A + 0.5, "B": B + 0.5}, metrics="mean_absolute_error"
    ),
    "given": lambda: joint_intervals(
        [0.5, 0.7, 0.8, 0.6], np.diag([0.01, 0.02, 0.03, 0]), bounds=(0, 1), df=9
    ),
}


@pytest.mark.parametrize(
    ("kind", "scale"), each_once(REVERSED, ["difference", "ratio"])
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_other_way_round(kind, scale):
    """Everything is that of what is in the report, with the sign or power turned."""
    turn = {"difference": np.negative, "ratio": lambda x: 1 / np.asarray(x)}[scale]
    report = REVERSED[kind]().differences(scale=scale)
    for metric, first, second in report:
        found, again = report[metric, first, second], report[metric, second, first]
        with np.errstate(divide="ignore"):
            expected = turn(found.confidence_interval()[::-1])
            assert again == pytest.approx(float(turn(found)))
        assert_allclose(again.confidence_interval(), expected, rtol=1e-5, atol=1e-9)
        assert (again.method, again.n_samples) == (found.method, found.n_samples)
        sign = "-" if scale == "difference" else "/"
        assert repr(again).startswith(f"{metric} of {second} {sign} {first} = ")
        null = {"difference": 0.05, "ratio": 1.05}[scale]
        turned = {"less": "greater", "greater": "less", "two-sided": "two-sided"}
        for one, other in turned.items():
            p = again.pvalue(float(turn(null)), one)
            assert p == pytest.approx(found.pvalue(null, other), rel=1e-4, abs=1e-12)


def test_findings_of_contrasts():
    report = report_of(["accuracy", "f1"])
    said = report.differences(metrics="accuracy").findings()
    assert said == [
        "On accuracy, B is worse than A.",
        "On accuracy, C is worse than A.",
    ]
    said = report.differences(control="A", metrics="f1", scale="ratio").findings()
    assert said == ["On f1, B is worse than A.", "On f1, C is worse than A."]
    nothing = report.select(models=["B", "C"]).differences(metrics="f1")
    assert nothing.findings() == ["On f1, no model is shown to differ from another."]
    matrix = [[1, 0, -1, 0, 0, 0], [0, 0, 1, 0, -1, 0]]
    contrasts = report.contrasts(matrix, ["A - B", "B - C"])
    assert contrasts.findings() == ["A - B is above 0."]
    none = report.contrasts(matrix[1:], "B - C").findings()
    assert none == ["No contrast is shown to differ from 0."]


def test_findings_follow_the_pvalues_shown():
    """Those of step-down may be below alpha where an interval holds no difference."""
    y, models = some_models(150, 14, A=0.85, B=0.75, C=0.7)
    report = joint_report(y, models, metrics="accuracy", method="delta")
    down = report.differences(adjust="step-down")
    assert (down.pvalues < 0.05).all()
    assert down.findings() == [
        "On accuracy, B differs from A.",
        "On accuracy, C differs from A and B.",
    ]
    assert report.differences().findings() == ["On accuracy, C is worse than A."]


@pytest.mark.slow
def test_too_many_differences_are_refused():
    labels = np.random.default_rng(0).integers(0, 2, (364, 50))
    models = {f"r{k}": column for k, column in enumerate(labels)}
    report = joint_report(labels[0], models, metrics=["accuracy"], method="delta")
    with pytest.raises(ValueError, match="at most 65,536, got 66,066; pass control="):
        report.differences()
    assert len(quiet(report.differences, control="r0")) == 363
