"""Sampling covariance, design effects and effective sample sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property
from skci.inference.design import Design
from skci.inference.parameter import Parameter, TableParameter

_NO_VARIANCE = 1e-10  # relative deviation that is zero up to rounding
_OBSERVED = 0.02  # least share of the smoothed variance for a design effect
_ENOUGH_EVENTS = 10  # successes and failures for the normal approximation
_ENOUGH_UNITS = 30  # clusters, or rows, from which on a variance is well estimated
_ENOUGH_IN_CLASS = 60  # the same of the rarer class, or with unequal weights
_POOR = "the variance is poorly estimated and the interval may be too narrow"


class SmallSampleReason(NamedTuple):
    """Why an interval may be too narrow, and whether another method would not be."""

    text: str
    other_method_helps: bool = False


@dataclass(frozen=True, eq=False)
class GivenCovariance:
    """Given estimates with a given covariance, zero where it is unknown.

    The degrees of freedom of all variances are infinite for a normal quantile. For
    what inference asks of both see `RowSampling`.
    """

    parameters: tuple[Parameter, ...]
    covariance: Array
    df: float
    design: None = None

    @property
    def degrees_of_freedom(self) -> Array:
        return np.full(len(self.parameters), self.df)

    def select(self, positions: Sequence[int]) -> GivenCovariance:
        chosen = tuple(self.parameters[k] for k in positions)
        block = self.covariance[np.ix_(positions, positions)]
        return GivenCovariance(chosen, block, self.df)

    @property
    def is_linear(self) -> Array:
        return np.array([parameter.defined for parameter in self.parameters], bool)

    @property
    def has_variance(self) -> Array:
        return self.covariance.diagonal() > 0

    @property
    def is_estimable(self) -> Array:
        return self.is_linear

    @property
    def design_effects(self) -> Array:
        return np.ones(len(self.parameters))

    def noise(self, z: float) -> Array:
        return np.zeros_like(self.covariance)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        return []


@dataclass(frozen=True, eq=False)
class RowSampling:
    """Parameters of a sample of rows: covariance from their influence values."""

    parameters: tuple[TableParameter, ...]
    design: Design

    def select(self, positions: Sequence[int]) -> RowSampling:
        """Keep some of the parameters."""
        return RowSampling(tuple(self.parameters[k] for k in positions), self.design)

    @cached_property
    def is_linear(self) -> Array:
        """Which parameters are defined and have a linear approximation, (K,)."""
        return np.array([p.is_linear for p in self.parameters], dtype=bool)

    @cached_property
    def has_variance(self) -> Array:
        """Which parameters have a variance that is not zero, (K,)."""
        deviations = np.sqrt(self.covariance.diagonal() * self.design.n_samples)
        return np.array(
            [
                linear and deviation > _NO_VARIANCE * parameter.steepness
                for parameter, linear, deviation in zip(
                    self.parameters, self.is_linear, deviations, strict=True
                )
            ],
            dtype=bool,
        )

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the estimates, (K, K); zero where there is none."""
        linear = np.flatnonzero(self.is_linear)
        if not len(linear):
            return np.zeros((len(self.parameters),) * 2)
        chosen = [self.parameters[k] for k in linear]
        block = self.design.covariance(
            [self._influence(p, p.linearised.influence, p.weights) for p in chosen],
            [p.index for p in chosen],
        )
        for j, (k, parameter) in enumerate(zip(linear, chosen, strict=True)):
            if parameter.interval_method.smooths:
                squares = parameter.weights @ parameter.linearised.influence**2
                multinomial = squares / parameter.counts.sum()
                block[j, j] = max(block[j, j], multinomial * self.design_effects[k])
            if parameter.is_on_boundary:
                block[j] = block[:, j] = 0  # what is left is rounding
        if len(linear) == len(self.parameters):
            return block
        covariance = np.zeros((len(self.parameters),) * 2)
        covariance[np.ix_(linear, linear)] = block
        return covariance

    def _influence(
        self, parameter: TableParameter, influence: Array, p: Array
    ) -> Array:
        """Influence values on the cells and, zero, for units outside of the table.

        The variance is that of the m of n rows in the table, around their mean. For a
        contrast that is done for each of its components.
        """
        if parameter.sees_all:
            return influence
        if parameter.components:
            factors = [self._small_sample_factor(c) for c in parameter.components]
            influence = parameter.functional.influence(p, factors)  # type: ignore[attr-defined]
            influence = np.nan_to_num(influence)
        else:
            influence = influence * self._small_sample_factor(parameter)
        counts = parameter.counts
        influence = influence - counts @ influence / max(counts.sum(), 1.0)
        return np.append(influence * self._inverse_sampling_fraction(parameter), 0.0)

    def _small_sample_factor(self, parameter: TableParameter) -> float:
        """Small-sample factor for a parameter estimated from m of n units."""
        m, n = self._n_units(parameter), self.design.n_units
        if parameter.sees_all or self.design.strata is not None or m < 2:
            return 1.0
        return math.sqrt(m / (m - 1) * (n - 1) / n)

    def _inverse_sampling_fraction(self, parameter: TableParameter) -> float:
        """All rows over those in the table of a parameter."""
        n = float(parameter.counts.sum())
        return float(self.design.counts.sum()) / n if n else 1.0

    def _n_units(self, parameter: TableParameter) -> int:
        """Rows, or clusters, in the table; for a contrast of the least component."""
        if parameter.components:
            return min(map(self._n_units, parameter.components))
        return self.design.n_clusters(parameter.units)

    @cached_property
    def is_estimable(self) -> Array:
        """Which variances can be estimated from as many units as there are, (K,)."""
        estimable = np.array([self._is_estimable(p) for p in self.parameters], bool)
        if self.design.clusters is None:
            return estimable
        return estimable & (self.effective_n_clusters.round() > 1)

    def _is_estimable(self, parameter: TableParameter) -> bool:
        """Whether there are several units, for each component of a contrast."""
        if self.design.clusters is None and parameter.interval_method.smooths:
            return True
        if parameter.sees_all:
            return self.design.shows_variance
        return self._n_units(parameter) > 1 and self._components_vary(parameter)

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
        if not any(parameter.components for parameter in self.parameters):
            return np.diag(self._noise_variances(z))
        column: dict[tuple[TableParameter, str], int] = {}
        rows, columns, slopes = [], [], []
        for k in np.flatnonzero(self.is_linear).tolist():
            for base, slope in _bases(self.parameters[k]):
                named = base, self.parameters[k].method
                rows.append(k)
                columns.append(column.setdefault(named, len(column)))
                slopes.append(slope)
        bases = tuple(replace(base, method=method) for base, method in column)
        variances = RowSampling(bases, self.design)._noise_variances(z)
        deviations = np.nan_to_num(slopes) * np.sqrt(variances)[columns]
        shape = len(self.parameters), len(bases)
        jacobian = sparse.csr_array((deviations, (rows, columns)), shape=shape)
        return (jacobian @ jacobian.T).toarray()

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
                n = self.design.n_samples / effect
                variances[k] = np.sum(gradient**2) * z**2 / (2 * n**2)
            else:
                for slope, n in parameter.boundary:
                    variances[k] += (slope * z / (n / effect + z**2)) ** 2
        return variances

    @cached_property
    def design_effects(self) -> Array:
        """Variances over those of simple random samples of the same size, (K,).

        From the influence values at the tables with pseudo-counts. Where next to no
        variance is observed, as if the rows of a cluster were all alike.
        """
        effects = np.ones(len(self.parameters))
        if self.design.is_simple:
            return effects
        for k, parameter in enumerate(self.parameters):
            p = parameter.counts / max(parameter.counts.sum(), 1.0)
            influence = self._smoothed_influence(parameter)
            smoothed = parameter.smoothed_weights
            variance = p @ (influence - p @ influence) ** 2
            least = max(_OBSERVED * (smoothed @ influence**2), _NO_VARIANCE**2)
            if variance > least:
                on_sample = self._influence(parameter, influence, smoothed)
                estimated = self.design.covariance([on_sample], [parameter.index])
                rows = self.design.n_rows(parameter.units)
                n = parameter.counts.sum() * max(1 - 1 / rows, 1 / rows)
                effects[k] = estimated[0, 0] * n / variance
            if variance <= least or self._n_units(parameter) < 2:
                classes = self._classes(parameter)
                effective = min(map(self.design.effective_sample_size, classes))
                n = parameter.support.rarer_class
                n = n or self.design.counts[classes[0]].sum()
                effects[k] = n / effective if effective else 1.0
        return effects

    def _classes(self, parameter: TableParameter) -> list[Array]:
        """Units of each class of an area, which is known as well as the worse known.

        For other parameters, those with influence on the estimate.
        """
        classes = parameter.support.classes
        cells = [np.append(each, False) for each in classes]
        return [each[parameter.index] for each in cells] or [
            self._units_with_influence(parameter)
        ]

    def _units_with_influence(self, parameter: TableParameter) -> Array:
        influence = self._smoothed_influence(parameter)
        units: Array = np.append(np.abs(influence) > _NO_VARIANCE, False)
        return units[parameter.index]

    @property
    def degrees_of_freedom(self) -> Array:
        """Degrees of freedom of the variances; infinite for a normal quantile."""
        if self.design.clusters is None:
            return np.full(len(self.parameters), np.inf)
        return self.effective_n_clusters - 1.0

    @cached_property
    def effective_n_clusters(self) -> Array:
        """Number of equal clusters that would estimate each variance as well, (K,).

        In the stratum that has fewest.
        """
        pairs = zip(self.parameters, self.design_effects.tolist(), strict=True)
        return np.array([self._effective_n_clusters(*pair) for pair in pairs])

    def _effective_n_clusters(
        self, parameter: TableParameter, design_effect: float
    ) -> float:
        classes = self._classes(parameter)
        numbers = []
        for stratum in self.design.strata_units():
            units = stratum & parameter.units
            if not units.any():
                continue
            each = [self.design.n_clusters(stratum & part) for part in classes]
            # An area may be of another stratum.
            informative = min(filter(None, each), default=0)
            every = stratum & np.any(classes, axis=0)
            share = self.design.effective_n_clusters(every, design_effect)
            share /= max(self.design.n_clusters(every), 1)
            if informative >= _ENOUGH_UNITS:
                informative = self.design.n_clusters(units)
            numbers.append(min(max(informative * share, 2.0), informative))
        partial = [c for c in parameter.components if not c.sees_all]
        numbers += [self._effective_n_clusters(c, design_effect) for c in partial]
        return min(numbers, default=0.0)

    def _smoothed_influence(self, parameter: TableParameter) -> Array:
        """Influence values at the table with pseudo-counts."""
        _, influence, _ = parameter.functional(parameter.smoothed_weights)
        return np.nan_to_num(influence, posinf=0.0, neginf=0.0)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons why the interval of a parameter may be too narrow."""
        parameter = self.parameters[k]
        if not parameter.defined:
            return []
        clustered = self.design.clusters is not None
        few_in_class = 0 < parameter.support.rarer_class < _ENOUGH_IN_CLASS
        reasons = []
        if clustered and self.effective_n_clusters[k] < _ENOUGH_UNITS:
            reasons.append(f"fewer than {_ENOUGH_UNITS} effective groups")
        if not clustered and self._is_dominated(parameter):
            few = f"an effective sample size below {_ENOUGH_IN_CLASS}"
            reasons.append(f"unequal weights leave {few}")
        if few_in_class:
            reasons.append(f"fewer than {_ENOUGH_IN_CLASS} rows of one class")
        if (
            not clustered
            and not few_in_class
            and parameter.interval_method.variance == "observed"
            and not (parameter.sees_all and parameter.trait.blurs)
            and self._n_units(parameter) < _ENOUGH_UNITS
        ):
            reasons.append(f"fewer than {_ENOUGH_UNITS} rows")
        found = [SmallSampleReason(f"{reason}: {_POOR}") for reason in reasons]
        if self._has_few_events(parameter):
            events = f"{_ENOUGH_EVENTS} successes or {_ENOUGH_EVENTS} failures"
            text = f"fewer than {events}: the normal approximation is poor"
            found.append(SmallSampleReason(text, other_method_helps=True))
        return found

    def _is_dominated(self, parameter: TableParameter) -> bool:
        """Whether a few rows of large weight dominate the variance."""
        if self.design.is_simple:
            return False
        units = self._units_with_influence(parameter)
        enough = min(_ENOUGH_IN_CLASS, self.design.n_rows(units) / 2)
        return self.design.effective_sample_size(units) < enough

    def _has_few_events(self, parameter: TableParameter) -> bool:
        """Whether the normal approximation of a proportion, or an average, is poor."""
        method = parameter.interval_method
        if method.smooths:
            return False
        if not method.blurs and parameter.support.events < _ENOUGH_EVENTS:
            return True
        if parameter.trait.proportion is None:
            return False
        successes, trials = parameter.trait.successes_and_trials(parameter.counts)
        return min(successes, trials - successes) < _ENOUGH_EVENTS


Sampling = GivenCovariance | RowSampling
"""Estimates of K parameters, their covariance, and how well it is known."""


def _bases(parameter: TableParameter) -> list[tuple[TableParameter, float]]:
    """Parameters that a contrast is made of, and the slope in each."""
    if not parameter.components:
        return [(parameter, 1.0)]
    slopes = parameter.functional.slopes(parameter.weights)  # type: ignore[attr-defined]
    return [
        (base, float(slope) * inner)
        for component, slope in zip(parameter.components, slopes, strict=True)
        for base, inner in _bases(component)
    ]
