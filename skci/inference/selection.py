"""One-sided joint limits of scores on splits, to select among many settings."""

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, Parameter
from skci.inference.resampling_variance import corrected_t
from skci.measures.traits import Trait

_NO_VARIANCE = 1e-10  # standard error, relative to the values, that is rounding
_SCORE = Trait("score", bounds=(-np.inf, np.inf))


def joint_of_splits(
    values: Array, test_over_train: float, confidence_level: float
) -> JointEstimate:
    """Means of K scores over J splits, (J, K), and their covariance by `corrected_t`.

    A score that is the same on all splits has no usable variance.
    """
    means, covariance, df, _ = corrected_t(values, test_over_train)
    errors = np.sqrt(covariance.diagonal())
    constant = errors <= _NO_VARIANCE * np.abs(values).max(axis=0)
    covariance[constant] = covariance[:, constant] = 0
    parameters = [
        Parameter(
            key=Key(model=str(k)), trait=_SCORE, method="delta", given=float(mean)
        )
        for k, mean in enumerate(means)
    ]
    return JointEstimate.from_moments(
        parameters, covariance, df, confidence_level=confidence_level
    )


def lower_limits(joint: JointEstimate) -> Array:
    """Lower limits that hold at once, (K,); the mean without a usable variance."""
    limits, varying = joint.estimates.copy(), np.flatnonzero(joint.usable)
    if len(varying):
        q = float(joint.law("less").quantile(joint.confidence_level))
        limits[varying] = joint.limits_at_normal_quantile(varying, q, q)[:, 0]
    return limits


def is_shown_worse(
    values: Array,
    k: int,
    margin: float,
    test_over_train: float,
    confidence_level: float,
) -> bool:
    """Whether one of K settings is shown to be worse than some other by a margin.

    Its differences from all others are tested jointly, as in multiple comparisons with
    the best (Edwards and Hsu, 1983): a setting that is at most `margin` worse than the
    best is called worse with a probability of at most 1 - confidence_level.

    Parameters
    ----------
    values : ndarray of shape (J, K)
        Scores on J splits, of which greater ones are better.
    k : int
    margin : float
    test_over_train, confidence_level : float
        See `joint_of_splits`.

    Returns
    -------
    bool

    References
    ----------
    Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    """
    advantage = np.delete(values, k, axis=1) - values[:, [k]]
    if not advantage.shape[1]:
        return False
    joint = joint_of_splits(advantage, test_over_train, confidence_level)
    varying = joint.usable
    if (joint.estimates[~varying] > margin).any():
        return True
    excess = (joint.estimates - margin)[varying] / joint.standard_errors[varying]
    pvalues: Array = np.asarray(stats.t.sf(excess, joint.degrees_of_freedom[varying]))
    least, alpha = pvalues.min(initial=1.0), 1 - confidence_level
    if least >= alpha or least * len(pvalues) < alpha:  # of one, or by Bonferroni
        return bool(least < alpha)
    return bool((lower_limits(joint) > margin).any())
