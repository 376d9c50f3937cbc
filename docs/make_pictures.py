"""Make the pictures of the pages: reports, differences, power, curves, runs, time.

The code of the pages is run until it has made the drawn object, so that picture and
text agree.
"""

import doctest
import subprocess
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from skci import AccuracyCI
from skci.reports.displays import COLOURS

DOCS = Path(__file__).resolve().parent


def run_until(page, name):
    """Run the examples of a page until this name is defined, and return its value."""
    return names_until(page, name)[name]


def names_until(page, name):
    """Run the examples of a page until this name is defined, and return all names."""
    names = {"__name__": __name__}
    text = page.read_text(encoding="utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
        if name in names:
            return names
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


def over_runs(blocks, label):
    """Draw estimates of each run and, below them, their means."""
    size = 0.35 * sum(len(runs) + 2 for _, runs, *_ in blocks)
    figure, ax = plt.subplots(figsize=(6, size), layout="constrained")
    rows, names = 0, {}
    for k, (title, runs, mean_title, mean) in enumerate(blocks):
        for number, run in enumerate([*runs, mean]):
            is_mean = number == len(runs)
            low, high = run.confidence_interval()
            color = COLOURS[k] if is_mean else "0.6"
            ax.plot([low, high], [rows, rows], color=color, linewidth=1 + 2 * is_mean)
            ax.plot(run, rows, "o", color=color, markersize=4 + 2 * is_mean)
            names[rows] = mean_title if is_mean else f"{title} {number + 1}"
            rows += 1
        rows += 1
    ax.set_yticks(list(names), list(names.values()))
    ax.set_ylim(rows - 1.4, -0.6)
    ax.set_xlabel(label)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


def seeds():
    """Draw the accuracy for each seed of two models, and the means over seeds."""
    made = names_until(DOCS / "seeds.rst", "report")
    X, y, report = made["X"][500:], made["y"][500:], made["report"].individual()
    blocks = [
        (
            f"{model}, seed",
            [AccuracyCI()(y, fitted.predict(X)) for fitted in runs],
            f"{model}, all seeds",
            report[model, "accuracy"],
        )
        for model, runs in made["runs"].items()
    ]
    return over_runs(blocks, "accuracy")


def readers():
    """Draw the difference of two tests for each reader, and the mean difference."""
    made = names_until(DOCS / "readers.rst", "each")
    (key,) = made["differences"]
    by_reader = made["each"].differences().individual()
    each = [by_reader[key[0], reader, *key[1:]] for reader in "PQRS"]
    block = "reader", each, "all readers", made["differences"][key]
    figure = over_runs([block], "area under the ROC curve, in use - new")
    figure.axes[0].axvline(0, color="0.6", linestyle=":", zorder=0)
    return figure


def in_time():
    """Draw the difference of losses over time, and both intervals for its mean."""
    made = names_until(DOCS / "time_series.rst", "report")
    losses = made["errors"]
    difference = losses["seasonal"] - losses["network"]
    figure, (ax, means) = plt.subplots(
        1, 2, figsize=(7, 2.6), layout="constrained", width_ratios=(5, 2)
    )
    ax.plot(difference, color="0.6", linewidth=0.8)
    ax.set(xlabel="day", ylabel="seasonal - network")
    titles = {"independent": made["independent"], "in order of time": made["report"]}
    for k, report in enumerate(titles.values()):
        estimate = report.differences()["mean", "seasonal", "network"]
        means.plot([k, k], estimate.confidence_interval(), color=COLOURS[k])
        means.plot(k, estimate, "o", color=COLOURS[k])
    means.set_xticks(range(2), ["independent\ndays", "in order\nof time"])
    means.set(xlim=(-0.5, 1.5), ylabel="mean")
    for each in (ax, means):
        each.axhline(0, color="0.3", linestyle=":", zorder=0)
        each.spines[["top", "right"]].set_visible(False)
    return figure


def page():
    """Photograph the page of a report, if there is a browser."""
    if (browser := which("chromium")) is None:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(run_until(DOCS / "html_page.rst", "page"), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        options += ["--disable-background-networking", "--disable-component-update"]
        options += ["--disable-sync", "--hide-scrollbars", "--window-size=1040,800"]
        options += [f"--user-data-dir={folder}/profile"]
        shot = f"--screenshot={DOCS / '_static' / 'page.png'}"
        subprocess.run(
            [browser, *options, shot, path.as_uri()], check=True, capture_output=True
        )


def main():
    """Draw all pictures."""
    matplotlib.use("Agg")
    tour = run_until(DOCS.parent / "README.md", "report")
    save(tour.plot().figure_, "report.png")
    with plt.style.context("dark_background"):
        save(tour.plot().figure_, "report_dark.png")
    report = run_until(DOCS / "comparing.rst", "report")
    save(report.differences().plot().figure_, "differences.png")
    decisions = DOCS / "decisions"
    save(power_curves(run_until(decisions / "how_many_rows.rst", "pair")), "power.png")
    curve = run_until(decisions / "where_to_cut.rst", "curve")
    save(curve.plot().figure_, "curve.png")
    save(seeds(), "seeds.png")
    save(readers(), "readers.png")
    forecasts = run_until(DOCS / "forecasts.rst", "report")
    save(forecasts.plot().figure_, "forecasts.png")
    coverage = run_until(DOCS / "probabilistic_forecasts.rst", "by_day")
    save(coverage.plot().figure_, "interval_coverage.png")
    save(in_time(), "time_series.png")
    by_task = run_until(DOCS / "suites.rst", "by_task")
    save(by_task.plot().figure_, "suites.png")
    profile = run_until(DOCS / "suites.rst", "profile")
    save(profile.plot().figure_, "profile.png")
    importances = run_until(DOCS / "importance.rst", "report")
    save(importances.plot().figure_, "importance.png")
    curves = run_until(DOCS / "clinical.rst", "curves")
    save(curves.plot().figure_, "decision_curve.png")
    save(run_until(DOCS / "uplift.rst", "curves").plot().figure_, "uplift.png")
    page()


if __name__ == "__main__":
    main()
