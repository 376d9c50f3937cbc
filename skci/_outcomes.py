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

from skci._covariance import Clusters, Design

__all__ = ["UNLISTED", "OutcomeTable", "View", "count_outcomes", "list_rows"]

Array = NDArray[Any]

# Small enough that the few byte-wide temporaries of a block stay in cache.
_BLOCK = 1 << 16
# Up to this many columns the joint outcomes are counted in a dense table.
_DENSE_COLUMNS = 16
# More are packed into words, which are sorted.
_BIG_ENDIAN = np.dtype(">u8")

# Own cell of a rule from (truth, response): tn, fp, fn, tp -> order of CELLS.
_CELL = np.array([[3, 1], [2, 0]], dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class View:
    """How a parameter sees an outcome: the own cell that some columns add up to.

    Parameters
    ----------
    columns : tuple of int
        Columns of the outcome table.
    cells : int array with an axis for each column
        Own cell for each combination of their values.
    sample : int
        Of which of several independent samples the table is.
    listable : bool
        Whether all possible outcomes can be listed; not those of a score.
    """

    columns: tuple[int, ...]
    cells: Array
    sample: int = 0
    listable: bool = True


UNLISTED = View((), np.zeros(0, dtype=int), listable=False)
"""Of a parameter that sees more than labels."""


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
    counts : array of shape (m,)
        How many rows have each outcome; or their total weight, all weights together
        being the number of rows.
    squares : array of shape (m,), optional
        Total of their squared weights, if they have weights.
    clusters : Clusters, optional
        How much each outcome weighs in each group of rows, if there are groups.
    """

    outcomes: Array
    counts: Array
    squares: Array | None = None
    clusters: Clusters | None = None

    @cached_property
    def n_samples(self) -> int:
        """Number of rows counted."""
        return round(self.counts.sum())

    @cached_property
    def design(self) -> Design:
        """How the rows were drawn."""
        return Design(self.counts, self.squares, self.clusters)

    def view(self, rule: int, exchanged: bool = False) -> View:
        """How a rule sees outcomes: as tp, fp, fn or tn, 0 .. 3; or tn .. tp."""
        return View((0, 1 + rule), _CELL[::-1, ::-1] if exchanged else _CELL)

    def cells(self, view: View) -> Array:
        """Own cell in each joint outcome."""
        values = (self.outcomes[:, column].view(np.uint8) for column in view.columns)
        cells: Array = view.cells[tuple(values)]
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
        if not (self.design.simple and other.design.simple):
            raise ValueError("tables that are added must be without weights or groups")
        columns = self.outcomes.shape[1]
        outcomes = np.concatenate([self.outcomes, other.outcomes])
        counts = np.concatenate([self.counts, other.counts])
        words, counts = _merge(_pack(outcomes.T).astype(np.uint64), counts)
        return OutcomeTable(_unpack(words, columns), counts)


def count_outcomes(
    columns: Sequence[Array],
    positive: Any,
    negative: Any,
    weights: Array | None = None,
    groups: Array | None = None,
    merged: bool = True,
) -> OutcomeTable | None:
    """Count the joint outcomes of columns that hold two labels.

    Parameters
    ----------
    columns : sequence of arrays of shape (n,)
        The truth, then the response of each rule.
    positive, negative : label
        The two labels.
    weights : array of shape (n,), optional
        Positive weights of the rows, which add up to n.
    groups : int array of shape (n,), optional
        The cluster of each row, from 0 on.
    merged : bool
        Whether equal outcomes are counted together; else each row is one.

    Returns
    -------
    OutcomeTable or None
        None if any entry equals neither label: counting is checking.
    """
    if {positive, negative} == {0, 1}:
        columns = [_unsigned(column) for column in columns]
    plain = weights is None and groups is None and merged
    dense = plain and len(columns) <= _DENSE_COLUMNS
    n = len(columns[0])
    positives = np.empty((len(columns), min(n, _BLOCK)), dtype=bool)
    counts = np.zeros(1 << len(columns) if dense else 0, dtype=np.intp)
    words = np.empty((0 if dense else n, _words(len(columns))), dtype=np.uint64)
    for start in range(0, n, _BLOCK):
        block = positives[:, : n - start]
        for column, is_positive in zip(columns, block, strict=True):
            chunk = column[start : start + _BLOCK]
            if not _mark(chunk, positive, negative, is_positive):
                return None
        if dense:
            counts += _dense_counts(block)
        else:
            words[start : start + _BLOCK] = _pack(block)
    if not plain:
        if merged:
            return _weigh(words, len(columns), weights, groups)
        return list_rows(_unpack(words, len(columns)), weights, groups)
    if not dense:
        words, counts = _merge(words)
        return OutcomeTable(_unpack(words, len(columns)), counts)
    outcomes = _all_outcomes(len(columns))
    if np.count_nonzero(counts) == len(counts):
        return OutcomeTable(outcomes, counts)
    return OutcomeTable(outcomes[counts > 0], counts[counts > 0])


def _weigh(
    words: Array, columns: int, weights: Array | None, groups: Array | None
) -> OutcomeTable:
    """Count outcomes by the weights of their rows and in each cluster."""
    distinct, outcome = np.unique(words, axis=0, return_inverse=True)
    outcome = outcome.ravel()
    counts = np.bincount(outcome, weights)
    squares = clusters = None
    if weights is not None:
        squares = np.bincount(outcome, weights**2)
    if groups is not None:
        pairs = groups.astype(np.int64) * len(distinct) + outcome
        found, pair = np.unique(pairs, return_inverse=True)
        number, position = np.divmod(found, len(distinct))
        clusters = Clusters(number, position, np.bincount(pair.ravel(), weights))
    return OutcomeTable(_unpack(distinct, columns), counts, squares, clusters)


def list_rows(
    outcomes: Array, weights: Array | None, groups: Array | None
) -> OutcomeTable:
    """Take each row for an outcome of its own."""
    counts = np.ones(len(outcomes)) if weights is None else weights
    squares = clusters = None
    if weights is not None:
        squares = weights**2
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        clusters = Clusters(groups[order], order, counts[order])
    return OutcomeTable(outcomes, counts, squares, clusters)


@lru_cache
def _all_outcomes(columns: int) -> Array:
    """List all outcomes of some columns in order."""
    numbers = np.arange(1 << columns)[:, np.newaxis]
    outcomes: Array = (numbers >> np.arange(columns - 1, -1, -1) & 1).astype(bool)
    outcomes.flags.writeable = False
    return outcomes


def _unsigned(column: Array) -> Array:
    """Look at integers as unsigned ones, among which the negative are large."""
    if column.dtype.kind != "i":
        return column
    return column.view(column.dtype.str.replace("i", "u"))


def _mark(chunk: Array, positive: Any, negative: Any, is_positive: Array) -> bool:
    """Write which entries are positive; tell whether all others are negative."""
    kind, zero_and_one = chunk.dtype.kind, {positive, negative} == {0, 1}
    if kind == "b" and zero_and_one:
        # Logical operations write 0 and 1, whatever the byte of a True is; comparisons
        # of booleans do not in all releases of numpy.
        np.logical_not(chunk, out=is_positive)
        if positive:
            np.logical_not(is_positive, out=is_positive)
        return True
    if kind == "u" and zero_and_one:
        # The fastest way to read memory comes first: what follows is in the cache.
        if np.maximum.reduce(chunk) > 1:
            return False
        np.equal(chunk, positive, out=is_positive)
        return True
    if kind in "biuf":
        np.equal(chunk, positive, out=is_positive)
    else:
        is_positive[:] = chunk == positive
    others = len(chunk) - np.count_nonzero(is_positive)
    if negative is None:
        return others == 0
    return bool(np.count_nonzero(chunk == negative) == others)


def _dense_counts(positives: Array) -> Array:
    """Count the outcomes of a block by their number in base two."""
    size = 1 << len(positives)
    if size == 4:
        both = np.count_nonzero(positives[0] & positives[1])
        truth, response = (np.count_nonzero(column) for column in positives)
        neither = positives.shape[1] - truth - response + both
        return np.array([neither, response - both, truth - both, both])
    numbers = _numbers(positives)
    if size <= 8:  # comparing bytes is faster than bincount, which widens them
        return np.array([np.count_nonzero(numbers == code) for code in range(size)])
    return np.bincount(numbers, minlength=size)


def _numbers(positives: Array) -> Array:
    """Read up to 16 columns as digits of numbers in base two."""
    numbers = positives[0].astype(np.uint8 if len(positives) <= 8 else np.uint16)
    for column in positives[1:]:
        np.add(numbers, numbers, out=numbers)
        np.add(numbers, column, out=numbers)
    return numbers


def _words(columns: int) -> int:
    """Count the words that hold some columns."""
    return -(-columns // (8 * _BIG_ENDIAN.itemsize))


def _pack(positives: Array) -> Array:
    """Write each column as the bits of words, the first as the highest of the first."""
    columns, rows = positives.shape
    octets = np.zeros((rows, _words(columns) * _BIG_ENDIAN.itemsize), dtype=np.uint8)
    for start in range(0, columns, 8):  # np.packbits is slow across columns
        eight = positives[start : start + 8]
        octets[:, start // 8] = _numbers(eight) << (8 - len(eight))
    return octets.view(_BIG_ENDIAN)


def _unpack(words: Array, columns: int) -> Array:
    """Undo `_pack`, to an outcome a row."""
    octets = words.astype(_BIG_ENDIAN).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=columns).view(bool)


def _merge(words: Array, counts: Array | None = None) -> tuple[Array, Array]:
    """Sort rows of words and merge equal ones; each counts once if not said."""
    if counts is None and words.shape[1] == 1:
        words.sort(axis=0)
    else:
        order = np.lexsort(words.T[::-1])
        words, counts = words[order], None if counts is None else counts[order]
    first = np.ones(len(words), dtype=bool)
    np.any(words[1:] != words[:-1], axis=1, out=first[1:])
    starts = np.flatnonzero(first)
    if counts is None:
        return words[starts], np.diff(starts, append=len(words))
    return words[starts], np.add.reduceat(counts, starts)
