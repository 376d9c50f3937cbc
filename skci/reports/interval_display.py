"""Plots of confidence intervals; matplotlib is imported when plotting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array
from skci._hints import with_hints
from skci._validation import check_choice
from skci.reports.panels import (
    COLOURS,
    GREY,
    MANY_ROWS,
    PanelDisplay,
    axis_limits,
    colour_places,
    line_handles,
    new_panels,
    panel_width,
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

_THIN, _THICK = 1.5, 5.0
_SPACED_ROWS = 15  # more have smaller gaps
_MOST_HEIGHT = 45.0  # in inches, in which 280 rows have a label each


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceIntervalDisplay(PanelDisplay):
    """Intervals of several estimates, a panel for each metric.

    A thick line is the individual interval, the thin line the joint interval, the dot
    the estimate. Lines of undefined estimates are dotted; an arrow marks an infinite
    limit. The colour is that of the model, or of what the interval of a difference
    shows. Returned by ``JointReport.plot``, ``ContrastReport.plot`` and others.

    Parameters
    ----------
    rows, metrics : sequence of str, of length K
        Labels of each estimate: of its row, and of its panel.
    estimates : array of shape (K,)
        Positions of the dots.
    intervals : array of shape (K, 2)
        Joint intervals, or individual ones.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    individual_intervals : array of shape (K, 2), optional
        Individual intervals beside joint ones.
    models : sequence of str, of length K, optional
        Model of each estimate. Seven models have a colour each; if there are more, or
        none are given, all estimates have the same.
    known_models : sequence of str, optional
        Models in the order of their colours; those drawn if not given.
    greater_is_better : sequence of bool, of length K, optional
        Whether a greater estimate is a better one; True if not given.
    reference : float, optional
        Position of a vertical line, such as no difference.
    verdicts : sequence of str, of length K, optional
        What each interval shows: "first is better", "second is better" or "open"; of a
        difference with a margin also "equivalent", "first is not worse" or "second is
        not worse"; of a contrast "above 0", "below 0" or "open". For metrics that have
        no better, "higher" and "lower" take the place of "better" and "worse".
    margins : array of shape (K,), optional
        Position of dotted lines on both sides of 0; NaN where there are none.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each metric, after :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics=["f1", "mcc"])
    >>> display = report.plot()
    >>> [ax.get_title() for ax in display.axes_]
    ['f1', 'mcc']
    >>> report.differences().plot().verdicts
    ['first is better', 'first is better']
    """

    rows: Sequence[str]
    metrics: Sequence[str]
    estimates: Array
    intervals: Array
    confidence_level: float
    individual_intervals: Array | None = None
    models: Sequence[str] | None = None
    known_models: Sequence[str] | None = None
    greater_is_better: Sequence[bool] | None = None
    reference: float | None = None
    verdicts: Sequence[str] | None = None
    margins: Array | None = None

    _place_inside: ClassVar = {"loc": "lower right", "borderaxespad": 0.2}

    @with_hints
    def plot(
        self, *, ax: Any = None, title: str | None = None, sort: bool | str = False
    ) -> Self:
        """Draw the panels; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One for each metric; a new figure is made if not given. Long names need a
            figure with ``layout="constrained"``.
        title : str, optional
            Of the figure.
        sort : bool or str, default=False
            Whether to sort the rows by their estimates, the best first: those of the
            first panel, or of the one that is named. Undefined ones come last.

        Returns
        -------
        self
            With the axes and the figure.

        Raises
        ------
        ValueError
            If the axes are not as many as the metrics, or none is to be sorted by.
        """
        self._rows = self._sorted_rows(sort)
        return super().plot(ax=ax, title=title)

    def _sorted_rows(self, sort: bool | str) -> list[str]:
        """Different rows from top to bottom."""
        rows = list(dict.fromkeys(self.rows))
        if not sort:
            return rows
        metrics = list(dict.fromkeys(self.metrics))
        metric = metrics[0] if sort is True else check_choice(sort, metrics, "sort")
        best_first = [self.rows[k] for k in self._best_first(self._rows_of(metric))]
        return [*best_first, *(row for row in rows if row not in best_first)]

    def _best_first(self, panel: Sequence[int]) -> list[int]:
        """Positions of a panel, those of undefined estimates last."""
        better = self.greater_is_better or [True] * len(self.rows)
        loss = np.where(better, -self.estimates, self.estimates)
        return sorted(panel, key=lambda k: np.nan_to_num(loss[k], nan=np.inf))

    def _handles(self) -> list[Any]:
        level = format_level(self.confidence_level)
        widths = {f"joint {level} interval": _THIN}
        widths[f"individual {level} interval"] = _THICK
        if self.individual_intervals is None:
            widths = {f"{level} interval": _THICK}
        from matplotlib.patches import Patch

        patches = [
            Patch(color=colour, label=verdict)
            for verdict, colour in VERDICT_COLOURS.items()
            if verdict in (self.verdicts or ())
        ]
        return patches + line_handles(widths)

    def _colours(self) -> list[str]:
        """Colour of each interval, shape (K,)."""
        if self.verdicts is not None:
            return [VERDICT_COLOURS[verdict] for verdict in self.verdicts]
        places = colour_places(self.models or (), self.known_models)
        if self.models is None or len(places) > len(COLOURS):
            return [COLOURS[0]] * len(self.rows)
        return [COLOURS[places[model]] for model in self.models]

    def _make_room(self, share: float) -> None:
        for ax in self.axes_:
            bottom, top = len(self._rows) - 0.5, -0.5
            ax.set_ylim(top + (bottom - top) / (1 - share), top)

    def _guides(self, panel: list[int]) -> dict[float, str]:
        """Line style of vertical lines by their position."""
        guides = {} if self.reference is None else {self.reference: "--"}
        margins = np.zeros(0) if self.margins is None else self.margins[panel]
        return guides | {s * m: ":" for m in margins.tolist() for s in (-1, 1) if m > 0}

    def _new_axes(self, panels: int) -> Any:
        rows = [wrapped(row).splitlines() for row in self._rows]
        characters = max(len(line) for row in rows for line in row)
        gap = 0.22 if len(rows) <= _SPACED_ROWS else 0.06
        gap, line = (0.02, 0.13) if len(rows) > MANY_ROWS else (gap, 0.16)
        height = 0.9 + sum(gap + line * len(row) for row in rows)
        height = min(height, _MOST_HEIGHT)
        margin = 0.4 + 0.1 * characters
        axes = new_panels(panels, panel_width(panels), height, margin, sharey=True)
        for ax in axes:
            ax.locator_params(axis="x", nbins=6)
            ax.tick_params(axis="x", labelsize="small")
        return axes

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rows, colours = self._rows, self._colours()
        panel = self._rows_of(metric)
        guides = self._guides(panel)
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        shown = [values[panel] for values in drawn if values is not None]
        edges = axis_limits(*shown, list(guides))
        for position, linestyle in guides.items():
            ax.axvline(position, color=GREY, linewidth=0.8, linestyle=linestyle)
        for k in panel:
            self._plot_row(ax, k, rows.index(self.rows[k]), colours[k], edges)
        ax.set_xlim(edges)
        labelled = rows_to_label(ax, len(rows))
        labels = [wrapped(rows[k]) for k in labelled]
        ax.set_yticks(labelled, labels, parse_math=False)
        if len(rows) > MANY_ROWS:
            ax.tick_params(axis="y", labelsize="small")
            ax.tick_params(axis="x", labeltop=True)  # the bottom may be off the screen
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _plot_row(
        self, ax: Any, k: int, y: int, colour: str, edges: tuple[float, float]
    ) -> None:
        """Draw the intervals of an estimate, which end where the axis does."""
        estimate, limits = self.estimates[k], [(_THICK, self.intervals[k])]
        if self.individual_intervals is not None:
            thick = _THICK, self.individual_intervals[k]
            limits = [(_THIN, self.intervals[k]), thick]
        style = {"color": colour, "linestyle": ":" if np.isnan(estimate) else "-"}
        style["solid_capstyle"] = "butt"
        for width, interval in limits:
            ax.plot(np.clip(interval, *edges), [y, y], linewidth=width, **style)
        for edge, limit, arrow in zip(edges, self.intervals[k], "<>", strict=True):
            if np.isinf(limit):
                ax.plot(edge, y, arrow, color=colour, clip_on=False)
        if np.isfinite(estimate):
            marker = {"markeredgecolor": colour, "markersize": _THICK}
            ax.plot(estimate, y, "o", color=ax.get_facecolor(), **marker)
