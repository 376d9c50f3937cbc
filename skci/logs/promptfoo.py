"""Results of promptfoo, as ``promptfoo eval --output`` writes them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile, total
from skci.logs.rows import Row

_RESULTS = "results.results"
_STATS = "results.stats"
_TABLE = "results.table", "results.table.body"  # in version 2, read piece by piece
_OUTCOMES = "successes", "failures", "errors"
_VERSION_2 = re.compile(r'\s*\{\s*"results"\s*:\s*\{\s*"version"\s*:\s*\d')
_ERROR = 2  # the failure reason of an error, which is not a grade


def recognises(file: LogFile) -> bool:
    """Whether a file has results of promptfoo, in a document or on lines."""
    keys = {"promptIdx", "testCase"} if file.is_lines else {"evalId", "results"}
    is_version_2 = file.is_document and _VERSION_2.match(file.head) is not None
    return is_version_2 or keys <= {*file.keys}


def rows(file: LogFile) -> Iterator[Row]:
    """Read whether tests pass, their scores and named ones; repeats are runs."""
    prompts, task, stats = _header(file)
    several, n_results = len(prompts) > 1, 0
    repeats: Counter[tuple[str, str, str]] = Counter()
    for value, line in _results(file):
        n_results += 1
        provider = file.field(value, "provider", line, dict)
        if "testCase" in value:
            test = file.field(value, "testCase", line, dict)
        else:  # in version 2
            variables = file.field(value, "vars", line, dict)
            test = {"vars": variables, "description": value.get("description")}
        model = file.field(provider, "label", line, str, "")
        model = model or file.field(provider, "id", line, str)
        if several:
            model = f"{model}, {_label(file, value, line)}"
        item, prompt = _name(test), _label(file, value, line)
        if not prompt:  # the text, which differs between prompts, and not repeats
            prompt = str(value["prompt"].get("raw"))
        repeats[model, item, prompt] += 1
        run = str(repeats[model, item, prompt])
        metadata = test.get("metadata"), test.get("vars")
        row = Row(line, model, task, item, run, metadata=metadata)
        if _is_error(value):
            yield row
            continue
        scores = {"pass": file.field(value, "success", line)}
        scores["score"] = value.get("score")
        scores |= file.field(value, "namedScores", line, dict, {})
        for scorer, score in scores.items():
            yield row._replace(scorer=scorer, grade=score)
    file.check_count(n_results, total(stats, *_OUTCOMES))


def _is_error(result: dict[str, Any]) -> bool:
    """Whether a test has no grade; version 2 then has no grading result."""
    if "failureReason" in result:
        return bool(result["failureReason"] == _ERROR)
    return bool(result.get("error")) and not result.get("gradingResult")


def _header(file: LogFile) -> tuple[set[str], str, Any]:
    """Labels of the prompts, description of the evaluation, and numbers of tests."""
    if file.is_lines:
        labels = {_label(file, value, line) for value, line in file.records()}
        return labels, file.stem, None
    labels, task, stats = set(), file.stem, None
    for name, value, line in file.members("results", _RESULTS, *_TABLE, "config"):
        if name == _RESULTS:
            labels.add(_label(file, value, line))
        elif name == _STATS:
            stats = value
        elif name == "config.description" and value:
            task = str(value)
    return labels, task, stats


def _label(file: LogFile, result: dict[str, Any], line: int) -> str:
    """Label of the prompt of a result; empty if it only has the text of a test."""
    prompt = file.field(result, "prompt", line, dict)
    label: str = file.field(prompt, "label", line, str, "")
    return label or str(prompt.get("display") or "")


def _results(file: LogFile) -> Iterator[tuple[dict[str, Any], int]]:
    if file.is_lines:
        yield from file.records()
        return
    for name, value, line in file.members("results", _RESULTS, *_TABLE):
        if name == _RESULTS:
            yield value, line


def _name(test: dict[str, Any]) -> str:
    """Identify a test by its description and variables, or its assertions."""
    known = [test.get("description"), test.get("vars") or test.get("assert")]
    return " ".join(
        part if isinstance(part, str) else json.dumps(part, sort_keys=True)
        for part in known
        if part
    )
