"""Oracles for estimates, standard errors and covariances; tables for all oracles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import skci
from benchmarks.accuracy.textbook import TEXTBOOK, values
from benchmarks.common import Array
from benchmarks.common.command import Sizes


class Check(NamedTuple):
    """Differences between skci and an oracle, and the tolerance."""

    what: str
    oracle: str
    numbers: int
    median: float
    largest: float
    tolerance: str
    ratio: float
    """Largest ratio of a difference to its tolerance."""

    @property
    def holds(self) -> bool:
        return self.ratio <= 1  # False for NaN


def check(
    what: str, oracle: str, differences: Any, tolerance: Any, reason: str
) -> Check:
    """Summarise differences; their tolerance is one number, or one for each."""
    differences = np.abs(differences)
    return Check(
        what,
        oracle,
        differences.size,
        float(np.median(differences)),
        float(np.max(differences)),
        reason,
        float(np.max(differences / tolerance)),
    )


def outcomes(models: int) -> Array:
    """Joint outcomes of the truth and some models, as 0 and 1."""
    return np.array(list(itertools.product([0, 1], repeat=models + 1)))


def membership(models: int) -> Array:
    """Cell of each model as an indicator, of shape (outcomes, models, 4)."""
    truth, *predictions = outcomes(models).T
    return np.eye(4)[np.stack([3 - truth - 2 * p for p in predictions], axis=-1)]


def model_tables(counts: Array) -> Array:
    """Counts tp, fp, fn, tn of each model: (..., outcomes) to (..., models, 4)."""
    models = counts.shape[-1].bit_length() - 2
    return np.einsum("...o,orc->...rc", counts, membership(models))


def rows(counts: Array) -> tuple[Array, dict[str, Array]]:
    """Labels and predictions with these counts of joint outcomes."""
    models = len(counts).bit_length() - 2
    truth, *predictions = np.repeat(outcomes(models), counts, axis=0).T
    return truth, dict(
        zip(map("model {}".format, range(models)), predictions, strict=True)
    )


def delta_report(counts: Array, metrics: Iterable[Any] = TEXTBOOK) -> Any:
    y, predictions = rows(counts)
    return skci.joint_report(y, predictions, metrics=list(metrics), method="delta")


def matrix(table: Iterable[Any]) -> list[list[int]]:
    """Confusion matrix of a table tp, fp, fn, tn."""
    tp, fp, fn, tn = map(int, table)
    return [[tn, fp], [fn, tp]]


def correlated_counts(models: int) -> Array:
    """Outcomes of 1500 rows for correlated models of increasing error rates."""
    rng = np.random.default_rng(3)
    truth = rng.random(1500) < 0.4
    difficulty = (rng.random(1500) + rng.random((models, 1500)) / 2) / 1.5
    wrong = difficulty < 0.2 + 0.05 * np.arange(models)[:, np.newaxis]
    columns = np.vstack([truth, wrong ^ truth])
    number = 2 ** np.arange(models, -1, -1) @ columns
    return np.bincount(number, minlength=2 ** (models + 1))


def jackknives(size: Sizes) -> Iterator[Check]:
    """Compare standard errors and covariances with jackknife estimates.

    Influence values are derivatives. Deleting a whole row differs from them by up to
    1/m of a standard error, and the mean of deleting and adding one by 1/m^2, where m
    is the count in the smallest cell of the model.
    """
    rng = np.random.default_rng(0)
    for n in (20, 100, 1000, 10_000, 100_000):
        tables = [random_outcomes(rng, n) for _ in range(size.tables)]
        reports = [delta_report(counts) for counts in tables]
        cells = model_tables(np.array(tables))
        truth = values(cells).reshape(len(tables), -1)
        estimates = np.array([report.estimates for report in reports])
        yield check(
            f"estimates, n = {n:,}",
            "textbook formulas",
            (estimates - truth) / (1 + np.abs(truth)),
            1e-12,
            "rounding",
        )
        covariances = np.array([report.covariance for report in reports])
        m = np.repeat(cells.min(axis=-1), len(TEXTBOOK), axis=-1)
        for oracle, steps in (
            ("delete-one jackknife", (-1,)),
            ("delete-one and add-one", (-1, 1)),
        ):
            moved = np.array([jackknife(counts, steps) for counts in tables])
            yield from compare_covariances(moved, covariances, oracle, m, n, len(steps))


def compare_covariances(
    truth: Array,
    covariances: Array,
    oracle: str,
    m: Array,
    n: int,
    order: int,
) -> Iterator[Check]:
    """Compare covariances with a tolerance of 1/m of standard errors, or 1/m^2."""
    errors = np.sqrt(truth.diagonal(axis1=-2, axis2=-1))
    yield check(
        f"standard errors, n = {n:,}",
        oracle,
        np.sqrt(covariances.diagonal(axis1=-2, axis2=-1)) / errors - 1,
        1.0 / m**order,
        ("1/m", "1/m^2")[order - 1],
    )
    smaller = np.minimum(m[:, np.newaxis], m[..., np.newaxis])
    scale = errors[:, np.newaxis] * errors[..., np.newaxis]
    yield check(
        f"covariances, n = {n:,}",
        oracle,
        (covariances - truth) / scale,
        2.0 / smaller**order,
        ("2/m", "2/m^2")[order - 1],
    )


def random_outcomes(rng: np.random.Generator, n: int, models: int = 3) -> Array:
    """Random table of some models, with at least two rows in each cell of each model.

    The overlap coefficient has no derivative at fp = fn, which is avoided.
    """
    size = 2 ** (models + 1)
    while True:
        counts = rng.multinomial(n, rng.dirichlet(np.ones(size)))
        cells = model_tables(counts)
        if cells.min() >= 2 and np.abs(cells[:, 1] - cells[:, 2]).min() > 1:
            return counts


def jackknife(counts: Array, steps: tuple[int, ...]) -> Array:
    """Jackknife covariance of all measures of all models, on outcome counts.

    A single step -1 is the delete-one jackknife; the mean over opposite steps removes
    its first-order error.
    """
    n = counts.sum()
    cells = model_tables(counts)
    estimates = values(cells)
    models = len(cells)
    influence = sum(
        (values(cells + step * membership(models)) - estimates) * (n + step) / step
        for step in steps
    ) / len(steps)
    influence = influence.reshape(len(counts), -1)
    influence -= counts @ influence / n
    return (influence.T * counts) @ influence / (n * (n - 1))


POPULATIONS = {
    "balanced": [4200, 300, 400, 100, 300, 500, 700, 3500],
    "a fifth positive": [7300, 200, 200, 300, 500, 300, 200, 1000],
    "similar models": [4800, 50, 150, 1000, 800, 150, 50, 3000],
}
"""Counts of the outcomes of the truth and two models, 10,000 in all."""


def simulations(size: Sizes) -> Iterator[Check]:
    """Compare with the covariance of estimates over simulated tables."""
    tolerance = 0.01 + 5 / np.sqrt(2 * size.draws)
    reason = f"{tolerance:.1%}: five Monte Carlo errors and 1%"
    for name, population in POPULATIONS.items():
        counts = np.array(population)
        simulated = simulated_covariance(counts, size.draws)
        covariance = delta_report(counts).covariance
        error, truth = (np.sqrt(np.diag(each)) for each in (covariance, simulated))
        draws = f"{size.draws:,} simulated tables"
        yield check(
            f"standard errors, {name}", draws, error / truth - 1, tolerance, reason
        )
        gap = covariance / np.outer(error, error) - simulated / np.outer(truth, truth)
        yield check(f"correlations, {name}", draws, gap, tolerance, reason)


def simulated_covariance(counts: Array, draws: int) -> Array:
    """Covariance of the estimates over simulated tables."""
    rng = np.random.default_rng(1)
    n, truth = counts.sum(), values(model_tables(counts)).ravel()
    total = np.zeros((1 + len(truth), 1 + len(truth)))
    for start in range(0, draws, 20_000):
        number = min(20_000, draws - start)
        tables = model_tables(rng.multinomial(n, counts / n, size=number))
        moved = values(tables).reshape(number, -1) - truth
        with_one = np.column_stack([np.ones(number), moved])
        total += with_one.T @ with_one
    mean = total[0, 1:] / draws
    return total[1:, 1:] / draws - np.outer(mean, mean)
