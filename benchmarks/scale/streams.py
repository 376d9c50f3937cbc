"""Streams: misses at any look over a horizon."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score

import skci
from benchmarks.common.pages import within_error
from benchmarks.coverage.harness import (
    LEVEL,
    Setting,
    covers_jointly,
    monte_carlo_error,
)

_LABELS = {"accuracy": accuracy_score, "f1": f1_score}
_SCORES = {"roc_auc": roc_auc_score, "neg_log_loss": lambda y, p: -log_loss(y, p)}
_GROUPS, _STRENGTHS = 5_000, (1.2, 1.1, 1.0)
_NONE, _PLANNED, _ANY = "without a horizon", "planned looks", "any looks"
_LEAST_DISTANCE = 0.02
_MANY, _FEWER = tuple(range(200, 2001, 100)), tuple(range(200, 1001, 50))


class Population(NamedTuple):
    """Rows in groups, from which samples are drawn with replacement."""

    y: np.ndarray
    scores: np.ndarray
    group: np.ndarray

    def value(self, metric, model):
        """True value, by scikit-learn."""
        scores = self.scores[model]
        answers = scores > 0.5 if metric in _LABELS else scores
        return float((_LABELS | _SCORES)[metric](self.y, answers))


@cache
def population():
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


class Stream(NamedTuple):
    """Metrics that are looked at, and the numbers of rows or groups at each look."""

    name: str
    metrics: tuple[str, ...]
    models: int
    looks: tuple[int, ...] = _MANY
    differences: bool = False
    groups: bool = False

    @property
    def setting(self):
        units = "groups" if self.groups else "rows"
        when = f"{len(self.looks)} looks, {self.looks[0]} to {self.looks[-1]} {units}"
        cells = {"setting": self.name, "when": when}
        return Setting(cells, lambda rng: rng, dict, {"looks": self._followed})

    @property
    def horizons(self):
        """Horizons, from the narrowest intervals to the widest."""
        ends = self.looks[0], self.looks[-1]
        return {_NONE: None, _PLANNED: [*self.looks], _ANY: ends}

    def truths(self):
        return {
            (f"model {model}", metric): population().value(metric, model)
            for model in range(self.models)
            for metric in self.metrics
        }

    def report(self, accumulator, horizon):
        report = accumulator.report(horizon=horizon)
        return report.differences() if self.differences else report

    def _followed(self, rng):
        """Whether all intervals cover at all looks, by horizon."""
        truths, covered = self.truths(), dict.fromkeys(self.horizons, True)
        for accumulator in self.accumulated(rng):
            for name, horizon in self.horizons.items():
                # No interval of a horizon is narrower than those of the ones before.
                if covered[name]:
                    report = self.report(accumulator, horizon)
                    covered[name] = covers_jointly(report, truths)
                    if covered[name]:
                        break
        return covered

    def accumulated(self, rng):
        """Draw rows or groups, and add them until each look."""
        accumulator = skci.JointAccumulator(self.metrics, confidence_level=LEVEL)
        every, seen = population(), 0
        for look in self.looks:
            rows, groups = rng.integers(len(every.y), size=look - seen), None
            if self.groups:
                drawn = rng.integers(_GROUPS, size=look - seen)
                within = [np.flatnonzero(every.group == group) for group in drawn]
                rows = np.concatenate(within)
                groups = np.repeat(np.arange(seen, look), list(map(len, within)))
            scores = {f"model {k}": every.scores[k, rows] for k in range(self.models)}
            columns = {}
            if set(self.metrics) & set(_LABELS):
                columns["y_pred"] = {m: (x > 0.5) * 1 for m, x in scores.items()}
            if set(self.metrics) & set(_SCORES):
                columns["y_score"] = scores
            accumulator.update(every.y[rows], **columns, groups=groups)
            seen = look
            yield accumulator


_BOTH = ("accuracy", "f1")
STREAMS = (
    Stream("accuracy, 1 interval", ("accuracy",), 1),
    Stream("accuracy and F1, 6 intervals", _BOTH, 3),
    Stream("AUC, 2 intervals", ("roc_auc",), 2, _FEWER),
    Stream("log loss, 2 intervals", ("neg_log_loss",), 2, _FEWER),
    Stream("labels and scores, 6 intervals", (*_BOTH, "roc_auc"), 2, _FEWER),
    Stream("differences, 6 intervals", _BOTH, 3, differences=True),
    Stream("few looks, 6 intervals", _BOTH, 3, (200, 500, 1000, 2000)),
    Stream("groups, 4 intervals", _BOTH, 2, tuple(range(100, 501, 25)), groups=True),
)


def misses(simulate):
    """Share of streams with a miss, and critical values over that of a single look."""
    found, rows = simulate([stream.setting for stream in STREAMS], 100), []
    named = {stream.name: stream for stream in STREAMS}
    for values, chosen in found.groups("setting", "when"):
        stream = named[values["setting"]]
        shares = {each["of"]: 1 - each["coverage"] for each in chosen}
        draws = chosen[0]["draws"]
        planned = shares[_PLANNED]
        *_, last = stream.accumulated(np.random.default_rng(0))
        single, *others = (
            float(stream.report(last, horizon).critical_value)
            for horizon in stream.horizons.values()
        )
        error = monte_carlo_error(planned, draws)
        distance = round(abs(planned - 1 + LEVEL), 9)
        rows.append(
            {
                **values,
                "streams": f"{draws:,}",
                "planned looks: any miss": f"{planned:.3f} ({error:.3f})",
                "within .02 of .05": within_error(-distance, -_LEAST_DISTANCE, error),
                "critical value, ratio": f"{others[0] / single:.2f}",
                "any looks: any miss": f"{shares[_ANY]:.3f}",
                "ratio": f"{others[1] / single:.2f}",
                "without a horizon": f"{shares[_NONE]:.3f}",
            }
        )
    return rows
