"""Reports of whether models meet requirements."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from skci._validation import printable
from skci.inference.parameter import Key
from skci.reports.estimate import MetricEstimate, Verdict, describe
from skci.reports.page import Part
from skci.reports.rendering import (
    Column,
    Findings,
    TabularReport,
    estimate_columns,
    format_level,
    format_pvalue,
)

SIGNS = (">=", "<=")
_WANTED = (
    "a string such as 'recall >= 0.9', with >= or <= and a number, a list of such, or "
    "several joined by 'and'; or a mapping such as {'recall': ('>=', 0.9)}"
)
_AND = re.compile(r"\s+and\s+")
_COMPARISON = re.compile(r"\s*(.+?)\s*([<>]=?)\s*([^\s<>=]+)\s*")
_VERDICTS = ("shown", "open", "refuted")

_Subject = TypeVar("_Subject")

Requirements = str | Sequence[str] | Mapping[str, tuple[str, float]]
"""As "recall >= 0.9 and precision >= 0.5", as a list of such strings, or as
{"recall": (">=", 0.9)}; of a metric, perhaps after a model or a difference of two."""


class Requirement(NamedTuple):
    """The least or the greatest value that is required of a metric."""

    name: str
    """Of a model, or of what is compared, such as "new - old"; empty for all."""
    metric: str
    sign: str
    value: float

    def is_of(self, key: Key) -> bool:
        """Whether it is of the parameter of a key."""
        return key.title == self.metric and self.name in ("", key.name)

    def pair(self, models: Collection[str]) -> tuple[str, str] | None:
        """Models of which it requires a difference; None if it is of a model."""
        signs = re.finditer("-", "" if self.name in models else self.name)
        ends = (sign.span() for sign in signs)
        pairs = ((self.name[:k].strip(), self.name[m:].strip()) for k, m in ends)
        return next((pair for pair in pairs if {*pair} <= {*models}), None)

    def verdict(self, estimate: MetricEstimate) -> Verdict:
        """Judge an estimate."""
        judge = estimate.at_least if self.sign == ">=" else estimate.at_most
        return judge(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class RequirementReport(TabularReport[Verdict]):
    """Which requirements are shown to be met, refuted, or open.

    With the confidence level, all verdicts are right at once, on models and on
    differences each; of individual intervals, each is. It has no truth value; that of
    ``verdict`` is whether all are "shown". Returned by
    :meth:`JointReport.requirements`.

    Parameters
    ----------
    names : mapping of str to sequence of K str
        Names of the rows by column, such as the model and the metric.
    subjects : sequence of K str
        Names of the models, or of what is compared.
    requirements : sequence of K (str, float)
        ``(">=", value)`` or ``("<=", value)``.
    estimates : sequence of K MetricEstimate
        What the requirements are of.
    verdicts : sequence of K Verdict
        Whether each is "shown" to be met, "refuted" or "open".
    simultaneous : bool
        Whether all intervals cover at once.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> required = report.requirements("accuracy >= 0.8")
    >>> required.verdicts
    ['shown', 'refuted']
    >>> required["B", "accuracy"]
    'refuted'
    >>> required.met_by
    ['A']
    >>> required.unmet
    ['B accuracy >= 0.8 is refuted: accuracy = 0.68 [0.55, 0.78], joint 95%...
    """

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
        """Models, or what is compared, shown to meet all requirements."""
        return self._met(self.subjects)

    def _met(self, subjects: Sequence[_Subject]) -> list[_Subject]:
        """Those of subjects that are shown to meet all requirements."""
        verdicts = zip(subjects, self.verdicts, strict=True)
        unmet = {subject for subject, verdict in verdicts if not verdict}
        return [subject for subject in dict.fromkeys(subjects) if subject not in unmet]

    @property
    def verdict(self) -> Verdict:
        """Verdict on all requirements together: the worst of them.

        "refuted" if one is, else "open" if one is, else "shown"; its p-value is the
        greatest of those with this verdict.
        """
        return max(self.verdicts, key=lambda each: (_VERDICTS.index(each), each.pvalue))

    def _part(self) -> Part:
        """What a page shows of the verdicts."""
        verdict = f"{self._title()}: {self.verdict}."
        return Part(self, [verdict, *self.unmet])

    @property
    def unmet(self) -> Findings:
        """What is not shown, in words, such as "new f1 >= 0.8 is open: ..."."""
        return self._sentences("open", "refuted")

    def _sentences(self, *verdicts: str) -> Findings:
        """Requirements with some verdicts, in words."""
        sentences = []
        for required, verdict, estimate in zip(
            self._required, self.verdicts, self.estimates, strict=True
        ):
            key = estimate._parameter.key
            if verdict in verdicts:
                name = printable(f"{key.name} {key.panel}".strip())
                sentences.append(f"{name} {required} is {verdict}: {estimate!r}")
        return Findings(sentences)

    @property
    def _required(self) -> list[str]:
        """What is required of each estimate, such as ">= 0.9"."""
        return [f"{sign} {value:g}" for sign, value in self.requirements]

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        """Names of the rows, and the requirement where a name has several."""
        names = [*zip(*self.names.values(), strict=True)]
        repeated = len({*names}) < len(names)
        return {**self.names, "requirement": self._required} if repeated else self.names

    def _entry(self, position: int) -> Verdict:
        return self.verdicts[position]

    def _title(self) -> str:
        level = format_level(self.estimates[0].confidence_level, self.simultaneous)
        compares = any(each._parameter.key.is_contrast for each in self.estimates)
        alone = ", of the differences that are required alone" * compares
        title = f"Requirements by {level} confidence intervals{alone}"
        parameters = [each._parameter for each in self.estimates]
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


def read_requirements(
    requirements: Any, metrics: list[str], names: list[str]
) -> list[Requirement]:
    """Check requirements of a report with some metrics, of models or comparisons."""
    if isinstance(requirements, str):
        required = _parse(requirements)
    elif isinstance(requirements, Mapping):
        required = [*requirements.items()]
    elif isinstance(requirements, list) and all(
        isinstance(text, str) for text in requirements
    ):
        required = [each for text in requirements for each in _parse(text)]
    else:
        required = []
    if not required:
        raise ValueError(f"requirements must be {_WANTED}; got {requirements!r}")
    for subject, requirement in required:
        if not (
            isinstance(requirement, tuple | list)
            and len(requirement) == 2
            and requirement[0] in SIGNS
        ):
            raise ValueError(
                f"requirements[{subject!r}] must be ('>=', value) or ('<=', value), "
                f"got {requirement!r}"
            )
    return [
        Requirement(*_split_subject(subject, metrics, names), *requirement)
        for subject, requirement in required
    ]


def _split_subject(
    subject: Any, metrics: list[str], names: list[str]
) -> tuple[str, str]:
    """Split what is required of into a name and a metric, which one metric need not."""
    for metric in sorted(metrics, key=len, reverse=True):
        if f" {subject}".endswith(f" {metric}"):
            return subject.removesuffix(metric).strip(), metric
    if len(metrics) > 1:
        raise unknown_subject(str(subject), metrics, names, has_metric=False)
    return str(subject), metrics[0]


def unknown_subject(
    subject: str, metrics: list[str], names: list[str], *, has_metric: bool
) -> KeyError:
    """Make the error of a requirement of no metric, or no model or comparison."""
    lower = subject.lower()
    ends = [metric for metric in metrics if lower.endswith(metric.lower())]
    near = difflib.get_close_matches(subject, names, 1, 0.75)
    is_model = has_metric or (near and not ends and near != [subject])
    must = "requirements must be of" if is_model else "metric must be one of"
    meant = near if is_model else ends
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    return KeyError(
        f"{must} {metrics}, perhaps after one of {names} or a difference of two "
        f"models, as in {f'{[*near, *names][0]} {metrics[0]} >= 0.9'!r}, got "
        f"{subject!r}{hint}"
    )


def _parse(text: str) -> list[tuple[str, tuple[str, float]]]:
    """Read requirements such as "recall >= 0.9 and precision >= 0.5"."""
    requirements: dict[str, tuple[str, float]] = {}
    for part in _AND.split(text):
        found = split_comparison(part, SIGNS)
        if found is None or any(sign in found[0] for sign in SIGNS):
            of = "" if part == text else f" in {text!r}"
            raise ValueError(f"requirements must be {_WANTED}; got {part!r}{of}")
        subject, sign, value = found
        if subject in requirements:
            raise ValueError(
                f"requirements must have one of each metric, got two of {subject!r} in "
                f"{text!r}; give a list of them, or state one after the other"
            )
        requirements[subject] = sign, value
    return [*requirements.items()]


def split_comparison(text: str, signs: Sequence[str]) -> tuple[str, str, float] | None:
    """Split "recall >= 0.9" if that is a comparison with a number by one of signs."""
    match = _COMPARISON.fullmatch(text)
    if match is None or match[2] not in signs:
        return None
    try:
        return match[1], match[2], float(match[3])
    except ValueError:
        return None
