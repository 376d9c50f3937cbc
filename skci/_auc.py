"""Areas under the curves of a score, as functionals of weights on rows.

References
----------
DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under
two or more correlated receiver operating characteristic curves: a nonparametric
approach. Biometrics 44, 837-845.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skci._functionals import Evaluation

__all__ = ["AveragePrecision", "RocAuc"]

Array = NDArray[Any]


class _Scored:
    """A functional of the order of scores within two classes.

    Parameters
    ----------
    positive : bool array of shape (n,)
    scores : array of shape (n,)
        Greater for what is rather positive.
    name : hashable
        Name of the one moment that it is said to be a function of.
    """

    def __init__(self, positive: Array, scores: Array, name: Any) -> None:
        self.positive = positive
        _, self._rank = np.unique(scores, return_inverse=True)
        self._levels = int(self._rank.max()) + 1
        self.moments = (name,)

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Number of positive rows and of negative ones."""
        positives = int(np.count_nonzero(self.positive))
        return positives, len(self.positive) - positives

    def estimate(self, p: Array) -> Array:
        """Value at weights p of shape (n,); NaN without rows of either class."""
        raise NotImplementedError

    def _masses(self, p: Array) -> tuple[Array, Array]:
        """Weights of the positive and of the negative rows at each score, ascending."""
        positive, negative = (
            np.bincount(self._rank[own], p[own], minlength=self._levels)
            for own in (self.positive, ~self.positive)
        )
        return positive, negative


class RocAuc(_Scored):
    """Probability that a positive row has a greater score than a negative one.

    Ties count half. The influence values are placements, of a size that makes their
    common variance DeLong's.
    """

    @property
    def rarest(self) -> int:
        """Rows of the rarer class."""
        return min(self.sizes)

    def estimate(self, p: Array) -> Array:
        positive, negative = self._masses(p)
        pairs = positive.sum() * negative.sum()
        with np.errstate(all="ignore"):
            value: Array = positive @ _below(negative) / pairs
        return value

    def __call__(self, p: Array) -> Evaluation:
        positive, negative = self._masses(p)
        positives, negatives = positive.sum(), negative.sum()
        with np.errstate(all="ignore"):
            value = positive @ _below(negative) / (positives * negatives)
            of_positive = (_below(negative) / negatives - value) / positives
            of_negative = (1 - _below(positive) / positives - value) / negatives
            grown, shrunk = (self._growth(size) for size in self.sizes)
            influence = np.where(
                self.positive,
                grown * of_positive[self._rank],
                shrunk * of_negative[self._rank],
            )
        # One row of a class tells nothing of a variance within it.
        slope = 1.0 if self.rarest > 1 else np.inf
        return Evaluation(value, influence, np.array([slope]))

    def _growth(self, size: int) -> float:
        """From a variance over all rows to one within a class."""
        rows = len(self.positive)
        return float(np.sqrt(np.divide(size, size - 1) * (rows - 1) / rows))


class AveragePrecision(_Scored):
    """Mean over the positive rows of the precision at their scores."""

    @property
    def rarest(self) -> int:
        """Positive rows."""
        return self.sizes[0]

    def estimate(self, p: Array) -> Array:
        positive, negative = self._masses(p)
        hits, flagged = _from(positive), _from(positive + negative)
        with np.errstate(all="ignore"):
            precision = np.where(positive > 0, hits / flagged, 0)
            value: Array = positive @ precision / positive.sum()
        return value

    def __call__(self, p: Array) -> Evaluation:
        positive, negative = self._masses(p)
        hits, flagged = _from(positive), _from(positive + negative)
        with np.errstate(all="ignore"):
            precision = np.where(flagged > 0, hits / flagged, 0)
            share = np.where(flagged > 0, positive / flagged, 0)
            value = positive @ precision / positive.sum()
            # A row counts at its own score and at all below it.
            lowers = np.cumsum(share * precision)
            raises = precision - value + np.cumsum(share)
            of_row = np.where(self.positive, raises[self._rank], 0)
            influence = (of_row - lowers[self._rank]) / positive.sum()
        # One positive row tells nothing of how others vary.
        slope = 1.0 if self.rarest > 1 else np.inf
        return Evaluation(value, influence, np.array([slope]))


def _below(mass: Array) -> Array:
    """Total of what has a lower score, and half of what has the same."""
    total: Array = np.cumsum(mass) - mass / 2
    return total


def _from(mass: Array) -> Array:
    """Total of what has the same score or a greater one."""
    total: Array = np.cumsum(mass[::-1])[::-1]
    return total
