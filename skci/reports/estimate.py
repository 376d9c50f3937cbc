"""Estimates of metrics: floats with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from numbers import Real
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from sklearn.exceptions import UndefinedMetricWarning

from skci import exceptions
from skci._arrays import allow_underflow
from skci._options import HintedAttributes
from skci._validation import (
    check_alternative,
    check_confidence_level,
    check_number,
    first_names,
    join_names,
    printable,
)
from skci.inference.critical.max_distribution import Alternative
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter
from skci.inference.pvalues import pvalue
from skci.measures.traits import LOG
from skci.reports import rendering

_MAX_BINNING_ERROR = 0.1  # standard errors that do not cause a warning
_MAX_NAMES = 12  # estimates named in a warning
_MAX_CLASSES = 5  # classes named in a warning


class ConfidenceInterval(NamedTuple):
    """Limits of a confidence interval, as a named tuple.

    Returned by :meth:`MetricEstimate.confidence_interval`.

    Attributes
    ----------
    low, high : float
        Lower and upper limit, within the range of the metric.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> accuracy = AccuracyCI().from_confusion_matrix([[50, 10], [15, 25]])
    >>> low, high = accuracy.confidence_interval(0.9)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.673 to 0.814
    """

    low: float
    high: float


class Verdict(str):
    """Verdict on a claim: a string that is true only if it is "shown".

    The verdict is "shown" if all values in the interval satisfy the claim, "refuted" if
    no value in the interval does, and "open" otherwise. Returned by
    :meth:`MetricEstimate.at_least` and :meth:`MetricEstimate.at_most`.

    Attributes
    ----------
    pvalue : float
        Two-sided p-value of the claimed value, below alpha unless the verdict is
        "open"; see :meth:`MetricEstimate.pvalue`. The p-value is 0 for a claim that all
        possible values satisfy.
    claim : str
        Text with the name of the metric, its interval and the claim. The ``repr`` shows
        this text, so that a failed pytest assertion states the claim in one line.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> accuracy = AccuracyCI().from_confusion_matrix([[36, 4], [4, 36]])
    >>> verdict = accuracy.at_least(0.8)
    >>> verdict == "shown", round(verdict.pvalue, 3)
    (True, 0.025)
    >>> "release" if accuracy.at_least(0.85) else "wait"
    'wait'
    >>> accuracy.at_least(0.85)
    <open: accuracy = 0.900 [0.815, 0.949] is at least 0.85>
    """

    pvalue: float
    claim: str

    def __new__(cls, word: str, pvalue: float = math.nan, claim: str = "") -> Verdict:
        self = super().__new__(cls, word)
        self.pvalue, self.claim = pvalue, claim
        return self

    def __bool__(self) -> bool:
        return self == "shown"

    def __repr__(self) -> str:
        return f"<{self}: {self.claim}>" if self.claim else super().__repr__()


class MetricEstimate(HintedAttributes, float):
    """Estimate of a performance metric: a float with a confidence interval.

    Returned by metric objects such as :class:`skci.AccuracyCI` and by indexing a
    report. The estimate compares, sorts, formats and pickles like a float. Arithmetic
    returns plain floats. The interval is computed when it is first accessed.

    Attributes
    ----------
    low, high : float
        Limits of the interval at the confidence level.
    half_width : float
        Half the width of the interval, ``(high - low) / 2``; see
        :attr:`JointReport.half_widths`.
    standard_error : float
        Estimated standard deviation of the sampling distribution. The value does not
        depend on the confidence level, and excludes the blurring of a "blurred"
        interval.
    confidence_level : float
        Coverage probability of the interval, between 0 and 1.
    method : str
        Interval method, such as "score".
    n_samples : int or None
        Number of rows used: the rows of the subgroup, or the rows that an abstaining
        model answers. None if the estimate is user-supplied.
    n_groups : int or None
        Number of clusters of rows; None if rows are independent.
    design_effect : float
        Ratio of the variance to the variance in a simple random sample of equal size.
    binning_error : float
        Largest difference from the estimate without binning of scores, by which the
        interval is extended; 0 without binning.
    metric, model : str
        Names of the metric and the model within a report; empty without a report.
    warnings : tuple of str
        Messages of all warnings, whether shown or suppressed.

    Warns
    -----
    DegenerateVarianceWarning, SmallSampleWarning, BinningWarning
        When the interval is accessed, if there is no usable variance, the sample is too
        small for the method, or bins of scores are too wide. A report warns once for
        all its estimates.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> score = AccuracyCI(method="wilson")([0] * 50 + [1] * 50, [0] * 40 + [1] * 60)
    >>> score
    accuracy = 0.900 [0.826, 0.945], 95% interval (wilson, n = 100)
    >>> score.confidence_interval(0.99)
    ConfidenceInterval(low=0.7962..., high=0.9539...)
    """

    _other_attributes: ClassVar = {
        "confidence_interval()": "ci conf_int interval",
        "low": "lower ci_low ci_lower lower_bound",
        "high": "upper ci_high ci_upper upper_bound",
        "standard_error": "se stderr std",
        "float(estimate)": "value estimate mean",
        "pvalue(null)": "p_value p pval",
        "to_dict()": "to_frame to_pandas to_csv to_json",
        "print(estimate)": "summary",
    }

    _joint: JointEstimate
    _position: int
    _parameter: Parameter

    def __new__(cls, joint: JointEstimate, position: int = 0) -> MetricEstimate:
        parameter = joint.parameters[position]
        self = super().__new__(cls, parameter.estimate)
        self._joint, self._position, self._parameter = joint, position, parameter
        return self

    def __getnewargs__(self) -> tuple[JointEstimate, int]:  # type: ignore[override]
        return self._joint, self._position

    @property
    def metric(self) -> str:
        return self._parameter.key.title

    @property
    def model(self) -> str:
        return self._parameter.key.name

    @property
    def low(self) -> float:
        return self._interval(self._joint).low

    @property
    def high(self) -> float:
        return self._interval(self._joint).high

    @property
    def half_width(self) -> float:
        low, high = self._interval(self._joint)
        return (high - low) / 2

    @property
    def standard_error(self) -> float:
        value = float(self._joint.standard_errors[self._position])
        if not value > 0:
            consequence = "the standard error is unknown"
            cause = _zero_variance(self._joint, self._position, consequence)
            _warn(self._joint, iter([(cause, self._position)]))
        return value

    @property
    def confidence_level(self) -> float:
        return self._joint.confidence_level

    @property
    def method(self) -> str:
        return self._parameter.method

    @property
    def n_samples(self) -> int | None:
        if self._joint.n_user_rows is not None:  # copies count once
            parts: Any = self._parameter.components or (self._parameter,)
            return max(int(self._joint.rows.n_rows(part.units)) for part in parts)
        return self._joint.source.n_rows(self._position)

    @property
    def n_groups(self) -> int | None:
        return self._joint.n_groups

    @property
    def design_effect(self) -> float:
        return float(self._joint.source.design_effects[self._position])

    @property
    def binning_error(self) -> float:
        return self._parameter.binning_error

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(describe_warnings(self._joint, positions=[self._position]))

    def confidence_interval(
        self, confidence_level: float | None = None
    ) -> ConfidenceInterval:
        """Return the interval at any confidence level, without reading the data again.

        Parameters
        ----------
        confidence_level : float, optional
            Confidence level between 0 and 1; defaults to the level of the estimate. In
            a joint report, the interval is simultaneous with the intervals of all other
            estimates.

        Returns
        -------
        ConfidenceInterval
            Named tuple ``(low, high)``.
        """
        joint = self._joint
        if confidence_level is not None:
            joint = joint.at(check_confidence_level(confidence_level))
        return self._interval(joint)

    @allow_underflow
    def _interval(self, joint: JointEstimate) -> ConfidenceInterval:
        """Return the interval from a joint estimate, and issue warnings."""
        low, high = joint.intervals[self._position].tolist()
        warn_of_intervals(joint)
        return ConfidenceInterval(low, high)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as a dict for JSON.

        Returns
        -------
        dict of str
            The names of the estimate, ``estimate``, ``low``, ``high``,
            ``standard_error``, ``confidence_level``, ``method`` and ``n_samples``.
            Undefined and infinite numbers are None: a limit of None means that there is
            no limit.

        Examples
        --------
        >>> from skci import AccuracyCI
        >>> score = AccuracyCI().from_confusion_matrix([[40, 10], [15, 35]])
        >>> score.to_dict()["estimate"]
        0.75
        """
        low, high = self.confidence_interval()
        values = {
            **self._parameter.key.labels,
            "estimate": float(self),
            "low": low,
            "high": high,
            "standard_error": float(self._joint.standard_errors[self._position]),
            "confidence_level": self.confidence_level,
            "method": self.method,
            "n_samples": self.n_samples,
            **(self._joint.target._asdict() if self._joint.target else {}),
        }
        return {name: rendering.json_value(value) for name, value in values.items()}

    def pvalue(
        self, null: float | None = None, alternative: Alternative = "two-sided"
    ) -> float:
        """P-value of a test that the metric has a given value.

        Parameters
        ----------
        null : float, optional
            Value under the null hypothesis, within the range of the metric. The value
            may be omitted only for differences (default 0) and ratios (default 1).
        alternative : {"two-sided", "less", "greater"}, default="two-sided"
            Alternative hypothesis: the metric is different from, less than, or greater
            than `null`.

        Returns
        -------
        float
            Smallest alpha for which the interval of level ``1 - alpha`` (or its
            one-sided limit) excludes `null`, computed as the tail probability of the
            critical value at which a limit equals `null`. The p-value is 1 if no
            interval excludes `null` or there is no usable variance. For
            "clopper-pearson", the p-value is twice the smaller tail probability. In a
            joint report, the p-value is adjusted for multiplicity.

        Raises
        ------
        ValueError
            If `null` is outside the range of the metric, or missing for a metric that
            is neither a difference nor a ratio, or `alternative` is unknown.

        Examples
        --------
        75 of 100 correct predictions do not refute a claimed accuracy of .78:

        >>> from skci import AccuracyCI
        >>> score = AccuracyCI().from_confusion_matrix([[40, 10], [15, 35]])
        >>> round(score.pvalue(0.78), 2) > 0.05
        True
        """
        if null is None and self._parameter.components:
            null = float(self._parameter.trait.scale == LOG)
        value = self._check_value(null, "null")
        check_alternative(alternative)
        warn_of_intervals(self._joint)
        return pvalue(self._joint, self._position, value, alternative)

    def _check_value(self, value: Any, name: str) -> float:
        """Check that a value is within the range of the metric."""
        low, high = self._parameter.trait.bounds
        requirement = f"a number in the range [{low:g}, {high:g}] of {self._parameter}"
        is_percent = high == 1 and isinstance(value, Real) and 1 < float(value) <= 100
        hint = f"; did you mean {float(value) / 100:g}?" if is_percent else ""
        return check_number(value, name, requirement, lambda x: low <= x <= high, hint)

    def at_least(self, value: float) -> Verdict:
        """Return the verdict on the claim that the metric is at least some value.

        The interval determines the verdict, so the verdicts on all estimates of a joint
        report are simultaneously right at the confidence level.

        Parameters
        ----------
        value : float
            Claimed value, within the range of the metric.

        Returns
        -------
        Verdict
            "shown" if the interval is above `value`, or `value` is the minimum of the
            range; "refuted" if the interval is below `value`, and "open" otherwise.
            Only "shown" is true.

        See Also
        --------
        JointReport.requirements : Verdicts on several metrics of all models.

        Examples
        --------
        >>> from skci import RecallCI
        >>> recall = RecallCI().from_confusion_matrix([[800, 40], [20, 380]])
        >>> recall
        recall = 0.950 [0.924, 0.967], 95% interval (score, n = 1240)
        >>> [str(recall.at_least(value)) for value in (0.9, 0.94, 0.97)]
        ['shown', 'open', 'refuted']
        """
        return self._verdict(value, is_minimum=True)

    def at_most(self, value: float) -> Verdict:
        """Return the verdict on the claim that the metric is at most some value.

        Parameters
        ----------
        value : float
            Claimed value, within the range of the metric.

        Returns
        -------
        Verdict
            "shown" if the interval is below `value`, or `value` is the maximum of the
            range; "refuted" if the interval is above `value`, and "open" otherwise. See
            :meth:`at_least`.
        """
        return self._verdict(value, is_minimum=False)

    def _verdict(self, value: float, *, is_minimum: bool) -> Verdict:
        """Return the verdict on the claim that the metric is at least `value`.

        If `is_minimum` is false, the claim is that the metric is at most `value`.
        """
        value = self._check_value(value, "value")
        pvalue = self.pvalue(value)
        low, high = self.confidence_interval()
        minimum, maximum = self._parameter.trait.bounds
        below, above = high < value, low > value
        word = "open"
        if value <= minimum if is_minimum else value >= maximum:
            word, pvalue = "shown", 0.0
        elif below or above:
            word = "shown" if above == is_minimum else "refuted"
        relation = "at least" if is_minimum else "at most"
        claim = f"{self._name} = {self} is {relation} {value:g}"
        return Verdict(word, pvalue, claim)

    def __str__(self) -> str:
        limits = self.confidence_interval()
        digits = rendering.decimals([limits])
        interval = rendering.format_interval(*limits, digits)
        return f"{rendering.format_number(self, digits)} {interval}"

    def __repr__(self) -> str:
        joint = self._joint.simultaneous and len(self._joint.parameters) > 1
        level = rendering.format_level(self.confidence_level, joint or None)
        details = describe(self._joint, [self._parameter], self.n_samples)
        described = ", ".join(filter(None, details.values()))
        return f"{self._name} = {self}, {level} interval ({described})"

    @property
    def _name(self) -> str:
        """Name of the estimated quantity."""
        key, reads = self._parameter.key, self._parameter.trait.reads
        if key.is_contrast:
            return str(key)
        return printable(f"{self.metric} ({reads})" if reads else self.metric)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def describe(
    joint: JointEstimate, parameters: Sequence[Parameter], n_samples: int | None = None
) -> dict[str, str]:
    """Return texts for the header of a report, such as "n = 100" for the key "size".

    "methods" names the interval methods, and states the reason if too many distinct
    rows prevent the default method. "target" is the quantity that resampling estimates.
    "size" contains the numbers of rows, clusters and strata. "positive" names the
    positive labels, unless labels are 0 and 1. A text may be empty.
    """
    methods = dict.fromkeys(map(attrgetter("method"), parameters))
    limits = dict.fromkeys(filter(None, map(attrgetter("size_limit"), parameters)))
    error = max(map(attrgetter("binning_error"), parameters))
    size = ""
    if joint.is_of_rows:
        n = joint.n_samples if n_samples is None else n_samples
        hides_copies = joint.n_groups != joint.source.n_groups
        design = "" if hides_copies else joint.source.design_description
        # A mean over queries has one value per query: "n = 60 queries".
        size = f"n = {n} {design}".strip().replace(f"{n} in {n} ", f"{n} ")
    if error and math.isfinite(error):  # rounded up
        unit = 10.0 ** math.floor(math.log10(error))
        error = math.ceil(error / unit) * unit
    return {
        "methods": "; ".join([join_names([*methods]), *limits]),
        "target": f"of {', '.join(filter(None, joint.target))}" if joint.target else "",
        "size": size,
        "binning": f"binning error at most {error:.0e}" if error else "",
        "positive": positive_labels(parameters),
    }


def positive_labels(parameters: Sequence[Parameter]) -> str:
    """Return a text such as "positive label yes".

    The text is empty if labels are 0 and 1.
    """
    metrics: dict[Any, dict[str, None]] = {}
    for parameter in parameters:
        for part in parameter.components or (parameter,):
            if part.pos_label is not None:
                metrics.setdefault(part.pos_label, {})[part.key.metric] = None
    texts = []
    for label, named in metrics.items():
        of_metrics = f" of {join_names([*named])}" if len(metrics) > 1 else ""
        texts.append(f"positive label {label}{of_metrics}")
    return ", ".join(texts)


class _Cause(NamedTuple):
    """Reason to warn about a parameter, with the text of the warning."""

    message: str
    category: type[Warning]
    remedy: bool = False
    number: int | None = None
    """Number in the message, or the smallest number for several parameters."""


_Causes = Iterator[tuple[_Cause, int]]
"""Causes of warnings, with the positions of the parameters."""

_COARSE_BINS = _Cause(
    "the error from binning scores may exceed a tenth of the standard error, so that "
    "the interval is noticeably extended; use more bins, or narrower bins where most "
    "scores are",
    exceptions.BinningWarning,
)
_OTHER_LABEL = _Cause(
    "far below the value of random scores, as if the scores referred to the other "
    "label; scores must increase with the evidence for the positive label: is it the "
    "wrong column of predict_proba, the wrong pos_label, or the probability of no "
    "event, S instead of 1 - S?",
    UserWarning,
)


def warn_of_undefined(joint: JointEstimate, new: Sequence[Parameter] = ()) -> None:
    """Warn about undefined metrics, and about undefined contrasts of defined metrics.

    `new` contains metrics that have not been in any report so far.
    """
    _warn(joint, _causes_of_undefined(joint, new))


def warn_of_intervals(joint: JointEstimate) -> None:
    """Warn about intervals without a usable variance or from a small sample."""
    _warn(joint, _causes_of_intervals(joint, range(len(joint.parameters))))


def describe_warnings(
    joint: JointEstimate,
    max_names: int | None = None,
    positions: Sequence[int] | None = None,
) -> list[str]:
    """Return the text of each warning, with at most `max_names` names per text."""
    if positions is None:
        positions = range(len(joint.parameters))
    causes = [pair for pair in _causes_of_undefined(joint) if pair[1] in positions]
    causes += _causes_of_intervals(joint, positions)
    return [text for text, _ in _messages(joint, causes, max_names)]


def _causes_of_undefined(
    joint: JointEstimate, new: Sequence[Parameter] = ()
) -> _Causes:
    clipped: set[Any] = {*map(attrgetter("clipped"), joint.parameters)} - {None}
    for k, parameter in enumerate(joint.parameters):
        if parameter.clipped:
            worst = max(clipped, key=lambda clipping: clipping.share)
            message = (
                f"{'up to ' * (len(clipped) > 1)}{worst.n:g} of {worst.n_samples:g} "
                "rows have probability 0 for their true label; clipped to "
                f"{worst.eps:.1e}, these rows cause {worst.share:.0%} of the loss, "
                "which depends on the clipping; smooth or calibrate the probabilities, "
                "or report brier_score"
            )
            yield _Cause(message, UserWarning), k
        if not parameter.defined:
            components = [c for c in parameter.components if not c.defined]
            cause = parameter.trait.undefined_by
            if parameter.key.is_contrast and not components:
                cause = "a contrast of infinite estimates, or a ratio to zero"
            message = f"undefined, {cause}; the interval is the whole range"
            if all(c in new for c in components):
                yield _Cause(message, UndefinedMetricWarning), k
        if weights := parameter.undefined_classes:
            names = join_names(first_names([*map(repr, weights)], _MAX_CLASSES))
            kind = "class" if len(weights) == 1 else "classes"
            message = (
                f"undefined for the {kind} {names}, a division of zero by zero; the "
                "interval is extended to cover any value there. The weight in the "
                f"average is {sum(weights.values()):.2g}. If the metric has these "
                "options, zero_division sets only the estimate, and labels can omit "
                f"the {kind}"
            )
            yield _Cause(message, UndefinedMetricWarning), k


def _causes_of_intervals(joint: JointEstimate, positions: Iterable[int]) -> _Causes:
    for k in positions:
        parameter, is_usable = joint.parameters[k], joint.has_limits[k]
        method, consequence = parameter.interval_method, ""
        if not is_usable:
            consequence = "the interval is the whole range" * parameter.defined
        elif method.blurs and not parameter.is_on_boundary:
            alone = not joint.source.has_variance[k]
            consequence = "the interval depends on the blurring alone" * alone
        if consequence:
            yield _zero_variance(joint, k, consequence), k
        # An interval over the whole range is never too narrow.
        if is_usable or method.for_agreement:
            for reason in joint.source.small_sample_reasons(k):
                yield _Cause(reason.text, exceptions.SmallSampleWarning, *reason[1:]), k
        error = parameter.binning_error
        if error and error > _MAX_BINNING_ERROR * joint.standard_errors[k]:
            yield _COARSE_BINS, k
        measure, _, sign = parameter.without_negation
        if measure.chance is not None and parameter.defined:
            limits = sign * joint.individual.intervals[k]
            if limits.max() < measure.chance / 2:
                yield _OTHER_LABEL, k


def _zero_variance(joint: JointEstimate, position: int, consequence: str) -> _Cause:
    cause = joint.parameters[position].trait.zero_variance_by
    if joint.n_groups == 1:
        cause = "all rows are in one group, the only independent unit"
    elif agreement := joint.parameters[position].agreement:
        text = agreement.describe(joint.alpha_of(position))
        cause = f"the models {text}, and no row shows how the models differ elsewhere"
    elif unit := joint.source.single_unit(position):
        cause = f"the variance is not estimable from a single {unit}"
    # No method finds a variance between groups with equal totals.
    remedy = bool(joint.source.design_effects[position] > 0)
    message = f"{cause}, so that {consequence}"
    return _Cause(message, exceptions.DegenerateVarianceWarning, remedy)


def _warn(joint: JointEstimate, causes: _Causes) -> None:
    """Issue one warning per category, about causes not yet reported to the user."""
    new = []
    for cause, k in causes:
        pair = cause.message, str(joint.parameters[k])
        if pair not in joint.warned:
            new.append((cause, k))
            joint.warned.add(pair)
    if not new:
        return
    messages: dict[type[Warning], list[str]] = {}
    for message, category in _messages(joint, new, _MAX_NAMES):
        messages.setdefault(category, []).append(message)
    for category, texts in messages.items():
        exceptions.warn_caller("\n".join(texts), category)


def _messages(
    joint: JointEstimate,
    causes: Iterable[tuple[_Cause, int]],
    max_names: int | None = None,
) -> Iterator[tuple[str, type[Warning]]]:
    """Yield a warning message and its category for each cause.

    The message names all parameters with this cause. If another interval method is the
    best method for all these parameters, the message recommends the method.
    """
    shared: dict[_Cause, list[tuple[_Cause, int]]] = {}
    for cause, position in causes:
        shared.setdefault(cause._replace(number=None), []).append((cause, position))
    for (message, category, remedy, _), pairs in shared.items():
        numbers = [cause.number for cause, _ in pairs if cause.number is not None]
        if numbers:
            message = message.format(most=min(numbers))
        parameters = [joint.parameters[k] for _, k in pairs]
        better = {joint.source.best_method(p.trait) for p in parameters}
        if remedy and len(better) == 1 and not better & {p.method for p in parameters}:
            message += f"; consider method={better.pop()!r}"
        names = first_names([*map(str, parameters)], max_names)
        yield f"{', '.join(names)}: {message}", category
