"""Autocorrelation that lasts longer than that of an autoregression of order 1.

Such as that of a season, at multiples of its period, or of rare long runs of errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from skci._arrays import Array

_LEVEL = 0.2  # of tests at all lags; most of what they find by chance does not matter
_LEVEL_OF_LAG = 0.05
_FEWEST_PERIODS = 4  # lags in a series
_SLOWEST = 0.99  # decay
_MOST_MULTIPLES = 1000  # of a lag, as of which nothing is left
_ROUNDING = 1e-12  # share of a squared variance


class Recurrence(NamedTuple):
    """Autocorrelations at the multiples of a lag."""

    lag: int
    autocorrelation: float
    """That at the lag."""
    decay: float
    """Ratio of that at each further multiple to the one before."""

    def autocovariances(self, n: int) -> tuple[Array, Array]:
        """Lags in n rows, and their parts of the variance of a sum, in variances."""
        lags = np.arange(0, n, self.lag)[:_MOST_MULTIPLES]
        powers = 2 * self.autocorrelation * self.decay ** np.arange(len(lags) - 1)
        return lags, (1 - lags / n) * np.append(1, powers)


def find_recurrence(series: Sequence[Array]) -> Recurrence | None:
    r"""Find the strongest significant autocorrelation at a lag of two or more.

    That of the residuals e of an autoregression of order 1 is tested at each lag k by

    .. math:: z_k = \sum_t e_t e_{t-k} \Bigl/ \sqrt{\sum_t e_t^2 e_{t-k}^2} ,

    which allows for changing variances (Taylor, 1984), with Bonferroni's correction for
    the number of lags. Then the mean of the rows of each phase is subtracted, since a
    pattern that repeats itself adds nothing to the variance of means of whole periods.

    Parameters
    ----------
    series : sequence of ndarray
        Values of each series, in order of time.

    Returns
    -------
    Recurrence or None

    References
    ----------
    Taylor (1984), Journal of Time Series Analysis 5, 155-160.
    """
    residuals = [_prewhitened(values) for values in series]
    n_lags = max(map(len, residuals)) // _FEWEST_PERIODS
    if n_lags < 2:
        return None
    products, squares = _lagged_sums(residuals, n_lags)
    least = _ROUNDING * products[0] ** 2
    lags = np.arange(2, n_lags + 1)
    quantiles = -ndtri(_LEVEL / lags / (1 / lags).sum())
    limits = quantiles * np.sqrt(np.maximum(squares[2:], least))
    lags = lags[products[2:] > limits]
    if not len(lags):
        return None
    lag = int(lags[products[lags].argmax()])
    remainders = [_without_pattern(values, lag) for values in residuals]
    products, squares = _lagged_sums(remainders, 2 * lag)
    variance, first, second = products[::lag]
    if first <= -ndtri(_LEVEL_OF_LAG) * np.sqrt(max(squares[lag], least)):
        return None
    decay = float(np.clip(second / first, 0, _SLOWEST))
    return Recurrence(lag, float(first / variance), decay)


def _prewhitened(values: Array) -> Array:
    """Residuals of an autoregression of order 1."""
    values = values - values.mean()
    before, square = values[:-1], values @ values
    slope = before @ values[1:] / square if square else 0.0
    return values[1:] - slope * before


def _without_pattern(values: Array, period: int) -> Array:
    """Values less the mean of their phase."""
    phase = np.arange(len(values)) % period
    means = np.bincount(phase, values) / np.bincount(phase)
    return values - means[phase]


def _lagged_sums(series: Sequence[Array], n_lags: int) -> Array:
    """Sums of products at lags up to n_lags, and of squared products, by lag."""
    total = np.zeros((2, n_lags + 1))
    for values in series:
        size = next_fast_len(len(values) + n_lags, real=True)
        powers = np.abs(rfft([values, values**2], size)) ** 2
        total += irfft(powers, size)[:, : n_lags + 1]
    return total
