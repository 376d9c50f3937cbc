"""Checking columns that are given row by row: labels, numbers, scores and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.lib.recfunctions import unstructured_to_structured

from skci._arrays import Array, factorise
from skci._options import brief
from skci._validation import (
    TAGS_HINT,
    as_array,
    as_numbers,
    check_number,
    column_names,
    is_missing,
    is_null,
    label_order,
)
from skci.exceptions import warn_caller
from skci.inference.parameter import DEFAULT_MODEL

_LABEL_KINDS = "biufOU"  # dtypes of labels: numbers, objects, text
_PROBABILITY_ERROR = 1e-3  # largest error of the sum of all probabilities
_SINGLE = float(np.finfo(np.float32).eps)
_MANY_ROWS = 10  # fewest rows of which integers for scores are taken for labels
_EVENTS = (
    "; skci.event_by makes labels of events and times, where no row is censored before "
    "the time; metrics with a time allow for such rows, as NetBenefitCI(0.2, time=365)"
)
_SURVIVAL = (
    "must have the event, 0 or 1, and the time of each row: a structured array of two "
    "fields, as scikit-survival's, or two columns, the event first"
)
_MOST_NAMED = 5  # rows in a message
RUNS_HINT = (
    "runs of one model, such as training seeds, as skci.designs.Runs(list(array.T))"
)
"""Hint for predictions of several runs in one array."""
SEVERAL_MODELS_HINT = (
    "; a report of several models takes them by name, as {'A': ..., 'B': ...}, and "
    f"{RUNS_HINT}"
)
"""Hint for predictions of several models, or runs, in one array."""
ONE_MODEL_HINT = "; the columns of a model go together, as in y_score={'A': frame}"
"""Hint for a single column of scores where there are several."""
MISSING_SUBGROUP_HINT = "; missing='group' makes a subgroup of the rows without one"
"""Hint for missing values among the names of subgroups."""


def parameter_name(model: str, parameter: str = "y_pred") -> str:
    """Name of the column of a model in messages, as it was passed."""
    return parameter if model in ("", DEFAULT_MODEL) else f"{parameter}[{model!r}]"


def as_column(
    values: Any, name: str, several: str = "several targets need averages, as f1_macro"
) -> Array:
    """Make a one-dimensional array of labels; `several` says what to do with more."""
    wanted = "a one-dimensional array of labels"
    check_no_tags(values, name)
    column = as_array(values, name, wanted)
    if column.ndim != 1:
        column = flat(column)
    if column.ndim != 1:
        more = probabilities_hint(column)
        if column.ndim == 2 and not more:
            more = f"; {several}"
            if column.shape[1] == 2 and name.startswith("y_true"):
                more += _EVENTS
            if name.startswith("y_pred"):
                more += f"; joint_report takes {RUNS_HINT}"
        raise ValueError(
            f"{name} must be {wanted}, got an array of shape {column.shape}{more}"
        )
    if column.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            f"{name} must hold labels that are numbers, booleans or strings, "
            f"got dtype {column.dtype}{_EVENTS if column.dtype.names else ''}"
        )
    return column


def check_no_tags(values: Any, name: str) -> None:
    """Check that rows are not lists of texts, or sets, which are tags."""
    if isinstance(values, np.ndarray):
        return
    first = values[0] if isinstance(values, list | tuple) and values else None
    if hasattr(values, "to_numpy") and len(getattr(values, "shape", ())) == 1:
        first = next(iter(values), None)  # of a series
        for convert in ("tolist", "to_list"):
            if hasattr(first, convert):
                first = getattr(first, convert)()
    texts = isinstance(first, list | tuple) and {*map(type, first)} == {str}
    if name.startswith("y") and (texts or isinstance(first, set | frozenset)):
        raise ValueError(
            f"{name} must be an array with a column of 0 and 1 for each tag, got "
            f"{brief(first)} in row 0{TAGS_HINT}"
        )


def probabilities_hint(values: Any) -> str:
    """Say what to do with a matrix of probabilities that is given for labels."""
    array = np.asarray(values)
    is_matrix = array.ndim == 2 and array.shape[1] > 1 and len(array) > 0
    if array.dtype.kind != "f" or not is_matrix:
        return ""
    if np.abs(array.sum(axis=1) - 1).max() > _PROBABILITY_ERROR:
        return ""
    return (
        "; the rows add up to 1, as those of predict_proba(X): give predict(X), or "
        "probabilities as y_score to metrics of scores"
    )


def flat(array: Array) -> Array:
    """Make one dimension of a single column."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_length(values: Array, n: int, name: str, truth: str) -> None:
    """Check that there is an entry for each row."""
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}"
        )


def check_present(
    values: Iterable[Any], must: str, positions: Array | None = None, hint: str = ""
) -> None:
    """Check that no value is missing or infinite, else raise what they must be.

    The error tells the first row of the value, if the value of each row is known by
    its position, and the hint for a missing one.
    """
    for k, value in enumerate(values):
        if is_missing(value):
            row = "" if positions is None else f" in row {np.argmax(positions == k)}"
            known = hint if is_null(value) else ""
            raise ValueError(
                f"{must}, got a missing or infinite value{row}: {value}{known}"
            )


def answer_hint(name: str, labels: Iterable[Any] = ()) -> str:
    """Say what to do with rows that a model did not answer; empty for a truth."""
    if not name.startswith("y_pred"):
        return ""
    label = -1 if any(isinstance(x, Real) and x == x for x in labels) else "no answer"
    return (
        f"; fill in a label for no answer, such as {label!r}, which counts as wrong, "
        f"or is left out with abstain={label!r}"
    )


def check_numbers(
    values: Any,
    name: str,
    n: int | None = None,
    hint: str = "",
    missing: bool = False,
) -> Array:
    """Check finite numbers, one for each of n rows, or any number of them.

    The hint is for several columns; some numbers may be `missing`.
    """
    numbers = flat(as_numbers(values, name, missing=missing))
    if n is None and (numbers.ndim != 1 or not len(numbers)):
        raise ValueError(
            f"{name} must hold at least one number and have one dimension, got shape "
            f"{numbers.shape}"
        )
    if numbers.ndim == 2 and len(numbers) == n:
        raise ValueError(
            f"{name} must be one column, such as predict_proba(X)[:, 1], got shape "
            f"{numbers.shape}{hint}"
        )
    check_length(numbers, len(numbers) if n is None else n, name, "y_true")
    return numbers


def check_thresholds(values: Any, name: str = "thresholds") -> Array:
    """Check numbers whose names in a report, of six digits, are distinct."""
    thresholds = check_numbers(values, name)
    names = [f"{threshold:g}" for threshold in thresholds]
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must differ in six digits, got {names}")
    return thresholds


def check_columns(values: Any, name: str, missing: bool = False) -> Array:
    """Check finite numbers, a column or several, as an array of shape (n, columns).

    Some of them may be `missing`.
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
    """Names of the columns of a mapping or a data frame, by the levels that they are.

    None are returned unless all names are distinct numbers between 0 and 1.
    """
    names = [*values] if isinstance(values, Mapping) else column_names(values) or []
    try:
        levels = {float(name): name for name in names}
    except (TypeError, ValueError):
        return {}
    are_levels = len(levels) == len(names) and all(0 < level < 1 for level in levels)
    return levels if are_levels else {}


def as_items(values: Any, name: str) -> Array:
    """Make an array of the items of rows, (n, ...), each left as it is.

    An array or a data frame keeps its rows; of any other sequence each entry is an
    object, whether it is a string, a list, an array or a mapping. Quantiles by their
    levels are records, whose fields have the levels as names, in ascending order.
    """
    if levels := quantile_levels(values):
        columns = {
            level: check_numbers(values[key], f"{name}[{key!r}]")
            for level, key in sorted(levels.items())
        }
        sizes = [*map(len, columns.values())]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"{name} must have quantiles of the same rows at all levels, got "
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
                f"levels between 0 and 1 to quantiles, got {brief(values)}"
            )
        values = np.fromiter(iter(values), dtype=object, count=len(values))  # type: ignore[call-overload]
    if not values.ndim or not len(values):
        raise ValueError(f"{name} must hold at least one row, got none")
    if values.dtype.kind == "O" and values.ndim == 1:
        for row, item in enumerate(values):
            if not hasattr(item, "__len__") and is_null(item):
                raise ValueError(
                    f"{name} must have an item in each row, got a missing value in row "
                    f"{row}: {item}; an empty item is one, such as '' or []"
                )
    return values


def check_same_shape(values: Array, name: str, truth: Array, truth_name: str) -> Array:
    """Check that there is an entry for each row and target of the truth."""
    if values.shape != truth.shape:
        has_columns = values.ndim == 2 and len(values) == len(truth)
        runs = f"; joint_report takes y_true and y_pred by metric, and {RUNS_HINT}"
        raise ValueError(
            f"{name} must have the shape of {truth_name}, {truth.shape}, got "
            f"{values.shape}{runs * has_columns}"
        )
    return values


def check_same_models(y_pred: Iterable[str], y_score: Iterable[str]) -> None:
    """Check that labels and scores are those of the same models."""
    if {*y_pred} != {*y_score}:
        raise ValueError(
            f"y_score must name the models of y_pred, {list(y_pred)}, got "
            f"{list(y_score)}"
        )


def warn_of_labels(values: Any, name: str, labels: Sequence[Any]) -> None:
    """Warn of scores that look like predicted labels.

    Floats do not: trees and nearest neighbours may give probabilities of 0 and 1 alone.
    """
    column = as_array(values, name, "an array of numbers")
    if column.dtype.kind not in "biu" or len(column) < _MANY_ROWS:
        return
    found = set(factorise(column.ravel())[0].tolist())
    if found <= {0, 1} or found <= set(labels):
        warn_caller(
            f"{name} holds {' and '.join(map(str, sorted(found)))} only, as predicted "
            "labels do; give scores, such as predict_proba(X)[:, 1] or "
            "decision_function(X), or floats if these are scores",
            UserWarning,
        )


def of_targets(values: Any, name: str, n: int, targets: Sequence[Any]) -> Any:
    """Take the probabilities of 1 of each target, of a list of arrays of two columns.

    Estimators such as MultiOutputClassifier return such lists. Other scores are
    returned as they are.
    """
    shape = shape_of(values)
    if len(shape) != 3 or shape[:2] != (len(targets), n):
        return values
    columns = []
    for target, each in zip(targets, values, strict=True):
        if (found := shape_of(each)) != (n, 2):
            raise ValueError(
                f"{name} must have a column for 0 and one for 1 of each target, got "
                f"shape {found} for {target!r}; give an array with the probability of "
                "1 of each target"
            )
        order = label_order(each, (0, 1), name)
        array = as_numbers(each, name)
        columns.append(array[:, 1 if order is None else order[1]])
    return np.stack(columns, axis=1)


def shape_of(values: Any) -> tuple[int, ...]:
    """Shape of rows by the first one; none of what is no array, list or tuple."""
    if isinstance(values, list | tuple) and values:
        try:
            return (len(values), *np.shape(values[0]))
        except ValueError:  # of parts of different lengths
            return (len(values),)
    return tuple(getattr(values, "shape", None) or ())


def clip_to_unit(
    values: Array, must: str, hint: str = "", eps: float = _SINGLE
) -> Array:
    """Check numbers from 0 to 1, of which rounding errors are clipped.

    These are of their type, or of single precision, which they may have had before.
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
        raise ValueError(f"{must}, got values from {low} to {high}{remedy}{hint}")
    return np.clip(values, 0, 1)


def check_probabilities(
    scores: Array, model: str, what: str, hint: str = "", eps: float = _SINGLE
) -> Array:
    """Check that scores are probabilities, which add up to 1 over all labels."""
    must = f"{parameter_name(model, 'y_score')} must hold probabilities"
    scores = clip_to_unit(scores, f"{must} for {what}", hint, eps)
    if scores.ndim == 2:
        totals = scores.sum(axis=1)
        worst = totals[np.abs(totals - 1).argmax()]
        if abs(worst - 1) > _PROBABILITY_ERROR:
            raise ValueError(
                f"{must} of all labels for {what}, got a row that adds up to "
                f"{worst:g}; divide each row by its sum, as in "
                f"y_score / y_score.sum(axis=1, keepdims=True){hint}"
            )
    return scores


class Alignment:
    """Row and column labels of pandas objects, which are read by position."""

    def __init__(self) -> None:
        self._known: list[tuple[str, str, Any]] = []

    def check(
        self, name: str, values: Any, axes: Sequence[str] = ("index", "columns")
    ) -> None:
        """Check that labels do not disagree with those of an earlier object.

        Labels of columns may be others, but not in another order. A new index from 0 on
        agrees with all indexes but ranges, as predictions for a part of a split.
        """
        if type(values) is np.ndarray:
            return
        index = getattr(values, "index", None)
        if "index" in axes and hasattr(index, "equals"):
            self._check(name, "index", index)
        if "columns" in axes and (names := column_names(values)) is not None:
            self._check(name, "columns", names)

    def _check(self, name: str, axis: str, labels: Any) -> None:
        for other, its_axis, known in self._known:
            if axis != its_axis or len(labels) != len(known):
                continue
            if labels.equals(known) if axis == "index" else labels == known:
                return
            if all(x in known for x in labels) and Counter(labels) == Counter(known):
                raise ValueError(
                    f"{name} must have the {axis} of {other}, got the same labels in "
                    "another order; reorder it by .loc, or give .to_numpy() to go by "
                    "position"
                )
            if axis == "index" and not _may_be_new(labels, known):
                unknown = next((x for x in labels if x not in known), labels[0])
                raise ValueError(
                    f"{name} must have the index of {other}, got other labels, such as "
                    f"{unknown!r}; take the same rows by .loc, or give .to_numpy() to "
                    "go by position"
                )
        self._known.append((name, axis, labels))


def _may_be_new(*indexes: Any) -> bool:
    """Whether one of two indexes counts rows from 0 on, and the other is no range."""
    is_range = [hasattr(labels, "step") for labels in indexes]
    is_new = [
        each and (labels.start, labels.step) == (0, 1)
        for each, labels in zip(is_range, indexes, strict=True)
    ]
    return any(is_new) and not all(is_range)


def check_survival(y_true: Any, name: str = "y_true") -> Array:
    """Check events and times of rows, as an array of shape (n, 2) of these."""
    fields = getattr(getattr(y_true, "dtype", None), "names", None)
    if fields is None:
        y_true = as_array(y_true, name, "an array of events and times")
        fields = y_true.dtype.names
    if fields is None:
        columns = as_numbers(y_true, name)
    elif len(fields) != 2:
        raise ValueError(f"{name} {_SURVIVAL}, got the fields {list(fields)}")
    else:
        parts = [as_numbers(y_true[field], f"{name}[{field!r}]") for field in fields]
        if y_true.dtype[fields[1]].kind == "b":
            raise ValueError(f"{name} {_SURVIVAL}, got the time first, {list(fields)}")
        columns = np.column_stack(parts)
    if columns.ndim != 2 or columns.shape[1] != 2 or not len(columns):
        raise ValueError(f"{name} {_SURVIVAL}, got shape {columns.shape}")
    event, time = columns.T
    strange = event[(event != 0) & (event != 1)]
    if len(strange):
        swapped = np.isin(time, (0, 1)).all()
        hint = "; is the time first?" if swapped else ""
        raise ValueError(f"{name} {_SURVIVAL}, got the event {strange[0]:g}{hint}")
    if time.min() < 0:
        raise ValueError(f"{name} must have times of 0 or more, got {time.min():g}")
    return columns


def check_time(time: Any, name: str = "time") -> float:
    """Check a time at which survival is looked at."""
    wanted = "a number above 0"
    return float(check_number(time, name, wanted, lambda x: 0 < x < np.inf))


def event_by(y_true: Any, time: float) -> Array:
    """Cut times to events: whether each row had its event by a time.

    Labels for metrics of labels and scores. They are known only of rows that were not
    censored before the time; leaving these out would bias what is estimated from the
    others, and so any such row is an error. Metrics of survival, such as
    :class:`~skci.CumulativeDynamicAucCI`, and net benefit and calibration by a time,
    such as ``NetBenefitCI(0.2, time=365)``, allow for censored rows.

    Parameters
    ----------
    y_true : structured array of two fields, or array-like of shape (n_samples, 2)
        Event, 0 or 1, and time of each row.
    time : float
        Time, above 0. A row that was censored at it had no event by it.

    Returns
    -------
    ndarray of shape (n_samples,)
        1 if the event was at or before the time, and else 0.

    Raises
    ------
    ValueError
        If rows were censored before the time, which are named.

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
        named = ", ".join(map(str, rows[:_MOST_NAMED]))
        more = ", ..." if len(rows) > _MOST_NAMED else ""
        raise ValueError(
            f"y_true must not be censored before time={time:g}, for labels to be "
            f"known, got {len(rows)} such rows: {named}{more}; metrics of survival, "
            f"such as 'cumulative_dynamic_auc@{time:g}', 'survival_brier@{time:g}' and "
            f"'net_benefit@0.2@{time:g}', allow for them"
        )
    return ((event == 1) & (until <= time)).astype(int)
