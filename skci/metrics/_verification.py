"""Metrics of labels where whether a row was labelled depends on its prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.data.partial_truth import PREDICTION, Part
from skci.data.sample import Sample
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.parameter import MAX_ENUMERATED_CELLS, CellMap, TableParameter
from skci.measures.functional import Component
from skci.measures.partly_verified import PartlyVerified
from skci.metrics._labelled_parts import AUTOMATIC, bindings, method_for
from skci.metrics._metric_set import MetricSet

_FEW = 5  # labelled rows of a stratum
_MOST_OF_FEW = 0.1  # share of all rows that may be of strata of few


def bind_verified(
    metric_set: MetricSet, sample: Sample, parts: Sequence[Part]
) -> list[TableParameter]:
    """Bind metrics to all rows, whose labelling depends on their predictions alone."""
    strata, stratum = distinct_rows(sample.codes[:, 1:].astype(int))
    columns = [sample.codes.astype(int), stratum[:, np.newaxis]]
    columns.append(np.zeros((len(stratum), 1), dtype=int))
    codes = np.concatenate(columns, axis=1)
    assert sample.subgroups is not None
    parameters = []
    for bind, part in bindings(metric_set, sample, parts):
        codes[:, -1] = sample.within(part.labelled)
        inside = sample.within(part.every)
        _check_strata(sample, codes, strata, inside, part)
        for parameter in bind(sample, part.every):
            key = replace(parameter.key, subgroup=part.subgroup)
            found = _of_strata(parameter, sample, codes, strata, inside, part)
            parameters.append(replace(found, key=key))
    return parameters


def _check_strata(
    sample: Sample, codes: Array, strata: Array, inside: Array, part: Part
) -> None:
    """Check that rows of each prediction were labelled, and warn of few of many."""
    counts = sample.rows.frequencies * inside
    sizes, labelled = (
        np.bincount(codes[:, -2], each, len(strata))
        for each in (counts, counts * (codes[:, -1] > 0))
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
    sample: Sample,
    codes: Array,
    strata: Array,
    inside: Array,
    part: Part,
) -> TableParameter:
    """Correct a parameter of labels for the strata of its labelled rows."""
    cell_map = parameter.cell_map
    if cell_map is None:
        raise ValueError(
            f"{parameter.key.metric} must be of labels of one target with "
            f"proxy={PREDICTION!r}"
        )
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
        part.every,
    )
    index = of_strata(codes[:, 0], codes[:, -2], codes[:, -1])
    index[~inside] = size
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
