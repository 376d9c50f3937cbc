"""Coverage of a leaderboard: means, ranks and differences of many models."""

from functools import partial

import numpy as np
from scipy.special import expit

import skci
from benchmarks.coverage.harness import Records, Setting
from benchmarks.coverage.tables import mean_of

_SKILLS = {"A": 1.5, "B": 1.5, "C": 1.3, "D": 1, "E": 1, "F": 0.7, "G": 0.3, "H": 0.3}
_OF_PASSAGES, _OF_QUESTIONS, _OF_MODELS = 0.8, 1.5, 0.5  # standard deviations of ease
_MISSING = 0.2  # share of the grades
_NORMAL = 1.96
_SETTINGS = ((500, 60, 4), (500, 60, 1), (500, 500, 4), (100, 20, 4))
"""Numbers of questions, passages and answers."""


def graded(questions, passages, answers, missing):
    """Grades of answers of eight models to questions about passages."""
    passage = np.arange(questions) % passages

    def draw(rng):
        ease = rng.normal(0, _OF_PASSAGES, passages)[passage]
        ease = ease + rng.normal(0, _OF_QUESTIONS, questions)
        grades = {}
        for model, skill in _SKILLS.items():
            chance = expit(skill + ease + rng.normal(0, _OF_MODELS, questions))
            grades[model] = rng.random((questions, answers)) < chance[:, np.newaxis]
        if not missing:
            return grades
        gone = rng.random((len(grades), questions)) < _MISSING
        return {
            model: np.where(lacks, np.nan, each[:, 0])
            for (model, each), lacks in zip(grades.items(), gone, strict=True)
        }

    def answer(grades):
        options = {"missing_grades": "pairwise"} if missing else {}
        samples = {} if missing else {"samples": "independent"}
        report = skci.grades_report(
            grades, groups=passage, bounds=(0, 1), **options, **samples
        )
        return of_board(report, true_means())

    cells = {"questions": questions, "passages": passages, "answers to each": answers}
    named = {name: str(number) for name, number in cells.items()}
    if missing:
        named = {"``missing_grades``": '"pairwise"'}
    calls = {"skci": answer} | ({} if missing else {"independent questions": _naive})
    return Setting(named, draw, true_means, calls)


def _naive(grades):
    """Intervals that take questions to be independent."""
    found = {}
    for model, each in grades.items():
        of_question = each.mean(axis=1)
        margin = _NORMAL * of_question.std(ddof=1) / np.sqrt(len(of_question))
        found[model, "mean"] = of_question.mean() - margin, of_question.mean() + margin
    return found


def of_board(report, truths):
    """Individual and joint intervals of a leaderboard, differences and ranks."""
    individual = report.individual()
    ranks = report.ranks()
    values = np.array([truths[key] for key in individual])
    low, high = ranks.intervals.T
    first = 1 + (values > values[:, np.newaxis]).sum(axis=1)
    last = (values >= values[:, np.newaxis]).sum(axis=1)
    place = [list(ranks.models).index(key[0]) for key in individual]
    covered = (low[place] <= first) & (last <= high[place])
    return {key: individual[key] for key in individual} | {
        "joint": report,
        "differences": report.differences(),
        "ranks": bool(covered.all()),  # equal models share ranks
    }


def true_means():
    """Expected grade of each model, by the Gauss-Hermite rule."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    ease = nodes * np.sqrt(_OF_PASSAGES**2 + _OF_QUESTIONS**2 + _OF_MODELS**2)
    means = expit(np.array([*_SKILLS.values()])[:, np.newaxis] + ease) @ weights
    means = means / weights.sum()
    return {(m, "mean"): float(x) for m, x in zip(_SKILLS, means, strict=True)}


def board_rows(found, joint, differences):
    """Mean coverage of individual intervals, and coverage of joint ones."""
    rows = []
    together = {"joint": joint, "differences": differences, "ranks": "ranks"}
    for row, chosen in found.settings():
        ours = chosen.where(call="skci")
        single = Records([each for each in ours if each["of"] not in together])
        for call in chosen.without(call="skci").unique("call"):
            row[call] = mean_of(chosen.where(call=call))
        row["individual"] = mean_of(single)
        for key, title in together.items():
            row[title] = mean_of(ours.where(of=key))
        rows.append(row)
    return rows


SETTINGS = [graded(*each, missing=False) for each in _SETTINGS]
LACKING = [graded(500, 60, 1, missing=True)]
_rows = partial(board_rows, joint="eight joint", differences="28 differences")


def tables(simulate):
    return {
        "Coverage": [_rows(simulate(SETTINGS, 400))],
        "Missing grades": [_rows(simulate(LACKING, 400))],
    }
