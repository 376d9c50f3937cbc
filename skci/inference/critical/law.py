"""From a correlation matrix to a critical value: the one place of joint quantiles.

The steps are: validate, merge parameters that are one and the same, answer exactly
where that is possible, and otherwise factor the correlation, sample where something
exceeds, and invert the probability so estimated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from skci._arrays import Array
from skci.exceptions import CriticalValueWarning
from skci.inference.critical.exceedances import Model, both_exceed, factor, points

__all__ = ["CriticalValue", "critical_value", "fixed_seed"]

Alternative = Literal["two-sided", "less", "greater"]
RandomState = int | np.random.Generator | np.random.RandomState | None

_ROUNDING = 1e-8
"""How far rounding may take a matrix away from a correlation."""
_SAME = 1e-12
"""Parameters are the same when their correlation is this near to one."""

_SCRAMBLES = 8
"""Independent randomisations of the points; their spread is the error estimate."""
_PILOT, _FEWEST, _MOST = 128, 1024, 1 << 15
"""Points of a scramble to find a level with, and to rest an answer on."""
_LARGEST = 1 << 24
"""Coordinates of a scramble: with many dimensions there are fewer points."""
_BLOCK = 1 << 19
"""Numbers in a temporary array."""

_STEP = 0.03
"""Distance in q over which the logit of a probability is taken as a parabola."""
_STANDARD_ERRORS = 3.5
"""How many of them make a bound: eight scrambles know theirs roughly."""
_FLOOR = 1e-5
"""Error that the tables and the parabola leave."""


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


def critical_value(
    correlation: ArrayLike,
    confidence_level: float = 0.95,
    *,
    alternative: Alternative = "two-sided",
    random_state: RandomState = None,
    tol: float = 1e-3,
) -> CriticalValue:
    r"""Find the number of standard errors that makes K intervals hold at once.

    With :math:`z \sim N(0, R)`, the value q that solves

    .. math:: P(\max_j |z_j| < q) = \text{confidence level}

    or, one-sided, :math:`P(\max_j z_j < q) = \text{confidence level}`.

    Parameters
    ----------
    correlation : array-like of shape (K, K), or a scalar 1
        Correlation matrix R of the estimates, of any rank. Estimates may be equal or
        opposite to each other.
    confidence_level : float in (0, 1), default=0.95
        Probability with which all intervals are to hold.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Whether intervals end on both sides or on one. "less" and "greater" have the
        same critical value.
    random_state : int, Generator, RandomState or None, default=None
        Where the scrambles of the quasi-random points come from. None is a fixed
        seed: the same call gives the same value to the last bit. The global random
        state of numpy is never used.
    tol : float > 0, default=1e-3
        Numerical error to stay below; at least 1e-5 remains. Points are added until it
        is reached or until there are :math:`2^{18}` (fewer beyond 500 dimensions).

    Returns
    -------
    CriticalValue
        A float whose ``error`` bounds its numerical error in about 99 of 100 cases:
        3.5 standard errors of the estimate, and 0 where the value is exact.

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
    :math:`z_j` from its tail and the others given it. All exceedances are replaced by
    their probabilities given the direction of z, whose length has a chi distribution;
    or, where R is well conditioned, so that :math:`R = D + B B^T` with a large enough
    multiple D of the identity, given what B contributes. The number of pairs that
    exceed q, whose mean is known, is a control variate.

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

    >>> from skci import critical_value
    >>> round(critical_value(1), 3)
    1.96
    >>> round(critical_value([[1, -1], [-1, 1]]), 3)
    1.96

    Three that are correlated need more:

    >>> q = critical_value([[1, 0.5, 0.2], [0.5, 1, 0.5], [0.2, 0.5, 1]])
    >>> print(f"{q:.2f}, error below {q.error:.0e}")  # doctest: +ELLIPSIS
    2.36, error below ...
    """
    matrix = _check_correlation(correlation)
    alpha = 1 - _check_number("confidence_level", confidence_level, 1)
    tol = _check_number("tol", tol, np.inf)
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError(
            f"alternative must be 'two-sided', 'less' or 'greater', got {alternative!r}"
        )
    seeds = _seeds(random_state)
    sides = 2 if alternative == "two-sided" else 1
    problem = _Problem(_distinct(matrix, sides), alpha, sides)
    exact = problem.exact()
    if exact is not None:
        return CriticalValue(exact)
    value, error = _search(problem, seeds, tol)
    if error > tol:
        warnings.warn(
            f"the critical value of {problem.size} parameters has a numerical error "
            f"of up to {error:.1g}, more than tol={tol:g}",
            CriticalValueWarning,
            stacklevel=2,
        )
    return CriticalValue(value, error)


def _check_correlation(correlation: ArrayLike) -> Array:
    """Validate a correlation matrix and undo what rounding did to it."""
    given = np.asarray(correlation)
    must = "correlation must be"
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{must} a matrix of numbers, got values of type {given.dtype}")
    matrix = np.array(given, dtype=float, ndmin=2)
    size = len(matrix)
    if matrix.shape != (size, size) or not size:
        raise ValueError(f"{must} a square matrix, got shape {given.shape}")
    with np.errstate(invalid="ignore"):
        wrong = {
            "finite": ~np.isfinite(matrix),
            "1 on the diagonal": np.diag(np.abs(np.diag(matrix) - 1) > _ROUNDING),
            "within [-1, 1]": np.abs(matrix) > 1 + _ROUNDING,
            "symmetric": np.abs(matrix - matrix.T) > _ROUNDING,
        }
    for wanted, where in wrong.items():
        if where.any():
            i, j = np.argwhere(where)[0]
            raise ValueError(f"{must} {wanted}, got {matrix[i, j]} at [{i}, {j}]")
    repaired: Array = np.clip((matrix + matrix.T) / 2, -1, 1)
    np.fill_diagonal(repaired, 1)
    try:
        np.linalg.cholesky(repaired + size * _ROUNDING * np.eye(size))
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(repaired)[0]
        raise ValueError(
            f"{must} positive semidefinite, got an eigenvalue of {least:.2g}"
        ) from None
    return repaired


def _check_number(name: str, value: Any, below: float) -> float:
    """Validate a number strictly between 0 and an upper limit."""
    wanted = f"{name} must be a number strictly between 0 and {below}"
    if not isinstance(value, Real):
        raise TypeError(f"{wanted}, got {value!r}")
    number = float(value)
    if not 0 < number < below:
        raise ValueError(f"{wanted}, got {value}")
    return number


def fixed_seed(random_state: RandomState) -> int | None:
    """Draw a seed once, so that it may be used again and again."""
    seeds = _seeds(random_state)
    return None if random_state is None else seeds[0]


def _seeds(random_state: RandomState) -> list[int]:
    """Seed the scrambles."""
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
    return [int(seed) for seed in generator.integers(1 << 31, size=_SCRAMBLES)]


def _distinct(correlation: Array, sides: int) -> Array:
    """Merge parameters that are equal or, where both sides count, opposite."""
    compared = np.abs(correlation) if sides == 2 else correlation
    keep = ~np.triu(compared > 1 - _SAME, 1).any(axis=0)
    distinct: Array = correlation[np.ix_(keep, keep)]
    return distinct


@dataclass(frozen=True)
class _Problem:
    """P(some z_j exceeds q) = alpha, to be solved for q."""

    correlation: Array
    alpha: float
    sides: int
    """2 where z_j exceeds q if its absolute value does, else 1."""

    @property
    def size(self) -> int:
        """Number K of parameters."""
        return len(self.correlation)

    def tail(self, q: float) -> float:
        """P(z_j exceeds q)."""
        return float(self.sides * special.ndtr(-q))

    def quantile(self, p: float) -> float:
        """Solve tail(q) = p."""
        return float(-special.ndtri(p / self.sides))

    @property
    def sidak(self) -> float:
        """The solution for independent parameters."""
        return self.quantile(-np.expm1(np.log1p(-self.alpha) / self.size))

    @property
    def bounds(self) -> tuple[float, float]:
        """What the solution is between."""
        bonferroni = self.quantile(self.alpha / self.size)
        return self.quantile(self.alpha), self.sidak if self.sides == 2 else bonferroni

    def levels(self, q: float) -> tuple[float, float, float]:
        """Probabilities are estimated at q and on both sides of it."""
        step = min(_STEP, q / 4) if self.sides == 2 else _STEP
        return q - step, q, q + step

    def pairs(self, q: float) -> float:
        """Mean number of pairs of which both exceed q."""
        rho = self.correlation[np.triu_indices(self.size, 1)]
        return float(both_exceed(rho, q, self.sides).sum())

    def exact(self) -> float | None:
        """Solve one parameter, two, and uncorrelated ones; None for others."""
        low, high = self.bounds
        if self.size == 1:
            return low
        if np.abs(np.triu(self.correlation, 1)).max() < _ROUNDING:
            return self.sidak
        if self.size > 2:
            return None

        def excess(q: float) -> float:
            return float(np.log((2 * self.tail(q) - self.pairs(q)) / self.alpha))

        q = optimize.brentq(excess, low - 1e-6, high + 1e-6, xtol=1e-12)
        return float(np.clip(q, low, high))


def _sample(
    problem: _Problem, model: Model, q: float, seeds: list[int], start: int, stop: int
) -> Array:
    """Sample exceedances of q with some points of each scramble.

    Returns
    -------
    array of shape (4, scrambles, points)
        Terms whose means are P(some exceed) a step below q, at q and a step above it,
        and the mean number of pairs that exceed q.
    """
    tables = [model.table(level) for level in problem.levels(q)]
    size, r = model.loadings.shape
    rows = max(1, _BLOCK // size)
    terms = []
    for seed in seeds:
        u = points(r + 2, start, stop, seed)
        for row in range(0, len(u), rows):
            y = model.draw(q, u[row : row + rows])
            *some, number, pairs = model.exceedances(y, tables)
            weight = size * problem.tail(q) / number
            terms.append(np.stack([*some, pairs]) * weight)
    return np.concatenate(terms, axis=1).reshape(4, len(seeds), stop - start)


def _invert(problem: _Problem, q: float, terms: Array) -> tuple[float, float]:
    """Solve for q, given a sample at a level near it; also bound the error."""
    some, pairs = terms[:3], terms[3]
    deviation = pairs - pairs.mean()
    slope = (deviation * some[1]).sum() / max((deviation**2).sum(), 1e-300)
    means = some.mean(axis=2) - slope * (pairs.mean(axis=1) - problem.pairs(q))

    levels = problem.levels(q)
    # Whatever the noise, some exceed with no less than the probability of one.
    least = [problem.tail(level) for level in levels]
    p = np.clip(means.mean(axis=1), least, 1 - 1e-12)
    below, at, above = special.logit(p) - special.logit(problem.alpha)
    step = q - levels[0]
    slope = min((above - below) / (2 * step), -0.1)  # it is never flatter than this
    curvature = (above - 2 * at + below) / step**2
    move = -at / slope
    move /= np.clip(1 + curvature * move / (2 * slope), 0.5, 2)
    # Rounded: the threads of the linear algebra may change its last bits.
    solution = float(np.clip(np.round(q + move, 10), *problem.bounds))

    standard_error = means[1].std(ddof=1) / np.sqrt(len(means[1]))
    error = _STANDARD_ERRORS * standard_error / -(slope * p[1] * (1 - p[1])) + _FLOOR
    moved = abs(solution - q)
    return solution, float(error if moved <= _STEP else max(error, moved))


def _search(problem: _Problem, seeds: list[int], tol: float) -> tuple[float, float]:
    """Solve with points enough for an error of at most tol, or the most there are."""
    model = factor(problem.correlation, problem.sides)
    q = problem.sidak
    for _ in range(6):
        q, error = _invert(problem, q, _sample(problem, model, q, seeds, 0, _PILOT))
        if error < _STEP:
            break
    dimension = model.loadings.shape[1] + 2
    most = min(_MOST, 1 << int(np.log2(_LARGEST // dimension)))
    level, size, terms = q, _PILOT, np.empty((4, _SCRAMBLES, 0))
    while True:
        # The error falls about as size to the power of -2/3.
        doublings = np.clip(np.ceil(1.5 * np.log2(error / tol)), 1, 4)
        size = int(np.clip(size * 2**doublings, _FEWEST, most))
        if abs(q - level) > _STEP:
            level, terms = q, terms[..., :0]
        more = _sample(problem, model, level, seeds, terms.shape[2], size)
        terms = np.concatenate([terms, more], axis=2)
        q, error = _invert(problem, level, terms)
        if error <= tol or size == most:
            return q, error
