"""Margins of differences, and sample sizes for interval widths and power.

A plan is a joint estimate at the expected table of n rows: the table of a pilot, or an
assumed table, with all counts multiplied by a constant.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from skci._arrays import Array
from skci._validation import (
    by_metric,
    check_choice,
    check_positive_number,
    check_probability,
    join_names,
)
from skci.inference.designs.units import IndependentRows, is_simple
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.pvalues import pvalues, statistics_at
from skci.inference.rows import Rows

CLAIMS = ("not worse", "better", "equivalent")
"""Claims on a difference, relative to a margin."""

_MAX_ROWS = 1e15  # number of rows that floats represent exactly
_ASYMPTOTIC = 1e9  # number of rows at which blurring and pseudo-counts are negligible
_APART = 1e-3  # distance of distinct nulls and estimates, in standard errors


class TargetRegion(NamedTuple):
    """Lower and upper bounds within which the intervals of contrasts must lie.

    There is one pair of bounds for each contrast. Bounds are NaN for contrasts that are
    not tested.
    """

    low: Array
    high: Array


def check_margin(margin: Any, joint: JointEstimate) -> dict[str, float]:
    """Check the margins of differences, and return the margin of each metric.

    The margin is one number for all metrics, or a number for each metric.
    """
    margins = {}
    for k, value in by_position(joint, margin, "margin").items():
        maximum = joint.parameters[k].trait.bounds[1]
        if check_positive_number(value, "margin") >= maximum:
            raise ValueError(f"margin must be less than {maximum:g}, got {value!r}")
        margins[joint.parameters[k].key.title] = float(value)
    return margins


def margin_pvalues(joint: JointEstimate, margins: Array) -> dict[str, Array]:
    """Compute p-values of claims about differences, such as "not worse".

    The claims refer to a margin m > 0 and to the advantage d of the first over the
    second model: "not worse" claims d > -m, "better" claims d > m, and "equivalent"
    claims -m < d < m. The result contains an array for each claim, with one p-value per
    difference. A p-value is below alpha exactly if the interval of d lies in the
    claimed range. P-values are two-sided: for a single difference, the p-value is twice
    the p-value of two one-sided tests (Schuirmann, 1987). A p-value is NaN if its
    margin is NaN.
    """
    finite = np.nan_to_num(margins)
    signs = np.array([parameter.trait.sign for parameter in joint.parameters])
    gains = signs * joint.estimates
    at_loss, at_gain = (pvalues(joint, side * signs * finite) for side in (-1, 1))
    not_worse = np.where(gains > -finite, at_loss, 1.0)
    better = np.where(gains > finite, at_gain, 1.0)
    equivalent = np.maximum(not_worse, np.where(gains < finite, at_gain, 1.0))
    by_claim = zip(CLAIMS, (not_worse, better, equivalent), strict=True)
    return {claim: np.where(np.isnan(margins), np.nan, p) for claim, p in by_claim}


def region_of(claim: str, margins: Array, joint: JointEstimate) -> TargetRegion:
    """Return the bounds within which an interval must lie to show a claim."""
    check_choice(claim, CLAIMS, "claim")
    low = margins if claim == "better" else -margins
    high = margins if claim == "equivalent" else np.where(margins > 0, np.inf, np.nan)
    greater = np.array([p.trait.greater_is_better for p in joint.parameters])
    return TargetRegion(np.where(greater, low, -high), np.where(greater, high, -low))


def rows_for_width(
    joint: JointEstimate,
    half_width: float | Mapping[str, float],
    relative_variances: Array | None = None,
) -> int:
    """Compute the number of rows for which no interval exceeds a given half width.

    The smallest such number is estimated from a pilot sample. The half width is one
    number for all intervals, or a number for each metric. `relative_variances` contains
    a ratio for each of the K parameters: the variance per new row, divided by the
    variance per row of the pilot.
    """
    joint.check_has_tables()
    half_widths = by_position(joint, half_width, "half_width")
    parameters = [joint.parameters[k] for k in half_widths]
    for parameter, value in zip(parameters, half_widths.values(), strict=True):
        low, high = parameter.trait.bounds
        if check_positive_number(value, "half_width") >= (high - low) / 2:
            raise ValueError(
                f"half_width must be less than half of the range [{low:g}, {high:g}] "
                f"of {parameter.trait.name}, got {value!r}"
            )
    positions = list(half_widths)
    widths = np.array(list(half_widths.values()), dtype=float)
    if relative_variances is not None:
        widths /= np.sqrt(relative_variances[positions])
    _refuse_not_finite(joint, half_widths)
    on_boundary = np.array([p.is_on_boundary for p in joint.parameters], dtype=bool)
    fault = "on the boundary of its range, where no variance is observed"
    _refuse(joint, half_widths, on_boundary, fault)
    agree = np.array([p.interval_method.for_agreement for p in joint.parameters])
    fault = "a comparison of models that agree in all rows; expect some errors"
    _refuse(joint, half_widths, agree, fault)
    crit, deviations = _per_row(joint)
    with np.errstate(over="ignore"):
        formula = (crit * np.nan_to_num(deviations[positions]) / widths) ** 2
    _check_rows(formula.max(), "half_width", half_width)
    # Clipping of intervals at the boundary is ignored, except for methods that smooth.
    smoothed = [
        parameter.interval_method.adds_pseudo_counts for parameter in parameters
    ]
    formula_rows = np.where(smoothed, 0, formula).max()
    minimum = max(math.ceil(formula_rows), 2 * joint.source.n_strata)
    for parameter in parameters:  # at least one expected trial
        if parameter.trait.proportion and isinstance(parameter, TableParameter):
            _, trials = parameter.trait.successes_and_trials(parameter.counts)
            minimum = max(minimum, math.ceil(parameter.total / trials))
    start = max(math.ceil(formula.max()), minimum)
    fault = "without variance; expect some errors, or use method='score'"
    _refuse(joint, half_widths, ~_planned(joint, start).has_limits, fault)

    def fits(n: int) -> bool:
        _check_rows(n, "half_width", half_width)
        low, high = _planned(joint, n).intervals[positions].T
        return bool((high - low <= 2 * widths).all())

    return _smallest(fits, start, minimum)


class PowerPlan:
    """Power of tests for contrasts, planned from a pilot sample.

    If `shown` is a null value, a test is successful if the interval excludes this
    value. If `shown` is a region, the interval must lie in the region. The true
    differences are one number for all contrasts, or a number for each metric. By
    default, the true differences equal the estimates of the pilot.
    """

    def __init__(
        self,
        joint: JointEstimate,
        shown: float | TargetRegion,
        difference: float | Mapping[str, float] | None = None,
    ) -> None:
        joint.check_has_tables()
        self.joint, self.shown, self.difference = joint, shown, difference
        self.min_rows = 2 * joint.source.n_strata
        self.distances = self._distances()

    def n_rows(self, power: float) -> int:
        """Compute the smallest number of rows for which each test has a given power."""
        check_probability(power, "power")
        tested = ~np.isnan(self.distances[0])
        crit, deviations = _per_row(self.joint)
        reach = max(crit + float(ndtri(power)), 0.0)
        nearest = self.distances[:, tested].min(axis=0)
        with np.errstate(over="ignore"):
            formula = (reach * deviations[tested] / nearest) ** 2
        _check_rows(formula.max(), "difference", self.difference)
        start = max(math.ceil(formula.max()), self.min_rows)
        minimum = self.min_rows if isinstance(self.shown, TargetRegion) else start

        def fits(n: int) -> bool:
            return bool((self._power(n)[tested] >= power).all())

        return _smallest(fits, start, minimum)

    def power_at(self, n_samples: Any) -> Array:
        """Compute the power of each test for several numbers of rows.

        The last axis of the result has one entry per contrast. The power is NaN for
        contrasts without a true difference.
        """
        numbers = np.asarray(n_samples)
        if numbers.dtype.kind not in "iuf" or not (numbers >= self.min_rows).all():
            raise ValueError(
                "n_samples must contain only numbers of rows of at least "
                f"{self.min_rows}, got {n_samples!r}"
            )
        powers = [self._power(n) for n in numbers.ravel().tolist()]
        return np.reshape(powers, (*numbers.shape, self.distances.shape[1]))

    def _power(self, n: float) -> Array:
        """Compute the power of each test with n rows."""
        planned = _planned(self.joint, n, linear=True)
        reach = float(planned.critical_value) * np.sqrt(planned.covariance.diagonal())
        errors = planned.standard_errors
        if isinstance(self.shown, TargetRegion):
            reach = (
                reach * self._errors_at_bounds(_planned(self.joint, n), errors) / errors
            )
        one_sided = ndtr((self.distances - reach) / errors)
        return np.maximum(one_sided.sum(axis=0) - 1, 0.0)

    def _errors_at_bounds(self, planned: JointEstimate, errors: Array) -> Array:
        """Compute standard errors of tests at the lower and upper bounds of a region.

        For score intervals, the null value is the bound, and the standard error at the
        null value is used. This standard error may be much larger than the standard
        error at the estimate, for example if two models differ on few rows (Nam, 1997,
        Biometrics 53, 1422-1430).
        """
        errors = np.tile(errors, (2, 1))
        adds_pseudo_counts = [
            parameter.interval_method.adds_pseudo_counts
            for parameter in planned.parameters
        ]
        for row, sign in enumerate((1, -1)):
            is_distinct = np.isfinite(self.distances[row]) & (
                self.distances[row] > _APART * errors[row]
            )
            chosen = np.flatnonzero(adds_pseudo_counts & is_distinct)
            if len(chosen):
                distances = self.distances[row, chosen]
                nulls = planned.estimates[chosen] - sign * distances
                above = np.full(len(chosen), sign > 0)
                null_errors = distances / statistics_at(planned, chosen, nulls, above)
                errors[row, chosen] = np.where(
                    null_errors > 0, null_errors, errors[row, chosen]
                )
        return errors

    def _distances(self) -> Array:
        """Compute the distance of each true difference from the null hypothesis.

        The distance is on the scale of the standard errors. The result has two rows. If
        the difference must lie in a region, the rows contain the distances from the
        lower and the upper bound. Otherwise, the second row is infinite. Distances are
        NaN for contrasts that are not tested.
        """
        joint, shown, difference = self.joint, self.shown, self.difference
        if difference is None:
            differences = dict(enumerate(joint.estimates.tolist()))
        else:
            differences = by_position(joint, difference, "difference")
        if not isinstance(shown, TargetRegion):
            _refuse_not_finite(joint, differences)
        distances = np.full((2, len(joint.parameters)), np.nan)
        for k, value in differences.items():
            parameter, is_number = joint.parameters[k], isinstance(value, Real)
            if isinstance(shown, TargetRegion):
                low, high = shown.low[k], shown.high[k]
                if np.isnan(low):
                    continue
                if not (is_number and low < value < high):
                    raise ValueError(
                        f"difference must be between {low:g} and {high:g} for "
                        f"{parameter}, so that the claim is true, got {value!r}"
                    )
                distances[:, k] = value - low, high - value
                continue
            if difference is not None:
                low, high = parameter.trait.bounds
                if not (is_number and low < value < high and value != shown):
                    raise ValueError(
                        f"difference must be a number between {low:g} and {high:g} "
                        f"other than {shown:g}, got {value!r}"
                    )
            link = parameter.trait.scale
            distance = abs(link.forward(value) - link.forward(shown))
            distances[:, k] = distance / link.slope(parameter.estimate), np.inf
        tested = np.flatnonzero(~np.isnan(distances[0]))
        if isinstance(shown, TargetRegion) and not len(tested):
            raise ValueError(
                "difference must have a value for at least one metric with a margin"
            )
        _refuse(joint, tested, ~(_per_row(joint)[1] > 0), "without variance")
        if len(null := np.flatnonzero(distances[0] <= 0)):
            raise ValueError(
                "difference must be given if the pilot shows no difference, as for "
                f"{joint.parameters[null[0]]}"
            )
        return distances


def _planned(joint: JointEstimate, n: float, linear: bool = False) -> JointEstimate:
    """Return the joint estimate of a pilot, with all counts scaled to n rows.

    The n rows are treated as a whole population, without small-sample corrections. If
    `linear` is true, interval methods that add pseudo-counts are replaced by "delta",
    which is equivalent in large samples.
    """
    rows: Any = joint.rows
    design: Any = joint.source.design
    if not is_simple(rows, design):
        raise ValueError(
            "cannot plan from a pilot with sample_weight, groups or a design other "
            "than Strata"
        )
    factor = n / rows.n_samples
    rows = Rows(rows.counts * factor)

    @cache  # contrasts keep sharing their components
    def scaled(parameter: TableParameter) -> TableParameter:
        components = tuple(map(scaled, parameter.components))
        counts = parameter.counts * factor
        return replace(parameter, counts=counts, components=components)

    parameters = [
        scaled(parameter)
        for parameter in joint.parameters
        if isinstance(parameter, TableParameter)
    ]
    if linear:
        parameters = [
            replace(p, method="delta") if p.interval_method.adds_pseudo_counts else p
            for p in parameters
        ]
    return JointEstimate.from_rows(
        parameters,
        rows,
        IndependentRows(
            rows.n_samples, ddof=0, strata=design.strata, labels=design.labels
        ),
        confidence_level=joint.confidence_level,
        simultaneous=joint.simultaneous,
        random_state=joint.random_state,
    )


def _per_row(joint: JointEstimate) -> tuple[float, Array]:
    """Return the large-sample critical value, and standard deviations per row.

    A standard deviation per row is a standard error times the square root of the number
    of rows.
    """
    asymptotic = _planned(joint, _ASYMPTOTIC, linear=True)
    deviations = asymptotic.standard_errors * np.sqrt(_ASYMPTOTIC)
    return float(asymptotic.critical_value), deviations


def _check_rows(n: float, name: str, value: Any) -> None:
    """Raise an error if the required number of rows is too large."""
    if not n <= _MAX_ROWS:
        raise ValueError(
            f"{name} must be so large that at most {_MAX_ROWS:g} rows are required, "
            f"got {value!r}"
        )


def _smallest(fits: Callable[[int], bool], start: int, minimum: int) -> int:
    """Find the smallest integer, at least `minimum`, that `fits` accepts.

    All larger integers must fit as well. The search begins at `start`, doubles its
    steps, and then bisects.
    """
    fits = cache(fits)
    low, high, step = start, start, 1
    while not fits(high):
        low, high, step = high + 1, high + step, 2 * step
    while low > minimum and fits(low - 1):
        low, high, step = max(low - 2 * step, minimum), low - 1, 2 * step
    return bisect_left(range(high), True, low, key=fits)


def by_position(joint: JointEstimate, values: Any, name: str) -> dict[int, Any]:
    """Map parameter positions to values, given one value or a value for each metric."""
    titles = [parameter.key.title for parameter in joint.parameters]
    values_by_metric = by_metric(values, titles, name, "a number")
    if not values_by_metric:
        raise ValueError(
            f"{name} must be a number or a mapping with at least one metric, got "
            f"{values}"
        )
    return {
        k: values_by_metric[title]
        for k, title in enumerate(titles)
        if title in values_by_metric
    }


def _refuse_not_finite(joint: JointEstimate, positions: Iterable[int]) -> None:
    """Raise an error if an estimate is undefined or infinite."""
    _refuse(joint, positions, joint.is_undefined, "undefined")
    _refuse(joint, positions, np.isinf(joint.estimates), "infinite")


def _refuse(
    joint: JointEstimate, positions: Iterable[int], faulty: Array, fault: str
) -> None:
    """Raise an error that names all faulty parameters, if there are any."""
    names = [str(joint.parameters[k]) for k in positions if faulty[k]]
    if names:
        raise ValueError(
            "cannot plan from an expected table or a pilot in which "
            f"{join_names(names)} is {fault}"
        )
