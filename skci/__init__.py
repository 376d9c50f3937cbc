"""Confidence intervals for performance measures of classifiers, joint if many.

Metric objects such as :class:`F05CI` are called like functions of
:mod:`sklearn.metrics` and return floats that know their interval.
:class:`JointEvaluator` and :func:`joint_report` put many measures of many rules into
one report whose intervals all cover at once.
"""

from importlib.metadata import version

from skci import exceptions, metrics
from skci._critical import CriticalValue, critical_value
from skci._estimate import ConfidenceInterval, MetricEstimate
from skci.display import ConfidenceIntervalDisplay
from skci.evaluation import JointEvaluator, confusion_matrix_report, joint_report
from skci.metrics import *  # noqa: F403
from skci.report import JointReport

__version__ = version("skci")

__all__ = [
    "ConfidenceInterval",
    "ConfidenceIntervalDisplay",
    "CriticalValue",
    "JointEvaluator",
    "JointReport",
    "MetricEstimate",
    "confusion_matrix_report",
    "critical_value",
    "exceptions",
    "joint_report",
    "metrics",
]
__all__ += metrics.__all__
