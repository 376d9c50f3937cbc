"""Metrics of scores: areas under curves, and top-k accuracy.

References
----------
DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under
two or more correlated receiver operating characteristic curves: a nonparametric
approach. Biometrics 44, 837-845.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property, dot
from skci._options import entry_point
from skci._validation import check_integer, first_names, join_names
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
from skci.data.sample import Scores
from skci.inference.parameter import TableParameter
from skci.measures.functional import (
    Boundary,
    Evaluation,
    Functional,
    InformativeRows,
    MergedFunctional,
    SubsetFunctional,
    boundary_of_share,
)
from skci.measures.traits import MeasureProperties
from skci.metrics.base import MetricCI, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.classes import AVERAGES, Hits, MicroAverage, WeightedMean
from skci.metrics.labels import AccuracyCI


class ShareOfPairs(Functional):
    """Proportion of pairs of rows from two classes that are in the correct order."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    rarer_class: Any  # Number of rows in the smaller class, which limits the precision.
    _classes: Any  # Masks of the rows that can be the first or second row of a pair.

    @property
    def _gradient(self) -> Array:
        """Gradient of the metric with respect to the row weights.

        The gradient is set to infinity if a class has a single row, because the
        variance is then unknown.
        """
        return np.array([1.0 if self.rarer_class > 1 else np.inf])

    def support(self, counts: Array) -> InformativeRows:
        return InformativeRows(self._classes, self.rarer_class)

    def boundary(self, counts: Array) -> list[Boundary]:
        estimate = float(self.estimate(counts))
        return boundary_of_share(estimate, self.rarer_class, *self.bounds)


def mass_below(mass: Array) -> Array:
    """Return the weight below each score plus half of the weight at this score.

    `mass` contains the weight at each score, in ascending order of the scores. The
    result has an entry for each score in the same order.
    """
    below = np.cumsum(mass, dtype=float)
    below -= mass / 2
    return below


def roc_area(negative: Array, positive: Array) -> tuple[float, Array, Array]:
    """Return the area under the ROC curve, and its derivatives in the row weights.

    `negative` and `positive` are the weights of negative and positive rows at each
    distinct score, in ascending order of the scores.
    """
    negative_slope, positive_slope = mass_below(positive), mass_below(negative)
    with np.errstate(all="ignore"):
        negative_slope /= positive.sum()
        positive_slope /= negative.sum()
        value = dot(positive, positive_slope) / positive.sum()
        np.subtract(1 - value, negative_slope, out=negative_slope)
        negative_slope /= negative.sum()
        positive_slope -= value
        positive_slope /= positive.sum()
    return value, negative_slope, positive_slope


def mass_from(mass: Array) -> Array:
    """Return the total weight at or above each score."""
    return np.cumsum(mass[::-1])[::-1]


@dataclass(frozen=True, eq=False)
class OrderOfScores(ShareOfPairs):
    """Metric that depends on the scores only by their order.

    The metric is computed from an array of weights with two entries for each distinct
    score, in ascending order: the weight of negative rows and the weight of positive
    rows.
    """

    n_scores: int
    """Number of distinct scores."""
    sizes: tuple[int, int]
    """Number of negative rows, and number of positive rows."""
    n_rows: int
    """Number of all rows, including rows of other labels."""
    n_missed: int = 0
    """1 if the first score represents missing scores, else 0."""

    @cached_property
    def positive(self) -> Array:
        """Mask of the weights that belong to positive rows."""
        return np.tile([False, True], self.n_scores)

    @property
    def _classes(self) -> tuple[Array, ...]:
        return self.positive, ~self.positive

    @property
    def rarer_class(self) -> int:
        return min(self.sizes)


def masses(p: Array) -> Array:
    """Split weights into the weights of negative and of positive rows.

    The result has shape (2, number of scores).
    """
    return p.reshape(-1, 2).T


def cells_of(negative: Array, positive: Array) -> Array:
    """Merge arrays of negative and positive rows into one array, ordered by score."""
    return np.stack([negative, positive], axis=1).ravel()


class RocAuc(OrderOfScores):
    """Area under the ROC curve: probability that a positive row has the larger score.

    Ties count half. The influence values are scaled placements (proportions of the rows
    of the other class with a lower score), so that the variance equals DeLong's
    variance.
    """

    compared_by: ClassVar[str] = "order"

    def estimate(self, p: Array) -> Array:
        negative, positive = masses(p)
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            return np.asarray(dot(positive, mass_below(negative)) / pairs)

    def placements(self, p: Array) -> Array:
        """Return the placement of each class at each score.

        The placement of a class is the total weight of the rows of the other class with
        a lower score. Rows of the other class with an equal score count half.
        """
        negative, positive = masses(p)
        return cells_of(mass_below(positive), mass_below(negative))

    def __call__(self, p: Array) -> Evaluation:
        value, *slopes = roc_area(*masses(p))
        rows, sizes = self.n_rows, np.array(self.sizes)
        with np.errstate(all="ignore"):
            # Convert variances within each class to a variance over all rows.
            factors = np.sqrt(np.divide(sizes, sizes - 1) * (rows - 1) / rows)
            for slope, factor in zip(slopes, factors, strict=True):
                slope *= factor
        return Evaluation(np.asarray(value), cells_of(*slopes), self._gradient)

    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        r"""Return bounds for the area under the curve over all orders of tied rows.

        Rows are tied if binning has combined different scores into one score. `mixed`
        is a mask of these combined scores. A pair of a positive and a negative row with
        the same combined score b counts 1/2. With the original scores, the pair would
        count 0 or 1. Other pairs are not affected. The area therefore changes by at
        most

        .. math:: \frac{1}{2} \sum_b \frac{p_b n_b}{P N} ,

        where :math:`p_b` and :math:`n_b` are the weights of positive and negative rows
        with score b, and P and N their totals.
        """
        negative, positive = masses(p)
        value = float(self.estimate(p))
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            reach = float((positive * mixed) @ negative / pairs) / 2
        return value - reach, value + reach


class AveragePrecision(OrderOfScores):
    """Average precision: mean of the precision at the scores of all positive rows."""

    compared_by: ClassVar[str] = "ranks"

    @property
    def rarer_class(self) -> int:
        return self.sizes[1]

    def estimate(self, p: Array) -> Array:
        positive, precision, _ = self._curve(p)
        with np.errstate(all="ignore"):
            return np.asarray(dot(positive, precision) / positive.sum())

    def __call__(self, p: Array) -> Evaluation:
        return Evaluation(*self._mean(*self._curve(p)), self._gradient)

    def _mean(
        self, positive: Array, precision: Array, share: Array
    ) -> tuple[Array, Array]:
        """Return the mean precision over positive rows, and the influence values."""
        with np.errstate(all="ignore"):
            value = np.asarray(dot(positive, precision) / positive.sum())
            # A row affects the precision at its score and at all lower scores.
            lowers = np.cumsum(share * precision)
            raises = precision - value + np.cumsum(share)
            influence = cells_of(-lowers, raises - lowers)
            influence /= positive.sum()
        return value, influence

    def _curve(self, p: Array) -> tuple[Array, Array, Array]:
        """Return three arrays from which the average precision is computed.

        For each score, the arrays contain the weight of the positive rows, the
        precision, and a ratio. The ratio is the weight of the positive rows with this
        score, divided by the weight of all rows with this or a larger score.
        """
        negative, positive = masses(p)
        hits, flagged = mass_from(positive), mass_from(negative + positive)
        flagged[: self.n_missed] = np.inf
        flagged[flagged <= 0] = np.inf
        return positive, hits / flagged, positive / flagged

    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        r"""Return bounds for the average precision over all orders of tied rows.

        Rows are tied if binning has combined different scores into one score. `mixed`
        is a mask of these combined scores.

        Consider a combined score with p positive and n negative rows, and F rows with a
        larger score, H of them positive. At a positive row, the precision is :math:`(H
        + s) / (F + s + t)` if s positive and t negative rows of this score are ranked
        at or above it. This is at most :math:`(H + p) / (F + p)` and at least :math:`(H
        + s) / (F + n + s)`. The sum of the lower bounds over the positive rows of the
        score is at least

        .. math:: \int_0^p \frac{H + s}{F + n + s} ds
            = p - (F + n - H) \log \Bigl(1 + \frac{p}{F + n}\Bigr) .

        Precisions at other scores are not affected.
        """
        negative, positive = masses(p)
        hits, flagged = mass_from(positive), mass_from(positive + negative)
        above = flagged - positive  # with the negative rows of the score
        with np.errstate(all="ignore"):
            tied = positive * np.where(positive > 0, hits / flagged, 0)
            upper = positive * hits / (flagged - negative)
            lower = positive - (flagged - hits) * np.log1p(positive / above)
            lower = np.where(above > 0, lower, positive)
            reach = np.where(mixed & (positive > 0), [lower - tied, upper - tied], 0)
            bounds = self.estimate(p) + reach.sum(axis=1) / positive.sum()
        low, high = bounds.tolist()
        return low, high


class InterpolatedPrecision(AveragePrecision):
    """Mean of the interpolated precision at the recalls 0, 0.01, ..., 1, as in COCO.

    The interpolated precision at a recall is the largest precision at this or a larger
    recall, and 0 if no larger recall is reached. The influence values are computed for
    the mean over positive rows, which approximates the mean over the 101 recalls.
    """

    compared_by: ClassVar[str] = ""

    def estimate(self, p: Array) -> Array:
        positive, precision, _ = self._curve(p)
        reached = mass_from(positive)
        if not reached[0] > 0:
            return np.asarray(np.nan)
        recall = (reached / reached[0])[self.n_missed :]  # 1 first, despite rounding
        best = np.maximum.accumulate(precision)[self.n_missed :]
        first = np.searchsorted(recall[::-1], _RECALLS)
        return np.append(best[::-1], 0)[first].mean()

    def __call__(self, p: Array) -> Evaluation:
        positive, precision, _ = self._curve(p)
        best = np.maximum.accumulate(precision)
        # For each interpolated precision: the index of the score with this precision,
        # and the total weight of positive rows.
        rises = np.append(True, best[1:] > best[:-1])
        source = np.maximum.accumulate(np.where(rises, np.arange(len(best)), 0))
        mass = np.bincount(source, positive * (best > 0), len(best))
        flagged = mass_from(masses(p).sum(axis=0))
        with np.errstate(all="ignore"):
            share = np.where(flagged > 0, mass / flagged, 0)
        _, influence = self._mean(positive, best, share)
        return Evaluation(self.estimate(p), influence, self._gradient)


_RECALLS = np.linspace(0, 1, 101)


_MAX_NAMES = 6  # maximum number of class names in a message


class ScoreMetricCI(MetricCI):
    """Metric of scores, which are larger if a row is more likely to be positive.

    With more than two labels, or with several targets, each label or target has a
    column of scores.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label, to which the scores refer. Defaults to the positive label of the
        report, or to 1.
    labels : array-like, optional
        All labels, in the order of the columns of scores. Defaults to sorted order.
    """

    pos_label: Any = None
    labels: Any = None

    reads = "scores"
    _symmetric = False

    @entry_point(MetricCI.__call__)
    def __call__(  # type: ignore[override]
        self, y_true: Any, y_score: Any, *more: Any, **options: Any
    ) -> Any:
        """Estimate the measure and its interval.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,) or (n_samples, n_labels)
            Scores. With two labels, a column such as the probability of the positive
            label; two columns are also accepted if they are probabilities. With more
            labels, a column for each label in sorted order, such as
            ``predict_proba(X)``. With several targets, a column for each target. If the
            columns of a data frame are named after all labels or targets, the columns
            are matched by name. Metrics of survival require risks, where a larger risk
            predicts an earlier event; predicted times must be multiplied by -1.

        Returns
        -------
        MetricEstimate or JointReport
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``. With ``average=None``, a report with an estimate
            for each label or target, as returned by :func:`skci.joint_report`.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are invalid.

        Warns
        -----
        UndefinedMetricWarning
            If the measure is undefined on the data.
        UserWarning
            When the interval is first accessed, if an area under a ROC curve is so far
            below 0.5 that the scores seem to refer to the other label.
        """
        return MetricCI.__call__(self, y_true, y_score, *more, **options)

    def _response(self, estimator: Any, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        """Return an estimator's scores, and options with the labels of the scores."""
        labels = tuple(getattr(estimator, "classes_", ()))
        options: dict[str, Any] = {"labels": labels}
        if is_multilabel(y):
            labels, options = tuple(range(np.shape(y)[1])), {}
        elif len(labels) <= 2:
            positive = label_or_1(self.pos_label)
            if self.pos_label is None and self._symmetric and labels:
                positive = labels[-1]
            elif len(labels) == 2:
                check_pos_label(self.pos_label, np.asarray(labels).tolist())
            labels, options = (positive,), {"pos_label": positive}
        return scores_of(estimator, X, labels, self._score_methods), options

    def _bind(self, binding: Binding) -> list[TableParameter]:
        vocabulary = binding.sample.vocabulary
        scores = self._scores_of(binding).among(binding.within)
        if not vocabulary.binary:
            check_no_pos_label(self.pos_label, "several targets or over two labels")
            return self._bind_classes(binding, scores)
        code = self._code(binding.pos_label, vocabulary.labels)
        parameter = self._bind_one(binding, scores, code)
        return [replace(parameter, pos_label=vocabulary.shown_positive(code))]

    def _scores_of(self, binding: Binding) -> Scores:
        """Return the scores of a model, and check them."""
        scores = binding.sample.scores[binding.model]
        if self._score_methods == ("predict_proba",):
            name = repr(binding.metric)
            for x in scores.extremes:
                clipped = check_probabilities(x, binding.model, name, eps=scores.eps)
            if scores.edges is None and clipped is not scores.values:
                scores = replace(scores, values=clipped)
        if self.labels is not None:
            check_all_labels(self.labels, binding.sample.vocabulary)
        return scores

    def _code(self, pos_label: Any, labels: Sequence[Any]) -> int:
        """Return the code of the label to which a single column of scores refers."""
        if self._symmetric and pos_label is None:
            return 1
        return check_pos_label(pos_label, labels)

    # Return the parameter to estimate for the code of the positive label.
    _bind_one: ClassVar[Callable[..., TableParameter]]
    # Return the parameters to estimate for several labels or targets.
    _bind_classes: ClassVar[Callable[..., list[TableParameter]]]


def with_binning_error(
    parameter: TableParameter, bounds: tuple[float, float]
) -> TableParameter:
    """Extend the interval of a metric that is computed from binned scores.

    `bounds` contains the smallest and the largest value that the metric could have had
    without binning.
    """
    if not parameter.defined:
        return parameter
    low = max(parameter.value - bounds[0], 0.0)
    high = max(bounds[1] - parameter.value, 0.0)
    return replace(parameter, extension=(low, high), binning_error=max(low, high))


class OrderMetricCI(
    ScoreMetricCI,
    automatic=("logit", "hall"),
    undefined_by="no row of one of the classes",
):
    """Metric that depends only on the order of scores, such as an area under a curve.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label, to which the scores refer. Defaults to the positive label of the
        report, or to 1. Required if labels are strings.
    method : {"auto", "logit", "hall", "delta"}, optional
        Interval method: "logit" (on the logit scale), "hall" (corrected for skewness)
        or "delta" (symmetric). Defaults to the method of the report, or to "auto",
        which is "logit".
    """

    _area: ClassVar[Any]
    _shows_skewness = False

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        area = self._area_of(binding.truth == code, scores, binding.frequencies)
        table = area.functional, area.cells, area.size
        return binding.of_cells(self._measure, *table, smooth=False)

    def _area_of(
        self,
        positive: Array,
        scores: Scores,
        frequencies: Array,
        n_rows: float | None = None,
    ) -> MergedFunctional:
        """Return the area under the curve for one column or for pooled columns.

        `positive` is a mask of the positive rows, of shape (n,). For pooled columns,
        the mask has shape (n, labels).
        """
        missing = np.isnan(scores.values) if self._may_miss else np.zeros(1, bool)
        is_missing = bool(missing.any())
        if is_missing:
            if (missing & ~positive.reshape(missing.shape)).any():
                raise ValueError(
                    "y_score must not be missing in negative rows, got a missing score "
                    "in a negative row. A missing score in a positive row represents "
                    "an object that was not detected. If a model did not report the "
                    "score of a row, pass a score below all other scores"
                )
            scores = Scores(np.where(missing, -np.inf, scores.values), eps=scores.eps)
        order, ranks = scores.ranked
        cells = np.empty_like(order)
        cells[order] = 2 * ranks
        cells = cells.reshape(positive.shape) + positive
        n_scores, is_single = int(ranks[-1]) + 1, positive.ndim == 1
        columns = positive[:, np.newaxis] if is_single else positive
        has_negative, has_positive = np.logical_or.reduce([~columns, columns], axis=-1)
        n_negative = round(dot(frequencies, has_negative))
        n_positive = round(dot(frequencies, has_positive))
        n = round(frequencies.sum() if n_rows is None else n_rows)
        area = self._area(n_scores, (n_negative, n_positive), n, int(is_missing))
        return (MergedFunctional if is_single else MicroAverage)(
            area, cells, 2 * n_scores
        )


class _AreaCI(OrderMetricCI):
    """Metric that is an area under a curve.

    Parameters
    ----------
    average : {"macro", "weighted", "micro", "samples"} or None, default="macro"
        Average over more than two labels, or over several targets. "macro" is the mean.
        "weighted" is the mean weighted by the numbers of positive rows; these numbers
        are treated as estimates. "micro" pools the scores of all columns. "samples" is
        the mean over rows of the area of a row, for several targets. None requests a
        separate estimate for each label or target.
    """

    average: str | None = option(
        default="macro", check=one_of(*AVERAGES, "samples", None)
    )

    _serves_bins = True
    _plain_averages = ("macro", None)
    _area: ClassVar[type[RocAuc | AveragePrecision]]

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        parameter = super()._bind_one(binding, scores, code)
        if scores.edges is None or not scores.mixed.any():
            return parameter
        functional: Any = parameter.functional
        bounds = functional.range_of_orders(parameter.counts, scores.mixed)
        return with_binning_error(parameter, bounds)

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        truth, measure = binding.positives, self._trait_at(binding)
        if self.average == "micro":
            area = self._area_of(truth, scores.pooled, binding.frequencies)
            return [binding.of_units(measure, area)]
        if self.average == "samples":
            ones = np.ones(truth.shape[1])
            values = [
                self._area_of(row, Scores(column), ones).estimate(ones)
                for row, column in zip(truth, scores.values, strict=True)
            ]
            return [binding.of_unit_values(measure, np.array(values))]
        columns = zip(truth.T, scores.columns, strict=True)
        areas = [self._area_of(*column, binding.frequencies) for column in columns]
        if self.average is None:
            names = map(binding.name_of, binding.sample.vocabulary.classes)
            of_cells = partial(binding.of_cells, self._measure, smooth=False)
            return [
                of_cells(area.functional, area.cells, area.size, name)
                for area, name in zip(areas, names, strict=True)
            ]
        weighted = self.average == "weighted"
        sizes = truth.astype(float) if weighted else np.ones((len(truth), 1))
        return [binding.of_units(measure, WeightedMean(areas, sizes))]

    def _trait_at(self, binding: Binding) -> MeasureProperties:
        """Return the properties of the metric.

        The properties state why the metric may be undefined, for example because a
        class is missing.
        """
        vocabulary, truth = binding.sample.vocabulary, binding.positives
        lacking = {"positive": ~truth.any(axis=0)}
        if issubclass(self._area, RocAuc):
            lacking["negative"] = truth.all(axis=0)
        kind = "target" if vocabulary.multilabel else "class"
        causes = {}
        for sign, is_lacking in lacking.items():
            codes = np.flatnonzero(is_lacking)
            if names := [repr(str(vocabulary.classes[k])) for k in codes]:
                named = join_names(first_names(names, _MAX_NAMES))
                causes[sign] = f"no {sign} row of the {kind} {named}"
        if [*causes] == ["positive"] and self.average == "macro":
            causes["weighted"] = "which average='weighted' leaves out"
        undefined_by = ", ".join(causes.values()) or self._measure.undefined_by
        return replace(self._measure, undefined_by=undefined_by)


class RocAucCI(_AreaCI, measure="roc_auc", chance=0.5):
    r"""Area under the ROC curve: :math:`P(S_+ > S_-) + P(S_+ = S_-) / 2`.

    :math:`S_+` and :math:`S_-` are the scores of a positive and of a negative row. With
    more than two labels, each label is compared with the rest, or each pair of labels
    is compared (Hand and Till, 2001), and the metric is the mean of these areas. With
    several targets, the metric is the mean over targets. The estimate equals
    :func:`sklearn.metrics.roc_auc_score`. The standard error is due to DeLong, DeLong
    and Clarke-Pearson (1988). Intervals are on the logit scale by default. If all
    positive rows have larger scores than all negative rows, the interval is :math:`[k /
    (k + z^2), 1]`, where k is the number of rows of the rarer label.

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}, default="ovr"
        Comparison of more than two labels: "ovr" compares each label with the rest,
        "ovo" compares pairs of labels. With "ovo", `average` must be "macro" or
        "weighted"; "weighted" weights a pair by the number of rows of both labels.

    Examples
    --------
    >>> RocAucCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    roc_auc = 0.875 [0.814, 0.918], 95% interval (logit, n = 160)
    """

    multi_class: str = option(default="ovr", check=one_of("ovr", "ovo"))

    _variants = ({"multi_class": "ovo"},)
    _area = RocAuc

    @property
    def _name(self) -> str:
        return super()._name.replace("roc_auc", f"roc_auc{self._pairs * '_ovo'}")

    @property
    def _pairs(self) -> bool:
        """Whether labels are compared in pairs instead of each label with the rest."""
        return self.multi_class == "ovo"

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self._pairs and self.average not in ("macro", "weighted"):
            raise ValueError(
                "average must be one of ['macro', 'weighted'] with multi_class='ovo', "
                f"got {self.average!r}"
            )

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        truth, frequencies = binding.positives, binding.frequencies
        if not self._pairs or binding.sample.vocabulary.multilabel:
            return super()._bind_classes(binding, scores)
        rows, columns = [*map(np.flatnonzero, truth.T)], scores.columns
        areas, pairs = [], [*permutations(range(len(rows)), 2)]
        for first, rest in pairs:
            units = np.concatenate([rows[rest], rows[first]])
            positive = np.arange(len(units)) >= len(rows[rest])
            between = columns[first].among(units), frequencies[units], frequencies.sum()
            area = self._area_of(positive, *between)
            table = area.functional, area.cells, area.size
            areas.append(SubsetFunctional(*table, units, len(frequencies)))
        sizes: Any = np.ones((len(truth), 1))
        if self.average == "weighted":
            labels, (first, rest) = sparse.csr_array(truth * 1.0), np.transpose(pairs)
            sizes = labels[:, first] + labels[:, rest]
        return [binding.of_units(self._trait_at(binding), WeightedMean(areas, sizes))]


class AveragePrecisionCI(_AreaCI):
    r"""Average precision: the mean of the precision at the scores of positive rows.

    .. math:: E_S P(y = 1 \mid s \ge S), \quad S \text{ the score of a positive row}

    With more than two labels, the metric is the mean over labels of the average
    precision of each label against the rest. With several targets it is the mean over
    targets. The estimate equals :func:`sklearn.metrics.average_precision_score`.
    Intervals are on the logit scale by default.

    Parameters
    ----------
    interpolation : {"101"}, optional
        Interpolation of the precision. "101" gives the average precision of COCO: the
        largest precision at or above a recall, averaged over 101 recalls. By default
        the precision is not interpolated.

    Examples
    --------
    >>> AveragePrecisionCI()([0] * 80 + [1] * 80, [*range(80), *range(40, 120)])
    average_precision = 0.885 [0.821, 0.928], 95% interval (logit, n = 160)

    Each of 40 images has three objects. The third object was detected in some images:

    >>> is_object, third = [1, 0, 1, 1] * 40, [0.7, None, 0.6, None, None] * 8
    >>> scores = [score for last in third for score in (0.9, 0.8, 0.75, last)]
    >>> image = [k // 4 for k in range(160)]
    >>> AveragePrecisionCI(interpolation="101")(is_object, scores, groups=image)
    average_precision = 0.665 [0.620, 0.707], 95% interval (logit, n = 160 in 40 groups)
    """

    interpolation: str | None = option(default=None, check=one_of("101"))

    _may_miss = True

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        has_curvature = not self.interpolation
        properties = self._properties | {"has_curvature": has_curvature}
        return MeasureProperties("average_precision", **properties)

    @property
    def _area(self) -> type[AveragePrecision]:  # type: ignore[override]
        return InterpolatedPrecision if self.interpolation else AveragePrecision

    @property
    def _serves_bins(self) -> bool:  # type: ignore[override]
        return not self.interpolation


class TopKAccuracyCI(ScoreMetricCI):
    r"""Top-k accuracy: :math:`P(Y \text{ has one of the } k \text{ largest scores})`.

    Y is the true label of a row. If labels have equal scores, the last of these labels
    is ranked first. With two labels, k must be 1, and a row is predicted positive if
    its score exceeds a threshold. The threshold is 1/2 if all scores are between 0 and
    1, and 0 otherwise. The estimate equals
    :func:`sklearn.metrics.top_k_accuracy_score`.

    Parameters
    ----------
    k : int, default=2
        Number of labels predicted for a row, less than the number of all labels.
    method : str, optional
        Interval method: "score", "delta", "blurred", "plus-four", "hall", "logit",
        "wilson", "agresti-coull", "clopper-pearson" or "jeffreys". Defaults to the
        method of the report, or to "auto", which is "score".

    Examples
    --------
    >>> scores = [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]
    >>> TopKAccuracyCI()([0, 0, 2, 1] * 10, scores * 10)
    top_k_accuracy = 0.75 [0.60, 0.86], 95% interval (score, n = 40)
    """

    k: int = option(default=2, check=check_integer)

    _symmetric = True
    _measure = replace(AccuracyCI._measure, name="top_k_accuracy")

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        # The threshold is the same in all subgroups.
        all_scores = binding.sample.scores[binding.model].values
        are_shares = all_scores.min() >= 0 and all_scores.max() <= 1
        predicted = scores.values > (0.5 if are_shares else 0)
        return self._of_hits(binding, predicted == (binding.truth == code))

    def _bind_classes(self, binding: Binding, scores: Scores) -> list[TableParameter]:
        check_one_target(binding.sample.vocabulary, binding.metric)
        order = np.argsort(scores.values, axis=1, kind="stable")
        top = order[:, : -1 - int(self.k) : -1]
        hits = (top == binding.truth[:, np.newaxis]).any(axis=1)
        return [self._of_hits(binding, hits)]

    def _of_hits(self, binding: Binding, hits: Array) -> TableParameter:
        labels = binding.sample.vocabulary.labels
        if self.k >= len(labels):
            raise ValueError(
                f"k must be less than the number of labels for {binding.metric!r}, "
                "because the metric would otherwise always be 1, got "
                f"{self.k} and the labels {list(labels)}"
            )
        functional = Hits(self._measure.function)
        cells = np.where(hits, 0, 1)
        return binding.of_cells(self._measure, functional, cells, 4)
