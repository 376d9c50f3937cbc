"""Logs of inspect_ai: JSON documents, and .eval files, which are ZIP archives."""

from __future__ import annotations

import math
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from skci._packages import optional_module
from skci.data.items import PERPLEXITY
from skci.logs.files import (
    Grade,
    LogFile,
    LogFormat,
    Sample,
    Statement,
    is_number,
    parse,
    total,
    within,
)

_ARCHIVE = ".eval"
_LISTS = "logs.json", "listing.json"
_ZSTANDARD = 93
_MEANS = "mean", "accuracy"
_ERRORS = "stderr", "bootstrap_stderr"
_SPREADS = "std", "var"
"""Names of metrics that measure the spread of the grades."""
_PERPLEXITY = "num_tokens", "sum_log_probs"
"""Names of metadata from which the harness computes perplexities."""


def _accompanies(file: LogFile) -> bool:
    """Whether a file lists logs or describes a set of evaluations.

    Such a file accompanies logs, and contains no samples.
    """
    is_set = {"eval_set_id", "tasks"} <= {*file.keys}
    are_logs = (Path(name).suffix in (".json", _ARCHIVE) for name in file.keys)
    is_list = bool(file.keys) and file.name in _LISTS and all(are_logs)
    return file.kind == "document" and (is_set or is_list)


def _samples(file: LogFile) -> Iterator[Sample | Statement]:
    """Yield the samples of a log, and the numbers that the harness printed.

    Each epoch of an evaluation is a run.
    """
    header: dict[str, Any] = {}
    n_samples = 0
    averaged: dict[str, None] = {}
    members = _archive(file) if file.ending == _ARCHIVE else file.members("samples")
    for name, value, line in members:
        if name != "samples" or value is None:
            header[name] = value
            continue
        if not n_samples:
            _check_ended(file, header)
            evaluation = file.field(header, "eval", 0, dict)
            model, task = (
                file.field(evaluation, name, 0, str) for name in ("model", "task")
            )
        n_samples += 1
        item, epoch = str(file.field(value, "id", line)), str(value.get("epoch", 1))
        grades: list[tuple[str, Any]] = []
        for scorer, score in file.field(value, "scores", line, dict, {}).items():
            score_value = file.field(score, "value", line)
            metadata = score.get("metadata")
            if isinstance(metadata, dict) and {*_PERPLEXITY} <= metadata.keys():
                grades += _perplexities(file, line, scorer, metadata)
                continue
            by_part = (
                score_value if isinstance(score_value, Mapping) else {None: score_value}
            )
            parts = {f"{scorer}/{k}" if k else scorer: x for k, x in by_part.items()}
            grades += parts.items()
            averaged |= dict.fromkeys(parts)
        metadata = (value.get("metadata"),)
        yield Sample(line, model, task, item, epoch, grades, metadata=metadata)
    if not n_samples:
        _check_ended(file, header)
        raise file.error(
            0,
            "the log must contain samples, got none; it was written with "
            "--no-log-samples or log_samples=False: evaluate again with samples logged",
        )
    n_stated = total(header.get("results"), "completed_samples")
    is_complete = file.is_complete(n_samples, n_stated)
    yield from _statements(header, task, averaged, is_complete)


def _check_ended(file: LogFile, header: dict[str, Any]) -> None:
    """Check that the evaluation ended successfully."""
    if header.get("status") != "success":
        raise file.error(
            0,
            "the evaluation must have ended with status 'success', got "
            f"{header.get('status')!r}; complete it with 'inspect eval-retry', or "
            "leave this log out if a later log completes it",
        )


def _statements(
    header: dict[str, Any], task: str, scorers: Iterable[str], is_complete: bool
) -> Iterator[Statement]:
    """Yield the numbers that the log states for each scorer.

    A scorer is refused if it does not average the epochs of a sample.
    """
    scores = within(header, "results", "scores")
    stated: dict[str, list[dict[str, Any]]] = {}
    for score in scores if isinstance(scores, list) else []:
        if isinstance(score, dict):
            scorer, part = str(score.get("scorer")), str(score.get("name"))
            name = scorer if part == scorer else f"{scorer}/{part}"
            stated.setdefault(name, []).append(score)
    by_default = within(header, "eval", "config", "epochs_reducer")
    for name in scorers:
        everything = set()
        for score in stated.get(name, [{}]):
            reducer = score.get("reducer") or by_default or "mean"
            reducers = {*map(str, reducer if isinstance(reducer, list) else [reducer])}
            everything |= reducers
            if reducers == {"mean"} and is_complete:
                yield Statement(task, name, "", *_printed(score.get("metrics")))
        if "mean" not in everything:
            refused = f"its epochs are reduced by {', '.join(sorted(everything))}, "
            yield Statement(task, name, f"{refused}not a mean")


def _printed(metrics: Any) -> tuple[str, list[Any]]:
    """Return the printed means of a scorer as text, and as numbers.

    If a scorer prints no "mean" or "accuracy", other metrics are returned, because one
    of these metrics may be the mean over samples.
    """
    named_values = [
        (str(metric.get("name", key)).rpartition("/")[-1], metric.get("value"))
        for key, metric in (metrics.items() if isinstance(metrics, dict) else ())
        if isinstance(metric, dict)
    ]
    means = [(name, value) for name, value in named_values if name in _MEANS]
    if not all(is_number(value) and value == value for _, value in means):
        return "", []
    # Without "mean" and "accuracy", another metric may be the mean of the samples,
    # such as "all" of a scorer that reports means by group.
    shown = means or [
        (name, value) for name, value in named_values if name not in _ERRORS
    ]
    values = [value for name, value in shown if name not in _SPREADS]
    return ", ".join(f"{name} {value}" for name, value in shown), values


def _perplexities(
    file: LogFile, line: int, scorer: str, metadata: dict[str, Any]
) -> list[tuple[str, Grade]]:
    """Return the mean loss per token and the loss per sequence of a sample."""
    n, log_likelihood = values = [metadata[name] for name in _PERPLEXITY]
    if not all(map(is_number, values)):
        requirement = f"{' and '.join(_PERPLEXITY)} must be numbers, got {values}"
        raise file.error(line, requirement)
    loss = -log_likelihood / n if n > 0 else math.nan
    return [
        (f"{scorer}/perplexity_per_{kind}", Grade(loss, size, PERPLEXITY))
        for kind, size in (("token", n), ("seq", 1))
    ]


def _archive(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Yield the header fields, and then the samples, of an archive."""
    name = ""
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
            zstandard = any(x.compress_type == _ZSTANDARD for x in archive.infolist())
            if zstandard and sys.version_info < (3, 14):  # later versions support it
                instead = "logs that are written with --log-format json do not"
                optional_module("zipfile_zstd", str(file.path), "logs", instead)
            # An evaluation without a header did not end.
            for name in {"header.json"} & {*names}:
                header = parse(archive.read(name).decode())
                for key, value in file.check(header, dict, 0).items():
                    yield key, value, 0
            for entry, name in enumerate(names, 1):
                if name.startswith("samples/"):
                    yield "samples", parse(archive.read(name).decode()), entry
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        problem = f"the archive is truncated or damaged: {error}"
        raise file.error(0, f"{name}: {problem}" if name else problem) from error


FORMAT = LogFormat(
    "inspect_ai",
    lambda file: file.ending == _ARCHIVE or {"version", "eval"} <= {*file.keys},
    _samples,
    _accompanies,
)
