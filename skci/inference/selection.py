"""One-sided comparisons of scores on splits, to select among many candidates."""

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci.inference.resampling_variance import corrected_t

_NO_VARIANCE = 1e-10  # standard error, relative to the values, that is rounding
_DRAWS = 10_000
_BLOCK = 1 << 17  # numbers in memory at once
_SEED = 0


class SplitMeans:
    r"""Means of K scores over J splits, and what is known of them jointly.

    With :math:`S` the sample covariance of the splits they have the covariance
    :math:`(1/J + n_2 / n_1) S` and J - 1 degrees of freedom; see `corrected_t`. A score
    that is the same on all splits has the standard error 0.

    Parameters
    ----------
    values : ndarray of shape (J, K)
    test_over_train : float
        Ratio :math:`n_2 / n_1` of the numbers of test and training rows.
    confidence_level : float
        Simultaneous, one-sided.
    """

    def __init__(
        self, values: Array, test_over_train: float, confidence_level: float
    ) -> None:
        self.confidence_level = confidence_level
        self.estimates, covariance, self.df, _ = corrected_t(values, test_over_train)
        errors = np.sqrt(covariance.diagonal())
        self._varies = errors > _NO_VARIANCE * np.abs(values).max(axis=0)
        self.standard_errors = np.where(self._varies, errors, 0.0)
        self._deviations = (values - self.estimates)[:, self._varies]

    def lower_limits(self) -> Array:
        """Lower limits that hold simultaneously, shape (K,)."""
        if not self._varies.any():
            return self.estimates
        return self.estimates - self._critical_value() * self.standard_errors

    def any_above(self, threshold: float) -> bool:
        """Whether any lower limit is above a threshold.

        The joint critical value lies between that of one mean and Bonferroni's, which
        settle most cases.
        """
        above = self.estimates > threshold
        if (above & ~self._varies).any():
            return True
        if not above.any():
            return False
        excess = self.estimates[above] - threshold
        statistic = (excess / self.standard_errors[above]).max()
        pvalue, alpha = stats.t.sf(statistic, self.df), 1 - self.confidence_level
        if pvalue >= alpha or pvalue * self._varies.sum() < alpha:
            return bool(pvalue < alpha)
        return bool(statistic > self._critical_value())

    def _critical_value(self) -> float:
        return max_t_quantile(self._deviations, self.confidence_level)


def max_t_quantile(deviations: Array, level: float) -> float:
    r"""Quantile of the largest of K t statistics, each with a variance of its own.

    .. math:: \max_k z_k \Big/ \sqrt{W_{kk} / (J - 1)}

    with z normal and W Wishart of J - 1 degrees of freedom, independent, both with the
    sample covariance of the deviations. Of few splits and many scores it is larger than
    that of the multivariate t distribution, whose statistics have one variance in
    common. Simulated, with fixed seed.

    Parameters
    ----------
    deviations : ndarray of shape (J, K)
        Deviations of K scores on J splits from their means, none of them constant.
    level : float

    Returns
    -------
    float
    """
    n_splits, size = deviations.shape
    unit = deviations / np.sqrt((deviations**2).sum(axis=0))
    unit = np.linalg.qr(unit, mode="r")  # has the same products, and few rows
    n_draws = max(_BLOCK // (n_splits * size), 1)
    rng = np.random.default_rng(_SEED)
    maxima = []
    for start in range(0, _DRAWS, n_draws):
        shape = min(n_draws, _DRAWS - start), n_splits, len(unit)
        normal = rng.standard_normal(shape) @ unit
        variances = (normal[:, 1:] ** 2).mean(axis=1)
        maxima.append((normal[:, 0] / np.sqrt(variances)).max(axis=1))
    return float(np.quantile(np.concatenate(maxima), level))


def is_shown_worse(
    values: Array,
    k: int,
    margin: float,
    test_over_train: float,
    confidence_level: float,
) -> bool:
    """Whether one of K candidates is shown to be worse than some other by a margin.

    Its differences from all others are tested jointly, as in multiple comparisons with
    the best (Edwards and Hsu, 1983): a candidate that is at most `margin` worse than
    the best is called worse with a probability of at most 1 - confidence_level.

    Parameters
    ----------
    values : ndarray of shape (J, K)
        Scores on J splits, of which greater ones are better.
    k : int
    margin : float
    test_over_train, confidence_level : float
        See `SplitMeans`.

    Returns
    -------
    bool

    References
    ----------
    Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    """
    others = np.delete(values, k, axis=1)
    if not others.shape[1]:
        return False
    advantage = others - values[:, [k]]
    return SplitMeans(advantage, test_over_train, confidence_level).any_above(margin)
