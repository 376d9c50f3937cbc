"""The joint report: what it holds, and when it warns."""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from simulated import some_models
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

from skci import F1CI, AccuracyCI, PrecisionCI, confusion_matrix_report, joint_report
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

Y, MODELS = some_models(good=0.9, fair=0.8, poor=0.7)
REFERENCES = ["accuracy", "f1", "matthews_corrcoef"]


@pytest.fixture(scope="module", params=["delta", "blurred", "plus-four", "score"])
def report(request):
    return joint_report(Y, MODELS, metrics=REFERENCES, method=request.param)


# What it holds


def test_metrics_by_name_object_or_label():
    by_name = joint_report(Y, MODELS, metrics="f1")
    assert by_name.metrics == ["f1"]
    for predictions in ([*MODELS.items()], (*MODELS.items(),), pl.DataFrame(MODELS)):
        found = joint_report(Y, predictions, metrics="f1")
        assert found.to_dict() == by_name.to_dict()
    assert joint_report(Y, MODELS, metrics=F1CI()).to_dict() == by_name.to_dict()
    alone = joint_report(Y, MODELS["good"].tolist(), metrics={"mine": F1CI()})
    assert alone["y_pred", "mine"] == by_name["good", "f1"]
    assert alone.findings() == []
    mixed = joint_report(Y, MODELS, metrics=["mcc", "f0.50", AccuracyCI()])
    assert mixed.metrics == ["mcc", "f0.50", "accuracy"]
    expected = sk.fbeta_score(Y, MODELS["good"], beta=0.5)
    assert mixed["good", "f0.50"] == pytest.approx(expected)


def test_covariance(report):
    covariance = report.covariance
    assert covariance == pytest.approx(covariance.T, rel=1e-10)
    smallest, *_, largest = np.linalg.eigvalsh(covariance)
    assert smallest > -1e-12 * largest
    errors = np.array(report.to_dict()["standard_error"])
    scale = np.sqrt(np.diag(covariance))
    if report["good", "f1"].method == "delta":
        assert scale == pytest.approx(errors, rel=1e-12)
        half = report.critical_value * scale
        assert report.to_dict()["low"] == pytest.approx(report.estimates - half)
        assert report.to_dict()["high"] == pytest.approx(report.estimates + half)
    else:  # with blurring or pseudo-counts, in the intervals only
        assert (scale > 0.999 * errors).all()
    correlation = covariance / np.outer(scale, scale)
    assert report.correlation == pytest.approx(correlation, abs=1e-12)
    assert np.array_equal(report.correlation, report.correlation.T)


# Other views


def test_another_level(report):
    options = {"metrics": REFERENCES, "method": report["good", "f1"].method}
    level = joint_report(Y, MODELS, confidence_level=0.8, **options)
    other = report.at(0.8)
    assert other.confidence_level == 0.8
    assert other.to_dict() == level.to_dict()
    assert other.at(0.95).to_dict() == report.to_dict()
    joint = report["good", "f1"].confidence_interval(0.8)
    assert joint == other["good", "f1"].confidence_interval()
    assert other.individual().critical_value == pytest.approx(norm.ppf(0.9))


def test_select(report):
    method = report["good", "f1"].method
    part = report.select(models=["good", "poor"], metrics="f1")
    assert (part.models, part.metrics) == (["good", "poor"], ["f1"])
    assert norm.ppf(0.975) < part.critical_value < report.critical_value
    chosen = {name: MODELS[name] for name in ("good", "poor")}
    same = joint_report(Y, chosen, metrics="f1", method=method)
    assert part.covariance == pytest.approx(same.covariance)
    assert part.to_dict()["low"] == pytest.approx(same.to_dict()["low"])
    assert part["good", "f1"] == report["good", "f1"]
    assert len(report.select(metrics=("f1", "accuracy"))) == 6
    single = report.select(models="good", metrics="f1")
    assert single.critical_value == pytest.approx(norm.ppf(0.975))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
report["best", "f1"] -> KeyError -> model must be one of \['good', .*, got 'best'
report["good", "f3"] -> KeyError -> metric must be one of \['accuracy', .*, got 'f3'
report["f1", "good"] -> KeyError -> model must be one of \['good', .*, got 'f1'
report[["good"], "f1"] -> KeyError -> model must be one of .*, got \['good'\]
report[0, 0] -> KeyError -> model must be one of .*, got .0.
report["good"]
    -> KeyError -> by \(model, metric\), as in \('good', 'accuracy'\), got 'good'
report["good", "f1", "low"] -> KeyError -> indexed by
report.select(models=["good", "best"])
    -> KeyError -> model must be one of .*, got 'best'
report.select(metrics="f2")
    -> KeyError -> metric must be one of \['accuracy', .*, got 'f2'
report.select(metrics=[]) -> ValueError -> ^metrics must contain .*, got none
joint_report(Y, MODELS, metrics="f1", random_state="x")
    -> TypeError -> ^random_state must be
"""),
)
def test_what_there_is_not(call, error, message):
    report = joint_report(Y, MODELS, metrics=REFERENCES)
    with pytest.raises(eval(error), match=message):
        eval(call, globals() | {"report": report})


# Degenerate tables

WHOLE = {"precision": (0, 1), "mcc": (-1, 1), "lift": (0, np.inf)}
every_method = pytest.mark.parametrize("method", ["delta", "blurred", "score"])


def undefined(message):
    return pytest.warns(UndefinedMetricWarning, match=f"^{message}: undefined")


@every_method
@pytest.mark.parametrize("name", WHOLE)
def test_undefined_estimates_leave_the_others_jointly_valid(name, method):
    options = {"metrics": name, "method": method}
    with undefined(f"{name} of silent"):
        report = joint_report(Y, MODELS | {"silent": np.zeros_like(Y)}, **options)
    without = joint_report(Y, MODELS, **options)
    assert np.isnan(report["silent", name])
    assert report["silent", name].confidence_interval() == WHOLE[name]
    assert report.critical_value == without.critical_value
    assert np.array_equal(report.covariance[:3, :3], without.covariance)
    assert np.isnan(report.covariance[3]).all()
    assert report.to_dict()["low"][:3] == without.to_dict()["low"]
    about_silent = [finding for finding in report.findings() if "silent" in finding]
    assert about_silent == [f"{name} is undefined for silent."]


@every_method
def test_all_undefined(method):
    metrics = {"0": PrecisionCI(zero_division=0), "lift": "lift"}
    with undefined("0 of y_pred, lift of y_pred"):
        report = joint_report(Y, np.zeros_like(Y), metrics=metrics, method=method)
    assert report.estimates[0] == 0 and "nan" in str(report)
    assert report.critical_value == pytest.approx(norm.ppf(0.975))
    assert report.to_dict()["low"] == [0, 0]
    assert report.to_dict()["high"] == [1, None]


@pytest.mark.parametrize("method", ["delta", "plus-four", "score"])
def test_models_that_are_the_same_cost_nothing(method):
    once = joint_report(Y, {"a": MODELS["fair"]}, metrics="f1", method=method)
    models = {"a": MODELS["fair"], "b": MODELS["fair"], "c": MODELS["fair"]}
    # Jaccard's index is a function of F1: everything is perfectly correlated.
    report = joint_report(Y, models, metrics=["f1", "jaccard"], method=method)
    exact = method == "delta"
    assert report.correlation.min() > (1 - 1e-9 if exact else 0.999)
    close = pytest.approx(once.critical_value, abs=2e-3 if exact else 0.05)
    assert report.critical_value == close


# Warnings

PERFECT = [[30, 0], [0, 20]]
SILENT = [[30, 0], [20, 0]]
ONE_ROW = [[0, 0], [0, 1]]
FEW = [[5, 1], [2, 8]]
MANY = [[50, 10], [15, 25]]
DEGENERATE, SMALL = DegenerateVarianceWarning, SmallSampleWarning


def caught(call):
    """Classes of the warnings of a call, which all point at this file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    assert {warning.filename for warning in found} <= {__file__}
    return result, sorted((one.category for one in found), key=lambda one: one.__name__)


@pytest.mark.parametrize("method", ["delta", "blurred"])
@pytest.mark.parametrize(
    ("matrix", "name", "at_call", "when_looked_at"),
    [
        (PERFECT, "accuracy", [], [DEGENERATE]),
        (PERFECT, "lift", [], []),
        (PERFECT, "positive_likelihood_ratio", [], [DEGENERATE]),
        (SILENT, "precision", [UndefinedMetricWarning], []),
        (SILENT, "recall", [], [DEGENERATE]),
        (SILENT, "accuracy", [], []),
        (ONE_ROW, "accuracy", [], [DEGENERATE]),
        (ONE_ROW, "mcc", [UndefinedMetricWarning], []),
        (FEW, "accuracy", [], [SMALL]),
        (FEW, "f1", [], [SMALL]),
        (MANY, "accuracy", [], []),
    ],
)
def test_warnings_come_when_they_are_due(matrix, name, at_call, when_looked_at, method):
    report, found = caught(
        lambda: confusion_matrix_report(matrix, metrics=name, method=method)
    )
    assert found == at_call
    assert caught(report.to_dict)[1] == when_looked_at
    for look in [report.to_dict, report.__str__, lambda: report["y_pred", name].low]:
        assert caught(look)[1] == []
    calm, found = caught(
        lambda: confusion_matrix_report(matrix, metrics=name, method="score")
    )
    assert found == at_call
    assert caught(calm.to_dict)[1] == []


def test_warnings_point_at_the_caller_and_come_once():
    estimate, found = caught(lambda: AccuracyCI(method="delta")(Y, Y))
    assert found == [] == caught(lambda: f"{estimate:.2f}")[1]
    assert caught(lambda: estimate.low)[1] == [DEGENERATE]
    for look in [
        *(estimate.__str__, estimate.__repr__, lambda: estimate.low),
        *(lambda: estimate.high, lambda: estimate.confidence_interval(0.99)),
    ]:
        assert caught(look)[1] == []
    assert caught(lambda: estimate.standard_error)[1] == [DEGENERATE]
    report, _ = caught(lambda: joint_report(Y, {"a": Y}, metrics="f1", method="delta"))
    assert caught(lambda: [report.estimates, len(report)])[1] == []
    assert caught(lambda: str(report))[1] == [DEGENERATE]
    for look in [report.findings, report.to_frame, report.to_markdown, report.to_latex]:
        assert caught(look)[1] == []
    for call in [
        lambda: PrecisionCI()(Y, np.zeros_like(Y)),
        lambda: PrecisionCI().from_confusion_matrix(SILENT),
        lambda: confusion_matrix_report(SILENT, metrics=["precision", "lift"]),
    ]:
        assert caught(call)[1] == [UndefinedMetricWarning]


def test_a_generator_is_drawn_from_once():
    seed = np.random.default_rng(3)
    report = joint_report(Y, MODELS, metrics=["f1", "mcc"], random_state=seed)
    first = report["good", "f1"].confidence_interval(0.99)
    assert report["good", "f1"].confidence_interval(0.99) == first


def test_a_model_may_have_any_name():
    labels = np.where(Y, "b", "a")
    assert joint_report(labels, {"y": labels}, metrics="accuracy")["y", "accuracy"] == 1
