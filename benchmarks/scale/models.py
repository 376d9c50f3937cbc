"""Time, memory and errors of reports on many models."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import skci
from benchmarks.common.pages import within_error, yes
from benchmarks.common.processes import GIBIBYTE, measured
from benchmarks.coverage.harness import monte_carlo_error

METRICS = ("accuracy", "f1", "mcc")


def correlated_models(models, n):
    """Labels, and predictions that tend to be wrong on the same rows."""
    rng = np.random.default_rng(0)
    y, difficulty = rng.random(n) < 0.3, rng.normal(size=n)
    predictions = {}
    for model in range(models):
        score = 0.7**0.5 * difficulty + 0.3**0.5 * rng.normal(size=n)
        wrong = score > 1.2 + 0.3 * model / models
        predictions[f"model {model}"] = (y ^ wrong).astype(np.int8)
    return y.astype(np.int8), predictions


def _report(models, n, differences):
    """A report with all that it has, or its differences."""
    y, predictions = correlated_models(models, n)

    def task():
        report = skci.joint_report(y, predictions, metrics=[*METRICS])
        return (report.differences() if differences else report).to_dict()

    return task


def reports(models, compared, n):
    """Reports on many models, and differences of some."""
    of = f"{len(METRICS)} metrics, {n:,} rows"
    return [
        _row(f"{models:,} models, {of}", "report", _report, models, n, False),
        _row(f"{compared} models, {of}", "differences", _report, compared, n, True),
    ]


def _row(report, asked, start, *arguments):
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


_QUESTIONS = {
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
    def name(self):
        of = f"{len(self.metrics)} metrics" if self.metrics else "grades"
        skills = f"skills +- {self.spread:g}" if self.spread else "equally good"
        return f"{self.models:,} models, {of}, {self.items:,} items, {skills}"

    def report(self, seed=0):
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


def _asked(board, question):
    task = _QUESTIONS[question]
    return lambda: task(board.report())


def leaderboards(boards, close):
    """All questions of leaderboards, and best() of those that are close."""
    asked = [(board, question) for board in boards for question in _QUESTIONS]
    asked += [(board, "best()") for board in close]
    return [
        _row(board.name, question, _asked, board, question) for board, question in asked
    ]


def errors(board, samples):
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
