"""Columns of data frames by name: all rows, or counts of the distinct rows.

Data frames of all libraries are read through narwhals. Mappings of columns do not need
narwhals. If distinct rows are sufficient, the library of the frame counts them, and
only the distinct rows and their counts are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import data_hint
from skci._packages import optional_module
from skci._validation import (
    WIDE_INTEGERS,
    NamedArray,
    as_array,
    as_pairs,
    check_distinct,
    column_names,
    first_names,
    join_names,
    missing_hint,
    named_values,
    near_hint,
)
from skci.data.row_options import (
    RowOptions,
    check_counts,
    distinct_names,
    is_missing_named,
    ranks_of_categories,
)
from skci.data.rows import MISSING_SUBGROUP_HINT, answer_hint

_ROWS_AT_ONCE = 1 << 20
"""Number of rows of a stream that are grouped at a time."""
_MAX_SHOWN = 20  # columns in a message
_N_ROWS = "skci: number of rows"
_BY_NAME = ("y_pred", "y_score", "proxy", "grades", "by", "covariates")


class Frame:
    """Data frame, with the names of the columns that a report reads.

    Parameters
    ----------
    data : data frame, stream of Arrow batches or mapping of str to columns
    names : mapping of str to names of columns
        Mapping from parameters to column names. The value of a parameter is one column
        name, a list of column names, or a mapping to column names. Parameters that are
        not used have the value None.
    """

    def __init__(self, data: Any, names: Mapping[str, Any]) -> None:
        self._nw: Any = None
        if not isinstance(data, Mapping):
            self._nw = optional_module("narwhals.stable.v2", "data=", "frames")
        if hasattr(data, "iloc") or hasattr(type(data), "column_names"):
            # In-memory frames of pandas and Arrow may have duplicate names of columns.
            check_distinct(column_names(data) or (), "data", "columns")
        self._frame, column_names_of_data = self._open(data)
        self.names = {k: _parsed(k, value) for k, value in names.items()}
        self._parameters: dict[str, str] = {}
        for parameter, value in self.names.items():
            for column in leaves(value):
                _check_column(column, parameter, column_names_of_data)
                self._parameters.setdefault(column, parameter)

    def _open(self, data: Any) -> tuple[Any, list[str]]:
        """Open a data frame or a stream of batches, and return its column names."""
        kind = type(data)
        if isinstance(data, Mapping):
            return data, list(data)
        if hasattr(kind, "scanner") or hasattr(kind, "read_next_batch"):
            return data, list(data.schema.names)
        try:
            if hasattr(kind, "__arrow_c_array__"):  # a single batch
                data = self._nw.from_arrow(data, backend="pyarrow")
            frame = self._nw.from_native(data)
        except TypeError as error:
            raise TypeError(
                "data must be a data frame that narwhals supports, a mapping of "
                "columns, or an Arrow dataset or reader of batches, got "
                f"{kind.__name__}{data_hint(data, 'data')}"
            ) from error
        return frame, frame.collect_schema().names()

    def read(
        self, kinds: Collection[str], options: RowOptions, missing: Collection[str] = ()
    ) -> dict[str, Any]:
        """Read the columns of each parameter from the data.

        `kinds` are the kinds of predictions that metrics read, such as "labels". If
        metrics read no numbers, identical rows may be merged into one row. The entry
        "counts" of the result then contains the frequency of each row. Only the columns
        of parameters in `missing` may have missing values.
        """
        if isinstance(self._frame, Mapping):
            return {k: _read(_mapped, self._frame, v) for k, v in self.names.items()}
        table, is_counted = self._fetch(kinds)
        if is_missing_named(options.missing):
            missing = [*missing, "by"]
        self._check_present(table, missing, options.by_name, "labels" in kinds)
        if is_counted:  # the order of rows depends on the engine, and affects rounding
            table = _sorted(self._nw, table, list(self._parameters))
        columns = {
            parameter: _read(_native if parameter == "by" else _framed, table, value)
            for parameter, value in self.names.items()
        }
        if is_counted:
            counts = table[_N_ROWS].to_numpy().astype(np.int64)
            if columns["counts"] is not None:
                counts = counts * check_counts(columns["counts"], "counts")
            columns["counts"] = counts
        return columns

    def _fetch(self, kinds: Collection[str]) -> tuple[Any, bool]:
        """Select the columns in use, and merge identical rows where possible.

        Returns a table, and whether rows were merged. A table of merged rows has an
        additional column of frequencies.
        """
        nw, frame, names = self._nw, self._frame, list(self._parameters)
        counted = "numbers" not in kinds
        if isinstance(frame, nw.LazyFrame):
            rows = frame.select(names)
            return _collect(_grouped(nw, rows, names) if counted else rows), counted
        if isinstance(frame, nw.DataFrame):
            table = frame.select(names)
            # For numbers in memory, counting in the library is not faster. Libraries
            # cannot count lists and other objects.
            dtypes = table.schema.values()
            are_simple = all(x.is_numeric() or x == nw.Boolean for x in dtypes)
            has_objects = any(x.is_nested() or str(x) == "Object" for x in dtypes)
            if set(kinds) != {"labels"} or are_simple or has_objects:
                return table, False
            return _grouped(nw, _unified(nw, table), names), True
        batches = self._batches(frame, names)
        if counted:
            return self._count_batches(batches, names), True
        return _unified(nw, nw.concat(list(batches))), False

    def _batches(self, stream: Any, names: Sequence[str]) -> Iterator[Any]:
        """Yield the tables of an Arrow dataset or of a reader of batches."""
        if hasattr(stream, "scanner"):
            stream = stream.scanner(columns=list(names)).to_reader()
        empty = stream.schema.empty_table()
        yield self._nw.from_native(empty).select(names)
        for batch in stream:
            yield self._nw.from_arrow(batch, backend="pyarrow").select(names)

    def _count_batches(self, batches: Iterable[Any], names: Sequence[str]) -> Any:
        """Count the distinct rows of batches.

        At most about two copies of the distinct rows are in memory.
        """
        nw, n_rows = self._nw, self._nw.col(_N_ROWS).sum()
        one = nw.lit(1, nw.Int64).alias(_N_ROWS)

        def count(tables: list[Any]) -> Any:
            table = _unified(nw, nw.concat(tables))
            return table.group_by(*names, drop_null_keys=False).agg(n_rows)

        tables: list[Any] = []
        maximum = _ROWS_AT_ONCE
        for batch in batches:
            tables.append(batch.with_columns(one))
            if sum(map(len, tables)) > maximum:
                tables = [count(tables)]
                maximum = _ROWS_AT_ONCE + 2 * len(tables[0])
        return count(tables)

    def _check_present(
        self, table: Any, missing_in: Collection[str], by_name: str, are_labels: bool
    ) -> None:
        """Refuse missing values, except in parameters that `missing_in` contains."""
        for column, parameter in self._parameters.items():
            if parameter in missing_in:
                continue
            series = table[column]
            missing = series.is_null()
            if not missing.any() and series.dtype.is_float():
                missing = ~series.is_finite()
            if missing.any():
                rows = table.filter(missing)
                n, first = len(rows), f", the first in row {missing.arg_max()}"
                if _N_ROWS in rows.columns:
                    n, first = rows[_N_ROWS].sum(), ""
                name = by_name if parameter == "by" else parameter
                numbers = [0] if series.dtype.is_numeric() else []
                hint = answer_hint(name, numbers) if are_labels else ""
                raise ValueError(
                    f"{name} must have a value in every row of its column {column!r}, "
                    f"got a missing or infinite value in {n} rows{first}"
                    f"{MISSING_SUBGROUP_HINT if name == 'by' else ''}"
                    f"{missing_hint(name, None)}{hint}"
                )


def columns_of_data(
    data: Any, columns: dict[str, Any], rows: RowOptions, missing: Collection[str] = ()
) -> tuple[dict[str, Any], RowOptions]:
    """Replace column names in parameters and row options by columns of `data`.

    If `data` is None, the arguments already contain columns, and are returned
    unchanged.
    """
    if data is None:
        return columns, rows
    read = Frame(data, columns | rows.columns).read({"numbers"}, rows, missing)
    return {name: read.pop(name) for name in columns}, rows.with_columns(read)


def constant_columns(
    columns: Mapping[str, Any], group: Array, kind: str, names: Array, rows: Array
) -> dict[str, Any]:
    """Check that columns are constant within groups, and return selected rows.

    For example, a column that describes items must have one value in all rows of an
    item. `group` contains the group index of each row, and `names` contains the names
    of the groups. `rows` contains the indices of the returned rows. Columns that are
    None are left out of the result.
    """
    first = np.unique(group, return_index=True)[1][group]

    def constant(column: Any, parameter: str) -> Array:
        codes = distinct_names(column, parameter, "value", "group")[1]
        differs = codes != codes[first]
        if differs.any():
            row = int(differs.argmax())
            article = "an" if kind == "item" else "a"
            raise ValueError(
                f"{parameter} must be constant in all rows of {article} {kind}, got "
                f"{column[first[row]]!s} and {column[row]!s} for {kind} "
                f"{names[group[row]]!s}"
            )
        return np.asarray(column)[rows]

    return {
        parameter: {name: constant(column, name) for name, column in value.items()}
        if isinstance(value, Mapping)
        else constant(value, parameter)
        for parameter, value in columns.items()
        if value is not None
    }


def _parsed(parameter: str, value: Any) -> Any:
    """Check and return the column names that the user passed for a parameter.

    For a parameter with one column per model, such as "y_pred", the result is a dict
    from model names to column names.
    """
    if parameter in _BY_NAME and value is not None:
        return named_values(as_pairs(value), parameter)
    if parameter == "y_true" and isinstance(value, list | tuple):
        check_distinct(value, parameter, "columns")
        return list(value)
    return value


def leaves(value: Any) -> Iterator[Any]:
    """Yield the column names in a nested list or mapping."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for entry in value:
            yield from leaves(entry)
    elif value is not None:
        yield value


def _check_column(column: Any, parameter: str, columns: Sequence[str]) -> None:
    """Check that a parameter names an existing column."""
    if not isinstance(column, str):
        name = getattr(column, "name", None)
        raise TypeError(
            f"{parameter} must name one or more columns of data, got "
            f"{type(column).__name__}{f'; pass its name, {name!r}' * bool(name)}"
        )
    if column not in columns:
        has = shown_names(columns)
        raise ValueError(
            f"{parameter} must name a column of data, which has {has}, got {column!r}"
            f"{near_hint(column, columns)}"
        )


def shown_names(columns: Sequence[str]) -> str:
    """Return column names as text, shortened if there are many names."""
    shown = first_names([*map(repr, columns)], _MAX_SHOWN)
    return join_names(shown) if shown else "none"


def _read(take: Callable[[Any, Any], Any], table: Any, value: Any) -> Any:
    """Read the columns of a table that are named in `value`.

    If `value` is a mapping, the result is a mapping with the same keys.
    """
    if isinstance(value, Mapping):
        return {name: _read(take, table, entry) for name, entry in value.items()}
    return None if value is None else take(table, value)


def _mapped(columns: Mapping[str, Any], names: str | list[str]) -> Any:
    """Read one column of a mapping, or several columns as a matrix.

    Ordered categories are not converted.
    """
    if isinstance(names, str):
        values = columns[names]
        if ranks_of_categories(values):
            return values
        return as_array(values, f"data[{names!r}]", "an array")
    return NamedArray.from_columns(
        np.column_stack([columns[name] for name in names]), names
    )


def _framed(table: Any, names: str | list[str]) -> Any:
    """Return one column of a narwhals frame as an array, or several as a frame."""
    if not isinstance(names, str):
        return table.select(names)
    series = table[names]
    if series.is_null().any() and not series.dtype.is_float():
        # Nulls would convert integers to floats, or become Arrow dictionary values.
        return np.fromiter(series.to_list(), dtype=object, count=len(series))
    if str(series.dtype) in WIDE_INTEGERS:
        return np.asarray(series.to_list())
    return series.to_numpy()


def _native(table: Any, name: str) -> Any:
    """Return a column of a table as an array, but keep ordered categories unchanged."""
    is_ordered = str(table[name].dtype).startswith("Enum")
    return table[name].to_native() if is_ordered else _framed(table, name)


def _collect(frame: Any) -> Any:
    """Compute a lazy frame, in streaming mode if it is a polars frame."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()


def _sorted(nw: Any, table: Any, names: Sequence[str]) -> Any:
    """Sort the rows of a table by columns.

    Arrow cannot sort dictionary columns, which are therefore compared as text.
    """
    texts = [
        nw.col(name).cast(nw.String)
        for name in names
        if table.schema[name] == nw.Categorical
    ]
    if not texts:
        return table.sort(*names)
    keys = table.with_columns(*texts).with_row_index(_N_ROWS + "_order").sort(*names)
    return table[keys[_N_ROWS + "_order"].to_numpy()]


def _grouped(nw: Any, frame: Any, names: Sequence[str]) -> Any:
    """Return the distinct rows of a frame and their frequencies."""
    groups = frame.group_by(*names, drop_null_keys=False)
    return groups.agg(nw.len().alias(_N_ROWS))


def _unified(nw: Any, table: Any) -> Any:
    """Return a table in which all chunks of an Arrow column share one dictionary."""
    if not table.implementation.is_pyarrow():
        return table
    return nw.from_native(table.to_native().unify_dictionaries())
