"""Array type, and faster versions of functions of numpy and the standard library."""

import dataclasses
import math
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

EPS = float(np.finfo(float).eps)

ROUNDING = 8 * EPS
"""Relative difference up to which two numbers count as equal."""


def read_only(values: Array) -> Array:
    """Return a read-only view of an array."""
    view = values.view()
    view.flags.writeable = False
    return view


class ReadOnlyArrays:
    """Mixin for dataclasses that makes their array fields read-only."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                vars(self)[name] = read_only(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, and make arrays read-only after pickling or copying."""
        vars(self).update(state)
        self.__post_init__()


_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_is_allowed = ContextVar("underflow is allowed", default=False)


def allow_underflow(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Decorate a function so that underflow to zero raises no error.

    Numpy ignores underflow by default, but ``np.seterr(all="raise")`` turns underflow
    into an error. Cached properties, and functions decorated by `with_hints`, always
    allow underflow.
    """

    @wraps(function)
    def allowed(*args: _P.args, **kwargs: _P.kwargs) -> _Result:
        if _is_allowed.get():
            return function(*args, **kwargs)
        token = _is_allowed.set(True)
        try:
            with np.errstate(under="ignore"):
                return function(*args, **kwargs)
        finally:
            _is_allowed.reset(token)

    return allowed


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from functools import cached_property as cached_property
else:

    def dataclass(cls=None, *, frozen=False, **options):
        """`dataclasses.dataclass` without the run-time checks of ``frozen=True``.

        Mypy still checks assignments to fields. Run-time checks would take most of the
        time needed to create an object.
        """
        options["unsafe_hash"] = frozen and options.get("eq", True)
        make = partial(dataclasses.dataclass, **options)
        return make if cls is None else make(cls)

    class cached_property:
        """`functools.cached_property` without the lock of Python 3.11."""

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__
            self.allowed = allow_underflow(function)

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            function = self.function if _is_allowed.get() else self.allowed
            value = instance.__dict__[self.name] = function(instance)
            return value


def binade(values: Array) -> float:
    """Return a power of two near the largest absolute value of an array.

    Division by a power of two has no rounding error.
    """
    largest = max(values.max(initial=0), -values.min(initial=0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def repeated(values: Array, n: int) -> Array:
    """Return a view that repeats an array `n` times along a new first axis.

    The function is faster than np.broadcast_to.
    """
    shape, strides = (n, *values.shape), (0, *values.strides)
    return np.ndarray(shape, values.dtype, values, strides=strides)


def dot(*vectors: Array) -> float:
    """Return the sum of the elementwise product of two or three vectors.

    Long vectors are multiplied without temporary arrays, and without BLAS threads,
    which wait for each other while the processors are busy.
    """
    if len(vectors[0]) > _FEW_ENTRIES:
        return float(np.einsum("i,i,i"[: 2 * len(vectors) - 1], *vectors))
    first, *between, last = vectors
    for vector in between:
        first = first * vector
    return float(np.dot(first, last))


def running_count(flags: Array) -> Array:
    """Return the running count of True values, as int32 if the counts fit."""
    small = len(flags) < _SHORT
    return np.cumsum(flags, dtype=np.int32 if small else np.int64)


_FEW_ENTRIES = 1 << 10  # largest length for which np.dot is used
_SHORT = 1 << 30  # largest number n of flags for which 2 n + 1 fits into an int32
_DENSE_RANGE = 1 << 16  # largest range of integers for which a lookup table is used
_DENSE_ROWS = 1 << 20  # largest number of possible rows that a table counts
_INDEXED_ROWS = 1 << 62  # largest number of possible rows with an int64 index


def factorise(column: Array) -> tuple[Array, Array]:
    """Return the distinct values of a column, and the code of each entry.

    The code of an entry is the index of its value among the distinct values. Distinct
    numbers and strings are in ascending order. If the column has the type object,
    distinct values are in the order of their first occurrence.
    """
    if column.dtype.kind == "O":
        values = column.tolist()
        position = {value: k for k, value in enumerate(dict.fromkeys(values))}
        distinct = np.fromiter(position, dtype=object, count=len(position))
        return distinct, np.array([position[value] for value in values], dtype=np.intp)
    if column.dtype.kind in "iu" and len(column):
        low = column.min()
        if int(column.max()) - int(low) < _DENSE_RANGE:
            offset = np.subtract(column, low, dtype=np.int64, casting="unsafe")
            seen = np.bincount(offset) > 0
            distinct = np.flatnonzero(seen).astype(column.dtype) + low
            return distinct, offset if seen.all() else (np.cumsum(seen) - 1)[offset]
    if column.dtype.kind == "U" and column.dtype.isnative and column.nbytes:
        points = np.ascontiguousarray(column).view(np.uint32).reshape(len(column), -1)
        sizes = [int(points.max()) + 1] * points.shape[1]
        # Integers that sort like the strings are sorted several times as fast.
        _, inverse = np.unique(_row_indices(points, sizes), return_inverse=True)
        distinct = np.empty(int(inverse.max()) + 1, dtype=column.dtype)
        distinct[inverse] = column
        return distinct, inverse
    distinct, inverse = np.unique(column, return_inverse=True)
    return distinct, inverse.ravel()


def _row_indices(codes: Array, sizes: list[int]) -> Array:
    """Encode each row of an integer matrix as one integer.

    The integers sort like the rows in lexicographic order. The entries in column k are
    at least 0 and less than ``sizes[k]``.
    """
    index: Array = np.zeros(len(codes), dtype=np.int64)
    n_possible = 1
    for column, size in zip(codes.T, sizes, strict=True):
        if n_possible * size > _INDEXED_ROWS:
            distinct, index = np.unique(index, return_inverse=True)
            n_possible = len(distinct)
        index = index * size + column
        n_possible *= size
    return index


def distinct_rows(codes: Array) -> tuple[Array, Array]:
    """Return the distinct rows of a matrix, and the code of each row.

    The entries are booleans or nonnegative integers. The code of a row is its index
    among the distinct rows, which are in lexicographic order.
    """
    sizes = [int(column.max()) + 1 for column in codes.T]
    if sizes and math.prod(sizes) <= _DENSE_ROWS:
        return _distinct_in_table(codes, sizes)
    index = _row_indices(codes, sizes)
    _, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    return codes[first], inverse


def _distinct_in_table(codes: Array, sizes: list[int]) -> tuple[Array, Array]:
    """Find the distinct rows of a matrix with a lookup table of all possible rows."""
    size = math.prod(sizes)
    index = codes[:, 0].astype(np.min_scalar_type(size))
    for column, values in zip(codes.T[1:], sizes[1:], strict=True):
        index *= index.dtype.type(values)
        index += column.astype(index.dtype, copy=False)
    seen = np.bincount(index, minlength=size) > 0
    rows = np.unravel_index(np.flatnonzero(seen), sizes)
    return np.stack(rows, axis=1).astype(codes.dtype), (np.cumsum(seen) - 1)[index]
