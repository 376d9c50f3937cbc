"""Time and error of critical values beside R's mvtnorm and scipy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median

import numpy as np
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

import skci
from benchmarks.accuracy.critical_values import (
    one_factor_correlation,
    one_factor_quantile,
    pairwise_correlation,
    studentized_quantile,
)
from benchmarks.common.command import Sizes
from benchmarks.common.pages import yes
from benchmarks.common.peers import r_version, run_r
from benchmarks.speed.comparisons import (
    Array,
    Comparison,
    Row,
    compared,
    duration,
    labels,
    named,
    seconds,
    timer,
)
from benchmarks.speed.estimates import METRICS

LEVEL = 0.95


@dataclass(frozen=True)
class Case:
    """A correlation and, where it is available, its exact critical value."""

    correlation: Array
    exact: Callable[[], float] | None = None

    @cached_property
    def truth(self) -> float:
        return np.nan if self.exact is None else self.exact()


@dataclass(frozen=True)
class Family:
    """Correlations of one kind."""

    name: str
    cases: list[Case]


def critical_values(size: Sizes) -> Iterator[Row]:
    """Compare time and error of critical values."""
    repeats = max(1, size.repeats // 10)
    seeds = itertools.count()
    factors, *others = families(size.matrices)
    if r_version("mvtnorm"):
        name = "qmvnorm of R's mvtnorm"
        yield comparison(factors, seeds, repeats, name, by_r, goal=1 / 30)
        for family in others:
            yield comparison(family, seeds, repeats, name, by_r)
    few = replace(factors, cases=factors.cases[: 1 + repeats])
    yield comparison(few, seeds, 1, "multivariate_normal of scipy, brentq", by_scipy)


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
    return Case(
        one_factor_correlation(loadings), partial(one_factor_quantile, loadings, LEVEL)
    )


def all_pairs(means: int) -> Case:
    return Case(
        pairwise_correlation(means), partial(studentized_quantile, means, LEVEL)
    )


def random_covariance(factors: Array) -> Case:
    covariance = factors @ factors.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    return Case(correlation)


def of_report() -> Array:
    y, predictions = labels(10_000, rules=4)
    report = skci.joint_report(y, named(predictions), metrics=METRICS)
    return np.asarray(report.correlation)


# --------------------------------------------------------------------------------------
# Comparisons
# --------------------------------------------------------------------------------------

Solver = Callable[[Array, int], tuple[float, float]]
"""From a correlation and a seed to seconds and a critical value."""


def comparison(
    family: Family,
    seeds: Iterator[int],
    repeats: int,
    name: str,
    solver: Solver,
    goal: float | None = None,
) -> Row:
    """Compare times and errors, alternately, on all correlations of a family."""
    cases = family.cases * repeats
    results = [
        (by_skci(case.correlation, seed), solver(case.correlation, seed))
        for case, seed in zip(cases, seeds, strict=False)
    ]
    ours, theirs = zip(*results, strict=True)
    times = Comparison(*(tuple(time for time, _ in each) for each in (ours, theirs)))
    row = compared(f"critical value, {family.name}", name, times, goal=goal)
    row = replace(row, ours=f"{row.ours} ({again(family)} again)")
    if any(case.exact is None for case in cases):
        return row
    error, their_error = (
        [abs(value - case.truth) for case, (_, value) in zip(cases, each, strict=True)]
        for each in (ours, theirs)
    )
    row = replace(row, error=summary(error), their_error=summary(their_error))
    if goal is None:
        return row
    met = yes(times.ratio <= goal and median(error) < median(their_error))
    return replace(row, goal=f"{row.goal}, smaller error", met=met)


def summary(errors: list[float]) -> str:
    return f"{median(errors):.0e} ({max(errors):.0e})"


def again(family: Family) -> str:
    """Time with cached quasi-random points."""
    correlation = family.cases[0].correlation
    return duration(timer(partial(skci.critical_value, correlation))())


def by_skci(correlation: Array, seed: int) -> tuple[float, float]:
    return timed(partial(skci.critical_value, correlation, random_state=seed))


def by_scipy(correlation: Array, seed: int) -> tuple[float, float]:
    corner = np.ones(len(correlation))
    distribution = multivariate_normal(0 * corner, correlation, seed=seed)

    def excess(q: float) -> float:
        probability = distribution.cdf(q * corner, lower_limit=-q * corner)
        return float(probability - LEVEL)

    individual, bonferroni = norm.isf((1 - LEVEL) / 2 / np.array([1, len(corner)]))
    return timed(lambda: float(brentq(excess, individual, bonferroni, xtol=1e-4)))


def timed(task: Callable[[], float]) -> tuple[float, float]:
    """Seconds and result of a task."""
    results: list[float] = []
    return seconds(lambda: results.append(task())), results[0]


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
    """Seconds, without the start of R, and result of qmvnorm."""
    first = [seed, LEVEL, *[0] * (len(correlation) - 2)]
    lines = [" ".join(map(repr, line)) for line in [first, *correlation.tolist()]]
    elapsed, value = run_r(_QMVNORM, "\n".join(lines)).split()
    return float(elapsed), float(value)
