"""Which ranks of published leaderboards are shown?

    python -m benchmarks.published [--data FOLDER] [--quick]

The folder holds checkouts of two repositories of GitHub: ``alpaca_eval`` of tatsu-lab,
with grades of models on the same instructions, and ``EloBench``, with battles of models
and ratings from them. Their published figures are computed again, with intervals of
ranks beside. Models whose annotations are not in the checkout are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.common.command import page_folder, parser
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.processes import in_new_process
from benchmarks.published.boards import (
    ARENA,
    LEADERBOARD,
    Board,
    read_battles,
    read_csv,
    report_on_battles,
    report_on_grades,
)
from benchmarks.published.elo import median_ratings

_MEBIBYTE = 1 << 20


def _table_of_grades(board: Board, published: Sequence[Mapping[str, str]]) -> list[Row]:
    """Published win rates and errors, and ours with ranks, the best first."""
    by_name = {row[""]: row for row in published}
    rows = []
    for model, (rank, low, high) in sorted(board.ranks.items(), key=_by_rank):
        estimate, error, *limits = (100 * each for each in board.estimates[model])
        of_model = by_name[model]
        rows.append(
            {
                "model": model,
                "published win rate": f"{float(of_model['win_rate']):.2f}",
                "standard error": f"{float(of_model['standard_error']):.2f}",
                "ours": f"{estimate:.2f}",
                "standard error of ours": f"{error:.2f}",
                "joint interval": "[{:.1f}, {:.1f}]".format(*limits),
                "rank": f"{rank:g}",
                "joint interval of the rank": f"[{low}, {high}]",
            }
        )
    return rows


def _table_of_battles(
    board: Board,
    published: Sequence[Mapping[str, str]],
    medians: Mapping[str, float],
) -> list[Row]:
    """Published ratings and ranks, those computed again, and ours, the best first."""
    by_name = {row["model"]: row for row in published}
    again = sorted(medians, key=medians.__getitem__, reverse=True)
    rows = []
    for model, (rank, low, high) in sorted(board.ranks.items(), key=_by_rank):
        estimate, _, *limits = board.estimates[model]
        rows.append(
            {
                "model": model,
                "published Elo": f"{float(by_name[model]['elo_rating']):.0f}",
                "its rank": by_name[model]["rank"],
                "Elo again": f"{medians[model]:.0f}",
                "rank again": f"{again.index(model) + 1}",
                "strength, Elo scale": f"{estimate:.0f}",
                "joint interval": "[{:.0f}, {:.0f}]".format(*limits),
                "rank": f"{rank:g}",
                "joint interval of the rank": f"[{low}, {high}]",
            }
        )
    return rows


def _in_interval(board: Board, rows: Sequence[Row], column: str) -> int:
    """How many ranks of a column are in the intervals."""
    intervals = {model: (low, high) for model, (_, low, high) in board.ranks.items()}
    limits = [(int(row[column]), *intervals[row["model"]]) for row in rows]
    return sum(low <= rank <= high for rank, low, high in limits)


def _by_rank(entry: tuple[str, tuple[float, int, int]]) -> float:
    return entry[1][0]


def _summary(board: Board, subject: str) -> Row:
    shown, number = board.separated
    single = sum(low == high for _, low, high in board.ranks.values())
    return {
        "": subject,
        "models": f"{len(board.ranks)}",
        "ranks shown": f"{single}",
        "pairs shown to differ": f"{shown:,} of {number:,}",
        "processor seconds": f"{board.seconds:.1f}",
        "peak memory, MiB": f"{board.memory / _MEBIBYTE:.0f}",
    }


def _largest(rows: Sequence[Row], first: str, second: str) -> float:
    return max(abs(float(row[first]) - float(row[second])) for row in rows)


def main() -> None:
    command = parser("published", __doc__)
    command.add_argument("--data", type=Path, help="folder of checkouts")
    options = command.parse_args()
    if options.data is None:
        print("Nothing is computed: --data must name a folder of the two checkouts.")
        return
    output = page_folder(options)
    alpaca, arena = options.data / "alpaca_eval", options.data / "EloBench"
    few = options.quick
    grades = in_new_process(report_on_grades, alpaca, 8 if few else None, output)
    battles = in_new_process(report_on_battles, arena, 4000 if few else None, output)
    of_grades = _table_of_grades(grades, read_csv(alpaca / LEADERBOARD))
    medians = median_ratings(*read_battles(arena, None), rounds=5 if few else 100)
    of_battles = _table_of_battles(
        battles, read_csv(arena / ARENA / "elo_rating.csv"), medians
    )
    sections = [
        Section(
            "In short",
            _SHORT,
            [[_summary(grades, "AlpacaEval 2"), _summary(battles, "RWQ-Elo")]],
        ),
        Section(
            "AlpacaEval 2",
            _GRADES.format(
                n=len(of_grades),
                rates=_largest(of_grades, "published win rate", "ours"),
                errors=_largest(of_grades, "standard error", "standard error of ours"),
                findings=_lines(grades.findings),
            ),
            [of_grades],
            _FIGURES.format(name="alpaca_eval", title="AlpacaEval 2"),
        ),
        Section(
            "RWQ-Elo",
            _BATTLES.format(
                again=_largest(of_battles, "published Elo", "Elo again"),
                ours=_largest(of_battles, "published Elo", "strength, Elo scale"),
                published=_in_interval(battles, of_battles, "its rank"),
                computed=_in_interval(battles, of_battles, "rank again"),
                findings=_lines(battles.findings),
            ),
            [of_battles],
            _FIGURES.format(name="arena", title="RWQ-Elo"),
        ),
    ]
    show(*sections)
    if output:
        file = output / "published.rst"
        write_page(
            file, "published --data FOLDER", "Published leaderboards", _TITLE, *sections
        )


def _lines(findings: Sequence[str]) -> str:
    return "\n".join(f"- {finding}" for finding in findings)


_TITLE = """
Two leaderboards of language models whose grades or battles are public. Their figures
are computed again, and the ranks beside them have joint 95% confidence intervals.
"""
_SHORT = """
A rank is shown where its interval is that rank alone, and two models differ where the
p-value of their difference, adjusted for all pairs, is below .05. The time is that of
the report with all ranks and differences, from grades or votes on, and the memory the
peak of its process, with Python, the libraries and the data.
"""
_GRADES = """
AlpacaEval 2 (Dubois et al.) has 805 instructions. A judge says how probable it is
that an answer is better than that of a baseline, which is the grade; its mean is the
win rate. The {n} models are those of its table whose annotations are in the repository
itself, among them some that game the judge on purpose, such as NullModel. Some have no
grade of one to three instructions, so that pairs are compared by
``missing_grades="pairwise"``. The largest difference of a win rate to the published
one is {rates:.2f}, and of a standard error {errors:.2f}, which is that of the baseline
itself: all of its grades are .5, and score intervals allow for others. The standard
errors of two models do not say whether the two differ: they answer the same
instructions, so that their difference varies less than that of independent means.

{findings}
"""
_FIGURES = """
.. figure:: published_{name}_ranks.png
   :alt: Ranks of the models with their joint intervals, a line each, the best first.

   Ranks of {title}.

.. figure:: published_{name}_verdicts.png
   :alt: Triangle of all pairs of models. Pairs far from the diagonal differ.

   Verdicts of {title} on all pairs.
"""
_BATTLES = """
RWQ-Elo (Wei et al., EloBench) lets GPT-4 judge answers of 23 models to questions of
users. Published are 67,031 battles and the ratings of Elo's updates with K = 4, the
median over random orders of the battles; 644 battles without a valid outcome are left
out, as there. Repeated with 100 bootstrap samples, ratings differ by up to {again:.0f}
from the published ones, which may be of other battles. Strengths of Bradley and Terry
need no order. With ties as an outcome they are log-odds of decided battles, which lie
further apart than ratings that count a tie as half a win: by up to {ours:.0f}. Our
joint intervals hold {published} of the 23 published ranks, and {computed} of those from
the battles again. Questions are not in the published table, so that battles are taken
to be independent; with them, ``groups`` would widen intervals.

{findings}
"""

if __name__ == "__main__":
    main()
