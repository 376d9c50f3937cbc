"""Grades and battles of published leaderboards, and reports of them."""

import csv
import io
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common.processes import peak_of_process

_ANNOTATOR = "weighted_alpaca_eval_gpt4_turbo"
LEADERBOARD = (
    f"src/alpaca_eval/leaderboards/data_AlpacaEval_2/{_ANNOTATOR}_leaderboard.csv"
)
_ARENA = Path("results/google_quora_alpaca_sharegpt_chat1m_clean_20772_fullset")
ARENA = _ARENA / "elo_rating.csv"
_OUTCOMES = {
    "model_a": "first",
    "model_b": "second",
    "tie": "tie",
    "tie(all bad)": "tie",
}
_K, _START, _SCALE = 4.0, 1000.0, 400.0  # of Elo's ratings


class Board(NamedTuple):
    """Results of a report of a leaderboard."""

    estimates: Mapping
    """Estimate, standard error and limits by model."""
    ranks: Mapping
    separated: tuple[int, int]
    """How many differences exclude 0, of how many."""
    seconds: float
    memory: int
    picture: bytes
    """Picture of the ranks."""

    def by_rank(self):
        """Models and cells of their ranks, the best first."""
        ordered = sorted(self.ranks.items(), key=lambda entry: entry[1][0])
        for model, (rank, low, high) in ordered:
            of_rank = f"[{low}, {high}]"
            yield model, {"rank": f"{rank:g}", "joint interval of the rank": of_rank}


def read_csv(file):
    """Rows of a file."""
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def read_grades(folder, most):
    """Preferences for each published model over the baseline, NaN where missing."""
    files = sorted((folder / "results").glob(f"*/{_ANNOTATOR}/annotations.json"))
    items = {}
    given = {}
    published = {row[""] for row in read_csv(folder / LEADERBOARD)}
    for file in files[:most]:
        if file.parents[1].name not in published:
            continue
        rows = json.loads(file.read_text(encoding="utf-8"))
        given[file.parents[1].name] = [
            (items.setdefault(row["instruction"], len(items)), row["preference"] - 1)
            for row in rows
        ]
    grades = {model: np.full(len(items), np.nan) for model in given}
    for model, pairs in given.items():
        places, values = zip(*pairs, strict=True)
        grades[model][list(places)] = values
    return grades


def read_battles(folder, most):
    """First and second models and outcomes of the battles that have one."""
    rows = read_csv(folder / _ARENA / "battled_pairs.csv")
    rows = [row for row in rows if row["winner"] in _OUTCOMES][:most]
    return [
        [row["model_a"] for row in rows],
        [row["model_b"] for row in rows],
        [_OUTCOMES[row["winner"]] for row in rows],
    ]


def report_on_grades(folder, most):
    grades = read_grades(folder, most)
    start = time.process_time()
    report = skci.grades_report(grades, bounds=(0, 1), missing_grades="pairwise")
    return _board(report, "mean", start)


def report_on_battles(folder, most):
    battles = read_battles(folder, most)
    start = time.process_time()
    report = skci.votes_report(*battles, scale="elo").select(metrics="strength")
    return _board(report, "strength", start)


def _board(report, metric, start):
    """Ask all of a report, and draw it."""
    with threadpool_limits(1):
        ranks, differences = report.ranks(), report.differences()
        excludes = differences.pvalues < 0.05
        found = {model: report[model, metric] for model in report.models}
        estimates = {
            model: (float(each), float(each.standard_error), each.low, each.high)
            for model, each in found.items()
        }
        seconds = time.process_time() - start
    matplotlib.use("Agg")
    picture = io.BytesIO()
    ranks.plot().figure_.savefig(picture, dpi=80, metadata={"Software": None})
    return Board(
        estimates,
        {model: tuple(ranks[model, metric]) for model in report.models},
        (int(excludes.sum()), len(excludes)),
        seconds,
        peak_of_process(),
        picture.getvalue(),
    )


def median_ratings(first, second, outcome, rounds):
    """Median Elo rating of each model over bootstrap samples of the battles.

    A win moves a rating by K times one less the expected score, and a tie counts half.
    """
    models, codes = np.unique([*first, *second], return_inverse=True)
    one, other = np.split(codes, 2)
    score = np.select([np.equal(outcome, "first"), np.equal(outcome, "tie")], [1, 0.5])
    ratings = np.full((rounds, len(models)), _START)
    rng = np.random.default_rng(0)
    each, drawn = np.arange(rounds), rng.integers(len(one), size=(len(one), rounds))
    for battle in drawn:
        a, b = one[battle], other[battle]
        expected = 1 / (1 + 10 ** ((ratings[each, b] - ratings[each, a]) / _SCALE))
        gain = _K * (score[battle] - expected)
        ratings[each, a] += gain
        ratings[each, b] -= gain
    medians = np.median(ratings, axis=0)
    return dict(zip(models.tolist(), medians.tolist(), strict=True))
