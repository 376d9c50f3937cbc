"""Coverage of differences, and of the best model by the possibly best ones."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, within_error, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.populations import decision_settings
from benchmarks.coverage.simulation import Decisions
from benchmarks.paper.studies import Study, model_b, model_c
from skci import joint_report
from skci.reports import JointReport

MODULES = ("simulation", "populations")


@dataclass(frozen=True)
class Guarantee:
    """A probability that must be large enough, over some of the settings."""

    name: str
    key: str
    """Key of the simulated share."""
    equal: bool
    """Whether it is about equal models."""
    goal: float


GUARANTEES = (
    Guarantee("all differences are covered", "coverage", False, 0.94),
    Guarantee("no equal models are distinguished", "coverage", True, 0.945),
    Guarantee("the best model is kept", "best", False, 0.95),
    Guarantee("each of equal models is kept", "best", True, 0.95),
)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick,
        every=(1, 31),  # only every so many of the settings are simulated
        draws=(1_000, 10),
        worst=(4, 1),  # settings with the smallest share, for each guarantee
        afresh_draws=(10_000, 20),  # new samples of these
    )
    modules = [f"coverage/{module}" for module in MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    settings = [*decision_settings()][:: size.every]
    simulations = [Decisions("grid", setting, size.draws) for setting in settings]
    grid = runner.run(simulations, "decisions")
    again = runner.run(
        worst_again(grid, simulations, size.worst, size.afresh_draws),
        "decisions, worst settings",
    )
    sections = [
        Section("Goals", _GOALS, [goals(again)]),
        Section("Methods", _METHODS, [by_method(grid)]),
    ]
    if options.data:
        sections.append(Section("Two data sets", _DATA, [on_data(options.data)]))
    show(*sections)
    if output:
        numbers = {name: f"{value:,}" for name, value in vars(size).items()}
        introduction = _INTRODUCTION.format(settings=len(settings), **numbers)
        sections = [
            replace(section, caption=section.caption.format(**numbers))
            for section in sections
        ]
        file = output / "decisions.rst"
        write_page(file, "coverage", "Decisions", introduction, *sections)


def worst_again(
    records: Records, simulations: Sequence[Decisions], number: int, draws: int
) -> list[Decisions]:
    """Simulate the settings in which "score" keeps a guarantee least often afresh."""
    by_setting = {json.dumps(asdict(each.setting)): each for each in simulations}
    score = records.where(method="score")
    worst = {
        record["setting"]: None
        for guarantee in GUARANTEES
        for record in score.where(equal=guarantee.equal).lowest(number, guarantee.key)
    }
    return [
        replace(by_setting[key], chapter="afresh", draws=draws, methods=("score",))
        for key in worst
    ]


def goals(again: Records) -> list[Row]:
    """The guarantees of "score", and where they are kept least often."""
    rows = []
    for guarantee in GUARANTEES:
        lowest = again.where(equal=guarantee.equal).lowest(1, guarantee.key)
        for record in lowest:  # a quick run may have none
            share = record[guarantee.key]
            # For a mean over models, this is an upper bound.
            error = monte_carlo_error(share, record["draws"])
            rows.append(
                {
                    "guarantee of score": guarantee.name,
                    "goal": f"at least {guarantee.goal:g}",
                    "minimum": f"{share:.4f}",
                    "error": f"{error:.4f}",
                    "met": within_error(share, guarantee.goal, error),
                    "where": f"n = {record['n']}, prevalence {record['prevalence']:g}, "
                    f"{record['quality']}, {', '.join(record['metrics'].split())}",
                }
            )
    return rows


def by_method(grid: Records) -> list[Row]:
    """Minimum and mean share of each guarantee, by method and family of metrics."""
    rows = []
    for method in grid.unique("method"):
        for metrics in grid.unique("metrics"):
            family = grid.where(method=method, metrics=metrics)
            row = {"method": method, "metrics": ", ".join(metrics.split())}
            for guarantee in GUARANTEES:
                shares = family.where(equal=guarantee.equal).column(guarantee.key)
                row[f"{guarantee.name}: minimum, mean"] = (
                    f"{min(shares):.3f}, {fmean(shares):.3f}" if shares else ""
                )
            rows.append(row)
    return rows


def on_data(folder: Path) -> list[Row]:
    """Compare the models of the paper by intervals and by differences."""
    rows, sums = [], np.zeros(3, int)
    for study in (model_b(folder), model_c(folder)):
        report = tested(study)
        for name in report.metrics:
            limits = [
                report[model, name].confidence_interval() for model in report.models
            ]
            low, high = np.array(limits).T
            differences = report.differences(metrics=name)
            disjoint = np.count_nonzero(low[:, np.newaxis] > high)
            significant = np.count_nonzero(differences.pvalues < 0.05)
            counts = (len(differences), disjoint, significant)
            sums += counts
            letters = ", ".join(map(" ".join, report.letters(name).items()))
            rows.append(
                {
                    "data": study.title,
                    "metric": name,
                    **dict(zip(_COUNTS, map(str, counts), strict=True)),
                    "letters": letters,
                    "possibly the best": ", ".join(report.best(name).models),
                }
            )
        print(f"\n{study.title}\n{study.about}\n\n{report}\n\n{report.differences()}")
        for by in ("intervals", "differences"):
            print(f"\nFindings by {by}\n", *report.findings(by=by), sep="\n")
    total = dict.fromkeys(rows[0], "") | {"data": "all"}
    return [*rows, total | dict(zip(_COUNTS, map(str, sums), strict=True))]


_COUNTS = ("pairs", "by intervals", "by differences")


def tested(study: Study) -> JointReport:
    """Report on a test set of a study, by "score"."""
    population = study.population
    counts = np.random.default_rng(0).multivariate_hypergeometric(
        population.counts, study.n
    )
    y, *predictions = np.repeat(population.outcomes, counts, axis=0).T
    models = dict(zip(study.models, predictions, strict=True))
    return joint_report(y, models, metrics=list(study.metrics), method="score")


_INTRODUCTION = """\
:doc:`/comparing` states that at level .95 all differences are covered at once, that
equally good models are distinguished in 5 of 100 test sets at most, and that the best
model is among the possibly best ones in 95. Here that is counted.

There are {settings} settings: three models whose predictions are correlated (latent
normals with correlation .6), on 200 and on 1000 rows, with prevalences .5, .2 and .05;
poor, good and near-perfect models as in :doc:`coverage`, with error rates in the ratio
.8 to 1 to 1.25, or equal. All pairs are compared on two or three metrics at once, so
that six or nine intervals must cover together. Each setting has {draws} samples, for a
Monte Carlo error of about .007.

Equal models are distinguished where a step-down p-value is below .05, which is just
where a single-step one is, and where an interval excludes zero: the first step is the
same. A difference is covered by "score" where the statistic at the true difference is
at most the critical value, which is what its interval inverts.
"""

_GOALS = """\
Where "score" keeps each guarantee least often. The {worst} worst settings for each were
simulated again with {afresh_draws} new samples each; shares and errors are those of the
new samples. *Within error* is short of the goal by less than two Monte Carlo errors.
The goal for equal models allows a family-wise error rate of .055.
"""

_METHODS = """\
The minimum and the mean share over all settings, by method.
"""
_DATA = """\
The models of :doc:`paper` on one test set each: how many pairs of models are
distinguished by the intervals of a report that do not overlap, and by the intervals of
all differences on a metric, at level .95 by "score".
"""
