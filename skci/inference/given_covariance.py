"""Given estimates with a given covariance: of resampling, or of another program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from skci._arrays import Array
from skci.inference.parameter import Key, Parameter

_NO_VARIANCE_OF_CONTRAST = 1e-12  # share of the largest possible one that is zero
_AT_END = (
    "the estimate is within a standard error of an end of its range, where intervals "
    "on the logit scale are wide, and others may not cover"
)
_MOST_EXCESS = 0.6  # share of the variance of a comparison that may be removed


class SmallSampleReason(NamedTuple):
    """Why an interval may be too narrow, and whether another method would not be."""

    text: str
    other_method_helps: bool = False


@dataclass(frozen=True, eq=False)
class GivenCovariance:
    """Given estimates with a given covariance, zero where it is unknown.

    For what inference asks of both see `RowSampling`.
    """

    parameters: tuple[Parameter, ...]
    covariance: Array
    df: float
    """Degrees of freedom of each variance; infinite for a normal quantile."""
    common_variance: bool = False
    """Whether they are those of one variance, as of the residuals of a linear model."""
    excess: Mapping[frozenset[str], float] = field(default_factory=dict)
    """Share of the variance that comparisons of two rules, by name, are free of."""
    design: None = None

    @property
    def degrees_of_freedom(self) -> Array:
        return np.full(len(self.parameters), self.df)

    @property
    def common_df(self) -> float | None:
        return self.df if self.common_variance and self.df < np.inf else None

    def select(self, positions: Sequence[int]) -> GivenCovariance:
        chosen = tuple(self.parameters[k] for k in positions)
        block = np.ix_(positions, positions)
        return replace(self, parameters=chosen, covariance=self.covariance[block])

    def contrasts(
        self,
        parameters: Sequence[Parameter],
        slopes: Array,
        pairs: Sequence[frozenset[str]],
    ) -> GivenCovariance:
        r"""Linear combinations of the estimates, with covariance :math:`L V L^T`.

        Of the variances of comparisons of two rules, which are named, the excess is
        removed; correlations stay.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # then it is unknown
            covariance = slopes @ self.covariance @ slopes.T
            covariance[~np.isfinite(covariance)] = 0
            # Of what does not vary there is rounding left, of either sign.
            most = np.abs(slopes) @ np.sqrt(self.covariance.diagonal())
            constant = covariance.diagonal() <= _NO_VARIANCE_OF_CONTRAST * most**2
        # A zero variance is unknown, and so is that of what depends on it.
        unknown = slopes[:, ~self.has_variance].any(axis=1)
        covariance[constant | unknown] = covariance[:, constant | unknown] = 0
        if self.excess:
            kept = np.sqrt([1 - self.excess.get(pair, 0.0) for pair in pairs])
            covariance *= np.outer(kept, kept)
        return replace(
            self, parameters=tuple(parameters), covariance=covariance, excess={}
        )

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
    def standard_errors(self) -> Array:
        return np.sqrt(self.covariance.diagonal())

    @property
    def design_effects(self) -> Array:
        return np.ones(len(self.parameters))

    def interval_table(self, k: int) -> tuple[None, None, float]:
        return None, None, 1.0

    def hall_coefficients(self, k: int) -> tuple[float, float]:
        return 0.0, 0.0

    def noise(self, z: float) -> Array:
        return np.zeros_like(self.covariance)

    @property
    def small_sample_reasons(self) -> list[list[SmallSampleReason]]:
        pairs = zip(self.parameters, self.standard_errors, strict=True)
        return [
            [SmallSampleReason(_AT_END)] if error > _to_end(parameter) else []
            for parameter, error in pairs
        ]

    @property
    def span_strata(self) -> Array:
        return np.zeros(len(self.parameters), dtype=bool)


def _to_end(parameter: Parameter) -> float:
    """Distance of an estimate from the nearer end of its range."""
    low, high = parameter.trait.bounds
    return min(parameter.estimate - low, high - parameter.estimate)


def excess_shares(
    parameters: Sequence[Parameter], covariance: Array, excess: Array
) -> dict[frozenset[str], float]:
    """Share of an excess in the variance of the differences of each two rules.

    The mean over all measures that compare them, and at most `_MOST_EXCESS`.
    """
    places: dict[Key, list[int]] = {}
    for k in np.flatnonzero(covariance.diagonal() > 0).tolist():
        places.setdefault(parameters[k].key.without("rule"), []).append(k)
    shares: dict[frozenset[str], list[float]] = {}
    for i, j in chain(*(combinations(each, 2) for each in places.values())):
        variance, removed = (
            float(V[i, i] + V[j, j] - 2 * V[i, j]) for V in (covariance, excess)
        )
        most = math.sqrt(covariance[i, i]) + math.sqrt(covariance[j, j])
        if variance > _NO_VARIANCE_OF_CONTRAST * most**2:
            pair = frozenset((parameters[i].key.name, parameters[j].key.name))
            shares.setdefault(pair, []).append(removed / variance)
    return {
        pair: min(sum(each) / len(each), _MOST_EXCESS) for pair, each in shares.items()
    }
