"""Tables, sections and figures of a page, for the terminal and as reStructuredText."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, str]
"""Cells by column."""
Table = Sequence[Row]


def as_text(table: Table) -> str:
    """Align the columns under their names."""
    if not table:
        return "(none)"
    header = list(table[0])
    lines = [header, *(list(row.values()) for row in table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def as_rst(table: Table) -> str:
    """Write a list-table."""
    if not table:
        return "None."
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for first, *others in (table[0].keys(), *(row.values() for row in table)):
        lines.append(f"   * - {first}".rstrip())
        lines += [f"     - {cell}".rstrip() for cell in others]
    return "\n".join(lines)


def heading(title: str, underline: str = "=") -> str:
    return f"{title}\n{underline * len(title)}"


def yes(met: bool) -> str:
    return "yes" if met else "no"


def within_error(value: float, goal: float, error: float) -> str:
    """Whether a goal is met, or missed by less than two Monte Carlo errors."""
    if value < goal <= value + 2 * error:
        return "within error"
    return yes(value >= goal)


@dataclass(frozen=True)
class Section:
    """A title, a caption, tables, and what follows them on the page."""

    title: str
    caption: str
    tables: Sequence[Table]
    figure: str = ""

    def as_text(self) -> str:
        return "\n\n".join([self.title, *map(as_text, self.tables)])

    def as_rst(self) -> list[str]:
        tables = map(as_rst, self.tables)
        return [heading(self.title, "-"), self.caption, *tables, self.figure]


def show(*blocks: str | Section) -> None:
    """Print sections and paragraphs."""
    for block in blocks:
        text = block.as_text() if isinstance(block, Section) else block
        print(f"\n{text}", flush=True)


def write_page(file: Path, command: str, title: str, *blocks: str | Section) -> None:
    """Write a page: its title, paragraphs and sections."""
    texts = [f".. Written by python -m benchmarks.{command}.", heading(title)]
    for block in blocks:
        texts += block.as_rst() if isinstance(block, Section) else [block]
    page = "\n\n".join(text.strip("\n") for text in texts if text)
    file.write_text(f"{page}\n", encoding="utf-8")


@contextmanager
def saved_figure(
    file: Path, rows: int, columns: int, hidden: Sequence[str] = (), **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Make a figure and its axes, an array of shape (rows, columns), and save it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows, columns, squeeze=False, layout="constrained", **options
    )
    for axis in axes.flat:
        axis.spines[["top", "right", *hidden]].set_visible(False)
    yield figure, axes
    figure.savefig(file, dpi=150, metadata={"Software": None})
    plt.close(figure)
