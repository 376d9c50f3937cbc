"""Streams: misses at any look over a horizon, and widths beside other sequences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
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


@dataclass(frozen=True)
class Setting:
    """What is looked at, and when."""

    name: str
    metrics: tuple[str, ...]
    rules: int
    looks: tuple[int, ...]
    """Units, of which there are looks at each of these or, of two, at all from the
    first to the last in steps of `batch`."""
    batch: int = 0
    differences: bool = False
    groups: bool = False

    @property
    def times(self) -> list[int]:
        """Numbers of units at which there is a look."""
        if not self.batch:
            return list(self.looks)
        return [*range(self.looks[0], self.looks[1] + 1, self.batch)]

    @property
    def horizon(self) -> Any:
        return self.looks if self.batch else list(self.looks)


_BATCHES: dict[str, Any] = {"looks": (200, 2000), "batch": 100}
_FEWER: dict[str, Any] = {"looks": (200, 1000), "batch": 50}
SETTINGS = (
    Setting("accuracy", ("accuracy",), 1, **_BATCHES),
    Setting("accuracy and F1", ("accuracy", "f1"), 3, **_BATCHES),
    Setting("AUC", ("roc_auc",), 2, **_FEWER),
    Setting("log loss", ("neg_log_loss",), 2, **_FEWER),
    Setting("labels and scores", ("accuracy", "f1", "roc_auc"), 2, **_FEWER),
    Setting("differences", ("accuracy", "f1"), 3, **_BATCHES, differences=True),
    Setting("planned looks", ("accuracy", "f1"), 3, (200, 500, 1000, 2000)),
    Setting("groups", ("accuracy", "f1"), 2, (100, 500), 25, groups=True),
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
            metric: [self._value(metric, rule) for rule in range(setting.rules)]
            for metric in setting.metrics
        }
        if setting.differences:
            pairs = ([a - b for a, b in combinations(v, 2)] for v in values.values())
            return np.concatenate([*pairs])
        return np.transpose([*values.values()]).ravel()

    def _value(self, metric: str, rule: int) -> float:
        if metric in _LABELS:
            return float(_LABELS[metric](self.y, self.predictions[rule]))
        return float(_SCORES[metric](self.y, self.scores[rule]))


@cache
def population() -> Population:
    """Rows of groups of one to many rows, which are alike, and three rules."""
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
        return len(self.setting.times) * self.setting.looks[-1] * self.number

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Count the streams with a miss at some look, with and without a horizon."""
        truth = population().truth(self.setting)
        found = [_follow(self.setting, truth, rng) for _ in range(self.number)]
        missed, missed_plain, reports = zip(*found, strict=True)
        over_horizon, plain = (each.critical_value for each in reports[-1])
        return [
            {
                "setting": self.setting.name,
                "draws": self.number,
                "missed": sum(missed),
                "missed_plain": sum(missed_plain),
                "ratio": over_horizon / plain,
            }
        ]


def _follow(
    setting: Setting, truth: Array, rng: np.random.Generator
) -> tuple[bool, bool, tuple[Any, Any]]:
    """Whether an interval misses at some look, over the horizon and without one.

    Also both reports at the last look.
    """
    accumulator = skci.JointAccumulator(setting.metrics, confidence_level=LEVEL)
    missed = missed_plain = False
    seen = 0
    for time in setting.times:
        _update(accumulator, setting, rng, seen, time)
        seen = time
        report = _report(accumulator, setting, setting.horizon)
        # No interval is narrower than that of a single estimate.
        if _misses(report, truth, norm.isf((1 - LEVEL) / 2)):
            if not missed_plain:
                missed_plain = _misses(_report(accumulator, setting), truth)
            if not missed and _misses(report, truth, _least(setting)):
                missed = _misses(report, truth)
    return missed, missed_plain, (report, _report(accumulator, setting))


def _report(
    accumulator: skci.JointAccumulator, setting: Setting, horizon: Any = None
) -> Any:
    report = accumulator.report(horizon=horizon)
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
    names = [f"rule {rule}" for rule in range(setting.rules)]
    columns = {}
    if set(setting.metrics) & set(_LABELS):
        columns["y_pred"] = dict(zip(names, every.predictions[:, rows], strict=False))
    if set(setting.metrics) & set(_SCORES):
        columns["y_score"] = dict(zip(names, every.scores[:, rows], strict=False))
    accumulator.update(every.y[rows], **columns, groups=groups)


@cache
def _least(setting: Setting) -> float:
    return _single(Horizon(setting.looks, bool(setting.batch)))


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
        number = len(population().truth(setting))
        looks = f"{len(setting.times)} looks, {setting.looks[0]} to {setting.looks[-1]}"
        when = f"{looks} {'groups' if setting.groups else 'rows'}"
        name = f"{setting.name}, {number} intervals"
        rows.append(_share(name, when, records.where(setting=setting.name)))
    return [*rows, _share("all", "", records)]


def _share(name: str, when: str, found: Records) -> Row:
    draws = sum(found.column("draws"))
    share, plain = (
        sum(found.column(key)) / draws for key in ("missed", "missed_plain")
    )
    error = monte_carlo_error(share, draws)
    return {
        "setting": name,
        "when": when,
        "streams": f"{draws:,}",
        "any miss": f"{share:.3f}",
        "error": f"{error:.3f}",
        "at most .07": within_error(-share, -0.07, error),
        "without a horizon": f"{plain:.3f}",
        "critical value, ratio": f"{found.mean('ratio'):.2f}",
    }


def widths(number: int, last: int) -> list[Row]:
    """Mean half widths for an accuracy of .9, by rows seen."""
    looks = np.array([n for n in (200, 500, 1000, 2000, 5000, 20_000) if n <= last])
    horizons = [(200, end) for end in (2_000, 20_000) if end <= last]
    quantiles = [_single(Horizon(horizon, True)) for horizon in horizons]
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


def _single(horizon: Horizon) -> float:
    """Critical value of a single estimate over a horizon."""
    return float(HorizonLaw(np.ones((1, 1)), horizon).quantile(LEVEL))


def joint_quantiles() -> list[Row]:
    """Half widths in standard errors of several estimates, by rows seen."""
    rows = []
    for size in (1, 6):
        correlation = np.full((size, size), 0.5) + 0.5 * np.eye(size)
        one = float(skci.critical_value(correlation, LEVEL))
        alpha = (1 - LEVEL) / size
        for last in (2_000, 20_000):
            law = HorizonLaw(correlation, Horizon((200, last), continuous=True))
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
