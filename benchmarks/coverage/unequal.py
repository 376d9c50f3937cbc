"""Coverage with weights and clusters where errors are few."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common.command import Sizes, sizes
from benchmarks.common.pages import Row, Section, show, within_error, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage import chapters
from benchmarks.coverage.chapter_simulation import ChapterSimulation
from benchmarks.coverage.sampling_designs import CLUSTERED, WEIGHTED
from benchmarks.coverage.simulation import JOINT_LEVEL
from benchmarks.coverage.unequal_settings import CLUSTERS, WEIGHTS, Setting
from benchmarks.coverage.unequal_simulation import METRICS, Unequal

GOAL = 0.93
"""Least acceptable coverage, unless most misses warn."""
WIDEST = 1.1
"""Greatest acceptable ratio of a median width to that of Wilson's interval."""

_MODULES = ("simulation", "unequal_settings", "unequal_simulation")
_MODULES_OF_REPORTS = (
    "chapter_simulation",
    "populations",
    "sampling_designs",
    "simulation",
)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    # Of the settings, only every so many are simulated.
    size = sizes(options.quick, draws=(500, 5), reports=(200, 5), every=(1, 12))
    kinds = {"Weights": WEIGHTS, "Clusters": CLUSTERS}
    found = {
        kind: simulated(settings[:: size.every], kind, size.draws, options, work)
        for kind, settings in kinds.items()
    }
    everything = found["Weights"] + found["Clusters"]
    sections = [
        Section("In short", _SUMMARY, [summary(found)]),
        Section("Where it is off", _OFF, [off(everything)]),
        *(
            Section(
                f"{kind}: {metric}", "", [[*map(row, records.where(metric=metric))]]
            )
            for kind, records in found.items()
            for metric in METRICS
        ),
        *joint_reports(size, options, work),
    ]
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(
            draws=f"{size.draws:,}", reports=f"{size.reports:,}", error=error
        )
        file = output / "unequal.rst"
        write_page(file, "coverage", "Weights and clusters", introduction, *sections)


def simulated(
    settings: Sequence[Setting],
    kind: str,
    draws: int,
    options: Namespace,
    work: Path | None,
) -> Records:
    """Records of individual intervals, as their settings are declared."""
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    simulations = [Unequal(setting, draws) for setting in settings]
    return in_order(runner.run(simulations, kind.lower()), settings)


def joint_reports(size: Sizes, options: Namespace, work: Path | None) -> list[Section]:
    """Sections on the joint coverage of reports."""
    modules = [f"coverage/{module}" for module in _MODULES_OF_REPORTS]
    runner = Runner(work, options.seed, options.jobs, modules)
    sections = []
    for chapter in (WEIGHTED, CLUSTERED):
        simulations = [
            ChapterSimulation(chapter.title, setting, chapter.variants, size.reports)
            for setting in chapter.settings[:: size.every]
        ]
        found = runner.run(simulations, chapter.title.lower())
        records = chapters.in_order(found, simulations)
        title = f"Joint reports: {chapter.title.lower()}"
        table = [*map(chapters.row, records)]
        sections.append(Section(title, chapter.text, [table]))
    return sections


def in_order(records: Records, settings: Sequence[Setting]) -> Records:
    """Sort records as their settings are declared."""
    keys = [(each.name, each.n, 1 - each.error) for each in settings]

    def position(record: Record) -> int:
        return keys.index((record["setting"], record["n"], record["accuracy"]))

    return Records(sorted(records, key=position))


def verdict(record: Record) -> str:
    """Whether the goal is met, warned of, or missed."""
    coverage = round(record["coverage"], 9)
    if coverage < GOAL and record["misses_warned"] > 0.5:
        return "warns"
    error = monte_carlo_error(coverage, record["draws"])
    return within_error(coverage, GOAL, error)


def row(record: Record) -> Row:
    """A record as a row of a table."""
    warned, width = record["misses_warned"], record["width"]
    return {
        "data": record["setting"],
        "n": f"{record['n']:,}",
        "accuracy": f"{record['accuracy']:.3g}",
        "coverage": f"{record['coverage']:.3f}",
        "error": f"{monte_carlo_error(record['coverage'], record['draws']):.3f}",
        f"at least {GOAL:g}": verdict(record),
        "warns": f"{record['warned']:.0%}",
        "misses that warn": "" if warned is None else f"{warned:.0%}",
        "width": "" if width is None else f"{width:.2f}",
    }


def off(records: Records) -> list[Row]:
    """Promises that are not kept without a warning."""
    return [
        {"interval of": record["metric"], **row(record)}
        for record in records
        if verdict(record) in ("no", "within error")
    ]


def summary(chapters: dict[str, Records]) -> list[Row]:
    """Coverage and widths by kind of rows and metric."""
    rows = []
    for title, records in chapters.items():
        for metric in records.unique("metric"):
            chosen = records.where(metric=metric)
            verdicts = [verdict(record) for record in chosen]
            widths = [width for width in chosen.column("width") if width is not None]
            rows.append(
                {
                    "rows with": title.lower(),
                    "interval of": metric,
                    "settings": str(len(chosen)),
                    f"at least {GOAL:g}": str(verdicts.count("yes")),
                    "warns": str(verdicts.count("warns")),
                    "within error": str(verdicts.count("within error")),
                    "no": str(verdicts.count("no")),
                    "minimum": f"{chosen.minimum:.3f}",
                    "mean": f"{chosen.mean():.3f}",
                    "maximum": f"{max(chosen.column('coverage')):.3f}",
                    "greatest width": f"{max(widths):.2f}" if widths else "",
                    f"wider than {WIDEST:g}": (
                        str(sum(width > WIDEST for width in widths)) if widths else ""
                    ),
                }
            )
    return rows


_INTRODUCTION = """\
Where errors are few, heavy rows or large clusters may have none by chance. A design
effect estimated from the errors is then too small, and an interval that relies on it
too narrow. The default for metrics of labels and bounded grades, "score", therefore has
a least design effect (:ref:`weights-and-clusters`). Here is the coverage of its
individual 95% intervals with weights and with clusters, for accuracies of .9 to .99.

Each line of a table is a promise: the coverage is at least .93, or more than half of
the samples that miss give a ``SmallSampleWarning`` or a ``DegenerateVarianceWarning``.
There are {draws} samples of each setting; the Monte Carlo error of a coverage of .95 is
{error:.3f}. The last sections are on joint reports, with {reports} samples and the
goal of a joint coverage within .02 of .95.

Rows are positive with probability .3 and errors do not depend on the label. Grades are
1 where the model is right, and else have a Beta(1, 2) distribution. The difference is
that to a model with the same error rate in each row, and half of the mean rate in
addition. *Heavy* rows are a tenth and weigh 50. *Lognormal* weights are :math:`e^Z`.
*Horvitz-Thompson* weights are inverse probabilities of inclusion, which are uniform
between .02 and 1 in the population. With clusters, most errors are in a few of them,
rows are independent, or error rates have a beta distribution. True values are exact.

*Width* is, for proportions, the median width over that of Wilson's interval of the same
estimate at Kish's effective sample size: :math:`(\\sum_i w_i)^2 / \\sum_i w_i^2`, of
the positive rows for the recall, and with clusters the number of rows over the design
effect of the true intraclass correlation.
"""

_SUMMARY = """\
Settings by verdict: coverage of *at least .93*; less, but most misses *warn*; less than
.93 by no more than two Monte Carlo errors (*within error*); or neither (*no*). Then the
coverages, and the widths over those of Wilson's interval, of which more than 1.1 is
wider than the goal.
"""

_OFF = """\
Promises that are not kept, and not warned of. With weights there is none below .93 by
more than two Monte Carlo errors. With clusters there are:

- *Few clusters show the correlation within clusters.* The least design effect has the
  correlation within clusters of the errors that were observed. If errors gather in a
  few clusters and the sample has few of these, as when none of 20 large clusters is
  bad, it is estimated from a handful of clusters with errors, and may be near zero by
  chance. The recall suffers more than the accuracy, for fewer clusters have two rows of
  the positive label.
- *The few bad clusters are absent.* Of 60 clusters of which 5% are bad, one sample in
  twenty has none. Nothing in such a sample shows that there are any.

Above .95, which makes intervals wide but not wrong: if errors are *rarer* in heavy
rows, the design effect is less than its least value, which takes errors to be related
to no weight, and coverage is up to .99. It also is with weights of many values, where a
single error of a heavy row raises both the estimate of the error rate and its design
effect, and where hardly any error is expected. Widths of more than 1.1 are those of the
t quantile, where a few heavy rows determine the interval; if errors are *more frequent*
in heavy rows, for which Kish's effective sample size is too large; and with very
unequal clusters.
"""
