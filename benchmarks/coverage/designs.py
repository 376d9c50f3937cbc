"""Coverage of crossed rows, of rows in order of time, and of suites of tasks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.common.command import BENCHMARKS, sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.designs_simulation import (
    Agents,
    DesignCoverage,
    Series,
    Tasks,
    TwoWay,
)
from benchmarks.coverage.simulation import JOINT_LEVEL
from skci import suite_report

_MODULES = ("designs_simulation", "simulation")
_SLOW = 200  # milliseconds of a sample from which on fewer are drawn
_FEWER = 5  # times
_REFERENCE = BENCHMARKS.parent / "tests" / "reference"


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick,
        draws=(400, 3),
        tables=(((20, 50), (50, 200), (200, 1000)), ((20, 50),)),
        rows=((100, 400, 5000), (100,)),
        autocorrelations=((0.0, 0.5, 0.9), (0.5,)),
        tasks=((5, 20, 57), (5,)),
        runs=((3, 5, 10), (3,)),
    )
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    tables = {f"{a} x {b:,}": TwoWay(a, b) for a, b in size.tables}
    series = {
        f"{n:,} rows, {rho:g}": Series(n, rho)
        for n, rho in product(size.rows, size.autocorrelations)
    }
    tasks = {f"{number} tasks": Tasks(number) for number in size.tasks}
    kinds = (10, "gamma"), (26, "gamma"), (26, "lognormal")
    agents = {
        f"{n} tasks, {runs} runs, {tails}": Agents(n, runs, tails)
        for (n, tails), runs in product(kinds, size.runs)
    }
    parts = []
    for title, caption, settings in (
        ("Crossed rows", _CROSSED, tables),
        ("Rows in order of time", _TIME, series),
        ("Suites of tasks with items", _TASKS, tasks),
        ("Suites of tasks with runs", _AGENTS, agents),
    ):
        simulations = [
            DesignCoverage(each, _draws(each, size.draws)) for each in settings.values()
        ]
        records = runner.run(simulations, title)
        parts.append((records, Section(title, caption, [table(records, settings)])))
    every = Records(each for records, _ in parts for each in records)
    sections = [Section("In short", _SUMMARY, [summary(every)])]
    sections += [section for _, section in parts]
    sections.append(Section("Published scores of agents", _PUBLISHED, [published()]))
    show(*sections)
    if output:
        error, larger = (
            monte_carlo_error(JOINT_LEVEL, size.draws // fewer) for fewer in (1, _FEWER)
        )
        introduction = _INTRODUCTION.format(size.draws, error, larger)
        file = output / "designs.rst"
        write_page(
            file, "coverage", "Crossed, in time, in suites", introduction, *sections
        )


def _draws(setting: Any, draws: int) -> int:
    """Number of samples, of slow settings fewer."""
    return max(draws // _FEWER, 1) if setting.cost > _SLOW else draws


def table(records: Records, settings: Mapping[str, Any]) -> list[Row]:
    """Coverage and width by setting, and by what is estimated."""
    rows = []
    methods = records.unique("method")
    for name, setting in settings.items():
        chosen = records.where(setting=repr(setting))
        for of in chosen.unique("of"):
            by_method = {each["method"]: each for each in chosen.where(of=of)}
            row = {"setting": name, "estimate": of.replace("_", " ")}
            for method in methods:
                record = by_method.get(method)
                row[method] = "" if record is None else f"{record['coverage']:.3f}"
            first = by_method[methods[0]]
            row["warned"] = f"{first['warned']:.0%}"
            for method in methods[1:]:
                if method in by_method:
                    ratio = first["width"] / by_method[method]["width"]
                    row[f"width over {method}"] = f"{ratio:.2f}"
                else:
                    row[f"width over {method}"] = ""
            rows.append(row)
    return rows


def summary(records: Records) -> list[Row]:
    """Least, mean and greatest coverage by method."""
    rows = []
    for method in records.unique("method"):
        chosen = records.where(method=method)
        coverages = chosen.column("coverage")
        least = JOINT_LEVEL - 0.02
        low = [each for each in chosen if each["coverage"] < least]
        rows.append(
            {
                "method": method,
                "minimum": f"{min(coverages):.3f}",
                "mean": f"{chosen.mean():.3f}",
                "maximum": f"{max(coverages):.3f}",
                "below .93": f"{len(low)} of {len(coverages)}",
                "of these not warned": str(sum(each["warned"] < 0.5 for each in low)),
            }
        )
    return rows


def published() -> list[Row]:
    """Aggregates of published scores beside those and the bootstrap of rliable."""
    agents = pd.read_csv(_REFERENCE / "atari_rows.csv")
    data = agents.assign(score=agents.scores.str.split()).explode("score")
    points = data.score.astype(float) - data.random
    data["score"] = points / (data.human - data.random)
    report = suite_report("score", data=data, model="agent", task="game")
    of_pairs = report.probability_of_improvement().individual()
    rows = []
    for agent, aggregate, *values in pd.read_csv(_REFERENCE / "atari.csv").values:
        intervals = of_pairs if " > " in agent else report.individual()
        found, (value, low, high) = intervals[agent, aggregate], values
        ratio = (found.high - found.low) / (high - low)
        rows.append(
            {
                "agent": agent,
                "aggregate": aggregate.replace("_", " "),
                "rliable": f"{value:.4f}",
                "bootstrap": f"[{low:.3f}, {high:.3f}]",
                "suite_report": f"{found:.4f}",
                "interval": f"[{found.low:.3f}, {found.high:.3f}]",
                "width over bootstrap": f"{ratio:.2f}",
            }
        )
    return rows


_INTRODUCTION = """\
How often individual 95% intervals cover the value in the population where rows are not
independent: of a two-way table, such as users and items; of a series in order of time;
of a suite of tasks; and of runs on tasks, without items. Beside each is what is often
computed in its place. There are {0} samples of each setting, with a Monte Carlo error
of {1:.3f} at a coverage of .95, and a fifth as many of those that take long (the
largest table, 5,000 rows in time, 20 tasks), with one of {2:.3f}. Differences are those
of two models on the same rows.
"""

_SUMMARY = """\
By the designs, intervals cover in .94 to .96 of samples on average. Independent rows in
their place fall to .23, and to less the more rows there are; Newey-West falls to .70
with an autocorrelation of .9; the bootstrap of three runs covers in .78 to .94 and that
of five in .89 to .95.

A hundred rows in time are always warned of, and most samples of 400 rows with an
autocorrelation of .9, where areas need it. What covers in less than .93 without a
warning does so by less than the Monte Carlo error. Seasons and rare bad times, which
autoregressive errors have not, are on the page :doc:`/time_series`.
"""

_CROSSED = """\
Scores of two models have areas of .92 and .87; a fifth of their variance is due to
items and a fifth to users, and half of it is shared by the models. Labels are those of
items. Users meet a share of the items that has a beta(.8, 1.6) distribution, so that
some have met one and others nearly all.
"""

_TIME = """\
The same scores, of which all parts and the normal variable behind the labels are
autoregressive with the autocorrelation in the table. *TimeOrder* is the default, by
cosines; *Newey-West* is ``TimeOrder(method="newey-west")``.
"""

_TASKS = """\
Two models on tasks of 30 to about 600 items, of unequal ease. The mean is over tasks of
the share of right items in each; F1 is that of labels which are right for these items,
averaged over tasks by ``Strata(task, average="macro")``, of up to 20. *Pooled formula*
is the mean
over tasks plus and minus the normal quantile of standard errors of all items; *between
tasks* uses the standard error of the values of the tasks, and Student's t.
"""

_PUBLISHED = """\
Scores of 100 runs of SPR and of DrQ, and of five of SimPLe and of IRIS, on the 26 games
of Atari 100k, normalised by those of a human. *rliable* is version 1.2.0, with 20,000
samples of its bootstrap, and 2,000 for probabilities of improvement. Estimates are its
own to all digits, and those that its notebook and the paper on IRIS print. Of 100 runs
the intervals are alike; of five, which the bootstrap draws from five, its standard
errors are too small by a factor of :math:`\\sqrt{4/5}`, and its quantile is normal.
"""

_AGENTS = """\
Scores of runs are gamma variables (a coefficient of variation of a third) or lognormal
ones (about a half) around the level of the task, and a fifth higher for one model.
*Bootstrap* is what rliable does: runs are drawn with replacement within each task, and
the interval is between percentiles. The profile is of four thresholds at once.
"""
