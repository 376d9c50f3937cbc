"""How many labels reach a width of real data, by which way of choosing them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.labels_saved_simulation import (
    NUMBERS,
    TARGETS,
    WAYS,
    LabelledBitByBit,
    digits,
)
from benchmarks.coverage.simulation import JOINT_LEVEL

_WIDTHS = (0.06, 0.05, 0.04, 0.03, 0.025)
_MODULES = ("labels_saved_simulation",)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Label, print the tables and write the page."""
    draws = sizes(options.quick, draws=(60, 2)).draws
    runner = Runner(
        work, options.seed, options.jobs, [f"coverage/{module}" for module in _MODULES]
    )
    found = runner.run([LabelledBitByBit(k) for k in range(draws)], "labels saved")
    error = monte_carlo_error(JOINT_LEVEL, draws)
    of_coverage = _COVERAGE.format(error=error)
    sections = [
        Section("Labels that reach a width", _REACHED, [reached(found)]),
        Section("Half widths", _HALF_WIDTHS, [by_number(found, half_width)]),
        Section("Coverage", of_coverage, [by_number(found, coverage)]),
    ]
    show(*sections)
    if output:
        y, models, judge = digits()
        right = {name: float((each == y).mean()) for name, each in models.items()}
        introduction = _INTRODUCTION.format(
            rows=len(y),
            draws=draws,
            judge=float((judge == y).mean()),
            **right,
        )
        file = output / "labels_saved.rst"
        write_page(file, "coverage", "Labels saved", introduction, *sections)


def half_width(records: Records) -> str:
    """Median half width."""
    return f"{np.median(records.column('half_width')):.3f}"


def coverage(records: Records) -> str:
    """Share of the intervals that cover."""
    return f"{records.mean('coverage'):.2f}"


def by_number(records: Records, shown: Callable[[Records], str]) -> list[Row]:
    """A summary of each target and way, by the number of labels."""
    rows = []
    for target in TARGETS:
        for way in WAYS:
            chosen = records.where(target=target, way=way)
            cells = {f"{n}": shown(chosen.where(n=n)) for n in NUMBERS}
            rows.append({"estimate": target, "labels": way} | cells)
    return rows


def reached(records: Records) -> list[Row]:
    """Numbers of labels at which the median half width is as wanted.

    Between two numbers it is a power of the number.
    """
    rows = []
    for target in TARGETS:
        for way in WAYS:
            chosen = records.where(target=target, way=way)
            medians = [
                np.median(chosen.where(n=n).column("half_width")) for n in NUMBERS
            ]
            falling = np.minimum.accumulate(medians)[::-1]
            logs = np.log(_WIDTHS), np.log(falling), np.log(NUMBERS[::-1])
            numbers = np.exp(np.interp(*logs))
            row = {"estimate": target, "labels": way}
            for width, number in zip(_WIDTHS, numbers, strict=True):
                if width < falling[0]:
                    cell = f"over {NUMBERS[-1]}"
                elif width > falling[-1]:
                    cell = f"under {NUMBERS[0]}"
                else:
                    cell = f"{number:.0f}"
                row[f"{width:g}"] = cell
            rows.append(row)
    return rows


_INTRODUCTION = """
The handwritten digits of scikit-learn are {rows:,} rows that no model was fitted to.
Model A, a logistic regression on 100 others, is right on {A:.3f} of them, and B, the
nearest centroid, on {B:.3f}; a judge, the nearest neighbour among 100 more, on
{judge:.3f}. Labels are revealed bit by bit, {draws} times, to intervals of 95%.

Labels are those of random rows, without the judge or with it as ``proxy=``; or, with
``label_probability=``, half of rows on which both models and the judge agree and half
of others (*stratified*), or of those that :func:`~skci.planning.label_next` names, from
50 at random on, in as many rounds as there are columns below (*active*). See
:doc:`/judge`.
"""

_REACHED = """
By the half width of the interval, how many labels have a median of it or less.
"""

_HALF_WIDTHS = """
Medians, by the number of labels.
"""

_COVERAGE = """
Share of the intervals that cover the value of all rows, with a Monte Carlo error of
{error:.3f} at .95. The value is that of these rows and not of a population, so that
more than .95 of the intervals should cover where many rows are labelled.
"""
