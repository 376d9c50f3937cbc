"""Coverage of intervals after cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)

import skci
from benchmarks.common.pages import Row, Tables
from benchmarks.coverage.harness import (
    Answer,
    Records,
    Setting,
    Simulator,
    alone_and_jointly,
    covers_jointly,
    monte_carlo_error,
    true_value,
)
from benchmarks.coverage.learning import (
    CLASSIFICATION,
    ERRORS,
    MEANS,
    PARTS,
    Sampled,
    Study,
    clusters,
    curved,
    friedman,
    linear,
    two_normals,
)
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


# --------------------------------------------------------------------------------------
# Methods
# --------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """A sample of a study, and the seed of its splits."""

    study: Study
    sample: Sampled
    seed: int

    def folds(self, repeats: int = 1) -> Any:
        """A splitter, or the splits of clusters."""
        X, y, groups = self.sample
        if groups is not None:
            return [
                split
                for k in range(repeats)
                for split in GroupKFold(
                    PARTS, shuffle=True, random_state=self.seed * _REPEATS + k
                ).split(X, y, groups)
            ]
        if repeats == 1:
            kind = StratifiedKFold if self.study.stratified else KFold
            return kind(PARTS, shuffle=True, random_state=self.seed)
        kind = RepeatedStratifiedKFold if self.study.stratified else RepeatedKFold
        return kind(n_splits=PARTS, n_repeats=repeats, random_state=self.seed)

    def report(self, repeats: int = 0, **options: Any) -> Any:
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


def _answered(drawn: Drawn, **options: Any) -> Answer:
    return _all_of(drawn.report(**options))


def _all_of(report: Any) -> Answer:
    differences = report.differences()
    return {
        **alone_and_jointly(report, _SINGLES),
        **alone_and_jointly(differences, _DIFFERENCES),
    }


def _naive(drawn: Drawn) -> Answer:
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


def _pooled(drawn: Drawn) -> Answer:
    """Report as if one model had predicted all rows, without the folds."""
    X, y, groups = drawn.sample
    of_labels = drawn.study.metrics == CLASSIFICATION
    method = "predict_proba" if of_labels else "predict"
    predicted = {
        name: cross_val_predict(each, X, y, cv=drawn.folds(), method=method)
        for name, each in drawn.study.estimators.items()
    }
    arguments: dict[str, Any] = {"y_pred": predicted}
    if of_labels:
        scores = {name: found[:, 1] for name, found in predicted.items()}
        labels = {name: (found > 0.5).astype(int) for name, found in scores.items()}
        arguments = {"y_pred": labels, "y_score": scores}
    metrics = [*drawn.study.metrics]
    return _all_of(skci.joint_report(y, **arguments, metrics=metrics, groups=groups))


def _fold_models(drawn: Drawn) -> Answer:
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


def _of_two_labels(call: Callable[[Drawn], Answer], drawn: Drawn) -> Answer:
    """Answer of a call, empty where a training set has but one label."""
    try:
        return call(drawn)
    except ValueError as error:
        if "class" not in str(error):
            raise
        return {}


_CALLS: dict[str, Callable[[Drawn], Answer]] = {
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


def _individual(drawn: Drawn, method: str) -> Answer:
    report = drawn.report(method=method)
    return dict(report.individual()) | dict(report.differences().individual())


SKEWED = {name: partial(_individual, method=name) for name in ("hall", "delta")}


# --------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------


def _setting(
    study: Study, calls: Mapping[str, Any], cells: Mapping[str, str]
) -> Setting:
    def draw(rng: np.random.Generator) -> Drawn:
        sample = study.draw(study.n, rng)
        return Drawn(study, sample, int(rng.integers(2**31 // _REPEATS - 1)))

    return Setting(cells, draw, study.truths, calls, study.every)


def _normals(
    name: str, n: int, models: tuple[str, str], *options: Any, **other: Any
) -> Study:
    return Study(name, two_normals(*options), n, models, **other)


_NUMBERS = ("r2", "mean_squared_error")
_ONE = ("LDA", "tree")
_OF_NUMBERS = ("ridge", "regression tree")
STUDIES = (
    _normals("no signal", 100, _ONE, 0.5, 0, 5),
    _normals("weak signal", 100, ("LDA", "7-NN"), 0.4, 1, 10),
    _normals("strong signal", 200, ("LDA", "15-NN"), 0.3, 3, 5),
    Study("curved", curved, 200, ("boosting", "LDA"), every=4),
    _normals("full tree", 300, ("LDA", "full tree"), 0.3, 1.5, 5),
    _normals("near the majority", 400, ("LDA", "15-NN"), 0.2, 1, 20),
    _normals("alike", 400, ("LDA", "logistic"), 0.5, 1.5, 5),
    _normals("rare label", 500, _ONE, 0.05, 2, 5),
    _normals("rare and weak", 1000, _ONE, 0.1, 1, 10),
    _normals("large", 2000, _ONE, 0.3, 1.5, 5),
    _normals("stratified", 200, _ONE, 0.2, 1.5, 5, stratified=True),
    Study("equal clusters", clusters(True), 60, _ONE, of_clusters=True),
    Study("unequal clusters", clusters(False), 60, _ONE, of_clusters=True),
    *(
        Study(
            name,
            friedman(errors),
            n,
            _OF_NUMBERS,
            _NUMBERS,
            fresh=friedman("none"),
            error_variance=4 * ERRORS[errors][1],
        )
        for name, errors, n in (
            ("regression", "normal", 100),
            ("heavy tails", "t5", 400),
        )
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


def _skewed(data: str, n: int, metric: str, draw: Any, **options: Any) -> Setting:
    study = Study(data, draw, n, ("ridge", "7-NN means"), (metric,), **options)
    return _setting(study, SKEWED, {"data": data, "rows": str(n)})


_LOSSES = [
    *(
        _skewed(
            f"{errors} errors",
            n,
            "mean_squared_error",
            linear(errors),
            fresh=linear("none"),
            error_variance=ERRORS[errors][1],
        )
        for errors, n in product(list(ERRORS)[1:], (100, 200, 400))
    ),
    *(
        _skewed(data, n, "mean_absolute_error", linear("normal", df))
        for data, n, df in (
            ("normal features", 150, np.inf),
            ("t2.2 features", 150, 2.2),
            ("t2.2 features", 400, 2.2),
        )
    ),
]


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


def tables(simulate: Simulator) -> Tables:
    found, losses = simulate(SETTINGS, 600), simulate(_LOSSES, 1000)
    rows = [*map(_Row, (chosen for _, chosen in found.groups("cells", "call")))]
    return {
        "Methods": [_methods(rows)],
        "The default, by setting": [
            [row.cells | row.shares(rows) for row in rows if row.call == "jackknife"]
        ],
        "Skewed losses": [by_call(losses)],
        "Other methods, by setting": [
            [
                {"setting": row.cells["setting"], "intervals": row.call}
                | row.shares(rows)
                for row in rows
                if row.call != "jackknife"
            ]
        ],
    }


class _Row:
    """A method in a setting."""

    def __init__(self, records: Records) -> None:
        first = records.records[0]
        self.cells, self.call = first["cells"], first["call"]
        self.draws = first["draws"]
        (self.singles,), (self.differences,) = (
            records.where(of=of).column("coverage") for of in (_SINGLES, _DIFFERENCES)
        )
        together = _SINGLES, _DIFFERENCES
        self.single = [each for each in records if each["of"] not in together]
        self.least = min(self.single, key=lambda each: each["coverage"])
        self.warned = max(records.column("warned"))
        compared = [each for each in self.single if each["of"].count(", ") == 2]
        self.width = next(
            each["width"] for each in compared if each["of"].split(", ")[0] in MEANS
        )

    def relative_width(self, rows: list[_Row]) -> float:
        (reference,) = (
            row for row in rows if row.cells == self.cells and row.call == _REFERENCE
        )
        return self.width / reference.width

    def shares(self, rows: list[_Row]) -> dict[str, str]:
        return {
            "samples": str(self.draws),
            _SINGLES: share(self.singles),
            _DIFFERENCES: share(self.differences),
            "lowest individual": share(self.least["coverage"]),
            "of": self.least["of"],
            "width": f"{self.relative_width(rows):.2f}",
            "warns": percent(self.warned),
        }

    @property
    def below(self) -> bool:
        """Whether a goal is missed by more than two Monte Carlo errors."""
        goals = (
            (self.singles, _LEAST_JOINT),
            (self.differences, _LEAST_JOINT),
            (self.least["coverage"], _LEAST_SINGLE),
        )
        return any(
            found < goal - 2 * monte_carlo_error(goal, self.draws)
            for found, goal in goals
        )


def _methods(rows: list[_Row]) -> list[Row]:
    """One row a method, over all settings."""
    table = []
    for method in METHODS:
        chosen = [row for row in rows if row.call == method]
        of_each = [fmean(each["coverage"] for each in row.single) for row in chosen]
        table.append(
            {
                "intervals": method,
                "of": method if method == "fold models" else "procedure",
                "fits": _FITS[method],
                "samples": f"{sum(row.draws for row in chosen):,}",
                _SINGLES: share(fmean(row.singles for row in chosen)),
                _DIFFERENCES: share(fmean(row.differences for row in chosen)),
                "individual": share(fmean(of_each)),
                "settings below": str(sum(row.below for row in chosen)),
                "width": f"{fmean(row.relative_width(rows) for row in chosen):.2f}",
                "warns": percent(fmean(row.warned for row in chosen)),
            }
        )
    return table
