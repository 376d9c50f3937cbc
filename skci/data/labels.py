"""Labels: checking, ordering and encoding them."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array, factorise
from skci._options import brief
from skci._validation import (
    TAGS_HINT,
    as_array,
    as_numbers,
    is_iterable,
    is_null,
    join_names,
    missing_hint,
)
from skci.data.rows import (
    answer_hint,
    check_no_tags,
    check_present,
    shape_of,
)
from skci.data.sample import Vocabulary

A_MATRIX = "a confusion matrix, whose second row and column are the positive label"
"""What a positive label cannot be chosen for."""
_LABEL_TYPES = (str, Real, np.bool_)
_LARGEST_FLOAT = 2.0**53  # label that is a float and stands for several integers
_BLOCK = 1 << 12  # rows among which another label is looked for at a time

NUMBERS_HINT = (
    "numbers have metrics of their own, such as 'mean_squared_error', "
    "'mean_absolute_error' and 'r2', and make_metric_ci has reads='numbers'"
)
"""Hint for a truth that is no label."""
_SCORES_HINT = "turn scores into labels with a threshold"


def distinct_labels(
    column: Array, name: str, hint: str = _SCORES_HINT, kept: Any = ...
) -> tuple[list[Any], Array]:
    """Distinct labels of a column, checked, and the position of each row's.

    The hint says what to do with numbers; `kept` are the rows of the column.
    """
    try:
        distinct, positions = factorise(column)
    except TypeError as error:  # not hashable
        raise TypeError(
            f"{name} must hold labels, got {brief(column[0])}{TAGS_HINT}"
        ) from error
    labels = distinct.tolist()
    must = f"{name} must hold a label in every row"
    rows = positions
    if kept is not ...:
        rows = np.full(len(kept), -1)
        rows[kept] = positions
    unanswered = missing_hint(name, None) or answer_hint(name, labels)
    check_present(labels, must, rows, unanswered)
    for label in labels:
        if not isinstance(label, _LABEL_TYPES):
            tags = TAGS_HINT if isinstance(label, tuple | frozenset) else ""
            raise TypeError(
                f"{name} must hold labels that are numbers, booleans or strings, "
                f"got {label!r}{tags}"
            )
        if isinstance(label, Real) and label % 1 != 0:
            raise ValueError(
                f"{name} must hold class labels, got continuous values such as "
                f"{label}; {hint}"
            )
        if isinstance(label, float) and abs(label) >= _LARGEST_FLOAT:
            raise ValueError(
                f"{name} must hold labels that are integers or strings from 2**53 on, "
                f"where floats stand for several integers, got {label!r}"
            )
    return labels, positions


def merge_labels(names: list[str], found: list[set[Any]]) -> list[Any]:
    """Sort the labels found in columns, and last those of the option `labels`."""
    types = [{"str" if isinstance(x, str) else "number" for x in xs} for xs in found]
    if len(set().union(*types)) > 1:
        pairs = zip([*names, "labels"], types, strict=False)
        got = [
            f"{join_names(sorted(kinds))} in {name}" for name, kinds in pairs if kinds
        ]
        must = f"{join_names(names)} must hold labels of one type"
        raise ValueError(f"{must}, got {', '.join(got)}")
    return sorted(set().union(*found))


def encode(
    labels: Iterable[Any], positions: Array, vocabulary: Vocabulary, abstain: Any
) -> Array:
    """Encode the labels of a column; no answer has the last code."""
    code = {label: k for k, label in enumerate(vocabulary.labels) if label is not None}
    if abstain is not None:
        code[abstain] = len(vocabulary.labels)
    codes = np.array([code[label] for label in labels], dtype=vocabulary.dtype)
    return codes[positions]


def guess_two_labels(
    columns: Sequence[Array], pos_label: Any
) -> tuple[Any, Any] | None:
    """Guess the negative and the positive label of columns of one plain type.

    The negative one is the first other label; None if there is none. Other entries are
    not looked at. None in place of both for labels that are not plain.
    """
    positive = 1 if pos_label is None else check_label(pos_label, "pos_label")
    kinds = "U" if isinstance(positive, str) else "biuf"
    negative = None
    for column in columns:
        dtype = column.dtype
        plain = dtype.kind in kinds and (pos_label is None or _holds(dtype, positive))
        if not plain:
            return None
        if negative is None and column[0] != positive:
            negative = column[0]
    if negative is None:
        negative = _first_other(columns, positive)
    if negative is None:
        return None, positive
    is_plain = kinds == "U" or (math.isfinite(negative) and negative == int(negative))
    return (negative.item(), positive) if is_plain else None


def _first_other(columns: Sequence[Array], label: Any) -> Any:
    """First entry of some columns that is another label; None if there is none."""
    for column in columns:
        for start in range(0, len(column), _BLOCK):
            block = column[start : start + _BLOCK]
            differs = block != label
            if differs.any():
                return block[differs.argmax()]
    return None


def _holds(dtype: np.dtype[Any], label: Any) -> bool:
    """Whether a label is text, or a number among the finite values of a type."""
    if isinstance(label, str):
        return True
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value = np.asarray(label).astype(dtype)[()]
        return bool(np.isfinite(value) and value == label)
    except (OverflowError, ValueError):
        return False


def label_or_1(pos_label: Any) -> Any:
    """Check the type of a positive label; 1 if none is given, as in scikit-learn."""
    return 1 if pos_label is None else check_label(pos_label, "pos_label")


def check_label(label: Any, name: str) -> Any:
    """Check the type of a label."""
    if not isinstance(label, _LABEL_TYPES):
        raise TypeError(
            f"{name} must be a number, a boolean or a string, got {label!r}"
        )
    return label


def check_labels(labels: Any) -> list[Any]:
    """Check distinct labels that are given."""
    sized = is_iterable(labels) and hasattr(labels, "__len__")
    listed = list(labels) if sized and not isinstance(labels, str) else []
    if not listed:
        raise ValueError(f"labels must be a list of at least one label, got {labels!r}")
    given = [check_label(label, "each of labels") for label in listed]
    if len(set(given)) < len(given):
        raise ValueError(f"labels must hold no label twice, got {labels!r}")
    return given


def check_two_labels(known: Sequence[Any], must: str) -> None:
    """Check that there are no more than two labels; `must` says what holds them."""
    if len(known) > 2:
        shown = [*map(repr, known[:10]), "..."][: len(known)]
        raise ValueError(
            f"{must} hold two labels, got {len(known)}: {', '.join(shown)}; compare "
            "one class with the rest, as in y == label, or average over all, as in "
            "f1_macro"
        )


def order_labels(known: list[Any], pos_label: Any, optional: bool) -> list[Any]:
    """Put the positive one of at most two labels last; None is one that is not known.

    If the positive label is optional and not given, labels keep their order.
    """
    padded = [None] * (2 - len(known)) + known
    if optional and pos_label is None:
        return padded
    code = check_pos_label(pos_label, padded)
    return [padded[1 - code], label_or_1(pos_label)]


def check_pos_label(pos_label: Any, known: Sequence[Any]) -> int:
    """Find the code of the positive label."""
    positive = 1 if pos_label is None else check_label(pos_label, "pos_label")
    if positive in known:
        return known.index(positive)
    if None in known and isinstance(known[-1], str) == isinstance(positive, str):
        return known.index(None)
    labels = sorted(label for label in known if label is not None)
    got = f"{pos_label!r}"
    if pos_label is None:
        got = "none; set it to the label that counts as positive, as in "
        got += f"pos_label={labels[-1]!r}"
    raise ValueError(f"pos_label must be one of the labels {labels}, got {got}")


def check_no_pos_label(pos_label: Any, where: str) -> None:
    """Check that no positive label is given where there is none."""
    if pos_label is not None:
        raise ValueError(f"pos_label must not be set for {where}, got {pos_label!r}")


def check_all_labels(labels: Any, vocabulary: Vocabulary) -> None:
    """Check that labels are all classes in order, as the columns of scores are."""
    if labels is None:
        return
    given = np.asarray(labels).tolist()
    kind, every = "targets", [*vocabulary.classes]
    if not vocabulary.multilabel:
        kind, every = "labels", sorted(label for label in every if label is not None)
    if given != every:
        raise ValueError(
            f"labels must be all {kind} in their order, {every}, as the columns of "
            f"scores are, got {given}"
        )


def is_multilabel(y_true: Any) -> bool:
    """Whether labels are of several targets, a column each."""
    shape = shape_of(y_true)
    return len(shape) == 2 and shape[1] > 1


def check_not_swapped(X: Any, y: Any, call: str = "") -> None:
    """Check that X is not numbers in one dimension where y has two."""
    shape = shape_of(X)
    if len(shape) == 1 and len(shape_of(y)) == 2:
        try:
            kind = np.asarray(X).dtype.kind
        except ValueError:  # rows of different lengths, as lists of words
            return
        if kind not in "biuf":  # as texts
            return
        raise ValueError(
            f"X must have rows and columns, got shape {shape}; are X and y swapped?"
            + (f" It is {call}" if call else "")
        )


def check_one_target(vocabulary: Vocabulary, name: str) -> None:
    """Check that labels are of one target."""
    if vocabulary.multilabel:
        raise ValueError(
            f"y_true must be of one target for {name!r}, got {len(vocabulary.targets)}"
        )


def check_indicators(values: Any, name: str) -> Array:
    """Check indicators of targets, 0 or 1, and make them booleans."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    check_no_tags(values, name)
    matrix = as_array(dense, name, "an array with a column for each target")
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each target, got "
            f"shape {matrix.shape}"
        )
    numbers = matrix
    if matrix.dtype.kind == "O":  # as of nullable types
        with suppress(TypeError, ValueError):
            numbers = as_numbers(matrix, name, missing=True)
    present: Array = numbers == 1
    if numbers.dtype.kind not in "biuf" or not (present | (numbers == 0)).all():
        entries = matrix.ravel().tolist()
        other = next((x for x in entries if is_null(x) or x not in (0, 1)), None)
        raise ValueError(
            f"{name} must hold 0 or 1 for each target, got {other!r}, of dtype "
            f"{matrix.dtype}"
        )
    return present


def check_confusion_matrix(matrix: Any) -> Array:
    """Check a square confusion matrix of counts."""
    counts = as_array(matrix, "matrix", "a confusion matrix")
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
