"""Designs of all rows that were given, of which some have no weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, dataclass
from skci._validation import check_integer
from skci.inference.designs.design import (
    Component,
    Design,
    SampleDesign,
    SmallSampleReason,
)
from skci.inference.designs.independent import IndependentRows
from skci.inference.designs.strata import Strata
from skci.inference.influences import Influences

_BY_UNIT: dict[str, tuple[int, ...]] = {"blocks": (), "sizes": (), "repeats": (4,)}
"""Fields of a component with a number for each unit, and their leading dimensions."""


def with_columns(design: Any, columns: Mapping[str, Any]) -> Any:
    """Copy of a design with other columns, by their names, also if it is frozen."""
    changed = copy(design)
    for name, values in columns.items():
        object.__setattr__(changed, name, values)
    return changed


@dataclass(frozen=True, eq=False)
class RowwiseDesign(SampleDesign):
    """A design that has values of its own for each of n rows."""

    design: Design
    kept: Any
    """Index of the rows that have weight, which are the units of the sample."""
    n: int
    ddof: ClassVar[int] = 1

    @classmethod
    def of_kept(cls, design: Any, kept: Any, n: int) -> RowwiseDesign:
        """A design of n rows, of which some have weight; `kept` is ... if all have.

        Rows without weight are left out of its columns, so that what it counts are
        units that have rows; not out of series, where time passes in them as well.
        """
        columns = getattr(design, "columns", ())
        if kept is ... or not columns or hasattr(design, "with_series"):
            return cls(design, kept, n)
        some = {name: np.asarray(getattr(design, name))[kept] for name in columns}
        return cls(with_columns(design, some), ..., len(some[columns[0]]))

    @property
    def n_units(self) -> int:
        """Number of independent units."""
        return self.design.n_units

    @property
    def kinds_of_units(self) -> str:
        return getattr(self.design, "kinds_of_units", super().kinds_of_units)

    def components(self, influences: Influences | Array) -> Iterable[Component]:
        values = self._of_rows(influences)
        components = self.design.components(values)
        must = f"design {self.name} must give components"
        if not isinstance(components, Iterable):
            raise TypeError(
                f"{must}: an iterable of Component, got {type(components).__name__}"
            )
        checked = [_check_component(each, values.shape[1], must) for each in components]
        if not checked:
            raise ValueError(f"{must}: at least one Component, got none")
        if not any(each.sign > 0 and not each.is_known for each in checked):
            raise ValueError(
                f"{must}: at least one of sign 1 that is not known, got none"
            )
        return checked

    def check(self) -> None:
        """Check the number of units, and the components of some influence values."""
        check_integer(self.n_units, f"n_units of design {self.name}")
        self.components(self.trial)

    @property
    def kept_rows(self) -> Array:
        """Positions of the rows that have weight."""
        rows: Array = np.arange(self.n)[self.kept]
        return rows

    @property
    def trial(self) -> Array:
        """Some influence values of the rows that have weight."""
        return np.linspace(-1, 1, len(self.kept_rows))[:, np.newaxis]

    def small_sample_reason(self, influences: Influences) -> str | SmallSampleReason:
        reason = getattr(self.design, "small_sample_reason", None)
        return reason(self._of_rows(influences)) if reason else ""

    def _of_rows(self, influences: Influences | Array) -> Array:
        """Influence values of all rows, zero of those without weight."""
        values: Array = np.zeros((self.n, influences.shape[1]))
        values[self.kept] = influences
        return values

    @property
    def name(self) -> str:
        """Name of the class of the design."""
        return type(self.design).__name__

    def __str__(self) -> str:
        describes = type(self.design).__str__ is not object.__str__
        return str(self.design) if describes else f"by design {self.name}"


class RowwiseStrata(Strata):
    """Strata of independent rows, whose components are those of a design of rows."""

    within: Any
    counts_suffice: ClassVar[bool] = False
    rows_are_units: ClassVar[bool] = True

    @property
    def within_strata(self) -> RowwiseStrata:  # type: ignore[override]
        return self

    def check(self) -> None:
        """Check the components of some influence values."""
        next(self.components(self.within.trial))

    def components(self, influences: Any) -> Iterator[Component]:
        component, *others = self.within.components(influences)
        values = self.within._of_rows(influences)
        totals = component.totals
        if others or totals.shape != values.shape or not np.allclose(totals, values):
            raise ValueError(
                f"design {self.within.name} with stratum must give one component, "
                "whose totals are the influence values of the rows, as tables of "
                "strata have that variance; without stratum they may be others, as "
                "with a finite population correction"
            )
        yield self._of_kept(component)

    def _of_kept(self, component: Component) -> Component:
        """Component of the rows that have weight, each of which is a unit."""
        kept = self.within.kept_rows
        of_kept: dict[str, Any] = {"totals": component.totals[kept]}
        for name in _BY_UNIT:
            values = getattr(component, name)
            of_kept[name] = None if values is None else values[..., kept]
        return replace(component, **of_kept)

    def small_sample_reason(self, influences: Influences) -> str | SmallSampleReason:
        return self.within.small_sample_reason(influences)

    def of_population(self, n: int) -> Strata:
        return Strata(self.strata, IndependentRows(n), self.labels).of_population(n)

    def __str__(self) -> str:
        return str(self.within)


def _check_component(component: Any, n_columns: int, must: str) -> Component:
    """Check totals of influence values, a column for each of the parameters."""
    if not isinstance(component, Component):
        raise TypeError(
            f"{must}: an iterable of Component, got one of {type(component).__name__}"
        )
    df = component.degrees_of_freedom
    if not (df is None or df > 0):
        raise ValueError(f"{must} with degrees_of_freedom above 0 or None, got {df!r}")
    totals = np.asarray(component.totals)
    if totals.dtype.kind not in "biuf" or not np.isfinite(totals).all():
        raise ValueError(f"{must} with totals that are finite numbers")
    if component.sign not in (1, -1):
        raise ValueError(f"{must} with sign 1 or -1, got {component.sign!r}")
    if totals.ndim != 2 or not len(totals) or totals.shape[1] != n_columns:
        raise ValueError(
            f"{must} with totals of shape (units, {n_columns}), as many columns as "
            f"influences has, got shape {totals.shape}"
        )
    by_unit: dict[str, Any] = {}
    for name, leading in _BY_UNIT.items():
        if getattr(component, name) is not None:
            values = by_unit[name] = np.asarray(getattr(component, name))
            shape = (*leading, len(totals))
            if values.shape != shape:
                raise ValueError(
                    f"{must} with {name} of shape {shape}, one for each unit of "
                    f"totals, got shape {values.shape}"
                )
            if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
                raise ValueError(f"{must} with {name} that are finite numbers")
    blocks = by_unit.get("blocks", np.zeros(1, int))
    if blocks.dtype.kind not in "iu" or blocks.min() < 0:
        raise ValueError(
            f"{must} with blocks that are whole numbers from 0 on, got "
            f"{blocks.dtype} from {blocks.min()}"
        )
    return replace(component, totals=totals, **by_unit)
