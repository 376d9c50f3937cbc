"""Logs of inspect_ai: JSON documents, and .eval files, which are ZIP archives."""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skci._lazy import optional_module
from skci.logs.files import Decoder, LogFile
from skci.logs.rows import Row

_ARCHIVE = ".eval"
_LISTS = "logs.json", "listing.json"
_ZSTANDARD = 93


def recognises(file: LogFile) -> bool:
    """Whether a file is a log of inspect_ai."""
    return file.ending == _ARCHIVE or {"version", "eval"} <= {*file.keys}


def accompanies(file: LogFile) -> bool:
    """Whether a file lists logs, or the tasks of a set of evaluations."""
    is_set = {"eval_set_id", "tasks"} <= {*file.keys}
    of_logs = (Path(name).suffix in (".json", _ARCHIVE) for name in file.keys)
    is_list = bool(file.keys) and file.path.name in _LISTS and all(of_logs)
    return file.is_document and (is_set or is_list)


def rows(file: LogFile) -> Iterator[Row]:
    """Read the scores of samples, of which an epoch is a run."""
    header: dict[str, Any] = {}
    members = _archive(file) if file.ending == _ARCHIVE else file.members("samples")
    for name, value, line in members:
        if name != "samples":
            header[name] = value
            continue
        if header.get("status") != "success":
            raise file.error(
                0,
                "the evaluation must have ended with status 'success', got "
                f"{header.get('status')!r}; complete it by 'inspect eval-retry'",
            )
        of = file.field(header, "eval", 0, dict)
        model, task = (file.field(of, name, 0, str) for name in ("model", "task"))
        item, epoch = str(file.field(value, "id", line)), str(value.get("epoch", 1))
        metadata = (value.get("metadata"),)
        row = Row(line, model, task, item, epoch, metadata=metadata)
        scores = file.field(value, "scores", line, dict, {})
        if not scores:
            yield row
        for scorer, score in scores.items():
            found = file.field(score, "value", line)
            by_name = found if isinstance(found, Mapping) else {None: found}
            for part, grade in by_name.items():
                full = f"{scorer}/{part}" if part else scorer
                yield row._replace(scorer=full, grade=grade)


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
