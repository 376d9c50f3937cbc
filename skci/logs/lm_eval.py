"""Samples of lm-evaluation-harness, as written with ``--log_samples``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from skci.data.items import PERPLEXITY, RATIO, SHARE
from skci.logs.files import (
    Grade,
    LogFile,
    LogFormat,
    Sample,
    Statement,
    is_number,
    within,
)

_TIME = r"\d{4}-\d\d-\d\dT[\d.:-]+"
_NAME = re.compile(rf"samples_(?P<task>.+?)(_(?P<time>{_TIME}))?")
_RESULTS = re.compile(rf"results_(?P<time>{_TIME})\.json")
_FIELDS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
    *("metrics", "doc_hash", "prompt_hash", "target_hash"),
}
"""Fields that are not metrics. They identify the metrics in files without a list."""
_NO_FILTER = "none"
_MEANS = "mean", "nanmean"
_DEFAULTS = {
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "bypass": "bypass",
}
"""Default aggregation of each metric that is not averaged."""
_CORPUS = {
    **{name: name for name in ("f1", "bleu", "chrf", "ter", "brier_score", "bypass")},
    "mcc": "matthews_corrcoef",
    "median": "median",
}
"""Aggregation of each metric that is computed from all documents at once."""
_KNOWN = {*_MEANS, *_DEFAULTS.values(), *_CORPUS.values()}


def _samples(file: LogFile) -> Iterator[Sample | Statement]:
    """Yield the metrics of each document, and the numbers that the harness printed.

    A scorer is a metric with the filter that was applied to the answers.
    """
    named = _NAME.fullmatch(file.stem)
    task = named["task"] if named else file.stem
    results = _results(file, named["time"] if named else None)
    model = str(results.get("model_name") or file.path.absolute().parent.name)
    metrics: dict[str, tuple[str, str]] = {}  # metric name and filter, by scorer
    aggregations: dict[str, str | None] = {}
    documents = set()
    for record, line in file.records():
        item, doc = (file.field(record, name, line) for name in ("doc_id", "doc"))
        documents.add(str(item))
        names = file.field(record, "metrics", line, list, [])
        names = names or [k for k in record if k not in _FIELDS]
        if not names:
            raise file.error(line, "must have a metric, got none")
        by = file.field(record, "filter", line, str, _NO_FILTER)
        grades = []
        for name in names:
            file.check(name, str, line, "a member of 'metrics' ")
            scorer = name if by == _NO_FILTER else f"{name}/{by}"
            metrics[scorer] = name, by
            if name not in aggregations:
                aggregations[name] = _aggregation(results, task, name)
            value = file.field(record, name, line)
            grades.append((scorer, _grade(value, name, aggregations[name])))
        yield Sample(line, model, task, str(item), grades=grades, metadata=(doc,))
    n_stated = within(results, "n-samples", task, "effective")
    is_complete = file.is_complete(len(documents), n_stated, f" of task {task!r}")
    for scorer, (name, by) in metrics.items():
        better = within(results, "higher_is_better", task, name)
        better = better if isinstance(better, bool) else None
        number = within(results, "results", task, f"{name},{by}")
        if is_complete and is_number(number) and not math.isnan(number):
            printed = f"{number:.6g}", [number]
            yield Statement(task, scorer, "", *printed, higher_is_better=better)
        else:
            yield Statement(task, scorer, higher_is_better=better)


def _aggregation(results: dict[str, Any], task: str, name: str) -> str | None:
    """Return the aggregation that the results state for a metric, or the default."""
    listed = within(results, "configs", task, "metric_list")
    stated = [
        within(metric, "aggregation")
        for metric in (listed if isinstance(listed, list) else [])
        if within(metric, "metric") == name
    ]
    return stated[0] if _KNOWN.intersection(stated[:1]) else _DEFAULTS.get(name)


def _grade(value: Any, name: str, by: str | None) -> Any:
    """Return the grade of a document.

    `by` is the aggregation of the metric, or None if the aggregation is unknown.
    """
    is_list = isinstance(value, list)
    if value is None and by not in _CORPUS.values():
        return None
    if by == "perplexity" and is_number(value):
        return Grade(-value, function=PERPLEXITY)
    if by in ("weighted_perplexity", "bits_per_byte"):
        if is_list and len(value) == 2 and all(map(is_number, value)) and value[1] > 0:
            loss, size = -value[0] / value[1], value[1]
            if by == "bits_per_byte":
                return Grade(loss / math.log(2), size, RATIO)
            return Grade(loss, size, PERPLEXITY)
    elif is_list and not (by or name in _CORPUS):
        if all(isinstance(entry, bool) for entry in value):
            return Grade(sum(value) / max(len(value), 1), len(value), SHARE)
    elif not isinstance(value, list | dict) and by in (None, *_MEANS):
        return value
    by = by or _CORPUS.get(name)
    how = f"by {by}" if by else "from lists"
    refused = f"the harness computes one number from all documents at once, {how}"
    return Grade(value, refused=refused)


def _results(file: LogFile, time: str | None) -> dict[str, Any]:
    """Return the content of the results file that belongs to a file of samples.

    `time` is the time in the names of both files.
    """
    for ending in ("", ".gz"):
        path = file.path.with_name(f"results_{time}.json{ending}")
        if path.exists():
            return {name: value for name, value, _ in LogFile(path).members()}
    return {}


def _accompanies(file: LogFile) -> bool:
    """Whether a file contains the results of an evaluation, without samples."""
    has_results = file.kind == "document" and {"results", "versions"} <= {*file.keys}
    return has_results or _RESULTS.fullmatch(file.name) is not None


FORMAT = LogFormat(
    "lm-evaluation-harness",
    lambda file: file.kind == "lines" and {"doc_id", "doc", "resps"} <= {*file.keys},
    _samples,
    _accompanies,
)
