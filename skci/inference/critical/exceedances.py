"""Importance sampling of the exceedances of correlated normal variables.

The sampler draws directions in which some coordinate is large (Owen, Maximov and
Chertkov, 2019). It integrates the length of the vector, or the independent noise of the
coordinates, numerically.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import numpy as np
from scipy import special
from scipy.stats import qmc

from skci._arrays import Array, cached_property
from skci._progress import Progress
from skci.inference.critical.correlation import Loadings, blocks

LEVELS = (1.0, 1.75, 2.5, 3.25, 4.0, 5.0, 6.0)
"""Thresholds for draws in the tails; some draws are made without a threshold."""

_ZERO = 1e-12  # remaining variances below this count as zero
_NEVER = 1e-15  # probability of an exceedance that does not change sums
_RNG = "rng" if "rng" in signature(qmc.Sobol).parameters else "seed"  # scipy < 1.15
_SOBOL = 64  # dimensions of Sobol points; the other coordinates are pseudo-random
_FIRST = 1 << 10  # points of a scramble that are generated together
_CACHED = 1 << 18  # largest number of coordinates of a scramble that are cached
_COSTLY = 1 << 22  # size of loadings from which conditionals are not cached
_CELLS = 2048  # minimum number of cells of a table
_MIN_POINTS, _MAX_POINTS = 512, 4096  # number of points of a scramble
_PROJECTIONS = 1 << 22  # target number of projections of a scramble
_BINS = 1024  # bins of the logarithms of the largest projections
_LENGTHS = 1 << 16  # cells of the table of the length


def radial_sf(length: Array, rank: int, df: float) -> Array:
    """Return the probability that a normal or t vector is longer than `length`."""
    if np.isinf(df):
        return special.chdtrc(rank, length**2)
    return special.fdtrc(rank, df, length**2 / rank)


class Table:
    """Table of a smooth function on a regular grid, with linear interpolation."""

    def __init__(
        self, function: Callable[[Array], Array], low: float, high: float, cells: int
    ) -> None:
        self.low, self.cells = low, cells
        self.scale = cells / (high - low)
        self.values = function(np.linspace(low, high, cells + 1))
        self.steps = np.append(np.diff(self.values), 0)

    def first_above(self, value: float) -> float:
        """Return the largest grid point where the function is at most `value`.

        The function must be increasing.
        """
        node = int(np.searchsorted(self.values, value, side="right"))
        return self.low + (node - 1) / self.scale

    def __call__(self, x: Array) -> Array:
        position: Array = np.clip((x - self.low) * self.scale, 0, self.cells)
        cell = position.astype(np.intp)
        position -= cell
        position *= self.steps[cell]
        position += self.values[cell]
        return position


@dataclass(frozen=True)
class Proposal:
    """Proposal distribution of a vector z, for importance sampling of large maxima.

    First, a threshold q and an index j are drawn at random. Then, the vector z is drawn
    from the conditional distribution given that z_j, or the absolute value of z_j if
    `sides` is 2, exceeds q. A threshold is also called a level. All levels have the
    same probability. A level of minus infinity, or 0 if `sides` is 2, imposes no
    condition. The indices have the probabilities `shares`, which are equal by default.
    """

    levels: tuple[float, ...]
    sides: int
    size: int
    shares: Array | None = None

    def coordinates(self, uniform: Array) -> tuple[Array, Array]:
        """Convert uniform random numbers to a threshold and an index for each draw.

        In each draw, the coordinate with this index exceeds the threshold.
        """
        position = uniform * len(self.levels)
        level = position.astype(np.intp)
        within = position - level
        if self.shares is None:
            chosen = (within * self.size).astype(np.intp)
        else:
            chosen = np.searchsorted(np.cumsum(self.shares), within, side="right")
        return np.array(self.levels)[level], np.minimum(chosen, self.size - 1)

    @property
    def floor(self) -> float:
        """Share of the random vectors that are drawn without a condition.

        Other vectors are drawn given that a coordinate exceeds a threshold.
        """
        return float(np.mean([self.tail(level) == 1 for level in self.levels]))

    def tail(self, level: float) -> float:
        """Return the probability that a single coordinate exceeds a threshold."""
        return float(self.sides * special.ndtr(-level))


@dataclass(frozen=True)
class _FactorModel:
    """Factor model z = B y + sqrt(d) e with independent standard normal y and e.

    For a t distribution with `df` degrees of freedom, z is divided by an independent
    variable, the square root of chi-squared / df. Subclasses draw y, and integrate
    numerically over the noise e or over the length of y.
    """

    loadings: Loadings
    noise: float
    sides: int
    df: float = np.inf

    @cached_property
    def _all_conditionals(self) -> tuple[Array, Array, Array]:
        return self._conditionals(np.arange(self.loadings.size))

    def _conditionals(self, positions: Array) -> tuple[Array, Array, Array]:
        """Return coefficients of the conditional distribution of the factors y.

        In the model z = B y + sqrt(d) e, let b be row j of B and S_i = b_i^2 + ... +
        b_r^2 + d. Given z_j, y_1, ..., y_{i-1}, we have y_i = b_i m_i + sqrt(S_{i+1} /
        S_i) n_i with n_i standard normal, m_1 = z_j, and m_{i+1} = m_i - b_i / sqrt(S_i
        S_{i+1}) n_i. If S_i = 0, y_i = n_i.
        """
        loadings = self.loadings.rows(positions)
        noise = np.full((len(loadings), 1), self.noise)
        left = np.cumsum(np.hstack([loadings**2, noise])[:, ::-1], axis=1)[:, ::-1]
        left = np.where(left > _ZERO, left, 0.0)
        before, after = left[:, :-1], left[:, 1:]
        pull = np.where(before > 0, loadings, 0.0)
        zero, one = np.zeros_like(pull), np.ones_like(pull)
        carry = np.divide(pull, np.sqrt(before * after), out=zero, where=after > 0)
        deviation = np.sqrt(np.divide(after, before, out=one, where=before > 0))
        return pull, carry, deviation

    def draw(self, proposal: Proposal, points: Array) -> Array:
        """Draw vectors y from the proposal distribution, one for each Sobol point."""
        level, j = proposal.coordinates(points[:, 0])
        if self.loadings.size * self.loadings.rank > _COSTLY:
            pull, carry, deviation = self._conditionals(j)
        else:
            pull, carry, deviation = (array[j] for array in self._all_conditionals)
        z = -special.ndtri(points[:, 1] * special.ndtr(-level))
        normals = points[:, 2:]
        carry *= normals
        mean = carry - np.cumsum(carry, axis=1)
        mean += z[:, np.newaxis]
        y: Array = np.multiply(mean, pull, out=mean)
        y += np.multiply(deviation, normals, out=deviation)
        return y

    def project(self, y: Array, signed: bool = False) -> Array:
        """Multiply each row y of an array by the loading matrix B.

        For two-sided probabilities (`sides` is 2), the absolute values are returned,
        unless `signed` is true.
        """
        x = self.loadings.project(y)
        return np.abs(x, out=x) if self.sides == 2 and not signed else x


class RadialSampler(_FactorModel):
    """Sampler for factor models z = B y without noise.

    The direction of y is drawn, and the length of y is integrated numerically.
    """

    def _tabulated(self, function: Callable[[Array], Array]) -> Table:
        # In high dimensions the length varies little, and the function is steep.
        return Table(function, self.sides - 2.0, 1.0, _CELLS + 64 * self.loadings.rank)

    def _exceed(self, s: Array, q: float, df: float) -> Array:
        """Return the probability that s times the length of y exceeds q.

        The random vector y contains the factors.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = radial_sf(q / np.abs(s), self.loadings.rank, df)
        if q < 0:
            return np.where(s < 0, 1 - longer, 1.0)
        return np.where(s > 0, longer, 0.0)

    def density(self, proposal: Proposal) -> Table:
        """Tabulate a function from which the density of random directions is computed.

        The function is averaged over the projections of a direction on the coordinates.
        The density of the direction, relative to the uniform density, is this average
        plus `Proposal.floor`.
        """
        tails = {level: proposal.tail(level) for level in proposal.levels}

        def density(s: Array) -> Array:
            terms = [
                self._exceed(s, level, np.inf) / (tail * len(tails))
                for level, tail in tails.items()
                if tail < 1
            ]
            return np.sum(terms, axis=0)

        return self._tabulated(density)

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate the probabilities that a coordinate exceeds three thresholds.

        The probabilities are functions of the projection of a random direction on the
        coordinate. A fourth table, from the method `density`, determines the density of
        the directions.
        """
        tables = [
            self._tabulated(partial(self._exceed, q=level, df=self.df))
            for level in levels
        ]
        single = np.isinf(self.df) and proposal.levels == (levels[1],)
        return [*tables, tables[1] if single else self.density(proposal)]

    def directions(
        self, proposal: Proposal, points: Array, signed: bool = False
    ) -> Array:
        """Draw n directions, and return their projections on the K coordinates.

        The result has shape (n, K).
        """
        y = self.draw(proposal, points)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        return self.project(y, signed)

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """Compute random numbers with means that estimate tail probabilities.

        Each array has one number for each sampled direction. The means of the first
        three arrays estimate the probabilities that some coordinate exceeds three
        thresholds. The mean of the fourth array estimates the expected number of pairs
        of coordinates that both exceed the middle threshold. If the weights of the
        directions are bounded, a fifth array contains these weights.
        """
        s = self.directions(proposal, points)
        single = tables[3] is tables[1]
        density = None if single else proposal.floor + tables[3](s).mean(axis=1)
        # The largest projections in ascending order; other projections never exceed.
        number = int((s > tables[1].first_above(_NEVER)).sum(axis=1).max())
        if 0 < number < s.shape[1] // 2:
            s = np.partition(s, -number, axis=1)[:, -number:]
        s.sort(axis=1)
        exceed = tables[1](s)
        # All coordinates with larger projections exceed the level as well.
        pairs = exceed @ np.arange(exceed.shape[1])[::-1]
        if density is None:
            tail = proposal.tail(proposal.levels[0])
            density = exceed.sum(axis=1) / (proposal.size * tail)
        terms = [*(table(s[:, -1]) for table in tables[:3]), pairs]
        if proposal.floor:
            terms.append(np.ones_like(pairs))
        return [term / density for term in terms]


class DiagonalSampler(_FactorModel):
    """Sampler for factor models z = B y + sqrt(d) e with noise e.

    The factors y are drawn, and the noise e is integrated numerically.
    """

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate the probability that x plus noise exceeds q, for three values of q.

        The tables are functions of x, a coordinate of B y.
        """
        deviation = np.sqrt(self.noise)
        lowest = (0.0 if self.sides == 2 else q - 9 * deviation for q in levels)
        return [
            Table(partial(self.exceed, q=q), low, q + 9 * deviation, 4 * _CELLS)
            for low, q in zip(lowest, levels, strict=True)
        ]

    def exceed(self, x: Array, q: float) -> Array:
        """Return the probability that x plus normal noise of variance d exceeds q."""
        deviation = np.sqrt(self.noise)
        upper = special.ndtr((x - q) / deviation)
        return upper if self.sides == 1 else upper + special.ndtr((-x - q) / deviation)

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """Compute random numbers with means that estimate tail probabilities.

        Each of the four arrays has one number for each draw of the factors. The method
        `exceedances` of `RadialSampler` has the same four arrays.
        """
        x = self.project(self.draw(proposal, points))
        exceed = [table(x) for table in tables]
        any_exceeds = [1 - np.prod(1 - p, axis=1) for p in exceed]
        number, squares = exceed[1].sum(axis=1), (exceed[1] ** 2).sum(axis=1)
        pairs = (number**2 - squares) / 2
        weight = proposal.size * proposal.tail(proposal.levels[0]) / number
        return [term * weight for term in (*any_exceeds, pairs)]


Model = RadialSampler | DiagonalSampler


def batches(
    rank: int, width: int, start: int, stop: int, seeds: Sequence[int]
) -> Iterator[Array]:
    """Yield batches of scrambled Sobol points.

    A point has two uniform coordinates and `rank` standard normal coordinates. Each of
    the `seeds` randomises (scrambles) the Sobol sequence. The points `start` to `stop`
    of each scrambled sequence are used. Batches have fewer points if `width`, the
    number of columns of later arrays, is large.
    """
    number, dimension = stop - start, rank + 2
    if number * dimension > _CACHED:
        for seed in seeds:
            yield from _drawn(dimension, start, blocks(number, width), seed)
        return
    stacked = np.vstack([_points(dimension, start, stop, seed) for seed in seeds])
    yield from (stacked[rows] for rows in blocks(len(stacked), width))


def _points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Return the points of one scrambled Sobol sequence from the cache."""
    if stop < _FIRST and _FIRST * dimension <= _CACHED:
        # Scrambling costs more than generating further points.
        return _cached_points(dimension, 0, _FIRST, seed)[start:stop]
    return _cached_points(dimension, start, stop, seed)


@lru_cache(maxsize=64)
def _cached_points(dimension: int, start: int, stop: int, seed: int) -> Array:
    (points,) = _drawn(dimension, start, [slice(0, stop - start)], seed)
    points.flags.writeable = False
    return points


def _drawn(
    dimension: int, start: int, batches: Sequence[slice], seed: int
) -> Iterator[Array]:
    """Generate the points of one scrambled Sobol sequence in batches.

    The first point has the index `start` in the sequence.
    """
    rng: dict[str, Any] = {_RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(min(dimension, _SOBOL), **rng)
    if start:
        engine.fast_forward(start)
    leading = engine.random(batches[-1].stop)
    leading += 2.0**-31  # midpoints of cells are never 0
    special.ndtri(leading[:, 2:], out=leading[:, 2:])
    generator = np.random.default_rng([seed, start])
    for rows in batches:
        shape = rows.stop - rows.start, max(dimension - _SOBOL, 0)
        yield np.hstack([leading[rows], generator.standard_normal(shape)])


# Tail probabilities of a maximum, from one sample of directions


class SampledTail:
    r"""Estimate the probability that a maximum exceeds x, from random directions.

    .. math:: \hat P(x) = \frac{1}{n} \sum_i w_i G(x / s_i)
        - \beta(x) \Bigl(\frac{1}{n} \sum_i w_i - 1\Bigr), \quad w_i = 1 / g(u_i)

    where :math:`s_i` is the largest projection on direction :math:`u_i`, G is the
    survival function of the length, and g is the density of the proposal. The control
    variate :math:`w_i` has mean 1 and the regression coefficient :math:`\beta`.
    """

    def __init__(self, model: RadialSampler, seeds: list[int]) -> None:
        self._rank, self._df = model.loadings.rank, model.df
        sample = _directions(model, seeds)
        pairs = [(s.max(axis=1), weights) for s, weights in sample]
        largest, weights = map(np.concatenate, zip(*pairs, strict=True))
        self._moments = weights.sum(), (weights**2).sum(), len(weights)
        # Similar projections share one evaluation of G.
        logarithm = np.log(np.maximum(np.abs(largest), 1e-12))
        low = logarithm.min()
        scale = (_BINS - 1) / max(logarithm.max() - low, 1e-12)
        bins = ((logarithm - low) * scale).astype(np.intp)
        bins[largest < 0] += _BINS
        _, bins = np.unique(bins, return_inverse=True)
        self._weights = np.bincount(bins, weights)
        self._squares = np.bincount(bins, weights**2)
        self._projections = np.bincount(bins, weights * largest) / self._weights

    def sf(self, x: Array) -> Array:
        """Estimate the probability that the largest coordinate exceeds x.

        The result has a probability for each value of x.
        """
        rows = blocks(len(x), len(self._weights))
        return np.concatenate([self._sf(x[row, np.newaxis]) for row in rows] or [x])

    def _sf(self, x: Array) -> Array:
        s = self._projections
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = radial_sf(np.abs(x / s), self._rank, self._df)
        positive = np.where(s > 0, longer, 0.0)
        exceed = np.where(x >= 0, positive, np.where(s < 0, 1 - longer, 1.0))
        # The rounding of a matrix product would depend on the number of rows.
        first = (exceed * self._weights).sum(axis=1)
        second = (exceed * self._squares).sum(axis=1)
        return _controlled(first, second, *self._moments)


def nested_tail(
    model: RadialSampler, statistics: Array, seeds: list[int], directions: bool = False
) -> Array:
    """Estimate the tail probabilities of a two-sided step-down test.

    The statistics are in ascending order. For each k from 1 to K, the result contains
    the probability that the maximum of the first k coordinates exceeds statistic k.
    With `directions`, the maximum also includes the negatives of all coordinates.
    """
    shares = 1 / np.arange(1, len(statistics) + 1)
    proposed = None if directions else shares / shares.sum()
    sample = _directions(model, seeds, _PROJECTIONS // 2, proposed, directions)

    def running() -> Iterator[tuple[Array, Array]]:
        for s, w in sample:
            both = np.maximum.accumulate(np.abs(s) if directions else s, axis=1)
            if not directions:
                yield both, w
                continue
            for side in (-s, s):  # a direction and its opposite are equally likely
                remaining = np.maximum.accumulate(side[:, :0:-1], axis=1)[:, ::-1]
                maxima = both.copy()
                np.maximum(maxima[:, :-1], remaining, out=maxima[:, :-1])
                yield maxima, w

    def exceed(v: Array) -> Array:
        with np.errstate(divide="ignore"):
            return radial_sf((1 - v) / v, model.loadings.rank, model.df)

    table = Table(exceed, 0.0, 1.0, _LENGTHS)
    first: Any = 0.0
    second: Any = 0.0
    moments = np.zeros(3)
    for maxima, weights in running():
        values = table(maxima / (maxima + statistics))
        first += weights @ values
        second += weights**2 @ values
        moments += weights.sum(), (weights**2).sum(), len(weights)
    return _controlled(first, second, *moments)


def _directions(
    model: RadialSampler,
    seeds: list[int],
    projections: int = _PROJECTIONS,
    shares: Array | None = None,
    signed: bool = False,
) -> Iterator[tuple[Array, Array]]:
    """Draw random directions, and yield their projections on the coordinates.

    Each batch also has the importance weights of the directions.
    """
    size = model.loadings.size
    unconditional = 0.0 if model.sides == 2 else -np.inf
    proposal = Proposal((unconditional, *LEVELS), model.sides, size, shares)
    density = model.density(proposal)
    number = 1 << int(np.log2(np.clip(projections // size, _MIN_POINTS, _MAX_POINTS)))
    with Progress("points of p-values", number * len(seeds)) as line:
        for points in batches(model.loadings.rank, size, 0, number, seeds):
            s = model.directions(proposal, points, signed)
            values = density(np.abs(s) if signed else s)
            mean = values.mean(axis=1) if shares is None else values @ shares
            yield np.ascontiguousarray(s), 1 / (proposal.floor + mean)
            line.add(len(points))


def _controlled(
    first: Array, second: Array, total: float, squares: float, n: float
) -> Array:
    """Estimate the mean of products w G, with the weights w as control variate.

    G is the quantity to be averaged, and w has the known mean 1. The arguments are the
    sums of w G, w^2 G, w and w^2, and the number n of draws.
    """
    mean, weight = first / n, total / n
    variance = squares / n - weight**2
    slope = (second / n - mean * weight) / max(variance, 1e-300)
    return mean - slope * (weight - 1)
