"""Measures of several classes: averages over them, and measures of all together.

A functional depends on three bits of a row for each class: whether the row is a true
positive, a false positive or a false negative of the class against the rest. Classes
are the labels of one target, or the targets of multilabel data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.measures.functional import (
    Boundary,
    CellFunctional,
    Component,
    Composite,
    Evaluation,
    Functional,
    Support,
    divisor,
)
from skci.measures.traits import EDGE, Trait

AVERAGES = ("micro", "macro", "weighted")

_DENSE = 1 << 16  # up to this many entries a matrix is dense
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Bits:
    """Whether a cell is a true positive, false positive, false negative of a class.

    Matrices of shape (m, C), dense or sparse: 1 where it is.
    """

    tp: Any
    fp: Any
    fn: Any

    @classmethod
    @lru_cache(maxsize=4)
    def of_pairs(cls, labels: int, chosen: tuple[int | None, ...]) -> Bits:
        """Bits of all pairs of a true and a predicted label, of some of the labels.

        None is one that is in no pair.
        """
        truth, answer = np.indices((labels, labels)).reshape(2, -1)
        right = truth == answer
        pairs = ((truth, right), (answer, ~right), (truth, ~right))
        return cls(*(_one_hot(label, where, chosen) for label, where in pairs))

    @classmethod
    def of_targets(cls, truth: Array, answer: Array) -> Bits:
        """Bits of rows with several targets, bool arrays of shape (m, targets)."""
        columns = (truth & answer, answer & ~truth, truth & ~answer)
        return cls(*(column.astype(float) for column in columns))

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return int(self.tp.shape[1])

    def tables(self, p: Array) -> Array:
        """Cells of each class at weights p of shape (..., m): (..., C, 4)."""
        tp, fp, fn = (np.asarray(p @ bits) for bits in (self.tp, self.fp, self.fn))
        total = p.sum(axis=-1, keepdims=True)
        tn = total - tp - fp - fn
        tn = np.where(tn > _ROUNDING * total, tn, 0)
        return np.stack([tp, fp, fn, tn], axis=-1)

    def spread(self, gradient: Array) -> Array:
        """Turn derivatives in the moments of each class into those in p."""
        za, a, z = np.moveaxis(gradient, -1, 0)
        with np.errstate(invalid="ignore"):  # there may be none
            return (za + a + z) @ self.tp.T + a @ self.fp.T + z @ self.fn.T


def _one_hot(label: Array, where: Array, chosen: Sequence[int | None]) -> Any:
    """Indicators of the chosen labels, of shape (m, C), zero outside of `where`."""
    column = np.full(int(label.max()) + 1, -1)
    for k, code in enumerate(chosen):
        if code is not None:
            column[code] = k
    columns = column[label]
    is_one = where & (columns >= 0)
    starts = np.append(0, np.cumsum(is_one))
    shape = (len(label), len(chosen))
    ones = np.ones(starts[-1])
    matrix = sparse.csr_array((ones, columns[is_one], starts), shape=shape)
    return matrix.toarray() if np.prod(shape) <= _DENSE else matrix


@dataclass(frozen=True, eq=False)
class Averaged(Functional):
    """An average over classes of a measure of each against the rest.

    "micro" is of the tables; "macro" of the values, equally weighted; "weighted" of the
    values, weighted by the true rows of each class, which are estimated as well. A
    class where the measure is undefined has the value `undefined_as`, or is left out if
    that is NaN; `undefined` are classes that are so whatever the weights are.
    """

    compared_by: ClassVar[str] = "targets"

    measure: Trait
    average: str
    bits: Bits
    undefined_as: float = np.nan
    undefined: Array | bool = False

    def estimate(self, p: Array) -> Array:
        return self._mean(*self._classes(np.asarray(p, dtype=float))).value

    def at(self, counts: Array) -> Averaged:
        """Average of the classes that are defined at some counts."""
        return replace(self, undefined=np.isnan(self._classes(counts)[1]))

    def undefined_shares(self, counts: Array) -> Array:
        """Weight in the average of each class whose value is undefined, else 0."""
        tables, values = self._classes(counts)
        shares = self._mean(tables, np.zeros(values.shape)).shares
        return np.where(np.isnan(values), shares, 0.0)

    def extension(self, counts: Array) -> tuple[float, float]:
        """Extension of the interval for classes whose value is undefined."""
        share = float(self.undefined_shares(counts).sum())
        value = float(self.estimate(counts))
        if np.isnan(value) or not share:
            return 0.0, 0.0
        if np.isinf(value):
            return np.inf, np.inf
        low, high = self.measure.bounds
        value = value if np.isnan(self.undefined_as) else self.undefined_as
        return share * (value - low), share * (high - value)

    def without_true_rows(self, counts: Array) -> float:
        """Mean that is reported where no class has true rows, as in scikit-learn."""
        tp, _, fn, _ = np.moveaxis(self.bits.tables(counts), -1, 0)
        if (tp + fn).any():
            return np.nan
        return float(replace(self, average="macro").estimate(counts))

    def boundary(self, counts: Array) -> list[Boundary]:
        if self.measure.bounds != (0, 1):
            return []
        tables, values = self._classes(counts)
        shares = self._mean(tables, values).shares
        if self.average == "micro":
            tables = tables * self.bits.n_classes
        on_boundary = (values <= EDGE) | (values >= 1 - EDGE)
        return [
            Boundary(float(shares[k]), self._trials(tables[k]))
            for k in np.flatnonzero(on_boundary & (shares != 0))
        ]

    def _trials(self, table: Array) -> float:
        """Number of rows that the value of a class is estimated from."""
        if self.measure.proportion is not None:
            return self.measure.successes_and_trials(table)[1]
        return float(table[:3].sum())

    def __call__(self, p: Array) -> Evaluation:
        tables = self._tables(p)
        values, _, gradient = CellFunctional(self.measure.function)(tables)
        values = np.where(self.undefined, np.nan, values)
        value, shares, row_slopes = self._mean(tables, values)
        known = ~np.isnan(values)[..., np.newaxis]
        with np.errstate(all="ignore"):
            gradient = np.where(known, gradient * shares[..., np.newaxis], 0)
        gradient[..., 2] += row_slopes
        if self.average == "micro":  # moments are the sums over classes
            gradient = gradient / self.bits.n_classes
        shape = (*p.shape[:-1], self.bits.n_classes, 3)
        slopes = self.bits.spread(np.broadcast_to(gradient, shape))
        with np.errstate(invalid="ignore"):
            influence = slopes - (p * slopes).sum(axis=-1, keepdims=True)
        return Evaluation(value, influence, gradient.reshape(*gradient.shape[:-2], -1))

    def _classes(self, p: Array) -> tuple[Array, Array]:
        """Tables and values of the classes."""
        tables = self._tables(p)
        values = CellFunctional(self.measure.function).estimate(tables)
        return tables, np.where(self.undefined, np.nan, values)

    def _tables(self, p: Array) -> Array:
        """Tables that the measure reads: one for each class, or their mean."""
        tables = self.bits.tables(p)
        return tables.mean(-2, keepdims=True) if self.average == "micro" else tables

    def _mean(self, tables: Array, values: Array) -> _ClassMean:
        """Mean over classes of values of shape (..., C), leaving out those undefined.

        Where they are weighted, it is by their true rows, which are estimated as well.
        """
        tp, _, fn, _ = np.moveaxis(tables, -1, 0)
        weighted = self.average == "weighted"
        values = np.where(np.isnan(values), self.undefined_as, values)
        known = ~np.isnan(values)
        weights = np.where(known, tp + fn if weighted else 1.0, 0.0)
        total = weights.sum(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            shares = weights / total
            terms = np.where(shares > 0, values * shares, 0).sum(axis=-1)
            value = np.where(total[..., 0] > 0, terms, np.nan)
            slopes = (values - value[..., np.newaxis]) / total
        return _ClassMean(value, shares, np.where(known & weighted, slopes, 0))


class _ClassMean(NamedTuple):
    """A mean over classes of shape (...), and its derivatives of shape (..., C).

    They are in the values of the classes and in their true rows.
    """

    value: Array
    shares: Array
    row_slopes: Array


@dataclass(frozen=True, eq=False)
class WeightedMean(Composite):
    """Mean of functionals of the rows, one a column, whose weights are estimated too.

    They are means over the rows, as the shares of labels or the variances of targets.
    """

    compared_by: ClassVar[str] = "components"

    sizes: Any
    """What the weights are means of, an array or a sparse one, (m, components).

    Or of shape (m, 1) where all are equal.
    """

    def estimate(self, p: Array) -> Array:
        return self._mean(p, [component.estimate(p) for component in self.components])

    def __call__(self, p: Array) -> Evaluation:
        shares = self.slopes(p)
        influence, gradients, values = np.zeros(np.shape(p)), [], []
        with np.errstate(invalid="ignore"):  # infinity less infinity is undefined
            for share, component in zip(shares, self.components, strict=True):
                part = component(p)
                values.append(part.estimate)
                if share:  # without a weight it may be undefined
                    influence += share * part.influence
                    gradients.append(share * part.gradient)
            mean = self._mean(p, values)
            moved = np.where(shares == 0, 0, np.array(values) - mean)
            if self.sizes.shape[1] > 1:  # equal weights are not estimated
                influence += self.sizes @ (moved / (p @ self.sizes).sum())
        return Evaluation(mean, influence, np.concatenate(gradients))

    def support(self, counts: Array) -> Support:
        """Of all components, with each class once."""
        classes: dict[bytes, Array] = {}
        rarer: list[int] = []
        for component in self.components:
            found = component.support(counts)
            classes.update((cells.tobytes(), cells) for cells in found.classes)
            rarer += [found.rarer_class] if found.rarer_class else []
        return Support(tuple(classes.values()), min(rarer, default=0))

    def slopes(self, p: Array) -> Array:
        sizes = np.broadcast_to(p @ self.sizes, len(self.components))
        with np.errstate(invalid="ignore"):
            return np.asarray(sizes / sizes.sum())

    def _mean(self, p: Array, values: Any) -> Array:
        shares = self.slopes(p)
        return np.asarray(np.where(shares == 0, 0, shares * values).sum())


class Pooled(Component):
    """A functional of all pairs of a row and a column, whose cells are (m, columns)."""

    def table(self, p: Array) -> Array:
        weights = np.repeat(p, self.cells.shape[1])
        return np.bincount(self.cells.ravel(), weights, minlength=self.size)

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = self.functional(self.table(p))
        return Evaluation(estimate, influence[self.cells].sum(axis=1), gradient)

    def support(self, counts: Array) -> Support:
        support = self.functional.support(self.table(counts))
        return support.mapped(lambda cells: np.any(cells[self.cells], axis=1))


class Hits(CellFunctional):
    """A function of the shares of right and wrong rows, as cells tp and fp."""

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = super().__call__(p)
        return Evaluation(estimate, influence, gradient[..., :1] / 2)


class _Marginals(NamedTuple):
    """Mean weight of the pairs of a true and a predicted label, and both marginals.

    Or the derivatives in them. Of shapes (...), (..., C) and (..., C).
    """

    mean: Array
    truth: Array
    answer: Array


@dataclass(frozen=True, eq=False)
class _Agreement(Functional):
    """A smooth function of the mean weight of pairs of labels and of both marginals."""

    weights: Array
    """Of each pair of a true and a predicted label, (C, C)."""

    @abstractmethod
    def _value(self, means: _Marginals) -> Array:
        """Value of the function."""

    @abstractmethod
    def _slopes(self, means: _Marginals) -> _Marginals:
        """Derivatives of the function."""

    def __call__(self, p: Array) -> Evaluation:
        means = self._means(p)
        with np.errstate(all="ignore"):
            slopes = self._slopes(means)
            slope = slopes.mean[..., np.newaxis]
            pairs = slope[..., np.newaxis] * self.weights
            pairs += slopes.truth[..., :, np.newaxis]
            pairs += slopes.answer[..., np.newaxis, :]
            influence = pairs.reshape(np.shape(p))
            terms = zip(means, slopes, strict=True)
            mean, *marginals = (m * s for m, s in terms)
            centre = mean + sum(each.sum(axis=-1) for each in marginals)
            influence -= np.asarray(centre)[..., np.newaxis]
            gradient = np.concatenate([slope, slopes.answer, slopes.truth], axis=-1)
            return Evaluation(np.asarray(self._value(means)), influence, gradient)

    def _means(self, p: Array) -> _Marginals:
        shares = p / p.sum(axis=-1, keepdims=True)
        pairs = shares.reshape(*p.shape[:-1], *self.weights.shape)
        return _Marginals(
            shares @ self.weights.ravel(), pairs.sum(axis=-1), pairs.sum(axis=-2)
        )


class Correlation(_Agreement):
    """Correlation of one-hot vectors; the weights are 1 for a right answer, else 0."""

    def _value(self, means: _Marginals) -> Array:
        right, z, a = means
        variances = self._variance(a) * self._variance(z)
        return (right - (a * z).sum(axis=-1)) / np.sqrt(variances)

    def _slopes(self, means: _Marginals) -> _Marginals:
        _, z, a = means
        of_truth, of_answer = self._variance(z), self._variance(a)
        slope = 1 / np.sqrt(of_truth * of_answer)
        value = self._value(means)
        in_truth, in_answer = (
            (value / of_one)[..., np.newaxis] * one - slope[..., np.newaxis] * other
            for one, of_one, other in ((z, of_truth, a), (a, of_answer, z))
        )
        return _Marginals(slope, in_truth, in_answer)

    def _variance(self, shares: Array) -> Array:
        return np.asarray(divisor(1 - (shares * shares).sum(axis=-1), _ROUNDING))


class Kappa(_Agreement):
    """1 less disagreement, the mean weight, over that of independent labels."""

    def _value(self, means: _Marginals) -> Array:
        disagreement, z, a = means
        expected = ((z @ self.weights) * a).sum(axis=-1)
        return np.asarray(1 - disagreement / divisor(expected, _ROUNDING))

    def _slopes(self, means: _Marginals) -> _Marginals:
        disagreement, z, a = means
        of_answer, of_truth = z @ self.weights, a @ self.weights.T
        expected = divisor((of_answer * a).sum(axis=-1), _ROUNDING)
        factor = (disagreement / expected**2)[..., np.newaxis]
        return _Marginals(-1 / expected, factor * of_truth, factor * of_answer)


def disagreement(labels: int, present: Sequence[int], how: str | None) -> Array:
    """Disagreement of each pair of labels: 1, their distance, or its square.

    Distances are in the order of the labels that occur, whose codes are `present`.
    """
    position = np.zeros(labels)
    position[present] = np.arange(len(present))
    power = {None: 0, "linear": 1, "quadratic": 2}[how]
    distance = np.abs(np.subtract.outer(position, position)) ** power
    return np.where(np.eye(labels, dtype=bool), 0.0, distance)
