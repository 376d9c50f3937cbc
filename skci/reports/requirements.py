"""Reports of whether rules meet requirements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skci._validation import check_known
from skci.inference.joint import JointEstimate
from skci.reports.estimate import (
    MetricEstimate,
    Verdict,
    decimals,
    format_interval,
)
from skci.reports.rendering import (
    TabularReport,
    format_level,
    format_number,
    format_pvalue,
)

_SIGNS = (">=", "<=")
_WANTED = (
    "a string such as 'recall >= 0.9', with >= or <= and a number, or several joined "
    "by 'and'; or a mapping such as {'recall': ('>=', 0.9)}"
)
_AND = re.compile(r"\s+and\s+")
_COMPARISON = re.compile(r"\s*(.+?)\s*([<>]=?)\s*([^\s<>=]+)\s*")

Requirements = str | Mapping[str, tuple[str, float]]
"""As "recall >= 0.9 and precision >= 0.5", or as {"recall": (">=", 0.9)} by metric."""


@dataclass(frozen=True, eq=False, repr=False)
class RequirementReport(TabularReport):
    """Which requirements are shown to be met, refuted, or open.

    With the confidence level, all verdicts are right at once; of individual intervals,
    each is. Returned by :meth:`JointReport.requirements`.

    Parameters
    ----------
    names : mapping of str to sequence of K str
        Names of the rows by column, such as the rule and the metric.
    subjects : sequence of K str
        Names of the rules, or of what is compared.
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
    >>> required.met_by
    ['A']
    """

    names: Mapping[str, Sequence[str]]
    subjects: Sequence[str]
    requirements: Sequence[tuple[str, float]]
    estimates: Sequence[MetricEstimate]
    verdicts: Sequence[Verdict]
    simultaneous: bool

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        return self.names

    @property
    def met_by(self) -> list[str]:
        """Rules, or what is compared, shown to meet all requirements."""
        verdicts = zip(self.subjects, self.verdicts, strict=True)
        unmet = {subject for subject, verdict in verdicts if verdict != "shown"}
        return [name for name in dict.fromkeys(self.subjects) if name not in unmet]

    def _data(self) -> dict[str, list[Any]]:
        intervals = [estimate.confidence_interval() for estimate in self.estimates]
        return {
            **{column: list(names) for column, names in self.names.items()},
            "requirement": [f"{sign} {value:g}" for sign, value in self.requirements],
            "estimate": [float(estimate) for estimate in self.estimates],
            "low": [interval.low for interval in intervals],
            "high": [interval.high for interval in intervals],
            "pvalue": [verdict.pvalue for verdict in self.verdicts],
            "verdict": [str(verdict) for verdict in self.verdicts],
        }

    def _title(self) -> str:
        kind = "joint" if self.simultaneous else "individual"
        level = format_level(self.estimates[0].confidence_level)
        return f"Requirements by {kind} {level} confidence intervals"

    def _number_columns(self) -> list[list[str]]:
        columns = self._data()
        kind = "joint" if self.simultaneous else "individual"
        intervals = list(zip(columns["low"], columns["high"], strict=True))
        places = decimals(intervals)
        estimates = [format_number(value, places) for value in columns["estimate"]]
        return [
            ["requirement", *columns["requirement"]],
            ["estimate", *estimates],
            [
                f"{kind} interval",
                *(format_interval(each, places) for each in intervals),
            ],
            ["p-value", *map(format_pvalue, columns["pvalue"])],
            ["verdict", *columns["verdict"]],
        ]


def requirement_report(
    joint: JointEstimate,
    requirements: Requirements,
    labels: Mapping[str, Sequence[str]],
    estimate: Callable[[int], MetricEstimate],
) -> RequirementReport:
    """Judge all estimates of the metrics that have a requirement.

    The labels are of all parameters by column, and `estimate` makes that at a position.
    """
    requirements = _check_requirements(joint, requirements)
    titles = [parameter.key.title for parameter in joint.parameters]
    rows = [k for k, title in enumerate(titles) if title in requirements]
    chosen = [requirements[titles[k]] for k in rows]
    estimates = [*map(estimate, rows)]
    verdicts = [  # which check the values
        each.at_least(value) if sign == ">=" else each.at_most(value)
        for each, (sign, value) in zip(estimates, chosen, strict=True)
    ]
    return RequirementReport(
        names={column: [names[k] for k in rows] for column, names in labels.items()},
        subjects=[joint.parameters[k].key.name for k in rows],
        requirements=[(sign, float(value)) for sign, value in chosen],
        estimates=estimates,
        verdicts=verdicts,
        simultaneous=joint.simultaneous,
    )


def _check_requirements(
    joint: JointEstimate, requirements: Any
) -> Mapping[str, tuple[str, float]]:
    """Check requirements of some metrics."""
    if isinstance(requirements, str):
        requirements = _parse(requirements)
    metrics = list(dict.fromkeys(p.key.title for p in joint.parameters))
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
