"""Tail probabilities of a maximum from one sample of directions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skci._arrays import Array
from skci.inference.critical.exceedances import (
    Proposal,
    Radial,
    Table,
    points,
    radial_sf,
)

__all__ = ["LEVELS", "SampledTail", "nested_tail"]

LEVELS = (1.0, 1.75, 2.5, 3.25, 4.0, 5.0, 6.0)
"""Levels at which exceedances are sampled; one more component has no condition."""

_FEWEST, _MOST = 512, 4096
"""Points of a scramble."""
_PROJECTIONS = 1 << 22
"""Projections of a scramble that are enough."""
_BLOCK = 1 << 19
"""Numbers in a temporary array."""
_BINS = 1024
"""Bins of the largest projections, by their logarithm."""
_CELLS = 1 << 16
"""Cells of the table of the length."""


class SampledTail:
    r"""Estimate of P(max > x) for any x from one importance sample of directions.

    .. math:: \hat P(x) = \frac{1}{n} \sum_i w_i G(x / s_i)
        - \beta(x) \Big(\frac{1}{n} \sum_i w_i - 1\Big), \quad w_i = 1 / g(u_i)

    with :math:`s_i` the largest projection on direction :math:`u_i`, G the tail of the
    length, g the density of the proposal, and :math:`\beta` the regression coefficient
    of the control variate :math:`w_i`, whose mean is 1.

    Parameters
    ----------
    model : Radial
    seeds : list of int
        Seeds of the scrambles.
    """

    def __init__(self, model: Radial, seeds: list[int]) -> None:
        self._rank, self._df = model.rank, model.df
        blocks = _directions(model, _proposal(model), seeds)
        largest, weights = map(
            np.concatenate,
            zip(*((s.max(axis=1), weight) for s, weight in blocks), strict=True),
        )
        self._n = len(weights)
        self._sum, self._squares = weights.sum(), (weights**2).sum()
        # Similar projections share the tail of the length.
        logarithm = np.log(np.maximum(np.abs(largest), 1e-12))
        low = logarithm.min()
        scale = (_BINS - 1) / max(logarithm.max() - low, 1e-12)
        bins = ((logarithm - low) * scale).astype(np.intp)
        bins[largest < 0] += _BINS
        self._weights = np.bincount(bins, weights)
        filled = self._weights > 0
        self._weights = self._weights[filled]
        self._squared = np.bincount(bins, weights**2)[filled]
        self._projections = np.bincount(bins, weights * largest)[filled] / self._weights

    def sf(self, x: Array) -> Array:
        """Estimate P(max > x), shape (M,)."""
        rows = max(1, _BLOCK // len(self._weights))
        blocks = [x[row : row + rows] for row in range(0, len(x), rows)]
        return np.concatenate([self._sf(block) for block in blocks] or [x])

    def _sf(self, x: Array) -> Array:
        s, x = self._projections, x[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = radial_sf(np.abs(x / s), self._rank, self._df)
        positive = np.where(s > 0, longer, 0.0)
        exceed = np.where(x >= 0, positive, np.where(s < 0, 1 - longer, 1.0))
        # Not a matrix product, whose rounding depends on the number of rows.
        return _controlled(
            (exceed * self._weights).sum(axis=1),
            (exceed * self._squared).sum(axis=1),
            (self._sum, self._squares, self._n),
        )


def nested_tail(model: Radial, statistics: Array, seeds: list[int]) -> Array:
    """Estimate P(max of the first k coordinates > k-th statistic) for all k.

    One sample of directions serves all subsets through running maxima. Coordinates are
    proposed with probabilities proportional to 1/k, so that it hits small subsets as
    well.

    Parameters
    ----------
    model : Radial
        Two-sided.
    statistics : array of shape (K,)
        Ascending and not negative.
    seeds : list of int
    """
    size = len(statistics)
    shares = 1 / np.arange(1, size + 1)
    proposal = _proposal(model, shares / shares.sum())

    def exceed(v: Array) -> Array:
        with np.errstate(divide="ignore"):
            return radial_sf((1 - v) / v, model.rank, model.df)

    table = Table(exceed, 0.0, 1.0, _CELLS)
    first, second = np.zeros((2, size))
    total, squares, n = 0.0, 0.0, 0
    for s, weight in _directions(model, proposal, seeds, _PROJECTIONS // 2):
        np.maximum.accumulate(s, axis=1, out=s)
        s /= s + statistics
        tail = table(s)
        first += weight @ tail
        second += weight**2 @ tail
        total += weight.sum()
        squares += (weight**2).sum()
        n += len(weight)
    return _controlled(first, second, (total, squares, n))


def _proposal(model: Radial, shares: Array | None = None) -> Proposal:
    unconditional = 0.0 if model.sides == 2 else -np.inf
    return Proposal((unconditional, *LEVELS), model.sides, len(model.loadings), shares)


def _directions(
    model: Radial,
    proposal: Proposal,
    seeds: list[int],
    projections: int = _PROJECTIONS,
) -> Iterator[tuple[Array, Array]]:
    """Draw projections on directions and weights 1/g, in blocks."""
    size = len(model.loadings)
    number = 1 << int(np.log2(np.clip(projections // size, _FEWEST, _MOST)))
    rows = max(1, _BLOCK // size)
    density = proposal.density(model)
    for seed in seeds:
        u = points(model.rank + 2, 0, number, seed)
        for row in range(0, number, rows):
            s = model.directions(proposal, u[row : row + rows])
            each = density(s)
            if proposal.shares is None:
                mean = each.mean(axis=1)
            else:
                mean = each @ proposal.shares
            yield s, 1 / (proposal.floor + mean)


def _controlled(
    first: Array, second: Array, moments: tuple[float, float, int]
) -> Array:
    """Adjust the mean of w G by the regression on w, whose mean is 1.

    Parameters
    ----------
    first, second : arrays
        Sums of w G and of w^2 G.
    moments : (float, float, int)
        Sums of w and of w^2, and the number of draws.
    """
    total, squares, n = moments
    mean, weight = first / n, total / n
    variance = squares / n - weight**2
    slope = (second / n - mean * weight) / max(variance, 1e-300)
    adjusted: Array = mean - slope * (weight - 1)
    return adjusted
