"""Measures of several classes: averages over them, and measures of all together.

A functional depends on three bits of a row for each class: whether the row is a true
positive, a false positive or a false negative of the class against the rest. Classes
are the labels of one target, or the targets of multilabel data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

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
    FunctionOfMeans,
    Support,
)
from skci.measures.functions import EDGE, divisor
from skci.measures.registry import Measure

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
    rows = np.flatnonzero(where & (columns >= 0))
    shape = (len(label), len(chosen))
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns[rows])), shape=shape)
    return matrix.toarray() if np.prod(shape) <= _DENSE else matrix


@dataclass(frozen=True, eq=False)
class Averaged(Functional):
    """An average over classes of a measure of each against the rest.

    "micro" is of the tables; "macro" of the values, equally weighted; "weighted" of the
    values, weighted by the true rows of each class, which are estimated as well. A
    class where the measure is undefined has the value `undefined_as`, or is left out if
    that is NaN; `undefined` are classes that are so whatever the weights are.
    """

    measure: Measure
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
        """Tables of which the measure is taken: of each class, or their mean."""
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

    sizes: Array
    """What the weights are means of, (m, components)."""

    def estimate(self, p: Array) -> Array:
        return self._mean(p, [component.estimate(p) for component in self.components])

    def __call__(self, p: Array) -> Evaluation:
        parts = [component(p) for component in self.components]
        values = np.array([part.estimate for part in parts])
        mean, shares = self._mean(p, values), self.slopes(p)
        counted = np.flatnonzero(shares)  # without a weight it may be undefined
        terms = [shares[k] * parts[k].influence for k in counted]
        gradients = [shares[k] * parts[k].gradient for k in counted]
        with np.errstate(invalid="ignore"):  # infinity less infinity is undefined
            moved = np.where(shares == 0, 0, values - mean) / (p @ self.sizes).sum()
            influence = self.sizes @ moved + np.sum(terms, axis=0)
        return Evaluation(mean, influence, np.concatenate(gradients))

    def slopes(self, p: Array) -> Array:
        sizes = p @ self.sizes
        with np.errstate(invalid="ignore"):
            return sizes / sizes.sum()

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
        classes = tuple(np.any(cells[self.cells], axis=1) for cells in support.classes)
        return replace(support, classes=classes)


class Hits(CellFunctional):
    """A function of the shares of right and wrong rows, as cells tp and fp."""

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = super().__call__(p)
        return Evaluation(estimate, influence, gradient[..., :1] / 2)


def _with_marginals(function: Any, weights: Array) -> FunctionOfMeans:
    """Make a function of both marginals and of the mean weight of pairs of labels."""
    labels = len(weights)
    truth, answer = np.indices(weights.shape).reshape(2, -1)
    marginals = (_one_hot(x, x >= 0, range(labels)) for x in (answer, truth))
    columns = [weights.reshape(-1, 1), *marginals]
    dense = not any(sparse.issparse(column) for column in columns)
    features = np.hstack(columns) if dense else sparse.hstack(columns, format="csr")
    return FunctionOfMeans(function, features)


def _split(means: Sequence[Array]) -> tuple[Array, Array]:
    """Return the predicted and the true marginal."""
    half = len(means) // 2
    return np.stack(means[:half], axis=-1), np.stack(means[half:], axis=-1)


def _correlation(right: Array, *shares: Array) -> Array:
    a, z = _split(shares)
    covariance = right - (a * z).sum(axis=-1)
    spread = (1 - (a * a).sum(axis=-1)) * (1 - (z * z).sum(axis=-1))
    return covariance / np.sqrt(divisor(spread, _ROUNDING))


def _kappa(disagreement: Array, *shares: Array, weights: Array) -> Array:
    a, z = _split(shares)
    expected = ((z @ weights) * a).sum(axis=-1)
    return 1 - disagreement / divisor(expected, _ROUNDING)


def correlation_of_classes(labels: int) -> FunctionOfMeans:
    """Correlation of the true and the predicted label, as of one-hot vectors."""
    return _with_marginals(_correlation, np.eye(labels))


def disagreement(labels: int, present: Sequence[int], how: str | None) -> Array:
    """Disagreement of each pair of labels: 1, their distance, or its square.

    Distances are in the order of the labels that occur, whose codes are `present`.
    """
    position = np.zeros(labels)
    position[present] = np.arange(len(present))
    power = {None: 0, "linear": 1, "quadratic": 2}[how]
    distance = np.abs(np.subtract.outer(position, position)) ** power
    return np.where(np.eye(labels, dtype=bool), 0.0, distance)


def kappa(weights: Array) -> FunctionOfMeans:
    """Cohen's kappa: 1 less disagreement over that of independent labels."""
    return _with_marginals(partial(_kappa, weights=weights), weights)
