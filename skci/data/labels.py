"""Checking labels, and encoding them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import join_names
from skci.data.rows import is_missing
from skci.data.sample import Vocabulary

__all__ = [
    "A_MATRIX",
    "check_all_labels",
    "check_confusion_matrix",
    "check_indicators",
    "check_no_pos_label",
    "check_one_target",
    "check_pos_label",
    "encode",
    "find_labels",
    "first_other",
    "is_multilabel",
    "is_plain_label",
    "label_or_1",
    "order_labels",
]


def order_labels(
    known: list[Any], positive: Any, given: bool, any_will_do: bool
) -> Any:
    """Put the positive one of two labels last; None for one that is not known."""
    if any_will_do and not given:
        return known if len(known) == 2 else [None, *known]
    positive, negative = _split(known, positive, given)
    return [negative, positive]


def encode(column: Array, labels: Sequence[Any], abstain: Any) -> Array:
    """From labels to their codes; no answer has the last one."""
    numbered = {label: k for k, label in enumerate(labels) if label is not None}
    if abstain is not None:
        numbered[abstain] = len(labels)
    if column.dtype.kind == "O":
        return np.array([numbered[label] for label in column.tolist()])
    if column.dtype.kind in "iu":
        low, high = int(column.min()), int(column.max())
        if high - low < _DENSE_LABELS:
            lookup = np.zeros(high - low + 1, dtype=np.intp)
            for label, code in numbered.items():
                if not isinstance(label, str) and low <= label <= high:
                    lookup[int(label) - low] = code
            return lookup[column.astype(np.intp) - low]
    names, which = np.unique(column, return_inverse=True)
    codes = np.array([numbered[label] for label in names.tolist()])
    return codes[which.ravel()]


_DENSE_LABELS = 1 << 16
"""Range of whole numbers up to which labels are looked up in a table."""


def is_multilabel(y_true: Any) -> bool:
    """Tell whether labels are of several targets, a column each."""
    shape = getattr(y_true, "shape", None)
    if shape is None and isinstance(y_true, list | tuple) and y_true:
        shape = np.shape(y_true[0])
        shape = (len(y_true), *shape)
    return shape is not None and len(shape) == 2 and shape[1] > 1


def check_indicators(values: Any, name: str) -> Array:
    """Make a bool array of targets that are there."""
    matrix = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each target, got "
            f"shape {matrix.shape}"
        )
    there: Array = matrix == 1
    if matrix.dtype.kind not in "biuf" or not (there | (matrix == 0)).all():
        raise ValueError(
            f"{name} must hold 0 or 1 for each target, got others, of dtype "
            f"{matrix.dtype}"
        )
    return there


def first_other(columns: Sequence[Array], positive: Any) -> Any:
    """Find the first label that is not the positive one; None if there is none."""
    for column in columns:
        if column[0] != positive:
            return column[0].item()
    for column in columns:
        other = column != positive
        position = int(other.argmax())
        if other[position]:
            return column[position].item()
    return None


def is_plain_label(value: Any) -> bool:
    """Whether a value is a string, a whole number or None."""
    if value is None or isinstance(value, str):
        return True
    return math.isfinite(value) and value == int(value)


def find_labels(
    names: Sequence[str], columns: Sequence[Array], more: list[Any], abstain: Any
) -> list[Any]:
    """List the labels in order, or say what is wrong with them."""
    found = {
        name: _distinct(column, name) - ({abstain} if name != names[0] else set())
        for name, column in zip(names, columns, strict=True)
    }
    if more:
        found["labels"] = set(more)
    kinds = {
        name: sorted({"str" if isinstance(label, str) else "number" for label in own})
        for name, own in found.items()
    }
    if len({kind for own in kinds.values() for kind in own}) > 1:
        got = ", ".join(f"{join_names(own)} in {name}" for name, own in kinds.items())
        raise ValueError(f"{join_names(names)} must hold labels of one type, got {got}")
    if abstain in found[names[0]]:
        raise ValueError(f"abstain must be no label of {names[0]}, got {abstain!r}")
    return sorted(set().union(*found.values()))


def _distinct(column: Array, name: str) -> set[Any]:
    """Collect the labels of a column, and check that labels they are."""
    if column.dtype.kind in "biuf":
        column = _distinct_numbers(column)
    try:
        labels = set(column.tolist())
    except TypeError as error:  # not hashable
        raise TypeError(f"{name} must hold labels, got {column[0]!r}") from error
    for label in labels:
        if is_missing(label):
            raise ValueError(
                f"{name} must hold a label in every row, got a missing or infinite "
                f"value: {label}"
            )
        if not _may_be_label(label):
            raise TypeError(
                f"{name} must hold labels that are numbers, booleans or strings, "
                f"got {label!r}"
            )
        if isinstance(label, Real) and label % 1 != 0:
            raise ValueError(
                f"{name} must hold class labels, got continuous values such as "
                f"{label}; turn scores into labels with a threshold"
            )
    return labels


def _distinct_numbers(column: Array) -> Array:
    """Return distinct numbers; whole ones of a small range are not sorted for it."""
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < _DENSE_LABELS:
            seen = np.zeros(high - low + 1, dtype=bool)
            seen[column.astype(np.intp) - low] = True
            return np.flatnonzero(seen) + low
    return np.unique(column)


def _split(labels: list[Any], positive: Any, given: bool) -> tuple[Any, Any]:
    """Tell the positive label from the other one."""
    others = [label for label in labels if label != positive]
    if len(others) == 2 or any(
        isinstance(label, str) != isinstance(positive, str) for label in others
    ):
        raise ValueError(_wrong_pos_label(labels, positive if given else None))
    return positive, others[0] if others else None


def _may_be_label(value: Any) -> bool:
    return isinstance(value, str | Real | np.bool_)


def label_or_1(pos_label: Any) -> Any:
    """Check the type of a positive label; 1 if none is given, as in scikit-learn."""
    if pos_label is None:
        return 1
    if not _may_be_label(pos_label):
        raise TypeError(
            f"pos_label must be a number, a boolean or a string, got {pos_label!r}"
        )
    return pos_label


def check_pos_label(pos_label: Any, known: tuple[Any, ...]) -> int:
    """Find the code of the positive label."""
    wanted = label_or_1(pos_label)
    if wanted in known:
        return known.index(wanted)
    if None not in known or isinstance(wanted, str) != isinstance(known[-1], str):
        labels = sorted(one for one in known if one is not None)
        raise ValueError(_wrong_pos_label(labels, pos_label))
    return known.index(None)


def _wrong_pos_label(labels: list[Any], pos_label: Any) -> str:
    must = f"pos_label must be one of the labels {labels}"
    if pos_label is None:
        return f"{must}, got none; choose one as in pos_label={labels[-1]!r}"
    return f"{must}, got {pos_label!r}"


A_MATRIX = "a confusion matrix, whose second row and column are the positive label"
"""What has no label to be named."""


def check_no_pos_label(pos_label: Any, where: str) -> None:
    """Check that no label is singled out where there is none to be."""
    if pos_label is not None:
        raise ValueError(f"pos_label must not be set for {where}, got {pos_label!r}")


def check_all_labels(labels: Any, known: Sequence[Any]) -> None:
    """Check that labels are all that there are, in order, as columns of scores are."""
    if labels is None:
        return
    given = np.asarray(labels).tolist()
    every = sorted(label for label in known if label is not None)
    if given != every:
        raise ValueError(
            f"labels must be all labels in their order, {every}, as the columns of "
            f"scores are, got {given}"
        )


def check_one_target(vocabulary: Vocabulary, name: str) -> None:
    """Check that labels are not of several targets."""
    if vocabulary.multilabel:
        raise ValueError(
            f"y_true must be of one target for {name!r}, got {len(vocabulary.targets)}"
        )


def check_confusion_matrix(matrix: Any) -> Array:
    """Check a square confusion matrix of counts."""
    counts = np.asarray(matrix)
    if counts.ndim != 2 or len(set(counts.shape)) > 1 or len(counts) < 2:
        raise ValueError(
            "matrix must be a confusion matrix with a row for each true label and a "
            f"column for each predicted one, got shape {counts.shape}"
        )
    if counts.dtype.kind not in "iuf" or not np.isfinite(counts).all():
        raise ValueError(f"matrix must hold counts, got {counts.tolist()}")
    if (counts < 0).any() or (counts != np.floor(counts)).any() or not counts.any():
        raise ValueError(
            "matrix must hold whole numbers, none negative and not all zero, "
            f"got {counts.tolist()}"
        )
    return counts.astype(float)
