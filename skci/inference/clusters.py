"""Clusters of rows that need not be independent within."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property, factorise


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows: the weight of each unit in each cluster."""

    number: Array
    """A cluster, ascending, for each unit that occurs in it."""
    unit: Array
    """That unit."""
    weights: Array
    """Total weight of its rows in the cluster."""
    keys: Array
    """Names of the clusters, by number."""

    @classmethod
    def of(
        cls, keys: Array, number: Array, unit: Array, weights: Array | None
    ) -> Clusters:
        """Add up the weights of rows by cluster and unit; each counts once if None."""
        units = int(unit.max()) + 1
        pairs, pair = np.unique(number * units + unit, return_inverse=True)
        number, unit = np.divmod(pairs, units)
        return cls(number, unit, np.bincount(pair.ravel(), weights), keys)

    @cached_property
    def starts(self) -> Array:
        """Position of the first entry of each cluster."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    def __len__(self) -> int:
        return len(self.starts)

    def totals(self, values: Array) -> Array:
        """Weighted sums of values of the units, shape (..., clusters)."""
        terms = values[..., self.unit] * self.weights
        return np.add.reduceat(terms, self.starts, axis=-1)

    def spread(self, totals: Array) -> Array:
        """Sum values of the clusters over the rows of each unit."""
        entries = np.diff(self.starts, append=len(self.unit))
        return np.bincount(self.unit, self.weights * np.repeat(totals, entries))

    def among(self, units: Array) -> Clusters:
        """Keep some of the units, given as a bool array, renumbered."""
        kept = units[self.unit]
        renumbered = np.cumsum(units) - 1
        return Clusters(
            self.number[kept],
            renumbered[self.unit[kept]],
            self.weights[kept],
            self.keys,
        )


def join_clusters(
    parts: Sequence[Clusters], n_units: Sequence[int], by_name: bool = False
) -> Clusters:
    """Clusters of units side by side, by name the same or all different.

    `n_units` is the number of units of each part.
    """
    keys = number = np.arange(sum(len(clusters.keys) for clusters in parts))
    if by_name:
        names = [name for clusters in parts for name in clusters.keys.tolist()]
        keys, number = factorise(np.fromiter(names, dtype=object, count=len(names)))
    entries, first, start = [], 0, 0
    for clusters, size in zip(parts, n_units, strict=True):
        renumbered = number.ravel()[first + clusters.number]
        entries.append((renumbered, start + clusters.unit, clusters.weights))
        first, start = first + len(clusters.keys), start + size
    numbers, unit, weights = map(np.concatenate, zip(*entries, strict=True))
    return Clusters(numbers, unit, weights, keys)
