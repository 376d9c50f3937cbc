"""Reports as text and in other formats, on standard output or in a file."""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skci.data.writing import replacing
from skci.reports.contrasts import ContrastReport
from skci.reports.rendering import json_value

_NUMBERS = "critical_value", "n_samples", "n_groups"
"""Numbers behind a report, some of which there are not of ranks."""

Reports = Mapping[str, Any]
"""Reports that are shown together, by what they are of."""


def _text(reports: Reports) -> str:
    parts = [str(report) for report in reports.values()]
    for report in reports.values():
        if isinstance(report, ContrastReport):
            parts.append("\n".join(report.findings()))
    return "\n\n".join(parts)


def _markdown(reports: Reports) -> str:
    return "\n\n".join(report.to_markdown() for report in reports.values())


def _latex(reports: Reports) -> str:
    return "\n\n".join(report.to_latex() for report in reports.values())


def _html(reports: Reports) -> str:
    body = "\n".join(report._repr_html_() for report in reports.values())
    head = '<meta charset="utf-8"><title>skci</title>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{body}\n</body></html>"


def _json(reports: Reports) -> str:
    content = {
        name: {
            "title": report._title(),
            "confidence_level": report.confidence_level,
            **{key: json_value(getattr(report, key, None)) for key in _NUMBERS},
            "rows": [dict(zip(header, row, strict=True)) for row in rows],
        }
        for name, report in reports.items()
        for header, *rows in [_table(report)]
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _csv(reports: Reports) -> str:
    if len(reports) > 1:
        raise ValueError(
            "--format csv has one table, json all; of differences alone see skci "
            "compare"
        )
    (report,) = reports.values()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_table(report))
    return text.getvalue().removesuffix("\n")


def _table(report: Any) -> list[tuple[Any, ...]]:
    """Header and rows of a report."""
    columns = report.to_dict()
    return [tuple(columns), *zip(*columns.values(), strict=True)]


FORMATS: dict[str, Callable[[Reports], str]] = {
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


def write(reports: Reports, name: str | None, path: Path | None) -> None:
    """Write reports in a format to a file, whole or not at all, or to stdout."""
    ending = ".txt" if path is None else path.suffix.lower()
    name = name or _BY_ENDING.get(ending)
    if name is None:
        raise ValueError(
            f"--out must end in one of {[*_BY_ENDING]}, or --format be given, got "
            f"{str(path)!r}"
        )
    text = FORMATS[name](reports) + "\n"
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
