"""Sample size for one metric without a pilot."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_numbers,
    check_confidence_level,
    check_nonnegative,
    check_probability,
    check_share,
)
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.data.sample import Sample
from skci.inference.intervals.methods import AUTO, check_method
from skci.inference.joint import JointEstimate
from skci.inference.planning import rows_for_width
from skci.measures.registry import CELLS, Measure
from skci.metrics._names import resolve_metric

_RATES = ("prevalence", "recall", "specificity")


def sample_size(
    metric: Any,
    half_width: float,
    *,
    expected: Any,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> int:
    r"""Number of rows for an interval of some width.

    Parameters
    ----------
    metric : str or metric object
        Such as "accuracy", "f0.5" or ``F05CI()``.
    half_width : float
        Largest half width of the interval, such as 0.03.
    expected : float, array-like of shape (2, 2) or mapping of str to float
        Assumed performance: the value, for accuracy and error rate; a confusion matrix
        of counts or proportions, rows truth and columns prediction, the negative label
        first; or ``{"prevalence": ..., "recall": ..., "specificity": ...}``.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1; that of a metric object is ignored.
    method : str, optional
        Interval method of a metric that does not set its own; "auto" if not given.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        If a parameter is not as described, or the measure is undefined or has no
        interval at the expected table.

    See Also
    --------
    JointReport.sample_size : The same for a whole report, from a pilot.
    ContrastReport.sample_size : Number of rows to detect a difference.

    Notes
    -----
    With m the half width, p the expected proportions of the cells and L the influence
    values, "delta" needs

    .. math:: n = \frac{z^2}{m^2} \sum_i p_i L_i^2 ,

    which is :math:`z^2 p (1 - p) / m^2` for the accuracy [1]_. For other methods n is
    the least number whose interval at the expected table is narrow enough. The interval
    of about half of all test sets will be a little wider than planned.

    References
    ----------
    .. [1] Cochran (1977). Sampling Techniques, third edition. Wiley, section 4.4.

    Examples
    --------
    >>> from skci import sample_size
    >>> sample_size("accuracy", 0.03, expected=0.5, method="delta")
    1068
    >>> rates = {"prevalence": 0.1, "recall": 0.8, "specificity": 0.95}
    >>> sample_size("f1", 0.05, expected=rates, method="score")
    1792
    """
    metric = resolve_metric(metric)
    level = check_confidence_level(confidence_level)
    method = check_method(AUTO if method is None else method)
    check_no_pos_label(metric.pos_label, A_MATRIX)
    metric._check(method)
    tp, fp, fn, tn = _proportions(expected, metric._measure)
    sample = Sample.from_matrix(np.array([[tn, fp], [fn, tp]]), "")
    parameters = metric.bind(sample, "", method=method)
    joint = JointEstimate.from_rows(parameters, sample.design, confidence_level=level)
    return rows_for_width(joint, half_width)


def _proportions(expected: Any, measure: Measure) -> Array:
    """Expected proportions of the cells tp, fp, fn, tn."""
    if isinstance(expected, Mapping):
        cells = _cells_of_rates(expected)
    elif isinstance(expected, Real):
        cells = _cells_of_value(expected, measure)
    else:
        table = np.asarray(expected)
        if table.shape != (2, 2) or table.dtype.kind not in "iuf":
            raise ValueError(
                "expected must be a number, a table of shape (2, 2) or a mapping with "
                f"the keys {list(_RATES)}, got {expected!r}"
            )
        check_nonnegative(as_numbers(table, "expected"), "expected")
        (tn, fp), (fn, tp) = table.tolist()
        cells = np.array([tp, fp, fn, tn], dtype=float)
    return cells / cells.sum()


def _cells_of_rates(rates: Mapping[str, Any]) -> Array:
    if set(rates) != set(_RATES):
        raise ValueError(
            f"expected must be a mapping with the keys {list(_RATES)}, got the keys "
            f"{list(rates)}"
        )
    positive, recall, specificity = (
        check_share(rates[name], f"expected[{name!r}]") for name in _RATES
    )
    if positive in (0, 1):
        raise ValueError(
            "expected['prevalence'] must leave rows of both labels, got "
            f"{rates['prevalence']!r}"
        )
    tp, tn = positive * recall, (1 - positive) * specificity
    fp, fn = (1 - positive) * (1 - specificity), positive * (1 - recall)
    return np.array([tp, fp, fn, tn])


def _cells_of_value(value: Any, measure: Measure) -> Array:
    """Cells at which a proportion of all rows has some value."""
    successes, trials = measure.proportion or ("", "")
    if set(trials.split()) != set(CELLS):
        raise ValueError(
            f"expected must be a table of shape (2, 2) or a mapping with the keys "
            f"{list(_RATES)} for {measure.name!r}, got {value!r}"
        )
    check_probability(value, "expected")
    is_success = np.array([cell in successes.split() for cell in CELLS])
    share = np.where(is_success, float(value), 1 - float(value))
    return share / np.where(is_success, is_success.sum(), (~is_success).sum())
