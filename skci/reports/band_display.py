"""Plots of curves with confidence bands; matplotlib is imported when plotting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from skci._arrays import Array
from skci._validation import printable
from skci.reports.axes import (
    COLOURS,
    GREY,
    SHADE,
    add_band_legend,
    axis_limits,
    curve_axes,
    diagonal,
    each_style,
    new_panels,
    panel_width,
    styled,
    unit_square,
    wrapped,
)
from skci.reports.display import PanelDisplay
from skci.reports.rendering import format_level

_THIN_LIMIT = 0.7  # width of a line of limits
_HEADROOM = 1.15  # over the greatest number of rows in its panel


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


def _hull(points: Array) -> Array:
    """Convex hull, counterclockwise and closed; empty if it has no area."""
    try:
        corners = ConvexHull(points).vertices
    except QhullError:
        return points[:0]
    return points[[*corners, corners[0]]]


@dataclass(kw_only=True, eq=False, repr=False)
class CalibrationBandDisplay:
    """Reliability diagram: fractions of positives against mean predictions.

    Returned by ``CalibrationReport.plot``. Vertical lines are the joint intervals in
    the bins, and the shaded band joins them; a panel below has the number of rows.

    Parameters
    ----------
    mean_predicted, fractions, n_rows : mapping of str to array of shape (B,)
        By model, in each bin. A model without a name is the only one.
    intervals : mapping of str to array of shape (B, 2)
        Limits of the fractions.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether all intervals cover at once.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After :meth:`plot`.
    rows_ax_ : matplotlib Axes or None
        The panel of the number of rows.
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D, or list of them
    band_ : matplotlib artist, or list of them
    chance_level_ : matplotlib Line2D
        The diagonal of calibrated predictions.

    Examples
    --------
    >>> from skci import calibration_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> report = calibration_report(y, [0.1] * 100 + [0.8] * 100, n_bins=2)
    >>> display = report.plot()
    >>> display.ax_.get_ylabel(), display.rows_ax_.get_ylabel()
    ('fraction of positives', 'rows')
    """

    mean_predicted: Mapping[str, Array]
    fractions: Mapping[str, Array]
    n_rows: Mapping[str, Array]
    intervals: Mapping[str, Array]
    confidence_level: float
    simultaneous: bool = True

    def plot(
        self,
        *,
        ax: Any = None,
        rows_ax: Any = None,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
    ) -> CalibrationBandDisplay:
        """Draw the diagram; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made if not given.
        rows_ax : matplotlib Axes, optional
            For the number of rows, which is left out if only `ax` is given.
        name, curve_kwargs, band_kwargs
            See :meth:`ConfidenceBandDisplay.plot`.

        Returns
        -------
        CalibrationBandDisplay
            With the axes and the figure.

        Raises
        ------
        ValueError
            If `curve_kwargs` are not as many as the models.
        """
        new_figure = ax is None
        if new_figure:
            ax, rows_ax = curve_axes(2, 1, height=5.9, height_ratios=[5, 1])
        self.ax_, self.rows_ax_, self.figure_ = ax, rows_ax, ax.figure
        styles = each_style(curve_kwargs, len(self.fractions))
        lines, bands = [], []
        for model, style in zip(self.fractions, styles, strict=True):
            label = wrapped(name or model) or "estimate"
            default = {"marker": "o", "markersize": 4, "label": label}
            default["markerfacecolor"] = ax.get_facecolor()
            curve = self.mean_predicted[model], self.fractions[model]
            lines += ax.plot(*curve, **styled(default, style))
            bands.append(self._plot_band(model, lines[-1], band_kwargs or {}))
        self.line_, self.band_ = (
            artists[0] if len(artists) == 1 else artists for artists in (lines, bands)
        )
        ends = np.array([[0.0, 0.0], [1.0, 1.0]])
        self.chance_level_ = diagonal(ax, ends, None, "calibrated")
        unit_square(ax, "mean prediction", "fraction of positives")
        if rows_ax is not None:
            self._plot_rows(rows_ax, lines)
        kind = "joint" if self.simultaneous else "individual"
        band = f"{kind} {format_level(self.confidence_level)} band"
        add_band_legend(ax, new_figure, lines[0], band)
        return self

    def _plot_band(self, model: str, line: Any, style: Mapping[str, Any]) -> Any:
        """Draw the intervals in the bins and what lies between them."""
        across, limits = self.mean_predicted[model], self.intervals[model].T
        colour = line.get_color()
        self.ax_.vlines(across, *limits, color=colour, alpha=0.5, linewidth=_THIN_LIMIT)
        default = {"facecolor": colour, "alpha": SHADE, "linewidth": 0}
        return self.ax_.fill_between(across, *limits, **default | dict(style))

    def _plot_rows(self, rows_ax: Any, lines: Sequence[Any]) -> None:
        for model, line in zip(self.n_rows, lines, strict=True):
            style = {"color": line.get_color(), "linewidth": 0.8, "markersize": 3}
            curve = self.mean_predicted[model], self.n_rows[model]
            rows_ax.plot(*curve, "o-", **style)
        rows_ax.set(xlim=self.ax_.get_xlim(), ylabel="rows")
        most = max(n_rows.max() for n_rows in self.n_rows.values())
        rows_ax.set_ylim(0, _HEADROOM * most)
        rows_ax.spines[["top", "right"]].set_visible(False)


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
        Individual intervals.
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
        return new_panels(panels, panel_width(panels), 3.0, 0.2, sharex=True)

    def _handles(self) -> list[Any]:
        from matplotlib.patches import Patch

        lines = self.axes_[0].get_legend_handles_labels()[0]
        level = format_level(self.confidence_level)
        grey: Any = {"color": GREY, "linewidth": _THIN_LIMIT}
        if np.array_equal(self.intervals, self.individual_intervals, equal_nan=True):
            return [*lines, Patch(alpha=SHADE, label=f"{level} intervals", **grey)]
        band = Patch(alpha=SHADE, label=f"joint {level} band", **grey)
        label = f"individual {level} intervals"
        return [*lines, band, *self.axes_[0].plot([], [], label=label, **grey)]

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rows = [k for k, name in enumerate(self.metrics) if name == metric]
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        edges = axis_limits(np.column_stack(drawn)[rows])
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
