"""Plots of confidence intervals, and what all displays share.

matplotlib is imported when plotting.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array, ReadOnlyArrays
from skci._options import HintedAttributes
from skci._packages import optional_module
from skci._validation import check_choice, printable
from skci.reports.rendering import format_level

# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
GREY = "0.5"  # seen on white and on black
_MANY_ROWS = 30  # more are set closer together, in smaller type

_LEAST_LINE = 0.125  # height of a row with a label in the smallest type, in inches
_AROUND = 0.8  # height of the title and the ticks
_STEPS = (1, 5, 10, 20, 50, 100)  # rows to a label
_WIDTHS = (3.4, 3.0, 2.5)  # of one, two and three panels side by side, in inches
_MAX_LABEL, _MAX_TITLE = 36, 28  # characters to a line
_BELOW = "skci-below"  # to find a legend again
_MOST_ROOM = 0.5  # share of the height of a panel, for a legend
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
"""Colour of each verdict, in the order of the legend."""

_THIN, _THICK = 1.5, 5.0
_SPACED_ROWS = 15  # more have smaller gaps
_MOST_HEIGHT = 45.0  # in inches, in which 280 rows have a label each


class PanelDisplay(HintedAttributes, ReadOnlyArrays, ABC):
    """A figure with a panel for each metric, and one legend."""

    metrics: Sequence[str]
    n_rows: Array | None = None  # they have one more panel
    axes_: Any
    figure_: Any

    _legend_columns: ClassVar = 1
    """Columns of the legend of a single panel."""

    _place_inside: ClassVar[Mapping[str, Any]] = {}
    """Where the legend is inside a panel; by default where it hides least."""

    def _open(self, ax: Any) -> list[tuple[Any, str]]:
        """Axes, given or of a new figure, and the metric of each panel."""
        panels = list(dict.fromkeys(self.metrics))
        axes = self._new_axes(len(panels)) if ax is None else np.ravel(ax)
        most = len(panels) + (self.n_rows is not None)
        if not len(panels) <= len(axes) <= most:
            raise ValueError(
                f"ax must be one for each of {len(panels)} metrics, got {len(axes)}"
            )
        self.axes_, self.figure_ = axes, axes[0].figure
        for each, metric in zip(axes, panels, strict=False):
            # A dollar sign in a name does not start a formula.
            title = wrapped(metric, _MAX_TITLE)
            each.set_title(title, fontsize="medium", parse_math=False)
        return list(zip(axes, panels, strict=False))

    def _close(self, is_new: bool, title: str | None) -> Self:
        """Add the legend and the title, once the panels are drawn."""
        panels = len(set(self.metrics))
        columns = max(min(2 * panels - 1, 4), self._legend_columns)
        below = is_new or self._has_figure
        ax, handles = self.axes_[panels - 1], self._handles()
        legend, lines = _add_legend(ax, below, columns, handles, self._place_inside)
        if legend is ax.get_legend():
            self.figure_.draw_without_rendering()  # for the heights of the layout
            share = legend.get_window_extent().height / ax.bbox.height
            self._make_room(min(share, _MOST_ROOM))
        if is_new:
            height = self.figure_.get_figheight() + 0.2 * (lines - 1)
            self.figure_.set_figheight(height + (0.3 if title else 0.0))
        if title is not None:
            self.figure_.suptitle(title)
        return self

    @property
    def _has_figure(self) -> bool:
        """Whether the figure has no other axes and its layout makes room for a legend.

        A figure without a layout gets that of a new one.
        """
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        if {*self.figure_.axes} != {*self.axes_}:
            return False
        if self.figure_.get_layout_engine() is None:
            self.figure_.set_layout_engine("constrained")
        return isinstance(self.figure_.get_layout_engine(), ConstrainedLayoutEngine)

    def _make_room(self, share: float) -> None:
        """Leave a share of the height of the panels to a legend inside."""

    @abstractmethod
    def _new_axes(self, panels: int) -> Any:
        """Axes of a new figure."""

    @abstractmethod
    def _handles(self) -> list[Any]:
        """Entries of the legend, once the panels are drawn."""

    def _rows_of(self, metric: str) -> list[int]:
        """Positions of the entries of a panel."""
        return [k for k, name in enumerate(self.metrics) if name == metric]


def colour_places(
    models: Sequence[str], known_models: Sequence[str] | None
) -> dict[str, int]:
    """Place of the colour of each model, among those of all known ones.

    Among those drawn where there are too many others.
    """
    known = list(dict.fromkeys(known_models or models))
    if len(known) > len(COLOURS) or not {*models} <= {*known}:
        known = list(dict.fromkeys(models))
    return {model: k for k, model in enumerate(known)}


def wrapped(name: str, width: int = _MAX_LABEL) -> str:
    """Break the lines of a long name."""
    return textwrap.fill(printable(name), width) or name


def _rows_to_label(ax: Any, rows: int) -> list[int]:
    """Positions of the rows with a label, so that labels do not touch.

    All, unless there are too many for the height; then the first, fifth, tenth, ...
    """
    place = ax.get_subplotspec()
    lines = place.get_gridspec().nrows if place else 1
    height = ax.figure.get_figheight() / lines - _AROUND
    step = next(
        k for k in _STEPS if k * height >= _LEAST_LINE * rows or k == _STEPS[-1]
    )
    return [k for k in range(rows) if step == 1 or k == 0 or (k + 1) % step == 0]


def axis_limits(*values: Any) -> tuple[float, float]:
    """Limits of an axis: all finite values and a margin."""
    shown = np.concatenate([np.ravel(each) for each in values])
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    high = high if high > low else low + 1
    margin = 0.05 * (high - low)
    return float(low - margin), float(high + margin)


def new_panels(n: int, height: float, margin: float, **options: Any) -> Any:
    """Axes of a new figure, three to a line, of panels of this height in inches.

    Their width makes the text legible where the figure has the width of a column.
    """
    columns = min(n, len(_WIDTHS))
    lines = -(-n // columns)
    size = (_WIDTHS[columns - 1] * columns + margin, height * lines + 0.5)
    axes = new_axes(lines, columns, figsize=size, **options)
    for unused in axes[n:]:
        unused.remove()
    return axes[:n]


def new_axes(*grid: int, **options: Any) -> Array:
    """Axes of a new figure, in the colours of the style, or of this module."""
    plt = optional_module("matplotlib.pyplot", "plotting", "plot")
    figure, axes = plt.subplots(*grid, layout="constrained", squeeze=False, **options)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # in inches
    for ax in axes.flat:
        ax.set_prop_cycle(cycle_of_curves())
    return np.ravel(axes)


def cycle_of_curves() -> Any:
    """Colours, and what else tells curves apart, of the style or of this module."""
    from matplotlib import rcParams, rcParamsDefault
    from matplotlib.rcsetup import cycler

    cycle = rcParams["axes.prop_cycle"]
    is_default = cycle == rcParamsDefault["axes.prop_cycle"]
    return cycler(color=COLOURS) if is_default else cycle


def styled(
    default: dict[str, Any], style: Mapping[str, Any] | None, artist: Any = None
) -> dict[str, Any]:
    """Keywords of an artist, a line if it is None, with those of the user."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return default | normalize_kwargs(dict(style or {}), artist or Line2D)


def line_handles(widths: Mapping[str, float]) -> list[Any]:
    """Entries of a legend: grey lines of some widths, by label."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=GREY, linewidth=width, label=label)
        for label, width in widths.items()
    ]


def _add_legend(
    ax: Any, below: bool, columns: int, handles: Any, inside: Mapping[str, Any]
) -> tuple[Any, int]:
    """Add a legend inside given axes, or below a new figure and no wider than it.

    Returns it and the number of its lines.
    """
    for legend in [each for each in ax.figure.legends if each.get_gid() == _BELOW]:
        legend.remove()
        below = True  # the legend goes where it was
    place = dict(inside)
    if below:
        place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    legend = (ax.figure if below else ax).legend(handles=handles, **place)
    legend.set_gid(_BELOW if below else None)
    for text in legend.get_texts():
        text.set_parse_math(False)
    too_wide = legend.get_window_extent().width > ax.figure.bbox.width
    if below and columns > 1 and too_wide:
        return _add_legend(ax, below, columns - 1, handles, inside)
    return legend, -(-len(handles) // columns)


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceIntervalDisplay(PanelDisplay):
    """Intervals of several estimates, a panel for each metric.

    A thick line is the individual interval, the thin line the joint interval, the dot
    the estimate. Lines of undefined estimates are dotted; an arrow marks an infinite
    limit. The colour is that of the model, or of the verdict on a
    difference. Returned by ``JointReport.plot``, ``ContrastReport.plot`` and others.

    Parameters
    ----------
    rows, metrics : sequence of str, of length K
        Labels of the row and of the panel of each estimate.
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
        Verdict of each interval: "first is better", "second is better" or "open"; for a
        difference with a margin also "equivalent", "first is not worse" or "second is
        not worse"; for a contrast "above 0", "below 0" or "open". For metrics that have
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
            Title of the figure.
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
        for each, metric in self._open(ax):
            self._plot_panel(each, self._rows_of(metric))
        return self._close(ax is None, title)

    def _sorted_rows(self, sort: bool | str) -> list[str]:
        """Different rows from top to bottom."""
        rows = list(dict.fromkeys(self.rows))
        if not sort:
            return rows
        metrics = list(dict.fromkeys(self.metrics))
        metric = metrics[0] if sort is True else check_choice(sort, metrics, "sort")
        better = self.greater_is_better or [True] * len(self.rows)
        loss = np.where(better, -self.estimates, self.estimates)
        order = np.argsort(np.nan_to_num(loss, nan=np.inf), kind="stable").tolist()
        best_first = [self.rows[k] for k in order if self.metrics[k] == metric]
        return [*best_first, *(row for row in rows if row not in best_first)]

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
        gap, line = (0.02, 0.13) if len(rows) > _MANY_ROWS else (gap, 0.16)
        height = 0.9 + sum(gap + line * len(row) for row in rows)
        height = min(height, _MOST_HEIGHT)
        margin = 0.4 + 0.1 * characters
        axes = new_panels(panels, height, margin, sharey=True)
        for ax in axes:
            ax.locator_params(axis="x", nbins=6)
            ax.tick_params(axis="x", labelsize="small")
        return axes

    def _plot_panel(self, ax: Any, panel: list[int]) -> None:
        rows, colours = self._rows, self._colours()
        guides = self._guides(panel)
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        shown = [values[panel] for values in drawn if values is not None]
        edges = axis_limits(*shown, list(guides))
        for position, linestyle in guides.items():
            ax.axvline(position, color=GREY, linewidth=0.8, linestyle=linestyle)
        for k in panel:
            self._plot_row(ax, k, rows.index(self.rows[k]), colours[k], edges)
        ax.set_xlim(edges)
        labelled = _rows_to_label(ax, len(rows))
        labels = [wrapped(rows[k]) for k in labelled]
        ax.set_yticks(labelled, labels, parse_math=False)
        if len(rows) > _MANY_ROWS:
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
