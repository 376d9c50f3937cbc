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
    "IncompleteLogWarning",
    "ResamplingWarning",
    "SmallSampleWarning",
]


def __dir__() -> list[str]:
    return __all__


class BinningWarning(UserWarning):
    """Bins of scores are so wide that the interval is noticeably extended.

    The interval is extended by the largest error of the estimate that binning can
    cause, which is more than a tenth of the standard error. Use narrower bins.
    """


class DegenerateVarianceWarning(UserWarning):
    """There is no usable estimate of the variance of a metric.

    It is estimated as zero, the derivative does not exist at the observed table, or
    there is a single row. An interval based on that variance alone is the whole range.
    """


class IncompleteLogWarning(UserWarning):
    """A log has fewer samples than it states.

    Estimates are those of the samples in the log, which may differ from the others.
    """


class SmallSampleWarning(UserWarning):
    """The sample is too small for the approximation behind an interval.

    There are 10 independent rows or clusters, or fewer; or the variance has fewer than
    19 degrees of freedom and the quantile is normal, as for "delta": about two for each
    success of a proportion, or failure if these are fewer. One more positive row with
    a poor score, or one more cluster that consists of errors, might move the
    estimate out of the interval. For regression metrics, the influence values may have
    so heavy a tail that their variance may not exist; absolute errors are then
    estimated better than squared errors. A report warns once of all its intervals and
    keeps the messages in ``warnings``.
    """


class ResamplingWarning(UserWarning):
    """The variance between splits omits a part of the variance of the estimate.

    Stratified splits all have the same prevalence, so that the variance between them
    omits that of the prevalence, on which many metrics depend. If the metric is the
    same on all splits, the variance between them is zero.
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
