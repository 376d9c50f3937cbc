"""Warning classes of skci.

An undefined measure warns with scikit-learn's own
:class:`sklearn.exceptions.UndefinedMetricWarning`.
"""

import sys
import warnings

__all__ = [
    "BinningWarning",
    "CriticalValueWarning",
    "DegenerateVarianceWarning",
    "ResamplingWarning",
    "SmallSampleWarning",
]


class BinningWarning(UserWarning):
    """Scores are in bins so wide that intervals are noticeably extended for it.

    The largest error of an estimate by its bins, by which the interval is extended, is
    more than a tenth of the standard error. Narrower bins make it smaller.
    """


class DegenerateVarianceWarning(UserWarning):
    """There is no usable estimate of the variance of a measure.

    It is estimated as zero, the derivative does not exist at the observed table, or
    there is a single row. An interval based on that variance alone is the whole range.
    """


class SmallSampleWarning(UserWarning):
    """The sample is too small for the approximation behind an interval.

    The variance has fewer than 12 degrees of freedom, or fewer than 19 where the
    quantile is normal and not that of t. A proportion of many rows with few successes
    or failures has about two for each. Or, of a metric of numbers, the influence values
    have so heavy a tail that their variance may not exist; a metric of absolute errors
    is then estimated better than one of squared errors.
    """


class ResamplingWarning(UserWarning):
    """The splits do not show all of the variance of a resampled estimate.

    Stratified splits all have the same prevalence, so that the variance between them
    leaves out that of the prevalence, with which many metrics move. A score that is the
    same on all splits shows no variance at all.
    """


class CriticalValueWarning(UserWarning):
    """A joint critical value is less accurate than requested."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller outside this package."""
    package = __name__.partition(".")[0] + "."
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
