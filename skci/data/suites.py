"""Runs of models on the tasks of a suite: what is estimated from their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from skci._arrays import Array, binade, cached_property, dataclass
from skci._validation import as_numbers, check_known
from skci.data.drawing import check_apart, names_in
from skci.data.rows import check_thresholds
from skci.inference.designs.units import IndependentRows
from skci.inference.intervals.methods import automatic
from skci.inference.parameter import Key, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import AtObservedWeights, Functional, Mean
from skci.measures.suites import (
    interquartile_mean,
    mean_below,
    probability_of_improvement,
)
from skci.measures.traits import LOGIT, Trait

METRICS = ("iqm", "mean", "optimality_gap")
"""Aggregates of the scores of a model."""

THRESHOLD = "threshold"
"""Name of the column of a report that holds the thresholds."""

_IMPROVEMENT = "probability_of_improvement"
_LEVELS = 20  # quantiles of scores that are thresholds of a profile
_BY_VALUE: dict[str, Any] = {
    "bounds": (-np.inf, np.inf),
    "smooth": False,
    "blurs": False,
    "automatic": ("delta",),
}
_TRAITS = {
    "iqm": Trait("iqm", **_BY_VALUE),
    "mean": Trait("mean", heavy_tails=True, **_BY_VALUE),
    "optimality_gap": Trait(
        "optimality_gap",
        greater_is_better=False,
        **_BY_VALUE | {"bounds": (0.0, np.inf)},
    ),
}
_OF_PAIRS = Trait(
    _IMPROVEMENT, scale=LOGIT, smooth=False, blurs=False, automatic=("logit",)
)
_ABOVE = Trait("share_above", blurs=False)


@dataclass(frozen=True, eq=False)
class _Tasks(IndependentRows):
    """Tasks as strata of the runs of each model."""

    n_models: int = 1

    def __str__(self) -> str:
        if self.strata is None:
            return ""
        return f"runs on {self.n_strata // self.n_models} tasks"


@dataclass(frozen=True, eq=False)
class Suite:
    """Scores of runs of several models on the same tasks."""

    models: list[str]
    scores: Array
    """Of all runs on all tasks, sorted by model and by task."""
    model: Array
    """Position of the model of each score."""
    task: Array
    """Position of its task."""

    @classmethod
    def of_arrays(cls, named: Mapping[str, Any]) -> Suite:
        """Read an array of shape (n_runs, n_tasks) of each model."""
        scores, model, task, n_tasks = [], [], [], 0
        for k, (name, values) in enumerate(named.items()):
            parameter = "scores" if len(named) == 1 else f"scores[{name!r}]"
            array = as_numbers(values, parameter, missing=True)
            if array.ndim != 2 or len(array) < 2:
                raise ValueError(
                    f"{parameter} must be of shape (n_runs, n_tasks), with two runs or "
                    f"more, got shape {array.shape}"
                )
            n_tasks = n_tasks or array.shape[1]
            if array.shape[1] != n_tasks:
                raise ValueError(
                    f"{parameter} must have a column for each of the {n_tasks} tasks "
                    f"of the first model, got shape {array.shape}"
                )
            column, run = np.nonzero(~np.isnan(array.T))
            scores.append(array[run, column])
            model.append(np.full(len(run), k))
            task.append(column)
        columns = map(np.concatenate, (scores, model, task))
        return cls([*named], *columns)._checked(np.arange(n_tasks))

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Suite:
        """Read columns with a row for each run of a task."""
        scores = as_numbers(columns["scores"], "scores", missing=True)
        names, codes = names_in(columns, "model", "task", "run")
        if "run" in codes:
            must = "run must tell the runs of a model on a task apart"
            check_apart(names, codes, must)
        models = [*map(str, names.get("model", ["scores"]))]
        task = codes["task"]
        model = codes.get("model", np.zeros_like(task))
        known = ~np.isnan(scores)
        order = np.lexsort([task[known], model[known]])
        kept = (each[known][order] for each in (scores, model, task))
        return cls(models, *kept)._checked(names["task"])

    def _checked(self, tasks: Array) -> Suite:
        """Check that each model has two runs or more of each task."""
        cells = self.model * len(tasks) + self.task
        sizes = np.bincount(cells, minlength=len(self.models) * len(tasks))
        if sizes.min() < 2:
            k, t = divmod(int(sizes.argmin()), len(tasks))
            raise ValueError(
                "scores must be of two runs or more of each task, without which the "
                f"variance is not known, got {sizes.min()} of {self.models[k]!r} in "
                f"task {tasks[t]!s}"
            )
        return self

    @cached_property
    def _cell(self) -> Array:
        """Number of the model and task of each score."""
        return self.model * (self.task.max() + 1) + self.task

    @cached_property
    def rows(self) -> Rows:
        """Runs, of which those of each task have the same total weight."""
        cells = self._cell
        sizes = np.bincount(cells)
        weights = None if len(np.unique(sizes)) == 1 else 1 / sizes[cells]
        return Rows.of_units(np.arange(len(cells)), len(cells), weights)

    @property
    def design(self) -> IndependentRows:
        """Tasks of each model as strata."""
        n_models = len(self.models)
        return _Tasks(len(self.scores), strata=self._cell, n_models=n_models)

    def _of(self, *models: str) -> Array:
        """Positions of the scores of models, in this order."""
        numbers = [self.models.index(each) for each in models]
        return np.concatenate([np.flatnonzero(self.model == k) for k in numbers])

    def _of_rows(
        self, key: Key, trait: Trait, rows: Array, value: float, influence: Array
    ) -> TableParameter:
        """Parameter of some rows with a value and influence values."""
        index = np.full(len(self.scores), len(rows))
        index[rows] = np.arange(len(rows))
        functional = AtObservedWeights((value, influence), self.rows.counts[rows])
        return self._of_cells(key, trait, functional, index, len(rows))

    def _of_cells(
        self, key: Key, trait: Trait, functional: Functional, index: Array, size: int
    ) -> TableParameter:
        """Parameter of the cells that rows are in; `size` of those that are in none."""
        return TableParameter(
            key=key,
            trait=trait,
            functional=functional,
            method=automatic(trait),
            counts=np.bincount(index, self.rows.counts, size + 1)[:size],
            index=index,
            smoothing=2 / size if trait.smooth else 0.0,
        )

    def aggregate(self, model: str, metric: str, target: float) -> TableParameter:
        """An aggregate of the scores of a model."""
        rows = self._of(model)
        scores, weights = self.scores[rows], self.rows.counts[rows]
        weights = weights / weights.sum()
        if metric == "iqm":
            value, influence = interquartile_mean(scores, weights)
        elif metric == "mean":
            value, influence = mean_below(scores, weights)
        else:
            value, influence = mean_below(scores, weights, target)
            value, influence = target - value, -influence
        key = Key(metric, model)
        return self._of_rows(key, _TRAITS[metric], rows, value, influence)

    def improvements(self, control: str | None) -> list[TableParameter]:
        """Probabilities of improvement of all pairs, or of the others on a control."""
        if len(self.models) < 2:
            raise ValueError(
                f"a probability of improvement needs two models, got {self.models}"
            )
        if control is None:
            pairs = list(combinations(self.models, 2))
        else:
            check_known(control, self.models, "control")
            pairs = [(model, control) for model in self.models if model != control]
        return [self._improvement(*pair) for pair in pairs]

    def _improvement(self, first: str, second: str) -> TableParameter:
        by_model = [
            [self.scores[rows[self.task[rows] == t]] for t in np.unique(self.task)]
            for rows in (self._of(first), self._of(second))
        ]
        value, of_first, of_second = probability_of_improvement(*by_model)
        rows = self._of(first, second)
        # Means over the runs of each model, of all rows of both.
        first_counts, second_counts = np.split(self.rows.counts[rows], [len(of_first)])
        total = first_counts.sum() + second_counts.sum()
        of_first *= total / first_counts.sum()
        of_second *= total / second_counts.sum()
        influence = np.concatenate([of_first, of_second])
        key = Key(_IMPROVEMENT, f"{first} > {second}")
        return self._of_rows(key, _OF_PAIRS, rows, value, influence)

    def thresholds(self, given: Any) -> list[float]:
        """Check thresholds of a profile, or take quantiles of all scores."""
        if given is not None:
            return check_thresholds(given).tolist()
        levels = np.quantile(self.scores, np.arange(1, _LEVELS) / _LEVELS)
        return [*dict.fromkeys(float(f"{level:.3g}") for level in levels)]

    def profile(self, thresholds: Sequence[float]) -> list[TableParameter]:
        """Share of runs above each threshold, of each model."""
        return [
            self._above(model, threshold)
            for model in self.models
            for threshold in thresholds
        ]

    def _above(self, model: str, threshold: float) -> TableParameter:
        is_of_model = self.model == self.models.index(model)
        index = np.where(is_of_model, self.scores > threshold, 2)
        ends = np.array([0.0, 1.0])
        key = Key(_ABOVE.name, model, ((THRESHOLD, f"{threshold:g}"),))
        return self._of_cells(key, _ABOVE, Mean(ends, binade(ends)), index, 2)
