"""Coverage of intervals of metrics beyond labels, areas and losses, by field."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.clinical_simulation import MODELS, Band, Individual
from benchmarks.coverage.rankings import AGAIN
from benchmarks.coverage.simulation import JOINT_LEVEL

_SIZES = (50, 200, 1000)
_BAND_DRAWS = (150, 300, 300)
_BAND_OF = "overfitted"
_AGAIN = "calibrated", 200
_TOLERANCE = 0.02
_MODULES = ("clinical_simulation", "simulation")


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(400, 20), more=(2000, 20))
    band_draws = _BAND_DRAWS if not options.quick else (2, 2, 2)
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    simulations = [
        *(Individual(model, n, size.draws) for model, n in product(MODELS, _SIZES)),
        *map(Band, [_BAND_OF] * len(_SIZES), _SIZES, band_draws),
    ]
    order = [(each.model, each.n) for each in simulations]
    found = runner.run(simulations, "clinical")
    records = Records(
        sorted(found, key=lambda each: order.index((each["model"], each["n"])))
    )
    bands = [
        {**each, "draws": band_draws[_SIZES.index(each["n"])]}
        for each in records.where(metric="decision curve")
    ]
    single = Records(each for each in records if "warned" in each)
    error = monte_carlo_error(JOINT_LEVEL, size.draws)
    sections = [
        Section("In short", _SUMMARY, [summary(single)]),
        Section(
            "Clinical prediction models",
            _SINGLE.format(draws=f"{size.draws:,}", error=error),
            [[*map(row, single)]],
        ),
        Section(
            "Decision curves",
            _CURVES,
            [[*map(band_row, bands)]],
        ),
    ]
    again = runner.run([Individual(*_AGAIN, size.more)], "again")
    caption = AGAIN.format(unit="patients", n=_AGAIN[1], draws=size.more)
    sections.append(
        Section("More samples of one setting", caption, [[*map(row, again)]])
    )
    show(*sections)
    if output:
        file = output / "new_metrics.rst"
        write_page(file, "coverage", "Metrics by field", _INTRODUCTION, *sections)


def row(record: Record) -> Row:
    """A record of a metric as a row of the table."""
    return {
        "predictions": record["model"],
        "rows": f"{record['n']:,}",
        "metric": record["metric"],
        "coverage": f"{record['coverage']:.3f}",
        "width": f"{record['width']:.3f}",
        "warned": f"{record['warned']:.0%}",
    }


def band_row(record: Record) -> Row:
    """A record of joint bands as a row of the table."""
    return {
        "predictions": record["model"],
        "rows": f"{record['n']:,}",
        "samples": str(record["draws"]),
        "joint coverage": f"{record['coverage']:.3f}",
        "Monte Carlo error": f"{monte_carlo_error(JOINT_LEVEL, record['draws']):.3f}",
    }


def summary(records: Records) -> list[Row]:
    """Range of the coverage of each metric, and how often it is too low."""
    rows = []
    for metric in records.unique("metric"):
        found = records.where(metric=metric).column("coverage")
        low = sum(each < JOINT_LEVEL - _TOLERANCE for each in found)
        rows.append(
            {
                "metric": metric,
                "settings": str(len(found)),
                "minimum": f"{min(found):.3f}",
                "maximum": f"{max(found):.3f}",
                f"below {JOINT_LEVEL - _TOLERANCE:g}": str(low),
            }
        )
    return rows


_INTRODUCTION = """\
Coverage of 95% intervals by the default methods, in samples from known populations.
"""

_SUMMARY = "Least and greatest coverage over all settings of a metric."

_SINGLE = """\
Logits of predictions are normal with mean -1 and standard deviation 1.2. The true
probabilities are those, or their logits are .1 + .7 times those, as of a model that
overfits, or .5 more, of predictions that are too low. Metrics at a threshold are at .2,
and the squared calibration error is of 10 bins of as many rows. There are {draws}
samples of each setting, and the Monte Carlo error of a coverage of .95 is {error:.3f}.
Widths are medians; warned is how often the interval came with a warning of a small
sample. Of calibrated predictions the squared calibration error is 0, the end of its
range, and its intervals are too wide.
"""

_CURVES = """\
Coverage of all intervals of :func:`skci.decision_curve_report` at once: net benefit and
interventions avoided of a model, and the net benefit of treating all, at 50 thresholds
from .02 to .6, which are 150 intervals. Intervals of means of bounded values allow for
values that were not seen, and so may cover more often than nominal.
"""
