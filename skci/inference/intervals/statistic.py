"""Samples of multinomials, and the statistics that set them against a null."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import rel_entr

from skci._typing import Array

__all__ = [
    "Samples",
    "Statistic",
    "filled",
    "improved",
    "normalised",
    "pearson",
]


Statistic = Callable[[Array, Array, Array, Array], Array]
"""``statistic(p_hat, p, influence, n)``: how far p_hat is from the null p."""

_FILL = 1e-7  # rows added to every cell, so that an empty one can gain probability


def pearson(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's ``X2 = n sum (p_hat - p)^2 / p``, behind Wilson's and Tango's limits.

    Parameters
    ----------
    p_hat, p : arrays of shape (..., m)
        Observed proportions and the null.
    influence : array of shape (..., m)
        Influence values at the null.
    n : array
        Number of rows.

    Returns
    -------
    array
        The statistic.
    """
    x2: Array = n * ((p_hat - p) ** 2 / p).sum(-1)
    return x2


def improved(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's X2, drawn to the likelihood ratio G2 where the null is the sparser.

    ``S = X2 - max(X2 - G2, 0) e^3 / (16 + e^3)`` with ``e = max(rho - 1, 0)`` and
    ``rho = sum p_hat L^2 / sum p L^2``. Here rho - 1 is the skewness of the score
    times its signed root. Where the data are the sparser, S is X2 exactly; where the
    null is much sparser, X2 rejects too easily and S goes over to G2. Parameters as
    for `pearson`.
    """
    x2 = pearson(p_hat, p, influence, n)
    g2 = 2 * n * rel_entr(p_hat, p).sum(-1)
    squares = influence * influence
    rho = (p_hat * squares).sum(-1) / (p * squares).sum(-1)
    excess = np.maximum(rho - 1, 0) ** 3
    s: Array = x2 - np.maximum(x2 - g2, 0) * (excess / (16 + excess))
    return s


class Samples:
    """Samples of J multinomials with m cells.

    Parameters
    ----------
    counts : array of shape (J, m)
    statistic : callable
    """

    def __init__(self, counts: Array, statistic: Statistic) -> None:
        self.counts = counts
        self.n = counts.sum(-1)
        self.p_hat = counts / self.n[:, np.newaxis]
        self.f = filled(counts)
        self._statistic = statistic

    def root(self, owner: Array, p: Array, influence: Array) -> Array:
        """Root of the statistic of samples `owner` at p: (owners, points, m)."""
        n = self.n[owner, np.newaxis]
        s = self._statistic(self.p_hat[owner, np.newaxis], p, influence, n)
        root: Array = np.sqrt(np.maximum(s, 0))
        return root


def filled(counts: Array) -> Array:
    """Proportions of the rows, each of them positive."""
    return normalised(counts + _FILL)


def normalised(weights: Array) -> Array:
    """Divide weights by their sum."""
    shares: Array = weights / weights.sum(-1, keepdims=True)
    return shares
