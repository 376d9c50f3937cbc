"""What all files of named columns have: chunks of rows, and the labels in them."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array
from skci._validation import is_missing, whole


class Chunk(ABC):
    """Some rows of a file."""

    of_missing: ClassVar[str] = ""
    """What can be done about values that are taken for missing ones."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def encoded(self, column: str) -> tuple[list[Any], Array]:
        """Distinct values of a column, and the position of each row's among them."""

    @abstractmethod
    def numbers(self, column: str) -> Array:
        """Finite numbers of a column."""

    @abstractmethod
    def are_numbers(self, truth: str, predicted: Sequence[str]) -> bool:
        """Whether labels are numbers, as those of the truth are."""

    @abstractmethod
    def error(self, row: int, problem: str) -> ValueError:
        """Error of a row, which names the file and the row."""

    def is_missing(self, value: Any) -> bool:
        """Whether a value is none."""
        return is_missing(value)

    def as_label(self, value: Any, numeric: bool) -> Any:
        """Return the label that a value stands for."""
        return value

    def labels(self, column: str, numeric: bool, abstain: Any = None) -> Array:
        """Labels of a column, of numbers if `numeric`."""
        values, codes = self._present(column)
        labels = []
        for k, value in enumerate(values):
            try:
                answer = abstain is not None and value == abstain
                labels.append(
                    value if answer else check_label(self.as_label(value, numeric))
                )
            except ValueError as error:
                row = int(np.argmax(codes == k))
                raise self.error(row, f"column {column!r} holds {error}") from error
        return _array(labels)[codes]

    def names(self, column: str, may_miss: bool = False, hint: str = "") -> Array:
        """Names of groups or subgroups in a column; None for missing ones, if any."""
        if not may_miss:
            values, codes = self._present(column, hint)
            return _array(values)[codes]
        values, codes = self.encoded(column)
        return _array([None if self.is_missing(x) else x for x in values])[codes]

    def _present(self, column: str, hint: str = "") -> tuple[list[Any], Array]:
        """Encode a column that must have a value in every row, else raise a hint."""
        values, codes = self.encoded(column)
        for k, value in enumerate(values):
            if self.is_missing(value):
                row = int(np.argmax(codes == k))
                got = f"holds {value!r} for a missing value{self.of_missing}"
                if value is None or value == "":
                    got = "has no value"
                raise self.error(row, f"column {column!r} {got}{hint}")
        return values, codes


def _array(values: Sequence[Any]) -> Array:
    """Make an array of values, of Python objects if they are not all numbers."""
    if all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    if all(isinstance(value, int) for value in values):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    return np.fromiter(values, dtype=object, count=len(values))


def check_label(label: Any) -> Any:
    """Check the type of a label, and make whole floats integers."""
    if isinstance(label, float):
        label = whole(label)
    if isinstance(label, float):
        raise ValueError(f"{label}, not a class label")
    if not isinstance(label, str | Real):
        raise ValueError(f"{label!r}, neither a number nor text")
    return label


class TableFile(ABC):
    """A file of named columns, open for reading."""

    chunk_rows: ClassVar[int] = 1 << 16
    """Rows that are read at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.columns: list[str] = []

    @abstractmethod
    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read some columns of all rows, a chunk at a time."""

    @property
    @abstractmethod
    def progress(self) -> float | None:
        """Share of the file that was read; None if it is not known."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def check_columns(self, wanted: Sequence[str]) -> None:
        """Check that there are some columns, each once."""
        counts = Counter(self.columns)
        for column in wanted:
            if not counts[column]:
                raise ValueError(
                    f"{self.path} must have the column {column!r}, got the columns "
                    f"{self.columns}"
                )
            if counts[column] > 1:
                raise ValueError(
                    f"{self.path} must have the column {column!r} once, got it "
                    f"{counts[column]} times"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
