"""From a measure to a functional: estimate and influence at any weights on a table.

A functional T takes weights p on the m outcomes of its own table and returns

- its value T(p),
- the influence value of each outcome, the derivative of T along
  ``(1 - t) p + t delta_i`` at ``t = 0``, which has mean zero under p,
- its gradient in the moments that the blurring correction perturbs.

Everything after this module knows a parameter by these three only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from skci._typing import Array
from skci.measures.registry import EDGE

__all__ = [
    "CellFunctional",
    "Combination",
    "Evaluation",
    "Functional",
    "Part",
    "Ratio",
    "classes",
    "ended",
    "rarest",
]


class Evaluation(NamedTuple):
    """A functional at weights p of shape (..., m)."""

    estimate: Array
    """Value, shape (...)."""
    influence: Array
    """Influence values, shape (..., m); their mean under p is zero."""
    gradient: Array
    """Derivatives in the moments of the functional, shape (..., number of moments)."""


class Ratio(NamedTuple):
    """A ratio of linear forms of the weights, by the m coefficients of each."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]


class Functional(Protocol):
    """What the machinery asks of a measure bound to its table."""

    @property
    def moments(self) -> tuple[Any, ...]:
        """Names of the moments in which the gradient is taken."""
        ...

    def estimate(self, p: Array) -> Array:
        """Value at weights p, in real arithmetic; NaN where it is undefined."""
        ...

    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient at weights p."""
        ...


def classes(functional: Any) -> list[Array]:
    """Which cells are of each class, for all areas under curves in a functional."""
    if hasattr(functional, "parts"):
        return [
            np.append(own, False)[part.cells]
            for part in functional.parts
            for own in classes(part.functional)
        ]
    positive = getattr(functional, "positive", None)
    return [] if positive is None else [positive, ~positive]


def rarest(functional: Any) -> int:
    """Rows of the rarer class of areas under curves; 0 for other functionals."""
    if hasattr(functional, "parts"):
        each = [rarest(part.functional) for part in functional.parts]
        return min(filter(None, each), default=0)
    return int(getattr(functional, "rarest", 0))


def ended(functional: Any, counts: Array) -> list[tuple[float, float]]:
    """Find what a functional is made of that is at an end of its range.

    That is areas under curves, and the values of classes in an average. The rows show
    no variance of them.

    Returns
    -------
    list of (float, float)
        The derivative in each and the rows that it is known from: of an area those of
        the rarer class.
    """
    if hasattr(functional, "parts"):
        slopes = functional.slopes(counts)
        return [
            (float(slope) * own, rows)
            for slope, part in zip(slopes, functional.parts, strict=True)
            for own, rows in ended(part.functional, part.counts(counts))
        ]
    if hasattr(functional, "ended"):
        found: list[tuple[float, float]] = functional.ended(counts)
        return found
    rows = rarest(functional)
    if rows and not EDGE < float(functional.estimate(counts)) < 1 - EDGE:
        return [(1.0, rows)]
    return []


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

    moments: ClassVar[tuple[str, ...]] = _MOMENTS

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

    @property
    def ratio(self) -> Ratio | None:
        """The function as a ratio of linear forms of proportions; None if it is none.

        The function itself tells: it is called with forms in place of numbers, which
        can do what leads to such a ratio and nothing else.
        """
        try:
            value: Any = self.function(*_FORMS)
            return value if isinstance(value, Ratio) else value / _SUM
        except Exception:
            return None


def _cells(p: Array) -> tuple[Array, Array, Array, Array]:
    return p[..., 0], p[..., 1], p[..., 2], p[..., 3]


class _Form:
    """A linear form of proportions, for a function to be called with.

    A number is one too, as proportions add up to 1.
    """

    __array_ufunc__ = None  # numpy leaves arithmetic with forms to them
    __eq__ = __bool__ = None  # type: ignore[assignment]  # a form has no value

    def __init__(self, *coefficients: float) -> None:
        self.coefficients = coefficients

    def __add__(self, other: _Form | float) -> _Form:
        pairs = zip(self.coefficients, _coefficients(other), strict=True)
        return _Form(*(one + another for one, another in pairs))

    __radd__ = __add__

    def __neg__(self) -> _Form:
        return self * -1

    def __sub__(self, other: _Form | float) -> _Form:
        return self + -other

    def __rsub__(self, other: float) -> _Form:
        return -self + other

    def __mul__(self, factor: float) -> _Form:
        return _Form(*(float(factor) * each for each in self.coefficients))

    __rmul__ = __mul__

    def __truediv__(self, other: _Form | float) -> _Form | Ratio:
        if isinstance(other, _Form):
            return Ratio(self.coefficients, other.coefficients)
        return self * (1 / other)

    def __rtruediv__(self, number: float) -> Ratio:
        return Ratio(_coefficients(number), self.coefficients)


_FORMS = tuple(_Form(*row) for row in np.eye(4).tolist())
_SUM = _Form(1, 1, 1, 1)


def _coefficients(term: _Form | float) -> tuple[float, ...]:
    """Coefficients of a form, or of a number as a form."""
    return term.coefficients if isinstance(term, _Form) else 4 * (float(term),)


@dataclass(frozen=True, eq=False)
class Part:
    """A functional that sees a larger table through its own cells.

    Parameters
    ----------
    functional : Functional
    cells : int array of shape (m,)
        Its own cell in each cell of the larger table; as many as it has where it sees
        nothing, as in the rows of another sample.
    size : int
        Number of its own cells.
    """

    functional: Functional
    cells: Array
    size: int

    @cached_property
    def _seen(self) -> Array:
        seen: Array = self.cells[:, np.newaxis] == np.arange(self.size)
        return seen.astype(float)

    @cached_property
    def _partial(self) -> bool:
        return bool((self.cells == self.size).any())

    def counts(self, p: Array) -> Array:
        """Weights of its own cells; many weights at once are of few cells only."""
        if p.ndim > 1:
            own: Array = p @ self._seen
            return own
        return np.bincount(self.cells, p, minlength=self.size + 1)[: self.size]

    def own(self, p: Array) -> Array:
        """Weights of its own cells, which add up to 1 if those of all cells do."""
        own = self.counts(p)
        if not self._partial:
            return own
        with np.errstate(invalid="ignore"):
            share: Array = own / own.sum(-1, keepdims=True)
        return share

    def estimate(self, p: Array) -> Array:
        return self.functional.estimate(self.own(p))

    def __call__(self, p: Array) -> Evaluation:
        own = self.counts(p)
        if not self._partial:
            estimate, influence, gradient = self.functional(own)
            return Evaluation(estimate, influence[..., self.cells], gradient)
        share = own.sum(-1, keepdims=True)
        estimate, influence, gradient = self.functional(own / share)
        outside = np.zeros((*influence.shape[:-1], 1))
        padded = np.concatenate([influence / share, outside], axis=-1)
        return Evaluation(estimate, padded[..., self.cells], gradient / share)


@dataclass(frozen=True, eq=False)
class Combination:
    """A linear combination of functionals on one table, or a ratio of two.

    Parameters
    ----------
    parts : tuple of Part
    coefficients : tuple of float
        Of the parts; or the powers of their product.
    moments : tuple
        Names of the moments of all parts, one part after the other.
    geometric : bool
        Whether it is a product of powers and no sum.
    """

    parts: tuple[Part, ...]
    coefficients: tuple[float, ...]
    moments: tuple[Any, ...]
    geometric: bool = False

    def estimate(self, p: Array) -> Array:
        p = np.asarray(p, dtype=float)
        return self._value([part.estimate(p) for part in self.parts])

    def __call__(self, p: Array) -> Evaluation:
        evaluations = [part(p) for part in self.parts]
        values = [each.estimate for each in evaluations]
        influence: Array = np.zeros(np.shape(p))
        gradients = []
        with np.errstate(all="ignore"):
            for each, slope in zip(evaluations, self._slopes(values), strict=True):
                influence = influence + slope[..., np.newaxis] * each.influence
                gradients.append(slope[..., np.newaxis] * each.gradient)
        gradient = np.concatenate(gradients, axis=-1)
        return Evaluation(self._value(values), influence, gradient)

    def influence(self, p: Array, factors: Sequence[float]) -> Array:
        """Influence values with those of each part multiplied by a factor."""
        triples = zip(self.parts, self.slopes(p), factors, strict=True)
        influences = [part(p).influence * slope * f for part, slope, f in triples]
        total: Array = np.sum(influences, axis=0)
        return total

    def slopes(self, p: Array) -> list[Array]:
        """Differentiate in the values of the parts."""
        with np.errstate(all="ignore"):
            return self._slopes([part.estimate(p) for part in self.parts])

    def _slopes(self, values: list[Array]) -> list[Array]:
        if not self.geometric:
            return [np.asarray(coefficient) for coefficient in self.coefficients]
        total = self._value(values)
        pairs = zip(self.coefficients, values, strict=True)
        return [coefficient * total / value for coefficient, value in pairs]

    def _value(self, values: list[Array]) -> Array:
        pairs = zip(values, self.coefficients, strict=True)
        if not self.geometric:
            return np.asarray(sum(c * value for value, c in pairs))
        with np.errstate(all="ignore"):
            total: Array = np.prod([value**c for value, c in pairs], axis=0)
        return total
