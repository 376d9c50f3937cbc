"""Oracles for critical values: one-dimensional integrals, and R's multcomp."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import studentized_range

import skci
from benchmarks.accuracy.oracles import Check, check, correlated_counts, delta_report
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.peers import r_version, run_r


def pairwise_correlation(groups: int) -> Array:
    """Correlation of all pairwise differences of independent means."""
    first, second = np.triu_indices(groups, 1)
    contrasts = np.eye(groups)[first] - np.eye(groups)[second]
    return contrasts @ contrasts.T / 2


def one_factor_correlation(loadings: Array) -> Array:
    correlation = np.outer(loadings, loadings)
    np.fill_diagonal(correlation, 1)
    return correlation


def studentized_quantile(means: int, level: float) -> float:
    return float(studentized_range.ppf(level, means, np.inf) / 2**0.5)


def one_factor_quantile(loadings: Array, level: float) -> float:
    """Critical value by the trapezoidal rule, which is exact to rounding here."""
    x, step = np.linspace(-9, 9, 4001, retstep=True)
    weight = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * step
    noise = np.sqrt(1 - loadings**2)
    mean = x[:, np.newaxis] * loadings

    def excess(q: float) -> float:
        probability = ndtr((q - mean) / noise) - ndtr((-q - mean) / noise)
        return float(weight @ probability.prod(axis=-1) - level)

    return float(brentq(excess, 0.5, 8, xtol=1e-10))


def critical_values(size: Sizes) -> Iterator[Check]:
    """Compare critical values with one-dimensional integrals."""
    rng = np.random.default_rng(2)
    means = range(3, size.means + 1)
    factors = [
        rng.uniform(-0.95, 0.95, rng.integers(3, 60)) for _ in range(size.factors)
    ]
    yield compare_quantiles(
        f"critical values, all pairs of {size.means} or fewer means",
        "studentized range of scipy",
        [pairwise_correlation(number) for number in means],
        [partial(studentized_quantile, number) for number in means],
    )
    yield compare_quantiles(
        f"critical values, {len(factors)} random one-factor models",
        "integral over the factor",
        [one_factor_correlation(loadings) for loadings in factors],
        [partial(one_factor_quantile, loadings) for loadings in factors],
    )


def compare_quantiles(
    what: str,
    oracle: str,
    correlations: Iterable[Array],
    quantiles: Iterable[Callable[[float], float]],
) -> Check:
    """Compare at many levels; the stated error is 3.5 standard errors."""
    levels = (0.8, 0.9, 0.95, 0.99, 0.999)
    cases = list(itertools.product(correlations, levels))
    found = [skci.inference.critical_value(each, level) for each, level in cases]
    truth = [quantile(level) for quantile in quantiles for level in levels]
    stated = np.array([each.error for each in found])
    gap = np.subtract(found, truth)
    return check(what, oracle, gap, 2 * stated, "twice the stated error")


R_CASES = (
    (2, ("accuracy", "f0.5")),
    (4, ("f1", "mcc", "balanced_accuracy")),
    (3, ("accuracy", "precision", "recall", "f1")),  # of rank 7
    (3, ("accuracy", "f1", "jaccard", "mcc")),  # of rank 7
)

# The input has a line with the repeats and the critical value, then the estimates with
# their covariance.
_MULTCOMP = """
suppressPackageStartupMessages(library(multcomp))
input <- unname(as.matrix(read.table(file("stdin"))))
repeats <- input[1, 1]
q <- input[1, 2]
estimates <- input[-1, 1]
covariance <- input[-1, -1]
set.seed(1)
hypotheses <- glht(parm(estimates, covariance), linfct = diag(length(estimates)))
one <- function(k) as.vector(confint(hypotheses)$confint[, c("lwr", "upr")])
limits <- apply(sapply(seq_len(repeats), one), 1, median)
inside <- pmvnorm(
  rep(-q, length(estimates)), rep(q, length(estimates)), corr = cov2cor(covariance),
  algorithm = GenzBretz(maxpts = 1e6, abseps = 1e-5)
)
cat(format(c(inside, limits), digits = 15))
"""


def joint_intervals(size: Sizes) -> Iterator[Check]:
    """Compare with R's multcomp on cases in which no limit is clipped."""
    multcomp = r_version("multcomp")
    if multcomp is None:
        return
    limits, levels = [], []
    for models, metrics in R_CASES[: size.reports]:
        report = delta_report(correlated_counts(models), metrics)
        inside, theirs = confint(report, size.repeats)
        columns = report.to_dict()
        ours = np.array([columns["low"], columns["high"]])
        limits.append((ours - theirs) / columns["standard_error"])
        levels.append(inside - report.confidence_level)
    yield check(
        f"joint limits of {len(limits)} reports, in standard errors",
        f"confint of multcomp {multcomp}",
        np.concatenate(limits, axis=None),
        0.01,
        "0.01: its quantile is random",
    )
    yield check(
        f"level of {len(levels)} critical values",
        f"pmvnorm of mvtnorm {r_version('mvtnorm')}",
        levels,
        3e-4,
        "3e-4: errors of both",
    )


def confint(report: Any, repeats: int) -> tuple[float, Array]:
    """R's probability within the critical value of skci, and R's limits."""
    parameters = len(report)
    first = [repeats, float(report.critical_value), *[0] * (parameters - 1)]
    data = np.vstack([first, np.column_stack([report.estimates, report.covariance])])
    stdin = "".join(" ".join(map(repr, line)) + "\n" for line in data.tolist())
    inside, *limits = map(float, run_r(_MULTCOMP, stdin).split())
    return inside, np.reshape(limits, (2, parameters))
