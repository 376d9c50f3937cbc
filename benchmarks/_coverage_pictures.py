"""The pictures of the certificate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from _batch import METHODS
from _sample import Sample

_COLOURS = {
    "delta": "#c1443c",
    "blurred": "#d8932b",
    "plus-four": "#5b8fb9",
    "score": "#22577a",
}


def draw(at: Sample, joint: Sample, level: float, output: Path) -> None:
    """Draw coverage by rows, length beside coverage and joint coverage."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def panels(methods: Iterable[str], **options: Any) -> Any:
        methods = list(methods)
        size = (2.6 * len(methods) + 0.6, 3.2)
        figure, axes = plt.subplots(
            1,
            len(methods),
            sharex=True,
            sharey=True,
            figsize=size,
            layout="constrained",
        )
        for ax, method in zip(axes, methods, strict=True):
            ax.set_title(method, fontsize=11)
            ax.axhline(level, color="0.35", linewidth=0.8, linestyle="--", zorder=0)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(color="0.92")
            ax.set_axisbelow(True)
        return figure, axes

    def save(figure: Any, name: str) -> None:
        figure.savefig(output / name, dpi=150, metadata={"Software": None})
        plt.close(figure)

    rows = sorted(at.values("n"))

    figure, axes = panels(METHODS)
    for ax, method in zip(axes, METHODS, strict=True):
        coverage = [at.where(method=method, n=n).column("coverage") for n in rows]
        low, high = np.transpose([np.quantile(each, [0.05, 0.95]) for each in coverage])
        colour = _COLOURS[method]
        ax.fill_between(rows, low, high, color=colour, alpha=0.25, linewidth=0)
        ax.plot(rows, [fmean(each) for each in coverage], color=colour, linewidth=2)
        ax.plot(rows, [min(each) for each in coverage], color=colour, linewidth=0.8)
        ax.set(xscale="log", ylim=(0.5, 1.005), xlabel="rows")
        ax.set_xticks(rows[::2], [str(n) for n in rows[::2]])
        ax.minorticks_off()
    axes[0].set_ylabel("coverage")
    save(figure, "coverage_rows.png")

    figure, axes = panels(METHODS)
    for ax, method in zip(axes, METHODS, strict=True):
        own = at.where(method=method)
        length, coverage = own.column("relative_length"), own.column("coverage")
        ax.scatter(
            length, coverage, s=5, color=_COLOURS[method], alpha=0.4, linewidth=0
        )
        ax.axvline(1, color="0.35", linewidth=0.8, linestyle="--", zorder=0)
        ax.set(
            xlim=(0.4, 2.2), ylim=(0.5, 1.005), xlabel="length, relative to Pearson's"
        )
    axes[0].set_ylabel("coverage")
    save(figure, "coverage_length.png")

    methods = joint.values("method")
    figure, axes = panels(methods)
    sizes = sorted(joint.values("n"))
    for ax, method in zip(axes, methods, strict=True):
        for position, n in enumerate(sizes):
            coverage = joint.where(method=method, n=n).column("coverage")
            spread = np.linspace(-0.3, 0.3, len(coverage))
            ax.scatter(position + spread, coverage, s=9, color=_COLOURS[method])
        ax.set(ylim=(0.5, 1.005), xlabel="rows")
        ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    axes[0].set_ylabel("joint coverage")
    save(figure, "coverage_joint.png")
