"""Results, and how they are shown.

Public are the names in ``__all__``: what the functions and methods of skci return.
"""

from skci.reports.classification import CalibrationReport as CalibrationReport
from skci.reports.classification import ClassificationReport as ClassificationReport
from skci.reports.contrasts import ContrastReport as ContrastReport
from skci.reports.curves import DecisionCurveReport as DecisionCurveReport
from skci.reports.curves import ThresholdEstimate as ThresholdEstimate
from skci.reports.curves import ThresholdReport as ThresholdReport
from skci.reports.curves import (
    ThresholdRequirementReport as ThresholdRequirementReport,
)
from skci.reports.displays import ConfidenceBandDisplay as ConfidenceBandDisplay
from skci.reports.displays import (
    ConfidenceIntervalDisplay as ConfidenceIntervalDisplay,
)
from skci.reports.estimate import ConfidenceInterval as ConfidenceInterval
from skci.reports.estimate import MetricEstimate as MetricEstimate
from skci.reports.estimate import Verdict as Verdict
from skci.reports.grading import GradesReport as GradesReport
from skci.reports.grading import SuiteReport as SuiteReport
from skci.reports.grading import VotesReport as VotesReport
from skci.reports.joint import JointReport as JointReport
from skci.reports.ranks import BestReport as BestReport
from skci.reports.ranks import BestReports as BestReports
from skci.reports.ranks import ComparisonWithBest as ComparisonWithBest
from skci.reports.ranks import RankInterval as RankInterval
from skci.reports.ranks import RankReport as RankReport
from skci.reports.requirements import RequirementReport as RequirementReport
from skci.reports.resampling import CrossValidationReport as CrossValidationReport
from skci.reports.resampling import ImportanceReport as ImportanceReport
from skci.reports.resampling import LearningCurveReport as LearningCurveReport
from skci.reports.resampling import SearchReport as SearchReport
from skci.reports.runs import RunsContrastReport as RunsContrastReport
from skci.reports.runs import RunsReport as RunsReport

__all__ = [name for name, value in [*vars().items()] if isinstance(value, type)]


def __dir__() -> list[str]:
    return __all__
