"""Confidence intervals for performance metrics, simultaneous in reports.

Metric objects such as :class:`F05CI` are called like functions of
:mod:`sklearn.metrics` and return floats with a confidence interval.
:class:`JointEvaluator` and :func:`joint_report` put many metrics of many models into
one report whose intervals all cover at once. What fewer users need is in the modules
:mod:`skci.designs`, :mod:`skci.resampling`, :mod:`skci.reports`, :mod:`skci.planning`,
:mod:`skci.inference` and :mod:`skci.textbook`.
"""

from importlib.metadata import version

from skci import (
    designs,
    exceptions,
    inference,
    logs,
    metrics,
    planning,
    reports,
    resampling,
    textbook,
)
from skci._versions import show_versions
from skci.accumulation import JointAccumulator
from skci.agreement import agreement_report
from skci.calibration import calibration_report
from skci.classification import classification_report_ci
from skci.cross_validation import cross_validate_report
from skci.curves import (
    decision_curve_report,
    det_report,
    precision_recall_report,
    roc_report,
    threshold_report,
)
from skci.data.survival import event_by
from skci.evaluation import JointEvaluator, confusion_matrix_report, joint_report
from skci.grades import grades_report, pass_at_k
from skci.importance import importance_report
from skci.independent import combine_independent
from skci.intervals import joint_intervals
from skci.learning_curves import learning_curve_report
from skci.metrics import *  # noqa: F403
from skci.planning import sample_size
from skci.scorers import interval_scorers
from skci.searching import search_report
from skci.suites import suite_report
from skci.votes import votes_report

__version__ = version("skci")

__all__ = [
    "JointAccumulator",
    "JointEvaluator",
    "agreement_report",
    "calibration_report",
    "classification_report_ci",
    "combine_independent",
    "confusion_matrix_report",
    "cross_validate_report",
    "decision_curve_report",
    "designs",
    "det_report",
    "event_by",
    "exceptions",
    "grades_report",
    "importance_report",
    "inference",
    "interval_scorers",
    "joint_intervals",
    "joint_report",
    "learning_curve_report",
    "logs",
    "metrics",
    "pass_at_k",
    "planning",
    "precision_recall_report",
    "reports",
    "resampling",
    "roc_report",
    "sample_size",
    "search_report",
    "show_versions",
    "suite_report",
    "textbook",
    "threshold_report",
    "votes_report",
]
__all__ += metrics.__all__
