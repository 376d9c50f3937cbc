r"""Rows of which only sums are kept: of products of a few columns, or by group.

A row is a mixture of D cells: with columns :math:`x_i`, it belongs to them by
:math:`c_i = (1 - \sum_j x_{ij}, x_i)`, of either sign, which add up to 1. The influence
value of a smooth function of weighted means is linear in the columns, so that it is
:math:`c_i^T L` with the influence values L of the cells, and its variance follows from
the sums of the products of all pairs of the entries of :math:`w_i c_i`, whatever the
function is, and those add up.

References
----------
Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample
variance: analysis and recommendations. The American Statistician 37, 242-247.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skci._arrays import Array, dataclass
from skci.inference.designs.design import Component
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.influences import Influences
from skci.inference.rows import SAME_WEIGHT, Rows

_ROUNDING = 1e-11  # share of the largest possible variance that may be rounding


@dataclass(frozen=True, eq=False)
class SumsOfRows(Rows):
    """Rows as mixtures of D cells, which are the units, of weights of either sign."""

    are_mixtures: ClassVar[bool] = True
    products: Array = field(default_factory=lambda: np.ones((2, 1, 1)))
    r"""Sums over rows of :math:`w_i c_i c_i^T` and :math:`w_i^2 c_i c_i^T`, of shape
    (2, D, D)."""
    weight_range: tuple[float, float] = (1.0, 1.0)
    """Least and greatest weight of a row, times `scale`."""

    @classmethod
    def of_sums(
        cls,
        products: Array,
        n: float,
        weight_range: tuple[float, float],
        scale: float,
    ) -> SumsOfRows:
        """Rows with these sums."""
        weights = products[0].sum(axis=1)
        numbers = weights * (n / weights.sum())
        return cls(weights, None, numbers, scale, products, weight_range)

    @property
    def n(self) -> float:
        """Number of rows."""
        return float(self.frequencies.sum())

    @property
    def are_equal(self) -> bool:
        low, high = self.weight_range
        return high - low <= SAME_WEIGHT * high

    def are_equal_among(self, units: Any) -> bool:
        return self.are_equal

    @property
    def counts(self) -> Array:
        return self.frequencies

    @property
    def shares(self) -> Array:
        return np.full(len(self), 1 / self.n)

    def n_rows(self, units: Array) -> int:
        return self.n_samples

    def mean_square(self, influence: Array, counts: Array) -> float:
        products = self.products[0]
        return float(influence @ products @ influence / products.sum())

    def mapped(self, matrix: Array) -> SumsOfRows:
        """Rows of which A c are the cells."""
        products = _symmetric(matrix @ self.products @ matrix.T)
        return self.of_sums(products, self.n, self.weight_range, self.scale)

    def times(self, factor: float) -> SumsOfRows:
        products = self.products * factor ** np.array([[[1]], [[2]]])
        scale = self.scale / factor
        return self.of_sums(products, self.n, self.weight_range, scale)

    def times_rows(self, factor: float) -> SumsOfRows:
        """So many times the rows."""
        products, n = factor * self.products, factor * self.n
        return self.of_sums(products, n, self.weight_range, self.scale)

    def plus(self, other: SumsOfRows) -> SumsOfRows:
        """Rows of both, which have the same scale."""
        low, high = zip(self.weight_range, other.weight_range, strict=True)
        products, n = self.products + other.products, self.n + other.n
        return self.of_sums(products, n, (min(low), max(high)), self.scale)

    def per_row(self) -> Rows:
        raise ValueError(
            "reports of moments cannot be combined with others; keep the rows, by "
            "moments=False"
        )


class IndependentSums(IndependentRows):
    """Rows of which sums are kept, each of which is an independent unit."""

    pools_units = False

    def components(self, influences: Influences) -> Iterator[Component]:
        """Totals with the sums of products of those of the rows."""
        products = influences.rows.products[1]  # type: ignore[attr-defined]
        n, weight = self.n_units, influences.rows.weights.sum()
        pairs = zip(influences.values, influences.indices, strict=True)
        cells = np.transpose([values[index] for values, index in pairs]) / weight
        values, vectors = np.linalg.eigh(products)
        totals = np.sqrt(np.maximum(values, 0))[:, np.newaxis] * vectors.T @ cells
        possible = np.sqrt(np.maximum(products.diagonal(), 0)) @ np.abs(cells)
        totals[:, (totals**2).sum(axis=0) <= _ROUNDING * possible**2] = 0
        totals *= np.sqrt(n / max(n - self.ddof, 1))
        effective = weight**2 / products.sum()
        yield Component(totals, ddof=0, degrees_of_freedom=effective - 1)


def sums_of_rows(
    columns: Array, rows: Rows, design: Any
) -> tuple[SumsOfRows, IndependentSums | Clusters]:
    """Sum over the rows of a design, with columns of shape (D - 1, m)."""
    cells = np.vstack([1 - columns.sum(axis=0), columns])
    means = rows.weights / rows.frequencies * rows.scale
    weight_range = float(means.min()), float(means.max())
    powers = rows.weights[np.newaxis]
    if rows.powers is not None:
        powers = np.stack([rows.weights, rows.powers[0]])
    found = [(cells * power) @ cells.T for power in powers]  # equal without weights
    products = _symmetric(np.broadcast_to(found, (2, len(cells), len(cells))))
    sums = SumsOfRows.of_sums(products, rows.n_samples, weight_range, rows.scale)
    return sums, _design_of_sums(design, cells, rows.n_samples)


@singledispatch
def _design_of_sums(design: Any, cells: Array, n: int) -> Any:
    """Design of sums over n rows, given the cells of the units."""
    return IndependentSums(n)


@_design_of_sums.register
def _(design: Clusters, cells: Array, n: int) -> Clusters:
    keys = design.keys[design.number[design.starts]]
    terms = cells[:, design.unit] * design.weights
    return clusters(keys, np.add.reduceat(terms, design.starts, axis=1).T)


@singledispatch
def mapped_design(design: Any, matrix: Array) -> Any:
    """Design of rows of which A c are the cells."""
    return design


@mapped_design.register
def _(design: Clusters, matrix: Array) -> Clusters:
    totals = design.weights.reshape(-1, matrix.shape[1])
    return clusters(design.keys, totals @ matrix.T)


def clusters(keys: Array, totals: Array) -> Clusters:
    """Clusters of rows with sums of :math:`w_i c_i`, of shape (clusters, D)."""
    number, unit = np.indices(totals.shape).reshape(2, -1)
    return Clusters(number, unit, totals.ravel(), keys)


def _symmetric(matrices: ArrayLike) -> Array:
    """Means of matrices and their transposes, which differ by rounding."""
    matrices = np.asarray(matrices)
    return (matrices + matrices.swapaxes(1, 2)) / 2
