"""The battery of scores: all metrics of one column of scores for two classes."""

from functools import partial

import numpy as np
from battery import Case, Family, Rows, on_rows
from classes_battery import delong, mean, mean_area, precision_area, roc_area
from scipy.special import expit
from sklearn import metrics as sk

import skci


def log_loss(weights, truth, scores):
    return mean(weights, -np.log(np.where(truth, scores, 1 - scores))[:, 0])


def brier_score(weights, truth, scores):
    return mean(weights, ((scores - truth) ** 2)[:, 0])


CASES = {
    "roc_auc": Case(
        skci.RocAucCI(),
        partial(mean_area, roc_area, None),
        sk.roc_auc_score,
        empirical_influence=partial(delong, None),
    ),
    "average_precision": Case(
        skci.AveragePrecisionCI(),
        partial(mean_area, precision_area, None),
        sk.average_precision_score,
    ),
    "brier_score": Case(skci.BrierScoreCI(), brier_score, sk.brier_score_loss),
    "log_loss": Case(skci.LogLossCI(), log_loss, sk.log_loss),
}


def some_scores(n=150, seed=0, positive=0.3, gain=1.5, decimals=2):
    """Draw labels and probabilities of the positive one, some of which are tied."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive).astype(int)
    scores = expit(rng.normal(size=n) + gain * (y - 0.5))
    scores = np.clip(np.round(scores, decimals), 0.01, 0.99)
    return Rows(y, scores, y[:, np.newaxis] == 1, scores[:, np.newaxis])


Y = np.repeat([0, 1], [12, 9])
DEGENERATE = {
    "perfect": (Y, Y),
    "all wrong": (Y, 1 - Y),
    "all alike": (Y, np.full(21, 0.4)),
    "one positive row": (np.arange(20) // 19, np.linspace(0.1, 0.9, 20)),
    "one row wrong": (Y, np.where(np.arange(21) == 3, 1, Y)),
    "a row of each": ([0, 1], [0.2, 0.7]),
}

FAMILY = Family(
    CASES,
    some_scores,
    [
        some_scores(4000, seed=1, decimals=1),
        some_scores(4000, seed=2, positive=0.5, gain=1.0, decimals=1),
        some_scores(4000, seed=3, positive=0.2, gain=2.5, decimals=1),
    ],
    reads="scores",
    degenerate=on_rows(DEGENERATE),
)
