"""Areas under the curves of a score, as functionals of weights on rows.

References
----------
DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under
two or more correlated receiver operating characteristic curves: a nonparametric
approach. Biometrics 44, 837-845.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.functional import Boundary, Evaluation, Functional, Support
from skci.measures.functions import EDGE


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a rule, sorted once for all that is computed from their order.

    They increase with the evidence for the positive class, or for each label: an array
    of shape (n,) or (n, labels).
    """

    values: Array

    @cached_property
    def columns(self) -> list[Scores]:
        """Scores for each of several labels."""
        return [Scores(column) for column in self.values.T]

    @cached_property
    def pooled(self) -> Scores:
        """Scores for several labels in one column, those of a row side by side."""
        return Scores(self.values.ravel())

    @property
    def extremes(self) -> list[Array]:
        """Scores between which those of the rows of each unit are."""
        return [self.values]

    @property
    def keys(self) -> list[Array]:
        """Numbers that rows of one unit have in common; none where units are rows."""
        return []

    def among(self, rows: Array) -> Scores:
        """Scores of some of the rows."""
        return self if rows.all() else Scores(self.values[rows])

    def joined(self, other: Scores) -> Scores:
        """Scores of these rows, and then of others."""
        return Scores(np.concatenate([self.values, other.values]))

    def united(self, unit: Array, n_units: int) -> Scores:
        """Scores of united units; `unit` is the new number of each."""
        return self

    @cached_property
    def ranked(self) -> tuple[int, Array]:
        """Number of distinct scores, and the rank of each row among them."""
        levels, ranks = np.unique(self.values, return_inverse=True)
        return len(levels), ranks


@dataclass(frozen=True, eq=False)
class _Area(Functional):
    """A functional of the order of scores within two classes.

    Its cells are the distinct scores, ascending, of the negative rows, then those of
    the positive ones.
    """

    levels: int
    """Number of distinct scores."""
    sizes: tuple[int, int]
    """Number of negative rows and of positive ones."""
    n_rows: int
    """Number of all rows, those of other labels included."""

    @property
    @abstractmethod
    def rarer_class(self) -> int:
        """Number of rows that the variance of the area is mainly estimated from."""

    @abstractmethod
    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        """Least and greatest value if rows of some levels are ordered in any way.

        `mixed` is whether the rows of a level may have different scores, (levels,).
        """

    @property
    def _gradient(self) -> Array:
        """Infinite where the variance within a class has one row to be estimated."""
        return np.array([1.0 if self.rarer_class > 1 else np.inf])

    def support(self, counts: Array) -> Support:
        positive = np.repeat([False, True], self.levels)
        return Support((positive, ~positive), self.rarer_class)

    def boundary(self, counts: Array) -> list[Boundary]:
        inside = EDGE < float(self.estimate(counts)) < 1 - EDGE
        return [] if inside or not self.rarer_class else [Boundary(1, self.rarer_class)]


class RocAuc(_Area):
    """Probability that a positive row has a greater score than a negative one.

    Ties count half. The influence values are placements, of a size that makes their
    common variance DeLong's.
    """

    @property
    def rarer_class(self) -> int:
        return min(self.sizes)

    def estimate(self, p: Array) -> Array:
        negative, positive = p.reshape(2, -1)
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            return np.asarray(positive @ _below(negative) / pairs)

    def __call__(self, p: Array) -> Evaluation:
        negative, positive = p.reshape(2, -1)
        negatives, positives = negative.sum(), positive.sum()
        below = _below(negative)
        with np.errstate(all="ignore"):
            value = positive @ below / (positives * negatives)
            rows, sizes = self.n_rows, np.array(self.sizes)
            # From a variance over all rows to one within each class.
            factors = np.sqrt(np.divide(sizes, sizes - 1) * (rows - 1) / rows)
            of_negative = 1 - value - _below(positive) / positives
            of_negative *= factors[0] / negatives
            of_positive = below / negatives - value
            of_positive *= factors[1] / positives
        influence = np.concatenate([of_negative, of_positive])
        return Evaluation(value, influence, self._gradient)

    def range_of_orders(self, p: Array, mixed: Array) -> tuple[float, float]:
        r"""Least and greatest value if rows of some levels are ordered in any way.

        A pair of a positive and a negative row of one level b counts one half, and 0 or
        1 if it is ordered; the other pairs are not affected. So the value is within

        .. math:: \frac{1}{2} \sum_b \frac{p_b n_b}{P N}

        of that with ties, p and n the masses of positive and negative rows.
        """
        negative, positive = p.reshape(2, -1)
        value = float(self.estimate(p))
        with np.errstate(all="ignore"):
            pairs = positive.sum() * negative.sum()
            reach = float((positive * mixed) @ negative / pairs) / 2
        return value - reach, value + reach


class AveragePrecision(_Area):
    """Mean over the positive rows of the precision at their scores."""

    @property
    def rarer_class(self) -> int:
        return self.sizes[1]

    def estimate(self, p: Array) -> Array:
        negative, positive = p.reshape(2, -1)
        hits, flagged = _from(positive), _from(positive + negative)
        with np.errstate(all="ignore"):
            precision = np.where(positive > 0, hits / flagged, 0)
            return np.asarray(positive @ precision / positive.sum())

    def __call__(self, p: Array) -> Evaluation:
        negative, positive = p.reshape(2, -1)
        hits, flagged = _from(positive), _from(positive + negative)
        with np.errstate(all="ignore"):
            precision = np.where(flagged > 0, hits / flagged, 0)
            share = np.where(flagged > 0, positive / flagged, 0)
            value = positive @ precision / positive.sum()
            # A row counts at its own score and at all below it.
            lowers = np.cumsum(share * precision)
            raises = precision - value + np.cumsum(share)
            influence = np.concatenate([-lowers, raises - lowers]) / positive.sum()
        return Evaluation(value, influence, self._gradient)

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
        negative, positive = p.reshape(2, -1)
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


def _below(mass: Array) -> Array:
    """Total mass of lower scores, and half of that of the same score."""
    total: Array = np.cumsum(mass, dtype=float)
    total -= mass / 2
    return total


def _from(mass: Array) -> Array:
    """Total mass of the same score or a greater one."""
    return np.cumsum(mass[::-1])[::-1]
