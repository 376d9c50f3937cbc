"""Reports on ranks, on models that may be the best, and on requirements."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from skci._arrays import Array, ReadOnlyArrays
from skci._options import HintedAttributes
from skci._validation import (
    check_integer,
    check_valid_name,
    first_names,
    join_names,
    near_hint,
)
from skci.inference.parameter import ParameterLabels
from skci.measures.synonyms import known_spellings
from skci.measures.traits import MeasureProperties
from skci.reports.displays import ConfidenceIntervalDisplay
from skci.reports.estimate import MetricEstimate, Verdict, describe
from skci.reports.page import Part
from skci.reports.rendering import (
    Column,
    Findings,
    TabularReport,
    estimate_columns,
    format_level,
    format_pvalue,
    notebook_html,
)

SIGNS = (">=", "<=")
GRAMMAR = (
    "'METRIC >= NUMBER', 'MODEL METRIC >= NUMBER' or 'METRIC: NEW >= OLD - NUMBER', "
    "where the only metric and the last number may be omitted"
)
_ACCEPTED = (
    f"a string such as 'recall >= 0.9', with >= or <= ({GRAMMAR}), a range such "
    "as '0.8 <= recall <= 0.9', a list of such strings, or several joined by 'and'; or "
    "a mapping such as {'recall': ('>=', 0.9)}"
)
_AND = re.compile(r"\s+and\s+")
_RANGE = re.compile(
    r"(?<!\S)([-+.\deE]+)\s*<=?\s*([^<>=]+?)\s*<=?\s*([-+.\deE]+)(?!\S)"
)
_COMPARISON = re.compile(r"\s*(.*?)\s*([<>]=?)\s*([^<>=]*[^<>=%\s])\s*")
_SHIFT = r"([+-]\s*(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_SHIFTED = re.compile(rf"(.*?)(?:\s+{_SHIFT})?")
_VERDICTS = ("shown", "open", "refuted")

Requirements = str | Sequence[str] | Mapping[str, tuple[str, float]]
"""Accepted forms: "recall >= 0.9 and precision >= 0.5", a list of such strings, or
{"recall": (">=", 0.9)}; a model or a difference of two may precede the metric."""


class Requirement(NamedTuple):
    """Required minimum or maximum of a metric."""

    name: str
    """Model, or comparison such as "new - old", or "" for all models."""
    metric: str
    sign: str
    value: float
    sides: tuple[str, str] | None = None
    """Texts on both sides of the sign, as in "new >= old - 0.02", or None."""

    def applies_to(self, key: ParameterLabels) -> bool:
        """Whether the requirement applies to the parameter with these labels."""
        return key.title == self.metric and self.name in ("", key.name)

    def pair(self, models: Collection[str]) -> tuple[str, str] | None:
        """Return the two models of a requirement on a difference.

        The result is None for other requirements.
        """
        signs = re.finditer("-", "" if self.name in models else self.name)
        spans = (sign.span() for sign in signs)
        pairs = ((self.name[:k].strip(), self.name[m:].strip()) for k, m in spans)
        return next((pair for pair in pairs if {*pair} <= {*models}), None)

    def verdict(self, estimate: MetricEstimate) -> Verdict:
        """Return the verdict on the requirement for an estimate."""
        verdict_on = estimate.at_least if self.sign == ">=" else estimate.at_most
        return verdict_on(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class RequirementReport(TabularReport[Verdict]):
    """Verdicts on requirements: shown, refuted or open.

    Returned by :meth:`JointReport.requirements`. With joint intervals, all verdicts on
    models are simultaneously right at the confidence level. All verdicts on differences
    are also simultaneously right. With individual intervals, the confidence level
    applies to each verdict separately. ``bool(report)`` raises an error. Use
    ``verdict`` instead, which is true if all verdicts are "shown".

    Parameters
    ----------
    names : mapping of str to sequence of K str
        Columns that identify the rows of the report, such as the model and the metric.
    subjects : sequence of K str
        Names of the models, or of the comparisons.
    requirements : sequence of K (str, float)
        Minimum ``(">=", value)`` or maximum ``("<=", value)`` of each estimate.
    estimates : sequence of K MetricEstimate
        Estimates to which the requirements apply.
    verdicts : sequence of K Verdict
        Verdict on each requirement: "shown", "refuted" or "open".
    simultaneous : bool
        Whether the confidence level applies to all intervals simultaneously.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> required = report.requirements("accuracy >= 0.8")
    >>> [*map(str, required.verdicts)]
    ['shown', 'refuted']
    >>> required["B", "accuracy"]
    <refuted: accuracy = 0.68 [0.55, 0.78] is at least 0.8>
    >>> required.met_by
    ['A']
    >>> required.unmet
    ['B accuracy >= 0.8 is refuted: accuracy = 0.68 [0.55, 0.78], joint 95%...
    """

    _headline: ClassVar[Any] = None
    """Question of an HTML page that starts with the verdicts, or None."""

    names: Mapping[str, Sequence[str]]
    subjects: Sequence[str]
    requirements: Sequence[tuple[str, float]]
    estimates: Sequence[MetricEstimate]
    verdicts: Sequence[Verdict]
    simultaneous: bool

    def __bool__(self) -> bool:
        raise ValueError(
            "requirements of several estimates have no single truth value; use "
            "verdict, met_by, or all(verdicts)"
        )

    @property
    def met_by(self) -> list[str]:
        """Models, or comparisons, that are shown to meet all requirements."""
        return self._met(self.subjects)

    def _met(self, subjects: Sequence[Any]) -> list[Any]:
        """Return the models or comparisons that are shown to meet all requirements.

        `subjects` contains, for each verdict, the model or the comparison.
        """
        unmet = {x for x, met in zip(subjects, self.verdicts, strict=True) if not met}
        return [subject for subject in dict.fromkeys(subjects) if subject not in unmet]

    @property
    def verdict(self) -> Verdict:
        """Verdict on all requirements together, which is the worst of all verdicts.

        "refuted" is worse than "open", and "open" is worse than "shown". If several
        verdicts are equally bad, the p-value is the largest of their p-values.
        """
        return max(self.verdicts, key=lambda word: (_VERDICTS.index(word), word.pvalue))

    def _part(self) -> Part:
        """Return the section of the HTML page that shows the verdicts."""
        verdict = f"{self._title()}: {self.verdict}."
        return Part(self, [verdict, *self.unmet])

    @property
    def unmet(self) -> Findings:
        """Sentences on requirements not shown, such as "new f1 >= 0.8 is open: ..."."""
        return self._sentences("open", "refuted")

    def findings(self) -> Findings:
        """Sentences on all requirements, such as "new f1 >= 0.8 is open: ...".

        Returns
        -------
        list of str
            One sentence per requirement.

        See Also
        --------
        unmet : Sentences on requirements that are not shown.
        """
        return Findings(self._sentences(*_VERDICTS), self.simultaneous)

    def _sentences(self, *verdicts: str) -> Findings:
        """Write a sentence on each requirement whose verdict is in `verdicts`."""
        rows = zip(self._claims, self.verdicts, self.estimates, strict=True)
        return Findings(
            f"{claim} is {verdict}: {estimate!r}"
            for claim, verdict, estimate in rows
            if verdict in verdicts
        )

    @property
    def _claims(self) -> list[str]:
        """Text of each requirement, such as "new f1 >= 0.8"."""
        keys = [estimate._parameter.key for estimate in self.estimates]
        names = [f"{key.name} {key.panel}".strip() for key in keys]
        return [*map(" ".join, zip(names, self._required, strict=True))]

    @property
    def _required(self) -> list[str]:
        """Requirement on each estimate, such as ">= 0.9"."""
        return [f"{sign} {value:g}" for sign, value in self.requirements]

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        """Columns that label the rows.

        If several rows have the same labels, an additional column contains the
        requirements.
        """
        names = [*zip(*self.names.values(), strict=True)]
        repeated = len({*names}) < len(names)
        return {**self.names, "requirement": self._required} if repeated else self.names

    def _entry(self, position: int) -> Verdict:
        return self.verdicts[position]

    def _title(self) -> str:
        level = format_level(self.estimates[0].confidence_level, self.simultaneous)
        parameters = [estimate._parameter for estimate in self.estimates]
        compares = any(parameter.key.is_contrast for parameter in parameters)
        only_required = ", of the differences that are required alone" * compares
        title = f"Requirements by {level} confidence intervals{only_required}"
        positive = describe(self.estimates[0]._joint, parameters)["positive"]
        return ", ".join(filter(None, [title, positive]))

    def _columns(self) -> list[Column]:
        limits = [estimate.confidence_interval() for estimate in self.estimates]
        interval = f"{'joint' if self.simultaneous else 'individual'} interval"
        pvalues = [verdict.pvalue for verdict in self.verdicts]
        header = "" if "requirement" in self._labels else "requirement"
        return [
            Column({"requirement": self._required}, header),
            *estimate_columns(self.estimates, limits, "estimate", interval),
            Column({"pvalue": pvalues}, "p-value", format_pvalue),
            Column({"verdict": [*map(str, self.verdicts)]}, "verdict"),
        ]


def _check_requirements(
    requirements: Any, metrics: Sequence[str] = ()
) -> list[tuple[str, Any]]:
    """Check requirements, and return them as pairs (subject, condition)."""
    required: list[Any] = []
    if isinstance(requirements, Mapping):
        required = [*requirements.items()]
        for subject, requirement in required:
            if not (
                isinstance(requirement, tuple | list)
                and len(requirement) == 2
                and requirement[0] in SIGNS
            ):
                raise ValueError(
                    f"requirements[{subject!r}] must be ('>=', value) or ('<=', "
                    f"value), got {requirement!r}; for a range, pass the string "
                    f"'LOW <= {subject} <= HIGH'"
                )
    elif isinstance(requirements, str | list):
        texts = [requirements] if isinstance(requirements, str) else requirements
        if all(isinstance(text, str) for text in texts):
            required = [x for text in texts for x in _parse(text, metrics)]
    if not required:
        raise ValueError(f"requirements must be {_ACCEPTED}; got {requirements!r}")
    return required


def check_comparisons(
    required: Sequence[Requirement], traits: Mapping[str, MeasureProperties]
) -> None:
    """Refuse comparisons of two models in the wrong direction.

    For example, "new accuracy <= old" raises an error, because a worse model meets this
    requirement. There is no error if the opposite direction is also required.
    """
    signs = {(x.name, x.metric, x.sign) for x in required}
    for name, metric, sign, value, sides in required:
        trait = traits[metric]
        better, worse = SIGNS[:: trait.sign]
        if sides and trait.has_better and (name, metric, better) not in signs:
            left, right = sides
            written, instead = (
                f"{left} {sign} {right}" + f" {'-+'[x > 0]} {abs(x):g}" * bool(x)
                for sign, x in ((worse, value), (better, -value))
            )
            direction = "higher" if trait.greater_is_better else "lower"
            raise ValueError(
                f"requirements must not contain {written!r}, because {direction} "
                f"values of {metric} are better, and a worse model meets this "
                f"requirement. Write {instead!r}, or the opposite sign in --fail-if"
            )


def read_requirements(
    requirements: Any, metrics: list[str], names: list[str]
) -> list[Requirement]:
    """Parse requirements, and check them against the metrics and names of a report."""
    parsed = []
    spellings = known_spellings(metrics, names)
    for subject, requirement in _check_requirements(requirements, [*spellings]):
        for spelling in sorted(spellings, key=len, reverse=True):
            if f" {subject}".endswith(f" {spelling}"):
                name = subject.removesuffix(spelling).strip()
                metric = spellings[spelling]
                break
        else:  # the only metric may be omitted
            name, metric = str(subject), metrics[0]
            if len(metrics) > 1:
                raise unknown_subject(name, metrics, names)
        parsed.append(Requirement(name, metric, *requirement))
    return parsed


def unknown_subject(subject: str, metrics: list[str], names: list[str]) -> KeyError:
    """Return the error for an unknown metric, model or comparison in a requirement."""
    pairs = [f"{name} {metric}" for name in names for metric in metrics]
    known = [name for name in [*metrics, *names, *pairs] if name != subject]
    return KeyError(
        f"requirements must name one of the metrics {metrics}, optionally after one of "
        f"{names} or a difference of two models, as in {f'{pairs[0]} >= 0.9'!r} or "
        f"'{metrics[0]}: NEW >= OLD - 0.01', got {subject!r}{near_hint(subject, known)}"
    )


def _parse(text: str, metrics: Sequence[str]) -> list[tuple[str, tuple[Any, ...]]]:
    """Parse requirements such as "recall >= 0.9 and precision >= 0.5"."""
    requirements: list[tuple[str, tuple[Any, ...]]] = []
    for part in _AND.split(_RANGE.sub(r"\2 >= \1 and \2 <= \3", text)):
        left, sign, right = split_comparison(part) or ("", "", "")
        other, value = _other_and_number(right)
        is_metric = left in metrics and other
        if not sign or is_metric or any(sign in left for sign in SIGNS):
            context = "" if part == text else f" in {text!r}"
            hint = "; no data show an exact value, so require a range" * ("==" in part)
            raise ValueError(
                f"requirements must be {_ACCEPTED}; got {part!r}{context}{hint}"
            )
        subject = _subject([left, other] if other else [left], metrics)
        sides = (left, other) if other else None
        requirements.append((subject, (f"{sign[0]}=", value, sides)))
    return requirements


def _other_and_number(right: str) -> tuple[str, float]:
    """Split the right side of a requirement into a model and a number.

    For example, "old - 0.02" is split into "old" and -0.02.
    """
    try:
        return "", float(right)
    except ValueError:
        other, shift = cast(re.Match[str], _SHIFTED.fullmatch(right)).groups()
        return other, float((shift or "0").replace(" ", ""))


def _subject(sides: Sequence[str], metrics: Sequence[str]) -> str:
    """Return the subject of a requirement on two models, such as "new - old f1".

    This is the subject of the requirement "f1: new >= old". `sides` contains the texts
    on the left and on the right of the comparison sign. The metric may come first,
    before a colon, or last on either side.
    """
    for metric in sorted(metrics, key=len, reverse=True):
        names = [
            side.removeprefix(f"{metric}:").removesuffix(f" {metric}").strip()
            for side in sides
        ]
        if names != [*sides]:
            return f"{' - '.join(names)} {metric}"
    return " - ".join(sides)


def split_comparison(text: str) -> tuple[str, str, str] | None:
    """Split a text such as "recall >= 0.9" at its comparison sign.

    Returns None if the text has no comparison sign.
    """
    match = _COMPARISON.fullmatch(text)
    return (match[1], match[2], match[3]) if match else None


_MAX_NAMED = 6  # models in a sentence
_ALL_PAIRS = (
    "Ranks compare all pairs of models. Above, each model is compared only with the "
    "best other model. More models may have rank 1 than may be best."
)
_GAIN = "advantage over the best other model"


class ComparisonWithBest(NamedTuple):
    """Comparison of a model with the best of the other models, as a named tuple.

    Returned by indexing a :class:`BestReport`.

    Attributes
    ----------
    estimate : float
        Estimate of the metric for the model.
    low, high : float
        Limits of the model minus the best of the other models, clipped at 0.
    may_be_best : bool
        Whether the model may be the best.

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 40 + [1] * 40
    >>> models = {"A": y, "B": [0] * 60 + [1] * 20}
    >>> best = joint_report(y, models, metrics="accuracy").best("accuracy")
    >>> best["B"].high, best["B"].may_be_best
    (0.0, False)
    """

    estimate: float
    low: float
    high: float
    may_be_best: bool


class RankInterval(NamedTuple):
    """Rank of a model with its confidence interval, as a named tuple.

    Returned by indexing a :class:`RankReport`.

    Attributes
    ----------
    rank : float
        Rank of the estimate, 1 for the best; NaN for an undefined estimate.
    low, high : int
        Best and worst rank that the model may have.

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 40 + [1] * 40
    >>> models = {"A": y, "B": [0] * 60 + [1] * 20}
    >>> joint_report(y, models, metrics="accuracy").ranks()["B", "accuracy"]
    RankInterval(rank=2.0, low=2, high=2)
    """

    rank: float
    low: int
    high: int


@dataclass(frozen=True, eq=False, repr=False)
class BestReport(ReadOnlyArrays, TabularReport[ComparisonWithBest]):
    """Models that may be the best on a metric.

    The report contains multiple comparisons with the best [1]_, [2]_: an interval for
    each model minus the best of the other models. At the confidence level, all
    intervals cover, and `models` contains the best model. This statement is
    simultaneous for `n_metrics` metrics. `models` may exclude a model that no pairwise
    difference shows to be worse, because there are fewer comparisons than pairwise
    differences.

    Returned by :meth:`JointReport.best`. Rows are sorted by the estimate, the best
    model first.

    Parameters
    ----------
    metric : str
        Name of the metric.
    names : mapping of str to sequence of R str
        Columns that identify the compared models. If models have several thresholds,
        another column contains the thresholds.
    estimate : MetricEstimate
        The best estimate. The joint interval of this estimate stays valid although the
        estimate was selected, because all intervals of the report cover simultaneously.
    estimates : array of shape (R,)
        Estimates of the metric for all models.
    intervals : array of shape (R, 2)
        Limits of the difference between each model and the best other model, clipped at
        0. Differences have reversed sign if lower values are better. Without a usable
        variance, the limits are the smallest and the largest possible difference.
    confidence_level : float
        Simultaneous coverage probability of the intervals, between 0 and 1.
    greater_is_better : bool
        Whether higher values of the metric are better.
    n_metrics : int, default=1
        Number of metrics for which the intervals cover simultaneously.

    References
    ----------
    .. [1] Hsu (1996). Multiple Comparisons. Chapman and Hall, chapter 4.
    .. [2] Edwards and Hsu (1983). J. Am. Stat. Assoc. 78, 965-971.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> best = report.best("accuracy")
    >>> best.models
    ['A']
    >>> best.intervals.round(2)
    array([[ 0.  ,  0.31],
           [-0.31,  0.  ]])
    >>> best["B"].may_be_best
    False
    """

    _other_attributes: ClassVar = {"estimate.threshold": "threshold"}

    metric: str
    names: Mapping[str, Sequence[str]]
    estimate: MetricEstimate
    estimates: Array
    intervals: Array
    confidence_level: float
    greater_is_better: bool
    n_metrics: int = 1

    @property
    def may_be_best(self) -> Array:
        """Mask of the models that may be the best, of shape (R,)."""
        return self.intervals[:, 1] > 0

    @property
    def models(self) -> list[str]:
        """Names of the models that may be the best."""
        return list(itertools.compress(self._rows, self.may_be_best))

    @property
    def _rows(self) -> list[str]:
        """Names of the compared models."""
        return list(map(", ".join, zip(*self.names.values(), strict=True)))

    def _entry(self, position: int) -> ComparisonWithBest:
        estimate, limits = self.estimates[position], self.intervals[position]
        low, high = limits.tolist()
        return ComparisonWithBest(float(estimate), low, high, high > 0)

    def _title(self) -> str:
        title = (
            f"Best on {self.metric}, {format_level(self.confidence_level)} confidence"
        )
        return title + f" on {self.n_metrics} metrics at once" * (self.n_metrics > 1)

    def findings(self) -> Findings:
        """Sentence on the models that may be the best and on the worse models.

        Returns
        -------
        list of str
            One sentence.
        """
        return Findings([self._finding(self.metric)])

    def _finding(self, panel: str) -> str:
        """Write a sentence on the models that may be best and on the worse models."""
        best = self.estimates == self.estimates[0]
        leaders = list(itertools.compress(self._rows, best))
        return finding_on_best(panel, self._rows, leaders, self.models)

    def plot(self, **kwargs: Any) -> ConfidenceIntervalDisplay:
        """Draw an interval for each model minus the best other model.

        Models are sorted by the estimate, with the best model first.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`ConfidenceIntervalDisplay.plot`.

        Returns
        -------
        ConfidenceIntervalDisplay
            Display with the axes and the figure.
        """
        return BestReports({self.metric: self}).plot(**kwargs)

    @property
    def _gains(self) -> Array:
        """Difference between each estimate and the best of the other estimates.

        The difference is positive if the estimate is better. The array has shape (R,).
        """
        values = self.estimates if self.greater_is_better else -self.estimates
        ranked = np.sort(np.fmax(values, -np.inf))  # undefined estimates first
        best_other = np.where(values == ranked[-1], ranked[-2:][0], ranked[-1])
        with np.errstate(invalid="ignore"):  # infinite estimates
            return np.asarray(values - best_other)

    def _columns(self) -> list[Column]:
        side = "above" if self.greater_is_better else "below"
        interval = f"{side} the best of the others"
        may_be_best = {"may_be_best": self.may_be_best.tolist()}
        return [
            *estimate_columns(self.estimates, self.intervals, self.metric, interval, 0),
            Column(may_be_best, "may be best", lambda yes: "yes" if yes else "no"),
        ]


def finding_on_best(
    panel: str, models: Sequence[str], leaders: Collection[str], first: Collection[str]
) -> str:
    """Write a sentence on the models that may be the best and on the worse models.

    `leaders` contains the models with the best estimate. `first` contains all models
    that may be the best.
    """
    candidates = [model for model in first if model not in leaders]
    worse = [model for model in models if model not in first]
    worse = worse if len(worse) <= _MAX_NAMED else [f"{len(worse)} others"]
    groups = {
        "best" if len(first) == 1 else "best estimate": leaders,
        "may also be best" if leaders else "may be best": candidates,
        "shown to be worse": worse,
    }
    parts = [
        f"{label}: {join_names(first_names([*names], _MAX_NAMED))}"
        for label, names in groups.items()
        if names
    ]
    return f"{panel}: {'; '.join(parts)}."


class BestReports(HintedAttributes, dict[str, BestReport]):
    """Dict of reports on the best models, by metric.

    Returned by :meth:`JointReport.best`.

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 40 + [1] * 40
    >>> models = {"A": y, "B": [0] * 60 + [1] * 20}
    >>> best = joint_report(y, models, metrics=["accuracy", "recall"]).best()
    >>> {metric: report.models for metric, report in best.items()}
    {'accuracy': ['A'], 'recall': ['A']}
    """

    _other_attributes: ClassVar = {
        "the report on one metric, best()[metric]": "estimate findings models to_dict "
        "to_frame to_latex"
    }

    def __missing__(self, metric: Any) -> BestReport:
        raise KeyError(
            f"key must be one of the metrics {[*self]}, got {metric!r}; pass a model "
            "as the second key, as in best()[metric][model]"
        )

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self.values()))

    def plot(self, **kwargs: Any) -> ConfidenceIntervalDisplay:
        """Draw the comparisons with the best, with one panel per metric.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`ConfidenceIntervalDisplay.plot`; rows are sorted unless
            ``sort=False``.

        Returns
        -------
        ConfidenceIntervalDisplay
            Display with the axes and the figure.
        """
        reports = [*self.values()]
        may_be_best = np.concatenate([report.may_be_best for report in reports])
        panels = [[f"{name}: {_GAIN}"] * len(report) for name, report in self.items()]
        display = ConfidenceIntervalDisplay(
            rows=[row for report in reports for row in report._rows],
            metrics=[*itertools.chain(*panels)],
            estimates=np.concatenate([report._gains for report in reports]),
            intervals=np.concatenate([report.intervals for report in reports]),
            confidence_level=reports[0].confidence_level,
            reference=0.0,
            verdicts=np.where(
                may_be_best, "may be best", "worse than another"
            ).tolist(),
        )
        return display.plot(**{"sort": True} | kwargs)

    def _repr_html_(self) -> str:
        return notebook_html(*self.values())


@dataclass(frozen=True, eq=False, repr=False)
class RankReport(ReadOnlyArrays, TabularReport[RankInterval]):
    """Confidence intervals for the ranks of several models, where 1 is the best.

    Returned by :meth:`JointReport.ranks`. At the confidence level, the intervals cover
    all ranks on all metrics simultaneously. With individual intervals, the confidence
    level applies to each interval separately. Rows are sorted by the estimate, the best
    model first.

    Parameters
    ----------
    names : mapping of str to sequence of K str
        Columns that identify the rows of the report: the model, the metric and, if any,
        the subgroup.
    models : sequence of K str
        Names of the models.
    panels : sequence of K str
        Metric of each rank, such as "recall" or, with subgroups, "recall, sex = f".
    estimates : array of shape (K,)
        Ranks of the estimates. Equal estimates have equal ranks, and undefined
        estimates have the rank NaN.
    intervals : int array of shape (K, 2)
        Lower and upper limits of the ranks.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool
        Whether the confidence level applies to all intervals simultaneously.
    known_models : sequence of str, optional
        Names of the models, in the order in which colours are assigned to them.
        Defaults to the order of the rows.
    positive_label : str, optional
        Positive label of the metrics, shown in the header.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> ranks = report.ranks()
    >>> ranks.intervals
    array([[1, 1],
           [2, 2]])
    >>> ranks["B", "accuracy"]
    RankInterval(rank=2.0, low=2, high=2)
    >>> ranks.top(1)
    ['A']
    >>> for finding in ranks.findings():
    ...     print(finding)
    accuracy: best: A; shown to be worse: B.
    On accuracy, 2 of 2 ranks are shown: A (1) and B (2).
    """

    names: Mapping[str, Sequence[str]]
    models: Sequence[str]
    panels: Sequence[str]
    estimates: Array
    intervals: Array
    confidence_level: float
    simultaneous: bool
    known_models: Sequence[str] | None = None
    positive_label: str = ""

    def top(self, k: int = 1, metric: str | None = None) -> list[str]:
        """Return the models that are not shown to be worse than k other models.

        At the confidence level, the list contains the k best models, simultaneously for
        all k. With individual intervals, the confidence level applies to each of the k
        best models separately.

        Parameters
        ----------
        k : int, default=1
            Number of best models, from 1 to the number of models.
        metric : str, optional
            Name of the metric; may be omitted if the report has a single metric. In a
            report with subgroups, pass the metric and the subgroup, as in
            ``"recall, sex = f"``.

        Returns
        -------
        list of str
            Names of models, the best estimate first.

        Raises
        ------
        KeyError, ValueError
            If `k` is not between 1 and the number of models, the metric is unknown, or
            there are several metrics and `metric` is None.

        See Also
        --------
        JointReport.best : The case k = 1, with fewer comparisons.
        """
        panels = list(dict.fromkeys(self.panels))
        if metric is None and len(panels) > 1:
            raise ValueError(f"metric must be one of {panels}, got None")
        metric = panels[0] if metric is None else metric
        check_valid_name(metric, panels, "metric")
        rows = [row for row, panel in enumerate(self.panels) if panel == metric]
        k = check_integer(k, "k", maximum=len(rows))
        return [self.models[row] for row in rows if self.intervals[row, 0] <= k]

    def findings(self) -> Findings:
        """Sentences on models that may be the best, and on ranks that are shown.

        At the confidence level, all findings are simultaneously right. With individual
        intervals, the confidence level applies to each finding separately.

        Returns
        -------
        list of str
            One sentence per metric, and one sentence on the ranks that are shown, if
            there are any.

        See Also
        --------
        top : List of the models that may be among the k best.
        """
        sentences = []
        for panel in dict.fromkeys(self.panels):
            rows = [k for k, name in enumerate(self.panels) if name == panel]
            ranked = [(self.models[k], *self.intervals[k].tolist()) for k in rows]
            shown = [f"{model} ({low})" for model, low, high in ranked if low == high]
            leaders = [self.models[k] for k in rows if self.estimates[k] == 1]
            models = [model for model, _, _ in ranked]
            first = self.top(1, panel)
            sentences.append(finding_on_best(panel, models, leaders, first))
            if shown:
                named = join_names(first_names(shown, _MAX_NAMED))
                finding = f"{len(shown)} of {len(rows)} ranks are shown: {named}"
                sentences.append(f"On {panel}, {finding}.")
        return Findings(sentences, self.simultaneous)

    def plot(self, **kwargs: Any) -> ConfidenceIntervalDisplay:
        """Draw the intervals, with one panel per metric.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`ConfidenceIntervalDisplay.plot`.

        Returns
        -------
        ConfidenceIntervalDisplay
            Display with the axes and the figure.
        """
        return self._display().plot(**kwargs)

    def _part(self) -> Part:
        """Return the section of the HTML page that shows the ranks."""
        return Part(self, [_ALL_PAIRS] * (len({*self.models}) > 2), is_leading=False)

    def _display(self) -> ConfidenceIntervalDisplay:
        return ConfidenceIntervalDisplay(
            rows=self.models,
            metrics=[f"rank on {panel}" for panel in self.panels],
            estimates=self.estimates,
            intervals=self.intervals,
            confidence_level=self.confidence_level,
            models=self.names.get("model"),
            known_models=self.known_models,
            greater_is_better=[False] * len(self.models),
            are_ranks=True,
        )

    def _entry(self, position: int) -> RankInterval:
        rank, limits = self.estimates[position], self.intervals[position]
        return RankInterval(float(rank), *limits.tolist())

    def _title(self) -> str:
        level = format_level(self.confidence_level, self.simultaneous).capitalize()
        title = f"{level} confidence intervals of ranks (step-down), 1 is the best"
        return ", ".join(filter(None, [title, self.positive_label]))

    def _columns(self) -> list[Column]:
        low, high = self.intervals.T.tolist()
        ranks = [x if math.isnan(x) else int(x) for x in self.estimates.tolist()]
        interval = f"{'joint' if self.simultaneous else 'individual'} interval"
        return [
            Column({"estimate": ranks}, "estimate"),
            Column({"low": low, "high": high}, interval, "[{}, {}]".format),
        ]
