"""Figures of simulated coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.common.pages import saved_figure
from benchmarks.common.results import Records
from benchmarks.coverage.vectorized import METHODS

_COLOURS = {
    "delta": "#c1443c",
    "blurred": "#d8932b",
    "plus-four": "#5b8fb9",
    "score": "#22577a",
}
_YLIM = (0.5, 1.005)


def draw(main: Records, joint: Records, level: float, output: Path) -> None:
    """Draw coverage by sample size, coverage by width and joint coverage."""
    sizes = sorted(main.unique("n"))
    with _panels(METHODS, level, output / "coverage_rows.png", "coverage") as axes:
        for ax, method in axes:
            coverage = [
                main.where(method=method, n=n).column("coverage") for n in sizes
            ]
            low, high = np.transpose([np.quantile(c, [0.05, 0.95]) for c in coverage])
            colour = _COLOURS[method]
            ax.fill_between(sizes, low, high, color=colour, alpha=0.25, linewidth=0)
            ax.plot(sizes, list(map(fmean, coverage)), color=colour, linewidth=2)
            ax.plot(sizes, list(map(min, coverage)), color=colour, linewidth=0.8)
            ax.set(xscale="log", ylim=_YLIM, xlabel="rows")
            ax.set_xticks(sizes[::2], [str(n) for n in sizes[::2]])
            ax.minorticks_off()

    with _panels(METHODS, level, output / "coverage_length.png", "coverage") as axes:
        for ax, method in axes:
            records = main.where(method=method)
            width, coverage = (
                records.column("relative_width"),
                records.column("coverage"),
            )
            ax.scatter(width, coverage, 5, _COLOURS[method], alpha=0.4, linewidth=0)
            ax.axvline(1, color="0.35", linewidth=0.8, linestyle="--", zorder=0)
            ax.set(xlim=(0.4, 2.2), ylim=_YLIM, xlabel="width, relative to Pearson's")

    methods, sizes = joint.unique("method"), sorted(joint.unique("n"))
    file = output / "coverage_joint.png"
    with _panels(methods, level, file, "joint coverage") as axes:
        for ax, method in axes:
            for position, n in enumerate(sizes):
                coverage = joint.where(method=method, n=n).column("coverage")
                spread = np.linspace(-0.3, 0.3, len(coverage))
                ax.scatter(position + spread, coverage, 9, _COLOURS[method])
            ax.set(ylim=_YLIM, xlabel="rows")
            ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])


@contextmanager
def _panels(
    methods: Sequence[str], level: float, file: Path, ylabel: str
) -> Iterator[list[tuple[Any, str]]]:
    """One panel per method, with a line at the nominal level."""
    size = (2.6 * len(methods) + 0.6, 3.2)
    with saved_figure(
        file, 1, len(methods), sharex=True, sharey=True, figsize=size
    ) as (_, axes):
        for ax, method in zip(axes[0], methods, strict=True):
            ax.set_title(method, fontsize=11)
            ax.axhline(level, color="0.35", linewidth=0.8, linestyle="--", zorder=0)
            ax.grid(color="0.92")
            ax.set_axisbelow(True)
        axes[0, 0].set_ylabel(ylabel)
        yield list(zip(axes[0], methods, strict=True))
