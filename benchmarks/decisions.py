"""Do comparisons keep their promises?

    python benchmarks/decisions.py [--quick] [--data FOLDER]

Samples are drawn from known populations of three rules, and it is counted how often all
intervals of differences hold at once, how often equal rules are told apart, and how
often the best rule is among those that may be the best. What is done is kept in the
folder --work, as by coverage.py. With the FOLDER of ``abalone.data`` and
``letter-recognition.data`` of the UCI Machine Learning Repository, the rules of
paper.py are compared on those as well.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from _command import HERE, page_folder, parser
from _decisions import DecisionPart
from _resume import Record, Shelf
from _sample import Sample
from _settings import decision_settings
from _studies import Study, abalone, letter
from _table import Line, as_rst, as_text, heading, yes

from skci import JointReport, joint_report


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    draws: int
    worst: int
    """Settings in which "score" does worst, of each promise, that are drawn afresh."""
    afresh_draws: int
    every: int = 1
    """Only every so many of the settings are simulated."""


FULL = Effort(draws=1_000, worst=4, afresh_draws=10_000)
QUICK = Effort(draws=10, worst=1, afresh_draws=20, every=31)


@dataclass(frozen=True)
class Promise:
    """A share that must be high enough, over some of the settings."""

    name: str
    key: str
    """Column of the share."""
    equal: bool
    """Whether it is about equal rules."""
    least: float

    def of(self, records: Iterable[Record]) -> list[Record]:
        return [each for each in records if each["alike"] == self.equal]

    def share(self, record: Record) -> float:
        return float(record[self.key])

    def noise(self, record: Record) -> float:
        """Monte Carlo error, or more of a mean over rules."""
        share = self.share(record)
        return math.sqrt(share * (1 - share) / record["draws"])


PROMISES = (
    Promise("all differences hold", "coverage", False, 0.94),
    Promise("no equal rules are told apart", "coverage", True, 0.945),
    Promise("the best rule is kept", "best", False, 0.95),
    Promise("each of equal rules is kept", "best", True, 0.95),
)


def main() -> None:
    own = parser(__doc__)
    own.add_argument("--jobs", type=int, default=-1, help="processes, all by default")
    own.add_argument("--seed", type=int, default=0)
    own.add_argument("--data", type=Path, help="folder of the two files")
    own.add_argument("--work", type=Path, help="folder of what is already done")
    options = own.parse_args()
    effort = QUICK if options.quick else FULL
    work = options.work or (None if options.quick else HERE / "parts" / "decisions")
    shelf = Shelf(work, options.seed, ("_decisions", "_reports", "_settings"))
    settings = [*decision_settings()][:: effort.every]
    parts = [DecisionPart("grid", setting, effort.draws) for setting in settings]
    grid = shelf.complete(parts, options.jobs, "decisions")
    again = shelf.complete(
        worst_again(grid, parts, effort), options.jobs, "the worst settings"
    )
    sections = [
        ("Goals", _GOALS, goals(again)),
        ("Methods", _METHODS, by_method(grid)),
    ]
    if options.data:
        sections.append(("Two data sets", _DATA, on_data(options.data)))
    for title, _, lines in sections:
        print(f"\n{title}\n\n{as_text(lines)}")
    if output := page_folder(options):
        shown = {name: f"{value:,}" for name, value in asdict(effort).items()}
        blocks = [
            ".. Written by benchmarks/decisions.py.\n",
            heading("Decisions"),
            _INTRODUCTION.format(settings=len(parts), **shown),
        ]
        for title, text, lines in sections:
            blocks += [heading(title, "-"), text.format(**shown), as_rst(lines)]
        (output / "decisions.rst").write_text("\n".join(blocks), encoding="utf-8")


def worst_again(
    records: Sequence[Record], parts: Sequence[DecisionPart], effort: Effort
) -> list[DecisionPart]:
    """Draw the settings in which "score" keeps a promise least afresh."""
    part_of = {json.dumps(asdict(part.setting)): part for part in parts}
    score = Sample(records).where(method="score").records
    worst = {
        each["setting"]: None
        for promise in PROMISES
        for each in heapq.nsmallest(effort.worst, promise.of(score), key=promise.share)
    }
    return [
        replace(
            part_of[key],
            chapter="afresh",
            draws=effort.afresh_draws,
            methods=("score",),
        )
        for key in worst
    ]


def goals(again: Sequence[Record]) -> list[Line]:
    """Each promise of "score", and where it is kept least often."""
    lines: list[Line] = [["promise of score", "goal", "least", "error", "met", "where"]]
    for promise in PROMISES:
        own = min(promise.of(again), key=promise.share, default=None)
        if own is None:  # a quick run may have none
            continue
        share, noise = promise.share(own), promise.noise(own)
        met = yes(share >= promise.least)
        if share < promise.least <= share + 2 * noise:
            met = "within error"
        lines.append(
            [
                promise.name,
                f"at least {promise.least:g}",
                f"{share:.4f}",
                f"{noise:.4f}",
                met,
                f"n = {own['n']}, prevalence {own['prevalence']:g}, {own['quality']}, "
                f"{', '.join(own['metrics'].split())}",
            ]
        )
    return lines


def by_method(grid: Sequence[Record]) -> list[Line]:
    """Least and mean share of each promise, by method and family of metrics."""
    sample = Sample(grid)
    lines: list[Line] = [
        ["method", "metrics", *(f"{promise.name}: least, mean" for promise in PROMISES)]
    ]
    for method in sample.values("method"):
        for metrics in sample.values("metrics"):
            own = sample.where(method=method, metrics=metrics).records
            shares = [
                _least_and_mean(promise.of(own), promise.share) for promise in PROMISES
            ]
            lines.append([method, ", ".join(metrics.split()), *shares])
    return lines


def _least_and_mean(records: list[Record], share: Callable[[Record], float]) -> str:
    if not records:
        return ""
    shares = [share(each) for each in records]
    return f"{min(shares):.3f}, {sum(shares) / len(shares):.3f}"


# --------------------------------------------------------------------------------------
# On data
# --------------------------------------------------------------------------------------


def on_data(folder: Path) -> list[Line]:
    """What intervals and differences say of the same rules on the same rows."""
    header = ("data", "metric", "pairs", "by intervals", "by differences")
    lines: list[Line] = [(*header, "letters", "may be the best")]
    for study in (*abalone(folder), *letter(folder)):
        report = tested(study)
        for name in report.metrics:
            low, high = np.array(
                [report[rule, name].confidence_interval() for rule in report.rules]
            ).T
            compared = report.differences(metrics=name)
            best = report.best(name).rules
            lines.append(
                [
                    study.title,
                    name,
                    str(len(compared)),
                    str(np.count_nonzero(low[:, np.newaxis] > high)),
                    str(np.count_nonzero(compared.pvalues < 0.05)),
                    _in_words(report.letters(name)),
                    ", ".join(best),
                ]
            )
        print(f"\n{study.title}\n{study.about}\n\n{report}\n\n{report.differences()}")
        for by in ("intervals", "differences"):
            print(f"\nFindings by {by}\n", *report.findings(by=by), sep="\n")
    sums = [str(sum(int(line[k]) for line in lines[1:])) for k in (2, 3, 4)]
    return [*lines, ["all", "", *sums, "", ""]]


def tested(study: Study) -> JointReport:
    """Report on a test set of a study, by "score"."""
    population = study.population
    counts = np.random.default_rng(0).multivariate_hypergeometric(
        population.counts, study.n
    )
    y, *responses = np.repeat(population.outcomes, counts, axis=0).T
    rules = dict(zip(study.rules, responses, strict=True))
    return joint_report(y, rules, metrics=list(study.metrics), method="score")


def _in_words(letters: dict[str, str]) -> str:
    return ", ".join(f"{rule} {shared}" for rule, shared in letters.items())


# --------------------------------------------------------------------------------------
# Words
# --------------------------------------------------------------------------------------

_INTRODUCTION = """\
:doc:`/comparing` promises that at level .95 all differences hold at once, that rules
which are equally good are told apart in 5 of 100 test sets at most, and that the best
rule is among those that may be the best in 95. Here that is counted.

There are {settings} settings: three rules whose answers are correlated (latent normals
with correlation .6), on 200 and on 1000 rows, with prevalences .5, .2 and .05; poor,
good and near-perfect rules as under :doc:`coverage`, whose error rates are as .8 to 1
to 1.25, or equal. All pairs are compared on two or three metrics at once, so that six
or nine intervals must hold together. Each setting has {draws} samples, so that a share
is known to about .007.

Equal rules are told apart where a step-down p-value is below .05 just where a
single-step one is, which is where an interval leaves out zero: the first step is the
same. A difference by "score" holds where the statistic at the true difference is not
beyond the critical value, which is what its interval inverts.
"""

_GOALS = """\
Where "score" keeps each promise least often. The {worst} worst settings of each were
drawn afresh, {afresh_draws} samples each; shares and errors are those of the new
samples. *Within error* is short of the goal by less than two Monte Carlo errors. That
no equal rules are told apart has the goal that a family-wise error of .055 leaves.
"""

_METHODS = """\
The least and the mean share over all settings of a kind, by method.
"""
_DATA = """\
The rules of :doc:`paper`, on one test set each: how many pairs of rules are told apart
by intervals of a report that do not overlap, and by the intervals of all differences on
a metric, at level .95 by "score".
"""


if __name__ == "__main__":
    main()
