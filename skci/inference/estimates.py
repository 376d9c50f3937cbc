"""Base class of estimates: covariance, degrees of freedom, and contrasts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.inference.contrast_parameters import contrast_parameter
from skci.inference.critical.correlation import Loadings
from skci.inference.designs.design import SampleDesign, SmallSampleReason
from skci.inference.intervals.methods import AvailableData, Task, automatic
from skci.inference.parameter import Contrasts, Parameter
from skci.inference.rows import Rows
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
    row_estimates: Any = None
    """`RowEstimates` of the same parameters, whose only source of variance is the rows.

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

    def has_variance(self, k: int) -> bool:
        """Whether the variance of an estimate is nonzero."""
        return bool(self.variances[k] > 0)

    def is_usable(self, k: int, blurred_variance: float) -> bool:
        """Whether an interval can be computed from the variance of an estimate.

        Interval methods that add noise use `blurred_variance`, which includes the
        noise, as the variance.
        """
        return self.parameters[k].defined and self.has_variance(k)

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
    def has_replicates(self) -> bool:
        """Whether the variance can be estimated from replicates.

        If so, a variance of zero is an estimate. Otherwise, the variance is unknown.
        """
        return True

    @property
    def is_simple(self) -> bool:
        """Whether rows are a simple random sample.

        The value is True for user-supplied estimates.
        """
        return True

    @property
    def n_groups(self) -> int | None:
        """Number of clusters, or None if rows are independent."""
        return None

    @property
    def n_strata(self) -> int:
        """Number of strata, which is 1 for a sample without strata."""
        return 1 if self.design is None else self.design.n_strata

    @property
    def design_description(self) -> str:
        """Description of the sampling design in the header of a report."""
        return ""

    @property
    def spans_strata(self) -> Array:
        """Mask of the K parameters that depend on rows of several strata."""
        return np.zeros(len(self.parameters), dtype=bool)

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
        """Return factor loadings if the correlation matrix would be too large.

        A correlation matrix is the product of factor loadings and their transpose.
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
        """Replace the interval methods by the interval methods of `parameters`."""
        pairs = zip(self.parameters, parameters, strict=True)
        changed = tuple(replace(old, method=new.method) for old, new in pairs)
        return replace(self, parameters=changed)  # type: ignore[type-var]
