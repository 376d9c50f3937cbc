"""The chapter of scores: areas under curves, and a loss of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import RULES, latent
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri, softmax
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)

Array = NDArray[Any]

METRICS = {
    "roc_auc": roc_auc_score,
    "average_precision": average_precision_score,
    "brier_score": brier_score_loss,
}
_OF_CLASSES = {
    "roc_auc": partial(roc_auc_score, multi_class="ovr"),
    "log_loss": log_loss,
}

_DISTANCES = (2.0, 1.5, 1.0)
"""Of the means of positive and negative rows, in standard deviations, by rule."""
_POINTS = 1_000_000
"""Rows of either label in the population that the truth is read from."""
_ROWS = 2_000_000
"""Rows of such a population of several classes."""


@dataclass(frozen=True)
class Scored:
    """Scores that are the probability of the label, given a normal evidence."""

    n: int
    prevalence: float
    tied: bool

    @property
    def name(self) -> str:
        ties = "ties" if self.tied else "no ties"
        return f"prevalence {self.prevalence:g}, {ties}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        positive = rng.random(self.n) < self.prevalence
        evidence = latent(rng, self.n) + np.outer(positive, _DISTANCES)
        scores = [
            probability(own, self.prevalence, distance, self.tied)
            for own, distance in zip(evidence.T, _DISTANCES, strict=True)
        ]
        return {
            "y_true": positive,
            "y_score": dict(zip(RULES, scores, strict=True)),
            "metrics": list(METRICS),
        }

    def truths(self) -> Truths:
        return {
            (rule, name): value
            for rule, distance in zip(RULES, _DISTANCES, strict=True)
            for name, value in measures(self.prevalence, distance, self.tied).items()
        }


def probability(
    evidence: Array, prevalence: float, distance: float, tied: bool
) -> Array:
    """Find the probability of the positive label; with ties, to one digit."""
    exact: Array = expit(logit(prevalence) + distance * (evidence - distance / 2))
    return exact.round(1) if tied else exact


@cache
def measures(prevalence: float, distance: float, tied: bool) -> dict[str, float]:
    """Measures in the population, by scikit-learn at evenly spaced quantiles."""
    noise = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    positive = np.repeat([True, False], _POINTS)
    evidence = np.concatenate([noise + distance, noise])
    scores = probability(evidence, prevalence, distance, tied)
    weight = np.where(positive, prevalence, 1 - prevalence)
    return {
        name: float(measure(positive, scores, sample_weight=weight))
        for name, measure in METRICS.items()
    }


# --------------------------------------------------------------------------------------
# Several classes
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoredClasses:
    """Scores that are the probabilities of three classes, given normal evidence."""

    n: int
    shares: tuple[float, ...]

    @property
    def name(self) -> str:
        return "classes of shares " + ", ".join(f"{own:g}" for own in self.shares)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        classes = len(self.shares)
        truth = rng.choice(classes, self.n, p=self.shares)
        there = np.eye(classes)[truth]
        evidence = np.stack([latent(rng, self.n) for _ in range(classes)])
        chances = [
            softmax(np.log(self.shares) + distance * (own.T + distance * there), axis=1)
            for distance, own in zip(
                _DISTANCES, np.moveaxis(evidence, -1, 0), strict=True
            )
        ]
        return {
            "y_true": truth,
            "y_score": dict(zip(RULES, chances, strict=True)),
            "metrics": list(_OF_CLASSES),
        }

    def truths(self) -> Truths:
        population = replace(self, n=_ROWS).draw(np.random.default_rng(_ROWS))
        return {
            (rule, name): float(measure(population["y_true"], chances))
            for rule, chances in population["y_score"].items()
            for name, measure in _OF_CLASSES.items()
        }


AREAS = Chapter(
    "Areas under curves",
    """\
Three scores x (roc_auc, average_precision, brier_score), and all their differences on
each. A score is the probability of the label given evidence that is normal, with means
2, 1.5 and 1 standard deviations apart for the two labels and correlated by .6 between
the scores; with *ties* it is rounded to one digit. The truth is found by scikit-learn
in a population of a million evenly spaced quantiles of either label, which weigh as
much as the label is frequent.

Of three *classes* it is three scores x (roc_auc, log_loss), the area being the mean of
those of each class against the rest. The evidence has a coordinate for each class, with
a mean of 2, 1.5 or 1 in that of the class. The truth is found by scikit-learn in a
population of two million rows.
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
    (Way("default"), Way("differences", compared="differences")),
)
