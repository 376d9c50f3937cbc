"""Coverage and width of intervals for bounded grades: default, Hall's, betting."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.bounded_grades_simulation import (
    FAMILIES,
    METHODS,
    BoundedGrades,
    Grades,
)
from benchmarks.coverage.simulation import JOINT_LEVEL

GOAL = 0.93
"""Least acceptable coverage of the default."""

_ITEMS = (10, 20, 50, 200, 1000)
_MODULES = (
    "betting",
    "bounded_grades_simulation",
    "classes_and_scores",
    "populations",
    "simulation",
)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(300, 10), items=(_ITEMS, _ITEMS[:3]))
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    settings = [Grades(family, n) for family, n in product(FAMILIES, size.items)]
    simulations = [BoundedGrades(setting, size.draws) for setting in settings]
    found = runner.run(simulations, "bounded grades")
    order = [(setting.family, setting.n) for setting in settings]
    records = Records(
        sorted(found, key=lambda each: order.index((each["family"], each["n"])))
    )
    sections = [
        Section("In short", _SUMMARY, [summary(records)]),
        *(
            Section(title, "", [[*map(row, records.where(of=of))]])
            for title, of in (("Means", "mean"), ("Differences", "difference"))
        ),
    ]
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}", error=error)
        file = output / "bounded_grades.rst"
        write_page(file, "coverage", "Bounded grades", introduction, *sections)


def row(record: Record) -> Row:
    """A record as a row of the table."""
    cells = {"grades": record["family"], "items": f"{record['n']:,}"}
    for method in METHODS:
        cells[method] = f"{record[method]['coverage']:.3f}"
    for method in METHODS:
        cells[f"width, {method}"] = f"{record[method]['width']:.3f}"
    cells["default to hall"] = f"{_price(record):.1f}"
    cells["hall warns"] = f"{record['hall']['warned']:.0%}"
    return cells


def summary(records: Records) -> list[Row]:
    """Least coverage and ratios of widths, by what the interval is of."""
    rows = []
    for of in records.unique("of"):
        chosen = records.where(of=of)
        for method in METHODS:
            coverages = [record[method]["coverage"] for record in chosen]
            rows.append(
                {
                    "interval of a": of,
                    "method": method,
                    "settings": str(len(chosen)),
                    "minimum": f"{min(coverages):.3f}",
                    "mean": f"{sum(coverages) / len(coverages):.3f}",
                    f"below {GOAL:g}": str(sum(c < GOAL for c in coverages)),
                }
            )
    return rows


def _price(record: Record) -> float:
    """Width of the default over that of "hall"."""
    return float(record["default"]["width"] / record["hall"]["width"])


_INTRODUCTION = """\
Of grades between 0 and 1, such as Dice scores, an item that was not seen may have 0 or
1, however little those of a sample vary. The default of :func:`skci.grades_report` with
``bounds=(0, 1)``, "score", allows for that: 0 and 1, or -1 and 1 for a difference, are
possible values also where they were not observed. Its intervals are therefore much
wider than those of ``method="hall"``, which knows of no value but those of the sample,
where grades vary little. Here are coverage and width of both, and of a betting interval
[1]_, which has at least its nominal coverage for any distribution and any number of
independent items.

*Dice* scores have mean .9 and standard deviation .03, with a beta distribution, but for
failures with a score of 0. *nDCG* is 1 for a third of the queries, and Beta(5, 2) for
others; the *rubric of 5* has the grades 0, .25, .5, .75 and 1; *Brier* losses are of
the right probabilities of a label with a prevalence of .05, by evidence with an area
under the ROC curve of .9. The second model of a difference is a little worse, and
better or worse on the same items: their normal scores have correlation .6. True values
are exact, or those of a population of evenly spaced quantiles.

There are {draws} samples of each setting. The Monte Carlo error of a coverage of .95 is
{error:.3f}. Widths are medians.

.. [1] Waudby-Smith, I. and Ramdas, A. (2023). Estimating means of bounded random
   variables by betting. *Journal of the Royal Statistical Society B* 86, 1-27.
"""

_SUMMARY = """\
The default covers in at least .93 of samples everywhere. "hall" covers in as few as .47
where one item in a hundred or in thirty fails, or a label is rare: many samples of 10
to 50 items lack such an item, and do not show that there are any. It warns of 10 items,
and of samples with a failure, but not of most without.

No method can have the width of one and the coverage of the other: 50 Dice scores
without a failure look alike whether failures are impossible or occur once in a hundred
items. The price of the default is in the column *default to hall*, the ratio of the
widths. It is about 1 where grades spread over their range, and for a difference of two
models up to 14 where they do not and items are few. If failures are impossible, say so:
by ``bounds`` of what may occur, such as (.5, 1), or by ``method="hall"`` if the sample
has all values that matter. The betting interval is 1.2 to 2 times as wide as the
default, and covers in .96 of samples or more.

Nothing narrower is offered for differences. Ends of what one unseen item may add while
the other model's grade of it is among those that were seen, in place of -1 and 1, make
intervals 0 to 6% narrower, with a coverage of 1.00. The limits of both means combined
as squares, with the correlation of the grades that were seen (Newcombe's), make them 5
to 33% narrower and cover in .975 to 1.00 (20 and 50 items, 120 samples of nDCG and of
Dice with failures of one model or of both), but an item that was not seen need not be
correlated as those that were.
"""
