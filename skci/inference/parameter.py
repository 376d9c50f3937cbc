"""A parameter: what an estimate and its interval are of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci._validation import printable
from skci.inference.agreement import Agreement
from skci.inference.intervals.methods import INTERVALS, IntervalMethod
from skci.measures.functional import Boundary, Evaluation, Functional, Negative, Support
from skci.measures.traits import EDGE, Trait

_SEES_ALL = attrgetter("sees_all")
_NO_DERIVATIVE = 1e20  # a derivative beyond this does not exist
_ROUNDING = 1e-9  # how far rounding may take an estimate out of its range

MAX_ENUMERATED_CELLS = 256
"""Largest table all of whose cells are enumerated, unobserved ones included."""

_KEPT = (  # of a trait
    "name",
    "bounds",
    "greater_is_better",
    "has_better",
    "reads",
    "scale",
    "undefined_by",
    "automatic",
    "has_curvature",
    "negative_of",
    "heavy_tails",
)

CANCELLED = 1e-12
"""Share of the terms of a coefficient that is rounding."""

DEFAULT_MODEL = "y_pred"
"""Default model name."""


@dataclass(frozen=True)
class Key:
    """What a parameter is of; the columns of a report are read from it."""

    metric: str = ""
    model: str = ""
    subgroup: tuple[tuple[str, str], ...] = ()
    """Names of a column and of the subgroup in it, for each column of `by`."""
    sample: str = ""
    """Name of the test set or fold, where there are several."""
    compared: tuple[str, str, str] | None = None
    """For a difference or ratio: what is compared, "-" or "/", and with what."""
    contrast: str = ""
    """Name of a contrast that the user defined."""
    factor: str = "model"
    """Column of reports that `model` is in, where it names something else."""

    @property
    def labels(self) -> dict[str, str]:
        """Names of the parameter by column of a report."""
        if self.contrast:
            return {"contrast": self.contrast}
        model = " ".join(filter(None, [self.sample, self.model]))
        labels = {"metric": self.metric, **dict(self.subgroup)}
        if self.compared is not None:
            labels["first"], _, labels["second"] = self.compared
        if model or self.compared is None:
            return {self.factor: model, **labels}
        return labels

    @property
    def is_contrast(self) -> bool:
        """Whether it is of a difference, a ratio or another contrast."""
        return bool(self.contrast) or self.compared is not None

    @property
    def name(self) -> str:
        """Name of the model, of the contrast, or of what is compared."""
        model = self.contrast or self.labels.get(self.factor, "")
        compared = " ".join(self.compared or ())
        return ", ".join(filter(None, [model, compared]))

    @property
    def title(self) -> str:
        """Name of the metric, or of the contrast."""
        return self.contrast or self.metric

    @property
    def panel(self) -> str:
        """Name of what models are compared on: the metric, in a subgroup."""
        return ", ".join([self.title, *self.subgroup_names])

    def level(self, factor: str) -> str:
        """Name of the model, or of the subgroup."""
        if factor == "model":
            return self.name
        return ", ".join(name for _, name in self.subgroup)

    def without(self, factor: str) -> Key:
        """Key of what is compared: without the model, or without the subgroup."""
        if factor == "model":
            return replace(self, model="", sample="")
        return replace(self, subgroup=())

    @property
    def reverse(self) -> Key:
        """Key of a difference or ratio the other way round; itself for others."""
        return replace(self, compared=self.compared and self.compared[::-1])

    @property
    def subgroup_names(self) -> list[str]:
        """Name of the subgroup in each column, with that of the column."""
        return [f"{column} = {name}" for column, name in self.subgroup]

    def __str__(self) -> str:
        """Name the parameter in a message, as "f1 of Logistic - Stump"."""
        parts = [self.title, "" if self.contrast else self.name]
        text = ", ".join([" of ".join(filter(None, parts)), *self.subgroup_names])
        return printable(text)


Contrast = tuple[Key, Mapping[int, float]]
"""Name of a contrast, and the coefficients of parameters by their positions."""

Contrasts = Sequence[Contrast]


@dataclass(frozen=True, eq=False)
class CellMap:
    """Map from the labels of a unit to a cell of a parameter's table."""

    columns: tuple[int, ...]
    """Columns of label codes that the cell depends on."""
    symbols: tuple[Array, ...]
    """Symbol of each code by column, the same for codes that are not distinguished, and
    -1 for labels that do not occur."""
    cells: Array
    """Cell for each combination of symbols, an axis each; `size` if there is none."""
    size: int
    subgroups: frozenset[int] | None = None
    """Codes of the subgroups that a unit must be in one of."""
    sample: int = 0
    """Which of several independent samples a unit must be of."""

    def __call__(self, *codes: Array) -> Array:
        """Cell for label codes, an array for each of the columns."""
        index = []
        for code, symbols in zip(codes, self.symbols, strict=True):
            index.append(symbols[code.view(np.uint8) if code.dtype == bool else code])
        cells: Array = self.cells[tuple(index)]
        return cells

    def among(self, subgroups: frozenset[int]) -> CellMap:
        """Return the same map for units in one of some subgroups."""
        if subgroups not in self._parts:
            self._parts[subgroups] = replace(self, subgroups=subgroups)
        return self._parts[subgroups]

    @cached_property
    def _parts(self) -> dict[frozenset[int], CellMap]:
        return {}

    @cached_property
    def content(self) -> tuple[Any, ...]:
        """The map but for its columns and units, to be compared with others."""
        symbols = tuple(each.tobytes() for each in self.symbols)
        return symbols, self.cells.tobytes(), self.cells.shape, self.size

    def covers(self, sample: int, subgroup: int | None) -> bool:
        """Whether the units of a sample, or of a subgroup of it, have a cell."""
        inside = self.subgroups is None or subgroup in self.subgroups
        return inside and self.sample == sample


class Clipped(NamedTuple):
    """Number of rows whose loss is that of a clipped probability, and their share."""

    n: float
    n_samples: float
    share: float
    eps: float


class SubgroupSize(NamedTuple):
    """Number of rows, and of positive ones where there are two labels."""

    n: int
    positives: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameter:
    """A parameter with a given estimate, and what inference needs to know of it."""

    key: Key
    trait: Trait
    method: str
    """Key of ``INTERVALS``."""
    given: float = np.nan
    """The estimate, where it does not follow from a table."""
    pos_label: Any = None
    """The positive label, where there is one and it is not 1 of 0 and 1."""
    subgroup_size: SubgroupSize | None = None
    """Of what it is estimated from, where that is a subgroup of the rows."""
    undefined_as: float = np.nan
    """Estimate to report where the measure is undefined."""
    components: tuple[Parameter, ...] = ()
    """The parameters that a contrast is made of."""
    coefficients: tuple[float, ...] = ()
    """Their coefficients, or those of their logarithms in a ratio."""
    extension: tuple[float, float] = (0.0, 0.0)
    """Extension of the interval below and above for undefined classes."""
    undefined_classes: Mapping[str, float] = field(default_factory=dict)
    """Their weights in the average, by name."""
    size_limit: str = ""
    """What the default method of smaller tables would need, where it is another."""
    clipped: Clipped | None = None
    """Rows whose losses depend on where probabilities are clipped."""
    binning_error: float = 0.0
    """Largest difference to the estimate from scores that are not in bins, which the
    extension covers."""
    by_pair: bool = False
    """Whether it is a mean of which contrasts are of the units that all have."""
    agreement: Agreement | None = None
    """Agreement of two models that are compared, if they agree in all rows."""

    @property
    def value(self) -> float:
        """Value of the measure; NaN where it is undefined."""
        return self.given

    @cached_property
    def interval_method(self) -> IntervalMethod:
        """Interval method of the parameter."""
        return INTERVALS[self.method]

    @cached_property
    def defined(self) -> bool:
        """Whether the measure is defined on the data."""
        return not math.isnan(self.value)

    @property
    def estimate(self) -> float:
        """Value of the measure, or what is reported where it is undefined."""
        return self.value if self.defined else self.undefined_as

    @property
    def is_negated(self) -> bool:
        """Whether it is of a measure times -1."""
        return self.trait.negative_of is not None

    @property
    def unsigned(self) -> tuple[Trait, float, int]:
        """Trait and estimate of the measure, and -1 if it is taken times that."""
        measure = self.trait.negative_of
        if measure is None:
            return self.trait, self.estimate, 1
        return measure, -self.estimate, -1

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
class TableParameter(Parameter):
    """A parameter that is a functional of a table: a measure of a model, a contrast."""

    functional: Functional
    counts: Array
    """Counts of the m cells of its table, zero counts included."""
    index: Array
    """Cell of each unit of the sample; m for units that it does not depend on."""
    smoothing: Array | float
    """Pseudo-counts of the m cells, or of each, of methods that linearise at a table
    without empty ones: two rows in all, half a row in every cell of a binary table."""
    cell_map: CellMap | None = None
    """Map from labels to cells, where the possible outcomes can be enumerated."""
    extremes: tuple[int, int] | None = None
    """Cells of the least and greatest possible value, of a mean of bounded values."""
    components: tuple[TableParameter, ...] = ()

    def with_method(self, method: str) -> TableParameter:
        """Return the parameter with another interval method."""
        if method == self.method:
            return self
        if method not in self._others:
            self._others[method] = replace(self, method=method)
        return self._others[method]

    @cached_property
    def _others(self) -> dict[str, TableParameter]:
        return {}

    def among(self, units: Array, counts: Array) -> TableParameter:
        """Return the parameter on some of its units, of which counts are given."""
        if np.array_equal(units, self.units):
            return self
        key = units.tobytes()
        if key not in self._parts:
            index = np.where(units, self.index, self.size)
            table = np.bincount(index, counts, self.size + 1)[: self.size]
            self._parts[key] = replace(self, counts=table, index=index)
        return self._parts[key]

    @cached_property
    def _parts(self) -> dict[bytes, TableParameter]:
        return {}

    def negated(self) -> TableParameter:
        """Return the parameter times -1."""
        return replace(
            self,
            trait=self.trait.negated(),
            functional=Negative(self.functional),
            undefined_as=-self.undefined_as,
            extension=self.extension[::-1],
            extremes=self.extremes and self.extremes[::-1],
        )

    @property
    def allows_for_unseen_ends(self) -> bool:
        """Whether an end of the range has a probability that no row shows."""
        if self.method != "score" or self.extremes is None:
            return False
        return not self.counts[list(self.extremes)].all()

    @property
    def size(self) -> int:
        """Number of cells of its table."""
        return len(self.counts)

    @cached_property
    def total(self) -> float:
        """Number of rows in its table, by their weights."""
        return float(self.counts.sum())

    @cached_property
    def units(self) -> Array:
        """Which units of the sample are in its table."""
        return self.index < self.size

    @cached_property
    def sees_all(self) -> bool:
        """Whether it, and all it is made of, depends on all units of the sample."""
        return bool(self.units.all()) and all(map(_SEES_ALL, self.components))

    @cached_property
    def value(self) -> float:
        counts = self.counts
        cells = counts if self.trait.scale_free else counts / self.total
        value = float(self.functional.estimate(cells))
        low, high = self.trait.range_of_estimator
        if value < low - _ROUNDING or value > high + _ROUNDING:
            raise ValueError(
                f"bounds of {self.trait.name!r} must hold its values, got "
                f"{value:g} outside of ({low:g}, {high:g})"
            )
        return min(max(value, low), high)

    @property
    def weights(self) -> Array:
        """Weights of the cells at which the functional is linearised."""
        if self.interval_method.smooths:
            return self.smoothed_weights
        return self.counts / self.total

    @property
    def smoothed_weights(self) -> Array:
        """Weights of the cells with pseudo-counts, whatever the method."""
        counts = self.counts + self.smoothing
        total = counts.sum()
        return counts / total if total else counts

    @cached_property
    def linearised(self) -> Evaluation:
        """Influence values and gradient where the method wants them."""
        return self.functional(self.weights)

    @property
    def smoothed_influence(self) -> Array:
        """Influence values at the table with pseudo-counts, zero where not finite."""
        influence = self.functional(self.smoothed_weights).influence
        return np.nan_to_num(influence, posinf=0.0, neginf=0.0)

    @property
    def has_influence(self) -> Array:
        """Which cells of that table have influence values that are not zero."""
        return self.functional(self.smoothed_weights).has_influence

    @cached_property
    def steepness(self) -> float:
        """Largest derivative in a moment."""
        return float(np.abs(self.linearised.gradient).max())

    @cached_property
    def is_linear(self) -> bool:
        """Whether the functional is defined and has a linear approximation.

        It has a derivative, also on the scale of the interval.
        """
        if not self.defined or self.interval_method.smooths:
            return self.defined
        if not math.isfinite(self.value):
            return False
        if math.isinf(self.trait.scale.slope(self.value)):
            return False
        return self.steepness < _NO_DERIVATIVE * max(abs(self.value), 1.0)

    @cached_property
    def support(self) -> Support:
        return self.functional.support(self.counts)

    @cached_property
    def boundary(self) -> list[Boundary]:
        """Components on the boundary, for methods that estimate their variance."""
        method = self.interval_method
        if method.adds_variance or not self.is_linear:
            return []
        return self.functional.boundary(self.counts)

    @cached_property
    def is_on_boundary(self) -> bool:
        if self.components:
            return all(component.is_on_boundary for component in self.components)
        low, high = self.trait.range_of_estimator
        is_close = min(self.value - low, high - self.value) <= EDGE
        return bool(self.boundary) and self.support.rarer_class > 0 and is_close


def given_parameter(parameter: Parameter, estimate: float) -> Parameter:
    """Parameter with a given estimate in place of a table."""
    low, high = parameter.trait.bounds
    kept = {name: getattr(parameter.trait, name) for name in _KEPT}
    return Parameter(
        key=parameter.key,
        trait=Trait(**kept, smooth=False),
        method=parameter.method,
        given=min(max(estimate, low), high),
        pos_label=parameter.pos_label,
        clipped=parameter.clipped,
        undefined_as=parameter.undefined_as,
    )
