"""Tables of rows by stratum, for parameters of several strata."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.designs.design import SampleDesign
from skci.inference.parameter import MAX_ENUMERATED_CELLS, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import MergedFunctional, without_negation
from skci.measures.stratified import Poststratified

_FEW = 5  # rows in a cell below which its probability is uncertain
_HEAVY = 2.0  # relative weight of the rows of a stratum that is large
_MATTERS = 0.1  # share of the variance that sparse strata may have
_NO_VARIANCE = 1e-12  # relative variance that counts as zero
_MAX_DERIVATIVES = MAX_ENUMERATED_CELLS**2  # cells of the table times cells of strata
_MAX_ROWS = 1e6  # size of the sample behind shares, relative to the rows of all strata


@dataclass(frozen=True, eq=False)
class StratifiedTable:
    r"""Counts of the possible outcomes in each stratum, and a functional of the counts.

    If the population shares of the strata are estimates, they are treated as shares in
    a random sample. The size of this sample is chosen to match the standard errors of
    the shares.
    """

    functional: Poststratified
    counts: Array
    """Counts of the cells of each stratum, then of strata if shares are estimated."""
    inside: Array
    """Mask of the cells on which the parameter depends; False for counts of strata."""
    numbers: Array
    """Index of each stratum in the design."""
    row_weights: Array
    """Weight of a row of each stratum, relative to the mean weight."""
    ddof: int
    """1 for a sample, 0 for a population."""

    @property
    def n_strata(self) -> int:
        return len(self.row_weights)

    @cached_property
    def informative_strata(self) -> Array:
        """Indices of the strata in which influence values differ."""
        counts = self.counts + self.pseudo_counts
        differ = self.functional(counts / counts.sum()).has_influence
        strata = self.functional.strata
        return self.numbers[np.unique(strata[differ[: len(strata)]])]

    @property
    def samples(self) -> Array:
        """Index of the stratum, or other independent sample, of each count."""
        return self.functional.samples

    @cached_property
    def sizes(self) -> Array:
        """Number of rows of each independent sample."""
        return np.bincount(self.samples, self.counts)

    def distribute_rows(self, rows: Array) -> Array:
        """Divide rows that are added to strata equally among the cells of each stratum.

        `rows` contains the number of added rows for each stratum. Cells that are
        impossible in a stratum have no added rows.
        """
        n_cells = np.bincount(self.samples, self.inside)
        per_cell = np.zeros(len(n_cells))
        per_cell[: self.n_strata] = rows / n_cells[: self.n_strata]
        return self.inside * per_cell[self.samples]

    @cached_property
    def pseudo_counts(self) -> Array:
        """Pseudo-counts of the possible cells of each stratum.

        The pseudo-counts add up to two rows. Each stratum has a share in proportion to
        the number of rows of the stratum, and divides the share equally among its
        cells.
        """
        sizes = self.sizes[: self.n_strata]
        return self.distribute_rows(2 * sizes / sizes.sum())

    def pseudo_counts_by_cell(self, size: int) -> Array:
        """Add up the weighted pseudo-counts of each table cell over strata."""
        strata = self.functional.strata
        added = self.pseudo_counts[: len(strata)] * self.row_weights[strata]
        return np.bincount(self.functional.functional.cells, added, size + 1)[:size]

    @cached_property
    def variance(self) -> float:
        """Variance of the estimate, computed with pseudo-counts."""
        variances, sizes = self._smoothed_variances.copy(), self.sizes[: self.n_strata]
        variances[: self.n_strata] *= sizes / np.maximum(sizes - self.ddof, 1)
        return float(variances.sum())

    @cached_property
    def design_effect(self) -> float:
        """Ratio of the variance to the variance of independent multinomial samples.

        The multinomial samples have the sizes of the strata.
        """
        total = float(self._smoothed_variances.sum())
        return self.variance / total if total else 1.0

    @cached_property
    def _smoothed_variances(self) -> Array:
        counts = self.counts + self.pseudo_counts
        return self._variances(counts, counts) / self.sizes

    def noise(self, z: float) -> float:
        r"""Return the variance to add for strata in which no variance is observed.

        If the rows of such a stratum can differ, the added variance follows Agresti and
        Coull (1998): :math:`z^2` rows are added in equal parts to the possible cells of
        the stratum. If several strata contribute to the standard error, fewer rows are
        added to each stratum, so that the intervals of the strata are combined as by
        Yan and Su (2010).
        """
        observed = self._variances(self.counts, self.counts)
        variances = self._agresti_coull(z**2)
        unseen = observed <= _NO_VARIANCE * variances * self.sizes
        if not variances.any():
            return 0.0
        rows = z**2 * variances.sum() / np.sqrt(variances).sum() ** 2
        return float(self._agresti_coull(rows)[unseen].sum())

    def _agresti_coull(self, rows: float) -> Array:
        """Compute the variance due to each stratum after rows are added to the counts.

        `rows` is the number of rows that are added to each stratum. The result also has
        an entry for each independent sample that is not a stratum.
        """
        counts = self.counts + self.distribute_rows(np.full(self.n_strata, rows))
        return self._variances(counts, self.counts) / np.bincount(self.samples, counts)

    def _variances(self, counts: Array, at: Array) -> Array:
        """Compute the variance of influence values within each independent sample.

        Influence values are computed at the counts `at`. To obtain the variance of an
        estimate, divide each variance by the size of the sample, and add the results.
        """
        _, influence, _ = self.functional(at / at.sum())
        influence = influence * (np.bincount(self.samples, at) / at.sum())[self.samples]
        sizes = np.bincount(self.samples, counts)
        means = np.bincount(self.samples, counts * influence) / sizes
        squares = counts * (influence - means[self.samples]) ** 2
        return np.bincount(self.samples, squares) / sizes


def stratified_table(
    parameter: TableParameter, rows: Rows, design: Any
) -> StratifiedTable | None:
    """Create a table with the counts of possible outcomes in each stratum.

    The result is None if the possible outcomes are unknown or too many, or if there are
    no strata of independent rows.
    """
    if design.strata is None or not design.rows_are_units:
        return None
    size, bases = parameter.size, parameter.components or (parameter,)
    enumerated = np.any(parameter.pseudo_counts) and size <= MAX_ENUMERATED_CELLS
    if not enumerated or any(base.extremes for base in bases):
        return None
    cells: list[Array] = []
    n_cells = 0
    stratum_indices, counts, sizes, weights = [], [], [], []
    labels = design.labels_of_strata.tolist()
    for stratum_index, (label, units) in enumerate(
        zip(labels, design.units, strict=True)
    ):
        observed = np.bincount(
            parameter.index[units], rows.frequencies[units], size + 1
        )
        possible = _possible_cells(parameter, label, units) | (observed > 0)
        if not possible[:size].any():
            continue
        stratum_indices.append(stratum_index)
        cells.append(np.flatnonzero(possible))
        counts.append(observed[possible])
        sizes.append(observed.sum())
        weights.append(rows.weights[units].sum())
        n_cells += len(cells[-1])
        if n_cells * size > _MAX_DERIVATIVES:
            return None
    if not cells:
        return None
    cell, count = np.concatenate(cells), np.concatenate(counts)
    stratum = np.repeat(np.arange(len(cells)), [*map(len, cells)])
    inside, covariance = cell < size, design.share_covariance
    shares = np.array(weights) / np.sum(weights)
    fixed_shares: Array | None = shares
    row_weights = shares / sizes * np.sum(sizes)
    if covariance is not None and len(covariance) == len(shares):
        n = (1 - shares @ shares) / np.trace(covariance)
        count = np.append(count, min(n, _MAX_ROWS * count.sum()) * shares)
        inside = np.append(inside, np.zeros(len(shares), dtype=bool))
        fixed_shares = None
    component = MergedFunctional(without_negation(parameter.functional), cell, size)
    mixed = Poststratified(component, stratum, fixed_shares)
    return StratifiedTable(
        mixed, count, inside, np.array(stratum_indices), row_weights, design.ddof
    )


def has_sparse_stratum(parameter: TableParameter, rows: Rows, design: Any) -> bool:
    """Whether a stratum with a large weight has few rows with some outcome.

    Strata that contribute little to the variance are ignored.
    """
    strata, frequencies = design.strata, rows.frequencies
    n = np.bincount(strata, frequencies)
    present = n > 0
    shares = np.bincount(strata, rows.weights)[present] / rows.weights.sum()
    sums, squares, minimum = (
        values[present] for values in _sums_of_cells(parameter, rows, strata)
    )
    n = n[present]
    is_sparse = (shares > _HEAVY * n / n.sum()) & (minimum < _FEW)
    added = np.where(is_sparse, 2 * minimum + 1, 0)
    diversity = 1 - (squares + added) / np.maximum(sums + is_sparse, 1) ** 2
    variances = shares**2 * diversity / n
    return bool(variances[is_sparse].sum() > _MATTERS * variances.sum())


def _sums_of_cells(
    parameter: TableParameter, rows: Rows, strata: Array
) -> tuple[Array, Array, Array]:
    """Compute the sum, sum of squares and minimum of the counts in each stratum.

    Each count is the number of rows with one outcome. If an outcome occurs only in
    other strata, the count is 0.
    """
    inside = parameter.units
    pairs = strata[inside] * parameter.size + parameter.index[inside]
    pairs, pair_index = np.unique(pairs, return_inverse=True)
    counts = np.bincount(pair_index.ravel(), rows.frequencies[inside])
    pairs, counts = pairs[counts > 0], counts[counts > 0]
    stratum, n_strata = pairs // parameter.size, strata.max() + 1
    minimum = np.full(n_strata, np.inf)
    np.minimum.at(minimum, stratum, counts)
    n_cells = np.count_nonzero(parameter.counts > 0)
    minimum[np.bincount(stratum, minlength=n_strata) < n_cells] = 0
    sums, squares = (np.bincount(stratum, counts**k, n_strata) for k in (1, 2))
    return sums, squares, minimum


def smoothed_by_stratum(
    parameter: TableParameter, rows: Rows, design: SampleDesign
) -> TableParameter:
    """Return a parameter with pseudo-counts that account for the weights of strata.

    A pseudo-count in a stratum is multiplied by the weight of a row of this stratum.
    """
    simple = rows.are_equal and design.share_covariance is None
    table = None if simple else stratified_table(parameter, rows, design)
    if table is None:
        return parameter
    return replace(parameter, pseudo_counts=table.pseudo_counts_by_cell(parameter.size))


def _possible_cells(parameter: TableParameter, label: int, units: Array) -> Array:
    """Return a mask of the table cells that are possible in a stratum.

    The last entry refers to rows on which the parameter does not depend. All rows of
    the stratum have the true label with code `label`, unless `label` is -1.
    """
    possible = np.ones(parameter.size + 1, dtype=bool)
    if parameter.components:
        functional: Any = parameter.functional
        pairs = zip(parameter.components, functional.components, strict=True)
        for base, component in pairs:
            cells = np.append(component.cells, base.size)
            possible &= _possible_cells(base, label, units)[cells]
        return possible
    if (parameter.index[units] == parameter.size).all():
        possible[:-1] = False
        return possible
    cell_map = parameter.cell_map
    if cell_map is None or label < 0:
        possible[-1] = False  # observed rows are added later
        return possible
    truth, answers = cell_map.symbols
    possible[:] = False
    possible[cell_map.cells[truth[label], np.unique(answers[answers >= 0])]] = True
    possible[-1] |= cell_map.subgroups is not None
    return possible
