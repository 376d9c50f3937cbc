"""Metrics of one label against the rest.

Two bases hold the options; a class names its measure in the registry,
``skci.measures.registry``. Cells are proportions of the rows.
"""

from dataclasses import field
from typing import Any

import numpy as np

from skci._validation import check_choice, check_positive_number
from skci.measures.classes import AVERAGES
from skci.measures.registry import Measure, f_beta_measure, tversky_measure
from skci.metrics._base import LabelMetricCI, declare_options


@declare_options
class _AveragedCI(LabelMetricCI):
    """A metric of one positive label, or averaged over classes.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        The positive label. If not given, 1, or that of the report. Labels that are
        strings need it.
    average : {"binary", "micro", "macro", "weighted", "samples"} or None
        Average over classes: "binary" (the default) for the positive label alone;
        "macro" for the mean over classes; "weighted" for their mean weighted by the
        number of true rows, which is estimated as well; "micro" for the measure of the
        sum of all tables; None for a report on each class; "samples", of several
        targets, for the mean over rows.
    labels : array-like, optional
        Classes to average over, in the order of a report on each; all that are known
        if not given.
    """

    pos_label: Any = None
    average: str | None = "binary"
    labels: Any = None

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        average = self.average
        if average is not None:
            check_choice(average, ("binary", *AVERAGES, "samples"), "average")
        if average != "binary" and self.pos_label is not None:
            raise ValueError(
                f"pos_label must not be set with average={average!r}, which treats all "
                f"classes alike, got {self.pos_label!r}"
            )
        if average == "binary" and self.labels is not None:
            raise ValueError(
                f"labels must not be set with average={average!r}, got {self.labels!r}"
            )


@declare_options
class _ZeroDivisionCI(_AveragedCI):
    """Such a metric whose function in scikit-learn has ``zero_division``.

    Parameters
    ----------
    zero_division : {0, 1, nan}, default=nan
        Estimate where the measure is undefined, and the value of an undefined class in
        an average; NaN leaves it out. The interval is the whole range in any case, and
        that of an average is extended for undefined classes.
    """

    zero_division: float = np.nan


class PrecisionCI(_ZeroDivisionCI, measure="precision"):
    r"""Precision: :math:`TP / (TP + FP)`.

    The share of positives among the rows predicted positive; the estimate equals
    :func:`sklearn.metrics.precision_score`.

    Examples
    --------
    >>> PrecisionCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    precision = 0.71 [0.55, 0.84], 95% interval (score, n = 100)
    """


class RecallCI(_ZeroDivisionCI, measure="recall"):
    r"""Recall or sensitivity: :math:`TP / (TP + FN)`.

    The share of positives that are predicted positive; the estimate equals
    :func:`sklearn.metrics.recall_score`.

    Examples
    --------
    >>> RecallCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    recall = 0.62 [0.47, 0.76], 95% interval (score, n = 100)
    """


class SpecificityCI(_AveragedCI, measure="specificity"):
    r"""Specificity, the recall of the negative label: :math:`TN / (TN + FP)`.

    It is the share of negatives that are predicted negative.

    Examples
    --------
    >>> SpecificityCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    specificity = 0.833 [0.720, 0.907], 95% interval (score, n = 100)
    """


class NegativePredictiveValueCI(_AveragedCI, measure="negative_predictive_value"):
    r"""Precision of the negative label: :math:`TN / (TN + FN)`.

    It is the share of negatives among the rows predicted negative.

    Examples
    --------
    >>> NegativePredictiveValueCI().from_confusion_matrix([[50, 10], [15, 25]])
    negative_predictive_value = 0.77 [0.65, 0.85], 95% interval (score, n = 100)
    """


class FalsePositiveRateCI(_AveragedCI, measure="false_positive_rate"):
    r"""False positive rate: :math:`FP / (FP + TN)`. Lower is better.

    It is the share of negatives that are predicted positive.

    Examples
    --------
    >>> FalsePositiveRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    false_positive_rate = 0.167 [0.093, 0.280], 95% interval (score, n = 100)
    """


class FalseNegativeRateCI(_AveragedCI, measure="false_negative_rate"):
    r"""False negative rate: :math:`FN / (FN + TP)`. Lower is better.

    It is the share of positives that are predicted negative.

    Examples
    --------
    >>> FalseNegativeRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    false_negative_rate = 0.38 [0.24, 0.53], 95% interval (score, n = 100)
    """


class SelectionRateCI(_AveragedCI, measure="selection_rate"):
    r"""Selection rate: :math:`TP + FP`.

    The share of rows predicted positive, whatever their true label; the estimate equals
    that of fairlearn's ``selection_rate``. Neither of two values is the better one:
    findings say which is lower.

    Examples
    --------
    >>> SelectionRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    selection_rate = 0.350 [0.264, 0.447], 95% interval (score, n = 100)
    """


@declare_options
class FBetaCI(_ZeroDivisionCI):
    r"""F-beta, a weighted harmonic mean of precision and recall.

    .. math:: (1 + \beta^2) TP / ((1 + \beta^2) TP + \beta^2 FN + FP)

    The estimate equals :func:`sklearn.metrics.fbeta_score`.

    Parameters
    ----------
    beta : float
        Weight of recall relative to precision; above 0.

    Examples
    --------
    >>> FBetaCI(0.5, method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """

    beta: float = field(kw_only=False)

    @property
    def _measure(self) -> Measure:  # type: ignore[override]
        return f_beta_measure(check_positive_number(self.beta, "beta"))


class F1CI(_ZeroDivisionCI, measure="f1"):
    r"""F1 or Dice's index: :math:`2 TP / (2 TP + FN + FP)`.

    The harmonic mean of precision and recall; the estimate equals
    :func:`sklearn.metrics.f1_score`.

    Examples
    --------
    >>> F1CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f1 = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    >>> metric = F1CI(average="macro", method="score")
    >>> metric.from_confusion_matrix([[40, 9, 1], [8, 30, 7], [2, 6, 47]])
    f1_macro = 0.774 [0.702, 0.833], 95% interval (score, n = 150)
    """


class F05CI(_ZeroDivisionCI, measure="f0.5"):
    r"""F-beta at beta = 0.5, where recall counts half as much as precision.

    That is :math:`1.25 TP / (1.25 TP + 0.25 FN + FP)`.

    Examples
    --------
    >>> F05CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """


class F2CI(_ZeroDivisionCI, measure="f2"):
    r"""F-beta at beta = 2, where recall counts twice as much as precision.

    That is :math:`5 TP / (5 TP + 4 FN + FP)`.

    Examples
    --------
    >>> F2CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f2 = 0.64 [0.50, 0.76], 95% interval (score, n = 100)
    """


class JaccardCI(_ZeroDivisionCI, measure="jaccard"):
    r"""Jaccard's index: :math:`TP / (TP + FP + FN)`.

    The estimate equals :func:`sklearn.metrics.jaccard_score`.

    Examples
    --------
    >>> JaccardCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    jaccard = 0.50 [0.37, 0.63], 95% interval (score, n = 100)
    """


@declare_options
class TverskyCI(_AveragedCI):
    r"""Tversky's index: :math:`TP / (TP + \alpha FP + \beta FN)`.

    It is F1 at weights of 0.5 and Jaccard's index at weights of 1.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight of a false positive; above 0.
    beta : float, default=0.5
        Weight of a false negative; above 0.

    Examples
    --------
    >>> TverskyCI(0.3, 0.7, method="score").from_confusion_matrix([[50, 10], [15, 25]])
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


class CosineCI(_AveragedCI, measure="cosine"):
    r"""Cosine or Ochiai index: :math:`TP / \sqrt{(TP + FP)(TP + FN)}`.

    The geometric mean of precision and recall, also known as the Fowlkes-Mallows index
    of the two sets of positives.

    Examples
    --------
    >>> CosineCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    cosine = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    """


class LiftCI(_AveragedCI, measure="lift"):
    r"""Lift, precision over prevalence: :math:`TP / ((TP + FP)(TP + FN))`.

    A prediction that is independent of the truth has a lift of 1.

    Examples
    --------
    >>> LiftCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    lift = 1.79 [1.44, 2.24], 95% interval (score, n = 100)
    """


class OverlapCI(_AveragedCI, measure="overlap"):
    r"""Overlap coefficient: :math:`TP / \min(TP + FP, TP + FN)`.

    Its derivative has a jump at :math:`FP = FN`, so that ``method="score"`` does not
    serve it.

    Examples
    --------
    >>> OverlapCI(method="plus-four").from_confusion_matrix([[50, 10], [15, 25]])
    overlap = 0.71 [0.56, 0.85], 95% interval (plus-four, n = 100)
    """


class GMeanCI(LabelMetricCI, measure="g_mean"):
    r"""Geometric mean of recall and specificity.

    .. math:: \sqrt{TP / (TP + FN) \cdot TN / (TN + FP)}

    Examples
    --------
    >>> GMeanCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    g_mean = 0.722 [0.619, 0.806], 95% interval (score, n = 100)
    """


class InformednessCI(LabelMetricCI, measure="informedness"):
    r"""Informedness or Youden's index: recall + specificity - 1.

    That is :math:`TP / (TP + FN) + TN / (TN + FP) - 1`. The estimate equals
    :func:`sklearn.metrics.balanced_accuracy_score` with ``adjusted=True``.

    Examples
    --------
    >>> InformednessCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    informedness = 0.46 [0.27, 0.62], 95% interval (score, n = 100)
    """


class MarkednessCI(LabelMetricCI, measure="markedness"):
    r"""Markedness: precision + negative predictive value - 1.

    That is :math:`TP / (TP + FP) + TN / (TN + FN) - 1`.

    Examples
    --------
    >>> MarkednessCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    markedness = 0.48 [0.29, 0.64], 95% interval (score, n = 100)
    """


class PositiveLikelihoodRatioCI(_AveragedCI, measure="positive_likelihood_ratio"):
    r"""Positive likelihood ratio: recall / false positive rate.

    That is :math:`TP / (TP + FN) \cdot (FP + TN) / FP`, infinite without false
    positives. The estimate equals the first of
    :func:`sklearn.metrics.class_likelihood_ratios`. Intervals are formed on the log
    scale.

    Examples
    --------
    >>> PositiveLikelihoodRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    positive_likelihood_ratio = 3.75 [2.08, 6.99], 95% interval (score, n = 100)
    """


class NegativeLikelihoodRatioCI(_AveragedCI, measure="negative_likelihood_ratio"):
    r"""Negative likelihood ratio: false negative rate / specificity. Lower is better.

    That is :math:`FN / (TP + FN) \cdot (FP + TN) / TN`. The estimate equals the second
    of :func:`sklearn.metrics.class_likelihood_ratios`. Intervals are formed on the log
    scale.

    Examples
    --------
    >>> NegativeLikelihoodRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    negative_likelihood_ratio = 0.45 [0.29, 0.65], 95% interval (score, n = 100)
    """


class DiagnosticOddsRatioCI(LabelMetricCI, measure="diagnostic_odds_ratio"):
    r"""Diagnostic odds ratio: :math:`TP \cdot TN / (FP \cdot FN)`.

    It is infinite without errors of one kind. Intervals are formed on the log scale.

    Examples
    --------
    >>> DiagnosticOddsRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    diagnostic_odds_ratio = 8.33 [3.31, 20.98], 95% interval (score, n = 100)
    """
