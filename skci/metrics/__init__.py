"""The public metric objects."""

from skci.metrics import _binary
from skci.metrics._base import MetricCI
from skci.metrics._binary import *  # noqa: F403
from skci.metrics._custom import CustomCI, make_metric_ci
from skci.metrics._names import available_metrics

__all__ = ["CustomCI", "MetricCI", "available_metrics", "make_metric_ci"]
__all__ += _binary.__all__
