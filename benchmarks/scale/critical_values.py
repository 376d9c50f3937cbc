"""Time and error of critical values of many parameters."""

import time

import numpy as np

import skci
from benchmarks.accuracy import critical_values as exact
from benchmarks.scale.models import METRICS, correlated_models

_LEVEL = 0.95


def table(sizes):
    """Critical values with their error and their time, by family and size."""
    return [
        _row(family, *correlation(size))
        for family, correlation in _FAMILIES.items()
        for size in sizes
    ]


def _one_factor(size):
    """Correlation of full rank with one common factor, and its exact quantile."""
    loadings = np.random.default_rng(1).uniform(-0.95, 0.95, size)
    truth = exact.one_factor_quantile(loadings, _LEVEL)
    return exact.one_factor_correlation(loadings), truth


def _means(size):
    """All differences of independent means, of low rank."""
    means = round((1 + (1 + 8 * size) ** 0.5) / 2)
    return exact.pairwise_correlation(means), exact.studentized_quantile(means, _LEVEL)


def _models(size):
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


def _row(family, correlation, truth):
    start = time.process_time()
    value = skci.inference.critical_value(correlation, _LEVEL, random_state=1)
    seconds = time.process_time() - start
    return {
        "correlation": family,
        "K": f"{len(correlation):,}",
        "critical value": f"{float(value):.4f}",
        "stated error": f"{value.error:.0e}",
        "error": "" if np.isnan(truth) else f"{float(value) - truth:+.0e}",
        "seconds": f"{seconds:.2f}",
    }
