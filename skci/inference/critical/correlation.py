"""Correlation matrices: estimated, shrunk, validated and factorised."""

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from skci._arrays import Array
from skci._validation import as_array

ROUNDING = 1e-8
"""Largest rounding error of an entry of a correlation matrix."""

_ZERO = 1e-10  # eigenvalues and pivots below this are zero
_NOISE = 0.01  # smallest independent variance that is separated
_SHIFT = 1e-9  # distance kept from an estimated eigenvalue
_EIGEN = 512  # largest matrix that is factored through all eigenvectors
_LEADING = 128  # number of leading components of a larger matrix of full rank
_BLOCK, _ROWS = 1 << 16, 128  # size of a temporary array, and its fewest rows
_LITTLE_SHRINKAGE = 0.01  # share below which it changes no critical value


def blocks(number: int, width: int) -> list[slice]:
    """Slices of rows of a given width that bound the size of temporary arrays."""
    rows = max(_ROWS, _BLOCK // width)
    return [slice(row, min(row + rows, number)) for row in range(0, number, rows)]


def is_diagonal(correlation: Array) -> bool:
    """Whether all coordinates are uncorrelated, up to rounding."""
    size = len(correlation)
    for rows in blocks(size, size):
        if np.abs(np.triu(correlation[rows], rows.start + 1)).max() >= ROUNDING:
            return False
    return True


def correlation_from(covariance: Array) -> Array:
    """Scale a covariance to a correlation; zero where there is no variance."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, np.inf)
    correlation: Array = np.multiply.outer(scale, scale)
    np.divide(covariance, correlation, out=correlation)
    np.clip(correlation, -1, 1, out=correlation)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def shrink_correlation(correlation: Array, df: Array) -> Array:
    r"""Shrink an estimated correlation towards independence, if its errors matter.

    .. math:: r_{jk}^* = (1 - \lambda) r_{jk} , \quad \lambda =
        \frac{\sum_{j < k} (1 - r_{jk}^2)^2 / \nu_{jk}}{\sum_{j < k} r_{jk}^2}

    for degrees of freedom :math:`\nu_{jk}`, the geometric mean of those of both
    variances. An estimate of many correlations has at most as many directions as
    degrees of freedom, so that its maximum has too small a quantile; shrinkage by
    :math:`\lambda`, estimated, has the least mean squared error [1]_.

    Parameters
    ----------
    correlation : ndarray of shape (K, K)
    df : ndarray of shape (K,)
        Degrees of freedom of the variances.

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
    errors = root @ (1 - squares) ** 2 @ root  # of the diagonal are zero
    total = squares.sum() - len(squares)
    share = errors / total if errors < total else 1.0
    if share < _LITTLE_SHRINKAGE:
        return correlation
    shrunk: Array = (1 - share) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def check_correlation(correlation: Any) -> Array:
    """Check a correlation matrix, and remove the rounding of its entries."""
    must = "correlation must be"
    given: Array = (
        np.asarray(correlation)
        if np.isscalar(correlation)
        else as_array(correlation, "correlation", "a matrix of numbers")
    )
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{must} a matrix of numbers, got values of type {given.dtype}")
    matrix: Array = np.atleast_2d(given.astype(float, copy=False))
    size = len(matrix)
    if matrix.shape != (size, size) or not size:
        raise ValueError(f"{must} a square matrix, got shape {given.shape}")
    _check_entries(matrix, must)
    matrix = (matrix + matrix.T) / 2
    np.clip(matrix, -1, 1, out=matrix)
    np.fill_diagonal(matrix, 1 + size * ROUNDING)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(matrix)[0] - size * ROUNDING
        raise ValueError(
            f"{must} positive semidefinite, got an eigenvalue of {least:.2g}"
        ) from None
    np.fill_diagonal(matrix, 1)
    return matrix


def _check_entries(matrix: Array, must: str) -> None:
    """Check that entries are finite, symmetric, at most 1 and 1 on the diagonal."""
    for rows in blocks(len(matrix), len(matrix)):
        block = matrix[rows]
        diagonal = np.eye(len(block), len(matrix), rows.start, dtype=bool)
        with np.errstate(invalid="ignore"):
            requirements = {
                "finite": ~np.isfinite(block),
                "1 on the diagonal": diagonal & (np.abs(block - 1) > ROUNDING),
                "within [-1, 1]": np.abs(block) > 1 + ROUNDING,
                "symmetric": np.abs(block - matrix[:, rows].T) > ROUNDING,
            }
        for requirement, violated in requirements.items():
            if violated.any():
                i, j = np.argwhere(violated)[0] + [rows.start, 0]
                value = matrix[i, j]
                raise ValueError(f"{must} {requirement}, got {value} at [{i}, {j}]")


def _pivoted_cholesky(correlation: Array, tol: float = _ZERO) -> Array:
    """Factor L with R = L L^T, of shape (K, r), stopping at the numerical rank r.

    Raises LinAlgError if R is not positive semidefinite.
    """
    # The transpose is the same matrix in the memory order of LAPACK.
    lower, pivots, rank, _ = linalg.lapack.dpstrf(correlation.T, tol=tol, lower=1)
    for column in range(1, rank):
        lower[:column, column] = 0
    loadings = lower[np.argsort(pivots), :rank]
    # If R is indefinite, L L^T differs from it in the rows not reached.
    remaining = pivots[rank:] - 1
    for block in blocks(len(remaining), len(correlation)):
        rows = remaining[block]
        remainder = correlation[rows] - loadings[rows] @ loadings.T
        if np.abs(remainder).max() > len(correlation) * ROUNDING:
            raise np.linalg.LinAlgError("not positive semidefinite")
    return loadings


def covariance_factor(covariance: Array) -> Array:
    """Factor F of a covariance F F^T, which is indefinite by rounding at most."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def factor(correlation: Array, separate_noise: bool) -> tuple[Array, float]:
    """Loadings B and noise d with R = B B^T + d I, leading components first.

    Quasi-random points are best in their first coordinates. Beyond size 512 a pivoted
    Cholesky factor replaces eigenvectors: of R or, beyond rank K/2, of the remainder.
    """
    size, noise = len(correlation), 0.0
    if size <= _EIGEN:
        values, vectors = np.linalg.eigh(correlation)
        if separate_noise and values[0] > _NOISE:
            noise = float(values[0])
        keep = np.flatnonzero(values - noise > _ZERO)[::-1]
        loadings = vectors[:, keep] * np.sqrt(values[keep] - noise)
    elif separate_noise and (noise := _least_eigenvalue(correlation)):
        loadings = _full_rank(correlation, noise)
    elif (cholesky := _pivoted_cholesky(correlation)).shape[1] <= size // 2:
        loadings = principal(cholesky)
    else:
        loadings = _full_rank(correlation, 0.0)
    loadings *= np.sqrt(1 - noise) / np.linalg.norm(loadings, axis=1, keepdims=True)
    return loadings, noise


def principal(loadings: Array) -> Array:
    """Rotate loadings to principal components in descending order."""
    return loadings @ principal_axes(loadings.T @ loadings)


def principal_axes(products: Array) -> Array:
    """Principal axes of the sums of products of loadings, in descending order."""
    values, vectors = np.linalg.eigh(products)
    return vectors[:, values > _ZERO][:, ::-1]


def _full_rank(correlation: Array, noise: float) -> Array:
    """Factor R - d I: leading components by subspace iteration, then Cholesky."""
    remainder = correlation.copy()
    remainder.flat[:: len(correlation) + 1] -= noise
    basis = np.random.default_rng(0).standard_normal((len(correlation), _LEADING))
    for _ in range(3):
        basis = np.linalg.qr(remainder @ basis)[0]
    product = remainder @ basis
    values, vectors = np.linalg.eigh(basis.T @ product)
    keep = values > 1e-6
    leading = product @ (vectors[:, keep] / np.sqrt(values[keep]))  # Nystroem
    remainder -= leading @ leading.T
    return np.hstack([principal(leading), _pivoted_cholesky(remainder, 10 * _SHIFT)])


def _least_eigenvalue(correlation: Array) -> float:
    """Lower bound of the least eigenvalue by Lanczos's method; 0 if below 0.01."""
    size = len(correlation)
    # The transpose is the same matrix in the memory order of LAPACK.
    lower, singular = linalg.lapack.dpotrf(correlation.T, lower=1)
    if singular:
        return 0.0

    def solve(vector: Array) -> Array:
        solution: Array = linalg.lapack.dpotrs(lower, vector, lower=1)[0]
        return solution

    inverse = LinearOperator((size, size), matvec=solve, dtype=float)
    start = np.random.default_rng(0).standard_normal(size)
    (largest,) = eigsh(inverse, 1, v0=start, tol=1e-6, return_eigenvectors=False)
    value = 1 / float(largest)
    while value > _NOISE:
        value -= _SHIFT
        shifted = correlation.copy()
        shifted.flat[:: size + 1] -= value
        if not linalg.lapack.dpotrf(shifted.T, lower=1, overwrite_a=1)[1]:
            return value
        value *= 0.9
    return 0.0
