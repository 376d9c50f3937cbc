"""Independent samples of fixed sizes, such as strata, and their shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci.inference.designs.clusters import Clusters, join_clusters
from skci.inference.designs.design import Component, SampleDesign
from skci.inference.designs.independent import IndependentRows
from skci.inference.influences import Influences
from skci.inference.rows import Rows


@dataclass(frozen=True, eq=False)
class Strata(SampleDesign):
    """Independent rows, or clusters, within each of several strata."""

    strata: Array = field()
    within: IndependentRows | Clusters
    labels: Array | None = None
    """Code of the true label of all rows of each stratum, if each has one."""
    share_covariance: Array | None = None
    units_are_disjoint: ClassVar[bool] = True
    counts_suffice: ClassVar[bool] = True

    @property
    def n_units(self) -> int:
        """Number of rows, or clusters."""
        return self.within.n_units

    @property
    def within_strata(self) -> IndependentRows | Clusters:
        return self.within

    @property
    def rows_are_units(self) -> bool:
        return self.within.rows_are_units

    @property
    def units_are_groups(self) -> bool:
        return self.within.units_are_groups

    @cached_property
    def n_strata(self) -> int:
        """Number of strata that have units."""
        return len(np.unique(self.strata))

    @cached_property
    def units(self) -> list[Array]:
        """Positions of the units of each stratum."""
        order = np.argsort(self.strata, kind="stable")
        ends = np.cumsum(np.bincount(self.strata))[:-1]
        return [units for units in np.split(order, ends) if len(units)]

    @property
    def labels_of_strata(self) -> Array:
        return np.full(self.n_strata, -1) if self.labels is None else self.labels

    def components(self, influences: Influences) -> Iterator[Component]:
        """Totals within strata and, of estimated shares, means of strata.

        Means within strata are ratios to their weights, as shares are given.
        """
        sizes, blocks = influences.rows.shares, self.strata
        if not self.rows_are_units:
            blocks = blocks[self.within.representatives]  # type: ignore[union-attr]
            ones = Influences(
                [np.ones(1)], [np.zeros(len(sizes), int)], influences.rows
            )
            sizes = next(self.within.components(ones)).totals[:, 0]
        for component in self.within.components(influences):
            yield replace(component, blocks=blocks, sizes=sizes)
        if self.share_covariance is not None:
            values, vectors = np.linalg.eigh(self.share_covariance)
            roots = vectors * np.sqrt(np.maximum(values, 0))
            yield Component(roots.T @ self._means(influences), is_known=True)

    def of_population(self, n: int) -> Strata:
        """The same of n rows, which are all there are."""
        return replace(self, within=self.within.of_population(n))

    def _means(self, influences: Influences) -> Array:
        """Mean influence values within strata, (strata, K)."""
        weights = influences.rows.weights
        totals = np.bincount(self.strata, weights)
        pairs = zip(influences.values, influences.indices, strict=True)
        sums = [np.bincount(self.strata, v[index] * weights) for v, index in pairs]
        return np.transpose(sums) / totals[:, np.newaxis]

    def regrouped(self, unit: Array) -> Strata:
        """The same for units of a stratum that are united."""
        strata = np.empty(unit.max() + 1, dtype=self.strata.dtype)
        strata[unit] = self.strata
        if (strata[unit] != self.strata).any():
            raise ValueError("units of several independent samples cannot be united")
        return replace(self, strata=strata, within=self.within.regrouped(unit))

    def __str__(self) -> str:
        return f"in {self.n_strata} strata"


def stacked(
    parts: Sequence[tuple[Rows, IndependentRows | Clusters | Strata]],
) -> tuple[Rows, Strata]:
    """Put independent samples side by side, as strata.

    A row of one sample weighs as much as a row of another.
    """
    designs = [design for _, design in parts]
    if any(design.share_covariance is not None for design in designs):
        raise ValueError(
            "reports must not be at a prevalence with a standard error, which they "
            "may have in common"
        )
    withins: list[Any] = [design.within_strata for design in designs]
    strata, labels, first = [], [], 0
    for (rows, _), design in zip(parts, designs, strict=True):
        single = np.zeros(len(rows), dtype=int)
        strata.append(first + (single if design.strata is None else design.strata))
        labels.append(design.labels_of_strata)
        first += len(labels[-1])
    clusters = [each for each in withins if not each.rows_are_units]
    if 0 < len(clusters) < len(parts):
        raise ValueError(
            "reports must all have groups or none, got some of either kind"
        )
    if clusters and not all(design.has_replicates for design in designs):
        raise ValueError("reports must have two groups or more each, got one")
    together = Rows.concatenate([rows.per_row() for rows, _ in parts])
    within: IndependentRows | Clusters = IndependentRows(together.n_samples)
    if clusters:
        scaled = [
            each.times(rows.n_samples / float(rows.weights.sum()))
            for each, (rows, _) in zip(clusters, parts, strict=True)
        ]
        within = join_clusters(scaled, [len(rows) for rows, _ in parts])
    return together, Strata(np.concatenate(strata), within, np.concatenate(labels))
