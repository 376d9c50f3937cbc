"""The battery of scores: all metrics of one column of scores for two classes."""

from functools import partial

import numpy as np
from battery import Case, Family, Rows, on_rows, slopes
from classes_battery import (
    area_by_positives,
    area_by_recalls,
    delong,
    mean,
    mean_area,
    precision_area,
    roc_area,
)
from scipy.special import expit, logit
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


def hinge_loss(weights, truth, scores):
    return mean(weights, np.maximum(1 - np.where(truth, scores, -scores), 0)[:, 0])


def net_benefit(threshold, weights, truth, scores):
    treated = scores >= threshold
    hits, misses = (mean(weights, (treated & of)[:, 0]) for of in (truth, ~truth))
    return hits - misses * threshold / (1 - threshold)


def standardized_net_benefit(threshold, weights, truth, scores):
    benefit = net_benefit(threshold, weights, truth, scores)
    return benefit / mean(weights, truth[:, 0])


def interventions_avoided(threshold, weights, truth, scores):
    of_all = net_benefit(threshold, weights, truth, np.ones_like(scores))
    gain = net_benefit(threshold, weights, truth, scores) - of_all
    return gain / (threshold / (1 - threshold))


def observed_to_expected(weights, truth, scores):
    return mean(weights, truth[:, 0]) / mean(weights, scores[:, 0])


def calibration_intercept(weights, truth, scores):
    """Bisect the sum of the residuals, which falls in the intercept."""
    low, high = (np.full(weights.shape[:-1], end) for end in (-20.0, 20.0))
    observed = mean(weights, truth[:, 0])[..., 0]
    for _ in range(60):
        middle = (low + high) / 2
        fitted = expit(logit(scores[:, 0]) + middle[..., np.newaxis])
        expected = (weights * fitted).sum(axis=-1) / weights.sum(axis=-1)
        low = np.where(expected < observed, middle, low)
        high = np.where(expected < observed, high, middle)
    return middle[..., np.newaxis]


def calibration_slope(weights, truth, scores):
    """Iterate weighted least squares of the working response."""
    x, y = logit(scores[:, 0]), truth[:, 0]
    z = np.stack([np.ones_like(x), x], axis=1)
    found = np.zeros((*weights.shape[:-1], 2))
    for _ in range(30):
        fitted = expit(found @ z.T)
        spread = weights * fitted * (1 - fitted)
        response = found @ z.T + (y - fitted) / (fitted * (1 - fitted))
        normal = np.einsum("...i,ij,ik->...jk", spread, z, z)
        right = np.einsum("...i,ij,...i->...j", spread, z, response)
        found = np.linalg.solve(normal, right[..., np.newaxis])[..., 0]
    return found[..., 1:]


BINS = 5


def squared_calibration_error(weights, truth, scores):
    """Sum over pairs of different rows of a bin of the product of their residuals."""
    residuals, total = (truth - scores)[:, 0], 0
    for k in range(BINS):
        inside = np.clip(np.ceil(scores[:, 0] * BINS) - 1, 0, BINS - 1) == k
        r, w = residuals[inside], weights[..., inside]
        n = (w > 0).sum(axis=-1)
        centre = (w @ r) / w.sum(axis=-1)
        noise = (w**2 * (r - centre[..., np.newaxis]) ** 2).sum(axis=-1)
        noise = noise / w.sum(axis=-1) ** 2 * n / (n - 1)
        total = total + w.sum(axis=-1) * (centre**2 - noise)
    return (total / weights.sum(axis=-1))[..., np.newaxis]


def gini(weights, truth, scores):
    return 2 * mean_area(roc_area, None, weights, truth, scores) - 1


def ks_statistic(weights, truth, scores):
    """Greatest distance of the weighted distributions, at any of the scores."""
    above = scores >= np.unique(scores)
    shares = (
        (weights * own[:, 0]) @ above / (weights @ own) for own in (truth, ~truth)
    )
    return np.subtract(*shares).max(axis=-1, keepdims=True)


SHARE = 0.25


def included(share, weights, scores):
    """Proportion in which each row is among a share of all, of the greatest scores."""
    same, above = scores == scores.T, scores < scores.T
    mass = weights / weights.sum(axis=-1, keepdims=True)
    return np.clip((share - mass @ above.T) / (mass @ same), 0, 1)


def gain(share, weights, truth, scores):
    chosen = included(share, weights, scores)
    return (weights * chosen) @ truth / (weights @ truth)


def lift(share, *columns):
    return gain(share, *columns) / share


def influence_of_gain(factor, rows, weights):
    """That of the rows above the cut, less that of moving the cut along the gain."""
    positive = rows.truth[:, 0]
    mass, chosen = weights / weights.sum(), included(SHARE, weights, rows.answer)
    value = (mass * chosen) @ positive / (mass @ positive)
    reach = 1.96 * np.sqrt(SHARE * (1 - SHARE) / len(rows))
    low, high = (
        gain(SHARE + side * reach, weights, rows.truth, rows.answer) for side in (-1, 1)
    )
    of_cut = (high - low) / (2 * reach) * (chosen - SHARE)
    influence = positive * (chosen - value) / (mass @ positive) - of_cut
    return factor * (mass * influence)[:, np.newaxis]


CASES = {
    "gini": Case(
        skci.GiniCI(),
        gini,
        empirical_influence=lambda *sample: 2 * delong(None, *sample),
    ),
    "ks_statistic": Case(skci.KolmogorovSmirnovCI(), ks_statistic, smooth=False),
    "gain": Case(
        skci.GainAtCI(SHARE),
        partial(gain, SHARE),
        empirical_influence=partial(influence_of_gain, 1),
        smooth=False,
    ),
    "lift": Case(
        skci.LiftAtCI(SHARE),
        partial(lift, SHARE),
        empirical_influence=partial(influence_of_gain, 1 / SHARE),
        smooth=False,
    ),
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
    "average_precision_101": Case(
        skci.AveragePrecisionCI(interpolation="101"),
        partial(mean_area, area_by_recalls, None),
        empirical_influence=partial(
            slopes, partial(mean_area, area_by_positives, None)
        ),
        smooth=False,
    ),
    "brier_score": Case(skci.BrierScoreCI(), brier_score, sk.brier_score_loss),
    "log_loss": Case(skci.LogLossCI(), log_loss, sk.log_loss),
    "d2_brier_score": Case(
        skci.D2BrierScoreCI(), brier_skill, getattr(sk, "d2_brier_score", None)
    ),
    "d2_log_loss": Case(skci.D2LogLossCI(), log_skill, sk.d2_log_loss_score),
    "hinge_loss": Case(skci.HingeLossCI(), hinge_loss, sk.hinge_loss),
    "net_benefit": Case(skci.NetBenefitCI(0.25), partial(net_benefit, 0.25)),
    "standardized_net_benefit": Case(
        skci.StandardizedNetBenefitCI(0.25), partial(standardized_net_benefit, 0.25)
    ),
    "interventions_avoided": Case(
        skci.InterventionsAvoidedCI(0.25), partial(interventions_avoided, 0.25)
    ),
    "calibration_intercept": Case(skci.CalibrationInterceptCI(), calibration_intercept),
    "calibration_slope": Case(skci.CalibrationSlopeCI(), calibration_slope),
    "observed_to_expected": Case(skci.ObservedToExpectedCI(), observed_to_expected),
    "squared_calibration_error": Case(
        skci.SquaredCalibrationErrorCI(n_bins=BINS, strategy="uniform"),
        squared_calibration_error,
        corrected=True,
    ),
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
