"""Widths of intervals as real rows are labelled bit by bit, in several orders."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from skci.planning import label_next

NUMBERS = (50, 100, 150, 200, 300, 400, 600, 800)
"""Of labels; the first are at random."""
ALONE, RANDOM, STRATIFIED, ACTIVE = (
    "random, labels alone",
    "random, with the judge",
    "stratified, with the judge",
    "active, with the judge",
)
WAYS = (ALONE, RANDOM, STRATIFIED, ACTIVE)
TARGETS = {
    "accuracy of A": ("accuracy", "A"),
    "macro F1 of A": ("f1_macro", "A"),
    "accuracy of A - B": ("accuracy", ("A", "B")),
}
"""Metric and model of an estimate, or two models."""
_TRAINED = 100  # rows that each model is fitted to


@cache
def digits() -> tuple[Array, dict[str, Array], Array]:
    """Digits that no model was fitted to, their predictions, and those of the judge."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    first, second, rest = np.split(rows, [_TRAINED, 2 * _TRAINED])
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    models = {
        "A": logistic.fit(X[first], y[first]).predict(X[rest]),
        "B": NearestCentroid().fit(X[first], y[first]).predict(X[rest]),
    }
    judge = KNeighborsClassifier(1).fit(X[second], y[second]).predict(X[rest])
    return y[rest], models, judge


def value(target: str) -> float:
    """Value of a target on all rows."""
    y, models, _ = digits()
    metric, of = TARGETS[target]
    report = skci.joint_report(y, models, metrics=metric)
    values = [float(report[model, metric]) for model in of]
    return values[0] - sum(values[1:])


@dataclass(frozen=True)
class LabelledBitByBit:
    """Rows labelled in a random order, in one of strata and by plans."""

    repetition: int

    @property
    def cost(self) -> float:
        return 1.0

    def records(self, rng: np.random.Generator) -> list[Record]:
        """A record for each target, way and number of labels."""
        y, _, judge = digits()
        order = rng.permutation(len(y))
        place = np.argsort(order)
        found = []
        for target in TARGETS:
            truth = value(target)
            for way in WAYS:
                steps = _steps(way, target, place, rng)
                for n, (known, probability) in zip(NUMBERS, steps, strict=True):
                    proxy = None if way == ALONE else judge
                    low, high = _limits(target, known, proxy, probability)
                    record = {"target": target, "way": way, "n": n}
                    record |= {"half_width": (high - low) / 2}
                    found.append(record | {"coverage": float(low <= truth <= high)})
        return found


def _steps(
    way: str, target: str, place: Array, rng: np.random.Generator
) -> Iterator[tuple[Array, Array | None]]:
    """Labels that are known at each number of them, and their probabilities."""
    y, models, judge = digits()
    if way == STRATIFIED:
        agree = (models["A"] == models["B"]) & (models["A"] == judge)
        ranks = np.empty(len(y))
        for stratum in (agree, ~agree):
            ranks[stratum] = np.argsort(np.argsort(place[stratum]))
        sizes = np.array([(~agree).sum(), agree.sum()])
        for n in NUMBERS:
            drawn = np.minimum(n // 2, sizes)
            known = np.where(ranks < drawn[agree.astype(int)], y, np.nan)
            yield known, (drawn / sizes)[agree.astype(int)]
        return
    if way != ACTIVE:
        for n in NUMBERS:
            yield np.where(place < n, y, np.nan), None
        return
    metric, of = TARGETS[target]
    known, probability = np.where(place < NUMBERS[0], y, np.nan), None
    yield known, None
    for before, n in pairwise(NUMBERS):
        plan = label_next(
            known,
            models,
            proxy=judge,
            label_probability=probability,
            metric=metric,
            models=tuple(of),
            n_labels=n - before,
            random_state=int(rng.integers(1 << 31)),
        )
        probability = plan.label_probability
        known = known.copy()
        known[plan.rows] = y[plan.rows]
        yield known, probability


def _limits(
    target: str, known: Array, proxy: Array | None, probability: Array | None
) -> tuple[float, float]:
    """Limits of the interval of a target."""
    _, models, _ = digits()
    metric, of = TARGETS[target]
    options: dict[str, Any] = {"metrics": metric}
    if proxy is None:
        labelled = ~np.isnan(known)
        chosen = {name: models[name][labelled] for name in of}
        report = skci.joint_report(known[labelled].astype(int), chosen, **options)
    else:
        chosen = {name: models[name] for name in of}
        options |= {"proxy": proxy, "label_probability": probability}
        report = skci.joint_report(known, chosen, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(of) == 2:
            estimate = report.differences()[metric, "A", "B"]
        else:
            estimate = report["A", metric]
        low, high = estimate.confidence_interval()
    return low, high
