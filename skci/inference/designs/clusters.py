"""Clusters of rows that need not be independent within."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dataclass, factorise
from skci.inference.designs.design import Component, SampleDesign
from skci.inference.designs.independent import IndependentRows
from skci.inference.influences import Influences
from skci.inference.rows import Rows
from skci.inference.units import all_units_are_rows


@dataclass(frozen=True, eq=False)
class Clusters(SampleDesign):
    """Clusters of rows: the weight of the rows of each unit in each cluster."""

    number: Array
    """A cluster, ascending, for each unit that occurs in it."""
    unit: Array
    """That unit."""
    weights: Array
    """Total weight of its rows in the cluster, on the scale of the rows."""
    keys: Array
    """Names of the clusters, by number."""
    squares: Array | None = None
    """Sum of the squared weights of these rows, if rows have weights."""
    kind: str = "group"
    """What a cluster is: a "group" or a "query"."""
    ddof: int = 1
    units_are_disjoint: ClassVar[bool] = True
    counts_suffice: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        keys: Array,
        number: Array,
        unit: Array,
        weights: Array | None,
        squares: Array | None = None,
        kind: str = "group",
    ) -> Clusters:
        """Add up the weights of rows by cluster and unit; each counts once if None."""
        units = int(unit.max()) + 1
        pairs, pair = np.unique(number * units + unit, return_inverse=True)
        number, unit = np.divmod(pairs, units)
        sums = np.bincount(pair.ravel(), weights)
        if squares is not None:
            squares = np.bincount(pair.ravel(), squares)
        return cls(number, unit, sums, keys, squares, kind)

    @cached_property
    def starts(self) -> Array:
        """Position of the first entry of each cluster."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    @property
    def n_units(self) -> int:
        """Number of clusters that have rows."""
        return len(self.starts)

    @property
    def units_are_groups(self) -> bool:
        return self.kind == "group"

    @property
    def representatives(self) -> Array:
        """A unit of each cluster."""
        return self.unit[self.starts]

    def components(self, influences: Influences) -> Iterator[Component]:
        totals = np.empty((self.n_units, influences.shape[1]))
        total = influences.rows.weights.sum()
        weights = {1: self.weights / total}
        if 2 in influences.orders:
            weights[2] = self.known_squares / total**2
        columns = zip(
            influences.values, influences.indices, influences.orders, strict=True
        )
        for k, (values, index, order) in enumerate(columns):
            terms = values[index[self.unit]] * weights[order]
            totals[:, k] = np.add.reduceat(terms, self.starts)
        yield Component(totals, ddof=self.ddof)

    def simplified(self, rows: Rows) -> Clusters | IndependentRows:
        """Independent rows, if each of several clusters is of a single one."""
        if self.n_units < 2 or not all_units_are_rows(rows, self):
            return self
        return IndependentRows(rows.n_samples, self.ddof)

    def spread(self, totals: Array) -> Array:
        """Sum values of the clusters over the rows of each unit, by weight."""
        entries = np.diff(self.starts, append=len(self.unit))
        return np.bincount(self.unit, self.weights * np.repeat(totals, entries))

    def among(self, units: Array) -> Clusters:
        """Keep some of the units, given as a bool array, renumbered."""
        kept = units[self.unit]
        renumbered = np.cumsum(units) - 1
        return replace(
            self,
            number=self.number[kept],
            unit=renumbered[self.unit[kept]],
            weights=self.weights[kept],
            squares=None if self.squares is None else self.squares[kept],
        )

    def regrouped(self, unit: Array) -> Clusters:
        """The same for units that are united; `unit` is the new number of each."""
        columns = self.number, unit[self.unit], self.weights, self.squares
        return self.of(self.keys, *columns, self.kind)

    def merged(
        self, parts: Sequence[tuple[Clusters, float, int]], unit: Array
    ) -> Clusters:
        """Unite parts of a sample, with clusters of the same name.

        Parts are designs, with a factor for their weights and their number of units;
        `unit` is the new number of each unit, of the first part and then of the others.
        """
        scaled = [design.times(factor) for design, factor, _ in parts]
        sizes = [size for *_, size in parts]
        return join_clusters(scaled, sizes, by_name=True).regrouped(unit)

    def of_population(self, n: int) -> IndependentRows:
        """The rows of clusters of one row each, of which n are all there are."""
        return IndependentRows(n).of_population(n)

    @property
    def n_entries(self) -> int:
        """Number of occurrences of units in clusters."""
        return len(self.number)

    def times(self, factor: float) -> Clusters:
        """Multiply the weights of all rows."""
        squares = self.known_squares * factor**2
        return replace(self, weights=self.weights * factor, squares=squares)

    @property
    def known_squares(self) -> Array:
        """Sums of squared weights, each row of weight 1 if there are none."""
        return self.weights if self.squares is None else self.squares

    def __str__(self) -> str:
        kind = self.kind if self.n_units == 1 else _PLURALS[self.kind]
        return f"in {self.n_units} {kind}"


_PLURALS = {"group": "groups", "query": "queries"}


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
        columns = clusters.weights, clusters.known_squares
        entries.append((renumbered, start + clusters.unit, *columns))
        first, start = first + len(clusters.keys), start + size
    numbers, unit, *sums = map(np.concatenate, zip(*entries, strict=True))
    return Clusters(numbers, unit, sums[0], keys, sums[1], parts[0].kind)
