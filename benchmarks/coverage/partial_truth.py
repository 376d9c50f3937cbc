"""Coverage and width of intervals where few rows have a truth, and all a proxy."""

import math
from functools import cache, partial
from itertools import product
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

import skci
from benchmarks.coverage.harness import Records, Setting
from benchmarks.coverage.tables import mean_of, percent, share, widths

_ROWS = 5_000
_INDEPENDENT, _RANDOM, _COPY = "independent errors", "random", "copies A"
_JUDGES = (_INDEPENDENT, "errs with A", "errs on positives", _RANDOM, _COPY)
"""How a judge errs; the last two tell nothing of model A."""
_AT_RANDOM, _BY_PREDICTION, _ACTIVE = "at random", "by prediction", "active"
"""How rows are labelled: in equal parts of what A predicts, without a judge; or with
probabilities from `_LEAST` to 1, by who disagrees."""
_OF_LABELS = ("accuracy", "precision", "recall", "specificity", "f1", "mcc")
_OF_SCORES = ("roc_auc", "log_loss")
_ERRORS = {"A": 0.1, "B": 0.15}
"""Share of rows in which each model errs."""
_SHIFTS, _SLOPE = {"A": 1.3, "B": 1.1}, 2.0  # of scores, normal within each label
_COMMON = 0.7  # correlation of the scores of two models within each label
_POPULATION = 2_000_000  # rows for the true log loss
_LEAST = 0.02  # probability of an active label
_ONE_DISAGREES, _JUDGE_DISAGREES = 4.0, 16.0  # times that of rows where all agree
_JOINTLY = "all jointly"


class Judged(NamedTuple):
    """Rows of which a part is labelled, and a judge of all."""

    n: int
    prevalence: float
    right: float
    judge: str
    scores: bool = False
    labelling: str = _AT_RANDOM

    @property
    def setting(self):
        cells = {
            "labelling": self.labelling,
            "metrics of": "scores" if self.scores else "labels",
            "judge": self.judge,
            "right": f"{self.right:g}",
            "prevalence": f"{self.prevalence:g}",
            "labels": f"{self.n:,}",
        }
        calls = {name: partial(_answer, of=name) for name in ("partial", "alone")}
        return Setting(cells, self.draw, self.truths, calls)

    def draw(self, rng):
        """Truth, predictions or scores, and which rows are labelled in which way."""
        columns = self.columns(rng, _ROWS)
        labelled, options = self._label(rng, columns)
        at_random = labelled
        if self.labelling != _AT_RANDOM:
            at_random = rng.permutation(_ROWS) < labelled.sum()
        kind = "y_score" if self.scores else "y_pred"
        metrics = _OF_SCORES if self.scores else _OF_LABELS
        few = {name: each[at_random] for name, each in columns[kind].items()}
        return {
            "partial": {
                "y_true": np.where(labelled, columns["y_true"], np.nan),
                kind: columns[kind],
                "metrics": metrics,
                **options,
            },
            "alone": {
                "y_true": columns["y_true"][at_random],
                kind: few,
                "metrics": metrics,
            },
        }

    def columns(self, rng, size):
        y = (rng.random(size) < self.prevalence).astype(int)
        models = {
            name: np.where(rng.random(size) < error, 1 - y, y)
            for name, error in _ERRORS.items()
        }
        columns = {"y_true": y, "y_pred": models}
        columns["proxy"] = self._judge(rng, y, models["A"])
        if self.scores:
            common, logits = rng.normal(size=size), {}
            for name, shift in _SHIFTS.items():
                noise = math.sqrt(1 - _COMMON) * rng.normal(size=size)
                signal = shift * (2 * y - 1) + math.sqrt(_COMMON) * common + noise
                logits[name] = _SLOPE * signal + logit(self.prevalence)
            columns["y_score"] = {name: expit(x) for name, x in logits.items()}
            columns["y_pred"] = {name: (x > 0) * 1 for name, x in logits.items()}
        return columns

    def _judge(self, rng, y, first):
        if self.judge == _COPY:
            return first.copy()
        if self.judge == _RANDOM:
            return rng.integers(0, 2, len(y))
        ratio, error = np.ones(len(y)), 1 - self.right
        if self.judge == "errs with A":
            ratio = np.where(first != y, 2.0, 1.0)
        elif self.judge == "errs on positives":
            ratio = np.where(y == 1, 2.0, 1.0)
        wrong = np.minimum(ratio / ratio.mean() * error, 0.95)
        return np.where(rng.random(len(y)) < wrong, 1 - y, y)

    def _label(self, rng, columns):
        """Which rows are labelled, and the options that say why."""
        proxy, models = columns["proxy"], columns["y_pred"]
        if self.labelling == _BY_PREDICTION:
            parts = [np.flatnonzero(models["A"] == label) for label in (0, 1)]
            rows = [rng.choice(part, self.n // 2, False) for part in parts]
            drawn = np.isin(np.arange(_ROWS), np.concatenate(rows))
            return drawn, {"proxy": "prediction"}
        if self.labelling == _ACTIVE:
            chance = _probabilities([*models.values()], proxy, self.n)
            options = {"proxy": proxy, "label_probability": chance}
            return rng.random(_ROWS) < chance, options
        labelled = np.zeros(_ROWS, dtype=bool)
        labelled[rng.choice(_ROWS, self.n, replace=False)] = True
        return labelled, {"proxy": proxy}

    def truths(self):
        """True values of the first model, of one metric of the second, and the gap."""
        found = _true_values(self.prevalence, self.scores)
        compared = (_OF_SCORES if self.scores else _OF_LABELS)[0]
        first, second = found["A", compared], found["B", compared]
        named = {key[1]: value for key, value in found.items() if key[0] == "A"}
        named |= {f"{compared} of B": second, f"A - B, {compared}": first - second}
        return found | named


@cache
def _true_values(prevalence, scores):
    """True values by model and metric."""
    if scores:
        large = Judged(1, prevalence, 1.0, _RANDOM, scores=True)
        drawn = large.columns(np.random.default_rng(0), _POPULATION)
        models = {"y_score": drawn["y_score"]}
        report = skci.joint_report(
            drawn["y_true"], **models, metrics=_OF_SCORES, method="delta"
        )
        return {key: float(report[key]) for key in report}
    found = {}
    for model, error in _ERRORS.items():
        within = np.array([[1 - error, error], [error, 1 - error]])
        shares = within * [[1 - prevalence], [prevalence]]
        counts = np.rint(shares * 1e9).astype(int)
        report = skci.confusion_matrix_report(
            counts, metrics=_OF_LABELS, method="delta"
        )
        for metric in _OF_LABELS:
            found[model, metric] = float(report["y_pred", metric])
    return found


def _probabilities(models, proxy, n):
    """Probabilities of labels, greater where the models or the judge disagree.

    From `_LEAST` to 1, with a sum of n.
    """
    first, *others = models
    agree = np.all([first == each for each in others], axis=0)
    alone = np.all([proxy != each for each in models], axis=0)
    size = np.where(agree & ~alone, 1.0, _ONE_DISAGREES)
    size[alone] = _JUDGE_DISAGREES
    scale = brentq(
        lambda scale: np.clip(scale * size, _LEAST, 1).sum() - n, 0, 1, xtol=1e-9
    )
    return np.clip(scale * size, _LEAST, 1)


def _answer(sample, of):
    """Intervals of A, of one metric of B, of their difference, and all of A jointly."""
    report, compared = skci.joint_report(**sample[of]), sample[of]["metrics"][0]
    individual, of_first = report.individual(), report.select(models="A")
    gaps = report.differences(metrics=compared).individual()
    found = {key[1]: individual[key] for key in of_first}
    found[f"{compared} of B"] = individual["B", compared]
    (found[f"A - B, {compared}"],) = gaps.values()
    return found | ({_JOINTLY: of_first} if of == "partial" else {})


_LABELS, _PREVALENCES, _RIGHT = (50, 100, 300, 1000), (0.05, 0.3), (0.7, 0.9, 0.98)
_AT_RANDOM_SETTINGS = [
    *(Judged(*each, _INDEPENDENT) for each in product(_LABELS, _PREVALENCES, _RIGHT)),
    *(
        Judged(n, prevalence, 0.9, judge)
        for n, prevalence, judge in product((100, 300), _PREVALENCES, _JUDGES[1:])
    ),
    *(
        Judged(n, 0.3, right, judge, scores=True)
        for n, (judge, right) in product(
            _LABELS, ((_INDEPENDENT, 0.9), (_INDEPENDENT, 0.98), (_RANDOM, 0.9))
        )
    ),
]
_CHOSEN_SETTINGS = [
    *(
        Judged(n, prevalence, 0.9, _INDEPENDENT, labelling=_BY_PREDICTION)
        for n, prevalence in product(_LABELS[1:], _PREVALENCES)
    ),
    *(
        Judged(n, prevalence, 0.9, judge, scores, _ACTIVE)
        for n, judge, (scores, prevalence) in product(
            _LABELS[2:],
            (_INDEPENDENT, _COPY),
            ((False, 0.05), (False, 0.3), (True, 0.3)),
        )
    ),
]


def tables(simulate):
    found, chosen = (
        _with_widths(simulate([each.setting for each in settings], 200))
        for settings in (_AT_RANDOM_SETTINGS, _CHOSEN_SETTINGS)
    )
    independent = found.where(judge=_INDEPENDENT)
    labels = found.where(**{"metrics of": "labels"})
    single = found.without(of=_JOINTLY)
    setting = ("metrics of", "judge", "right", "prevalence", "labels")
    return {
        "By the number of labels": [_rows(independent, "labels")],
        "By the judge": [_rows(labels, "judge", "right")],
        "By the metric": [_rows(single, "of")],
        "By how rows are labelled": [_rows(chosen, "labelling", *setting)],
        "Each setting": [_rows(found, *setting)],
    }


def _with_widths(found):
    """Records of intervals with a judge, and their widths over those without."""
    alone, judged = widths(found.where(call="alone")), found.where(call="partial")
    ratios = [width / alone.get(key, math.nan) for key, width in widths(judged).items()]
    return Records(
        [each | {"ratio": x} for each, x in zip(judged, ratios, strict=True)]
    )


def _rows(found, *keys):
    return [values | _shares(chosen) for values, chosen in found.groups(*keys)]


def _shares(records):
    """Mean coverage, share of warnings and ratios of widths."""
    single, joint = records.without(of=_JOINTLY), records.where(of=_JOINTLY)
    ratios = single.column("ratio")
    return {
        "coverage": mean_of(single),
        "minimum": share(min(single.column("coverage"))),
        "joint": mean_of(joint),
        "warns": percent(single.mean("warned")),
        "unwarned misses": mean_of(single, "unwarned"),
        "width": f"{median(ratios):.2f}",
        "widest": f"{max(ratios):.2f}",
    }
