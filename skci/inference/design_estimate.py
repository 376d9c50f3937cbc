"""Sampling variance of one parameter with weights, clusters, strata or a design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.designs.design import SampleDesign, SmallSampleReason
from skci.inference.designs.totals import UnitWeights, intraclass_correlation, moments
from skci.inference.designs.units import (
    IndependentRows,
    all_units_are_rows,
    unit_weights_of_rows,
)
from skci.inference.parameter import CellMap, TableParameter
from skci.inference.parameter_estimate import (
    NO_VARIANCE,
    ParameterEstimate,
    small_sample_factor,
)
from skci.inference.rows import Influences, Rows
from skci.inference.stratified import (
    StratifiedTable,
    has_sparse_stratum,
    stratified_table,
)
from skci.measures.functional import Functional
from skci.measures.traits import LOG

_OBSERVED = 0.02  # minimum share of the smoothed variance for a design effect
_SAME = 1e-9  # relative difference of design effects that count as equal
_FAR = 1.5  # standard errors by which the label of a row may move an estimate

_ROUNDING = 1e-12  # design effect that counts as zero
_FEW = 50  # small number of clusters (Cameron and Miller, 2015, J. Human Resources 50)
_OUTCOMES = 2  # number of outcomes of a row: right or wrong
_TRUTH = 0  # column of the true labels; proxies have another column
_OUTSIDE = 2.0  # distance of a limit from the estimate, in standard errors
_SHARE_OF_WORST = 0.9  # outcome of rows of an unseen cluster, relative to the worst
_FEW_DEGREES = "degrees of freedom"  # in reasons due to few of them
_UNSEEN = SmallSampleReason(
    "few groups: one more group with errors in most rows would move the estimate out "
    "of the interval, so the interval is too narrow if the population has such groups "
    "and the sample lacks them"
)

_ONE_LABEL = SmallSampleReason(
    "few labels of large weight: another true label of a single row would move the "
    f"estimate by more than {_FAR} standard errors, and the interval may be too narrow"
)
_SPARSE = SmallSampleReason(
    "few rows of a stratum with a large weight: the strata have too many possible "
    "outcomes to account for unobserved outcomes, and the interval may be too narrow; "
    "merge strata"
)

_LESS_VARIABLE = SmallSampleReason(
    "rows of large weight, or in large groups, vary less than other rows: if all rows "
    f"varied equally, the standard error would be more than {_FAR} times as large. The "
    "interval may be too narrow"
)


class DesignEstimate(ParameterEstimate):
    """Sampling variance of a parameter for weighted, dependent or stratified rows."""

    components: Sequence[DesignEstimate]

    # Units

    @property
    def _strata(self) -> Any:
        return self.design.strata

    @cached_property
    def _in_table(self) -> UnitWeights:
        """Weights of the independent units on which the parameter depends."""
        return unit_weights_of_rows(self.parameter.units, self.rows, self.design)

    @property
    def _n_in_table(self) -> float:
        return self._in_table.n

    @property
    def _informative_masks(self) -> list[Array]:
        """Masks of the rows that determine how precisely the variance is estimated.

        Areas under curves have one mask for each class. Other measures have a single
        mask, for the rows with influence on the estimate.
        """
        return self.classes_of_area or [self._with_influence]

    @cached_property
    def _informative_units(self) -> list[UnitWeights]:
        """Weights of the independent units that contain informative rows.

        Areas under curves have one result for each class. Other measures have a single
        result.
        """
        return [
            unit_weights_of_rows(units, self.rows, self.design)
            for units in self._informative_masks
        ]

    @cached_property
    def _drawn_mask(self) -> Array:
        """Mask of the rows that determine the variance of the parameter.

        Rows in strata with constant influence values are excluded.
        """
        units = self.parameter.units
        if self._strata is not None:
            units = units & np.isin(self._strata, self._informative_strata)
        return units

    @cached_property
    def _informative_strata(self) -> Array:
        """Strata in which influence values may differ."""
        if self.table_by_stratum is None:
            return np.unique(self._strata[self._with_influence])
        return self.table_by_stratum.informative_strata

    @cached_property
    def table_by_stratum(self) -> StratifiedTable | None:
        """Counts of possible outcomes by stratum.

        The value is None if there are no strata or the possible outcomes are unknown.
        """
        return stratified_table(self.parameter, self.rows, self.design)

    @cached_property
    def spans_strata(self) -> bool:
        if self._strata is None:
            return False
        if self.components:
            return any(component.spans_strata for component in self.components)
        return len(self._informative_strata) > 1

    @cached_property
    def is_simple(self) -> bool:
        """Whether the parameter depends on a simple random sample from one stratum."""
        units, rows = self._drawn_mask, self.rows
        if self.spans_strata or not (rows.are_equal or rows.are_equal_in(units)):
            return False
        return all_units_are_rows(rows, self.design, units)

    @cached_property
    def stratified(self) -> StratifiedTable | None:
        """Counts of outcomes by stratum, or None for a simple random sample."""
        return None if self._strata is None or self.is_simple else self.table_by_stratum

    @property
    def table_of_interval(self) -> tuple[Functional, Array, float]:
        parameter, method = self.parameter, self.parameter.interval_method
        if method.adds_pseudo_counts and self.stratified:
            table = self.stratified
            return table.functional, table.counts, table.design_effect
        needs_effect = method.needs == "table" or parameter.support.rarer_class
        effect = self.design_effect if needs_effect else 1.0
        return parameter.functional, parameter.counts, effect

    def _df_within(self, units: Array, rows: Rows, design: SampleDesign) -> float:
        return unit_weights_of_rows(units, rows, design).degrees_of_freedom

    # Variance and design effect

    @cached_property
    def small_sample_factor(self) -> float:
        if self._strata is not None or self.parameter.covers_all_units:
            return 1.0
        return small_sample_factor(self._in_table.n, self._in_table.n_all)

    def stratum_noise(self, z: float) -> float:
        """Return the variance to add for strata without observed variance.

        See `StratifiedTable.noise` for the formula.
        """
        parameter = self.parameter
        adds_pseudo_counts = parameter.interval_method.adds_pseudo_counts
        if adds_pseudo_counts or not (self.stratified and parameter.is_linear):
            return 0.0
        return self.stratified.noise(z)

    @cached_property
    def design_effect(self) -> float:
        """Ratio of the variance to the variance in a simple random sample.

        Both variances are computed from influence values, after pseudo-counts are added
        to the counts. For interval methods that add pseudo-counts or noise, the ratio
        is at least the design effect of exchangeable errors, which are unrelated to
        weights and clusters. If rows have almost no variance, all rows of a cluster are
        treated as identical.
        """
        parameter, rows = self.parameter, self.rows
        n_rows = rows.n_rows(self._drawn_mask)
        if self._strata is not None and self.is_simple:
            return rows.counts[self._drawn_mask].sum() / n_rows if n_rows else 1.0
        influence = parameter.smoothed_influence
        if self.stratified:
            multinomial = parameter.smoothed_weights @ influence**2
            variance = self.stratified.variance * parameter.total
            defined = multinomial and math.isfinite(variance)
            return variance / multinomial if defined else 1.0
        variance = _mean_square(influence, parameter.counts)
        smoothed = _mean_square(influence, parameter.counts + parameter.pseudo_counts)
        minimum = max(_OBSERVED * smoothed, NO_VARIANCE**2)
        if not n_rows or variance <= minimum or self.n_units < 2:
            return self._design_effect_of_identical_rows
        on_sample = self._centred_and_scaled(influence, smoothed=True)
        estimated = moments(self._variance_components(on_sample)).variance
        n = parameter.total * max(1 - 1 / n_rows, 1 / n_rows)
        effect = estimated * n / variance
        method = parameter.interval_method
        if not method.adds_variance:
            return effect
        minimum = self._effect_of_exchangeable_errors
        if effect > _OBSERVED or minimum >= 1:
            return max(effect, minimum)
        # The rows of a cluster are copies; a contrast has the noise of its components.
        is_noise = method.blurs and not self.components
        has_effect = is_noise or minimum > _OBSERVED
        return self._design_effect_of_identical_rows if has_effect else 0.0

    @property
    def _design_effect_of_identical_rows(self) -> float:
        effective = min(u.effective_sample_size for u in self._informative_units)
        rarer = self.parameter.support.rarer_class
        n = rarer or self.rows.counts[self._informative_masks[0]].sum()
        return n / effective if effective else 1.0

    @cached_property
    def _has_known_design_effect(self) -> bool:
        """Whether the design effect follows from the weights, and is not estimated."""
        if self._strata is not None or not all_units_are_rows(self.rows, self.design):
            return False
        return self.design_effect <= (1 + _SAME) * self._effect_of_exchangeable_errors

    @cached_property
    def is_normal(self) -> bool:
        method = self.parameter.interval_method
        if method.for_agreement or (method.adds_pseudo_counts and self.stratified):
            return True
        return not method.studentises and self.is_simple

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the variance.

        The degrees of freedom are computed from totals of influence values. For
        interval methods that add pseudo-counts, they are computed from totals of
        weights. For a contrast, the minimum over the compared parameters is used.
        """
        adds_pseudo_counts = self.parameter.interval_method.adds_pseudo_counts
        if not adds_pseudo_counts and self.has_variance:
            return self._df_of_totals
        if self.is_simple or (adds_pseudo_counts and self._has_known_design_effect):
            return math.inf
        return min(
            units.degrees_of_freedom
            for part in self.components or [self]
            for units in part._informative_units
        )

    @property
    def _direction(self) -> Array:
        direction = self.design.direction(self._influences)
        if direction is not None:
            return direction
        values, rows = self._influences.column(0), self.rows
        if self._strata is not None:
            weights = np.bincount(self._strata, rows.weights)
            terms = self.influence[self.parameter.index] * rows.weights
            means = np.bincount(self._strata, terms) / weights
            values = values - means[self._strata] * rows.shares
        return self._direction_of(values)

    @property
    def _reasons_of_design(self) -> list[SmallSampleReason]:
        parameter, method = self.parameter, self.parameter.interval_method
        adds_pseudo_counts = method.adds_pseudo_counts
        is_unadjusted = not method.adds_variance and self._strata is None
        sparse = (
            adds_pseudo_counts and self.spans_strata and self.table_by_stratum is None
        )
        if sparse and has_sparse_stratum(parameter, self.rows, self.design):
            return [_SPARSE]
        n_units = self.n_units
        if not self.design.rows_are_units:
            n_units = min(
                units.n
                for part in self.components or [self]
                for units in part._informative_units
            )
        reasons = self._reasons_of_few(n_units)
        if not reasons:
            if adds_pseudo_counts and self._may_lack_clusters:
                reasons.append(_UNSEEN)
            elif is_unadjusted and self._is_label_sensitive:
                reasons.append(_ONE_LABEL)
            elif is_unadjusted and self._is_less_than_exchangeable:
                reasons.append(_LESS_VARIABLE)
        reason = self.has_variance and self.design.small_sample_reason(self._influences)
        if reason:
            parts = (reason,) if isinstance(reason, str) else reason
            if _FEW_DEGREES in parts[0]:  # the reason of the design is more specific
                reasons = [x for x in reasons if _FEW_DEGREES not in x.text]
            reasons.append(SmallSampleReason(*parts))
        return reasons

    @property
    def _is_label_sensitive(self) -> bool:
        """Whether a different true label in one row would change the estimate much.

        If so, errors on rows with large weights are too rare for a reliable variance.
        """
        change = max_label_sensitivity(self.parameter, self.rows)
        return self.has_variance and change > _FAR * math.sqrt(self.estimated_variance)

    @property
    def _is_less_than_exchangeable(self) -> bool:
        """Whether the variance would be much larger if errors were exchangeable.

        Exchangeable errors are unrelated to weights and clusters. The result is False
        if the compared parameters depend on different rows.
        """
        parameter = self.parameter
        has_parts = bool(parameter.components) and not parameter.covers_all_units
        if has_parts or self.rows.are_mixtures:
            return False
        threshold = _FAR**2 * self.design_effect
        return self.has_variance and self._effect_of_exchangeable_errors > threshold

    # Errors that are independent of weights and cluster sizes

    @cached_property
    def _smoothed_influence(self) -> Array:
        """Influence values of the possible outcomes, followed by a zero.

        The zero applies to rows on which the parameter does not depend.
        """
        return np.append(self.parameter.smoothed_influence, 0.0)

    @cached_property
    def _with_influence(self) -> Array:
        """Mask of the units, such as rows, with influence on the estimate."""
        has_influence = np.append(self.parameter.has_influence, False)
        return has_influence[self.parameter.index]

    @cached_property
    def _effect_of_exchangeable_errors(self) -> float:
        r"""Design effect of errors that are independent of weights and cluster sizes.

        .. math:: \frac{n}{W} \Bigl( \frac{\sum_{L_i \ne 0} w_i^2}{\sum_{L_i \ne 0} w_i}
            + \frac{\rho}{W} \sum_g \sum_{i \ne j \in g} w_i w_j \Bigr)

        for the n rows of total weight W in the table, where :math:`\rho` is the
        correlation of influence values L within clusters (Kish, 1965, *Survey
        Sampling*, 5.4 and 11.7). The design effect is set to zero for areas, which have
        a separate variance in each class, and if units overlap.
        """
        parameter, inside = self.parameter, self.parameter.units
        if parameter.support.classes or not self._with_influence.any():
            return 0.0
        if self._intraclass_correlation is None:
            return 0.0
        row_weights = self._weights_of_rows(self._with_influence)
        effect = row_weights.squares / row_weights.total
        if not self.design.rows_are_units:
            cluster_weights = unit_weights_of_rows(inside, self.rows, self.design)
            pairs = cluster_weights.squares - self._weights_of_rows(inside).squares
            effect += self._intraclass_correlation * pairs / cluster_weights.total
        weights = self.rows.weights
        share = float(weights[inside].sum() / weights.sum())
        effect *= parameter.total / share
        return effect if effect > _ROUNDING else 0.0

    def _weights_of_rows(self, units: Array) -> UnitWeights:
        """Return the weights of some rows, which are treated as independent."""
        return unit_weights_of_rows(
            units, self.rows, IndependentRows(self.rows.n_samples)
        )

    @cached_property
    def _intraclass_correlation(self) -> float | None:
        """Intraclass correlation of influence values, or None if clusters overlap."""
        if self.design.rows_are_units:
            return 0.0
        parameter, rows = self.parameter, self.rows
        inside = parameter.units
        total = rows.weights[inside].sum() / rows.weights.sum()
        influence = self._smoothed_influence / total
        weight = np.array([0.0, 1 / total])
        influences = Influences(
            [influence, weight, influence**2, weight**2],
            [parameter.index, inside.view(np.uint8)] * 2,
            rows,
            orders=[1, 1, 2, 2],
        )
        return intraclass_correlation(self.design.components(influences))

    @property
    def _may_lack_clusters(self) -> bool:
        r"""Whether one more cluster with errors could change the estimate much.

        The influence value of each row in the additional cluster is .9 times the worst
        possible influence value. The result is False if many clusters already have
        errors.
        """
        if self.design.rows_are_units:
            return False
        parameter = self.parameter
        inside = unit_weights_of_rows(self._with_influence, self.rows, self.design)
        n = inside.effective_sample_size
        if n >= _FEW:
            return False
        share = 1 / (n + 1)
        weights, influence = parameter.smoothed_weights, self._smoothed_influence[:-1]
        squares = weights @ influence**2
        for extreme in self._extreme_influence:
            worst = _SHARE_OF_WORST * extreme
            shift = share * (weights @ worst)
            variance = (squares + share * (weights @ worst**2)) / parameter.total
            if shift**2 > _OUTSIDE**2 * self.design_effect * variance:
                return True
        return False

    @property
    def _extreme_influence(self) -> tuple[Array, Array]:
        """Smallest and largest influence values that are possible for each outcome.

        If the possible labels are known, the two extremes are computed over all
        outcomes with the same true label. If the labels are unknown and there are two
        outcomes, the extremes are computed over both outcomes. Otherwise, both extremes
        equal the influence value of the outcome.
        """
        influence, cell_map = self._smoothed_influence, self.parameter.cell_map
        if cell_map is None:
            inside = self.parameter.has_influence
            if len(np.unique(influence[:-1][inside])) > _OUTCOMES:
                return influence[:-1], influence[:-1]
            return inside * influence.min(), inside * influence.max()
        cells = cell_map.cells.reshape(len(cell_map.cells), -1)
        lower, upper = influence.copy(), influence.copy()
        label_values = influence[cells]
        np.minimum.at(lower, cells, label_values.min(axis=1, keepdims=True))
        np.maximum.at(upper, cells, label_values.max(axis=1, keepdims=True))
        return lower[:-1], upper[:-1]


def _mean_square(influence: Array, counts: Array) -> float:
    """Compute the variance of influence values, weighted by counts."""
    p = counts / max(counts.sum(), 1.0)
    return float(p @ (influence - p @ influence) ** 2)


def max_label_sensitivity(parameter: TableParameter, rows: Rows) -> float:
    r"""Compute the largest change of an estimate if one true label is replaced.

    .. math:: \max_i \Bigl| \sum_c a_c \frac{w_i}{W_c}
        \bigl( L_c(y'_i, \hat y_i) - L_c(y_i, \hat y_i) \bigr) \Bigr|

    over the rows i of weight :math:`w_i`, for a contrast of components c with
    coefficients :math:`a_c`, where :math:`W_c` is the total weight of the rows of
    component c. The label :math:`y'_i` is the label whose influence value differs most
    from the influence value of the observed label.
    The result is zero if possible labels are not enumerated, or if the rows of a
    component have equal weights.
    """
    changes = np.zeros(len(rows))
    coefficients = parameter.coefficients or (1.0,)
    components = parameter.components or (parameter,)
    for coefficient, component in zip(coefficients, components, strict=True):
        assert isinstance(component, TableParameter)
        cell_map, units = component.cell_map, component.units
        if cell_map is None or cell_map.columns[0] != _TRUTH:
            continue
        if rows.are_equal_in(units):
            continue
        if parameter.components and parameter.trait.scale == LOG:
            coefficient *= parameter.estimate / component.estimate
        share = rows.largest_weights / rows.weights[units].sum()
        influence = component.linearised.influence
        changes += coefficient * share * _changes(influence, cell_map)[component.index]
    return float(np.nan_to_num(np.abs(changes)).max(initial=0.0))


def _changes(influence: Array, cell_map: CellMap) -> Array:
    """Compute by how much a different true label can change each influence value.

    The result contains the largest change for each possible outcome, and a final zero.
    The zero applies to rows on which the parameter does not depend.
    """
    influence = np.nan_to_num(np.append(influence, 0.0), posinf=0.0, neginf=0.0)
    cells = cell_map.cells.reshape(len(cell_map.cells), -1)
    values = influence[cells]
    up, down = values.max(axis=0) - values, values - values.min(axis=0)
    change = np.where(up >= down, up, -down).ravel()
    order = np.argsort(np.abs(change))  # the largest change of a cell comes last
    changes = np.zeros(len(influence))
    changes[cells.ravel()[order]] = change[order]
    changes[-1] = 0.0
    return changes
