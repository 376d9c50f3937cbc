"""The rows of a benchmark as a text table and as reStructuredText."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from _timing import Comparison


@dataclass(frozen=True)
class Row:
    """A line of the table, in texts."""

    task: str
    against: str = ""
    ratio: str = ""
    spread: str = ""
    goal: str = ""
    met: str = ""
    ours: str = ""
    theirs: str = ""


HEADER = Row(
    "task",
    "compared with",
    "ratio",
    "quartiles",
    "goal",
    "met",
    "skci",
    "the other",
)


def compared(
    task: str,
    against: str,
    times: Comparison,
    *,
    goal: float | None = None,
) -> Row:
    """Make the row of a comparison; the goal is the largest ratio."""
    low, high = map(fraction, times.spread)
    return Row(
        task,
        against,
        fraction(times.ratio),
        f"{low} to {high}",
        "" if goal is None else fraction(goal),
        is_met(times.ratio, goal),
        milliseconds(times.median_a),
        milliseconds(times.median_b),
    )


def is_met(value: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return "yes" if value <= goal else "no"


def fraction(ratio: float) -> str:
    """Write a ratio below a half as 1/x."""
    if ratio > 0.5:
        return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"
    return f"1/{1 / ratio:.2g}" if ratio > 0.1 else f"1/{1 / ratio:.0f}"


def milliseconds(seconds: float) -> str:
    value = 1e3 * seconds
    return f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms"


def as_text(rows: Sequence[Row]) -> str:
    """Align the rows under their header."""
    lines = [list(vars(row).values()) for row in [HEADER, *rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def as_rst(rows: Sequence[Row]) -> str:
    """Write the rows as a list-table."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [HEADER, *rows]:
        first, *others = vars(row).values()
        lines.append(f"   * - {first}")
        lines += [f"     - {cell}".rstrip() for cell in others]
    return "\n".join(lines) + "\n"
