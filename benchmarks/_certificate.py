"""The page of the certificate: what coverage.py has found, in tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from _settings import main_grid
from _table import as_rst, as_text, heading
from scipy.stats import binom

Record = dict[str, Any]
Line = list[str]

LEVEL = 0.95
METHODS = ("delta", "blurred", "plus-four", "score")
PROPORTIONS = ("wilson", "agresti-coull", "clopper-pearson", "jeffreys")

# The goals for "score" on the main grid, by level, and for its joint intervals.
LEAST = {0.9: 0.88, 0.95: 0.93, 0.99: 0.98}
MOST_ERROR, MOST_LENGTH = 0.006, 1.01
JOINT_LEAST, JOINT_MOST_ERROR = 0.94, 0.012


class Sample:
    """Records of some kind and what is said of them together."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)

    def where(self, **values: Any) -> Sample:
        return Sample(
            each
            for each in self.records
            if all(each[key] == value for key, value in values.items())
        )

    def values(self, key: str) -> list[Any]:
        """Different values of a key, in order of appearance."""
        return list(dict.fromkeys(each[key] for each in self.records))

    def column(self, key: str) -> list[float]:
        return [each[key] for each in self.records]

    @property
    def worst(self) -> Record:
        return min(self.records, key=lambda each: each["coverage"])

    @property
    def least(self) -> float:
        return float(self.worst["coverage"])

    @property
    def noise(self) -> float:
        """Monte Carlo error of the least coverage."""
        worst = self.worst
        return math.sqrt(self.least * (1 - self.least) / worst["draws"])

    @property
    def mean(self) -> float:
        return fmean(self.column("coverage"))

    @property
    def error(self) -> float:
        """Mean absolute difference from the level."""
        return fmean(
            abs(each["coverage"] - each["confidence_level"]) for each in self.records
        )

    @property
    def length(self) -> float:
        """Geometric mean of the lengths relative to Pearson's."""
        ratios = np.array(self.column("relative_length"))
        return float(np.exp(np.log(ratios[ratios > 0]).mean()))

    def share(self, key: str) -> float:
        return fmean(self.column(key))


def write(
    single: list[Record], joint: list[Record], effort: Record, output: Path | None
) -> None:
    """Print the tables; write the page and its pictures."""
    one, many = Sample(single), Sample(joint)
    main, stress = one.where(chapter="main"), one.where(chapter="stress")
    sections: list[tuple[str, str, list[Line]]] = [
        ("Goals", _GOALS, goals(main, many)),
        ("Methods", _METHODS, by_method(main, stress)),
        ("Metrics", _METRICS, by_metric(main)),
        ("Rows", _ROWS, by_rows(main)),
        ("Where it is worst", _WORST, worst(main)),
        ("Joint intervals", _JOINT, joint_methods(many)),
    ]
    for title, _, lines in sections:
        print(f"\n{title}\n\n{as_text(lines)}")
    if output is None:
        return
    output.mkdir(parents=True, exist_ok=True)
    draw(main, many, output)
    one_row = {"method": "score", "confidence_level": LEVEL, "metric": "accuracy"}
    shown = {name: f"{value:,}" for name, value in effort.items()}
    words = _INTRODUCTION.format(
        draws=f"{effort['draws']:,}",
        joint_draws=f"{effort['joint_draws']:,}",
        settings=len(main.where(**one_row).records),
        stress=len(stress.where(**one_row).records),
        stress_draws=f"{effort['stress_draws']:,}",
        floor=number(lattice_floor(0.9, LEAST[0.9])),
        on_accuracy=number(
            main.where(method="score", confidence_level=0.9, metric="accuracy").error
        ),
    )
    sections = [
        (title, caption.format(**shown), lines) for title, caption, lines in sections
    ]
    text = f".. Written by benchmarks/coverage.py.\n\n{heading('Coverage')}\n{words}"
    for title, caption, lines in sections:
        text += f"\n{heading(title, '-')}\n{caption}\n{as_rst(lines)}"
        text += _PICTURES.get(title, "")
    (output / "coverage.rst").write_text(text, encoding="utf-8")


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


def goals(main: Sample, joint: Sample) -> list[Line]:
    """Each goal, what was found and whether it is met."""
    lines = [["score intervals", "level", "goal", "found", "met"]]

    def add(what: str, level: float, goal: str, found: str, verdict: str) -> None:
        lines.append([what, f"{level:g}", goal, found, verdict])

    for level, least in LEAST.items():
        own = main.where(method="score", confidence_level=level)
        add(
            "least coverage",
            level,
            f"at least {number(least)}",
            f"{number(own.least)}, Monte Carlo error {number(own.noise)}",
            at_least(own, least),
        )
        add(
            "mean absolute error",
            level,
            f"at most {number(MOST_ERROR)}",
            f"{own.error:.5f}",
            at_most(own.error, MOST_ERROR),
        )
        add(
            "length, relative to Pearson's",
            level,
            f"at most {MOST_LENGTH:g}",
            f"{own.length:.3f}",
            at_most(own.length, MOST_LENGTH),
        )
        faults = own.share("outside"), own.share("zero_width")
        add(
            "outside of the range; without width",
            level,
            "none",
            f"{faults[0]:.1%}; {faults[1]:.1%}",
            "no" if any(faults) else "yes",
        )
    own = joint.where(method="score")
    level = own.records[0]["confidence_level"]
    add(
        "least joint coverage",
        level,
        f"at least {number(JOINT_LEAST)}",
        f"{number(own.least)}, Monte Carlo error {number(own.noise)}",
        at_least(own, JOINT_LEAST),
    )
    add(
        "mean absolute error, joint",
        level,
        f"at most {number(JOINT_MOST_ERROR)}",
        f"{own.error:.5f}",
        at_most(own.error, JOINT_MOST_ERROR),
    )
    return lines


def at_least(own: Sample, goal: float) -> str:
    """Judge a least coverage, which is only known within a Monte Carlo error."""
    if own.least >= goal:
        return "yes"
    return "within error" if own.least + 2 * own.noise >= goal else "no"


def at_most(value: float, goal: float) -> str:
    return "yes" if value <= goal else "no"


def by_method(main: Sample, stress: Sample) -> list[Line]:
    lines = [
        [
            "method",
            "metrics",
            "least",
            "mean",
            "mean absolute error",
            "least, stress set",
            "length",
            "without width",
        ]
    ]
    for method in (*METHODS, *PROPORTIONS):
        own = main.where(method=method, confidence_level=LEVEL)
        other = stress.where(method=method, confidence_level=LEVEL)
        metrics = own.values("metric")
        lines.append(
            [
                method,
                metrics[0] if len(metrics) == 1 else str(len(metrics)),
                number(own.least),
                number(own.mean),
                number(own.error),
                number(other.least),
                f"{own.length:.2f}",
                f"{own.share('zero_width'):.1%}",
            ]
        )
    return lines


def by_metric(main: Sample) -> list[Line]:
    lines = [["metric", *(f"{method}: least, mean" for method in METHODS)]]
    at = main.where(confidence_level=LEVEL)
    for metric in at.values("metric"):
        own = at.where(metric=metric)
        lines.append([metric, *(_least_and_mean(own, method) for method in METHODS)])
    return lines


def by_rows(main: Sample) -> list[Line]:
    lines = [
        ["rows", *(f"{method}: least, mean" for method in METHODS), "score: error"]
    ]
    at = main.where(confidence_level=LEVEL)
    for n in sorted(at.values("n")):
        own = at.where(n=n)
        lines.append(
            [
                str(n),
                *(_least_and_mean(own, method) for method in METHODS),
                number(own.where(method="score").error),
            ]
        )
    return lines


def worst(main: Sample, number_of: int = 5) -> list[Line]:
    """The settings in which "score" covers least, and what the others do there."""
    lines = [["metric", "level", "rows", "prevalence", "rule", "expected errors"]]
    lines[0] += METHODS
    for level in LEAST:
        own = main.where(method="score", confidence_level=level)
        order = sorted(own.records, key=lambda each: each["coverage"])
        for each in order[:number_of]:
            key = {
                name: each[name]
                for name in ("metric", "n", "prevalence", "quality", "confidence_level")
            }
            found = {
                other["method"]: number(other["coverage"])
                for other in main.where(**key).records
            }
            share = each["prevalence"] * each["miss_rate"]
            share += (1 - each["prevalence"]) * each["false_positive_rate"]
            lines.append(
                [
                    each["metric"],
                    f"{level:g}",
                    str(each["n"]),
                    f"{each['prevalence']:g}",
                    each["quality"],
                    f"{each['n'] * share:.1f}",
                    *(found.get(method, "") for method in METHODS),
                ]
            )
    return lines


def joint_methods(joint: Sample) -> list[Line]:
    lines = [["method", "rules x metrics", "least", "mean", "mean absolute error"]]
    for method in joint.values("method"):
        own = joint.where(method=method)
        for metrics in own.values("metrics"):
            family = own.where(metrics=metrics)
            rules = family.records[0]["rules"]
            name = f"{rules} x ({', '.join(metrics.split())})"
            lines.append([method, name, *_joint_figures(family)])
        lines.append([method, "all", *_joint_figures(own)])
    return lines


def _joint_figures(own: Sample) -> Line:
    return [number(own.least), number(own.mean), number(own.error)]


def _least_and_mean(own: Sample, method: str) -> str:
    chosen = own.where(method=method)
    if not chosen.records:
        return ""
    return f"{number(chosen.least)}, {number(chosen.mean)}"


def number(value: float) -> str:
    """Write a share, or a goal for one."""
    return f"{value:.4f}"


def lattice_floor(level: float, least: float) -> float:
    """Smallest mean absolute error that intervals for the accuracy could have.

    Whatever the interval, it holds the truth for a set of numbers of errors. Take for
    each setting the run of numbers, none of them left out, that comes nearest to the
    level and is not below the least coverage.
    """
    errors = []
    for setting in main_grid():
        _, fp, fn, _ = setting.cells
        below = binom.cdf(np.arange(-1, setting.n + 1), setting.n, fp + fn)
        coverage = below[np.newaxis] - below[:, np.newaxis]
        allowed = coverage[coverage >= least]
        errors.append(float(np.abs(allowed - level).min()))
    return fmean(errors)


# --------------------------------------------------------------------------------------
# Pictures
# --------------------------------------------------------------------------------------

_COLOURS = {
    "delta": "#c1443c",
    "blurred": "#d8932b",
    "plus-four": "#5b8fb9",
    "score": "#22577a",
}


def draw(main: Sample, joint: Sample, output: Path) -> None:
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
            ax.axhline(LEVEL, color="0.35", linewidth=0.8, linestyle="--", zorder=0)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(color="0.92")
            ax.set_axisbelow(True)
        return figure, axes

    def save(figure: Any, name: str) -> None:
        figure.savefig(output / name, dpi=150, metadata={"Software": None})
        plt.close(figure)

    at = main.where(confidence_level=LEVEL)
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


# --------------------------------------------------------------------------------------
# Words
# --------------------------------------------------------------------------------------

_INTRODUCTION = """\
A 95% interval promises to hold the truth in 95 of 100 samples. Here the promise is
put to the test: samples are drawn from populations whose truth is known, and it is
counted how often the intervals hold it.

The *main grid* has {settings} settings: 30 to 3000 rows, prevalences from .5 to .01
and four kinds of rule, wherever at least five positives are expected. A *poor* rule
misses .4 of the positives and gives .3 of the negatives a false alarm, a *good* one
.15 and .1, a *near-perfect* one .02 and .01; a *conservative* one finds a tenth of
the positives and is right in half of its alarms. Each setting has {draws} samples.
The *stress set* has {stress} settings at random between these extremes and beyond,
each with {stress_draws} samples. Every metric is measured in every setting; a sample
in which it is not defined is left out. *Mean absolute error* is the mean, over
settings, of how far the coverage is from its level, and *length* is relative to the
interval from Pearson's statistic alone (Wilson's interval for a proportion), a
geometric mean over the settings of ratios of mean lengths. The tables are of 95%
intervals where they name no level.

A coverage that is counted on so many samples is itself known within a *Monte Carlo
error*: about .002 where there are {draws} samples. That of a least coverage is given
in brackets or beside it; the mean absolute error holds some of that noise, too.

What is certified are skci's own intervals. Its "delta" differs from the textbook's
where the rows show no variance: it gives the whole range, which covers and is long,
and not a single point. For "score", a truth counts as held if the test that the
interval inverts accepts it; for samples of each setting the limits themselves are
computed as well, for the lengths.

With few errors, coverage moves in steps: a sample has 2 or 3 errors and nothing
between, so no interval covers exactly .95. For the accuracy at level .9, no intervals
that hold the truth for a run of numbers of errors, with a least coverage of .88,
could have a mean absolute error below {floor} on this grid; that of "score" is
{on_accuracy}.

What is found can be had as a tidy table: ``benchmarks/coverage.py`` leaves it in its
folder ``--work``.
"""

_GOALS = """\
What "score" set out to reach on the main grid, and for joint intervals at level .95.
*Within error* is short of the goal by less than two Monte Carlo errors, which chance
alone could do. That no interval leaves the range or is without width was seen on
{lengths} samples of each setting.
"""
_METHODS = """\
All methods. The last four are for proportions; they were given the accuracy.
"""
_METRICS = """\
The least and the mean coverage over the settings of the main grid. Plus-four is not
offered for lift.
"""
_ROWS = """\
The same by the number of rows.
"""
_WORST = """\
The settings of the main grid in which "score" covers least.
"""
_JOINT = """\
All intervals of a report at once, at level .95: three families of rules and metrics,
100 to 2000 rows, prevalences .5, .2 and .05, poor, good and near-perfect rules whose
answers are correlated (latent normals with correlation .6), wherever at least ten
positives are expected. Each setting has {joint_draws} samples, so that a coverage is
known to about .007, and the least of so many settings is expected to be as low as
.933 where all of them cover .95. Conservative rules are left out. Undefined metrics
hold their truth, for their interval is the whole range.
"""

_PICTURES = {
    "Rows": """
.. figure:: coverage_rows.png
   :alt: Coverage against the number of rows for four methods

   Coverage of 95% intervals against the number of rows, over the settings of the
   main grid: mean (thick), the middle 90% (band) and the least (thin). What is below
   .5 is cut off.
""",
    "Methods": """
.. figure:: coverage_length.png
   :alt: Coverage against length for four methods

   What coverage costs: each dot is a setting of the main grid. Dots outside of the
   frame are not shown.
""",
    "Joint intervals": """
.. figure:: coverage_joint.png
   :alt: Joint coverage against the number of rows for three methods

   Joint coverage of reports, each dot a setting. What is below .5 is cut off.
""",
}
