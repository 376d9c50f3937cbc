"""Estimates from the influence values of the rows of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property, dataclass
from skci._threads import few_threads
from skci.inference.contrast_parameters import ContrastTables
from skci.inference.design_estimate import DesignEstimate
from skci.inference.designs.design import SampleDesign, SmallSampleReason
from skci.inference.designs.totals import covariance
from skci.inference.designs.units import Clusters, is_simple
from skci.inference.estimates import MAX_TABLES, Estimates, ManyContrasts
from skci.inference.intervals.methods import AUTO, METHODS, Task, automatic
from skci.inference.parameter import Contrasts, TableParameter
from skci.inference.parameter_estimate import ParameterEstimate
from skci.inference.rows import Influences, Rows
from skci.measures.functional import Mean

_MAX_BY_PAIR = 1 << 11  # number of contrasts whose rows depend on the pair


def _collected(path: str) -> Any:
    """Create a property that returns an attribute of each of the K estimates."""
    attribute = attrgetter(path)

    def values(estimates: RowEstimates) -> Array:
        return np.array([*map(attribute, estimates.singles)])

    return cached_property(values)


@dataclass(frozen=True, eq=False)
class RowEstimates(Estimates):
    """Estimates of several parameters from the rows of a sample with a given design.

    The elements of `singles` compute the variances. This class computes the
    covariances from influence values.
    """

    parameters: tuple[TableParameter, ...]
    rows: Rows
    design: SampleDesign
    _of_parameters: dict[TableParameter, ParameterEstimate] = field(
        default_factory=dict, init=False
    )

    def with_parameters(self, parameters: Sequence[TableParameter]) -> RowEstimates:
        """Return the estimates of other parameters from the same rows."""
        return replace(self, parameters=tuple(parameters))

    def _estimate_of(self, parameter: TableParameter) -> ParameterEstimate:
        """Return the estimate of one parameter."""
        if parameter not in self._of_parameters:
            kind = ParameterEstimate if self._rows_are_simple else DesignEstimate
            components = [*map(self._estimate_of, parameter.components)]
            self._of_parameters[parameter] = kind(
                parameter, self.rows, self.simplified_design, components
            )
        return self._of_parameters[parameter]

    @cached_property
    def simplified_design(self) -> SampleDesign:
        """Sampling design after simplification.

        For example, clusters of one row each are replaced by independent rows.
        """
        design = self.design
        return design.simplified(self.rows) if isinstance(design, Clusters) else design

    @cached_property
    def singles(self) -> list[ParameterEstimate]:
        """Estimates of single parameters, from which the variances are computed."""
        return [*map(self._estimate_of, self.parameters)]

    @cached_property
    def _rows_are_simple(self) -> bool:
        """Whether the rows are a simple random sample, without weights or strata."""
        units = self.simplified_design
        return units.rows_are_units and units.strata is None and self.rows.are_equal

    @property
    def is_simple(self) -> bool:
        if self._rows_are_simple:
            return True
        return is_simple(self.rows, self.design) and not self.spans_strata.any()

    @property
    def n_groups(self) -> int | None:
        return None if self.design.rows_are_units else self.design.n_units

    @property
    def design_description(self) -> str:
        if self.spans_strata.any():
            return str(self.design)
        return str(self.design.within_strata)

    variances = _collected("estimated_variance")
    has_variance = _collected("has_variance")
    degrees_of_freedom = _collected("df_of_quantile")
    is_linear = _collected("parameter.is_linear")
    spans_strata = _collected("spans_strata")
    design_effects = _collected("design_effect")
    table_sizes = _collected("parameter.total")

    @cached_property
    def has_limits(self) -> Array:
        has_limits = np.zeros(len(self.parameters), dtype=bool)
        for k, estimate in enumerate(self.singles):
            parameter = estimate.parameter
            method = parameter.interval_method
            if not (estimate.is_estimable and self.degrees_of_freedom[k] > 0):
                continue
            if not method.needs_error:
                has_limits[k] = parameter.is_linear and estimate.design_effect > 0
            elif method.blurs and not estimate.has_variance:
                has_limits[k] = (self.variances + self.noise_variances(1.0))[k] > 0
            else:
                has_limits[k] = parameter.is_on_boundary or estimate.has_variance
        return has_limits

    def single_unit(self, k: int) -> str:
        return self.singles[k].single_unit

    @property
    def has_replicates(self) -> bool:
        return self.design.has_replicates

    @cached_property
    def covariance(self) -> Array:  # type: ignore[override]
        variances = self.variances
        if len(self.parameters) == 1:
            return variances[:, np.newaxis]
        total = self.covariance_of_influence
        if self._has_contrasts:
            # Contrasts are scaled, so that the rank is unchanged. For other parameters,
            # only the diagonal changes.
            observed = total.diagonal()
            is_contrast = np.array([bool(p.components) for p in self.parameters])
            raised = is_contrast & (observed > 0) & (observed < variances)
            ratio = np.where(raised, variances, 1) / np.where(raised, observed, 1)
            scale = np.sqrt(ratio)
            total *= scale
            total *= scale[:, np.newaxis]
        on_boundary = variances == 0  # their covariances are rounding errors
        total[on_boundary] = total[:, on_boundary] = 0
        np.fill_diagonal(total, variances)
        return total

    @property
    def covariance_of_influence(self) -> Array:
        """Covariance matrix of the estimates, computed from influence values.

        Covariances are zero for estimates without a derivative. The intervals of
        methods that use pseudo-counts may have larger variances than this matrix.
        """
        linear = np.flatnonzero(self.is_linear)
        estimates = [self.singles[k] for k in linear]
        influences = [estimate.influence for estimate in estimates]
        indices = [estimate.parameter.index for estimate in estimates]
        values = Influences(influences, indices, self.rows)
        total = np.zeros((len(self.parameters),) * 2)
        if len(linear):
            with few_threads(len(self.rows) * len(linear) ** 2):
                block = covariance(self.design.variance_components(values))
            total[np.ix_(linear, linear)] = block
        return total

    @cached_property
    def standard_errors(self) -> Array:
        variances = []
        for estimate in self.singles:
            observed = estimate.at_observed_table
            shown = observed if observed.has_variance else estimate
            variances.append(shown.estimated_variance)
        return np.sqrt(variances)

    def noise(self, z: float) -> Array:
        r"""Return the covariance that interval methods add to the estimated covariance.

        Parameters that are not contrasts have independent noise, with a diagonal
        covariance D. Contrasts with coefficients L have noise of covariance :math:`L D
        L^T`.

        The method "blurred" perturbs the moments of every parameter by noise of
        variance :math:`z^2 / 2n` per row, where n is the effective sample size (Choice
        II of Yuan and Jiang):

        .. math:: D_{kk} = \frac{z^2}{2 n^2} \sum_i (\partial_i g_k)^2

        For other methods that estimate the variance at the observed table, only
        components on the boundary of their range have noise. With this noise, z
        standard errors equal the width of Wilson's interval for n successes in n rows.
        The squared widths of several components are added (Newcombe, 1998).
        """
        if not self._has_contrasts:
            return np.diag(self.noise_variances(z))
        loadings = self._noise_loadings(z)
        noise: Array = (loadings @ loadings.T).toarray()
        return noise + np.diag(self._stratum_noise(z))

    def noise_variances(self, z: float) -> Array:
        if not self._has_contrasts:
            noise = np.array([estimate.noise(z) for estimate in self.singles])
        else:
            squares = self._noise_loadings(z).power(2)
            noise = np.asarray(squares.sum(axis=1)).ravel()
        if self.design.strata is None:
            return noise
        return noise + self._stratum_noise(z)

    @property
    def _has_contrasts(self) -> bool:
        return any(map(attrgetter("components"), self.parameters))

    def _stratum_noise(self, z: float) -> Array:
        """Return the variances to add if strata have few rows of some outcome."""
        return np.array([estimate.stratum_noise(z) for estimate in self.singles])

    def _noise_loadings(self, z: float) -> sparse.csr_array:
        """Return the factor loadings of the parameters on independent noise terms.

        Each parameter that is not a contrast has a separate noise term.
        """
        columns: dict[tuple[TableParameter, str], int] = {}
        entries = [
            (k, columns.setdefault((base, parameter.method), len(columns)), slope)
            for k, parameter in enumerate(self.parameters)
            if parameter.is_linear
            for base, slope in _base_slopes(parameter)
        ]
        bases = [
            self._estimate_of(base.with_method(method)) for base, method in columns
        ]
        deviations = np.sqrt([estimate.noise(z) for estimate in bases])
        rows, indices, slopes = np.reshape(entries, (-1, 3)).T
        indices = indices.astype(int)
        loadings = np.nan_to_num(slopes) * deviations[indices]
        shape = len(self.parameters), len(bases)
        return sparse.csr_array((loadings, (rows.astype(int), indices)), shape)

    def n_rows(self, k: int) -> int:
        return self.rows.n_rows(self.parameters[k].units)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        return self.singles[k].small_sample_reasons

    def task(self, k: int, standard_error: float) -> Task:
        return self.singles[k].task(standard_error)

    def contrast(
        self, contrasts: Contrasts, ratio: bool = False, method: str | None = None
    ) -> Estimates:
        """Estimate contrasts of the parameters.

        Each contrast is estimated from its own table of counts, so that all interval
        methods are available. For more than `MAX_TABLES` contrasts, only the covariance
        is computed, without tables. With ``missing_grades="pairwise"``, at most
        `_MAX_BY_PAIR` contrasts are possible.
        """
        positions = {k for _, weights in contrasts for k in weights}
        by_pair = any(self.parameters[k].by_pair for k in positions)
        if by_pair and len(contrasts) > _MAX_BY_PAIR:
            raise ValueError(
                f"missing_grades='pairwise' allows at most {_MAX_BY_PAIR:,} "
                f"differences, got {len(contrasts):,}; name a control, select fewer "
                "models, or drop items that are not graded for all models"
            )
        if by_pair or len(contrasts) <= MAX_TABLES:
            tables = ContrastTables(self, ratio, method)
            return self.with_parameters([*map(tables.parameter, contrasts)])
        if method not in (None, AUTO) and METHODS[method].needs != "covariance":
            raise ValueError(
                f"method={method!r} needs at most {MAX_TABLES:,} contrasts, got "
                f"{len(contrasts):,}; use method='delta', name a control, or select "
                "models"
            )
        parameters = [
            parameter.with_method(automatic(parameter.trait, available="covariance"))
            for parameter in self.parameters
        ]
        limit = f"other methods need at most {MAX_TABLES:,} contrasts"
        estimates = ManyContrasts.from_estimates(self.with_parameters(parameters))
        estimates = replace(estimates, parameters=self.parameters, size_limit=limit)
        return estimates.contrast(contrasts, ratio, method)


def _base_slopes(parameter: TableParameter) -> list[tuple[TableParameter, float]]:
    """Return the parameters in a contrast, and the derivatives of the contrast.

    The derivatives are partial derivatives with respect to these parameters. A contrast
    of contrasts is multiplied out, so that no returned parameter is a contrast.
    """
    if not parameter.components:
        return [(parameter, 1.0)]
    functional: Any = parameter.functional
    slopes: Sequence[float] = parameter.coefficients
    if not isinstance(functional, Mean):
        slopes = [*map(float, functional.slopes(parameter.weights))]
    return [
        (base, slope * inner)
        for component, slope in zip(parameter.components, slopes, strict=True)
        for base, inner in _base_slopes(component)
    ]
