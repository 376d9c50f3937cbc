"""Axes, colours, lines and legends that displays share."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import printable

# Okabe and Ito's palette, safe for the colour blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
GREY = "0.5"  # seen on white and on black
SHADE = 0.18  # opacity of a band

_WIDTHS = (3.4, 3.0, 2.5)  # of one, two and three panels side by side, in inches
_MAX_LABEL = 36  # characters to a line
_CHANCE, _BELOW = "skci-chance", "skci-below"  # to find a line and a legend again


def wrapped(name: str, width: int = _MAX_LABEL) -> str:
    """Break the lines of a long name."""
    return textwrap.fill(printable(name), width) or name


def panel_width(panels: int) -> float:
    """Width of a panel, so that the text of a figure is legible at column width."""
    return _WIDTHS[min(panels, len(_WIDTHS)) - 1]


def axis_limits(values: Array) -> tuple[float, float]:
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
    add_legend(ax, new_figure, 3, handles)


def add_legend(ax: Any, new_figure: bool, columns: int, handles: Any) -> int:
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
        return add_legend(ax, new_figure, columns - 1, handles)
    return -(-len(handles) // columns)
