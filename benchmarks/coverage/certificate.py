"""Coverage and width of individual and joint intervals for labels."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy.stats import binom

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, within_error, write_page, yes
from benchmarks.common.results import Records, Runner
from benchmarks.coverage.figures import draw
from benchmarks.coverage.populations import joint_settings, main_grid, stress_set
from benchmarks.coverage.simulation import (
    LEVELS,
    SeveralModels,
    SingleModel,
    check_batch,
)
from benchmarks.coverage.vectorized import METHODS, PROPORTIONS, TEXTBOOK

LEVEL = 0.95

# The goals for "score" on the main grid, by level, and for its joint intervals.
MIN_COVERAGE = {0.9: 0.88, 0.95: 0.93, 0.99: 0.98}
MAX_ERROR, MAX_WIDTH = 0.006, 1.01
MIN_JOINT_COVERAGE, MAX_JOINT_ERROR = 0.94, 0.012

MODULES = ("simulation", "vectorized", "populations")


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page and its figures."""
    size = sizes(
        options.quick,
        every=(1, 30),  # only every so many of the settings are simulated
        draws=(20_000, 200),
        stress=(150, 30),  # settings of the stress set
        stress_draws=(5_000, 200),
        worst=(10, 1),  # settings with the lowest coverage, at each level
        afresh_draws=(200_000, 400),  # new samples of these
        joint_draws=(1_000, 10),
        joint_worst=(5, 1),
        joint_afresh_draws=(20_000, 20),
    )
    modules = [f"coverage/{module}" for module in MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)

    check_batch(options.seed)
    stress = stress_set(size.stress, options.seed)
    simulations = [
        *(SingleModel("main", setting, size.draws) for setting in main_grid()),
        *(SingleModel("stress", setting, size.stress_draws) for setting in stress),
    ][:: size.every]
    single = runner.run(simulations, "one model")
    again = worst_again(single, simulations, size.worst, size.afresh_draws)
    single += runner.run(again, "one model, worst settings")

    joint_simulations = [
        SeveralModels("grid", setting, size.joint_draws) for setting in joint_settings()
    ][:: size.every]
    joint = runner.run(joint_simulations, "several models")
    joint += runner.run(
        [
            replace(each, chapter="afresh", draws=size.joint_afresh_draws)
            for each in worst_settings(joint, joint_simulations, size.joint_worst)
        ],
        "several models, worst settings",
    )
    if work is not None:
        write_csv(single, work / "single.csv")
        write_csv(joint, work / "joint.csv")

    main = single.where(chapter="main")
    sections = tables(single, joint)
    show(*sections)
    if output is None:
        return
    draw(main.where(confidence_level=LEVEL), joint.where(chapter="grid"), LEVEL, output)
    accuracy = {"method": "score", "metric": "accuracy"}
    at_90 = main.where(**accuracy, confidence_level=0.9)
    numbers = {name: f"{value:,}" for name, value in vars(size).items()}
    numbers |= {
        "settings": str(len(at_90)),
        "bound": f"{lattice_bound(0.9, MIN_COVERAGE[0.9]):.4f}",
        "error": f"{at_90.mean_absolute_error:.4f}",
    }
    sections = [
        replace(section, caption=section.caption.format(**numbers))
        for section in sections
    ]
    introduction = _INTRODUCTION.format(**numbers)
    file = output / "coverage.rst"
    write_page(file, "coverage", "Coverage", introduction, *sections)


def worst_again(
    records: Records, simulations: Sequence[SingleModel], number: int, draws: int
) -> list[SingleModel]:
    """Simulate the worst settings and metrics of "score" on the main grid afresh.

    The minimum over many simulated coverages is biased downwards; new samples are not.
    """
    settings = {json.dumps(asdict(each.setting)): each.setting for each in simulations}
    worst = {}
    for level in LEVELS:
        score = records.where(chapter="main", method="score", confidence_level=level)
        for record in score.lowest(number):
            worst[record["setting"], record["metric"]] = None
    return [
        SingleModel("afresh", settings[key], draws, (metric,), ("score",))
        for key, metric in worst
    ]


def worst_settings(
    records: Records, simulations: Sequence[SeveralModels], number: int
) -> list[SeveralModels]:
    """Settings in which joint "score" intervals cover least often."""
    by_setting = {json.dumps(asdict(each.setting)): each for each in simulations}
    return [
        replace(by_setting[record["setting"]], methods=("score",))
        for record in records.where(method="score").lowest(number)
    ]


def write_csv(records: Records, file: Path) -> None:
    """Write a tidy table with a line for each record."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(records.records[0]))
        writer.writeheader()
        writer.writerows(records)


def tables(single: Records, joint: Records) -> list[Section]:
    """All tables of the page."""
    main, stress = single.where(chapter="main"), single.where(chapter="stress")
    again = single.where(chapter="afresh")
    grid, joint_again = joint.where(chapter="grid"), joint.where(chapter="afresh")
    at_level = main.where(confidence_level=LEVEL)
    by_size = sorted(at_level, key=lambda record: record["n"])
    return [
        Section("Goals", _GOALS, [goals(main, again, grid, joint_again)]),
        Section("Methods", _METHODS, [by_method(main, stress)], _WIDTH_FIGURE),
        Section("Metrics", _METRICS, [by(at_level, "metric", "metric")]),
        Section("Rows", _ROWS, [by(Records(by_size), "n", "rows")], _ROWS_FIGURE),
        Section("Where it is worst", _WORST, [worst(main, again)]),
        Section("Joint intervals", _JOINT, [joint_methods(grid)], _JOINT_FIGURE),
    ]


def goals(
    main: Records, again: Records, joint: Records, joint_again: Records
) -> list[Row]:
    """Goals, what was found, and whether they are met."""
    rows = []
    for level, goal in MIN_COVERAGE.items():
        score = main.where(method="score", confidence_level=level)
        fresh = again.where(confidence_level=level)
        width = score.relative_width
        rows += [
            _minimum("minimum coverage", level, goal, fresh),
            _error("mean absolute error", level, MAX_ERROR, score),
            _goal(
                "width, relative to Pearson's",
                level,
                f"at most {MAX_WIDTH:g}",
                f"{width:.3f}",
                yes(width <= MAX_WIDTH),
            ),
        ]
        for key in ("outside", "zero_width"):
            share = score.mean(key)
            name = _SHARES[key]
            rows.append(_goal(name, level, "none", f"{share:.1%}", yes(not share)))
    score = joint.where(method="score")
    (level,) = score.unique("confidence_level")
    return [
        *rows,
        _minimum("minimum joint coverage", level, MIN_JOINT_COVERAGE, joint_again),
        _error("mean absolute error, joint", level, MAX_JOINT_ERROR, score),
    ]


_SHARES = {
    "outside": "outside the range",
    "whole_range": "whole range",
    "zero_width": "zero width",
}


def _goal(name: str, level: float, goal: str, found: str, met: str) -> Row:
    columns = ("score intervals", "level", "goal", "found", "met")
    return dict(zip(columns, (name, f"{level:g}", goal, found, met), strict=True))


def _minimum(name: str, level: float, goal: float, again: Records) -> Row:
    minimum, error = again.minimum, again.error
    found = f"{minimum:.4f}, Monte Carlo error {error:.4f}"
    met = within_error(minimum, goal, error)
    return _goal(name, level, f"at least {goal:.4f}", found, met)


def _error(name: str, level: float, goal: float, records: Records) -> Row:
    error = records.mean_absolute_error
    return _goal(name, level, f"at most {goal:.4f}", f"{error:.5f}", yes(error <= goal))


def by_method(main: Records, stress: Records) -> list[Row]:
    rows = []
    for method in (TEXTBOOK, *METHODS, *PROPORTIONS):
        records = main.where(method=method, confidence_level=LEVEL)
        stressed = stress.where(method=method, confidence_level=LEVEL)
        metrics = records.unique("metric")
        some = f"{metrics[0]} only" if len(metrics) == 1 else "all but lift"
        rows.append(
            {
                "method": method,
                "metrics": "all" if metrics == main.unique("metric") else some,
                **_summary(records),
                "minimum, stress set": f"{stressed.minimum:.4f}",
                "width": f"{records.relative_width:.2f}",
                **{
                    _SHARES[key]: f"{records.mean(key):.1%}"
                    for key in ("whole_range", "zero_width")
                },
            }
        )
    return rows


def by(records: Records, key: str, title: str) -> list[Row]:
    """Minimum and mean coverage of each method, and the error of "score", by a key."""
    rows = []
    for value in records.unique(key):
        row = {title: str(value)}
        for method in METHODS:
            chosen = records.where(**{key: value}, method=method)
            cells = list(_summary(chosen).values()) if chosen else []
            row[f"{method}: minimum, mean"] = ", ".join(cells[:2])
        score = records.where(**{key: value}, method="score")
        rows.append({**row, "score: error": f"{score.mean_absolute_error:.4f}"})
    return rows


def worst(main: Records, again: Records, number: int = 5) -> list[Row]:
    """The settings in which "score" covers least often."""
    rows = []
    for level in MIN_COVERAGE:
        for record in again.where(confidence_level=level).lowest(number):
            keys = ("metric", "setting", "confidence_level")
            same = main.where(**{key: record[key] for key in keys})
            coverage = {each["method"]: f"{each['coverage']:.4f}" for each in same}
            error_rate = record["prevalence"] * record["false_negative_rate"]
            error_rate += (1 - record["prevalence"]) * record["false_positive_rate"]
            rows.append(
                {
                    "metric": record["metric"],
                    "level": f"{level:g}",
                    "rows": str(record["n"]),
                    "prevalence": f"{record['prevalence']:g}",
                    "model": record["quality"],
                    "expected errors": f"{record['n'] * error_rate:.1f}",
                    "undefined": f"{record['undefined']:.1%}",
                    "score, new samples": f"{record['coverage']:.4f}",
                    **{method: coverage.get(method, "") for method in METHODS},
                }
            )
    return rows


def joint_methods(joint: Records) -> list[Row]:
    rows = []
    for method in joint.unique("method"):
        records = joint.where(method=method)
        families = {}
        for metrics in records.unique("metrics"):
            family = records.where(metrics=metrics)
            (models,) = family.unique("models")
            families[f"{models} x ({', '.join(metrics.split())})"] = family
        families["all"] = records
        rows += [
            {"method": method, "models x metrics": name, **_summary(family)}
            for name, family in families.items()
        ]
    return rows


def _summary(records: Records) -> Row:
    return {
        "minimum": f"{records.minimum:.4f}",
        "mean": f"{records.mean():.4f}",
        "mean absolute error": f"{records.mean_absolute_error:.4f}",
    }


def lattice_bound(level: float, minimum: float) -> float:
    """Smallest mean absolute error that intervals for the accuracy could have.

    An interval covers for a set of error counts. For each setting, take the run of
    consecutive counts whose probability is nearest to the level and not below the
    minimum coverage.
    """
    errors = []
    for setting in main_grid():
        _, fp, fn, _ = setting.cells
        below = binom.cdf(np.arange(-1, setting.n + 1), setting.n, fp + fn)
        coverage = below[np.newaxis] - below[:, np.newaxis]
        allowed = coverage[coverage >= minimum]
        errors.append(float(np.abs(allowed - level).min()))
    return fmean(errors)


_INTRODUCTION = """\
A 95% interval should cover the true value in 95 of 100 samples. Here samples are drawn
from populations whose true values are known, and it is counted how often the intervals
cover.

The *main grid* has {settings} settings: 30 to 3000 rows, prevalences from .5 to .01
and four kinds of model, wherever at least five positives are expected. A *poor* model
has a false-negative rate of .4 and a false-positive rate of .3, a *good* one .15 and
.1, a *near-perfect* one .02 and .01; a *conservative* one has a recall of .1 and a
precision of .5. Each setting has {draws} samples. The *stress set* has {stress} random
settings between these extremes and beyond, each with {stress_draws} samples. Every
metric is evaluated in every setting; samples in which it is undefined are left out.
*Mean absolute error* is the mean, over settings, of the absolute difference between
coverage and nominal level. *Width* is relative to the interval from Pearson's statistic
alone (Wilson's interval for a proportion): the geometric mean over the settings of
ratios of mean widths. Tables that name no level are of 95% intervals.

A simulated coverage has a *Monte Carlo error*, its standard error: .0015 at 95% with
{draws} samples. The mean absolute error includes some of that noise, and the minimum of
many simulated coverages is biased downwards. So the {worst} settings and metrics in
which "score" covered least often at each level were simulated again with {afresh_draws}
new samples each, and the minimum coverage reported is that of the new samples.

These are the intervals that skci returns. Its "delta" differs from the *textbook*'s
Wald interval where the estimated variance is zero: it is the whole range, which is
uninformative but covers, and not a single point.

With few errors, coverage is discrete: a sample has 2 or 3 errors and nothing between,
so no interval covers with probability exactly .95. For the accuracy at level .9, no
intervals that cover for a run of consecutive error counts, with a minimum coverage of
.88, could have a mean absolute error below {bound} on this grid; that of "score" is
{error}.

``python -m benchmarks.coverage coverage`` writes all results as tidy tables into its
folder ``--work``.
"""

_GOALS = """\
The goals of "score" on the main grid, and of its joint intervals at level .95. *Within
error* is short of the goal by less than two Monte Carlo errors. Minimum coverages are
those of new samples from the worst settings.
"""
_METHODS = """\
All methods on the main grid, and their minimum coverage on the stress set. The last
four are for proportions, here the accuracy. *Whole range* and *zero width* are shares
of the samples whose interval is uninformative, or a point.
"""
_METRICS = """\
The minimum and the mean coverage over the settings of the main grid. Plus-four is not
available for lift.
"""
_ROWS = """\
The same by the number of rows.
"""
_WORST = """\
The settings and metrics of the main grid in which "score" covers least often: the
coverage of new samples, and that of all methods on the original ones. *Undefined* is
the share of the samples in which the metric is undefined; they are left out.
"""
_JOINT = """\
All intervals of a report at once, at level .95: three families of models and metrics,
100 to 2000 rows, prevalences .5, .2 and .05, poor, good and near-perfect models whose
predictions are correlated (latent normals with correlation .6), wherever at least ten
positives are expected. Each setting has {joint_draws} samples, for a Monte Carlo error
of about .007; the minimum over so many settings would be about .933 even if all of them
covered .95. So the {joint_worst} settings in which "score" covered least often were
simulated again with {joint_afresh_draws} new samples each; their minimum is under
*Goals*. Conservative models are left out. Undefined metrics count as covered, as their
interval is the whole range.
"""

_ROWS_FIGURE = """
.. figure:: coverage_rows.png
   :alt: Coverage against the number of rows for four methods

   Coverage of 95% intervals against the number of rows, over the settings of the
   main grid: mean (thick), the middle 90% (band) and the minimum (thin). The axis
   starts at .5.
"""
_WIDTH_FIGURE = """
.. figure:: coverage_length.png
   :alt: Coverage against width for four methods

   Coverage against width: each dot is a setting of the main grid. Dots outside the
   frame are not shown.
"""
_JOINT_FIGURE = """
.. figure:: coverage_joint.png
   :alt: Joint coverage against the number of rows for three methods

   Joint coverage of reports, each dot a setting. The axis starts at .5.
"""
