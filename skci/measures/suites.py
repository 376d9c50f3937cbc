"""Aggregates of the scores of runs on the tasks of a suite, as rliable defines them.

Each takes scores of runs and their weights, the same for each task and within tasks for
each run, which add up to 1, and returns a value and an influence value for each run.
"""

from __future__ import annotations

import numpy as np

from skci._arrays import Array

_TRIMMED = 0.25  # share of the scores at either end that the mean is without
_ROUNDING = 1e-9  # of a number of scores


def interquartile_mean(scores: Array, weights: Array) -> tuple[float, Array]:
    r"""Mean of the middle half of all scores.

    As many scores of n are left out at either end as are whole in n / 4. With the
    quantiles a and b at these ends the influence value of a score x is
    :math:`\min(\max(x, a), b)` over the share that is left, less its mean.
    """
    order = np.argsort(scores, kind="stable")
    ranked, ends = scores[order], np.cumsum(weights[order])
    n = len(scores)
    trimmed = np.floor(_TRIMMED * n + _ROUNDING) / n
    kept = np.diff(np.clip(ends, trimmed, 1 - trimmed), prepend=trimmed)
    value = kept @ ranked / kept.sum()
    inside = np.flatnonzero(kept > _ROUNDING / n)
    clipped = np.clip(scores, *ranked[inside[[0, -1]]])
    influence = (clipped - weights @ clipped) / (1 - 2 * trimmed)
    return float(value), influence


def mean_below(
    scores: Array, weights: Array, most: float = np.inf
) -> tuple[float, Array]:
    """Mean of the scores, of which none counts more than `most`."""
    values = np.minimum(scores, most)
    mean = float(weights @ values)
    return mean, values - mean


def probability_of_improvement(
    first: list[Array], second: list[Array]
) -> tuple[float, Array, Array]:
    """Probability that a run of one model is better than one of another, over tasks.

    Ties count half. With the influence values of the runs of each model, task by task,
    relative to the weight of each in the scores of its model.
    """
    wins = [
        (x[:, np.newaxis] > y) + 0.5 * (x[:, np.newaxis] == y)
        for x, y in zip(first, second, strict=True)
    ]
    value = float(np.mean([each.mean() for each in wins]))
    of_first = np.concatenate([each.mean(axis=1) - value for each in wins])
    of_second = np.concatenate([each.mean(axis=0) - value for each in wins])
    return value, of_first, of_second
