"""Tables of text cells as plain text, Markdown, LaTeX and HTML; data frames."""

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
from skci._validation import as_name, check_known, check_text, printable

_Entry = TypeVar("_Entry")

_LIMITS = "low and high of an estimate, as report[...].low, or columns of to_frame()"
_MAX_NAME = 32  # characters of a name in a text table
_LEAST_NAME = 8  # and in one that is narrow

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
    "±": r"$\pm$",
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
    """Break a text between words into lines of a width, if there is one."""
    if width is None:
        return text
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
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


INTERVAL_STYLES = ("interval", "pm")
"""Styles of estimates and intervals: columns of both, or "estimate ± half width"."""


def estimate_columns(
    estimates: Any,
    limits: Any,
    header: str,
    interval: str,
    null: float | None = None,
    style: str = "interval",
) -> list[Column]:
    """Columns of estimates and intervals, whose headers are given, in some style."""
    low, high = np.transpose(limits).tolist()
    places = decimals(limits, null)
    number = partial(format_number, places=places)
    pair = partial(format_interval, places=places)
    values = {"estimate": np.asarray(estimates).tolist()}
    ends = {"low": low, "high": high}
    if style == "interval":
        return [Column(values, header, number), Column(ends, interval, pair)]
    header += f" ± {interval.replace('interval', 'half width')}"
    return [
        Column(
            values | ends,
            header,
            lambda x, a, b: f"{number(x)} ± {number((b - a) / 2)}",
        )
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """A titled table of text, and the formats that it is written in.

    Parameters
    ----------
    title : str
    names, columns : mapping of str to sequence of R str
        Names of the rows, and other cells, by the headers of their columns.
    bold : collection of (int, str)
        Rows and headers of the cells in bold.
    """

    title: str
    names: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    bold: Collection[tuple[int, str]] = ()

    def rows(self, longest: int | None = None) -> list[tuple[str, ...]]:
        """Rows of cells, the headers first; names are cut to so many characters."""
        columns = [
            [*map(printable, (header, *cells))]
            for header, cells in (*self.names.items(), *self.columns.items())
        ]
        if longest is None:
            return [*zip(*columns, strict=True)]
        names = [shorten(column, longest) for column in columns[: len(self.names)]]
        header, *rows = zip(*names, *columns[len(names) :], strict=True)
        return [tuple(shorten(header)), *rows]

    def _marked_rows(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """Rows of escaped cells, some of them in bold."""
        header, *rows = self.rows()
        return [[*map(escaped, header)]] + [
            [
                bold.format(escaped(cell)) if (k, name) in self.bold else escaped(cell)
                for name, cell in zip(header, row, strict=True)
            ]
            for k, row in enumerate(rows)
        ]

    def to_markdown(self, caption: str | None = None) -> str:
        """Write Markdown, under the title or another caption if that is not empty."""
        check_text(caption, "caption")
        rows = self._marked_rows(escape_markdown, "**{}**")
        rows.insert(1, ["---"] * len(rows[0]))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        if caption is None:
            caption = escape_markdown(printable(self.title))
        return "\n".join([caption, "", *lines] if caption else lines)

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        """Write a LaTeX table; without a caption, the tabular alone."""
        check_text(caption, "caption")
        check_text(label, "label")
        if caption is None:
            caption = escape_latex(printable(self.title))
        if label is not None and not caption:
            raise ValueError(f"label needs a caption, got {label!r} and none")
        rows = self._marked_rows(escape_latex, r"\textbf{{{}}}")
        alignment = "".join("r" if name == "estimate" else "l" for name in rows[0])
        # A rule or a row break would take a bracket or an asterisk for its option.
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
        """Write HTML, with the title as its caption; a wide table scrolls.

        The rows may be in another order.
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
        """HTML of a row, the first of which is the header."""
        row = ""
        for column, cell in enumerate(cells):
            is_name = column < len(self.names)
            kind = ' class="name"' if is_name else ""
            begin, end = f"td{kind}", "td"
            if cell and (is_name or not number):
                begin, end = f'th scope="{"row" if number else "col"}"{kind}', "th"
            row += f"<{begin}>{escape(cell)}</{end}>"
        return f"<tr>{row}</tr>"

    def to_text(self, width: int | None = None) -> str:
        """Write plain text, if possible in lines of at most some width.

        Individual intervals are left out, names are cut and columns are put below
        others, each only as far as it is needed.
        """
        table = self._text(self.columns, _MAX_NAME)
        if width is not None and not _fits(table, width):
            table = self._narrow(width)
        return f"{wrap(printable(self.title), width)}\n\n{table}"

    def _narrow(self, width: int) -> str:
        """Text without individual intervals, with short names, or of several tables."""
        hidden = any(header.startswith("joint") for header in self.columns)
        headers = [x for x in self.columns if not (hidden and x.startswith("indiv"))]
        for longest in range(_MAX_NAME, _LEAST_NAME - 1, -1):
            if _fits(table := self._text(headers, longest), width):
                return table
        tables, shown = [""], []
        for header in headers:
            shown.append(header)
            if not _fits(self._text(shown, _LEAST_NAME), width) and tables[-1]:
                tables.append("")
                shown = [header]
            tables[-1] = self._text(shown, _LEAST_NAME)
        return "\n\n".join(tables)

    def _text(self, headers: Iterable[str], longest: int) -> str:
        """Text of some columns beside the names, which are cut, with a rule."""
        columns = {header: self.columns[header] for header in headers}
        rows = replace(self, columns=columns).rows(longest)
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = zip(row, widths, strict=True)
            padded = [cell + " " * (width - _width(cell)) for cell, width in cells]
            lines.append("  ".join(padded).rstrip())
        lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _fits(table: str, width: int) -> bool:
    """Whether the rule of a table is no longer than a width."""
    return len(table.split("\n")[1]) <= width


class TabularReport(HintedAttributes, ABC, Generic[_Entry]):
    """A titled table of which each row is found by its names, as in a mapping."""

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
        """Columns of numbers and of other values of the rows."""

    @abstractmethod
    def _entry(self, position: int) -> _Entry:
        """Entry of the row at a position."""

    def _data(self) -> dict[str, Sequence[Any]]:
        """Columns of :meth:`to_frame`, and those that name the rows."""
        data = dict(self._labels)
        for column in self._columns():
            data |= column.values
        return data

    def _grid(self, wide: bool = False, bold: bool = True) -> Grid:
        """Text of the table.

        A wide one has a column for each metric, perhaps with the best in bold.
        """
        if wide:
            raise ValueError(
                f"wide needs a report of metrics, got {type(self).__name__}"
            )
        cells = {each.header: each.cells for each in self._columns() if each.header}
        return Grid(self._title(), self._labels, cells)

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

    def to_frame(self, *, wide: bool = False) -> Any:
        """Return the report as a data frame.

        Parameters
        ----------
        wide : bool, default=False
            Whether to have a column for each metric, and in it the estimates and the
            intervals as text, such as "0.694 [0.658, 0.731]".

        Returns
        -------
        pandas.DataFrame
            Columns of :meth:`to_dict`, indexed by the labels; undefined numbers are
            NaN. In a wide frame all cells are strings, and empty where a metric is not
            reported. pandas is needed.

        Raises
        ------
        ValueError
            If the report is to be wide and has no column for each metric.
        """
        data, names = self._data(), [*self._labels]
        if wide:
            grid = self._grid(wide, bold=False)
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
            Line above the table; the title, with the level, the method and the number
            of rows, if not given, and none if empty.

        Returns
        -------
        str
            With a line for each row of the report.
        """
        return self._grid(wide).to_markdown(caption)

    def to_latex(
        self,
        *,
        wide: bool = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return the report as a LaTeX ``table``; it needs the package booktabs.

        Parameters
        ----------
        wide : bool, default=False
            Whether to have a column for each metric, with estimates and intervals, as
            for a paper. Models that may be the best on a metric by
            :meth:`JointReport.best`, on all metrics at once, are in bold; in reports of
            subgroups those of each subgroup, on all of them at once.
        caption : str, optional
            Caption in LaTeX; the title, with the level, the method and the number of
            rows, if not given. If empty, the ``tabular`` alone is returned.
        label : str, optional
            Name to refer to, as in ``"tab:models"``.

        Returns
        -------
        str
            To be included in a document.

        Raises
        ------
        ValueError
            If the report is to be wide and has no column for each metric; or a label
            is given for a ``tabular``, which has none.
        """
        return self._grid(wide).to_latex(caption, label)

    @property
    def _best_first(self) -> Sequence[int] | None:
        """Order of the rows on pages and in notebooks, if not that of the report."""
        return None

    def _html(self) -> str:
        """HTML of the table, in the order of the picture."""
        return self._grid().to_html(self._best_first)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def __str__(self) -> str:
        return str(self._grid())

    __repr__ = __str__

    def __getitem__(self, key: Any) -> _Entry:
        """Return what there is of one row, such as of a model and metric.

        Parameters
        ----------
        key : str or tuple of str
            In the order of the columns of labels, such as the model and the metric.

        Returns
        -------
        MetricEstimate, RankInterval, ComparisonWithBest or Verdict
            With its joint interval.

        Raises
        ------
        KeyError
            If there is no such row; the message says how the report is indexed.
        """
        wanted = tuple(map(as_name, key if isinstance(key, tuple) else (key,)))
        position = self._find(wanted)
        if position is not None:
            return self._entry(position)
        known, labels = list(self), self._labels
        names = [name for name in wanted if isinstance(name, str)]
        example: Any = max(known, key=lambda each: sum(name in each for name in names))
        if len(wanted) == len(labels):
            others = [each for each in itertools.permutations(wanted) if each in known]
            example = others[0] if others else example
            for name, kind in zip(wanted, () if others else labels, strict=not others):
                names = list(dict.fromkeys(labels[kind]))
                check_known(name, names, f"report[{', '.join(labels)}]: {kind}")
        kinds = ", ".join(labels)
        if len(labels) == 1:
            (example,) = example
        else:
            kinds = f"({kinds})"
        raise KeyError(
            f"a report is indexed by {kinds}, as in {example!r}, got {key!r}"
        )

    @cached_property
    def _position_of(self) -> dict[tuple[str, ...], int]:
        """Position of each row by its labels."""
        labels = zip(*self._labels.values(), strict=True)
        return dict(zip(labels, itertools.count(), strict=False))

    def _find(self, names: tuple[Any, ...]) -> int | None:
        """Position of the row of some names; None if there is none."""
        try:
            return self._position_of.get(names)
        except TypeError:  # of names that have no hash
            return None

    def keys(self) -> KeysView[tuple[str, ...]]:
        """Labels of all rows, as of a dict.

        Returns
        -------
        KeysView of tuple of str
            In order. ``dict(report)`` has what there is of the rows by these labels.
        """
        return self._position_of.keys()

    def values(self) -> list[_Entry]:
        """What there is of all rows, such as estimates, as of a dict.

        Returns
        -------
        list
            In order.
        """
        return [*map(self._entry, range(len(self)))]

    def items(self) -> list[tuple[tuple[str, ...], _Entry]]:
        """Labels and what there is of them, as of a dict.

        Returns
        -------
        list of (tuple of str, object)
            In order.
        """
        return [*zip(self._position_of, self.values(), strict=True)]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._position_of)

    def __len__(self) -> int:
        return len(next(iter(self._labels.values())))


class Findings(list[str]):
    """Sentences, a list that notebooks show line by line."""

    def __init__(
        self, sentences: Iterable[str] = (), simultaneous: bool = True
    ) -> None:
        """Mark sentences on intervals that do not hold together."""
        start = "" if simultaneous else "Taken alone: "
        super().__init__(printable(start + sentence) for sentence in sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self)


@cache
def packaged(name: str) -> str:
    """Text of a file beside this module, such as the stylesheet."""
    return files("skci.reports").joinpath(name).read_text(encoding="utf-8")


def notebook_html(*reports: TabularReport[Any]) -> str:
    """HTML of what a notebook shows, in the style of pages."""
    style = " ".join(packaged("style.css").split())
    body = "".join(report._html() for report in reports)
    return f'<style>{style}</style><div class="skci">{body}</div>'
