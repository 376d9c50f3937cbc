"""Parameters: quantities to estimate, with the tables of their counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci._validation import printable
from skci.inference.intervals.methods import INTERVALS, IntervalMethod
from skci.measures.functional import (
    Boundary,
    Evaluation,
    FixedValueFunctional,
    Functional,
    InformativeRows,
    Negative,
)
from skci.measures.traits import EDGE, MeasureProperties

_NO_DERIVATIVE = 1e20  # a derivative beyond this does not exist
_ROUNDING = 1e-9  # largest distance of an estimate from its range by rounding

MAX_ENUMERATED_CELLS = 256
"""Largest number of possible outcomes that are all enumerated in a table."""

CANCELLED = 1e-12
"""Relative size of a sum of coefficients that counts as zero."""

DEFAULT_MODEL = "y_pred"
"""Default model name."""


@dataclass(frozen=True)
class ParameterLabels:
    """Names that identify a parameter: the model, the metric, the subgroup and others.

    Reports derive their row labels from these names.
    """

    metric: str = ""
    model: str = ""
    subgroup: tuple[tuple[str, str], ...] = ()
    """Pairs of a column of `by` and a subgroup name."""
    sample: str = ""
    """Name of the test set or fold, if there are several."""
    compared: tuple[str, str, str] | None = None
    """Both sides of a difference or ratio, with "-" or "/" between their names."""
    contrast: str = ""
    """Name of a user-defined contrast."""
    factor: str = "model"
    """Column of a report in which `model` is shown."""

    @property
    def labels(self) -> dict[str, str]:
        """Names that identify the parameter, by column of a report."""
        shared = {"metric": self.metric, **dict(self.subgroup)}
        if self.contrast:
            named = {"contrast": self.contrast, **shared}
            return {column: name for column, name in named.items() if name}
        model = " ".join(filter(None, [self.sample, self.model]))
        labels = shared
        if self.compared is not None:
            labels["first"], _, labels["second"] = self.compared
        if model or self.compared is None:
            return {self.factor: model, **labels}
        return labels

    @property
    def is_contrast(self) -> bool:
        """Whether the parameter is a difference, a ratio or another contrast."""
        return bool(self.contrast) or self.compared is not None

    @property
    def name(self) -> str:
        """Name of the model or contrast, such as "new - old" for a comparison."""
        model = self.contrast or self.labels.get(self.factor, "")
        compared = " ".join(self.compared or ())
        return ", ".join(filter(None, [model, compared]))

    @property
    def title(self) -> str:
        """Name of the metric, or of a contrast of several metrics."""
        return self.metric or self.contrast

    @property
    def panel(self) -> str:
        """Name of the metric and, if any, the subgroup in which models are compared."""
        return ", ".join([self.title, *self.subgroup_names])

    def level(self, factor: str) -> str:
        """Return the name of the model or of the subgroup.

        `factor` is "model" or "subgroup".
        """
        if factor == "model":
            return self.name
        return ", ".join(name for _, name in self.subgroup)

    def without(self, factor: str) -> ParameterLabels:
        """Return the labels of the parameter without the model or the subgroup.

        `factor` is "model" or "subgroup".
        """
        if factor == "model":
            return replace(self, model="", sample="")
        return replace(self, subgroup=())

    @property
    def reverse(self) -> ParameterLabels:
        """Labels of the difference or ratio after both sides are exchanged.

        Labels of other parameters are returned unchanged.
        """
        return replace(self, compared=self.compared and self.compared[::-1])

    @property
    def subgroup_names(self) -> list[str]:
        """Text for each column that defines the subgroup, such as "sex = f"."""
        return [f"{column} = {name}" for column, name in self.subgroup]

    def __str__(self) -> str:
        """Name of the parameter in messages, such as "f1 of Logistic - Stump"."""
        parts = [self.title, "" if self.title == self.contrast else self.name]
        text = ", ".join([" of ".join(filter(None, parts)), *self.subgroup_names])
        return printable(text)


Contrast = tuple[ParameterLabels, Mapping[int, float]]
"""Key of a contrast, and its coefficients by the positions of the parameters.

The difference of parameters 0 and 2 has the coefficients ``{0: 1.0, 2: -1.0}``."""

Contrasts = Sequence[Contrast]


@dataclass(frozen=True, eq=False)
class CellMap:
    """Function that maps label codes to the cells of a table of outcome counts."""

    columns: tuple[int, ...]
    """Columns of label codes on which the cell depends."""
    symbols: tuple[Array, ...]
    """Symbol of each label code, by column; -1 for labels that do not occur.

    Codes that the measure does not distinguish have one symbol."""
    cells: Array
    """Cell of each combination of symbols, one axis per column; `size` for no cell."""
    size: int
    """Number of cells."""
    subgroups: frozenset[int] | None = None
    """Codes of the subgroups to which the map applies; None for all units."""
    sample: int = 0
    """Index of the independent sample to which the map applies."""

    def __call__(self, *codes: Array) -> Array:
        """Return the outcome of each row, as an index of a table cell."""
        index = []
        for code, symbols in zip(codes, self.symbols, strict=True):
            index.append(symbols[code.view(np.uint8) if code.dtype == bool else code])
        return self.cells[tuple(index)]

    def subset(self, subgroups: frozenset[int]) -> CellMap:
        """Return a map from labels to outcomes that applies to some subgroups only."""
        return replace(self, subgroups=subgroups)

    @cached_property
    def content(self) -> tuple[Any, ...]:
        """Hashable key, equal for two maps that assign the same outcomes to labels."""
        symbols = tuple(column.tobytes() for column in self.symbols)
        return symbols, self.cells.tobytes(), self.cells.shape, self.size

    def covers(self, sample: int, subgroup: int | None) -> bool:
        """Whether the map from labels to outcomes applies to a sample and subgroup."""
        inside = self.subgroups is None or subgroup in self.subgroups
        return inside and self.sample == sample


class Clipped(NamedTuple):
    """Number and share of the rows with a clipped predicted probability."""

    n: float
    n_samples: float
    share: float
    eps: float


class SubgroupSize(NamedTuple):
    """Number of rows in a subgroup and, for binary labels, number of positive rows."""

    n: int
    positives: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameter:
    """Quantity to estimate: a metric of a model, or a contrast of several metrics.

    The estimate is `fixed_estimate`. The subclass `TableParameter` computes the
    estimate from a table of counts instead.
    """

    key: ParameterLabels
    trait: MeasureProperties
    """Properties of the measure, such as its range."""
    method: str
    """Name of the interval method, a key of ``INTERVALS``."""
    fixed_estimate: float = np.nan
    """Estimate of a parameter without a table."""
    pos_label: Any = None
    """Positive label to show; None if labels are 0 and 1."""
    subgroup_size: SubgroupSize | None = None
    """Number of rows in the subgroup; None for a parameter of all rows."""
    undefined_as: float = np.nan
    """Estimate to report if the measure is undefined."""
    components: tuple[Parameter, ...] = ()
    """Parameters that a contrast combines."""
    coefficients: tuple[float, ...] = ()
    """Coefficients of the components, or of their logarithms in a ratio."""
    extension: tuple[float, float] = (0.0, 0.0)
    """Outward shifts of the lower and upper limit for undefined classes or bins."""
    undefined_classes: Mapping[str, float] = field(default_factory=dict)
    """Weights of undefined classes in an average, by name."""
    size_limit: str = ""
    """Requirement of the default method, if the table is too large for that method."""
    clipped: Clipped | None = None
    """Rows whose losses depend on the clipping of probabilities."""
    binning_error: float = 0.0
    """Largest possible effect of binning scores on the estimate."""
    by_pair: bool = False
    """Whether contrasts use only the units that all compared means cover."""
    agreement: Any = None
    """`Agreement` of two compared models, if they agree in all rows, else None."""
    is_on_boundary: ClassVar[Any] = False
    """Whether an area under a curve, or each area in a contrast, is 0 or 1."""
    support: ClassVar[Any] = InformativeRows()
    """Rows that determine how precisely the variance is estimated."""

    @property
    def value(self) -> float:
        """Value of the measure, or NaN if the measure is undefined."""
        return self.fixed_estimate

    @property
    def interval_method(self) -> IntervalMethod:
        return INTERVALS[self.method]

    @cached_property
    def defined(self) -> bool:
        """Whether the measure is defined on the data."""
        return not math.isnan(self.value)

    @property
    def estimate(self) -> float:
        """Value of the measure, or `undefined_as` for an undefined measure."""
        return self.value if self.defined else self.undefined_as

    @property
    def without_negation(self) -> tuple[MeasureProperties, float, int]:
        """Properties, estimate and sign of a measure that may be negated.

        The sign is -1 for a negated measure, such as a negative loss, and 1 otherwise.
        The properties and the estimate describe the measure without the negation.
        """
        measure = self.trait.negative_of
        if measure is None:
            return self.trait, self.estimate, 1
        return measure, -self.estimate, -1

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True, eq=False, kw_only=True)
class TableParameter(Parameter):
    """Parameter with an estimate that is computed from a table of counts.

    A cell of the table counts the rows with the same outcome, such as a pair of a true
    and a predicted label. The cells of a contrast are combinations of the cells of the
    compared parameters.
    """

    functional: Functional
    """Functional of the proportions in the cells, with influence values."""
    counts: Array
    """Counts of the m cells, (m,), which may be zero."""
    index: Array
    """Cell index of each unit of the sample; m for units outside the table."""
    pseudo_counts: Array | float
    """Pseudo-counts of the m cells, or one number for all, for methods that smooth.

    The pseudo-counts sum to two rows: in a binary table, half a row in each cell."""
    cell_map: CellMap | None = None
    """Map from labels to cells, if the possible outcomes can be enumerated."""
    extremes: tuple[int, int] | None = None
    """Cells with the smallest and the largest possible value of a bounded mean."""
    components: tuple[TableParameter, ...] = ()

    @classmethod
    def from_influence(
        cls, value: float, influence: Array, counts: Array, **fields: Any
    ) -> TableParameter:
        """Construct a parameter from an estimate and its influence values.

        Each possible outcome has an influence value in `influence`, and a number of
        rows in `counts`.
        """
        functional = FixedValueFunctional(value, influence, counts)
        return cls(functional=functional, counts=counts, pseudo_counts=0.0, **fields)

    def with_method(self, method: str) -> TableParameter:
        """Return the parameter with another interval method."""
        if method == self.method:
            return self
        if method not in self._variants:
            self._variants[method] = replace(self, method=method)
        return self._variants[method]

    @cached_property
    def _variants(self) -> dict[str | bytes, TableParameter]:
        """Cache of modified copies of this parameter.

        A copy has another interval method, or is computed from a subset of the rows.
        All contrasts share the cached copies.
        """
        return {}

    def subset(self, units: Array, counts: Array) -> TableParameter:
        """Return the parameter computed from a subset of the rows.

        `units` is a mask of this subset.
        """
        if np.array_equal(units, self.units):
            return self
        key = units.tobytes()
        if key not in self._variants:
            index = np.where(units, self.index, self.size)
            table = np.bincount(index, counts, self.size + 1)[: self.size]
            self._variants[key] = replace(self, counts=table, index=index)
        return self._variants[key]

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
    def allows_for_unseen_bounds(self) -> bool:
        """Whether the interval allows for extreme outcomes that the sample lacks."""
        if self.method != "score" or self.extremes is None:
            return False
        return not self.counts[list(self.extremes)].all()

    @property
    def size(self) -> int:
        """Number of cells in the table of counts."""
        return len(self.counts)

    @cached_property
    def total(self) -> float:
        """Total weight of the rows on which the parameter depends."""
        return float(self.counts.sum())

    @cached_property
    def units(self) -> Array:
        """Mask of the units of the sample on which the parameter depends."""
        return self.index < self.size

    @cached_property
    def covers_all_units(self) -> bool:
        """Whether the parameter depends on all units of the sample.

        For a contrast, all compared parameters must depend on all units.
        """
        components_cover = map(attrgetter("covers_all_units"), self.components)
        return bool(self.units.all()) and all(components_cover)

    @cached_property
    def value(self) -> float:
        counts = self.counts
        cells = counts if self.trait.scale_free else counts / self.total
        value = float(self.functional.estimate(cells))
        low, high = self.trait.range_of_estimator
        if value < low - _ROUNDING or value > high + _ROUNDING:
            raise ValueError(
                f"bounds of {self.trait.name!r} must contain all values of the metric, "
                f"got {value:g} outside of ({low:g}, {high:g})"
            )
        return min(max(value, low), high)

    @property
    def weights(self) -> Array:
        """Proportions of the possible outcomes, used to compute influence values.

        Pseudo-counts are included if the interval method uses pseudo-counts.
        """
        if self.interval_method.adds_pseudo_counts:
            return self.smoothed_weights
        return self.counts / self.total

    @property
    def smoothed_weights(self) -> Array:
        """Proportions of the cells after pseudo-counts are added to all counts."""
        counts = self.counts + self.pseudo_counts
        total = counts.sum()
        return counts / total if total else counts

    @cached_property
    def linearised(self) -> Evaluation:
        """Value, influence values and gradient of the functional at `weights`."""
        return self.functional(self.weights)

    @property
    def smoothed_influence(self) -> Array:
        """Influence values of the possible outcomes, computed with pseudo-counts.

        Values that are not finite are replaced by zero.
        """
        influence = self.functional(self.smoothed_weights).influence
        return np.nan_to_num(influence, posinf=0.0, neginf=0.0)

    @property
    def has_influence(self) -> Array:
        """Mask of the possible outcomes with influence on the estimate."""
        return self.functional(self.smoothed_weights).has_influence

    @cached_property
    def max_abs_derivative(self) -> float:
        """Largest absolute partial derivative of the functional."""
        return float(np.abs(self.linearised.gradient).max())

    @cached_property
    def is_linear(self) -> bool:
        """Whether the functional is defined and differentiable.

        The functional must also be differentiable on the scale of the interval, such as
        the logit scale.
        """
        if not self.defined or self.interval_method.adds_pseudo_counts:
            return self.defined
        if not math.isfinite(self.value):
            return False
        if math.isinf(self.trait.scale.slope(self.value)):
            return False
        return self.max_abs_derivative < _NO_DERIVATIVE * max(abs(self.value), 1.0)

    @cached_property
    def support(self) -> InformativeRows:
        return self.functional.support(self.counts)

    @cached_property
    def boundary(self) -> list[Boundary]:
        """Components of the metric, such as proportions, that are at their bounds.

        The list is empty if the interval method adds variance by pseudo-counts or
        noise.
        """
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


def with_fixed_estimate(parameter: Parameter, estimate: float) -> Parameter:
    """Return a copy of a parameter with a fixed estimate, without a table of counts."""
    low, high = parameter.trait.bounds
    trait = replace(
        parameter.trait,
        smooth=False,
        automatic_of_contrasts=(),
        is_scaled_area=False,
        chance=None,
        reach=None,
    )
    return Parameter(
        key=parameter.key,
        trait=trait,
        method=parameter.method,
        fixed_estimate=min(max(estimate, low), high),
        pos_label=parameter.pos_label,
        clipped=parameter.clipped,
        undefined_as=parameter.undefined_as,
    )
