"""How many rows to test on: so that intervals are short, so that differences are found.

A plan is a joint estimate at the table that so many rows are expected to give: that of
a pilot, or an assumed one, with every count multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from skci._joint import JointEstimate, Parameter
from skci._measures import CELLS, Measure
from skci._outcomes import OutcomeTable
from skci._validation import (
    check_confidence_level,
    check_method,
    check_no_pos_label,
    check_positive_number,
    in_words,
)
from skci.metrics._base import DEFAULT_METHOD
from skci.metrics._names import resolve_metric

__all__ = ["power_at", "rows_for_power", "rows_for_width", "sample_size"]

Array = NDArray[Any]

_MANY = 1e9
"""Rows of which a blurring, added rows and a denominator of n - 1 are nothing."""

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
    check_no_pos_label(metric.pos_label)
    metric._check(method)
    table = OutcomeTable.from_cells(_shares(expected, metric._measure))
    own = metric._parameter(table, 0, method=method)
    return rows_for_width(JointEstimate((own,), table.counts, level), half_width)


# --------------------------------------------------------------------------------------
# From a joint estimate
# --------------------------------------------------------------------------------------


def rows_for_width(
    joint: JointEstimate, half_width: float | Mapping[str, float]
) -> int:
    """Find the number of rows that makes intervals short enough.

    Parameters
    ----------
    joint : JointEstimate
        Of a pilot.
    half_width : float or mapping of str to float
        Half of the length that they may have, of all or by metric.
    """
    wanted = _by_metric(joint, half_width, "half_width")
    for k, value in wanted.items():
        _check_half_width(value, joint.parameters[k].measure)
    positions = list(wanted)
    widths = np.array(list(wanted.values()), dtype=float)
    _refuse(joint, [k for k in positions if joint.undefined[k]], "undefined")
    crit, deviations = _one_row(joint)
    formula = (crit * np.nan_to_num(deviations[positions]) / widths) ** 2
    # No rows are saved by cutting off intervals at the end of a range.
    smoothed = [joint.parameters[k].smoothed for k in positions]
    fewest = max(
        _ceil(np.where(smoothed, 0, formula)),
        *(_fewest(joint, joint.parameters[k]) for k in positions),
    )
    start = max(_ceil(formula), fewest)
    usable = _planned(joint, start).usable
    _refuse(
        joint,
        [k for k in positions if not usable[k]],
        "without variance; expect some errors, or use method='score'",
    )

    def fits(n: int) -> bool:
        low, high = _planned(joint, n).intervals[positions].T
        return bool((high - low <= 2 * widths).all())

    return _least(fits, start, fewest)


def rows_for_power(
    joint: JointEstimate,
    power: float,
    null: float,
    difference: float | Mapping[str, float] | None = None,
) -> int:
    """Find the number of rows with which each test has at least some power.

    Parameters
    ----------
    joint : JointEstimate
        Contrasts of a pilot.
    power : float
    null : float
        Their value if there is no difference.
    difference : float or mapping of str to float, optional
        The difference to be found, of all or by metric; that of the pilot if not given.
    """
    _check_power(power)
    distances = _distances(joint, null, difference)
    asked = np.isfinite(distances)
    crit, deviations = _one_row(joint)
    reach = max(crit + float(ndtri(power)), 0.0)
    formula = (reach * deviations[asked] / distances[asked]) ** 2
    start = max(_ceil(formula), _fewest(joint))
    linear = _linear(joint)

    def fits(n: int) -> bool:
        return bool((_power(linear, n, distances)[asked] >= power).all())

    return _least(fits, start, start)


def power_at(
    joint: JointEstimate,
    n_samples: Any,
    null: float,
    difference: float | Mapping[str, float] | None = None,
) -> Array:
    """Compute the power of each test at some numbers of rows.

    Parameters
    ----------
    joint, null, difference
        See :func:`rows_for_power`.
    n_samples : int or array-like of int

    Returns
    -------
    array of shape (..., C)
        NaN for contrasts that no difference is given for.
    """
    numbers = _check_n_samples(n_samples, _fewest(joint))
    distances = _distances(joint, null, difference)
    linear = _linear(joint)
    powers = [_power(linear, n, distances) for n in numbers.ravel().tolist()]
    return np.reshape(powers, (*numbers.shape, len(distances)))


def _power(linear: JointEstimate, n: float, distances: Array) -> Array:
    """Probability that an estimate so far from the null has an interval without it."""
    planned = _planned(linear, n)
    reach = float(planned.critical_value) * np.sqrt(planned.covariance.diagonal())
    power: Array = ndtr((distances - reach) / planned.standard_errors)
    return power


def _distances(
    joint: JointEstimate, null: float, difference: float | Mapping[str, float] | None
) -> Array:
    """How far differences are from none, on the scale of their standard errors."""
    if difference is None:
        wanted = dict(enumerate(joint.estimates.tolist()))
    else:
        wanted = _by_metric(joint, difference, "difference")
        for k, value in wanted.items():
            _check_difference(value, null, joint.parameters[k].measure)
    _refuse(joint, [k for k in wanted if joint.undefined[k]], "undefined")
    _, deviations = _one_row(joint)
    _refuse(joint, [k for k in wanted if not deviations[k] > 0], "without variance")
    distances = np.full(len(joint.parameters), np.nan)
    for k, value in wanted.items():
        own = joint.parameters[k]
        if value == null:
            raise ValueError(
                "difference must be given where the pilot shows none, as for "
                f"{_label(own)}"
            )
        link = own.measure.scale
        there = abs(link.forward(value) - link.forward(null))
        distances[k] = there / link.slope(own.estimate)
    return distances


# --------------------------------------------------------------------------------------
# The plan
# --------------------------------------------------------------------------------------


class _Planned(JointEstimate):
    """A joint estimate at the table that is expected of some number of rows."""

    @cached_property
    def n_samples(self) -> int:
        return round(self.counts.sum())

    @cached_property
    def _sampling(self) -> Array:
        # A variance with the denominator n - 1 is, on average, the true one, with n.
        return super()._sampling * (1 - _sets(self) / self.n_samples)


def _planned(joint: JointEstimate, n: float) -> _Planned:
    """Multiply all counts, so that there are n."""
    factor = n / joint.counts.sum()
    options = {field.name: getattr(joint, field.name) for field in fields(joint)}
    options["counts"] = joint.counts * factor
    options["parameters"] = tuple(
        replace(own, counts=own.counts * factor) for own in joint.parameters
    )
    return _Planned(**options)


def _linear(joint: JointEstimate) -> JointEstimate:
    """Give all estimates methods that use a standard error.

    To first order the others reach as far as "delta".
    """
    parameters = [
        replace(own, method="delta") if own.smoothed else own
        for own in joint.parameters
    ]
    return joint.with_parameters(parameters, simultaneous=joint.simultaneous)


def _one_row(joint: JointEstimate) -> tuple[float, Array]:
    """Critical value, and the standard deviation of each estimate from one row.

    The latter are the square roots of the sums of p L^2.
    """
    ideal = _planned(_linear(joint), _MANY)
    return float(ideal.critical_value), ideal.standard_errors * np.sqrt(_MANY)


def _sets(joint: JointEstimate) -> int:
    """Count the independent samples."""
    return 1 if joint.samples is None else len(np.unique(joint.samples))


def _fewest(joint: JointEstimate, own: Parameter | None = None) -> int:
    """Rows to start from: two in each sample, and enough to expect a trial."""
    fewest = 2 * _sets(joint)
    if own is None or own.measure.proportion is None:
        return fewest
    _, trials = own.measure.successes_and_trials(own.counts)
    return max(fewest, _ceil(own.counts.sum() / trials))


def _ceil(values: Any) -> int:
    return math.ceil(np.max(values))


def _least(fits: Callable[[int], bool], start: int, fewest: int) -> int:
    """Least number from `fewest` on that fits, as all after it do.

    The search begins at `start` and takes longer and longer steps either way.
    """
    step = 1
    if fits(start):
        last, n = start - 1, start
        while last >= fewest and fits(last):
            last, n, step = max(last - 2 * step, fewest - 1), last, 2 * step
    else:
        last, n = start, start + 1
        while not fits(n):
            last, n, step = n, n + 2 * step, 2 * step
    while n - last > 1:
        middle = (last + n) // 2
        last, n = (last, middle) if fits(middle) else (middle, n)
    return n


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


# --------------------------------------------------------------------------------------
# Checks
# --------------------------------------------------------------------------------------


def _by_metric(joint: JointEstimate, values: Any, name: str) -> dict[int, Any]:
    """Values of the parameters by position, from one for all or some by metric."""
    known = list(dict.fromkeys(own.metric for own in joint.parameters))
    if not isinstance(values, Mapping):
        values = dict.fromkeys(known, values)
    if not values or set(values) - set(known):
        raise ValueError(
            f"{name} must be a number or a mapping of some of the metrics {known}, got "
            f"{values!r}"
        )
    return {
        k: values[own.metric]
        for k, own in enumerate(joint.parameters)
        if own.metric in values
    }


def _check_half_width(value: Any, measure: Measure) -> None:
    low, high = measure.bounds
    if check_positive_number(value, "half_width") >= (high - low) / 2:
        raise ValueError(
            f"half_width must be less than half of the range [{low:g}, {high:g}] of "
            f"{measure.name}, got {value!r}"
        )


def _check_difference(value: Any, null: float, measure: Measure) -> None:
    low, high = measure.bounds
    if not (isinstance(value, Real) and low < float(value) < high and value != null):
        raise ValueError(
            f"difference must be a number between {low:g} and {high:g} other than "
            f"{null:g}, got {value!r}"
        )


def _check_power(value: Any) -> None:
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise ValueError(
            f"power must be a number between 0 and 1, both excluded, got {value!r}"
        )


def _check_n_samples(values: Any, fewest: int) -> Array:
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" or not (numbers >= fewest).all():
        raise ValueError(
            f"n_samples must hold numbers of rows, at least {fewest}, got {values!r}"
        )
    return numbers


def _refuse(joint: JointEstimate, positions: Sequence[int], fault: str) -> None:
    """Refuse to plan with parameters that have a fault."""
    if positions:
        names = in_words([_label(joint.parameters[k]) for k in positions])
        raise ValueError(
            "nothing can be planned from an expected table or a pilot at which "
            f"{names} is {fault}"
        )


def _label(own: Parameter) -> str:
    return " of ".join(filter(None, [own.metric, own.rule]))
