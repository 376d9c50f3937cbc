r"""Bounds on the difference of two models that agree in all rows of a sample.

The observed variance of the difference is then zero. Let :math:`\pi` be the probability
that the models differ on a row. If :math:`\pi > \pi_\alpha`, the models agree on all n
independent rows with a probability below alpha:

.. math:: (1 - \pi)^n \ge \alpha \iff \pi \le \pi_\alpha = 1 - \alpha^{1/n} .

A mean of values in a range of width R then differs by at most :math:`\pi_\alpha R`. For
an area under the ROC curve, n is replaced by the size m of the rarer class, which is
the number of disjoint (positive, negative) pairs. The difference of two areas is at
most the probability that the models order a pair differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, dataclass
from skci.inference.parameter import TableParameter
from skci.inference.rows import Influences, Rows
from skci.measures.functional import (
    Mean,
    MergedFunctional,
    SubsetFunctional,
    without_negation,
)

_GRID = (0.1, 0.2, 0.3, 0.4, 0.5)  # shares of positive units and of probabilities
VALUES, PAIRS, RANKS = (
    "agree in all {n} rows, and so in all but {share:.2g}% of the rows of the "
    "population",
    "order all pairs of a positive and a negative row identically, and so all but "
    "{share:.2g}% of such pairs of the population",
    "rank all {n} rows identically",
)
"""Templates of sentences on the agreement in the sample and in the population."""


class Units(NamedTuple):
    """Number of independent units, and ratio of the largest to the mean unit weight."""

    n: int
    unevenness: float
    """Largest total weight of a unit, relative to the mean over units."""

    def share(self, alpha: float) -> float:
        """Upper confidence bound on the share of rows on which two models differ.

        The bound applies to the population if the models agree on all rows of the
        sample. The error probability is alpha.
        """
        if self.n < 1:
            return 1.0
        logarithm = math.log(alpha) if alpha > 0 else -math.inf
        return min(-math.expm1(logarithm / self.n) * self.unevenness, 1.0)


class Pairs(NamedTuple):
    """Number of independent units with positive rows, and number with negative rows."""

    positive: Units
    negative: Units
    overlap: bool
    """Whether some unit has positive and negative rows."""
    shares: tuple[float, float]
    """Proportions of positive and of negative rows."""

    def share(self, alpha: float) -> float:
        """Upper confidence bound on the share of pairs that models order differently.

        A pair consists of a positive and a negative row. If some units have both
        positive and negative rows, half of the units are used for the positive rows,
        and half for the negative rows.
        """
        n = min(self.positive.n, self.negative.n) // (1 + self.overlap)
        uneven = self.positive.unevenness * self.negative.unevenness
        return Units(n, uneven).share(alpha)


class Ranks(Pairs):
    """Bound on the difference in average precision if two models rank rows equally."""

    def share(self, alpha: float) -> float:
        r"""Upper confidence bound on the difference of two average precisions.

        Let i be a positive row. Relative to i, two models order a share :math:`a_i` of
        the positive rows differently, and a share :math:`b_i` of the negative rows. Let
        :math:`e_i` be the larger of :math:`a_i` and :math:`b_i` times the odds of a
        negative row. The precisions of the models at i differ by at most :math:`e_i /
        r_i`, where :math:`r_i` is the rank of i among the positive rows, scaled to (0,
        1). If :math:`e_i \le \epsilon` for all positive rows except a share T, the
        average precisions differ by at most

        .. math:: T + \int_0^1 \min(1, \epsilon / r) dr
            = T + \epsilon (1 - \log \epsilon) .

        Compare m positive units with the other units. For a row with
        :math:`e_i > \epsilon`, all other units agree with a probability of at most mu.
        Hence, with probability :math:`1 - \mu / s`, the share of these rows for which
        all other units agree is at most s. All units agree with a probability of at
        most :math:`\mu / s + (1 - (1 - s) T)^m`, which alpha must not exceed. The
        result is the minimum of the bounds over m, s and mu.
        """
        (n, uneven), (n_negative, uneven_negative) = self.positive, self.negative
        bound = 1.0
        for fraction, missed, spent in product(_GRID, repeat=3):
            m, mu = math.floor(fraction * n), spent * missed * alpha
            n_others = n - m, n_negative - m * self.overlap
            if m < 1 or min(n_others) < 1:
                continue
            epsilon = Units(n_others[0], uneven).share(mu)
            odds = self.shares[1] / self.shares[0]
            epsilon = max(epsilon, odds * Units(n_others[1], uneven_negative).share(mu))
            if epsilon < 1:
                t = Units(m, uneven / (1 - missed)).share((1 - spent) * alpha)
                bound = min(bound, t + epsilon * (1 - math.log(epsilon)))
        return bound


@dataclass(frozen=True)
class Agreement:
    """Bounds on the difference of two models that agree in all rows of a sample.

    For an average over classes, the bound is the weighted mean of a bound for each
    class. `parts` contains the weights and the data from which bounds are computed.
    """

    template: str
    """Template of a sentence on the agreement: `VALUES`, `PAIRS` or `RANKS`."""
    n: int
    """Number of rows."""
    units: Units
    parts: tuple[tuple[float, Any], ...] = ()
    """Weight, and units or pairs, of each component; empty if no bound is known."""
    relative_range: float = 0.0
    """Range of the measure divided by its estimate, for a ratio; else 0."""

    def share(self, alpha: float) -> float:
        """Upper bound on the difference of two models, as a share of the range."""
        return min(sum(w * part.share(alpha) for w, part in self.parts), 1.0)

    def describe(self, alpha: float) -> str:
        """Describe the agreement in the sample and the bound for the population."""
        is_by_row = self.template == VALUES
        share = self.units.share(alpha) if is_by_row else self.share(alpha)
        return self.template.format(n=self.n, share=100 * share)

    def limits(
        self, estimate: float, bounds: tuple[float, float], alphas: Sequence[float]
    ) -> tuple[float, float]:
        """Return the confidence limits of a difference or ratio of the two models."""
        below, above = map(self.share, alphas)
        if self.relative_range:
            below, above = below * self.relative_range, above * self.relative_range
            return 1 - below, 1 / (1 - above) if above < 1 else math.inf
        low, high = bounds
        return estimate + below * (low - estimate), estimate + above * (high - estimate)


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
    if design.is_rowwise:
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
    """Return a factor that bounds the difference between two micro averages.

    The difference is at most the factor times the share of rows in which the models
    differ. The factor is 0 if no bound is known, for example if the micro averages are
    computed from different targets.
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
    """Component of a weighted mean, for example the metric of a single class."""

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

    def count_classes(self, flags: Array) -> Array:
        """Count, for each row, the classes with a flagged outcome.

        `flags` is a mask of the possible outcomes.
        """
        flags_of_units = np.append(flags, False)[self.cells]
        return flags_of_units.reshape(len(flags_of_units), -1).sum(axis=1)

    @property
    def placements(self) -> Array:
        """Count, for each row, the rows of the other class with a lower score."""
        area, size = self.functional, len(self.functional.positive)
        table = np.bincount(self.cells.ravel(), minlength=size)[:size]
        below = area.placements(table)
        return np.append(below, -1.0)[self.cells]


def _is_straight(function: Callable[..., Any], features: Array) -> bool:
    """Whether a function of the means of features is linear.

    A feature that is 1 in all rows, such as the size of an item, is treated as a
    constant.
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
        if isinstance(component, MergedFunctional):
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
    """Whether two models order the rows identically.

    The models are compared by an area under a curve. For the area under the ROC curve,
    the order of rows within a class is ignored.
    """
    a, b = first.functional, second.functional
    if a.compared_by == "order":
        return np.array_equal(first.placements, second.placements)
    return np.array_equal(first.cells, second.cells) and a.n_missed == b.n_missed


def _pairs_of(area: _Term, rows: Rows, design: Any) -> Pairs:
    """Count the independent units with positive rows and with negative rows.

    Units are rows or clusters.
    """
    flags, total = area.functional.positive, rows.weights[area.inside].sum()
    counts = [area.count_classes(flags), area.count_classes(~flags)]
    (positive, first), (negative, second) = (_units(k, rows, design) for k in counts)
    first_share, second_share = (float(k @ rows.weights / total) for k in counts)
    overlap = bool((first & second).any())
    return Pairs(positive, negative, overlap, (first_share, second_share))


def _units(values: Array, rows: Rows, design: Any) -> tuple[Units, Array]:
    """Count the independent units with a positive value, and return a mask of units.

    Independent units are rows or clusters. `values` contains a count for each row, such
    as the number of classes for which the row is positive.
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
