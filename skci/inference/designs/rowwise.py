"""Designs of all rows that were given, of which some have no weight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array
from skci.inference.designs.design import Component, Design
from skci.inference.influences import Influences


@dataclass(frozen=True, eq=False)
class RowwiseDesign:
    """A design that has values of its own for each of n rows."""

    design: Design
    kept: Any
    """Index of the rows that have weight, which are the units of the sample."""
    n: int
    rows_are_units: ClassVar[bool] = False

    @property
    def n_units(self) -> int:
        """Number of independent units."""
        return self.design.n_units

    def components(self, influences: Influences) -> Iterable[Component]:
        values: Array = np.zeros((self.n, influences.shape[1]))
        values[self.kept] = influences
        return self.design.components(values)

    def regrouped(self, unit: Array) -> Design:
        """Not possible: rows cannot be united."""
        raise ValueError(f"rows cannot be united with the design {self.design}")

    def __str__(self) -> str:
        return str(self.design)
