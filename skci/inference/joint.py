"""Joint estimates: from estimates and a covariance to intervals that cover at once.

Everything is computed when first accessed, and nothing needs the data again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skci._arrays import Array, cached_property, dataclass
from skci.inference.critical.correlation import (
    Loadings,
    correlation_from,
    shrink_correlation,
)
from skci.inference.critical.horizon import Horizon, HorizonLaw
from skci.inference.critical.law import Alternative, MaximumLaw
from skci.inference.critical.quantile import CriticalValue
from skci.inference.designs.design import SampleDesign
from skci.inference.estimates import Estimates
from skci.inference.intervals.methods import (
    INTERVALS,
    METHODS,
    IntervalMethod,
    Task,
)
from skci.inference.linear_estimates import (
    MOST_TABLES,
    GivenEstimates,
    ResampledEstimates,
    excess_shares,
)
from skci.inference.parameter import Contrasts, Parameter, TableParameter
from skci.inference.row_estimates import RowEstimates
from skci.inference.rows import Rows

_TOLERANCE = 5e-3  # of quantiles of some of many contrasts: as accurate as p-values


class Target(NamedTuple):
    """What estimates are of, and of resampled ones how the variance was estimated."""

    target: str
    """Such as "the procedures, trained on 320 rows"."""
    resampling: str = ""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Estimates of K parameters and what is known of them jointly."""

    sampling: Estimates
    """The parameters and the covariance of their estimates."""
    confidence_level: float = 0.95
    simultaneous: bool = True
    """Whether the intervals shall all cover at once, or each for itself."""
    random_state: int | None = None
    """Seed of the quasi-random points of the critical value."""
    target: Target | None = None
    """What the estimates are of, if not of given models in the population."""
    n_given: int | None = None
    """Number of rows that were given, where those of the sample are copies of them."""
    horizon: Horizon | None = None
    """Looks at growing data at which the intervals shall cover, all at once."""
    warned: set[tuple[str, str]] = field(default_factory=set, repr=False)
    """Causes and parameters that a view of the same estimates has warned of."""
    _laws: dict[str, MaximumLaw | HorizonLaw] = field(default_factory=dict, init=False)

    @classmethod
    def from_rows(
        cls,
        parameters: Iterable[TableParameter],
        rows: Rows,
        design: SampleDesign,
        **options: Any,
    ) -> JointEstimate:
        """Estimate parameters of the tables of rows, drawn by a design."""
        sampling = RowEstimates(tuple(parameters), rows, design)
        for parameter in sampling.parameters:
            simple = not parameter.interval_method.needs_simple_sample
            if not (simple or sampling.is_simple):
                others = [k for k, m in METHODS.items() if not m.needs_simple_sample]
                raise ValueError(
                    f"method={parameter.method!r} needs independent rows of equal "
                    "weight, of one stratum; with sample_weight, groups or strata use "
                    f"one of {others}"
                )
        return cls(sampling, **options)

    @classmethod
    def from_moments(
        cls,
        parameters: Iterable[Parameter],
        covariance: Array,
        df: float = np.inf,
        *,
        common_variance: bool = False,
        excess: Array | None = None,
        out_of_fold: Estimates | None = None,
        **options: Any,
    ) -> JointEstimate:
        """Take given estimates with a given covariance; see `GivenEstimates`.

        Differences of two models are free of an `excess` in it, of shape (K, K). Of
        resampled estimates, what is known out of fold; see `ResampledEstimates`.
        """
        parameters = tuple(parameters)
        shares = {} if excess is None else excess_shares(parameters, covariance, excess)
        sampling = GivenEstimates(parameters, covariance, df, common_variance, shares)
        if out_of_fold is not None:
            sampling = ResampledEstimates(**vars(sampling), of_rows=out_of_fold)
        return cls(sampling, **options)

    def at(self, confidence_level: float) -> JointEstimate:
        """Return the same estimates with intervals of another confidence level."""
        return replace(self, confidence_level=confidence_level)

    @cached_property
    def individual(self) -> JointEstimate:
        """The same estimates, each interval covering for itself alone."""
        view = replace(self, simultaneous=False)
        shared = ["_covariance", "_variances", "usable", "estimates"]
        if self.is_individual:
            shared.append("intervals")
        vars(view).update({k: v for k, v in vars(self).items() if k in shared})
        return view

    def select(self, positions: Sequence[int]) -> JointEstimate:
        """Return some of the estimates, joint among themselves."""
        return replace(self, sampling=self.sampling.select(positions))

    def extended(self, parameters: Iterable[TableParameter]) -> JointEstimate:
        """Return the estimates, and after them those of more parameters of the rows."""
        assert isinstance(self.sampling, RowEstimates)
        extended = (*self.sampling.parameters, *parameters)
        return replace(self, sampling=self.sampling.with_parameters(extended))

    def contrast(
        self,
        contrasts: Contrasts,
        ratio: bool = False,
        method: str | None = None,
        simultaneous: bool = True,
    ) -> JointEstimate:
        """Estimate contrasts of the parameters: linear combinations, or ratios.

        To first order where the method smooths, and without the excess of a given
        covariance. The default method is that of the parameters if they have one in
        common that serves contrasts and is not what "auto" stands for, else "auto". A
        method that cannot serve a contrast is a ValueError, as are a ratio of signed
        measures and terms that all cancel.
        """
        compared = self.sampling.contrast(contrasts, ratio, method)
        return replace(self, sampling=compared, simultaneous=simultaneous)

    def check_has_tables(self) -> None:
        """Check that there are tables to plan from."""
        if not self.is_of_rows:
            raise ValueError("planning needs the rows of a test set, not a covariance")
        if self.sampling.known == "skewness":
            raise ValueError(
                "planning with several runs needs numbers of rows and of runs; use "
                "plan or expected_half_widths of the report"
            )
        if self.sampling.known != "table":
            raise ValueError(
                f"planning needs at most {MOST_TABLES:,} contrasts, got "
                f"{len(self.parameters):,}; name a control, or select some"
            )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The K parameters."""
        return self.sampling.parameters

    @property
    def rows(self) -> Rows:
        """The rows of the sample."""
        if self.sampling.rows is None:
            raise ValueError("planning needs the rows of a test set, not a covariance")
        return self.sampling.rows

    @property
    def is_of_rows(self) -> bool:
        """Whether the estimates are of rows, and not given."""
        return self.sampling.rows is not None

    @property
    def n_samples(self) -> int | None:
        """Number of rows that were given; None where estimates were."""
        if self.n_given is not None:
            return self.n_given
        return self.rows.n_samples if self.is_of_rows else None

    @property
    def n_groups(self) -> int | None:
        """Number of clusters of rows; None where they are rows, or copies of one."""
        n_groups = self.sampling.n_groups
        return None if n_groups == self.n_given else n_groups

    @cached_property
    def estimates(self) -> Array:
        """Estimates, shape (K,)."""
        return np.array([parameter.estimate for parameter in self.parameters])

    @property
    def is_undefined(self) -> Array:
        """Which measures are undefined on the data, shape (K,)."""
        return np.array([not p.defined for p in self.parameters], dtype=bool)

    def is_degenerate(self, k: int) -> bool:
        """Whether a defined estimate has no usable estimate of its variance.

        It is zero, the measure has no derivative, or there is a single row or group.
        """
        if not self.parameters[k].defined:
            return False
        return not self.usable[k] or self.sampling.is_degenerate(k)

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors, whatever the confidence level, shape (K,)."""
        errors = self.sampling.standard_errors.copy()
        for k in range(len(errors)):
            if not self.sampling.has_variance(k):
                errors[k] = 0 if self.sampling.shows_variance else np.nan
        return self._known(errors)

    @cached_property
    def covariance(self) -> Array:
        """Covariance behind the intervals, shape (K, K); NaN where it is unknown."""
        return self._known(self._covariance)

    @property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K); NaN where unknown.

        Shrunk where variances have few degrees of freedom and none in common.
        """
        return self._shrunk.copy()

    @cached_property
    def _shrunk(self) -> Array:
        correlation = correlation_from(self._covariance)
        known = np.flatnonzero(self.usable)
        if self.common_df is None and len(known) > 1:
            block = np.ix_(known, known)
            df = self.degrees_of_freedom[known]
            correlation[block] = shrink_correlation(correlation[block], df)
        correlation[~self.usable] = correlation[:, ~self.usable] = np.nan
        return correlation

    @cached_property
    def _covariance(self) -> Array:
        """Sampling covariance, and what is added for what the data cannot show."""
        return self.sampling.covariance + self.sampling.noise(self.z)

    @cached_property
    def _variances(self) -> Array:
        """Variances behind the intervals, (K,)."""
        return self.sampling.variances + self.sampling.noise_variances(self.z)

    @cached_property
    def _interval_variances(self) -> Array:
        """Variances that limits are computed with, (K,).

        Components on the boundary of their range add what Wilson's interval has at the
        quantile of the intervals. Blurring is of the individual level (Yuan and Jiang).
        """
        if self.is_individual:
            return self._variances
        blurs = [parameter.interval_method.blurs for parameter in self.parameters]
        bounded = (self._variances > self.sampling.variances) & ~np.array(blurs)
        if not bounded.any():
            return self._variances
        noise = self.sampling.noise_variances(float(self.normal_quantile))
        return np.where(bounded, self.sampling.variances + noise, self._variances)

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
        usable = np.zeros(len(self.parameters), dtype=bool)
        for k, parameter in enumerate(self.parameters):
            blurs = parameter.interval_method.blurs
            usable[k] = self.sampling.is_usable(k, self._variances[k] if blurs else 0)
        return usable

    @cached_property
    def z(self) -> float:
        """Two-sided normal quantile of the level."""
        return -float(ndtri((1 - self.confidence_level) / 2))

    @cached_property
    def degrees_of_freedom(self) -> Array:
        """Degrees of freedom of the variances behind the intervals, shape (K,).

        What is added to an estimated variance is known.
        """
        df = self.sampling.degrees_of_freedom
        if self._are_normal:
            return df
        varies = np.array([*map(self.sampling.has_variance, range(len(df)))])
        estimated = np.where(varies, self.sampling.variances, 1)
        total = np.where(varies, self._variances, 1)
        return df * (total / estimated) ** 2

    @cached_property
    def _are_normal(self) -> bool:
        """Whether all quantiles are those of a normal distribution."""
        return (
            min(self.sampling.degrees_of_freedom.tolist(), default=math.inf) == math.inf
        )

    def to_t_quantile(self, q: Any, positions: Any) -> Any:
        """From normal quantiles to those of t with the df of some parameters."""
        if self._are_normal:
            return q
        df = self.degrees_of_freedom[positions]
        with np.errstate(invalid="ignore"):
            return np.where(df == np.inf, q, -stdtrit(df, ndtr(-q)))

    def to_normal_quantile(self, q: Any, positions: Any) -> Any:
        """From quantiles of t with the df of some parameters to normal ones."""
        if self._are_normal:
            return q
        df = self.degrees_of_freedom[positions]
        with np.errstate(invalid="ignore"):
            return np.where(df == np.inf, q, -ndtri(stdtr(df, -q)))

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
        df = np.where(self.usable, self.degrees_of_freedom, -np.inf)
        translated = self.to_t_quantile(q, df.argmax())
        return CriticalValue(translated, q.error * translated / q)

    @cached_property
    def normal_quantile(self) -> CriticalValue:
        """Critical value on the scale of a standard normal estimate.

        An estimate without a usable variance has the whole range for an interval, so
        it takes no part. With a variance in common it is the quantile of the
        multivariate t, translated. Else each parameter, with a variance of its own,
        translates it for itself: statistics whose estimates are independent then have
        the joint level exactly, which the multivariate t falls short of.
        """
        if self.is_individual and self.horizon is None:
            return CriticalValue(self.z)
        q = self.law().quantile(self.confidence_level)
        if self.common_df is None:
            return q
        normal = self.to_normal_quantile(q, self.usable.argmax())
        return CriticalValue(normal, q.error * normal / q)

    def alpha_of(self, k: int) -> float:
        """Error probability of one of the intervals, by itself.

        Of a parameter without a usable variance, which has no part in the critical
        value, its share in that of all.
        """
        if self.usable[k]:
            return 2 * float(ndtr(-self.normal_quantile))
        number = len(self.parameters) if self.simultaneous else 1
        return (1 - self.confidence_level) / number

    @property
    def common_df(self) -> float | None:
        """Degrees of freedom of a variance that all have in common; None if none."""
        return self.sampling.common_df

    def law(self, alternative: Alternative = "two-sided") -> MaximumLaw | HorizonLaw:
        """Distribution of the maximum of the standardised usable estimates.

        Of individual intervals, that of one normal estimate.
        """
        if alternative not in self._laws:
            self._laws[alternative] = self._law(alternative)
        return self._laws[alternative]

    def _law(self, alternative: Alternative) -> MaximumLaw | HorizonLaw:
        if self.is_individual:
            return self.law_of(np.ones((1, 1)), None, alternative)
        usable = np.flatnonzero(self.usable)
        if self._loadings is not None:
            return MaximumLaw(
                self._loadings.taken(usable),
                alternative=alternative,
                random_state=self.random_state,
            )
        correlation = self._shrunk
        if not self.usable.all():
            correlation = correlation[np.ix_(usable, usable)]
        return self.law_of(correlation, self.common_df, alternative)

    def law_among(self, positions: Array, signs: Array) -> MaximumLaw | HorizonLaw:
        """One-sided distribution of the maximum of some of them, with signs."""
        options = {}
        if self._loadings is None:
            correlation = self._shrunk[np.ix_(positions, positions)]
        else:
            rows = self._loadings.rows(positions)
            correlation = correlation_from(rows @ rows.T)
            options = {"tol": _TOLERANCE}
        signed = correlation * np.outer(signs, signs)
        return self.law_of(signed, self.common_df, "less", **options)

    @cached_property
    def _loadings(self) -> Loadings | None:
        """Loadings of contrasts that are too many for a correlation.

        None with a horizon, whose law takes a correlation.
        """
        return None if self.horizon is not None else self.sampling.loadings(self.z)

    def law_of(
        self,
        correlation: Array,
        df: float | None,
        alternative: Alternative,
        **options: Any,
    ) -> MaximumLaw | HorizonLaw:
        """Distribution of the maximum of estimates with a correlation."""
        options |= {"alternative": alternative, "random_state": self.random_state}
        if self.horizon is not None:
            return HorizonLaw(correlation, self.horizon, **options)
        return MaximumLaw(correlation, df=df, **options)

    @cached_property
    def is_individual(self) -> bool:
        """Whether each interval covers for itself, or there is but one."""
        if len(self.parameters) == 1 or not self.simultaneous:
            return True
        return int(self.usable.sum()) < 2

    @cached_property
    def intervals(self) -> Array:
        """Lower and upper limits, shape (K, 2)."""
        limits = np.empty((len(self.parameters), 2))
        for k in (~self.usable).nonzero()[0].tolist():
            limits[k] = self.parameters[k].trait.bounds
        usable = self.usable.nonzero()[0]
        if len(usable):
            q = float(self.normal_quantile)
            limits[usable] = self.limits_at_normal_quantile(usable, q, self.z)
        return limits

    def limits_at_normal_quantile(
        self, positions: Array, q: float | Array, z: float
    ) -> Array:
        """Limits for normal quantiles, translated to t for finite df.

        One quantile, or those of lower and upper limits, (n, 2).
        """
        quantiles = np.empty((len(positions), 2))
        quantiles[:] = q
        if not self._are_normal:
            quantiles = self.to_t_quantile(quantiles.T, positions).T
        return self.limits_at(positions, quantiles, z)

    def limits_at(self, positions: Array, crit: Array, z: float) -> Array:
        """Limits of parameters that have a usable variance, (n, 2).

        For critical values of lower and upper limits, (n, 2); z is the normal quantile
        of the level.
        """
        limits, crits = np.empty((len(positions), 2)), crit.tolist()
        for method, rows, tasks in self._batches(positions):
            pairs = zip(rows, tasks, strict=True)
            of_tasks = [crits[row][:: task.sign] for row, task in pairs]
            found = method.limits(tasks, of_tasks, z)
            for row, task, (low, high) in zip(rows, tasks, found, strict=True):
                parameter = self.parameters[positions[row]]
                if task.sign < 0:
                    low, high = -high, -low
                below, above = parameter.extension
                if below or above:
                    least, greatest = parameter.trait.bounds
                    low, high = max(low - below, least), min(high + above, greatest)
                limits[row] = low, high
        return limits

    def roots(self, positions: Array, nulls: Array, above: Array) -> Array:
        """Critical values at which limits of usable parameters are at nulls.

        Of lower limits where `above`, and else of upper ones. Minus infinity where no
        limit reaches the null, NaN where it was not found.
        """
        parameters = [self.parameters[k] for k in positions.tolist()]
        low, high = np.array([parameter.extension for parameter in parameters]).T
        extension = np.where(above, low, high)
        nulls = np.where(above, nulls + extension, nulls - extension)
        estimates = self.estimates[positions]
        beyond = np.where(above, nulls < estimates, nulls > estimates)
        negated = np.array([parameter.is_negated for parameter in parameters])
        nulls, above = np.where(negated, -nulls, nulls), above ^ negated
        roots = np.full(len(positions), -np.inf)
        reachable = (extension == 0) | beyond
        for method, rows, tasks in self._batches(positions):
            tasks = list(itertools.compress(tasks, reachable[rows]))
            rows = list(itertools.compress(rows, reachable[rows]))
            if tasks:
                roots[rows] = method.roots(tasks, nulls[rows], above[rows], self.z)
        return roots

    def _batches(
        self, positions: Array
    ) -> Iterator[tuple[IntervalMethod, list[int], list[Task]]]:
        """Each interval method of some parameters, which of them have it, and tasks."""
        batches: dict[str, tuple[list[int], list[Task]]] = {}
        for row, k in enumerate(positions.tolist()):
            method, error = self.parameters[k].method, math.nan
            if INTERVALS[method].needs_error:
                error = math.sqrt(self._interval_variances[k])
            rows, tasks = batches.setdefault(method, ([], []))
            rows.append(row)
            tasks.append(self.sampling.task(k, error))
        for method, batch in batches.items():
            yield INTERVALS[method], *batch
