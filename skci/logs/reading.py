"""Finding logs and reading their rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from skci._validation import join_names
from skci.logs import deepeval, inspect_ai, lm_eval, promptfoo, swebench, tables
from skci.logs.files import LogFile
from skci.logs.rows import Collector, LogRows, Row


class LogFormat(Protocol):
    """Interface of the module of a format."""

    def recognises(self, file: LogFile) -> bool:
        """Whether a file is of the format, by its name and its head."""

    def rows(self, file: LogFile) -> Iterator[Row]:
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


def read(paths: Paths | Mapping[str, Paths], *, groups: str | None = None) -> LogRows:
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

    Returns
    -------
    LogRows
        Columns with a row for each grade.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If a file is damaged, is truncated or is no log, a folder has no logs, or two
        rows are of the same model, task, item, run and scorer; the message names the
        file and the line.

    See Also
    --------
    skci.grades_report : Reports of grades, which :meth:`LogRows.report` calls.

    Notes
    -----
    Supported formats:

    - inspect_ai: logs in JSON and ``.eval`` files, of completed evaluations. Scorers
      by name, the values of a dictionary as ``scorer/key``; C, P, I and N are 1, 0.5, 0
      and 0; an epoch is a run.
    - lm-evaluation-harness: ``samples_*.jsonl``, of ``--log_samples``. Scorers are the
      metrics, as ``exact_match/strict-match`` where there are filters. The model is
      that of the results beside it, or else the folder.
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

    Other files in folders are ignored. Samples without a grade, such as after an error
    of a provider, have the grade NaN. Infinite grades are an error.

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
    collector = Collector(groups)
    for model, given in by_model.items():
        for path in [given] if isinstance(given, str | os.PathLike) else given:
            for file, log_format in _logs(Path(path)):
                collector.add(file, log_format.rows(file), model)
    return collector.rows()


def _logs(path: Path) -> Iterator[tuple[LogFile, LogFormat]]:
    """Find the logs at a path, each with its format."""
    if not path.is_dir():
        file = LogFile(path)
        path.stat()  # or there is none
        if (log_format := _format_of(file)) is None:
            known = join_names([*FORMATS])
            raise file.error(0, f"must be a log of one of the formats {known}")
        yield file, log_format
        return
    found = False
    for each in sorted(path.rglob("*")):
        file = LogFile(each)
        if each.is_file() and (log_format := _format_of(file)) is not None:
            found = True
            yield file, log_format
    if not found:
        raise ValueError(
            f"{path}: the folder must have logs of one of the formats "
            f"{join_names([*FORMATS])}, got none"
        )


def _format_of(file: LogFile) -> Any:
    return next((each for each in FORMATS.values() if each.recognises(file)), None)
