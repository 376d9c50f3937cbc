r"""Metrics of probabilistic forecasts: mean scores over rows.

References
----------
Bracher, J., Ray, E. L., Gneiting, T. and Reich, N. G. (2021). Evaluating epidemic
forecasts in an interval format. PLOS Computational Biology 17, e1008618.

Ferro, C. A. T. (2014). Fair scores for ensemble forecasts. Quarterly Journal of the
Royal Meteorological Society 140, 1917-1923.

Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and
estimation. Journal of the American Statistical Association 102, 359-378.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured
from scipy import stats

from skci import _validation
from skci._arrays import Array
from skci._validation import as_numbers, check_bool, check_probability
from skci.data.rows import check_numbers, parameter_name
from skci.inference.parameter import TableParameter
from skci.measures.traits import BOUNDED_MEAN, LOSS
from skci.metrics.base import MetricAtNumber, MetricCI, option
from skci.metrics.binding import Binding

_QUANTILES = "{'model': {0.1: low, 0.9: high}}"
_ROUNDING = 1e-9  # largest difference of levels that are treated as equal


class Forecasts(NamedTuple):
    """True numbers and predicted distributions of n rows.

    `values` has shape (n, k). The k columns are the members of an ensemble, the
    parameters of a distribution, or quantiles. For quantiles, `levels` contains the
    ascending levels. Otherwise, `levels` is empty. `name` identifies the predictions in
    messages.
    """

    name: str
    truth: Array
    values: Array
    levels: Array

    @classmethod
    def read(cls, binding: Binding) -> Forecasts:
        """Read and check the forecasts of a model."""
        name = parameter_name(binding.model)
        truth = check_numbers(binding.sample.true_items[binding.within], "y_true")
        items = binding.sample.items[binding.model][binding.within]
        levels = np.array(items.dtype.names or (), dtype=float)
        if len(levels):
            items = structured_to_unstructured(items)
        values = as_numbers(items.tolist() if items.dtype == object else items, name)
        if values.ndim != 2:
            raise ValueError(
                f"{name} must have two dimensions, got shape {values.shape}. Pass a "
                "column for each member of an ensemble, a column for each parameter of "
                f"a distribution, or quantiles such as y_pred={_QUANTILES}"
            )
        return cls(name, truth, values, levels)

    def interval(self, level: float) -> Array:
        """Return the limits of the central prediction interval with the given level."""
        ends, members = np.array([1 - level, 1 + level]) / 2, self.values.shape[1]
        if not len(self.levels) and ends[0] * (members + 1) > 1 - _ROUNDING:
            return np.quantile(self.values, ends, axis=1, method="weibull")
        distances = np.abs(np.subtract.outer(ends, self.levels))
        is_limit = (distances < _ROUNDING).any(axis=0)
        if is_limit.sum() != 2:
            got = self.levels if len(self.levels) else f"{members} columns"
            raise ValueError(
                f"{self.name} must be a mapping with the quantiles {ends.round(9)}, or "
                f"have at least {np.ceil(1 / ends[0] - _ROUNDING) - 1:.0f} ensemble "
                f"members, for the prediction interval of level {level:g}, got {got}"
            )
        return self.values[:, is_limit].T


class _ForecastMetricCI(MetricCI, **LOSS):
    """Mean score over rows, computed from predicted distributions.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    """

    reads = "items"

    def _bind(self, binding: Binding) -> list[TableParameter]:
        scores = self._scores(Forecasts.read(binding))
        return [binding.of_mean(self._measure, scores)]

    # Return the score of each row.
    _scores: ClassVar[Callable[[Any, Forecasts], Array]]


class CrpsCI(_ForecastMetricCI, measure="crps"):
    r"""Continuous ranked probability score (CRPS). Lower is better.

    .. math:: E|X - y| - \frac{1}{2} E|X - X'|

    where X and X' are independent draws from the forecast of the true number y [1]_.
    ``y_pred`` of a model has the m members of an ensemble in columns; with a single
    member, the score is the absolute error. ``y_pred`` may also be a mapping of levels
    to quantiles, or a data frame whose columns are named by levels. The score is then
    twice the mean pinball loss of the quantiles, which is close to the CRPS if there
    are many evenly spaced levels.

    Parameters
    ----------
    fair : bool, default=False
        Whether to average :math:`|X - X'|` only over the :math:`m (m - 1)` pairs of
        different members. Ensembles of different sizes are then compared as if all
        ensembles had infinitely many members [2]_. The string name of the metric is
        "fair_crps".

    References
    ----------
    .. [1] Gneiting and Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102, 359-378.
    .. [2] Ferro (2014). Fair scores for ensemble forecasts. Quarterly Journal of the
       Royal Meteorological Society 140, 1917-1923.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y, members = rng.normal(level), rng.normal(level, size=(50, 200)).T
    >>> CrpsCI()(y, members)
    crps = 0.587 [0.528, 0.665], 95% interval (hall, n = 200)
    """

    fair: bool = option(default=False, check=check_bool)

    _variants = ({"fair": True},)

    @property
    def _name(self) -> str:
        return "fair_" * self.fair + self._measure.name

    def _scores(self, forecasts: Forecasts) -> Array:
        name, y, values, levels = forecasts
        errors, m = values - y[:, np.newaxis], values.shape[1]
        if self.fair and (m < 2 or len(levels)):
            got = "quantiles" if len(levels) else "one member"
            raise ValueError(
                f"{name} must have at least two ensemble members for 'fair_crps', got "
                f"{got}"
            )
        if len(levels):
            losses = np.maximum(-levels * errors, (1 - levels) * errors)
            return 2 * losses.mean(axis=1)
        # The sum of |X - X'| over pairs follows from the order of the members.
        pairs = np.sort(errors, axis=1) @ (2 * np.arange(m) - m + 1.0)
        return np.abs(errors).mean(axis=1) - pairs / (m * (m - self.fair))


class WeightedIntervalScoreCI(_ForecastMetricCI, measure="weighted_interval_score"):
    r"""Weighted interval score (WIS) of quantiles. Lower is better.

    .. math:: \frac{1}{K + 1/2} \Bigl( \frac{1}{2} |y - m| + \sum_{k=1}^K
        \frac{\alpha_k}{2} \mathrm{IS}_{\alpha_k} \Bigr)

    where y is the true number, m its predicted median and K the number of prediction
    intervals. :math:`\mathrm{IS}_\alpha` is the interval score of the central interval
    of level :math:`1 - \alpha` [1]_; see :class:`IntervalScoreCI`. ``y_pred`` of a
    model is a mapping of symmetric levels to quantiles, or a data frame whose columns
    are named by levels. The score equals twice the mean pinball loss of the quantiles.
    If there is no level 0.5, the term of the median is left out and the sum is divided
    by K.

    References
    ----------
    .. [1] Bracher, Ray, Gneiting and Reich (2021). Evaluating epidemic forecasts in an
       interval format. PLOS Computational Biology 17, e1008618.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y = rng.normal(level)
    >>> WeightedIntervalScoreCI()(y, {0.1: level - 1.3, 0.5: level, 0.9: level + 1.3})
    weighted_interval_score = 0.509 [0.458, 0.584], 95% interval (hall, n = 200)
    """

    def _scores(self, forecasts: Forecasts) -> Array:
        levels = forecasts.levels
        if not len(levels) or np.abs(levels + levels[::-1] - 1).max() > _ROUNDING:
            raise ValueError(
                f"{forecasts.name} must be a mapping of symmetric levels to quantiles, "
                f"such as 0.1, 0.5 and 0.9, for {self.name!r}, got the levels "
                f"{levels}; 'crps' accepts other levels and ensembles"
            )
        return CrpsCI()._scores(forecasts)


class _IntervalMetricCI(_ForecastMetricCI, MetricAtNumber):
    r"""Metric of central prediction intervals.

    Parameters
    ----------
    level : float
        Nominal coverage c of the interval, above 0 and below 1.
    """

    level: float = option(kw_only=False, check=check_probability)

    _number, _option = ("a level", "0.9"), "level"


class IntervalScoreCI(_IntervalMetricCI):
    r"""Interval score (Winkler score) of prediction intervals. Lower is better.

    .. math:: E \Bigl( u - l + \frac{2}{\alpha} \bigl( \max(l - y, 0)
        + \max(y - u, 0) \bigr) \Bigr)

    where y is the true number, and l and u are the predicted quantiles at
    :math:`\alpha / 2` and :math:`1 - \alpha / 2` [1]_. ``y_pred`` of a model is a
    mapping of levels to quantiles, or a data frame whose columns are named by levels.
    ``y_pred`` may also have the m members of an ensemble in columns. The quantile of
    level p is then interpolated between the sorted members at the position
    :math:`p (m + 1)`, so that an interval has its nominal coverage if truth and members
    are exchangeable. The string name at a level of 0.9 is "interval_score@0.9".

    References
    ----------
    .. [1] Gneiting and Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102, 359-378.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y = rng.normal(level)
    >>> IntervalScoreCI(0.8)(y, {0.1: level - 1.3, 0.9: level + 1.3})
    interval_score@0.8 = 3.56 [3.15, 4.28], 95% interval (hall, n = 200)
    """

    _title = "interval_score"

    def _scores(self, forecasts: Forecasts) -> Array:
        (low, high), y = forecasts.interval(self.level), forecasts.truth
        outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        return high - low + 2 / (1 - self.level) * outside


class IntervalCoverageCI(
    _IntervalMetricCI,
    bounds=(0.0, 1.0),
    greater_is_better=True,
    has_better=False,
    **BOUNDED_MEAN,
):
    r"""Coverage of prediction intervals: :math:`P(l \le y \le u)`.

    Here y is the true number, and l and u are the limits of the central prediction
    interval with the given level. ``y_pred`` is described at :class:`IntervalScoreCI`.
    Neither a higher nor a lower value is better: the coverage of a calibrated forecast
    equals the level. :class:`IntervalCoverageDeviationCI` is the difference between
    coverage and level. The string name at a level of 0.9 is "interval_coverage@0.9".

    Parameters
    ----------
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto", which is
        "score".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y = rng.normal(level)
    >>> IntervalCoverageCI(0.8)(y, {0.1: level - 1.3, 0.9: level + 1.3})
    interval_coverage@0.8 = 0.835 [0.777, 0.880], 95% interval (score, n = 200)
    """

    _title = "interval_coverage"

    def _scores(self, forecasts: Forecasts) -> Array:
        (low, high), y = forecasts.interval(self.level), forecasts.truth
        return ((low <= y) & (y <= high)).astype(float)


class IntervalCoverageDeviationCI(IntervalCoverageCI, is_deviation=True):
    r"""Coverage of prediction intervals minus their level.

    .. math:: P(l \le y \le u) - c

    where y is the true number, and l and u are the limits of its central prediction
    interval of level c. Prediction intervals are too narrow if the deviation is below
    0, and too wide if it is above 0. The string name at a level of 0.9 is
    "interval_coverage_deviation@0.9".

    Parameters
    ----------
    method : {"auto", "score", "hall", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto", which is
        "score".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y = rng.normal(level)
    >>> IntervalCoverageDeviationCI(0.8)(y, {0.1: level - 1.3, 0.9: level + 1.3})
    interval_coverage_deviation@0.8 = 0.035 [-0.023, 0.080], 95% interval (score, n...)
    """

    _title = "interval_coverage_deviation"

    def _properties_at(self, number: float) -> dict[str, Any]:
        return {"bounds": (-number, 1 - number)}

    def _scores(self, forecasts: Forecasts) -> Array:
        return super()._scores(forecasts) - self.level


def log_density(distribution: Any, name: str = "distribution") -> Any:
    """Return the log density or log probability function of a distribution."""
    is_name = isinstance(distribution, str)
    fixed = getattr(stats, distribution, None) if is_name else distribution
    log_function = getattr(fixed, "logpdf", None) or getattr(fixed, "logpmf", None)
    if log_function is None:
        raise ValueError(
            f"{name} must be the name of a distribution of scipy.stats, such as "
            f"'norm', or an object with a method logpdf or logpmf, got {distribution!r}"
        )
    return log_function


class LogScoreCI(
    _ForecastMetricCI, measure="log_score", bounds=(-np.inf, np.inf), heavy_tails=True
):
    r"""Log score of predictive distributions: :math:`-E \log f(y)`. Lower is better.

    Here f is the predicted density of the true number y, or its probability if y is
    discrete. ``y_pred`` of a model has the parameters of f in columns, in the order of
    scipy. For example, "norm" has the mean and the standard deviation. If the density
    of a true number is 0, an error is raised, because the score would be infinite.

    Parameters
    ----------
    distribution : str or object, default="norm"
        Predictive distribution: the name of a distribution of :mod:`scipy.stats`, or an
        object with a method ``logpdf(y, *parameters)`` or ``logpmf(y, *parameters)``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=400)
    >>> y = rng.normal(level)
    >>> LogScoreCI()(y, np.column_stack([level, np.ones(400)]))
    log_score = 1.424 [1.358, 1.513], 95% interval (hall, n = 400)
    """

    distribution: Any = option(default="norm", check=log_density, kw_only=False)

    def _scores(self, forecasts: Forecasts) -> Array:
        name, y, parameters, _ = forecasts
        requirement = f"{name} must have columns of parameters of {self.distribution!r}"
        hint = f"{requirement}, got {parameters.shape[1]} columns"
        with _validation.errors_of_function(hint), np.errstate(all="ignore"):
            scores = -np.asarray(log_density(self.distribution)(y, *parameters.T))
        is_infinite = ~np.isfinite(scores)
        if is_infinite.any():
            got = f"{parameters[is_infinite][0]} for y_true {y[is_infinite][0]:g}"
            raise ValueError(
                f"{name} must have parameters of {self.distribution!r} for which the "
                f"density at y_true is above 0, got {got}"
            )
        return scores
