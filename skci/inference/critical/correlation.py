"""Correlation matrices: shrinkage, validation, factorisation and loadings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from skci._arrays import Array, cached_property
from skci._validation import as_array

ROUNDING = 1e-8
"""Largest rounding error of an entry of a correlation matrix."""

_ZERO = 1e-10  # eigenvalues and pivots below this count as zero
_NOISE = 0.01  # smallest independent variance that is split off
_EIGEN = 512  # largest size of matrices that are not tested for a low rank
_SPECTRUM = 1024  # largest size of matrices whose eigenvectors are all computed
_LEADING = 62  # number of eigenvectors computed for larger matrices
_RITZ = 1e-6  # tolerance of these eigenvectors; the residual is factorised exactly
_BLOCK, _ROWS = 1 << 16, 128  # size of a temporary array; minimum number of rows
_COSTLY = 1 << 15  # size of loadings above which projections use single precision
_ROUNDED = 1 << 15  # grid points of correlations on either side of 0
_LITTLE_SHRINKAGE = 0.01  # shrinkage below which critical values do not change


def blocks(number: int, width: int) -> list[slice]:
    """Divide the rows of an array into slices, to limit the use of memory.

    If the array has many columns (`width`), each slice has fewer rows.
    """
    starts = range(0, number, max(_ROWS, _BLOCK // width))
    return [*map(slice, starts, [*starts[1:], number])]


def is_diagonal(correlation: Array) -> bool:
    """Return whether all correlations are zero within rounding error."""
    size = len(correlation)
    for rows in blocks(size, size):
        if np.abs(np.triu(correlation[rows], rows.start + 1)).max() >= ROUNDING:
            return False
    return True


def correlation_from(covariance: Array) -> Array:
    """Convert a covariance matrix to a correlation matrix.

    Coordinates without variance have correlation 0 with all other coordinates.
    """
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, np.inf)
    correlation: Array = np.multiply.outer(scale, scale)
    np.divide(covariance, correlation, out=correlation)
    np.clip(correlation, -1, 1, out=correlation)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def shrink_correlation(correlation: Array, df: Array) -> Array:
    r"""Shrink an estimated correlation towards independence.

    .. math:: r_{jk}^* = (1 - \lambda) r_{jk} , \quad \lambda =
        \frac{\sum_{j < k} (1 - r_{jk}^2)^2 / \nu_{jk}}{\sum_{j < k} r_{jk}^2}

    where :math:`\nu_{jk}` is the geometric mean of the degrees of freedom of both
    variances. The rank of an estimated correlation matrix is at most its degrees of
    freedom, so that quantiles of the maximum are too small. Shrinkage by
    :math:`\lambda`, which is estimated, minimises the mean squared error [1]_. If
    :math:`\lambda < 0.01`, the correlation is returned unchanged.

    Parameters
    ----------
    correlation : ndarray of shape (K, K)
    df : ndarray of shape (K,)
        Degrees of freedom of the estimated variances.

    Returns
    -------
    ndarray of shape (K, K)

    References
    ----------
    .. [1] Schaefer and Strimmer (2005). A shrinkage approach to large-scale covariance
       matrix estimation. Statistical Applications in Genetics and Molecular Biology 4,
       article 32.
    """
    if np.isinf(df).all():
        return correlation
    squares, root = correlation**2, 1 / np.sqrt(df)
    errors = root @ (1 - squares) ** 2 @ root  # zero on the diagonal
    total = squares.sum() - len(squares)
    share = errors / total if errors < total else 1.0
    if share < _LITTLE_SHRINKAGE:
        return correlation
    shrunk: Array = (1 - share) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def check_correlation(correlation: Any) -> Array:
    """Check a correlation matrix, and return it without rounding errors."""
    array: Array = (
        np.asarray(correlation)
        if np.isscalar(correlation)
        else as_array(correlation, "correlation", "a matrix of numbers")
    )
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"correlation must be a matrix of numbers, got values of type {array.dtype}"
        )
    matrix: Array = np.atleast_2d(array.astype(float, copy=False))
    size = len(matrix)
    if matrix.shape != (size, size) or not size:
        raise ValueError(
            f"correlation must be a square matrix, got shape {array.shape}"
        )
    with np.errstate(invalid="ignore"):
        requirements = {
            "finite": ~np.isfinite(matrix),
            "1 on the diagonal": np.diag(np.abs(np.diag(matrix) - 1) > ROUNDING),
            "within [-1, 1]": np.abs(matrix) > 1 + ROUNDING,
            "symmetric": np.abs(matrix - matrix.T) > ROUNDING,
        }
    for requirement, violated in requirements.items():
        if violated.any():
            i, j = np.argwhere(violated)[0]
            raise ValueError(
                f"correlation must be {requirement}, got {matrix[i, j]} at [{i}, {j}]"
            )
    matrix = (matrix + matrix.T) / 2
    np.clip(matrix, -1, 1, out=matrix)
    np.fill_diagonal(matrix, 1 + size * ROUNDING)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(matrix)[0] - size * ROUNDING
        raise ValueError(
            "correlation must be positive semidefinite, got an eigenvalue of "
            f"{smallest:.2g}"
        ) from None
    np.fill_diagonal(matrix, 1)
    return matrix


def covariance_factor(covariance: Array) -> Array:
    """Return a matrix F such that F F^T is the given covariance.

    Negative eigenvalues of the covariance are treated as rounding errors.
    """
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def factor(correlation: Array, separate_noise: bool) -> tuple[Array, float]:
    """Factor a correlation matrix R into loadings B and a noise variance d.

    R equals B B^T plus d times the identity. Leading principal components come first,
    because quasi-random points are most uniform in their first coordinates. Large
    matrices are factored without a full eigendecomposition.
    """
    size, noise = len(correlation), 0.0
    if size > _EIGEN and (reduced := _pivoted_cholesky(correlation, size // 2)).size:
        loadings = reduced @ principal_axes(reduced.T @ reduced)
    elif size > _SPECTRUM and not (separate_noise and _has_noise(correlation)):
        values, vectors = sparse.linalg.eigsh(
            correlation, _LEADING, v0=np.ones(size), tol=_RITZ
        )
        leading = (vectors * np.sqrt(values))[:, ::-1]
        rest = correlation - leading @ leading.T
        loadings = np.hstack([leading, _pivoted_cholesky(rest, size)])
    else:
        values, vectors = np.linalg.eigh(correlation)
        if separate_noise and values[0] > _NOISE:
            noise = float(values[0])
        keep = np.flatnonzero(values - noise > _ZERO)[::-1]
        loadings = vectors[:, keep] * np.sqrt(values[keep] - noise)
    loadings *= np.sqrt(1 - noise) / np.linalg.norm(loadings, axis=1, keepdims=True)
    return loadings, noise


def _has_noise(correlation: Array) -> bool:
    """Return whether all eigenvalues of a correlation matrix exceed `_NOISE`."""
    reduced = correlation - _NOISE * np.eye(len(correlation))
    return bool(linalg.lapack.dpotrf(reduced.T, overwrite_a=True)[1] == 0)


def _pivoted_cholesky(covariance: Array, max_rank: int) -> Array:
    """Return the pivoted Cholesky factor L of a covariance matrix L L^T.

    L has shape (K, r). If the rank r exceeds `max_rank`, an array without columns is
    returned.
    """
    # The transpose is the same matrix, and has LAPACK's memory order.
    lower, pivots, rank, _ = linalg.lapack.dpstrf(covariance.T, tol=_ZERO, lower=1)
    if rank > max_rank:
        return lower[:, :0]
    for column in range(1, rank):
        lower[:column, column] = 0
    return lower[np.argsort(pivots), :rank]


def principal_axes(products: Array) -> Array:
    """Return the eigenvectors with positive eigenvalues, largest eigenvalue first."""
    values, vectors = np.linalg.eigh(products)
    return vectors[:, values > _ZERO][:, ::-1]


class Loadings:
    """Loadings B of a factor model z = B y, with K coordinates z and r factors y.

    The factors are independent standard normal variables. If the coordinates are many
    linear combinations of few variables, such as all pairwise differences, B is stored
    as a product C F of two smaller matrices.

    Parameters
    ----------
    factor : array of shape (R, r)
        Matrix F. Without `combinations`, F is the matrix B of factor loadings. With
        `combinations`, B is the product C F.
    combinations : sparse array of shape (K, R), optional
        Matrix C of the linear combinations. By default, C is the identity.
    """

    def __init__(
        self, factor: Array, combinations: sparse.csr_array | None = None
    ) -> None:
        self.factor, self.combinations = factor, combinations

    @property
    def size(self) -> int:
        """Number K of coordinates z in the factor model."""
        matrix = self.factor if self.combinations is None else self.combinations
        return int(matrix.shape[0])

    @property
    def cost(self) -> int:
        """Number of multiplications that one matrix-vector product B y needs."""
        added = 0 if self.combinations is None else self.combinations.nnz
        return int(self.factor.size + added)

    @property
    def rank(self) -> int:
        """Number r of factors y in the factor model."""
        return int(self.factor.shape[1])

    def rows(self, positions: Array) -> Array:
        """Return the rows of the loading matrix B with the given indices."""
        if self.combinations is None:
            return self.factor[positions]
        return self.combinations[positions] @ self.factor

    def take(self, positions: Array) -> Loadings:
        """Return the loadings of the coordinates at the given positions."""
        if self.combinations is None or len(positions) <= len(self.factor):
            return Loadings(self.rows(positions))
        return Loadings(self.factor, self.combinations[positions])

    def standardised(self) -> Loadings:
        """Return the loadings after each coordinate is rescaled to variance 1.

        The factors are replaced by principal components, in descending order of
        variance.
        """
        factor, combinations = self.factor, self.combinations
        if combinations is None:
            variances = np.einsum("kr,kr->k", factor, factor)
            factor = factor * (1 / np.sqrt(variances))[:, np.newaxis]
            products = factor.T @ factor
        else:
            scales = 1 / np.sqrt(variances_of(combinations, factor @ factor.T))
            combinations = combinations.copy()
            lengths = np.diff(combinations.indptr)
            combinations.data = combinations.data * np.repeat(scales, lengths)
            inner = (combinations.T @ combinations).toarray()
            products = factor.T @ inner @ factor
        return Loadings(factor @ principal_axes(products), combinations)

    def project(self, y: Array) -> Array:
        """Multiply each row y of an array of shape (n, r) by the loading matrix B.

        The result has shape (n, K). Large matrices are multiplied in single precision,
        which changes quantiles by about 1e-8.
        """
        factor, combinations = self._projected
        y = y.astype(factor.dtype, copy=False)
        if combinations is None:
            return y @ factor.T
        coordinates: Array = combinations @ (factor @ y.T)
        return coordinates.T

    @cached_property
    def _projected(self) -> tuple[Array, sparse.csr_array | None]:
        if self.size * self.rank <= _COSTLY:
            return self.factor, self.combinations
        combinations = self.combinations
        if combinations is not None:
            combinations = combinations.astype(np.float32)
        return self.factor.astype(np.float32), combinations

    def correlations(self) -> tuple[Array, Array]:
        """Compute a histogram of the correlations of all pairs of coordinates.

        Returns grid points, and the number of pairs at each grid point. Each
        correlation is rounded to the nearest grid point.
        """
        counts = np.zeros(2 * _ROUNDED + 1, dtype=np.int64)
        for rows in blocks(self.size, self.size):
            coordinates = np.arange(rows.start, self.size)
            first_coordinates = coordinates[: rows.stop - rows.start]
            rho = self.take(coordinates).project(self.rows(first_coordinates))
            cells = np.rint((np.clip(rho, -1, 1) + 1) * _ROUNDED).astype(np.int32)
            counts += np.bincount(cells.ravel("K"), minlength=len(counts))
            twice = np.tril_indices(len(first_coordinates))  # each pair counts once
            counts -= np.bincount(cells[twice], minlength=len(counts))
        return np.linspace(-1, 1, len(counts)), counts


def variances_of(combinations: sparse.csr_array, covariance: Array) -> Array:
    """Return the variances of linear combinations of correlated variables."""
    products = combinations.multiply(combinations @ covariance)
    return np.asarray(products.sum(axis=1)).ravel()


def differences_of(factor: Array, first: Array, second: Array) -> Loadings:
    """Return the loadings of the differences ``z[first] - z[second]``.

    The rows of `factor` are the loadings of z.
    """
    size = len(first)
    signs = np.repeat([1.0, -1.0], size)
    positions = np.tile(np.arange(size), 2), np.concatenate([first, second])
    return Loadings(factor, sparse.csr_array((signs, positions), (size, len(factor))))
