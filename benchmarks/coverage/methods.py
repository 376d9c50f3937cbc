"""Methods on means of grades, on Brier scores and at a known prevalence."""

from functools import partial
from itertools import product

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t

import skci
from benchmarks.coverage.harness import LEVEL, Setting, described
from benchmarks.coverage.populations import distance_of, scored
from benchmarks.coverage.tables import by_call, extremes
from skci.designs import Prevalence

_POPULATION = 2_000_000
_GRADES = {
    "0 or 1, of mean .9": (lambda rng, n: 1.0 * (rng.random(n) < 0.9), 0.9),
    "fifths, 70% of them 1": (
        lambda rng, n: np.where(rng.random(n) < 0.7, 5, rng.integers(0, 5, n)) / 5,
        0.7 + 0.3 * 0.4,
    ),
    "Beta(4, .4)": (lambda rng, n: rng.beta(4, 0.4, n), 4 / 4.4),
}
_OF_LABELS = ("precision", "recall", "f1", "accuracy", "mcc")


def _grades(name, n):
    draw, mean = _GRADES[name]
    calls = {"score": _by_score, "t": _by_student}
    return Setting(
        described(name, n), partial(draw, n=n), lambda: {"mean": mean}, calls
    )


def _by_score(grades):
    report = skci.grades_report({"A": grades}, bounds=(0, 1), method="score")
    return {"mean": report.individual()["A", "mean"]}


def _by_student(grades):
    n = len(grades)
    half = t.isf((1 - LEVEL) / 2, n - 1) * grades.std(ddof=1) / np.sqrt(n)
    return {"mean": (grades.mean() - half, grades.mean() + half)}


def _brier(positive, factor, n):
    """Probabilities given normal evidence, their log odds multiplied by a factor."""

    def draw(rng, n=n):
        drawn = scored(rng, n, positive, [distance_of(0.9)])
        return drawn["y_true"] * 1, expit(factor * logit(drawn["y_score"]["A"]))

    def truths():
        y, p = draw(np.random.default_rng(0), _POPULATION)
        return {"Brier score": float(np.mean((y - p) ** 2))}

    def answer(sample, method):
        return {"Brier score": skci.BrierScoreCI(method=method, pos_label=1)(*sample)}

    name = f"{'right' if factor == 1 else 'overconfident'}, {positive:.0%}"
    calls = {method: partial(answer, method=method) for method in ("score", "hall")}
    return Setting(described(name, n), draw, truths, calls)


def _stratified(recall, specificity, share, n):
    """Labels of as many rows of either truth, with a known prevalence."""
    y = np.repeat([1, 0], n)
    tp, fp = share * recall, (1 - share) * (1 - specificity)
    fn, tn = share - tp, 1 - share - fp
    deviation = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    values = tp / (tp + fp), recall, 2 * tp / (2 * tp + fp + fn), tp + tn
    values = *values, (tp * tn - fp * fn) / deviation

    def draw(rng):
        right = rng.random(2 * n) < np.where(y, recall, specificity)
        return np.where(right, y, 1 - y)

    def answer(predicted):
        metrics, design = [*_OF_LABELS], Prevalence(share)
        report = skci.joint_report(y, predicted, metrics=metrics, design=design)
        individual = report.individual()
        return {key[1]: individual[key] for key in individual}

    truths = dict(zip(_OF_LABELS, map(float, values), strict=True))
    cells = described(f"{recall}, {specificity}, {share}", n)
    return Setting(cells, draw, lambda: truths, {"default": answer})


GRADES = [_grades(*each) for each in product(_GRADES, (10, 20, 50))]
BRIER = [_brier(*each) for each in product((0.5, 0.05), (1.0, 3.0), (10, 50, 300))]
STRATA = [
    _stratified(*each)
    for each in product(
        (0.8, 0.9, 0.99), (0.9, 0.99, 0.999), (0.01, 0.1, 0.5), (50, 200, 1000)
    )
]


def tables(simulate):
    strata = simulate(STRATA, 2000)
    return {
        "Means of bounded grades": [by_call(simulate(GRADES, 2000))],
        "Brier score": [by_call(simulate(BRIER, 2000))],
        "At a known prevalence": [extremes(strata, "minimum", "mean", of="metric")],
    }
