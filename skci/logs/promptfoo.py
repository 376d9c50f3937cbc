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
        provider = file.field(value, "provider", line)
        test = file.field(value, "testCase", line)
        model = provider.get("label") or provider["id"]
        if several:
            model = f"{model}, {value['prompt']['label']}"
        item = _name(test)
        repeats[model, item] += 1
        metadata = test.get("metadata"), test.get("vars")
        row = Row(line, model, task, item, str(repeats[model, item]), metadata=metadata)
        if value.get("failureReason") == _ERROR:
            yield row
            continue
        scores = {"pass": file.field(value, "success", line)}
        scores |= {"score": value.get("score")} | (value.get("namedScores") or {})
        for scorer, score in scores.items():
            yield row._replace(scorer=scorer, grade=score)


def _header(file: LogFile) -> tuple[set[str], str]:
    """Labels of the prompts, and the description of the evaluation."""
    if file.is_lines:
        return {value["prompt"]["label"] for value, _ in file.records()}, file.path.stem
    prompts, task = set(), file.path.stem
    for name, value, _ in file.members("results", _RESULTS, "config"):
        if name == "results.prompts":
            prompts = {prompt["label"] for prompt in value}
        elif name == "config.description" and value:
            task = value
    return prompts, task


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
