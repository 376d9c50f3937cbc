"""Scores of runs on the tasks of a suite, and their aggregates as in rliable.

Each function of an aggregate accepts the scores of runs and their weights. The weights
add up to 1; all tasks have equal weight, and all runs of a task have equal weight. Each
function returns the aggregate, and an influence value for each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci._validation import as_numbers, check_valid_name
from skci.data.row_options import check_apart, names_in
from skci.data.rows import check_thresholds, parameter_name
from skci.inference.designs.units import IndependentRows
from skci.inference.intervals.methods import automatic
from skci.inference.parameter import ParameterLabels, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import Mean
from skci.measures.traits import LOGIT, MeasureProperties

_TRIMMED = 0.25  # share of the scores that is trimmed at either end
_ROUNDING = 1e-9  # rounding error of a number of scores


def interquartile_mean(scores: Array, weights: Array) -> tuple[float, Array]:
    r"""Compute the mean of the middle half of all scores.

    The floor(n / 4) smallest and the floor(n / 4) largest of n scores are trimmed. Let
    a and b be the smallest and the largest remaining score. The influence value of a
    score x is the centred value of :math:`\min(\max(x, a), b)`, divided by the
    proportion of scores that remain.
    """
    order = np.argsort(scores, kind="stable")
    ranked, cumulative = scores[order], np.cumsum(weights[order])
    n = len(scores)
    trimmed = np.floor(_TRIMMED * n + _ROUNDING) / n
    remaining = np.diff(np.clip(cumulative, trimmed, 1 - trimmed), prepend=trimmed)
    value = remaining @ ranked / remaining.sum()
    inside = np.flatnonzero(remaining > _ROUNDING / n)
    clipped = np.clip(scores, *ranked[inside[[0, -1]]])
    influence = (clipped - weights @ clipped) / (1 - 2 * trimmed)
    return float(value), influence


def mean_below(
    scores: Array, weights: Array, maximum: float = np.inf
) -> tuple[float, Array]:
    """Compute the mean of scores that are clipped to at most `maximum`."""
    values = np.minimum(scores, maximum)
    mean = float(weights @ values)
    return mean, values - mean


def probability_of_improvement(
    first: list[Array], second: list[Array]
) -> tuple[float, Array, Array]:
    """Estimate the probability that a run of one model beats a run of another model.

    The probability is averaged over tasks. Ties count half. The function also returns
    two arrays with the influence values of the runs of each model, ordered by task. The
    influence value of a run is the mean result of the comparisons with this run, minus
    the estimate.
    """
    wins = [
        (x[:, np.newaxis] > y) + 0.5 * (x[:, np.newaxis] == y)
        for x, y in zip(first, second, strict=True)
    ]
    value = float(np.mean([task_wins.mean() for task_wins in wins]))
    of_first, of_second = (
        np.concatenate([task_wins.mean(axis=axis) for task_wins in wins]) - value
        for axis in (1, 0)
    )
    return value, of_first, of_second


METRICS = ("iqm", "mean", "optimality_gap")
"""Aggregates of the scores of a model."""

THRESHOLD = "threshold"
"""Name of the column of thresholds in a report."""

_LEVELS = 20  # number of quantiles of scores for thresholds of a profile
_BY_VALUE: dict[str, Any] = {
    "bounds": (-np.inf, np.inf),
    "smooth": False,
    "blurs": False,
    "automatic": ("delta",),
}
_TRAITS = {
    "iqm": MeasureProperties("iqm", **_BY_VALUE),
    "mean": MeasureProperties("mean", heavy_tails=True, **_BY_VALUE),
    "optimality_gap": MeasureProperties(
        "optimality_gap",
        greater_is_better=False,
        **_BY_VALUE | {"bounds": (0.0, np.inf)},
    ),
}
_OF_PAIRS = MeasureProperties(
    "probability_of_improvement",
    scale=LOGIT,
    smooth=False,
    blurs=False,
    automatic=("logit",),
)
_ABOVE = MeasureProperties("share_above", blurs=False)


@dataclass(frozen=True, eq=False)
class _Tasks(IndependentRows):
    """Design for independent runs, with the tasks of each model as strata."""

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
    """Scores of all runs on all tasks, sorted by model and by task."""
    model: Array
    """Model index of each score."""
    task: Array
    """Task index of each score."""

    @classmethod
    def of_arrays(cls, named: Mapping[str, Any]) -> Suite:
        """Read an array of shape (n_runs, n_tasks) for each model."""
        arrays: list[Array] = []
        for name, values in named.items():
            parameter = parameter_name(name, "scores")
            array = as_numbers(values, parameter, missing=True)
            arrays.append(array)
            n_tasks = arrays[0].shape[-1:]
            if array.ndim != 2 or len(array) < 2 or array.shape[1:] != n_tasks:
                raise ValueError(
                    f"{parameter} must have shape (n_runs, n_tasks), with at least two "
                    "runs and the same number of tasks for all models, got shape "
                    f"{array.shape}"
                )
        model = np.repeat(np.arange(len(arrays)), [array.size for array in arrays])
        tasks = np.arange(arrays[0].shape[1])
        task = np.concatenate([np.tile(tasks, len(array)) for array in arrays])
        scores = np.concatenate([array.ravel() for array in arrays])
        return cls._of_long([*named], tasks, scores, model, task)

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Suite:
        """Read a long table with one row per run of a model on a task."""
        scores = as_numbers(columns["scores"], "scores", missing=True)
        names, codes = names_in(columns, "model", "task", "run")
        if "run" in codes:
            check_apart(names, codes, "run", "the runs of a model on a task")
        models, task = [*map(str, names.get("model", ["scores"]))], codes["task"]
        model = codes.get("model", np.zeros_like(task))
        return cls._of_long(models, names["task"], scores, model, task)

    @classmethod
    def _of_long(
        cls, models: list[str], tasks: Array, scores: Array, model: Array, task: Array
    ) -> Suite:
        """Sort scores by model and task, without missing scores.

        Each task of a model must have at least two scores.
        """
        is_known = ~np.isnan(scores)
        order = np.lexsort([task[is_known], model[is_known]])
        scores, model, task = (
            values[is_known][order] for values in (scores, model, task)
        )
        n_cells = len(models) * len(tasks)
        sizes = np.bincount(model * len(tasks) + task, minlength=n_cells)
        if sizes.min() < 2:
            k, t = divmod(int(sizes.argmin()), len(tasks))
            raise ValueError(
                "scores must contain at least two runs for each task, to estimate a "
                f"variance, got {sizes.min()} for {models[k]!r} in task {tasks[t]!s}"
            )
        return cls(models, scores, model, task)

    @cached_property
    def rows(self) -> Rows:
        """Rows of the scores, weighted so that all tasks have the same total weight."""
        cells = self._cell
        sizes = np.bincount(cells)
        weights = None if len(np.unique(sizes)) == 1 else 1 / sizes[cells]
        return Rows.from_rows(np.arange(len(cells)), len(cells), weights)

    @property
    def design(self) -> IndependentRows:
        """Design for independent runs, with the tasks of each model as strata."""
        n_models = len(self.models)
        return _Tasks(len(self.scores), strata=self._cell, n_models=n_models)

    @property
    def _cell(self) -> Array:
        """Index of the combination of model and task to which each score belongs."""
        return self.model * (self.task.max() + 1) + self.task

    def _of(self, model: str) -> Array:
        """Return the indices of the scores of a model."""
        return np.flatnonzero(self.model == self.models.index(model))

    def _of_rows(
        self,
        key: ParameterLabels,
        trait: MeasureProperties,
        rows: Array,
        value: float,
        influence: Array,
    ) -> TableParameter:
        """Create a parameter from a value, and from influence values of some scores."""
        counts, index = self.rows.counts[rows], np.full(len(self.scores), len(rows))
        index[rows] = np.arange(len(rows))
        fields = {"trait": trait, "method": automatic(trait), "index": index}
        return TableParameter.from_influence(
            value, influence, counts, key=key, **fields
        )

    def aggregate(self, model: str, metric: str, target: float) -> TableParameter:
        """Return the aggregate score of a model, such as the interquartile mean."""
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
        key = ParameterLabels(metric, model)
        return self._of_rows(key, _TRAITS[metric], rows, value, influence)

    def improvements(self, control: str | None) -> list[TableParameter]:
        """Return the probabilities of improvement for pairs of models.

        By default, all pairs are compared. With a control, each model is compared with
        the control.
        """
        if len(self.models) < 2:
            raise ValueError(
                "a probability of improvement needs at least two models, got "
                f"{self.models}"
            )
        pairs = list(combinations(self.models, 2))
        if control is not None:
            check_valid_name(control, self.models, "control")
            pairs = [(model, control) for model in self.models if model != control]
        parameters = []
        for pair in pairs:
            rows_of_models = [self._of(model) for model in pair]
            scores = [
                [self.scores[rows[self.task[rows] == t]] for t in np.unique(self.task)]
                for rows in rows_of_models
            ]
            value, *influences = probability_of_improvement(*scores)
            # Influence values refer to a mean over the runs of one model. Convert them
            # to a mean over the rows of both models.
            totals = [self.rows.counts[rows].sum() for rows in rows_of_models]
            factors = sum(totals) / np.array(totals)
            influence = np.concatenate(
                [factor * x for factor, x in zip(factors, influences, strict=True)]
            )
            key = ParameterLabels(_OF_PAIRS.name, " > ".join(pair))
            rows = np.concatenate(rows_of_models)
            parameters.append(self._of_rows(key, _OF_PAIRS, rows, value, influence))
        return parameters

    def thresholds(self, thresholds: Any) -> list[float]:
        """Check the thresholds of performance profiles, or compute default thresholds.

        The default thresholds are quantiles of all scores, rounded to three digits.
        """
        if thresholds is not None:
            return check_thresholds(thresholds).tolist()
        levels = np.quantile(self.scores, np.arange(1, _LEVELS) / _LEVELS)
        return [*dict.fromkeys(float(f"{level:.3g}") for level in levels)]

    def profile(self, thresholds: Sequence[float]) -> list[TableParameter]:
        """Return the proportion of runs above each threshold, for each model."""
        functional = Mean(np.array([0.0, 1.0]), 1.0)
        parameters = []
        for model, threshold in product(self.models, thresholds):
            above = self.scores > threshold
            index = np.where(self.model == self.models.index(model), above, 2)
            parameter = TableParameter(
                key=ParameterLabels(
                    _ABOVE.name, model, ((THRESHOLD, f"{threshold:g}"),)
                ),
                trait=_ABOVE,
                functional=functional,
                method=automatic(_ABOVE),
                counts=np.bincount(index, self.rows.counts, 3)[:2],
                index=index,
                pseudo_counts=1.0,
            )
            parameters.append(parameter)
        return parameters
