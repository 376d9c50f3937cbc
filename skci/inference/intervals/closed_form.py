"""Score limits of Tversky's ratios, for which constrained maxima have a closed form.

Tversky's ratio sets hits against two kinds of misses. With H, X and Y the sums of the
probabilities of the cells of each kind, it is

    g(p) = a H / (b H + c X + d Y),    c > d >= 0.

Accuracy, precision, recall, F_beta, Jaccard's index, ... are of this form. There
``g(p) = M`` is linear in p, and its likeliest p are ``f / w`` with weights w that are
the same for all cells of a kind: 1 for the cells that do not count, and for the misses
a pair of which one follows from the other,

    w_Y = 1 - r + r w_X,    r = d / c.

What the hits leave, the misses have. With T the share of the data that counts, and x
and y that of the misses,

    x / w_X + y / w_Y = Q = T - H,

a quadratic equation for w_X with one positive root. So any H between 0 and T gives a
constrained maximum, and with it M and the statistic S: a limit is where a function of
one variable first exceeds a given height.

References
----------
Tversky, A. (1977). Features of similarity. Psychological Review 84, 327-352.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skci._typing import Array
from skci.inference.intervals.statistic import Samples

__all__ = ["Tversky", "as_tversky", "tversky_limits"]


# The search goes by the logit of H / T, and by the logarithm of the way on it.
_NEAREST = 1e-3  # first stop, relative to how far the limit of a proportion is
_FARTHEST = 40.0  # logit at which hits or misses are as good as gone
_FAN = np.linspace(0, 1, 32)
_CLOSER = np.geomspace(1e-3, 1, 7)
_ZOOM = np.concatenate([-_CLOSER[::-1], [0], _CLOSER])  # closest around a guess
_NARROW = 0.03  # what is left to interpolation
_MARGIN = 0.01  # of what is searched, at its ends, where no guess may be
_LOOKS = 20


class Tversky(NamedTuple):
    """A Tversky ratio, by what is known of each cell."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    hit: tuple[bool, ...]
    heavy: tuple[bool, ...]
    light: tuple[bool, ...]
    """The misses of either kind: X and Y."""
    cost: tuple[float, ...]
    """1 for heavy misses, r for light ones."""


def as_tversky(functional: Any) -> Tversky | None:
    """Recognise a Tversky ratio by its coefficients, ``functional.ratio``."""
    ratio = getattr(functional, "ratio", None)
    if ratio is None:
        return None
    numerator, denominator = ratio
    cells = list(zip(numerator, denominator, strict=True))
    hits = {(a, b) for a, b in cells if a != 0}
    costs = {b for a, b in cells if a == 0 and b != 0}
    if min(map(min, cells)) < 0 or len(hits) != 1 or len(costs) not in (1, 2):
        return None
    cost = tuple(0.0 if a else b / max(costs) for a, b in cells)
    return Tversky(
        numerator,
        denominator,
        hit=tuple(a > 0 for a, _ in cells),
        heavy=tuple(each == 1 for each in cost),
        light=tuple(0 < each < 1 for each in cost),
        cost=cost,
    )


def tversky_limits(
    samples: Samples,
    ratios: Sequence[Tversky],
    which: Array,
    crit: Array,
    bounds: Array,
) -> Array:
    """Limits of the ratios `which` of J samples, shape (J, 2).

    There are some where there are hits to lose, or misses, and the statistic gets as
    far as that; if not, the limit is the end of the range.
    """
    limits = bounds.copy()
    cells = np.array([ratios[k] for k in which])
    lost = cells[:, [2, 5]] * samples.counts[:, np.newaxis]
    owner, end = np.nonzero(lost.any(-1))
    if len(owner):
        curve = _Curve(samples, owner, cells[owner])
        found = _first_crossing(curve, 2.0 * end - 1, crit[owner])
        limits[owner, end] = np.where(np.isnan(found), limits[owner, end], found)
    return limits


class _Curve:
    """Constrained maxima of ratios, by the logit of the share of the hits.

    Parameters
    ----------
    samples : Samples
    owner : array
        Which of the samples.
    cells : array of shape (owners, 6, m)
        Their ratios.
    """

    def __init__(self, samples: Samples, owner: Array, cells: Array) -> None:
        self._samples, self._owner = samples, owner
        self._f = samples.f[owner, np.newaxis]
        shares = (self._f * cells[:, 2:5]).sum(-1)[..., np.newaxis]
        self._hits, self._heavy, self._light = np.moveaxis(shares, 1, 0)
        misses = self._heavy + self._light
        self._total = self._hits + misses
        self._r = (cells[:, 4] * cells[:, 5]).max(-1, keepdims=True)
        self._gain = cells[:, 0].max(-1, keepdims=True)
        parts = np.moveaxis(cells[:, np.newaxis], 2, 0)
        self._numerator, self._denominator, self._hit, *_, self._cost = parts
        self._rest = 1 - self._hit - self._cost
        self.start = np.log(self._hits / misses)
        """Where the data are."""
        n = samples.n[owner, np.newaxis]
        self.error = np.sqrt(self._total / (n * self._hits * misses))
        """Standard error of the logit."""

    def at(self, place: Array) -> tuple[Array, Array]:
        """Values and roots of the statistic at places, shape (owners, points)."""
        hits, misses = self._total * expit(place), self._total * expit(-place)
        w_hit = (self._hits / hits)[..., np.newaxis]
        w_heavy = self._w_heavy(misses)[..., np.newaxis]
        p = self._f / (self._rest + self._hit * w_hit + self._cost * w_heavy)
        total = (self._denominator * p).sum(-1)
        value = self._gain * hits / total
        slope = self._numerator - value[..., np.newaxis] * self._denominator
        influence = slope / total[..., np.newaxis]
        return value, self._samples.root(self._owner, p, influence)

    def _w_heavy(self, misses: Array) -> Array:
        """Find the positive root w of ``r Q w^2 + b w - c = 0``; nothing cancels."""
        r = self._r
        b = (1 - r) * misses - r * self._heavy - self._light
        c = (1 - r) * self._heavy
        far = np.abs(b) + np.sqrt(b * b + 4 * r * c * misses)
        return np.where(b > 0, 2 * c / far, far / (2 * r * misses))


def _first_crossing(curve: _Curve, side: Array, crit: Array) -> Array:
    """Values where the root of the statistic first exceeds crit; NaN where never.

    Going outward, a fan of stops finds the first that is beyond. Closer fans, around
    where interpolation puts the crossing, narrow it down.
    """
    side, crit = side[:, np.newaxis], crit[:, np.newaxis]
    low = np.log(_NEAREST * np.minimum(crit * curve.error, 1))
    high = np.log(_FARTHEST - side * curve.start)
    way = low + (high - low) * _FAN
    value, root = curve.at(curve.start + side * np.exp(way))
    crosses = (root >= crit).any(-1)
    for _ in range(_LOOKS):
        near = _around_first(root >= crit)
        way, value, excess = way[near], value[near], np.log(root[near] / crit)
        low, high = way[:, :1], way[:, -1:]
        guess, found = _at_zero(excess, np.stack([way, value]))
        if not (crosses & (high - low > _NARROW)[:, 0]).any():
            break
        margin = _MARGIN * (high - low)
        guess = _within(low + margin, guess, high - margin)
        way = guess + np.where(_ZOOM < 0, guess - low, high - guess) * _ZOOM
        value, root = curve.at(curve.start + side * np.exp(way))
    found = _within(value.min(-1), found[:, 0], value.max(-1))
    return np.where(crosses, found, np.nan)


def _around_first(beyond: Array) -> tuple[Array, Array]:
    """Index of four neighbours, two of them before the first that is beyond."""
    beyond[:, -1] = True
    first = np.maximum(np.minimum(beyond.argmax(-1) - 2, beyond.shape[1] - 4), 0)
    return np.arange(len(first))[:, np.newaxis], first[:, np.newaxis] + np.arange(4)


def _at_zero(x: Array, y: Array) -> Array:
    """Values at 0 of polynomials through points, by Neville's scheme."""
    for gap in range(1, x.shape[-1]):
        left, right = x[:, :-gap], x[:, gap:]
        y = (y[..., 1:] * left - y[..., :-1] * right) / (left - right)
    return y


def _within(low: Array, x: Array, high: Array) -> Array:
    """Draw x into a range; it is in there even where it is NaN."""
    inside: Array = np.fmin(np.fmax(x, low), high)
    return inside
