"""Coverage of a leaderboard: means, ranks and differences of many models."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import expit

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error

_SKILLS = {"A": 1.5, "B": 1.5, "C": 1.3, "D": 1, "E": 1, "F": 0.7, "G": 0.3, "H": 0.3}
_OF_PASSAGES, _OF_QUESTIONS, _OF_MODELS = 0.8, 1.5, 0.5  # standard deviations of ease
_NORMAL = 1.96
_PARTS = 8  # of the samples of a setting, which run in parallel


@dataclass(frozen=True)
class Leaderboard:
    """Grades of answers of eight models to questions about passages."""

    questions: int
    passages: int
    answers: int
    draws: int
    part: int = 0

    @property
    def cost(self) -> float:
        return self.draws * self.questions

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Shares of samples in which the true values are covered."""
        truths = true_means()
        gaps = np.array([a - b for a, b in combinations(truths, 2)])
        samples = [self._covered(rng, truths, gaps) for _ in range(self.draws)]
        shares = {key: np.mean([each[key] for each in samples]) for key in samples[0]}
        setting = {k: v for k, v in asdict(self).items() if k not in ("draws", "part")}
        return [setting | {key: float(share) for key, share in shares.items()}]

    def _covered(
        self, rng: np.random.Generator, truths: Array, gaps: Array
    ) -> dict[str, float]:
        passage = np.arange(self.questions) % self.passages
        grades = self._draw(rng, passage)
        report = skci.grades_report(
            grades, groups=passage, bounds=(0, 1), samples="independent"
        )
        means = np.array([each.mean() for each in grades.values()])
        rows = [each.mean(axis=1) for each in grades.values()]
        errors = np.std(rows, axis=1, ddof=1) / np.sqrt(self.questions)
        naive = np.mean(np.abs(means - truths) < _NORMAL * errors)
        return {"naive": naive} | _shares(report, report.differences(), truths, gaps)

    def _draw(self, rng: np.random.Generator, passage: Array) -> dict[str, Array]:
        """Grades of each model, shape (questions, answers)."""
        ease = rng.normal(0, _OF_PASSAGES, self.passages)[passage]
        ease = ease + rng.normal(0, _OF_QUESTIONS, self.questions)
        shape = self.questions, self.answers
        grades = {}
        for model, skill in _SKILLS.items():
            probability = expit(skill + ease + rng.normal(0, _OF_MODELS, len(ease)))
            grades[model] = rng.random(shape) < probability[:, np.newaxis]
        return grades


@dataclass(frozen=True)
class Incomplete(Leaderboard):
    """Grades of which a fifth are missing at random, for each model by itself."""

    missing_grades: str = "pairwise"

    def _covered(
        self, rng: np.random.Generator, truths: Array, gaps: Array
    ) -> dict[str, float]:
        passage = np.arange(self.questions) % self.passages
        grades = self._draw(rng, passage)
        lacking = {
            model: np.where(rng.random(self.questions) < _MISSING, np.nan, each[:, 0])
            for model, each in grades.items()
        }
        report = skci.grades_report(
            lacking, groups=passage, bounds=(0, 1), missing_grades=self.missing_grades
        )
        return _shares(report, report.differences(), truths, gaps)


def _shares(
    report: skci.reports.GradesReport,
    differences: skci.reports.ContrastReport,
    truths: Array,
    gaps: Array,
) -> dict[str, float]:
    """Whether true values are covered, of individual intervals the share."""
    ranks = ranks_covered(report.ranks(), dict(zip(_SKILLS, truths, strict=True)))
    return {
        "individual": np.mean(covers(report.individual(), truths)),
        "joint": np.all(covers(report, truths)),
        "differences": np.all(covers(differences, gaps)),
        "ranks": ranks,
    }


def ranks_covered(ranks: skci.reports.RankReport, truths: Mapping[str, float]) -> bool:
    """Whether all ranks are covered, of equal models by all that they share."""
    values = np.array([truths[model] for model in ranks.models])
    low, high = ranks.intervals.T
    first = 1 + (values > values[:, np.newaxis]).sum(axis=1)
    last = (values >= values[:, np.newaxis]).sum(axis=1)
    return bool(np.all((low <= first) & (last <= high)))


def covers(report: skci.reports.JointReport, truths: Array) -> Array:
    """Which intervals of a report cover their true values."""
    limits = np.array(
        [each.confidence_interval() for each in (report[key] for key in report)]
    )
    covered: Array = (limits[:, 0] <= truths) & (truths <= limits[:, 1])
    return covered


def true_means() -> Array:
    """Expected grade of each model, by the Gauss-Hermite rule."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    ease = nodes * np.sqrt(_OF_PASSAGES**2 + _OF_QUESTIONS**2 + _OF_MODELS**2)
    skills = np.array([*_SKILLS.values()])[:, np.newaxis]
    means: Array = expit(skills + ease) @ weights / weights.sum()
    return means


_MISSING = 0.2  # share of the grades
SETTINGS = ((500, 60, 4), (500, 60, 1), (500, 500, 4), (100, 20, 4))
"""Numbers of questions, passages and answers."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the table and write the page."""
    size = sizes(options.quick, draws=(50, 1), settings=(len(SETTINGS), 1))
    runner = Runner(work, options.seed, options.jobs, ["coverage/leaderboard"])
    settings = SETTINGS[: size.settings]
    simulations = [
        Leaderboard(*setting, size.draws, part)
        for setting in settings
        for part in range(_PARTS)
    ]
    simulations += [Incomplete(500, 60, 1, size.draws, part) for part in range(_PARTS)]
    records = runner.run(simulations, "leaderboard")
    complete = Records(each for each in records if "missing_grades" not in each)
    lacking = Records(each for each in records if "missing_grades" in each)
    table = [row(complete, *setting) for setting in settings]
    missing = {"``missing_grades``": '"pairwise"'} | _of_intervals(lacking)
    sections = [
        Section("Coverage", _TABLE, [table]),
        Section("Missing grades", _TABLE_OF_MISSING, [[missing]]),
    ]
    show(*sections)
    if output:
        draws = _PARTS * size.draws
        introduction = _INTRODUCTION.format(
            draws=draws, error=monte_carlo_error(0.95, draws)
        )
        file = output / "leaderboard.rst"
        write_page(file, "coverage", "Leaderboards", introduction, *sections)


def row(records: Records, questions: int, passages: int, answers: int) -> Row:
    """Mean shares over the parts of a setting."""
    chosen = records.where(questions=questions, passages=passages, answers=answers)
    return {
        "questions": f"{questions}",
        "passages": f"{passages}",
        "answers to each": f"{answers}",
        "independent questions": f"{chosen.mean('naive'):.3f}",
        **_of_intervals(chosen),
    }


def _of_intervals(chosen: Records) -> Row:
    return {
        "individual": f"{chosen.mean('individual'):.3f}",
        "eight joint": f"{chosen.mean('joint'):.3f}",
        "28 differences": f"{chosen.mean('differences'):.3f}",
        "ranks": f"{chosen.mean('ranks'):.3f}",
    }


_INTRODUCTION = """
Eight models answer questions about passages, as on the page :doc:`/leaderboard`, where
the data are described; three pairs of models are equal. Coverage of
95% intervals of :func:`skci.grades_report` is over {draws} samples of each setting; the
Monte Carlo error of .95 is {error:.3f}, and less for the means over eight intervals.
"""
_TABLE = """
*Independent questions* are intervals of 1.96 standard errors that take the questions
to be independent. *Individual* is the mean coverage of eight intervals; *eight joint*,
*28 differences* and *ranks* are the shares of samples in which all are covered: each
rank by an interval with all ranks that equal models share.
"""
_TABLE_OF_MISSING = """
One answer to each of 500 questions about 60 passages, and a fifth of the grades of each
model missing at random: each two are compared on the questions of both, two thirds of
all. A sixth of the questions have a grade of every model.
"""
