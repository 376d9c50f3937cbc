"""Coverage of metrics of clinical prediction models, and of decision curves."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Tables
from benchmarks.coverage.harness import Answer, Setting, Simulator
from benchmarks.coverage.tables import each, extremes

_QUANTILES = 200_000
_CENTRE, _SPREAD = -1.0, 1.2  # of the logits of the predictions, which are normal
_MODELS = {"calibrated": (0.0, 1.0), "overfitted": (0.1, 0.7), "too low": (0.5, 1.0)}
"""Intercept and slope of the true logit in that of the prediction."""
_SIZES = (50, 200, 1000)
_BINS, _THRESHOLD = 10, 0.2
_METRICS = {
    "calibration intercept": skci.CalibrationInterceptCI(),
    "calibration slope": skci.CalibrationSlopeCI(),
    "observed to expected": skci.ObservedToExpectedCI(),
    "squared calibration error": skci.SquaredCalibrationErrorCI(n_bins=_BINS),
    "net benefit at .2": skci.NetBenefitCI(_THRESHOLD),
    "standardized net benefit at .2": skci.StandardizedNetBenefitCI(_THRESHOLD),
    "interventions avoided at .2": skci.InterventionsAvoidedCI(_THRESHOLD),
}
_BAND = np.linspace(0.02, 0.6, 50)  # thresholds


@cache
def population(model: str) -> tuple[Array, Array]:
    """Evenly spaced quantiles of the logits, and their true probabilities."""
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    logits = _CENTRE + _SPREAD * ndtri(shares)
    intercept, slope = _MODELS[model]
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
    values = (
        brentq(lambda a: expit(a + logits).mean() - truth.mean(), -5, 5, xtol=1e-12),
        _MODELS[model][1],
        float(truth.mean() / expit(logits).mean()),
        float(np.mean(errors**2)),
        benefit,
        benefit / float(truth.mean()),
        interventions_avoided(model, _THRESHOLD),
    )
    return dict(zip(_METRICS, values, strict=True))


def draw(rng: np.random.Generator, model: str, n: int) -> tuple[Array, Array]:
    """Draw labels and predictions, both labels occurring."""
    while True:
        rows = rng.integers(0, _QUANTILES, n)
        logits, truth = (column[rows] for column in population(model))
        y = (rng.random(n) < truth).astype(int)
        if 0 < y.sum() < n:
            return y, expit(logits)


def _metrics(sample: Any) -> Answer:
    return {name: metric(*sample) for name, metric in _METRICS.items()}


def _curve(sample: Any) -> Answer:
    return {"decision curve": skci.decision_curve_report(*sample, thresholds=_BAND)}


@cache
def _true_curve(model: str) -> dict[Any, float]:
    """Values by the keys of a report."""
    y, scores = draw(np.random.default_rng(0), model, 1000)
    report = skci.decision_curve_report(y, scores, thresholds=_BAND)
    values = []
    for threshold in _BAND:
        values.append(net_benefit(model, threshold))
        values.append(interventions_avoided(model, threshold))
    values += [net_benefit(model, threshold, everyone=True) for threshold in _BAND]
    return dict(zip(report, values, strict=True))


def _setting(model: str, n: int, truths: Any, call: Any) -> Setting:
    cells = {"predictions": model, "rows": f"{n:,}"}
    sampler = partial(draw, model=model, n=n)
    return Setting(cells, sampler, partial(truths, model), {"default": call})


SETTINGS = [
    _setting(model, n, true_values, _metrics) for model, n in product(_MODELS, _SIZES)
]
CURVES = [_setting("overfitted", n, _true_curve, _curve) for n in _SIZES]


def tables(simulate: Simulator) -> Tables:
    found, curves = simulate(SETTINGS, 400), simulate(CURVES, 300)
    columns = "coverage", "width", "warns"
    summary = extremes(
        found, "settings", "minimum", "maximum", "below .93", of="metric"
    )
    return {
        "In short": [summary],
        "Clinical prediction models": [each(found, *columns, of="metric")],
        "Decision curves": [each(curves, "samples", "coverage", "error")],
    }
