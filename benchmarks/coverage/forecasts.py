"""Coverage of intervals of metrics of probabilistic forecasts."""

from functools import partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.signal import lfilter

import skci
from benchmarks.coverage.harness import Setting
from benchmarks.coverage.tables import by_call, extremes
from skci.designs import TimeOrder

_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_MEMBERS = 20
_NOISE = {"calibrated": 0.0, "narrow": 0.3, "climatology": 1.0}
"""Standard deviation of the error of the centre of a model's forecasts."""
_SPREAD = {"calibrated": 1.0, "narrow": 0.6, "climatology": 2**0.5}
"""Standard deviation of a model's forecasts."""
_COMPARED = ("calibrated", "narrow")
_METRICS = {
    each.name: each
    for each in (
        skci.CrpsCI(),
        skci.CrpsCI(fair=True),
        skci.WeightedIntervalScoreCI(),
        skci.IntervalScoreCI(0.9),
        skci.IntervalCoverageCI(0.9),
        skci.LogScoreCI(),
        skci.SkillScoreCI(skci.WeightedIntervalScoreCI(), reference="climatology"),
    )
}
_STORM, _SHARE = 1.5, 0.2  # deviation of the truth in storms, and their share of rows


def _draw(rng, n, autocorrelation):
    """Draw truths around a known level, and forecasts, by metric and model."""
    level = rng.normal(size=n)
    start = rng.normal(size=500 + n)
    shocks = np.sqrt(1 - autocorrelation**2) * start
    noise = lfilter([1], [1, -autocorrelation], shocks)[500:]
    ensembles, parameters, quantiles = {}, {}, {}
    for model, spread in _SPREAD.items():
        is_reference = model == "climatology"
        centre = np.zeros(n) if is_reference else rng.normal(level, _NOISE[model])
        column = centre[:, np.newaxis]
        ensembles[model] = rng.normal(column, spread, (n, _MEMBERS))
        parameters[model] = np.column_stack([centre, np.full(n, spread)])
        quantiles[model] = {p: centre + spread * stats.norm.ppf(p) for p in _LEVELS}
    predicted = {"crps": ensembles, "fair_crps": ensembles, "log_score": parameters}
    return level + noise, predicted | {"*": quantiles}


def _values(model):
    """True scores of normal forecasts whose errors are normal."""
    spread, error = _SPREAD[model], float(np.sqrt(1 + _NOISE[model] ** 2))
    distance = float(np.sqrt(2 / np.pi * (error**2 + spread**2)))
    half_pair = spread / float(np.sqrt(np.pi))
    losses = {p: _pinball(p, spread * float(stats.norm.ppf(p)), error) for p in _LEVELS}
    reach = spread * stats.norm.ppf(_LEVELS[-1]) / error
    return {
        "crps": distance - (1 - 1 / _MEMBERS) * half_pair,
        "fair_crps": distance - half_pair,
        "weighted_interval_score": 2 * float(np.mean([*losses.values()])),
        "interval_score@0.9": 20 * (losses[_LEVELS[0]] + losses[_LEVELS[-1]]),
        "interval_coverage@0.9": float(2 * stats.norm.cdf(reach) - 1),
        "log_score": float(
            np.log(spread * np.sqrt(2 * np.pi)) + (error / spread) ** 2 / 2
        ),
    }


def _pinball(level, quantile, error):
    """Mean pinball loss of a quantile of a normal truth with mean 0."""
    ratio = quantile / error
    below = quantile * stats.norm.cdf(ratio) + error * stats.norm.pdf(ratio)
    return float(below - level * quantile)


def _truths():
    by_model = {model: _values(model) for model in _SPREAD}
    wis = "weighted_interval_score"
    for model in _COMPARED:
        ratio = by_model[model][wis] / by_model["climatology"][wis]
        by_model[model][f"{wis}_skill"] = 1 - ratio
    truths = {}
    for metric in _METRICS:
        first, second = (by_model[model][metric] for model in _COMPARED)
        truths |= {metric: first, f"{metric}, narrow": second}
        truths[f"{metric}, difference"] = first - second
    return truths


def _reported(sample, design=None):
    """Intervals of the calibrated model, of both coverages, and of differences."""
    y, predicted = sample
    report = skci.joint_report(
        {"*": y}, predicted, metrics=_METRICS, design=design and design()
    )
    alone, gaps = report.individual(), report.differences().individual()
    coverage = "interval_coverage@0.9"
    return (
        {metric: alone["calibrated", metric] for metric in _METRICS}
        | {f"{coverage}, narrow": alone["narrow", coverage]}
        | {f"{metric}, difference": gaps[metric, *_COMPARED] for metric in _METRICS}
    )


def _draw_storms(rng, n):
    """Draw calm and stormy rows; forecasts do not know of storms."""
    level = rng.normal(size=n)
    storm = rng.random(n) < _SHARE
    y = rng.normal(level, np.where(storm, _STORM, 1.0))
    forecasts = {p: level + stats.norm.ppf(p) for p in _LEVELS}
    return y, forecasts, np.where(storm, "storm", "calm")


def _truths_of_storms():
    reach = stats.norm.ppf(_LEVELS[-1]) / np.array([1.0, _STORM])
    calm, storm = (2 * stats.norm.cdf(reach) - 1 - 0.9).tolist()
    values = {"deviation when calm": calm, "deviation in storms": storm}
    return values | {"gap": calm - storm}


def _by_storm(sample):
    y, forecasts, storm = sample
    metric = "interval_coverage_deviation@0.9"
    report = skci.joint_report(y, {"A": forecasts}, metrics=metric, by=storm)
    alone, gaps = report.individual(), report.gaps().individual()
    return {
        "deviation when calm": alone["A", metric, "calm"],
        "deviation in storms": alone["A", metric, "storm"],
        "gap": gaps["A", metric, "calm", "storm"],
    }


CALLS = {
    "in order of time": partial(_reported, design=TimeOrder),
    "independent rows": _reported,
}
IN_TIME = [
    Setting(
        {"autocorrelation": f"{rho:g}", "rows": f"{n:,}"},
        partial(_draw, n=n, autocorrelation=rho),
        _truths,
        CALLS,
    )
    for rho, n in product((0.0, 0.3, 0.6, 0.8), (100, 400, 1600))
]
SUBGROUPS = [
    Setting(
        {"rows": f"{n:,}"},
        partial(_draw_storms, n=n),
        _truths_of_storms,
        {"coverage": _by_storm},
    )
    for n in (100, 400, 1600)
]


def tables(simulate):
    found, of_subgroups = simulate(IN_TIME, 400), simulate(SUBGROUPS, 400)
    columns = ("settings", "minimum", "mean", "maximum", "below .93")
    columns = (*columns, "below .93, not warned", "unwarned misses")
    names = {"autocorrelation": "autocorrelation", "rows": "rows", "call": "intervals"}
    summary = extremes(found, *columns, **names)
    return {
        "In short": [summary],
        "In order of time": [by_call(found, "estimate")],
        "Coverage of subgroups": [by_call(of_subgroups, "estimate")],
    }
