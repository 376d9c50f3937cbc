"""Oracles for estimates, standard errors and covariances; tables for all oracles."""

import itertools

import numpy as np

import skci
from benchmarks.accuracy.textbook import TEXTBOOK, values
from benchmarks.common.pages import yes

_MODELS = 3


def check(what, oracle, differences, tolerance, reason):
    """Row of differences from an oracle; their tolerance is one number, or many."""
    differences = np.abs(differences)
    ratio = np.max(differences / tolerance)
    return {
        "what": what,
        "oracle": oracle,
        "numbers": f"{differences.size:,}",
        "median difference": f"{np.median(differences):.0e}",
        "maximum": f"{np.max(differences):.0e}",
        "tolerance": reason,
        "ratio to it": f"{ratio:.2f}",
        "holds": yes(ratio <= 1),  # not if it is NaN
    }


def outcomes(models):
    """Joint outcomes of the truth and some models, as 0 and 1."""
    return np.array(list(itertools.product([0, 1], repeat=models + 1)))


def membership(models):
    """Cell of each model as an indicator, of shape (outcomes, models, 4)."""
    truth, *predictions = outcomes(models).T
    return np.eye(4)[np.stack([3 - truth - 2 * p for p in predictions], axis=-1)]


def model_tables(counts):
    """Counts tp, fp, fn, tn of each model: (..., outcomes) to (..., models, 4)."""
    return np.einsum("...o,orc->...rc", counts, membership(_MODELS))


def matrix(table):
    """Confusion matrix of a table tp, fp, fn, tn."""
    tp, fp, fn, tn = map(int, table)
    return [[tn, fp], [fn, tp]]


def jackknives(size):
    """Compare standard errors and covariances with jackknife estimates.

    Influence values are derivatives. The mean of deleting and adding a row differs from
    them by up to 1/m^2 of a standard error, where m is the count in the smallest cell
    of the model.
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
        found = np.array([report.covariance for report in reports])
        truth = np.array([jackknife(counts) for counts in tables])
        errors = np.sqrt(truth.diagonal(axis1=-2, axis2=-1))
        m = np.repeat(cells.min(axis=-1), len(TEXTBOOK), axis=-1)
        oracle = "delete-one and add-one"
        yield check(
            f"standard errors, n = {n:,}",
            oracle,
            np.sqrt(found.diagonal(axis1=-2, axis2=-1)) / errors - 1,
            1.0 / m**2,
            "1/m^2",
        )
        smaller = np.minimum(m[:, np.newaxis], m[..., np.newaxis])
        scale = errors[:, np.newaxis] * errors[..., np.newaxis]
        yield check(
            f"covariances, n = {n:,}",
            oracle,
            (found - truth) / scale,
            2.0 / smaller**2,
            "2/m^2",
        )


def delta_report(counts):
    """Report on rows with these counts of joint outcomes, by all measures."""
    truth, *predictions = np.repeat(outcomes(_MODELS), counts, axis=0).T
    models = {f"model {k}": each for k, each in enumerate(predictions)}
    return skci.joint_report(truth, models, metrics=[*TEXTBOOK], method="delta")


def random_outcomes(rng, n):
    """Random table of some models, with at least two rows in each cell of each model.

    The overlap coefficient has no derivative at fp = fn, which is avoided.
    """
    while True:
        counts = rng.multinomial(n, rng.dirichlet(np.ones(2 ** (_MODELS + 1))))
        cells = model_tables(counts)
        if cells.min() >= 2 and np.abs(cells[:, 1] - cells[:, 2]).min() > 1:
            return counts


def jackknife(counts):
    """Covariance of all measures of all models by deleting and adding a row."""
    n, cells = counts.sum(), model_tables(counts)
    estimates = values(cells)
    influence = sum(
        (values(cells + step * membership(_MODELS)) - estimates) * (n + step) / step
        for step in (-1, 1)
    )
    influence = influence.reshape(len(counts), -1) / 2
    influence -= counts @ influence / n
    return (influence.T * counts) @ influence / (n * (n - 1))
