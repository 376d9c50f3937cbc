"""Variants of the variance and the quantile of a jackknife, from stored estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import logit

from benchmarks.common import Array
from benchmarks.coverage.cross_validation_settings import Setting
from benchmarks.coverage.simulation import JOINT_LEVEL
from skci.inference.given_sampling import _MOST_EXCESS
from skci.inference.resampling_variance import group_jackknife

_POINTS = 8_000  # of the simulated critical value
_ON_LOGIT_SCALE = "roc_auc"
_NO_VARIANCE = 1e-10  # standard error that is zero but for rounding


@dataclass(frozen=True)
class Variant:
    """A number of groups and of partitions, and what follows from the estimates."""

    n_groups: int
    n_partitions: int
    noise: str = "in each direction, then of differences"
    """How the noise of partitioning is removed, a key of `NOISE`."""
    df: str = "P (G - 1)"
    """Degrees of freedom, a key of `DEGREES_OF_FREEDOM`."""

    def of(self, values: Array) -> Array:
        """Estimates of the first partitions."""
        return values[: self.n_partitions]


def jackknife_variance(values: Array) -> Array:
    """Covariance of leaving out groups, the mean over partitions, with its noise."""
    n_groups = values.shape[1] - 1
    deviations = values[:, 1:] - values[:, 1:].mean(axis=1, keepdims=True)
    products = np.einsum("pgj,pgk->jk", deviations, deviations) / len(values)
    return (n_groups - 1) / n_groups * products


def noise(values: Array) -> Array:
    """Covariance of the estimates of partitions."""
    deviations = values[:, 0] - values[:, 0].mean(axis=0)
    return deviations.T @ deviations / max(len(values) - 1, 1)


def _as_shipped(values: Array, contrasts: Array) -> Array:
    """As `cross_validate_report`: of a pair of models, also the excess."""
    _, covariance, _, excess = group_jackknife(values[:, 0], values[:, 1:])
    whole = contrasts @ np.nan_to_num(covariance) @ contrasts.T
    if excess is None or contrasts.sum(axis=1).any():  # of single estimates
        return whole
    variances = whole.diagonal()
    known = variances > _NO_VARIANCE**2
    removed = (contrasts @ excess @ contrasts.T).diagonal()
    share = min(float(np.mean(removed[known] / variances[known])), _MOST_EXCESS)
    return whole * (1 - share)


def _in_each_direction(values: Array, contrasts: Array) -> Array:
    """Once, and never below a quarter in any direction."""
    covariance = group_jackknife(values[:, 0], values[:, 1:]).covariance
    return contrasts @ np.nan_to_num(covariance) @ contrasts.T


def _not_at_all(values: Array, contrasts: Array) -> Array:
    return contrasts @ np.nan_to_num(jackknife_variance(values)) @ contrasts.T


def _from_variances(
    values: Array, contrasts: Array, *, least: float, pooled: bool
) -> Array:
    """As often as a jackknife multiplies it, from the variance of each interval.

    Its share of the variance may be pooled over the metrics of a model, or of a pair.
    Correlations are those of the jackknife.
    """
    n_partitions, n_estimates, n_parameters = values.shape
    excess = (n_estimates - 2) - 1 / n_partitions
    parts = [np.nan_to_num(part(values)) for part in (jackknife_variance, noise)]
    whole, removed = (contrasts @ part @ contrasts.T for part in parts)
    variances = whole.diagonal()
    shares = np.divide(
        removed.diagonal(), variances, out=np.zeros_like(variances), where=variances > 0
    )
    if pooled:
        n_metrics = n_parameters // 2
        means = shares.reshape(-1, n_metrics).mean(axis=1)
        shares = np.repeat(means, n_metrics)
    scale = np.sqrt(np.maximum(1 - excess * shares, least))
    return whole * np.outer(scale, scale)


NOISE: dict[str, Callable[[Array, Array], Array]] = {
    "in each direction, then of differences": _as_shipped,
    "in each direction": _in_each_direction,
    "not removed": _not_at_all,
    "G - 1 times, to 1/2": partial(_from_variances, least=1 / 2, pooled=False),
    "G - 1 times, pooled, to 1/2": partial(_from_variances, least=1 / 2, pooled=True),
    "G - 1 times, pooled, to 1/3": partial(_from_variances, least=1 / 3, pooled=True),
}
"""Covariance of contrasts of the estimates, by how noise is removed."""


def between_partitions(values: Array) -> float:
    """Satterthwaite degrees of freedom of the mean variance of partitions.

    The part of its variance that differs between partitions is estimated from them, and
    what remains of that of a variance with G - 1 degrees of freedom is shared by all.
    """
    n_partitions, n_estimates, _ = values.shape
    n_groups = n_estimates - 1
    variances = values[:, 1:].var(axis=1)
    squares = variances.mean(axis=0) ** 2
    if n_partitions == 1:
        return n_groups - 1
    total = 2 * squares / (n_groups - 1)
    between = np.minimum(variances.var(axis=0, ddof=1), total)
    with np.errstate(invalid="ignore"):  # of what has no variance
        ratios = 2 * squares / (total - between + between / n_partitions)
    return float(np.nanmean(ratios))


DEGREES_OF_FREEDOM: dict[str, Any] = {
    "P (G - 1)": lambda values: len(values) * (values.shape[1] - 2),
    "G - 1": lambda values: values.shape[1] - 2,
    "between partitions": between_partitions,
    "normal": lambda values: np.inf,
}


@dataclass(frozen=True)
class Intervals:
    """Intervals of a sample: which cover alone and together, and how wide they are."""

    covers: Array
    """Of each parameter, and of each difference after them."""
    all_singles: bool
    all_differences: bool
    width: float
    """Of the individual interval of the first difference of means."""
    variance: float
    """Behind it."""
    estimate: float


def intervals(
    variant: Variant, setting: Setting, values: Array, truths: Array
) -> Intervals:
    """Intervals of all parameters and differences."""
    values = variant.of(values)
    estimates, df = values[:, 0].mean(axis=0), DEGREES_OF_FREEDOM[variant.df](values)
    n_metrics = len(setting.metrics)
    contrasts = differences_of(n_metrics)
    # Unknown variances are zero, which leaves the whole range.
    known = NOISE[variant.noise](values, np.eye(2 * n_metrics))
    singles = _statistics(estimates, truths, known)
    areas = [name == _ON_LOGIT_SCALE for _, name in setting.labels]
    singles[areas] = _logit_statistics(estimates, truths, known)[areas]
    compared = NOISE[variant.noise](values, contrasts)
    compared = _without(compared, known.reshape(2, n_metrics, 2, n_metrics))
    estimated = estimates[:n_metrics] - estimates[n_metrics:]
    differences = _statistics(estimated, contrasts @ truths, compared)
    quantile = stats.t.ppf((1 + JOINT_LEVEL) / 2, df)
    first = 1 if setting.metrics[0] == "r2" else 0
    return Intervals(
        np.concatenate([singles, differences]) <= quantile,
        bool((singles <= critical_value(known, df)).all()),
        bool((differences <= critical_value(compared, df)).all()),
        float(2 * quantile * np.sqrt(compared[first, first])),
        float(compared[first, first]),
        float(estimates[first] - estimates[n_metrics + first]),
    )


def differences_of(n_metrics: int) -> Array:
    """Contrasts of two models in each metric."""
    return np.hstack([np.eye(n_metrics), -np.eye(n_metrics)])


def _without(compared: Array, covariance: Array) -> Array:
    """Covariance of differences, zero for those of an unknown variance."""
    variances = np.einsum("rmrm->rm", covariance)
    unknown = (variances <= _NO_VARIANCE**2).any(axis=0)
    return np.where(unknown | unknown[:, np.newaxis], 0, compared)


def _statistics(estimates: Array, truths: Array, covariance: Array) -> Array:
    """Distances from the truth in standard errors, 0 where these are unknown."""
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0))
    usable = (errors > _NO_VARIANCE) & np.isfinite(estimates)
    distances = np.zeros(len(estimates))
    distances[usable] = np.abs(estimates - truths)[usable] / errors[usable]
    return distances


def _logit_statistics(estimates: Array, truths: Array, covariance: Array) -> Array:
    slopes = np.zeros(len(estimates))
    inside = (estimates > 0) & (estimates < 1) & (truths > 0) & (truths < 1)
    slopes[inside] = 1 / (estimates * (1 - estimates))[inside]
    found, true = (logit(np.where(inside, x, 0.5)) for x in (estimates, truths))
    return _statistics(found, true, covariance * np.outer(slopes, slopes))


def critical_value(covariance: Array, df: float) -> float:
    """Quantile of the maximum of multivariate t, by simulation."""
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0))
    usable = np.flatnonzero(errors > _NO_VARIANCE)
    scale = np.outer(errors[usable], errors[usable])
    correlation = covariance[np.ix_(usable, usable)] / scale
    eigenvalues, directions = np.linalg.eigh(correlation)
    root = directions * np.sqrt(np.maximum(eigenvalues, 0))
    normals = _normals(len(covariance))
    largest = np.abs(normals[:, : len(usable)] @ root.T).max(axis=1, initial=0)
    if np.isfinite(df):
        largest = largest / _deviations(round(df, 1))
    return float(np.quantile(largest, JOINT_LEVEL))


@cache
def _normals(dimensions: int) -> Array:
    return np.random.default_rng(0).normal(size=(_POINTS, dimensions))


@cache
def _deviations(df: float) -> Array:
    """Standard deviations that are estimated with some degrees of freedom."""
    uniforms = np.random.default_rng(1).random(_POINTS)
    return np.sqrt(stats.chi2.ppf(uniforms, df) / df)
