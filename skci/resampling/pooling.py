"""Estimates from predictions of several models, each of test rows of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from skci._arrays import Array
from skci.data.sample import Sample
from skci.inference.contrasts import Contrast, contrast_estimate
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, Parameter, TableParameter
from skci.metrics._metric_set import MetricSet

_ROUNDING = 1e-9  # difference of equal values

ParameterT = TypeVar("ParameterT", bound=Parameter)

FOLD = "fold"
"""Name of the column of subgroups whose rows are predicted by one model."""


@dataclass(frozen=True, eq=False)
class HeldOut:
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
    ) -> Sample:
        """Read the predictions of some rows; folds are subgroups of the sample."""
        weights, groups = (
            None if column is None else column[rows]
            for column in (self.sample_weight, self.groups)
        )
        reader = self.metric_set.reader(
            self.y[rows],
            sample_weight=weights,
            groups=groups,
            by=None if folds is None else {FOLD: folds},
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
    target = Target(f"these {n_folds} fold models", "within folds")
    return replace(contrast_estimate(joint, contrasts), target=target)
