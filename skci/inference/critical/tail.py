"""Tail probabilities of a maximum from one sample of directions."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.critical.correlation import blocks
from skci.inference.critical.exceedances import (
    Proposal,
    Radial,
    Table,
    batches,
    radial_sf,
)

LEVELS = (1.0, 1.75, 2.5, 3.25, 4.0, 5.0, 6.0)
"""Levels at which exceedances are sampled; one more component has no condition."""

_FEWEST, _MOST = 512, 4096  # least and greatest number of points of a scramble
_PROJECTIONS = 1 << 22  # number of projections of a scramble between them
_BINS = 1024  # bins of the logarithms of the largest projections
_CELLS = 1 << 16  # cells of the table of the length


class SampledTail:
    r"""Estimate of P(max > x) for any x from one importance sample of directions.

    .. math:: \hat P(x) = \frac{1}{n} \sum_i w_i G(x / s_i)
        - \beta(x) \Bigl(\frac{1}{n} \sum_i w_i - 1\Bigr), \quad w_i = 1 / g(u_i)

    with :math:`s_i` the largest projection on direction :math:`u_i`, G the tail of the
    length, g the density of the proposal, and :math:`\beta` the regression coefficient
    of the control variate :math:`w_i`, whose mean is 1.
    """

    def __init__(self, model: Radial, seeds: list[int]) -> None:
        self._rank, self._df = model.rank, model.df
        sample = _directions(model, seeds)
        pairs = [(s.max(axis=1), weights) for s, weights in sample]
        largest, weights = map(np.concatenate, zip(*pairs, strict=True))
        self._moments = weights.sum(), (weights**2).sum(), len(weights)
        # G is evaluated once for similar projections.
        logarithm = np.log(np.maximum(np.abs(largest), 1e-12))
        low = logarithm.min()
        scale = (_BINS - 1) / max(logarithm.max() - low, 1e-12)
        bins = ((logarithm - low) * scale).astype(np.intp)
        bins[largest < 0] += _BINS
        _, bins = np.unique(bins, return_inverse=True)
        self._weights = np.bincount(bins, weights)
        self._squares = np.bincount(bins, weights**2)
        self._projections = np.bincount(bins, weights * largest) / self._weights

    def sf(self, x: Array) -> Array:
        """Estimate P(max > x), shape (M,)."""
        rows = blocks(len(x), len(self._weights))
        return np.concatenate([self._sf(x[row, np.newaxis]) for row in rows] or [x])

    def _sf(self, x: Array) -> Array:
        s = self._projections
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = radial_sf(np.abs(x / s), self._rank, self._df)
        positive = np.where(s > 0, longer, 0.0)
        exceed = np.where(x >= 0, positive, np.where(s < 0, 1 - longer, 1.0))
        # Not a matrix product, whose rounding depends on the number of rows.
        first = (exceed * self._weights).sum(axis=1)
        second = (exceed * self._squares).sum(axis=1)
        return _controlled(first, second, *self._moments)


def nested_tail(model: Radial, statistics: Array, seeds: list[int]) -> Array:
    """Two-sided P(max of the first k coordinates > k-th statistic) for k = 1, ..., K.

    The statistics are ascending. One sample of directions serves all k through running
    maxima; coordinate k is proposed with probability proportional to 1/k, which samples
    small subsets as well.
    """
    shares = 1 / np.arange(1, len(statistics) + 1)
    sample = _directions(model, seeds, _PROJECTIONS // 2, shares / shares.sum())
    running = ((np.maximum.accumulate(s, axis=1), w) for s, w in sample)
    return _tail_of_each(model, running, statistics)


def nested_tail_of_directions(
    model: Radial, statistics: Array, seeds: list[int]
) -> Array:
    """P(max of some coordinates in some directions > k-th statistic) for all k.

    They are the first k coordinates in both directions and the others in the negative
    one. The statistics are ascending.
    """

    def running() -> Iterator[tuple[Array, Array]]:
        for s, w in _directions(model, seeds, _PROJECTIONS // 2, signed=True):
            both = np.maximum.accumulate(np.abs(s), axis=1)
            for side in (-s, s):  # a direction and its opposite are equally likely
                others = np.maximum.accumulate(side[:, :0:-1], axis=1)[:, ::-1]
                maxima = both.copy()
                np.maximum(maxima[:, :-1], others, out=maxima[:, :-1])
                yield maxima, w

    return _tail_of_each(model, running(), statistics)


def _tail_of_each(
    model: Radial, sample: Iterable[tuple[Array, Array]], statistics: Array
) -> Array:
    """P(length times maximum > statistic) of K maxima on weighted directions."""

    def exceed(v: Array) -> Array:
        with np.errstate(divide="ignore"):
            return radial_sf((1 - v) / v, model.rank, model.df)

    table = Table(exceed, 0.0, 1.0, _CELLS)
    return _mean((table(maxima / (maxima + statistics)), w) for maxima, w in sample)


def _directions(
    model: Radial,
    seeds: list[int],
    projections: int = _PROJECTIONS,
    shares: Array | None = None,
    signed: bool = False,
) -> Iterator[tuple[Array, Array]]:
    """Projections on directions and their weights 1/g, in blocks."""
    size = model.size
    unconditional = 0.0 if model.sides == 2 else -np.inf
    proposal = Proposal((unconditional, *LEVELS), model.sides, size, shares)
    density = model.density(proposal)
    number = _number(projections, size)
    for points in batches(model.rank, size, 0, number, seeds):
        s = model.directions(proposal, points, signed)
        each = density(np.abs(s) if signed else s)
        mean = each.mean(axis=1) if shares is None else each @ shares
        yield np.ascontiguousarray(s), 1 / (proposal.floor + mean)


def _number(projections: int, size: int) -> int:
    """Points of a scramble, for so many projections in all."""
    return 1 << int(np.log2(np.clip(projections // size, _FEWEST, _MOST)))


def _mean(sample: Iterable[tuple[Array, Array]]) -> Array:
    """Mean of K values on weighted draws, which come in blocks; see `_controlled`."""
    first: Any = 0.0
    second: Any = 0.0
    moments = np.zeros(3)
    for values, weights in sample:
        first += weights @ values
        second += weights**2 @ values
        moments += weights.sum(), (weights**2).sum(), len(weights)
    return _controlled(first, second, *moments)


def _controlled(
    first: Array, second: Array, total: float, squares: float, n: float
) -> Array:
    """Mean of w G adjusted by regression on w, whose mean is 1.

    From the sums of w G, of w^2 G, of w and of w^2, and the number n of draws.
    """
    mean, weight = first / n, total / n
    variance = squares / n - weight**2
    slope = (second / n - mean * weight) / max(variance, 1e-300)
    return mean - slope * (weight - 1)
