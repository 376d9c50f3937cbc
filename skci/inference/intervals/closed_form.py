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
critical value.

References
----------
Tversky (1977), Psychological Review 84, 327-352.
"""

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.crossing import first_crossing
from skci.inference.intervals.statistic import Samples
from skci.measures.functional import CellFunctional, Functional

# The search variable is the log of the distance of logit(H / T) from its estimate.
_FIRST_DISTANCE = 1e-3  # relative to that of the limit of a proportion
_MAX_LOGIT = 40.0

# All tables with one or two cells, and some with all of them, that tell a ratio.
_PROBES = np.vstack(
    [
        (np.eye(4)[:, np.newaxis] + np.eye(4)).reshape(16, 4) / 2,
        np.random.default_rng(0).dirichlet(np.ones(4), 8),
    ]
)


def as_tversky(functional: Functional, tables: Array = _PROBES[:0]) -> Array | None:
    """Coefficients of a Tversky ratio of four cells; None for other functionals.

    The rows are numerator, denominator, and cost of a miss relative to the costlier
    kind: 1 in X, r in Y, 0 elsewhere. They follow from the values at tables with one
    or two cells, and are checked at others: some fixed ones and those given, (J, 4).
    """
    if not isinstance(functional, CellFunctional):
        return None
    probes = np.concatenate([_PROBES, tables])
    try:
        values = functional.estimate(probes)
    except Exception:  # of a user's function that has no value at empty cells
        return None
    pairs, others = values[:16].reshape(4, 4), values[16:]
    is_hit = pairs.diagonal() > 0
    first = is_hit.argmax()
    value = pairs[first, first]
    with np.errstate(all="ignore"):
        cost = np.where(is_hit, 0.0, np.round(value / pairs[first] - 1, 12))
        ratio = np.array([value * is_hit, is_hit + cost])
        hits, total = ratio @ probes[16:].T
        agrees = np.abs(hits / total / others - 1).max() < 1e-9
    if not agrees or cost.min() < 0 or len({*cost.tolist()} - {0.0}) not in (1, 2):
        return None
    return np.array([*ratio, cost / cost.max()])


def tversky_limits(
    samples: Samples, coefficients: Array, crit: Array, bounds: Array
) -> Array:
    """Limits of Tversky ratios of J samples, shape (J, 2).

    A limit is the boundary of the range where the sample has no hits to lose (lower) or
    no misses (upper), and where the statistic does not reach the critical value.
    """
    limits = bounds.copy()
    movable = (coefficients[:, [0, 2]] > 0) & (samples.counts[:, np.newaxis] > 0)
    index, end = np.nonzero(movable.any(-1))
    if len(index):
        side = 2.0 * end - 1
        profile = _Profile(samples, index, coefficients[index], side)
        span = profile.span(crit[index])
        limits[index, end] = first_crossing(
            profile, span, crit[index], default=bounds[index, end]
        )
    return limits


class _Profile:
    """Ratio and statistic at the constrained maxima, by distance of ``logit(H / T)``.

    Profile k is of sample ``index[k]`` and a ratio with the ``coefficients[k]``, below
    the estimate (side -1) or above it (1).
    """

    def __init__(
        self, samples: Samples, index: Array, coefficients: Array, side: Array
    ) -> None:
        self._samples, self._index = samples, index
        self._side = side[:, np.newaxis]
        self._numerator, self._denominator, self._cost = np.moveaxis(
            coefficients[:, np.newaxis], 2, 0
        )
        self._hit = (self._numerator > 0).astype(float)
        self._other = 1 - self._hit - self._cost
        self._f = samples.f[index, np.newaxis]
        light = (self._cost > 0) & (self._cost < 1)
        self._hits, self._heavy, self._light = (
            (self._f * kind).sum(-1) for kind in (self._hit, self._cost == 1, light)
        )
        self._r = (light * self._cost).max(-1)
        self._scale = self._numerator.max(-1)
        misses = self._heavy + self._light
        self._total = self._hits + misses
        self._start = np.log(self._hits / misses)
        n = samples.n[index, np.newaxis]
        self._error = np.sqrt(self._total / (n * self._hits * misses))

    def span(self, crit: Array) -> tuple[Array, Array]:
        """Least and greatest log distance at which a limit may be."""
        reach = crit[:, np.newaxis] * self._error
        low = np.log(_FIRST_DISTANCE * np.minimum(reach, 1))
        return low, np.log(_MAX_LOGIT - self._side * self._start)

    def __call__(self, log_distance: Array) -> tuple[Array, Array]:
        """Ratio and square root of the statistic, shape (K, points)."""
        logit = self._start + self._side * np.exp(log_distance)
        hits, misses = self._total * expit(logit), self._total * expit(-logit)
        w_hit = (self._hits / hits)[..., np.newaxis]
        w_heavy = self._w_heavy(misses)[..., np.newaxis]
        p = self._f / (self._other + self._hit * w_hit + self._cost * w_heavy)
        total = (self._denominator * p).sum(-1)
        value = self._scale * hits / total
        slope = self._numerator - value[..., np.newaxis] * self._denominator
        influence = slope / total[..., np.newaxis]
        return value, self._samples.root(self._index, p, influence)

    def _w_heavy(self, misses: Array) -> Array:
        """Positive root of ``r Q w^2 + b w - c = 0``, without cancellation."""
        r = self._r
        b = (1 - r) * misses - r * self._heavy - self._light
        c = (1 - r) * self._heavy
        q = np.abs(b) + np.sqrt(b * b + 4 * r * c * misses)
        return np.where(b > 0, 2 * c / q, q / (2 * r * misses))
