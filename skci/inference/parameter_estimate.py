"""Sampling variance of one parameter, and its precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri, stdtrit

from skci._arrays import Array, cached_property, dataclass, dot
from skci.inference.designs import totals
from skci.inference.designs.design import Component, SampleDesign, SmallSampleReason
from skci.inference.designs.units import unit_weights_of_rows
from skci.inference.intervals.methods import Task
from skci.inference.parameter import TableParameter
from skci.inference.rows import Influences, Rows
from skci.measures.functional import (
    FixedValueFunctional,
    Functional,
    Mean,
    without_negation,
)
from skci.measures.traits import IDENTITY, MeasureProperties

NO_VARIANCE = 1e-10
"""Relative standard deviation that counts as zero."""

ENOUGH_FOR_NORMAL = 19
"""Degrees of freedom below which "delta" and "blurred" warn, with normal quantiles.

A proportion with few successes x has about 2 x degrees of freedom."""

_ROUNDING = 1e-12  # relative rounding error of degrees of freedom
_STEP = 1e-2  # for second differences in the least favourable direction
_MAX_HALL = 1 / 3  # largest coefficient of Hall's transformation of a mean
# Degrees of freedom below which "delta" and "blurred" warn, with quantiles of t
_ENOUGH_FOR_T = 12
_ENOUGH_FOR_DIFFERENCES = 6  # for "hall" and differences, except differences of areas
_FEW = 10  # largest number of independent units for which other methods warn
# Weight of a tail above which intervals are too narrow. For losses the threshold with n
# units is _HEAVY_LOSSES - _SMALL_N / n, because few rows show less of the tail.
_HEAVY, _HEAVY_LOSSES, _SMALL_N = 1.05, 1.1, 25.0
_SKEWED = 0.15  # coefficient of skewness above which limits are far from the estimate
_STRAIGHT = 1e-6  # curvature that counts as zero
_HEAVY_BY_RATIOS = 0.75  # shape of a tail above which losses may have no variance
_P, _Z = 0.975, float(ndtri(0.975))  # level and quantile for the effect of one more row


def heavy_tail(trait: MeasureProperties) -> SmallSampleReason:
    """Return the warning that a heavy tail may make an interval too narrow.

    For an unbounded measure, the warning adds that the variance may not exist.
    """
    text = "heavy tails: a few rows have so much influence that "
    if np.isfinite(trait.bounds).all():
        return SmallSampleReason(f"{text}the interval may be too narrow")
    text += "the variance may not exist and the interval may be too narrow, regardless "
    text += "of the number of rows; if values have a range, grades_report and "
    return SmallSampleReason(f"{text}make_metric_ci accept bounds=")


_ONE_MORE = SmallSampleReason(
    "few rows of the rarer class: one more row with a poor score would move the "
    "estimate about as far as the interval reaches, so the interval is too narrow if "
    "the population has such rows and the sample lacks them"
)
_POOR, _LOWER = 0.6, 1.75  # area of a poor row alone; shift in standard errors

_UNEVEN = 1.5  # ratio of the largest to the mean weight of units that matters
_NO_HEAVIER = SmallSampleReason(
    "models agree in all rows of the sample, and the interval is too narrow if the "
    "population has rows or groups that weigh more than any row or group of the sample"
)


def small_sample_factor(m: float, n: float) -> float:
    """Compute the small-sample correction of influence values for m of n units.

    The factor replaces the correction n / (n - 1) by m / (m - 1). If the design has
    infinitely many units, the factor is 1.
    """
    if m < 2 or math.isinf(n):
        return 1.0
    return math.sqrt(m / (m - 1) * (n - 1) / n)


@dataclass(frozen=True, eq=False)
class ParameterEstimate:
    """Sampling variance of one parameter in a simple random sample.

    `DesignEstimate` overrides the members that depend on the design.
    """

    parameter: TableParameter
    rows: Rows
    design: SampleDesign
    components: Sequence[ParameterEstimate]
    """Sampling variances of the components of a contrast."""

    # Members that depend on the design

    design_effect: ClassVar[Any] = 1.0
    """Ratio of the variance to the variance of a simple random sample."""
    spans_strata: ClassVar[Any] = False
    """Whether the parameter, or one of its components, varies in several strata."""

    @property
    def is_normal(self) -> bool:
        """Whether limits use a normal quantile instead of a t quantile."""
        return not self.parameter.interval_method.studentises

    @property
    def table_of_interval(self) -> tuple[Functional, Array, float]:
        """Functional, counts and design effect from which the interval is computed."""
        return self.parameter.functional, self.parameter.counts, self.design_effect

    def stratum_noise(self, z: float) -> float:
        """Return the variance to add if strata have few rows of some outcome."""
        return 0.0

    @property
    def _n_in_table(self) -> float:
        """Number of independent units on which the parameter depends."""
        return self.rows.n_rows(self.parameter.units)

    # Influence values and variance

    @cached_property
    def n_units(self) -> float:
        """Number of independent units on which the parameter depends.

        For a contrast, this is the minimum over the compared parameters.
        """
        if self.components:
            return min(component.n_units for component in self.components)
        if self.parameter.covers_all_units:
            return self.design.n_units
        return self._n_in_table

    @property
    def classes_of_area(self) -> list[Array]:
        """Masks of the two classes of rows that an area under a curve compares.

        The list is empty for other measures.
        """
        classes, index = self.parameter.support.classes, self.parameter.index
        return [np.append(cells, False)[index] for cells in classes]

    @cached_property
    def influence(self) -> Array:
        """Influence values of the possible outcomes, with mean zero over the rows.

        If the interval method uses pseudo-counts, influence values are computed with
        pseudo-counts. A final zero applies to rows on which the parameter does not
        depend.
        """
        return self._centred_and_scaled(self.parameter.linearised.influence)

    def _centred_and_scaled(self, influence: Array, smoothed: bool = False) -> Array:
        """Centre influence values, and multiply them by a small-sample factor.

        If all components of a contrast cover only some of the rows, each component has
        a separate factor. If one component covers the rows of all others, all
        components have the largest factor.
        """
        parameter, counts = self.parameter, self.parameter.counts
        total = max(parameter.total, 1.0)
        if parameter.covers_all_units:
            return influence - dot(counts, influence) / total
        if self.components:
            factors = [part.small_sample_factor for part in self.components]
            units = np.array([c.units for c in parameter.components])
            if (units == units.any(axis=0)).all(axis=1).any():
                factors = [max(factors)] * len(factors)
            weights = parameter.smoothed_weights if smoothed else parameter.weights
            influence = parameter.functional.influence(weights, factors)  # type: ignore[attr-defined]
            influence = np.nan_to_num(influence, posinf=0.0, neginf=0.0)
        else:
            influence = influence * self.small_sample_factor
        influence = influence - dot(counts, influence) / total
        return np.append(influence * self.inverse_sampling_fraction, 0.0)

    @cached_property
    def small_sample_factor(self) -> float:
        """Small-sample correction if the parameter depends on only some units.

        Influence values are multiplied by this factor.
        """
        if self.parameter.covers_all_units:
            return 1.0
        return small_sample_factor(self.n_units, self.design.n_units)

    @property
    def inverse_sampling_fraction(self) -> float:
        """Ratio of all rows to the rows on which the parameter depends."""
        n = self.parameter.total
        return float(self.rows.counts.sum()) / n if n else 1.0

    def _variance_components(self, influence: Array) -> Iterable[Component]:
        """Compute the variance components from totals of influence values by unit.

        If the parameter depends on only some of the rows, or if rows are not
        independent, an indicator of the rows on which the parameter depends is also
        added up by unit.
        """
        rows, design, index = self._pooled
        columns = [influence]
        if not (self.parameter.covers_all_units and design.rows_are_units):
            inside = np.ones(len(influence))
            inside[self.parameter.size :] = 0
            columns.append(inside)
        values = Influences(columns, [index] * len(columns), rows)
        return design.variance_components(values)

    @cached_property
    def _pooled(self) -> tuple[Rows, SampleDesign, Any]:
        """Rows, design and cell indices after rows with equal outcomes are merged.

        If the design does not allow merging, the rows of the sample are unchanged.
        """
        parameter, rows = self.parameter, self.rows
        size = parameter.size + (not parameter.covers_all_units)
        if not self.design.pools_units or size >= len(rows):
            return rows, self.design, parameter.index
        if rows.numbers is not None:
            pooled = rows.merge_units(parameter.index, size)
        else:
            counts = parameter.counts
            if not parameter.covers_all_units:
                counts = np.append(counts, rows.n_samples - parameter.total)
            pooled = Rows(counts)
        return pooled, self.design, slice(None)

    @cached_property
    def estimated_variance(self) -> float:
        """Sampling variance of the estimate, before noise is added.

        The variance is zero if the parameter is not differentiable. For interval
        methods that use pseudo-counts, the variance is at least the variance that is
        computed with pseudo-counts.
        """
        if not self.parameter.is_linear or self.parameter.is_on_boundary:
            return 0.0
        parameter, variance = self.parameter, self.moments.variance
        if not parameter.interval_method.adds_pseudo_counts:
            return variance
        squares = parameter.weights @ parameter.linearised.influence**2
        smoothed = float(squares / parameter.total * self.design_effect)
        return max(variance, smoothed)

    def noise(self, z: float) -> float:
        """Return the variance of the noise that the interval method adds.

        The parameter must not be a contrast. See `RowEstimates.noise` for the formula.
        """
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

    @cached_property
    def moments(self) -> totals.Moments:
        """Variance, skewness and degrees of freedom of the estimate.

        The moments are computed from totals of influence values over independent units.
        """
        classes = self.parameter.support.classes
        is_partition = classes and not (self.components and self._classes_cross)
        pooled = self._pooled_units(classes) if is_partition else []
        return totals.moments(self._variance_components(self.influence), pooled)

    @property
    def _classes_cross(self) -> bool:
        """Whether two areas under curves are computed from partly different rows.

        Each area compares two classes of rows. The result is True if a class of one
        area and a class of the other area overlap, and neither class contains the
        other.
        """
        partitions = {
            tuple(cells.tobytes() for cells in classes): classes
            for part in self.components
            if (classes := part.classes_of_area)
        }
        return any(
            0 < (a & b).sum() < min(a.sum(), b.sum())
            for first, second in combinations(partitions.values(), 2)
            for a, b in product(first, second)
        )

    def _pooled_units(self, sets: Iterable[Array]) -> list[Array]:
        """Convert masks or weights of possible outcomes to masks or weights of units.

        A unit is a row, or a set of merged rows with equal outcomes.
        """
        size, index = len(self.influence), self._pooled[2]
        return [np.append(cells, False)[:size][index] for cells in sets]

    @cached_property
    def has_variance(self) -> bool:
        """Whether the variance of the estimate is larger than a rounding error."""
        if not self.parameter.is_linear:
            return False
        minimum = NO_VARIANCE * self.parameter.max_abs_derivative
        return math.sqrt(self.estimated_variance * self.rows.n_samples) > minimum

    @cached_property
    def is_estimable(self) -> bool:
        """Whether there are enough units to estimate a variance."""
        parameter = self.parameter
        method = parameter.interval_method
        rows_suffice = self.design.rows_are_units
        if rows_suffice and method.adds_pseudo_counts:
            return True
        if parameter.covers_all_units:
            return self.design.has_replicates
        return self.n_units > 1 and self._components_vary

    @property
    def single_unit(self) -> str:
        """Description of the row or group that alone determines the variance, if any.

        The text begins with "row" or "group", and names the class and the subgroup. The
        text is empty if several units determine the variance.
        """
        unit = "row" if self.design.rows_are_units else "group"
        for part in self.components or [self]:
            classes, subgroup = part.classes_of_area, part.parameter.key.subgroup
            where = " of one class" if classes else ""
            where += " in " * bool(subgroup) + ", ".join(map(" = ".join, subgroup))
            sets = classes
            if not classes and part.parameter.is_linear:
                sets = [part.influence[part.parameter.index] != 0]
            counts = (
                unit_weights_of_rows(units, part.rows, part.design).n for units in sets
            )
            if part.n_units <= 1 or 1 in counts:
                return unit + where
        return ""

    @property
    def _components_vary(self) -> bool:
        """Whether components that cover only some rows have nonzero variances.

        The components belong to a contrast. For interval methods that add a variance,
        by pseudo-counts or noise, the value is always True.
        """
        method = self.parameter.interval_method
        if method.adds_variance:
            return True
        return all(
            part.parameter.is_on_boundary or part.at_observed_table.has_variance
            for part in self.components
            if not part.parameter.covers_all_units
        )

    @property
    def at_observed_table(self) -> ParameterEstimate:
        """Estimate of the variance from observed counts, without pseudo-counts."""
        adds_pseudo_counts = self.parameter.interval_method.adds_pseudo_counts
        return self._by_delta if adds_pseudo_counts else self

    @cached_property
    def _by_delta(self) -> ParameterEstimate:
        return replace(self, parameter=self.parameter.with_method("delta"))

    # Precision of the variance

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the variance.

        The degrees of freedom are infinite for interval methods that use pseudo-counts,
        and if the observed variance is zero.
        """
        if self.parameter.interval_method.adds_pseudo_counts or not self.has_variance:
            return math.inf
        return self._df_of_totals

    @property
    def df_of_quantile(self) -> float:
        """Degrees of freedom of the critical value, infinite for a normal quantile."""
        return math.inf if self.is_normal else self.degrees_of_freedom

    @property
    def _df_of_totals(self) -> float:
        """Degrees of freedom of a variance that is estimated from influence values.

        For an area under a curve, degrees of freedom are also computed for the positive
        rows alone and for the negative rows alone. For events, degrees of freedom are
        also computed for the rows with an event. The minimum is returned.
        """
        candidates = [self.moments.degrees_of_freedom]
        for part in self.components or [self]:
            rows, design, _ = part._pooled
            for units in part._pooled_units(part.parameter.support.limiting):
                candidates.append(part._df_within(units, rows, design))
        return min(candidates)

    def _df_within(self, units: Array, rows: Rows, design: SampleDesign) -> float:
        """Return the degrees of freedom of a variance within a subset of units.

        `units` is a mask or weights of the units. All rows of the sample are assumed to
        have equal weight.
        """
        if units.dtype == bool:
            return max(rows.n_rows(units) - 1.0, 0.0)
        return unit_weights_of_rows(units, rows, design).degrees_of_freedom

    @cached_property
    def hall_coefficients(self) -> tuple[float, float, float]:
        r"""Coefficients a, b and c of Hall's correction for skewness and curvature.

        Let T be the studentised error of a mean with skewness g. With a = g/3 and b =
        g/6, :math:`T + a T^2 + a^2 T^3/3 + b` has a symmetric distribution to second
        order (Hall, 1992). For a nonlinear functional, let k be half the second
        derivative in the least favourable direction, in standard errors. Then k is
        added to a and b (DiCiccio and Efron, 1992). For a ratio of sums, k is instead
        the coefficient c of `with_curvature`. The absolute values of a and a + c are at
        most 1/3.
        """
        parameter = self.parameter
        if not self.has_variance:
            return 0.0, 0.0, 0.0
        g = self.moments.skewness
        a, total = np.clip(
            [g / 3, g / 3 + self._curvature], -_MAX_HALL, _MAX_HALL
        ).tolist()
        if not parameter.functional.is_ratio:
            a = total
        return a, a - g / 6, total - a

    @cached_property
    def _curvature(self) -> float:
        """Half the second derivative of the estimate, for Hall's correction.

        The derivative is computed in the least favourable direction.
        """
        parameter = self.parameter
        is_mean = isinstance(without_negation(parameter.functional), Mean)
        if is_mean and parameter.without_negation[0].scale == IDENTITY:
            return 0.0
        size, n = parameter.size, self.rows.n_samples
        step = np.bincount(parameter.index, self._direction, size + 1)[:size]
        step *= _STEP * n / self.rows.weights.sum()
        tables = (parameter.counts + sign * step for sign in (-1, 0, 1))
        values = [
            parameter.functional.estimate(table / table.sum()) for table in tables
        ]
        with np.errstate(all="ignore"):
            left, middle, right = parameter.trait.scale.forward(np.array(values))
            curvature = (left + right - 2 * middle) / (_STEP * (right - left))
        if not np.isfinite(curvature):
            return 0.0
        return float(np.clip(curvature, -_MAX_HALL, _MAX_HALL))

    @property
    def _direction(self) -> Array:
        """Change of the weights of units in the least favourable direction.

        The change moves the estimate by one standard error. The weight of each row
        changes in proportion to the total influence value of the independent unit that
        contains the row.
        """
        return self._direction_of(self._influences.column(0))

    def _direction_of(self, values: Array) -> Array:
        """Compute the least favourable direction from weighted influence values."""
        rows = self.rows
        squares = rows.repeats[1] * values
        means = rows.weights / np.maximum(rows.frequencies, 1)
        return means * squares / math.sqrt(dot(squares, values))

    @property
    def _influences(self) -> Influences:
        """Influence values of the parameter, multiplied by the weights of the rows."""
        return Influences([self.influence], [self.parameter.index], self.rows)

    @cached_property
    def small_sample_reasons(self) -> list[SmallSampleReason]:
        """Reasons why the interval may be too narrow."""
        method, agreement = self.parameter.interval_method, self.parameter.agreement
        if method.for_agreement and agreement and agreement.units.unevenness > _UNEVEN:
            return [_NO_HEAVIER]
        if method.for_agreement or (method.adds_pseudo_counts and self.is_normal):
            return []  # the interval uses no estimated variance
        if not (self.parameter.defined and self.is_estimable):
            return []  # the interval is the range
        reasons = self._reasons_of_design
        if self.parameter.trait.heavy_tails and self._has_neglected_tail:
            reasons.append(heavy_tail(self.parameter.trait))
        return reasons

    @property
    def _reasons_of_design(self) -> list[SmallSampleReason]:
        """Reasons why few units or unequal weights may make an interval too narrow."""
        reasons = self._reasons_of_few(self.n_units)
        return reasons or [_ONE_MORE] * self._is_moved_by_one_more

    def _reasons_of_few(self, n_units: float) -> list[SmallSampleReason]:
        """Return a reason to warn if few units determine the variance."""
        units, enough = self.design.kinds_of_units, self._sufficient_df
        has_limits = self.has_variance or self.parameter.interval_method.adds_variance
        if self.degrees_of_freedom < enough * (1 - _ROUNDING):
            cause = f"fewer than {enough} degrees of freedom" + ": few " * bool(units)
        elif units and n_units <= _FEW and has_limits:
            cause = f"at most {_FEW} "
        else:
            return []
        if units:
            is_area = any(part.classes_of_area for part in self.components or [self])
            cause += f"{units}{' of one class' * is_area} determine the variance"
        text = f"{cause}, and the interval may be too narrow"
        return [SmallSampleReason(text, other_method_helps=self.is_normal)]

    @property
    def _sufficient_df(self) -> int:
        """Degrees of freedom below which intervals may be too narrow.

        The value is 0 if the interval method is valid for any degrees of freedom.
        """
        method = self.parameter.interval_method
        if method.adds_pseudo_counts:
            return 0
        if method.studentises and not self.components:
            functional = without_negation(self.parameter.functional)
            is_given = isinstance(functional, FixedValueFunctional)
            return _ENOUGH_FOR_T if is_given else 0
        if any(part.classes_of_area for part in self.components):
            return 0
        if method.studentises:
            return _ENOUGH_FOR_DIFFERENCES
        return ENOUGH_FOR_NORMAL if self.is_normal else _ENOUGH_FOR_T

    @property
    def _is_moved_by_one_more(self) -> bool:
        """Whether one more row could move an area under a curve out of its interval.

        The additional row belongs to the rarer of the two classes, and has the worst
        possible score or a poor score.
        """
        parameter, rarer = self.parameter, self.parameter.support.rarer_class
        is_area = len(parameter.support.classes) == 2 and not self.components
        if not (rarer and is_area and self.has_variance):
            return False
        trait, estimate, _ = parameter.without_negation
        error = math.sqrt(self.estimated_variance)
        worst, best = trait.bounds
        poor = worst + _POOR * (best - worst)
        at_worst = (estimate - worst) / (rarer + 1)
        at_poor = (estimate - poor) / (rarer + 1)
        reach = min(at_worst, at_poor + _LOWER * error)
        # A lower bound on the distance of the limit: limits on the logit scale are
        # farther away than symmetric limits, up to the mirror image of the estimate.
        if min(_Z * error, 2 * estimate - worst - best) >= reach:
            return False
        task = self.task(error)
        quantile = float(stdtrit(self.degrees_of_freedom, _P))
        limits = parameter.interval_method.limits([task], [(quantile, quantile)], _Z)
        return limits[0][0] > estimate - reach

    @property
    def _rows_nest(self) -> bool:
        """Whether two components of a contrast share some rows but not all rows.

        The influence values of such components have different scales, so that their
        distribution may seem to have a heavy tail.
        """
        units = [component.units for component in self.parameter.components]
        return any((a & b).any() and (a != b).any() for a, b in pairwise(units))

    @property
    def has_heavy_tail(self) -> bool:
        """Whether quantiles of influence values indicate an infinite variance."""
        return self.has_variance and self._tail_shape(totals.weight_of_tail) > _HEAVY

    @property
    def _has_neglected_tail(self) -> bool:
        """Whether influence values have a heavy tail that the interval ignores.

        Intervals corrected for skewness do not ignore a heavy tail if the sample is
        skewed, because the limits are then far from the estimate.
        """
        if not self.parameter.interval_method.corrects_skewness:
            return self.has_heavy_tail
        if not self.has_variance or abs(self.hall_coefficients[0]) > _SKEWED:
            return False
        threshold = _HEAVY
        if not self.components and abs(self._curvature) < _STRAIGHT:
            threshold = _HEAVY_LOSSES - _SMALL_N / self.n_units
        return self._tail_shape(totals.weight_of_tail) > threshold

    @property
    def has_heavy_losses(self) -> bool:
        """Whether the largest losses are far larger than most losses.

        The criterion also detects heavy tails in samples without a single extreme loss.
        """
        if not self.has_variance:
            return False
        return self._tail_shape(totals.shape_of_ratios) > _HEAVY_BY_RATIOS

    def _tail_shape(self, shape: Callable[..., float]) -> float:
        """Return the tail index of the influence values.

        The result is NaN if the measure cannot have a heavy tail.
        """
        parameter = self.parameter
        if not (parameter.trait.heavy_tails and parameter.is_linear):
            return math.nan
        if self._rows_nest:
            shapes = [component._tail_shape(shape) for component in self.components]
            return float(np.fmax.reduce(shapes))
        inside = np.arange(len(self.influence)) < parameter.size
        columns = [self.influence, inside * 1.0]
        influences = Influences(columns, [parameter.index] * 2, self.rows)
        return totals.tail_shape(self.design.components(influences), shape)

    def task(self, standard_error: float) -> Task:
        """Return the input of the interval method.

        For a negated parameter, such as a negative loss, the input describes the
        measure without the negation.
        """
        parameter, hall = self.parameter, (0.0, 0.0, 0.0)
        trait, estimate, sign = parameter.without_negation
        if parameter.interval_method.corrects_skewness:
            estimated = self.estimated_variance  # without the noise of the method
            share = (estimated / standard_error**2) ** 1.5 if estimated else 0.0
            a, b, c = self.hall_coefficients
            hall = sign * a * share, sign * b * share, sign * c * share
        functional, counts, effect = self.table_of_interval
        return Task(
            trait,
            estimate,
            standard_error,
            parameter.support.rarer_class,
            without_negation(functional) if sign < 0 else functional,
            counts,
            effect,
            hall,
            sign,
            parameter.agreement,
        )
