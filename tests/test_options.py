"""Wrong options: the error names the parameter, what it must be and what it was."""

import re

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from metrics_battery import labels
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tables import table

import skci
from skci import F1CI, JointEvaluator, joint_report

Y, P = labels()
X = np.c_[P]
MATRIX = [[50, 10], [15, 25]]
TARGETS = np.eye(2, dtype=int)
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
FRAME = pd.DataFrame({"a": P, "b": P})[["a", "b", "a"]]


class Predicts:
    """A model that counts how often it is asked."""

    def __init__(self, error=None):
        self.asked = 0
        self.error = error

    def predict(self, X):
        self.asked += 1
        if self.error is not None:
            raise self.error
        return np.asarray(X)[:, 0] > 0


class Scores(Predicts):
    """A model that predicts no labels."""

    def predict(self, X):
        return super().predict(X) * 0.4


class Few(Predicts):
    """A model that leaves out a row."""

    def predict(self, X):
        return super().predict(X)[1:]


def every_way(metrics="f1", **options):
    """Calls that take the options of a report."""
    yield lambda: joint_report(Y, P, metrics=metrics, **options)
    yield lambda: skci.confusion_matrix_report(MATRIX, metrics=metrics, **options)
    evaluator = JointEvaluator({"a": Predicts()}, metrics, **options)
    yield lambda: evaluator.evaluate(X, Y)


def refused(calls, message, error=ValueError):
    for call in calls:
        with pytest.raises(error, match=message):
            call()


# Of metrics and reports

LEVEL = "confidence_level must be a number between 0 and 1, both excluded, got"
METHOD = r"method must be one of \['auto', .*\], got"
ZERO = r"zero_division must be 0, 1 or numpy\.nan, got"
USE = "use one of \\['delta', "


@pytest.mark.parametrize(
    ("options", "message"),
    table(rf"""
confidence_level=0 -> {LEVEL} 0$
confidence_level=1 -> {LEVEL} 1$
confidence_level=np.nan -> {LEVEL} nan$
confidence_level="0.95" -> {LEVEL} '0.95'$
confidence_level=None -> {LEVEL} None$
confidence_level=True -> {LEVEL} True$
confidence_level=95 -> {LEVEL} 95; did you mean 0.95\?$
confidence_level=99.9 -> {LEVEL} 99.9; did you mean 0.999\?$
method="" -> {METHOD} ''$
method=["delta"] -> {METHOD} \['delta'\]$
method=True -> {METHOD} True$
method="wilson" -> method='wilson' needs .*a proportion, which 'f1' is not; {USE}
zero_division=2 -> {ZERO} 2$
zero_division=None -> {ZERO} None$
zero_division=[0] -> {ZERO} \[0\]$
"""),
)
def test_wrong_options(options, message):
    given = eval(f"dict({options})")
    calls = [*every_way(F1CI(**given))]
    if "zero_division" not in given:
        calls += every_way(**given)
    calls.append(lambda: F1CI(**given)(Y, P))
    calls.append(lambda: F1CI(**given).from_confusion_matrix(MATRIX))
    refused(calls, f"^{message}")


def test_every_entry_point_checks_the_level():
    level = {"confidence_level": 95}
    calls = [
        lambda: joint_report(Y, P, metrics="f1").at(95),
        lambda: skci.classification_report_ci(Y, P, **level),
        lambda: skci.roc_report(Y, 0.5 * P, **level),
        lambda: skci.joint_intervals([0.5], [[0.1]], **level),
        lambda: skci.inference.critical_value(np.eye(2), 95),
        lambda: skci.sample_size("accuracy", 0.1, expected=0.8, **level),
        lambda: F1CI()(Y, P).confidence_interval(95),
    ]
    refused(calls, rf"^{LEVEL} 95; did you mean 0.95\?$")


@pytest.mark.parametrize(
    ("metric", "method", "need"),
    table("""
LiftCI() -> jeffreys -> a proportion, which 'lift' is not
DiagnosticOddsRatioCI() -> clopper-pearson -> which .* is not
FBetaCI(3) -> agresti-coull -> a proportion, which 'f3' is not
OverlapCI() -> score -> a smooth measure .*, which 'overlap' is not
LiftCI() -> plus-four -> which 'lift' is not
"""),
)
def test_refused_method_says_which_serve(metric, method, need):
    metric = eval(f"skci.{metric}")
    calls = [*every_way(metric, method=method), lambda: metric(Y, P, method=method)]
    refused(calls, rf"^method='{method}' needs .*{need}; {USE}")


WEIGHT = "must be a finite number above 0, got"


@pytest.mark.parametrize(
    ("call", "message"),
    table(rf"""
skci.FBetaCI(0)(Y, P) -> ^beta {WEIGHT} 0$
skci.FBetaCI(np.inf)(Y, P) -> ^beta {WEIGHT} inf$
skci.FBetaCI("1")(Y, P) -> ^beta {WEIGHT} '1'$
skci.TverskyCI(-1, 1)(Y, P) -> ^alpha {WEIGHT} -1$
skci.TverskyCI(1, None)(Y, P) -> ^beta {WEIGHT} None$
F1CI().scorer(bound="upper") -> ^bound must be .*, got 'upper'$
F1CI().scorer(bound=0) -> ^bound must be .*, got 0$
F1CI(average="macro", labels=[1, 1])(Y, P) -> labels must be distinct
F1CI(average="macro", labels=[1, 5])(TARGETS, TARGETS)
    -> labels must be among the targets \[0, 1\], got \[5\]
F1CI(average="macro", labels=[7, 1]).from_confusion_matrix(MATRIX)
    -> among the labels \[0, 1\], got \[7\]$
joint_report(Y, [("a", P), ("b", P), ("a", Y)], metrics="f1")
    -> ^y_pred must have distinct names, got the duplicates \['a'\]$
joint_report(Y, FRAME, metrics="f1")
    -> ^y_pred must have distinct names, got the duplicates \['a'\]$
joint_report(Y, {{}}, metrics="f1") -> y_pred must contain at least one entry, got none
joint_report(Y, FRAME[[]], metrics="f1")
    -> y_pred must contain at least one entry, got none
joint_report(Y, [("a", P, P)], metrics="f1")
    -> y_pred must be a mapping .* an entry tuple
joint_report(Y, np.c_[P, P], metrics="f1")
    -> y_pred must .* shape \(400, 2\); to report on
joint_report(Y, [["a", P]], metrics="f1") -> y_pred must be .*, got nested sequences
joint_report(Y, None, metrics="f1")
    -> y_pred= must be given for metrics of labels, got None for
joint_report(Y, {{"a": P, "b": P[1:]}}, metrics="f1")
    -> y_pred\['b'\] must .* the 400 rows of
joint_report(Y, P, metrics="f1", method={{"f2": "delta"}})
    -> ^method must be a name or a mapping
"""),
)
def test_wrong_calls(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        eval(call)


@pytest.mark.parametrize(
    ("matrix", "got"),
    table(r"""
[[1, 2]] -> shape \(1, 2\)
np.array(5) -> shape \(\)
np.ma.masked_equal([[1, 2], [3, 4]], 4) -> no masked entries, got 1
np.ones((3, 2)) -> shape \(3, 2\)
[["1", "2"], ["3", "4"]] -> '1'
[[1, np.nan], [3, 4]] -> nan
[[True, False], [True, True]] -> True
[[1, -2], [3, 4]] -> -2
[[1.5, 2], [3, 4]] -> 1.5
[[0, 0], [0, 0]] -> \[\[0, 0\], \[0, 0\]\]
"""),
)
def test_confusion_matrix(matrix, got):
    matrix, message = eval(matrix), f"^matrix must .*{got}"
    refused([lambda: skci.AccuracyCI().from_confusion_matrix(matrix)], message)
    refused([lambda: skci.confusion_matrix_report(matrix, metrics="f1")], message)


@pytest.mark.parametrize(
    ("name", "message"),
    table("""
acuracy -> unknown metric 'acuracy'; did you mean 'accuracy'?
Recal -> unknown metric 'Recal'; did you mean 'recall'?
jacard_score -> did you mean 'jaccard'?
f-1 -> unknown metric 'f-1'; available_metrics() lists all
lift_macros -> unknown metric 'lift_macros'
mcc_macro -> 'matthews_corrcoef' does not have
fp_rate -> metric 'fp_rate'; available_metrics
neg_acuracy -> unknown metric 'neg_acuracy'; did you mean 'accuracy'?
neg_mcc_macro -> metric 'neg_mcc_macro' is not available, because
f0 -> beta must be a finite number above 0, got 0.0
"""),
)
def test_unknown_metric(name, message):
    """As fp_rate, which is not the opposite rate."""
    for metrics in (name, {"mine": name}, ["f1", name]):
        refused(every_way(metrics), re.escape(message))


@pytest.mark.parametrize("metric", [5, None, F1CI, ("a", "f1"), np.mean])
def test_things_that_are_not_metrics(metric):
    message = "^metrics must be names or metric objects .*, got "
    for metrics in ([metric], {"mine": metric}):
        refused(every_way(metrics), message + re.escape(repr(metric)), TypeError)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        *[(none, "^metrics must contain at least one entry") for none in ([], {}, ())],
        (["f1", "mcc", "f1"], r"^metrics must have .*, got the duplicates \['f1'\]$"),
        (["f1", F1CI(method="delta")], r"^metrics must .* duplicates \['f1'\]$"),
    ],
)
def test_no_metrics_and_metrics_of_one_name(metrics, message):
    refused(every_way(metrics), message)


# Estimators


@pytest.mark.parametrize(
    ("estimators", "message"),
    table(r"""
LogisticRegression -> instances with a predict .*Logistic
make_pipeline(StandardScaler()) -> a mapping .*, got Pipeline
[Predicts(), P] -> a mapping .*, got an entry <.*Predicts
None -> a mapping .*, got None
"ab" -> a mapping .*, got an entry 'a'
{} -> at least one entry, got none
[("a", Predicts()), ("a", Predicts())] -> duplicates \['a'\]
{"a": StandardScaler()} -> got Standard.* for 'a'
{"a": P} -> a predict method, got ndarray of shape .* for 'a'
"""),
)
def test_estimators(estimators, message):
    evaluator = JointEvaluator(eval(estimators), "f1")
    repr(evaluator)  # tells nothing wrong, but works
    message = f"^estimators must (be|contain|have) .*{message}"
    refused([lambda: evaluator.evaluate(X, Y)], message, (TypeError, ValueError))


def test_estimators_are_named_by_their_class():
    """As in make_pipeline, and numbered where there are several of one class."""
    logit = LogisticRegression().fit(X, Y)
    steps = [logit, Predicts(), logit]
    names = [name for name, _ in make_pipeline(*steps).steps]
    assert names == ["logisticregression-1", "predicts", "logisticregression-2"]
    assert JointEvaluator(steps, "accuracy").evaluate(X, Y).models == names
    forest = RandomForestClassifier(2, random_state=0).fit(X, Y)  # iterates over trees
    for one in (logit, SCALED.fit(X, Y), forest):
        report = JointEvaluator(one, "accuracy").evaluate(X, Y)
        assert report.models == [type(one).__name__.lower()]
        assert report.estimates == pytest.approx([one.score(X, Y)])


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1]}),
    ],
)
def test_unfitted_estimator(estimator):
    models = {"fitted": Predicts(), "my model": estimator}
    with pytest.raises(NotFittedError, match=r"^my model: .* is not fitted"):
        JointEvaluator(models, "f1").evaluate(X, Y)


class OwnError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("bad X"), ValueError, "^my model: bad X$"),
        (ZeroDivisionError(), ZeroDivisionError, "^my model: $"),
        (KeyError("column"), KeyError, "my model: 'column'"),
        (OwnError(1, 2), RuntimeError, "^my model: OwnError: 1 and 2$"),
    ],
)
def test_estimator_that_raises(error, kind, message):
    models = {"good": Predicts(), "my model": Predicts(error)}
    with pytest.raises(kind, match=message) as caught:
        JointEvaluator(models, "f1").evaluate(X, Y)
    assert caught.value.__cause__ is error


def test_estimators_may_predict_in_processes_that_share_nothing():
    models = {"A": Predicts(), "B": LogisticRegression().fit(X, Y)}
    expected = JointEvaluator(models, "f1").evaluate(X, Y)
    with parallel_backend("multiprocessing", n_jobs=2):
        found = JointEvaluator(models, "f1").evaluate(X, Y)
    assert found.estimates.tolist() == expected.estimates.tolist()


def test_a_label_that_an_estimator_does_not_know():
    """Its probability is 0; a decision function has no value for it."""
    rng = np.random.default_rng(0)
    y = np.array(list("abcd"))[rng.integers(0, 4, 300)]
    X = rng.normal(size=(300, 3)) + (y == "a")[:, np.newaxis]
    known = y != "d"
    fitted = LogisticRegression().fit(X[known], y[known])
    report = JointEvaluator({"logistic": fitted}, "roc_auc_ovr").evaluate(X, y)
    probabilities = np.column_stack([fitted.predict_proba(X), np.zeros(300)])
    expected = roc_auc_score(y, probabilities, multi_class="ovr")
    assert report.estimates == pytest.approx([expected])
    margin = {"margin": LinearSVC().fit(X[known], y[known])}
    message = r"^margin.*: decision_function must have .* no column for \['d'\], got"
    with pytest.raises(ValueError, match=message):
        JointEvaluator(margin, "roc_auc_ovr").evaluate(X, y)
    folds = [(np.flatnonzero(known), np.flatnonzero(~known))] * 2
    options = {"metrics": "roc_auc_ovr", "cv": folds, "resampling": "corrected-t"}
    with pytest.raises(ValueError, match=r"^margin.*: decision_function must have"):
        skci.cross_validate_report(margin, X, y, **options)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    table(r"""
np.where(Y, np.nan, 0) -> {} -> ^y must contain a label in every row
np.where(P, 2, Y) -> {} -> ^y must contain two labels, got 3: 0, 1, 2;
np.where(Y, 0.4, 0.2) -> {}
    -> ^y must contain class labels, got continuous .*; use metrics of numbers, such as
np.where(Y, "a", "b") -> {} -> ^pos_label must be .* \['a', 'b'\], got none
Y -> {"pos_label": 2} -> ^pos_label must be one of .*, got 2
Y -> {"metrics": "f1x"} -> ^unknown metric
Y -> {"method": "x"} -> ^method must be
Y -> {"confidence_level": 2} -> ^confidence_level must be
"""),
)
def test_told_before_anything_is_predicted(y, options, message):
    model = Predicts()
    evaluator = JointEvaluator({"model": model}, **{"metrics": "f1"} | eval(options))
    with pytest.raises(ValueError, match=message):
        evaluator.evaluate(X, eval(y))
    assert model.asked == 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            Scores(),
            r"^y_pred\['odd'\] must contain class labels, got continuous values",
        ),
        (Few(), r"^odd: predict\(X\) must .* for each of the 400 rows of X, got"),
    ],
)
def test_bad_predictions_are_told_with_the_name_of_the_estimator(model, message):
    with pytest.raises(ValueError, match=message):
        JointEvaluator({"fine": Predicts(), "odd": model}, "f1").evaluate(X, Y)


# Methods


def test_methods_by_metric():
    rows = {"metrics": ["accuracy", "f1", "mcc"], "y_pred": P}
    for others, usual in (({"*": "blurred"}, "blurred"), ({}, "score")):
        report = joint_report(Y, method={"f1": "delta"} | others, **rows)
        assert report.to_dict()["method"] == [usual, "delta", usual]
    metrics = ["f1", skci.PrecisionCI(method="jeffreys"), skci.OverlapCI()]
    report = joint_report(Y, P, metrics=metrics, method={"overlap": "delta"})
    assert report.to_dict()["method"] == ["score", "jeffreys", "delta"]


@pytest.mark.parametrize(
    ("metric", "method"),
    [("f1", "score"), ("overlap", "blurred"), ("roc_auc", "logit"), ("brier", "score")],
)
def test_automatic_method(metric, method):
    scores = {"A": np.where(P, 0.7, 0.2)}
    for given in (None, "auto"):
        options = {"metrics": [metric], "method": given}
        report = joint_report(Y, {"A": P}, y_score=scores, **options)
        assert report["A", metric].method == method
