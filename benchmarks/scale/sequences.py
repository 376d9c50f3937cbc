"""Confidence sequences without a horizon, for the mean of values in [0, 1].

Each holds at every n from 1 on, all at once. They share no code with skci.

References
----------
Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by
betting. JRSS B 86, 1-27.

Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. H. and Ramdas, A. (2024).
Time-uniform central limit theory and asymptotic confidence sequences. Annals of
Statistics 52, 2613-2640.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common import Array

_TRUNCATION = 0.5  # of the bets
_GRID = 1000  # means that betting may leave


def normal_mixture(n: Array, alpha: float, best_at: float) -> Array:
    """Half width of the asymptotic sequence in standard errors.

    It is narrowest at about `best_at` rows.
    """
    log = -2 * math.log(alpha)
    scaled = n * (log + math.log(log + 1)) / best_at
    root = 2 * (scaled + 1) / scaled * np.log(np.sqrt(scaled + 1) / alpha)
    return np.asarray(np.sqrt(root))


def empirical_bernstein(x: Array, looks: Array, alpha: float) -> Array:
    """Half widths of the predictable plug-in sequence at some looks."""
    means, bets = _plug_in(x, alpha)
    bets = np.minimum(bets, _TRUNCATION)
    previous = np.append(0.5, means[:-1])
    psi = -np.log1p(-bets) - bets
    penalty = np.cumsum((x - previous) ** 2 * psi)
    half = (math.log(2 / alpha) + penalty) / np.cumsum(bets)
    return np.asarray(half[looks - 1])


def betting(x: Array, looks: Array, alpha: float) -> Array:
    """Half widths of the hedged capital process at some looks.

    Means on a grid stay in the sequence as long as neither of two gamblers, one of them
    betting on a larger and one on a smaller mean, has multiplied his capital.
    """
    _, bets = _plug_in(x, alpha)
    grid = (np.arange(_GRID) + 0.5) / _GRID
    up, down = np.zeros((2, _GRID))
    halves, first = [], 0
    for look in looks.tolist():
        gains = x[first:look, np.newaxis] - grid
        bet = bets[first:look, np.newaxis]
        up += np.log1p(np.minimum(bet, _TRUNCATION / grid) * gains).sum(axis=0)
        down += np.log1p(-np.minimum(bet, _TRUNCATION / (1 - grid)) * gains).sum(axis=0)
        left = np.maximum(up, down) < math.log(2 / alpha)
        halves.append(np.count_nonzero(left) / (2 * _GRID))
        first = look
    return np.array(halves)


def _plug_in(x: Array, alpha: float) -> tuple[Array, Array]:
    """Regularised running means, and bets from the running variance before each row."""
    number = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (number + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (number + 1)
    before = np.append(0.25, variances[:-1])
    bets = np.sqrt(2 * math.log(2 / alpha) / (before * number * np.log(number + 1)))
    return means, bets
