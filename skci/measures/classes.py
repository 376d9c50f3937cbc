"""Measures of several classes: averages over them, and measures of all together.

What a functional sees of a row are three bits for each class: whether the row is a true
positive, a false positive or a false negative of the class against the rest. Classes
are the labels of one target, or the targets of multilabel data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
    Support,
)
from skci.measures.means import FunctionOfMeans, divisor
from skci.measures.registry import EDGE, Measure

__all__ = [
    "AVERAGES",
    "Averaged",
    "Bits",
    "Hits",
    "Mean",
    "OneVsRest",
    "correlation_of_classes",
    "disagreement",
    "kappa",
    "mean_of_classes",
]


AVERAGES = ("micro", "macro", "weighted")

# Up to this many entries bits are kept in a dense matrix, of which many tables can be
# made at once.
_DENSE = 1 << 16


@dataclass(frozen=True, eq=False)
class Bits:
    """What each own cell is for each class.

    Parameters
    ----------
    tp, fp, fn : matrices of shape (m, C)
        1 where a cell is a true positive, a false positive, a false negative of a
        class; dense or sparse.
    """

    tp: Any
    fp: Any
    fn: Any

    @classmethod
    def of_pairs(cls, labels: int, chosen: Sequence[int]) -> Bits:
        """Bits of all pairs of a true and a predicted label, of some of the labels."""
        truth, answer = np.indices((labels, labels)).reshape(2, -1)
        right = truth == answer
        return cls(
            *(
                _one_hot(*each, chosen)
                for each in ((truth, right), (answer, ~right), (truth, ~right))
            )
        )

    @classmethod
    def of_targets(cls, truth: Array, answer: Array) -> Bits:
        """Bits of rows with several targets, bool arrays of shape (m, targets)."""
        pairs = (truth & answer, answer & ~truth, truth & ~answer)
        return cls(*(own.astype(float) for own in pairs))

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return int(self.tp.shape[1])

    def tables(self, p: Array) -> Array:
        """Cells of each class at weights p of shape (..., m): (..., C, 4)."""
        tp, fp, fn = (np.asarray(p @ own) for own in (self.tp, self.fp, self.fn))
        total = p.sum(axis=-1, keepdims=True)
        tn = total - tp - fp - fn
        tn = np.where(tn > _ROUNDING * total, tn, 0)
        return np.stack([tp, fp, fn, tn], axis=-1)

    def spread(self, gradient: Array) -> Array:
        """From derivatives in the moments of each class to those in p."""
        za, a, z = np.moveaxis(gradient, -1, 0)
        bits = ((self.tp, za + a + z), (self.fp, a), (self.fn, z))
        total: Array = sum(slope @ own.T for own, slope in bits)
        return total


_ROUNDING = 1e-14


def _one_hot(label: Array, where: Array, chosen: Sequence[int]) -> Any:
    """Write 1 in the column of the label of each cell where something holds."""
    column = np.full(int(label.max()) + 1, -1)
    column[list(chosen)] = np.arange(len(chosen))
    own = column[label]
    rows = np.flatnonzero(where & (own >= 0))
    shape = (len(label), len(chosen))
    ones = np.ones(len(rows))
    matrix = sparse.csr_array((ones, (rows, own[rows])), shape=shape)
    return matrix.toarray() if np.prod(shape) <= _DENSE else matrix


class Averaged(Functional):
    """An average over classes of a measure of each against the rest.

    Parameters
    ----------
    measure : Measure
    average : {"micro", "macro", "weighted"}
        Of the tables; of the values, all classes alike; of the values by the true rows
        of each class, a share that is estimated as well.
    bits : Bits
    undefined_as : float
        What a class counts as where its value is undefined; it is left out if NaN.
    undefined : bool array of shape (C,), optional
        Classes that are undefined whatever the weights are.
    """

    def __init__(
        self,
        measure: Measure,
        average: str,
        bits: Bits,
        undefined_as: float = np.nan,
        undefined: Array | None = None,
    ) -> None:
        self._measure = measure
        self._one = CellFunctional(measure.function)
        self._undefined = undefined
        self._average = average
        self._bits = bits
        self._undefined_as = undefined_as

    def estimate(self, p: Array) -> Array:
        """Value at weights p; NaN where it is undefined for all classes."""
        tables = self._tables(np.asarray(p, dtype=float))
        return self._mean(tables, self._values(self._one.estimate(tables))).value

    def at(self, counts: Array) -> Averaged:
        """Return the average of what is defined at some counts."""
        undefined = np.isnan(self._one.estimate(self._tables(counts)))
        if not undefined.any():
            return self
        own = (self._measure, self._average, self._bits, self._undefined_as)
        return Averaged(*own, undefined)

    def left_open(self, counts: Array) -> float:
        """Share in the average of the classes whose value is undefined."""
        tables = self._tables(counts)
        undefined = np.isnan(self._one.estimate(tables))
        shares = self._mean(tables, np.zeros(undefined.shape)).shares
        return float(shares[undefined].sum())

    def boundary(self, counts: Array) -> list[Boundary]:
        if self._measure.bounds != (0, 1):
            return []
        tables = self._tables(counts)
        values = self._values(self._one.estimate(tables))
        shares = self._mean(tables, values).shares
        if self._average == "micro":
            tables = tables * self._bits.n_classes
        at_end = np.flatnonzero((values <= EDGE) | (values >= 1 - EDGE))
        found = [Boundary(float(shares[k]), self._trials(tables[k])) for k in at_end]
        return [each for each in found if each.slope]

    def support(self, counts: Array) -> Support:
        tables = self._bits.tables(counts)
        if self._average == "micro":
            tables = tables.sum(axis=-2)
        tp, fp, fn, _ = np.moveaxis(tables, -1, 0)
        return Support(events=float(np.minimum(tp, fp + fn).min()))

    def _trials(self, table: Array) -> float:
        """Count the rows that tell of a class."""
        if self._measure.proportion is not None:
            return self._measure.successes_and_trials(table)[1]
        return float(table[:3].sum())

    def _values(self, values: Array) -> Array:
        """Mark what is undefined whatever the weights are."""
        if self._undefined is None:
            return values
        return np.where(self._undefined, np.nan, values)

    def __call__(self, p: Array) -> Evaluation:
        """Value, influence values and gradient in the moments of each class."""
        tables = self._tables(p)
        values, _, gradient = self._one(tables)
        values = self._values(values)
        value, shares, more = self._mean(tables, values)
        known = ~np.isnan(values)[..., np.newaxis]
        with np.errstate(all="ignore"):
            gradient = np.where(known, gradient * shares[..., np.newaxis], 0)
        gradient[..., 2] += more
        if self._average == "micro":  # moments are the sums over classes
            gradient = gradient / self._bits.n_classes
        every = (*p.shape[:-1], self._bits.n_classes, 3)
        slopes = self._bits.spread(np.broadcast_to(gradient, every))
        influence = slopes - (p * slopes).sum(axis=-1, keepdims=True)
        return Evaluation(value, influence, gradient.reshape(*gradient.shape[:-2], -1))

    def _tables(self, p: Array) -> Array:
        """Tables to take the values of: of each class, or their mean."""
        tables = self._bits.tables(p)
        return tables.mean(-2, keepdims=True) if self._average == "micro" else tables

    def _mean(self, tables: Array, values: Array) -> Mean:
        """Mean of the values of classes, with those of undefined ones filled in."""
        tp, _, fn, _ = np.moveaxis(tables, -1, 0)
        filled = np.where(np.isnan(values), self._undefined_as, values)
        return mean_of_classes(filled, tp + fn if self._average == "weighted" else None)


class Mean(NamedTuple):
    """A mean over classes and what it depends on, arrays of shape (..., C)."""

    value: Array
    """Of shape (...)."""
    shares: Array
    """Derivatives in the values of the classes."""
    more: Array
    """Derivatives in the rows of the classes."""


def mean_of_classes(values: Array, rows: Array | None) -> Mean:
    """Average values over classes, leaving out those that are NaN.

    Parameters
    ----------
    values : array of shape (..., C)
    rows : array of shape (..., C), optional
        Weights of the classes, which are estimated as well; the same for all if not
        given.
    """
    known = ~np.isnan(values)
    weights = np.where(known, 1.0 if rows is None else rows, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        shares = weights / total
        terms = np.where(shares > 0, values * shares, 0).sum(axis=-1)
        value = np.where(total[..., 0] > 0, terms, np.nan)
        more = np.zeros(shares.shape)
        if rows is not None:
            more = np.where(known, (values - value[..., np.newaxis]) / total, 0)
    return Mean(value, shares, more)


class OneVsRest(Composite):
    """Mean over labels of an area under the curve of each against the rest.

    Parameters
    ----------
    components : sequence of Component
        The area of each label.
    truth : array of shape (n,)
        Code of the true label of each row.
    weighted : bool
        Whether labels are weighted by their number of rows, which is estimated too.
    """

    def __init__(
        self, components: Sequence[Component], truth: Array, weighted: bool
    ) -> None:
        super().__init__(components)
        self._truth = truth
        self._weighted = weighted

    def estimate(self, p: Array) -> Array:
        values = np.array([component.estimate(p) for component in self.components])
        return np.asarray(self.slopes(p) @ values)

    def __call__(self, p: Array) -> Evaluation:
        each = [component(p) for component in self.components]
        values = np.array([area.estimate for area in each])
        _, shares, more = mean_of_classes(values, self._prevalences(p))
        influence = more[self._truth]
        for area, share in zip(each, shares.tolist(), strict=True):
            influence += share * area.influence
        gradient = np.concatenate(
            [share * area.gradient for area, share in zip(each, shares, strict=True)]
        )
        return Evaluation(shares @ values, influence, gradient)

    def slopes(self, p: Array) -> Array:
        values = np.zeros(len(self.components))
        return mean_of_classes(values, self._prevalences(p)).shares

    def _prevalences(self, p: Array) -> Array | None:
        """Shares of the labels; None where all labels count alike."""
        if not self._weighted:
            return None
        return np.bincount(self._truth, p, minlength=len(self.components)) / p.sum()


class Hits(CellFunctional):
    """A function of what is right and wrong alone, as cells tp and fp."""

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = super().__call__(p)
        return Evaluation(estimate, influence, gradient[..., :1] / 2)


# --------------------------------------------------------------------------------------
# Measures of all classes together, of the share of agreement and both marginals
# --------------------------------------------------------------------------------------


def _with_marginals(function: Any, agreement: Array, labels: int) -> FunctionOfMeans:
    """Make a function of the mean of some values of pairs and of both marginals."""
    truth, answer = np.indices((labels, labels)).reshape(2, -1)
    every = range(labels)
    anywhere = np.ones(len(truth), dtype=bool)
    columns = [
        agreement.reshape(-1, 1),
        _one_hot(answer, anywhere, every),
        _one_hot(truth, anywhere, every),
    ]
    dense = not any(sparse.issparse(column) for column in columns)
    features = np.hstack(columns) if dense else sparse.hstack(columns, format="csr")
    return FunctionOfMeans(function, features)


def _split(means: Sequence[Array]) -> tuple[Array, Array]:
    """Collect the predicted and the true marginal."""
    half = len(means) // 2
    return np.stack(means[:half], axis=-1), np.stack(means[half:], axis=-1)


def _correlation(right: Array, *shares: Array) -> Array:
    a, z = _split(shares)
    covariance = right - (a * z).sum(axis=-1)
    spread = (1 - (a * a).sum(axis=-1)) * (1 - (z * z).sum(axis=-1))
    value: Array = covariance / np.sqrt(divisor(spread, _ROUNDING))
    return value


def _kappa(disagreement: Array, *shares: Array, weights: Array) -> Array:
    a, z = _split(shares)
    expected = ((z @ weights) * a).sum(axis=-1)
    value: Array = 1 - disagreement / divisor(expected, _ROUNDING)
    return value


def correlation_of_classes(labels: int) -> FunctionOfMeans:
    """Correlation of the true and the predicted label, as of one-hot vectors."""
    return _with_marginals(_correlation, np.eye(labels), labels)


def disagreement(labels: int, present: Sequence[int], how: str | None) -> Array:
    """How much each pair of labels disagrees: 1, by their distance, or its square.

    Distances are in the order of the labels that occur, whose codes are `present`.
    """
    place = np.zeros(labels)
    place[present] = np.arange(len(present))
    power = {None: 0, "linear": 1, "quadratic": 2}[how]
    distance = np.abs(np.subtract.outer(place, place)) ** power
    return np.where(np.eye(labels, dtype=bool), 0.0, distance)


def kappa(weights: Array) -> FunctionOfMeans:
    """Cohen's kappa: 1 less disagreement over that of independent labels."""
    return _with_marginals(partial(_kappa, weights=weights), weights, len(weights))
