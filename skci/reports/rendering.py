"""Tables of text cells as plain text, Markdown, LaTeX and HTML; data frames."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

import numpy as np

from skci._validation import printable

_MAX_NAME = 32  # characters of a name in a text table

_MARKDOWN = re.compile(
    r"[\\`*~|$]"  # code, emphasis, cells, formulas
    r"|_(?![^\W_])|(?<![^\W_])_"  # emphasis, not within a word
    r"|<(?=[A-Za-z/!?])|&(?=[#\w])"  # HTML
    r"|\](?=[(\[:])|:(?=//)"  # links
)
"""Characters that Markdown would interpret where they are."""

_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""Characters that LaTeX would interpret or print as others."""


def escape_markdown(text: str) -> str:
    """Write a text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def escape_latex(text: str) -> str:
    """Write a text that LaTeX shows as it is."""
    escaped = str.maketrans(_LATEX)
    return text.translate(escaped)


def format_number(value: float, places: int) -> str:
    """Write a number with some decimal places, and zero without a sign."""
    return f"{value:z.{places}f}"


def format_interval(low: float, high: float, places: int) -> str:
    """Write an interval with some decimal places."""
    return f"[{format_number(low, places)}, {format_number(high, places)}]"


def decimals(intervals: Any, null: float | None = None) -> int:
    """Decimal places that show two significant digits of the narrowest half width.

    Up to three more where a limit would otherwise be rounded to the null.
    """
    limits = np.asarray(intervals, dtype=float)
    widths = np.diff(limits, axis=-1)
    widths = widths[np.isfinite(widths) & (widths > 0)]
    if not len(widths):
        return 3
    least = int(np.clip(1 - np.floor(np.log10(widths.min() / 2)), 2, 8))
    distances = [] if null is None else np.abs(limits[limits != null] - null)
    nearest = min(distances, default=1.0)
    return int(np.clip(np.ceil(-np.log10(2 * nearest)), least, least + 3))


def format_pvalue(p: float) -> str:
    """Write a p-value; nothing for NaN."""
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 1e-3 else f"{p:.3f}"


def format_level(confidence_level: float, simultaneous: bool | None = None) -> str:
    """Write a confidence level as a percentage, and that of what, as in "joint 95%"."""
    kind = {None: "", True: "joint ", False: "individual "}[simultaneous]
    return f"{kind}{100 * confidence_level:g}%"


def json_value(value: Any) -> Any:
    """Return what JSON has for a value: None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shorten(names: Sequence[str], width: int = _MAX_NAME) -> list[str]:
    """Shorten long names in the middle, so far that those that differ still do."""
    while True:
        head, tail = width - width // 3 - 1, width // 3
        short = {
            name: name if len(name) <= width else f"{name[:head]}…{name[-tail:]}"
            for name in names
        }
        if len(set(short.values())) == len(short):
            return [short[name] for name in names]
        width *= 2


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(
        0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )


class Column(NamedTuple):
    """Values by name, and what a table shows of those of each row."""

    values: Mapping[str, Sequence[Any]]
    header: str = ""
    """Empty where a table does not show them."""
    write: Callable[..., str] = str

    @property
    def cells(self) -> list[str]:
        """What a table shows of each row."""
        return list(map(self.write, *self.values.values()))


def estimate_columns(
    estimates: Any, limits: Any, header: str, interval: str, null: float | None = None
) -> list[Column]:
    """Columns of estimates and intervals, whose headers are given."""
    low, high = np.transpose(limits).tolist()
    places = decimals(limits, null)
    number, pair = (partial(f, places=places) for f in (format_number, format_interval))
    return [
        Column({"estimate": np.asarray(estimates).tolist()}, header, number),
        Column({"low": low, "high": high}, interval, pair),
    ]


class TabularReport(ABC):
    """A titled table, and the formats that it is shown in."""

    names: Mapping[str, Sequence[str]]
    """Names of the rows, by column."""

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        return self.names

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _columns(self) -> list[Column]:
        """Columns of numbers and of what else there is of each row."""

    def _data(self) -> dict[str, Sequence[Any]]:
        """Columns of :meth:`to_frame`, and those that name the rows."""
        data = dict(self._labels)
        for column in self._columns():
            data |= column.values
        return data

    @property
    def _bold(self) -> Collection[tuple[int, str]]:
        """Cells in bold: the row, and the header of the column."""
        return ()

    def _name_columns(self) -> list[list[str]]:
        """Columns of names, the header first."""
        return [[header, *names] for header, names in self._labels.items()]

    def _number_columns(self) -> list[list[str]]:
        """Columns of numbers and intervals as text, the header first."""
        columns = self._columns()
        return [[column.header, *column.cells] for column in columns if column.header]

    def _rows(self, *, short: bool = False) -> list[tuple[str, ...]]:
        """Rows of cells, the headers first; in `short` ones long names are cut."""
        names, numbers = (
            [[*map(printable, column)] for column in columns]
            for columns in (self._name_columns(), self._number_columns())
        )
        if short:
            names = [shorten(column) for column in names]
        header, *rows = zip(*names, *numbers, strict=True)
        return [tuple(shorten(header)) if short else header, *rows]

    def _marked_rows(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """Rows of escaped cells, some of them in bold."""
        in_bold = self._bold
        header, *rows = self._rows()
        marked = [
            [
                bold.format(escaped(cell)) if (k, name) in in_bold else escaped(cell)
                for name, cell in zip(header, row, strict=True)
            ]
            for k, row in enumerate(rows)
        ]
        return [[*map(escaped, header)], *marked]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column, as JSON has it.

        Returns
        -------
        dict of str to list
            Names, numbers, and None for numbers that are undefined or infinite: a limit
            of None is no limit. :meth:`to_frame` keeps them.

            The labels, ``estimate``, ``low`` and ``high``; of the best models
            ``may_be_best``; of others ``standard_error``; for contrasts ``pvalue``, and
            with a margin ``margin``, ``pvalue_not_worse``, ``pvalue_better`` and
            ``pvalue_equivalent``; for others ``individual_low``, ``individual_high``
            and ``method``, for classes also ``support``; of subgroups ``n``, the number
            of rows, and with two labels ``positives``; ``design_effect`` where rows
            have weights or groups, ``binning_error`` where scores are in bins.
        """
        return {name: [*map(json_value, x)] for name, x in self._data().items()}

    def to_frame(self) -> Any:
        """Return the report as a data frame.

        Returns
        -------
        pandas.DataFrame
            Columns of :meth:`to_dict`, indexed by the labels; undefined numbers are
            NaN. pandas is needed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'skci[pandas]'; to_dict does not"
            ) from error
        return pd.DataFrame(self._data()).set_index(list(self._labels))

    def to_markdown(self) -> str:
        """Return the report as a Markdown table."""
        rows = self._marked_rows(escape_markdown, "**{}**")
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        rows = self._marked_rows(escape_latex, r"\textbf{{{}}}")
        alignment = "".join("r" if name == "estimate" else "l" for name in rows[0])
        # A rule or a row break would take a bracket or an asterisk for its option.
        lines = [re.sub(r"^(?=[\[*])", "{}", " & ".join(row)) for row in rows]
        header, *lines = [line + r" \\" for line in lines]
        begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
        lines = [begin, r"\toprule", header, r"\midrule", *lines, r"\bottomrule", end]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header, *rows = [[escape(cell) for cell in row] for row in self._rows()]
        head = "".join(f"<th>{cell}</th>" for cell in header)
        cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return (
            f"<p>{escape(printable(self._title()))}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __str__(self) -> str:
        rows = self._rows(short=True)
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        header, *lines = [
            "  ".join(
                cell + " " * (width - _width(cell))
                for cell, width in zip(row, widths, strict=True)
            )
            for row in rows
        ]
        ruler = "-" * (sum(widths) + 2 * len(widths) - 2)
        lines = [printable(self._title()), "", header, ruler, *lines]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__
