"""Two calls that must agree: the relations of ``test_relations.py``.

A `Problem` is drawn from a seed and a number alone, and then a `RELATIONS` that it
admits: another problem with the same answer, or with one that follows from it.
"""

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz_cases import METRICS, Draw, Fixed
from joblib import parallel_backend
from own_designs import Grouped

import skci
from skci.designs import Prevalence, Strata
from skci.metrics.names import resolve_metric

KINDS = ["labels", "labels", "classes", "scores", "numbers", "grades"]
CLASSES = ["accuracy", "cohen_kappa", "matthews_corrcoef", "balanced_accuracy"]
AVERAGED = ["f1", "precision", "recall", "jaccard", "specificity", "g_mean", "lift"]
SWAPPED = {
    **{
        name: name
        for name in (
            *("accuracy", "error_rate", "balanced_accuracy", "cohen_kappa", "g_mean"),
            *("matthews_corrcoef", "informedness", "markedness", "hamming_loss"),
            "diagnostic_odds_ratio",
        )
    },
    "recall": "specificity",
    "specificity": "recall",
    "precision": "negative_predictive_value",
    "negative_predictive_value": "precision",
    "false_positive_rate": "false_negative_rate",
    "false_negative_rate": "false_positive_rate",
}
"""Metrics of the other label as the positive one."""
COMPLEMENTS = {
    "accuracy": "error_rate",
    "recall": "false_negative_rate",
    "specificity": "false_positive_rate",
}
POWERS = {
    "mean_absolute_error": 1,
    "mean_squared_error": 2,
    "root_mean_squared_error": 1,
    "median_absolute_error": 1,
    "mean_pinball_loss": 1,
    "r2": 0,
    "explained_variance": 0,
    "pearson_correlation": 0,
    "d2_absolute_error": 0,
    "d2_pinball": 0,
    "mean_absolute_percentage_error": 0,
    "mean_gamma_deviance": 0,
    "mean_poisson_deviance": 1,
}
"""By which power of a positive factor of both columns a metric grows."""
ODD = {
    "mean_pinball_loss",
    "d2_pinball",
    "mean_gamma_deviance",
    "mean_poisson_deviance",
}
"""Metrics that change with the sign of both columns."""
SKILLS = {"r2", "explained_variance", "d2_absolute_error", "d2_pinball", "d2_tweedie"}
"""Metrics that are 1 less a ratio, and known to the rounding of 1."""
OF_UNIT_SIZE = SKILLS | {"calibration_intercept"}
"""Metrics that are known to the rounding of 1; an intercept is the root of a sum."""
RANKS = {"roc_auc", "average_precision"}
"""Metrics of the order of the scores."""


SLOW = [None, "auto", "score"]
"""Methods that are slow for several estimates or for weighted tables."""
CLOSED = ["accuracy", "error_rate", "recall", "specificity", "precision", "f1"]
"""Metrics of which they are fast."""


@dataclass(frozen=True)
class Problem:
    """Rows and options of a report."""

    kind: str
    y: Any
    values: Mapping[str, Any]
    metrics: Any
    options: Mapping[str, Any]
    rows: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the rows: weights, counts, groups, strata, subgroups."""

    def __len__(self) -> int:
        return len(self.y)

    def __call__(self) -> Any:
        """Compute the report."""
        rows = dict(self.rows)
        if "strata" in rows:
            rows["design"] = Strata(rows.pop("strata"))
        if self.kind == "grades":
            return skci.grades_report(self.values, **self.options, **rows)
        return skci.joint_report(
            self.y, **self.predictions, metrics=self.metrics, **self.options, **rows
        )

    @property
    def predictions(self) -> dict[str, Any]:
        return {"y_score" if self.kind == "scores" else "y_pred": self.values}

    def take(self, positions: Any) -> "Problem":
        return replace(
            self,
            y=self.y[positions],
            values={name: column[positions] for name, column in self.values.items()},
            rows={name: column[positions] for name, column in self.rows.items()},
        )

    def with_rows(self, **columns: Any) -> "Problem":
        kept = {**self.rows, **columns}
        return replace(self, rows={k: v for k, v in kept.items() if v is not None})

    def with_options(self, **options: Any) -> "Problem":
        return replace(self, options={**self.options, **options})

    def has(self, *names: str) -> bool:
        return any(name in self.rows for name in names)

    @property
    def counted(self) -> "Problem":
        """Rows of positive weight; the labels of others are not known."""
        if not self.has("sample_weight"):
            return self
        return self.take(self.rows["sample_weight"] > 0)

    @property
    def has_near_numbers(self) -> bool:
        """Whether numbers differ by no more than rounding."""
        values = np.stack([self.y, *self.values.values()])
        values = np.unique(values[np.isfinite(values)])
        gaps = np.diff(values) / np.abs(values).max(initial=1e-300)
        return self.kind == "numbers" and bool((gaps < 1e-12).any())


def problem_of(draw: Draw) -> Problem:
    """Draw a problem."""
    kind = draw.one(KINDS)
    n = int(draw.one([1, 2, 3, 4, 5, 8, 12, 20, 30, 60]))
    names = ["A", "B", "C"][: draw.one([1, 1, 2, 2, 3])]
    options: dict[str, Any] = {}
    if draw.chance(0.5):
        options["method"] = draw.method()
    if draw.chance(0.2):
        options["confidence_level"] = draw.one([0.5, 0.8, 0.9, 0.99, 0.999])
    metrics: Any = None
    if kind in ("labels", "classes"):
        known = [0, 1] if kind == "labels" else [*range(draw.one([3, 4]))]
        y = draw.labels(n, known)
        values = {name: draw.predicted(y, known) for name in names}
        if kind == "labels":
            metrics = draw.some([m for m in METRICS["labels"] if m != "rejection_rate"])
        else:
            averages = ["macro", "weighted", "micro"]
            names_of = [f"{m}_{draw.one(averages)}" for m in AVERAGED]
            metrics = draw.some(CLASSES + names_of, 2)
    elif kind == "scores":
        y = draw.labels(n, [0, 1])
        values = {name: scores_of(draw, y) for name in names}
        metrics = draw.some([*METRICS["scores"]], 2)
        metrics = [m for m in metrics if m != "top_k_accuracy"] or ["roc_auc"]
    elif kind == "numbers":
        y = draw.numbers(n).astype(float)
        values = {name: draw.forecast(y).astype(float) for name in names}
        metrics = draw.some(METRICS["numbers"], 2)
    else:
        y, possible = np.zeros(n), draw.one([(0, 1), (0, 1), (0, 0.5, 1), (1, 2, 3, 5)])
        if draw.chance(0.6):
            values = {name: draw.labels(n, possible).astype(float) for name in names}
            options["bounds"] = draw.one([None, (possible[0], possible[-1])])
        else:
            values = {name: draw.rng.beta(5, 2, n) for name in names}
            options["bounds"] = draw.one([None, (0, 1), (0, 1)])
        if "method" in options:
            options["method"] = draw.one(["auto", "score", "hall", "delta"])
    rows = rows_of(draw, n)
    slow = kind == "classes" or (kind == "labels" and rows)
    if slow and draw.chance(0.97):
        options["method"] = draw.one(["delta", "delta", "blurred", "plus-four"])
    if kind == "labels" and options.get("method") in SLOW and draw.chance(0.9):
        metrics, values = metrics[:1], {"A": values["A"]}
        if metrics[0] not in CLOSED and draw.chance(0.7):
            metrics = [draw.one(CLOSED)]
    return Problem(kind, y, values, metrics, options, rows)


def scores_of(draw: Draw, y: Any) -> Any:
    """Probabilities of the label 1, or tied ones, or labels."""
    logits = draw.rng.normal(size=len(y)) + draw.one([0, 1, 1, 3, 50, -50]) * y
    column = 1 / (1 + np.exp(-np.clip(logits - 0.5, -30, 30)))
    return draw.one([column, column, column.round(1), np.full(len(y), 0.5)])


def rows_of(draw: Draw, n: int) -> dict[str, Any]:
    """Draw weights, groups, strata and subgroups."""
    rng, found = draw.rng, {}
    if draw.chance(0.4):
        weights = [rng.uniform(0.5, 2, n), rng.integers(0, 3, n) * 1.0, np.ones(n)]
        weights += [np.exp(draw.one([1, 3]) * rng.normal(size=n))]
        found["sample_weight"] = draw.one(weights)
        if not found["sample_weight"].any():
            found["sample_weight"][0] = 1.0
    if draw.chance(0.3):
        found["groups"] = rng.integers(0, draw.one([3, max(n // 3, 1), n]), n)
    elif draw.chance(0.15):
        found["strata"] = draw.one(
            [np.arange(n) % max(n // 3, 1), rng.integers(0, 3, n)]
        )
    if draw.chance(0.15):
        found["by"] = np.array(["f", "m"])[rng.integers(0, 2, n)]
    return found


@dataclass(frozen=True)
class Pair:
    """Two calls, of which the second has the answer that follows from the first."""

    first: Callable[[], Any]
    second: Callable[[], Any]
    factor: float = 1.0
    shift: float = 0.0
    rename: Callable[[Any], Any] = lambda key: key
    """Key in the second answer; None of what is not compared."""
    only_estimates: bool = False
    both_answer: bool = True
    """Whether the second is refused if the first is, and warned of alike."""
    rtol: float = 1e-7


Relation = Callable[[Draw, Problem], Pair | Callable[[], None] | None]


# The rows


def order_of_rows(draw: Draw, p: Problem) -> Pair:
    return Pair(p, p.take(draw.rng.permutation(len(p))))


def scale_of_weights(draw: Draw, p: Problem) -> Pair | None:
    if not p.has("sample_weight"):
        return None
    factor = draw.one([1e-150, 1e-9, 1 / 3, 7.0, 1e6, 1e150])
    return Pair(p, p.with_rows(sample_weight=p.rows["sample_weight"] * factor))


def equal_weights(draw: Draw, p: Problem) -> Pair | None:
    if p.has("sample_weight"):
        return None
    weight = draw.one([1, 0.1, 3.0])
    return Pair(p, p.with_rows(sample_weight=np.full(len(p), weight)))


def weights_of_zero(draw: Draw, p: Problem) -> Pair | None:
    """Rows of weight zero are no rows; labels of theirs are not known otherwise."""
    if p.has("strata"):
        return None  # they are units of their strata
    weights = np.array(p.rows.get("sample_weight", np.ones(len(p))))
    others = draw.rng.random(len(p)) < draw.one([0.1, 0.5])
    others &= np.arange(len(p)) != draw.rng.integers(len(p))
    weights[others] = 0
    if not weights.any() or not np.isfinite([p.y, *p.values.values()]).all():
        return None
    chosen = weights > 0
    if any(len(np.unique(c)) != len(np.unique(c[chosen])) for c in names_in(p)):
        return None
    weighted = p.with_rows(sample_weight=weights)
    return Pair(weighted, weighted.take(chosen))


def names_in(p: Problem) -> list[Any]:
    """Columns whose distinct entries are known besides: labels and subgroups."""
    columns = [p.rows[name] for name in ("by",) if p.has(name)]
    if p.kind in ("labels", "classes"):
        columns.append(np.stack([p.y, *p.values.values()]).T)
    if p.kind == "scores":
        columns.append(p.y)
    return columns


def counts_are_repeated_rows(draw: Draw, p: Problem) -> Pair | None:
    if p.kind == "grades" or p.has("strata"):
        return None
    counts = draw.rng.integers(draw.one([0, 1, 1]), 4, len(p))
    if not counts.any():
        return None
    repeated = np.repeat(np.arange(len(p)), counts)
    if any(len(np.unique(c)) != len(np.unique(c[repeated])) for c in names_in(p)):
        return None
    if p.has("sample_weight") and not p.rows["sample_weight"][repeated].any():
        return None
    return Pair(p.with_rows(counts=counts), p.take(repeated))


def whole_weights_are_repeated_rows(draw: Draw, p: Problem) -> Pair | None:
    """The estimates; and all in clusters, whose rows need not be independent."""
    if p.has("sample_weight", "strata") or p.has_near_numbers:
        return None
    if "squared_calibration_error" in (p.metrics or ()):
        return None  # its bias depends on the number of rows
    weights = draw.rng.integers(1, 4, len(p))
    repeated = p.take(np.repeat(np.arange(len(p)), weights))
    weighted = p.with_rows(sample_weight=weights)
    return Pair(weighted, repeated, only_estimates=True, both_answer=False)


def clusters_of_one(draw: Draw, p: Problem) -> Pair | None:
    if p.has("groups", "strata"):
        return None
    within = p.rows.get("by", np.zeros(len(p)))
    within = within[p.rows.get("sample_weight", np.ones(len(p))) > 0]
    if np.unique(within, return_counts=True)[1].min() == 1:
        return None  # one cluster shows no variance
    names: Any = draw.rng.permutation(len(p))
    return Pair(p, p.with_rows(groups=draw.one([names, names.astype(str), -names])))


def names_of_clusters(draw: Draw, p: Problem) -> Pair | None:
    name = "groups" if p.has("groups") else "strata"
    if not p.has(name):
        return None
    codes = draw.rng.permutation(int(p.rows[name].max()) + 1)[p.rows[name]]
    return Pair(p, p.with_rows(**{name: draw.one([codes, codes.astype(str)])}))


def one_stratum(draw: Draw, p: Problem) -> Pair | None:
    if p.rows or p.kind in ("labels", "classes") or len(p) == 1:
        return None  # tables of strata have other methods
    return Pair(p, p.with_rows(strata=np.zeros(len(p), int)))


def subgroups_are_reports(draw: Draw, p: Problem) -> Pair | None:
    """The estimates; and all where rows are neither weighted nor grouped."""
    if not p.has("by") or p.has("strata"):
        return None
    chosen = p.rows["by"] == draw.one(p.rows["by"])
    if chosen.sum() == 1 or not p.take(chosen).rows.get("sample_weight", chosen).any():
        return None  # of which no variance is known
    if any(len(np.unique(c)) != len(np.unique(c[chosen])) for c in names_in(p)[1:]):
        return None
    name = p.rows["by"][chosen][0]
    alone = p.take(chosen).with_rows(by=None)
    return Pair(
        p,
        alone,
        rename=lambda key: key[:-1] if key[-1] == name else None,
        only_estimates=p.has("groups", "sample_weight"),
        both_answer=False,
    )


def frames_are_arrays(draw: Draw, p: Problem) -> Pair | None:
    if p.kind == "grades":
        return None
    columns = {"y": p.y, **p.values, **p.rows}
    frame = draw.one([pd.DataFrame, pl.DataFrame])(columns)
    names = {name: name for name in p.rows if name != "strata"}
    if p.has("strata"):
        names["design"] = Strata("strata")
    (parameter,) = p.predictions

    def of_frame() -> Any:
        models = {parameter: [*p.values]}
        options = {**p.options, **names, **models, "metrics": p.metrics}
        return skci.joint_report("y", data=frame, **options)

    return Pair(p, of_frame)


# Labels, scores, numbers and grades


def names_of_labels(draw: Draw, p: Problem) -> Pair | None:
    if p.kind not in ("labels", "classes"):
        return None
    size = 2 if p.kind == "labels" else 4
    names = draw.one([["a", "b", "c", "d"], [-5, 3, 8, 11], [1, 2, 2**40, 2**41]])
    names = np.array(names[:size])
    positive = {"pos_label": names[1].item()} if p.kind == "labels" else {}
    renamed = replace(
        p, y=names[p.y], values={name: names[each] for name, each in p.values.items()}
    )
    return Pair(p, renamed.with_options(**positive))


def swapped_labels(draw: Draw, p: Problem) -> Pair | None:
    """But for "blurred", whose noise is of the moments of the positive label."""
    if p.kind != "labels" or p.has("strata") or p.options.get("method") == "blurred":
        return None
    metrics = [name for name in p.metrics if name in SWAPPED]
    if not metrics:
        return None
    swapped = replace(p, metrics=[SWAPPED[name] for name in metrics])
    swapped = swapped.with_options(pos_label=0)
    return Pair(
        replace(p, metrics=metrics),
        swapped,
        rename=lambda key: (key[0], SWAPPED[key[1]], *key[2:]),
    )


def complements(draw: Draw, p: Problem) -> Pair | None:
    metrics = [name for name in p.metrics or () if name in COMPLEMENTS]
    if p.kind != "labels" or not metrics:
        return None
    return Pair(
        replace(p, metrics=metrics),
        replace(p, metrics=[COMPLEMENTS[name] for name in metrics]),
        factor=-1,
        shift=1,
        rename=lambda key: (key[0], COMPLEMENTS[key[1]], *key[2:]),
    )


def negated_metrics(draw: Draw, p: Problem) -> Pair | None:
    if p.kind == "grades":
        return None
    return Pair(
        p,
        replace(p, metrics=[f"neg_{name}" for name in p.metrics]),
        factor=-1,
        rename=lambda key: (key[0], f"neg_{key[1]}", *key[2:]),
    )


def tables_are_rows(draw: Draw, p: Problem) -> Pair | None:
    if p.kind not in ("labels", "classes") or p.rows or len(p.values) > 1:
        return None
    (predicted,) = p.values.values()
    size = 2 if p.kind == "labels" else 1 + max(p.y.max(), predicted.max())
    if size < 2 or len({*p.y, *predicted}) < size:
        return None  # a table has names for labels that rows lack
    matrix = np.zeros((size, size), int)
    np.add.at(matrix, (p.y, predicted), 1)
    options = {"metrics": p.metrics, **p.options}
    return Pair(
        p,
        lambda: skci.confusion_matrix_report(matrix, **options),
        rename=lambda key: ("y_pred", key[1]),
    )


def order_of_scores(draw: Draw, p: Problem) -> Pair | None:
    """Areas depend on the order of the scores alone."""
    metrics = [name for name in p.metrics or () if name in RANKS]
    if p.kind != "scores" or not metrics:
        return None
    p = replace(p, metrics=metrics)
    change = draw.one([np.exp, lambda x: 3 * x - 7, lambda x: x * 1e-9])
    ranks = {k: np.unique(v, return_inverse=True)[1] / 64 for k, v in p.values.items()}
    changed = {name: change(column) for name, column in ranks.items()}
    return Pair(replace(p, values=ranks), replace(p, values=changed))


def reversed_scores(draw: Draw, p: Problem) -> Pair | None:
    if p.kind != "scores" or p.has("strata"):
        return None
    values = {name: 1 - column for name, column in p.values.items()}
    p = replace(p, metrics=["roc_auc"])
    return Pair(p, replace(p, y=1 - p.y, values=values), rtol=1e-6)


def units_of_numbers(draw: Draw, p: Problem) -> Pair | None:
    """Both columns in other units."""
    metrics = [name for name in p.metrics or () if name in POWERS]
    if p.kind != "numbers" or not metrics:
        return None
    metric, factor = draw.one(metrics), draw.one([0.25, 2.0, 1024.0, 3.0, 1e5])
    p = replace(p, metrics=[metric])
    values = {name: factor * column for name, column in p.values.items()}
    sizes = [np.abs(column[column != 0]) for column in (p.y, *values.values())]
    if any(len(x) and (x.max() > 1e100 or x.min() < 1e-100) for x in sizes):
        return None  # powers overflow or underflow
    if metric == "mean_absolute_percentage_error" and not p.y.all():
        return None  # zero is replaced by a small number
    if p.has_near_numbers:
        return None  # which the factor rounds
    scaled = replace(p, y=factor * p.y, values=values)
    return Pair(p, scaled, factor=factor ** POWERS[metric], rtol=1e-6)


def sign_of_numbers(draw: Draw, p: Problem) -> Pair | None:
    metrics = [name for name in p.metrics or () if name in {*POWERS} - ODD]
    if p.kind != "numbers" or not metrics:
        return None
    p = replace(p, metrics=metrics)
    values = {name: -column for name, column in p.values.items()}
    return Pair(p, replace(p, y=-p.y, values=values))


def units_of_grades(draw: Draw, p: Problem) -> Pair | None:
    """Grades on another scale, of which the bounds are too, or upside down."""
    if p.kind != "grades":
        return None
    factor, shift = draw.one([(2.0, 0.0), (0.5, 3.0), (100.0, 0.0), (-1.0, 1.0)])
    values = {name: factor * column + shift for name, column in p.values.items()}
    bounds = p.options["bounds"]
    if bounds is not None:
        bounds = tuple(sorted(factor * bound + shift for bound in bounds))
    changed = replace(p, values=values).with_options(bounds=bounds)
    return Pair(p, changed, factor=factor, shift=shift, rtol=1e-5)


def better_grades(draw: Draw, p: Problem) -> Pair | None:
    if p.kind != "grades":
        return None
    return Pair(p, p.with_options(higher_is_better=False))


# Reports


def jointly_or_alone(draw: Draw, p: Problem) -> Pair | None:
    if p.kind == "grades":
        chosen = draw.one([*p.values])
        alone = replace(p, values={chosen: p.values[chosen]})
    else:
        alone = replace(p, metrics=[draw.one(p.metrics)])
        chosen = alone.metrics[0]
    return Pair(
        p, alone, rename=lambda key: key if chosen in key else None, both_answer=False
    )


def a_model_alone(draw: Draw, p: Problem) -> Pair | None:
    if len(p.values) < 2:
        return None
    chosen = draw.one([*p.values])
    if p.kind == "classes" and any(
        len(np.unique(np.stack([c.y, c.values[chosen]]))) != len(np.unique(column))
        for c in [p.counted]
        for column in names_in(c)[-1:]
    ):
        return None
    alone = replace(p, values={chosen: p.values[chosen]})
    return Pair(
        p,
        alone,
        rename=lambda key: key if key[0] == chosen else None,
        both_answer=False,
    )


def order_of_models(draw: Draw, p: Problem) -> Pair | None:
    models = [*p.values]
    models = [models[k] for k in draw.rng.permutation(len(models))]
    return Pair(p, replace(p, values={name: p.values[name] for name in models}))


def a_metric_called(draw: Draw, p: Problem) -> Pair | None:
    """The metric as a function, and the report of it alone."""
    if p.kind == "grades" or p.has("by"):
        return None
    name, model = draw.one(p.metrics), draw.one([*p.values])
    method = p.options.get("method")
    level = p.options.get("confidence_level", 0.95)
    alone = replace(p, metrics=[name], values={model: p.values[model]})

    def called() -> Any:
        metric = resolve_metric(name).set_params(confidence_level=level)
        if method is not None:
            metric.set_params(method=method)
        rows = dict(p.rows)
        if "strata" in rows:
            rows["design"] = Strata(rows.pop("strata"))
        return {(model, name): metric(p.y, p.values[model], **rows)}

    return Pair(alone, called)


def signs_of_differences(draw: Draw, p: Problem) -> Pair | None:
    if len(p.values) < 2:
        return None
    method = {"method": draw.one([None] + 9 * ["delta"])}
    backwards = replace(p, values=dict(reversed([*p.values.items()])))

    def differences(problem: Problem) -> Callable[[], Any]:
        return lambda: problem().differences(**method)

    return Pair(
        differences(p),
        differences(backwards),
        factor=-1,
        rename=lambda key: (*key[:-2], *key[:-3:-1]),
    )


def splitting_into_batches(draw: Draw, p: Problem) -> Pair | None:
    if p.kind == "grades" or p.has("strata"):
        return None
    parts = np.array_split(np.arange(len(p)), draw.one([1, 2, 3, 7]))
    parts = [p.take(part) for part in parts if len(part)]
    saved = draw.one([None, None, "pickle", "npz", "json"])
    labels = {}
    if p.kind in ("labels", "classes"):
        known = np.stack([p.counted.y, *p.counted.values.values()])
        labels["labels"] = np.unique(known).tolist()

    def accumulated() -> Any:
        found = skci.JointAccumulator(p.metrics, **p.options, **labels)
        for k, part in enumerate(parts):
            found.update(part.y, **part.predictions, **part.rows)
            if saved is not None and k == 0:
                found = COPIES[saved](found, p)
        return found.report()

    return Pair(p, accumulated, both_answer=False)


def through_file(accumulator: Any, p: Problem, ending: str) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"saved.{ending}")
        accumulator.save(path)
        return skci.JointAccumulator.load(path, p.metrics)


COPIES = {
    "npz": partial(through_file, ending="npz"),
    "json": partial(through_file, ending="json"),
    "pickle": lambda found, p: pickle.loads(pickle.dumps(found)),
    "deepcopy": lambda found, p: copy.deepcopy(found),
}


def copies(draw: Draw, p: Problem) -> Pair | None:
    copied = COPIES[draw.one(["pickle", "deepcopy"])]
    level = draw.one([None, 0.8])

    def at(report: Any) -> Any:
        return report if level is None else report.at(level)

    return Pair(lambda: at(p()), lambda: at(copied(p(), p)), rtol=1e-12)


def numbers_in_json(draw: Draw, p: Problem) -> Callable[[], None]:
    def check() -> None:
        report = p().individual()
        saved = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        for k, estimate in enumerate(report.values()):
            low, high = estimate.confidence_interval()
            for name, value in (("estimate", estimate), ("low", low), ("high", high)):
                found = saved[name][k]
                assert found == value or (found is None and not np.isfinite(value))

    return check


def estimators_in_threads(draw: Draw, p: Problem) -> Pair | None:
    if p.kind not in ("labels", "numbers") or p.has("strata") or len(p.values) < 2:
        return None
    models = {
        name: Fixed(column, None, np.arange(2)) for name, column in p.values.items()
    }
    options = {**p.options, "n_jobs": draw.one([None, 2])}
    X = np.zeros((len(p), 1))

    def evaluated() -> Any:
        with parallel_backend("threading"):
            evaluator = skci.JointEvaluator(models, p.metrics, **options)
            return evaluator.evaluate(X, p.y, **p.rows)

    return Pair(p, evaluated)


def in_threads(draw: Draw, p: Problem) -> Pair:
    def threaded() -> Any:
        with ThreadPoolExecutor(2) as pool:
            return [*pool.map(lambda problem: problem(), [p, p])][1]

    return Pair(p, threaded, rtol=1e-12)


def designs_by_hand(draw: Draw, p: Problem) -> Pair | None:
    weights = p.rows.get("sample_weight", np.ones(len(p)))
    if not p.has("groups") or p.has("by") or not weights.all():
        return None
    if len(np.unique(p.rows["groups"])) == len(p):
        return None  # a simple random sample, which a design does not say of itself
    p = p.with_options(method="delta")
    by_hand = p.with_rows(groups=None)
    options = {"design": Grouped(p.rows["groups"])}
    by_hand = by_hand.with_options(**options)
    return Pair(p, by_hand, rtol=1e-6, both_answer=False)


def prevalence_of_the_other_label(draw: Draw, p: Problem) -> Pair | None:
    if p.kind != "labels" or p.rows or p.options.get("method") == "blurred":
        return None
    if np.unique(p.y, return_counts=True)[1].min() < 2 or p.y.min() == p.y.max():
        return None
    metrics = [name for name in p.metrics if name in SWAPPED]
    if not metrics:
        return None
    share = draw.one([0.05, 0.3, 0.5])
    p = replace(p, metrics=metrics).with_options(
        method=draw.one(9 * ["delta"] + [None])
    )
    swapped = replace(p, metrics=[SWAPPED[name] for name in metrics])
    swapped = swapped.with_options(pos_label=0, design=Prevalence(1 - share))
    return Pair(
        p.with_options(design=Prevalence(share)),
        swapped,
        rename=lambda key: (key[0], SWAPPED[key[1]], *key[2:]),
        rtol=1e-5,
    )


# Intervals

LEVELS = [1e-3, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999]


def monotone_in_the_level(draw: Draw, p: Problem) -> Callable[[], None]:
    """Limits are further apart at higher levels, around the estimate, in the range."""
    individual = draw.chance(0.85)
    compared = draw.one([None, None, "differences", "gaps"])

    def check() -> None:
        report = p()
        if compared is not None and (compared == "gaps") <= p.has("by"):
            report = getattr(report, compared)()
        report = report.individual() if individual else report
        widest = None
        for level in sorted(draw.some(LEVELS, 4)):
            limits = np.array(
                [each.confidence_interval() for each in report.at(level).values()]
            )
            estimates = np.array([*map(float, report.values())])
            ranges = [each._parameter.trait.bounds for each in report.values()]
            lowest, highest = np.array(ranges).T
            known = ~np.isnan(estimates)
            low, high = limits.T
            assert (low < high).all(), (level, limits)
            assert (low >= lowest).all() and (high <= highest).all(), (level, limits)
            assert (low <= estimates)[known].all(), (level, low, estimates)
            assert (estimates <= high)[known].all(), (level, high, estimates)
            if widest is not None:
                with np.errstate(invalid="ignore"):
                    slack = 1e-9 * (widest[:, 1] - widest[:, 0])
                    slack = np.where(np.isfinite(slack), slack, 0)
                    assert (low <= widest[:, 0] + slack).all(), (level, limits, widest)
                    assert (high >= widest[:, 1] - slack).all(), (level, limits, widest)
            widest = limits

    return check


def limits_invert_pvalues(draw: Draw, p: Problem) -> Callable[[], None]:
    def check() -> None:
        report = p().individual()
        for estimate in report.values():
            low, high = estimate.confidence_interval()
            if np.isnan(estimate):
                continue
            level = estimate.confidence_level
            lowest, highest = estimate._parameter.trait.bounds
            for limit, other in ((low, lowest), (high, highest)):
                if not np.isfinite(limit) or limit == other:
                    continue
                if abs(limit - estimate) <= 1e-12 * abs(estimate):
                    continue  # there are too few numbers between them
                if abs(limit) > 1e12 or abs(limit - other) < 1e-12:
                    continue  # next to an end of the range
                inside = limit + 1e-3 * (float(estimate) - limit)
                outside = limit - 1e-3 * (float(estimate) - limit)
                outside = min(max(outside, lowest), highest)
                assert estimate.pvalue(inside) >= (1 - level) * (1 - 1e-6), limit
                assert estimate.pvalue(outside) <= (1 - level) * (1 + 1e-6), limit

    return check


THREADED = ["estimators_in_threads", "in_threads"]
"""Relations that are drawn less often, as threads are slow to start."""
RELATIONS: dict[str, Relation] = {
    relation.__name__: relation
    for relation in (
        *(order_of_rows, scale_of_weights, equal_weights, weights_of_zero),
        *(counts_are_repeated_rows, whole_weights_are_repeated_rows, clusters_of_one),
        *(names_of_clusters, one_stratum, subgroups_are_reports, frames_are_arrays),
        *(names_of_labels, swapped_labels, complements, negated_metrics),
        *(tables_are_rows, order_of_scores, reversed_scores, units_of_numbers),
        *(sign_of_numbers, units_of_grades, better_grades, jointly_or_alone),
        *(a_model_alone, order_of_models, a_metric_called, signs_of_differences),
        *(splitting_into_batches, copies, numbers_in_json, estimators_in_threads),
        *(in_threads, designs_by_hand, prevalence_of_the_other_label),
        *(monotone_in_the_level, limits_invert_pvalues),
    )
}
SHARES = np.array([1 if name in THREADED else 9 for name in RELATIONS])
"""How often each is drawn."""
