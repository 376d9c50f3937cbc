"""Metrics of the predictions of several models, each for different test rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from skci._arrays import Array, cached_property
from skci.data.sample import Sample
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import (
    Contrast,
    Parameter,
    ParameterLabels,
    TableParameter,
)
from skci.metrics.metric_set import MetricSet
from skci.resampling.splitting import Pool

_ROUNDING = 1e-9  # relative difference of equal values
_MAX_TRUTHS = 1000  # distinct true values that are paired with all predictions

ParameterT = TypeVar("ParameterT", bound=Parameter)

_WITHIN_FOLDS = (
    "variance within folds, which is too small below about 1,000 rows or with unstable "
    "models"
)
_NO_PAIR = (
    "a test set of one row or one class has no area, and scores of models of different "
    "folds are not comparable; use larger test sets, cv=StratifiedKFold(5), or the "
    "area of the pooled scores, joint_report(y, y_score=cross_val_predict("
    "estimator, X, y, method='predict_proba')[:, 1], metrics='roc_auc')"
)
FOLD = "fold"
"""Column of the fold; one model predicts all test rows of a fold."""


@dataclass(frozen=True, eq=False)
class EvaluatedPool:
    """Metrics evaluated on the test rows of a pool of splits.

    A pool is a set of splits with disjoint test sets. The sample may have a subgroup
    for each fold.
    """

    metric_set: MetricSet
    sample: Sample
    pool: Pool
    fitted: Sequence[Mapping[str, Any]]
    """Predictions of each estimator by name, for the test rows of each split."""
    keys: Sequence[ParameterLabels] = ()
    """Keys of the K metrics; by default, the keys in this pool."""

    @cached_property
    def parameters(self) -> list[TableParameter]:
        """Metrics of all models, computed from the rows of all folds."""
        return list(self.metric_set.bind(replace(self.sample, subgroups=None)))

    @property
    def values(self) -> Array:
        """Values of the K metrics, computed from all rows.

        Undefined values are NaN. Most metrics are computed from counts of labels or
        from sums over rows, which are added over folds. Areas under curves compare
        scores of different rows, but scores of models of different folds are not
        comparable. Areas are therefore averaged over folds, weighted by the number of
        (positive, negative) pairs.
        """
        values_by_key = {
            parameter.key: parameter.estimate for parameter in self.parameters
        }
        ranked = {p.key for p in self.parameters if p.support.classes}
        if ranked and self.sample.subgroups is not None:
            by_fold = blocks_of_folds(self.metric_set.bind(self.sample))
            values_by_key |= {key: _mean_over_pairs(by_fold[key]) for key in ranked}
        keys = self.keys or list(values_by_key)
        values = np.array([values_by_key.get(key, np.nan) for key in keys])
        values[~np.isfinite(values)] = np.nan
        return values

    @property
    def best(self) -> Array:
        """Best possible value of each metric, which may be infinite."""
        traits = [parameter.trait for parameter in self.parameters]
        return np.array([trait.bounds[trait.greater_is_better] for trait in traits])

    @property
    def losses(self) -> Array:
        """Loss of each row with a positive weight, as an array of shape (K, n).

        The loss of a row is the estimate plus the influence value of the row. An error
        is raised for metrics that are not a mean of such losses.
        """
        losses, rng = [], np.random.default_rng(0)
        for parameter, best in zip(self.parameters, self.best, strict=True):
            counts = parameter.counts
            loss, reweighted = (
                np.add(*parameter.functional(weights / weights.sum())[:2])
                for weights in (counts, counts * rng.standard_exponential(len(counts)))
            )
            change = np.abs(reweighted - loss)[counts > 0].max()
            is_mean = change <= _ROUNDING * np.abs(loss).max()
            if not (is_mean and math.isfinite(best)):
                raise ValueError(
                    "metrics must be means over rows with a finite best value, such as "
                    "accuracy or log_loss, if the resampling is a bootstrap, got "
                    f"{parameter.key.metric}; use resampling='jackknife'"
                )
            losses.append(np.append(loss, 0)[parameter.index])
        return np.array(losses)

    @property
    def without_information(self) -> Array:
        """Expected value of each metric if predictions were independent of the truth.

        The value is the mean over all pairs of a true and a predicted value. The true
        values in the pairs are all labels, or up to 1,000 quantiles of the true
        numbers.
        """
        sample = replace(self.sample, subgroups=None)
        n_targets = len(sample.vocabulary.targets)
        truth = sample.truth if sample.numbers else sample.codes[:, :n_targets]
        distinct, code = np.unique(truth, axis=0, return_inverse=True)
        weights = np.bincount(code.ravel(), sample.rows.weights)
        chosen = np.unique(np.linspace(0, len(distinct) - 1, _MAX_TRUTHS).astype(int))
        values = []
        for k in chosen:
            changed = np.broadcast_to(distinct[k], truth.shape)
            bound = self.metric_set.bind(sample.with_truth(changed))
            values.append([parameter.estimate for parameter in bound])
        return np.average(values, axis=0, weights=weights[chosen])

    @property
    def moving_with_prevalence(self) -> list[str]:
        """Names of the metrics that depend on the prevalence.

        A metric depends on the prevalence if it changes when the weights of all rows
        with one of the true labels are doubled.
        """
        codes, weights = self.sample.codes, self.sample.rows.weights
        if not codes.size:
            return []
        doubled = weights * np.where(codes[:, 0] == codes[0, 0], 2.0, 1.0)
        moving = []
        for parameter in self.parameters:
            tables = (
                np.bincount(parameter.index, w, parameter.size + 1)[:-1]
                for w in (weights, doubled)
            )
            a, b = (parameter.functional.estimate(t / t.sum()) for t in tables)
            if not np.allclose(a, b, _ROUNDING, _ROUNDING, equal_nan=True):
                moving.append(str(parameter))
        return moving


def _mean_over_pairs(parameters: Sequence[TableParameter]) -> float:
    """Average areas under curves, weighted by the number of compared pairs."""
    values = np.array([parameter.estimate for parameter in parameters])
    weights = np.array([_n_pairs(parameter) for parameter in parameters])
    defined = ~np.isnan(values) & (weights > 0)
    if not defined.any():
        return math.nan
    return float(np.average(values[defined], weights=weights[defined]))


def _n_pairs(parameter: TableParameter) -> float:
    """Count the (positive, negative) pairs of rows that an area under a curve compares.

    If the parameter is not an area with two classes, the result is the number of rows.
    """
    classes = parameter.support.classes
    if len(classes) == 2:
        return math.prod(float(parameter.counts[cells].sum()) for cells in classes)
    return float(parameter.counts.sum())


def blocks_of_folds(
    parameters: Iterable[ParameterT],
) -> dict[ParameterLabels, list[ParameterT]]:
    """Group parameters that differ only in the fold.

    The keys of the result are the labels of a parameter without the fold, such as the
    model and the metric.
    """
    blocks: dict[ParameterLabels, list[ParameterT]] = {}
    for parameter in parameters:
        blocks.setdefault(parameter.key.without("subgroup"), []).append(parameter)
    return blocks


def estimate_folds(metric_set: MetricSet, sample: Sample) -> JointEstimate:
    """Estimate the metrics in each fold jointly, with folds as subgroups."""
    return metric_set.joint(map(compared_within_folds, metric_set.bind(sample)), sample)


def mean_over_folds(joint: JointEstimate) -> JointEstimate:
    """Estimate means over folds jointly, with variances computed within folds."""
    return mean_over_parts(joint, "these {} fold models", _WITHIN_FOLDS)


def compared_within_folds(parameter: ParameterT) -> ParameterT:
    """Add the reason why an area under a curve may be undefined in a fold.

    An area compares scores of both classes, and a fold may contain a single class.
    Parameters that are not areas are returned unchanged.
    """
    if not parameter.support.classes:
        return parameter
    trait = replace(parameter.trait, undefined_by=_NO_PAIR)
    return replace(parameter, trait=trait)


def mean_over_parts(
    joint: JointEstimate, target: str, resampling: str = ""
) -> JointEstimate:
    """Estimate means over subgroups jointly.

    The text `target` describes the mean in reports.
    """
    position = {parameter.key: k for k, parameter in enumerate(joint.parameters)}
    blocks = blocks_of_folds(joint.parameters)
    contrasts: list[Contrast] = [
        (key, {position[parameter.key]: 1 / len(block) for parameter in block})
        for key, block in blocks.items()
    ]
    estimand = f", of {joint.target.target}" if joint.target else ""
    target = target.format(max(map(len, blocks.values()))) + estimand
    mean = joint.contrast(contrasts)
    return replace(mean, target=Target(target, resampling))
