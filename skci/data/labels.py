"""Functions that check, sort, encode and count labels."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array, factorise, read_only
from skci._options import short_repr
from skci._validation import (
    TAGS_HINT,
    as_array,
    as_numbers,
    is_iterable,
    is_null,
    join_names,
    missing_hint,
)
from skci.data.rows import answer_hint, check_present, shape_of
from skci.data.sample import Vocabulary

A_MATRIX = "a confusion matrix, whose second row and column are the positive label"
"""Data for which no positive label can be chosen."""
_LABEL_TYPES = (str, Real, np.bool_)
_LARGEST_FLOAT = 2.0**53  # smallest float that represents several integers
_BLOCK = 1 << 12  # rows searched for another label before all rows
_CACHED = 1 << 18  # rows of a block whose temporary arrays of bytes stay in cache
DENSE_COLUMNS = 16
"""Maximum number of label columns for which a table of counts is made."""

NUMBERS_HINT = (
    "use metrics of numbers, such as 'mean_squared_error', 'mean_absolute_error' and "
    "'r2', or make_metric_ci with reads='numbers'"
)
"""Hint for a truth that does not consist of labels."""
_SCORES_HINT = (
    "pass scores and probabilities as y_score=, or convert them to labels with a "
    "threshold"
)


def distinct_labels(
    column: Array, name: str, hint: str = _SCORES_HINT, kept: Any = ...
) -> tuple[list[Any], Array]:
    """Return the distinct labels of a column, and the label index of each row.

    `hint` is added to the error for continuous numbers. If `column` contains only some
    rows of the data, `kept` is the mask of these rows.
    """
    try:
        distinct, positions = factorise(column)
    except TypeError as error:  # not hashable
        raise TypeError(
            f"{name} must contain labels, got {short_repr(column[0])}{TAGS_HINT}"
        ) from error
    labels = distinct.tolist()
    rows = positions
    if kept is not ...:
        rows = np.full(len(kept), -1)
        rows[kept] = positions
    unanswered = missing_hint(name, None) or answer_hint(name, labels)
    check_present(labels, name, "contain a label in every row", rows, unanswered)
    for label in labels:
        if not isinstance(label, _LABEL_TYPES):
            tags = TAGS_HINT if isinstance(label, tuple | frozenset) else ""
            raise TypeError(
                f"{name} must contain labels that are numbers, booleans or strings, "
                f"got {label!r}{tags}"
            )
        if isinstance(label, Real) and label % 1 != 0:
            raise ValueError(
                f"{name} must contain class labels, got continuous values such as "
                f"{label}; {hint}"
            )
        if isinstance(label, float) and abs(label) >= _LARGEST_FLOAT:
            raise ValueError(
                f"{name} must contain labels below 2**53 if they are floats, because "
                f"larger floats are not exact, got {label!r}; pass integers or strings"
            )
    return labels, positions


def merge_labels(names: list[str], label_sets: list[set[Any]]) -> list[Any]:
    """Return the sorted union of several sets of labels.

    `names` are the columns from which the sets were read, for error messages. The last
    set may come from the option `labels` instead of a column.
    """
    types = [
        {"str" if isinstance(x, str) else "number" for x in xs} for xs in label_sets
    ]
    if len(set().union(*types)) > 1:
        pairs = zip([*names, "labels"], types, strict=False)
        got = [
            f"{join_names(sorted(kinds))} in {name}" for name, kinds in pairs if kinds
        ]
        raise ValueError(
            f"{join_names(names)} must contain labels of one type, got {', '.join(got)}"
        )
    return sorted(set().union(*label_sets))


def encode(
    labels: Iterable[Any], positions: Array, vocabulary: Vocabulary, abstain: Any
) -> Array:
    """Convert labels to integer codes.

    `labels` contains the distinct labels of a column, and `positions` contains an index
    in `labels` for each row. The label `abstain`, which represents no answer, has the
    largest code.
    """
    code = {label: k for k, label in enumerate(vocabulary.labels) if label is not None}
    if abstain is not None:
        code[abstain] = len(vocabulary.labels)
    codes = np.array([code[label] for label in labels], dtype=vocabulary.dtype)
    return codes[positions]


def guess_two_labels(
    columns: Sequence[Array], pos_label: Any
) -> tuple[Any, Any] | None:
    """Guess the negative and the positive label from columns of labels.

    The first label that differs from the positive label is treated as the negative
    label. The function does not notice a third label. If all labels are positive, the
    negative label is None. Returns None unless all columns have a plain dtype, such as
    integers.
    """
    positive = label_or_1(pos_label)
    is_text, negative = isinstance(positive, str), None
    is_set = pos_label is not None and not is_text
    for column in columns:
        is_plain = column.dtype.kind in ("U" if is_text else "biuf")
        if not is_plain or (is_set and not _contains(column.dtype, positive)):
            return None
    for n_first, column in product((1, _BLOCK, None), columns):
        if negative is None:
            differs = column[:n_first] != positive
            if differs.any():
                negative = column[differs.argmax()]
    if negative is None:
        return None, positive
    is_plain = is_text or (math.isfinite(negative) and negative == int(negative))
    return (negative.item(), positive) if is_plain else None


def _contains(dtype: np.dtype[Any], label: Any) -> bool:
    """Whether a label can be represented in a dtype of numbers."""
    with suppress(OverflowError, ValueError), np.errstate(all="ignore"):
        return bool(np.array(label).astype(dtype).item() == label)
    return False


def label_or_1(pos_label: Any) -> Any:
    """Check and return the positive label, which is 1 by default."""
    return 1 if pos_label is None else check_label(pos_label, "pos_label")


def check_label(label: Any, name: str) -> Any:
    """Check the type of a label."""
    if not isinstance(label, _LABEL_TYPES):
        raise TypeError(
            f"{name} must be a number, a boolean or a string, got {label!r}"
        )
    return label


def check_labels(labels: Any) -> list[Any]:
    """Check that the option `labels` contains distinct numbers, booleans or strings."""
    sized = is_iterable(labels) and hasattr(labels, "__len__")
    listed = list(labels) if sized and not isinstance(labels, str) else []
    if not listed:
        raise ValueError(f"labels must be a list of at least one label, got {labels!r}")
    checked = [check_label(label, "each of labels") for label in listed]
    if len(set(checked)) < len(checked):
        raise ValueError(f"labels must be distinct, got {labels!r}")
    return checked


def check_two_labels(labels: Sequence[Any], source: str) -> None:
    """Check that at most two labels occur."""
    if len(labels) > 2:
        listed = [*map(repr, labels[:10]), "..."][: len(labels)]
        raise ValueError(
            f"{source} must contain two labels, got {len(labels)}: "
            f"{', '.join(listed)}; compare one class with the rest, as in y == label, "
            "or average over all classes, as in f1_macro"
        )


def order_labels(labels: list[Any], pos_label: Any, optional: bool) -> list[Any]:
    """Return the negative and the positive label as a list.

    A label that does not occur is None. If `optional` is true and no positive label is
    passed, the order of `labels` is kept.
    """
    padded = [None] * (2 - len(labels)) + labels
    if optional and pos_label is None:
        return padded
    code = check_pos_label(pos_label, padded)
    return [padded[1 - code], label_or_1(pos_label)]


def check_pos_label(pos_label: Any, classes: Sequence[Any]) -> int:
    """Return the code of the positive label, or raise an error if it is unknown."""
    positive = label_or_1(pos_label)
    if positive in classes:
        return classes.index(positive)
    if None in classes and isinstance(classes[-1], str) == isinstance(positive, str):
        return classes.index(None)
    labels = sorted(label for label in classes if label is not None)
    got = f"{pos_label!r}"
    if pos_label is None:
        got = "none; set it to the label that counts as positive, as in "
        got += f"pos_label={labels[-1]!r}"
    raise ValueError(f"pos_label must be one of the labels {labels}, got {got}")


def check_no_pos_label(pos_label: Any, where: str) -> None:
    """Check that no positive label is passed."""
    if pos_label is not None:
        raise ValueError(f"pos_label must not be set for {where}, got {pos_label!r}")


def check_all_labels(labels: Any, vocabulary: Vocabulary) -> None:
    """Check that `labels` contains all classes, ordered like the score columns."""
    listed = np.asarray(labels).tolist()
    kind, classes = "targets", [*vocabulary.classes]
    if not vocabulary.multilabel:
        kind = "labels"
        classes = sorted(label for label in classes if label is not None)
    if listed != classes:
        raise ValueError(
            f"labels must be {classes}, all {kind} in the order of the score columns, "
            f"got {listed}"
        )


def is_multilabel(y_true: Any) -> bool:
    """Whether labels have several targets, one for each column."""
    shape = shape_of(y_true)
    return len(shape) == 2 and shape[1] > 1


def check_one_target(vocabulary: Vocabulary, name: str) -> None:
    """Check that the data have a single target."""
    if vocabulary.multilabel:
        raise ValueError(
            f"y_true must have a single target for {name!r}, got "
            f"{len(vocabulary.targets)}"
        )


def check_indicators(values: Any, name: str) -> Array:
    """Check that multilabel targets are 0 or 1, and convert them to booleans."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    matrix = as_array(dense, name, "an array with a column for each target")
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each target, got "
            f"shape {matrix.shape}"
        )
    numbers = matrix
    if matrix.dtype.kind == "O":  # such as nullable types
        with suppress(TypeError, ValueError):
            numbers = as_numbers(matrix, name, missing=True)
    present: Array = numbers == 1
    if numbers.dtype.kind not in "biuf" or not (present | (numbers == 0)).all():
        entries = matrix.ravel().tolist()
        other = next((x for x in entries if is_null(x) or x not in (0, 1)), None)
        raise ValueError(
            f"{name} must contain 0 or 1 for each target, got {other!r}, of dtype "
            f"{matrix.dtype}{TAGS_HINT * isinstance(other, str)}"
        )
    return present


def check_confusion_matrix(matrix: Any) -> Array:
    """Check a confusion matrix: a square matrix of nonnegative integers."""
    counts = as_array(matrix, "matrix", "a confusion matrix")
    if counts.ndim != 2 or len(set(counts.shape)) > 1 or len(counts) < 2:
        raise ValueError(
            "matrix must be a confusion matrix with a row for each true label and a "
            f"column for each predicted label, got shape {counts.shape}"
        )
    if counts.dtype.kind not in "iuf" or not np.isfinite(counts).all():
        raise ValueError(f"matrix must contain counts, got {counts.tolist()}")
    if (counts < 0).any() or (counts != np.floor(counts)).any() or not counts.any():
        raise ValueError(
            "matrix must contain integers, none negative and not all zero, "
            f"got {counts.tolist()}"
        )
    return counts.astype(float)


def count_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> tuple[Array, Array] | None:
    """Count the distinct rows of several columns that contain two labels.

    The first result contains the distinct rows in lexicographic order, as a bool array
    of shape (m, columns) in which True is the positive label. The second result
    contains the count of each distinct row. Returns None if an entry is neither of the
    two labels. `negative` is None if only the positive label is known. At most
    `DENSE_COLUMNS` columns are allowed.
    """
    n, table = len(columns[0]), np.zeros(1 << len(columns), dtype=np.intp)
    for start in range(0, n, _CACHED):
        rows = slice(start, start + _CACHED)
        block = columns if n <= _CACHED else [column[rows] for column in columns]
        codes = encode_two_labels(block, positive, negative)
        if codes is None:
            return None
        table += _tabulate(codes.T)
    outcomes, seen = _all_outcomes(len(columns)), table > 0
    return (outcomes, table) if seen.all() else (outcomes[seen], table[seen])


def encode_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> Array | None:
    """Encode columns that contain two labels as a bool array of shape (n, columns).

    True represents the positive label. Returns None if a column also contains another
    label.
    """
    codes = np.empty((len(columns), len(columns[0])), dtype=bool)
    for column, is_positive in zip(columns, codes, strict=True):
        if column.dtype.kind == "b" and {positive, negative} == {0, 1}:
            # Logical operations write 0 and 1 for any byte that represents True;
            # comparisons of booleans do not in all releases of numpy.
            np.logical_not(column, out=is_positive)
            if positive:
                np.logical_not(is_positive, out=is_positive)
        else:
            np.equal(column, positive, out=is_positive)
            n_others = len(column) - np.count_nonzero(is_positive)
            if np.count_nonzero(column == negative) != n_others:
                return None
    return codes.T


@lru_cache
def _all_outcomes(n_columns: int) -> Array:
    """Return all combinations of booleans in lexicographic order."""
    numbers = np.arange(1 << n_columns)[:, np.newaxis]
    return read_only((numbers >> np.arange(n_columns)[::-1] & 1).astype(bool))


def _tabulate(block: Array) -> Any:
    """Count the rows with each combination of booleans.

    The counts are in the lexicographic order of the combinations.
    """
    size = 1 << len(block)
    if size == 4:
        both = np.count_nonzero(block[0] & block[1])
        truth, response = np.count_nonzero(block[0]), np.count_nonzero(block[1])
        neither = block.shape[1] - truth - response + both
        return np.array([neither, response - both, truth - both, both])
    numbers = _as_numbers(block)
    if size <= 8:  # comparing bytes is faster than bincount, which widens them
        return np.array([np.count_nonzero(numbers == code) for code in range(size)])
    return np.bincount(numbers, minlength=size)


def _as_numbers(block: Array) -> Array:
    """Combine up to 16 bool columns into one integer per row, with a bit per column."""
    numbers = block[0].astype(np.uint8 if len(block) <= 8 else np.uint16)
    for column in block[1:]:
        np.add(numbers, numbers, out=numbers)
        np.add(numbers, column, out=numbers)
    return numbers
