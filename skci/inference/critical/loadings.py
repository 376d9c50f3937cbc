"""Loadings of many coordinates on few factors."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property
from skci.inference.critical.correlation import blocks, principal_axes

_COSTLY = 1 << 15  # size of loadings that are projected in single precision
_ROUNDED = 1 << 15  # distinct correlations on either side of 0


class Loadings:
    """Loadings B of K coordinates on r factors, z = B y with standard normal y.

    Of many combinations of few coordinates, such as the differences of all pairs,
    ``B = C F`` is not computed, but projected on in two steps.

    Parameters
    ----------
    factor : array of shape (R, r)
        F, or B itself.
    combinations : sparse array of shape (K, R), optional
        C; the identity if not given.
    """

    def __init__(
        self, factor: Array, combinations: sparse.csr_array | None = None
    ) -> None:
        self.factor, self.combinations = factor, combinations

    @property
    def size(self) -> int:
        """Number K of coordinates."""
        of = self.factor if self.combinations is None else self.combinations
        return int(of.shape[0])

    @property
    def cost(self) -> int:
        """Number of multiplications of a projection."""
        added = 0 if self.combinations is None else self.combinations.nnz
        return int(self.factor.size + added)

    @property
    def rank(self) -> int:
        """Number r of factors."""
        return int(self.factor.shape[1])

    def rows(self, positions: Array) -> Array:
        """Loadings of some coordinates, (n, r)."""
        if self.combinations is None:
            return self.factor[positions]
        return self.combinations[positions] @ self.factor

    def taken(self, positions: Array) -> Loadings:
        """Loadings of some coordinates, in their order; in one step if they are few."""
        if self.combinations is None or len(positions) <= len(self.factor):
            return Loadings(self.rows(positions))
        return Loadings(self.factor, self.combinations[positions])

    @cached_property
    def variances(self) -> Array:
        """Sums of squares of the loadings of each coordinate, (K,)."""
        if self.combinations is None:
            return np.einsum("kr,kr->k", self.factor, self.factor)
        return variances_of(self.combinations, self.factor @ self.factor.T)

    def standardised(self) -> Loadings:
        """Divide the loadings of each coordinate by its standard deviation."""
        scales = 1 / np.sqrt(self.variances)
        if self.combinations is None:
            return Loadings(self.factor * scales[:, np.newaxis])
        scaled = self.combinations.copy()
        scaled.data = scaled.data * np.repeat(scales, np.diff(scaled.indptr))
        return Loadings(self.factor, scaled)

    def principal(self) -> Loadings:
        """Rotate to principal components in descending order."""
        if self.combinations is None:
            products = self.factor.T @ self.factor
        else:
            inner = (self.combinations.T @ self.combinations).toarray()
            products = self.factor.T @ inner @ self.factor
        return Loadings(self.factor @ principal_axes(products), self.combinations)

    def project(self, y: Array) -> Array:
        """Coordinates B y of n vectors, (n, K).

        In single precision where that is costly: it moves quantiles by some 1e-8.
        """
        factor, combinations = self._projected
        y = y.astype(factor.dtype, copy=False)
        if combinations is None:
            return y @ factor.T
        found: Array = combinations @ (factor @ y.T)
        return found.T

    @cached_property
    def _projected(self) -> tuple[Array, sparse.csr_array | None]:
        if self.size * self.rank <= _COSTLY:
            return self.factor, self.combinations
        combinations = self.combinations
        if combinations is not None:
            combinations = combinations.astype(np.float32)
        return self.factor.astype(np.float32), combinations

    def correlations(self) -> tuple[Array, Array]:
        """Correlations of all pairs of standardised coordinates, and their numbers.

        They are rounded to a grid.
        """
        counts = np.zeros(2 * _ROUNDED + 1, dtype=np.int64)
        for rows in blocks(self.size, self.size):
            coordinates = np.arange(rows.start, self.size)
            those = coordinates[: rows.stop - rows.start]
            rho = self.taken(coordinates).project(self.rows(those))
            cells = np.rint((np.clip(rho, -1, 1) + 1) * _ROUNDED).astype(np.int32)
            counts += np.bincount(cells.ravel("K"), minlength=len(counts))
            twice = cells[np.tril_indices(len(those))]  # each pair counts once
            counts -= np.bincount(twice, minlength=len(counts))
        return np.linspace(-1, 1, len(counts)), counts


def variances_of(combinations: sparse.csr_array, covariance: Array) -> Array:
    """Variances of K combinations of coordinates with a covariance, (K,)."""
    products = combinations.multiply(combinations @ covariance)
    return np.asarray(products.sum(axis=1)).ravel()


def differences_of(factor: Array, first: Array, second: Array) -> Loadings:
    """Loadings of first less second of coordinates whose loadings are a factor."""
    size = len(first)
    signs = np.repeat([1.0, -1.0], size)
    places = np.tile(np.arange(size), 2), np.concatenate([first, second])
    return Loadings(factor, sparse.csr_array((signs, places), (size, len(factor))))
