"""Coverage in small samples, by the default intervals and by the former ones."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.chapter_simulation import Setting, Variant
from benchmarks.coverage.chapters import excess, in_order, verdict
from benchmarks.coverage.simulation import JOINT_LEVEL
from benchmarks.coverage.small_sample_settings import (
    ERRORS,
    FewPositives,
    Probabilities,
    Regression,
)
from benchmarks.coverage.small_sample_simulation import (
    DEFAULT,
    DELTA,
    DIFFERENCES,
    JOINT,
    BeforeAndNow,
)

MODULES = (
    "chapter_simulation",
    "classes_and_scores",
    "populations",
    "simulation",
    "small_sample_settings",
    "small_sample_simulation",
)

_PAIR = (0.98, 0.9)
SETTINGS: dict[Variant, list[Setting]] = {
    DEFAULT: [
        *(
            Probabilities(n, (0.98,), ("log_loss", "brier_score"))
            for n in (100, 300, 1000)
        ),
        *(Probabilities(n, (0.98,), ("brier_score",)) for n in (10, 20, 50)),
        *(Regression(n, errors) for errors, n in product(ERRORS, (50, 200, 1000))),
        *(
            Probabilities(n, (area,), ("roc_auc", "average_precision"))
            for area, n in product((0.9, 0.98), (100, 300))
        ),
        *(FewPositives(n) for n in (100, 300)),
    ],
    DELTA: [FewPositives(n) for n in (100, 300)],
    DIFFERENCES: [
        Probabilities(n, _PAIR, metrics)
        for metrics in (("roc_auc", "log_loss"), ("brier_score",))
        for n in (100, 300)
    ],
    JOINT: [
        Probabilities(n, _PAIR, ("log_loss", "roc_auc", "accuracy")) for n in (100, 300)
    ],
}
"""Settings by what is reported on their samples."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the table and write the page."""
    # Of the settings, only every so many are simulated.
    size = sizes(options.quick, draws=(2_000, 20), every=(1, 4))
    modules = [f"coverage/{module}" for module in MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    simulations = [
        BeforeAndNow(variant, setting, size.draws)
        for variant, settings in SETTINGS.items()
        for setting in settings
    ][:: size.every]
    records = in_order(runner.run(simulations, "small samples"), simulations)
    metrics = records.unique("metric")
    records = Records(sorted(records, key=lambda each: metrics.index(each["metric"])))
    sections = [
        Section("Verdict", verdicts(records), []),
        Section("Why", _WHY, []),
        Section("Before and now", _TABLE, [[row(record) for record in records]]),
    ]
    show(sections[0].caption, sections[-1])
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}", error=error)
        file = output / "small_samples.rst"
        write_page(file, "coverage", "Small samples", introduction, *sections)


def row(record: Record) -> Row:
    """A record as a row of the table."""
    quiet = record["without_warning"]
    return {
        "interval of": record["metric"],
        "data": record["setting"],
        "n": f"{record['n']:,}",
        "before": f"{record['before']:.3f}",
        "now": f"{record['coverage']:.3f}",
        "below": f"{record['below']:.3f}",
        "above": f"{record['above']:.3f}",
        "within .02": verdict(record),
        "warns": f"{record['warned']:.0%}",
        "without a warning": "" if quiet is None else f"{quiet:.3f}",
        "width": f"{record['width']:.2f}",
    }


def verdicts(records: Records) -> str:
    """Say which promises are kept or warned of, and name the others."""
    off = [record for record in records if verdict(record) != "yes"]
    silent = [record for record in off if record["warned"] <= 0.5]
    kept, warned = len(records) - len(off), len(off) - len(silent)
    blocks = [_VERDICT.format(all=len(records), kept=kept, warned=warned).strip()]
    narrow = [record for record in silent if excess(record) < 0]
    wide = [record for record in silent if excess(record) > 0]
    for title, chosen in (("Too narrow", narrow), ("Too wide", wide)):
        blocks.append(
            f"*{title}*, and most samples do not warn: {len(chosen) or 'none'}."
        )
        lines = [
            f"- {record['metric']}, {record['setting']}, n = {record['n']:,}: "
            f"{record['coverage']:.3f}, before {record['before']:.3f}; "
            f"{record['warned']:.0%} warn"
            + (" (within error)" if verdict(record) == "within error" else "")
            for record in chosen
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(filter(None, blocks))


_INTRODUCTION = """\
A sample is small where few rows make up most of a variance: the rows of a rare label,
outliers, heavy weights, few or unequal clusters. A normal quantile is then too small,
and the estimate and its standard error are often too small at once. Weights and
clusters are on the page :doc:`unequal`. Here is the coverage of 95% intervals in small
samples of independent rows: of the default, "auto" (see :class:`~skci.MetricCI`), and
of the default before it: "delta" with a normal quantile for losses, numbers and
differences, "logit" with a normal quantile for areas under curves, and "blurred" for
metrics of labels.

Each line of the table is a promise, of one interval or of a whole joint report: its
coverage is within .02 of .95, or more than half of the samples give a
``SmallSampleWarning`` or a ``DegenerateVarianceWarning``. There are {draws} samples of
each setting. The Monte Carlo error of a coverage of .95 is {error:.4f}.
"""

_VERDICT = """\
Of {all} promises {kept} are within .02 of .95, and of {warned} others more than half of
the samples warn. The rest are named here; *within error* exceeds .02 by less than two
Monte Carlo errors.
"""

_WHY = """\
- *Squared errors of a t distribution with 3 degrees of freedom* have no variance, so
  that no interval based on one is accurate, however large the sample. Most samples of
  200 rows or more warn, of few degrees of freedom or of heavy tails (see
  :ref:`heavy-tails`), which fewer rows do not show. An outlier dominates R2 and the
  correlation less, as it also adds to the variance of the true values.
- *Samples without a warning* cover less often than others, for losses, numbers and
  areas. The warning is due to rows that dominate the variance, but an interval misses
  where the sample happens to lack them: estimate and standard error are then both too
  small. For "delta" and few positives, which is not the default, it is the other way
  round: nearly all misses are in samples that warn.
- *Log losses of rare labels*: the t quantile and the correction for skewness both allow
  for the few rows that dominate, which makes intervals too wide. Degrees of freedom net
  of the skewness :math:`\\gamma` of the estimate, from :math:`\\sum_g S_g^4 / (\\sum_g
  S_g^2)^2 - 1/G - \\gamma^2`, give .955 for 300 rows, but .90 in place of .94 for the
  squared error of 200 lognormal errors, and .91 in place of .93 for that of 50 errors
  with 5 degrees of freedom.
"""

_TABLE = """\
*Before* and *now* are coverages. *Below* and *above* are the shares of samples whose
interval, now, has the true value below and above it. *Warns* is the share of samples
with a warning, and *without a warning* the coverage of the others. *Width* is the
median of the present width over the former one. In a joint report a miss is a miss of
any of its intervals. Where a method is named, it is the method of both intervals.

Rows are independent, so that the number of positives varies. Scores are the right
probabilities given normal evidence, as in :doc:`chapters`; the table gives the areas of
one model or of two, with correlation .6 between their evidence. Regression errors have
mean zero, lognormal ones are those of :math:`e^Z`; predictions are normal with the
variance of the errors, so that R2 is .5. The model on 10 expected positives has a
precision and a recall of .8. True values are exact, or computed by scikit-learn on a
million evenly spaced quantiles for each label.
"""
