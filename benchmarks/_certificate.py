"""The page of the certificate: what coverage.py has found, in tables and pictures."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
from _batch import METHODS, TEXTBOOK
from _coverage_pictures import draw
from _resume import Record
from _sample import Sample
from _settings import main_grid
from _table import Line, as_rst, as_text, heading, yes
from scipy.stats import binom

LEVEL = 0.95
PROPORTIONS = ("wilson", "agresti-coull", "clopper-pearson", "jeffreys")

# The goals for "score" on the main grid, by level, and for its joint intervals.
LEAST = {0.9: 0.88, 0.95: 0.93, 0.99: 0.98}
MOST_ERROR, MOST_LENGTH = 0.006, 1.01
JOINT_LEAST, JOINT_MOST_ERROR = 0.94, 0.012


def write(
    single: list[Record], joint: list[Record], effort: Record, output: Path | None
) -> None:
    """Print the tables; write the page and its pictures."""
    one, many = Sample(single), Sample(joint)
    main, stress = one.where(chapter="main"), one.where(chapter="stress")
    again = one.where(chapter="afresh")
    joint_main, joint_again = many.where(chapter="grid"), many.where(chapter="afresh")
    sections: list[tuple[str, str, list[Line]]] = [
        ("Goals", _GOALS, goals(main, again, joint_main, joint_again)),
        ("Methods", _METHODS, by_method(main, stress)),
        ("Metrics", _METRICS, by_metric(main)),
        ("Rows", _ROWS, by_rows(main)),
        ("Where it is worst", _WORST, worst(main, again)),
        ("Joint intervals", _JOINT, joint_methods(joint_main)),
    ]
    for title, _, lines in sections:
        print(f"\n{title}\n\n{as_text(lines)}")
    if output is None:
        return
    draw(main.where(confidence_level=LEVEL), joint_main, LEVEL, output)
    one_row = {"method": "score", "confidence_level": LEVEL, "metric": "accuracy"}
    shown = {name: f"{value:,}" for name, value in effort.items()}
    words = _INTRODUCTION.format(
        draws=shown["draws"],
        stress_draws=shown["stress_draws"],
        worst=shown["worst"],
        afresh_draws=shown["afresh_draws"],
        settings=len(main.where(**one_row).records),
        stress=len(stress.where(**one_row).records),
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


def goals(
    main: Sample, again: Sample, joint: Sample, joint_again: Sample
) -> list[Line]:
    """Each goal, what was found and whether it is met."""
    lines: list[Line] = [["score intervals", "level", "goal", "found", "met"]]
    for level, goal in LEAST.items():
        own = main.where(method="score", confidence_level=level)
        fresh = again.where(confidence_level=level)
        lines += [
            _least("least coverage", level, goal, fresh),
            _error("mean absolute error", level, MOST_ERROR, own),
            [
                "length, relative to Pearson's",
                f"{level:g}",
                f"at most {MOST_LENGTH:g}",
                f"{own.length:.3f}",
                yes(own.length <= MOST_LENGTH),
            ],
        ]
        for what, key in (("outside of the range", "outside"), _NO_WIDTH):
            share = own.share(key)
            lines.append([what, f"{level:g}", "none", f"{share:.1%}", yes(not share)])
    level = joint.records[0]["confidence_level"]
    lines.append(_least("least joint coverage", level, JOINT_LEAST, joint_again))
    own = joint.where(method="score")
    lines.append(_error("mean absolute error, joint", level, JOINT_MOST_ERROR, own))
    return lines


_NO_WIDTH = ("without width", "zero_width")


def _least(what: str, level: float, goal: float, fresh: Sample) -> Line:
    """Judge a least coverage, which is only known within a Monte Carlo error."""
    found = f"{number(fresh.least)}, Monte Carlo error {number(fresh.noise)}"
    met = yes(fresh.least >= goal)
    if fresh.least < goal <= fresh.least + 2 * fresh.noise:
        met = "within error"
    return [what, f"{level:g}", f"at least {number(goal)}", found, met]


def _error(what: str, level: float, goal: float, own: Sample) -> Line:
    met = yes(own.error <= goal)
    return [what, f"{level:g}", f"at most {number(goal)}", f"{own.error:.5f}", met]


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
            "whole range",
            "without width",
        ]
    ]
    everything = len(main.values("metric"))
    for method in (TEXTBOOK, *METHODS, *PROPORTIONS):
        own = main.where(method=method, confidence_level=LEVEL)
        other = stress.where(method=method, confidence_level=LEVEL)
        metrics = own.values("metric")
        lines.append(
            [
                method,
                "all" if len(metrics) == everything else _some(metrics),
                number(own.least),
                number(own.mean),
                number(own.error),
                number(other.least),
                f"{own.length:.2f}",
                f"{own.share('whole_range'):.1%}",
                f"{own.share('zero_width'):.1%}",
            ]
        )
    return lines


def _some(metrics: list[str]) -> str:
    return f"{metrics[0]} only" if len(metrics) == 1 else "all but lift"


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


def worst(main: Sample, again: Sample, number_of: int = 5) -> list[Line]:
    """The settings in which "score" covers least, and what the others do there."""
    header = ["metric", "level", "rows", "prevalence", "rule", "expected errors"]
    lines = [[*header, "undefined", "score, afresh", *METHODS]]
    for level in LEAST:
        at = main.where(confidence_level=level)
        fresh = again.where(confidence_level=level)
        order = sorted(fresh.records, key=lambda each: each["coverage"])
        for each in order[:number_of]:
            there = at.where(metric=each["metric"], setting=each["setting"])
            found = {one["method"]: number(one["coverage"]) for one in there.records}
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
                    f"{each['undefined']:.1%}",
                    number(each["coverage"]),
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
error*, the standard deviation of the count's share: .0015 at 95% where there are
{draws} samples. The mean absolute error holds some of that noise, too, and the least of
many coverages is low by chance as well as by its setting. So the {worst} settings and
metrics in which "score" covered least at each level were drawn afresh, {afresh_draws}
samples each, and its least coverage is that of the new samples.

What is certified are the intervals that skci gives. Its "delta" differs from the
*textbook*'s where the rows show no variance: it gives the whole range, which covers and
says nothing, and not a single point.

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
alone could do. A least coverage is of new samples from the worst settings.
"""
_METHODS = """\
All methods on the main grid, and their least coverage on the stress set. The last four
are for proportions; they were given the accuracy. *Whole range* and *without width* are
shares of the samples whose interval says nothing, or is a point.
"""
_METRICS = """\
The least and the mean coverage over the settings of the main grid. Plus-four is not
offered for lift.
"""
_ROWS = """\
The same by the number of rows.
"""
_WORST = """\
The settings and metrics of the main grid in which "score" covers least, on new samples
and on those of all methods. *Undefined* is the share of the samples in which the metric
is not defined; they are left out.
"""
_JOINT = """\
All intervals of a report at once, at level .95: three families of rules and metrics,
100 to 2000 rows, prevalences .5, .2 and .05, poor, good and near-perfect rules whose
answers are correlated (latent normals with correlation .6), wherever at least ten
positives are expected. Each setting has {joint_draws} samples, so that a coverage is
known to about .007, and the least of so many settings is expected to be as low as
.933 where all of them cover .95. So the {joint_worst} settings in which "score" covered
least were drawn afresh, {joint_afresh_draws} samples each; the least of those is under
*Goals*. Conservative rules are left out. Undefined metrics
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
