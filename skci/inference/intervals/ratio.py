r"""Score limits of ratios of means, with constrained maxima in closed form.

A ratio ``g(p) = (A p) / (B p)`` with ``B >= 0`` has the value M if ``(A - M B) p`` is
zero. This constraint is linear, so that the constrained maximum is

.. math:: p_i = f_i / w_i, \qquad w_i = 1 + \lambda (A_i - M B_i).

The maxima form a curve in one variable, the distance from the estimate. In two cases p
has a closed form in this distance.

*Means of bounded values* (B is one). The values of the cells include both bounds of
their range, even if no row has such a value. Let d be the distances of the values from
the lower bound. Below the estimate, ``w = c (1 + s d)`` with a free s > 0, and c is
such that p adds up to one (Owen, 2001). Above the estimate, values are reversed. An
unobserved bound has a tiny proportion; once the multiplier reaches its maximum, the
remaining mass moves to this bound.

*Tversky's ratios* of hits to hits plus two kinds of misses, such as accuracy,
precision, recall, F-beta and Jaccard's index. All hits have one common weight, misses
have the weight ``w = 1 + v B``, and cells outside the ratio have the weight 1. For a
total Q of misses, v is the root of a quadratic equation, and the remaining mass belongs
to the hits.

In both cases the odds of the bound change by the factor ``exp(d)``, where d is the
distance, as the odds of a proportion would. The search variable is ``log(expm1(d))``,
which is about log(d) for small d and about d for large d.

References
----------
Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.

Tversky (1977), Psychological Review 84, 327-352.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
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
    Functional,
    LinearCombination,
    Mean,
    MergedFunctional,
    Negative,
)

# Search points are dense near the expected limit, and further apart on both sides.
_BAND = 0.0285  # half width of the dense band
_DENSE = np.linspace(-_BAND, _BAND, 7)
_NEAREST = 0.01  # distance of the first point, relative to the expected limit
_BEFORE = np.linspace(1, 0, 6)[:-1]  # exponents of distances, in half widths
_BEYOND = np.linspace(0, 1, 9)[1:]
POINTS = len(_BEFORE) + len(_DENSE) + len(_BEYOND)
"""Largest number of points of a curve that are computed at once."""
_FARTHEST = 60.0  # distance at which all mass is at a bound of the range
_MAX_NUMBERS = 2**16  # size of arrays of points and cells, to bound the memory
_SAME_VALUE = 1e-9  # relative difference of values of a ratio
_SAME = 1e-9  # relative difference of statistics that is negligible for limits

# Tables that identify a ratio: all with one or two cells, and some with all cells.
_PROBES = np.vstack(
    [
        (np.eye(4)[:, np.newaxis] + np.eye(4)).reshape(16, 4) / 2,
        np.random.default_rng(0).dirichlet(np.ones(4), 8),
    ]
)


def values_of_mean(functional: Functional) -> Array | None:
    """Return the value of each outcome if a functional is the mean of such values.

    The result is None for other functionals. A linear combination of means over the
    same rows is the mean of one combined value per row.
    """
    if isinstance(functional, Mean):
        return functional.values
    if isinstance(functional, Negative):
        values = values_of_mean(functional.functional)
        return None if values is None else -values
    if isinstance(functional, MergedFunctional) and not functional.is_partial:
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
) -> tuple[Callable[..., "Ratios"], Array] | None:
    """Write a mean or a Tversky ratio of cell probabilities p as (A p) / (B p).

    Returns a constructor of `Ratios`, and an array of shape (2, m) with the
    coefficients A and B. The result is None for other functionals. `counts` contains
    tables of counts at which the coefficients are checked.
    """
    if not isinstance(functional, CellFunctional):
        values = values_of_mean(functional)
        if values is None:
            return None
        return MEANS, np.stack([values, np.ones_like(values)])
    try:
        ratio = _ratio_of(functional)
        tables = smooth(counts)
        values = functional.estimate(tables)
    except Exception:  # a user's function that is undefined for empty cells
        return None
    if ratio is None or not _agrees(ratio, tables, values):
        return None
    return TVERSKY_RATIOS, ratio


@lru_cache
def _ratio_of(functional: CellFunctional) -> Array | None:
    """Compute the coefficients of a Tversky ratio of four cells.

    The result has shape (2, 4), or is None for other functionals. The coefficients are
    computed from values at tables with one or two nonempty cells, and checked at tables
    without empty cells.
    """
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
    """Return whether a ratio has the given values at tables of shape (J, 4)."""
    numerator, denominator = ratio @ tables.T
    return bool(
        np.abs(numerator / denominator / values - 1).max(initial=0) < _SAME_VALUE
    )


class Ratios:
    """Score intervals of ratios in J samples, from closed-form likelihood maxima.

    The class `curve` maximises the likelihood for given values of the ratios. `bounds`
    contains the range of each ratio, as an array of shape (J, 2). Sample j has the
    coefficients ``coefficients[index[j]]``, of shape (2, m).
    """

    def __init__(
        self,
        curve: type["_Curve"],
        samples: Samples,
        bounds: Array,
        coefficients: Sequence[Array],
        index: Array,
    ) -> None:
        self.curve, self._samples, self._bounds = curve, samples, bounds
        self._ratios = ratios = np.array(coefficients)[index]
        numerator, denominator = ratios[:, 0], ratios[:, 1]
        # Ratios of single cells. Cells outside the ratio have 0, Tversky's lower bound.
        self._x = numerator / np.where(denominator > 0, denominator, 1)
        self._range = np.stack([self._x.min(-1), self._x.max(-1)], axis=-1)

    def limits(self, crit: Array) -> Array:
        """Find the lower and upper limits for critical values of shape (J, 2).

        A limit is a boundary of the range if all rows that affect the ratio have the
        value at this boundary. A limit is also a boundary of the range if the test
        statistic never reaches the critical value.
        """
        samples, ratios, limits = self._samples, self._ratios, self._bounds.copy()
        is_away = self._x[:, np.newaxis] != self._range[..., np.newaxis]
        in_ratio = (samples.counts > 0) & (ratios[:, 1] > 0)
        movable = (is_away & in_ratio[:, np.newaxis]).any(-1)
        index, side = np.nonzero(movable & (crit < np.inf))
        if len(index):
            curve = self.curve(samples.subset(index), ratios[index], 2.0 * side - 1)
            crit = crit[index, side]
            expected = 2 * np.arcsinh(crit * curve.error / 2)
            values, _ = first_crossing(
                curve,
                *curve.grids(expected),
                excess=lambda value, root, rows: np.log(root / crit[rows, np.newaxis]),
            )
            # Limits are inside the range, even if close to a bound.
            low, high = self._range[index].T
            values = np.minimum(values, np.nextafter(high, low))
            values = np.maximum(values, np.nextafter(low, high))
            undefined = np.isnan(values)
            limits[index, side] = np.where(undefined, limits[index, side], values)
        return limits

    def roots(self, nulls: Array) -> Array:
        """Compute the signed square root of the test statistic at J null values.

        All null values are inside the range. A root is NaN if the ratio is undefined. A
        root is also NaN if the test statistic is larger at some value between the
        estimate and the null value.
        """
        sums = (self._samples.p_hat[:, np.newaxis] * self._ratios).sum(-1)
        estimates = sums[:, 0] / sums[:, 1]
        side = np.where(nulls > estimates, 1.0, -1.0)
        curve = self.curve(self._samples, self._ratios, side)
        low, high = self._range.T[..., np.newaxis]

        def logits(values: Array, rows: Array | slice = slice(None)) -> Array:
            return np.asarray(np.log((values - low[rows]) / (high[rows] - values)))

        at_nulls = logits(nulls[:, np.newaxis])
        expected = np.abs(at_nulls - logits(estimates[:, np.newaxis]))[:, 0]
        expected = np.nan_to_num(expected * curve.distance_per_logit, nan=1.0)
        largest = np.zeros(len(nulls))

        def excess(values: Array, roots: Array, rows: Array) -> Array:
            beyond = side[rows, np.newaxis] * (logits(values, rows) - at_nulls[rows])
            before = np.where(beyond < 0, roots, 0).max(-1)
            largest[rows] = np.maximum(largest[rows], before)
            return np.asarray(beyond)

        grids = curve.grids(np.clip(expected, 1e-12, _FARTHEST / 2))
        _, roots = first_crossing(curve, *grids, excess=excess)
        roots[np.isnan(estimates) | (largest > (1 + _SAME) * roots)] = np.nan
        is_estimate = are_equal(nulls, estimates, (high - low)[:, 0])
        return np.where(is_estimate, 0, -side * roots)


class _Curve(ABC):
    """Maxima of the likelihood for given ratios, as functions of a search variable.

    The search variable is a distance from the estimates. The ratios are below the
    estimates if `side` is -1, and above the estimates if `side` is 1.
    """

    error: Array
    """Standard error of the distance, to first order. With only hits and misses,
    a limit by Pearson's statistic has the distance ``2 arcsinh(z error / 2)``."""
    distance_per_logit: Array | float = 1.0
    """Distance divided by the difference of the logits of values, to first order."""

    def __init__(self, samples: Samples, ratios: Array, side: Array) -> None:
        self._samples, self._ratios, self._side = samples, ratios, side[:, np.newaxis]
        self._f = samples.f[:, np.newaxis]
        self._begin(ratios[:, :1], ratios[:, 1:])

    def subset(self, rows: Array) -> Self:
        """Return the curves with the given indices."""
        parts = self._ratios[rows], self._side[rows, 0]
        return type(self)(self._samples.subset(rows), *parts)

    @abstractmethod
    def _begin(self, numerator: Array, denominator: Array) -> None:
        """Compute quantities that do not depend on the search variable."""

    @abstractmethod
    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        """Compute ratios, probabilities and scaled influence values.

        The argument x contains values of the search variable.
        """

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Compute the ratio and the square root of the test statistic.

        The argument x contains values of the search variable. Both results have shape
        (K, points).
        """
        n_parts = min(1 + x.size * self._f.shape[-1] // _MAX_NUMBERS, x.shape[1])
        if n_parts > 1:
            results = [self(part) for part in np.array_split(x, n_parts, axis=1)]
            values, roots = zip(*results, strict=True)
            return np.hstack(values), np.hstack(roots)
        value, p, influence = self._at(x)
        return value, self._samples.root(p, influence)

    def grids(self, expected: Array) -> tuple[Array, Array]:
        """Return two grids of search variables, each of shape (K, points).

        `expected` contains the K expected distances of the limits from the estimates.
        The first grid ends near these distances, and the second grid contains larger
        distances.
        """
        expected = expected[:, np.newaxis]
        farthest = np.maximum(_FARTHEST, 2 * expected)
        start, centre, end = np.log(np.expm1([_NEAREST * expected, expected, farthest]))
        before = centre - _BAND * ((centre - start) / _BAND) ** _BEFORE
        beyond = centre + _BAND * ((end - centre) / _BAND) ** _BEYOND
        return np.hstack([before, centre + _DENSE]), beyond


class _MeanCurve(_Curve):
    """Maxima of the likelihood for given means."""

    def _begin(self, numerator: Array, denominator: Array) -> None:
        low, high = numerator.min(-1), numerator.max(-1)
        self._bound, self._width = np.where(self._side < 0, low, high), high - low
        self._d = np.abs(numerator - self._bound[..., None]) / self._width[..., None]
        mean = (self._f * self._d).sum(-1)
        variance = (self._f * (self._d - mean[..., np.newaxis]) ** 2).sum((1, 2))
        self.error = 1 / np.sqrt(self._samples.n * variance)
        self.distance_per_logit = (mean * (1 - mean))[:, 0] / variance

    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        p = np.exp(x)[..., np.newaxis] * self._d
        p += 1
        np.divide(self._f, p, out=p)
        p /= p.sum(-1, keepdims=True)
        mean = np.einsum("...i,...i", p, self._d)
        value = self._bound - self._side * self._width * mean
        return value, p, self._d - mean[..., np.newaxis]


class _TverskyCurve(_Curve):
    """Maxima of the likelihood for given Tversky ratios.

    The cells in the numerator of the ratio are called hits. The search variable is the
    change of the logit of the proportion of hits.
    """

    def _begin(self, numerator: Array, denominator: Array) -> None:
        self._top = numerator.max(-1)
        self._hits = hits = (numerator > 0).astype(float)
        self._costs = costs = denominator - hits
        self._relative = relative = costs / costs.max(-1, keepdims=True)
        self._outside = 1 - hits - relative
        r = np.where(relative < 1, relative, 0).max(-1)
        # Totals over cells: hits, misses, costlier misses, costs and squared costs.
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
        r, complement, constant, product, twice = self._quadratic
        b = complement * misses - constant
        root = np.sqrt(b * b + product * misses)
        weight = np.where(b > 0, twice / (b + root), (root - b) / (2 * r * misses))
        hit_weights = self._hits * (self._mass / hits)[..., np.newaxis]
        p = self._f / (
            self._outside + hit_weights + self._relative * weight[..., np.newaxis]
        )
        missed = (p * self._costs).sum(-1)
        influence = self._hits * missed[..., None] - self._costs * hits[..., None]
        return self._top * hits / (hits + missed), p, influence


MEANS, TVERSKY_RATIOS = partial(Ratios, _MeanCurve), partial(Ratios, _TverskyCurve)
"""Constructors of `Ratios`: means of bounded values, and hits / (hits + misses)."""
