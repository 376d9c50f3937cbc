"""Where a profile of the likelihood first crosses a critical value."""

from collections.abc import Callable

import numpy as np

from skci._arrays import Array

Profile = Callable[[Array], tuple[Array, Array]]
"""Value of K functionals and square root of the statistic at points of the path of
constrained maxima, numbered by a variable of shape (K, points) that increases outward
from the estimate."""

_GRID = np.linspace(0, 1, 32)
_HALF_GRID = np.geomspace(1e-3, 1, 7)
_ZOOM_GRID = np.concatenate([-_HALF_GRID[::-1], [0], _HALF_GRID])  # dense at the guess
_IS_BELOW = _ZOOM_GRID < 0
_NEIGHBOURS = np.arange(4)  # two of them before the first point beyond
_MAX_ZOOMS = 20
_TOLERANCE = 0.03  # width of a bracket that is left to interpolation
_MARGIN = 0.01  # relative distance of a guess from the ends of its bracket

POINTS = len(_GRID)
"""Number of points at which a profile is evaluated at once, at most."""


def first_crossing(
    profile: Profile,
    span: tuple[Array, Array],
    crit: Array,
    default: Array,
    grid: Array = _GRID,
) -> Array:
    """Values where the root of the statistic first exceeds crit, or the defaults.

    A coarse grid over the span, outward from the estimate, brackets the first crossing;
    finer grids around its inverse interpolation narrow the bracket.
    """
    crit, (low, high) = crit[:, np.newaxis], span
    rows = np.arange(len(crit))[:, np.newaxis]
    x = low + (high - low) * grid
    value, root = profile(x)
    beyond = root >= crit
    exists = beyond.any(-1)
    for _ in range(_MAX_ZOOMS):
        beyond[:, -1] = True
        first = np.maximum(np.minimum(beyond.argmax(-1) - 2, beyond.shape[1] - 4), 0)
        near = rows, first[:, np.newaxis] + _NEIGHBOURS
        x, value, excess = x[near], value[near], np.log(root[near] / crit)
        low, high = x[:, :1], x[:, -1:]
        guess, crossing = _interpolate_at_zero(excess, np.array([x, value]))
        width = high - low
        if not (width[exists] > _TOLERANCE).any():
            break
        margin = _MARGIN * width
        guess = np.fmin(np.fmax(guess, low + margin), high - margin)  # never NaN
        x = guess + np.where(_IS_BELOW, guess - low, high - guess) * _ZOOM_GRID
        value, root = profile(x)
        beyond = root >= crit
    crossing = np.fmin(np.fmax(crossing[:, 0], value.min(-1)), value.max(-1))
    return np.where(exists, crossing, default)


def _interpolate_at_zero(x: Array, y: Array) -> Array:
    """Values at 0 of interpolating polynomials, by Neville's algorithm."""
    for gap in range(1, x.shape[-1]):
        left, right = x[:, :-gap], x[:, gap:]
        y = (y[..., 1:] * left - y[..., :-1] * right) / (left - right)
    return y
