"""Functions of means over rows: losses, measures of regression, agreement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.measures.functional import Evaluation, Functional

__all__ = ["FunctionOfMeans", "divisor", "first", "ratio"]


# With a step this small the complex step is exact to rounding.
_STEP = 1e-100
_BLOCK = 256
"""Derivatives that are taken at once."""


class FunctionOfMeans(Functional):
    """A smooth function of the means of some features of the rows.

    Parameters
    ----------
    function : callable
        ``g(mean_1, ..., mean_k)``, safe for complex numbers.
    features : array of shape (m, k)
        Of rows, or of the cells of a table; sparse if there are many cells.
    """

    def __init__(self, function: Callable[..., Any], features: Any) -> None:
        self._function = function
        self._features = features

    def estimate(self, p: Array) -> Array:
        """Value at weights p of shape (..., m); NaN where it is undefined."""
        with np.errstate(all="ignore"):
            value = self._value(self._means(np.asarray(p, dtype=float)))
        return np.asarray(value, dtype=float)

    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient in the means."""
        means = self._means(p)
        steps = 1j * _STEP * np.eye(means.shape[-1])
        with np.errstate(all="ignore"):
            value = np.asarray(self._value(means))
            slopes = [
                self._value(means[..., np.newaxis, :] + steps[k : k + _BLOCK]).imag
                for k in range(0, len(steps), _BLOCK)
            ]
            gradient = np.concatenate(slopes, axis=-1) / _STEP
            influence = self._influence(means, gradient)
        return Evaluation(value, influence, gradient)

    def _influence(self, means: Array, gradient: Array) -> Array:
        if sparse.issparse(self._features):
            own: Array = self._features @ gradient - means @ gradient
            return own
        centred = self._features - means[..., np.newaxis, :]
        influence: Array = (centred @ gradient[..., np.newaxis])[..., 0]
        return influence

    def _means(self, p: Array) -> Array:
        means: Array = p @ self._features / p.sum(axis=-1, keepdims=True)
        return means

    def _value(self, means: Array) -> Any:
        return self._function(*np.moveaxis(means, -1, 0))


def first(mean: Any) -> Any:
    """Return the mean itself: a loss."""
    return mean


def ratio(numerator: Any, denominator: Any) -> Any:
    """Return the ratio of two means."""
    return numerator / denominator


def divisor(value: Any, least: float = 0.0) -> Any:
    """Return what is divided by; NaN where there is none but for rounding."""
    return np.where(np.real(value) > least, value, np.nan)
