"""The outcome table: distinct joint outcomes of truth and rules, counted.

The rows of the data are read here, once, in blocks; everything after works on
distinct outcomes, of which R binary rules have at most 2^(R + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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

    def own(self, rule: int) -> Array:
        """Counts of the four cells of one rule, those that are zero included."""
        return np.bincount(self.cells(rule), weights=self.counts, minlength=4)

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
    total = np.zeros(1 << len(columns) if dense else 0, dtype=np.intp)
    packed = []
    for start in range(0, len(columns[0]), _BLOCK):
        block = [column[start : start + _BLOCK] for column in columns]
        positives = [chunk == positive for chunk in block]
        for chunk, is_positive in zip(block, positives, strict=True):
            if not _all_are(chunk, is_positive, negative):
                return None
        if dense:
            total += _dense_counts(positives)
        else:
            packed.append(np.packbits(np.stack(positives, axis=1), axis=1))
    if dense:
        observed = np.flatnonzero(total)
        shifts = np.arange(len(columns) - 1, -1, -1)
        return OutcomeTable(
            (observed[:, None] >> shifts & 1).astype(bool), total[observed]
        )
    rows = np.concatenate(packed)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    outcomes = np.unpackbits(distinct, axis=1, count=len(columns)).astype(bool)
    return OutcomeTable(outcomes, counts)


def _all_are(chunk: Array, is_positive: Array, negative: Any) -> bool:
    """Whether each entry that is not positive is negative."""
    is_negative = chunk == negative
    if is_positive.dtype != bool or is_negative.dtype != bool:
        return False  # missing values of an object array compare to neither
    counted = np.count_nonzero(is_positive) + np.count_nonzero(is_negative)
    return bool(counted == len(chunk))


def _dense_counts(positives: Sequence[Array]) -> Array:
    """Count the outcomes of a block by their number in base two."""
    code: Array = positives[0].astype(np.uint8 if len(positives) <= 8 else np.uint16)
    for column in positives[1:]:
        np.add(code, code, out=code)
        np.add(code, column, out=code)
    size = 1 << len(positives)
    if size <= 16:  # comparing bytes is faster than bincount, which widens them
        return np.array([np.count_nonzero(code == number) for number in range(size)])
    return np.bincount(code, minlength=size)


def _distinct(outcomes: Array, counts: Array) -> OutcomeTable:
    """Merge equal outcomes."""
    distinct, index = np.unique(outcomes, axis=0, return_inverse=True)
    merged = np.zeros(len(distinct), dtype=counts.dtype)
    np.add.at(merged, index.ravel(), counts)
    return OutcomeTable(distinct, merged)
