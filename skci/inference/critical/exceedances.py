"""Importance sampling of the exceedances of correlated normal variables.

Directions with a large coordinate are drawn (Owen, Maximov and Chertkov, 2019), and the
length of the vector, or the independent part of the coordinates, is integrated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special
from scipy.stats import qmc

from skci._arrays import Array, cached_property

RandomState = int | np.random.Generator | np.random.RandomState | None

SCRAMBLES = 8
"""Independent randomisations of the points; their spread estimates the error."""

_ZERO = 1e-12  # remaining variances below this are zero
_SOBOL = 64  # dimensions of the Sobol points; further coordinates are pseudo-random
_FIRST = 1 << 10  # points of a scramble that are generated together
_KEPT = 1 << 17  # largest number of coordinates of a scramble that are cached
_NEGLIGIBLE = 1e-10  # probabilities that do not count as exceedances
_COSTLY = 1 << 22  # size of loadings that are projected in single precision
_CELLS = 2048  # least number of cells of a table


def radial_sf(length: Array, rank: int, df: float) -> Array:
    """P(length of a standard normal or t vector > x)."""
    if np.isinf(df):
        tail: Array = special.chdtrc(rank, length**2)
    else:
        tail = special.fdtrc(rank, df, length**2 / rank)
    return tail


class Table:
    """Linear interpolation of a smooth function between equidistant nodes."""

    def __init__(
        self, function: Callable[[Array], Array], low: float, high: float, cells: int
    ) -> None:
        self.low, self.cells = low, cells
        self.scale = cells / (high - low)
        self.values = function(np.linspace(low, high, cells + 1))
        self.steps = np.append(np.diff(self.values), 0)

    def exceeds(self, value: float) -> float:
        """Node below which an increasing function is at most a value."""
        return self.low + (np.argmax(self.values > value) - 1) / self.scale

    def __call__(self, x: Array) -> Array:
        position: Array = np.clip((x - self.low) * self.scale, 0, self.cells)
        cell = position.astype(np.intp)
        position -= cell
        position *= self.steps[cell]
        position += self.values[cell]
        return position


@dataclass(frozen=True)
class Proposal:
    """Mixture over levels q and coordinates j of z given that z_j exceeds q.

    Levels have equal probabilities, coordinates those in `shares`, equal by default.
    Two-sided, z_j exceeds q if its absolute value does. A level of minus infinity, or
    two-sided 0, imposes no condition.
    """

    levels: tuple[float, ...]
    sides: int
    size: int
    shares: Array | None = None

    def coordinates(self, uniform: Array) -> tuple[Array, Array]:
        """Level and coordinate for each uniform number."""
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
        """Probability of the levels that impose no condition."""
        return float(np.mean([self.tail(level) == 1 for level in self.levels]))

    def tail(self, level: float) -> float:
        """P(z_j exceeds a level)."""
        return float(self.sides * special.ndtr(-level))


@dataclass(frozen=True)
class _Factor:
    """z = B y + sqrt(d) e with independent standard normal y and e.

    For t with `df` degrees of freedom, z is divided by an independent chi variable over
    sqrt(df). y is drawn; subclasses integrate the rest.
    """

    loadings: Array
    noise: float
    sides: int
    df: float = np.inf

    @property
    def rank(self) -> int:
        """Number r of columns of B."""
        return int(self.loadings.shape[1])

    @cached_property
    def _conditionals(self) -> tuple[Array, Array, Array]:
        """Coefficients of the coordinates of y, in their order, given each z_j.

        Let b be row j of B and S_i = b_i^2 + ... + b_r^2 + d. Given z_j, y_1, ...,
        y_{i-1}: y_i = b_i m_i + sqrt(S_{i+1} / S_i) n_i with n_i standard normal,
        m_1 = z_j, m_{i+1} = m_i - b_i / sqrt(S_i S_{i+1}) n_i; if S_i = 0, y_i = n_i.
        """
        loadings = self.loadings
        noise = np.full((len(loadings), 1), self.noise)
        left = np.cumsum(np.hstack([loadings**2, noise])[:, ::-1], axis=1)[:, ::-1]
        left = np.where(left > _ZERO, left, 0.0)
        before, after = left[:, :-1], left[:, 1:]
        pull = np.where(before > 0, loadings, 0.0)
        zero, one = np.zeros_like(pull), np.ones_like(pull)
        carry = np.divide(pull, np.sqrt(before * after), out=zero, where=after > 0)
        spread = np.sqrt(np.divide(after, before, out=one, where=before > 0))
        return pull, carry, spread

    def draw(self, proposal: Proposal, points: Array) -> Array:
        """Draw y from the proposal."""
        level, j = proposal.coordinates(points[:, 0])
        if self.loadings.size > _COSTLY:
            drawn = replace(self, loadings=self.loadings[j])
            pull, carry, spread = drawn._conditionals
        else:
            pull, carry, spread = (each[j] for each in self._conditionals)
        z = -special.ndtri(points[:, 1] * special.ndtr(-level))
        normals = points[:, 2:]
        carry *= normals
        mean = carry - np.cumsum(carry, axis=1)
        mean += z[:, np.newaxis]
        y: Array = np.multiply(mean, pull, out=mean)
        y += np.multiply(spread, normals, out=spread)
        return y

    @cached_property
    def _projection(self) -> Array:
        # In single precision where that is costly: it moves quantiles by some 1e-8.
        costly = self.loadings.size > _COSTLY
        return self.loadings.astype(np.float32 if costly else float, copy=False).T

    def project(self, y: Array, signed: bool = False) -> Array:
        """B y, in absolute value if two-sided and not signed."""
        x: Array = y.astype(self._projection.dtype, copy=False) @ self._projection
        return np.abs(x, out=x) if self.sides == 2 and not signed else x


class Radial(_Factor):
    """Samples the direction of y and integrates its length; any correlation, d = 0."""

    def table(self, q: float, df: float) -> Table:
        """Tabulate P(length * s > q) over the projections s."""

        def exceed(s: Array) -> Array:
            with np.errstate(divide="ignore", invalid="ignore"):
                longer = radial_sf(q / np.abs(s), self.rank, df)
            if q < 0:
                return np.where(s < 0, 1 - longer, 1.0)
            return np.where(s > 0, longer, 0.0)

        # The higher the dimension the less the length varies: the table is steeper.
        return Table(exceed, self.sides - 2.0, 1.0, _CELLS + 64 * self.rank)

    def density(self, proposal: Proposal) -> Table:
        """Tabulate the density of a direction relative to the uniform one.

        It is `floor` plus the mean of this table over the projections.
        """
        levels = [level for level in proposal.levels if proposal.tail(level) < 1]
        tables = [self.table(level, np.inf) for level in levels]
        tails = [proposal.tail(level) * len(proposal.levels) for level in levels]
        table = tables[0]
        table.values = np.sum(
            [each.values / tail for each, tail in zip(tables, tails, strict=True)],
            axis=0,
        )
        table.steps = np.append(np.diff(table.values), 0)
        return table

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate exceedances of three levels and the density of the proposal."""
        tables = [self.table(level, self.df) for level in levels]
        single = np.isinf(self.df) and proposal.levels == (levels[1],)
        return [*tables, tables[1] if single else self.density(proposal)]

    def directions(
        self, proposal: Proposal, points: Array, signed: bool = False
    ) -> Array:
        """Projections of drawn directions on the coordinates, shape (n, K)."""
        y = self.draw(proposal, points)
        s = self.project(y, signed)
        s /= np.linalg.norm(y, axis=1, keepdims=True)
        return s

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """Weighted P(some exceed | direction) at three levels, and number of pairs.

        The pairs are those that exceed the middle level: when one coordinate exceeds
        it, all with larger projections do. Bounded weights come last.
        """
        s = self.directions(proposal, points)
        size = s.shape[1]
        single = tables[3] is tables[1]
        density = None if single else proposal.floor + tables[3](s).mean(axis=1)
        # Most of many projections are too small to exceed at any length.
        near = int((s > tables[1].exceeds(_NEGLIGIBLE)).sum(axis=1).max())
        if near < size // 2:
            s = np.partition(s, size - max(near, 1), axis=1)[:, size - max(near, 1) :]
        s.sort(axis=1)
        each = tables[1](s)
        pairs = each @ np.arange(each.shape[1])[::-1]
        if density is None:
            density = each.sum(axis=1) / (size * proposal.tail(proposal.levels[0]))
        terms = [*(table(s[:, -1]) for table in tables[:3]), pairs]
        if proposal.floor:
            terms.append(np.ones_like(pairs))
        return [term / density for term in terms]


class Diagonal(_Factor):
    """Samples y and integrates e; well-conditioned correlations, d > 0."""

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate P(x + sqrt(d) e_j exceeds q) for three levels q."""
        deviation = np.sqrt(self.noise)

        def table(q: float) -> Table:
            def exceed(x: Array) -> Array:
                upper: Array = special.ndtr((x - q) / deviation)
                lower: Array = special.ndtr((-x - q) / deviation)
                return upper + lower if self.sides == 2 else upper

            low = 0.0 if self.sides == 2 else q - 9 * deviation
            return Table(exceed, low, q + 9 * deviation, 4 * _CELLS)

        return [table(level) for level in levels]

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """See `Radial.exceedances`; given y, exceedances are independent."""
        x = self.project(self.draw(proposal, points))
        below, each, above = (table(x) for table in tables)
        some = [1 - np.prod(1 - p, axis=1) for p in (below, each, above)]
        number = each.sum(axis=1)
        pairs = (number**2 - (each**2).sum(axis=1)) / 2
        weight = proposal.size * proposal.tail(proposal.levels[0]) / number
        return [term * weight for term in (*some, pairs)]


Model = Radial | Diagonal


def fixed_seed(random_state: RandomState) -> int | None:
    """Draw a seed once, so that later calls repeat each other."""
    seeds = draw_seeds(random_state)
    return None if random_state is None else seeds[0]


def draw_seeds(random_state: RandomState) -> list[int]:
    """Seeds of the scrambles."""
    source: Any = 0 if random_state is None else random_state
    if isinstance(source, np.random.RandomState):
        source = source.randint(1 << 31, dtype=np.int64)
    try:
        generator = np.random.default_rng(source)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "random_state must be an int of at least 0, a numpy Generator, a "
            f"RandomState or None, got {random_state!r}"
        ) from error
    return [int(seed) for seed in generator.integers(1 << 31, size=SCRAMBLES)]


def points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Scrambled Sobol points: two coordinates uniform, the others standard normal."""
    if stop < _FIRST and _FIRST * dimension <= _KEPT:
        # Scrambling takes longer than some more points; keep them for the next call.
        return points(dimension, 0, _FIRST, seed)[start:stop]
    few = (stop - start) * dimension <= _KEPT
    return (_kept_points if few else _fresh_points)(dimension, start, stop, seed)


def _fresh_points(dimension: int, start: int, stop: int, seed: int) -> Array:
    sobol = min(dimension, _SOBOL)
    # scipy before 1.15 knows the parameter rng only as seed.
    engine = qmc.Sobol(sobol, seed=np.random.default_rng(seed))
    if start:
        engine.fast_forward(start)
    points = np.empty((stop - start, dimension))
    points[:, :sobol] = engine.random(stop - start)
    points[:, :sobol] += 2.0**-31  # midpoints of cells: never 0
    special.ndtri(points[:, 2:sobol], out=points[:, 2:sobol])
    if dimension > sobol:
        generator = np.random.default_rng([seed, start])
        shape = (stop - start, dimension - sobol)
        points[:, sobol:] = generator.standard_normal(shape)
    points.flags.writeable = False
    return points


_kept_points = lru_cache(maxsize=64)(_fresh_points)
