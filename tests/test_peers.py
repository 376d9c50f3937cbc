"""What other software stumbles over and no other test is about."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from simulated import some_models

from skci import (
    F1CI,
    AccuracyCI,
    BalancedAccuracyCI,
    CohenKappaCI,
    PrecisionCI,
    RecallCI,
    joint_report,
)
from skci.designs import Strata


def test_more_measures_than_moments():
    """Three models have seven moments: the share of positives is that of all."""
    y, models = some_models(good=0.9, fair=0.8, poor=0.7)
    metrics = ["accuracy", "f1", "jaccard", "mcc"]
    report = joint_report(y, models, metrics=metrics, method="delta")
    assert np.linalg.matrix_rank(report.correlation, tol=1e-9) == 7
    independent = norm.ppf((1 + 0.95 ** (1 / 12)) / 2)
    assert norm.ppf(0.975) < report.critical_value < independent


def test_f1_has_its_published_standard_error():
    """With n - 1 in the denominator; .06285 with n."""
    found = F1CI().from_confusion_matrix([[50, 10], [15, 25]])
    assert found.standard_error == pytest.approx(0.06317, abs=5e-6)


# Several classes

TABLE = np.array([[160, 20, 20], [10, 40, 10], [5, 5, 30]])


def test_macro_precision_is_a_mean_of_independent_shares():
    """Each row is predicted one class, so that precisions are of different rows."""
    found = PrecisionCI(average="macro", method="delta").from_confusion_matrix(TABLE)
    predicted = TABLE.sum(axis=0)
    shares = np.diagonal(TABLE) / predicted
    expected = np.sqrt(np.sum(shares * (1 - shares) / predicted)) / 3
    assert found.standard_error == pytest.approx(0.0303, abs=5e-5)
    assert found.standard_error == pytest.approx(expected * np.sqrt(300 / 299))


def test_balanced_accuracy_is_a_mean_of_independent_shares():
    found = BalancedAccuracyCI(method="delta").from_confusion_matrix(TABLE)
    rows = TABLE.sum(axis=1)
    shares = np.diagonal(TABLE) / rows
    expected = np.sqrt(np.sum(shares * (1 - shares) / rows)) / 3
    assert found.standard_error == pytest.approx(expected * np.sqrt(300 / 299))


def test_kappa_has_the_error_of_fleiss_cohen_and_everitt():
    """1969, their equation 13; the older formula, of Cohen's, gives .145."""
    table = np.array([[180, 5, 5], [2, 3, 1], [1, 1, 2]])
    found = CohenKappaCI(method="delta").from_confusion_matrix(table)
    p = table / 200
    a, z = p.sum(axis=0), p.sum(axis=1)
    kappa, chance = float(found), a @ z
    crossed = np.add.outer(a, z)
    right = np.diagonal(p) @ (1 - np.diagonal(crossed) * (1 - kappa)) ** 2
    wrong = p * crossed**2 * (1 - np.eye(3)) * (1 - kappa) ** 2
    centre = (kappa - chance * (1 - kappa)) ** 2
    expected = np.sqrt((right + wrong.sum() - centre) / 200) / (1 - chance)
    assert found.standard_error == pytest.approx(0.1125, abs=5e-5)
    assert found.standard_error == pytest.approx(expected * np.sqrt(200 / 199))


@pytest.mark.parametrize("hits", [14, 20, 26])
def test_macro_f1_of_classes_all_alike_varies_as_the_accuracy(hits):
    """Its influence values are those of the accuracy: one of 1 - F1, and of - F1."""
    table = np.full((3, 3), 4) + hits * np.eye(3, dtype=int)
    found = F1CI(average="macro", method="delta").from_confusion_matrix(table)
    accuracy = AccuracyCI(method="delta").from_confusion_matrix(table)
    assert found == pytest.approx(accuracy)
    assert found.standard_error == pytest.approx(accuracy.standard_error, rel=1e-12)


def test_shares_of_classes_vary_as_well():
    """Recall weighted by them is the accuracy; were they known it would vary less."""
    table = np.array([[95, 3, 2], [45, 35, 20], [5, 5, 90]])
    found = RecallCI(average="weighted", method="delta").from_confusion_matrix(table)
    accuracy = AccuracyCI(method="delta").from_confusion_matrix(table)
    assert found == pytest.approx(accuracy)
    assert found.standard_error == pytest.approx(accuracy.standard_error, rel=1e-12)
    rows = table.sum(axis=1)
    recalls = np.diagonal(table) / rows
    known = np.sqrt(rows @ (recalls * (1 - recalls))) / 300
    assert known < 0.8 * found.standard_error


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("size", [5, 300], ids=["in blocks", "sparse"])
def test_covariances_of_recalls_are_sums_of_products_row_by_row(
    size, strata, weighted, monkeypatch
):
    """Of a class among many, most of whose influence values are zero, and of few."""
    monkeypatch.setattr("skci.inference.rows._BLOCK", 7)
    monkeypatch.setattr("skci.inference.rows._NUMBERS", 7)
    rng, n = np.random.default_rng(0), 40 * size
    y = rng.permutation(np.arange(n) % size)
    p = np.where(rng.random(n) < 0.6, y, rng.integers(0, size, n))
    stratum = np.arange(n) // 2 % 2 if strata else np.zeros(n, dtype=int)
    weights = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    weights = weights[stratum] if strata else weights
    report = RecallCI(average=None, method="delta")(
        y,
        p,
        sample_weight=weights if weighted else None,
        design=Strata(stratum) if strata else None,
    )
    of_class = (y == np.arange(size)[:, np.newaxis]) * weights
    shares = of_class @ (y == p) / of_class.sum(axis=1)
    assert_allclose(report.estimates, shares)
    terms = of_class * ((y == p) - shares[:, np.newaxis])
    terms /= of_class.sum(axis=1, keepdims=True)
    expected = np.zeros((size, size))
    for each in np.unique(stratum):
        within, w = terms[:, stratum == each], weights[stratum == each]
        centre = (within.sum(axis=1) / w.sum())[:, np.newaxis]
        within = within - centre * w
        expected += len(w) / (len(w) - 1) * within @ within.T
    assert_allclose(report.covariance, expected, rtol=1e-9, atol=1e-15)
