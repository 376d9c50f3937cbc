"""Oracles for critical values: one-dimensional integrals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import studentized_range

import skci
from benchmarks.accuracy.oracles import Check, check
from benchmarks.common import Array
from benchmarks.common.command import Sizes

_LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)


def pairwise_correlation(groups: int) -> Array:
    """Correlation of all pairwise differences of independent means."""
    first, second = np.triu_indices(groups, 1)
    contrasts = np.eye(groups)[first] - np.eye(groups)[second]
    return contrasts @ contrasts.T / 2


def one_factor_correlation(loadings: Array) -> Array:
    correlation = np.outer(loadings, loadings)
    np.fill_diagonal(correlation, 1)
    return correlation


def studentized_quantile(means: int, level: float) -> float:
    return float(studentized_range.ppf(level, means, np.inf) / 2**0.5)


def one_factor_quantile(loadings: Array, level: float) -> float:
    """Critical value by the trapezoidal rule, which is exact to rounding here."""
    x, step = np.linspace(-9, 9, 4001, retstep=True)
    weight = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * step
    noise = np.sqrt(1 - loadings**2)
    mean = x[:, np.newaxis] * loadings

    def excess(q: float) -> float:
        probability = ndtr((q - mean) / noise) - ndtr((-q - mean) / noise)
        return float(weight @ probability.prod(axis=-1) - level)

    return float(brentq(excess, 0.5, 8, xtol=1e-10))


def critical_values(size: Sizes) -> Iterator[Check]:
    """Compare critical values with one-dimensional integrals."""
    rng = np.random.default_rng(2)
    factors = [
        rng.uniform(-0.95, 0.95, rng.integers(3, 60)) for _ in range(size.factors)
    ]
    cases: tuple[tuple[str, str, list[tuple[Array, Callable[..., float]]]], ...] = (
        (
            f"critical values, all pairs of {size.means} or fewer means",
            "studentized range of scipy",
            [
                (pairwise_correlation(number), partial(studentized_quantile, number))
                for number in range(3, size.means + 1)
            ],
        ),
        (
            f"critical values, {len(factors)} random one-factor models",
            "integral over the factor",
            [
                (
                    one_factor_correlation(loadings),
                    partial(one_factor_quantile, loadings),
                )
                for loadings in factors
            ],
        ),
    )
    for what, oracle, pairs in cases:
        both = [*itertools.product(pairs, _LEVELS)]
        found = [skci.inference.critical_value(r, level) for (r, _), level in both]
        truth = [quantile(level) for (_, quantile), level in both]
        stated = np.array([each.error for each in found])
        gap = np.subtract(found, truth)
        yield check(what, oracle, gap, 2 * stated, "twice the stated error")
