r"""Moments of estimates from resampling: estimates, covariance, degrees of freedom.

An estimate is a vector of K measures: of several metrics of several learners, computed
on the same splits of the data, so that their covariance is estimated as well.
"""

from typing import NamedTuple

import numpy as np

from skci._arrays import Array

_LEAST_SHARE = 0.25  # of a variance that stays when the noise of partitions is removed
_RANK = 1e-10  # relative eigenvalue that is zero up to rounding


class ResampledMoments(NamedTuple):
    """Estimates (K,), their covariance (K, K) and its degrees of freedom."""

    estimates: Array
    covariance: Array
    df: float = np.inf


def fold_t(values: Array) -> ResampledMoments:
    r"""Moments of the mean over J splits, taken to be independent.

    The covariance S / J, S the sample covariance of the splits, ignores that training
    sets overlap, and is too small.
    """
    return corrected_t(values, 0.0)


def corrected_t(values: Array, test_over_train: float) -> ResampledMoments:
    r"""Moments of the mean over J splits (Nadeau and Bengio, 2003).

    .. math:: V = \Big(\frac{1}{J} + \frac{n_2}{n_1}\Big) S

    with S the sample covariance of the splits, :math:`n_1` rows of which train and
    :math:`n_2` test, and :math:`J - 1` degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (J, K)
        Estimates on each of J splits.
    test_over_train : float
        Ratio :math:`n_2 / n_1`.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Nadeau and Bengio (2003). Machine Learning 52, 239-281.
    """
    n_splits = len(values)
    spread = _sample_covariance(values)
    covariance = (1 / n_splits + test_over_train) * spread
    return ResampledMoments(values.mean(axis=0), covariance, n_splits - 1)


def conservative_z(values: Array, halves: Array) -> ResampledMoments:
    r"""Moments of resampled estimates, with a variance from pairs of disjoint halves.

    .. math:: V = \frac{1}{2 R} \sum_r (m_{r1} - m_{r2}) (m_{r1} - m_{r2})^T

    Each half is resampled as all rows are. It is conservative because halves, which are
    smaller, vary more.

    Parameters
    ----------
    values : ndarray of shape (M, K)
        Estimates from all rows, of which the mean is taken.
    halves : ndarray of shape (R, 2, K)
        Estimates from each half of R random divisions.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Nadeau and Bengio (2003). Machine Learning 52, 239-281.
    """
    differences = halves[:, 0] - halves[:, 1]
    covariance = differences.T @ differences / (2 * len(differences))
    return ResampledMoments(values.mean(axis=0), covariance)


def group_jackknife(values: Array, left_out: Array) -> ResampledMoments:
    r"""Moments of cross-validated estimates from leaving out groups of rows.

    In each of P random partitions of the rows in G groups the cross-validation is
    repeated without one group k,

    .. math:: V = \frac{1}{P} \sum_p \frac{G - 1}{G} \sum_k
        (m_{p(-k)} - \bar m_p) (m_{p(-k)} - \bar m_p)^T,

    so that groups that train and test together vary together. Without the factor
    :math:`(G - 1) / G` the sum is not below the variance in expectation, whatever the
    learner and the measure [1]_. The mean over partitions varies less than the estimate
    of one does, by the part :math:`1 - 1/P` of their sample covariance, which is
    subtracted; at least a quarter of the variance stays in every direction. The degrees
    of freedom are :math:`P (G - 1)`.

    Parameters
    ----------
    values : ndarray of shape (P, K)
        Estimates from all rows in each partition.
    left_out : ndarray of shape (P, G, K)
        Estimates without each of the groups.

    Returns
    -------
    ResampledMoments

    References
    ----------
    .. [1] Efron and Stein (1981). The jackknife estimate of variance. Annals of
       Statistics 9, 586-596.
    """
    n_partitions, n_groups, _ = left_out.shape
    deviations = left_out - left_out.mean(axis=1, keepdims=True)
    products = np.einsum("pgj,pgk->jk", deviations, deviations)
    covariance = (n_groups - 1) / n_groups * products / n_partitions
    if n_partitions > 1:
        noise = (1 - 1 / n_partitions) * _sample_covariance(values)
        covariance = _subtract(covariance, noise)
    df = n_partitions * (n_groups - 1)
    return ResampledMoments(values.mean(axis=0), covariance, df)


def nested(
    values: Array,
    inner: Array,
    outer: Array,
    test_covariance: Array,
    row_covariance: Array,
) -> ResampledMoments:
    r"""Moments of nested cross-validation (Bates, Hastie and Tibshirani, 2024).

    .. math:: V = \frac{K - 1}{K} \Big(\overline{(m_{in} - m_{out})
        (m_{in} - m_{out})^T} - \overline{V_{out}}\Big)

    over all folds of all partitions in K folds, :math:`m_{out}` of a test fold with
    covariance :math:`V_{out}` given its model, and :math:`m_{in}` of the
    cross-validation of the other folds. Standard errors are kept between those of n
    independent rows and :math:`\sqrt K` times as much. The estimate is corrected for
    the bias that smaller training sets cause.

    Parameters
    ----------
    values : ndarray of shape (P, M)
        Estimates of M means of losses from the cross-validation of all rows.
    inner, outer : ndarray of shape (P, K, M)
    test_covariance : ndarray of shape (P, K, M, M)
    row_covariance : ndarray of shape (M, M)
        Covariance of the means over all rows, as if they were independent.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Bates, Hastie and Tibshirani (2024). Cross-validation: what does it estimate and how
    well does it do it? Journal of the American Statistical Association 119, 1434-1445.
    """
    n_folds = inner.shape[1]
    differences = (inner - outer).reshape(-1, inner.shape[-1])
    products = differences.T @ differences / len(differences)
    error = products - test_covariance.mean(axis=(0, 1))
    covariance = _positive((n_folds - 1) / n_folds * error)
    least = np.sqrt(row_covariance.diagonal())
    deviations = np.sqrt(covariance.diagonal())
    bounded = np.clip(deviations, least, np.sqrt(n_folds) * least)
    scale = np.divide(
        bounded, deviations, out=np.zeros_like(bounded), where=deviations > 0
    )
    covariance = covariance * np.outer(scale, scale)
    # What shows no excess variance is as certain as its rows make it.
    flat = np.flatnonzero(deviations == 0)
    covariance[flat, flat] = bounded[flat] ** 2
    cross_validated, of_inner = values.mean(axis=0), inner.mean(axis=(0, 1))
    bias = (1 + (n_folds - 2) / n_folds) * (of_inner - cross_validated)
    return ResampledMoments(of_inner - bias, covariance)


def _sample_covariance(values: Array) -> Array:
    """Sample covariance of rows, (K, K)."""
    deviations = values - values.mean(axis=0)
    covariance: Array = deviations.T @ deviations / (len(values) - 1)
    return covariance


def _subtract(covariance: Array, noise: Array) -> Array:
    """Subtract noise, and leave a share of the variance in every direction."""
    scale, eigenvalues, directions = _principal_axes(covariance)
    positive = eigenvalues > _RANK * eigenvalues.max(initial=0)
    deviations, directions = np.sqrt(eigenvalues[positive]), directions[:, positive]
    whitener = directions / deviations / scale[:, np.newaxis]
    shares, axes = np.linalg.eigh(whitener.T @ noise @ whitener)
    kept = np.sqrt(np.maximum(1 - shares, _LEAST_SHARE))
    root = (directions * deviations) @ axes * kept * scale[:, np.newaxis]
    return _square(root)


def _positive(covariance: Array) -> Array:
    """Positive semidefinite matrix without the directions of negative variance."""
    scale, eigenvalues, directions = _principal_axes(covariance)
    root = directions * np.sqrt(np.maximum(eigenvalues, 0)) * scale[:, np.newaxis]
    return _square(root)


def _principal_axes(covariance: Array) -> tuple[Array, Array, Array]:
    """Scales of the variables, and eigenvalues and eigenvectors on these."""
    scale = np.sqrt(np.abs(covariance.diagonal()))
    scale[scale == 0] = 1.0
    return scale, *np.linalg.eigh(covariance / np.outer(scale, scale))


def _square(root: Array) -> Array:
    square: Array = root @ root.T
    return square
