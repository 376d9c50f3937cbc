r"""Moments of estimates from resampling: estimates, covariance, degrees of freedom.

An estimate is a vector of K measures: metrics of several models, computed on the same
splits of the data, so that their covariance can be estimated.
"""

from typing import NamedTuple

import numpy as np

from skci._arrays import Array

_MIN_SHARE = 0.25  # share of the variance kept after removal of partition noise
_MIN_GROUPS = 5  # groups of a jackknife from which excess noise is removed
_RANK = 1e-10  # relative eigenvalue that counts as zero


class ResampledMoments(NamedTuple):
    """Estimates from resampling, with covariance matrix and degrees of freedom."""

    estimates: Array
    covariance: Array
    df: float = np.inf
    excess: Array | None = None
    """Excess covariance, to remove from comparisons of models, (K, K)."""


def corrected_t(values: Array, test_over_train: float) -> ResampledMoments:
    r"""Estimate the mean over J splits and its covariance V (Nadeau and Bengio, 2003).

    .. math:: V = \Bigl(\frac{1}{J} + \frac{n_2}{n_1}\Bigr) S

    with :math:`J - 1` degrees of freedom, where S is the sample covariance over splits
    with :math:`n_1` training rows and :math:`n_2` test rows.

    Parameters
    ----------
    values : ndarray of shape (J, K)
        Estimates on each of J splits.
    test_over_train : float
        Ratio :math:`n_2 / n_1` of the sizes of test and training sets. With 0, the
        overlap of training sets is ignored, and the variance is too small.

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
    r"""Estimate cross-validated metrics and the covariance V by a group jackknife.

    For each of P random partitions of the rows into G groups, the cross-validation is
    repeated G times, each time without one group k:

    .. math:: V = \frac{1}{P} \sum_p \frac{G - 1}{G} \sum_k
        (m_{p(-k)} - \bar m_p) (m_{p(-k)} - \bar m_p)^T,

    where rows of one group are left out of training and test sets together. Without the
    factor :math:`(G - 1) / G`, the expectation of the sum is at least the variance of
    the estimate from one partition, for every model and measure [1]_. The mean over
    partitions varies less than the estimate from one partition. The difference of both
    variances, :math:`1 - 1/P` times the sample covariance over partitions, is
    subtracted from V, but at least a quarter of the variance is kept in every
    direction. The degrees of freedom are :math:`P (G - 1)`.

    The jackknife inflates the noise of random partitions, like every effect that is not
    linear in the rows: models without a group are fitted to other rows, and their noise
    is nearly independent. Therefore V includes :math:`G - 1` times the noise variance
    of a partition, although the variance includes this noise only once. The excess,
    :math:`G - 2` times the noise variance, is removed from differences of models if
    there are at least five groups; fewer groups leave too few degrees of freedom. In
    differences, the common variation of two models cancels, and mainly the noise
    remains. The excess is kept in the variances of single estimates, as a margin for
    effects that the jackknife misses.

    Parameters
    ----------
    values : ndarray of shape (P, K)
        Estimates from all rows, for each partition.
    left_out : ndarray of shape (P, G, K)
        Estimates without one group of rows, for each partition and each group.

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
        covariance = np.nan_to_num(covariance)  # zero for undefined measures
        reduced = covariance - (1 - 1 / n_partitions) * noise
        covariance = _raise_to(reduced, _MIN_SHARE * covariance)
        excess = (n_groups - 2) * noise if n_groups >= _MIN_GROUPS else None
    df = n_partitions * (n_groups - 1)
    return ResampledMoments(values.mean(axis=0), covariance, df, excess)


def five_by_two_t(values: Array) -> ResampledMoments:
    r"""Return the estimate and covariance V of the 5 x 2 cross-validated t test.

    .. math:: V = \frac{1}{5} \sum_r \sum_{h = 1}^2
        (m_{rh} - \bar m_r) (m_{rh} - \bar m_r)^T

    over the halves of five repetitions, with 5 degrees of freedom. As in the numerator
    of the statistic, the estimate is the value on the first half of the first
    repetition.

    Parameters
    ----------
    values : ndarray of shape (5, 2, K)
        Estimates on each half, from models fitted to the other half.

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
    r"""Compute the combined 5 x 2 cross-validated F statistic (Alpaydin, 1999).

    .. math:: F = \frac{\sum_r \sum_h d_{rh}^2}
        {2 \sum_r \sum_h (d_{rh} - \bar d_r)^2}

    Parameters
    ----------
    differences : ndarray of shape (5, 2)
        Differences between two models on the two halves of each repetition.
    """
    deviations = differences - differences.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((differences**2).sum() / (2 * (deviations**2).sum()))


class LeaveOneOutBootstrap(NamedTuple):
    """Results of the leave-one-out bootstrap for K mean losses over n units."""

    estimates: Array
    """Mean losses, (K,)."""
    loss_influence: Array
    """Influence of each unit through its own losses, (K, n)."""
    training_influence: Array
    """Influence of each unit as training data, on losses of other units, (K, n)."""
    noise: Array
    """Bias of products of influence values due to few bootstrap samples, (K, K)."""


def leave_one_out_bootstrap(
    counts: Array, losses: Array, weights: Array
) -> LeaveOneOutBootstrap:
    r"""Estimate mean losses by the leave-one-out bootstrap.

    Losses are averaged over units that are not in a bootstrap sample. The mean loss m
    and the influence value :math:`D_i` of unit i are (Efron and Tibshirani, 1997,
    section 5)

    .. math:: m = \sum_i w_i \bar L_i , \qquad D_i = w_i (\bar L_i - m)
        + \Bigl(1 - \frac{1}{n}\Bigr)^{-n} \frac{1}{B} \sum_b (N_{bi} - \bar N_i) q_b

    where :math:`\bar L_i` is the mean loss of unit i in the samples b without unit i,
    :math:`N_{bi}` the number of times that unit i was drawn, :math:`w_i` the share of
    unit i in the total weight, and :math:`q_b` the sum of :math:`w_i (L_{bi} - \bar
    L_i)` over the units out of the bag. The article computes :math:`q_b` from
    :math:`L_{bi}` instead, and the first term of its :math:`D_i` is about twice as
    large. Both versions are equal for infinitely many samples. The version here has far
    less Monte Carlo noise, and the bias of squares due to this noise can be subtracted
    [1]_.

    Parameters
    ----------
    counts : ndarray of shape (B, n)
        Number of times that each of n units was drawn in each of B bootstrap samples.
    losses : ndarray of shape (B, K, n)
        Losses of each unit, for the models fitted to each bootstrap sample.
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
    loss_influence = shares * (unit_losses - estimates[:, np.newaxis])
    changes = np.where(left_out, losses - unit_losses, 0) @ shares
    changes *= (1 - 1 / n_units) ** -n_units
    training_influence = changes.T @ (counts - counts.mean(axis=0)) / n_samples
    noise = (n_units - 1) / n_samples * _sample_covariance(changes)
    return LeaveOneOutBootstrap(estimates, loss_influence, training_influence, noise)


def bootstrap_632(
    left_out: LeaveOneOutBootstrap,
    apparent: Array,
    best: Array,
    no_information: Array | None = None,
) -> ResampledMoments:
    r"""Estimate metrics and their covariance by the .632 or the .632+ bootstrap.

    The estimated error is

    .. math:: 0.368\, m_0 + 0.632\, m_1
        + \frac{0.368 \cdot 0.632\, R}{1 - 0.368 R} (m_1' - m_0)

    where :math:`m_0` is the apparent error of models fitted to all units, and
    :math:`m_1` the error of the leave-one-out bootstrap. For .632+, :math:`\gamma` is
    the no-information error, :math:`m_1' = \min(m_1, \gamma)` and :math:`R = (m_1' -
    m_0) / (\gamma - m_0)`. R is 0 for .632, or if :math:`m_0` is the largest error.
    Errors are the distances of the metrics from their best values. The covariance is
    the infinitesimal-jackknife covariance of :math:`m_1`, raised to at least the
    covariance for losses of independent units. Standard errors are then scaled in
    proportion to the errors.

    Parameters
    ----------
    left_out : LeaveOneOutBootstrap
    apparent, best : ndarray of shape (K,)
        Values of the metrics on the training rows, and the best possible values.
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
        no_information_error = np.abs(no_information - best)
        excess = np.maximum(
            np.minimum(out_of_bag_error, no_information_error) - apparent_error, 0
        )
        rate = excess / np.where(excess > 0, no_information_error - apparent_error, 1)
        error += 0.368 * 0.632 * rate / (1 - 0.368 * rate) * excess
    influence = left_out.loss_influence + left_out.training_influence
    minimum = left_out.loss_influence @ left_out.loss_influence.T
    covariance = _raise_to(influence @ influence.T - left_out.noise, minimum)
    scale = error / np.where(out_of_bag_error > 0, out_of_bag_error, 1)
    sign = np.where(apparent + left_out.estimates < 2 * best, -1, 1)
    return ResampledMoments(best + sign * error, covariance * np.outer(scale, scale))


def _sample_covariance(values: Array) -> Array:
    """Compute the sample covariance of the columns."""
    deviations = values - values.mean(axis=0)
    return deviations.T @ deviations / (len(values) - 1)


def _raise_to(covariance: Array, minimum: Array) -> Array:
    """Raise a covariance matrix, so that no variance is below the given minimum.

    The result has at least the minimum variance for every linear combination.
    """
    scale = np.sqrt(np.abs(minimum.diagonal()))
    scale[scale == 0] = 1.0
    eigenvalues, directions = np.linalg.eigh(minimum / np.outer(scale, scale))
    positive = eigenvalues > _RANK * eigenvalues.max(initial=0)
    deviations, directions = np.sqrt(eigenvalues[positive]), directions[:, positive]
    root = directions * deviations * scale[:, np.newaxis]
    whitener = directions / deviations / scale[:, np.newaxis]
    ratios, axes = np.linalg.eigh(whitener.T @ covariance @ whitener)
    root = root @ axes * np.sqrt(np.maximum(ratios, 1))
    return root @ root.T
