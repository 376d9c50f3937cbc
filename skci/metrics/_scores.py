"""Metrics of scores: areas under curves, and losses of probabilities."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from skci._arrays import Array
from skci._validation import check_choice
from skci.data.labels import check_all_labels, check_no_pos_label, check_pos_label
from skci.data.responses import scores_of
from skci.data.rows import check_probabilities
from skci.inference.parameter import TableParameter
from skci.measures.areas import AveragePrecision, RocAuc, Scores
from skci.measures.classes import OneVsRest
from skci.measures.functional import Component, FunctionOfMeans
from skci.measures.functions import identity
from skci.measures.registry import Trait
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding


@declare_options
class ScoreMetricCI(MetricCI):
    """A metric of scores, which increase with the evidence for the positive class.

    Of more than two labels there is a score for each.
    """

    pos_label: Any = None
    labels: Any = None

    reads = "scores"
    _symmetric = False

    def __call__(  # type: ignore[override]
        self,
        y_true: Any,
        y_score: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
        **options: Any,
    ) -> Any:
        """Estimate the measure and its interval.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,) or (n_samples, n_labels)
            Scores, such as the probability of the positive of two labels; that is
            `pos_label`, or 1. Of more than two labels a column for each, in their
            order.
        y_true, *more, sample_weight, groups
            See :meth:`MetricCI.__call__`, also for results, errors and warnings.
        """
        rows = {"sample_weight": sample_weight, "groups": groups}
        return super().__call__(y_true, y_score, *more, **rows, **options)

    def _scorer(self, bound: str | None) -> Any:
        return _Scorer(self, bound)

    def _bind(self, binding: Binding) -> list[TableParameter]:
        labels = binding.sample.vocabulary.labels
        scores = binding.sample.scores[binding.rule]
        if self._needs_probabilities:
            check_probabilities(scores.values, binding.rule, binding.metric)
        check_all_labels(self.labels, labels)
        if len(labels) > 2:
            check_no_pos_label(self.pos_label, "more than two labels")
            return self._bind_classes(binding, scores)
        code = check_pos_label(binding.pos_label, labels)
        parameter = self._bind_one(binding, scores, code)
        return [replace(parameter, pos_label=labels[code])]

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        """Bind it to scores for one label."""
        raise NotImplementedError

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        """Bind it to scores for each of several labels."""
        raise NotImplementedError


@declare_options
class _AreaCI(ScoreMetricCI):
    """An area under a curve, which depends on the order of scores only."""

    average: str | None = "macro"

    _area: ClassVar[type[RocAuc | AveragePrecision]]

    @property
    def _name(self) -> str:
        suffix = "_weighted" if self.average == "weighted" else ""
        return f"{self._measure.name}{suffix}"

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.average is not None:
            check_choice(self.average, ("macro", "weighted"), "average")

    def _bind_one(
        self, binding: Binding, scores: Scores, code: int, metric: str = ""
    ) -> TableParameter:
        area = self._one_vs_rest(binding, scores, code)
        table = area.functional, area.cells, area.size
        return binding.of_cells(self._measure, *table, metric, smooth=False)

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        labels = binding.sample.vocabulary.labels
        columns = enumerate(scores.columns)
        if self.average is None:
            names = [f"{binding.metric}[{label}]" for label in labels]
            return [
                self._bind_one(binding, s, code, names[code]) for code, s in columns
            ]
        areas = [self._one_vs_rest(binding, column, code) for code, column in columns]
        functional = OneVsRest(areas, binding.truth, self.average == "weighted")
        return [binding.of_units(self._measure, functional)]

    def _one_vs_rest(self, binding: Binding, scores: Scores, code: int) -> Component:
        """Area of one label against the rest, as a functional of the units."""
        positive = binding.truth == code
        levels, ranks = scores.among(binding.within).ranked
        sizes = int(np.sum(~positive)), int(np.sum(positive))
        area = self._area(levels, sizes)
        return Component(area, ranks + levels * positive, 2 * levels)


class _LossCI(ScoreMetricCI):
    """The mean of a loss of predicted probabilities."""

    _needs_probabilities = True

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        return self._mean(self._measure, binding, binding.truth == code, scores)

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        codes = np.arange(len(binding.sample.vocabulary.labels))
        truth = binding.truth[:, np.newaxis] == codes
        return [self._mean(self._trait_of_classes, binding, truth, scores)]

    def _mean(
        self, trait: Trait, binding: Binding, truth: Array, scores: Scores
    ) -> TableParameter:
        losses = self._losses(truth, scores.values[binding.within])
        return binding.of_units(trait, FunctionOfMeans(identity, losses[:, np.newaxis]))

    @property
    def _trait_of_classes(self) -> Trait:
        """Properties where there are more than two labels."""
        return self._measure

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        """Losses from indicators and probabilities, (n,) of two labels or (n, labels).

        Of two labels they are those of the positive one.
        """
        raise NotImplementedError


@dataclass(eq=False)
class _Scorer:
    """Scorer of estimators by a metric of scores."""

    metric: ScoreMetricCI
    bound: str | None

    def __call__(self, estimator: Any, X: Any, y: Any, **rows: Any) -> float:
        metric = self.metric
        positive = 1 if metric.pos_label is None else metric.pos_label
        known = tuple(getattr(estimator, "classes_", ()))
        labels = known if len(known) > 2 else (positive,)
        scores = scores_of(estimator, X, labels, metric._needs_probabilities)
        if len(known) > 2:
            metric = clone(metric).set_params(labels=known)
        estimate = metric(y, scores, **rows)
        value = float(estimate) if self.bound is None else getattr(estimate, self.bound)
        return float(value if metric.greater_is_better else -value)

    def __repr__(self) -> str:
        bound = "" if self.bound is None else f"bound={self.bound!r}"
        return f"{self.metric!r}.scorer({bound})"


class RocAucCI(_AreaCI, measure="roc_auc"):
    r"""Area under the ROC curve: :math:`P(S_+ > S_-) + P(S_+ = S_-) / 2`.

    :math:`S_+` and :math:`S_-` are the scores of a positive and of a negative row. Of
    more than two labels it is the mean over each against the rest. The estimate equals
    :func:`sklearn.metrics.roc_auc_score`, the standard error is that of DeLong, DeLong
    and Clarke-Pearson (1988). Intervals are formed on the logit scale, or by "delta" if
    asked for. Where all positive rows are above all negative ones, the interval is
    :math:`[k / (k + z^2), 1]`, k the number of rows of the rarer label. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> RocAucCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    roc_auc = 0.875 [0.815, 0.918], 95% interval (logit, n = 160)
    """

    _area = RocAuc


class AveragePrecisionCI(_AreaCI, measure="average_precision"):
    r"""Average precision, the mean over the positive rows of the precision at each.

    Of more than two labels it is the mean over each against the rest. The estimate
    equals :func:`sklearn.metrics.average_precision_score`. Intervals are formed on the
    logit scale, or by "delta" if asked for. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> AveragePrecisionCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    average_precision = 0.885 [0.822, 0.928], 95% interval (logit, n = 160)
    """

    _area = AveragePrecision


class BrierScoreCI(_LossCI, measure="brier_score"):
    r"""Brier score, the mean squared error of a probability. Lower is better.

    Of more than two labels it is the sum over them, between 0 and 2. The estimate
    equals :func:`sklearn.metrics.brier_score_loss`. See :class:`MetricCI` for the
    options.

    Examples
    --------
    >>> BrierScoreCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    brier_score = 0.084 [0.061, 0.114], 95% interval (hall, n = 80)
    """

    @property
    def _trait_of_classes(self) -> Trait:
        return replace(self._measure, bounds=(0.0, 2.0))

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        squares = np.square(probabilities - truth)
        return squares if squares.ndim == 1 else squares.sum(axis=1)


class LogLossCI(_LossCI, measure="log_loss"):
    r"""Log loss: :math:`-E \log p_Y`, p the predicted probabilities. Lower is better.

    The estimate equals :func:`sklearn.metrics.log_loss`; as there, probabilities are
    clipped to the rounding error of their type away from 0 and 1. See :class:`MetricCI`
    for the options.

    Examples
    --------
    >>> LogLossCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    log_loss = 0.302 [0.248, 0.370], 95% interval (hall, n = 80)
    """

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        if truth.ndim == 1:
            likelihood = np.where(truth, probabilities, 1 - probabilities)
        else:
            likelihood = probabilities[truth] / probabilities.sum(axis=1)
        least = np.finfo(float).eps
        return -np.log(np.clip(likelihood, least, 1 - least))
