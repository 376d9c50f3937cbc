"""CSV files, and how their text is read as labels and numbers."""

from __future__ import annotations

import csv
import io
import math
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from skci._arrays import Array
from skci._validation import whole
from skci.data.files.table import Chunk, TableFile

STANDARD_INPUT = "-"

_BLOCK_ROWS = 512  # so few that no garbage collection is due for them
_MISSING = {"na", "n/a", "nan", "<na>", "null"}  # in lower case; empty cells are too
_BOOLEANS = {"true": True, "false": False}
_UNCLOSED = ("unexpected end of data", "field larger than field limit")


class CsvFile(TableFile):
    """A CSV file in UTF-8 with a header; blank lines are skipped."""

    def __init__(self, path: str, delimiter: str, as_text: bool) -> None:
        super().__init__(path)
        self._as_text = as_text
        self._file = self._open()
        try:
            self._reader = csv.reader(
                self._file, delimiter=delimiter, skipinitialspace=True, strict=True
            )
            rows = self._read(1)
            while rows == [[]]:
                rows = self._read(1)
        except BaseException as error:
            self.close()
            if isinstance(error, TypeError):
                raise ValueError(
                    f"the delimiter must be one character, got {delimiter!r}"
                ) from error
            raise
        if not rows:
            self.close()
            raise ValueError(f"{path} must have a header and rows, got an empty file")
        self.columns = rows[0]

    def _open(self) -> TextIO:
        if self.path == STANDARD_INPUT:
            self.path, binary = "standard input", sys.stdin.buffer
            return io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        return open(self.path, encoding="utf-8-sig", newline="")

    def close(self) -> None:
        self._file.close()

    @property
    def progress(self) -> float | None:
        try:
            size = os.fstat(self._file.fileno()).st_size
            return os.lseek(self._file.fileno(), 0, os.SEEK_CUR) / size
        except (OSError, ZeroDivisionError):  # a pipe
            return None

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        self.check_columns(columns)
        wanted = [self.columns.index(column) for column in columns]
        chunk = CsvChunk(self.path, columns, self._as_text)
        for lines, rows in self._blocks():
            cells = list(zip(*rows, strict=True))
            chunk.add(lines, [cells[k] for k in wanted])
            if len(chunk) >= self.chunk_rows:
                yield chunk
                chunk = CsvChunk(self.path, columns, self._as_text)
        if len(chunk):
            yield chunk

    def _blocks(self) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        """Read a few rows at a time, with the line of each."""
        line = self._reader.line_num + 1
        while rows := self._read(_BLOCK_ROWS):
            lines: Sequence[int] = range(line, line + len(rows))
            line = self._reader.line_num + 1
            if line != lines[-1] + 1 or [] in rows:
                n_lines = (1 + sum(map(_line_breaks, row)) for row in rows)
                starts = accumulate(n_lines, initial=lines[0])
                lines = [start for row, start in zip(rows, starts, strict=False) if row]
                rows = [row for row in rows if row]
            self._check_lengths(lines, rows)
            if rows:
                yield lines, rows

    def _check_lengths(self, lines: Sequence[int], rows: list[list[str]]) -> None:
        width = len(self.columns)
        if set(map(len, rows)) <= {width}:
            return
        for line, row in zip(lines, rows, strict=True):
            if len(row) != width:
                raise ValueError(
                    f"{self.path}, line {line}: the row has {len(row)} fields, but the "
                    f"header has {width}"
                )

    def _read(self, n_rows: int) -> list[list[str]]:
        try:
            return list(islice(self._reader, n_rows))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self._undecodable()} is not UTF-8 text; convert the file, as by "
                "iconv -t UTF-8"
            ) from error
        except csv.Error as error:
            hint = "; is a quotation mark not closed?"
            unclosed = str(error).startswith(_UNCLOSED)
            raise ValueError(
                f"{self.path}, line {self._reader.line_num}: {error}{hint * unclosed}"
            ) from error

    def _undecodable(self) -> str:
        """Name the first line that is not UTF-8, if the file can be read again."""
        if Path(self.path).is_file():
            with open(self.path, "rb") as file:
                for number, line in enumerate(file, 1):
                    try:
                        line.decode("utf-8")
                    except UnicodeDecodeError:
                        return f"{self.path}, line {number},"
        return self.path


class CsvChunk(Chunk):
    """Some rows of a CSV file."""

    of_missing = "; --text takes it as it is"

    def __init__(self, path: str, columns: Sequence[str], as_text: bool) -> None:
        self._path, self._as_text = path, as_text
        self._lines: list[Sequence[int]] = []
        self._columns: dict[str, list[str]] = {column: [] for column in columns}
        self._n_rows = 0

    def add(self, lines: Sequence[int], cells: Sequence[Sequence[str]]) -> None:
        """Add rows, by column, and the lines they are in."""
        self._lines.append(lines)
        self._n_rows += len(lines)
        for column, more in zip(self._columns.values(), cells, strict=True):
            column += more

    def __len__(self) -> int:
        return self._n_rows

    def encoded(self, column: str) -> tuple[list[Any], Array]:
        cells = self._columns[column]
        position = {text: k for k, text in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(
            map(position.__getitem__, cells), dtype=np.intp, count=len(cells)
        )
        return list(position), codes

    def is_missing(self, value: str) -> bool:
        return not value or (not self._as_text and value.strip().lower() in _MISSING)

    def are_numbers(self, truth: str, predicted: Sequence[str]) -> bool:
        if self._as_text or self._has_numbers(truth):
            return not self._as_text
        for column in predicted:
            if self._has_numbers(column):
                raise ValueError(
                    f"{self._path} must hold labels of one type, got numbers in column "
                    f"{column!r} and text in {truth!r}; --text takes all as text"
                )
        return False

    def _has_numbers(self, column: str) -> bool:
        values, _ = self.encoded(column)
        return all(self.is_missing(x) or parse_number(x) is not None for x in values)

    def as_label(self, value: Any, numeric: bool) -> Any:
        number = None if self._as_text else parse_number(value)
        if numeric and number is None:
            raise ValueError(
                f"{value!r}, but other labels are numbers; --text takes all as text"
            )
        return number if numeric or isinstance(number, float) else value

    def numbers(self, column: str) -> Array:
        cells = self._columns[column]
        try:
            numbers = np.array(list(map(float, cells)))
            if np.isfinite(numbers).all():
                return numbers
        except ValueError:
            pass
        row = next(k for k, text in enumerate(cells) if not _is_finite(text))
        got = f"holds {cells[row]!r}, not a number" if cells[row] else "has no value"
        raise self.error(row, f"column {column!r} {got}")

    def error(self, row: int, problem: str) -> ValueError:
        line = next(islice(chain.from_iterable(self._lines), row, None))
        return ValueError(f"{self._path}, line {line}: {problem}")


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _line_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def parse_number(text: str) -> int | float | bool | None:
    """Read a number or a boolean; whole numbers are integers; None if it is neither."""
    lower = text.strip().lower()
    if lower in _BOOLEANS:
        return _BOOLEANS[lower]
    try:
        number = float(text) if "_" not in text else math.nan
        if not math.isfinite(number):
            return None
        return int(text) if lower.lstrip("+-").isdecimal() else whole(number)
    except ValueError:
        return None
