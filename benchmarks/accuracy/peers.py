"""Mistakes in other software, compared with skci and with simulation.

Packages of the extra "bench" are run where they are installed; for others, their
formulas are repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
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
from benchmarks.accuracy.intervals import Z
from benchmarks.accuracy.oracles import (
    correlated_counts,
    delta_report,
    matrix,
    model_tables,
    outcomes,
    rows,
)
from benchmarks.accuracy.textbook import value
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.peers import installed, with_version

Interval = tuple[float, float]
Limits = Callable[[Array], Interval]
"""Interval from a table tp, fp, fn, tn."""
Error = Callable[[Array], float]
"""Standard error from such a table."""

_TABLE = np.array([25, 10, 15, 50])
PEER = "confidenceinterval"
_PYCM = "pycm 4.6, by hand"
_PEER_LEVEL = 0.99

_TOLERANCE = 0.02
"""Of a standard error or a coverage, beyond the Monte Carlo error."""


class Mistake(NamedTuple):
    """A line of the table."""

    case: str
    who: str
    theirs: str
    ours: str
    truth: str
    confirmed: bool
    """Whether this run shows the mistake."""
    correct: bool
    """Whether skci is correct."""


def mistakes(size: Sizes) -> Iterator[Mistake]:
    """Reproduce all mistakes."""
    yield from standard_errors(size)
    yield from intervals(size)
    yield from paired_models(size)
    yield from singular_correlations(size)
    yield two_positive_labels()


def standard_errors(size: Sizes) -> Iterator[Mistake]:
    """Compare with the standard deviation of the estimate over simulated tables."""
    binary = error_of(peer_limits("f1_score", average="binary"))
    f1 = (skci.F1CI(), partial(value, "f1"))
    kappa = (skci.CohenKappaCI(), partial(value, "cohen_kappa"))
    share, known = "F1, a proportion of the rows", "kappa, chance taken as known"
    claims: list[tuple[str, str, Error | None, Any, Any, Array]] = [
        ("F1, p^2 for p p'", PEER, binary, *f1, _TABLE),
        ("F1, p^2 for p p'", PEER, binary, *f1, 100 * _TABLE),
        (share, "by hand", f1_error, *f1, _TABLE),
    ]
    for name, mistake in (
        ("precision", "p^2 for p p'"),
        ("recall", "p^2 for p p'"),
        ("f1", "a sum for a product"),
    ):
        case = f"mean {name} of both labels, {mistake}"
        theirs = error_of(peer_limits(f"{name}_score", average="macro"))
        macro = (of_both_labels(name), partial(mean_value, name))
        claims.append((case, PEER, theirs, *macro, _TABLE))
    claims.append((known, _PYCM, kappa_error, *kappa, np.array([18, 80, 2, 100])))
    for case, who, error, metric, measure, table in claims:
        if error:
            yield compared(
                f"standard error of {case}, {matrix(table)}",
                with_version(who),
                error(table),
                metric.from_confusion_matrix(matrix(table)).standard_error,
                simulated_error(measure, table, size),
            )


def compared(
    case: str, who: str, theirs: float, ours: float, truth: tuple[float, float]
) -> Mistake:
    """Compare two standard errors with a simulated one and its Monte Carlo error."""
    simulated, error = truth
    digits = max(3, 3 - int(np.floor(np.log10(simulated))))
    their_error, our_error = abs(theirs / simulated - 1), abs(ours / simulated - 1)
    return Mistake(
        case,
        who,
        f"{theirs:.{digits}f}",
        f"{ours:.{digits}f}",
        f"{simulated:.{digits}f} +- {error:.{digits}f}",
        confirmed=their_error > our_error + error / simulated,
        correct=our_error < _TOLERANCE + 3 * error / simulated,
    )


def simulated_error(
    function: Callable[[Array], Array], counts: Array, size: Sizes
) -> tuple[float, float]:
    """Standard deviation over simulated tables, and its Monte Carlo error."""
    rng = np.random.default_rng(0)
    n = counts.sum()
    values = function(rng.multinomial(n, counts / n, size=size.draws))
    error = float(np.nanstd(values))
    return error, error / np.sqrt(2 * size.draws)


def peer_limits(function: str, **options: Any) -> Limits | None:
    """Intervals of a function of the package confidenceinterval."""
    package = installed(PEER)
    if package is None:
        return None

    def limits(table: Array) -> Interval:
        _, interval = getattr(package, function)(*labels(table), **options)
        return interval

    return limits


def labels(table: Array) -> tuple[Array, Array]:
    """Labels and predictions with counts tp, fp, fn, tn."""
    return np.repeat([1, 0, 1, 0], table), np.repeat([1, 1, 0, 0], table)


def error_of(limits: Limits | None) -> Error | None:
    """Standard error from symmetric intervals."""
    if limits is None:
        return None
    return lambda table: float(np.diff(limits(table))[0] / (2 * Z))


def mean_value(name: str, tables: Array) -> Array:
    """Macro average of a measure over both labels."""
    return (value(name, tables) + value(name, tables[..., ::-1])) / 2


def of_both_labels(name: str) -> Any:
    """Macro average as a custom metric."""

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


def intervals(size: Sizes) -> Iterator[Mistake]:
    """Compare intervals by simulated coverage."""
    perfect, nearly, empty = [20, 0, 0, 20], [39, 1, 1, 39], [0, 0, 4, 36]
    f1, macro_f1 = skci.F1CI(), of_both_labels("f1")
    precision, kappa = skci.PrecisionCI(), skci.CohenKappaCI()
    precision_99 = skci.PrecisionCI(confidence_level=_PEER_LEVEL)
    binary = peer_limits("f1_score", average="binary")
    macro = peer_limits("f1_score", average="macro")
    ppv, report = peer_limits("ppv_score"), peer_report if installed(PEER) else None
    # The table is an example; coverage is simulated for the population.
    for case, who, limits, metric, table, population in (
        ("F1", PEER, binary, f1, perfect, nearly),
        ("F1", PEER, binary, f1, [19, 0, 1, 20], nearly),
        ("mean F1 of both labels", PEER, macro, macro_f1, perfect, nearly),
        ("precision at 99%", PEER, report, precision_99, _TABLE, _TABLE),
        ("precision of 0/0", PEER, ppv, precision, empty, [4, 1, 6, 89]),
        ("accuracy by BCa", "scipy", bca, skci.AccuracyCI(), perfect, nearly),
        ("kappa by Wilson", _PYCM, wilson_of_kappa, kappa, _TABLE, _TABLE),
    ):
        if limits:
            name = f"interval of {case}, {matrix(table)}"
            arrays = np.array(table), np.array(population)
            yield compared_intervals(name, who, limits, metric, *arrays, size)


def compared_intervals(
    case: str,
    who: str,
    theirs: Limits,
    metric: Any,
    table: Array,
    population: Array,
    size: Sizes,
) -> Mistake:
    """Both intervals at a table, and their coverage in samples from a population."""
    metric, n = metric.set_params(method="score"), table.sum()
    truth = float(metric.from_confusion_matrix(matrix(population)))
    shares = population / population.sum()
    level = metric.confidence_level
    error = proportion_error(level, size.tests)

    def ours(table: Array) -> Interval:
        return metric.from_confusion_matrix(matrix(table)).confidence_interval()

    texts, possible, covered = [], [], []
    for limits in (theirs, ours):
        low, high = limits(table)
        possible.append(metric.bounds[0] <= low < high <= metric.bounds[1])
        covered.append(coverage(limits, shares, n, truth, size))
        texts.append(f"[{low:.3f}, {high:.3f}] covers {covered[-1]:.1%}")
    return Mistake(
        case,
        with_version(who),
        *texts,
        f"{level:.0%} nominal, +- {error:.1%}",
        confirmed=not possible[0] or covered[0] < level - _TOLERANCE,
        correct=possible[1] and covered[1] > level - _TOLERANCE - 3 * error,
    )


def coverage(limits: Limits, shares: Array, n: int, truth: float, size: Sizes) -> float:
    """Share of simulated tables whose interval covers."""
    draws = np.random.default_rng(0).multinomial(n, shares, size=size.tests)
    tables, counts = np.unique(draws, axis=0, return_counts=True)
    covered = [low <= truth <= high for low, high in map(limits, tables)]
    return float(counts @ covered / counts.sum())


def bca(table: Array) -> Interval:
    """Accuracy by scipy's BCa bootstrap."""
    correct = np.repeat([1.0, 0.0, 0.0, 1.0], table)
    result = stats.bootstrap((correct,), np.mean, n_resamples=999, rng=0)
    return tuple(result.confidence_interval)


def wilson_of_kappa(table: Array) -> Interval:
    kappa, n = float(value("cohen_kappa", table)), table.sum()
    centre = (kappa + Z**2 / (2 * n)) / (1 + Z**2 / n)
    spread = (
        np.sqrt(kappa * (1 - kappa) / n + Z**2 / (4 * n**2)) if kappa > 0 else np.nan
    )
    half = Z / (1 + Z**2 / n) * spread
    return centre - half, centre + half


def peer_report(table: Array) -> Interval:
    """Precision from a report, which ignores the level for it."""
    report = installed(PEER).classification_report_with_ci(
        *labels(table), confidence_level=_PEER_LEVEL
    )
    interval: Interval = report["Precision CI"].iloc[1]
    return interval


def paired_models(size: Sizes) -> Iterator[Mistake]:
    """Compare two models on the same rows."""
    counts = correlated_counts(2)
    report = delta_report(counts, ["f1"])
    contrast = np.array([1, -1])
    yield compared(
        "standard error of a difference of F1, as if of two samples",
        "by hand",
        float(np.sqrt(np.trace(report.covariance))),
        float(np.sqrt(contrast @ report.covariance @ contrast)),
        simulated_error(
            lambda c: value("f1", model_tables(c)) @ contrast, counts, size
        ),
    )
    if installed("statsmodels"):
        yield no_discordant_rows()


def no_discordant_rows() -> Mistake:
    """Compare a model with itself."""
    tables = installed("statsmodels.stats.contingency_tables")
    counts = np.where(np.ptp(outcomes(2)[:, 1:], axis=1) == 0, 20, 0)
    y, predictions = rows(counts)
    correct = np.array(list(predictions.values())) == y
    agreement = np.histogram2d(*correct, bins=2)[0]
    with np.errstate(divide="ignore"):
        test = tables.mcnemar(agreement, exact=False, correction=True)
    report = delta_report(counts, ["accuracy"])
    difference = np.array([1, -1]) @ report.estimates
    variance = np.array([1, -1]) @ report.covariance @ [1, -1]
    error = np.sqrt(np.round(variance, 15))  # a product of matrices rounds
    return Mistake(
        "McNemar's test of a model and itself",
        with_version("statsmodels"),
        f"{test.statistic}, p = {test.pvalue:g}",
        f"difference {difference:g}, standard error {error:g}",
        "they are the same model",
        confirmed=test.pvalue < 1,
        correct=difference == error == 0
        and "no model is shown" in report.findings()[0],
    )


def singular_correlations(size: Sizes) -> Iterator[Mistake]:
    """Joint critical values of more estimates than there are moments."""
    for models, metrics in (
        (1, ("f1", "jaccard")),
        (3, ("accuracy", "f1", "jaccard", "matthews_corrcoef")),
    ):
        counts = 10 * correlated_counts(models)
        report = delta_report(counts, metrics)
        rank = np.linalg.matrix_rank(report.correlation, tol=1e-9)
        q = report.critical_value
        truth, error = simulated_quantile(metrics, counts, size)
        theirs = scipy_probability(report.correlation, q)
        yield Mistake(
            f"critical value, {models} x ({', '.join(metrics)}), rank {rank}",
            with_version("scipy"),
            theirs,
            f"{q:.3f}",
            f"{truth:.3f} +- {error:.3f}",
            confirmed=theirs.endswith("Error"),
            correct=abs(q - truth) < 0.02 + 3 * error,
        )


def scipy_probability(correlation: Array, q: float) -> str:
    """Probability within a critical value by scipy, or its exception."""
    parameters = len(correlation)
    try:
        normal = stats.multivariate_normal(cov=correlation)
        probability = normal.cdf(
            np.full(parameters, q), lower_limit=np.full(parameters, -q)
        )
    except (np.linalg.LinAlgError, ValueError) as error:
        return type(error).__name__
    return f"{probability:.4f} at {q:.3f}"


def simulated_quantile(
    metrics: tuple[str, ...], counts: Array, size: Sizes, level: float = 0.95
) -> tuple[float, float]:
    """Quantile of the maximum standardised deviation, and its Monte Carlo error."""
    n, draws = counts.sum(), size.draws // 5
    tables = np.random.default_rng(0).multinomial(n, counts / n, size=draws)
    tables = model_tables(tables)
    estimates = np.concatenate([value(name, tables) for name in metrics], axis=-1)
    z = (estimates - estimates.mean(axis=0)) / estimates.std(axis=0)
    maximum = np.abs(z).max(axis=-1)
    spread = proportion_error(level, draws)
    low, quantile, high = np.quantile(maximum, [level - spread, level, level + spread])
    return float(quantile), float(high - low) / 2


def two_positive_labels() -> Mistake:
    """Evaluate two metrics with different positive labels together."""
    X, y = make_classification(400, flip_y=0.3, weights=[0.7], random_state=0)
    y = np.where(y == 1, "yes", "no")
    model = LogisticRegression().fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    scorers = {
        label: make_scorer(
            average_precision_score, response_method="predict_proba", pos_label=label
        )
        for label in ("yes", "no")
    }
    together = check_scoring(model, scoring=scorers)(model, X, y)
    alone = {label: scorer(model, X, y) for label, scorer in scorers.items()}
    metrics = {label: skci.PrecisionCI(pos_label=label) for label in scorers}
    report = skci.JointEvaluator({"model": model}, metrics).evaluate(X, y)
    ours = {label: float(report["model", label]) for label in metrics}
    truth = {
        label: precision_score(y, model.predict(X), pos_label=label) for label in ours
    }
    return Mistake(
        "positive label yes, and no, in one evaluation",
        with_version("scikit-learn"),
        f"average precision {joined(together)}",
        f"precision {joined(ours)}",
        f"one at a time: {joined(alone)}; {joined(truth)}",
        confirmed=not np.allclose(list(together.values()), list(alone.values())),
        correct=np.allclose(list(ours.values()), list(truth.values())),
    )


def joined(values: dict[str, float]) -> str:
    return " and ".join(f"{each:.3f}" for each in values.values())
