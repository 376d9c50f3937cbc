"""Designs of all rows that were given, of which some have no weight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.designs.design import Component, Design, SampleDesign
from skci.inference.influences import Influences


@dataclass(frozen=True, eq=False)
class RowwiseDesign(SampleDesign):
    """A design that has values of its own for each of n rows."""

    design: Design
    kept: Any
    """Index of the rows that have weight, which are the units of the sample."""
    n: int

    @property
    def n_units(self) -> int:
        """Number of independent units."""
        return self.design.n_units

    @property
    def kinds_of_units(self) -> str:
        return getattr(self.design, "kinds_of_units", super().kinds_of_units)

    def components(self, influences: Influences) -> Iterable[Component]:
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
        return checked

    def small_sample_reason(self, influences: Influences) -> str:
        reason = getattr(self.design, "small_sample_reason", None)
        return reason(self._of_rows(influences)) if reason else ""

    def _of_rows(self, influences: Influences) -> Array:
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


def _check_component(component: Any, n_columns: int, must: str) -> Component:
    """Check totals of influence values, a column for each of the parameters."""
    if not isinstance(component, Component):
        raise TypeError(
            f"{must}: an iterable of Component, got one of {type(component).__name__}"
        )
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
    for name in ("blocks", "sizes"):
        values = getattr(component, name)
        if values is not None and np.shape(values) != totals.shape[:1]:
            raise ValueError(
                f"{must} with {name} of shape {totals.shape[:1]}, one for each unit of "
                f"totals, got shape {np.shape(values)}"
            )
    return replace(component, totals=totals)
