"""Columns that are not in memory: arrays on devices, and Dask arrays in blocks.

Arrays on devices are copied to the host. Blocks of rows are read separately, and the
samples of all blocks are added.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config

from skci._arrays import Array
from skci._validation import (
    AllZeroError,
    NamedArray,
    as_array,
    check_mutually_exclusive,
    column_names,
    named_columns,
)
from skci.data.responses import task
from skci.data.rows import parameter_name
from skci.data.sample import Sample
from skci.data.storage import SampleSum
from skci.inference.parameter import DEFAULT_MODEL

_DEFAULT_NAMES = {"y_pred": DEFAULT_MODEL, "y_score": DEFAULT_MODEL, "by": "subgroup"}
"""Name of an unnamed column, for parameters that may have several columns."""
_HOST = 1  # kDLCPU of DLPack


def _converted(
    columns: Mapping[str, Any], convert: Callable[[Any, str], Any]
) -> dict[str, Any]:
    """Apply the function `convert` to each column of each parameter.

    `convert` receives a column, and the name of the column for messages. For a
    parameter that may have several columns, such as "y_pred", the result is a dict of
    converted columns. Parameters without columns are left out.
    """
    converted: dict[str, Any] = {}
    for parameter, values in columns.items():
        if parameter in _DEFAULT_NAMES and values is not None:
            named = named_columns(values, parameter, _DEFAULT_NAMES[parameter])
            converted[parameter] = {
                name: convert(column, parameter_name(name, parameter))
                for name, column in named.items()
            }
        elif values is not None:
            converted[parameter] = convert(values, parameter)
    return converted


def _arrays(columns: Mapping[str, Any]) -> list[Any]:
    """Return a list of the columns of all parameters."""
    arrays: list[Any] = []
    _converted(columns, lambda array, _: arrays.append(array))
    return arrays


def on_host(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the columns of some parameters to the memory of the host.

    Arrays on another device, such as a GPU, are copied if scikit-learn's option
    ``array_api_dispatch`` is set. Other columns are returned unchanged.

    Parameters
    ----------
    columns : mapping of str to arrays
        Mapping from parameters to columns. For a parameter with several columns, the
        value is a mapping of columns. For a parameter that is not used, the value is
        None.
    """
    dispatches = get_config()["array_api_dispatch"]
    if dispatches and any(map(_is_on_device, _arrays(columns))):
        return dict(columns) | _converted(columns, _on_host)
    return dict(columns)


def _on_host(array: Any, name: str) -> Any:
    return _fetch(array, name) if _is_on_device(array) else array


def _is_on_device(values: Any) -> bool:
    """Whether values are an array in the memory of a device, such as a GPU."""
    is_readable = isinstance(values, np.ndarray) or not hasattr(
        values, "__dlpack_device__"
    )
    if is_readable or not getattr(values, "ndim", 0):
        return False
    try:
        np.asarray(values[:0, ...])
        return bool(values.__dlpack_device__()[0] != _HOST)
    except (RuntimeError, TypeError, ValueError):
        return True


def _fetch(array: Any, name: str) -> Array:
    """Copy an array to the host."""
    try:
        return np.array(np.from_dlpack(array, device="cpu"))
    except Exception as error:  # libraries raise different errors
        raise TypeError(
            f"{name} must be an array that can be copied to the host, got "
            f"{type(array).__name__}: {error}"
        ) from error


def are_in_blocks(columns: Mapping[str, Any]) -> bool:
    """Whether any column is a Dask array."""
    return "dask.array" in sys.modules and any(map(_is_in_blocks, _arrays(columns)))


def read_blocks(
    read: Callable[..., Sample], columns: Mapping[str, Any], several: bool, design: Any
) -> Sample:
    """Read blocks of Dask arrays in parallel, and add the resulting samples.

    The first Dask array determines the blocks. All other arrays, including arrays in
    memory, are divided at the same rows. The default scheduler of Dask reads the
    blocks. Samples are added in the order of the blocks.

    Parameters
    ----------
    read : callable
        Function that creates a sample from columns in memory. The columns are passed as
        keyword arguments.
    columns : mapping of str to arrays
        Mapping from parameters to columns. The first parameter is the truth. For a
        parameter with several columns, the value is a mapping of columns. For a
        parameter that is not used, the value is None.
    several : bool
        Whether more than two labels are accepted.
    design : object or None
        Sampling design. Only None is supported.
    """
    import dask

    kind = "Dask arrays, whose blocks are read separately"
    check_mutually_exclusive(kind, {"design": design}, "; compute them first")
    truth = next(iter(columns))
    rows = next(filter(_is_in_blocks, _arrays(columns))).chunks[0]
    blocks = _converted(columns, partial(_cut, rows=rows, truth=truth))
    reader = dask.delayed(read, pure=False)  # sent once, for all blocks

    def block(k: int) -> dict[str, Any]:
        return _converted(blocks, lambda parts, _: parts[k])

    read_block = dask.delayed(_read_block, pure=False)
    tasks = [read_block(reader, k, block(k)) for k in range(len(rows))]
    total = SampleSum(several=several)
    none = ValueError(f"{truth} must contain at least one row, got none")
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
    """Read a sample from one block of rows.

    Returns None for a block without rows. If all weights in the block are zero, returns
    the error instead of raising it.
    """
    if not len(next(iter(columns.values()))):
        return None
    with task(f"block {k}"):
        try:
            return read(**columns)
        except AllZeroError as error:
            return error


def _is_in_blocks(values: Any) -> bool:
    return hasattr(type(values), "__dask_graph__") and hasattr(values, "rechunk")


def _cut(values: Any, name: str, rows: tuple[float, ...], truth: str) -> list[Any]:
    """Cut an array into blocks of rows.

    `rows` contains the sizes of the blocks, which are NaN if unknown.
    """
    import dask.array

    array = values
    if not _is_in_blocks(values):
        array = dask.array.from_array(as_array(values, name, "an array"), -1)
    sizes = array.chunks[0]
    if np.isnan([*rows, *sizes]).any():
        if len(sizes) != len(rows):
            raise ValueError(
                f"{name} must have {len(rows)} blocks, as many as {truth}, got "
                f"{len(sizes)}. Some sizes of blocks are unknown; call the method "
                "compute_chunk_sizes of the Dask arrays first"
            )
        rows = sizes
    elif sum(rows) != sum(sizes):
        raise ValueError(
            f"{name} must have as many rows as {truth}, {sum(rows)}, got {sum(sizes)}"
        )
    whole = dict.fromkeys(range(1, array.ndim), -1)
    blocks = array.rechunk({0: rows, **whole}).to_delayed().ravel().tolist()
    if (names := column_names(values)) is None:
        return blocks
    return [
        dask.delayed(NamedArray.from_columns, pure=False)(block, names)
        for block in blocks
    ]
