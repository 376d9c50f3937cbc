"""Logs of inspect_ai: JSON documents, and .eval files, which are ZIP archives."""

from __future__ import annotations

import json
import math
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from skci._packages import optional_module
from skci.logs.files import Decoder, LogFile, total, within
from skci.logs.rows import Aggregation, Row, as_grade, disagreement, is_number

_ARCHIVE = ".eval"
_LISTS = "logs.json", "listing.json"
_ZSTANDARD = 93
_MEANS = "mean", "accuracy"
_ERRORS = "stderr", "bootstrap_stderr"
_SPREADS = "std", "var"
"""Metrics that are a mean of the grades, its standard error, and no mean."""
_PERPLEXITY = "num_tokens", "sum_log_probs"
"""Metadata of the scores from which the harness computes perplexities."""


def recognises(file: LogFile) -> bool:
    """Whether a file is a log of inspect_ai."""
    return file.ending == _ARCHIVE or {"version", "eval"} <= {*file.keys}


def accompanies(file: LogFile) -> bool:
    """Whether a file lists logs, or the tasks of a set of evaluations."""
    is_set = {"eval_set_id", "tasks"} <= {*file.keys}
    of_logs = (Path(name).suffix in (".json", _ARCHIVE) for name in file.keys)
    is_list = bool(file.keys) and file.name in _LISTS and all(of_logs)
    return file.is_document and (is_set or is_list)


def rows(file: LogFile) -> Iterator[Row | Aggregation]:
    """Read the scores of samples, of which an epoch is a run."""
    header: dict[str, Any] = {}
    n_samples = 0
    grades: dict[str, dict[str, list[float]]] = {}  # by scorer and sample
    members = _archive(file) if file.ending == _ARCHIVE else file.members("samples")
    for name, value, line in members:
        if name != "samples" or value is None:
            header[name] = value
            continue
        if not n_samples:
            _check_ended(file, header)
            of = file.field(header, "eval", 0, dict)
            model, task = (file.field(of, name, 0, str) for name in ("model", "task"))
        n_samples += 1
        item, epoch = str(file.field(value, "id", line)), str(value.get("epoch", 1))
        metadata = (value.get("metadata"),)
        row = Row(line, model, task, item, epoch, metadata=metadata)
        scores = file.field(value, "scores", line, dict, {})
        if not scores:
            yield row
        for scorer, score in scores.items():
            found = file.field(score, "value", line)
            if (perplexities := _perplexities(file, row, scorer, score)) is not None:
                yield from perplexities
                continue
            by_name = found if isinstance(found, Mapping) else {None: found}
            for part, grade in by_name.items():
                full = f"{scorer}/{part}" if part else scorer
                number = as_grade(grade, file, line, full)
                if not math.isnan(number):
                    grades.setdefault(full, {}).setdefault(item, []).append(number)
                yield row._replace(scorer=full, grade=number)

    if not n_samples:
        _check_ended(file, header)
        raise file.error(
            0,
            "the log must hold samples, got none; it was written without them, as by "
            "--no-log-samples or log_samples=False: evaluate again with samples logged",
        )
    n_stated = total(header.get("results"), "completed_samples")
    file.check_count(n_samples, n_stated)
    means = {
        scorer: fmean(map(fmean, by_item.values()))
        for scorer, by_item in grades.items()
    }
    yield from _refused(header, task, means, n_samples >= (n_stated or 0))


def _check_ended(file: LogFile, header: dict[str, Any]) -> None:
    """Check that the evaluation ended."""
    if header.get("status") != "success":
        raise file.error(
            0,
            "the evaluation must have ended with status 'success', got "
            f"{header.get('status')!r}; complete it by 'inspect eval-retry', or leave "
            "this log out if a later one completes it",
        )


def _refused(
    header: dict[str, Any], task: str, means: dict[str, float], is_complete: bool
) -> Iterator[Aggregation]:
    """Refuse scorers of which the harness does not print the mean over samples."""
    scores = within(header, "results", "scores")
    stated: dict[str, list[dict[str, Any]]] = {}
    for score in scores if isinstance(scores, list) else []:
        if isinstance(score, dict):
            scorer, part = str(score.get("scorer")), str(score.get("name"))
            name = scorer if part == scorer else f"{scorer}/{part}"
            stated.setdefault(name, []).append(score)
    by_default = within(header, "eval", "config", "epochs_reducer")
    for name, mean in means.items():
        refused, others = "", set()
        for score in stated.get(name, [{}]):
            found = score.get("reducer") or by_default or "mean"
            reducers = {*map(str, found if isinstance(found, list) else [found])}
            others |= reducers
            if reducers == {"mean"} and is_complete:
                refused = refused or _disagreement(score.get("metrics"), mean)
        if "mean" not in others:
            refused = f"its epochs are reduced by {', '.join(sorted(others))}, "
            refused += "not a mean"
        if refused:
            yield Aggregation(task, name, refused=refused)


def _disagreement(metrics: Any, mean: float) -> str:
    """Say that the metrics of a scorer are not the mean over samples."""
    kind = "a mean over samples"
    found = [
        (str(metric.get("name", key)).rpartition("/")[-1], metric.get("value"))
        for key, metric in (metrics.items() if isinstance(metrics, dict) else ())
        if isinstance(metric, dict)
    ]
    texts = [disagreement(value, mean, kind) for name, value in found if name in _MEANS]
    if texts:
        return texts[0] if all(texts) else ""
    others = {name: value for name, value in found if name not in _ERRORS}
    equal = (
        is_number(value) and value == value and not disagreement(value, mean, kind)
        for name, value in others.items()
        if name not in _SPREADS
    )
    if not others or any(equal):  # as "all" of a mean by group
        return ""
    printed = ", ".join(f"{name} {value}" for name, value in others.items())
    return f"the harness prints {printed}, and {kind} is {mean:.6g}"


def _perplexities(
    file: LogFile, row: Row, scorer: str, score: dict[str, Any]
) -> list[Row | Aggregation] | None:
    """Losses of a sample per token and per sequence; None of another score."""
    metadata = score.get("metadata")
    if not isinstance(metadata, dict) or not {*_PERPLEXITY} <= metadata.keys():
        return None
    n, log_likelihood = found = [metadata[name] for name in _PERPLEXITY]
    if not all(map(is_number, found)):
        must = f"{' and '.join(_PERPLEXITY)} must be numbers, got {found}"
        raise file.error(row.line, must)
    loss = -log_likelihood / n if n > 0 else math.nan
    return [
        line
        for kind, size in (("token", n), ("seq", 1))
        for name in [f"{scorer}/perplexity_per_{kind}"]
        for line in (
            Aggregation(row.task, name, "perplexity", higher_is_better=False),
            row._replace(scorer=name, grade=loss, size=size),
        )
    ]


def _archive(file: LogFile) -> Iterator[tuple[str, Any, int]]:
    """Read the header and the samples of an archive, one by one."""
    name = ""
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
            if any(x.compress_type == _ZSTANDARD for x in archive.infolist()):
                _support_zstandard(file)
            # Without a header, the evaluation did not end.
            for name in {"header.json"} & {*names}:
                line = names.index(name) + 1
                header = file.check(
                    json.loads(archive.read(name), cls=Decoder), dict, line
                )
                for key, value in header.items():
                    yield key, value, line
            for entry, name in enumerate(names, 1):
                if name.startswith("samples/"):
                    yield "samples", json.loads(archive.read(name), cls=Decoder), entry
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        problem = f"the archive is truncated or damaged: {error}"
        raise file.error(0, f"{name}: {problem}" if name else problem) from error


def _support_zstandard(file: LogFile) -> None:
    """Register Zstandard in zipfile, which has it from Python 3.14 on."""
    if sys.version_info < (3, 14):
        instead = "logs that are written with --log-format json do not"
        optional_module("zipfile_zstd", str(file.path), "logs", instead)
