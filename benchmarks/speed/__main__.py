"""How fast is skci?

    python -m benchmarks.speed [--quick]

Everything is timed side by side with something that users know, alternately in one
process. Claim ratios only: the milliseconds are of one machine.
"""

from __future__ import annotations

import os
import platform
import warnings

from threadpoolctl import threadpool_limits

from benchmarks.common.command import page_folder, parser, sizes
from benchmarks.common.pages import Section, as_rst, show, write_page
from benchmarks.common.peers import r_version, with_version
from benchmarks.speed.comparisons import goals, table
from benchmarks.speed.critical_values import critical_values
from benchmarks.speed.cross_validation import cross_validations
from benchmarks.speed.estimates import bootstraps, point_estimates, score_intervals
from benchmarks.speed.growth import chunk_rows, figure, growth, memory_rows

_INTRODUCTION = """\
The processor time of skci relative to other software, measured alternately in one
process with one thread: the ratio of the shortest times, and the quartiles of the
ratios of neighbouring measurements. Intervals and reports are computed in full. Only
the ratios generalise; the milliseconds are of one machine. First what has a goal;
without a comparison, the goal is a time.
"""

_POINTS = """\
An interval beside the point estimate of scikit-learn, and beside the intervals of the
package confidenceinterval. Modules are imported in new processes, from byte code.
"""

_BOOTSTRAP = """\
A joint report of 12 estimates, 4 models and 3 metrics, with both kinds of intervals,
beside 1,000 resamples of the rows. Each resample is drawn once for all 12: the plain
loop and the statistic that scipy is given (``paired=True, vectorized=False``) compute
12 scikit-learn metrics. {resamples} resamples are timed, and the others assumed to take
as long; BCa evaluates the statistic once more for each row, and the evaluations by
scipy are counted. Each report has its own seed, so that no quasi-random points are
cached. The bootstrap intervals are individual ones.
"""

_SCORES = """\
Intervals by ``method="score"``, which are found by root search, from random confusion
matrices.
"""

_CRITICAL_VALUES = """\
The number of standard errors that gives all intervals of a report joint coverage. The
error is the median distance from an exact one-dimensional integral, over matrices and
seeds, with the maximum in parentheses, where there is such an integral. The
correlations are one-factor ones, equal ones of .5 among them; those of all differences
of independent means, which are singular; those of random covariances; and that of a
report of 4 models and 3 metrics, which is singular as well. skci caches its
quasi-random points ("again"); comparisons are without the cache, each call with its own
seed. The time of mvtnorm excludes the start of R. For scipy, the distribution function
of ``multivariate_normal`` is solved by ``brentq`` to four decimals; it has non-singular
matrices only, as others take far too long.
"""

_CROSS_VALIDATION = """\
A report of three metrics by the default jackknife, with its table, beside a loop that
fits to the same training sets and predicts the same rows, and beside scikit-learn's
``cross_validate`` with the same fits and metrics. What the report adds does not depend
on the model: its share falls with the time of a fit. Predictions are dropped
partition by partition, so that memory does not grow with their number.
"""

_GROWTH = """\
.. figure:: speed.png
   :alt: Time and peak memory against rows, models and parameters, both on logarithmic
      scales. Time is proportional to the rows, and memory flat from the first chunk on.

   Time and peak memory. Dotted lines are proportional. Time and memory scale with the
   rows as they should; the covariance of many models and the critical value of many
   parameters grow faster, so that a report on hundreds of models takes longer than
   their accuracies alone.

Above a million rows, F05CI has chunks of a million, of which it keeps the counts: the
outcome tables are added and the interval is computed from the sum. The reports on many
models are of the accuracy, on 100,000 rows of bytes, beside as many calls of
``accuracy_score``. The reports on many parameters are of up to 20 metrics of each
model, on 10,000 rows. Memory is the peak of what is allocated beyond the data.
"""


def main() -> None:
    options = parser("speed", __doc__).parse_args()
    size = sizes(
        options.quick,
        rows=(1_000_000, 100_000),
        repeats=(31, 3),
        few_repeats=(7, 1),
        tables=(24, 1),  # on which score intervals are timed
        resamples=(20, 2),  # that are timed, of 1,000
        matrices=(12, 1),  # of each kind of correlation
        chunks=(100, 10),  # of a million rows
        models=((1, 2, 5, 10, 15, 20, 50, 100, 200), (1, 5, 20)),
        parameters=((1, 2, 5, 10, 20, 40, 100, 200, 400, 1000, 2000), (1, 5, 20, 40)),
    )
    bootstrap = _BOOTSTRAP.format(resamples=size.resamples)
    rows, sections = [], []
    for title, caption, measure in (
        ("Intervals and point estimates", _POINTS, point_estimates),
        ("A joint report and the bootstrap", bootstrap, bootstraps),
        ("Score intervals", _SCORES, score_intervals),
        ("Critical values", _CRITICAL_VALUES, critical_values),
        ("Cross-validation", _CROSS_VALIDATION, cross_validations),
    ):
        measured = list(measure(size))
        rows += measured
        sections.append(Section(title, caption, [table(measured)]))
        show(sections[-1])
    growths = growth(size)
    measured = [*chunk_rows(growths[0].curves[0]), *memory_rows()]
    tables = [table(measured), *(each.table() for each in growths)]
    sections.append(Section("Growth", _GROWTH, tables))
    show(sections[-1], versions())
    if output := page_folder(options):
        summary = as_rst(table(goals([*rows, *measured])))
        blocks = [_INTRODUCTION, summary, *sections, versions()]
        write_page(output / "speed.rst", "speed", "Speed", *blocks)
        figure(growths, output / "speed.png")


def versions() -> str:
    """Software versions and the number of cores."""
    packages = ("skci", "scikit-learn", "numpy", "scipy", "confidenceinterval")
    named = [with_version(package) for package in packages]
    named = [name for name in named if name not in packages]
    if mvtnorm := r_version("mvtnorm"):
        named.append(f"mvtnorm {mvtnorm}")
    python = f"Python {platform.python_version()}"
    return f"{', '.join([python, *named])}; {os.cpu_count()} cores."


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            main()
