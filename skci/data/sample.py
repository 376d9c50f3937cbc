"""The outcome table: distinct joint outcomes of truth and rules, counted.

The rows of the data are read here, once; two labels in blocks. Everything after works
on distinct outcomes, of which R binary rules have at most 2^(R + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from skci._typing import Array
from skci.inference.design import Clusters, Design
from skci.inference.parameter import View

__all__ = [
    "OutcomeTable",
    "count_codes",
    "count_outcomes",
    "list_rows",
]


# Small enough that the few byte-wide temporaries of a block stay in cache.
_BLOCK = 1 << 16
# Up to this many columns the joint outcomes are counted in a dense table.
_DENSE_COLUMNS = 16
# More are packed into words, which are sorted.
_BIG_ENDIAN = np.dtype(">u8")

# Up to this many conceivable outcomes of several labels are counted in a dense table,
# and up to the other one they can be numbered.
_DENSE = 1 << 20
_NUMBERED = 1 << 62


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Counts of the distinct joint outcomes of a truth and R rules.

    Tables of the same rules add: the table of two data sets read one after the other
    is the sum of their tables.

    Parameters
    ----------
    outcomes : array of shape (m, columns)
        The distinct outcomes observed, in lexicographic order: the truth, then each
        rule, then what parts the rows in subgroups. Of two labels True is positive; of
        more there are codes. Multilabel data have a column for each target in place of
        the one.
    counts : array of shape (m,)
        How many rows have each outcome; or their total weight, all weights together
        being the number of rows.
    squares : array of shape (m,), optional
        Total of their squared weights, if they have weights.
    clusters : Clusters, optional
        How much each outcome weighs in each group of rows, if there are groups.
    rows : array of shape (m,), optional
        How many rows have each outcome, if they have weights.
    labels : tuple
        The label of each code; of two labels the negative one first, and None for one
        that is not known.
    targets : tuple
        The names of the targets of multilabel data; one otherwise.
    abstains : bool
        Whether a rule may have one code more, which is no answer.
    """

    outcomes: Array
    counts: Array
    squares: Array | None = None
    clusters: Clusters | None = None
    rows: Array | None = None
    labels: tuple[Any, ...] = (0, 1)
    targets: tuple[Any, ...] = (None,)
    abstains: bool = False

    @cached_property
    def n_samples(self) -> int:
        """Number of rows counted."""
        return round(self.counts.sum())

    @cached_property
    def design(self) -> Design:
        """How the rows were drawn."""
        return Design(self.counts, self.squares, self.clusters, rows=self.rows)

    @property
    def multilabel(self) -> bool:
        """Whether there are several targets."""
        return len(self.targets) > 1

    @property
    def classes(self) -> tuple[Any, ...]:
        """What can be averaged over: targets, or labels of the one."""
        return self.targets if self.multilabel else self.labels

    def view(self, rule: int, code: int = 1, target: int = 0) -> View:
        """How a rule sees a label against the rest: as tp, fp, fn or tn, 0 .. 3."""
        return View(self._columns(rule, target), _against_rest(code, *self._codes), 4)

    def view_of_hits(self, rule: int) -> View:
        """How a rule sees what is right and wrong: as tp and fp."""
        return View(self._columns(rule), _hits(*self._codes), 4)

    def view_of_pairs(self, rule: int) -> View:
        """How a rule sees the true and the predicted label: as one of all pairs."""
        return View(self._columns(rule), _pairs(*self._codes), len(self.labels) ** 2)

    def view_of_rejection(self, rule: int) -> View:
        """How a rule sees whether there is an answer: as fp, and as tp without."""
        return View(self._columns(rule), _answers(*self._codes), 4)

    def _columns(self, rule: int, target: int = 0) -> tuple[int, int]:
        return target, (1 + rule) * len(self.targets) + target

    @property
    def _codes(self) -> tuple[int, int]:
        """How many codes the truth has, and how many a rule."""
        return len(self.labels), len(self.labels) + self.abstains

    def cells(self, view: View) -> Array:
        """Own cell in each joint outcome."""
        values = tuple(self._column(column) for column in view.columns)
        cells: Array = view.cells[values]
        if view.within is not None:
            column, code = view.within
            cells = np.where(self._column(column) == code, cells, view.size)
        return cells

    def _column(self, column: int) -> Array:
        values: Array = self.outcomes[:, column]
        return values.view(np.uint8) if values.dtype == bool else values

    def own(self, cells: Array, size: int = 4) -> Array:
        """Count the cells of one rule, those that are zero included."""
        return np.bincount(cells, weights=self.counts, minlength=size + 1)[:size]

    @classmethod
    def from_matrix(cls, matrix: Array) -> OutcomeTable:
        """Make the table of one rule from counts by truth and prediction."""
        outcomes = np.indices(matrix.shape).reshape(2, -1).T
        return cls(outcomes, matrix.ravel(), labels=tuple(range(len(matrix))))

    @classmethod
    def from_cells(cls, cells: Array) -> OutcomeTable:
        """Make the table of one rule from its counts tp, fp, fn, tn."""
        tp, fp, fn, tn = cells
        return cls.from_matrix(np.array([[tn, fp], [fn, tp]]))

    def __add__(self, other: OutcomeTable) -> OutcomeTable:
        if self.outcomes.shape[1] != other.outcomes.shape[1]:
            raise ValueError(
                "tables that are added must be of the same rules, got "
                f"{self.outcomes.shape[1] - 1} and {other.outcomes.shape[1] - 1} rules"
            )
        if not (self.design.simple and other.design.simple):
            raise ValueError("tables that are added must be without weights or groups")
        if self.labels != other.labels:
            raise ValueError(
                f"tables that are added must have the same labels, got {self.labels} "
                f"and {other.labels}"
            )
        columns = self.outcomes.shape[1]
        outcomes = np.concatenate([self.outcomes, other.outcomes])
        counts = np.concatenate([self.counts, other.counts])
        if outcomes.dtype == bool:
            words, counts = _merge(_pack(outcomes.T).astype(np.uint64), counts)
            outcomes = _unpack(words, columns)
        else:
            outcomes, outcome = _distinct(outcomes)
            counts = np.bincount(outcome, counts)
        return replace(self, outcomes=outcomes, counts=counts)


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
    labels = (negative, positive)
    if not plain:
        if not merged:
            outcomes = _unpack(words, len(columns))
            return list_rows(outcomes, weights, groups, labels=labels)
        words, outcome = np.unique(words, axis=0, return_inverse=True)
        outcomes = _unpack(words, len(columns))
        return _weigh(outcomes, outcome.ravel(), weights, groups, labels=labels)
    if not dense:
        words, counts = _merge(words)
        return OutcomeTable(_unpack(words, len(columns)), counts, labels=labels)
    outcomes = _all_outcomes(len(columns))
    if np.count_nonzero(counts) == len(counts):
        return OutcomeTable(outcomes, counts, labels=labels)
    return OutcomeTable(outcomes[counts > 0], counts[counts > 0], labels=labels)


def count_codes(
    outcomes: Array,
    weights: Array | None = None,
    groups: Array | None = None,
    merged: bool = True,
    **kind: Any,
) -> OutcomeTable:
    """Count joint outcomes that are given by codes.

    Parameters
    ----------
    outcomes : bool or int array of shape (n, columns)
        Codes from 0 on.
    weights, groups, merged
        See `count_outcomes`.
    **kind
        Of the labels; see `OutcomeTable`.
    """
    if not merged:
        return list_rows(outcomes, weights, groups, **kind)
    return _weigh(*_distinct(outcomes), weights, groups, **kind)


def _distinct(outcomes: Array) -> tuple[Array, Array]:
    """Distinct rows of codes in order, and which of them each row is."""
    number: Array = np.zeros(len(outcomes), dtype=np.int64)
    size = 1
    for column in outcomes.T:
        codes = int(column.max()) + 1
        if size * codes > _NUMBERED:
            found, number = np.unique(number, return_inverse=True)
            size = len(found)
        number = number * codes + column
        size *= codes
    if size <= _DENSE:
        seen = np.bincount(number, minlength=size) > 0
        outcome = (np.cumsum(seen) - 1)[number]
        first = np.empty(np.count_nonzero(seen), dtype=np.intp)
        first[outcome] = np.arange(len(outcomes))
    else:
        _, first, outcome = np.unique(number, return_index=True, return_inverse=True)
    return outcomes[first], outcome


def _weigh(
    distinct: Array,
    outcome: Array,
    weights: Array | None,
    groups: Array | None,
    **kind: Any,
) -> OutcomeTable:
    """Count outcomes by the weights of their rows and in each cluster."""
    counts = np.bincount(outcome, weights)
    squares = clusters = rows = None
    if weights is not None:
        squares, rows = np.bincount(outcome, weights**2), np.bincount(outcome)
    if groups is not None:
        pairs = groups.astype(np.int64) * len(distinct) + outcome
        found, pair = np.unique(pairs, return_inverse=True)
        number, position = np.divmod(found, len(distinct))
        clusters = Clusters(number, position, np.bincount(pair.ravel(), weights))
    return OutcomeTable(distinct, counts, squares, clusters, rows, **kind)


def list_rows(
    outcomes: Array, weights: Array | None, groups: Array | None, **kind: Any
) -> OutcomeTable:
    """Take each row for an outcome of its own."""
    counts = np.ones(len(outcomes)) if weights is None else weights
    squares = clusters = rows = None
    if weights is not None:
        squares, rows = weights**2, np.ones(len(weights))
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        clusters = Clusters(groups[order], order, counts[order])
    return OutcomeTable(outcomes, counts, squares, clusters, rows, **kind)


# --------------------------------------------------------------------------------------
# Own cells from the codes of the truth and of a rule
# --------------------------------------------------------------------------------------


@lru_cache
def _against_rest(code: int, labels: int, answers: int) -> Array:
    """Cells of a label against the rest, in the order of CELLS."""
    truth = np.arange(labels)[:, np.newaxis] == code
    answer = np.arange(answers) == code
    cells = np.where(truth, np.where(answer, 0, 2), np.where(answer, 1, 3))
    return _with_no_answer(cells, labels, 4)


@lru_cache
def _hits(labels: int, answers: int) -> Array:
    cells = np.where(np.eye(labels, answers, dtype=bool), 0, 1)
    return _with_no_answer(cells, labels, 4)


@lru_cache
def _pairs(labels: int, answers: int) -> Array:
    pairs = np.arange(labels)[:, np.newaxis] * labels + np.arange(answers)
    return _with_no_answer(pairs, labels, labels**2)


@lru_cache
def _answers(labels: int, answers: int) -> Array:
    return np.where(np.arange(answers) < labels, 1, 0) + np.zeros((labels, 1), int)


def _with_no_answer(cells: Array, labels: int, size: int) -> Array:
    """Mark what is not seen, where a rule gives no answer."""
    cells[:, labels:] = size
    return cells.astype(np.uint8) if size < 256 else cells


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
