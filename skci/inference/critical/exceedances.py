"""Importance sampling of the exceedances of correlated normal variables.

A correlation matrix is factored, directions are drawn in which some coordinate is large
(Owen, Maximov and Chertkov, 2019), and what remains of the probability that some
coordinate exceeds a level is integrated exactly: the length of the vector, or the
independent part of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import linalg, special
from scipy.stats import qmc

from skci._arrays import Array

__all__ = [
    "Correlations",
    "Diagonal",
    "Model",
    "Proposal",
    "Radial",
    "Table",
    "both_exceed",
    "factor",
    "pivoted_cholesky",
    "points",
    "radial_sf",
]


_ZERO = 1e-10
"""Variances below this are zero."""
_NOISE = 0.01
"""Least independent variance worth integrating separately."""
_ROUNDING = 1e-8
"""How far rounding may take an entry away from a positive semidefinite matrix."""
_SHIFT = 1e-9
"""Distance kept from an estimated eigenvalue."""
_EIGEN = 512
"""Size up to which a correlation is factored through all of its eigenvectors."""
_COSTLY = 1 << 22
"""Size of loadings from which on they are used in single precision."""
_LEADING = 128
"""Leading components found for a larger matrix of full rank."""
_SOBOL = 256
"""Dimensions of the Sobol points; further coordinates are pseudo-random."""
_FIRST = 1 << 10
"""Points of a scramble that are generated together."""
_KEPT = 1 << 17
"""Coordinates of a scramble that are few enough to keep for the next call."""
_BLOCK = 1 << 19
"""Numbers in a temporary array."""
_NEGLIGIBLE = 1e-10
"""Exceedance probabilities that add nothing to the number of exceedances."""
_CELLS = 2048
"""Cells of a table, at least."""


def both_exceed(rho: Array, q: float | Array, sides: int) -> Array:
    """P(both of two normals exceed q) for each of their correlations."""
    if sides == 2:
        return 2 * (both_exceed(rho, q, 1) + both_exceed(-rho, q, 1))
    with np.errstate(divide="ignore"):
        ratio = np.sqrt((1 - rho) / (1 + rho))
    both: Array = special.ndtr(-q) - 2 * special.owens_t(q, ratio)
    return both


class Correlations:
    """Weights of the pairs of a correlation matrix, for sums of functions over them.

    Many are spread over the nodes of a grid as linear interpolation would. A function
    of the arcsine of a correlation is smooth up to the ends.
    """

    def __init__(self, correlation: Array) -> None:
        pairs = [row[k + 1 :] for k, row in enumerate(correlation)]
        if len(correlation) ** 2 <= 4 * _CELLS:
            self.rho = np.concatenate(pairs)
            self.weights = np.ones(len(self.rho))
            return
        self.rho = np.sin(np.linspace(-np.pi / 2, np.pi / 2, _CELLS + 1))
        self.weights = np.zeros(_CELLS + 2)
        for rho in pairs:
            position = (np.arcsin(rho) / np.pi + 0.5) * _CELLS
            cell = position.astype(np.intp)
            position -= cell
            count = np.bincount(cell, minlength=_CELLS + 1)
            moved = np.bincount(cell, position, minlength=_CELLS + 1)
            self.weights[:-1] += count - moved
            self.weights[1:] += moved
        self.weights = self.weights[:-1]


def radial_sf(length: Array, rank: int, df: float) -> Array:
    """P(the length of a standard normal, or t, vector exceeds a value)."""
    if np.isinf(df):
        tail: Array = special.chdtrc(rank, length**2)
    else:
        tail = special.fdtrc(rank, df, length**2 / rank)
    return tail


class Table:
    """A smooth function of one number, tabulated once and interpolated often."""

    def __init__(
        self, function: Callable[[Array], Array], low: float, high: float, cells: int
    ) -> None:
        self.low, self.cells = low, cells
        self.scale = cells / (high - low)
        self.values = function(np.linspace(low, high, cells + 1))
        self.steps = np.append(np.diff(self.values), 0)

    def exceeds(self, value: float) -> float:
        """Abscissa where an increasing function that begins at zero exceeds a value."""
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
    """A mixture over levels and coordinates: some z_j is drawn beyond some level.

    Parameters
    ----------
    levels : tuple of float
        Levels, each with the same probability. At minus infinity, or two-sided at 0,
        nothing is conditioned on.
    sides : int
        2 where z_j exceeds a level if its absolute value does, else 1.
    size : int
        Number of coordinates K.
    shares : array of shape (K,), optional
        Probabilities of the coordinates; equal by default.
    """

    levels: tuple[float, ...]
    sides: int
    size: int
    shares: Array | None = None

    def coordinates(self, uniform: Array) -> tuple[Array, Array]:
        """Choose a level and a coordinate for each uniform number."""
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
        """Share of the levels that condition on nothing."""
        unconditional = [self._tail(level) == 1 for level in self.levels]
        return float(np.mean(unconditional))

    def density(self, model: Radial) -> Table:
        """Tabulate the contribution of a projection to the density of a direction.

        Relative to the uniform distribution the density of a direction is `floor` plus
        the mean of this over the coordinates.
        """
        normal = Radial(model.loadings, 0.0, self.sides)
        tails = {level: self._tail(level) for level in self.levels}
        tables = [
            (normal.table(level), tail * len(self.levels))
            for level, tail in tails.items()
            if tail < 1
        ]
        table = tables[0][0]
        table.values = np.sum([each.values / tail for each, tail in tables], axis=0)
        table.steps = np.append(np.diff(table.values), 0)
        return table

    def _tail(self, level: float) -> float:
        return float(self.sides * special.ndtr(-level))


@dataclass(frozen=True)
class _Factor:
    """The correlation as that of z = loadings @ y + sqrt(noise) * e.

    The r-vector y and the K-vector e are independent and standard normal. y is drawn,
    and a model integrates what it can. With `df` degrees of freedom, z is divided by an
    independent chi variable over the square root of df.
    """

    loadings: Array
    noise: float
    sides: int
    df: float = np.inf

    @property
    def rank(self) -> int:
        """Number r of components."""
        return int(self.loadings.shape[1])

    @cached_property
    def conditionals(self) -> tuple[Array, Array, Array]:
        """Coefficients of the coordinates of y in their order, given z_j.

        Let b be the loadings of z_j and S_i what y_i, those after it, and the noise
        leave of its variance. Given z_j and y_1 .. y_{i-1}, y_i is
        b_i m_i + sqrt(S_{i+1} / S_i) n_i with n_i standard normal, m_1 = z_j and
        m_{i+1} = m_i - b_i / sqrt(S_i S_{i+1}) n_i. Once S_i is zero y_i is free.
        """
        return self._conditionals(self.loadings)

    def _conditionals(self, loadings: Array) -> tuple[Array, Array, Array]:
        """See `conditionals`, for some rows of the loadings."""
        noise = np.full((len(loadings), 1), self.noise)
        left = np.cumsum(np.hstack([loadings**2, noise])[:, ::-1], axis=1)[:, ::-1]
        left = np.where(left > _ZERO / 100, left, 0.0)
        before, after = left[:, :-1], left[:, 1:]
        pull = np.where(before > 0, loadings, 0.0)
        zero, one = np.zeros_like(pull), np.ones_like(pull)
        carry = np.divide(pull, np.sqrt(before * after), out=zero, where=after > 0)
        spread = np.sqrt(np.divide(after, before, out=one, where=before > 0))
        return pull, carry, spread

    def draw(self, proposal: Proposal, points: Array) -> Array:
        """Draw y from the proposal."""
        level, j = proposal.coordinates(points[:, 0])
        if self.loadings.size > _COSTLY:  # of most rows only a few are drawn
            pull, carry, spread = self._conditionals(self.loadings[j])
        else:
            pull, carry, spread = (each[j] for each in self.conditionals)
        z = -special.ndtri(points[:, 1] * special.ndtr(-level))
        normals = points[:, 2:]
        moves = carry * normals
        mean = z[:, np.newaxis] - np.cumsum(moves, axis=1) + moves
        y: Array = pull * mean + spread * normals
        return y

    @cached_property
    def _single(self) -> Array:
        single: Array = self.loadings.astype(np.float32)
        return single

    def project(self, y: Array) -> Array:
        """Contribution of y to z, without signs where both sides count.

        In single precision where that is costly: it moves quantiles by some 1e-4, less
        than the error of so few points.
        """
        loadings = self._single if self.loadings.size > _COSTLY else self.loadings
        x: Array = y.astype(loadings.dtype, copy=False) @ loadings.T
        return np.abs(x, out=x) if self.sides == 2 else x


class Radial(_Factor):
    """Samples the direction of y and integrates its length; for any correlation."""

    def table(self, q: float) -> Table:
        """Tabulate P(length * s > q) on the possible s."""
        low, r = self.sides - 2.0, self.rank

        def exceed(s: Array) -> Array:
            with np.errstate(divide="ignore", invalid="ignore"):
                longer = radial_sf(q / np.abs(s), r, self.df)
            if q < 0:
                return np.where(s < 0, 1 - longer, 1.0)
            return np.where(s > 0, longer, 0.0)

        # The more dimensions the less the length varies: the table is steeper.
        return Table(exceed, low, 1.0, _CELLS + 64 * r)

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate exceedances of three levels and the density of the proposal."""
        tables = [self.table(level) for level in levels]
        single = np.isinf(self.df) and proposal.levels == (levels[1],)
        return [*tables, tables[1] if single else proposal.density(self)]

    def directions(self, proposal: Proposal, points: Array) -> Array:
        """Draw directions and project the coordinates on them, shape (n, K)."""
        y = self.draw(proposal, points)
        s = self.project(y)
        s /= np.linalg.norm(y, axis=1, keepdims=True)
        return s

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """Weighted P(some exceed | direction) at three levels, and number of pairs.

        The pairs are those that exceed the middle one: when one coordinate exceeds, all
        with larger projections do. Where the weights are bounded, they come last.
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
            (q,) = proposal.levels
            tail = self.sides * special.ndtr(-q)
            density = each.sum(axis=1) / (size * tail)
        terms = [*(table(s[:, -1]) for table in tables[:3]), pairs]
        if proposal.floor:
            terms.append(np.ones_like(pairs))
        return [term / density for term in terms]


class Diagonal(_Factor):
    """Samples y and integrates the noise; for well-conditioned correlations."""

    def table(self, q: float) -> Table:
        """Tabulate P(x + sqrt(noise) e_j exceeds q) on the x that matter."""
        deviation = np.sqrt(self.noise)
        low = 0.0 if self.sides == 2 else q - 9 * deviation

        def exceed(x: Array) -> Array:
            upper: Array = special.ndtr((x - q) / deviation)
            lower: Array = special.ndtr((-x - q) / deviation)
            return upper + lower if self.sides == 2 else upper

        return Table(exceed, low, q + 9 * deviation, 4 * _CELLS)

    def tables(self, levels: Sequence[float], proposal: Proposal) -> list[Table]:
        """Tabulate exceedances of three levels, the proposal being the middle one."""
        return [self.table(level) for level in levels]

    def exceedances(
        self, points: Array, proposal: Proposal, tables: Sequence[Table]
    ) -> list[Array]:
        """See `Radial.exceedances`; here all are independent given y."""
        x = self.project(self.draw(proposal, points))
        below, each, above = (table(x) for table in tables)
        some = [1 - np.prod(1 - p, axis=1) for p in (below, each, above)]
        number = each.sum(axis=1)
        pairs = (number**2 - (each**2).sum(axis=1)) / 2
        (q,) = proposal.levels
        weight = len(self.loadings) * self.sides * special.ndtr(-q) / number
        return [term * weight for term in (*some, pairs)]


Model = Radial | Diagonal


def pivoted_cholesky(correlation: Array, tol: float = _ZERO) -> Array:
    """Factor L with R = L L^T, of shape (K, r), stopping at the numerical rank.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive semidefinite.
    """
    # The transpose, which is the same matrix, is in the order that LAPACK wants.
    lower, pivots, rank, _ = linalg.lapack.dpstrf(correlation.T, tol=tol, lower=1)
    lower = np.tril(lower[:, :rank])
    loadings = np.empty_like(lower)
    loadings[pivots - 1] = lower
    # The last rows of the factor reproduce the matrix only if it has this rank.
    remaining = pivots[rank:] - 1
    rows = max(1, _BLOCK // len(correlation))
    for row in range(0, len(remaining), rows):
        block = remaining[row : row + rows]
        remainder = correlation[block] - loadings[block] @ loadings.T
        if np.abs(remainder).max() > len(correlation) * _ROUNDING:
            raise np.linalg.LinAlgError("not positive semidefinite")
    return loadings


def factor(
    correlation: Array,
    sides: int,
    cholesky: Array | None = None,
    *,
    separate_noise: bool = True,
) -> Model:
    """Factor a correlation, leading components first: they get the best points.

    A small matrix is factored through its eigenvectors. A large one is if its rank is
    below half of its size, from its pivoted Cholesky factor; else its leading
    components are followed by the Cholesky factor of the remainder.
    """
    size = len(correlation)
    noise = 0.0
    if size <= _EIGEN:
        values, vectors = np.linalg.eigh(correlation)
        if separate_noise and values[0] > _NOISE:
            noise = float(values[0])
        keep = np.flatnonzero(values - noise > _ZERO)[::-1]
        loadings = vectors[:, keep] * np.sqrt(values[keep] - noise)
    else:
        if cholesky is None:
            cholesky = pivoted_cholesky(correlation)
        if cholesky.shape[1] <= size // 2:
            loadings = _leading_first(cholesky)
        else:
            if separate_noise:
                noise = _least_eigenvalue(correlation)
            loadings = _of_full_rank(correlation, noise)
    loadings *= np.sqrt(1 - noise) / np.linalg.norm(loadings, axis=1, keepdims=True)
    return (Diagonal if noise else Radial)(loadings, noise, sides)


def _leading_first(loadings: Array) -> Array:
    """Rotate loadings to principal components in descending order."""
    values, vectors = np.linalg.eigh(loadings.T @ loadings)
    rotated: Array = loadings @ vectors[:, values > _ZERO][:, ::-1]
    return rotated


def _of_full_rank(correlation: Array, noise: float) -> Array:
    """Factor a large matrix less its noise without all of its eigenvectors."""
    size = len(correlation)
    remainder = correlation - noise * np.eye(size)
    basis = np.random.default_rng(0).standard_normal((size, _LEADING))
    for _ in range(3):  # subspace iteration
        basis = _orthonormal(remainder @ basis)
    product = remainder @ basis
    values, vectors = np.linalg.eigh(basis.T @ product)
    keep = values > 1e-6
    leading = product @ (vectors[:, keep] / np.sqrt(values[keep]))  # Nystroem
    remainder -= leading @ leading.T
    rest = pivoted_cholesky((remainder + remainder.T) / 2, 10 * _SHIFT)
    return np.hstack([_leading_first(leading), rest])


def _orthonormal(basis: Array) -> Array:
    values, vectors = np.linalg.eigh(basis.T @ basis)
    keep = values > _ZERO * values[-1]
    orthonormal: Array = basis @ (vectors[:, keep] / np.sqrt(values[keep]))
    return orthonormal


def _least_eigenvalue(correlation: Array) -> float:
    """Lower bound of the least eigenvalue by inverse iteration, 0 if it is small."""
    lower, singular = linalg.lapack.dpotrf(correlation, lower=1)
    if singular:
        return 0.0
    vector = np.random.default_rng(0).standard_normal(len(correlation))
    value = 1.0
    for _ in range(10):
        solution, _ = linalg.lapack.dpotrs(lower, vector, lower=1)
        value = 1 / float(np.linalg.norm(solution))
        vector = solution * value
        value = float(vector @ correlation @ vector)
    while value > _NOISE:
        value -= _SHIFT
        shifted = correlation.copy()
        shifted.flat[:: len(correlation) + 1] -= value
        if not linalg.lapack.dpotrf(shifted, lower=1)[1]:
            return value
        value *= 0.9
    return 0.0


def _fresh_points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Scrambled Sobol points: two coordinates uniform, the others standard normal."""
    # Older releases of scipy know this parameter only as ``seed``.
    sobol = min(dimension, _SOBOL)
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


def points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Points of a scramble, kept for the next call if they are few."""
    if stop < _FIRST and _FIRST * dimension <= _KEPT:
        # To scramble takes longer than to generate some more points.
        return points(dimension, 0, _FIRST, seed)[start:stop]
    few = (stop - start) * dimension <= _KEPT
    return (_kept_points if few else _fresh_points)(dimension, start, stop, seed)
