"""Joint coverage for scores, several classes, several targets and subgroups."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.chapter_simulation import Chapter, ChapterSimulation
from benchmarks.coverage.classes_and_scores import AREAS, MULTICLASS, MULTILABEL
from benchmarks.coverage.sampling_designs import SUBGROUPS

CHAPTERS: tuple[Chapter, ...] = (AREAS, MULTICLASS, MULTILABEL, SUBGROUPS)
TOLERANCE = 0.02
"""Largest acceptable difference between joint coverage and nominal level."""

MODULES = (
    "chapter_simulation",
    "classes_and_scores",
    "populations",
    "sampling_designs",
    "simulation",
)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    # Of the settings of a chapter, only every so many are simulated.
    size = sizes(options.quick, draws=(400, 20), every=(1, 8))
    modules = [f"coverage/{module}" for module in MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    simulations = [
        ChapterSimulation(chapter.title, setting, chapter.variants, size.draws)
        for chapter in CHAPTERS
        for setting in chapter.settings[:: size.every]
    ]
    records = in_order(runner.run(simulations, "chapters"), simulations)
    sections = [
        Section("In short", _SUMMARY, [summary(records)]),
        Section("Where it is off", _OFF, [off(records)]),
    ]
    for chapter in CHAPTERS:
        table = [row(record) for record in records.where(chapter=chapter.title)]
        sections.append(Section(chapter.title, chapter.text, [table]))
    show(*sections)
    if output:
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}")
        title = "Coverage, further chapters"
        write_page(output / "chapters.rst", "coverage", title, introduction, *sections)


def in_order(records: Records, simulations: Sequence[Any]) -> Records:
    """Sort records as their settings are first declared."""
    order = dict.fromkeys(
        (each.chapter, each.setting.name, each.setting.n) for each in simulations
    )
    keys = ("chapter", "setting", "n")
    position = {label: k for k, label in enumerate(order)}
    return Records(
        sorted(records, key=lambda record: position[tuple(record[key] for key in keys)])
    )


def row(record: Record) -> Row:
    """A record as a row of a table."""
    warnings = record["warnings"].items()
    return {
        "setting": record["setting"],
        "n": f"{record['n']:,}",
        "intervals": record["variant"],
        "joint coverage": f"{record['coverage']:.4f}",
        "error": f"{monte_carlo_error(record['coverage'], record['draws']):.4f}",
        "minimum, individual": f"{record['least']:.4f}",
        "of": record["least_of"],
        "within .02": verdict(record),
        "warnings, share of samples": "; ".join(
            f"{text}: {share:.1%}" for text, share in warnings
        ),
    }


def verdict(record: Record) -> str:
    """Whether a coverage is within the tolerance of its nominal level."""
    if not record["nominal"]:
        return ""
    bias = excess(record)
    if abs(bias) <= TOLERANCE:
        return "yes"
    error = monte_carlo_error(record["coverage"], record["draws"])
    if abs(bias) - TOLERANCE < 2 * error:
        return "within error"
    return "no, above" if bias > 0 else "no, below"


def excess(record: Record) -> float:
    """Coverage minus nominal level."""
    return float(round(record["coverage"] - record["confidence_level"], 9))


def off(records: Records) -> list[Row]:
    """Joint coverages that are not within the tolerance."""
    return [
        {"chapter": record["chapter"], **row(record)}
        for record in records.where(nominal=True)
        if verdict(record) != "yes"
    ]


def summary(records: Records) -> list[Row]:
    """Joint coverages by chapter and variant."""
    rows = []
    nominal = records.where(nominal=True)
    for chapter in nominal.unique("chapter"):
        of_chapter = nominal.where(chapter=chapter)
        for variant in of_chapter.unique("variant"):
            chosen = of_chapter.where(variant=variant)
            low = [record for record in chosen if excess(record) < -TOLERANCE]
            warned = [max(each["warnings"].values(), default=0) > 0.5 for each in low]
            high = [record for record in chosen if excess(record) > TOLERANCE]
            rows.append(
                {
                    "chapter": chapter,
                    "intervals": variant,
                    "settings": str(len(chosen)),
                    "minimum": f"{chosen.minimum:.3f}",
                    "mean": f"{chosen.mean():.3f}",
                    "maximum": f"{max(chosen.column('coverage')):.3f}",
                    "off below": str(len(low)),
                    "of these with a warning": str(sum(warned)) if low else "",
                    "off above": str(len(high)),
                }
            )
    return rows


_INTRODUCTION = """\
:doc:`coverage` is about labels in independent, equally weighted rows. Here are other
data, a chapter for each kind, with 500 rows and more; weights and clusters are on the
page :doc:`unequal`. It is counted how often *all* intervals of a 95% report by
:func:`~skci.joint_report` cover at once. The goal is a joint coverage within .02 of
.95, or a warning.

Each setting has {draws} samples unless stated otherwise, and *error* is the Monte Carlo
error of the joint coverage. *Default* is the report without a method, "auto": "score"
for metrics of labels and the Brier score, "logit" for areas, "hall" for log loss and
differences of scores, and "blurred" for sums over several targets. *Minimum,
individual* is the coverage of the individual 95% interval that covered least often, and
*of* names it. A sample may give several warnings; each is shown with its share of the
samples.
Undefined metrics count as covered, as their interval is the whole range.
"""

_SUMMARY = """\
Joint coverages of the intervals with nominal level .95. *Off* is more than .02 from it;
*with a warning* counts settings in which most samples give the same warning.
"""

_OFF = """\
All settings whose joint coverage is off by more than .02. *Within error* exceeds that
by less than two Monte Carlo errors: by chance a coverage of exactly .95 is off by more
than .02 in one of twenty settings with 400 samples, and in one of seven with 200.

Above makes intervals wide but not wrong; below makes them wrong:

- *Rare labels.* Few rows of one label determine an area under a curve; below 12 degrees
  of freedom it warns.
- *Few errors, by "delta".* It has no correction for them, but warns; it is not the
  default for metrics of labels.
- Differences with a rare class, and gaps, may be below by chance: no other setting of
  theirs is.
"""
