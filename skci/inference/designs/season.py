"""Seasons: autocorrelation at the multiples of a lag, and not in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from skci._arrays import Array

_LEVEL = 0.1  # of tests at all lags; most of what they find by chance does not matter
_LEVEL_OF_PERIOD = 0.05
_FEWEST_PERIODS = 4  # in a series
_NOTABLE = 3.0  # standard errors of an autocorrelation of uncorrelated rows
_SLOWEST = 0.99  # decay
_MOST_PERIODS = 1000  # after which nothing is left of the autocorrelation
_ROUNDING = 1e-12  # share of a squared variance


class Season(NamedTuple):
    """A period, in rows, and the autocorrelations at its multiples."""

    period: int
    autocorrelation: float
    """That of rows one period apart."""
    decay: float
    """Ratio of that of rows one more period apart."""

    def autocovariances(self, n: int) -> tuple[Array, Array]:
        """Lags in n rows, and their parts of the variance of a sum, in variances."""
        lags = np.arange(0, n, self.period)[:_MOST_PERIODS]
        powers = 2 * self.autocorrelation * self.decay ** np.arange(len(lags) - 1)
        return lags, (1 - lags / n) * np.append(1, powers)


def find_season(series: Sequence[Array]) -> Season | None:
    r"""Find the strongest significant autocorrelation that an autoregression lacks.

    That of the residuals e of an autoregression of order 1, which may be observed with
    noise, is tested at each lag k of 2 or more by

    .. math:: z_k = \sum_t e_t e_{t-k} \Bigl/ \sqrt{\sum_t e_t^2 e_{t-k}^2} ,

    which allows for changing variances (Taylor, 1984). The levels of all lags add up,
    and are in proportion to 1 / k, as long periods are no more likely than short ones.
    Then the mean of the rows of each phase is subtracted, since a pattern that repeats
    itself adds nothing to the variance of means of whole periods.

    Parameters
    ----------
    series : sequence of ndarray
        Values of each series, in order of time.

    Returns
    -------
    Season or None

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
    period = int(lags[products[lags].argmax()])
    remainders = [_without_pattern(values, period) for values in residuals]
    products, squares = _lagged_sums(remainders, 2 * period)
    variance, first, second = products[::period]
    if first <= -ndtri(_LEVEL_OF_PERIOD) * np.sqrt(max(squares[period], least)):
        return None
    decay = float(np.clip(second / first, 0, _SLOWEST))
    return Season(period, float(first / variance), decay)


def _prewhitened(values: Array) -> Array:
    """Residuals of an autoregression of order 1 that may be observed with noise.

    Its autocorrelation then decays by the ratio of those at lags 2 and 1.
    """
    values = values - values.mean()
    sums = [values[k:] @ values[: len(values) - k] for k in range(3)]
    if not sums[0]:
        return values[1:]
    slope = sums[1] / sums[0]
    if slope > _NOTABLE / np.sqrt(len(values)):
        slope = np.clip(sums[2] / sums[1], slope, 1.0)
    return values[1:] - slope * values[:-1]


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
