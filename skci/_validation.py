"""All checking of what users pass: labels, names, levels.

Every error names the parameter, says what it must be and what it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skci._classes import AVERAGES
from skci._intervals import METHODS
from skci._outcomes import OutcomeTable, count_codes, count_outcomes

__all__ = [
    "Subgroups",
    "check_alternative",
    "check_average",
    "check_choice",
    "check_columns",
    "check_confidence_level",
    "check_confusion_matrix",
    "check_contrasts",
    "check_distributions",
    "check_estimators",
    "check_known",
    "check_method",
    "check_names",
    "check_no_pos_label",
    "check_numbers",
    "check_pos_label",
    "check_positive_number",
    "check_probabilities",
    "check_rows",
    "check_share",
    "check_subgroups",
    "check_target_names",
    "check_zero_division",
    "in_words",
    "is_multilabel",
    "labelled_table",
    "named_pairs",
    "targets_table",
]

Array = NDArray[Any]


# --------------------------------------------------------------------------------------
# Labels
# --------------------------------------------------------------------------------------

_LABEL_KINDS = "biufOUT"
"""Kinds of dtype that may hold labels: numbers, objects, text of either kind."""


def labelled_table(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    pos_label: Any = None,
    any_pos_label: bool = False,
    several: bool = False,
    labels: Iterable[Any] = (),
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
    labels : iterable of labels
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
        _column(values, name)
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
    more = [_label_or_1(label) for label in labels]
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
                if low <= label <= high:
                    lookup[int(label) - low] = code
            return lookup[column.astype(np.intp) - low]
    names, which = np.unique(column, return_inverse=True)
    codes = np.array([numbered[label] for label in names.tolist()])
    return codes[which.ravel()]


_DENSE_LABELS = 1 << 16
"""Range of whole numbers up to which labels are looked up in a table."""


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
        column = _column(values, f"by[{name!r}]" if len(columns) > 1 else "by")
        _check_rows(column, len(y_true), "by", truth)
        missing = [value for value in column.tolist() if _is_missing(value)]
        if missing:
            raise ValueError(f"by must name a subgroup in every row, got {missing[0]}")
        names, own = np.unique(column, return_inverse=True)
        numbers.append(own.ravel())
        levels.append(names.tolist())
    found, codes = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
    labels = [
        {
            name: str(names[k])
            for name, names, k in zip(columns, levels, row, strict=True)
        }
        for row in found.tolist()
    ]
    return Subgroups(codes.ravel(), labels)


def _named_columns(by: Any) -> dict[str, Any]:
    """Columns by their names; a single one has its own or none."""
    if isinstance(by, Mapping):
        columns = {str(name): values for name, values in by.items()}
    elif hasattr(by, "columns"):
        columns = {str(name): by[name] for name in by.columns}
    else:
        columns = {str(getattr(by, "name", None) or "subgroup"): by}
    taken = {"rule", "metric", "first", "second"} & set(columns)
    if taken or not columns:
        raise ValueError(
            "by must have a column or more, of other names than those of a report, got "
            f"{list(columns)}"
        )
    return columns


def is_multilabel(y_true: Any) -> bool:
    """Tell whether labels are of several targets, a column each."""
    shape = getattr(y_true, "shape", None)
    if shape is None and isinstance(y_true, list | tuple) and y_true:
        shape = np.shape(y_true[0])
        shape = (len(y_true), *shape)
    return shape is not None and len(shape) == 2 and shape[1] > 1


def targets_table(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    truth: str = "y_true",
    sample_weight: Any = None,
    groups: Any = None,
    by: Array | None = None,
    merged: bool = True,
) -> OutcomeTable:
    """Check labels of several targets, each 0 or 1, and count their joint outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n, targets)
        Data frames name the targets; else they are numbers.
    y_pred : mapping of str to array-like of shape (n, targets)
    truth, sample_weight, groups, by, merged
        See `labelled_table`.
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
    return count_codes(
        outcomes, weights, clusters, merged, labels=(0, 1), targets=tuple(names)
    )


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


def check_numbers(
    values: Any, name: str, n: int | None = None, truth: str = "y_true"
) -> Array:
    """Check finite numbers, one a row."""
    try:
        scores = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from error
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
    _check_rows(scores, len(scores) if n is None else n, name, truth)
    if not np.isfinite(scores).all():
        raise ValueError(
            f"{name} must hold finite numbers, got missing or infinite ones"
        )
    return scores


def check_columns(values: Any, name: str, n: int, labels: Sequence[Any]) -> Array:
    """Check finite numbers, a column for each label."""
    try:
        scores = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from error
    if scores.shape != (n, len(labels)):
        raise ValueError(
            f"{name} must have a row for each of the {n} rows and a column for each of "
            f"the labels {list(labels)}, got shape {scores.shape}; labels= of a metric "
            "names those that do not occur"
        )
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
            f"{_scores_of(rule)} must hold probabilities of all labels for {metric!r}, "
            f"got a row that adds up to {worst:g}"
        )


_NOT_ONE = 1e-3
"""How far the probabilities of all labels may be from 1 in all."""


def _scores_of(rule: str) -> str:
    return f"y_score[{rule!r}]" if rule else "y_score"


def check_probabilities(scores: Array, rule: str, metric: str) -> None:
    """Check that scores are probabilities."""
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{_scores_of(rule)} must hold probabilities for {metric!r}, got "
            f"values from {scores.min():g} to {scores.max():g}"
        )


def check_share(value: Any, name: str) -> float:
    """Check a number between 0 and 1."""
    if isinstance(value, Real) and 0 <= float(value) <= 1:
        return float(value)
    raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")


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
        _check_rows(weights, n, "sample_weight", truth)
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
    _check_rows(column, n, "groups", truth)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ValueError("groups must name a group in every row, got NaN")
    if column.dtype.kind == "O":
        missing = [value for value in column.tolist() if _is_missing(value)]
        if missing:
            raise ValueError(f"groups must name a group in every row, got {missing[0]}")
    try:
        _, numbers = np.unique(column[kept], return_inverse=True)
    except TypeError as error:
        raise TypeError(f"groups must hold names of one type: {error}") from error
    return weights, numbers.ravel(), kept


_SAME_WEIGHT = 1e-12
"""Relative difference of weights that are equal but for rounding."""


def _check_rows(values: Array, n: int, name: str, truth: str) -> None:
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}"
        )


def _column(values: Any, name: str) -> Array:
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
        raise ValueError(
            f"{name} must be a one-dimensional array of labels, "
            f"got an array of shape {values.shape}"
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
        if _is_missing(label):
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


def _is_missing(value: Any) -> bool:
    if isinstance(value, Real):
        return not math.isfinite(value)
    if isinstance(value, np.bool_):
        return False
    # Of the others, NaT and pandas' NA are not surely equal to themselves.
    return value is None or (value == value) is not True


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
        return f"{must}, got none; choose one as in F1CI(pos_label={labels[-1]!r})"
    return f"{must}, got {pos_label!r}"


def check_no_pos_label(pos_label: Any) -> None:
    """Check that no label is singled out where there are no labels."""
    if pos_label is not None:
        raise ValueError(
            "pos_label must not be set for a confusion matrix, whose second row and "
            f"column are the positive label, got {pos_label!r}"
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


# --------------------------------------------------------------------------------------
# Options
# --------------------------------------------------------------------------------------


def check_choice(value: Any, choices: Sequence[str], name: str) -> str:
    """Check one of several words."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")
    return value


def check_alternative(alternative: Any) -> str:
    """Check the alternative of a test."""
    return check_choice(alternative, ("two-sided", "less", "greater"), "alternative")


def check_names(
    names: str | Iterable[str] | None, known: list[str], kind: str
) -> list[str]:
    """Check names of rules or metrics; all if none are given."""
    if names is None:
        return known
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted:
        raise ValueError(f"{kind}s must hold at least one of {known}, got none")
    for name in wanted:
        check_known(name, known, kind)
    return wanted


def check_known(name: Any, known: list[str], kind: str) -> None:
    """Check one name."""
    if not (isinstance(name, str) and name in known):
        raise KeyError(f"{kind} must be one of {known}, got {name!r}")


def check_contrasts(
    matrix: Any, labels: Any, estimates: Sequence[tuple[str, ...]]
) -> tuple[Array, list[str]]:
    """Check the coefficients of contrasts of some estimates, and their names."""
    number = len(estimates)
    columns = list(getattr(matrix, "columns", ()))
    if columns and columns not in (list(range(number)), list(estimates)):
        raise ValueError(
            f"matrix must have the columns {list(estimates)} in this order, or be an "
            f"array, got the columns {columns}"
        )
    try:
        rows = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"matrix must hold numbers, got {matrix!r}") from error
    if rows.ndim != 2 or rows.shape[1] != number or not len(rows):
        raise ValueError(
            f"matrix must have a row for each contrast and {number} columns, got "
            f"shape {rows.shape}"
        )
    if not np.isfinite(rows).all() or not rows.any(axis=1).all():
        raise ValueError(f"matrix must be finite without rows of zeros, got {matrix!r}")
    if not isinstance(labels, Iterable):
        raise TypeError(f"labels must be names, one a row of matrix, got {labels!r}")
    names = [labels] if isinstance(labels, str) else [*map(str, labels)]
    if len(names) != len(rows) or len(set(names)) < len(names):
        raise ValueError(
            f"labels must be {len(rows)} different names, one a row of matrix, got "
            f"{names}"
        )
    return rows, names


def check_confidence_level(confidence_level: Any) -> float:
    """Check a confidence level: a number between 0 and 1, both excluded."""
    if isinstance(confidence_level, Real) and 0 < float(confidence_level) < 1:
        return float(confidence_level)
    raise ValueError(
        "confidence_level must be a number between 0 and 1, both excluded, "
        f"got {confidence_level!r}"
    )


def check_method(method: Any) -> str:
    """Check the name of an interval method."""
    if isinstance(method, str) and method in METHODS:
        return method
    raise ValueError(f"method must be one of {list(METHODS)}, got {method!r}")


def check_positive_number(value: Any, name: str) -> float:
    """Check a finite number above 0."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if np.isfinite(number) and number > 0:
            return number
    raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def check_average(average: Any, labels: Any, pos_label: Any) -> None:
    """Check how to average over classes."""
    if average is not None:
        check_choice(average, ("binary", *AVERAGES, "samples"), "average")
    if average != "binary" and pos_label is not None:
        raise ValueError(
            f"pos_label must not be set with average={average!r}, which treats all "
            f"classes alike, got {pos_label!r}"
        )
    if labels is None:
        return
    if average in ("binary", "samples"):
        raise ValueError(
            f"labels must not be set with average={average!r}, got {labels!r}"
        )
    if isinstance(labels, str) or not isinstance(labels, Iterable) or not list(labels):
        raise ValueError(f"labels must hold at least one label, got {labels!r}")
    if len(set(labels)) < len(list(labels)):
        raise ValueError(f"labels must hold no label twice, got {labels!r}")


def check_target_names(target_names: Any, names: list[str]) -> list[str]:
    """Check names to show for classes; those of the labels if none are given."""
    if target_names is None:
        return names
    shown = [str(name) for name in target_names]
    if len(shown) != len(names) or len(set(shown)) < len(shown):
        raise ValueError(
            f"target_names must be {len(names)} different names, for {names}, got "
            f"{shown}"
        )
    return shown


def check_zero_division(zero_division: Any) -> float:
    """Check what stands for an undefined estimate: 0, 1 or NaN."""
    if isinstance(zero_division, Real):
        value = float(zero_division)
        if value in (0.0, 1.0) or math.isnan(value):
            return value
    raise ValueError(f"zero_division must be 0, 1 or numpy.nan, got {zero_division!r}")


def check_estimators(estimators: Any) -> list[tuple[str, Any]]:
    """Check named objects that can predict."""
    named = named_pairs(estimators, "estimators")
    for name, estimator in named:
        if isinstance(estimator, type) or not callable(
            getattr(estimator, "predict", None)
        ):
            raise TypeError(
                f"estimators must be fitted and have a predict method, got {name!r}: "
                f"{estimator!r}"
            )
    return named


def named_pairs(values: Any, parameter: str) -> list[tuple[str, Any]]:
    """Check a mapping of names, or pairs of a name and a value.

    Returns
    -------
    list of (str, object)
        With names that are strings, none of them twice.
    """
    wanted = f"{parameter} must be a mapping of names or pairs of (name, value)"
    if not isinstance(values, Iterable):
        raise TypeError(f"{wanted}, got {values!r}")
    pairs: Iterable[Any] = values.items() if isinstance(values, Mapping) else values
    named = []
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(f"{wanted}, got an entry {pair!r}")
        named.append((str(pair[0]), pair[1]))
    if not named:
        raise ValueError(f"{parameter} must hold at least one entry, got none")
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{parameter} must have distinct names, got twice: {twice}")
    return named


def in_words(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
