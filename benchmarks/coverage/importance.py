"""Coverage of permutation importance, the table of the page on it, which is printed."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import skci
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.leaderboard import covers
from benchmarks.coverage.simulation import JOINT_LEVEL, covers_jointly

METRICS = {"accuracy": "accuracy", "roc_auc": "AUC", "brier_score": "Brier score"}
SETTINGS = ((100, 5), (200, 2), (200, 10), (1000, 5))
"""Numbers of rows, and of permutations of each feature."""

_COVARIANCE = np.where(np.eye(3), 1.0, 0.5)
_OF_TRUTH = np.array([1.5, 1.0, 0.5])  # coefficients of the log odds
_OF_MODEL = np.array([1.4, 1.2, 0.3])


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, and print the table."""
    size = sizes(options.quick, draws=(400, 5), settings=(len(SETTINGS), 1))
    draws = options.draws or size.draws
    runner = Runner(work, options.seed, options.jobs, ["coverage/importance"])
    settings = [Importances(*each, draws) for each in SETTINGS[: size.settings]]
    records = runner.run(settings, "importance")
    error = monte_carlo_error(JOINT_LEVEL, draws)
    caption = f"{draws} samples; the Monte Carlo error of .95 is {error:.3f}."
    show(Section("Importance", caption, [[_row(records, each) for each in settings]]))


@dataclass(frozen=True)
class Importances:
    """Importances of the correlated features of a fixed model."""

    n: int
    n_repeats: int
    draws: int

    @property
    def cost(self) -> float:
        return self.n * self.n_repeats * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage by feature and metric, standard errors beside errors, and all."""
        truths = true_importances()
        root = np.linalg.cholesky(_COVARIANCE)
        covered, jointly, errors, estimates = [], [], [], []
        for _ in range(self.draws):
            X = rng.normal(size=(self.n, 3)) @ root.T
            y = (rng.random(self.n) < expit(X @ _OF_TRUTH)).astype(int)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = skci.importance_report(
                    _MODEL,
                    X,
                    y,
                    metrics=[*METRICS],
                    n_repeats=self.n_repeats,
                    random_state=int(rng.integers(1 << 31)),
                )
                values = np.array([truths[key] for key in report])
                covered.append(covers(report.individual(), values))
                jointly.append(covers_jointly(report, values))
                errors.append([report[key].standard_error for key in report])
                estimates.append(report.estimates)
        ratios = np.mean(errors, axis=0) / np.std(estimates, axis=0, ddof=1)
        about = {"n": self.n, "n_repeats": self.n_repeats}
        records = [
            {**about, "metric": metric, "coverage": float(coverage), "ratio": ratio}
            for (_, metric), coverage, ratio in zip(
                report, np.mean(covered, axis=0), ratios.tolist(), strict=True
            )
        ]
        every = {"metric": "all", "coverage": float(np.mean(jointly)), "ratio": np.nan}
        return [*records, about | every]


_MODEL: Any = SimpleNamespace(
    classes_=np.array([0, 1]),
    predict=lambda X: (X @ _OF_MODEL > 0).astype(int),
    predict_proba=lambda X: np.transpose([expit(-X @ _OF_MODEL), expit(X @ _OF_MODEL)]),
)


@cache
def true_importances() -> dict[tuple[str, str], float]:
    """Loss of each metric in the population, by the permutation of each feature."""
    intact = _metrics()
    found = {}
    for k in range(3):
        changed = _metrics(k)
        for metric, sign in zip(METRICS, (1, 1, -1), strict=True):
            found[str(k), metric] = sign * (intact[metric] - changed[metric])
    return found


def _metrics(permuted: int | None = None) -> dict[str, float]:
    """Metrics in the population, by quadrature over the score and the log odds."""
    among, with_truth = _COVARIANCE.copy(), _COVARIANCE.copy()
    if permuted is not None:  # it is independent of other features and of the truth
        among[permuted] = among[:, permuted] = with_truth[permuted] = 0
        among[permuted, permuted] = 1
    variance = _OF_MODEL @ among @ _OF_MODEL
    of_both = _OF_MODEL @ with_truth @ _OF_TRUTH
    slope = of_both / variance
    rest = _OF_TRUTH @ _COVARIANCE @ _OF_TRUTH - slope * of_both
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    score = np.linspace(-9, 9, 4001) * np.sqrt(variance)
    density = norm.pdf(score, scale=np.sqrt(variance))
    density /= density.sum()
    odds = slope * score[:, np.newaxis] + np.sqrt(rest) * nodes
    positive = expit(odds) @ weights / weights.sum()
    of_positive, of_negative = density * positive, density * (1 - positive)
    below = np.cumsum(of_negative) - of_negative / 2
    probability = expit(score)
    return {
        "accuracy": of_positive @ (score > 0) + of_negative @ (score <= 0),
        "roc_auc": of_positive @ below / (of_positive.sum() * of_negative.sum()),
        "brier_score": of_positive @ (1 - probability) ** 2
        + of_negative @ probability**2,
    }


def _row(records: Records, setting: Importances) -> Row:
    """Least and greatest coverage over features, by metric."""
    chosen = records.where(n=setting.n, n_repeats=setting.n_repeats)
    (every,) = chosen.where(metric="all")
    row = {"n, permutations": f"{setting.n:,}, {setting.n_repeats}"}
    for metric, name in METRICS.items():
        row[name] = _range(chosen.where(metric=metric).column("coverage"))
    ratios = [each for metric in METRICS for each in chosen.where(metric=metric)]
    row["ratio"] = _range([each["ratio"] for each in ratios])
    row["all nine jointly"] = f"{every['coverage']:.3f}"
    return row


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.3f}", f"{max(values):.3f}"
    return low if low == high else f"{low} to {high}"
