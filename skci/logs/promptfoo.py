"""Results of promptfoo, written with ``promptfoo eval --output``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile, LogFormat, Sample, total

_RESULTS = "results.results"
_STATS = "results.stats"
_TABLE = "results.table", "results.table.body"  # members of version 2 that may be large
_OUTCOMES = "successes", "failures", "errors"
_VERSION_2 = re.compile(r'\s*\{\s*"results"\s*:\s*\{\s*"version"\s*:\s*\d')
_ERROR = 2  # failure reason of a test that has no grade because of an error


def _recognises(file: LogFile) -> bool:
    keys = {"promptIdx", "testCase"} if file.kind == "lines" else {"evalId", "results"}
    is_version_2 = file.kind == "document" and _VERSION_2.match(file.head) is not None
    return is_version_2 or keys <= {*file.keys}


def _members(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Yield the members of a JSON document, or the results in JSON lines."""
    if file.kind == "lines":
        yield from ((_RESULTS, result, line) for result, line in file.records())
    else:
        yield from file.members("results", _RESULTS, *_TABLE, "config")


def _samples(file: LogFile) -> Iterator[Sample]:
    """Yield the outcome, the score and the named scores of each test.

    Repeats of a test are runs.
    """
    labels, header = set(), {}
    for name, value, line in _members(file):
        if name == _RESULTS:
            labels.add(_label(file, value, line))
        elif name in (_STATS, "config.description"):
            header[name] = value
    task = str(header.get("config.description") or file.stem)
    repeats: Counter[tuple[str, str, str]] = Counter()
    for name, value, line in _members(file):
        if name != _RESULTS:
            continue
        provider = file.field(value, "provider", line, dict)
        if "testCase" in value:
            test = file.field(value, "testCase", line, dict)
        else:  # in version 2
            variables = file.field(value, "vars", line, dict)
            test = {"vars": variables, "description": value.get("description")}
        model = file.field(provider, "label", line, str, "")
        model = model or file.field(provider, "id", line, str)
        if len(labels) > 1:
            model = f"{model}, {_label(file, value, line)}"
        identifiers = [test.get("description"), test.get("vars") or test.get("assert")]
        item = " ".join(
            part if isinstance(part, str) else json.dumps(part, sort_keys=True)
            for part in identifiers
            if part
        )
        # Repeats of a test have the same prompt. Different prompts without a label are
        # distinguished by their text.
        prompt = _label(file, value, line) or str(value["prompt"].get("raw"))
        repeats[model, item, prompt] += 1
        run = str(repeats[model, item, prompt])
        grades = {}
        if not _is_error(value):
            grades["pass"] = file.field(value, "success", line)
            grades["score"] = value.get("score")
            grades |= file.field(value, "namedScores", line, dict, {})
        metadata = test.get("metadata"), test.get("vars")
        yield Sample(line, model, task, item, run, [*grades.items()], metadata=metadata)
    file.is_complete(repeats.total(), total(header.get(_STATS), *_OUTCOMES))


def _is_error(result: dict[str, Any]) -> bool:
    """Whether a test ended with an error and therefore has no grade.

    In version 2, such a test has no grading result.
    """
    if "failureReason" in result:
        return bool(result["failureReason"] == _ERROR)
    return bool(result.get("error")) and not result.get("gradingResult")


def _label(file: LogFile, result: dict[str, Any], line: int) -> str:
    """Return a result's prompt label, or an empty string without a label."""
    prompt = file.field(result, "prompt", line, dict)
    label: str = file.field(prompt, "label", line, str, "")
    return label or str(prompt.get("display") or "")


FORMAT = LogFormat("promptfoo", _recognises, _samples)
