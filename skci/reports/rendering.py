"""Tables of text cells as plain text, Markdown, LaTeX and HTML; data frames."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from html import escape
from typing import Any

_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""Characters that LaTeX would interpret or print as others."""


class TabularReport(ABC):
    """A titled table, and the formats that it is shown in."""

    @property
    @abstractmethod
    def _labels(self) -> Collection[str]:
        """Names of the columns that name each row."""

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _columns(self) -> list[list[str]]:
        """Columns of text cells, the header first."""

    @abstractmethod
    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column."""

    def _rows(self) -> list[tuple[str, ...]]:
        return list(zip(*self._columns(), strict=True))

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
        rows = [[cell.replace("|", r"\|") for cell in row] for row in self._rows()]
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        escaped = str.maketrans(_LATEX)
        rows = [[cell.translate(escaped) for cell in row] for row in self._rows()]
        alignment = "".join("r" if name == "estimate" else "l" for name in rows[0])
        header, *lines = [" & ".join(row) + r" \\" for row in rows]
        begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
        lines = [begin, r"\toprule", header, r"\midrule", *lines, r"\bottomrule", end]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header, *rows = [[escape(cell) for cell in row] for row in self._rows()]
        head = "".join(f"<th>{cell}</th>" for cell in header)
        cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return (
            f"<p>{escape(self._title())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        header, *lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
        lines = [self._title(), "", header, "-" * len(header), *lines]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__
