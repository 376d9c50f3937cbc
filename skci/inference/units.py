"""Which units of a sample inform a parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.design import Design
from skci.inference.parameter import TableParameter
from skci.inference.stratified import (
    NO_INFLUENCE,
    StratifiedTable,
    stratified_table,
)

_FEW = 5  # rows in a cell that do not show how common it is
_HEAVY = 2.0  # weight of the rows of a stratum over that of all that is large


@dataclass(frozen=True, eq=False)
class InformativeUnits:
    """Units, clusters and strata that parameters of a sample are estimated from."""

    design: Design

    def count(self, parameter: TableParameter) -> int:
        """Rows, or clusters, in the table; for a contrast of the least component."""
        if parameter.components:
            return min(map(self.count, parameter.components))
        return self.design.n_clusters(parameter.units)

    def with_influence(self, parameter: TableParameter) -> Array:
        """Which units have influence on the estimate."""
        influence = parameter.smoothed_influence
        units: Array = np.append(np.abs(influence) > NO_INFLUENCE, False)
        return units[parameter.index]

    def classes(self, parameter: TableParameter) -> list[Array]:
        """Units of each class of an area; the one that is known less well limits it.

        For other parameters, those with influence on the estimate.
        """
        return self.classes_of_area(parameter) or [self.with_influence(parameter)]

    def classes_of_area(self, parameter: TableParameter) -> list[Array]:
        """Units of each class of an area; none for other parameters."""
        return [each[parameter.index] for each in self.cells_of_area(parameter)]

    def cells_of_area(self, parameter: TableParameter) -> list[Array]:
        """Which cells are of each class of an area; the last is outside its table."""
        return [np.append(each, False) for each in parameter.support.classes]

    def are_simple(self, parameter: TableParameter) -> bool:
        """Whether the rows in the table are a simple random sample, of one stratum."""
        simple = self.design.is_simple_among(self.drawn(parameter))
        return simple and not self.span_strata(parameter)

    def drawn(self, parameter: TableParameter) -> Array:
        """Units in the table that are of strata in which the parameter varies."""
        if self.design.strata is None:
            return parameter.units
        return parameter.units & self.design.strata_of(self._varying(parameter))

    def span_strata(self, parameter: TableParameter) -> bool:
        """Whether a parameter, or a component of it, varies in several strata."""
        if self.design.strata is None:
            return False
        if parameter.components:
            return any(map(self.span_strata, parameter.components))
        return self.design.spans_strata(self._varying(parameter))

    def _varying(self, parameter: TableParameter) -> Array:
        """Units of strata within which possible rows differ in influence.

        Where these are not enumerated, those with influence on the estimate.
        """
        table = self.table(parameter)
        if table is None:
            return self.with_influence(parameter)
        return self.design.in_strata(table.varying)

    def table(self, parameter: TableParameter) -> StratifiedTable | None:
        """Table by stratum; None without strata, or where it is not enumerated."""
        if parameter not in self._tables:
            self._tables[parameter] = stratified_table(parameter, self.design)
        return self._tables[parameter]

    def has_sparse_stratum(self, parameter: TableParameter) -> bool:
        """Whether few rows with a large weight tell how common a cell is in a stratum.

        Where there is a table by stratum the interval allows for that.
        """
        design, size = self.design, parameter.size
        if not self.span_strata(parameter) or self.table(parameter) is not None:
            return False
        occurs = parameter.counts > 0
        for units in design.strata_units():
            frequencies = design.frequencies[units]
            rows = np.bincount(parameter.index[units], frequencies, size + 1)[:size]
            weight = design.weights[units].sum() / design.weights.sum()
            share = frequencies.sum() / design.n_samples
            if weight > _HEAVY * share and rows[occurs].min(initial=np.inf) < _FEW:
                return True
        return False

    @cached_property
    def _tables(self) -> dict[TableParameter, StratifiedTable | None]:
        return {}
