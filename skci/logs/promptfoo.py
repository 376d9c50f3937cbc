"""Results of promptfoo, as ``promptfoo eval --output`` writes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile
from skci.logs.rows import Row

_RESULTS = "results.results"
_ERROR = 2  # the failure reason of an error, which is not a grade


def recognises(file: LogFile) -> bool:
    """Whether a file has results of promptfoo, in a document or on lines."""
    keys = {"promptIdx", "testCase"} if file.is_lines else {"evalId", "results"}
    return keys <= {*file.keys}


def rows(file: LogFile) -> Iterator[Row]:
    """Read whether tests pass, their scores and named ones; repeats are runs."""
    prompts, task = _header(file)
    several = len(prompts) > 1
    repeats: Counter[tuple[str, str]] = Counter()
    for value, line in file.records() if file.is_lines else _results(file):
        provider = file.field(value, "provider", line, dict)
        test = file.field(value, "testCase", line, dict)
        model = file.field(provider, "label", line, str, "")
        model = model or file.field(provider, "id", line, str)
        if several:
            model = f"{model}, {_label(file, value, line)}"
        item = _name(test)
        repeats[model, item] += 1
        metadata = test.get("metadata"), test.get("vars")
        row = Row(line, model, task, item, str(repeats[model, item]), metadata=metadata)
        if value.get("failureReason") == _ERROR:
            yield row
            continue
        scores = {"pass": file.field(value, "success", line)}
        scores["score"] = value.get("score")
        scores |= file.field(value, "namedScores", line, dict, {})
        for scorer, score in scores.items():
            yield row._replace(scorer=scorer, grade=score)


def _header(file: LogFile) -> tuple[set[str], str]:
    """Labels of the prompts, and the description of the evaluation."""
    if file.is_lines:
        labels = {_label(file, value, line) for value, line in file.records()}
        return labels, file.path.stem
    prompts, task = set(), file.path.stem
    for name, value, line in file.members("results", _RESULTS, "config"):
        if name == "results.prompts":
            given = file.check(value, list, line, "the field 'prompts' ")
            prompts = {file.field(prompt, "label", line, str) for prompt in given}
        elif name == "config.description" and value:
            task = str(value)
    return prompts, task


def _label(file: LogFile, result: dict[str, Any], line: int) -> str:
    """Label of the prompt of a result."""
    prompt = file.field(result, "prompt", line, dict)
    label: str = file.field(prompt, "label", line, str)
    return label


def _results(file: LogFile) -> Iterator[tuple[dict[str, Any], int]]:
    for name, value, line in file.members("results", _RESULTS):
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
