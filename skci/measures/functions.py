"""The formulas of the measures: plain functions of the four cells of a binary model.

The cells are those of the table of the model against the truth, as counts or as
proportions of the rows: numbers or arrays, real or complex. Derivatives are taken by
the complex step, so that a function may use only what extends to complex numbers
(arithmetic, powers, ``np.sqrt``, ``np.log``; not ``abs``, ``min`` or ``math.sqrt``).
Where a measure is 0/0 it returns NaN, and where it is x/0 infinity.
"""

# ruff: noqa: D103  (the formula of a measure is its documentation)

from typing import Any

import numpy as np

from skci._arrays import Array

EDGE = 1e-12
"""Estimates this near to the boundary of the range are on it."""


def accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (tp + tn) / (tp + fp + fn + tn)


def error_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (fp + fn) / (tp + fp + fn + tn)


def precision(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp)


def recall(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fn)


def specificity(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fp + tn)


def negative_predictive_value(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fn + tn)


def false_positive_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fp / (fp + tn)


def false_negative_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn / (tp + fn)


def selection_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (tp + fp) / (tp + fp + fn + tn)


def f_beta(tp: Array, fp: Array, fn: Array, tn: Array, *, beta: float) -> Array:
    hits = (1 + beta**2) * tp
    return hits / (hits + beta**2 * fn + fp)


def jaccard(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp + fn)


def tversky(
    tp: Array, fp: Array, fn: Array, tn: Array, *, alpha: float, beta: float
) -> Array:
    return tp / (tp + alpha * fp + beta * fn)


def matthews_corrcoef(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(spread)


def cosine(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / np.sqrt((tp + fp) * (tp + fn))


def lift(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (tp + fp + fn + tn) / ((tp + fp) * (tp + fn))


def overlap(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    # The kink at fp = fn takes the mean of the two sides, in value and in slope.
    excess = np.real(fp) - np.real(fn)
    excess = np.where(np.abs(excess) > EDGE * np.real(fp + fn), excess, 0)
    rarer = np.where(excess < 0, fp, np.where(excess > 0, fn, (fp + fn) / 2))
    return tp / (tp + rarer)


def balanced_accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (recall(tp, fp, fn, tn) + specificity(tp, fp, fn, tn)) / 2


def g_mean(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return np.sqrt(recall(tp, fp, fn, tn) * specificity(tp, fp, fn, tn))


def cohen_kappa(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    disagreement = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return 2 * (tp * tn - fp * fn) / disagreement


def informedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return recall(tp, fp, fn, tn) - false_positive_rate(tp, fp, fn, tn)


def markedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return precision(tp, fp, fn, tn) - fn / (fn + tn)


def positive_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (fp + tn) / ((tp + fn) * fp)


def negative_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn * (fp + tn) / ((tp + fn) * tn)


def diagnostic_odds_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * tn / (fp * fn)


def identity(mean: Any) -> Any:
    """Return a mean itself, as of a loss."""
    return mean


def exp_ratio(loss: Any, size: Any) -> Any:
    """Exponential of a ratio of sums, as a perplexity of the loss of tokens."""
    return np.exp(loss / size)


def divisor(value: Any, least: float = 0.0) -> Any:
    """Return a divisor; NaN where it is zero but for rounding."""
    return np.where(np.real(value) > least, value, np.nan)


def skill(loss: Any, constant_loss: Any, least: float = 0.0) -> Any:
    """Share of the loss of the best constant prediction that is saved."""
    return 1 - loss / divisor(constant_loss, least)
