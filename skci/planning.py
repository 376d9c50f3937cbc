"""How many rows to test on, without a pilot."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_confidence_level
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.data.sample import Sample
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.planning import rows_for_width
from skci.measures.registry import CELLS, Measure
from skci.metrics._base import DEFAULT_METHOD
from skci.metrics._binding import Settings
from skci.metrics._names import resolve_metric

__all__ = ["sample_size"]


_RATES = ("prevalence", "recall", "specificity")


def sample_size(
    metric: Any,
    half_width: float,
    *,
    expected: Any,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> int:
    r"""Plan how many rows make an interval short enough.

    Parameters
    ----------
    metric : str or metric object
        Such as "accuracy", "f0.5" or ``F05CI()``.
    half_width : float
        Half of the length that the interval may have, as the 0.03 in "give or take
        three percent".
    expected : float, array-like of shape (2, 2) or mapping of str to float
        What the classifier is expected to do. For accuracy and error rate their value
        will do; for the others a confusion matrix, of counts as in a pilot or of
        shares, rows truth and columns prediction, the negative label first; or the
        rates ``{"prevalence": ..., "recall": ..., "specificity": ...}``.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1; that of a metric object does not count.
    method : str, optional
        Interval method of a metric that has none of its own; "blurred" if not given.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        If a parameter is not what it must be, or the measure is undefined or has no
        interval at the expected table.

    See Also
    --------
    JointReport.sample_size : The same for a whole report, from a pilot.
    ContrastReport.sample_size : Rows to find a difference.

    Notes
    -----
    With m the half width, p the expected shares of the cells and L the influence
    values,

    .. math:: n = \frac{z^2}{m^2} \sum_i p_i L_i^2 .

    That is the textbook's :math:`z^2 p (1 - p) / m^2` for the accuracy [1]_, and by
    "delta" it is the plan; "blurred" and the measures that have their intervals on the
    logarithmic scale need some more. For the other methods it is where the search
    begins: the plan is the least n whose interval at the expected table is short
    enough. Half of all test sets will give a little longer intervals than planned.

    References
    ----------
    .. [1] Cochran, W. G. (1977). Sampling Techniques, third edition. Wiley, section
       4.4.

    Examples
    --------
    >>> from skci import sample_size
    >>> sample_size("accuracy", 0.03, expected=0.5, method="delta")
    1068
    >>> rates = {"prevalence": 0.1, "recall": 0.8, "specificity": 0.95}
    >>> for method in ("delta", "score", "blurred"):
    ...     print(method, sample_size("f1", 0.05, expected=rates, method=method))
    delta 1809
    score 1792
    blurred 1958
    """
    metric = resolve_metric(metric)
    level = check_confidence_level(confidence_level)
    method = check_method(DEFAULT_METHOD if method is None else method)
    check_no_pos_label(metric.pos_label, A_MATRIX)
    metric._check(method)
    tp, fp, fn, tn = _shares(expected, metric._measure)
    sample = Sample.from_matrix(np.array([[tn, fp], [fn, tp]]), "")
    parameters = metric.bind(sample, "", Settings(method=method))
    joint = JointEstimate.from_rows(parameters, sample.design, level)
    return rows_for_width(joint, half_width)


# --------------------------------------------------------------------------------------
# What is expected
# --------------------------------------------------------------------------------------


def _shares(expected: Any, measure: Measure) -> Array:
    """Turn what is expected into shares of the cells tp, fp, fn, tn."""
    if isinstance(expected, Mapping):
        shares = _shares_of_rates(expected)
    elif isinstance(expected, Real):
        shares = _shares_of_value(expected, measure)
    else:
        shares = _shares_of_table(expected)
    return shares / shares.sum()


def _shares_of_rates(rates: Mapping[str, Any]) -> Array:
    if set(rates) != set(_RATES):
        raise ValueError(
            f"expected must be a mapping with the keys {list(_RATES)}, got the keys "
            f"{list(rates)}"
        )
    for name, rate in rates.items():
        if not (isinstance(rate, Real) and 0 <= float(rate) <= 1):
            raise ValueError(f"expected[{name!r}] must be in [0, 1], got {rate!r}")
    if rates["prevalence"] in (0, 1):
        raise ValueError(
            "expected['prevalence'] must leave rows of both labels, got "
            f"{rates['prevalence']!r}"
        )
    positive, recall, specificity = (float(rates[name]) for name in _RATES)
    negative = 1 - positive
    return np.array(
        [
            positive * recall,
            negative * (1 - specificity),
            positive * (1 - recall),
            negative * specificity,
        ]
    )


def _shares_of_value(value: Any, measure: Measure) -> Array:
    """Shares that give a proportion of all rows some value."""
    successes, trials = measure.proportion or ("", "")
    if set(trials.split()) != set(CELLS):
        raise ValueError(
            f"expected must be a table of shape (2, 2) or a mapping with the keys "
            f"{list(_RATES)} for {measure.name!r}, got {value!r}"
        )
    if not 0 < float(value) < 1:
        raise ValueError(
            f"expected must be between 0 and 1, both excluded, got {value!r}"
        )
    right = np.array([cell in successes.split() for cell in CELLS])
    return np.where(right, float(value) / right.sum(), (1 - value) / (~right).sum())


def _shares_of_table(table: Any) -> Array:
    values = np.asarray(table)
    if values.shape != (2, 2) or values.dtype.kind not in "iuf":
        raise ValueError(
            "expected must be a number, a table of shape (2, 2) or a mapping with the "
            f"keys {list(_RATES)}, got {table!r}"
        )
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError(
            "expected must hold finite numbers, none negative and not all zero, got "
            f"{values.tolist()}"
        )
    (tn, fp), (fn, tp) = values.tolist()
    return np.array([tp, fp, fn, tn], dtype=float)
