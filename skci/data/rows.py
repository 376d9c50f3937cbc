"""Checking what is given row by row: columns, numbers, weights, groups, subgroups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows, factorise
from skci._validation import as_floats, named_columns
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
    "check_present",
    "check_probabilities",
    "check_rows",
    "parameter_name",
]

_LABEL_KINDS = "biufOUT"
"""Kinds of dtype that may hold labels: numbers, objects, text of either kind."""
_PROBABILITY_ERROR = 1e-3
"""Largest difference from 1 of the sum of the probabilities of all labels."""
_MAX_SUBGROUPS = 100
_REPORT_COLUMNS = {
    *("rule", "metric", "first", "second", "contrast", "rules", "metrics", "estimate"),
    *("low", "high", "standard_error", "individual_low", "individual_high"),
    *("design_effect", "method", "pvalue"),
}


def parameter_name(rule: str, parameter: str = "y_pred") -> str:
    """Name of the column of a rule in messages, as it was passed."""
    return parameter if rule in ("", DEFAULT_RULE) else f"{parameter}[{rule!r}]"


def as_column(values: Any, name: str) -> Array:
    """Make a one-dimensional array of labels of a list, an array or a series."""
    must = f"{name} must be a one-dimensional array of labels, got"
    if not isinstance(values, np.ndarray):
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise TypeError(f"{must} {type(values).__name__}")
        try:
            values = _as_array(values)
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{must} nested sequences: {error}") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        more = "; several targets need averages, as f1_macro"
        more = more if values.ndim == 2 else ""
        raise ValueError(f"{must} an array of shape {values.shape}{more}")
    if values.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            f"{name} must hold labels that are numbers, booleans or strings, "
            f"got dtype {values.dtype}"
        )
    column: Array = values.astype(object) if values.dtype.kind == "T" else values
    return column


def _as_array(values: Any) -> Array:
    if isinstance(values, np.ndarray):
        return values
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    # Numbers and NaN among strings would become strings.
    return np.asarray(values, dtype=object) if array.dtype.kind == "U" else array


def check_length(values: Array, n: int, name: str, truth: str) -> None:
    """Check that there is an entry for each row."""
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}"
        )


def check_present(values: Iterable[Any], must: str) -> None:
    """Check that no value is missing or infinite, else raise what they must be."""
    for value in values:
        if isinstance(value, Real | np.bool_):
            missing = not math.isfinite(value)
        else:  # NaT and pandas' NA are not surely equal to themselves
            missing = value is None or (value == value) is not True
        if missing:
            raise ValueError(f"{must}, got a missing or infinite value: {value}")


def check_numbers(
    values: Any, name: str, n: int | None = None, truth: str = "y_true"
) -> Array:
    """Check finite numbers, one for each of n rows, or any number of them."""
    numbers = as_floats(values, name)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if n is None and (numbers.ndim != 1 or not len(numbers)):
        raise ValueError(
            f"{name} must hold at least one number and have one dimension, got shape "
            f"{numbers.shape}"
        )
    if numbers.ndim == 2 and len(numbers) == n:
        raise ValueError(
            f"{name} must be one column, such as predict_proba(X)[:, 1], got shape "
            f"{numbers.shape}"
        )
    check_length(numbers, len(numbers) if n is None else n, name, truth)
    return _finite(numbers, name)


def check_columns(values: Any, name: str, n: int, labels: Sequence[Any]) -> Array:
    """Check finite numbers, a column for each label."""
    numbers = as_floats(values, name)
    if numbers.shape != (n, len(labels)):
        raise ValueError(
            f"{name} must have a row for each of the {n} rows and a column for each of "
            f"the labels {list(labels)}, got shape {numbers.shape}; labels= of a "
            "metric names those that do not occur"
        )
    return _finite(numbers, name)


def _finite(numbers: Array, name: str) -> Array:
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must hold finite numbers, got missing or infinite ones"
        )
    return numbers


def check_probabilities(scores: Array, rule: str, metric: str) -> None:
    """Check that scores are probabilities."""
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{parameter_name(rule, 'y_score')} must hold probabilities for "
            f"{metric!r}, got values from {scores.min():g} to {scores.max():g}"
        )


def check_distributions(scores: Array, rule: str, metric: str) -> None:
    """Check that the probabilities of all labels add up to 1."""
    totals = scores.sum(axis=1)
    worst = totals[np.abs(totals - 1).argmax()]
    if abs(worst - 1) > _PROBABILITY_ERROR:
        raise ValueError(
            f"{parameter_name(rule, 'y_score')} must hold probabilities of all labels "
            f"for {metric!r}, got a row that adds up to {worst:g}"
        )


@dataclass(frozen=True, eq=False)
class RowAttributes:
    """Weights, clusters and subgroups of the rows of positive weight.

    `kept` is the index of these rows. Weights are as given; `groups` are the names of
    the clusters, and the number of that of each row.
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
    weights = clusters = subgroups = None
    if sample_weight is not None:
        weights = as_floats(sample_weight, "sample_weight")
        check_length(weights, n, "sample_weight", truth)
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(
                "sample_weight must hold finite numbers, none negative and not all "
                f"zero, got values from {weights.min()} to {weights.max()}"
            )
        if not weights.all():
            kept = weights > 0
            weights = weights[kept]
    if groups is not None:
        column = _as_array(groups)
        check_length(column, n, "groups", truth)
        names, positions = _distinct_names(column, "groups", "group")
        clusters = names, positions[kept]
    if by is not None:
        subgroups = _check_subgroups(by, n, truth, kept)
    return RowAttributes(kept, weights, clusters, subgroups)


def _distinct_names(column: Array, parameter: str, kind: str) -> tuple[Array, Array]:
    """Distinct names of groups in ascending order, and the position of each row's."""
    dtype_kind = column.dtype.kind
    try:
        names, positions = factorise(column)
        if dtype_kind not in "biuU":
            suspects = names[~np.isfinite(names)] if dtype_kind == "f" else names
            check_present(
                suspects.tolist(), f"{parameter} must name a {kind} in every row"
            )
        order = np.argsort(names, kind="stable") if dtype_kind == "O" else None
    except TypeError as error:
        raise TypeError(f"{parameter} must hold names of one type: {error}") from error
    if order is None:
        return names, positions
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(len(order))
    return names[order], ranks[positions]


def _check_subgroups(by: Any, n: int, truth: str, kept: Any) -> Subgroups:
    """Subgroups of rows by a column, or by several with their names."""
    columns = named_columns(by, "by", str(getattr(by, "name", None) or "subgroup"))
    if not _REPORT_COLUMNS.isdisjoint(columns):
        raise ValueError(
            "by must have a column or more, of other names than those of a report, got "
            f"{list(columns)}"
        )
    names, positions = [], []
    for name, values in columns.items():
        column = as_column(values, f"by[{name!r}]" if len(columns) > 1 else "by")
        check_length(column, n, "by", truth)
        levels, position = _distinct_names(column, "by", "subgroup")
        names.append([(name, str(level)) for level in levels.tolist()])
        positions.append(position)
    found, codes = distinct_rows(np.stack(positions, axis=1))
    if len(found) > _MAX_SUBGROUPS:
        raise ValueError(
            f"by must part the rows in at most {_MAX_SUBGROUPS} subgroups, got "
            f"{len(found)}; cut numbers into intervals first"
        )
    subgroups = [
        tuple(levels[k] for levels, k in zip(names, row, strict=True))
        for row in found.tolist()
    ]
    return Subgroups(codes[kept], tuple(subgroups))
