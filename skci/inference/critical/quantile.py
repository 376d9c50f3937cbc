"""Quantile of a maximum of normal or t variables by importance sampling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from skci._arrays import Array
from skci.inference.critical.checks import SCRAMBLES
from skci.inference.critical.exceedances import (
    Correlations,
    Model,
    Proposal,
    both_exceed,
    points,
)

__all__ = ["CriticalValue", "Marginal", "QuantileSearch"]

_PILOT, _FEWEST, _MOST = 128, 1024, 1 << 15
"""Points of a scramble to find a level with, and to rest an answer on."""
_LARGEST = 1 << 24
"""Coordinates of a scramble: with many dimensions there are fewer points."""
_PROJECTIONS, _PRODUCTS = 1 << 26, 1 << 34
"""The same for projections and the products in them, with many parameters."""
_BLOCK = 1 << 19
"""Numbers in a temporary array."""
_STEP = 0.03
"""Distance in q over which the logit of a probability is taken as a parabola."""
_STANDARD_ERRORS = 3.5
"""How many of them make a bound: eight scrambles know theirs roughly."""
_FLOOR = 1e-5
"""Error that the tables and the parabola leave."""
_CHI_NODES = 400
"""Nodes of the exact integral over the chi variable of a multivariate t."""
_POSTERIOR = (0.02, 0.15, 0.4, 0.65, 0.9)
"""Probabilities of the chi variables at which exceedances of a t are sampled."""


class CriticalValue(float):
    """A critical value: a float that knows its numerical error.

    Parameters
    ----------
    value : float
        The critical value.
    error : float, default=0.0
        Bound on its numerical error, 0 where it is exact.
    """

    error: float

    def __new__(cls, value: float, error: float = 0.0) -> CriticalValue:
        """Make a float and attach its error."""
        self = super().__new__(cls, value)
        self.error = float(error)
        return self


@dataclass(frozen=True)
class Marginal:
    """Distribution of one coordinate, normal or t.

    Parameters
    ----------
    sides : int
        2 if it exceeds a value where its absolute value does, else 1.
    df : float
        Degrees of freedom, infinite if it is normal.
    """

    sides: int
    df: float

    def sf(self, x: ArrayLike) -> Array:
        """Probability that one given coordinate exceeds each of some values."""
        x = np.asarray(x, dtype=float)
        tail = special.ndtr(-x) if np.isinf(self.df) else stats.t.sf(x, self.df)
        return np.minimum(self.sides * tail, 1.0)

    def isf(self, p: float) -> float:
        """Solve sf(q) = p."""
        tail = p / self.sides
        if np.isinf(self.df):
            return float(-special.ndtri(tail))
        return float(stats.t.isf(tail, self.df))

    def bounds(self, alpha: float, size: int) -> tuple[float, float]:
        """Limits of a quantile: of one coordinate, and Sidak's or Bonferroni's."""
        share = alpha / size
        if self.sides == 2:
            share = -np.expm1(np.log1p(-alpha) / size)
        return self.isf(alpha), self.isf(share)

    def mean_pairs(self, q: float, pairs: Correlations) -> float:
        """Mean number of pairs of coordinates that both exceed a value."""
        scale, weights = self.chi
        levels = q * scale[:, np.newaxis]
        each = both_exceed(pairs.rho, levels, self.sides)
        return float(weights @ (each @ pairs.weights))

    @cached_property
    def chi(self) -> tuple[Array, Array]:
        r"""Nodes and weights of :math:`\sqrt{\chi^2_\nu / \nu}`; 1 for the normal.

        The trapezoidal rule on the logarithm, whose density is smooth.
        """
        if np.isinf(self.df):
            return np.ones(1), np.ones(1)
        half = self.df / 2
        low = np.log(special.gammaincinv(half, 1e-18) / half) / 2
        high = np.log(special.gammainccinv(half, 1e-18) / half) / 2
        nodes = np.linspace(low, high, _CHI_NODES)
        log_density = self.df * nodes - half * np.exp(2 * nodes)
        weights = np.exp(log_density - log_density.max())
        return np.exp(nodes), weights / weights.sum()

    def stretch(self, q: float) -> float:
        """Ratio of a quantile of t to that of the normal with the same tail."""
        if np.isinf(self.df):
            return 1.0
        z = float(-special.ndtri(self.sf(q) / self.sides))
        return max(q / z, 1.0) if z > 0 else 1.0


@dataclass(frozen=True)
class QuantileSearch:
    """Solves P(max > q) = alpha for q from samples at levels near the solution.

    Parameters
    ----------
    model : Model
        Factored correlation of the coordinates.
    marginal : Marginal
        Distribution of one coordinate.
    pairs : Correlations
        Correlations of all pairs.
    seeds : list of int
        Seeds of the scrambles.
    alpha : float
        Probability to exceed the quantile.
    """

    model: Model
    marginal: Marginal
    pairs: Correlations
    seeds: list[int]
    alpha: float

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest quantile that a correlation can have."""
        return self.marginal.bounds(self.alpha, self.size)

    @cached_property
    def stretch(self) -> float:
        """Scale of errors and steps."""
        return self.marginal.stretch(self.bounds[1])

    @property
    def step(self) -> float:
        """Distance of the levels at which probabilities are estimated."""
        return _STEP * self.stretch

    @property
    def size(self) -> int:
        """Number K of coordinates."""
        return len(self.model.loadings)

    def solve(self, tol: float) -> CriticalValue:
        """Add points until the error is below the tolerance, or the most there are."""
        model, size = self.model, self.size
        affordable = _PRODUCTS // (size * model.rank)
        pilot = 1 << int(np.log2(np.clip(affordable // 16, _PILOT // 4, _PILOT)))
        q = self.marginal.isf(-np.expm1(np.log1p(-self.alpha) / size))  # Sidak's
        for _ in range(6):
            q, error = self.invert(q, self.sample(q, 0, pilot))
            if error < self.step:
                break
        dimension = model.rank + 2
        most = min(
            _LARGEST // dimension,
            _PROJECTIONS // size,
            max(affordable, 2 * _PILOT),
        )
        most = min(_MOST, 1 << int(np.log2(most)))
        level, number, terms = q, pilot, None
        while True:
            # The error falls about as number to the power of -2/3.
            doublings = np.clip(
                np.ceil(1.5 * np.log2(error / (tol * self.stretch))), 1, 4
            )
            number = int(np.clip(number * 2**doublings, min(_FEWEST, most), most))
            if abs(q - level) > self.step:
                level, terms = q, None
            if terms is None:
                terms = self.sample(level, 0, number)
            else:
                more = self.sample(level, terms.shape[2], number)
                terms = np.concatenate([terms, more], axis=2)
            q, error = self.invert(level, terms)
            if error <= tol * self.marginal.stretch(q) or number == most:
                return CriticalValue(q, error)

    def levels(self, q: float) -> tuple[float, float, float]:
        """Probabilities are estimated at q and on both sides of it."""
        step = min(self.step, q / 4) if self.marginal.sides == 2 else self.step
        return q - step, q, q + step

    def proposal(self, q: float) -> Proposal:
        r"""Propose exceedances of q, for t where its chi variable makes them likely.

        Given a t variable of size q, :math:`\chi^2_{\nu + 1} / (\nu + q^2)` is the
        square of what it was divided by.
        """
        levels: tuple[float, ...] = (q,)
        sides, df = self.marginal.sides, self.marginal.df
        if not np.isinf(df):
            half = (df + 1) / 2
            squares = 2 * special.gammaincinv(half, np.array(_POSTERIOR))
            conditional = (q * np.sqrt(squares / (df + q**2))).tolist()
            levels = (0.0 if sides == 2 else -np.inf, *conditional)
        return Proposal(levels, sides, self.size)

    def sample(self, q: float, start: int, stop: int) -> Array:
        """Sample exceedances of q with some points of each scramble.

        Returns
        -------
        array of shape (4 or 5, scrambles, points)
            Terms whose means are P(some exceed) a step below q, at q and a step above
            it, the mean number of pairs that exceed q, and for t 1.
        """
        model, proposal = self.model, self.proposal(q)
        tables = model.tables(self.levels(q), proposal)
        rows = max(1, _BLOCK // self.size)
        terms = []
        for seed in self.seeds:
            u = points(model.rank + 2, start, stop, seed)
            for row in range(0, len(u), rows):
                block = u[row : row + rows]
                terms.append(np.stack(model.exceedances(block, proposal, tables)))
        sampled = np.concatenate(terms, axis=1)
        return sampled.reshape(len(sampled), SCRAMBLES, stop - start)

    def invert(self, q: float, terms: Array) -> tuple[float, float]:
        """Solve for q, given a sample at a level near it; also bound the error."""
        some, controls = terms[:3], terms[3:]
        known = np.array([self.marginal.mean_pairs(q, self.pairs), 1.0])[
            : len(controls), np.newaxis
        ]
        deviations = controls - controls.mean(axis=(1, 2), keepdims=True)
        products = np.einsum("aij,bij->ab", deviations, deviations)
        slopes = np.linalg.pinv(products, hermitian=True) @ np.einsum(
            "aij,ij->a", deviations, some[1]
        )
        means = some.mean(axis=2) - slopes @ (controls.mean(axis=2) - known)

        levels = self.levels(q)
        # Whatever the noise, some exceed with no less than the probability of one.
        least = self.marginal.sf(np.array(levels))
        p = np.clip(means.mean(axis=1), least, 1 - 1e-12)
        below, at, above = special.logit(p) - special.logit(self.alpha)
        step = q - levels[0]
        # It is never flatter than this.
        slope = min((above - below) / (2 * step), -0.1 / self.stretch)
        curvature = (above - 2 * at + below) / step**2
        move = -at / slope
        move /= np.clip(1 + curvature * move / (2 * slope), 0.5, 2)
        # Rounded: the threads of the linear algebra may change its last bits.
        solution = float(np.clip(np.round(q + move, 10), *self.bounds))

        standard_error = means[1].std(ddof=1) / np.sqrt(len(means[1]))
        error = _STANDARD_ERRORS * standard_error / -(slope * p[1] * (1 - p[1]))
        error += _FLOOR
        moved = abs(solution - q)
        return solution, float(error if moved <= self.step else max(error, moved))
