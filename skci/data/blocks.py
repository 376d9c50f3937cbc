"""Dask arrays: blocks of rows are read where they are, and their samples added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skci._validation import AllZeroError, as_array
from skci.data.batches import SampleSum
from skci.data.columns import by_name, listed, map_columns
from skci.data.responses import named_error
from skci.data.sample import Sample


def are_in_blocks(columns: Mapping[str, Any]) -> bool:
    """Whether there is a Dask array among the columns of some parameters."""
    return any(map(_is_in_blocks, listed(by_name(columns)).values()))


def check_separable(columns: Mapping[str, Any]) -> None:
    """Check that blocks of rows can be read by themselves."""
    for parameter in ("strata", "prevalence"):
        if columns.get(parameter) is not None:
            raise ValueError(
                f"{parameter} must not be given with Dask arrays, whose blocks are "
                "read by themselves; compute them first"
            )


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

    truth, named = next(iter(columns)), by_name(columns)
    chunked = filter(_is_in_blocks, listed(named).values())
    rows = next(chunked).chunks[0]
    cut = map_columns(lambda array, name: _cut(array, rows, name, truth), named)
    reader = dask.delayed(read, pure=False)  # sent once, for all blocks
    tasks = [
        dask.delayed(_read_block, pure=False)(reader, k, _block(cut, k))
        for k in range(len(rows))
    ]
    total = SampleSum(several=several)
    none = ValueError(f"{truth} must hold at least one row, got none")
    for k, sample in enumerate(dask.compute(*tasks)):
        try:
            if isinstance(sample, AllZeroError):
                none = sample
            elif sample is not None:
                total.add(sample)
        except (TypeError, ValueError) as error:
            raise named_error(f"block {k}", error) from error
    if not total.parts:
        raise none
    return total.total()


def _read_block(
    read: Callable[..., Sample], k: int, columns: dict[str, Any]
) -> Sample | AllZeroError | None:
    """Read a block; None if it has no rows, the error if all have weight zero."""
    if not len(next(iter(columns.values()))):
        return None
    try:
        return read(**columns)
    except AllZeroError as error:
        return error
    except Exception as error:
        raise named_error(f"block {k}", error) from error


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
    return array.rechunk({0: rows, **whole}).to_delayed().ravel().tolist()


def _block(cut: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Block k of each column."""
    return {
        name: _block(blocks, k) if isinstance(blocks, dict) else blocks[k]
        for name, blocks in cut.items()
    }
