"""Warning classes of skci.

An undefined measure warns with scikit-learn's own
:class:`sklearn.exceptions.UndefinedMetricWarning`.
"""

__all__ = ["CriticalValueWarning", "DegenerateVarianceWarning", "SmallSampleWarning"]


class DegenerateVarianceWarning(UserWarning):
    """The data leave a measure no usable estimate of its variance.

    The variance is estimated as zero, or the derivative does not exist at the
    observed table, or there is a single row. An interval that rests on that variance
    alone is the whole range of the measure.
    """


class SmallSampleWarning(UserWarning):
    """The sample is too small for the normal approximation of a proportion.

    Fewer than ten successes or fewer than ten failures were observed.
    """


class CriticalValueWarning(UserWarning):
    """A joint critical value was computed less accurately than was asked for."""
