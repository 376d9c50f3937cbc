"""The metric objects of scores: areas under curves, and losses of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skci._auc import AveragePrecision, RocAuc, Scores
from skci._estimate import MetricEstimate
from skci._functionals import Functional
from skci._joint import Parameter
from skci._means import FunctionOfMeans, first
from skci._measures import Trait
from skci._outcomes import OutcomeTable
from skci._responses import positive_scores
from skci._validation import (
    binary_table,
    check_numbers,
    check_probabilities,
)
from skci.metrics._base import MetricCI

__all__ = ["AveragePrecisionCI", "BrierScoreCI", "LogLossCI", "RocAucCI"]

Array = NDArray[Any]


class ScoreMetricCI(MetricCI):
    """A metric of a score, which is the greater the rather a row is positive."""

    _reads = "scores"
    _probabilities: bool

    def __init__(
        self,
        *,
        confidence_level: float = 0.95,
        method: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.confidence_level = confidence_level
        self.method = method
        self.pos_label = pos_label

    def __call__(
        self,
        y_true: Any,
        y_score: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> MetricEstimate:
        """Estimate the measure and its interval.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, two at most.
        y_score : array-like of shape (n_samples,)
            Scores, such as the probability of the positive label; that is `pos_label`,
            or 1.
        *more
            Nothing; scikit-learn passes three to a scorer, which a metric is not.
        sample_weight, groups : array-like of shape (n_samples,), optional
            See :func:`skci.joint_report`.

        Returns
        -------
        MetricEstimate

        Raises
        ------
        ValueError, TypeError
            If an option, the labels or the scores are not what they must be.

        Warns
        -----
        UndefinedMetricWarning
            If there are no rows of one of the labels.
        """
        self._check_arguments(more)
        self._check()
        table, positive, _ = binary_table(
            y_true,
            {},
            pos_label=self.pos_label,
            sample_weight=sample_weight,
            groups=groups,
            merged=False,
        )
        scores = kept_scores(y_score, "y_score", len(y_true), sample_weight)
        parameter = self._parameter(table, scores, pos_label=positive)
        return self._of_one(parameter, table.design)

    def _scorer(self, bound: str | None) -> Any:
        return _Scorer(self, bound)

    def _parameter(
        self,
        table: OutcomeTable,
        scores: Scores,
        *,
        method: str | None = None,
        rule: str = "",
        metric: str | None = None,
        pos_label: Any = None,
        exchanged: bool = False,
        name: str = "y_score",
    ) -> Parameter:
        """Bind the measure to the scores of one rule, row by row."""
        label = self.name if metric is None else metric
        if self._probabilities:
            check_probabilities(scores.values, name, label)
        positive = table.outcomes[:, 0] != exchanged
        functional = self._functional(positive, scores, (rule, label))
        own = self._own(table, positive, scores)
        return self._row_by_row(table, functional, rule, label, method, pos_label, own)

    def _functional(self, positive: Array, scores: Scores, name: Any) -> Functional:
        raise NotImplementedError

    def _own(
        self, table: OutcomeTable, positive: Array, scores: Scores
    ) -> tuple[Array, Array] | None:
        """Count the functional's own cells and find that of each row.

        None if its own cells are the rows.
        """
        raise NotImplementedError


class _AreaCI(ScoreMetricCI):
    """An area under a curve, which depends on the order of scores only."""

    _default_method = "logit"
    _probabilities = False
    _area: type[RocAuc | AveragePrecision]

    def _functional(self, positive: Array, scores: Scores, name: Any) -> Functional:
        positives = int(np.count_nonzero(positive))
        sizes = len(positive) - positives, positives
        return self._area(scores.levels, sizes, name)

    def _own(
        self, table: OutcomeTable, positive: Array, scores: Scores
    ) -> tuple[Array, Array]:
        cells = scores.cells(positive)
        return np.bincount(cells, table.counts, minlength=2 * scores.levels), cells


class _LossCI(ScoreMetricCI):
    """The mean of a loss that probabilities have, row by row."""

    _default_method = "delta"
    _probabilities = True

    def _functional(self, positive: Array, scores: Scores, name: Any) -> Functional:
        losses = self._losses(positive, scores.values)
        return FunctionOfMeans(first, losses[:, np.newaxis], name)

    def _own(self, table: OutcomeTable, positive: Array, scores: Scores) -> None:
        return None

    def _losses(self, positive: Array, probabilities: Array) -> Array:
        raise NotImplementedError


class _Scorer:
    """Scores an estimator by a metric of its scores."""

    def __init__(self, metric: ScoreMetricCI, bound: str | None) -> None:
        self.metric = metric
        self.bound = bound

    def __call__(self, estimator: Any, X: Any, y: Any, **rows: Any) -> float:
        metric = self.metric
        positive = 1 if metric.pos_label is None else metric.pos_label
        scores = positive_scores(estimator, X, positive, metric._probabilities)
        found = metric(y, scores, **rows)
        value = float(found) if self.bound is None else getattr(found, self.bound)
        return float(value if metric.greater_is_better else -value)

    def __repr__(self) -> str:
        bound = "" if self.bound is None else f"bound={self.bound!r}"
        return f"{self.metric!r}.scorer({bound})"


def kept_scores(values: Any, name: str, n: int, sample_weight: Any) -> Scores:
    """Check scores, and take those of the rows whose weights, checked, are not 0."""
    scores = check_numbers(values, name, n)
    if sample_weight is not None:
        scores = scores[np.asarray(sample_weight, dtype=float) > 0]
    return Scores(scores)


class RocAucCI(_AreaCI):
    r"""Area under the ROC curve.

    The probability that a positive row has a greater score than a negative one, ties
    counting half. The point estimate is that of :func:`sklearn.metrics.roc_auc_score`,
    the standard error that of DeLong, DeLong and Clarke-Pearson (1988). Intervals are
    formed on the logit scale, or by "delta" if asked for. Where all positive rows are
    above all negative ones, the interval is :math:`[k / (k + z^2), 1]`, k the number of
    rows of the rarer label. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import RocAucCI
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [*range(40), *range(20, 60)]
    >>> RocAucCI()(y, scores)
    roc_auc = 0.875 [0.784, 0.931], 95% interval (logit, n = 80)
    """

    _measure = Trait("roc_auc", smooth=False, blurs=False)
    _area = RocAuc


class AveragePrecisionCI(_AreaCI):
    r"""Average precision, a summary of the precision-recall curve.

    The mean over the positive rows of the precision at their scores. The point estimate
    is that of :func:`sklearn.metrics.average_precision_score`. Intervals are formed on
    the logit scale, or by "delta" if asked for. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import AveragePrecisionCI
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [*range(40), *range(20, 60)]
    >>> AveragePrecisionCI()(y, scores)
    average_precision = 0.883 [0.787, 0.939], 95% interval (logit, n = 80)
    """

    _measure = Trait("average_precision", smooth=False, blurs=False)
    _area = AveragePrecision


class BrierScoreCI(_LossCI):
    r"""Brier score, the mean squared error of a probability.

    The point estimate is that of :func:`sklearn.metrics.brier_score_loss`. Less is
    better. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import BrierScoreCI
    >>> y = [0] * 40 + [1] * 40
    >>> BrierScoreCI()(y, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    brier_score = 0.084 [0.059, 0.109], 95% interval (delta, n = 80)
    """

    _measure = Trait(
        "brier_score",
        greater_is_better=False,
        smooth=False,
        blurs=False,
        scale_free=False,
    )

    def _losses(self, positive: Array, probabilities: Array) -> Array:
        losses: Array = (probabilities - positive) ** 2
        return losses


class LogLossCI(_LossCI):
    r"""Log loss, the mean of minus the logarithm of the probability of the truth.

    The point estimate is that of :func:`sklearn.metrics.log_loss`; as there,
    probabilities are kept away from 0 and 1 by the rounding of their type. Less is
    better. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> from skci import LogLossCI
    >>> y = [0] * 40 + [1] * 40
    >>> LogLossCI()(y, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    log_loss = 0.302 [0.243, 0.360], 95% interval (delta, n = 80)
    """

    _measure = Trait(
        "log_loss",
        bounds=(0.0, np.inf),
        greater_is_better=False,
        smooth=False,
        blurs=False,
        scale_free=False,
    )

    def _losses(self, positive: Array, probabilities: Array) -> Array:
        least = np.finfo(float).eps
        of_truth = np.where(positive, probabilities, 1 - probabilities)
        losses: Array = -np.log(np.clip(of_truth, least, 1 - least))
        return losses
