"""The public metric objects."""

# ruff: noqa: F403, F405

from skci.metrics._agreement import *
from skci.metrics._base import MetricCI
from skci.metrics._binary import *
from skci.metrics._clinical import *
from skci.metrics._custom import (
    CustomCI,
    CustomItemCI,
    CustomRegressionCI,
    make_metric_ci,
)
from skci.metrics._deviance import *
from skci.metrics._names import available_metrics
from skci.metrics._probabilities import *
from skci.metrics._regression import *
from skci.metrics._scores import *

__all__ = [
    "F05CI",
    "F1CI",
    "F2CI",
    "R2CI",
    "AccuracyCI",
    "AveragePrecisionCI",
    "BalancedAccuracyCI",
    "BrierScoreCI",
    "CalibrationInterceptCI",
    "CalibrationSlopeCI",
    "CohenKappaCI",
    "CosineCI",
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
    "HingeLossCI",
    "InformednessCI",
    "InterventionsAvoidedCI",
    "JaccardCI",
    "LiftCI",
    "LogLossCI",
    "MarkednessCI",
    "MatthewsCorrCoefCI",
    "MeanAbsoluteErrorCI",
    "MeanAbsolutePercentageErrorCI",
    "MeanGammaDevianceCI",
    "MeanPinballLossCI",
    "MeanPoissonDevianceCI",
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
    "PrecisionCI",
    "RecallCI",
    "RejectionRateCI",
    "RocAucCI",
    "RootMeanSquaredErrorCI",
    "RootMeanSquaredLogErrorCI",
    "SelectionRateCI",
    "SpecificityCI",
    "SquaredCalibrationErrorCI",
    "StandardizedNetBenefitCI",
    "TopKAccuracyCI",
    "TverskyCI",
    "available_metrics",
    "make_metric_ci",
]
