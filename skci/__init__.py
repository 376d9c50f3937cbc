"""Confidence intervals for performance measures of classifiers, joint if many.

Metric objects such as :class:`F05CI` are called like functions of
:mod:`sklearn.metrics` and return floats that know their interval.
:class:`JointEvaluator` and :func:`joint_report` put many measures of many rules into
one report whose intervals all cover at once.
"""

from importlib.metadata import version

from skci import exceptions, metrics
from skci._versions import show_versions
from skci.accumulation import JointAccumulator
from skci.calibration import calibration_report
from skci.classification import classification_report_ci
from skci.curves import precision_recall_report, roc_report, threshold_report
from skci.evaluation import JointEvaluator, confusion_matrix_report, joint_report
from skci.folds import cross_val_folds, fold_models_report
from skci.independent import combine_independent, two_proportion_test
from skci.inference.critical.law import critical_value
from skci.inference.critical.quantile import CriticalValue
from skci.intervals import joint_intervals
from skci.learning_curves import learning_curve_report
from skci.metrics import *  # noqa: F403
from skci.model_selection import cross_validate_report, five_by_two_f_test
from skci.planning import minimum_detectable, sample_size
from skci.refit import best_bound, simplest_not_worse
from skci.reports.band_display import (
    CalibrationBandDisplay,
    ConfidenceBandDisplay,
    LearningCurveBandDisplay,
)
from skci.reports.best import BestReport
from skci.reports.calibration import CalibrationReport
from skci.reports.classification import ClassificationReport
from skci.reports.contrasts import ContrastReport
from skci.reports.cross_validation import CrossValidationReport
from skci.reports.curves import (
    CurveReport,
    ThresholdEstimate,
    ThresholdReport,
    ThresholdRequirementReport,
)
from skci.reports.difference_display import DifferenceDisplay, VerdictMatrixDisplay
from skci.reports.display import ConfidenceIntervalDisplay
from skci.reports.estimate import ConfidenceInterval, MetricEstimate, Verdict
from skci.reports.joint import JointReport
from skci.reports.learning_curves import LearningCurveReport
from skci.reports.ranks import RankReport
from skci.reports.requirements import RequirementReport
from skci.reports.scoring import ScoreReport
from skci.reports.searching import SearchReport
from skci.resampling.schemes import (
    Bootstrap632,
    ConservativeZ,
    GroupJackknife,
    NestedCrossValidation,
)
from skci.scorers import interval_scorers
from skci.scoring import pass_at_k, score_report
from skci.searching import search_report

__version__ = version("skci")

__all__ = [
    "BestReport",
    "Bootstrap632",
    "CalibrationBandDisplay",
    "CalibrationReport",
    "ClassificationReport",
    "ConfidenceBandDisplay",
    "ConfidenceInterval",
    "ConfidenceIntervalDisplay",
    "ConservativeZ",
    "ContrastReport",
    "CriticalValue",
    "CrossValidationReport",
    "CurveReport",
    "DifferenceDisplay",
    "GroupJackknife",
    "JointAccumulator",
    "JointEvaluator",
    "JointReport",
    "LearningCurveBandDisplay",
    "LearningCurveReport",
    "MetricEstimate",
    "NestedCrossValidation",
    "RankReport",
    "RequirementReport",
    "ScoreReport",
    "SearchReport",
    "ThresholdEstimate",
    "ThresholdReport",
    "ThresholdRequirementReport",
    "Verdict",
    "VerdictMatrixDisplay",
    "best_bound",
    "calibration_report",
    "classification_report_ci",
    "combine_independent",
    "confusion_matrix_report",
    "critical_value",
    "cross_val_folds",
    "cross_validate_report",
    "exceptions",
    "five_by_two_f_test",
    "fold_models_report",
    "interval_scorers",
    "joint_intervals",
    "joint_report",
    "learning_curve_report",
    "metrics",
    "minimum_detectable",
    "pass_at_k",
    "precision_recall_report",
    "roc_report",
    "sample_size",
    "score_report",
    "search_report",
    "show_versions",
    "simplest_not_worse",
    "threshold_report",
    "two_proportion_test",
]
__all__ += metrics.__all__
