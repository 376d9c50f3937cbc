"""From labels, checked, to outcome tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from skci._typing import Array
from skci._validation import in_words
from skci.data.rows import as_column, check_rows, is_missing
from skci.data.sample import OutcomeTable, count_codes, count_outcomes

__all__ = [
    "A_MATRIX",
    "check_all_labels",
    "check_confusion_matrix",
    "check_no_pos_label",
    "check_one_target",
    "check_pos_label",
    "label_table",
]


def _labelled_table(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    pos_label: Any = None,
    any_pos_label: bool = False,
    several: bool = False,
    labels: Any = None,
    abstain: Any = None,
    by: Array | None = None,
    truth: str = "y_true",
    sample_weight: Any = None,
    groups: Any = None,
    merged: bool = True,
) -> OutcomeTable:
    """Check labels and count their joint outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_pred : mapping of str to array-like of shape (n,)
        Predicted labels by the name to use in messages.
    pos_label : label, optional
        The positive one of two labels; 1 if not given, as in scikit-learn.
    any_pos_label : bool
        Whether no measure depends on which label is positive, so that one may be
        chosen when `pos_label` is not given.
    several : bool
        Whether there may be more than two labels.
    labels : iterable of labels, optional
        Labels that there are, whether they occur or not.
    abstain : label, optional
        What stands for no answer in `y_pred`.
    by : int array of shape (n,), optional
        Which subgroup each row is in.
    truth : str
        The name of `y_true` in messages.
    sample_weight : array-like of shape (n,), optional
        Weights; rows of weight 0 are left out.
    groups : array-like of shape (n,), optional
        Which rows were drawn together.
    merged : bool
        Whether equal outcomes are counted together; else each row that weighs
        something is one.

    Returns
    -------
    OutcomeTable
        Of two labels the second is the positive one.
    """
    names = [truth, *y_pred]
    columns = [
        as_column(values, name)
        for name, values in zip(names, [y_true, *y_pred.values()], strict=True)
    ]
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(columns[0]):
            raise ValueError(
                f"{name} must have as many rows as {truth}, "
                f"got {len(column)} and {len(columns[0])}"
            )
    if not len(columns[0]):
        raise ValueError(f"{truth} must hold at least one row, got none")
    weights, clusters, kept = check_rows(sample_weight, groups, len(columns[0]), truth)
    columns = [column[kept] for column in columns]
    more = [] if labels is None else [_label_or_1(label) for label in labels]
    if abstain is not None and is_missing(abstain):
        raise ValueError(f"abstain must be a label that is not missing, got {abstain}")
    positive = _label_or_1(pos_label)
    simple = abstain is None and by is None and not more
    # Counting is checking: where each entry is one of two fair labels, nothing is left
    # to be checked, and most data never see the slow road.
    kinds = "U" if isinstance(positive, str) else "biuf"
    if simple and all(column.dtype.kind in kinds for column in columns):
        negative = _first_other(columns, positive)
        if _is_label(negative):
            table = count_outcomes(
                columns, positive, negative, weights, clusters, merged
            )
            if table is not None:
                label = columns[0].dtype.type(positive).item()
                return replace(table, labels=(negative, label))
    known = _labels(names, columns, more, abstain)
    if len(known) <= 2:
        known = _ordered(known, positive, pos_label is not None, any_pos_label)
    elif not several:
        shown = [*map(repr, known[:10]), "..."][: len(known)]
        raise ValueError(
            f"{in_words(names)} must hold two labels, got {len(known)}: "
            f"{', '.join(shown)}; compare one class with the rest, as in y == label, "
            "or average over all, as in f1_macro"
        )
    codes = [
        _encode(column, known, None if column is columns[0] else abstain)
        for column in columns
    ]
    if by is not None:
        codes.append(by[kept])
    dtype = np.min_scalar_type(max(int(column.max()) for column in codes))
    if len(known) == 2 and simple:
        dtype = np.dtype(bool)
    return count_codes(
        np.stack(codes, axis=1).astype(dtype),
        weights,
        clusters,
        merged,
        labels=tuple(known),
        abstains=abstain is not None,
    )


def _ordered(known: list[Any], positive: Any, given: bool, any_will_do: bool) -> Any:
    """Put the positive one of two labels last; None for one that is not known."""
    if any_will_do and not given:
        return known if len(known) == 2 else [None, *known]
    positive, negative = _split(known, positive, given)
    return [negative, positive]


def _encode(column: Array, labels: list[Any], abstain: Any) -> Array:
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


def label_table(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    several: bool,
    truth: str = "y_true",
    **options: Any,
) -> OutcomeTable:
    """Check labels of one target, or of several, and count their joint outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, targets)
    y_pred : mapping of str to array-like of the same shape
    several : bool
        Whether there may be more than two labels, or several targets.
    **options
        See `_labelled_table`; there is no answer missing among targets.
    """
    if not (several and _is_multilabel(y_true)):
        return _labelled_table(y_true, y_pred, several=several, truth=truth, **options)
    if options.get("abstain") is not None:
        raise ValueError(
            f"abstain must not be set for {truth} of several targets, got "
            f"{options['abstain']!r}"
        )
    kept = ("sample_weight", "groups", "by")
    rows = {name: options[name] for name in kept if name in options}
    return _targets_table(y_true, y_pred, truth=truth, **rows)


def _is_multilabel(y_true: Any) -> bool:
    """Tell whether labels are of several targets, a column each."""
    shape = getattr(y_true, "shape", None)
    if shape is None and isinstance(y_true, list | tuple) and y_true:
        shape = np.shape(y_true[0])
        shape = (len(y_true), *shape)
    return shape is not None and len(shape) == 2 and shape[1] > 1


def _targets_table(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    truth: str = "y_true",
    sample_weight: Any = None,
    groups: Any = None,
    by: Array | None = None,
) -> OutcomeTable:
    """Check labels of several targets, each 0 or 1, and count their joint outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n, targets)
        Data frames name the targets; else they are numbers.
    y_pred : mapping of str to array-like of shape (n, targets)
    truth, sample_weight, groups, by
        See `_labelled_table`.
    """
    matrices = [
        _indicators(values, name) for name, values in [(truth, y_true), *y_pred.items()]
    ]
    for name, matrix in zip(y_pred, matrices[1:], strict=True):
        if matrix.shape != matrices[0].shape:
            raise ValueError(
                f"{name} must have the shape of {truth}, {matrices[0].shape}, got "
                f"{matrix.shape}"
            )
    n, targets = matrices[0].shape
    weights, clusters, kept = check_rows(sample_weight, groups, n, truth)
    outcomes = np.concatenate(matrices, axis=1)[kept]
    if by is not None:
        outcomes = np.column_stack([outcomes.astype(np.intp), by[kept]])
    names = getattr(y_true, "columns", range(targets))
    return count_codes(outcomes, weights, clusters, labels=(0, 1), targets=tuple(names))


def _indicators(values: Any, name: str) -> Array:
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


def _first_other(columns: Sequence[Array], positive: Any) -> Any:
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


def _is_label(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    return math.isfinite(value) and value == int(value)


def _labels(
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
        got = ", ".join(f"{in_words(own)} in {name}" for name, own in kinds.items())
        raise ValueError(f"{in_words(names)} must hold labels of one type, got {got}")
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


def _label_or_1(pos_label: Any) -> Any:
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
    wanted = _label_or_1(pos_label)
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


def check_one_target(table: OutcomeTable, name: str) -> None:
    """Check that labels are not of several targets."""
    if table.multilabel:
        raise ValueError(
            f"y_true must be of one target for {name!r}, got {len(table.targets)}"
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
