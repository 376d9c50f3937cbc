"""Times to events, some of which are censored: checking, and cutting at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import as_array, as_numbers, check_number

_WANTED = (
    "must have the event, 0 or 1, and the time of each row: a structured array of two "
    "fields, as scikit-survival's, or two columns, the event first"
)
_MOST_NAMED = 5  # rows in a message


def check_survival(y_true: Any, name: str = "y_true") -> Array:
    """Check events and times of rows, as an array of shape (n, 2) of these."""
    columns = _as_columns(y_true, name)
    if columns.ndim != 2 or columns.shape[1] != 2 or not len(columns):
        raise ValueError(f"{name} {_WANTED}, got shape {columns.shape}")
    event, time = columns.T
    strange = event[(event != 0) & (event != 1)]
    if len(strange):
        swapped = np.isin(time, (0, 1)).all()
        hint = "; is the time first?" if swapped else ""
        raise ValueError(f"{name} {_WANTED}, got the event {strange[0]:g}{hint}")
    if time.min() < 0:
        raise ValueError(f"{name} must have times of 0 or more, got {time.min():g}")
    return columns


def _as_columns(y_true: Any, name: str) -> Array:
    """Make numbers of the fields of a structured array, or of columns."""
    fields = getattr(getattr(y_true, "dtype", None), "names", None)
    if fields is None:
        array = as_array(y_true, name, "an array of events and times")
        fields = array.dtype.names
        y_true = array
    if fields is None:
        return as_numbers(y_true, name)
    if len(fields) != 2:
        raise ValueError(f"{name} {_WANTED}, got the fields {list(fields)}")
    kinds = [y_true.dtype[field].kind for field in fields]
    parts = [as_numbers(y_true[field], f"{name}[{field!r}]") for field in fields]
    if kinds[1] == "b":
        raise ValueError(f"{name} {_WANTED}, got the time first, {list(fields)}")
    return np.column_stack(parts)


def check_time(time: Any, name: str = "time") -> float:
    """Check a time at which survival is looked at."""
    wanted = "a number above 0"
    return float(check_number(time, name, wanted, lambda x: 0 < x < np.inf))


def event_by(y_true: Any, time: float) -> Array:
    """Cut times to events: whether each row had its event by a time.

    Labels for metrics of labels and scores. They are known only of rows that were not
    censored before the time; leaving these out would bias what is estimated from the
    others, and so any such row is an error. Metrics of survival, such as
    :class:`~skci.CumulativeDynamicAucCI`, allow for censored rows.

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
            f"such as 'cumulative_dynamic_auc@{time:g}' and 'survival_brier@{time:g}', "
            "allow for them, and other metrics, such as net benefits, do not yet"
        )
    return ((event == 1) & (until <= time)).astype(int)
