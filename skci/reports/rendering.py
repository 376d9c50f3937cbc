"""Tables of text cells as plain text, Markdown, LaTeX and HTML; data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import Any

__all__ = ["TabularReport"]


class TabularReport(ABC):
    """A titled table, and the formats that it is shown in."""

    @property
    @abstractmethod
    def _labels(self) -> dict[str, list[str]]:
        """Columns that name each row."""

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _table(self) -> list[list[str]]:
        """Rows of text cells, the header first."""

    @abstractmethod
    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column."""

    def to_frame(self) -> Any:
        """Return the report as a data frame.

        Returns
        -------
        pandas.DataFrame
            Columns of :meth:`to_dict`, indexed by the labels; pandas is needed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'skci[pandas]'; to_dict does not"
            ) from error
        return pd.DataFrame(self.to_dict()).set_index(list(self._labels))

    def to_markdown(self) -> str:
        """Return the report as a Markdown table."""
        header, *rows = self._table()
        escaped = (
            [cell.replace("|", r"\|") for cell in row]
            for row in [header, ["---"] * len(header), *rows]
        )
        return "\n".join("| " + " | ".join(row) + " |" for row in escaped)

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        table = self._table()
        alignment = "".join("r" if name == "estimate" else "l" for name in table[0])
        header, *rows = [" & ".join(map(_latex, row)) + r" \\" for row in table]
        begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
        lines = [begin, r"\toprule", header, r"\midrule", *rows, r"\bottomrule", end]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header, *rows = [[escape(cell) for cell in row] for row in self._table()]
        head = "".join(f"<th>{cell}</th>" for cell in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return (
            f"<p>{escape(self._title())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        padded = [list(map(str.ljust, row, widths)) for row in table]
        header, *rows = ["  ".join(row) for row in padded]
        lines = [self._title(), "", header, "-" * len(header), *rows]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return str(self)


_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _latex(text: str) -> str:
    """Escape characters that LaTeX would interpret or print as others."""
    return "".join(_LATEX.get(char, char) for char in text)
