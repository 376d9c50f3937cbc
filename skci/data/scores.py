"""Scores of the rows of a sample, as they are or in bins that are fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skci._arrays import EPS, Array, cached_property, running_count


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
