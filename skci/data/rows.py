"""All checking of what is given row by row: numbers, weights, groups, subgroups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._validation import named_pairs
from skci.data.sample import Subgroups
from skci.inference.design import Design
from skci.inference.parameter import DEFAULT_RULE

__all__ = [
    "RowAttributes",
    "as_column",
    "check_columns",
    "check_distributions",
    "check_length",
    "check_numbers",
    "check_probabilities",
    "check_rows",
    "is_missing",
    "label_name",
    "score_name",
]


_LABEL_KINDS = "biufOUT"
"""Kinds of dtype that may hold labels: numbers, objects, text of either kind."""


def as_column(values: Any, name: str) -> Array:
    """Make a one-dimensional array of a list, an array or a series."""
    if not isinstance(values, np.ndarray):
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise TypeError(
                f"{name} must be a one-dimensional array of labels, "
                f"got {type(values).__name__}"
            )
        values = values.to_numpy() if hasattr(values, "to_numpy") else values
        values = _from_sequence(values, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        targets = "; several targets need averages, as f1_macro"
        raise ValueError(
            f"{name} must be a one-dimensional array of labels, got an array of shape "
            f"{values.shape}{targets if values.ndim == 2 else ''}"
        )
    if values.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            f"{name} must hold labels that are numbers, booleans or strings, "
            f"got dtype {values.dtype}"
        )
    column: Array = values.astype(object) if values.dtype.kind == "T" else values
    return column


def _from_sequence(values: Any, name: str) -> Array:
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(
            f"{name} must be a one-dimensional array of labels, "
            f"got nested sequences: {error}"
        ) from error
    if array.dtype.kind == "U":  # numbers and NaN among strings would become strings
        array = np.asarray(values, dtype=object)
    return array


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for none."""
    if isinstance(value, Real):
        return not math.isfinite(value)
    if isinstance(value, np.bool_):
        return False
    # Of the others, NaT and pandas' NA are not surely equal to themselves.
    return value is None or (value == value) is not True


def check_length(values: Array, n: int, name: str, truth: str) -> None:
    """Check that there is an entry for each row."""
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}"
        )


def check_numbers(
    values: Any, name: str, n: int | None = None, truth: str = "y_true"
) -> Array:
    """Check finite numbers, one a row."""
    scores = _as_floats(values, name)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if n is None and (scores.ndim != 1 or not len(scores)):
        raise ValueError(
            f"{name} must hold at least one number and have one dimension, got shape "
            f"{scores.shape}"
        )
    if scores.ndim == 2 and len(scores) == n:
        raise ValueError(
            f"{name} must be one column, such as predict_proba(X)[:, 1], got shape "
            f"{scores.shape}"
        )
    check_length(scores, len(scores) if n is None else n, name, truth)
    return _finite(scores, name)


def check_columns(values: Any, name: str, n: int, labels: Sequence[Any]) -> Array:
    """Check finite numbers, a column for each label."""
    scores = _as_floats(values, name)
    if scores.shape != (n, len(labels)):
        raise ValueError(
            f"{name} must have a row for each of the {n} rows and a column for each of "
            f"the labels {list(labels)}, got shape {scores.shape}; labels= of a metric "
            "names those that do not occur"
        )
    return _finite(scores, name)


def _as_floats(values: Any, name: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from error


def _finite(scores: Array, name: str) -> Array:
    if not np.isfinite(scores).all():
        raise ValueError(
            f"{name} must hold finite numbers, got missing or infinite ones"
        )
    return scores


def check_distributions(scores: Array, rule: str, metric: str) -> None:
    """Check that the probabilities of all labels add up to 1."""
    totals = scores.sum(axis=1)
    worst = totals[np.abs(totals - 1).argmax()]
    if abs(worst - 1) > _NOT_ONE:
        raise ValueError(
            f"{score_name(rule)} must hold probabilities of all labels for "
            f"{metric!r}, got a row that adds up to {worst:g}"
        )


_NOT_ONE = 1e-3
"""How far the probabilities of all labels may be from 1 in all."""


def check_probabilities(scores: Array, rule: str, metric: str) -> None:
    """Check that scores are probabilities."""
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{score_name(rule)} must hold probabilities for {metric!r}, got "
            f"values from {scores.min():g} to {scores.max():g}"
        )


def label_name(rule: str) -> str:
    """Name of the predictions of a rule in messages, as they were passed."""
    return "y_pred" if rule in ("", DEFAULT_RULE) else f"y_pred[{rule!r}]"


def score_name(rule: str) -> str:
    """Name of the scores of a rule in messages, as they were passed."""
    return "y_score" if rule in ("", DEFAULT_RULE) else f"y_score[{rule!r}]"


@dataclass(frozen=True, eq=False)
class RowAttributes:
    """Weights, clusters and subgroups of rows.

    Parameters
    ----------
    kept : slice or bool array of shape (n,)
        Which rows have a positive weight; the others are left out.
    weights : array, optional
        Weights of the rows that are kept, as given.
    groups : (array, int array), optional
        Names of the clusters, and the number of that of each row kept.
    subgroups : Subgroups, optional
        Subgroup of each row kept.
    """

    kept: Any
    weights: Array | None = None
    groups: tuple[Array, Array] | None = None
    subgroups: Subgroups | None = None

    @property
    def are_plain(self) -> bool:
        """Whether there are none of them."""
        return self.weights is None and self.groups is None and self.subgroups is None

    def design(self, unit: Array, n_units: int) -> Design:
        """Design of units that consist of some of the rows."""
        return Design.of_units(unit, n_units, self.weights, self.groups)


def check_rows(
    sample_weight: Any, groups: Any, by: Any, n: int, truth: str
) -> RowAttributes:
    """Check weights, clusters and subgroups of n rows."""
    kept: Any = slice(None)
    weights = None
    if sample_weight is not None:
        try:
            weights = np.asarray(sample_weight, dtype=float)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"sample_weight must hold numbers, got {sample_weight!r}"
            ) from error
        check_length(weights, n, "sample_weight", truth)
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(
                "sample_weight must hold finite numbers, none negative and not all "
                f"zero, got values from {weights.min()} to {weights.max()}"
            )
        if not weights.all():
            kept = weights > 0
            weights = weights[kept]
    clusters = None if groups is None else _check_groups(groups, n, truth, kept)
    subgroups = None if by is None else _check_subgroups(by, n, truth, kept)
    return RowAttributes(kept, weights, clusters, subgroups)


def _check_groups(groups: Any, n: int, truth: str, kept: Any) -> tuple[Array, Array]:
    """Names of clusters, and the number of that of each row."""
    column = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    check_length(column, n, "groups", truth)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ValueError("groups must name a group in every row, got NaN")
    if column.dtype.kind == "O":
        missing = [value for value in column.tolist() if is_missing(value)]
        if missing:
            raise ValueError(f"groups must name a group in every row, got {missing[0]}")
    try:
        keys, numbers = np.unique(column[kept], return_inverse=True)
    except TypeError as error:
        raise TypeError(f"groups must hold names of one type: {error}") from error
    return keys, numbers.ravel()


def _check_subgroups(by: Any, n: int, truth: str, kept: Any) -> Subgroups:
    """Subgroups of rows by a column, or by several with their names."""
    columns = _named_columns(by)
    numbers, levels = [], []
    for name, values in columns.items():
        column = as_column(values, f"by[{name!r}]" if len(columns) > 1 else "by")
        check_length(column, n, "by", truth)
        missing = [value for value in column.tolist() if is_missing(value)]
        if missing:
            raise ValueError(f"by must name a subgroup in every row, got {missing[0]}")
        try:
            names, number = np.unique(column, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"by must hold names of one type: {error}") from error
        numbers.append(number.ravel())
        levels.append(names.tolist())
    found, codes = distinct_rows(np.stack(numbers, axis=1))
    if len(found) > _MOST_SUBGROUPS:
        raise ValueError(
            f"by must part the rows in at most {_MOST_SUBGROUPS} subgroups, got "
            f"{len(found)}; cut numbers into intervals first"
        )
    names_of = tuple(
        tuple(
            (name, str(level[k]))
            for name, level, k in zip(columns, levels, row, strict=True)
        )
        for row in found.tolist()
    )
    return Subgroups(codes[kept], names_of)


_MOST_SUBGROUPS = 100


def _named_columns(by: Any) -> dict[str, Any]:
    """Columns by their names; a single one has its own or none."""
    if isinstance(by, Mapping) or _is_pairs(by):
        columns = dict(named_pairs(by, "by"))
    elif hasattr(by, "columns"):
        columns = {str(name): by[name] for name in by.columns}
    else:
        columns = {str(getattr(by, "name", None) or "subgroup"): by}
    taken = _TAKEN & set(columns)
    if taken or not columns:
        raise ValueError(
            "by must have a column or more, of other names than those of a report, got "
            f"{list(columns)}"
        )
    return columns


def _is_pairs(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and isinstance(values[0], tuple)


_TAKEN = {"rule", "metric", "first", "second", "contrast", "rules", "metrics"}
_TAKEN |= {"estimate", "low", "high", "standard_error", "individual_low"}
_TAKEN |= {"individual_high", "design_effect", "method", "pvalue"}
"""Names that columns of a report have already."""
