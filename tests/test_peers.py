"""What other software stumbles over and no other test is about."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from simulated import some_models

from skci import F1CI, CohenKappaCI, RecallCI, joint_report
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


@pytest.mark.parametrize(("size", "n_strata"), [(5, 1), (5, 2), (300, 1), (300, 2)])
def test_covariances_of_recalls_are_sums_of_products_row_by_row(
    size, n_strata, monkeypatch
):
    """Of a class among many, most of whose influence values are zero, and of few."""
    monkeypatch.setattr("skci.inference.rows._BLOCK", 7)
    monkeypatch.setattr("skci.inference.rows._NUMBERS", 7)
    rng, n = np.random.default_rng(0), 40 * size
    y = rng.permutation(np.arange(n) % size)
    p = np.where(rng.random(n) < 0.6, y, rng.integers(0, size, n))
    stratum, weights = np.arange(n) // 2 % n_strata, rng.uniform(0.5, 2, n)
    weights = weights if n_strata == 1 else weights[stratum]
    design = None if n_strata == 1 else Strata(stratum)
    options = {"sample_weight": weights, "design": design}
    report = RecallCI(average=None, method="delta")(y, p, **options)
    of_class = (y == np.arange(size)[:, np.newaxis]) * weights
    shares = of_class @ (y == p) / of_class.sum(axis=1)
    assert_allclose(report.estimates, shares)
    terms = of_class * ((y == p) - shares[:, np.newaxis])
    terms /= of_class.sum(axis=1, keepdims=True)
    # The terms of all rows have the mean zero, and weights are equal in a stratum.
    parts = [terms[:, stratum == k] for k in range(n_strata)]
    expected = sum(np.cov(part) * part.shape[1] for part in parts)
    assert_allclose(report.covariance, expected, rtol=1e-9, atol=1e-15)
