"""Design for rows in order of time, with autocorrelated influence values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import dct, irfft, next_fast_len, rfft
from scipy.special import ndtri

from skci._arrays import Array
from skci._validation import check_choice, check_integer
from skci.inference.designs.design import Component, SmallSampleReason

METHODS = ("cosine", "newey-west", "diebold-mariano")
# Intervals warn below an effective sample size of 120 if rows are at least 2.5 times as
# many, and below an effective sample size of 20.
_ENOUGH, _CORRELATED, _FEW = 120, 2.5, 20
_ENOUGH_FOR_T = 12  # degrees of freedom
_NOTABLE = 3.0  # standard errors from which an autocorrelation is notable
_MAX_DECAY = 0.98  # largest decay factor of autocorrelations
_REQUIRED_SHARE = 0.9  # share of the variance with a season that must be estimated
_LEVEL = 0.1  # level of tests at all lags; most false positives do not matter
_LEVEL_OF_PERIOD = 0.05
_MIN_PERIODS = 4  # minimum number of periods in a series
_MAX_SEASON_DECAY = 0.99  # largest decay factor of a season
_MAX_PERIODS = 1000  # number of periods after which the autocorrelation is zero
_ROUNDING = 1e-12  # relative rounding error of a squared variance


class TimeOrder:
    r"""Rows in order of time, such as forecasts, whose errors may be autocorrelated.

    To analyse several independent series, pass the series of each row as `groups` to
    the metric or report. The rows of each series are then in order of time. The
    interval refers to these series, not to a population of series.

    Parameters
    ----------
    time : array-like of shape (n_samples,), or str, optional
        Values by which rows are sorted, or the name of a column of `data`. By default,
        rows are already in order of time.
    method : {"cosine", "newey-west", "diebold-mariano"}, default="cosine"
        Estimator of the long-run variance. "cosine" is the equal-weighted cosine
        estimator [1]_ [2]_. "newey-west" [3]_ uses Bartlett weights and a normal
        quantile. "diebold-mariano" gives the test of that name: it adds up
        autocovariances up to `lags`, with the small-sample factor and the t quantile of
        Harvey, Leybourne and Newbold [4]_.
    lags : int, optional
        Largest lag. For "newey-west" the default is :math:`4 (n / 100)^{2/9}`. For
        "diebold-mariano" pass the forecast horizon minus one; the default is 0.
    cosines : int, optional
        Number of cosines B, by default :math:`\lceil 0.4 n^{2/3} \rceil` for the n rows
        of the shortest series. Use fewer cosines if rows are correlated over longer
        times, for example by a season.

    Notes
    -----
    With influence values :math:`L_t` of n rows and B cosines, the cosine estimator is

    .. math:: V = \frac{1}{n B} \sum_{b=1}^B \Lambda_b^2, \qquad \Lambda_b =
        \sqrt{2/n} \sum_{t=1}^n \cos\bigl(\pi b (t - 1/2) / n\bigr) L_t ,

    with a t quantile with B degrees of freedom, or fewer if most of the influence is
    concentrated in a few runs of rows, such as outages. The variances of several series
    are added. Intervals by ``method="hall"`` are corrected for skewness, which is
    computed from the sums of :math:`L_t` over windows of :math:`n^{1/3}` rows [5]_. For
    other estimators of the variance they are symmetric.

    References
    ----------
    .. [1] Mueller (2007). Journal of Econometrics 141, 1331-1352.
    .. [2] Lazarus, Lewis, Stock and Watson (2018). Journal of Business and Economic
       Statistics 36, 541-559.
    .. [3] Newey and West (1987). Econometrica 55, 703-708.
    .. [4] Harvey, Leybourne and Newbold (1997). International Journal of Forecasting
       13, 281-291.
    .. [5] Gotze and Kunsch (1996). Annals of Statistics 24, 1914-1933.

    Examples
    --------
    The test of Diebold and Mariano for two forecasters:

    >>> import numpy as np
    >>> from skci import grades_report
    >>> from skci.designs import TimeOrder
    >>> truth = np.arange(10, 60, 10)
    >>> first, second = np.array([11, 21, 29, 42, 53]), np.array([13, 26, 24, 40, 59])
    >>> report = grades_report(
    ...     {"F": (first - truth) ** 2, "G": (second - truth) ** 2},
    ...     design=TimeOrder(method="diebold-mariano"),
    ...     higher_is_better=False,
    ...     method="delta",
    ... )
    >>> difference = report.differences()["mean", "F", "G"]
    >>> round(float(difference) / difference.standard_error, 4)
    -2.223
    """

    kinds_of_units = ""

    def __init__(
        self,
        time: Any = None,
        *,
        method: str = "cosine",
        lags: int | None = None,
        cosines: int | None = None,
    ) -> None:
        self.time, self.method, self.lags, self.cosines = time, method, lags, cosines
        self._rows: list[Array] = []  # rows of each series, in order of time

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the attributes that have a value for each row."""
        return () if self.time is None else ("time",)

    def with_series(self, series: Array) -> TimeOrder:
        """Return the design for rows that belong to several time series.

        Parameters
        ----------
        series : ndarray of int of shape (n_rows,)
            Index of the time series to which each row belongs.

        Returns
        -------
        TimeOrder
            Copy of the design that stores the series.
        """
        check_choice(self.method, METHODS, "method")
        is_cosine = self.method == "cosine"
        for name, minimum, is_used in (
            ("lags", 0, not is_cosine),
            ("cosines", 1, is_cosine),
        ):
            value = getattr(self, name)
            if value is not None and not is_used:
                raise ValueError(
                    f"{name} must not be given with method={self.method!r}, got "
                    f"{value!r}"
                )
            if value is not None:
                check_integer(value, name, minimum)
        bound = copy(self)
        bound._rows = self._in_order(series)
        shortest = min(len(rows) for rows in bound._rows)
        if shortest < 4:
            raise ValueError(
                "design=TimeOrder needs series of at least four rows each, got a "
                f"series of {shortest}"
            )
        if self.cosines is not None and self.cosines >= shortest:
            raise ValueError(
                "cosines must be less than the number of rows in each series, got "
                f"{self.cosines!r} with a series of {shortest} rows"
            )
        return bound

    def _in_order(self, series: Array) -> list[Array]:
        """Return the row indices of each series, in order of time."""
        order = np.arange(len(series))
        if self.time is not None:
            order = np.argsort(np.asarray(self.time), kind="stable")
        order = order[np.argsort(series[order], kind="stable")]
        boundaries = np.cumsum(np.bincount(series))[:-1]
        return [rows for rows in np.split(order, boundaries) if len(rows)]

    @property
    def n_units(self) -> int:
        """Number of cosines with the default method, number of rows otherwise.

        The number is 0 before `with_series` is called.
        """
        rows = self._rows
        if not rows:
            return 0
        if self.method == "cosine":
            return self._n_cosines * len(rows)
        return sum(map(len, rows))

    def components(self, influences: Any) -> Iterator[Component]:
        """Yield the components of the covariance for each series.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Influence values of the rows for K estimates.

        Yields
        ------
        Component
            Component of one series, such as its cosine sums.
        """
        values, n_cosines = np.asarray(influences), self._n_cosines
        for rows in self._rows:
            if self.method == "cosine":
                yield _cosine_sums(values[rows], n_cosines)
            elif self.method == "newey-west":
                yield _bartlett_windows(values[rows], self._lags(len(rows)))
            else:
                yield from _autocovariances(values[rows], self._lags(len(rows)))

    def _lags(self, n: int) -> int:
        """Return the largest lag that is used in a series of n rows."""
        default = (
            0 if self.method == "diebold-mariano" else int(4 * (n / 100) ** (2 / 9))
        )
        return min(default if self.lags is None else self.lags, n - 1)

    @property
    def _n_cosines(self) -> int:
        """Number of cosines that are used for each series."""
        n = min(map(len, self._rows))
        return self.cosines or int(np.ceil(0.4 * n ** (2 / 3)))

    def small_sample_reason(self, influences: Any) -> str | SmallSampleReason:
        """Return a reason why an interval may be too narrow, such as seasonal data.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Values as in :meth:`Design.components`; only the first column is used.

        Returns
        -------
        str or tuple
            The reason, or an empty string. If fewer cosines help, the reason includes
            their number.
        """
        values = np.asarray(influences)[:, 0]
        values = values / (np.abs(values).max() or 1.0)  # avoid overflow of powers
        series = [values[rows] for rows in self._rows]
        return (
            self._reason_of_season(series)
            or self._reason_of_runs(series)
            or self._reason_of_few(series)
        )

    def _reason_of_season(self, series: Sequence[Array]) -> str | SmallSampleReason:
        """Return a warning if the variance is too small for seasonal data.

        Without a warning, the result is an empty string.
        """
        season = find_season(series)
        if season is None:
            return ""
        n = max(map(len, series))
        lags, autocovariances = season.autocovariances(n)
        b = np.arange(1, self._n_cosines + 1)
        spectrum = np.cos(np.pi * np.outer(b, lags) / n) @ autocovariances
        estimates, max_lag = np.cumsum(spectrum) / b, self._lags(n)
        minimum = _REQUIRED_SHARE * autocovariances.sum()
        estimate = estimates[-1]
        if self.method == "newey-west":
            estimate = np.maximum(1 - lags / (max_lag + 1), 0) @ autocovariances
        elif self.method == "diebold-mariano":
            estimate = (lags <= max_lag) @ autocovariances
        if estimate >= minimum:
            return ""
        enough = np.logical_and.accumulate(estimates >= minimum)
        return SmallSampleReason(
            "rows one season apart are correlated over more seasons than the estimated "
            "variance accounts for, and the interval may be too narrow; use "
            "TimeOrder(cosines={most})",
            most=max(int(enough.sum()), 1),
        )

    def _reason_of_few(self, series: Sequence[Array]) -> str:
        """Return a warning if the effective sample size is small.

        Without a warning, the result is an empty string.
        """
        n = sum(map(len, series))
        effective = 0.0
        for values in series:
            first, decay = _autoregression(values - values.mean(), _MAX_DECAY)
            # Ratio of the long-run variance to the variance under independence, from an
            # autoregression. Cosine sums could not show that their variance is small.
            variance_ratio = 1 + 2 * first / (1 - decay)
            effective += len(values) / variance_ratio
        enough = _ENOUGH if n > _CORRELATED * effective else _FEW
        if effective >= enough:
            return ""
        return (
            "an autoregressive model of the rows has an effective sample size of "
            f"{effective:.0f} (the effective n of the header is based on the estimated "
            "variance), and the interval may be too narrow"
        )

    def _reason_of_runs(self, series: Sequence[Array]) -> str:
        """Return a warning if short periods determine the variance.

        Without a warning, the result is an empty string.
        """
        if self.method != "cosine":
            return ""
        n_cosines = self._n_cosines
        maximum = n_cosines * len(series)
        df = sum(_degrees_of_freedom(values, n_cosines) for values in series)
        if df >= min(maximum, _ENOUGH_FOR_T):
            return ""
        return (
            f"fewer than {_ENOUGH_FOR_T} degrees of freedom: few runs of rows "
            "determine the variance, and the interval may be too narrow"
        )

    def __str__(self) -> str:
        number = len(self._rows)
        in_series = f" in {number} series" if number > 1 else ""
        names = {"cosine": "", "newey-west": "Newey-West", "diebold-mariano": "HLN"}
        name = names[self.method]
        return f"in order of time{in_series}" + (f" ({name})" if name else "")

    def __repr__(self) -> str:
        return (
            f"TimeOrder(method={self.method!r}, lags={self.lags!r}, "
            f"cosines={self.cosines!r})"
        )


def _cosine_sums(values: Array, n_cosines: int) -> Component:
    """Create a variance component from cosine-weighted sums of influence values."""
    sums = [dct(column)[1 : n_cosines + 1] for column in values.T]  # twice the sums
    totals = np.transpose(sums) / np.sqrt(2 * n_cosines)
    return Component(
        totals,
        ddof=0,
        degrees_of_freedom=_degrees_of_freedom(values[:, 0], n_cosines),
        skewness=_skewness(values[:, 0]),
        is_part=True,
    )


def _degrees_of_freedom(values: Array, n_cosines: int) -> float:
    """Compute the degrees of freedom of the mean square of cosine-weighted sums.

    The degrees of freedom equal the number of cosines, or are fewer if a few short
    periods dominate the sums.
    """
    n = len(values)
    width = -(-3 * n // (2 * n_cosines))
    n_windows = n / width  # number of disjoint windows
    squares = _scaled_window_sums(values, width) ** 2
    kurtosis = n * (squares @ squares) / (squares.sum() ** 2 or 1.0)
    if kurtosis < 3 + 2 * np.sqrt(24 / n_windows):
        return float(n_cosines)
    return float(min(n_cosines, 2 * n_windows / (kurtosis - 1)))


def _skewness(values: Array) -> float:
    """Estimate the skewness of the sum of autocorrelated values.

    The skewness is computed from sums over windows of n^(1/3) successive rows, which
    include the correlations of these rows.
    """
    width = int(np.ceil(np.cbrt(len(values))))
    sums = _scaled_window_sums(values, width)
    square = float(sums @ sums) or 1.0
    return float(np.sqrt(width) * (sums**3).sum() / square**1.5)


def _scaled_window_sums(values: Array, width: int) -> Array:
    """Sum centred values in windows, and divide the sums by the largest sum."""
    sums = _window_sums(values - values.mean(), width)
    return sums / (np.abs(sums).max() or 1.0)


def _window_sums(values: Array, width: int) -> Array:
    """Sum the values in each window of `width` successive rows.

    The windows include those that extend beyond the first or the last row.
    """
    outside = [(width, width - 1)] + [(0, 0)] * (values.ndim - 1)
    sums = np.cumsum(np.pad(values, outside), axis=0)
    return sums[width:] - sums[:-width]


def _bartlett_windows(values: Array, lags: int) -> Component:
    """Create the component of the Newey-West variance from sums over windows."""
    sums = _window_sums(values, lags + 1) / np.sqrt(lags + 1)
    return Component(sums, ddof=0, degrees_of_freedom=_NORMAL, is_part=True)


def _autocovariances(values: Array, lags: int) -> Iterator[Component]:
    """Yield the components of the variance in the test of Diebold and Mariano.

    The first component is the variance without autocorrelation. Each lag has three
    further components, because an autocovariance ``2 * a * b`` is written as
    ``(a + b)**2 - a**2 - b**2``. The values are first multiplied by the small-sample
    factor of Harvey, Leybourne and Newbold.
    """
    n, h = len(values), lags + 1
    factor = np.sqrt(n / (n + 1 - 2 * h + h * (h - 1) / n))
    values = values * factor
    yield Component(values, ddof=0, degrees_of_freedom=n - 1, is_part=True)
    for k in range(1, h):
        ahead, behind = values[k:], values[:-k]
        for totals, sign in ((ahead + behind, 1), (ahead, -1), (behind, -1)):
            yield Component(totals, sign, ddof=0, is_known=True)


_NORMAL = 1e9  # degrees of freedom of a normal quantile


def _autoregression(centred: Array, max_decay: float) -> tuple[float, float]:
    """Estimate the autocorrelation at lag 1, and its decay at later lags.

    An insignificant autocorrelation is replaced by 0. The decay factor is the ratio of
    the autocorrelations at lags 2 and 1.
    """
    sums = [float(centred[k:] @ centred[: len(centred) - k]) for k in range(3)]
    first = sums[1] / sums[0] if sums[0] > 0 else 0.0
    if first <= _NOTABLE / np.sqrt(len(centred)):
        return 0.0, first
    return first, float(np.clip(sums[2] / sums[1], first, max_decay))


# Seasons: autocorrelation only at the multiples of a lag


class Season(NamedTuple):
    """Seasonal autocorrelation, at lags that are multiples of a period."""

    period: int
    """Number of rows in one period."""
    autocorrelation: float
    """Autocorrelation of rows one period apart."""
    decay: float
    """Ratio of the autocorrelations of rows k + 1 and k periods apart."""

    def autocovariances(self, n: int) -> tuple[Array, Array]:
        """Return the lags that are multiples of the period, and their autocovariances.

        An autocovariance is divided by the variance of a row, and multiplied by the
        number of ordered pairs of rows with this lag, divided by n.
        """
        lags = np.arange(0, n, self.period)[:_MAX_PERIODS]
        powers = 2 * self.autocorrelation * self.decay ** np.arange(len(lags) - 1)
        return lags, (1 - lags / n) * np.append(1, powers)


def find_season(series: Sequence[Array]) -> Season | None:
    r"""Find the strongest significant seasonal autocorrelation.

    The residuals e of an autoregression of order 1, possibly observed with noise, are
    tested at each lag :math:`k \ge 2` by

    .. math:: z_k = \sum_t e_t e_{t-k} \Bigl/ \sqrt{\sum_t e_t^2 e_{t-k}^2} ,

    a statistic that is valid for changing variances (Taylor, 1984). The significance
    levels of all lags are proportional to 1 / k and add up to .1, because long periods
    are not more likely than short periods. For the selected period, the mean of each
    phase is then subtracted, because a repeated pattern does not contribute to the
    variance of means over whole periods.

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
    n_lags = max(map(len, residuals)) // _MIN_PERIODS
    if n_lags < 2:
        return None
    products, squares = _lagged_sums(residuals, n_lags)
    minimum = _ROUNDING * products[0] ** 2
    lags = np.arange(2, n_lags + 1)
    quantiles = -ndtri(_LEVEL / lags / (1 / lags).sum())
    limits = quantiles * np.sqrt(np.maximum(squares[2:], minimum))
    lags = lags[products[2:] > limits]
    if not len(lags):
        return None
    period = int(lags[products[lags].argmax()])
    remainders = [_without_pattern(values, period) for values in residuals]
    products, squares = _lagged_sums(remainders, 2 * period)
    variance, first, second = products[::period]
    if first <= -ndtri(_LEVEL_OF_PERIOD) * np.sqrt(max(squares[period], minimum)):
        return None
    decay = float(np.clip(second / first, 0, _MAX_SEASON_DECAY))
    return Season(period, float(first / variance), decay)


def _prewhitened(values: Array) -> Array:
    """Compute residuals of an autoregression of order 1, possibly with noise."""
    values = values - values.mean()
    _, decay = _autoregression(values, 1.0)
    return values[1:] - decay * values[:-1]


def _without_pattern(values: Array, period: int) -> Array:
    """Subtract from each value the mean of all values at the same phase of a period."""
    phase = np.arange(len(values)) % period
    means = np.bincount(phase, values) / np.bincount(phase)
    return values - means[phase]


def _lagged_sums(series: Sequence[Array], n_lags: int) -> Array:
    """Sum the products of values, and of squared values, at each lag up to `n_lags`."""
    total = np.zeros((2, n_lags + 1))
    for values in series:
        size = next_fast_len(len(values) + n_lags, real=True)
        powers = np.abs(rfft([values, values**2], size)) ** 2
        total += irfft(powers, size)[:, : n_lags + 1]
    return total
