"""Metrics of labels at points of scores: at thresholds, or in bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.data.reading import check_both_labels
from skci.data.sample import Sample
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_MODEL
from skci.metrics._metric_set import MetricSet


class Points(NamedTuple):
    """P points of the scores of a model, each of which makes it a classifier."""

    names: Sequence[str]
    levels: Array
    """Level of the score of each row, from 0 on, shape (n,)."""
    is_positive: Array
    """Whether rows of each of L levels are predicted positive at each point, (L, P)."""


def estimate_at_points(
    metric_set: MetricSet, scored: Sample, column: str, points: Mapping[str, Points]
) -> JointEstimate:
    """Estimate metrics of labels jointly at points of each model, by name.

    Keys are those of models named by their points if there is one model, which has no
    name, and else of the models, with the point in a column beside them.
    """
    check_both_labels(scored)
    alone = list(points) == [DEFAULT_MODEL]
    rows, design = scored.rows, scored.design
    outcomes = np.stack(
        [scored.codes[:, 0], *(each.levels for each in points.values())], axis=1
    )
    if design.counts_suffice:
        strata = [] if design.strata is None else [design.strata]
        outcomes, unit = distinct_rows(np.column_stack([outcomes, *strata]))
        rows, design = rows.regrouped(unit, len(outcomes)), design.regrouped(unit)
    truth, *levels = outcomes[:, : len(points) + 1].T
    columns = [truth[:, np.newaxis].astype(bool)]
    keys: dict[str, dict[str, Any]] = {}
    for (model, each), level in zip(points.items(), levels, strict=True):
        columns.append(each.is_positive[level])
        for name in each.names:
            key = {"model": model, "subgroup": ((column, name),)}
            keys[str(len(keys))] = {"model": name, "factor": column} if alone else key
    codes = np.concatenate(columns, axis=1)
    sample = Sample(rows, design, scored.vocabulary, codes, tuple(keys))
    return metric_set.estimate(sample, keys)
