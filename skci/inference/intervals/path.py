"""The curve of constrained maxima of a functional, by Newton's method.

The constrained maxima (Aitchison and Silvey, 1958) form a curve. With a multiplier
lambda they solve, as the weights of empirical likelihood do (Owen, 2001),

    p_i w_i = f_i,    w_i = 1 + lambda L_i(p) > 0,    f proportional to c,

because multiplying the score equations by p and adding up leaves no multiplier for
``sum p = 1``. The curve starts at ``p = f`` with ``lambda = 0``. Newton's method finds
its points, with p and w as separate unknowns that both stay positive: a primal-dual
interior point method, which does not mind empty cells. The last equation says which
point: either ``g(p) = M``, or ``sqrt(S) = tau``, and then the limit itself is found
without a search over M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit

from skci._typing import Array
from skci.inference.intervals.statistic import Samples, normalised
from skci.measures.functional import Functional
from skci.measures.registry import EDGE

__all__ = [
    "Array",
    "Places",
    "Points",
    "Problem",
    "Rows",
    "newton",
]


# Where a functional is defined.
_NOTHING = 1e-80  # rows added to tell a value at empty cells from an undefined one
_INFINITE = 1e25  # estimates beyond this are infinite: they divide by _NOTHING

# Newton's method.
_DIFFERENCE = 1e-5  # relative step of the forward differences in the Jacobian
_TOLERANCE = 3e-5  # relative length of a last step; what is left is about its square
_BOLD = (0.9, 0.97)  # most that a step takes of p or w; the latter in empty cells
_ITERATIONS = 12  # steps before giving up


class Problem:
    """Functionals of samples, and how to evaluate them.

    Where the range is (a, inf) the functional is replaced by ``log(g - a)``, which
    Newton's method likes better and the statistic does not notice.

    Parameters
    ----------
    samples : Samples
    functionals : sequence of callables
        Each is evaluated for all its samples at once.
    which : array of shape (J,)
        Which is the functional of each sample, ascending.
    bounds : array of shape (J, 2)
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
        self.most = np.where(counts > 0, *_BOLD)
        self.nudges = 1 + _DIFFERENCE * np.eye(cells + 1, cells, -1)
        finite: Array = np.abs(bounds) < np.inf
        self.bounded = finite[:, 0] & finite[:, 1]
        self.log = finite[:, 0] & ~finite[:, 1]
        self._any_log = bool(self.log.any())

        # Nothing in the empty cells, in two ways; and two rows spread over all cells.
        ways = _NOTHING * np.stack([np.ones(cells), 1 + np.arange(cells)])
        rows = counts[:, np.newaxis] + np.vstack([ways, np.full(cells, 2 / cells)])
        p = normalised(rows)
        everyone = np.arange(len(counts))
        value, influence = self.evaluate(everyone, p)
        self.estimate = self.on_scale(everyone[:, np.newaxis], value[:, :2])
        self.inner, self.inner_value, self.inner_slope = (
            each[:, 2] for each in (p, value, influence)
        )
        variance = (self.inner * self.inner_slope**2).sum(-1)
        self.inner_error = np.sqrt(variance / samples.n)

    def raw(self, owner: Array, p: Array) -> tuple[Array, Array]:
        """Values and influence values of functionals `owner`, in order, at p."""
        which = self._which[owner]
        if which[0] == which[-1]:
            return self._functionals[which[0]](p)[:2]
        value, influence = np.empty(p.shape[:-1]), np.empty(p.shape)
        ends = np.searchsorted(which, np.arange(len(self._functionals) + 1)).tolist()
        for functional, first, last in zip(
            self._functionals, ends, ends[1:], strict=False
        ):
            if first < last:
                part = slice(first, last)
                value[part], influence[part], _ = functional(p[part])
        return value, influence

    def evaluate(self, owner: Array, p: Array) -> tuple[Array, Array]:
        """Values, or their logarithms, and influence values at (owners, points, m)."""
        value, influence = self.raw(owner, p)
        if not self._any_log:
            return value, influence
        log = self.log[owner, np.newaxis]
        above = value - self.bounds[owner, :1]
        value = np.where(log, np.log(above), value)
        return value, influence / np.where(log, above, 1)[..., np.newaxis]

    def on_scale(self, owner: Array, value: Array) -> Array:
        """From values as `evaluate` gives them to those of the functionals."""
        low = self.bounds[owner, 0]
        return np.where(self.log[owner], np.exp(value) + low, value)

    def off_scale(self, owner: Array, value: Array) -> Array:
        """Inverse of `on_scale`."""
        low = self.bounds[owner, 0]
        return np.where(self.log[owner], np.log(value - low), value)

    def line(self, owner: Array, value: Array) -> Array:
        """From values to a scale without ends: logit, log, or arsinh of the errors."""
        low, high = self.bounds[owner].T
        errors = (value - self.inner_value[owner]) / self.inner_error[owner]
        free = np.where(self.log[owner], value, np.arcsinh(errors))
        logit = np.log((value - low) / (high - value))
        return np.where(self.bounded[owner], logit, free)

    def off_line(self, owner: Array, place: Array) -> Array:
        """Inverse of `line`."""
        low, high = self.bounds[owner].T
        errors = np.sinh(place) * self.inner_error[owner]
        free = np.where(self.log[owner], place, self.inner_value[owner] + errors)
        return np.where(self.bounded[owner], low + (high - low) * expit(place), free)

    def end(self, owner: Array, side: Array) -> Array:
        """Give the ends of the ranges as values of `evaluate`."""
        end = self.bounds[owner, (side > 0).astype(int)]
        return np.where(self.log[owner], side * np.inf, end)

    def has_limits(self) -> Array:
        """Whether a limit is to be looked for, shape (J, 2).

        Not where the estimate is at that end of the range, and not where it is
        undefined: where it depends on how nothing is spread over the cells.
        """
        one, other = self.estimate.T
        same = np.abs(one - other) <= EDGE**0.5 * (1 + np.abs(one))
        infinite = self.estimate.min(-1) > _INFINITE
        low, high = self.bounds.T
        below = (one < high - EDGE) & ~infinite
        inside: Array = np.array([one > low + EDGE, below]) & (same | infinite)
        return inside.T


class Rows:
    """Arrays with a common first axis or more."""

    def take(self, rows: Any) -> Self:
        """Take some of the rows."""
        return type(self)(*[each[rows] for each in vars(self).values()])

    __getitem__ = take

    def put(self, rows: Any, others: Self) -> None:
        """Overwrite some of the rows."""
        for mine, other in zip(vars(self).values(), vars(others).values(), strict=True):
            mine[rows] = other

    def fold(self, shape: tuple[int, ...]) -> Self:
        """Give the first axis another shape."""
        return type(self)(
            *[each.reshape(*shape, *each.shape[1:]) for each in vars(self).values()]
        )


@dataclass
class Places(Rows):
    """Places to start from: weights p and w, and the multiplier."""

    p: Array
    w: Array
    multiplier: Array

    def mixed(self, others: Places, share: Array) -> Places:
        """Go a share of the way to other places."""
        part = share[:, np.newaxis]
        return Places(
            (1 - part) * self.p + part * others.p,
            (1 - part) * self.w + part * others.w,
            (1 - share) * self.multiplier + share * others.multiplier,
        )


@dataclass
class Points(Places):
    """Points of the curves of some functionals, and what is known of them."""

    value: Array
    root: Array
    """Root of the statistic."""
    speed: Array
    """Derivative of the value in the root, along the curve."""
    top: Array
    """Whether the likelihood is at a maximum there and not at a saddle."""


def newton(
    problem: Problem,
    owner: Array,
    start: Places,
    target: Array,
    *,
    by_root: bool,
    f: Array | None = None,
) -> tuple[Points, Array]:
    """Points of the curves whose root, or value, is the target; which were reached."""
    f = problem.samples.f[owner] if f is None else f
    rows = np.arange(len(owner))
    reached = np.zeros(len(owner), dtype=bool)
    active = start
    for _ in range(_ITERATIONS):
        active, length = _step(problem, owner, f, active, target, by_root)
        if len(rows) == len(reached):
            points = active
        else:
            points.put(rows, active)
        going = (length >= _TOLERANCE) & (length < np.inf)
        if not going.all():
            reached[rows] = length < _TOLERANCE
            if not going.any():
                break
            rows, owner, target, f = rows[going], owner[going], target[going], f[going]
            active = active.take(going)
    return points, reached


def _step(
    problem: Problem, owner: Array, f: Array, at: Places, target: Array, by_root: bool
) -> tuple[Points, Array]:
    """One step for each point, and its relative length; infinite if there is none.

    The unknowns are the relative changes of p and the change of the multiplier.
    """
    p, w = at.p, at.w
    multiplier = at.multiplier[:, np.newaxis]
    cells = p.shape[-1]
    near = normalised(p[:, np.newaxis] * problem.nudges)
    value, influence = problem.evaluate(owner, near)
    root = problem.samples.root(owner, near, influence)
    slope = influence[:, 0]
    value_slope = slope * p
    root_slope = (root[:, 1:] - root[:, :1]) / _DIFFERENCE
    bend = (influence[:, 1:] - influence[:, :1]) / _DIFFERENCE
    curvature = multiplier[..., np.newaxis] * bend.swapaxes(1, 2)

    jacobian = np.zeros((len(p), cells + 1, cells + 1))
    diagonal = jacobian.reshape(len(p), -1)[:, : -1 : cells + 2]
    jacobian[:, :cells, :cells] = curvature
    diagonal += w
    jacobian[:, :cells, cells] = slope
    jacobian[:, cells, :cells] = root_slope if by_root else value_slope
    sign: Array = np.full(len(p), np.nan)
    if not by_root:
        sign = np.linalg.slogdet(jacobian)[0]
        # Without the curvature, Newton's method does not stop at a saddle.
        if (sign > 0).any():
            jacobian[sign > 0, :cells, :cells] -= curvature[sign > 0]
    # The second column is a unit of the target: the way onward along the curve.
    needed = f / p
    right = np.zeros((len(p), cells + 1, 2))
    right[:, :cells, 0] = needed - 1 - multiplier * slope
    right[:, cells, 0] = target - (root if by_root else value)[:, 0]
    right[:, cells, 1] = 1
    solution, possible = _solve(jacobian, right)

    dp, onward = solution[:, :cells, 0], solution[:, :cells, 1]
    dw = needed / w - 1 - dp
    length = np.maximum(np.abs(dp), np.abs(dw)).max(-1)
    shrinks = -(np.minimum(dp, dw) / problem.most[owner]).min(-1)
    share = 1 / np.maximum(shrinks, 1)[:, np.newaxis]
    dp = share * dp
    if by_root and (length < _TOLERANCE).any():
        sign = np.linalg.slogdet(jacobian)[0]
    speed = (value_slope * onward).sum(-1) / (root_slope * onward).sum(-1)
    new = Points(
        p=normalised(p + p * dp),
        w=w + w * share * dw,
        multiplier=(multiplier + share * solution[:, cells, :1])[:, 0],
        value=value[:, 0] + (value_slope * dp).sum(-1),
        root=root[:, 0] + (root_slope * dp).sum(-1),
        speed=speed,
        top=(sign * speed if by_root else sign) < 0,  # alike, by Cramer's rule
    )
    return new, np.where(possible & np.isfinite(length), length, np.inf)


def _solve(matrix: Array, right: Array) -> tuple[Array, Array]:
    """Solutions of linear systems, and which of the systems are finite."""
    possible: Array = np.isfinite(matrix.sum((1, 2)) + right.sum((1, 2)))
    if not possible.all():
        keep = possible[:, np.newaxis, np.newaxis]
        matrix = np.where(keep, matrix, np.eye(matrix.shape[-1]))
        right = np.where(keep, right, 0)
    try:
        return np.linalg.solve(matrix, right), possible
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix) @ right, possible
