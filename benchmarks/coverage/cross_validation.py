"""Coverage of intervals after cross-validation."""

from functools import partial
from itertools import product
from statistics import fmean
from typing import NamedTuple

import numpy as np
from sklearn import model_selection

import skci
from benchmarks.coverage import learning
from benchmarks.coverage.harness import (
    Setting,
    alone_and_jointly,
    covers_jointly,
    monte_carlo_error,
    true_value,
)
from benchmarks.coverage.learning import CLASSIFICATION, ERRORS, PARTS, Study
from benchmarks.coverage.tables import by_call, percent, share

_REPEATS = 5
"""Number of repetitions, where folds are repeated."""
_NAIVE_QUANTILE = 2.0
"""Half width, in standard errors, of what people add to a mean over folds."""
_FOLD_ROWS = 20_000, 30  # fresh rows to evaluate fold models on: at least, and per n
_REFERENCE = "corrected t, 5 folds"
"""Method that widths are relative to."""
_LEAST_JOINT, _LEAST_SINGLE = 0.93, 0.92
_SINGLES, _DIFFERENCES = "all parameters", "all differences"


class Drawn(NamedTuple):
    """A sample of a study, and the seed of its splits."""

    study: Study
    sample: learning.Sampled
    seed: int

    def folds(self, repeats=1):
        """A splitter, or the splits of clusters."""
        X, y, groups = self.sample
        if groups is not None:
            return [
                split
                for k in range(repeats)
                for split in model_selection.GroupKFold(
                    PARTS, shuffle=True, random_state=self.seed * _REPEATS + k
                ).split(X, y, groups)
            ]
        kind = "StratifiedKFold" if self.study.stratified else "KFold"
        if repeats == 1:
            splitter = getattr(model_selection, kind)
            return splitter(PARTS, shuffle=True, random_state=self.seed)
        splitter = getattr(model_selection, f"Repeated{kind}")
        return splitter(n_splits=PARTS, n_repeats=repeats, random_state=self.seed)

    def report(self, repeats=0, **options):
        """Report of `skci.cross_validate_report`, on folds that are repeated."""
        if repeats:
            options["cv"] = self.folds(repeats)
        return skci.cross_validate_report(
            self.study.estimators,
            self.sample.X,
            self.sample.y,
            metrics=[*self.study.metrics],
            groups=self.sample.groups,
            random_state=self.seed,
            **options,
        )


def _answered(drawn, **options):
    return _all_of(drawn.report(**options))


def _all_of(report):
    differences = report.differences()
    return {
        **alone_and_jointly(report, _SINGLES),
        **alone_and_jointly(differences, _DIFFERENCES),
    }


def _naive(drawn):
    """Mean over folds and two standard errors, whatever the number of intervals."""
    report = drawn.report(1, resampling="fold-t")
    found = {}
    for each in (report, report.differences()):
        for key in each:
            margin = _NAIVE_QUANTILE * each[key].standard_error or np.inf
            found[key] = float(each[key]) - margin, float(each[key]) + margin
    truths = drawn.study.truths()
    covered = {
        key: low <= true_value(key, truths) <= high
        for key, (low, high) in found.items()
    }
    return found | {
        _SINGLES: all(covered[key] for key in found if len(key) == 2),
        _DIFFERENCES: all(covered[key] for key in found if len(key) == 3),
    }


def _pooled(drawn):
    """Report as if one model had predicted all rows, without the folds."""
    X, y, groups = drawn.sample
    of_labels = drawn.study.metrics == CLASSIFICATION
    method = "predict_proba" if of_labels else "predict"
    predicted = {
        name: model_selection.cross_val_predict(
            each, X, y, cv=drawn.folds(), method=method
        )
        for name, each in drawn.study.estimators.items()
    }
    arguments = {"y_pred": predicted}
    if of_labels:
        scores = {name: found[:, 1] for name, found in predicted.items()}
        labels = {name: (found > 0.5).astype(int) for name, found in scores.items()}
        arguments = {"y_pred": labels, "y_score": scores}
    metrics = [*drawn.study.metrics]
    return _all_of(skci.joint_report(y, **arguments, metrics=metrics, groups=groups))


def _fold_models(drawn):
    """Whether intervals cover the mean performance of the models that were fitted."""
    study = drawn.study
    report = drawn.report(1, target="fold-models", return_estimator=True)
    rng = np.random.default_rng(drawn.seed)
    least, per_unit = _FOLD_ROWS
    units = study.n * (5 if study.of_clusters else 1)
    fresh = study.fresh_rows(max(least, per_unit * units), rng)
    values = [
        study.performance(by_fold, fresh)
        for by_fold in zip(*report.estimators.values(), strict=True)
    ]
    truths = study.by_key(np.mean(values, axis=0).tolist())
    answer = _all_of(report)
    named, found = study.truths(), {}
    for key, thing in answer.items():
        if key in (_SINGLES, _DIFFERENCES):
            found[key] = covers_jointly(thing, truths)
            continue
        # Moved by what these models are better, so that it is to cover the same value.
        moved = true_value(key, named) - true_value(key, truths)
        low, high = thing.confidence_interval()
        found[key] = low + moved, high + moved
    return found


def _of_two_labels(call, drawn):
    """Answer of a call, empty where a training set has but one label."""
    try:
        return call(drawn)
    except ValueError as error:
        if "class" not in str(error):
            raise
        return {}


_CALLS = {
    "jackknife": _answered,
    _REFERENCE: partial(_answered, repeats=1, resampling="corrected-t"),
    "corrected t, 5 x 5 folds": partial(
        _answered, repeats=_REPEATS, resampling="corrected-t"
    ),
    "t over folds": partial(_answered, repeats=1, resampling="fold-t"),
    "mean over folds ± 2 SE": _naive,
    "one pooled table": _pooled,
    "fold models": _fold_models,
}
METHODS = {name: partial(_of_two_labels, call) for name, call in _CALLS.items()}
_FITS = dict(zip(METHODS, ("45", "5", "25", "5", "5", "5", "5"), strict=True))


def _individual(drawn, method):
    report = drawn.report(method=method)
    return dict(report.individual()) | dict(report.differences().individual())


SKEWED = {name: partial(_individual, method=name) for name in ("hall", "delta")}


def _setting(study, calls, cells):
    def draw(rng):
        sample = study.draw(study.n, rng)
        return Drawn(study, sample, int(rng.integers(2**31 // _REPEATS - 1)))

    return Setting(cells, draw, study.truths, calls, study.every)


def _normals(name, n, models, *options, **other):
    return Study(name, learning.two_normals(*options), n, models, **other)


def _regression(name, errors, n):
    fresh, variance = learning.friedman("none"), 4 * ERRORS[errors][1]
    options = {"fresh": fresh, "error_variance": variance}
    return Study(name, learning.friedman(errors), n, _OF_NUMBERS, _NUMBERS, **options)


_NUMBERS = ("r2", "mean_squared_error")
_ONE = ("LDA", "tree")
_OF_NUMBERS = ("ridge", "regression tree")
STUDIES = (
    _normals("no signal", 100, _ONE, 0.5, 0, 5),
    _normals("weak signal", 100, ("LDA", "7-NN"), 0.4, 1, 10),
    _normals("strong signal", 200, ("LDA", "15-NN"), 0.3, 3, 5),
    Study("curved", learning.curved, 200, ("boosting", "LDA"), every=4),
    _normals("full tree", 300, ("LDA", "full tree"), 0.3, 1.5, 5),
    _normals("near the majority", 400, ("LDA", "15-NN"), 0.2, 1, 20),
    _normals("alike", 400, ("LDA", "logistic"), 0.5, 1.5, 5),
    _normals("rare label", 500, _ONE, 0.05, 2, 5),
    _normals("rare and weak", 1000, _ONE, 0.1, 1, 10),
    _normals("large", 2000, _ONE, 0.3, 1.5, 5),
    _normals("stratified", 200, _ONE, 0.2, 1.5, 5, stratified=True),
    Study("equal clusters", learning.clusters(True), 60, _ONE, of_clusters=True),
    Study("unequal clusters", learning.clusters(False), 60, _ONE, of_clusters=True),
    *(
        _regression(*each)
        for each in (("regression", "normal", 100), ("heavy tails", "t5", 400))
    ),
)
SETTINGS = [
    _setting(
        study,
        METHODS,
        {
            "setting": study.name,
            "models": " and ".join(study.models),
            "n": f"{study.n:,}" + " clusters" * study.of_clusters,
        },
    )
    for study in STUDIES
]


def _skewed(data, n, metric, draw, **options):
    study = Study(data, draw, n, ("ridge", "7-NN means"), (metric,), **options)
    return _setting(study, SKEWED, {"data": data, "rows": str(n)})


_LOSSES = [
    *(
        _skewed(
            f"{errors} errors",
            n,
            "mean_squared_error",
            learning.linear(errors),
            fresh=learning.linear("none"),
            error_variance=ERRORS[errors][1],
        )
        for errors, n in product(list(ERRORS)[1:], (100, 200, 400))
    ),
    *(
        _skewed(data, n, "mean_absolute_error", learning.linear("normal", df))
        for data, n, df in (
            ("normal features", 150, np.inf),
            ("t2.2 features", 150, 2.2),
            ("t2.2 features", 400, 2.2),
        )
    ),
]


def tables(simulate):
    found, losses = simulate(SETTINGS, 600), simulate(_LOSSES, 1000)
    rows = _with_ratios([_figures(each) for _, each in found.groups("cells", "call")])
    default = [row for row in rows if row["call"] == "jackknife"]
    other = [row for row in rows if row["call"] != "jackknife"]
    return {
        "Methods": [_methods(rows)],
        "The default, by setting": [[row["cells"] | _shares(row) for row in default]],
        "Skewed losses": [by_call(losses)],
        "Other methods, by setting": [
            [
                {"setting": row["cells"]["setting"], "intervals": row["call"]}
                | _shares(row)
                for row in other
            ]
        ],
    }


def _figures(records):
    """Figures of a method in a setting."""
    cells, draws = records[0]["cells"], records[0]["draws"]
    joint = {of: records.where(of=of)[0]["coverage"] for of in (_SINGLES, _DIFFERENCES)}
    single = [each for each in records if each["of"] not in joint]
    least = min(single, key=lambda each: each["coverage"])
    goals = [(coverage, _LEAST_JOINT) for coverage in joint.values()]
    goals.append((least["coverage"], _LEAST_SINGLE))
    compared = [each for each in single if each["of"].count(", ") == 2]
    of_means = [each for each in compared if each["of"].startswith(learning.MEANS)]
    return {
        "cells": cells,
        "call": records[0]["call"],
        "draws": draws,
        "single": fmean(each["coverage"] for each in single),
        "least": least,
        "below": any(  # by more than two Monte Carlo errors
            found < goal - 2 * monte_carlo_error(goal, draws) for found, goal in goals
        ),
        "width": of_means[0]["width"],
        "warned": max(records.column("warned")),
        **joint,
    }


def _with_ratios(rows):
    """Add the ratio of each width to that of the reference in the same setting."""
    of_setting = {
        repr(row["cells"]): row["width"] for row in rows if row["call"] == _REFERENCE
    }
    ratios = [row["width"] / of_setting[repr(row["cells"])] for row in rows]
    return [row | {"ratio": ratio} for row, ratio in zip(rows, ratios, strict=True)]


def _shares(row):
    return {
        "samples": str(row["draws"]),
        _SINGLES: share(row[_SINGLES]),
        _DIFFERENCES: share(row[_DIFFERENCES]),
        "lowest individual": share(row["least"]["coverage"]),
        "of": row["least"]["of"],
        "width": f"{row['ratio']:.2f}",
        "warns": percent(row["warned"]),
    }


def _methods(rows):
    """One row a method, over all settings."""
    table = []
    for method in METHODS:
        chosen = [row for row in rows if row["call"] == method]
        keys = _SINGLES, _DIFFERENCES, "single", "ratio", "warned"
        mean = {key: fmean(row[key] for row in chosen) for key in keys}
        table.append(
            {
                "intervals": method,
                "of": method if method == "fold models" else "procedure",
                "fits": _FITS[method],
                "samples": f"{sum(row['draws'] for row in chosen):,}",
                _SINGLES: share(mean[_SINGLES]),
                _DIFFERENCES: share(mean[_DIFFERENCES]),
                "individual": share(mean["single"]),
                "settings below": str(sum(row["below"] for row in chosen)),
                "width": f"{mean['ratio']:.2f}",
                "warns": percent(mean["warned"]),
            }
        )
    return table
