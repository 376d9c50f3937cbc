"""Grades and battles of published leaderboards, and what a report says of them."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common import Array
from benchmarks.common.processes import peak_of_process

_ANNOTATOR = "weighted_alpaca_eval_gpt4_turbo"
LEADERBOARD = (
    f"src/alpaca_eval/leaderboards/data_AlpacaEval_2/{_ANNOTATOR}_leaderboard.csv"
)
ARENA = "results/google_quora_alpaca_sharegpt_chat1m_clean_20772_fullset"
_OUTCOMES = {
    "model_a": "first",
    "model_b": "second",
    "tie": "tie",
    "tie(all bad)": "tie",
}


class Board(NamedTuple):
    """What a report says of a leaderboard."""

    estimates: Mapping[str, tuple[float, float, float, float]]
    """Estimate, standard error and limits by model."""
    ranks: Mapping[str, tuple[float, int, int]]
    findings: Sequence[str]
    separated: tuple[int, int]
    """How many differences exclude 0, of how many."""
    seconds: float
    memory: int


def read_grades(folder: Path, most: int | None) -> dict[str, Array]:
    """Preferences for each published model over the baseline, NaN where missing."""
    files = sorted((folder / "results").glob(f"*/{_ANNOTATOR}/annotations.json"))
    items: dict[str, int] = {}
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


def read_csv(file: Path) -> list[dict[str, str]]:
    """Rows of a file."""
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def report_on_grades(folder: Path, most: int | None, figures: Path | None) -> Board:
    grades = read_grades(folder, most)
    start = time.process_time()
    report = skci.grades_report(grades, bounds=(0, 1), missing_grades="pairwise")
    return _board(report, "mean", start, figures, "alpaca_eval")


def report_on_battles(folder: Path, most: int | None, figures: Path | None) -> Board:
    battles = read_battles(folder, most)
    start = time.process_time()
    report = skci.votes_report(*battles, scale="elo").select(metrics="strength")
    return _board(report, "strength", start, figures, "arena")


def read_battles(folder: Path, most: int | None) -> list[list[str]]:
    """First and second models and outcomes of the battles that have one."""
    rows = read_csv(folder / ARENA / "battled_pairs.csv")
    rows = [row for row in rows if row["winner"] in _OUTCOMES][:most]
    return [
        [row["model_a"] for row in rows],
        [row["model_b"] for row in rows],
        [_OUTCOMES[row["winner"]] for row in rows],
    ]


def _board(
    report: Any, metric: str, start: float, figures: Path | None, name: str
) -> Board:
    """Ask all of a report, and draw it."""
    with threadpool_limits(1):
        ranks, differences = report.ranks(), report.differences()
        excludes = differences.pvalues < 0.05
        estimates = {
            model: (
                float(report[model, metric]),
                float(report[model, metric].standard_error),
                report[model, metric].low,
                report[model, metric].high,
            )
            for model in report.models
        }
        board = Board(
            estimates,
            {model: tuple(ranks[model, metric]) for model in report.models},
            list(ranks.findings()),
            (int(excludes.sum()), len(excludes)),
            time.process_time() - start,
            peak_of_process(),
        )
    if figures:
        import matplotlib

        matplotlib.use("Agg")
        for kind, shown in (("ranks", ranks), ("verdicts", differences)):
            figure = shown.plot().figure_
            file = figures / f"published_{name}_{kind}.png"
            figure.savefig(file, dpi=80, metadata={"Software": None})
    return board
