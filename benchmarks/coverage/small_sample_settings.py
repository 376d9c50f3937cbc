"""Small samples whose intervals covered too seldom, and their true values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate, optimize, stats
from scipy.special import ndtr, ndtri
from sklearn.metrics import f1_score, precision_score

from benchmarks.common import Array
from benchmarks.coverage import populations
from benchmarks.coverage.chapter_simulation import Truths
from benchmarks.coverage.classes_and_scores import scored, true_value
from benchmarks.coverage.populations import MODELS
from skci.inference.parameter import DEFAULT_MODEL

PREVALENCE = 0.1
"""Of the positive label, where there are scores."""


@dataclass(frozen=True)
class Probabilities:
    """Right probabilities of a rare label, given normal evidence, by one model or two.

    A model predicts the label if it is more likely than not.
    """

    n: int
    areas: tuple[float, ...]
    """Area under the ROC curve of each model."""
    metrics: tuple[str, ...]

    @property
    def name(self) -> str:
        areas = " and ".join(f"{area:g}" for area in self.areas)
        return f"{PREVALENCE:.0%} positive, AUC {areas}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        drawn = scored(rng, self.n, PREVALENCE, self._distances)
        if "accuracy" in self.metrics:
            scores = drawn["y_score"].items()
            drawn["y_pred"] = {model: column > 0.5 for model, column in scores}
        return {**drawn, "metrics": list(self.metrics)}

    def truths(self) -> Truths:
        return {
            (model, name): true_value(name, PREVALENCE, distance)
            for model, distance in zip(MODELS, self._distances, strict=False)
            for name in self.metrics
        }

    @property
    def _distances(self) -> list[float]:
        """Standardised mean difference between the labels, by model."""
        return [float(np.sqrt(2) * ndtri(area)) for area in self.areas]


ERRORS: dict[str, Any] = {
    "normal": stats.norm(),
    "t5": stats.t(5),
    "t3": stats.t(3),
    "lognormal": stats.lognorm(1, loc=-np.exp(0.5)),
}
"""Distributions of regression errors, all of mean zero."""

_OF_NUMBERS = (
    "mean_squared_error",
    "root_mean_squared_error",
    "r2",
    "pearson_correlation",
    "mean_absolute_error",
    "d2_absolute_error",
)


@dataclass(frozen=True)
class Regression:
    """Normal predictions, and errors of the same variance and of mean zero."""

    n: int
    errors: str

    @property
    def name(self) -> str:
        return f"{self.errors} errors"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        errors = ERRORS[self.errors]
        predicted = errors.std() * rng.normal(size=self.n)
        return {
            "y_true": predicted + errors.rvs(self.n, random_state=rng),
            "y_pred": predicted,
            "metrics": list(_OF_NUMBERS),
        }

    def truths(self) -> Truths:
        errors = ERRORS[self.errors]
        variance = float(errors.var())
        above, _ = integrate.quad(errors.sf, 0, np.inf)
        skill = 1 - 2 * above / self._deviation(errors)
        values = variance, np.sqrt(variance), 0.5, np.sqrt(0.5), 2 * above, skill
        pairs = zip(_OF_NUMBERS, values, strict=True)
        return {(DEFAULT_MODEL, name): float(value) for name, value in pairs}

    @staticmethod
    def _deviation(errors: Any) -> float:
        """Mean absolute deviation of the true values from their median."""
        scale = errors.std()

        def excess(median: float) -> float:
            return errors.expect(lambda e: ndtr((median - e) / scale)) - 0.5

        def deviation(e: Array) -> Array:  # given the error
            z = (e - median) / scale
            return scale * (2 * stats.norm.pdf(z) + z * (2 * ndtr(z) - 1))

        median = optimize.brentq(excess, -scale, scale)
        return float(errors.expect(deviation))


_OF_LABELS = {"f1": f1_score, "precision": precision_score}


@dataclass(frozen=True)
class FewPositives:
    """A model whose precision is its recall, on a few expected positives."""

    n: int
    positives: int = 10
    recall: float = 0.8

    @property
    def name(self) -> str:
        return f"{self.positives} positives expected, F1 {self.recall:g}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        y, p = np.repeat(_CELLS, rng.multinomial(self.n, self._shares), axis=0).T
        return {"y_true": y, "y_pred": p, "metrics": list(_OF_LABELS)}

    def truths(self) -> Truths:
        measured = {
            name: partial(measure, *_CELLS.T, sample_weight=self._shares)
            for name, measure in _OF_LABELS.items()
        }
        return {(DEFAULT_MODEL, name): float(f()) for name, f in measured.items()}

    @property
    def _shares(self) -> Array:
        prevalence, error = self.positives / self.n, 1 - self.recall
        false_alarms = error * prevalence / (1 - prevalence)
        return populations.Setting(self.n, prevalence, error, false_alarms).cells


_CELLS = np.array([[1, 1], [0, 1], [1, 0], [0, 0]])
"""Truth and prediction in the cells tp, fp, fn and tn."""
