"""Tables as plain text, Markdown, LaTeX, HTML and data frames."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from unicodedata import combining, east_asian_width

import numpy as np

from skci._arrays import cached_property
from skci._options import HintedAttributes
from skci._packages import optional_module
from skci._validation import as_name, check_text, check_valid_name, printable

_Entry = TypeVar("_Entry")

_LIMITS = "low and high of an estimate, as report[...].low, or columns of to_frame()"
_MAX_NAME = 32  # characters of a name in a text table
_MIN_NAME = 8  # characters of a name in a narrow text table

_MARKDOWN = re.compile(
    r"[\\`*~|$]"  # code, emphasis, cells, formulas
    r"|_(?![^\W_])|(?<![^\W_])_"  # emphasis, not within a word
    r"|<(?=[A-Za-z/!?])|&(?=[#\w])"  # HTML
    r"|\](?=[(\[:])|:(?=//)"  # links
)
"""Characters that Markdown would interpret in their context."""

_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
}
"""Characters that LaTeX would interpret or misprint."""


def escape_markdown(text: str) -> str:
    """Escape a text so that Markdown shows it verbatim."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def escape_latex(text: str) -> str:
    """Escape a text so that LaTeX shows it verbatim."""
    return "".join(_LATEX.get(character, character) for character in text)


def format_number(value: float, digits: int) -> str:
    """Format a number with `digits` decimals, and zero without a sign."""
    return f"{value:z.{digits}f}"


def format_interval(low: float, high: float, digits: int) -> str:
    """Format an interval with `digits` decimals."""
    return f"[{format_number(low, digits)}, {format_number(high, digits)}]"


def decimals(intervals: Any, null: float | None = None) -> int:
    """Number of decimals that show two significant digits of each half width.

    If a limit would be rounded to the null value, up to three more decimals are used.
    """
    limits = np.asarray(intervals, dtype=float)
    widths = np.diff(limits, axis=-1)
    widths = widths[np.isfinite(widths) & (widths > 0)]
    if not len(widths):
        return 3
    minimum = int(np.clip(1 - np.floor(np.log10(widths.min() / 2)), 2, 8))
    distances = [] if null is None else np.abs(limits[limits != null] - null)
    nearest = min(distances, default=1.0)
    return int(np.clip(np.ceil(-np.log10(2 * nearest)), minimum, minimum + 3))


def format_pvalue(p: float) -> str:
    """Format a p-value, or return an empty string for NaN."""
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 1e-3 else f"{p:.3f}"


def format_level(confidence_level: float, simultaneous: bool | None = None) -> str:
    """Format a confidence level, as in "95%" or "joint 95%"."""
    kind = {None: "", True: "joint ", False: "individual "}[simultaneous]
    return f"{kind}{100 * confidence_level:g}%"


def json_value(value: Any) -> Any:
    """Convert a number for JSON, where infinity and NaN become None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shorten(names: Sequence[str], width: int = _MAX_NAME) -> list[str]:
    """Shorten long names in the middle, so that distinct names remain distinct."""
    while max(map(len, names)) > width:
        head, tail = width - width // 3 - 1, width // 3
        short = {
            name: name if len(name) <= width else f"{name[:head]}…{name[-tail:]}"
            for name in names
        }
        if len(set(short.values())) == len(short):
            return [short[name] for name in names]
        width *= 2
    return [*names]


def wrap(text: str, width: int | None) -> str:
    """Wrap text between words into lines of `width` characters.

    If `width` is None, the text is unchanged.
    """
    if width is None:
        return text
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _width(text: str) -> int:
    """Width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )


class Column(NamedTuple):
    """Column of a printed table, formatted from columns of the data frame."""

    values: Mapping[str, Sequence[Any]]
    header: str = ""
    """Header in a table; empty if the table omits the column."""
    write: Callable[..., str] = str
    hidden: Callable[[], Mapping[str, Sequence[Any]]] = dict
    """Function that computes further values, which tables omit."""

    @property
    def cells(self) -> list[str]:
        """Cells of this column, one text per row."""
        return list(map(self.write, *self.values.values()))


INTERVAL_STYLES = ("interval", "pm")
"""Styles: columns of estimates and intervals, or "estimate ± half width"."""


def estimate_columns(
    estimates: Any,
    limits: Any,
    header: str,
    interval: str,
    null: float | None = None,
    style: str = "interval",
) -> list[Column]:
    """Return table columns with estimates and intervals, in an interval style.

    The styles are listed in `INTERVAL_STYLES`.
    """
    low, high = np.transpose(limits).tolist()
    digits = decimals(limits, null)
    number = partial(format_number, digits=digits)
    pair = partial(format_interval, digits=digits)
    values = {"estimate": np.asarray(estimates).tolist()}
    limits_by_name = {"low": low, "high": high}
    if style == "interval":
        return [Column(values, header, number), Column(limits_by_name, interval, pair)]
    header += f" ± {interval.replace('interval', 'half width')}"
    return [
        Column(
            values | limits_by_name,
            header,
            lambda x, a, b: f"{number(x)} ± {number((b - a) / 2)}",
        )
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Table of text cells with a title, written in several formats.

    Parameters
    ----------
    title : str
    names, columns : mapping of str to sequence of R str
        Columns of the table by header. `names` contains the columns that identify the
        rows, and `columns` contains all other columns.
    bold : collection of (int, str)
        Row index and column header of each bold cell.
    """

    title: str
    names: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    bold: Collection[tuple[int, str]] = ()

    def rows(self, longest: int | None = None) -> list[tuple[str, ...]]:
        """Return the headers and the rows of cells.

        Names are shortened to `longest` characters.
        """
        columns = [
            [*map(printable, (header, *cells))]
            for header, cells in (*self.names.items(), *self.columns.items())
        ]
        if longest is None:
            return [*zip(*columns, strict=True)]
        for k in range(len(self.names)):
            columns[k] = shorten(columns[k], longest)
        header, *rows = zip(*columns, strict=True)
        return [tuple(shorten(header)), *rows]

    def _marked_rows(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """Return rows of escaped cells, with the best cells in bold.

        `bold` is the template for bold text.
        """
        header, *rows = self.rows()
        return [[*map(escaped, header)]] + [
            [
                bold.format(escaped(cell)) if (k, name) in self.bold else escaped(cell)
                for name, cell in zip(header, row, strict=True)
            ]
            for k, row in enumerate(rows)
        ]

    def to_markdown(self, caption: str | None = None) -> str:
        """Return the table in Markdown, with a caption that defaults to the title."""
        check_text(caption, "caption")
        rows = self._marked_rows(escape_markdown, "**{}**")
        rows.insert(1, ["---"] * len(rows[0]))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        if caption is None:
            caption = escape_markdown(printable(self.title))
        return "\n".join([caption, "", *lines] if caption else lines)

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        """Return a LaTeX table, or only a ``tabular`` if `caption` is empty."""
        check_text(caption, "caption")
        check_text(label, "label")
        if caption is None:
            caption = escape_latex(printable(self.title))
        if label is not None and not caption:
            raise ValueError(
                f"label needs a caption, got {label!r} and an empty caption"
            )
        rows = self._marked_rows(escape_latex, r"\textbf{{{}}}")
        alignment = "".join("r" if name == "estimate" else "l" for name in rows[0])
        # LaTeX reads a bracket or an asterisk after a rule or row break as an option.
        lines = [re.sub(r"^(?=[\[*])", "{}", " & ".join(row)) for row in rows]
        header, *lines = [line + r" \\" for line in lines]
        begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
        lines = [begin, r"\toprule", header, r"\midrule", *lines, r"\bottomrule", end]
        if caption:
            above = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
            above += [] if label is None else [rf"\label{{{label}}}"]
            lines = [*above, *lines, r"\end{table}"]
        return "\n".join(lines)

    def to_html(self, order: Sequence[int] | None = None) -> str:
        """Return a scrollable HTML table with the title as caption.

        `order` lists the positions of the rows in the order to show. By default, the
        order is not changed.
        """
        title = escape(printable(self.title))
        header, *rows = map(self._html_row, itertools.count(), self.rows())
        rows = rows if order is None else [rows[k] for k in order]
        return (
            f'<div class="table" role="region" aria-label="{title}" tabindex="0">'
            f"<table><caption>{title}</caption><thead>{header}</thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>"
        )

    def _html_row(self, number: int, cells: Sequence[str]) -> str:
        """Return the HTML of a row, where row 0 is the header."""
        row = ""
        for column, cell in enumerate(cells):
            is_name = column < len(self.names)
            kind = ' class="name"' if is_name else ""
            begin, end = f"td{kind}", "td"
            if cell and (is_name or not number):
                begin, end = f'th scope="{"row" if number else "col"}"{kind}', "th"
            row += f"<{begin}>{escape(cell)}</{end}>"
        return f"<tr>{row}</tr>"

    def to_text(self, width: int | None = None, longest: int | None = _MAX_NAME) -> str:
        """Return plain text, if possible in lines of at most `width` characters.

        In a table that is too wide, individual intervals are omitted and names are
        shortened. If the table is still too wide, it is split into several tables.
        Without a width, names have at most `longest` characters.
        """
        title, table = printable(self.title), self._text(longest)
        if width is not None:
            title = wrap(title, width)
            table = table if _fits(table, width) else self._narrow(width)
        return f"{title}\n\n{table}"

    def _narrow(self, width: int) -> str:
        """Return plain text in lines of at most `width` characters, if possible."""
        hidden = any(header.startswith("joint") for header in self.columns)
        headers = [x for x in self.columns if not (hidden and x.startswith("indiv"))]
        for longest in range(_MAX_NAME, _MIN_NAME - 1, -1):
            if _fits(table := self._subset(headers)._text(longest), width):
                return table
        tables = []
        while headers:
            sizes = range(1, len(headers) + 1)
            texts = [self._subset(headers[:n])._text(_MIN_NAME) for n in sizes]
            n_shown = max(sum(_fits(text, width) for text in texts), 1)
            tables.append(texts[n_shown - 1])
            headers = headers[n_shown:]
        return "\n\n".join(tables)

    def _subset(self, headers: Iterable[str]) -> Grid:
        """Return a table with the row names and only the columns in `headers`."""
        return replace(self, columns={name: self.columns[name] for name in headers})

    def _text(self, longest: int | None) -> str:
        """Return plain text with names shortened to `longest` characters."""
        rows = self.rows(longest)
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = zip(row, widths, strict=True)
            padded = [cell + " " * (width - _width(cell)) for cell, width in cells]
            lines.append("  ".join(padded).rstrip())
        lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
        return "\n".join(lines)


def _fits(table: str, width: int) -> bool:
    """Whether a text table has lines of at most `width` characters."""
    return len(table.split("\n")[1]) <= width


class TabularReport(HintedAttributes, ABC, Generic[_Entry]):
    """Table with a title, indexed by the names of its rows like a mapping."""

    names: Mapping[str, Sequence[str]]
    """Names of the rows, by column."""

    _other_attributes: ClassVar = {
        "to_frame()": "to_pandas to_dataframe df",
        "print(report) or to_frame()": "summary summary_frame",
        _LIMITS: "ci conf_int confint confidence_interval intervals",
        "to_frame().to_csv(...)": "to_csv",
        "to_frame().to_excel(...)": "to_excel",
        "to_frame().to_html(...)": "to_html",
        "json.dumps(report.to_dict())": "to_json",
        "to_frame().sort_values(...), or plot(sort=...)": "sort sort_by sort_values",
        "plot().figure_": "fig figure savefig",
    }

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        return self.names

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _columns(self) -> list[Column]:
        """Return the columns of the table that follow the label columns."""

    @abstractmethod
    def _entry(self, position: int) -> _Entry:
        """Return the entry of the row at a position."""

    def _data(self) -> dict[str, Sequence[Any]]:
        """Return the columns of :meth:`to_frame`, including labels."""
        data = dict(self._labels)
        for column in self._columns():
            data |= {**column.values, **column.hidden()}
        return data

    def _grid(self) -> Grid:
        """Return the text cells of the table."""
        cells = {x.header: x.cells for x in self._columns() if x.header}
        return Grid(self._title(), self._labels, cells)

    def _wide_grid(self, bold: bool = True) -> Grid:
        """Return text cells with one column per metric.

        The models that may be the best are in bold.
        """
        raise ValueError(f"wide needs a report with metrics, got {type(self).__name__}")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of the report as a dict for JSON.

        Returns
        -------
        dict of str to list
            Names and numbers. Undefined and infinite numbers are None: a limit of None
            means that there is no limit. :meth:`to_frame` keeps such numbers.

            Keys are the labels, ``estimate``, ``low`` and ``high``. Comparisons with
            the best add ``may_be_best``. Other reports add ``standard_error``; for
            contrasts ``pvalue`` and, with a margin, ``margin``, ``pvalue_not_worse``,
            ``pvalue_better`` and ``pvalue_equivalent``; for estimates
            ``individual_low``, ``individual_high`` and ``method``. Classes add
            ``support``; subgroups add ``n``, the number of rows, and with two labels
            ``positives``; weights or groups add ``design_effect``, and binned scores
            ``binning_error``.
        """
        return {name: [*map(json_value, x)] for name, x in self._data().items()}

    def to_frame(self, *, wide: bool = False) -> Any:
        """Return the report as a data frame.

        Parameters
        ----------
        wide : bool, default=False
            Whether to return one column per metric, with estimates and intervals as
            text, such as "0.694 [0.658, 0.731]".

        Returns
        -------
        pandas.DataFrame
            Columns of :meth:`to_dict`, indexed by the labels; undefined numbers are
            NaN. In a wide frame all cells are strings, empty for metrics that are not
            reported. Requires pandas.

        Raises
        ------
        ValueError
            If `wide` is requested of a report without metrics.
        """
        data, names = self._data(), [*self._labels]
        if wide:
            grid = self._wide_grid(bold=False)
            data, names = {**grid.names, **grid.columns}, [*grid.names]
        pd = optional_module("pandas", "to_frame", "pandas", "to_dict does not")
        return pd.DataFrame(data).set_index(names)

    def to_markdown(self, *, wide: bool = False, caption: str | None = None) -> str:
        """Return the report as a Markdown table.

        Parameters
        ----------
        wide : bool, default=False
            See :meth:`to_latex`.
        caption : str, optional
            Line above the table; defaults to the title, which states the level, the
            method and the number of rows. An empty caption is omitted.

        Returns
        -------
        str
            Table with one line per row of the report.
        """
        grid = self._wide_grid() if wide else self._grid()
        return grid.to_markdown(caption)

    def to_latex(
        self,
        *,
        wide: bool = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return the report as a LaTeX ``table``, which requires the package booktabs.

        Parameters
        ----------
        wide : bool, default=False
            Whether to return one column per metric, with estimates and intervals, as
            for a paper. The models that may be the best on a metric, by
            :meth:`JointReport.best`, are in bold. The confidence level of the bold
            models applies simultaneously to all metrics and, with subgroups, to all
            subgroups.
        caption : str, optional
            Caption in LaTeX; defaults to the title, which states the level, the method
            and the number of rows. If empty, only the ``tabular`` is returned.
        label : str, optional
            Label for references, such as ``"tab:models"``.

        Returns
        -------
        str
            Table to include in a document.

        Raises
        ------
        ValueError
            If `wide` is requested of a report without metrics, or a label is given
            without a caption.
        """
        grid = self._wide_grid() if wide else self._grid()
        return grid.to_latex(caption, label)

    @property
    def _best_first(self) -> Sequence[int] | None:
        """Order of the rows in HTML, with the best first, as a list of positions.

        None keeps the order of the report.
        """
        return None

    def _html(self, may_be_best: Sequence[str] = ()) -> str:
        """Return the HTML of the table, with a column that marks the best models."""
        grid = self._grid()
        if any(may_be_best):
            columns = {**grid.columns, "may be best": may_be_best}
            grid = replace(grid, columns=columns)
        return grid.to_html(self._best_first)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def __str__(self) -> str:
        return self._grid().to_text()

    __repr__ = __str__

    def __getitem__(self, key: Any) -> _Entry:
        """Return the entry of one row, such as the estimate of a model and metric.

        Parameters
        ----------
        key : str or tuple of str
            Labels in the order of their columns, such as the model and the metric.

        Returns
        -------
        MetricEstimate, RankInterval, ComparisonWithBest or Verdict
            Entry of the row.

        Raises
        ------
        KeyError
            If there is no such row; the message describes the index of the report.
        """
        names = tuple(map(as_name, key if isinstance(key, tuple) else (key,)))
        position = self._find(names)
        if position is not None:
            return self._entry(position)
        labels, example = self._labels, next(iter(self))
        if len(names) == len(labels):
            for name, (column, known) in zip(names, labels.items(), strict=True):
                kind = f"report[{', '.join(labels)}]: {column}"
                check_valid_name(name, [*dict.fromkeys(known)], kind)
        raise KeyError(
            f"a report is indexed by ({', '.join(labels)}), as in {example!r}, "
            f"got {key!r}"
        )

    @cached_property
    def _position_of(self) -> dict[tuple[str, ...], int]:
        """Mapping from the labels of a row to the position of this row in the table."""
        labels = zip(*self._labels.values(), strict=True)
        return dict(zip(labels, itertools.count(), strict=False))

    def _find(self, names: tuple[Any, ...]) -> int | None:
        """Return the position of the row with these labels, or None."""
        try:
            return self._position_of.get(names)
        except TypeError:  # unhashable names
            return None

    def keys(self) -> KeysView[tuple[str, ...]]:
        """Labels of all rows, as in a dict.

        Returns
        -------
        KeysView of tuple of str
            Labels in order. ``dict(report)`` maps these labels to the entries.
        """
        return self._position_of.keys()

    def values(self) -> list[_Entry]:
        """Return a list with the entry of each row, such as an estimate.

        Returns
        -------
        list
            Entries in order.
        """
        return [*map(self._entry, range(len(self)))]

    def items(self) -> list[tuple[tuple[str, ...], _Entry]]:
        """Labels and entries of all rows, as in a dict.

        Returns
        -------
        list of (tuple of str, object)
            Pairs in order.
        """
        return [*zip(self._position_of, self.values(), strict=True)]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._position_of)

    def __len__(self) -> int:
        return len(next(iter(self._labels.values())))


class Findings(list[str]):
    """List of sentences that notebooks show line by line."""

    def __init__(
        self, sentences: Iterable[str] = (), simultaneous: bool = True
    ) -> None:
        """Create a list of findings.

        If `simultaneous` is false, each finding starts with "Taken alone: ".
        """
        start = "" if simultaneous else "Taken alone: "
        super().__init__(printable(start + sentence) for sentence in sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self)


@cache
def packaged(name: str) -> str:
    """Read a file in the directory of this module, such as the stylesheet."""
    return files("skci.reports").joinpath(name).read_text(encoding="utf-8")


def notebook_html(*reports: TabularReport[Any]) -> str:
    """Return reports as HTML for notebooks, in the style of the HTML pages."""
    style = " ".join(packaged("style.css").split())
    body = "".join(report._html() for report in reports)
    return f'<style>{style}</style><div class="skci">{body}</div>'
