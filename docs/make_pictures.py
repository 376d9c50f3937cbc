"""Make the pictures of a report, of differences, of their power and of a curve.

The code of the pages is run until there is what is drawn, so that picture and text
agree.
"""

import doctest
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from skci.reports.panels import COLOURS

DOCS = Path(__file__).resolve().parent


def run_until(page, name):
    """Run the examples of a page until they have made something of this name."""
    names = {"__name__": __name__}
    text = page.read_text(encoding="utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
        if name in names:
            return names[name]
    raise SystemExit(f"{page.name}: no {name}")


def save(figure, name):
    """Write a picture."""
    figure.savefig(DOCS / "_static" / name, dpi=150, metadata={"Software": None})


def power_curves(pilot):
    """Draw the power of one comparison against the number of rows."""
    rows = np.geomspace(50, 5000, 60).astype(int)
    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    ax.set_prop_cycle(color=COLOURS)
    for difference in (0.05, 0.03, 0.02, 0.01):
        power = pilot.power(rows, difference=difference)[:, 0]
        ax.plot(rows, power, label=f"{difference:g}")
    ax.axhline(0.8, color="0.6", linestyle=":", zorder=0)
    ax.set(xscale="log", xlabel="rows", ylabel="power", ylim=(0, 1.02))
    ax.set_xticks([50, 100, 200, 500, 1000, 2000, 5000])
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        title="true difference",
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    return figure


def main():
    """Draw the report of the README's tour and what a page compares."""
    matplotlib.use("Agg")
    save(run_until(DOCS.parent / "README.md", "report").plot().figure_, "report.png")
    report = run_until(DOCS / "comparing.rst", "report")
    save(report.differences().plot().figure_, "differences.png")
    decisions = DOCS / "decisions"
    save(power_curves(run_until(decisions / "how_many_rows.rst", "pair")), "power.png")
    curve = run_until(decisions / "where_to_cut.rst", "curve")
    save(curve.plot().figure_, "curve.png")
    curves = run_until(DOCS / "clinical.rst", "curves")
    save(curves.plot().figure_, "decision_curve.png")


if __name__ == "__main__":
    main()
