"""Populations that several pages draw from: labels, scores, and their true values."""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri
from sklearn import metrics as sk

MIN_POSITIVES = 5
"""Expected positives below which measures are often undefined."""

ROWS = (30, 50, 100, 200, 500, 1000, 3000)
PREVALENCES = (0.5, 0.2, 0.05, 0.01)
QUALITIES = {
    "poor": (0.4, 0.3),
    "good": (0.15, 0.1),
    "near-perfect": (0.02, 0.01),
    "conservative": None,
}
"""False-negative and false-positive rates; see `error_rates`."""

MODELS = ("A", "B", "C")
METRICS = {
    "accuracy": sk.accuracy_score,
    "f1": sk.f1_score,
    "mcc": sk.matthews_corrcoef,
}
SPREAD = np.array([0.8, 1, 1.25])
"""Error rates of the models relative to the middle one."""
LATENT_CORRELATION = 0.6

_QUANTILES = 1_000_000
"""Quantiles of the evidence given each label, for the true values."""


def error_rates(quality, prevalence):
    """False-negative and false-positive rate of a model.

    A conservative model has a recall of .1 and a precision of .5.
    """
    return QUALITIES[quality] or (0.9, 0.1 * prevalence / (1 - prevalence))


class Binary(NamedTuple):
    """A binary model on n rows."""

    n: int
    prevalence: float
    false_negative_rate: float
    false_positive_rate: float
    quality: str = ""

    @property
    def cells(self):
        """Probabilities of tp, fp, fn and tn."""
        positive, negative = self.prevalence, 1 - self.prevalence
        fn = positive * self.false_negative_rate
        fp = negative * self.false_positive_rate
        return np.array([positive - fn, fp, fn, negative - fp])


def main_grid():
    """Every sample size, prevalence and quality with enough expected positives."""
    for n, prevalence, quality in product(ROWS, PREVALENCES, QUALITIES):
        if n * prevalence >= MIN_POSITIVES:
            yield Binary(n, prevalence, *error_rates(quality, prevalence), quality)


class Outcomes(NamedTuple):
    """All joint outcomes of the truth and of correlated models, and their shares.

    A model predicts positive if a latent normal exceeds a threshold; given the truth,
    the latent normals of the models are equicorrelated.
    """

    outcomes: np.ndarray
    shares: np.ndarray
    models: tuple[str, ...]

    def draw(self, rng, n):
        """Truth and predictions by model of n rows."""
        counts = rng.multinomial(n, self.shares)
        y, *predictions = np.repeat(self.outcomes, counts, axis=0).T
        return y, dict(zip(self.models, predictions, strict=True))

    def tables(self):
        """Shares of tp, fp, fn and tn of each model."""
        codes = 2 * self.outcomes[:, :1] + self.outcomes[:, 1:]
        found = [np.bincount(each, self.shares, minlength=4) for each in codes.T]
        return np.array(found)[:, [3, 1, 2, 0]]


def outcomes(quality, prevalence, models, spread):
    """Outcomes of models whose error rates are this ratio apart from the middle one."""
    fnr, fpr = error_rates(quality, prevalence)
    ratios = np.linspace(1 / spread, spread, models)
    grid = np.indices((2,) * (models + 1)).reshape(models + 1, -1).T.astype(bool)
    positive = _joint_probability(1 - fnr * ratios, grid[:, 1:])
    negative = _joint_probability(fpr * ratios, grid[:, 1:])
    shares = np.where(grid[:, 0], prevalence * positive, (1 - prevalence) * negative)
    names = tuple(f"model {k}" for k in range(models))
    return Outcomes(grid, shares / shares.sum(), names)


def _joint_probability(rates, predictions):
    """Probability of predictions by equicorrelated models with these positive rates."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shared = np.sqrt(LATENT_CORRELATION) * nodes[:, np.newaxis]
    positive = ndtr((ndtri(rates) - shared) / np.sqrt(1 - LATENT_CORRELATION))
    each = np.where(predictions[:, np.newaxis], positive, 1 - positive)
    return each.prod(-1) @ (weights / weights.sum())


def correlated(shared, specific, correlation):
    """Normals with a shared component, from independent normals."""
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * specific


def latent(rng, n):
    """Draw a normal for each row and model, correlated within a row."""
    shared, specific = rng.normal(size=(n, 1)), rng.normal(size=(n, len(MODELS)))
    return correlated(shared, specific, LATENT_CORRELATION)


def model_error_rates(quality, prevalence):
    """False-negative and false-positive rates, of shape (2, models)."""
    return np.outer(error_rates(quality, prevalence), SPREAD)


def predicted(positive, latents, rates):
    """Predictions with these error rates where the latent normals are standard."""
    threshold = np.where(positive[:, np.newaxis], *rates)
    predictions = positive[:, np.newaxis] ^ (ndtr(latents) < threshold)
    return {
        "y_true": positive,
        "y_pred": dict(zip(MODELS, predictions.T, strict=True)),
        "metrics": list(METRICS),
    }


def true_values(prevalence, rates):
    """Measures of the population, by scikit-learn on its four outcomes."""
    y, p = [1, 1, 0, 0], [0, 1, 1, 0]
    values = {}
    for model, (fnr, fpr) in zip(MODELS, rates.T, strict=True):
        within = np.array([fnr, 1 - fnr, fpr, 1 - fpr])
        shares = np.repeat([prevalence, 1 - prevalence], 2) * within
        for name, measure in METRICS.items():
            values[model, name] = float(measure(y, p, sample_weight=shares))
    return values


def distance_of(area):
    """Standardised mean difference of the labels with this area under the ROC curve."""
    return float(np.sqrt(2) * ndtri(area))


def probability(evidence, prevalence, distance, tied=False):
    """Probability of the positive label; with ties, rounded to one digit."""
    exact = expit(logit(prevalence) + distance * (evidence - distance / 2))
    return exact.round(1) if tied else exact


def scored(rng, n, prevalence, distances, tied=False):
    """Draw labels, and scores by models of these distances between the labels."""
    positive = rng.random(n) < prevalence
    normals = latent(rng, n)[:, : len(distances)]
    evidence = normals + np.outer(positive, distances)
    scores = {
        model: probability(column, prevalence, distance, tied)
        for model, column, distance in zip(MODELS, evidence.T, distances, strict=False)
    }
    return {"y_true": positive, "y_score": scores}


def _accuracy(y, scores, sample_weight):
    return float(sk.accuracy_score(y, scores > 0.5, sample_weight=sample_weight))


_OF_SCORES = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "brier_score": sk.brier_score_loss,
    "log_loss": sk.log_loss,
    "accuracy": _accuracy,
}


@cache
def true_value(metric, prevalence, distance, tied=False):
    """Measure of the population, by scikit-learn at evenly spaced quantiles."""
    noise = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    positive = np.repeat([True, False], _QUANTILES)
    evidence = np.concatenate([noise + distance, noise])
    scores = probability(evidence, prevalence, distance, tied)
    weight = np.where(positive, prevalence, 1 - prevalence)
    return float(_OF_SCORES[metric](positive, scores, sample_weight=weight))


def true_values_of_scores(metrics, prevalence, distances, tied=False):
    """True values by model and metric."""
    return {
        (model, name): true_value(name, prevalence, distance, tied)
        for model, distance in zip(MODELS, distances, strict=False)
        for name in metrics
    }
