"""Test statistics of multinomial null hypotheses, and where they reach a value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import xlog1py

from skci._arrays import Array

Statistic = Callable[[Array, Array, Array], Array]
r"""A statistic of Pearson's X2, the likelihood ratio G2 and the ratio of variances rho.

With :math:`\hat p` the observed proportions, p the null probabilities and L the
influence values of the functional at the null,

.. math:: X2 = n \sum (\hat p - p)^2 / p, \quad G2 = 2 n \sum \hat p \log(\hat p / p),
    \quad \rho = \sum \hat p L^2 / \sum p L^2 .
"""

Profile = Callable[[Array], tuple[Array, Array]]
"""Value of K functionals and square root of the statistic at points of the path of
constrained maxima, numbered by a variable of shape (K, points) that increases outward
from the estimate."""

_PSEUDO_COUNT = 1e-7  # in each cell, so that fitted probabilities are positive
_HALF_GRID = np.geomspace(1e-3, 1, 7)
_ZOOM_GRID = np.concatenate([-_HALF_GRID[::-1], [0], _HALF_GRID])  # dense at the guess
_IS_BELOW = _ZOOM_GRID < 0
_NEIGHBOURS = np.arange(4)  # two of them before the first point beyond
_MAX_ZOOMS = 20
_TOLERANCE = 0.03  # width of a bracket that is left to interpolation
_MARGIN = 0.01  # relative distance of a guess from the ends of its bracket


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
    excess = np.maximum(rho - 1, 0)
    excess = excess * excess * excess
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
        g2 = 2 * n * divergence(p_hat, p).sum(-1)
        squares = influence * influence
        rho = (p_hat * squares).sum(-1) / (p * squares).sum(-1)
        return self.root_of(x2, g2, rho)

    def root_of(self, x2: Array, g2: Array, rho: Array) -> Array:
        """Square root of the statistic by what it is a function of."""
        return np.sqrt(np.maximum(self._statistic(x2, g2, rho), 0))


def divergence(p: Array, q: Array) -> Array:
    r"""Terms :math:`p \log(p / q) - p + q` of the Kullback-Leibler divergence.

    They are of second order in the distance of p and q, so that their sum is not
    rounded as terms of first order are, which cancel: by 1e-16 of n observations.
    """
    change = (p - q) / q
    return q * (xlog1py(1 + change, change) - change)


def smooth(counts: Array) -> Array:
    """Proportions with a small pseudo-count in each cell, so all are positive."""
    return normalise(counts + _PSEUDO_COUNT)


def normalise(weights: Array) -> Array:
    """Weights divided by their sum."""
    return weights / weights.sum(-1, keepdims=True)


def first_crossing(profile: Profile, x: Array, crit: Array, default: Array) -> Array:
    """Values where the root of the statistic first exceeds crit, or the defaults.

    A coarse grid x outward from the estimate, (K, points), brackets the first crossing;
    finer grids around its inverse interpolation narrow the bracket.
    """
    crit = crit[:, np.newaxis]
    rows = np.arange(len(crit))[:, np.newaxis]
    points = np.array([x, *profile(x)])
    beyond = points[2] >= crit
    exists = beyond.any(-1)
    for _ in range(_MAX_ZOOMS):
        beyond[:, -1] = True
        first = np.maximum(np.minimum(beyond.argmax(-1) - 2, beyond.shape[1] - 4), 0)
        points = points[:, rows, first[:, np.newaxis] + _NEIGHBOURS]
        low, high = points[0, :, :1], points[0, :, -1:]
        excess = np.log(points[2] / crit)
        guess, crossing = _interpolate_at_zero(excess, points[:2])
        width = high - low
        if not (width[exists] > _TOLERANCE).any():
            break
        margin = _MARGIN * width
        guess = np.fmin(np.fmax(guess, low + margin), high - margin)  # never NaN
        x = guess + np.where(_IS_BELOW, guess - low, high - guess) * _ZOOM_GRID
        points = np.array([x, *profile(x)])
        beyond = points[2] >= crit
    value = points[1]
    crossing = np.fmin(np.fmax(crossing[:, 0], value.min(-1)), value.max(-1))
    return np.where(exists, crossing, default)


def _interpolate_at_zero(x: Array, y: Array) -> Array:
    """Values at 0 of the polynomials through points (x, y), by Lagrange's formula."""
    ratios = x[:, np.newaxis] / (x[:, np.newaxis] - x[..., np.newaxis])
    ratios[:, _NEIGHBOURS, _NEIGHBOURS] = 1
    return (y * ratios.prod(-1)).sum(-1, keepdims=True)
