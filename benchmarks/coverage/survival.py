"""Coverage of intervals of metrics of survival, by the share of censored rows."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.rankings import AGAIN, row
from benchmarks.coverage.rankings_simulation import Coverage
from benchmarks.coverage.simulation import JOINT_LEVEL
from benchmarks.coverage.survival_simulation import CENSORED, Times

_N_ROWS = (50, 200, 1000)
_AGAIN = Times(CENSORED[-1], 200)
_MODULES = ("rankings_simulation", "simulation", "survival_simulation")
_FILE = "new_metrics_survival.rst"


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick, draws=(400, 10), more=(1500, 10), units=(_N_ROWS, _N_ROWS[:1])
    )
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    settings = [Times(share, n) for share, n in product(CENSORED, size.units)]
    found = runner.run([Coverage(each, size.draws) for each in settings], "survival")
    records = Records(sorted(found, key=lambda each: (each["censored"], each["n"])))
    sections = [
        Section(
            f"{share:.0%} of the rows are censored".replace("%", " %"),
            _FEW_EVENTS if share == CENSORED[-1] else "",
            [[row(each, "rows") for each in records.where(censored=share)]],
        )
        for share in CENSORED
    ]
    again = runner.run([Coverage(_AGAIN, size.more)], "again")
    caption = AGAIN.format(unit="rows", n=_AGAIN.n, draws=size.more)
    table = [row(each, "rows") for each in again]
    sections.append(Section("More samples of one setting", caption, [table]))
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}", error=error)
        write_page(output / _FILE, "coverage", "Survival", introduction, *sections)


_INTRODUCTION = """\
Coverage of the default intervals, at the level .95, of one model, of the difference of
two, and of all metrics of both models at once. Times are exponential, with a log hazard
that is normal and that both models know with noise; censoring is independent of them.
Uno's C is of events before 0.5, and the integrated Brier score of three times from 0.1
to 0.5. True values are those of 100,000 rows of the same censoring, on which Harrell's
C depends. There are {draws} samples of each setting; the Monte Carlo error of a
coverage of .95 is {error:.3f}. Widths are medians, jointly means.
"""

_FEW_EVENTS = """\
Of 50 rows about 15 have an event, of which few are by 0.25. Many intervals warn there,
and of those that do not some cover less than .93: those of Harrell's C, and of all
differences but that of Uno's C. From 200 rows on all are within .02 of .95, or within
twice the Monte Carlo error of that; see the last table.
"""
