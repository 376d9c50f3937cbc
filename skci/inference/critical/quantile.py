"""Quantile of a maximum of normal or t variables by importance sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.spatial import distance

from skci._arrays import Array, cached_property
from skci._progress import Progress
from skci._validation import SCRAMBLES
from skci.inference.critical.exceedances import Model, Proposal, batches

_N_PILOT, _MIN_POINTS, _MAX_POINTS = 128, 1024, 1 << 15
"""Points per scramble: to locate the quantile, and minimum and maximum afterwards.

The minimum is for a tolerance of .001; a larger tolerance may need fewer points.
"""
_COORDINATES, _PROJECTIONS, _PRODUCTS = 1 << 24, 1 << 29, 1 << 34
"""Largest numbers per scramble of coordinates, projections and multiplications."""
_STEP = 0.03  # distance in q over which a logit is approximated by a parabola
_STANDARD_ERRORS = 3.5  # multiple of the standard error in an error bound
_FLOOR = 1e-5  # error of the tables and of the parabola
_CHI_NODES = 400  # nodes of the integral over the chi variable of a multivariate t
_POSTERIOR = (0.02, 0.15, 0.4, 0.65, 0.9)  # quantile levels of sampled divisors
_ANGLES = 2048  # grid cells for the correlations of many pairs


def both_exceed(rho: Array, q: Array, sides: int) -> Array:
    """Return the probability that two normal variables both exceed q.

    The result has a probability for each correlation `rho` of the two variables.
    """
    if sides == 2:
        return 2 * (both_exceed(rho, q, 1) + both_exceed(-rho, q, 1))
    with np.errstate(divide="ignore"):
        ratio = np.sqrt((1 - rho) / (1 + rho))
    return special.ndtr(-q) - 2 * special.owens_t(q, ratio)


class CriticalValue(float):
    """Critical value: a float with a bound on its numerical error.

    Parameters
    ----------
    value : float
        The critical value.
    error : float, default=0.0
        Bound on the numerical error, 0 if the value is exact.

    Examples
    --------
    >>> from skci.inference import critical_value
    >>> q = critical_value([[1.0, 0.5], [0.5, 1.0]])
    >>> f"{q:.3f}", q.error < 1e-6
    ('2.212', True)
    """

    error: float

    def __new__(cls, value: float, error: float = 0.0) -> CriticalValue:
        """Create the float and attach the error."""
        self = super().__new__(cls, value)
        self.error = float(error)
        return self


@dataclass(frozen=True)
class Marginal:
    """Distribution of one coordinate: t, or normal if `df` is infinite.

    If `sides` is 2, tail probabilities refer to the absolute value of the coordinate.
    """

    sides: int
    df: float

    def sf(self, x: ArrayLike) -> Array:
        """Return the probability that one coordinate exceeds x."""
        x = np.asarray(x, dtype=float)
        normal = np.isinf(self.df)
        tail = special.ndtr(-x) if normal else special.stdtr(self.df, -x)
        return np.minimum(self.sides * tail, 1.0)

    def isf(self, p: float) -> float:
        """Return the quantile q such that ``sf(q)`` is p."""
        tail = p / self.sides
        normal = np.isinf(self.df)
        return -float(special.ndtri(tail) if normal else special.stdtrit(self.df, tail))

    def bounds(self, alpha: float, size: int) -> tuple[float, float]:
        """Return a lower and an upper bound for the quantile of the maximum.

        The lower bound is the quantile of one coordinate. The upper bound is Sidak's
        quantile (two-sided) or Bonferroni's quantile (one-sided).
        """
        share = sidak(alpha, size) if self.sides == 2 else alpha / size
        return self.isf(alpha), self.isf(share)

    @cached_property
    def chi(self) -> tuple[Array, Array]:
        r"""Quadrature nodes and weights for the random divisor of a t variable.

        The divisor is :math:`\sqrt{\chi^2_\nu / \nu}`. A normal distribution has the
        single node 1. The trapezoidal rule is applied to the logarithm of the divisor,
        because its density is smooth.
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
        """Return the ratio of a t quantile to the normal quantile of equal tail."""
        if np.isinf(self.df):
            return 1.0
        z = float(-special.ndtri(self.sf(q) / self.sides))
        return max(q / z, 1.0) if z > 0 else 1.0


def sidak(alpha: float, size: int) -> float:
    """Return Sidak's tail probability of a single variable.

    The probability that the maximum of K independent variables is in the tail is then
    alpha.
    """
    return float(-np.expm1(np.log1p(-alpha) / size))


class QuantileSearch:
    """Search for the quantile q with P(max > q) = alpha, by importance sampling.

    `pairs` has the correlations of the pairs of coordinates, and the weight of each
    correlation in a sum over all pairs.
    """

    def __init__(
        self,
        model: Model,
        marginal: Marginal,
        pairs: tuple[Array, Array],
        seeds: list[int],
        alpha: float,
    ) -> None:
        self.model, self.marginal, self.seeds = model, marginal, seeds
        self.alpha, self.size = alpha, model.size
        self.pairs = pairs
        self.bounds = marginal.bounds(alpha, self.size)
        self.stretch = marginal.stretch(self.bounds[1])
        self.step = _STEP * self.stretch

    def solve(self, tol: float) -> CriticalValue:
        """Find the critical value with a numerical error below `tol`.

        The error may be larger if the maximum number of sampled points is reached.
        """
        dimension = self.model.rank + 2
        affordable = _PRODUCTS // self.model.loadings.cost
        pilot = 1 << int(np.log2(np.clip(affordable // 16, _N_PILOT // 4, _N_PILOT)))
        maximum = max(affordable, 2 * _N_PILOT)
        maximum = min(_COORDINATES // dimension, _PROJECTIONS // self.size, maximum)
        maximum = min(_MAX_POINTS, 1 << int(np.log2(maximum)))
        minimum = min(_MIN_POINTS >> int(np.log2(max(tol / 1e-3, 1))), maximum)
        with Progress("points of a critical value", SCRAMBLES * maximum) as self.line:
            q = self.marginal.isf(sidak(self.alpha, self.size))
            for _ in range(6):
                q, error = self.invert(q, self.sample(q, 0, pilot))
                if error < self.step:
                    break
            n_terms = 4 if np.isinf(self.marginal.df) else 5
            level, number, terms = q, pilot, np.empty((n_terms, SCRAMBLES, 0))
            while True:
                # The error decreases about as number**(-2/3).
                ratio = error / (tol * self.stretch)
                doublings = np.clip(np.ceil(1.5 * np.log2(ratio)), 1, 4)
                number = int(np.clip(number * 2**doublings, minimum, maximum))
                if abs(q - level) > self.step:
                    level, terms = q, terms[:, :, :0]
                more = self.sample(level, terms.shape[2], number)
                terms = np.concatenate([terms, more], axis=2)
                q, error = self.invert(level, terms)
                if error <= tol * self.marginal.stretch(q) or number == maximum:
                    return CriticalValue(q, error)

    def levels(self, q: float) -> tuple[float, float, float]:
        """Return the levels at which probabilities are estimated.

        The levels are q - step, q and q + step.
        """
        step = min(self.step, q / 4) if self.marginal.sides == 2 else self.step
        return q - step, q, q + step

    def proposal(self, q: float) -> Proposal:
        r"""Return the proposal distribution for importance sampling of maxima near q.

        For a t distribution, the levels of the proposal are products of q and likely
        values of the divisor in `Marginal.chi`. Given that a t variable equals q, the
        squared divisor is distributed as :math:`\chi^2_{\nu + 1} / (\nu + q^2)`.
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
        """Draw terms for the estimation of tail probabilities near q.

        The result has shape (4 or 5, scrambles, points). The means of the terms are
        P(max > q - step), P(max > q), P(max > q + step), the expected number of pairs
        of coordinates that exceed q and, for t, 1.
        """
        model, proposal = self.model, self.proposal(q)
        tables = model.tables(self.levels(q), proposal)
        terms = []
        for points in batches(model.rank, self.size, start, stop, self.seeds):
            terms.append(np.stack(model.exceedances(points, proposal, tables)))
            self.line.add(len(points))
        sampled = np.concatenate(terms, axis=1)
        return sampled.reshape(len(sampled), SCRAMBLES, stop - start)

    def invert(self, q: float, terms: Array) -> tuple[float, float]:
        """Estimate the critical value and its numerical error.

        `terms` is the result of `sample` for a value q near the critical value.
        """
        means = self.controlled(q, terms)
        levels = self.levels(q)
        # P(max > x) is at least the tail probability of one coordinate.
        lower_bound = self.marginal.sf(np.array(levels))
        p = np.clip(means.mean(axis=1), lower_bound, 1 - 1e-12)
        below, at, above = special.logit(p) - special.logit(self.alpha)
        step = q - levels[0]
        # Upper bound on the slope of the logit of the tail.
        slope = min((above - below) / (2 * step), -0.1 / self.stretch)
        curvature = (above - 2 * at + below) / step**2
        move = -at / slope
        move /= np.clip(1 + curvature * move / (2 * slope), 0.5, 2)
        # The result is rounded because the number of BLAS threads may change the last
        # bits.
        solution = float(np.clip(np.round(q + move, 10), *self.bounds))
        standard_error = means[1].std(ddof=1) / np.sqrt(len(means[1]))
        error = _STANDARD_ERRORS * standard_error / -(slope * p[1] * (1 - p[1]))
        error += _FLOOR
        moved = abs(solution - q)
        return solution, float(error if moved <= self.step else max(error, moved))

    def controlled(self, q: float, terms: Array) -> Array:
        """Estimate the tail probabilities from each scramble, with control variates."""
        probabilities, controls = terms[:3], terms[3:]
        rho, counts = self.pairs
        scale, weights = self.marginal.chi
        both = both_exceed(rho, q * scale[:, np.newaxis], self.marginal.sides)
        control_means = np.array([weights @ (both @ counts), 1.0])[
            : len(controls), np.newaxis
        ]
        deviations = controls - controls.mean(axis=(1, 2), keepdims=True)
        products = np.einsum("aij,bij->ab", deviations, deviations)
        covariances = np.einsum("aij,ij->a", deviations, probabilities[1])
        slopes = np.linalg.pinv(products, hermitian=True) @ covariances
        means: Array = probabilities.mean(axis=2)
        return means - slopes @ (controls.mean(axis=2) - control_means)


def pairs_of(correlation: Array) -> tuple[Array, Array]:
    """Return the correlations of the pairs of coordinates, and their weights."""
    rho = distance.squareform(correlation, checks=False)
    if len(correlation) ** 2 <= 4 * _ANGLES:
        return rho, np.ones(len(rho))
    return on_grid(rho)


def on_grid(rho: Array, counts: Array | None = None) -> tuple[Array, Array]:
    """Approximate a set of correlations by weighted correlations on a grid.

    The weights interpolate linearly on the grid. The grid is uniform in the arcsine of
    the correlation, because the probability that two coordinates exceed q is a smooth
    function of the arcsine.
    """
    part, cell = np.modf((np.arcsin(rho) / np.pi + 0.5) * _ANGLES)
    below = cell.astype(np.intp)
    upper, lower = (
        (part, 1 - part) if counts is None else (part * counts, counts - part * counts)
    )
    weights = np.bincount(below, lower, _ANGLES + 1)
    weights += np.bincount(below + 1, upper, _ANGLES + 2)[:-1]
    return np.sin(np.linspace(-np.pi / 2, np.pi / 2, _ANGLES + 1)), weights
