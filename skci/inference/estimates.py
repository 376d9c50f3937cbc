"""Estimates and their covariance, from other programs or from resampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, combinations
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property, dataclass
from skci.inference.contrast_parameters import contrast_parameter
from skci.inference.critical.correlation import (
    Loadings,
    blocks,
    correlation_from,
    covariance_factor,
    shrink_correlation,
    variances_of,
)
from skci.inference.designs.design import SampleDesign, SmallSampleReason
from skci.inference.designs.totals import moments
from skci.inference.intervals.methods import AvailableData, Task, automatic
from skci.inference.parameter import CANCELLED, Contrasts, Parameter, ParameterLabels
from skci.inference.parameter_estimate import ENOUGH_FOR_NORMAL, heavy_tail
from skci.inference.rows import Influences, Rows
from skci.measures.traits import MeasureProperties

_NEAR_BOUNDARY = (
    "the estimate is within a standard error of the boundary of its range, where "
    "intervals on the logit scale are wide, and other intervals may not cover"
)


class Estimates:
    """Estimates of K parameters and their joint sampling distribution.

    The default methods suit estimates that are not computed from rows, such as
    estimates from another program. The subclasses are:

    - `RowEstimates` are computed from the influence values of the rows of a sample.
      Their contrasts are also `RowEstimates`, each with a separate table.
    - `ManyContrasts` are contrasts of `RowEstimates`, if tables for all contrasts would
      need too much memory.
    - `GivenEstimates` and `ResampledEstimates` have a given covariance.
    - `RunEstimates` are means over several runs of a model.
    """

    parameters: tuple[Any, ...]
    covariance: Array
    """Covariance of the estimates, (K, K); zero if unknown."""
    degrees_of_freedom: Array
    """Degrees of freedom of the variances, (K,); infinite for a normal quantile."""
    common_df: float | None = None
    """Degrees of freedom of a variance that all estimates share, if any."""
    rows: Rows | None = None
    design: SampleDesign | None = None
    available: ClassVar[AvailableData] = "table"
    """Information for interval methods, such as the table; see `AvailableData`."""
    preferred: ClassVar[Sequence[str]] = ()
    """Interval methods that "auto" prefers to the methods of the measure."""
    size_limit: str = ""
    """Limit on the number of contrasts that rules out other interval methods."""
    has_replicates: ClassVar[Any] = True
    """Whether the variance can be estimated from replicates.

    If so, a variance of zero is an estimate. Otherwise, the variance is unknown.
    """
    is_simple: ClassVar[Any] = True
    """Whether rows are a simple random sample; True for user-supplied estimates."""
    n_groups: ClassVar[Any] = None
    """Number of clusters, or None if rows are independent."""
    design_description: ClassVar[Any] = ""
    """Description of the sampling design in the header of a report."""
    row_estimates: Any = None
    """`RowEstimates` of the same parameters, with the variance due to rows only.

    Resampled estimates and means over runs use these estimates for the skewness of
    losses.
    """

    def best_method(self, trait: MeasureProperties) -> str:
        """Return the interval method that "auto" selects."""
        return automatic(trait, available=self.available, preferred=self.preferred)

    def select(self, positions: Sequence[int]) -> Self:
        """Return the estimates of some of the parameters."""
        chosen = tuple(self.parameters[k] for k in positions)
        return replace(self, parameters=chosen)  # type: ignore[type-var]

    @property
    def is_linear(self) -> Array:
        """Mask of the K parameters that are defined and differentiable."""
        return np.array([parameter.defined for parameter in self.parameters], bool)

    @property
    def variances(self) -> Array:
        """Variances of the K estimates."""
        return self.covariance.diagonal()

    @property
    def has_variance(self) -> Array:
        """Mask of the K estimates with a nonzero variance."""
        return self.variances > 0

    @property
    def has_limits(self) -> Array:
        """Mask of the estimates that are differentiable and have a nonzero variance."""
        return self.is_linear & self.has_variance

    def single_unit(self, k: int) -> str:
        """Return "row" or "group" if a variance depends on a single row or cluster.

        The text is empty if the variance depends on several rows or clusters.
        """
        return ""

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the K estimates.

        Pseudo-counts are included only where standard errors would otherwise be zero.
        """
        return np.sqrt(self.variances)

    @property
    def n_strata(self) -> int:
        """Number of strata, which is 1 for a sample without strata."""
        return 1 if self.design is None else self.design.n_strata

    @property
    def design_effects(self) -> Array:
        """Design effects of the K estimates.

        A design effect is the variance divided by the variance in a simple random
        sample of the same size.
        """
        return np.ones(len(self.parameters))

    def noise(self, z: float) -> Array | float:
        """Return the covariance of the noise that interval methods add to estimates.

        `z` is the normal quantile of the confidence level.
        """
        return 0.0

    def loadings(self, z: float) -> Loadings | None:
        """Return factor loadings, or None if a correlation matrix is small enough.

        The correlation matrix is the product of the factor loadings and their
        transpose.
        """
        return None

    def n_rows(self, k: int) -> int | None:
        """Return the number of rows on which a parameter depends, if known."""
        return None

    @property
    def table_sizes(self) -> Array:
        """Total weight of the rows on which each of the K parameters depends."""
        return np.full(len(self.parameters), np.nan)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Return the reasons why an interval may be too narrow."""
        parameter = self.parameters[k]
        low, high = parameter.trait.bounds
        distance = min(parameter.estimate - low, high - parameter.estimate)
        error = math.sqrt(self.variances[k])
        return [SmallSampleReason(_NEAR_BOUNDARY)] if error > distance else []

    def noise_variances(self, z: float) -> Array | float:
        """Return the variances of the noise that interval methods add to estimates."""
        return 0.0

    def task(self, k: int, standard_error: float) -> Task:
        """Return the input of the interval method for a parameter.

        For a negated measure, such as a negative loss, the input describes the measure
        without the negation.
        """
        trait, estimate, sign = self.parameters[k].without_negation
        return Task(trait, estimate, standard_error, sign=sign)

    def contrast(
        self, contrasts: Contrasts, ratio: bool = False, method: str | None = None
    ) -> Estimates:
        r"""Estimate contrasts, with the covariance :math:`L V L^T`.

        V is the covariance of the estimates, and L contains the derivatives of the
        contrasts with respect to the estimates. The derivatives of a linear contrast
        are its coefficients. A ratio is a contrast of logarithms: each derivative is
        the coefficient times the ratio, divided by the estimate.
        """
        parameters, entries = [], []
        for row, contrast in enumerate(contrasts):
            parameter = contrast_parameter(
                self.parameters,
                contrast,
                ratio,
                method,
                self.available,
                self.size_limit,
            )
            _, coefficients = contrast
            positions = list(coefficients)
            slopes = np.array(list(coefficients.values()), dtype=float)
            if ratio:
                values = np.array([self.parameters[k].estimate for k in positions])
                with np.errstate(all="ignore"):
                    slopes *= parameter.fixed_estimate / values
                slopes[~np.isfinite(slopes)] = 0
            entries += [
                (row, k, slope) for k, slope in zip(positions, slopes, strict=True)
            ]
            parameters.append(parameter)
        rows, columns, values = np.reshape(entries, (-1, 3)).T
        indices = rows.astype(int), columns.astype(int)
        shape = len(contrasts), len(self.parameters)
        matrix = sparse.csr_array((values, indices), shape=shape)
        compared = self._combine(parameters, matrix)
        if self.row_estimates is None:
            return compared
        row_estimates = self.row_estimates.contrast(contrasts, ratio, method)
        return replace(compared, row_estimates=row_estimates.with_methods(parameters))

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Return C linear combinations of the K estimates.

        `slopes` contains the coefficients, as an array of shape (C, K), and
        `parameters` describes the combinations. Subclasses override this method.
        """
        raise NotImplementedError

    def with_methods(self, parameters: Sequence[Parameter]) -> Self:
        """Return the estimates with the interval methods in `parameters`."""
        pairs = zip(self.parameters, parameters, strict=True)
        changed = tuple(replace(old, method=new.method) for old, new in pairs)
        return replace(self, parameters=changed)  # type: ignore[type-var]


NO_VARIANCE_OF_CONTRAST = 1e-12
"""Relative variance of a contrast that counts as zero."""

MAX_TABLES = 1 << 10
"""Largest number of contrasts for which tables and correlations are computed."""

_MAX_IN_MEMORY = 1 << 14  # largest number of contrasts whose covariance is computed
_ERROR = 1e-6  # relative independent variance of estimates with equal influence values
_FEW_ROWS = SmallSampleReason(
    f"fewer than {ENOUGH_FOR_NORMAL} degrees of freedom: few rows determine the "
    "variance, and the interval may be too narrow"
)
_MAX_EXCESS = 0.6  # largest share of the variance of a comparison that is removed


@dataclass(frozen=True, eq=False)
class GivenEstimates(Estimates):
    """Estimates with a covariance from resampling or from another program.

    Unknown entries of the covariance are zero.
    """

    parameters: tuple[Parameter, ...]
    covariance: Array
    df: float = np.inf
    """Degrees of freedom of each variance; infinite for a normal quantile."""
    common_variance: bool = False
    """Whether all estimates share one variance, as in a linear model."""
    excess: Mapping[frozenset[str], float] = field(default_factory=dict)
    """Share of the variance to remove from differences, by the two model names."""
    available: ClassVar[AvailableData] = "covariance"

    @property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        return np.full(len(self.parameters), self.df)

    @property
    def common_df(self) -> float | None:  # type: ignore[override]
        return self.df if self.common_variance and self.df < np.inf else None

    def select(self, positions: Sequence[int]) -> Self:
        block = self.covariance[np.ix_(positions, positions)]
        return replace(super().select(positions), covariance=block)

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        r"""Combine the estimates linearly, with covariance :math:`L V L^T`.

        L contains the coefficients, and V is the covariance of the estimates. If a
        combination is the difference of two models, the excess noise of resampling is
        removed from the variance of the difference. Correlations are unchanged.
        """
        matrix: Array = slopes.toarray()
        with np.errstate(over="ignore", invalid="ignore"):  # not finite: unknown
            covariance = matrix @ self.covariance @ matrix.T
            covariance[~np.isfinite(covariance)] = 0
            # The variance of a constant contrast is a rounding error of either sign.
            largest = np.abs(matrix) @ np.sqrt(self.covariance.diagonal())
            constant = covariance.diagonal() <= NO_VARIANCE_OF_CONTRAST * largest**2
        # A zero variance means an unknown variance, also for contrasts of the estimate.
        unknown = matrix[:, ~(self.variances > 0)].any(axis=1)
        covariance[constant | unknown] = covariance[:, constant | unknown] = 0
        if self.excess:
            pairs = [*map(_compared_models, parameters)]
            factors = np.sqrt([1 - self.excess.get(pair, 0.0) for pair in pairs])
            covariance *= np.outer(factors, factors)
        return replace(
            self, parameters=tuple(parameters), covariance=covariance, excess={}
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyContrasts(Estimates):
    """Many linear contrasts, estimated without a table of counts for each contrast.

    Only the variances of the contrasts are computed, from the covariance of the
    compared estimates. The critical value is computed from factor loadings instead of a
    correlation matrix. Intervals are symmetric. A warning is issued for an interval if
    its variance depends on few rows.
    """

    parameters: tuple[Parameter, ...]
    base: Any
    """`RowEstimates` of the P combined parameters."""
    slopes: sparse.csr_array
    """Derivative of each contrast with respect to each estimate, (K, P)."""
    df: float | None = None
    """Degrees of freedom of all contrasts; None to estimate them by contrast."""
    size_limit: str = ""
    available: ClassVar[AvailableData] = "covariance"

    rows = property(attrgetter("base.rows"))
    n_groups = property(attrgetter("base.n_groups"))
    design_description = property(attrgetter("base.design_description"))

    @classmethod
    def from_estimates(cls, base: Any) -> ManyContrasts:
        """Treat each estimate as a contrast with a single component."""
        return cls(
            parameters=base.parameters,
            base=base,
            slopes=sparse.csr_array(sparse.eye(len(base.parameters))),
        )

    @property
    def with_minimum_df(self) -> ManyContrasts:
        """Copy in which all contrasts have the same degrees of freedom.

        These degrees of freedom are the minimum over the compared estimates.
        """
        df = self.base.degrees_of_freedom[self.base.has_limits]
        return replace(self, df=float(df.min()) if len(df) else 1.0)

    @cached_property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        """Satterthwaite's degrees of freedom of the K contrasts."""
        base, size = self.base, len(self.parameters)
        if self.df is not None:
            return np.full(size, self.df)
        df = np.full(size, np.inf)
        if np.isinf(base.degrees_of_freedom).all():
            return df
        influences = self._influences_of_base
        units = np.arange(influences.shape[1])
        for k in range(size):
            values = self.slopes[[k]] @ influences
            combined = Influences([values[0]], [units], base.rows)
            components = base.design.variance_components(combined)
            df[k] = moments(components).degrees_of_freedom
        return np.where(self.variances > 0, df, np.inf)

    @cached_property
    def variances(self) -> Array:
        """Variances of the K contrasts.

        The variance of a contrast is zero if its influence values are constant, or if
        one of the compared estimates has too few units for a variance.
        """
        varies = self.base.has_variance
        covariance = self.base.covariance * np.outer(varies, varies)
        variances = variances_of(self.slopes, covariance)
        sizes = abs(self.slopes)
        largest = sizes @ np.sqrt(self.base.variances)
        estimable = np.array([e.is_estimable for e in self.base.singles])
        known = ~(sizes @ ~estimable > 0)
        positive = variances > NO_VARIANCE_OF_CONTRAST * largest**2
        return np.where(positive & known, variances, 0.0)

    @cached_property
    def covariance(self) -> Array:  # type: ignore[override]
        return self._covariance_of_contrasts(self.base.covariance)

    @cached_property
    def _depends_on_few_rows(self) -> Array:
        """Mask of the K contrasts with a variance that depends on few rows.

        The variance of such a contrast has fewer than `ENOUGH_FOR_NORMAL` degrees of
        freedom. If intervals use t quantiles, the mask is False for all contrasts.
        """
        few = np.zeros(len(self.parameters), dtype=bool)
        if self.df is not None or not np.isinf(self.base.degrees_of_freedom).all():
            return few
        influences = self._influences_of_base
        n = influences.shape[1]
        largest = abs(self.slopes) @ np.abs(influences).max(axis=1)
        # The sum of squares is at most half the degrees of freedom times the maximum.
        bounds = ENOUGH_FOR_NORMAL * largest**2
        is_small = (self.variances > 0) & (n**2 * self.variances < bounds)
        candidates = np.flatnonzero(is_small)
        for block in blocks(len(candidates), n):
            positions = candidates[block]
            squares = (self.slopes[positions] @ influences) ** 2
            shares = (squares**2).sum(axis=1) / squares.sum(axis=1) ** 2
            few[positions] = shares - 1 / n > 2 / ENOUGH_FOR_NORMAL
        return few

    @property
    def _influences_of_base(self) -> Array:
        """Influence values of the compared estimates, for each unit of the sample."""
        return np.stack([e.influence[e.parameter.index] for e in self.base.singles])

    def _covariance_of_contrasts(self, covariance: Array) -> Array:
        """Compute the covariance of the contrasts from the covariance of estimates.

        Unknown entries are zero.
        """
        size = len(self.parameters)
        if size > _MAX_IN_MEMORY:
            raise ValueError(
                "covariance and correlation need at most "
                f"{_MAX_IN_MEMORY:,} contrasts, got {size:,}; select some contrasts, "
                "or name a control"
            )
        combined: Array = self.slopes @ (self.slopes @ covariance).T
        unknown = self.variances == 0
        combined[unknown] = combined[:, unknown] = 0
        return combined

    def noise(self, z: float) -> Array:
        return self._covariance_of_contrasts(self.base.noise(z))

    def noise_variances(self, z: float) -> Array:
        noise = variances_of(self.slopes, self.base.noise(z))
        return np.where(self.variances > 0, noise, 0.0)

    def loadings(self, z: float) -> Loadings | None:
        """Return factor loadings of the contrasts, or None for few contrasts.

        If the degrees of freedom are few, correlations of the estimates are shrunk
        towards zero. If some contrast has no variance, a small independent error is
        added to each estimate.
        """
        if len(self.parameters) <= MAX_TABLES:
            return None
        total = self.base.covariance + self.base.noise(z)
        df = self.base.degrees_of_freedom
        deviations = np.sqrt(total.diagonal())
        total = shrink_correlation(correlation_from(total), df)
        if (self.variances == 0).any():
            total += _ERROR * np.eye(len(total))
            smallest = deviations[deviations > 0].min(initial=1.0)
            deviations = np.maximum(deviations, _ERROR * smallest)
        total *= np.outer(deviations, deviations)
        return Loadings(covariance_factor(total), self.slopes)

    def select(self, positions: Sequence[int]) -> Self:
        return replace(super().select(positions), slopes=self.slopes[list(positions)])

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Combine the contrasts linearly."""
        return replace(
            self,
            parameters=tuple(parameters),
            slopes=(slopes @ self.slopes).tocsr(),
            size_limit="",
        )

    @cached_property
    def _reasons(self) -> list[SmallSampleReason]:
        base = self.base
        reasons = map(base.small_sample_reasons, range(len(base.parameters)))
        return list(dict.fromkeys(chain.from_iterable(reasons)))

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Return the reasons why an interval may be too narrow.

        The reasons of any compared estimate are reported for all contrasts.
        """
        return [_FEW_ROWS] * bool(self._depends_on_few_rows[k]) + self._reasons


@dataclass(frozen=True, eq=False, kw_only=True)
class ResampledEstimates(GivenEstimates):
    """Estimates with a covariance from resampling, such as cross-validation.

    Skewness and heavy tails are estimated from the losses of out-of-fold predictions,
    with the fitted models treated as fixed.
    """

    row_estimates: Estimates
    """Estimates of the same parameters from the out-of-fold predictions."""
    models: ResampledEstimates | None = None
    """Estimates of the models, if these estimates are contrasts of models."""
    available: ClassVar[AvailableData] = "skewness"

    def select(self, positions: Sequence[int]) -> Self:
        row_estimates = self.row_estimates.select(positions)
        return replace(super().select(positions), row_estimates=row_estimates)

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Combine the estimates linearly, with a minimum for the variances.

        The minimum is the variance for fixed fitted models, because training on random
        rows can only add variance. The minimum applies to interval methods that correct
        for skewness.
        """
        compared = super()._combine(parameters, slopes)
        pairs = [*map(_compared_models, parameters)]
        is_reduced = [
            parameter.interval_method.corrects_skewness and pair in self.excess
            for parameter, pair in zip(parameters, pairs, strict=True)
        ]
        if any(is_reduced):
            matrix, rows = slopes.toarray(), self.row_estimates.covariance
            minimum = np.where(is_reduced, ((matrix @ rows) * matrix).sum(axis=1), 0)
            variances = np.where(compared.variances > 0, compared.variances, np.inf)
            scale = np.sqrt(np.maximum(minimum / variances, 1))
            raised = compared.covariance * np.outer(scale, scale)
            compared = replace(compared, covariance=raised)
        return replace(compared, models=self.models or self)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Return the reasons why an interval may be too narrow.

        One possible reason is a heavy tail of the losses of out-of-fold predictions. A
        difference of two models is treated as heavy-tailed if the losses of one model
        are heavy-tailed.
        """
        reasons, parameter = super().small_sample_reasons(k), self.parameters[k]
        tail = heavy_tail(parameter.trait)
        if parameter.interval_method.corrects_skewness:
            loss_reasons = self.row_estimates.small_sample_reasons(k)
            reasons += [reason for reason in loss_reasons if reason != tail]
        model_tails = self.models.heavy_tails if self.models else self.heavy_tails
        if {parameter, *parameter.components} & (self.heavy_tails | model_tails):
            reasons.append(tail)
        return reasons

    @cached_property
    def heavy_tails(self) -> set[Parameter]:
        """Parameters with losses that may have an infinite variance."""
        rows: Any = self.row_estimates
        return {
            parameter
            for k, parameter in enumerate(self.parameters)
            if parameter.trait.heavy_tails
            and (
                rows.singles[k].has_heavy_tail
                or (self.models is None and rows.singles[k].has_heavy_losses)
            )
        }

    def task(self, k: int, standard_error: float) -> Task:
        task = super().task(k, standard_error)
        if not self.parameters[k].interval_method.corrects_skewness:
            return task
        error = math.sqrt(self.row_estimates.variances[k])
        return task._replace(hall=self.row_estimates.task(k, error).hall)


def _compared_models(contrast: Parameter) -> frozenset[str]:
    """Return the names of two models that a contrast compares on one measure.

    The set is empty for any other contrast.
    """
    keys = [component.key for component in contrast.components]
    balanced = abs(sum(contrast.coefficients)) < CANCELLED
    has_one_measure = len({key.without("model") for key in keys}) == 1
    return frozenset(
        key.name for key in keys if balanced and has_one_measure and len(keys) == 2
    )


def excess_shares(
    parameters: Sequence[Parameter], covariance: Array, excess: Array | None
) -> dict[frozenset[str], float]:
    """Compute the shares of excess noise in the variances of pairwise differences.

    Excess noise is due to the random partitions of the rows. Each pair of models has
    one share, the average over all measures. A share is at most `_MAX_EXCESS`.
    """
    if excess is None:
        return {}
    positions: dict[ParameterLabels, list[int]] = {}
    for k in np.flatnonzero(covariance.diagonal() > 0).tolist():
        positions.setdefault(parameters[k].key.without("model"), []).append(k)
    shares: dict[frozenset[str], list[float]] = {}
    for i, j in chain(*(combinations(rows, 2) for rows in positions.values())):
        variance, removed = (
            float(V[i, i] + V[j, j] - 2 * V[i, j]) for V in (covariance, excess)
        )
        largest = math.sqrt(covariance[i, i]) + math.sqrt(covariance[j, j])
        if variance > NO_VARIANCE_OF_CONTRAST * largest**2:
            pair = frozenset((parameters[i].key.name, parameters[j].key.name))
            shares.setdefault(pair, []).append(removed / variance)
    return {
        pair: min(sum(terms) / len(terms), _MAX_EXCESS)
        for pair, terms in shares.items()
    }
