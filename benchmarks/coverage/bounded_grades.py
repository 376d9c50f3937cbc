"""Coverage and width of intervals for bounded grades: the default and Hall's."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.special import ndtr

import skci
from benchmarks.coverage import populations
from benchmarks.coverage.harness import Setting, of_first
from benchmarks.coverage.populations import MODELS, distance_of
from benchmarks.coverage.tables import by_call, extremes

_QUANTILES = 100_000
_SPREAD = 0.03
_DICE = (0.9, 0.89)  # mean, by model
_FAILURES = {"Dice": 0.0, "Dice, 1% failures": 0.01, "Dice, 3% failures": 0.03}
_PERFECT = 1 / 3  # share of queries with an nDCG of 1
_NDCG = ((5, 2), (4.5, 2))  # shapes of the beta distribution of others
_RUBRIC = ((0.05, 0.1, 0.2, 0.35, 0.3), (0.05, 0.12, 0.23, 0.33, 0.27))
_PREVALENCE = 0.05
_DISTANCES = (distance_of(0.9), distance_of(0.85))
_BRIER = "Brier, rare label"


@cache
def population(family, model):
    """Evenly spaced quantiles of the grades of a model."""
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    if family == "nDCG":
        others = stats.beta.ppf(shares / (1 - _PERFECT), *_NDCG[model])
        return np.where(shares < 1 - _PERFECT, others, 1.0)
    if family == "rubric of 5":
        steps = np.cumsum(_RUBRIC[model])
        return np.searchsorted(steps[:-1], shares) / 4
    failures, mean = _FAILURES[family], _DICE[model]
    total = mean * (1 - mean) / _SPREAD**2 - 1
    beta = stats.beta(mean * total, (1 - mean) * total)
    found = beta.ppf((shares - failures) / (1 - failures))
    return np.where(shares < failures, 0.0, found)


def graded(family, n):
    """Grades of the same items by two models, which are better on the same items."""

    def draw(rng):
        if family == _BRIER:
            drawn = populations.scored(rng, n, _PREVALENCE, _DISTANCES)
            return (np.array([*drawn["y_score"].values()]) - drawn["y_true"]) ** 2
        ranks = (ndtr(populations.latent(rng, n)[:, :2].T) * _QUANTILES).astype(int)
        return np.array([population(family, k)[x] for k, x in enumerate(ranks)])

    def truths():
        means = [
            populations.true_value("brier_score", _PREVALENCE, distance)
            if family == _BRIER
            else float(population(family, k).mean())
            for k, distance in enumerate(_DISTANCES)
        ]
        return {"mean": means[0], "difference": means[0] - means[1]}

    calls = {name: partial(answer, method=name) for name in ("hall", "default")}
    return Setting({"grades": family, "items": f"{n:,}"}, draw, truths, calls)


def answer(grades, method):
    models = dict(zip(MODELS, grades, strict=False))
    options = {} if method == "default" else {"method": method}
    report = skci.grades_report(models, bounds=(0, 1), **options)
    return of_first(report, "difference")


_FAMILIES = (*_FAILURES, "nDCG", "rubric of 5", _BRIER)
SETTINGS = [graded(*each) for each in product(_FAMILIES, (10, 20, 50, 200, 1000))]


def tables(simulate):
    found = simulate(SETTINGS, 300)
    columns = "settings", "minimum", "mean", "below .93"
    summary = extremes(found, *columns, of="interval of a", call="method")
    parts = {"Means": "mean", "Differences": "difference"}
    return {"In short": [summary]} | {
        title: [by_call(found.where(of=of), "interval of a")]
        for title, of in parts.items()
    }
