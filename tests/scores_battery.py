"""The battery of scores: all metrics of one column of scores for two classes."""

from functools import partial

import numpy as np
from battery import Case, Family, Rows, named, on_rows, slopes
from classes_battery import (
    area_by_positives,
    area_by_recalls,
    brier_skill,
    delong,
    log_loss,
    log_skill,
    mean,
    mean_area,
    precision_area,
    roc_area,
)
from scipy.special import expit, logit
from sklearn import metrics as sk

import skci


def of_two_columns(textbook):
    """The textbook of scores for each of two labels."""
    return lambda weights, truth, scores: textbook(
        weights, np.hstack([~truth, truth]), np.hstack([1 - scores, scores])
    )


def brier_score(weights, truth, scores):
    return mean(weights, ((scores - truth) ** 2)[:, 0])


def top_1(weights, truth, scores):
    return mean(weights, ((scores > 0.5) == truth)[:, 0])


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


def included(share, weights, scores, among):
    """Proportion in which each row is in the share of some with the greatest scores."""
    same, above = scores == scores.T, scores < scores.T
    mass = weights * among
    mass = mass / mass.sum(axis=-1, keepdims=True)
    rest, tied = share - mass @ above.T, mass @ same
    inside = np.clip(rest / np.where(tied > 0, tied, 1), 0, 1)
    return np.where(tied > 0, inside, rest > -1e-12)


def gain(share, weights, truth, scores, among=True):
    chosen = included(share, weights, scores, among)
    return (weights * chosen) @ truth / (weights @ truth)


def lift(share, *columns):
    return gain(share, *columns) / share


def influence_at_cut(weights, truth, scores, among):
    """That of the rows above the cut, less that of moving the cut along the gain."""
    positive = truth[:, 0]
    chosen = included(SHARE, weights, scores, among)
    value = (weights * chosen) @ positive / (weights @ positive)
    reach = 1.96 * np.sqrt(SHARE * (1 - SHARE) / among.sum())
    low, high = (
        gain(SHARE + side * reach, weights, truth, scores, among) for side in (-1, 1)
    )
    of_cut = (high - low) / (2 * reach) * among * (chosen - SHARE) / (weights @ among)
    influence = positive * (chosen - value) / (weights @ positive) - of_cut
    return (weights * influence)[:, np.newaxis]


def influence_of_gain(rows, weights):
    return influence_at_cut(weights, rows.truth, rows.answer, np.ones(len(rows)))


def influence_of_lift(rows, weights):
    return influence_of_gain(rows, weights) / SHARE


def recall_at(weights, truth, scores):
    """Share of the positive rows above the cut at a share of the negative rows."""
    return gain(SHARE, weights, truth, scores, ~truth[:, 0])


def specificity_at(weights, truth, scores):
    return recall_at(weights, ~truth, -scores)


def influence_of_recall(rows, weights):
    negative = ~rows.truth[:, 0]
    return influence_at_cut(weights, rows.truth, rows.answer, negative)


def influence_of_specificity(rows, weights):
    positive = rows.truth[:, 0]
    return influence_at_cut(weights, ~rows.truth, -rows.answer, positive)


def on_roc_curve(y, scores, sample_weight=None):
    """Recall at a false positive rate of scikit-learn's interpolated curve."""
    fpr, tpr, _ = sk.roc_curve(y, scores, sample_weight=sample_weight)
    return np.interp(SHARE, fpr, tpr)


def on_reversed_curve(y, scores, sample_weight=None):
    return on_roc_curve(1 - y, -scores, sample_weight)


NAMED = {
    "brier_score": brier_score,
    "log_loss": of_two_columns(log_loss),
    "d2_brier_score": of_two_columns(brier_skill),
    "d2_log_loss": of_two_columns(log_skill),
    "hinge_loss": hinge_loss,
    "net_benefit@0.25": partial(net_benefit, 0.25),
    "standardized_net_benefit@0.25": partial(standardized_net_benefit, 0.25),
    "interventions_avoided@0.25": partial(interventions_avoided, 0.25),
    "calibration_intercept": calibration_intercept,
    "calibration_slope": calibration_slope,
    "observed_to_expected": observed_to_expected,
    "average_precision": partial(mean_area, precision_area, None),
}
"""Metrics that are smooth, by name."""


def not_smooth(metric, textbook, influence=None, scikit=None):
    return Case(metric, textbook, scikit, empirical_influence=influence, smooth=False)


CASES = {
    **{name.partition("@")[0]: named(name, own) for name, own in NAMED.items()},
    "gain": not_smooth(skci.GainAtCI(SHARE), partial(gain, SHARE), influence_of_gain),
    "lift": not_smooth(skci.LiftAtCI(SHARE), partial(lift, SHARE), influence_of_lift),
    "recall_at_specificity": not_smooth(
        skci.RecallAtSpecificityCI(1 - SHARE),
        recall_at,
        influence_of_recall,
        on_roc_curve,
    ),
    "specificity_at_recall": not_smooth(
        skci.SpecificityAtRecallCI(1 - SHARE),
        specificity_at,
        influence_of_specificity,
        on_reversed_curve,
    ),
    "average_precision_101": not_smooth(
        skci.AveragePrecisionCI(interpolation="101"),
        partial(mean_area, area_by_recalls, None),
        partial(slopes, partial(mean_area, area_by_positives, None)),
    ),
    "ks_statistic": not_smooth(skci.KolmogorovSmirnovCI(), ks_statistic),
    "roc_auc": named(
        "roc_auc",
        partial(mean_area, roc_area, None),
        empirical_influence=partial(delong, None),
    ),
    "gini": named(
        "gini", gini, empirical_influence=lambda *sample: 2 * delong(None, *sample)
    ),
    "squared_calibration_error": Case(
        skci.SquaredCalibrationErrorCI(n_bins=BINS, strategy="uniform"),
        squared_calibration_error,
        corrected=True,
    ),
    "top_k_accuracy": Case(
        skci.TopKAccuracyCI(k=1), top_1, partial(sk.top_k_accuracy_score, k=1)
    ),
}


def some_scores(n=150, seed=0, decimals=2):
    """Draw labels and probabilities of the positive one, some of which are tied."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    scores = expit(rng.normal(size=n) + 1.5 * (y - 0.5))
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
    [some_scores(4000, seed=1, decimals=1)],
    reads="scores",
    degenerate=on_rows(DEGENERATE),
)
