"""Covariance, degrees of freedom, skewness and tails from totals of independent units.

All designs give totals, as components; this is the one place where a variance is
computed from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, dot
from skci.inference.designs.design import Component
from skci.inference.influences import Centres, Influences

_Repeats = Sequence[Array] | Array
"""Multiplicities of totals and of their second to fourth powers."""

_FEWEST_OF_TAIL = 40  # totals that the weight of a tail is estimated from
_FEWEST_RATIOS = 19  # largest totals that a shape is estimated from
_ROUNDING = 1e-12  # share of the largest centred total that is zero
_SAME_TOTAL = 1e-9  # error of the weights of units that are parts of all rows
_NO_PAIR = 1e-9  # share of products of pairs in a squared weight that is rounding
_MOST_BLOCKS = 1 << 16  # greatest number of a block, before they are renumbered


def covariance(components: Iterable[Component]) -> Array:
    r"""Sum the parts of a covariance, (K, K).

    .. math:: \sum_c \pm \frac{G_c}{G_c - d} \sum_{g=1}^{G_c} S_{cg} S_{cg}^T

    with the totals of each block less their mean. Where parts are subtracted, negative
    eigenvalues are set to zero (Cameron, Gelbach and Miller, 2011).
    """
    total: Any = 0.0
    is_subtracted = False
    for component in components:
        total = total + component.sign * _products(component)
        is_subtracted |= component.sign < 0
    total = (total + total.T) / 2  # a product of matrices rounds on one side only
    if is_subtracted:
        values, vectors = np.linalg.eigh(total)
        if values.min() < 0:
            total = (vectors * np.maximum(values, 0)) @ vectors.T
    return total


def _products(component: Component) -> Array:
    """Sum the products of the totals of a component, times G / (G - d)."""
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
    """G / (G - d), and how often each product counts; with that of its block."""
    numbers, squares = repeats[:2]
    if component.blocks is None:
        n, ddof = float(numbers.sum()), 0 if component.is_known else component.ddof
        return n / max(n - ddof, 1), squares
    sizes = np.bincount(component.blocks, numbers)
    factors = sizes / np.maximum(sizes - component.ddof, 1)
    return 1.0, squares * factors[component.blocks]


def _repeats(component: Component) -> _Repeats:
    """Multiplicities of the totals, and of their powers, (4, G)."""
    if component.repeats is None:
        return np.broadcast_to(1.0, (4, len(component.totals)))
    return component.repeats


def _column(component: Component, k: int) -> Array:
    """Totals of one parameter."""
    totals = component.totals
    return totals.column(k) if isinstance(totals, Influences) else totals[:, k]


def _centres(component: Component) -> Centres:
    """Means of the totals of each block, over the sizes of the units."""
    blocks, sizes, n = component.blocks, component.sizes, _repeats(component)[0]
    assert blocks is not None
    if sizes is None:
        sizes = np.ones(len(blocks))
    whole = np.bincount(blocks, n * sizes)
    columns = range(component.totals.shape[1])
    sums = [np.bincount(blocks, n * _column(component, k)) for k in columns]
    means = np.transpose(sums) / np.where(whole > 0, whole, 1)[:, np.newaxis]
    return Centres(means, blocks, sizes)


def _centred(component: Component) -> Array:
    """Totals of the first parameter, less their mean in each block."""
    values = _column(component, 0)
    if component.blocks is not None:
        values = values - _centres(component).of_units()[:, 0]
    return values


class Moments(NamedTuple):
    """Sums of powers of totals of influence values over independent units, by block.

    `sizes` is the number of the units; the squares and cubes of blocks that are
    subtracted are negative. All totals are divided by one number, lest their powers
    overflow.
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
        r"""Satterthwaite degrees of freedom of the variance of an estimate.

        Of the G units of a block they are

        .. math:: \nu = \min \Bigl( G - 1, 2 \Bigl/ \Bigl( \frac{\sum_g S_g^4}
            {(\sum_g S_g^2)^2} - \frac{1}{G} \Bigr) \Bigr) ,

        about :math:`G - 1` of equal normal totals and 2 of a single dominating one. Of
        several blocks, whose variances :math:`V_h` add up, they are
        :math:`(\sum_h V_h)^2 / \sum_h V_h^2 / \nu_h`.

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
                least = power / (n - 1) if n != 1 else math.inf
                terms += max((fourth - power / n) / 2, least)
        return total**2 / terms if terms else math.inf


def moments(components: Iterable[Component], classes: Sequence[Array] = ()) -> Moments:
    """Sum powers of the totals of influence values.

    Components are of the influence values and, unless all units count, of an indicator
    of the rows that do. Units without such a row do not count, but those of a block in
    which the others do not have mean zero. Blocks of independent rows are also divided
    by classes, bool arrays of shape (G,) within which influence values have mean zero,
    unless that leaves a row of larger classes alone, as those of many targets do.
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
        scale = scale or math.sqrt(square)  # totals of all components are of a size
        values = values / (scale or 1.0)
        found: Any
        if component.degrees_of_freedom is not None:
            n, square = component.degrees_of_freedom + 1, dot(values, values)
            found = [n], [square], [0.0], [square**2 / n]
        else:
            numbers = repeats[0]
            if component.totals.shape[1] > 1:
                size = np.abs(values)
                counted = _column(component, 1) > 0
                numbers = numbers * (counted | (size > _ROUNDING * size.max()))
            if classes and isinstance(component.totals, Influences):
                blocks = _divided(blocks, numbers, classes)
            found = _sums_of_powers(values, repeats, numbers, blocks)
        signs = 1, sign, sign, 1
        for column, sign, each in zip(sums, signs, found, strict=True):
            column += each if sign > 0 else [-value for value in each]
    sizes, squares, cubes, fourths = sums
    return Moments(sizes, squares, cubes, fourths, max(variance, 0.0))


def _sums_of_powers(
    values: Array, repeats: _Repeats, numbers: Array, blocks: Array | None = None
) -> tuple[list[float], ...]:
    """Number of values, and sums of their second to fourth powers, by block."""
    squares = values * values
    powers = [
        (repeats[1], squares),
        (repeats[2], squares, values),
        (repeats[3], squares, squares),
    ]
    if blocks is None:
        return [float(numbers.sum())], *([dot(*factors)] for factors in powers)
    weights = (numbers, *map(math.prod, powers))
    return tuple(np.bincount(blocks, each).tolist() for each in weights)


def _divided(
    blocks: Array | None, rows: Array, classes: Sequence[Array]
) -> Array | None:
    """Divide blocks of rows by classes, unless that leaves a row alone."""
    parts: Any = 0 if blocks is None else blocks
    for members in classes:
        parts = 2 * parts + members
        if parts.max() > _MOST_BLOCKS:
            parts = np.unique(parts, return_inverse=True)[1].ravel()
    alone = (np.bincount(parts, rows) == 1).any()
    if not alone or any(rows @ members <= 1 for members in classes):
        blocks = parts
    return blocks


class UnitWeights(NamedTuple):
    """Sums of powers of the total weights of the independent units of some rows."""

    n: float
    """Number of units that have some of the rows."""
    n_all: float
    """Number of all units that the design counts."""
    total: float
    squares: float
    cubes: float
    fourths: float

    @property
    def effective_sample_size(self) -> float:
        r"""Effective sample size if the rows of a unit are all alike.

        Kish's :math:`(\sum w)^2 / \sum w^2` over the units.
        """
        return self.total**2 / self.squares if self.total else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """Satterthwaite degrees of freedom of a variance of totals like the weights."""
        sums = [self.squares], [self.cubes], [self.fourths]
        return Moments([self.n], *sums).degrees_of_freedom


def unit_weights(components: Iterable[Component], total: float) -> UnitWeights:
    """Sum powers of the weights of units, from the components of an indicator of rows.

    Of several kinds of units those of which there are fewest; units of parts of the
    rows are of one kind. `total` is the weight of the rows.
    """
    found: list[UnitWeights] = []
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
        (parts if component.is_part else found).append(weights)
    if parts:
        n, n_all, _, *sums = (sum(column) for column in zip(*parts, strict=True))
        without = len(parts) - 1
        found.append(UnitWeights(n - without, n_all - without, total, *sums))
    return min(found, key=attrgetter("n"))


def intraclass_correlation(components: Iterable[Component]) -> float | None:
    r"""Correlation of influence values of rows of the same unit, such as a cluster.

    The mean over units of the products of pairs of rows, over that of squares:

    .. math:: \hat\rho = \sum_g \frac{\sum_{i \ne j} w_i w_j L_i L_j}
        {\sum_{i \ne j} w_i w_j} \Bigl/ \sum_g \frac{\sum_i w_i^2 L_i^2}
        {\sum_i w_i^2} ,

    over units of two rows or more. Each unit counts once, so that a few large ones do
    not decide. It is 1 where no unit shows it, and None where units overlap.

    Parameters
    ----------
    components : iterable of Component
        Totals of :math:`w L`, of w, :math:`w^2 L^2` and :math:`w^2` of the rows that
        count. The weights add up to 1.
    """
    parts = [each for each in components if not each.is_known]
    if len(parts) > 1:
        return None
    sums, weights, squared_sums, squares = np.asarray(parts[0].totals).T
    pairs = weights**2 - squares
    if (pairs < -_ROUNDING).any() or abs(weights.sum() - 1) > _SAME_TOTAL:
        return None
    several = pairs > _NO_PAIR * weights**2
    each = (squared_sums[several] / squares[several]).sum()
    if not each > 0:
        return 1.0
    products = (sums**2 - squared_sums)[several] / pairs[several]
    return min(float(products.sum() / each), 1.0)


def weight_of_tail(totals: Array, frequencies: Array | None = None) -> float:
    r"""Weight of the tail of totals of independent units, by their quantiles.

    .. math:: \log \frac{q_{.98} - q_{.9}}{q_{.9} - q_{.6}}

    on the side of the greatest absolute total. It is .15 for an exponential
    distribution and 1.16 for a Pareto distribution with moments of orders below 1.5. It
    does not depend on the largest totals, which intervals miss for lack of. Totals
    occur as often as their frequencies say.

    Returns
    -------
    float
        NaN for fewer than 40 totals, or where a third of them tie.
    """
    if frequencies is None:
        frequencies = np.ones(len(totals), dtype=np.intp)
    side, _ = _side(totals, int(frequencies.sum()))
    order = np.argsort(side)
    last = np.cumsum(frequencies[order])
    n = int(last[-1])
    if n < _FEWEST_OF_TAIL:
        return math.nan
    places = np.array([0.6, 0.9, 0.98]) * (n - 1)
    below = np.floor(places)
    values = [
        side[order][np.minimum(np.searchsorted(last, k, "right"), len(last) - 1)]
        for k in (below, below + 1)
    ]
    low, middle, high = values[0] + (places - below) * (values[1] - values[0])
    if not middle > low:
        return math.nan
    with np.errstate(divide="ignore"):
        return float(np.log((high - middle) / (middle - low)))


def shape_of_ratios(totals: Array, frequencies: Array | None = None) -> float:
    r"""Shape of the tail of totals by the ratios of distances from the least of them.

    .. math:: \frac{1}{m} \sum_{i \le m}
        \log \frac{x_{(i)} - x_{\min}}{x_{(m + 1)} - x_{\min}}

    over the :math:`m = \min(G / 5, 3 \sqrt{G})` most extreme of G values on the side of
    the greatest absolute one (Hill, 1975, Annals of Statistics 3, 1163-1174). For
    losses whose minimum is about zero it is about .6 if errors are normal.

    Returns
    -------
    float
        NaN for a tail of fewer than 19 values, or with many ties.
    """
    if frequencies is None:
        frequencies = np.ones(len(totals), dtype=np.intp)
    side, m = _side(totals, int(frequencies.sum()))
    distances = _largest(side - side.min(), frequencies, math.ceil(m))
    if not len(distances):
        return math.nan
    return float(np.log(distances[:-1] / distances[-1]).mean())


def tail_shape(
    components: Iterable[Component], shape: Callable[..., float] = weight_of_tail
) -> float:
    """Weight or shape of the tail of the totals of units.

    Components are of two columns, as of `moments`. Of several blocks it is that of the
    one with the largest total; NaN where only sums of products are known.
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
    """Totals whose greatest absolute value is positive, and the size of their tail."""
    side = totals if totals.max() >= -totals.min() else -totals
    return side, min(n / 5, 3 * math.sqrt(n))


def _largest(values: Array, frequencies: Array, m: int) -> Array:
    """The m + 1 largest values, in falling order; none if m is small, or many tie."""
    nothing = np.empty(0)
    if m < _FEWEST_RATIOS:
        return nothing
    n_distinct = min(m + 1, len(values))
    if n_distinct - 1 <= m / 2:
        return nothing  # the others are ties
    candidates = np.argpartition(values, -n_distinct)[-n_distinct:]
    candidates = candidates[np.argsort(-values[candidates])]
    last = np.minimum(np.cumsum(frequencies[candidates]), m + 1)
    largest = np.repeat(values[candidates], np.diff(last, prepend=0))
    excesses = largest[largest > largest[-1]] - largest[-1]
    return nothing if len(np.unique(excesses)) <= m / 2 else largest
