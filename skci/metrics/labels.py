"""Metrics of labels: a formula in tp, fp, fn and tn, and a class for each formula.

The arguments of a formula are the cells of a confusion matrix, as counts or as
proportions of the rows. The arguments are numbers or arrays, real or complex.
Derivatives are computed by the complex step, so that a formula may use only functions
that extend to complex numbers (arithmetic, powers, ``np.sqrt``, ``np.log``; not
``abs``, ``min`` or ``math.sqrt``). A measure returns NaN for 0/0 and infinity for x/0.

To add a measure, write its formula and a class that names it.
"""

# ruff: noqa: D103  (the formula of a measure is its documentation)

from functools import partial
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_positive_number
from skci.data.labels import check_one_target
from skci.inference.parameter import TableParameter
from skci.measures.traits import DICE, EDGE, LOG, MeasureProperties
from skci.metrics.base import LabelMetricCI, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.classes import AVERAGES, Correlation, Hits, Kappa, disagreement

ALL = "tp fp fn tn"
SIGNED: dict[str, Any] = {"bounds": (-1.0, 1.0), "symmetric": True}
RATIO: dict[str, Any] = {"bounds": (0.0, np.inf), "scale": LOG, "plus_four": None}


def accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (tp + tn) / (tp + fp + fn + tn)


def error_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (fp + fn) / (tp + fp + fn + tn)


def precision(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp)


def recall(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fn)


def specificity(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fp + tn)


def negative_predictive_value(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fn + tn)


def false_positive_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fp / (fp + tn)


def false_negative_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn / (tp + fn)


def selection_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (tp + fp) / (tp + fp + fn + tn)


def f_beta(tp: Array, fp: Array, fn: Array, tn: Array, *, beta: float) -> Array:
    hits = (1 + beta**2) * tp
    return hits / (hits + beta**2 * fn + fp)


def jaccard(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp + fn)


def tversky(
    tp: Array, fp: Array, fn: Array, tn: Array, *, alpha: float, beta: float
) -> Array:
    return tp / (tp + alpha * fp + beta * fn)


def matthews_corrcoef(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(spread)


def cosine(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / np.sqrt((tp + fp) * (tp + fn))


def lift(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (tp + fp + fn + tn) / ((tp + fp) * (tp + fn))


def overlap(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    # At the kink fp = fn, value and slope are the means of both sides.
    excess = np.real(fp) - np.real(fn)
    excess = np.where(np.abs(excess) > EDGE * np.real(fp + fn), excess, 0)
    rarer = np.where(excess < 0, fp, np.where(excess > 0, fn, (fp + fn) / 2))
    return tp / (tp + rarer)


def balanced_accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (recall(tp, fp, fn, tn) + specificity(tp, fp, fn, tn)) / 2


def g_mean(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return np.sqrt(recall(tp, fp, fn, tn) * specificity(tp, fp, fn, tn))


def cohen_kappa(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    expected_disagreement = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return 2 * (tp * tn - fp * fn) / expected_disagreement


def informedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return recall(tp, fp, fn, tn) - false_positive_rate(tp, fp, fn, tn)


def markedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return precision(tp, fp, fn, tn) - fn / (fn + tn)


def positive_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (fp + tn) / ((tp + fn) * fp)


def negative_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn * (fp + tn) / ((tp + fn) * tn)


def diagnostic_odds_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * tn / (fp * fn)


class _AveragedCI(LabelMetricCI):
    """Metric of one positive label, or an average over classes.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label. Defaults to the positive label of the report, or to 1. Required
        if labels are strings.
    average : {"binary", "micro", "macro", "weighted", "samples"} or None
        Average over classes. "binary" (the default) uses the positive label alone.
        "macro" is the mean over classes. "weighted" is the mean weighted by the number
        of true rows of each class; these numbers are treated as estimates. "micro" is
        the measure of the sum of the confusion matrices of all classes. "samples" is
        the mean over rows of the measure of a row, for several targets. None requests a
        report on each class.
    labels : array-like, optional
        Classes to average over, in the order of the report with ``average=None``.
        Defaults to all known classes.
    """

    pos_label: Any = None
    average: str | None = option(
        default="binary", check=one_of("binary", *AVERAGES, "samples", None)
    )
    labels: Any = None

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        excluded = "labels" if self.average == "binary" else "pos_label"
        if (value := getattr(self, excluded)) is not None:
            raise ValueError(
                f"{excluded} must not be set with average={self.average!r}, got "
                f"{value!r}"
            )


class _ZeroDivisionCI(_AveragedCI):
    """Metric with the parameter ``zero_division`` of scikit-learn.

    Parameters
    ----------
    zero_division : {0, 1, nan}, default=nan
        Value of an undefined measure, as an estimate or as a class in an average. NaN
        leaves an undefined class out of the average. For any value, the interval of an
        undefined estimate is the whole range, and the interval of an average is
        extended for undefined classes.
    """

    zero_division: float = np.nan


class PrecisionCI(_ZeroDivisionCI, function=precision, proportion=("tp", "tp fp")):
    r"""Precision: :math:`TP / (TP + FP)`.

    Precision is the proportion of positives among the rows predicted positive. The
    estimate equals :func:`sklearn.metrics.precision_score`.

    Examples
    --------
    >>> PrecisionCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    precision = 0.71 [0.55, 0.84], 95% interval (score, n = 100)
    """


class RecallCI(_ZeroDivisionCI, function=recall, proportion=("tp", "tp fn")):
    r"""Recall or sensitivity: :math:`TP / (TP + FN)`.

    Recall is the proportion of positives that are predicted positive. The estimate
    equals :func:`sklearn.metrics.recall_score`.

    Examples
    --------
    >>> RecallCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    recall = 0.62 [0.47, 0.76], 95% interval (score, n = 100)
    """


class SpecificityCI(_AveragedCI, function=specificity, proportion=("tn", "fp tn")):
    r"""Specificity, the recall of the negative label: :math:`TN / (TN + FP)`.

    Specificity is the proportion of negatives that are predicted negative.

    Examples
    --------
    >>> SpecificityCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    specificity = 0.833 [0.720, 0.907], 95% interval (score, n = 100)
    """


class NegativePredictiveValueCI(
    _AveragedCI, function=negative_predictive_value, proportion=("tn", "fn tn")
):
    r"""Precision of the negative label: :math:`TN / (TN + FN)`.

    The value is the proportion of negatives among the rows predicted negative.

    Examples
    --------
    >>> NegativePredictiveValueCI().from_confusion_matrix([[50, 10], [15, 25]])
    negative_predictive_value = 0.77 [0.65, 0.85], 95% interval (score, n = 100)
    """


class FalsePositiveRateCI(
    _AveragedCI,
    function=false_positive_rate,
    proportion=("fp", "fp tn"),
    greater_is_better=False,
):
    r"""False positive rate: :math:`FP / (FP + TN)`. Lower is better.

    The rate is the proportion of negatives that are predicted positive.

    Examples
    --------
    >>> FalsePositiveRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    false_positive_rate = 0.167 [0.093, 0.280], 95% interval (score, n = 100)
    """


class FalseNegativeRateCI(
    _AveragedCI,
    function=false_negative_rate,
    proportion=("fn", "tp fn"),
    greater_is_better=False,
):
    r"""False negative rate: :math:`FN / (FN + TP)`. Lower is better.

    The rate is the proportion of positives that are predicted negative.

    Examples
    --------
    >>> FalseNegativeRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    false_negative_rate = 0.38 [0.24, 0.53], 95% interval (score, n = 100)
    """


class SelectionRateCI(
    _AveragedCI, function=selection_rate, proportion=("tp fp", ALL), has_better=False
):
    r"""Selection rate: :math:`TP + FP`.

    The proportion of rows predicted positive, regardless of their true label. The
    estimate equals ``selection_rate`` of fairlearn. Neither a lower nor a higher value
    is better, so reports only state which value is lower.

    Examples
    --------
    >>> SelectionRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    selection_rate = 0.350 [0.264, 0.447], 95% interval (score, n = 100)
    """


class FBetaCI(_ZeroDivisionCI):
    r"""F-beta, a weighted harmonic mean of precision and recall.

    .. math:: (1 + \beta^2) TP / ((1 + \beta^2) TP + \beta^2 FN + FP)

    Recall is :math:`\beta` times as important as precision. The estimate equals
    :func:`sklearn.metrics.fbeta_score`.

    Parameters
    ----------
    beta : float
        Weight of recall relative to precision; above 0.

    Examples
    --------
    >>> FBetaCI(0.5, method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """

    beta: float = option(kw_only=False, check=check_positive_number)

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        beta = check_positive_number(self.beta, "beta")
        formula = partial(f_beta, beta=beta)
        return MeasureProperties(f"f{beta:g}", **self._properties, function=formula)


class F1CI(_ZeroDivisionCI, measure="f1", function=partial(f_beta, beta=1.0)):
    r"""F1 or Dice's index: :math:`2 TP / (2 TP + FN + FP)`.

    F1 is the harmonic mean of precision and recall. The estimate equals
    :func:`sklearn.metrics.f1_score`.

    Examples
    --------
    >>> F1CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f1 = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    >>> metric = F1CI(average="macro", method="score")
    >>> metric.from_confusion_matrix([[40, 9, 1], [8, 30, 7], [2, 6, 47]])
    f1_macro = 0.774 [0.702, 0.833], 95% interval (score, n = 150)
    """


class F05CI(_ZeroDivisionCI, measure="f0.5", function=partial(f_beta, beta=0.5)):
    r"""F-beta at beta = 0.5, where recall counts half as much as precision.

    The formula is :math:`1.25 TP / (1.25 TP + 0.25 FN + FP)`.

    Examples
    --------
    >>> F05CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f0.5 = 0.69 [0.55, 0.80], 95% interval (score, n = 100)
    """


class F2CI(_ZeroDivisionCI, measure="f2", function=partial(f_beta, beta=2.0)):
    r"""F-beta at beta = 2, where recall counts twice as much as precision.

    The formula is :math:`5 TP / (5 TP + 4 FN + FP)`.

    Examples
    --------
    >>> F2CI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    f2 = 0.64 [0.50, 0.76], 95% interval (score, n = 100)
    """


class JaccardCI(
    _ZeroDivisionCI, function=jaccard, proportion=("tp", "tp fp fn"), plus_four=DICE
):
    r"""Jaccard's index: :math:`TP / (TP + FP + FN)`.

    The estimate equals :func:`sklearn.metrics.jaccard_score`.

    Examples
    --------
    >>> JaccardCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    jaccard = 0.50 [0.37, 0.63], 95% interval (score, n = 100)
    """


class TverskyCI(_AveragedCI):
    r"""Tversky's index: :math:`TP / (TP + \alpha FP + \beta FN)`.

    With weights of 0.5, the index equals F1. With weights of 1, it equals Jaccard's
    index.

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

    alpha: float = option(default=0.5, kw_only=False, check=check_positive_number)
    beta: float = option(default=0.5, kw_only=False, check=check_positive_number)

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        alpha = check_positive_number(self.alpha, "alpha")
        beta = check_positive_number(self.beta, "beta")
        formula = partial(tversky, alpha=alpha, beta=beta)
        return MeasureProperties("tversky", **self._properties, function=formula)


class CosineCI(_AveragedCI, function=cosine):
    r"""Cosine or Ochiai index: :math:`TP / \sqrt{(TP + FP)(TP + FN)}`.

    The index is the geometric mean of precision and recall, and is also known as the
    Fowlkes-Mallows index.

    Examples
    --------
    >>> CosineCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    cosine = 0.67 [0.54, 0.78], 95% interval (score, n = 100)
    """


class LiftCI(_AveragedCI, function=lift, bounds=(0.0, np.inf), plus_four=None):
    r"""Lift, precision over prevalence: :math:`TP / ((TP + FP)(TP + FN))`.

    A prediction that is independent of the truth has a lift of 1.

    Examples
    --------
    >>> LiftCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    lift = 1.79 [1.44, 2.24], 95% interval (score, n = 100)
    """


class OverlapCI(_AveragedCI, function=overlap, smooth=False):
    r"""Overlap coefficient: :math:`TP / \min(TP + FP, TP + FN)`.

    The derivative has a jump at :math:`FP = FN`, so that ``method="score"`` is not
    available.

    Examples
    --------
    >>> OverlapCI(method="plus-four").from_confusion_matrix([[50, 10], [15, 25]])
    overlap = 0.71 [0.56, 0.85], 95% interval (plus-four, n = 100)
    """


class GMeanCI(LabelMetricCI, function=g_mean, symmetric=True):
    r"""Geometric mean of recall and specificity.

    .. math:: \sqrt{TP / (TP + FN) \cdot TN / (TN + FP)}

    Examples
    --------
    >>> GMeanCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    g_mean = 0.722 [0.619, 0.806], 95% interval (score, n = 100)
    """


class InformednessCI(LabelMetricCI, function=informedness, **SIGNED):
    r"""Informedness or Youden's index: recall + specificity - 1.

    The formula is :math:`TP / (TP + FN) + TN / (TN + FP) - 1`. The estimate equals
    :func:`sklearn.metrics.balanced_accuracy_score` with ``adjusted=True``.

    Examples
    --------
    >>> InformednessCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    informedness = 0.46 [0.27, 0.62], 95% interval (score, n = 100)
    """


class MarkednessCI(LabelMetricCI, function=markedness, **SIGNED):
    r"""Markedness: precision + negative predictive value - 1.

    The formula is :math:`TP / (TP + FP) + TN / (TN + FN) - 1`.

    Examples
    --------
    >>> MarkednessCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    markedness = 0.48 [0.29, 0.64], 95% interval (score, n = 100)
    """


class PositiveLikelihoodRatioCI(
    _AveragedCI, function=positive_likelihood_ratio, **RATIO
):
    r"""Positive likelihood ratio: recall / false positive rate.

    The formula is :math:`TP / (TP + FN) \cdot (FP + TN) / FP`, which is infinite
    without false positives. The estimate equals the first value of
    :func:`sklearn.metrics.class_likelihood_ratios`. Intervals are formed on the log
    scale.

    Examples
    --------
    >>> PositiveLikelihoodRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    positive_likelihood_ratio = 3.75 [2.08, 6.99], 95% interval (score, n = 100)
    """


class NegativeLikelihoodRatioCI(
    _AveragedCI, function=negative_likelihood_ratio, greater_is_better=False, **RATIO
):
    r"""Negative likelihood ratio: false negative rate / specificity. Lower is better.

    The formula is :math:`FN / (TP + FN) \cdot (FP + TN) / TN`. The estimate equals the
    second value of :func:`sklearn.metrics.class_likelihood_ratios`. Intervals are
    formed on the log scale.

    Examples
    --------
    >>> NegativeLikelihoodRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    negative_likelihood_ratio = 0.45 [0.29, 0.65], 95% interval (score, n = 100)
    """


class DiagnosticOddsRatioCI(
    LabelMetricCI, function=diagnostic_odds_ratio, symmetric=True, **RATIO
):
    r"""Diagnostic odds ratio: :math:`TP \cdot TN / (FP \cdot FN)`.

    The ratio is infinite without false positives or without false negatives. Intervals
    are formed on the log scale.

    Examples
    --------
    >>> DiagnosticOddsRatioCI().from_confusion_matrix([[50, 10], [15, 25]])
    diagnostic_odds_ratio = 8.33 [3.31, 20.98], 95% interval (score, n = 100)
    """


class _AgreementCI(LabelMetricCI):
    """Metric that has no positive label and treats all labels equally."""

    _several = True

    @property
    def _trait_of_classes(self) -> MeasureProperties:
        """Properties of the metric for more than two labels."""
        return self._measure.of_classes(self._name)

    def _bind_classes(self, binding: Binding) -> TableParameter:
        return binding.of_correctness(self._measure)


class AccuracyCI(
    _AgreementCI, function=accuracy, proportion=("tp tn", ALL), symmetric=True
):
    r"""Accuracy: :math:`P(A = Y)`, which is :math:`TP + TN` for two labels.

    With several targets, accuracy is the proportion of rows with all targets right. The
    estimate equals :func:`sklearn.metrics.accuracy_score`.

    Examples
    --------
    >>> AccuracyCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    accuracy = 0.750 [0.657, 0.825], 95% interval (score, n = 100)
    """


class ErrorRateCI(
    _AgreementCI,
    function=error_rate,
    proportion=("fp fn", ALL),
    symmetric=True,
    greater_is_better=False,
):
    r"""Error rate: :math:`P(A \ne Y)`. Lower is better.

    With two labels, the error rate is :math:`FP + FN`. With several targets, it is the
    proportion of rows with any target wrong. The estimate equals
    :func:`sklearn.metrics.zero_one_loss`.

    Examples
    --------
    >>> ErrorRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    error_rate = 0.250 [0.175, 0.343], 95% interval (score, n = 100)
    """


class HammingLossCI(ErrorRateCI, measure="hamming_loss"):
    r"""Hamming loss: mean proportion of wrong targets in a row. Lower is better.

    With one target it is the error rate, :math:`P(A \ne Y)`. The estimate equals
    :func:`sklearn.metrics.hamming_loss`.

    Examples
    --------
    >>> y_true = [[0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]] * 10
    >>> y_pred = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]] * 10
    >>> HammingLossCI()(y_true, y_pred)
    hamming_loss = 0.167 [0.080, 0.253], 95% interval (blurred, n = 40)
    """

    def _bind_classes(self, binding: Binding) -> TableParameter:
        if binding.sample.vocabulary.multilabel:
            return binding.of_samples(self._trait_of_classes, self._measure)
        return super()._bind_classes(binding)


class BalancedAccuracyCI(_AgreementCI, function=balanced_accuracy, symmetric=True):
    r"""Balanced accuracy, the mean of the recalls of all labels.

    With two labels it is :math:`(TP / (TP + FN) + TN / (TN + FP)) / 2`. The estimate
    equals :func:`sklearn.metrics.balanced_accuracy_score`.

    Parameters
    ----------
    labels : array-like, optional
        Labels whose recalls are averaged. Defaults to all known labels. If a label has
        no true rows, its recall is unknown, and the interval is extended to cover all
        possible values of this recall.

    Examples
    --------
    >>> BalancedAccuracyCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    balanced_accuracy = 0.729 [0.635, 0.809], 95% interval (score, n = 100)
    """

    labels: Any = None

    def _bind_one(self, binding: Binding) -> TableParameter:
        labels = binding.sample.vocabulary.labels  # some may not occur in the data
        if self.labels is not None or len(labels) > 2:
            return self._bind_classes(binding)
        return super()._bind_one(binding)

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        trait, recall = self._trait_of_classes, RecallCI._measure
        return binding.averaged(trait, recall, "macro", self.labels)


class MatthewsCorrCoefCI(_AgreementCI, function=matthews_corrcoef, **SIGNED):
    r"""Matthews' correlation coefficient of predictions and truth.

    .. math:: \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}

    The estimate equals :func:`sklearn.metrics.matthews_corrcoef`, except that 0/0 is
    NaN instead of 0.

    Examples
    --------
    >>> MatthewsCorrCoefCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    matthews_corrcoef = 0.47 [0.28, 0.63], 95% interval (score, n = 100)
    """

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        n_labels = len(binding.sample.observed_codes)
        return binding.of_pairs(self._trait_of_classes, Correlation(np.eye(n_labels)))


class CohenKappaCI(_AgreementCI, function=cohen_kappa, **SIGNED):
    r"""Cohen's kappa: :math:`1 - E[W(Y, A)] / E[W(Y', A)]`.

    W is the disagreement of a true label Y and a predicted label A. Y' is a label with
    the distribution of Y that is independent of A. The estimate equals
    :func:`sklearn.metrics.cohen_kappa_score`.

    Parameters
    ----------
    weights : {"linear", "quadratic"}, optional
        Disagreement W of two labels: "linear" is the difference of their ranks among
        the observed labels, "quadratic" is the squared difference. By default all pairs
        of different labels have the disagreement 1.

    Examples
    --------
    >>> CohenKappaCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    cohen_kappa = 0.47 [0.28, 0.63], 95% interval (score, n = 100)
    >>> metric = CohenKappaCI(weights="quadratic")
    >>> metric.from_confusion_matrix([[40, 9, 1], [8, 30, 7], [2, 6, 47]])
    cohen_kappa = 0.800 [0.694, 0.862], 95% interval (score, n = 150)
    """

    weights: str | None = option(default=None, check=one_of("linear", "quadratic"))

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        observed_codes = binding.sample.observed_codes
        present = np.searchsorted(observed_codes, binding.present).tolist()
        weights = disagreement(len(observed_codes), present, self.weights)
        return binding.of_pairs(self._trait_of_classes, Kappa(weights))


class RejectionRateCI(AccuracyCI, measure="rejection_rate", greater_is_better=False):
    r"""Rejection rate: proportion of rows on which a model abstains. Lower is better.

    The formula is :math:`P(\text{no answer})`. If `abstain` is set, other metrics of
    labels use only the rows with an answer.

    Parameters
    ----------
    abstain : label
        Prediction that represents no answer. In a report, `abstain` of the report is
        used.

    Examples
    --------
    >>> RejectionRateCI(abstain=-1)([0, 1] * 50, [0, 1, 0, -1] * 25)
    rejection_rate = 0.250 [0.175, 0.343], 95% interval (score, n = 100)
    """

    abstain: Any = None

    def _bind_one(self, binding: Binding) -> TableParameter:
        if not binding.sample.vocabulary.abstains:
            raise ValueError(
                "abstain must be the label that represents no answer, got None"
            )
        cell_map = binding.sample.cell_map("rejection", binding.model)
        return binding.of_labels(self._measure, Hits(self._measure.function), cell_map)
