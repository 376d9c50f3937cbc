"""Correlation of estimates, from their covariance and its degrees of freedom."""

from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.critical.loadings import Loadings

_LITTLE_SHRINKAGE = 0.01  # share below which shrinkage changes no critical value


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
    share = _shrinkage(correlation**2, slice(None), df)
    if not share:
        return correlation
    shrunk: Array = (1 - share) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def shrinkage_of_loadings(loadings: Loadings, df: Array) -> float:
    """Share by which the correlation with some loadings is to be shrunk.

    Of many coordinates it is estimated from evenly spaced ones and all others.
    """
    if np.isinf(df).all():
        return 0.0
    return _shrinkage(*loadings.squared_correlations(), df)


def _shrinkage(squares: Array, rows: Any, df: Array) -> float:
    """Share by which to shrink, from the squares of rows of the correlation."""
    root = 1 / np.sqrt(df)
    errors = root[rows] @ (1 - squares) ** 2 @ root  # of the diagonal are zero
    total = squares.sum() - len(squares)
    share = float(errors / total) if errors < total else 1.0
    return share if share >= _LITTLE_SHRINKAGE else 0.0
