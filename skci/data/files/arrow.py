"""Parquet and Arrow files."""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.files.table import Chunk, TableFile


class ArrowChunk(Chunk):
    """Some rows of an Arrow table."""

    def __init__(self, path: str, batch: Any, first_row: int) -> None:
        self._path, self._batch, self._first_row = path, batch, first_row

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def _column(self, name: str) -> Any:
        column = self._batch.column(name)
        decode = getattr(column, "dictionary_decode", None)
        return decode() if decode else column

    def encoded(self, column: str) -> tuple[list[Any], Array]:
        values = self._column(column)
        try:
            encoded = values.dictionary_encode("encode")
        except NotImplementedError as error:
            raise self.error(
                0, f"column {column!r} holds values of type {values.type}"
            ) from error
        return encoded.dictionary.to_pylist(), np.asarray(encoded.indices)

    def are_numbers(self, truth: str, predicted: Sequence[str]) -> bool:
        return not any(isinstance(value, str) for value in self.encoded(truth)[0])

    def numbers(self, column: str) -> Array:
        values = self._column(column)
        kind = str(values.type)
        if not kind.startswith(("int", "uint", "float", "double", "half", "decimal")):
            raise self.error(0, f"column {column!r} holds {kind}, not numbers")
        numbers = np.asarray(values.cast("float64", safe=False).fill_null(math.nan))
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int(np.argmin(finite))
            value = values[row].as_py()
            got = "has no value" if value is None else f"holds {value}"
            raise self.error(row, f"column {column!r} {got}")
        return numbers

    def error(self, row: int, problem: str) -> ValueError:
        return ValueError(f"{self._path}, row {self._first_row + row + 1}: {problem}")


class ParquetFile(TableFile):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        parquet = _pyarrow().parquet
        self._stream = open(path, "rb")  # noqa: SIM115
        try:
            self._file = parquet.ParquetFile(self._stream)
        except (OSError, ValueError) as error:
            self.close()
            raise ValueError(f"{path} is not a Parquet file: {error}") from error
        self.columns = list(self._file.schema_arrow.names)
        self._n_read = 0

    def close(self) -> None:
        self._stream.close()

    @property
    def progress(self) -> float | None:
        return self._n_read / max(self._file.metadata.num_rows, 1)

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        self.check_columns(columns)
        batches = self._file.iter_batches(self.chunk_rows, columns=list(columns))
        for batch in _unbroken(self.path, batches):
            chunk = ArrowChunk(self.path, batch, self._n_read)
            self._n_read += len(chunk)
            if len(chunk):
                yield chunk


class ArrowFile(TableFile):
    """An Arrow file, such as of Feather, or a stream of the endings ``.arrows``."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        ipc = _pyarrow().ipc
        self._stream = open(path, "rb")  # noqa: SIM115
        is_stream = Path(path).suffix.lower() == ".arrows"
        try:
            reader = ipc.open_stream if is_stream else ipc.open_file
            self._reader = reader(self._stream)
        except (OSError, ValueError) as error:
            self.close()
            kind = "stream" if is_stream else "file"
            raise ValueError(f"{path} is not an Arrow {kind}: {error}") from error
        self.columns = list(self._reader.schema.names)

    def close(self) -> None:
        self._stream.close()

    @property
    def progress(self) -> float | None:
        return self._stream.tell() / max(os.fstat(self._stream.fileno()).st_size, 1)

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        self.check_columns(columns)
        n_read = 0
        for batch in _unbroken(self.path, self._batches()):
            selected = batch.select(list(columns))
            for start in range(0, batch.num_rows, self.chunk_rows):
                part = selected.slice(start, self.chunk_rows)
                yield ArrowChunk(self.path, part, n_read + start)
            n_read += batch.num_rows

    def _batches(self) -> Iterator[Any]:
        if hasattr(self._reader, "get_batch"):
            numbers = range(self._reader.num_record_batches)
            return (self._reader.get_batch(k) for k in numbers)
        return iter(self._reader)


def _unbroken(path: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Name the file in errors of reading it."""
    try:
        yield from batches
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _pyarrow() -> Any:
    """Import pyarrow, which only files of its kinds need."""
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files need pyarrow: pip install 'skci[arrow]'; CSV "
            "files do not"
        ) from error
    return pyarrow
