"""Simulated coverage of intervals after cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.cross_validation_settings import (
    CLASSIFICATION,
    MEANS,
    PARTS,
    Sampled,
    Setting,
    performance_of_models,
)
from benchmarks.coverage.simulation import JOINT_LEVEL
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

REPEATS = 5
"""Of the folds, where they are repeated."""
NAIVE_QUANTILE = 2.0
"""Half width, in standard errors, of what people add to a mean over folds."""

_FOLD_ROWS = 20_000, 30  # fresh rows to evaluate fold models on: at least, and per n
_WARNINGS = SmallSampleWarning, DegenerateVarianceWarning, UndefinedMetricWarning


# --------------------------------------------------------------------------------------
# Methods
# --------------------------------------------------------------------------------------


def folds(setting: Setting, sample: Sampled, seed: int, repeats: int = 1) -> Any:
    """A splitter, or the splits of clusters."""
    if sample.groups is not None:
        return [
            split
            for k in range(repeats)
            for split in GroupKFold(
                PARTS, shuffle=True, random_state=seed * REPEATS + k
            ).split(sample.X, sample.y, sample.groups)
        ]
    if repeats == 1:
        kind = StratifiedKFold if setting.stratified else KFold
        return kind(PARTS, shuffle=True, random_state=seed)
    kind = RepeatedStratifiedKFold if setting.stratified else RepeatedKFold
    return kind(n_splits=PARTS, n_repeats=repeats, random_state=seed)


def cross_validated(
    setting: Setting, sample: Sampled, seed: int, **options: Any
) -> Any:
    """Report by `skci.cross_validate_report`."""
    arguments = {"metrics": list(setting.metrics), "groups": sample.groups, **options}
    return skci.cross_validate_report(
        setting.estimators,
        sample.X,
        sample.y,
        confidence_level=JOINT_LEVEL,
        random_state=seed,
        **arguments,
    )


def jackknife(setting: Setting, sample: Sampled, seed: int) -> Any:
    return cross_validated(setting, sample, seed)


def corrected_t(setting: Setting, sample: Sampled, seed: int) -> Any:
    cv = folds(setting, sample, seed)
    return cross_validated(setting, sample, seed, resampling="corrected-t", cv=cv)


def repeated_corrected_t(setting: Setting, sample: Sampled, seed: int) -> Any:
    cv = folds(setting, sample, seed, REPEATS)
    return cross_validated(setting, sample, seed, resampling="corrected-t", cv=cv)


def fold_t(setting: Setting, sample: Sampled, seed: int) -> Any:
    cv = folds(setting, sample, seed)
    return cross_validated(setting, sample, seed, resampling="fold-t", cv=cv)


def fold_models(setting: Setting, sample: Sampled, seed: int) -> Any:
    cv = folds(setting, sample, seed)
    return cross_validated(
        setting, sample, seed, target="fold-models", cv=cv, return_estimator=True
    )


def pooled_table(setting: Setting, sample: Sampled, seed: int) -> Any:
    """Report as if one model had predicted all rows, without the folds."""
    cv = folds(setting, sample, seed)
    how = "predict_proba" if setting.metrics == CLASSIFICATION else "predict"
    predicted = {
        name: cross_val_predict(each, sample.X, sample.y, cv=cv, method=how)
        for name, each in setting.estimators.items()
    }
    arguments: dict[str, Any] = {"y_pred": predicted}
    if setting.metrics == CLASSIFICATION:
        scores = {name: found[:, 1] for name, found in predicted.items()}
        labels = {name: (found > 0.5).astype(int) for name, found in scores.items()}
        arguments = {"y_pred": labels, "y_score": scores}
    return skci.joint_report(
        sample.y,
        **arguments,
        metrics=list(setting.metrics),
        groups=sample.groups,
        confidence_level=JOINT_LEVEL,
        random_state=seed,
    )


@dataclass(frozen=True)
class Method:
    """How intervals are made, and what they are to cover."""

    name: str
    report: Callable[[Setting, Sampled, int], Any]
    fits: int
    """Of each model."""
    of_fold_models: bool = False
    naive: bool = False
    """Whether intervals are two standard errors wide, to either side."""
    every: int = 1
    """Only every so many samples are reported on, where fits are many."""


METHODS = (
    Method("jackknife", jackknife, 45),
    Method("corrected t, 5 folds", corrected_t, 5),
    Method("corrected t, 5 x 5 folds", repeated_corrected_t, 25, every=2),
    Method("t over folds", fold_t, 5),
    Method("mean over folds ± 2 SE", fold_t, 5, naive=True),
    Method("one pooled table", pooled_table, 5, every=2),
    Method("fold models", fold_models, 5, of_fold_models=True, every=4),
)


# --------------------------------------------------------------------------------------
# Simulation
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CrossValidations:
    """Some samples of a setting, and the intervals of every method on them."""

    setting: Setting
    truths: Sequence[float]
    """True values on 4/5 of the rows."""
    block: int
    draws: int
    """Number of samples in this block."""
    methods: tuple[str, ...] = tuple(method.name for method in METHODS)

    @property
    def cost(self) -> float:
        return -self.block  # all settings have their first blocks first

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage of each interval, by sample and method."""
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return [
                {"setting": self.setting.name, "method": method.name, **record}
                for k in range(self.draws)
                for method, record in self._sample(k, rng)
            ]

    def _sample(
        self, k: int, rng: np.random.Generator
    ) -> Iterator[tuple[Method, Record]]:
        setting = self.setting
        sample = setting.population.draw(setting.n, rng)
        seed = int(rng.integers(2**31 // REPEATS - 1))
        for method in METHODS:
            if k % method.every or method.name not in self.methods:
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    report = method.report(setting, sample, seed)
                except ValueError as error:
                    if "two classes" not in str(error):
                        raise
                    continue  # a training set has but one label
                truths = self._truths(method, report, rng)
                record = covered(report, truths, method.naive)
            warned = any(issubclass(each.category, _WARNINGS) for each in caught)
            yield method, {**record, "warned": warned}

    def _truths(
        self, method: Method, report: Any, rng: np.random.Generator
    ) -> dict[tuple[str, ...], float]:
        """True values by label."""
        setting = self.setting
        values = self.truths
        if method.of_fold_models:
            values = self._performance_of_folds(report.estimators, rng)
        return dict(zip(setting.labels, values, strict=True))

    def _performance_of_folds(
        self, models: Mapping[str, Sequence[Any]], rng: np.random.Generator
    ) -> list[float]:
        """Mean performance of models that were fitted in folds."""
        population = self.setting.population
        least, per_unit = _FOLD_ROWS
        rows = max(least / population.rows_per_unit, per_unit * self.setting.n)
        fresh = population.fresh(int(rows), rng)
        values = [
            performance_of_models(by_fold, fresh, self.setting.metrics)
            for by_fold in zip(*models.values(), strict=True)
        ]
        return np.mean(values, axis=0).tolist()


def covered(
    report: Any, truths: Mapping[tuple[str, ...], float], naive: bool
) -> Record:
    """Which intervals of a report and of its differences cover, alone and together."""
    differences = report.differences()
    parts = {
        "single": (report, [truths[label] for label in report]),
        "difference": (differences, [_contrast(x, truths) for x in differences]),
    }
    record: Record = {}
    for name, (each, values) in parts.items():
        covers = _contain(_limits(each.individual(), naive), values)
        together = covers.all() or (
            not naive and _contain(_limits(each, naive), values).all()
        )  # joint intervals contain the individual ones
        record[f"all_{name}s"] = bool(together)
        record[name] = covers.tolist()
        record[f"labels_of_{name}s"] = [", ".join(label) for label in each]
        record[f"estimates_of_{name}s"] = [round(float(x), 6) for x in each.estimates]
        errors = np.sqrt(each.covariance.diagonal())
        record[f"errors_of_{name}s"] = [round(float(x), 6) for x in errors]
        record[f"unknown_{name}s"] = int(np.sum(~each._joint.usable))
    compared = [label[0] in MEANS for label in differences].index(True)
    low, high = _limits(differences.individual(), naive)[compared]
    record["width"] = float(high - low)
    return record


def _limits(report: Any, naive: bool) -> Array:
    """Limits of all intervals."""
    if naive:
        half = NAIVE_QUANTILE * np.sqrt(report.covariance.diagonal())
        centred = np.stack([report.estimates - half, report.estimates + half], axis=1)
        whole = np.array([-np.inf, np.inf])
        return np.where(report._joint.usable[:, np.newaxis], centred, whole)
    return np.array([report[label].confidence_interval() for label in report])


def _contain(limits: Array, values: Sequence[float]) -> Array:
    return (limits[:, 0] <= values) & (values <= limits[:, 1])


def _contrast(label: tuple[str, ...], truths: Mapping[tuple[str, ...], float]) -> float:
    """True value of a difference, by its label."""
    metric, first, second = label
    return truths[first, metric] - truths[second, metric]
