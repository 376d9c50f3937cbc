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

    def among(self, rows: Array) -> Scores:
        """Scores of some of the rows."""
        return self if rows.all() else Scores(self.values[rows])

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


def _below(mass: Array) -> Array:
    """Total mass of lower scores, and half of that of the same score."""
    total: Array = np.cumsum(mass, dtype=float)
    total -= mass / 2
    return total


def _from(mass: Array) -> Array:
    """Total mass of the same score or a greater one."""
    return np.cumsum(mass[::-1])[::-1]
