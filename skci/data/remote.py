"""Columns that are not in memory: on devices, or in the blocks of Dask.

Arrays on devices are counted there through the array API, or copied to the host. Blocks
of rows are read where they are, and their samples added up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from skci._arrays import Array
from skci._validation import (
    AllZeroError,
    NamedArray,
    as_array,
    check_alone,
    column_names,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.responses import task
from skci.data.rows import parameter_name
from skci.data.sample import Sample
from skci.data.storage import SampleSum
from skci.inference.parameter import DEFAULT_MODEL

_DEFAULT_NAMES = {"y_pred": DEFAULT_MODEL, "y_score": DEFAULT_MODEL, "by": "subgroup"}
"""Name of a column that is given alone, of parameters that may have several by name."""
_HOST = 1  # kDLCPU of DLPack
_MOST_CODES = 2**31  # largest number of joint outcomes that any integers can number


_Key = tuple[str, str | None]
"""A parameter, and the name of one of its columns if it may have several."""


def _by_key(columns: Mapping[str, Any]) -> dict[_Key, Any]:
    """Columns that are given, by parameter and name."""
    found: dict[_Key, Any] = {}
    for parameter, values in columns.items():
        if values is not None and parameter in _DEFAULT_NAMES:
            named = named_columns(values, parameter, _DEFAULT_NAMES[parameter])
            found |= {(parameter, name): each for name, each in named.items()}
        elif values is not None:
            found[parameter, None] = values
    return found


def _by_parameter(columns: Mapping[_Key, Any]) -> dict[str, Any]:
    """Columns of each parameter, by name if it may have several."""
    found: dict[str, Any] = {}
    for (parameter, name), values in columns.items():
        if name is None:
            found[parameter] = values
        else:
            found.setdefault(parameter, {})[name] = values
    return found


def _title(key: _Key) -> str:
    """Name of a column in messages."""
    parameter, name = key
    return parameter if name is None else parameter_name(name, parameter)


def on_host(columns: Mapping[str, Any], counted: bool = False) -> dict[str, Any]:
    """Columns of some parameters in the memory of the host.

    With scikit-learn's option ``array_api_dispatch``, arrays of an array API library on
    a device are copied to the host. If `counted`, and all columns are of one dimension
    on one device, their distinct rows are, and "counts" is how often each of them
    occurs. Without the option nothing is done, and the reader converts what it can.

    Parameters
    ----------
    columns : mapping of str to arrays
        Several columns of a parameter in a mapping. None if not given.
    counted : bool
        Whether distinct rows and their counts will do.
    """
    if not get_config()["array_api_dispatch"]:
        return dict(columns)
    arrays = _by_key(columns)
    remote = {key: array for key, array in arrays.items() if _is_on_device(array)}
    if not remote:
        return dict(columns)
    fetched, counts = None, None
    kinds = {(type(x), str(x.device), tuple(x.shape)) for x in remote.values()}
    weighted = not {"sample_weight", "counts"}.isdisjoint(name for name, _ in arrays)
    of_one_kind = len(remote) == len(arrays) and len(kinds) == 1
    if counted and of_one_kind and not weighted:
        fetched, counts = _count(remote)
    if fetched is None:
        fetched = {key: _fetch(array, _title(key)) for key, array in remote.items()}
    found = dict(columns) | _by_parameter(arrays | fetched)
    return found if counts is None else found | {"counts": counts}


def _is_on_device(values: Any) -> bool:
    """Whether values are an array that numpy does not read where it is."""
    known = isinstance(values, np.ndarray) or not hasattr(values, "__dlpack_device__")
    if known or not getattr(values, "ndim", 0):
        return False
    try:
        np.asarray(values[:0, ...])
        return bool(values.__dlpack_device__()[0] != _HOST)
    except (RuntimeError, TypeError, ValueError):
        return True


def _count(
    columns: Mapping[_Key, Any],
) -> tuple[dict[_Key, Array] | None, Array | None]:
    """Count the distinct rows of columns on a device.

    None if there are too many, or their library cannot be asked to.
    """
    first = next(iter(columns.values()))
    try:
        from array_api_compat import array_namespace
    except ImportError:
        array_namespace = getattr(type(first), "__array_namespace__", None)
    if first.ndim != 1 or array_namespace is None:
        return None, None
    xp = array_namespace(first)
    distinct: list[Array] = []  # values of each column in the distinct rows so far
    row: Any = 0  # number of the distinct row that each row is
    for key, column in columns.items():
        values, code = xp.unique_inverse(column)
        n_values = int(values.shape[0])
        n_rows = len(distinct[0]) if distinct else 1
        if n_values * n_rows > _MOST_CODES:
            return None, None
        found, row = xp.unique_inverse(row * n_values + code)
        before, last = np.divmod(_fetch(found, _title(key)), n_values)
        distinct = [each[before] for each in distinct]
        distinct.append(_fetch(values, _title(key))[last])
    counts = _fetch(xp.unique_counts(row)[1], "counts")
    return dict(zip(columns, distinct, strict=True)), counts


def _fetch(array: Any, name: str) -> Array:
    """Copy an array to the host."""
    try:
        return np.array(np.from_dlpack(array, device="cpu"))
    except Exception as error:  # each library has its own
        raise TypeError(
            f"{name} must be an array that can be copied to the host, got "
            f"{type(array).__name__}: {error}"
        ) from error


def are_in_blocks(columns: Mapping[str, Any]) -> bool:
    """Whether there is a Dask array among the columns of some parameters."""
    if "dask.array" not in sys.modules:
        return False
    return any(map(_is_in_blocks, _by_key(columns).values()))


def check_separable(rows: RowOptions) -> None:
    """Check that blocks of rows can be read one by one."""
    blocks = "Dask arrays, whose blocks are read one by one"
    check_alone(blocks, {"design": rows.design}, "; compute them first")


def read_blocks(
    read: Callable[..., Sample], columns: Mapping[str, Any], several: bool
) -> Sample:
    """Read the sample of each block of rows by Dask, and add them up.

    Blocks are those of the first Dask array, by which all others are cut, and arrays in
    memory too. They are read by the default scheduler of Dask, and only their samples
    come back, which are added in the order of the blocks.

    Parameters
    ----------
    read : callable
        Reads a sample of the columns in memory, which are passed by their parameters.
    columns : mapping of str to arrays
        The truth first; several columns of a parameter in a mapping. None if not given.
    several : bool
        Whether there may be more than two labels.
    """
    import dask

    truth, arrays = next(iter(columns)), _by_key(columns)
    rows = next(filter(_is_in_blocks, arrays.values())).chunks[0]
    blocks = {key: _cut(each, rows, _title(key), truth) for key, each in arrays.items()}
    reader = dask.delayed(read, pure=False)  # sent once, for all blocks
    tasks = [
        dask.delayed(_read_block, pure=False)(
            reader, k, _by_parameter({key: each[k] for key, each in blocks.items()})
        )
        for k in range(len(rows))
    ]
    total = SampleSum(several=several)
    none = ValueError(f"{truth} must hold at least one row, got none")
    for k, sample in enumerate(dask.compute(*tasks)):
        if isinstance(sample, AllZeroError):
            none = sample
        elif sample is not None:
            with task(f"block {k}"):
                total.add(sample)
    if not total.parts:
        raise none
    return total.total()


def _read_block(
    read: Callable[..., Sample], k: int, columns: dict[str, Any]
) -> Sample | AllZeroError | None:
    """Read a block; None if it has no rows, the error if all have weight zero."""
    if not len(next(iter(columns.values()))):
        return None
    with task(f"block {k}"):
        try:
            return read(**columns)
        except AllZeroError as error:
            return error


def _is_in_blocks(values: Any) -> bool:
    return hasattr(type(values), "__dask_graph__") and hasattr(values, "rechunk")


def _cut(values: Any, rows: tuple[float, ...], name: str, truth: str) -> list[Any]:
    """Cut an array into blocks of some numbers of rows, NaN where they are not known.

    All columns are in each block.
    """
    import dask.array

    array = values
    if not _is_in_blocks(values):
        array = dask.array.from_array(as_array(values, name, "an array"), -1)
    found = array.chunks[0]
    if np.isnan([*rows, *found]).any():
        if len(found) != len(rows):
            raise ValueError(
                f"{name} must have the {len(rows)} blocks of {truth} where the sizes "
                f"of blocks are not known, got {len(found)}; call the method "
                "compute_chunk_sizes of the Dask arrays first"
            )
        rows = found
    elif sum(rows) != sum(found):
        raise ValueError(
            f"{name} must have the {sum(rows)} rows of {truth}, got {sum(found)}"
        )
    whole = dict.fromkeys(range(1, array.ndim), -1)
    blocks = array.rechunk({0: rows, **whole}).to_delayed().ravel().tolist()
    if (names := column_names(values)) is None:
        return blocks
    return [dask.delayed(NamedArray.of, pure=False)(block, names) for block in blocks]
