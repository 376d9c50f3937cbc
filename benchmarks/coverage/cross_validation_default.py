"""Coverage of the default intervals after cross-validation."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Section, show, write_page
from benchmarks.common.results import Runner, monte_carlo_error
from benchmarks.coverage.cross_validation import MODULES, ROWS, simulate
from benchmarks.coverage.cross_validation_settings import SETTINGS
from benchmarks.coverage.cross_validation_summaries import (
    DEFAULT,
    REFERENCE,
    by_method,
    by_setting,
    summaries,
)
from benchmarks.coverage.simulation import JOINT_LEVEL


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(40, 4), every=(1, 7), training_sets=(10, 5))
    draws = options.draws or size.draws
    paths = [f"coverage/{module}" for module in MODULES]
    runner = Runner(work, options.seed, options.jobs, paths)
    settings = SETTINGS[:: size.every]
    methods = DEFAULT.name, REFERENCE
    records = simulate(runner, settings, draws, size.training_sets, methods)
    found = summaries(records, settings)
    sections = [
        Section("All settings", _ALL, [by_method(found)]),
        Section("By setting", _BY_SETTING, [by_setting(found, DEFAULT.name)]),
    ]
    show(*sections)
    if output:
        introduction = _INTRODUCTION.format(
            draws=draws,
            error=monte_carlo_error(JOINT_LEVEL, draws),
            low=monte_carlo_error(0.8, draws),
            training_sets=size.training_sets,
            rows=ROWS,
        )
        file = output / "cross_validation_default.rst"
        title = "Cross-validation: the default today"
        write_page(file, "coverage", title, introduction, *sections)


_INTRODUCTION = """\
A short run of the default of :func:`~skci.cross_validate_report`, the jackknife over
groups of rows, in the settings of :doc:`cross_validation`, to see after each change of
the code whether its intervals still cover. That page has the other methods and the
reasons, from more samples.

There are {draws} samples of each setting, a quarter in "curved"; the Monte Carlo error
of a coverage of .95 is {error:.3f} and that of .80 is {low:.3f}. True values are means
over {training_sets} models, each evaluated on {rows:,} fresh rows.
"""

_ALL = """\
*All parameters* and *all differences* are the shares of samples in which the joint 95%
intervals of a report cover together, *individual* is the mean coverage of single
intervals, and their Monte Carlo errors are those over all samples. *Width* is that of
the interval of the difference in accuracy, or in an error, over that of a corrected t
interval of one 5-fold cross-validation.
"""

_BY_SETTING = """\
*Lowest individual* is the interval that covers least often of the 15 of a report of
labels, or of up to 9 of numbers: with as few samples it is by chance well below .95. A
sample *warns* of few degrees of freedom, heavy tails, no variance or an undefined
metric. *Whole range* is the share of samples in which some interval is the whole range.
"""
