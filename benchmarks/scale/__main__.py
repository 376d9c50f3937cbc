"""How far do many models, many parameters and long streams go?

    python -m benchmarks.scale [--quick]

Reports on many models are measured in processes of their own, critical values against
exact ones where there are any, and streams are looked at after every batch. Streams
are cached in the folder --work, so that a stopped run resumes as long as the code is
the same. Claim exponents and shares only: the seconds are of one machine.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.common.command import BENCHMARKS, page_folder, parser, sizes
from benchmarks.common.pages import Section, show, write_page
from benchmarks.common.results import Runner
from benchmarks.scale import (
    batches,
    frames,
    growth,
    leaderboards,
    many,
    moments,
    rows,
    streams,
)
from benchmarks.scale.leaderboards import Leaderboard

_INTRODUCTION = """\
Thousands of intervals in one report, and reports that are looked at again and again.
Times are processor times of one thread.
"""

_CASES = """\
Reports on correlated models, with all that they have: limits, joint and individual,
standard errors and, for all paired differences, adjusted p-values. The memory is the
peak of a process of its own, with Python, the libraries and the data.
"""

_LEADERBOARDS = """\
What a leaderboard is asked for, from grades or labels on: the report, the ranks, the
models that may be the best, and all differences with their intervals and p-values,
printed or as a frame. Each is measured in a process of its own. An answer is the sum of
a skill, the ease of the item and noise, both standard normal; the page names the
standard deviation of the skills. Ranks are tests at no difference, without limits.
Models that Bonferroni's inequality shows to be worse are settled at once, so that
:meth:`~.JointReport.best` takes longest where all may be the best.

The second table has the share of samples in which some of equally good models are
called different, with its Monte Carlo error.
"""

_GROWTH = """\
Each subject in sizes that double, in processes of their own: processor seconds of the
report from the data to its text, the peak memory above that of Python, the libraries
and the data, and how many times as much the last size takes as the one before. A ratio
of memory is given from 16 MiB on.

Pairs grow fourfold: macro F1 and kappa have the table of all pairs of labels, a
one-vs-one AUC the areas of all pairs, and gaps are those of all pairs of subgroups. So
does the covariance of all classes of a report, on which their joint intervals rest.
Many thresholds, metrics of one model and bins take as long as their critical value,
whose points are limited: the larger it is the less it grows.
:meth:`~.JointReport.best` has a critical value for each that may be the best, and among
thresholds compares each of all models with each: 8 of 4 models are 496 differences,
where ``differences()`` has 48 on a metric. Planned looks, and any look, are taken at
twenty times at most.
"""

_ROWS = """\
Chunks of five million rows of 0/1 labels are added to a
:class:`~skci.JointAccumulator`, the truth and the predictions of some models. A pass is
``np.bincount`` of one column of the same chunk. The memory does not grow with the rows.
A second table has the same report on a Parquet file by each library of data frames that
is installed, with the processor time of all threads and the peak memory of its process,
Python and libraries included. PySpark has two local threads, and at most 4 GiB for the
heap of its Java process, whose start counts. A third table, on another file, has DuckDB
beside its own GROUP BY of the columns.
"""

_NUMBERS = """\
Chunks of a million rows of numbers are added to a :class:`~skci.JointAccumulator` that
keeps their moments, and to one that keeps rows, a tenth as many in all, for mean
squared and mean absolute error and R2 of one model. With moments neither the time of
the report, with its limits, nor the memory grows with the rows.
"""

_BATCHES = """\
Batches of 400 rows of labels in 40 groups, other groups in each, are added to a
:class:`~skci.JointAccumulator`, for accuracy and F1 of one model. Groups are kept, so
that the memory grows with them, and the time with their number times its logarithm.
"""

_CRITICAL = """\
.. figure:: scale.png
   :alt: Time of a critical value against the number of parameters on logarithmic
      scales. It grows less than quadratically.

   Time of a critical value.

The number of standard errors at which K intervals of level .95 cover jointly, with its
stated error, which is 3.5 standard errors, and its actual one where an integral gives
the exact value. From some 1,000 parameters of full rank on, points are limited, so that
the stated error may be above .001, and a report warns of it: .005 is a tenth of a
percent of the width, and .001 would take ten times as long at 5,000, since the error
falls about as the number of points to the power of -2/3. Of low rank, as of the
differences of few means or models, only as many normal variables are drawn as the rank
has.

The Gaussian multiplier bootstrap of Chernozhukov, Chetverikov and Kato (2013) draws
from the same distribution without the correlation: sums of influence values with
standard normal multipliers. The last table has it for the accuracies of K models, in
single precision, and for as long as the correlation and the critical value take. Both
agree. But the error of the bootstrap, as many standard errors, is 8 to 90 times as
large: it takes all rows for each draw, of which one in twenty exceeds the quantile, and
has no control variates. It is not used, though it takes about half the memory.
"""

_STREAMS = """\
Rows are drawn with replacement from a population of some 20,000, whose true values
are those of scikit-learn. At each look a :class:`~skci.JointAccumulator` reports with
``horizon=``, and a stream misses if any interval excludes its true value at any look:
.05 of the streams may. The horizon is a list of these looks or, for any looks, the
first number of rows and the last. These looks are fewer than any at all, so that fewer
streams miss; "expected" is their share if estimates are normal. Who knows the looks
beforehand should list them, which needs a smaller critical value; its ratio is that to
the one of a single look. Methods are the default ones: "score" for labels and their
differences, "logit" for areas, "hall" for log losses. In parentheses are Monte Carlo
errors. Without a horizon, the same intervals miss more often.
"""

_WIDTHS = """\
Mean half widths of intervals for an accuracy of .9 in {paths} streams, and in
parentheses relative to those of a single look. Those over a horizon are beside
sequences that need none and hold forever: the asymptotic normal mixture, narrowest at
about 200 rows, betting by hedged capital, and empirical Bernstein (predictable
plug-in). The width over a horizon is the same multiple at all its looks; that of the
others grows with the rows. The last two hold at every number of rows exactly, and not
only from some number on; the others rely on the normal approximation, and are Wald's
here. A horizon of ten times the first look is narrower than all of them at every look;
one of a hundred times is wider than some at the first look, and narrower from about
three times as many rows on.

Several estimates, of correlation .5, need more standard errors. The normal mixture
knows nothing of their correlation and has Bonferroni's level for each.
"""


def main() -> None:
    command = parser("scale", __doc__, simulates=True)
    command.add_argument("--work", type=Path, help="folder of cached results")
    options = command.parse_args()
    size = sizes(
        options.quick,
        models=(1_000, 30),
        compared=(60, 8),  # models whose differences are taken
        rows=(100_000, 5_000),
        boards=(
            (
                Leaderboard(250, 1_000, 0.5),
                Leaderboard(100, 1_000, 0.5, ("accuracy", "f1")),
                Leaderboard(100, 1_000, 0.5, many.METRICS),
            ),
            (Leaderboard(8, 100, 0.5), Leaderboard(6, 100, 0.5, ("accuracy", "f1"))),
        ),
        close=(
            (Leaderboard(250, 1_000, 0.1), Leaderboard(250, 1_000, 0.0)),
            (Leaderboard(8, 100, 0.0),),
        ),
        equal=(Leaderboard(48, 500, 0.0), Leaderboard(6, 100, 0.0)),
        samples=(300, 3),
        streamed=(1_000_000_000, 10_000_000),
        stored=(50_000_000, 100_000),
        summed=(100_000_000, 200_000),
        batches=((100, 1_000, 3_000, 10_000), (10, 30)),
        framed=(20_000_000, 20_000),
        parameters=((10, 30, 100, 300, 1000, 2000, 5000), (10, 30, 100)),
        bootstrapped=(
            ((1_000, 500), (1_000, 20_000), (2_000, 500), (2_000, 20_000)),
            ((30, 200),),
        ),
        streams=(100, 2),
        paths=(20, 2),
        last=(20_000, 2_000),
    )
    measured = [
        (case, many.measure(case))
        for case in (
            many.Case(size.models, size.rows, differences=False, gibibytes=2),
            many.Case(size.compared, size.rows, differences=True, seconds=60),
        )
    ]
    tables = [many.cases(measured), many.stages(measured)]
    sections = [Section("Many models", _CASES, tables)]
    show(sections[-1])
    answered = [*leaderboards.answer_all(size.boards)]
    answered += [leaderboards.answer(board, "best()") for board in size.close]
    tables = [
        leaderboards.answers(answered),
        leaderboards.errors(size.equal, size.samples),
    ]
    sections.append(Section("Leaderboards", _LEADERBOARDS, tables))
    show(sections[-1])
    tables = [growth.table([*growth.measure_all(options.quick)])]
    sections.append(Section("Growth", _GROWTH, tables))
    show(sections[-1])
    tables = [
        rows.streamed([rows.stream(models, size.streamed) for models in (1, 2, 5)]),
        frames.frames(size.framed),
        rows.databases(size.stored),
    ]
    sections.append(Section("Many rows", _ROWS, [each for each in tables if each]))
    show(sections[-1])
    added = [
        moments.add_up(1, size.summed, moments=True),
        moments.add_up(1, size.summed // 10, moments=False),
    ]
    sections.append(Section("Many numbers", _NUMBERS, [moments.summed(added)]))
    show(sections[-1])
    tables = [batches.grouped(size.batches)]
    sections.append(Section("Many batches", _BATCHES, tables))
    show(sections[-1])
    solved = [*many.solve_all(size.parameters)]
    solved.sort(key=lambda each: [*many.FAMILIES].index(each.family))
    tables = [
        many.critical_values(solved),
        many.exponents(solved),
        many.bootstrapped(size.bootstrapped),
    ]
    sections.append(Section("Critical values", _CRITICAL, tables))
    show(sections[-1])
    work = options.work or (None if options.quick else BENCHMARKS / "parts" / "scale")
    modules = ["scale/streams", "scale/sequences"]
    runner = Runner(work, options.seed, options.jobs, modules)
    followed = streams.simulate(runner, size.streams)
    sections.append(Section("Streams", _STREAMS, [streams.misses(followed)]))
    show(sections[-1])
    tables = [streams.widths(size.paths, size.last), streams.joint_quantiles()]
    sections.append(Section("Widths", _WIDTHS.format(paths=size.paths), tables))
    show(sections[-1])
    if output := page_folder(options):
        write_page(output / "scale.rst", "scale", "Scale", _INTRODUCTION, *sections)
        many.figure(solved, output / "scale.png")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            main()
