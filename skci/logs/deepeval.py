"""Test runs of DeepEval, such as ``.deepeval/.latest_test_run.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile, total
from skci.logs.rows import Row

_OUTER = "testRunData"
_COPY = ".latest_run_full.json"  # a duplicate of the latest run
_CACHE = ".deepeval-cache.json"
_CASES = "testCases", "conversationalTestCases"


def recognises(file: LogFile) -> bool:
    """Whether a file is a test run of DeepEval."""
    is_run = bool({_OUTER, _CASES[0]} & {*file.keys})
    return file.is_document and is_run and not accompanies(file)


def accompanies(file: LogFile) -> bool:
    """Whether a file is the copy or the cache of a test run."""
    return file.name in (_COPY, _CACHE)


def rows(file: LogFile) -> Iterator[Row]:
    """Read the scores of test cases by all metrics."""
    header = {name: value for name, value, _ in _members(file) if name not in _CASES}
    given = file.field(header, "hyperparameters", 0, dict, {})
    settings = {k.lower(): v for k, v in given.items()}
    hidden = file.path.parent.name == ".deepeval"
    fallback = file.path.absolute().parents[1].name if hidden else file.stem
    model = str(settings.get("model") or fallback)
    task = str(header.get("identifier") or header.get("testFile") or "")
    n_cases = 0
    for name, case, line in _members(file):
        if name not in _CASES:
            continue
        n_cases += 1
        item = str(file.field(case, "name", line))
        metadata = case.get("metadata"), case.get("additionalMetadata")
        row = Row(line, model, task, item, metadata=metadata)
        metrics = file.field(case, "metricsData", line, list, [])
        if not metrics:
            yield row
        for metric in metrics:
            scorer = str(file.field(metric, "name", line))
            yield row._replace(scorer=scorer, grade=metric.get("score"))
    file.check_count(n_cases, total(header, "testPassed", "testFailed"))


def _members(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Read members of a run, which may be nested."""
    cases = [*_CASES, *(f"{_OUTER}.{name}" for name in _CASES)]
    for name, value, line in file.members(_OUTER, *cases):
        yield name.removeprefix(f"{_OUTER}."), value, line
