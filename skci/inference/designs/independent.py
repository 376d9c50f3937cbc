"""Rows that are independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from skci._arrays import Array, dataclass
from skci.inference.designs.design import Component, SampleDesign
from skci.inference.influences import Influences


@dataclass(frozen=True)
class IndependentRows(SampleDesign):
    """Each row is an independent unit."""

    n_units: int
    ddof: int = 1
    pools_units: ClassVar[bool] = True
    rows_are_units: ClassVar[bool] = True
    counts_suffice: ClassVar[bool] = True

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
