"""Simulated coverage: of every metric in one setting, and of reports."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from _batch import Batch, disagreements, methods_of
from _reports import JOINT_LEVEL, holds, report_of, truths_of
from _resume import Record
from _settings import JointSetting, Setting, distinct_tables, main_grid
from numpy.typing import NDArray

from skci.measures.functional import CellFunctional
from skci.measures.registry import MEASURES

Array = NDArray[Any]

LEVELS = (0.9, 0.95, 0.99)
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
JOINT_METHODS = ("delta", "blurred", "score")

_FOR_LENGTH = 200
"""Samples of a setting whose intervals are compared with Pearson's."""


# --------------------------------------------------------------------------------------
# One rule
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SinglePart:
    """Samples from one setting; all methods of a metric where none are named."""

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
        found = []
        for metric in self.metrics:
            batch, often = _defined(metric, self.setting, tables, times)
            if not len(often):
                continue
            some = rng.choice(len(often), _FOR_LENGTH, p=often / often.sum())
            for level in LEVELS:
                yardstick = batch.take(some).pearson_limits(level)
                for method in self.methods or methods_of(metric):
                    limits = batch.limits(method, level)
                    found.append(
                        {
                            "chapter": self.chapter,
                            "metric": metric,
                            "n": self.setting.n,
                            "prevalence": self.setting.prevalence,
                            "miss_rate": self.setting.miss,
                            "false_positive_rate": self.setting.alarm,
                            "quality": self.setting.quality,
                            "method": method,
                            "confidence_level": level,
                            "truth": batch.truth,
                            "draws": int(often.sum()),
                            "undefined": 1 - float(often.sum()) / self.draws,
                            "coverage": _share(batch.inside(limits), often),
                            **_faults(limits, batch.measure.bounds, often),
                            "relative_length": _relative_length(
                                limits[some], yardstick
                            ),
                            "setting": json.dumps(asdict(self.setting)),
                        }
                    )
        return found


def _defined(
    metric: str, setting: Setting, tables: Array, times: Array
) -> tuple[Batch, Array]:
    """Tables at which a metric is defined, and how often each was drawn."""
    functional = CellFunctional(MEASURES[metric].function)
    defined = ~np.isnan(functional.estimate(tables.astype(float)))
    truth = float(functional.estimate(setting.cells))
    return Batch(metric, tables[defined], truth), times[defined]


def _share(which: Array, times: Array) -> float:
    return float(times[which].sum() / times.sum())


def _faults(limits: Array, bounds: tuple[float, float], times: Array) -> Record:
    """Share of intervals that have no width, say nothing, or leave the range."""
    low, high = limits.T
    return {
        "zero_width": _share(~(high > low), times),
        "whole_range": _share((low == bounds[0]) & (high == bounds[1]), times),
        "outside": _share((low < bounds[0]) | (high > bounds[1]), times),
    }


def _relative_length(limits: Array, yardstick: Array) -> float:
    """Mean length over that of the yardstick, where both are finite."""
    lengths = np.hstack([np.diff(limits), np.diff(yardstick)])
    own, other = lengths[np.isfinite(lengths).all(axis=1)].sum(axis=0)
    return float(own / other) if other else np.nan


def check_batch(seed: int) -> None:
    """Stop if a user would get other intervals than are certified here."""
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


# --------------------------------------------------------------------------------------
# Several rules
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointPart:
    """Reports on samples from one setting of several rules."""

    chapter: str
    setting: JointSetting
    draws: int
    methods: tuple[str, ...] = JOINT_METHODS

    @property
    def cost(self) -> float:
        return self.draws * len(self.methods) * 2**self.setting.rules

    def records(self, rng: np.random.Generator) -> list[Record]:
        """How often all intervals of a report hold at once, by method."""
        outcomes, p = self.setting.outcomes()
        truths = truths_of(self.setting).ravel()
        held = dict.fromkeys(self.methods, 0)
        for counts in rng.multinomial(self.setting.n, p, size=self.draws):
            rows = np.repeat(outcomes, counts, axis=0)
            for method in self.methods:
                held[method] += holds(report_of(self.setting, rows, method), truths)
        return [
            {
                "chapter": self.chapter,
                "n": self.setting.n,
                "prevalence": self.setting.prevalence,
                "quality": self.setting.quality,
                "rules": self.setting.rules,
                "metrics": " ".join(self.setting.metrics),
                "method": method,
                "confidence_level": JOINT_LEVEL,
                "draws": self.draws,
                "coverage": held[method] / self.draws,
                "setting": json.dumps(asdict(self.setting)),
            }
            for method in self.methods
        ]
