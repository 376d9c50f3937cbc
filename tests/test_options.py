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

from skci import (
    F1CI,
    AccuracyCI,
    DiagnosticOddsRatioCI,
    FBetaCI,
    JaccardCI,
    JointEvaluator,
    LiftCI,
    OverlapCI,
    PrecisionCI,
    TverskyCI,
    classification_report_ci,
    confusion_matrix_report,
    cross_validate_report,
    joint_intervals,
    joint_report,
    roc_report,
    sample_size,
)
from skci.inference import critical_value

Y, P = labels()
MATRIX = [[50, 10], [15, 25]]


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


def every_way(metric="f1", **options):
    """Calls that take the options of a report."""
    yield lambda: joint_report(Y, P, metrics=metric, **options)
    yield lambda: confusion_matrix_report(MATRIX, metrics=metric, **options)
    yield lambda: JointEvaluator({"a": Predicts()}, metric, **options).evaluate(
        np.c_[P], Y
    )


# Of metrics


@pytest.mark.parametrize(
    ("level", "hint"),
    [
        *[(level, "") for level in [0, 1, -0.1, 1.5, 100, np.nan]],
        *[(level, "") for level in ["0.95", None, True, []]],
        *[(95, "; did you mean 0.95?"), (99.9, "; did you mean 0.999?")],
    ],
)
def test_confidence_level(level, hint):
    message = re.escape(
        "confidence_level must be a number between 0 and 1, both excluded, "
        f"got {level!r}{hint}"
    )
    calls = [
        *every_way(confidence_level=level),
        *every_way(AccuracyCI(confidence_level=level)),
        lambda: F1CI(confidence_level=level)(Y, P),
        lambda: F1CI(confidence_level=level).from_confusion_matrix(MATRIX),
        lambda: joint_report(Y, P, metrics="f1").at(level),
        lambda: classification_report_ci(Y, P, confidence_level=level),
        lambda: roc_report(Y, 0.5 * P, confidence_level=level),
        lambda: joint_intervals([0.5], [[0.1]], confidence_level=level),
        lambda: critical_value(np.eye(2), level),
        lambda: sample_size("accuracy", 0.1, expected=0.8, confidence_level=level),
    ]
    if level is not None:  # which stands for the level of the estimate
        calls.append(lambda: F1CI()(Y, P).confidence_interval(level))
    for call in calls:
        with pytest.raises(ValueError, match=f"^{message}$"):
            call()


@pytest.mark.parametrize("method", ["", "spline", 5, ["delta"], True])
def test_unknown_method(method):
    message = rf"^method must be one of \['auto', .*\], got {re.escape(repr(method))}$"
    for call in [
        *every_way(method=method),
        *every_way(F1CI(method=method)),
        lambda: F1CI(method=method)(Y, P),
        lambda: F1CI(method=method).from_confusion_matrix(MATRIX),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("cls", "method", "need"),
    [
        (F1CI, "wilson", "a proportion, which 'f1' is not"),
        (LiftCI, "jeffreys", "a proportion, which 'lift' is not"),
        (DiagnosticOddsRatioCI, "clopper-pearson", "which .* is not"),
        (FBetaCI, "agresti-coull", "a proportion, which 'f3' is not"),
        (OverlapCI, "score", "a smooth measure .*, which 'overlap' is not"),
        (LiftCI, "plus-four", "which 'lift' is not"),
    ],
)
def test_refused_method_says_which_serve(cls, method, need):
    message = rf"^method='{method}' needs .*{need}; use one of \['delta', "
    options = {"beta": 3} if cls is FBetaCI else {}
    for call in [
        lambda: cls(method=method, **options)(Y, P),
        lambda: cls(method=method, **options).from_confusion_matrix(MATRIX),
        *every_way(cls(**options), method=method),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_method_of_the_metric_wins_over_a_report_s():
    metrics = ["f1", PrecisionCI(method="jeffreys"), OverlapCI(method="delta")]
    report = joint_report(Y, P, metrics=metrics, method="score")
    assert report.to_dict()["method"] == ["score", "jeffreys", "delta"]


@pytest.mark.parametrize("weight", [0, -1, np.inf, np.nan, None, "1", True, [1]])
def test_weights(weight):
    for metric, parameter in [
        (FBetaCI(weight), "beta"),
        (TverskyCI(weight, 1), "alpha"),
        (TverskyCI(1, weight), "beta"),
    ]:
        message = f"{parameter} must be a finite number above 0, got {weight!r}"
        for call in (lambda: metric(Y, P), lambda: joint_report(Y, P, metrics=metric)):  # noqa: B023
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                call()


@pytest.mark.parametrize("value", [2, 0.5, -1, "warn", None, np.inf, [0]])
def test_zero_division(value):
    got = re.escape(repr(value))
    message = rf"^zero_division must be 0, 1 or numpy\.nan, got {got}$"
    for call in [
        lambda: JaccardCI(zero_division=value)(Y, P),
        *every_way(F1CI(zero_division=value)),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("bound", ["upper", True, 0, "Low"])
def test_bound_of_a_scorer(bound):
    with pytest.raises(ValueError, match=f"^bound must be .*, got {bound!r}$"):
        F1CI().scorer(bound=bound)


def every_metric(matrix):
    return confusion_matrix_report(matrix, metrics="f1")


@pytest.mark.parametrize(
    ("matrix", "got"),
    [
        ([[1, 2]], r"shape \(1, 2\)"),
        (np.array(5), r"shape \(\)"),
        (np.ma.masked_equal([[1, 2], [3, 4]], 4), "no masked entries, got 1"),
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        ([["1", "2"], ["3", "4"]], "'1'"),
        ([[1, np.nan], [3, 4]], "nan"),
        ([[True, False], [True, True]], "True"),
        ([[1, -2], [3, 4]], "-2"),
        ([[1.5, 2], [3, 4]], "1.5"),
        ([[0, 0], [0, 0]], r"\[\[0, 0\], \[0, 0\]\]"),
    ],
)
def test_confusion_matrix(matrix, got):
    for call in (AccuracyCI().from_confusion_matrix, every_metric):
        with pytest.raises(ValueError, match=f"^matrix must .*{got}"):
            call(matrix)


TARGETS = np.eye(2, dtype=int)


@pytest.mark.parametrize(
    ("metric", "data", "message"),
    [
        (F1CI(average="macro", labels=[1, 1]), (Y, P), "labels must be distinct"),
        (
            F1CI(average="macro", labels=[1, 5]),
            (TARGETS, TARGETS),
            r"labels must be among the targets \[0, 1\], got \[5\]",
        ),
    ],
)
def test_wrong_classes(metric, data, message):
    with pytest.raises(ValueError, match=message):
        metric(*data)


def test_wrong_labels_of_a_confusion_matrix():
    with pytest.raises(ValueError, match=r"among the labels \[0, 1\], got \[7\]$"):
        F1CI(average="macro", labels=[7, 1]).from_confusion_matrix(MATRIX)


# Names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acuracy", "unknown metric 'acuracy'; did you mean 'accuracy'?"),
        ("Recal", "unknown metric 'Recal'; did you mean 'recall'?"),
        ("jacard_score", "did you mean 'jaccard'?"),
        ("sensitivty", "did you mean 'sensitivity'?"),
        ("f-1", "unknown metric 'f-1'; available_metrics() lists all"),
        ("lift_macros", "unknown metric 'lift_macros'"),
        ("mcc_macro", "'matthews_corrcoef' does not have"),
        ("fp_rate", "metric 'fp_rate'; available_metrics"),  # not the opposite rate
        ("qqq", "unknown metric 'qqq'; available_metrics() lists all"),
        ("neg_acuracy", "unknown metric 'neg_acuracy'; did you mean 'accuracy'?"),
        ("neg_mcc_macro", "metric 'neg_mcc_macro' is not available, because"),
        ("f0", "beta must be a finite number above 0, got 0.0"),
    ],
)
def test_unknown_metric(name, message):
    for call in [
        *every_way(name),
        *every_way({"mine": name}),
        *every_way(["f1", name]),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


@pytest.mark.parametrize("metric", [5, None, F1CI, ("a", "f1"), np.mean])
def test_things_that_are_not_metrics(metric):
    message = "^metrics must be names or metric objects .*, got "
    for call in [*every_way([metric]), *every_way({"mine": metric})]:
        with pytest.raises(TypeError, match=message + re.escape(repr(metric))):
            call()


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        *[(none, "^metrics must hold at least one entry") for none in ([], {}, ())],
        (["f1", "mcc", "f1"], r"^metrics must have .*, got the duplicates \['f1'\]$"),
        (["f1", F1CI(method="delta")], r"^metrics must .* duplicates \['f1'\]$"),
    ],
)
def test_no_metrics_and_metrics_of_one_name(metrics, message):
    for call in every_way(metrics):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    "models",
    [[("a", P), ("b", P), ("a", Y)], pd.DataFrame({"a": P, "b": P})[["a", "b", "a"]]],
)
def test_models_of_one_name(models):
    message = r"^y_pred must have distinct names, got the duplicates \['a'\]$"
    with pytest.raises(ValueError, match=message):
        joint_report(Y, models, metrics="f1")


@pytest.mark.parametrize(
    ("y_pred", "error", "message"),
    [
        ({}, ValueError, "y_pred must hold at least one entry, got none"),
        (pd.DataFrame(), ValueError, "y_pred must hold at least one entry, got none"),
        ([("a", P, P)], TypeError, "y_pred must be a mapping .* an entry tuple"),
        (np.c_[P, P], ValueError, r"y_pred must .* shape \(400, 2\); to report on"),
        ([["a", P]], ValueError, "y_pred must be .*, got nested sequences"),
        (None, ValueError, "y_pred= must be given for metrics of labels, got None for"),
        ({"a": P, "b": P[1:]}, ValueError, r"y_pred\['b'\] must .* the 400 rows of"),
    ],
)
def test_predictions(y_pred, error, message):
    with pytest.raises(error, match=f"^{message}"):
        joint_report(Y, y_pred, metrics="f1")


# Estimators


@pytest.mark.parametrize(
    ("estimators", "error", "message"),
    [
        (
            LogisticRegression,
            TypeError,
            "instances with a predict .*Logistic",
        ),
        (make_pipeline(StandardScaler()), TypeError, "a mapping .*, got Pipeline"),
        ([Predicts(), P], TypeError, "a mapping .*, got an entry <.*Predicts"),
        ([Predicts(), ("a", Predicts())], TypeError, "a mapping .*, got an entry <"),
        (None, TypeError, "a mapping .*, got None"),
        ("ab", TypeError, "a mapping .*, got an entry 'a'"),
        ({}, ValueError, "at least one entry, got none"),
        ([("a", Predicts()), ("a", Predicts())], ValueError, r"duplicates \['a'\]"),
        ({"a": StandardScaler()}, TypeError, "got Standard.* for 'a'"),
        (
            {"a": LogisticRegression},
            TypeError,
            "instances with a predict .*Logistic",
        ),
        ({"a": P}, TypeError, "a predict method, got ndarray of shape .* for 'a'"),
    ],
)
def test_estimators(estimators, error, message):
    evaluator = JointEvaluator(estimators, "f1")
    repr(evaluator)  # tells nothing wrong, but works
    with pytest.raises(error, match=f"^estimators must (be|hold|have) .*{message}"):
        evaluator.evaluate(np.c_[P], Y)


def test_estimators_are_named_by_their_class():
    """As in make_pipeline, and numbered where there are several of one class."""
    logit, tree = LogisticRegression().fit(np.c_[P], Y), Predicts()
    X = np.c_[P]
    steps = [logit, tree, logit]
    names = [name for name, _ in make_pipeline(*steps).steps]
    assert names == ["logisticregression-1", "predicts", "logisticregression-2"]
    evaluator = JointEvaluator(steps, "accuracy")
    assert evaluator.evaluate(X, Y).models == names
    forest = RandomForestClassifier(2, random_state=0).fit(X, Y)  # iterates over trees
    for one in (logit, make_pipeline(StandardScaler(), logit).fit(X, Y), forest):
        report = JointEvaluator(one, "accuracy").evaluate(X, Y)
        assert report.models == [type(one).__name__.lower()]
        named = JointEvaluator({"a": one}, "accuracy").evaluate(X, Y)
        assert report.estimates.tolist() == named.estimates.tolist()


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
        JointEvaluator(models, "f1").evaluate(np.c_[P], Y)


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
        JointEvaluator(models, "f1").evaluate(np.c_[P], Y)
    assert caught.value.__cause__ is error


def test_estimators_may_predict_in_processes_that_share_nothing():
    models = {"A": Predicts(), "B": LogisticRegression().fit(np.c_[P], Y)}
    expected = JointEvaluator(models, "f1").evaluate(np.c_[P], Y)
    with parallel_backend("multiprocessing", n_jobs=2):
        found = JointEvaluator(models, "f1").evaluate(np.c_[P], Y)
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
    fitted = LinearSVC().fit(X[known], y[known])
    message = (
        r"^margin: decision_function must have .* no column for \['d'\], got classes_"
    )
    with pytest.raises(ValueError, match=message):
        JointEvaluator({"margin": fitted}, "roc_auc_ovr").evaluate(X, y)
    folds = [(np.flatnonzero(known), np.flatnonzero(~known))] * 2
    options = {"metrics": "roc_auc_ovr", "cv": folds, "resampling": "corrected-t"}
    with pytest.raises(ValueError, match=r"^margin.*: decision_function must have"):
        cross_validate_report({"margin": LinearSVC()}, X, y, **options)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.where(Y, np.nan, 0), {}, "^y must hold a label in every row"),
        (np.where(P, 2, Y), {}, "^y must hold two labels, got 3: 0, 1, 2;"),
        (np.where(Y, 0.4, 0.2), {}, "^y must hold class labels, got continuous"),
        (np.where(Y, "a", "b"), {}, r"^pos_label must be .* \['a', 'b'\], got none"),
        (Y, {"pos_label": 2}, "^pos_label must be one of .*, got 2"),
        (Y, {"metrics": "f1x"}, "^unknown metric"),
        (Y, {"method": "x"}, "^method must be"),
        (Y, {"confidence_level": 2}, "^confidence_level must be"),
        (
            np.where(Y, 0.4, 0.2),
            {},
            "; use metrics of numbers, such as 'mean_squared_error'",
        ),
    ],
)
def test_told_before_anything_is_predicted(y, options, message):
    model = Predicts()
    evaluator = JointEvaluator({"model": model}, **{"metrics": "f1", **options})
    with pytest.raises(ValueError, match=message):
        evaluator.evaluate(np.c_[P], y)
    assert model.asked == 0


def test_bad_predictions_are_told_with_the_name_of_the_estimator():
    class Scores(Predicts):
        def predict(self, X):
            return super().predict(X) * 0.4

    class Few(Predicts):
        def predict(self, X):
            return super().predict(X)[1:]

    for model, message in [
        (Scores(), r"^y_pred\['odd'\] must hold class labels, got continuous values"),
        (Few(), r"^odd: predict\(X\) must .* for each of the 400 rows of X, got"),
    ]:
        evaluator = JointEvaluator({"fine": Predicts(), "odd": model}, "f1")
        with pytest.raises(ValueError, match=message):
            evaluator.evaluate(np.c_[P], Y)


def test_methods_by_metric():
    metrics = ["accuracy", "f1", "mcc"]
    rows = {"metrics": metrics, "y_pred": P}
    for others, usual in (({"*": "blurred"}, "blurred"), ({}, "score")):
        report = joint_report(Y, method={"f1": "delta"} | others, **rows)
        methods = [report["y_pred", name].method for name in metrics]
        assert methods == [usual, "delta", usual]
    with pytest.raises(ValueError, match=r"^method must be a name or a mapping"):
        joint_report(Y, method={"f2": "delta"}, **rows)
    with pytest.raises(ValueError, match="method='wilson' needs a proportion, which"):
        joint_report(Y, method="wilson", **rows)


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
