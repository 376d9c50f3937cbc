"""Sampling variance of one parameter, and how well the rows determine it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, cached_property, dot
from skci.inference.designs.design import Component, Design
from skci.inference.designs.totals import (
    Moments,
    UnitWeights,
    moments,
    shape_of_ratios,
    shape_of_tail,
    tail_shape,
)
from skci.inference.exchangeable import ExchangeableErrors
from skci.inference.influences import Influences
from skci.inference.other_labels import greatest_change
from skci.inference.parameter import TableParameter
from skci.inference.rows import Rows
from skci.inference.stratified import (
    StratifiedTable,
    has_sparse_stratum,
    stratified_table,
)
from skci.inference.units import (
    all_units_are_rows,
    is_simple_among,
    rows_are_units,
    units_with,
)
from skci.measures.functional import Mean, unsigned
from skci.measures.registry import IDENTITY

_NO_VARIANCE = 1e-10  # relative deviation that is zero up to rounding
_OBSERVED = 0.02  # least share of the smoothed variance for a design effect
_ROUNDING = 1e-12  # relative, of degrees of freedom
_SAME = 1e-9  # relative difference of design effects that is rounding
_STEP = 1e-2  # in the least favourable direction, for second differences
_STEEPEST = 1 / 3  # greatest coefficient of Hall's transformation of a mean
_ENOUGH_FOR_T = 12  # degrees of freedom from which on a t quantile serves
# The same of a normal quantile; a proportion has about 2 x with few successes x. And
# of survival, whose estimates are of few events far from normal.
_ENOUGH_FOR_NORMAL = 19
_FAR = 1.5  # standard errors that the label of a row may move an estimate by
_HEAVY = 0.5  # shape of a tail from which on there is no variance
_HEAVY_BY_RATIOS = 0.75  # the same where ratios of the largest losses estimate it
_SPARSE = (
    "few rows of a stratum with a large weight, and too many cells of all strata for "
    "an interval that allows for what they do not show, so that it may be too narrow; "
    "unite strata"
)


class SmallSampleReason(NamedTuple):
    """Why an interval may be too narrow, and whether another method would not be."""

    text: str
    other_method_helps: bool = False


HEAVY_TAIL = SmallSampleReason(
    "heavy tails: a few rows have so much influence that the variance may not exist "
    "and the interval may be too narrow, however many rows there are"
)

_UNSEEN = SmallSampleReason(
    "few groups: one more with errors in all rows would move the estimate out of the "
    "interval, which is too narrow if there are such groups and the sample lacks them"
)

_ONE_LABEL = SmallSampleReason(
    "few labels of large weight: another true label of a single row would move the "
    f"estimate by more than {_FAR} standard errors, and the interval may be too narrow"
)


def few_degrees_of_freedom(
    least: int, other_method_helps: bool = False, few: str = "rows or groups"
) -> SmallSampleReason:
    """Reason of a variance with fewer than so many degrees of freedom."""
    text = (
        f"fewer than {least} degrees of freedom: few {few} determine the variance, "
        "and the interval may be too narrow"
    )
    return SmallSampleReason(text, other_method_helps)


@dataclass(frozen=True, eq=False)
class ParameterSampling:
    """A parameter of rows that were drawn by a design."""

    parameter: TableParameter
    rows: Rows
    design: Design
    components: Sequence[ParameterSampling]
    """Those of the components of a contrast."""
    rows_are_simple: bool
    """Whether all rows are a simple random sample, without strata."""

    # Which rows there are

    def _units_with(self, rows: Array) -> UnitWeights:
        """Weights of the independent units that have some of the rows, a bool array."""
        return units_with(rows, self.rows, self.design)

    @cached_property
    def n_units(self) -> float:
        """Independent units in the table; for a contrast of the least component."""
        if self.components:
            return min(each.n_units for each in self.components)
        if self.parameter.sees_all:
            return self.design.n_units
        return self._units_with(self.parameter.units).n

    @property
    def classes_of_area(self) -> list[Array]:
        """Units of each class of an area; none for other parameters."""
        return [np.append(each, False)[self.parameter.index] for each in self._classes]

    @property
    def _classes(self) -> tuple[Array, ...]:
        return self.parameter.support.classes

    @property
    def _informative(self) -> list[Array]:
        """Units of each class of an area; the one that is known less well limits it.

        For other parameters, those with influence on the estimate.
        """
        return self.classes_of_area or [self._exchangeable.with_influence]

    @cached_property
    def _strata(self) -> Any:
        return getattr(self.design, "strata", None)

    @cached_property
    def _drawn(self) -> Array:
        """Units in the table that are of strata in which the parameter varies."""
        units = self.parameter.units
        if self._strata is not None:
            units = units & np.isin(
                self._strata, np.unique(self._strata[self._varying])
            )
        return units

    @cached_property
    def _varying(self) -> Array:
        """Units of strata within which possible rows differ in influence.

        Where these are not enumerated, those with influence on the estimate.
        """
        if self.table is None:
            return self._exchangeable.with_influence
        varying: Array = np.isin(self._strata, self.table.varying)
        return varying

    @cached_property
    def table(self) -> StratifiedTable | None:
        """Table by stratum; None without strata, or where it is not enumerated."""
        return stratified_table(self.parameter, self.rows, self.design)

    @cached_property
    def spans_strata(self) -> bool:
        """Whether the parameter, or a component of it, varies in several strata."""
        if self._strata is None:
            return False
        if self.components:
            return any(each.spans_strata for each in self.components)
        return len(np.unique(self._strata[self._varying])) > 1

    @cached_property
    def is_simple(self) -> bool:
        """Whether the rows in the table are a simple random sample, of one stratum."""
        if self.rows_are_simple:
            return True
        return not self.spans_strata and is_simple_among(
            self._drawn, self.rows, self.design
        )

    @cached_property
    def stratified(self) -> StratifiedTable | None:
        """Table by stratum where the rows are no simple random sample."""
        return None if self._strata is None or self.is_simple else self.table

    # Influence values and variance

    @cached_property
    def influence(self) -> Array:
        """Influence values on the cells and, zero, for units outside of the table.

        They are at the weights of the method, and have mean zero over the rows.
        """
        return self._influence(self.parameter.linearised.influence)

    def _influence(self, influence: Array, smoothed: bool = False) -> Array:
        """Influence values of the m of n rows in the table, around their mean.

        Those of a contrast are of each component with a factor for its rows, unless
        the rows of one include all others.
        """
        parameter, counts = self.parameter, self.parameter.counts
        total = max(parameter.total, 1.0)
        if parameter.sees_all:
            return influence - counts @ influence / total
        if self.components:
            factors = [each.small_sample_factor for each in self.components]
            units = np.array([c.units for c in parameter.components])
            if (units == units.any(axis=0)).all(axis=1).any():
                factors = [max(factors)] * len(factors)
            weights = parameter.smoothed_weights if smoothed else parameter.weights
            influence = parameter.functional.influence(weights, factors)  # type: ignore[attr-defined]
            influence = np.nan_to_num(influence, posinf=0.0, neginf=0.0)
        else:
            influence = influence * self.small_sample_factor
        influence = influence - counts @ influence / total
        return np.append(influence * self.inverse_sampling_fraction, 0.0)

    @cached_property
    def small_sample_factor(self) -> float:
        """Small-sample factor for a parameter estimated from m of n units."""
        if self.parameter.sees_all or self._strata is not None:
            return 1.0
        m, n = self.n_units, self.design.n_units
        return math.sqrt(m / (m - 1) * (n - 1) / n) if m >= 2 else 1.0

    @property
    def inverse_sampling_fraction(self) -> float:
        """All rows over those in the table."""
        n = self.parameter.total
        return float(self.rows.counts.sum()) / n if n else 1.0

    def _components(self, influence: Array) -> Iterable[Component]:
        """Totals of values on the cells, and outside, of independent units.

        The second column, if not all rows are units of the table, is of an indicator of
        those in it. Units of the same cell are pooled where the design allows it.
        """
        rows, design, index = self._pooled
        columns = [influence]
        if not (self.parameter.sees_all and rows_are_units(design)):
            inside = np.ones(len(influence))
            inside[self.parameter.size :] = 0
            columns.append(inside)
        values = Influences(columns, [index] * len(columns), rows)
        return design.components(values)

    @cached_property
    def _pooled(self) -> tuple[Rows, Design, Any]:
        """Rows of each cell, and of what is outside, where they can be pooled.

        With the index of the cell of each.
        """
        parameter, rows = self.parameter, self.rows
        size = parameter.size + (not parameter.sees_all)
        pools = getattr(self.design, "pools_units", False)
        if not pools or size >= len(rows):
            return rows, self.design, parameter.index
        if rows.numbers is not None:
            pooled = rows.regrouped(parameter.index, size)
        else:
            counts = parameter.counts
            if not parameter.sees_all:
                counts = np.append(counts, rows.n_samples - parameter.total)
            pooled = Rows(counts)
        return pooled, self.design, slice(None)

    @cached_property
    def estimated_variance(self) -> float:
        """Variance of the estimate by its method, zero where there is none."""
        if not self.parameter.is_linear or self.parameter.is_on_boundary:
            return 0.0
        return max(self.moments.variance, self.least_variance)

    @property
    def least_variance(self) -> float:
        """Variance at the table with pseudo-counts, for methods that smooth."""
        parameter = self.parameter
        if not parameter.interval_method.smooths:
            return 0.0
        squares = parameter.weights @ parameter.linearised.influence**2
        return float(squares / parameter.total * self.design_effect)

    def noise(self, z: float) -> float:
        """Variance of the noise of a parameter that is no contrast."""
        parameter = self.parameter
        if not parameter.is_linear:
            return 0.0
        if parameter.interval_method.blurs:
            gradient = parameter.linearised.gradient * self.inverse_sampling_fraction
            per_row = self.design_effect / self.rows.n_samples
            return float(np.sum(gradient**2) * (z * per_row) ** 2 / 2)
        if not parameter.boundary:
            return 0.0
        effect = self.design_effect
        return sum(
            (slope * z * effect / (n + effect * z**2)) ** 2
            for slope, n in parameter.boundary
        )

    def stratum_noise(self, z: float) -> float:
        """Variance for strata with few rows in a cell; see `StratifiedTable`.

        That of a contrast is of its own table, where models agree on most rows.
        """
        parameter = self.parameter
        smooths = parameter.interval_method.smooths
        if smooths or not (self.stratified and parameter.is_linear):
            return 0.0
        return self.stratified.noise(z)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the totals of influence values of independent units."""
        classes = self._classes
        is_partition = classes and not self._classes_cross
        pooled = self._pooled_units(classes) if is_partition else []
        return moments(self._components(self.influence), pooled)

    @property
    def _classes_cross(self) -> bool:
        """Whether classes of two areas overlap, and neither includes the other.

        Influence values then do not have mean zero within their intersections.
        """
        partitions = {
            tuple(each.tobytes() for each in classes): classes
            for part in self.components
            if (classes := part.classes_of_area)
        }
        return any(
            0 < (a & b).sum() < min(a.sum(), b.sum())
            for first, second in combinations(partitions.values(), 2)
            for a, b in product(first, second)
        )

    def _pooled_units(self, sets: Iterable[Array]) -> list[Array]:
        """Pooled units of each of some sets of cells."""
        size, index = len(self.influence), self._pooled[2]
        return [np.append(cells, False)[:size][index] for cells in sets]

    @cached_property
    def has_variance(self) -> bool:
        """Whether the variance of the estimate is not zero up to rounding."""
        if not self.parameter.is_linear:
            return False
        least = _NO_VARIANCE * self.parameter.steepness
        return math.sqrt(self.estimated_variance * self.rows.n_samples) > least

    @cached_property
    def is_estimable(self) -> bool:
        """Whether there are several units, for each component of a contrast."""
        parameter = self.parameter
        method = parameter.interval_method
        rows_suffice = rows_are_units(self.design)
        if rows_suffice and method.smooths:
            return True
        if parameter.sees_all:
            return self.design.n_units > getattr(self.design, "n_strata", 1)
        return self.n_units > 1 and self._components_vary

    @property
    def _components_vary(self) -> bool:
        """Whether each component on some of the rows has a variance.

        It need not where the method smooths or blurs.
        """
        method = self.parameter.interval_method
        if method.smooths or method.blurs:
            return True
        return all(
            each.parameter.is_on_boundary or each.observed.has_variance
            for each in self.components
            if not each.parameter.sees_all
        )

    @property
    def observed(self) -> ParameterSampling:
        """The same with its variance at the observed table."""
        return self._observed if self.parameter.interval_method.smooths else self

    @cached_property
    def _observed(self) -> ParameterSampling:
        return replace(self, parameter=self.parameter.with_method("delta"))

    # How well the variance is known

    @cached_property
    def design_effect(self) -> float:
        """Variance over that of a simple random sample of the same size.

        From the influence values at the table with pseudo-counts. For methods that
        smooth or blur it is at least that of :class:`ExchangeableErrors`. Where next to
        no variance is observed, it is as if the rows of a cluster were all alike.
        """
        parameter, rows = self.parameter, self.rows
        if self.rows_are_simple:
            return 1.0
        n_rows = rows.n_rows(self._drawn)
        if self._strata is not None and self.is_simple:
            return rows.counts[self._drawn].sum() / n_rows if n_rows else 1.0
        influence = parameter.smoothed_influence
        if self.stratified:
            multinomial = parameter.smoothed_weights @ influence**2
            n = parameter.total
            return self.stratified.variance * n / multinomial if multinomial else 1.0
        variance = rows.mean_square(influence, parameter.counts)
        smoothed = rows.mean_square(influence, parameter.counts + parameter.smoothing)
        least = max(_OBSERVED * smoothed, _NO_VARIANCE**2)
        if not n_rows or variance <= least or self.n_units < 2:
            weights = [self._units_with(units) for units in self._informative]
            effective = min(each.effective_sample_size for each in weights)
            n = parameter.support.rarer_class or rows.counts[self._informative[0]].sum()
            return n / effective if effective else 1.0
        on_sample = self._influence(influence, smoothed=True)
        estimated = moments(self._components(on_sample)).variance
        n = parameter.total * max(1 - 1 / n_rows, 1 / n_rows)
        effect = estimated * n / variance
        method = parameter.interval_method
        if method.smooths or method.blurs:
            effect = max(effect, self._exchangeable.design_effect)
        return effect

    @cached_property
    def _exchangeable(self) -> ExchangeableErrors:
        return ExchangeableErrors(self.parameter, self.rows, self.design)

    @cached_property
    def _knows_design_effect(self) -> bool:
        """Whether the design effect follows from weights alone and is not estimated."""
        if self._strata is not None or not all_units_are_rows(self.rows, self.design):
            return False
        return self.design_effect <= (1 + _SAME) * self._exchangeable.design_effect

    @cached_property
    def is_normal(self) -> bool:
        """Whether the quantile is that of a normal distribution, and not of t."""
        method = self.parameter.interval_method
        if method.smooths and self.stratified:
            return True
        return not method.studentises and self.is_simple

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the variance of the estimate.

        Where the method smooths, or no variance is observed, those of totals of weights
        in place of influence values, of a contrast the least of its components. None
        are needed in a simple random sample, nor where the design effect is known.
        """
        smooths = self.parameter.interval_method.smooths
        if not smooths and self.has_variance:
            return self._df_of_totals
        if self.is_simple or (smooths and self._knows_design_effect):
            return math.inf
        return self._df_of_weights

    @property
    def _df_of_weights(self) -> float:
        """Degrees of freedom of totals of weights, of a contrast the least."""
        return min(
            self._units_with(units).degrees_of_freedom
            for part in self.components or [self]
            for units in part._informative
        )

    @property
    def _df_of_totals(self) -> float:
        """Degrees of freedom of the totals of influence values.

        At most those of the weights in each class of an area, or of events: the
        variance within few rows may be tiny by chance.
        """
        found = [self.moments.degrees_of_freedom]
        for part in self.components or [self]:
            for units in part._pooled_units(part.parameter.support.limiting):
                weights = units_with(units, *part._pooled[:2])
                found.append(weights.degrees_of_freedom)
        return min(found)

    @cached_property
    def hall_coefficients(self) -> tuple[float, float]:
        r"""Coefficients a and b of Hall's transformation.

        :math:`T + a T^2 + a^2 T^3/3 + b` makes the studentised error T of an estimate
        symmetric to second order (Hall, 1992). For a mean they are g/3 and g/6, g the
        skewness of the estimate; for other functionals half the second derivative in
        the least favourable direction, in standard errors, is added to both (DiCiccio
        and Efron, 1992), unless a is then above that of the greatest skewness: as much
        is added as that allows.
        """
        parameter = self.parameter
        if not self.has_variance:
            return 0.0, 0.0
        is_mean = isinstance(unsigned(parameter.functional), Mean)
        is_straight = is_mean and parameter.unsigned[0].scale == IDENTITY
        g, bend = self.moments.skewness, 0.0 if is_straight else self._bend
        a = float(np.clip(g / 3 + bend, -_STEEPEST, _STEEPEST))
        return a, a - g / 6

    @property
    def _bend(self) -> float:
        """Half the second derivative in the least favourable direction."""
        parameter = self.parameter
        size, n = parameter.size, self.rows.n_samples
        step = np.bincount(parameter.index, self._direction, size + 1)[:size]
        step *= _STEP * n / self.rows.weights.sum()
        tables = (parameter.counts + sign * step for sign in (-1, 0, 1))
        values = [parameter.functional.estimate(each / each.sum()) for each in tables]
        with np.errstate(all="ignore"):
            left, middle, right = parameter.trait.scale.forward(np.array(values))
            bend = (left + right - 2 * middle) / (_STEP * (right - left))
        return float(np.clip(bend, -_STEEPEST, _STEEPEST)) if np.isfinite(bend) else 0.0

    @property
    def _direction(self) -> Array:
        """Change of the weights of units in the least favourable direction.

        The weights of the rows of each independent unit change by its total of
        influence values over their root sum of squares, so that an estimate changes by
        its standard error.
        """
        influences = Influences([self.influence], [self.parameter.index], self.rows)
        spread = getattr(self.design, "spread", None)
        if spread is not None:
            totals = next(iter(self.design.components(influences))).totals[:, 0]
            return spread(totals) / math.sqrt(dot(totals, totals))
        values, rows = influences.column(0), self.rows
        if self._strata is not None:
            weights = np.bincount(self._strata, rows.weights)
            terms = self.influence[self.parameter.index] * rows.weights
            means = np.bincount(self._strata, terms) / weights
            values = values - means[self._strata] * rows.shares
        squares = rows.repeats[1] * values
        means = rows.weights / np.maximum(rows.frequencies, 1)
        return means * squares / math.sqrt(dot(squares, values))

    @cached_property
    def small_sample_reasons(self) -> list[SmallSampleReason]:
        """Reasons why the interval may be too narrow."""
        parameter, smooths = self.parameter, self.parameter.interval_method.smooths
        if not (parameter.defined and self.is_estimable):
            return []  # the interval is the whole range
        sparse = smooths and self.spans_strata and self.table is None
        if sparse and has_sparse_stratum(parameter, self.rows, self.design):
            return [SmallSampleReason(_SPARSE)]
        if smooths and self.is_normal:
            return []  # no estimated variance is behind the interval
        reasons = []
        parts = self.components or [self]
        of_events = any(part.parameter.support.events for part in parts)
        least = _ENOUGH_FOR_T
        if self.is_normal or of_events:
            least = _ENOUGH_FOR_NORMAL
        df = self.degrees_of_freedom
        if smooths:
            df = min(self._df_of_weights, self._exchangeable.degrees_of_freedom)
        if df < least * (1 - _ROUNDING):
            helps = self.is_normal and not of_events
            few = "events" if of_events else "rows or groups"
            reasons.append(few_degrees_of_freedom(least, helps, few))
        elif smooths and self._exchangeable.may_lack_clusters(self.design_effect):
            reasons.append(_UNSEEN)
        elif self._hangs_on_a_label:
            reasons.append(_ONE_LABEL)
        if self.has_variance and self._tail_shape(shape_of_tail) > _HEAVY:
            reasons.append(HEAVY_TAIL)
        of_design = getattr(self.design, "small_sample_reason", None)
        if of_design is not None and self.has_variance:
            influences = Influences([self.influence], [parameter.index], self.rows)
            if text := of_design(influences):
                reasons.append(SmallSampleReason(text))
        return reasons

    @property
    def _hangs_on_a_label(self) -> bool:
        """Whether another true label of a single row would move the estimate far.

        Rows of large weight then err too rarely to show in the estimated variance.
        Methods that smooth allow for them, and weights by stratum are no accident.
        """
        method = self.parameter.interval_method
        if method.smooths or method.blurs or self._strata is not None:
            return False
        change = greatest_change(self.parameter, self.rows)
        return self.has_variance and change > _FAR * math.sqrt(self.estimated_variance)

    @property
    def _rows_nest(self) -> bool:
        """Whether a component of a contrast is of some rows of another.

        Their influence values are on other scales, which look like a heavy tail.
        """
        units = [each.units for each in self.parameter.components]
        return any((a & b).any() and (a != b).any() for a, b in pairwise(units))

    @property
    def has_heavy_losses(self) -> bool:
        """Whether the largest losses are far larger than many others.

        That shows in samples without a single one that is very large as well.
        """
        return (
            self.has_variance and self._tail_shape(shape_of_ratios) > _HEAVY_BY_RATIOS
        )

    def _tail_shape(self, shape: Callable[..., float]) -> float:
        """Shape of the tail of influence values; NaN where none can be heavy."""
        parameter = self.parameter
        if not (parameter.trait.heavy_tails and parameter.is_linear):
            return math.nan
        if self._rows_nest:
            shapes = [each._tail_shape(shape) for each in self.components]
            return float(np.fmax.reduce(shapes))
        inside = np.arange(len(self.influence)) < parameter.size
        columns = [self.influence, inside * 1.0]
        influences = Influences(columns, [parameter.index] * 2, self.rows)
        return tail_shape(self.design.components(influences), shape)
