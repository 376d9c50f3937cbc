"""Finding logs, reading their samples and checking them."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from skci._arrays import Array, factorise
from skci._options import brief
from skci._validation import check_choice, join_names
from skci.data.files import MISSING
from skci.data.items import MEAN, PERPLEXITY, RATIO, SHARE
from skci.logs import deepeval, inspect_ai, lm_eval, promptfoo, swebench, tables
from skci.logs.files import (
    DECODER,
    Grade,
    LogFile,
    LogFormat,
    Sample,
    Statement,
    is_number,
)
from skci.logs.rows import Aggregation, LogRows

_FORMATS = (
    inspect_ai.FORMAT,
    lm_eval.FORMAT,
    promptfoo.FORMAT,
    deepeval.FORMAT,
    swebench.FORMAT,
    tables.FORMAT,
)
_GROUP = "skci.log_formats"
"""Entry points by which installed packages add formats."""

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0} | {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect"), 0.0),
    **dict.fromkeys((*MISSING, "none"), math.nan),
}
"""Numbers of words, in lower case; those of inspect_ai are C, P, I and N."""
_NAMES = ("model", "task", "item", "run", "scorer", "group")
_KINDS = {
    MEAN: "a mean over samples",
    SHARE: "the share of true members of all lists",
    RATIO: "a mean loss",
    PERPLEXITY: "exp of a mean loss",
    "": "not a mean over samples",
}
"""Functions of grades in messages."""
_CLOSE = 1e-6  # relative difference of numbers that is rounding

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(
    paths: Paths | Mapping[str, Paths],
    *,
    groups: str | None = None,
    incomplete: str = "error",
    formats: LogFormat | Iterable[LogFormat] = (),
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
    formats : LogFormat or iterable of LogFormat, optional
        Further formats. The first format that recognises a file reads it: of these, of
        those that installed packages have, and of those below.

    Returns
    -------
    LogRows
        Columns with a row for each grade.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    TypeError
        If a format is no :class:`LogFormat`.
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

    A package adds formats, also for the shell, by entry points of the group
    "skci.log_formats", each of which is a :class:`LogFormat`.

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
    collector, known = _Collector(groups), _known_formats(formats)
    for model, given in by_model.items():
        for path in [given] if isinstance(given, str | os.PathLike) else given:
            for file, log_format in _logs(Path(path), incomplete, known):
                collector.add(file, log_format.samples(file), model)
    return collector.rows()


def _known_formats(formats: LogFormat | Iterable[LogFormat]) -> list[LogFormat]:
    """Formats of the caller, of installed packages and of this one, in this order."""
    found: list[Any] = [formats] if isinstance(formats, LogFormat) else [*formats]
    found += [each.load() for each in entry_points(group=_GROUP)]
    for each in found:
        if not isinstance(each, LogFormat):
            raise TypeError(
                f"formats, and entry points of the group {_GROUP!r}, must be LogFormat "
                f"objects, got {brief(each)}"
            )
    return [*found, *_FORMATS]


def _logs(
    path: Path, incomplete: str, formats: Sequence[LogFormat]
) -> Iterator[tuple[LogFile, LogFormat]]:
    """Find the logs at a path, each with its format."""
    path.stat()  # or there is none
    is_folder, found, beside = path.is_dir(), False, []
    within = sorted(filter(Path.is_file, path.rglob("*"))) if is_folder else [path]
    for file in (LogFile(each, incomplete) for each in within):
        log_format = next((x for x in formats if x.recognises(file)), None)
        if log_format is not None:
            found = True
            yield file, log_format
        elif is_folder and (by := [x for x in formats if x.accompanies(file)]):
            beside += [(each, file) for each in by]
        elif not is_folder or (file.kind and not _is_settings(file)):
            raise _unrecognised(file, _names_of(formats))
    for log_format, file in beside:
        log_format.check_beside(file)
    if not found:
        raise ValueError(
            f"{path}: the folder must have logs of one of the formats "
            f"{_names_of(formats)}, got none"
        )


def _names_of(formats: Sequence[LogFormat]) -> str:
    return join_names([each.name for each in formats])


def _is_settings(file: LogFile) -> bool:
    """Whether a file is a JSON object of plain values."""
    found: Any = None
    if file.kind == "document":
        with suppress(ValueError):
            found = DECODER.decode(file.head)
    return isinstance(found, dict) and not any(
        isinstance(value, dict | list) for value in found.values()
    )


def _unrecognised(file: LogFile, formats: str) -> ValueError:
    """Make the error of a file that should be a log, which says why it is none."""
    must = f"must be a log of one of the formats {formats}"
    if not file.kind:
        return file.error(0, f"{must}, got the ending {file.ending!r}")
    if not file.head.strip():
        return file.error(0, f"{must}, got an empty file")
    if not file.has_records:
        for _ in file.members():  # or it is damaged
            pass
        got = f"an object with the fields {[*file.keys][:20]}"
        return file.error(0, f"{must}, got {got}")
    return tables.lacking(file)


class _Collector:
    """Checked grades of all files, whose names are held once."""

    def __init__(self, groups: str | None) -> None:
        self._groups = groups
        self._files: list[LogFile] = []
        self._known: dict[str, str] = {}
        self._columns: dict[str, list[str]] = {name: [] for name in _NAMES}
        self._grades, self._sizes = array("d"), array("d")
        self._places = array("q"), array("q")  # the file and the line
        self._functions: dict[tuple[str, str], str] = {}
        self._better: dict[tuple[str, str], bool] = {}
        self._refused: dict[tuple[str, str], str] = {}

    def add(
        self, file: LogFile, samples: Iterable[Sample | Statement], model: str | None
    ) -> None:
        """Add the samples of a file, of a model with another name if it is given."""
        of_file, of_line = self._places
        columns = [*self._columns.values()]
        statements, start = [], len(self._grades)
        for sample in samples:
            if isinstance(sample, Statement):
                statements.append(sample)
                continue
            name = sample.model if model is None else model
            group = str(self._group(sample, file))
            for scorer, value in sample.grades or [("", None)]:
                names = name, sample.task, sample.item, sample.run, scorer, group
                for column, each in zip(columns, names, strict=True):
                    column.append(self._known.setdefault(each, each))
                grade, size = self._grade(value, sample, scorer, file)
                self._grades.append(grade)
                self._sizes.append(size)
                of_file.append(len(self._files))
                of_line.append(sample.line)
        if len(self._grades) == start:
            raise file.error(0, "paths must be of logs with grades, got none")
        self._files.append(file)
        if statements:
            self._check(statements, start, file)

    def _group(self, sample: Sample, file: LogFile) -> Any:
        """Look up the group of an item, in its metadata if the caller names a field."""
        if self._groups is None:
            if sample.group is None:
                must = "the group of an item must be a name, got None"
                raise file.error(sample.line, must)
            return sample.group
        fields: list[str] = []
        for mapping in sample.metadata:
            if isinstance(mapping, Mapping):
                if mapping.get(self._groups) is not None:
                    return mapping[self._groups]
                fields += mapping
        which = f"one of {fields[:20]}" if fields else "which has none"
        must = (
            f"groups must name a field of the metadata, {which}, got {self._groups!r}"
        )
        raise file.error(sample.line, must)

    def _grade(
        self, value: Any, sample: Sample, scorer: str, file: LogFile
    ) -> tuple[float, float]:
        """Check a grade; also return its size. A missing one, such as None, is NaN."""
        if value is None:
            return math.nan, 1.0
        size, function, refused = 1.0, MEAN, ""
        if isinstance(value, Grade):
            value, size, function, refused = value
        key = sample.task, scorer
        if refused:
            function = ""
            self._refused.setdefault(key, refused)
        before = self._functions.setdefault(key, function)
        if function != before:
            must = f"{scorer!r} is {_KINDS[before]} in other samples, got {value!r:.60}"
            raise file.error(sample.line, must)
        number = math.nan if refused else value
        if type(number) is not float or math.isinf(number):
            word, number = str(value).strip().lower(), math.inf
            with suppress(ValueError):
                number = _WORDS[word] if word in _WORDS else float(word)
        if math.isinf(number):
            raise file.error(
                sample.line,
                f"the grade by {scorer!r} must be a finite number, or one of C, P, I "
                f"and N, true and false; got {value!r:.60}",
            )
        return number, size

    def _check(
        self, statements: Iterable[Statement], start: int, file: LogFile
    ) -> None:
        """Refuse scorers whose printed number is not that of the grades of a file."""
        grades, sizes = (np.array(x[start:]) for x in (self._grades, self._sizes))
        tasks, items, scorers = (
            np.array(self._columns[name][start:], dtype=object)
            for name in ("task", "item", "scorer")
        )
        for task, scorer, refused, printed, values, better in statements:
            key = task, scorer
            if better is not None and self._better.setdefault(key, better) != better:
                must = f"higher_is_better of {scorer!r} of task {task!r} must be "
                raise file.error(
                    0, f"{must}{not better} as in other logs, got {better}"
                )
            rows = (tasks == task) & (scorers == scorer) & ~np.isnan(grades)
            if printed and rows.any():
                # The mean over samples of the mean over their runs.
                item = factorise(items[rows])[1]
                share = sizes[rows] / np.bincount(item)[item]
                number = float(np.average(grades[rows], weights=share))
                if self._functions[key] == PERPLEXITY:
                    number = float(np.exp(number))
                if not any(is_number(x) and _is_close(x, number) for x in values):
                    kind = _KINDS[self._functions[key]]
                    refused = (
                        f"the harness prints {printed}, and {kind} is {number:.6g}"
                    )
            if refused:
                self._refused.setdefault(key, refused)

    def rows(self) -> LogRows:
        """Return all rows; no two of them may be of the same grade.

        Items without a grade have a missing one by each scorer of their task.
        """
        columns: dict[str, Array] = {
            name: np.array(names, dtype=object) for name, names in self._columns.items()
        }
        if not self._grades:
            raise ValueError("paths must be of logs with grades, got none")
        self._check_distinct(columns)
        graded = columns["scorer"] != ""
        by_task: dict[str, dict[str, None]] = {}
        rows, scorers = np.flatnonzero(graded).tolist(), [*columns["scorer"][graded]]
        for task, scorer in zip(columns["task"][graded], scorers, strict=True):
            by_task.setdefault(task, {})[scorer] = None
        for row in np.flatnonzero(~graded).tolist():
            if (task := columns["task"][row]) not in by_task:
                raise ValueError(
                    f"{self._place(row)}: task {task!r} must have a sample with a "
                    "grade, got none"
                )
            rows += [row] * len(by_task[task])
            scorers += by_task[task]
        columns = {name: column[rows] for name, column in columns.items()}
        columns["scorer"] = np.array(scorers, dtype=object)
        columns["grade"] = np.array(self._grades)[rows]
        sizes = np.array(self._sizes)[rows]
        if (sizes != 1).any():
            columns["size"] = sizes
        aggregations = {}
        for key in self._functions | self._better | self._refused:
            function = self._functions.get(key) or MEAN
            better = self._better.get(key, function in (MEAN, SHARE))
            refused = self._refused.get(key, "")
            aggregations[key] = Aggregation(function, better, refused)
        return LogRows(columns, aggregations)

    def _place(self, row: int) -> str:
        of_file, of_line = self._places
        return self._files[of_file[row]].place(of_line[row])

    def _check_distinct(self, columns: Mapping[str, Array]) -> None:
        codes = [factorise(columns[name])[1] for name in _NAMES if name != "group"]
        order = np.lexsort(codes)
        same = (np.diff(np.stack(codes)[:, order]) == 0).all(axis=0)
        if not same.any():
            return
        first, second = np.sort(order[same.argmax() :][:2]).tolist()
        of = {name: columns[name][first] for name in _NAMES}
        raise ValueError(
            f"{self._place(first)} and {self._place(second)}: model {of['model']!r} "
            f"must have one grade of item {of['item']!r} of task {of['task']!r} by "
            f"{of['scorer']!r} in run {of['run']}, got two; leave one of them out, "
            "name the models of files, as new=new.json old=old.json in a shell or by a "
            "mapping in Python, or distinguish runs of a table by a column 'run'"
        )


def _is_close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE)
