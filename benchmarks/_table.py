"""Tables of texts, aligned and as reStructuredText. The first line is the header."""

from __future__ import annotations

from collections.abc import Sequence

Line = Sequence[str]


def as_text(lines: Sequence[Line]) -> str:
    """Align the lines under their header."""
    header, *rows = lines
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in ruled
    )


def as_rst(lines: Sequence[Line]) -> str:
    """Write the lines as a list-table."""
    table = [".. list-table::", "   :header-rows: 1", ""]
    for first, *others in lines:
        table.append(f"   * - {first}".rstrip())
        table += [f"     - {cell}".rstrip() for cell in others]
    return "\n".join(table) + "\n"


def heading(title: str, underline: str = "=") -> str:
    """Write a title of reStructuredText."""
    return f"{title}\n{underline * len(title)}\n"


def yes(met: bool) -> str:
    """Write whether something holds."""
    return "yes" if met else "no"
