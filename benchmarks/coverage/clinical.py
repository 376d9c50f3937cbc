"""Coverage of metrics of clinical prediction models, and of decision curves."""

from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

import skci
from benchmarks.coverage.harness import Setting
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


class Population(NamedTuple):
    """True and predicted probabilities, at evenly spaced quantiles of one of them."""

    truth: np.ndarray
    predicted: np.ndarray

    def benefit(self, threshold, everyone=False):
        """Net benefit of the model, or of treating everyone."""
        treated = (self.predicted >= threshold) | everyone
        harm = threshold / (1 - threshold)
        return float(np.mean(treated * (self.truth - harm * (1 - self.truth))))

    def avoided(self, threshold):
        """Interventions avoided."""
        gain = self.benefit(threshold) - self.benefit(threshold, everyone=True)
        return gain * (1 - threshold) / threshold

    def values(self, threshold):
        """Calibration intercept, O/E, and benefits at a threshold."""
        logits, prevalence = logit(self.predicted), float(self.truth.mean())
        return (
            brentq(lambda a: expit(a + logits).mean() - prevalence, -5, 5, xtol=1e-12),
            prevalence / float(self.predicted.mean()),
            self.benefit(threshold),
            self.benefit(threshold) / prevalence,
            self.avoided(threshold),
        )


@cache
def population(model):
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    logits = _CENTRE + _SPREAD * ndtri(shares)
    intercept, slope = _MODELS[model]
    return Population(expit(intercept + slope * logits), expit(logits))


@cache
def true_values(model):
    """Values of the metrics in the population."""
    whole = population(model)
    intercept, *others = whole.values(_THRESHOLD)
    errors = (whole.truth - whole.predicted).reshape(_BINS, -1).mean(axis=1)
    squared = float(np.mean(errors**2))
    values = intercept, _MODELS[model][1], others[0], squared, *others[1:]
    return dict(zip(_METRICS, values, strict=True))


def draw(rng, model, n):
    """Draw labels and predictions, both labels occurring."""
    while True:
        rows = rng.integers(0, _QUANTILES, n)
        truth, predicted = (column[rows] for column in population(model))
        y = (rng.random(n) < truth).astype(int)
        if 0 < y.sum() < n:
            return y, predicted


def _metrics(sample):
    return {name: metric(*sample) for name, metric in _METRICS.items()}


def _curve(sample):
    return {"decision curve": skci.decision_curve_report(*sample, thresholds=_BAND)}


@cache
def _true_curve(model):
    """Values by the keys of a report."""
    y, scores = draw(np.random.default_rng(0), model, 1000)
    report = skci.decision_curve_report(y, scores, thresholds=_BAND)
    whole, values = population(model), []
    for threshold in _BAND:
        values += [whole.benefit(threshold), whole.avoided(threshold)]
    values += [whole.benefit(threshold, everyone=True) for threshold in _BAND]
    return dict(zip(report, values, strict=True))


def _setting(model, n, truths, call):
    cells = {"predictions": model, "rows": f"{n:,}"}
    sampler = partial(draw, model=model, n=n)
    return Setting(cells, sampler, partial(truths, model), {"default": call})


SETTINGS = [
    _setting(model, n, true_values, _metrics) for model, n in product(_MODELS, _SIZES)
]
CURVES = [_setting("overfitted", n, _true_curve, _curve) for n in _SIZES]


def tables(simulate):
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
