"""The public metric objects."""

# ruff: noqa: F403, F405

from skci.metrics.base import MetricCI
from skci.metrics.clinical import *
from skci.metrics.custom import *
from skci.metrics.labels import *
from skci.metrics.names import available_metrics
from skci.metrics.probabilities import *
from skci.metrics.rankings import *
from skci.metrics.regression import *
from skci.metrics.scores import *
from skci.metrics.survival import *

__all__ = [
    "DCGCI",
    "F05CI",
    "F1CI",
    "F2CI",
    "NDCGCI",
    "R2CI",
    "AccuracyCI",
    "AveragePrecisionCI",
    "BalancedAccuracyCI",
    "BrierScoreCI",
    "CalibrationInterceptCI",
    "CalibrationSlopeCI",
    "CohenKappaCI",
    "ConcordanceCI",
    "CosineCI",
    "CoverageErrorCI",
    "CumulativeDynamicAucCI",
    "CustomCI",
    "CustomFunctionCI",
    "CustomInfluenceCI",
    "CustomItemCI",
    "CustomRegressionCI",
    "D2AbsoluteErrorCI",
    "D2BrierScoreCI",
    "D2LogLossCI",
    "D2PinballCI",
    "D2TweedieCI",
    "DiagnosticOddsRatioCI",
    "ErrorRateCI",
    "ExplainedVarianceCI",
    "FBetaCI",
    "FalseNegativeRateCI",
    "FalsePositiveRateCI",
    "GMeanCI",
    "HammingLossCI",
    "HingeLossCI",
    "HitRateCI",
    "InformednessCI",
    "IntegratedBrierCI",
    "InterventionsAvoidedCI",
    "JaccardCI",
    "LabelRankingAveragePrecisionCI",
    "LabelRankingLossCI",
    "LiftCI",
    "LogLossCI",
    "MarkednessCI",
    "MatthewsCorrCoefCI",
    "MeanAbsoluteErrorCI",
    "MeanAbsolutePercentageErrorCI",
    "MeanAveragePrecisionCI",
    "MeanGammaDevianceCI",
    "MeanPinballLossCI",
    "MeanPoissonDevianceCI",
    "MeanReciprocalRankCI",
    "MeanSquaredErrorCI",
    "MeanSquaredLogErrorCI",
    "MeanTweedieDevianceCI",
    "MedianAbsoluteErrorCI",
    "MetricCI",
    "NegativeLikelihoodRatioCI",
    "NegativePredictiveValueCI",
    "NetBenefitCI",
    "ObservedToExpectedCI",
    "OverlapCI",
    "PearsonCorrelationCI",
    "PositiveLikelihoodRatioCI",
    "PrecisionAtKCI",
    "PrecisionCI",
    "RecallAtKCI",
    "RecallCI",
    "RejectionRateCI",
    "RocAucCI",
    "RootMeanSquaredErrorCI",
    "RootMeanSquaredLogErrorCI",
    "SelectionRateCI",
    "SpecificityCI",
    "SquaredCalibrationErrorCI",
    "StandardizedNetBenefitCI",
    "SurvivalBrierCI",
    "TopKAccuracyCI",
    "TverskyCI",
    "available_metrics",
    "make_metric_ci",
]


def __dir__() -> list[str]:
    return __all__
