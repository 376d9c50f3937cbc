r"""Moments of estimates from resampling: estimates, covariance, degrees of freedom.

An estimate is a vector of K measures: of several metrics of several models, computed
on the same splits of the data, so that their covariance is estimated as well.
"""

from typing import NamedTuple

import numpy as np

from skci._arrays import Array

_LEAST_SHARE = 0.25  # of a variance that stays when the noise of partitions is removed
_FEWEST_GROUPS = 5  # with which the excess of noise in a jackknife is removed
_RANK = 1e-10  # relative eigenvalue that is zero up to rounding


class ResampledMoments(NamedTuple):
    """Estimates (K,), their covariance (K, K) and its degrees of freedom."""

    estimates: Array
    covariance: Array
    df: float = np.inf
    excess: Array | None = None
    """Part of the covariance that comparisons of models are free of, (K, K)."""


def corrected_t(values: Array, test_over_train: float) -> ResampledMoments:
    r"""Moments of the mean over J splits (Nadeau and Bengio, 2003).

    .. math:: V = \Bigl(\frac{1}{J} + \frac{n_2}{n_1}\Bigr) S

    with S the sample covariance of the splits, :math:`n_1` rows of which train and
    :math:`n_2` test, and :math:`J - 1` degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (J, K)
        Estimates on each of J splits.
    test_over_train : float
        Ratio :math:`n_2 / n_1`; 0 if training sets are taken not to overlap, with a
        variance that is too small.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Nadeau and Bengio (2003). Machine Learning 52, 239-281.
    """
    n_splits = len(values)
    covariance = (1 / n_splits + test_over_train) * _sample_covariance(values)
    return ResampledMoments(values.mean(axis=0), covariance, n_splits - 1)


def group_jackknife(values: Array, left_out: Array) -> ResampledMoments:
    r"""Moments of cross-validated estimates from leaving out groups of rows.

    In each of P random partitions of the rows in G groups the cross-validation is
    repeated without one group k,

    .. math:: V = \frac{1}{P} \sum_p \frac{G - 1}{G} \sum_k
        (m_{p(-k)} - \bar m_p) (m_{p(-k)} - \bar m_p)^T,

    so that groups that train and test together vary together. Without the factor
    :math:`(G - 1) / G` the sum is not below the variance in expectation, whatever the
    model and the measure [1]_. The mean over partitions varies less than the estimate
    of one does, by the part :math:`1 - 1/P` of their sample covariance, which is
    subtracted; at least a quarter of the variance stays in every direction. The degrees
    of freedom are :math:`P (G - 1)`.

    The jackknife multiplies the noise of partitioning, as it does all that is not
    linear in the rows: the estimate without a group is of models fitted to other rows,
    and has a noise of about its own. So V holds :math:`G - 1` times that of a partition
    where one is due: the other :math:`G - 2` are the excess, which differences of
    models are freed of if there are five groups; fewer leave too few degrees of
    freedom. What two models have in common cancels and leaves little else. It stays
    in the variances of single estimates, as a margin for what the jackknife does not
    see.

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
    excess = None
    if n_partitions > 1:
        noise = np.nan_to_num(_sample_covariance(values))
        covariance = np.nan_to_num(covariance)  # undefined measures have none
        less = covariance - (1 - 1 / n_partitions) * noise
        covariance = _at_least(less, _LEAST_SHARE * covariance)
        excess = (n_groups - 2) * noise if n_groups >= _FEWEST_GROUPS else None
    df = n_partitions * (n_groups - 1)
    return ResampledMoments(values.mean(axis=0), covariance, df, excess)


def five_by_two_t(values: Array) -> ResampledMoments:
    r"""Moments of the 5 x 2 cross-validated t statistic (Dietterich, 1998).

    .. math:: V = \frac{1}{5} \sum_r \sum_{h = 1}^2
        (m_{rh} - \bar m_r) (m_{rh} - \bar m_r)^T

    over the halves of five repetitions. The estimate is that on the first half of the
    first repetition, as in the numerator of the statistic, with 5 degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (5, 2, K)
        Estimates on each half, from the models fitted to the other one.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Dietterich (1998). Approximate statistical tests for comparing supervised
    classification learning algorithms. Neural Computation 10, 1895-1923.
    """
    deviations = values - values.mean(axis=1, keepdims=True)
    covariance = np.einsum("rhj,rhk->jk", deviations, deviations) / len(values)
    return ResampledMoments(values[0, 0], covariance, len(values))


def five_by_two_f(differences: Array) -> float:
    r"""Statistic of the combined 5 x 2 cross-validated F test (Alpaydin, 1999).

    .. math:: F = \frac{\sum_r \sum_h d_{rh}^2}
        {2 \sum_r \sum_h (d_{rh} - \bar d_r)^2}

    Parameters
    ----------
    differences : ndarray of shape (5, 2)
        Differences of two models on each half of each repetition.
    """
    deviations = differences - differences.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((differences**2).sum() / (2 * (deviations**2).sum()))


class LeaveOneOutBootstrap(NamedTuple):
    """Leave-one-out bootstrap of K means of losses of n units."""

    estimates: Array
    """The means, (K,)."""
    of_losses: Array
    """Influence values of the units through their own losses, (K, n)."""
    of_training: Array
    """Influence values through models and the losses of other units, (K, n)."""
    noise: Array
    """Bias of the products of influence values, from few bootstrap samples, (K, K)."""


def leave_one_out_bootstrap(
    counts: Array, losses: Array, weights: Array
) -> LeaveOneOutBootstrap:
    r"""Mean loss of units out of the bag (Efron and Tibshirani, 1997, section 5).

    .. math:: m = \sum_i w_i \bar L_i , \qquad D_i = w_i (\bar L_i - m)
        + \Bigl(1 - \frac{1}{n}\Bigr)^{-n} \frac{1}{B} \sum_b (N_{bi} - \bar N_i) q_b

    with :math:`\bar L_i` the mean loss of unit i in the samples b without it,
    :math:`N_{bi}` the number of times that it was drawn, :math:`w_i` its share of the
    weights, and :math:`q_b` the sum of :math:`w_i (L_{bi} - \bar L_i)` over the units
    out of the bag. In the article :math:`q_b` is of :math:`L_{bi}` itself, and the
    first term about twice as large: the same in infinitely many samples. The difference
    has far less noise, whose bias in the squares can be subtracted [1]_.

    Parameters
    ----------
    counts : ndarray of shape (B, n)
        How often each of n units was drawn in each of B samples.
    losses : ndarray of shape (B, K, n)
        Losses of each unit by the models fitted to each sample.
    weights : ndarray of shape (n,)
        Weights of the units.

    Returns
    -------
    LeaveOneOutBootstrap

    References
    ----------
    .. [1] Wager, Hastie and Efron (2014). Confidence intervals for random forests: the
       jackknife and the infinitesimal jackknife. Journal of Machine Learning Research
       15, 1625-1651.
    """
    n_samples, n_units = counts.shape
    shares = weights / weights.sum()
    left_out = (counts == 0)[:, np.newaxis]
    unit_losses = np.where(left_out, losses, 0).sum(axis=0) / left_out.sum(axis=0)
    estimates = unit_losses @ shares
    of_losses = shares * (unit_losses - estimates[:, np.newaxis])
    changes = np.where(left_out, losses - unit_losses, 0) @ shares
    changes *= (1 - 1 / n_units) ** -n_units
    of_training = changes.T @ (counts - counts.mean(axis=0)) / n_samples
    noise = (n_units - 1) / n_samples * _sample_covariance(changes)
    return LeaveOneOutBootstrap(estimates, of_losses, of_training, noise)


def bootstrap_632(
    left_out: LeaveOneOutBootstrap,
    apparent: Array,
    best: Array,
    no_information: Array | None = None,
) -> ResampledMoments:
    r"""Moments of the .632 bootstrap (Efron and Tibshirani, 1997), or of .632+.

    .. math:: 0.368\, m_0 + 0.632\, m_1
        + \frac{0.368 \cdot 0.632\, R}{1 - 0.368 R} (m_1' - m_0)

    with :math:`m_0` the apparent error of models fitted to all units, :math:`m_1` that
    of the leave-one-out bootstrap and, for .632+, :math:`\gamma` the error without
    information, :math:`m_1' = \min(m_1, \gamma)` and :math:`R = (m_1' - m_0) /
    (\gamma - m_0)`; R is 0 for .632, or if :math:`m_0` is the largest of them. Errors
    are the distances of the metrics from their best values. The covariance is that of
    :math:`m_1` by the infinitesimal jackknife, at least that of the losses of
    independent units, with standard errors in proportion to the errors.

    Parameters
    ----------
    left_out : LeaveOneOutBootstrap
    apparent, best : ndarray of shape (K,)
        Apparent values of the metrics, and their best values.
    no_information : ndarray of shape (K,), optional
        Means of the metrics over all pairs of a true and a predicted value, for .632+.

    Returns
    -------
    ResampledMoments

    References
    ----------
    Efron and Tibshirani (1997). Improvements on cross-validation: the .632+ bootstrap
    method. Journal of the American Statistical Association 92, 548-560.
    """
    apparent_error = np.abs(apparent - best)
    out_of_bag_error = np.abs(left_out.estimates - best)
    error = 0.368 * apparent_error + 0.632 * out_of_bag_error
    if no_information is not None:
        most = np.abs(no_information - best)
        excess = np.maximum(np.minimum(out_of_bag_error, most) - apparent_error, 0)
        rate = excess / np.where(excess > 0, most - apparent_error, 1)
        error += 0.368 * 0.632 * rate / (1 - 0.368 * rate) * excess
    influence = left_out.of_losses + left_out.of_training
    least = left_out.of_losses @ left_out.of_losses.T
    covariance = _at_least(influence @ influence.T - left_out.noise, least)
    scale = error / np.where(out_of_bag_error > 0, out_of_bag_error, 1)
    sign = np.where(apparent + left_out.estimates < 2 * best, -1, 1)
    return ResampledMoments(best + sign * error, covariance * np.outer(scale, scale))


def _sample_covariance(values: Array) -> Array:
    """Sample covariance of rows, (K, K)."""
    deviations = values - values.mean(axis=0)
    return deviations.T @ deviations / (len(values) - 1)


def _at_least(covariance: Array, least: Array) -> Array:
    """Raise a covariance matrix to another one in the directions where it is less."""
    scale = np.sqrt(np.abs(least.diagonal()))
    scale[scale == 0] = 1.0
    eigenvalues, directions = np.linalg.eigh(least / np.outer(scale, scale))
    positive = eigenvalues > _RANK * eigenvalues.max(initial=0)
    deviations, directions = np.sqrt(eigenvalues[positive]), directions[:, positive]
    root = directions * deviations * scale[:, np.newaxis]
    whitener = directions / deviations / scale[:, np.newaxis]
    ratios, axes = np.linalg.eigh(whitener.T @ covariance @ whitener)
    root = root @ axes * np.sqrt(np.maximum(ratios, 1))
    return root @ root.T
