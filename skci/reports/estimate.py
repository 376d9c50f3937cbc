"""The result of a metric: a float that knows its interval."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from numbers import Real
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skci._validation import check_alternative, check_confidence_level
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.inference.intervals.methods import GENERAL_SMOOTHING_METHODS, refusal
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, TableParameter
from skci.inference.pvalues import Alternative, pvalue

__all__ = [
    "ConfidenceInterval",
    "MetricEstimate",
    "decimals",
    "sample_size_in_words",
    "warn_of_intervals",
    "warn_of_undefined",
]


class ConfidenceInterval(NamedTuple):
    """Limits of a confidence interval."""

    low: float
    high: float


class MetricEstimate(float):
    """Estimate of a performance measure: a float that knows its confidence interval.

    It is made by calling a metric object such as :class:`skci.AccuracyCI` or by
    indexing a :class:`skci.JointReport`. It compares, sorts, formats and pickles as
    the float it is; arithmetic gives plain floats. The interval is computed when it is
    first looked at.

    Attributes
    ----------
    low, high : float
        Limits of the confidence interval.
    standard_error : float
        Estimated standard deviation of the estimate over samples. It does not depend
        on the confidence level, and so leaves out the blurring: a "blurred" interval
        is wider than it says.
    confidence_level : float
        Level of the interval, between 0 and 1.
    method : str
        Interval method.
    n_samples : int
        Number of rows; in a subgroup, or of a rule that abstains, of those that count.
    n_groups : int or None
        Number of groups of rows, if they have groups.
    design_effect : float
        How much weights and groups add to the variance, as a factor; 1 without.
    metric : str
        Name of the measure.
    rule : str
        Name of the rule within a report; empty otherwise.

    Warns
    -----
    DegenerateVarianceWarning
        When the interval or the standard error is looked at and the data leave no
        usable variance.
    SmallSampleWarning
        When the interval is looked at and a proportion has too few successes or
        failures for the normal approximation of its method, or there are fewer than 30
        groups.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> score = AccuracyCI(method="wilson")([0] * 50 + [1] * 50, [0] * 40 + [1] * 60)
    >>> score
    accuracy = 0.900 [0.826, 0.945], 95% interval (wilson, n = 100)
    >>> f"{score:.2f}", score > 0.85
    ('0.90', True)
    >>> score.confidence_interval(0.99)
    ConfidenceInterval(low=0.7962..., high=0.9539...)
    """

    _joint: JointEstimate
    _position: int

    def __new__(cls, joint: JointEstimate, position: int = 0) -> MetricEstimate:
        self = super().__new__(cls, joint.parameters[position].estimate)
        self._joint = joint
        self._position = position
        return self

    def __getnewargs__(self) -> tuple[JointEstimate, int]:  # type: ignore[override]
        return self._joint, self._position

    @property
    def _parameter(self) -> Parameter:
        return self._joint.parameters[self._position]

    @property
    def metric(self) -> str:
        return self._parameter.key.title

    @property
    def rule(self) -> str:
        return self._parameter.key.name

    @property
    def low(self) -> float:
        return self.confidence_interval().low

    @property
    def high(self) -> float:
        return self.confidence_interval().high

    @property
    def standard_error(self) -> float:
        value = float(self._joint.standard_errors[self._position])
        if not value > 0:
            _warn_degenerate(
                self._joint, [self._position], "the standard error is not known"
            )
        return value

    @property
    def confidence_level(self) -> float:
        return self._joint.confidence_level

    @property
    def method(self) -> str:
        return self._parameter.method

    @property
    def n_samples(self) -> int | None:
        parameter = self._parameter
        if not isinstance(parameter, TableParameter):
            return None
        return self._joint.design.n_rows(parameter.units)

    @property
    def n_groups(self) -> int | None:
        return self._joint.design.n_groups if self._joint.is_of_rows else None

    @property
    def design_effect(self) -> float:
        return float(self._joint.design_effects[self._position])

    def confidence_interval(
        self, confidence_level: float | None = None
    ) -> ConfidenceInterval:
        """Return the interval at any level, without another pass over the data.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the estimate if not given. An estimate taken from
            a joint report stays joint with the others of the report.

        Returns
        -------
        ConfidenceInterval
            Named tuple ``(low, high)``.

        Raises
        ------
        ValueError
            If `confidence_level` is not between 0 and 1.
        """
        joint = self._joint
        if confidence_level is not None:
            joint = joint.at(check_confidence_level(confidence_level))
        low, high = joint.intervals[self._position].tolist()
        warn_of_intervals(joint, [self._position])
        return ConfidenceInterval(low, high)

    def pvalue(self, null: float, alternative: Alternative = "two-sided") -> float:
        """Test the claim that the measure has some value.

        Parameters
        ----------
        null : float
            The claimed value.
        alternative : {"two-sided", "less", "greater"}, default="two-sided"
            What to believe if not the claim: that the measure differs from `null`, is
            less, or is greater.

        Returns
        -------
        float
            Tail probability of the critical value at which the limit of the interval is
            `null`; 1 without a usable variance. It is below alpha exactly if the
            interval of the level of the report, ``1 - alpha``, excludes the claim.
            Blurring and the rows that "plus-four" and "agresti-coull" add are those of
            that level. For "clopper-pearson" it is twice the smaller tail, and in a
            joint report it is adjusted for all estimates.

        Raises
        ------
        ValueError
            If `null` is not in the range of the measure or `alternative` is unknown.

        Examples
        --------
        An accuracy of .78 is claimed; 75 of 100 are right. That does not refute it:

        >>> from skci import AccuracyCI
        >>> score = AccuracyCI().from_confusion_matrix([[40, 10], [15, 35]])
        >>> round(score.pvalue(0.78), 2) > 0.05
        True
        """
        parameter = self._parameter
        low, high = parameter.trait.bounds
        if not (isinstance(null, Real) and low <= null <= high):
            raise ValueError(
                f"null must be a number in the range [{low:g}, {high:g}] of "
                f"{parameter}, got {null!r}"
            )
        check_alternative(alternative)
        warn_of_intervals(self._joint, [self._position])
        return pvalue(self._joint, self._position, float(null), alternative)

    def __str__(self) -> str:
        low, high = self.confidence_interval()
        places = decimals([(low, high)])
        return f"{float(self):.{places}f} [{low:.{places}f}, {high:.{places}f}]"

    def __repr__(self) -> str:
        level = f"{100 * self.confidence_level:g}%"
        kind = f"joint {level}" if len(self._joint.parameters) > 1 else level
        if not self._joint.simultaneous:
            kind = level
        key = self._parameter.key
        name = key if key.is_contrast else self.metric
        size = sample_size_in_words(self._joint, self.n_samples)
        about = ", ".join(filter(None, [self.method, size]))
        return f"{name} = {self}, {kind} interval ({about})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def sample_size_in_words(joint: JointEstimate, n_samples: int | None = None) -> str:
    """Write the number of rows, in the data or in a table, and of groups."""
    if not joint.is_of_rows:
        return ""
    number = joint.design.n_groups
    groups = f" in {number} group{'s' if number > 1 else ''}" if number else ""
    n = joint.design.n_samples if n_samples is None else n_samples
    return f"n = {n}{groups}"


def decimals(intervals: Any, null: float | None = None) -> int:
    """Digits worth printing: two significant ones of the narrowest half width.

    There are a few more where a limit beside the null would look like it.
    """
    limits = np.asarray(intervals, dtype=float)
    widths = np.diff(limits, axis=-1)
    widths = widths[np.isfinite(widths) & (widths > 0)]
    if not len(widths):
        return 3
    least = int(np.clip(1 - np.floor(np.log10(widths.min() / 2)), 2, 8))
    beside = [] if null is None else np.abs(limits[limits != null] - null)
    nearest = min(beside, default=1.0)
    return int(np.clip(np.ceil(-np.log10(2 * nearest)), least, least + 3))


# --------------------------------------------------------------------------------------
# Warnings
# --------------------------------------------------------------------------------------


def warn_of_undefined(joint: JointEstimate) -> None:
    """Warn of measures that are undefined on the data."""
    undefined = np.flatnonzero(joint.is_undefined).tolist()
    if undefined:
        _warn(
            f"{_names(joint, undefined)}: undefined, a division of zero by zero; the "
            "interval is the whole range",
            UndefinedMetricWarning,
        )
    partly = [
        k for k, parameter in enumerate(joint.parameters) if any(parameter.extension)
    ]
    if partly:
        _warn(
            f"{_names(joint, partly)}: undefined for some of the classes, a division "
            "of zero by zero; the interval is extended for their unknown values",
            UndefinedMetricWarning,
        )


def warn_of_intervals(joint: JointEstimate, positions: Any) -> None:
    """Warn of intervals that are the whole range or rest on too few rows."""
    degenerate = [k for k in positions if joint.is_degenerate[k]]
    if degenerate:
        whole = [k for k in degenerate if not joint.usable[k]]
        _warn_degenerate(joint, whole, "the interval is the whole range")
        blurred = [k for k in degenerate if joint.usable[k]]
        _warn_degenerate(joint, blurred, "the interval rests on the blurring alone")
    reasons: dict[str, list[int]] = {}
    for k in positions:
        for reason in joint.sampling.small_sample_reasons(k):
            reasons.setdefault(reason, []).append(k)
    for reason, named in reasons.items():
        remedy = _remedy(joint, named) if "normal approximation" in reason else ""
        _warn(f"{_names(joint, named)}: {reason}{remedy}", SmallSampleWarning)


def _warn_degenerate(
    joint: JointEstimate, positions: list[int], consequence: str
) -> None:
    if positions:
        _warn(
            f"{_names(joint, positions)}: the estimated variance is zero, so that "
            f"{consequence}{_remedy(joint, positions)}",
            DegenerateVarianceWarning,
        )


def _remedy(joint: JointEstimate, positions: Sequence[int]) -> str:
    """Suggest a method that relies on no estimated variance and serves all of them."""
    parameters = joint.parameters
    if any(parameters[k].interval_method.smooths for k in positions):
        return ""
    for method in GENERAL_SMOOTHING_METHODS:
        if not any(
            refusal(method, p.trait, table=joint.is_of_rows) for p in parameters
        ):
            return f"; consider method={method!r}"
    return ""


def _names(joint: JointEstimate, positions: Any) -> str:
    return ", ".join(str(joint.parameters[k]) for k in positions)


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller outside this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(), 1
    while frame.f_back and _module(frame).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
