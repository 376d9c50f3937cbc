"""Tables with a row for each grade: JSON lines, arrays of JSON objects and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skci.data.items import UNNAMED
from skci.logs.files import LogFile, LogFormat, Sample

_ALIASES = {
    "model": "model model_name system",
    "task": "task task_name benchmark dataset",
    "item": "item item_id question_id sample_id doc_id instance_id example_id id "
    "question",
    "run": "run epoch seed trial repeat attempt",
    "scorer": "scorer metric grader judge",
    "grade": "grade score correct is_correct reward passed pass accuracy",
    "group": "group cluster",
}
"""Accepted names of columns, in order of precedence."""
_NEEDED = "item", "grade"


def _columns(keys: Sequence[str]) -> dict[str, str]:
    """Return the name of the column for each field, such as "item" and "grade"."""
    lower = {key.lower(): key for key in reversed(keys)}
    columns = {
        name: next((lower[x] for x in aliases.split() if x in lower), None)
        for name, aliases in _ALIASES.items()
    }
    return {name: key for name, key in columns.items() if key is not None}


def _recognises(file: LogFile) -> bool:
    return file.has_records and {*_NEEDED} <= _columns(file.keys).keys()


def lacking(file: LogFile) -> ValueError:
    """Return the error for a table that has no column of items or of grades."""
    kind, line = "column", 1
    if file.kind != "table":
        kind, line = "field", next((line for _, line in file.records()), 1)
    name = next(name for name in _NEEDED if name not in _columns(file.keys))
    accepted = ", ".join(_ALIASES[name].split())
    names = ", ".join(file.keys) or "none"
    return file.error(
        line, f"no {kind} for the {name} (one of {accepted}); the {kind}s are {names}"
    )


def _samples(file: LogFile) -> Iterator[Sample]:
    """Yield the grades in the rows of a table.

    If there is no column for models, the model is named after the file.
    """
    columns = _columns(file.keys)
    defaults = {"model": file.stem, "task": "", "item": "", "run": "1"}
    defaults["scorer"] = UNNAMED
    named = [(columns.get(name), default) for name, default in defaults.items()]
    for record, line in file.records():
        model, task, item, run, scorer = [
            str(file.field(record, column, line)) if column else default
            for column, default in named
        ]
        grades = [(scorer, file.field(record, columns["grade"], line))]
        group = record.get(columns["group"]) if "group" in columns else ""
        yield Sample(line, model, task, item, run, grades, group, (record,))


FORMAT = LogFormat("tables in CSV or JSON", _recognises, _samples)
