"""What rows tell of parameters: covariance, design effects, how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skci._typing import Array
from skci.inference.design import Design
from skci.inference.parameter import ENOUGH_GROUPS, ENOUGH_ROWS, Parameter
from skci.measures.functional import classes, rarest

__all__ = ["Sampling", "padded"]


_NO_SPREAD = 1e-10
"""A deviation below this share of its natural size is zero but for rounding."""
_SHOWN = 0.02
"""Share of a smoothed variance that rows must show to tell a design effect."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """What rows tell of K parameters, whatever intervals are made of it.

    Parameters
    ----------
    parameters : tuple of Parameter
    design : Design
        How the rows were drawn.
    """

    parameters: tuple[Parameter, ...]
    design: Design

    @cached_property
    def linear(self) -> list[bool]:
        """Which parameters can be linearised."""
        return [own.defined and own.has_derivative for own in self.parameters]

    @cached_property
    def has_spread(self) -> list[bool]:
        """Which parameters have a sampling variance that is not zero."""
        variances = (self.covariance.diagonal() * self.design.n_samples).tolist()
        return [
            linear and math.sqrt(variance) > _NO_SPREAD * own.steepness
            for own, linear, variance in zip(
                self.parameters, self.linear, variances, strict=True
            )
        ]

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the estimates over samples; zero where there is none."""
        linear = [k for k, known in enumerate(self.linear) if known]
        if not linear:
            return np.zeros((len(self.parameters),) * 2)
        chosen = [self.parameters[k] for k in linear]
        covariance = self.design.covariance(
            [self._seen(own, own.linearised.influence, own.weights) for own in chosen],
            [own.index for own in chosen],
        )
        for k, own in enumerate(chosen):
            if own.smoothed:
                least = own.least_variance * self.design_effects[linear[k]]
                covariance[k, k] = max(covariance[k, k], least)
            if own.at_end:
                covariance[k] = covariance[:, k] = 0  # what is left is rounding
        return padded(covariance, linear, len(self.parameters))

    def _seen(self, own: Parameter, influence: Array, p: Array) -> Array:
        """Influence values on its own cells and, zero, in rows that it does not see.

        The fewer rows it sees, the more one of them weighs; and the variance is that of
        these rows alone, around their mean. A contrast is made of what its parts see.
        """
        if not own.partial:
            return influence
        if own.sources:
            factors = [self._of_few(source) for source in own.sources]
            influence = np.nan_to_num(own.functional.influence(p, factors))  # type: ignore[attr-defined]
        else:
            influence = influence * self._of_few(own)
        influence = influence - own.counts @ influence / max(own.counts.sum(), 1.0)
        return np.append(influence * self.growth(own), 0.0)

    def _of_few(self, own: Parameter) -> float:
        """From a deviation of all rows to one of those that a parameter sees."""
        units, all_units = self.units(own), self.design.n_units
        if not own.partial or self.design.strata is not None or units < 2:
            return 1.0
        return math.sqrt(units / (units - 1) * (all_units - 1) / all_units)

    def growth(self, own: Parameter) -> float:
        """How much more a row weighs among those that a parameter sees."""
        seen = float(own.counts.sum())
        return float(self.design.weights.sum()) / seen if seen else 1.0

    def units(self, own: Parameter) -> int:
        """Count the rows, or clusters, that a parameter sees; of parts the fewest."""
        if own.sources:
            return min(map(self.units, own.sources))
        return self.design.n_clusters(own.sees)

    @cached_property
    def design_effects(self) -> Array:
        """Sampling variances over those of as many equal rows by themselves, (K,).

        Influence values are those at a table without empty cells. Where the rows show
        next to no variance, it is as if the rows of a cluster were all alike.
        """
        effects = np.ones(len(self.parameters))
        if self.design.simple:
            return effects
        for k, own in enumerate(self.parameters):
            p = own.counts / max(own.counts.sum(), 1.0)
            influence, reference = self._smoothed_influence(own)
            spread = p @ (influence - p @ influence) ** 2
            least = max(_SHOWN * reference, _NO_SPREAD**2)
            if spread > least:
                seen = self._seen(own, influence, self._smoothed(own))
                variance = self.design.covariance([seen], [own.index])[0, 0]
                rows = self.design.n_rows(own.sees)
                weight = own.counts.sum() * max(1 - 1 / rows, 1 / rows)
                effects[k] = variance * weight / spread
            if spread <= least or self.units(own) < 2:
                effects[k] = self._alike(own, influence)
        return effects

    def _alike(self, own: Parameter, influence: Array) -> float:
        """Design effect of a parameter if the rows of a cluster were all alike."""
        parts = [self._outcomes(own, part) for part in classes(own.functional)]
        if parts:  # an area knows as much as of the class that less is known of
            rows, worth = rarest(own.functional), min(map(self.design.worth, parts))
        else:
            seen = self._outcomes(own, np.abs(influence) > _NO_SPREAD)
            rows, worth = self.design.weights[seen].sum(), self.design.worth(seen)
        return float(rows / worth) if worth else 1.0

    def _outcomes(self, own: Parameter, cells: Array) -> Array:
        """Which joint outcomes are in some of its own cells."""
        chosen: Array = np.append(cells, False)[own.index]
        return chosen

    @cached_property
    def n_informative(self) -> Array:
        """Number of clusters that tell something of each parameter, (K,).

        Of the sample that tells least; rows where there are no clusters. It is how many
        of one size would tell as much as all, or where few of them do, these at most.
        """
        if self.design.clusters is None:
            return np.array([self.units(own) for own in self.parameters])
        pairs = zip(self.parameters, self.design_effects.tolist(), strict=True)
        return np.array([self._informative(own, effect) for own, effect in pairs])

    def is_heavy(self, own: Parameter) -> bool:
        """Whether a few rows that weigh much are most of what tells of a parameter.

        Of unequal weights more rows are asked for than of groups, for no t makes up for
        them.
        """
        if self.design.simple or self.design.clusters is not None:
            return False
        influence, _ = self._smoothed_influence(own)
        told = self._outcomes(own, np.abs(influence) > _NO_SPREAD)
        worth = self.design.worth(told)
        return worth < min(ENOUGH_ROWS, self.design.n_rows(told) / 2)

    def _informative(self, own: Parameter, design_effect: float) -> float:
        influence, _ = self._smoothed_influence(own)
        cells = classes(own.functional) or [np.abs(influence) > _NO_SPREAD]
        parts = [self._outcomes(own, part) for part in cells]
        numbers = []
        for stratum in self.design.each_stratum():
            seen = stratum & own.sees
            if not seen.any():
                continue
            each = [self.design.n_clusters(stratum & part) for part in parts]
            told = min(filter(None, each), default=0)  # an area may be of another
            every = stratum & np.any(parts, axis=0)
            share = self.design.n_alike(every, design_effect)
            share /= max(self.design.n_clusters(every), 1)
            if told >= ENOUGH_GROUPS:
                told = self.design.n_clusters(seen)
            numbers.append(min(max(told * share, 2.0), told))
        sources = [source for source in own.sources if source.partial]
        numbers += [self._informative(s, design_effect) for s in sources]
        return min(numbers, default=0.0)

    def _smoothed_influence(self, own: Parameter) -> tuple[Array, float]:
        """Influence values at a table without empty cells, and their mean square."""
        weights = self._smoothed(own)
        _, influence, _ = own.functional(weights)
        influence = np.nan_to_num(influence, posinf=0.0, neginf=0.0)
        return influence, float(weights @ influence**2)

    def _smoothed(self, own: Parameter) -> Array:
        weights = own.counts + own.smoothing
        total = weights.sum()
        smoothed: Array = weights / total if total else weights
        return smoothed


def padded(values: Array, positions: list[int], size: int) -> Array:
    """Write zeros around the values of some of so many parameters."""
    if len(positions) == size:
        return values
    total = np.zeros((size, size))
    total[np.ix_(positions, positions)] = values
    return total
