"""Results of SWE-bench: summaries of runs, and reports of single instances."""

from __future__ import annotations

from collections.abc import Iterator

from skci.logs.files import LogFile
from skci.logs.rows import Row

_TASK, _SCORER = "SWE-bench", "resolved"
_IDS = {
    **dict.fromkeys(("unresolved_ids", "empty_patch_ids", "error_ids"), 0.0),
    "resolved_ids": 1.0,
}
_PREDICTION = {"instance_id", "model_name_or_path", "model_patch"}


def recognises(file: LogFile) -> bool:
    """Whether a file is a summary of a run, or the report of an instance."""
    is_report = file.name == "report.json" and '"patch_exists"' in file.head
    return file.is_document and (is_report or "total_instances" in file.keys)


def accompanies(file: LogFile) -> bool:
    """Whether a file has predictions, before they are evaluated."""
    return file.has_records and {*file.keys} == _PREDICTION


def rows(file: LogFile) -> Iterator[Row]:
    """Read which instances are resolved; those without a prediction have no grade."""
    if file.name != "report.json":
        yield from _summary(file)
        return
    *_, run, model, _ = file.path.absolute().parent.parts
    for item, value, line in file.members():
        grade, metadata = file.field(value, _SCORER, line), _metadata(item)
        yield Row(line, model, _TASK, item, run, _SCORER, grade, metadata=metadata)


def _summary(file: LogFile) -> Iterator[Row]:
    model, _, run = file.stem.rpartition(".")
    held: set[str] = set()
    n_instances = None
    for name, items, line in file.members():
        if name == "total_instances":
            n_instances = items
        if name not in _IDS and name != "incomplete_ids":
            continue
        for item in file.check(items, list, line, f"the field {name!r} "):
            held.add(file.check(item, str, line, f"a member of {name!r} "))
            row = Row(line, model, _TASK, item, run, metadata=_metadata(item))
            if name in _IDS:
                row = row._replace(scorer=_SCORER, grade=_IDS[name])
            yield row
    file.check_count(len(held), n_instances)


def _metadata(item: str) -> tuple[dict[str, str]]:
    """Repository of an instance such as "django__django-11039"."""
    return ({"repo": item.rpartition("-")[0].replace("__", "/")},)
