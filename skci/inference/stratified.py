"""Tables of the rows within strata, where a parameter is of several of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.designs.design import SampleDesign
from skci.inference.parameter import MAX_ENUMERATED_CELLS, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import Component, without_negation
from skci.measures.stratified import Poststratified

_FEW = 5  # rows in a cell that do not show how common it is
_HEAVY = 2.0  # weight of the rows of a stratum over that of all that is large
_MATTERS = 0.1  # share of the variance that strata with few such rows may have
_NO_VARIANCE = 1e-12  # share of a possible variance that is zero up to rounding
_MOST_DERIVATIVES = MAX_ENUMERATED_CELLS**2  # of cells of a table, by cells of strata
_MOST_ROWS = 1e6  # of the sample behind shares, over those of all strata


@dataclass(frozen=True, eq=False)
class StratifiedTable:
    r"""Rows in the possible cells of each of H strata, and a functional of them.

    Where the shares of the strata are estimates, there is one sample more, of as many
    rows of the population as give shares with those standard errors.
    """

    functional: Poststratified
    counts: Array
    """Rows in each cell of each stratum; then, of estimated shares, in each stratum."""
    inside: Array
    """Which of the cells the parameter depends on; none of the last H."""
    numbers: Array
    """Number of each of the strata in the design."""
    row_weights: Array
    """Weight of a row of each stratum, over the mean weight."""
    ddof: int
    """1 where the rows were observed, 0 where they are those of a population."""

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return len(self.row_weights)

    @cached_property
    def varying(self) -> Array:
        """Numbers of the strata within which influence values differ."""
        counts = self.counts + self.pseudo_counts
        differ = self.functional(counts / counts.sum()).has_influence
        strata = self.functional.strata
        return self.numbers[np.unique(strata[differ[: len(strata)]])]

    @property
    def samples(self) -> Array:
        """Number of the independent sample that each cell is of."""
        return self.functional.samples

    @cached_property
    def sizes(self) -> Array:
        """Rows of each sample."""
        return np.bincount(self.samples, self.counts)

    def spread(self, rows: Array) -> Array:
        """Spread some rows of each stratum evenly over its possible cells."""
        n_cells = np.bincount(self.samples, self.inside)
        each = np.zeros(len(n_cells))
        each[: self.n_strata] = rows / n_cells[: self.n_strata]
        return self.inside * each[self.samples]

    @cached_property
    def pseudo_counts(self) -> Array:
        """Two rows in all, of the strata as many as their rows are."""
        sizes = self.sizes[: self.n_strata]
        return self.spread(2 * sizes / sizes.sum())

    def smoothing(self, size: int) -> Array:
        """Weighted pseudo-counts of the cells of a table without strata, (size,)."""
        strata = self.functional.strata
        added = self.pseudo_counts[: len(strata)] * self.row_weights[strata]
        return np.bincount(self.functional.functional.cells, added, size + 1)[:size]

    @cached_property
    def variance(self) -> float:
        """Variance of the estimate at the table with pseudo-counts."""
        variances, sizes = self._smoothed_variances.copy(), self.sizes[: self.n_strata]
        variances[: self.n_strata] *= sizes / np.maximum(sizes - self.ddof, 1)
        return float(variances.sum())

    @cached_property
    def design_effect(self) -> float:
        """The variance over that of multinomials of as many rows.

        It is above 1 since a stratum of n rows shows variance as n - 1 do.
        """
        total = float(self._smoothed_variances.sum())
        return self.variance / total if total else 1.0

    @cached_property
    def _smoothed_variances(self) -> Array:
        counts = self.counts + self.pseudo_counts
        return self._variances(counts, counts) / self.sizes

    def noise(self, z: float) -> float:
        r"""Variance due to strata that show none though their possible rows differ.

        That of Agresti and Coull (1998), with :math:`z^2` rows more, spread evenly over
        the possible cells of a stratum; with fewer in each of several strata that
        contribute to the standard error, so that their intervals combine as those of
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
        """Variances due to the samples, with some rows added to each stratum."""
        counts = self.counts + self.spread(np.full(self.n_strata, rows))
        return self._variances(counts, self.counts) / np.bincount(self.samples, counts)

    def _variances(self, counts: Array, at: Array) -> Array:
        """Variances within samples of the influence values at a table, by sample.

        An estimate has the sum of them, over the numbers of rows, for a variance.
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
    """Table by stratum of a parameter whose possible cells are known, and not too many.

    None for others, and without strata of independent rows.
    """
    if design.strata is None or not design.rows_are_units:
        return None
    size, bases = parameter.size, parameter.components or (parameter,)
    enumerated = np.any(parameter.smoothing) and size <= MAX_ENUMERATED_CELLS
    if not enumerated or any(base.extremes for base in bases):
        return None
    cells: list[Array] = []
    n_cells = 0
    numbers, counts, sizes, weights = [], [], [], []
    labels = design.labels_of_strata.tolist()
    for number, (label, units) in enumerate(zip(labels, design.units, strict=True)):
        observed = np.bincount(
            parameter.index[units], rows.frequencies[units], size + 1
        )
        possible = _possible_cells(parameter, label, units) | (observed > 0)
        if not possible[:size].any():
            continue
        numbers.append(number)
        cells.append(np.flatnonzero(possible))
        counts.append(observed[possible])
        sizes.append(observed.sum())
        weights.append(rows.weights[units].sum())
        n_cells += len(cells[-1])
        if n_cells * size > _MOST_DERIVATIVES:
            return None
    if not cells:
        return None
    cell, count = np.concatenate(cells), np.concatenate(counts)
    stratum = np.repeat(np.arange(len(cells)), [*map(len, cells)])
    inside, covariance = cell < size, design.share_covariance
    shares = np.array(weights) / np.sum(weights)
    known: Array | None = shares
    row_weights = shares / sizes * np.sum(sizes)
    if covariance is not None and len(covariance) == len(shares):
        n = (1 - shares @ shares) / np.trace(covariance)
        count = np.append(count, min(n, _MOST_ROWS * count.sum()) * shares)
        inside = np.append(inside, np.zeros(len(shares), dtype=bool))
        known = None
    component = Component(without_negation(parameter.functional), cell, size)
    mixed = Poststratified(component, stratum, known)
    return StratifiedTable(
        mixed, count, inside, np.array(numbers), row_weights, design.ddof
    )


def has_sparse_stratum(parameter: TableParameter, rows: Rows, design: Any) -> bool:
    """Whether few rows with a large weight tell how common a cell is in a stratum.

    Such strata matter if their part of the variance may be large, where a cell has one
    row more. The variance of a stratum is taken for that of the diversity of its cells.
    """
    strata, frequencies = design.strata, rows.frequencies
    n = np.bincount(strata, frequencies)
    present = n > 0
    shares = np.bincount(strata, rows.weights)[present] / rows.weights.sum()
    sums, squares, least = (
        each[present] for each in _sums_of_cells(parameter, rows, strata)
    )
    n = n[present]
    is_sparse = (shares > _HEAVY * n / n.sum()) & (least < _FEW)
    added = np.where(is_sparse, 2 * least + 1, 0)
    diversity = 1 - (squares + added) / np.maximum(sums + is_sparse, 1) ** 2
    variances = shares**2 * diversity / n
    return bool(variances[is_sparse].sum() > _MATTERS * variances.sum())


def _sums_of_cells(
    parameter: TableParameter, rows: Rows, strata: Array
) -> tuple[Array, Array, Array]:
    """Sums of the numbers of rows in the cells of each stratum, and of their squares.

    And the least number, of the cells in which some row of any stratum is.
    """
    inside = parameter.units
    pairs = strata[inside] * parameter.size + parameter.index[inside]
    pairs, number = np.unique(pairs, return_inverse=True)
    counts = np.bincount(number.ravel(), rows.frequencies[inside])
    pairs, counts = pairs[counts > 0], counts[counts > 0]
    stratum, n_strata = pairs // parameter.size, strata.max() + 1
    least = np.full(n_strata, np.inf)
    np.minimum.at(least, stratum, counts)
    n_cells = np.count_nonzero(parameter.counts > 0)
    least[np.bincount(stratum, minlength=n_strata) < n_cells] = 0
    sums, squares = (np.bincount(stratum, counts**k, n_strata) for k in (1, 2))
    return sums, squares, least


def smoothed_by_stratum(
    parameter: TableParameter, rows: Rows, design: SampleDesign
) -> TableParameter:
    """Weight the pseudo-counts of a parameter as the rows of the strata are."""
    simple = rows.are_equal and design.share_covariance is None
    table = None if simple else stratified_table(parameter, rows, design)
    if table is None:
        return parameter
    return replace(parameter, smoothing=table.smoothing(parameter.size))


def _possible_cells(parameter: TableParameter, label: int, units: Array) -> Array:
    """Cells that rows of a stratum can be in, and whether outside, (size + 1,).

    All its rows truly have the label, unless that is -1.
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
        possible[-1] = False  # unless there are such rows
        return possible
    truth, answers = cell_map.symbols
    possible[:] = False
    possible[cell_map.cells[truth[label], np.unique(answers[answers >= 0])]] = True
    possible[-1] |= cell_map.subgroups is not None
    return possible
