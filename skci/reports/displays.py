"""Plots of confidence intervals, and of curves with confidence bands.

matplotlib is imported only when plotting.
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

# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
GREY = "0.5"  # visible on white and on black
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

_WIDTHS = (3.4, 3.0, 2.5)  # inches per panel, with one, two and three in a line
_MAX_LABEL, _MAX_TITLE = 36, 28  # characters per line
_MAX_CURVE = 24  # characters of a label next to a curve
_BELOW = "skci-below"  # identifier of a legend below the panels
_MAX_ROOM = 0.5  # largest share of the height of a panel for a legend

_MANY_ROWS = 30  # more rows are closer together, in a smaller font
_SPACED_ROWS = 15  # more rows have smaller gaps
_MAX_HEIGHT = 45.0  # inches, enough to label each of 280 rows
_THIN, _THICK = 1.5, 5.0  # widths of joint and individual intervals in rows
_THIN_LIMIT = 0.7  # width of a line of limits
_SHADE, _LIGHT_SHADE = 0.18, 0.07  # opacity of a single band, and with several bands
_STEPS = 400  # points of an outline
_HEADROOM = 1.15  # height of the panel of rows, relative to the largest number
QUANTILES = 3.3
"""Largest normal quantile that is drawn."""
_RATES = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
_CORNERS = np.array([[0.0, 0.0], [1.0, 1.0]])
_REFERENCE = "skci-diagonal"  # identifiers of lines
_LABELLED = "skci-labelled"
_IN_COLOUR = len(COLOURS) - 1  # number of coloured curves among grey curves
_BASELINES = ("baseline", "control", "treat all")  # names in lower case
_TEXT_HEIGHT = 0.16  # inches per line


@dataclass(kw_only=True, eq=False, repr=False)
class Display(HintedAttributes, ReadOnlyArrays, ABC):
    """A matplotlib figure with one panel per metric and one legend."""

    metrics: Sequence[str]
    intervals: Array
    confidence_level: float
    known_models: Sequence[str] | None = None

    axes_: ClassVar[Any]
    figure_: ClassVar[Any]

    _other_attributes: ClassVar = {
        "figure_, as in .figure_.savefig(...)": "fig figure savefig",
        "axes_": "ax axes",
    }
    _is_rows: ClassVar = False
    """Whether the display draws rows of intervals, which the legend must not hide."""

    @abstractmethod
    def _new_axes(self, panels: int) -> Array:
        """Return axes of a new figure."""

    @abstractmethod
    def _draw(self, ax: Any, panel: list[int]) -> None:
        """Draw one panel.

        `panel` contains the positions of the estimates in the panel.
        """

    @abstractmethod
    def _handles(self) -> list[Any]:
        """Return the legend entries.

        All panels must have been drawn.
        """

    def _plot(self, ax: Any, title: str | None, further_panels: int = 0) -> Self:
        """Draw the panels, the legend and the title."""
        panels = list(dict.fromkeys(self.metrics))
        axes = self._new_axes(len(panels)) if ax is None else np.ravel(ax)
        if not len(panels) <= len(axes) <= len(panels) + further_panels:
            raise ValueError(
                f"ax must have axes for each of {len(panels)} metrics, got {len(axes)}"
            )
        vars(self).update(axes_=axes, figure_=axes[0].figure)
        for metric_ax, metric in zip(axes, panels, strict=False):
            # A dollar sign in a name does not start a formula.
            text = wrapped(metric, _MAX_TITLE)
            metric_ax.set_title(text, fontsize="medium", parse_math=False)
            panel = [k for k, x in enumerate(self.metrics) if x == metric]
            self._draw(metric_ax, panel)
        if ax is None and title:
            self.figure_.set_figheight(self.figure_.get_figheight() + 0.3)
        self._add_legend(len(panels), is_new=ax is None)
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _add_legend(self, panels: int, *, is_new: bool) -> None:
        """Add a legend below the panels or inside the axes.

        In a new figure, the legend is below the panels and no wider than the figure. In
        an existing figure, the legend is inside the axes in two cases: the figure has
        other axes, or the layout of the figure is not "constrained". A figure without a
        layout gets the constrained layout.
        """
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        figure, ax, handles = self.figure_, self.axes_[panels - 1], self._handles()
        below = is_new
        if not is_new and {*figure.axes} == {*self.axes_}:
            if figure.get_layout_engine() is None:
                figure.set_layout_engine("constrained")
            below = isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
        for legend in [x for x in figure.legends if x.get_gid() == _BELOW]:
            legend.remove()
            below = True  # replace the legend at the same location
        columns = min(2 * panels - 1, 4) if self._is_rows else 3
        while below:
            location = {
                "loc": "outside lower center",
                "ncols": columns,
                "frameon": False,
            }
            legend = figure.legend(handles=handles, **location)
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
            figure.draw_without_rendering()  # determines the heights of the layout
            share = legend.get_window_extent().height / ax.bbox.height
            for metric_ax in self.axes_:
                bottom, top = metric_ax.get_ylim()
                room = (bottom - top) / (1 - min(share, _MAX_ROOM))
                metric_ax.set_ylim(top + room, top)


def colour_indices(
    models: Sequence[str], known_models: Sequence[str] | None
) -> dict[str, int]:
    """Return the colour index of each model.

    A model has the same colour in all figures of a report, unless the report has more
    models than colours.
    """
    coloured = list(dict.fromkeys(known_models or models))
    if len(coloured) > len(COLOURS) or not {*models} <= {*coloured}:
        coloured = list(dict.fromkeys(models))
    return {model: k for k, model in enumerate(coloured)}


def wrapped(name: str, width: int = _MAX_LABEL) -> str:
    """Wrap a long name over several lines."""
    return textwrap.fill(printable(name), width) or name


def axis_limits(*values: Any) -> tuple[float, float]:
    """Return axis limits that include all finite values, with a margin."""
    shown = np.concatenate([np.ravel(array) for array in values])
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    high = high if high > low else low + 1
    margin = 0.05 * (high - low)
    return float(low - margin), float(high + margin)


def new_panels(n: int, height: float, margin: float, **options: Any) -> Array:
    """Return axes of a new figure with up to three panels per line.

    `height` is the height of a panel in inches. Text stays legible if the figure is
    scaled to the width of a printed column.
    """
    columns = min(n, len(_WIDTHS))
    lines = -(-n // columns)
    size = (_WIDTHS[columns - 1] * columns + margin, height * lines + 0.5)
    axes = new_axes(lines, columns, figsize=size, **options)
    for unused in axes[n:]:
        unused.remove()
    return axes[:n]


def new_axes(*grid: int, **options: Any) -> Array:
    """Return axes of a new figure."""
    plt = optional_module("matplotlib.pyplot", "plotting", "plot")
    figure, axes = plt.subplots(*grid, layout="constrained", squeeze=False, **options)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # in inches
    return np.ravel(axes)


def line_handles(widths: Mapping[str, float]) -> list[Any]:
    """Create grey legend entries from a mapping of labels to line widths."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=GREY, linewidth=width, label=label)
        for label, width in widths.items()
    ]


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceIntervalDisplay(Display):
    """Intervals of several estimates, with one panel per metric.

    A thick line is an individual interval, a thin line is a joint interval, and a dot
    is an estimate. Lines of undefined estimates are dotted. An arrow marks an infinite
    limit. Colours show the model, or the verdict on a difference. Returned by
    ``JointReport.plot``, ``ContrastReport.plot`` and similar methods.

    Parameters
    ----------
    rows, metrics : sequence of str, of length K
        Row label and panel label of each estimate.
    estimates : array of shape (K,)
        Horizontal positions of the dots.
    intervals : array of shape (K, 2)
        Joint intervals, or individual intervals.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    individual_intervals : array of shape (K, 2), optional
        Individual intervals, in addition to joint intervals.
    models : sequence of str, of length K, optional
        Model of each estimate. Up to seven models have separate colours. With more
        models, and by default, all estimates have the same colour.
    known_models : sequence of str, optional
        Names of models, in the order in which colours are assigned to them. Defaults to
        the drawn models.
    greater_is_better : sequence of bool, of length K, optional
        Whether a higher estimate is better; defaults to True.
    reference : float, optional
        Horizontal position of a vertical line, such as 0 for no difference.
    verdicts : sequence of str, of length K, optional
        Verdict of each interval, which determines its colour. For a difference: "first
        is better", "second is better" or "open"; with a margin also "equivalent",
        "first is not worse" or "second is not worse". For a contrast: "above 0", "below
        0" or "open". If a metric has no better direction, "higher" replaces "better"
        and "lower" replaces "worse".
    margins : array of shape (K,), optional
        Equivalence margin of each row, or NaN without a margin. Margins are drawn as
        dotted lines on both sides of 0.
    are_ranks : bool, default=False
        Whether the estimates are ranks: whole numbers, at least 1.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Axes for each metric, after :meth:`plot`.
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
    individual_intervals: Array | None = None
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
        """Draw the panels, which requires matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Axes for each metric; by default, axes of a new figure. Long names need a
            figure with ``layout="constrained"``.
        title : str, optional
            Title of the figure.
        sort : bool or str, default=False
            Whether to sort the rows by their estimates, the best first. True sorts by
            the metric of the first panel, and a name sorts by the metric with this
            name. Undefined estimates come last.

        Returns
        -------
        self
            Display with the axes and the figure.

        Raises
        ------
        ValueError
            If the number of axes differs from the number of metrics, or `sort` names no
            metric.
        """
        self._rows = self._best_first(sort) if sort else [*dict.fromkeys(self.rows)]
        return self._plot(ax, title)

    def _best_first(self, sort: bool | str = True) -> list[str]:
        """Return the distinct row labels, from the best to the worst estimate.

        If `sort` is True, rows are sorted by the first metric.
        """
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
        """Return the row labels, which are wrapped or, for many rows, shortened."""
        if len(self._rows) > _MANY_ROWS:
            return shorten([*map(printable, self._rows)], _MAX_LABEL)
        return [*map(wrapped, self._rows)]

    def _colours(self) -> list[str]:
        """Colour of each interval."""
        if self.verdicts is not None:
            return [VERDICT_COLOURS[verdict] for verdict in self.verdicts]
        indices = colour_indices(self.models or (), self.known_models)
        if self.models is None or len(indices) > len(COLOURS):
            return [COLOURS[0]] * len(self.rows)
        return [COLOURS[indices[model]] for model in self.models]

    def _new_axes(self, panels: int) -> Array:
        rows = [label.splitlines() for label in self._row_labels()]
        characters = max(len(line) for row in rows for line in row)
        gap = 0.22 if len(rows) <= _SPACED_ROWS else 0.06
        gap, line = (0.02, 0.13) if len(rows) > _MANY_ROWS else (gap, 0.16)
        height = 0.9 + sum(gap + line * len(row) for row in rows)
        size = min(height, _MAX_HEIGHT), 0.4 + 0.1 * characters
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
        ax.set_yticks(range(len(rows)), self._row_labels(), parse_math=False)
        if len(rows) > _MANY_ROWS:
            ax.tick_params(axis="y", labelsize="small")
            ax.tick_params(axis="x", labeltop=True)  # the bottom may be off-screen
        ax.set(xlim=edges, ylim=(len(rows) - 0.5, -0.5))
        if self.are_ranks:
            ax.locator_params(axis="x", nbins="auto", integer=True)
            ticks = np.unique(np.maximum(ax.get_xticks(), 1))  # ranks start at 1
            ax.set_xticks(ticks[ticks <= edges[1]])
            ax.set_xlim(edges)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _draw_row(
        self, ax: Any, k: int, y: int, colour: str, edges: tuple[float, float]
    ) -> None:
        """Draw the intervals of one estimate, clipped to the range of the axis."""
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

    Returned by the ``plot`` of reports on curves or thresholds,
    ``CalibrationReport.plot`` and ``LearningCurveReport.plot``. Dots are estimates. The
    intervals for both coordinates of a point form a rectangle, or a vertical line if
    the horizontal position is known. The shaded band is the union of the convex hulls
    of neighbouring rectangles. If all intervals cover, the band contains the lines
    between the true points. The bands of several models are lighter and have outlines.

    Parameters
    ----------
    models, metrics : sequence of str, of length K
        For each point, the label of its curve and the label of its panel. Labels may be
        empty.
    points : array of shape (K, 2)
        Horizontal and vertical position of each point, in the order of the curve.
    intervals : array of shape (K, 2)
        Lower and upper limits of the vertical position.
    axis_labels : (str, str)
        Labels of the horizontal and the vertical axis.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether the confidence level applies to all intervals simultaneously.
    horizontal_intervals : array of shape (K, 2), optional
        Lower and upper limits of the horizontal position; by default, the position is
        known.
    unit_square : bool, default=True
        Whether both axes show probabilities, on the same scale.
    normal_quantiles : bool, default=False
        Whether both axes show normal quantiles of rates, as for detection error
        tradeoffs. The ticks are labelled with the rates.
    diagonal : str, optional
        Label of the diagonal, such as "chance"; by default no diagonal is drawn.
    baseline : str, optional
        Label of a horizontal line at 0, such as "treat none".
    floor : float, optional
        Lower limit of the vertical axis; by default, all values are shown.
    joins_corners : bool, default=False
        Whether every curve connects the corners (0, 0) and (1, 1), as a ROC curve does.
    n_rows : array of shape (K,), optional
        Number of rows at each point, drawn in an additional panel.
    known_models : sequence of str, optional
        Names of models, in the order in which colours are assigned to them. Defaults to
        the drawn models.
    leaders : sequence of str, default=()
        Models that may be the best, the best estimate first. The curves of these models
        are coloured if there are more curves than colours.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Axes for each metric, after :meth:`plot`, and for the number of rows.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The curve of each model, by panel.
    bands_ : list of matplotlib PathPatch
        The bands.
    chance_level_ : matplotlib Line2D or None
        The diagonal, or the baseline.
    highlighted_ : list of str
        Models with coloured curves.
    drawn_ : str
        Sentence that names the coloured models and counts the grey curves; empty
        without grey curves.

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
    n_rows: Array | None = None
    leaders: Sequence[str] = ()

    def plot(
        self,
        *,
        ax: Any = None,
        title: str | None = None,
        name: str | None = None,
        highlight: str | Sequence[str] | None = None,
    ) -> Self:
        """Draw the curves and the bands, which requires matplotlib.

        If there are more than seven curves, at most six curves are coloured and
        labelled. The other curves are grey and have no band. ``drawn_`` names the
        coloured models.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Axes for each metric; by default, axes of a new figure. The numbers of rows
            are drawn only if an additional Axes is passed. If the axes already contain
            curves, the added curves have other colours, and the diagonal reference line
            is not drawn again.
        title : str, optional
            Title of the figure.
        name : str, optional
            Label of the curve of an unnamed model.
        highlight : str or sequence of str, optional
            Models with coloured curves, at most six. By default, up to seven models are
            all coloured. If there are more models, only some are coloured: a model
            named "baseline" or "control", and the models whose mean over the curve may
            be the best.

        Returns
        -------
        self
            Display with the axes, the figure and the drawn lines and bands, whose style
            can be changed.

        Raises
        ------
        KeyError, ValueError
            If the number of axes differs from the number of metrics, or `highlight`
            contains more than six models or a model that is not drawn.
        """
        self._name = name or "estimate"
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.chance_level_ = None
        self.highlighted_ = self._in_colour(highlight)
        self._plot(ax, title, further_panels=self.n_rows is not None)
        labelled = [line for line in self.lines_ if line.get_gid() == _LABELLED]
        last = {line.get_label(): line for line in labelled}  # in the last panel
        if last and ax is None and not self.joins_corners:
            width = 0.3 + 0.08 * max(map(len, last))
            self.figure_.set_figwidth(self.figure_.get_figwidth() + width)
        for ax in self.axes_:
            self._label(ax, [line for line in last.values() if line.axes is ax])
        return self

    def _in_colour(self, highlight: str | Sequence[str] | None) -> list[str]:
        """Return the names of the models whose curves are drawn in colour."""
        models = list(dict.fromkeys(self.models))
        if highlight is None:
            if len(models) <= len(COLOURS):
                return models
            baselines = [name for name in models if name.lower() in _BASELINES]
            baselines = baselines[:_IN_COLOUR]
            leaders = self.leaders[: _IN_COLOUR - len(baselines)]
            return list(dict.fromkeys([*leaders, *baselines]))
        names = list(dict.fromkeys(check_names(highlight, models, "highlight")))
        if len(names) > _IN_COLOUR:
            raise ValueError(
                f"highlight must contain at most {_IN_COLOUR} models, got {names}"
            )
        return names

    @property
    def drawn_(self) -> str:
        """Sentence that names the coloured curves and counts the grey curves."""
        coloured = join_names(self.highlighted_ or ["none"])
        grey = self._grey
        return f"In colour: {coloured}; in grey: {grey}." if grey else ""

    @property
    def _grey(self) -> str:
        """Text that counts the grey curves, such as "3 other models", or ""."""
        number = len({*self.models}) - len(self.highlighted_)
        return f"{number} other model{'s' * (number > 1)}" if number else ""

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
        floor = -np.inf if self.floor is None else self.floor
        drawn = self.points[panel, 1], self.intervals[panel]
        limits = axis_limits(*(np.maximum(values, floor) for values in drawn))
        longest = _MAX_CURVE if self._grey else 2 * _MAX_LABEL
        labels = dict(zip(models, shorten(models, longest), strict=True))
        for model in models:
            curve = [k for k in panel if self.models[k] == model]
            if not self.unit_square:
                curve.sort(key=lambda k: self.points[k, 0])
            if not curve:
                continue
            is_grey = model not in self.highlighted_
            label = wrapped(labels[model] or self._name)
            line = self._draw_line(ax, self.points[curve], label, is_grey)
            self.lines_.append(line)
            if not is_grey:
                self._draw_band(ax, curve, limits, line.get_color())
        if self.diagonal or self.baseline:
            self.chance_level_ = self._draw_reference(ax)
        xlabel, ylabel = self.axis_labels
        ax.set(xlabel=xlabel, ylabel=ylabel, ylim=limits)
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
        """Label the coloured curves from top to bottom.

        Each label is to the right of the axes. A line joins the label to the last point
        of the curve. ROC curves all end in one corner. Their labels are therefore below
        the diagonal, and are joined to the points nearest to the other diagonal.
        """
        anchors = []
        for x, y in (line.get_xydata().T for line in lines):
            closeness = -np.abs(x + y - 1) if self.joins_corners else x
            is_visible = np.isfinite(closeness) & (y >= ax.get_ylim()[0])
            nearest = np.argmax(np.where(is_visible, closeness, -np.inf))
            anchors.append((x[nearest], y[nearest]))
        to_axes = ax.transData - ax.transAxes
        positions = to_axes.transform(np.reshape(anchors, (-1, 2)))
        order = np.argsort(-positions[:, 1], kind="stable")
        steps = np.arange(len(order)) * _TEXT_HEIGHT * ax.figure.dpi / ax.bbox.height
        left, heights = (
            (0.55, 0.45) if self.joins_corners else (1.04, positions[order, 1])
        )
        heights = np.minimum.accumulate(heights + steps) - steps  # no overlap
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
            text, position = lines[k].get_label(), (left, height)
            ax.annotate(text, anchors[k], position, arrowprops=leader, **style)

    def _set_colours(self, ax: Any) -> None:
        """Set the colour cycle of the axes, with the colours of drawn models first."""
        coloured = self.highlighted_ if self._grey else self.known_models
        indices = colour_indices(self.highlighted_, coloured)
        drawn = [x for x in dict.fromkeys(self.models) if x in self.highlighted_]
        first = [COLOURS[indices[model]] for model in drawn]
        ax.set_prop_cycle(color=dict.fromkeys([*first, *COLOURS]))

    def _draw_line(self, ax: Any, points: Array, label: str, is_grey: bool) -> Any:
        """Draw the points and the line of a model.

        ROC curves are extended to the corners (0, 0) and (1, 1). Grey lines are thin,
        lie below the coloured lines, and do not change the next colour of the axes.
        """
        marked = [*range(len(points))]
        if self.joins_corners:  # known points, without marks
            points = np.concatenate([_CORNERS[1:], points, _CORNERS[:1]])
            marked = [k + 1 for k in marked]
        style = {"markersize": 4, "markerfacecolor": ax.get_facecolor()}
        style |= {"markevery": marked, "label": label, "marker": "o"}
        style["gid"] = _LABELLED if self._grey else None
        if is_grey:  # a label with an underscore has no entry in the legend
            style = {"color": GREY, "alpha": 0.5, "linewidth": _THIN_LIMIT}
            style |= {"linestyle": "-", "zorder": 1.7, "label": "_other"}
        (line,) = ax.plot(*points.T, **style)
        return line

    def _draw_band(
        self, ax: Any, curve: list[int], edges: tuple[float, float], colour: str
    ) -> None:
        """Draw the confidence band of a curve, and the limits of the intervals.

        Limits are clipped to `edges`, the range of the vertical axis. The band is a
        single path, because separate polygons would have visible seams.
        """
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        x, y = self.points[curve, :1], np.clip(self.intervals[curve], *edges)
        thin = {"color": colour, "linewidth": _THIN_LIMIT}
        several = len(set(self.models)) > 1
        if self.horizontal_intervals is None:
            if not several:
                ax.vlines(x, *y.T, alpha=0.5, **thin)
            x = np.repeat(x, 2, axis=1)
        else:
            x = self.horizontal_intervals[curve]
        boxes = np.stack([x[:, [0, 1, 1, 0]], y[:, [0, 0, 1, 1]]], axis=2)
        chain = [*boxes]
        if self.joins_corners:
            chain = [_CORNERS[1:], *chain, _CORNERS[:1]]
        pairs = zip(chain, [*chain[1:], chain[-1]], strict=True)
        hulls = [_hull(np.concatenate(pair)) for pair in pairs]
        paths = [Path(hull, closed=True) for hull in hulls if len(hull)]
        shade = _LIGHT_SHADE if several else _SHADE
        style = {"facecolor": colour, "alpha": shade, "linewidth": 0}
        band = PathPatch(Path.make_compound_path(*paths), **style)
        self.bands_.append(ax.add_patch(band))
        if several:
            ax.plot(*_outline(hulls), alpha=0.8, **thin)

    def _draw_reference(self, ax: Any) -> Any:
        """Draw the diagonal or the baseline, unless the axes already show this line."""
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
        """Draw a panel with the number of rows at each point."""
        for model, line in zip(dict.fromkeys(self.models), self.lines_, strict=True):
            curve = [k for k, name in enumerate(self.models) if name == model]
            style = {"color": line.get_color(), "linewidth": 0.8, "markersize": 3}
            ax.plot(self.points[curve, 0], n_rows[curve], "o-", **style)
        ax.set(xlim=self.axes_[0].get_xlim(), ylabel="rows")
        ax.set_ylim(0, _HEADROOM * n_rows.max())
        ax.spines[["top", "right"]].set_visible(False)

    def _handles(self) -> list[Any]:
        """Return the legend entries for all curves on the axes and for their bands."""
        from matplotlib.patches import Patch

        lines = self.axes_[0].get_legend_handles_labels()[0]
        diagonal = [line for line in lines if line.get_gid() == _REFERENCE]
        without_entry = _REFERENCE, _LABELLED
        curves = [line for line in lines if line.get_gid() not in without_entry]
        grey = self.axes_[0].xaxis.label.get_color()
        colour = curves[0].get_color() if len(curves) == 1 else grey
        level = format_level(self.confidence_level, self.simultaneous)
        band = Patch(facecolor=colour, alpha=_SHADE, label=f"{level} band")
        handles = [*curves, band]
        if self._grey:
            handles += line_handles({self._grey: _THIN_LIMIT})
        return handles + diagonal


def _outline(hulls: list[Array]) -> tuple[Array, Array]:
    """Compute the outline of a union of closed convex polygons.

    Returns the horizontal positions, of shape (P,), and the lower and upper edges, of
    shape (P, 2).
    """
    sides = [np.stack([hull[:-1], hull[1:]], axis=1) for hull in hulls if len(hull)]
    edges = np.concatenate([np.zeros((0, 2, 2)), *sides])
    edges = edges[edges[:, 0, 0] != edges[:, 1, 0]]
    x_edges = edges[:, :, 0]
    if not len(edges):
        return np.zeros(0), np.zeros((0, 2))
    grid = np.linspace(x_edges.min(), x_edges.max(), _STEPS)
    x = np.unique([*grid, *x_edges.ravel()])
    share = (x[:, np.newaxis] - x_edges[:, 0]) / (x_edges[:, 1] - x_edges[:, 0])
    heights = edges[:, 0, 1] + share * (edges[:, 1, 1] - edges[:, 0, 1])
    crossed = (share >= 0) & (share <= 1)
    low = np.where(crossed, heights, np.inf).min(axis=1)
    high = np.where(crossed, heights, -np.inf).max(axis=1)
    limits = np.stack([low, high], axis=1)
    return x, np.where(np.isfinite(limits), limits, np.nan)


def _hull(points: Array) -> Array:
    """Return the closed convex hull of points, counterclockwise.

    The result is empty if the points lie on a line.
    """
    try:
        corners = ConvexHull(points).vertices
    except QhullError:
        return points[:0]
    return points[[*corners, corners[0]]]
