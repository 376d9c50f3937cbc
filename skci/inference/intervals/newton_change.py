r"""Undamped changes of Newton's method on the path of constrained maxima; see `path`.

The unknowns of the linear system are the relative changes x of p and the change of the
multiplier. With C the derivatives of the influence values L in the logarithms of p, and
c that of the value or of the root of the statistic, it is

.. math::

    (\operatorname{diag}(w) + \lambda C) x + \delta L = f / p - 1 - \lambda L,
    \qquad c^T x = M - g .

Of a mixture of strata, :math:`C = B H B^T \operatorname{diag}(p)` but for constants by
stratum, which the totals of strata that stay take up. Here B are the derivatives of the
k cells of the mixture in those of the strata, and H the second derivatives of the
functional in the mixture. So a system of k equations remains (Woodbury), and the time
is proportional to the number of strata.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.problem import Problem
from skci.inference.intervals.statistic import normalise
from skci.measures.stratified import Poststratified

TOLERANCE = 3e-5  # relative size of the last step; the error is about its square
_DIFFERENCE = 1e-5  # relative step of the forward differences
_ROOT_DIFFERENCE = 0.1  # of the root of the statistic in such a step, at most


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


class Change(NamedTuple):
    """Change of K points of the path by Newton's method, and what it says of them."""

    p: Array
    """Relative."""
    multiplier: Array
    value: tuple[Array, Array]
    """Value and its change."""
    root: tuple[Array, Array]
    """Square root of the statistic and its change."""
    tangent: Array
    """Derivative of the value with respect to the root along the path."""
    is_maximum: Array
    """Whether the constrained likelihood has a maximum and not a saddle; by root only
    in the last step."""
    is_finite: Array


def change(
    problem: Problem,
    index: Array,
    f: Array,
    x: PathPoint,
    target: Array,
    by_root: bool,
) -> Change:
    """Change of points of the path of any functional, by its full Jacobian."""
    p, multiplier = x.p, x.multiplier
    cells = p.shape[-1]
    steps = _steps(problem, index, p)
    differences = np.zeros((len(p), cells + 1, cells))
    differences.reshape(len(p), -1)[:, cells :: cells + 1] = steps
    nearby = normalise(p[:, np.newaxis] * (1 + differences))
    value, influence = problem.evaluate(index, nearby)
    root = problem.samples.root(index, nearby, influence)
    value_slope = influence[:, 0] * p
    root_slope = (root[:, 1:] - root[:, :1]) / steps
    change_of_influence = (influence[:, 1:] - influence[:, :1]) / steps[..., np.newaxis]
    constraint = root_slope if by_root else value_slope
    jacobian, sign = _jacobian(
        x, influence[:, 0], change_of_influence, constraint, not by_root
    )

    right = np.zeros((len(p), cells + 1, 2))
    right[:, :cells, 0] = f / p - 1 - multiplier * influence[:, 0]
    right[:, cells, 0] = target - (root if by_root else value)[:, 0]
    right[:, cells, 1] = 1  # change of the target by one: the tangent of the path
    solution, solvable = _solve(jacobian, right)
    dp, along = solution[:, :cells, 0], solution[:, :cells, 1]
    if by_root and (np.abs(dp).max(-1) < TOLERANCE).any():  # perhaps the last step
        sign = np.linalg.slogdet(jacobian)[0]
    tangent = (value_slope * along).sum(-1) / (root_slope * along).sum(-1)
    return Change(
        p=dp,
        multiplier=solution[:, cells, 0],
        value=(value[:, 0], (value_slope * dp).sum(-1)),
        root=(root[:, 0], (root_slope * dp).sum(-1)),
        tangent=tangent,
        # By Cramer's model the two determinants differ by the tangent as a factor.
        is_maximum=(sign * tangent if by_root else sign) < 0,
        is_finite=solvable,
    )


def _steps(problem: Problem, index: Array, p: Array) -> Array:
    r"""Relative steps of forward differences, by cell.

    A step h changes the root of the statistic by :math:`h \sqrt{n p}`.
    """
    n = problem.samples.n[index, np.newaxis]
    return np.minimum(_DIFFERENCE, _ROOT_DIFFERENCE / np.sqrt(n * p))


def _jacobian(
    x: PathPoint,
    influence: Array,
    differences: Array,
    constraint: Array,
    by_value: bool,
) -> tuple[Array, Array]:
    """Jacobian of the equations of the path, and the sign of its determinant.

    The sign is computed by value only: positive at a saddle of the likelihood, where
    leaving out the curvature keeps Newton's method from converging to it.
    """
    count, cells = x.w.shape
    curvature = x.multiplier[..., np.newaxis] * differences.swapaxes(1, 2)
    jacobian = np.zeros((count, cells + 1, cells + 1))
    jacobian[:, :cells, :cells] = curvature
    diagonal = jacobian.reshape(count, -1)[:, : -1 : cells + 2]
    diagonal += x.w
    jacobian[:, :cells, cells] = influence
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


def change_of_strata(
    problem: Problem,
    index: Array,
    f: Array,
    x: PathPoint,
    target: Array,
    by_root: bool,
) -> Change:
    """Change of points of the path of a functional of a mixture of strata.

    The totals of strata stay, and their cells are coupled by the k cells of the mixture
    alone, so that a system of k equations is solved in place of one of all cells.
    """
    assert problem.mixed is not None
    p = x.p
    value, influence = (a[:, 0] for a in problem.evaluate(index, p[:, np.newaxis]))
    right = np.stack([f / p - 1 - x.multiplier * influence, influence], axis=1)
    solution, sign, solvable = _solve_strata(problem, index, x, influence, right)
    value_slope = (influence * p)[:, np.newaxis]
    of_value = (value_slope * solution).sum(-1)
    is_maximum = sign * of_value[:, 1] > 0
    if not by_root and not is_maximum.all():
        saddle = ~is_maximum
        flat = problem.mixed.centred(right[saddle], p[saddle], x.w[saddle])
        solution[saddle] = flat
        of_value[saddle] = (value_slope[saddle] * flat).sum(-1)

    largest = np.abs(solution).max(-1, keepdims=True)
    n = problem.samples.n[index, np.newaxis, np.newaxis]
    of_root = np.sqrt(n * (p[:, np.newaxis] * solution**2).sum(-1, keepdims=True))
    size = np.maximum(largest / _DIFFERENCE, of_root / _ROOT_DIFFERENCE)
    step = 1 / np.where(size > 0, size, 1 / _DIFFERENCE)
    steps = np.insert(step * solution, 0, 0, axis=1)
    nearby = p[:, np.newaxis] * (1 + steps)
    roots = problem.samples.root(index, nearby, problem.evaluate(index, nearby)[1])
    root, of_root = roots[:, 0], (roots[:, 1:] - roots[:, :1]) / step[..., 0]

    slopes, start = (of_root, root) if by_root else (of_value, value)
    multiplier_change = (slopes[:, 0] - (target - start)) / slopes[:, 1]
    both = np.stack([np.ones_like(multiplier_change), -multiplier_change], axis=-1)
    return Change(
        p=(both[..., np.newaxis] * solution).sum(1),
        multiplier=multiplier_change,
        value=(value, (both * of_value).sum(-1)),
        root=(root, (both * of_root).sum(-1)),
        tangent=of_value[:, 1] / of_root[:, 1],
        is_maximum=is_maximum,
        is_finite=solvable,
    )


def _solve_strata(
    problem: Problem,
    index: Array,
    x: PathPoint,
    influence: Array,
    right: Array,
) -> tuple[Array, Array, Array]:
    """Solutions of the equations of p for right-hand sides, of shape (K, r, m).

    Then the sign of the determinant, and which of the systems are finite.
    """
    mixed = problem.mixed
    assert mixed is not None
    coupling = mixed.coupling(x.p)
    k, r = coupling.shape[1], right.shape[1]
    table = mixed.table(x.p)[:, np.newaxis]
    occurring = np.flatnonzero(mixed.occurs)
    differences = np.ones((k + 1, table.shape[-1]))
    differences[1 + np.arange(k), occurring] += _DIFFERENCE
    of_table = problem.evaluate_mixture(index, normalise(table * differences))[1]
    of_table = of_table[..., occurring]
    curvature = (of_table[:, 1:] - of_table[:, :1]).swapaxes(1, 2) / _DIFFERENCE

    solution, sign = _solve_apart(
        mixed, x, influence, np.concatenate([right, coupling], axis=1)
    )
    table = table[..., occurring].swapaxes(1, 2)
    moved = (coupling * x.p[:, np.newaxis]) @ solution.swapaxes(1, 2) / table
    scale = x.multiplier[..., np.newaxis]
    matrix = np.eye(k) + scale * moved[..., r:] @ curvature
    found, solvable = _solve(matrix, moved[..., :r])
    back = scale * (curvature @ found).swapaxes(1, 2)
    solution = solution[:, :r] - back @ solution[:, r:]
    return solution, sign * np.linalg.slogdet(matrix)[0], solvable


def _solve_apart(
    mixed: Poststratified, x: PathPoint, influence: Array, right: Array
) -> tuple[Array, Array]:
    """Solve the equations as if the functional were linear in the mixture."""
    p, w, multiplier = x.p, x.w, x.multiplier
    solution = mixed.centred(right, p, w)
    if mixed.shares is not None:
        return solution, np.ones(len(p))
    # Estimated shares are coupled to the cells of their strata.
    m = len(mixed.strata)
    scale = multiplier[..., np.newaxis]
    weighted = (p * influence)[:, np.newaxis, :m]
    shares, along = p[:, m:], mixed.centred(influence[:, np.newaxis], p, w)[..., :m]
    of_shares = w[:, m:] - multiplier**2 * mixed.sums(weighted * along)[:, 0] / shares
    rest = mixed.sums(weighted * solution[..., :m]) / shares[:, np.newaxis]
    rest = right[..., m:] - scale * rest
    inverse = (shares / of_shares)[:, np.newaxis]
    total = inverse.sum(-1, keepdims=True)
    rest = rest - (rest * inverse).sum(-1, keepdims=True) / total
    solution[..., m:] = rest / of_shares[:, np.newaxis]
    solution[..., :m] -= scale * along * solution[..., m:][..., mixed.strata]
    return solution, np.sign(of_shares).prod(-1) * np.sign(total[:, 0, 0])
