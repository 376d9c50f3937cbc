"""Reports as text and in other formats, on standard output or in a file."""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skci.data.writing import replacing
from skci.reports.base import Report
from skci.reports.contrasts import ContrastReport
from skci.reports.rendering import TabularReport, escape_markdown, json_value
from skci.reports.requirements import RequirementReport

_SUMMARY = (
    *("confidence_level", "critical_value", "n_samples", "n_groups"),
    *("verdict", "unmet"),
)
"""Attributes of a report as a whole, of which each kind has some."""

_HEADINGS = {
    "tasks": "Estimates by task",
    "differences": "Differences",
    "ranks of report": "Ranks",
    "ranks of tasks": "Ranks by task",
    "requirements": "Requirements",
    "fail_if": "Conditions to fail",
}
"""Headings of sections of a page."""

Reports = Mapping[str, TabularReport]
"""Reports that are shown together, by what they are of."""


Gates = Mapping[str, RequirementReport]
"""Verdicts on requirements, by the option that they were given by."""


def _text(reports: Reports, gates: Gates) -> str:
    parts = [str(report) for report in (*reports.values(), *gates.values())]
    return "\n\n".join([*parts, *map("\n".join, _findings(reports))])


def _findings(reports: Reports) -> list[list[str]]:
    """What differences show, in words."""
    compared = (x for x in reports.values() if isinstance(x, ContrastReport))
    return [report.findings() for report in compared]


def _markdown(reports: Reports, gates: Gates) -> str:
    parts = []
    for gate in gates.values():
        verdict = f"**Requirements: {gate.verdict}**"
        caption = escape_markdown(gate._title()).replace("Requirements", verdict, 1)
        parts.append(gate.to_markdown(caption=caption))
    for found in _findings(reports):
        parts.append("\n".join(f"- {escape_markdown(each)}" for each in found))
    return "\n\n".join([*parts, *(report.to_markdown() for report in reports.values())])


def _latex(reports: Reports, gates: Gates) -> str:
    tables = (*reports.values(), *gates.values())
    return "\n\n".join(table.to_latex() for table in tables)


def _html(reports: Reports, gates: Gates, call: str) -> str:
    """Page of the first report, with sections of the others and of the gates."""
    shown: dict[str, TabularReport] = {**reports, **gates}
    (_, first), *others = shown.items()
    if not isinstance(first, Report):
        raise TypeError(f"a page must be of estimates, got {type(first).__name__}")
    sections = {_HEADINGS[name]: report for name, report in others}
    return first.to_html(call=call, sections=sections) or ""


def _json(reports: Reports, gates: Gates) -> str:
    content = {}
    for name, report in (*reports.items(), *gates.items()):
        header, *rows = _table(report)
        known = [key for key in _SUMMARY if hasattr(report, key)]
        content[name] = {
            "title": report._title(),
            **{key: json_value(getattr(report, key)) for key in known},
            "rows": [dict(zip(header, row, strict=True)) for row in rows],
        }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _csv(reports: Reports, gates: Gates) -> str:
    if len(reports) > 1:
        raise ValueError(
            "--format csv has one table, json all; of differences alone see skci "
            "compare"
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_table(*reports.values()))
    return text.getvalue().removesuffix("\n")


def _table(report: TabularReport) -> list[tuple[Any, ...]]:
    """Header and rows of a report."""
    columns = report.to_dict()
    return [tuple(columns), *zip(*columns.values(), strict=True)]


FORMATS: dict[str, Callable[..., str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "json": _json,
    "csv": _csv,
}
_BY_ENDING = {".txt": "text", ".md": "markdown", ".tex": "latex"} | {
    f".{name}": name for name in ("html", "json", "csv")
}


def write(
    reports: Reports, gates: Gates, name: str | None, path: Path | None, call: str
) -> None:
    """Write reports and verdicts in a format to a file, whole or not at all, or stdout.

    A page also has the command that was called.
    """
    ending = ".txt" if path is None else path.suffix.lower()
    name = name or _BY_ENDING.get(ending)
    if name is None:
        raise ValueError(
            f"--out must end in one of {[*_BY_ENDING]}, or --format be given, got "
            f"{str(path)!r}"
        )
    options = {"call": call} if name == "html" else {}
    text = FORMATS[name](reports, gates, **options) + "\n"
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
