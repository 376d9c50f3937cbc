"""Plots of confidence intervals, and of curves with confidence bands.

matplotlib is imported when plotting.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.special import ndtri

from skci._arrays import Array, ReadOnlyArrays
from skci._options import HintedAttributes
from skci._packages import optional_module
from skci._validation import check_choice, check_names, join_names, printable
from skci.reports.rendering import format_level, shorten

# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
GREY = "0.5"  # seen on white and on black
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
    "may be best": _BLUE,
    "worse than another": _GREY,
}
"""Colour of each verdict, in the order of the legend."""

_WIDTHS = (3.4, 3.0, 2.5)  # of one, two and three panels side by side, in inches
_MAX_LABEL, _MAX_TITLE = 36, 28  # characters to a line
_MAX_CURVE = 24  # characters of a label beside a curve
_BELOW = "skci-below"  # to find a legend again
_MOST_ROOM = 0.5  # share of the height of a panel, for a legend

_MANY_ROWS = 30  # more are set closer together, in smaller type
_SPACED_ROWS = 15  # more have smaller gaps
_MOST_HEIGHT = 45.0  # in inches, in which 280 rows have a label each
_LEAST_LINE = 0.125  # height of a row with a label in the smallest type, in inches
_AROUND = 0.8  # height of the title and the ticks
_STEPS_OF_LABELS = (1, 5, 10, 20, 50, 100)  # rows to a label
_THIN, _THICK = 1.5, 5.0  # widths of joint and individual intervals in rows
_BAR, _THICK_BAR = 1.2, 3.0  # and beside a curve
_THIN_LIMIT = 0.7  # width of a line of limits
_MOST_BARS = 8  # positions at which several models have bars and no bands
_SHADE, _LIGHT_SHADE = 0.18, 0.07  # opacity of a band, and of one among several
_STEPS = 400  # of an outline
_HEADROOM = 1.15  # over the greatest number of rows in its panel
QUANTILES = 3.3
"""Greatest normal quantile that is drawn."""
_RATES = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
_CORNERS = np.array([[0.0, 0.0], [1.0, 1.0]])
_REFERENCE = "skci-diagonal"  # to find lines again
_LABELLED, _OTHER = "skci-labelled", "skci-other"
_IN_COLOUR = len(COLOURS) - 1  # curves besides grey ones
_BASELINES = ("baseline", "control", "treat all")  # names, in lower case
_LINE_OF_TEXT = 0.16  # in inches


@dataclass(kw_only=True, eq=False, repr=False)
class Display(HintedAttributes, ReadOnlyArrays, ABC):
    """A figure with a panel for each metric, and one legend."""

    metrics: Sequence[str]
    intervals: Array
    confidence_level: float
    individual_intervals: Array | None = None
    known_models: Sequence[str] | None = None

    n_rows: ClassVar[Array | None] = None  # they have one more panel
    axes_: ClassVar[Any]
    figure_: ClassVar[Any]

    _legend_columns: ClassVar = 1
    """Columns of the legend of a single panel."""
    _is_rows: ClassVar = False
    """Whether rows of intervals are drawn, of which the legend hides none."""

    @abstractmethod
    def _new_axes(self, panels: int) -> Array:
        """Axes of a new figure."""

    @abstractmethod
    def _draw(self, ax: Any, panel: list[int]) -> None:
        """Draw the entries of a panel."""

    @abstractmethod
    def _handles(self) -> list[Any]:
        """Entries of the legend, once the panels are drawn."""

    def _plot(self, ax: Any, title: str | None) -> Self:
        """Draw the panels, the legend and the title."""
        panels = list(dict.fromkeys(self.metrics))
        axes = self._new_axes(len(panels)) if ax is None else np.ravel(ax)
        most = len(panels) + (self.n_rows is not None)
        if not len(panels) <= len(axes) <= most:
            raise ValueError(
                f"ax must be one for each of {len(panels)} metrics, got {len(axes)}"
            )
        vars(self).update(axes_=axes, figure_=axes[0].figure)
        for each, metric in zip(axes, panels, strict=False):
            # A dollar sign in a name does not start a formula.
            text = wrapped(metric, _MAX_TITLE)
            each.set_title(text, fontsize="medium", parse_math=False)
            self._draw(each, [k for k, x in enumerate(self.metrics) if x == metric])
        if ax is None and title:
            self.figure_.set_figheight(self.figure_.get_figheight() + 0.3)
        self._add_legend(len(panels), is_new=ax is None)
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _add_legend(self, panels: int, *, is_new: bool) -> None:
        """Add a legend below the panels and no wider than the figure, or inside.

        It is inside one of the given axes of a figure with others, or with a layout
        that makes no room for it. A figure without a layout gets that of a new one.
        """
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        figure, ax, handles = self.figure_, self.axes_[panels - 1], self._handles()
        below = is_new
        if not is_new and {*figure.axes} == {*self.axes_}:
            if figure.get_layout_engine() is None:
                figure.set_layout_engine("constrained")
            below = isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
        for legend in [each for each in figure.legends if each.get_gid() == _BELOW]:
            legend.remove()
            below = True  # the legend goes where it was
        columns = max(min(2 * panels - 1, 4), self._legend_columns)
        while below:
            place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
            legend = figure.legend(handles=handles, **place)
            if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
                legend.set_gid(_BELOW)
                break
            legend.remove()
            columns -= 1
        if not below:
            corner = "lower right" if self._is_rows else "best"
            legend = ax.legend(handles=handles, loc=corner, borderaxespad=0.2)
        for text in legend.get_texts():
            text.set_parse_math(False)
        if is_new:
            height = legend.get_window_extent().height / figure.dpi
            figure.set_figheight(figure.get_figheight() + max(height - 0.3, 0))
        elif self._is_rows and not below:
            figure.draw_without_rendering()  # for the heights of the layout
            share = legend.get_window_extent().height / ax.bbox.height
            for each in self.axes_:
                bottom, top = each.get_ylim()
                room = (bottom - top) / (1 - min(share, _MOST_ROOM))
                each.set_ylim(top + room, top)


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


def axis_limits(*values: Any) -> tuple[float, float]:
    """Limits of an axis: all finite values and a margin."""
    shown = np.concatenate([np.ravel(each) for each in values])
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    high = high if high > low else low + 1
    margin = 0.05 * (high - low)
    return float(low - margin), float(high + margin)


def new_panels(n: int, height: float, margin: float, **options: Any) -> Array:
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


def line_handles(widths: Mapping[str, float]) -> list[Any]:
    """Entries of a legend: grey lines of some widths, by label."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=GREY, linewidth=width, label=label)
        for label, width in widths.items()
    ]


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceIntervalDisplay(Display):
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
    are_ranks : bool, default=False
        Whether the estimates are ranks, whole numbers from 1.

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
    estimates: Array
    models: Sequence[str] | None = None
    greater_is_better: Sequence[bool] | None = None
    reference: float | None = None
    verdicts: Sequence[str] | None = None
    margins: Array | None = None
    are_ranks: bool = False

    _is_rows: ClassVar = True

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
        self._rows = self._best_first(sort) if sort else [*dict.fromkeys(self.rows)]
        return self._plot(ax, title)

    def _best_first(self, sort: bool | str = True) -> list[str]:
        """Different rows, the best estimate on a metric first."""
        metrics = list(dict.fromkeys(self.metrics))
        metric = metrics[0] if sort is True else check_choice(sort, metrics, "sort")
        better = self.greater_is_better or [True] * len(self.rows)
        loss = np.where(better, -self.estimates, self.estimates)
        order = np.argsort(np.nan_to_num(loss, nan=np.inf), kind="stable").tolist()
        best_first = [self.rows[k] for k in order if self.metrics[k] == metric]
        return [*dict.fromkeys([*best_first, *self.rows])]

    def _handles(self) -> list[Any]:
        from matplotlib.patches import Patch

        level = format_level(self.confidence_level)
        widths = {f"joint {level} interval": _THIN}
        widths[f"individual {level} interval"] = _THICK
        if self.individual_intervals is None:
            widths = {f"{level} interval": _THICK}
        patches = [
            Patch(color=colour, label=verdict)
            for verdict, colour in VERDICT_COLOURS.items()
            if verdict in (self.verdicts or ())
        ]
        return patches + line_handles(widths)

    def _row_labels(self) -> list[str]:
        """Labels of the rows, of which many have a line each."""
        if len(self._rows) > _MANY_ROWS:
            return shorten([*map(printable, self._rows)], _MAX_LABEL)
        return [*map(wrapped, self._rows)]

    def _colours(self) -> list[str]:
        """Colour of each interval, shape (K,)."""
        if self.verdicts is not None:
            return [VERDICT_COLOURS[verdict] for verdict in self.verdicts]
        places = colour_places(self.models or (), self.known_models)
        if self.models is None or len(places) > len(COLOURS):
            return [COLOURS[0]] * len(self.rows)
        return [COLOURS[places[model]] for model in self.models]

    def _new_axes(self, panels: int) -> Array:
        rows = [label.splitlines() for label in self._row_labels()]
        characters = max(len(line) for row in rows for line in row)
        gap = 0.22 if len(rows) <= _SPACED_ROWS else 0.06
        gap, line = (0.02, 0.13) if len(rows) > _MANY_ROWS else (gap, 0.16)
        height = 0.9 + sum(gap + line * len(row) for row in rows)
        size = min(height, _MOST_HEIGHT), 0.4 + 0.1 * characters
        axes = new_panels(panels, *size, sharey=True)
        for ax in axes:
            ax.locator_params(axis="x", nbins=6)
            ax.tick_params(axis="x", labelsize="small")
        return axes

    def _draw(self, ax: Any, panel: list[int]) -> None:
        rows, colours = self._rows, self._colours()
        guides = {} if self.reference is None else {self.reference: "--"}
        margins = np.zeros(0) if self.margins is None else self.margins[panel]
        guides |= {s * m: ":" for m in margins.tolist() for s in (-1, 1) if m > 0}
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        shown = [values[panel] for values in drawn if values is not None]
        edges = axis_limits(*shown, list(guides))
        for position, linestyle in guides.items():
            ax.axvline(position, color=GREY, linewidth=0.8, linestyle=linestyle)
        for k in panel:
            self._draw_row(ax, k, rows.index(self.rows[k]), colours[k], edges)
        place = ax.get_subplotspec()
        lines = place.get_gridspec().nrows if place else 1
        height = ax.figure.get_figheight() / lines - _AROUND
        most = max(height, 0) / _LEAST_LINE  # labels that do not touch
        step = next((k for k in _STEPS_OF_LABELS if k * most >= len(rows)), 100)
        labelled = [k for k in range(len(rows)) if k == 0 or (k + 1) % step == 0]
        labels = self._row_labels()
        ax.set_yticks(labelled, [labels[k] for k in labelled], parse_math=False)
        if len(rows) > _MANY_ROWS:
            ax.tick_params(axis="y", labelsize="small")
            ax.tick_params(axis="x", labeltop=True)  # the bottom may be off the screen
        ax.set(xlim=edges, ylim=(len(rows) - 0.5, -0.5))
        if self.are_ranks:
            ax.locator_params(axis="x", nbins="auto", integer=True)
            ticks = np.unique(np.maximum(ax.get_xticks(), 1))  # there is no rank 0
            ax.set_xticks(ticks[ticks <= edges[1]])
            ax.set_xlim(edges)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _draw_row(
        self, ax: Any, k: int, y: int, colour: str, edges: tuple[float, float]
    ) -> None:
        """Draw the intervals of an estimate, which end where the axis does."""
        estimate, limits = self.estimates[k], [(_THICK, self.intervals[k])]
        if self.individual_intervals is not None:
            thick = _THICK, self.individual_intervals[k]
            limits = [(_THIN, self.intervals[k]), thick]
        style = {"color": colour, "linestyle": ":" if np.isnan(estimate) else "-"}
        for width, interval in limits:
            line = {"linewidth": width, "solid_capstyle": "butt"}
            ax.plot(np.clip(interval, *edges), [y, y], **line, **style)
        for edge, limit, arrow in zip(edges, self.intervals[k], "<>", strict=True):
            if np.isinf(limit):
                ax.plot(edge, y, arrow, color=colour, clip_on=False)
        if np.isfinite(estimate):
            marker = {"markeredgecolor": colour, "markersize": _THICK}
            ax.plot(estimate, y, "o", color=ax.get_facecolor(), **marker)


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceBandDisplay(Display):
    """Curves of one or more models with their confidence bands.

    Dots are the estimates. The shaded band is the union of the convex hulls of
    neighbouring rectangles, the two intervals at a point: if all cover, it contains the
    lines between true points. Where the horizontal position is known the rectangle is a
    vertical line, which is drawn. The bands of several models are lighter and have
    outlines. Several models at few known positions, such as the sizes of a learning
    curve, have bars side by side in place of bands. Returned by the ``plot`` of a
    report of curves or thresholds, ``CalibrationReport.plot`` and
    ``LearningCurveReport.plot``.

    Parameters
    ----------
    models, metrics : sequence of str, of length K
        Labels of each point: of its curve, and of its panel. Either may be empty.
    points : array of shape (K, 2)
        Horizontal and vertical position, in the order of the curve.
    intervals : array of shape (K, 2)
        Lower and upper limit of the vertical position.
    axis_labels : (str, str)
        Of the horizontal axis and of the vertical one.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether all intervals cover at once.
    horizontal_intervals : array of shape (K, 2), optional
        Limits of the horizontal position; without them it is known.
    individual_intervals : array of shape (K, 2), optional
        Individual intervals of the vertical position beside joint ones: thin lines of
        a single model, and the thick part of bars.
    unit_square : bool, default=True
        Whether both axes show probabilities, at the same scale.
    normal_quantiles : bool, default=False
        Whether both axes show normal quantiles of rates, of which the ticks name the
        rates, as those of detection error tradeoffs.
    diagonal : str, optional
        Label of the diagonal, such as "chance"; without one it is not drawn.
    baseline : str, optional
        Label of a horizontal line at 0, such as "treat none".
    floor : float, optional
        Least value that the vertical axis shows; all if not given.
    joins_corners : bool, default=False
        Whether every curve begins and ends in the corners that the diagonal joins.
    n_rows : array of shape (K,), optional
        Number of rows at each point, drawn in a panel below.
    known_models : sequence of str, optional
        Models in the order of their colours; those drawn if not given.
    leaders : sequence of str, default=()
        Models that may be the best, the best estimate first. Their curves are in colour
        where there are more curves than colours.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each metric, after :meth:`plot`; and one for the number of rows.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The curve of each model, by panel.
    bands_ : list of matplotlib PathPatch
        Empty where there are bars.
    chance_level_ : matplotlib Line2D or None
        The diagonal, or the baseline.
    highlighted_ : list of str
        Models whose curves are in colour.
    drawn_ : str
        Sentence that names them and counts the grey curves; empty without any.

    Examples
    --------
    >>> from skci import roc_report
    >>> report = roc_report([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> (ax,) = report.plot().axes_
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('false positive rate', 'recall')
    """

    models: Sequence[str]
    points: Array
    axis_labels: tuple[str, str]
    simultaneous: bool = True
    horizontal_intervals: Array | None = None
    unit_square: bool = True
    normal_quantiles: bool = False
    diagonal: str | None = None
    baseline: str | None = None
    floor: float | None = None
    joins_corners: bool = False
    n_rows: Array | None = None  # type: ignore[misc]
    leaders: Sequence[str] = ()

    _legend_columns: ClassVar = 3

    def plot(
        self,
        *,
        ax: Any = None,
        title: str | None = None,
        name: str | None = None,
        highlight: str | Sequence[str] | None = None,
    ) -> Self:
        """Draw the curves and the bands; matplotlib is needed.

        With more than seven curves, at most six are in colour and have labels beside
        them; the others are grey and have no band. ``drawn_`` names those in colour.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One for each metric, and one more for the number of rows, which is else left
            out; a new figure is made if not given. Models have their colours in empty
            axes; to those that have curves others are added, in the next colours, and
            the diagonal is drawn once.
        title : str, optional
            Title of the figure.
        name : str, optional
            Label of the curve of a model without a name.
        highlight : str or sequence of str, optional
            Models whose curves are in colour, at most six. By default all models, up to
            seven. With more models, the default is those that may be the best, by the
            mean over all points of the curve, the best estimates first; and a model
            named "baseline" or "control".

        Returns
        -------
        self
            With the axes, the figure and what was drawn, whose style can be changed.

        Raises
        ------
        KeyError, ValueError
            If the axes are not as many as the metrics, or the highlighted models are
            too many or not drawn.
        """
        self._name = name or "estimate"
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.chance_level_ = None
        self.highlighted_ = self._in_colour(highlight)
        self._plot(ax, title)
        labelled = [line for line in self.lines_ if line.get_gid() == _LABELLED]
        last = {line.get_label(): line for line in labelled}  # in the last panel
        if last and ax is None and not self.joins_corners:
            width = 0.3 + 0.08 * max(map(len, last))
            self.figure_.set_figwidth(self.figure_.get_figwidth() + width)
        for each in self.axes_:
            self._label(each, [line for line in last.values() if line.axes is each])
        return self

    def _in_colour(self, highlight: str | Sequence[str] | None) -> list[str]:
        """Models whose curves are in colour."""
        models, styles = list(dict.fromkeys(self.models)), list(cycle_of_curves())
        most = min(_IN_COLOUR, len(styles))
        if highlight is None:
            if len(models) <= min(len(COLOURS), len(styles)):
                return models
            baselines = [each for each in models if each.lower() in _BASELINES][:most]
            leaders = self.leaders[: most - len(baselines)]
            return list(dict.fromkeys([*leaders, *baselines]))
        names = list(dict.fromkeys(check_names(highlight, models, "highlight")))
        if len(names) > most:
            raise ValueError(f"highlight must be at most {most} models, got {names}")
        return names

    @property
    def drawn_(self) -> str:
        """Sentence on the curves in colour and in grey."""
        if not self._has_others:
            return ""
        others = _others(len({*self.models}) - len(self.highlighted_))
        coloured = join_names(self.highlighted_ or ["none"])
        return f"In colour: {coloured}; in grey: {others}."

    def _new_axes(self, panels: int) -> Array:
        if not self.unit_square:
            return new_panels(panels, 3.0, 0.2, sharex=True)
        if self.n_rows is None:
            return new_axes(1, 1, figsize=(4.4, 4.8))
        return new_axes(2, 1, figsize=(4.4, 5.9), height_ratios=[5, 1])

    def _draw(self, ax: Any, panel: list[int]) -> None:
        models = list(dict.fromkeys(self.models))
        if not ax.has_data():
            self._set_colours(ax)
        drawn = [self.points[:, 1], self.intervals, self.individual_intervals]
        floor = -np.inf if self.floor is None else self.floor
        limits = axis_limits(
            *(np.maximum(x[panel], floor) for x in drawn if x is not None)
        )
        longest = _MAX_CURVE if self._has_others else 2 * _MAX_LABEL
        labels = dict(zip(models, shorten(models, longest), strict=True))
        for model in models:
            curve = [k for k in panel if self.models[k] == model]
            if not self.unit_square:
                curve.sort(key=lambda k: self.points[k, 0])
            if not curve:
                continue
            is_other = model not in self.highlighted_
            points = self.points[curve] if is_other else self._shifted(curve, model)
            label = wrapped(labels[model] or self._name)
            line = self._draw_line(ax, points, label, is_other)
            self.lines_.append(line)
            if is_other:
                continue
            if not self._bars:
                self._draw_band(ax, curve, limits, line.get_color())
                continue
            for width, of_all in zip((_BAR, _THICK_BAR), drawn[1:], strict=True):
                if of_all is not None:  # thick where they are individual
                    ends = np.clip(of_all[curve], *limits).T
                    bars = {"color": line.get_color(), "linewidth": width}
                    ax.vlines(points[:, 0], *ends, **bars)
        if self.diagonal or self.baseline:
            self.chance_level_ = self._draw_reference(ax)
        across, up = self.axis_labels
        ax.set(xlabel=across, ylabel=up, ylim=limits)
        if self.unit_square:
            edges, ticks = (-0.03, 1.03), np.linspace(0, 1, 6)
            if self.normal_quantiles:
                edges, ticks = (-QUANTILES, QUANTILES), ndtri(_RATES)
            ax.set(xlim=edges, xticks=ticks, ylim=edges, yticks=ticks, aspect="equal")
            if self.normal_quantiles:
                names = [f"{rate:g}" for rate in _RATES]
                ax.set(xticklabels=names, yticklabels=names)
                ax.tick_params(axis="x", rotation=45)
        ax.tick_params(labelbottom=True)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if self.n_rows is not None and len(self.axes_) > 1:
            self._draw_rows(self.axes_[1], self.n_rows)

    def _label(self, ax: Any, lines: Sequence[Any]) -> None:
        """Label the lines in colour, in the order of their heights.

        The labels are at the right, joined to the ends of the curves; below the
        diagonal, joined to the corners of the curves, where all end in one point.
        """
        anchors = []
        for across, up in (line.get_xydata().T for line in lines):
            gain = -np.abs(across + up - 1) if self.joins_corners else across
            seen = np.isfinite(gain) & (up >= ax.get_ylim()[0])
            nearest = np.argmax(np.where(seen, gain, -np.inf))
            anchors.append((across[nearest], up[nearest]))
        places = (ax.transData - ax.transAxes).transform(np.reshape(anchors, (-1, 2)))
        order = np.argsort(-places[:, 1], kind="stable")
        steps = np.arange(len(order)) * _LINE_OF_TEXT * ax.figure.dpi / ax.bbox.height
        at, heights = (0.55, 0.45) if self.joins_corners else (1.04, places[order, 1])
        heights = np.minimum.accumulate(heights + steps) - steps  # none on another
        heights = np.maximum(heights, steps[::-1])
        style: Any = {
            "textcoords": "axes fraction",
            "fontsize": "small",
            "va": "center",
        }
        style |= {"parse_math": False, "annotation_clip": False}
        for k, height in zip(order, heights, strict=True):
            leader = {"arrowstyle": "-", "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}
            leader["color"] = lines[k].get_color()
            text, end = lines[k].get_label(), (at, height)
            ax.annotate(text, anchors[k], end, arrowprops=leader, **style)

    def _set_colours(self, ax: Any) -> None:
        """Make the first colours of axes those of the models, in the order drawn."""
        styles, models = list(cycle_of_curves()), dict.fromkeys(self.models)
        known = self.highlighted_ if self._has_others else self.known_models
        places = colour_places(self.highlighted_, known)
        drawn = [places[model] for model in models if model in self.highlighted_]
        if max(drawn, default=0) < len(styles):
            first = [styles[k] for k in drawn]
            styles = first + [style for style in styles if style not in first]
        ax.set_prop_cycle(**{k: [style[k] for style in styles] for k in styles[0]})

    @property
    def _has_others(self) -> bool:
        """Whether there are curves that are grey."""
        return len({*self.models}) > len(self.highlighted_)

    @property
    def _several(self) -> bool:
        """Whether there are curves of several models."""
        return len(set(self.models)) > 1

    @property
    def _bars(self) -> bool:
        """Whether bars are drawn in place of bands."""
        few = len(np.unique(self.points[:, 0])) <= _MOST_BARS
        return self._several and few and not self.unit_square

    def _shifted(self, curve: list[int], model: str) -> Array:
        """Points of a model, with its bars beside those of the others."""
        points = self.points[curve]
        if not self._bars:
            return points
        positions, n = np.unique(self.points[:, 0]), len(self.highlighted_)
        place = self.highlighted_.index(model)
        extent = np.ptp(positions)
        gap = min(np.diff(positions).min(), extent / 8) if extent else 1.0
        shift = (place - (n - 1) / 2) * min(0.6 * gap / n, 0.2 * gap)
        return points + np.array([shift, 0.0])

    def _draw_line(self, ax: Any, points: Array, label: str, is_other: bool) -> Any:
        """Draw the points of a model, and its line, perhaps from corner to corner.

        Others are thin grey lines below, which take no colour of the axes.
        """
        marked = [*range(len(points))]
        if self.joins_corners:  # which have no marks, for they are known
            points = np.concatenate([_CORNERS[1:], points, _CORNERS[:1]])
            marked = [k + 1 for k in marked]
        style: dict[str, Any] = {"linewidth": _THIN_LIMIT} if self._bars else {}
        style |= {"markersize": 4, "markerfacecolor": ax.get_facecolor()}
        style |= {"markevery": marked, "label": label, "marker": "o"}
        style["gid"] = _LABELLED if self._has_others else None
        if is_other:
            style = {"color": GREY, "alpha": 0.5, "linewidth": _THIN_LIMIT}
            style |= {"linestyle": "-", "zorder": 1.7, "gid": _OTHER, "label": "_other"}
        (line,) = ax.plot(*points.T, **style)
        return line

    def _draw_band(
        self, ax: Any, curve: list[int], edges: tuple[float, float], colour: str
    ) -> None:
        """Draw the union of hulls as one path without seams, and lines of limits.

        Limits end where the axis does.
        """
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        across, up = self.points[curve, :1], np.clip(self.intervals[curve], *edges)
        thin = {"color": colour, "linewidth": _THIN_LIMIT}
        if self.horizontal_intervals is None:
            if not self._several:
                ax.vlines(across, *up.T, alpha=0.5, **thin)
            across = np.repeat(across, 2, axis=1)
        else:
            across = self.horizontal_intervals[curve]
        boxes = np.stack([across[:, [0, 1, 1, 0]], up[:, [0, 0, 1, 1]]], axis=2)
        chain = [*boxes]
        if self.joins_corners:
            chain = [_CORNERS[1:], *chain, _CORNERS[:1]]
        pairs = zip(chain, [*chain[1:], chain[-1]], strict=True)
        hulls = [_hull(np.concatenate(pair)) for pair in pairs]
        paths = [Path(hull, closed=True) for hull in hulls if len(hull)]
        shade = _LIGHT_SHADE if self._several else _SHADE
        style = {"facecolor": colour, "alpha": shade, "linewidth": 0}
        band = PathPatch(Path.make_compound_path(*paths), **style)
        self.bands_.append(ax.add_patch(band))
        if self._several:
            ax.plot(*_outline(hulls), alpha=0.8, **thin)
        elif self.individual_intervals is not None:
            limits = np.clip(self.individual_intervals[curve], *edges)
            ax.plot(self.points[curve, 0], limits, **thin)

    def _draw_reference(self, ax: Any) -> Any:
        """Draw the diagonal or the baseline, unless the axes have it."""
        drawn = [line for line in ax.lines if line.get_gid() == _REFERENCE]
        if drawn:
            return drawn[0]
        style = {"color": ax.xaxis.label.get_color(), "linestyle": "--"}
        style |= {"label": self.diagonal or self.baseline, "gid": _REFERENCE}
        style |= {"alpha": 0.7, "linewidth": 0.8, "zorder": 1.8}
        if self.baseline:
            return ax.axhline(0.0, **style)
        return ax.plot(*_CORNERS.T, **style)[0]

    def _draw_rows(self, ax: Any, n_rows: Array) -> None:
        """Draw the number of rows at each point."""
        for model, line in zip(dict.fromkeys(self.models), self.lines_, strict=True):
            curve = [k for k, name in enumerate(self.models) if name == model]
            style = {"color": line.get_color(), "linewidth": 0.8, "markersize": 3}
            ax.plot(self.points[curve, 0], n_rows[curve], "o-", **style)
        ax.set(xlim=self.axes_[0].get_xlim(), ylabel="rows")
        ax.set_ylim(0, _HEADROOM * n_rows.max())
        ax.spines[["top", "right"]].set_visible(False)

    def _handles(self) -> list[Any]:
        """Entries of all curves on the axes, and of their bands."""
        from matplotlib.patches import Patch

        lines = self.axes_[0].get_legend_handles_labels()[0]
        diagonal = [line for line in lines if line.get_gid() == _REFERENCE]
        others = _REFERENCE, _LABELLED
        curves = [line for line in lines if line.get_gid() not in others]
        n_others = sum(line.get_gid() == _OTHER for line in self.axes_[0].lines)
        grey = self.axes_[0].xaxis.label.get_color()
        colour = curves[0].get_color() if len(curves) == 1 else grey
        level = format_level(self.confidence_level, self.simultaneous)
        band = Patch(facecolor=colour, alpha=_SHADE, label=f"{level} band")
        bars = line_handles({f"{level} intervals": _BAR})
        handles = [*curves, *(bars if self._bars else [band])]
        if self.individual_intervals is not None and (self._bars or not self._several):
            label = f"{format_level(self.confidence_level, False)} intervals"
            handles += line_handles({label: _THICK_BAR if self._bars else _THIN_LIMIT})
        if n_others:
            handles += line_handles({_others(n_others): _THIN_LIMIT})
        return handles + diagonal


def _others(number: int) -> str:
    return f"{number} other model{'s' * (number > 1)}"


def _outline(hulls: list[Array]) -> tuple[Array, Array]:
    """Lower and upper edge of the union of closed convex polygons, shape (P, 2).

    With the horizontal positions, shape (P,).
    """
    sides = [np.stack([hull[:-1], hull[1:]], axis=1) for hull in hulls if len(hull)]
    edges = np.concatenate([np.zeros((0, 2, 2)), *sides])
    edges = edges[edges[:, 0, 0] != edges[:, 1, 0]]
    ends = edges[:, :, 0]
    if not len(edges):
        return np.zeros(0), np.zeros((0, 2))
    across = np.unique([*np.linspace(ends.min(), ends.max(), _STEPS), *ends.ravel()])
    share = (across[:, np.newaxis] - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    heights = edges[:, 0, 1] + share * (edges[:, 1, 1] - edges[:, 0, 1])
    crossed = (share >= 0) & (share <= 1)
    low = np.where(crossed, heights, np.inf).min(axis=1)
    high = np.where(crossed, heights, -np.inf).max(axis=1)
    limits = np.stack([low, high], axis=1)
    return across, np.where(np.isfinite(limits), limits, np.nan)


def _hull(points: Array) -> Array:
    """Convex hull, counterclockwise and closed; empty if it has no area."""
    try:
        corners = ConvexHull(points).vertices
    except QhullError:
        return points[:0]
    return points[[*corners, corners[0]]]
