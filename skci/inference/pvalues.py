"""P-values: tail probabilities of the critical values that reach a null.

The statistic of a parameter is the critical value at which its limit is at the null,
and its p-value the probability that the maximum of the standardised estimates exceeds
it. So a p-value is below alpha exactly where the interval excludes the null, whatever
the method, and adjusted p-values are those of joint intervals.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import optimize, special, stats

from skci._arrays import Array
from skci.inference.joint import JointEstimate

__all__ = ["Alternative", "pvalue", "pvalues", "step_down"]

Alternative = Literal["two-sided", "less", "greater"]

_FARTHEST = 37.0
"""Greatest critical value that is searched; its p-value is about 1e-299."""


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
    positions = np.array([position])
    if alternative == "two-sided":
        statistic = _two_sided(joint, positions, null)
        return float(_two_sided_pvalues(joint, positions, statistic)[0])
    greater = alternative == "greater"
    statistic = _statistics(joint, positions, null, np.array([greater]))
    if joint.is_individual:
        return float(stats.norm.sf(_normal(joint, positions, statistic))[0])
    estimate = joint.parameters[position].estimate
    if (estimate > null) != greater or estimate == null:
        return 1.0
    if joint.common_df is None:
        statistic = _normal(joint, positions, statistic)
    return float(joint.law("less").sf(statistic)[0])


def pvalues(joint: JointEstimate, null: float) -> Array:
    """Two-sided p-values of one null value for all parameters, shape (K,)."""
    found = np.ones(len(joint.parameters))
    usable = np.flatnonzero(joint.usable)
    if len(usable):
        statistics = _two_sided(joint, usable, null)
        found[usable] = _two_sided_pvalues(joint, usable, statistics)
    return found


def step_down(joint: JointEstimate, null: float) -> Array:
    """Adjust two-sided p-values by the free step-down procedure of max |z|.

    The parameter farthest from its null is compared with all, the next with all but
    that one, and so on; no p-value is less than one before it (Westfall and Young,
    1993, section 2.6).
    """
    if joint.is_individual:
        return pvalues(joint, null)
    usable = np.flatnonzero(joint.usable)
    found = np.ones(len(joint.parameters))
    statistics = _two_sided(joint, usable, null)
    if joint.common_df is None:
        statistics = _normal(joint, usable, statistics)
    found[usable] = joint.law().step_down(statistics, level=joint.confidence_level)
    return found


def _two_sided(joint: JointEstimate, positions: Array, null: float) -> Array:
    """Critical values at which the nearer limits are at the null; 0 where equal."""
    estimates = joint.estimates[positions]
    statistics = _statistics(joint, positions, null, estimates > null)
    return np.where(estimates == null, 0.0, np.maximum(statistics, 0.0))


def _two_sided_pvalues(
    joint: JointEstimate, positions: Array, statistics: Array
) -> Array:
    """Tail probabilities of statistics, below alpha where the interval excludes."""
    level = joint.confidence_level
    if joint.is_individual or joint.common_df is None:
        statistics = _normal(joint, positions, statistics)
    if not joint.is_individual:
        return joint.law().sf(statistics, level=level)
    alpha, q = 1 - level, float(joint.normal_quantile)
    found = np.minimum(2 * stats.norm.sf(statistics), 1.0)
    below = np.minimum(found, np.nextafter(alpha, 0))
    return np.where(statistics > q, below, np.maximum(found, alpha))


def _normal(joint: JointEstimate, positions: Array, statistics: Array) -> Array:
    """Translate quantiles of t with the degrees of freedom of each parameter."""
    df = joint.sampling.degrees_of_freedom[positions]
    if np.isinf(df).all():
        return statistics
    return np.asarray(stats.norm.isf(stats.t.sf(statistics, df)))


def _statistics(
    joint: JointEstimate, positions: Array, null: float, above: Array
) -> Array:
    """Critical values at which lower limits, or upper ones, are at the null."""
    roots = joint.roots(positions, np.full(len(positions), null), above)
    for row in np.flatnonzero(np.isnan(roots)).tolist():
        roots[row] = _search(joint, int(positions[row]), null, bool(above[row]))
    return roots


def _search(joint: JointEstimate, k: int, null: float, above: bool) -> float:
    """Search for the critical value, with all else at the level of the intervals."""
    if above != (joint.parameters[k].estimate > null):
        return -_search(joint, k, null, not above)
    z = float(special.ndtri((1 + joint.confidence_level) / 2))

    def excess(crit: float) -> float:
        low, high = joint.limits_at([k], crit, z)[0]
        return float(low - null if above else null - high)

    near, far = 0.0, 1.0
    if not excess(near) > 0:
        return near
    while excess(far) > 0:
        near, far = far, 1.5 * far
        if far > _FARTHEST:
            return _FARTHEST
    return float(optimize.brentq(excess, near, far, xtol=1e-10))
