"""The result of a metric: a float with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from sklearn.exceptions import UndefinedMetricWarning

from skci._options import HintedAttributes, with_hints
from skci._validation import (
    check_alternative,
    check_confidence_level,
    check_number,
    join_names,
    printable,
)
from skci.exceptions import (
    BinningWarning,
    DegenerateVarianceWarning,
    SmallSampleWarning,
    warn_caller,
)
from skci.inference.critical.law import Alternative
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter
from skci.inference.pvalues import pvalue
from skci.inference.unseen_ends import widening_by_unseen_ends
from skci.measures.traits import LOG
from skci.reports.rendering import (
    decimals,
    first_names,
    format_interval,
    format_level,
    format_number,
    json_value,
)

_MOST_BINNING = 0.1  # standard errors by which bins may be wrong unnoticed
_MUCH_WIDER = 2.0  # ratio of widths from which the header says what widens
_MOST_NAMES = 12  # estimates named in a warning
_MAX_CLASSES = 5  # named in a warning


class ConfidenceInterval(NamedTuple):
    """Limits of a confidence interval, a named tuple.

    Returned by :meth:`MetricEstimate.confidence_interval`.

    Attributes
    ----------
    low, high : float
        Lower and upper limit, in the range of the measure.

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
    """What an interval says of a claim: a string that is true only if it is "shown".

    "shown" if all values of the interval agree with it, "refuted" if none does, else
    "open"; the truth value of the last two is False. Returned by
    :meth:`MetricEstimate.at_least` and :meth:`MetricEstimate.at_most`.

    Attributes
    ----------
    pvalue : float
        Of the value claimed, two-sided; below alpha unless "open". See
        :meth:`MetricEstimate.pvalue`. 0 for a claim that all values of the range meet.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> accuracy = AccuracyCI().from_confusion_matrix([[36, 4], [4, 36]])
    >>> verdict = accuracy.at_least(0.8)
    >>> verdict == "shown", round(verdict.pvalue, 3)
    (True, 0.025)
    >>> "release" if accuracy.at_least(0.85) else "wait"
    'wait'
    """

    pvalue: float

    def __new__(cls, word: str, pvalue: float) -> Verdict:
        """Make a string and attach its p-value."""
        self = super().__new__(cls, word)
        self.pvalue = pvalue
        return self

    def __bool__(self) -> bool:
        return self == "shown"

    def __getnewargs__(self) -> tuple[str, float]:  # type: ignore[override]
        return str(self), self.pvalue


class MetricEstimate(HintedAttributes, float):
    """Estimate of a performance measure: a float with a confidence interval.

    Returned by metric objects such as :class:`skci.AccuracyCI` and by indexing a
    report. It compares, sorts, formats and pickles as a float, and arithmetic gives
    plain floats. The interval is computed when it is first accessed.

    Attributes
    ----------
    low, high : float
        Limits of the interval, at the confidence level.
    half_width : float
        Half the width of the interval, ``(high - low) / 2``; see
        :attr:`JointReport.half_widths`.
    standard_error : float
        Estimated standard deviation of the sampling distribution, whatever the level
        and the method: it leaves out the blurring of a "blurred" interval.
    confidence_level : float
        Coverage probability of the interval, between 0 and 1.
    method : str
        Interval method, such as "score".
    n_samples : int or None
        Number of rows, in a subgroup or of a model that abstains those that count;
        None where the estimate was given.
    n_groups : int or None
        Number of clusters of rows; None where rows are independent.
    design_effect : float
        Variance over that of a simple random sample of the same size.
    binning_error : float
        Largest difference to the estimate from scores that are not in bins, which the
        interval is extended by; 0 where they are not.
    metric, model : str
        Names of the measure and of the model within a report; empty without one.
    warnings : tuple of str
        Messages of the warnings, whether they were shown or not.

    Warns
    -----
    DegenerateVarianceWarning, SmallSampleWarning, BinningWarning
        When the interval is accessed and the data leave no usable variance, the sample
        is too small for its method, or its scores are in wide bins. Within a report, of
        all its estimates and once.

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
        return self._interval().low

    @property
    def high(self) -> float:
        return self._interval().high

    @property
    def half_width(self) -> float:
        low, high = self._interval()
        return (high - low) / 2

    @property
    def standard_error(self) -> float:
        value = float(self._joint.standard_errors[self._position])
        if not value > 0:
            consequence = "the standard error is not known"
            cause = _zero_variance(self._joint, self._position, consequence)
            _warn(self._joint, [(cause, self._position)])
        return value

    @property
    def confidence_level(self) -> float:
        return self._joint.confidence_level

    @property
    def method(self) -> str:
        return self._parameter.method

    @property
    def n_samples(self) -> int | None:
        if self._joint.n_given is not None:  # copies count once
            parts: Any = self._parameter.components or (self._parameter,)
            return max(int(self._joint.rows.n_rows(part.units)) for part in parts)
        return self._joint.sampling.n_rows(self._position)

    @property
    def n_groups(self) -> int | None:
        return self._joint.n_groups

    @property
    def design_effect(self) -> float:
        return float(self._joint.sampling.design_effects[self._position])

    @property
    def binning_error(self) -> float:
        return self._parameter.binning_error

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(describe_warnings(self._joint, positions=[self._position]))

    @with_hints
    def confidence_interval(
        self, confidence_level: float | None = None
    ) -> ConfidenceInterval:
        """Compute the interval at any level, without another pass over the data.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the estimate if not given. The interval of an
            estimate in a joint report is joint with those of the others.

        Returns
        -------
        ConfidenceInterval
            Named tuple ``(low, high)``.
        """
        return self._interval(confidence_level)

    def _interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        joint = self._joint
        if confidence_level is not None:
            joint = joint.at(check_confidence_level(confidence_level))
        low, high = joint.intervals[self._position].tolist()
        warn_of_intervals(joint)
        return ConfidenceInterval(low, high)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON has it.

        Returns
        -------
        dict of str
            The names of the estimate, ``estimate``, ``low``, ``high``,
            ``standard_error``, ``confidence_level``, ``method`` and ``n_samples``. None
            for numbers that are undefined or infinite: a limit of None is no limit.

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
        return {name: json_value(value) for name, value in values.items()}

    def pvalue(
        self, null: float | None = None, alternative: Alternative = "two-sided"
    ) -> float:
        """Test whether the measure has some value.

        Parameters
        ----------
        null : float, optional
            Value under the null hypothesis, in the range of the measure. By default,
            for differences and ratios only, that of no difference: 0 and 1.
        alternative : {"two-sided", "less", "greater"}, default="two-sided"
            Whether the measure differs from `null`, is less, or is greater.

        Returns
        -------
        float
            Tail probability of the critical value at which a limit is at `null`: the
            smallest alpha whose interval of level ``1 - alpha`` (one-sided, whose
            limit) excludes `null`; 1 if none does or there is no usable variance. For
            "clopper-pearson" twice the smaller tail; adjusted in a joint report.

        Raises
        ------
        ValueError
            If `null` is not in the range of the measure, or not given for one that is
            no difference, or `alternative` is unknown.

        Examples
        --------
        An accuracy of .78 is claimed, and 75 of 100 do not refute it:

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
        """Check a value in the range of the measure."""
        low, high = self._parameter.trait.bounds
        wanted = f"a number in the range [{low:g}, {high:g}] of {self._parameter}"
        is_percent = high == 1 and isinstance(value, Real) and 1 < float(value) <= 100
        hint = f"; did you mean {float(value) / 100:g}?" if is_percent else ""
        return check_number(value, name, wanted, lambda x: low <= x <= high, hint)

    def at_least(self, value: float) -> Verdict:
        """Say whether the measure is shown to be at least some value.

        The interval decides, so verdicts on the estimates of a joint report all hold at
        once with the confidence level.

        Parameters
        ----------
        value : float
            In the range of the measure.

        Returns
        -------
        Verdict
            "shown" if the interval is above `value`, or no value of the range is
            below it; "refuted" if the interval is below, and else "open". Its truth
            value is whether it is "shown".

        See Also
        --------
        JointReport.requirements : The same for several metrics of all models.

        Examples
        --------
        >>> from skci import RecallCI
        >>> recall = RecallCI().from_confusion_matrix([[800, 40], [20, 380]])
        >>> recall
        recall = 0.950 [0.924, 0.967], 95% interval (score, n = 1240)
        >>> [str(recall.at_least(value)) for value in (0.9, 0.94, 0.97)]
        ['shown', 'open', 'refuted']
        """
        return self._verdict(value, is_least=True)

    def at_most(self, value: float) -> Verdict:
        """Say whether the measure is shown to be at most some value.

        Parameters
        ----------
        value : float
            In the range of the measure.

        Returns
        -------
        Verdict
            "shown" if the interval is below `value`, or no value of the range is
            above it; "refuted" if the interval is above, and else "open". See
            :meth:`at_least`.
        """
        return self._verdict(value, is_least=False)

    def _verdict(self, value: float, *, is_least: bool) -> Verdict:
        """Verdict on a value as the least that is required, or the greatest."""
        value = self._check_value(value, "value")
        pvalue = self.pvalue(value)
        low, high = self.confidence_interval()
        least, greatest = self._joint.parameters[self._position].trait.bounds
        if value <= least if is_least else value >= greatest:
            return Verdict("shown", 0.0)
        below, above = high < value, low > value
        if not (below or above):
            return Verdict("open", pvalue)
        return Verdict("shown" if above == is_least else "refuted", pvalue)

    def __str__(self) -> str:
        limits = self.confidence_interval()
        places = decimals([limits])
        return f"{format_number(self, places)} {format_interval(*limits, places)}"

    def __repr__(self) -> str:
        joint = self._joint.simultaneous and len(self._joint.parameters) > 1
        level = format_level(self.confidence_level, joint or None)
        size = describe_sample_size(self._joint, self.n_samples)
        target = describe_target(self._joint)
        binning = describe_binning([self._parameter])
        methods = describe_methods([self._parameter])
        positive = describe_positive([self._parameter])
        parts = [methods, target, size, binning, positive]
        details = ", ".join(filter(None, parts))
        return f"{self._name} = {self}, {level} interval ({details})"

    @property
    def _name(self) -> str:
        """Name of the estimated measure or contrast."""
        key, reads = self._parameter.key, self._parameter.trait.reads
        if key.is_contrast:
            return str(key)
        return printable(f"{self.metric} ({reads})" if reads else self.metric)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def describe_sample_size(joint: JointEstimate, n_samples: int | None = None) -> str:
    """Write the number of rows, of a sample or an estimate, of groups and strata."""
    if not joint.is_of_rows:
        return ""
    n = joint.n_samples if n_samples is None else n_samples
    hides_copies = joint.n_groups != joint.sampling.n_groups
    design = "" if hides_copies else joint.sampling.design_in_words
    # A mean over queries has as many values as there are: "n = 60 queries".
    return f"n = {n} {design}".strip().replace(f"{n} in {n} ", f"{n} ")


def describe_methods(parameters: Sequence[Parameter]) -> str:
    """Write the interval methods, and why some are not those of smaller tables."""
    methods = join_names(list(dict.fromkeys(p.method for p in parameters)))
    limits = dict.fromkeys(p.size_limit for p in parameters if p.size_limit)
    return "; ".join([methods, *limits])


def describe_positive(parameters: Iterable[Parameter]) -> str:
    """Write the positive label of metrics of one; nothing for 1 of 0 and 1."""
    metrics: dict[Any, dict[str, None]] = {}
    for parameter in parameters:
        for part in parameter.components or (parameter,):
            if part.pos_label is not None:
                metrics.setdefault(part.pos_label, {})[part.key.metric] = None
    if len(metrics) == 1:
        return f"positive label {next(iter(metrics))}"
    named = (f"positive label {k} of {join_names([*v])}" for k, v in metrics.items())
    return ", ".join(named)


def describe_reads(parameters: Iterable[Parameter]) -> str:
    """Write what users' functions of the rows read."""
    reads = {p.key.metric: p.trait.reads for p in parameters if p.trait.reads}
    return ", ".join(f"{metric} of {kind}" for metric, kind in reads.items())


def describe_binning(parameters: Iterable[Parameter]) -> str:
    """Write the largest error by bins of scores, rounded up; nothing without one."""
    error = max(parameter.binning_error for parameter in parameters)
    if not error:
        return ""
    if math.isfinite(error):
        unit = 10.0 ** math.floor(math.log10(error))
        error = math.ceil(error / unit) * unit
    return f"binning error at most {error:.0e}"


def describe_unseen_ends(joint: JointEstimate) -> str:
    """Write what allowing for unseen ends costs where it doubles a width, or more."""
    widening = widening_by_unseen_ends(joint)
    if widening < _MUCH_WIDER:
        return ""
    return (
        f'up to {widening:.1f} times as wide as by method="hall", to allow for ends of '
        "the bounds that were not seen"
    )


def describe_agreement(joint: JointEstimate) -> str:
    """Write what intervals of models that agree rest on."""
    if not any(p.interval_method.of_agreement for p in joint.parameters):
        return ""
    return (
        '"agreement" where models agree in all n independent rows or groups, and so in '
        "all but a share of at most 1 - alpha^(1/n) of the population"
    )


def describe_target(joint: JointEstimate) -> str:
    """Write what resampled estimates are of, and how their variance was estimated."""
    return f"of {', '.join(filter(None, joint.target))}" if joint.target else ""


def warn_of_undefined(joint: JointEstimate, new: Sequence[Parameter] = ()) -> None:
    """Warn of measures, and of contrasts of defined ones, that are undefined.

    And of contrasts with `new` measures, of which no report has warned.
    """
    if causes := _causes_of_undefined(joint, new):
        _warn(joint, causes)


def warn_of_intervals(joint: JointEstimate) -> None:
    """Warn of intervals without a usable variance or from a small sample, once."""
    if causes := _causes_of_intervals(joint, range(len(joint.parameters))):
        _warn(joint, causes)


def describe_warnings(
    joint: JointEstimate,
    most: int | None = None,
    positions: Sequence[int] | None = None,
) -> list[str]:
    """Write the warnings, with at most so many names in each."""
    if positions is None:
        positions = range(len(joint.parameters))
    causes = [each for each in _causes_of_undefined(joint) if each[1] in positions]
    causes += _causes_of_intervals(joint, positions)
    return [text for text, _ in _warnings(joint, causes, most)]


def _causes_of_undefined(
    joint: JointEstimate, new: Sequence[Parameter] = ()
) -> list[tuple[_Cause, int]]:
    clipped = {k: p.clipped for k, p in enumerate(joint.parameters) if p.clipped}
    causes = [(_clipping(clipped.values()), k) for k in clipped]
    for k, parameter in enumerate(joint.parameters):
        if not parameter.defined:
            components = [c for c in parameter.components if not c.defined]
            cause = parameter.trait.undefined_by
            if parameter.key.is_contrast and not components:
                cause = "of infinite estimates, or a ratio to zero"
            message = f"undefined, {cause}; the interval is the whole range"
            if all(c in new for c in components):
                causes.append((_Cause(message, UndefinedMetricWarning), k))
        if parameter.undefined_classes:
            causes.append((_undefined_classes(parameter.undefined_classes), k))
    return causes


def _clipping(found: Collection[Any]) -> _Cause:
    """Say that losses depend on where probabilities of 0 are clipped."""
    worst = max(found, key=lambda each: each.share)
    return _Cause(
        f"{'up to ' * (len({*found}) > 1)}{worst.n:g} of {worst.n_samples:g} rows have "
        f"probability 0 for their true label; clipped to {worst.eps:.1e}, they make up "
        f"{worst.share:.0%} of the loss, which depends on that number; smooth or "
        "calibrate the probabilities, or report brier_score",
        UserWarning,
    )


def _undefined_classes(weights: Mapping[str, float]) -> _Cause:
    """Say why the interval of an average is wide, and what narrows it."""
    names = first_names([*map(repr, weights)], _MAX_CLASSES)
    kind = "class" if len(weights) == 1 else "classes"
    weight = f"{sum(weights.values()):.2g}"
    return _Cause(
        f"undefined for the {kind} {names}, a division of zero by zero; "
        f"the interval is extended to hold any value there, at a weight of {weight} in "
        "the average; where the metric has the options, zero_division sets the "
        f"estimate alone and labels can omit the {kind}",
        UndefinedMetricWarning,
    )


def _causes_of_intervals(
    joint: JointEstimate, positions: Iterable[int]
) -> list[tuple[_Cause, int]]:
    causes: list[tuple[_Cause, int]] = []
    for k in positions:
        if joint.is_degenerate(k):
            consequence = "the interval is the whole range"
            if joint.usable[k]:
                consequence = "the interval rests on the blurring alone"
            causes.append((_zero_variance(joint, k, consequence), k))
        parameter = joint.parameters[k]
        # The whole range is not too narrow.
        is_limited = joint.usable[k] or parameter.interval_method.of_agreement
        for reason in joint.sampling.small_sample_reasons(k) if is_limited else ():
            causes.append((_Cause(reason.text, SmallSampleWarning, *reason[1:]), k))
        error = parameter.binning_error
        if error and error > _MOST_BINNING * joint.standard_errors[k]:
            causes.append((_COARSE_BINS, k))
        chance = parameter.unsigned[0].chance
        if chance is not None and abs(parameter.estimate) < chance / 2:
            limits = joint.individual.intervals[k].tolist()
            if max(map(abs, limits)) < chance / 2:
                causes.append((_OTHER_LABEL, k))
    return causes


class _Cause(NamedTuple):
    """Cause of a warning, of which another method may be a remedy."""

    message: str
    category: type[Warning]
    remedy: bool = False
    most: int | None = None
    """Number in the message, of which the least serves all parameters."""


_COARSE_BINS = _Cause(
    "the error by bins of scores may be over a tenth of the standard error, so that "
    "the interval is noticeably extended; take more bins, or edges that are closer "
    "where there are many scores",
    BinningWarning,
)


_OTHER_LABEL = _Cause(
    "far below the value of random scores, as if scores were those of the other label; "
    "scores must increase with the evidence for the positive label: is it the wrong "
    "column of predict_proba, or the wrong pos_label?",
    UserWarning,
)


def _zero_variance(joint: JointEstimate, position: int, consequence: str) -> _Cause:
    cause = "the estimated variance is zero"
    if joint.n_groups == 1:
        cause = "all rows are in one group, the only independent unit"
    elif agreement := joint.parameters[position].agreement:
        in_words = agreement.in_words(joint.alpha_of(position))
        cause = f"the models {in_words}, and nothing shows how they differ in the rest"
    elif unit := joint.sampling.single_unit(position):
        cause = f"the variance is not estimable from a single {unit}"
    message = f"{cause}, so that {consequence}"
    # Between groups with equal totals no method sees one.
    remedy = bool(joint.sampling.design_effects[position] > 0)
    return _Cause(message, DegenerateVarianceWarning, remedy)


def _warn(joint: JointEstimate, causes: Iterable[tuple[_Cause, int]]) -> None:
    """Warn once of the causes that no view of the same estimates has warned of.

    There is one warning of each category.
    """
    new = [(cause, k, (cause.message, str(joint.parameters[k]))) for cause, k in causes]
    new = [each for each in new if each[-1] not in joint.warned]
    joint.warned.update(pair for *_, pair in new)
    messages: dict[type[Warning], list[str]] = {}
    shared = [(cause, k) for cause, k, _ in new]
    for message, category in _warnings(joint, shared, _MOST_NAMES):
        messages.setdefault(category, []).append(message)
    for category, each in messages.items():
        warn_caller("\n".join(each), category)


def _warnings(
    joint: JointEstimate,
    causes: Iterable[tuple[_Cause, int]],
    most: int | None = None,
) -> Iterator[tuple[str, type[Warning]]]:
    """Messages about the parameters that share a cause, and their categories.

    The remedy is a method that serves them all better.
    """
    positions: dict[_Cause, list[int]] = {}
    least: dict[_Cause, int] = {}
    for cause, position in causes:
        alike = cause._replace(most=None)
        positions.setdefault(alike, []).append(position)
        if cause.most is not None:
            least[alike] = min(cause.most, least.get(alike, cause.most))
    for cause, places in positions.items():
        message, category, remedy, _ = cause
        if cause in least:
            message = message.format(most=least[cause])
        parameters = [joint.parameters[k] for k in places]
        better = {joint.sampling.best_method(p.trait) for p in parameters}
        if remedy and len(better) == 1 and not better & {p.method for p in parameters}:
            message += f"; consider method={better.pop()!r}"
        names = [*map(str, parameters[:most])]
        others = [f"{len(places) - len(names)} others"] * (len(names) < len(places))
        yield f"{', '.join(names + others)}: {message}", category
