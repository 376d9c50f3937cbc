"""Estimators evaluated on batches of rows, as on all rows at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

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


def fitted(y):
    models = {"tree": DecisionTreeClassifier(max_depth=3), "bayes": GaussianNB()}
    return {name: model.fit(X[TRAIN], y[TRAIN]) for name, model in models.items()}


CASES = {
    "labels": (fitted(Y > 0), Y > 0, ["accuracy", "f1"]),
    "text": (fitted(TEXT), TEXT, ["accuracy", "mcc", "roc_auc", "log_loss"]),
    "classes": (fitted(Y), Y, ["accuracy", "f1_macro"]),
    "scores": (fitted(Y > 0), Y > 0, ["f1", "roc_auc", "average_precision"]),
    "scores of classes": (fitted(Y), Y, ["f1_macro", "roc_auc_ovr", "log_loss"]),
    "targets": (
        {
            "A": MultiOutputClassifier(LogisticRegression()).fit(
                X[TRAIN], TARGETS[TRAIN]
            )
        },
        TARGETS,
        ["f1_macro", "roc_auc_micro"],
    ),
    "numbers": (
        {"A": LinearRegression().fit(X[TRAIN], NUMBERS[TRAIN])},
        NUMBERS,
        ["r2", "mean_absolute_error"],
    ),
}
BY_LABEL = np.array_split(TEST[np.argsort(Y[TEST], kind="stable")], 5)
PARTS = {"in order": np.array_split(TEST, 4), "by label": BY_LABEL}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("case", CASES)
def test_the_report_is_that_of_all_rows(case, parts, weighted):
    models, y, metrics = CASES[case]
    pos_label = "b" if case == "text" else None
    evaluator = JointEvaluator(models, metrics, pos_label=pos_label)
    weights = {"sample_weight": WEIGHTS[TEST]} if weighted else {}
    expected = evaluator.evaluate(X[TEST], y[TEST], **weights)
    report = evaluator.evaluate_batches(
        (X[rows], y[rows], WEIGHTS[rows]) if weighted else (X[rows], y[rows])
        for rows in PARTS[parts]
    )
    assert list(report) == list(expected)
    assert report.n_samples == expected.n_samples == len(TEST)
    assert_allclose(report.estimates, expected.estimates, rtol=1e-10)
    assert_allclose(report.covariance, expected.covariance, rtol=1e-8, atol=1e-15)
    if case == "labels" and not weighted:
        assert report.to_dict() == expected.to_dict()  # counts are the same to the bit


def test_batches_of_one_label_of_two_that_may_both_be_positive():
    evaluator = JointEvaluator(fitted(TEXT), ["accuracy", "log_loss"])
    report = evaluator.evaluate_batches((X[r], TEXT[r]) for r in BY_LABEL)
    expected = evaluator.evaluate(X[TEST], TEXT[TEST])
    assert_allclose(report.estimates, expected.estimates, rtol=1e-10)


def test_batches_are_read_one_by_one():
    open_batches = []

    def batches():
        for rows in PARTS["in order"]:
            open_batches.append(1)
            yield X[rows], Y[rows] > 0
            assert open_batches == [1]
            open_batches.pop()

    models, _, metrics = CASES["labels"]
    assert JointEvaluator(models, metrics).evaluate_batches(batches()).n_samples == 600


def test_a_batch_of_weight_zero_adds_nothing():
    models, y, metrics = CASES["labels"]
    evaluator = JointEvaluator(models, metrics)
    weights = WEIGHTS.copy()
    weights[TEST[:150]] = 0
    expected = evaluator.evaluate(X[TEST], y[TEST], sample_weight=weights[TEST])
    parts = PARTS["in order"]
    report = evaluator.evaluate_batches((X[r], y[r], weights[r]) for r in parts)
    assert report.n_samples == expected.n_samples == 450
    assert_allclose(report.estimates, expected.estimates, rtol=1e-10)
    with pytest.raises(ValueError, match="with rows of positive weight, got none"):
        evaluator.evaluate_batches([(X[r], y[r], 0 * weights[r]) for r in parts])


GOOD = X[:9], Y[:9] > 0


@pytest.mark.parametrize(
    ("batches", "error", "message"),
    [
        ([], ValueError, r"batches must be pairs \(X, y\) .* got none"),
        (3, TypeError, r"batches must be pairs \(X, y\) .* got 3"),
        ([GOOD, X], TypeError, "batch 1: batches must be pairs .* got ndarray"),
        (GOOD, TypeError, r"batch 0: batches must be pairs \(X, y\) .* got ndarray"),
        (
            [GOOD, (X,)],
            TypeError,
            "batch 1: batches must be pairs .* got tuple of length 1",
        ),
        (
            [GOOD, (X[:9], Y[:8] > 0)],
            ValueError,
            "batch 1: y_pred.* of the 8 rows of y",
        ),
        ([GOOD, (X[:2], [0, np.nan])], ValueError, "batch 1: y must .* missing"),
        (
            [GOOD, GOOD, (X[:2], [5, 6])],
            ValueError,
            "batch 2: .*labels",
        ),
        ([GOOD, (*GOOD, WEIGHTS[:9])], ValueError, "batch 1: either all batches or no"),
        ([(*GOOD, WEIGHTS[:9]), GOOD], ValueError, "batch 1: either all batches or no"),
        ([(*GOOD, -WEIGHTS[:9])], ValueError, "batch 0: sample_weight must hold"),
        ([GOOD, (X[:9, :3], Y[:9] > 0)], ValueError, "batch 1: tree: "),
    ],
)
def test_errors_name_the_batch(batches, error, message):
    models, _, metrics = CASES["labels"]
    with pytest.raises(error, match=f"^{message}"):
        JointEvaluator(models, metrics).evaluate_batches(batches)


def test_errors_of_the_iterable_are_its_own():
    def batches():
        yield GOOD
        raise OSError("no more")

    models, _, metrics = CASES["labels"]
    with pytest.raises(OSError, match=r"^no more$"):
        JointEvaluator(models, metrics).evaluate_batches(batches())
