"""Metrics of scores at an operating point: recall at a specificity, and the reverse.

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

from dataclasses import replace
from functools import partial
from typing import Any, cast

from skci._validation import check_probability
from skci.data.sample import Scores
from skci.inference.parameter import TableParameter
from skci.metrics.base import MetricAtNumber, option
from skci.metrics.binding import ParameterBuilder
from skci.metrics.scorecards import CumulativeGain, ScorecardMetricCI

_MAX_OUTSIDE = 0.05  # probability of a quantile outside the range of the scores


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
    """Metric at the score threshold at which another metric has a given value.

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

    def _bind_one(
        self, binding: ParameterBuilder, scores: Scores, code: int
    ) -> TableParameter:
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
