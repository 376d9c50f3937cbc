"""The covariance against independent oracles: jackknife and simulation."""

import numpy as np
import pytest
from metrics_battery import METRICS, REFERENCES, labels

from skci import joint_report
from skci.inference.design import Design
from skci.measures.functional import CellFunctional

SMOOTH = [name for name in METRICS if METRICS[name]._measure.smooth]


def test_agrees_with_the_jackknife():
    """Delete one row at a time, every metric of two rules, by the references."""
    n = 2000
    y, first = labels(n=n, seed=5)
    second = first ^ (np.random.default_rng(6).random(n) < 0.15)
    metrics = {name: METRICS[name] for name in SMOOTH}
    report = joint_report(
        y, {"first": first, "second": second}, metrics=metrics, method="delta"
    )
    # rows of one outcome are alike: leave one of each out, weighted by how many
    _, where, counts = np.unique(
        y + 2 * first + 4 * second, return_index=True, return_counts=True
    )
    without = np.array(
        [
            [
                REFERENCES[name](np.delete(y, row), np.delete(p, row))
                for p in (first, second)
                for name in SMOOTH
            ]
            for row in where
        ]
    )
    deviation = without - np.average(without, axis=0, weights=counts)
    jackknife = (n - 1) / n * (deviation.T * counts) @ deviation
    scale = np.sqrt(np.diag(jackknife))
    error = (report.covariance - jackknife) / np.outer(scale, scale)
    assert np.abs(error).max() < 0.05


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(
    "cells", [(0.35, 0.15, 0.1, 0.4), (0.15, 0.05, 0.05, 0.75), (0.45, 0.05, 0.2, 0.3)]
)
def test_standard_error_agrees_with_simulation(name, cells):
    n, draws = 20_000, 40_000
    functional = CellFunctional(METRICS[name]._measure.function)
    p = np.array(cells)
    counts = np.random.default_rng(7).multinomial(n, p, size=draws)
    simulated = np.std(functional.estimate(counts / n))
    _, influence, _ = functional(p)
    # standard deviation of a standard deviation from 40,000 draws: 0.35 %
    assert np.sqrt(p @ influence**2 / n) == pytest.approx(simulated, rel=0.02)


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
