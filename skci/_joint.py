"""Many parameters on the same rows: estimates, covariance, critical value, intervals.

Nothing is computed before it is looked at, and nothing needs the rows again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri

from skci._covariance import Design, blurring, correlation_from
from skci._critical import CriticalValue, critical_value
from skci._functionals import Evaluation, Functional, blind, classes, rarest
from skci._intervals import METHODS, Task
from skci._measures import EDGE, Trait
from skci._outcomes import View

__all__ = ["ENOUGH", "ENOUGH_GROUPS", "JointEstimate", "Parameter"]

Array = NDArray[Any]

# A variance below this share of its natural size is zero but for rounding, and a
# derivative beyond the second is one that does not exist.
_NO_SPREAD = 1e-10
_NO_DERIVATIVE = 1e20
_SHOWN = 0.02
"""Share of a smoothed variance that rows must show to tell a design effect."""

_ROUNDING = 1e-9
"""How far rounding may take an estimate out of its range."""

ENOUGH = 10
"""Successes and failures that the normal approximation of a proportion asks for."""
ENOUGH_GROUPS = 30
"""Groups of rows, or rows of a label, from which on a variance is well known."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """One measure of one rule: a label and a functional on its own table.

    Parameters
    ----------
    rule, metric : str
        Its label.
    trait : Trait
    functional : Functional
    method : str
        Key of ``METHODS``.
    counts : array of shape (m_own,)
        Its own table, cells of zero count included.
    index : array of shape (m,)
        Its own cell in each joint outcome; m_own in those of another sample.
    moments : tuple
        Names, shared with other parameters, of the moments of its gradient.
    view : View
        How it sees outcomes, those that were not observed as well; None for a contrast.
    smoothing : array of shape (m_own,)
        Rows added to its own table by methods that do so: half a row to every cell of
        a single rule.
    pos_label : label
        Which label is the positive one; None where it is not known or all the same.
    undefined_as : float
        Estimate to report where the measure is undefined.
    """

    rule: str
    metric: str
    trait: Trait
    functional: Functional
    method: str
    counts: Array
    index: Array
    moments: tuple[Any, ...]
    view: View | None
    smoothing: Array
    pos_label: Any = None
    undefined_as: float = np.nan

    def __str__(self) -> str:
        """Name it in a message, as "f1 of Logistic" or "f1 of Logistic - Stump"."""
        apart = self.rule if self.rule != self.metric else ""
        return " of ".join(filter(None, [self.metric, apart]))

    @property
    def size(self) -> int:
        """Number of its own cells."""
        return len(self.counts)

    @property
    def n_samples(self) -> int:
        """Number of rows of its own table."""
        return round(self.counts.sum())

    @property
    def defined(self) -> bool:
        """Whether the measure is defined at the table."""
        return not math.isnan(self._value)

    @property
    def estimate(self) -> float:
        """Value of the measure, or what stands for an undefined one."""
        return self._value if self.defined else self.undefined_as

    @cached_property
    def _value(self) -> float:
        counts = self.counts
        cells = counts if self.trait.scale_free else counts / counts.sum()
        value = float(self.functional.estimate(cells))
        low, high = self.trait.bounds
        if value < low - _ROUNDING or value > high + _ROUNDING:
            raise ValueError(
                f"bounds of {self.trait.name!r} must hold its values, got "
                f"{value:g} outside of ({low:g}, {high:g})"
            )
        return min(max(value, low), high)

    @cached_property
    def linearised(self) -> Evaluation:
        """Influence values and gradient at the own table, as the method wants it."""
        return self.functional(self._weights)

    @property
    def smoothed(self) -> bool:
        """Whether the method linearises it at a table that has no empty cell."""
        return METHODS[self.method].smooths

    @property
    def least_variance(self) -> float:
        """Variance below which a method that smooths does not believe the rows."""
        return float(self._weights @ self.linearised.influence**2 / self.counts.sum())

    @property
    def _weights(self) -> Array:
        counts = self.counts + self.smoothing if self.smoothed else self.counts
        weights: Array = counts / counts.sum()
        return weights

    @cached_property
    def steepness(self) -> float:
        """Greatest derivative in a moment, on the scale of the measure."""
        steepest = float(np.abs(self.linearised.gradient).max())
        if self.smoothed:
            return steepest  # away from the ends, where a scale may have none
        return steepest * max(float(self.trait.scale.slope(self._value)), 1.0)

    @property
    def has_derivative(self) -> bool:
        """Whether the measure can be linearised at the table, on its own scale."""
        if self.smoothed:
            return True
        finite = math.isfinite(self._value) and math.isfinite(self.steepness)
        return finite and self.steepness < _NO_DERIVATIVE

    @property
    def ends(self) -> bool:
        """Whether it is an area under a curve at an end of its range.

        Its variance is zero there, and "logit" does without.
        """
        rows = rarest(self.functional) if self.method == "logit" else 0
        return rows > 1 and min(self._value, 1 - self._value) <= EDGE

    @property
    def has_few(self) -> bool:
        """Whether it is an area under a curve with few rows of one label."""
        return 0 < rarest(self.functional) < ENOUGH_GROUPS

    @property
    def is_small(self) -> bool:
        """Whether the normal approximation of a proportion is not to be trusted."""
        if self.trait.proportion is None or self.smoothed:
            return False
        successes, trials = self.trait.successes_and_trials(self.counts)
        return min(successes, trials - successes) < ENOUGH


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
            [self._seen(own, own.linearised.influence) for own in chosen],
            [own.index for own in chosen],
        )
        for k, own in enumerate(chosen):
            if own.smoothed:
                least = own.least_variance * self.design_effects[linear[k]]
                covariance[k, k] = max(covariance[k, k], least)
            if own.ends:  # what is left is rounding
                covariance[k] = covariance[:, k] = 0
        return _padded(covariance, linear, len(self.parameters))

    def _seen(self, own: Parameter, influence: Array) -> Array:
        """Influence values on its own cells and, zero, in rows that it does not see.

        The fewer rows it sees, the more one of them weighs.
        """
        if self.design.strata is None:
            return influence
        return np.append(influence * (self.design.n_samples / own.n_samples), 0.0)

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
            p = own.counts / own.counts.sum()
            influence, reference = self._smoothed_influence(own)
            spread = p @ (influence - p @ influence) ** 2
            if spread > max(_SHOWN * reference, _NO_SPREAD**2):
                seen = self._seen(own, influence)
                variance = self.design.covariance([seen], [own.index])[0, 0]
                effects[k] = variance * max(own.n_samples - 1, 1) / spread
            else:
                effects[k] = self._alike(own, influence)
        return effects

    def _alike(self, own: Parameter, influence: Array) -> float:
        """Design effect of a parameter if the rows of a cluster were all alike."""
        parts = [self._outcomes(own, part) for part in classes(own.functional)]
        if parts:  # an area knows as much as of the class that less is known of
            return rarest(own.functional) / min(map(self.design.worth, parts))
        seen = self._outcomes(own, np.abs(influence) > _NO_SPREAD)
        return float(self.design.weights[seen].sum()) / self.design.worth(seen)

    def _outcomes(self, own: Parameter, cells: Array) -> Array:
        """Which joint outcomes are in some of its own cells."""
        chosen: Array = np.append(cells, False)[own.index]
        return chosen

    @cached_property
    def n_informative(self) -> Array:
        """Number of clusters that tell something of each parameter, (K,).

        Of the sample that tells least, and all of its clusters where that is enough of
        them; rows where there are no clusters.
        """
        if self.design.clusters is None:
            return np.array([own.n_samples for own in self.parameters])
        return np.array([self._informative(own) for own in self.parameters], dtype=int)

    def _informative(self, own: Parameter) -> int:
        influence, _ = self._smoothed_influence(own)
        cells = classes(own.functional) or [np.abs(influence) > _NO_SPREAD]
        parts = [self._outcomes(own, part) for part in cells]
        numbers = []
        for stratum in self.design.each_stratum():
            if not (stratum & (own.index < own.size)).any():
                continue
            each = [self.design.n_clusters(stratum & part) for part in parts]
            told = min(filter(None, each), default=0)  # an area may be of another
            enough = told >= ENOUGH_GROUPS
            numbers.append(self.design.n_clusters(stratum) if enough else told)
        return min(numbers)

    def _smoothed_influence(self, own: Parameter) -> tuple[Array, float]:
        """Influence values at a table without empty cells, and their mean square."""
        weights = own.counts + own.smoothing
        weights = weights / weights.sum()
        _, influence, _ = own.functional(weights)
        influence = np.nan_to_num(influence, posinf=0.0, neginf=0.0)
        return influence, float(weights @ influence**2)


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Estimates of K parameters on the same rows and what is known of them jointly.

    Parameters
    ----------
    parameters : tuple of Parameter
    design : Design
        How the rows were drawn.
    confidence_level : float
    simultaneous : bool
        Whether the intervals shall all cover at once, or each for itself.
    random_state : int, optional
        Seed of the quasi-random points of the critical value.
    """

    parameters: tuple[Parameter, ...]
    design: Design
    confidence_level: float = 0.95
    simultaneous: bool = True
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.design.simple:
            return
        for own in self.parameters:
            if not METHODS[own.method].weighs:
                serving = [name for name, method in METHODS.items() if method.weighs]
                raise ValueError(
                    f"method={own.method!r} needs rows of equal weight that were drawn "
                    "by themselves; with sample_weight or groups use one of "
                    f"{serving}"
                )

    def at(self, confidence_level: float) -> JointEstimate:
        """Return the same estimates with intervals of another confidence level."""
        return self._viewed(confidence_level=confidence_level)

    def individual(self) -> JointEstimate:
        """Return the same estimates, each interval covering for itself alone."""
        return self._viewed(simultaneous=False)

    def _viewed(self, **options: Any) -> JointEstimate:
        """Return the same estimates with options that rows have nothing to do with."""
        view = replace(self, **options)
        vars(view)["sampling"] = self.sampling
        return view

    def select(self, positions: Iterable[int]) -> JointEstimate:
        """Return some of the estimates, joint among themselves."""
        return replace(self, parameters=tuple(self.parameters[k] for k in positions))

    def with_parameters(
        self, parameters: Sequence[Parameter], *, simultaneous: bool = True
    ) -> JointEstimate:
        """Return estimates of other parameters on the same rows."""
        return replace(self, parameters=tuple(parameters), simultaneous=simultaneous)

    @cached_property
    def sampling(self) -> Sampling:
        """What rows tell of the parameters."""
        return Sampling(self.parameters, self.design)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.design.n_samples

    @property
    def design_effects(self) -> Array:
        """Sampling variances over those of as many equal rows by themselves, (K,)."""
        return self.sampling.design_effects

    @property
    def n_informative(self) -> Array:
        """Number of clusters that tell something of each parameter, (K,)."""
        return self.sampling.n_informative

    @cached_property
    def estimates(self) -> Array:
        """Estimates, shape (K,)."""
        return np.array([parameter.estimate for parameter in self.parameters])

    @property
    def undefined(self) -> Array:
        """Which measures are not defined at their tables, shape (K,)."""
        return np.array([not parameter.defined for parameter in self.parameters])

    @property
    def degenerate(self) -> Array:
        """Which defined estimates have no estimate of their variance, shape (K,).

        It is zero, or the measure has no derivative, or there is a single row or group
        to tell it. Methods that take the variance at a table with pseudo-counts have
        one of rows, and an area under a curve at an end does without.
        """
        states = zip(
            self.parameters, self.sampling.has_spread, self.usable, strict=True
        )
        return np.array(
            [
                own.defined and not (usable and (spread or own.ends))
                for own, spread, usable in states
            ],
            dtype=bool,
        )

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors, whatever the confidence level, shape (K,)."""
        errors = np.sqrt(self.sampling.covariance.diagonal())
        flat = ~np.array(self.sampling.has_spread, dtype=bool)
        errors[flat] = 0 if self.design.shows_variance else np.nan
        return self._known(errors)

    @cached_property
    def degrees(self) -> Array:
        """Degrees of freedom of each variance, (K,); infinite where rows were drawn."""
        if self.design.clusters is None:
            return np.full(len(self.parameters), np.inf)
        return self.n_informative - 1.0

    def wider(self, q: float, k: int) -> float:
        """From a normal quantile to that of t, where few clusters tell a variance."""
        if self.design.clusters is None:
            return q
        return float(stats.t.isf(stats.norm.sf(q), self.degrees[k]))

    def narrower(self, q: float, k: int) -> float:
        """Undo `wider`."""
        if self.design.clusters is None:
            return q
        return float(stats.norm.isf(stats.t.sf(q, self.degrees[k])))

    @cached_property
    def covariance(self) -> Array:
        """Covariance behind the intervals, shape (K, K); NaN where it is unknown."""
        return self._known(self._covariance)

    @cached_property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K); NaN where unknown."""
        usable = np.flatnonzero(self.usable)
        correlation = np.full((len(self.parameters),) * 2, np.nan)
        pairs = np.ix_(usable, usable)
        correlation[pairs] = correlation_from(self._covariance[pairs])
        return correlation

    @cached_property
    def critical_value(self) -> CriticalValue:
        """How many standard errors the intervals reach.

        Where there are clusters, those of the parameter that most of them tell of.
        """
        q = self.normal_quantile
        if self.design.clusters is None or not self.usable.any():
            return q
        best = np.where(self.usable, self.n_informative, -1).argmax()
        wider = self.wider(q, int(best))
        return CriticalValue(wider, q.error * wider / q)

    @cached_property
    def normal_quantile(self) -> CriticalValue:
        """Solve for as many normal standard errors, were the variances known.

        An estimate without a usable variance has the whole range for an interval, so
        it takes no part.
        """
        return CriticalValue(self._z) if self.alone else self.quantile()

    @cached_property
    def alone(self) -> bool:
        """Whether each interval covers for itself, or there is but one."""
        few = len(self.parameters) == 1
        return not self.simultaneous or few or int(self.usable.sum()) < 2

    def quantile(self, **options: Any) -> CriticalValue:
        """Joint quantile of the usable estimates; options are of `critical_value`."""
        usable = np.flatnonzero(self.usable)
        return critical_value(
            self.correlation[np.ix_(usable, usable)],
            self.confidence_level,
            random_state=self.random_state,
            **options,
        )

    @cached_property
    def intervals(self) -> Array:
        """Lower and upper limits, shape (K, 2)."""
        limits = np.array([own.trait.bounds for own in self.parameters], dtype=float)
        usable = np.flatnonzero(self.usable)
        if len(usable):
            q = float(self.normal_quantile)
            limits[usable] = self.reached(usable, q, self._z)
        return limits

    def reached(self, positions: Array, q: float, z: float) -> Array:
        """Limits for a normal quantile, widened where few clusters tell a variance."""
        if self.design.clusters is None:
            return self.limits(positions, q, z)
        limits = np.empty((len(positions), 2))
        degrees = self.degrees[positions]
        for own in np.unique(degrees):
            rows = np.flatnonzero(degrees == own)
            crit = self.wider(q, int(positions[rows[0]]))
            limits[rows] = self.limits(positions[rows], crit, z)
        return limits

    def limits(self, positions: Iterable[int], crit: float, z: float) -> Array:
        """Limits of parameters that have a usable variance, for a critical value.

        Parameters
        ----------
        positions : iterable of int
        crit : float
            How many standard errors they reach.
        z : float
            Normal quantile of the level.
        """
        positions = [int(k) for k in positions]
        methods = [self.parameters[k].method for k in positions]
        deviations = np.sqrt(self._covariance.diagonal()).tolist()
        limits = np.empty((len(positions), 2))
        for name in dict.fromkeys(methods):
            rows = [row for row, method in enumerate(methods) if method == name]
            tasks = [self._task(positions[k], deviations[positions[k]]) for k in rows]
            limits[rows] = METHODS[name].limits(tasks, crit, z)
        return limits

    def root(self, k: int, null: float, above: bool) -> float | None:
        """Critical value at which the lower limit, or the upper, is at a null.

        NaN if it was not found, and None by methods whose limits must be searched.
        """
        find = METHODS[self.parameters[k].method].root
        if find is None:
            return None
        return find(self._task(k, math.sqrt(self._covariance[k, k])), null, above)

    def _task(self, k: int, deviation: float) -> Task:
        own = self.parameters[k]
        return Task(
            own.trait,
            own.functional,
            own.counts,
            own.estimate,
            deviation,
            1.0 if self.design.simple else float(self.design_effects[k]),
        )

    @property
    def _z(self) -> float:
        return float(ndtri((1 + self.confidence_level) / 2))

    @cached_property
    def usable(self) -> Array:
        """Which parameters have a variance to make an interval of, shape (K,).

        A single row has none of its own; nor has a measure that does not vary. Blurring
        makes up for the latter.
        """
        variances = self._covariance.diagonal().tolist()
        single = self.design.clusters is None
        several = self.design.shows_variance
        usable = []
        for k, own in enumerate(self.parameters):
            enough = several or (own.smoothed and single)
            if not single:
                enough = enough and int(self.n_informative[k]) > 1
            blurred = METHODS[own.method].blurred and variances[k] > 0
            shown = self.sampling.has_spread[k] or blurred or own.ends
            usable.append(enough and shown and not blind(own.functional, own.counts))
        return np.array(usable, dtype=bool)

    @cached_property
    def _covariance(self) -> Array:
        """Sampling covariance and, where a method asks for it, the blurring."""
        blurred = [
            k
            for k, own in enumerate(self.parameters)
            if self.sampling.linear[k] and METHODS[own.method].blurred
        ]
        if not blurred:
            return self.sampling.covariance
        chosen = [self.parameters[k] for k in blurred]
        noise = blurring(
            [self._gradient(own) for own in chosen],
            [own.moments for own in chosen],
            self._z,
            self.n_samples / self.design_effects[blurred],
        )
        return self.sampling.covariance + _padded(noise, blurred, len(self.parameters))

    def _gradient(self, own: Parameter) -> Array:
        """Gradient in moments of all rows."""
        gradient = own.linearised.gradient
        if self.design.strata is None:
            return gradient
        return gradient * (self.n_samples / own.n_samples)

    def _known(self, values: Array) -> Array:
        """Write NaN where a parameter has no linear approximation."""
        values = values.copy()
        unknown = ~np.array(self.sampling.linear, dtype=bool)
        values[unknown] = np.nan
        if values.ndim == 2:
            values[:, unknown] = np.nan
        return values


def _padded(values: Array, positions: list[int], size: int) -> Array:
    """Write zeros around the values of some of so many parameters."""
    if len(positions) == size:
        return values
    total = np.zeros((size, size))
    total[np.ix_(positions, positions)] = values
    return total
