"""Requirements of estimates, for pipelines."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from skci.reports.estimate import MetricEstimate

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*(\S+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A condition on a metric that must not be true.

    An interval rules the requirement out if the condition is true of all of its
    values, and rules it in if it is true of none.
    """

    subject: str  # a metric, or a rule and a metric
    comparison: str
    threshold: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read a condition such as "accuracy < 0.9" or "a accuracy < 0.9"."""
        match = _CONDITION.fullmatch(text)
        try:
            subject, comparison, threshold = match.groups() if match else ("", "", "")
            return cls(subject, comparison, float(threshold))
        except ValueError as error:
            raise ValueError(
                "must be a metric or a rule and a metric, a comparison and a number, "
                f"as 'accuracy < 0.9', got {text!r}"
            ) from error

    def __str__(self) -> str:
        return f"{self.subject} {self.comparison} {self.threshold:g}"

    def failures(self, report: Any, strict: bool) -> Iterator[str]:
        """Say which estimates of a report fail; if `strict`, all not ruled in."""
        compare = _COMPARISONS[self.comparison]
        for name, estimate in self._matching(report):
            limits = estimate.low, estimate.high
            holds = [compare(limit, self.threshold) for limit in limits]
            if any(holds) if strict else all(holds):
                why = "true" if all(holds) else "not ruled out"
                yield f"{self} is {why}: {name}{estimate!r}"

    def _matching(self, report: Any) -> list[tuple[str, MetricEstimate]]:
        """Estimates of the metric, or of the rule and the metric, and their names."""
        labels = report.to_dict()
        metrics = labels["metric"]
        rules = labels.get("rule", [""] * len(metrics))  # contrasts name themselves
        found = [
            (f"{rule}: " if rule else "", report[key])
            for key, metric, rule in zip(report, metrics, rules, strict=True)
            if self.subject in (metric, f"{rule} {metric}")
        ]
        if not found:
            raise ValueError(
                f"--fail-if must be of one of the metrics {report.metrics}, perhaps "
                f"with a rule before it, got {self.subject!r}"
            )
        return found
