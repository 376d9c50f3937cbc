"""Plots of what many differences show; matplotlib is imported when plotting."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array
from skci.reports.panels import (
    COLOURS,
    MANY_ROWS,
    PanelDisplay,
    new_panels,
    rows_to_label,
    wrapped,
)
from skci.reports.rendering import format_level

_BLUE, _VERMILION, _GREEN, _, _ORANGE, _SKY, _GREY = COLOURS

_SHOWN, _NOT_EXCLUDED = ("better", "higher", "lower"), ("worse", "lower", "higher")
VERDICT_COLOURS = {
    **{f"first is {relation}": _BLUE for relation in _SHOWN},
    **{f"first is not {relation}": _SKY for relation in _NOT_EXCLUDED},
    "equivalent": _GREEN,
    "open": _GREY,
    **{f"second is not {relation}": _ORANGE for relation in _NOT_EXCLUDED},
    **{f"second is {relation}": _VERMILION for relation in _SHOWN},
    "above 0": _BLUE,
    "below 0": _VERMILION,
}
"""Colour of what an interval shows, in the order of the legend."""

_CELL_COLOURS = VERDICT_COLOURS | {"open": "#CCCCCC"}  # apart from others in grey
_LARGEST = 11.0  # inches of a side, in which 88 models have a label each

_OPPOSITE = {
    f"{name} is {relation}": f"{other} is {relation}"
    for name, other in (("first", "second"), ("second", "first"))
    for relation in (*_SHOWN, *map("not {}".format, _NOT_EXCLUDED))
}


def verdict_patches(
    verdicts: Mapping[str, str], colours: Mapping[str, str] = VERDICT_COLOURS
) -> list[Any]:
    """Entries of a legend: labels of those verdicts that occur."""
    from matplotlib.patches import Patch

    return [
        Patch(color=colour, label=verdicts[verdict])
        for verdict, colour in colours.items()
        if verdict in verdicts
    ]


def columns_to_label(models: int) -> list[int]:
    """Numbers of the columns with a label, so that labels do not touch."""
    step = next(
        (step for most, step in ((12, 1), (MANY_ROWS, 5), (100, 10)) if models <= most),
        50,
    )
    return [k for k in range(1, models) if k == 1 or k % step == 0]


@dataclass(kw_only=True, eq=False, repr=False)
class VerdictMatrixDisplay(PanelDisplay):
    """What the differences of all pairs of many models show, a panel for each metric.

    A triangle: models are numbered from the best estimate to the worst, and a cell
    shows what the interval says of the models of its row and its column. Returned by
    ``ContrastReport.plot``.

    Parameters
    ----------
    pairs : sequence of (str, str), of length K
        The first model and the second one of each difference.
    metrics : sequence of str, of length K
        Label of each difference.
    verdicts : sequence of str, of length K
        See :class:`ConfidenceIntervalDisplay`.
    models : mapping of str to sequence of str
        The models compared by metric, the best first.
    margins : array of shape (K,)
        NaN where there is none.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether all intervals cover at once.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each metric, after :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 40 + [1] * 40
    >>> models = {f"{k} wrong": [1] * k + y[k:] for k in range(2, 20, 2)}
    >>> display = joint_report(y, models, metrics="accuracy").differences().plot()
    >>> display.cells("accuracy")[1, 0], display.cells("accuracy")[8, 0]
    ('open', 'first is better')
    """

    pairs: Sequence[tuple[str, str]]
    metrics: Sequence[str]
    verdicts: Sequence[str]
    models: Mapping[str, Sequence[str]]
    margins: Array
    confidence_level: float
    simultaneous: bool = True

    _place_inside: ClassVar = {"loc": "upper right", "bbox_to_anchor": (1, 0.88)}

    def cells(self, metric: str) -> dict[tuple[int, int], str]:
        """Return what is shown in each cell of a panel.

        Parameters
        ----------
        metric : str
            Name of the panel.

        Returns
        -------
        dict of (int, int) to str
            By row and column, which is less than the row: a verdict in which "first" is
            the model of the column, which has the better estimate.
        """
        place = {model: k for k, model in enumerate(self.models[metric])}
        cells = {}
        for pair, panel, verdict in zip(
            self.pairs, self.metrics, self.verdicts, strict=True
        ):
            if panel == metric:
                first, second = (place[model] for model in pair)
                if first > second:
                    first, second = second, first
                    verdict = _OPPOSITE.get(verdict, verdict)
                cells[second, first] = verdict
        return cells

    def _new_axes(self, panels: int) -> Any:
        names = itertools.chain(*self.models.values())
        characters = max(len(line) for name in names for line in wrapped(name).split())
        most = max(map(len, self.models.values()))
        height = min((0.16 if most <= MANY_ROWS else 0.125) * most, _LARGEST)
        width = max(3.0, height / min(panels, 3)) + 0.08 * characters
        return new_panels(panels, width, 1.0 + height, 0.2)

    def _plot_panel(self, ax: Any, metric: str) -> None:
        from matplotlib.colors import ListedColormap

        models, names = self.models[metric], list(VERDICT_COLOURS)
        many = len(models) > MANY_ROWS
        codes = np.full((len(models), len(models)), np.nan)
        for cell, verdict in self.cells(metric).items():
            codes[cell] = names.index(verdict)
        ax.pcolormesh(
            np.ma.masked_invalid(codes),
            cmap=ListedColormap(list(_CELL_COLOURS.values())),
            vmin=-0.5,
            vmax=len(names) - 0.5,
            edgecolors=ax.get_facecolor(),
            linewidth=0 if many else 0.5,
        )
        labelled = rows_to_label(ax, len(models))
        labels = [f"{wrapped(models[k])}  {k + 1}" for k in labelled]
        ax.set_yticks(np.array(labelled) + 0.5, labels, parse_math=False)
        columns = columns_to_label(len(models))
        ax.set_xticks(np.array(columns) - 0.5, columns)
        ax.set(xlim=(0, len(models) - 1), ylim=(len(models), 0))
        place = {"ha": "right", "va": "top", "transform": ax.transAxes}
        ax.text(1, 1, self._note(metric), fontsize="small", **place)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, labelsize="x-small" if many else "small")

    def _note(self, metric: str) -> str:
        """What verdicts are by; in the empty half of a panel."""
        kind = "joint" if self.simultaneous else "individual"
        note = f"by {kind}\n{format_level(self.confidence_level)} intervals"
        margin = self.margins[self.metrics.index(metric)]
        return note if np.isnan(margin) else f"{note}\nmargin {margin:g}"

    @property
    def _labels(self) -> dict[str, str]:
        """What verdicts that occur are called in the legend."""
        return {
            verdict: verdict.replace("first", "column").replace("second", "row")
            for metric in self.models
            for verdict in self.cells(metric).values()
        }

    def _handles(self) -> list[Any]:
        return verdict_patches(self._labels, _CELL_COLOURS)
