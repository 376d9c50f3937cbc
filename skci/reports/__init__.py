"""Results, and how they are shown.

Public are the names in ``__all__``: what the functions and methods of skci return.
"""

from skci.reports.band_display import ConfidenceBandDisplay
from skci.reports.calibration import CalibrationReport
from skci.reports.classification import ClassificationReport
from skci.reports.contrasts import ContrastReport
from skci.reports.curves import (
    DecisionCurveReport,
    ThresholdEstimate,
    ThresholdReport,
    ThresholdRequirementReport,
)
from skci.reports.estimate import ConfidenceInterval, MetricEstimate, Verdict
from skci.reports.grades import GradesReport
from skci.reports.importance import ImportanceReport
from skci.reports.interval_display import ConfidenceIntervalDisplay
from skci.reports.joint import JointReport
from skci.reports.ranks import (
    BestReport,
    BestReports,
    ComparisonWithBest,
    RankInterval,
    RankReport,
)
from skci.reports.requirements import RequirementReport
from skci.reports.resampling import (
    CrossValidationReport,
    LearningCurveReport,
    SearchReport,
)
from skci.reports.runs import RunsContrastReport, RunsReport
from skci.reports.verdict_display import VerdictMatrixDisplay
from skci.reports.votes import VotesReport

__all__ = [
    "BestReport",
    "BestReports",
    "CalibrationReport",
    "ClassificationReport",
    "ComparisonWithBest",
    "ConfidenceBandDisplay",
    "ConfidenceInterval",
    "ConfidenceIntervalDisplay",
    "ContrastReport",
    "CrossValidationReport",
    "DecisionCurveReport",
    "GradesReport",
    "ImportanceReport",
    "JointReport",
    "LearningCurveReport",
    "MetricEstimate",
    "RankInterval",
    "RankReport",
    "RequirementReport",
    "RunsContrastReport",
    "RunsReport",
    "SearchReport",
    "ThresholdEstimate",
    "ThresholdReport",
    "ThresholdRequirementReport",
    "Verdict",
    "VerdictMatrixDisplay",
    "VotesReport",
]
