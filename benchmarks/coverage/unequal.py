"""Coverage with weights and clusters where errors are few."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from benchmarks.common.command import Sizes, sizes
from benchmarks.common.pages import Row, Section, show, within_error, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage import chapters
from benchmarks.coverage.chapter_simulation import ChapterSimulation
from benchmarks.coverage.sampling_designs import CLUSTERED, WEIGHTED
from benchmarks.coverage.simulation import JOINT_LEVEL
from benchmarks.coverage.unequal_settings import (
    CLUSTERS,
    MANY_CLUSTERS,
    WEIGHTS,
    Setting,
)
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
    size = sizes(
        options.quick,
        weighted=(400, 5),
        clustered=(200, 5),
        reports=(50, 5),
        every=(1, 12),
        joint=(3, 12),
    )
    found = {
        kind: simulated(settings[:: size.every], kind, draws, options, work)
        for kind, settings, draws in (
            ("Weights", WEIGHTS, size.weighted),
            ("Clusters", CLUSTERS, size.clustered),
            ("Many clusters", MANY_CLUSTERS, size.clustered),
        )
    }
    everything = Records(chain.from_iterable(found.values()))
    sections = [
        Section("In short", _SUMMARY, [summary(found)]),
        Section("Where it is off", _OFF, [off(everything)]),
        Section("Narrower intervals", _WIDTHS, [wide(everything)]),
        Section("What was simulated", _SIMULATED, []),
        Section("All settings", _ALL, [[*map(row, by_setting(everything))]]),
        *joint_reports(size, options, work),
    ]
    show(*sections)
    if output:
        errors = (
            f"{monte_carlo_error(JOINT_LEVEL, draws):.3f}"
            for draws in (size.weighted, size.clustered)
        )
        introduction = _INTRODUCTION.format(size, *errors)
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
            for setting in chapter.settings[:: size.joint]
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


_MARKS = {"yes": "", "warns": " warns", "within error": " ±", "no": " off"}


def marked(record: Record) -> str:
    """Coverage, and whether it is less than the goal."""
    return f"{record['coverage']:.3f}{_MARKS[verdict(record)]}"


def by_setting(records: Records) -> list[dict[str, Record]]:
    """Records of each setting by metric."""
    settings: dict[tuple[object, ...], dict[str, Record]] = {}
    for record in records:
        key = record["setting"], record["n"], record["accuracy"]
        settings.setdefault(key, {})[record["metric"]] = record
    return list(settings.values())


def row(records: dict[str, Record]) -> Row:
    """A setting as a row of a table."""
    first = records[METRICS[0]]
    widths = (records[metric]["width"] for metric in ("accuracy", "recall"))
    return {
        "data": first["setting"],
        "n": f"{first['n']:,}",
        "accuracy of the model": f"{first['accuracy']:.3g}",
        **{metric: marked(records[metric]) for metric in METRICS},
        "warns": ", ".join(
            f"{records[metric]['warned']:.0%}" for metric in ("accuracy", "recall")
        ),
        "width": ", ".join(f"{width:.2f}" for width in widths if width is not None),
    }


def off(records: Records) -> list[Row]:
    """Promises that are not kept without a warning."""
    return [
        {
            "interval of": record["metric"],
            "data": record["setting"],
            "n": f"{record['n']:,}",
            "accuracy of the model": f"{record['accuracy']:.3g}",
            "coverage": f"{record['coverage']:.3f}",
            "error": f"{monte_carlo_error(record['coverage'], record['draws']):.3f}",
            "warns": f"{record['warned']:.0%}",
            "misses that warn": f"{record['misses_warned']:.0%}",
            "": {"no": "off", "within error": "within error"}[verdict(record)],
        }
        for record in records
        if verdict(record) in _FAILED
    ]


_FAILED = "no", "within error"


def wide(records: Records) -> list[Row]:
    """Proportions wider than the goal, or of which Wilson's interval misses it."""
    return [
        {
            "interval of": record["metric"],
            "data": record["setting"],
            "n": f"{record['n']:,}",
            "accuracy of the model": f"{record['accuracy']:.3g}",
            "coverage": marked(record),
            "width": f"{record['width']:.2f}",
            **{
                f"{title}: {name}": f"{record[kind + name]:{digits}f}"
                for title, kind in _NARROWER.items()
                for name, digits in (("coverage", ".3"), ("width", ".2"))
            },
        }
        for record in records
        if record["width"] is not None
        and (record["width"] > WIDEST or record["wilson_coverage"] < GOAL)
    ]


_NARROWER = {"normal quantile": "normal_", "Wilson": "wilson_"}
"""Prefixes of records by titles of columns."""


def summary(chapters: dict[str, Records]) -> list[Row]:
    """Coverage, warnings and widths by kind of rows and metric."""
    rows = []
    for title, records in chapters.items():
        for metric in records.unique("metric"):
            chosen = records.where(metric=metric)
            verdicts = [verdict(record) for record in chosen]
            silent = Records(each for each in chosen if verdict(each) != "warns")
            least = f"{silent.minimum:.3f}" if len(silent) else ""
            widths = [width for width in chosen.column("width") if width is not None]
            wide = sum(width > WIDEST for width in widths)
            rows.append(
                {
                    "rows with": title.lower(),
                    "interval of": metric,
                    "settings": str(len(chosen)),
                    f"at least {GOAL:g}": str(verdicts.count("yes")),
                    "most misses warn": str(verdicts.count("warns")),
                    "within error": str(verdicts.count("within error")),
                    "off": str(verdicts.count("no")),
                    "least, without warning": least,
                    "mean": f"{chosen.mean():.3f}",
                    "samples that warn": f"{chosen.mean('warned'):.0%}",
                    "greatest width": f"{max(widths):.2f}" if widths else "",
                    f"wider than {WIDEST:g}": str(wide) if widths else "",
                }
            )
    return rows


_INTRODUCTION = """\
Where errors are few, heavy rows or large clusters may have none by chance. A design
effect estimated from the errors is then too small, and an interval that relies on it
too narrow. The default for metrics of labels and bounded grades, "score", therefore has
a least design effect, and where rows are clustered it warns if few clusters have the
errors (:ref:`weights-and-clusters`, :ref:`degrees-of-freedom`). Here is the coverage of
its individual 95% intervals, for accuracies of .7 to .99.

Each setting is a promise: the coverage is at least .93, or more than half of the
samples that miss give a ``SmallSampleWarning`` or a ``DegenerateVarianceWarning``.
There are {0.weighted} samples of each setting with weights and {0.clustered} of each
with clusters; the Monte Carlo error of a coverage of .95 is {1} and {2}. The last
sections are on joint reports, with {0.reports} samples and the goal of a joint coverage
within .02 of .95.
"""

_SUMMARY = """\
- *With weights* intervals cover, whatever the weights and however few the errors. Most
  are as wide as Wilson's interval at Kish's effective sample size. They warn where a
  few heavy rows determine the interval, though they cover there.
- *With clusters* intervals cover if rows are independent, and if many clusters have
  errors. Otherwise they may be too narrow, and most samples that miss warn. Not among
  the settings are sizes of heavy tail that errors grow with, where many errors do not
  help; see :doc:`/theory`.
- *It warns* if fewer than about a dozen clusters have errors, which takes as many
  errors: in most samples with a dozen errors or fewer, seldom in those with 30 errors
  of independent rows. Of fewer than 50 clusters, or 30 with errors, it also warns if
  one more with errors in all rows would move the estimate out of the interval.
- *Many clusters*, of which none are of another kind, hardly ever warn if they have 45
  errors or more. A recall of few positive rows has fewer.

The table counts settings: coverage of *at least .93*; less, but *most misses warn*;
less than .93 by no more than two Monte Carlo errors (*within error*); or *off*. A width
is that of a proportion over Wilson's; see below.
"""

_OFF = """\
Settings in which coverage is less than .93, and most samples that miss do not warn.

- *The few bad clusters are absent.* Of 60 clusters of which 5% are bad, one sample in
  twenty has none, of 20 large ones of which 8% are bad one in five. Nothing in such a
  sample shows that there are any. It warns if few clusters have errors, as above, but
  not if there are so many errors elsewhere that one bad cluster would not matter:
  several that are absent do.
- *Nobody errs.* If no cluster has an error, an accuracy takes the rows of a cluster to
  be all alike, and does not warn. An F1 counts positive rows, and a bad cluster would
  also have false positives among others.

Above .95, which makes intervals wide but not wrong: if errors are *rarer* in heavy
rows, the design effect is less than its least value, which takes errors to be related
to no weight. So it is with weights of many values, where a single error of a heavy row
raises both the estimate of the error rate and its design effect, and where hardly any
error is expected. Widths of more than 1.1 are those of heavy rows with *more* errors,
for which Kish's effective sample size is too large, and of very unequal clusters.
"""

_WIDTHS = """\
Wilson's interval at Kish's effective sample size is narrower than ours by more than a
tenth in some of these settings, and covers too seldom in others with the same weights
or the same sizes of clusters, which look alike to whoever has the sample. In the table
are both kinds, and the limits with the normal quantile in place of that of t. Kish's
size is that of weights, and with clusters that of an intraclass correlation estimated
by the analysis of variance of the errors; all widths are over that of Wilson's interval
with the true correlation, which nobody knows.

- *Weights.* If heavy rows have more errors, the variance is greater than at Kish's
  size.
- *Clusters.* The t quantile of 9 degrees of freedom, those of 2 clusters of 60, 6 of 20
  and 12 of 5, is 1.15 times the normal one. Of clusters of 200 rows and of 4 the
  estimated design effect varies much if rows are independent, and the greater of it and
  its least value is above 1 in the mean. An analysis of variance takes small and large
  clusters to have one correlation, and does not see errors that gather in large ones.

So widths within 1.1 of Wilson's cannot be had in all settings without losing coverage.
"""

_SIMULATED = """\
Rows are positive with probability .3, or as said, and errors do not depend on the
label. Grades are 1 where the model is right, and else have a Beta(1, 2) distribution.
The difference is that to a model with the same error rate in each row, and half of the
mean rate in addition. *Heavy* rows are a tenth and weigh 50. *Lognormal* weights are
:math:`e^Z`, *Pareto* weights have no variance.
*Horvitz-Thompson* weights are inverse probabilities of inclusion, which are uniform
between .02 and 1 in the population. With clusters, most errors are in a few of them,
rows are independent, or error rates have a beta distribution. True values are exact.

*Width* is, for proportions, the median width over that of Wilson's interval of the same
estimate at Kish's effective sample size: :math:`(\\sum_i w_i)^2 / \\sum_i w_i^2`, of
the positive rows for the recall, and with clusters the number of rows over the design
effect of the true intraclass correlation.
"""

_ALL = """\
Coverage by metric. Those of less than .93 are marked: most samples that miss *warn*, it
is within two Monte Carlo errors (±), or *off*. *Warns* is the share of samples with a
warning, for accuracy and recall, and *width* that over Wilson's, for accuracy and, with
weights, recall.
"""
