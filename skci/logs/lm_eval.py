"""Samples of lm-evaluation-harness, as written with ``--log_samples``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skci.logs.files import LogFile
from skci.logs.rows import Row

_TIME = r"\d{4}-\d\d-\d\dT[\d.:-]+"
_NAME = re.compile(rf"samples_(?P<task>.+?)(_(?P<time>{_TIME}))?")
_RESULTS = re.compile(rf"results_{_TIME}\.json")
_FIELDS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
    *("metrics", "doc_hash", "prompt_hash", "target_hash"),
}
"""Fields that are no metrics, in files without a list of these."""
_NO_FILTER = "none"


def recognises(file: LogFile) -> bool:
    """Whether a file has samples of lm-evaluation-harness."""
    return file.is_lines and {"doc_id", "doc", "resps"} <= {*file.keys}


def accompanies(file: LogFile) -> bool:
    """Whether a file has the results of an evaluation, which are means."""
    is_named = _RESULTS.fullmatch(file.path.name) is not None
    return is_named or (file.is_document and {"results", "versions"} <= {*file.keys})


def rows(file: LogFile) -> Iterator[Row]:
    """Read the metrics of documents, by filter."""
    named = _NAME.fullmatch(file.path.stem)
    task = named["task"] if named else file.path.stem
    model = _model(file, named["time"] if named else None)
    for record, line in file.records():
        item, doc = (file.field(record, name, line) for name in ("doc_id", "doc"))
        row = Row(line, model, task, str(item), metadata=(doc,))
        names = file.field(record, "metrics", line, list, [])
        names = names or [k for k in record if k not in _FIELDS]
        for name in names:
            file.check(name, str, line, "a member of 'metrics' ")
        found = file.field(record, "filter", line, str, _NO_FILTER)
        suffix = "" if found == _NO_FILTER else f"/{found}"
        values = {f"{name}{suffix}": file.field(record, name, line) for name in names}
        # Metrics that are not aggregated by a mean have lists.
        grades = {k: x for k, x in values.items() if not isinstance(x, list | dict)}
        if not grades:
            must = f"must have a metric that is a mean over documents, got {names}"
            raise file.error(line, must)
        for scorer, grade in grades.items():
            yield row._replace(scorer=scorer, grade=grade)


def _model(file: LogFile, time: str | None) -> str:
    """Name of the model in the results beside the samples, or else of the folder."""
    folder = file.path.absolute().parent
    results = LogFile(folder / f"results_{time}.json")
    if results.path.exists():
        for name, value, _ in results.members():
            if name == "model_name" and value:
                return str(value)
    return folder.name
