"""Simulated estimates where few rows have a truth: coverage, width and warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record

N_ROWS = 5_000
JUDGES = (
    "independent errors",
    "errs with A",
    "errs on positives",
    "random",
    "copies A",
)
"""How a judge errs; the last two tell nothing of model A."""
AT_RANDOM, BY_PREDICTION, ACTIVE = "at random", "by prediction", "active"
"""How rows are labelled: in equal parts of what A predicts, without a judge; or with
probabilities from `_LEAST` to 1, by who disagrees."""
LABEL_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "specificity",
    "f1",
    "matthews_corrcoef",
)
SCORE_METRICS = ("roc_auc", "log_loss")
ERRORS = {"A": 0.1, "B": 0.15}
"""Share of rows in which each model errs."""
_SHIFTS, _SLOPE = {"A": 1.3, "B": 1.1}, 2.0  # of scores, normal within each label
_COMMON = 0.7  # correlation of the scores of two models within each label
_POPULATION = 2_000_000  # rows for the true log loss
_LEAST = 0.02  # probability of an active label
_ONE_DISAGREES, _JUDGE_DISAGREES = 4.0, 16.0  # times that of rows where all agree


@dataclass(frozen=True)
class Judged:
    """Rows of which a part is labelled, and a judge of all."""

    n: int
    prevalence: float
    right: float
    judge: str
    scores: bool = False
    labelling: str = AT_RANDOM

    def draw(self, rng: np.random.Generator, size: int = N_ROWS) -> dict[str, Any]:
        """Truth, predictions or scores of the models, and labels of the judge."""
        y = (rng.random(size) < self.prevalence).astype(int)
        models = {
            name: np.where(rng.random(size) < error, 1 - y, y)
            for name, error in ERRORS.items()
        }
        columns: dict[str, Any] = {"y_true": y, "y_pred": models}
        if self.scores:
            common, logits = rng.normal(size=size), {}
            for name, shift in _SHIFTS.items():
                noise = math.sqrt(1 - _COMMON) * rng.normal(size=size)
                signal = shift * (2 * y - 1) + math.sqrt(_COMMON) * common + noise
                logits[name] = _SLOPE * signal + logit(self.prevalence)
            columns["y_score"] = {name: expit(x) for name, x in logits.items()}
            columns["y_pred"] = {
                name: (x > 0).astype(int) for name, x in logits.items()
            }
        columns["proxy"] = self._judge(rng, y, models["A"])
        return columns

    def _judge(self, rng: np.random.Generator, y: Array, first: Array) -> Array:
        if self.judge == "copies A":
            return first.copy()
        if self.judge == "random":
            return rng.integers(0, 2, len(y))
        share, error = np.ones(len(y)), 1 - self.right
        if self.judge == "errs with A":
            share = np.where(first != y, 2.0, 1.0)
        elif self.judge == "errs on positives":
            share = np.where(y == 1, 2.0, 1.0)
        wrong = np.minimum(share / share.mean() * error, 0.95)
        return np.where(rng.random(len(y)) < wrong, 1 - y, y)

    def label(
        self, rng: np.random.Generator, columns: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        """Which rows are labelled, and the options that say why."""
        proxy, models = columns["proxy"], columns["y_pred"]
        if self.labelling == BY_PREDICTION:
            half = self.n // 2
            parts = [np.flatnonzero(models["A"] == label) for label in (0, 1)]
            rows = np.concatenate([rng.choice(part, half, False) for part in parts])
            return np.isin(np.arange(N_ROWS), rows), {"proxy": "prediction"}
        if self.labelling == ACTIVE:
            probability = _probabilities([*models.values()], proxy, self.n)
            options = {"proxy": proxy, "label_probability": probability}
            return rng.random(N_ROWS) < probability, options
        labelled = np.zeros(N_ROWS, dtype=bool)
        labelled[rng.choice(N_ROWS, self.n, replace=False)] = True
        return labelled, {"proxy": proxy}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that are estimated."""
        return SCORE_METRICS if self.scores else LABEL_METRICS

    @property
    def compared(self) -> str:
        """Name of the metric by which the models are compared."""
        return "roc_auc" if self.scores else "accuracy"

    def truths(self) -> dict[tuple[str, str], float]:
        """True values by model and metric."""
        if self.scores:
            large = self.draw(np.random.default_rng(0), _POPULATION)
            report = skci.joint_report(
                large["y_true"],
                y_score=large["y_score"],
                metrics=self.metrics,
                method="delta",
            )
            return {key: float(estimate) for key, estimate in report.items()}
        found = {}
        for model, error in ERRORS.items():
            p = self.prevalence
            table = np.array([[(1 - p) * (1 - error), (1 - p) * error]])
            table = np.append(table, [[p * error, p * (1 - error)]], axis=0)
            counts = np.rint(table * 1e9).astype(int)
            report = skci.confusion_matrix_report(
                counts, metrics=self.metrics, method="delta"
            )
            for metric in self.metrics:
                found[model, metric] = float(report["y_pred", metric])
        return found


@dataclass(frozen=True)
class PartialTruth:
    """Coverage and widths in samples of a setting."""

    setting: Judged
    draws: int

    @property
    def cost(self) -> float:
        return self.draws * (5 if self.setting.scores else 1)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """A record for each metric, for differences, and for all jointly."""
        truths = self.setting.truths()
        samples = [self._sample(rng, truths) for _ in range(self.draws)]
        setting = asdict(self.setting)
        records = []
        for of in samples[0]:
            values = [sample[of] for sample in samples]
            covered, warned, ratios = np.transpose(values)
            record = {"of": of, "coverage": covered.mean(), "warned": warned.mean()}
            record["unwarned"] = np.mean((covered == 0) & (warned == 0))
            record["width"] = float(np.median(ratios))
            records.append(setting | {k: _plain(v) for k, v in record.items()})
        return records

    def _sample(
        self, rng: np.random.Generator, truths: dict[tuple[str, str], float]
    ) -> dict[str, tuple[bool, bool, float]]:
        """Whether intervals cover, warn, and their width over that of random labels."""
        columns = self.setting.draw(rng)
        labelled, options = self.setting.label(rng, columns)
        y = columns["y_true"]
        kind = "y_score" if self.setting.scores else "y_pred"
        models = columns[kind]
        at_random = labelled
        if self.setting.labelling != AT_RANDOM:
            at_random = rng.permutation(N_ROWS) < labelled.sum()
        few = {name: values[at_random] for name, values in models.items()}
        metrics = self.setting.metrics
        partly = np.where(labelled, y, np.nan)
        reports = [
            skci.joint_report(partly, **{kind: models}, **options, metrics=metrics),
            skci.joint_report(y[at_random], **{kind: few}, metrics=metrics),
        ]
        of_first = [report.select(models="A") for report in reports]
        found = _of_each(of_first, truths)
        joint, any_warned = _limits(of_first[0])
        values = np.array([truths[key] for key in of_first[0]])
        all_covered = ((joint[:, 0] <= values) & (values <= joint[:, 1])).all()
        found["all jointly"] = all_covered, any_warned.any(), math.nan
        compared = self.setting.compared
        of_second = [report.select(models="B", metrics=compared) for report in reports]
        of_second = _of_each(of_second, truths)
        found |= {f"{name} of B": values for name, values in of_second.items()}
        gaps = [report.differences(metrics=compared) for report in reports]
        gap = truths["A", compared] - truths["B", compared]
        (of_gap,) = _of_each(gaps, dict.fromkeys(gaps[0], gap)).values()
        found[f"A - B, {compared}"] = of_gap
        return found


def _of_each(
    reports: Sequence[Any], truths: Mapping[Any, float]
) -> dict[str, tuple[bool, bool, float]]:
    """Whether intervals of a report cover, warn, and their widths over another's."""
    (limits, warned), (others, _) = (_limits(report.individual()) for report in reports)
    ratios = np.diff(limits).ravel() / np.diff(others).ravel()
    values = np.array([truths[key] for key in reports[0]])
    covered = (limits[:, 0] <= values) & (values <= limits[:, 1])
    names = [key[-1] for key in reports[0]]
    return dict(zip(names, zip(covered, warned, ratios, strict=True), strict=True))


def _probabilities(models: list[Array], proxy: Array, n: int) -> Array:
    """Probabilities of labels that are greater where the models or the judge disagree.

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


def _limits(report: Any) -> tuple[Array, Array]:
    """Limits of all intervals, and which of them come with a warning."""
    limits, warned = [], []
    for key in report:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            limits.append(report[key].confidence_interval())
        warned.append(bool(caught))
    return np.array(limits), np.array(warned)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.floating) else value
