"""Time and error of critical values beside R's mvtnorm and scipy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from typing import NamedTuple

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
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.pages import yes
from benchmarks.common.peers import r_version, run_r
from benchmarks.speed.comparisons import (
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


class Case(NamedTuple):
    """A correlation and, where it is available, its exact critical value."""

    correlation: Array
    exact: float = np.nan


def critical_values(size: Sizes) -> Iterator[Row]:
    """Compare time and error of critical values."""
    repeats = max(1, size.repeats // 10)
    seeds = itertools.count()
    families = correlations(size.matrices)
    first, *_ = families
    if r_version("mvtnorm"):
        solver = "qmvnorm of R's mvtnorm"
        for family, cases in families.items():
            goal = 1 / 30 if family == first else None
            yield comparison(family, cases * repeats, seeds, solver, by_r, goal)
    few, solver = families[first][: 1 + repeats], "multivariate_normal of scipy, brentq"
    yield comparison(first, few, seeds, solver, by_scipy)


def correlations(matrices: int) -> dict[str, list[Case]]:
    """Families of correlations."""
    rng = np.random.default_rng(0)
    loadings = [
        np.full(12, 0.5**0.5),
        *rng.uniform(-0.95, 0.95, (matrices - 1, 12)),
    ]
    fewer = max(1, matrices // 4)
    factors = rng.normal(size=(fewer, 12, 12))
    return {
        "12 estimates, one factor": [
            Case(one_factor_correlation(each), one_factor_quantile(each, LEVEL))
            for each in loadings
        ],
        "differences of means": [
            Case(pairwise_correlation(means), studentized_quantile(means, LEVEL))
            for means in range(4, 4 + fewer)
        ],
        "12 estimates, random": [Case(correlation_of(each)) for each in factors],
        "12 estimates of a report": [Case(of_report())],
    }


def correlation_of(factors: Array) -> Array:
    covariance = factors @ factors.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    return correlation


def of_report() -> Array:
    y, predictions = labels(10_000, models=4)
    report = skci.joint_report(y, named(predictions), metrics=METRICS)
    return np.asarray(report.correlation)


Solver = Callable[[Array, int], tuple[float, float]]
"""From a correlation and a seed to seconds and a critical value."""


def comparison(
    family: str,
    cases: list[Case],
    seeds: Iterator[int],
    name: str,
    solver: Solver,
    goal: float | None = None,
) -> Row:
    """Compare times and errors, alternately, on all correlations of a family."""
    results = [
        (by_skci(case.correlation, seed), solver(case.correlation, seed))
        for case, seed in zip(cases, seeds, strict=False)
    ]
    ours, theirs = zip(*results, strict=True)
    times = Comparison(*(tuple(time for time, _ in each) for each in (ours, theirs)))
    row = compared(f"critical value, {family}", name, times, goal=goal)
    row = replace(row, ours=f"{row.ours} ({cached(cases[0].correlation)} again)")
    if np.isnan([case.exact for case in cases]).any():
        return row
    error, their_error = (
        [abs(value - case.exact) for case, (_, value) in zip(cases, each, strict=True)]
        for each in (ours, theirs)
    )
    row = replace(row, error=summary(error), their_error=summary(their_error))
    if goal is None:
        return row
    met = yes(times.ratio <= goal and median(error) < median(their_error))
    return replace(row, goal=f"{row.goal}, smaller error", met=met)


def summary(errors: list[float]) -> str:
    return f"{median(errors):.0e} ({max(errors):.0e})"


def cached(correlation: Array) -> str:
    """Time with cached quasi-random points."""
    return duration(timer(partial(skci.inference.critical_value, correlation))())


def by_skci(correlation: Array, seed: int) -> tuple[float, float]:
    return timed(partial(skci.inference.critical_value, correlation, random_state=seed))


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
