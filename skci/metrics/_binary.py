"""The metric objects of a label against the rest, a few lines each.

Two bases hold the options; a class names its measure, declared in
``skci.measures.registry``. Formulas are in proportions of the rows.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from skci._validation import check_positive_number
from skci.measures.registry import MEASURES, Measure, f_beta_measure, tversky_measure
from skci.metrics._base import LabelMetricCI, declare_options

__all__ = [
    "F05CI",
    "F1CI",
    "F2CI",
    "CosineCI",
    "DiagnosticOddsRatioCI",
    "FBetaCI",
    "FalseNegativeRateCI",
    "FalsePositiveRateCI",
    "GMeanCI",
    "InformednessCI",
    "JaccardCI",
    "LiftCI",
    "MarkednessCI",
    "NegativeLikelihoodRatioCI",
    "NegativePredictiveValueCI",
    "OverlapCI",
    "PositiveLikelihoodRatioCI",
    "PrecisionCI",
    "RecallCI",
    "SpecificityCI",
    "TverskyCI",
]


@declare_options
class _AveragedCI(LabelMetricCI):
    """A metric of one positive label, or averaged over classes."""

    pos_label: Any = None
    average: str | None = "binary"
    labels: Any = None


@declare_options
class _ZeroDivisionCI(_AveragedCI):
    """Such a metric whose function in scikit-learn has ``zero_division``."""

    zero_division: float = np.nan


class PrecisionCI(_ZeroDivisionCI):
    r"""Precision, the share of positives among the rows predicted positive.

    It is :math:`TP / (TP + FP)`. The point estimate is that of
    :func:`sklearn.metrics.precision_score`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import PrecisionCI
    >>> metric = PrecisionCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    precision = 0.71 [0.55, 0.84], 95% interval (score, n = 100)
    """

    _measure = MEASURES["precision"]


class RecallCI(_ZeroDivisionCI):
    r"""Recall or sensitivity, the share of the positives that is found.

    It is :math:`TP / (TP + FN)`. The point estimate is that of
    :func:`sklearn.metrics.recall_score`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import RecallCI
    >>> metric = RecallCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    recall = 0.62 [0.47, 0.76], 95% interval (score, n = 100)
    """

    _measure = MEASURES["recall"]


class SpecificityCI(_AveragedCI):
    r"""Specificity, the share of the negatives predicted negative.

    It is :math:`TN / (TN + FP)`, the recall of the negative label.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import SpecificityCI
    >>> metric = SpecificityCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    specificity = 0.833 [0.720, 0.907], 95% interval (score, n = 100)
    """

    _measure = MEASURES["specificity"]


class NegativePredictiveValueCI(_AveragedCI):
    r"""Negative predictive value, the precision of the negative label.

    It is :math:`TN / (TN + FN)`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import NegativePredictiveValueCI
    >>> metric = NegativePredictiveValueCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    negative_predictive_value = 0.77 [0.65, 0.85], 95% interval (score, n = 100)
    """

    _measure = MEASURES["negative_predictive_value"]


class FalsePositiveRateCI(_AveragedCI):
    r"""False positive rate, the share of the negatives predicted positive.

    It is :math:`FP / (FP + TN)`. Less is better.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import FalsePositiveRateCI
    >>> metric = FalsePositiveRateCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    false_positive_rate = 0.167 [0.093, 0.280], 95% interval (score, n = 100)
    """

    _measure = MEASURES["false_positive_rate"]


class FalseNegativeRateCI(_AveragedCI):
    r"""False negative rate, the share of the positives that is missed.

    It is :math:`FN / (FN + TP)`. Less is better.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import FalseNegativeRateCI
    >>> metric = FalseNegativeRateCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    false_negative_rate = 0.38 [0.24, 0.53], 95% interval (score, n = 100)
    """

    _measure = MEASURES["false_negative_rate"]


@declare_options
class FBetaCI(_ZeroDivisionCI):
    r"""F-beta, a harmonic mean of precision and recall.

    It is :math:`(1 + \beta^2) TP / ((1 + \beta^2) TP + \beta^2 FN + FP)`. The point
    estimate is that of :func:`sklearn.metrics.fbeta_score`.

    Parameters
    ----------
    beta : float
        How many times as much recall counts as precision; above 0.
    confidence_level, method, pos_label, average, labels, zero_division
        See :class:`MetricCI`.

    Examples
    --------
    >>> from skci import FBetaCI
    >>> metric = FBetaCI(0.5, method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """

    beta: float = field(kw_only=False)

    @property
    def _measure(self) -> Measure:  # type: ignore[override]
        return f_beta_measure(check_positive_number(self.beta, "beta"))


class F1CI(_ZeroDivisionCI):
    r"""F1 or Dice's index, the harmonic mean of precision and recall.

    It is :math:`2 TP / (2 TP + FN + FP)`. The point estimate is that of
    :func:`sklearn.metrics.f1_score`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import F1CI
    >>> metric = F1CI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    f1 = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    >>> metric = F1CI(average="macro", method="score")
    >>> metric.from_confusion_matrix([[40, 9, 1], [8, 30, 7], [2, 6, 47]])
    f1_macro = 0.774 [0.702, 0.833], 95% interval (score, n = 150)
    """

    _measure = MEASURES["f1"]


class F05CI(_ZeroDivisionCI):
    r"""F-beta at beta = 0.5: recall counts half as much as precision.

    It is :math:`1.25\, TP / (1.25\, TP + 0.25\, FN + FP)`. The point estimate is that
    of :func:`sklearn.metrics.fbeta_score`. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import F05CI
    >>> metric = F05CI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """

    _measure = MEASURES["f0.5"]


class F2CI(_ZeroDivisionCI):
    r"""F-beta at beta = 2: recall counts twice as much as precision.

    It is :math:`5 TP / (5 TP + 4 FN + FP)`. The point estimate is that of
    :func:`sklearn.metrics.fbeta_score`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import F2CI
    >>> metric = F2CI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    f2 = 0.64 [0.50, 0.76], 95% interval (score, n = 100)
    """

    _measure = MEASURES["f2"]


class JaccardCI(_ZeroDivisionCI):
    r"""Jaccard's index, the overlap of the predicted and the true positives.

    It is :math:`TP / (TP + FP + FN)`. The point estimate is that of
    :func:`sklearn.metrics.jaccard_score`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import JaccardCI
    >>> metric = JaccardCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    jaccard = 0.50 [0.37, 0.63], 95% interval (score, n = 100)
    """

    _measure = MEASURES["jaccard"]


@declare_options
class TverskyCI(_AveragedCI):
    r"""Tversky's index, a Jaccard index with weights for the two errors.

    It is :math:`TP / (TP + \alpha FP + \beta FN)`: F1 at weights of 0.5, Jaccard's
    index at weights of 1.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight of a false positive; above 0.
    beta : float, default=0.5
        Weight of a false negative; above 0.
    confidence_level, method, pos_label, average, labels
        See :class:`MetricCI`.

    Examples
    --------
    >>> from skci import TverskyCI
    >>> metric = TverskyCI(0.3, 0.7, method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    tversky = 0.65 [0.51, 0.76], 95% interval (score, n = 100)
    """

    alpha: float = field(default=0.5, kw_only=False)
    beta: float = field(default=0.5, kw_only=False)

    @property
    def _measure(self) -> Measure:  # type: ignore[override]
        return tversky_measure(
            check_positive_number(self.alpha, "alpha"),
            check_positive_number(self.beta, "beta"),
        )


class CosineCI(_AveragedCI):
    r"""Cosine or Ochiai index, the geometric mean of precision and recall.

    It is :math:`TP / \sqrt{(TP + FP)(TP + FN)}`, also known as the index of Fowlkes and
    Mallows of the two sets of positives.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import CosineCI
    >>> metric = CosineCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    cosine = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    """

    _measure = MEASURES["cosine"]


class LiftCI(_AveragedCI):
    r"""Lift, how many times denser the positives are where predicted.

    It is :math:`TP / ((TP + FP)(TP + FN))`; 1 is no better than chance.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import LiftCI
    >>> metric = LiftCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    lift = 1.79 [1.44, 2.24], 95% interval (score, n = 100)
    """

    _measure = MEASURES["lift"]


class OverlapCI(_AveragedCI):
    r"""Overlap coefficient of the predicted and the true positives.

    It is :math:`TP / \min(TP + FP, TP + FN)`. Its derivative jumps where the two are
    as many, so that ``method="score"`` does not serve it.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import OverlapCI
    >>> metric = OverlapCI(method="plus-four")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    overlap = 0.71 [0.56, 0.85], 95% interval (plus-four, n = 100)
    """

    _measure = MEASURES["overlap"]


class GMeanCI(LabelMetricCI):
    r"""Geometric mean of recall and specificity.

    It is :math:`\sqrt{TP / (TP + FN) \cdot TN / (TN + FP)}`.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import GMeanCI
    >>> metric = GMeanCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    g_mean = 0.722 [0.619, 0.806], 95% interval (score, n = 100)
    """

    _measure = MEASURES["g_mean"]


class InformednessCI(LabelMetricCI):
    r"""Informedness or Youden's index: recall + specificity - 1.

    It is :func:`sklearn.metrics.balanced_accuracy_score` with ``adjusted=True``.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import InformednessCI
    >>> metric = InformednessCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    informedness = 0.46 [0.27, 0.62], 95% interval (score, n = 100)
    """

    _measure = MEASURES["informedness"]


class MarkednessCI(LabelMetricCI):
    r"""Markedness: precision + negative predictive value - 1.

    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import MarkednessCI
    >>> metric = MarkednessCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    markedness = 0.48 [0.29, 0.64], 95% interval (score, n = 100)
    """

    _measure = MEASURES["markedness"]


class PositiveLikelihoodRatioCI(_AveragedCI):
    r"""Positive likelihood ratio: recall / false positive rate.

    The point estimate is the first of
    :func:`sklearn.metrics.class_likelihood_ratios`. Infinite without false positives.
    Intervals are formed on the log scale.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import PositiveLikelihoodRatioCI
    >>> metric = PositiveLikelihoodRatioCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    positive_likelihood_ratio = 3.75 [2.08, 6.99], 95% interval (score, n = 100)
    """

    _measure = MEASURES["positive_likelihood_ratio"]


class NegativeLikelihoodRatioCI(_AveragedCI):
    r"""Negative likelihood ratio: false negative rate / specificity.

    The point estimate is the second of
    :func:`sklearn.metrics.class_likelihood_ratios`. Less is better. Intervals are
    formed on the log scale. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import NegativeLikelihoodRatioCI
    >>> metric = NegativeLikelihoodRatioCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    negative_likelihood_ratio = 0.45 [0.29, 0.65], 95% interval (score, n = 100)
    """

    _measure = MEASURES["negative_likelihood_ratio"]


class DiagnosticOddsRatioCI(LabelMetricCI):
    r"""Diagnostic odds ratio: the odds of a right to a wrong prediction.

    It is :math:`TP \cdot TN / (FP \cdot FN)`, infinite without errors of one kind.
    Intervals are formed on the log scale.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import DiagnosticOddsRatioCI
    >>> metric = DiagnosticOddsRatioCI(method="score")
    >>> metric.from_confusion_matrix([[50, 10], [15, 25]])
    diagnostic_odds_ratio = 8.33 [3.31, 20.98], 95% interval (score, n = 100)
    """

    _measure = MEASURES["diagnostic_odds_ratio"]
