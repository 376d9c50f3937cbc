"""Results of SWE-bench: summaries of runs, and reports of single instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile, LogFormat, Sample

_TASK, _SCORER = "SWE-bench", "resolved"
_GRADES = {
    **dict.fromkeys(("unresolved_ids", "empty_patch_ids", "error_ids"), 0.0),
    "resolved_ids": 1.0,
    "incomplete_ids": None,
}
"""Grade of the instances in each list of instances in a summary."""
_PREDICTION = {"instance_id", "model_name_or_path", "model_patch"}


def _recognises(file: LogFile) -> bool:
    is_report = file.name == "report.json" and '"patch_exists"' in file.head
    return file.kind == "document" and (is_report or "total_instances" in file.keys)


def _samples(file: LogFile) -> Iterator[Sample]:
    if file.name == "report.json":
        *_, run, model, _ = file.path.absolute().parent.parts
        for item, value, line in file.members():
            grade = file.field(value, _SCORER, line)
            yield _sample(line, model, item, run, grade)
        return
    model, _, run = file.stem.rpartition(".")
    items_read: set[str] = set()
    n_instances = None
    for name, items, line in file.members():
        if name == "total_instances":
            n_instances = items
        if name not in _GRADES:
            continue
        for item in file.check(items, list, line, f"the field {name!r} "):
            items_read.add(file.check(item, str, line, f"a member of {name!r} "))
            yield _sample(line, model, item, run, _GRADES[name])
    file.is_complete(len(items_read), n_instances)


def _sample(line: int, model: str, item: str, run: str, grade: Any) -> Sample:
    """Return the sample of an instance, with its repository as metadata.

    The instance "django__django-11039" belongs to the repository "django/django".
    """
    metadata = ({"repo": item.rpartition("-")[0].replace("__", "/")},)
    grades = [(_SCORER, grade)]
    return Sample(line, model, _TASK, item, run, grades, metadata=metadata)


FORMAT = LogFormat(
    "SWE-bench",
    _recognises,
    _samples,
    # A file of predictions contains answers that are not yet graded.
    accompanies=lambda file: file.has_records and {*file.keys} == _PREDICTION,
)
