"""Rows of grades in columns, with checks that name the file and the line."""

from __future__ import annotations

import math
import shlex
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, factorise
from skci._validation import check_choice, check_names, join_names
from skci.data.files import MISSING
from skci.data.items import MEAN, SHARE, UNNAMED, AggregatedGrades
from skci.grades import SAMPLES, grades_report
from skci.logs.files import LogFile

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0} | {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect"), 0.0),
    **dict.fromkeys((*MISSING, "none"), math.nan),
}
"""Numbers of words, in lower case; those of inspect_ai are C, P, I and N."""
_CLOSE = 1e-6  # relative difference of numbers that is rounding


def is_number(value: Any) -> bool:
    """Whether a value of a log is a number, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def disagreement(printed: Any, computed: float, kind: str) -> str:
    """Say that a harness prints another number than that of the samples.

    Empty if the numbers are equal but for rounding, or one is unknown.
    """
    if not is_number(printed) or math.isnan(printed) or math.isnan(computed):
        return ""
    if math.isclose(printed, computed, rel_tol=_CLOSE, abs_tol=_CLOSE):
        return ""
    return f"the harness prints {printed:.6g}, and {kind} is {computed:.6g}"


def as_grade(value: Any, file: LogFile, line: int, scorer: str) -> float:
    """Read a grade; NaN for a missing one, such as None."""
    if type(value) is float and not math.isinf(value):
        return value
    number = math.inf
    with suppress(ValueError):
        word = str(value).strip().lower()
        number = _WORDS[word] if word in _WORDS else float(word)
    if math.isinf(number):
        raise file.error(
            line,
            f"the grade by {scorer!r} must be a finite number, or one of C, P, I and "
            f"N, true and false; got {value!r:.60}",
        )
    return number


def as_group(metadata: Iterable[Any], name: str, file: LogFile, line: int) -> Any:
    """Look up the group of an item in its metadata."""
    found: list[str] = []
    for mapping in metadata:
        if isinstance(mapping, Mapping):
            if mapping.get(name) is not None:
                return mapping[name]
            found += mapping
    fields = f"one of {found[:20]}" if found else "which has none"
    raise file.error(
        line, f"groups must name a field of the metadata, {fields}, got {name!r}"
    )


_NAMES = ("model", "task", "item", "run", "scorer", "group")
_GRADES_OF_ANSWERS = (0.0, 0.5, 1.0)  # wrong, partly right and right


class Row(NamedTuple):
    """A grade in a log, as parsed; without a scorer, an item without a grade.

    `group` is the default one. `metadata` are mappings, in which the field that the
    caller names as groups is looked up.
    """

    line: int
    model: str
    task: str
    item: str
    run: str = "1"
    scorer: str = ""
    grade: Any = np.nan
    group: Any = ""
    metadata: Sequence[Any] = ()
    size: float = 1.0
    """Number of units, such as tokens, of which the grade is the mean."""


class Aggregation(NamedTuple):
    """How a harness computes its number of a task by a scorer from its samples.

    Grades are averaged unless a log declares something else.
    """

    task: str
    scorer: str
    function: str = MEAN
    """Function of the grades and their sizes."""
    higher_is_better: bool = True
    refused: str = ""
    """Why there is no number; empty if there is one."""


@dataclass(frozen=True, eq=False, repr=False)
class LogRows(Mapping[str, Array]):
    r"""Columns with a row for each grade in some logs, a mapping of str to arrays.

    Returned by :func:`skci.logs.read`; ``pandas.DataFrame(rows)`` is a data frame.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        "model", "task", "item", "run", "scorer" and "group" are names, and "grade" are
        numbers; NaN of an item without a grade. Groups are empty where none were
        asked for. If some grades are means over units of a sample, such as tokens or
        instructions, "size" is the number of units, and 1 for other grades.
    aggregations : mapping of (str, str) to Aggregation, optional
        How the harness aggregates grades, by task and scorer, where it does not average
        them or a lower grade is better.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from skci import logs
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for model, grades in {"A": [1, 1, 0, 1] * 10, "B": [1, 0, 0, 1] * 10}.items():
    ...     lines = [json.dumps({"id": k, "score": x}) for k, x in enumerate(grades)]
    ...     _ = (folder / f"{model}.jsonl").write_text("\n".join(lines))
    >>> rows = logs.read(folder)
    >>> rows
    80 grades of 2 models, 40 items of 1 task
    >>> rows.report().ranks().top()
    ['A']
    """

    columns: Mapping[str, Array]
    aggregations: Mapping[tuple[str, str], Aggregation] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        n_items = len(dict.fromkeys(zip(self["task"], self["item"], strict=True)))
        tasks, scorers = self.tasks, self.scorers
        text = (
            f"{len(self['grade'])} grades of {_counted(len(self.models), 'model')}, "
            f"{_counted(n_items, 'item')} of {_counted(len(tasks), 'task')}"
        )
        named = [name for name in scorers if name != UNNAMED]
        return f"{text} by {join_names(named)}" if named else text

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order of the logs."""
        return self._distinct("model")

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in the order of the logs."""
        return self._distinct("task")

    @property
    def scorers(self) -> list[str]:
        """Names of the scorers, in the order of the logs."""
        return self._distinct("scorer")

    def _distinct(self, name: str) -> list[str]:
        return list(dict.fromkeys(self[name].tolist()))

    def select(
        self,
        *,
        models: str | Iterable[str] | None = None,
        tasks: str | Iterable[str] | None = None,
        scorers: str | Iterable[str] | Mapping[str, str] | None = None,
    ) -> LogRows:
        """Return the rows of some models, tasks and scorers; of all if not given.

        Parameters
        ----------
        models : str or iterable of str, optional
            Names of models.
        tasks : str or iterable of str, optional
            Names of tasks.
        scorers : str, iterable of str or mapping of str to str, optional
            Names of scorers; or the scorer of each task, such as exact match in one
            task and a judge in another, whose grades then have one scorer without a
            name.

        Returns
        -------
        LogRows
            The selected rows, in order.

        Raises
        ------
        KeyError
            If there is no such name.
        ValueError
            If a model has no grades of the selected tasks, or a task none by the
            selected scorers. Select other models or tasks to leave it out.
        """
        by_task = scorers if isinstance(scorers, Mapping) else None
        if by_task is not None:
            check_names(by_task, self.tasks, "task")
            scorers = list(by_task.values())
        given = {"model": models, "task": tasks, "scorer": scorers}
        found = {
            kind: check_names(names, self._distinct(kind), kind)
            for kind, names in given.items()
        }
        of = {kind: np.isin(self[kind], names) for kind, names in found.items()}
        asked: dict[str, Any] = {
            f"{k}s": found[k] for k, names in given.items() if names is not None
        }
        if by_task is not None:
            of_task = [by_task.get(task) for task in self["task"]]
            of["scorer"] = np.array(of_task, dtype=object) == self["scorer"]
            asked["scorers"] = dict(by_task)
        if tasks is None:
            found["task"] = list(dict.fromkeys(self["task"][of["model"]]))
        selected = of["model"] & of["task"] & of["scorer"]
        for kind in ("task", "model"):
            left = set(self[kind][selected])
            self._check_left(f"{kind}s", found[kind], left, asked)
        columns = {name: values[selected] for name, values in self.items()}
        aggregations = self.aggregations
        if by_task is not None:
            columns["scorer"] = np.full(selected.sum(), UNNAMED, dtype=object)
            chosen = [self._aggregation(*pair) for pair in by_task.items()]
            _check_means(chosen, "chosen by task")
            aggregations = {(each.task, UNNAMED): each for each in chosen}
        return LogRows(columns, aggregations)

    def _aggregation(self, task: str, scorer: str) -> Aggregation:
        return self.aggregations.get((task, scorer)) or Aggregation(task, scorer)

    @staticmethod
    def _check_left(
        kinds: str, names: list[str], left: Collection[str], asked: Mapping[str, Any]
    ) -> None:
        """Check that all tasks or models have grades among those asked for."""
        without = [name for name in names if name not in left]
        if not without:
            return
        by = ", ".join(f"{k}={value}" for k, value in asked.items() if k != kinds)
        message = f"{kinds} must have grades with {by}, got none of {without}"
        if left:
            message += f"; to leave these out, {_selection(kinds, names, left)}"
        raise ValueError(message)

    def report(self, *, samples: str = "independent", **options: Any) -> Any:
        """Joint report of the grades, by :func:`skci.grades_report`.

        Several tasks are those of a suite, over which means are taken. The number of a
        scorer is that of the harness: by default a mean, for a perplexity exp of a mean
        loss, and for lists of booleans the share of true ones of all lists.

        Parameters
        ----------
        samples : {"independent", "runs", "paired-runs"}, default="independent"
            Sampling of the runs of an item: "independent" answers, such as the epochs
            of a harness, which are averaged; or "runs" that all items share, such as
            training seeds, and models too if they are "paired-runs".
        **options
            Other options of :func:`skci.grades_report`, such as `by`, `average` and
            `bounds`. If no `bounds` are given, those of scorers whose grades are all 0,
            0.5 or 1, or shares, are (0, 1). Scorers that `higher_is_better` does not
            name have the direction that the log states, or that of a perplexity.

        Returns
        -------
        GradesReport, or RunsReport of several runs
            Metrics have the names of the scorers.

        Raises
        ------
        ValueError, TypeError
            If tasks have different scorers, a model has no grades of a task and
            `missing_grades` is "error", there are groups of several tasks, a scorer has
            no number for each sample, or is no mean and there are several tasks, or an
            option is wrong.
        """
        check_choice(samples, SAMPLES, "samples")
        self._check_scorers()
        aggregations = self._checked_aggregations()
        if options.get("missing_grades", "error") == "error":
            self._check_tasks()
        columns = dict(self)
        names = {"model": "model", "item": "item", "scorer": "scorer"}
        if len(self.tasks) > 1:
            names["tasks"] = "task"
            columns["item"] = self["task"] + "/" + self["item"]
        if self["group"].any():
            names["groups"] = "group"
        if {"tasks", "groups"} <= names.keys():
            raise ValueError(
                "groups must be of one task, since how the items of a suite vary "
                f"follows from the tasks; select one of {self.tasks}"
            )
        if samples != "independent":
            names |= {"run": "run", "samples": samples}
        bounds = {name: (0, 1) for name in self.scorers if self._is_of_answers(name)}
        given = {"bounds": bounds or None} | names | options
        better = given.get("higher_is_better", {})
        if isinstance(better, Mapping):
            stated = {name: of[0].higher_is_better for name, of in aggregations.items()}
            given["higher_is_better"] = stated | dict(better)
        functions = {
            name: of[0].function
            for name, of in aggregations.items()
            if of[0].function != MEAN
        }
        return grades_report(
            "grade", data=AggregatedGrades(columns, functions), **given
        )

    def _checked_aggregations(self) -> dict[str, list[Aggregation]]:
        """Aggregations of each scorer in its tasks, of which reports can be made."""
        found = {
            scorer: [self._aggregation(task, scorer) for task in tasks]
            for scorer, tasks in _different(self, "task", by="scorer").items()
        }
        refused = [each for of in found.values() for each in of if each.refused]
        if refused:
            named = {name for name, of in found.items() if {*of} & {*refused}}
            left = [name for name in self.scorers if name not in named]
            select = f"; {_selection('scorers', self.scorers, left)}" if left else ""
            reasons = "; ".join(
                f"{each.scorer!r} of task {each.task!r}: {each.refused}"
                for each in refused
            )
            raise ValueError(
                f"scorers must have a number for each sample, got {reasons}{select}"
            )
        for scorer, of in found.items():
            if len(of) > 1:
                _check_means(of, "of several tasks")
            if len({each.higher_is_better for each in of}) > 1:
                stated = {each.task: each.higher_is_better for each in of}
                raise ValueError(
                    f"higher_is_better of {scorer!r} must be the same in all tasks, "
                    f"got {stated}; select one of the tasks"
                )
        return found

    def _is_of_answers(self, scorer: str) -> bool:
        of_scorer = self["scorer"] == scorer
        grades = self["grade"][of_scorer]
        tasks = dict.fromkeys(self["task"][of_scorer])
        functions = {self._aggregation(task, scorer).function for task in tasks}
        if functions != {MEAN}:
            return functions == {SHARE}
        return bool(np.isin(grades[~np.isnan(grades)], _GRADES_OF_ANSWERS).all())

    def _check_scorers(self) -> None:
        """Check that tasks have the same scorers."""
        by_task = _different(self, "scorer", by="task")
        if len({frozenset(scorers) for scorers in by_task.values()}) > 1:
            first = {task: scorers[0] for task, scorers in by_task.items()}
            in_shell = ",".join(f"{task}={scorer}" for task, scorer in first.items())
            raise ValueError(
                f"scorers must be those of all tasks, got {by_task}; select one for "
                f"each, as scorers={first} (in a shell --scorer {in_shell}), or some "
                "of the tasks"
            )

    def _check_tasks(self) -> None:
        """Check that each model has grades of all tasks."""
        tasks = self.tasks
        graded = ~np.isnan(self["grade"])
        found = _different(self, "task", by="model", rows=graded)
        answered = {model: found.get(model, []) for model in self.models}
        lacking = {
            model: [task for task in tasks if task not in of_model]
            for model, of_model in answered.items()
            if len(of_model) < len(tasks)
        }
        if not lacking:
            return
        got = join_names(
            [f"{model} has none of {', '.join(x)}" for model, x in lacking.items()]
        )
        common = set(tasks).intersection(*answered.values())
        select = f"{_selection('tasks', tasks, common)}, or " if common else ""
        raise ValueError(
            f"models must have grades of all tasks, but {got}; {select}set "
            "missing_grades (in a shell --missing-grades) to 'drop' to compare all "
            "models on the items that all have, to 'pairwise' to compare each two on "
            "the items that both have, or to a number, as 0, that counts as a missing "
            "grade"
        )


def _different(
    columns: Mapping[str, Array], kind: str, *, by: str, rows: Any = slice(None)
) -> dict[str, list[str]]:
    """Different names of a kind by those of another, in some rows."""
    found: dict[str, list[str]] = {}
    for name, other in dict.fromkeys(
        zip(columns[by][rows], columns[kind][rows], strict=True)
    ):
        found.setdefault(name, []).append(other)
    return found


def _check_means(aggregations: Iterable[Aggregation], which: str) -> None:
    """Check that scorers are means over items."""
    for each in aggregations:
        if each.function != MEAN:
            raise ValueError(
                f"scorers {which} must be means over items, got {each.scorer!r} of "
                f"task {each.task!r}; select tasks={each.task!r} and "
                f"scorers={each.scorer!r}"
            )


def _selection(kinds: str, names: Iterable[str], left: Collection[str]) -> str:
    """Advice on how to select the names that are left."""
    chosen = [name for name in names if name in left]
    in_shell = shlex.quote(",".join(chosen))
    option = "scorer" if kinds == "scorers" else kinds
    return f"select {kinds}={chosen} (in a shell --{option} {in_shell})"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


class Collector:
    """Checked rows of all files, whose names are held once."""

    def __init__(self, groups: str | None) -> None:
        self._groups = groups
        self._files: list[LogFile] = []
        self._known: dict[str, str] = {}
        self._columns: dict[str, list[str]] = {name: [] for name in _NAMES}
        self._grades, self._sizes = array("d"), array("d")
        self._places = array("q"), array("q")  # the file and the line
        self._aggregations: dict[tuple[str, str], Aggregation] = {}

    def add(
        self, file: LogFile, rows: Iterable[Row | Aggregation], model: str | None
    ) -> None:
        """Add the rows of a file, of a model with another name if it is given."""
        of_file, of_line = self._places
        for row in rows:
            if isinstance(row, Aggregation):
                self._declare(row, file)
                continue
            group = row.group
            if self._groups is not None:
                group = as_group(row.metadata, self._groups, file, row.line)
            if group is None:
                must = "the group of an item must be a name, got None"
                raise file.error(row.line, must)
            names = (row.model if model is None else model, *row[2:6], str(group))
            for column, name in zip(self._columns.values(), names, strict=True):
                column.append(self._known.setdefault(name, name))
            self._grades.append(as_grade(row.grade, file, row.line, row.scorer))
            self._sizes.append(row.size)
            of_file.append(len(self._files))
            of_line.append(row.line)
        if len(self._files) not in of_file[-1:]:
            raise file.error(0, "paths must be of logs with grades, got none")
        self._files.append(file)

    def _declare(self, stated: Aggregation, file: LogFile) -> None:
        """Note how a harness aggregates grades; a refusal is final."""
        key = stated.task, stated.scorer
        known = self._aggregations.setdefault(key, stated)
        if stated.refused:
            self._aggregations[key] = stated
        elif known != stated and not known.refused:
            raise file.error(
                0,
                f"{stated.scorer!r} of task {stated.task!r} must be aggregated as in "
                f"the other logs, by {known.function!r} with higher_is_better="
                f"{known.higher_is_better}, got {stated.function!r} with "
                f"{stated.higher_is_better}",
            )

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
        by_task = _different(columns, "scorer", by="task", rows=graded)
        missing = []
        for row in np.flatnonzero(~graded).tolist():
            if (task := columns["task"][row]) not in by_task:
                raise ValueError(
                    f"{self._place(row)}: task {task!r} must have a sample with a "
                    "grade, got none"
                )
            missing += [(row, scorer) for scorer in by_task[task]]
        rows = [*np.flatnonzero(graded).tolist(), *(row for row, _ in missing)]
        columns = {name: column[rows] for name, column in columns.items()}
        columns["scorer"][graded.sum() :] = [scorer for _, scorer in missing]
        columns["grade"] = np.array(self._grades)[rows]
        sizes = np.array(self._sizes)[rows]
        if (sizes != 1).any():
            columns["size"] = sizes
        return LogRows(columns, self._aggregations)

    def _place(self, row: int) -> str:
        of_file, of_line = self._places
        return self._files[of_file[row]].place(of_line[row])

    def _check_distinct(self, columns: Mapping[str, Array]) -> None:
        codes = [factorise(columns[name])[1] for name in _NAMES if name != "group"]
        order = np.lexsort(codes)
        same = (np.diff(np.stack(codes)[:, order]) == 0).all(axis=0)
        if not same.any():
            return
        pair = np.sort(order[same.argmax() :][:2]).tolist()
        places = [*map(self._place, pair)]
        of_file, _ = self._places
        first, second = (self._files[of_file[row]] for row in pair)
        remedy = (
            "leave one of the files out, or name the models, as "
            f"{_naming(first.path, second.path)} in a shell, or by a mapping in Python"
        )
        if first is second:
            remedy = (
                "leave one of them out, or, in a table, distinguish runs by a column "
                "or field 'run' or 'epoch'"
            )
        of = {name: columns[name][pair[0]] for name in _NAMES}
        raise ValueError(
            f"{places[0]} and {places[1]}: model {of['model']!r} must have one grade "
            f"of item {of['item']!r} of task {of['task']!r} by {of['scorer']!r} in run "
            f"{of['run']}, got two; {remedy}"
        )


def _naming(*paths: Path) -> str:
    """Write NAME=LOGS of two paths, by the part of each in which they differ."""
    parts = zip(*(path.parts for path in paths), strict=False)
    depth = next((k for k, (a, b) in enumerate(parts, 1) if a != b), 0)
    ends = [Path(*path.parts[:depth]) for path in paths]
    names = [end.stem if end in paths else end.name for end in ends]
    if names[0] == names[1]:
        return "new=new.json old=old.json"
    pairs = zip(names, ends, strict=True)
    return " ".join(shlex.quote(f"{name}={end}") for name, end in pairs)
