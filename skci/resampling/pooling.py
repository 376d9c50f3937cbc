"""Estimates from predictions of several models, each of test rows of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from skci._arrays import Array
from skci.data.sample import Sample
from skci.inference.contrasts import Contrast, contrast_estimate
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, Parameter, TableParameter
from skci.metrics._metric_set import MetricSet

_ROUNDING = 1e-9  # difference of equal values
_WEIGHTINGS = 8  # of rows, at which a metric is looked at for being linear
_MOST_TRUTHS = 1000  # distinct true values that are paired with all predictions

ParameterT = TypeVar("ParameterT", bound=Parameter)

_WITHIN_FOLDS = (
    "variance within folds, which is too small below about 1,000 rows or with unstable "
    "learners"
)
FOLD = "fold"
"""Name of the column of subgroups whose rows are predicted by one model."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of rows to test on, and the metrics to compute."""

    metric_set: MetricSet
    y: Array
    sample_weight: Array | None
    groups: Array | None
    labels: tuple[Any, ...]
    """Labels that there are, whether some rows have them or not."""
    pos_label: Any

    def sample(
        self,
        rows: Array,
        folds: Array | None,
        predicted: Mapping[str, Any],
        scores: Mapping[str, Any],
        by_rows: bool = False,
    ) -> Sample:
        """Read the predictions of some rows; folds are subgroups of the sample.

        Units of the sample are distinct outcomes if only labels are read, unless
        `by_rows`.
        """
        weights, groups = (
            None if column is None else column[rows]
            for column in (self.sample_weight, self.groups)
        )
        reader = self.metric_set.reader(
            self.y[rows],
            sample_weight=weights,
            groups=groups,
            by=None if folds is None else {FOLD: folds},
            by_rows=by_rows,
        )
        if self.labels:
            reader.know(self.labels)
            reader.pos_label = self.pos_label
        return reader.sample(predicted, scores or None)


def pooled_parameters(metric_set: MetricSet, sample: Sample) -> list[TableParameter]:
    """Bind the metrics to all rows of a sample, whatever their fold."""
    return list(metric_set.bind(replace(sample, subgroups=None)))


def pooled_values(metric_set: MetricSet, sample: Sample) -> dict[Key, float]:
    """Values of the metrics from all rows, by the keys of their parameters.

    Tables of labels and sums over rows add up over folds. Areas under curves compare
    rows, which scores of different models do not allow: they are means over folds,
    weighted by the number of pairs of one row of each label.
    """
    whole = replace(sample, subgroups=None)
    values: dict[Key, float] = {}
    for name in metric_set.metrics:
        pooled = list(metric_set.bind(whole, only=[name]))
        values |= {parameter.key: parameter.estimate for parameter in pooled}
        if sample.subgroups is not None and any(p.support.classes for p in pooled):
            by_fold = blocks_of_folds(metric_set.bind(sample, only=[name]))
            values |= {key: _mean_over_pairs(each) for key, each in by_fold.items()}
    return values


def _mean_over_pairs(parameters: Sequence[TableParameter]) -> float:
    """Mean of areas, weighted by the numbers of pairs of rows that they compare."""
    values = np.array([parameter.estimate for parameter in parameters])
    weights = np.array([_n_pairs(parameter) for parameter in parameters])
    defined = ~np.isnan(values) & (weights > 0)
    if not defined.any():
        return math.nan
    return float(np.average(values[defined], weights=weights[defined]))


def _n_pairs(parameter: TableParameter) -> float:
    """Number of pairs of one row of each label; of several areas, that of rows."""
    classes = parameter.support.classes
    if len(classes) == 2:
        return math.prod(float(parameter.counts[cells].sum()) for cells in classes)
    return float(parameter.counts.sum())


def blocks_of_folds(
    parameters: Iterable[ParameterT],
) -> dict[Key, list[ParameterT]]:
    """Parameters of each fold, by their key without the fold."""
    blocks: dict[Key, list[ParameterT]] = {}
    for parameter in parameters:
        blocks.setdefault(parameter.key.without("subgroup"), []).append(parameter)
    return blocks


class Losses(NamedTuple):
    """Losses of rows, whose weighted means are the values of K metrics."""

    values: Array
    """Loss of each row by metric, (K, n)."""
    weights: Array
    """Weights of the rows, (n,)."""
    units: Array
    """Number of the independent unit of each row, (n,)."""
    best: Array
    """Best values of the metrics, (K,)."""


def row_losses(truth: Truth, sample: Sample, rows: Array) -> Losses:
    """Losses of rows that are the units of a sample, as those of positive weight are.

    Those of other rows are zero.
    """
    n_rows, weights, units = len(truth.y), truth.sample_weight, truth.groups
    weights = (np.ones(n_rows) if weights is None else weights)[rows]
    units = (np.arange(n_rows) if units is None else units)[rows]
    parameters = pooled_parameters(truth.metric_set, sample)
    best = np.array([_best_value(parameter) for parameter in parameters])
    values = np.zeros((len(parameters), len(rows)))
    for k, parameter in enumerate(parameters):
        values[k, weights > 0] = _row_losses(parameter)
    return Losses(values, weights, units, best)


def _row_losses(parameter: TableParameter) -> Array:
    """Loss of each row, of a metric that is their mean: estimate plus influence."""
    counts = parameter.counts
    estimate, influence, _ = parameter.functional(counts / counts.sum())
    return np.append(estimate + influence, 0)[parameter.index]


def _best_value(parameter: TableParameter) -> float:
    return parameter.trait.bounds[parameter.trait.greater_is_better]


def metrics_without_losses(truth: Truth, n_scored: int, needs_best: bool) -> list[str]:
    """Names of the metrics that are no means over rows, whatever is predicted.

    And of those, if these are needed, that have no best value. Means are linear in the
    weights of the rows, here at random ones and for random predictions, with scores of
    so many labels.
    """
    rng, n_rows = np.random.default_rng(0), len(truth.y)
    reads, predicted = truth.metric_set.reads, rng.permutation(truth.y)
    if "numbers" in reads:  # positive ones where true ones are only nonnegative
        predicted = (predicted + predicted.mean(axis=0)) / 2
    probabilities = rng.dirichlet(np.ones(max(n_scored, 2)), n_rows)
    scores = probabilities[:, 0] if n_scored == 1 else probabilities
    columns = (
        {} if reads == {"scores"} else {"": predicted},
        {"": scores} if "scores" in reads else {},
    )
    weights = rng.standard_exponential((_WEIGHTINGS, n_rows)) ** 3
    weights /= weights.sum(axis=1, keepdims=True)
    values = []
    for each in (weights.mean(axis=0), *weights):
        weighted = replace(truth, sample_weight=each, groups=None)
        sample = weighted.sample(np.arange(n_rows), None, *columns)
        parameters = pooled_parameters(truth.metric_set, sample)
        values.append([parameter.estimate for parameter in parameters])
    of_mean, *others = np.array(values)
    rounding = _ROUNDING * np.abs(values).max(axis=0)
    is_mean = np.abs(np.mean(others, axis=0) - of_mean) <= rounding
    if needs_best:
        is_mean &= np.isfinite([_best_value(parameter) for parameter in parameters])
    names = [parameter.key.title for parameter in parameters]
    return [name for name, mean in zip(names, is_mean, strict=True) if not mean]


def values_without_information(metric_set: MetricSet, sample: Sample) -> Array:
    """Mean values of the metrics over all pairs of a true and a predicted value.

    True values are labels, or numbers, of which a thousand stand for more.
    """
    n_targets = len(sample.vocabulary.targets)
    has_numbers = bool(sample.numbers)
    truth = sample.truth if has_numbers else sample.codes[:, :n_targets]
    distinct, code = np.unique(truth, axis=0, return_inverse=True)
    weights = np.bincount(code.ravel(), sample.design.weights)
    chosen = np.unique(np.linspace(0, len(distinct) - 1, _MOST_TRUTHS).astype(int))
    total: Any = 0
    for k in chosen:
        changed = np.broadcast_to(distinct[k], truth.shape)
        if has_numbers:
            paired = replace(sample, truth=changed, subgroups=None)
        else:
            codes = np.concatenate([changed, sample.codes[:, n_targets:]], axis=1)
            paired = replace(sample, codes=codes, subgroups=None)
        estimates = [parameter.estimate for parameter in metric_set.bind(paired)]
        total = total + weights[k] * np.array(estimates)
    means: Array = total / weights[chosen].sum()
    return means


def moves_with_prevalence(parameter: TableParameter, sample: Sample) -> bool:
    """Whether a measure changes when the rows of one true label count more.

    The predictions of rows of each label stay as they are.
    """
    if not len(sample.codes) or sample.codes.shape[1] == 0:
        return False
    truth, weights = sample.codes[:, 0], sample.design.weights
    more = weights * np.where(truth == truth[0], 2.0, 1.0)
    values = []
    for each in (weights, more):
        table = np.bincount(parameter.index, each, parameter.size + 1)[:-1]
        values.append(parameter.functional.estimate(table / table.sum()))
    first, second = values
    return not np.allclose(first, second, _ROUNDING, _ROUNDING, equal_nan=True)


def mean_over_folds(metric_set: MetricSet, sample: Sample) -> JointEstimate:
    """Estimate means over folds, with influence values centred within folds."""
    joint = metric_set.estimate(sample)
    position = {parameter.key: k for k, parameter in enumerate(joint.parameters)}
    blocks = blocks_of_folds(joint.parameters)
    contrasts: list[Contrast] = [
        (key, {position[parameter.key]: 1 / len(block) for parameter in block})
        for key, block in blocks.items()
    ]
    n_folds = max(map(len, blocks.values()))
    target = Target(f"these {n_folds} fold models", _WITHIN_FOLDS)
    return replace(contrast_estimate(joint, contrasts), target=target)
