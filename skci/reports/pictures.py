"""Pictures of a page: SVG in the colours of the stylesheet, legible at any width.

Names stand beside strips, one for each row, in which horizontal positions are
percentages: text is never scaled.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby

import numpy as np

from skci._validation import printable
from skci.reports.interval_display import ConfidenceIntervalDisplay
from skci.reports.panels import COLOURS, MANY_ROWS, PanelDisplay, axis_limits
from skci.reports.rendering import format_level, format_number
from skci.reports.verdict_display import (
    VERDICT_COLOURS,
    VerdictMatrixDisplay,
    columns_to_label,
)

_MOST_TICKS = 6
_ENDS = (("◂", "start", 0), ("▸", "end", 100))
"""Of infinite limits the arrow, its anchor and its position."""


def picture(display: PanelDisplay, *, sort: bool = False) -> str:
    """HTML of figures, one for each panel of a display, and of their legend.

    Intervals in their order, or the best estimate first.
    """
    if isinstance(display, ConfidenceIntervalDisplay):
        names = dict.fromkeys(display.metrics)
        panels = [_intervals(display, name, sort) for name in names]
        legend = _interval_legend(display)
    elif isinstance(display, VerdictMatrixDisplay):
        panels = [_matrix(display, name) for name in display.models]
        legend = _verdict_legend(display._labels)
    else:
        return _drawn(display)
    figures = "".join(panels)
    return f'<div class="panels">{figures}</div><ul class="legend">{legend}</ul>'


def _figure(
    title: str,
    description: str,
    strips: Mapping[str, str],
    ticks: Mapping[str, float],
    guides: Iterable[tuple[str, float]] = (),
) -> str:
    """HTML of a panel: strips by name, and labels of the axis by position."""
    lines = [*(("", x) for x in ticks.values()), *guides]
    grid = "".join(f'<line class="{k}" {_at(x)} y2="100%"/>' for k, x in lines)
    rows = "".join(
        f'<span>{_text(name)}</span><svg><g class="grid">{grid}</g>{strip}</svg>'
        for name, strip in strips.items()
    )
    labels = "".join(f'<text x="{x:.2f}%" y="1em">{t}</text>' for t, x in ticks.items())
    dense = " dense" * (len(strips) > MANY_ROWS)
    return (
        f"<figure><figcaption>{_text(title)}</figcaption>"
        f'<div class="strips{dense}" role="img" aria-label="{_text(description)}">'
        f"{rows}<span></span><svg>{labels}</svg></div></figure>"
    )


def _text(name: str) -> str:
    return escape(printable(name))


def _at(start: float, end: float | None = None) -> str:
    end = start if end is None else end
    return f'x1="{start:.2f}%" x2="{end:.2f}%"'


def _ticks(low: float, high: float, whole: bool) -> dict[str, float]:
    """Round numbers, or whole ones from 1 on, and their positions in percent."""
    step = 10.0 ** math.floor(math.log10((high - low) / _MOST_TICKS))
    step *= next(k for k in (1, 2, 5, 10) if high - low <= k * step * _MOST_TICKS)
    step = max(step, 1.0) if whole else step
    places = max(0, -math.floor(math.log10(step)))
    numbers = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    if whole:
        numbers = np.unique([1.0, *numbers[numbers > 1]])
    return {
        format_number(x, places): 100 * (x - low) / (high - low)
        for x in numbers.tolist()
    }


def _intervals(display: ConfidenceIntervalDisplay, panel: str, sort: bool) -> str:
    rows, individual = display._rows_of(panel), display.individual_intervals
    guides = display._guides(rows)
    drawn = [display.intervals, individual, display.estimates]
    values = [each[rows] for each in drawn if each is not None]
    low, high = axis_limits(*values, list(guides))
    best_first = display._best_first(rows)
    whole = np.issubdtype(display.intervals.dtype, np.integer)

    def position(value: float) -> float:
        return float(np.clip(100 * (value - low) / (high - low), 0, 100))

    def strip(k: int) -> str:
        joint, estimate = display.intervals[k], display.estimates[k]
        lines = [("thick" if individual is None else "thin", joint)]
        lines += [] if individual is None else [("thick", individual[k])]
        marks = "".join(
            f'<line class="{kind}" {_at(*map(position, limits))} y1="50%" y2="50%"/>'
            for kind, limits in lines
        )
        for limit, (arrow, anchor, x) in zip(joint, _ENDS, strict=True):
            if np.isinf(limit):
                place = f'x="{x}%" y="50%" dy="0.35em" style="text-anchor: {anchor}"'
                marks += f'<text class="arrow" {place}>{arrow}</text>'
        if np.isfinite(estimate):
            marks += f'<circle cx="{position(estimate):.2f}%" cy="50%" r="4"/>'
        verdict = display.verdicts[k] if display.verdicts else None
        kind = " undefined" * bool(np.isnan(estimate))
        return f'<g class="{_colour(verdict)}{kind}">{marks}</g>'

    ends = dict.fromkeys([best_first[0], best_first[-1]])
    described = (
        f"{display.rows[k]} {display.estimates[k]:.3g}, from "
        f"{display.intervals[k][0]:.3g} to {display.intervals[k][1]:.3g}"
        for k in ends
    )
    level = format_level(display.confidence_level)
    return _figure(
        panel,
        f"{level} intervals on {panel}: {'; last '.join(described)}. "
        f"All {len(rows)} are in the table.",
        {display.rows[k]: strip(k) for k in (best_first if sort else rows)},
        _ticks(low, high, whole),
        [("null" if s == "--" else "margin", position(x)) for x, s in guides.items()],
    )


def _colour(verdict: str | None) -> str:
    """Class of the stylesheet with the colour of a verdict, or of estimates."""
    return f"c{COLOURS.index(VERDICT_COLOURS[verdict]) if verdict else 0}"


def _matrix(display: VerdictMatrixDisplay, panel: str) -> str:
    models, cells = display.models[panel], display.cells(panel)
    width, strips = 100 / (len(models) - 1), {}
    for row, model in enumerate(models):
        verdicts = [cells[row, k] for k in range(row)]
        runs = [(v, [*x]) for v, x in groupby(range(row), verdicts.__getitem__)]
        strips[f"{row + 1}. {model}"] = "".join(
            f'<rect class="{_colour(verdict)}" x="{x[0] * width:.2f}%" '
            f'width="{len(x) * width:.2f}%"/>'
            for verdict, x in runs
        )
    numbers = columns_to_label(len(models))
    description = (
        f"{panel}: what the differences of all pairs of {len(models)} models show, by "
        "row and column, models numbered from the best estimate to the worst"
    )
    ticks = {f"{k}": (k - 0.5) * width for k in numbers}
    return _figure(panel, description, strips, ticks)


def _interval_legend(display: ConfidenceIntervalDisplay) -> str:
    level = format_level(display.confidence_level)
    kinds = {"thin": f"joint {level} interval", "thick": f"individual {level} interval"}
    if display.individual_intervals is None:
        kinds = {"thick": f"{level} interval"}
    lines = "".join(
        f'<li><svg aria-hidden="true"><line class="{kind}" {_at(0, 100)} y1="50%" '
        f'y2="50%"/></svg>{label}</li>'
        for kind, label in kinds.items()
    )
    return lines + _verdict_legend({name: name for name in display.verdicts or ()})


def _verdict_legend(verdicts: Mapping[str, str]) -> str:
    return "".join(
        f'<li><svg aria-hidden="true"><rect class="{_colour(verdict)}" '
        f'width="100%"/></svg>{verdicts[verdict]}</li>'
        for verdict in VERDICT_COLOURS
        if verdict in verdicts
    )


def _drawn(display: PanelDisplay) -> str:
    """HTML of a figure of curves, which matplotlib draws."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return "<p>The picture of curves needs matplotlib.</p>"
    drawn = display.plot()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "skci"}):
        svg = io.StringIO()
        drawn.figure_.savefig(
            svg, format="svg", metadata={"Date": None}, transparent=True
        )
    plt.close(drawn.figure_)
    start = svg.getvalue().index("<svg")
    return (
        '<figure class="drawn" role="img" aria-label="Curves; the table has all '
        f'numbers.">{svg.getvalue()[start:]}</figure>'
    )
