"""Simulated decisions: differences that hold, the best rule among those kept."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from _reports import JOINT_LEVEL, holds, report_of, truths_of
from _resume import Record
from _settings import JointSetting
from numpy.typing import NDArray
from scipy.stats import norm

import skci
from skci.inference.intervals.score import score_roots
from skci.measures.registry import MEASURES

Array = NDArray[Any]

METHODS = ("delta", "blurred", "score")


@dataclass(frozen=True)
class DecisionPart:
    """Comparisons on samples from one setting of several rules."""

    chapter: str
    setting: JointSetting
    draws: int
    methods: tuple[str, ...] = METHODS

    @property
    def cost(self) -> float:
        return self.draws * len(self.methods) * 4**self.setting.rules

    def records(self, rng: np.random.Generator) -> list[Record]:
        """How often all differences hold, and the best rule is said to be possible."""
        outcomes, p = self.setting.outcomes()
        truths = truths_of(self.setting)
        differences = _differences(truths)
        best = _best(self.setting, truths)
        tables = rng.multinomial(self.setting.n, p, size=self.draws)
        roots = nulls = np.full((len(differences), self.draws), np.nan)
        if "score" in self.methods:
            roots = _roots(self.setting, tables, differences)
            nulls = _roots(self.setting, tables, np.zeros(len(differences)))
        held = dict.fromkeys(self.methods, 0)
        kept = {method: np.zeros(len(self.setting.metrics)) for method in self.methods}
        for counts, root, null in zip(tables, roots.T, nulls.T, strict=True):
            rows = np.repeat(outcomes, counts, axis=0)
            for method in self.methods:
                report = report_of(self.setting, rows, method)
                if method == "score" and not np.isnan(root + null).any():
                    held[method] += _accepts(report, np.abs(root).max())
                    kept[method] += _shares_above(report, best, null)
                else:
                    held[method] += holds(report.differences(), differences)
                    kept[method] += _shares_kept(report, best)
        return [
            {
                "chapter": self.chapter,
                "n": self.setting.n,
                "prevalence": self.setting.prevalence,
                "quality": self.setting.quality,
                "alike": self.setting.spread == 1,
                "metrics": " ".join(self.setting.metrics),
                "method": method,
                "confidence_level": JOINT_LEVEL,
                "draws": self.draws,
                "coverage": held[method] / self.draws,
                "best": float(kept[method].min() / self.draws),
                "setting": json.dumps(asdict(self.setting)),
            }
            for method in self.methods
        ]


def _roots(setting: JointSetting, tables: Array, nulls: Array) -> Array:
    """Signed roots of the score statistics of all differences, (differences, draws).

    A score interval holds a null exactly if the root is not beyond the critical value.
    NaN where it was not found.
    """
    outcomes, _ = setting.outcomes()
    once = report_of(setting, outcomes, "score").differences()
    roots = [
        score_roots(
            [own.functional] * len(tables),
            tables @ (own.index[:, np.newaxis] == np.arange(own.size)),
            np.full(len(tables), null),
            np.tile(own.trait.bounds, (len(tables), 1)),
        )
        for own, null in zip(once._joint.parameters, nulls, strict=True)
    ]
    return np.array(roots)


def _accepts(report: skci.JointReport, root: float) -> bool:
    """Whether a root is not beyond the critical value, which is above the normal."""
    if root <= norm.isf((1 - JOINT_LEVEL) / 2):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(root <= report.differences().critical_value)


def _differences(truths: Array) -> Array:
    """True differences in the order of a report: by metric, each pair once."""
    return np.array(
        [first - second for own in truths.T for first, second in combinations(own, 2)]
    )


def _best(setting: JointSetting, truths: Array) -> Array:
    """Which rules are the best in the population, shape (rules, metrics)."""
    signs = [1 if MEASURES[name].greater_is_better else -1 for name in setting.metrics]
    merits = truths * signs
    best: Array = merits >= merits.max(axis=0) - 1e-12
    return best


def _shares_above(report: skci.JointReport, best: Array, nulls: Array) -> Array:
    """Share of the best rules that are possibly the best, from roots at no difference.

    A rule is kept if no difference to another one is so far below zero as its one-sided
    critical value, which is at least the normal one.
    """
    rules, metrics = best.shape
    pairs = list(combinations(range(rules), 2))
    shares = np.zeros(metrics)
    for m, metric in enumerate(report.metrics):
        own = nulls[m * len(pairs) : (m + 1) * len(pairs)]
        correlation = None
        for rule in np.flatnonzero(best[:, m]):
            mine = [k for k, pair in enumerate(pairs) if rule in pair]
            signs = np.array([1 if pairs[k][0] == rule else -1 for k in mine])
            lowest = (signs * own[mine]).min()
            if lowest > -norm.isf(1 - JOINT_LEVEL):
                shares[m] += 1
                continue
            if correlation is None:
                correlation = report.differences(metrics=metric).correlation
            reach = skci.critical_value(
                correlation[np.ix_(mine, mine)] * np.outer(signs, signs),
                JOINT_LEVEL,
                alternative="less",
            )
            shares[m] += lowest > -reach
    above: Array = shares / best.sum(axis=0)
    return above


def _shares_kept(report: skci.JointReport, best: Array) -> Array:
    """Share of the best rules that are said to be possibly the best, by metric."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = [report.best(metric).rules for metric in report.metrics]
    said = np.array([[rule in rules for rules in kept] for rule in report.rules])
    shares: Array = (said & best).sum(axis=0) / best.sum(axis=0)
    return shares
