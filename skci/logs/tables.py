"""Tables with a row for each grade: JSON lines, arrays of JSON objects and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skci.data.items import UNNAMED
from skci.logs.files import LogFile
from skci.logs.rows import Row

_ALIASES = {
    "model": "model model_name system",
    "task": "task task_name benchmark dataset",
    "item": "item item_id question_id sample_id doc_id instance_id example_id id",
    "run": "run epoch seed trial repeat attempt",
    "scorer": "scorer metric grader judge",
    "grade": "grade score correct is_correct reward passed",
    "group": "group cluster",
}
"""Accepted names of columns, in order of precedence."""


def _columns(keys: Sequence[str]) -> dict[str, str]:
    """Map fields of a row to the columns of a table."""
    lower = {key.lower(): key for key in reversed(keys)}
    found = {
        name: next((lower[x] for x in aliases.split() if x in lower), None)
        for name, aliases in _ALIASES.items()
    }
    return {name: key for name, key in found.items() if key is not None}


def recognises(file: LogFile) -> bool:
    """Whether a file is a table with a column of items and one of grades."""
    is_array = file.head.lstrip().startswith("[")
    is_table = is_array or not file.is_document
    return is_table and {"item", "grade"} <= _columns(file.keys).keys()


def rows(file: LogFile) -> Iterator[Row]:
    """Read grades; without a column the model has the name of the file."""
    columns = _columns(file.keys)
    defaults = {"model": file.path.stem, "task": "", "run": "1", "scorer": UNNAMED}
    named = [name for name in defaults if name in columns] + ["item"]
    for record, line in file.records():
        texts = {name: str(file.field(record, columns[name], line)) for name in named}
        grade = file.field(record, columns["grade"], line)
        group = record.get(columns["group"]) if "group" in columns else ""
        yield Row(
            line, grade=grade, group=group, metadata=(record,), **defaults | texts
        )
