"""The public metric objects."""

# ruff: noqa: F403, F405

from skci.metrics._agreement import *
from skci.metrics._base import MetricCI
from skci.metrics._binary import *
from skci.metrics._custom import (
    CustomCI,
    CustomItemCI,
    CustomRegressionCI,
    make_metric_ci,
)
from skci.metrics._deviance import *
from skci.metrics._names import available_metrics
from skci.metrics._probabilities import *
from skci.metrics._rankings import *
from skci.metrics._regression import *
from skci.metrics._scores import *

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
    "CohenKappaCI",
    "CosineCI",
    "CoverageErrorCI",
    "CustomCI",
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
    "HitRateCI",
    "InformednessCI",
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
    "TopKAccuracyCI",
    "TverskyCI",
    "available_metrics",
    "make_metric_ci",
]
