"""Reports, estimates and displays that the functions and methods of skci return.

The names in ``__all__`` are public.
"""

from skci.reports.contrasts import ContrastReport as ContrastReport
from skci.reports.curves import CalibrationReport as CalibrationReport
from skci.reports.curves import ClassificationReport as ClassificationReport
from skci.reports.curves import DecisionCurveReport as DecisionCurveReport
from skci.reports.curves import ThresholdEstimate as ThresholdEstimate
from skci.reports.curves import ThresholdReport as ThresholdReport
from skci.reports.curves import ThresholdRequirementReport as ThresholdRequirementReport
from skci.reports.decisions import BestReport as BestReport
from skci.reports.decisions import BestReports as BestReports
from skci.reports.decisions import ComparisonWithBest as ComparisonWithBest
from skci.reports.decisions import RankInterval as RankInterval
from skci.reports.decisions import RankReport as RankReport
from skci.reports.decisions import RequirementReport as RequirementReport
from skci.reports.displays import ConfidenceBandDisplay as ConfidenceBandDisplay
from skci.reports.displays import ConfidenceIntervalDisplay as ConfidenceIntervalDisplay
from skci.reports.estimate import ConfidenceInterval as ConfidenceInterval
from skci.reports.estimate import MetricEstimate as MetricEstimate
from skci.reports.estimate import Verdict as Verdict
from skci.reports.joint import JointReport as JointReport
from skci.reports.kinds import CrossValidationReport as CrossValidationReport
from skci.reports.kinds import GradesReport as GradesReport
from skci.reports.kinds import ImportanceReport as ImportanceReport
from skci.reports.kinds import LearningCurveReport as LearningCurveReport
from skci.reports.kinds import RunsContrastReport as RunsContrastReport
from skci.reports.kinds import RunsReport as RunsReport
from skci.reports.kinds import SearchReport as SearchReport
from skci.reports.kinds import SuiteReport as SuiteReport
from skci.reports.kinds import VotesReport as VotesReport
from skci.reports.sequential import SequentialReport as SequentialReport

__all__ = [name for name, value in [*vars().items()] if isinstance(value, type)]


def __dir__() -> list[str]:
    return __all__
