"""What a leaderboard of many models is asked for: time, memory and errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common.pages import Row, within_error, yes
from benchmarks.common.processes import in_new_process, peak_of_process
from benchmarks.common.results import monte_carlo_error
from skci.inference.pvalues import excludes

_GIBIBYTE = 1 << 30
_MOST_MEMORY = 2 * _GIBIBYTE

QUESTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "report": (str, 2),
    "ranks()": (lambda report: str(report.ranks()), 30),
    "best()": (lambda report: str(report.best()), 30),
    "print(differences())": (lambda report: str(report.differences()), 60),
    "differences().to_frame()": (lambda report: report.differences().to_frame(), 60),
}
"""What is asked of a report, and the seconds that it may take."""

_TASKS = {name: task for name, (task, _) in QUESTIONS.items()}


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


@dataclass(frozen=True)
class Answered:
    """Processor time of one thread and peak memory of one question."""

    board: Leaderboard
    question: str
    seconds: float
    memory: int


def answer_all(boards: Sequence[Leaderboard]) -> Iterator[Answered]:
    """Ask all questions of leaderboards, each in a process of its own."""
    for board in boards:
        for question in QUESTIONS:
            yield answer(board, question)


def answer(board: Leaderboard, question: str) -> Answered:
    """Ask one question, in a process of its own."""
    return in_new_process(_answer, board, question)


def _answer(board: Leaderboard, question: str) -> Answered:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.process_time()
        _TASKS[question](board.report())
        seconds = time.process_time() - start
    return Answered(board, question, seconds, peak_of_process())


def answers(answered: Sequence[Answered]) -> list[Row]:
    """Time and memory of each answer, and whether they are within the goal."""
    rows = []
    for each in answered:
        goal = QUESTIONS[each.question][1]
        rows.append(
            {
                "leaderboard": each.board.name,
                "asked for": each.question,
                "seconds": f"{each.seconds:.1f}",
                "peak memory, GiB": f"{each.memory / _GIBIBYTE:.2f}",
                "goal": f"{goal:g} s, 2 GiB",
                "met": yes(each.seconds <= goal and each.memory <= _MOST_MEMORY),
            }
        )
    return rows


def errors(board: Leaderboard, samples: int) -> list[Row]:
    """How often some of equally good models are called different."""
    found = [
        excludes(board.report(seed).differences()._joint, 0.0).any()
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
