"""A parameter: what an estimate and its interval are of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.methods import METHODS, IntervalMethod
from skci.measures.functional import Boundary, Evaluation, Functional, Support
from skci.measures.registry import EDGE, Trait

__all__ = [
    "DEFAULT_RULE",
    "MAX_ENUMERATED_CELLS",
    "CellMap",
    "GivenParameter",
    "Key",
    "Parameter",
    "TableParameter",
]

_NO_DERIVATIVE = 1e20
"""A derivative beyond this does not exist."""
_ROUNDING = 1e-9
"""How far rounding may take an estimate out of its range."""

MAX_ENUMERATED_CELLS = 256
"""Largest table all of whose cells are enumerated, unobserved ones included."""

DEFAULT_RULE = "y_pred"
"""Default rule name."""


@dataclass(frozen=True)
class Key:
    """What a parameter is of; the columns of a report are read from it.

    Parameters
    ----------
    metric, rule : str
        Names of the metric and of the rule.
    subgroup : tuple of (str, str)
        Names of a column and of the subgroup in it, for each column of `by`.
    sample : str
        Name of the test set or fold, where there are several.
    compared : (str, str, str), optional
        For a difference or ratio: what is compared, "-" or "/", and with what.
    contrast : str
        Name of a contrast that the user defined.
    """

    metric: str = ""
    rule: str = ""
    subgroup: tuple[tuple[str, str], ...] = ()
    sample: str = ""
    compared: tuple[str, str, str] | None = None
    contrast: str = ""

    @property
    def labels(self) -> dict[str, str]:
        """Names of the parameter by column of a report."""
        if self.contrast:
            return {"contrast": self.contrast}
        rule = " ".join(filter(None, [self.sample, self.rule]))
        named = {"metric": self.metric, **dict(self.subgroup)}
        if self.compared is None:
            return {"rule": rule, **named}
        first, _, second = self.compared
        compared = {**named, "first": first, "second": second}
        return {"rule": rule, **compared} if rule else compared

    @property
    def is_contrast(self) -> bool:
        """Whether it is of a difference, a ratio or another contrast."""
        return bool(self.contrast) or self.compared is not None

    @property
    def name(self) -> str:
        """Name of the rule, of the contrast, or of what is compared."""
        rule = self.contrast or self.labels.get("rule", "")
        compared = " ".join(self.compared or ())
        return ", ".join(filter(None, [rule, compared]))

    @property
    def title(self) -> str:
        """Name of the metric, or of the contrast."""
        return self.contrast or self.metric

    @property
    def panel(self) -> str:
        """Name of what rules are compared on: the metric, in a subgroup."""
        return ", ".join([self.title, *self._subgroups])

    @property
    def _subgroups(self) -> list[str]:
        return [f"{column} = {name}" for column, name in self.subgroup]

    def __str__(self) -> str:
        """Name the parameter in a message, as "f1 of Logistic - Stump"."""
        parts = [self.title, "" if self.contrast else self.name]
        return ", ".join([" of ".join(filter(None, parts)), *self._subgroups])


@dataclass(frozen=True, eq=False)
class CellMap:
    """Map from the labels of a unit to a cell of a parameter's table.

    Parameters
    ----------
    columns : tuple of int
        Columns of label codes that the cell depends on.
    symbols : tuple of int arrays
        For each column the symbol of each code: codes that a measure does not
        distinguish have one symbol.
    cells : int array with an axis for each column
        Cell for each combination of symbols; `size` where there is none.
    size : int
        Number of cells.
    subgroup : int, optional
        Code of the subgroup that a unit must be in.
    sample : int
        Which of several independent samples a unit must be of.
    """

    columns: tuple[int, ...]
    symbols: tuple[Array, ...]
    cells: Array
    size: int
    subgroup: int | None = None
    sample: int = 0

    def __call__(self, codes: dict[int, Array]) -> Array:
        """Cell for label codes, by column."""
        pairs = zip(self.columns, self.symbols, strict=True)
        cells: Array = self.cells[
            tuple(symbols[codes[column]] for column, symbols in pairs)
        ]
        return cells

    @property
    def units(self) -> tuple[int, int | None]:
        """Which units have a cell; those of two maps are the same or disjoint."""
        return self.sample, self.subgroup


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameter(ABC):
    """A parameter, and what inference needs to know of its estimate.

    Parameters
    ----------
    key : Key
    trait : Trait
    method : str
        Key of ``METHODS``.
    pos_label : label, optional
        The positive label, where there is one.
    undefined_as : float
        Estimate to report where the measure is undefined.
    extension : (float, float)
        Extension of the interval below and above for undefined classes.
    """

    key: Key
    trait: Trait
    method: str
    pos_label: Any = None
    undefined_as: float = np.nan
    extension: tuple[float, float] = (0.0, 0.0)

    @property
    @abstractmethod
    def value(self) -> float:
        """Value of the measure; NaN where it is undefined."""

    @property
    def interval_method(self) -> IntervalMethod:
        """Interval method of the parameter."""
        return METHODS[self.method]

    @property
    def defined(self) -> bool:
        """Whether the measure is defined on the data."""
        return not math.isnan(self.value)

    @property
    def estimate(self) -> float:
        """Value of the measure, or what is reported where it is undefined."""
        return self.value if self.defined else self.undefined_as

    @property
    def boundary(self) -> list[Boundary]:
        """Components whose estimate lies on the boundary of their range."""
        return []

    @property
    def is_on_boundary(self) -> bool:
        """Whether it is an area on the boundary of its range, or made of such."""
        return False

    @property
    def support(self) -> Support:
        """Which rows its variance is estimated from."""
        return Support()

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenParameter(Parameter):
    """A parameter whose estimate is given.

    Parameters
    ----------
    given : float
        The estimate.
    **others
        See `Parameter`.
    """

    given: float

    @property
    def value(self) -> float:
        return self.given


@dataclass(frozen=True, eq=False, kw_only=True)
class TableParameter(Parameter):
    """A parameter that is a functional of a table: a measure of a rule, a contrast.

    Parameters
    ----------
    functional : Functional
    counts : array of shape (m,)
        Counts of the cells of its table, zero counts included.
    index : int array of shape (units,)
        Cell of each unit of the sample; m for units that it does not depend on.
    cell_map : CellMap, optional
        Map from labels to cells, where the possible outcomes can be enumerated.
    smoothing : array of shape (m,)
        Pseudo-counts of methods that linearise at a table without empty cells: two
        rows in all, half a row in every cell of a binary table.
    components : tuple of TableParameter
        The parameters that a contrast is made of.
    **others
        See `Parameter`.
    """

    functional: Functional
    counts: Array
    index: Array
    smoothing: Array
    cell_map: CellMap | None = None
    components: tuple[TableParameter, ...] = ()

    @property
    def size(self) -> int:
        """Number of cells of its table."""
        return len(self.counts)

    @cached_property
    def units(self) -> Array:
        """Which units of the sample are in its table."""
        units: Array = self.index < self.size
        return units

    @cached_property
    def sees_all(self) -> bool:
        """Whether it, and all it is made of, depends on all units of the sample."""
        return bool(self.units.all()) and all(c.sees_all for c in self.components)

    @cached_property
    def value(self) -> float:
        """Value of the measure; NaN where it is undefined."""
        counts = self.counts
        cells = counts if self.trait.scale_free else counts / counts.sum()
        value = float(self.functional.estimate(cells))
        low, high = self.trait.bounds
        if value < low - _ROUNDING or value > high + _ROUNDING:
            raise ValueError(
                f"bounds of {self.trait.name!r} must hold its values, got "
                f"{value:g} outside of ({low:g}, {high:g})"
            )
        return min(max(value, low), high)

    @property
    def weights(self) -> Array:
        """Weights of the cells at which the functional is linearised."""
        smoothed = self.interval_method.smooths
        counts = self.counts + self.smoothing if smoothed else self.counts
        weights: Array = counts / counts.sum()
        return weights

    @property
    def smoothed_weights(self) -> Array:
        """Weights of the cells with pseudo-counts, whatever the method."""
        counts = self.counts + self.smoothing
        total = counts.sum()
        weights: Array = counts / total if total else counts
        return weights

    @cached_property
    def linearised(self) -> Evaluation:
        """Influence values and gradient where the method wants them."""
        return self.functional(self.weights)

    @property
    def multinomial_variance(self) -> float:
        """Variance of the estimate under a multinomial with the linearised weights."""
        return float(self.weights @ self.linearised.influence**2 / self.counts.sum())

    @cached_property
    def steepness(self) -> float:
        """Largest derivative in a moment, on the scale of the interval."""
        steepest = float(np.abs(self.linearised.gradient).max())
        if self.interval_method.smooths:
            return steepest
        return steepest * max(float(self.trait.scale.slope(self.value)), 1.0)

    @property
    def is_linear(self) -> bool:
        """Whether the functional is defined and has a linear approximation."""
        if not self.defined:
            return False
        if self.interval_method.smooths:
            return True
        finite = math.isfinite(self.value) and math.isfinite(self.steepness)
        return finite and self.steepness < _NO_DERIVATIVE

    @cached_property
    def support(self) -> Support:
        return self.functional.support(self.counts)

    @cached_property
    def boundary(self) -> list[Boundary]:
        """Components on the boundary, for methods that estimate their variance."""
        observed = self.interval_method.variance == "observed"
        return (
            self.functional.boundary(self.counts) if observed and self.is_linear else []
        )

    @cached_property
    def is_on_boundary(self) -> bool:
        if self.components:
            return all(component.is_on_boundary for component in self.components)
        at_end = min(self.value, 1 - self.value) <= EDGE
        return bool(self.boundary) and self.support.rarer_class > 0 and at_end
