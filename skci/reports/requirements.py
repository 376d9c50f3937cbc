"""Reports of whether models meet requirements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from skci._validation import check_known
from skci.reports.estimate import MetricEstimate, Verdict
from skci.reports.rendering import (
    Column,
    IndexedReport,
    estimate_columns,
    format_level,
    format_pvalue,
)

_SIGNS = (">=", "<=")
_WANTED = (
    "a string such as 'recall >= 0.9', with >= or <= and a number, or several joined "
    "by 'and'; or a mapping such as {'recall': ('>=', 0.9)}"
)
_AND = re.compile(r"\s+and\s+")
_COMPARISON = re.compile(r"\s*(.+?)\s*([<>]=?)\s*([^\s<>=]+)\s*")

_Subject = TypeVar("_Subject")

Requirements = str | Mapping[str, tuple[str, float]]
"""As "recall >= 0.9 and precision >= 0.5", or as {"recall": (">=", 0.9)} by metric."""


@dataclass(frozen=True, eq=False, repr=False)
class RequirementReport(IndexedReport[Verdict]):
    """Which requirements are shown to be met, refuted, or open.

    With the confidence level, all verdicts are right at once; of individual intervals,
    each is. It has no truth value: ``all(report.verdicts)`` is whether all are "shown".
    Returned by :meth:`JointReport.requirements`.

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
    """

    names: Mapping[str, Sequence[str]]
    subjects: Sequence[str]
    requirements: Sequence[tuple[str, float]]
    estimates: Sequence[MetricEstimate]
    verdicts: Sequence[Verdict]
    simultaneous: bool

    def __bool__(self) -> bool:
        raise ValueError(
            "requirements of several estimates have no single truth value; use met_by, "
            "or all(verdicts)"
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

    def _entry(self, position: int) -> Verdict:
        return self.verdicts[position]

    def _title(self) -> str:
        level = format_level(self.estimates[0].confidence_level, self.simultaneous)
        return f"Requirements by {level} confidence intervals"

    def _columns(self) -> list[Column]:
        limits = [estimate.confidence_interval() for estimate in self.estimates]
        interval = f"{'joint' if self.simultaneous else 'individual'} interval"
        pvalues = [verdict.pvalue for verdict in self.verdicts]
        required = [f"{sign} {value:g}" for sign, value in self.requirements]
        return [
            Column({"requirement": required}, "requirement"),
            *estimate_columns(self.estimates, limits, "estimate", interval),
            Column({"pvalue": pvalues}, "p-value", format_pvalue),
            Column({"verdict": [*map(str, self.verdicts)]}, "verdict"),
        ]


def check_requirements(
    requirements: Any, metrics: list[str]
) -> Mapping[str, tuple[str, float]]:
    """Check requirements of some metrics."""
    if isinstance(requirements, str):
        requirements = _parse(requirements)
    if not isinstance(requirements, Mapping) or not requirements:
        raise ValueError(f"requirements must be {_WANTED}; got {requirements!r}")
    for metric, requirement in requirements.items():
        check_known(metric, metrics, "metric")
        if not (
            isinstance(requirement, tuple | list)
            and len(requirement) == 2
            and requirement[0] in _SIGNS
        ):
            raise ValueError(
                f"requirements[{metric!r}] must be ('>=', value) or ('<=', value), got "
                f"{requirement!r}"
            )
    return requirements


def _parse(text: str) -> dict[str, tuple[str, float]]:
    """Read requirements such as "recall >= 0.9 and precision >= 0.5"."""
    requirements: dict[str, tuple[str, float]] = {}
    for part in _AND.split(text):
        found = split_comparison(part, _SIGNS)
        if found is None or any(sign in found[0] for sign in _SIGNS):
            of = "" if part == text else f" in {text!r}"
            raise ValueError(f"requirements must be {_WANTED}; got {part!r}{of}")
        metric, sign, value = found
        if metric in requirements:
            raise ValueError(
                f"requirements must have one of each metric, got two of {metric!r} in "
                f"{text!r}; state them one after the other, each by itself"
            )
        requirements[metric] = sign, value
    return requirements


def split_comparison(text: str, signs: Sequence[str]) -> tuple[str, str, float] | None:
    """Split "recall >= 0.9" if that is a comparison with a number by one of signs."""
    match = _COMPARISON.fullmatch(text)
    if match is None or match[2] not in signs:
        return None
    try:
        return match[1], match[2], float(match[3])
    except ValueError:
        return None
