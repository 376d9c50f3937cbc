"""From influence values to a covariance: the one place where a variance is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skci._typing import Array

__all__ = ["Clusters", "Design", "blurring", "correlation_from"]


# Blocks of so many rows stay in cache; of a few parameters they hold so many numbers,
# for each product has a price of its own where threads share it.
_BLOCK = 1 << 14
_NUMBERS = 1 << 17


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows go together: how much each outcome weighs in each cluster.

    Parameters
    ----------
    number : int array of shape (c,)
        A cluster, ascending, for each outcome that it has.
    outcome : int array of shape (c,)
        That outcome.
    weights : array of shape (c,)
        Total weight of its rows.
    """

    number: Array
    outcome: Array
    weights: Array

    @cached_property
    def starts(self) -> Array:
        """Where each cluster begins."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    def __len__(self) -> int:
        return len(self.starts)

    def totals(self, values: Array) -> Array:
        """Weighted sums of values of the outcomes, shape (..., clusters)."""
        parts = values[..., self.outcome] * self.weights
        total: Array = np.add.reduceat(parts, self.starts, axis=-1)
        return total

    def among(self, outcomes: Array) -> Clusters:
        """Keep some of the outcomes, True or False for each, and count them anew."""
        kept = outcomes[self.outcome]
        anew = np.cumsum(outcomes) - 1
        return Clusters(self.number[kept], anew[self.outcome[kept]], self.weights[kept])


@dataclass(frozen=True, eq=False)
class Design:
    """How the rows were drawn: what they weigh, and which of them go together.

    Parameters
    ----------
    weights : array of shape (m,)
        Total weight of the rows with each joint outcome. All weights together are the
        number of rows.
    squares : array of shape (m,), optional
        Total of their squared weights, where they are not all 1.
    clusters : Clusters, optional
        Rows that were drawn together, if not each by itself.
    strata : int array of shape (m,), optional
        Which of several independent samples each joint outcome is of.
    ddof : int
        1 where the rows were seen, 0 where the weights are those of a population.
    rows : array of shape (m,), optional
        Number of rows with each joint outcome, where they do not weigh 1.
    """

    weights: Array
    squares: Array | None = None
    clusters: Clusters | None = None
    strata: Array | None = None
    ddof: int = 1
    rows: Array | None = None

    @cached_property
    def n_samples(self) -> int:
        """Number of rows."""
        return round(self.weights.sum())

    @cached_property
    def n_strata(self) -> int:
        """Number of independent samples."""
        return 1 if self.strata is None else len(np.unique(self.strata))

    @property
    def simple(self) -> bool:
        """Whether every row weighs the same and was drawn by itself."""
        return self.squares is None and self.clusters is None

    @property
    def n_units(self) -> int:
        """Number of what was drawn: clusters, or rows."""
        return self.n_samples if self.clusters is None else len(self.clusters)

    @property
    def n_groups(self) -> int | None:
        """Number of clusters; None where there are none."""
        return None if self.clusters is None else len(self.clusters)

    @property
    def shows_variance(self) -> bool:
        """Whether there is more than one unit in some sample."""
        return self.n_units > self.n_strata

    def n_rows(self, outcomes: Array) -> int:
        """Count the rows with some of the outcomes."""
        return round(self._rows[outcomes].sum())

    def worth(self, outcomes: Array) -> float:
        """How many rows some outcomes are worth if those of a cluster are all alike.

        Without clusters it is what unequal weights leave (Kish).
        """
        total = float(self.weights[outcomes].sum())
        if not total:
            return 0.0
        if self.clusters is not None:
            sizes = self.clusters.totals(outcomes.astype(float))
            return total**2 / float((sizes**2).sum())
        squares = self.weights if self.squares is None else self.squares
        return total**2 / float(squares[outcomes].sum())

    def each_stratum(self) -> list[Array]:
        """Which outcomes are of each of the independent samples."""
        if self.strata is None:
            return [np.ones(len(self.weights), dtype=bool)]
        return [self.strata == stratum for stratum in np.unique(self.strata)]

    def n_clusters(self, outcomes: Array) -> int:
        """Count the clusters, or rows, that have some of the outcomes."""
        if self.clusters is not None:
            return int((self.clusters.totals(outcomes.astype(float)) > 0).sum())
        return self.n_rows(outcomes)

    def n_alike(self, outcomes: Array, design_effect: float) -> float:
        """How many clusters of one size tell as much of a variance.

        Of a cluster with m of the rows the variance grows as :math:`m (1 + (m - 1) r)`,
        where r is the correlation within clusters that the design effect speaks of; the
        degrees of freedom are those of Satterthwaite (1946).
        """
        if self.clusters is None:
            return self.n_clusters(outcomes)
        sizes = self.clusters.totals(outcomes.astype(float))
        sizes = sizes[sizes > 0]
        if not len(sizes):
            return 0.0
        others = np.maximum(sizes - 1, 0)
        within = (design_effect - 1) * sizes.sum() / max((sizes * others).sum(), 1.0)
        variances = sizes * (1 + others * np.clip(within, 0, 1))
        return float(variances.sum() ** 2 / (variances**2).sum())

    def covariance(
        self, influences: Sequence[Array], indices: Sequence[Array]
    ) -> Array:
        r"""Estimate the covariance of estimates from influence values on the same rows.

        .. math:: \frac{G}{G - 1} \frac{1}{n^2} \sum_g S_j(g) S_k(g) ,
            \qquad S_j(g) = \sum_{i \in g} w_i L_j(i) ,

        over the G clusters, or the n rows where there are none, with the influence
        values of each parameter centred at their mean over the rows. Of several
        independent samples it is the sum of what each of them gives, times
        :math:`(n_s / n)^2`.

        Parameters
        ----------
        influences : sequence of K arrays
            Influence values of each parameter on the cells of its own table.
        indices : sequence of K arrays of shape (m,)
            The own cell of each parameter in each of the m joint outcomes.

        Returns
        -------
        array of shape (K, K)
            Zero for a single row or cluster, which tells nothing of a variance.
        """
        if self.strata is None:
            return self._covariance(influences, indices)
        n = float(self.weights.sum())
        total = np.zeros((len(influences),) * 2)
        for stratum in np.unique(self.strata):
            chosen = self.strata == stratum
            own = self._among(chosen)
            within = [index[chosen] for index in indices]
            share = float(own.weights.sum()) / n
            total += own._covariance(influences, within) * share**2
        return total

    def _covariance(
        self, influences: Sequence[Array], indices: Sequence[Array]
    ) -> Array:
        n = float(self.weights.sum())
        if self.clusters is None:
            total = self._of_rows(influences, indices)
        else:
            total = self._of_clusters(influences, indices, self.clusters)
        total = (total + total.T) / 2  # a product of matrices rounds on one side only
        units = self.n_units
        return total * (units / (n**2 * max(units - self.ddof, 1)))

    def _of_rows(self, influences: Sequence[Array], indices: Sequence[Array]) -> Array:
        """Add up products over rows."""
        size = len(influences)
        squares = self.weights if self.squares is None else self.squares
        total = np.zeros((size, size))
        mean, crossed = np.zeros((2, size))
        rows = min(max(_BLOCK, _NUMBERS // size), len(squares))
        buffer = np.empty((size, rows))
        for start in range(0, len(squares), rows):
            block = slice(start, start + rows)
            values = buffer[:, : len(squares) - start]
            for row, own, index in zip(values, influences, indices, strict=True):
                np.take(own, index[block], out=row, mode="clip")  # "raise" would copy
            mean += values @ self.weights[block]
            roots = np.sqrt(squares[block])
            values *= roots
            crossed += values @ roots
            total += values @ values.T  # half the work of that of two matrices
        mean /= self.weights.sum()
        outer = np.outer(crossed, mean)
        total += squares.sum() * np.outer(mean, mean) - outer - outer.T
        return total

    def _of_clusters(
        self, influences: Sequence[Array], indices: Sequence[Array], clusters: Clusters
    ) -> Array:
        """Add up products over clusters."""
        pairs = zip(influences, indices, strict=True)
        sums = np.array([clusters.totals(own[index]) for own, index in pairs])
        sizes = clusters.totals(np.ones(len(self.weights)))
        mean = sums.sum(axis=1) / self.weights.sum()
        sums -= np.outer(mean, sizes)
        total: Array = sums @ sums.T
        return total

    def _among(self, outcomes: Array) -> Design:
        """Keep some of the outcomes, which are all of some samples."""
        return Design(
            self.weights[outcomes],
            None if self.squares is None else self.squares[outcomes],
            None if self.clusters is None else self.clusters.among(outcomes),
            ddof=self.ddof,
            rows=None if self.rows is None else self.rows[outcomes],
        )

    def times(self, factor: float) -> Design:
        """Multiply all weights, which are then of a population."""
        if not self.simple:
            raise ValueError(
                "nothing can be planned from a pilot with sample_weight or groups"
            )
        return replace(self, weights=self.weights * factor, ddof=0)

    @classmethod
    def stacked(cls, designs: Sequence[Design]) -> Design:
        """Put designs of independent samples side by side."""
        weights = np.concatenate([own.weights for own in designs])
        squares = None
        if any(own.squares is not None for own in designs):
            squares = np.concatenate(
                [own.weights if own.squares is None else own.squares for own in designs]
            )
        if len({own.clusters is None for own in designs}) > 1:
            raise ValueError(
                "reports must all have groups or none, got some of either kind"
            )
        if any(own.clusters is not None and not own.shows_variance for own in designs):
            raise ValueError("reports must have two groups or more each, got one")
        strata, first = [], 0
        for own in designs:
            inner = np.zeros(len(own.weights), dtype=int)
            strata.append(first + (inner if own.strata is None else own.strata))
            first += own.n_strata
        return cls(
            weights,
            squares,
            _side_by_side(designs),
            np.concatenate(strata),
            designs[0].ddof,
            None if squares is None else np.concatenate([own._rows for own in designs]),
        )

    @property
    def _rows(self) -> Array:
        return self.weights if self.rows is None else self.rows


def _side_by_side(designs: Sequence[Design]) -> Clusters | None:
    number, outcome, weights = [], [], []
    clusters, outcomes = 0, 0
    for own in designs:
        if own.clusters is None:
            return None
        number.append(own.clusters.number + clusters)
        outcome.append(own.clusters.outcome + outcomes)
        weights.append(own.clusters.weights)
        clusters += int(own.clusters.number[-1]) + 1
        outcomes += len(own.weights)
    return Clusters(*map(np.concatenate, (number, outcome, weights)))


def blurring(
    gradients: Sequence[Array],
    moments: Sequence[tuple[Any, ...]],
    z: float,
    effective: Array,
) -> Array:
    r"""Covariance that the blurring correction adds.

    Yuan and Jiang's Choice II perturbs each moment (E[ZA] and E[A] of each rule, and
    E[Z], which rules share) by independent noise of variance :math:`z^2 / 2n` a row,
    so that the covariance of the estimates gains :math:`G G^T z^2 / (2 n^2)`, G the
    gradients in the moments. Each parameter has the rows that its data are worth.

    Parameters
    ----------
    gradients : sequence of K arrays
        Gradient of each parameter in its moments.
    moments : sequence of K tuples
        Names of those moments; parameters that share a moment share its noise, and one
        may have it several times.
    z : float
        Two-sided normal quantile of the confidence level.
    effective : array of shape (K,)
        Effective numbers of rows.
    """
    names = dict.fromkeys(name for own in moments for name in own)
    column = {name: position for position, name in enumerate(names)}
    jacobian = np.zeros((len(gradients), len(column)))
    for row, gradient, own in zip(jacobian, gradients, moments, strict=True):
        np.add.at(row, [column[name] for name in own], gradient)
    jacobian /= effective[:, np.newaxis]
    return jacobian @ jacobian.T * (z**2 / 2)


def correlation_from(covariance: Array) -> Array:
    """Scale a covariance to a correlation; without variance there is none."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, np.inf)
    correlation = covariance / np.outer(scale, scale)
    correlation = np.clip(correlation, -1, 1)
    np.fill_diagonal(correlation, 1.0)
    return correlation
