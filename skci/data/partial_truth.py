"""Columns of partially labelled rows: reading and checking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_array,
    as_numbers,
    is_null,
    join_names,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.rows import check_length, check_present
from skci.inference.parameter import DEFAULT_MODEL

FEWEST_LABELS = 10
"""Fewest rows with a truth."""
PREDICTION = "prediction"
"""Proxy of a truth that rows have, or have not, by their prediction alone."""
_PROXY = "proxy"


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of all rows, and which of them have a truth."""

    truth: Array
    """With that of another column where it is missing."""
    labelled: Array
    predicted: Mapping[str, Any]
    scores: Mapping[str, Any]
    proxies: Mapping[str, Any]
    probability: Array | None
    by_prediction: bool

    def sizes(self, counts: Any = None) -> tuple[int, int]:
        """Number of rows, and of those with a truth, if they occur `counts` times."""
        if counts is None:
            return len(self.labelled), int(self.labelled.sum())
        counts = as_numbers(counts, "counts")
        check_length(counts, len(self.labelled), "counts", "y_true")
        return int(counts.sum()), int(counts[self.labelled].sum())

    def check_enough(self, counts: Any = None) -> None:
        """Check that enough rows have a truth."""
        n_rows, n_labelled = self.sizes(counts)
        if n_labelled < FEWEST_LABELS:
            raise ValueError(
                f"y_true must have at least {FEWEST_LABELS} labels, got {n_labelled} "
                f"in {n_rows} rows"
            )

    def description(self, counts: Any = None) -> str:
        """Say how many rows have a truth, and what stands for that of the others."""
        n_rows, n_labelled = self.sizes(counts)
        names = [*self.proxies]
        if names == [_PROXY]:
            others = ", with a proxy"
        elif names:
            others = f", with the {'proxy' if len(names) == 1 else 'proxies'} "
            others += join_names(names)
        elif self.by_prediction:
            others = " depending on the prediction"
        else:
            others = " with known probabilities"
        return f"{n_rows} rows, {n_labelled} of them labelled{others}"


def read_columns(
    columns: Mapping[str, Any], rows: RowOptions, data: Any
) -> tuple[Columns, RowOptions]:
    """Read what is given row by row, or the columns of `data` that it names."""
    columns, given = dict(columns), columns["proxy"]
    by_prediction = isinstance(given, str) and given == PREDICTION
    if by_prediction:
        columns["proxy"] = None
    if data is not None:
        frame = Frame(data, columns | rows.columns)
        read = frame.read({"numbers"}, rows, missing=["y_true"])
        columns = {name: read.pop(name) for name in columns}
        rows = rows.with_columns(read)
    elif isinstance(columns["proxy"], str):
        raise TypeError(
            f"proxy must be an array, or {PREDICTION!r} where labelling depends on the "
            f"prediction alone, got {given!r}; to name columns of a data frame, give "
            "it as data="
        )
    proxies = _named(columns["proxy"], "proxy", _PROXY)
    predicted = _named(columns["y_pred"], "y_pred", DEFAULT_MODEL)
    scores = _named(columns["y_score"], "y_score", DEFAULT_MODEL)
    probability = columns["label_probability"]
    if by_prediction and probability is not None:
        raise ValueError(
            f"label_probability must not be given with proxy={PREDICTION!r}"
        )
    if taken := set(proxies) & {*predicted, *scores}:
        raise ValueError(
            f"proxy must have other names than the models, got {join_names([*taken])}"
        )
    filling = predicted if by_prediction else proxies
    truth, labelled = _filled(columns["y_true"], filling, by_prediction)
    if probability is not None:
        probability = _checked_probability(probability, len(labelled))
    found = truth, labelled, predicted, scores, proxies, probability, by_prediction
    return Columns(*found), rows


def _named(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Columns by name; none if not given."""
    return {} if values is None else named_columns(values, parameter, name)


def _filled(
    y_true: Any, columns: Mapping[str, Any], by_prediction: bool
) -> tuple[Array, Array]:
    """Truth with the first of some columns where it is missing, and which rows have it.

    Without columns it is that of any row that has one.
    """
    truth = as_array(y_true, "y_true", "an array of labels, some of them missing")
    if truth.ndim != 1:
        raise ValueError(
            "y_true must have one dimension where some of it is missing, got shape "
            f"{truth.shape}"
        )
    entries = truth.tolist()
    labelled = np.array([not is_null(entry) for entry in entries], dtype=bool)
    parameter = "y_pred" if by_prediction else "proxy"
    read = []
    for name, values in columns.items():
        named = f"{parameter}[{name!r}]"
        read.append(as_array(values, named, "an array of labels"))
        check_length(read[-1], len(entries), named, "y_true")
        check_present(
            read[-1].ravel().tolist(), f"{named} must have a value in every row"
        )
    if read:
        others = read[0].tolist()
    else:
        others = [entries[int(labelled.argmax())]] * len(entries) if entries else []
    pairs = zip(entries, labelled, others, strict=True)
    filled = [entry if known else other for entry, known, other in pairs]
    return as_array(filled, "y_true", "labels"), labelled


def _checked_probability(label_probability: Any, n_rows: int) -> Array:
    """Check the probabilities with which rows were labelled."""
    probability = as_numbers(label_probability, "label_probability")
    check_length(probability, n_rows, "label_probability", "y_true")
    if probability.ndim != 1 or not ((probability > 0) & (probability <= 1)).all():
        got = probability.shape if probability.ndim != 1 else probability.min()
        if probability.ndim == 1 and probability.min() > 0:
            got = probability.max()
        raise ValueError(
            "label_probability must hold a number above 0 and up to 1 for each row, "
            f"got {got}"
        )
    return probability
