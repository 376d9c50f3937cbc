"""Checks of columns with a value for each row: labels, numbers, scores and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.lib.recfunctions import unstructured_to_structured

from skci._arrays import Array, factorise
from skci._options import short_repr
from skci._validation import (
    TAGS_HINT,
    as_array,
    as_numbers,
    check_number,
    column_names,
    is_missing,
    is_null,
)
from skci.exceptions import warn_caller
from skci.inference.parameter import DEFAULT_MODEL

_LABEL_KINDS = "biufOU"  # dtype kinds of labels: numbers, objects, text
_PROBABILITY_ERROR = 1e-3  # maximum error of the sum of all probabilities
_SINGLE = float(np.finfo(np.float32).eps)
_MANY_ROWS = 10  # minimum number of rows for integer scores to look like labels
_SURVIVAL = (
    "an array of events, 0 or 1, and times: a structured array with two fields, as in "
    "scikit-survival, or two columns, the event first"
)
_MAX_NAMES = 5  # maximum number of rows named in a message
RUNS_HINT = (
    "runs of one model, such as training seeds, as skci.designs.Runs(list(array.T))"
)
"""Hint if predictions of several runs are passed in one array."""
SEVERAL_MODELS_HINT = (
    "; to report on several models, pass them by name, as {'A': ..., 'B': ...}, and "
    f"{RUNS_HINT}"
)
"""Hint if predictions of several models, or runs, are passed in one array."""
ONE_MODEL_HINT = "; pass all columns of a model together, as in y_score={'A': frame}"
"""Hint for a single column of scores if several columns are needed."""
MISSING_SUBGROUP_HINT = "; missing='group' puts rows without a name in a subgroup"
"""Hint for missing values among the names of subgroups."""


def parameter_name(model: str, parameter: str = "y_pred") -> str:
    """Name of a model's predictions in messages, such as "y_pred['A']"."""
    is_unnamed = model in ("", DEFAULT_MODEL, parameter)
    return parameter if is_unnamed else f"{parameter}[{model!r}]"


def as_column(
    values: Any, name: str, several: str = "several targets need averages, as f1_macro"
) -> Array:
    """Convert labels to a one-dimensional array.

    If there are several columns, an error is raised. The message ends with `several`.
    """
    requirement = "a one-dimensional array of labels"
    column = values
    if type(values) is not np.ndarray or values.dtype.kind not in _LABEL_KINDS:
        column = as_array(values, name, requirement)
    if column.ndim != 1:
        column = flat(column)
    if column.ndim != 1:
        hint = probabilities_hint(column)
        if column.ndim == 2 and not hint:
            hint = f"; {several}"
            if name.startswith("y_pred"):
                hint += f"; joint_report accepts {RUNS_HINT}"
        raise ValueError(
            f"{name} must be {requirement}, got an array of shape {column.shape}{hint}"
        )
    if column.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            f"{name} must contain labels that are numbers, booleans or strings, "
            f"got dtype {column.dtype}"
        )
    return column


def check_no_tags(values: Any, name: str) -> None:
    """Refuse labels that are tags, such as a list or a set of texts in each row."""
    first = values[0] if isinstance(values, list | tuple) and values else None
    if hasattr(values, "to_numpy") and len(getattr(values, "shape", ())) == 1:
        first = next(iter(values), None)  # first row of a series
        for convert in ("tolist", "to_list"):
            if hasattr(first, convert):
                first = getattr(first, convert)()
    texts = isinstance(first, list | tuple) and {*map(type, first)} == {str}
    if name.startswith("y") and (texts or isinstance(first, set | frozenset)):
        raise ValueError(
            f"{name} must be an array with a column of 0 and 1 for each tag, got "
            f"{short_repr(first)} in row 0{TAGS_HINT}"
        )


def probabilities_hint(values: Any) -> str:
    """Return advice for an error message if labels are a matrix of probabilities.

    For other labels, the result is an empty string.
    """
    array = np.asarray(values)
    is_matrix = array.ndim == 2 and array.shape[1] > 1 and len(array) > 0
    if array.dtype.kind != "f" or not is_matrix:
        return ""
    if not np.abs(array.sum(axis=1) - 1).max() <= _PROBABILITY_ERROR:
        return ""
    return (
        "; the rows add up to 1, like the output of predict_proba(X): pass "
        "predict(X), or pass probabilities as y_score to metrics of scores"
    )


def flat(array: Array) -> Array:
    """Convert a matrix with a single column to one dimension."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_length(values: Array, n: int, name: str, truth: str, hint: str = "") -> None:
    """Check that there is one value per row."""
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}{hint}"
        )


def check_present(
    values: Iterable[Any],
    name: str,
    requirement: str,
    positions: Array | None = None,
    hint: str = "",
) -> None:
    """Check that no value is missing or infinite.

    If `values` are the distinct values of a column, `positions` contains an index in
    `values` for each row of the column. The error then names the first affected row. If
    a value is missing, the error ends with `hint`.
    """
    for k, value in enumerate(values):
        if is_missing(value):
            row = "" if positions is None else f" in row {np.argmax(positions == k)}"
            remedy = hint if is_null(value) else ""
            raise ValueError(
                f"{name} must {requirement}, got a missing or infinite value{row}: "
                f"{value}{remedy}"
            )


def answer_hint(name: str, labels: Iterable[Any] = ()) -> str:
    """Return a remedy for missing predicted labels, for the end of an error message.

    If `name` does not refer to predicted labels, the remedy is an empty string.
    """
    if not name.startswith("y_pred"):
        return ""
    label = -1 if any(isinstance(x, Real) and x == x for x in labels) else "no answer"
    return (
        f"; fill in a label for no answer, such as {label!r}, which counts as wrong, "
        f"or as no answer with abstain={label!r}"
    )


def check_numbers(
    values: Any, name: str, n: int | None = None, hint: str = "", missing: bool = False
) -> Array:
    """Check that values are n finite numbers in a single column.

    If `n` is None, the column may have any length. If there are several columns, the
    error ends with `hint`. If `missing` is true, numbers may be NaN.
    """
    numbers = flat(as_numbers(values, name, missing=missing))
    if n is None and (numbers.ndim != 1 or not len(numbers)):
        raise ValueError(
            f"{name} must contain at least one number and have one dimension, got "
            f"shape {numbers.shape}"
        )
    if numbers.ndim == 2 and len(numbers) == n:
        raise ValueError(
            f"{name} must be one column, such as predict_proba(X)[:, 1], got shape "
            f"{numbers.shape}{hint}"
        )
    check_length(numbers, len(numbers) if n is None else n, name, "y_true")
    return numbers


def check_thresholds(values: Any, name: str = "thresholds") -> Array:
    """Check that thresholds are distinct when printed with six digits."""
    thresholds = check_numbers(values, name)
    names = [f"{threshold:g}" for threshold in thresholds]
    if len(set(names)) < len(names):
        raise ValueError(
            f"{name} must be distinct when printed with six digits, got {names}"
        )
    return thresholds


def check_columns(values: Any, name: str, missing: bool = False) -> Array:
    """Check finite numbers, and return a matrix with a column for each target.

    If `missing` is true, numbers may be NaN.
    """
    numbers = as_numbers(values, name, missing=missing)
    columns = numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
    if columns.ndim != 2 or not columns.size:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each target, got "
            f"shape {numbers.shape}"
        )
    return columns


def quantile_levels(values: Any) -> dict[float, Any]:
    """Return a dict from quantile levels to column names of quantile predictions.

    The result is empty unless all names are distinct numbers between 0 and 1.
    """
    names = [*values] if isinstance(values, Mapping) else column_names(values) or []
    try:
        levels = {float(name): name for name in names}
    except (TypeError, ValueError):
        return {}
    are_levels = len(levels) == len(names) and all(0 < level < 1 for level in levels)
    return levels if are_levels else {}


def as_items(values: Any, name: str) -> Array:
    """Convert values to an array with one item per row, without changing the items.

    Arrays and data frames are split by row. Other sequences are converted to an array
    of objects, such as strings, lists or mappings. Predicted quantiles are stored as
    records, with a field for each quantile level in ascending order.
    """
    if levels := quantile_levels(values):
        columns = {
            level: check_numbers(values[key], f"{name}[{key!r}]")
            for level, key in sorted(levels.items())
        }
        sizes = [*map(len, columns.values())]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"{name} must have the same number of rows at all quantile levels, got "
                f"{sizes} rows"
            )
        matrix = np.stack([*columns.values()], axis=1)
        return unstructured_to_structured(matrix, names=[*map(repr, columns)])
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sized):
            raise TypeError(
                f"{name} must be a sequence with an item for each row, or a mapping of "
                f"levels between 0 and 1 to quantiles, got {short_repr(values)}"
            )
        values = np.fromiter(iter(values), dtype=object, count=len(values))  # type: ignore[call-overload]
    if not values.ndim or not len(values):
        raise ValueError(f"{name} must contain at least one row, got none")
    if values.dtype.kind == "O" and values.ndim == 1:
        for row, item in enumerate(values):
            if not hasattr(item, "__len__") and is_null(item):
                raise ValueError(
                    f"{name} must have an item in each row, got a missing value in row "
                    f"{row}: {item}; represent an empty item by '' or []"
                )
    return values


def check_same_shape(values: Array, name: str, truth: Array, truth_name: str) -> Array:
    """Check that there is one value per row and target."""
    if values.shape != truth.shape:
        has_columns = values.ndim == 2 and len(values) == len(truth)
        runs = f"; joint_report accepts y_true and y_pred by metric, and {RUNS_HINT}"
        raise ValueError(
            f"{name} must have the same shape as {truth_name}, {truth.shape}, got "
            f"{values.shape}{runs * has_columns}"
        )
    return values


def check_same_models(y_pred: Iterable[str], y_score: Iterable[str]) -> None:
    """Check that predictions and scores are from the same models."""
    if {*y_pred} != {*y_score}:
        raise ValueError(
            f"y_score must have the same models as y_pred, {list(y_pred)}, got "
            f"{list(y_score)}"
        )


def warn_of_labels(column: Array, name: str, labels: Sequence[Any]) -> None:
    """Warn if integer scores look like predicted labels.

    Floats are not checked, because the scores of decision trees may all be 0 or 1.
    """
    if len(column) < _MANY_ROWS:
        return
    distinct = set(factorise(column.ravel())[0].tolist())
    if distinct <= {0, 1} or distinct <= set(labels):
        warn_caller(
            f"{name} has only the values {' and '.join(map(str, sorted(distinct)))}, "
            "like predicted labels; pass scores, such as predict_proba(X)[:, 1] or "
            "decision_function(X), or convert the values to floats if they are scores",
            UserWarning,
        )


def shape_of(values: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of a list of rows.

    The first row of a list determines the number of columns. The result is () if there
    are no rows.
    """
    if isinstance(values, list | tuple) and values:
        try:
            return (len(values), *np.shape(values[0]))
        except ValueError:  # rows of different lengths
            return (len(values),)
    return tuple(getattr(values, "shape", None) or ())


def clip_to_unit(
    values: Array, name: str, use: str, hint: str = "", eps: float = _SINGLE
) -> Array:
    """Check that numbers are between 0 and 1, and clip rounding errors.

    The allowed rounding error is at least the rounding error of single precision.
    """
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return values
    excess = max(-low, high - 1)
    if excess > 2 * max(eps, _SINGLE):
        remedy = "; np.clip(..., 0, 1) clips rounding errors"
        remedy *= excess <= _PROBABILITY_ERROR
        if low >= 0 and 10 < high <= 100:
            remedy = "; divide percentages by 100"
        raise ValueError(
            f"{name} must contain probabilities {use}, got values from {low} to "
            f"{high}{remedy}{hint}"
        )
    return np.clip(values, 0, 1)


def check_probabilities(
    scores: Array, model: str, what: str, hint: str = "", eps: float = _SINGLE
) -> Array:
    """Check that scores are probabilities that add up to 1 over all labels."""
    name = parameter_name(model, "y_score")
    scores = clip_to_unit(scores, name, f"for {what}", hint, eps)
    if scores.ndim == 2:
        totals = scores.sum(axis=1)
        worst = totals[np.abs(totals - 1).argmax()]
        if abs(worst - 1) > _PROBABILITY_ERROR:
            raise ValueError(
                f"{name} must contain probabilities of all labels for {what}, got a "
                f"row with the sum {worst:g}; divide each row by its sum, as in "
                f"y_score / y_score.sum(axis=1, keepdims=True){hint}"
            )
    return scores


@dataclass(eq=False)
class Alignment:
    """Checker that pandas objects have rows and columns in the same order."""

    _checked: list[tuple[str, str, Any]] = field(default_factory=list, init=False)

    def check(
        self, name: str, values: Any, axes: Sequence[str] = ("index", "columns")
    ) -> None:
        """Check that rows and columns are in the same order as in earlier objects.

        Two objects may have different column labels. If both objects have the same
        labels, the labels must be in the same order. A default index (0, 1, ...) agrees
        with any index that is not a range, such as the index of a test set after a
        random split.
        """
        index = getattr(values, "index", None)
        if "index" in axes and hasattr(index, "equals"):
            self._check(name, "index", index)
        if "columns" in axes and (names := column_names(values)) is not None:
            self._check(name, "columns", names)

    def _check(self, name: str, axis: str, labels: Any) -> None:
        for other, checked_axis, checked in self._checked:
            if axis != checked_axis or len(labels) != len(checked):
                continue
            if labels.equals(checked) if axis == "index" else labels == checked:
                return
            is_subset = all(x in checked for x in labels)
            if is_subset and Counter(labels) == Counter(checked):
                raise ValueError(
                    f"{name} must have the same {axis} as {other}, got the same labels "
                    "in another order; reorder with .loc, or pass .to_numpy() to use "
                    "positions"
                )
            if axis == "index" and not _may_be_new(labels, checked):
                unknown = next((x for x in labels if x not in checked), labels[0])
                raise ValueError(
                    f"{name} must have the same index as {other}, got other labels, "
                    f"such as {unknown!r}; select the same rows with .loc, or pass "
                    ".to_numpy() to use positions"
                )
        self._checked.append((name, axis, labels))


def _may_be_new(*indexes: Any) -> bool:
    """Whether one index is the range 0, 1, ..., and another index is not a range."""
    ranges = [labels for labels in indexes if hasattr(labels, "step")]
    is_new = any((labels.start, labels.step) == (0, 1) for labels in ranges)
    return is_new and len(ranges) < len(indexes)


def check_survival(y_true: Any, name: str = "y_true") -> Array:
    """Check survival data, and return a matrix with columns for events and times."""
    fields = getattr(getattr(y_true, "dtype", None), "names", None)
    if fields is None:
        y_true = as_array(y_true, name, "an array of events and times")
        fields = y_true.dtype.names
    if fields is None:
        columns = as_numbers(y_true, name)
    elif len(fields) != 2:
        raise ValueError(f"{name} must be {_SURVIVAL}, got the fields {list(fields)}")
    else:
        parts = [as_numbers(y_true[field], f"{name}[{field!r}]") for field in fields]
        columns = np.column_stack(parts)
    if columns.ndim != 2 or columns.shape[1] != 2 or not len(columns):
        raise ValueError(f"{name} must be {_SURVIVAL}, got shape {columns.shape}")
    event, time = columns.T
    invalid = event[(event != 0) & (event != 1)]
    if len(invalid):
        raise ValueError(f"{name} must be {_SURVIVAL}, got the event {invalid[0]:g}")
    if time.min() < 0:
        raise ValueError(f"{name} must have times of 0 or more, got {time.min():g}")
    return columns


def check_time(time: Any, name: str = "time") -> float:
    """Check a time at which survival is evaluated."""
    requirement = "a number above 0"
    return float(check_number(time, name, requirement, lambda x: 0 < x < np.inf))


def event_by(y_true: Any, time: float) -> Array:
    """Convert survival times to labels: 1 for an event by a given time, 0 otherwise.

    The labels can be passed to metrics that read labels or scores. If a row is censored
    before the time, its label is unknown. Such rows raise an error, because leaving out
    the rows would bias the estimates. Two kinds of metrics account for censored rows:
    survival metrics, such as :class:`~skci.CumulativeDynamicAucCI`, and net benefit and
    calibration with a time, such as ``NetBenefitCI(0.2, time=365)``.

    Parameters
    ----------
    y_true : structured array with two fields, or array-like of shape (n_samples, 2)
        Event (0 or 1) and time of each row.
    time : float
        Time, above 0. A row that is censored at this time has the label 0.

    Returns
    -------
    ndarray of shape (n_samples,)
        1 if the event is at or before the time, and 0 otherwise.

    Raises
    ------
    ValueError
        If rows are censored before the time; the error lists these rows.

    Examples
    --------
    >>> import skci
    >>> skci.event_by([(1, 3.0), (0, 9.0), (1, 7.5)], time=5)
    array([1, 0, 0])
    """
    event, until = check_survival(y_true).T
    time = check_time(time)
    rows = np.flatnonzero((event == 0) & (until < time))
    if len(rows):
        row_list = ", ".join(map(str, rows[:_MAX_NAMES]))
        more = ", ..." if len(rows) > _MAX_NAMES else ""
        raise ValueError(
            f"y_true must not have rows that are censored before time={time:g}, "
            f"because their labels are unknown, got {len(rows)} such rows: "
            f"{row_list}{more}. Metrics of survival account for censored rows; "
            f"examples are 'cumulative_dynamic_auc@{time:g}', "
            f"'survival_brier@{time:g}' and 'net_benefit@0.2@{time:g}'"
        )
    return ((event == 1) & (until <= time)).astype(int)
