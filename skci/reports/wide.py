"""Tables with a column for each metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from skci._validation import printable
from skci.reports.rendering import (
    Column,
    TabularReport,
)


@dataclass(frozen=True, eq=False, repr=False)
class WideTable(TabularReport):
    """Estimates and intervals as text, a column for each metric.

    Parameters
    ----------
    names : mapping of str to sequence of R str
        Names of the rows by column, such as the models.
    cells : mapping of str to sequence of R str
        Text by column, such as the metric; empty where it is not of a model.
    title : str
    bold : collection of (int, str)
        Rows and columns of the cells in bold.
    """

    names: Mapping[str, Sequence[str]]
    cells: Mapping[str, Sequence[str]]
    title: str
    bold: Collection[tuple[int, str]]

    @property
    def _bold(self) -> Collection[tuple[int, str]]:
        return self.bold

    def _title(self) -> str:
        return self.title

    def _columns(self) -> list[Column]:
        return [Column({name: cells}, name) for name, cells in self.cells.items()]


def wide_table(
    labels: Mapping[str, Sequence[str]],
    columns: Mapping[str, Sequence[str]],
    title: str,
    best: Collection[int],
) -> WideTable:
    """Arrange K estimates in a table with a column for each metric.

    Parameters
    ----------
    labels : mapping of str to sequence of K str
        Names of each estimate by column, one of them "metric".
    columns : mapping of str to sequence of K str
        Text of each estimate, whose column has the name "metric" and is divided, and of
        what is the same for all metrics.
    title : str
    best : collection of int
        Positions of the estimates in bold.
    """
    kinds = [kind for kind in labels if kind != "metric"]
    names = list(zip(*map(labels.__getitem__, kinds), strict=True))
    row = {name: k for k, name in enumerate(dict.fromkeys(names))}
    cells: dict[str, list[str]] = {}
    for header, column in columns.items():
        headers = labels["metric"] if header == "metric" else [header] * len(names)
        for each, name, cell in zip(headers, names, column, strict=True):
            cells.setdefault(each, [""] * len(row))[row[name]] = cell
    return WideTable(
        dict(zip(kinds, zip(*row, strict=True), strict=True)),
        cells,
        title,
        {(row[names[k]], printable(labels["metric"][k])) for k in best},
    )
