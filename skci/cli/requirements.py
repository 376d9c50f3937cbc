"""Requirements of estimates, for pipelines."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any, NamedTuple

from skci.reports.requirements import split_comparison


class Requirement(NamedTuple):
    """The least or the greatest value that is required of a metric."""

    subject: str  # a metric, perhaps after the name of a model or a difference
    sign: str
    value: float
    strict: bool  # whether an open requirement fails too

    def failures(self, report: Any) -> Iterator[str]:
        """Describe the estimates that fail."""
        n_judged = 0
        for metric in report.metrics:
            if not f" {self.subject}".endswith(f" {metric}"):
                continue
            gate = report.requirements({metric: (self.sign, self.value)})
            for row, verdict in enumerate(gate.verdicts):
                if self.subject not in (metric, f"{gate.subjects[row]} {metric}"):
                    continue
                n_judged += 1
                if verdict == "refuted" or (self.strict and verdict == "open"):
                    required = f"{self.subject} {self.sign} {self.value:g}"
                    yield f"{required} is {verdict}: {_described(gate, row)}"
        if not n_judged:
            raise ValueError(
                f"requirements must be of one of the metrics {report.metrics}, perhaps "
                f"with a model before it, got {self.subject!r}"
            )


def _described(gate: Any, row: int) -> str:
    """Estimate, after the names that it does not show itself."""
    names = [
        gate.names[column][row]
        for column in gate.names
        if column not in ("metric", "first", "second")
    ]
    return ": ".join(filter(None, [", ".join(names), repr(gate.estimates[row])]))


def required(text: str) -> Requirement:
    """Read what must be shown, such as "accuracy >= 0.9"."""
    return _parse(text, {">=": ">=", "<=": "<="}, strict=True)


def failing(text: str) -> Requirement:
    """Read what must not be shown, such as "a accuracy < 0.9"."""
    return _parse(text, {"<": ">=", ">": "<="}, strict=False)


def _parse(text: str, signs: dict[str, str], strict: bool) -> Requirement:
    """Read a comparison by some signs, each of which stands for that required."""
    found = split_comparison(text, [*signs])
    if found is None:
        raise ArgumentTypeError(
            f"must be a metric, or a model and a metric, {' or '.join(signs)}, and a "
            f"number, as 'accuracy {next(iter(signs))} 0.9', got {text!r}"
        )
    subject, sign, value = found
    return Requirement(subject, signs[sign], value, strict)
