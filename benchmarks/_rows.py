"""Tables of speed: a line for each comparison, a section for each subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from _table import Line, as_rst, as_text, heading, yes
from _timing import Comparison


@dataclass(frozen=True)
class Row:
    """A comparison, in texts."""

    task: str
    against: str = ""
    ratio: str = ""
    spread: str = ""
    goal: str = ""
    met: str = ""
    ours: str = ""
    theirs: str = ""
    error: str = ""
    their_error: str = ""


_HEADER = Row(
    "task",
    "compared with",
    "ratio",
    "quartiles",
    "goal",
    "met",
    "skci",
    "the other",
    "error",
    "the other's",
)


@dataclass(frozen=True)
class Section:
    """What is said of a subject: words, comparisons, other tables."""

    title: str
    text: str
    rows: Sequence[Row]
    tables: Sequence[Sequence[Line]] = ()

    def as_text(self) -> str:
        tables = [as_text(table) for table in (lines(self.rows), *self.tables)]
        return "\n\n".join([self.title.upper(), *tables])

    def as_rst(self) -> str:
        tables = [as_rst(table) for table in (lines(self.rows), *self.tables)]
        return "\n".join([heading(self.title, "-"), self.text, *tables])


def goals(sections: Sequence[Section]) -> list[Row]:
    """Collect the comparisons that have a goal, without what is not of it.

    A limit is compared with nothing: there the time stands in place of a ratio.
    """
    nothing = dict.fromkeys(["spread", "ours", "theirs", "error", "their_error"], "")
    return [
        replace(row, ratio=row.ratio or row.ours, **nothing)
        for section in sections
        for row in section.rows
        if row.goal
    ]


def lines(rows: Sequence[Row]) -> list[Line]:
    """Lay rows out under their header, without columns that are empty."""
    columns = zip(*(vars(row).values() for row in [_HEADER, *rows]), strict=True)
    filled = [column for column in columns if any(column[1:])]
    return list(zip(*filled, strict=True))


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
        duration(times.median_a),
        duration(times.median_b),
    )


def limited(task: str, seconds: float, goal: float | None = None) -> Row:
    """Make the row of a time that is compared with a limit only."""
    return Row(
        task,
        goal="" if goal is None else duration(goal),
        met=is_met(seconds, goal),
        ours=duration(seconds),
    )


def is_met(value: float, goal: float | None) -> str:
    return "" if goal is None else yes(value <= goal)


def fraction(ratio: float) -> str:
    """Write a ratio below a half as 1/x."""
    if ratio > 0.5:
        return rounded(ratio)
    return f"1/{rounded(1 / ratio)}"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{rounded(1e3 * seconds)} ms"
    return f"{rounded(seconds)} s"


def mebibytes(size: float) -> str:
    return f"{rounded(size / 2**20)} MiB"


def rounded(value: float) -> str:
    """Write two digits, or three where there are more."""
    digits = 2 if value < 99.5 else 3
    number = float(f"{value:.{digits}g}")
    return f"{number:,.0f}" if number >= 10 else f"{number:g}"
