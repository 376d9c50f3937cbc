"""Plots of confidence intervals and bands; matplotlib is imported when plotting."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from skci._arrays import Array
from skci._validation import printable
from skci.reports.rendering import format_level

# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
_GREY = "0.5"  # seen on white and on black
_THIN, _THICK = 1.5, 5
_THIN_LIMIT, SHADE = 0.7, 0.18  # width of a line of limits, opacity of a band

_WIDTHS = (3.4, 3.0, 2.5)  # of one, two and three panels side by side, in inches

_MAX_LABEL, _MAX_TITLE = 36, 28  # characters to a line
_CHANCE, _BELOW = "skci-chance", "skci-below"  # to find a line and a legend again
_SPACED_ROWS = 15  # more have smaller gaps
MANY_ROWS = 30  # more are set closer together, in smaller type


class PanelDisplay(ABC):
    """A figure with a panel for each metric, and one legend."""

    metrics: Sequence[str]
    axes_: Any
    figure_: Any

    def plot(self, *, axes: Any = None) -> Self:
        """Draw the panels; matplotlib is needed.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One for each metric; a new figure is made if not given.

        Returns
        -------
        self
            With the axes and the figure.

        Raises
        ------
        ValueError
            If `axes` are not as many as the metrics.
        """
        metrics = list(dict.fromkeys(self.metrics))
        new_figure = axes is None
        axes = self._new_axes(len(metrics)) if new_figure else axes
        axes = _check_axes(axes, metrics)
        for ax, metric in zip(axes, metrics, strict=True):
            self._plot_panel(ax, metric)
            # A dollar sign in a name does not start a formula.
            title = wrapped(metric, _MAX_TITLE)
            ax.set_title(title, fontsize="medium", parse_math=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        columns = min(2 * len(axes) - 1, 4)
        lines = _add_legend(axes[-1], new_figure, columns, self._handles())
        if new_figure:
            height = self.figure_.get_figheight() + 0.2 * (lines - 1)
            self.figure_.set_figheight(height)
        return self

    @abstractmethod
    def _new_axes(self, panels: int) -> Any:
        """Axes of a new figure."""

    @abstractmethod
    def _plot_panel(self, ax: Any, metric: str) -> None:
        """Draw what there is of a metric."""

    @abstractmethod
    def _handles(self) -> list[Any]:
        """Entries of the legend, once the panels are drawn."""


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceIntervalDisplay(PanelDisplay):
    """Intervals of several rules, a panel for each metric.

    A thick line is the individual interval, the thin line the joint interval, the dot
    the estimate. Lines of undefined estimates are dotted; an arrow marks an infinite
    limit. Returned by ``JointReport.plot``.

    Parameters
    ----------
    rules, metrics : sequence of str, of length K
        Label of each estimate.
    estimates : array of shape (K,)
        Positions of the dots.
    intervals : array of shape (K, 2)
        Joint intervals.
    individual_intervals : array of shape (K, 2)
        Intervals that each cover by themselves.
    confidence_level : float
        Coverage probability of the joint intervals, between 0 and 1.
    reference : float, optional
        Position of a vertical line, such as no difference.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each metric, after :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skci import confusion_matrix_report
    >>> report = confusion_matrix_report([[50, 10], [15, 25]], metrics=["f1", "mcc"])
    >>> display = report.plot()
    >>> [ax.get_title() for ax in display.axes_]
    ['f1', 'mcc']
    """

    rules: Sequence[str]
    metrics: Sequence[str]
    estimates: Array
    intervals: Array
    individual_intervals: Array
    confidence_level: float
    reference: float | None = None

    def _handles(self) -> list[Any]:
        kinds = {"joint ": _THIN, "individual ": _THICK}
        if np.array_equal(self.intervals, self.individual_intervals, equal_nan=True):
            kinds = {"": _THICK}
        handles = []
        for kind, width in kinds.items():
            label = f"{kind}{format_level(self.confidence_level)} interval"
            style = {"color": _GREY, "linewidth": width, "label": label}
            handles += self.axes_[-1].plot([], [], **style)
        return handles

    def _colours(self) -> list[str]:
        """Colour of each interval, shape (K,); the same if there are not enough."""
        rules = list(dict.fromkeys(self.rules))
        colours = COLOURS if len(rules) <= len(COLOURS) else COLOURS[:1] * len(rules)
        return [colours[rules.index(rule)] for rule in self.rules]

    def _guides(self, metric: str) -> dict[float, str]:
        """Line style of vertical lines by their position."""
        return {} if self.reference is None else {self.reference: "--"}

    def _new_axes(self, panels: int) -> Any:
        rules = [wrapped(rule).splitlines() for rule in dict.fromkeys(self.rules)]
        characters = max(len(line) for rule in rules for line in rule)
        gap = 0.22 if len(rules) <= _SPACED_ROWS else 0.06
        gap, line = (0.02, 0.13) if len(rules) > MANY_ROWS else (gap, 0.16)
        height = 0.9 + sum(gap + line * len(rule) for rule in rules)
        margin = 0.4 + 0.1 * characters
        axes = new_panels(panels, _width(panels), height, margin, sharey=True)
        for ax in axes:
            ax.locator_params(axis="x", nbins=6)
            ax.tick_params(axis="x", labelsize="small")
        return axes

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rules, colours = list(dict.fromkeys(self.rules)), self._colours()
        rows = [k for k, name in enumerate(self.metrics) if name == metric]
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        guides = self._guides(metric)
        edges = _edges(np.append(np.column_stack(drawn)[rows], list(guides)))
        for position, linestyle in guides.items():
            ax.axvline(position, color=_GREY, linewidth=0.8, linestyle=linestyle)
        for k in rows:
            self._plot_row(ax, k, rules.index(self.rules[k]), colours[k], edges)
        ax.set_xlim(edges)
        ax.set_yticks(range(len(rules)), map(wrapped, rules), parse_math=False)
        if len(rules) > MANY_ROWS:
            ax.tick_params(axis="y", labelsize="small")
        ax.set_ylim(len(rules) - 0.5, -0.5)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _plot_row(
        self, ax: Any, k: int, y: int, colour: str, edges: tuple[float, float]
    ) -> None:
        """Draw the intervals of an estimate, which end where the axis does."""
        estimate = self.estimates[k]
        style = {"color": colour, "linestyle": ":" if np.isnan(estimate) else "-"}
        style["solid_capstyle"] = "butt"
        joint, individual = self.intervals[k], self.individual_intervals[k]
        ax.plot(np.clip(joint, *edges), [y, y], linewidth=_THIN, **style)
        ax.plot(np.clip(individual, *edges), [y, y], linewidth=_THICK, **style)
        for edge, limit, arrow in zip(edges, joint, "<>", strict=True):
            if np.isinf(limit):
                ax.plot(edge, y, arrow, color=colour, clip_on=False)
        if np.isfinite(estimate):
            marker = {"markeredgecolor": colour, "markersize": _THICK}
            ax.plot(estimate, y, "o", color=ax.get_facecolor(), **marker)


def wrapped(name: str, width: int = _MAX_LABEL) -> str:
    """Break the lines of a long name."""
    return textwrap.fill(printable(name), width) or name


def _width(panels: int) -> float:
    """Width of a panel, so that the text of a figure is legible at column width."""
    return _WIDTHS[min(panels, len(_WIDTHS)) - 1]


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceBandDisplay:
    """Curves of one or more models with their confidence bands.

    Returned by ``CurveReport.plot``. Dots are the estimates at the thresholds. The
    shaded band is the union of the convex hulls of neighbouring rectangles, the two
    intervals at a threshold: if all cover, it contains the lines between true points.

    Parameters
    ----------
    metrics : sequence of two str
        Of the horizontal axis and of the vertical one.
    thresholds : mapping of str to array of shape (T,)
        Increasing, by model; not drawn. A model without a name is the only one.
    points : mapping of str to array of shape (T, 2)
        Estimates of both metrics.
    intervals : mapping of str to array of shape (T, 2, 2)
        Lower and upper limit of both metrics.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether all intervals cover at once.
    ends : array of shape (2, 2), optional
        Points that every such curve joins: the corners of a ROC plot. The line between
        them is that of chance.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After :meth:`plot`.
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D, or list of them
        The curve of each model.
    band_ : matplotlib PathPatch, or list of them
    chance_level_ : matplotlib Line2D or None

    Examples
    --------
    >>> from skci import roc_report
    >>> report = roc_report([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> display = report.plot()
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('false positive rate', 'recall')
    """

    metrics: Sequence[str]
    thresholds: Mapping[str, Array]
    points: Mapping[str, Array]
    intervals: Mapping[str, Array]
    confidence_level: float
    simultaneous: bool = True
    ends: Array | None = None

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
    ) -> ConfidenceBandDisplay:
        """Draw the curves and the bands; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made if not given. Curves are added to those that the axes
            have, in the next colours, and the line of chance is drawn once.
        name : str, optional
            Label of the curve of a model without a name.
        curve_kwargs : mapping of str, or sequence of them, optional
            Passed to ``Axes.plot``, for all curves or for each model.
        band_kwargs : mapping of str, optional
            Passed to the ``PathPatch`` of each band.
        plot_chance_level : bool, default=True
            Whether to draw the line of chance of a ROC plot.
        chance_level_kw : mapping of str, optional
            Passed to ``Axes.plot`` for the line of chance.

        Returns
        -------
        ConfidenceBandDisplay
            With the axes and the figure.

        Raises
        ------
        ValueError
            If `curve_kwargs` are not as many as the models.
        """
        new_figure = ax is None
        ax = curve_axes() if new_figure else ax
        self.ax_, self.figure_ = ax, ax.figure
        styles = each_style(curve_kwargs, len(self.points))
        lines, bands = [], []
        for model, style in zip(self.points, styles, strict=True):
            lines.append(self._plot_line(model, name or model, style))
            bands.append(self._plot_band(model, lines[-1], band_kwargs or {}))
        self.line_, self.band_ = (
            artists[0] if len(artists) == 1 else artists for artists in (lines, bands)
        )
        self.chance_level_ = None
        if self.ends is not None and plot_chance_level:
            self.chance_level_ = diagonal(ax, self.ends, chance_level_kw)
        across, up = (name.replace("_", " ") for name in self.metrics)
        unit_square(ax, across, up)
        kind = "joint" if self.simultaneous else "individual"
        band = f"{kind} {format_level(self.confidence_level)} band"
        add_band_legend(ax, new_figure, lines[0], band)
        return self

    def _plot_line(self, model: str, label: str, style: Mapping[str, Any]) -> Any:
        """Draw the points of a model, and its line from end to end."""
        points, marked = self.points[model], slice(None)
        if self.ends is not None:
            points = np.concatenate([self.ends[1:], points, self.ends[:1]])
            marked = slice(1, -1)
        # No marks at the ends, which are known.
        default = {
            "marker": "o",
            "markersize": 4,
            "markerfacecolor": self.ax_.get_facecolor(),
            "markevery": list(range(len(points))[marked]),
            "label": wrapped(label) or "estimate",
        }
        (line,) = self.ax_.plot(*points.T, **styled(default, style))
        return line

    def _plot_band(self, model: str, line: Any, style: Mapping[str, Any]) -> Any:
        """Draw the union of hulls as one path, which has no seams."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        chain = [
            np.array([[left, low], [right, low], [right, high], [left, high]])
            for (left, right), (low, high) in self.intervals[model]
        ]
        if self.ends is not None:
            chain = [self.ends[1:], *chain, self.ends[:1]]
        pairs = zip(chain, [*chain[1:], chain[-1]], strict=True)
        hulls = [_hull(np.concatenate(pair)) for pair in pairs]
        paths = [Path(hull, closed=True) for hull in hulls if len(hull)]
        default = {"facecolor": line.get_color(), "alpha": SHADE, "linewidth": 0}
        outline = Path.make_compound_path(*paths)
        return self.ax_.add_patch(
            PathPatch(outline, **styled(default, style, PathPatch))
        )


@dataclass(kw_only=True, eq=False, repr=False)
class LearningCurveBandDisplay(PanelDisplay):
    """Learning curves with their confidence bands, a panel for each metric.

    Dots are the estimates at the training set sizes. The shaded band joins the joint
    intervals at these sizes, which are its vertical lines; other thin lines join the
    individual intervals. Returned by ``LearningCurveReport.plot``.

    Parameters
    ----------
    rules, metrics : sequence of str, of length K
        Label of each estimate.
    train_sizes : sequence of int, of length K
        Number of training rows of each estimate.
    estimates : array of shape (K,)
        Positions of the dots.
    intervals : array of shape (K, 2)
        Joint intervals.
    individual_intervals : array of shape (K, 2)
        Intervals that each cover by themselves.
    confidence_level : float
        Coverage probability of the joint intervals, between 0 and 1.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each metric, after :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import learning_curve_report
    >>> X, y = load_wine(return_X_y=True)
    >>> report = learning_curve_report(
    ...     GaussianNB(), X, y, metrics="accuracy", train_sizes=[40, 80]
    ... )
    >>> report.plot().axes_[0].get_xlabel()
    'number of training rows'
    """

    rules: Sequence[str]
    metrics: Sequence[str]
    train_sizes: Sequence[int]
    estimates: Array
    intervals: Array
    individual_intervals: Array
    confidence_level: float

    def _new_axes(self, panels: int) -> Any:
        return new_panels(panels, _width(panels), 3.0, 0.2, sharex=True)

    def _handles(self) -> list[Any]:
        from matplotlib.patches import Patch

        lines = self.axes_[0].get_legend_handles_labels()[0]
        level = format_level(self.confidence_level)
        grey: Any = {"color": _GREY, "linewidth": _THIN_LIMIT}
        if np.array_equal(self.intervals, self.individual_intervals, equal_nan=True):
            return [*lines, Patch(alpha=SHADE, label=f"{level} intervals", **grey)]
        band = Patch(alpha=SHADE, label=f"joint {level} band", **grey)
        label = f"individual {level} intervals"
        return [*lines, band, *self.axes_[0].plot([], [], label=label, **grey)]

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rows = [k for k, name in enumerate(self.metrics) if name == metric]
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        edges = _edges(np.column_stack(drawn)[rows])
        for k, rule in enumerate(dict.fromkeys(self.rules)):
            curve = [row for row in rows if self.rules[row] == rule]
            self._plot_curve(ax, curve, edges, COLOURS[k % len(COLOURS)])
        ax.set_ylim(edges)
        ax.set_xlabel("number of training rows")
        ax.tick_params(labelbottom=True)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)

    def _plot_curve(
        self, ax: Any, rows: list[int], edges: tuple[float, float], colour: str
    ) -> None:
        """Draw the curve of a rule, whose limits end where the axis does."""
        sizes = np.take(self.train_sizes, rows)
        joint = np.clip(self.intervals[rows].T, *edges)
        ax.fill_between(sizes, *joint, color=colour, alpha=SHADE, linewidth=0)
        ax.vlines(sizes, *joint, color=colour, alpha=0.5, linewidth=_THIN_LIMIT)
        limits = np.clip(self.individual_intervals[rows], *edges)
        ax.plot(sizes, limits, color=colour, linewidth=_THIN_LIMIT)
        label = printable(self.rules[rows[0]])
        marker = {"markerfacecolor": ax.get_facecolor(), "markersize": 4}
        ax.plot(sizes, self.estimates[rows], "o-", color=colour, label=label, **marker)


def _hull(points: Array) -> Array:
    """Convex hull, counterclockwise and closed; empty if it has no area."""
    try:
        corners = ConvexHull(points).vertices
    except QhullError:
        return points[:0]
    return points[[*corners, corners[0]]]


def _edges(values: Array) -> tuple[float, float]:
    """Limits of an axis: all finite values and a margin."""
    shown = values[np.isfinite(values)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    high = high if high > low else low + 1
    margin = 0.05 * (high - low)
    return float(low - margin), float(high + margin)


def new_panels(
    n: int, width: float, height: float, margin: float, **options: Any
) -> Any:
    """Axes of a new figure, three to a line, of panels of this size in inches."""
    columns = min(n, 3)
    lines = -(-n // columns)
    size = (width * columns + margin, height * lines + 0.5)
    axes = _subplots(lines, columns, figsize=size, squeeze=False, **options)
    for unused in axes.flat[n:]:
        unused.remove()
    return axes.flat[:n]


def _check_axes(axes: Any, metrics: Sequence[str]) -> Array:
    """Check axes, one for each metric."""
    axes = np.ravel(axes)
    if len(axes) != len(metrics):
        raise ValueError(
            f"axes must be one for each of {len(metrics)} metrics, got {len(axes)}"
        )
    return axes


def _subplots(*grid: int, **options: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib: pip install 'skci[plot]'"
        ) from error
    figure, axes = plt.subplots(*grid, layout="constrained", **options)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # in inches
    return axes


def curve_axes(*grid: int, height: float = 4.8, **options: Any) -> Any:
    """Axes of a new figure, in the colours of the style, or of this module."""
    axes = _subplots(*grid, figsize=(4.4, height), **options)
    from matplotlib import rcParams, rcParamsDefault

    if rcParams["axes.prop_cycle"] == rcParamsDefault["axes.prop_cycle"]:
        for ax in np.ravel(axes):
            ax.set_prop_cycle(color=COLOURS)
    return axes


def unit_square(ax: Any, across: str, up: str) -> None:
    """Show probabilities on both axes, at the same scale."""
    edges, ticks = (-0.03, 1.03), np.linspace(0, 1, 6)
    ax.set(xlabel=across, xlim=edges, xticks=ticks)
    ax.set(ylabel=up, ylim=edges, yticks=ticks, aspect="equal")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)


def each_style(styles: Any, n: int) -> list[Mapping[str, Any]]:
    """Keywords of each of n artists, from those of all or of each."""
    if styles is None or isinstance(styles, Mapping):
        return [styles or {}] * n
    if len(styles) != n:
        raise ValueError(
            f"curve_kwargs must be one mapping, or one for each of {n} models, got "
            f"{len(styles)}"
        )
    return list(styles)


def diagonal(
    ax: Any, ends: Array, style: Mapping[str, Any] | None, label: str = "chance"
) -> Any:
    """Draw a diagonal, or restyle the one that the axes have."""
    drawn = [line for line in ax.lines if line.get_gid() == _CHANCE]
    if drawn:
        drawn[0].update(dict(style or {}))
        return drawn[0]
    colour = ax.xaxis.label.get_color()
    default = {"color": colour, "alpha": 0.7, "linewidth": 0.8, "linestyle": "--"}
    default |= {"label": label, "gid": _CHANCE, "zorder": 1.8}
    return ax.plot(*ends.T, **styled(default, style or {}))[0]


def styled(default: dict[str, Any], style: Any, artist: Any = None) -> dict[str, Any]:
    """Keywords of an artist, a line if it is None, with those of the user."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return default | normalize_kwargs(dict(style), artist or Line2D)


def add_band_legend(ax: Any, new_figure: bool, line: Any, band: str) -> None:
    """Add or renew a legend of all curves on the axes, and of their bands."""
    from matplotlib.patches import Patch

    drawn = ax.get_legend_handles_labels()[0]
    chance = [handle for handle in drawn if handle.get_gid() == _CHANCE]
    curves = [handle for handle in drawn if handle not in chance]
    colour = line.get_color() if len(curves) == 1 else ax.xaxis.label.get_color()
    handles = [*curves, Patch(facecolor=colour, alpha=SHADE, label=band), *chance]
    for legend in [each for each in ax.figure.legends if each.get_gid() == _BELOW]:
        legend.remove()
        new_figure = True  # the legend goes where it was
    _add_legend(ax, new_figure, 3, handles)


def _add_legend(ax: Any, new_figure: bool, columns: int, handles: Any) -> int:
    """Add a legend inside given axes, or below a new figure and no wider than it.

    Returns the number of its lines.
    """
    place: dict[str, Any] = {}
    if new_figure:
        place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    legend = (ax.figure if new_figure else ax).legend(handles=handles, **place)
    legend.set_gid(_BELOW if new_figure else None)
    for text in legend.get_texts():
        text.set_parse_math(False)
    too_wide = legend.get_window_extent().width > ax.figure.bbox.width
    if new_figure and columns > 1 and too_wide:
        legend.remove()
        return _add_legend(ax, new_figure, columns - 1, handles)
    return -(-len(handles) // columns)
