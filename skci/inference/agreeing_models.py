"""Detection of compared models that agree in all rows of a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array
from skci.inference.agreement import (
    PAIRS,
    RANKS,
    VALUES,
    Agreement,
    Pairs,
    Ranks,
    Units,
)
from skci.inference.influences import Influences
from skci.inference.parameter import TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import (
    Component,
    Mean,
    SubsetFunctional,
    without_negation,
)

_SAME = 1e-7  # rounding error relative to the range or the value
_POINTS = 8  # number of points at which linearity is tested


def agreement_of(
    components: tuple[TableParameter, ...],
    coefficients: tuple[float, ...],
    ratio: bool,
    rows: Rows,
    design: Any,
) -> Agreement | None:
    """Return bounds on the difference of two models that agree in all compared rows.

    The result is None if the models differ in some row, or if the design has neither
    independent rows nor clusters.
    """
    if len(components) != 2 or coefficients[0] + coefficients[1] or rows.are_mixtures:
        return None
    if design.is_rowwise and not design.rows_are_units:
        return None
    first, second = components
    values = first.value, second.value
    if not math.isclose(*values, rel_tol=_SAME, abs_tol=_SAME) or math.isinf(values[0]):
        return None
    if not np.array_equal(first.units, second.units):
        return None
    units, _ = _units(first.units * 1.0, rows, design)
    n, bounds = rows.n_rows(first.units), first.trait.bounds
    relative = np.ptp(bounds) / abs(first.value) if ratio and first.value else 0.0
    if first.cell_map and second.cell_map:
        are_same = first.cell_map.content == second.cell_map.content
        are_same = are_same and np.array_equal(first.index, second.index)
        return Agreement(VALUES, n, units) if are_same else None
    terms, other_terms = map(_terms, components)
    if len(terms) != len(other_terms):
        return None
    kinds = {term.functional.compared_by for term in terms + other_terms}
    if kinds == {"targets"}:
        swing = 0.0 if ratio else _swing_of_targets(first, second)
        return Agreement(VALUES, n, units, ((swing, units),)) if swing else None
    if kinds == {"values"}:
        tolerance = _SAME * np.ptp(bounds) if np.isfinite(bounds).all() else 0.0
        if not all(map(partial(_are_same, tolerance), terms, other_terms)):
            return None
        is_bounded = tolerance > 0 and all(term.is_mean for term in terms)
        is_bounded = is_bounded and bool(relative or not ratio)
        row_parts = ((1.0, units),) if is_bounded else ()
        return Agreement(VALUES, n, units, row_parts, relative)
    if kinds not in ({"order"}, {"ranks"}) or not all(
        map(_order_is_same, terms, other_terms)
    ):
        return None
    template, kind = (RANKS, Ranks) if kinds == {"ranks"} else (PAIRS, Pairs)
    parts = [(term.weight, kind(*_pairs_of(term, rows, design))) for term in terms]
    return Agreement(template, n, units, tuple(parts), relative)


def _swing_of_targets(first: TableParameter, second: TableParameter) -> float:
    """Return a factor that bounds the difference of two micro averages.

    The difference is at most the factor times the share of rows on which the models
    differ. A differing row may have different predictions for all targets. The factor
    is zero if the models have different targets, or if the metric is not a micro
    average over several targets.
    """
    a: Any = without_negation(first.functional)
    b: Any = without_negation(second.functional)
    if a.average != "micro" or b.average != "micro":
        return 0.0
    pairs = zip(_bits_of(a), _bits_of(b), strict=True)
    if not all(np.array_equal(*pair) for pair in pairs):
        return 0.0
    tp, fp, fn = _bits_of(a)
    if all((tp + x).sum(axis=1).tolist() == [1.0] * len(tp) for x in (fp, fn)):
        return 0.0  # a single true label and a single prediction
    tp_slope, answer_slope, _ = a(first.counts / first.total).gradient
    return float(np.abs((tp + fn) * tp_slope + answer_slope).sum(axis=1).max())


def _bits_of(functional: Any) -> list[Array]:
    bits = functional.bits
    return [
        matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        for matrix in (bits.tp, bits.fp, bits.fn)
    ]


class _Term(NamedTuple):
    """Component of a metric that is a weighted mean, such as the metric of a class."""

    weight: float
    functional: Any
    cells: Array
    """Cell indices of units, with shape (U,) or (U, columns)."""
    inside: Array
    """Mask of the units on which the parameter depends, (U,)."""

    @property
    def is_mean(self) -> bool:
        """Whether the functional is a mean of one value per row."""
        functional = self.functional
        if isinstance(functional, Mean):
            return True
        return _is_straight(functional.function, self.values)

    @property
    def values(self) -> Array:
        """Values or features of the rows.

        The metric is a function of the means of these values.
        """
        if isinstance(self.functional, Mean):
            values = self.functional.values
        else:
            values = self.functional.features
            values = values if isinstance(values, np.ndarray) else values.toarray()
        return values[self.cells[self.inside]]

    @property
    def positive(self) -> Array:
        """Number of classes for which each unit is a positive row."""
        return self._count(self.functional.positive)

    @property
    def negative(self) -> Array:
        """Number of classes for which each unit is a negative row."""
        return self._count(~self.functional.positive)

    def _count(self, flags: Array) -> Array:
        flags_of_units = np.append(flags, False)[self.cells]
        return flags_of_units.reshape(len(flags_of_units), -1).sum(axis=1)

    @property
    def placements(self) -> Array:
        """Number of rows of the other class with a lower score than each row."""
        area, size = self.functional, len(self.functional.positive)
        table = np.bincount(self.cells.ravel(), minlength=size)[:size]
        below = area.placements(table)
        return np.append(below, -1.0)[self.cells]


def _is_straight(function: Callable[..., Any], features: Array) -> bool:
    """Whether a function of means is linear in all means that can change.

    If a feature is 1 in all rows, such as the size of an item, the mean is fixed.
    """
    varies = (features != 1).any(axis=0)
    varies |= not varies.any()
    means = features.mean(axis=0)
    steps = np.random.default_rng(0).uniform(0.1, 1.0, (2, _POINTS, len(means)))
    starts, ends = means + steps * varies * (1 + np.abs(means))
    with np.errstate(all="ignore"):
        start, middle, end = (
            np.broadcast_to(function(*points.T), _POINTS)
            for points in (starts, (starts + ends) / 2, ends)
        )
    return np.allclose(middle, (start + end) / 2, rtol=_SAME, atol=0.0)


def _terms(parameter: TableParameter) -> list[_Term]:
    """Split a metric into the components of a weighted mean.

    Any other metric has a single component, which is the metric itself.
    """
    functional: Any = without_negation(parameter.functional)
    components: Any = [functional]
    weights = [1.0]
    if functional.compared_by == "components":
        components = functional.components
        weights = functional.slopes(parameter.counts).tolist()
    terms = []
    for weight, component in zip(weights, components, strict=True):
        inner, index = component, parameter.index
        if isinstance(component, Component):
            inner, cells = component.functional, component.cells
            if isinstance(component, SubsetFunctional):
                cells = np.full(component.n, component.size)
                cells[component.units] = component.cells
            outside = np.full((1, *cells.shape[1:]), component.size)
            index = np.concatenate([cells, outside])[index]
        terms.append(_Term(weight, inner, index, parameter.units))
    return terms


def _are_same(tolerance: float, first: _Term, second: _Term) -> bool:
    """Whether two components have finite and nearly equal values in all rows."""
    a, b = first.values, second.values
    if a.shape != b.shape or not np.isfinite(a).all():
        return False
    return bool((np.abs(a - b) <= _SAME * np.abs(a) + tolerance).all())


def _order_is_same(first: _Term, second: _Term) -> bool:
    """Whether two models order the rows identically, for an area under a curve.

    For the area under the ROC curve, the order within each class does not matter.
    """
    a, b = first.functional, second.functional
    if a.compared_by == "order":
        return np.array_equal(first.placements, second.placements)
    return np.array_equal(first.cells, second.cells) and a.n_missed == b.n_missed


def _pairs_of(area: _Term, rows: Rows, design: Any) -> Pairs:
    """Count the independent units with positive rows and with negative rows.

    Units are rows or clusters.
    """
    counts = area.positive, area.negative
    (positive, first), (negative, second) = (
        _units(count, rows, design) for count in counts
    )
    overlap = bool((first & second).any())
    total = rows.weights[area.inside].sum()
    shares = (float(count @ rows.weights / total) for count in counts)
    return Pairs(positive, negative, overlap, (next(shares), next(shares)))


def _units(values: Array, rows: Rows, design: Any) -> tuple[Units, Array]:
    """Count the independent units with a positive value, and mask these units.

    Units are rows or clusters. Values are counts, such as the number of classes for
    which a row is positive.
    """
    if design.rows_are_units:
        present = values > 0
        weights = rows.weights / np.maximum(rows.frequencies, 1)
        n = rows.n_rows(present)
        total = float((values * weights) @ rows.frequencies)
        largest = float((values * rows.largest_weights).max(initial=0.0))
    else:
        index = np.arange(len(values))
        totals = next(
            design.within_strata.components(Influences([values], [index], rows))
        ).totals[:, 0]
        present = totals > 0
        n, total, largest = int(present.sum()), totals.sum(), totals.max(initial=0.0)
    return Units(n, float(largest * n / total) if total else 1.0), present
