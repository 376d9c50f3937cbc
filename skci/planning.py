"""Sample size for one metric without a pilot."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_array,
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
        A metric of labels, such as "accuracy", "f0.5" or ``F05CI()``. Those of scores
        and of numbers are planned from a pilot, by :meth:`JointReport.sample_size`.
    half_width : float
        Largest half width of the interval, such as 0.03.
    expected : float, array-like of shape (2, 2) or mapping of str to float
        Assumed performance: the value, for accuracy and error rate; a confusion matrix
        of counts or proportions, rows truth and columns prediction, the negative label
        first; or ``{"prevalence": ..., "recall": ..., "specificity": ...}``, without
        what the metric does not depend on: recall needs no specificity.
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
    if metric.reads != "labels" or not isinstance(metric._measure, Measure):
        raise ValueError(
            "metric must be of labels, to be planned from an expected table, got "
            f"{metric.name!r}, which is of {metric.reads}; plan it from a pilot, as in "
            f"joint_report(..., metrics={metric.name!r}).sample_size({half_width!r})"
        )
    level = check_confidence_level(confidence_level)
    method = check_method(AUTO if method is None else method)
    check_no_pos_label(metric.pos_label, A_MATRIX)
    metric._check(method)
    rates = _rates_of(metric._measure) if metric.average == "binary" else [*_RATES]
    tp, fp, fn, tn = _proportions(expected, metric._measure, rates)
    sample = Sample.from_matrix(np.array([[tn, fp], [fn, tp]]), "")
    parameters = metric.bind(sample, "", method=method)
    joint = JointEstimate.from_rows(parameters, sample.design, confidence_level=level)
    return rows_for_width(joint, half_width)


def _rates_of(measure: Measure) -> list[str]:
    """Return the prevalence, and the rates that a measure depends on."""
    rates = dict.fromkeys(_RATES, 0.4)
    value = measure.function(*_cells(**rates))
    return [
        name
        for name in _RATES
        if name == "prevalence"
        or not np.isclose(measure.function(*_cells(**rates | {name: 0.7})), value)
    ]


def _proportions(expected: Any, measure: Measure, rates: list[str]) -> Array:
    """Expected proportions of the cells tp, fp, fn, tn."""
    if isinstance(expected, Mapping):
        cells = _cells_of_rates(expected, rates)
    elif isinstance(expected, Real):
        cells = _cells_of_value(expected, measure, rates)
    else:
        wanted = f"a number, a table of shape (2, 2) or a mapping with the keys {rates}"
        table = as_array(expected, "expected", wanted)
        if table.shape != (2, 2) or table.dtype.kind not in "iuf":
            raise ValueError(f"expected must be {wanted}, got {expected!r}")
        check_nonnegative(as_numbers(table, "expected"), "expected")
        (tn, fp), (fn, tp) = table.tolist()
        cells = np.array([tp, fp, fn, tn], dtype=float)
    return cells / cells.sum()


def _cells_of_rates(given: Mapping[str, Any], needed: list[str]) -> Array:
    """Cells at some rates; those that are not needed have any value."""
    if not set(needed) <= set(given) <= set(_RATES):
        raise ValueError(
            f"expected must be a mapping with the keys {needed}, got the keys "
            f"{list(given)}"
        )
    rates = {name: check_share(given[name], f"expected[{name!r}]") for name in given}
    if rates["prevalence"] in (0, 1):
        raise ValueError(
            "expected['prevalence'] must leave rows of both labels, got "
            f"{given['prevalence']!r}"
        )
    return _cells(**dict.fromkeys(_RATES, 0.5) | rates)


def _cells(prevalence: float, recall: float, specificity: float) -> Array:
    tp, tn = prevalence * recall, (1 - prevalence) * specificity
    fp, fn = (1 - prevalence) * (1 - specificity), prevalence * (1 - recall)
    return np.array([tp, fp, fn, tn])


def _cells_of_value(value: Any, measure: Measure, rates: list[str]) -> Array:
    """Cells at which a proportion of all rows has some value."""
    successes, trials = measure.proportion or ("", "")
    if set(trials.split()) != set(CELLS):
        raise ValueError(
            f"expected must be a table of shape (2, 2) or a mapping with the keys "
            f"{rates} for {measure.name!r}, got {value!r}"
        )
    check_probability(value, "expected")
    is_success = np.array([cell in successes.split() for cell in CELLS])
    share = np.where(is_success, float(value), 1 - float(value))
    return share / np.where(is_success, is_success.sum(), (~is_success).sum())
