"""Critical values beside those of R's mvtnorm and of scipy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median

import numpy as np
from _effort import Effort
from _exact import (
    of_all_pairs,
    of_one_factor,
    one_factor_quantile,
    studentized_quantile,
)
from _labels import Array, labels, named
from _points import METRICS
from _r import r_version, run_r
from _rows import Row, Section, compared, duration, yes
from _timing import Comparison, seconds, stopwatch
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

import skci

LEVEL = 0.95

_TEXT = """\
The number of standard errors that makes all intervals of a report hold at once. The
error is the median distance from an exact integral over one dimension, over matrices
and seeds, with the largest in brackets; where there is no such integral, nothing is
said of it. The correlations are those of one factor, equal ones of .5 among them; those
of all differences of independent means, which are singular; those of random
covariances; and that of a report of 4 rules and 3 metrics, which is singular as well.
skci keeps its quasi-random points for the next call ("again"); everything is compared
without this, each call with a seed of its own. mvtnorm's time is without the start of
R. For scipy, the distribution function of ``multivariate_normal`` is solved by
``brentq`` to four decimals; it is given non-singular matrices only, for its time with
others is beyond reason.
"""


@dataclass(frozen=True)
class Case:
    """A correlation and, where it is known, its critical value."""

    correlation: Array
    exact: Callable[[], float] | None = None

    @cached_property
    def truth(self) -> float:
        return np.nan if self.exact is None else self.exact()


@dataclass(frozen=True)
class Family:
    """Correlations of a kind."""

    name: str
    cases: list[Case]


def quantiles(effort: Effort) -> Section:
    return Section("Critical values", _TEXT, list(rows(effort)))


def rows(effort: Effort) -> Iterator[Row]:
    repeats = max(1, effort.repeats // 10)
    seeds = itertools.count()
    factors, *others = families(effort.matrices)
    if r_version("mvtnorm"):
        name = "qmvnorm of R's mvtnorm"
        yield beside(factors, seeds, repeats, name, by_r, goal=1 / 30)
        for family in others:
            yield beside(family, seeds, repeats, name, by_r)
    few = replace(factors, cases=factors.cases[: 1 + repeats])
    yield beside(few, seeds, 1, "multivariate_normal of scipy, brentq", by_scipy)


def families(matrices: int) -> list[Family]:
    rng = np.random.default_rng(0)
    loadings = [
        np.full(12, 0.5**0.5),
        *rng.uniform(-0.95, 0.95, (matrices - 1, 12)),
    ]
    means = range(4, 4 + max(1, matrices // 4))
    draws = rng.normal(size=(max(1, matrices // 4), 12, 12))
    return [
        Family("12 estimates, one factor", list(map(one_factor, loadings))),
        Family("differences of means", list(map(all_pairs, means))),
        Family("12 estimates, random", list(map(random_covariance, draws))),
        Family("12 estimates of a report", [Case(of_report())]),
    ]


def one_factor(loadings: Array) -> Case:
    return Case(of_one_factor(loadings), partial(one_factor_quantile, loadings, LEVEL))


def all_pairs(means: int) -> Case:
    return Case(of_all_pairs(means), partial(studentized_quantile, means, LEVEL))


def random_covariance(factors: Array) -> Case:
    covariance = factors @ factors.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    return Case(correlation)


def of_report() -> Array:
    y, responses = labels(10_000, rules=4)
    report = skci.joint_report(y, named(responses), metrics=METRICS)
    return np.asarray(report.correlation)


# --------------------------------------------------------------------------------------
# Comparisons
# --------------------------------------------------------------------------------------

Solver = Callable[[Array, int], tuple[float, float]]
"""From a correlation and a seed to seconds and a critical value."""


def beside(
    family: Family,
    seeds: Iterator[int],
    repeats: int,
    name: str,
    solver: Solver,
    goal: float | None = None,
) -> Row:
    """Compare times and errors, in turns, on all correlations of a family."""
    cases = family.cases * repeats
    found = [
        (by_skci(case.correlation, seed), solver(case.correlation, seed))
        for case, seed in zip(cases, seeds, strict=False)
    ]
    ours, theirs = zip(*found, strict=True)
    times = Comparison(*(tuple(time for time, _ in each) for each in (ours, theirs)))
    row = compared(f"critical value, {family.name}", name, times, goal=goal)
    row = replace(row, ours=f"{row.ours} ({again(family)} again)")
    if any(case.exact is None for case in cases):
        return row
    error, their_error = (
        [abs(value - case.truth) for case, (_, value) in zip(cases, each, strict=True)]
        for each in (ours, theirs)
    )
    row = replace(row, error=middle(error), their_error=middle(their_error))
    if goal is None:
        return row
    met = yes(times.ratio <= goal and median(error) < median(their_error))
    return replace(row, goal=f"{row.goal}, smaller error", met=met)


def middle(errors: list[float]) -> str:
    return f"{median(errors):.0e} ({max(errors):.0e})"


def again(family: Family) -> str:
    """Time with points that were kept."""
    correlation = family.cases[0].correlation
    return duration(stopwatch(partial(skci.critical_value, correlation))())


def by_skci(correlation: Array, seed: int) -> tuple[float, float]:
    return timed(partial(skci.critical_value, correlation, random_state=seed))


def by_scipy(correlation: Array, seed: int) -> tuple[float, float]:
    corner = np.ones(len(correlation))
    distribution = multivariate_normal(0 * corner, correlation, seed=seed)

    def excess(q: float) -> float:
        inside = distribution.cdf(q * corner, lower_limit=-q * corner)
        return float(inside - LEVEL)

    one, bonferroni = norm.isf((1 - LEVEL) / 2 / np.array([1, len(corner)]))
    return timed(lambda: float(brentq(excess, one, bonferroni, xtol=1e-4)))


def timed(task: Callable[[], float]) -> tuple[float, float]:
    """Seconds and result of a task."""
    found: list[float] = []
    return seconds(lambda: found.append(task())), found[0]


_QMVNORM = """
suppressPackageStartupMessages(library(mvtnorm))
input <- unname(as.matrix(read.table(file("stdin"))))
set.seed(input[1, 1])
time <- system.time(
  found <- qmvnorm(input[1, 2], tail = "both.tails", corr = input[-1, ])
)
cat(time[["user.self"]] + time[["sys.self"]], format(found$quantile, digits = 12))
"""


def by_r(correlation: Array, seed: int) -> tuple[float, float]:
    """Seconds and result of R's function, without the start of R."""
    first = [seed, LEVEL, *[0] * (len(correlation) - 2)]
    lines = [" ".join(map(repr, line)) for line in [first, *correlation.tolist()]]
    elapsed, value = run_r(_QMVNORM, "\n".join(lines)).split()
    return float(elapsed), float(value)
