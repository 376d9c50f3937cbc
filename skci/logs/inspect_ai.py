"""Logs of inspect_ai: JSON documents, and .eval files, which are ZIP archives."""

from __future__ import annotations

import json
import math
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skci._lazy import optional_module
from skci.logs.files import Decoder, LogFile, total
from skci.logs.rows import Aggregation, Row

_ARCHIVE = ".eval"
_LISTS = "logs.json", "listing.json"
_ZSTANDARD = 93
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
    members = _archive(file) if file.ending == _ARCHIVE else file.members("samples")
    for name, value, line in members:
        if name != "samples" or value is None:
            header[name] = value
            continue
        if not n_samples:
            _check_ended(file, header)
            of = file.field(header, "eval", 0, dict)
            model, task = (file.field(of, name, 0, str) for name in ("model", "task"))
            yield from _reductions(header, task)
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
                yield row._replace(scorer=full, grade=grade)

    if not n_samples:
        _check_ended(file, header)
        raise file.error(
            0,
            "the log must hold samples, got none; it was written without them, as by "
            "--no-log-samples or log_samples=False: evaluate again with samples logged",
        )
    results = header.get("results")
    file.check_count(n_samples, total(results, "completed_samples"))


def _check_ended(file: LogFile, header: dict[str, Any]) -> None:
    """Check that the evaluation ended."""
    if header.get("status") != "success":
        raise file.error(
            0,
            "the evaluation must have ended with status 'success', got "
            f"{header.get('status')!r}; complete it by 'inspect eval-retry'",
        )


def _reductions(header: dict[str, Any], task: str) -> Iterator[Aggregation]:
    """Refuse scorers whose epochs are not averaged, but reduced otherwise."""
    results = header.get("results")
    scores = results.get("scores") if isinstance(results, dict) else None
    reducers: dict[tuple[str, ...], set[str]] = {}
    for score in scores if isinstance(scores, list) else []:
        if isinstance(score, dict) and isinstance(score.get("reducer"), str):
            names = (str(score.get("scorer")), str(score.get("name")))
            reducers.setdefault(names, set()).add(score["reducer"])
    for (scorer, part), found in reducers.items():
        if "mean" not in found:
            name = scorer if part == scorer else f"{scorer}/{part}"
            reason = f"its epochs are reduced by {', '.join(sorted(found))}, not a mean"
            yield Aggregation(task, name, refused=reason)


def _perplexities(
    file: LogFile, row: Row, scorer: str, score: dict[str, Any]
) -> list[Row | Aggregation] | None:
    """Losses of a sample per token and per sequence; None of another score."""
    metadata = score.get("metadata")
    if not isinstance(metadata, dict) or not {*_PERPLEXITY} <= metadata.keys():
        return None
    n, log_likelihood = found = [metadata[name] for name in _PERPLEXITY]
    if not all(isinstance(value, int | float) for value in found):
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
