"""Coverage of net benefit and calibration of an event by a time, with censoring."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

import skci
from benchmarks.coverage.clinical import Population
from benchmarks.coverage.harness import Records, Setting, alone_and_jointly
from benchmarks.coverage.tables import by_call, by_setting, each, extremes

_QUANTILES = 200_000
_CENTRE, _SPREAD = -0.7, 1.2  # mean and deviation of the normal true logits
_MODELS = {"calibrated": (0.0, 1.0), "overfitted": (0.2, 0.6)}
"""Intercept and slope of the true logit as a function of the predicted logit."""
_UNKNOWN = (0.4, 0.6)  # shares of rows that are censored before time 1 and the event
_SIZES = (100, 300, 1000)
_THRESHOLD, _TIME, _BINS = 0.3, 1.0, 3
_BAND = (0.1, 0.2, 0.3, 0.4, 0.5)  # thresholds
_WITH_TIME, _KNOWN_ONLY = "time=1", "rows with a known label"


def _metrics(time):
    return {
        "net benefit": skci.NetBenefitCI(_THRESHOLD, time=time),
        "standardized": skci.StandardizedNetBenefitCI(_THRESHOLD, time=time),
        "avoided": skci.InterventionsAvoidedCI(_THRESHOLD, time=time),
        "observed to expected": skci.ObservedToExpectedCI(time=time),
        "intercept": skci.CalibrationInterceptCI(time=time),
        "slope": skci.CalibrationSlopeCI(time=time),
    }


@cache
def population(model):
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    logits = _CENTRE + _SPREAD * ndtri(shares)
    intercept, slope = _MODELS[model]
    return Population(expit(logits), expit((logits - intercept) / slope))


@cache
def rate_of_censoring(unknown):
    """Rate at which a share of the rows is censored before time 1 and the event."""
    hazard = -np.log1p(-population("calibrated").truth)

    def excess(rate):
        total = rate + hazard
        return float((rate / total * -np.expm1(-total)).mean()) - unknown

    return float(brentq(excess, 0.01, 20))


def draw(rng, model, unknown, n):
    """Events and times, exponential given the prediction, and predictions."""
    while True:
        rows = rng.integers(0, _QUANTILES, n)
        truth, predicted = (column[rows] for column in population(model))
        time = rng.exponential(-1 / np.log1p(-truth))
        end = rng.exponential(1 / rate_of_censoring(unknown), n)
        y = np.column_stack([time <= end, np.minimum(time, end)])
        if len(np.unique(np.floor(predicted * _BINS))) == _BINS:
            return y, predicted


def _answer(sample):
    return {name: metric(*sample) for name, metric in _metrics(_TIME).items()}


def _known_only(sample):
    """Leave out the rows without a known label."""
    y, predicted = sample
    known = (y[:, 0] == 1) | (y[:, 1] >= _TIME)
    labels = skci.event_by(y[known], _TIME)
    rows = labels, predicted[known]
    return {name: metric(*rows) for name, metric in _metrics(None).items()}


def _curves(sample):
    bins = {"n_bins": _BINS, "strategy": "uniform", "time": _TIME}
    calibration = skci.calibration_report(*sample, **bins)
    benefit = skci.decision_curve_report(*sample, thresholds=_BAND, time=_TIME)
    found = alone_and_jointly(calibration, "calibration curve")
    return {**found, "decision curve": benefit}


@cache
def _truths(model):
    whole, names = population(model), list(_metrics(None))
    intercept, ratio, *benefits = whole.values(_THRESHOLD)
    found = *benefits, ratio, intercept, _MODELS[model][1]
    values = dict(zip(names, found, strict=True))
    truth, predicted = whole
    bins = np.minimum((predicted * _BINS).astype(int), _BINS - 1)
    for k, share in enumerate(np.bincount(bins, truth) / np.bincount(bins)):
        values[str(k + 1), "fraction_of_positives"] = float(share)
    for threshold in _BAND:
        key = f"{threshold:g}"
        values["y_pred", "net_benefit", key] = whole.benefit(threshold)
        values["y_pred", "interventions_avoided", key] = whole.avoided(threshold)
        values["treat all", "net_benefit", key] = whole.benefit(threshold, True)
    return values


def _settings(calls):
    return [
        Setting(
            {"predictions": model, "unknown": f"{unknown:.0%}", "rows": f"{n:,}"},
            partial(draw, model=model, unknown=unknown, n=n),
            partial(_truths, model),
            calls,
        )
        for model, unknown, n in product(_MODELS, _UNKNOWN, _SIZES)
    ]


def tables(simulate):
    found = simulate(_settings({_WITH_TIME: _answer, _KNOWN_ONLY: _known_only}), 400)
    curves = simulate(_settings({"curves": _curves}), 400)
    curves = Records([{**each, "of": _named(each["of"])} for each in curves])
    both = Records([*found.where(call=_WITH_TIME), *curves])
    columns = "settings", "minimum", "mean", "maximum", "below .93"
    return {
        "In short": [
            extremes(both, *columns, "below .93, not warned", of="interval of"),
            extremes(found.where(call=_KNOWN_ONLY), *columns, of=_KNOWN_ONLY),
        ],
        "Metrics": [by_call(found)],
        "Curves": [by_setting(curves)],
        "Widths and warnings of curves": [each(curves, "width", "warns", of="of")],
    }


def _named(key):
    """Name of an interval of the calibration curve by its bin."""
    number, _, rest = key.partition(", ")
    return f"fraction in bin {number}" if rest else key
