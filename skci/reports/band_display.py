"""Plots of curves with confidence bands; matplotlib is imported when plotting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.special import ndtri

from skci._arrays import Array
from skci.reports.displays import (
    PanelDisplay,
    axis_limits,
    colour_places,
    cycle_of_curves,
    line_handles,
    new_axes,
    new_panels,
    styled,
    wrapped,
)
from skci.reports.rendering import format_level

_SHADE = 0.18  # opacity of a band
_LIGHT_SHADE = 0.07  # of one among several
_MOST_BARS = 8  # positions at which several models have bars and no bands
_BAR, _THICK_BAR = 1.2, 3.0  # widths of joint and individual intervals
_STEPS = 400  # of an outline
_THIN_LIMIT = 0.7  # width of a line of limits
_HEADROOM = 1.15  # over the greatest number of rows in its panel
QUANTILES = 3.3
"""Greatest normal quantile that is drawn."""
_RATES = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
_CORNERS = np.array([[0.0, 0.0], [1.0, 1.0]])
_REFERENCE = "skci-diagonal"  # to find a line again


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceBandDisplay(PanelDisplay):
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

    Examples
    --------
    >>> from skci import roc_report
    >>> report = roc_report([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> (ax,) = report.plot().axes_
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('false positive rate', 'recall')
    """

    models: Sequence[str]
    metrics: Sequence[str]
    points: Array
    intervals: Array
    axis_labels: tuple[str, str]
    confidence_level: float
    simultaneous: bool = True
    horizontal_intervals: Array | None = None
    individual_intervals: Array | None = None
    unit_square: bool = True
    normal_quantiles: bool = False
    diagonal: str | None = None
    baseline: str | None = None
    floor: float | None = None
    joins_corners: bool = False
    n_rows: Array | None = None
    known_models: Sequence[str] | None = None

    _legend_columns: ClassVar = 3

    def plot(
        self,
        *,
        ax: Any = None,
        title: str | None = None,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the curves and the bands; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One for each metric, and one more for the number of rows, which is else left
            out; a new figure is made if not given. Models have their colours in empty
            axes; to those that have curves others are added, in the next colours, and
            the diagonal is drawn once.
        title : str, optional
            Of the figure.
        name : str, optional
            Label of the curve of a model without a name.
        curve_kwargs : mapping of str, or sequence of them, optional
            Passed to ``Axes.plot``, for all curves or for each model.
        band_kwargs : mapping of str, optional
            Passed to the ``PathPatch`` of each band.
        plot_chance_level : bool, default=True
            Whether to draw the diagonal, or the baseline.
        chance_level_kw : mapping of str, optional
            Passed to ``Axes.plot`` for it.

        Returns
        -------
        self
            With the axes and the figure.

        Raises
        ------
        ValueError
            If the axes are not as many as the metrics, or `curve_kwargs` not as many as
            the models.
        """
        models, styles = list(dict.fromkeys(self.models)), curve_kwargs
        if styles is None or isinstance(styles, Mapping):
            styles = [styles or {}] * len(models)
        if len(styles) != len(models):
            raise ValueError(
                f"curve_kwargs must be one mapping, or one for each of {len(models)} "
                f"models, got {len(styles)}"
            )
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.chance_level_ = None
        panels = self._open(ax)
        self._set_colours([each for each in self.axes_ if not each.has_data()])
        for each, metric in panels:
            panel = self._rows_of(metric)
            drawn = [self.points[:, 1], self.intervals, self.individual_intervals]
            floor = -np.inf if self.floor is None else self.floor
            shown = [np.maximum(x[panel], floor) for x in drawn if x is not None]
            limits = axis_limits(*shown)
            for model, style in zip(models, styles, strict=True):
                curve = [k for k in panel if self.models[k] == model]
                if not curve:
                    continue
                label = wrapped(model or name or "estimate")
                points = self._shifted(curve, models.index(model) if self._bars else 0)
                line = self._plot_line(each, points, {"label": label, **style})
                self.lines_.append(line)
                colour = line.get_color()
                if not self._bars:
                    self._plot_band(each, curve, limits, colour, band_kwargs)
                    continue
                for width, of_all in zip((_BAR, _THICK_BAR), drawn[1:], strict=True):
                    if of_all is not None:  # thick where they are individual
                        ends = np.clip(of_all[curve], *limits).T
                        bars = {"color": colour, "linewidth": width}
                        each.vlines(points[:, 0], *ends, **bars)
            if (self.diagonal or self.baseline) and plot_chance_level:
                self.chance_level_ = self._plot_reference(each, chance_level_kw)
            self._set_axes(each, limits)
        if self.n_rows is not None and len(self.axes_) > 1:
            self._plot_rows(self.axes_[1], self.n_rows)
        return self._close(ax is None, title)

    def _set_colours(self, axes: Iterable[Any]) -> None:
        """Make the first colours of axes those of the models, in the order drawn."""
        styles = list(cycle_of_curves())
        places = colour_places(self.models, self.known_models)
        drawn = [places[model] for model in dict.fromkeys(self.models)]
        if max(drawn) < len(styles):
            first = [styles[k] for k in drawn]
            styles = first + [style for style in styles if style not in first]
        for ax in axes:
            ax.set_prop_cycle(**{k: [style[k] for style in styles] for k in styles[0]})

    def _new_axes(self, panels: int) -> Any:
        if not self.unit_square:
            return new_panels(panels, 3.0, 0.2, sharex=True)
        if self.n_rows is None:
            return new_axes(1, 1, figsize=(4.4, 4.8))
        return new_axes(2, 1, figsize=(4.4, 5.9), height_ratios=[5, 1])

    def _set_axes(self, ax: Any, limits: tuple[float, float]) -> None:
        """Set limits, labels and grid of a panel."""
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

    @property
    def _several(self) -> bool:
        """Whether there are curves of several models."""
        return len(set(self.models)) > 1

    @property
    def _bars(self) -> bool:
        """Whether bars are drawn in place of bands."""
        few = len(np.unique(self.points[:, 0])) <= _MOST_BARS
        return self._several and few and not self.unit_square

    def _shifted(self, curve: list[int], place: int) -> Array:
        """Points of a model, with its bars beside those of the others."""
        points = self.points[curve]
        if not self._bars:
            return points
        positions, n = np.unique(self.points[:, 0]), len(set(self.models))
        extent = np.ptp(positions)
        gap = min(np.diff(positions).min(), extent / 8) if extent else 1.0
        shift = (place - (n - 1) / 2) * min(0.6 * gap / n, 0.2 * gap)
        return points + np.array([shift, 0.0])

    def _plot_line(self, ax: Any, points: Array, style: Mapping[str, Any]) -> Any:
        """Draw the points of a model, and its line, perhaps from corner to corner."""
        marked = slice(None)
        if self.joins_corners:  # which have no marks, for they are known
            points = np.concatenate([_CORNERS[1:], points, _CORNERS[:1]])
            marked = slice(1, -1)
        default = {
            "marker": "o",
            "markersize": 4,
            "markerfacecolor": ax.get_facecolor(),
            "markevery": list(range(len(points))[marked]),
        }
        if self._bars:
            default |= {"linewidth": _THIN_LIMIT}
        (line,) = ax.plot(*points.T, **styled(default, style))
        return line

    def _plot_band(
        self,
        ax: Any,
        curve: list[int],
        edges: tuple[float, float],
        colour: str,
        style: Any,
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
        default = {"facecolor": colour, "alpha": shade, "linewidth": 0}
        band = PathPatch(
            Path.make_compound_path(*paths), **styled(default, style, PathPatch)
        )
        self.bands_.append(ax.add_patch(band))
        if self._several:
            ax.plot(*_outline(hulls), alpha=0.8, **thin)
        elif self.individual_intervals is not None:
            limits = np.clip(self.individual_intervals[curve], *edges)
            ax.plot(self.points[curve, 0], limits, **thin)

    def _plot_reference(self, ax: Any, style: Mapping[str, Any] | None) -> Any:
        """Draw the diagonal or the baseline, or restyle the one that the axes have."""
        drawn = [line for line in ax.lines if line.get_gid() == _REFERENCE]
        if drawn:
            drawn[0].update(dict(style or {}))
            return drawn[0]
        default = {"color": ax.xaxis.label.get_color(), "alpha": 0.7, "linewidth": 0.8}
        label = self.diagonal or self.baseline
        default |= {"linestyle": "--", "label": label, "gid": _REFERENCE}
        if self.baseline:
            return ax.axhline(0.0, zorder=1.8, **styled(default, style))
        return ax.plot(*_CORNERS.T, zorder=1.8, **styled(default, style))[0]

    def _plot_rows(self, ax: Any, n_rows: Array) -> None:
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
        curves = [line for line in lines if line not in diagonal]
        grey = self.axes_[0].xaxis.label.get_color()
        colour = curves[0].get_color() if len(curves) == 1 else grey
        level = format_level(self.confidence_level, self.simultaneous)
        band = Patch(facecolor=colour, alpha=_SHADE, label=f"{level} band")
        bars = line_handles({f"{level} intervals": _BAR})
        handles = [*curves, *(bars if self._bars else [band])]
        if self.individual_intervals is not None and (self._bars or not self._several):
            label = f"{format_level(self.confidence_level, False)} intervals"
            handles += line_handles({label: _THICK_BAR if self._bars else _THIN_LIMIT})
        return handles + diagonal


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
