"""Counting the joint outcomes of columns of two labels, in one pass over the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from skci._arrays import Array

__all__ = ["count_two_labels", "encode_two_labels"]

# Small enough that the few byte-wide temporaries of a block stay in cache.
_BLOCK = 1 << 16
# Up to this many columns the joint outcomes are counted in a dense table.
_DENSE_COLUMNS = 16
# More are packed into words, which are sorted.
_BIG_ENDIAN = np.dtype(">u8")


def count_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> tuple[Array, Array] | None:
    """Count the joint outcomes of columns that hold two labels.

    Parameters
    ----------
    columns : sequence of arrays of shape (n,)
        The truth, then the response of each rule.
    positive, negative : label
        The two labels.

    Returns
    -------
    codes : bool array of shape (m, columns)
        The distinct outcomes in lexicographic order; True is positive.
    counts : int array of shape (m,)
        Or None for both, if any entry equals neither label: counting is checking.
    """
    dense = len(columns) <= _DENSE_COLUMNS
    n = len(columns[0])
    positives = np.empty((len(columns), min(n, _BLOCK)), dtype=bool)
    counts = np.zeros(1 << len(columns) if dense else 0, dtype=np.intp)
    words = np.empty((0 if dense else n, _words(len(columns))), dtype=np.uint64)
    columns = _comparable(columns, positive, negative)
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
    if not dense:
        words, counts = _merge(words)
        return _unpack(words, len(columns)), counts
    codes = _all_outcomes(len(columns))
    if np.count_nonzero(counts) == len(counts):
        return codes, counts
    return codes[counts > 0], counts[counts > 0]


def encode_two_labels(
    columns: Sequence[Array], positive: Any, negative: Any
) -> Array | None:
    """Encode columns that hold two labels, row by row.

    Parameters
    ----------
    columns, positive, negative
        See `count_two_labels`.

    Returns
    -------
    bool array of shape (n, columns)
        None if any entry equals neither label.
    """
    codes = np.empty((len(columns), len(columns[0])), dtype=bool)
    columns = _comparable(columns, positive, negative)
    for column, is_positive in zip(columns, codes, strict=True):
        if not _mark(column, positive, negative, is_positive):
            return None
    return codes.T


def _comparable(
    columns: Sequence[Array], positive: Any, negative: Any
) -> Sequence[Array]:
    """Take integers as unsigned where labels are 0 and 1: negative ones are large."""
    if {positive, negative} != {0, 1}:
        return columns
    return [
        column.view(column.dtype.str.replace("i", "u"))
        if column.dtype.kind == "i"
        else column
        for column in columns
    ]


@lru_cache
def _all_outcomes(columns: int) -> Array:
    """List all outcomes of some columns in order."""
    numbers = np.arange(1 << columns)[:, np.newaxis]
    outcomes: Array = (numbers >> np.arange(columns - 1, -1, -1) & 1).astype(bool)
    outcomes.flags.writeable = False
    return outcomes


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


def _merge(words: Array) -> tuple[Array, Array]:
    """Sort rows of words, and count equal ones."""
    if words.shape[1] == 1:
        words.sort(axis=0)
    else:
        words = words[np.lexsort(words.T[::-1])]
    first = np.ones(len(words), dtype=bool)
    np.any(words[1:] != words[:-1], axis=1, out=first[1:])
    starts = np.flatnonzero(first)
    return words[starts], np.diff(starts, append=len(words))
