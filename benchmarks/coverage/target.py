"""Coverage of rows that are weighted to a target population."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.special import expit

import skci
from benchmarks.coverage.harness import Setting
from benchmarks.coverage.tables import by_call, extremes
from skci.designs import Calibrated

_SOURCE, _TARGET = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)  # shares of three sites
_OLDER = 0.4  # mean of the age in the test set, in standard deviations of the target
_SIZES = (200, 800)
_EFFECTS = {"none": 0.0, "weak": 0.5, "strong": 1.5}
"""Effects of the site and the age on the logit of an error."""
_MODELS = {"A": -1.8, "B": -1.2}  # logits of an error without effects
_POPULATION = 1_000_000


def _rows(rng, n, shares, mean):
    """Draw the site and the age of each row."""
    return rng.choice(3, n, p=shares), rng.normal(mean, 1, n)


def _chances(site, age, effect):
    """Chances of an error, by model."""
    shift = effect * (site == 2) + effect / 2 * age
    return {model: expit(logit + shift) for model, logit in _MODELS.items()}


def _draw(rng, n, effect):
    """Draw a test set and an unlabelled sample of the target."""
    site, age = _rows(rng, n, _SOURCE, _OLDER)
    y = rng.integers(0, 2, n)
    predicted = {
        model: np.where(rng.random(n) < chance, 1 - y, y)
        for model, chance in _chances(site, age, _EFFECTS[effect]).items()
    }
    return y, predicted, (site, age), _rows(rng, n // 2, _TARGET, 0.0)


@cache
def _truths(effect):
    shares = (np.arange(_POPULATION // 3) + 0.5) / (_POPULATION // 3)
    age = stats.norm.ppf(shares)
    values = dict.fromkeys(_MODELS, 1.0)
    for site, share in enumerate(_TARGET):
        chances = _chances(np.full(len(age), site), age, _EFFECTS[effect])
        for model, chance in chances.items():
            values[model] -= share * float(chance.mean())
    truths = {f"accuracy of {model}": value for model, value in values.items()}
    return truths | {"difference": values["A"] - values["B"]}


def _reported(sample, design):
    y, predicted, rows, target = sample
    report = skci.joint_report(
        y, predicted, metrics="accuracy", **design(*rows, *target)
    )
    alone = report.individual()
    answer = {f"accuracy of {model}": alone[model, "accuracy"] for model in _MODELS}
    difference = report.differences().individual()["accuracy", "A", "B"]
    return answer | {"difference": difference}


def _margins(site, age, *_):
    shares = {"site": dict(enumerate(_TARGET))}
    X = {"site": site, "age": age}
    return {"design": Calibrated(X, margins=shares, means={"age": 0.0})}


def _means(site, age, *_):
    X = {"second": site == 1, "third": site == 2, "age": age}
    means = {"second": _TARGET[1], "third": _TARGET[2], "age": 0.0}
    return {"design": Calibrated(X, means=means)}


def _like(site, age, of_target, ages):
    X = {"site": site.astype(str), "age": age}
    like = {"site": of_target.astype(str), "age": ages}
    return {"design": Calibrated(X, like=like)}


def _known(site, age, *_):
    ratio = np.divide(_TARGET, _SOURCE)[site]
    return {"sample_weight": ratio * np.exp(_OLDER**2 / 2 - _OLDER * age)}


CALLS = {
    "margins": _margins,
    "means": _means,
    "like a sample": _like,
    "weights as known": _known,
}
SETTINGS = [
    Setting(
        {"effect": effect, "rows": f"{n:,}"},
        partial(_draw, n=n, effect=effect),
        partial(_truths, effect),
        {name: partial(_reported, design=call) for name, call in CALLS.items()},
    )
    for effect, n in product(_EFFECTS, _SIZES)
]


def tables(simulate):
    found = simulate(SETTINGS, 400)
    summary = extremes(
        found, "settings", "minimum", "mean", "maximum", "below .93", call="weights"
    )
    return {"In short": [summary], "Coverage and widths": [by_call(found, "estimate")]}
