"""The interval methods: one function each, and their registry.

A method turns parameters and a critical value into limits. The critical value is a
normal quantile for an individual interval and the joint one for a joint interval; no
method knows which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci.inference.intervals.score import score_limits, score_roots
from skci.measures.functional import Functional
from skci.measures.registry import EDGE, IDENTITY, LOGIT, Link, Trait

__all__ = [
    "GENERAL_SMOOTHING_METHODS",
    "METHODS",
    "IntervalMethod",
    "Task",
    "check_method",
    "check_serves",
    "refusal",
]


@dataclass(frozen=True)
class Task:
    """One interval to compute.

    Parameters
    ----------
    trait : Trait
    estimate : float
    standard_error : float
        Standard error of the estimate, blurring included where the method blurs.
    rarer_class : float
        Effective number of rows in the rarer class of an area under a curve.
    functional : Functional, optional
        For methods that need a table.
    counts : array of shape (m,), optional
        Counts of the cells of the table.
    design_effect : float, default=1
        Variance over that of a simple random sample of the same size.
    """

    trait: Trait
    estimate: float
    standard_error: float
    rarer_class: float = 0.0
    functional: Functional = None  # type: ignore[assignment]
    counts: Array = None  # type: ignore[assignment]
    design_effect: float = 1.0


def wald(tasks: Sequence[Task], crit: float, z: float) -> list[tuple[float, float]]:
    """Estimate plus and minus crit standard errors, on the scale of the measure."""
    limits = []
    for task in tasks:
        link = task.trait.scale
        half = crit * task.standard_error * link.slope(task.estimate)
        centre = link.forward(task.estimate)
        low, high = link.backward(centre - half), link.backward(centre + half)
        limits.append(_clip(task, low, high))
    return limits


def logit(tasks: Sequence[Task], crit: float, z: float) -> list[tuple[float, float]]:
    """Estimate plus and minus crit standard errors, on the logit scale.

    At an end of the range, where the logit is infinite, an area under a curve of which
    the rarer class has k rows reaches as far from it as Wilson's interval of k
    successes in k trials.
    """
    limits = []
    for task in tasks:
        if min(task.estimate, 1 - task.estimate) <= EDGE:
            reach = crit**2 / (task.rarer_class + crit**2)
            limits.append((1 - reach, 1.0) if task.estimate > 0.5 else (0.0, reach))
            continue
        half = crit * task.standard_error * LOGIT.slope(task.estimate)
        centre = LOGIT.forward(task.estimate)
        low, high = LOGIT.backward(centre - half), LOGIT.backward(centre + half)
        limits.append(_clip(task, low, high))
    return limits


def plus_four(
    tasks: Sequence[Task], crit: float, z: float
) -> list[tuple[float, float]]:
    """Wald's interval at the table with z^2/4 added to every cell.

    For the accuracy this is the interval of Agresti and Coull (1998).
    """
    limits = []
    for task in tasks:
        counts = task.counts / task.design_effect + z**2 / 4
        n = counts.sum()
        p = counts / n
        estimate, influence, _ = task.functional(p)
        link = task.trait.plus_four
        assert link is not None  # refusal() came first
        half = crit * np.sqrt(p @ influence**2 / n) * link.slope(estimate)
        centre = link.forward(estimate)
        low, high = link.backward(centre - half), link.backward(centre + half)
        limits.append(_clip(task, low, high))
    return limits


def score(tasks: Sequence[Task], crit: float, z: float) -> list[tuple[float, float]]:
    """Values that a score test under the multinomial does not reject.

    A design effect stretches the statistic (Rao and Scott, 1981).
    """
    limits: list[tuple[float, float]] = [(np.nan, np.nan)] * len(tasks)
    for cells in {len(task.counts) for task in tasks}:
        batch = [k for k, task in enumerate(tasks) if len(task.counts) == cells]
        low, high = score_limits(
            [tasks[k].functional for k in batch],
            np.stack([tasks[k].counts for k in batch]),
            crit * np.sqrt([tasks[k].design_effect for k in batch]),
            np.array([tasks[k].trait.bounds for k in batch]),
        )
        for position, k in enumerate(batch):
            limits[k] = _clip(tasks[k], low[position], high[position])
    return limits


def wilson(tasks: Sequence[Task], crit: float, z: float) -> list[tuple[float, float]]:
    """Wilson's (1927) score interval of a proportion."""
    limits = []
    for task in tasks:
        successes, trials = task.trait.successes_and_trials(task.counts)
        n = trials + crit**2
        centre = (successes + crit**2 / 2) / n
        spread = successes * (trials - successes) / trials + crit**2 / 4
        half = crit * np.sqrt(spread) / n
        limits.append(_clip(task, centre - half, centre + half))
    return limits


def clopper_pearson(
    tasks: Sequence[Task], crit: float, z: float
) -> list[tuple[float, float]]:
    """Clopper and Pearson's (1934) exact interval of a proportion."""
    limits = []
    for task in tasks:
        successes, trials = task.trait.successes_and_trials(task.counts)
        failures, tail = trials - successes, stats.norm.sf(crit)
        # Without successes (failures) the distribution is none and the limit an end.
        low = stats.beta.ppf(tail, successes, failures + 1)
        high = stats.beta.isf(tail, successes + 1, failures)
        limits.append(_clip(task, np.nan_to_num(low), np.nan_to_num(high, nan=1.0)))
    return limits


def agresti_coull(
    tasks: Sequence[Task], crit: float, z: float
) -> list[tuple[float, float]]:
    """Agresti and Coull's (1998) interval: z^2/2 successes and failures added."""
    limits = []
    for task in tasks:
        successes, trials = task.trait.successes_and_trials(task.counts)
        n = trials + z**2
        p = (successes + z**2 / 2) / n
        half = crit * np.sqrt(p * (1 - p) / n)
        limits.append(_clip(task, p - half, p + half))
    return limits


def jeffreys(tasks: Sequence[Task], crit: float, z: float) -> list[tuple[float, float]]:
    """Equal-tailed interval of the posterior under Jeffreys' prior.

    Brown, Cai and DasGupta (2001); a limit is the end of the range where the
    estimate is.
    """
    limits = []
    for task in tasks:
        successes, trials = task.trait.successes_and_trials(task.counts)
        tail = stats.norm.sf(crit)
        posterior = stats.beta(successes + 0.5, trials - successes + 0.5)
        limits.append(_clip(task, posterior.ppf(tail), posterior.isf(tail)))
    return limits


def _clip(task: Task, low: float, high: float) -> tuple[float, float]:
    """Keep limits in the range and around the estimate.

    An estimate at an end of the range has that limit.
    """
    lowest, highest = task.trait.bounds
    low = max(min(low, task.estimate), lowest)
    high = min(max(high, task.estimate), highest)
    if task.estimate <= lowest + EDGE:
        low = lowest
    if task.estimate >= highest - EDGE:
        high = highest
    return float(low), float(high)


# --------------------------------------------------------------------------------------
# Test statistics: the critical value at which a limit is at a null
# --------------------------------------------------------------------------------------


def wald_roots(tasks: Sequence[Task], nulls: Array, above: Array, z: float) -> Array:
    """Distance from a null in standard errors, on the scale of the measure."""
    links = [task.trait.scale for task in tasks]
    centres = [task.estimate for task in tasks]
    errors = [task.standard_error for task in tasks]
    return _link_roots(tasks, links, centres, errors, nulls, above)


def logit_roots(tasks: Sequence[Task], nulls: Array, above: Array, z: float) -> Array:
    """Distance from a null in standard errors, on the logit scale.

    At an end of the range it is what Wilson's interval of k successes in k trials asks
    for; the limit that is the end excludes nothing.
    """
    centres = [task.estimate for task in tasks]
    errors = [task.standard_error for task in tasks]
    roots = _link_roots(tasks, [LOGIT] * len(tasks), centres, errors, nulls, above)
    for k, task in enumerate(tasks):
        if min(task.estimate, 1 - task.estimate) <= EDGE:
            reach = abs(task.estimate - nulls[k])
            inwards = above[k] == (task.estimate > 0.5)
            odds = reach / (1 - reach) if reach < 1 else np.inf
            roots[k] = np.sqrt(task.rarer_class * odds) if inwards else -np.inf
    return roots


def plus_four_roots(
    tasks: Sequence[Task], nulls: Array, above: Array, z: float
) -> Array:
    """Distance from a null in standard errors at the table with added rows."""
    links, centres, errors = [], [], []
    for task in tasks:
        counts = task.counts / task.design_effect + z**2 / 4
        n = counts.sum()
        estimate, influence, _ = task.functional(counts / n)
        assert task.trait.plus_four is not None  # refusal() came first
        links.append(task.trait.plus_four)
        centres.append(float(estimate))
        errors.append(float(np.sqrt(counts @ influence**2) / n))
    return _link_roots(tasks, links, centres, errors, nulls, above)


def score_roots_of(
    tasks: Sequence[Task], nulls: Array, above: Array, z: float
) -> Array:
    """Signed root of the score statistic of a null; NaN if it was not found."""
    roots = np.full(len(tasks), np.nan)
    ends = np.array([task.trait.bounds for task in tasks], dtype=float)
    signs = np.where(above, 1, -1)
    for k in np.flatnonzero((nulls == ends[:, 0]) | (nulls == ends[:, 1])).tolist():
        on_boundary = abs(tasks[k].estimate - nulls[k]) <= EDGE
        outwards = nulls[k] == ends[k, 0 if above[k] else 1]
        roots[k] = np.inf if not on_boundary and outwards else -np.inf
    inside = np.isnan(roots)
    cells = np.array([len(task.counts) for task in tasks])
    for number in np.unique(cells[inside]):
        batch = np.flatnonzero(inside & (cells == number)).tolist()
        found = score_roots(
            [tasks[k].functional for k in batch],
            np.stack([tasks[k].counts for k in batch]),
            nulls[batch],
            ends[batch],
        )
        effects = np.array([tasks[k].design_effect for k in batch])
        roots[batch] = signs[batch] * found / np.sqrt(effects)
    return roots


def wilson_roots(tasks: Sequence[Task], nulls: Array, above: Array, z: float) -> Array:
    """Score statistic of a proportion."""
    roots = []
    for task, null, over in zip(tasks, nulls.tolist(), above.tolist(), strict=True):
        successes, trials = task.trait.successes_and_trials(task.counts)
        distance = (successes / trials - null) * (1 if over else -1)
        deviation = np.sqrt(null * (1 - null) / trials)
        if deviation > 0:
            roots.append(distance / deviation)
        else:  # at an end of the range
            roots.append(np.inf if distance > 0 else -np.inf)
    return np.array(roots)


def agresti_coull_roots(
    tasks: Sequence[Task], nulls: Array, above: Array, z: float
) -> Array:
    """Distance from a null in standard errors after adding z^2 trials."""
    centres, errors = [], []
    for task in tasks:
        successes, trials = task.trait.successes_and_trials(task.counts)
        n = trials + z**2
        p = (successes + z**2 / 2) / n
        centres.append(p)
        errors.append(float(np.sqrt(p * (1 - p) / n)))
    links = [IDENTITY] * len(tasks)
    return _link_roots(tasks, links, centres, errors, nulls, above)


def clopper_pearson_roots(
    tasks: Sequence[Task], nulls: Array, above: Array, z: float
) -> Array:
    """Take the normal quantile of a tail of the binomial distribution."""
    roots = []
    for task, null, over in zip(tasks, nulls.tolist(), above.tolist(), strict=True):
        successes, trials = task.trait.successes_and_trials(task.counts)
        binomial = stats.binom(trials, null)
        tail = binomial.sf(successes - 1) if over else binomial.cdf(successes)
        roots.append(stats.norm.isf(tail))
    return np.array(roots)


def jeffreys_roots(
    tasks: Sequence[Task], nulls: Array, above: Array, z: float
) -> Array:
    """Take the normal quantile of a tail of the posterior."""
    roots = []
    for task, null, over in zip(tasks, nulls.tolist(), above.tolist(), strict=True):
        successes, trials = task.trait.successes_and_trials(task.counts)
        if task.estimate == task.trait.bounds[0 if over else 1]:
            roots.append(-np.inf)  # that limit is the end
            continue
        posterior = stats.beta(successes + 0.5, trials - successes + 0.5)
        tail = posterior.cdf(null) if over else posterior.sf(null)
        roots.append(stats.norm.isf(tail))
    return np.array(roots)


def _link_roots(
    tasks: Sequence[Task],
    links: Sequence[Link],
    centres: Sequence[float],
    errors: Sequence[float],
    nulls: Array,
    above: Array,
) -> Array:
    """Distances of the centres from nulls, on a scale, over their standard errors.

    The limits are not cut to the range: a null at its end has the distance that it has.
    A limit on the other side of the estimate excludes nothing.
    """
    roots = np.empty(len(tasks))
    parts = zip(tasks, links, centres, errors, nulls, above, strict=True)
    for k, (task, link, centre, error, null, over) in enumerate(parts):
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = link.forward(centre) - link.forward(null)
            root = np.divide(distance, error * link.slope(centre))
        root = root if over else -root
        beyond = null >= task.estimate if over else null <= task.estimate
        roots[k] = min(root, 0.0) if beyond else root
    return roots


# --------------------------------------------------------------------------------------
# The registry
# --------------------------------------------------------------------------------------


def _any(trait: Trait) -> bool:
    return True


def _is_share(trait: Trait) -> bool:
    return trait.bounds == (0, 1)


def _blurs(trait: Trait) -> bool:
    return trait.blurs


def _has_plus_four(trait: Trait) -> bool:
    return trait.plus_four is not None


def _is_smooth(trait: Trait) -> bool:
    return trait.smooth


def _is_proportion(trait: Trait) -> bool:
    return trait.proportion is not None


@dataclass(frozen=True)
class IntervalMethod:
    """An interval method and what it asks of a measure and of the covariance.

    Parameters
    ----------
    limits : callable
        ``limits(tasks, crit, z)`` with the critical value and the normal quantile of
        the level.
    applies : callable
        Whether it can serve a measure.
    need : str
        What it needs, for the message when it cannot.
    roots : callable
        ``roots(tasks, nulls, above, z)``: the critical values at which the lower limits
        (the upper ones, where not above) are at the nulls; negative where a null is on
        the other side of the estimate, NaN where it was not found.
    variance : {"observed", "blurred", "smoothed"}
        Variance it needs: that of the influence values at the observed table, with the
        blurring added, or that of the influence values at the table with pseudo-counts,
        which is never zero and never undefined.
    needs_table : bool
        Whether it needs the table of counts, and not only estimate and standard error.
    needs_simple_sample : bool
        Whether it needs independent rows of equal weight.
    """

    limits: Callable[[Sequence[Task], float, float], list[tuple[float, float]]]
    roots: Callable[[Sequence[Task], Array, Array, float], Array]
    applies: Callable[[Trait], bool] = _any
    need: str = ""
    variance: Literal["observed", "blurred", "smoothed"] = "smoothed"
    needs_table: bool = True
    needs_simple_sample: bool = False

    @property
    def smooths(self) -> bool:
        """Whether it linearises at a table with pseudo-counts."""
        return self.variance == "smoothed"

    @property
    def blurs(self) -> bool:
        """Whether it adds the blurring to the variance."""
        return self.variance == "blurred"


METHODS: dict[str, IntervalMethod] = {
    "delta": IntervalMethod(wald, wald_roots, variance="observed", needs_table=False),
    "logit": IntervalMethod(
        logit,
        logit_roots,
        _is_share,
        "a range from 0 to 1",
        variance="observed",
        needs_table=False,
    ),
    "blurred": IntervalMethod(
        wald, wald_roots, _blurs, "a measure of labels", variance="blurred"
    ),
    "plus-four": IntervalMethod(
        plus_four,
        plus_four_roots,
        _has_plus_four,
        "a measure that shrinking does not distort",
    ),
    "score": IntervalMethod(
        score,
        score_roots_of,
        _is_smooth,
        "a smooth measure of the labels of one target",
    ),
} | {
    name: IntervalMethod(
        limits, roots, _is_proportion, "a proportion", needs_simple_sample=True
    )
    for name, limits, roots in (
        ("wilson", wilson, wilson_roots),
        ("agresti-coull", agresti_coull, agresti_coull_roots),
        ("clopper-pearson", clopper_pearson, clopper_pearson_roots),
        ("jeffreys", jeffreys, jeffreys_roots),
    )
}
"""Every interval method by its name."""

GENERAL_SMOOTHING_METHODS = ("score", "plus-four")
"""Methods that rely on no estimated variance and serve more than proportions."""


def refusal(
    method: str, trait: Trait, where: str = "", *, table: bool = True
) -> str | None:
    """Say why a method cannot serve a measure, and which can; None if it can.

    Parameters
    ----------
    method : str
    trait : Trait
    where : str
        What to add to the reason.
    table : bool
        Whether there is a table of counts.
    """

    def serves(other: IntervalMethod) -> bool:
        return other.applies(trait) and (table or not other.needs_table)

    if serves(METHODS[method]):
        return None
    others = [name for name, other in METHODS.items() if serves(other)]
    need = f"{METHODS[method].need}, which {trait.name!r} is not{where}"
    if METHODS[method].applies(trait):
        need = f"a table of counts, which there is none of for {trait.name!r}"
    return f"method={method!r} needs {need}; use one of {others}"


def check_serves(
    method: str, trait: Trait, where: str = "", *, table: bool = True
) -> None:
    """Check that a method can serve a measure; see `refusal`."""
    reason = refusal(method, trait, where, table=table)
    if reason:
        raise ValueError(reason)


def check_method(method: Any) -> str:
    """Check the name of an interval method."""
    if isinstance(method, str) and method in METHODS:
        return method
    raise ValueError(f"method must be one of {list(METHODS)}, got {method!r}")
