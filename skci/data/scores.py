"""Scores of the rows of a sample, which may be in bins that are fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skci._arrays import EPS, Array, cached_property, running_count


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a model, sorted once for all that is computed from their order.

    They increase with the evidence for the positive class, or for each label: an array
    of shape (n,) or (n, labels). Those of bins are rounded to the middle of the range
    of the scores of each unit, so that units are counted and not rows.
    """

    values: Array
    eps: float = field(default=EPS, kw_only=True)
    """Rounding error of the type that the scores were given in."""
    edges: Array | None = None
    """Edges of bins, ascending, each the least score of a bin; there is one more bin
    below the first, and one from the last on."""
    ranges: Array | None = None
    """Least and greatest score of the rows of each unit, (2, n), where it is a bin."""

    @classmethod
    def of_ranges(cls, edges: Array | None, ranges: Array, eps: float) -> Scores:
        """Scores of units in bins from the range of the scores of their rows."""
        lowest, highest = ranges
        return cls(lowest + (highest - lowest) / 2, edges, ranges, eps=eps)

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
        return [self.values] if self.ranges is None else [*self.ranges]

    def among(self, rows: Any) -> Scores:
        """Scores of some of the rows."""
        if rows is ...:
            return self
        ranges = None if self.ranges is None else self.ranges[:, rows]
        return replace(self, values=self.values[rows], ranges=ranges)

    def joined(self, other: Scores) -> Scores:
        """Scores of these rows, and then of others in the same bins."""
        pairs = zip(self.extremes, other.extremes, strict=True)
        both, eps = [*map(np.concatenate, pairs)], max(self.eps, other.eps)
        if self.edges is None:
            return Scores(both[0], eps=eps)
        return self.of_ranges(self.edges, np.array(both), eps)

    def united(self, unit: Array, n_units: int) -> Scores:
        """Scores of united units; `unit` is the new number of each."""
        if self.edges is None:
            return self
        return self.of_ranges(self.edges, self._united(unit, n_units), self.eps)

    @cached_property
    def levels(self) -> Array:
        """What rows of the same level have in common: their score, or its bin."""
        if self.edges is None or self.ranges is None:
            return self.values
        bins = np.searchsorted(self.edges, self.ranges[0], side="right")
        return bins.astype(np.min_scalar_type(len(self.edges)))

    @cached_property
    def ranked(self) -> tuple[Array, Array]:
        """Order of the rows by level, and the rank of the level of each in this order.

        Ranks are dense, from 0 on.
        """
        order = np.argsort(self.levels)
        levels = self.levels[order]
        rises = np.append(False, levels[1:] != levels[:-1])
        return order, running_count(rises)

    @cached_property
    def mixed(self) -> Array:
        """Whether rows of each level, in the order of levels, have different scores."""
        order, ranks = self.ranked
        n_levels = ranks[-1] + 1
        if self.edges is None:
            return np.zeros(n_levels, dtype=bool)
        lowest, highest = self.among(order)._united(ranks, n_levels)
        return lowest < highest

    def _united(self, unit: Array, n_units: int) -> Array:
        """Least and greatest scores of units that are united."""
        ranges = np.full((2, n_units), [[np.inf], [-np.inf]])
        np.minimum.at(ranges[0], unit, self.extremes[0])
        np.maximum.at(ranges[1], unit, self.extremes[-1])
        return ranges
