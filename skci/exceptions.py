"""Warning classes of skci.

An undefined measure warns with scikit-learn's own
:class:`sklearn.exceptions.UndefinedMetricWarning`.
"""

__all__ = ["CriticalValueWarning", "DegenerateVarianceWarning", "SmallSampleWarning"]


class DegenerateVarianceWarning(UserWarning):
    """There is no usable estimate of the variance of a measure.

    It is estimated as zero, the derivative does not exist at the observed table, or
    there is a single row. An interval based on that variance alone is the whole range.
    """


class SmallSampleWarning(UserWarning):
    """The sample is too small for the approximation behind an interval.

    A proportion has fewer than 10 successes or failures; there are fewer than 30
    effective clusters, or rows behind an observed variance; fewer than 60 rows of one
    class for an area under a curve; or an effective sample size below 60 by unequal
    weights.
    """


class CriticalValueWarning(UserWarning):
    """A joint critical value is less accurate than requested."""
