"""Requirements of estimates, for pipelines."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping

from skci.reports.base import Report
from skci.reports.requirements import SIGNS, RequirementReport, split_comparison

_STATUS = {"shown": 0, "open": 3, "refuted": 1}
"""Exit status by verdict."""
_FAILING = {"requirements": ("open", "refuted"), "fail_if": ("refuted",)}
"""Failing verdicts by option."""


def required(text: str) -> str:
    """Read what must be shown, such as "new - old accuracy >= -0.02"."""
    return _parse(text, dict(zip(SIGNS, SIGNS, strict=True)))


def failing(text: str) -> str:
    """Read what must not be shown, such as "a accuracy < 0.9", as a requirement."""
    return _parse(text, dict(zip("<>", SIGNS, strict=True)))


def _parse(text: str, signs: Mapping[str, str]) -> str:
    """Read a comparison by some signs, each of which stands for that required."""
    found = split_comparison(text, [*signs])
    if found is None:
        raise ArgumentTypeError(
            "must be a metric, perhaps after a model or a difference of two, "
            f"{' or '.join(signs)}, and a number, as 'accuracy {next(iter(signs))} "
            f"0.9', got {text!r}"
        )
    subject, sign, value = found
    return f"{subject} {signs[sign]} {value!r}"


def judge(arguments: Namespace, report: Report) -> dict[str, RequirementReport]:
    """Judge the requirements that arguments have of a report."""
    given = {"requirements": arguments.require, "fail_if": arguments.fail_if}
    return {name: report.requirements(each) for name, each in given.items() if each}


def failures(judged: Mapping[str, RequirementReport]) -> list[str]:
    """Say which requirements fail."""
    found = (gate._sentences(*_FAILING[name]) for name, gate in judged.items())
    return [sentence for sentences in found for sentence in sentences]


def exit_status(judged: Mapping[str, RequirementReport]) -> int:
    """Exit status of a command by the worst verdict that fails."""
    verdicts = ((name, gate.verdict) for name, gate in judged.items())
    failing = {verdict for name, verdict in verdicts if verdict in _FAILING[name]}
    return _STATUS[min(failing, key=_STATUS.__getitem__, default="shown")]
