"""How long score intervals take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from _effort import Effort
from _labels import Array
from _rows import Row, Section, compared, limited
from _timing import sidebyside, stopwatch

import skci
from skci.measures.functional import CellFunctional

_TEXT = """\
Intervals by ``method="score"``, which are searched for, from confusion matrices drawn
at random.
"""


def scores(effort: Effort) -> Section:
    return Section("Score intervals", _TEXT, list(rows(effort)))


def rows(effort: Effort) -> Iterator[Row]:
    """Time the score interval of each metric that allows it on random tables."""
    tables = random_tables(effort.tables)
    times: dict[str, list[float]] = {}
    ratios = []
    for metric in score_metrics():
        for table in tables:
            clock = stopwatch(partial(score_limit, metric, table))
            times.setdefault(metric.name, []).append(clock())
        if CellFunctional(metric._measure.function).ratio is not None:
            ratios += times[metric.name]
    yield limited(
        f"score interval, ratio metrics: median of {len(ratios)} intervals",
        median(ratios),
        0.5e-3,
    )
    middle = {name: median(each) for name, each in times.items()}
    slowest = max(middle, key=lambda name: middle[name])
    yield limited(
        f"score interval, slowest of {len(middle)} metrics: median of {slowest}",
        middle[slowest],
        2e-3,
    )
    yield batch_row(effort, list(middle)[:12], tables[0])


def score_limit(metric: Any, table: Array) -> float:
    return float(metric.from_confusion_matrix(table).confidence_interval().low)


def batch_row(effort: Effort, names: list[str], table: Array) -> Row:
    chosen = [metric for metric in score_metrics() if metric.name in names]

    def together() -> float:
        report = skci.confusion_matrix_report(table, metrics=chosen, method="score")
        return report.individual()["y_pred", names[0]].low  # computes all of them

    def alone() -> list[float]:
        return [score_limit(metric, table) for metric in chosen]

    return compared(
        f"{len(chosen)} score intervals in one report",
        "each by itself",
        sidebyside(together, alone, effort.repeats),
    )


def score_metrics() -> list[Any]:
    """All metric objects that have a score interval."""
    table = [[50, 10], [15, 25]]
    found = []
    for name in skci.metrics.__all__:
        try:
            metric = getattr(skci, name)(method="score")
            metric.from_confusion_matrix(table)
        except (AttributeError, TypeError, ValueError):  # has no score interval
            continue
        found.append(metric)
    return found


def random_tables(number: int) -> list[Array]:
    """Draw confusion matrices in which no row and no column is empty."""
    rng = np.random.default_rng(0)
    tables: list[Array] = []
    while len(tables) < number:
        prevalence, hit, alarm = rng.uniform([0.1, 0.5, 0.01], [0.5, 0.99, 0.4])
        cells = np.outer([1 - prevalence, prevalence], [1, 1])
        cells *= [[1 - alarm, alarm], [1 - hit, hit]]
        n = int(10 ** rng.uniform(1.5, 4))
        table = rng.multinomial(n, cells.ravel()).reshape(2, 2)
        if table.any(axis=0).all() and table.any(axis=1).all():
            tables.append(table)
    return tables
