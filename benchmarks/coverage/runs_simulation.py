"""Simulated coverage of means over training seeds, and over readers of cases."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, ndtri

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import (
    JOINT_LEVEL,
    covers_jointly,
    interval_and_warning,
)
from skci.designs import Runs
from skci.inference.runs import united_df

METRICS = ("accuracy", "f1", "roc_auc", "log_loss")
METHODS = ("rows and runs", "rows only", "seeds only")
OF_READERS = ("quadrature", "hillis", "readers as given")
EFFECTS = {"none": 0.0, "small": 0.05, "large": 0.15}
"""Standard deviation between runs of the distance of the labels."""

_PREVALENCE = 0.4
_DISTANCES = {"A": 1.3, "B": 1.1}  # half of that between the labels, by model
_SHARES = (0.5, 0.2, 0.3)  # of the variance of scores: rows, model and row, run and row
_TESTS = {"1": 0.9, "2": 1.1}
_OF_READERS = (0.15, 0.05)  # deviation of readers, and of readers in each test
_NODES = 40


@dataclass(frozen=True)
class Seeds:
    """Runs of two models, with other seeds, on the same rows."""

    n: int
    n_runs: int
    effect: str

    def draw(self, rng: np.random.Generator) -> tuple[Array, dict[str, Array]]:
        """Draw labels, and the scores of each run by model, (S, n)."""
        y = (rng.random(self.n) < _PREVALENCE).astype(int)
        of_rows, of_models, of_runs = np.sqrt(_SHARES)
        deviation, rows = EFFECTS[self.effect], rng.normal(size=self.n)
        scores = {}
        for model, distance in _DISTANCES.items():
            distances = distance + deviation * rng.normal(size=(self.n_runs, 1))
            noise = of_rows * rows + of_models * rng.normal(size=self.n)
            noise = noise + of_runs * rng.normal(size=(self.n_runs, self.n))
            evidence = distances * (2 * y - 1) + noise
            scores[model] = expit(2 * distance * evidence + _PRIOR)
        return y, scores

    def truths(self) -> dict[tuple[str, str], float]:
        """Expected values over seeds of the metrics in the population."""
        return {
            (model, metric): value
            for model in _DISTANCES
            for metric, value in true_values(model, self.effect).items()
        }


_PRIOR = float(np.log(_PREVALENCE / (1 - _PREVALENCE)))


@cache
def true_values(model: str, effect: str) -> dict[str, float]:
    """Expected values of the metrics of a model over seeds, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    nominal = _DISTANCES[model]
    distance = nominal + EFFECTS[effect] * nodes
    cut = -_PRIOR / (2 * nominal)
    hits, alarms = ndtr(distance - cut), ndtr(-distance - cut)
    tp, fp = _PREVALENCE * hits, (1 - _PREVALENCE) * alarms
    values = {
        "accuracy": tp + (1 - _PREVALENCE) - fp,
        "f1": 2 * tp / (tp + fp + _PREVALENCE),
        "roc_auc": ndtr(np.sqrt(2) * distance),
    }
    z = nodes[:, np.newaxis]
    positive = np.logaddexp(0, -2 * nominal * (distance + z) - _PRIOR)
    negative = np.logaddexp(0, 2 * nominal * (z - distance) + _PRIOR)
    losses = _PREVALENCE * positive + (1 - _PREVALENCE) * negative
    values["log_loss"] = weights @ losses
    return {metric: float(value @ weights) for metric, value in values.items()}


@dataclass(frozen=True)
class SeedCoverage:
    """Samples of rows and runs, with intervals of means and of differences."""

    setting: Seeds
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.setting.n_runs * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, warnings and widths by metric, and joint coverage."""
        truths = self.setting.truths()
        differences = {
            (metric, "A", "B"): truths["A", metric] - truths["B", metric]
            for metric in METRICS
        }
        known = truths | differences
        found: dict[Any, list[tuple[Any, bool]]] = {}
        joint: dict[str, list[bool]] = {"joint": [], "joint difference": []}
        for _ in range(self.draws):
            report = self._report(rng)
            compared = report.differences()
            for key, method, interval, warned in _intervals(
                report, compared, self.setting.n_runs
            ):
                found.setdefault((key, method), []).append((interval, warned))
            for of, each in zip(joint, (report, compared), strict=True):
                values = np.array([known[key] for key in each])
                joint[of].append(bool(covers_jointly(each, values)))
        about = {
            "n": self.setting.n,
            "runs": self.setting.n_runs,
            "effect": self.setting.effect,
            "draws": self.draws,
        }
        records = []
        for (key, method), pairs in found.items():
            intervals, warned = zip(*pairs, strict=True)
            low, high = np.array(intervals).T
            of = "difference" if len(key) == 3 else "mean"
            records.append(
                {
                    **about,
                    "of": of,
                    "metric": key[0] if of == "difference" else key[1],
                    "method": method,
                    "coverage": float(
                        np.mean((low <= known[key]) & (known[key] <= high))
                    ),
                    "warned": float(np.mean(warned)),
                    "width": float(np.median(high - low)),
                }
            )
        for of, covered in joint.items():
            coverage = float(np.mean(covered))
            records.append(
                {**about, "of": of, "metric": "all", "method": METHODS[0]}
                | {"coverage": coverage, "warned": 0.0, "width": np.nan}
            )
        return records

    def _report(self, rng: np.random.Generator) -> Any:
        y, scores = self.setting.draw(rng)
        labels = {m: Runs(list((p > 0.5).astype(int))) for m, p in scores.items()}
        runs = {m: Runs(list(p)) for m, p in scores.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return skci.joint_report(y, labels, y_score=runs, metrics=list(METRICS))


def _intervals(
    report: Any, compared: Any, n_runs: int
) -> Iterator[tuple[Any, str, Any, bool]]:
    """Intervals of the first model and of differences, by method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        individual = report.individual(), compared.individual()
    for each in individual:
        for key, components in each.variance_components.items():
            if key[0] == "B":
                continue
            interval, warned = interval_and_warning(each[key])
            yield key, METHODS[0], interval, warned
            estimate = float(each[key])
            models, metric = (key[:1], key[1]) if len(key) == 2 else (key[1:], key[0])
            of_runs = [report.variance_components[m, metric].runs for m in models]
            margins = {
                "rows only": ndtri(0.975) * np.sqrt(components.rows),
                "seeds only": _welch(of_runs, n_runs - 1),
            }
            for method, margin in margins.items():
                yield key, method, (estimate - margin, estimate + margin), False


def _welch(variances: list[float], df: int) -> float:
    """Margin of a mean over seeds, or of the difference of two."""
    total = sum(variances)
    if not total:
        return 0.0
    freedom = total**2 / sum(each**2 / df for each in variances)
    return float(stats.t.ppf((1 + JOINT_LEVEL) / 2, freedom) * np.sqrt(total))


@dataclass(frozen=True)
class Readers:
    """Ratings of the same cases by the same readers, with two tests."""

    n: int
    n_readers: int

    def draw(self, rng: np.random.Generator) -> tuple[Array, dict[str, Array]]:
        """Draw labels, of each as many, and ratings by test, (readers, n)."""
        y = np.arange(self.n) % 2
        of_rows, of_tests, of_readers = np.sqrt(_SHARES)
        skill = _OF_READERS[0] * rng.normal(size=(self.n_readers, 1))
        cases = rng.normal(size=self.n)
        ratings = {}
        for test, distance in _TESTS.items():
            in_test = _OF_READERS[1] * rng.normal(size=(self.n_readers, 1))
            noise = of_rows * cases + of_tests * rng.normal(size=self.n)
            noise = noise + of_readers * rng.normal(size=(self.n_readers, self.n))
            ratings[test] = (distance + skill + in_test) * (2 * y - 1) + noise
        return y, ratings

    @property
    def truth(self) -> float:
        """Difference of the expected areas over readers."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        deviation = float(np.hypot(*_OF_READERS))
        areas = [
            weights @ ndtr(np.sqrt(2) * (distance + deviation * nodes)) / weights.sum()
            for distance in _TESTS.values()
        ]
        return float(areas[0] - areas[1])


@dataclass(frozen=True)
class ReaderCoverage:
    """Samples of cases and readers, with intervals of the difference of two tests."""

    setting: Readers
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.setting.n_readers * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage and widths by the method of the degrees of freedom."""
        found: Mapping[str, list[Any]] = {method: [] for method in OF_READERS}
        for _ in range(self.draws):
            y, ratings = self.setting.draw(rng)
            for df_method in OF_READERS[:2]:
                estimate, rows = self._difference(y, ratings, df_method)
                found[df_method].append(interval_and_warning(estimate)[0])
            margin = ndtri(0.975) * np.sqrt(rows)
            given = float(estimate) - margin, float(estimate) + margin
            found[OF_READERS[2]].append(given)
        records = []
        for method, intervals in found.items():
            low, high = np.array(intervals).T
            covers = (low <= self.setting.truth) & (self.setting.truth <= high)
            records.append(
                {
                    "n": self.setting.n,
                    "readers": self.setting.n_readers,
                    "method": method,
                    "draws": self.draws,
                    "coverage": float(covers.mean()),
                    "width": float(np.median(high - low)),
                }
            )
        return records

    def _difference(
        self, y: Array, ratings: Mapping[str, Array], df_method: str
    ) -> tuple[Any, float]:
        """Difference of the areas, and its variance for readers that are given."""
        options: dict[str, Any] = {"paired": True, "degrees_of_freedom": df_method}
        runs = {test: Runs(list(each), **options) for test, each in ratings.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = skci.joint_report(y, y_score=runs, metrics="roc_auc")
            compared = report.differences(method="delta")
        key = "roc_auc", "1", "2"
        return compared[key], compared.variance_components[key].rows


_SHARES_OF_BOTH = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Variance that is counted in both, over that due to rows."""
_RATIOS = (0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 10.0, 100.0)
"""Variance of seeds over that due to rows."""
_PROBABILITIES = (np.arange(4000) + 0.5) / 4000


def normal_theory(df_method: str, n_runs: int) -> tuple[float, float]:
    """Lowest and highest coverage for normal values of runs.

    The variance due to rows and what is counted in both are known; that between runs is
    a multiple of chi-squared and independent of the mean.
    """
    df = n_runs - 1
    chi = stats.chi2.ppf(_PROBABILITIES, df) / df
    shares = np.linspace(0, 1, 400, endpoint=False)
    coverages = []
    for both in _SHARES_OF_BOTH:

        def total(runs: Array, both: float = both) -> Array:
            return np.maximum(1 - both + runs, np.maximum(1, runs))

        of_runs = shares / (1 - shares)  # over the variance due to rows
        pairs = np.transpose([of_runs, np.full(len(shares), 1 - both)])
        pairs = pairs / total(of_runs)[:, np.newaxis]
        degrees = [united_df(df_method, *pair, df, np.inf) for pair in pairs.tolist()]
        quantiles = stats.t.ppf((1 + JOINT_LEVEL) / 2, np.minimum(degrees, 1e7))
        for seeds in _RATIOS:
            runs = (seeds + both) * chi
            quantile = np.interp(runs, of_runs, quantiles)
            margin = quantile * np.sqrt(total(runs) / (1 + seeds))
            coverages.append(float(np.mean(2 * ndtr(margin) - 1)))
    return min(coverages), max(coverages)
