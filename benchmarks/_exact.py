"""Correlations whose critical value is an integral over one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import studentized_range

Array = NDArray[Any]


def of_all_pairs(groups: int) -> Array:
    """Correlation of all differences of independent means."""
    first, second = np.triu_indices(groups, 1)
    contrasts = np.eye(groups)[first] - np.eye(groups)[second]
    return contrasts @ contrasts.T / 2


def of_one_factor(loadings: Array) -> Array:
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
        inside = ndtr((q - mean) / noise) - ndtr((-q - mean) / noise)
        return float(weight @ inside.prod(axis=-1) - level)

    return float(brentq(excess, 0.5, 8, xtol=1e-10))
