"""Metrics of scores: areas under curves, and losses of probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any, ClassVar, cast

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_integer
from skci.data.labels import (
    check_all_labels,
    check_no_pos_label,
    check_one_target,
    check_pos_label,
    is_multilabel,
    label_or_1,
)
from skci.data.responses import scores_of
from skci.data.rows import check_probabilities
from skci.data.sample import Vocabulary
from skci.inference.parameter import TableParameter
from skci.measures.areas import AveragePrecision, RocAuc, Scores
from skci.measures.binned_scores import BinnedScores
from skci.measures.classes import AVERAGES, Hits, Pooled, WeightedMean
from skci.measures.functional import Component, FunctionOfMeans
from skci.measures.functions import EDGE, identity, skill
from skci.measures.registry import Measure, Trait
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding


@declare_options
class ScoreMetricCI(MetricCI):
    """A metric of scores, which increase with the evidence for the positive class.

    Of more than two labels, or several targets, there is a score for each.
    """

    pos_label: Any = None
    labels: Any = None

    reads = "scores"
    _symmetric = False
    _serves_bins = False

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
            `pos_label`, or 1. Or a column for each label, in sorted order, such as
            ``predict_proba(X)``; of two labels they must be probabilities. Or a column
            for each of several targets.
        y_true, *more, sample_weight, groups, **options
            See :meth:`MetricCI.__call__`, also for results, errors and warnings.
        """
        rows = {"sample_weight": sample_weight, "groups": groups}
        return super().__call__(y_true, y_score, *more, **rows, **options)

    def _scorer(self, bound: str | None) -> Any:
        return MetricScorer(self, bound)

    def _bind(self, binding: Binding) -> list[TableParameter]:
        vocabulary = binding.sample.vocabulary
        scores = binding.sample.scores[binding.rule]
        for values in scores.extremes if self._needs_probabilities else []:
            check_probabilities(values, binding.rule, repr(binding.metric))
        check_all_labels(self.labels, vocabulary)
        if not vocabulary.binary:
            check_no_pos_label(self.pos_label, "several targets or over two labels")
            return self._bind_classes(binding, scores)
        labels = vocabulary.labels
        code = self._code(binding.pos_label, labels)
        parameter = self._bind_one(binding, scores, code)
        within = scores.among(binding.within)
        if isinstance(within, BinnedScores) and within.mixed.any():
            ends = self._range_in_bins(binding, parameter, within, code)
            parameter = _extended(parameter, ends)
        return [replace(parameter, pos_label=labels[code])]

    def _code(self, pos_label: Any, labels: Sequence[Any]) -> int:
        """Code of the one of two labels that a column of scores is of."""
        if self._symmetric and pos_label is None:
            return 1
        return check_pos_label(pos_label, labels)

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        """Bind it to scores for one label."""
        raise NotImplementedError

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        """Bind it to scores for each of several labels or targets."""
        raise NotImplementedError

    def _range_in_bins(
        self,
        binding: Binding,
        parameter: TableParameter,
        scores: BinnedScores,
        code: int,
    ) -> tuple[float, float]:
        """Least and greatest estimate from scores that are anywhere in their bins."""
        raise NotImplementedError


def _extended(parameter: TableParameter, ends: tuple[float, float]) -> TableParameter:
    """Extend the interval by the error of an estimate that is between two values."""
    if not parameter.defined:
        return parameter
    low, high = max(parameter.value - ends[0], 0.0), max(ends[1] - parameter.value, 0.0)
    return replace(parameter, extension=(low, high), binning_error=max(low, high))


@declare_options
class _AreaCI(ScoreMetricCI):
    """An area under a curve, which depends on the order of scores only."""

    average: str | None = "macro"

    _serves_bins = True
    _area: ClassVar[type[RocAuc | AveragePrecision]]

    @property
    def _name(self) -> str:
        suffix = "" if self.average in ("macro", None) else f"_{self.average}"
        return f"{self._measure.name}{suffix}"

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.average is not None:
            check_choice(self.average, (*AVERAGES, "samples"), "average")

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        positive = binding.truth == code
        scores = scores.among(binding.within)
        area = self._area_of(positive, ~positive, scores, binding.frequencies)
        return self._of_cells(binding, area)

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        truth, measure = binding.positives, self._measure
        frequencies = binding.frequencies
        if self.average == "micro":
            pooled = scores.among(binding.within).pooled
            area = self._area_of(truth, ~truth, pooled, frequencies)
            return [binding.of_units(measure, area)]
        if self.average == "samples":
            rows = zip(truth, ~truth, scores.values[binding.within], strict=True)
            values = np.array([self._value(*row) for row in rows])
            return [binding.of_unit_values(measure, values)]
        columns = [column.among(binding.within) for column in scores.columns]
        classes = self._classes(binding)
        areas = [
            self._area_of(positive, negative, columns[k], frequencies)
            for k, positive, negative, _ in classes
        ]
        if self.average is None:
            names = map(binding.name_of, binding.sample.vocabulary.classes)
            named = zip(areas, names, strict=True)
            return [self._of_cells(binding, *each) for each in named]
        sizes = np.ones((len(truth), len(areas)))
        if self.average == "weighted":
            sizes *= np.stack([counted for *_, counted in classes], axis=1)
        return [binding.of_units(measure, WeightedMean(areas, sizes))]

    def _range_in_bins(
        self,
        binding: Binding,
        parameter: TableParameter,
        scores: BinnedScores,
        code: int,
    ) -> tuple[float, float]:
        area = cast(RocAuc | AveragePrecision, parameter.functional)
        return area.range_of_orders(parameter.counts, scores.mixed)

    def _of_cells(
        self, binding: Binding, area: Component, metric: str = ""
    ) -> TableParameter:
        table = area.functional, area.cells, area.size
        return binding.of_cells(self._measure, *table, metric, smooth=False)

    def _classes(self, binding: Binding) -> list[tuple[int, Array, Array, Array]]:
        """Column of scores of each area, its positive, negative, weighing rows."""
        truth = binding.positives.T
        return [(k, rows, ~rows, rows) for k, rows in enumerate(truth)]

    def _area_of(
        self, positive: Array, negative: Array, scores: Scores, frequencies: Array
    ) -> Component:
        """Area of a column of scores, or of all of them, as a functional of the units.

        Whether units are positive and negative are arrays of shape (n,) or (n, labels).
        """
        n_units, n = len(positive), round(frequencies.sum())
        n_negative, n_positive = (
            round(frequencies[each.reshape(n_units, -1).any(axis=1)].sum())
            for each in (negative, positive)
        )
        levels, ranks = scores.ranked
        cells = ranks.reshape(positive.shape) + levels * positive
        cells = np.where(positive | negative, cells, 2 * levels)
        kind = Component if positive.ndim == 1 else Pooled
        return kind(self._area(levels, (n_negative, n_positive), n), cells, 2 * levels)

    def _value(self, positive: Array, negative: Array, scores: Array) -> float:
        """Area of one row, over its classes."""
        ones = np.ones(len(positive))
        area = self._area_of(positive, negative, Scores(scores), ones)
        return float(area.estimate(ones))


class _ProbabilityMetricCI(ScoreMetricCI):
    """A function of means of predicted probabilities."""

    _needs_probabilities = True
    _symmetric = True
    _serves_bins = True

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        truth = binding.truth == code
        return self._bind_truth(self._measure, binding, truth, scores)

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        trait = self._trait_of(binding.sample.vocabulary)
        return [self._bind_truth(trait, binding, binding.positives, scores)]

    def _bind_truth(
        self, trait: Trait, binding: Binding, truth: Array, scores: Scores
    ) -> TableParameter:
        """Bind it to indicators of the positive label, (n,), or of all, (n, labels)."""
        within = binding.within
        weights = binding.sample.design.counts[within]
        features = self._features(truth, scores.values[within], weights)
        if self._function is identity and np.isfinite(trait.bounds).all():
            return binding.of_mean(trait, features[0])
        functional = FunctionOfMeans(self._function, np.stack(features, axis=1))
        return binding.of_units(trait, functional)

    def _range_in_bins(
        self,
        binding: Binding,
        parameter: TableParameter,
        scores: BinnedScores,
        code: int,
    ) -> tuple[float, float]:
        """Of a loss that is monotone in the probability of either label."""
        truth = binding.truth == code
        weights = binding.sample.design.counts[binding.within]
        low, high = (
            np.stack(self._features(truth, end, weights), axis=1)
            for end in scores.extremes
        )
        values = [
            float(FunctionOfMeans(self._function, features).estimate(weights))
            for features in (np.minimum(low, high), np.maximum(low, high))
        ]
        return min(values), max(values)

    def _trait_of(self, vocabulary: Vocabulary) -> Trait:
        """Properties where there are several targets or more than two labels."""
        return self._measure

    _function: ClassVar[Callable[..., Any]] = staticmethod(identity)
    """Function of the means of the features."""

    def _features(
        self, truth: Array, probabilities: Array, weights: Array
    ) -> list[Array]:
        """Return the columns that the metric takes the means of, by default a loss."""
        return [self._losses(truth, probabilities)]

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        """Losses from indicators and probabilities, (n,) of two labels or (n, labels).

        Of two labels they are those of the positive one.
        """
        raise NotImplementedError


class _D2CI(_ProbabilityMetricCI):
    """Share of the loss of the best constant probabilities that predictions save."""

    _function = staticmethod(partial(skill, least=EDGE))

    def _features(
        self, truth: Array, probabilities: Array, weights: Array
    ) -> list[Array]:
        shares = np.average(truth, axis=0, weights=weights)
        constant = np.broadcast_to(shares, truth.shape)
        return [self._losses(truth, own) for own in (probabilities, constant)]


@dataclass(eq=False)
class MetricScorer:
    """Scorer of estimators by a metric of scores."""

    metric: ScoreMetricCI
    bound: str | None

    def __call__(self, estimator: Any, X: Any, y: Any, **rows: Any) -> float:
        metric = self.metric
        labels = tuple(getattr(estimator, "classes_", ()))
        options: dict[str, Any] = {"labels": labels}
        if is_multilabel(y):
            labels, options = tuple(range(np.shape(y)[1])), {}
        elif len(labels) <= 2:
            positive = label_or_1(metric.pos_label)
            if metric.pos_label is None and metric._symmetric and labels:
                positive = labels[-1]
            labels, options = (positive,), {"pos_label": positive}
        scores = scores_of(estimator, X, labels, metric._needs_probabilities)
        estimate = metric(y, scores, **rows, **options)
        value = float(estimate) if self.bound is None else getattr(estimate, self.bound)
        return float(value if metric.greater_is_better else -value)

    def __repr__(self) -> str:
        bound = "" if self.bound is None else f"bound={self.bound!r}"
        return f"{self.metric!r}.scorer({bound})"


@declare_options
class RocAucCI(_AreaCI, measure="roc_auc"):
    r"""Area under the ROC curve: :math:`P(S_+ > S_-) + P(S_+ = S_-) / 2`.

    :math:`S_+` and :math:`S_-` are the scores of a positive and of a negative row. Of
    more than two labels it is the mean over each against the rest, or over each against
    each other (Hand and Till, 2001), and of several targets that over the targets. The
    estimate equals
    :func:`sklearn.metrics.roc_auc_score`, the standard error is that of DeLong, DeLong
    and Clarke-Pearson (1988). Intervals are by default on the logit scale. Where all
    positive rows are above all negative ones, the interval is
    :math:`[k / (k + z^2), 1]`, k the number of rows of the rarer label.

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}, default="ovr"
        Whether more than two labels are each compared with the rest, or in pairs. The
        latter has the averages "macro" and "weighted", by the rows of both labels.
    confidence_level, method, negate, pos_label, average, labels
        See :class:`MetricCI`.

    Examples
    --------
    >>> RocAucCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    roc_auc = 0.875 [0.814, 0.918], 95% interval (logit, n = 160)
    """

    multi_class: str = "ovr"

    _area = RocAuc

    @property
    def _name(self) -> str:
        return super()._name.replace("roc_auc", f"roc_auc{self._pairs * '_ovo'}")

    @property
    def _pairs(self) -> bool:
        """Whether labels are compared in pairs."""
        return self.multi_class == "ovo"

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_choice(self.multi_class, ("ovr", "ovo"), "multi_class")
        if self._pairs and self.average not in ("macro", "weighted"):
            raise ValueError(
                "average must be one of ['macro', 'weighted'] with multi_class='ovo', "
                f"got {self.average!r}"
            )

    def _classes(self, binding: Binding) -> list[tuple[int, Array, Array, Array]]:
        if not self._pairs or binding.sample.vocabulary.multilabel:
            return super()._classes(binding)
        pairs = permutations(enumerate(binding.positives.T), 2)
        return [(k, rows, rest, rows | rest) for (k, rows), (_, rest) in pairs]


class AveragePrecisionCI(_AreaCI, measure="average_precision"):
    r"""Average precision, the mean over the positive rows of the precision at each.

    .. math:: E_S P(y = 1 \mid s \ge S), \quad S \text{ the score of a positive row}

    Of more than two labels it is the mean over each against the rest, and of several
    targets that over the targets. The estimate equals
    :func:`sklearn.metrics.average_precision_score`. Intervals are by default on the
    logit scale. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> AveragePrecisionCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    average_precision = 0.885 [0.821, 0.928], 95% interval (logit, n = 160)
    """

    _area = AveragePrecision


@declare_options
class TopKAccuracyCI(ScoreMetricCI, measure="top_k_accuracy"):
    r"""Top-k accuracy: :math:`P(Y \text{ is among the } k \text{ greatest scores})`.

    Of tied scores, that of the last label is greatest. Of two labels, k is 1, and the
    positive one is predicted above a threshold: 1/2 if all scores are from 0 to 1,
    else 0. The estimate equals :func:`sklearn.metrics.top_k_accuracy_score`.

    Parameters
    ----------
    k : int, default=2
        Number of labels predicted for a row; less than there are.
    confidence_level, method, negate, pos_label, labels
        See :class:`MetricCI`.

    Examples
    --------
    >>> scores = [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]
    >>> TopKAccuracyCI()([0, 0, 2, 1] * 10, scores * 10)
    top_k_accuracy = 0.75 [0.60, 0.86], 95% interval (score, n = 40)
    """

    k: int = 2

    _symmetric = True
    _measure = cast(Measure, None)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_integer(self.k, "k")

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        values = scores.values[binding.within]
        are_shares = values.min() >= 0 and values.max() <= 1
        predicted = values > (0.5 if are_shares else 0)
        return self._of_hits(binding, predicted == (binding.truth == code))

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        check_one_target(binding.sample.vocabulary, binding.metric)
        order = np.argsort(scores.values[binding.within], axis=1, kind="stable")
        top = order[:, : -1 - int(self.k) : -1]
        hits = (top == binding.truth[:, np.newaxis]).any(axis=1)
        return [self._of_hits(binding, hits)]

    def _of_hits(self, binding: Binding, hits: Array) -> TableParameter:
        labels = binding.sample.vocabulary.labels
        if self.k >= len(labels):
            raise ValueError(
                f"k must be less than the number of labels for {binding.metric!r}, "
                f"which is 1 otherwise, got {self.k} and the labels {list(labels)}"
            )
        functional = Hits(self._measure.function)
        cells = np.where(hits, 0, 1)
        return binding.of_cells(self._measure, functional, cells, 4)


class BrierScoreCI(_ProbabilityMetricCI, measure="brier_score"):
    r"""Brier score, the mean squared error of a probability. Lower is better.

    .. math:: E(p - y)^2, \quad \text{of many labels} \quad \sum_c E(p_c - 1\{Y = c\})^2

    Of more than two labels it is the sum over them, between 0 and 2. Of several targets
    it is the sum over the targets, half of it if they are two, and the probabilities
    are shares of all targets, which add up to 1. The estimate equals
    :func:`sklearn.metrics.brier_score_loss`. Only a single column of
    probabilities of labels that are strings needs `pos_label`. See :class:`MetricCI`
    for the options.

    A loss is between 0 and 1, so that the score interval serves, of which both ends
    are possible losses: see :func:`skci.score_report`. It is the default up to 4,096
    distinct losses. Differences have by default "hall", since models mostly differ by
    far less than a row can.

    Examples
    --------
    >>> BrierScoreCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    brier_score = 0.084 [0.063, 0.126], 95% interval (score, n = 80)
    """

    _column_needs_pos_label = True

    def _trait_of(self, vocabulary: Vocabulary) -> Trait:
        columns = len(vocabulary.classes)
        most = columns if vocabulary.multilabel else 2
        return replace(self._measure, bounds=(0.0, most * _brier_scale(columns)))

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        squares = np.square(probabilities - truth)
        if squares.ndim == 1:
            return squares
        return squares.sum(axis=1) * _brier_scale(squares.shape[1])


def _brier_scale(columns: int) -> float:
    """Half the sum of squares is taken of two columns, as in scikit-learn."""
    return 0.5 if columns == 2 else 1.0


class LogLossCI(_ProbabilityMetricCI, measure="log_loss"):
    r"""Log loss: :math:`-E \log p_Y`, p the predicted probabilities. Lower is better.

    Of several targets it is the sum over those that are present, and p are shares of
    all targets, which add up to 1. The estimate equals
    :func:`sklearn.metrics.log_loss`; as there, probabilities are
    clipped to the rounding error of their type away from 0 and 1, and a single column
    of them is of the last of two labels if `pos_label` is not given. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> LogLossCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    log_loss = 0.302 [0.248, 0.370], 95% interval (hall, n = 80)
    """

    def _losses(self, truth: Array, probabilities: Array) -> Array:
        rows = np.arange(len(truth))
        if truth.ndim == 1:
            likelihood = np.where(truth, probabilities, 1 - probabilities)
        else:
            rows, columns = np.nonzero(truth)
            likelihood = probabilities[rows, columns]
        least = np.finfo(float).eps
        losses = -np.log(np.clip(likelihood, least, 1 - least))
        return np.bincount(rows, losses, minlength=len(truth))


class D2BrierScoreCI(_D2CI, BrierScoreCI, measure="d2_brier_score"):
    r"""Share of the Brier score of the class proportions that probabilities save.

    .. math:: 1 - B(p) / B(E[y]), \quad B \text{ the Brier score}

    The estimate equals :func:`sklearn.metrics.d2_brier_score`. The uncertainty of the
    proportions, at which the score is least, does not matter to first order. See
    :class:`BrierScoreCI`.

    Examples
    --------
    >>> D2BrierScoreCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    d2_brier_score = 0.67 [0.54, 0.76], 95% interval (hall, n = 80)
    """

    def _trait_of(self, vocabulary: Vocabulary) -> Trait:
        return self._measure


class D2LogLossCI(_D2CI, LogLossCI, measure="d2_log_loss"):
    r"""Share of the log loss of the class proportions that probabilities save.

    .. math:: 1 - L(p) / L(E[y]), \quad L \text{ the log loss}

    The estimate equals :func:`sklearn.metrics.d2_log_loss_score`. The uncertainty of
    the proportions, at which the loss is least, does not matter to first order; of
    several targets, whose proportions do not add up to 1, it is taken into account. See
    :class:`LogLossCI`.

    Examples
    --------
    >>> D2LogLossCI()([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    d2_log_loss = 0.565 [0.466, 0.642], 95% interval (hall, n = 80)
    """

    def _features(
        self, truth: Array, probabilities: Array, weights: Array
    ) -> list[Array]:
        loss, constant_loss = super()._features(truth, probabilities, weights)
        if truth.ndim == 2:
            present = truth.sum(axis=1)
            constant_loss = (
                constant_loss - present + np.average(present, weights=weights)
            )
        return [loss, constant_loss]
