r"""Score limits of ratios of means, whose constrained maxima have a closed form.

A ratio ``g(p) = (A p) / (B p)`` with ``B >= 0`` has the value M where ``(A - M B) p``
is zero: a linear constraint, so that the constrained maximum is

.. math:: p_i = f_i / w_i, \qquad w_i = 1 + \lambda (A_i - M B_i).

It is on a curve of one variable, the distance from the estimate, of which p follows
without a search in two cases.

*Means of bounded values*, where B is one. The values of the cells include both ends of
their range, also where no row has them. Below the estimate, with the distances d from
the lower end, ``w = c (1 + s d)``, where s > 0 is free and c is such that p adds up
to one (Owen, 2001); above it, values are reversed. A tiny proportion stands for an end
that was not observed: it takes the mass that is left once the multiplier reaches its
greatest value.

*Tversky's ratios* of hits to hits and two kinds of misses, as accuracy, precision,
recall, F-beta and Jaccard's index. Hits have all one weight, cells outside of the
ratio the weight 1, and misses ``w = 1 + v B``. Of a total Q of misses v is the root of
a quadratic equation, and the rest are hits.

In both cases the odds of the end of the range change by the same factor ``exp(d)`` as
the odds of a proportion would, where d is the distance; the variable of the search is
``log(expm1(d))``: the logarithm of small distances, and large ones themselves.

References
----------
Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.

Tversky (1977), Psychological Review 84, 327-352.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.statistic import (
    Samples,
    are_equal,
    first_crossing,
    smooth,
)
from skci.measures.functional import (
    CellFunctional,
    Component,
    Functional,
    LinearCombination,
    Mean,
    Negative,
)

# Points of the search are dense where a limit is expected, and further apart on both
# sides of that.
_BAND = 0.0285  # half width of where they are dense
_DENSE = np.linspace(-_BAND, _BAND, 7)
_NEAREST = 0.01  # distance of the first point, over that of the limit expected
_BEFORE = np.linspace(1, 0, 6)[:-1]  # powers of how much further than that band
_BEYOND = np.linspace(0, 1, 9)[1:]
POINTS = len(_BEFORE) + len(_DENSE) + len(_BEYOND)
"""Number of points of a curve that are computed at once, at most."""
_FARTHEST = 60.0  # distance at which all mass is at an end of the range
_MOST_NUMBERS = 2**16  # in arrays of points and cells, to bound the memory
_SAME_VALUE = 1e-9  # relative difference of values of a ratio
_SAME = 1e-9  # relative difference of statistics that makes no difference to limits

# All tables with one or two cells, and some with all of them, that tell a ratio.
_PROBES = np.vstack(
    [
        (np.eye(4)[:, np.newaxis] + np.eye(4)).reshape(16, 4) / 2,
        np.random.default_rng(0).dirichlet(np.ones(4), 8),
    ]
)


def values_of_mean(functional: Functional) -> Array | None:
    """Values that a functional is the mean of, of the cells; None if it is no mean.

    A linear combination of means of the same rows is the mean of that of their values:
    where its values are the same, rows have the same :math:`p_i / f_i`.
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


def as_ratio(
    functional: Functional, counts: Array = _PROBES[:0]
) -> tuple[type["Ratios"], Array] | None:
    """Kind of a mean or a Tversky ratio, and coefficients A and B, (2, m).

    None for other functionals. Those of a ratio follow from the values at some fixed
    tables, and are checked at those of given counts, (J, 4).
    """
    values = values_of_mean(functional)
    if values is not None:
        return Means, np.stack([values, np.ones_like(values)])
    if not isinstance(functional, CellFunctional):
        return None
    try:
        ratio = _ratio_of(functional)
        tables = smooth(counts)
        values = functional.estimate(tables)
    except Exception:  # of a user's function that has no value at empty cells
        return None
    if ratio is None or not _agrees(ratio, tables, values):
        return None
    return TverskyRatios, ratio


@lru_cache
def _ratio_of(functional: CellFunctional) -> Array | None:
    """Coefficients from the tables with one or two cells, checked at the others."""
    values = functional.estimate(_PROBES)
    pairs = values[:16].reshape(4, 4)
    is_hit = pairs.diagonal() > 0
    value = pairs[is_hit.argmax()]
    with np.errstate(all="ignore"):
        cost = np.where(is_hit, 0.0, np.round(value.max() / value - 1, 12))
        ratio = np.array([is_hit * value.max(), is_hit + cost])
        agrees = _agrees(ratio, _PROBES[16:], values[16:])
    n_costs = len({*cost.tolist()} - {0.0})
    return ratio if agrees and n_costs in (1, 2) and cost.min() >= 0 else None


def _agrees(ratio: Array, tables: Array, values: Array) -> bool:
    """Whether a ratio has the given values at some tables, (J, 4)."""
    numerator, denominator = ratio @ tables.T
    return bool(
        np.abs(numerator / denominator / values - 1).max(initial=0) < _SAME_VALUE
    )


class Ratios:
    """Ratios of one kind, of J samples, within bounds (J, 2).

    Sample j has the coefficients ``coefficients[which[j]]``, of shape (2, m).
    """

    curve: type["_Curve"]

    def __init__(
        self,
        samples: Samples,
        bounds: Array,
        coefficients: Sequence[Array],
        which: Array,
    ) -> None:
        self._samples, self._bounds = samples, bounds
        self._ratios = ratios = np.array(coefficients)[which]
        numerator, denominator = ratios[:, 0], ratios[:, 1]
        # Ratios of single cells; 0, an end of Tversky's, in cells outside of the ratio.
        self._x = numerator / np.where(denominator > 0, denominator, 1)
        self._ends = np.stack([self._x.min(-1), self._x.max(-1)], axis=-1)

    def limits(self, crit: Array) -> Array:
        """Limits for critical values of lower and upper limits, (J, 2).

        A limit is the boundary of the range where all rows in the ratio are there, and
        where the statistic does not reach the critical value.
        """
        samples, ratios, limits = self._samples, self._ratios, self._bounds.copy()
        is_away = self._x[:, np.newaxis] != self._ends[..., np.newaxis]
        in_ratio = (samples.counts > 0) & (ratios[:, 1] > 0)
        movable = (is_away & in_ratio[:, np.newaxis]).any(-1)
        index, end = np.nonzero(movable & (crit < np.inf))
        if len(index):
            curve = self.curve(samples.among(index), ratios[index], 2.0 * end - 1)
            crit = crit[index, end]
            expected = 2 * np.arcsinh(crit * curve.error / 2)
            found, _ = first_crossing(
                curve,
                *curve.grids(expected),
                excess=lambda value, root, rows: np.log(root / crit[rows, np.newaxis]),
            )
            # Limits are inside, also if they are near to an end.
            low, high = self._ends[index].T
            found = np.minimum(found, np.nextafter(high, low))
            found = np.maximum(found, np.nextafter(low, high))
            none = np.isnan(found)
            limits[index, end] = np.where(none, limits[index, end], found)
        return limits

    def roots(self, nulls: Array) -> Array:
        """Signed roots of the statistic at nulls inside the range, (J,).

        NaN where the ratio is undefined, and where the statistic is greater at a value
        that is nearer to the estimate.
        """
        sums = (self._samples.p_hat[:, np.newaxis] * self._ratios).sum(-1)
        estimates = sums[:, 0] / sums[:, 1]
        side = np.where(nulls > estimates, 1.0, -1.0)
        curve = self.curve(self._samples, self._ratios, side)
        low, high = self._ends.T[..., np.newaxis]

        def logits(values: Array, rows: Array | slice = slice(None)) -> Array:
            return np.asarray(np.log((values - low[rows]) / (high[rows] - values)))

        at_nulls = logits(nulls[:, np.newaxis])
        expected = np.abs(at_nulls - logits(estimates[:, np.newaxis]))[:, 0]
        expected = np.nan_to_num(expected * curve.steepness, nan=1.0)
        greatest = np.zeros(len(nulls))

        def excess(values: Array, roots: Array, rows: Array) -> Array:
            beyond = side[rows, np.newaxis] * (logits(values, rows) - at_nulls[rows])
            before = np.where(beyond < 0, roots, 0).max(-1)
            greatest[rows] = np.maximum(greatest[rows], before)
            return np.asarray(beyond)

        grids = curve.grids(np.clip(expected, 1e-12, _FARTHEST / 2))
        _, roots = first_crossing(curve, *grids, excess=excess)
        roots[np.isnan(estimates) | (greatest > (1 + _SAME) * roots)] = np.nan
        is_estimate = are_equal(nulls, estimates, (high - low)[:, 0])
        return np.where(is_estimate, 0, -side * roots)


class _Curve(ABC):
    """Constrained maxima of K ratios by the variable of the search.

    They are below the estimate (side -1) or above it (1).
    """

    error: Array
    """Standard error of the distance to first order: of few hits and misses alone, a
    limit by Pearson's statistic is at the distance ``2 arcsinh(z error / 2)``."""
    steepness: Array | float = 1.0
    """Distance over that of the logits of the values, to first order."""

    def __init__(self, samples: Samples, ratios: Array, side: Array) -> None:
        self._samples, self._ratios, self._side = samples, ratios, side[:, np.newaxis]
        self._f = samples.f[:, np.newaxis]
        self._begin(ratios[:, :1], ratios[:, 1:])

    def among(self, rows: Array) -> Self:
        """Keep some of the curves."""
        parts = self._ratios[rows], self._side[rows, 0]
        return type(self)(self._samples.among(rows), *parts)

    @abstractmethod
    def _begin(self, numerator: Array, denominator: Array) -> None:
        """Compute what does not depend on the distance."""

    @abstractmethod
    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        """Values, probabilities, and multiples of the influence values there."""

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Ratio and square root of the statistic, shape (K, points)."""
        n_parts = min(1 + x.size * self._f.shape[-1] // _MOST_NUMBERS, x.shape[1])
        if n_parts > 1:
            found = [self(part) for part in np.array_split(x, n_parts, axis=1)]
            values, roots = zip(*found, strict=True)
            return np.hstack(values), np.hstack(roots)
        value, p, influence = self._at(x)
        return value, self._samples.root(p, influence)

    def grids(self, expected: Array) -> tuple[Array, Array]:
        """Points up to expected distances, and those beyond, (K, points)."""
        expected = expected[:, np.newaxis]
        farthest = np.maximum(_FARTHEST, 2 * expected)
        first, centre, last = np.log(
            np.expm1([_NEAREST * expected, expected, farthest])
        )
        before = centre - _BAND * ((centre - first) / _BAND) ** _BEFORE
        beyond = centre + _BAND * ((last - centre) / _BAND) ** _BEYOND
        return np.hstack([before, centre + _DENSE]), beyond


class _MeanCurve(_Curve):
    """Curves of means."""

    def _begin(self, numerator: Array, denominator: Array) -> None:
        low, high = numerator.min(-1), numerator.max(-1)
        self._end, self._width = np.where(self._side < 0, low, high), high - low
        self._d = np.abs(numerator - self._end[..., None]) / self._width[..., None]
        mean = (self._f * self._d).sum(-1)
        variance = (self._f * (self._d - mean[..., np.newaxis]) ** 2).sum((1, 2))
        self.error = 1 / np.sqrt(self._samples.n * variance)
        self.steepness = (mean * (1 - mean))[:, 0] / variance

    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        p = np.exp(x)[..., np.newaxis] * self._d
        p += 1
        np.divide(self._f, p, out=p)
        p /= p.sum(-1, keepdims=True)
        mean = np.einsum("...i,...i", p, self._d)
        value = self._end - self._side * self._width * mean
        return value, p, self._d - mean[..., np.newaxis]


class _TverskyCurve(_Curve):
    """Curves of Tversky's ratios, by the distance of the logit of hits to misses."""

    def _begin(self, numerator: Array, denominator: Array) -> None:
        self._top = numerator.max(-1)
        self._hits = hits = (numerator > 0).astype(float)
        self._costs = costs = denominator - hits
        self._relative = relative = costs / costs.max(-1, keepdims=True)
        self._others = 1 - hits - relative
        r = np.where(relative < 1, relative, 0).max(-1)
        # Total probabilities: of hits, of all misses and of the costlier ones.
        kinds = hits, costs > 0, relative == 1, relative, relative**2
        h, q, x, cost, square = np.einsum("rkji,kji->rkj", kinds, self._f)
        self._mass, self._total, self._start = h, h + q, np.log(h / q)
        self._quadratic = r, 1 - r, r * x + q - x, 4 * r * (1 - r) * x, 2 * (1 - r) * x
        error = cost * (1 / h + 1 / q) / np.sqrt(cost**2 / h + square)
        self.error = error[:, 0] / np.sqrt(self._samples.n)

    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        logit = self._start + self._side * np.log1p(np.exp(x))
        hits, misses = self._total * expit(logit), self._total * expit(-logit)
        # The weight w of the costlier misses: r Q w^2 + b w = (1 - r) X.
        r, rest, constant, product, twice = self._quadratic
        b = rest * misses - constant
        root = np.sqrt(b * b + product * misses)
        weight = np.where(b > 0, twice / (b + root), (root - b) / (2 * r * misses))
        of_hits = self._hits * (self._mass / hits)[..., np.newaxis]
        p = self._f / (
            self._others + of_hits + self._relative * weight[..., np.newaxis]
        )
        missed = (p * self._costs).sum(-1)
        influence = self._hits * missed[..., None] - self._costs * hits[..., None]
        return self._top * hits / (hits + missed), p, influence


class Means(Ratios):
    """Means of bounded values."""

    curve = _MeanCurve


class TverskyRatios(Ratios):
    """Tversky's ratios of hits to hits and misses."""

    curve = _TverskyCurve
