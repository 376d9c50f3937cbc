"""Estimators evaluated on batches of rows, as on all rows at once."""

import numpy as np
import pytest
from batches import assert_same
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tables import raises, table

from skci import JointEvaluator

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* rows have probability 0 for their true label:UserWarning"
)

X, Y = make_classification(
    900, n_informative=6, n_classes=3, class_sep=0.7, random_state=0
)
TEXT = np.array(["a", "b"])[(Y > 0).astype(int)]
TARGETS = np.stack([Y == 0, Y == 1], axis=1).astype(int)
NUMBERS = make_regression(900, noise=20, random_state=0)[1] / 10
TRAIN, TEST = slice(300), np.arange(300, 900)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, len(Y))


TREE, BAYES = DecisionTreeClassifier(max_depth=3), GaussianNB()
SEVERAL = MultiOutputClassifier(LogisticRegression())
CASES = {
    "labels": ([TREE, BAYES], Y > 0, ["accuracy", "f1"]),
    "text": ([TREE, BAYES], TEXT, ["accuracy", "mcc", "roc_auc", "log_loss"]),
    "scores": ([TREE, BAYES], Y > 0, ["f1", "roc_auc", "average_precision"]),
    "classes": ([TREE, BAYES], Y, ["f1_macro", "roc_auc_ovr", "log_loss"]),
    "targets": ([SEVERAL], TARGETS, ["f1_macro", "roc_auc_micro"]),
    "numbers": ([LinearRegression()], NUMBERS, ["r2", "mean_absolute_error"]),
}


def fitted(case):
    models, y, metrics = CASES[case]
    return [clone(model).fit(X[TRAIN], y[TRAIN]) for model in models], y, metrics


BY_LABEL = np.array_split(TEST[np.argsort(Y[TEST], kind="stable")], 5)
PARTS = {"in order": np.array_split(TEST, 4), "by label": BY_LABEL}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("case", CASES)
def test_the_report_is_that_of_all_rows(case, parts, weighted):
    models, y, metrics = fitted(case)
    evaluator = JointEvaluator(models, metrics, pos_label={"text": "b"}.get(case))
    weights = {"sample_weight": WEIGHTS[TEST]} if weighted else {}
    expected = evaluator.evaluate(X[TEST], y[TEST], **weights)
    report = evaluator.evaluate_batches(
        (X[rows], y[rows], WEIGHTS[rows]) if weighted else (X[rows], y[rows])
        for rows in PARTS[parts]
    )
    assert_same(report, expected)
    if case == "labels" and not weighted:
        assert report.to_dict() == expected.to_dict()  # counts are the same to the bit


def test_batches_of_one_label_of_two_that_may_both_be_positive():
    evaluator = JointEvaluator(fitted("text")[0], ["accuracy", "log_loss"])
    report = evaluator.evaluate_batches((X[r], TEXT[r]) for r in BY_LABEL)
    assert_same(report, evaluator.evaluate(X[TEST], TEXT[TEST]))


def test_batches_are_read_one_by_one():
    open_batches = []

    def batches():
        for rows in PARTS["in order"]:
            open_batches.append(1)
            yield X[rows], Y[rows] > 0
            assert open_batches == [1]
            open_batches.pop()

    models, _, metrics = fitted("labels")
    assert JointEvaluator(models, metrics).evaluate_batches(batches()).n_samples == 600


def test_a_batch_of_weight_zero_adds_nothing():
    models, y, metrics = fitted("labels")
    evaluator, parts = JointEvaluator(models, metrics), PARTS["in order"]
    weights = np.where(np.arange(len(Y)) < TEST[150], 0, WEIGHTS)
    expected = evaluator.evaluate(X[TEST], y[TEST], sample_weight=weights[TEST])
    report = evaluator.evaluate_batches((X[r], y[r], weights[r]) for r in parts)
    assert_same(report, expected)
    with raises("with rows of positive weight, got none"):
        evaluator.evaluate_batches([(X[r], y[r], 0 * weights[r]) for r in parts])


GOOD = X[:9], Y[:9] > 0


@pytest.mark.parametrize(
    ("batches", "message"),
    table(r"""
[] -> ^batches must be pairs \(X, y\) .* got none
3 -> TypeError: ^batches must be pairs \(X, y\) .* got 3
[GOOD, X] -> TypeError: ^batch 1: batches must be pairs .* got ndarray
GOOD -> TypeError: ^batch 0: batches must be pairs \(X, y\) .* got ndarray
[GOOD, (X,)] -> TypeError: ^batch 1: batches must be pairs .* got tuple of length 1
[GOOD, (X[:9], Y[:8] > 0)] -> ^batch 1: y_pred.* of the 8 rows of y
[GOOD, (X[:2], [0, np.nan])] -> ^batch 1: y must .* missing
[GOOD, GOOD, (X[:2], [5, 6])] -> ^batch 2: .*labels
[GOOD, (*GOOD, WEIGHTS[:9])] -> ^batch 1: either all batches or no
[(*GOOD, WEIGHTS[:9]), GOOD] -> ^batch 1: either all batches or no
[(*GOOD, -WEIGHTS[:9])] -> ^batch 0: sample_weight must contain
[GOOD, (X[:9, :3], Y[:9] > 0)] -> ^batch 1: decisiontreeclassifier:
"""),
)
def test_errors_name_the_batch(batches, message):
    models, _, metrics = fitted("labels")
    with raises(message):
        JointEvaluator(models, metrics).evaluate_batches(eval(batches))


def test_errors_of_the_iterable_are_its_own():
    def batches():
        yield GOOD
        raise OSError("no more")

    models, _, metrics = fitted("labels")
    with pytest.raises(OSError, match=r"^no more$"):
        JointEvaluator(models, metrics).evaluate_batches(batches())
