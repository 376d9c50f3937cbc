"""Streams: misses at any look over a horizon, and widths beside other sequences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row, within_error
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.scale.sequences import betting, empirical_bernstein, normal_mixture
from skci.inference.critical.horizon import Horizon, HorizonLaw

LEVEL = 0.95
_LABELS = {"accuracy": accuracy_score, "f1": f1_score}
_SCORES = {"roc_auc": roc_auc_score, "neg_log_loss": lambda y, p: -log_loss(y, p)}
_GROUPS, _STRENGTHS = 5_000, (1.2, 1.1, 1.0)
_VARIATION = 0.15  # of normal quantiles of reports of a setting


@dataclass(frozen=True)
class Setting:
    """What is looked at, and at which numbers of rows or groups."""

    name: str
    metrics: tuple[str, ...]
    models: int
    looks: tuple[int, ...]
    differences: bool = False
    groups: bool = False

    @property
    def horizons(self) -> dict[str, Any]:
        """Horizons that hold these looks: these alone, and any between them."""
        return {
            "planned": [*self.looks],
            "any": (self.looks[0], self.looks[-1]),
        }


_MANY = tuple(range(200, 2001, 100))
_FEWER = tuple(range(200, 1001, 50))
SETTINGS = (
    Setting("accuracy", ("accuracy",), 1, _MANY),
    Setting("accuracy and F1", ("accuracy", "f1"), 3, _MANY),
    Setting("AUC", ("roc_auc",), 2, _FEWER),
    Setting("log loss", ("neg_log_loss",), 2, _FEWER),
    Setting("labels and scores", ("accuracy", "f1", "roc_auc"), 2, _FEWER),
    Setting("differences", ("accuracy", "f1"), 3, _MANY, differences=True),
    Setting("few looks", ("accuracy", "f1"), 3, (200, 500, 1000, 2000)),
    Setting("groups", ("accuracy", "f1"), 2, tuple(range(100, 501, 25)), groups=True),
)


@dataclass(frozen=True)
class Population:
    """Rows in groups, from which samples are drawn with replacement."""

    y: Array
    scores: Array
    group: Array

    @property
    def predictions(self) -> Array:
        return (self.scores > 0.5).astype(np.int64)

    def truth(self, setting: Setting) -> Array:
        """True values, by scikit-learn, in the order of a report."""
        values = {
            metric: [self._value(metric, model) for model in range(setting.models)]
            for metric in setting.metrics
        }
        if setting.differences:
            pairs = ([a - b for a, b in combinations(v, 2)] for v in values.values())
            return np.concatenate([*pairs])
        return np.transpose([*values.values()]).ravel()

    def _value(self, metric: str, model: int) -> float:
        if metric in _LABELS:
            return float(_LABELS[metric](self.y, self.predictions[model]))
        return float(_SCORES[metric](self.y, self.scores[model]))


@cache
def population() -> Population:
    """Rows of groups of one to many rows, which are alike, and three models."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(_GROUPS), 1 + rng.poisson(3, _GROUPS))
    effect = rng.normal(size=_GROUPS)[group]
    y = (rng.random(len(group)) < expit(effect - 1)).astype(np.int64)
    shared = 0.7 * effect + rng.normal(size=len(group))
    scores = [
        expit(strength * (2 * y - 1) + 0.6 * shared + 0.6 * rng.normal(size=len(y)))
        for strength in _STRENGTHS
    ]
    return Population(y, np.array(scores), group)


@dataclass(frozen=True)
class Streams:
    """Some streams of a setting."""

    setting: Setting
    first: int
    number: int

    @property
    def cost(self) -> float:
        return len(self.setting.looks) * self.setting.looks[-1] * self.number

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Count the streams with a miss at some look, by horizon."""
        truth = population().truth(self.setting)
        missed = dict.fromkeys([None, *self.setting.horizons], 0)
        for _ in range(self.number):
            found, accumulator = _follow(self.setting, truth, rng)
            for horizon in found:
                missed[horizon] += 1
        single, planned, any_look = (
            _report(accumulator, self.setting, horizon).critical_value
            for horizon in missed
        )
        return [
            {
                "setting": self.setting.name,
                "draws": self.number,
                "missed": missed[None],
                "missed_planned": missed["planned"],
                "missed_any": missed["any"],
                "ratio_planned": planned / single,
                "ratio_any": any_look / single,
            }
        ]


def _follow(
    setting: Setting, truth: Array, rng: np.random.Generator
) -> tuple[set[str | None], skci.JointAccumulator]:
    """Horizons with an interval that misses at some look; None is that without one.

    Also what was accumulated until the last look.
    """
    accumulator = skci.JointAccumulator(setting.metrics, confidence_level=LEVEL)
    missed: set[str | None] = set()
    seen = 0
    for look in setting.looks:
        _update(accumulator, setting, rng, seen, look)
        seen = look
        for horizon in (None, *setting.horizons):
            if horizon in missed:
                continue
            report = _report(accumulator, setting, horizon)
            # No interval of a horizon is narrower than those of the ones before.
            least = _least(setting, horizon)
            if not (_misses(report, truth, least) and _misses(report, truth)):
                break
            missed.add(horizon)
    return missed, accumulator


def _report(
    accumulator: skci.JointAccumulator, setting: Setting, horizon: str | None
) -> Any:
    looks = None if horizon is None else setting.horizons[horizon]
    report = accumulator.report(horizon=looks)
    return report.differences() if setting.differences else report


def _update(
    accumulator: skci.JointAccumulator,
    setting: Setting,
    rng: np.random.Generator,
    seen: int,
    until: int,
) -> None:
    """Draw rows, or groups, and add them."""
    every = population()
    rows, groups = rng.integers(len(every.y), size=until - seen), None
    if setting.groups:
        drawn = rng.integers(_GROUPS, size=until - seen)
        within = [np.flatnonzero(every.group == group) for group in drawn]
        rows = np.concatenate(within)
        groups = np.repeat(np.arange(seen, until), list(map(len, within)))
    names = [f"model {model}" for model in range(setting.models)]
    columns = {}
    if set(setting.metrics) & set(_LABELS):
        columns["y_pred"] = dict(zip(names, every.predictions[:, rows], strict=False))
    if set(setting.metrics) & set(_SCORES):
        columns["y_score"] = dict(zip(names, every.scores[:, rows], strict=False))
    accumulator.update(every.y[rows], **columns, groups=groups)


@cache
def _least(setting: Setting, horizon: str | None) -> float:
    """Normal quantile that is below that of a report, but for rare ones."""
    if horizon is None:
        return float(norm.isf((1 - LEVEL) / 2))
    law = _law(_correlation(setting), setting.horizons[horizon])
    return float(law.quantile(LEVEL)) - _VARIATION


@cache
def _correlation(setting: Setting) -> Array:
    """Correlation of the estimates, from many rows."""
    accumulator = skci.JointAccumulator(setting.metrics)
    _update(accumulator, setting, np.random.default_rng(0), 0, 10_000)
    correlation: Array = _report(accumulator, setting, None).correlation
    return correlation


def _expected(setting: Setting) -> float:
    """Share of normal paths beyond the limits for any looks at one of the looks."""
    laws = (_law(_correlation(setting), h) for h in setting.horizons.values())
    planned, any_look = laws
    return float(planned.sf(any_look.quantile(LEVEL)))


def _law(correlation: Array, looks: Any) -> HorizonLaw:
    return HorizonLaw(correlation, Horizon(tuple(looks), isinstance(looks, tuple)))


def _misses(report: Any, truth: Array, normal_quantile: float | None = None) -> bool:
    """Whether an interval excludes the truth, for a quantile or that of the report."""
    joint = report._joint
    if normal_quantile is None:
        limits = joint.intervals
    else:
        every = np.arange(len(truth))
        limits = joint.limits_at_normal_quantile(every, normal_quantile, joint.z)
    return bool(((truth < limits[:, 0]) | (truth > limits[:, 1])).any())


def simulate(runner: Runner, number: int) -> Records:
    """Follow a number of streams of each setting."""
    each = min(number, 20)
    simulations = [
        Streams(setting, first, each)
        for setting in SETTINGS
        for first in range(0, number, each)
    ]
    return runner.run(simulations, "streams")


def misses(records: Records) -> list[Row]:
    """Share of streams with a miss, by setting and in all."""
    rows = []
    for setting in SETTINGS:
        number, looks = len(population().truth(setting)), setting.looks
        units = "groups" if setting.groups else "rows"
        when = f"{len(looks)} looks, {looks[0]} to {looks[-1]} {units}"
        name = f"{setting.name}, {number} intervals"
        found = records.where(setting=setting.name)
        rows.append(_share(name, when, found, _expected(setting)))
    mean = fmean(_expected(setting) for setting in SETTINGS)
    return [*rows, _share("all", "", records, mean)]


def _share(name: str, when: str, found: Records, expected: float) -> Row:
    draws = sum(found.column("draws"))
    single, planned, any_look = (
        sum(found.column(key)) / draws
        for key in ("missed", "missed_planned", "missed_any")
    )
    error = monte_carlo_error(planned, draws)
    distance = round(abs(planned - 1 + LEVEL), 9)
    return {
        "setting": name,
        "when": when,
        "streams": f"{draws:,}",
        "planned looks: any miss": f"{planned:.3f} ({error:.3f})",
        "within .02 of .05": within_error(-distance, -0.02, error),
        "critical value, ratio": f"{found.mean('ratio_planned'):.2f}",
        "any looks: any miss": (
            f"{any_look:.3f} ({monte_carlo_error(any_look, draws):.3f})"
        ),
        "expected": f"{expected:.3f}",
        "ratio": f"{found.mean('ratio_any'):.2f}",
        "without a horizon": f"{single:.3f}",
    }


def widths(number: int, last: int) -> list[Row]:
    """Mean half widths for an accuracy of .9, by rows seen."""
    looks = np.array([n for n in (200, 500, 1000, 2000, 5000, 20_000) if n <= last])
    horizons = [(200, end) for end in (2_000, 20_000) if end <= last]
    one = np.ones((1, 1))
    quantiles = [float(_law(one, each).quantile(LEVEL)) for each in horizons]
    z, alpha = float(norm.isf((1 - LEVEL) / 2)), 1 - LEVEL
    rng = np.random.default_rng(0)
    halves: dict[str, list[Array]] = {}
    for _ in range(number):
        x = (rng.random(last) < 0.9).astype(float)
        p = np.cumsum(x)[looks - 1] / looks
        errors = np.sqrt(p * (1 - p) / looks)
        over = {
            f"horizon {horizon}": np.where(looks <= horizon[1], c * errors, np.nan)
            for horizon, c in zip(horizons, quantiles, strict=True)
        }
        for name, half in {
            "one look": z * errors,
            **over,
            "normal mixture": normal_mixture(looks, alpha, looks[0]) * errors,
            "betting": betting(x, looks, alpha),
            "empirical Bernstein": empirical_bernstein(x, looks, alpha),
        }.items():
            halves.setdefault(name, []).append(half)
    means = {name: np.mean(each, axis=0) for name, each in halves.items()}
    one = means["one look"]
    return [
        {
            "rows": f"{n:,}",
            **{
                name: "" if np.isnan(h[k]) else f"{h[k]:.4f} ({h[k] / one[k]:.2f})"
                for name, h in means.items()
            },
        }
        for k, n in enumerate(looks.tolist())
    ]


def joint_quantiles() -> list[Row]:
    """Half widths in standard errors of several estimates, by rows seen."""
    rows = []
    for size in (1, 6):
        correlation = np.full((size, size), 0.5) + 0.5 * np.eye(size)
        one = float(skci.inference.critical_value(correlation, LEVEL))
        alpha = (1 - LEVEL) / size
        for last in (2_000, 20_000):
            law = _law(correlation, (200, last))
            at_ends = normal_mixture(np.array([200, last]), alpha, 200)
            rows.append(
                {
                    "estimates": str(size),
                    "horizon": f"(200, {last})",
                    "one look": f"{one:.2f}",
                    "over the horizon": f"{law.quantile(LEVEL):.2f}",
                    "normal mixture at the first look": f"{at_ends[0]:.2f}",
                    "at the last": f"{at_ends[1]:.2f}",
                }
            )
    return rows
