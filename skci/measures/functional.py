"""From a measure to a functional: estimate and influence at any weights on a table.

A functional T takes weights p on the m cells of a table, or on the rows, and returns

- its value T(p),
- the influence value of each cell, the derivative of T along
  ``(1 - t) p + t delta_i`` at ``t = 0``, which has mean zero under p,
- its gradient in the moments that the blurring correction perturbs.

Inference uses nothing else of a measure but its `Trait`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array

__all__ = [
    "Boundary",
    "CellFunctional",
    "Component",
    "Composite",
    "Evaluation",
    "FunctionOfMeans",
    "Functional",
    "LinearCombination",
    "LinearFractional",
    "Ratio",
    "Support",
]


class Evaluation(NamedTuple):
    """A functional at weights p of shape (..., m)."""

    estimate: Array
    """Value, shape (...)."""
    influence: Array
    """Influence values, shape (..., m); their mean under p is zero."""
    gradient: Array
    """Derivatives in the moments of the functional, shape (..., number of moments)."""


class LinearFractional(NamedTuple):
    """A ratio of two linear forms of the weights, by their m coefficients."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]


class Boundary(NamedTuple):
    """A component of a functional whose estimate is on the boundary of its range."""

    slope: float
    """Derivative of the functional in the component."""
    n: float
    """Number of rows that the component is estimated from."""


@dataclass(frozen=True, eq=False)
class Support:
    """Which rows the variance of a functional is estimated from, where few may be.

    Parameters
    ----------
    classes : tuple of bool arrays of shape (m,)
        Cells of each class, for areas under curves.
    rarer_class : int
        Number of rows in the rarer class of an area under a curve; 0 for others.
    events : float
        Hits or errors, whichever are fewer, of the class that has fewest, for averages
        over classes.
    """

    classes: tuple[Array, ...] = ()
    rarer_class: int = 0
    events: float = np.inf


class Functional(ABC):
    """A measure bound to its table: estimate and influence values at any weights."""

    linear_fractional: LinearFractional | None = None
    """Its coefficients, if it is a ratio of linear forms of the weights."""

    @abstractmethod
    def estimate(self, p: Array) -> Array:
        """Value at weights p, in real arithmetic; NaN where it is undefined."""

    @abstractmethod
    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient at weights p."""

    def boundary(self, counts: Array) -> list[Boundary]:
        """Components whose estimate lies on the boundary of their range.

        Their variance is estimated as zero. They are areas under curves and, in an
        average, the values of classes.
        """
        return []

    def support(self, counts: Array) -> Support:
        """Which rows its variance is estimated from."""
        return Support()


# Cells are (tp, fp, fn, tn); the moments of the paper are za = E[ZA] = tp,
# a = E[A] = tp + fp and z = E[Z] = tp + fn. A unit of a moment moves the cells by a
# row of _DIRECTIONS; the columns of _VALUES are the moments of a row in each cell.
_DIRECTIONS = np.array([[1, -1, -1, 1], [0, 1, 0, -1], [0, 0, 1, -1]], dtype=float)
_VALUES = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=float)

# With a step this small the complex step is exact to rounding, and a derivative that
# does not exist (a square root at 0) shows as a huge one.
_STEP = 1e-100
_COMPLEX_DIRECTIONS = 1j * _STEP * _DIRECTIONS
_BLOCK = 256
"""Number of derivatives computed at once."""


@dataclass(frozen=True)
class CellFunctional(Functional):
    """A function of the four cells of one binary rule.

    Parameters
    ----------
    function : callable
        ``g(tp, fp, fn, tn)`` on complex arrays.
    """

    function: Callable[..., Array]

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
    def linear_fractional(self) -> LinearFractional | None:  # type: ignore[override]
        """The function as a ratio of linear forms of proportions; None if it is none.

        It is called with linear forms, which support the operations that lead to such a
        ratio and no others.
        """
        try:
            value: Any = self.function(*_FORMS)
            return value if isinstance(value, LinearFractional) else value / _SUM
        except Exception:
            return None


def _cells(p: Array) -> tuple[Array, Array, Array, Array]:
    return p[..., 0], p[..., 1], p[..., 2], p[..., 3]


class _Form:
    """A linear form of proportions; as they add up to 1, a number is one too."""

    __array_ufunc__ = None  # numpy leaves arithmetic with forms to them
    __eq__ = __bool__ = None  # type: ignore[assignment]  # a form has no value

    def __init__(self, *coefficients: float) -> None:
        self.coefficients = coefficients

    def __add__(self, other: _Form | float) -> _Form:
        pairs = zip(self.coefficients, _coefficients(other), strict=True)
        return _Form(*map(sum, pairs))

    __radd__ = __add__

    def __neg__(self) -> _Form:
        return self * -1

    def __sub__(self, other: _Form | float) -> _Form:
        return self + -other

    def __rsub__(self, other: float) -> _Form:
        return -self + other

    def __mul__(self, factor: float) -> _Form:
        return _Form(*(float(factor) * c for c in self.coefficients))

    __rmul__ = __mul__

    def __truediv__(self, other: _Form | float) -> _Form | LinearFractional:
        if isinstance(other, _Form):
            return LinearFractional(self.coefficients, other.coefficients)
        return self * (1 / other)

    def __rtruediv__(self, number: float) -> LinearFractional:
        return LinearFractional(_coefficients(number), self.coefficients)


_FORMS = tuple(_Form(*row) for row in np.eye(4).tolist())
_SUM = _Form(1, 1, 1, 1)


def _coefficients(term: _Form | float) -> tuple[float, ...]:
    """Coefficients of a form, or of a number as a form."""
    return term.coefficients if isinstance(term, _Form) else 4 * (float(term),)


@dataclass(frozen=True, eq=False)
class FunctionOfMeans(Functional):
    """A smooth function of the means of some features of the rows.

    Parameters
    ----------
    function : callable
        ``g(mean_1, ..., mean_k)``, safe for complex numbers.
    features : array of shape (m, k)
        Of rows, or of the cells of a table; sparse if there are many cells.
    """

    function: Callable[..., Any]
    features: Any

    def estimate(self, p: Array) -> Array:
        with np.errstate(all="ignore"):
            value = self._value(self._means(np.asarray(p, dtype=float)))
        return np.asarray(value, dtype=float)

    def __call__(self, p: Array) -> Evaluation:
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
        influence: Array
        if sparse.issparse(self.features):
            influence = self.features @ gradient - means @ gradient
        else:
            centred = self.features - means[..., np.newaxis, :]
            influence = (centred @ gradient[..., np.newaxis])[..., 0]
        return influence

    def _means(self, p: Array) -> Array:
        means: Array = p @ self.features / p.sum(axis=-1, keepdims=True)
        return means

    def _value(self, means: Array) -> Any:
        return self.function(*np.moveaxis(means, -1, 0))


@dataclass(frozen=True, eq=False)
class Component(Functional):
    """A functional of a table whose cells are unions of cells of a larger table.

    Parameters
    ----------
    functional : Functional
    cells : int array of shape (m,)
        Cell of the smaller table for each cell of the larger one; `size` where the
        functional does not depend on it, as on the rows of another sample.
    size : int
        Number of cells of the smaller table.
    """

    functional: Functional
    cells: Array
    size: int

    @cached_property
    def _indicators(self) -> Array:
        indicators: Array = self.cells[:, np.newaxis] == np.arange(self.size)
        return indicators.astype(float)

    @cached_property
    def _partial(self) -> bool:
        return bool((self.cells == self.size).any())

    def table(self, p: Array) -> Array:
        """Weights in the smaller table; p of several dimensions needs few cells."""
        if p.ndim > 1:
            table: Array = p @ self._indicators
            return table
        return np.bincount(self.cells, p, minlength=self.size + 1)[: self.size]

    def estimate(self, p: Array) -> Array:
        table = self.table(p)
        if self._partial:
            with np.errstate(invalid="ignore"):
                table = table / table.sum(-1, keepdims=True)
        return self.functional.estimate(table)

    def __call__(self, p: Array) -> Evaluation:
        table = self.table(p)
        if not self._partial:
            estimate, influence, gradient = self.functional(table)
            return Evaluation(estimate, influence[..., self.cells], gradient)
        share = table.sum(-1, keepdims=True)
        estimate, influence, gradient = self.functional(table / share)
        outside = np.zeros((*influence.shape[:-1], 1))
        padded = np.concatenate([influence / share, outside], axis=-1)
        return Evaluation(estimate, padded[..., self.cells], gradient / share)

    def boundary(self, counts: Array) -> list[Boundary]:
        return self.functional.boundary(self.table(counts))

    def support(self, counts: Array) -> Support:
        support = self.functional.support(self.table(counts))
        classes = tuple(np.append(c, False)[self.cells] for c in support.classes)
        return replace(support, classes=classes)


@dataclass(frozen=True, eq=False)
class Composite(Functional):
    """A function of the values of several components."""

    components: Sequence[Component]

    @abstractmethod
    def slopes(self, p: Array) -> Any:
        """Differentiate in the value of each component at weights p."""

    def boundary(self, counts: Array) -> list[Boundary]:
        pairs = zip(self.slopes(counts), self.components, strict=True)
        return [
            Boundary(float(slope) * inner, n)
            for slope, component in pairs
            for inner, n in component.boundary(counts)
        ]

    def support(self, counts: Array) -> Support:
        supports = [component.support(counts) for component in self.components]
        rarer = (support.rarer_class for support in supports if support.rarer_class)
        classes = tuple(cells for support in supports for cells in support.classes)
        return Support(classes, min(rarer, default=0))


@dataclass(frozen=True, eq=False)
class LinearCombination(Composite):
    """A linear combination of functionals on one table."""

    coefficients: Sequence[float]

    def estimate(self, p: Array) -> Array:
        p = np.asarray(p, dtype=float)
        return self._value([component.estimate(p) for component in self.components])

    def __call__(self, p: Array) -> Evaluation:
        evaluations = [component(p) for component in self.components]
        values = [evaluation.estimate for evaluation in evaluations]
        influence: Array = np.zeros(np.shape(p))
        gradients = []
        with np.errstate(all="ignore"):
            slopes = (slope[..., np.newaxis] for slope in self._slopes(values))
            for slope, evaluation in zip(slopes, evaluations, strict=True):
                influence = influence + slope * evaluation.influence
                gradients.append(slope * evaluation.gradient)
        gradient = np.concatenate(gradients, axis=-1)
        return Evaluation(self._value(values), influence, gradient)

    def influence(self, p: Array, factors: Sequence[float]) -> Array:
        """Influence values, those of each component multiplied by a factor."""
        triples = zip(self.components, self.slopes(p), factors, strict=True)
        terms = [component(p).influence * s * f for component, s, f in triples]
        total: Array = np.sum(terms, axis=0)
        return total

    def slopes(self, p: Array) -> list[Array]:
        with np.errstate(all="ignore"):
            return self._slopes(
                [component.estimate(p) for component in self.components]
            )

    def _slopes(self, values: list[Array]) -> list[Array]:
        return [np.asarray(coefficient) for coefficient in self.coefficients]

    def _value(self, values: list[Array]) -> Array:
        return np.asarray(sum(c * v for c, v in self._terms(values)))

    def _terms(self, values: list[Array]) -> Iterator[tuple[float, Array]]:
        return zip(self.coefficients, values, strict=True)


class Ratio(LinearCombination):
    """A product of powers of functionals: a linear combination of their logarithms."""

    def _slopes(self, values: list[Array]) -> list[Array]:
        total = self._value(values)
        return [c * total / value for c, value in self._terms(values)]

    def _value(self, values: list[Array]) -> Array:
        with np.errstate(all="ignore"):
            value: Array = np.prod([v**c for c, v in self._terms(values)], axis=0)
        return value
