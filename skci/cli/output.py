"""Reports as text and in other formats, on standard output or in a file."""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skci._validation import printable
from skci.data.writing import replacing
from skci.reports.base import Report
from skci.reports.contrasts import ContrastReport
from skci.reports.rendering import json_value

Reports = Mapping[str, Report]
"""Reports that are shown together, by what they are of."""


def _text(reports: Reports) -> str:
    parts = [str(report) for report in reports.values()]
    for report in reports.values():
        if isinstance(report, ContrastReport):
            parts.append("\n".join(report.findings()))
    return "\n\n".join(parts)


def _markdown(reports: Reports) -> str:
    return "\n\n".join(
        f"{printable(report._title())}\n\n{report.to_markdown()}"
        for report in reports.values()
    )


def _latex(reports: Reports) -> str:
    return "\n\n".join(report.to_latex() for report in reports.values())


def _html(reports: Reports) -> str:
    body = "\n".join(report._repr_html_() for report in reports.values())
    head = '<meta charset="utf-8"><title>skci</title>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{body}\n</body></html>"


def _json(reports: Reports) -> str:
    content = {name: _plain(report) for name, report in reports.items()}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _plain(report: Report) -> dict[str, Any]:
    return {
        "title": report._title(),
        "confidence_level": report.confidence_level,
        "critical_value": json_value(float(report.critical_value)),
        "n_samples": report.n_samples,
        "n_groups": report.n_groups,
        "rows": [
            dict(zip(report.to_dict(), row, strict=True)) for row in _rows(report)
        ],
    }


def _rows(report: Report) -> list[tuple[Any, ...]]:
    return list(zip(*report.to_dict().values(), strict=True))


def _csv(reports: Reports) -> str:
    if len(reports) > 1:
        raise ValueError(
            "--format csv has one table; of differences alone see skci compare"
        )
    (report,) = reports.values()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([report.to_dict(), *_rows(report)])
    return text.getvalue().removesuffix("\n")


FORMATS: dict[str, Callable[[Reports], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "json": _json,
    "csv": _csv,
}
_ENDINGS = {
    ".txt": "text",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".json": "json",
    ".csv": "csv",
}


def write(reports: Reports, name: str | None, path: Path | None) -> None:
    """Write reports in a format to a file, whole or not at all, or to stdout."""
    if name is None:
        ending = ".txt" if path is None else path.suffix.lower()
        if ending not in _ENDINGS:
            raise ValueError(
                f"--out must end in one of {[*_ENDINGS]}, or --format be given, got "
                f"{str(path)!r}"
            )
        name = _ENDINGS[ending]
    text = FORMATS[name](reports) + "\n"
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
