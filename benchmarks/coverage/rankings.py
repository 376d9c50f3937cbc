"""Coverage of intervals for rankings by query and for detections by image."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.rankings_simulation import KINDS, Coverage, Units
from benchmarks.coverage.simulation import JOINT_LEVEL

_N_UNITS = (50, 200, 1000)
_AGAIN = Units("images", 200)
_MODULES = ("rankings", "rankings_simulation", "simulation")
_FILE = "new_metrics_rankings.rst"


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick, draws=(400, 10), more=(1500, 10), units=(_N_UNITS, _N_UNITS[:1])
    )
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    settings = [Units(kind, n) for kind, n in product(KINDS, size.units)]
    found = runner.run([Coverage(each, size.draws) for each in settings], "rankings")
    order = [(setting.kind, setting.n) for setting in settings]
    records = Records(
        sorted(found, key=lambda each: order.index((each["kind"], each["n"])))
    )
    sections = [
        Section(title, caption, [[*map(row, records.where(kind=kind))]])
        for kind, (title, caption) in zip(KINDS, _SECTIONS, strict=True)
    ]
    again = runner.run([Coverage(_AGAIN, size.more)], "again")
    caption = AGAIN.format(unit=_AGAIN.kind, n=_AGAIN.n, draws=size.more)
    sections.append(
        Section("More samples of one setting", caption, [[*map(row, again)]])
    )
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}", error=error)
        title = "Rankings and detections"
        write_page(output / _FILE, "coverage", title, introduction, *sections)


def row(record: Record, unit: str = "") -> Row:
    """A record as a row of the table, of so many units."""
    without = record["without"]
    return {
        unit or record["kind"]: f"{record['n']:,}",
        "interval of": record["of"],
        "coverage": f"{record['coverage']:.3f}",
        "without a warning": "" if without is None else f"{without:.3f}",
        "warns": f"{record['warned']:.0%}",
        "width": f"{record['width']:.3f}",
    }


_INTRODUCTION = """\
Coverage of the default intervals, at the level .95, of one model, of the difference of
two, and of all metrics of both models at once. True values are those of 100,000 queries
or images. There are {draws} samples of each setting; the Monte Carlo error of a
coverage of .95 is {error:.3f}. Widths are medians, jointly means.
"""

AGAIN = """\
Some coverages of {n} {unit} are below .93 by no more than the Monte Carlo error. In
{draws:,} other samples, for which it is .006, all are above .93.
"""

_SECTIONS = (
    (
        "Rankings",
        """\
A query has 20 documents with relevances from 0 to 3, of which few are above 0 in some
queries and many in others; in hard queries scores hardly depend on them. Both models
have a part of their errors in common. With 50 queries differences cover more often than
they should: their intervals allow for a query on which one model has 1 and the other 0,
which those of the sample do not show.
""",
    ),
    (
        "Detections",
        """\
An image has one object or more, three in the mean, of which 22.5 % are not detected,
and one false detection or two in the mean, with scores nearer to those of objects in
hard images. Images are the clusters.
""",
    ),
)
