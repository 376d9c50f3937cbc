"""P-values: tail probabilities of the critical values that reach a null.

The statistic of a parameter is the critical value at which its limit is at the null,
and its p-value the probability that the maximum of the standardised estimates exceeds
it. So a p-value is below alpha exactly where the interval excludes the null, whatever
the method, and adjusted p-values are those of joint intervals.
"""

import numpy as np
from scipy import optimize, stats

from skci._arrays import Array
from skci.inference.critical.max_distribution import Alternative
from skci.inference.joint import JointEstimate

_NEAREST = 1e-6  # least critical value searched
_FARTHEST = 37.0  # greatest critical value searched; p is about 1e-299


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
    positions, nulls = np.array([position]), np.array([null])
    parameter, greater = joint.parameters[position], alternative == "greater"
    is_beyond = parameter.estimate > null if greater else parameter.estimate < null
    if parameter.interval_method.for_agreement and alternative != "two-sided":
        if not is_beyond:
            return 1.0
        alternative = "two-sided"  # either side may have all of alpha
    if alternative == "two-sided":
        statistics = _two_sided_statistics(joint, positions, nulls)
        return float(
            joint.max_distribution().sf(statistics, level=joint.confidence_level)[0]
        )
    statistic = _statistics(joint, positions, nulls, np.array([greater]))
    if joint.is_individual and joint.horizon is None:
        return float(stats.norm.sf(statistic)[0])
    if not is_beyond:
        return 1.0
    return float(joint.max_distribution("less").sf(statistic)[0])


def pvalues(joint: JointEstimate, null: float | Array) -> Array:
    """Two-sided p-values of a null value for all parameters, or of one each, (K,)."""
    found = np.ones(len(joint.parameters))
    usable, statistics = _usable_statistics(joint, null)
    if len(usable):
        found[usable] = joint.max_distribution().sf(
            statistics, level=joint.confidence_level
        )
    return found


def excludes(joint: JointEstimate, null: float) -> Array:
    """Which intervals exclude a null value, without their limits, (K,).

    Where the p-value is below alpha, without its computation.
    """
    excluded = np.zeros(len(joint.parameters), dtype=bool)
    usable, statistics = _usable_statistics(joint, null)
    if len(usable):
        excluded[usable] = statistics > joint.max_distribution().quantile(
            joint.confidence_level
        )
    return excluded


def step_down(joint: JointEstimate, null: float) -> Array:
    """Adjust two-sided p-values by the free step-down procedure of max |z|.

    The parameter farthest from its null is compared with all, the next with all but
    that one, and so on; no p-value is less than one before it (Westfall and Young,
    1993, section 2.6).
    """
    if joint.is_individual:
        return pvalues(joint, null)
    found = np.ones(len(joint.parameters))
    usable, statistics = _usable_statistics(joint, null)
    found[usable] = joint.max_distribution().step_down(
        statistics, level=joint.confidence_level
    )
    return found


def signed_statistics(joint: JointEstimate) -> Array:
    """Critical values at which intervals reach 0, with the signs of estimates, (K,).

    Quantiles of t with the degrees of freedom of each; 0 without a usable variance.
    """
    statistics = np.zeros(len(joint.parameters))
    usable = np.flatnonzero(joint.usable)
    if len(usable):
        estimates = joint.estimates[usable]
        found = statistics_at(joint, usable, np.zeros(len(usable)), estimates > 0)
        statistics[usable] = np.sign(estimates) * np.maximum(found, 0.0)
    return statistics


def _usable_statistics(
    joint: JointEstimate, null: float | Array
) -> tuple[Array, Array]:
    """Positions of parameters with a usable variance, and their statistics."""
    usable = np.flatnonzero(joint.usable)
    nulls = np.broadcast_to(null, len(joint.parameters))[usable]
    if not len(usable):
        return usable, np.zeros(0)
    return usable, _two_sided_statistics(joint, usable, nulls)


def _two_sided_statistics(
    joint: JointEstimate, positions: Array, nulls: Array
) -> Array:
    """Statistics of the nearer limits; 0 where an estimate is at its null."""
    estimates = joint.estimates[positions]
    statistics = np.zeros(len(positions))
    off = np.flatnonzero(estimates != nulls)
    if len(off):
        above = estimates[off] > nulls[off]
        found = _statistics(joint, positions[off], nulls[off], above)
        statistics[off] = np.maximum(found, 0.0)
    return statistics


def _statistics(
    joint: JointEstimate, positions: Array, nulls: Array, above: Array
) -> Array:
    """Critical values at which lower limits, or upper ones, are at nulls.

    Normal quantiles, or those of the multivariate t of joint intervals.
    """
    found = statistics_at(joint, positions, nulls, above)
    if joint.is_individual or joint.common_df is None:
        found = joint.to_normal_quantile(found, positions)
    return found


def statistics_at(
    joint: JointEstimate, positions: Array, nulls: Array, above: Array
) -> Array:
    """Critical values in standard errors at which limits are at nulls."""
    roots = joint.roots(positions, nulls, above)
    for row in np.flatnonzero(np.isnan(roots)):
        position = positions[row : row + 1]
        roots[row] = _search(joint, position, nulls[row], above[row])
    return roots


def _search(joint: JointEstimate, position: Array, null: float, above: bool) -> float:
    """Search for the critical value, with all else at the level of the intervals."""
    if above != (joint.estimates[position] > null):
        return -_search(joint, position, null, not above)

    def excess(crit: float) -> float:
        low, high = joint.limits_at(position, np.array([[crit, crit]]), joint.z)[0]
        return float(low - null if above else null - high)

    near, far = _NEAREST, 1.0
    if not excess(near) > 0:
        return 0.0
    while excess(far) > 0:
        near, far = far, 1.5 * far
        if far > _FARTHEST:
            return np.inf
    return float(optimize.brentq(excess, near, far, xtol=1e-10))
