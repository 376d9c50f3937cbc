"""Margins of differences, and sample sizes for widths of intervals and power of tests.

A plan is a joint estimate at the table expected of n rows: that of a pilot, or an
assumed one, with every count multiplied.
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
from skci.inference.designs.units import census, is_simple
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.pvalues import pvalues, statistics_at

CLAIMS = ("not worse", "better", "equivalent")
"""What a difference can be shown to be beside a margin."""

_MOST_ROWS = 1e15  # that floats count exactly
_ASYMPTOTIC = 1e9  # rows at which blurring and pseudo-counts are negligible
_APART = 1e-3  # standard errors between a null and an estimate that are not rounding


class Region(NamedTuple):
    """Where an interval of each of C contrasts shall lie: between two values, (C,).

    NaN for contrasts of which nothing shall be shown.
    """

    low: Array
    high: Array


def check_margin(margin: Any, joint: JointEstimate) -> dict[str, float]:
    """Check margins of differences, one for all or by metric."""
    margins = {}
    for k, value in by_position(joint, margin, "margin").items():
        most = joint.parameters[k].trait.bounds[1]
        if check_positive_number(value, "margin") >= most:
            raise ValueError(f"margin must be less than {most:g}, got {value!r}")
        margins[joint.parameters[k].key.title] = float(value)
    return margins


def margin_pvalues(joint: JointEstimate, margins: Array) -> dict[str, Array]:
    """Test claims of C differences beside margins m > 0, (C,); NaN where there is none.

    By claim: with d how much better the first is than the second, the p-values of
    d > -m, of d > m, and of both d > -m and d < m. Each is below alpha exactly where
    the interval is on that side of the margin, or within both: the p-values are
    two-sided and, of one difference, twice those of two one-sided tests (Schuirmann,
    1987).
    """
    known = np.nan_to_num(margins)
    signs = np.array([parameter.trait.sign for parameter in joint.parameters])
    gains = signs * joint.estimates
    at_loss, at_gain = (pvalues(joint, side * signs * known) for side in (-1, 1))
    not_worse = np.where(gains > -known, at_loss, 1.0)
    better = np.where(gains > known, at_gain, 1.0)
    equivalent = np.maximum(not_worse, np.where(gains < known, at_gain, 1.0))
    found = zip(CLAIMS, (not_worse, better, equivalent), strict=True)
    return {claim: np.where(np.isnan(margins), np.nan, p) for claim, p in found}


def region_of(claim: str, margins: Array, joint: JointEstimate) -> Region:
    """Where the intervals of differences lie that show a claim."""
    check_choice(claim, CLAIMS, "claim")
    low = margins if claim == "better" else -margins
    high = margins if claim == "equivalent" else np.where(margins > 0, np.inf, np.nan)
    greater = np.array([p.trait.greater_is_better for p in joint.parameters])
    return Region(np.where(greater, low, -high), np.where(greater, high, -low))


def rows_for_width(
    joint: JointEstimate,
    half_width: float | Mapping[str, float],
    relative_variances: Array | None = None,
) -> int:
    """Find the least number of rows with intervals of at most some half width.

    That is of all intervals of a pilot, or by metric. Of new rows the variances may be
    others, relative to those of the pilot, (K,).
    """
    joint.check_has_tables()
    wanted = by_position(joint, half_width, "half_width")
    parameters = [joint.parameters[k] for k in wanted]
    for parameter, value in zip(parameters, wanted.values(), strict=True):
        low, high = parameter.trait.bounds
        if check_positive_number(value, "half_width") >= (high - low) / 2:
            raise ValueError(
                f"half_width must be less than half of the range [{low:g}, {high:g}] "
                f"of {parameter.trait.name}, got {value!r}"
            )
    positions = list(wanted)
    widths = np.array(list(wanted.values()), dtype=float)
    if relative_variances is not None:
        widths /= np.sqrt(relative_variances[positions])
    _refuse_not_finite(joint, wanted)
    on_boundary = np.array([p.is_on_boundary for p in joint.parameters], dtype=bool)
    fault = "on the boundary of its range, where no variance is observed"
    _refuse(joint, wanted, on_boundary, fault)
    agree = np.array([p.interval_method.for_agreement for p in joint.parameters])
    fault = "of models that agree in all rows; expect some errors"
    _refuse(joint, wanted, agree, fault)
    crit, deviations = _per_row(joint)
    with np.errstate(over="ignore"):
        formula = (crit * np.nan_to_num(deviations[positions]) / widths) ** 2
    _check_rows(formula.max(), "half_width", half_width)
    # Intervals cut off at the end of a range are not planned for.
    smoothed = [parameter.interval_method.smooths for parameter in parameters]
    least = np.where(smoothed, 0, formula).max()
    fewest = max(math.ceil(least), 2 * joint.source.n_strata)
    for parameter in parameters:  # one trial is expected
        if parameter.trait.proportion and isinstance(parameter, TableParameter):
            _, trials = parameter.trait.successes_and_trials(parameter.counts)
            fewest = max(fewest, math.ceil(parameter.total / trials))
    start = max(math.ceil(formula.max()), fewest)
    fault = "without variance; expect some errors, or use method='score'"
    _refuse(joint, wanted, ~_planned(joint, start).usable, fault)

    def fits(n: int) -> bool:
        _check_rows(n, "half_width", half_width)
        low, high = _planned(joint, n).intervals[positions].T
        return bool((high - low <= 2 * widths).all())

    return _least(fits, start, fewest)


class PowerPlan:
    """Power of tests of C contrasts, from a pilot.

    Intervals shall exclude a null value, or lie in a region. The true differences are
    given for all or by metric; those of the pilot if not given.
    """

    def __init__(
        self,
        joint: JointEstimate,
        shown: float | Region,
        difference: float | Mapping[str, float] | None = None,
    ) -> None:
        joint.check_has_tables()
        self.joint, self.shown, self.difference = joint, shown, difference
        self.fewest = 2 * joint.source.n_strata
        self.distances = self._distances()

    def n_rows(self, power: float) -> int:
        """Find the least number of rows with which each test has a power."""
        check_probability(power, "power")
        tested = ~np.isnan(self.distances[0])
        crit, deviations = _per_row(self.joint)
        reach = max(crit + float(ndtri(power)), 0.0)
        nearest = self.distances[:, tested].min(axis=0)
        with np.errstate(over="ignore"):
            formula = (reach * deviations[tested] / nearest) ** 2
        _check_rows(formula.max(), "difference", self.difference)
        start = max(math.ceil(formula.max()), self.fewest)
        fewest = self.fewest if isinstance(self.shown, Region) else start

        def fits(n: int) -> bool:
            return bool((self._power(n)[tested] >= power).all())

        return _least(fits, start, fewest)

    def power_at(self, n_samples: Any) -> Array:
        """Compute the power of each test at some numbers of rows, shape (..., C).

        It is NaN for contrasts without a difference.
        """
        numbers = np.asarray(n_samples)
        if numbers.dtype.kind not in "iuf" or not (numbers >= self.fewest).all():
            raise ValueError(
                f"n_samples must hold numbers of rows, at least {self.fewest}, got "
                f"{n_samples!r}"
            )
        powers = [self._power(n) for n in numbers.ravel().tolist()]
        return np.reshape(powers, (*numbers.shape, self.distances.shape[1]))

    def _power(self, n: float) -> Array:
        """Probability that intervals of n rows exclude values at the distances."""
        planned = _planned(self.joint, n, linear=True)
        reach = float(planned.critical_value) * np.sqrt(planned.covariance.diagonal())
        errors = planned.standard_errors
        if isinstance(self.shown, Region):
            reach = (
                reach * self._errors_at_ends(_planned(self.joint, n), errors) / errors
            )
        each = ndtr((self.distances - reach) / errors)
        return np.maximum(each.sum(axis=0) - 1, 0.0)

    def _errors_at_ends(self, planned: JointEstimate, errors: Array) -> Array:
        """Standard errors with which planned rows test the ends of a region, (2, C).

        Score intervals use the error at the null, which is much greater than that of
        the estimate where models differ on few rows (Nam, 1997, Biometrics 53,
        1422-1430). The statistic of the null at the expected table is the distance over
        this error. For a null at the estimate it is rounding, and the error is that of
        the estimate.
        """
        errors = np.tile(errors, (2, 1))
        smooths = [
            parameter.interval_method.smooths for parameter in planned.parameters
        ]
        for row, sign in enumerate((1, -1)):
            apart = np.isfinite(self.distances[row]) & (
                self.distances[row] > _APART * errors[row]
            )
            chosen = np.flatnonzero(smooths & apart)
            if len(chosen):
                reached = self.distances[row, chosen]
                nulls = planned.estimates[chosen] - sign * reached
                above = np.full(len(chosen), sign > 0)
                found = reached / statistics_at(planned, chosen, nulls, above)
                errors[row, chosen] = np.where(found > 0, found, errors[row, chosen])
        return errors

    def _distances(self) -> Array:
        """Distances of differences from what is to be excluded below and above, (2, C).

        They are on the scale of the standard errors, and NaN for differences that are
        not planned. A null is excluded on the nearer side.
        """
        joint, shown, difference = self.joint, self.shown, self.difference
        if difference is None:
            wanted = dict(enumerate(joint.estimates.tolist()))
        else:
            wanted = by_position(joint, difference, "difference")
        if not isinstance(shown, Region):
            _refuse_not_finite(joint, wanted)
        distances = np.full((2, len(joint.parameters)), np.nan)
        for k, value in wanted.items():
            parameter, is_number = joint.parameters[k], isinstance(value, Real)
            if isinstance(shown, Region):
                low, high = shown.low[k], shown.high[k]
                if np.isnan(low):
                    continue
                if not (is_number and low < value < high):
                    raise ValueError(
                        f"difference must be between {low:g} and {high:g} for "
                        f"{parameter}, where the claim holds, got {value!r}"
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
        if isinstance(shown, Region) and not len(tested):
            raise ValueError("difference must be given for a metric with a margin")
        _refuse(joint, tested, ~(_per_row(joint)[1] > 0), "without variance")
        if len(null := np.flatnonzero(distances[0] <= 0)):
            raise ValueError(
                "difference must be given where the pilot shows none, as for "
                f"{joint.parameters[null[0]]}"
            )
        return distances


def _planned(joint: JointEstimate, n: float, linear: bool = False) -> JointEstimate:
    """Multiply all counts to n rows, which are taken for a population.

    If linear, "delta" replaces methods that smooth, which it equals to first order.
    """
    rows: Any = joint.rows
    design: Any = joint.source.design
    if not is_simple(rows, design):
        raise ValueError(
            "cannot plan from a pilot with sample_weight, groups or a design other "
            "than Strata"
        )
    factor = n / rows.n_samples
    rows = rows.times_rows(factor)

    @cache  # contrasts of the same parameters stay so
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
            replace(p, method="delta") if p.interval_method.smooths else p
            for p in parameters
        ]
    return JointEstimate.from_rows(
        parameters,
        rows,
        census(design, rows.n_samples),
        confidence_level=joint.confidence_level,
        simultaneous=joint.simultaneous,
        random_state=joint.random_state,
    )


def _per_row(joint: JointEstimate) -> tuple[float, Array]:
    """Asymptotic critical value, and standard deviations of one row's influence."""
    asymptotic = _planned(joint, _ASYMPTOTIC, linear=True)
    deviations = asymptotic.standard_errors * np.sqrt(_ASYMPTOTIC)
    return float(asymptotic.critical_value), deviations


def _check_rows(n: float, name: str, given: Any) -> None:
    """Check that floats can count the rows that a width or a difference needs."""
    if not n <= _MOST_ROWS:
        raise ValueError(
            f"{name} must be so large that {_MOST_ROWS:g} rows suffice, got {given!r}"
        )


def _least(fits: Callable[[int], bool], start: int, fewest: int) -> int:
    """Least number from `fewest` on that fits, as all after it do.

    The search begins at `start`, with steps that double, and then bisects.
    """
    fits = cache(fits)
    low, high, step = start, start, 1
    while not fits(high):
        low, high, step = high + 1, high + step, 2 * step
    while low > fewest and fits(low - 1):
        low, high, step = max(low - 2 * step, fewest), low - 1, 2 * step
    return bisect_left(range(high), True, low, key=fits)


def by_position(joint: JointEstimate, values: Any, name: str) -> dict[int, Any]:
    """Values by position of the parameter, from one for all or some by metric."""
    titles = [parameter.key.title for parameter in joint.parameters]
    given = by_metric(values, titles, name, "a number")
    if not given:
        raise ValueError(
            f"{name} must be a number or a mapping of at least one metric, got {values}"
        )
    return {k: given[title] for k, title in enumerate(titles) if title in given}


def _refuse_not_finite(joint: JointEstimate, positions: Iterable[int]) -> None:
    """Refuse to plan with estimates that no finite interval contains."""
    _refuse(joint, positions, joint.is_undefined, "undefined")
    _refuse(joint, positions, np.isinf(joint.estimates), "infinite")


def _refuse(
    joint: JointEstimate, positions: Iterable[int], faulty: Array, fault: str
) -> None:
    """Refuse to plan with parameters that have a fault."""
    names = [str(joint.parameters[k]) for k in positions if faulty[k]]
    if names:
        raise ValueError(
            "cannot plan from an expected table or a pilot at which "
            f"{join_names(names)} is {fault}"
        )
