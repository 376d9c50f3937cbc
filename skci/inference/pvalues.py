"""P-values: the smallest alpha whose interval excludes the null.

So a p-value and an interval never disagree, whatever the method, and adjusted p-values
are those of joint intervals.
"""

from __future__ import annotations

import bisect
import warnings
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import optimize, stats

from skci._arrays import Array
from skci.exceptions import CriticalValueWarning
from skci.inference.joint import JointEstimate

__all__ = ["Alternative", "pvalue", "pvalues", "step_down"]

Alternative = Literal["two-sided", "less", "greater"]

_NODES = (0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5)
"""Normal quantiles of the levels at which critical values are computed if needed."""
_STEEP = 0.5
"""The same below which the curve of critical values is steep."""
_APART = 0.1
"""Least distance of the others from the level of the intervals, beyond any error."""
_TOLERANCE = 4e-3
"""Numerical error of those critical values from 2 on; p-values are known to a few
percent, large ones to two digits."""
_LOWEST = -2.0
"""The same of one-sided levels; a p-value beyond it is 1."""
_FARTHEST = 37.0
"""Normal quantile of the smallest p-value."""
_HIGHEST = 1 - np.finfo(float).eps
"""Highest level whose normal quantile is finite; the blurring grows up to it."""


def pvalue(
    joint: JointEstimate,
    position: int,
    null: float,
    alternative: Alternative = "two-sided",
) -> float:
    """P-value of a null value, adjusted if the intervals are joint.

    It is 1 for a parameter without a usable variance: its interval excludes nothing.
    """
    if not joint.usable[position]:
        return 1.0
    return _Search(joint, alternative).pvalue(position, null)


def pvalues(joint: JointEstimate, null: float) -> Array:
    """Two-sided p-values of one null value for all parameters, shape (K,)."""
    search = _Search(joint, "two-sided")
    usable = joint.usable.tolist()
    positions = range(len(usable))
    return np.array([search.pvalue(k, null) if usable[k] else 1.0 for k in positions])


class _Search:
    """Looks for the alpha at which the limit of an interval is at the null."""

    def __init__(self, joint: JointEstimate, alternative: Alternative) -> None:
        self.joint = joint
        self.sides = 2 if alternative == "two-sided" else 1
        self.alternative = alternative
        self._values: dict[float, float] = {}

    def pvalue(self, k: int, null: float) -> float:
        estimate = self.joint.parameters[k].estimate
        above = estimate > null
        if self.sides == 2:
            if estimate == null:
                return 1.0
            return min(self.alpha(self.quantile(k, null, above)), 1.0)
        greater = self.alternative == "greater"
        if above == greater and estimate != null:
            return self.alpha(self.quantile(k, null, above))
        if not self.alone:
            return 1.0
        root = self.joint.root(k, null, greater)
        if root is not None and not np.isnan(root):
            return self.alpha(self.joint.to_normal_quantile(root, k))
        if estimate == null:
            return 0.5
        return 1 - self.alpha(self.quantile(k, null, above))

    def alpha(self, z: float) -> float:
        """Level that has this normal quantile."""
        return float(self.sides * stats.norm.sf(z))

    @property
    def alone(self) -> bool:
        return self.joint.is_individual

    def quantile(self, k: int, null: float, above: bool) -> float:
        """Find the normal quantile of the level whose limit is at the null."""
        root = self.joint.root(k, null, above)
        if root is not None and not np.isnan(root):
            return self.at_critical_value(self.joint.to_normal_quantile(root, k))

        def beyond(z: float) -> float:
            level = np.clip(1 - 2 * float(stats.norm.sf(z)), 0.0, _HIGHEST)
            joint = self.joint.at(float(level))
            crit = self.joint.to_t_quantile(self.critical_value(z), k)
            low, high = joint.limits_at([k], crit, z)[0]
            return float(low - null if above else null - high)

        near, far = 0.0, 1.0
        if not beyond(near) > 0:
            near, far = self.lowest, near
            if not beyond(near) > 0:
                return near if near == 0 else -np.inf
        while beyond(far) > 0:
            near, far = far, 1.5 * far
            if far > _FARTHEST:
                return _FARTHEST
        return float(optimize.brentq(beyond, near, far, xtol=1e-10))

    # The critical value as a function of the normal quantile of the level: computed
    # at nodes, that of the intervals among them. In between, the difference of the
    # squares is on a line; where the curve is steep, the critical value itself.

    @property
    def lowest(self) -> float:
        """Normal quantile of the lowest level: one-sided, all may hold at 0."""
        return 0.0 if self.sides == 2 or self.alone else _LOWEST

    @cached_property
    def _own(self) -> float:
        return float(stats.norm.isf((1 - self.joint.confidence_level) / self.sides))

    @cached_property
    def _nodes(self) -> list[float]:
        others = (*(-z for z in _NODES), 0.0, *_NODES)
        apart = (z for z in others if z > self.lowest and abs(z - self._own) > _APART)
        return sorted({self.lowest, self._own, *map(float, apart)})

    def critical_value(self, z: float) -> float:
        """Critical value at the level of a normal quantile."""
        if self.alone:
            return z
        k = bisect.bisect_right(self._nodes, z)
        if k == len(self._nodes):
            return float(np.sqrt(z**2 + self._gap))
        k = max(k, 1)
        left, right = self._nodes[k - 1 : k + 1]
        share = (z - left) / (right - left)
        low, high = self._at_node(left), self._at_node(right)
        if left < _STEEP:
            return (1 - share) * low + share * high
        gap = (1 - share) * (low**2 - left**2) + share * (high**2 - right**2)
        return float(np.sqrt(z**2 + gap))

    def at_critical_value(self, crit: float) -> float:
        """Find the normal quantile of the level that has this critical value."""
        if self.alone:
            return min(crit, _FARTHEST)
        k = bisect.bisect_right(self._nodes, crit, key=self._at_node)
        if k == len(self._nodes):
            return float(min(np.sqrt(crit**2 - self._gap), _FARTHEST))
        if k == 0:
            return -np.inf
        left, right = self._nodes[k - 1 : k + 1]
        low, high = self._at_node(left), self._at_node(right)
        if left < _STEEP:
            return left + (right - left) * (crit - low) / (high - low)
        near, far = low**2 - left**2, high**2 - right**2
        slope = (far - near) / (right - left)  # of the gap; what is left is quadratic
        constant = near - slope * left - crit**2
        return float(-slope / 2 + np.sqrt(slope**2 / 4 - constant))

    @property
    def _gap(self) -> float:
        """Difference of the squares; far out it stays, as Bonferroni's does."""
        last = self._nodes[-1]
        return self._at_node(last) ** 2 - last**2

    def _at_node(self, z: float) -> float:
        if z not in self._values:
            self._values[z] = self._critical_value(z)
        return self._values[z]

    def _critical_value(self, z: float) -> float:
        if self.sides == 2 and z == self._own:  # so that they agree with intervals
            return float(self.joint.normal_quantile)
        if self.sides == 2 and z == 0:
            return 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CriticalValueWarning)
            value = self.joint.at(1 - self.alpha(z)).quantile(
                alternative="two-sided" if self.sides == 2 else "less",
                tol=_TOLERANCE * (2 / float(np.clip(z, 0.2, 2))) ** 2,
            )
        return float(value)


def step_down(joint: JointEstimate, null: float) -> Array:
    """Adjust two-sided p-values by the free step-down procedure of max |z|.

    The parameter farthest from its null is compared with all, the next with all but
    that one, and so on; no p-value is less than one before it (Westfall and Young,
    1993).
    """
    order = np.argsort(pvalues(joint.individual(), null), kind="stable")
    found = np.ones(len(order))
    least = 0.0
    for position, k in enumerate(order.tolist()):
        if least < 1:
            remaining = joint.select(order[position:].tolist())
            least = max(least, pvalue(remaining, 0, null))
        found[k] = least
    return found
