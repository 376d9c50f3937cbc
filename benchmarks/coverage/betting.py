"""Interval for the mean of bounded values by betting."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from benchmarks.common import Array

_MOST = 0.5  # of the wealth at stake


def betting_interval(
    values: Array, bounds: tuple[float, float], confidence_level: float
) -> tuple[float, float]:
    """Hedged capital interval for a fixed number of independent values.

    A mean is rejected if the wealth of one who bets against it, half on a greater and
    half on a smaller one, ever reaches the inverse of the error rate.

    References
    ----------
    Waudby-Smith and Ramdas (2023). Estimating means of bounded random variables by
    betting. Journal of the Royal Statistical Society B 86, 1-27.
    """
    low, high = bounds
    shares = (np.asarray(values, dtype=float) - low) / (high - low)
    goal = np.log(2 / (1 - confidence_level))
    least, greatest = _least(shares, goal), 1 - _least(1 - shares, goal)
    return low + (high - low) * least, low + (high - low) * greatest


def _least(shares: Array, goal: float) -> float:
    """Least mean that bets on a greater one do not reject."""
    steps = np.arange(1, len(shares) + 1)
    means = (0.5 + np.cumsum(shares)) / (steps + 1)
    variances = (0.25 + np.cumsum((shares - means) ** 2)) / (steps + 1)
    before = np.append(0.25, variances[:-1])
    bets = np.sqrt(2 * goal / (len(shares) * before))

    def excess(mean: float) -> float:
        stakes = np.minimum(bets, _MOST / mean)
        return float(np.cumsum(np.log1p(stakes * (shares - mean))).max() - goal)

    smallest = np.finfo(float).tiny
    return brentq(excess, smallest, 1.0) if excess(smallest) > 0 else 0.0
