"""Coverage over training seeds and readers, beside rows alone and seeds alone."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.runs_simulation import (
    EFFECTS,
    METHODS,
    OF_READERS,
    ReaderCoverage,
    Readers,
    SeedCoverage,
    Seeds,
    normal_theory,
)
from benchmarks.coverage.simulation import JOINT_LEVEL
from skci.data.runs import DF_METHODS

_MODULES = ("runs_simulation", "simulation")
_TOLERANCE = 0.02


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick,
        draws=(1000, 5),
        rows=((200, 2000), (200,)),
        runs=((2, 3, 5, 10), (3,)),
        readers=((3, 5, 10), (3,)),
        cases=((60, 200, 500), (60,)),
    )
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    of_seeds = [Seeds(*each) for each in product(size.rows, size.runs, EFFECTS)]
    of_readers = [Readers(*each) for each in product(size.cases, size.readers)]
    simulations = [SeedCoverage(each, size.draws) for each in of_seeds]
    seeds = runner.run(simulations, "seeds")
    readers = runner.run(
        [ReaderCoverage(each, size.draws) for each in of_readers], "readers"
    )
    sections = [
        Section("In short", _SUMMARY, [summary(seeds)]),
        Section("Means", _RANGES, [table(seeds, of_seeds, "mean")]),
        Section("Differences", "", [table(seeds, of_seeds, "difference")]),
        Section("Readers", _READERS, [readers_table(readers, of_readers)]),
        Section("Degrees of freedom", _NORMAL_THEORY, [normal_table(size.runs)]),
    ]
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=size.draws, error=error)
        file = output / "runs.rst"
        write_page(file, "coverage", "Runs beside rows", introduction, *sections)


def summary(records: Records) -> list[Row]:
    """Least, mean and greatest coverage by the number of runs."""
    rows = []
    for runs in sorted(records.unique("runs")):
        for method in METHODS:
            chosen = [
                each
                for each in records.where(runs=runs, method=method)
                if each["metric"] != "all"
            ]
            coverages = np.array([each["coverage"] for each in chosen])
            silent = [
                each["coverage"] < JOINT_LEVEL - _TOLERANCE and each["warned"] < 0.5
                for each in chosen
            ]
            rows.append(
                {
                    "runs": str(runs),
                    "interval": method,
                    "minimum": f"{coverages.min():.3f}",
                    "mean": f"{coverages.mean():.3f}",
                    "maximum": f"{coverages.max():.3f}",
                    "below .93, not warned": f"{sum(silent)} of {len(silent)}",
                }
            )
    return rows


def table(records: Records, settings: list[Seeds], of: str) -> list[Row]:
    """Least and greatest coverage over metrics by setting, and joint coverage."""
    rows = []
    for setting in settings:
        chosen = records.where(
            n=setting.n, runs=setting.n_runs, effect=setting.effect, of=of
        )
        row = {
            "rows": f"{setting.n:,}",
            "runs": str(setting.n_runs),
            "seeds": setting.effect,
        }
        for method in METHODS:
            coverages = chosen.where(method=method).column("coverage")
            row[method] = f"{min(coverages):.2f}-{max(coverages):.2f}"
        joint = "joint difference" if of == "difference" else "joint"
        (of_all,) = records.where(
            n=setting.n, runs=setting.n_runs, effect=setting.effect, of=joint
        )
        row["all at once"] = f"{of_all['coverage']:.2f}"
        warned = chosen.where(method=METHODS[0]).column("warned")
        row["warned"] = f"{np.mean(warned):.0%}"
        accuracy = chosen.where(method=METHODS[0], metric="accuracy").column("width")
        row["width of accuracy"] = f"{accuracy[0]:.3f}"
        rows.append(row)
    return rows


def readers_table(records: Records, settings: list[Readers]) -> list[Row]:
    """Coverage and width by the method of the degrees of freedom."""
    rows = []
    for setting in settings:
        row = {"cases": str(setting.n), "readers": str(setting.n_readers)}
        chosen = records.where(n=setting.n, readers=setting.n_readers)
        for method in OF_READERS:
            (record,) = chosen.where(method=method)
            row[method] = f"{record['coverage']:.3f}"
        for method in OF_READERS:
            (record,) = chosen.where(method=method)
            row[f"width, {method}"] = f"{record['width']:.3f}"
        rows.append(row)
    return rows


def normal_table(numbers: tuple[int, ...]) -> list[Row]:
    """Lowest and highest coverage in normal theory."""
    rows = []
    for n_runs in numbers:
        row = {"runs": str(n_runs)}
        for df_method in DF_METHODS:
            low, high = normal_theory(df_method, n_runs)
            row[df_method] = f"{low:.3f}-{high:.3f}"
        rows.append(row)
    return rows


_INTRODUCTION = """\
A model that was trained with several seeds is a mean over seeds as well as over test
rows. Here is how often intervals cover the expected value over seeds of a metric in the
population: by :class:`~skci.designs.Runs`, which lets rows and runs both vary; by *rows
only*, which takes the seeds for given, as most software does; and by *seeds only*, mean
plus and minus t standard errors of the values of the runs, which takes the test rows
for given, as most tables of papers do. Differences by seeds only are Welch's.

Labels have a prevalence of .4; scores of two models have areas of .97 and .94, and half
of their variance is due to rows that are hard for all, a fifth to rows that are hard
for a model, and the rest to rows that are hard for a run. Seeds move the distance
between the scores of both labels, with a standard deviation of 0 (*none*), .05
(*small*) or .15 (*large*): of accuracy about 0, .9 and 2.6 percentage points, where the
standard error of 200 rows is 2.1. Metrics are accuracy, F1, ROC AUC and log loss. True
values are by quadrature.

There are {draws:,} samples of each setting, and the Monte Carlo error of a coverage of
.95 is {error:.3f}.
"""

_SUMMARY = """\
By rows and runs together, intervals cover in .944 to .998 of samples, however much
seeds matter, which are normal here; a failed seed that none of a few shows is not
allowed for (one in ten fails: .44 to .74). With rows only coverage falls to .28 where
seeds matter, and more rows make it worse. With seeds only it falls to .44 where rows
matter, and more seeds make it worse: the mean over seeds is then accurate, for these
rows.

Few runs cost width. Two or three values of runs do not show that seeds matter little
where they do: the variance between runs has a quantile of Student's t with one or two
degrees of freedom, 12.7 or 4.3, also for what of it is due to rows. So intervals cover
more than they need, of two runs in .984 of samples on average, of three in .975, of
five in .962 and of ten in .955. Narrower quantiles would cover less than they say where
seeds matter: those of Hillis, by the theory below, .92 with three runs and .87 with
two. Headers tell of two and three runs that intervals are conservative.

Of readers the default covers in .948 to .982 of samples; Hillis's degrees of freedom in
.936 to .959, with intervals that are narrower by a quarter with three readers.
Intervals for the readers as given are short of their level by up to .14 as soon as
cases are many.
"""

_RANGES = """\
Least and greatest coverage over the four metrics, and coverage of all estimates of the
report at once; of differences of the two models below.
"""

_READERS = """\
Two tests are read by the same readers, each case by all of them with both tests, half
of the cases with the disease; the areas are about .90 and .94, and readers move the
distance between the labels by .15, and by .05 in each test. The interval is that of the
difference of the areas by the formula of Obuchowski and Rockette, with the quantile by
the default, "quadrature", and by "hillis"; *readers as given* lets only cases vary.
"""

_NORMAL_THEORY = """\
Lowest and highest coverage of a nominal .95 if values of runs are normal and the
variance due to rows is known, for seeds from none to a hundred times that variance.
"""
