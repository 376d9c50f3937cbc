"""Data in which only some rows are labelled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skci._arrays import Array, dataclass
from skci._validation import (
    as_array,
    as_numbers,
    check_mutually_exclusive,
    is_null,
    join_names,
    named_columns,
)
from skci.data.frames import columns_of_data
from skci.data.row_options import RowOptions
from skci.data.rows import check_length, check_present, parameter_name
from skci.data.sample import Sample, Subgroups
from skci.inference.parameter import DEFAULT_MODEL

_MAX_RATIO = 1.5  # labels over expected labels, if whole clusters are labelled
FEWEST_LABELS = 10
"""Minimum number of labelled rows."""
PREDICTION = "prediction"
"""Value of the option `proxy` if labelling depends only on the prediction."""
_PROXY = "proxy"
_ALL_ROWS = "y_true (NaN or None where the truth is missing)"


@dataclass(frozen=True, eq=False)
class Columns:
    """Truth and predictions for data in which only some rows are labelled."""

    truth: Array
    """Truth, with an arbitrary label where it is missing."""
    labelled: Array
    predicted: Mapping[str, Any]
    scores: Mapping[str, Any]
    proxies: Mapping[str, Any]
    probability: Array | None
    by_prediction: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of all rows, and number of labelled rows."""
        return len(self.labelled), int(self.labelled.sum())


_MISSING, _KNOWN = (("truth", state) for state in ("missing", "known"))


@dataclass(frozen=True)
class Part:
    """Codes of the labelled rows, and codes of all rows, of one subgroup.

    Labelled and unlabelled rows of a subgroup have different codes. `labelled` contains
    the codes of the labelled rows, and `every` contains the codes of all rows. Without
    subgroups, the whole sample is treated as one subgroup.
    """

    subgroup: tuple[tuple[str, str], ...]
    labelled: frozenset[int]
    every: frozenset[int]

    @property
    def unions(self) -> list[frozenset[int]]:
        """Codes of the labelled rows, codes of all rows, and the union of both sets.

        A set that equals an earlier set is left out.
        """
        return [*dict.fromkeys([self.labelled, self.every, self.labelled | self.every])]


def parted(subgroups: Subgroups | None, labelled: Array) -> Subgroups:
    """Split each subgroup into its unlabelled and its labelled rows."""
    if subgroups is None:
        subgroups = Subgroups(np.zeros(len(labelled), dtype=int), ((),))
    states = _MISSING, _KNOWN
    names = tuple((*name, state) for name in subgroups.names for state in states)
    return Subgroups(2 * subgroups.codes + labelled, names)


def parts_of(subgroups: Subgroups, disjoint: bool = False) -> list[Part]:
    """Return the codes of labelled rows, and the codes of all rows, for each subgroup.

    Labelled and unlabelled rows of a subgroup have different codes. Pass
    ``disjoint=True`` if the unlabelled rows already contain a copy of each labelled
    row.
    """
    observed_codes = np.unique(subgroups.codes).tolist()
    codes = {subgroups.names[code]: frozenset({code}) for code in observed_codes}
    parts = []
    for name in dict.fromkeys(name[:-1] for name in subgroups.names):
        unlabelled, labelled = (
            codes.get((*name, state), frozenset[int]()) for state in (_MISSING, _KNOWN)
        )
        parts.append(
            Part(name, labelled, unlabelled if disjoint else labelled | unlabelled)
        )
    return parts


def parts_by_truth(sample: Sample, disjoint: bool = False) -> list[Part]:
    """Return the result of `parts_of`, and check that subgroups have labelled rows."""
    assert sample.subgroups is not None
    parts = parts_of(sample.subgroups, disjoint)
    for part in parts:
        if not part.labelled:
            where = ", ".join(f"{column} = {x}" for column, x in part.subgroup)
            raise ValueError(
                f"y_true must have at least one label in the subgroup {where}, got none"
            )
    return parts


def are_labelled(sample: Sample) -> Array:
    """Return a mask of the units with a label.

    A unit is a row, or a set of identical rows.
    """
    assert sample.subgroups is not None
    is_labelled = [name[-1] == _KNOWN for name in sample.subgroups.names]
    return np.array(is_labelled)[sample.subgroups.codes]


def sizes_of(sample: Sample) -> tuple[int, int]:
    """Return the total number of rows and the number of labelled rows."""
    return sample.rows.n_samples, sample.rows.n_rows(are_labelled(sample))


def check_enough(n_rows: int, n_labelled: int) -> None:
    """Check that enough rows are labelled."""
    if n_labelled < FEWEST_LABELS:
        raise ValueError(
            f"y_true must have at least {FEWEST_LABELS} labels, got {n_labelled} "
            f"in {n_rows} rows"
        )


def describe(rows: Columns | Sample, sizes: tuple[int, int]) -> str:
    """Return a text such as "900 rows, 100 of them labelled, with a proxy"."""
    proxies = [*(rows.proxies or ())]
    if proxies == [_PROXY]:
        description = ", with a proxy"
    elif proxies:
        kind = "proxy" if len(proxies) == 1 else "proxies"
        description = f", with the {kind} {join_names(proxies)}"
    elif rows.by_prediction:
        description = " depending on the prediction"
    else:
        description = " with known probabilities"
    return f"{sizes[0]} rows, {sizes[1]} of them labelled{description}"


def read_columns(
    columns: Mapping[str, Any], rows: RowOptions, data: Any
) -> tuple[Columns, RowOptions]:
    """Read the labelled and unlabelled rows from arrays or from columns of `data`."""
    columns, proxy = dict(columns), columns["proxy"]
    if rows.query is not None:
        excluded = {name: columns.get(name) for name in ("proxy", "label_probability")}
        remedy = "; pass a grade for each query, and a proxy, to grades_report"
        check_mutually_exclusive("query", excluded, remedy)
    by_prediction = isinstance(proxy, str) and proxy == PREDICTION
    if by_prediction:
        columns["proxy"] = None
    columns, rows = columns_of_data(data, columns, rows, missing=["y_true"])
    if isinstance(columns["proxy"], str):
        raise TypeError(
            f"proxy must be an array, or {PREDICTION!r} if labelling depends only on "
            f"the prediction, got {proxy!r}; to name a column of a data frame, also "
            "pass the data frame as data="
        )
    proxies = _named(columns["proxy"], "proxy", _PROXY)
    predicted = _named(columns["y_pred"], "y_pred", DEFAULT_MODEL)
    scores = _named(columns["y_score"], "y_score", DEFAULT_MODEL)
    probability = columns.get("label_probability")
    if by_prediction:
        check_mutually_exclusive(
            f"proxy={PREDICTION!r}", {"label_probability": probability}
        )
    if duplicates := set(proxies) & {*predicted, *scores}:
        raise ValueError(
            "proxy must have names that differ from the model names, got "
            f"{join_names([*duplicates])}"
        )
    filling = predicted if by_prediction else proxies
    truth, labelled = _filled(columns["y_true"], filling, by_prediction)
    if probability is not None:
        probability = _checked_probability(probability, labelled)
    values = truth, labelled, predicted, scores, proxies, probability, by_prediction
    return Columns(*values), rows


def _named(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Return a dict of columns by name, which is empty if `values` is None."""
    return {} if values is None else named_columns(values, parameter, name)


def _filled(
    y_true: Any, columns: Mapping[str, Any], by_prediction: bool
) -> tuple[Array, Array]:
    """Replace missing labels, and return a mask of the labelled rows.

    By default, the first label in `y_true` replaces all missing labels. If labelling
    depends on the prediction, or if no row is labelled, a missing label is replaced by
    the label in the same row of the first column in `columns`.
    """
    truth = as_array(y_true, "y_true", "an array of labels, some of them missing")
    if truth.ndim != 1:
        raise ValueError(
            "y_true must have one dimension if labels are missing, got shape "
            f"{truth.shape}"
        )
    entries = truth.tolist()
    labelled = np.array([not is_null(entry) for entry in entries], dtype=bool)
    read = []
    for name, values in columns.items():
        parameter = parameter_name(name, "y_pred" if by_prediction else _PROXY)
        read.append(as_array(values, parameter, "an array of labels"))
        check_length(read[-1], len(entries), parameter, _ALL_ROWS)
        check_present(read[-1].ravel().tolist(), parameter, "have a value in every row")
    if read and (by_prediction or not labelled.any()):
        fillers = read[0].tolist()
    else:
        fillers = [entries[int(labelled.argmax())]] * len(entries) if entries else []
    pairs = zip(entries, labelled, fillers, strict=True)
    filled = [entry if is_known else filler for entry, is_known, filler in pairs]
    return as_array(filled, "y_true", "labels"), labelled


def _checked_probability(label_probability: Any, labelled: Array) -> Array:
    """Check the probabilities with which rows were selected for labelling."""
    probability = as_numbers(label_probability, "label_probability")
    check_length(probability, len(labelled), "label_probability", "y_true")
    if probability.ndim != 1 or not ((probability > 0) & (probability <= 1)).all():
        low, high = probability.min(), probability.max()
        raise ValueError(
            "label_probability must contain a number above 0 and up to 1 for each row, "
            f"got shape {probability.shape} and values from {low} to {high}"
        )
    certain = (probability == 1) & ~labelled
    if certain.any():
        raise ValueError(
            "label_probability must be below 1 where y_true is missing, got 1 in row "
            f"{int(certain.argmax())}"
        )
    expected, n_labels = float(probability.sum()), int(labelled.sum())
    spread = 5 * math.sqrt(float(probability @ (1 - probability)))
    low, high = expected - spread, _MAX_RATIO**2 * (expected + spread)
    if not low <= _MAX_RATIO * n_labels <= high:
        raise ValueError(
            "label_probability must add up to about the number of labels, got the sum "
            f"{expected:.4g} and {n_labels} labels"
        )
    return probability
