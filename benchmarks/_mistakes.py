"""Mistakes met in other software: its number, that of skci, and the simulated truth.

The packages of the extra "bench" make theirs themselves, where they are installed;
those of others are made here, by their formulas.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from _oracles import (
    Z,
    alike,
    delta_report,
    installed,
    matrix,
    outcomes,
    own_tables,
    rows,
)
from _textbook import value
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    check_scoring,
    make_scorer,
    precision_score,
)

import skci

Array = NDArray[Any]
Interval = tuple[float, float]
Limits = Callable[[Array], Interval]
"""The interval at a table tp, fp, fn, tn."""
Error = Callable[[Array], float]
"""The standard error at such a table."""

_TABLE = np.array([25, 10, 15, 50])
_PEER = "confidenceinterval"
_PYCM = "pycm 4.6, by hand"
_BY_HAND = "by hand"
_PEER_LEVEL = 0.99

_SLACK = 0.02
"""What a standard error or a coverage may be off besides the Monte Carlo error."""


class Mistake(NamedTuple):
    """A line of the list."""

    case: str
    who: str
    theirs: str
    ours: str
    truth: str
    seen: bool
    """Whether the other made the mistake in this run."""
    right: bool
    """Whether skci has it right."""


class Effort(NamedTuple):
    """How many simulated tables."""

    draws: int
    """For numbers."""
    tests: int
    """For intervals, which are computed at each."""


FULL = Effort(1_000_000, 4000)
QUICK = Effort(100_000, 60)


def mistakes(effort: Effort) -> Iterator[Mistake]:
    """Make all of them."""
    yield from standard_errors(effort)
    yield from intervals(effort)
    yield from paired_rules(effort)
    yield from singular_correlations(effort)
    yield two_positive_labels()


def skipped() -> list[str]:
    """Say which packages are not there, so that their mistakes are not."""
    packages = (_PEER, "statsmodels")
    return [f"{name} is not installed." for name in packages if not installed(name)]


def named(who: str) -> str:
    """Name a package with its version."""
    with contextlib.suppress(PackageNotFoundError):
        return f"{who} {version(who)}"
    return who


# --------------------------------------------------------------------------------------
# Standard errors
# --------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A standard error that is claimed of a measure at a table."""

    case: str
    who: str
    theirs: Error | None
    metric: Any
    measure: Callable[[Array], Array]
    table: Array


def standard_errors(effort: Effort) -> Iterator[Mistake]:
    """Compare with the standard deviation of the estimate over simulated tables."""
    binary = error_of(peer_limits("f1_score", average="binary"))
    f1, f1_of = skci.F1CI(), partial(value, "f1")
    claims = [
        Claim("F1, p^2 for p p'", _PEER, binary, f1, f1_of, _TABLE),
        Claim("F1, p^2 for p p'", _PEER, binary, f1, f1_of, 100 * _TABLE),
        Claim("F1, a proportion of the rows", _BY_HAND, f1_error, f1, f1_of, _TABLE),
        *(
            Claim(
                f"mean {name} of both labels, {mistake}",
                _PEER,
                error_of(peer_limits(f"{name}_score", average="macro")),
                of_both_labels(name),
                partial(mean_value, name),
                _TABLE,
            )
            for name, mistake in (
                ("precision", "p^2 for p p'"),
                ("recall", "p^2 for p p'"),
                ("f1", "a sum for a product"),
            )
        ),
        Claim(
            "kappa, chance taken as known",
            _PYCM,
            kappa_error,
            skci.CohenKappaCI(),
            partial(value, "cohen_kappa"),
            np.array([18, 80, 2, 100]),
        ),
    ]
    for claim in claims:
        if claim.theirs:
            estimate = claim.metric.from_confusion_matrix(matrix(claim.table))
            yield number(
                f"standard error of {claim.case}, {matrix(claim.table)}",
                named(claim.who),
                claim.theirs(claim.table),
                estimate.standard_error,
                deviation(claim.measure, claim.table, effort),
            )


def number(
    case: str, who: str, theirs: float, ours: float, truth: tuple[float, float]
) -> Mistake:
    """Compare two numbers with a simulated one, which comes with its error."""
    simulated, error = truth
    digits = max(3, 3 - int(np.floor(np.log10(simulated))))
    wrong, off = abs(theirs / simulated - 1), abs(ours / simulated - 1)
    return Mistake(
        case,
        who,
        f"{theirs:.{digits}f}",
        f"{ours:.{digits}f}",
        f"{simulated:.{digits}f} +- {error:.{digits}f}",
        seen=wrong > off + error / simulated,
        right=off < _SLACK + 3 * error / simulated,
    )


def deviation(
    function: Callable[[Array], Array], counts: Array, effort: Effort
) -> tuple[float, float]:
    """Standard deviation over tables drawn from a population, and its error."""
    rng = np.random.default_rng(0)
    n = counts.sum()
    values = function(rng.multinomial(n, counts / n, size=effort.draws))
    found = float(np.nanstd(values))
    return found, found / np.sqrt(2 * effort.draws)


def peer_limits(function: str, **options: Any) -> Limits | None:
    """Take the intervals of a function of the package confidenceinterval."""
    package = installed(_PEER)
    if package is None:
        return None

    def limits(table: Array) -> Interval:
        _, interval = getattr(package, function)(*labels(table), **options)
        return interval

    return limits


def labels(table: Array) -> tuple[Array, Array]:
    """Write tp, fp, fn, tn out as truths and predictions."""
    return np.repeat([1, 0, 1, 0], table), np.repeat([1, 1, 0, 0], table)


def error_of(limits: Limits | None) -> Error | None:
    """Take the standard error out of intervals that are symmetric."""
    if limits is None:
        return None
    return lambda table: float(np.diff(limits(table))[0] / (2 * Z))


def mean_value(name: str, tables: Array) -> Array:
    """Mean of a measure over both labels, also called "macro"."""
    return (value(name, tables) + value(name, tables[..., ::-1])) / 2


def of_both_labels(name: str) -> Any:
    """Make it a metric of one's own."""

    def mean(*cells: Array) -> Array:
        return mean_value(name, np.stack(cells, axis=-1))

    return skci.make_metric_ci(mean, name=f"mean {name}", bounds=(0, 1))


def proportion_error(p: float, n: float) -> float:
    return float(np.sqrt(p * (1 - p) / n))


def f1_error(table: Array) -> float:
    return proportion_error(value("f1", table), table.sum())


def kappa_error(table: Array) -> float:
    accuracy, kappa = value("accuracy", table), value("cohen_kappa", table)
    rest_of_chance = (1 - accuracy) / (1 - kappa)
    return proportion_error(accuracy, table.sum()) / float(rest_of_chance)


# --------------------------------------------------------------------------------------
# Intervals
# --------------------------------------------------------------------------------------


class Promise(NamedTuple):
    """Intervals, a table to show them at, and a population that they shall hold of."""

    case: str
    who: str
    theirs: Limits | None
    metric: Any
    table: Array
    population: Array


def intervals(effort: Effort) -> Iterator[Mistake]:
    """Compare with how often an interval holds the truth."""
    perfect, nearly = np.array([20, 0, 0, 20]), np.array([39, 1, 1, 39])
    binary = peer_limits("f1_score", average="binary")
    promises = [
        Promise("F1", _PEER, binary, skci.F1CI(), perfect, nearly),
        Promise("F1", _PEER, binary, skci.F1CI(), np.array([19, 0, 1, 20]), nearly),
        Promise(
            "mean F1 of both labels",
            _PEER,
            peer_limits("f1_score", average="macro"),
            of_both_labels("f1"),
            perfect,
            nearly,
        ),
        Promise(
            "precision at 99%",
            _PEER,
            peer_report if installed(_PEER) else None,
            skci.PrecisionCI(confidence_level=_PEER_LEVEL),
            _TABLE,
            _TABLE,
        ),
        Promise(
            "precision of 0/0",
            _PEER,
            peer_limits("ppv_score"),
            skci.PrecisionCI(),
            np.array([0, 0, 4, 36]),
            np.array([4, 1, 6, 89]),
        ),
        Promise("accuracy by BCa", "scipy", bca, skci.AccuracyCI(), perfect, nearly),
        Promise(
            "kappa by Wilson",
            _PYCM,
            wilson_of_kappa,
            skci.CohenKappaCI(),
            _TABLE,
            _TABLE,
        ),
    ]
    for promise in promises:
        if promise.theirs:
            yield kept(promise, promise.theirs, effort)


def kept(promise: Promise, theirs: Limits, effort: Effort) -> Mistake:
    """Show both intervals at the table, and how often they hold the truth."""
    metric, n = promise.metric.set_params(method="score"), promise.table.sum()
    truth = float(metric.from_confusion_matrix(matrix(promise.population)))
    shares = promise.population / promise.population.sum()
    level = metric.confidence_level
    error = proportion_error(level, effort.tests)

    def ours(table: Array) -> Interval:
        return metric.from_confusion_matrix(matrix(table)).confidence_interval()

    texts, possible, held = [], [], []
    for limits in (theirs, ours):
        low, high = limits(promise.table)
        possible.append(metric.bounds[0] <= low < high <= metric.bounds[1])
        held.append(coverage(limits, shares, n, truth, effort))
        texts.append(f"[{low:.3f}, {high:.3f}] holds {held[-1]:.1%}")
    return Mistake(
        f"interval of {promise.case}, {matrix(promise.table)}",
        named(promise.who),
        *texts,
        f"{level:.0%} promised, +- {error:.1%}",
        seen=not possible[0] or held[0] < level - _SLACK,
        right=possible[1] and held[1] > level - _SLACK - 3 * error,
    )


def coverage(
    limits: Limits, shares: Array, n: int, truth: float, effort: Effort
) -> float:
    """Share of the tables drawn from a population whose interval holds the truth."""
    draws = np.random.default_rng(0).multinomial(n, shares, size=effort.tests)
    tables, counts = np.unique(draws, axis=0, return_counts=True)
    held = [low <= truth <= high for low, high in map(limits, tables)]
    return float(counts @ held / counts.sum())


def bca(table: Array) -> Interval:
    """Accuracy by scipy's BCa bootstrap."""
    right = np.repeat([1.0, 0.0, 0.0, 1.0], table)
    found = stats.bootstrap((right,), np.mean, n_resamples=999, rng=0)
    return tuple(found.confidence_interval)


def wilson_of_kappa(table: Array) -> Interval:
    kappa, n = float(value("cohen_kappa", table)), table.sum()
    centre = (kappa + Z**2 / (2 * n)) / (1 + Z**2 / n)
    spread = (
        np.sqrt(kappa * (1 - kappa) / n + Z**2 / (4 * n**2)) if kappa > 0 else np.nan
    )
    half = Z / (1 + Z**2 / n) * spread
    return centre - half, centre + half


def peer_report(table: Array) -> Interval:
    """Take the precision out of a report, whose level does not reach all numbers."""
    report = installed(_PEER).classification_report_with_ci(
        *labels(table), confidence_level=_PEER_LEVEL
    )
    interval: Interval = report["Precision CI"].iloc[1]
    return interval


# --------------------------------------------------------------------------------------
# Two rules on the same rows
# --------------------------------------------------------------------------------------


def paired_rules(effort: Effort) -> Iterator[Mistake]:
    """Compare two rules on the same rows."""
    counts = alike(2)
    report = delta_report(counts, ["f1"])
    contrast = np.array([1, -1])
    yield number(
        "standard error of a difference of F1, as if of two samples",
        "by hand",
        float(np.sqrt(np.trace(report.covariance))),
        float(np.sqrt(contrast @ report.covariance @ contrast)),
        deviation(lambda c: value("f1", own_tables(c)) @ contrast, counts, effort),
    )
    if installed("statsmodels"):
        yield no_discordant_rows()


def no_discordant_rows() -> Mistake:
    """Compare a rule with itself."""
    tables = installed("statsmodels.stats.contingency_tables")
    counts = np.where(np.ptp(outcomes(2)[:, 1:], axis=1) == 0, 20, 0)
    y, predictions = rows(counts)
    right = np.array(list(predictions.values())) == y
    agreement = np.histogram2d(*right, bins=2)[0]
    with np.errstate(divide="ignore"):
        test = tables.mcnemar(agreement, exact=False, correction=True)
    report = delta_report(counts, ["accuracy"])
    difference = np.array([1, -1]) @ report.estimates
    error = np.sqrt(np.array([1, -1]) @ report.covariance @ [1, -1])
    return Mistake(
        "McNemar's test of a rule and itself",
        named("statsmodels"),
        f"{test.statistic}, p = {test.pvalue:g}",
        f"difference {difference:g}, standard error {error:g}",
        "they are the same rule",
        seen=test.pvalue < 1,
        right=difference == error == 0 and "no rule is shown" in report.findings()[0],
    )


# --------------------------------------------------------------------------------------
# Singular correlations
# --------------------------------------------------------------------------------------


def singular_correlations(effort: Effort) -> Iterator[Mistake]:
    """Take more estimates than there are moments."""
    for rules, metrics in (
        (1, ("f1", "jaccard")),
        (3, ("accuracy", "f1", "jaccard", "matthews_corrcoef")),
    ):
        counts = 10 * alike(rules)
        report = delta_report(counts, metrics)
        rank = np.linalg.matrix_rank(report.correlation, tol=1e-9)
        q = report.critical_value
        truth, error = greatest_deviation(metrics, counts, effort)
        theirs = normal_distribution(report.correlation, q)
        yield Mistake(
            f"critical value, {rules} x ({', '.join(metrics)}), rank {rank}",
            named("scipy"),
            theirs,
            f"{q:.3f}",
            f"{truth:.3f} +- {error:.3f}",
            seen=theirs.endswith("Error"),
            right=abs(q - truth) < 0.02 + 3 * error,
        )


def normal_distribution(correlation: Array, q: float) -> str:
    """Probability within a critical value by scipy's function, or its error."""
    size = len(correlation)
    try:
        normal = stats.multivariate_normal(cov=correlation)
        inside = normal.cdf(np.full(size, q), lower_limit=np.full(size, -q))
    except (np.linalg.LinAlgError, ValueError) as error:
        return type(error).__name__
    return f"{inside:.4f} at {q:.3f}"


def greatest_deviation(
    metrics: tuple[str, ...], counts: Array, effort: Effort, level: float = 0.95
) -> tuple[float, float]:
    """Quantile of the greatest of the standardised deviations, and its error."""
    n, draws = counts.sum(), effort.draws // 5
    tables = np.random.default_rng(0).multinomial(n, counts / n, size=draws)
    own = own_tables(tables)
    estimates = np.concatenate([value(name, own) for name in metrics], axis=-1)
    z = (estimates - estimates.mean(axis=0)) / estimates.std(axis=0)
    greatest = np.abs(z).max(axis=-1)
    spread = proportion_error(level, draws)
    low, found, high = np.quantile(greatest, [level - spread, level, level + spread])
    return float(found), float(high - low) / 2


# --------------------------------------------------------------------------------------
# Two positive labels
# --------------------------------------------------------------------------------------


def two_positive_labels() -> Mistake:
    """Score one estimator by two metrics with different positive labels, together."""
    X, y = make_classification(400, flip_y=0.3, weights=[0.7], random_state=0)
    y = np.where(y == 1, "yes", "no")
    rule = LogisticRegression().fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    scorers = {
        label: make_scorer(
            average_precision_score, response_method="predict_proba", pos_label=label
        )
        for label in ("yes", "no")
    }
    together = check_scoring(rule, scoring=scorers)(rule, X, y)
    alone = {label: scorer(rule, X, y) for label, scorer in scorers.items()}
    metrics = {label: skci.PrecisionCI(pos_label=label) for label in scorers}
    report = skci.JointEvaluator({"rule": rule}, metrics).evaluate(X, y)
    ours = {label: float(report["rule", label]) for label in metrics}
    truth = {
        label: precision_score(y, rule.predict(X), pos_label=label) for label in ours
    }
    return Mistake(
        "positive label yes, and no, in one evaluation",
        named("scikit-learn"),
        f"average precision {in_words(together)}",
        f"precision {in_words(ours)}",
        f"one at a time: {in_words(alone)}; {in_words(truth)}",
        seen=not np.allclose(list(together.values()), list(alone.values())),
        right=np.allclose(list(ours.values()), list(truth.values())),
    )


def in_words(values: dict[str, float]) -> str:
    return " and ".join(f"{each:.3f}" for each in values.values())
