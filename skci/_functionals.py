"""From a measure to a functional: estimate and influence at any weights on a table.

A functional T takes weights p on the m outcomes of its own table and returns

- its value T(p),
- the influence value of each outcome, the derivative of T along
  ``(1 - t) p + t delta_i`` at ``t = 0``, which has mean zero under p,
- its gradient in the moments that the blurring correction perturbs.

Everything after this module knows a parameter by these three only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellFunctional", "Evaluation", "Functional"]

Array = NDArray[Any]


class Evaluation(NamedTuple):
    """A functional at weights p of shape (..., m)."""

    estimate: Array
    """Value, shape (...)."""
    influence: Array
    """Influence values, shape (..., m); their mean under p is zero."""
    gradient: Array
    """Derivatives in the moments of the functional, shape (..., number of moments)."""


class Functional(Protocol):
    """What the machinery asks of a measure bound to its table."""

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the moments in which the gradient is taken."""
        ...

    def estimate(self, p: Array) -> Array:
        """Value at weights p, in real arithmetic; NaN where it is undefined."""
        ...

    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient at weights p."""
        ...


# Cells are (tp, fp, fn, tn); the moments of the paper are za = E[ZA] = tp,
# a = E[A] = tp + fp and z = E[Z] = tp + fn. A unit of a moment moves the cells by a
# row of _DIRECTIONS; the columns of _VALUES are the moments of a row in each cell.
_MOMENTS = ("za", "a", "z")
_DIRECTIONS = np.array([[1, -1, -1, 1], [0, 1, 0, -1], [0, 0, 1, -1]], dtype=float)
_VALUES = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=float)

# With a step this small the complex step is exact to rounding, and a derivative that
# does not exist (a square root at 0) shows as a huge one.
_STEP = 1e-100
_COMPLEX_DIRECTIONS = 1j * _STEP * _DIRECTIONS


@dataclass(frozen=True)
class CellFunctional:
    """A function of the four cells of one binary rule.

    Parameters
    ----------
    function : callable
        ``g(tp, fp, fn, tn)`` on complex arrays.
    """

    function: Callable[..., Array]

    moments = _MOMENTS

    def estimate(self, p: Array) -> Array:
        with np.errstate(all="ignore"):
            value = self.function(*_cells(np.asarray(p, dtype=float)))
        return np.asarray(value, dtype=float)

    def __call__(self, p: Array) -> Evaluation:
        shifted = p[..., np.newaxis, :] + _COMPLEX_DIRECTIONS
        with np.errstate(all="ignore"):
            value = np.asarray(self.function(*_cells(shifted)))
            gradient = value.imag / _STEP
            influence = gradient @ _VALUES
            influence -= (p * influence).sum(axis=-1, keepdims=True)
        return Evaluation(value.real[..., 0], influence, gradient)


def _cells(p: Array) -> tuple[Array, Array, Array, Array]:
    return p[..., 0], p[..., 1], p[..., 2], p[..., 3]
