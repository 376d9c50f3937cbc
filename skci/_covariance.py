"""From influence values to a covariance: the one place where a variance is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["blurring", "correlation_from", "sampling_covariance"]

Array = NDArray[Any]

_BLOCK = 1 << 14


def sampling_covariance(
    influences: Sequence[Array],
    indices: Sequence[Array],
    counts: Array,
    samples: Array | None = None,
    ddof: int = 1,
) -> Array:
    r"""Estimate the covariance of estimates from influence values on the same rows.

    .. math:: \frac{1}{n (n - d)} \sum_i L_j(i) L_k(i)

    over the n rows, with the influence values of each parameter centred at their mean
    over the rows. Of several independent samples it is the sum of what each of them
    gives, times :math:`(n_s / n)^2`.

    Parameters
    ----------
    influences : sequence of K arrays
        Influence values of each parameter on the cells of its own table.
    indices : sequence of K arrays of shape (m,)
        The own cell of each parameter in each of the m joint outcomes.
    counts : array of shape (m,)
        Rows with each joint outcome.
    samples : int array of shape (m,), optional
        The sample that each joint outcome is of.
    ddof : int
        The d of the formula: 1 for rows that were seen, 0 for a population.

    Returns
    -------
    array of shape (K, K)
        Zero for a single row, which tells nothing of a variance.
    """
    n = float(counts.sum())
    if samples is not None:
        total = np.zeros((len(influences),) * 2)
        for sample in np.unique(samples):
            own = samples == sample
            rows = counts[own].sum()
            within = [index[own] for index in indices]
            covariance = sampling_covariance(influences, within, counts[own], ddof=ddof)
            total += covariance * (rows / n) ** 2
        return total
    size = len(influences)
    total = np.zeros((size, size))
    mean = np.zeros(size)
    for start in range(0, len(counts), _BLOCK):
        block = slice(start, start + _BLOCK)
        values = np.array(
            [own[index[block]] for own, index in zip(influences, indices, strict=True)]
        )
        weighted = values * counts[block]
        total += weighted @ values.T
        mean += values @ counts[block]
    mean /= n
    total -= n * mean * mean[:, np.newaxis]
    total = (total + total.T) / 2  # a product of matrices rounds on one side only
    return total / (n * max(n - ddof, 1))


def blurring(
    gradients: Sequence[Array], moments: Sequence[tuple[Any, ...]], z: float, n: float
) -> Array:
    r"""Covariance that the blurring correction adds.

    Yuan and Jiang's Choice II perturbs each moment (E[ZA] and E[A] of each rule, and
    E[Z], which rules share) by independent noise of variance :math:`z^2 / 2n` a row,
    so that the covariance of the estimates gains :math:`G G^T z^2 / (2 n^2)`, G the
    gradients in the moments.

    Parameters
    ----------
    gradients : sequence of K arrays
        Gradient of each parameter in its moments.
    moments : sequence of K tuples
        Names of those moments; parameters that share a moment share its noise, and one
        may have it several times.
    z : float
        Two-sided normal quantile of the confidence level.
    n : float
        Number of rows.
    """
    names = dict.fromkeys(name for own in moments for name in own)
    column = {name: position for position, name in enumerate(names)}
    jacobian = np.zeros((len(gradients), len(column)))
    for row, gradient, own in zip(jacobian, gradients, moments, strict=True):
        np.add.at(row, [column[name] for name in own], gradient)
    return jacobian @ jacobian.T * (z**2 / (2 * n**2))


def correlation_from(covariance: Array) -> Array:
    """Scale a covariance of positive diagonal to a correlation."""
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    correlation = np.clip(correlation, -1, 1)
    np.fill_diagonal(correlation, 1.0)
    return correlation
