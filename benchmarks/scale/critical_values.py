"""Time and error of critical values of many parameters."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

import skci
from benchmarks.accuracy.critical_values import (
    one_factor_correlation,
    one_factor_quantile,
    pairwise_correlation,
    studentized_quantile,
)
from benchmarks.common import Array
from benchmarks.common.pages import Row
from benchmarks.scale.models import METRICS, correlated_models

_LEVEL = 0.95


def table(sizes: Sequence[int]) -> list[Row]:
    """Critical values with their error and their time, by family and size."""
    return [
        _row(family, *correlation(size))
        for family, correlation in _FAMILIES.items()
        for size in sizes
    ]


def _one_factor(size: int) -> tuple[Array, float]:
    """Correlation of full rank with one common factor, and its exact quantile."""
    loadings = np.random.default_rng(1).uniform(-0.95, 0.95, size)
    return one_factor_correlation(loadings), one_factor_quantile(loadings, _LEVEL)


def _means(size: int) -> tuple[Array, float]:
    """All differences of independent means, of low rank."""
    means = round((1 + (1 + 8 * size) ** 0.5) / 2)
    return pairwise_correlation(means), studentized_quantile(means, _LEVEL)


def _models(size: int) -> tuple[Array, float]:
    """Metrics of correlated models."""
    models = -(-size // len(METRICS))
    report = skci.joint_report(
        *correlated_models(models, 20_000), metrics=[*METRICS], method="delta"
    )
    return report.correlation[:size, :size], np.nan


_FAMILIES = {
    "one factor": _one_factor,
    "differences of means": _means,
    "models": _models,
}


def _row(family: str, correlation: Array, exact: float) -> Row:
    start = time.process_time()
    value = skci.inference.critical_value(correlation, _LEVEL, random_state=1)
    seconds = time.process_time() - start
    return {
        "correlation": family,
        "K": f"{len(correlation):,}",
        "critical value": f"{float(value):.4f}",
        "stated error": f"{value.error:.0e}",
        "error": "" if np.isnan(exact) else f"{float(value) - exact:+.0e}",
        "seconds": f"{seconds:.2f}",
    }
