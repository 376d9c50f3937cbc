"""Metrics of a single score: Gini, Kolmogorov-Smirnov, gain, lift, operating points.

References
----------
Linnet, K. (1987). Comparison of quantitative diagnostic tests: type I error, power, and
sample size. Statistics in Medicine 6, 147-158.

Pepe, M. S. (2003). The Statistical Evaluation of Medical Tests for Classification and
Prediction. Oxford University Press.

Woodruff, R. S. (1952). Confidence intervals for medians and other position measures.
Journal of the American Statistical Association 47, 635-646.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from skci._arrays import Array, dot
from skci._validation import check_probability
from skci.data.sample import Scores
from skci.inference.parameter import TableParameter
from skci.measures.functional import Evaluation
from skci.metrics.base import MetricAtNumber, option
from skci.metrics.binding import Binding
from skci.metrics.scores import (
    OrderMetricCI,
    OrderOfScores,
    RocAuc,
    cells_of,
    mass_from,
    masses,
)

_REACH = 1.96  # standard deviations, for a 95% interval
_ROUNDING = 1e-12  # rounding error of a share
_SPLITS = 8  # random splits of the rows into halves
_MAX_OUTSIDE = 0.05  # probability of a quantile outside the range of the scores


class GiniCoefficient(RocAuc):
    """Gini coefficient: twice the area under the ROC curve, minus 1."""

    bounds = -1.0, 1.0

    def estimate(self, p: Array) -> Array:
        return 2 * super().estimate(p) - 1

    def __call__(self, p: Array) -> Evaluation:
        area, influence, gradient = super().__call__(p)
        return Evaluation(2 * area - 1, 2 * influence, 2 * gradient)


class KolmogorovSmirnov(OrderOfScores):
    """Largest difference between the score distributions of two classes.

    The influence values are computed at the score with the largest difference.
    """

    def estimate(self, p: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(self._distances(p).max(axis=-1))

    def _distances(self, p: Array) -> Array:
        """Return true positive rate minus false positive rate at each threshold."""
        negative, positive = (mass_from(mass) / mass.sum() for mass in masses(p))
        return positive - negative

    def __call__(self, p: Array) -> Evaluation:
        negative, positive = masses(p)
        with np.errstate(all="ignore"):
            distances = self._distances(p)
            above = np.arange(self.n_scores) >= distances.argmax()
            slopes = [
                sign * (above - dot(mass, above) / mass.sum()) / mass.sum()
                for sign, mass in ((-1, negative), (1, positive))
            ]
        return Evaluation(distances.max(), cells_of(*slopes), self._gradient)


@dataclass(frozen=True, eq=False)
class CumulativeGain(OrderOfScores):
    """Proportion of positive rows that are among the rows with the largest scores.

    The rows with the largest scores are a fixed share of all rows. If only a fraction
    of the rows with equal scores is selected, each of these rows counts with this
    fraction. The influence values include the effect of the estimated score threshold.
    This effect depends on a slope: the change of the gain with the selected share. The
    slope is computed over a 95% interval of the share.
    """

    share: float = 0.1
    factor: float = 1.0
    """Factor by which the gain is multiplied."""

    cut_by: ClassVar[tuple[int, int]] = 1, 1
    """Weights with which negative and positive rows count in the selected share."""

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return 0.0, self.factor

    @property
    def rarer_class(self) -> int:
        return self.sizes[1]

    def estimate(self, p: Array) -> Array:
        return np.asarray(self._gain(p, self.share))

    def gains(self, p: Array) -> tuple[float, float, float]:
        """Return the gain at the selected share, and at two 95% limits of the share."""
        low, high = self._limits
        return self._gain(p, self.share), self._gain(p, low), self._gain(p, high)

    @property
    def _limits(self) -> tuple[float, float]:
        """95% limits for the share of rows above the population threshold."""
        share, n = self.share, np.dot(self.cut_by, self.sizes)
        reach = _REACH * math.sqrt(share * (1 - share) / max(n, 1))
        return max(share - reach, 0.0), min(share + reach, 1.0)

    def _gain(self, p: Array, share: float) -> float:
        positive = masses(p)[1]
        with np.errstate(all="ignore"):
            gain = dot(positive, self._selected(p, share)) / positive.sum()
        return float(self.factor * gain)

    def _selected(self, p: Array, share: float) -> Array:
        """Return the proportion of rows that are selected at each distinct score."""
        rows = self.cut_by @ masses(p)
        excess = share * rows.sum() - mass_from(rows)
        excess[rows == 0] += _ROUNDING * rows.sum()
        with np.errstate(all="ignore"):
            return np.clip(excess / rows + 1, 0, 1)

    def __call__(self, p: Array) -> Evaluation:
        value, lowest, highest = self.gains(p)
        selected = self._selected(p, self.share)
        of_negative, of_positive = self.cut_by
        with np.errstate(all="ignore"):
            slope = (highest - lowest) / np.diff(self._limits)
            of_cut = slope * (self.share - selected) / (self.cut_by @ masses(p)).sum()
            direct = (self.factor * selected - value) / masses(p)[1].sum()
        influence = cells_of(of_negative * of_cut, of_positive * of_cut + direct)
        return Evaluation(np.asarray(value), influence, self._gradient)


class ScorecardMetricCI(OrderMetricCI):
    """Metric of a single column of scores for two labels."""

    _several = False


class GiniCI(
    ScorecardMetricCI, measure="gini", bounds=(-1.0, 1.0), is_scaled_area=True
):
    r"""Gini coefficient of scores (accuracy ratio), :math:`2 \mathrm{AUC} - 1`.

    The coefficient equals Somers' D of the scores and the label. The interval follows
    from the interval of the area under the ROC curve, which :class:`RocAucCI`
    describes.

    Examples
    --------
    >>> from skci import GiniCI
    >>> GiniCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    gini = 0.75 [0.63, 0.84], 95% interval (logit, n = 160)
    """

    _area = GiniCoefficient


class KolmogorovSmirnovCI(
    ScorecardMetricCI, measure="ks_statistic", has_curvature=False, automatic=("delta",)
):
    r"""Kolmogorov-Smirnov statistic of the scores of two classes.

    .. math:: \max_t \, P(S_+ \ge t) - P(S_- \ge t)

    where :math:`S_+` and :math:`S_-` are the scores of a positive and a negative row.
    The statistic is the largest informedness (true positive rate minus false positive
    rate) over all thresholds. The estimate equals the statistic of
    :func:`scipy.stats.ks_2samp` with ``alternative="less"``.

    Parameters
    ----------
    method : {"auto", "logit", "delta"}, optional
        Interval method: "logit" (on the logit scale) or "delta" (symmetric). Defaults
        to the method of the report, or to "auto", which is "delta".

    Notes
    -----
    The standard error refers to the informedness at the threshold with the largest
    informedness. The statistic is a maximum, and therefore its mean exceeds the value
    in the population. The lower limit is reduced by an upper bound of this bias. The
    bound is the mean statistic of random halves of the rows minus the statistic of all
    rows, divided by :math:`\sqrt 2 - 1`.

    Examples
    --------
    >>> from skci import KolmogorovSmirnovCI
    >>> KolmogorovSmirnovCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    ks_statistic = 0.50 [0.18, 0.61], 95% interval (delta, n = 160)
    """

    _area = KolmogorovSmirnov

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        parameter = super()._bind_one(binding, scores, code)
        cells, repeats = parameter.index[binding.within], binding.frequencies
        weights = binding.weights / repeats
        # Rows with equal cell and weight are drawn together, regardless of their order.
        levels, level = np.unique(weights, return_inverse=True)
        kinds, index = np.unique(cells * len(levels) + level, return_inverse=True)
        cells, weights = kinds // len(levels), levels[kinds % len(levels)]
        repeats = np.bincount(index, repeats).astype(int)
        rng, halves = np.random.default_rng(0), []
        for _ in range(_SPLITS):
            some = rng.binomial(repeats, 0.5)
            for half in (some, repeats - some):
                mass = np.bincount(cells, weights * half, len(parameter.counts))
                halves.append(parameter.functional.estimate(mass))
        defined = [float(value) for value in halves if not np.isnan(value)]
        mean = np.mean(defined) if defined else 1.0  # halves with both labels, if any
        excess = np.nan_to_num((mean - parameter.value) / (np.sqrt(2) - 1))
        return replace(parameter, extension=(max(float(excess), 0.0), 0.0))


class _AtShareCI(
    ScorecardMetricCI, MetricAtNumber, has_curvature=False, is_scaled_area=True
):
    """Metric of a share of the rows, namely the rows with the largest scores.

    Parameters
    ----------
    share : float
        Selected share of all rows, above 0 and below 1.
    method : {"auto", "logit", "delta"}, optional
        Interval method: "logit" (on the logit scale) or "delta" (symmetric). Defaults
        to the method of the report, or to "auto", which is "logit".
    """

    share: float = option(kw_only=False, check=check_probability)

    _number, _option, _digits = ("a share of the rows", "0.1"), "share", 6

    def _properties_at(self, number: float) -> dict[str, Any]:
        return {"bounds": (0.0, self._factor)}

    @property
    def _area(self) -> Any:
        return partial(CumulativeGain, share=self.share, factor=self._factor)

    @property
    def _factor(self) -> float:
        return 1.0


class GainAtCI(_AtShareCI):
    r"""Gain: proportion of positive rows among the rows with the largest scores.

    .. math:: P(s \ge t \mid y = 1), \quad P(s \ge t) = k

    where s is the score, y the label (0 or 1) and t the threshold. The share k of all
    rows is selected, such as the customers that a campaign reaches. If only a fraction
    of the rows with equal scores is selected, each of these rows counts with this
    fraction. The string name for a tenth of the rows is "gain@0.1".

    Examples
    --------
    >>> from skci import GainAtCI
    >>> GainAtCI(0.25)([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    gain@0.25 = 0.500 [0.435, 0.565], 95% interval (logit, n = 160)
    """

    _title = "gain"


class LiftAtCI(_AtShareCI):
    r"""Lift: precision among the rows with the largest scores, over the prevalence.

    .. math:: \frac{P(y = 1 \mid s \ge t)}{P(y = 1)}, \quad P(s \ge t) = k

    where s is the score, y the label (0 or 1) and t the threshold. The share k of all
    rows is selected. The lift is the gain (:class:`GainAtCI`) divided by k, and at most
    1 / k. The string name for a tenth of the rows is "lift@0.1".

    Examples
    --------
    >>> from skci import LiftAtCI
    >>> LiftAtCI(0.25)([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    lift@0.25 = 2.00 [1.74, 2.26], 95% interval (logit, n = 160)
    """

    _title = "lift"

    @property
    def _factor(self) -> float:
        return 1 / self.share


class ShareAboveQuantile(CumulativeGain):
    """Proportion of positive rows with scores above a quantile of the negative scores.

    With few negative rows, the quantile in the population may be outside the range of
    the observed negative scores. The variance is then unknown.
    """

    cut_by = 1, 0

    @property
    def rarer_class(self) -> int:
        share, n = self.share, self.sizes[0]
        outside = share**n + (1 - share) ** n
        return min(self.sizes) if outside <= _MAX_OUTSIDE else 0


class _OperatingPointCI(
    ScorecardMetricCI,
    MetricAtNumber,
    has_curvature=False,
    zero_variance_by="too few rows or distinct scores determine the threshold",
):
    """Metric at the score threshold where another metric has a given value.

    Parameters
    ----------
    method : {"auto", "logit", "delta"}, optional
        Interval method: "logit" (on the logit scale) or "delta" (symmetric). Defaults
        to the method of the report, or to "auto", which is "logit".
    """

    _sign, _digits = "=", 6

    @property
    def _area(self) -> Any:
        return partial(ShareAboveQuantile, share=1 - getattr(self, self._option))

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        parameter = super()._bind_one(binding, scores, code)
        if not parameter.is_on_boundary:
            return parameter
        # The interval on the boundary neglects the error of the threshold.
        functional = cast(ShareAboveQuantile, parameter.functional)
        value, low, high = functional.gains(parameter.counts)
        return replace(parameter, extension=(value - low, high - value))


class RecallAtSpecificityCI(_OperatingPointCI):
    r"""Recall at the threshold with a given specificity.

    .. math:: P(s \ge t \mid y = 1), \quad P(s \ge t \mid y = 0) = 1 - c

    where s is the score, y the label (0 or 1) and t the threshold. This sensitivity at
    a fixed specificity c is the value of the ROC curve at the false positive rate 1 - c
    [1]_. The threshold is estimated from the same rows, which widens the interval: the
    interval of :class:`RecallCI` at this threshold would be too narrow [2]_. The
    estimate equals the linear interpolation of :func:`sklearn.metrics.roc_curve`, with
    the larger value where the curve is vertical. String names are
    "recall@specificity=0.9" and "sensitivity@specificity=0.9".

    Parameters
    ----------
    specificity : float
        Specificity at the threshold, above 0 and below 1.

    Notes
    -----
    The influence of a negative row is its influence on the false positive rate at the
    threshold times the slope of the ROC curve. The slope is the difference of the
    curve at the limits of the 95% interval of the false positive rate, divided by the
    difference of these limits [3]_, so that no bandwidth has to be chosen. The
    interval covers if the curve is about straight between these limits. It is too
    narrow at a corner of the curve, for example if the scores of the positive rows have
    a minimum near the threshold.

    The interval is the whole range, with a warning, if the threshold in the population
    may be above the scores of all negative rows. This is the case for fewer than 29
    negative rows at a specificity of .9, 59 rows at .95 and 299 rows at .99.

    For normal scores, a specificity of .9 and recalls of .6 to .97, the coverage of the
    default interval was 0.95 to 0.99 in simulations with 70 to 900 negative rows and
    30 to 500 positive rows.

    References
    ----------
    .. [1] Pepe (2003). The Statistical Evaluation of Medical Tests for Classification
       and Prediction. Oxford University Press.
    .. [2] Linnet (1987). Comparison of quantitative diagnostic tests: type I error,
       power, and sample size. Statistics in Medicine 6, 147-158.
    .. [3] Woodruff (1952). Confidence intervals for medians and other position
       measures. Journal of the American Statistical Association 47, 635-646.

    Examples
    --------
    >>> from skci import RecallAtSpecificityCI
    >>> RecallAtSpecificityCI(0.9)([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    recall@specificity=0.9 = 0.60 [0.47, 0.72], 95% interval (logit, n = 160)
    """

    specificity: float = option(kw_only=False, check=check_probability)

    _title, _option = "recall@specificity", "specificity"
    _number = "a specificity", "0.9"


class SpecificityAtRecallCI(_OperatingPointCI):
    r"""Specificity at the threshold with a given recall.

    .. math:: P(s < t \mid y = 0), \quad P(s < t \mid y = 1) = 1 - r

    where s is the score, y the label (0 or 1) and t the threshold. This specificity at
    a fixed sensitivity r equals :class:`RecallAtSpecificityCI` with the labels
    exchanged and the scores reversed. The notes of that class apply, with positive
    instead of negative rows. String names are "specificity@recall=0.9" and
    "specificity@sensitivity=0.9".

    Parameters
    ----------
    recall : float
        Recall at the threshold, above 0 and below 1.

    Examples
    --------
    >>> from skci import SpecificityAtRecallCI
    >>> SpecificityAtRecallCI(0.9)([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    specificity@recall=0.9 = 0.60 [0.47, 0.72], 95% interval (logit, n = 160)
    """

    recall: float = option(kw_only=False, check=check_probability)

    _title, _option = "specificity@recall", "recall"
    _number = "a recall", "0.9"

    def _area_of(self, positive: Any, scores: Scores, *rows: Any) -> Any:
        reversed_scores = replace(scores, values=-scores.values)
        return super()._area_of(~positive, reversed_scores, *rows)
