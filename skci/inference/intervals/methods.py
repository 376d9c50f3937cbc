"""Interval methods and their registry.

A method computes limits from estimates and a critical value. The critical value is a
normal quantile for an individual interval, and a quantile of the maximum for a joint
interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy import stats

from skci._arrays import Array, cached_property
from skci._validation import check_choice
from skci.inference.intervals.score import score_limits, score_roots
from skci.measures.functional import Functional
from skci.measures.traits import EDGE, IDENTITY, LOGIT, Link, MeasureProperties

Limits = tuple[float, float]

AvailableData = Literal["covariance", "skewness", "table"]
"""Information on estimates, in addition to their values, in increasing order."""

_RANGE = attrgetter("range_of_estimator")
_INCREASING: tuple[AvailableData, ...] = get_args(AvailableData)

_OTHER_NAMES = {
    "delong": "'logit' and 'delta' use DeLong's variance of roc_auc",
    **dict.fromkeys(
        ("exact", "beta", "binom-test", "binom_test"), "did you mean 'clopper-pearson'?"
    ),
    **dict.fromkeys(("wald", "normal", "asymptotic"), "did you mean 'delta'?"),
    **dict.fromkeys(("bootstrap", "bca", "percentile"), "'auto' needs no resampling"),
    **dict.fromkeys(("mcnemar", "tango"), "did you mean 'score'?"),
}
"""Remedies for names of methods in other libraries."""

_MAX_EXPONENT = 600.0
_SYMMETRIC = 1e-9  # a skewness below this is zero up to rounding


class Task(NamedTuple):
    """Inputs from which an interval method computes one interval.

    For the method "blurred", the standard error includes the added noise. `rarer_class`
    is the number of rows in the rarer class of an area under a curve, and 0 for other
    measures. `functional` and `counts` are None if the estimate is not computed from a
    table of counts.
    """

    trait: MeasureProperties
    estimate: float
    standard_error: float
    rarer_class: int = 0
    functional: Any = None
    counts: Any = None
    design_effect: float = 1.0
    hall: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Coefficients of the correction for skewness and curvature; see `_transformed`."""
    sign: int = 1
    """-1 if the interval is computed for minus the parameter."""
    agreement: Any = None
    """`Agreement` of two models that agree in all rows, else None."""


@dataclass(frozen=True, kw_only=True)
class IntervalMethod:
    """Interval method, with its requirements on the measure and the data."""

    applies: Callable[[MeasureProperties], bool] = lambda trait: True
    """Whether the method supports a measure."""
    need: str = ""
    """Requirement on the measure, for error messages."""
    adds_pseudo_counts: bool = True
    """Whether pseudo-counts are added to the counts before the variance is computed.
    The variance is then never zero."""
    blurs: bool = False
    """Whether the method adds the noise of blurring to the variance."""
    needs: AvailableData = "table"
    """Information on the estimate that the method requires."""
    needs_error: bool = True
    """Whether the method requires the standard error of the estimate."""
    needs_simple_sample: bool = False
    """Whether the method requires independent rows of equal weight."""
    studentises: bool = False
    """Whether the method uses a t quantile even in a simple random sample."""
    corrects_skewness: bool = False
    """Whether the method corrects for the skewness of the estimate."""
    for_agreement: bool = False
    """Whether the method is for models that agree in all rows, with zero variance."""

    @cached_property
    def adds_variance(self) -> bool:
        """Whether the method adds a variance to the variance estimated from data."""
        return self.adds_pseudo_counts or self.blurs

    def serves(
        self, trait: MeasureProperties, available: AvailableData = "table"
    ) -> bool:
        """Return whether the method supports a measure, given the available data."""
        suffices = _INCREASING.index(available) >= _INCREASING.index(self.needs)
        return suffices and self.applies(trait)

    def limits(
        self, tasks: Sequence[Task], crits: Sequence[Limits], z: float
    ) -> list[Limits]:
        """Compute the lower and upper limits of several intervals.

        Each task has two critical values, one for each limit. Methods that add
        pseudo-counts use z, the normal quantile of the level.
        """
        return [
            _clip(task, *self._limits(task, below, above, z))
            for task, (below, above) in zip(tasks, crits, strict=True)
        ]

    def roots(
        self, tasks: Sequence[Task], nulls: Array, above: Array, z: float
    ) -> Array:
        """Compute the critical values at which limits of intervals equal null values.

        A critical value refers to the lower limit where the mask `above` is true, and
        to the upper limit elsewhere. The critical value is negative if the limit and
        the null value are on different sides of the estimate. The critical value is
        minus infinity if no limit reaches the null value, and NaN if the search failed.
        """
        triples = zip(tasks, nulls, above, strict=True)
        roots = [
            self._root(task, null, is_above, z) for task, null, is_above in triples
        ]
        return np.array(roots)

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        """Compute unclipped limits of one interval from two critical values."""
        raise NotImplementedError

    def _root(self, task: Task, null: float, above: bool, z: float) -> float:
        return math.nan  # by search


def _clip(task: Task, low: float, high: float) -> Limits:
    """Clip limits to the range, and keep the estimate between the limits.

    If the estimate is on a boundary of the range, this boundary is a limit.
    """
    lowest, highest = task.trait.range_of_estimator
    low = max(min(low, math.nextafter(task.estimate, -math.inf)), lowest)
    high = min(max(high, math.nextafter(task.estimate, math.inf)), highest)
    width = highest - lowest
    edge = EDGE * width if width < np.inf else 0.0  # zero for unbounded measures
    if task.estimate <= lowest + edge:
        low = lowest
    if task.estimate >= highest - edge:
        high = highest
    lower_bound, upper_bound = task.trait.bounds
    return max(float(low), lower_bound), min(float(high), upper_bound)


class Wald(IntervalMethod):
    """Wald interval, computed on the scale of a link function.

    The limits are `crit` standard errors away from the estimate. For contrasts of areas
    under curves, a correction for skewness never makes the interval narrower, because
    skewness is estimated from few rows.
    """

    def _normal(self, task: Task, z: float) -> tuple[Link, float, float]:
        """Return the link function, the centre of the interval and the standard error.

        The centre and the standard error are not transformed by the link function.
        """
        return task.trait.scale, task.estimate, task.standard_error

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        link, centre, error = self._normal(task, z)
        middle, error = link.forward(centre), error * link.slope(centre)
        lower, upper = below, above
        if any(task.hall):
            lower = _untransformed(below, *task.hall)
            upper = -_untransformed(-above, *task.hall)
        if task.rarer_class:
            lower, upper = max(lower, below), max(upper, above)
        low, high = middle - error * lower, middle + error * upper
        return link.backward(low), link.backward(high)

    def _root(self, task: Task, null: float, above: bool, z: float) -> float:
        """Compute the distance from the estimate to the null value in standard errors.

        Limits are not clipped to the range. The distance is at most 0 if the limit and
        the null value are on different sides of the estimate.
        """
        link, centre, error = self._normal(task, z)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = link.forward(centre) - link.forward(null)
            root = float(np.divide(distance, error * link.slope(centre)))
        sign = 1 if above else -1
        symmetric, root = sign * root, sign * _transformed(root, *task.hall)
        if task.rarer_class:
            root = min(symmetric, root)
        beyond = null >= task.estimate if above else null <= task.estimate
        return min(root, 0.0) if beyond else root


def with_curvature(s: float, c: float) -> float:
    r"""Add the curvature c to a studentised error s.

    The result is about :math:`s + c s^2`, and increases with s. It is :math:`(e^{2 c s}
    - 1) / (2 c)` if :math:`c s > 0`, as for a ratio with a small denominator, and the
    inverse function otherwise.
    """
    if abs(c) < _SYMMETRIC:
        return s
    if c * s > 0:
        return math.expm1(min(2 * c * s, _MAX_EXPONENT)) / (2 * c)
    return math.copysign(math.log1p(-2 * c * s) / (2 * abs(c)), s)


def _transformed(t: float, a: float, b: float, c: float) -> float:
    """Transform a studentised error t to an approximately normal error.

    The transformation removes curvature c, then skewness (Hall, 1992).
    """
    t = c - with_curvature(-t, -c)
    return t * (1 + a * t * (1 + a * t / 3)) + b


def _untransformed(u: float, a: float, b: float, c: float) -> float:
    """Transform an approximately normal error u to a studentised error.

    This is the inverse of `_transformed`. It solves :math:`T + a T^2 + a^2 T^3 / 3 + b
    = u` for T, then adds the curvature c.
    """
    t = u - b if abs(a) < _SYMMETRIC else float(np.cbrt(1 + 3 * a * (u - b)) - 1) / a
    return -with_curvature(c - t, c)


class PlusFour(Wald):
    """Wald interval after z^2/4 pseudo-counts are added to each cell.

    The cells are the four counts of a binary confusion matrix.
    """

    def _normal(self, task: Task, z: float) -> tuple[Link, float, float]:
        counts = task.counts / task.design_effect + z**2 / len(task.counts)
        n = counts.sum()
        p = counts / n
        estimate, influence, _ = task.functional(p)
        assert task.trait.plus_four is not None  # by check_serves
        return task.trait.plus_four, float(estimate), np.sqrt(p @ influence**2 / n)


class AgrestiCoull(Wald):
    """Agresti-Coull interval, with z^2/2 added successes and z^2/2 added failures."""

    def _normal(self, task: Task, z: float) -> tuple[Link, float, float]:
        successes, trials = task.trait.successes_and_trials(task.counts)
        n = trials + z**2
        p = (successes + z**2 / 2) / n
        return IDENTITY, p, np.sqrt(p * (1 - p) / n)


class Logit(Wald):
    """Wald interval on the logit scale, after the range is mapped to (0, 1).

    If an area under a curve is 0 or 1, its logit is infinite. The interval is then
    Wilson's interval for 0 or k successes in k trials, where k is the number of rows in
    the rarer class, divided by the design effect.

    The variance of an area A is at most :math:`A (1 - A) / k` (Birnbaum and Klose,
    1957). Near the boundary, a standard error with pseudo-counts for unobserved
    outcomes can exceed this bound, and the logit interval would cover almost the whole
    range. The interval is therefore limited to the wider of Wald's interval and
    Wilson's interval for A k successes in k trials.
    """

    def _normal(self, task: Task, z: float) -> tuple[Link, float, float]:
        return LOGIT, task.estimate, task.standard_error

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        lowest, highest = task.trait.bounds
        width, task = highest - lowest, _in_range(task)
        if min(task.estimate, 1 - task.estimate) > EDGE:
            low, high = super()._limits(task, below, above, z)
            if _exceeds_largest_variance(task):
                a, error = task.estimate, task.standard_error
                k = task.rarer_class / task.design_effect
                low = max(low, min(a - below * error, _wilson(k * a, k, -below)))
                high = min(high, max(a + above * error, _wilson(k * a, k, above)))
        else:
            is_high = task.estimate > 0.5
            scaled = task.design_effect * (below if is_high else above) ** 2
            reach = scaled / (task.rarer_class + scaled)
            low, high = (1 - reach, 1.0) if is_high else (0.0, reach)
        return lowest + width * low, lowest + width * high

    def _root(self, task: Task, null: float, above: bool, z: float) -> float:
        lowest, highest = task.trait.bounds
        null, task = (null - lowest) / (highest - lowest), _in_range(task)
        if min(task.estimate, 1 - task.estimate) > EDGE:
            root = super()._root(task, null, above, z)
            if not (_exceeds_largest_variance(task) and root > 0):
                return root
            variance = null * (1 - null) * task.design_effect / task.rarer_class
            with np.errstate(divide="ignore"):
                error = max(task.standard_error, math.sqrt(max(variance, 0.0)))
                return max(root, float(np.divide(abs(task.estimate - null), error)))
        if above != (task.estimate > 0.5):  # the limit is the boundary
            return -np.inf
        reach = abs(task.estimate - null)
        if not task.rarer_class:
            return 0.0  # the interval is the whole range at any critical value
        odds = reach / (1 - reach) if reach < 1 else np.inf
        return float(np.sqrt(task.rarer_class / task.design_effect * odds))


def _in_range(task: Task) -> Task:
    """Rescale the estimate and its standard error from the range to (0, 1)."""
    lowest, highest = task.trait.bounds
    width = highest - lowest
    share = (task.estimate - lowest) / width
    return task._replace(estimate=share, standard_error=task.standard_error / width)


def _exceeds_largest_variance(task: Task) -> bool:
    """Return whether the variance of an area under a curve exceeds its upper bound.

    The upper bound is Birnbaum's bound. The result is False if the area is at least one
    standard error away from 0 and from 1.
    """
    a, error = task.estimate, task.standard_error
    largest = a * (1 - a) * task.design_effect
    return task.rarer_class * error**2 > largest and error > min(a, 1 - a)


def _wilson(successes: float, trials: float, crit: float) -> float:
    """Compute an upper Wilson limit, or a lower limit if `crit` is negative."""
    n = trials + crit**2
    square = successes * (trials - successes) / trials + crit**2 / 4
    return (successes + crit**2 / 2 + crit * math.sqrt(square)) / n


class Wilson(IntervalMethod):
    """Score interval of a proportion (Wilson, 1927)."""

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        counts = task.trait.successes_and_trials(task.counts)
        return _wilson(*counts, -below), _wilson(*counts, above)

    def _root(self, task: Task, null: float, above: bool, z: float) -> float:
        successes, trials = task.trait.successes_and_trials(task.counts)
        distance = (successes / trials - null) * (1 if above else -1)
        deviation = np.sqrt(null * (1 - null) / trials)
        if deviation > 0:
            return float(distance / deviation)
        return np.inf if distance > 0 else -np.inf  # the null is on the boundary


@dataclass(frozen=True)
class Beta(IntervalMethod):
    """Interval of a proportion from quantiles of beta distributions.

    For x successes in n trials, the lower limit is a quantile of Beta(x + a, n - x + 1
    - a), and the upper limit is a quantile of Beta(x + 1 - a, n - x + a). The interval
    with a = 0 is the exact interval of Clopper and Pearson (1934). The interval with a
    = 1/2 is the equal-tailed posterior interval under Jeffreys' prior (Brown, Cai and
    DasGupta, 2001). If x is 0 or n, a beta distribution may be undefined; the limit is
    then 0 or 1.
    """

    a: float

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        left, right = stats.norm.sf(below), stats.norm.sf(above)
        low = stats.beta.ppf(left, *self._shapes(task, above=True))
        high = stats.beta.isf(right, *self._shapes(task, above=False))
        return low, high

    def _root(self, task: Task, null: float, above: bool, z: float) -> float:
        if task.estimate == task.trait.bounds[0 if above else 1]:
            return -np.inf  # the limit is the boundary
        tail = stats.beta.cdf if above else stats.beta.sf
        return float(stats.norm.isf(tail(null, *self._shapes(task, above))))

    def _shapes(self, task: Task, above: bool) -> tuple[float, float]:
        successes, trials = task.trait.successes_and_trials(task.counts)
        added = self.a if above else 1 - self.a
        return successes + added, trials - successes + 1 - added


class Score(IntervalMethod):
    """Score interval: all values that the score test does not reject.

    The test is for multinomial counts. Its statistic is divided by the design effect
    (Rao and Scott, 1981).
    """

    def limits(
        self, tasks: Sequence[Task], crits: Sequence[Limits], z: float
    ) -> list[Limits]:
        functionals, counts, bounds, effects = _tables(tasks)
        scaled = np.array(crits) * np.sqrt(effects)[:, np.newaxis]
        low, high = score_limits(functionals, counts, scaled, bounds)
        return [*map(_clip, tasks, low.tolist(), high.tolist())]

    def roots(
        self, tasks: Sequence[Task], nulls: Array, above: Array, z: float
    ) -> Array:
        estimates = np.array([task.estimate for task in tasks])
        functionals, counts, bounds, effects = _tables(tasks)
        outwards = nulls == np.where(above, bounds[:, 0], bounds[:, 1])
        width = bounds[:, 1] - bounds[:, 0]
        edge = EDGE * np.where(width < np.inf, width, 1)
        on_boundary = np.abs(estimates - nulls) <= edge
        roots = np.where(outwards & ~on_boundary, np.nan, -np.inf)
        k = np.flatnonzero((nulls[:, np.newaxis] != bounds).all(-1)).tolist()
        inside = [functionals[j] for j in k], [counts[j] for j in k]
        inside_roots = score_roots(*inside, nulls[k], bounds[k])
        roots[k] = np.where(above[k], inside_roots, -inside_roots)
        return roots / np.sqrt(effects)


class AgreementInterval(IntervalMethod):
    """Interval for the difference of two models that agree in all rows.

    The limits bound the difference in the population. If `task.agreement` has no bound
    for the difference, the score interval is computed.
    """

    def _limits(self, task: Task, below: float, above: float, z: float) -> Limits:
        if not task.agreement.parts:
            return METHODS["score"].limits([task], [(below, above)], z)[0]
        alphas = [2 * float(stats.norm.sf(crit)) for crit in (below, above)]
        low, high = task.agreement.limits(task.estimate, task.trait.bounds, alphas)
        return low, high


def _tables(
    tasks: Sequence[Task],
) -> tuple[Sequence[Functional], Sequence[Array], Array, Array]:
    """Return the functionals, counts, ranges and design effects of all tasks."""
    columns: Any = Task._make(zip(*tasks, strict=True))
    bounds = np.array([*map(_RANGE, columns.trait)], dtype=float)
    return columns.functional, columns.counts, bounds, np.array(columns.design_effect)


_PROPORTION: dict[str, Any] = {
    "applies": lambda trait: trait.proportion is not None,
    "need": "a proportion",
    "needs_error": False,
    "needs_simple_sample": True,
}

METHODS: dict[str, IntervalMethod] = {
    "delta": Wald(adds_pseudo_counts=False, needs="covariance"),
    "logit": Logit(
        applies=lambda trait: trait.bounds == (0, 1) or trait.is_scaled_area,
        need="a measure that ranges from 0 to 1",
        needs="covariance",
        adds_pseudo_counts=False,
        studentises=True,
    ),
    "hall": Wald(
        applies=lambda trait: trait.has_curvature,
        need="a measure with second derivatives",
        needs="skewness",
        adds_pseudo_counts=False,
        studentises=True,
        corrects_skewness=True,
    ),
    "blurred": Wald(
        applies=lambda trait: trait.blurs,
        need="a measure of labels",
        adds_pseudo_counts=False,
        blurs=True,
    ),
    "plus-four": PlusFour(
        applies=lambda trait: trait.plus_four is not None,
        need="a measure that pseudo-counts do not distort",
        needs_error=False,
    ),
    "score": Score(
        applies=lambda trait: trait.smooth,
        need="a smooth measure of labels with one target, or a mean of bounded grades",
        needs_error=False,
    ),
    "wilson": Wilson(**_PROPORTION),
    "agresti-coull": AgrestiCoull(**_PROPORTION),
    "clopper-pearson": Beta(0.0, **_PROPORTION),
    "jeffreys": Beta(0.5, **_PROPORTION),
}
"""Every interval method by its name."""

AGREEMENT = "agreement"
"""Internal method for models that agree in all rows; users cannot select it."""

INTERVALS: dict[str, IntervalMethod] = METHODS | {
    AGREEMENT: AgreementInterval(
        adds_pseudo_counts=False, needs_error=False, for_agreement=True
    )
}
"""All interval methods, including the internal one."""

AUTO = "auto"
"""Option value that selects the method by the measure."""


@lru_cache
def automatic(
    trait: MeasureProperties,
    *,
    available: AvailableData = "table",
    preferred: Sequence[str] = (),
) -> str:
    """Return the interval method that "auto" selects for a measure.

    This is the first supported method, or "delta" if no method is supported.
    """
    for method in (*preferred, *trait.automatic):
        if METHODS[method].serves(trait, available):
            return method
    return "delta"


def check_serves(
    method: str,
    trait: MeasureProperties,
    where: str = "",
    *,
    available: AvailableData = "table",
) -> None:
    """Raise an error if an interval method does not support a measure.

    The error names the methods that support the measure. The text `where` is appended
    to the reason.
    """
    if method == AUTO or METHODS[method].serves(trait, available):
        return
    supported = [
        name for name, other in METHODS.items() if other.serves(trait, available)
    ]
    need = f"{METHODS[method].need}, which {trait.name!r} is not{where}"
    if METHODS[method].applies(trait):
        need = f"a table of counts, which {trait.name!r} does not have"
    raise ValueError(f"method={method!r} needs {need}; use one of {supported}")


def method_without_table(
    method: str,
    trait: MeasureProperties,
    *,
    available: AvailableData,
    preferred: Sequence[str] = (),
) -> str:
    """Check that an interval method suits the available data, and resolve "auto"."""
    check_serves(method, trait, available=available)
    if method == AUTO:
        return automatic(trait, available=available, preferred=preferred)
    return method


def check_method(method: Any) -> str:
    """Check the name of an interval method, or "auto"."""
    return check_choice(method, [AUTO, *METHODS], "method", _OTHER_NAMES)
