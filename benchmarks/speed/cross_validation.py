"""Time and memory of reports after cross-validation beside the fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

import skci
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.speed.comparisons import (
    Row,
    compared,
    duration,
    fraction,
    is_met,
    mebibytes,
    peak_memory,
    side_by_side,
)
from skci.resampling.schemes import jackknife_pools
from skci.resampling.splitting import ResampledRows, Split, unique_training_sets

_ROWS = 5_000
_COLUMNS = (20, 100, 500)
_METRICS = ("accuracy", "f1", "matthews_corrcoef")
_PARTITIONS = (3, 12)
_MOST_ADDED = 0.02
_ESTIMATOR = LogisticRegression(max_iter=1_000)


def cross_validations(size: Sizes) -> Iterator[Row]:
    """Compare a report after 45 fits with the fits, and its memory by partitions."""
    for n_columns in _COLUMNS:
        X, y = make_classification(
            _ROWS, n_columns, n_informative=10, flip_y=0.1, random_state=0
        )
        splits = training_sets(y)
        task = (
            f"cross_validate_report, {len(splits)} logistic regressions, "
            f"{_ROWS:,} rows of {n_columns} columns"
        )
        alone = partial(fit, splits, X, y)
        times = side_by_side(report(X, y), alone, size.few_repeats)
        low, high = (f"{ratio - 1:.1%}" for ratio in times.quartiles)
        yield Row(
            f"{task}: what it adds",
            "fits and predictions alone",
            f"{times.ratio - 1:.1%}",
            f"{low} to {high}",
            f"{_MOST_ADDED:.0%}",
            is_met(times.ratio, 1 + _MOST_ADDED),
            duration(min(times.a)),
            duration(min(times.b)),
        )
        scores = partial(
            cross_validate, _ESTIMATOR, X, y, cv=splits, scoring=[*_METRICS]
        )
        times = side_by_side(report(X, y), scores, size.few_repeats)
        yield compared(task, "cross_validate of scikit-learn", times, goal=1)
    yield memory_row()


def training_sets(y: Array) -> list[Split]:
    """Splits of the default jackknife."""
    pools = jackknife_pools(ResampledRows(y, y, None, None, 0), 5, 3)
    return [split for batch in pools for split in unique_training_sets(batch).values()]


def fit(splits: Sequence[Split], X: Array, y: Array) -> list[Array]:
    """Fit to each training set and predict its test rows."""
    return [
        clone(_ESTIMATOR).fit(X[train], y[train]).predict(X[test])
        for train, test in splits
    ]


def report(X: Array, y: Array, estimator: Any = _ESTIMATOR, **options: Any) -> Callable:
    """Task of a report and its table."""
    task = partial(skci.cross_validate_report, estimator, X, y, metrics=[*_METRICS])
    return lambda: str(task(random_state=0, **options))


def memory_row() -> Row:
    """Peak memory of four times as many partitions."""
    X, y = make_classification(_ROWS, _COLUMNS[0], random_state=0)
    few, many = (
        peak_memory(
            report(
                X,
                y,
                resampling=skci.resampling.GroupJackknife(n_partitions=n_partitions),
            )
        )
        for n_partitions in _PARTITIONS
    )
    ratio = many / few
    return Row(
        f"cross_validate_report, peak memory, {_PARTITIONS[1]} partitions",
        f"{_PARTITIONS[0]} partitions",
        ratio=fraction(ratio),
        goal=fraction(1.1),
        met=is_met(ratio, 1.1),
        ours=mebibytes(many),
        theirs=mebibytes(few),
    )
