"""Functionals: measures with estimates and influence values at weights on a table.

A functional T takes weights p on the m cells of a table, or on the rows, and returns

- its value T(p),
- the influence value of each cell, the derivative of T along
  ``(1 - t) p + t delta_i`` at ``t = 0``, which has mean zero under p,
- its gradient in the moments that the blurring correction perturbs.

Besides the functional, inference uses only the `MeasureProperties` of a measure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import truediv
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skci._arrays import EPS, Array, cached_property
from skci._threads import few_threads
from skci.measures.traits import EDGE

_NO_INFLUENCE = 1e-10  # relative size of influence values that count as zero


class Evaluation(NamedTuple):
    """Value, influence values and gradient of a functional at given weights.

    The weights p belong to the m cells of a table and have shape (..., m). The estimate
    has shape (...). The influence values have shape (..., m) and mean zero under p. The
    functional is a function of some means. The gradient with respect to these means has
    shape (..., number of means).
    """

    estimate: Array
    influence: Array
    gradient: Array

    @property
    def has_influence(self) -> Array:
        """Mask of influence values that are nonzero beyond rounding error."""
        gradient, influence = (
            np.abs(np.nan_to_num(values, posinf=0.0, neginf=0.0))
            for values in (self.gradient, self.influence)
        )
        return influence > _NO_INFLUENCE * gradient.max(initial=0.0)


class Boundary(NamedTuple):
    """Component of a functional with an estimate at a bound, such as 0 or 1."""

    slope: float
    """Derivative of the functional with respect to the component."""
    n: float
    """Number of rows from which the component is estimated."""


def boundary_of_share(
    estimate: float, n: int, low: float = 0.0, high: float = 1.0
) -> list[Boundary]:
    """Return a `Boundary` if an estimated share is at a bound of its range.

    The share is estimated from n rows. The result is a list, which is empty if the
    share is inside the range.
    """
    inside = EDGE < (estimate - low) / (high - low) < 1 - EDGE
    return [] if inside or not n else [Boundary(high - low, n)]


@dataclass(frozen=True, eq=False)
class InformativeRows:
    """Rows that limit the precision of a variance, such as rows of a rare class."""

    classes: tuple[Array, ...] = ()
    """Mask of the cells of each class, (m,), for areas under curves."""
    rarer_class: int = 0
    """Number of rows in the rarer class, for areas under curves."""
    events: tuple[Array, ...] = ()
    """Weight of each cell among events, (m,), for estimates from events."""

    @property
    def limiting(self) -> tuple[Array, ...]:
        """Rows that limit the degrees of freedom, as masks or as weights of cells.

        For an estimate from events, these rows are the events. For an area under a
        curve, these rows are the two classes. For other measures, the result is empty.
        """
        return self.events or (self.classes if len(self.classes) == 2 else ())

    def mapped(self, to_cells: Callable[[Array], Array]) -> "InformativeRows":
        """Convert masks and weights of cells to masks and weights for another table.

        `to_cells` converts an array of cell values to the cells of the other table.
        """
        classes, events = map(to_cells, self.classes), map(to_cells, self.events)
        return replace(self, classes=tuple(classes), events=tuple(events))


class Functional(ABC):
    """Measure as a function of weights, together with its influence values.

    The weights belong to the cells of a table of counts, such as a confusion matrix, or
    to single rows.
    """

    compared_by: ClassVar[str] = ""
    """Criterion by which two models agree in all rows: the "values" of rows, the
    "order" of pairs, "ranks", "targets" or "components"; empty if unknown."""

    @abstractmethod
    def __call__(self, p: Array) -> Evaluation:
        """Compute the value, influence values and gradient at weights p."""

    def estimate(self, p: Array) -> Array:
        """Compute the value at weights p, in real arithmetic.

        The value is NaN if the functional is undefined at p.
        """
        return self(np.asarray(p, dtype=float)).estimate

    def boundary(self, counts: Array) -> list[Boundary]:
        """Return the components with an estimate at a bound, such as 0 or 1.

        The estimated variance of such a component is zero. A component is, for example,
        an area under a curve, or the value of one class in an average over classes.
        """
        return []

    def support(self, counts: Array) -> InformativeRows:
        """Return the rows that limit the precision of the estimated variance."""
        return InformativeRows()

    @property
    def is_ratio(self) -> bool:
        """Whether the functional is a ratio of sums over rows."""
        return False


class EqualByParts:
    """Mixin that compares and hashes all fields of a dataclass, including arrays."""

    @cached_property
    def _parts(self) -> tuple[Hashable, ...]:
        parts: list[Any] = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            is_array = isinstance(value, np.ndarray)
            parts.append(value.tobytes() if is_array else value)
        return tuple(tuple(x) if isinstance(x, list) else x for x in parts)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


@dataclass(frozen=True, eq=False)
class Negative(Functional):
    """Negative of a functional."""

    functional: Functional

    def estimate(self, p: Array) -> Array:
        return -self.functional.estimate(p)

    def __call__(self, p: Array) -> Evaluation:
        return Evaluation(*(-part for part in self.functional(p)))

    def boundary(self, counts: Array) -> list[Boundary]:
        return [Boundary(-b.slope, b.n) for b in self.functional.boundary(counts)]

    def support(self, counts: Array) -> InformativeRows:
        return self.functional.support(counts)

    @property
    def is_ratio(self) -> bool:
        return self.functional.is_ratio


def without_negation(functional: Functional) -> Functional:
    """Remove the factor of -1, if any, from a functional."""
    return functional.functional if isinstance(functional, Negative) else functional


# Cells are (tp, fp, fn, tn). The moments of the paper are za = E[ZA] = tp,
# a = E[A] = tp + fp and z = E[Z] = tp + fn. A unit change of a moment changes the cells
# by a row of _DIRECTIONS. The columns of _VALUES are the moments of a row in each cell.
_DIRECTIONS = np.array([[1, -1, -1, 1], [0, 1, 0, -1], [0, 0, 1, -1]], dtype=float)
_VALUES = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=float)

# With such a small step, the complex-step derivative is exact within rounding error,
# and a derivative that does not exist (a square root at 0) is huge.
_STEP = 1e-100
_COMPLEX_DIRECTIONS = 1j * _STEP * _DIRECTIONS
_ROUNDING = 64 * EPS  # relative rounding error of means
_LINE = np.arange(4)[:, np.newaxis] / 8  # positions of four points on a line
_NO_CURVATURE = 1e-9  # rounding error of cross-ratios, relative error of slopes
_BLOCK = 256  # number of derivatives computed at once


@dataclass(frozen=True)
class CellFunctional(Functional):
    """Functional with a formula ``g(tp, fp, fn, tn)`` that accepts complex arrays."""

    function: Callable[..., Array]

    def estimate(self, p: Array) -> Array:
        p = np.asarray(p, dtype=float)
        with np.errstate(all="ignore"):
            value = self.function(p[..., 0], p[..., 1], p[..., 2], p[..., 3])
        return np.asarray(value, dtype=float)

    def __call__(self, p: Array) -> Evaluation:
        shifted = p[..., np.newaxis, :] + _COMPLEX_DIRECTIONS
        with np.errstate(all="ignore"):
            cells = shifted[..., 0], shifted[..., 1], shifted[..., 2], shifted[..., 3]
            value = np.asarray(self.function(*cells))
            gradient = value.imag / _STEP
            influence = gradient @ _VALUES
            influence -= (influence * p).sum(axis=-1, keepdims=True)
        return Evaluation(value.real[..., 0], influence, gradient)


def exp_ratio(loss: Any, size: Any) -> Any:
    """Return ``exp(loss / size)``, such as a perplexity from token losses."""
    return np.exp(loss / size)


def divisor(value: Any, zero: float = 0.0) -> Any:
    """Replace a divisor by NaN if its real part is at most `zero`."""
    return np.where(np.real(value) > zero, value, np.nan)


def skill(loss: Any, constant_loss: Any, zero: float = 0.0) -> Any:
    """Compute a skill score, which is 1 minus the loss divided by a reference loss.

    The reference loss, `constant_loss`, is the loss of the best constant prediction.
    """
    return 1 - loss / divisor(constant_loss, zero)


@dataclass(frozen=True, eq=False)
class FunctionOfMeans(Functional):
    """Smooth function ``g(mean_1, ..., mean_k)``, which accepts complex numbers.

    `features` has shape (m, k), with a row for each data row or each cell of a table.
    """

    compared_by: ClassVar[str] = "values"

    function: Callable[..., Any]
    features: Array

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
                self._slopes(means[..., np.newaxis, :], steps[k : k + _BLOCK])
                for k in range(0, len(steps), _BLOCK)
            ]
            gradient: Array = np.concatenate(slopes, axis=-1)
            centred = self.features - means[..., np.newaxis, :]
            influence = (centred @ gradient[..., np.newaxis])[..., 0]
        return Evaluation(value, influence, gradient)

    @cached_property
    def is_ratio(self) -> bool:
        """Whether the function is a nonlinear ratio of linear functions.

        The function is evaluated at four points on a line. For a ratio of linear
        functions, the four values have the same cross-ratio as the four points. The
        line connects the means at equal weights with the means at weights 1, 1/2, 1/3,
        ...
        """
        n = self.features.shape[0]
        start, end = map(self._means, (np.ones(n), 1 / np.arange(1.0, n + 1)))
        with np.errstate(all="ignore"):
            a, b, c, d = self._value(start + _LINE * (end - start))
            ratio = (a - c) * (b - d) / ((a - d) * (b - c))
            change_of_slope = (d - c - b + a) / (d - a)
        is_linear = abs(change_of_slope) < _NO_CURVATURE
        return bool(abs(ratio - 4 / 3) < _NO_CURVATURE and not is_linear)

    def _slopes(self, means: Array, steps: Array) -> Array:
        """Compute derivatives as the mean of the left and the right derivative.

        The left and the right derivative differ at a kink. Both are computed with
        finite steps that exceed the rounding error of the means.
        """
        steps = steps + _ROUNDING * np.abs(means) * steps.imag / _STEP
        ahead, behind = (self._value(means + sign * steps).imag for sign in (1, -1))
        return (ahead - behind) / (2 * _STEP)

    def _means(self, p: Array) -> Array:
        with few_threads(p.size * self.features.shape[-1]):
            return p @ self.features / p.sum(axis=-1, keepdims=True)

    def _value(self, means: Array) -> Any:
        return self.function(*np.moveaxis(means, -1, 0))


def ratio_of_means(above: Array, below: Array) -> FunctionOfMeans:
    """Return the ratio of the means of two columns, undefined if both are zero."""
    return FunctionOfMeans(truediv, np.stack([above, below], axis=1).astype(float))


@dataclass(frozen=True, eq=False)
class Mean(Functional):
    """Weighted mean of the values of m cells.

    The interval method "blurred" uses the constant `unit` as the gradient.
    """

    compared_by: ClassVar[str] = "values"

    values: Array
    unit: float = 1.0

    def estimate(self, p: Array) -> Array:
        p = np.asarray(p, dtype=float)
        with np.errstate(invalid="ignore"):
            return np.einsum("...i,i", p, self.values) / p.sum(axis=-1)

    def __call__(self, p: Array) -> Evaluation:
        mean = self.estimate(p)
        influence = self.values - mean[..., np.newaxis]
        return Evaluation(mean, influence, np.full((*mean.shape, 1), self.unit))


class Linearised(Functional):
    """Functional that is approximated by a linear function of the weights.

    The value and the influence values are exact at the observed weights.
    """

    weights: Any
    """Observed weights of the units, on any scale, of shape (m,)."""
    value: Any
    """Value of the functional at the observed weights of the units."""
    influence: Any
    """Influence value of each unit at the observed weights, of shape (m,)."""

    @cached_property
    def shares(self) -> Array:
        """Observed weights, scaled to add up to 1."""
        return self.weights / self.weights.sum()

    def estimate(self, p: Array) -> Array:
        p = np.asarray(p, dtype=float)
        moved = p / p.sum(axis=-1, keepdims=True) - self.shares
        if not (np.abs(moved) > EPS).any():
            return np.full(moved.shape[:-1], self.value)
        return np.asarray(self.value + moved @ self.influence)

    def __call__(self, p: Array) -> Evaluation:
        influence = self.influence - p @ self.influence / p.sum()
        max_derivative = np.abs(self.influence).max(initial=0.0, keepdims=True)
        return Evaluation(self.estimate(p), influence, max_derivative)


@dataclass(frozen=True, eq=False)
class FixedValueFunctional(Linearised):
    """Functional with a given value and given influence values."""

    value: float
    influence: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class MergedFunctional(EqualByParts, Functional):
    """Functional of a small table, applied to a larger table.

    Each cell of the small table is a sum of cells of the larger table. Cells on which
    the functional does not depend, such as rows of another sample, are left out of the
    sums.
    """

    functional: Functional
    """Functional of the smaller table."""
    cells: Array
    """Index in the smaller table of each cell of the larger table; `size` if absent."""
    size: int
    """Number of cells of the smaller table."""

    @cached_property
    def _indicators(self) -> Array:
        return (self.cells[:, np.newaxis] == np.arange(self.size)).astype(float)

    @cached_property
    def is_partial(self) -> bool:
        """Whether some cells of the larger table do not affect the functional."""
        return bool((self.cells == self.size).any())

    def table(self, p: Array) -> Array:
        """Convert weights p of the larger table to weights of the smaller table.

        If p has several axes, the smaller table must have few cells.
        """
        if p.ndim > 1:
            return p @ self._indicators
        return np.bincount(self.cells, p, minlength=self.size + 1)[: self.size]

    def estimate(self, p: Array) -> Array:
        table = self.table(p)
        if self.is_partial:
            with np.errstate(invalid="ignore"):
                table = table / table.sum(-1, keepdims=True)
        return self.functional.estimate(table)

    def __call__(self, p: Array) -> Evaluation:
        table = self.table(p)
        if not self.is_partial:
            estimate, influence, gradient = self.functional(table)
            return Evaluation(estimate, influence[..., self.cells], gradient)
        share = table.sum(-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate, influence, gradient = self.functional(table / share)
            influence, gradient = influence / share, gradient / share
        return Evaluation(estimate, self._expand(influence), gradient)

    def _expand(self, values: Array) -> Array:
        """Expand values for the smaller table to the cells of the larger table.

        Cells without a counterpart in the smaller table have the value zero.
        """
        outside = np.zeros((*values.shape[:-1], 1), dtype=values.dtype)
        return np.concatenate([values, outside], axis=-1)[..., self.cells]

    def boundary(self, counts: Array) -> list[Boundary]:
        return self.functional.boundary(self.table(counts))

    def support(self, counts: Array) -> InformativeRows:
        return self.functional.support(self.table(counts)).mapped(self._expand)

    @property
    def is_ratio(self) -> bool:
        return self.functional.is_ratio


@dataclass(frozen=True, eq=False)
class SubsetFunctional(MergedFunctional):
    """Functional that depends on a subset of the n units of a sample.

    Each unit of the subset is treated as a cell of a table. The cost of an evaluation
    is proportional to the size of the subset, not to n.
    """

    units: Array
    n: int
    is_partial = True

    def table(self, p: Array) -> Array:
        return np.bincount(self.cells, p[self.units], minlength=self.size)

    def _expand(self, values: Array) -> Array:
        expanded = np.zeros(self.n, dtype=values.dtype)
        expanded[self.units] = values[self.cells]
        return expanded


@dataclass(frozen=True, eq=False)
class Composite(Functional):
    """Function of the values of several functionals."""

    components: Sequence[Functional]

    @abstractmethod
    def slopes(self, p: Array) -> Any:
        """Compute derivatives at weights p with respect to the component values."""

    def boundary(self, counts: Array) -> list[Boundary]:
        pairs = zip(self.slopes(counts), self.components, strict=True)
        return [
            Boundary(float(slope) * inner, n)
            for slope, component in pairs
            for inner, n in component.boundary(counts)
        ]

    def support(self, counts: Array) -> InformativeRows:
        supports = [component.support(counts) for component in self.components]
        rarer = (support.rarer_class for support in supports if support.rarer_class)
        classes = tuple(cells for support in supports for cells in support.classes)
        events = tuple(weights for support in supports for weights in support.events)
        return InformativeRows(classes, min(rarer, default=0), events)

    @property
    def is_ratio(self) -> bool:
        return all(component.is_ratio for component in self.components)


@dataclass(frozen=True, eq=False)
class LinearCombination(EqualByParts, Composite):
    """Linear combination of functionals of one table."""

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
        """Compute influence values as the sum of one term for each component.

        The term of each component is multiplied by an entry of `factors`.
        """
        triples = zip(self.components, self.slopes(p), factors, strict=True)
        terms = [component(p).influence * s * f for component, s, f in triples]
        return np.sum(terms, axis=0)

    def slopes(self, p: Array) -> list[Array]:
        with np.errstate(all="ignore"):
            return self._slopes([f.estimate(p) for f in self.components])

    def _slopes(self, values: list[Array]) -> list[Array]:
        return [np.asarray(coefficient) for coefficient in self.coefficients]

    def _value(self, values: list[Array]) -> Array:
        with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
            return np.asarray(sum(c * v for c, v in self._terms(values)))

    def _terms(self, values: list[Array]) -> Iterator[tuple[float, Array]]:
        return zip(self.coefficients, values, strict=True)


class Ratio(LinearCombination):
    """Product of functionals raised to powers, such as a ratio of two functionals."""

    def _slopes(self, values: list[Array]) -> list[Array]:
        total = self._value(values)
        return [c * total / value for c, value in self._terms(values)]

    def _value(self, values: list[Array]) -> Array:
        with np.errstate(all="ignore"):
            value: Array = np.prod([v**c for c, v in self._terms(values)], axis=0)
        return value
