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
_TABLE = "results.table", "results.table.body"  # in version 2, read piece by piece
_OUTCOMES = "successes", "failures", "errors"
_VERSION_2 = re.compile(r'\s*\{\s*"results"\s*:\s*\{\s*"version"\s*:\s*\d')
_ERROR = 2  # the failure reason of an error, which is not a grade


def _recognises(file: LogFile) -> bool:
    keys = {"promptIdx", "testCase"} if file.kind == "lines" else {"evalId", "results"}
    is_version_2 = file.kind == "document" and _VERSION_2.match(file.head) is not None
    return is_version_2 or keys <= {*file.keys}


def _members(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Yield the members of a document; JSON lines have only results."""
    if file.kind == "lines":
        yield from ((_RESULTS, result, line) for result, line in file.records())
    else:
        yield from file.members("results", _RESULTS, *_TABLE, "config")


def _samples(file: LogFile) -> Iterator[Sample]:
    """Read whether tests pass, their scores and named scores; repeats are runs."""
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
        # The text of a prompt differs between prompts, but not between repeats.
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
    """Whether a test has no grade; in version 2, such tests have no grading result."""
    if "failureReason" in result:
        return bool(result["failureReason"] == _ERROR)
    return bool(result.get("error")) and not result.get("gradingResult")


def _label(file: LogFile, result: dict[str, Any], line: int) -> str:
    """Label of the prompt of a result; empty if the prompt has no label."""
    prompt = file.field(result, "prompt", line, dict)
    label: str = file.field(prompt, "label", line, str, "")
    return label or str(prompt.get("display") or "")


FORMAT = LogFormat("promptfoo", _recognises, _samples)
