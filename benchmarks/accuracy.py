"""Is skci right?

    python benchmarks/accuracy.py [--quick]

Its numbers are held to oracles that find them in another way, and to what is known of
mistakes in other software. The tables are printed and, unless --quick is given without
--output, written to ``accuracy.rst`` in the output folder. The exit status is 1 if
anything disagrees by more than is allowed.
"""

from __future__ import annotations

import sys
import warnings

import _mistakes
import _oracles
from _command import page_folder, parser
from _mistakes import Mistake, mistakes
from _oracles import Check, checks
from _table import Line, as_rst, as_text, heading, yes

_ORACLES = """\
Each number is found in a second way. Random tables are of three rules and all metrics,
of any quality and any dependence among the rules.

The standard errors of skci come from derivatives, which are what moving ever less of a
row comes to. The classical jackknife deletes a whole row. In the smallest cell of a
rule, of m rows, that is a step of 1/m, and that large the two may differ. The mean of
deleting and adding a row has no error of first order, and 1/m^2 is left. Covariances
are compared in units of the two standard errors.

A critical value states 3.5 standard errors of its own as its error, as far as it knows
them. At the limits of score intervals, and on the way to them, another optimiser looks
for the likeliest cells, and the root of the statistic there is compared with the
critical value.
"""

_MISTAKES = """\
Confusion matrices have the truth in their rows, the negative label first. Standard
errors are compared with the standard deviation of the estimate over tables drawn with
the shown one as the population. At 100 rows the delta method itself is a little short;
with a hundred times as many it is exact. Intervals, of skci by "score", are compared by
how often they hold the truth, over tables of the same size from a population in which
the shown one is not rare.

*p^2 for p p'* is a covariance of the cell shares p that has diag(p) less the squares of
p in every row, where diag(p) less the outer product p p' belongs. *By hand* is a
formula that was met, of a package that this run does not use.
"""


def main() -> int:
    options = parser(__doc__).parse_args()
    held = list(checks(_oracles.QUICK if options.quick else _oracles.FULL))
    print(f"{as_text(check_lines(held))}\n")
    made = list(mistakes(_mistakes.QUICK if options.quick else _mistakes.FULL))
    print(f"{as_text(mistake_lines(made))}\n")
    skipped = list(dict.fromkeys([*_oracles.skipped(), *_mistakes.skipped()]))
    print(*summary(held, made), *skipped, sep="\n")
    if output := page_folder(options):
        text = page(held, made, skipped)
        (output / "accuracy.rst").write_text(text, encoding="utf-8")
    return int(not all_right(held, made))


def all_right(held: list[Check], made: list[Mistake]) -> bool:
    return all(check.holds for check in held) and all(each.right for each in made)


def check_lines(held: list[Check]) -> list[Line]:
    """Lay the checks out under their header."""
    header = (
        "what",
        "held to",
        "numbers",
        "median difference",
        "largest",
        "allowed",
        "share of it",
        "holds",
    )
    lines = [
        (
            check.what,
            check.oracle,
            f"{check.numbers:,}",
            f"{check.median:.0e}",
            f"{check.largest:.0e}",
            check.allowed,
            f"{check.share:.2f}",
            yes(check.holds),
        )
        for check in held
    ]
    return [header, *lines]


def mistake_lines(made: list[Mistake]) -> list[Line]:
    header = (
        "case",
        "other",
        "its number",
        "skci",
        "simulated",
        "mistake",
        "skci right",
    )
    lines = [
        (*each[:5], "seen" if each.seen else "not seen", yes(each.right))
        for each in made
    ]
    return [header, *lines]


def summary(held: list[Check], made: list[Mistake]) -> list[str]:
    return [
        f"{sum(check.holds for check in held)} of {len(held)} checks hold.",
        f"{sum(each.seen for each in made)} of {len(made)} mistakes were seen, "
        f"{sum(each.right for each in made)} of {len(made)} are right in skci.",
    ]


def page(held: list[Check], made: list[Mistake], skipped: list[str]) -> str:
    return (
        ".. Written by benchmarks/accuracy.py.\n\n"
        f"{heading('Accuracy')}\n"
        f"{' '.join([*summary(held, made), *skipped])}\n\n"
        f"{heading('Oracles', '-')}\n"
        f"{_ORACLES}\n{as_rst(check_lines(held))}\n"
        f"{heading('Mistakes met elsewhere', '-')}\n"
        f"{_MISTAKES}\n{as_rst(mistake_lines(made))}"
    )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
