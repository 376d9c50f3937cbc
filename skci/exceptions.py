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
    """The sample is too small for the approximation behind an interval.

    Fewer than ten successes or fewer than ten failures of a proportion were observed,
    fewer than thirty groups of rows tell anything of an estimate, or an area under a
    curve has fewer than thirty rows of one label.
    """


class CriticalValueWarning(UserWarning):
    """A joint critical value was computed less accurately than was asked for."""
