"""Joint estimates: from estimates and a covariance to simultaneous intervals.

Limits are computed in four steps, each on first access: the estimates and their
covariance (`JointEstimate.source`), their correlation, the critical value
(`JointEstimate.normal_quantile`), and the limits (`JointEstimate.intervals`).
Differences of models are computed in the same steps, after `JointEstimate.contrast`.
The methods "delta" and "hall" multiply standard errors by the critical value. The
method "score" inverts a test on the table of counts of each parameter instead, so that
the covariance only affects its critical value.
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
from skci.inference.critical.horizon import (
    Horizon,
    maximum_of_one,
    sequential_maximum,
)
from skci.inference.critical.max_distribution import (
    Alternative,
    CriticalValue,
    MaxDistribution,
)
from skci.inference.designs.design import SampleDesign
from skci.inference.estimates import MAX_TABLES, Estimates
from skci.inference.intervals.methods import INTERVALS, METHODS, IntervalMethod, Task
from skci.inference.parameter import Contrasts, Parameter, TableParameter
from skci.inference.row_estimates import RowEstimates
from skci.inference.rows import Rows

_TOLERANCE = 5e-3  # error of quantiles of a selection of many contrasts
_FEW = 20  # number of contrasts up to which the tolerance of intervals applies


class Target(NamedTuple):
    """Text that describes the quantity that a report estimates.

    The text is empty if the report estimates the performance of given models.
    """

    target: str
    """Estimand, such as "the procedures trained on 320 rows"."""
    resampling: str = ""
    """Name of the resampling from which the variance was estimated, if any."""


class IncompleteSample(Target):
    """Text that describes a sample with missing values, such as missing labels.

    An example is "900 rows, 100 of them labelled, with a proxy". Estimates refer to the
    population of the sample.
    """


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Estimates of K parameters with simultaneous confidence intervals."""

    source: Estimates
    """Parameters and sampling distribution of their estimates."""
    confidence_level: float = 0.95
    simultaneous: bool = True
    """Whether the confidence level applies to all intervals simultaneously."""
    random_state: int | None = None
    """Seed of the quasi-random points of the critical value."""
    target: Target | None = None
    """Estimand, if it is not the performance of given models in the population."""
    n_user_rows: int | None = None
    """Number of rows passed by the user, if the sample has copies of them."""
    horizon: Horizon | None = None
    """Interim looks at which the intervals cover simultaneously."""
    warned: set[tuple[str, str]] = field(default_factory=set, repr=False)
    """Causes and parameters of warnings already issued, shared by all views."""
    _maxima: dict[str, MaxDistribution] = field(default_factory=dict, init=False)

    @classmethod
    def from_rows(
        cls,
        parameters: Iterable[TableParameter],
        rows: Rows,
        design: SampleDesign,
        **options: Any,
    ) -> JointEstimate:
        """Estimate parameters from the rows of a sample and the sampling design."""
        source = RowEstimates(tuple(parameters), rows, design)
        for parameter in source.parameters:
            needs_simple_sample = parameter.interval_method.needs_simple_sample
            if needs_simple_sample and not source.is_simple:
                alternatives = [
                    k for k, m in METHODS.items() if not m.needs_simple_sample
                ]
                raise ValueError(
                    f"method={parameter.method!r} needs independent rows of equal "
                    "weight from one stratum; with sample_weight, groups or strata use "
                    f"one of {alternatives}"
                )
        return cls(source, **options)

    def at(self, confidence_level: float) -> JointEstimate:
        """Return the same estimates with intervals at another confidence level."""
        return replace(self, confidence_level=confidence_level)

    @cached_property
    def individual(self) -> JointEstimate:
        """Estimates with individual intervals, not adjusted for multiplicity."""
        view = replace(self, simultaneous=False)
        # Values that do not depend on `simultaneous` are not computed again.
        shared = ["_covariance", "_variances", "has_limits", "estimates"]
        if self.is_individual:
            shared.append("intervals")
        vars(view).update({k: v for k, v in vars(self).items() if k in shared})
        return view

    def select(self, positions: Sequence[int]) -> JointEstimate:
        """Return some of the estimates, with a critical value for this selection."""
        return replace(self, source=self.source.select(positions))

    def contrast(
        self,
        contrasts: Contrasts,
        ratio: bool = False,
        method: str | None = None,
        simultaneous: bool = True,
    ) -> JointEstimate:
        """Estimate linear combinations of the parameters, or ratios.

        The result is a joint estimate of these contrasts. See `_method_of` for the
        default interval method. A ValueError is raised if a method does not support a
        contrast, if a measure in a ratio may be negative, or if all coefficients of a
        contrast cancel.
        """
        compared = self.source.contrast(contrasts, ratio, method)
        return replace(self, source=compared, simultaneous=simultaneous)

    def check_has_tables(self) -> None:
        """Raise an error if a parameter has no table, as required for planning."""
        if not self.is_of_rows:
            raise ValueError(
                "planning needs the rows of a test set, got estimates with a covariance"
            )
        if self.source.available == "skewness":
            raise ValueError(
                "planning with several runs needs a number of rows and a number of "
                "runs; use the method plan or expected_half_widths of the report"
            )
        if self.source.available != "table":
            raise ValueError(
                f"planning needs at most {MAX_TABLES:,} contrasts, got "
                f"{len(self.parameters):,}; pass a control, or select fewer models"
            )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.source.parameters

    @property
    def rows(self) -> Rows:
        if self.source.rows is None:
            raise ValueError(
                "planning needs the rows of a test set, got estimates with a covariance"
            )
        return self.source.rows

    @property
    def is_of_rows(self) -> bool:
        """Whether estimates are computed from rows, not supplied by the user."""
        return self.source.rows is not None

    @property
    def n_samples(self) -> int | None:
        """Number of rows passed by the user, or None for user-supplied estimates."""
        if self.n_user_rows is not None:
            return self.n_user_rows
        return self.rows.n_samples if self.is_of_rows else None

    @property
    def n_groups(self) -> int | None:
        """Number of clusters, or None if user-supplied rows are independent."""
        n_groups = self.source.n_groups
        return None if n_groups == self.n_user_rows else n_groups

    @cached_property
    def estimates(self) -> Array:
        """Estimates of the K parameters."""
        return np.array([parameter.estimate for parameter in self.parameters])

    @property
    def is_undefined(self) -> Array:
        """Mask of the K measures, True for measures that are undefined on the data."""
        return np.array([not p.defined for p in self.parameters], dtype=bool)

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors of the K estimates, independent of the confidence level."""
        errors = self.source.standard_errors.copy()
        has_variance = self.source.has_variance
        if not has_variance.all():
            errors[~has_variance] = 0 if self.source.has_replicates else np.nan
        return self._nan_without_derivative(errors)

    @cached_property
    def covariance(self) -> Array:
        """Covariance matrix of the estimates, including the noise of interval methods.

        Unknown entries are NaN.
        """
        return self._nan_without_derivative(self._covariance)

    @property
    def correlation(self) -> Array:
        """Correlation matrix from which the critical value is computed.

        Unknown entries are NaN. If variances have few degrees of freedom, correlations
        are shrunk towards zero, unless all estimates share one variance.
        """
        return self._shrunk_correlation.copy()

    @cached_property
    def _shrunk_correlation(self) -> Array:
        correlation = correlation_from(self._covariance)
        positions = np.flatnonzero(self.has_limits)
        if self.source.common_df is None and len(positions) > 1:
            block = np.ix_(positions, positions)
            df = self.degrees_of_freedom[positions]
            correlation[block] = shrink_correlation(correlation[block], df)
        correlation[~self.has_limits] = correlation[:, ~self.has_limits] = np.nan
        return correlation

    @cached_property
    def _covariance(self) -> Array:
        """Sum of the sampling covariance and the noise covariance.

        The noise is a variance that interval methods add to the estimated variance. The
        noise covariance depends on the confidence level. See `RowEstimates.noise` for
        the formula.
        """
        return self.source.covariance + self.source.noise(self.z)

    @cached_property
    def _variances(self) -> Array:
        """Diagonal of `_covariance`, computed without the full matrix."""
        return self.source.variances + self.source.noise_variances(self.z)

    @cached_property
    def _interval_variances(self) -> Array:
        """Variances from which confidence limits are computed.

        The variances include the noise that interval methods add to estimates on the
        boundary of a range. For simultaneous intervals, the noise is computed at the
        joint quantile.
        """
        if self.is_individual:
            return self._variances
        blurs = [parameter.interval_method.blurs for parameter in self.parameters]
        on_boundary = (self._variances > self.source.variances) & ~np.array(blurs)
        if not on_boundary.any():
            return self._variances
        noise = self.source.noise_variances(float(self.normal_quantile))
        return np.where(on_boundary, self.source.variances + noise, self._variances)

    def _nan_without_derivative(self, values: Array) -> Array:
        """Replace values of nondifferentiable parameters by NaN, in a copy."""
        values = values.copy()
        values[~self.source.is_linear] = np.nan
        if values.ndim == 2:
            values[:, ~self.source.is_linear] = np.nan
        return values

    @cached_property
    def has_limits(self) -> Array:
        """Mask of the K parameters with a variance that can be estimated.

        The interval of any other parameter is the whole range of the parameter, and
        does not affect the critical value.
        """
        return self.source.has_limits

    @cached_property
    def z(self) -> float:
        """Two-sided normal quantile of the confidence level, such as 1.96."""
        return -float(ndtri((1 - self.confidence_level) / 2))

    @cached_property
    def degrees_of_freedom(self) -> Array:
        """Degrees of freedom of the K variances from which intervals are computed.

        Noise variances, which interval methods add, are known. Therefore, noise
        increases the degrees of freedom of the total variance.
        """
        df = self.source.degrees_of_freedom
        if self._are_normal:
            return df
        varies = self.source.has_variance
        estimated = np.where(varies, self.source.variances, 1)
        total = np.where(varies, self._variances, 1)
        return df * (total / estimated) ** 2

    @cached_property
    def _are_normal(self) -> bool:
        """Whether all degrees of freedom are infinite, so that quantiles are normal."""
        return bool(np.isinf(self.source.degrees_of_freedom).all())

    def to_t_quantile(self, q: Any, positions: Any) -> Any:
        """Convert normal quantiles to t quantiles with the same tail probabilities.

        `positions` contains the positions of the parameters to which the quantiles
        belong.
        """
        if self._are_normal:
            return q
        df = self.degrees_of_freedom[positions]
        with np.errstate(invalid="ignore"):
            return np.where(df == np.inf, q, -stdtrit(df, ndtr(-q)))

    def to_normal_quantile(self, q: Any, positions: Any) -> Any:
        """Convert t quantiles to normal quantiles with the same tail probabilities."""
        if self._are_normal:
            return q
        df = self.degrees_of_freedom[positions]
        with np.errstate(invalid="ignore"):
            return np.where(df == np.inf, q, -ndtri(stdtr(df, -q)))

    @cached_property
    def critical_value(self) -> CriticalValue:
        """Critical value of the intervals in standard errors, as shown in reports.

        If degrees of freedom differ, the critical value for the largest degrees of
        freedom is shown. Limits are computed from `normal_quantile` instead.
        """
        q = self.normal_quantile
        if not self.has_limits.any():
            return q
        if self.source.common_df is not None and not self.is_individual:
            return self.max_distribution().quantile(self.confidence_level)
        df = np.where(self.has_limits, self.degrees_of_freedom, -np.inf)
        translated = self.to_t_quantile(q, df.argmax())
        return CriticalValue(translated, q.error * translated / q)

    @cached_property
    def normal_quantile(self) -> CriticalValue:
        """Critical value of the limits as a normal quantile.

        For individual intervals, or if only one parameter has an estimated variance,
        this is the two-sided normal quantile of the confidence level. Otherwise, the
        critical value is a quantile of the maximum of the correlated test statistics.
        In sequential analyses of growing data, the maximum is also over all interim
        analyses.
        """
        if self.is_individual and self.horizon is None:
            return CriticalValue(self.z)
        q = self.max_distribution().quantile(self.confidence_level)
        if self.source.common_df is None:
            return q
        normal = self.to_normal_quantile(q, self.has_limits.argmax())
        return CriticalValue(normal, q.error * normal / q)

    def alpha_of(self, k: int) -> float:
        """Return the error probability of the interval of parameter k.

        The error probability is computed from the critical value of the intervals. For
        a parameter without an estimated variance, the error probability is alpha
        divided by the number of intervals (Bonferroni).
        """
        if self.has_limits[k]:
            return 2 * float(ndtr(-self.normal_quantile))
        number = len(self.parameters) if self.simultaneous else 1
        return (1 - self.confidence_level) / number

    def max_distribution(
        self, alternative: Alternative = "two-sided"
    ) -> MaxDistribution:
        """Return the distribution of the largest test statistic.

        Only parameters with an estimated variance have a test statistic. For individual
        intervals, the result is the distribution of a single statistic.
        """
        if self.is_individual and self.horizon is not None:
            return maximum_of_one(self.horizon, alternative, self.random_state)
        if alternative not in self._maxima:
            positions, df = np.flatnonzero(self.has_limits), None
            correlation: Any = np.ones((1, 1))
            if not self.is_individual and self._loadings is not None:
                correlation = self._loadings.take(positions)
            elif not self.is_individual:
                correlation, df = self._shrunk_correlation, self.source.common_df
                if not self.has_limits.all():
                    correlation = correlation[np.ix_(positions, positions)]
            maximum = self._maximum_from(correlation, df, alternative)
            self._maxima[alternative] = maximum
        return self._maxima[alternative]

    def max_distribution_at(self, positions: Array, signs: Array) -> MaxDistribution:
        """Return the distribution of the largest of several one-sided test statistics.

        The statistics of the parameters at `positions` are multiplied by `signs`.
        """
        if self._loadings is None:
            correlation = self._shrunk_correlation[np.ix_(positions, positions)]
        else:
            rows = self._loadings.rows(positions)
            correlation = correlation_from(rows @ rows.T)
        options = {}
        if self.horizon is None and (self._loadings or len(positions) > _FEW):
            options = {"tol": _TOLERANCE}
        signed = correlation * np.outer(signs, signs)
        return self._maximum_from(signed, self.source.common_df, "less", **options)

    @cached_property
    def _loadings(self) -> Loadings | None:
        """Factor loadings if the correlation matrix would be too large, else None.

        In sequential analyses of growing data, the value is always None.
        """
        return None if self.horizon is not None else self.source.loadings(self.z)

    def _maximum_from(
        self,
        correlation: Any,
        df: float | None,
        alternative: Alternative,
        **options: Any,
    ) -> MaxDistribution:
        """Return the distribution of the largest of several correlated test statistics.

        In sequential analyses of growing data, the maximum is also over all interim
        analyses.
        """
        options |= {"alternative": alternative, "random_state": self.random_state}
        if self.horizon is not None:
            return sequential_maximum(correlation, self.horizon, **options)
        return MaxDistribution(correlation, df=df, **options)

    @cached_property
    def is_individual(self) -> bool:
        """Whether intervals are individual, without an adjustment for multiplicity.

        Joint intervals need no adjustment if at most one parameter has an estimated
        variance.
        """
        if len(self.parameters) == 1 or not self.simultaneous:
            return True
        return int(self.has_limits.sum()) < 2

    @cached_property
    def intervals(self) -> Array:
        """Lower and upper limits, as an array of shape (K, 2).

        Without an estimated variance, the interval is the whole range of the parameter.
        """
        limits = np.empty((len(self.parameters), 2))
        for k in (~self.has_limits).nonzero()[0].tolist():
            limits[k] = self.parameters[k].trait.bounds
        positions = self.has_limits.nonzero()[0]
        if len(positions):
            q = float(self.normal_quantile)
            limits[positions] = self.limits_at_normal_quantile(positions, q, self.z)
        return limits

    def limits_at_normal_quantile(
        self, positions: Array, q: float | Array, z: float
    ) -> Array:
        """Compute limits for critical values that are passed as normal quantiles.

        The quantiles are converted to t quantiles. `q` is one number, or an array of
        shape (n, 2) with quantiles for lower and upper limits.
        """
        quantiles = np.empty((len(positions), 2))
        quantiles[:] = q
        if not self._are_normal:
            quantiles = self.to_t_quantile(quantiles.T, positions).T
        return self.limits_at(positions, quantiles, z)

    def limits_at(self, positions: Array, crit: Array, z: float) -> Array:
        """Compute limits of n parameters with an estimated variance.

        `crit` contains the critical values of the lower and upper limits, as an array
        of shape (n, 2). `z` is the normal quantile of the confidence level. For a
        negated measure, such as a negative loss, the limits of the measure are negated.
        If a measure is undefined for some class, or if scores are binned, the interval
        covers all possible values of the measure.
        """
        limits, crits = np.empty((len(positions), 2)), crit.tolist()
        for method, indices, tasks in self._tasks_by_method(positions):
            pairs = zip(indices, tasks, strict=True)
            task_crits = [crits[i][:: task.sign] for i, task in pairs]
            task_limits = method.limits(tasks, task_crits, z)
            for i, task, (low, high) in zip(indices, tasks, task_limits, strict=True):
                parameter = self.parameters[positions[i]]
                if task.sign < 0:
                    low, high = -high, -low
                below, above = parameter.extension
                if below or above:
                    minimum, maximum = parameter.trait.bounds
                    low, high = max(low - below, minimum), min(high + above, maximum)
                limits[i] = low, high
        return limits

    def roots(self, positions: Array, nulls: Array, above: Array) -> Array:
        """Compute the n critical values at which confidence limits equal null values.

        A critical value refers to the lower limit where the mask `above` is true, and
        to the upper limit elsewhere. The critical value is minus infinity if no limit
        reaches the null value, and NaN if the search failed.
        """
        parameters = [self.parameters[k] for k in positions.tolist()]
        low, high = np.array([parameter.extension for parameter in parameters]).T
        extension = np.where(above, low, high)
        nulls = np.where(above, nulls + extension, nulls - extension)
        estimates = self.estimates[positions]
        beyond = np.where(above, nulls < estimates, nulls > estimates)
        negated = np.array([p.trait.negative_of is not None for p in parameters])
        nulls, above = np.where(negated, -nulls, nulls), above ^ negated
        roots = np.full(len(positions), -np.inf)
        reachable = (extension == 0) | beyond
        for method, indices, tasks in self._tasks_by_method(positions):
            tasks = list(itertools.compress(tasks, reachable[indices]))
            i = list(itertools.compress(indices, reachable[indices]))
            if tasks:
                roots[i] = method.roots(tasks, nulls[i], above[i], self.z)
        return roots

    def _tasks_by_method(
        self, positions: Array
    ) -> Iterator[tuple[IntervalMethod, list[int], list[Task]]]:
        """Group the inputs of several parameters by interval method.

        Yields each interval method, with the indices of the parameters in `positions`,
        and with the inputs of the method.
        """
        batches: dict[str, tuple[list[int], list[Task]]] = {}
        for i, k in enumerate(positions.tolist()):
            method, error = self.parameters[k].method, math.nan
            if INTERVALS[method].needs_error:
                error = math.sqrt(self._interval_variances[k])
            indices, tasks = batches.setdefault(method, ([], []))
            indices.append(i)
            tasks.append(self.source.task(k, error))
        for method, batch in batches.items():
            yield INTERVALS[method], *batch
