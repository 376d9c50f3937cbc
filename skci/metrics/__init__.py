"""The public metric objects."""

# ruff: noqa: F403, F405

from skci.metrics._agreement import *
from skci.metrics._base import MetricCI
from skci.metrics._binary import *
from skci.metrics._clinical import *
from skci.metrics._custom import *
from skci.metrics._deviance import *
from skci.metrics._names import available_metrics
from skci.metrics._probabilities import *
from skci.metrics._rankings import *
from skci.metrics._regression import *
from skci.metrics._scores import *
from skci.metrics._survival import *

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
