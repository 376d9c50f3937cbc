"""Influence values of several parameters over the rows of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array, dataclass
from skci.inference.rows import Rows

# Sizes of blocks of units for matrix products. Blocks of _BLOCK units stay in
# cache. For few parameters they have at least _NUMBERS entries, because each product
# has a fixed cost; for many parameters they have at most _MAX_NUMBERS entries.
_BLOCK = 1 << 14
_NUMBERS = 1 << 17
_MAX_NUMBERS = 1 << 22
_MANY = 256  # number of parameters from which sparse influence values may pay
_DENSITY = 0.05  # share of nonzero differences below which sparse values pay


class Centres(NamedTuple):
    """Block means to be subtracted from the totals of units.

    Each mean is multiplied by the size of the unit before the subtraction.
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
        Index of the possible outcome (cell) that each unit has, for each parameter.
    rows : Rows
        Rows of the data that form the units.
    orders : sequence of {1, 2}, optional
        Power to which the share s is raised for each parameter. Defaults to 1.
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
        column: Array = self.values[k][self.indices[k]] * shares
        return column

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        columns = [self.column(k) for k in range(len(self.values))]
        return np.stack(columns, axis=1)

    def __getitem__(self, units: Any) -> Array:
        return np.asarray(self)[units]

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
        """Split each column into a common value and sparse deviations.

        The common value is the value with the largest total weight. For example, with
        many classes, a class is neither the true nor the predicted label of most rows.
        The result is None if too many values deviate.
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
    """Sum the products of columns that have a common value and sparse deviations."""
    squares = shares**2 * repeats
    scaled = deviations * np.sqrt(squares)
    total: Array = (scaled @ scaled.T).toarray()
    crossed = deviations @ squares + common * (squares.sum() / 2)
    total += np.stack([crossed, common], axis=1) @ np.stack([common, crossed])
    return total
