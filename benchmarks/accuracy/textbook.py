"""Textbook formulas of all measures, independent of skci."""

from types import SimpleNamespace

import numpy as np


def rates(tables):
    """Rates of real or complex tables tp, fp, fn, tn of shape (..., 4)."""
    tp, fp, fn, tn = np.moveaxis(tables, -1, 0)
    n = tp + fp + fn + tn
    return SimpleNamespace(
        accuracy=(tp + tn) / n,
        precision=tp / (tp + fp),
        recall=tp / (tp + fn),
        specificity=tn / (tn + fp),
        npv=tn / (tn + fn),
        prevalence=(tp + fn) / n,
        predicted=(tp + fp) / n,  # positive
    )


def harmonic(weight):
    """Weighted harmonic mean of precision and recall, which has this weight."""
    return lambda r: (1 + weight) / (1 / r.precision + weight / r.recall)


def matthews(r):
    right = r.precision * r.recall * r.specificity * r.npv
    wrong = (1 - r.precision) * (1 - r.recall) * (1 - r.specificity) * (1 - r.npv)
    return np.sqrt(right) - np.sqrt(wrong)


def kappa(r):
    chance = r.prevalence * r.predicted + (1 - r.prevalence) * (1 - r.predicted)
    return (r.accuracy - chance) / (1 - chance)


TEXTBOOK = {
    "accuracy": lambda r: r.accuracy,
    "error_rate": lambda r: 1 - r.accuracy,
    "hamming_loss": lambda r: 1 - r.accuracy,
    "precision": lambda r: r.precision,
    "recall": lambda r: r.recall,
    "specificity": lambda r: r.specificity,
    "negative_predictive_value": lambda r: r.npv,
    "false_positive_rate": lambda r: 1 - r.specificity,
    "false_negative_rate": lambda r: 1 - r.recall,
    "selection_rate": lambda r: r.prevalence * r.recall / r.precision,
    "f0.5": harmonic(0.25),
    "f1": harmonic(1),
    "f2": harmonic(4),
    "jaccard": lambda r: 1 / (1 / r.precision + 1 / r.recall - 1),
    "tversky": lambda r: 1 / (0.5 / r.precision + 0.5 / r.recall),
    "matthews_corrcoef": matthews,
    "cosine": lambda r: np.sqrt(r.precision * r.recall),
    "lift": lambda r: r.precision / r.prevalence,
    "overlap": lambda r: np.maximum(r.precision, r.recall),
    "balanced_accuracy": lambda r: (r.recall + r.specificity) / 2,
    "g_mean": lambda r: np.sqrt(r.recall * r.specificity),
    "cohen_kappa": kappa,
    "informedness": lambda r: r.recall + r.specificity - 1,
    "markedness": lambda r: r.precision + r.npv - 1,
    "positive_likelihood_ratio": lambda r: r.recall / (1 - r.specificity),
    "negative_likelihood_ratio": lambda r: (1 - r.recall) / r.specificity,
    "diagnostic_odds_ratio": lambda r: (
        r.recall / (1 - r.recall) * r.specificity / (1 - r.specificity)
    ),
}


def value(name, tables):
    """Value of one measure."""
    return TEXTBOOK[name](rates(tables))


def values(tables):
    """Values of all measures, along a new last axis."""
    r = rates(tables)
    return np.stack([measure(r) for measure in TEXTBOOK.values()], axis=-1)
