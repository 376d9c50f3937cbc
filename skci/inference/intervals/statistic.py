"""Test statistics of a multinomial null hypothesis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import rel_entr

from skci._arrays import Array

Statistic = Callable[[Array, Array, Array], Array]
r"""A statistic of Pearson's X2, the likelihood ratio G2 and the ratio of variances rho.

With :math:`\hat p` the observed proportions, p the null probabilities and L the
influence values of the functional at the null,

.. math:: X2 = n \sum (\hat p - p)^2 / p, \quad G2 = 2 n \sum \hat p \log(\hat p / p),
    \quad \rho = \sum \hat p L^2 / \sum p L^2 .
"""

_PSEUDO_COUNT = 1e-7  # in each cell, so that fitted probabilities are positive


def pearson(x2: Array, g2: Array, rho: Array) -> Array:
    """Pearson's statistic X2.

    Its limits are Wilson's for a proportion and Tango's for a paired difference.
    """
    return x2


def improved(x2: Array, g2: Array, rho: Array) -> Array:
    """Pearson's X2, moved towards the likelihood ratio G2 where the score is skewed.

    ``S = X2 - max(X2 - G2, 0) e^3 / (16 + e^3)`` with ``e = max(rho - 1, 0)``, where
    ``rho - 1`` is the skewness of the score times its signed root. S equals X2 where
    the variance is smaller under the observed proportions than under the null, and
    approaches G2 where it is much larger: there X2 rejects too often.
    """
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

    def among(self, index: Array) -> Samples:
        """Keep some of the samples."""
        return Samples(self.counts[index], self._statistic)

    def root(self, index: Array, p: Array, influence: Array) -> Array:
        """Square root of the statistic of samples `index` at p of shape (K, k, m)."""
        n, p_hat = self.n[index, np.newaxis], self.p_hat[index, np.newaxis]
        x2 = n * ((p_hat - p) ** 2 / p).sum(-1)
        g2 = 2 * n * rel_entr(p_hat, p).sum(-1)
        squares = influence * influence
        rho = (p_hat * squares).sum(-1) / (p * squares).sum(-1)
        return self.root_of(x2, g2, rho)

    def root_of(self, x2: Array, g2: Array, rho: Array) -> Array:
        """Square root of the statistic by what it is a function of."""
        return np.sqrt(np.maximum(self._statistic(x2, g2, rho), 0))


def smooth(counts: Array) -> Array:
    """Proportions with a small pseudo-count in each cell, so all are positive."""
    return normalise(counts + _PSEUDO_COUNT)


def normalise(weights: Array) -> Array:
    """Weights divided by their sum."""
    return weights / weights.sum(-1, keepdims=True)
