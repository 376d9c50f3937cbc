"""The metrics that a report chooses where none are given."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from tables import table

from skci import JointEvaluator, joint_report
from skci.designs import Runs

rng = np.random.default_rng(0)
N = 200
BINARY = rng.integers(0, 2, N)
CLASSES = rng.integers(0, 3, N)
WORDS = np.array(["cat", "dog"])[BINARY]
TARGETS = rng.integers(0, 2, (N, 3))
NUMBERS = rng.normal(size=N)
SHARES = rng.random(N)
OF_CLASSES = rng.dirichlet([1, 1, 1], N)
TIMES = np.array([*zip(BINARY > 0, SHARES, strict=True)], "bool, float")
QUERY = np.repeat(np.arange(N // 10), 10)

BY_LABEL = ["precision", "recall", "f1"]
MACRO = [f"{name}_macro" for name in BY_LABEL]
MCC, AREAS = "matthews_corrcoef", ["roc_auc", "average_precision"]
PROBABILITIES = ["log_loss", "brier_score"]
REGRESSION = ["r2", "root_mean_squared_error", "mean_absolute_error"]


TEXTS = [f"the answer is {k % 150}" for k in range(N)]
TWO, WITHOUT = "two labels", "two labels without a pos_label"
OF_TARGETS = {"y_pred": TARGETS[::-1]}, {"y_pred": rng.random((N, 3))}


@pytest.mark.parametrize(
    ("given", "metrics", "kind"),
    [
        ((BINARY, 1 - BINARY), ["accuracy", *BY_LABEL, MCC], TWO),
        ((BINARY, Runs([1 - BINARY, BINARY])), ["accuracy", *BY_LABEL, MCC], TWO),
        ((WORDS, WORDS[::-1]), ["accuracy", *MACRO, MCC], WITHOUT),
        ((CLASSES, CLASSES[::-1]), ["accuracy", *MACRO, MCC], "labels"),
        ((TARGETS, TARGETS[::-1]), ["accuracy", *MACRO], "targets"),
        ((BINARY, None, SHARES), [*AREAS, *PROBABILITIES], f"{TWO} with scores"),
        ((BINARY, None, NUMBERS), AREAS, f"{TWO} with scores"),
        ((WORDS, None, SHARES), ["log_loss"], f"{WITHOUT} with scores"),
        ((CLASSES, None, OF_CLASSES), [*AREAS, *PROBABILITIES], "labels with scores"),
        ((TARGETS, *OF_TARGETS), ["accuracy", *MACRO, *AREAS], "targets with scores"),
        ((NUMBERS, NUMBERS[::-1]), REGRESSION, "numbers"),
        ((CLASSES, NUMBERS), REGRESSION, "numbers"),
        ((TIMES, None, NUMBERS), ["concordance"], "times to an event"),
        ((np.c_[BINARY, SHARES], None, NUMBERS), ["concordance"], "times to an event"),
    ],
)
def test_metrics_are_those_of_the_kind_of_data(given, metrics, kind):
    report = joint_report(*given[:2], **dict(zip(["y_score"], given[2:], strict=False)))
    assert list(report.metrics) == metrics
    assert f"of the usual metrics for {kind} (" in str(report).splitlines()[0]


def test_the_positive_label_is_known_if_it_is_given():
    report = joint_report(WORDS, WORDS[::-1], pos_label="cat")
    assert report.metrics == ["accuracy", *BY_LABEL, MCC]
    named = joint_report(WORDS, WORDS[::-1], pos_label="cat", metrics=report.metrics)
    assert report.to_dict() == named.to_dict()


@pytest.mark.parametrize("relevance", [BINARY, CLASSES])
def test_rankings(relevance):
    report = joint_report(relevance, y_score=SHARES, query=QUERY)
    binary = ["map", "mrr"] * (relevance is BINARY)
    assert report.metrics == ["ndcg@10", *binary]


def test_columns_of_a_frame():
    frame = pd.DataFrame({"y": BINARY, "A": BINARY[::-1], "B": SHARES})
    named = joint_report("y", {"m": "A"}, y_score={"m": "B"}, data=frame)
    of_arrays = joint_report(BINARY, {"m": BINARY[::-1]}, y_score={"m": SHARES})
    assert str(named) == str(of_arrays)
    assert named.metrics == ["accuracy", *BY_LABEL, MCC, *AREAS, *PROBABILITIES]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
joint_report(BINARY) -> ValueError -> ^y_pred or y_score must be given
joint_report(WORDS, y_score=NUMBERS)
    -> ValueError -> ^pos_label must be given to choose default
joint_report(BINARY, y_score=WORDS) -> TypeError -> y_score must contain numbers
joint_report(TEXTS, TEXTS)
    -> ValueError -> 150 different texts .*; pass metrics=\['bleu', 'chrf', 'wer'\]
joint_report("y", "y", data={"y": TEXTS})
    -> ValueError -> 150 different texts in 200 rows; pass metrics=
joint_report({"f1": BINARY}, BINARY) -> ValueError -> metrics must be given .* \['f1'\]
"""),
)
def test_metrics_that_cannot_be_chosen(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


def test_texts_of_half_as_many_kinds_as_rows_are_classes():
    classes = [f"class {k % 90}" for k in range(N)]
    assert joint_report(classes, classes).metrics == ["accuracy", *MACRO, MCC]


def test_missing_labels_have_no_part_in_the_choice():
    some = np.where(np.arange(N) % 3, BINARY.astype(object), None)
    found = joint_report(some, {"A": BINARY}, proxy=BINARY)
    assert found.metrics == ["accuracy", *BY_LABEL, MCC]


@pytest.fixture(scope="module")
def classifiers():
    X, y = make_classification(N, random_state=0)
    models = {"Logistic": LogisticRegression(), "SVM": LinearSVC()}
    return X, y, {name: model.fit(X[:100], y[:100]) for name, model in models.items()}


def test_scores_are_read_if_all_estimators_have_them(classifiers):
    X, y, models = classifiers
    labels = ["accuracy", *BY_LABEL, MCC, *AREAS]
    assert JointEvaluator(models).evaluate(X[100:], y[100:]).metrics == labels
    del models["SVM"]
    report = JointEvaluator(models).evaluate(X[100:], y[100:])
    assert report.metrics == [*labels, *PROBABILITIES]


def test_regressors():
    X, y = make_regression(N, 3, random_state=0)
    model = LinearRegression().fit(X, y)
    report = JointEvaluator(model).evaluate(X, y + rng.normal(0, 9, N))
    assert report.metrics == REGRESSION


def test_an_evaluator_is_an_object_of_scikit_learn(classifiers):
    X, y, models = classifiers
    evaluator = JointEvaluator([*models.items()], "f1", n_jobs=1)
    assert evaluator.get_params()["metrics"] == "f1"
    copy = clone(evaluator).set_params(metrics=None, confidence_level=0.9)
    assert evaluator.metrics == "f1"
    assert copy.evaluate(X[100:], y[100:]).metrics[:2] == ["accuracy", "precision"]
    page = evaluator._repr_mimebundle_()["text/html"]
    assert "<th>n_jobs</th><td>1</td>" in page
    assert "LogisticRegression" in page
