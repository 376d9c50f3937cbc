"""Differences, ratios and contrasts against L theta, R and published intervals."""

import csv
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from battery import joint_limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from pearson import pearson_limits, pearson_root
from scipy.stats import norm
from slow import each_once, slow, slow_except
from tables import table

from skci import joint_intervals, joint_report
from skci.exceptions import DegenerateVarianceWarning
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


@pytest.mark.parametrize("method", ["delta", "blurred"])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_differences_are_l_theta_with_covariance_l_v_lt(method, level):
    report = report_of(NAMES, method, confidence_level=level)
    differences = report.differences()
    assert_allclose(differences.estimates, PAIRS @ report.estimates, atol=1e-15)
    covariance = PAIRS @ report.covariance @ PAIRS.T
    assert_allclose(differences.covariance, covariance, atol=1e-15)
    # what the rows tell, whatever the level: the blurring is not in it
    sampling = PAIRS @ report_of(NAMES).covariance @ PAIRS.T
    errors = differences.to_dict()["standard_error"]
    assert_allclose(errors, np.sqrt(np.diag(sampling)), rtol=1e-10)
    reach = np.sqrt(np.diag(covariance)) * critical_value(
        differences.correlation, level
    )
    columns = differences.to_dict()
    assert_allclose(columns["low"], differences.estimates - reach, atol=1e-8)
    assert_allclose(columns["high"], differences.estimates + reach, atol=1e-8)


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_ratios_by_the_delta_method(method):
    report = report_of(NAMES, method)
    theta, log_covariance = report.estimates, report.covariance
    log_covariance = log_covariance / np.outer(theta, theta)
    ratios = report.differences(scale="ratio")
    assert_allclose(ratios.estimates, np.exp(PAIRS @ np.log(theta)), rtol=1e-12)
    covariance = PAIRS @ log_covariance @ PAIRS.T
    value = ratios.estimates
    assert_allclose(ratios.covariance, covariance * np.outer(value, value), rtol=1e-9)
    # the interval is that of the difference of the logarithms
    reach = float(ratios.critical_value) * np.sqrt(np.diag(covariance))
    assert_allclose(np.log(ratios.to_dict()["low"]), np.log(value) - reach, atol=1e-9)
    assert_allclose(np.log(ratios.to_dict()["high"]), np.log(value) + reach, atol=1e-9)


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_contrasts_across_metrics_and_models(method):
    report = report_of(["precision", "recall", "matthews_corrcoef"], method)
    matrix = np.random.default_rng(0).normal(size=(6, 9))
    matrix[0] = [1, -1] + [0] * 7  # precision against recall of one model
    matrix[1] = [0, 1 / 2, 0, 0, 1 / 2, 0, 0, -1, 0]  # two models against the third
    contrasts = report.contrasts(matrix, list("abcdef"))
    assert list(contrasts) == [(name,) for name in "abcdef"]
    assert_allclose(contrasts.estimates, matrix @ report.estimates, atol=1e-14)
    expected = matrix @ report.covariance @ matrix.T
    assert_allclose(contrasts.covariance, expected, atol=1e-14)
    # of one model it has four cells only, and is not known better or worse for that
    alone = report.select(models="A").contrasts(matrix[:1, :3], "a")
    assert_allclose(alone["a"].standard_error, contrasts["a"].standard_error)


@pytest.mark.parametrize("method", METHODS)
def test_a_trivial_contrast_is_the_estimate(method):
    """Without a second model its own table is that of the estimate."""
    report = report_of(["accuracy", "f1"], method).select(models="B").individual()
    contrasts = report.contrasts(np.eye(2), ["accuracy", "f1"]).individual()
    for metric in report.metrics:
        own, again = report["B", metric], contrasts[metric]
        assert again == own
        assert_allclose(again.confidence_interval(), own.confidence_interval())


def test_methods_agree_with_many_rows():
    models = {name: np.tile(model, 2000) for name, model in MODELS.items()}
    for scale in ("difference", "ratio"):
        intervals = [
            joint_limits(
                joint_report(
                    np.tile(Y, 2000), models, metrics=["f1", "mcc"][: 1 + k]
                ).differences(scale=scale, method=method, metrics="f1")
            )
            for k, method in enumerate(METHODS[::2])
        ]
        width = np.diff(intervals[0]).max()
        assert_allclose(*intervals, atol=0.01 * width)


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
@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_exchanged_models_mirror_the_interval(method, scale):
    names = ["accuracy", "f1", "positive_likelihood_ratio"]
    there = report_of(names, method).differences(scale=scale)
    backward = dict(reversed(MODELS.items()))
    back = report_of(names, method, models=backward).differences(scale=scale)
    turn = np.reciprocal if scale == "ratio" else np.negative
    for metric, first, second in there:
        estimate, mirrored = there[metric, first, second], back[metric, second, first]
        assert_allclose(mirrored, turn(float(estimate)), rtol=1e-12)
        estimate = there.individual()[metric, first, second]
        mirrored = back.individual()[metric, second, first]
        expected = turn(np.array(quiet(estimate.confidence_interval)))[::-1]
        limits = quiet(mirrored.confidence_interval)
        assert_allclose(limits, expected, rtol=1e-6)
    # as well as the critical values agree
    pvalues = dict(zip(back, back.pvalues, strict=True))
    expected = [pvalues[metric, second, first] for metric, first, second in there]
    assert_allclose(there.pvalues, expected, rtol=0.015)


def test_a_lower_is_better_metric_is_the_mirror_of_its_complement():
    report = report_of(["accuracy", "error_rate"], "score").differences(adjust="none")
    for first, second in combinations(MODELS, 2):
        right = report["accuracy", first, second]
        wrong = report["error_rate", first, second]
        assert wrong == pytest.approx(-right)
        assert_allclose(
            wrong.confidence_interval(), np.negative(right.confidence_interval())[::-1],
            rtol=1e-6,
        )  # fmt: skip
    assert_allclose(report.pvalues[:3], report.pvalues[3:], rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "adjust"), each_once(METHODS, ["single-step", "step-down", "none"])
)
def test_identical_models(method, adjust):
    report = report_of(["accuracy", "f1", "mcc"], method, {"A": A, "again": A.copy()})
    same = report.differences(adjust=adjust)
    assert_array_equal(same.estimates, 0.0)
    assert_array_equal(same.pvalues, 1.0)
    if method == "blurred":
        with pytest.warns(DegenerateVarianceWarning):
            columns = same.to_dict()
    else:
        columns = same.to_dict()
    width = np.subtract(columns["high"], columns["low"])
    assert (width > 0.01).all() and (width < 0.3).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_identical_models_among_others(method):
    """What is known of the others does not depend on a copy."""
    names = ["accuracy", "f1"]
    three = report_of(names, method, MODELS | {"D": C.copy()}).differences()
    assert three["f1", "C", "D"] == 0
    again = three.select(first=["A", "B"], second=["B", "C"])
    alone = report_of(names, method).differences()
    assert list(again) == list(alone)
    assert_allclose(again.covariance, alone.covariance, atol=1e-15)
    assert_allclose(again.to_dict()["low"], alone.to_dict()["low"], atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", [np.nan, 1.0])
def test_undefined_models_tell_nothing(method, scale, zero_division):
    from skci import PrecisionCI

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


@pytest.mark.parametrize("scale", ["difference", slow("ratio")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimates_at_the_ends_of_their_range(scale):
    models = {"A": A, "perfect": Y, "wrong": 1 - Y}
    report = report_of(["accuracy", "f1"], "score", models).differences(scale=scale)
    assert (report.pvalues < 0.01).all()
    low, high = joint_limits(report).T
    if scale == "difference":
        assert report["f1", "perfect", "wrong"].high == 1
        assert 0.9 < report["f1", "perfect", "wrong"].low < 1
    else:
        assert report["f1", "A", "wrong"] == np.inf
        assert report["f1", "A", "wrong"].high == np.inf
        assert report["f1", "A", "wrong"].low > 10
    assert (low < high).all()


# Options


@pytest.mark.parametrize(
    ("name", "seed"),
    slow_except(
        [("accuracy", 0), ("g_mean", 0)],
        product(["accuracy", "f1", "g_mean", "cosine"], range(2)),
    ),
)
def test_infinite_ratios_have_a_lower_limit_where_the_pvalue_says_so(name, seed):
    """The second model finds nothing, and is right about nothing."""
    rng = np.random.default_rng(seed)
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
    assert report.differences(metrics=["f1", "accuracy"]).metrics == ["f1", "accuracy"]
    assert report.differences().metrics == report.metrics


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


def test_adjust():
    report = report_of(["accuracy", "f1"])
    single = report.differences()
    down = report.differences(adjust="step-down")
    none = report.differences(adjust="none")
    assert_array_equal(joint_limits(single), joint_limits(down))
    assert none.critical_value == pytest.approx(norm.isf(0.025))
    assert_array_equal(joint_limits(none), joint_limits(single.individual()))
    assert str(single).startswith("Joint 95% confidence intervals of differences")
    assert str(none).startswith("Individual 95% confidence intervals of differences")
    assert "joint interval" in str(single) and "individual" not in str(single)
    assert "95% confidence intervals of ratios" in str(
        report.differences(scale="ratio")
    )


def test_levels():
    report = report_of(["accuracy", "f1"], "blurred")
    assert report.at(0.8).differences().confidence_level == 0.8
    one, other = report.at(0.8).differences(), report.differences().at(0.8)
    assert_array_equal(joint_limits(one), joint_limits(other))
    own = report.differences()["f1", "A", "B"]
    assert own.confidence_interval(0.8) == other["f1", "A", "B"].confidence_interval()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
differences(scale="log") -> ValueError -> scale must be one of
differences(adjust="bonferroni") -> ValueError -> adjust must be one of
differences(control="D") -> KeyError -> control must be one of
differences(control=0) -> KeyError -> control must be one of
differences(metrics="f2") -> KeyError -> metric must be one of
differences(metrics=[]) -> ValueError -> metrics must hold at least one
differences(method="wilson") -> ValueError -> proportion, which 'accuracy' is not
differences(method="newton") -> ValueError -> method must be one of
differences(method="score") -> ValueError -> 'score' needs .* 'overlap'
differences(scale="ratio") -> ValueError -> never negative, got 'mcc'
select(models="A").differences() -> ValueError -> must have two models .* got \[\('A',
"""),
)
def test_wrong_options(call, error, message):
    report = report_of(["accuracy", "mcc", "overlap"])
    with pytest.raises(eval(error), match=message):
        eval(f"report.{call}", {"report": report})


@pytest.mark.parametrize(
    ("matrix", "labels", "error", "message"),
    table(r"""
[[1, -1]] -> a -> ValueError -> matrix must have .* 3 columns
[1, -1, 0] -> a -> ValueError -> matrix must have
np.zeros((0, 3)) -> -> ValueError -> matrix must have
[[0, 0, 0]] -> a -> ValueError -> must have no row of zeros
[[1, np.nan, 0]] -> a -> ValueError -> matrix must hold finite
[[1e21, 0, 0]] -> a -> ValueError -> matrix must hold .* got 1e[+]21$
[[1, 1e-21, 0]] -> a -> ValueError -> matrix must hold .* got 1e-21$
[["x", "y", "z"]] -> a -> TypeError -> matrix must hold numbers
[[1, -1, 0]] -> ab -> ValueError -> labels must be 1 distinct
[[1, -1, 0], [1, 0, -1]] -> aa -> ValueError -> labels must be 2 distinct
"""),
)
def test_wrong_contrasts(matrix, labels, error, message):
    with pytest.raises(eval(error), match=message):
        report_of(["accuracy"]).contrasts(eval(matrix), [*labels])


def test_contrasts_by_name_are_those_of_a_matrix():
    sex = np.arange(len(Y)) % 2
    report = report_of(["accuracy", "f1"], by={"sex": sex})
    mean = {"A": 0.5, "B": 0.5, "C": -1}
    found = report.contrasts({"mean": mean})
    assert list(found.to_dict())[:3] == ["contrast", "metric", "sex"]
    for metric, name in product(report.metrics, "01"):
        weights = dict.fromkeys(report, 0) | {
            (model, metric, name): weight for model, weight in mean.items()
        }
        expected = report.contrasts([[*weights.values()]], ["mean"])["mean"]
        estimate = found["mean", metric, name]
        assert float(estimate) == pytest.approx(float(expected), rel=1e-12)
        assert estimate.standard_error == pytest.approx(expected.standard_error)
        assert str(estimate._parameter.key) == f"{metric} of mean, sex = {name}"
    # By labels, of one metric and of several.
    pair = {("A", "f1", "0"): 1, ("A", "f1", "1"): -1}
    gap = report.contrasts({"gap": pair})["gap", "f1"]
    assert float(gap) == pytest.approx(float(report.gaps()["A", "f1", "0", "1"]))
    without_metric = {("A", "0"): 1, ("A", "1"): -1}
    with pytest.raises(KeyError, match=r"indexed by .* got \('A', '0'\)"):
        report.contrasts({"gap": without_metric})
    across = {("A", "f1", "0"): 1, ("A", "accuracy", "0"): -1}
    assert list(report.contrasts({"gap": pair, "across": across})) == [
        ("gap",),
        ("across",),
    ]
    # Contrasts of differences, by what they compare.
    nested = report.differences().contrasts({"x": {"A - B": 1, "A - C": 1}})
    plain = report.contrasts({"x": {"A": 2, "B": -1, "C": -1}})
    assert_allclose(nested.estimates, plain.estimates, atol=1e-15)


@pytest.mark.parametrize(
    ("contrasts", "error", "message"),
    table(r"""
{"x": {"A": 1, "Z": -1}} -> KeyError -> as in [(]'A', 'accuracy'[)], got 'Z'
{"x": {("A", "mcc"): 1}} -> KeyError -> metric must be one of
{"x": 1} -> TypeError -> matrix must map names of contrasts to mappings .* got 1 for 'x'
{"x": {"A": "b"}} -> TypeError -> matrix must hold numbers
{} -> ValueError -> matrix must have a row for each contrast
{"x": {"A": 1}, "y": {("A", "f1"): 1, ("A", "accuracy"): 1}} -> ValueError -> separately
"""),
)
def test_wrong_contrasts_by_name(contrasts, error, message):
    with pytest.raises(eval(error), match=message):
        report_of(["accuracy", "f1"]).contrasts(eval(contrasts))


def test_methods_that_do_not_serve_contrasts():
    report = report_of(["overlap"])
    for method, needed in [("score", "a smooth measure"), ("wilson", "a proportion")]:
        with pytest.raises(ValueError, match=f"needs {needed}"):
            report.contrasts([[1, -1, 0]], ["a"], method=method)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_contrasts_of_contrasts(method):
    """Their covariance is that of the combined coefficients, L2 L1 V L1' L2'."""
    report = report_of(["accuracy", "f1"], method=method)
    first = np.random.default_rng(0).normal(size=(3, len(report)))
    second = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
    contrasts = report.contrasts(first, list("abc"), method=method)
    nested = contrasts.contrasts(second, ["d", "e"], method=method)
    direct = report.contrasts(second @ first, ["d", "e"], method=method)
    assert_allclose(nested.estimates, second @ first @ report.estimates, rtol=1e-12)
    assert_allclose(nested.covariance, direct.covariance, rtol=1e-9)
    for column in ("low", "high", "pvalue"):
        assert_allclose(nested.to_dict()[column], direct.to_dict()[column], rtol=1e-6)
    if method != "score":  # whose pseudo-counts depend on the table of a contrast
        combined = second @ first
        expected = combined @ report.covariance @ combined.T
        assert_allclose(nested.covariance, expected, rtol=1e-9)


GIVEN = joint_intervals([0.7, 0.8, 0.5], np.eye(3) / 100, names=list("ABC"))


@pytest.mark.parametrize("report", [report_of(["accuracy"]), GIVEN])
@pytest.mark.parametrize("scale", [1, 1e-13])
def test_contrasts_whose_terms_cancel(report, scale):
    """Also where rounding leaves something: 0.1 + 0.2 is not 0.3."""
    matrix = scale * np.array([[0.1, -0.1, 0], [0.2, -0.2, 0], [0.3, -0.3, 0]])
    contrasts = report.contrasts([*matrix, [0, scale, -scale]], list("abcd"))
    with pytest.raises(
        ValueError, match=r"^matrix must not have a contrast .* got 'e'$"
    ):
        contrasts.contrasts([[0, 0, 0, 1], [1, 1, -1, 0]], ["d", "e"])
    (remaining,) = contrasts.contrasts([[1, 1, -1, 1]], ["e"])._joint.parameters
    assert [str(base) for base in remaining.components] == [
        f"{report.metrics[0]} of {model}" for model in "BC"
    ]


def test_contrasts_of_ratios_that_cancel():
    ratios = report_of(["accuracy"]).differences(scale="ratio")
    twice = ratios.contrasts([[1, 0, -1], [-1, 0, 1]], ["a", "b"])
    with pytest.raises(ValueError, match=r"^matrix must not have a contrast in which"):
        twice.contrasts([[1, 1]], ["zero"])


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


@pytest.mark.parametrize("number", [2, 3, 6, 7, 10, 49])
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
    ratios = report_of(["accuracy"], method="delta").differences(scale="ratio")
    matrix = np.array([[1.0, -1.0, 0.0]])
    contrasts = ratios.contrasts(matrix, ["first - second"])
    assert_allclose(contrasts.estimates, matrix @ ratios.estimates)
    expected = matrix @ ratios.covariance @ matrix.T
    assert_allclose(contrasts.covariance, expected, rtol=1e-9)


def test_too_many_outcomes_for_score():
    """Of eight models together there are 2^9 outcomes."""
    rng = np.random.default_rng(0)
    models = {str(k): np.where(rng.random(len(Y)) < 0.8, Y, 1 - Y) for k in range(8)}
    report = report_of(["accuracy"], models=models)
    mean = [[1 / 7] * 7 + [-1]]
    message = (
        r"at most 256 possible outcomes; use one of \['delta', 'hall', 'blurred'\]"
    )
    with pytest.raises(ValueError, match=message):
        report.contrasts(mean, ["rest - last"], method="score")
    own = report.contrasts(mean, ["rest - last"])
    expected = np.array(mean) @ report.covariance @ np.transpose(mean)
    assert own.covariance == pytest.approx(expected)


# A report like any other


@pytest.fixture(scope="module", params=METHODS)
def differences(request):
    return report_of(["accuracy", "f1"], request.param).differences()


def test_frame(differences):
    frame = differences.to_frame()
    assert frame.index.names == ["metric", "first", "second"]
    assert list(frame.columns) == [
        "estimate", "low", "high", "standard_error", "pvalue",
    ]  # fmt: skip
    assert frame.index.tolist() == list(differences)
    own = differences["f1", "B", "C"]
    row = frame.loc["f1", "B", "C"]
    assert tuple(row[["estimate", "low", "high"]]) == (own, own.low, own.high)
    assert row["standard_error"] == own.standard_error
    assert row["pvalue"] == own.pvalue(0)


def test_selection(differences):
    some = differences.select(metric="f1", first=["A"])
    assert list(some) == [("f1", "A", "B"), ("f1", "A", "C")]
    assert some["f1", "A", "B"] == differences["f1", "A", "B"]
    assert some.critical_value < differences.critical_value
    with pytest.raises(KeyError, match="label must be one of"):
        differences.select(model="A")
    with pytest.raises(KeyError, match="second must be one of"):
        differences.select(second="A")
    with pytest.raises(ValueError, match="select must keep at least one"):
        differences.select(first="B", second="B")


@pytest.mark.parametrize(
    ("key", "message"),
    table(r"""
"f1" -> by \(metric, first, second\), as in \('accuracy', 'A', 'B'\), got 'f1'
("f1", "A") -> by \(metric, first, second\), as in
("A", "B", "f1") -> metric must be one of \['accuracy', 'f1'\], got 'A'
("f1", "B", "B") -> as in \('accuracy', 'A', 'B'\), got \('f1', 'B', 'B'\)
("f1", "A", "D") -> report\[metric, first, second\]: second must be one of
("A", "D", "f1") -> metric must be one of \['accuracy', 'f1'\], got 'A'
"""),
)
def test_what_is_not_in_a_report(differences, key, message):
    with pytest.raises(KeyError, match=message):
        differences[eval(key)]


def _given():
    """Estimates with a given covariance, one with an unknown variance."""
    covariance = np.diag([0.01, 0.02, 0.03, 0])
    return joint_intervals([0.5, 0.7, 0.8, 0.6], covariance, bounds=(0, 1), df=9)


REVERSED = {
    "of labels": lambda: report_of(["accuracy", "f1"], "score"),
    "of one method": lambda: report_of(["recall", "f1"], "delta"),
    "alone": lambda: report_of(["accuracy", "f1"], "blurred").individual(),
    "grouped": lambda: report_of(["accuracy"], groups=np.arange(len(Y)) // 5),
    "undefined class": lambda: joint_report(
        Y, {"A": A, "B": 0 * B}, metrics=["precision_macro", "accuracy"]
    ),
    "losses": lambda: joint_report(
        Y + 1, {"A": A + 0.5, "B": B + 0.5}, metrics="mean_absolute_error"
    ),
    "given": _given,
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


def test_a_method_of_differences_is_that_of_their_contrasts():
    differences = report_of(["accuracy", "f1"], "blurred").differences(method="delta")
    assert differences["f1", "B", "A"].method == "delta"
    mean = differences.contrasts([[1 / 6] * 6], ["mean"])
    assert mean["mean"].method == "delta"


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


def test_findings_of_gaps_are_of_one_model_each():
    y = [0, 1] * 200
    unfair = [0, 1] * 100 + [0, 1, 1, 1, 0] * 40
    report = joint_report(
        y,
        {"fair": [0, 1, 1, 1, 0] * 80, "unfair": unfair},
        metrics="accuracy",
        by=["north"] * 200 + ["south"] * 200,
    )
    assert report.gaps().findings() == [
        "On accuracy of fair, no subgroup is shown to differ from another.",
        "On accuracy of unfair, south is worse than north.",
    ]


def test_findings_follow_the_pvalues_shown():
    """Those of step-down may be below alpha where an interval holds no difference."""
    more = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.random(150) < 0.5
        models = {
            name: np.where(rng.random(150) < chance, y, ~y)
            for name, chance in zip("ABC", (0.85, 0.75, 0.7), strict=True)
        }
        report = joint_report(y, models, metrics="accuracy", method="delta")
        down = report.differences(adjust="step-down")
        said = sum("differs from" in finding for finding in down.findings())
        beaten = {
            second if estimate > 0 else first
            for (_, first, second), estimate, p in zip(
                down, down.estimates, down.pvalues, strict=True
            )
            if p < 0.05
        }
        assert said == len(beaten)
        more += down.findings() != report.differences().findings()
    assert more


def test_individual_reports_have_individual_differences():
    report = report_of(["accuracy", "f1"]).individual()
    alone = report.differences(adjust="none")
    assert str(report.differences()) == str(alone)
    assert report.differences().findings()[0].startswith("Taken alone: ")
    assert_allclose(report.differences(adjust="step-down").pvalues, alone.pvalues)


@pytest.mark.slow
def test_too_many_differences_are_refused():
    y, models = many_models(50, size=362)
    report = joint_report(y, models, metrics=["accuracy"], method="delta")
    with pytest.raises(ValueError, match="at most 65,536, got 66,066; pass control="):
        report.differences()
    assert len(quiet(report.differences, control="r0")) == 363


def many_models(n=400, size=9):
    """Correlated models, the last two the same and one that differs in a single row."""
    rng = np.random.default_rng(0)
    y, hard = rng.random(n) < 0.4, rng.normal(size=n)
    wrong = [hard + rng.normal(size=n) > 1.2 for _ in range(size)]
    models = {f"r{k}": (y ^ each).astype(int) for k, each in enumerate(wrong)}
    single = models["r0"].copy()
    single[7] = 1 - single[7]
    return y.astype(int), models | {"single": single, "same": models["r0"]}


def rowwise_influence(y, predicted):
    """Influence values of accuracy and F1 for each row, by their definitions."""
    correct = (y == predicted).astype(float)
    tp, positive = y * predicted, y + predicted
    f1 = 2 * tp.mean() / positive.mean()
    return [correct - correct.mean(), (2 * tp - f1 * positive) / positive.mean()]


def test_covariance_of_many_differences_against_rows():
    y, models = many_models()
    report = joint_report(y, models, metrics=["accuracy", "f1"], method="delta")
    influence = {model: rowwise_influence(y, p) for model, p in models.items()}
    expected = np.cov(
        [
            influence[first][metric] - influence[second][metric]
            for metric in range(2)
            for first, second in combinations(models, 2)
        ]
    )
    found = quiet(report.differences).covariance
    assert len(found) == 110
    assert_allclose(found, expected / len(y), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("scale", ["difference", slow("ratio")])
@pytest.mark.parametrize(
    ("method", "design"), each_once(METHODS, ["rows", "weights", "groups"])
)
def test_differences_of_many_models_are_those_of_few(scale, method, design):
    y, models = many_models()
    rng = np.random.default_rng(1)
    options = {
        "rows": {},
        "weights": {"sample_weight": rng.uniform(0.5, 2, len(y))},
        "groups": {"groups": rng.integers(0, 80, len(y))},
    }[design]

    def differences(names):
        chosen = {name: models[name] for name in names}
        report = joint_report(
            y, chosen, metrics=["accuracy", "mcc"], method=method, **options
        )
        return report.differences(scale=scale, metrics=["accuracy"])

    few = ["r1", "r2", "single", "same"]
    many, some = quiet(differences, models), quiet(differences, few)
    positions = [list(many).index(key) for key in some]
    block = many.covariance[np.ix_(positions, positions)]
    assert_allclose(block, some.covariance, rtol=1e-9, atol=1e-15)
    limits = [quiet(each.individual().to_dict) for each in (many, some)]
    for name in ("low", "high", "standard_error", "pvalue"):
        many_values = [limits[0][name][k] for k in positions]
        assert_allclose(many_values, limits[1][name], rtol=1e-6, err_msg=name)
