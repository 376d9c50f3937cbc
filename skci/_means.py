"""Functions of means over rows: losses, and what regression is measured by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skci._functionals import Evaluation

__all__ = ["FunctionOfMeans", "first"]

Array = NDArray[Any]

# With a step this small the complex step is exact to rounding.
_STEP = 1e-100


class FunctionOfMeans:
    """A smooth function of the means of some features of the rows.

    Parameters
    ----------
    function : callable
        ``g(mean_1, ..., mean_k)``, safe for complex numbers.
    features : array of shape (n, k)
    name : hashable
        What its moments are named by.
    """

    def __init__(
        self, function: Callable[..., Any], features: Array, name: Any
    ) -> None:
        self._function = function
        self._features = features
        self.moments = tuple((name, k) for k in range(features.shape[1]))

    def estimate(self, p: Array) -> Array:
        """Value at weights p of shape (n,); NaN where it is undefined."""
        with np.errstate(all="ignore"):
            value = self._function(*(p @ self._features / p.sum()))
        return np.asarray(value, dtype=float)

    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient in the means."""
        means = p @ self._features / p.sum()
        shifted = means + 1j * _STEP * np.eye(len(means))
        with np.errstate(all="ignore"):
            value = self._function(*means)
            gradient = np.array([self._function(*row) for row in shifted]).imag / _STEP
            influence = (self._features - means) @ gradient
        return Evaluation(np.asarray(value), influence, gradient)


def first(mean: Any) -> Any:
    """Return the mean itself: a loss."""
    return mean
