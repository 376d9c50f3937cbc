"""Files of named columns, as batches of rows for `skci.data.frames.Frame`.

CSV files are read by the standard library, Parquet and Arrow files by pyarrow.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._packages import optional_module
from skci.data.frames import shown_names

STANDARD_INPUT = "-"

_BATCH_ROWS = 1 << 16
_BLOCK_ROWS = 1 << 9  # small enough to avoid garbage collection
_ARROW_FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "ipc"),
    ".arrows": "stream",
}
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
MISSING = frozenset({"", "na", "n/a", "nan", "<na>", "null"})  # in lower case
_BOOLEANS = {"true": True, "false": False}


def read_batches(
    path: str,
    columns: Sequence[str],
    *,
    text_columns: Collection[str] = (),
    item_columns: Collection[str] = (),
    delimiter: str | None = None,
    only_empty_is_missing: bool = False,
    batch_rows: int | None = None,
    growing: bool = False,
) -> Iterator[Any]:
    """Read columns of a file in batches of rows.

    Parameters
    ----------
    path : str
        Name of a Parquet file, an Arrow file, or a CSV file in UTF-8 with a header. The
        extension determines the format. Files with other extensions are read as CSV.
        "-" reads CSV from standard input.
    columns : sequence of str
        Names of the columns to read.
    text_columns : collection of str
        Columns of a CSV file that contain text. In other columns, cells that look like
        numbers become numbers, and `true` and `false` become booleans.
    item_columns : collection of str
        Columns of a CSV file in which every cell is an item, such as a text. Cells are
        read as strings, and an empty cell is an empty string, not a missing value.
    delimiter : str, optional
        Delimiter of a CSV file. Defaults to a tab for ``.tsv`` and ``.tab`` files, and
        to a comma for other files.
    only_empty_is_missing : bool, default=False
        Whether only empty cells of a CSV file are missing. By default, the cells NA,
        N/A, nan and null are also missing.
    batch_rows : int, optional
        Maximum number of rows in a batch.
    growing : bool, default=False
        Whether to skip the last row of a CSV file if the row has no end of line. Such a
        row may be incomplete in a file that is still written.

    Yields
    ------
    mapping of str to ndarray of shape (n,), or pyarrow.RecordBatch

    Raises
    ------
    ValueError
        If the file does not have the expected format, or a column is missing or occurs
        twice.
    ImportError
        If the file requires pyarrow, which is not installed.
    """
    ending = Path(path).suffix.lower()
    missing = {""} if only_empty_is_missing else MISSING
    batch_rows = batch_rows or _BATCH_ROWS
    try:
        if delimiter is None and ending in _ARROW_FORMATS:
            kind = _ARROW_FORMATS[ending]
            yield from _arrow_batches(path, columns, kind, batch_rows)
        else:
            delimiter = delimiter or DELIMITERS.get(ending, ",")
            for cells in _csv_batches(path, columns, delimiter, batch_rows, growing):
                yield {
                    column: np.array(cells[column], dtype=object)
                    if column in item_columns
                    else _parse(cells[column], column in text_columns, missing)
                    for column in columns
                }
    except (OSError, ValueError, csv.Error) as error:
        problem = getattr(error, "strerror", None) or error
        raise ValueError(f"{path}: {problem}") from error


def _arrow_batches(
    path: str, columns: Sequence[str], kind: str, batch_rows: int
) -> Iterator[Any]:
    module = "pyarrow.ipc" if kind == "stream" else "pyarrow.dataset"
    arrow = optional_module(module, path, "arrow", "CSV files do not")
    with open(path, "rb") as file:
        if kind == "stream":
            stream = arrow.open_stream(file)
            _check_columns(columns, stream.schema.names)
            yield from stream
        else:
            dataset = arrow.dataset(path, format=kind)
            _check_columns(columns, dataset.schema.names)
            yield from dataset.to_batches([*columns], batch_size=batch_rows)


def batches_of_rows(
    rows: Iterator[Sequence[Any]], columns: Sequence[str], batch_rows: int | None = None
) -> Iterator[dict[str, Array]]:
    """Yield batches of rows, each as a dict from column names to arrays."""
    while batch := [*islice(rows, batch_rows or _BATCH_ROWS)]:
        values = map(_column, zip(*batch, strict=True))
        yield dict(zip(columns, values, strict=True))


def _column(values: Sequence[Any]) -> Array:
    """Convert values to an array.

    The dtype is object unless all values are numbers.
    """
    is_numeric = all(isinstance(value, int | float) for value in values)
    return np.array(values, dtype=None if is_numeric else object)


def _csv_batches(
    path: str, columns: Sequence[str], delimiter: str, batch_rows: int, growing: bool
) -> Iterator[dict[str, Sequence[str]]]:
    from_stdin = path == STANDARD_INPUT
    source: Any = 0 if from_stdin else path
    with open(source, encoding="utf-8-sig", newline="", closefd=not from_stdin) as file:
        rows = csv_rows(csv_reader(file, delimiter, growing), growing)
        header = next(rows, [])
        _check_columns(columns, header)
        positions = [header.index(column) for column in columns]
        while True:
            cells: list[list[str]] = [[] for _ in columns]
            remaining = islice(rows, batch_rows)
            while block := [*islice(remaining, _BLOCK_ROWS)]:
                for column, k in zip(cells, positions, strict=True):
                    column += [row[k] for row in block]
            if not cells[0]:
                return
            yield dict(zip(columns, cells, strict=True))


def csv_reader(file: Iterable[str], delimiter: str, growing: bool) -> Any:
    """Return a `csv.reader` for the lines of a file.

    If `growing` is true, a last line without an end of line is skipped, because another
    process may still write this line.
    """
    lines = (x for x in file if x.endswith(("\n", "\r"))) if growing else file
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def csv_rows(reader: Any, growing: bool) -> Iterator[list[str]]:
    """Yield each row of a CSV file as a list of texts.

    The header is the first row. Blank lines are skipped. If `growing` is true, a last
    row without an end of line is also skipped, because another process may still write
    this row.
    """
    n_fields = 0
    try:
        for row in filter(None, reader):
            n_fields = n_fields or len(row)
            if len(row) != n_fields:
                raise csv.Error(
                    f"every row must have {n_fields} fields, got {len(row)}"
                )
            yield row
    except (csv.Error, UnicodeDecodeError) as error:
        if not (growing and "unexpected end of data" in str(error)):
            is_text = isinstance(error, csv.Error)
            problem = (
                f"{error}" if is_text else f"the file must be text in UTF-8: {error}"
            )
            raise csv.Error(f"line {reader.line_num}: {problem}") from error


def _check_columns(columns: Sequence[str], header: Sequence[str]) -> None:
    for column in columns:
        if header.count(column) != 1:
            got = shown_names(header)
            raise ValueError(f"the file must have one column {column!r}, got {got}")


def _parse(cells: Sequence[str], is_text: bool, missing: Collection[str]) -> Array:
    """Convert the text cells of a column to values, and missing cells to None."""
    # Python converts "1_2" to 12, although "1_2" may be a different label.
    for number in () if is_text or "_" in "".join(cells) else (int, float):
        with suppress(ValueError):
            return np.array([*map(number, cells)])
    parse = str if is_text else parse_label
    values = {x: None if x.strip().lower() in missing else parse(x) for x in set(cells)}
    return _column([values[x] for x in cells])


def take_rows(batch: Any, start: int, stop: int) -> Any:
    """Return the rows of a batch from `start` to `stop`."""
    if isinstance(batch, dict):
        return {name: column[start:stop] for name, column in batch.items()}
    return batch.slice(start, stop - start)


def parse_label(text: str) -> int | float | str:
    """Convert text to a number or a boolean if possible."""
    lower = text.strip().lower()
    if lower in _BOOLEANS:
        return _BOOLEANS[lower]
    for number in () if "_" in text else (int, float):
        with suppress(ValueError):
            return number(text)
    return text
