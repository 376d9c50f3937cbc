"""Sampling covariance, design effects and effective sample sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property
from skci.inference.design import Design
from skci.inference.given_covariance import GivenCovariance, SmallSampleReason
from skci.inference.parameter import TableParameter
from skci.inference.stratified import StratifiedTable
from skci.inference.terms import Terms, base_slopes
from skci.inference.totals import Moments
from skci.inference.units import InformativeUnits
from skci.measures.functional import Functional

_NO_VARIANCE = 1e-10  # relative deviation that is zero up to rounding
_MANY = 16  # contrasts whose covariance may follow from that of their components
_NO_SHARE = 1e-20  # share of the largest variance of a contrast that is zero
_SMALL_SHARE = 1e-7  # share to which rounding adds something
_OBSERVED = 0.02  # least share of the smoothed variance for a design effect
_STEP = 1e-2  # in the least favourable direction, for second differences
_STEEPEST = 1 / 3  # greatest coefficient of Hall's transformation of a mean
_ENOUGH_FOR_T = 12  # degrees of freedom from which on a t quantile serves
# The same of a normal quantile; a proportion has about 2 x with few successes x.
_ENOUGH_FOR_NORMAL = 19
_HEAVY = 0.5  # shape of a tail from which on there is no variance
_SPARSE = (
    "few rows of a stratum with a large weight, and too many cells of all strata for "
    "an interval that allows for what they do not show, so that it may be too narrow; "
    "unite strata"
)
_HEAVY_TAIL = (
    "heavy tails: a few rows have so much influence that the variance may not exist "
    "and the interval may be too narrow, however many rows there are"
)


@dataclass(frozen=True, eq=False)
class RowSampling:
    """Parameters of a sample of rows: covariance from their influence values."""

    parameters: tuple[TableParameter, ...]
    design: Design
    common_df: ClassVar[None] = None
    """Degrees of freedom of a variance that all have in common; there is none."""

    def select(self, positions: Sequence[int]) -> RowSampling:
        """Keep some of the parameters."""
        return RowSampling(tuple(self.parameters[k] for k in positions), self.design)

    @cached_property
    def _units(self) -> InformativeUnits:
        return InformativeUnits(self.design)

    @cached_property
    def span_strata(self) -> Array:
        """Which parameters, or their components, vary in several strata, (K,)."""
        return np.array([*map(self._units.span_strata, self.parameters)], dtype=bool)

    @cached_property
    def is_linear(self) -> Array:
        """Which parameters are defined and have a linear approximation, (K,)."""
        return np.array([p.is_linear for p in self.parameters], dtype=bool)

    @cached_property
    def has_variance(self) -> Array:
        """Which parameters have a variance that is not zero, (K,)."""
        return self._exceed_rounding(self.covariance.diagonal())

    def _exceed_rounding(self, variances: Array) -> Array:
        """Which variances of linear parameters are not zero up to rounding, (K,)."""
        least = [
            _NO_VARIANCE * p.steepness if p.is_linear else np.inf
            for p in self.parameters
        ]
        return np.sqrt(variances * self.design.n_samples) > np.array(least)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the estimates, (K, K); zero where there is none."""
        linear = np.flatnonzero(self.is_linear)
        if not len(linear):
            return np.zeros((len(self.parameters),) * 2)
        chosen = [self.parameters[k] for k in linear]
        block = self._covariance_of(chosen)
        for j, (k, parameter) in enumerate(zip(linear, chosen, strict=True)):
            if parameter.interval_method.smooths:
                squares = parameter.weights @ parameter.linearised.influence**2
                multinomial = squares / parameter.counts.sum()
                least = multinomial * self.design_effects[k]
                if parameter.components and 0 < block[j, j] < least:
                    # Contrasts keep the rank that their coefficients leave them.
                    scale = np.sqrt(least / block[j, j])
                    block[j] *= scale
                    block[:, j] *= scale
                block[j, j] = max(block[j, j], least)
            if parameter.is_on_boundary:
                block[j] = block[:, j] = 0  # what is left is rounding
        if len(linear) == len(self.parameters):
            return block
        covariance = np.zeros((len(self.parameters),) * 2)
        covariance[np.ix_(linear, linear)] = block
        return covariance

    def _covariance_of(self, parameters: Sequence[TableParameter]) -> Array:
        """Covariance of the estimates of linear parameters.

        That of many contrasts of few parameters follows from that of the parameters,
        unless it would be the rounding of it.
        """
        if len(parameters) > _MANY:
            terms = Terms(parameters, self._observed)
            if len(terms) < len(parameters) / 2:
                of_terms = self.design.covariance(terms.influences, terms.indices)
                variances = self._variances_of(parameters)
                share = variances / terms.largest(of_terms.diagonal())
                if not ((share > _NO_SHARE) & (share < _SMALL_SHARE)).any():
                    block = terms.combine(of_terms)
                    constant = share <= _NO_SHARE
                    block[constant] = block[:, constant] = 0
                    np.fill_diagonal(block, variances)
                    return block
        values, indices = zip(*map(self._observed, parameters), strict=True)
        return self.design.covariance(values, indices)

    @cached_property
    def _observed_variances(self) -> Array:
        """Variances of the estimates by methods that do not smooth, (K,)."""
        variances = np.zeros(len(self.parameters))
        varying = [
            k
            for k in np.flatnonzero(self.is_linear)
            if not self.parameters[k].is_on_boundary
        ]
        if varying:
            chosen = [self.parameters[k] for k in varying]
            variances[varying] = self._variances_of(chosen)
        return variances

    def _variances_of(self, parameters: Sequence[TableParameter]) -> Array:
        """Variances of the estimates of linear parameters, each by itself."""
        variances = []
        for parameter in parameters:
            influence = self._influence(parameter)
            design, index = self._cells_as_units(parameter, len(influence))
            variances.append(design.variance(influence, index))
        return np.array(variances)

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors at the observed table, where it shows a variance, (K,)."""
        errors = np.sqrt(self.covariance.diagonal())
        smoothed = [
            k for k, p in enumerate(self.parameters) if p.interval_method.smooths
        ]
        if smoothed:
            observed = [replace(self.parameters[k], method="delta") for k in smoothed]
            sampling = RowSampling(tuple(observed), self.design)
            variances = sampling._observed_variances
            varies = sampling._exceed_rounding(variances)
            errors[smoothed] = np.where(varies, np.sqrt(variances), errors[smoothed])
        return errors

    def _influence(self, parameter: TableParameter, smoothed: bool = False) -> Array:
        """Influence values on the cells and, zero, for units outside of the table.

        They are at the weights of the method or, `smoothed`, with pseudo-counts.

        The variance is that of the m of n rows in the table, around their mean; of a
        contrast that of each component, unless the rows of one include all others.
        """
        influence = (
            parameter.smoothed_influence if smoothed else parameter.linearised.influence
        )
        if parameter.sees_all:
            return influence
        if parameter.components:
            factors = [self._small_sample_factor(c) for c in parameter.components]
            units = np.array([c.units for c in parameter.components])
            if (units == units.any(axis=0)).all(axis=1).any():
                factors = [max(factors)] * len(factors)
            weights = parameter.smoothed_weights if smoothed else parameter.weights
            influence = parameter.functional.influence(weights, factors)  # type: ignore[attr-defined]
            influence = np.nan_to_num(influence, posinf=0.0, neginf=0.0)
        else:
            influence = influence * self._small_sample_factor(parameter)
        counts = parameter.counts
        influence = influence - counts @ influence / max(counts.sum(), 1.0)
        return np.append(influence * self._inverse_sampling_fraction(parameter), 0.0)

    def _small_sample_factor(self, parameter: TableParameter) -> float:
        """Small-sample factor for a parameter estimated from m of n units."""
        m, n = self._units.count(parameter), self.design.n_units
        if parameter.sees_all or self.design.strata is not None or m < 2:
            return 1.0
        return math.sqrt(m / (m - 1) * (n - 1) / n)

    def _inverse_sampling_fraction(self, parameter: TableParameter) -> float:
        """All rows over those in the table of a parameter."""
        n = float(parameter.counts.sum())
        return float(self.design.counts.sum()) / n if n else 1.0

    @cached_property
    def is_estimable(self) -> Array:
        """Which variances can be estimated from as many units as there are, (K,)."""
        estimable = [self._is_estimable(p) for p in self.parameters]
        return np.array(estimable, dtype=bool) & (self.degrees_of_freedom > 0)

    def _is_estimable(self, parameter: TableParameter) -> bool:
        """Whether there are several units, for each component of a contrast."""
        if self.design.clusters is None and parameter.interval_method.smooths:
            return True
        if parameter.sees_all:
            return self.design.shows_variance
        return self._units.count(parameter) > 1 and self._components_vary(parameter)

    def _components_vary(self, parameter: TableParameter) -> bool:
        """Whether each component on some of the rows has a variance.

        It need not where the method smooths or blurs.
        """
        if parameter.interval_method.variance != "observed":
            return True
        components = tuple(
            replace(component, method=parameter.method)
            for component in parameter.components
            if not component.sees_all
        )
        vary = RowSampling(components, self.design).has_variance
        return all(v or c.is_on_boundary for v, c in zip(vary, components, strict=True))

    def noise(self, z: float) -> Array:
        r"""Covariance that is added to that of the estimates.

        Each parameter that is no contrast has an independent noise, so that contrasts
        with coefficients L gain :math:`L D L^T`. For methods that blur, D is

        .. math:: D_{kk} = \frac{z^2}{2 n^2} \sum_i (\partial_i g_k)^2 ,

        n the effective sample size: the Choice II of Yuan and Jiang, who perturb the
        moments of every parameter by noise of variance :math:`z^2 / 2n` a row. For
        others it is due to components on the boundary of their range, such that z
        standard errors reach as far as Wilson's interval for as many successes as rows;
        they are combined as squares (Newcombe, 1998).
        """
        of_strata = np.diag(self._stratum_noise(z))
        if not any(parameter.components for parameter in self.parameters):
            return np.diag(self._noise_variances(z)) + of_strata
        column: dict[tuple[TableParameter, str], int] = {}
        rows, columns, slopes = [], [], []
        for k in np.flatnonzero(self.is_linear).tolist():
            for base, slope in base_slopes(self.parameters[k]):
                named = base, self.parameters[k].method
                rows.append(k)
                columns.append(column.setdefault(named, len(column)))
                slopes.append(slope)
        bases = tuple(replace(base, method=method) for base, method in column)
        variances = RowSampling(bases, self.design)._noise_variances(z)
        deviations = np.nan_to_num(slopes) * np.sqrt(variances)[columns]
        shape = len(self.parameters), len(bases)
        jacobian = sparse.csr_array((deviations, (rows, columns)), shape=shape)
        return (jacobian @ jacobian.T).toarray() + of_strata

    def _stratum_noise(self, z: float) -> Array:
        """Variances for strata with few rows in a cell, (K,); see `StratifiedTable`.

        Those of contrasts are of their own tables, where rules agree on most rows.
        """
        return np.array(
            [
                table.noise(z)
                if table and p.is_linear and not p.interval_method.smooths
                else 0.0
                for p, table in zip(self.parameters, self._stratified, strict=True)
            ]
        )

    def _noise_variances(self, z: float) -> Array:
        """Variances of the noise of parameters that are no contrasts, (K,)."""
        variances = np.zeros(len(self.parameters))
        for k, (parameter, effect) in enumerate(
            zip(self.parameters, self.design_effects, strict=True)
        ):
            if not parameter.is_linear:
                continue
            if parameter.interval_method.blurs:
                gradient = parameter.linearised.gradient
                gradient = gradient * self._inverse_sampling_fraction(parameter)
                per_row = effect / self.design.n_samples
                variances[k] = np.sum(gradient**2) * (z * per_row) ** 2 / 2
            else:
                for slope, n in parameter.boundary:
                    variances[k] += (slope * z * effect / (n + effect * z**2)) ** 2
        return variances

    @cached_property
    def design_effects(self) -> Array:
        """Variances over those of simple random samples of the same size, (K,).

        From the influence values at the tables with pseudo-counts. Where next to no
        variance is observed, as if the rows of a cluster were all alike.
        """
        effects = np.ones(len(self.parameters))
        stratified = self.design.strata is not None
        if self.design.is_simple and not stratified:
            return effects
        for k, parameter in enumerate(self.parameters):
            units = self._units.drawn(parameter)
            rows = self.design.n_rows(units)
            if stratified and self._units.are_simple(parameter):
                effects[k] = self.design.counts[units].sum() / rows if rows else 1.0
                continue
            if table := self._stratified[k]:
                influence = parameter.smoothed_influence
                multinomial = parameter.smoothed_weights @ influence**2
                n = parameter.counts.sum()
                effects[k] = table.variance * n / multinomial if multinomial else 1.0
                continue
            influence = parameter.smoothed_influence
            variance = self.design.mean_square(influence, parameter.counts)
            with_pseudo_counts = self.design.mean_square(
                influence, parameter.counts + parameter.smoothing
            )
            least = max(_OBSERVED * with_pseudo_counts, _NO_VARIANCE**2)
            if variance > least:
                on_sample = self._influence(parameter, smoothed=True)
                estimated = self.design.covariance([on_sample], [parameter.index])
                n = parameter.counts.sum() * max(1 - 1 / rows, 1 / rows)
                effects[k] = estimated[0, 0] * n / variance
            if variance <= least or self._units.count(parameter) < 2:
                classes = self._units.classes(parameter)
                effective = min(map(self.design.effective_sample_size, classes))
                n = parameter.support.rarer_class
                n = n or self.design.count_of(classes[0])
                effects[k] = n / effective if effective else 1.0
        return effects

    @cached_property
    def degrees_of_freedom(self) -> Array:
        """Degrees of freedom of the variances; infinite for a normal quantile, (K,)."""
        every = range(len(self.parameters))
        return np.array([np.inf if self._is_normal(k) else self._df(k) for k in every])

    def _is_normal(self, k: int) -> bool:
        """Whether the quantile is that of a normal distribution, and not of t."""
        method = self.parameters[k].interval_method
        if method.smooths and self._stratified[k]:
            return True
        return not method.studentises and self._units.are_simple(self.parameters[k])

    @cached_property
    def _stratified(self) -> list[StratifiedTable | None]:
        """Tables by stratum of parameters of rows that are not alike, (K,)."""
        if self.design.strata is None:
            return [None] * len(self.parameters)
        return [
            None if self._units.are_simple(p) else self._units.table(p)
            for p in self.parameters
        ]

    def interval_table(self, k: int) -> tuple[Functional, Array, float]:
        """Functional, counts and design effect that the interval of a table is of."""
        parameter = self.parameters[k]
        table = self._stratified[k] if parameter.interval_method.smooths else None
        if table:
            return table.functional, table.counts, table.design_effect
        return parameter.functional, parameter.counts, float(self.design_effects[k])

    def _df(self, k: int) -> float:
        """Degrees of freedom of an estimated variance."""
        if k not in self._known_df:
            self._known_df[k] = self._satterthwaite_df(k)
        return self._known_df[k]

    @cached_property
    def _known_df(self) -> dict[int, float]:
        return {}

    def _satterthwaite_df(self, k: int) -> float:
        """Satterthwaite's degrees of freedom of an estimated variance.

        Where the method smooths, or no variance is observed, those of totals of weights
        in place of influence values, of a contrast the least of its components; none
        are needed in a simple random sample.
        """
        parameter = self.parameters[k]
        if self.has_variance[k] and not parameter.interval_method.smooths:
            return min(self._moments(k).degrees_of_freedom, self._df_of_area(parameter))
        if self._units.are_simple(parameter):
            return np.inf
        units = [
            each
            for component in parameter.components or [parameter]
            for each in self._units.classes(component)
        ]
        return min(self.design.weight_moments(u).degrees_of_freedom for u in units)

    def _df_of_area(self, parameter: TableParameter) -> float:
        """Degrees of freedom of the totals of weights in the rarer class of areas.

        The variance within a class of few rows may be tiny by chance.
        """
        areas = [
            self._units.classes_of_area(c) for c in parameter.components or [parameter]
        ]
        moments = [
            self.design.weight_moments(each)
            for classes in areas
            for each in (classes if len(classes) == 2 else [])
        ]
        return min((each.degrees_of_freedom for each in moments), default=np.inf)

    def _moments(self, k: int) -> Moments:
        """Moments of the totals of influence values of independent units."""
        if k not in self._known_moments:
            parameter = self.parameters[k]
            influence = self._influence(parameter)
            size = len(influence)
            inside = np.arange(size) < parameter.size
            classes = [each[:size] for each in self._units.cells_of_area(parameter)]
            design, index = self._cells_as_units(parameter, size)
            self._known_moments[k] = design.moments(influence, index, inside, classes)
        return self._known_moments[k]

    def _cells_as_units(
        self, parameter: TableParameter, size: int
    ) -> tuple[Design, Array]:
        """Design of the cells, and what is outside, as units, and the cell of each.

        The design of the sample where that has fewer units or dependent rows.
        """
        design, index = self.design, parameter.index
        if not design.has_independent_rows or size >= len(index):
            return design, index
        if design.powers is not None:
            return design.regrouped(index, size), np.arange(size)
        outside = design.n_samples - parameter.counts.sum()
        counts = np.append(parameter.counts, outside)[:size]
        return Design(counts, ddof=design.ddof), np.arange(size)

    @cached_property
    def _known_moments(self) -> dict[int, Moments]:
        return {}

    def _observed(self, parameter: TableParameter) -> tuple[Array, Array]:
        """Influence values on the cells at the weights of the method, and the cells."""
        return self._influence(parameter), parameter.index

    def hall_coefficients(self, k: int) -> tuple[float, float]:
        r"""Coefficients a and b of Hall's transformation.

        :math:`T + a T^2 + a^2 T^3/3 + b` makes the studentised error T of an estimate
        symmetric to second order (Hall, 1992). For a mean they are g/3 and g/6, g the
        skewness of the estimate; for other functionals half the second derivative in
        the least favourable direction, in standard errors, is added to both (DiCiccio
        and Efron, 1992). A coefficient a above that of the greatest skewness is cut.
        """
        parameter = self.parameters[k]
        if not (parameter.is_linear and self.has_variance[k]):
            return 0.0, 0.0
        g = self._moments(k).skewness
        change = _STEP * self.design.least_favourable(*self._observed(parameter))
        weights = self.design.weights + np.array([[-1], [0], [1]]) * change
        tables = [
            np.bincount(parameter.index, each, parameter.size + 1)[: parameter.size]
            for each in weights
        ]
        values = [parameter.functional.estimate(each / each.sum()) for each in tables]
        with np.errstate(all="ignore"):
            left, middle, right = parameter.trait.scale.forward(np.array(values))
            bend = (left + right - 2 * middle) / (_STEP * (right - left))
        bend = float(bend) if np.isfinite(bend) else 0.0
        return float(np.clip(g / 3 + bend, -_STEEPEST, _STEEPEST)), g / 6 + bend

    @cached_property
    def small_sample_reasons(self) -> list[list[SmallSampleReason]]:
        """Reasons why the interval of each parameter may be too narrow."""
        return [*map(self._small_sample_reasons, range(len(self.parameters)))]

    def _small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        parameter = self.parameters[k]
        normal, smooths = self._is_normal(k), parameter.interval_method.smooths
        if not parameter.defined:
            return []
        if smooths and self._units.has_sparse_stratum(parameter):
            return [SmallSampleReason(_SPARSE)]
        if normal and smooths:
            return []
        reasons = []
        least = _ENOUGH_FOR_NORMAL if normal else _ENOUGH_FOR_T
        if self._df(k) < least:
            text = (
                f"fewer than {least} degrees of freedom: few rows or groups tell most "
                "of the variance, and the interval may be too narrow"
            )
            reasons.append(SmallSampleReason(text, other_method_helps=normal))
        if self.has_variance[k] and self._has_heavy_tail(parameter):
            reasons.append(SmallSampleReason(_HEAVY_TAIL))
        return reasons

    def _has_heavy_tail(self, parameter: TableParameter) -> bool:
        """Whether influence values seem to be of a distribution without a variance."""
        if not (parameter.trait.heavy_tails and parameter.is_linear):
            return False
        values = self._observed(parameter)
        return self.design.tail_shape(*values, parameter.units) > _HEAVY


Sampling = GivenCovariance | RowSampling
"""Estimates of K parameters, their covariance, and how well it is known."""
