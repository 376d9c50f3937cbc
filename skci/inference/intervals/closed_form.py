r"""Score limits of Tversky's ratios, whose constrained maxima have a closed form.

Tversky's ratio compares hits with two kinds of misses. With H, X and Y the total
probabilities of the cells of each kind,

.. math:: g(p) = \frac{a H}{b H + c X + d Y}, \qquad c > d \ge 0.

Accuracy, precision, recall, F-beta and Jaccard's index are of this form. The constraint
``g(p) = M`` is linear in p, so the constrained maximum is ``p = f / w`` with one weight
w for each kind of cell: 1 outside of the ratio, and for the misses
``w_Y = 1 - r + r w_X``, where ``r = d / c``. With T the observed share of hits and
misses, and x and y those of the misses,

.. math:: x / w_X + y / w_Y = Q = T - H

is a quadratic equation for ``w_X`` with one positive root. Each H in (0, T) thus gives
a point of the profile (M and the statistic S) and a limit is where it first crosses the
critical value. All is computed from the excesses ``w - 1``, which are small in large
samples.

References
----------
Tversky (1977), Psychological Review 84, 327-352.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.statistic import (
    Samples,
    divergence,
    first_crossing,
    smooth,
)
from skci.measures.functional import CellFunctional, Functional

# The search variable is log(expm1(d)), with d the distance of logit(H / T) from its
# estimate: the logarithm of small distances, and large ones themselves. Its points are
# dense where a limit is expected, and further apart on both sides of that.
_BAND = 0.095  # half width of where they are dense
_DENSE = np.linspace(-_BAND, _BAND, 21)
_NEAREST = 0.01  # distance of the first point, over that of the limit expected
_BEFORE = np.linspace(1, 0, 8)[:-1]  # powers of how much further than that band
_BEYOND = np.linspace(0, 1, 13)[1:]
POINTS = len(_BEFORE) + len(_DENSE) + len(_BEYOND)
"""Number of points at which a profile is evaluated at once, at most."""
_MAX_LOGIT = 40.0
_SMALL_EXCESS = 0.5  # of a weight, whose logarithm is computed from it
_SAME_VALUE = 1e-9  # relative difference of values of a ratio

# All tables with one or two cells, and some with all of them, that tell a ratio.
_PROBES = np.vstack(
    [
        (np.eye(4)[:, np.newaxis] + np.eye(4)).reshape(16, 4) / 2,
        np.random.default_rng(0).dirichlet(np.ones(4), 8),
    ]
)


def as_tversky(functional: Functional, counts: Array = _PROBES[:0]) -> Array | None:
    """Hits and misses of a Tversky ratio of four cells, and their coefficients, (3, 5).

    The rows are of hits, of the costlier misses and of the others: whether each cell is
    one, and a, c or d relative to b. None for other functionals. They follow from the
    values at some fixed tables, and are checked at those of given counts, (J, 4).
    """
    if not isinstance(functional, CellFunctional):
        return None
    try:
        ratio = _ratio_of(functional)
        tables = smooth(counts)
        values = functional.estimate(tables)
    except Exception:  # of a user's function that has no value at empty cells
        return None
    return ratio if ratio is not None and _agrees(ratio, tables, values) else None


@lru_cache
def _ratio_of(functional: CellFunctional) -> Array | None:
    """Coefficients from the tables with one or two cells, checked at the others."""
    values = functional.estimate(_PROBES)
    pairs = values[:16].reshape(4, 4)
    is_hit = pairs.diagonal() > 0
    first = is_hit.argmax()
    value = pairs[first, first]
    with np.errstate(all="ignore"):
        cost = np.where(is_hit, 0.0, np.round(value / pairs[first] - 1, 12))
        costs = sorted({*cost.tolist()} - {0.0}, reverse=True)
        heavy, *lighter = costs or [math.nan]
        light = lighter[0] if lighter else 0.0
        kinds = is_hit, cost == heavy, (cost == light) & (cost > 0)
        ratio = np.column_stack([kinds, [value, heavy, light]])
        agrees = _agrees(ratio, _PROBES[16:], values[16:])
    return ratio if agrees and len(lighter) < 2 and cost.min() >= 0 else None


def _agrees(ratio: Array, tables: Array, values: Array) -> bool:
    """Whether a ratio has the given values at some tables, (J, 4)."""
    value, heavy, light = ratio[:, 4].tolist()
    hits, of_heavy, of_light = ratio[:, :4] @ tables.T
    expected = value * hits / (hits + heavy * of_heavy + light * of_light)
    return bool(np.abs(expected / values - 1).max(initial=0) < _SAME_VALUE)


def tversky_limits(
    samples: Samples, ratios: Array, crit: Array, bounds: Array
) -> Array:
    """Limits of Tversky ratios of J samples, shape (J, 2).

    Critical values are of lower and upper limits, (J, 2). A limit is the boundary of
    the range where the sample has no hits to lose (lower) or no misses (upper), and
    where the statistic does not reach the critical value.
    """
    limits = bounds.copy()
    cells = samples.counts[:, np.newaxis] * ratios[..., :4] > 0
    movable = np.stack([cells[:, 0], cells[:, 1] | cells[:, 2]], axis=1).any(-1)
    index, end = np.nonzero(movable & (crit < np.inf))
    if len(index):
        profile = _Profile(samples, index, ratios[index], 2.0 * end - 1)
        crit = crit[index, end]
        grid = profile.grid(crit)
        limits[index, end] = first_crossing(profile, grid, crit, bounds[index, end])
    return limits


class _Profile:
    """Ratio and statistic at the constrained maxima, by distance of ``logit(H / T)``.

    Profile k is of sample ``index[k]`` and the ratio ``ratios[k]``, below the estimate
    (side -1) or above it (1). Arrays of cells are summed by their kind once: hits, the
    costlier misses and the others.
    """

    def __init__(
        self, samples: Samples, index: Array, ratios: Array, side: Array
    ) -> None:
        self._root_of, self._side = samples.root_of, side[:, np.newaxis]
        self._n = samples.n[index, np.newaxis]
        f, p_hat = samples.f[index], samples.p_hat[index]
        excess = p_hat - f
        squares = excess * excess / f
        cells = np.array([f, p_hat, 2 * excess, squares])
        # Of shape (3, K, 1) for the three kinds.
        kinds = ratios[..., :4].transpose(1, 0, 2)
        self._masses, self._observed, self._twice_excess, self._squared_excess = (
            cells[:, np.newaxis] * kinds
        ).sum(-1, keepdims=True)
        every_square = squares.sum(-1, keepdims=True)
        self._other_square = every_square - self._squared_excess.sum(0)
        self._divergence = divergence(p_hat, f).sum(-1, keepdims=True)
        self._numerator, of_heavy, of_light = ratios[..., 4:].transpose(1, 0, 2)
        self._costs, r = (of_heavy, of_light), of_light / of_heavy
        _, heavy, light = self._observed
        of_heavy, of_light = of_heavy * of_heavy, of_light * of_light
        self._squares = of_heavy, of_light, of_heavy * heavy + of_light * light
        self._hits, heavy, light = self._masses
        misses = heavy + light
        self._total = self._hits + misses
        self._shares = self._hits / self._total, misses / self._total
        self._start = np.log(self._hits / misses)
        self._quadratic = r, 1 - r, r * heavy + light, 2 * (1 - r) * heavy
        cost = heavy + r * light
        of_hit = cost / self._hits
        information = self._n * (cost * of_hit + heavy + r * r * light)
        self._error = (of_hit + cost / misses) / np.sqrt(information)

    def grid(self, crit: Array) -> Array:
        """Search variable at which a limit may be, (K, points).

        Most points are around Wilson's limits, which are symmetric on the logit scale:
        at a distance of ``2 arcsinh(z s / 2)``, with s the standard error of the logit
        to first order. By Pearson's statistic the limits are there if misses cost the
        same.
        """
        expected = 2 * np.arcsinh(crit[:, np.newaxis] * self._error / 2)
        furthest = np.maximum(_MAX_LOGIT - self._side * self._start, 2 * expected)
        first, centre, last = np.log(
            np.expm1([_NEAREST * expected, expected, furthest])
        )
        before = _BAND * ((centre - first) / _BAND) ** _BEFORE
        beyond = _BAND * ((last - centre) / _BAND) ** _BEYOND
        dense = centre + _DENSE
        return np.hstack([centre - before, dense, centre + beyond])

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Ratio and square root of the statistic, shape (K, points)."""
        distance = self._side * np.log1p(np.exp(x))
        logit = self._start + distance
        hits, misses = self._total * expit(logit), self._total * expit(-logit)
        share_of_hits, share_of_misses = self._shares
        w, v = np.empty((2, 3, *distance.shape))
        w[0] = self._hits / hits
        v[0] = np.expm1(-distance) * share_of_misses
        self._set_weights(misses, np.expm1(distance) * share_of_hits, w[1:], v[1:])
        p = self._masses / w
        of_heavy, of_light = self._costs
        missed = of_heavy * p[1] + of_light * p[2]
        value = self._numerator * hits / (hits + missed)
        # Of hits, over that of a miss of unit cost: the squared influence value.
        of_hit, (of_heavy, of_light, observed) = missed / hits, self._squares
        of_hit *= of_hit
        rho = self._observed[0] * of_hit + observed
        rho /= hits * of_hit + of_heavy * p[1] + of_light * p[2]
        change = p * v
        squares = (change + self._twice_excess) * v + self._squared_excess * w
        x2 = self._n * (self._other_square + squares.sum(0))
        logs = np.where(np.abs(v) < _SMALL_EXCESS, np.log1p(v), np.log(w))
        terms = self._observed * logs - change
        g2 = 2 * self._n * (self._divergence + terms.sum(0))
        return value, self._root_of(x2, g2, rho)

    def _set_weights(self, misses: Array, relative: Array, w: Array, v: Array) -> None:
        """Write the weights w_X and w_Y, and their excesses, without cancellation.

        Of misses Q in all the first is the positive root of the quadratic equation
        ``r Q w^2 + b w - c = 0``. With m the `relative` excess of Q over the observed
        misses, the excess v of the weight is one of ``r Q v^2 + (2 r Q + b) v = Q m``.
        """
        r, rest, constant, c = self._quadratic  # the last is twice that
        twice = 2 * misses
        a, b = r * twice, rest * misses - constant
        root = np.sqrt(b * b + c * a)
        w[0] = np.where(b > 0, c / (b + root), (root - b) / a)
        b = a + b
        v[0] = np.where(b > 0, twice * relative / (b + root), (root - b) / a)
        w[1], v[1] = rest + r * w[0], r * v[0]
