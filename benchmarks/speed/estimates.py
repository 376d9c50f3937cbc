"""Time of intervals and reports beside point estimates and the bootstrap."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import bootstrap
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    fbeta_score,
    log_loss,
    matthews_corrcoef,
    roc_auc_score,
)

import skci
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.peers import installed
from benchmarks.common.processes import processor_seconds
from benchmarks.speed.comparisons import (
    Row,
    Timer,
    alternate,
    compared,
    labels,
    limited,
    many_labels,
    named,
    scored,
    seconds,
    side_by_side,
    timer,
)
from skci.inference.intervals.ratio import as_ratio
from skci.measures.functional import CellFunctional

METRICS = ["accuracy", "f0.5", "mcc"]

_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"
_LABEL_METRICS = {"accuracy": accuracy_score, "f1": f1_score, "mcc": matthews_corrcoef}
_SCORE_METRICS = {"roc_auc": roc_auc_score, "brier_score": brier_score_loss}


def point_estimates(size: Sizes) -> Iterator[Row]:
    """Compare intervals with point estimates, and with those of confidenceinterval."""

    def comparison(
        task: str,
        metric: Callable[[], Any],
        data: tuple[Array, Array],
        against: str,
        theirs: Any,
        repeats: int = size.repeats,
        goal: float | None = None,
    ) -> Row:
        ours = partial(interval, metric, *data)
        times = side_by_side(ours, partial(theirs, *data), repeats)
        return compared(task, against, times, goal=goal)

    fewer = max(3, size.repeats // 3)
    beta = partial(fbeta_score, beta=0.5)
    for n, dtype, method, goal in (
        (size.rows, np.int64, None, 1 / 60),
        (100, np.int64, "delta", 1 / 8),
        (100, np.int64, "score", 1 / 3),
        (size.rows, np.int8, None, None),
        (size.rows, np.bool_, None, None),
    ):
        y, (p,) = labels(n, dtype=dtype)
        by_method = f" by {method}" if method else ""
        task = f"F05CI{by_method}, {n:,} {np.dtype(dtype).name}"
        metric = partial(skci.F05CI, method=method)
        yield comparison(task, metric, (y, p), "fbeta_score", beta, goal=goal)
    y, (p,) = labels(size.rows)
    task, count = f"F05CI, {size.rows:,} int64", "np.bincount(2 * y + p)"
    yield comparison(
        task, skci.F05CI, (y, p), count, lambda y, p: np.bincount(2 * y + p), goal=1.1
    )
    named_labels = np.where(y, "yes", "no"), np.where(p, "yes", "no")
    yield comparison(
        f"F05CI, {size.rows:,} strings",
        partial(skci.F05CI, pos_label="yes"),
        named_labels,
        "fbeta_score",
        partial(beta, pos_label="yes"),
        fewer,
    )
    if peer := installed("confidenceinterval"):
        for n in (size.rows, 100):
            y, (p,) = labels(n)
            theirs = partial(peer.f1_score, average="binary")
            against = "confidenceinterval.f1_score"
            yield comparison(f"F1CI, {n:,} int64", skci.F1CI, (y, p), against, theirs)
    yield comparison(
        f"F1CI, macro over 100 classes, {size.rows:,} int64",
        partial(skci.F1CI, average="macro"),
        many_labels(size.rows, 100),
        "f1_score",
        partial(f1_score, average="macro"),
        fewer,
        goal=1,
    )
    y, (s,) = scored(size.rows)
    ties = s.round(3)
    for metric, theirs, scores, goal in (
        (skci.RocAucCI, roc_auc_score, s, 0.7),
        (skci.RocAucCI, roc_auc_score, ties, 0.7),
        (skci.AveragePrecisionCI, average_precision_score, s, None),
        (skci.LogLossCI, log_loss, s, 0.7),
        (skci.BrierScoreCI, brier_score_loss, s, 1.5),
    ):
        digits = " of 3 digits" if scores is ties else ""
        task = f"{metric.__name__}, {size.rows:,} float64{digits}"
        data = y, scores
        yield comparison(task, metric, data, theirs.__name__, theirs, fewer, goal=goal)
    y, predictions = labels(size.rows, models=4)
    yield compared(
        f"joint_report, 4 models x 3 metrics, {size.rows:,} int64",
        "12 point estimates of scikit-learn",
        side_by_side(
            lambda: skci.joint_report(y, named(predictions), metrics=METRICS).to_dict(),
            partial(estimates, y, *predictions),
            fewer,
        ),
        goal=1 / 20,
    )
    yield scored_report_row(size, size.rows // 10)
    for statement, goal in (("import skci", 1.1), ("from skci import F1CI", None)):
        theirs = "import sklearn.metrics"
        times = alternate(import_timer(statement), import_timer(theirs), fewer)
        yield compared(statement, theirs, times, goal=goal)


def import_timer(statement: str) -> Timer:
    """Make a function that times an import in a new process."""
    command = [sys.executable, "-c", statement]
    environment = {k: v for k, v in os.environ.items() if k != _NO_BYTE_CODE}
    task = partial(subprocess.run, command, check=True, env=environment)

    def measure() -> float:
        start = processor_seconds()
        task()
        return processor_seconds() - start

    task()  # which writes the byte code
    return measure


def interval(metric: Callable[[], Any], y: Array, p: Array) -> tuple[float, float]:
    """Make the metric, estimate and compute the interval."""
    low, high = metric()(y, p).confidence_interval()
    return low, high


def estimates(y: Array, *predictions: Array) -> list[float]:
    """Point estimates of the report by scikit-learn."""
    metrics = (accuracy_score, partial(fbeta_score, beta=0.5), matthews_corrcoef)
    return [metric(y, p) for p in predictions for metric in metrics]


def scored_report_row(size: Sizes, n: int) -> Row:
    """Compare a joint report on labels and scores with its point estimates."""
    y, scores = scored(n, models=3)
    predictions = [(s > 0.5).astype(y.dtype) for s in scores]
    metrics = [*_LABEL_METRICS, *_SCORE_METRICS]

    def ours() -> Any:
        options = {"y_score": named(scores), "metrics": metrics}
        return skci.joint_report(y, named(predictions), **options).to_dict()

    def theirs() -> list[float]:
        labelled, scored = _LABEL_METRICS.values(), _SCORE_METRICS.values()
        return [
            *(estimate(y, p) for p in predictions for estimate in labelled),
            *(estimate(y, s) for s in scores for estimate in scored),
        ]

    return compared(
        f"joint_report, 3 models x {len(metrics)} metrics of labels and scores, {n:,}",
        f"{3 * len(metrics)} point estimates of scikit-learn",
        side_by_side(ours, theirs, size.repeats),
        goal=1,
    )


_ROWS, _RESAMPLES = 10_000, 1_000


def bootstraps(size: Sizes) -> Iterator[Row]:
    """Compare a joint report with the bootstrap."""
    y, predictions = labels(_ROWS, models=4)
    models = named(predictions)
    seeds = itertools.count()

    def ours() -> Any:
        seed = next(seeds)
        report = skci.joint_report(y, models, metrics=METRICS, random_state=seed)
        return report.to_dict()

    resample = size.resamples
    cases = {
        "a loop of {:,} resamples": (partial(loop, resample), _RESAMPLES),
        "scipy.stats.bootstrap, percentile, {:,} resamples": (
            partial(scipy_bootstrap, resample, "percentile"),
            evaluations("percentile"),
        ),
        # A resample of BCa costs the same; its evaluations are more.
        "scipy.stats.bootstrap, BCa, {:,} resamples": (
            partial(scipy_bootstrap, resample, "percentile"),
            evaluations("BCa"),
        ),
    }
    for name, (task, number) in cases.items():

        def theirs(task: Any = task, number: int = number) -> float:
            return (
                seconds(partial(task, estimates, y, *predictions)) * number / resample
            )

        times = alternate(timer(ours), theirs, max(1, size.repeats // 4))
        yield compared(
            f"joint_report, 4 models x 3 metrics, {_ROWS:,} int64",
            name.format(_RESAMPLES),
            times,
            goal=1 / 1000,
        )


def loop(number: int, statistic: Any, *columns: Array) -> Array:
    """Percentile intervals by a plain loop."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(number):
        drawn = rng.integers(len(columns[0]), size=len(columns[0]))
        estimates.append(statistic(*(column[drawn] for column in columns)))
    return np.quantile(estimates, [0.025, 0.975], axis=0)


def scipy_bootstrap(
    number: int, method: str, statistic: Any, *columns: Array
) -> tuple[Array, Array]:
    low, high = bootstrap(
        columns,
        statistic,
        n_resamples=number,
        batch=100,  # limits memory
        paired=True,
        vectorized=False,
        method=method,
    ).confidence_interval
    return low, high


def evaluations(method: str) -> int:
    """Number of times that scipy evaluates the statistic."""
    calls = itertools.count()

    def statistic(*columns: Array) -> float:
        next(calls)
        return float(columns[0][0])

    y, _ = labels(_ROWS)
    scipy_bootstrap(_RESAMPLES, method, statistic, y)
    return next(calls)


def score_intervals(size: Sizes) -> Iterator[Row]:
    """Time the score interval of each metric that has one, on random tables."""
    tables = random_tables(size.tables)
    times: dict[str, list[float]] = {}
    ratios = []
    for metric in score_metrics():
        for table in tables:
            seconds_of = timer(partial(score_limit, metric, table))
            times.setdefault(metric.name, []).append(seconds_of())
        if as_ratio(CellFunctional(metric._measure.function)) is not None:
            ratios += times[metric.name]
    yield limited(
        f"score interval, ratio metrics: median of {len(ratios)} intervals",
        median(ratios),
        0.5e-3,
    )
    medians = {name: median(each) for name, each in times.items()}
    slowest = max(medians, key=medians.__getitem__)
    yield limited(
        f"score interval, slowest of {len(medians)} metrics: median of {slowest}",
        medians[slowest],
        2e-3,
    )
    yield batch_row(size, list(medians)[:12], tables[0])


def score_limit(metric: Any, table: Array) -> float:
    return float(metric.from_confusion_matrix(table).confidence_interval().low)


def batch_row(size: Sizes, names: list[str], table: Array) -> Row:
    chosen = [metric for metric in score_metrics() if metric.name in names]

    def jointly() -> float:
        report = skci.confusion_matrix_report(table, metrics=chosen, method="score")
        return report.individual()["y_pred", names[0]].low  # computes all

    def separately() -> list[float]:
        return [score_limit(metric, table) for metric in chosen]

    return compared(
        f"{len(chosen)} score intervals in one report",
        "one at a time",
        side_by_side(jointly, separately, size.repeats),
    )


def score_metrics() -> list[Any]:
    """Objects of all metrics that have a score interval."""
    table = [[50, 10], [15, 25]]
    metrics = []
    for name in skci.metrics.__all__:
        try:
            metric = getattr(skci, name)(method="score")
            metric.from_confusion_matrix(table)
        except (AttributeError, TypeError, ValueError):  # no score interval
            continue
        metrics.append(metric)
    return metrics


def random_tables(number: int) -> list[Array]:
    """Random confusion matrices without an empty row or column."""
    rng = np.random.default_rng(0)
    tables: list[Array] = []
    while len(tables) < number:
        prevalence, recall, fpr = rng.uniform([0.1, 0.5, 0.01], [0.5, 0.99, 0.4])
        cells = np.outer([1 - prevalence, prevalence], [1, 1])
        cells *= [[1 - fpr, fpr], [1 - recall, recall]]
        n = int(10 ** rng.uniform(1.5, 4))
        table = rng.multinomial(n, cells.ravel()).reshape(2, 2)
        if table.any(axis=0).all() and table.any(axis=1).all():
            tables.append(table)
    return tables
