"""Simulated coverage: one model in one setting, joint reports, and decisions."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import norm

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.populations import (
    JointSetting,
    Setting,
    distinct_tables,
    main_grid,
)
from benchmarks.coverage.vectorized import (
    Batch,
    disagreements,
    estimate,
    methods_of,
)
from skci.inference.intervals.score import score_roots
from skci.measures.registry import MEASURES

LEVELS = (0.9, 0.95, 0.99)
JOINT_LEVEL = 0.95
JOINT_METHODS = ("delta", "blurred", "score")
METRICS = (
    "accuracy",
    "precision",
    "recall",
    "specificity",
    "f0.5",
    "f1",
    "f2",
    "jaccard",
    "balanced_accuracy",
    "matthews_corrcoef",
    "cohen_kappa",
    "g_mean",
    "lift",
    "cosine",
)

_WIDTH_DRAWS = 200
"""Samples of a setting whose interval widths are compared with Pearson's."""


@dataclass(frozen=True)
class SingleModel:
    """Samples from one setting; by default all methods of each metric."""

    chapter: str
    setting: Setting
    draws: int
    metrics: tuple[str, ...] = METRICS
    methods: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws * len(self.metrics)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage of every metric, method and level."""
        tables, times = distinct_tables(self.setting, self.draws, rng)
        records = []
        for metric in self.metrics:
            batch, counts = _defined(metric, self.setting, tables, times)
            if not len(counts):
                continue
            subset = rng.choice(len(counts), _WIDTH_DRAWS, p=counts / counts.sum())
            for level in LEVELS:
                reference = batch.take(subset).pearson_limits(level)
                for method in self.methods or methods_of(metric):
                    limits = batch.limits(method, level)
                    records.append(
                        {
                            "chapter": self.chapter,
                            "metric": metric,
                            "n": self.setting.n,
                            "prevalence": self.setting.prevalence,
                            "false_negative_rate": self.setting.false_negative_rate,
                            "false_positive_rate": self.setting.false_positive_rate,
                            "quality": self.setting.quality,
                            "method": method,
                            "confidence_level": level,
                            "truth": batch.truth,
                            "draws": int(counts.sum()),
                            "undefined": 1 - float(counts.sum()) / self.draws,
                            "coverage": _share(batch.covers(limits), counts),
                            **_degeneracies(limits, batch.measure.bounds, counts),
                            "relative_width": _relative_width(
                                limits[subset], reference
                            ),
                            "setting": json.dumps(asdict(self.setting)),
                        }
                    )
        return records


def _defined(
    metric: str, setting: Setting, tables: Array, times: Array
) -> tuple[Batch, Array]:
    """Tables at which a metric is defined, and how often each was drawn."""
    defined = ~np.isnan(estimate(metric, tables.astype(float)))
    truth = float(estimate(metric, setting.cells))
    return Batch(metric, tables[defined], truth), times[defined]


def _share(selected: Array, times: Array) -> float:
    return float(times[selected].sum() / times.sum())


def _degeneracies(limits: Array, bounds: tuple[float, float], times: Array) -> Record:
    """Shares of intervals with zero width, the whole range, or limits outside it."""
    low, high = limits.T
    return {
        "zero_width": _share(~(high > low), times),
        "whole_range": _share((low == bounds[0]) & (high == bounds[1]), times),
        "outside": _share((low < bounds[0]) | (high > bounds[1]), times),
    }


def _relative_width(limits: Array, reference: Array) -> float:
    """Ratio of mean widths to the reference, where both are finite."""
    widths = np.hstack([np.diff(limits), np.diff(reference)])
    width, unit = widths[np.isfinite(widths).all(axis=1)].sum(axis=0)
    return float(width / unit) if unit else np.nan


def check_batch(seed: int) -> None:
    """Exit if the public API gives other intervals than `Batch`."""
    rng = np.random.default_rng(seed)
    wrong = []
    for setting in [*main_grid()][::17]:
        tables, times = distinct_tables(setting, 3, rng)
        for metric in METRICS:
            batch, _ = _defined(metric, setting, tables, times)
            for method in methods_of(metric):
                for level in LEVELS:
                    wrong += disagreements(batch, method, level)
    if wrong:
        raise SystemExit("\n".join(wrong))


def report_of(
    setting: JointSetting, rows: Array, method: str
) -> skci.reports.JointReport:
    """Report on rows of a truth and the predictions of each model."""
    models = {f"model {k}": rows[:, 1 + k] for k in range(setting.models)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skci.joint_report(
            rows[:, 0],
            models,
            metrics=list(setting.metrics),
            confidence_level=JOINT_LEVEL,
            method=method,
        )


def true_values(setting: JointSetting) -> Array:
    """Measures of the population, of shape (models, metrics)."""
    outcomes, p = setting.outcomes()
    codes = 2 * outcomes[:, :1] + outcomes[:, 1:]
    matrices = [np.bincount(model, weights=p, minlength=4) for model in codes.T]
    cells = np.array(matrices)[:, [3, 1, 2, 0]]
    return np.column_stack([estimate(name, cells) for name in setting.metrics])


def covers(report: Any, truths: Array) -> Array:
    """Whether each interval of a report covers the true value."""
    low, high = np.array([report[key].confidence_interval() for key in report]).T
    return (low <= truths) & (truths <= high)


def interval_and_warning(estimate: Any) -> tuple[Any, bool]:
    """Interval of an estimate, and whether it warns that it may be too narrow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate.confidence_interval(), bool(estimate.warnings)


def covers_jointly(report: Any, truths: Array) -> bool:
    """Whether all intervals of a report cover.

    Joint intervals contain the individual ones: where those cover, no critical value is
    computed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        individual = covers(report.individual(), truths).all()
        return bool(individual or covers(report, truths).all())


@dataclass(frozen=True)
class SeveralModels:
    """Joint reports, or comparisons, on samples from one setting of several models."""

    chapter: str
    setting: JointSetting
    draws: int
    methods: tuple[str, ...] = JOINT_METHODS

    @property
    def cost(self) -> float:
        return self.draws * len(self.methods) * 2**self.setting.models

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Joint coverage by method."""
        outcomes, p = self.setting.outcomes()
        truths = true_values(self.setting).ravel()
        covered = dict.fromkeys(self.methods, 0)
        for counts in rng.multinomial(self.setting.n, p, size=self.draws):
            rows = np.repeat(outcomes, counts, axis=0)
            for method in self.methods:
                report = report_of(self.setting, rows, method)
                covered[method] += covers_jointly(report, truths)
        return [self._record(method, covered[method]) for method in self.methods]

    def _record(self, method: str, covered: int, **shares: float) -> Record:
        return {
            "chapter": self.chapter,
            "n": self.setting.n,
            "prevalence": self.setting.prevalence,
            "quality": self.setting.quality,
            "equal": self.setting.spread == 1,
            "models": self.setting.models,
            "metrics": " ".join(self.setting.metrics),
            "method": method,
            "confidence_level": JOINT_LEVEL,
            "draws": self.draws,
            "coverage": covered / self.draws,
            **shares,
            "setting": json.dumps(asdict(self.setting)),
        }


@dataclass(frozen=True)
class Decisions(SeveralModels):
    """All differences, and the set of possibly best models."""

    @property
    def cost(self) -> float:
        return self.draws * len(self.methods) * 4**self.setting.models

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Joint coverage of all differences, and of the best model, by method."""
        outcomes, p = self.setting.outcomes()
        truths = true_values(self.setting)
        differences = np.array(
            [a - b for column in truths.T for a, b in combinations(column, 2)]
        )
        best = _best(self.setting, truths)
        tables = rng.multinomial(self.setting.n, p, size=self.draws)
        roots = nulls = np.full((len(differences), self.draws), np.nan)
        if "score" in self.methods:
            roots = _score_roots(self.setting, tables, differences)
            nulls = _score_roots(self.setting, tables, np.zeros(len(differences)))
        covered = dict.fromkeys(self.methods, 0)
        kept = {method: np.zeros(len(self.setting.metrics)) for method in self.methods}
        for counts, root, null in zip(tables, roots.T, nulls.T, strict=True):
            rows = np.repeat(outcomes, counts, axis=0)
            for method in self.methods:
                report = report_of(self.setting, rows, method)
                if method == "score" and not np.isnan(root + null).any():
                    covered[method] += _accepts(report, np.abs(root).max())
                    kept[method] += _kept_by_roots(report, best, null)
                else:
                    differences_of = report.differences()
                    covered[method] += covers_jointly(differences_of, differences)
                    kept[method] += _kept(report, best)
        return [
            self._record(
                method, covered[method], best=float(kept[method].min() / self.draws)
            )
            for method in self.methods
        ]


def _score_roots(setting: JointSetting, tables: Array, nulls: Array) -> Array:
    """Signed roots of the score statistics of all differences, (differences, draws).

    A score interval contains a null value if and only if the absolute root is at most
    the critical value. NaN where the root was not found.
    """
    outcomes, _ = setting.outcomes()
    report = report_of(setting, outcomes, "score").differences()
    roots = [
        score_roots(
            [parameter.functional] * len(tables),
            tables @ (parameter.index[:, np.newaxis] == np.arange(parameter.size)),
            np.full(len(tables), null),
            np.tile(parameter.trait.bounds, (len(tables), 1)),
        )
        for parameter, null in zip(report._joint.parameters, nulls, strict=True)
    ]
    return np.array(roots)


def _accepts(report: skci.reports.JointReport, root: float) -> bool:
    """Whether a root is at most the joint critical value."""
    if root <= norm.isf((1 - JOINT_LEVEL) / 2):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(root <= report.differences().critical_value)


def _best(setting: JointSetting, truths: Array) -> Array:
    """Models that are the best in the population, of shape (models, metrics)."""
    signs = [1 if MEASURES[name].greater_is_better else -1 for name in setting.metrics]
    values = truths * signs
    return values >= values.max(axis=0) - 1e-12


def _kept_by_roots(
    report: skci.reports.JointReport, best: Array, nulls: Array
) -> Array:
    """Share of the best models that are possibly the best, from roots at zero.

    A model is kept if no root of a difference to another model is below minus the
    one-sided critical value, which is at least the normal quantile.
    """
    models, metrics = best.shape
    pairs = list(combinations(range(models), 2))
    shares = np.zeros(metrics)
    for m, metric in enumerate(report.metrics):
        roots = nulls[m * len(pairs) : (m + 1) * len(pairs)]
        correlation = None
        for model in np.flatnonzero(best[:, m]):
            columns = [k for k, pair in enumerate(pairs) if model in pair]
            signs = np.array([1 if pairs[k][0] == model else -1 for k in columns])
            lowest = (signs * roots[columns]).min()
            if lowest > -norm.isf(1 - JOINT_LEVEL):
                shares[m] += 1
                continue
            if correlation is None:
                correlation = report.differences(metrics=metric).correlation
            limit = skci.inference.critical_value(
                correlation[np.ix_(columns, columns)] * np.outer(signs, signs),
                JOINT_LEVEL,
                alternative="less",
            )
            shares[m] += lowest > -limit
    return shares / best.sum(axis=0)


def _kept(report: skci.reports.JointReport, best: Array) -> Array:
    """Share of the best models that the report keeps as possibly best, by metric."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = [report.best(metric).models for metric in report.metrics]
    reported = np.array(
        [[model in models for models in kept] for model in report.models]
    )
    return (reported & best).sum(axis=0) / best.sum(axis=0)
