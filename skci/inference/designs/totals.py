"""Covariance, degrees of freedom, skewness and tails from totals of independent units.

All designs return components with totals. Only this module computes variances from the
totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, dot
from skci.inference.designs.design import Component
from skci.inference.rows import Centres, Influences

_Repeats = Sequence[Array] | Array
"""Numbers of units per total, and sums of powers of the weights of these units."""

_MIN_TOTALS = 40  # number of totals from which the weight of a tail is estimated
_MIN_RATIOS = 19  # number of largest totals from which a shape is estimated
_ROUNDING = 1e-12  # totals that count as zero, relative to the largest total
_SAME_TOTAL = 1e-9  # rounding error of the total weight of units
_NO_PAIR = 1e-9  # relative size of products of pairs that count as zero
_MAX_BLOCK = 1 << 16  # largest index of a block, before blocks are renumbered


def covariance(components: Iterable[Component]) -> Array:
    r"""Add up the components of a covariance matrix.

    .. math:: \sum_c \pm \frac{G_c}{G_c - d} \sum_{g=1}^{G_c} S_{cg} S_{cg}^T

    Totals are centred within blocks. If components are subtracted, negative eigenvalues
    are set to zero (Cameron, Gelbach and Miller, 2011).
    """
    total: Any = 0.0
    is_subtracted = False
    for component in components:
        total = total + component.sign * _products(component)
        is_subtracted |= component.sign < 0
    total = (total + total.T) / 2  # products of matrices are not exactly symmetric
    if is_subtracted:
        values, vectors = np.linalg.eigh(total)
        if values.min() < 0:
            total = (vectors * np.maximum(values, 0)) @ vectors.T
    return total


def _products(component: Component) -> Array:
    """Compute the covariance matrix of one component from the totals of units.

    The result is not negated for a component that is subtracted from the covariance.
    """
    totals = component.totals
    factor, repeats = _multiples(component, _repeats(component))
    centres = None if component.blocks is None else _centres(component)
    if isinstance(totals, Influences):
        return factor * totals.products(repeats, centres)
    totals = np.asarray(totals)
    if centres is not None:
        totals = totals - centres.of_units()
    return factor * (totals.T * repeats) @ totals


def _multiples(component: Component, repeats: _Repeats) -> tuple[float, Array]:
    """Return the factor and the weights in the variance of one component.

    The variance is the factor times the weighted sum of the squared totals of units.
    For G units, the factor is the small-sample correction G / (G - d). If the units are
    in blocks, such as strata, the factor is 1, and the weights include a correction for
    each block.
    """
    numbers, squares = repeats[:2]
    if component.blocks is None:
        n, ddof = float(numbers.sum()), 0 if component.is_known else component.ddof
        return n / max(n - ddof, 1), squares
    sizes = np.bincount(component.blocks, numbers)
    factors = sizes / np.maximum(sizes - component.ddof, 1)
    return 1.0, squares * factors[component.blocks]


def _repeats(component: Component) -> _Repeats:
    """Return the number of units behind each total, and sums of powers of weights.

    The result has shape (4, G) for G totals. The first row contains the number of units
    that each total represents, by default 1. The other rows contain the sums of the
    second, third and fourth powers of the relative weights of these units.
    """
    if component.repeats is None:
        return np.broadcast_to(1.0, (4, len(component.totals)))
    return component.repeats


def _column(component: Component, k: int) -> Array:
    """Return the totals of the parameter with index k."""
    totals = component.totals
    return totals.column(k) if isinstance(totals, Influences) else totals[:, k]


def _centres(component: Component) -> Centres:
    """Compute the mean total in each block, such as a stratum."""
    blocks, sizes, n = component.blocks, component.sizes, _repeats(component)[0]
    assert blocks is not None
    if sizes is None:
        sizes = np.ones(len(blocks))
    total_sizes = np.bincount(blocks, n * sizes)
    columns = range(component.totals.shape[1])
    sums = [np.bincount(blocks, n * _column(component, k)) for k in columns]
    means = (
        np.transpose(sums) / np.where(total_sizes > 0, total_sizes, 1)[:, np.newaxis]
    )
    return Centres(means, blocks, sizes)


def _centred(component: Component) -> Array:
    """Return the totals of the first parameter minus the block means."""
    values = _column(component, 0)
    if component.blocks is not None:
        values = values - _centres(component).of_units()[:, 0]
    return values


class Moments(NamedTuple):
    """Sums of squares, cubes and fourth powers of unit totals, by block.

    A unit total is the sum of the influence values of the rows of a unit, such as a
    cluster. A block is a set of units, such as a stratum. `sizes` contains the number
    of units in each block. If a component is subtracted, its sums of squares and cubes
    are negative. All totals are divided by a common number to avoid overflow.
    """

    sizes: Sequence[float]
    squares: Sequence[float]
    cubes: Sequence[float]
    fourths: Sequence[float]
    variance: float = math.nan
    """Variance of the estimate."""

    @property
    def skewness(self) -> float:
        r"""Skewness of an estimate: :math:`\sum_g S_g^3 / (\sum_g S_g^2)^{3/2}`."""
        return sum(self.cubes) / sum(self.squares) ** 1.5

    @property
    def degrees_of_freedom(self) -> float:
        r"""Satterthwaite degrees of freedom of the variance.

        For a block of G units the degrees of freedom are

        .. math:: \nu = \min \Bigl( G - 1, 2 \Bigl/ \Bigl( \frac{\sum_g S_g^4}
            {(\sum_g S_g^2)^2} - \frac{1}{G} \Bigr) \Bigr) ,

        about :math:`G - 1` for totals with the same normal distribution, and 2 for a
        single dominating total. For several blocks with variances :math:`V_h`, the
        degrees of freedom are :math:`(\sum_h V_h)^2 / \sum_h V_h^2 / \nu_h`.

        References
        ----------
        Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
        """
        total = sum(self.squares)
        if not total > 0:
            return 0.0
        terms = 0.0
        for n, square, fourth in zip(
            self.sizes, self.squares, self.fourths, strict=True
        ):
            if square and n:
                power = square * square
                minimum = power / (n - 1) if n != 1 else math.inf
                terms += max((fourth - power / n) / 2, minimum)
        return total**2 / terms if terms else math.inf


def moments(components: Iterable[Component], classes: Sequence[Array] = ()) -> Moments:
    """Compute sums of powers from the totals of influence values.

    The first column of the totals contains influence values. An optional second column
    indicates the rows in use, so that units without such rows are not counted. For an
    area under a curve, `classes` contains a mask of the rows of each class. If rows are
    independent, sums are computed by stratum and class.
    """
    variance = scale = 0.0
    sums: Any = [], [], [], []
    for component in components:
        values, repeats = _centred(component), _repeats(component)
        factor, multiples = _multiples(component, repeats)
        blocks, sign = component.blocks, component.sign
        square = dot(multiples, values, values)
        variance += sign * factor * square
        if component.is_known:
            continue
        scale = scale or math.sqrt(square)  # similar for all components
        values = values / (scale or 1.0)
        powers: Any
        if component.degrees_of_freedom is not None:
            n, square = component.degrees_of_freedom + 1, dot(values, values)
            powers = [n], [square], [component.skewness * square**1.5], [square**2 / n]
        else:
            numbers = repeats[0]
            if component.totals.shape[1] > 1:
                size = np.abs(values)
                counted = _column(component, 1) > 0
                numbers = numbers * (counted | (size > _ROUNDING * size.max()))
            if classes and isinstance(component.totals, Influences):
                blocks = _divided(blocks, numbers, classes)
            powers = _sums_of_powers(values, repeats, numbers, blocks)
        signs = 1, sign, sign, 1
        for column, sign, terms in zip(sums, signs, powers, strict=True):
            column += terms if sign > 0 else [-value for value in terms]
    sizes, squares, cubes, fourths = sums
    return Moments(sizes, squares, cubes, fourths, max(variance, 0.0))


def _sums_of_powers(
    values: Array, repeats: _Repeats, numbers: Array, blocks: Array | None = None
) -> tuple[list[float], ...]:
    """Count the values in each block, and sum the second to fourth powers."""
    squares = values * values
    second = repeats[1], squares
    third, fourth = (repeats[2], squares, values), (repeats[3], squares, squares)
    if blocks is None:
        total = float(numbers.sum())
        return [total], [dot(*second)], [dot(*third)], [dot(*fourth)]
    weights = (numbers, *map(math.prod, (second, third, fourth)))
    return tuple(np.bincount(blocks, terms).tolist() for terms in weights)


def _divided(
    blocks: Array | None, rows: Array, classes: Sequence[Array]
) -> Array | None:
    """Divide each stratum, or other block of rows, by class.

    If a class within a block would have a single row, the blocks are not divided.
    """
    parts: Any = 0 if blocks is None else blocks
    for members in classes:
        parts = 2 * parts + members
        if parts.max() > _MAX_BLOCK:
            parts = np.unique(parts, return_inverse=True)[1].ravel()
    has_single_row = (np.bincount(parts, rows) == 1).any()
    if not has_single_row or any(rows @ members <= 1 for members in classes):
        blocks = parts
    return blocks


class UnitWeights(NamedTuple):
    """Sums of powers of the weights of independent units.

    The weight of a unit is the sum of the weights of its rows.
    """

    n: float
    """Number of units that have some of the indicated rows."""
    n_all: float
    """Number of all units of the design."""
    total: float
    squares: float
    cubes: float
    fourths: float

    @property
    def effective_sample_size(self) -> float:
        r"""Kish's effective sample size, if the rows of each unit are identical.

        The effective sample size is :math:`(\sum w)^2 / \sum w^2` over the units.
        """
        return self.total**2 / self.squares if self.total else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite's degrees of freedom of a variance.

        The sum of the influence values in each unit is assumed to be proportional to
        the weight of the unit.
        """
        sums = [self.squares], [self.cubes], [self.fourths]
        return Moments([self.n], *sums).degrees_of_freedom


def unit_weights(components: Iterable[Component], total: float) -> UnitWeights:
    """Compute the weights of the independent units that contain selected rows.

    Each total in `components` is the weight of the selected rows in a unit, and `total`
    is the weight of all selected rows. With crossed factors, the units are the levels
    of the factor with the fewest levels.
    """
    kinds: list[UnitWeights] = []
    parts: list[UnitWeights] = []
    for component in components:
        if component.is_known or component.sign < 0:
            continue
        values, repeats = _column(component, 0), _repeats(component)
        if component.degrees_of_freedom is not None:
            n, square = component.degrees_of_freedom + 1, dot(values, values)
            weights = UnitWeights(n, n, total, square, 0.0, square**2 / n)
        else:
            numbers = repeats[0] * (values > 0)
            (n,), squares, cubes, fourths = _sums_of_powers(values, repeats, numbers)
            n_all, powers = float(repeats[0].sum()), (squares, cubes, fourths)
            weights = UnitWeights(n, n_all, total, *(power for (power,) in powers))
        (parts if component.is_part else kinds).append(weights)
    if parts:
        n, n_all, _, *sums = (sum(column) for column in zip(*parts, strict=True))
        n_extra = len(parts) - 1
        kinds.append(UnitWeights(n - n_extra, n_all - n_extra, total, *sums))
    return min(kinds, key=attrgetter("n"))


def intraclass_correlation(components: Iterable[Component]) -> float | None:
    r"""Compute the intraclass correlation of influence values within units.

    The correlation is the mean product of pairs of rows, averaged over units, divided
    by the mean square:

    .. math:: \hat\rho = \sum_g \frac{\sum_{i \ne j} w_i w_j L_i L_j}
        {\sum_{i \ne j} w_i w_j} \Bigl/ \sum_g \frac{\sum_i w_i^2 L_i^2}
        {\sum_i w_i^2} ,

    over units with at least two rows. Each unit counts once, so that a few large units
    do not dominate. The result is 1 if no unit has two rows with influence, and None if
    units overlap.

    Parameters
    ----------
    components : iterable of Component
        Totals over the rows of each unit, for four quantities: :math:`w L`, w,
        :math:`w^2 L^2` and :math:`w^2`. Each row has an influence value L and a weight
        w. The weights add up to 1.
    """
    parts = [part for part in components if not part.is_known]
    if len(parts) > 1:
        return None
    sums, weights, squared_sums, squares = np.asarray(parts[0].totals).T
    pairs = weights**2 - squares
    if (pairs < -_ROUNDING).any() or abs(weights.sum() - 1) > _SAME_TOTAL:
        return None
    several = pairs > _NO_PAIR * weights**2
    mean_squares = (squared_sums[several] / squares[several]).sum()
    if not mean_squares > 0:
        return 1.0
    products = (sums**2 - squared_sums)[several] / pairs[several]
    return min(float(products.sum() / mean_squares), 1.0)


def weight_of_tail(totals: Array, frequencies: Array) -> float:
    r"""Measure how heavy the tail of the distribution of totals is, by quantiles.

    .. math:: \log \frac{q_{.98} - q_{.9}}{q_{.9} - q_{.6}}

    with quantiles q on the side of the largest absolute total. The heaviness is .15 for
    an exponential distribution and 1.16 for a Pareto distribution with moments of
    orders below 1.5. It does not depend on the largest totals, because intervals
    undercover in samples that lack such totals by chance. `frequencies` contains the
    number of times that each total occurs.

    Returns
    -------
    float
        NaN for fewer than 40 totals, or if a third of them are equal.
    """
    side, _ = _side(totals, int(frequencies.sum()))
    order = np.argsort(side)
    cumulative = np.cumsum(frequencies[order])
    n = int(cumulative[-1])
    if n < _MIN_TOTALS:
        return math.nan
    positions = np.array([0.6, 0.9, 0.98]) * (n - 1)
    below = np.floor(positions)
    values = [
        side[order][np.searchsorted(cumulative, k, "right")] for k in (below, below + 1)
    ]
    low, middle, high = values[0] + (positions - below) * (values[1] - values[0])
    if not middle > low:
        return math.nan
    with np.errstate(divide="ignore"):
        return float(np.log((high - middle) / (middle - low)))


def shape_of_ratios(totals: Array, frequencies: Array) -> float:
    r"""Compute Hill's estimate for the tail of the distribution of totals.

    .. math:: \frac{1}{m} \sum_{i \le m}
        \log \frac{x_{(i)} - x_{\min}}{x_{(m + 1)} - x_{\min}}

    where :math:`x_{(i)}` is the i-th largest of G totals, negated if the most extreme
    total is negative, and :math:`m = \min(G / 5, 3 \sqrt{G})` (Hill, 1975, Annals of
    Statistics 3, 1163-1174). The shape is about .6 for squared errors and similar
    losses if errors are normal.

    Returns
    -------
    float
        NaN for a tail of fewer than 19 values, or with many equal values.
    """
    side, m = _side(totals, int(frequencies.sum()))
    distances = _largest(side - side.min(), frequencies, math.ceil(m))
    if not len(distances):
        return math.nan
    return float(np.log(distances[:-1] / distances[-1]).mean())


def tail_shape(components: Iterable[Component], shape: Callable[..., float]) -> float:
    """Return the largest tail index of the totals over all components.

    The function `shape` computes the tail index of one component. If a component has
    blocks, such as strata, the block with the largest total is used. Components that
    add no estimated variance are skipped. The result is NaN if no component remains.
    """
    shapes = []
    for component in components:
        if (
            component.is_known
            or component.sign < 0
            or component.degrees_of_freedom is not None
        ):
            continue
        values = _centred(component)
        counted = (_column(component, 1) > 0) | (values != 0)
        if component.blocks is not None:
            counted = counted & (
                component.blocks == component.blocks[np.abs(values).argmax()]
            )
        frequencies = np.rint(_repeats(component)[0]).astype(np.intp)
        shapes.append(shape(values[counted], frequencies[counted]))
    return max(shapes, default=math.nan)


def _side(totals: Array, n: int) -> tuple[Array, float]:
    """Reverse the signs of all totals if the most extreme total is negative.

    Returns the totals, and the number of largest totals from which a tail index is
    computed.
    """
    side = totals if totals.max() >= -totals.min() else -totals
    return side, min(n / 5, 3 * math.sqrt(n))


def _largest(values: Array, frequencies: Array, m: int) -> Array:
    """Return the m + 1 largest values, in descending order.

    The result is empty if m is small, or if many of the values are equal.
    """
    empty = np.empty(0)
    if m < _MIN_RATIOS:
        return empty
    n_distinct = min(m + 1, len(values))
    if n_distinct - 1 <= m / 2:
        return empty  # too many values are equal
    candidates = np.argpartition(values, -n_distinct)[-n_distinct:]
    candidates = candidates[np.argsort(-values[candidates])]
    cumulative = np.minimum(np.cumsum(frequencies[candidates]), m + 1)
    largest = np.repeat(values[candidates], np.diff(cumulative, prepend=0))
    excesses = largest[largest > largest[-1]] - largest[-1]
    return empty if len(np.unique(excesses)) <= m / 2 else largest
