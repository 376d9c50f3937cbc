"""Distribution of the maximum of correlated normal or t variables: quantile and tail.

Equal coordinates are merged. The distribution is exact for one, two or uncorrelated
coordinates. Otherwise the correlation is factored and exceedances are sampled.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special
from scipy.spatial import distance

from skci._arrays import Array, allow_underflow, cached_property
from skci._progress import Progress
from skci._threads import few_threads
from skci._validation import (
    SCRAMBLES,
    RandomState,
    check_alternative,
    check_confidence_level,
    check_degrees,
    check_positive_number,
    draw_seeds,
)
from skci.exceptions import CriticalValueWarning, warn_caller
from skci.inference.critical.correlation import (
    Loadings,
    blocks,
    check_correlation,
    factor,
    is_diagonal,
)
from skci.inference.critical.exceedances import (
    LEVELS,
    DiagonalSampler,
    Model,
    Proposal,
    RadialSampler,
    SampledTail,
    batches,
    nested_tail,
)

Alternative = Literal["two-sided", "less", "greater"]

_N_PILOT, _MIN_POINTS, _MAX_POINTS = 128, 1024, 1 << 15
"""Points per scramble: to locate the quantile, and minimum and maximum afterwards.

The minimum is for a tolerance of .001; a larger tolerance may need fewer points.
"""
_COORDINATES, _PROJECTIONS, _PRODUCTS = 1 << 24, 1 << 29, 1 << 34
"""Largest numbers per scramble of coordinates, projections and multiplications."""
_STEP = 0.03  # distance in q over which a logit is approximated by a parabola
_STANDARD_ERRORS = 3.5  # multiple of the standard error in an error bound
_FLOOR = 1e-5  # error of the tables and the parabola
_CHI_NODES = 400  # nodes of the integral over the chi variable of a multivariate t
_POSTERIOR = (0.02, 0.15, 0.4, 0.65, 0.9)  # quantile levels of sampled divisors
_ANGLES = 2048  # grid cells for the correlations of many pairs
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-3, 2e-3  # default errors of quantiles
_SAME = 1e-12  # coordinates are equal if their correlation is this close to one
_REACH = 0.5  # scale of the adjustment of the tail to a quantile
_NOWHERE = 40.0  # distance, in units of _REACH, beyond which the adjustment is zero
_FAR = LEVELS[-1] + 0.5  # above this x, the ratio to Bonferroni's bound is constant
_POINTS = 1 << 10  # approximate number of points projected on all coordinates
_NORMAL = 1e6  # degrees of freedom from which a t distribution is treated as normal


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
        """Return bounds for the quantile of the maximum of `size` variables.

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
        """Return the ratio of t and normal quantiles with the same tail probability."""
        if np.isinf(self.df):
            return 1.0
        z = float(-special.ndtri(self.sf(q) / self.sides))
        return max(q / z, 1.0) if z > 0 else 1.0


def sidak(alpha: float, size: int) -> float:
    """Return Sidak's error probability for a single test.

    The probability of any error in `size` independent tests is then alpha.
    """
    return float(-np.expm1(np.log1p(-alpha) / size))


class QuantileSearch:
    """Search for the quantile q with P(max > q) = alpha, by importance sampling.

    `pairs` contains the correlations between coordinates, and the number of pairs of
    coordinates that each correlation represents.
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
        self.alpha, self.size = alpha, model.loadings.size
        self.pairs = pairs
        self.bounds = marginal.bounds(alpha, self.size)
        self.stretch = marginal.stretch(self.bounds[1])
        self.step = _STEP * self.stretch

    def solve(self, tol: float) -> CriticalValue:
        """Find the critical value with a numerical error below `tol`.

        The error may be larger if the maximum number of sampled points is reached.
        """
        dimension = self.model.loadings.rank + 2
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
        """Return the values at which tail probabilities are estimated.

        The values are q - step, q and q + step.
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
        """Draw random numbers with means that estimate tail probabilities near q.

        The result has shape (4 or 5, scrambles, points). The means of the first three
        arrays estimate P(max > q - step), P(max > q) and P(max > q + step). The mean of
        the fourth array estimates the expected number of pairs of coordinates that both
        exceed q. For t distributions, a fifth array contains the weights, which have
        mean 1.
        """
        model, proposal = self.model, self.proposal(q)
        tables = model.tables(self.levels(q), proposal)
        terms = []
        for points in batches(model.loadings.rank, self.size, start, stop, self.seeds):
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
        """Estimate tail probabilities with control variates.

        Each randomisation of the Sobol points gives a separate estimate.
        """
        probabilities, controls = terms[:3], terms[3:]
        rho, counts = self.pairs
        scale, weights = self.marginal.chi
        both = both_exceed(rho, q * scale[:, np.newaxis], self.marginal.sides)
        control_means = np.array([[weights @ (both @ counts)], [1.0]])[: len(controls)]
        deviations = controls - controls.mean(axis=(1, 2), keepdims=True)
        products = np.einsum("aij,bij->ab", deviations, deviations)
        covariances = np.einsum("aij,ij->a", deviations, probabilities[1])
        slopes = np.linalg.pinv(products, hermitian=True) @ covariances
        means: Array = probabilities.mean(axis=2)
        return means - slopes @ (controls.mean(axis=2) - control_means)


def on_grid(rho: Array, counts: Array | None = None) -> tuple[Array, Array]:
    """Approximate a set of correlations by weighted correlations on a grid.

    Each correlation is replaced by the two nearest grid points, with the weights of
    linear interpolation. The grid is uniform in the arcsine of the correlation, because
    tail probabilities are smooth functions of the arcsine.
    """
    part, cell = np.modf((np.arcsin(rho) / np.pi + 0.5) * _ANGLES)
    below = cell.astype(np.intp)
    upper, lower = (
        (part, 1 - part) if counts is None else (part * counts, counts - part * counts)
    )
    weights = np.bincount(below, lower, _ANGLES + 1)
    weights += np.bincount(below + 1, upper, _ANGLES + 2)[:-1]
    return np.sin(np.linspace(-np.pi / 2, np.pi / 2, _ANGLES + 1)), weights


class MaxDistribution:
    r"""Distribution of the maximum of correlated normal or t variables z.

    The maximum is :math:`\max_j |z_j|`, or :math:`\max_j z_j` if one-sided. The vector
    z is normal with mean 0 and correlation R, or multivariate t: a normal vector
    divided by a common :math:`\sqrt{\chi^2_\nu / \nu}`. The correlation of many
    coordinates may be passed as `Loadings`, if no coordinate is constant. The number
    `shift` is added to the maximum. If `warns` is true, quantiles with a numerical
    error above the tolerance issue a warning. For the other parameters see
    `critical_value`.
    """

    def __init__(
        self,
        correlation: Any,
        *,
        df: float | None = None,
        alternative: Alternative = "two-sided",
        random_state: RandomState = None,
        tol: float | None = None,
        shift: float = 0.0,
        warns: bool = True,
    ) -> None:
        self._warns, self._shift, self.seeds = warns, shift, draw_seeds(random_state)
        self.df = np.inf if df is None or df >= _NORMAL else df
        self.sides = 2 if alternative == "two-sided" else 1
        self.marginal = Marginal(self.sides, self.df)
        self._quantiles: dict[tuple[float, float], CriticalValue] = {}
        self._loadings: Loadings | None = None
        self.is_uncorrelated = self._is_exact = False
        if isinstance(correlation, Loadings):
            self._tol = _TOLERANCE_OF_MANY if tol is None else tol
            self._loadings = correlation.standardised()
            self.size = correlation.size
            self._position: Array = np.arange(self.size)
            return
        self._tol = _TOLERANCE if tol is None else tol
        # Each coordinate is represented by the first coordinate equal to it, up to the
        # sign if two-sided.
        similar = np.abs if self.sides == 2 else np.asarray
        first = []
        for rows in blocks(len(correlation), len(correlation)):
            first.append((similar(correlation[rows]) > 1 - _SAME).argmax(axis=1))
        distinct, self._position = np.unique(np.concatenate(first), return_inverse=True)
        if len(distinct) < len(correlation):
            correlation = correlation[np.ix_(distinct, distinct)]
        self._correlation: Array = correlation
        self.size = len(distinct)
        self.is_uncorrelated = is_diagonal(correlation)
        self._is_exact = self.size <= 2 or self.is_uncorrelated

    @property
    def _few_threads(self) -> AbstractContextManager[None]:
        """Context manager that limits the number of threads for linear algebra."""
        return few_threads(_POINTS * self.size**2)

    @allow_underflow
    def quantile(self, level: float = 0.95, tol: float | None = None) -> CriticalValue:
        """Return a quantile of the maximum of correlated variables.

        A `CriticalValueWarning` is issued if the numerical error exceeds `tol`; see
        `critical_value`.
        """
        alpha, tol = 1 - level, self._tol if tol is None else tol
        if self._is_exact:
            return CriticalValue(self._exact_quantile(alpha) + self._shift)
        if (alpha, tol) not in self._quantiles:
            with self._few_threads:
                search = QuantileSearch(
                    self._model, self.marginal, self._pairs, self.seeds, alpha
                )
                value = search.solve(tol)
            shifted = CriticalValue(value + self._shift, value.error)
            self._quantiles[alpha, tol] = shifted
            if self._warns and value.error > tol * self.marginal.stretch(value):
                warn_caller(
                    f"the critical value for {self.size} parameters has a numerical "
                    f"error of up to {value.error:.1g}, more than tol={tol:g}",
                    CriticalValueWarning,
                )
        return self._quantiles[alpha, tol]

    @allow_underflow
    def sf(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Return the probability that the maximum of all variables exceeds x.

        The relative error is one or two percent for probabilities of at least 1e-10. If
        `level` is given, probabilities are adjusted to agree with the quantile of that
        level: a probability is below ``1 - level`` exactly if x exceeds
        ``quantile(level)``.
        """
        x = np.asarray(x, dtype=float)
        with self._few_threads:
            probability = self._sf(x.ravel())
        if level is not None:
            probability = self._agreeing(x.ravel(), probability, level)
        return probability.reshape(x.shape)

    @allow_underflow
    def step_down(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Compute two-sided p-values of K statistics by a step-down procedure.

        The largest statistic is compared with the maximum of all coordinates, the
        second largest with the maximum of the remaining coordinates, and so on.
        Adjusted p-values are monotone in the statistics (Westfall and Young, 1993,
        section 2.6). For `level` see `sf`.
        """
        if self.sides == 1:
            raise ValueError("step_down needs alternative='two-sided'")
        x = np.asarray(x, dtype=float)
        single = self.sf(x, level=level)
        unadjusted = self.marginal.sf(x)
        order = np.argsort(x, kind="stable")
        remaining = np.arange(1, len(x) + 1)
        nested = np.minimum(unadjusted[order] * remaining, single[order])
        if self.size > 1:
            with self._few_threads:
                loadings = self._radial.loadings.take(self._position[order])
                model = replace(self._radial, loadings=loadings)
                tail = nested_tail(model, np.maximum(x[order], 0.0), self.seeds)
            nested = np.clip(tail, unadjusted[order], nested)
        return np.clip(_not_below_larger(nested, order), unadjusted, single)

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Distinct correlations, with the number of pairs of coordinates for each."""
        if self._loadings is not None:
            return on_grid(*self._loadings.correlations())
        rho = distance.squareform(self._correlation, checks=False)
        if self.size**2 <= 4 * _ANGLES:
            return rho, np.ones(len(rho))
        return on_grid(rho)

    @cached_property
    def _model(self) -> Model:
        """Factor model of the correlation, from which random numbers are drawn.

        For a normal distribution, independent noise is separated from the common
        factors if the correlation matrix contains such noise.
        """
        if np.isinf(self.df) and self._loadings is None:
            loadings, noise = factor(self._correlation, True)
            if noise:
                return DiagonalSampler(Loadings(loadings), noise, self.sides)
            return RadialSampler(Loadings(loadings), 0.0, self.sides)
        return self._radial

    @cached_property
    def _radial(self) -> RadialSampler:
        """Sampler of directions, from which tail probabilities are computed."""
        loadings = self._loadings
        if loadings is None:
            loadings = Loadings(factor(self._correlation, False)[0])
        return RadialSampler(loadings, 0.0, self.sides, self.df)

    @cached_property
    def _tail(self) -> SampledTail:
        return SampledTail(self._radial, self.seeds)

    def _sf(self, x: Array) -> Array:
        x = x - self._shift
        if self.sides == 2:
            x = np.maximum(x, 0.0)
        if self._is_exact:
            return self._exact_sf(x)
        lower = self.marginal.sf(x)
        upper = np.minimum(self.size * lower, 1.0)
        if self.sides == 2:  # Sidak's inequality, also valid for t
            with np.errstate(divide="ignore"):
                upper = -np.expm1(self.size * np.log1p(-lower))
        if np.isinf(self.df):
            tail = self._tail.sf(np.minimum(x, _FAR))
            tail *= np.where(x > _FAR, lower / self.marginal.sf(_FAR), 1.0)
        else:
            tail = self._tail.sf(x)
        return np.clip(tail, lower, upper)

    def _agreeing(self, x: Array, probability: Array, level: float) -> Array:
        """Adjust tail probabilities so that they agree with the quantile of a level.

        After the adjustment, the tail probability at this quantile is ``1 - level``.
        """
        q = float(self.quantile(level))
        alpha = 1 - level
        at = np.clip(self._sf(np.array([q]))[0], 1e-300, 1 - 1e-16)
        shift = special.logit(alpha) - special.logit(at)
        near = np.exp(-(np.clip((x - q) / _REACH, -_NOWHERE, _NOWHERE) ** 2) / 2)
        shifted = special.expit(special.logit(probability) + shift * near)
        moved = np.where(near > 1e-9, shifted, probability)
        below = np.minimum(moved, np.nextafter(alpha, 0))
        return np.where(x > q, below, np.maximum(moved, alpha))

    def _exact_sf(self, x: Array) -> Array:
        """Compute exact tail probabilities for one, two or uncorrelated coordinates."""
        if self.size == 1:
            return self.marginal.sf(x)
        scale, weights = self.marginal.chi
        levels = np.multiply.outer(np.clip(x, -40, None), scale)
        single = np.minimum(self.sides * special.ndtr(-levels), 1.0)
        if self.is_uncorrelated:
            with np.errstate(divide="ignore"):
                tail = -np.expm1(self.size * np.log1p(-single))
        else:
            rho = self._correlation[0, 1]
            tail = 2 * single - both_exceed(rho, levels, self.sides)
        return np.clip(tail @ weights, self.marginal.sf(x), 1.0)

    def _exact_quantile(self, alpha: float) -> float:
        low, high = self.marginal.bounds(alpha, self.size)
        if self.size == 1:
            return low
        if self.is_uncorrelated and np.isinf(self.df):
            return self.marginal.isf(sidak(alpha, self.size))

        def excess(q: float) -> float:
            return float(np.log(self._exact_sf(np.array([q]))[0] / alpha))

        margin = 1e-6 * max(1.0, abs(high))
        q = optimize.brentq(excess, low - margin, high + margin, xtol=1e-12)
        return float(np.clip(q, low, high))


def step_down_directions(
    x: Array, loadings: Loadings, df: float = np.inf, random_state: RandomState = None
) -> Array:
    """Compute step-down p-values that allow conclusions on the signs of K effects.

    The procedure tests 2 K one-sided hypotheses (Romano and Wolf, 2005). The largest
    statistic is compared with the maximum over all coordinates in both directions. For
    each later comparison, the coordinates of larger statistics remain only in the
    negative direction. The family-wise error rate also covers conclusions on signs.
    This property is not proved for `MaxDistribution.step_down`.

    Parameters
    ----------
    x : array of shape (K,)
        Nonnegative statistics: absolute values of standardised effects.
    loadings : Loadings
        Factor loadings of the statistics. No statistic may be constant.
    df : float
        Common degrees of freedom, infinite for normal statistics.
    random_state : int or None
        See `critical_value`.

    References
    ----------
    Romano and Wolf (2005), J. Am. Stat. Assoc. 100, 94-108.
    """
    order = np.argsort(x, kind="stable")
    df = np.inf if df >= _NORMAL else df
    standard = loadings.standardised().take(order)
    model = RadialSampler(standard, 0.0, 2, df)
    unadjusted = Marginal(1, df).sf(x[order])
    seeds = draw_seeds(random_state)
    nested = nested_tail(model, x[order], seeds, directions=True)
    hypotheses = np.arange(len(x) + 1, 2 * len(x) + 1)
    nested = np.clip(nested, 2 * unadjusted, np.minimum(hypotheses * unadjusted, 1.0))
    return _not_below_larger(nested, order)


def _not_below_larger(pvalues: Array, order: Array) -> Array:
    """Raise each p-value to at least the p-values of all larger statistics."""
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.maximum.accumulate(pvalues[::-1])[::-1]
    return adjusted


def critical_value(
    correlation: ArrayLike,
    confidence_level: float = 0.95,
    *,
    df: float | None = None,
    alternative: Alternative = "two-sided",
    random_state: RandomState = None,
    tol: float = 1e-3,
) -> CriticalValue:
    r"""Compute the critical value of K simultaneous confidence intervals.

    The critical value of two-sided intervals is the number q with

    .. math:: P(\max_j |z_j| < q) = \text{confidence level}

    for :math:`z \sim N(0, R)`. For one-sided intervals, q satisfies
    :math:`P(\max_j z_j < q) = \text{confidence level}`.

    Parameters
    ----------
    correlation : array-like of shape (K, K), or a scalar 1
        Correlation matrix R of the estimates. R may be singular, for example if
        estimates are equal or opposite.
    confidence_level : float in [1e-6, 1), default=0.95
        Joint coverage probability of the intervals.
    df : float, optional
        Common degrees of freedom of the standard errors, at least 1. The statistics are
        then multivariate t. By default, they are multivariate normal.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Alternative hypothesis. "less" and "greater" have the same critical value.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the scrambled quasi-random points. None means a fixed seed: repeated
        calls return the same value to the last bit.
    tol : float > 0, default=1e-3
        Largest numerical error, at least 1e-5. With `df`, the error may be larger by
        the ratio of the t quantile to the normal quantile with the same tail
        probability. Quasi-random points are added until the error is below `tol`, up to
        :math:`2^{18}` points (fewer beyond 500 dimensions).

    Returns
    -------
    CriticalValue
        A float whose ``error`` bounds its numerical error in about 99 of 100 cases:
        3.5 standard errors of the estimate, or 0 if the value is exact.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Warns
    -----
    CriticalValueWarning
        If the numerical error exceeds `tol`.

    See Also
    --------
    scipy.stats.multivariate_normal : The distribution function itself.
    scipy.stats.studentized_range : All differences of independent means.
    scipy.stats.dunnett : Comparisons of several means with a control.

    Notes
    -----
    Genz and Bretz [1]_ treat this problem. The solution is at least the normal
    quantile, with equality if all correlations are 1. The two-sided solution is at most
    the quantile of Šidák [2]_, with equality if all correlations are 0. The one-sided
    solution is at most Bonferroni's, because negative correlations increase it.

    The solution is exact for one, two or uncorrelated parameters. Otherwise exceedances
    are sampled [3]_, so that a rare exceedance needs no more points than a common one:

    .. math:: P(\text{some } z_j \text{ exceeds } q) =
        \mathbb{E} \left[ \frac{K p}{\#\{k: z_k \text{ exceeds } q\}} \right]

    with p the probability that one :math:`z_j` exceeds q. Here j is drawn at random,
    :math:`z_j` from its tail, and the other coordinates given :math:`z_j`. Exceedances
    are replaced by their conditional probabilities given the direction of z. If
    :math:`R = D + B B^T` with a large enough multiple D of the identity, they are
    conditional on the part with covariance :math:`B B^T` instead. The number of pairs
    that exceed q, whose mean is known, is a control variate.

    References
    ----------
    .. [1] Genz, A. and Bretz, F. (2009). Computation of Multivariate Normal and t
       Probabilities. Springer.
    .. [2] Šidák, Z. (1967). Rectangular confidence regions for the means of
       multivariate normal distributions. Journal of the American Statistical
       Association 62, 626-633.
    .. [3] Owen, A. B., Maximov, Y. and Chertkov, M. (2019). Importance sampling the
       union of rare events with an application to power systems analysis. Electronic
       Journal of Statistics 13, 231-254.

    Examples
    --------
    The value for one estimate, or for two equal estimates, is the normal quantile:

    >>> from skci.inference import critical_value
    >>> round(critical_value(1), 3)
    1.96
    >>> round(critical_value([[1, -1], [-1, 1]]), 3)
    1.96

    Three correlated estimates have a larger critical value:

    >>> correlation = [[1, 0.5, 0.2], [0.5, 1, 0.5], [0.2, 0.5, 1]]
    >>> q = critical_value(correlation)
    >>> print(f"{q:.2f}, error below {q.error:.0e}")  # doctest: +ELLIPSIS
    2.36, error below ...
    >>> round(critical_value(correlation, df=20), 2)  # from 21 clusters
    2.55
    """
    level = check_confidence_level(confidence_level)
    check_alternative(alternative)
    maximum = MaxDistribution(
        check_correlation(correlation),
        df=check_degrees(np.inf if df is None else df),
        alternative=alternative,
        random_state=random_state,
    )
    return maximum.quantile(level, check_positive_number(tol, "tol"))
