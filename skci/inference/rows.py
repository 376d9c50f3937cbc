"""Rows of a sample by unit, and influence values of parameters over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array, binade, cached_property, dataclass, repeated

SAME_WEIGHT = 1e-12  # relative difference of weights that count as equal


@dataclass(frozen=True, eq=False)
class Rows:
    """Counts and weights of the rows of a sample, grouped by unit.

    A unit is a single row, or all rows with the same outcome. Only ratios of weights
    matter. The scale of the weights is kept, so that rows of several chunks of data can
    be merged.
    """

    weights: Array
    """Total weight of the rows of each unit; without weights, the number of rows."""
    powers: Array | None = None
    """Sums of second, third and fourth powers of the weights of rows, (3, units); None
    without weights."""
    numbers: Array | None = None
    """Number of rows of each unit; None without weights."""
    scale: float = 1.0
    """Power of two by which weights were divided, so that powers do not overflow."""
    are_mixtures: bool = False
    """Whether units are mixtures with the same moments as rows, instead of rows."""

    @classmethod
    def from_rows(
        cls,
        unit: Array,
        n_units: int,
        weights: Array | None = None,
        counts: Array | None = None,
    ) -> Rows:
        """Add up the weights of n rows by unit.

        A unit is a single row, or all rows with the same outcome. `unit` contains the
        unit index of each row. `counts` contains the number of times that each row
        occurs, by default once.
        """
        numbers = np.bincount(unit, counts, n_units).astype(np.intp)
        if weights is None:
            return cls(numbers)
        scale = binade(weights)
        weights = weights / scale
        totals = weights if counts is None else weights * counts
        terms = totals * weights ** np.arange(4)[:, np.newaxis]
        total, *powers = (np.bincount(unit, term, n_units) for term in terms)
        return cls(total, np.array(powers), numbers, scale)

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Concatenate the units of several samples, with weights on a common scale."""
        scale = max(rows.scale for rows in parts)
        parts = [rows.times(rows.scale / scale) for rows in parts]
        weights = np.concatenate([rows.weights for rows in parts])
        if all(rows.numbers is None for rows in parts):
            return cls(weights, scale=scale)
        powers = np.concatenate([rows.all_powers for rows in parts], axis=1)
        numbers = np.concatenate([rows.frequencies for rows in parts])
        return replace(
            parts[0], weights=weights, powers=powers, numbers=numbers, scale=scale
        )

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def frequencies(self) -> Array:
        """Number of rows of each unit."""
        return self.weights if self.numbers is None else self.numbers

    @cached_property
    def n_samples(self) -> int:
        """Number of rows."""
        return round(float(self.frequencies.sum()))

    @cached_property
    def _total(self) -> Any:
        return self.weights.sum()

    @property
    def total_weight(self) -> float:
        """Sum of the weights that the user passed, without rescaling."""
        return float(self._total) * self.scale

    @cached_property
    def counts(self) -> Array:
        """Weights of the units, scaled so that their sum is the number of rows."""
        if self.numbers is None:
            return self.weights
        if self.are_equal:
            return self.numbers
        return self.weights * (self.numbers.sum() / self._total)

    @cached_property
    def are_equal(self) -> bool:
        """Whether all rows have the same weight."""
        return self.powers is None or self.are_equal_in(slice(None))

    def are_equal_in(self, units: Any) -> bool:
        """Whether the rows of some units have the same weight."""
        if self.powers is None:
            return True
        weights, numbers = self.weights[units], self.frequencies[units]
        if not len(numbers):
            return True
        means = weights / numbers
        between = np.ptp(means) <= SAME_WEIGHT * means.max()
        within = self.powers[0][units] * numbers - weights**2
        return bool(between and (within <= SAME_WEIGHT * weights**2).all())

    @cached_property
    def shares(self) -> Array:
        """Mean weight of the rows of each unit, divided by the total weight."""
        if self.numbers is None:
            return repeated(np.array(1 / self._total), len(self))
        return self.weights / np.maximum(self.numbers, 1) / self._total

    @cached_property
    def repeats(self) -> Sequence[Array]:
        """Sums of powers of the relative weights in each unit, for powers 1 to 4.

        The relative weight of a row is its weight divided by the mean weight in the
        unit.
        """
        if self.powers is None:
            return (self.weights,) * 4
        means = self.weights / np.maximum(self.frequencies, 1)
        powers = np.where(means > 0, means, 1) ** np.array([[2], [3], [4]])
        return [self.frequencies, *(self.powers / powers)]

    def n_rows(self, units: Array) -> int:
        """Count the rows of some of the units."""
        return round(self.frequencies[units].sum())

    @property
    def largest_weights(self) -> Array:
        """Largest row weight in each unit, that is, in each set of identical rows."""
        if self.powers is None:
            return self.weights / np.maximum(self.frequencies, 1)
        _, cubes, fourths = self.powers
        return fourths / np.where(cubes > 0, cubes, 1)

    def merge_units(self, unit: Array, n_units: int) -> Rows:
        """Merge units, that is, sets of identical rows.

        `unit` contains the new index of each unit.
        """
        return self._changed(lambda values: np.bincount(unit, values, n_units))

    def subset(self, units: Array) -> Rows:
        """Return the rows of some of the units."""
        return self._changed(lambda values: values[units])

    def _changed(self, change: Callable[[Array], Array]) -> Rows:
        powers = self.powers
        if powers is not None:
            powers = np.array([change(power) for power in powers])
        numbers = None if self.numbers is None else change(self.numbers)
        return replace(
            self, weights=change(self.weights), powers=powers, numbers=numbers
        )

    def times(self, factor: float) -> Rows:
        """Multiply the weights of all rows by a factor."""
        if factor == 1:
            return self
        return replace(
            self,
            weights=self.weights * factor,
            powers=self.all_powers * factor ** np.array([[2], [3], [4]]),
            numbers=self.frequencies,
            scale=self.scale / factor,
        )

    @property
    def all_powers(self) -> Array:
        """Sums of second, third and fourth powers of the row weights, by unit.

        Without weights, each row has weight 1.
        """
        return np.array([self.weights] * 3) if self.powers is None else self.powers

    def per_row(self) -> Rows:
        """Rescale the weights so that their sum is the number of rows."""
        scaled = self.times(self.n_samples / float(self._total))
        return replace(scaled, weights=self.counts, scale=1.0)


# Sizes of blocks of units for matrix products. Blocks of _BLOCK units stay in
# cache. For few parameters they have at least _NUMBERS entries, because each product
# has a fixed cost; for many parameters they have at most _MAX_NUMBERS entries.
_BLOCK = 1 << 14
_NUMBERS = 1 << 17
_MAX_NUMBERS = 1 << 22
_MANY = 256  # number of parameters from which sparse influence values may pay
_DENSITY = 0.05  # share of nonzero differences below which sparse values pay


class Centres(NamedTuple):
    """Block means that are subtracted from the totals of units.

    A block is a set of units, such as a stratum. Each block mean is multiplied by the
    size of the unit before the subtraction.
    """

    means: Array
    """Means of the blocks, (blocks, K)."""
    blocks: Array
    """Block of each unit."""
    sizes: Array
    """Size of each unit."""

    def of_units(self, units: Any = slice(None)) -> Array:
        """Return the values to subtract from the totals of some units."""
        centres: Array = self.means[self.blocks[units]]
        return centres * self.sizes[units][:, np.newaxis]


@dataclass(eq=False)
class Influences:
    """Weighted influence values as an array with U units and K parameters.

    The weighted influence value of a row is s L, where s is the share of the row in the
    total weight, and L is the influence value of the row. The error of an estimate is
    the sum of s L over all rows.

    Parameters
    ----------
    values : sequence of K arrays
        Influence values of each parameter, one for each possible outcome (cell).
    indices : sequence of K int arrays of shape (U,), or slices
        Arrays, one for each parameter, with the index of the outcome of each unit.
    rows : Rows
        Rows of the data that form the units.
    orders : sequence of {1, 2}, optional
        Power to which the share s of a row in the total weight is raised, for each
        parameter. Defaults to 1.
    """

    values: Sequence[Array]
    indices: Sequence[Array]
    rows: Rows
    orders: Sequence[int] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of units and of parameters."""
        return len(self.rows), len(self.values)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, k: int) -> Array:
        """Return the weighted influence values of parameter k for all units."""
        shares = self.rows.shares
        if self.orders is not None:
            shares = shares ** self.orders[k]
        return self.values[k][self.indices[k]] * shares

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        columns = [self.column(k) for k in range(len(self.values))]
        return np.stack(columns, axis=1)

    def products(self, repeats: Array, centres: Centres | None = None) -> Array:
        """Sum the products of all pairs of columns over units.

        `repeats` contains the number of times that each unit is counted. Centres, if
        passed, are subtracted first.
        """
        if len(self.values) > _MANY and centres is None:
            columns = self._sparse()
            if columns is not None:
                return _sparse_products(*columns, self.rows.shares, repeats)
        n_units, size = self.shape
        total = np.zeros((size, size))
        n_rows = min(max(_BLOCK, _NUMBERS // size), _MAX_NUMBERS // size + 1)
        buffer = np.empty((size, min(n_rows, n_units)))
        roots = np.sqrt(repeats)
        for start in range(0, n_units, n_rows):
            units = slice(start, start + n_rows)
            values = buffer[:, : n_units - start]
            for row, influence, index in zip(
                values, self.values, self.indices, strict=True
            ):
                # mode="raise" would copy `row`
                np.take(influence, index[units], out=row, mode="clip")
            values *= self.rows.shares[units]
            if centres is not None:
                values -= centres.of_units(units).T
            values *= roots[units]
            total += values @ values.T  # half the work of a product of two matrices
        return total

    def _sparse(self) -> tuple[sparse.csr_array, Array] | None:
        """Split each column into a common value and sparse deviations from this value.

        The common value of a column is the value with the largest total weight. The
        result is None if too many values deviate from the common value.
        """
        columns, values, starts, common = [], [], [0], []
        maximum = _DENSITY * len(self.values) * len(self.rows)
        for influence, index in zip(self.values, self.indices, strict=True):
            heaviest = np.bincount(index, self.rows.weights).argmax()
            units = np.flatnonzero(index != heaviest)
            columns.append(units.astype(np.int32))
            values.append(influence[index[units]] - influence[heaviest])
            common.append(influence[heaviest])
            starts.append(starts[-1] + len(units))
            if starts[-1] > maximum:
                return None
        parts = np.concatenate(values), np.concatenate(columns), starts
        shape = len(self.values), len(self.rows)
        return sparse.csr_array(parts, shape=shape), np.array(common)


def _sparse_products(
    deviations: sparse.csr_array, common: Array, shares: Array, repeats: Array
) -> Array:
    """Sum the products of all pairs of columns over units.

    Each column is the sum of a common value and sparse deviations.
    """
    squares = shares**2 * repeats
    scaled = deviations * np.sqrt(squares)
    total: Array = (scaled @ scaled.T).toarray()
    crossed = deviations @ squares + common * (squares.sum() / 2)
    total += np.stack([crossed, common], axis=1) @ np.stack([common, crossed])
    return total
