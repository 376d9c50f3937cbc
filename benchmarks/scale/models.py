"""Time, memory and errors of reports on many models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row, within_error, yes
from benchmarks.common.processes import GIBIBYTE, measured
from benchmarks.coverage.harness import monte_carlo_error

METRICS = ("accuracy", "f1", "mcc")

Task = Callable[[], Any]


def correlated_models(models: int, n: int) -> tuple[Array, dict[str, Array]]:
    """Labels, and predictions that tend to be wrong on the same rows."""
    rng = np.random.default_rng(0)
    y, difficulty = rng.random(n) < 0.3, rng.normal(size=n)
    predictions = {}
    for model in range(models):
        score = 0.7**0.5 * difficulty + 0.3**0.5 * rng.normal(size=n)
        wrong = score > 1.2 + 0.3 * model / models
        predictions[f"model {model}"] = (y ^ wrong).astype(np.int8)
    return y.astype(np.int8), predictions


def _report(models: int, n: int, differences: bool) -> Task:
    """A report with all that it has, or its differences."""
    y, predictions = correlated_models(models, n)

    def task() -> Any:
        report = skci.joint_report(y, predictions, metrics=[*METRICS])
        return (report.differences() if differences else report).to_dict()

    return task


def reports(models: int, compared: int, n: int) -> list[Row]:
    """Reports on many models, and differences of some."""
    of = f"{len(METRICS)} metrics, {n:,} rows"
    return [
        _row(f"{models:,} models, {of}", "report", _report, models, n, False),
        _row(f"{compared} models, {of}", "differences", _report, compared, n, True),
    ]


def _row(report: str, asked: str, start: Any, *arguments: Any) -> Row:
    """Time and memory of an answer, and whether they are within the goal."""
    found = measured(start, *arguments)
    memory, (goal, most) = found.peak / GIBIBYTE, _GOALS[asked]
    return {
        "report": report,
        "asked for": asked,
        "seconds": f"{found.seconds:.1f}",
        "peak memory, GiB": f"{memory:.2f}",
        "goal": f"{goal:g} s, {most:g} GiB",
        "met": yes(found.seconds <= goal and memory <= most),
    }


_QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "print(report)": str,
    "ranks()": lambda report: str(report.ranks()),
    "best()": lambda report: str(report.best()),
    "print(differences())": lambda report: str(report.differences()),
    "differences().to_frame()": lambda report: report.differences().to_frame(),
}
"""Calls of the report of a leaderboard."""
_GOALS = {
    "report": (60, 2),
    "differences": (60, 3),
    "print(report)": (2, 2),
    "ranks()": (30, 2),
    "best()": (30, 2),
    "print(differences())": (60, 2),
    "differences().to_frame()": (60, 2),
}
"""Seconds and GiB that an answer may take."""


@dataclass(frozen=True)
class Leaderboard:
    """Models on the same items: their grades or, with metrics, their labels."""

    models: int
    items: int
    spread: float
    """Standard deviation of the skills, beside that of 1 of an answer."""
    metrics: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        of = f"{len(self.metrics)} metrics" if self.metrics else "grades"
        skills = f"skills +- {self.spread:g}" if self.spread else "equally good"
        return f"{self.models:,} models, {of}, {self.items:,} items, {skills}"

    def report(self, seed: int = 0) -> Any:
        """Report on one draw of skills and items."""
        rng = np.random.default_rng(seed)
        ease = rng.normal(size=self.items)
        answers = {
            f"model {k}": skill + ease + rng.normal(size=self.items)
            for k, skill in enumerate(rng.normal(0, self.spread, self.models))
        }
        if not self.metrics:
            grades = {name: expit(answer) for name, answer in answers.items()}
            return skci.grades_report(grades, bounds=(0, 1))
        y = rng.random(self.items) < 0.4
        labels = {name: y ^ (answer < -1) for name, answer in answers.items()}
        return skci.joint_report(y, labels, metrics=[*self.metrics])


def _asked(board: Leaderboard, question: str) -> Task:
    task = _QUESTIONS[question]
    return lambda: task(board.report())


def leaderboards(
    boards: Sequence[Leaderboard], close: Sequence[Leaderboard]
) -> list[Row]:
    """All questions of leaderboards, and best() of those that are close."""
    asked = [(board, question) for board in boards for question in _QUESTIONS]
    asked += [(board, "best()") for board in close]
    return [
        _row(board.name, question, _asked, board, question) for board, question in asked
    ]


def errors(board: Leaderboard, samples: int) -> list[Row]:
    """How often some of equally good models are called different."""
    found = [
        (board.report(seed).differences().pvalues < 0.05).any()
        for seed in range(samples)
    ]
    share = float(np.mean(found))
    error = monte_carlo_error(share, samples)
    return [
        {
            "leaderboard": board.name,
            "samples": f"{samples:,}",
            "with an error": f"{share:.3f} ({error:.3f})",
            "at most .05": within_error(-share, -0.05, error),
        }
    ]
