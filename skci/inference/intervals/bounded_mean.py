r"""Score limits of means of bounded values, by constrained maxima in closed form.

The values :math:`x_i` of the cells include both ends of their range, also where no row
has them. The likelihood of cell probabilities p subject to ``sum p x = M`` is greatest
at

.. math:: p_i = \frac{f_i}{1 + \lambda (x_i - M)} ,

with f the observed proportions (Owen, 2001). Below the estimate, with the distances
:math:`d_i = x_i - \min x`, these are the points of

.. math:: p_i = \frac{f_i}{c (1 + s d_i)}, \qquad c = \sum_i \frac{f_i}{1 + s d_i} ,

:math:`s > 0`, and M decreases in s. A tiny proportion stands for an end that was not
observed: it takes the mass that is left once :math:`\lambda` reaches its greatest
value. Above the estimate values are reversed. Where rows of a table of several means
have the same value of a linear combination of them, they have the same
:math:`p_i / f_i`, so that the limits of the combination are those of the mean of its
values.

References
----------
Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.statistic import Samples, divergence, first_crossing
from skci.measures.functional import (
    Component,
    Functional,
    LinearCombination,
    Mean,
    Negative,
)

_MOST_TILT = 60.0  # logarithm at which all mass is at the end of the range
_STEPS = 60  # of Newton's method, which needs about six
_CONVERGED = 1e-11  # relative step
_SAME = 1e-9  # relative difference of statistics that makes no difference to limits
_BEYOND = 0.01  # distance in log tilt that a limit is searched beyond its bracket
_GRID = np.linspace(0, 1, 8)
_NEAR = 1e-3  # share of the width of an interval by which a limit is inaccurate


def values_of_mean(functional: Functional) -> Array | None:
    """Values that a functional is the mean of, of the cells; None if it is no mean.

    A linear combination of means of the same rows is the mean of that of their values.
    """
    if isinstance(functional, Mean):
        return functional.values
    if isinstance(functional, Negative):
        values = values_of_mean(functional.functional)
        return None if values is None else -values
    if isinstance(functional, Component) and not functional.is_partial:
        values = values_of_mean(functional.functional)
        return None if values is None else values[functional.cells]
    if type(functional) is not LinearCombination:
        return None
    total = np.zeros(1)
    for coefficient, component in zip(
        functional.coefficients, functional.components, strict=True
    ):
        values = values_of_mean(component)
        if values is None:
            return None
        total = total + coefficient * values
    return total


def mean_limits(samples: Samples, values: Array, crit: Array, bounds: Array) -> Array:
    """Limits of the means of values of the cells, (J, m), of J samples: (J, 2).

    Critical values are of lower and upper limits, (J, 2). A limit is the boundary of
    the range where all rows are there.
    """
    limits = bounds.copy()
    away = (
        values[:, np.newaxis] != np.stack([values.min(-1), values.max(-1)]).T[..., None]
    )
    movable = (away & (samples.counts[:, np.newaxis] > 0)).any(-1)
    index, end = np.nonzero(movable & (crit < np.inf))
    if len(index):
        profile = _Profile(samples, index, values[index], 2.0 * end - 1)
        crit = crit[index, end]
        first, last = profile.bracket(crit)
        grid = first + (last - first) * _GRID
        limits[index, end] = first_crossing(profile, grid, crit, limits[index, end])
    return limits


def mean_roots(samples: Samples, values: Array, nulls: Array) -> Array:
    """Signed roots of the statistic at nulls inside the range of the values, (J,).

    NaN where the statistic is as great at a value that is nearer to the estimate.
    """
    estimates = (samples.p_hat * values).sum(-1)
    side = np.where(nulls > estimates, 1.0, -1.0)
    profile = _Profile(samples, np.arange(len(nulls)), values, side)
    at_null = profile.at(profile.tilt_at(nulls))
    roots = -side * at_null.root
    # The statistic is at most Pearson's, which increases outward.
    below = at_null.x2 - at_null.root**2 > _SAME * at_null.x2
    doubtful = np.flatnonzero(below & (at_null.root > 0))
    if len(doubtful):
        among, crit = samples.among(doubtful), at_null.root[doubtful]
        crit = np.stack([crit, crit], axis=1)
        bounds = np.stack([values.min(-1), values.max(-1)], axis=-1)[doubtful]
        low, high = mean_limits(among, values[doubtful], crit, bounds).T
        distance = np.maximum(low - nulls[doubtful], nulls[doubtful] - high)
        roots[doubtful[distance > _NEAR * (high - low)]] = np.nan
    return roots


class _Point(NamedTuple):
    """Constrained maxima at some tilts: their mean, and statistics of them."""

    mean: Array
    """Mean distance from the end of the range, over its width."""
    x2: Array
    g2: Array
    root: Array


class _Profile:
    r"""Constrained maxima of K means by the tilt s.

    Profile k is of sample ``index[k]`` and the values ``values[k]``, below the estimate
    (side -1) or above it (1). With :math:`r_i = 1 / (1 + s d_i)` and :math:`c = \sum
    f_i r_i`, sums over the cells that do not depend on s are computed once.
    """

    def __init__(
        self, samples: Samples, index: Array, values: Array, side: Array
    ) -> None:
        self._samples, self._side = samples, side
        low, high = values.min(-1), values.max(-1)
        self._end, self._width = np.where(side < 0, low, high), high - low
        d = np.abs(values - self._end[:, np.newaxis]) / self._width[:, np.newaxis]
        f, p_hat = samples.f[index], samples.p_hat[index]
        self._n = samples.n[index]
        self._d, self._f, self._p_hat = d, f, p_hat
        self._fd, self._fdd = f * d, f * d * d
        change = p_hat - f
        self._squares = (change**2 / f).sum(-1), (p_hat * p_hat / f * d).sum(-1)
        self._moments = (p_hat * d).sum(-1), (p_hat * d * d).sum(-1)
        self._entropy = divergence(p_hat, f).sum(-1)

    def __call__(self, log_tilt: Array) -> tuple[Array, Array]:
        """Mean and square root of the statistic by the log of the tilt, (K, points)."""
        means, _, _, roots = zip(*map(self.at, np.exp(log_tilt.T)), strict=True)
        values = self._end - self._side * self._width * np.array(means)
        return values.T, np.array(roots).T

    def at(self, s: Array) -> _Point:
        """Mean and statistics at a tilt of each profile, (K,)."""
        sd = s[:, np.newaxis] * self._d
        logarithm = _dot(self._p_hat, np.log1p(sd))
        r = 1 / (1 + sd)
        c, total = _dot(self._f, r), _dot(self._fd, r)
        mean, square = total / c, _dot(self._fdd, r) / c
        first, second = self._moments
        constant, slope = self._squares
        x2 = self._n * _x2(s, c, s * total, constant, slope)
        g2 = 2 * self._n * (self._entropy + _log(c, s * total) + logarithm)
        rho = (second - 2 * mean * first + mean**2) / (square - mean**2)
        return _Point(mean, x2, g2, self._samples.root_of(x2, g2, rho))

    def tilt_at(self, values: Array) -> Array:
        """Tilts at which means are some values beyond the estimates, (K,)."""
        distance = np.abs(values - self._end) / self._width
        target = np.log(distance) - np.log1p(-distance)

        def logit(x: Array, rows: Array) -> tuple[Array, Array]:
            s = np.expm1(x)
            r = 1 / (1 + s[:, np.newaxis] * self._d[rows])
            fr = self._f[rows] * r
            c, mean = fr.sum(-1), _dot(self._fd[rows], r)
            fr *= r
            change = mean / c * _dot(fr, self._d[rows]) - _dot(self._fdd[rows], r * r)
            mean /= c
            slope = change / c * (1 + s) / (mean * (1 - mean))
            return target[rows] - np.log(mean) + np.log1p(-mean), -slope

        first, second = self._moments
        with_mean = (first - distance) / np.maximum(second - first**2, 1e-300)
        start = np.log1p(np.clip(with_mean, 1e-12, 1e6))
        return np.expm1(_solve(logit, 0.0, start, _MOST_TILT))

    def bracket(self, crit: Array) -> tuple[Array, Array]:
        """Log tilts between which the statistic first reaches critical values, (K, 1).

        Below the first, Pearson's is less, which is not exceeded; at the second, the
        lesser of it and the likelihood ratio is as great.
        """
        log_square = 2 * np.log(crit)

        def x2(x: Array, rows: Array) -> tuple[Array, Array]:
            s, r, c, steepness = self._weights(x, rows)
            constant, slope = self._squares[0][rows], self._squares[1][rows]
            missing = s * _dot(self._fd[rows], r)
            value = self._n[rows] * _x2(s, c, missing, constant, slope)
            change = c * slope - (1 + constant + s * slope) * steepness
            change *= self._n[rows]
            return np.log(value) - log_square[rows], change * s / value

        def g2(x: Array, rows: Array) -> tuple[Array, Array]:
            s, r, c, steepness = self._weights(x, rows)
            p_hat, d = self._p_hat[rows], self._d[rows]
            value = self._entropy[rows] + _log(c, s * _dot(self._fd[rows], r))
            value += _dot(p_hat, np.log1p(s[:, np.newaxis] * d))
            change = _dot(p_hat * d, r) - steepness / c
            level = log_square[rows] - np.log(2 * self._n[rows])
            return np.log(value) - level, change * s / value

        first, second = self._moments
        start = crit / np.sqrt(self._n * np.maximum(second - first**2, 1e-300))
        low = _solve(x2, -_MOST_TILT, np.log(start), _MOST_TILT)
        high = low.copy()
        beyond = np.flatnonzero(g2(low, np.arange(len(low)))[0] < 0)
        if len(beyond):
            high[beyond] = _solve(
                lambda x, rows: g2(x, beyond[rows]),
                low[beyond],
                low[beyond],
                _MOST_TILT,
            )
        return (low - _BEYOND)[:, np.newaxis], (high + _BEYOND)[:, np.newaxis]

    def _weights(self, x: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Tilts s, the weights r, their sum c and minus its derivative in s."""
        s = np.exp(x)
        r = 1 / (1 + s[:, np.newaxis] * self._d[rows])
        return s, r, _dot(self._f[rows], r), _dot(self._fd[rows], r * r)


def _x2(s: Array, c: Array, missing: Array, constant: Array, slope: Array) -> Array:
    """Pearson's statistic of one row, without rounding at small tilts.

    The sum c of the weights is 1 less what is `missing`, which is small there.
    """
    ratio = constant + s * slope
    return np.where(missing < 0.5, ratio - missing * (1 + ratio), c * (1 + ratio) - 1)


def _log(c: Array, missing: Array) -> Array:
    """Logarithm of the sum c of the weights, without rounding where it is almost 1."""
    return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.log(c))


def _dot(a: Array, b: Array) -> Array:
    """Sums of products along the last axis."""
    return np.einsum("km,km->k", a, b)


def _solve(
    function: Callable[[Array, Array], tuple[Array, Array]],
    least: Array | float,
    start: Array,
    most: float,
) -> Array:
    """Zeros of increasing functions by Newton's method, with bisection where it fails.

    The function takes points and which of the K functions they are for, and gives
    values and derivatives.
    """
    low, high = np.full(start.shape, least), np.full(start.shape, most)
    x = np.clip(start, low, high)
    step = high - low
    rows = np.arange(len(x))
    for _ in range(_STEPS):
        here = x[rows]
        value, slope = function(here, rows)
        below = ~(value > 0)
        low[rows[below]], high[rows[~below]] = here[below], here[~below]
        moved = here - value / slope
        near = (moved >= low[rows]) & (moved <= high[rows])
        near &= np.abs(moved - here) <= step[rows] / 2  # Newton's method converges
        x[rows] = np.where(near, moved, (low[rows] + high[rows]) / 2)
        step[rows] = np.abs(x[rows] - here)
        rows = rows[step[rows] > _CONVERGED * np.maximum(np.abs(here), 1)]
        if not len(rows):
            break
    return x
