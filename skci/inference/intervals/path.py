r"""Newton's method on the path of constrained maxima of a multinomial likelihood.

The maxima of the likelihood subject to ``g(p) = M`` form a path as M varies. With
multiplier :math:`\lambda` and influence values L they satisfy

.. math:: p_i w_i = f_i, \qquad w_i = 1 + \lambda L_i(p) > 0,

where f are the observed proportions: multiplying the score equations by p and adding
them up eliminates the multiplier of ``sum p = 1``. The path starts at ``p = f`` with
:math:`\lambda = 0`. Newton's method treats p and w as separate unknowns and keeps both
positive, as a primal-dual interior point method, so empty cells need no special care.
One more equation selects a point of the path: ``g(p) = M``, or ``sqrt(S) = tau`` for
the statistic S, which yields a confidence limit without a search over M. The changes
of a step are in `newton_change`.

References
----------
Aitchison and Silvey (1958), Annals of Mathematical Statistics 29, 813-828.

Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.
"""

from dataclasses import dataclass, replace

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.newton_change import (
    TOLERANCE,
    PathPoint,
    change,
    change_of_strata,
)
from skci.inference.intervals.problem import Problem
from skci.inference.intervals.statistic import normalise

_MAX_STEPS = 12


@dataclass
class ProfilePoint(PathPoint):
    """Point of the path, with the profile there."""

    value: Array
    root: Array
    """Square root of the statistic."""
    tangent: Array
    """Derivative of the value with respect to the root along the path."""
    is_maximum: Array
    """Whether the constrained likelihood has a maximum and not a saddle."""


def newton(
    problem: Problem, index: Array, f: Array, x: PathPoint, target: Array, by_root: bool
) -> tuple[ProfilePoint, Array]:
    """Points of the path of samples `index` at targets, and which of them converged.

    A target is a value of ``problem.evaluate``, or a root of the statistic. Proportions
    f may differ from those of the samples; x are starting points.
    """
    rows = np.arange(len(index))
    converged = np.zeros(len(index), dtype=bool)
    for _ in range(_MAX_STEPS):
        x, size = _step(problem, index, f, x, target, by_root)
        if len(rows) == len(converged):
            points = x
        else:
            points[rows] = x
        going = (size >= TOLERANCE) & (size < np.inf)
        if not going.all():
            converged[rows] = size < TOLERANCE
            if not going.any():
                break
            rows, index, f = rows[going], index[going], f[going]
            x, target = x[going], target[going]
    return points, converged


def _step(
    problem: Problem, index: Array, f: Array, x: PathPoint, target: Array, by_root: bool
) -> tuple[ProfilePoint, Array]:
    """Damped Newton step and its relative size before damping; infinite if singular."""
    if problem.mixed is None:
        found = change(problem, index, f, x, target, by_root)
    else:
        x = replace(x, p=problem.mixed.with_totals(x.p, f))
        found = change_of_strata(problem, index, f, x, target, by_root)
    dp = found.p
    dw = f / x.p / x.w - 1 - dp
    size = np.maximum(np.abs(dp), np.abs(dw)).max(-1)
    decrease = -(np.minimum(dp, dw) / problem.max_decrease[index]).min(-1)
    damping = 1 / np.maximum(decrease, 1)
    new = ProfilePoint(
        p=normalise(x.p + x.p * damping[:, np.newaxis] * dp),
        w=x.w + x.w * damping[:, np.newaxis] * dw,
        multiplier=x.multiplier + (damping * found.multiplier)[:, np.newaxis],
        value=found.value[0] + damping * found.value[1],
        root=found.root[0] + damping * found.root[1],
        tangent=found.tangent,
        is_maximum=found.is_maximum,
    )
    return new, np.where(found.is_finite & np.isfinite(size), size, np.inf)
