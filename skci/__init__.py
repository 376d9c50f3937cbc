"""Confidence intervals for performance metrics, simultaneous for whole reports.

Metric objects such as :class:`F05CI` are called like functions of
:mod:`sklearn.metrics` and return floats with a confidence interval.
:class:`JointEvaluator` and :func:`joint_report` put many metrics of many models into
one report whose intervals cover simultaneously. More specialised tools are in the
modules :mod:`skci.designs`, :mod:`skci.resampling`, :mod:`skci.readers`,
:mod:`skci.reports`, :mod:`skci.planning`, :mod:`skci.inference` and
:mod:`skci.textbook`.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from skci._packages import lazy_names

__version__ = version("skci")

if TYPE_CHECKING:  # imported below on first use
    from skci import designs as designs
    from skci import exceptions as exceptions
    from skci import inference as inference
    from skci import logs as logs
    from skci import metrics as metrics
    from skci import planning as planning
    from skci import readers as readers
    from skci import reports as reports
    from skci import resampling as resampling
    from skci import textbook as textbook
    from skci._packages import show_versions as show_versions
    from skci.accumulation import JointAccumulator as JointAccumulator
    from skci.agreement import agreement_report as agreement_report
    from skci.cross_validation import cross_validate_report as cross_validate_report
    from skci.cross_validation import interval_scorers as interval_scorers
    from skci.cross_validation import learning_curve_report as learning_curve_report
    from skci.cross_validation import search_report as search_report
    from skci.curves import calibration_report as calibration_report
    from skci.curves import decision_curve_report as decision_curve_report
    from skci.curves import det_report as det_report
    from skci.curves import precision_recall_report as precision_recall_report
    from skci.curves import roc_report as roc_report
    from skci.curves import threshold_report as threshold_report
    from skci.data.rows import event_by as event_by
    from skci.evaluation import JointEvaluator as JointEvaluator
    from skci.evaluation import classification_report_ci as classification_report_ci
    from skci.evaluation import confusion_matrix_report as confusion_matrix_report
    from skci.evaluation import joint_report as joint_report
    from skci.grades import grades_report as grades_report
    from skci.grades import pass_at_k as pass_at_k
    from skci.grades import suite_report as suite_report
    from skci.importance import importance_report as importance_report
    from skci.intervals import combine_independent as combine_independent
    from skci.intervals import joint_intervals as joint_intervals
    from skci.metrics import *  # noqa: F403
    from skci.planning import sample_size as sample_size
    from skci.sequential import sequential_report as sequential_report
    from skci.uplift import UpliftReport as UpliftReport
    from skci.uplift import uplift_report as uplift_report
    from skci.votes import votes_report as votes_report
else:
    _NAMES = {
        "": "designs exceptions inference logs metrics planning readers reports "
        "resampling textbook",
        "_packages": "show_versions",
        "accumulation": "JointAccumulator",
        "agreement": "agreement_report",
        "cross_validation": "cross_validate_report interval_scorers "
        "learning_curve_report search_report",
        "curves": "calibration_report decision_curve_report det_report "
        "precision_recall_report roc_report threshold_report",
        "data.rows": "event_by",
        "evaluation": "JointEvaluator classification_report_ci confusion_matrix_report "
        "joint_report",
        "grades": "grades_report pass_at_k suite_report",
        "importance": "importance_report",
        "intervals": "combine_independent joint_intervals",
        "planning": "sample_size",
        "sequential": "sequential_report",
        "uplift": "UpliftReport uplift_report",
        "votes": "votes_report",
    }
    _MODULES = {name: k for k, names in _NAMES.items() for name in names.split()}
    """Module of each name that is not a metric; "" for modules."""

    __getattr__, __dir__ = lazy_names(__name__, _MODULES, default_module="metrics")
