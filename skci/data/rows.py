"""All checking of what is given row by row: numbers, weights, groups, subgroups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skci._typing import Array
from skci._validation import named_pairs
from skci.inference.parameter import ONE_RULE, OWN_LABELS

__all__ = [
    "Subgroups",
    "as_column",
    "check_columns",
    "check_distributions",
    "check_length",
    "check_numbers",
    "check_probabilities",
    "check_rows",
    "check_subgroups",
    "is_missing",
    "scores_in_messages",
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
            f"{scores_in_messages(rule)} must hold probabilities of all labels for "
            f"{metric!r}, got a row that adds up to {worst:g}"
        )


_NOT_ONE = 1e-3
"""How far the probabilities of all labels may be from 1 in all."""


def check_probabilities(scores: Array, rule: str, metric: str) -> None:
    """Check that scores are probabilities."""
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{scores_in_messages(rule)} must hold probabilities for {metric!r}, got "
            f"values from {scores.min():g} to {scores.max():g}"
        )


def scores_in_messages(rule: str) -> str:
    """Name the scores of a rule as they were passed."""
    return "y_score" if rule in ("", ONE_RULE) else f"y_score[{rule!r}]"


def check_rows(
    sample_weight: Any, groups: Any, n: int, truth: str
) -> tuple[Array | None, Array | None, Any]:
    """Check what rows weigh and which belong together.

    Returns
    -------
    weights : array or None
        Of the rows that weigh something, adding up to their number; None if all weigh
        the same.
    groups : int array or None
        A number from 0 on for each group.
    kept : slice or bool array
        Which rows weigh something.
    """
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
        kept = weights > 0
        weights = weights[kept]
        weights = weights * (len(weights) / weights.sum())
        if np.ptp(weights) <= _SAME_WEIGHT:
            weights = None
        if kept.all():
            kept = slice(None)
    if groups is None:
        return weights, None, kept
    column = groups.to_numpy() if hasattr(groups, "to_numpy") else groups
    column = np.asarray(column)
    check_length(column, n, "groups", truth)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ValueError("groups must name a group in every row, got NaN")
    if column.dtype.kind == "O":
        missing = [value for value in column.tolist() if is_missing(value)]
        if missing:
            raise ValueError(f"groups must name a group in every row, got {missing[0]}")
    try:
        _, numbers = np.unique(column[kept], return_inverse=True)
    except TypeError as error:
        raise TypeError(f"groups must hold names of one type: {error}") from error
    return weights, numbers.ravel(), kept


_SAME_WEIGHT = 1e-12
"""Relative difference of weights that are equal but for rounding."""


class Subgroups(NamedTuple):
    """Which rows are in which subgroup."""

    codes: Array
    """Number of the subgroup of each row, shape (n,)."""
    labels: list[dict[str, str]]
    """Names of each subgroup, by what they are names of."""


def check_subgroups(by: Any, y_true: Any, truth: str) -> Subgroups:
    """Check what parts the rows in subgroups: a column, or several by their names."""
    columns = _named_columns(by)
    numbers, levels = [], []
    for name, values in columns.items():
        column = as_column(values, f"by[{name!r}]" if len(columns) > 1 else "by")
        check_length(column, len(y_true), "by", truth)
        missing = [value for value in column.tolist() if is_missing(value)]
        if missing:
            raise ValueError(f"by must name a subgroup in every row, got {missing[0]}")
        try:
            names, own = np.unique(column, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"by must hold names of one type: {error}") from error
        numbers.append(own.ravel())
        levels.append(names.tolist())
    found, codes = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
    if len(found) > _MOST_SUBGROUPS:
        raise ValueError(
            f"by must part the rows in at most {_MOST_SUBGROUPS} subgroups, got "
            f"{len(found)}; cut numbers into intervals first"
        )
    labels = [
        {
            name: str(names[k])
            for name, names, k in zip(columns, levels, row, strict=True)
        }
        for row in found.tolist()
    ]
    return Subgroups(codes.ravel(), labels)


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


_TAKEN = {*OWN_LABELS, "rules", "metrics", "estimate", "low", "high", "standard_error"}
_TAKEN |= {"individual_low", "individual_high", "design_effect", "method", "pvalue"}
"""Names that columns of a report have already."""
