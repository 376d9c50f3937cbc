"""Joint estimates: from estimates and a covariance to intervals that cover at once.

Nothing is computed before it is looked at, and nothing needs the data again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtri

from skci._arrays import Array
from skci.inference.critical.law import Alternative, CriticalValue, MaximumLaw
from skci.inference.design import Design, correlation_from
from skci.inference.intervals.methods import METHODS, Task
from skci.inference.parameter import GivenParameter, Key, Parameter, TableParameter
from skci.inference.sampling import GivenCovariance, RowSampling, Sampling
from skci.measures.registry import Trait

__all__ = ["JointEstimate"]

_SAME_DF = 1e-9
"""Relative difference of degrees of freedom that are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Estimates of K parameters and what is known of them jointly.

    Made by `from_rows` or `from_moments`.

    Parameters
    ----------
    sampling : Sampling
        The parameters and the covariance of their estimates.
    confidence_level : float
    simultaneous : bool
        Whether the intervals shall all cover at once, or each for itself.
    random_state : int, optional
        Seed of the quasi-random points of the critical value.
    """

    sampling: Sampling
    confidence_level: float = 0.95
    simultaneous: bool = True
    random_state: int | None = None

    @classmethod
    def from_rows(
        cls, parameters: Iterable[TableParameter], design: Design, **options: Any
    ) -> JointEstimate:
        """Estimate parameters of the tables of a sample.

        Parameters
        ----------
        parameters : iterable of TableParameter
        design : Design
            How the rows of the sample were drawn.
        **options
            Those of `JointEstimate`.
        """
        parameters = tuple(parameters)
        for parameter in () if design.is_simple else parameters:
            if parameter.interval_method.needs_simple_sample:
                others = [k for k, m in METHODS.items() if not m.needs_simple_sample]
                raise ValueError(
                    f"method={parameter.method!r} needs independent rows of equal "
                    f"weight; with sample_weight or groups use one of {others}"
                )
        return cls(RowSampling(parameters, design), **options)

    @classmethod
    def from_moments(
        cls,
        estimates: Sequence[float],
        covariance: Array,
        df: float,
        keys: Sequence[Key],
        traits: Sequence[Trait],
        methods: Sequence[str],
        **options: Any,
    ) -> JointEstimate:
        """Take estimates with a given covariance.

        Parameters
        ----------
        estimates : sequence of K floats
        covariance : array of shape (K, K)
        df : float
            Degrees of freedom of the covariance; infinite where it is known.
        keys : sequence of K Key
        traits : sequence of K Trait
            Range and scale of each parameter.
        methods : sequence of K str
            Interval method of each, which needs no table.
        **options
            Those of `JointEstimate`.
        """
        parameters = tuple(
            GivenParameter(key=key, trait=trait, method=method, given=float(estimate))
            for estimate, key, trait, method in zip(
                estimates, keys, traits, methods, strict=True
            )
        )
        return cls(GivenCovariance(parameters, covariance, df), **options)

    # ----------------------------------------------------------------------------------
    # Other views of the same estimates
    # ----------------------------------------------------------------------------------

    def at(self, confidence_level: float) -> JointEstimate:
        """Return the same estimates with intervals of another confidence level."""
        return replace(self, confidence_level=confidence_level)

    def individual(self) -> JointEstimate:
        """Return the same estimates, each interval covering for itself alone."""
        view = replace(self, simultaneous=False)
        shared = ("_covariance", "_deviations", "usable", "estimates")
        vars(view).update({k: v for k, v in vars(self).items() if k in shared})
        return view

    def select(self, positions: Sequence[int]) -> JointEstimate:
        """Return some of the estimates, joint among themselves."""
        return replace(self, sampling=self.sampling.select(positions))

    def with_parameters(
        self, parameters: Iterable[TableParameter], simultaneous: bool = True
    ) -> JointEstimate:
        """Return estimates of other parameters of the same sample."""
        return JointEstimate.from_rows(
            parameters,
            self.design,
            confidence_level=self.confidence_level,
            simultaneous=simultaneous,
            random_state=self.random_state,
        )

    # ----------------------------------------------------------------------------------
    # Estimates
    # ----------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The K parameters."""
        return self.sampling.parameters

    @property
    def design(self) -> Design:
        """How the rows were drawn."""
        if self.sampling.design is None:
            raise ValueError("estimates with a given covariance are not of rows")
        return self.sampling.design

    @property
    def is_of_rows(self) -> bool:
        """Whether the estimates are of rows, and not given."""
        return self.sampling.design is not None

    @property
    def design_effects(self) -> Array:
        """Variances over those of simple random samples of the same size, (K,)."""
        return self.sampling.design_effects

    @cached_property
    def estimates(self) -> Array:
        """Estimates, shape (K,)."""
        return np.array([parameter.estimate for parameter in self.parameters])

    @cached_property
    def is_undefined(self) -> Array:
        """Which measures are undefined on the data, shape (K,)."""
        return np.array([not p.defined for p in self.parameters], dtype=bool)

    @cached_property
    def is_degenerate(self) -> Array:
        """Which defined estimates have no usable estimate of their variance, (K,).

        It is zero, the measure has no derivative, or there is a single row or group.
        """
        known = self.sampling.has_variance | self._is_on_boundary
        degenerate: Array = ~self.is_undefined & ~(self.usable & known)
        return degenerate

    @cached_property
    def _is_on_boundary(self) -> Array:
        return np.array([p.is_on_boundary for p in self.parameters], dtype=bool)

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors, whatever the confidence level, shape (K,)."""
        errors = np.sqrt(self.sampling.covariance.diagonal())
        shows = not self.is_of_rows or self.design.shows_variance
        errors[~self.sampling.has_variance] = 0 if shows else np.nan
        return self._known(errors)

    @cached_property
    def covariance(self) -> Array:
        """Covariance behind the intervals, shape (K, K); NaN where it is unknown."""
        return self._known(self._covariance)

    @property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K); NaN where unknown."""
        correlation = correlation_from(self._covariance)
        correlation[~self.usable] = correlation[:, ~self.usable] = np.nan
        return correlation

    @property
    def _usable_correlation(self) -> Array:
        correlation = self.correlation
        if self.usable.all():
            return correlation
        return correlation[np.ix_(self.usable, self.usable)]

    @cached_property
    def _covariance(self) -> Array:
        """Sampling covariance, and what is added for what the data cannot show."""
        return self.sampling.covariance + self.sampling.noise(self._z)

    def _known(self, values: Array) -> Array:
        """Write NaN where a parameter has no linear approximation."""
        values = values.copy()
        values[~self.sampling.is_linear] = np.nan
        if values.ndim == 2:
            values[:, ~self.sampling.is_linear] = np.nan
        return values

    @cached_property
    def usable(self) -> Array:
        """Which parameters have a variance to make an interval of, shape (K,)."""
        blurs = [p.interval_method.blurs for p in self.parameters]
        positive = np.array(blurs, dtype=bool) & (self._covariance.diagonal() > 0)
        known = self.sampling.has_variance | positive | self._is_on_boundary
        usable: Array = self.sampling.is_estimable & known
        return usable

    # ----------------------------------------------------------------------------------
    # Critical values
    # ----------------------------------------------------------------------------------

    @property
    def _z(self) -> float:
        return float(ndtri((1 + self.confidence_level) / 2))

    def to_t_quantile(self, q: float, k: int) -> float:
        """From a normal quantile to that of t with the parameter's df."""
        df = self.sampling.degrees_of_freedom[k]
        return q if np.isinf(df) else float(stats.t.isf(stats.norm.sf(q), df))

    def to_normal_quantile(self, q: float, k: int) -> float:
        """From a quantile of t with the parameter's df to a normal quantile."""
        df = self.sampling.degrees_of_freedom[k]
        return q if np.isinf(df) else float(stats.norm.isf(stats.t.sf(q, df)))

    @cached_property
    def critical_value(self) -> CriticalValue:
        """Half widths of the intervals in standard errors.

        Where degrees of freedom differ, that of the parameter that has most.
        """
        q = self.normal_quantile
        if not self.usable.any():
            return q
        if self.common_df is not None and not self.is_individual:
            return self.law().quantile(self.confidence_level)
        df = np.where(self.usable, self.sampling.degrees_of_freedom, -np.inf)
        translated = self.to_t_quantile(q, int(df.argmax()))
        return CriticalValue(translated, q.error * translated / q)

    @cached_property
    def normal_quantile(self) -> CriticalValue:
        """Critical value on the scale of a standard normal estimate.

        An estimate without a usable variance has the whole range for an interval, so
        it takes no part. With common degrees of freedom it is the quantile of the
        multivariate t, translated; with others each parameter translates it for itself.
        """
        if self.is_individual:
            return CriticalValue(self._z)
        q = self.law().quantile(self.confidence_level)
        if self.common_df is None:
            return q
        normal = self.to_normal_quantile(q, int(np.flatnonzero(self.usable)[0]))
        return CriticalValue(normal, q.error * normal / q)

    @cached_property
    def common_df(self) -> float | None:
        """Finite degrees of freedom that all usable variances have; None for others."""
        df = self.sampling.degrees_of_freedom[self.usable]
        if not len(df) or np.isinf(df).any():
            return None
        common = float(df.max())
        return common if df.min() > common * (1 - _SAME_DF) else None

    def law(self, alternative: Alternative = "two-sided") -> MaximumLaw:
        """Distribution of the maximum of the standardised usable estimates."""
        if alternative not in self._laws:
            self._laws[alternative] = MaximumLaw(
                self._usable_correlation,
                df=self.common_df,
                alternative=alternative,
                random_state=self.random_state,
            )
        return self._laws[alternative]

    @cached_property
    def _laws(self) -> dict[str, MaximumLaw]:
        return {}

    @cached_property
    def is_individual(self) -> bool:
        """Whether each interval covers for itself, or there is but one."""
        few = len(self.parameters) == 1
        return not self.simultaneous or few or int(self.usable.sum()) < 2

    # ----------------------------------------------------------------------------------
    # Intervals
    # ----------------------------------------------------------------------------------

    @cached_property
    def intervals(self) -> Array:
        """Lower and upper limits, shape (K, 2)."""
        bounds = [parameter.trait.bounds for parameter in self.parameters]
        limits = np.array(bounds, dtype=float)
        usable = np.flatnonzero(self.usable)
        if len(usable):
            q = float(self.normal_quantile)
            limits[usable] = self.limits_at_normal_quantile(usable, q, self._z)
        return limits

    def limits_at_normal_quantile(self, positions: Array, q: float, z: float) -> Array:
        """Limits for a normal quantile, translated to t for finite df."""
        df = self.sampling.degrees_of_freedom[positions]
        if np.isinf(df).all():
            return self.limits_at(positions, q, z)
        limits = np.empty((len(positions), 2))
        for each in np.unique(df):
            rows = np.flatnonzero(df == each)
            crit = self.to_t_quantile(q, int(positions[rows[0]]))
            limits[rows] = self.limits_at(positions[rows], crit, z)
        return limits

    def limits_at(self, positions: Iterable[int], crit: float, z: float) -> Array:
        """Limits of parameters that have a usable variance, for a critical value.

        Parameters
        ----------
        positions : iterable of int
        crit : float
            Critical value.
        z : float
            Normal quantile of the level.
        """
        positions = [int(k) for k in positions]
        parameters = [self.parameters[k] for k in positions]
        methods = [parameter.interval_method for parameter in parameters]
        limits = np.empty((len(positions), 2))
        for method in dict.fromkeys(methods):
            rows = [row for row, other in enumerate(methods) if other is method]
            tasks = [self._task(positions[row]) for row in rows]
            limits[rows] = method.limits(tasks, crit, z)
        if any(any(parameter.extension) for parameter in parameters):
            extension = np.array([parameter.extension for parameter in parameters])
            bounds = np.array([parameter.trait.bounds for parameter in parameters])
            limits = limits + extension * [-1, 1]
            limits = np.clip(limits, bounds[:, :1], bounds[:, 1:])
        return limits

    def roots(self, positions: Iterable[int], nulls: Array, above: Array) -> Array:
        """Critical values at which lower limits, or upper ones, are at nulls.

        Parameters
        ----------
        positions : iterable of int
            Parameters that have a usable variance.
        nulls : array
            A null for each.
        above : bool array
            Whether the lower limit is asked for: whether the estimate is above.

        Returns
        -------
        array
            Minus infinity where no limit reaches the null, NaN where it was not found.
        """
        positions = [int(k) for k in positions]
        parameters = [self.parameters[k] for k in positions]
        extensions = np.array([p.extension for p in parameters]).reshape(-1, 2)
        extension = np.where(above, extensions[:, 0], extensions[:, 1])
        nulls = np.where(above, nulls + extension, nulls - extension)
        estimates = self.estimates[positions]
        beyond = np.where(above, nulls < estimates, nulls > estimates)
        roots = np.full(len(positions), -np.inf)
        methods = [parameter.interval_method for parameter in parameters]
        for method in dict.fromkeys(methods):
            same = np.array([other is method for other in methods])
            rows = np.flatnonzero(same & ((extension == 0) | beyond))
            tasks = [self._task(positions[row]) for row in rows]
            if tasks:
                roots[rows] = method.roots(tasks, nulls[rows], above[rows], self._z)
        return roots

    @cached_property
    def _deviations(self) -> list[float]:
        deviations: list[float] = np.sqrt(self._covariance.diagonal()).tolist()
        return deviations

    def _task(self, k: int) -> Task:
        parameter = self.parameters[k]
        design_effect = float(self.design_effects[k])
        rarer_class = parameter.support.rarer_class / design_effect
        table: dict[str, Any] = {}
        if isinstance(parameter, TableParameter):
            table = {"functional": parameter.functional, "counts": parameter.counts}
        return Task(
            parameter.trait,
            parameter.estimate,
            self._deviations[k],
            rarer_class,
            design_effect=design_effect,
            **table,
        )
