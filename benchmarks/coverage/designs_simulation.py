"""Simulated coverage of crossed rows, rows in order of time, and suites of tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import JOINT_LEVEL, interval_and_warning
from skci.designs import Crossed, Strata, TimeOrder

INDEPENDENT = "independent rows"
_DISTANCES = {"A": 2.0, "B": 1.6}  # of the scores of both labels, by model
_SHARED = 0.5  # correlation of the scores of the models given the label
_SHARES = (0.2, 0.2, 0.6)  # of the variance of scores: items, users, rows
_BOOTSTRAPS = 500
_MOST_AVERAGED = 20  # tasks of which F1 is averaged, which takes long of many
_Z = float(ndtri((1 + JOINT_LEVEL) / 2))

Found = tuple[str, str, float, Any, bool]
"""What is estimated, the method, the true value, an interval, whether it warns."""


@dataclass(frozen=True)
class DesignCoverage:
    """Coverage of individual intervals on samples of a setting."""

    setting: Any
    """Draws samples; its cost is the milliseconds of one, roughly."""
    draws: int

    @property
    def cost(self) -> float:
        return float(self.setting.cost * self.draws)

    def records(self, rng: np.random.Generator) -> list[Record]:
        found: dict[tuple[str, str], list[tuple[bool, bool, float]]] = {}
        for _ in range(self.draws):
            for of, method, truth, (low, high), warned in self.setting.intervals(rng):
                outcome = bool(low <= truth <= high), warned, float(high - low)
                found.setdefault((of, method), []).append(outcome)
        records = []
        for (of, method), outcomes in found.items():
            covered, warned, width = np.transpose(outcomes)
            records.append(
                {
                    "setting": repr(self.setting),
                    "of": of,
                    "method": method,
                    "coverage": float(covered.mean()),
                    "warned": float(warned.mean()),
                    "width": float(np.median(width)),
                }
            )
        return records


def _scored(y: Array, noise: Callable[[], Array]) -> dict[str, Array]:
    """Scores of both models of rows, whose noise has a variance of 1."""
    shared = np.sqrt(_SHARED) * noise()
    return {
        model: distance * (y - 0.5) + shared + np.sqrt(1 - _SHARED) * noise()
        for model, distance in _DISTANCES.items()
    }


def _reported(
    y: Array, scores: dict[str, Array], method: str, **options: Any
) -> Iterator[Found]:
    """Accuracy and area of the first model, and differences of both models."""
    labels = {model: (values > 0).astype(int) for model, values in scores.items()}
    distances = np.array([*_DISTANCES.values()])
    truths = {"accuracy": ndtr(distances / 2), "roc_auc": ndtr(distances / np.sqrt(2))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = skci.joint_report(
            y, labels, y_score=scores, metrics=[*truths], **options
        )
        alone, compared = report.individual(), report.differences().individual()
    for metric, (first, second) in truths.items():
        found = interval_and_warning(alone["A", metric])
        yield metric, method, float(first), *found
        found = interval_and_warning(compared[metric, "A", "B"])
        yield f"difference in {metric}", method, float(first - second), *found


@dataclass(frozen=True)
class TwoWay:
    """Items that users meet, each user some of them, some users many."""

    items: int
    users: int

    @property
    def cost(self) -> float:
        return self.items * self.users / 70

    def intervals(self, rng: np.random.Generator) -> Iterator[Found]:
        activity = rng.beta(0.8, 1.6, self.users)
        met = rng.random((self.items, self.users)) < activity
        met[rng.integers(self.items, size=self.users), np.arange(self.users)] = True
        item, user = np.nonzero(met)
        y = item % 2
        of_items, of_users, of_rows = np.sqrt(_SHARES)

        def noise() -> Array:
            return (
                of_items * rng.normal(size=self.items)[item]
                + of_users * rng.normal(size=self.users)[user]
                + of_rows * rng.normal(size=len(item))
            )

        scores = _scored(y, noise)
        yield from _reported(y, scores, "Crossed", design=Crossed(item, user))
        yield from _reported(y, scores, INDEPENDENT)


@dataclass(frozen=True)
class Series:
    """Rows in order of time, whose labels and scores are autoregressive."""

    n: int
    autocorrelation: float

    @property
    def cost(self) -> float:
        return 30 + self.n / 12

    def intervals(self, rng: np.random.Generator) -> Iterator[Found]:
        def noise() -> Array:
            values = rng.normal(size=self.n)
            values[1:] *= np.sqrt(1 - self.autocorrelation**2)
            for t in range(1, self.n):
                values[t] += self.autocorrelation * values[t - 1]
            return values

        y = (noise() > 0).astype(int)
        while not 2 <= y.sum() <= self.n - 2:
            y = (noise() > 0).astype(int)
        scores = _scored(y, noise)
        yield from _reported(y, scores, "TimeOrder", design=TimeOrder())
        newey_west = TimeOrder(method="newey-west")
        yield from _reported(y, scores, "Newey-West", design=newey_west)
        yield from _reported(y, scores, INDEPENDENT)


@dataclass(frozen=True)
class Tasks:
    """Tasks of 30 to some 600 items, and a model that is better on each."""

    number: int

    @property
    def cost(self) -> float:
        return 25.0 * self.number if self.number <= _MOST_AVERAGED else 20.0

    def intervals(self, rng: np.random.Generator) -> Iterator[Found]:
        fixed = np.random.default_rng(self.number)
        sizes = 30 + (80 * fixed.lognormal(size=self.number)).astype(int)
        ease = fixed.uniform(0.35, 0.95, self.number)
        task = np.repeat(np.arange(self.number), sizes)
        hard = rng.normal(size=len(task))
        truths = {"old": ease, "new": ndtr(ndtri(ease) + 0.1)}
        right = {
            model: (hard + rng.normal(size=len(task)) < np.sqrt(2) * ndtri(p)[task])
            for model, p in truths.items()
        }
        grades = {model: each.astype(float) for model, each in right.items()}
        mean = float(truths["old"].mean())
        difference = float(mean - truths["new"].mean())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = skci.grades_report(grades, tasks=task, bounds=(0, 1)).individual()
            compared = report.differences().individual()
        name = "tasks=, Strata"
        found = interval_and_warning(report["old", "mean"])
        yield "mean", name, mean, *found
        found = interval_and_warning(compared["mean", "old", "new"])
        yield "difference in mean", name, difference, *found
        by_task = np.array(
            [
                [each[task == t].mean() for t in range(self.number)]
                for each in right.values()
            ]
        )
        n = len(task)
        for of, truth, values, units in (
            ("mean", mean, by_task[0], grades["old"]),
            (
                "difference in mean",
                difference,
                by_task[0] - by_task[1],
                grades["old"] - grades["new"],
            ),
        ):
            estimate = values.mean()
            pooled = _Z * units.std(ddof=1) / np.sqrt(n)
            t = stats.t.ppf((1 + JOINT_LEVEL) / 2, self.number - 1)
            between = t * values.std(ddof=1) / np.sqrt(self.number)
            for method, margin in (
                ("pooled formula", pooled),
                ("between tasks", between),
            ):
                yield of, method, truth, (estimate - margin, estimate + margin), False
        if self.number > _MOST_AVERAGED:
            return
        y = rng.integers(0, 2, n)
        labels = {model: np.where(each, y, 1 - y) for model, each in right.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = skci.joint_report(
                y, labels, metrics="f1", design=Strata(task, average="macro")
            ).individual()
            compared = report.differences().individual()
        found = interval_and_warning(report["old", "f1"])
        yield "f1", name, mean, *found
        found = interval_and_warning(compared["f1", "old", "new"])
        yield "difference in f1", name, difference, *found


@dataclass(frozen=True)
class Agents:
    """Scores of runs on tasks, gamma or lognormal around the level of the task."""

    tasks: int
    runs: int
    tails: str

    @property
    def cost(self) -> float:
        return 50.0

    @property
    def _level(self) -> Array:
        return np.random.default_rng(5).gamma(1.5, 0.6, size=self.tasks)

    def draw(self, rng: np.random.Generator, runs: int) -> dict[str, Array]:
        """Draw scores of two models, (runs, tasks)."""
        shape, scores = (runs, self.tasks), {}
        for model, gain in (("A", 1.2), ("B", 1.0)):
            noise = (
                rng.gamma(9, 1 / 9, shape)
                if self.tails == "gamma"
                else np.exp(rng.normal(0, 0.5, shape))
            )
            scores[model] = gain * self._level * noise
        return scores

    def intervals(self, rng: np.random.Generator) -> Iterator[Found]:
        truths = _true_aggregates(self)
        scores = self.draw(rng, self.runs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = skci.suite_report(scores).individual()
            compared = report.differences().individual()
        estimates = {name: report["A", name] for name in _AGGREGATES}
        estimates["difference in iqm"] = compared["iqm", "A", "B"]
        improved = report.probability_of_improvement()
        estimates[_IMPROVEMENT] = improved["A > B", _IMPROVEMENT]
        for of, estimate in estimates.items():
            yield of, "suite_report", truths[of], *interval_and_warning(estimate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            profile = skci.suite_report({"A": scores["A"]}).performance_profile(_LEVELS)
            limits = np.array([profile[key].confidence_interval() for key in profile])
        known = np.array([truths[f"above {level:g}"] for level in _LEVELS])
        covered = bool(((limits[:, 0] <= known) & (known <= limits[:, 1])).all())
        low = 0.0 if covered else 2.0
        yield "profile, all at once", "suite_report", 1.0, (low, low + 1), False
        resampled = self._bootstrap(rng, scores)
        tail = (1 - JOINT_LEVEL) / 2
        for of, values in resampled.items():
            limits = np.quantile(values, [tail, 1 - tail])
            yield of, "bootstrap", truths[of], limits, False

    def _bootstrap(
        self, rng: np.random.Generator, scores: dict[str, Array]
    ) -> dict[str, Array]:
        """Aggregates of runs that are resampled within each task."""
        drawn = {}
        for model, values in scores.items():
            shape = (_BOOTSTRAPS, self.runs, self.tasks)
            chosen = rng.integers(self.runs, size=shape)
            drawn[model] = values[chosen, np.arange(self.tasks)]
        of_first = _aggregates(drawn["A"])
        of_second = _aggregates(drawn["B"])
        of_first["difference in iqm"] = of_first["iqm"] - of_second["iqm"]
        wins = drawn["A"][:, :, np.newaxis] > drawn["B"][:, np.newaxis]
        ties = drawn["A"][:, :, np.newaxis] == drawn["B"][:, np.newaxis]
        of_first[_IMPROVEMENT] = (wins + 0.5 * ties).mean(axis=(1, 2, 3))
        return of_first


_AGGREGATES = ("iqm", "mean", "optimality_gap")
_IMPROVEMENT = "probability_of_improvement"
_LEVELS = (0.2, 0.5, 1.0, 2.0)
_MANY_RUNS = 100_000


def _aggregates(scores: Array) -> dict[str, Array]:
    """Aggregates of scores of shape (..., runs, tasks)."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1))
    cut = flat.shape[-1] // 4
    return {
        "iqm": flat[..., cut : flat.shape[-1] - cut].mean(axis=-1),
        "mean": flat.mean(axis=-1),
        "optimality_gap": 1 - np.minimum(flat, 1).mean(axis=-1),
    }


@cache
def _true_aggregates(setting: Agents) -> dict[str, float]:
    """Aggregates of very many runs."""
    rng = np.random.default_rng(0)
    scores = setting.draw(rng, _MANY_RUNS)
    truths = {name: float(v) for name, v in _aggregates(scores["A"]).items()}
    truths["difference in iqm"] = truths["iqm"] - float(_aggregates(scores["B"])["iqm"])
    truths[_IMPROVEMENT] = float((scores["A"] > scores["B"]).mean())
    for level in _LEVELS:
        truths[f"above {level:g}"] = float((scores["A"] > level).mean())
    return truths
