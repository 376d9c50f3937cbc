"""Two calls that must agree: the relations of ``test_relations.py``.

A `Problem` is drawn from a seed and a number alone, and then a `RELATIONS` that it
admits: another problem with the same answer, or with one that follows from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fuzz_cases import METRICS

import skci
from skci.designs import Strata
from skci.metrics.names import resolve_metric

KINDS = ["labels", "labels", "classes", "scores", "numbers", "grades"]
CLASSES = ["accuracy", "cohen_kappa", "matthews_corrcoef", "balanced_accuracy"]
AVERAGED = ["f1", "precision", "recall", "jaccard", "specificity", "g_mean", "lift"]
SAME = (
    *("accuracy", "error_rate", "balanced_accuracy", "cohen_kappa", "g_mean"),
    *("matthews_corrcoef", "informedness", "markedness", "hamming_loss"),
    "diagnostic_odds_ratio",
)
SWAPPED = {
    **{name: name for name in SAME},
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
    0: ("r2", "explained_variance", "pearson_correlation", "d2_absolute_error"),
    1: ("mean_absolute_error", "root_mean_squared_error", "median_absolute_error"),
    2: ("mean_squared_error",),
}
POWERS[0] += "d2_pinball", "mean_absolute_percentage_error", "mean_gamma_deviance"
POWERS[1] += "mean_pinball_loss", "mean_poisson_deviance"
POWERS = {name: power for power, names in POWERS.items() for name in names}
"""By which power of a positive factor of both columns a metric grows."""
ODD = {"mean_pinball_loss", "d2_pinball"}
ODD |= {"mean_gamma_deviance", "mean_poisson_deviance"}
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

    def __len__(self):
        return len(self.y)

    @property
    def columns(self):
        """Columns of the rows as arguments."""
        rows = dict(self.rows)
        if "strata" in rows:
            rows["design"] = Strata(rows.pop("strata"))
        return rows

    def __call__(self):
        """Compute the report."""
        options = {**self.options, **self.columns}
        if self.kind == "grades":
            return skci.grades_report(self.values, **options)
        models = self.predictions
        return skci.joint_report(self.y, **models, metrics=self.metrics, **options)

    @property
    def predictions(self):
        return {"y_score" if self.kind == "scores" else "y_pred": self.values}

    def with_rows(self, **columns):
        kept = {**self.rows, **columns}
        return replace(self, rows={k: v for k, v in kept.items() if v is not None})

    def with_options(self, **options):
        return replace(self, options={**self.options, **options})

    def has(self, *names):
        return any(name in self.rows for name in names)

    @property
    def has_near_numbers(self):
        """Whether numbers differ by no more than rounding."""
        values = np.stack([self.y, *self.values.values()])
        values = np.unique(values[np.isfinite(values)])
        gaps = np.diff(values) / np.abs(values).max(initial=1e-300)
        return self.kind == "numbers" and bool((gaps < 1e-12).any())


def problem_of(draw):
    """Draw a problem."""
    kind = draw.one(KINDS)
    n = int(draw.one([1, 2, 3, 4, 5, 8, 12, 20, 30, 60]))
    names = ["A", "B", "C"][: draw.one([1, 1, 2, 2, 3])]
    options = {}
    if draw.chance(0.5):
        options["method"] = draw.method()
    if draw.chance(0.2):
        options["confidence_level"] = draw.one([0.5, 0.8, 0.9, 0.99, 0.999])
    metrics = None
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


def scores_of(draw, y):
    """Probabilities of the label 1, or tied ones, or labels."""
    logits = draw.rng.normal(size=len(y)) + draw.one([0, 1, 1, 3, 50, -50]) * y
    column = 1 / (1 + np.exp(-np.clip(logits - 0.5, -30, 30)))
    return draw.one([column, column, column.round(1), np.full(len(y), 0.5)])


def rows_of(draw, n):
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
    both_answer: bool = True
    """Whether the second is refused if the first is, and warned of alike."""
    rtol: float = 1e-7


# The rows


def equal_weights(draw, p):
    if p.has("sample_weight"):
        return None
    weight = draw.one([1, 0.1, 3.0])
    return Pair(p, p.with_rows(sample_weight=np.full(len(p), weight)))


def names_of_clusters(draw, p):
    name = "groups" if p.has("groups") else "strata"
    if not p.has(name):
        return None
    codes = draw.rng.permutation(int(p.rows[name].max()) + 1)[p.rows[name]]
    return Pair(p, p.with_rows(**{name: draw.one([codes, codes.astype(str)])}))


def one_stratum(draw, p):
    if p.rows or p.kind in ("labels", "classes") or len(p) == 1:
        return None  # tables of strata have other methods
    return Pair(p, p.with_rows(strata=np.zeros(len(p), int)))


# Labels, scores, numbers and grades


def names_of_labels(draw, p):
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


def swapped_labels(draw, p):
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


def complements(draw, p):
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


def negated_metrics(draw, p):
    if p.kind == "grades":
        return None
    return Pair(
        p,
        replace(p, metrics=[f"neg_{name}" for name in p.metrics]),
        factor=-1,
        rename=lambda key: (key[0], f"neg_{key[1]}", *key[2:]),
    )


def tables_are_rows(draw, p):
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


def order_of_scores(draw, p):
    """Areas depend on the order of the scores alone."""
    metrics = [name for name in p.metrics or () if name in RANKS]
    if p.kind != "scores" or not metrics:
        return None
    p = replace(p, metrics=metrics)
    change = draw.one([np.exp, lambda x: 3 * x - 7, lambda x: x * 1e-9])
    ranks = {k: np.unique(v, return_inverse=True)[1] / 64 for k, v in p.values.items()}
    changed = {name: change(column) for name, column in ranks.items()}
    return Pair(replace(p, values=ranks), replace(p, values=changed))


def reversed_scores(draw, p):
    if p.kind != "scores" or p.has("strata"):
        return None
    values = {name: 1 - column for name, column in p.values.items()}
    p = replace(p, metrics=["roc_auc"])
    return Pair(p, replace(p, y=1 - p.y, values=values), rtol=1e-6)


def units_of_numbers(draw, p):
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


def sign_of_numbers(draw, p):
    metrics = [name for name in p.metrics or () if name in {*POWERS} - ODD]
    if p.kind != "numbers" or not metrics:
        return None
    p = replace(p, metrics=metrics)
    values = {name: -column for name, column in p.values.items()}
    return Pair(p, replace(p, y=-p.y, values=values))


def units_of_grades(draw, p):
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


def better_grades(draw, p):
    if p.kind != "grades":
        return None
    return Pair(p, p.with_options(higher_is_better=False))


# Reports


def a_metric_alone(draw, p):
    if p.kind == "grades":
        return None
    chosen = draw.one(p.metrics)

    def rename(key):
        return key if chosen in key else None

    alone = replace(p, metrics=[chosen])
    return Pair(p, alone, rename=rename, both_answer=False)


def a_model_alone(draw, p):
    if len(p.values) < 2 or p.kind == "classes":
        return None  # classes that others alone predict are known besides
    chosen = draw.one([*p.values])

    def rename(key):
        return key if key[0] == chosen else None

    alone = replace(p, values={chosen: p.values[chosen]})
    return Pair(p, alone, rename=rename, both_answer=False)


def order_of_models(draw, p):
    models = [*p.values]
    models = [models[k] for k in draw.rng.permutation(len(models))]
    return Pair(p, replace(p, values={name: p.values[name] for name in models}))


def a_metric_called(draw, p):
    """The metric as a function, and the report of it alone."""
    if p.kind == "grades" or p.has("by"):
        return None
    name, model = draw.one(p.metrics), draw.one([*p.values])
    alone = replace(p, metrics=[name], values={model: p.values[model]})
    options = {key: value for key, value in p.options.items() if value is not None}

    def called():
        metric = resolve_metric(name).set_params(**options)
        return {(model, name): metric(p.y, p.values[model], **p.columns)}

    return Pair(alone, called)


# Intervals

LEVELS = [1e-3, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999]


def monotone_in_the_level(draw, p):
    """Limits are further apart at higher levels, around the estimate, in the range."""
    individual = draw.chance(0.85)
    compared = draw.one([None, None, "differences", "gaps"])

    def check():
        report = p()
        if compared is not None and (compared == "gaps") <= p.has("by"):
            report = getattr(report, compared)()
        report, widest = report.individual() if individual else report, None
        estimates = np.array([*map(float, report.values())])
        ranges = [each._parameter.trait.bounds for each in report.values()]
        (lowest, highest), known = np.array(ranges).T, ~np.isnan(estimates)
        for level in sorted(draw.some(LEVELS, 4)):
            found = [each.confidence_interval() for each in report.at(level).values()]
            low, high = np.array(found).T
            assert (low < high).all(), (level, found)
            assert (low >= lowest).all() and (high <= highest).all(), (level, found)
            assert (low <= estimates)[known].all(), (level, found, estimates)
            assert (estimates <= high)[known].all(), (level, found, estimates)
            if widest is not None:
                with np.errstate(invalid="ignore"):
                    slack = np.nan_to_num(1e-9 * (widest[1] - widest[0]), posinf=0)
                    assert (low <= widest[0] + slack).all(), (level, found, widest)
                    assert (high >= widest[1] - slack).all(), (level, found, widest)
            widest = low, high

    return check


def limits_invert_pvalues(draw, p):
    def check():
        for estimate in p().individual().values():
            if np.isnan(estimate):
                continue
            limits = estimate.confidence_interval()
            error = 1 - estimate.confidence_level
            lowest, highest = ends = estimate._parameter.trait.bounds
            for limit, other in zip(limits, ends, strict=True):
                distance = float(estimate) - limit
                if not np.isfinite(limit) or abs(distance) <= 1e-12 * abs(estimate):
                    continue  # there are too few numbers between them
                if abs(limit) > 1e12 or abs(limit - other) < 1e-12:
                    continue  # at an end of the range, or next to it
                outside = min(max(limit - 1e-3 * distance, lowest), highest)
                inside = limit + 1e-3 * distance
                assert estimate.pvalue(inside) >= error * (1 - 1e-6), limit
                assert estimate.pvalue(outside) <= error * (1 + 1e-6), limit

    return check


RELATIONS = {
    relation.__name__: relation
    for relation in (
        *(equal_weights, names_of_clusters, one_stratum, negated_metrics),
        *(names_of_labels, swapped_labels, complements),
        *(tables_are_rows, order_of_scores, reversed_scores, units_of_numbers),
        *(sign_of_numbers, units_of_grades, better_grades, a_metric_alone),
        *(a_model_alone, order_of_models, a_metric_called, monotone_in_the_level),
        limits_invert_pvalues,
    )
}
