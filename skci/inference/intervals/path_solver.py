"""Score limits of general functionals, on the path of constrained maxima.

Newton's method first solves for four points of the path at once, the last of which is
the limit (`newton_jump`). The limit is accepted unless the points suggest an earlier
crossing or a competing local maximum of the likelihood. Otherwise the path is followed
from the data by continuation, with a search for such maxima at each step
(`follow_path`).
"""

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.path import (
    Batch,
    PathPoint,
    Problem,
    ProfilePoint,
    newton,
)
from skci.inference.intervals.statistic import are_equal, smooth

_NEAR = 1e-3  # error of a limit, relative to the width of the interval
_STARTS = 2 ** np.linspace(-3, 3, 19)  # tilts, relative to a linear functional
_FITTED_ZERO = 0.05  # expected count below which an empty cell's fit is zero

# Newton jump.
LEVELS = np.array([0.4, 0.6, 0.8, 1.0])  # roots, relative to the critical value
_APART = np.abs(LEVELS - LEVELS[:, np.newaxis])
_RETRIES = 3
_SECANT_FACTOR = 2.0  # largest ratio of a secant to the tangents at its endpoints
_FIRM_WEIGHT = 0.25  # w above which a fitted zero of a cell stays zero
_MIN_GAIN = 1e-9  # log-likelihood per observation gained by a competing maximum

# Path following, with steps on the real line, for example of the logit.
_PSEUDO_COUNTS = 2.0, 0.4, 0.08, 0.0  # homotopy from the interior to another maximum
_TILT, _MIN_TILT = 0.02, 1e-10  # per pseudo-count, minimum; paths fork at ties
_ROOT_TOLERANCE = 1e-6
_FIRST_STEP, _MAX_STEP, _MIN_STEP = 0.02, 1.0, 1e-8
_ROOT_INCREMENT = 0.1  # target for a step, relative to the critical value
_SWITCH_STEP = 1e-3  # step below which S may decrease at a change of the maximum
_MAX_STEPS = 200
_FAR = 25.0  # a limit beyond this is the boundary of the range


class Paths(Problem):
    """Score intervals that are found by a search along profile likelihoods."""

    def limits(self, crit: Array) -> Array:
        """Find the limits at which the square root of the statistic equals `crit`.

        The result has shape (J, 2).
        """
        limits = self.bounds.copy()
        index, side = np.nonzero(self.has_interior_limit() & (crit < np.inf))
        if len(index):
            search = initialise(self, index, 2.0 * side - 1, crit[index, side])
            value, accepted = newton_jump(self, search)
            rejected = np.flatnonzero(~accepted)
            if len(rejected):
                value[rejected] = follow_path(self, search[rejected])
            limits[index, side] = self.to_functional(index, value)
        return limits

    def roots(self, nulls: Array) -> Array:
        """Compute the signed square root of the test statistic at null values.

        Unreliable roots are NaN. To check a root, a limit is computed with the root as
        critical value. This limit must equal the null value.
        """
        index = np.arange(len(nulls))
        target = self.from_functional(index, nulls)
        side = np.where(target > self.interior_value, 1.0, -1.0)
        search = initialise(self, index, side, np.ones(len(nulls)))
        start = search.nearest(target)
        points, converged = _constrained_maximum(self, search, start, target)
        low, high = self.limits(np.stack([points.root, points.root], axis=1)).T
        is_above = self.estimate > nulls
        distance = np.where(is_above, low - nulls, nulls - high)
        converged &= ~(np.abs(distance) > _NEAR * (high - low))
        roots = np.where(converged, np.where(is_above, 1, -1) * points.root, np.nan)
        ranges = np.ptp(self.bounds, axis=-1)
        return np.where(are_equal(nulls, self.estimate, ranges), 0, roots)


@dataclass
class SearchState(Batch):
    """State of the search for K limits, with k starting points for each limit."""

    index: Array
    side: Array
    """-1 for a lower limit, 1 for an upper limit."""
    crit: Array
    starts: PathPoint
    value: Array
    root: Array
    """Square root of the statistic at the starting points."""

    def nearest(self, target: Array) -> PathPoint:
        """Return the starting points with values nearest to the targets."""
        nearest = np.abs(self.value - target[:, np.newaxis]).argmin(-1)
        return self.starts[np.arange(len(target)), nearest]


def initialise(problem: Problem, index: Array, side: Array, crit: Array) -> SearchState:
    """Create starting points at increasing distances from the data.

    The points are ``p = q / (1 - u L / max L)``, normalised, where L are the influence
    values at the smoothed proportions q, and u increases from 0 towards 1. For linear
    functionals, these points lie on the path.
    """
    q = problem.interior[index]
    slope = side[:, np.newaxis] * problem.interior_influence[index]
    steepest = slope.max(-1)
    tilt = crit * steepest / (problem.samples.n * problem.standard_error)[index]
    u = -np.expm1(np.log1p(-np.minimum(tilt, 0.9))[:, np.newaxis] * _STARTS)
    relative = (slope.T / steepest).T[:, np.newaxis]
    p = q[:, np.newaxis] / (1 - u[..., np.newaxis] * relative)
    total = p.sum(-1)
    p /= total[..., np.newaxis]
    multiplier = (-(side / steepest)[:, np.newaxis] * u * total)[..., np.newaxis]
    value, influence = problem.evaluate(index, p)
    w = np.maximum(1 + multiplier * influence, 0.1)
    root = problem.samples.subset(index).root(p, influence)
    return SearchState(index, side, crit, PathPoint(p, w, multiplier), value, root)


def _fitted_zeros(problem: Problem, index: Array, points: PathPoint) -> Array:
    """Return a mask of empty cells with an expected count near zero."""
    expected = points.p * problem.samples.n[index, np.newaxis]
    return (problem.samples.counts[index] == 0) & (expected < _FITTED_ZERO)


def newton_jump(problem: Problem, search: SearchState) -> tuple[Array, Array]:
    """Compute limits by Newton's method from interpolated starting points.

    Returns the limits, and a mask of the limits that are reliable.
    """
    levels = search.crit[:, np.newaxis] * LEVELS
    index, side = (np.repeat(a, len(LEVELS)) for a in (search.index, search.side))
    f, target = problem.samples.f[index], levels.ravel()

    def solve(x: PathPoint, k: Array) -> tuple[ProfilePoint, Array]:
        points, converged = newton(problem, index[k], f[k], x, target[k], by_root=True)
        return points, converged & (points.multiplier[:, 0] * side[k] < 0)

    start = _interpolate_starts(search, levels)
    points, converged = solve(start, np.arange(len(index)))
    for _ in range(_RETRIES):  # from points at the nearest levels that converged
        by_level = converged.reshape(levels.shape)
        retry = np.flatnonzero(~converged & np.repeat(by_level.any(-1), len(LEVELS)))
        if not len(retry):
            break
        distances = np.where(by_level[:, np.newaxis], _APART, np.inf)
        nearest = distances.argmin(-1) + len(LEVELS) * np.arange(len(by_level))[:, None]
        points[retry], converged[retry] = solve(points[nearest.flat[retry]], retry)
    fields = vars(points).values()
    points = ProfilePoint(*[x.reshape(*levels.shape, *x.shape[1:]) for x in fields])
    accepted = converged.reshape(levels.shape).all(-1)
    return points.value[:, -1], accepted & _is_reliable(problem, search, points, levels)


def _interpolate_starts(search: SearchState, levels: Array) -> PathPoint:
    """Compute starting points of Newton's method by interpolation.

    Each starting point approximates the first point of a profile where the square root
    of the test statistic reaches one of the `levels`.
    """
    beyond = search.root[:, np.newaxis] >= levels[..., np.newaxis]
    after = np.maximum(beyond.argmax(-1), 1).ravel()
    rows = np.repeat(np.arange(len(levels)), levels.shape[1])
    low, high = search.root[rows, after - 1], search.root[rows, after]
    share = np.clip((levels.ravel() - low) / (high - low), 0, 1)[:, np.newaxis]
    mixed = [
        (1 - share) * array[rows, after - 1] + share * array[rows, after]
        for array in vars(search.starts).values()
    ]
    return PathPoint(*mixed)


def _is_reliable(
    problem: Problem, search: SearchState, points: ProfilePoint, levels: Array
) -> Array:
    """Return a mask of the limits from Newton's method that are reliable.

    A limit is unreliable if the profile seems to cross the critical value earlier, or
    if the likelihood seems to have another maximum.
    """
    side = search.side[:, np.newaxis]
    # Secants of the profile agree with the tangents unless the profile turns back.
    tangent = points.tangent * side
    secant = np.diff(points.value * side) / np.diff(levels)
    smaller = np.minimum(tangent[:, 1:], tangent[:, :-1])
    larger = np.maximum(tangent[:, 1:], tangent[:, :-1])
    agree = (secant > smaller / _SECANT_FACTOR) & (secant < larger * _SECANT_FACTOR)
    monotone = (agree & (smaller > 0)).all(-1)

    maximum = points.is_maximum.all(-1) & monotone
    if problem.has_one_maximum:
        return maximum

    # Each empty cell has a firm fitted value of zero at all points or at no point.
    # Otherwise there may be two maxima.
    zeros = _fitted_zeros(problem, search.index[:, np.newaxis], points)
    firm = zeros & (points.w > _FIRM_WEIGHT)
    constant = (firm.all(1) | ~zeros.any(1)).all(-1)

    # No starting point beyond the limit has a larger likelihood than the limit.
    # Otherwise, because the log-likelihood is concave, a point between this starting
    # point and the data would have the value of the limit and a larger likelihood.
    f = problem.samples.f[search.index, np.newaxis]
    gain = (f * np.log(search.starts.p / points.p[:, -1:])).sum(-1)
    ahead = side * (search.value - points.value[:, -1:])
    competing = ((gain > _MIN_GAIN) & (ahead >= 0)).any(-1)
    return maximum & constant & ~competing


def follow_path(problem: Problem, search: SearchState) -> Array:
    """Compute limits by steps along the profile likelihood, starting at the data.

    If the likelihood has two maxima, the test statistic may jump over the critical
    value. The limit is then the value at the jump. If no step succeeds, the limit is
    the boundary of the range.
    """
    current = _path_origin(problem, search.index)
    bound = problem.bounds[search.index, (search.side > 0).astype(int)]
    boundary = problem.from_functional(search.index, bound)
    limit = boundary.copy()
    step = np.full(len(limit), _FIRST_STEP)
    rows = np.flatnonzero(np.isfinite(current.value))
    for _ in range(_MAX_STEPS):
        if not len(rows):
            break
        part, here = search[rows], current[rows]
        x = problem.to_line(part.index, here.value) + part.side * step[rows]
        target = problem.from_line(part.index, x)
        there, converged = _constrained_maximum(problem, part, here, target)

        crossed = converged & (there.root >= part.crit)
        value = np.where(crossed, here.value, boundary[rows])
        solved = np.zeros(len(rows), dtype=bool)
        k = np.flatnonzero(crossed)
        if len(k):
            value[k], solved[k] = _limit_between(problem, part[k], here[k], there[k])
        limit[rows] = value

        moved = converged & (there.root < part.crit)
        # If other cells have a fitted zero and S decreased, the global maximum changed
        # in between, at a value where S may have been larger.
        zeros_here, zeros_there = (
            _fitted_zeros(problem, part.index, at) for at in (here, there)
        )
        drops = (zeros_here != zeros_there).any(-1) & (there.root < here.root)
        moved &= ~drops | (step[rows] < _SWITCH_STEP)
        current[rows[moved]] = there[moved]
        increment = np.abs(there.root - here.root) / (_ROOT_INCREMENT * part.crit)
        step[rows] *= np.where(moved, np.clip(1 / increment, 0.5, 2), 0.25)
        step[rows] = np.minimum(step[rows], _MAX_STEP)
        far = moved & (x * part.side > _FAR)
        rows = rows[~solved & ~far & (step[rows] >= _MIN_STEP)]
    return limit


def _path_origin(problem: Problem, index: Array) -> ProfilePoint:
    """Return the start of each profile: the observed proportions of the cells."""
    p = problem.samples.f[index]
    value = problem.evaluate(index, p[:, np.newaxis])[0][:, 0]
    root, tangent = np.zeros((2, len(p)))
    multiplier = np.zeros((len(p), 1))
    return ProfilePoint(p, np.ones_like(p), multiplier, value, root, tangent, root == 0)


def _constrained_maximum(
    problem: Problem, search: SearchState, start: PathPoint, target: Array
) -> tuple[ProfilePoint, Array]:
    """Maximise the likelihood for fixed values of the functionals.

    Returns the cell probabilities at the maxima, and a mask of convergence. Newton's
    method from `start` finds a local maximum. If the method fails, or if some cell has
    probability zero at the maximum, another maximum is computed after pseudo-counts are
    added to all cells. The pseudo-counts are then reduced to zero in steps.
    """
    index, counts = search.index, problem.samples.counts
    f = _break_ties(counts[index])
    points, is_maximum = newton(problem, index, f, start, target, by_root=False)
    is_maximum &= points.is_maximum
    if problem.has_one_maximum and is_maximum.all():
        return points, is_maximum
    k = np.flatnonzero(~is_maximum | _fitted_zeros(problem, index, points).any(-1))
    if not len(k):
        return points, is_maximum
    index, target = index[k], target[k]
    start = search[k].nearest(target)
    for pseudo_count in _PSEUDO_COUNTS:
        f = _break_ties(counts[index], pseudo_count)
        rival, rival_converged = newton(problem, index, f, start, target, by_root=False)
        start = rival
    rival_converged &= rival.is_maximum
    gain = (f * np.log(rival.p / points.p[k])).sum(-1)
    better = rival_converged & (~is_maximum[k] | (gain > 0))
    points[k[better]] = rival[better]
    is_maximum[k] |= rival_converged
    return points, is_maximum


def _break_ties(counts: Array, pseudo_count: float = 0.0) -> Array:
    """Convert counts to proportions that are positive and slightly perturbed.

    The perturbation makes equal counts distinct.
    """
    cells = counts.shape[-1]
    tilt = (_MIN_TILT + _TILT * pseudo_count) * np.arange(cells)
    return smooth((counts + pseudo_count / cells) * (1 + tilt))


def _limit_between(
    problem: Problem, search: SearchState, inside: ProfilePoint, outside: ProfilePoint
) -> tuple[Array, Array]:
    """Solve for limits between a point inside and a point outside the interval.

    Returns the limits, and a mask of convergence. Without convergence, the limit is the
    value at the inside point.
    """
    index, crit = search.index, search.crit
    f = _break_ties(problem.samples.counts[index])
    limit, _ = newton(problem, index, f, outside, crit, by_root=True)
    # If the fitted zero of an empty cell is not firm, the last step was not small.
    limit, converged = newton(problem, index, f, limit, crit, by_root=True)
    share = (limit.value - inside.value) / (outside.value - inside.value)
    best, is_accepted = _constrained_maximum(problem, search, limit, limit.value)
    agree = np.abs(best.root - limit.root) < _ROOT_TOLERANCE
    is_accepted &= converged & agree & (share >= 0) & (share <= 1)
    return np.where(is_accepted, limit.value, inside.value), is_accepted
