"""Distribution of the maximum of correlated normal or t variables: quantile and tail.

Equal coordinates are merged. The law of one or two coordinates, or of uncorrelated
ones, is exact; otherwise the correlation is factored and exceedances are sampled.
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
    Diagonal,
    Model,
    Radial,
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

_TOLERANCE, _TOLERANCE_OF_MANY = 1e-3, 2e-3  # errors of quantiles, by default
_SAME = 1e-12  # coordinates are equal if their correlation is this near to one
_REACH = 0.5  # distance over which the tail is adjusted to a quantile
_NOWHERE = 40.0  # as many of these distances the adjustment vanishes
_FAR = LEVELS[-1] + 0.5  # beyond it the ratio to Bonferroni's bound is extrapolated
_POINTS = 1 << 10  # that are projected on all coordinates, in order of magnitude
_NORMAL = 1e6  # degrees of freedom from which on a t distribution is taken as normal


class MaximumLaw:
    r"""Distribution of :math:`\max_j |z_j|`, or one-sided of :math:`\max_j z_j`.

    z is normal with mean 0 and correlation R, or multivariate t: such a vector divided
    by one :math:`\sqrt{\chi^2_\nu / \nu}`. For the parameters see `critical_value`;
    `warns` is whether errors of quantiles above the tolerance are warned of. The
    correlation of many coordinates, none of them constant, may be given by loadings.
    """

    def __init__(
        self,
        correlation: Any,
        *,
        df: float | None = None,
        alternative: Alternative = "two-sided",
        random_state: RandomState = None,
        tol: float | None = None,
        warns: bool = True,
    ) -> None:
        self._warns, self.seeds = warns, draw_seeds(random_state)
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
        # Each coordinate is represented by the first that equals it, up to its sign if
        # two-sided.
        similar = np.abs if self.sides == 2 else np.asarray
        first = []
        for rows in blocks(len(correlation), len(correlation)):
            first.append((similar(correlation[rows]) > 1 - _SAME).argmax(axis=1))
        kept, self._position = np.unique(np.concatenate(first), return_inverse=True)
        if len(kept) < len(correlation):
            correlation = correlation[np.ix_(kept, kept)]
        self._correlation: Array = correlation
        self.size = len(kept)
        self.is_uncorrelated = is_diagonal(correlation)
        self._is_exact = self.size <= 2 or self.is_uncorrelated

    @property
    def _few_threads(self) -> AbstractContextManager[None]:
        """Context for what is computed of all coordinates."""
        return few_threads(_POINTS * self.size**2)

    @allow_underflow
    def quantile(self, level: float = 0.95, tol: float | None = None) -> CriticalValue:
        """Value that the maximum exceeds with probability 1 - level.

        Warns with a `CriticalValueWarning` if the error could not be brought below
        `tol`; see `critical_value`.
        """
        alpha, tol = 1 - level, self._tol if tol is None else tol
        if self._is_exact:
            return CriticalValue(self._exact_quantile(alpha))
        if (alpha, tol) not in self._quantiles:
            with self._few_threads:
                search = QuantileSearch(
                    self._model, self.marginal, self._pairs, self.seeds, alpha
                )
                value = search.solve(tol)
            self._quantiles[alpha, tol] = value
            if self._warns and value.error > tol * self.marginal.stretch(value):
                warn_caller(
                    f"the critical value of {self.size} parameters has a numerical "
                    f"error of up to {value.error:.1g}, more than tol={tol:g}",
                    CriticalValueWarning,
                )
        return self._quantiles[alpha, tol]

    @allow_underflow
    def sf(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Probability that the maximum exceeds each of some values.

        The relative error is one or two percent where it is at least 1e-10. With a
        `level`, it agrees with the quantile of that level: it is below ``1 - level``
        exactly where x exceeds ``quantile(level)``.
        """
        x = np.asarray(x, dtype=float)
        with self._few_threads:
            probability = self._sf(x.ravel())
        if level is not None:
            probability = self._agreeing(x.ravel(), probability, level)
        return probability.reshape(x.shape)

    @allow_underflow
    def step_down(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Adjust the two-sided p-values of K statistics by free step-down, shape (K,).

        The largest statistic is compared with the maximum of all coordinates, the next
        one with that of all others, and so on; no probability is less than one before
        it (Westfall and Young, 1993, section 2.6). `level` is that of `sf`.
        """
        if self.sides == 1:
            raise ValueError("step_down needs alternative='two-sided'")
        x = np.asarray(x, dtype=float)
        single = self.sf(x, level=level)
        alone = self.marginal.sf(x)
        order = np.argsort(x, kind="stable")
        remaining = np.arange(1, len(x) + 1)
        nested = np.minimum(alone[order] * remaining, single[order])
        if self.size > 1:
            with self._few_threads:
                loadings = self._radial.loadings.taken(self._position[order])
                model = replace(self._radial, loadings=loadings)
                tail = nested_tail(model, np.maximum(x[order], 0.0), self.seeds)
            nested = np.clip(tail, alone[order], nested)
        return np.clip(_not_below_larger(nested, order), alone, single)

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Correlations of all pairs of coordinates, and how often each occurs."""
        if self._loadings is not None:
            return on_grid(*self._loadings.correlations())
        return pairs_of(self._correlation)

    @cached_property
    def _model(self) -> Model:
        """Factored correlation for the quantile, with the noise apart if normal."""
        if np.isinf(self.df) and self._loadings is None:
            loadings, noise = factor(self._correlation, True)
            if noise:
                return Diagonal(Loadings(loadings), noise, self.sides)
            return Radial(Loadings(loadings), 0.0, self.sides)
        return self._radial

    @cached_property
    def _radial(self) -> Radial:
        """Factored correlation for the tail."""
        loadings = self._loadings
        if loadings is None:
            loadings = Loadings(factor(self._correlation, False)[0])
        return Radial(loadings, 0.0, self.sides, self.df)

    @cached_property
    def _tail(self) -> SampledTail:
        return SampledTail(self._radial, self.seeds)

    def _sf(self, x: Array) -> Array:
        if self.sides == 2:
            x = np.maximum(x, 0.0)
        if self._is_exact:
            return self._exact_sf(x)
        least = self.marginal.sf(x)
        most = np.minimum(self.size * least, 1.0)
        if self.sides == 2:  # Sidak's inequality, which holds for the t as well
            with np.errstate(divide="ignore"):
                most = -np.expm1(self.size * np.log1p(-least))
        if np.isinf(self.df):
            tail = self._tail.sf(np.minimum(x, _FAR))
            tail *= np.where(x > _FAR, least / self.marginal.sf(_FAR), 1.0)
        else:
            tail = self._tail.sf(x)
        return np.clip(tail, least, most)

    def _agreeing(self, x: Array, probability: Array, level: float) -> Array:
        """Shift the logit near a quantile to agree with it, and settle ties."""
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
        """Tail of one or two coordinates, or of uncorrelated ones."""
        if self.size == 1:
            return self.marginal.sf(x)
        scale, weights = self.marginal.chi
        levels = np.multiply.outer(np.clip(x, -40, None), scale)
        each = np.minimum(self.sides * special.ndtr(-levels), 1.0)
        if self.is_uncorrelated:
            with np.errstate(divide="ignore"):
                some = -np.expm1(self.size * np.log1p(-each))
        else:
            rho = self._correlation[0, 1]
            some = 2 * each - both_exceed(rho, levels, self.sides)
        return np.clip(some @ weights, self.marginal.sf(x), 1.0)

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
    """Adjust the p-values of K positive statistics for both directions of all, (K,).

    Step-down over 2 K one-sided hypotheses: the largest statistic is compared with the
    maximum of all in both directions, the next one with that of all but the first,
    which remains in its negative direction, and so on (Romano and Wolf, 2005). So signs
    are concluded with the family-wise error rate, which the free step-down procedure of
    `MaximumLaw.step_down` does not show.

    Parameters
    ----------
    x : array of shape (K,)
        Nonnegative statistics.
    loadings : Loadings
        Of their covariance; no coordinate is constant.
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
    standard = loadings.standardised().principal().taken(order)
    model = Radial(standard, 0.0, 2, df)
    alone = Marginal(1, df).sf(x[order])
    seeds = draw_seeds(random_state)
    nested = nested_tail(model, x[order], seeds, directions=True)
    hypotheses = np.arange(len(x) + 1, 2 * len(x) + 1)
    nested = np.clip(nested, 2 * alone, np.minimum(hypotheses * alone, 1.0))
    return _not_below_larger(nested, order)


def _not_below_larger(pvalues: Array, order: Array) -> Array:
    """Raise p-values to those of larger statistics, of which `order` is ascending."""
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
    r"""Number of standard errors at which K intervals cover jointly.

    With :math:`z \sim N(0, R)`, the solution q of

    .. math:: P(\max_j |z_j| < q) = \text{confidence level}

    or, one-sided, of :math:`P(\max_j z_j < q) = \text{confidence level}`.

    Parameters
    ----------
    correlation : array-like of shape (K, K), or a scalar 1
        Correlation matrix R of the estimates, of any rank. Estimates may be equal or
        opposite to each other.
    confidence_level : float in [1e-6, 1), default=0.95
        Joint coverage probability of the intervals.
    df : float, optional
        Common degrees of freedom of the standard errors, at least 1: z is then
        multivariate t. Normal if not given.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        "less" and "greater" have the same critical value.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the scrambled quasi-random points. None is a fixed seed: the same call
        gives the same value to the last bit.
    tol : float > 0, default=1e-3
        Largest numerical error, at least 1e-5; for t, relative to the ratio of the t to
        the normal quantile with the same tail. Points are added until it is reached, up
        to :math:`2^{18}` (fewer beyond 500 dimensions).

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
        If the error could not be brought below `tol`.

    See Also
    --------
    scipy.stats.multivariate_normal : The distribution function itself.
    scipy.stats.studentized_range : The case of all differences of independent means.
    scipy.stats.dunnett : Comparisons of several means with a control.

    Notes
    -----
    The problem is that of Genz and Bretz [1]_. Its solution is at least the normal
    quantile, reached where all correlations are 1, and at most Šidák's [2]_, reached
    where all are 0 (one-sided, where negative ones cost more: Bonferroni's).

    One parameter, two, and uncorrelated ones are solved exactly. Otherwise exceedances
    are sampled [3]_, so that a rare one takes no more points than a common one:

    .. math:: P(\text{some } z_j \text{ exceeds } q) =
        \mathbb{E} \left[ \frac{K p}{\#\{k: z_k \text{ exceeds } q\}} \right]

    with p the probability that one :math:`z_j` exceeds q, j drawn at random,
    :math:`z_j` from its tail and the others given it. Exceedances are replaced by their
    probabilities given the direction of z or, where :math:`R = D + B B^T` with a large
    enough multiple D of the identity, given what B contributes. The number of pairs
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
    One estimate has the normal quantile, and so have two that are the same:

    >>> from skci.inference import critical_value
    >>> round(critical_value(1), 3)
    1.96
    >>> round(critical_value([[1, -1], [-1, 1]]), 3)
    1.96

    Three that are correlated need more:

    >>> correlation = [[1, 0.5, 0.2], [0.5, 1, 0.5], [0.2, 0.5, 1]]
    >>> q = critical_value(correlation)
    >>> print(f"{q:.2f}, error below {q.error:.0e}")  # doctest: +ELLIPSIS
    2.36, error below ...
    >>> round(critical_value(correlation, df=20), 2)  # from 21 clusters
    2.55
    """
    level = check_confidence_level(confidence_level)
    check_alternative(alternative)
    law = MaximumLaw(
        check_correlation(correlation),
        df=check_degrees(np.inf if df is None else df),
        alternative=alternative,
        random_state=random_state,
    )
    return law.quantile(level, check_positive_number(tol, "tol"))
