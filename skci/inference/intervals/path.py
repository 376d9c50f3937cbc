r"""Newton's method on the path of constrained maxima of a multinomial likelihood.

The maxima of the likelihood subject to ``g(p) = M`` form a path as M varies. With the
multiplier :math:`\lambda` and the influence values L they satisfy

.. math:: p_i w_i = f_i, \qquad w_i = 1 + \lambda L_i(p) > 0,

where f are the observed proportions. (Multiplying the score equations by p and adding
them up eliminates the multiplier of ``sum p = 1``.) The path starts at ``p = f`` with
:math:`\lambda = 0`. As in a primal-dual interior point method, Newton's method treats p
and w as separate unknowns and keeps both positive. Empty cells therefore need no
special treatment. One more equation selects a point of the path: ``g(p) = M``, or
``sqrt(S) = tau`` for the statistic S. The latter yields a confidence limit without a
search over M.

The unknowns of the linear system are the relative changes x of p and the change
:math:`\delta` of the multiplier. Let C be the derivatives of L in the logarithms of p,
and c the derivative of the target equation. The system is

.. math::

    (\operatorname{diag}(w) + \lambda C) x + \delta L = f / p - 1 - \lambda L,
    \qquad c^T x = M - g .

For a mixture of strata, the totals of the strata are fixed, and :math:`C = B H B^T
\operatorname{diag}(p)` up to constants by stratum, which the fixed totals absorb. Here
B are the derivatives of the k cells of the mixture by stratum, and H the second
derivatives of the functional in the mixture. By Woodbury's formula a system of k
equations remains, so that the time is proportional to the number of strata. A single
sample is one stratum with the same cells as the mixture.

References
----------
Aitchison and Silvey (1958), Annals of Mathematical Statistics 29, 813-828.

Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.ratio import as_ratio
from skci.inference.intervals.statistic import Samples, normalise
from skci.measures.functional import Functional
from skci.measures.stratified import Poststratified
from skci.measures.traits import EDGE

# Detection of undefined and infinite estimates.
_TINY_COUNT = 1e-80  # count added to cells; undefined estimates depend on it
_INFINITE = 1e25  # estimates beyond this are infinite: a division by _TINY_COUNT

# Newton's method.
_MAX_DECREASE = (0.9, 0.97)  # share of p or w per step: observed, empty cells
_MAX_STEPS = 12
_TOLERANCE = 3e-5  # relative size of the last step; the error is about its square
_DIFFERENCE = 1e-5  # relative step of the forward differences
_ROOT_STEP = 1e-7  # step for the root of the statistic, which has kinks
_ROOT_DIFFERENCE = 0.1  # largest change of the root in such a step


class Batch:
    """Set of arrays that are indexed together along their leading axes."""

    def __getitem__(self, index: Any) -> Self:
        return type(self)(*[array[index] for array in vars(self).values()])

    def __setitem__(self, index: Any, new: Self) -> None:
        for name, array in vars(self).items():
            array[index] = vars(new)[name]


@dataclass
class PathPoint(Batch):
    """Unknowns of Newton's method, which maximises the likelihood under a constraint.

    The unknowns are cell probabilities p, ratios w of observed proportions to p, and a
    Lagrange multiplier.
    """

    p: Array
    w: Array
    multiplier: Array
    """Lagrange multiplier; the last axis has length one."""


@dataclass
class ProfilePoint(PathPoint):
    """Cell probabilities that maximise the likelihood for a given functional value.

    The point also has the functional value and the test statistic.
    """

    value: Array
    root: Array
    """Square root of the statistic."""
    tangent: Array
    """Derivative of the value with respect to the root along the path."""
    is_maximum: Array
    """Whether the constrained likelihood has a maximum, not a saddle point."""


class Problem:
    """Score intervals of several functionals, computed along profiles.

    A profile, or path, contains the cell probabilities that maximise the likelihood for
    each value of a functional. A functional g with range (a, inf) is replaced by
    ``log(g - a)``, which improves the convergence of Newton's method. The replaced
    values are called values on the scale of the path.

    Sample j has the functional ``functionals[functional_index[j]]`` with range
    ``bounds[j]``. The index ascends, so that a functional is evaluated for all its
    samples at once. If there is a functional `mixed` of a mixture of strata, it is the
    only functional.
    """

    def __init__(
        self,
        samples: Samples,
        bounds: Array,
        functionals: Sequence[Functional],
        functional_index: Array,
    ) -> None:
        self.samples, self.bounds = samples, bounds
        first = functionals[functional_index[0]]
        self.mixed = first if isinstance(first, Poststratified) else None
        # Values of ratios are linear constraints, even in mixtures with known shares.
        self.has_one_maximum = (
            self.mixed is not None
            and self.mixed.shares is not None
            and as_ratio(self.mixed.functional.functional) is not None
        )
        self._functionals, self._functional_index = functionals, functional_index
        counts = samples.counts
        cells = counts.shape[-1]
        self.max_decrease = np.where(counts > 0, *_MAX_DECREASE)
        size = cells if self.mixed is None else len(self.mixed.occurs)
        self.differences = 1 + _DIFFERENCE * np.eye(size + 1, size, -1)
        if self.mixed is not None:
            self.differences = self.differences[np.append(True, self.mixed.occurs)]
        finite: Array = np.abs(bounds) < np.inf
        self._bounded = finite[:, 0] & finite[:, 1]
        self._log = finite[:, 0] & ~finite[:, 1]
        self._any_log = bool(self._log.any())

        # Two different tiny additions, and two observations divided among all cells.
        tiny = _TINY_COUNT * np.stack([np.ones(cells), 1 + np.arange(cells)])
        added = np.vstack([tiny, np.full(cells, 2 / cells)])
        p = normalise(counts[:, np.newaxis] + added)
        all_samples = np.arange(len(counts))
        value, influence = self.evaluate(all_samples, p)
        self._estimates = self.to_functional(all_samples[:, np.newaxis], value[:, :2])
        self.estimate = self._estimates[:, 0]
        self.interior, self.interior_value, self.interior_influence = (
            array[:, 2] for array in (p, value, influence)
        )
        variance = (self.interior * self.interior_influence**2).sum(-1)
        self.standard_error = np.sqrt(variance / samples.n)

    def evaluate(self, index: Array, p: Array) -> tuple[Array, Array]:
        """Compute the values and influence values of functionals.

        Functionals g with range (a, inf) are replaced by ``log(g - a)``. The array p
        contains k vectors of m cell probabilities for each of K samples, and has shape
        (K, k, m).
        """
        functional_index = self._functional_index[index]
        if functional_index[0] == functional_index[-1]:
            value, influence, _ = self._functionals[functional_index[0]](p)
        else:
            indices = np.arange(len(self._functionals) + 1)
            slices = pairwise(np.searchsorted(functional_index, indices).tolist())
            pairs = zip(self._functionals, slices, strict=True)
            results = [g(p[start:end])[:2] for g, (start, end) in pairs if start < end]
            value, influence = map(np.concatenate, zip(*results, strict=True))
        return self.on_scale(index, value, influence)

    def on_scale(
        self, index: Array, value: Array, influence: Array
    ) -> tuple[Array, Array]:
        """Replace functionals g with range (a, inf) by ``log(g - a)``.

        Returns the values and influence values after the replacement. Other functionals
        are unchanged.
        """
        if not self._any_log:
            return value, influence
        log = self._log[index, np.newaxis]
        above = value - self.bounds[index, :1]
        value = np.where(log, np.log(above), value)
        return value, influence / np.where(log, above, 1)[..., np.newaxis]

    def to_functional(self, index: Array, value: Array) -> Array:
        """Convert ``log(g - a)`` to g for functionals g with range (a, inf)."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.exp(value) + low, value)

    def from_functional(self, index: Array, value: Array) -> Array:
        """Convert g to ``log(g - a)`` for functionals g with range (a, inf)."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.log(value - low), value)

    def to_line(self, index: Array, value: Array) -> Array:
        """Map values of functionals to the real line.

        For a finite range, the map is the logit. For an infinite range, a value is
        converted to a number of standard errors from the estimate, then transformed by
        arsinh. Values on a logarithmic scale are unchanged.
        """
        low, high = self.bounds[index].T
        z = (value - self.interior_value[index]) / self.standard_error[index]
        unbounded = np.where(self._log[index], value, np.arcsinh(z))
        logit = np.log((value - low) / (high - value))
        return np.where(self._bounded[index], logit, unbounded)

    def from_line(self, index: Array, x: Array) -> Array:
        """Map points on the real line to values of functionals.

        This is the inverse of `to_line`.
        """
        low, high = self.bounds[index].T
        shifted = self.interior_value[index] + np.sinh(x) * self.standard_error[index]
        unbounded = np.where(self._log[index], x, shifted)
        return np.where(self._bounded[index], low + (high - low) * expit(x), unbounded)

    def has_interior_limit(self) -> Array:
        """Return a mask of the limits that lie inside the range.

        The mask has shape (J, 2). A limit lies on a bound of the range if the estimate
        equals the bound, or if the estimate is undefined. An estimate is treated as
        undefined if the tiny counts that are added to the cells change the estimate.
        """
        first, second = self._estimates.T
        defined = np.abs(first - second) <= EDGE**0.5 * (1 + np.abs(first))
        infinite = np.array(
            [
                self._estimates.max(-1) < -_INFINITE,
                self._estimates.min(-1) > _INFINITE,
            ]
        )
        low, high = self.bounds.T
        edge = EDGE * np.where(self._bounded, high - low, 1)
        off_boundary = np.array([first > low + edge, first < high - edge])
        result: Array = off_boundary & ~infinite & (defined | infinite.any(axis=0))
        return result.T


def newton(
    problem: Problem, index: Array, f: Array, x: PathPoint, target: Array, by_root: bool
) -> tuple[ProfilePoint, Array]:
    """Solve for one point on the profile likelihood of each sample by Newton's method.

    `index` contains the indices of the samples. `target` contains the values of the
    functionals at the points or, if `by_root` is true, the square roots of the test
    statistics. `x` contains starting points, and `f` contains the proportions that
    define the likelihoods. The function returns the points, and a mask of the samples
    for which Newton's method has converged.
    """
    rows = np.arange(len(index))
    converged = np.zeros(len(index), dtype=bool)
    samples = problem.samples.subset(index)
    for _ in range(_MAX_STEPS):
        x, size = _step(problem, index, samples, f, x, target, by_root)
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
            x, target, samples = x[going], target[going], samples.subset(going)
    return points, converged


def _step(
    problem: Problem,
    index: Array,
    samples: Samples,
    f: Array,
    x: PathPoint,
    target: Array,
    by_root: bool,
) -> tuple[ProfilePoint, Array]:
    """Compute a damped Newton step, and its relative size before damping.

    The size is infinite if the linear system is singular.
    """
    if problem.mixed is not None:
        x = replace(x, p=problem.mixed.with_totals(x.p, f))
    p, w, multiplier = x.p, x.w, x.multiplier
    solve = _solve_cells if problem.mixed is None else _solve_strata
    system = solve(problem, index, f, x)
    value, influence, curvature, solution, flat, sign, matrix = system
    value_slopes = np.einsum("ki,kri->kr", influence * p, solution)
    is_maximum = np.zeros(len(p), dtype=bool)
    if not by_root:
        is_maximum = sign * np.linalg.slogdet(matrix)[0] * value_slopes[:, 1] > 0
        if not is_maximum.all():  # avoid convergence to a saddle point
            solution = np.where(is_maximum[:, np.newaxis, np.newaxis], solution, flat)
            value_slopes = np.einsum("ki,kri->kr", influence * p, solution)

    # Derivatives of the root of the statistic along the solutions.
    root_slopes = np.sqrt(
        np.einsum("k,ki,kri,kri->kr", samples.n, p, solution, solution)
    )
    size = np.abs(solution).max(-1) / _ROOT_STEP + root_slopes / _ROOT_DIFFERENCE
    step = 1 / (size + _TINY_COUNT)
    steps = np.concatenate([0 * flat[:, :1], step[..., np.newaxis] * solution], axis=1)
    nearby = p[:, np.newaxis] * (1 + steps)
    if problem.mixed is None:
        influences = influence[:, np.newaxis] + steps @ curvature
    else:
        influences = problem.evaluate(index, nearby)[1]
    roots = samples.root(nearby, influences)
    root, root_slopes = roots[:, 0], (roots[:, 1:] - roots[:, :1]) / step

    start, target_slopes = (root, root_slopes) if by_root else (value, value_slopes)
    # Derivatives of the multiplier
    change = (target_slopes[:, 0] - (target - start)) / target_slopes[:, 1]
    dp = solution[:, 0] - change[:, np.newaxis] * solution[:, 1]
    dw = f / p / w - 1 - dp
    size = np.maximum(np.abs(dp), np.abs(dw)).max(-1)
    if by_root and (size < _TOLERANCE).any():  # this may be the last step
        is_maximum = sign * np.linalg.slogdet(matrix)[0] * value_slopes[:, 1] > 0
    decrease = -(np.minimum(dp, dw) / problem.max_decrease[index]).min(-1)
    damping = 1 / np.maximum(decrease, 1)
    new = ProfilePoint(
        p=normalise(p + p * damping[:, np.newaxis] * dp),
        w=w + w * damping[:, np.newaxis] * dw,
        multiplier=multiplier + (damping * change)[:, np.newaxis],
        value=value + damping * (value_slopes[:, 0] - change * value_slopes[:, 1]),
        root=root + damping * (root_slopes[:, 0] - change * root_slopes[:, 1]),
        tangent=value_slopes[:, 1] / root_slopes[:, 1],
        is_maximum=is_maximum,
    )
    return new, np.where(np.isfinite(size), size, np.inf)


def _solve_cells(problem: Problem, index: Array, f: Array, x: PathPoint) -> Any:
    """Solve the linear system of a Newton step for two right-hand sides.

    The first right-hand side applies to a fixed multiplier, and the second to a unit
    change of the multiplier. Returns the values of the functionals, the influence
    values and the derivatives of the influence values. Also returns the solution of the
    system, and the solution without these derivatives. The last two results determine
    the sign of the determinant of the system.
    """
    p, w, multiplier = x.p, x.w, x.multiplier
    nearby = normalise(p[:, np.newaxis] * problem.differences)
    values, influences = problem.evaluate(index, nearby)
    influence = influences[:, 0]
    curvature = (influences[:, 1:] - influences[:, :1]) / _DIFFERENCE
    right = np.stack([f / p - 1 - multiplier * influence, influence], axis=1)
    matrix = np.eye(p.shape[1]) * w[:, np.newaxis]
    matrix += multiplier[..., np.newaxis] * curvature.swapaxes(1, 2)
    solution = _solve(matrix, right)
    flat = right / w[:, np.newaxis]
    return values[:, 0], influence, curvature, solution, flat, 1, matrix


def _solve_strata(problem: Problem, index: Array, f: Array, x: PathPoint) -> Any:
    """Solve the linear system of a Newton step for a mixture of strata.

    Results are returned as by `_solve_cells`. Woodbury's formula reduces the size of
    the system.
    """
    p, multiplier, mixed = x.p, x.multiplier, problem.mixed
    assert mixed is not None
    table, coupling = mixed.table(p)[:, np.newaxis], mixed.coupling(p)
    value, influence = (array[:, 0] for array in problem.evaluate(index, p[:, None]))
    values, influences, _ = mixed.of_table(normalise(table * problem.differences))
    _, influences = problem.on_scale(index, values, influences[..., mixed.occurs])
    curvature = (influences[:, 1:] - influences[:, :1]) / _DIFFERENCE
    right = np.stack([f / p - 1 - multiplier * influence, influence], axis=1)
    by_sample, sign = mixed.solve_by_sample(
        np.concatenate([right, coupling], axis=1), p, x.w, multiplier, influence
    )
    moved = by_sample @ (
        coupling * p[:, np.newaxis] / table[..., mixed.occurs].swapaxes(1, 2)
    ).swapaxes(1, 2)
    scaled = multiplier[..., np.newaxis] * curvature
    matrix = np.eye(len(scaled[0])) + (scaled @ moved[:, 2:]).swapaxes(1, 2)
    table_solution = _solve(matrix, moved[:, :2])
    flat = by_sample[:, :2]
    solution = flat - table_solution @ scaled @ by_sample[:, 2:]
    return value, influence, curvature, solution, flat, sign, matrix


def _solve(matrix: Array, right: Array) -> Array:
    """Solve K linear systems, each with r right-hand sides.

    The right-hand sides have shape (K, r, k).
    """
    columns = right.swapaxes(1, 2)
    try:
        solution = np.linalg.solve(matrix, columns)
    except np.linalg.LinAlgError:
        finite = np.where(np.isfinite(matrix), matrix, 0)
        solution = np.linalg.pinv(finite) @ columns
    return solution.swapaxes(1, 2)
