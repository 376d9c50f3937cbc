"""Estimates, their covariance, and how well it is known."""

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
from skci.inference.intervals.methods import Known, Task, automatic
from skci.inference.parameter import Contrasts, Parameter
from skci.inference.rows import Rows
from skci.measures.traits import Trait

_AT_END = (
    "the estimate is within a standard error of an end of its range, where intervals "
    "on the logit scale are wide, and others may not cover"
)


class Estimates:
    """Estimates of K parameters with a covariance, and their linear combinations.

    What is here holds for given estimates; `RowEstimates` follow from influence values.
    """

    parameters: tuple[Any, ...]
    covariance: Array
    """Covariance of the estimates, (K, K); zero where there is none."""
    degrees_of_freedom: Array
    """Degrees of freedom of the variances; infinite for a normal quantile, (K,)."""
    common_df: float | None = None
    """Degrees of freedom of a variance that all have in common, if there is one."""
    rows: Rows | None = None
    design: SampleDesign | None = None
    known: ClassVar[Known] = "table"
    """What is known beside estimates and degrees of freedom."""
    preferred: ClassVar[Sequence[str]] = ()
    """Interval methods that "auto" prefers to those of a measure."""
    size_limit: str = ""
    """What other interval methods of contrasts would need, if that is their number."""
    of_rows: Any = None
    """The same parameters of rows alone, if more than their variance is of interest."""

    def best_method(self, trait: Trait) -> str:
        """Interval method that "auto" stands for."""
        return automatic(trait, known=self.known, preferred=self.preferred)

    def select(self, positions: Sequence[int]) -> Self:
        """Keep some of the parameters."""
        chosen = tuple(self.parameters[k] for k in positions)
        return replace(self, parameters=chosen)  # type: ignore[type-var]

    @property
    def is_linear(self) -> Array:
        """Which parameters are defined and have a linear approximation, (K,)."""
        return np.array([parameter.defined for parameter in self.parameters], bool)

    @property
    def variances(self) -> Array:
        """Variances of the estimates, (K,)."""
        return self.covariance.diagonal()

    def has_variance(self, k: int) -> bool:
        """Whether the variance of an estimate is not zero."""
        return bool(self.variances[k] > 0)

    def is_usable(self, k: int, total: float) -> bool:
        """Whether there is a variance to make an interval of, with noise `total`."""
        return self.parameters[k].defined and self.has_variance(k)

    def is_degenerate(self, k: int) -> bool:
        """Whether the variance of a defined estimate is zero, or not known."""
        return not self.has_variance(k)

    def single_unit(self, k: int) -> str:
        """Name of the independent unit on which a variance rests alone, if any."""
        return ""

    @property
    def standard_errors(self) -> Array:
        """Standard errors at the observed table, where it shows a variance, (K,)."""
        return np.sqrt(self.variances)

    @property
    def shows_variance(self) -> bool:
        """Whether a variance of zero is estimated, and not unknown."""
        return True

    @property
    def is_simple(self) -> bool:
        """Whether the estimates are given, or of a simple random sample each."""
        return True

    @property
    def n_groups(self) -> int | None:
        """Number of independent units where these are not the rows."""
        return None

    @property
    def n_strata(self) -> int:
        """Number of strata, 1 without any."""
        return 1 if self.design is None else self.design.n_strata

    @property
    def design_in_words(self) -> str:
        """What the header of a report says of the design."""
        return ""

    @property
    def spans_strata(self) -> Array:
        """Which parameters, or their components, vary in several strata, (K,)."""
        return np.zeros(len(self.parameters), dtype=bool)

    @property
    def design_effects(self) -> Array:
        """Variances over those of simple random samples of the same size, (K,)."""
        return np.ones(len(self.parameters))

    def noise(self, z: float) -> Array | float:
        """Covariance that is added to that of the estimates."""
        return 0.0

    def loadings(self, z: float) -> Loadings | None:
        """Loadings of contrasts that are too many for a correlation."""
        return None

    def n_rows(self, k: int) -> int | None:
        """Number of rows in the table of a parameter; None without one."""
        return None

    @property
    def table_sizes(self) -> Array:
        """Rows in the table of each parameter, by their weights, (K,)."""
        return np.full(len(self.parameters), np.nan)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons why an interval may be too narrow."""
        parameter = self.parameters[k]
        low, high = parameter.trait.bounds
        to_end = min(parameter.estimate - low, high - parameter.estimate)
        error = math.sqrt(self.variances[k])
        return [SmallSampleReason(_AT_END)] if error > to_end else []

    def noise_variances(self, z: float) -> Array | float:
        """Diagonal of the noise, (K,)."""
        return 0.0

    def task(self, k: int, standard_error: float) -> Task:
        """Interval to compute for a parameter, or for what it is minus."""
        trait, estimate, sign = self.parameters[k].unsigned
        return Task(trait, estimate, standard_error, sign=sign)

    def contrast(
        self, contrasts: Contrasts, ratio: bool = False, method: str | None = None
    ) -> Estimates:
        r"""Estimate contrasts, with the covariance :math:`L V L^T`.

        L are the coefficients; those of ratios, which are contrasts of logarithms, are
        multiplied by the ratio over the estimate.
        """
        parameters, entries = [], []
        for row, contrast in enumerate(contrasts):
            parameter = contrast_parameter(
                self.parameters, contrast, ratio, method, self.known, self.size_limit
            )
            positions = list(contrast[1])
            slope = np.array(list(contrast[1].values()), dtype=float)
            if ratio:
                values = np.array([self.parameters[k].estimate for k in positions])
                with np.errstate(all="ignore"):
                    slope *= parameter.given / values  # none for a ratio with zero
                slope[~np.isfinite(slope)] = 0
            entries += [
                (row, k, each) for k, each in zip(positions, slope, strict=True)
            ]
            parameters.append(parameter)
        rows, columns, coefficients = np.reshape(entries, (-1, 3)).T
        places = rows.astype(int), columns.astype(int)
        shape = len(contrasts), len(self.parameters)
        matrix = sparse.csr_array((coefficients, places), shape=shape)
        combined = self.combined(parameters, matrix)
        if self.of_rows is None:
            return combined
        of_rows = self.of_rows.contrast(contrasts, ratio, method)
        return replace(combined, of_rows=of_rows.with_methods(parameters))

    def combined(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Linear combinations with these slopes, (L, K)."""
        raise NotImplementedError

    def with_methods(self, parameters: Sequence[Parameter]) -> Self:
        """Return the estimates with the interval methods of other parameters."""
        pairs = zip(self.parameters, parameters, strict=True)
        changed = tuple(replace(old, method=new.method) for old, new in pairs)
        return replace(self, parameters=changed)  # type: ignore[type-var]
