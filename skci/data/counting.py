"""Counting the joint outcomes of columns of two labels, in one pass over the data."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from skci._arrays import Array

_BLOCK = 1 << 16  # rows of a block, whose byte-wide temporaries stay in cache
_DENSE_COLUMNS = 16
"""Largest number of columns whose outcomes are counted in a table; those of more are
packed into words, which are sorted."""
_WORD = np.dtype(">u8")


def count_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> tuple[Array, Array] | None:
    """Count the joint outcomes of columns (n,) that hold two labels.

    Returns the distinct outcomes in lexicographic order, as a bool array (m, columns)
    in which True is positive, and their counts (m,); None if any entry equals neither
    label: counting is checking. `negative` is None if only one label is known.
    """
    n, n_columns = len(columns[0]), len(columns)
    dense = n_columns <= _DENSE_COLUMNS
    table = np.zeros(1 << n_columns if dense else 0, dtype=np.intp)
    n_words = -(-n_columns // (8 * _WORD.itemsize))
    words = None if dense else np.empty((n, n_words), dtype=np.uint64)
    codes = np.empty((n_columns, min(n, _BLOCK)), dtype=bool)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = codes[:, : n - start]
        held = columns if n <= _BLOCK else [column[rows] for column in columns]
        if not _encode(held, positive, negative, block):
            return None
        if words is None:
            table += _tabulate(block)
        else:
            words[rows] = _pack(block, n_words)
    if words is None:
        outcomes = _all_outcomes(n_columns)
        if np.count_nonzero(table) == len(table):
            return outcomes, table
        return outcomes[table > 0], table[table > 0]
    words, counts = _count_words(words)
    # Columns that are contiguous in memory, as all that follows reads columns.
    octets = np.ascontiguousarray(words.astype(_WORD).view(np.uint8).T)
    return np.unpackbits(octets, axis=0, count=n_columns).view(bool).T, counts


def encode_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> Array | None:
    """Encode columns that hold two labels row by row, as a bool array (n, columns).

    True is positive. None if any entry equals neither label.
    """
    codes = np.empty((len(columns), len(columns[0])), dtype=bool)
    return codes.T if _encode(columns, positive, negative, codes) else None


def _encode(
    columns: Sequence[Array], positive: Any, negative: Any, codes: Array
) -> bool:
    """Write which entries are positive; return whether all others are negative."""
    zero_and_one = {positive, negative} == {0, 1}
    for column, is_positive in zip(columns, codes, strict=True):
        kind = column.dtype.kind
        if kind == "b" and zero_and_one:
            # Logical operations write 0 and 1, whatever the byte of a True is;
            # comparisons of booleans do not in all releases of numpy.
            np.logical_not(column, out=is_positive)
            if positive:
                np.logical_not(is_positive, out=is_positive)
        elif kind in "iu" and zero_and_one:
            # The fastest way to read memory comes first: what follows is in the cache.
            if int(np.bitwise_or.reduce(column)) not in (0, 1):
                return False
            np.equal(column, positive, out=is_positive)
        else:
            np.equal(column, positive, out=is_positive)
            n_others = len(column) - np.count_nonzero(is_positive)
            if np.count_nonzero(column == negative) != n_others:
                return False
    return True


@lru_cache
def _all_outcomes(n_columns: int) -> Array:
    """List the outcomes of some columns in order."""
    numbers = np.arange(1 << n_columns)[:, np.newaxis]
    outcomes: Array = (numbers >> np.arange(n_columns - 1, -1, -1) & 1).astype(bool)
    outcomes.flags.writeable = False
    return outcomes


def _tabulate(block: Array) -> Any:
    """Count each of the outcomes of some columns, in order."""
    size = 1 << len(block)
    if size == 4:
        both = np.count_nonzero(block[0] & block[1])
        truth, response = np.count_nonzero(block[0]), np.count_nonzero(block[1])
        neither = block.shape[1] - truth - response + both
        return np.array([neither, response - both, truth - both, both])
    numbers = _as_numbers(block)
    if size <= 8:  # comparing bytes is faster than bincount, which widens them
        return np.array([np.count_nonzero(numbers == code) for code in range(size)])
    return np.bincount(numbers, minlength=size)


def _as_numbers(block: Array) -> Array:
    """Read up to 16 columns as the binary digits of a number for each row."""
    numbers = block[0].astype(np.uint8 if len(block) <= 8 else np.uint16)
    for column in block[1:]:
        np.add(numbers, numbers, out=numbers)
        np.add(numbers, column, out=numbers)
    return numbers


def _pack(block: Array, n_words: int) -> Array:
    """Pack the columns into the bits of words, the first into the highest bit."""
    n_columns, n = block.shape
    octets = np.zeros((n, n_words * _WORD.itemsize), dtype=np.uint8)
    for start in range(0, n_columns, 8):  # np.packbits is slow across columns
        eight = block[start : start + 8]
        octets[:, start // 8] = _as_numbers(eight) << (8 - len(eight))
    return octets.view(_WORD)


def _count_words(words: Array) -> tuple[Array, Array]:
    """Sort rows of words, and count equal ones."""
    if words.shape[1] == 1:
        words.sort(axis=0)
    else:
        words = words[np.lexsort(words.T[::-1])]
    first = np.ones(len(words), dtype=bool)
    np.any(words[1:] != words[:-1], axis=1, out=first[1:])
    starts = np.flatnonzero(first)
    return words[starts], np.diff(starts, append=len(words))
