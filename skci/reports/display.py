"""Pictures of confidence intervals; matplotlib is imported when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._typing import Array

__all__ = ["ConfidenceIntervalDisplay"]


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
