"""Oracles for intervals: closed forms, and score limits by another optimiser."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri, rel_entr
from scipy.stats import binomtest
from scipy.stats.contingency import odds_ratio, relative_risk

import skci
from benchmarks.accuracy.oracles import Check, check, matrix
from benchmarks.accuracy.textbook import TEXTBOOK, value
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.peers import installed, with_version
from benchmarks.coverage.vectorized import Batch, estimate, public_limits
from skci.inference.intervals.statistic import improved
from skci.measures.traits import Trait
from skci.metrics.labels import MEASURES

_LEVEL = 0.95
Z = float(ndtri(0.5 + _LEVEL / 2))


def closed_forms(size: Sizes) -> Iterator[Check]:
    """Compare intervals with their closed forms."""
    tables = random_tables(size.formulas, seed=4)
    proportions = {
        name: measure for name, measure in MEASURES.items() if measure.proportion
    }
    yield exact(
        f"score limits by Pearson's statistic, {len(proportions)} proportions",
        "Wilson's formula, scipy",
        [Batch(name, tables, np.nan).pearson_limits(_LEVEL) for name in proportions],
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
        Batch("f1", tables, np.nan).pearson_limits(_LEVEL),
        2 * jaccard / (1 + jaccard),
        1e-7,
    )
    yield from log_scale_intervals(tables)
    if installed("statsmodels"):
        yield from by_statsmodels(proportions, tables)


def exact(what: str, oracle: str, ours: Any, theirs: Any, tolerance: float) -> Check:
    return check(what, oracle, np.subtract(ours, theirs), tolerance, f"{tolerance:.0e}")


def random_tables(number: int, seed: int) -> Array:
    """Random tables of 20 to 100,000 rows, without empty cells."""
    rng = np.random.default_rng(seed)
    tables: list[Array] = []
    while len(tables) < number:
        n = int(10 ** rng.uniform(np.log10(20), 5))
        table = rng.multinomial(n, rng.dirichlet(np.ones(4)))
        if table.min() > 0:
            tables.append(table)
    return np.array(tables)


def wilson(successes: float, trials: float) -> tuple[float, float]:
    test = binomtest(round(successes), round(trials))
    low, high = test.proportion_ci(method="wilson")
    return low, high


def log_scale_intervals(tables: Array) -> Iterator[Check]:
    """Compare with textbook intervals for ratios, which divide by n, not n - 1."""
    n = tables.sum(axis=-1, keepdims=True)
    for metric, oracle, theirs in (
        (
            "diagnostic_odds_ratio",
            "Woolf's interval, scipy",
            [odds_ratio(np.reshape(table, (2, 2)), kind="sample") for table in tables],
        ),
        (
            "positive_likelihood_ratio",
            "Katz's interval, scipy",
            [
                relative_risk(int(tp), int(tp + fn), int(fp), int(fp + tn))
                for tp, fp, fn, tn in tables
            ],
        ),
    ):
        limits = np.array([each.confidence_interval(0.95) for each in theirs])
        ours = np.log(public_limits(metric, tables, "delta", _LEVEL))
        centre = ours.mean(axis=-1, keepdims=True)
        with_n = centre + (ours - centre) * np.sqrt((n - 1) / n)
        yield exact(
            f"log limits of the {metric.replace('_', ' ')}, delta",
            oracle,
            with_n,
            np.log(limits),
            1e-9,
        )


def by_statsmodels(proportions: dict[str, Trait], tables: Array) -> Iterator[Check]:
    """Compare intervals for proportions and the standard error of kappa."""
    proportion = import_module("statsmodels.stats.proportion")
    agreement = import_module("statsmodels.stats.inter_rater")
    statsmodels = with_version("statsmodels")
    for method, theirs in (
        ("wilson", "wilson"),
        ("agresti-coull", "agresti_coull"),
        ("clopper-pearson", "beta"),
        ("jeffreys", "jeffreys"),
    ):
        ours, reference = [], []
        for name, measure in proportions.items():
            ours.append(public_limits(name, tables, method, _LEVEL))
            counts = [measure.successes_and_trials(table) for table in tables]
            limits = [proportion.proportion_confint(*c, method=theirs) for c in counts]
            reference.append(np.clip(limits, 0, 1))
        yield exact(f'limits "{method}"', statsmodels, ours, reference, 1e-9)
    n = tables.sum(axis=-1)
    errors = [
        skci.CohenKappaCI().from_confusion_matrix(matrix(table)).standard_error
        for table in tables
    ]
    theirs = [agreement.cohens_kappa(np.array(matrix(t))).std_kappa for t in tables]
    yield exact(
        "standard error of Cohen's kappa",
        f"cohens_kappa of {statsmodels}",
        np.array(errors) * np.sqrt((n - 1) / n) / theirs,
        np.ones(len(tables)),
        1e-9,
    )


def score_intervals(size: Sizes) -> Iterator[Check]:
    """Compare the score statistic at the limits, and on the way to them, with SLSQP."""
    rng = np.random.default_rng(5)
    names = [name for name in TEXTBOOK if MEASURES[name].smooth]
    differences = []
    for name in itertools.islice(itertools.cycle(names), size.searches):
        measure = MEASURES[name]
        n = int(10 ** rng.uniform(np.log10(20), 5))
        table = rng.multinomial(n, rng.dirichlet(np.full(4, 0.6)))
        if np.isnan(estimate(name, table)):
            continue
        (limits,) = public_limits(name, table[np.newaxis], "score", _LEVEL)
        start = unbounded(measure, value(name, (table + 1e-3) / (table.sum() + 4e-3)))
        for limit, bound in zip(limits, measure.bounds, strict=True):
            if limit != bound:
                path = unbounded(measure, limit) - start
                roots = [slow_root(name, table, start + s * path) for s in _PATH]
                crossed = max(roots[:-1]) >= Z
                differences.append(np.inf if crossed else roots[-1] / Z - 1)
    yield check(
        f"score limits of {len(names)} measures, as first crossings",
        "likelihood maximised by SLSQP",
        differences,
        1e-5,
        "1e-5 of the critical value",
    )


def unbounded(measure: Trait, values: Any) -> Any:
    """Logit or log transform of values."""
    low, high = measure.bounds
    rest = 1 if np.isinf(high) else high - values
    return np.log((values - low) / rest)


_PATH = (0.4, 0.8, 1)
"""Points between the estimate and a limit at which the statistic is evaluated."""
_STARTS = (0.02, 0.1, 0.5, 3, 30, 1e3)
"""Pseudo-counts of the starting values: there may be several maxima."""
_STEP = 1e-100j


def slow_root(name: str, table: Array, target: float) -> float:
    """Root of the score statistic at the constrained maximum likelihood estimate.

    The parameters are the logits of prevalence, recall and false-positive rate, in
    which the negative log-likelihood is convex.
    """
    measure = MEASURES[name]
    tp, fp, fn, tn = table
    n = table.sum()
    successes, trials = np.array([tp + fn, tp, fp]), np.array([n, tp + fn, fp + tn])

    def loss(x: Array) -> float:
        terms = successes * np.logaddexp(0, -x) + (trials - successes) * np.logaddexp(
            0, x
        )
        return float(terms.sum() / n)

    def transformed(x: Array) -> Any:
        return unbounded(measure, value(name, cells_at(x)))

    constraint = {
        "type": "eq",
        "fun": lambda x: transformed(x) - target,
        "jac": lambda x: transformed(x + _STEP * np.eye(3)).imag / _STEP.imag,
    }
    best = None
    for extra in _STARTS:
        tp, fp, fn, tn = table + extra
        shares = [(tp + fn) / (n + 4 * extra), tp / (tp + fn), fp / (fp + tn)]
        found = minimize(
            loss,
            logit(shares),
            jac=lambda x: (trials * expit(x) - successes) / n,
            method="SLSQP",
            bounds=[(-25, 25)] * 3,
            constraints=constraint,
            options={"ftol": 1e-14, "maxiter": 300},
        )
        if abs(transformed(found.x) - target) < 1e-8 and (
            best is None or found.fun < best.fun
        ):
            best = found
    if best is None:
        return np.nan
    p = cells_at(best.x)
    gradient = value(name, p + _STEP * np.eye(4)).imag / _STEP.imag
    influence = gradient - p @ gradient
    shares = table / n
    x2 = n * np.sum((shares - p) ** 2 / p)
    g2 = 2 * n * np.sum(rel_entr(shares, p))
    rho = np.sum(shares * influence**2) / np.sum(p * influence**2)
    return float(np.sqrt(improved(x2, g2, rho)))


def cells_at(x: Array) -> Array:
    """Cells tp, fp, fn, tn at logits (..., 3), which may be complex."""
    prevalence, recall, fpr = np.moveaxis(1 / (1 + np.exp(-x)), -1, 0)
    cells = [
        prevalence * recall,
        (1 - prevalence) * fpr,
        prevalence * (1 - recall),
        (1 - prevalence) * (1 - fpr),
    ]
    return np.stack(cells, axis=-1)
