"""Classes for log formats: files, and the samples read from the files.

The module of a log format defines a `LogFormat`. It imports only from this module.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from json import JSONDecodeError
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from skci._arrays import cached_property
from skci.data.files import DELIMITERS, csv_reader, csv_rows
from skci.data.items import MEAN
from skci.exceptions import IncompleteLogWarning, warn_caller

_HEAD = 1 << 16  # number of characters from which the format is recognised
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"\s*+:?|[{}\[\]"]')
_KINDS = {
    ".json": "document",
    **dict.fromkeys((".jsonl", ".ndjson"), "lines"),
    **dict.fromkeys(DELIMITERS, "table"),
}
_COMPRESSED = ".gz"
_TYPES: dict[Any, str] = {dict: "a JSON object", list: "an array", str: "a string"}


class Grade(NamedTuple):
    """Grade of a sample, with the number of units, such as tokens, that were graded.

    Parameters
    ----------
    value : float or str
        The grade.
    size : float, default=1
        Number of units, such as tokens, over which `value` is a mean.
    function : {"mean", "ratio", "share", "perplexity"}, default="mean"
        Aggregation of the grades by the harness. "mean" is the mean over samples.
        "ratio" is the mean over all units: each grade is weighted by its size. "share"
        is the mean over all units for grades between 0 and 1, and "perplexity" is exp
        of the mean over all units.
    refused : str, default=""
        Reason why the harness has no grade for single samples. Empty if there is a
        grade for each sample.

    Examples
    --------
    >>> from skci.logs import Grade
    >>> Grade(2.5, size=120, function="perplexity").size
    120
    """

    value: Any
    size: float = 1.0
    function: str = MEAN
    refused: str = ""


class Sample(NamedTuple):
    """Answer of a model to an item, with its grades, as recorded in a log.

    Parameters
    ----------
    line : int
        Line number for messages, counted from 1, or 0 if the line is unknown.
    model, task, item : str
        Names of the model, the task and the item.
    run : str, default="1"
        Name of the run, such as an epoch, if a model answers an item repeatedly.
    grades : sequence of (str, grade), optional
        Pairs of a scorer and a grade. A grade is a number, a boolean, a word such as
        "C" or "yes", a `Grade`, or None for a missing grade. The sequence is empty for
        an item without any grade.
    group : str, default=""
        Cluster of the item, which is ignored if `groups` is passed to :func:`read`.
    metadata : sequence of mappings, optional
        Mappings of field names to values. If the name of a field is passed to
        :func:`read` as `groups`, all of these mappings are searched for the field.

    Examples
    --------
    >>> from skci.logs import Sample
    >>> Sample(1, "small", "sums", "17", grades=[("exact", True)]).run
    '1'
    """

    line: int
    model: str
    task: str
    item: str
    run: str = "1"
    grades: Sequence[tuple[str, Any]] = ()
    group: Any = ""
    metadata: Sequence[Any] = ()


class Statement(NamedTuple):
    """Number that a harness prints for a task and a scorer.

    If the printed number differs from the number computed from the samples of the file,
    :meth:`LogRows.report` raises an error.

    Parameters
    ----------
    task, scorer : str
        Names of the task and the scorer.
    refused : str, default=""
        Reason why the printed number cannot be computed from the samples. Empty if the
        number can be computed.
    printed : str, default=""
        Text of the printed numbers for messages. Empty if the numbers are unknown.
    values : sequence of float, optional
        Numbers in the log that the harness computed. One of these numbers must equal
        the number computed from the samples.
    higher_is_better : bool, optional
        Whether a higher grade is better. None if the log has no information.

    Examples
    --------
    >>> from skci.logs import Statement
    >>> Statement("sums", "exact", printed="0.75", values=[0.75]).scorer
    'exact'
    """

    task: str
    scorer: str
    refused: str = ""
    printed: str = ""
    values: Sequence[Any] = ()
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class LogFormat:
    r"""Format of log files, for :func:`read` and for the command line.

    A format parses files. The function :func:`read` then checks the grades, clusters
    and printed numbers. A format is passed to :func:`read` as `formats`. The formats of
    installed packages are found through entry points of the group "skci.log_formats".

    Parameters
    ----------
    name : str
        Name of the format in messages.
    recognises : callable
        Function ``recognises(file)`` that returns whether a `LogFile` has the format.
        The function uses the name, `head` and `keys` of the file.
    samples : callable
        Function ``samples(file)`` that yields a `Sample` for each sample of a file. It
        may also yield a `Statement` for each number printed by the harness.
    accompanies : callable, optional
        Function ``accompanies(file)`` that returns whether a file is written next to
        logs but contains no samples. Such files are skipped. By default, no file is
        skipped.

    Examples
    --------
    Logs with lines such as ``{"q": "17", "ok": true}``, in files named after models:

    >>> import pathlib, tempfile
    >>> from skci import logs
    >>> def samples(file):
    ...     for record, line in file.records():
    ...         grades = [("ok", file.field(record, "ok", line))]
    ...         yield logs.Sample(line, file.stem, "quiz", record["q"], grades=grades)
    >>> quiz = logs.LogFormat("quiz", lambda file: {"q", "ok"} <= {*file.keys}, samples)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.jsonl"
    >>> _ = path.write_text('{"q": "a", "ok": true}\n{"q": "b", "ok": false}')
    >>> logs.read(path, formats=quiz)
    2 grades of 1 model, 2 items of 1 task by ok
    """

    name: str
    recognises: Callable[[LogFile], bool]
    samples: Callable[[LogFile], Iterator[Sample | Statement]]
    accompanies: Callable[[LogFile], bool] = lambda file: False


def parse(text: str) -> Any:
    """Parse JSON, and raise a `JSONDecodeError` if objects are nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        problem = "arrays and objects are nested too deeply"
        raise JSONDecodeError(problem, text, 0) from error


@dataclass(frozen=True)
class LogFile:
    """File that may be a log, as passed to the functions of a :class:`LogFormat`.

    Text files may be compressed with gzip.

    Parameters
    ----------
    path : Path
        Path of the file.
    incomplete : {"error", "warn"}, default="error"
        Whether missing samples raise an error or a warning. Samples are missing if the
        log contains fewer samples than it states.
    growing : bool, default=False
        Whether to skip an incomplete last line of JSON lines, because the file is still
        being written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skci.logs import LogFile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.jsonl"
    >>> _ = path.write_text('{"id": 17, "score": 1}')
    >>> file = LogFile(path)
    >>> file.kind, file.keys, [*file.records()]
    ('lines', ('id', 'score'), [({'id': 17, 'score': 1}, 1)])
    """

    path: Path
    incomplete: str = "error"
    growing: bool = False

    @property
    def name(self) -> str:
        """Name of the file, without the extension ``.gz`` of compressed text."""
        name, ending = self.path.stem, self.path.suffix.lower()
        is_text = Path(name).suffix.lower() in _KINDS
        return name if ending == _COMPRESSED and is_text else self.path.name

    @property
    def stem(self) -> str:
        """Name of the file without extensions."""
        return Path(self.name).stem

    @property
    def ending(self) -> str:
        """Extension of the name in lower case, such as ``.json``."""
        return Path(self.name).suffix.lower()

    @property
    def kind(self) -> str:
        """Type of the text: JSON "document", JSON "lines", "table", or empty."""
        return _KINDS.get(self.ending, "")

    @property
    def has_records(self) -> bool:
        """Whether the file contains JSON lines, a JSON array or a table."""
        is_array = self.kind == "document" and self.head.lstrip().startswith("[")
        return is_array or self.kind in ("lines", "table")

    @cached_property
    def head(self) -> str:
        """Text at the start of the file, with at least the first line of JSON lines.

        The text is empty if the file is neither JSON nor a table.
        """
        if not self.kind:
            return ""
        with self._open() as file:
            head = file.read(_HEAD)
            return head + file.readline() if self.kind == "lines" else head

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys of the first JSON object, or names of the columns of a table."""
        if self.kind == "table":
            return tuple(next(self._table(), ((), 0))[0])
        text, level, keys = self.head.lstrip().removeprefix("["), 0, []
        for match in _TOKEN.finditer(text):
            token = match[0]
            level += (token in "{[") - (token in "}]")
            if token.endswith(":") and level == 1:
                with suppress(JSONDecodeError):  # reported when the file is read
                    keys.append(json.loads(token[:-1]))
            if not level or token == '"':  # a quote begins an unterminated string
                break
        return tuple(keys)

    def error(self, line: int, message: str) -> ValueError:
        """Return an error that names the file and a line.

        Parameters
        ----------
        line : int
            Line number, counted from 1. 0 if the error refers to the whole file.
        message : str
            Text of the error: a requirement, and the value that violates it.

        Returns
        -------
        ValueError
            The error, for the caller to raise.
        """
        return ValueError(f"{self.place(line)}: {message}")

    def place(self, line: int) -> str:
        """Describe a line, or an entry of a document, for messages.

        Parameters
        ----------
        line : int
            Line number, or number of an entry in a JSON document or an archive, counted
            from 1. 0 means the whole file.

        Returns
        -------
        str
            The path and the line.
        """
        kind = "line" if self.kind in ("lines", "table") else "entry"
        return f"{self.path}, {kind} {line}" if line else str(self.path)

    def is_complete(self, n_held: int, n_stated: Any, of: str = "") -> bool:
        """Check that the log contains as many samples as it states.

        Parameters
        ----------
        n_held : int
            Number of samples that the file contains.
        n_stated : int or None
            Number of samples that the log states. If this number is not an integer,
            nothing is checked.
        of : str, default=""
            Text that identifies a part of the log in the message, as in
            ``" of task 'sums'"``.

        Returns
        -------
        bool
            Whether the log contains all samples. False is returned only if
            ``incomplete`` is "warn".

        Raises
        ------
        ValueError
            If samples are missing and ``incomplete="error"``.

        Warns
        -----
        IncompleteLogWarning
            If samples are missing and ``incomplete="warn"``.
        """
        if not isinstance(n_stated, int) or n_held >= n_stated:
            return True
        if self.incomplete == "error":
            requirement = (
                f"the log must contain the {n_stated:,} samples{of} that it states, "
                f"got {n_held:,}; write it again, or set incomplete='warn' (in a shell "
                "--incomplete warn) to report on the samples that it contains"
            )
            raise self.error(0, requirement)
        warn_caller(
            f"{self.path}: the log states {n_stated:,} samples{of}, but contains only "
            f"{n_held:,} samples; estimates do not include the missing samples",
            IncompleteLogWarning,
        )
        return False

    def field(
        self,
        record: Any,
        name: str,
        line: int,
        kind: type = object,
        default: Any = None,
    ) -> Any:
        """Return a field of a record, and check its type.

        Parameters
        ----------
        record : object
            Record, which must be a mapping.
        name : str
            Name of the field.
        line : int
            Line of the record, for messages.
        kind : {object, dict, list, str}, default=object
            Type of the field.
        default : object, optional
            Value to return if the field is missing or null. Without a default, a
            missing field is an error.

        Returns
        -------
        object
            The field.

        Raises
        ------
        ValueError
            If the field is missing, or has another type.
        """
        value = self.check(record, dict, line).get(name)
        if value is None and default is not None:
            return default
        if name not in record:
            requirement = (
                f"the record must have the field {name!r}, got {[*record][:20]}"
            )
            raise self.error(line, requirement)
        return self.check(value, kind, line, f"the field {name!r} ")

    def check(self, value: Any, kind: type, line: int, what: str = "") -> Any:
        """Return a value, and check its type.

        Parameters
        ----------
        value : object
            The value.
        kind : {dict, list, str}
            Required type.
        line : int
            Line of the value, for messages.
        what : str, default=""
            Start of the error message, as in ``"the field 'score' "``.

        Returns
        -------
        object
            The value.

        Raises
        ------
        ValueError
            If the value has another type.
        """
        if not isinstance(value, kind):
            requirement = f"{what}must be {_TYPES[kind]}, got {value!r:.40}"
            raise self.error(line, requirement)
        return value

    def records(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Read the rows of JSON lines, of a JSON array or of a table.

        Yields
        ------
        record : dict
            Row by the names of its fields.
        line : int
            Line of the row, or index of the entry of a JSON array, counted from 1.

        Raises
        ------
        ValueError
            If the file is damaged, or a row is not an object.
        """
        if self.kind == "table":
            yield from islice(self._table(), 1, None)
        elif self.kind == "lines":
            yield from self._lines()
        else:
            for _, value, line in self.members():
                yield self.check(value, dict, line), line

    def members(self, *opened: str) -> Iterator[tuple[str, Any, int]]:
        """Read the members of a JSON document in order.

        Parameters
        ----------
        *opened : str
            Names of members whose own members are read one by one. The name of a nested
            member is the path to the member, with dots, as in "results.stats". The
            elements of an array have the name of the array.

        Yields
        ------
        name : str
            Name of the member, or an empty string if the document is an array.
        value : object
            Value of the member.
        entry : int
            Position of the member in its object or array, counted from 1.

        Raises
        ------
        ValueError
            If the document is damaged.
        """
        with self._open() as file:
            text = file.read()
        try:
            document = parse(text)
        except JSONDecodeError as error:
            at_end = not text[error.pos :].strip()
            is_cut = at_end or error.msg.startswith("Unterminated")
            problem = "the file is truncated" if is_cut else error.msg
            raise ValueError(
                f"{self.path}, line {error.lineno}: the content must be JSON: {problem}"
            ) from error
        if not isinstance(document, dict | list):
            raise self.error(0, f"must be an object or an array, got {text:.40}")
        yield from _members(document, opened)

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        opener: Any = open if self.name == self.path.name else gzip.open
        with opener(self.path, "rt", encoding="utf-8-sig", newline="") as file:
            try:
                yield cast(IO[str], file)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                requirement = (
                    f"the file must be complete, but is truncated or damaged: {error}"
                )
                raise self.error(0, requirement) from error
            except UnicodeDecodeError as error:
                if self.growing and error.reason == "unexpected end of data":
                    return
                raise self.error(0, "the file must be text in UTF-8") from error

    def _lines(self) -> Iterator[tuple[dict[str, Any], int]]:
        with self._open() as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    value = parse(text)
                except JSONDecodeError as error:
                    if self.growing and not text.endswith("\n"):
                        return
                    raise self.error(
                        line, f"the content must be JSON: {error.msg}"
                    ) from error
                yield self.check(value, dict, line), line

    def _table(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield each row of a table, header first, as a dict with the line number."""
        header = None
        with self._open() as file:
            reader = csv_reader(file, DELIMITERS[self.ending], self.growing)
            try:
                for row in csv_rows(reader, self.growing):
                    header = header or row
                    yield dict(zip(header, row, strict=True)), reader.line_num
            except csv.Error as error:
                raise ValueError(f"{self.path}, {error}") from error


def is_number(value: Any) -> bool:
    """Whether a value of a log is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def total(record: Any, *names: str) -> int | None:
    """Return the sum of the counts in some fields of a record.

    None is returned if all fields are missing.
    """
    fields = record if isinstance(record, dict) else {}
    counts = [fields[name] for name in names if isinstance(fields.get(name), int)]
    return sum(counts) if counts else None


def within(record: Any, *names: str) -> Any:
    """Return a member of nested objects by its path, or None if it is missing."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _members(
    value: Any, opened: Collection[str], path: str = ""
) -> Iterator[tuple[str, Any, int]]:
    """Yield the members of a JSON object or array.

    A nested object or array with a name in `opened` is replaced by its members.
    """
    is_object = isinstance(value, dict)
    pairs = value.items() if is_object else (("", entry) for entry in value)
    for entry, (key, member) in enumerate(pairs, 1):
        name = ".".join(filter(None, [path, key]))
        if is_object and name in opened and isinstance(member, dict | list):
            yield from _members(member, opened, name)
        else:
            yield name, member, entry
