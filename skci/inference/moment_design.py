"""Rows of which only moments are kept: sums of products of a few columns.

Let :math:`x_i` be the columns of a row, of weight :math:`w_i`. The influence value of a
smooth function of weighted means is linear in them, :math:`c^T (1, x_i)`, and all that
inference asks of a sample are sums of powers and products of
:math:`w_i c^T (1, x_i)`. These follow from the sums of the products of up to four of
the entries of :math:`T_i = w_i (1, x_i)`, whatever c is, and those add up.

References
----------
Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample
variance: analysis and recommendations. The American Statistician 37, 242-247.

Pebay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and
arbitrary-order statistical moments. Sandia Report SAND2008-6212.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skci._arrays import Array, factorise
from skci.inference.clusters import Clusters
from skci.inference.design import SAME_WEIGHT, Design
from skci.inference.totals import Moments

_NUMBERS = 1 << 18  # of a block of rows, so that it stays in cache


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Sums over rows of products of two, three and four entries of their totals T.

    A pair of entries is one index, in the order of ``np.triu_indices``.
    """

    second: Array
    """Of shape (D, D)."""
    third: Array
    """Of shape (pairs, D)."""
    fourth: Array
    """Of shape (pairs, pairs)."""
    rounding: ClassVar[float] = 1e-11
    """Share of the largest possible variance that may be rounding."""

    @classmethod
    def of(cls, entries: Array, powers: Sequence[Array]) -> RowMoments:
        """Sum over units with entries (1, x) of shape (D, m).

        `powers` are the totals of the first four powers of the weights of their rows.
        """
        size, m = entries.shape
        first, second = _pairs(size)
        equal = all(x is powers[0] or np.array_equal(x, powers[0]) for x in powers)
        unweighted = bool((powers[3] == 1).all())
        sums = cls.zero(size)
        rows = max(_NUMBERS // len(first), 1)
        buffer = np.empty((len(first), min(rows, m)))
        starts = np.flatnonzero(first == second)
        for start in range(0, m, rows):
            block = slice(start, start + rows)
            x = entries[:, block]
            products = buffer[:, : x.shape[1]]
            for k, place in enumerate(starts):
                np.multiply(x[k], x[k:], out=products[place : place + size - k])
            if not equal:
                sums.second[...] += (x * powers[1][block]) @ x.T
                sums.third[...] += products @ (x * powers[2][block]).T
            if not unweighted:
                products *= np.sqrt(powers[3][block])
            sums.fourth[...] += products @ products.T
        sums.second[...] = _symmetric(sums.second)
        sums.fourth[...] = _symmetric(sums.fourth)
        if equal:  # the first entry is 1
            sums.third[...] = sums.fourth[:, :size]
            sums.second[first, second] = sums.second[second, first] = sums.fourth[0]
        return sums

    @classmethod
    def zero(cls, size: int) -> RowMoments:
        """No rows."""
        pairs = len(_pairs(size)[0])
        shapes = (size, size), (pairs, size), (pairs, pairs)
        return cls(*map(np.zeros, shapes))

    def __add__(self, other: RowMoments) -> RowMoments:
        return RowMoments(
            self.second + other.second,
            self.third + other.third,
            self.fourth + other.fourth,
        )

    def mapped(self, matrix: Array) -> RowMoments:
        """Moments of A T, A of shape (D', D)."""
        of_pairs = _of_pairs(matrix)
        return RowMoments(
            _symmetric(matrix @ self.second @ matrix.T),
            of_pairs @ self.third @ matrix.T,
            _symmetric(of_pairs @ (of_pairs @ self.fourth).T),
        )

    def times(self, factor: float) -> RowMoments:
        """Moments of so many times the rows."""
        return RowMoments(*(factor * x for x in (self.second, self.third, self.fourth)))

    def products(self, c: Array) -> Array:
        """Sums of the products of all pairs of :math:`c_j^T T`, c of shape (K, D)."""
        return c @ self.second @ c.T

    def image(self, c: Array) -> Array:
        """Sum of :math:`(c^T T) T`."""
        return self.second @ c

    def powers(self, c: Array) -> tuple[float, float, float]:
        """Sums of the second, third and fourth powers of :math:`c^T T`."""
        first, second = _pairs(len(c))
        pairs = c[first] * c[second] * np.where(first < second, 2, 1)
        cubes, fourths = pairs @ self.third @ c, pairs @ self.fourth @ pairs
        return float(c @ self.second @ c), float(cubes), float(fourths)

    @property
    def arrays(self) -> dict[str, Array]:
        """The sums by name."""
        return {"second": self.second, "third": self.third, "fourth": self.fourth}


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """Totals T of the rows of each group, of shape (groups, D), and its name."""

    keys: Array
    totals: Array
    rounding: ClassVar[float] = 1e-24
    """Share of the largest possible variance that may be rounding."""

    @classmethod
    def of(cls, entries: Array, clusters: Clusters) -> GroupTotals:
        """Sum over units with entries (1, x) of shape (D, m)."""
        keys = clusters.keys[clusters.number[clusters.starts]]
        return cls(keys, clusters.totals(entries).T)

    def __add__(self, other: GroupTotals) -> GroupTotals:
        names = [*self.keys.tolist(), *other.keys.tolist()]
        keys, number = factorise(np.fromiter(names, dtype=object, count=len(names)))
        totals = np.zeros((len(keys), self.totals.shape[1]))
        for each, start in ((self, 0), (other, len(self.keys))):
            totals[number[start : start + len(each.keys)]] += each.totals
        return GroupTotals(keys, totals)

    def mapped(self, matrix: Array) -> GroupTotals:
        """Totals A T, A of shape (D', D)."""
        return GroupTotals(self.keys, self.totals @ matrix.T)

    def products(self, c: Array) -> Array:
        """Sums of the products of all pairs of :math:`c_j^T T`, c of shape (K, D)."""
        values = self.totals @ c.T
        return values.T @ values

    def image(self, c: Array) -> Array:
        """Sum of :math:`(c^T T) T`."""
        return self.totals.T @ (self.totals @ c)

    def powers(self, c: Array) -> tuple[float, float, float]:
        """Sums of the second, third and fourth powers of :math:`c^T T`."""
        values = self.totals @ c
        squares, cubes, fourths = (float((values**k).sum()) for k in (2, 3, 4))
        return squares, cubes, fourths

    @property
    def arrays(self) -> dict[str, Array]:
        """The sums by name."""
        return {"totals": self.totals}


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentDesign(Design):
    """How rows were drawn of which only moments are kept.

    To parameters each row is a mixture of D cells: it weighs :math:`w_i x_{ij}`, of
    either sign, in cell j, and in the first cell what is left of :math:`w_i`. So means
    of columns, influence values and contrasts are those of a table of D cells.
    """

    totals: RowMoments | GroupTotals
    """Of independent units."""
    weighted: Array
    """Sum of :math:`w_i (1, x_i) (1, x_i)^T` over rows, (D, D)."""
    n: float
    """Number of rows."""
    weight_range: tuple[float, float]
    """Least and greatest weight of a row, times `scale`."""

    @classmethod
    def of_columns(cls, columns: Array, design: Design) -> MomentDesign:
        """Sum over the units of a design with columns of shape (D - 1, m)."""
        entries = np.concatenate([np.ones((1, columns.shape[1])), columns])
        powers = [design.weights, *design._powers]
        totals: RowMoments | GroupTotals
        if design.clusters is None:
            totals = RowMoments.of(entries, powers)
        else:
            totals = GroupTotals.of(entries, design.clusters)
        if isinstance(totals, RowMoments) and design.powers is None:
            weighted = totals.second
        else:
            weighted = _symmetric((entries * design.weights) @ entries.T)
        means = design.weights / design.frequencies * design.scale
        return cls.of_sums(
            totals,
            weighted,
            float(design.n_samples),
            (float(means.min()), float(means.max())),
            design.scale,
        )

    @classmethod
    def of_sums(
        cls,
        totals: RowMoments | GroupTotals,
        weighted: Array,
        n: float,
        weight_range: tuple[float, float],
        scale: float,
        ddof: int = 1,
    ) -> MomentDesign:
        """Design of rows with these sums."""
        return cls(
            _as_mixture(weighted[0]),
            totals=totals,
            weighted=weighted,
            n=n,
            weight_range=weight_range,
            scale=scale,
            ddof=ddof,
        )

    def mapped(self, matrix: Array) -> MomentDesign:
        """Design of rows with the entries A (1, x), of which the first is 1."""
        weighted = _symmetric(matrix @ self.weighted @ matrix.T)
        totals = self.totals.mapped(matrix)
        return replace(
            self, weights=_as_mixture(weighted[0]), totals=totals, weighted=weighted
        )

    def __add__(self, other: MomentDesign) -> MomentDesign:
        scale = max(self.scale, other.scale)
        first, second = (each._scaled_to(scale) for each in (self, other))
        if isinstance(first.totals, GroupTotals):
            assert isinstance(second.totals, GroupTotals)  # checked by the sample
            totals: RowMoments | GroupTotals = first.totals + second.totals
        else:
            assert isinstance(second.totals, RowMoments)
            totals = first.totals + second.totals
        low, high = zip(first.weight_range, second.weight_range, strict=True)
        return self.of_sums(
            totals,
            first.weighted + second.weighted,
            first.n + second.n,
            (min(low), max(high)),
            scale,
        )

    def _scaled_to(self, scale: float) -> MomentDesign:
        factor = self.scale / scale
        if factor == 1:
            return self
        totals = self.totals.mapped(factor * np.eye(len(self.weighted)))
        sums = totals, factor * self.weighted, self.n, self.weight_range
        return self.of_sums(*sums, scale)

    def times(self, factor: float) -> MomentDesign:
        if not (self.is_simple and isinstance(self.totals, RowMoments)):
            raise ValueError("cannot plan from a pilot with sample_weight or groups")
        sums = self.totals.times(factor), factor * self.weighted, factor * self.n
        return self.of_sums(*sums, self.weight_range, self.scale, ddof=0)

    @property
    def n_samples(self) -> int:
        return round(self.n)

    @property
    def has_independent_rows(self) -> bool:
        """False: there are no rows, but mixtures of cells."""
        return False

    @property
    def n_groups(self) -> int | None:
        return len(self.totals.keys) if isinstance(self.totals, GroupTotals) else None

    @property
    def counts(self) -> Array:
        return self.weights * (self.n / self.weighted[0, 0])

    @property
    def is_simple(self) -> bool:
        low, high = self.weight_range
        return self.n_groups is None and high - low <= SAME_WEIGHT * high

    def is_simple_among(self, units: Array) -> bool:
        return self.is_simple

    def n_rows(self, units: Array) -> int:
        return self.n_samples

    def n_clusters(self, units: Array) -> int:
        return self.n_units

    def count_of(self, units: Array) -> float:
        return self.n

    def effective_sample_size(self, units: Array) -> float:
        total = float(self.weighted[0, 0])
        return total**2 / self.totals.powers(_first(len(self.weighted)))[0]

    def mean_square(self, influence: Array, counts: Array) -> float:
        c = _coefficients(influence)
        return float(c @ self.weighted @ c) / float(self.weighted[0, 0])

    def moments(
        self,
        influence: Array,
        index: Array,
        cells: Array,
        classes: Sequence[Array] = (),
    ) -> Moments:
        return self._moments_of(_coefficients(influence[index]))

    def weight_moments(self, units: Array) -> Moments:
        return self._moments_of(_first(len(self.weighted)))

    def _moments_of(self, c: Array) -> Moments:
        size = np.sqrt(self.totals.powers(c)[0])
        powers = self.totals.powers(c / size)
        return Moments(*(np.array([each]) for each in (self.n_units, *powers)))

    def tail_shape(self, influence: Array, index: Array, units: Array) -> float:
        """NaN: it cannot be computed from moments."""
        return np.nan

    def least_favourable(self, influence: Array, index: Array) -> Array:
        c = _coefficients(influence[index])
        change = self.totals.image(c)
        return _as_mixture(change / np.sqrt(c @ change))

    def covariance(
        self, influences: Sequence[Array], indices: Sequence[Array]
    ) -> Array:
        pairs = zip(influences, indices, strict=True)
        c = np.array([_coefficients(influence[index]) for influence, index in pairs])
        total = self.totals.products(c)
        total = _symmetric(total)
        spread = self.totals.products(np.eye(c.shape[1])).diagonal()
        largest = (np.abs(c) @ np.sqrt(spread)) ** 2
        constant = total.diagonal() <= self.totals.rounding * largest
        total[constant] = total[:, constant] = 0
        return total * self._per_total

    def variance(self, influence: Array, index: Array) -> float:
        return float(self.covariance([influence], [index])[0, 0])

    def regrouped(self, unit: Array, n_units: int) -> Design:
        """Not possible: there are no units."""
        raise _rows_needed()

    def merged(self, other: Design, unit: Array) -> Design:
        """Not possible: there are no units."""
        raise _rows_needed()

    def _per_row(self) -> Design:
        raise _rows_needed()


def _rows_needed() -> ValueError:
    return ValueError(
        "reports of moments cannot be combined with others; keep the rows, by "
        "moments=False"
    )


def _coefficients(influence: Array) -> Array:
    """Coefficients of (1, x) in the influence value of a row, from those of cells."""
    return np.append(influence[:1], influence[1:] - influence[0])


def _as_mixture(entries: Array) -> Array:
    """Weights of the cells from the totals of (1, x)."""
    return np.append(entries[:1] - entries[1:].sum(), entries[1:])


def _symmetric(matrix: Array) -> Array:
    """Mean of a matrix and its transpose, which differ by rounding."""
    return (matrix + matrix.T) / 2


def _first(size: int) -> Array:
    """Coefficients of the weights themselves."""
    return np.eye(1, size)[0]


@cache
def _pairs(size: int) -> tuple[Array, Array]:
    return np.triu_indices(size)


def _of_pairs(matrix: Array) -> Any:
    """Matrix that maps the products of pairs of T to those of A T."""
    rows, columns = matrix.shape
    first, second = np.indices((columns, columns)).reshape(2, -1)
    position = np.zeros((columns, columns), dtype=int)
    position[_pairs(columns)] = np.arange(len(_pairs(columns)[0]))
    position = np.maximum(position, position.T)
    ones = np.ones(columns**2)
    places = np.arange(columns**2), position[first, second]
    united = sparse.csr_array((ones, places), shape=(columns**2, position.max() + 1))
    chosen = np.ravel_multi_index(_pairs(rows), (rows, rows))
    every = sparse.kron(sparse.csr_array(matrix), sparse.csr_array(matrix), "csr")
    return every[chosen] @ united
