"""The type of arrays, and fast versions of what numpy and the standard library have."""

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
"""Relative range of numbers that are equal."""


def read_only(values: Array) -> Array:
    """View of an array that a report hands out, through which it cannot be changed."""
    view = values.view()
    view.flags.writeable = False
    return view


class ReadOnlyArrays:
    """A dataclass whose arrays cannot be changed, as they may be those of a report."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                vars(self)[name] = read_only(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, or what was pickled, which forgets that arrays are so."""
        vars(self).update(state)
        self.__post_init__()


_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_is_allowed = ContextVar("underflow is allowed", default=False)


def allow_underflow(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Decorate a function in which small numbers may become zero.

    By default numpy ignores this, but ``np.seterr(all="raise")`` of a user makes it an
    error. Public functions (by `with_hints`) and lazy properties allow it, too. Where
    functions call each other, only the first changes the state of numpy.
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
        """`dataclasses.dataclass` whose frozen classes are so for mypy alone.

        It finds what assigns to a field. To find that at run time as well takes most of
        the time in which an object is made.
        """
        options["unsafe_hash"] = frozen and options.get("eq", True)
        make = partial(dataclasses.dataclass, **options)
        return make if cls is None else make(cls)

    class cached_property:
        """`functools.cached_property` without the lock it has before Python 3.12."""

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
    """Power of two of the size of the largest value, to divide by without rounding."""
    largest = max(values.max(initial=0), -values.min(initial=0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def repeated(values: Array, n: int) -> Array:
    """View of n copies of an array; np.broadcast_to takes 30 times as long."""
    shape, strides = (n, *values.shape), (0, *values.strides)
    return np.ndarray(shape, values.dtype, values, strides=strides)


def dot(*vectors: Array) -> float:
    """Sum of the products of the entries of two or three vectors.

    Of many entries without arrays between, nor the threads of BLAS, which wait for each
    other where the processors are busy.
    """
    if len(vectors[0]) > _FEW_ENTRIES:
        return float(np.einsum("i,i,i"[: 2 * len(vectors) - 1], *vectors))
    first, *between, last = vectors
    for vector in between:
        first = first * vector
    return float(np.dot(first, last))


def running_count(flags: Array) -> Array:
    """Number of flags that are set up to each, in the smaller integers if these do."""
    small = len(flags) < _SHORT
    return np.cumsum(flags, dtype=np.int32 if small else np.int64)


_FEW_ENTRIES = 1 << 10  # in vectors of which a product takes less than a call
_SHORT = 1 << 30  # flags whose number, twice and one more, is a small integer
_DENSE_RANGE = 1 << 16  # largest range of integers that are looked up in a table
_DENSE_ROWS = 1 << 20  # largest number of possible rows that are counted in a table
_NUMBERED_ROWS = 1 << 62  # largest number of possible rows that can be numbered


def factorise(column: Array) -> tuple[Array, Array]:
    """Distinct values of a column, and the position of each entry's value among them.

    They are ascending, but objects are in the order of their first occurrence.
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
        # Numbers in the order of texts are sorted several times as fast.
        _, number = np.unique(_row_numbers(points, sizes), return_inverse=True)
        distinct = np.empty(int(number.max()) + 1, dtype=column.dtype)
        distinct[number] = column
        return distinct, number
    distinct, inverse = np.unique(column, return_inverse=True)
    return distinct, inverse.ravel()


def _row_numbers(codes: Array, sizes: list[int]) -> Array:
    """Numbers in the order of the rows of codes, which are below some sizes."""
    number: Array = np.zeros(len(codes), dtype=np.int64)
    n_possible = 1
    for column, size in zip(codes.T, sizes, strict=True):
        if n_possible * size > _NUMBERED_ROWS:
            found, number = np.unique(number, return_inverse=True)
            n_possible = len(found)
        number = number * size + column
        n_possible *= size
    return number


def distinct_rows(codes: Array) -> tuple[Array, Array]:
    """Distinct rows of a matrix of codes, and the position of each row among them.

    Codes are booleans or integers from 0 on. Distinct rows are in lexicographic order.
    """
    sizes = [int(column.max()) + 1 for column in codes.T]
    if sizes and math.prod(sizes) <= _DENSE_ROWS:
        return _distinct_among(codes, sizes)
    number = _row_numbers(codes, sizes)
    _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    return codes[first], inverse


def _distinct_among(codes: Array, sizes: list[int]) -> tuple[Array, Array]:
    """Distinct rows of codes below some sizes, from a table of all possible rows."""
    size = math.prod(sizes)
    number = codes[:, 0].astype(np.min_scalar_type(size))
    for column, values in zip(codes.T[1:], sizes[1:], strict=True):
        number *= number.dtype.type(values)
        number += column.astype(number.dtype, copy=False)
    seen = np.bincount(number, minlength=size) > 0
    rows = np.unravel_index(np.flatnonzero(seen), sizes)
    return np.stack(rows, axis=1).astype(codes.dtype), (np.cumsum(seen) - 1)[number]
