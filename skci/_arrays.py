"""The type of arrays, and what numpy has no fast function for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "distinct_rows"]

Array = NDArray[Any]

_DENSE = 1 << 20
"""Largest number of conceivable rows that are counted in a dense table."""
_NUMBERED = 1 << 62
"""Largest number of conceivable rows that can be numbered."""


def distinct_rows(codes: Array) -> tuple[Array, Array]:
    """Find the distinct rows of a matrix of codes.

    Parameters
    ----------
    codes : bool or int array of shape (n, columns)
        Codes from 0 on, of few values in each column.

    Returns
    -------
    rows : array of shape (m, columns)
        The distinct rows in lexicographic order.
    inverse : int array of shape (n,)
        Which of them each row is.
    """
    number: Array = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in codes.T:
        values = int(column.max()) + 1
        if size * values > _NUMBERED:
            found, number = np.unique(number, return_inverse=True)
            size = len(found)
        number = number * values + column
        size *= values
    if size <= _DENSE:
        seen = np.bincount(number, minlength=size) > 0
        inverse = (np.cumsum(seen) - 1)[number]
        first = np.empty(np.count_nonzero(seen), dtype=np.intp)
        first[inverse] = np.arange(len(codes))
    else:
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    return codes[first], inverse
