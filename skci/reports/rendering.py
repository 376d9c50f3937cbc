"""Tables of text cells, the header first, in the formats people paste; data frames."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

__all__ = ["as_frame", "as_html", "as_latex", "as_markdown", "as_text"]

Line = Sequence[str]


def as_frame(columns: dict[str, list[Any]], index: list[str]) -> Any:
    """Make a data frame of columns, some of which are its index."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame needs pandas: pip install 'skci[pandas]'; to_dict does not"
        ) from error
    return pd.DataFrame(columns).set_index(index)


def as_text(title: str, lines: Sequence[Line]) -> str:
    """Align the columns under a title."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    header, *rows = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    ruled = [title, "", header, "-" * len(header), *rows]
    return "\n".join(line.rstrip() for line in ruled)


def as_markdown(lines: Sequence[Line]) -> str:
    """Write a Markdown table."""
    header, *rows = lines
    escaped = (
        [cell.replace("|", r"\|") for cell in line]
        for line in [header, ["---"] * len(header), *rows]
    )
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped)


def as_latex(lines: Sequence[Line]) -> str:
    """Write a ``tabular``, which needs the package booktabs."""
    header, *rows = [" & ".join(map(_latex, line)) + r" \\" for line in lines]
    columns = "".join("r" if name == "estimate" else "l" for name in lines[0])
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def as_html(title: str, lines: Sequence[Line]) -> str:
    """Write a table under a title."""
    header, *rows = lines
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f"<p>{escape(title)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _latex(text: str) -> str:
    """Escape what LaTeX would take for a command or print as something else."""
    return "".join(_LATEX.get(char, char) for char in text)
