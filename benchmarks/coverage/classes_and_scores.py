"""Chapters on several classes, several targets and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, softmax
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    hamming_loss,
    log_loss,
    matthews_corrcoef,
    roc_auc_score,
)

from benchmarks.common import Array
from benchmarks.coverage.chapter_simulation import Chapter, Truths, Variant
from benchmarks.coverage.populations import (
    MODELS,
    SPREAD,
    correlated,
    latent,
    model_error_rates,
)

CLASS_METRICS = {
    "accuracy": accuracy_score,
    "f1_macro": partial(f1_score, average="macro"),
    "mcc": matthews_corrcoef,
}


@dataclass(frozen=True)
class Multiclass:
    """Classes with evenly spaced shares and uniformly distributed errors."""

    n: int
    classes: int
    rarest: float
    """Share of the rarest class."""
    error: float
    """Error rate of the middle model, in every class."""

    @property
    def name(self) -> str:
        balanced = self.rarest == 1 / self.classes
        kind = "balanced" if balanced else f"rarest {self.rarest:g}"
        return f"{self.classes} classes, {kind}, error rate {self.error:g}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        truth = rng.choice(self.classes, self.n, p=self._shares)
        other = (truth + rng.integers(1, self.classes, self.n)) % self.classes
        wrong = ndtr(latent(rng, self.n)) < self.error * SPREAD
        predictions = np.where(wrong.T, other, truth)
        return {
            "y_true": truth,
            "y_pred": dict(zip(MODELS, predictions, strict=True)),
            "metrics": list(CLASS_METRICS),
        }

    def truths(self) -> Truths:
        truth, predicted = np.indices((self.classes, self.classes)).reshape(2, -1)
        values = {}
        for model, error in zip(MODELS, self.error * SPREAD, strict=True):
            within = np.where(truth == predicted, 1 - error, error / (self.classes - 1))
            shares = self._shares[truth] * within
            for name, measure in CLASS_METRICS.items():
                values[model, name] = float(
                    measure(truth, predicted, sample_weight=shares)
                )
        return values

    @property
    def _shares(self) -> Array:
        return np.linspace(2 / self.classes - self.rarest, self.rarest, self.classes)


_GOOD, _NEAR_PERFECT = 0.12, 0.015


def _balanced_and_not(n: int, classes: int, rarest: float) -> list[Multiclass]:
    return [Multiclass(n, classes, share, _GOOD) for share in (1 / classes, rarest)]


MULTICLASS = Chapter(
    "Three, five and ten classes",
    """\
Three models x (accuracy, f1_macro, mcc), and all their differences on each. Classes are
*balanced*, or their shares decrease linearly to that of the *rarest*. In every class
the error rate of a model is .8, 1 or 1.25 times *error rate*; the latent normals behind
the errors have correlation .6 between models. A wrong prediction is any other class
with equal probability, the same for all models. The true values are exact. Every second
sample has a report on differences, as "score" takes up to half a second for one. With
ten classes two models have more possible outcomes than "score" enumerates, so that
"blurred" is the default for differences in f1_macro and mcc.
""",
    [
        *_balanced_and_not(500, 3, 0.04),
        *_balanced_and_not(2000, 3, 0.04),
        *_balanced_and_not(500, 5, 0.03),
        Multiclass(2000, 5, 0.03, _GOOD),
        Multiclass(500, 3, 1 / 3, _NEAR_PERFECT),
        Multiclass(500, 3, 0.04, _NEAR_PERFECT),
        *_balanced_and_not(500, 10, 0.02),
        *_balanced_and_not(2000, 10, 0.02),
    ],
    (Variant("default"), Variant("differences", compared="differences", every=2)),
)


TARGET_METRICS = {
    "f1_micro": partial(f1_score, average="micro"),
    "f1_macro": partial(f1_score, average="macro"),
    "hamming_loss": hamming_loss,
    "accuracy": accuracy_score,
}

_MODELS = MODELS[:2]
_CORRELATION = 0.3
"""Of the latent normals of two targets in a row."""
_POPULATION = 2_000_000
"""Rows that the true values are computed from."""


@dataclass(frozen=True)
class Multilabel:
    """Targets with correlated labels and errors."""

    n: int
    prevalences: tuple[float, ...]
    quality: str

    @property
    def name(self) -> str:
        shares = ", ".join(f"{share:g}" for share in self.prevalences)
        return f"targets of prevalence {shares}, {self.quality}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        size = (self.n, len(self.prevalences))
        shared, specific = rng.normal(size=(self.n, 1)), rng.normal(size=size)
        positive = ndtr(correlated(shared, specific, _CORRELATION)) < self.prevalences
        specific = latent(rng, positive.size).reshape(*size, -1)
        errors = correlated(latent(rng, self.n)[:, np.newaxis], specific, _CORRELATION)
        predictions = {}
        for k, model in enumerate(_MODELS):
            rates = [
                model_error_rates(self.quality, share)[:, k]
                for share in self.prevalences
            ]
            threshold = np.where(positive, *np.transpose(rates))
            wrong = ndtr(errors[..., k]) < threshold
            predictions[model] = (positive ^ wrong).astype(int)
        return {
            "y_true": positive.astype(int),
            "y_pred": predictions,
            "metrics": list(TARGET_METRICS),
        }

    def truths(self) -> Truths:
        population = replace(self, n=_POPULATION).draw(
            np.random.default_rng(_POPULATION)
        )
        return {
            (model, name): float(measure(population["y_true"], predicted))
            for model, predicted in population["y_pred"].items()
            for name, measure in TARGET_METRICS.items()
        }


MULTILABEL = Chapter(
    "Several targets",
    """\
Two models x (f1_micro, f1_macro, hamming_loss, accuracy) on rows with four targets, and
all their differences on each; the accuracy is the share of rows with all targets right.
Labels and errors are thresholded latent normals, with correlation .3 between two
targets of a row and .6 between two models on the same target. The error rates of the
models are .8 and 1 times those of :doc:`coverage`. The true values are computed by
scikit-learn on two million rows.
""",
    [
        Multilabel(500, (0.3, 0.3, 0.3, 0.3), "good"),
        Multilabel(500, (0.5, 0.3, 0.1, 0.04), "good"),
        Multilabel(2000, (0.5, 0.3, 0.1, 0.04), "good"),
        Multilabel(500, (0.5, 0.3, 0.1, 0.04), "near-perfect"),
    ],
    (
        Variant("default"),
        Variant("delta", "delta"),
        Variant("differences", compared="differences"),
    ),
)


def _accuracy(y: Array, scores: Array, sample_weight: Array) -> float:
    """Accuracy of predicting the label that is more likely than not."""
    return float(accuracy_score(y, scores > 0.5, sample_weight=sample_weight))


SCORE_MEASURES: dict[str, Callable[..., float]] = {
    "roc_auc": roc_auc_score,
    "average_precision": average_precision_score,
    "brier_score": brier_score_loss,
    "log_loss": log_loss,
    "accuracy": _accuracy,
}
_SCORE_METRICS = ["roc_auc", "average_precision", "brier_score"]
_OF_CLASSES = {
    "roc_auc": partial(roc_auc_score, multi_class="ovr"),
    "log_loss": log_loss,
}

_DISTANCES = (2.0, 1.5, 1.0)
"""Standardised mean differences between positives and negatives, by model."""
_QUANTILES = 1_000_000
"""Of the evidence given each label, that the true values are computed from."""


@dataclass(frozen=True)
class Scored:
    """Scores that are the probability of the positive label given normal evidence."""

    n: int
    prevalence: float
    tied: bool

    @property
    def name(self) -> str:
        ties = "ties" if self.tied else "no ties"
        return f"prevalence {self.prevalence:g}, {ties}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        drawn = scored(rng, self.n, self.prevalence, _DISTANCES, self.tied)
        return {**drawn, "metrics": _SCORE_METRICS}

    def truths(self) -> Truths:
        return {
            (model, name): true_value(name, self.prevalence, distance, self.tied)
            for model, distance in zip(MODELS, _DISTANCES, strict=True)
            for name in _SCORE_METRICS
        }


def scored(
    rng: np.random.Generator,
    n: int,
    prevalence: float,
    distances: Sequence[float],
    tied: bool = False,
) -> dict[str, Any]:
    """Draw labels, and scores by models of these distances between the labels."""
    positive = rng.random(n) < prevalence
    normals = latent(rng, n)[:, : len(distances)]
    evidence = normals + np.outer(positive, distances)
    scores = {
        model: probability(column, prevalence, distance, tied)
        for model, column, distance in zip(MODELS, evidence.T, distances, strict=False)
    }
    return {"y_true": positive, "y_score": scores}


def probability(
    evidence: Array, prevalence: float, distance: float, tied: bool
) -> Array:
    """Probability of the positive label; with ties, rounded to one digit."""
    exact = expit(logit(prevalence) + distance * (evidence - distance / 2))
    return exact.round(1) if tied else exact


@cache
def true_value(
    metric: str, prevalence: float, distance: float, tied: bool = False
) -> float:
    """Measure of the population, by scikit-learn at evenly spaced quantiles."""
    noise = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    positive = np.repeat([True, False], _QUANTILES)
    evidence = np.concatenate([noise + distance, noise])
    scores = probability(evidence, prevalence, distance, tied)
    weight = np.where(positive, prevalence, 1 - prevalence)
    return float(SCORE_MEASURES[metric](positive, scores, sample_weight=weight))


@dataclass(frozen=True)
class ScoredClasses:
    """Scores that are the probabilities of classes given normal evidence."""

    n: int
    shares: tuple[float, ...]

    @property
    def name(self) -> str:
        return "classes of shares " + ", ".join(f"{share:g}" for share in self.shares)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        classes = len(self.shares)
        truth = rng.choice(classes, self.n, p=self.shares)
        indicator = np.eye(classes)[truth]
        evidence = np.stack([latent(rng, self.n) for _ in range(classes)])
        columns = np.moveaxis(evidence, -1, 0)
        probabilities = [
            softmax(np.log(self.shares) + d * (column.T + d * indicator), axis=1)
            for d, column in zip(_DISTANCES, columns, strict=True)
        ]
        return {
            "y_true": truth,
            "y_score": dict(zip(MODELS, probabilities, strict=True)),
            "metrics": list(_OF_CLASSES),
        }

    def truths(self) -> Truths:
        population = replace(self, n=_POPULATION).draw(
            np.random.default_rng(_POPULATION)
        )
        return {
            (model, name): float(measure(population["y_true"], scores))
            for model, scores in population["y_score"].items()
            for name, measure in _OF_CLASSES.items()
        }


AREAS = Chapter(
    "Areas under curves",
    """\
Three scores x (roc_auc, average_precision, brier_score), and all their differences on
each. A score is the probability of the positive label given normal evidence, whose
means for the two labels are 2, 1.5 and 1 standard deviations apart, with correlation .6
between the scores; with *ties* it is rounded to one digit. The true values are computed
by scikit-learn on a million evenly spaced quantiles for each label, weighted by
prevalence.

With three *classes*: three scores x (roc_auc, log_loss), the area being the one-vs-rest
macro average. The evidence has a coordinate for each class, whose mean is 2, 1.5 or 1
for the rows of that class and 0 for others. The true values are computed by
scikit-learn on two million rows.
""",
    [
        *(
            Scored(n, prevalence, tied)
            for (n, tied), prevalence in product(
                ((500, False), (500, True), (2000, False)), (0.5, 0.1)
            )
        ),
        Scored(500, 0.04, False),
        ScoredClasses(500, (0.4, 0.35, 0.25)),
        ScoredClasses(500, (0.6, 0.36, 0.04)),
        ScoredClasses(2000, (0.6, 0.36, 0.04)),
    ],
    (Variant("default"), Variant("differences", compared="differences")),
)
