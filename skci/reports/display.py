"""Pictures of confidence intervals; matplotlib is imported when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._arrays import Array

__all__ = ["ConfidenceBandDisplay", "ConfidenceIntervalDisplay"]


# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_THIN, _THICK = 1.5, 5

# Letters to a line of a label, so that long names are not cut off.
_LINE = 36


class ConfidenceIntervalDisplay:
    """Intervals of several rules, a panel for each metric.

    A thick line is the individual interval, the thin one around it the joint interval,
    and the dot the estimate. Dotted lines are of undefined estimates; an arrow says
    that an interval has no end. Made by ``JointReport.plot``.

    Parameters
    ----------
    rules, metrics : sequence of str, of length K
        Label of each estimate.
    estimates : array of shape (K,)
    intervals : array of shape (K, 2)
        Joint intervals.
    individual_intervals : array of shape (K, 2)
    confidence_level : float
    reference : float, optional
        Value to draw a line at, such as no difference.

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
    >>> len(display.axes_)
    2
    """

    def __init__(
        self,
        *,
        rules: Sequence[str],
        metrics: Sequence[str],
        estimates: Array,
        intervals: Array,
        individual_intervals: Array,
        confidence_level: float,
        reference: float | None = None,
    ) -> None:
        self.rules = rules
        self.metrics = metrics
        self.estimates = estimates
        self.intervals = intervals
        self.individual_intervals = individual_intervals
        self.confidence_level = confidence_level
        self.reference = reference

    def plot(self, *, axes: Any = None) -> ConfidenceIntervalDisplay:
        """Draw.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One for each metric; a new figure is made if not given.

        Returns
        -------
        ConfidenceIntervalDisplay
            Itself, with ``axes_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `axes` are not as many as the metrics.
        """
        metrics = list(dict.fromkeys(self.metrics))
        given = axes is not None
        axes = np.ravel(axes if given else self._new_axes(len(metrics)))
        if len(axes) != len(metrics):
            raise ValueError(
                f"axes must be one for each of {len(metrics)} metrics, got {len(axes)}"
            )
        for ax, metric in zip(axes, metrics, strict=True):
            self._plot_panel(ax, metric)
        self.axes_ = axes
        self.figure_ = axes[0].figure
        handles = self._legend_handles(axes[-1])
        if given:  # where there is room for a legend is not known
            axes[-1].legend(handles=handles)
        else:
            self.figure_.legend(
                handles=handles, loc="outside lower center", ncols=2, frameon=False
            )
        return self

    def _new_axes(self, panels: int) -> Any:
        plt = pyplot()
        columns = min(panels, 3)
        lines = -(-panels // columns)
        rules = [_wrapped(rule) for rule in dict.fromkeys(self.rules)]
        letters = max(len(line) for rule in rules for line in rule.splitlines())
        height = 0.9 + sum(0.22 + 0.16 * len(rule.splitlines()) for rule in rules)
        _, axes = plt.subplots(
            lines,
            columns,
            figsize=(3.4 * columns + 0.4 + 0.1 * letters, height * lines + 0.5),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for unused in axes.flat[panels:]:
            unused.remove()
        return axes.flat[:panels]

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rules = list(dict.fromkeys(self.rules))
        rows = [k for k, own in enumerate(self.metrics) if own == metric]
        edges = self._edges(rows)
        if self.reference is not None:
            ax.axvline(self.reference, color="0.35", linewidth=0.8, linestyle="--")
        for k in rows:
            position = rules.index(self.rules[k])
            colour = COLOURS[position % len(COLOURS)]
            for limits, width in [
                (self.intervals[k], _THIN),
                (self.individual_intervals[k], _THICK),
            ]:
                ax.plot(
                    np.clip(limits, *edges),
                    [position, position],
                    color=colour,
                    linewidth=width,
                    linestyle=":" if np.isnan(self.estimates[k]) else "-",
                    solid_capstyle="butt",
                )
            for edge, limit, arrow in zip(edges, self.intervals[k], "<>", strict=True):
                if np.isinf(limit):
                    ax.plot(edge, position, arrow, color=colour, clip_on=False)
            if np.isfinite(self.estimates[k]):
                ax.plot(
                    self.estimates[k],
                    position,
                    "o",
                    color="white",
                    markeredgecolor=colour,
                    markersize=_THICK,
                )
        ax.set_xlim(edges)
        # Names are names, dollar signs and all.
        ax.set_title(_wrapped(metric), parse_math=False)
        names = [_wrapped(rule) for rule in rules]
        ax.set_yticks(range(len(rules)), names, parse_math=False)
        ax.set_ylim(len(rules) - 0.5, -0.5)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    def _edges(self, rows: list[int]) -> tuple[float, float]:
        """Find the ends of the axis of a panel: all that is finite, and a margin."""
        shown = np.concatenate(
            [
                self.intervals[rows].ravel(),
                self.individual_intervals[rows].ravel(),
                self.estimates[rows],
                [np.nan if self.reference is None else self.reference],
            ]
        )
        shown = shown[np.isfinite(shown)]
        low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
        high = high if high > low else low + 1
        margin = 0.05 * (high - low)
        return float(low - margin), float(high + margin)

    def _legend_handles(self, ax: Any) -> list[Any]:
        level = f"{100 * self.confidence_level:g}% interval"
        labels = {f"joint {level}": _THIN, f"individual {level}": _THICK}
        if np.array_equal(self.intervals, self.individual_intervals, equal_nan=True):
            labels = {level: _THICK}
        return [
            ax.plot([], [], color="0.35", linewidth=width, label=label)[0]
            for label, width in labels.items()
        ]


def pyplot() -> Any:
    """Import what draws, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib: pip install 'skci[plot]'"
        ) from error
    return plt


def _wrapped(name: str) -> str:
    return textwrap.fill(name, _LINE) or name


class ConfidenceBandDisplay:
    """A curve with its confidence band.

    The dots are the estimates at the thresholds and the fine rectangles around them
    their two intervals. The shaded band joins each rectangle to the next by straight
    lines: where all rectangles hold their points, it holds the whole line from one true
    point to the next. Made by ``CurveReport.plot``.

    Parameters
    ----------
    metrics : sequence of two str
        Of the horizontal axis and of the vertical one.
    thresholds : array of shape (T,)
        Increasing; they are kept with the points, not drawn.
    points : array of shape (T, 2)
        Estimates of both metrics.
    intervals : array of shape (T, 2, 2)
        Lower and upper limit of both metrics.
    confidence_level : float
    simultaneous : bool, default=True
        Whether all intervals cover at once.
    ends : array of shape (2, 2), optional
        Points that the curve runs between whatever the score is: the corners of a ROC
        curve. The line between them is that of chance.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skci import roc_report
    >>> y = [0] * 40 + [1] * 40
    >>> report = roc_report(y, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> report.plot().ax_.get_xlabel()
    'false positive rate'
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str],
        thresholds: Array,
        points: Array,
        intervals: Array,
        confidence_level: float,
        simultaneous: bool = True,
        ends: Array | None = None,
    ) -> None:
        self.metrics = metrics
        self.thresholds = thresholds
        self.points = points
        self.intervals = intervals
        self.confidence_level = confidence_level
        self.simultaneous = simultaneous
        self.ends = ends

    def plot(self, *, ax: Any = None) -> ConfidenceBandDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made if not given.

        Returns
        -------
        ConfidenceBandDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        given = ax is not None
        if not given:
            _, ax = pyplot().subplots(figsize=(4.4, 4.8), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        self._plot_curve()
        self._plot_band()
        self._plot_chance()
        across, up = (name.replace("_", " ") for name in self.metrics)
        ax.set(xlabel=across, xlim=_EDGES, xticks=_TICKS)
        ax.set(ylabel=up, ylim=_EDGES, yticks=_TICKS, aspect="equal")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if given:  # where there is room for a legend is not known
            ax.legend()
        else:
            self.figure_.legend(loc="outside lower center", ncols=3, frameon=False)
        return self

    def _plot_curve(self) -> None:
        colour = COLOURS[0]
        self.ax_.plot(
            *self.points.T,
            "o-",
            color=colour,
            markerfacecolor="white",
            markersize=4,
            label="estimate",
        )
        if self.ends is not None:
            first, last = self.ends[::-1]
            for leg in ([first, self.points[0]], [self.points[-1], last]):
                self.ax_.plot(*np.transpose(leg), color=colour, zorder=1.9)

    def _plot_chance(self) -> None:
        if self.ends is not None:
            self.ax_.plot(
                *self.ends.T,
                color="0.35",
                linewidth=0.8,
                linestyle="--",
                zorder=1.8,
                label="chance",
            )

    def _plot_band(self) -> None:
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        boxes = [_corners(*intervals) for intervals in self.intervals]
        around = boxes
        if self.ends is not None:
            around = [self.ends[1:], *boxes, self.ends[:1]]
        hulls = [
            Path(hull, closed=True)
            for pair in zip(around, [*around[1:], around[-1]], strict=True)
            if len(hull := _hull(np.concatenate(pair))) > 3
        ]
        kind = "joint" if self.simultaneous else "individual"
        level = f"{100 * self.confidence_level:g}%"
        self.ax_.add_patch(
            PathPatch(
                Path.make_compound_path(*hulls),
                facecolor=COLOURS[0],
                alpha=0.18,
                linewidth=0,
                label=f"{kind} {level} band",
            )
        )
        for box in boxes:
            self.ax_.add_patch(
                Polygon(
                    box, fill=False, edgecolor=COLOURS[0], alpha=0.25, linewidth=0.6
                )
            )


_EDGES = (-0.03, 1.03)
_TICKS = np.linspace(0, 1, 6)


def _corners(across: Array, up: Array) -> Array:
    """List the corners of a rectangle counterclockwise, shape (4, 2)."""
    (left, right), (low, high) = across, up
    return np.array([[left, low], [right, low], [right, high], [left, high]])


def _hull(points: Array) -> Array:
    """Find the corners of the convex hull counterclockwise, by Andrew's chain."""
    ordered = np.unique(points, axis=0)
    sides = []
    for way in (ordered, ordered[::-1]):
        side: list[Array] = []
        for point in way:
            while len(side) > 1 and _turn(side[-2], side[-1], point) <= 0:
                side.pop()
            side.append(point)
        sides += side[:-1]
    return np.array([*sides, *sides[:1]])


def _turn(a: Array, b: Array, c: Array) -> float:
    """Twice the area of a triangle, positive if it is counterclockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
