"""Tables with a column for each metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skci._arrays import cached_property
from skci._validation import printable
from skci.reports.rendering import TabularReport, escape_latex, escape_markdown


@dataclass(frozen=True, eq=False, repr=False)
class WideTable(TabularReport):
    """Estimates and intervals as text, a column for each metric.

    Parameters
    ----------
    labels : mapping of str to sequence of K str
        Names of each estimate by column, one of them "metric".
    cells : sequence of K str
    title : str
    best : collection of int
        Positions of the estimates of rules that may be the best, shown in bold.
    best_in_words : str
    more : mapping of str to sequence of K str
        Columns of text before those of the metrics.
    """

    labels: Mapping[str, Sequence[str]]
    cells: Sequence[str]
    title: str
    best: Collection[int] = ()
    best_in_words: str = "may be the best"
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def _row_names(self) -> list[tuple[str, ...]]:
        """Names of each estimate but for its metric, shape (K,)."""
        names = [each for kind, each in self.labels.items() if kind != "metric"]
        return list(zip(*names, strict=True))

    @cached_property
    def _positions(self) -> dict[tuple[str, ...], int]:
        """Row of the table by its names."""
        return {name: k for k, name in enumerate(dict.fromkeys(self._row_names))}

    @property
    def _labels(self) -> dict[str, Sequence[str]]:
        kinds = [kind for kind in self.labels if kind != "metric"]
        return dict(zip(kinds, zip(*self._positions, strict=True), strict=True))

    @property
    def _bold(self) -> set[tuple[int, str]]:
        metrics = self.labels["metric"]
        return {
            (self._positions[self._row_names[k]], printable(metrics[k]))
            for k in self.best
        }

    def _title(self) -> str:
        return f"{self.title}; bold: {self.best_in_words}" if self.best else self.title

    def _columns(self) -> dict[str, list[str]]:
        """Cells by column; empty where a metric is not of a rule."""
        headers = [*self.more, *self.labels["metric"]]
        columns = {header: [""] * len(self._positions) for header in headers}
        for k, names in enumerate(self._row_names):
            row = self._positions[names]
            columns[self.labels["metric"][k]][row] = self.cells[k]
            for header, cells in self.more.items():
                columns[header][row] = cells[k]
        return columns

    def _data(self) -> dict[str, list[Any]]:
        return {
            kind: [*names] for kind, names in self._labels.items()
        } | self._columns()

    def _number_columns(self) -> list[list[str]]:
        return [[metric, *cells] for metric, cells in self._columns().items()]

    def to_markdown(self) -> str:
        """Return a Markdown table below its title."""
        title = escape_markdown(printable(self._title()))
        return f"{title}\n\n{super().to_markdown()}"

    def to_latex(self) -> str:
        """Return a LaTeX ``table`` with a caption; it needs the package booktabs."""
        caption = escape_latex(printable(self._title()))
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{caption}}}",
                super().to_latex(),
                r"\end{table}",
            ]
        )
