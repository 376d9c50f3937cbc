"""Covariances: a published value, and their computation in blocks."""

import numpy as np
import pytest
from metrics_battery import METRICS

from skci.inference.designs.totals import covariance
from skci.inference.designs.units import IndependentRows
from skci.inference.influences import Influences
from skci.inference.rows import Rows


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        # F1 on this table, n - 1 in the denominator; .06285 with n
        ([[50, 10], [15, 25]], 0.06317),
    ],
)
def test_published_standard_error_of_f1(matrix, expected):
    value = METRICS["f1"].from_confusion_matrix(matrix)
    assert value.standard_error == pytest.approx(expected, abs=5e-6)


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    influences, indices = (
        [rng.normal(size=4), rng.normal(size=4)],
        rng.integers(0, 4, (2, 100)),
    )
    counts = rng.integers(1, 10, 100)
    influences = [
        v - np.average(v[index], weights=counts)
        for v, index in zip(influences, indices, strict=True)
    ]
    rows = Rows(counts)
    values = Influences(influences, list(indices), rows)
    design = IndependentRows(rows.n_samples)
    whole = covariance(design.components(values))
    monkeypatch.setattr("skci.inference.influences._BLOCK", 7)
    monkeypatch.setattr("skci.inference.influences._NUMBERS", 7)
    assert covariance(design.components(values)) == pytest.approx(whole)
    rows = np.repeat(
        [v[index] for v, index in zip(influences, indices, strict=True)],
        counts,
        axis=1,
    )
    assert whole == pytest.approx(np.cov(rows) / counts.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strata", [False, True])
def test_sparse_influence_values(weighted, strata):
    """Of classes among many, against the sum of products row by row."""
    rng = np.random.default_rng(0)
    size, units = 300, 400
    indices = [np.where(rng.random(units) < 0.01, 0, 1) for _ in range(size)]
    influences = [rng.normal(size=2) for _ in range(size)]
    weights = rng.uniform(0.5, 2, units) if weighted else np.ones(units)
    stratum = np.repeat([0, 1], units // 2) if strata else np.zeros(units, dtype=int)
    rows = Rows(
        weights,
        weights ** np.array([[2], [3], [4]]) if weighted else None,
        np.ones(units) if weighted else None,
    )
    design = IndependentRows(units)
    if strata:
        design = IndependentRows(units, strata=stratum)
    else:
        influences = [
            v - np.average(v[index], weights=weights)
            for v, index in zip(influences, indices, strict=True)
        ]
    values = np.array([v[i] for v, i in zip(influences, indices, strict=True)])
    expected = np.zeros((size, size))
    for each in np.unique(stratum):
        w, within = weights[stratum == each], values[:, stratum == each]
        totals = (within - (within @ w / w.sum())[:, np.newaxis]) * w
        factor = len(w) / (len(w) - 1) / weights.sum() ** 2
        expected += factor * totals @ totals.T
    found = covariance(design.components(Influences(influences, indices, rows)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
