"""Panels, axes, colours and legends that displays share."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array, ReadOnlyArrays
from skci._hints import with_hints
from skci._lazy import optional_module
from skci._validation import printable

# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
GREY = "0.5"  # seen on white and on black
MANY_ROWS = 30  # more are set closer together, in smaller type

_LEAST_LINE = 0.125  # height of a row with a label in the smallest type, in inches
_AROUND = 0.8  # height of the title and the ticks
_STEPS = (1, 5, 10, 20, 50, 100)  # rows to a label
_WIDTHS = (3.4, 3.0, 2.5)  # of one, two and three panels side by side, in inches
_MAX_LABEL, _MAX_TITLE = 36, 28  # characters to a line
_BELOW = "skci-below"  # to find a legend again
_MOST_ROOM = 0.5  # of the height of a panel, for a legend


class PanelDisplay(ReadOnlyArrays, ABC):
    """A figure with a panel for each metric, and one legend."""

    metrics: Sequence[str]
    axes_: Any
    figure_: Any

    _legend_columns: ClassVar = 1
    """Columns of the legend of a single panel."""

    _place_inside: ClassVar[Mapping[str, Any]] = {}
    """Where the legend is inside a panel; by default where it hides least."""

    @with_hints
    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the panels; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One for each metric; a new figure is made if not given.
        title : str, optional
            Of the figure.

        Returns
        -------
        self
            With the axes and the figure.

        Raises
        ------
        ValueError
            If the axes are not as many as the metrics.
        """
        for each, metric in self._open(ax):
            self._plot_panel(each, metric)
        return self._close(ax is None, title)

    def _open(self, ax: Any) -> list[tuple[Any, str]]:
        """Axes, given or of a new figure, and the metric of each panel."""
        panels = list(dict.fromkeys(self.metrics))
        axes = self._new_axes(len(panels)) if ax is None else np.ravel(ax)
        if not len(panels) <= len(axes) <= len(panels) + self._further_panels:
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
        """Whether the axes are all of a figure whose layout makes room for a legend.

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

    @property
    def _further_panels(self) -> int:
        """Number of panels of a new figure besides those of the metrics."""
        return 0

    @abstractmethod
    def _new_axes(self, panels: int) -> Any:
        """Axes of a new figure."""

    def _plot_panel(self, ax: Any, metric: str) -> None:
        """Draw what there is of a metric."""
        raise NotImplementedError

    @abstractmethod
    def _handles(self) -> list[Any]:
        """Entries of the legend, once the panels are drawn."""

    def _rows_of(self, metric: str) -> list[int]:
        """Positions of what is drawn in a panel."""
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


def panel_width(panels: int) -> float:
    """Width of a panel, so that the text of a figure is legible at column width."""
    return _WIDTHS[min(panels, len(_WIDTHS)) - 1]


def rows_to_label(ax: Any, rows: int) -> list[int]:
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


def new_panels(
    n: int, width: float, height: float, margin: float, **options: Any
) -> Any:
    """Axes of a new figure, three to a line, of panels of this size in inches."""
    columns = min(n, 3)
    lines = -(-n // columns)
    size = (width * columns + margin, height * lines + 0.5)
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
