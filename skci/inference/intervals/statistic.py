"""Score statistics of multinomial null hypotheses, and a search for crossings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skci._arrays import Array

_PSEUDO_COUNT = 1e-7  # added to each cell, so that fitted probabilities are positive
_NEARLY_MINUS_ONE = np.nextafter(-1.0, 0)  # whose log1p is finite
_HALF_GRID = np.geomspace(1e-3, 1, 7)
_ZOOM_GRID = np.concatenate([-_HALF_GRID[::-1], [0], _HALF_GRID])  # dense at 0
_IS_BELOW = _ZOOM_GRID < 0
_NEIGHBOURS = np.arange(4)  # four points, two of them before the crossing
_MAX_ZOOMS = 20
_TOLERANCE = 0.03  # width of a bracket that is interpolated
_ROUNDING = 1e-14  # distance of equal values, as a share of their range
_MARGIN = 0.01  # distance of a guess from the bracket's ends, relative to its width


def improved(x2: Array, g2: Array, rho: Array) -> Array:
    r"""Move Pearson's statistic X2 towards the likelihood ratio G2 for skewed scores.

    With :math:`\hat p` the observed proportions, p the null probabilities and L the
    influence values of the functional at the null,

    .. math:: X2 = n \sum (\hat p - p)^2 / p, \quad G2 = 2 n \sum \hat p \log(\hat p /
        p), \quad \rho = \sum \hat p L^2 / \sum p L^2 .

    The result is ``S = X2 - max(X2 - G2, 0) e^3 / (16 + e^3)`` with ``e = max(rho - 1,
    0)``, where ``rho - 1`` is the skewness of the score times its signed root. S equals
    X2 where the variance under the observed proportions is smaller than the variance
    under the null. S approaches G2 where the variance under the observed proportions is
    much larger, because X2 then rejects too often.
    """
    excess = np.maximum(rho - 1, 0)
    share = 16 / (16 + excess * excess * excess)
    return share * x2 + (1 - share) * np.minimum(x2, g2)


def are_equal(nulls: Array, estimates: Array, ranges: Array) -> Array:
    """Return whether null values equal the estimates within rounding error."""
    scale = np.where(np.isfinite(ranges), ranges, np.abs(nulls))
    return np.abs(nulls - estimates) <= _ROUNDING * scale


class Samples:
    """Multinomial samples, from counts of shape (J, m) for J samples of m cells."""

    def __init__(self, counts: Array) -> None:
        self.counts = counts
        self.n = counts.sum(-1)
        self.p_hat = counts / self.n[:, np.newaxis]
        self.f = smooth(counts)

    def subset(self, index: Array) -> Samples:
        """Return the samples with the given indices."""
        subset = object.__new__(Samples)
        for name, value in vars(self).items():
            subset.__dict__[name] = value[index]
        return subset

    def root(self, p: Array, influence: Array) -> Array:
        """Compute the square root of the statistic at given cell probabilities.

        The probabilities have shape (J, k, m): k points for each of J samples of m
        cells.
        """
        n, p_hat = self.n[:, np.newaxis], self.p_hat[:, np.newaxis]
        ratio = p_hat / p
        change = ratio - 1
        x2 = n * np.einsum("...i,...i,...i", p, change, change)
        # The terms p_hat log(p_hat / p) - p_hat + p are of second order. Their sum has
        # no rounding error of 1e-16 n, unlike a sum of first-order terms.
        logs = np.maximum(change, _NEARLY_MINUS_ONE)
        np.log1p(logs, out=logs)
        logs *= ratio
        logs -= change
        g2 = 2 * n * np.einsum("...i,...i", p, logs)
        squares = influence * influence
        rho = np.einsum("...i,...i", p_hat, squares)
        rho = rho / np.einsum("...i,...i", p, squares)
        return np.sqrt(np.maximum(improved(x2, g2, rho), 0))


def smooth(counts: Array) -> Array:
    """Convert counts to positive proportions, with a tiny pseudo-count per cell."""
    return normalise(counts + _PSEUDO_COUNT)


def normalise(weights: Array) -> Array:
    """Divide weights by their sum."""
    return weights / weights.sum(-1, keepdims=True)


def first_crossing(
    profile: Any, *grids: Array, excess: Callable[[Array, Array, Array], Array]
) -> Array:
    """Find the first point of each profile where a function becomes positive.

    The function is `excess`. The arguments of this function are values on the profiles,
    square roots of the test statistic, and indices of the profiles. Each of `grids` has
    shape (K, points) for K profiles, and is used only if no earlier grid contains the
    point. Returns the value and the square root of the test statistic, with shape (2,
    K), or NaN for profiles without such a point.
    """

    def evaluate(x: Array) -> Array:
        value, root = profile(x)
        return np.array([x, value, root, excess(value, root, rows)])

    rows = np.arange(len(grids[0]))
    crossings = np.full((2, len(rows)), np.nan)
    points = evaluate(grids[0])
    for grid in (*grids[1:], None):
        going = (points[3] >= 0).any(-1)
        if grid is None or going.all():
            break
        points = np.concatenate([points, evaluate(grid)], axis=-1)
    if not going.all():
        rows, profile, points = rows[going], profile.subset(going), points[:, going]
    for _ in range(_MAX_ZOOMS):
        if not len(rows):
            break
        all_rows = np.arange(len(rows))[:, np.newaxis]
        beyond = points[3] >= 0
        beyond[:, -1] = True
        after = np.maximum(beyond.argmax(-1), 1)[:, np.newaxis]
        near = np.maximum(np.minimum(after - 2, beyond.shape[1] - 4), 0) + _NEIGHBOURS
        near = points[:, all_rows, near]
        # Values at 0 of the polynomials through the points, by Lagrange's formula.
        nodes, values = near[3], near[:3]
        ratios = nodes[:, np.newaxis] / (nodes[:, np.newaxis] - nodes[..., np.newaxis])
        ratios[:, _NEIGHBOURS, _NEIGHBOURS] = 1
        guess, *crossing = (values * ratios.prod(-1)).sum(-1, keepdims=True)
        lower, upper = near[1:3].min(-1), near[1:3].max(-1)
        crossings[:, rows] = np.fmin(np.fmax(np.array(crossing)[..., 0], lower), upper)
        x = near[0]
        going = x[:, -1] - x[:, 0] > _TOLERANCE
        if not going.any():
            break
        low, high = points[0, all_rows, after - 1], points[0, all_rows, after]
        guess = np.where((guess > low) & (guess < high), guess, (low + high) / 2)
        if 2 * going.sum() < len(rows):
            rows, profile = rows[going], profile.subset(going)
            low, high, guess = low[going], high[going], guess[going]
        margin = _MARGIN * (high - low)
        guess = np.clip(guess, low + margin, high - margin)
        x = guess + np.where(_IS_BELOW, guess - low, high - guess) * _ZOOM_GRID
        points = evaluate(x)
    return crossings
