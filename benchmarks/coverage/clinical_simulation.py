"""Simulated coverage of metrics of clinical prediction models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import (
    JOINT_LEVEL,
    covers_jointly,
    interval_and_warning,
)

_QUANTILES = 200_000
_CENTRE, _SPREAD = -1.0, 1.2  # of the logits of the predictions, which are normal

MODELS = {
    "calibrated": (0.0, 1.0),
    "overfitted": (0.1, 0.7),
    "too low": (0.5, 1.0),
}
"""Intercept and slope of the true logit in that of the prediction."""

_BINS, _THRESHOLD = 10, 0.2
METRICS = {
    "calibration intercept": skci.CalibrationInterceptCI(),
    "calibration slope": skci.CalibrationSlopeCI(),
    "observed to expected": skci.ObservedToExpectedCI(),
    "squared calibration error": skci.SquaredCalibrationErrorCI(n_bins=_BINS),
    "net benefit at .2": skci.NetBenefitCI(_THRESHOLD),
    "standardized net benefit at .2": skci.StandardizedNetBenefitCI(_THRESHOLD),
    "interventions avoided at .2": skci.InterventionsAvoidedCI(_THRESHOLD),
}

BAND = np.linspace(0.02, 0.6, 50)
"""Thresholds of the band."""


@cache
def population(model: str) -> tuple[Array, Array]:
    """Evenly spaced quantiles of the logits, and their true probabilities."""
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    logits = _CENTRE + _SPREAD * ndtri(shares)
    intercept, slope = MODELS[model]
    return logits, expit(intercept + slope * logits)


def net_benefit(model: str, threshold: float, everyone: bool = False) -> float:
    """Net benefit of the model, or of treating everyone, in the population."""
    logits, truth = population(model)
    treated = (expit(logits) >= threshold) | everyone
    harm = threshold / (1 - threshold)
    return float(np.mean(treated * (truth - harm * (1 - truth))))


def interventions_avoided(model: str, threshold: float) -> float:
    gain = net_benefit(model, threshold) - net_benefit(model, threshold, everyone=True)
    return gain * (1 - threshold) / threshold


@cache
def true_values(model: str) -> dict[str, float]:
    """Values of the metrics in the population."""
    logits, truth = population(model)
    benefit = net_benefit(model, _THRESHOLD)
    errors = (truth - expit(logits)).reshape(_BINS, -1).mean(axis=1)
    return {
        "calibration intercept": brentq(
            lambda a: expit(a + logits).mean() - truth.mean(), -5, 5, xtol=1e-12
        ),
        "calibration slope": MODELS[model][1],
        "observed to expected": float(truth.mean() / expit(logits).mean()),
        "squared calibration error": float(np.mean(errors**2)),
        "net benefit at .2": benefit,
        "standardized net benefit at .2": benefit / float(truth.mean()),
        "interventions avoided at .2": interventions_avoided(model, _THRESHOLD),
    }


def draw(model: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw labels and predictions, both labels occurring."""
    while True:
        rows = rng.integers(0, _QUANTILES, n)
        logits, truth = (column[rows] for column in population(model))
        y = (rng.random(n) < truth).astype(int)
        if 0 < y.sum() < n:
            return y, expit(logits)


@dataclass(frozen=True)
class Individual:
    """Intervals of single metrics of a model in samples of a size."""

    model: str
    n: int
    draws: int

    @property
    def cost(self) -> float:
        return self.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        found = {name: np.zeros((self.draws, 3)) for name in METRICS}
        for k in range(self.draws):
            y, scores = draw(self.model, self.n, rng)
            for name, metric in METRICS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    estimate = metric(y, scores)
                (low, high), warned = interval_and_warning(estimate)
                truth = true_values(self.model)[name]
                found[name][k] = low <= truth <= high, warned, high - low
        return [
            {
                "model": self.model,
                "n": self.n,
                "metric": name,
                "coverage": float(covered.mean()),
                "warned": float(warned.mean()),
                "width": float(np.median(width)),
            }
            for name, (covered, warned, width) in (
                (name, columns.T) for name, columns in found.items()
            )
        ]


@dataclass(frozen=True)
class Band:
    """Joint bands of decision curves over 50 thresholds, in samples of a size."""

    model: str
    n: int
    draws: int

    @property
    def cost(self) -> float:
        return 1000.0 * (self.n + 1000) * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        truths = []
        for model in (self.model, "treat all"):
            for threshold in BAND:
                if model == self.model:
                    truths.append(net_benefit(self.model, threshold))
                    truths.append(interventions_avoided(self.model, threshold))
                else:
                    truths.append(net_benefit(self.model, threshold, everyone=True))
        covered = 0
        for _ in range(self.draws):
            y, scores = draw(self.model, self.n, rng)
            report = skci.decision_curve_report(
                y, scores, thresholds=BAND, confidence_level=JOINT_LEVEL
            )
            covered += covers_jointly(report, np.array(truths))
        return [
            {
                "model": self.model,
                "n": self.n,
                "metric": "decision curve",
                "coverage": covered / self.draws,
            }
        ]
