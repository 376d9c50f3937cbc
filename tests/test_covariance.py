"""Covariances: a published value, and their computation in blocks."""

import numpy as np
import pytest
from metrics_battery import METRICS

from skci.inference.design import Design


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
    whole = Design(counts).covariance(influences, list(indices))
    monkeypatch.setattr("skci.inference.design._BLOCK", 7)
    monkeypatch.setattr("skci.inference.design._NUMBERS", 7)
    assert Design(counts).covariance(influences, list(indices)) == pytest.approx(whole)
    rows = np.repeat(
        [own[index] for own, index in zip(influences, indices, strict=True)],
        counts,
        axis=1,
    )
    assert whole == pytest.approx(np.cov(rows) / counts.sum())
