"""Is skci correct?

    python -m benchmarks.accuracy [--quick]

Its results are compared with oracles that compute them in other ways, and with known
mistakes in other software. The exit status is 1 if a difference exceeds its tolerance.
"""

from __future__ import annotations

import sys
import warnings

from benchmarks.accuracy import critical_values, oracles, peers
from benchmarks.common.command import parser, sizes
from benchmarks.common.pages import Row, present, yes


def main() -> int:
    options = parser("accuracy", __doc__).parse_args()
    size = sizes(
        options.quick,
        tables=(1000, 10),  # of each size, for the jackknife
        means=(8, 3),
        factors=(12, 1),
        draws=(1_000_000, 100_000),  # simulated tables, for standard errors
        tests=(4000, 60),  # the same, for coverage
    )
    checks = [*oracles.jackknives(size), *critical_values.critical_values(size)]
    mistakes = list(peers.mistakes(size))
    tables = {
        "Oracles": [[*map(check_row, checks)]],
        "Mistakes in other software": [[*map(mistake_row, mistakes)]],
    }
    present(options, "accuracy.rst", tables)
    hold = sum(check.holds for check in checks)
    correct = sum(each.correct for each in mistakes)
    print(f"\n{hold} of {len(checks)} checks hold.")
    print(f"Of {len(mistakes)} mistakes {correct} are correct in skci.")
    return int((hold, correct) != (len(checks), len(mistakes)))


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


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
