"""The battery of labels: all metrics of two classes.

Metrics enter by being available; ``FORMULAS`` gives each its textbook formula, without
which a test fails.
"""

from functools import partial

import classes_battery
import numpy as np
from battery import Case, Family, Rows, on_tables, scikit_of
from classes_battery import averaged
from sklearn import metrics as sk

from skci import FBetaCI, TverskyCI, available_metrics
from skci.metrics.names import resolve_metric

NEEDS_MORE = {"rejection_rate"}
"""Metrics of labels that need more than two columns of labels."""

METRICS = {
    name: metric
    for name, metric in ((name, resolve_metric(name)) for name in available_metrics())
    if metric.reads == "labels" and name not in NEEDS_MORE
}
METRICS["f0.7"] = FBetaCI(0.7)
METRICS["tversky(.3, .9)"] = TverskyCI(0.3, 0.9)


def _correlation(tp, fp, fn, tn):
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(spread)


def _kappa(tp, fp, fn, tn):
    chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return 2 * (tp * tn - fp * fn) / chance


FORMULAS = classes_battery.FORMULAS | {
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "error_rate": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "hamming_loss": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "tversky": lambda tp, fp, fn, tn: tp / (tp + 0.5 * fp + 0.5 * fn),
    "tversky(.3, .9)": classes_battery.FORMULAS["tversky"],
    "matthews_corrcoef": _correlation,
    "balanced_accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "g_mean": lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn) * tn / (tn + fp)),
    "cohen_kappa": _kappa,
    "informedness": lambda tp, fp, fn, tn: tp / (tp + fn) - fp / (fp + tn),
    "markedness": lambda tp, fp, fn, tn: tp / (tp + fp) - fn / (fn + tn),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: tp * tn / (fp * fn),
}
"""Textbook formula of each metric in counts."""

SCIKIT = classes_battery.SCIKIT | {
    "error_rate": sk.zero_one_loss,
    "specificity": partial(sk.recall_score, pos_label=False),
    "negative_predictive_value": partial(sk.precision_score, pos_label=False),
    "selection_rate": lambda y, p, sample_weight=None: np.average(
        p, weights=sample_weight
    ),
    "informedness": partial(sk.balanced_accuracy_score, adjusted=True),
    "positive_likelihood_ratio": lambda *rows, **weights: sk.class_likelihood_ratios(
        *rows, **weights
    )[0],
    "negative_likelihood_ratio": lambda *rows, **weights: sk.class_likelihood_ratios(
        *rows, **weights
    )[1],
}
"""scikit-learn's function, or numpy's, where it does not have the metric's name."""

CASES = {
    name: Case(
        metric,
        partial(averaged, FORMULAS[name], None),
        SCIKIT.get(name, scikit_of(name)),
    )
    for name, metric in METRICS.items()
    if name in FORMULAS  # a test fails if it is not
}


def labels(n=400, prevalence=0.4, sensitivity=0.8, specificity=0.9, seed=0):
    """Draw a truth and a prediction."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    p = np.where(y, rng.random(n) < sensitivity, rng.random(n) > specificity)
    return y, p


def some_flags(n=150, seed=0):
    """Draw rows of two labels."""
    y, p = labels(n, seed=seed)
    return Rows(y, p, y[:, np.newaxis], p[:, np.newaxis])


DEGENERATE = {
    "perfect": [[30, 0], [0, 20]],
    "all wrong": [[0, 30], [20, 0]],
    "no predicted positives": [[30, 0], [20, 0]],
    "no predicted negatives": [[0, 30], [0, 20]],
    "one class, right": [[40, 0], [0, 0]],
    "one class, mixed": [[0, 0], [15, 25]],
    "no true positives found": [[30, 5], [20, 0]],
    "no false positives": [[30, 0], [5, 15]],
    "one row": [[0, 0], [0, 1]],
    "two rows": [[1, 0], [0, 1]],
}

FAMILY = Family(
    CASES,
    some_flags,
    [some_flags(20_000, seed=1)],
    exact=True,
    degenerate=on_tables(DEGENERATE),
)
