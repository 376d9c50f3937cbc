"""Sample sizes for the width of intervals and the power of tests.

A plan is a joint estimate at the table expected of n rows: that of a pilot, or an
assumed one, with every count multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from skci._arrays import Array
from skci._validation import check_positive_number, check_probability, join_names
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter

__all__ = ["power_at", "rows_for_power", "rows_for_width"]

_ASYMPTOTIC = 1e9
"""Rows at which blurring and pseudo-counts are negligible."""


def rows_for_width(
    joint: JointEstimate, half_width: float | Mapping[str, float]
) -> int:
    """Find the least number of rows with intervals of at most some width.

    Parameters
    ----------
    joint : JointEstimate
        Of a pilot.
    half_width : float or mapping of str to float
        Of all intervals, or by metric.
    """
    wanted = _by_metric(joint, half_width, "half_width")
    for k, value in wanted.items():
        trait = joint.parameters[k].trait
        low, high = trait.bounds
        if check_positive_number(value, "half_width") >= (high - low) / 2:
            raise ValueError(
                f"half_width must be less than half of the range [{low:g}, {high:g}] "
                f"of {trait.name}, got {value!r}"
            )
    positions = list(wanted)
    widths = np.array(list(wanted.values()), dtype=float)
    _refuse(joint, [k for k in positions if joint.is_undefined[k]], "undefined")
    crit, deviations = _per_row(joint)
    formula = (crit * np.nan_to_num(deviations[positions]) / widths) ** 2
    # Intervals cut off at the end of a range are not planned for.
    smoothed = [joint.parameters[k].interval_method.smooths for k in positions]
    fewest = max(
        math.ceil(np.where(smoothed, 0, formula).max()),
        *(_fewest(joint, _tables(joint)[k]) for k in positions),
    )
    start = max(math.ceil(formula.max()), fewest)
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
    """Find the least number of rows with which each test has some power.

    Parameters
    ----------
    joint : JointEstimate
        Contrasts of a pilot.
    power : float
    null : float
        Value of the contrasts under the null hypothesis.
    difference : float or mapping of str to float, optional
        The difference to detect, of all or by metric; that of the pilot if not given.
    """
    check_probability(power, "power")
    distances = _distances(joint, null, difference)
    tested = np.isfinite(distances)
    crit, deviations = _per_row(joint)
    reach = max(crit + float(ndtri(power)), 0.0)
    formula = (reach * deviations[tested] / distances[tested]) ** 2
    start = max(math.ceil(formula.max()), _fewest(joint))

    def fits(n: int) -> bool:
        return bool((_power(joint, n, distances)[tested] >= power).all())

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
    numbers, fewest = np.asarray(n_samples), _fewest(joint)
    if numbers.dtype.kind not in "iuf" or not (numbers >= fewest).all():
        raise ValueError(
            f"n_samples must hold numbers of rows, at least {fewest}, got {n_samples!r}"
        )
    distances = _distances(joint, null, difference)
    powers = [_power(joint, n, distances) for n in numbers.ravel().tolist()]
    return np.reshape(powers, (*numbers.shape, len(distances)))


def _power(joint: JointEstimate, n: float, distances: Array) -> Array:
    """Probability that intervals of n rows exclude the null at some distances."""
    planned = _planned(joint, n, linear=True)
    reach = float(planned.critical_value) * np.sqrt(planned.covariance.diagonal())
    power: Array = ndtr((distances - reach) / planned.standard_errors)
    return power


def _distances(
    joint: JointEstimate, null: float, difference: float | Mapping[str, float] | None
) -> Array:
    """Distances of differences from the null, on the scale of their standard errors."""
    if difference is None:
        wanted = dict(enumerate(joint.estimates.tolist()))
    else:
        wanted = _by_metric(joint, difference, "difference")
        for k, value in wanted.items():
            low, high = joint.parameters[k].trait.bounds
            inside = isinstance(value, Real) and low < float(value) < high
            if not inside or value == null:
                raise ValueError(
                    f"difference must be a number between {low:g} and {high:g} other "
                    f"than {null:g}, got {value!r}"
                )
    _refuse(joint, [k for k in wanted if joint.is_undefined[k]], "undefined")
    _, deviations = _per_row(joint)
    _refuse(joint, [k for k in wanted if not deviations[k] > 0], "without variance")
    distances = np.full(len(joint.parameters), np.nan)
    for k, value in wanted.items():
        parameter = joint.parameters[k]
        if value == null:
            raise ValueError(
                "difference must be given where the pilot shows none, as for "
                f"{parameter}"
            )
        link = parameter.trait.scale
        distance = abs(link.forward(value) - link.forward(null))
        distances[k] = distance / link.slope(parameter.estimate)
    return distances


def _planned(joint: JointEstimate, n: float, linear: bool = False) -> JointEstimate:
    """Multiply all counts to n rows, which are taken for a population.

    If linear, "delta" replaces methods that smooth, which it equals to first order.
    """
    factor = n / joint.design.n_samples
    parameters = [_scaled(parameter, factor) for parameter in _tables(joint)]
    if linear:
        parameters = [
            replace(p, method="delta") if p.interval_method.smooths else p
            for p in parameters
        ]
    return JointEstimate.from_rows(
        parameters,
        joint.design.times(factor),
        confidence_level=joint.confidence_level,
        simultaneous=joint.simultaneous,
        random_state=joint.random_state,
    )


def _scaled(parameter: TableParameter, factor: float) -> TableParameter:
    components = tuple(_scaled(c, factor) for c in parameter.components)
    return replace(parameter, counts=parameter.counts * factor, components=components)


def _tables(joint: JointEstimate) -> list[TableParameter]:
    """Parameters of a joint estimate, which must be of rows."""
    parameters = [p for p in joint.parameters if isinstance(p, TableParameter)]
    if len(parameters) < len(joint.parameters):
        raise ValueError("a plan needs estimates of rows, got a given covariance")
    return parameters


def _per_row(joint: JointEstimate) -> tuple[float, Array]:
    """Asymptotic critical value, and standard deviations of one row's influence."""
    asymptotic = _planned(joint, _ASYMPTOTIC, linear=True)
    deviations = asymptotic.standard_errors * np.sqrt(_ASYMPTOTIC)
    return float(asymptotic.critical_value), deviations


def _fewest(joint: JointEstimate, parameter: TableParameter | None = None) -> int:
    """Fewest rows of a plan: two in each sample, and one expected trial."""
    fewest = 2 * joint.design.n_strata
    if parameter is None or parameter.trait.proportion is None:
        return fewest
    _, trials = parameter.trait.successes_and_trials(parameter.counts)
    return max(fewest, math.ceil(parameter.counts.sum() / trials))


def _least(fits: Callable[[int], bool], start: int, fewest: int) -> int:
    """Least number from `fewest` on that fits, as all after it do.

    The search begins at `start`, with steps that double, and then bisects.
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


def _by_metric(joint: JointEstimate, values: Any, name: str) -> dict[int, Any]:
    """Values by position of the parameter, from one for all or some by metric."""
    titles = [parameter.key.title for parameter in joint.parameters]
    if not isinstance(values, Mapping):
        values = dict.fromkeys(titles, values)
    if not values or set(values) - set(titles):
        raise ValueError(
            f"{name} must be a number or a mapping of some of the metrics "
            f"{list(dict.fromkeys(titles))}, got {values!r}"
        )
    return {k: values[title] for k, title in enumerate(titles) if title in values}


def _refuse(joint: JointEstimate, positions: Sequence[int], fault: str) -> None:
    """Refuse to plan with parameters that have a fault."""
    if positions:
        names = join_names([str(joint.parameters[k]) for k in positions])
        raise ValueError(
            f"cannot plan from an expected table or a pilot at which {names} is {fault}"
        )
