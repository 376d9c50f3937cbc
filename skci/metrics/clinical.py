"""Metrics of clinical prediction models: net benefit and calibration.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika
45, 562-565.

Kumar, A., Liang, P. S. and Ma, T. (2019). Verified uncertainty calibration. Advances in
Neural Information Processing Systems 32.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from skci._arrays import EPS, Array, cached_property, dot
from skci._validation import check_integer, check_probability
from skci.data.sample import Scores
from skci.inference.parameter import TableParameter
from skci.measures.functional import (
    Evaluation,
    Functional,
    LinearCombination,
    Mean,
    Ratio,
    ratio_of_means,
)
from skci.measures.traits import BOUNDED_MEAN, LOG
from skci.metrics.base import MetricAtNumber, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.censored import EventMetricCI, Events
from skci.metrics.scores import ScoreMetricCI

_MAX_STEPS = 100  # maximum number of Newton steps; about six are usual
_SMALL_STEP = 1e-3  # a step this small is accepted without checking the likelihood


STRATEGIES = ("quantile", "uniform")
"""Definitions of bins: about equal numbers of rows, or equal widths."""

MOST_BINS = 1000


def bin_numbers(
    probabilities: Array, n_bins: int, strategy: str, repeats: Array
) -> Array:
    """Return the bin index of each probability.

    Indices are consecutive, because empty bins are left out. `repeats` contains the
    number of rows that have each probability.
    """
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = _quantiles(probabilities, repeats, edges)
    index = np.searchsorted(edges[1:-1], probabilities)
    return np.unique(index, return_inverse=True)[1]


def _quantiles(values: Array, repeats: Array, levels: Array) -> Array:
    """Return quantiles of data in which each value occurs `repeats` times."""
    order = np.argsort(values, kind="stable")
    last = np.cumsum(repeats[order])
    positions = levels * (last[-1] - 1)
    below = np.floor(positions)
    low, high = (
        values[order][np.searchsorted(last[:-1], position, side="right")]
        for position in (below, np.ceil(positions))
    )
    return low + (positions - below) * (high - low)


@dataclass(frozen=True, eq=False)
class CalibrationCoefficient(Functional):
    r"""Intercept or slope of a logistic regression of the label on the predicted logit.

    The probability is :math:`\mu = 1 / (1 + \exp(-a - b x))`, where x is the logit of
    the predicted probability. The intercept solves :math:`E[y - \mu] = 0` for a with
    :math:`b = 1`. The slope solves :math:`E[(1, x) (y - \mu)] = 0` for a and b. The
    influence value of a row is the last entry of
    :math:`E[\mu (1 - \mu) z z^T]^{-1} z (y - \mu)`, where z is 1 for the intercept and
    :math:`(1, x)` for the slope. The resulting standard error is the sandwich
    estimator.
    """

    logits: Array
    """Logit of the predicted probability of each row."""
    positive: Array
    """Mask of the positive rows."""
    fits_slope: bool

    @cached_property
    def columns(self) -> Array:
        """Design matrix of the logistic regression, of shape (m, 1) or (m, 2).

        The estimated coefficient belongs to the last column.
        """
        ones = np.ones_like(self.logits)
        return np.stack([ones, self.logits][: 1 + self.fits_slope], axis=1)

    def _logits(self, coefficients: Array) -> Array:
        offset = 0.0 if self.fits_slope else self.logits
        return offset + self.columns @ coefficients

    def __call__(self, p: Array) -> Evaluation:
        coefficients = self._fit(p)
        value = np.asarray(coefficients[-1])
        if np.isnan(value):
            return Evaluation(value, np.full(len(p), np.nan), np.array([np.inf]))
        mean = expit(self._logits(coefficients))
        unit = np.eye(len(coefficients))[-1]
        information = self._information(p, mean)
        direction = np.linalg.lstsq(information, unit, rcond=EPS)[0]
        influence = (self.positive - mean) * (self.columns @ direction)
        return Evaluation(value, influence - dot(p, influence), np.ones(1))

    def _information(self, p: Array, mean: Array) -> Array:
        weights = p * mean * (1 - mean)
        return self.columns.T @ (weights[:, np.newaxis] * self.columns)

    def _fit(self, p: Array) -> Array:
        """Return the maximum likelihood coefficients, or NaN if they do not exist."""
        coefficients = np.zeros(self.columns.shape[1])
        if not self._exists(p):
            return coefficients * np.nan
        for _ in range(_MAX_STEPS):
            mean = expit(self._logits(coefficients))
            slopes = self.columns.T @ (p * (self.positive - mean))
            step = np.linalg.lstsq(self._information(p, mean), slopes, rcond=EPS)[0]
            likelihood = self._likelihood(p, coefficients)
            # A small step changes the likelihood by less than its rounding error.
            while np.abs(step).max() > _SMALL_STEP:
                if self._likelihood(p, coefficients + step) > likelihood:
                    break
                step /= 2
            coefficients = coefficients + step
            if np.abs(step).max() <= 4 * EPS * max(np.abs(coefficients).max(), 1):
                break
        return coefficients

    def _likelihood(self, p: Array, coefficients: Array) -> float:
        """Return the weighted log likelihood of the labels."""
        logits = self._logits(coefficients)
        signed = np.where(self.positive, -logits, logits)
        return -float(dot(p, np.logaddexp(0, signed)))

    def _exists(self, p: Array) -> bool:
        """Whether the maximum likelihood estimate exists.

        Both labels must occur. A slope also requires that no threshold of the
        predictions separates the two labels.
        """
        occurs, positive = p > 0, self.positive
        logits = [self.logits[occurs & is_class] for is_class in (~positive, positive)]
        exists = all(len(x) and np.isfinite(x).all() for x in logits)
        if not (exists and self.fits_slope):
            return exists
        (lowest, low), (high, highest) = ((x.min(), x.max()) for x in logits)
        return bool(high < low and lowest < highest)


@dataclass(frozen=True, eq=False)
class SquaredCalibrationError(Functional):
    r"""Squared calibration error in bins of predictions, bias-corrected.

    .. math:: \sum_b W_b \Bigl(c_b^2 - \frac{n_b}{n_b - 1}
        \frac{\sum_{i \in b} p_i^2 (r_i - c_b)^2}{W_b^2}\Bigr)

    where bin b has :math:`n_b` rows with weights :math:`p_i`, of total weight
    :math:`W_b`. The differences :math:`r_i` of label and prediction have the mean
    :math:`c_b` in bin b. The second term estimates the variance of this mean. Without
    weights, the statistic is the one by Kumar, Liang and Ma (2019), except that
    predictions may differ within a bin. A bin with one row counts as 0.
    """

    residuals: Array
    """Label minus predicted probability of each row."""
    bins: Array
    """Bin index of each row, starting at 0."""
    repeats: Array
    """Number of times that each row occurs."""

    def __call__(self, p: Array) -> Evaluation:
        value, weights, means, factors, squares = self._parts(p)
        bins = self.bins
        error = self.residuals - means[bins]
        row_weight = p / self.repeats
        tilt = np.bincount(bins, p * row_weight * error)
        with np.errstate(all="ignore"):
            inner = 2 * row_weight * error**2 - 2 * (tilt / weights)[bins] * error
            noise = (factors / weights)[bins] * (inner - (squares / weights)[bins])
        influence = 2 * means[bins] * self.residuals - means[bins] ** 2 - noise
        influence = np.where(factors[bins] > 0, influence, 0.0) - value
        centred_influence = influence - dot(p, influence)
        return Evaluation(np.asarray(value), centred_influence, np.ones(1))

    def _parts(self, p: Array) -> tuple[float, Array, Array, Array, Array]:
        """Return the squared calibration error, and four arrays with an entry per bin.

        The first array contains the weight of the bin. The second contains the mean
        residual, where a residual is a label minus its prediction. The third contains n
        / (n - 1) for n rows, or 0 for a single row. The fourth contains the weighted
        sum of squared deviations from the mean residual.
        """
        bins, residuals = self.bins, self.residuals
        weights, n = np.bincount(bins, p), np.bincount(bins, self.repeats * (p > 0))
        with np.errstate(all="ignore"):
            means = np.nan_to_num(np.bincount(bins, p * residuals) / weights)
            factors = np.where(n > 1, n / (n - 1), 0.0)
            errors = (residuals - means[bins]) ** 2
            squares = np.bincount(bins, p**2 / self.repeats * errors)
            terms = weights * means**2 - factors * squares / weights
        value = float(terms[factors > 0].sum() / p.sum())
        return value, weights, means, factors, squares


# --------------------------------------------------------------------------------------
# Net benefit
# --------------------------------------------------------------------------------------


def odds(threshold: float) -> float:
    """Return the odds t / (1 - t) of a threshold probability t.

    The odds are the harm of treating a negative row, as a multiple of the benefit of
    treating a positive row.
    """
    return threshold / (1 - threshold)


def decisions_worth(positive: Array, treated: Array, threshold: float) -> Array:
    """Return the contribution of each row to the net benefit.

    The contribution is 1 for a treated positive row, 0 for an untreated row, and minus
    the odds of the threshold probability for a treated negative row.
    """
    benefit = np.where(positive, 1.0, -odds(threshold))
    return np.where(treated, benefit, 0.0)


class _ThresholdMetricCI(EventMetricCI, MetricAtNumber):
    """Metric of treatment decisions at a threshold probability.

    Rows with a predicted probability of at least the threshold are treated.

    Parameters
    ----------
    threshold : float
        Probability at or above which a row is treated, between 0 and 1. The odds of the
        threshold are the harm of treating a negative row relative to the benefit of
        treating a positive row.
    """

    threshold: float = option(kw_only=False, check=check_probability)

    _number, _option, _digits = ("a threshold", "0.1"), "threshold", 6

    def _net_benefit(self, events: Events, treated: Array) -> Functional:
        """Return the net benefit of treating the rows in the mask `treated`.

        The net benefit is corrected for censored rows. Only treated rows need a label.
        """
        worth = decisions_worth(events.positive, treated, self.threshold)
        return events.known(worth, treated)


class NetBenefitCI(_ThresholdMetricCI, **BOUNDED_MEAN):
    r"""Net benefit of treating the rows whose probability is at least a threshold.

    .. math:: P(s \ge t, y = 1) - \frac{t}{1 - t} P(s \ge t, y = 0)

    where s is the predicted probability, y the label (0 or 1) and t the threshold. The
    net benefit is the proportion of true positives, minus the proportion of false
    positives multiplied by the odds of the threshold (Vickers and Elkin, 2006).
    Treating no row has a net benefit of 0. Treating all rows has the net benefit
    :math:`\pi - (1 - \pi) t / (1 - t)`, where :math:`\pi` is the prevalence: see
    :func:`skci.decision_curve_report`. The string name at a threshold of .1 is
    "net_benefit@0.1", and "net_benefit@0.1@365" for events by the time 365.

    Parameters
    ----------
    method : {"auto", "score", "hall", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto", which is
        "score" without a time and "hall" with a time.

    References
    ----------
    Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for
    evaluating prediction models. Medical Decision Making 26, 565-574.

    Examples
    --------
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> NetBenefitCI(0.25)(y, scores)
    net_benefit@0.25 = 0.46 [0.34, 0.58], 95% interval (score, n = 80)

    Rows may be censored before the time 30 by which the event is predicted:

    >>> import numpy as np
    >>> time, event = np.arange(1, 61), [1, 1, 0] * 20
    >>> risk = 1 / (1 + np.exp((time - 30) / 10 - np.sin(time)))
    >>> NetBenefitCI(0.25, time=30)(np.column_stack([event, time]), risk)
    net_benefit@0.25@30 = 0.30 [0.13, 0.49], 95% interval (hall, n = 60)
    """

    _title = "net_benefit"

    def _properties_at(self, number: float) -> dict[str, Any]:
        return {"bounds": (-odds(number), 1.0)}

    def _of_rows(self, positive: Array, predicted: Array) -> Array:
        treated = predicted >= self.threshold
        return decisions_worth(positive, treated, self.threshold)

    def _of_events(self, events: Events, predicted: Array) -> Functional:
        return self._net_benefit(events, predicted >= self.threshold)


class StandardizedNetBenefitCI(_ThresholdMetricCI, bounds=(-np.inf, 1.0)):
    r"""Net benefit relative to the maximum, which is the prevalence.

    .. math:: P(s \ge t \mid y = 1) - \frac{t}{1 - t} \frac{1 - \pi}{\pi}
        P(s \ge t \mid y = 0), \quad \pi \text{ the prevalence}

    where s is the predicted probability, y the label (0 or 1) and t the threshold. The
    string name at a threshold of .1 is "standardized_net_benefit@0.1". See
    :class:`NetBenefitCI`.

    References
    ----------
    Kerr, K. F., Brown, M. D., Zhu, K. and Janes, H. (2016). Assessing the clinical
    impact of risk prediction models with decision curves. Journal of Clinical Oncology
    34, 2534-2540.

    Examples
    --------
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> StandardizedNetBenefitCI(0.25)(y, scores)
    standardized_net_benefit@0.25 = 0.917 [0.826, 0.962], 95% interval (hall, n = 80)
    """

    _title = "standardized_net_benefit"
    _reach = (-np.inf, np.inf)

    def _of_rows(self, positive: Array, predicted: Array) -> Functional:
        treated = predicted >= self.threshold
        benefit = decisions_worth(positive, treated, self.threshold)
        return ratio_of_means(benefit, positive)

    def _of_events(self, events: Events, predicted: Array) -> Functional:
        benefit = self._net_benefit(events, predicted >= self.threshold)
        return Ratio((benefit, events.known(events.positive.astype(float))), (1, -1))


class InterventionsAvoidedCI(_ThresholdMetricCI, **BOUNDED_MEAN):
    r"""Net proportion of rows that are spared an unnecessary intervention.

    .. math:: P(s < t, y = 0) - \frac{1 - t}{t} P(s < t, y = 1)

    where s is the predicted probability, y the label (0 or 1) and t the threshold. The
    measure is the difference between the net benefit of the model and the net benefit
    of treating all rows, divided by the odds of the threshold. A value of .3 means that
    a model avoids 30 interventions per 100 rows compared with treating all rows,
    without missing a positive row (Vickers and Elkin, 2006). The string name at a
    threshold of .1 is "interventions_avoided@0.1". See :class:`NetBenefitCI`.

    Parameters
    ----------
    method : {"auto", "score", "hall", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto", which is
        "score".

    Examples
    --------
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> InterventionsAvoidedCI(0.25)(y, scores)
    interventions_avoided@0.25 = 0.38 [0.22, 0.48], 95% interval (score, n = 80)
    """

    _title = "interventions_avoided"
    _reach = (-np.inf, np.inf)

    def _properties_at(self, number: float) -> dict[str, Any]:
        return {"bounds": (-1 / odds(number), 1.0)}

    def _of_rows(self, positive: Array, predicted: Array) -> Array:
        spared = predicted < self.threshold
        return decisions_worth(~positive, spared, 1 - self.threshold)

    def _of_events(self, events: Events, predicted: Array) -> Functional:
        treated, everyone = predicted >= self.threshold, np.ones(len(predicted), bool)
        benefits = [self._net_benefit(events, t) for t in (treated, everyone)]
        rate = 1 / odds(self.threshold)
        return LinearCombination(benefits, (rate, -rate))


AT_THRESHOLDS: dict[str, type[_ThresholdMetricCI]] = {
    cls._title: cls
    for cls in (NetBenefitCI, StandardizedNetBenefitCI, InterventionsAvoidedCI)
}
"""Metrics at a threshold, by name without the threshold."""


# --------------------------------------------------------------------------------------
# Calibration
# --------------------------------------------------------------------------------------

_NO_LOGIT = "as probabilities are 0 or 1"


class _CoefficientCI(EventMetricCI, bounds=(-np.inf, np.inf), has_better=False):
    """Coefficient of the logistic regression of the label on the predicted logit."""

    _fits_slope: ClassVar[bool]

    def _of_rows(self, positive: Array, predicted: Array) -> Functional:
        with np.errstate(divide="ignore"):
            logits = logit(predicted)
        return CalibrationCoefficient(logits, positive, self._fits_slope)


class CalibrationInterceptCI(
    _CoefficientCI,
    measure="calibration_intercept",
    undefined_by=f"{_NO_LOGIT}, or all rows are of one label",
):
    r"""Calibration in the large: intercept of the logistic regression with slope 1.

    .. math:: \operatorname{logit} P(y = 1) = a + \operatorname{logit} s

    where y is the label, s the predicted probability and a the intercept. The intercept
    is 0 if predictions are right on average, above 0 if predictions are too low and
    below 0 if they are too high (Cox, 1958). Standard errors are computed by the
    sandwich estimator, which does not assume that the regression is correct.
    Probabilities of 0 and 1 have no logit: the intercept is then undefined, with a
    warning. If the model would be used with clipped probabilities, clip the
    predictions.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression.
    Biometrika 45, 562-565.

    Examples
    --------
    >>> y = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    >>> scores = [0.1] * 50 + [0.9] * 50
    >>> CalibrationInterceptCI()(y, scores)
    calibration_intercept = 0.00 [-0.92, 0.92], 95% interval (hall, n = 100)
    """

    _fits_slope = False


class CalibrationSlopeCI(
    _CoefficientCI,
    measure="calibration_slope",
    chance=0.0,
    undefined_by=f"{_NO_LOGIT}, separate the labels or are all equal",
):
    r"""Calibration slope: slope of the logistic regression on the predicted logit.

    .. math:: \operatorname{logit} P(y = 1) = a + b \operatorname{logit} s

    where y is the label, s the predicted probability and b the slope. The slope is 1 if
    predictions are calibrated. It is below 1 if predictions are too extreme, as in an
    overfitted model, and above 1 if predictions are not extreme enough (Cox, 1958).
    Standard errors are computed by the sandwich estimator. The slope is undefined, with
    a warning, if some probabilities are 0 or 1, or if a threshold separates the labels.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression.
    Biometrika 45, 562-565.

    Examples
    --------
    >>> y = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    >>> scores = [0.1] * 50 + [0.9] * 50
    >>> CalibrationSlopeCI()(y, scores)
    calibration_slope = 0.63 [0.42, 0.88], 95% interval (hall, n = 100)
    """

    _fits_slope = True


class ObservedToExpectedCI(
    EventMetricCI,
    measure="observed_to_expected",
    bounds=(0.0, np.inf),
    has_better=False,
    scale=LOG,
):
    r"""Ratio of the observed to the expected number of positives.

    .. math:: E[y] / E[s]

    where y is the label (0 or 1) and s the predicted probability. The ratio is 1 if
    predictions are right on average. Both means are estimated from the same rows.
    Intervals are formed on the log scale.

    Examples
    --------
    >>> y = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    >>> scores = [0.1] * 50 + [0.9] * 50
    >>> ObservedToExpectedCI()(y, scores)
    observed_to_expected = 1.00 [0.84, 1.17], 95% interval (hall, n = 100)
    """

    def _of_rows(self, positive: Array, predicted: Array) -> Functional:
        return ratio_of_means(positive, predicted)

    def _of_events(self, events: Events, predicted: Array) -> Functional:
        return Ratio(
            (events.known(events.positive.astype(float)), Mean(predicted)), (1, -1)
        )


class SquaredCalibrationErrorCI(
    ScoreMetricCI,
    measure="squared_calibration_error",
    bounds=(-1.0, 1.0),
    greater_is_better=False,
    has_curvature=False,
    automatic=("delta",),
):
    r"""Squared calibration error in bins, bias-corrected. Lower is better.

    .. math:: \sum_b P(s \in b) \bigl(E[y - s \mid s \in b]\bigr)^2

    The sum is over bins b of the predicted probability s, and y is the label (0 or 1).
    Without a correction, the estimate would be too large, because the squared mean of
    each bin includes the variance of this mean. These variances are estimated and
    subtracted (Kumar, Liang and Ma, 2019), so that the estimate may be below 0. The
    error in bins is at most the error without bins, :math:`E(P(y = 1 \mid s) - s)^2`.
    The expected calibration error (ECE), which is a mean absolute difference, has an
    unknown bias and therefore no interval here. Rows should be independent: with
    `groups`, the subtracted variances are too small, although the standard error allows
    for clusters. If predictions are calibrated, intervals are too wide.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Definition of the bins: "quantile" for about equal numbers of rows, "uniform"
        for equal widths.
    method : {"auto", "delta"}, optional
        Interval method. "auto" selects "delta", the symmetric interval.

    References
    ----------
    Kumar, A., Liang, P. S. and Ma, T. (2019). Verified uncertainty calibration.
    Advances in Neural Information Processing Systems 32.

    Examples
    --------
    >>> y = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    >>> scores = [0.1] * 50 + [0.9] * 50
    >>> SquaredCalibrationErrorCI()(y, scores)
    squared_calibration_error = 0.007 [-0.007, 0.021], 95% interval (delta, n = 100)
    """

    n_bins: int = option(default=10, check=partial(check_integer, maximum=MOST_BINS))
    strategy: str = option(default="quantile", check=one_of(*STRATEGIES))

    _several = False
    _score_methods = ("predict_proba",)

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        predicted, repeats = scores.values, binding.frequencies
        residuals = (binding.truth == code) - predicted
        bins = bin_numbers(predicted, int(self.n_bins), self.strategy, repeats)
        functional = SquaredCalibrationError(residuals, bins, repeats)
        return binding.of_units(self._measure, functional)
