"""Oracles: the same numbers, found in another way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from _exact import (
    of_all_pairs,
    of_one_factor,
    one_factor_quantile,
    studentized_quantile,
)
from _r import r_version, run_r
from _textbook import TEXTBOOK, value, values
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri
from scipy.stats import binomtest
from scipy.stats.contingency import odds_ratio, relative_risk

import skci
from skci.inference.intervals.score import improved, pearson, score_limits
from skci.measures.functional import CellFunctional
from skci.measures.registry import MEASURES, Measure
from skci.metrics._names import resolve_metric

Array = NDArray[Any]

Z = float(ndtri(0.975))


class Check(NamedTuple):
    """How far skci is from an oracle, and how far it may be."""

    what: str
    oracle: str
    numbers: int
    median: float
    largest: float
    allowed: str
    share: float
    """Largest difference as a share of what is allowed there."""

    @property
    def holds(self) -> bool:
        return self.share <= 1  # NaN, where one of the two found nothing, is not


def check(
    what: str, oracle: str, differences: Any, allowed: Any, because: str
) -> Check:
    """Sum up differences; what is allowed of them is one number, or one for each."""
    differences = np.abs(differences)
    return Check(
        what,
        oracle,
        differences.size,
        float(np.median(differences)),
        float(np.max(differences)),
        because,
        float(np.max(differences / allowed)),
    )


@dataclass(frozen=True)
class Effort:
    """How many of everything."""

    tables: int
    """Of each size, for the jackknife."""
    draws: int
    means: int
    factors: int
    reports: int
    """Given to R."""
    repeats: int
    """Of each of R's intervals, whose quantile is a random one."""
    formulas: int
    """Tables for closed forms."""
    searches: int
    """Tables for the slow optimiser."""


FULL = Effort(1000, 1_000_000, 8, 12, 4, 7, 200, 200)
QUICK = Effort(10, 10_000, 3, 1, 1, 1, 4, 5)


def checks(effort: Effort) -> Iterator[Check]:
    """Hold skci to all oracles."""
    yield from jackknives(effort)
    yield from simulations(effort)
    yield from critical_values(effort)
    yield from joint_intervals(effort)
    yield from closed_forms(effort)
    yield from score_intervals(effort)


def skipped() -> list[str]:
    """Say which oracles are not there, and what they do not know."""
    there = {
        "R with multcomp": r_version("multcomp"),
        "statsmodels": installed("statsmodels"),
    }
    unknown = sorted(set(MEASURES) - set(TEXTBOOK))
    return [f"{name} is not installed." for name, it in there.items() if not it] + [
        f"{name} is not held to the textbook." for name in unknown
    ]


def installed(package: str) -> Any:
    """Import a package; None if it is not there."""
    try:
        return import_module(package)
    except ImportError:
        return None


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


def outcomes(rules: int) -> Array:
    """List the joint outcomes of a truth and some rules, as 0 and 1."""
    return np.array(list(itertools.product([0, 1], repeat=rules + 1)))


def membership(rules: int) -> Array:
    """Say which cell of each rule an outcome is in: (outcomes, rules, 4)."""
    truth, *responses = outcomes(rules).T
    return np.eye(4)[np.stack([3 - truth - 2 * own for own in responses], axis=-1)]


def own_tables(counts: Array) -> Array:
    """Count tp, fp, fn, tn of each rule: (..., outcomes) to (..., rules, 4)."""
    rules = counts.shape[-1].bit_length() - 2
    return np.einsum("...o,orc->...rc", counts, membership(rules))


def rows(counts: Array) -> tuple[Array, dict[str, Array]]:
    """Write counts of joint outcomes out as labels of the truth and of the rules."""
    rules = len(counts).bit_length() - 2
    truth, *responses = np.repeat(outcomes(rules), counts, axis=0).T
    return truth, {f"rule {k}": response for k, response in enumerate(responses)}


def delta_report(counts: Array, metrics: Iterable[Any] = TEXTBOOK) -> Any:
    y, predictions = rows(counts)
    return skci.joint_report(y, predictions, metrics=list(metrics), method="delta")


def matrix(table: Iterable[Any]) -> list[list[int]]:
    """Lay tp, fp, fn, tn out as a confusion matrix."""
    tp, fp, fn, tn = map(int, table)
    return [[tn, fp], [fn, tp]]


# --------------------------------------------------------------------------------------
# Standard errors and covariances
# --------------------------------------------------------------------------------------


def jackknives(effort: Effort) -> Iterator[Check]:
    """Move rows of random tables and see how the estimates follow.

    The influence values of skci are what moving ever less of a row comes to. A whole
    one differs by up to 1/m of a standard error, and there and back by 1/m^2, with m
    the rows in the smallest cell of the rule.
    """
    rng = np.random.default_rng(0)
    for n in (20, 100, 1000, 10_000, 100_000):
        tables = [random_outcomes(rng, n) for _ in range(effort.tables)]
        reports = [delta_report(counts) for counts in tables]
        cells = own_tables(np.array(tables))
        truth = values(cells).reshape(len(tables), -1)
        estimates = np.array([report.estimates for report in reports])
        yield check(
            f"estimates, n = {n:,}",
            "rates of the textbook",
            (estimates - truth) / (1 + np.abs(truth)),
            1e-12,
            "rounding",
        )
        covariances = np.array([report.covariance for report in reports])
        m = np.repeat(cells.min(axis=-1), len(TEXTBOOK), axis=-1)
        for oracle, steps in (
            ("delete-one jackknife", (-1,)),
            ("delete-one and add-one", (-1, 1)),
        ):
            moved = np.array([jackknife(counts, steps) for counts in tables])
            yield from near(moved, covariances, oracle, m, n, len(steps))


def near(
    truth: Array, found: Array, oracle: str, m: Array, n: int, order: int
) -> Iterator[Check]:
    """Compare covariances, which may differ by 1/m of standard errors, or 1/m^2."""
    errors = np.sqrt(truth.diagonal(axis1=-2, axis2=-1))
    yield check(
        f"standard errors, n = {n:,}",
        oracle,
        np.sqrt(found.diagonal(axis1=-2, axis2=-1)) / errors - 1,
        1.0 / m**order,
        ("1/m", "1/m^2")[order - 1],
    )
    smaller = np.minimum(m[:, np.newaxis], m[..., np.newaxis])
    scale = errors[:, np.newaxis] * errors[..., np.newaxis]
    yield check(
        f"covariances, n = {n:,}",
        oracle,
        (found - truth) / scale,
        2.0 / smaller**order,
        ("2/m", "2/m^2")[order - 1],
    )


def random_outcomes(rng: np.random.Generator, n: int, rules: int = 3) -> Array:
    """Draw a table of some rules, two rows at least in each cell of each.

    Not one within a row of the kink of the overlap coefficient, where it has no
    derivative.
    """
    size = 2 ** (rules + 1)
    while True:
        counts = rng.multinomial(n, rng.dirichlet(np.ones(size)))
        cells = own_tables(counts)
        if cells.min() >= 2 and np.abs(cells[:, 1] - cells[:, 2]).min() > 1:
            return counts


def jackknife(counts: Array, steps: tuple[int, ...]) -> Array:
    """Covariance of all measures of all rules: rows of each outcome more or fewer.

    Rows of one outcome are alike, so one of each is moved and counted as often as
    there are such rows. With the only step -1 it is the delete-one jackknife; the
    mean of opposite steps takes off its error of first order.
    """
    n = counts.sum()
    cells = own_tables(counts)
    here = values(cells)
    rules = len(cells)
    influence = sum(
        (values(cells + step * membership(rules)) - here) * (n + step) / step
        for step in steps
    ) / len(steps)
    influence = influence.reshape(len(counts), -1)
    influence -= counts @ influence / n
    covariance: Array = (influence.T * counts) @ influence / (n * (n - 1))
    return covariance


POPULATIONS = {
    "balanced": [4200, 300, 400, 100, 300, 500, 700, 3500],
    "a fifth positive": [7300, 200, 200, 300, 500, 300, 200, 1000],
    "rules alike": [4800, 50, 150, 1000, 800, 150, 50, 3000],
}
"""Rows, of 10,000, with each outcome of a truth and two rules."""


def simulations(effort: Effort) -> Iterator[Check]:
    """Draw tables from populations and see how all estimates vary together."""
    allowed = 0.01 + 5 / np.sqrt(2 * effort.draws)
    because = f"{allowed:.1%}: five Monte Carlo errors and 1%"
    for name, population in POPULATIONS.items():
        counts = np.array(population)
        simulated = simulated_covariance(counts, effort.draws)
        covariance = delta_report(counts).covariance
        error, truth = (np.sqrt(np.diag(each)) for each in (covariance, simulated))
        draws = f"{effort.draws:,} simulated tables"
        yield check(
            f"standard errors, {name}", draws, error / truth - 1, allowed, because
        )
        gap = covariance / np.outer(error, error) - simulated / np.outer(truth, truth)
        yield check(f"correlations, {name}", draws, gap, allowed, because)


def simulated_covariance(counts: Array, draws: int) -> Array:
    """Covariance of the estimates over tables drawn from a population."""
    rng = np.random.default_rng(1)
    n, truth = counts.sum(), values(own_tables(counts)).ravel()
    total = np.zeros((1 + len(truth), 1 + len(truth)))
    for start in range(0, draws, 20_000):
        size = min(20_000, draws - start)
        tables = own_tables(rng.multinomial(n, counts / n, size=size))
        moved = values(tables).reshape(size, -1) - truth
        with_one = np.column_stack([np.ones(size), moved])
        total += with_one.T @ with_one
    mean = total[0, 1:] / draws
    covariance: Array = total[1:, 1:] / draws - np.outer(mean, mean)
    return covariance


# --------------------------------------------------------------------------------------
# Critical values and joint intervals
# --------------------------------------------------------------------------------------


def critical_values(effort: Effort) -> Iterator[Check]:
    """Compare with exact integrals over one dimension."""
    rng = np.random.default_rng(2)
    means = range(3, effort.means + 1)
    factors = [
        rng.uniform(-0.95, 0.95, rng.integers(3, 60)) for _ in range(effort.factors)
    ]
    yield like_integrals(
        f"critical values, all pairs of {effort.means} or fewer means",
        "studentized range of scipy",
        [of_all_pairs(number) for number in means],
        [partial(studentized_quantile, number) for number in means],
    )
    yield like_integrals(
        f"critical values, {len(factors)} random models of one factor",
        "sum over the factor",
        [of_one_factor(loadings) for loadings in factors],
        [partial(one_factor_quantile, loadings) for loadings in factors],
    )


def like_integrals(
    what: str,
    oracle: str,
    correlations: Iterable[Array],
    quantiles: Iterable[Callable[[float], float]],
) -> Check:
    """Compare at many levels; an error is stated as 3.5 standard errors of its own."""
    levels = (0.8, 0.9, 0.95, 0.99, 0.999)
    cases = list(itertools.product(correlations, levels))
    found = [skci.critical_value(each, level) for each, level in cases]
    truth = [quantile(level) for quantile in quantiles for level in levels]
    stated = np.array([each.error for each in found])
    gap = np.subtract(found, truth)
    return check(what, oracle, gap, 2 * stated, "twice the stated error")


R_CASES = (
    (2, ("accuracy", "f0.5")),
    (4, ("f1", "mcc", "balanced_accuracy")),
    (3, ("accuracy", "precision", "recall", "f1")),  # of rank 7
    (3, ("accuracy", "f1", "jaccard", "mcc")),  # of rank 7, and two the same
)

# The first line of the input has the repeats and the critical value, then come the
# estimates with their covariance.
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


def joint_intervals(effort: Effort) -> Iterator[Check]:
    """Give estimates and their covariance to R's multcomp; no limit is clipped."""
    multcomp = r_version("multcomp")
    if multcomp is None:
        return
    limits, levels = [], []
    for rules, metrics in R_CASES[: effort.reports]:
        report = delta_report(alike(rules), metrics)
        inside, theirs = confint(report, effort.repeats)
        columns = report.to_dict()
        ours = np.array([columns["low"], columns["high"]])
        limits.append((ours - theirs) / columns["standard_error"])
        levels.append(inside - report.confidence_level)
    yield check(
        f"joint limits of {len(limits)} reports, in standard errors",
        f"confint of multcomp {multcomp}",
        np.concatenate(limits, axis=None),
        0.01,
        "0.01: its quantile is drawn",
    )
    yield check(
        f"level of {len(levels)} critical values",
        f"pmvnorm of mvtnorm {r_version('mvtnorm')}",
        levels,
        3e-4,
        "3e-4: the errors of both",
    )


def alike(rules: int) -> Array:
    """Count outcomes of 1500 rows on which rules err more and more often, together."""
    rng = np.random.default_rng(3)
    truth = rng.random(1500) < 0.4
    difficulty = (rng.random(1500) + rng.random((rules, 1500)) / 2) / 1.5
    wrong = difficulty < 0.2 + 0.05 * np.arange(rules)[:, np.newaxis]
    columns = np.vstack([truth, wrong ^ truth])
    number = 2 ** np.arange(rules, -1, -1) @ columns
    return np.bincount(number, minlength=2 ** (rules + 1))


def confint(report: Any, repeats: int) -> tuple[float, Array]:
    """Ask R for the probability within our critical value and for its own limits."""
    size = len(report)
    first = [repeats, float(report.critical_value), *[0] * (size - 1)]
    data = np.vstack([first, np.column_stack([report.estimates, report.covariance])])
    stdin = "".join(" ".join(map(repr, line)) + "\n" for line in data.tolist())
    inside, *limits = map(float, run_r(_MULTCOMP, stdin).split())
    return inside, np.reshape(limits, (2, size))


# --------------------------------------------------------------------------------------
# Closed forms
# --------------------------------------------------------------------------------------


def closed_forms(effort: Effort) -> Iterator[Check]:
    """Compare intervals that have a formula with that formula."""
    tables = random_tables(effort.formulas, seed=4)
    proportions = {
        name: measure for name, measure in MEASURES.items() if measure.proportion
    }
    yield exact(
        f"score limits by Pearson's statistic, {len(proportions)} proportions",
        "Wilson's formula, scipy",
        [pearson_limits(measure, tables) for measure in proportions.values()],
        [
            [wilson(*measure.successes_and_trials(table)) for table in tables]
            for measure in proportions.values()
        ],
        1e-7,
    )
    jaccard = np.array(
        [wilson(*MEASURES["jaccard"].successes_and_trials(table)) for table in tables]
    )
    yield exact(
        "score limits by Pearson's statistic, F1",
        "Wilson's for Jaccard's index J, 2J/(1+J)",
        pearson_limits(MEASURES["f1"], tables),
        2 * jaccard / (1 + jaccard),
        1e-7,
    )
    yield from on_the_log_scale(tables)
    if installed("statsmodels"):
        yield from by_statsmodels(proportions, tables)


def exact(what: str, oracle: str, ours: Any, theirs: Any, allowed: float) -> Check:
    return check(what, oracle, np.subtract(ours, theirs), allowed, f"{allowed:.0e}")


def random_tables(number: int, seed: int) -> Array:
    """Draw tables tp, fp, fn, tn of 20 to 100,000 rows, a row at least in each cell."""
    rng = np.random.default_rng(seed)
    tables: list[Array] = []
    while len(tables) < number:
        n = int(10 ** rng.uniform(np.log10(20), 5))
        table = rng.multinomial(n, rng.dirichlet(np.ones(4)))
        if table.min() > 0:
            tables.append(table)
    return np.array(tables)


def pearson_limits(measure: Measure, tables: Array) -> Array:
    low, high = score_limits(
        [CellFunctional(measure.function)] * len(tables),
        tables,
        np.full(len(tables), Z),
        np.tile(measure.bounds, (len(tables), 1)),
        statistic=pearson,
    )
    return np.column_stack([low, high])


def wilson(successes: float, trials: float) -> tuple[float, float]:
    test = binomtest(round(successes), round(trials))
    low, high = test.proportion_ci(method="wilson")
    return low, high


def limits_of(metric: Any, tables: Array, **options: Any) -> Array:
    metric = metric.set_params(**options)
    found = [metric.from_confusion_matrix(matrix(table)) for table in tables]
    return np.array([each.confidence_interval() for each in found])


def on_the_log_scale(tables: Array) -> Iterator[Check]:
    """Compare with the textbook's intervals of ratios, which divide by n, not n - 1."""
    n = tables.sum(axis=-1, keepdims=True)
    for metric, oracle, theirs in (
        (
            skci.DiagnosticOddsRatioCI(),
            "Woolf's interval, scipy",
            [odds_ratio(np.reshape(table, (2, 2)), kind="sample") for table in tables],
        ),
        (
            skci.PositiveLikelihoodRatioCI(),
            "Katz's interval, scipy",
            [
                relative_risk(int(tp), int(tp + fn), int(fp), int(fp + tn))
                for tp, fp, fn, tn in tables
            ],
        ),
    ):
        limits = np.array([each.confidence_interval(0.95) for each in theirs])
        ours = np.log(limits_of(metric, tables, method="delta"))
        centre = ours.mean(axis=-1, keepdims=True)
        with_n = centre + (ours - centre) * np.sqrt((n - 1) / n)
        yield exact(
            f"log limits of the {metric.name.replace('_', ' ')}, delta",
            oracle,
            with_n,
            np.log(limits),
            1e-9,
        )


def by_statsmodels(proportions: dict[str, Measure], tables: Array) -> Iterator[Check]:
    """Compare with the intervals of proportions and the error of kappa there."""
    proportion = import_module("statsmodels.stats.proportion")
    agreement = import_module("statsmodels.stats.inter_rater")
    with_version = f"statsmodels {version('statsmodels')}"
    for method, theirs in (
        ("wilson", "wilson"),
        ("agresti-coull", "agresti_coull"),
        ("clopper-pearson", "beta"),
        ("jeffreys", "jeffreys"),
    ):
        ours, reference = [], []
        for name, measure in proportions.items():
            metric = resolve_metric(name)
            ours.append(limits_of(metric, tables, method=method))
            counts = [measure.successes_and_trials(table) for table in tables]
            found = [proportion.proportion_confint(*c, method=theirs) for c in counts]
            reference.append(np.clip(found, 0, 1))
        yield exact(f'limits "{method}"', with_version, ours, reference, 1e-9)
    n = tables.sum(axis=-1)
    errors = [
        skci.CohenKappaCI().from_confusion_matrix(matrix(table)).standard_error
        for table in tables
    ]
    theirs = [agreement.cohens_kappa(np.array(matrix(t))).std_kappa for t in tables]
    yield exact(
        "standard error of Cohen's kappa",
        f"cohens_kappa of {with_version}",
        np.array(errors) * np.sqrt((n - 1) / n) / theirs,
        np.ones(len(tables)),
        1e-9,
    )


# --------------------------------------------------------------------------------------
# Score limits by another optimiser
# --------------------------------------------------------------------------------------


def score_intervals(effort: Effort) -> Iterator[Check]:
    """Find the statistic at the limits with scipy's SLSQP, and on the way to them."""
    rng = np.random.default_rng(5)
    names = [name for name in TEXTBOOK if MEASURES[name].smooth]
    differences = []
    for name in itertools.islice(itertools.cycle(names), effort.searches):
        measure = MEASURES[name]
        n = int(10 ** rng.uniform(np.log10(20), 5))
        table = rng.multinomial(n, rng.dirichlet(np.full(4, 0.6)))
        if np.isnan(CellFunctional(measure.function).estimate(table)):
            continue
        (limits,) = limits_of(resolve_metric(name), table[np.newaxis], method="score")
        start = line(measure, value(name, (table + 1e-3) / (table.sum() + 4e-3)))
        for limit, end in zip(limits, measure.bounds, strict=True):
            if limit != end:
                way = line(measure, limit) - start
                roots = [slow_root(name, table, start + s * way) for s in _WAY]
                crossed = max(roots[:-1]) >= Z
                differences.append(np.inf if crossed else roots[-1] / Z - 1)
    yield check(
        f"score limits of {len(names)} measures, as the first crossings",
        "likelihood maximised by SLSQP",
        differences,
        1e-5,
        "1e-5 of the critical value",
    )


def line(measure: Measure, values: Any) -> Any:
    """Logit, or log, of values: a scale without ends."""
    low, high = measure.bounds
    rest = 1 if np.isinf(high) else high - values
    return np.log((values - low) / rest)


_WAY = (0.4, 0.8, 1)
"""Where the statistic is looked at, on the way from the estimate to a limit."""
_STARTS = (0.02, 0.1, 0.5, 3, 30, 1e3)
"""Rows added to each cell of a table to start from: there may be several maxima."""
_STEP = 1e-100j


def slow_root(name: str, table: Array, target: float) -> float:
    """Root of the score statistic where the likelihood is largest under a value.

    The cells are written by the logits of the share of positives, of the recall and
    of the false positive rate, in which the likelihood is convex.
    """
    measure = MEASURES[name]
    tp, fp, fn, tn = table
    n = table.sum()
    yes, trials = np.array([tp + fn, tp, fp]), np.array([n, tp + fn, fp + tn])

    def loss(x: Array) -> float:
        both = yes * np.logaddexp(0, -x) + (trials - yes) * np.logaddexp(0, x)
        return float(both.sum() / n)

    def on_line(x: Array) -> Any:
        return line(measure, value(name, cells_at(x)))

    constraint = {
        "type": "eq",
        "fun": lambda x: on_line(x) - target,
        "jac": lambda x: on_line(x + _STEP * np.eye(3)).imag / _STEP.imag,
    }
    best = None
    for extra in _STARTS:
        tp, fp, fn, tn = table + extra
        shares = [(tp + fn) / (n + 4 * extra), tp / (tp + fn), fp / (fp + tn)]
        found = minimize(
            loss,
            logit(shares),
            jac=lambda x: (trials * expit(x) - yes) / n,
            method="SLSQP",
            bounds=[(-25, 25)] * 3,
            constraints=constraint,
            options={"ftol": 1e-14, "maxiter": 300},
        )
        if abs(on_line(found.x) - target) < 1e-8 and (
            best is None or found.fun < best.fun
        ):
            best = found
    if best is None:
        return np.nan
    p = cells_at(best.x)
    gradient = value(name, p + _STEP * np.eye(4)).imag / _STEP.imag
    influence = gradient - p @ gradient
    return float(np.sqrt(improved(table / n, p, influence, n)))


def cells_at(x: Array) -> Array:
    """Cells tp, fp, fn, tn at logits (..., 3), which may be complex."""
    positive, recall, alarm = np.moveaxis(1 / (1 + np.exp(-x)), -1, 0)
    cells = [
        positive * recall,
        (1 - positive) * alarm,
        positive * (1 - recall),
        (1 - positive) * (1 - alarm),
    ]
    return np.stack(cells, axis=-1)
