"""Areas under the curves of a score, as functionals of weights on rows.

References
----------
DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under
two or more correlated receiver operating characteristic curves: a nonparametric
approach. Biometrics 44, 837-845.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skci._arrays import EPS, Array, cached_property, dot, running_count
from skci.measures.functional import Boundary, Evaluation, Functional, Support
from skci.measures.functions import EDGE


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a model, sorted once for all that is computed from their order.

    They increase with the evidence for the positive class, or for each label: an array
    of shape (n,) or (n, labels).
    """

    values: Array
    eps: float = field(default=EPS, kw_only=True)
    """Rounding error of the type that the scores were given in."""

    @cached_property
    def columns(self) -> list[Scores]:
        """Scores for each of several labels."""
        return [replace(self, values=column) for column in self.values.T]

    @cached_property
    def pooled(self) -> Scores:
        """Scores for several labels in one column, those of a row side by side."""
        return replace(self, values=self.values.ravel())

    @property
    def extremes(self) -> list[Array]:
        """Scores between which those of the rows of each unit are."""
        return [self.values]

    @property
    def keys(self) -> list[Array]:
        """Numbers that rows of one unit have in common; none where units are rows."""
        return []

    def among(self, rows: Any) -> Scores:
        """Scores of some of the rows."""
        return self if rows is ... else replace(self, values=self.values[rows])

    def joined(self, other: Scores) -> Scores:
        """Scores of these rows, and then of others."""
        values = np.concatenate([self.values, other.values])
        return Scores(values, eps=max(self.eps, other.eps))

    def united(self, unit: Array, n_units: int) -> Scores:
        """Scores of united units; `unit` is the new number of each."""
        return self

    @property
    def levels(self) -> Array:
        """What rows of the same level have in common: their score."""
        return self.values

    @cached_property
    def ranked(self) -> tuple[Array, Array]:
        """Order of the rows by level, and the rank of the level of each in this order.

        Ranks are dense, from 0 on.
        """
        order = np.argsort(self.levels)
        levels = self.levels[order]
        rises = np.append(False, levels[1:] != levels[:-1])
        return order, running_count(rises)


class ShareOfPairs(Functional):
    """A share of pairs of rows of two classes that are in order."""

    @property
    @abstractmethod
    def rarer_class(self) -> int:
        """Number of rows that the variance is mainly estimated from."""

    @property
    @abstractmethod
    def _classes(self) -> tuple[Array, ...]:
        """Cells of the rows on either side of the pairs."""

    @property
    def _gradient(self) -> Array:
        """Infinite where the variance within a class has one row to be estimated."""
        return np.array([1.0 if self.rarer_class > 1 else np.inf])

    def support(self, counts: Array) -> Support:
        return Support(self._classes, self.rarer_class)

    def boundary(self, counts: Array) -> list[Boundary]:
        inside = EDGE < float(self.estimate(counts)) < 1 - EDGE
        return [] if inside or not self.rarer_class else [Boundary(1, self.rarer_class)]


@dataclass(frozen=True, eq=False)
class _Area(ShareOfPairs):
    """A functional of the order of scores within two classes.

    Its cells are the scores that occur in each class, ascending; of one that occurs in
    both, that of the negative rows is first.
    """

    positive: Array
    """Whether each cell is of positive rows."""
    level: Array
    """Number of its score among the distinct ones."""
    sizes: tuple[int, int]
    """Number of negative rows and of positive ones."""
    n_rows: int
    """Number of all rows, those of other labels included."""

    @property
    def _classes(self) -> tuple[Array, ...]:
        return self.positive, ~self.positive

    @abstractmethod
    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        """Least and greatest value if rows of some levels are ordered in any way.

        `mixed` is whether the rows of a level may have different scores, (levels,).
        """

    @cached_property
    def _tied(self) -> tuple[Array, Array]:
        """Cells of the negative rows and of the positive ones of scores of both."""
        first = np.flatnonzero(self.level[1:] == self.level[:-1])
        return first, first + 1

    def _masses(self, p: Array) -> tuple[Array, Array]:
        """Weights of the cells of negative rows, and of those of positive ones."""
        positive = p * self.positive
        return p - positive, positive

    def _by_level(self, p: Array) -> Array:
        """Weights of negative and of positive rows of each score, (2, levels)."""
        size = self.level[-1] + 1
        classes = (np.bincount(self.level, mass, size) for mass in self._masses(p))
        return np.stack([*classes])


class RocAuc(_Area):
    """Probability that a positive row has a greater score than a negative one.

    Ties count half. The influence values are placements, of a size that makes their
    common variance DeLong's.
    """

    @property
    def rarer_class(self) -> int:
        return min(self.sizes)

    def estimate(self, p: Array) -> Array:
        negative, positive = self._masses(p)
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            return np.asarray(dot(positive, self._below(negative)) / pairs)

    def __call__(self, p: Array) -> Evaluation:
        negative, positive = self._masses(p)
        negatives, positives = negative.sum(), positive.sum()
        below = self._below(negative)
        with np.errstate(all="ignore"):
            value = np.asarray(dot(positive, below) / (positives * negatives))
            rows, sizes = self.n_rows, np.array(self.sizes)
            # From a variance over all rows to one within each class.
            factors = np.sqrt(np.divide(sizes, sizes - 1) * (rows - 1) / rows)
            of_negative = self._below(positive)
            of_negative /= positives
            np.subtract(1 - value, of_negative, out=of_negative)
            of_negative *= factors[0] / negatives
            of_positive = below
            of_positive /= negatives
            of_positive -= value
            of_positive *= factors[1] / positives
        influence = np.where(self.positive, of_positive, of_negative)
        return Evaluation(value, influence, self._gradient)

    def _below(self, mass: Array) -> Array:
        """Mass of a class with lower scores than a cell of the other one.

        And half of that of the same score.
        """
        total = np.cumsum(mass, dtype=float)
        first, second = self._tied
        total[second] -= mass[first] / 2
        total[first] += mass[second] / 2
        return total

    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        r"""Least and greatest value if rows of some levels are ordered in any way.

        A pair of a positive and a negative row of one level b counts one half, and 0 or
        1 if it is ordered; the other pairs are not affected. So the value is within

        .. math:: \frac{1}{2} \sum_b \frac{p_b n_b}{P N}

        of that with ties, p and n the masses of positive and negative rows.
        """
        negative, positive = self._by_level(p)
        value = float(self.estimate(p))
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            reach = float((positive * mixed) @ negative / pairs) / 2
        return value - reach, value + reach


@dataclass(frozen=True, eq=False)
class AveragePrecision(_Area):
    """Mean over the positive rows of the precision at their scores."""

    n_missed: int = 0
    """Number of the first cells whose rows have no score: precision there is 0."""

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
        """Mean precision of the positive mass, and influence values of the cells."""
        with np.errstate(all="ignore"):
            value = np.asarray(dot(positive, precision) / positive.sum())
            # A row counts at its own score and at all below it.
            lowers = self._to(share * precision)
            raises = precision - value + self._to(share)
            influence = np.where(self.positive, raises - lowers, -lowers)
            influence /= positive.sum()
        return value, influence

    def _curve(self, p: Array) -> tuple[Array, Array, Array]:
        """Positive mass, the precision, and the mass over all from the score on."""
        _, positive = self._masses(p)
        hits, flagged = self._from(positive), self._from(p)
        flagged[: self.n_missed] = np.inf
        with np.errstate(all="ignore"):
            flagged = np.where(flagged > 0, flagged, np.inf)
            return positive, hits / flagged, positive / flagged

    def _from(self, mass: Array) -> Array:
        """Total mass of the same score or a greater one."""
        total = _from(mass)
        first, second = self._tied
        total[second] = total[first]
        return total

    def _to(self, mass: Array) -> Array:
        """Total mass of the same score or a lower one."""
        total = np.cumsum(mass)
        first, second = self._tied
        total[first] = total[second]
        return total

    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        r"""Least and greatest value if rows of some levels are ordered in any way.

        Let H of the F rows above a level be positive, and p and n rows of the level be
        positive and negative. The precision at a positive row of the level that has s
        positive rows and t negative ones of the level at or above it is
        :math:`(H + s) / (F + s + t)`, which is at most :math:`(H + p) / (F + p)` and at
        least :math:`(H + s) / (F + n + s)`. Over the positive rows, of which the mass s
        increases up to p, the latter add up to at least

        .. math:: \int_0^p \frac{H + s}{F + n + s} ds
            = p - (F + n - H) \log \Bigl(1 + \frac{p}{F + n}\Bigr) .

        Precisions at other levels are not affected.
        """
        negative, positive = self._by_level(p)
        hits, flagged = _from(positive), _from(positive + negative)
        above = flagged - positive  # with the negative rows of the level
        with np.errstate(all="ignore"):
            tied = positive * np.where(positive > 0, hits / flagged, 0)
            greatest = positive * hits / (flagged - negative)
            least = positive - (flagged - hits) * np.log1p(positive / above)
            least = np.where(above > 0, least, positive)
            reach = np.where(mixed & (positive > 0), [least - tied, greatest - tied], 0)
            ends = self.estimate(p) + reach.sum(axis=1) / positive.sum()
        low, high = ends.tolist()
        return low, high


@dataclass(frozen=True, eq=False)
class InterpolatedPrecision(AveragePrecision):
    """Mean of the interpolated precision at the 101 recalls 0, .01, ..., 1, as in COCO.

    The interpolated precision at a recall is the greatest at any that is as great or
    greater, and 0 beyond those that are reached. Influence values are those of its mean
    over the positive rows, of which the mean over the 101 recalls is an approximation.
    """

    def estimate(self, p: Array) -> Array:
        positive, precision, _ = self._curve(p)
        with np.errstate(all="ignore"):
            reached = self._from(positive)
            recall = reached / reached[0]  # 1 at the end, whatever the rounding
        if np.isnan(recall).any():
            return np.asarray(np.nan)
        found = slice(self.n_missed, None)
        best = np.maximum.accumulate(precision)[found][::-1]
        first = np.searchsorted(recall[found][::-1], _RECALLS)
        return np.append(best, 0)[first].mean()

    def __call__(self, p: Array) -> Evaluation:
        positive, precision, _ = self._curve(p)
        with np.errstate(all="ignore"):
            best = np.maximum.accumulate(precision)
            # The cell whose precision is that of each cell, and their positive mass.
            rises = np.append(True, best[1:] > best[:-1])
            source = np.maximum.accumulate(np.where(rises, np.arange(len(p)), 0))
            mass = np.bincount(source, positive * (best > 0), len(p))
            flagged = self._from(p)
            share = np.where(flagged > 0, mass / flagged, 0)
        _, influence = self._mean(positive, best, share)
        return Evaluation(self.estimate(p), influence, self._gradient)


_RECALLS = np.linspace(0, 1, 101)


def _from(mass: Array) -> Array:
    """Total mass of the same score or a greater one."""
    return np.cumsum(mass[::-1])[::-1]
