r"""Newton's method on the path of constrained maxima of a multinomial likelihood.

The maxima of the likelihood subject to ``g(p) = M`` form a path as M varies. With
multiplier :math:`\lambda` and influence values L they satisfy

.. math:: p_i w_i = f_i, \qquad w_i = 1 + \lambda L_i(p) > 0,

where f are the observed proportions: multiplying the score equations by p and adding
them up eliminates the multiplier of ``sum p = 1``. The path starts at ``p = f`` with
:math:`\lambda = 0`. Newton's method treats p and w as separate unknowns and keeps both
positive, as a primal-dual interior point method, so empty cells need no special care.
One more equation selects a point of the path: ``g(p) = M``, or ``sqrt(S) = tau`` for
the statistic S, which yields a confidence limit without a search over M.

References
----------
Aitchison and Silvey (1958), Annals of Mathematical Statistics 29, 813-828.

Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.statistic import Samples, normalise
from skci.measures.functional import Functional
from skci.measures.functions import EDGE

# Detection of undefined and infinite estimates.
_TINY_COUNT = 1e-80  # added to cells; an estimate that depends on it is undefined
_INFINITE = 1e25  # estimates beyond this are infinite: a division by _TINY_COUNT

# Newton's method.
_DIFFERENCE = 1e-5  # relative step of the forward differences in the Jacobian
_TOLERANCE = 3e-5  # relative size of the last step; the error is about its square
_MAX_DECREASE = (0.9, 0.97)  # of p and w in a step; the latter in empty cells
_MAX_STEPS = 12


class Problem:
    """Functionals of samples, on the scale on which the path is computed.

    A functional with range (a, inf) is replaced by ``log(g - a)``, for which Newton's
    method converges better; the statistic is invariant.

    Sample j has the functional ``functionals[which[j]]`` with range ``bounds[j]``;
    `which` ascends, so that a functional is evaluated for all its samples at once.
    """

    def __init__(
        self,
        samples: Samples,
        functionals: Sequence[Functional],
        which: Array,
        bounds: Array,
    ) -> None:
        self.samples, self.bounds = samples, bounds
        self._functionals, self._which = functionals, which
        counts = samples.counts
        cells = counts.shape[-1]
        self.max_decrease = np.where(counts > 0, *_MAX_DECREASE)
        self.differences = 1 + _DIFFERENCE * np.eye(cells + 1, cells, -1)
        finite: Array = np.abs(bounds) < np.inf
        self._bounded = finite[:, 0] & finite[:, 1]
        self._log = finite[:, 0] & ~finite[:, 1]
        self._any_log = bool(self._log.any())

        # Two different tiny additions, and two observations spread over all cells.
        tiny = _TINY_COUNT * np.stack([np.ones(cells), 1 + np.arange(cells)])
        added = np.vstack([tiny, np.full(cells, 2 / cells)])
        p = normalise(counts[:, np.newaxis] + added)
        every = np.arange(len(counts))
        value, influence = self.evaluate(every, p)
        self._estimates = self.to_functional(every[:, np.newaxis], value[:, :2])
        self.estimate = self._estimates[:, 0]
        self.interior, self.interior_value, self.interior_influence = (
            each[:, 2] for each in (p, value, influence)
        )
        variance = (self.interior * self.interior_influence**2).sum(-1)
        self.standard_error = np.sqrt(variance / samples.n)

    def evaluate(self, index: Array, p: Array) -> tuple[Array, Array]:
        """Values, or their logs, and influence values at p of shape (K, k, m)."""
        which = self._which[index]
        if which[0] == which[-1]:
            value, influence, _ = self._functionals[which[0]](p)
        else:
            every = np.arange(len(self._functionals) + 1)
            slices = pairwise(np.searchsorted(which, every).tolist())
            pairs = zip(self._functionals, slices, strict=True)
            results = [g(p[start:end])[:2] for g, (start, end) in pairs if start < end]
            value, influence = map(np.concatenate, zip(*results, strict=True))
        if not self._any_log:
            return value, influence
        log = self._log[index, np.newaxis]
        above = value - self.bounds[index, :1]
        value = np.where(log, np.log(above), value)
        return value, influence / np.where(log, above, 1)[..., np.newaxis]

    def to_functional(self, index: Array, value: Array) -> Array:
        """Values of the functionals from those of `evaluate`."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.exp(value) + low, value)

    def from_functional(self, index: Array, value: Array) -> Array:
        """Inverse of `to_functional`."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.log(value - low), value)

    def to_line(self, index: Array, value: Array) -> Array:
        """Map to the real line: by logit, log, or arsinh of standard errors."""
        low, high = self.bounds[index].T
        z = (value - self.interior_value[index]) / self.standard_error[index]
        unbounded = np.where(self._log[index], value, np.arcsinh(z))
        logit = np.log((value - low) / (high - value))
        return np.where(self._bounded[index], logit, unbounded)

    def from_line(self, index: Array, x: Array) -> Array:
        """Inverse of `to_line`."""
        low, high = self.bounds[index].T
        shifted = self.interior_value[index] + np.sinh(x) * self.standard_error[index]
        unbounded = np.where(self._log[index], x, shifted)
        return np.where(self._bounded[index], low + (high - low) * expit(x), unbounded)

    def has_interior_limit(self) -> Array:
        """Whether a limit has to be computed, shape (J, 2).

        Not where the estimate lies on that boundary of the range, nor where it is
        undefined, that is, depends on tiny additions to the cells.
        """
        first, second = self._estimates.T
        defined = np.abs(first - second) <= EDGE**0.5 * (1 + np.abs(first))
        infinite = self._estimates.min(-1) > _INFINITE
        low, high = self.bounds.T
        edge = EDGE * np.where(self._bounded, high - low, 1)
        off_boundary = np.array([first > low + edge, (first < high - edge) & ~infinite])
        result: Array = off_boundary & (defined | infinite)
        return result.T


class Batch:
    """Arrays with common leading axes, indexed like one array."""

    def __getitem__(self, index: Any) -> Self:
        return type(self)(*[each[index] for each in vars(self).values()])

    def __setitem__(self, index: Any, new: Self) -> None:
        for name, each in vars(self).items():
            each[index] = vars(new)[name]


@dataclass
class PathPoint(Batch):
    """Unknowns of Newton's method: probabilities p, weights w and multiplier."""

    p: Array
    w: Array
    multiplier: Array
    """The last axis has length one."""


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
        going = (size >= _TOLERANCE) & (size < np.inf)
        if not going.all():
            converged[rows] = size < _TOLERANCE
            if not going.any():
                break
            rows, index, f = rows[going], index[going], f[going]
            x, target = x[going], target[going]
    return points, converged


def _step(
    problem: Problem, index: Array, f: Array, x: PathPoint, target: Array, by_root: bool
) -> tuple[ProfilePoint, Array]:
    """Damped Newton step and its relative size before damping; infinite if singular.

    The unknowns of the linear system are the relative changes of p and the change of
    the multiplier.
    """
    p, w, multiplier = x.p, x.w, x.multiplier
    cells = p.shape[-1]
    nearby = normalise(p[:, np.newaxis] * problem.differences)
    value, influence = problem.evaluate(index, nearby)
    root = problem.samples.root(index, nearby, influence)
    value_slope = influence[:, 0] * p
    root_slope = (root[:, 1:] - root[:, :1]) / _DIFFERENCE
    constraint = root_slope if by_root else value_slope
    jacobian, sign = _jacobian(w, multiplier, influence, constraint, not by_root)

    ratio = f / p
    right = np.zeros((len(p), cells + 1, 2))
    right[:, :cells, 0] = ratio - 1 - multiplier * influence[:, 0]
    right[:, cells, 0] = target - (root if by_root else value)[:, 0]
    right[:, cells, 1] = 1  # change of the target by one: the tangent of the path
    solution, solvable = _solve(jacobian, right)
    dp, along = solution[:, :cells, 0], solution[:, :cells, 1]
    dw = ratio / w - 1 - dp
    size = np.maximum(np.abs(dp), np.abs(dw)).max(-1)
    decrease = -(np.minimum(dp, dw) / problem.max_decrease[index]).min(-1)
    damping = 1 / np.maximum(decrease, 1)[:, np.newaxis]
    dp = damping * dp
    if by_root and (size < _TOLERANCE).any():
        sign = np.linalg.slogdet(jacobian)[0]
    tangent = (value_slope * along).sum(-1) / (root_slope * along).sum(-1)
    new = ProfilePoint(
        p=normalise(p + p * dp),
        w=w + w * damping * dw,
        multiplier=multiplier + damping * solution[:, cells, :1],
        value=value[:, 0] + (value_slope * dp).sum(-1),
        root=root[:, 0] + (root_slope * dp).sum(-1),
        tangent=tangent,
        # By Cramer's rule the two determinants differ by the tangent as a factor.
        is_maximum=(sign * tangent if by_root else sign) < 0,
    )
    return new, np.where(solvable & np.isfinite(size), size, np.inf)


def _jacobian(
    w: Array, multiplier: Array, influence: Array, constraint: Array, by_value: bool
) -> tuple[Array, Array]:
    """Jacobian of the equations of the path, and the sign of its determinant.

    The sign is computed by value only: positive at a saddle of the likelihood, where
    leaving out the curvature keeps Newton's method from converging to it.
    """
    count, cells = w.shape
    differences = (influence[:, 1:] - influence[:, :1]) / _DIFFERENCE
    curvature = multiplier[..., np.newaxis] * differences.swapaxes(1, 2)
    jacobian = np.zeros((count, cells + 1, cells + 1))
    jacobian[:, :cells, :cells] = curvature
    diagonal = jacobian.reshape(count, -1)[:, : -1 : cells + 2]
    diagonal += w
    jacobian[:, :cells, cells] = influence[:, 0]
    jacobian[:, cells, :cells] = constraint
    sign: Array = np.full(count, np.nan)
    if by_value:
        sign = np.linalg.slogdet(jacobian)[0]
        if (sign > 0).any():
            jacobian[sign > 0, :cells, :cells] -= curvature[sign > 0]
    return jacobian, sign


def _solve(matrix: Array, right: Array) -> tuple[Array, Array]:
    """Solutions of linear systems, and which of the systems are finite."""
    finite: Array = np.isfinite(matrix.sum((1, 2)) + right.sum((1, 2)))
    if not finite.all():
        keep = finite[:, np.newaxis, np.newaxis]
        matrix = np.where(keep, matrix, np.eye(matrix.shape[-1]))
        right = np.where(keep, right, 0)
    try:
        return np.linalg.solve(matrix, right), finite
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix) @ right, finite
