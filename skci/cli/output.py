"""Output of reports in several formats, on standard output or to a file."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skci.accumulation import JointAccumulator
from skci.data.storage import replacing
from skci.reports.base import Report
from skci.reports.contrasts import ContrastReport
from skci.reports.decisions import RequirementReport
from skci.reports.rendering import (
    Grid,
    TabularReport,
    escape_markdown,
    json_value,
    wrap,
)
from skci.reports.sequential import SequentialReport

_SUMMARY = (
    *("confidence_level", "critical_value", "n_samples", "n_groups"),
    *("verdict", "unmet", "n_used", "n_planned"),
)
"""Attributes of a whole report; each kind of report has some."""

_HEADINGS = {
    "tasks": "Estimates by task",
    "ranks of report": "Ranks",
    "ranks of tasks": "Ranks by task",
    "fail_if": "Conditions to fail",
}
"""Headings of sections of the HTML page that differ from the report name."""
_STATUS = {"shown": 0, "open": 3, "refuted": 1}
"""Exit status by verdict."""
_FAILING = {"requirements": ("open", "refuted"), "fail_if": ("refuted",)}
"""Failing verdicts by option."""


class Output(NamedTuple):
    """Output of a command, with a method for each format."""

    reports: dict[str, TabularReport[Any]]
    """Reports shown together, by name, such as "differences"."""
    gates: dict[str, RequirementReport]
    """Verdicts on requirements, by the option that set them."""
    call: str
    """Complete command."""
    wide: bool
    """Whether tables for readers have one column per metric."""
    width: int | None
    """Width of text; None for unlimited lines."""

    def _tables(self, *, bold: bool = True) -> list[Grid]:
        """Tables for readers; if `bold`, wide tables have the best in bold."""
        return [
            report._grid(wide=True, bold=bold)
            if self.wide and isinstance(report, Report)
            else report._grid()
            for report in self.reports.values()
        ]

    def _findings(self) -> list[list[str]]:
        compared = (x for x in self.reports.values() if isinstance(x, ContrastReport))
        return [report.findings() for report in compared]

    def text(self) -> str:
        """Return tables, requirements and findings as text."""
        gates = [gate._grid() for gate in self.gates.values()]
        tables = [*self._tables(bold=False), *gates]
        texts = [table.to_text(self.width) for table in tables]
        for findings in self._findings():
            texts.append("\n".join(wrap(finding, self.width) for finding in findings))
        return "\n\n".join(texts)

    def markdown(self) -> str:
        """Return requirements, findings and tables as Markdown."""
        parts = []
        for gate in self.gates.values():
            verdict = f"**Requirements: {gate.verdict}**"
            caption = escape_markdown(gate._title())
            caption = caption.replace("Requirements", verdict, 1)
            parts.append(gate.to_markdown(caption=caption))
        for findings in self._findings():
            parts.append("\n".join(f"- {escape_markdown(x)}" for x in findings))
        return "\n\n".join([*parts, *(table.to_markdown() for table in self._tables())])

    def latex(self) -> str:
        """Return tables and requirements as LaTeX."""
        gates = [gate._grid() for gate in self.gates.values()]
        return "\n\n".join(table.to_latex() for table in [*self._tables(), *gates])

    def html(self) -> str:
        """Return an HTML page of the first report, with sections of the others."""
        first: Any
        (_, first), *further = (self.reports | self.gates).items()
        sections = {_HEADINGS.get(name, name.capitalize()): x for name, x in further}
        page: str = first.to_html(call=self.call, sections=sections)
        return page

    def json(self) -> str:
        """Return JSON with one object per report."""
        content = {}
        for name, report in (self.reports | self.gates).items():
            header, *rows = _table(report)
            available = [key for key in _SUMMARY if hasattr(report, key)]
            content[name] = {
                "title": report._title(),
                **{key: json_value(getattr(report, key)) for key in available},
                "rows": [dict(zip(header, row, strict=True)) for row in rows],
            }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    def csv(self) -> str:
        """Return the table of a single report as CSV."""
        if len(self.reports) > 1:
            raise ValueError(
                "--format csv writes a single table; use json for all reports, or skci "
                "compare for differences alone"
            )
        text = io.StringIO()
        table = _table(*self.reports.values())
        csv.writer(text, lineterminator="\n").writerows(table)
        return text.getvalue().removesuffix("\n")


def terminal_width() -> int | None:
    """Width of the output terminal, at least 20; None if output is no terminal."""
    return max(20, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def _table(report: TabularReport[Any]) -> list[tuple[Any, ...]]:
    """Header and rows of a report."""
    columns = report.to_dict()
    return [tuple(columns), *zip(*columns.values(), strict=True)]


_FORMATS = {".txt": "text", ".md": "markdown", ".tex": "latex"} | {
    f".{name}": name for name in ("html", "json", "csv")
}


def finish(
    command: str,
    call: str,
    reports: dict[str, Any],
    rows: JointAccumulator | None,
    gate: SequentialReport | None,
    *,
    format: str | None = None,
    style: str = "interval",
    wide: bool = False,
    out: Path | None = None,
    html: Path | None = None,
    fail_if: Sequence[str] = (),
    require: Sequence[str] = (),
    save: Path | None = None,
) -> int:
    """Save the table, evaluate the requirements, and write the reports.

    Parameters
    ----------
    command, call : str
        Name of the command, and the complete command.
    reports : dict of str to Report
        Reports by name; `require` and `fail_if` apply to the first.
    rows : JointAccumulator, optional
        Accumulated rows, which can be saved.
    gate : SequentialReport, optional
        Verdicts on the requirements where they were judged at several looks.
    format : {"text", "markdown", "latex", "html", "json", "csv"}, optional
        Format; defaults to the format of the suffix of --out, or to text.
    style : {"interval", "pm"}, default="interval"
        Style of tables for readers; pm shows estimates ± half widths.
    wide : bool
        Show one column per metric in tables for readers, as for a paper; in Markdown
        and LaTeX with the models that may be the best in bold.
    out : path
        File to write after all computations.
    html : path
        Also write an HTML page to this file.
    fail_if : list of str
        Failure condition in the form of --require, with < or >: exit with 1 if the
        interval lies where the condition is true, else with 0; may be repeated.
    require : list of str
        Condition such as 'f1 >= 0.9' for all models, 'a f1 >= 0.9' for one, or
        'f1: a >= b - 0.02' for two, where the only metric may be omitted: exit with 0
        if the interval lies where the condition is true, with 1 if it lies where the
        condition is false, else with 3; may be repeated.
    save : path
        Save the counts of outcomes, without rows, as .npz or .json.

    Returns
    -------
    int
        Exit status.
    """
    first = next(iter(reports.values()))
    conditions = {"requirements": require, "fail_if": fail_if}
    gates = {
        name: first.requirements(condition) if gate is None else gate
        for name, condition in conditions.items()
        if condition
    }
    if rows is not None and save:
        rows.save(save)
    shown = {
        name: report.styled(style) if isinstance(report, Report) else report
        for name, report in reports.items()
    }
    width = terminal_width() if out is None else None
    output = Output(shown, gates, call, wide, width)
    _write(output, format, out)
    if html:
        _write(output, "html", html)
    for name, gate in gates.items():
        for failure in gate._sentences(*_FAILING[name]):
            print(f"skci {command}: failed: {failure}", file=sys.stderr)
    failing = {x.verdict for name, x in gates.items() if x.verdict in _FAILING[name]}
    return _STATUS[min(failing, key=_STATUS.__getitem__, default="shown")]


def _write(output: Output, name: str | None, path: Path | None) -> None:
    """Write an output in a format, atomically to a file or to standard output."""
    suffix = ".txt" if path is None else path.suffix.lower()
    name = name or _FORMATS.get(suffix)
    if name is None:
        raise ValueError(
            f"--out must end in one of {[*_FORMATS]}, or --format must be given, got "
            f"{str(path)!r}"
        )
    text = getattr(output, name)() + "\n"
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
