"""Metrics of labels where whether a row was labelled depends on its prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.data.partial_truth import PREDICTION, Part, PartlyLabelledSample
from skci.data.sample import Sample
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.parameter import MAX_ENUMERATED_CELLS, CellMap, TableParameter
from skci.measures.functional import Component
from skci.measures.partly_verified import PartlyVerified
from skci.metrics._metric_set import MetricSet
from skci.metrics._proxies import AUTOMATIC, method_for

_FEW = 5  # labelled rows of a stratum
_MOST_OF_FEW = 0.1  # share of all rows that may be of strata of few


def bind_verified(
    metric_set: MetricSet, sample: PartlyLabelledSample, parts: Sequence[Part]
) -> list[TableParameter]:
    """Bind metrics to all rows, whose labelling depends on their predictions alone."""
    strata, stratum = distinct_rows(sample.codes[:, 1:].astype(int))
    for part in parts:
        _check_strata(sample, stratum, strata, part)
    codes = np.column_stack([sample.codes, stratum, sample.are_labelled]).astype(int)
    subgroups = {part.every: part.subgroup for part in parts}
    parameters = []
    for parameter in metric_set.bind(sample, parts=subgroups):
        cell_map = parameter.cell_map
        if cell_map is None or cell_map.subgroups is None:
            raise ValueError(
                f"{parameter.key.metric} must be of labels of one target with "
                f"proxy={PREDICTION!r}"
            )
        key = replace(parameter.key, subgroup=subgroups[cell_map.subgroups])
        found = _of_strata(parameter, cell_map, sample, codes, strata)
        parameters.append(replace(found, key=key))
    return parameters


def _check_strata(
    sample: PartlyLabelledSample, stratum: Array, strata: Array, part: Part
) -> None:
    """Check that rows of each prediction were labelled, and warn of few of many."""
    counts = sample.rows.frequencies * sample.within(part.every)
    sizes, labelled = (
        np.bincount(stratum, each, len(strata))
        for each in (counts, counts * sample.are_labelled)
    )
    missing = (sizes > 0) & (labelled == 0)
    if not missing.any():
        share = sizes[labelled < _FEW].sum() / sizes.sum()
        if share > _MOST_OF_FEW:
            warn_caller(
                f"fewer than {_FEW} rows are labelled of predictions, or combinations "
                f"of those of the models, that {share:.0%} of the rows have: intervals "
                "may be too narrow; report on fewer models or labels at a time",
                SmallSampleWarning,
            )
        return
    labels = [*map(str, sample.vocabulary.labels), "no answer"]
    first = strata[missing.argmax()].tolist()
    predictions = ", ".join(labels[code] for code in first)
    where = "".join(f" in {column} = {name}" for column, name in part.subgroup)
    raise ValueError(
        f"y_true must have labels of rows of each prediction with proxy={PREDICTION!r},"
        f" got none of those predicted as {predictions}{where}"
    )


def _of_strata(
    parameter: TableParameter,
    cell_map: CellMap,
    sample: Sample,
    codes: Array,
    strata: Array,
) -> TableParameter:
    """Correct a parameter of labels for the strata of its labelled rows."""
    truths = sample.occurring
    n_truths, n_strata = len(truths), len(strata)
    answers = strata[:, cell_map.columns[1] - 1]
    plain = replace(cell_map, subgroups=None)
    cells = plain(np.repeat(truths, n_strata), np.tile(answers, n_truths))
    m = n_truths * n_strata
    functional = PartlyVerified(
        Component(parameter.functional, cells.astype(int), cell_map.size),
        np.tile(np.arange(n_strata), n_truths),
    )
    size = m + n_strata
    symbols = np.full(len(sample.vocabulary.labels), -1)
    symbols[truths] = np.arange(n_truths)
    table = np.empty((n_truths, n_strata, 2), dtype=int)
    table[..., 1] = np.arange(m).reshape(n_truths, n_strata)
    table[..., 0] = m + np.arange(n_strata)
    n_columns = codes.shape[1]
    of_strata = CellMap(
        (0, n_columns - 2, n_columns - 1),
        (symbols, np.arange(n_strata), np.arange(2)),
        table,
        size,
        cell_map.subgroups,
    )
    index = of_strata(codes[:, 0], codes[:, -2], codes[:, -1])
    index[~sample.within(cell_map.subgroups)] = size
    smooth = parameter.trait.smooth and size <= MAX_ENUMERATED_CELLS
    trait = replace(
        parameter.trait.of_classes(parameter.trait.name),
        smooth=smooth,
        blurs=False,
        automatic=AUTOMATIC,
    )
    return replace(
        parameter,
        functional=functional,
        trait=trait,
        method=method_for(parameter, trait),
        counts=np.bincount(index, sample.rows.counts, size + 1)[:size],
        index=index,
        smoothing=2 / size,
        cell_map=of_strata if smooth else None,
        extremes=None,
        extension=(0.0, 0.0),
    )
