"""Measures of several classes: averages over classes, and measures of all classes.

A functional depends on three indicators of a row for each class: whether the row is a
true positive, a false positive or a false negative of the class against the rest.
Classes are the labels of one target, or the targets of multilabel data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.measures.functional import (
    Boundary,
    CellFunctional,
    Composite,
    Evaluation,
    Functional,
    InformativeRows,
    MergedFunctional,
    divisor,
)
from skci.measures.traits import EDGE, MeasureProperties

AVERAGES = ("micro", "macro", "weighted")

_DENSE = 1 << 16  # maximum number of entries of a dense matrix
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class ConfusionIndicators:
    """Indicators of true positives, false positives and false negatives by class.

    Each indicator is a dense or sparse matrix of zeros and ones, of shape (m, C), where
    m is the number of rows and C is the number of classes.
    """

    tp: Any
    fp: Any
    fn: Any

    @classmethod
    @lru_cache(maxsize=4)
    def of_pairs(
        cls, labels: int, chosen: tuple[int | None, ...]
    ) -> ConfusionIndicators:
        """Return the indicators of all pairs of a true and a predicted label.

        `chosen` contains the code of each class, or None for a class without data.
        """
        truth, answer = np.indices((labels, labels)).reshape(2, -1)
        right = truth == answer
        pairs = ((truth, right), (answer, ~right), (truth, ~right))
        return cls(*(_one_hot(label, where, chosen) for label, where in pairs))

    @classmethod
    def of_targets(cls, truth: Array, answer: Array) -> ConfusionIndicators:
        """Return indicators of correct and wrong predictions for several targets.

        `truth` and `answer` are bool arrays of shape (m, targets).
        """
        columns = (truth & answer, answer & ~truth, truth & ~answer)
        return cls(*(column.astype(float) for column in columns))

    @property
    def n_classes(self) -> int:
        return int(self.tp.shape[1])

    def tables(self, p: Array) -> Array:
        """Return the confusion matrix of each class, as an array of shape (..., C, 4).

        The last dimension contains tp, fp, fn and tn. The row weights `p` have shape
        (..., m).
        """
        tp, fp, fn = (np.asarray(p @ bits) for bits in (self.tp, self.fp, self.fn))
        total = p.sum(axis=-1, keepdims=True)
        tn = total - tp - fp - fn
        tn = np.where(tn > _ROUNDING * total, tn, 0)
        return np.stack([tp, fp, fn, tn], axis=-1)

    def spread(self, gradient: Array) -> Array:
        """Convert derivatives in class proportions to derivatives in row weights.

        For each class, the last dimension of `gradient` has three entries. These
        entries are derivatives with respect to the proportions of true positive rows,
        of predicted rows and of true rows. The result has one derivative for each row.
        """
        za, a, z = np.moveaxis(gradient, -1, 0)
        with np.errstate(invalid="ignore"):  # derivatives may be undefined
            return (za + a + z) @ self.tp.T + a @ self.fp.T + z @ self.fn.T


def _one_hot(label: Array, where: Array, chosen: Sequence[int | None]) -> Any:
    """Return one-hot encoded labels, with only zeros in rows where `where` is False.

    The columns correspond to the label codes in `chosen`.
    """
    column = np.full(int(label.max()) + 1, -1)
    for k, code in enumerate(chosen):
        if code is not None:
            column[code] = k
    columns = column[label]
    is_one = where & (columns >= 0)
    rows, shape = np.flatnonzero(is_one), (len(label), len(chosen))
    pairs = rows, columns[is_one]
    matrix = sparse.csr_array((np.ones(len(rows)), pairs), shape=shape)
    return matrix.toarray() if np.prod(shape) <= _DENSE else matrix


@dataclass(frozen=True, eq=False)
class ClassAverage(Functional):
    """Average of a metric over classes, in which each class is positive in turn.

    The average "macro" is the unweighted mean over classes. The average "weighted" has
    weights proportional to the number of true rows of each class, and these weights are
    treated as estimates. The average "micro" is computed from the sum of the confusion
    matrices of all classes. The value of an undefined metric in a class is replaced by
    `undefined_as`. If `undefined_as` is NaN, the class is left out. `undefined` is a
    mask of the classes with an undefined metric.
    """

    compared_by: ClassVar[str] = "targets"

    measure: MeasureProperties
    average: str
    bits: ConfusionIndicators
    undefined_as: float = np.nan
    undefined: Array | bool = False

    def estimate(self, p: Array) -> Array:
        return self._mean(*self._classes(np.asarray(p, dtype=float)))[0]

    def observed(
        self, counts: Array
    ) -> tuple[ClassAverage, Array, tuple[float, float], float]:
        """Return the average over the classes in which the metric is defined.

        Returns
        -------
        average : ClassAverage
            The average, with a mask of the classes in which the metric is undefined.
        weights : ndarray of shape (C,)
            Weight of each undefined class in the average, and 0 for defined classes.
        extension : (float, float)
            Distances by which undefined classes extend the interval below and above.
        value : float
            Estimate of scikit-learn if no class has true rows, else NaN.
        """
        tables, values = self._classes(counts)
        defined = replace(self, undefined=np.isnan(values))
        shares = self._mean(tables, np.zeros(values.shape))[1]
        lacking = np.where(defined.undefined, shares, 0.0)
        value, share = float(self._mean(tables, values)[0]), float(lacking.sum())
        extension = 0.0, 0.0
        if share and np.isinf(value):
            extension = np.inf, np.inf
        elif share and not np.isnan(value):
            low, high = self.measure.bounds
            value = value if np.isnan(self.undefined_as) else self.undefined_as
            extension = share * (value - low), share * (high - value)
        tp, _, fn, _ = np.moveaxis(self.bits.tables(counts), -1, 0)
        if (tp + fn).any():
            return defined, lacking, extension, np.nan
        macro = replace(self, average="macro").estimate(counts)
        return defined, lacking, extension, float(macro)

    def boundary(self, counts: Array) -> list[Boundary]:
        if self.measure.bounds != (0, 1):
            return []
        tables, values = self._classes(counts)
        shares = self._mean(tables, values)[1]
        if self.average == "micro":
            tables = tables * self.bits.n_classes
        on_boundary = (values <= EDGE) | (values >= 1 - EDGE)
        return [
            Boundary(float(shares[k]), self._n_rows(tables[k]))
            for k in np.flatnonzero(on_boundary & (shares != 0))
        ]

    def _n_rows(self, table: Array) -> float:
        """Return the number of rows on which the metric of a class depends."""
        if self.measure.proportion is not None:
            return self.measure.successes_and_trials(table)[1]
        return float(table[:3].sum())

    def __call__(self, p: Array) -> Evaluation:
        tables = self._tables(p)
        values, _, gradient = CellFunctional(self.measure.function)(tables)
        values = np.where(self.undefined, np.nan, values)
        value, shares, row_slopes = self._mean(tables, values)
        is_defined = ~np.isnan(values)[..., np.newaxis]
        with np.errstate(all="ignore"):
            gradient = np.where(is_defined, gradient * shares[..., np.newaxis], 0)
        gradient[..., 2] += row_slopes
        if self.average == "micro":  # moments are sums over classes
            gradient = gradient / self.bits.n_classes
        shape = (*p.shape[:-1], self.bits.n_classes, 3)
        slopes = self.bits.spread(np.broadcast_to(gradient, shape))
        with np.errstate(invalid="ignore"):
            influence = slopes - (p * slopes).sum(axis=-1, keepdims=True)
        return Evaluation(value, influence, gradient.reshape(*gradient.shape[:-2], -1))

    def _classes(self, p: Array) -> tuple[Array, Array]:
        """Return the confusion matrix and the metric of each class."""
        tables = self._tables(p)
        values = CellFunctional(self.measure.function).estimate(tables)
        return tables, np.where(self.undefined, np.nan, values)

    def _tables(self, p: Array) -> Array:
        """Return the confusion matrix of each class, or the mean matrix for "micro"."""
        tables = self.bits.tables(p)
        return tables.mean(-2, keepdims=True) if self.average == "micro" else tables

    def _mean(self, tables: Array, values: Array) -> tuple[Array, Array, Array]:
        """Return the mean of a metric over classes, and derivatives of this mean.

        `values` contains the value of the metric in each class, and has shape (..., C).
        Undefined values are left out. The first derivatives are with respect to
        `values`. The second derivatives are with respect to the proportion of true rows
        in each class. The second derivatives are 0 unless the average is "weighted".
        """
        tp, _, fn, _ = np.moveaxis(tables, -1, 0)
        weighted = self.average == "weighted"
        values = np.where(np.isnan(values), self.undefined_as, values)
        is_defined = ~np.isnan(values)
        weights = np.where(is_defined, tp + fn if weighted else 1.0, 0.0)
        total = weights.sum(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            shares = weights / total
            terms = np.where(shares > 0, values * shares, 0).sum(axis=-1)
            value = np.where(total[..., 0] > 0, terms, np.nan)
            slopes = (values - value[..., np.newaxis]) / total
        return value, shares, np.where(is_defined & weighted, slopes, 0)


@dataclass(frozen=True, eq=False)
class WeightedMean(Composite):
    """Weighted mean of functionals, with weights that are estimated from the rows.

    The weight of a functional is a mean over rows, such as the proportion of a label or
    the variance of a target.
    """

    compared_by: ClassVar[str] = "components"

    sizes: Any
    """Dense or sparse matrix of shape (m, components). Column means are the weights.

    The shape is (m, 1) if all weights are equal.
    """

    def estimate(self, p: Array) -> Array:
        return self._mean(p, [component.estimate(p) for component in self.components])

    def __call__(self, p: Array) -> Evaluation:
        shares = self.slopes(p)
        influence, gradients, values = np.zeros(np.shape(p)), [], []
        with np.errstate(invalid="ignore"):  # infinity less infinity is undefined
            for share, component in zip(shares, self.components, strict=True):
                evaluation = component(p)
                values.append(evaluation.estimate)
                if share:  # a component without weight may be undefined
                    influence += share * evaluation.influence
                    gradients.append(share * evaluation.gradient)
            mean = self._mean(p, values)
            moved = np.where(shares == 0, 0, np.array(values) - mean)
            if self.sizes.shape[1] > 1:  # equal weights are not estimated
                influence += self.sizes @ (moved / (p @ self.sizes).sum())
        return Evaluation(mean, influence, np.concatenate(gradients))

    def support(self, counts: Array) -> InformativeRows:
        """Return the rows that determine how precisely the variance is estimated.

        These rows are the informative rows of all averaged functionals.
        """
        support = super().support(counts)
        classes = {cells.tobytes(): cells for cells in support.classes}
        return replace(support, classes=tuple(classes.values()))

    def slopes(self, p: Array) -> Array:
        sizes = np.broadcast_to(p @ self.sizes, len(self.components))
        with np.errstate(invalid="ignore"):
            return np.asarray(sizes / sizes.sum())

    def _mean(self, p: Array, values: Any) -> Array:
        shares = self.slopes(p)
        return np.asarray(np.where(shares == 0, 0, shares * values).sum())


class MicroAverage(MergedFunctional):
    """Micro average, in which each pair of a row and a class counts as one row.

    `cells` contains the outcome of each pair as an index, of shape (rows, classes).
    """

    def table(self, p: Array) -> Array:
        weights = np.repeat(p, self.cells.shape[1])
        return np.bincount(self.cells.ravel(), weights, minlength=self.size)

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = self.functional(self.table(p))
        return Evaluation(estimate, influence[self.cells].sum(axis=1), gradient)

    def support(self, counts: Array) -> InformativeRows:
        support = self.functional.support(self.table(counts))
        return support.mapped(lambda cells: np.any(cells[self.cells], axis=1))


class Hits(CellFunctional):
    """Metric that depends only on the proportion of rows predicted correctly.

    The metric is computed by a function with the arguments `tp` and `fp`. These
    arguments are the proportions of right and of wrong rows.
    """

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = super().__call__(p)
        return Evaluation(estimate, influence, gradient[..., :1] / 2)


@dataclass(frozen=True, eq=False)
class _Agreement(Functional):
    """Agreement of true and predicted labels, such as Cohen's kappa.

    Each row has a weight that depends on its true and its predicted label, such as 1
    for equal labels. The metric is a smooth function of the mean weight and the
    marginal distributions of true and predicted labels.
    """

    weights: Array
    """Weight of each pair of a true label (rows) and a predicted label (columns)."""

    @abstractmethod
    def _value(self, mean: Array, truth: Array, answer: Array) -> tuple[Array, ...]:
        """Return the measure of agreement and three arrays of derivatives.

        The derivatives in the first array, of shape (...), are with respect to the mean
        weight. The derivatives in the other two arrays, of shape (..., C), are with
        respect to the distributions of true and of predicted labels.
        """

    def __call__(self, p: Array) -> Evaluation:
        shares = p / p.sum(axis=-1, keepdims=True)
        pairs = shares.reshape(*p.shape[:-1], *self.weights.shape)
        means = shares @ self.weights.ravel(), pairs.sum(axis=-1), pairs.sum(axis=-2)
        with np.errstate(all="ignore"):
            value, slope, in_truth, in_answer = self._value(*means)
            slope = slope[..., np.newaxis]
            pairs = slope[..., np.newaxis] * self.weights
            pairs += in_truth[..., :, np.newaxis]
            pairs += in_answer[..., np.newaxis, :]
            influence = pairs.reshape(np.shape(p))
            centre = means[0][..., np.newaxis] * slope
            centre = centre + (means[1] * in_truth).sum(-1, keepdims=True)
            influence -= centre + (means[2] * in_answer).sum(-1, keepdims=True)
            gradient = np.concatenate([slope, in_answer, in_truth], axis=-1)
            return Evaluation(np.asarray(value), influence, gradient)


class Correlation(_Agreement):
    """Matthews' correlation coefficient.

    The weight of a row is 1 if its true and its predicted label are equal, else 0.
    """

    def _value(self, mean: Array, truth: Array, answer: Array) -> tuple[Array, ...]:
        truth_variance, answer_variance = (
            np.asarray(divisor(1 - (shares * shares).sum(axis=-1), _ROUNDING))
            for shares in (truth, answer)
        )
        spread = np.sqrt(truth_variance * answer_variance)
        value, slope = (mean - (answer * truth).sum(axis=-1)) / spread, 1 / spread
        column = (..., np.newaxis)
        in_truth = (value / truth_variance)[column] * truth - slope[column] * answer
        in_answer = (value / answer_variance)[column] * answer - slope[column] * truth
        return value, slope, in_truth, in_answer


class Kappa(_Agreement):
    """Cohen's kappa: 1 minus the ratio of observed to expected disagreement.

    The expected disagreement is the mean disagreement if true and predicted labels were
    independent.
    """

    def _value(self, mean: Array, truth: Array, answer: Array) -> tuple[Array, ...]:
        in_answer, in_truth = truth @ self.weights, answer @ self.weights.T
        expected = divisor((in_answer * answer).sum(axis=-1), _ROUNDING)
        factor = (mean / expected**2)[..., np.newaxis]
        return 1 - mean / expected, -1 / expected, factor * in_truth, factor * in_answer


def disagreement(labels: int, present: Sequence[int], how: str | None) -> Array:
    """Return the disagreement of each true label with each predicted label.

    Equal labels have disagreement 0. For different labels, the disagreement is 1, the
    distance of the labels ("linear") or the squared distance ("quadratic"). To compute
    the distance, the labels that occur in the data are ranked. The distance is the
    difference between the two ranks. `present` contains the codes of the labels that
    occur.
    """
    position = np.zeros(labels)
    position[present] = np.arange(len(present))
    power = {None: 0, "linear": 1, "quadratic": 2}[how]
    distance = np.abs(np.subtract.outer(position, position)) ** power
    return np.where(np.eye(labels, dtype=bool), 0.0, distance)
