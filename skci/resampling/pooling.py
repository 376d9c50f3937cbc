"""Estimates from predictions of several models, each of test rows of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.sample import Sample
from skci.inference.contrasts import Contrast, contrast_estimate
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, TableParameter
from skci.metrics._metric_set import MetricSet

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
    pooled = pooled_parameters(metric_set, sample)
    values = {parameter.key: parameter.estimate for parameter in pooled}
    compared = [p.key for p in pooled if p.support.classes]
    if compared and sample.subgroups is not None:
        by_fold = blocks_of_folds(list(metric_set.bind(sample)))
        values |= {key: _mean_over_pairs(by_fold[key]) for key in compared}
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
    parameters: Sequence[TableParameter],
) -> dict[Key, list[TableParameter]]:
    """Parameters of each fold, by their key without the fold."""
    blocks: dict[Key, list[TableParameter]] = {}
    for parameter in parameters:
        blocks.setdefault(parameter.key.without("subgroup"), []).append(parameter)
    return blocks


def mean_over_folds(metric_set: MetricSet, sample: Sample) -> JointEstimate:
    """Estimate means over folds, with influence values centred within folds."""
    joint = metric_set.estimate(sample)
    blocks: dict[Key, list[int]] = {}
    for k, parameter in enumerate(joint.parameters):
        blocks.setdefault(parameter.key.without("subgroup"), []).append(k)
    contrasts: list[Contrast] = [
        (key, dict.fromkeys(block, 1 / len(block))) for key, block in blocks.items()
    ]
    n_folds = max(map(len, blocks.values()))
    target = Target(f"these {n_folds} fold models", "within folds")
    return replace(contrast_estimate(joint, contrasts), target=target)
