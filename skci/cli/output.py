"""Output of reports in several formats, and the list of metrics."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skci.accumulation import JointAccumulator
from skci.data.storage import replacing
from skci.metrics.base import MetricCI
from skci.metrics.names import listed_metrics, refusal, resolve_metric, synonyms
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
    *("verdict", "unmet", "n_used", "n_planned", "n_read", "next_look"),
)
"""Attributes of a report in JSON. A report may have only some of them."""

_HEADINGS = {
    "tasks": "Estimates by task",
    "ranks of report": "Ranks",
    "ranks of tasks": "Ranks by task",
    "fail_if": "Conditions to fail",
}
"""Headings of sections of the HTML page, if they differ from the report name."""
_STATUS = {"shown": 0, "open": 3, "refuted": 1}
"""Exit status for each verdict on a requirement."""
_FAILING = {"requirements": ("open", "refuted"), "fail_if": ("refuted",)}
"""Verdicts that fail, for requirements and for failure conditions."""


class Output(NamedTuple):
    """Output of a command, with a method for each format."""

    reports: dict[str, TabularReport[Any]]
    """Reports by name, such as "differences"."""
    gates: dict[str, RequirementReport]
    """Verdicts on the conditions of --require ("requirements") and --fail-if."""
    call: str
    """Complete command, as typed."""
    wide: bool
    """Whether tables have one column per metric, as in a paper."""
    width: int | None
    """Maximum length of a line of text, or None."""

    def _tables(self, *, bold: bool = True) -> list[Grid]:
        """Return the tables of all reports.

        If `bold` is true, and a table has one column per metric, the models that may be
        the best are shown in bold.
        """
        return [
            report._wide_grid(bold)
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
        texts = [table.to_text(self.width, longest=self.width) for table in tables]
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
        """Return an HTML page of the first report, with other reports as sections."""
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
                "--format csv writes a single table; use --format json for several "
                "reports, or the command skci compare for differences only"
            )
        text = io.StringIO()
        table = _table(*self.reports.values())
        csv.writer(text, lineterminator="\n").writerows(table)
        return text.getvalue().removesuffix("\n")


def terminal_width() -> int | None:
    """Return the width of the terminal, at least 20, or None without a terminal."""
    return max(20, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def _table(report: TabularReport[Any]) -> list[tuple[Any, ...]]:
    """Return the header and the rows of a report."""
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
    """Save counts, evaluate the requirements and write the reports.

    Parameters
    ----------
    command, call : str
        Name of the command, and the complete command as typed.
    reports : dict of str to Report
        Reports by name. `require` and `fail_if` refer to the first report.
    rows : JointAccumulator, optional
        Accumulator of the rows, which `save` writes to a file.
    gate : SequentialReport, optional
        Verdicts on the requirements, if the requirements were evaluated at several
        numbers of rows.
    format : {"text", "markdown", "latex", "html", "json", "csv"}, optional
        Format of the output, by default determined by the suffix of --out, or text.
    style : {"interval", "pm"}, default="interval"
        Style of intervals in tables, where pm shows the estimate ± half the width.
    wide : bool
        Show one column per metric, as in a paper, with the models that may be the best
        in bold (only in Markdown and LaTeX).
    out : path
        Write the output to this file, after all computations.
    html : path
        Also write an HTML page to this file.
    fail_if : list of str
        Failure condition in the form of --require, with < or >. Exit status 1 if the
        whole interval satisfies the condition, else 0. May be repeated.
    require : list of str
        Requirement such as 'f1 >= 0.9' for all models, 'a f1 >= 0.9' for model a, or
        'f1: a >= b - 0.02' for models a and b; a single metric need not be named. Exit
        status 0 if the whole interval satisfies the requirement, 1 if no value in the
        interval satisfies it, else 3. May be repeated.
    save : path
        Save the counts of outcomes (no single rows) to a file that ends in .npz or
        .json.

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
        is_final = getattr(gate, "next_look", None) is None
        start = f"skci {command}: " + "failed: " * is_final
        for sentence in gate._sentences(*_FAILING[name]):
            print(start + sentence, file=sys.stderr)
    failing = {x.verdict for name, x in gates.items() if x.verdict in _FAILING[name]}
    return _STATUS[min(failing, key=_STATUS.__getitem__, default="shown")]


def _write(output: Output, name: str | None, path: Path | None) -> None:
    """Write an output to a file (atomically) or to standard output.

    The format is `name`, or is determined by the extension of the file.
    """
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


_TRUTHS = {
    "labels": "",
    "relevance": ", relevance (--truth) and queries (--query)",
    "survival": " and an event and its time (--truth event,time)",
}
_FAMILIES = (
    "A name may also have a suffix for an average over classes, _macro, _micro, "
    "_weighted or _samples, as in f1_macro; another number, as in ndcg@5 or f0.3; and "
    "the prefix neg_ for the negated measure."
)
_FORMULA = re.compile(r":math:`(.*?)`")
_CITATION = re.compile(r" \[\d+\]_")
_TEXT = re.compile(r"\\(?:mathrm|text)\{(.*?)\}")
_SYMBOLS = {r"\hat y": "y_pred", r"\cdot": "*", r"\ne": "!=", "{": "(", "}": ")"}


def metric_list(word: str | None, width: int) -> str:
    """Return a list of all metrics, or of the metrics that match a word.

    A metric named exactly like the word comes first. If the word is the name of an
    unsupported metric, the list starts with the reason. If nothing matches, a
    ValueError is raised. `width` is the maximum length of a line.
    """
    query = _spaced(word or "")
    pattern = re.compile(rf"\b{re.escape(query)}")
    matches = {
        name: metric
        for name, metric in listed_metrics().items()
        if pattern.search(_spaced(" ".join([*_names(name), _explanation(metric)])))
    }
    reason = refusal(word or "")
    if not matches and not reason:
        matches = {str(word): resolve_metric(word)}
    names = sorted(matches, key=lambda name: query not in map(_spaced, _names(name)))
    entries = [_entry(name, matches[name], width) for name in names]
    families = wrap(_FAMILIES, width) if word is None else ""
    return "\n\n".join(filter(None, [wrap(reason, width), *entries, families]))


def _names(name: str) -> list[str]:
    return [name, *synonyms(name)]


def _spaced(text: str) -> str:
    """Return text in lower case, with spaces instead of underscores."""
    return text.lower().replace("_", " ")


def _entry(name: str, metric: MetricCI, width: int) -> str:
    """Return the entry of a metric: names, explanation, range and input."""
    also = synonyms(name)
    title = name + f" ({', '.join(also)})" * bool(also)
    direction = "higher is better" if metric.greater_is_better else "lower is better"
    if not metric._measure.has_better:
        direction = "better in neither direction"
    low, high = metric.bounds
    flag = "--scores" if metric.reads == "scores" else "--models"
    facts = (
        f"Range [{low:.3g}, {high + 0:.3g}], {direction}; "
        f"reads {metric.reads} ({flag}){_TRUTHS[metric._truth]}; {metric!r}"
    )
    lines = textwrap.wrap(title, width, subsequent_indent="    ")
    for text in (_explanation(metric), facts):
        lines.append(textwrap.indent(wrap(text, width - 2), "  "))
    return "\n".join(lines)


def _explanation(metric: MetricCI) -> str:
    """Return the summary of the docstring of a metric, with formulas as plain text."""
    line = str(type(metric).__doc__).splitlines()[0].removesuffix(" Lower is better.")
    return _FORMULA.sub(lambda formula: _plain(formula[1]), _CITATION.sub("", line))


def _plain(formula: str) -> str:
    formula = _TEXT.sub(r"\1", formula)
    for symbol, text in _SYMBOLS.items():
        formula = formula.replace(symbol, text)
    return " ".join(formula.replace("\\", "").split())
