"""Scores in bins that are fixed beforehand, so that units are counted and not rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.areas import Scores


@dataclass(frozen=True, eq=False)
class BinnedScores(Scores):
    """Ranges of the scores of units whose rows are in one bin.

    Values are the middles of the ranges. There is one more bin below the first edge,
    and one from the last edge on.
    """

    edges: Array
    """Edges of the bins, ascending, each the least score of a bin."""
    lowest: Array
    """Least score of the rows of each unit."""
    highest: Array
    """Greatest score of the rows of each unit."""

    @classmethod
    def of(
        cls, edges: Array, lowest: Array, highest: Array, eps: float
    ) -> BinnedScores:
        """Scores of units from the range of the scores of their rows."""
        return cls(lowest + (highest - lowest) / 2, edges, lowest, highest, eps=eps)

    @cached_property
    def bins(self) -> Array:
        """Number of the bin of each unit."""
        numbers = np.searchsorted(self.edges, self.lowest, side="right")
        return numbers.astype(np.min_scalar_type(len(self.edges)))

    @property
    def extremes(self) -> list[Array]:
        return [self.lowest, self.highest]

    @property
    def keys(self) -> list[Array]:
        return [self.bins]

    def among(self, rows: Any) -> BinnedScores:
        if rows is ...:
            return self
        ends = self.lowest[rows], self.highest[rows]
        return self.of(self.edges, *ends, self.eps)

    def joined(self, other: Scores) -> BinnedScores:
        pairs = zip(self.extremes, other.extremes, strict=True)
        lowest, highest = map(np.concatenate, pairs)
        return self.of(self.edges, lowest, highest, max(self.eps, other.eps))

    def united(self, unit: Array, n_units: int) -> BinnedScores:
        return self.of(self.edges, *self._ranges(unit, n_units), self.eps)

    @property
    def levels(self) -> Array:
        """What units of the same level have in common: their bin."""
        return self.bins

    @cached_property
    def mixed(self) -> Array:
        """Whether rows in each of the occupied bins have different scores."""
        order, ranks = self.ranked
        lowest, highest = self.among(order)._ranges(ranks, ranks[-1] + 1)
        return lowest < highest

    def _ranges(self, unit: Array, n_units: int) -> tuple[Array, Array]:
        """Least and greatest scores of units that are united."""
        lowest = np.full(n_units, np.inf)
        highest = np.full(n_units, -np.inf)
        np.minimum.at(lowest, unit, self.lowest)
        np.maximum.at(highest, unit, self.highest)
        return lowest, highest
