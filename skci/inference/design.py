"""How units were drawn, and the variance of estimates that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, binade, cached_property
from skci.inference.clusters import Clusters, join_clusters
from skci.inference.cross_products import over_clusters, over_rows
from skci.inference.totals import Moments, tail_shape

_MOST_STRATA = 1 << 16  # greatest number of a stratum, before they are renumbered
_ROUNDING = 1e-12  # share of the largest centred influence value that is zero
SAME_WEIGHT = 1e-12  # relative difference of weights that are equal up to rounding


@dataclass(frozen=True, eq=False)
class Design:
    """How the rows of a sample were drawn: their weights, clusters and strata.

    Units are distinct outcomes, or rows. Only ratios of weights matter, but with their
    scale designs of several chunks of data can be united.
    """

    weights: Array
    """Total weight of the rows of each unit; their number, if they have no weights."""
    powers: Array | None = None
    """Totals of the second, third and fourth powers of their weights, if they have
    weights, of shape (3, units)."""
    rows: Array | None = None
    """Number of rows of each unit, if they have weights."""
    clusters: Clusters | None = None
    """Clusters of rows, if rows are not independent."""
    strata: Array | None = None
    """Which of several independent samples, of fixed sizes, each unit is of: their
    numbers from 0 on."""
    stratum_labels: Array | None = None
    """Code of the true label of all rows of each stratum, if each has one."""
    share_covariance: Array | None = None
    """Covariance of the shares of the strata in all weights, if these are estimates."""
    ddof: int = 1
    """1 where the rows were observed, 0 where the weights are those of a population."""
    scale: float = 1.0
    """Power of two that the weights were divided by, lest their powers overflow."""

    @classmethod
    def of_units(
        cls,
        unit: Array,
        n_units: int,
        weights: Array | None = None,
        groups: tuple[Array, Array] | None = None,
        counts: Array | None = None,
    ) -> Design:
        """Count n rows by their unit, with weights of shape (n,).

        `groups` are the names of the clusters, and the number of that of each row;
        `counts` is how often each row occurs, once if None.
        """
        rows = np.bincount(unit, counts, n_units).astype(np.intp)
        scale, totals = 1.0, counts
        if weights is not None:
            scale = binade(weights)
            weights = weights / scale
            totals = weights if counts is None else weights * counts
        clusters = None if groups is None else Clusters.of(*groups, unit, totals)
        if weights is None or totals is None:
            return cls(rows, clusters=clusters)
        squares, products = weights * weights, totals * weights
        terms = totals, products, products * weights, products * squares
        total, *powers = (np.bincount(unit, term, n_units) for term in terms)
        return cls(total, np.array(powers), rows, clusters, scale=scale)

    @property
    def total_weight(self) -> float:
        """Total of the weights as they were given."""
        return float(self.weights.sum()) * self.scale

    @cached_property
    def n_samples(self) -> int:
        """Number of rows."""
        return round(self.frequencies.sum())

    @cached_property
    def counts(self) -> Array:
        """Weights of the units, scaled to add up to the number of rows."""
        if self.rows is None:
            return self.weights
        if self._has_equal_weights:
            return self.rows
        return self.weights * (self.rows.sum() / self.weights.sum())

    @cached_property
    def n_strata(self) -> int:
        """Number of independent samples."""
        return 1 if self.strata is None else len(np.unique(self.strata))

    @property
    def is_simple(self) -> bool:
        """Whether the rows are a simple random sample: equal weights, no clusters."""
        independent = self.clusters is None and self.share_covariance is None
        return independent and self._has_equal_weights

    @property
    def has_independent_rows(self) -> bool:
        """Whether units are of independent draws of one population."""
        return self.clusters is None and self.strata is None

    def is_simple_among(self, units: Array) -> bool:
        """Whether the rows of some units are a simple random sample."""
        return self.is_simple or (self.clusters is None and self._are_equal(units))

    @cached_property
    def _has_equal_weights(self) -> bool:
        return self._are_equal(slice(None))

    def _are_equal(self, units: Any) -> bool:
        if self.powers is None or self.rows is None:
            return True
        weights, rows = self.weights[units], self.rows[units]
        if not len(rows):
            return True
        means = weights / rows
        between = np.ptp(means) <= SAME_WEIGHT * means.max()
        within = self.powers[0][units] * rows - weights**2
        return bool(between and (within <= SAME_WEIGHT * weights**2).all())

    @property
    def n_units(self) -> int:
        """Number of independent units: clusters, or rows."""
        return self.n_groups or self.n_samples

    @property
    def n_groups(self) -> int | None:
        """Number of clusters; None where there are none."""
        return None if self.clusters is None else len(self.clusters)

    @property
    def shows_variance(self) -> bool:
        """Whether some stratum has more than one independent unit."""
        return self.n_units > self.n_strata

    def spans_strata(self, units: Array) -> bool:
        """Whether some units are of several strata."""
        return self.strata is not None and len(np.unique(self.strata[units])) > 1

    def strata_of(self, units: Array) -> Array:
        """Which units are of the strata of some units; all if there are no strata."""
        return self.in_strata(self._strata[units])

    def in_strata(self, numbers: Array) -> Array:
        """Which units are of some strata; all if there are no strata."""
        if self.strata is None:
            return np.ones(len(self.weights), dtype=bool)
        return np.isin(self.strata, numbers)

    def n_rows(self, units: Array) -> int:
        """Count the rows of some of the units."""
        return round(self.frequencies[units].sum())

    def count_of(self, units: Array) -> float:
        """Scaled weight of some of the units."""
        return float(self.counts[units].sum())

    def mean_square(self, influence: Array, counts: Array) -> float:
        """Variance over rows of the influence values of cells, which have counts."""
        p = counts / max(counts.sum(), 1.0)
        return float(p @ (influence - p @ influence) ** 2)

    def effective_sample_size(self, units: Array) -> float:
        r"""Effective sample size of some units if rows of a cluster are all alike.

        Kish's :math:`(\sum w)^2 / \sum w^2`, over clusters or, without any, rows.
        """
        total = float(self.weights[units].sum())
        if not total:
            return 0.0
        squares = self._squares[units]
        if self.clusters is not None:
            squares = self.clusters.totals(units.astype(float)) ** 2
        return total**2 / float(squares.sum())

    @property
    def labels_of_strata(self) -> Array:
        """Code of the true label of all rows of each stratum, -1 without one."""
        if self.stratum_labels is None:
            return np.full(self.n_strata, -1)
        return self.stratum_labels

    def strata_units(self) -> list[Array]:
        """Which units are of each stratum."""
        if self.strata is None:
            return [np.ones(len(self.weights), dtype=bool)]
        return [self.strata == stratum for stratum in np.unique(self.strata)]

    def n_clusters(self, units: Array) -> int:
        """Count the clusters, or rows, that have some of the units."""
        if self.clusters is not None:
            return int((self.clusters.totals(units.astype(float)) > 0).sum())
        return self.n_rows(units)

    def moments(
        self,
        influence: Array,
        index: Array,
        cells: Array,
        classes: Sequence[Array] = (),
    ) -> Moments:
        """Sum powers of the totals of influence values of independent units.

        Influence values of the cells, and the cell of each unit, are centred in each
        stratum. Only units of `cells`, a bool array, count as units, and others of a
        stratum in which these do not have mean zero; independent rows are also divided
        by classes, bool arrays of cells within which influence values have mean zero,
        unless that leaves a row of larger classes alone, as those of many targets do.
        """
        values, units = self._centred(influence, index), cells[index]
        strata = self._strata
        if self.spans_strata(units):
            units = units | (np.abs(values) > _ROUNDING * np.abs(values).max())
        if self.clusters is None and classes:
            strata = self._divided(strata, units, [each[index] for each in classes])
        return self._moments(values, units, strata)

    def _divided(self, strata: Array, units: Array, classes: Sequence[Array]) -> Array:
        """Divide strata of rows by classes, unless that leaves a row alone."""
        rows, parts = self.frequencies * units, strata
        for members in classes:
            parts = 2 * parts + members
            if parts.max() > _MOST_STRATA:
                parts = np.unique(parts, return_inverse=True)[1].ravel()
        alone = (np.bincount(parts, rows) == 1).any()
        if not alone or any(rows @ members <= 1 for members in classes):
            strata = parts
        return strata

    @property
    def _strata(self) -> Array:
        return np.zeros(self.weights.shape, int) if self.strata is None else self.strata

    def _moments(self, values: Array, units: Array, strata: Array) -> Moments:
        """Sum powers of the weighted totals of values of units by stratum."""
        rows, powers = self.frequencies * units, self._powers
        values = values * (self.frequencies > 0)  # whatever those of empty cells
        if self.clusters is not None:
            strata = strata[self.clusters.unit[self.clusters.starts]]
            rows = self.clusters.totals(units * 1.0) > 0
            values, powers = self.clusters.totals(values), [np.ones(1)] * 3
        values = values / binade(values)
        squares = values * values
        terms = zip(powers, (squares, squares * values, squares * squares), strict=True)
        sums = [np.bincount(strata, w * term) for w, term in terms]
        return Moments(np.bincount(strata, rows), *sums)

    def tail_shape(self, influence: Array, index: Array, units: Array) -> float:
        """Shape of the tail of totals of influence values of clusters, or of rows.

        Of several strata it is that of the one with the largest total.
        """
        values, strata = self._centred(influence, index), self._strata
        if self.clusters is None:
            frequencies = np.rint(self.frequencies).astype(np.intp)
            totals = values * self.weights / np.maximum(frequencies, 1)
        else:
            totals = self.clusters.totals(values)
            frequencies = np.ones(len(totals), dtype=np.intp)
            units = self.clusters.totals(units * 1.0) > 0
            strata = strata[self.clusters.unit[self.clusters.starts]]
        largest = np.abs(totals).argmax()
        chosen = units & (strata == strata[largest])
        return tail_shape(totals[chosen], frequencies[chosen])

    def _centred(self, influence: Array, index: Array) -> Array:
        """Influence values of units, centred in each stratum."""
        values = influence[index]
        if self.strata is None:
            return values - self.weights @ values / self.weights.sum()
        for stratum in self.strata_units():
            weights = self.weights[stratum]
            values[stratum] -= weights @ values[stratum] / weights.sum()
        return values

    def weight_moments(self, units: Array) -> Moments:
        """Sum powers of the total weights of some units, as `moments` of influence."""
        if self.clusters is not None:
            return self._moments(units * 1.0, units, np.zeros(len(units), int))
        powers = [] if self.powers is None else [*self.powers]
        sums = [[float(column @ units)] for column in (self.frequencies, *powers)]
        return Moments(*np.broadcast_to(np.array(sums), (4, 1)))

    def least_favourable(self, influence: Array, index: Array) -> Array:
        """Change of the weights of units in the least favourable direction.

        The weights of the rows of each independent unit change by its total of
        influence values over their root sum of squares, so that an estimate changes by
        its standard error.
        """
        values = self._centred(influence, index)
        if self.clusters is None:
            change = self._squares * values
            norm = np.sqrt(self._squares @ values**2)
        else:
            totals = self.clusters.totals(values)
            change = self.clusters.spread(totals)
            norm = np.sqrt(totals @ totals)
        return np.asarray(change / norm)

    def covariance(
        self, influences: Sequence[Array], indices: Sequence[Array]
    ) -> Array:
        r"""Estimate the covariance of estimates from their influence values.

        .. math:: \frac{G}{G - 1} \frac{1}{n^2} \sum_g S_j(g) S_k(g) ,
            \qquad S_j(g) = \sum_{i \in g} w_i L_j(i) ,

        over the G clusters, or the n rows where there are none, with the influence
        values of each parameter centred at their mean over the rows. Of several
        independent samples it is the sum of what each of them gives, times
        :math:`(n_s / n)^2`; with shares that are estimates it has besides the
        covariance of the means over the samples of which those are the weights. Zero
        for a single row or cluster, from which no variance can be estimated.

        Parameters
        ----------
        influences : sequence of K arrays
            Influence values of each parameter on the cells of its table.
        indices : sequence of K int arrays of shape (m,)
            The cell of each parameter for each unit.
        """
        n = float(self.weights.sum())
        if self.strata is not None:
            total = np.zeros((len(influences),) * 2)
            if self.share_covariance is not None:
                means = self._means_of_strata(influences, indices)
                total += means @ self.share_covariance @ means.T
            for units in self.strata_units():
                stratum = self._among(units)
                within = [index[units] for index in indices]
                share = float(stratum.weights.sum()) / n
                total += stratum.covariance(influences, within) * share**2
            return total
        if self.clusters is None:
            total = over_rows(influences, indices, self.weights, self._squares)
        else:
            total = over_clusters(influences, indices, self.weights, self.clusters)
        total = total + total.T  # a product of matrices rounds on one side only
        total *= self._per_total / 2
        return total

    def _means_of_strata(
        self, influences: Sequence[Array], indices: Sequence[Array]
    ) -> Array:
        """Mean influence values within strata, shape (parameters, strata)."""
        totals = np.bincount(self._strata, self.weights)
        pairs = zip(influences, indices, strict=True)
        each = [influence[index] * self.weights for influence, index in pairs]
        return np.array([np.bincount(self._strata, x) for x in each]) / totals

    def variance(self, influence: Array, index: Array) -> float:
        """Estimate the variance of one estimate; see `covariance`."""
        if not self.has_independent_rows:
            return float(self.covariance([influence], [index])[0, 0])
        size = len(influence)
        weights = np.bincount(index, self.weights, size)
        equal = self.powers is None
        squares = weights if equal else np.bincount(index, self._squares, size)
        deviations = influence - weights @ influence / weights.sum()
        return float(squares @ deviations**2) * self._per_total

    @property
    def _per_total(self) -> float:
        """Variance of an estimate over the sum of squared totals of its influence."""
        n_units = self.n_units
        total_weight = float(self.weights.sum())
        return n_units / (total_weight**2 * max(n_units - self.ddof, 1))

    def _among(self, units: Array) -> Design:
        """Keep some of the units, which are all of some strata."""
        clusters = self.clusters and self.clusters.among(units)
        columns = self._columns(lambda values: values[units])
        return replace(
            self, **columns, clusters=clusters, strata=None, stratum_labels=None
        )

    def regrouped(self, unit: Array, n_units: int) -> Design:
        """Unite units; `unit` is the new number of each."""
        if self.strata is not None:
            raise ValueError("units of several independent samples cannot be united")
        clusters = self.clusters
        if clusters is not None:
            entries = clusters.number, unit[clusters.unit], clusters.weights
            clusters = Clusters.of(clusters.keys, *entries)
        columns = self._columns(lambda values: np.bincount(unit, values, n_units))
        return replace(self, **columns, clusters=clusters)

    def times(self, factor: float) -> Design:
        """Multiply all weights, which are then those of a population."""
        if not self.is_simple:
            raise ValueError(
                "cannot plan from a pilot with sample_weight or groups, or a prevalence"
            )
        return Design(
            self.counts * factor,
            strata=self.strata,
            stratum_labels=self.stratum_labels,
            ddof=0,
        )

    def merged(self, other: Design, unit: Array) -> Design:
        """Unite with the design of other rows of the same population.

        `unit` is the new number of each unit, of this design and then of the other.
        """
        if (self.clusters is None) != (other.clusters is None):
            raise ValueError("samples must all have groups or none, got some of either")
        scale = max(self.scale, other.scale)
        designs = [design._scaled_to(scale) for design in (self, other)]
        together = _side_by_side(designs, _joined_clusters(designs, by_name=True))
        together = replace(together, scale=scale)
        return together.regrouped(unit, int(unit.max()) + 1)

    @classmethod
    def stacked(cls, designs: Sequence[Design]) -> Design:
        """Put designs of independent samples side by side, as strata.

        A row of one sample weighs as much as a row of another.
        """
        if len({design.clusters is None for design in designs}) > 1:
            raise ValueError(
                "reports must all have groups or none, got some of either kind"
            )
        if any(design.share_covariance is not None for design in designs):
            raise ValueError(
                "reports must not be at a prevalence with a standard error, which they "
                "may have in common"
            )
        if any(design.clusters and not design.shows_variance for design in designs):
            raise ValueError("reports must have two groups or more each, got one")
        strata, labels, first = [], [], 0
        for design in designs:
            strata.append(first + design._strata)
            labels.append(design.labels_of_strata)
            first += design.n_strata
        scaled = [design._per_row() for design in designs]
        together = _side_by_side(scaled, _joined_clusters(scaled))
        numbers, codes = map(np.concatenate, (strata, labels))
        return replace(together, strata=numbers, stratum_labels=codes)

    def _per_row(self) -> Design:
        """Scale the weights to add up to the number of rows."""
        scaled = self._times(self.n_samples / float(self.weights.sum()))
        return replace(scaled, weights=self.counts, scale=1.0)

    def _scaled_to(self, scale: float) -> Design:
        """Divide the weights as they were given by another power of two."""
        if scale == self.scale:
            return self
        scaled = self._times(self.scale / scale)
        return replace(scaled, rows=self.frequencies, scale=scale)

    def _times(self, factor: float) -> Design:
        """Multiply the weights."""
        clusters = self.clusters
        if clusters is not None:
            clusters = replace(clusters, weights=clusters.weights * factor)
        powers = np.array(self._powers) * factor ** np.array([[2], [3], [4]])
        weights = self.weights * factor
        return replace(self, weights=weights, powers=powers, clusters=clusters)

    def _columns(self, change: Callable[[Array], Array]) -> dict[str, Any]:
        """Weights, their powers and rows, each of them changed."""
        columns: dict[str, Any] = {"weights": change(self.weights)}
        if self.powers is not None:
            columns["powers"] = np.array([change(power) for power in self.powers])
        if self.rows is not None:
            columns["rows"] = change(self.rows)
        return columns

    @property
    def frequencies(self) -> Array:
        """Number of rows of each unit."""
        return self.weights if self.rows is None else self.rows

    @property
    def _squares(self) -> Array:
        return self._powers[0]

    @property
    def _powers(self) -> Sequence[Array]:
        return [self.weights] * 3 if self.powers is None else list(self.powers)


def _side_by_side(designs: Sequence[Design], clusters: Clusters | None) -> Design:
    """Units of one design after those of another, without strata."""
    weighted = any(design.rows is not None for design in designs)
    return Design(
        np.concatenate([design.weights for design in designs]),
        np.concatenate([d._powers for d in designs], axis=1) if weighted else None,
        np.concatenate([d.frequencies for d in designs]) if weighted else None,
        clusters,
        ddof=designs[0].ddof,
    )


def _joined_clusters(
    designs: Sequence[Design], by_name: bool = False
) -> Clusters | None:
    """Clusters of designs side by side, which all have some or none."""
    parts = [design.clusters for design in designs if design.clusters is not None]
    sizes = [len(design.weights) for design in designs]
    return join_clusters(parts, sizes, by_name) if parts else None
