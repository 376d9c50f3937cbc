"""Three rules that are wrong where a latent normal of theirs is low enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from _settings import LATENT_CORRELATION, error_rates
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

Array = NDArray[Any]

RULES = ("A", "B", "C")
METRICS = {"accuracy": accuracy_score, "f1": f1_score, "mcc": matthews_corrcoef}

SPREAD = np.array([0.8, 1, 1.25])
"""Error rates of the rules over those of the middling one."""


def mixed(shared: Array, own: Array, correlation: float) -> Array:
    """Mix independent normals to ones that are correlated by what they share."""
    both: Array = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return both


def latent(rng: np.random.Generator, n: int) -> Array:
    """Draw a normal for each row and rule; those of a row are correlated."""
    shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, len(RULES)))
    return mixed(shared, own, LATENT_CORRELATION)


def rates(quality: str, prevalence: float) -> Array:
    """Miss rates and false-positive rates, of shape (2, rules)."""
    return np.outer(error_rates(quality, prevalence), SPREAD)


def sample(positive: Array, latents: Array, wrong: Array) -> dict[str, Any]:
    """Let the rules answer; each is wrong at these rates if its normal is standard."""
    threshold = np.where(positive[:, np.newaxis], *wrong)
    answers = positive[:, np.newaxis] ^ (ndtr(latents) < threshold)
    return {
        "y_true": positive,
        "y_pred": dict(zip(RULES, answers.T, strict=True)),
        "metrics": list(METRICS),
    }


def truths(prevalence: float, wrong: Array) -> dict[tuple[str, ...], float]:
    """Measures in the population, by scikit-learn from its four kinds of rows."""
    y, p = [1, 1, 0, 0], [0, 1, 1, 0]
    found = {}
    for rule, (miss, alarm) in zip(RULES, wrong.T, strict=True):
        within = np.array([miss, 1 - miss, alarm, 1 - alarm])
        shares = np.repeat([prevalence, 1 - prevalence], 2) * within
        for name, measure in METRICS.items():
            found[rule, name] = float(measure(y, p, sample_weight=shares))
    return found
