"""Which ranks of published leaderboards are shown?

    python -m benchmarks.published [--data FOLDER] [--quick]

The folder holds checkouts of two repositories of GitHub: ``alpaca_eval`` of tatsu-lab,
with grades of models on the same instructions, and ``EloBench``, with battles of models
and ratings from them. Their published figures are computed again, with intervals of
ranks beside. Models whose annotations are not in the checkout are left out.
"""

from pathlib import Path

from benchmarks.common.command import parser
from benchmarks.common.pages import present
from benchmarks.common.processes import MEBIBYTE, in_new_process
from benchmarks.published import boards


def _table_of_grades(board, published):
    """Published win rates and errors, and ours with ranks, the best first."""
    by_name = {row[""]: row for row in published}
    rows = []
    for model, rank in board.by_rank():
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
                **rank,
            }
        )
    return rows


def _table_of_battles(board, published, medians):
    """Published ratings and ranks, those computed again, and ours, the best first."""
    by_name = {row["model"]: row for row in published}
    again = sorted(medians, key=medians.__getitem__, reverse=True)
    rows = []
    for model, rank in board.by_rank():
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
                **rank,
            }
        )
    return rows


def _summary(board, subject):
    shown, number = board.separated
    single = sum(low == high for _, low, high in board.ranks.values())
    return {
        "": subject,
        "models": f"{len(board.ranks)}",
        "ranks shown": f"{single}",
        "pairs shown to differ": f"{shown:,} of {number:,}",
        "processor seconds": f"{board.seconds:.1f}",
        "peak memory, MiB": f"{board.memory / MEBIBYTE:.0f}",
    }


def main():
    command = parser("published", __doc__)
    command.add_argument("--data", type=Path, help="folder of checkouts")
    options = command.parse_args()
    if options.data is None:
        print("Nothing is computed: --data must name a folder of the two checkouts.")
        return
    alpaca, arena = options.data / "alpaca_eval", options.data / "EloBench"
    few = options.quick
    grades = in_new_process(boards.report_on_grades, alpaca, 8 if few else None)
    battles = in_new_process(boards.report_on_battles, arena, 4000 if few else None)
    medians = boards.median_ratings(
        *boards.read_battles(arena, None), rounds=5 if few else 100
    )
    published = (
        boards.read_csv(alpaca / boards.LEADERBOARD),
        boards.read_csv(arena / boards.ARENA),
    )
    tables = {
        "In short": [[_summary(grades, "AlpacaEval 2"), _summary(battles, "RWQ-Elo")]],
        "AlpacaEval 2": [_table_of_grades(grades, published[0])],
        "RWQ-Elo": [_table_of_battles(battles, published[1], medians)],
    }
    if output := present(options, "published.rst", tables):
        for name, board in (("alpaca_eval", grades), ("arena", battles)):
            (output / f"published_{name}_ranks.png").write_bytes(board.picture)


if __name__ == "__main__":
    main()
