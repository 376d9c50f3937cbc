"""The public metric objects."""

from skci.metrics import _agreement, _binary, _regression, _scores
from skci.metrics._agreement import *  # noqa: F403
from skci.metrics._base import MetricCI
from skci.metrics._binary import *  # noqa: F403
from skci.metrics._custom import CustomCI, CustomRegressionCI, make_metric_ci
from skci.metrics._names import available_metrics
from skci.metrics._regression import *  # noqa: F403
from skci.metrics._scores import *  # noqa: F403

__all__ = [
    "CustomCI",
    "CustomRegressionCI",
    "MetricCI",
    "available_metrics",
    "make_metric_ci",
]
__all__ += [*_agreement.__all__, *_binary.__all__]
__all__ += [*_regression.__all__, *_scores.__all__]
