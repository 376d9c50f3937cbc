"""Whether two models that are compared agree in all rows of a sample."""

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

_SAME = 1e-7  # share of the range, or of a value, by which rounding may change it
_POINTS = 8  # at which a function is looked at for being straight


def agreement_of(
    components: tuple[TableParameter, ...],
    coefficients: tuple[float, ...],
    ratio: bool,
    rows: Rows,
    design: Any,
) -> Agreement | None:
    """Whether two compared models agree in all rows that they are compared on.

    None if they do not, or where rows are neither independent nor in groups.
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
        same = first.cell_map.content == second.cell_map.content
        same = same and np.array_equal(first.index, second.index)
        return Agreement(VALUES, n, units) if same else None
    terms, others = map(_terms, components)
    if len(terms) != len(others):
        return None
    kinds = {term.functional.compared_by for term in terms + others}
    if kinds == {"targets"}:
        swing = 0.0 if ratio else _swing_of_targets(first, second)
        return Agreement(VALUES, n, units, ((swing, units),)) if swing else None
    if kinds == {"values"}:
        tolerance = _SAME * np.ptp(bounds) if np.isfinite(bounds).all() else 0.0
        if not all(map(partial(_are_same, tolerance), terms, others)):
            return None
        is_bounded = tolerance > 0 and all(term.is_mean for term in terms)
        is_bounded = is_bounded and bool(relative or not ratio)
        of_rows = ((1.0, units),) if is_bounded else ()
        return Agreement(VALUES, n, units, of_rows, relative)
    if kinds not in ({"order"}, {"ranks"}) or not all(
        map(_order_is_same, terms, others)
    ):
        return None
    pairs = [_pairs_of(term, rows, design) for term in terms]
    words, of_classes = PAIRS, False
    if kinds == {"ranks"}:
        words, pairs = RANKS, [Ranks(*each) for each in pairs]
    elif len(terms) > 1:
        positive = np.sum([term.positive for term in terms], axis=0)
        of_classes = terms[0].is_between or bool(positive.max() <= 1)
    parts = zip((term.weight for term in terms), pairs, strict=True)
    return Agreement(words, n, units, (*parts,), relative, of_classes)


def _swing_of_targets(first: TableParameter, second: TableParameter) -> float:
    """Largest derivative of a micro average in the share of the rows that differ.

    All targets of a row may have another answer. Zero where targets of the two models
    differ, and for other averages and labels.
    """
    a: Any = without_negation(first.functional)
    b: Any = without_negation(second.functional)
    if a.average != "micro" or b.average != "micro":
        return 0.0
    pairs = zip(_bits_of(a), _bits_of(b), strict=True)
    if not all(np.array_equal(*pair) for pair in pairs):
        return 0.0
    tp, fp, fn = _bits_of(a)
    if all((tp + each).sum(axis=1).tolist() == [1.0] * len(tp) for each in (fp, fn)):
        return 0.0  # a single true label and a single answer
    of_tp, of_answer, _ = a(first.counts / first.total).gradient
    return float(np.abs((tp + fn) * of_tp + of_answer).sum(axis=1).max())


def _bits_of(functional: Any) -> list[Array]:
    bits = functional.bits
    return [
        each if isinstance(each, np.ndarray) else each.toarray()
        for each in (bits.tp, bits.fp, bits.fn)
    ]


class _Term(NamedTuple):
    """A functional that a parameter is a weighted mean of, and its cells.

    They are those of the units of the sample, of shape (U,) or (U, columns).
    """

    weight: float
    functional: Any
    cells: Array
    inside: Array
    """Whether the parameter depends on each unit, (U,)."""
    is_between: bool
    """Whether it is of pairs of rows of two classes."""

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of a value of each row."""
        functional = self.functional
        if isinstance(functional, Mean):
            return True
        return _is_straight(functional.function, self.values)

    @property
    def values(self) -> Array:
        """Numbers of each unit on which a mean, or a function of means, depends."""
        if isinstance(self.functional, Mean):
            values = self.functional.values
        else:
            values = self.functional.features
            values = values if isinstance(values, np.ndarray) else values.toarray()
        return values[self.cells[self.inside]]

    @property
    def positive(self) -> Array:
        """Number of positive rows of each row of a unit, (U,)."""
        return self._count(self.functional.positive)

    @property
    def negative(self) -> Array:
        """Number of negative rows of each row of a unit, (U,)."""
        return self._count(~self.functional.positive)

    def _count(self, flags: Array) -> Array:
        found = np.append(flags, False)[self.cells]
        return found.reshape(len(found), -1).sum(axis=1)

    @property
    def placements(self) -> Array:
        """Number of negative rows below each positive one, and the other way round."""
        area, size = self.functional, len(self.functional.positive)
        table = np.bincount(self.cells.ravel(), minlength=size)[:size]
        below = area.placements(table)
        return np.append(below, -1.0)[self.cells]


def _is_straight(function: Callable[..., Any], features: Array) -> bool:
    """Whether a function of the means of features is linear in those that vary.

    A feature that is 1 in all rows, such as the size of an item, counts as known.
    """
    varies = (features != 1).any(axis=0)
    varies |= not varies.any()
    means = features.mean(axis=0)
    steps = np.random.default_rng(0).uniform(0.1, 1.0, (2, _POINTS, len(means)))
    first, last = means + steps * varies * (1 + np.abs(means))
    with np.errstate(all="ignore"):
        start, middle, end = (
            np.broadcast_to(function(*points.T), _POINTS)
            for points in (first, (first + last) / 2, last)
        )
    return np.allclose(middle, (start + end) / 2, rtol=_SAME, atol=0.0)


def _terms(parameter: TableParameter) -> list[_Term]:
    """Functionals that a parameter is a weighted mean of; itself for others."""
    functional: Any = without_negation(parameter.functional)
    components: Any = [functional]
    weights = [1.0]
    if functional.compared_by == "components":
        components = functional.components
        weights = functional.slopes(parameter.counts).tolist()
    found = []
    for weight, each in zip(weights, components, strict=True):
        inner, index, between = (
            each,
            parameter.index,
            isinstance(each, SubsetFunctional),
        )
        if isinstance(each, Component):
            inner, cells = each.functional, each.cells
            if isinstance(each, SubsetFunctional):
                cells = np.full(each.n, each.size)
                cells[each.units] = each.cells
            outside = np.full((1, *cells.shape[1:]), each.size)
            index = np.concatenate([cells, outside])[index]
        found.append(_Term(weight, inner, index, parameter.units, between))
    return found


def _are_same(tolerance: float, first: _Term, second: _Term) -> bool:
    """Whether values are finite and the same but for rounding."""
    a, b = first.values, second.values
    if a.shape != b.shape or not np.isfinite(a).all():
        return False
    return bool((np.abs(a - b) <= _SAME * np.abs(a) + tolerance).all())


def _order_is_same(first: _Term, second: _Term) -> bool:
    """Whether two areas are of the same order of the same rows.

    Rows of one class may be ordered differently for an area under the ROC curve.
    """
    a, b = first.functional, second.functional
    if a.compared_by == "order":
        return np.array_equal(first.placements, second.placements)
    return np.array_equal(first.cells, second.cells) and a.n_missed == b.n_missed


def _pairs_of(area: _Term, rows: Rows, design: Any) -> Pairs:
    """Units of the positive and of the negative rows of an area."""
    counts = area.positive, area.negative
    (positive, first), (negative, second) = (
        _units(count, rows, design) for count in counts
    )
    overlap = bool((first & second).any())
    total = rows.weights[area.inside].sum()
    shares = (float(count @ rows.weights / total) for count in counts)
    return Pairs(positive, negative, overlap, (next(shares), next(shares)))


def _units(values: Array, rows: Rows, design: Any) -> tuple[Units, Array]:
    """Independent units with rows of some values, and which of all units these are.

    Values are numbers of rows that count, such as pairs of a row and a class.
    """
    if design.rows_are_units:
        present = values > 0
        weights = heaviest = rows.weights / np.maximum(rows.frequencies, 1)
        if rows.powers is not None:
            _, cubes, fourths = rows.powers
            heaviest = fourths / np.where(cubes > 0, cubes, 1)
        n = rows.n_rows(present)
        total = float((values * weights) @ rows.frequencies)
        most = float((values * heaviest).max(initial=0.0))
    else:
        index = np.arange(len(values))
        totals = next(
            design.within_strata.components(Influences([values], [index], rows))
        ).totals[:, 0]
        present = totals > 0
        n, total, most = int(present.sum()), totals.sum(), totals.max(initial=0.0)
    return Units(n, float(most * n / total) if total else 1.0), present
