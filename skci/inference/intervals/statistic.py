"""Test statistics of a multinomial null hypothesis."""

from collections.abc import Callable

import numpy as np
from scipy.special import rel_entr

from skci._arrays import Array

Statistic = Callable[[Array, Array, Array, Array], Array]
"""``statistic(p_hat, p, influence, n)`` of observed proportions and null probabilities.

The influence values are those of the functional at the null; all three have shape
(..., m). The sample size n and the result have shape (...).
"""

_PSEUDO_COUNT = 1e-7  # in each cell, so that fitted probabilities are positive


def pearson(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's statistic, ``X2 = n sum (p_hat - p)^2 / p``.

    Its limits are Wilson's for a proportion and Tango's for a paired difference.
    """
    return n * ((p_hat - p) ** 2 / p).sum(-1)


def improved(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's X2, moved towards the likelihood ratio G2 where the score is skewed.

    ``S = X2 - max(X2 - G2, 0) e^3 / (16 + e^3)`` with ``e = max(rho - 1, 0)`` and
    ``rho = sum p_hat L^2 / sum p L^2``, where ``rho - 1`` is the skewness of the score
    times its signed root. S equals X2 where the variance is smaller under p_hat than
    under the null, and approaches G2 where it is much larger: there X2 rejects too
    often.
    """
    x2 = pearson(p_hat, p, influence, n)
    g2 = 2 * n * rel_entr(p_hat, p).sum(-1)
    squares = influence * influence
    rho = (p_hat * squares).sum(-1) / (p * squares).sum(-1)
    excess = np.maximum(rho - 1, 0) ** 3
    return x2 - np.maximum(x2 - g2, 0) * (excess / (16 + excess))


class Samples:
    """J multinomial samples, by counts of shape (J, m), and their test statistic."""

    def __init__(self, counts: Array, statistic: Statistic) -> None:
        self.counts = counts
        self.n = counts.sum(-1)
        self.p_hat = counts / self.n[:, np.newaxis]
        self.f = smooth(counts)
        self._statistic = statistic

    def root(self, index: Array, p: Array, influence: Array) -> Array:
        """Square root of the statistic of samples `index` at p of shape (K, k, m)."""
        n = self.n[index, np.newaxis]
        s = self._statistic(self.p_hat[index, np.newaxis], p, influence, n)
        return np.sqrt(np.maximum(s, 0))


def smooth(counts: Array) -> Array:
    """Proportions with a small pseudo-count in each cell, so all are positive."""
    return normalise(counts + _PSEUDO_COUNT)


def normalise(weights: Array) -> Array:
    """Weights divided by their sum."""
    return weights / weights.sum(-1, keepdims=True)
