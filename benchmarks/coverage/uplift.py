"""Coverage of uplift metrics of scores that target a treatment."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.integrate import trapezoid
from scipy.special import expit

import skci
from benchmarks.coverage.harness import Setting
from benchmarks.coverage.tables import by_setting, extremes

_LOGITS = {"common": -1.0, "rare": -3.0}
"""Logits of an event without treatment, by outcome."""
_CORRELATION = 0.8  # between the score of the model and the cause of the effect
_SIZES = (1000, 4000)
_SHARES = (0.1, 0.3)
_BAND = tuple(k / 10 for k in range(1, 11))
_AT_TOP = ("uplift", "qini_curve", "policy_value", "policy_gain")


def _means(x, outcome):
    """Mean outcomes with and without treatment."""
    effect = 0.4 + 0.6 * x
    if outcome == "number":
        return x + effect, x
    logit = _LOGITS[outcome] + 0.5 * x
    return expit(logit + effect), expit(logit)


def _propensity(x, treatment):
    if treatment == "observed":
        return expit(0.7 * x)
    return np.full(len(x), {"half": 0.5, "a fifth": 0.2}[treatment])


def _scores(x, noise, scores):
    """Scores of a model, and scores that are unrelated to the effect."""
    found = {"model": _CORRELATION * x + np.sqrt(1 - _CORRELATION**2) * noise}
    found["random"] = noise
    return {k: np.round(s) if scores == "tied" else s for k, s in found.items()}


def _draw(rng, n, outcome, treatment, scores):
    x, noise, others = rng.normal(size=(3, n))
    propensity = _propensity(x, treatment)
    treated = (rng.random(n) < propensity).astype(int)
    mean = np.where(treated, *_means(x, outcome))
    y = mean + rng.normal(size=n) if outcome == "number" else rng.random(n) < mean
    found = _scores(x, noise, scores) | {"random": _scores(x, others, scores)["random"]}
    return y.astype(float), found, treated, propensity


@cache
def _truths(outcome, treatment, scores):
    """True values, on a grid of quantiles of both normal variables."""
    quantiles = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    x, noise = np.repeat(quantiles, 1000), np.tile(quantiles, 1000)
    treated, control = _means(x, outcome)
    most = 1.0  # area of the perfect Qini curve over random order
    if outcome != "number":
        chance = _propensity(x, treatment)
        shares = [0, np.mean(chance * treated), 1 - np.mean((1 - chance) * control), 1]
        effect = np.mean(treated - control)
        most = trapezoid([0, treated.mean(), treated.mean(), effect], shares)
        most -= effect / 2
    truths = {}
    for model, score in _scores(x, noise, scores).items():
        last = np.flatnonzero(np.diff(np.sort(-score), append=np.inf))
        order = np.argsort(-score, kind="stable")
        gain = np.append(0, np.cumsum((treated - control)[order])[last] / len(x))
        shares = np.append(0.0, (last + 1) / len(x))
        area = trapezoid(gain, shares)
        over_random = area - gain[-1] / 2
        truths[model, "auuc"], truths[model, "qini_area"] = area, over_random
        truths[model, "qini"] = over_random / most
        for share in {*_SHARES, *_BAND}:
            at_share = float(np.interp(share, shares, gain))
            truths[model, f"qini_curve@{share:g}"] = at_share
            truths[model, f"uplift@{share:g}"] = at_share / share
            truths[model, f"policy_value@{share:g}"] = control.mean() + at_share
            truths[model, f"policy_gain@{share:g}"] = at_share - share * gain[-1]
    return truths


def _reported(sample, outcome, treatment):
    y, scores, treated, propensity = sample
    options = {"treatment": treated}
    if treatment == "observed":
        options["propensity"] = propensity
    area = "qini_area" if outcome == "number" else "qini"
    options["top"], metrics = _SHARES, [area, "auuc", *_AT_TOP]
    report = skci.uplift_report(y, scores, metrics=metrics, **options).individual()
    named = {
        (model, "qini" if metric == area else metric): report[model, metric]
        for model, metric in report
    }
    answer = {
        key: estimate
        for key, estimate in named.items()
        if key[0] == "model" or key[1] in ("qini", "policy_gain@0.3")
    }
    pairs = report.differences(metrics=area).individual()
    answer["qini", "model", "random"] = pairs[area, "model", "random"]
    model = {"model": scores["model"]}
    options["top"] = _BAND
    band = skci.uplift_report(y, model, metrics="qini_curve", **options)
    return answer | {"band of the Qini curve": band}


_POPULATIONS = [
    *product(["common", "rare", "number"], ["half", "a fifth"], ["distinct"]),
    *[("common", "observed", "distinct"), ("number", "observed", "distinct")],
    *[("common", "half", "tied"), ("number", "a fifth", "tied")],
]
SETTINGS = [
    Setting(
        {"outcome": outcome, "treated": treatment, "scores": scores, "rows": f"{n:,}"},
        partial(_draw, n=n, outcome=outcome, treatment=treatment, scores=scores),
        partial(_truths, outcome, treatment, scores),
        {"delta": partial(_reported, outcome=outcome, treatment=treatment)},
    )
    for (outcome, treatment, scores), n in product(_POPULATIONS, _SIZES)
]


_SHOWN = [
    *("model, qini", "model, auuc", "model, uplift@0.1", "model, uplift@0.3"),
    *("model, policy_value@0.3", "model, policy_gain@0.3", "random, qini"),
    *("qini, model, random", "band of the Qini curve"),
]


def tables(simulate):
    found = simulate(SETTINGS, 400)
    columns = "settings", "minimum", "mean", "maximum", "below .93", "unwarned misses"
    by_interval = extremes(found, *columns, of="interval", rows="rows")
    keys = {key: key for key in ("outcome", "treated", "scores", "rows")}
    return {
        "In short": [by_interval, extremes(found, *columns[1:], **keys)],
        "By setting": [by_setting(found, _SHOWN)],
    }
