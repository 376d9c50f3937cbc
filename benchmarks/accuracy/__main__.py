"""Is skci correct?

    python -m benchmarks.accuracy [--quick]

Its results are compared with oracles that compute them in other ways, and with known
mistakes in other software. The exit status is 1 if a difference exceeds its tolerance.
"""

from __future__ import annotations

import sys
import warnings

from benchmarks.accuracy import critical_values, intervals, oracles, peers
from benchmarks.accuracy.textbook import TEXTBOOK
from benchmarks.common.command import page_folder, parser, sizes
from benchmarks.common.pages import Row, Section, show, write_page, yes
from benchmarks.common.peers import installed, r_version
from skci.metrics.labels import MEASURES

_ORACLES = """\
Each number is computed in a second way. Random tables are of three models and all
metrics, with arbitrary error rates and dependence between models.

The standard errors of skci are based on derivatives. The classical jackknife deletes a
whole row, which is a step of 1/m in the smallest cell of a model, of count m, and
allows a difference of that order. The mean over deleting and adding a row has no
first-order error, and leaves 1/m^2. Covariances are compared in units of the two
standard errors.

A critical value states 3.5 of its own estimated standard errors as its error. At the
limits of score intervals, and on the path to them, another optimiser maximises the
likelihood, and the root of the score statistic is compared with the critical value.
"""

_MISTAKES = """\
Confusion matrices have the truth in their rows, the negative label first. Standard
errors are compared with the standard deviation of the estimate over simulated tables
with the one shown as the population. At 100 rows the delta method itself is slightly
too small; at a hundred times as many it is accurate. Intervals, by "score" in skci, are
compared by coverage, over tables of the same size from a population in which the one
shown is not rare.

*p^2 for p p'* is a covariance of the cell proportions p with diag(p) minus the squares
of p in every row, in place of diag(p) minus the outer product p p'. *By hand* is a
formula of a package that is not run here.
"""


def main() -> int:
    options = parser("accuracy", __doc__).parse_args()
    size = sizes(
        options.quick,
        tables=(1000, 10),  # of each size, for the jackknife
        draws=(1_000_000, 10_000),  # simulated tables, for covariances
        means=(8, 3),
        factors=(12, 1),
        reports=(4, 1),  # given to R
        repeats=(7, 1),  # of each of R's intervals, whose quantile is random
        formulas=(200, 4),  # tables for closed forms
        searches=(200, 5),  # tables for the other optimiser
    )
    peer_size = sizes(options.quick, draws=(1_000_000, 100_000), tests=(4000, 60))
    checks = [
        *oracles.jackknives(size),
        *oracles.simulations(size),
        *critical_values.critical_values(size),
        *critical_values.joint_intervals(size),
        *intervals.closed_forms(size),
        *intervals.score_intervals(size),
    ]
    sections = [Section("Oracles", _ORACLES, [[*map(check_row, checks)]])]
    show(*sections)
    mistakes = list(peers.mistakes(peer_size))
    table = [*map(mistake_row, mistakes)]
    sections.append(Section("Mistakes in other software", _MISTAKES, [table]))
    summary = " ".join(
        [
            f"{sum(check.holds for check in checks)} of {len(checks)} checks hold.",
            f"{sum(each.confirmed for each in mistakes)} of {len(mistakes)} mistakes "
            f"are confirmed; {sum(each.correct for each in mistakes)} of "
            f"{len(mistakes)} are correct in skci.",
            *skipped(),
        ]
    )
    show(sections[-1], summary)
    if output := page_folder(options):
        file = output / "accuracy.rst"
        write_page(file, "accuracy", "Accuracy", summary, *sections)
    correct = all(check.holds for check in checks)
    return int(not (correct and all(each.correct for each in mistakes)))


def check_row(check: oracles.Check) -> Row:
    return {
        "what": check.what,
        "oracle": check.oracle,
        "numbers": f"{check.numbers:,}",
        "median difference": f"{check.median:.0e}",
        "maximum": f"{check.largest:.0e}",
        "tolerance": check.tolerance,
        "ratio to it": f"{check.ratio:.2f}",
        "holds": yes(check.holds),
    }


def mistake_row(mistake: peers.Mistake) -> Row:
    return {
        "case": mistake.case,
        "other software": mistake.who,
        "its result": mistake.theirs,
        "skci": mistake.ours,
        "simulated": mistake.truth,
        "mistake": "confirmed" if mistake.confirmed else "not confirmed",
        "skci correct": yes(mistake.correct),
    }


def skipped() -> list[str]:
    """Oracles that are not available, and measures without one."""
    available = {
        "R with multcomp": r_version("multcomp"),
        "statsmodels": installed("statsmodels"),
        peers.PEER: installed(peers.PEER),
    }
    missing = [name for name, package in available.items() if not package]
    without = sorted(set(MEASURES) - set(TEXTBOOK))
    return [f"{name} is not installed." for name in missing] + [
        f"{name} has no textbook formula here." for name in without
    ]


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
