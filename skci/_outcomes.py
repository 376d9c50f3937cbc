"""The outcome table: distinct joint outcomes of truth and rules, counted.

The rows of the data are read here, once, in blocks; everything after works on
distinct outcomes, of which R binary rules have at most 2^(R + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OutcomeTable", "count_outcomes"]

Array = NDArray[Any]

# Small enough that the few byte-wide temporaries of a block stay in cache.
_BLOCK = 1 << 17
# Up to this many columns the joint outcomes are counted in a dense table.
_DENSE_COLUMNS = 16

# Own cell of a rule from (truth, response): tn, fp, fn, tp -> order of CELLS.
_CELL = np.array([[3, 1], [2, 0]], dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Counts of the distinct joint outcomes of a truth and R binary rules.

    Tables of the same rules add: the table of two data sets read one after the other
    is the sum of their tables.

    Parameters
    ----------
    outcomes : bool array of shape (m, R + 1)
        The distinct outcomes observed: the truth, then each rule; True is positive.
        In lexicographic order.
    counts : int array of shape (m,)
        How many rows have each outcome.
    """

    outcomes: Array
    counts: Array

    @cached_property
    def n_samples(self) -> int:
        """Number of rows counted."""
        return int(self.counts.sum())

    def cells(self, rule: int) -> Array:
        """Own cell (tp, fp, fn or tn as 0 .. 3) of a rule in each joint outcome."""
        truth, response = self.outcomes[:, 0], self.outcomes[:, 1 + rule]
        cells: Array = _CELL[truth.view(np.uint8), response.view(np.uint8)]
        return cells

    def own(self, cells: Array) -> Array:
        """Count the four cells of one rule, those that are zero included."""
        return np.bincount(cells, weights=self.counts, minlength=4)

    @classmethod
    def from_cells(cls, cells: Array) -> OutcomeTable:
        """Make the table of one rule from its counts tp, fp, fn, tn."""
        order = _CELL.ravel()
        outcomes = np.array(
            [[False, False], [False, True], [True, False], [True, True]]
        )
        return cls(outcomes, np.asarray(cells)[order])

    def __add__(self, other: OutcomeTable) -> OutcomeTable:
        if self.outcomes.shape[1] != other.outcomes.shape[1]:
            raise ValueError(
                "tables that are added must be of the same rules, got "
                f"{self.outcomes.shape[1] - 1} and {other.outcomes.shape[1] - 1} rules"
            )
        outcomes = np.concatenate([self.outcomes, other.outcomes])
        return _distinct(outcomes, np.concatenate([self.counts, other.counts]))


def count_outcomes(
    columns: Sequence[Array], positive: Any, negative: Any
) -> OutcomeTable | None:
    """Count the joint outcomes of columns that hold two labels.

    Parameters
    ----------
    columns : sequence of arrays of shape (n,)
        The truth, then the response of each rule.
    positive, negative : label
        The two labels.

    Returns
    -------
    OutcomeTable or None
        None if any entry equals neither label: counting is checking.
    """
    dense = len(columns) <= _DENSE_COLUMNS
    n = len(columns[0])
    positives = np.empty((len(columns), min(n, _BLOCK)), dtype=bool)
    total = np.zeros(1 << len(columns) if dense else 0, dtype=np.intp)
    packed = []
    for start in range(0, n, _BLOCK):
        block = positives[:, : n - start]
        for column, is_positive in zip(columns, block, strict=True):
            chunk = column[start : start + _BLOCK]
            if not _mark(chunk, positive, negative, is_positive):
                return None
        if dense:
            total += _dense_counts(block)
        else:
            packed.append(np.packbits(block, axis=0).T)
    if dense:
        outcomes = _all_outcomes(len(columns))
        if np.count_nonzero(total) == len(total):
            return OutcomeTable(outcomes, total)
        return OutcomeTable(outcomes[total > 0], total[total > 0])
    distinct, counts = np.unique(np.concatenate(packed), axis=0, return_counts=True)
    outcomes = np.unpackbits(distinct, axis=1, count=len(columns)).astype(bool)
    return OutcomeTable(outcomes, counts)


@lru_cache
def _all_outcomes(columns: int) -> Array:
    """List all outcomes of some columns in order."""
    numbers = np.arange(1 << columns)[:, np.newaxis]
    outcomes: Array = (numbers >> np.arange(columns - 1, -1, -1) & 1).astype(bool)
    outcomes.flags.writeable = False
    return outcomes


def _mark(chunk: Array, positive: Any, negative: Any, is_positive: Array) -> bool:
    """Write which entries are positive; tell whether all others are negative."""
    if chunk.dtype == bool and {positive, negative} == {0, 1}:
        # Logical operations write 0 and 1, whatever the byte of a True is; comparisons
        # of booleans do not in all releases of numpy.
        np.logical_not(chunk, out=is_positive)
        if positive:
            np.logical_not(is_positive, out=is_positive)
        return True
    if chunk.dtype.kind in "biuf":
        np.equal(chunk, positive, out=is_positive)
    else:
        is_positive[:] = chunk == positive
    is_either = is_positive if negative is None else is_positive | (chunk == negative)
    return bool(np.count_nonzero(is_either) == len(chunk))


def _dense_counts(positives: Array) -> Array:
    """Count the outcomes of a block by their number in base two."""
    size = 1 << len(positives)
    if size == 4:
        both = np.count_nonzero(positives[0] & positives[1])
        truth, response = (np.count_nonzero(column) for column in positives)
        neither = positives.shape[1] - truth - response + both
        return np.array([neither, response - both, truth - both, both])
    code = positives[0].astype(np.uint8 if len(positives) <= 8 else np.uint16)
    for column in positives[1:]:
        np.add(code, code, out=code)
        np.add(code, column, out=code)
    if size <= 8:  # comparing bytes is faster than bincount, which widens them
        return np.array([np.count_nonzero(code == number) for number in range(size)])
    return np.bincount(code, minlength=size)


def _distinct(outcomes: Array, counts: Array) -> OutcomeTable:
    """Merge equal outcomes."""
    distinct, index = np.unique(outcomes, axis=0, return_inverse=True)
    merged = np.zeros(len(distinct), dtype=counts.dtype)
    np.add.at(merged, index.ravel(), counts)
    return OutcomeTable(distinct, merged)
