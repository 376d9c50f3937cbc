"""Test runs of DeepEval, such as ``.deepeval/.latest_test_run.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skci.logs.files import LogFile, LogFormat, Sample, total

_OUTER = "testRunData"
_COPY = ".latest_run_full.json"  # a duplicate of the latest run
_CACHE = ".deepeval-cache.json"
_CASES = "testCases", "conversationalTestCases"


def _accompanies(file: LogFile) -> bool:
    return file.name in (_COPY, _CACHE)


def _recognises(file: LogFile) -> bool:
    is_run = bool({_OUTER, _CASES[0]} & {*file.keys})
    return file.kind == "document" and is_run and not _accompanies(file)


def _samples(file: LogFile) -> Iterator[Sample]:
    header = {name: value for name, value, _ in _members(file) if name not in _CASES}
    parameters = file.field(header, "hyperparameters", 0, dict, {})
    settings = {k.lower(): v for k, v in parameters.items()}
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
        metrics = file.field(case, "metricsData", line, list, [])
        grades = [(str(file.field(x, "name", line)), x.get("score")) for x in metrics]
        metadata = case.get("metadata"), case.get("additionalMetadata")
        yield Sample(line, model, task, item, grades=grades, metadata=metadata)
    file.is_complete(n_cases, total(header, "testPassed", "testFailed"))


def _members(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Yield the members of a test run, which may be nested in an outer object."""
    cases = [*_CASES, *(f"{_OUTER}.{name}" for name in _CASES)]
    for name, value, line in file.members(_OUTER, *cases):
        yield name.removeprefix(f"{_OUTER}."), value, line


FORMAT = LogFormat("DeepEval", _recognises, _samples, _accompanies)
