"""Metrics of agreement, symmetric in any number of labels."""

from dataclasses import replace
from typing import Any

import numpy as np

from skci._validation import check_choice
from skci.data.labels import check_one_target
from skci.inference.parameter import TableParameter
from skci.measures.classes import Correlation, Hits, Kappa, disagreement
from skci.measures.registry import MEASURES, Trait
from skci.metrics._base import LabelMetricCI, declare_options
from skci.metrics._binding import Binding


class _AgreementCI(LabelMetricCI):
    """A metric that is symmetric in all labels."""

    _several = True

    @property
    def _trait_of_classes(self) -> Trait:
        """Properties where there are more than two labels."""
        return self._measure.of_classes(self._name)

    def _bind_classes(self, binding: Binding) -> TableParameter:
        return binding.of_correctness(self._measure)


class AccuracyCI(_AgreementCI, measure="accuracy"):
    r"""Accuracy: :math:`P(A = Y)`, of two labels :math:`TP + TN`.

    Of several targets it is the share of rows with all targets right. The estimate
    equals :func:`sklearn.metrics.accuracy_score`.

    Examples
    --------
    >>> AccuracyCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    accuracy = 0.750 [0.657, 0.825], 95% interval (score, n = 100)
    """


class ErrorRateCI(_AgreementCI, measure="error_rate"):
    r"""Error rate: :math:`P(A \ne Y)`, of two labels :math:`FP + FN`. Lower is better.

    Of several targets it is the share of rows with any target wrong. The estimate
    equals :func:`sklearn.metrics.zero_one_loss`.

    Examples
    --------
    >>> ErrorRateCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    error_rate = 0.250 [0.175, 0.343], 95% interval (score, n = 100)
    """


class HammingLossCI(_AgreementCI, measure="hamming_loss"):
    r"""Hamming loss, the mean over rows of the share of wrong targets. Lower is better.

    Of one target it is the error rate, :math:`P(A \ne Y)`. The estimate equals
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


@declare_options
class BalancedAccuracyCI(_AgreementCI, measure="balanced_accuracy"):
    r"""Balanced accuracy, the mean of the recalls of all labels.

    Of two labels it is :math:`(TP / (TP + FN) + TN / (TN + FP)) / 2`. The estimate
    equals :func:`sklearn.metrics.balanced_accuracy_score`.

    Parameters
    ----------
    labels : array-like, optional
        Labels whose recalls are averaged; all that are known if not given. The interval
        is extended for one without true rows, whose recall may be anything.

    Examples
    --------
    >>> BalancedAccuracyCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    balanced_accuracy = 0.729 [0.635, 0.809], 95% interval (score, n = 100)
    """

    labels: Any = None

    def _bind_one(self, binding: Binding) -> TableParameter:
        known = binding.sample.vocabulary.labels  # some of which may not occur
        if self.labels is not None or len(known) > 2:
            return self._bind_classes(binding)
        return super()._bind_one(binding)

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        trait, recall = self._trait_of_classes, MEASURES["recall"]
        return binding.averaged(trait, recall, "macro", self.labels)


class MatthewsCorrCoefCI(_AgreementCI, measure="matthews_corrcoef"):
    r"""Matthews' correlation coefficient of prediction and truth.

    .. math:: \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}

    The estimate equals :func:`sklearn.metrics.matthews_corrcoef`, but is NaN, not 0,
    where that is 0/0.

    Examples
    --------
    >>> MatthewsCorrCoefCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    matthews_corrcoef = 0.47 [0.28, 0.63], 95% interval (score, n = 100)
    """

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        labels = len(binding.sample.occurring)
        return binding.of_pairs(self._trait_of_classes, Correlation(np.eye(labels)))


@declare_options
class CohenKappaCI(_AgreementCI, measure="cohen_kappa"):
    r"""Cohen's kappa: :math:`1 - E[W(Y, A)] / E[W(Y', A)]`.

    W is the disagreement of two labels, and Y' is distributed as Y and independent of
    A. The estimate equals :func:`sklearn.metrics.cohen_kappa_score`.

    Parameters
    ----------
    weights : {"linear", "quadratic"}, optional
        Disagreement: the distance of two labels in the order of the labels that occur,
        or its square; the same for all that differ if not given.

    Examples
    --------
    >>> CohenKappaCI(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    cohen_kappa = 0.47 [0.28, 0.63], 95% interval (score, n = 100)
    >>> metric = CohenKappaCI(weights="quadratic")
    >>> metric.from_confusion_matrix([[40, 9, 1], [8, 30, 7], [2, 6, 47]])
    cohen_kappa = 0.800 [0.694, 0.862], 95% interval (score, n = 150)
    """

    weights: str | None = None

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.weights is not None:
            check_choice(self.weights, ("linear", "quadratic"), "weights")

    def _bind_classes(self, binding: Binding) -> TableParameter:
        check_one_target(binding.sample.vocabulary, self.name)
        occurring = binding.sample.occurring
        present = np.searchsorted(occurring, binding.present).tolist()
        weights = disagreement(len(occurring), present, self.weights)
        return binding.of_pairs(self._trait_of_classes, Kappa(weights))


@declare_options
class RejectionRateCI(_AgreementCI):
    r"""Rejection rate, the share of rows on which a model abstains. Lower is better.

    That is :math:`P(\text{no answer})`. Other metrics of labels are then of the rows
    with an answer.

    Parameters
    ----------
    abstain : label
        Prediction that stands for no answer; inside a report, that of the report.

    Examples
    --------
    >>> RejectionRateCI(abstain=-1)([0, 1] * 50, [0, 1, 0, -1] * 25)
    rejection_rate = 0.250 [0.175, 0.343], 95% interval (score, n = 100)
    """

    abstain: Any = None

    _measure = replace(
        MEASURES["accuracy"], name="rejection_rate", greater_is_better=False
    )

    def _bind_one(self, binding: Binding) -> TableParameter:
        if not binding.sample.vocabulary.abstains:
            raise ValueError(
                "abstain must be the label that stands for no answer, got none"
            )
        cell_map = binding.sample.rejection(binding.model)
        return binding.of_labels(self._measure, Hits(self._measure.function), cell_map)
