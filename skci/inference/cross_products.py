"""Sums of products of influence values, over rows or clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.inference.clusters import Clusters

# Blocks of so many units stay in cache; of few parameters they hold so many numbers,
# since each product of matrices has a fixed cost, and of many at most so many.
_BLOCK = 1 << 14
_NUMBERS = 1 << 17
_MOST_NUMBERS = 1 << 22
_MANY = 256  # parameters from which on sparse influence values may pay
# Share of influence values that differ below which sparse ones pay.
_DENSITY = 0.05


def over_rows(
    influences: Sequence[Array],
    indices: Sequence[Array],
    weights: Array,
    squares: Array,
) -> Array:
    """Sum of the products of centred influence values over rows.

    Of each unit `weights` are the total weight of its rows, and `squares` that of the
    squared weights.
    """
    size = len(influences)
    if size > _MANY:
        deviations = _sparse_deviations(influences, indices, weights)
        if deviations is not None:
            mean = deviations @ weights / weights.sum()
            scaled = deviations * np.sqrt(squares)
            total = (scaled @ scaled.T).toarray()
            return _recentred(total, deviations @ squares, mean, squares.sum())
    rows = min(max(_BLOCK, _NUMBERS // size), _MOST_NUMBERS // size + 1)
    if rows >= len(squares):
        pairs = zip(influences, indices, strict=True)
        values = np.array([influence[index] for influence, index in pairs])
        values -= (values @ weights / weights.sum())[:, np.newaxis]
        values *= np.sqrt(squares)
        return values @ values.T
    total = np.zeros((size, size))
    mean, crossed = np.zeros((2, size))
    buffer = np.empty((size, rows))
    for start in range(0, len(squares), rows):
        block = slice(start, start + rows)
        values = buffer[:, : len(squares) - start]
        for row, influence, index in zip(values, influences, indices, strict=True):
            # "raise" would copy
            np.take(influence, index[block], out=row, mode="clip")
        mean += values @ weights[block]
        roots = np.sqrt(squares[block])
        values *= roots
        crossed += values @ roots
        total += values @ values.T  # half the work of that of two matrices
    mean /= weights.sum()
    return _recentred(total, crossed, mean, squares.sum())


def over_clusters(
    influences: Sequence[Array],
    indices: Sequence[Array],
    weights: Array,
    clusters: Clusters,
) -> Array:
    """Sum of the products of the totals of centred influence values."""
    pairs = zip(influences, indices, strict=True)
    sums = np.array([clusters.totals(values[index]) for values, index in pairs])
    sizes = clusters.totals(np.ones(len(weights)))
    mean = sums.sum(axis=1) / weights.sum()
    sums -= np.outer(mean, sizes)
    return sums @ sums.T


def _recentred(total: Array, crossed: Array, mean: Array, weight: float) -> Array:
    """Sum of products of values less their mean, from that of the values."""
    outer = np.outer(crossed, mean)
    total -= outer
    total -= outer.T
    np.outer(mean, mean * weight, out=outer)
    total += outer
    np.fill_diagonal(total, np.maximum(total.diagonal(), 0))  # rounding goes below 0
    return total


def _sparse_deviations(
    influences: Sequence[Array], indices: Sequence[Array], weights: Array
) -> sparse.csr_array | None:
    """Influence values less that of the heaviest cell; None if few of them are 0.

    A class among many is seldom true or predicted, so that most units are in one cell.
    """
    columns, values, starts = [], [], [0]
    most = _DENSITY * len(influences) * len(weights)
    for influence, index in zip(influences, indices, strict=True):
        heaviest = np.bincount(index, weights).argmax()
        others = np.flatnonzero(index != heaviest)
        columns.append(others.astype(np.int32))
        values.append(influence[index[others]] - influence[heaviest])
        starts.append(starts[-1] + len(others))
        if starts[-1] > most:
            return None
    parts = np.concatenate(values), np.concatenate(columns), starts
    return sparse.csr_array(parts, shape=(len(influences), len(weights)))
