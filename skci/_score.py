"""The score interval of a smooth functional of a multinomial.

Let c be counts of n rows in m cells, ``p_hat = c / n``, g a functional of the cell
probabilities and L(p) its influence values, so that ``sum p L = 0``. A value M is
accepted when the statistic S is at most ``crit**2``, where S compares p_hat with the
maximum of the likelihood among the p with ``g(p) = M``. The limits are the first
values, going outward from the estimate, at which S reaches ``crit**2``.

The constrained maxima (Aitchison and Silvey, 1958) form a curve. With a multiplier
lambda they solve, as the weights of empirical likelihood do (Owen, 2001),

    p_i w_i = f_i,    w_i = 1 + lambda L_i(p) > 0,    f proportional to c,

because multiplying the score equations by p and adding up leaves no multiplier for
``sum p = 1``. The curve starts at ``p = f`` with ``lambda = 0``. Newton's method finds
its points, with p and w as separate unknowns that both stay positive: a primal-dual
interior point method, which does not mind empty cells. The last equation says which
point: either ``g(p) = M``, or ``sqrt(S) = tau``, and then the limit itself is found
without a search over M.

Two roads lead to a limit. The short one lands at once on four points of the curve,
the last one the limit, and believes it when the distances between the points are
those that the speeds at the points promise, which they are not when S turns back in
between. Whatever does not converge or is not believed takes the sure road: along the
curve from its start, step by step.

References
----------
Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
inference. JASA 22, 209-212. The limits of a proportion when S is Pearson's statistic.

Aitchison, J. and Silvey, S. D. (1958). Maximum-likelihood estimation of parameters
subject to restraints. Annals of Mathematical Statistics 29, 813-828.

Agresti, A. and Coull, B. A. (1998). Approximate is better than "exact" for interval
estimation of binomial proportions. The American Statistician 52, 119-126.

Tango, T. (1998). Equivalence test and confidence interval for the difference in
proportions for the paired-sample design. Statistics in Medicine 17, 891-908. The
limits of a difference of paired proportions when S is Pearson's statistic.

Owen, A. B. (2001). Empirical Likelihood. Chapman and Hall/CRC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, rel_entr

__all__ = ["EDGE", "improved", "pearson", "score_limits"]

Array = NDArray[Any]


class Functional(Protocol):
    """What is asked of a functional."""

    def __call__(self, p: Array, /) -> tuple[Array, Array, Array]:
        """Value (...), influence values (..., m) and a gradient not used here."""
        ...


Statistic = Callable[[Array, Array, Array, Array], Array]
"""``statistic(p_hat, p, influence, n)``: how far p_hat is from the null p."""

# The data.
_FILL = 1e-7  # rows added to every cell, so that an empty one can gain probability
_NOTHING = 1e-40  # rows added to tell a value at empty cells from an undefined one
EDGE = 1e-12  # estimates this near to an end of the range are at that end
_INFINITE = 1e25  # estimates beyond this are infinite: they divide by _NOTHING
_POINTS = 2**18  # weights in a batch, which bounds the memory in use

# Newton's method.
_DIFFERENCE = 1e-5  # relative step of the forward differences in the Jacobian
_TOLERANCE = 1e-6  # relative length of a last step; what is left is about its square
_BOLD = (0.9, 0.97)  # most that a step takes of p or w; the latter in empty cells
_ITERATIONS = 12  # steps before giving up

# The short road.
_FAN = 2 ** np.linspace(-3, 3, 19)  # tilts, relative to what a linear one would need
_LANDINGS = np.array([0.4, 0.6, 0.8, 1.0])  # roots, relative to the critical value
_ATTEMPTS = 4  # rounds of landing; later ones start from neighbours that were reached
_STEADY = 2.0  # how far a mean speed may lie outside of the speeds at both ends
_STARVED, _BARELY = 0.05, 0.25  # expected rows and w of a cell only just kept empty

# The sure road, on a scale without ends such as the logit.
_RIVAL_FILLS = 2.0, 0.4, 0.08, 0.0  # rows added to follow another maximum from inside
_AGREE = 1e-6  # roots nearer than this are the same
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP = 0.02, 1.0, 1e-8
_STRIDE = 0.1  # what a step should add to the root, relative to the critical value
_MOST_STEPS = 200
_FAR = 25.0  # a limit beyond this is the end of the range


def pearson(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's ``X2 = n sum (p_hat - p)^2 / p``, behind Wilson's and Tango's limits.

    Parameters
    ----------
    p_hat, p : arrays of shape (..., m)
        Observed proportions and the null.
    influence : array of shape (..., m)
        Influence values at the null.
    n : array
        Number of rows.

    Returns
    -------
    array
        The statistic.
    """
    x2: Array = n * ((p_hat - p) ** 2 / p).sum(-1)
    return x2


def improved(p_hat: Array, p: Array, influence: Array, n: Array) -> Array:
    """Pearson's X2, drawn to the likelihood ratio G2 where the null is the sparser.

    ``S = X2 - max(X2 - G2, 0) e^2 / (4 + e^2)`` with ``e = max(rho - 1, 0)`` and
    ``rho = sum p_hat L^2 / sum p L^2``. Here rho - 1 is the skewness of the score
    times its signed root. Where the data are the sparser, S is X2 exactly; where the
    null is much sparser, X2 rejects too easily and S goes over to G2. Parameters as
    for `pearson`.
    """
    x2 = pearson(p_hat, p, influence, n)
    g2 = 2 * n * rel_entr(p_hat, p).sum(-1)
    squares = influence * influence
    rho = (p_hat * squares).sum(-1) / (p * squares).sum(-1)
    excess = np.maximum(rho - 1, 0) ** 2
    s: Array = x2 - np.maximum(x2 - g2, 0) * (excess / (4 + excess))
    return s


def score_limits(
    functionals: Sequence[Functional],
    counts: Array,
    crit: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> tuple[Array, Array]:
    """Limits of the score intervals of J functionals of multinomials.

    Parameters
    ----------
    functionals : sequence of J callables
        Each gives value and influence values at positive weights p of shape (..., m).
        Equal ones are evaluated together, if they can be hashed.
    counts : array of shape (J, m)
        Rows in each cell; every cell counts, those without rows as well.
    crit : array of shape (J,)
        Critical values of the root of the statistic.
    bounds : array of shape (J, 2)
        Range of each functional.
    statistic : callable, default=improved
        ``statistic(p_hat, p, influence, n)``: `improved` or `pearson`.

    Returns
    -------
    low, high : arrays of shape (J,)
        A limit is the end of the range where the estimate is at that end, and where
        the statistic does not reach ``crit**2`` on the way there. A functional that
        is undefined at the counts has its whole range.
    """
    counts, crit = np.asarray(counts, dtype=float), np.asarray(crit, dtype=float)
    limits = np.array(bounds, dtype=float)
    cells = counts.shape[-1]
    batch = max(1, _POINTS // (2 * len(_LANDINGS) * (cells + 1) * cells))
    with np.errstate(all="ignore"):
        for first in range(0, len(functionals), batch):
            part = slice(first, first + batch)
            problem = _Problem(
                functionals[part], counts[part], limits[part].copy(), statistic
            )
            limits[part] = _limits(problem, crit[part])
    return limits[:, 0], limits[:, 1]


def _limits(problem: _Problem, crit: Array) -> Array:
    """Limits of one batch, shape (J, 2)."""
    limits = problem.bounds.copy()
    owner, end = np.nonzero(problem.has_limits())
    if len(owner):
        side = 2.0 * end - 1
        fan = _fan(problem, owner, side, crit[owner])
        quest = _Quest(owner, side, crit[owner], fan)
        value, believed = _land(problem, quest)
        left = np.flatnonzero(~believed)
        if len(left):
            value[left] = _walk(problem, quest.take(left))
        limits[owner, end] = problem.on_scale(owner, value)
    low, high = problem.bounds.T[..., np.newaxis]
    clipped: Array = np.clip(limits, low, high)
    return clipped


class _Problem:
    """The multinomials of a batch and how to evaluate their functionals.

    Where the range is (a, inf) the functional is replaced by ``log(g - a)``, which
    Newton's method likes better and the statistic does not notice.
    """

    def __init__(
        self,
        functionals: Sequence[Functional],
        counts: Array,
        bounds: Array,
        statistic: Statistic,
    ) -> None:
        self.counts, self.bounds, self.statistic = counts, bounds, statistic
        self.n = counts.sum(-1)
        self.p_hat = counts / self.n[:, np.newaxis]
        self.f = _normalised(counts + _FILL)
        self.most = np.where(counts > 0, *_BOLD)
        cells = counts.shape[-1]
        self.nudges = 1 + _DIFFERENCE * np.eye(cells + 1, cells, -1)
        finite: Array = np.abs(bounds) < np.inf
        self.bounded = finite[:, 0] & finite[:, 1]
        self.log = finite[:, 0] & ~finite[:, 1]
        self._any_log = bool(self.log.any())
        keys = [_key(each) for each in functionals]
        distinct = dict(zip(keys, functionals, strict=True))
        self._distinct = list(distinct.values())
        position = {key: k for k, key in enumerate(distinct)}
        self._which = np.array([position[key] for key in keys], dtype=int)

        # Nothing in the empty cells, in two ways; and two rows spread over all cells.
        ways = _NOTHING * np.stack([np.ones(cells), 1 + np.arange(cells)])
        rows = counts[:, np.newaxis] + np.vstack([ways, np.full(cells, 2 / cells)])
        p = _normalised(rows)
        everyone = np.arange(len(counts))
        value, influence = self.evaluate(everyone, p)
        self.estimate = self.on_scale(everyone[:, np.newaxis], value[:, :2])
        self.inner, self.inner_value, self.inner_slope = (
            each[:, 2] for each in (p, value, influence)
        )
        variance = (self.inner * self.inner_slope**2).sum(-1)
        self.inner_error = np.sqrt(variance / self.n)

    def raw(self, owner: Array, p: Array) -> tuple[Array, Array]:
        """Values and influence values of functionals `owner` at weights p."""
        if len(self._distinct) == 1:
            return self._distinct[0](p)[:2]
        value, influence = np.empty(p.shape[:-1]), np.empty(p.shape)
        which = self._which[owner]
        for k, functional in enumerate(self._distinct):
            rows = np.flatnonzero(which == k)
            if len(rows):
                value[rows], influence[rows], _ = functional(p[rows])
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

    def root(self, owner: Array, p: Array, influence: Array) -> Array:
        """Root of the statistic at p: (owners, points, m)."""
        n = self.n[owner, np.newaxis]
        s = self.statistic(self.p_hat[owner, np.newaxis], p, influence, n)
        root: Array = np.sqrt(np.maximum(s, 0))
        return root

    def on_scale(self, owner: Array, value: Array) -> Array:
        """From values as `evaluate` gives them to those of the functionals."""
        low = self.bounds[owner, 0]
        return np.where(self.log[owner], np.exp(value) + low, value)

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


def _key(functional: Functional) -> object:
    """Return what functionals that are evaluated together have in common."""
    try:
        hash(functional)
    except TypeError:
        return id(functional)
    return functional


def _normalised(weights: Array) -> Array:
    shares: Array = weights / weights.sum(-1, keepdims=True)
    return shares


# --------------------------------------------------------------------------------------
# Newton's method for a point of the curve
# --------------------------------------------------------------------------------------


class _Rows:
    """Arrays with a common first axis or more."""

    def take(self, rows: Any) -> Self:
        """Take some of the rows."""
        return type(self)(
            *(
                each.take(rows) if isinstance(each, _Rows) else each[rows]
                for each in vars(self).values()
            )
        )

    def put(self, rows: Any, others: Self) -> None:
        """Overwrite some of the rows."""
        for mine, other in zip(vars(self).values(), vars(others).values(), strict=True):
            mine[rows] = other


@dataclass
class _Points(_Rows):
    """Points of the curves of some functionals, and what is known of them."""

    p: Array
    w: Array
    multiplier: Array
    value: Array
    root: Array
    """Root of the statistic."""
    speed: Array
    """Derivative of the value in the root, along the curve."""
    top: Array
    """Whether the likelihood is at a maximum there and not at a saddle."""


@dataclass
class _Quest(_Rows):
    """Limits to be found: whose, on which side, and points to start from."""

    owner: Array
    side: Array
    """Lower -1, upper 1."""
    crit: Array
    fan: _Points


def _newton(
    problem: _Problem,
    owner: Array,
    start: _Points,
    target: Array,
    *,
    by_root: bool,
    f: Array | None = None,
) -> tuple[_Points, Array]:
    """Points of the curves whose root, or value, is the target; which were reached."""
    f = problem.f[owner] if f is None else f
    rows = np.arange(len(owner))
    reached = np.zeros(len(owner), dtype=bool)
    points = active = start
    for _ in range(_ITERATIONS):
        active, length = _newton_step(problem, owner, f, active, target, by_root)
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


def _newton_step(
    problem: _Problem, owner: Array, f: Array, at: _Points, target: Array, by_root: bool
) -> tuple[_Points, Array]:
    """One step for each point, and its relative length; infinite if there is none."""
    p, w = at.p, at.w
    multiplier = at.multiplier[:, np.newaxis]
    cells = p.shape[-1]
    near = _normalised(p[:, np.newaxis] * problem.nudges)
    value, influence = problem.evaluate(owner, near)
    root = problem.root(owner, near, influence)
    slope = influence[:, 0]
    moved = _DIFFERENCE * p / (1 + _DIFFERENCE * p)
    bend = (influence[:, 1:] - influence[:, :1]) / moved[..., np.newaxis]
    root_slope = (root[:, 1:] - root[:, :1]) / moved

    jacobian = np.zeros((len(p), cells + 1, cells + 1))
    curvature = (multiplier * p)[..., np.newaxis] * bend.swapaxes(1, 2)
    diagonal = jacobian.reshape(len(p), -1)[:, : -1 : cells + 2]
    jacobian[:, :cells, :cells] = curvature
    diagonal += w
    jacobian[:, :cells, cells] = p * slope
    jacobian[:, cells, :cells] = root_slope if by_root else slope
    sign = np.linalg.slogdet(jacobian)[0]
    if not by_root and (sign > 0).any():
        # Without the curvature, Newton's method does not stop at a saddle.
        jacobian[sign > 0, :cells, :cells] -= curvature[sign > 0]
    # The second column is a unit of the target: the way onward along the curve.
    right = np.zeros((len(p), cells + 1, 2))
    right[:, :cells, 0] = f - p * (1 + multiplier * slope)
    right[:, cells, 0] = target - (root if by_root else value)[:, 0]
    right[:, cells, 1] = 1
    step, possible = _solve(jacobian, right)

    dp, onward = step[:, :cells, 0], step[:, :cells, 1]
    relative = dp / p
    dw = f / p - w * (1 + relative)
    length = np.maximum(np.abs(relative), np.abs(dw)).max(-1)
    shrinks = -(np.minimum(relative, dw / w) / problem.most[owner]).min(-1)
    share = 1 / np.maximum(shrinks, 1)[:, np.newaxis]
    dp = share * dp
    speed = (slope * onward).sum(-1) / (root_slope * onward).sum(-1)
    new = _Points(
        p=_normalised(p + dp),
        w=w + share * dw,
        multiplier=(multiplier + share * step[:, cells, :1])[:, 0],
        value=value[:, 0] + (slope * dp).sum(-1),
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


# --------------------------------------------------------------------------------------
# The short road
# --------------------------------------------------------------------------------------


def _fan(problem: _Problem, owner: Array, side: Array, crit: Array) -> _Points:
    """Points outward from the data, on the curves if the functionals were linear.

    They are ``q / (1 - u r)`` with ``r = L / max L``, frozen at the inner points q.
    """
    inner = problem.inner[owner]
    slope = side[:, np.newaxis] * problem.inner_slope[owner]
    top = slope.max(-1)
    needed = crit * top / (problem.n * problem.inner_error)[owner]
    u = -np.expm1(np.log1p(-np.minimum(needed, 0.9))[:, np.newaxis] * _FAN)
    w = 1 - u[..., np.newaxis] * (slope / top[:, np.newaxis])[:, np.newaxis]
    p = inner[:, np.newaxis] / w
    total = p.sum(-1)
    p /= total[..., np.newaxis]
    multiplier = -(side / top)[:, np.newaxis] * u * total
    value, influence = problem.evaluate(owner, p)
    return _Points(
        p=p,
        w=np.maximum(1 + multiplier[..., np.newaxis] * influence, 0.1),
        multiplier=multiplier,
        value=value,
        root=problem.root(owner, p, influence),
        speed=np.full_like(value, np.nan),
        top=np.ones_like(value, dtype=bool),
    )


def _land(problem: _Problem, quest: _Quest) -> tuple[Array, Array]:
    """Values at the limits, and which of them to believe."""
    side = quest.side[:, np.newaxis]
    goals = quest.crit[:, np.newaxis] * _LANDINGS
    nearest = np.abs(quest.fan.root[:, np.newaxis] - goals[..., np.newaxis]).argmin(-1)
    points = quest.fan.take((np.arange(len(goals))[:, np.newaxis], nearest))
    reached = np.zeros(goals.shape, dtype=bool)
    todo = np.nonzero(~reached)
    for _ in range(_ATTEMPTS):
        new, arrived = _newton(
            problem, quest.owner[todo[0]], points.take(todo), goals[todo], by_root=True
        )
        points.put(todo, new)
        reached[todo] = arrived & (new.multiplier * quest.side[todo[0]] < 0)
        todo = _restart(points, reached)
        if not len(todo[0]):
            break
    speed = points.speed * side
    mean_speed = np.diff(points.value * side) / np.diff(goals)
    slow = np.minimum(speed[:, 1:], speed[:, :-1])
    fast = np.maximum(speed[:, 1:], speed[:, :-1])
    steady = (mean_speed > slow / _STEADY) & (mean_speed < fast * _STEADY) & (slow > 0)
    believed = (reached & points.top).all(-1) & steady.all(-1)
    last = points.take((slice(None), -1))
    doubtful = np.flatnonzero(believed & _barely_empty(problem, quest, last))
    if len(doubtful):
        part = quest.take(doubtful)
        believed[doubtful] = _is_likeliest(problem, part, last.take(doubtful))
    return last.value, believed


def _restart(points: _Points, reached: Array) -> tuple[Array, Array]:
    """Put points that were not reached next to neighbours that were; say which."""
    donor = np.zeros(reached.shape, dtype=int)
    donor[:, :-1] += reached[:, 1:]
    donor[:, 1:] = np.where(reached[:, :-1], -1, donor[:, 1:])
    row, column = todo = np.nonzero(~reached & (donor != 0))
    points.put(todo, points.take((row, column + donor[todo])))
    return row, column


def _barely_empty(problem: _Problem, quest: _Quest, points: _Points) -> Array:
    """Whether a cell without rows is only just kept empty.

    A little more of it would pay, so the likelihood may have a second maximum.
    """
    empty = problem.counts[quest.owner] == 0
    starved = points.p * problem.n[quest.owner, np.newaxis] < _STARVED
    doubtful: Array = (empty & starved & (points.w < _BARELY)).any(-1)
    return doubtful


def _is_likeliest(problem: _Problem, quest: _Quest, points: _Points) -> Array:
    """Whether no other maximum of the likelihood beats these."""
    best, found = _likeliest(problem, quest, points, points.value)
    likeliest: Array = found & (np.abs(best.root - points.root) < _AGREE)
    return likeliest


def _likeliest(
    problem: _Problem, quest: _Quest, here: _Points, target: Array
) -> tuple[_Points, Array]:
    """Likeliest points with values at the targets, and which were found.

    Newton's method from here finds one maximum. Where that fails or is doubtful, the
    other is looked for: the maximum if there were rows in every cell, followed while
    they are taken away.
    """
    owner = quest.owner
    points, found = _newton(problem, owner, here, target, by_root=False)
    found &= points.top
    k = np.flatnonzero(~found | _barely_empty(problem, quest, points))
    if not len(k):
        return points, found
    owner, target, cells = owner[k], target[k], points.p.shape[-1]
    nearest = np.abs(quest.fan.value[k] - target[:, np.newaxis]).argmin(-1)
    rival = quest.fan.take((k, nearest))
    uneven = np.linspace(0.5, 1.5, cells)  # where the curve forks, take one branch
    for rows in _RIVAL_FILLS:
        f = _normalised(problem.counts[owner] + (_FILL + rows / cells * uneven))
        rival, reached = _newton(problem, owner, rival, target, by_root=False, f=f)
    reached &= rival.top
    gain = (problem.f[owner] * np.log(rival.p / points.p[k])).sum(-1)
    better = reached & (~found[k] | (gain > 0))
    points.put(k[better], rival.take(better))
    found[k] |= reached
    return points, found


# --------------------------------------------------------------------------------------
# The sure road
# --------------------------------------------------------------------------------------


def _walk(problem: _Problem, quest: _Quest) -> Array:
    """Values at the limits, by walking along the curves from their start."""
    here = _beginning(problem, quest.owner)
    limit = problem.end(quest.owner, quest.side)
    step = np.full(len(limit), _FIRST_STEP)
    jumps = np.zeros(len(limit), dtype=bool)
    rows = np.flatnonzero(np.isfinite(here.value))
    for _ in range(_MOST_STEPS):
        if not len(rows):
            break
        part, now = quest.take(rows), here.take(rows)
        place = problem.line(part.owner, now.value) + part.side * step[rows]
        target = problem.off_line(part.owner, place)
        there, reached = _likeliest(problem, part, now, target)
        jumps[rows] = reached & (there.root >= part.crit)
        over = np.flatnonzero(jumps[rows])
        landed = np.zeros(len(rows), dtype=bool)
        if len(over):
            last, landed[over] = _land_between(
                problem, part.take(over), now.take(over), there.take(over)
            )
            limit[rows[over]] = last.value
        onward = reached & (there.root < part.crit)
        here.put(rows[onward], there.take(onward))
        stride = np.abs(there.root - now.root) / (_STRIDE * part.crit)
        step[rows] *= np.where(onward, np.clip(1 / stride, 0.5, 2), 0.25)
        step[rows] = np.minimum(step[rows], _LONGEST_STEP)
        gone = onward & (place * part.side > _FAR)
        limit[rows[gone]] = problem.end(part.owner, part.side)[gone]
        left = ~(landed | gone)
        # Where S jumps over the critical value the limit is here; where the way is
        # lost, there is none but the end of the range.
        end = problem.end(part.owner, part.side)
        limit[rows[left]] = np.where(jumps[rows], here.value[rows], end)[left]
        rows = rows[left & (step[rows] >= _SHORTEST_STEP)]
    return limit


def _beginning(problem: _Problem, owner: Array) -> _Points:
    """Where the curves begin: at the data, with multiplier zero."""
    p = problem.f[owner]
    zero = np.zeros(len(p))
    value = problem.evaluate(owner, p[:, np.newaxis])[0][:, 0]
    return _Points(p, np.ones_like(p), zero, value, zero.copy(), zero.copy(), zero == 0)


def _land_between(
    problem: _Problem, quest: _Quest, here: _Points, there: _Points
) -> tuple[_Points, Array]:
    """Limits, if they lie between points inside and outside of the interval."""
    last, reached = _newton(problem, quest.owner, there, quest.crit, by_root=True)
    share = (last.value - here.value) / (there.value - here.value)
    between = reached & (share >= 0) & (share <= 1)
    return last, between & _is_likeliest(problem, quest, last)
