"""The joint report: what it holds, and when it warns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from simulated import some_models
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from tables import MEASURES

from skci import F1CI, AccuracyCI, PrecisionCI, confusion_matrix_report, joint_report
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.metrics.names import ALIASES

Y, MODELS = some_models(good=0.9, fair=0.8, poor=0.7)
REFERENCES = {
    "accuracy": sk.accuracy_score,
    "f1": sk.f1_score,
    "matthews_corrcoef": sk.matthews_corrcoef,
}


@pytest.fixture(scope="module", params=["delta", "blurred", "plus-four", "score"])
def report(request):
    return joint_report(Y, MODELS, metrics=list(REFERENCES), method=request.param)


# What it holds


@pytest.mark.parametrize(
    "predictions",
    [
        MODELS,
        list(MODELS.items()),
        tuple(MODELS.items()),
        pd.DataFrame(MODELS, index=np.arange(1600, 1000, -1)),
        pl.DataFrame(MODELS),
    ],
    ids=["dict", "list", "tuple", "pandas", "polars"],
)
def test_predictions_of_many_kinds(predictions):
    report = joint_report(pd.Series(Y), predictions, metrics=list(REFERENCES))
    assert report.models == list(MODELS)
    assert report.metrics == list(REFERENCES)
    assert len(report) == 9
    assert report.n_samples == len(Y)
    for model, p in MODELS.items():
        for name, reference in REFERENCES.items():
            assert report[model, name] == pytest.approx(reference(Y, p), rel=1e-13)
    assert report.estimates.tolist() == [
        report[model, name] for model in MODELS for name in REFERENCES
    ]


def test_metrics_by_name_object_or_label():
    by_name = joint_report(Y, MODELS, metrics="f1")
    assert by_name.metrics == ["f1"]
    assert joint_report(Y, MODELS, metrics=F1CI()).to_dict() == by_name.to_dict()
    alone = joint_report(Y, MODELS["good"].tolist(), metrics={"mine": F1CI()})
    assert alone["y_pred", "mine"] == by_name["good", "f1"]
    assert alone.findings() == []
    mixed = joint_report(Y, MODELS, metrics=["mcc", "f0.50", AccuracyCI()])
    assert mixed.metrics == ["mcc", "f0.50", "accuracy"]
    expected = sk.fbeta_score(Y, MODELS["good"], beta=0.5)
    assert mixed["good", "f0.50"] == pytest.approx(expected)


def test_joint_intervals_hold_the_individual_ones(report):
    names = ["low", "individual_low", "estimate", "individual_high", "high"]
    ends = np.array([report.to_dict()[name] for name in names])
    assert (np.diff(ends, axis=0) > 0).all()


def test_covariance(report):
    covariance = report.covariance
    assert covariance == pytest.approx(covariance.T, rel=1e-10)
    smallest, *_, largest = np.linalg.eigvalsh(covariance)
    assert smallest > -1e-12 * largest
    errors = np.array(report.to_dict()["standard_error"])
    deviations = np.sqrt(np.diag(covariance))
    if report["good", "f1"].method == "delta":
        assert deviations == pytest.approx(errors, rel=1e-12)
    else:  # with blurring or pseudo-counts, in the intervals only
        assert (deviations > 0.999 * errors).all()
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    assert report.correlation == pytest.approx(correlation, abs=1e-12)
    assert np.array_equal(report.correlation, report.correlation.T)


def test_wald_intervals_are_estimate_and_critical_value():
    report = joint_report(Y, MODELS, metrics=["f1", "mcc"], method="delta")
    half = report.critical_value * np.sqrt(np.diag(report.covariance))
    columns = report.to_dict()
    assert columns["low"] == pytest.approx(report.estimates - half)
    assert columns["high"] == pytest.approx(report.estimates + half)


# Other views


def test_individual(report):
    alone = report.individual()
    assert alone.critical_value == pytest.approx(norm.ppf(0.975))
    assert alone.critical_value < report.critical_value
    assert alone.to_dict()["low"] == report.to_dict()["individual_low"]
    one = AccuracyCI(method=alone["fair", "accuracy"].method)(Y, MODELS["fair"])
    assert alone["fair", "accuracy"].low == pytest.approx(one.low)


def test_another_level(report):
    options = {"metrics": [*REFERENCES], "method": report["good", "f1"].method}
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
    ("key", "message"),
    [
        (("best", "f1"), r"model must be one of \['good', .*, got 'best'"),
        (("good", "f3"), r"metric must be one of \['accuracy', .*, got 'f3'"),
        (("f1", "good"), r"model must be one of \['good', .*, got 'f1'"),
        (("f1", "best"), "model must be one of .*, got 'f1'"),
        ((["good"], "f1"), r"model must be one of .*, got \['good'\]"),
        ((0, 0), "model must be one of .*, got .0."),
        ("good", r"by \(model, metric\), as in \('good', 'accuracy'\), got 'good'"),
        (("good", "f1", "low"), "indexed by"),
    ],
)
def test_wrong_keys(key, message):
    report = joint_report(Y, MODELS, metrics=list(REFERENCES))
    with pytest.raises(KeyError, match=message):
        report[key]


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ({"models": ["good", "best"]}, KeyError, "model must be one of .*, got 'best'"),
        ({"metrics": "f2"}, KeyError, r"metric must be one of \['f1'\], got 'f2'"),
        ({"metrics": []}, ValueError, r"^metrics must hold .*, got none"),
    ],
)
def test_wrong_selections(selection, error, message):
    with pytest.raises(error, match=message):
        joint_report(Y, MODELS, metrics="f1").select(**selection)


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
    for array, expected in [
        (report.covariance, without.covariance),
        (report.correlation, without.correlation),
    ]:
        assert np.array_equal(array[:3, :3], expected)
        assert np.isnan(array[3]).all() and np.isnan(array[:, 3]).all()
    assert report.to_dict()["low"][:3] == without.to_dict()["low"]
    assert report.to_dict()["high"][:3] == without.to_dict()["high"]
    about_silent = [finding for finding in report.findings() if "silent" in finding]
    assert about_silent == [f"{name} is undefined for silent."]


@every_method
def test_all_undefined(method):
    metrics = ["precision", "lift"]
    with undefined("precision of y_pred, lift of y_pred"):
        report = joint_report(Y, np.zeros_like(Y), metrics=metrics, method=method)
    assert np.isnan(report.estimates).all()
    assert report.critical_value == pytest.approx(norm.ppf(0.975))
    assert report.to_dict()["low"] == [0, 0]
    assert report.to_dict()["high"] == [1, None]
    assert "nan" in str(report)


@every_method
def test_zero_division_changes_the_estimate_only(method):
    metrics = {"0": PrecisionCI(zero_division=0), "1": PrecisionCI(zero_division=1)}
    with undefined("0 of y_pred, 1 of y_pred"):
        report = joint_report(Y, np.zeros_like(Y), metrics=metrics, method=method)
    assert report.estimates.tolist() == [0, 1]
    assert report["y_pred", "1"].confidence_interval() == (0, 1)


@pytest.mark.parametrize("method", ["delta", "blurred", "plus-four", "score"])
def test_models_that_are_the_same_cost_nothing(method):
    once = joint_report(Y, {"a": MODELS["fair"]}, metrics="f1", method=method)
    models = {"a": MODELS["fair"], "b": MODELS["fair"], "c": MODELS["fair"]}
    # Jaccard's index is a function of F1: everything is perfectly correlated.
    report = joint_report(Y, models, metrics=["f1", "jaccard"], method=method)
    if method != "blurred":  # whose noise is each model's own
        exact = method == "delta"
        assert report.correlation.min() > (1 - 1e-9 if exact else 0.999)
        close = pytest.approx(once.critical_value, abs=2e-3 if exact else 0.05)
        assert report.critical_value == close
    limits = report["b", "f1"].confidence_interval()
    assert limits == report["c", "f1"].confidence_interval()
    assert report.critical_value < norm.ppf(1 - 0.025 / 6)


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
        (PERFECT, "f1", [], [DEGENERATE]),
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
    shrinkable = MEASURES[ALIASES.get(name, name)].plus_four is not None
    for method_without in ["score", "plus-four"] if shrinkable else ["score"]:
        calm, found = caught(
            lambda method=method_without: confusion_matrix_report(
                matrix, metrics=name, method=method
            )
        )
        assert found == at_call
        assert caught(calm.to_dict)[1] == []


def test_warnings_point_at_the_caller_and_come_once():
    models = {"perfect": Y, "good": MODELS["good"], "silent": np.zeros_like(Y)}
    metrics = ["precision", "accuracy"]
    report, found = caught(
        lambda: joint_report(Y, models, metrics=metrics, method="blurred")
    )
    assert found == [UndefinedMetricWarning]
    metric = AccuracyCI(method="delta")
    estimate, found = caught(lambda: metric(Y, Y))
    assert found == []
    assert caught(lambda: str(report))[1] == [DEGENERATE]
    assert caught(lambda: estimate.low)[1] == [DEGENERATE]
    for look in [
        *(report.__str__, report.__repr__, report.findings, report.to_dict),
        *(report.to_frame, report.to_markdown, report.to_latex, report._repr_html_),
        *(report.individual().to_dict, report.at(0.9).to_dict),
        *(estimate.__str__, estimate.__repr__, lambda: estimate.low),
        *(lambda: estimate.high, lambda: estimate.confidence_interval(0.99)),
    ]:
        assert caught(look)[1] == []
    assert caught(lambda: estimate.standard_error)[1] == [DEGENERATE]
    for look in [lambda: report.estimates, lambda: f"{estimate:.2f}", report.__len__]:
        assert caught(look)[1] == []
    for call in [
        lambda: PrecisionCI()(Y, np.zeros_like(Y)),
        lambda: PrecisionCI().from_confusion_matrix(SILENT),
        lambda: confusion_matrix_report(SILENT, metrics=["precision", "lift"]),
    ]:
        assert caught(call)[1] == [UndefinedMetricWarning]


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_a_single_row_tells_nothing(method):
    names = list(MEASURES)
    report, _ = caught(
        lambda: confusion_matrix_report(ONE_ROW, metrics=names, method=method)
    )
    columns, _ = caught(report.to_dict)
    assert set(columns["low"]) == {-1, 0}
    assert set(columns["high"]) == {1, None}
    assert report.critical_value == pytest.approx(norm.ppf(0.975))


def test_a_generator_is_drawn_from_once():
    seed = np.random.default_rng(3)
    report = joint_report(Y, MODELS, metrics=["f1", "mcc"], random_state=seed)
    first = report["good", "f1"].confidence_interval(0.99)
    assert report["good", "f1"].confidence_interval(0.99) == first
    with pytest.raises(TypeError, match=r"^random_state must be"):
        joint_report(Y, MODELS, metrics="f1", random_state="x")


def test_a_model_may_have_any_name():
    labels = np.where(Y, "b", "a")
    assert joint_report(labels, {"y": labels}, metrics="accuracy")["y", "accuracy"] == 1
