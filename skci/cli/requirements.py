"""Requirements of estimates, for pipelines."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any, NamedTuple

from skci.reports.requirements import split_comparison

_OPPOSITE = {"<": ">=", ">": "<="}


class Requirement(NamedTuple):
    """The least or the greatest value that is required of a metric."""

    subject: str  # a metric, or a rule or a difference and a metric
    sign: str
    value: float

    def __str__(self) -> str:
        return f"{self.subject} {self.sign} {self.value:g}"

    def failures(self, report: Any, strict: bool) -> Iterator[str]:
        """Say of which estimates it is refuted; if `strict`, or open."""
        n_judged = 0
        for metric in report.metrics:
            if not f" {self.subject}".endswith(f" {metric}"):
                continue
            gate = report.requirements({metric: (self.sign, self.value)})
            for row, verdict in enumerate(gate.verdicts):
                if self.subject not in (metric, f"{gate.subjects[row]} {metric}"):
                    continue
                n_judged += 1
                if verdict == "refuted" or (strict and verdict == "open"):
                    yield f"{self} is {verdict}: {_described(gate, row)}"
        if not n_judged:
            raise ValueError(
                f"requirements must be of one of the metrics {report.metrics}, perhaps "
                f"with a rule before it, got {self.subject!r}"
            )


def _described(gate: Any, row: int) -> str:
    """Estimate with the names that it does not have itself."""
    names = [
        gate.names[column][row]
        for column in gate.names
        if column not in ("metric", "first", "second")
    ]
    return ": ".join(filter(None, [", ".join(names), repr(gate.estimates[row])]))


def required(text: str) -> Requirement:
    """Read what must be shown, such as "accuracy >= 0.9"."""
    subject, sign, value = _parse(text, (">=", "<="))
    return Requirement(subject, sign, value)


def failing(text: str) -> Requirement:
    """Read the opposite of what is required, such as "a accuracy < 0.9"."""
    subject, sign, value = _parse(text, ("<", ">"))
    return Requirement(subject, _OPPOSITE[sign], value)


def _parse(text: str, signs: tuple[str, str]) -> tuple[str, str, float]:
    found = split_comparison(text, signs)
    if found is None:
        raise ArgumentTypeError(
            f"must be a metric, or a rule and a metric, {' or '.join(signs)}, and a "
            f"number, as 'accuracy {signs[0]} 0.9', got {text!r}"
        )
    return found
