"""Grades in columns, with a row for each grade, and reports on these grades."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_names, join_names
from skci.data.items import MEAN, SHARE, UNNAMED, AggregatedGrades, are_of_answers
from skci.grades import SAMPLES, grades_report


class Aggregation(NamedTuple):
    """Aggregation of a task's grades to the number that a harness prints."""

    function: str = MEAN
    """Name of the aggregation: "mean", "ratio", "share" or "perplexity"."""
    higher_is_better: bool = True
    refused: str = ""
    """Reason why the number cannot be computed from grades of samples, or empty."""


@dataclass(frozen=True, eq=False, repr=False)
class LogRows(Mapping[str, Array]):
    r"""Grades read from logs, as a mapping of column names to arrays.

    Each row is a grade. :func:`skci.logs.read` returns this object, and
    ``pandas.DataFrame(dict(rows))`` converts it to a data frame.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        The columns "model", "task", "item", "run", "scorer" and "group" contain names.
        "group" is the cluster of the item, or empty without clusters. "grade" contains
        numbers, or NaN for an item without a grade. Some grades are means over the
        units of a sample, such as tokens or instructions. The column "size" then
        contains the number of units. The size of other grades is 1.
    aggregations : mapping of (str, str) to Aggregation, optional
        Aggregation of the grades by the harness, for pairs of task and scorer. By
        default the aggregation is the mean, and a higher grade is better.

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
        sizes = {"model": len(self.models), "item": n_items, "task": len(self.tasks)}
        models, items, tasks = (
            f"{n:,} {noun}{'s' * (n != 1)}" for noun, n in sizes.items()
        )
        named = [name for name in self.scorers if name != UNNAMED]
        by = f" by {join_names(named)}" if named else ""
        return f"{len(self['grade'])} grades of {models}, {items} of {tasks}{by}"

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

    def _distinct(self, kind: str, where: Any = slice(None)) -> list[str]:
        return list(dict.fromkeys(self[kind][where].tolist()))

    def select(
        self,
        *,
        models: str | Iterable[str] | None = None,
        tasks: str | Iterable[str] | None = None,
        scorers: str | Iterable[str] | Mapping[str, str] | None = None,
    ) -> LogRows:
        """Return the rows of selected models, tasks and scorers.

        Parameters
        ----------
        models : str or iterable of str, optional
            Names of models. Defaults to all models.
        tasks : str or iterable of str, optional
            Names of tasks. Defaults to all tasks.
        scorers : str, iterable of str or mapping of str to str, optional
            Names of scorers. The name of a metric, such as "exact_match", selects all
            scorers of this metric, such as "exact_match/strict" and
            "exact_match/flexible". A mapping of tasks to scorers selects a different
            scorer for each task, such as exact match in one task and a judge in another
            task. The selected grades then have a single unnamed scorer.

        Returns
        -------
        LogRows
            The selected rows, in the same order.

        Raises
        ------
        KeyError
            If a name does not occur in the rows.
        ValueError
            If a model has no grades for the selected tasks, or a task has no grades by
            the selected scorers. Select the other models or tasks.
        """
        by_task = dict(scorers) if isinstance(scorers, Mapping) else None
        if by_task is not None:
            check_names(by_task, self.tasks, "task")
            scorers = list(by_task.values())
        elif scorers is not None:
            scorers = self._matching(scorers)
        options = {"model": models, "task": tasks, "scorer": scorers}
        requested: dict[str, Any] = {
            kind: check_names(names, self._distinct(kind), kind)
            for kind, names in options.items()
            if names is not None
        }
        masks = {kind: np.isin(self[kind], names) for kind, names in requested.items()}
        if by_task is not None:
            requested["scorer"] = by_task
            scorer_of_rows = [by_task.get(task) for task in self["task"]]
            masks["scorer"] = np.array(scorer_of_rows, dtype=object) == self["scorer"]
        selected = np.logical_and.reduce(
            [np.ones(len(self["grade"]), bool), *masks.values()]
        )
        for kind, rows in (
            ("task", masks.get("model", slice(None))),
            ("model", slice(None)),
        ):
            names = requested.get(kind) or self._distinct(kind, rows)
            remaining = self._distinct(kind, selected)
            if without := [name for name in names if name not in remaining]:
                by = ", ".join(f"{k}s={x}" for k, x in requested.items() if k != kind)
                message = f"{kind}s must have grades with {by}, got none of {without}"
                if remaining:
                    select = _selection(f"{kind}s", names, remaining)
                    message += f"; to leave these out, {select}"
                raise ValueError(message)
        columns = {name: values[selected] for name, values in self.items()}
        aggregations = self.aggregations
        if by_task is not None:
            aggregations = {
                (task, UNNAMED): self._aggregation(task, scorer, "chosen by task")
                for task, scorer in by_task.items()
            }
            columns["scorer"] = np.full(selected.sum(), UNNAMED, dtype=object)
        return LogRows(columns, aggregations)

    def _matching(self, names: str | Iterable[str]) -> list[str]:
        """Replace each metric in a list of names by all scorers of the metric."""
        listed = [names] if isinstance(names, str) else names
        matching = []
        for name in listed:
            of_metric = [x for x in self.scorers if x.startswith(f"{name}/")]
            matching += [name] if name in self.scorers else of_metric or [name]
        return matching

    def _aggregation(self, task: str, scorer: str, context: str = "") -> Aggregation:
        """Return the aggregation of a scorer's grades on a task.

        If `context` is passed, an aggregation other than the mean raises an error.
        """
        aggregation = self.aggregations.get((task, scorer), Aggregation())
        if context and aggregation.function != MEAN:
            raise ValueError(
                f"scorers {context} must be means over items, got {scorer!r} of task "
                f"{task!r}; select tasks={task!r} and scorers={scorer!r}"
            )
        return aggregation

    def report(self, *, samples: str = "independent", **options: Any) -> Any:
        """Report on the grades with :func:`skci.grades_report`.

        If there are several tasks, means over all tasks are computed. For a single
        task, the estimate for a scorer equals the number printed by the harness. Most
        harnesses print the mean grade. For a perplexity, the number is exp of the mean
        loss. If grades are lists of booleans, the number is the proportion of true
        values in all lists.

        Parameters
        ----------
        samples : {"independent", "runs", "paired-runs"}, default="independent"
            Meaning of the runs of an item. "independent": repeated answers, such as
            epochs, which are averaged. "runs": runs that all items share, such as
            training seeds. "paired-runs": runs that all items and all models share.
        **options
            Other options of :func:`skci.grades_report`, such as `by`, `average` and
            `bounds`. By default `bounds` are (0, 1) for scorers whose grades are 0, 0.5
            and 1 only, or are proportions. If a scorer is not in `higher_is_better`,
            the direction is read from the log; without a direction in the log, lower is
            better for a perplexity and higher is better otherwise.

        Returns
        -------
        GradesReport, or RunsReport for several runs
            Metrics are named after the scorers.

        Raises
        ------
        ValueError, TypeError
            If tasks have different scorers, if a model has no grades for a task and
            `missing_grades` is "error", or if there are clusters and several tasks.
            Also if a scorer has no grade for single samples, if the aggregation of a
            scorer is not the mean and there are several tasks, or if an option is
            invalid.
        """
        check_choice(samples, SAMPLES, "samples")
        self._check_scorers()
        aggregations = self._checked_aggregations()
        columns = dict(self)
        names = {"model": "model", "item": "item", "scorer": "scorer"}
        if len(self.tasks) > 1:
            names["tasks"] = "task"
            columns["item"] = self["task"] + "/" + self["item"]
        if self["group"].any():
            names["groups"] = "group"
        if {"tasks", "groups"} <= names.keys():
            raise ValueError(
                "groups must belong to a single task, got several tasks; select one of "
                f"{self.tasks}"
            )
        if samples != "independent":
            names |= {"run": "run", "samples": samples}
        functions = {
            name: aggregation.function for name, aggregation in aggregations.items()
        }
        bounds = {}
        for name, function in functions.items():
            grades = self["grade"][self["scorer"] == name]
            if function == SHARE or (function == MEAN and are_of_answers(grades)):
                bounds[name] = 0, 1
        report_options = {"bounds": bounds or None} | names | options
        better = report_options.get("higher_is_better", {})
        if isinstance(better, Mapping):
            stated = {name: x.higher_is_better for name, x in aggregations.items()}
            report_options["higher_is_better"] = stated | dict(better)
        other_functions = {name: x for name, x in functions.items() if x != MEAN}
        return grades_report(
            "grade", data=AggregatedGrades(columns, other_functions), **report_options
        )

    def _checked_aggregations(self) -> dict[str, Aggregation]:
        """Return the aggregation of each scorer.

        An error is raised if no report on one of the scorers is possible.
        """
        by_scorer = {
            scorer: {task: self._aggregation(task, scorer) for task in tasks}
            for scorer, tasks in self._by("scorer", "task").items()
        }
        reasons = [
            f"{scorer!r} of task {task!r}: {aggregation.refused}"
            for scorer, by_task in by_scorer.items()
            for task, aggregation in by_task.items()
            if aggregation.refused
        ]
        if reasons:
            remaining = [
                scorer
                for scorer, by_task in by_scorer.items()
                if not any(aggregation.refused for aggregation in by_task.values())
            ]
            if remaining:
                reasons.append(_selection("scorers", by_scorer, remaining))
            got = "; ".join(reasons)
            raise ValueError(f"scorers must have a number for each sample, got {got}")
        checked = {}
        for scorer, by_task in by_scorer.items():
            several = "of several tasks" if len(by_task) > 1 else ""
            stated = {
                task: self._aggregation(task, scorer, several).higher_is_better
                for task in by_task
            }
            if len({*stated.values()}) > 1:
                raise ValueError(
                    f"higher_is_better of {scorer!r} must be equal in all tasks, got "
                    f"{stated}; select one of the tasks"
                )
            checked[scorer] = next(iter(by_task.values()))
        return checked

    def _check_scorers(self) -> None:
        """Check that all tasks, and all models, have the same scorers."""
        by_task = self._by("task", "scorer")
        if len({frozenset(scorers) for scorers in by_task.values()}) > 1:
            first = {task: scorers[0] for task, scorers in by_task.items()}
            in_shell = ",".join(f"{task}={scorer}" for task, scorer in first.items())
            raise ValueError(
                f"all tasks must have the same scorers, got {by_task}. Select one "
                f"scorer for each task, as scorers={first} (in a shell --scorer "
                f"{in_shell}), or select fewer tasks"
            )
        (first_model, expected), *others = self._by("model", "scorer").items()
        for model, scorers in others:
            if {*scorers} != {*expected}:
                raise ValueError(
                    f"all models must have the same scorers, got {expected} for "
                    f"{first_model!r} and {scorers} for {model!r}. Select fewer "
                    "models or scorers, or rename the scorers (and the items if "
                    "necessary): LogRows({**rows, 'scorer': names, 'item': item_names})"
                )

    def _by(self, kind: str, listed: str) -> dict[str, list[str]]:
        """Return a dict from names in column `kind` to names in column `listed`."""
        names: dict[str, list[str]] = {}
        for name, other in dict.fromkeys(zip(self[kind], self[listed], strict=True)):
            names.setdefault(name, []).append(other)
        return names


def _selection(kinds: str, names: Iterable[str], remaining: Iterable[str]) -> str:
    """Return advice to select some names, for the end of an error message.

    The text contains the option for Python and the option for the command line.
    """
    selected = [name for name in names if name in {*remaining}]
    in_shell = shlex.quote(",".join(selected))
    option = "scorer" if kinds == "scorers" else kinds
    return f"select {kinds}={selected} (in a shell --{option} {in_shell})"
