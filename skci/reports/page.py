"""HTML page with the complete content of a report in one file."""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from string import Template
from typing import Any, NamedTuple

from skci._packages import DEPENDENCIES, version_of
from skci._progress import progress
from skci._validation import join_names, printable
from skci.inference.joint import IncompleteSample, JointEstimate
from skci.reports.estimate import describe, describe_warnings
from skci.reports.rendering import format_level, packaged

_MAX_ROWS = 60  # rows of a table that is not folded
_MAX_FOLDED = 2000  # rows of a table that is not omitted
_MAX_DRAWN = 300  # rows of a picture of intervals
_MAX_FINDINGS = 12  # findings that are not folded
_MAX_NAMED = 6  # names in a warning
_MIN_SCALE = 0.7  # smallest scale of a picture; narrow screens scroll
_POPULATION = "the population from which the {} were sampled"
_CHANCE = (
    "The intervals account for the random sampling of {}. They do not account for "
    "wrong labels, for future rows of another kind, or for models that were chosen or "
    "tuned on the same rows."
)
_NO_WARNINGS = (
    "None for these intervals. Warnings about the data are shown when the data are "
    "read."
)
_GIVEN = (
    "The estimates and their covariance were supplied, and are assumed to be right."
)


class Part(NamedTuple):
    """Content of one section of the HTML page."""

    report: Any
    """Report with the table and, if available, the picture and warnings."""
    findings: Sequence[str] = ()
    is_leading: bool = True
    """Whether the box at the top of the page may show the findings."""
    may_be_best: Sequence[str] = ()
    """Cells of an additional column, which marks the models that may be the best."""


def page(
    joint: JointEstimate,
    title: str | None,
    question: str,
    parts: Mapping[str, Part],
    call: str | None,
) -> str:
    """Return the HTML page of a report.

    Parameters
    ----------
    joint : JointEstimate
    title : str or None
    question : str
        Question that the first section answers.
    parts : mapping of str to Part
        Sections by heading.
    call : str or None
        Command or code that made the report.
    """
    pictured = [h for h, part in parts.items() if hasattr(part.report, "_display")]
    further = [heading.lower() for heading in pictured[1:]]
    level = format_level(joint.confidence_level, joint.simultaneous)
    about = describe(joint, joint.parameters)
    size = about["size"]
    asked = " ".join(filter(None, [question, size]))
    also = f", also of {join_names(further)}" if further else ""
    answered = [f"The answers are {level} confidence intervals{also}."]
    leading = [part.findings for part in parts.values() if part.is_leading]
    short = [
        x for findings in leading if len(findings) <= _MAX_FINDINGS for x in findings
    ]
    joints = [getattr(part.report, "_joint", None) for part in parts.values()]
    warned = [text for x in joints if x for text in describe_warnings(x, _MAX_NAMED)]
    reproduction = {
        "Confidence level": level,
        "Interval method": about["methods"],
        "Sample": size,
        "Resampling": joint.target.resampling if joint.target else "",
        "Seed": "" if joint.random_state is None else str(joint.random_state),
        "Python": platform.python_version(),
        **{name: version_of(name) for name in DEPENDENCIES},
    }
    numbered = enumerate(progress(parts.items(), "sections", len(parts)))
    sections = {
        **{name: _part(name, part, k) for k, (name, part) in numbered},
        "What the intervals promise": _paragraphs(_promises(joint, further, size)),
        "Warnings": _list(dict.fromkeys(warned)) or _paragraphs([_NO_WARNINGS]),
        "How to reproduce it": _reproduction(reproduction, call),
    }
    return Template(packaged("page.html").rstrip()).substitute(
        title=_text(title or asked),
        generator=f"skci {version_of('skci')}",
        style=packaged("style.css"),
        lead=_paragraphs([asked] * bool(title) + answered) + _list(short, "findings"),
        sections="\n".join(
            f'<section aria-labelledby="part-{k}">\n<h2 id="part-{k}">{_text(heading)}'
            f"</h2>\n{body}\n</section>"
            for k, (heading, body) in enumerate(sections.items())
        ),
    )


def _promises(joint: JointEstimate, further: Sequence[str], size: str) -> list[str]:
    """Write sentences on the coverage of the intervals and on the assumptions."""
    level, number = format_level(joint.confidence_level), len(joint.parameters)
    promises = [f"The interval covers the true value with {level} confidence."]
    if not joint.is_individual:
        promises = [
            f"With {level} confidence, all {number:,} joint intervals cover the true "
            "values simultaneously, so that even the most striking conclusion from "
            "these intervals is valid.",
            f"The intervals of {join_names(further)} also cover simultaneously."
            if further
            else "",
            "An individual interval is valid on its own, for a single question that "
            "was chosen before the data were seen.",
        ]
    elif number > 1:
        promises = [
            f"Each of the {number:,} intervals covers its true value with {level} "
            "confidence on its own. Among many such intervals, some are likely to miss."
        ]
    if joint.horizon:
        promises += [f"The intervals are valid {joint.horizon}."]
    promised = " ".join(filter(None, promises))
    if not (joint.is_of_rows or joint.target):
        return [promised, _GIVEN]
    target = joint.target
    data = target.target if isinstance(target, IncompleteSample) else ""
    counted = f"{size}, {data}"
    units = next((x for x in ("queries", "groups", "items") if x in counted), "rows")
    population = _POPULATION.format(units) if data or not target else target.target
    about = f"The true values are those of {population}."
    if data:
        about += f" The data are {data}."
    return [promised, about, _CHANCE.format(units)]


def join_or_count(names: Iterable[str], kind: str) -> str:
    """Join distinct names to a text, or count them if there are many."""
    different = list(dict.fromkeys(names))
    if len(different) <= _MAX_NAMED:
        return join_names(different)
    return f"{len(different)} {kind}{'es' if kind.endswith('s') else 's'}"


def _text(text: str) -> str:
    return escape(printable(text))


def _paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{_text(sentence)}</p>\n" for sentence in sentences)


def _list(sentences: Iterable[str], kind: str = "notes") -> str:
    items = "".join(f"<li>{_text(sentence)}</li>\n" for sentence in sentences)
    return items and f'<ul class="{kind}">\n{items}</ul>\n'


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n{body}</details>\n"


def _picture(part: Part, display: Any, number: int) -> str:
    """Return the HTML of the matplotlib figure of a section.

    The section number makes identifiers in the figure unique on the page.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return _paragraphs(["A picture needs matplotlib, which is not installed."])
    is_sorted = part.report._best_first is not None
    drawn = display.plot(**{"sort": True} if is_sorted else {})
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "skci"}):
        svg = io.StringIO()
        drawn.figure_.savefig(
            svg, format="svg", metadata={"Date": None}, transparent=True
        )
    plt.close(drawn.figure_)
    figure = svg.getvalue()
    figure = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>p{number}-", figure)
    width = f"{_MIN_SCALE * drawn.figure_.get_figwidth():.2f}in"
    figure = figure.replace("<svg", f'<svg style="min-width: {width}"')
    label = _text(f"Picture of {part.report._title()}; the table has all numbers.")
    return _paragraphs(filter(None, [getattr(drawn, "drawn_", "")])) + (
        f'<figure class="drawn" role="img" aria-label="{label}" tabindex="0">'
        f"{figure[figure.index('<svg') :]}</figure>"
    )


def _part(heading: str, part: Part, number: int) -> str:
    """Return the HTML of a section: figure, findings and table."""
    n_rows, body = len(part.report), ""
    if hasattr(part.report, "_display"):
        display = part.report._display()
        if n_rows <= _MAX_DRAWN or not display._is_rows:
            body = _picture(part, display, number)
    if len(part.findings) > _MAX_FINDINGS:
        body += _folded(f"{len(part.findings):,} findings", _list(part.findings))
    elif not part.is_leading:
        body += _list(part.findings)
    if n_rows > _MAX_FOLDED:
        return body + _paragraphs([f"The table of {n_rows:,} rows is omitted."])
    table = part.report._html(part.may_be_best)
    if n_rows > _MAX_ROWS:
        table = _folded(f"Table of all {n_rows:,} {heading.lower()}", table)
    return f"{body}\n{table}"


def _reproduction(settings: Mapping[str, str], call: str | None) -> str:
    rows = "".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n"
        for name, value in settings.items()
        if value
    )
    lines = "\n".join(map(_text, (call or "").splitlines()))
    made = f"<pre><code>{lines}</code></pre>\n" if call else ""
    return f"{made}<dl>\n{rows}</dl>"
