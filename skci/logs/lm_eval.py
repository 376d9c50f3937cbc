"""Samples of lm-evaluation-harness, as written with ``--log_samples``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from skci._validation import join_names
from skci.data.items import MEAN, PERPLEXITY, RATIO, SHARE
from skci.logs.files import LogFile, within
from skci.logs.rows import Aggregation, Row, as_grade, disagreement, is_number

_TIME = r"\d{4}-\d\d-\d\dT[\d.:-]+"
_NAME = re.compile(rf"samples_(?P<task>.+?)(_(?P<time>{_TIME}))?")
_RESULTS = re.compile(rf"results_(?P<time>{_TIME})\.json")
_ENDINGS = "", ".gz"
_FIELDS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
    *("metrics", "doc_hash", "prompt_hash", "target_hash"),
}
"""Fields that are no metrics, in files without a list of these."""
_NO_FILTER = "none"
_MEANS = "mean", "nanmean"
_DEFAULTS = {
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "bypass": "bypass",
}
"""Aggregations of metrics that are not averaged, unless the results name others."""
_CORPUS = {
    **{name: name for name in ("f1", "bleu", "chrf", "ter", "brier_score", "bypass")},
    "mcc": "matthews_corrcoef",
    "median": "median",
}
"""Aggregations of metrics that are computed from all documents at once."""
_KINDS = {
    MEAN: "a mean over documents",
    SHARE: "the share of true members of all lists",
    RATIO: "a mean loss",
    PERPLEXITY: "exp of a mean loss",
    "": "not a mean over documents",
}


def recognises(file: LogFile) -> bool:
    """Whether a file has samples of lm-evaluation-harness."""
    return file.is_lines and {"doc_id", "doc", "resps"} <= {*file.keys}


def accompanies(file: LogFile) -> bool:
    """Whether a file has the results of an evaluation, which are means."""
    is_named = _RESULTS.fullmatch(file.name) is not None
    return is_named or (file.is_document and {"results", "versions"} <= {*file.keys})


def rows(file: LogFile) -> Iterator[Row | Aggregation]:
    """Read the metrics of documents, by filter."""
    named = _NAME.fullmatch(file.stem)
    task = named["task"] if named else file.stem
    results = _results(file, named["time"] if named else None)
    model = str(results.get("model_name") or file.path.absolute().parent.name)
    metrics: dict[str, _Metric] = {}
    documents = set()
    for record, line in file.records():
        item, doc = (file.field(record, name, line) for name in ("doc_id", "doc"))
        documents.add(str(item))
        row = Row(line, model, task, str(item), metadata=(doc,))
        names = file.field(record, "metrics", line, list, [])
        names = names or [k for k in record if k not in _FIELDS]
        if not names:
            raise file.error(line, "must have a metric, got none")
        found = file.field(record, "filter", line, str, _NO_FILTER)
        for name in names:
            file.check(name, str, line, "a member of 'metrics' ")
            scorer = name if found == _NO_FILTER else f"{name}/{found}"
            if scorer not in metrics:
                metrics[scorer] = _Metric(task, scorer, name, found, results)
            value = file.field(record, name, line)
            grade, size = metrics[scorer].read(value, file, line)
            yield row._replace(scorer=scorer, grade=grade, size=size)
    n_stated = within(results, "n-samples", task, "effective")
    file.check_count(len(documents), n_stated, f" of task {task!r}")
    is_complete = not isinstance(n_stated, int) or len(documents) >= n_stated
    for metric in metrics.values():
        yield from metric.aggregation(is_complete)


def check_accompanying(file: LogFile) -> None:
    """Check that samples exist for all tasks in a file of results."""
    named = _RESULTS.fullmatch(file.name)
    if named is None:
        return
    results = {name: value for name, value, _ in file.members()}
    stated = within(results, "n-samples") or {}
    counts = {
        task: within(stated, task, "effective")
        for task in (stated if isinstance(stated, dict) else ())
        if not any(
            file.path.with_name(f"samples_{task}_{named['time']}.jsonl{end}").exists()
            for end in _ENDINGS
        )
    }
    lacking = {task: n for task, n in counts.items() if isinstance(n, int) and n}
    if lacking:
        of = f" of {'task' if len(lacking) == 1 else 'tasks'} {join_names([*lacking])}"
        file.check_count(0, sum(lacking.values()), of)


class _Metric:
    """A metric of a task, by a filter, and how the harness aggregates it."""

    def __init__(
        self, task: str, scorer: str, name: str, by: str, results: dict[str, Any]
    ) -> None:
        self._task, self._scorer = task, scorer
        self._printed = within(results, "results", task, f"{name},{by}")
        self._better = within(results, "higher_is_better", task, name)
        listed = within(results, "configs", task, "metric_list")
        stated = [
            within(each, "aggregation")
            for each in (listed if isinstance(listed, list) else [])
            if within(each, "metric") == name
        ]
        known = {*_MEANS, *_DEFAULTS.values(), *_CORPUS.values()}
        default = _DEFAULTS.get(name)
        self._by = stated[0] if known.intersection(stated[:1]) else default
        self._of_lists = _CORPUS.get(name)
        self._function: str | None = None  # until a sample has a value
        self._total = self._size = 0.0

    def read(self, value: Any, file: LogFile, line: int) -> tuple[float, float]:
        """Read the value of a sample: its grade, and of how many units it is a mean."""
        if value is None and self._by not in _CORPUS.values():
            return math.nan, 1.0
        function, grade, size = self._parse(value)
        if self._function is None:
            self._function = function
        if function != self._function:
            kind = _KINDS[self._function]
            must = f"{self._scorer!r} is {kind} on other lines, got {value!r:.60}"
            raise file.error(line, must)
        if function == MEAN:
            grade = as_grade(grade, file, line, self._scorer)
        self._total += grade * size
        self._size += size
        return grade, size

    def _parse(self, value: Any) -> tuple[str, Any, float]:
        """Function, grade and size of a value; the function is empty if unknown."""
        is_list = isinstance(value, list)
        if self._by == "perplexity" and is_number(value):
            return PERPLEXITY, -value, 1.0
        if self._by in ("weighted_perplexity", "bits_per_byte") and is_list:
            if len(value) == 2 and all(map(is_number, value)) and value[1] > 0:
                loss, size = -value[0] / value[1], value[1]
                if self._by == "bits_per_byte":
                    return RATIO, loss / math.log(2), size
                return PERPLEXITY, loss, size
        elif is_list and not (self._by or self._of_lists):
            if all(isinstance(each, bool) for each in value):
                return SHARE, sum(value) / max(len(value), 1), len(value)
        elif not isinstance(value, list | dict) and self._by in (None, *_MEANS):
            return MEAN, value, 1.0
        return "", math.nan, 1.0

    def aggregation(self, is_complete: bool) -> Iterator[Aggregation]:
        """Declare how samples are aggregated, where they are not averaged.

        A metric is refused if the printed number is not that of all samples.
        """
        function, refused = self._function or MEAN, ""
        if self._function == "":
            by = self._by or self._of_lists
            refused = "the harness computes it from all documents at once"
            refused += f", by {by}" if by else ", from lists"
        elif self._size and is_complete:
            mean = self._total / self._size
            with suppress(OverflowError):
                mean = math.exp(mean) if function == PERPLEXITY else mean
            refused = disagreement(self._printed, mean, _KINDS[function])
        better = function in (MEAN, SHARE)
        if isinstance(self._better, bool):
            better = self._better
        if refused or function != MEAN or not better:
            yield Aggregation(
                self._task, self._scorer, function, better, refused=refused
            )


def _results(file: LogFile, time: str | None) -> dict[str, Any]:
    """Results beside the samples of a time, with the name of the model."""
    for ending in _ENDINGS:
        path = file.path.with_name(f"results_{time}.json{ending}")
        if path.exists():
            return {name: value for name, value, _ in LogFile(path).members()}
    return {}
