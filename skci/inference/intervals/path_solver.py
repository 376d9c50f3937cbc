"""Two roads to a score limit, along the curve of constrained maxima.

The short one lands at once on four points of the curve, the last one the limit, and
believes it when nothing speaks against it: the distances between the points are those
that the speeds at the points promise, which they are not when S turns back in between;
the same cells are kept empty at all of them; and no likelier place is known. Whatever
does not converge or is not believed takes the sure road: along the curve from its
start, step by step, with an eye on other maxima of the likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skci.inference.intervals.path import Array, Places, Points, Problem, Rows, newton
from skci.inference.intervals.statistic import Samples, filled
from skci.measures.functional import Functional

__all__ = ["LANDINGS", "road_limits", "road_roots"]

_FAN = 2 ** np.linspace(-3, 3, 19)  # tilts, relative to what a linear one would need

# The short road.
LANDINGS = np.array([0.4, 0.6, 0.8, 1.0])  # roots, relative to the critical value
_RESTARTS = 3  # further rounds of landing, from neighbours that were reached
_STEADY = 2.0  # how far a mean speed may lie outside of the speeds at both ends
_STARVED = 0.05  # expected rows in a cell that is kept empty, and
_BARELY = 0.25  # its weight w if it is so only just
_LIKELIER = 1e-9  # gain in log-likelihood per row

# The sure road, on a scale without ends such as the logit.
_RIVAL_FILLS = 2.0, 0.4, 0.08, 0.0  # rows added to follow another maximum from inside
_TILT, _UNTIED = 0.02, 1e-10  # for each of them, and at least, for ties are forks
_AGREE = 1e-6  # roots nearer than this are the same
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP = 0.02, 1.0, 1e-8
_STRIDE = 0.1  # what a step should add to the root, relative to the critical value
_CAREFUL_STEP = 1e-3  # the longest from one maximum to another where S is lower
_MOST_STEPS = 200
_FAR = 25.0  # a limit beyond this is the end of the range


def road_limits(
    samples: Samples,
    functionals: Sequence[Functional],
    which: Array,
    crit: Array,
    bounds: Array,
) -> Array:
    """Limits of the functionals `which` of J samples, shape (J, 2)."""
    problem = Problem(samples, functionals, which, bounds)
    limits = bounds.copy()
    owner, end = np.nonzero(problem.has_limits())
    if len(owner):
        quest = _set_out(problem, owner, 2.0 * end - 1, crit[owner])
        value, believed = _land(problem, quest)
        left = np.flatnonzero(~believed)
        if len(left):
            value[left] = _walk(problem, quest.take(left))
        limits[owner, end] = problem.on_scale(owner, value)
    return limits


def road_roots(
    samples: Samples,
    functionals: Sequence[Functional],
    which: Array,
    nulls: Array,
    bounds: Array,
) -> Array:
    """Signed roots of the statistic at nulls; NaN where no maximum was found."""
    problem = Problem(samples, functionals, which, bounds)
    owner = np.arange(len(nulls))
    target = problem.off_scale(owner, nulls)
    side = np.where(target > problem.inner_value, 1.0, -1.0)
    quest = _set_out(problem, owner, side, np.ones(len(nulls)))
    points, found = _likeliest(problem, quest, quest.nearest(target), target)
    sign = np.where(problem.estimate[:, 0] < nulls, -1, 1)
    return np.where(found, sign * points.root, np.nan)


@dataclass
class _Quest(Rows):
    """Limits to be found: whose, on which side, and a fan of places on the way."""

    owner: Array
    side: Array
    """Lower -1, upper 1."""
    crit: Array
    fan: Places
    value: Array
    root: Array
    """Root of the statistic."""

    def nearest(self, target: Array) -> Places:
        """Places of the fan with values next to the targets."""
        nearest = np.abs(self.value - target[:, np.newaxis]).argmin(-1)
        return self.fan.take((np.arange(len(target)), nearest))


def _set_out(problem: Problem, owner: Array, side: Array, crit: Array) -> _Quest:
    """Look outward from the data.

    The fan would be on the curves if the functionals were linear. Its places are
    ``q / (1 - u r)`` with ``r = L / max L``, frozen at the inner points q.
    """
    inner = problem.inner[owner]
    slope = side[:, np.newaxis] * problem.inner_slope[owner]
    top = slope.max(-1)
    needed = crit * top / (problem.samples.n * problem.inner_error)[owner]
    u = -np.expm1(np.log1p(-np.minimum(needed, 0.9))[:, np.newaxis] * _FAN)
    p = inner[:, np.newaxis] / (
        1 - u[..., np.newaxis] * (slope.T / top).T[:, np.newaxis]
    )
    total = p.sum(-1)
    p /= total[..., np.newaxis]
    multiplier = -(side / top)[:, np.newaxis] * u * total
    value, influence = problem.evaluate(owner, p)
    w = np.maximum(1 + multiplier[..., np.newaxis] * influence, 0.1)
    root = problem.samples.root(owner, p, influence)
    return _Quest(owner, side, crit, Places(p, w, multiplier), value, root)


# --------------------------------------------------------------------------------------
# The short road
# --------------------------------------------------------------------------------------


def _land(problem: Problem, quest: _Quest) -> tuple[Array, Array]:
    """Values at the limits, and which of them to believe."""
    goals = quest.crit[:, np.newaxis] * LANDINGS
    owner, side = (np.repeat(x, len(LANDINGS)) for x in (quest.owner, quest.side))
    start, goal = _between(quest, goals), goals.ravel()
    points, reached = newton(problem, owner, start, goal, by_root=True)
    reached &= points.multiplier * side < 0
    for _ in range(_RESTARTS):
        if reached.all():
            break
        todo, donor = _neighbours(reached)
        if not len(todo):
            break
        new, arrived = newton(
            problem, owner[todo], points.take(donor), goal[todo], by_root=True
        )
        points.put(todo, new)
        reached[todo] = arrived & (new.multiplier * side[todo] < 0)
    points = points.fold(goals.shape)
    last = points.take((slice(None), -1))
    believed: Array = (
        (reached.reshape(goals.shape) & points.top).all(-1)
        & _is_steady(quest, points, goals)
        & _is_settled(problem, quest, points)
        & ~_is_outdone(problem, quest, last)
    )
    return last.value, believed


def _between(quest: _Quest, goals: Array) -> Places:
    """Interpolate in the fan where the root first exceeds the goals."""
    beyond = quest.root[:, np.newaxis] >= goals[..., np.newaxis]
    far = np.maximum(beyond.argmax(-1), 1).ravel()
    rows = np.repeat(np.arange(len(goals)), goals.shape[1])
    low, high = quest.root[rows, far - 1], quest.root[rows, far]
    share = np.clip((goals.ravel() - low) / (high - low), 0, 1)
    before, after = quest.fan.take((rows, far - 1)), quest.fan.take((rows, far))
    return before.mixed(after, share)


def _neighbours(reached: Array) -> tuple[Array, Array]:
    """Points that were not reached, and others next to them that were."""
    reached = reached.reshape(-1, len(LANDINGS))
    toward = np.zeros(reached.shape, dtype=int)
    toward[:, :-1] += reached[:, 1:]
    toward[:, 1:] = np.where(reached[:, :-1], -1, toward[:, 1:])
    todo = np.flatnonzero(~reached & (toward != 0))
    return todo, todo + toward.ravel()[todo]


def _is_steady(quest: _Quest, points: Points, goals: Array) -> Array:
    """Whether mean speeds between points are like the speeds at the points."""
    side = quest.side[:, np.newaxis]
    speed = points.speed * side
    mean = np.diff(points.value * side) / np.diff(goals)
    slow = np.minimum(speed[:, 1:], speed[:, :-1])
    fast = np.maximum(speed[:, 1:], speed[:, :-1])
    steady = (mean > slow / _STEADY) & (mean < fast * _STEADY) & (slow > 0)
    every: Array = steady.all(-1)
    return every


def _is_settled(problem: Problem, quest: _Quest, points: Points) -> Array:
    """Whether a cell without rows is kept empty at each of the points or at none.

    If one is only just kept empty, or comes in on the way, the likelihood may have
    two maxima.
    """
    empty = _kept_empty(problem, quest.owner[:, np.newaxis], points)
    firmly = empty & (points.w > _BARELY)
    settled: Array = np.all(firmly.all(1) | ~empty.any(1), axis=-1)
    return settled


def _is_outdone(problem: Problem, quest: _Quest, points: Points) -> Array:
    """Whether a place of the fan that is further out is likelier.

    The log-likelihood is concave, so some place between that one and the data has the
    value of the point and is likelier, too.
    """
    f = problem.samples.f[quest.owner, np.newaxis]
    gain = (f * np.log(quest.fan.p / points.p[:, np.newaxis])).sum(-1)
    ahead = quest.side[:, np.newaxis] * (quest.value - points.value[:, np.newaxis])
    outdone: Array = ((gain > _LIKELIER) & (ahead >= 0)).any(-1)
    return outdone


def _kept_empty(problem: Problem, owner: Array, points: Points) -> Array:
    """Which cells without rows have next to nothing at the points; shape of p."""
    samples = problem.samples
    expected = points.p * samples.n[owner, np.newaxis]
    empty: Array = (samples.counts[owner] == 0) & (expected < _STARVED)
    return empty


# --------------------------------------------------------------------------------------
# The sure road
# --------------------------------------------------------------------------------------


def _walk(problem: Problem, quest: _Quest) -> Array:
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
        onward &= ~_falls(problem, part, now, there) | (step[rows] < _CAREFUL_STEP)
        here.put(rows[onward], there.take(onward))
        stride = np.abs(there.root - now.root) / (_STRIDE * part.crit)
        step[rows] *= np.where(onward, np.clip(1 / stride, 0.5, 2), 0.25)
        step[rows] = np.minimum(step[rows], _LONGEST_STEP)
        # Where S jumps over the critical value the limit is here; where the way is
        # lost, there is none but the end of the range.
        end = problem.end(part.owner, part.side)
        gone = onward & (place * part.side > _FAR)
        kept = np.where(jumps[rows] & ~gone, here.value[rows], end)
        limit[rows] = np.where(landed, limit[rows], kept)
        rows = rows[~landed & ~gone & (step[rows] >= _SHORTEST_STEP)]
    return limit


def _beginning(problem: Problem, owner: Array) -> Points:
    """Where the curves begin: at the data, with multiplier zero."""
    p = problem.samples.f[owner]
    value = problem.evaluate(owner, p[:, np.newaxis])[0][:, 0]
    zero, root, speed = np.zeros((3, len(p)))
    return Points(p, np.ones_like(p), zero, value, root, speed, zero == 0)


def _likeliest(
    problem: Problem, quest: _Quest, here: Places, target: Array
) -> tuple[Points, Array]:
    """Likeliest points with values at the targets, and which were found.

    Newton's method from here finds one maximum. Where that fails or keeps a cell
    empty, the other is looked for: the maximum if there were rows in every cell,
    followed while they are taken away.
    """
    owner, counts = quest.owner, problem.samples.counts
    f = _untied(counts[owner])
    points, found = newton(problem, owner, here, target, by_root=False, f=f)
    found &= points.top
    k = np.flatnonzero(~found | _kept_empty(problem, owner, points).any(-1))
    if not len(k):
        return points, found
    owner, target = owner[k], target[k]
    start: Places = quest.take(k).nearest(target)
    for rows in _RIVAL_FILLS:
        f = _untied(counts[owner], rows)
        rival, reached = newton(problem, owner, start, target, by_root=False, f=f)
        start = rival
    reached &= rival.top
    gain = (f * np.log(rival.p / points.p[k])).sum(-1)
    better = reached & (~found[k] | (gain > 0))
    points.put(k[better], rival.take(better))
    found[k] |= reached
    return points, found


def _untied(counts: Array, fill: float = 0.0) -> Array:
    """Positive proportions of counts with rows added, no two of them the same."""
    cells = counts.shape[-1]
    tilt = (_UNTIED + _TILT * fill) * np.arange(cells)
    return filled((counts + fill / cells) * (1 + tilt))


def _land_between(
    problem: Problem, quest: _Quest, here: Points, there: Points
) -> tuple[Points, Array]:
    """Limits, if they lie between points inside and outside of the interval."""
    f = _untied(problem.samples.counts[quest.owner])
    last, reached = newton(problem, quest.owner, there, quest.crit, by_root=True, f=f)
    share = (last.value - here.value) / (there.value - here.value)
    best, found = _likeliest(problem, quest, last, last.value)
    agree = found & (np.abs(best.root - last.root) < _AGREE)
    return last, reached & agree & (share >= 0) & (share <= 1)


def _falls(problem: Problem, quest: _Quest, here: Points, there: Points) -> Array:
    """Whether S is lower at a maximum where another cell is empty or none is.

    Before that maximum took over, S may have been anything.
    """
    before, after = (_kept_empty(problem, quest.owner, at) for at in (here, there))
    falls: Array = (before != after).any(-1) & (there.root < here.root)
    return falls
