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


def top_1(weights, truth, scores):
    return mean(weights, ((scores > 0.5) == truth)[:, 0])


def brier_skill(weights, truth, scores):
    share = mean(weights, truth[:, 0])
    return 1 - brier_score(weights, truth, scores) / (share * (1 - share))


def log_skill(weights, truth, scores):
    share = mean(weights, truth[:, 0])
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return 1 - log_loss(weights, truth, scores) / entropy


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
    "d2_brier_score": Case(
        skci.D2BrierScoreCI(), brier_skill, getattr(sk, "d2_brier_score", None)
    ),
    "d2_log_loss": Case(skci.D2LogLossCI(), log_skill, sk.d2_log_loss_score),
    "top_k_accuracy": Case(
        skci.TopKAccuracyCI(k=1), top_1, partial(sk.top_k_accuracy_score, k=1)
    ),
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
