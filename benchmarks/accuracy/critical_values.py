"""Oracles for critical values: one-dimensional integrals."""

import itertools
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import studentized_range

import skci
from benchmarks.accuracy.oracles import check

_LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)


def pairwise_correlation(groups):
    """Correlation of all pairwise differences of independent means."""
    first, second = np.triu_indices(groups, 1)
    contrasts = np.eye(groups)[first] - np.eye(groups)[second]
    return contrasts @ contrasts.T / 2


def one_factor_correlation(loadings):
    correlation = np.outer(loadings, loadings)
    np.fill_diagonal(correlation, 1)
    return correlation


def studentized_quantile(means, level):
    return float(studentized_range.ppf(level, means, np.inf) / 2**0.5)


def one_factor_quantile(loadings, level):
    """Critical value by the trapezoidal rule, which is exact to rounding here."""
    x, step = np.linspace(-9, 9, 4001, retstep=True)
    weight = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * step
    noise = np.sqrt(1 - loadings**2)
    mean = x[:, np.newaxis] * loadings

    def excess(q):
        probability = ndtr((q - mean) / noise) - ndtr((-q - mean) / noise)
        return float(weight @ probability.prod(axis=-1) - level)

    return float(brentq(excess, 0.5, 8, xtol=1e-10))


def critical_values(size):
    """Compare critical values with one-dimensional integrals."""
    rng = np.random.default_rng(2)
    factors = [
        rng.uniform(-0.95, 0.95, rng.integers(3, 60)) for _ in range(size.factors)
    ]
    means = [
        (pairwise_correlation(number), partial(studentized_quantile, number))
        for number in range(3, size.means + 1)
    ]
    one_factor = [
        (one_factor_correlation(loadings), partial(one_factor_quantile, loadings))
        for loadings in factors
    ]
    of_means = f"critical values, all pairs of {size.means} or fewer means"
    of_factors = f"critical values, {len(factors)} random one-factor models"
    for what, oracle, pairs in (
        (of_means, "studentized range of scipy", means),
        (of_factors, "integral over the factor", one_factor),
    ):
        both = [*itertools.product(pairs, _LEVELS)]
        found = [skci.inference.critical_value(r, level) for (r, _), level in both]
        truth = [quantile(level) for (_, quantile), level in both]
        stated = np.array([each.error for each in found])
        gap = np.subtract(found, truth)
        yield check(what, oracle, gap, 2 * stated, "twice the stated error")
