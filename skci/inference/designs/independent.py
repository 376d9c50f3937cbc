"""Rows that are independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from skci._arrays import Array
from skci.inference.designs.design import Component
from skci.inference.influences import Influences


@dataclass(frozen=True)
class IndependentRows:
    """Each row is an independent unit."""

    n_units: int
    ddof: int = 1
    pools_units: ClassVar[bool] = True
    """Whether units with the same influence values may be united."""
    rows_are_units: ClassVar[bool] = True
    """Whether each row is an independent unit."""
    counts_suffice: ClassVar[bool] = True
    """Whether rows that are alike may be counted: order does not matter."""

    def components(self, influences: Influences) -> Iterator[Component]:
        yield Component(influences, repeats=influences.rows.repeats, ddof=self.ddof)

    def regrouped(self, unit: Array) -> IndependentRows:
        """The same for units that are united."""
        return self

    def of_population(self, n: int) -> IndependentRows:
        """The same of n rows, which are all there are."""
        return replace(self, n_units=n, ddof=0)

    def merged(
        self, parts: Sequence[tuple[IndependentRows, float, int]], unit: Array
    ) -> IndependentRows:
        """Unite parts of a sample; see `Clusters.merged`."""
        return replace(self, n_units=sum(design.n_units for design, *_ in parts))

    def __str__(self) -> str:
        return ""
