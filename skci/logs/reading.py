"""Finding logs and reading their rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from skci._validation import check_choice, join_names
from skci.logs import deepeval, inspect_ai, lm_eval, promptfoo, swebench, tables
from skci.logs.files import Decoder, LogFile
from skci.logs.rows import Aggregation, Collector, LogRows, Row


class LogFormat(Protocol):
    """Interface of the module of a format.

    A module may also have ``accompanies(file)``, whether a file is one without samples
    that the harness writes beside its logs.
    """

    def recognises(self, file: LogFile) -> bool:
        """Whether a file is of the format, by its name and its head."""

    def rows(self, file: LogFile) -> Iterator[Row | Aggregation]:
        """Parse the rows of such a file, with grades and groups as they are there."""


FORMATS: dict[str, LogFormat] = {
    "inspect_ai": inspect_ai,
    "lm-evaluation-harness": lm_eval,
    "promptfoo": promptfoo,
    "DeepEval": deepeval,
    "SWE-bench": swebench,
    "tables in CSV or JSON": tables,
}
"""Formats by name; the first that recognises a file reads it."""

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(
    paths: Paths | Mapping[str, Paths],
    *,
    groups: str | None = None,
    incomplete: str = "error",
) -> LogRows:
    r"""Read the grades in logs of evaluations.

    Parameters
    ----------
    paths : path, sequence of paths, or mapping of str to these
        Files, and folders that are searched for logs at all depths. A mapping names the
        models, whatever their names in the logs are.
    groups : str, optional
        Field of the metadata or document of each item that is its cluster, such as a
        passage; "repo" of SWE-bench. If not given, only tables have groups, from a
        column "group" or "cluster".
    incomplete : {"error", "warn"}, default="error"
        Whether a log that has fewer samples than it states is an error or a warning.

    Returns
    -------
    LogRows
        Columns with a row for each grade.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If a file is damaged, is truncated or is no log, a log has fewer samples than it
        states, a folder has no logs, or two rows are of the same model, task, item, run
        and scorer; the message names the file and the line.

    See Also
    --------
    skci.grades_report : Reports of grades, which :meth:`LogRows.report` calls.

    Notes
    -----
    Supported formats:

    - inspect_ai: logs in JSON and ``.eval`` files, of completed evaluations. Scorers
      by name, the values of a dictionary as ``scorer/key``; C, P, I and N are 1, 0.5, 0
      and 0; an epoch is a run. Scorers of which the log states no mean of the grades
      are refused by :meth:`LogRows.report`.
    - lm-evaluation-harness: ``samples_*.jsonl``, of ``--log_samples``. Scorers are the
      metrics, as ``exact_match/strict-match`` where there are filters. The model is
      that of the results beside it, or else the folder. Perplexities, bits per byte and
      lists of booleans are aggregated as the harness does; metrics that it computes
      from all documents at once, as BLEU, are refused by :meth:`LogRows.report`.
    - promptfoo: ``results.json`` or ``.jsonl``, of ``--output``. Scorers are "pass",
      "score" and named metrics; a model is a provider, with a prompt if there are
      several; an item is a test by its description and variables, and repeats of it
      are runs.
    - DeepEval: ``.latest_test_run.json`` and other test runs. The model is that of the
      hyperparameters, or else the name of the file or folder.
    - SWE-bench: summaries ``<model>.<run>.json``, and ``report.json`` of instances.
    - tables in CSV, JSON lines or a JSON array, with columns of items and grades, and
      perhaps of the others, such as ``id`` and ``score``; the name of the file is that
      of the model if no column is.

    Text may be compressed, as ``.jsonl.gz``. Samples are counted where a log states
    their number. Logs of inspect_ai, lm-evaluation-harness (also for tasks without
    samples in a folder), promptfoo, DeepEval and SWE-bench do.

    In folders, files with other endings are ignored, and so are JSON objects of plain
    values, such as settings, and what a harness writes beside its logs. Tables and JSON
    that are not recognised are an error, and so are logs without any sample.

    Samples without a grade, such as after an error of a provider, have the grade NaN.
    Infinite grades are an error.

    Logs are streamed and rows are stored in columns: memory grows with the number of
    grades alone.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from skci import logs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "new.jsonl"
    >>> grades = [1, 1, 0, 1] * 10
    >>> lines = [json.dumps({"id": k, "score": x}) for k, x in enumerate(grades)]
    >>> _ = path.write_text("\n".join(lines))
    >>> logs.read(path).report()["new", "mean"]
    mean = 0.75 [0.60, 0.86], 95% interval (score, n = 40)
    """
    by_model: Mapping[Any, Any] = paths if isinstance(paths, Mapping) else {None: paths}
    check_choice(incomplete, ["error", "warn"], "incomplete")
    collector = Collector(groups)
    for model, given in by_model.items():
        for path in [given] if isinstance(given, str | os.PathLike) else given:
            for file, log_format in _logs(Path(path), incomplete):
                collector.add(file, log_format.rows(file), model)
    return collector.rows()


def _logs(path: Path, incomplete: str) -> Iterator[tuple[LogFile, LogFormat]]:
    """Find the logs at a path, each with its format."""
    beside = []
    path.stat()  # or there is none
    is_folder, found = path.is_dir(), False
    within = sorted(filter(Path.is_file, path.rglob("*"))) if is_folder else [path]
    for file in (LogFile(each, incomplete) for each in within):
        log_format = next((x for x in FORMATS.values() if x.recognises(file)), None)
        if log_format is not None:
            found = True
            yield file, log_format
        elif not (is_folder and _is_ignored(file)):
            raise _unrecognised(file)
        else:
            beside.append(file)
    for file in beside:
        if lm_eval.accompanies(file):
            lm_eval.check_accompanying(file)
    if not found:
        raise ValueError(
            f"{path}: the folder must have logs of one of the formats "
            f"{join_names([*FORMATS])}, got none"
        )


def _is_ignored(file: LogFile) -> bool:
    """Whether a file in a folder is no log, and need not be one."""
    is_data = file.is_text and not _is_settings(file)
    tests = (getattr(each, "accompanies", None) for each in FORMATS.values())
    return not is_data or any(accompanies(file) for accompanies in tests if accompanies)


def _is_settings(file: LogFile) -> bool:
    """Whether a file is a JSON object of plain values."""
    found: Any = None
    if file.is_document:
        with suppress(ValueError):
            found = json.loads(file.head, cls=Decoder)
    return isinstance(found, dict) and not any(
        isinstance(value, dict | list) for value in found.values()
    )


def _unrecognised(file: LogFile) -> ValueError:
    """Error of a file that should be a log, which says why it is none."""
    must = f"must be a log of one of the formats {join_names([*FORMATS])}"
    if not file.is_text:
        return file.error(0, f"{must}, got the ending {file.ending!r}")
    if not file.head.strip():
        return file.error(0, f"{must}, got an empty file")
    if not file.has_records:
        for _ in file.members():  # or it is damaged
            pass
        got = f"an object with the fields {[*file.keys][:20]}"
        return file.error(0, f"{must}, got {got}")
    return tables.lacking(file)
