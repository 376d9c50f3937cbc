"""Measures of rankings: a value of each query, from the order of its documents.

Ties are averaged over their orders in closed form: what a measure takes of a position,
it takes of a tied document in the mean over the positions of its ties.

References
----------
McSherry and Najork (2008). Computing information retrieval performance measures
efficiently in the presence of tied scores. ECIR, 414-421.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property


@dataclass(frozen=True, eq=False)
class Rankings:
    """Documents of some queries, those of a query side by side in descending order.

    Documents without a score were not retrieved, and come last.
    """

    order: Array
    """Row of each document, shape (n,)."""
    query: Array
    """Number of its query, ascending from 0 on."""
    found: Array
    """Whether it was retrieved."""
    tie: Array
    """Number of the set of documents that it is tied with, ascending from 0 on."""

    @classmethod
    def of(cls, query: Array, scores: Array, averages_ties: bool = True) -> Rankings:
        """Sort rows by query and score; ties by row, unless they are averaged."""
        found = ~np.isnan(scores)
        scores = np.where(found, scores, 0)
        order = np.lexsort((-scores, ~found, query))
        columns = query[order], found[order], scores[order]
        starts = np.ones(len(order), dtype=bool)
        if averages_ties:
            differs = [column[1:] != column[:-1] for column in columns]
            starts[1:] = np.any(differs, axis=0)
        return cls(order, *columns[:2], np.cumsum(starts) - 1)

    @cached_property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query[-1]) + 1

    @cached_property
    def sizes(self) -> Array:
        """Number of documents of each query."""
        return np.bincount(self.query)

    @cached_property
    def position(self) -> Array:
        """Number of documents of the query before each one."""
        return self._within(np.arange(len(self.order)))

    def _within(self, values: Array) -> Array:
        """Running values, less that at the first document of the query."""
        starts = np.cumsum(self.sizes) - self.sizes
        return values - values[starts][self.query]

    @cached_property
    def _tied(self) -> tuple[Array, Array, Array]:
        """First document, query and number of documents of each set of ties."""
        first = np.flatnonzero(np.diff(self.tie, prepend=-1))
        return first, self.query[first], np.bincount(self.tie)

    @property
    def before(self) -> Array:
        """Number of documents of the query before each set of ties."""
        return self.position[self._tied[0]]

    def sums(self, values: Array) -> Array:
        """Sum values of the documents over each query."""
        return np.bincount(self.query, values, self.n_queries)

    def gain(self, gains: Array, discounts: Array) -> Array:
        """Sum the gains of rows over each query, times discounts of positions.

        Discounts are of the positions from the first on, and 0 at all further ones.
        """
        longest = int(self.sizes.max())
        total = np.zeros(longest + 1)
        n = min(len(discounts), longest)
        np.cumsum(discounts[:n], out=total[1 : n + 1])
        total[n + 1 :] = total[n]
        size, before = self._tied[2], self.before
        means = (total[before + size] - total[before]) / size
        return self.sums(gains[self.order] * self.found * means[self.tie])

    def greatest_gain(self, gains: Array, discounts: Array) -> Array:
        """Gain of the best order of the documents."""
        best = gains[self.order]
        best = best[np.lexsort((-best, self.query))]  # queries stay where they are
        padded = np.zeros(max(int(self.sizes.max()), len(discounts)))
        padded[: len(discounts)] = discounts
        return self.sums(best * padded[self.position])

    def hits(self, relevant: Array) -> Hits:
        """Say which of the rows are relevant."""
        return Hits(self, relevant[self.order].astype(float))


@dataclass(frozen=True, eq=False)
class Hits:
    """Relevant documents among those of some rankings."""

    rankings: Rankings
    relevant: Array
    """Whether each document is relevant, as a float."""

    @cached_property
    def totals(self) -> Array:
        """Number of relevant documents of each query; NaN for none."""
        totals = self.rankings.sums(self.relevant)
        return np.where(totals > 0, totals, np.nan)

    @cached_property
    def _sets(self) -> tuple[Array, Array, Array, Array, Array]:
        """Of the sets of ties that were retrieved: what the formulas are of.

        Their query, documents, relevant ones, and both numbers before them.
        """
        rankings = self.rankings
        first, query, size = rankings._tied
        relevant = np.bincount(rankings.tie, self.relevant)
        earlier = rankings._within(np.cumsum(self.relevant) - self.relevant)[first]
        found = rankings.found[first]
        sets = query, size, relevant, rankings.before, earlier
        return tuple(column[found] for column in sets)  # type: ignore[return-value]

    def _sums(self, query: Array, values: Array) -> Array:
        return np.bincount(query, values, self.rankings.n_queries)

    def average_precision(self, k: int | None) -> Array:
        r"""Mean over the relevant documents of the precision at each, 0 beyond k.

        The i-th of m tied documents, r of which are relevant, is relevant with
        probability r / m, and :math:`(i - 1)(r - 1) / (m - 1)` of those before it in
        the mean.
        """
        query, size, relevant, before, earlier = self._sets
        shown = _shown(size, before, k)
        harmonic = np.append(0, np.cumsum(1 / np.arange(1, _longest(size, before) + 1)))
        inverses = harmonic[before + shown] - harmonic[before]
        others = (relevant - 1) / np.maximum(size - 1, 1)
        # The sum over i of (i - 1) / (before + i).
        ramp = shown - (before + 1) * inverses
        precisions = relevant / size * ((earlier + 1) * inverses + others * ramp)
        return self._sums(query, precisions) / self.totals

    def reciprocal_rank(self, k: int | None) -> Array:
        """Reciprocal of the position of the first relevant document, 0 beyond k."""
        return self._of_first(k, 1)

    def any(self, k: int) -> Array:
        """Probability that a relevant document is among the first k."""
        return self._of_first(k, 0)

    def _of_first(self, k: int | None, power: int) -> Array:
        """Mean of the inverse position of the first relevant document, to a power."""
        query, size, relevant, before, earlier = self._sets
        best = np.flatnonzero((relevant > 0) & (earlier == 0))
        size, relevant, before = size[best], relevant[best], before[best]
        shown = _shown(size, before, k)
        values = np.zeros(len(best))
        chance = relevant / size  # that the first relevant one is the next
        for i in range(int(shown.max(initial=0))):
            values += np.where(i < shown, chance / (before + i + 1.0) ** power, 0)
            left = size - i - 1
            chance = chance * np.maximum(left - relevant + 1, 0) / np.maximum(left, 1)
        return self._sums(query[best], values) + 0 * self.totals

    def found(self, k: int) -> Array:
        """Number of relevant documents among the first k."""
        query, size, relevant, before, _ = self._sets
        return self._sums(query, relevant * _shown(size, before, k) / size)

    def label_ranking_average_precision(self) -> Array:
        """Mean over the relevant ones of the precision at them, with all their ties."""
        query, size, relevant, before, earlier = self._sets
        precisions = relevant * (earlier + relevant) / (before + size)
        return self._sums(query, precisions) / self.totals

    def label_ranking_loss(self) -> Array:
        """Share of the pairs of a relevant and an irrelevant one that are not in order.

        A tie is none.
        """
        query, size, relevant, before, earlier = self._sets
        wrong = relevant * (before + size - earlier - relevant)
        pairs = self.totals * (self.rankings.sizes - self.totals)
        return self._sums(query, wrong) / np.where(pairs > 0, pairs, np.nan)

    def coverage(self) -> Array:
        """Number of documents down to the last relevant one, with all its ties."""
        query, size, relevant, before, _ = self._sets
        depth = np.zeros(self.rankings.n_queries)
        np.maximum.at(depth, query, np.where(relevant > 0, before + size, 0))
        return depth + 0 * self.totals


def _shown(size: Array, before: Array, k: int | None) -> Array:
    """Number of positions of each set of ties that are among the first k."""
    return size if k is None else np.clip(k - before, 0, size)


def _longest(size: Array, before: Array) -> int:
    return int((before + size).max(initial=0))
