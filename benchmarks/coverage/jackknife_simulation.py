"""Simulated jackknives over groups of rows, of several numbers of groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sklearn import config_context

from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.cross_validation_settings import SETTINGS, Sampled, Setting
from skci.resampling.splitting import ResampledRows

PARTITIONS = {3: 10, 4: 7, 5: 5, 7: 3, 10: 1}
"""Greatest number of partitions that is simulated, by number of groups."""
SIMULATED = ("no signal", "full tree", "alike", "rare label")
"""Settings: small and unstable, unstable, stable, and unstable by a rare label."""

_DIGITS = 8
_CLIP = 0.01  # probability of a label that a training set lacks


def n_fits(n_groups: int, n_partitions: int) -> int:
    """Number of fits of each model."""
    return n_partitions * n_groups * (n_groups + 1) // 2


def jackknife_settings() -> list[Setting]:
    return [setting for setting in SETTINGS if setting.name in SIMULATED]


def n_train(setting: Setting, n_groups: int) -> int:
    """Number of rows that train."""
    return round(setting.n * (n_groups - 1) / n_groups)


@dataclass(frozen=True)
class Jackknives:
    """Estimates of all jackknives on some samples of a setting.

    They are those of `skci.cross_validate_report`, without its checks.
    """

    setting: Setting
    block: int
    draws: int
    """Number of samples in this block."""

    @property
    def cost(self) -> float:
        return -self.block  # all settings have their first blocks first

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Estimates from all rows and without each group, of shape (P, 1 + G, K)."""
        records = []
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for _ in range(self.draws):
                sample = self.setting.population.draw(self.setting.n, rng)
                seed = int(rng.integers(2**31))
                values = {
                    str(n_groups): estimates(self.setting, sample, seed, n_groups)
                    for n_groups in PARTITIONS
                }
                records.append({"setting": self.setting.name, "values": values})
        return records


def estimates(setting: Setting, sample: Sampled, seed: int, n_groups: int) -> list[Any]:
    """Estimates in each partition, from all rows and without each group."""
    rows = ResampledRows(sample.X, sample.y, None, None, seed)
    models = setting.estimators.values()
    found = []
    for groups in rows.partitions(n_groups, PARTITIONS[n_groups]):
        sums = np.stack([_sums(model, sample, groups, n_groups) for model in models])
        whole = np.einsum("raas->rs", sums)
        without = sums.sum(axis=1) - np.einsum("rkks->rks", sums)
        found.append([_metrics(whole), *map(_metrics, np.moveaxis(without, 1, 0))])
    return np.round(found, _DIGITS).tolist()


def _sums(model: Any, sample: Sampled, groups: Array, n_groups: int) -> Array:
    """What the metrics are made of, of test group a by the model without a and b."""
    X, y, *_ = sample
    sums = np.zeros((n_groups, n_groups, 7))
    for a, b in combinations_with_replacement(range(n_groups), 2):
        train = (groups != a) & (groups != b)
        predict = _fitted(model, X[train], y[train])
        for test, other in {(a, b), (b, a)}:
            rows = groups == test
            sums[test, other] = _summands(y[rows], predict(X[rows]))
    return sums


def _fitted(model: Any, X: Array, y: Array) -> Callable[[Array], Array]:
    """Function that predicts the probability of label 1."""
    if y.min() == y.max():  # where there is but one label, nothing can be learnt
        return lambda rows: np.full(len(rows), abs(y[0] - _CLIP))
    model.fit(X, y)
    return lambda rows: model.predict_proba(rows)[:, 1]


def _summands(y: Array, probability: Array) -> list[float]:
    """Cells, sum of the losses, concordant pairs and all pairs, which add up."""
    predicted, positive = probability > 0.5, y == 1
    tp, fp = np.sum(predicted & positive), np.sum(predicted & ~positive)
    fn, tn = np.sum(positive) - tp, np.sum(~positive) - fp
    loss = -np.log(np.where(positive, probability, 1 - probability)).sum()
    first, second = probability[positive, np.newaxis], probability[~positive]
    concordant = np.sum(first > second) + np.sum(first == second) / 2
    return [tp, fp, fn, tn, loss, concordant, first.size * second.size]


def _metrics(sums: Array) -> list[float]:
    """Metrics of each model from its sums, NaN where one is undefined."""
    tp, fp, fn, tn, loss, concordant, pairs = sums.T
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        mcc = (tp * tn - fp * fn) / deviation
        values = [
            (tp + tn) / n,
            2 * tp / (2 * tp + fp + fn),
            np.where(deviation > 0, mcc, np.nan),
            concordant / pairs,
            loss / n,
        ]
    return np.transpose(values).ravel().tolist()
