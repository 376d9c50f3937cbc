"""Search for logs, and checks of the samples in logs."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skci._options import short_repr
from skci._validation import check_choice, join_names
from skci.data.files import MISSING
from skci.data.items import MEAN, PERPLEXITY, RATIO, SHARE
from skci.logs import deepeval, inspect_ai, lm_eval, promptfoo, swebench, tables
from skci.logs.files import (
    Grade,
    LogFile,
    LogFormat,
    Sample,
    Statement,
    is_number,
    parse,
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
"""Group of entry points for formats of installed packages."""

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0} | {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect"), 0.0),
    **dict.fromkeys((*MISSING, "none"), math.nan),
}
"""Grades by word, in lower case. inspect_ai uses the words C, P, I and N."""
_NAMES = ("model", "task", "item", "run", "scorer", "group")
_KINDS = {
    MEAN: "a mean over samples",
    SHARE: "the share of true members of all lists",
    RATIO: "a mean loss",
    PERPLEXITY: "exp of a mean loss",
    "": "not a mean over samples",
}
"""Descriptions of the aggregations of grades, for messages."""
_CLOSE = 1e-6  # relative difference that is attributed to rounding

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
        Log files, or folders that are searched for logs recursively. A mapping of names
        to paths replaces the names of the models in the logs.
    groups : str, optional
        Name of the field that contains the cluster of each item, such as a passage. The
        field belongs to the metadata or the document of the item. For SWE-bench, the
        field is "repo". By default, clusters are read only from tables with a column
        "group" or "cluster".
    incomplete : {"error", "warn"}, default="error"
        Whether missing samples raise an error or a warning. Samples are missing if a
        log contains fewer samples than it states.
    formats : LogFormat or iterable of LogFormat, optional
        Additional formats. A file is read by the first format that recognises the file.
        `formats` are tried first, then the formats of installed packages, and then the
        formats that are listed in the notes.

    Returns
    -------
    LogRows
        Columns with a row for each grade.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    TypeError
        If a format is not a :class:`LogFormat`.
    ValueError
        If a file is damaged, truncated or not a log, if a log contains fewer samples
        than it states, if a folder has no logs, or if two grades have the same model,
        task, item, run and scorer. The message names the file and the line.

    See Also
    --------
    skci.grades_report : Reports of grades, which :meth:`LogRows.report` calls.

    Notes
    -----
    Supported formats:

    - inspect_ai: logs in JSON and ``.eval`` files, of completed evaluations. Scorers
      keep their names, and the values of a dictionary are named ``scorer/key``. C, P, I
      and N are 1, 0.5, 0 and 0. An epoch is a run. :meth:`LogRows.report` raises an
      error for scorers whose number in the log is not the mean of the grades.
    - lm-evaluation-harness: ``samples_*.jsonl``, written with ``--log_samples``.
      A scorer is a metric with its filter, as in ``exact_match/strict-match``. The
      model is named in the file of results in the same folder, or else after the
      folder. Perplexities, bits per byte and lists of booleans are aggregated in the
      same way as by the harness. :meth:`LogRows.report` raises an error for metrics
      that the harness computes from all documents at once, such as BLEU.
    - promptfoo: ``results.json`` or ``.jsonl``, written with ``--output``. Scorers are
      "pass", "score" and named metrics. A model is a provider, or a pair of a provider
      and a prompt if there are several prompts. An item is a test, identified by its
      description and variables. Repeats of a test are runs.
    - DeepEval: ``.latest_test_run.json`` and other test runs. The model is named in the
      hyperparameters, or else after the file or folder.
    - SWE-bench: summaries ``<model>.<run>.json``, and ``report.json`` of instances.
    - tables in CSV, JSON lines or a JSON array, with columns for items and grades, such
      as ``id`` and ``score``. Columns for model, task, run, scorer and cluster are
      optional. If there is no column for the model, the model is named after the file.

    Text may be compressed, as in ``.jsonl.gz``. If a log states its number of samples,
    this number is compared with the samples in the file. Logs of inspect_ai,
    lm-evaluation-harness, promptfoo, DeepEval and SWE-bench state their number of
    samples.

    In folders, the following files are ignored: files with other extensions, JSON
    objects without nested values, such as settings, and files that a harness writes
    next to its logs. An error is raised for other tables and JSON files, and for logs
    without samples.

    A sample without a grade, such as after an error of a provider, has the grade NaN.
    An infinite grade is an error.

    Samples are read one by one, except from JSON documents, and only their grades are
    kept.

    A package adds a format, also for the command line, by an entry point of the group
    "skci.log_formats" that refers to a :class:`LogFormat`.

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
    collector, all_formats = _Collector(groups), _known_formats(formats)
    for model, model_paths in by_model.items():
        is_one = isinstance(model_paths, str | os.PathLike)
        for path in [model_paths] if is_one else model_paths:
            for file, log_format in _logs(Path(path), incomplete, all_formats):
                collector.add(file, log_format.samples(file), model)
    return collector.rows()


def _known_formats(formats: LogFormat | Iterable[LogFormat]) -> list[LogFormat]:
    """Return the formats of the caller, of installed packages and of this package."""
    checked: list[Any] = [formats] if isinstance(formats, LogFormat) else [*formats]
    checked += [entry_point.load() for entry_point in entry_points(group=_GROUP)]
    for log_format in checked:
        if not isinstance(log_format, LogFormat):
            raise TypeError(
                f"formats, and entry points of the group {_GROUP!r}, must be LogFormat "
                f"objects, got {short_repr(log_format)}"
            )
    return [*checked, *_FORMATS]


def _logs(
    path: Path, incomplete: str, formats: Sequence[LogFormat]
) -> Iterator[tuple[LogFile, LogFormat]]:
    """Yield the logs at a path, each with its format."""
    path.stat()  # raises an error if the path does not exist
    is_folder, has_logs = path.is_dir(), False
    format_names = join_names([log_format.name for log_format in formats])
    names = sorted(filter(Path.is_file, path.rglob("*"))) if is_folder else [path]
    for file in (LogFile(name, incomplete) for name in names):
        log_format = next((x for x in formats if x.recognises(file)), None)
        if log_format is not None:
            has_logs = True
            yield file, log_format
        elif is_folder and any(x.accompanies(file) for x in formats):
            continue
        elif not is_folder or (file.kind and not _is_settings(file)):
            raise _unrecognised(file, format_names)
    if not has_logs:
        raise ValueError(
            f"{path}: the folder must contain logs in one of the formats "
            f"{format_names}, got none"
        )


def _is_settings(file: LogFile) -> bool:
    """Whether a file is a JSON object without nested values, such as settings."""
    content: Any = None
    if file.kind == "document":
        with suppress(ValueError):
            content = parse(file.head)
    return isinstance(content, dict) and not any(
        isinstance(value, dict | list) for value in content.values()
    )


def _unrecognised(file: LogFile, formats: str) -> ValueError:
    """Return the error for a file that has no known format."""
    requirement = f"must be a log in one of the formats {formats}"
    if not file.kind:
        return file.error(0, f"{requirement}, got the extension {file.ending!r}")
    if not file.head.strip():
        return file.error(0, f"{requirement}, got an empty file")
    if not file.has_records:
        for _ in file.members():  # raises if the file is damaged
            pass
        got = f"an object with the fields {[*file.keys][:20]}"
        return file.error(0, f"{requirement}, got {got}")
    return tables.lacking(file)


class _Row(NamedTuple):
    """Grade of an answer, with the file and line that contain the grade."""

    model: str
    task: str
    item: str
    run: str
    scorer: str
    group: str
    grade: float
    size: float
    file: LogFile
    line: int

    @property
    def place(self) -> str:
        """File and line of the grade, for messages."""
        return self.file.place(self.line)


class _Collector:
    """Collector of checked grades from all files."""

    def __init__(self, groups: str | None) -> None:
        self._groups = groups
        self._rows: list[_Row] = []
        self._functions: dict[tuple[str, str], str] = {}
        self._better: dict[tuple[str, str], bool] = {}
        self._refused: dict[tuple[str, str], str] = {}

    def add(
        self, file: LogFile, samples: Iterable[Sample | Statement], model: str | None
    ) -> None:
        """Add the samples of a file.

        If `model` is passed, this name replaces the model names in the file.
        """
        statements, rows = [], []
        for sample in samples:
            if isinstance(sample, Statement):
                statements.append(sample)
                continue
            name = sample.model if model is None else model
            group = str(self._group(sample, file))
            for scorer, value in sample.grades or [("", None)]:
                names = name, sample.task, sample.item, sample.run, scorer, group
                grade, size = self._grade(value, sample, scorer, file)
                rows.append(_Row(*names, grade, size, file, sample.line))
        if not rows:
            raise file.error(0, "paths must contain logs with grades, got none")
        self._rows += rows
        for statement in statements:
            self._check(statement, rows, file)

    def _group(self, sample: Sample, file: LogFile) -> Any:
        """Return the cluster of an item.

        By default, this is the group that the log states. If the user passes `groups`,
        the cluster is read from this field of the metadata.
        """
        if self._groups is None:
            if sample.group is None:
                requirement = "the group of an item must be a name, got None"
                raise file.error(sample.line, requirement)
            return sample.group
        mappings = [x for x in sample.metadata if isinstance(x, Mapping)]
        for mapping in mappings:
            if mapping.get(self._groups) is not None:
                return mapping[self._groups]
        fields = [*chain(*mappings)]
        which = f"one of {fields[:20]}" if fields else "which has none"
        raise file.error(
            sample.line,
            f"groups must name a field of the metadata, {which}, got {self._groups!r}",
        )

    def _grade(
        self, value: Any, sample: Sample, scorer: str, file: LogFile
    ) -> tuple[float, float]:
        """Check a grade, and return its value and size.

        The value of a missing grade is NaN.
        """
        if value is None:
            return math.nan, 1.0
        grade = value if isinstance(value, Grade) else Grade(value)
        key, value = (sample.task, scorer), grade.value
        if grade.refused:
            self._refused.setdefault(key, grade.refused)
        function = "" if grade.refused else grade.function
        before = self._functions.setdefault(key, function)
        if function != before:
            requirement = f"{scorer!r} is {_KINDS[before]} in other samples"
            raise file.error(sample.line, f"{requirement}, got {value!r:.60}")
        number = math.nan if grade.refused else value
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
        return number, grade.size

    def _check(self, statement: Statement, rows: Sequence[_Row], file: LogFile) -> None:
        """Compare a number that a harness prints with the grades in the same file.

        If the numbers for a scorer differ, no report on this scorer is possible.
        """
        key, better = (statement.task, statement.scorer), statement.higher_is_better
        if better is not None and self._better.setdefault(key, better) != better:
            task, scorer = key
            raise file.error(
                0,
                f"higher_is_better of {scorer!r} in task {task!r} must be {not better} "
                f"as in other logs, got {better}",
            )
        refused = statement.refused
        graded = [
            row
            for row in rows
            if (row.task, row.scorer) == key and not math.isnan(row.grade)
        ]
        if statement.printed and graded:
            # The expected number is the mean over samples of the mean over runs.
            n_runs = Counter(row.item for row in graded)
            shares = [row.size / n_runs[row.item] for row in graded]
            number = float(np.average([row.grade for row in graded], weights=shares))
            function = self._functions[key]
            if function == PERPLEXITY:
                number = float(np.exp(number))
            if not any(_is_close(x, number) for x in statement.values if is_number(x)):
                refused = (
                    f"in {file.path} the harness prints {statement.printed} for "
                    f"{rows[0].model!r}, and {_KINDS[function]} is {number:.6g}"
                )
        if refused:
            self._refused.setdefault(key, refused)

    def rows(self) -> LogRows:
        """Return all grades as rows, and check that the rows are distinct.

        An item without any grade gets the grade NaN for each scorer of its task.
        """
        if not self._rows:
            raise ValueError("paths must contain logs with grades, got none")
        self._check_distinct()
        by_task: dict[str, dict[str, None]] = {}
        rows = [row for row in self._rows if row.scorer]
        for row in rows:
            by_task.setdefault(row.task, {})[row.scorer] = None
        for row in self._rows:
            if row.task not in by_task:
                raise ValueError(
                    f"{row.place}: task {row.task!r} must have a sample with a grade, "
                    "got none"
                )
            if not row.scorer:
                rows += [row._replace(scorer=name) for name in by_task[row.task]]
        *names, grades, sizes, _, _ = zip(*rows, strict=True)
        columns = {
            name: np.array(column, dtype=object)
            for name, column in zip(_NAMES, names, strict=True)
        }
        columns["grade"] = np.array(grades, dtype=float)
        if {*sizes} != {1}:
            columns["size"] = np.array(sizes, dtype=float)
        aggregations = {}
        for key in self._functions | self._better | self._refused:
            function = self._functions.get(key) or MEAN
            better = self._better.get(key, function in (MEAN, SHARE))
            refused = self._refused.get(key, "")
            aggregations[key] = Aggregation(function, better, refused)
        return LogRows(columns, aggregations)

    def _check_distinct(self) -> None:
        first_rows: dict[tuple[str, ...], _Row] = {}
        for row in self._rows:
            names = row.model, row.task, row.item, row.run, row.scorer
            first = first_rows.setdefault(names, row)
            if first is not row:
                raise ValueError(
                    f"{first.place} and {row.place}: model {row.model!r} must have one "
                    f"grade for item {row.item!r} of task {row.task!r} by "
                    f"{row.scorer!r} in run {row.run}, got two grades. Leave out one "
                    "grade. If the grades are from two models, name the models of "
                    "files with a mapping (in a shell new=new.json old=old.json). If "
                    "the grades are from two runs in a table, add a column 'run'"
                )


def _is_close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE)
