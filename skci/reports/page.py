"""A page of HTML that holds all that a report says, to be sent as one file."""

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
from skci.inference.joint import JointEstimate
from skci.reports.estimate import describe, describe_warnings
from skci.reports.rendering import format_level, packaged

_MOST_ROWS = 60  # rows of a table that is not folded
_MOST_FOLDED = 2000  # rows of a table that is not left out
_MOST_DRAWN = 300  # rows of a picture of intervals
_MOST_FINDINGS = 12  # that are not folded
_MOST_NAMED = 6  # in a warning
_LEAST_SIZE = 0.7  # of a picture on a narrow screen, on which it then scrolls
_POPULATION = "the population that the rows were sampled from"
_CHANCE = (
    "The intervals allow for chance in which rows were sampled. They do not allow for "
    "wrong labels, for rows to come that are of another kind, or for models that were "
    "chosen or tuned on the same rows."
)
_GIVEN = "The estimates and their covariance were given, and are taken to be right."


class Part(NamedTuple):
    """Content of one section of a page."""

    report: Any
    """A table; its picture and the warnings of its joint estimate, if it has these."""
    findings: Sequence[str] = ()
    is_leading: bool = True
    """Whether the box at the top of the page has the findings, if they are few."""


def page(
    joint: JointEstimate,
    title: str | None,
    question: str,
    parts: Mapping[str, Part],
    call: str | None,
) -> str:
    """Write a page.

    Parameters
    ----------
    joint : JointEstimate
    title : str or None
    question : str
        Question that the first part answers.
    parts : mapping of str to Part
        By heading.
    call : str or None
        What the report was made by.
    """
    pictured = [h for h, part in parts.items() if hasattr(part.report, "_display")]
    others = [heading.lower() for heading in pictured[1:]]
    level = format_level(joint.confidence_level, joint.simultaneous)
    about = describe(joint, joint.parameters)
    size = about["size"]
    asked = " ".join(filter(None, [question, size]))
    also = f", also of {join_names(others)}" if others else ""
    answered = [f"Answered by {level} confidence intervals{also}."]
    leading = [part.findings for part in parts.values() if part.is_leading]
    short = [f for each in leading if len(each) <= _MOST_FINDINGS for f in each]
    joints = [getattr(part.report, "_joint", None) for part in parts.values()]
    warned = [
        text for each in joints if each for text in describe_warnings(each, _MOST_NAMED)
    ]
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
        "What the intervals promise": _paragraphs(_promises(joint, others)),
        "Warnings": _list(dict.fromkeys(warned)) or _paragraphs(["None."]),
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


def _promises(joint: JointEstimate, others: Sequence[str]) -> list[str]:
    """Say what the intervals of a report cover, how often, and what they leave out."""
    level, number = format_level(joint.confidence_level), len(joint.parameters)
    promises = [f"The interval covers the true value with {level} confidence."]
    if not joint.is_individual:
        promises = [
            f"With {level} confidence, all {number:,} joint intervals cover the true "
            "values at once: whatever is read off them holds, also the most striking.",
            *([f"So do those of the {join_names(others)}."] if others else []),
            "An individual interval holds by itself, for a single question that was "
            "chosen before the data were seen.",
        ]
    elif number > 1:
        promises = [
            f"Each of the {number:,} intervals covers its true value with {level} "
            "confidence by itself. Of many such intervals some are likely to miss."
        ]
    if joint.horizon:
        promises += [f"The intervals hold {joint.horizon}."]
    if not (joint.is_of_rows or joint.target):
        return [" ".join(promises), _GIVEN]
    of = joint.target.target if joint.target else _POPULATION
    return [" ".join(promises), f"The true values are those of {of}.", _CHANCE]


def few(names: Iterable[str], kind: str) -> str:
    """Write different names, or of many of a kind their number."""
    different = list(dict.fromkeys(names))
    if len(different) <= _MOST_NAMED:
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
    """HTML of the figure of a part, which matplotlib draws.

    The index of the part makes identifiers in the figure unique on the page.
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
    width = f"{_LEAST_SIZE * drawn.figure_.get_figwidth():.2f}in"
    figure = figure.replace("<svg", f'<svg style="min-width: {width}"')
    label = _text(f"Picture of {part.report._title()}; the table has all numbers.")
    return _paragraphs(filter(None, [getattr(drawn, "drawn_", "")])) + (
        f'<figure class="drawn" role="img" aria-label="{label}" tabindex="0">'
        f"{figure[figure.index('<svg') :]}</figure>"
    )


def _part(heading: str, part: Part, number: int) -> str:
    """HTML of a picture, of findings that are too many for the top, and of a table."""
    n_rows, body = len(part.report), ""
    if hasattr(part.report, "_display"):
        display = part.report._display()
        if n_rows <= _MOST_DRAWN or not display._is_rows:
            body = _picture(part, display, number)
    if len(part.findings) > _MOST_FINDINGS:
        body += _folded(f"{len(part.findings)} findings", _list(part.findings))
    elif not part.is_leading:
        body += _list(part.findings)
    if n_rows > _MOST_FOLDED:
        return body + _paragraphs([f"The table of {n_rows:,} rows is left out."])
    table = part.report._html()
    if n_rows > _MOST_ROWS:
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
