"""Multivariate normals given that one of their coordinates is far out.

For the critical value: a correlation matrix is factored, vectors are drawn with a
coordinate beyond a level, and what is left of the probability that some coordinate
exceeds the level is integrated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import special
from scipy.stats import qmc

from skci._arrays import Array

__all__ = ["Model", "Table", "both_exceed", "factor", "points"]


_ZERO = 1e-10
"""Variances below this are zero."""
_NOISE = 0.01
"""Least independent variance worth integrating by itself."""
_FIRST = 1 << 10
"""Points of a scramble that are made together."""
_KEPT = 1 << 17
"""Coordinates of a scramble that are few enough to keep for the next call."""
_TINY = 1e-15
"""Probabilities below this are zero."""
_CELLS = 2048
"""Cells of a table, at least."""


def both_exceed(rho: Array, q: float, sides: int) -> Array:
    """P(both of two normals exceed q) for each of their correlations."""
    if rho.size > 2 * _CELLS:
        # As a function of the arcsine it is smooth up to the ends.
        end = np.pi / 2
        table = Table(lambda x: both_exceed(np.sin(x), q, sides), -end, end, _CELLS)
        return table(np.arcsin(rho))
    if sides == 2:
        return 2 * (both_exceed(rho, q, 1) + both_exceed(-rho, q, 1))
    with np.errstate(divide="ignore"):
        ratio = np.sqrt((1 - rho) / (1 + rho))
    both: Array = special.ndtr(-q) - 2 * special.owens_t(q, ratio)
    return both


class Table:
    """A smooth function of one number, tabulated once and interpolated often."""

    def __init__(
        self, function: Callable[[Array], Array], low: float, high: float, cells: int
    ) -> None:
        self.low, self.cells = low, cells
        self.scale = cells / (high - low)
        self.values = function(np.linspace(low, high, cells + 1))
        self.steps = np.append(np.diff(self.values), 0)

    @property
    def rises(self) -> float:
        """Where an increasing function that begins at zero leaves it."""
        return self.low + (np.argmax(self.values > _TINY) - 1) / self.scale

    def __call__(self, x: Array) -> Array:
        position: Array = np.clip((x - self.low) * self.scale, 0, self.cells)
        cell = position.astype(np.intp)
        position -= cell
        position *= self.steps[cell]
        position += self.values[cell]
        return position


@dataclass(frozen=True)
class _Factor:
    """The correlation as that of z = loadings @ y + sqrt(noise) * e.

    The r-vector y and the K-vector e are independent and standard normal. y is drawn,
    and a model integrates what it can.
    """

    loadings: Array
    noise: float
    sides: int

    @cached_property
    def conditionals(self) -> tuple[Array, Array, Array]:
        """Coefficients of the coordinates of y in their order, given z_j.

        Let b be the loadings of z_j and S_i what y_i, those after it, and the noise
        leave of its variance. Given z_j and y_1 .. y_{i-1}, y_i is
        b_i m_i + sqrt(S_{i+1} / S_i) n_i with n_i standard normal, m_1 = z_j and
        m_{i+1} = m_i - b_i / sqrt(S_i S_{i+1}) n_i. Once S_i is zero y_i is free.
        """
        noise = np.full((len(self.loadings), 1), self.noise)
        left = np.cumsum(np.hstack([self.loadings**2, noise])[:, ::-1], axis=1)[:, ::-1]
        left = np.where(left > _ZERO / 100, left, 0.0)
        before, after = left[:, :-1], left[:, 1:]
        pull = np.where(before > 0, self.loadings, 0.0)
        zero, one = np.zeros_like(pull), np.ones_like(pull)
        carry = np.divide(pull, np.sqrt(before * after), out=zero, where=after > 0)
        spread = np.sqrt(np.divide(after, before, out=one, where=before > 0))
        return pull, carry, spread

    def draw(self, q: float, points: Array) -> Array:
        """Draw y given that z_j exceeds q, for every j as often."""
        pull, carry, spread = self.conditionals
        j = (points[:, 0] * len(pull)).astype(np.intp)
        z = -special.ndtri(points[:, 1] * special.ndtr(-q))
        normals = points[:, 2:]
        moves = carry[j] * normals
        mean = z[:, np.newaxis] - np.cumsum(moves, axis=1) + moves
        y: Array = pull[j] * mean + spread[j] * normals
        return y

    def project(self, y: Array) -> Array:
        """Compute what y makes of z, without signs where both sides count."""
        x: Array = y @ self.loadings.T
        return np.abs(x, out=x) if self.sides == 2 else x


class _Radial(_Factor):
    """Keeps the direction of y and integrates its length; for any correlation."""

    def table(self, q: float) -> Table:
        """Tabulate P(length * s > q) on the possible s."""
        low, r = self.sides - 2.0, self.loadings.shape[1]

        def exceed(s: Array) -> Array:
            with np.errstate(divide="ignore", invalid="ignore"):
                longer = special.chdtrc(r, (q / s) ** 2)
            if q < 0:
                return np.where(s < 0, 1 - longer, 1.0)
            return np.where(s > 0, longer, 0.0)

        # The more dimensions the less the length varies: the table is steeper.
        return Table(exceed, low, 1.0, _CELLS + 64 * r)

    def exceedances(self, y: Array, tables: Sequence[Table]) -> list[Array]:
        """P(some exceed | y) at three levels; mean numbers at the middle one.

        Of those that exceed it, and of pairs of them: when one exceeds, all with
        larger projections do.
        """
        s = self.project(y)
        s /= np.linalg.norm(y, axis=1, keepdims=True)
        s.sort(axis=1)
        # Most of many projections are too short to exceed at any length.
        first = np.searchsorted(s.max(axis=0), tables[1].rises)
        each = tables[1](s[:, min(first, s.shape[1] - 1) :])
        pairs = each @ np.arange(each.shape[1])[::-1]
        return [*(table(s[:, -1]) for table in tables), each.sum(axis=1), pairs]


class _Diagonal(_Factor):
    """Keeps y and integrates the noise; for well-conditioned correlations."""

    def table(self, q: float) -> Table:
        """Tabulate P(x + sqrt(noise) e_j exceeds q) on the x that matter."""
        deviation = np.sqrt(self.noise)
        low = 0.0 if self.sides == 2 else q - 9 * deviation

        def exceed(x: Array) -> Array:
            upper: Array = special.ndtr((x - q) / deviation)
            lower: Array = special.ndtr((-x - q) / deviation)
            return upper + lower if self.sides == 2 else upper

        return Table(exceed, low, q + 9 * deviation, 4 * _CELLS)

    def exceedances(self, y: Array, tables: Sequence[Table]) -> list[Array]:
        """See `_Radial.exceedances`; here all are independent given y."""
        x = self.project(y)
        below, each, above = (table(x) for table in tables)
        some = [1 - np.prod(1 - p, axis=1) for p in (below, each, above)]
        number = each.sum(axis=1)
        return [*some, number, (number**2 - (each**2).sum(axis=1)) / 2]


Model = _Radial | _Diagonal


def factor(correlation: Array, sides: int) -> Model:
    """Factor a correlation, leading components first: they get the best points."""
    values, vectors = np.linalg.eigh(correlation)
    diagonal = bool(values[0] > _NOISE)
    noise = float(values[0]) if diagonal else 0.0
    keep = np.flatnonzero(values - noise > _ZERO)[::-1]
    loadings = vectors[:, keep] * np.sqrt(values[keep] - noise)
    lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
    loadings *= np.sqrt(1 - noise) / lengths
    return (_Diagonal if diagonal else _Radial)(loadings, noise, sides)


def _fresh_points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Scrambled Sobol points: two coordinates uniform, the others standard normal."""
    # Older releases of scipy know this parameter only as ``seed``.
    engine = qmc.Sobol(dimension, seed=np.random.default_rng(seed))
    if start:
        engine.fast_forward(start)
    points = engine.random(stop - start) + 2.0**-31  # middles of cells: never 0
    special.ndtri(points[:, 2:], out=points[:, 2:])
    points.flags.writeable = False
    return points


_kept_points = lru_cache(maxsize=64)(_fresh_points)


def points(dimension: int, start: int, stop: int, seed: int) -> Array:
    """Points of a scramble, kept for the next call if they are few."""
    if stop < _FIRST and _FIRST * dimension <= _KEPT:
        # To scramble takes longer than to make some more points.
        return points(dimension, 0, _FIRST, seed)[start:stop]
    few = (stop - start) * dimension <= _KEPT
    return (_kept_points if few else _fresh_points)(dimension, start, stop, seed)
