"""Plots of confidence intervals; matplotlib is imported when plotting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skci._arrays import Array
from skci.reports.axes import (
    COLOURS,
    GREY,
    add_legend,
    axis_limits,
    new_panels,
    panel_width,
    wrapped,
)
from skci.reports.rendering import format_level

_THIN, _THICK = 1.5, 5
_MAX_TITLE = 28  # characters to a line
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
        lines = add_legend(axes[-1], new_figure, columns, self._handles())
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
        Individual intervals.
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
            style = {"color": GREY, "linewidth": width, "label": label}
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
        axes = new_panels(panels, panel_width(panels), height, margin, sharey=True)
        for ax in axes:
            ax.locator_params(axis="x", nbins=6)
            ax.tick_params(axis="x", labelsize="small")
        return axes

    def _plot_panel(self, ax: Any, metric: str) -> None:
        rules, colours = list(dict.fromkeys(self.rules)), self._colours()
        rows = [k for k, name in enumerate(self.metrics) if name == metric]
        drawn = [self.intervals, self.individual_intervals, self.estimates]
        guides = self._guides(metric)
        edges = axis_limits(np.append(np.column_stack(drawn)[rows], list(guides)))
        for position, linestyle in guides.items():
            ax.axvline(position, color=GREY, linewidth=0.8, linestyle=linestyle)
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


def _check_axes(axes: Any, metrics: Sequence[str]) -> Array:
    """Check axes, one for each metric."""
    axes = np.ravel(axes)
    if len(axes) != len(metrics):
        raise ValueError(
            f"axes must be one for each of {len(metrics)} metrics, got {len(axes)}"
        )
    return axes
