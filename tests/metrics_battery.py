"""The list of all metrics that the batteries run over, and values to hold them to.

``REFERENCES`` gives each metric a value computed without skci: by scikit-learn, or from
the rows by the textbook. A metric without an entry makes a test fail.
"""

import numpy as np
from scipy.stats.contingency import odds_ratio
from sklearn import metrics as sk

from skci import FBetaCI, TverskyCI, available_metrics
from skci.metrics._names import resolve_metric

NEEDS_MORE = {"rejection_rate"}
"""Metrics of labels that need more than two columns of labels."""

METRICS = {
    name: metric
    for name, metric in ((name, resolve_metric(name)) for name in available_metrics())
    if metric.reads == "labels" and name not in NEEDS_MORE
}
METRICS["f0.7"] = FBetaCI(0.7)
METRICS["tversky(.3, .9)"] = TverskyCI(0.3, 0.9)


def _rate(y, p, truth, predicted):
    """Share of the rows of one truth with one prediction."""
    return np.mean(p[y == truth] == predicted)


def _tversky(alpha, beta):
    def value(y, p):
        both = np.sum(y & p)
        return both / (both + alpha * np.sum(p & ~y) + beta * np.sum(y & ~p))

    return value


REFERENCES = {
    "accuracy": sk.accuracy_score,
    "error_rate": sk.zero_one_loss,
    "hamming_loss": sk.hamming_loss,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "specificity": lambda y, p: sk.recall_score(y, p, pos_label=False),
    "negative_predictive_value": lambda y, p: sk.precision_score(y, p, pos_label=False),
    "false_positive_rate": lambda y, p: _rate(y, p, False, True),
    "false_negative_rate": lambda y, p: _rate(y, p, True, False),
    "f1": sk.f1_score,
    "f0.5": lambda y, p: sk.fbeta_score(y, p, beta=0.5),
    "f2": lambda y, p: sk.fbeta_score(y, p, beta=2),
    "f0.7": lambda y, p: sk.fbeta_score(y, p, beta=0.7),
    "jaccard": sk.jaccard_score,
    "tversky": _tversky(0.5, 0.5),
    "tversky(.3, .9)": _tversky(0.3, 0.9),
    "matthews_corrcoef": sk.matthews_corrcoef,
    "cosine": lambda y, p: np.sum(y & p) / np.sqrt(np.sum(y) * np.sum(p)),
    "lift": lambda y, p: np.mean(y & p) / (np.mean(y) * np.mean(p)),
    "overlap": lambda y, p: np.sum(y & p) / min(np.sum(y), np.sum(p)),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "g_mean": lambda y, p: np.sqrt(_rate(y, p, True, True) * _rate(y, p, False, False)),
    "cohen_kappa": sk.cohen_kappa_score,
    "informedness": lambda y, p: sk.balanced_accuracy_score(y, p, adjusted=True),
    "markedness": lambda y, p: np.mean(y[p]) - np.mean(y[~p]),
    "positive_likelihood_ratio": lambda y, p: sk.class_likelihood_ratios(y, p)[0],
    "negative_likelihood_ratio": lambda y, p: sk.class_likelihood_ratios(y, p)[1],
    "diagnostic_odds_ratio": lambda y, p: (
        odds_ratio(sk.confusion_matrix(y, p), kind="sample").statistic
    ),
}

# What each metric becomes when positive and negative are exchanged; itself if absent.
PARTNERS = {
    "precision": "negative_predictive_value",
    "recall": "specificity",
    "false_positive_rate": "false_negative_rate",
}
PARTNERS |= {partner: name for name, partner in PARTNERS.items()}


def labels(n=400, prevalence=0.4, sensitivity=0.8, specificity=0.9, seed=0):
    """Draw a truth and a prediction."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    p = np.where(y, rng.random(n) < sensitivity, rng.random(n) > specificity)
    return y, p
