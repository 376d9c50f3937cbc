"""Distribution of the maximum of correlated normal or t variables: quantile and tail.

Equal coordinates are merged. The distribution is exact for one, two or uncorrelated
coordinates. Otherwise the correlation is factored and exceedances are sampled.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from skci._arrays import Array, allow_underflow, cached_property
from skci._threads import few_threads
from skci._validation import (
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
    RadialSampler,
    SampledTail,
    nested_tail,
)
from skci.inference.critical.quantile import (
    CriticalValue,
    Marginal,
    QuantileSearch,
    both_exceed,
    on_grid,
    pairs_of,
    sidak,
)

Alternative = Literal["two-sided", "less", "greater"]

_TOLERANCE, _TOLERANCE_OF_MANY = 1e-3, 2e-3  # default errors of quantiles
_SAME = 1e-12  # coordinates are equal if their correlation is this close to one
_REACH = 0.5  # scale of the adjustment of the tail to a quantile
_NOWHERE = 40.0  # distance, in units of _REACH, beyond which the adjustment is zero
_FAR = LEVELS[-1] + 0.5  # above this x, the ratio to Bonferroni's bound is constant
_POINTS = 1 << 10  # approximate number of points projected on all coordinates
_NORMAL = 1e6  # degrees of freedom from which a t distribution is treated as normal


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
            self._loadings = correlation.standardised().principal()
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
        """Context manager that limits the number of threads of linear algebra."""
        return few_threads(_POINTS * self.size**2)

    @allow_underflow
    def quantile(self, level: float = 0.95, tol: float | None = None) -> CriticalValue:
        """Return the value that the maximum exceeds with probability 1 - level.

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
                    f"the critical value of {self.size} parameters has a numerical "
                    f"error of up to {value.error:.1g}, more than tol={tol:g}",
                    CriticalValueWarning,
                )
        return self._quantiles[alpha, tol]

    @allow_underflow
    def sf(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Return the probability that the maximum exceeds each value of x.

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
        """Correlations of the pairs of coordinates, with the weight of each pair."""
        if self._loadings is not None:
            return on_grid(*self._loadings.correlations())
        return pairs_of(self._correlation)

    @cached_property
    def _model(self) -> Model:
        """Sampler from which the quantile is computed.

        For normal z, independent noise is separated from the factors if the correlation
        contains such noise.
        """
        if np.isinf(self.df) and self._loadings is None:
            loadings, noise = factor(self._correlation, True)
            if noise:
                return DiagonalSampler(Loadings(loadings), noise, self.sides)
            return RadialSampler(Loadings(loadings), 0.0, self.sides)
        return self._radial

    @cached_property
    def _radial(self) -> RadialSampler:
        """Sampler from which tail probabilities are computed."""
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
        """Adjust tail probabilities near the quantile to agree with the quantile."""
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
        Loadings of the statistics. No statistic may be constant.
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
    standard = loadings.standardised().principal().take(order)
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
