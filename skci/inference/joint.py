"""Many parameters on the same rows: estimates, covariance, critical value, intervals.

Nothing is computed before it is looked at, and nothing needs the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtri

from skci._typing import Array
from skci.inference.critical.law import Alternative, CriticalValue, MaximumLaw
from skci.inference.design import Design, blurring, correlation_from
from skci.inference.intervals.methods import METHODS, Task
from skci.inference.parameter import ENOUGH_GROUPS, Parameter
from skci.inference.sampling import Sampling, padded

__all__ = ["JointEstimate"]


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
                own.defined and not (usable and (spread or own.at_end))
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
        if self.common_degrees is not None and not self.alone:
            return self.law().quantile(self.confidence_level)
        best = np.where(self.usable, self.n_informative, -1).argmax()
        wider = self.wider(q, int(best))
        return CriticalValue(wider, q.error * wider / q)

    @cached_property
    def normal_quantile(self) -> CriticalValue:
        """Critical value on the scale of a standard normal estimate.

        An estimate without a usable variance has the whole range for an interval, so
        it takes no part. With common degrees of freedom it is the quantile of the
        multivariate t, translated; with others each parameter translates it for itself.
        """
        if self.alone:
            return CriticalValue(self._z)
        q = self.law().quantile(self.confidence_level)
        if self.common_degrees is None:
            return q
        normal = self.narrower(q, int(np.flatnonzero(self.usable)[0]))
        return CriticalValue(normal, q.error * normal / q)

    @cached_property
    def common_degrees(self) -> float | None:
        """Degrees of freedom that all usable variances have, None if they differ."""
        degrees = self.degrees[self.usable]
        if self.design.clusters is None or not len(degrees):
            return None
        common = float(degrees.max())
        return common if degrees.min() > common * (1 - 1e-9) else None

    def law(self, alternative: Alternative = "two-sided") -> MaximumLaw:
        """Distribution of the maximum of the usable estimates, standardised."""
        laws: dict[str, MaximumLaw] = vars(self).setdefault("_laws", {})
        if alternative not in laws:
            usable = np.flatnonzero(self.usable)
            laws[alternative] = MaximumLaw(
                self.correlation[np.ix_(usable, usable)],
                df=self.common_degrees,
                alternative=alternative,
                random_state=self.random_state,
            )
        return laws[alternative]

    @cached_property
    def alone(self) -> bool:
        """Whether each interval covers for itself, or there is but one."""
        few = len(self.parameters) == 1
        return not self.simultaneous or few or int(self.usable.sum()) < 2

    @cached_property
    def intervals(self) -> Array:
        """Lower and upper limits, shape (K, 2)."""
        limits = np.array([own.trait.bounds for own in self.parameters], dtype=float)
        usable = np.flatnonzero(self.usable)
        if len(usable):
            q = float(self.normal_quantile)
            limits[usable] = self.reached(usable, q, self._z)
        return limits

    def sees_few(self, k: int) -> bool:
        """Whether an interval rests on a variance that few rows tell, and no more."""
        own = self.parameters[k]
        method = METHODS[own.method]
        rests = not (method.smooths or method.blurred)
        asked = (own.partial or not own.trait.blurs) and not own.has_few
        alone = self.design.clusters is None
        return rests and asked and alone and self.sampling.units(own) < ENOUGH_GROUPS

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
        return self._slackened(positions, limits)

    def _slackened(self, positions: Sequence[int], limits: Array) -> Array:
        """Add what the rows leave open."""
        own = [self.parameters[k] for k in positions]
        slack = np.array([one.slack for one in own])
        if slack.any():
            ends = np.array([one.trait.bounds for one in own])
            limits = limits + slack * [-1, 1]
            limits = np.clip(limits, ends[:, :1], ends[:, 1:])
        return limits

    def roots(self, positions: Iterable[int], nulls: Array, above: Array) -> Array:
        """Critical values at which lower limits, or upper ones, are at nulls.

        Parameters
        ----------
        positions : iterable of int
            Parameters that have a usable variance.
        nulls : array
            A null for each.
        above : bool array
            Whether the lower limit is asked for: whether the estimate is above.

        Returns
        -------
        array
            Minus infinity where no limit reaches the null, NaN where it was not found.
        """
        positions = [int(k) for k in positions]
        slack = np.array([self.parameters[k].slack for k in positions]).reshape(-1, 2)
        open_ = np.where(above, slack[:, 0], slack[:, 1])
        nulls = np.where(above, nulls + open_, nulls - open_)
        estimates = self.estimates[positions]
        reached = (open_ == 0) | np.where(above, nulls < estimates, nulls > estimates)
        methods = np.array([self.parameters[k].method for k in positions])
        deviations = np.sqrt(self._covariance.diagonal()).tolist()
        roots = np.full(len(positions), -np.inf)
        for name in dict.fromkeys(methods[reached].tolist()):
            rows = np.flatnonzero(reached & (methods == name))
            chosen = [positions[row] for row in rows]
            tasks = [self._task(k, deviations[k]) for k in chosen]
            roots[rows] = METHODS[name].roots(tasks, nulls[rows], above[rows], self._z)
        return roots

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
            enough = several
            if own.partial:
                enough = self.sampling.units(own) > 1 and self._parts_vary(own)
            enough = enough or (own.smoothed and single)
            if not single:
                enough = enough and round(self.n_informative[k]) > 1
            blurred = METHODS[own.method].blurred and variances[k] > 0
            shown = self.sampling.has_spread[k] or blurred or own.at_end
            usable.append(enough and shown)
        return np.array(usable, dtype=bool)

    def _parts_vary(self, own: Parameter) -> bool:
        """Whether rows show a variance of each part of a contrast that sees some only.

        Where a method adds rows or blurs, they need not.
        """
        method = METHODS[own.method]
        if method.smooths or method.blurred:
            return True
        parts = [replace(s, method=own.method) for s in own.sources if s.partial]
        varied = Sampling(tuple(parts), self.design).has_spread
        return all(v or part.at_end for v, part in zip(varied, parts, strict=True))

    @cached_property
    def _covariance(self) -> Array:
        """Sampling covariance, and what stands for what the rows cannot show."""
        return self.sampling.covariance + np.diag(self._unseen) + self._blurring

    @property
    def _unseen(self) -> Array:
        """Variances for what is at an end of its range: areas, classes, (K,).

        Such that z standard errors reach as far from there as Wilson's interval of as
        many successes as there are rows to know it from. They are combined by squaring
        and adding (Newcombe, 1998).
        """
        z, variances = self._z, np.zeros(len(self.parameters))
        for k, own in enumerate(self.parameters):
            for slope, rows in own.ended:
                worth = rows / self.design_effects[k]
                variances[k] += (slope * z / (worth + z**2)) ** 2
        return variances

    @property
    def _blurring(self) -> Array:
        """Covariance of the blurring, for the methods that ask for it."""
        blurred = [
            k
            for k, own in enumerate(self.parameters)
            if self.sampling.linear[k] and METHODS[own.method].blurred
        ]
        if not blurred:
            return np.zeros((len(self.parameters),) * 2)
        chosen = [self.parameters[k] for k in blurred]
        noise = blurring(
            [self._gradient(own) for own in chosen],
            [own.moments for own in chosen],
            self._z,
            self.n_samples / self.design_effects[blurred],
        )
        return padded(noise, blurred, len(self.parameters))

    def _gradient(self, own: Parameter) -> Array:
        """Gradient in moments of all rows."""
        return own.linearised.gradient * self.sampling.growth(own)

    def _known(self, values: Array) -> Array:
        """Write NaN where a parameter has no linear approximation."""
        values = values.copy()
        unknown = ~np.array(self.sampling.linear, dtype=bool)
        values[unknown] = np.nan
        if values.ndim == 2:
            values[:, unknown] = np.nan
        return values
