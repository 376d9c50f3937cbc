"""Losses of predicted probabilities and of decision values."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from skci._arrays import EPS, Array
from skci._validation import LARGEST, check_sizes
from skci.data.labels import check_no_pos_label, check_one_target
from skci.data.moments import MomentSample, Monomial, Variable
from skci.data.sample import Scores, Vocabulary
from skci.inference.parameter import Clipped, TableParameter
from skci.measures.functional import FunctionOfMeans, Mean, skill
from skci.measures.traits import (
    BOUNDED_MEAN,
    EDGE,
    LOSS,
    SKILL,
    MeasureProperties,
    identity,
)
from skci.metrics.binding import Binding
from skci.metrics.scores import ScoreMetricCI, with_binning_error

_MIN_SHARE = 0.01  # share of the loss due to clipping above which a warning is raised


class _ProbabilityMetricCI(ScoreMetricCI, **LOSS):
    """Metric of predicted probabilities that is a function of mean losses.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    pos_label : int, float, bool or str, optional
        Positive label, to which a single column of probabilities refers. Defaults to
        the positive label of the report, or to the last label in sorted order.
    """

    _score_methods = ("predict_proba",)
    _symmetric = True
    _serves_bins = True
    # Name of the loss. Metrics with equal names share the moments of the loss.
    _loss_name: ClassVar[str]

    _serves_moments = True

    def monomials(self, binding: Binding) -> list[Monomial]:
        return [(Variable(self._loss_name, binding.model),)]

    def variables(self, binding: Binding) -> dict[Variable, Array]:
        scores, truth = self._scores_of(binding), binding.positives
        if binding.sample.vocabulary.binary:
            truth = truth[:, self._positive_code(binding)]
        losses = self._losses(truth, scores.values, scores.eps)
        return {Variable(self._loss_name, binding.model): losses}

    def _positive_code(self, binding: Binding) -> int:
        """Return the code of the label to which a single column of scores refers.

        In data that are summarised by moments, this is always the last label.
        """
        labels = binding.sample.vocabulary.labels
        code = self._code(binding.pos_label, labels)
        if code != 1:
            raise ValueError(
                f"pos_label must be {labels[1]!r}, the label to which the summarised "
                f"scores refer, got {binding.pos_label!r}"
            )
        return code

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample = binding.sample
        if not isinstance(sample, MomentSample):
            return super()._bind(binding)
        vocabulary, positive = sample.vocabulary, None
        if vocabulary.binary:
            positive = vocabulary.shown_positive(self._positive_code(binding))
        else:
            check_no_pos_label(self.pos_label, "several targets or over two labels")
        functional = sample.means.function(identity, self.monomials(binding))
        parameter = binding.of_units(self._trait_of(vocabulary), functional)
        return [replace(parameter, pos_label=positive)]

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        truth = binding.truth == code
        parameter = self._bind_truth(binding, truth, scores)
        if scores.edges is None or not scores.mixed.any():
            return parameter
        # The loss is monotone in the probability of each label.
        low, high = (
            np.stack(self._features(binding, truth, extreme, scores.eps), axis=1)
            for extreme in scores.extremes
        )
        values = [
            float(FunctionOfMeans(self._function, features).estimate(binding.weights))
            for features in (np.minimum(low, high), np.maximum(low, high))
        ]
        return with_binning_error(parameter, (min(values), max(values)))

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        return [self._bind_truth(binding, binding.positives, scores)]

    def _bind_truth(
        self, binding: Binding, truth: Array, scores: Scores
    ) -> TableParameter:
        """Return the parameter to estimate, for true labels encoded as indicators.

        `truth` contains an indicator of the positive label, of shape (n,), or an
        indicator of each label, of shape (n, labels).
        """
        trait = self._trait_of(binding.sample.vocabulary)
        features = self._features(binding, truth, scores.values, scores.eps)
        if self._function is identity:
            if np.isfinite(trait.bounds).all():
                return binding.of_mean(trait, features[0])
            return binding.of_units(trait, Mean(features[0]))
        functional = FunctionOfMeans(self._function, np.stack(features, axis=1))
        return binding.of_units(trait, functional)

    def _trait_of(self, vocabulary: Vocabulary) -> MeasureProperties:
        """Return the properties of the metric for several targets or many labels."""
        return self._measure

    # Function that computes the metric from feature means.
    _function: ClassVar[Callable[..., Any]] = staticmethod(identity)

    def _features(
        self, binding: Binding, truth: Array, probabilities: Array, eps: float
    ) -> list[Array]:
        """Return columns, such as row losses, whose means determine the metric."""
        return [self._losses(truth, probabilities, eps)]

    # Return the loss of each row, from its truth, its probabilities and their rounding
    # error. Arrays have shape (n,), for the positive one of two labels, or (n, labels).
    _losses: ClassVar[Callable[..., Array]]


class _D2CI(_ProbabilityMetricCI, **SKILL):
    """D2: relative reduction of the loss compared with a constant prediction."""

    _function = staticmethod(partial(skill, zero=EDGE))
    _serves_moments = False

    def _features(
        self, binding: Binding, truth: Array, probabilities: Array, eps: float
    ) -> list[Array]:
        shares = np.average(truth, axis=0, weights=binding.weights)
        constant = np.broadcast_to(shares, truth.shape)
        pairs = (probabilities, eps), (constant, EPS)
        return [self._losses(truth, *pair) for pair in pairs]


class _BrierCI(_ProbabilityMetricCI):
    """Metric computed from the squared errors of predicted probabilities.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label, to which a single column of probabilities refers. Defaults to
        the positive label of the report, or to 1. Required for a single column if
        labels are strings.
    """

    _loss_name = "squared_error_of_probability"
    _require_pos_label = True

    def _losses(self, truth: Array, probabilities: Array, eps: float = EPS) -> Array:
        squares = np.square(probabilities - truth)
        if squares.ndim == 1:
            return squares
        return squares.sum(axis=1) * _brier_scale(squares.shape[1])


class BrierScoreCI(_BrierCI, measure="brier_score", bounds=(0.0, 1.0), **BOUNDED_MEAN):
    r"""Brier score, the mean squared error of a probability. Lower is better.

    .. math:: E(p - y)^2, \quad \text{for many labels} \quad \sum_c E(p_c - 1\{Y =
        c\})^2

    where p is the predicted probability of the positive label, y is 1 for this label
    and 0 otherwise, and :math:`p_c` is the predicted probability of label c. With more
    than two labels, the score is the sum over labels, between 0 and 2. With several
    targets, it is the sum over targets, halved for two targets. The probabilities of
    several targets must add up to 1. The estimate equals
    :func:`sklearn.metrics.brier_score_loss`.

    Losses are between 0 and 1, so that the score interval of a bounded mean is
    available: see :func:`skci.grades_report`. This interval is the default for up to
    4,096 distinct losses. Differences between models use "hall" by default, because the
    losses of two models usually differ by far less than 1.

    Parameters
    ----------
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto": "score" for
        up to 4,096 distinct losses and "hall" otherwise.

    Examples
    --------
    >>> BrierScoreCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    brier_score = 0.084 [0.063, 0.126], 95% interval (score, n = 80)
    """

    def _trait_of(self, vocabulary: Vocabulary) -> MeasureProperties:
        columns = len(vocabulary.classes)
        maximum = columns if vocabulary.multilabel else 2
        return replace(self._measure, bounds=(0.0, maximum * _brier_scale(columns)))


def _brier_scale(columns: int) -> float:
    """Return the scale factor of the Brier score: 1/2 for two columns, 1 otherwise.

    scikit-learn uses the same factor.
    """
    return 0.5 if columns == 2 else 1.0


class LogLossCI(_ProbabilityMetricCI, measure="log_loss"):
    r"""Log loss: mean negative log probability of the true label. Lower is better.

    The formula is :math:`-E \log p_Y`, where :math:`p_Y` is the predicted probability
    of the true label Y. With several targets, the loss of a row is the sum over the
    targets that are present in the row, and the probabilities of all targets must add
    up to 1. The estimate equals :func:`sklearn.metrics.log_loss`. As in scikit-learn,
    probabilities are clipped away from 0 and 1 by the rounding error of their type. A
    warning is raised if much of the loss depends on the clipping.

    Examples
    --------
    >>> LogLossCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    log_loss = 0.302 [0.248, 0.370], 95% interval (hall, n = 80)
    """

    _loss_name = "log_loss"

    def _losses(self, truth: Array, probabilities: Array, eps: float = EPS) -> Array:
        if truth.ndim == 1:
            return _surprise(np.where(truth, probabilities, 1 - probabilities), eps)
        rows, columns = np.nonzero(truth)
        losses = _surprise(probabilities[rows, columns], eps)
        return np.bincount(rows, losses, minlength=len(truth))

    def _bind_truth(
        self, binding: Binding, truth: Array, scores: Scores
    ) -> TableParameter:
        parameter = super()._bind_truth(binding, truth, scores)
        excluded = _excluded(truth, scores)
        if not excluded.any():
            return parameter
        losses = self._losses(truth, scores.values, scores.eps)
        losses = losses * binding.weights
        share = losses[excluded].sum() / losses.sum()
        if share < _MIN_SHARE:
            return parameter
        n_rows = binding.frequencies[excluded].sum(), binding.frequencies.sum()
        return replace(parameter, clipped=Clipped(*n_rows, share, scores.eps))


def _excluded(truth: Array, scores: Scores) -> Array:
    """Mask of the rows in which the true label has a probability of almost 0.

    The log loss clips these probabilities.
    """
    probabilities = scores.values
    if truth.ndim == 1:
        likelihood = np.where(truth, probabilities, 1 - probabilities)
        return likelihood < scores.eps
    return np.logical_or.reduce(truth & (probabilities < scores.eps), axis=1)


def _surprise(likelihood: Array, eps: float) -> Array:
    """Return the negative log of probabilities, clipped as in scikit-learn."""
    losses: Array = np.clip(likelihood, eps, 1 - eps)
    return -np.log(losses, out=losses)


class HingeLossCI(_ProbabilityMetricCI, measure="hinge_loss"):
    r"""Hinge loss of decision values, as in support vector machines. Lower is better.

    .. math:: E \max(0, 1 - s)

    where s is the margin of a row. With two labels, the margin of a positive row is its
    decision value, and the margin of a negative row is minus its decision value. With
    more labels, the margin is the value of the true label minus the largest value of
    the other labels (Crammer and Singer, 2001). The estimate equals
    :func:`sklearn.metrics.hinge_loss`.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label, to which a single column of decision values refers. Defaults to
        the positive label of the report, or to the last label in sorted order.

    Examples
    --------
    >>> HingeLossCI()([0] * 40 + [1] * 40, [-2] * 30 + [0.5] * 20 + [2] * 30)
    hinge_loss = 0.25 [0.15, 0.39], 95% interval (hall, n = 80)
    """

    _score_methods = ("decision_function",)
    _loss_name = "hinge_loss"

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        check_one_target(binding.sample.vocabulary, binding.metric)
        return super()._bind_classes(binding, scores)

    def _losses(self, truth: Array, scores: Array, eps: float = EPS) -> Array:
        check_sizes(scores, "y_score", "decision values", 0, LARGEST)
        if truth.ndim == 1:
            margins = np.where(truth, scores, -scores)
        else:
            runner_up = np.where(truth, -np.inf, scores).max(axis=1)
            margins = scores[truth] - runner_up
        return np.maximum(1 - margins, 0.0)


class D2BrierScoreCI(_D2CI, _BrierCI, measure="d2_brier_score"):
    r"""D2 of the Brier score: reduction relative to predicting the class proportions.

    .. math:: 1 - B(p) / B(E[y]), \quad B \text{ the Brier score}

    where p are the predicted probabilities and E[y] the class proportions. The estimate
    equals :func:`sklearn.metrics.d2_brier_score`. The uncertainty of the class
    proportions has no effect to first order, because no other constant prediction has a
    smaller Brier score.

    Examples
    --------
    >>> D2BrierScoreCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    d2_brier_score = 0.67 [0.54, 0.76], 95% interval (hall, n = 80)
    """


class D2LogLossCI(_D2CI, LogLossCI, measure="d2_log_loss"):
    r"""D2 of the log loss: reduction relative to predicting the class proportions.

    .. math:: 1 - L(p) / L(E[y]), \quad L \text{ the log loss}

    where p are the predicted probabilities and E[y] the class proportions. The estimate
    equals :func:`sklearn.metrics.d2_log_loss_score`. The uncertainty of the class
    proportions has no effect to first order, because no other constant prediction has a
    smaller loss. With several targets the proportions do not add up to 1, and the
    interval allows for their uncertainty.

    Examples
    --------
    >>> D2LogLossCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    d2_log_loss = 0.565 [0.466, 0.642], 95% interval (hall, n = 80)
    """

    def _features(
        self, binding: Binding, truth: Array, probabilities: Array, eps: float
    ) -> list[Array]:
        loss, constant_loss = super()._features(binding, truth, probabilities, eps)
        if truth.ndim == 2:
            present = truth.sum(axis=1)
            excess = np.average(present, weights=binding.weights) - present
            constant_loss = constant_loss + excess
        return [loss, constant_loss]
