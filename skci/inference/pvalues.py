"""P-values: tail probabilities of the critical values at which limits equal a null.

The statistic of a parameter is the critical value at which its limit equals the null.
The p-value is the probability that the maximum of the standardised estimates exceeds
the statistic. Therefore, for every interval method, the p-value is below alpha exactly
if the interval excludes the null. Joint intervals give adjusted p-values.
"""

import numpy as np
from scipy import optimize, stats

from skci._arrays import Array
from skci.inference.critical.max_distribution import Alternative
from skci.inference.joint import JointEstimate

_NEAREST = 1e-6  # smallest critical value of the search
_FARTHEST = 37.0  # largest critical value of the search; p is about 1e-299


def pvalue(
    joint: JointEstimate,
    position: int,
    null: float,
    alternative: Alternative = "two-sided",
) -> float:
    """Return the p-value for a null value, adjusted if the intervals are joint.

    The p-value is 1 for a parameter without an estimated variance, because the interval
    of such a parameter is its whole range.
    """
    if not joint.has_limits[position]:
        return 1.0
    positions, nulls = np.array([position]), np.array([null])
    parameter, greater = joint.parameters[position], alternative == "greater"
    is_beyond = parameter.estimate > null if greater else parameter.estimate < null
    if parameter.interval_method.for_agreement and alternative != "two-sided":
        if not is_beyond:
            return 1.0
        alternative = "two-sided"  # each side uses the full alpha
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
    """Return the two-sided p-values of all K parameters.

    `null` is the null value of all parameters, or an array of K null values.
    """
    values = np.ones(len(joint.parameters))
    positions, statistics = _defined_statistics(joint, null)
    if len(positions):
        values[positions] = joint.max_distribution().sf(
            statistics, level=joint.confidence_level
        )
    return values


def excludes(joint: JointEstimate, null: float) -> Array:
    """Return a mask of the intervals that exclude a null value.

    The function is faster than computing limits or p-values.
    """
    excluded = np.zeros(len(joint.parameters), dtype=bool)
    positions, statistics = _defined_statistics(joint, null)
    if len(positions):
        excluded[positions] = statistics > joint.max_distribution().quantile(
            joint.confidence_level
        )
    return excluded


def step_down(joint: JointEstimate, null: float) -> Array:
    """Compute two-sided p-values by the free step-down procedure for max |z|.

    The largest statistic is compared with the maximum over all parameters, the second
    largest with the maximum over the remaining parameters, and so on. P-values are
    monotone in the statistics (Westfall and Young, 1993, section 2.6).
    """
    if joint.is_individual:
        return pvalues(joint, null)
    if joint.horizon is not None:
        raise ValueError("adjust must be 'single-step' with a horizon, got 'step-down'")
    values = np.ones(len(joint.parameters))
    positions, statistics = _defined_statistics(joint, null)
    values[positions] = joint.max_distribution().step_down(
        statistics, level=joint.confidence_level
    )
    return values


def signed_statistics(joint: JointEstimate) -> Array:
    """Return signed test statistics of K parameters for the null value 0.

    A statistic has the sign of the estimate. The absolute value is the critical value,
    as a t quantile, at which the interval reaches 0. The statistic is 0 for parameters
    without an estimated variance.
    """
    statistics = np.zeros(len(joint.parameters))
    positions = np.flatnonzero(joint.has_limits)
    if len(positions):
        estimates = joint.estimates[positions]
        roots = statistics_at(joint, positions, np.zeros(len(positions)), estimates > 0)
        statistics[positions] = np.sign(estimates) * np.maximum(roots, 0.0)
    return statistics


def _defined_statistics(
    joint: JointEstimate, null: float | Array
) -> tuple[Array, Array]:
    """Compute test statistics of the parameters with an estimated variance.

    The positions of these parameters are returned first.
    """
    positions = np.flatnonzero(joint.has_limits)
    nulls = np.broadcast_to(null, len(joint.parameters))[positions]
    return positions, _two_sided_statistics(joint, positions, nulls)


def _two_sided_statistics(
    joint: JointEstimate, positions: Array, nulls: Array
) -> Array:
    """Return nonnegative statistics, zero for estimates that equal the null value."""
    estimates = joint.estimates[positions]
    statistics = np.zeros(len(positions))
    distinct = np.flatnonzero(estimates != nulls)
    if len(distinct):
        above = estimates[distinct] > nulls[distinct]
        one_sided = _statistics(joint, positions[distinct], nulls[distinct], above)
        statistics[distinct] = np.maximum(one_sided, 0.0)
    return statistics


def _statistics(
    joint: JointEstimate, positions: Array, nulls: Array, above: Array
) -> Array:
    """Return one-sided test statistics as normal quantiles.

    A test statistic is the critical value at which a confidence limit equals the null
    value. The statistic refers to the lower limit where the mask `above` is true, and
    to the upper limit elsewhere. For joint intervals with a common variance, the
    statistics are multivariate t instead.
    """
    statistics = statistics_at(joint, positions, nulls, above)
    if joint.is_individual or joint.source.common_df is None:
        statistics = joint.to_normal_quantile(statistics, positions)
    return statistics


def statistics_at(
    joint: JointEstimate, positions: Array, nulls: Array, above: Array
) -> Array:
    """Return the critical values at which confidence limits equal null values.

    A critical value is the half width of an interval in standard errors. The critical
    value refers to the lower limit where the mask `above` is true, and to the upper
    limit elsewhere.
    """
    roots = joint.roots(positions, nulls, above)
    for row in np.flatnonzero(np.isnan(roots)):
        position = positions[row : row + 1]
        roots[row] = _search(joint, position, nulls[row], above[row])
    return roots


def _search(joint: JointEstimate, position: Array, null: float, above: bool) -> float:
    """Search for the critical value at which a limit equals the null value."""
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
