"""Simulated coverage of intervals for grades between 0 and 1."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.betting import betting_interval
from benchmarks.coverage.classes_and_scores import scored, true_value
from benchmarks.coverage.populations import MODELS, latent
from benchmarks.coverage.simulation import JOINT_LEVEL, interval_and_warning

METHODS = ("default", "hall", "betting")

_QUANTILES = 100_000
_SPREAD = 0.03
_DICE = (0.9, 0.89)  # mean, by model
_FAILURES = {"Dice": 0.0, "Dice, 1% failures": 0.01, "Dice, 3% failures": 0.03}
_PERFECT = 1 / 3  # share of queries with an nDCG of 1
_NDCG = ((5, 2), (4.5, 2))  # shapes of the beta distribution of others
_RUBRIC = ((0.05, 0.1, 0.2, 0.35, 0.3), (0.05, 0.12, 0.23, 0.33, 0.27))
_PREVALENCE = 0.05
_AREAS = (0.9, 0.85)

FAMILIES = (*_FAILURES, "nDCG", "rubric of 5", "Brier, rare label")


@cache
def population(family: str, model: int) -> Array:
    """Evenly spaced quantiles of the grades of a model."""
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    if family == "nDCG":
        others = stats.beta.ppf(shares / (1 - _PERFECT), *_NDCG[model])
        return np.where(shares < 1 - _PERFECT, others, 1.0)
    if family == "rubric of 5":
        steps = np.cumsum(_RUBRIC[model])
        return np.searchsorted(steps[:-1], shares) / 4
    failures, mean = _FAILURES[family], _DICE[model]
    total = mean * (1 - mean) / _SPREAD**2 - 1
    beta = stats.beta(mean * total, (1 - mean) * total)
    return np.where(
        shares < failures, 0.0, beta.ppf((shares - failures) / (1 - failures))
    )


@dataclass(frozen=True)
class Grades:
    """Grades of the same items by two models, which are better on the same items."""

    family: str
    n: int

    def draw(self, rng: np.random.Generator) -> Array:
        """Draw grades, of shape (2, n)."""
        if self.family == "Brier, rare label":
            drawn = scored(rng, self.n, _PREVALENCE, self._distances)
            scores = np.array([*drawn["y_score"].values()])
            return (scores - drawn["y_true"]) ** 2
        ranks = (ndtr(latent(rng, self.n)[:, :2].T) * _QUANTILES).astype(int)
        return np.array(
            [population(self.family, k)[column] for k, column in enumerate(ranks)]
        )

    def truths(self) -> Array:
        """Mean of the first model, and the difference of both."""
        if self.family == "Brier, rare label":
            means = [
                true_value("brier_score", _PREVALENCE, distance)
                for distance in self._distances
            ]
        else:
            means = [float(population(self.family, k).mean()) for k in range(2)]
        return np.array([means[0], means[0] - means[1]])

    @property
    def _distances(self) -> list[float]:
        """Standardised mean difference between the labels, by model."""
        return [float(np.sqrt(2) * stats.norm.ppf(area)) for area in _AREAS]


@dataclass(frozen=True)
class BoundedGrades:
    """Samples of grades, with intervals of a mean and of a difference."""

    setting: Grades
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, warnings and widths of a mean and a difference, by method."""
        truths = self.setting.truths()
        samples = [list(self._sample(rng)) for _ in range(self.draws)]
        by_method = dict(zip(METHODS, zip(*samples, strict=True), strict=True))
        records = []
        for k, of in enumerate(("mean", "difference")):
            found: Record = {}
            for method, of_method in by_method.items():
                intervals, warned = zip(*(each[k] for each in of_method), strict=True)
                low, high = np.array(intervals).T
                covers = (low <= truths[k]) & (truths[k] <= high)
                found[method] = {
                    "coverage": float(covers.mean()),
                    "warned": float(np.mean(warned)),
                    "width": float(np.median(high - low)),
                }
            about = {"family": self.setting.family, "n": self.setting.n, "of": of}
            records.append({**about, "draws": self.draws, **found})
        return records

    def _sample(self, rng: np.random.Generator) -> Iterator[list[tuple[Any, bool]]]:
        """Intervals of a mean and a difference, and whether they warn, by method."""
        grades = self.setting.draw(rng)
        models = dict(zip(MODELS, grades, strict=False))
        for method in (None, "hall"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = skci.grades_report(models, bounds=(0, 1), method=method)
                reports = report.individual(), report.differences().individual()
            yield [interval_and_warning(each[next(iter(each))]) for each in reports]
        values = (grades[0], (0, 1)), (grades[0] - grades[1], (-1, 1))
        yield [(betting_interval(*each, JOINT_LEVEL), False) for each in values]
