"""How many labels reach a width of real data, by which way of choosing them."""

from functools import cache
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skci
from benchmarks.coverage.harness import Setting
from skci.planning import label_next

_NUMBERS = (50, 100, 150, 200, 300, 400, 600, 800)
"""Of labels; the first are at random."""
_ALONE, _JUDGED = "random, labels alone", "random, with the judge"
_STRATIFIED, _ACTIVE = "stratified, with the judge", "active, with the judge"
_WAYS = (_ALONE, _JUDGED, _STRATIFIED, _ACTIVE)
_TARGETS = {
    "accuracy of A": ("accuracy", "A"),
    "macro F1 of A": ("f1_macro", "A"),
    "accuracy of A - B": ("accuracy", ("A", "B")),
}
"""Metric and model of an estimate, or two models."""
_TRAINED = 100  # rows that each model is fitted to
_WIDTHS = (0.06, 0.05, 0.04, 0.03, 0.025)


@cache
def digits():
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


def _setting(target, way):
    metric, of = _TARGETS[target]

    def draw(rng):
        return rng

    def truths():
        """Value on all rows."""
        y, models, _ = digits()
        report = skci.joint_report(y, models, metrics=metric)
        values = [float(report[model, metric]) for model in of]
        return dict.fromkeys(map(str, _NUMBERS), values[0] - sum(values[1:]))

    def answer(rng):
        steps = zip(_NUMBERS, _steps(way, target, rng), strict=True)
        return {str(n): _estimate(target, way, *step) for n, step in steps}

    return Setting({"estimate": target, "labels": way}, draw, truths, {"skci": answer})


def _steps(way, target, rng):
    """Labels that are known at each number of them, and their probabilities."""
    y, models, judge = digits()
    place = np.argsort(rng.permutation(len(y)))
    if way == _STRATIFIED:
        agree = (models["A"] == models["B"]) & (models["A"] == judge)
        ranks = np.empty(len(y))
        for stratum in (agree, ~agree):
            ranks[stratum] = np.argsort(np.argsort(place[stratum]))
        sizes = np.array([(~agree).sum(), agree.sum()])
        for n in _NUMBERS:
            drawn = np.minimum(n // 2, sizes)
            known = np.where(ranks < drawn[agree.astype(int)], y, np.nan)
            yield known, (drawn / sizes)[agree.astype(int)]
        return
    if way != _ACTIVE:
        yield from ((np.where(place < n, y, np.nan), None) for n in _NUMBERS)
        return
    metric, of = _TARGETS[target]
    known, probability = np.where(place < _NUMBERS[0], y, np.nan), None
    yield known, None
    for before, n in pairwise(_NUMBERS):
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


def _estimate(target, way, known, probability):
    _, models, judge = digits()
    metric, of = _TARGETS[target]
    chosen = {name: models[name] for name in of}
    if way == _ALONE:
        labelled = ~np.isnan(known)
        few = {name: each[labelled] for name, each in chosen.items()}
        report = skci.joint_report(known[labelled].astype(int), few, metrics=metric)
    else:
        options = {"proxy": judge, "label_probability": probability}
        report = skci.joint_report(known, chosen, metrics=metric, **options)
    if len(of) == 2:
        return report.differences()[metric, "A", "B"]
    return report["A", metric]


SETTINGS = [_setting(target, way) for target in _TARGETS for way in _WAYS]


def tables(simulate):
    found = simulate(SETTINGS, 60)
    return {
        "Labels that reach a width": [_reached(found)],
        "Half widths": [_by_number(found, lambda each: f"{each['width'] / 2:.3f}")],
        "Coverage": [_by_number(found, lambda each: f"{each['coverage']:.2f}")],
    }


def _by_number(found, shown):
    return [
        cells | {each["of"]: shown(each) for each in chosen}
        for cells, chosen in found.settings()
    ]


def _reached(found):
    """Numbers of labels at which the median half width is as wanted.

    Between two numbers it is a power of the number.
    """
    rows = []
    for row, chosen in found.settings():
        falling = np.minimum.accumulate(chosen.column("width"))[::-1] / 2
        numbers = np.interp(np.log(_WIDTHS), np.log(falling), np.log(_NUMBERS[::-1]))
        for width, number in zip(_WIDTHS, np.exp(numbers), strict=True):
            cell = f"{number:.0f}"
            if width < falling[0]:
                cell = f"over {_NUMBERS[-1]}"
            elif width > falling[-1]:
                cell = f"under {_NUMBERS[0]}"
            row[f"{width:g}"] = cell
        rows.append(row)
    return rows
