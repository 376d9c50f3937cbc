"""Aggregates of run scores on the tasks of a suite, as defined by rliable.

Each function accepts the scores of runs and their weights. The weights add up to 1; all
tasks have equal weight, and all runs of a task have equal weight. Each function returns
the aggregate, and an influence value for each run.
"""

from __future__ import annotations

import numpy as np

from skci._arrays import Array

_TRIMMED = 0.25  # share of the scores that is trimmed at either end
_ROUNDING = 1e-9  # rounding error of a number of scores


def interquartile_mean(scores: Array, weights: Array) -> tuple[float, Array]:
    r"""Compute the mean of the middle half of all scores.

    The floor(n / 4) smallest and the floor(n / 4) largest of n scores are trimmed. Let
    a and b be the smallest and the largest remaining score. The influence value of a
    score x is the centred value of :math:`\min(\max(x, a), b)`, divided by the
    remaining share.
    """
    order = np.argsort(scores, kind="stable")
    ranked, cumulative = scores[order], np.cumsum(weights[order])
    n = len(scores)
    trimmed = np.floor(_TRIMMED * n + _ROUNDING) / n
    remaining = np.diff(np.clip(cumulative, trimmed, 1 - trimmed), prepend=trimmed)
    value = remaining @ ranked / remaining.sum()
    inside = np.flatnonzero(remaining > _ROUNDING / n)
    clipped = np.clip(scores, *ranked[inside[[0, -1]]])
    influence = (clipped - weights @ clipped) / (1 - 2 * trimmed)
    return float(value), influence


def mean_below(
    scores: Array, weights: Array, maximum: float = np.inf
) -> tuple[float, Array]:
    """Compute the mean of scores that are clipped to at most `maximum`."""
    values = np.minimum(scores, maximum)
    mean = float(weights @ values)
    return mean, values - mean


def probability_of_improvement(
    first: list[Array], second: list[Array]
) -> tuple[float, Array, Array]:
    """Estimate the probability that a run of one model beats a run of another model.

    The probability is averaged over tasks. Ties count half. The function also returns
    two arrays with the influence values of the runs of each model, ordered by task. The
    influence value of a run is the mean result of the comparisons with this run, minus
    the estimate.
    """
    wins = [
        (x[:, np.newaxis] > y) + 0.5 * (x[:, np.newaxis] == y)
        for x, y in zip(first, second, strict=True)
    ]
    value = float(np.mean([task_wins.mean() for task_wins in wins]))
    of_first, of_second = (
        np.concatenate([task_wins.mean(axis=axis) for task_wins in wins]) - value
        for axis in (1, 0)
    )
    return value, of_first, of_second
