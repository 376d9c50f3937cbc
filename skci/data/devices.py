"""Arrays on devices: counted there through the array API, or copied to the host."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from skci._arrays import Array
from skci.data.columns import by_name, listed, map_columns

_HOST = 1  # kDLCPU of DLPack
_MOST_CODES = 2**31  # largest number of joint outcomes that any integers can number


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
    named = by_name(columns)
    arrays = listed(named)
    remote = {name: array for name, array in arrays.items() if _is_on_device(array)}
    if not remote:
        return dict(columns)
    fetched: dict[str, Array] = {}
    counts = None
    if counted and _can_be_counted(named, arrays, remote):
        fetched, counts = _count(remote)
    if counts is None:
        fetched = {name: _fetch(array, name) for name, array in remote.items()}
    found = map_columns(lambda array, name: fetched.get(name, array), named)
    return dict(columns) | found | ({} if counts is None else {"counts": counts})


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


def _can_be_counted(
    named: Mapping[str, Any], arrays: Mapping[str, Any], remote: Mapping[str, Any]
) -> bool:
    """Whether all columns can be counted together, on one device."""
    if len(remote) < len(arrays):
        return False
    weighted = not {"sample_weight", "counts"}.isdisjoint(named)
    kinds = {(type(x), str(x.device), tuple(x.shape)) for x in remote.values()}
    return not weighted and len(kinds) == 1 and next(iter(remote.values())).ndim == 1


def _count(columns: Mapping[str, Any]) -> tuple[dict[str, Array], Array | None]:
    """Count the distinct rows of columns on a device; None if there are too many."""
    xp = _array_namespace()(*columns.values())
    distinct: list[Array] = []  # values of each column in the distinct rows so far
    row: Any = 0  # number of the distinct row that each row is
    for name, column in columns.items():
        values, code = xp.unique_inverse(column)
        n_values = int(values.shape[0])
        n_rows = len(distinct[0]) if distinct else 1
        if n_values * n_rows > _MOST_CODES:
            return {}, None
        found, row = xp.unique_inverse(row * n_values + code)
        before, last = np.divmod(_fetch(found, name), n_values)
        distinct = [each[before] for each in distinct]
        distinct.append(_fetch(values, name)[last])
    counts = _fetch(xp.unique_counts(row)[1], "counts")
    return dict(zip(columns, distinct, strict=True)), counts


def _array_namespace() -> Any:
    try:
        from sklearn.externals.array_api_compat import array_namespace
    except ImportError:  # scikit-learn needs it as a package of its own
        from array_api_compat import array_namespace
    return array_namespace


def _fetch(array: Any, name: str) -> Array:
    """Copy an array to the host."""
    try:
        return np.array(np.from_dlpack(array, device="cpu"))
    except Exception as error:  # each library has its own
        raise TypeError(
            f"{name} must be an array that can be copied to the host, got "
            f"{type(array).__name__}: {error}"
        ) from error
