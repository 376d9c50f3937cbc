"""Simulated populations: binary models on one table, and several models on each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from benchmarks.common import Array

MIN_POSITIVES = 5
"""Expected positives below which measures are often undefined."""

ROWS = (30, 50, 100, 200, 500, 1000, 3000)
PREVALENCES = (0.5, 0.2, 0.05, 0.01)
QUALITIES: dict[str, tuple[float, float] | None] = {
    "poor": (0.4, 0.3),
    "good": (0.15, 0.1),
    "near-perfect": (0.02, 0.01),
    "conservative": None,
}
"""False-negative and false-positive rates; see `error_rates`."""


def error_rates(quality: str, prevalence: float) -> tuple[float, float]:
    """False-negative and false-positive rate of a model.

    A conservative model has a recall of .1 and a precision of .5.
    """
    return QUALITIES[quality] or (0.9, 0.1 * prevalence / (1 - prevalence))


@dataclass(frozen=True)
class Setting:
    """A binary model on a sample of n rows."""

    n: int
    prevalence: float
    false_negative_rate: float
    false_positive_rate: float
    quality: str = ""

    @property
    def cells(self) -> Array:
        """Probabilities of tp, fp, fn and tn."""
        positive, negative = self.prevalence, 1 - self.prevalence
        fn = positive * self.false_negative_rate
        fp = negative * self.false_positive_rate
        return np.array([positive - fn, fp, fn, negative - fp])


def main_grid() -> Iterator[Setting]:
    """Every sample size, prevalence and quality with enough expected positives."""
    for n in ROWS:
        for prevalence in PREVALENCES:
            for quality in QUALITIES:
                rates = error_rates(quality, prevalence)
                if n * prevalence >= MIN_POSITIVES:
                    yield Setting(n, prevalence, *rates, quality)


def stress_set(number: int, seed: int) -> Iterator[Setting]:
    """Random settings, log-uniform, with enough expected positives."""
    rng = np.random.default_rng(seed)
    while number:
        low, high = [20, 0.005, 0.005, 0.001], [3000, 0.5, 0.8, 0.5]
        n, prevalence, *rates = np.exp(rng.uniform(np.log(low), np.log(high)))
        if int(n) * prevalence >= MIN_POSITIVES:
            number -= 1
            yield Setting(int(n), prevalence, *rates)


def distinct_tables(setting: Setting, draws: int, rng: Any) -> tuple[Array, Array]:
    """Draw tables: the distinct ones, and how often each was drawn."""
    drawn = rng.multinomial(setting.n, setting.cells, size=draws)
    tables, times = np.unique(drawn, axis=0, return_counts=True)
    return tables, times


LATENT_CORRELATION = 0.6


@dataclass(frozen=True)
class JointSetting:
    """Models on the same rows that differ in their error rates only.

    With a spread of 1 the error rates are equal as well. A model predicts positive if a
    latent normal exceeds a threshold; given the truth, the latent normals of the models
    are equicorrelated.
    """

    n: int
    prevalence: float
    quality: str
    models: int
    metrics: tuple[str, ...]
    spread: float = 1.25
    """Ratio of the error rates of the worst and the middle model."""

    def outcomes(self) -> tuple[Array, Array]:
        """All joint outcomes (truth, predictions) and their probabilities."""
        fnr, fpr = error_rates(self.quality, self.prevalence)
        spread = np.linspace(1 / self.spread, self.spread, self.models)
        grid = np.indices((2,) * (self.models + 1)).reshape(self.models + 1, -1).T
        outcomes = grid.astype(bool)
        positive = _joint_probability(1 - fnr * spread, outcomes[:, 1:])
        negative = _joint_probability(fpr * spread, outcomes[:, 1:])
        truth = outcomes[:, 0]
        p = np.where(
            truth, self.prevalence * positive, (1 - self.prevalence) * negative
        )
        return outcomes, p / p.sum()


def _joint_probability(rates: Array, predictions: Array) -> Array:
    """Probability of predictions by equicorrelated models with these positive rates."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shared = np.sqrt(LATENT_CORRELATION) * nodes[:, np.newaxis]
    yes = ndtr((ndtri(rates) - shared) / np.sqrt(1 - LATENT_CORRELATION))
    each = np.where(predictions[:, np.newaxis], yes, 1 - yes)
    return each.prod(-1) @ (weights / weights.sum())


_FAMILIES = (
    (3, ("f0.5", "accuracy")),
    (4, ("f0.5", "accuracy", "lift")),
    (4, ("f1", "matthews_corrcoef", "balanced_accuracy")),
)


def decision_settings() -> Iterator[JointSetting]:
    """Families of three different or equal models."""
    for metrics in (_FAMILIES[0][1], _FAMILIES[2][1]):
        for n in (200, 1000):
            for prevalence in (0.5, 0.2, 0.05):
                for quality in ("poor", "good", "near-perfect"):
                    for spread in (1.25, 1.0):
                        yield JointSetting(n, prevalence, quality, 3, metrics, spread)


def joint_settings() -> Iterator[JointSetting]:
    """Families of models and metrics, with enough expected positives."""
    for models, metrics in _FAMILIES:
        for n in (100, 500, 2000):
            for prevalence in (0.5, 0.2, 0.05):
                for quality in ("poor", "good", "near-perfect"):
                    if n * prevalence >= 2 * MIN_POSITIVES:
                        yield JointSetting(n, prevalence, quality, models, metrics)


MODELS = ("A", "B", "C")
METRICS = {"accuracy": accuracy_score, "f1": f1_score, "mcc": matthews_corrcoef}

SPREAD = np.array([0.8, 1, 1.25])
"""Error rates of the models relative to the middle one."""


def correlated(shared: Array, specific: Array, correlation: float) -> Array:
    """Normals with a shared component, from independent normals."""
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * specific


def latent(rng: np.random.Generator, n: int) -> Array:
    """Draw a normal for each row and model, correlated within a row."""
    shared, specific = rng.normal(size=(n, 1)), rng.normal(size=(n, len(MODELS)))
    return correlated(shared, specific, LATENT_CORRELATION)


def model_error_rates(quality: str, prevalence: float) -> Array:
    """False-negative and false-positive rates, of shape (2, models)."""
    return np.outer(error_rates(quality, prevalence), SPREAD)


def predicted(positive: Array, latents: Array, rates: Array) -> dict[str, Any]:
    """Predictions with these error rates where the latent normals are standard."""
    threshold = np.where(positive[:, np.newaxis], *rates)
    predictions = positive[:, np.newaxis] ^ (ndtr(latents) < threshold)
    return {
        "y_true": positive,
        "y_pred": dict(zip(MODELS, predictions.T, strict=True)),
        "metrics": list(METRICS),
    }


def true_values(prevalence: float, rates: Array) -> dict[tuple[str, ...], float]:
    """Measures of the population, by scikit-learn on its four outcomes."""
    y, p = [1, 1, 0, 0], [0, 1, 1, 0]
    values = {}
    for model, (fnr, fpr) in zip(MODELS, rates.T, strict=True):
        within = np.array([fnr, 1 - fnr, fpr, 1 - fpr])
        shares = np.repeat([prevalence, 1 - prevalence], 2) * within
        for name, measure in METRICS.items():
            values[model, name] = float(measure(y, p, sample_weight=shares))
    return values
