"""Warning classes of skci.

An undefined metric warns with scikit-learn's
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
    """Bins of scores are so wide that they noticeably widen the interval.

    The interval is widened by the largest error that binning can cause in the estimate.
    This error exceeds a tenth of the standard error. Use narrower bins.
    """


class DegenerateVarianceWarning(UserWarning):
    """The variance of a metric cannot be estimated.

    The estimated variance is zero, the metric has no derivative at the observed data,
    or there is a single row. An interval that uses only this variance covers the whole
    range of the metric.
    """


class IncompleteLogWarning(UserWarning):
    """A log contains fewer samples than the number stated in the log.

    Estimates use only the samples in the log. These samples may differ systematically
    from the missing samples.
    """


class SmallSampleWarning(UserWarning):
    """The sample is too small for the approximation behind an interval.

    The sample has at most 10 independent rows or clusters, or the method (such as
    "delta") uses a normal quantile although the variance has fewer than 19 degrees of
    freedom. A proportion has about two degrees of freedom for each success, or for each
    failure if failures are rarer. In such a small sample, a single additional row or
    cluster might move the estimate out of the interval.

    Regression metrics also warn if the influence values have such heavy tails that
    their variance may not exist. Absolute errors are then estimated better than squared
    errors. A report warns once for all its intervals, and keeps the messages in
    ``warnings``.
    """


class ResamplingWarning(UserWarning):
    """The variance between splits omits a part of the variance of the estimate.

    Stratified splits all have the same prevalence, on which many metrics depend. The
    variance between these splits therefore omits the variance of the prevalence. If the
    metric is equal on all splits, the variance between splits is zero.
    """


class CriticalValueWarning(UserWarning):
    """A joint critical value is less accurate than requested."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Show a warning at the line outside this package that called the package."""
    package = __name__.partition(".")[0] + "."
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
