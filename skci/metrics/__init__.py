"""The public metric objects."""

# ruff: noqa: F403

from typing import TYPE_CHECKING

from skci.metrics.base import METRIC_CLASSES
from skci.metrics.base import MetricCI as MetricCI
from skci.metrics.clinical import *
from skci.metrics.custom import *
from skci.metrics.forecasts import *
from skci.metrics.labels import *
from skci.metrics.probabilities import *
from skci.metrics.rankings import *
from skci.metrics.regression import *
from skci.metrics.scorecards import *
from skci.metrics.scores import *
from skci.metrics.skill import *
from skci.metrics.survival import *
from skci.metrics.text import *

if not TYPE_CHECKING:  # type checkers find the names in the imports above
    __all__ = sorted(
        {cls.__name__ for cls in METRIC_CLASSES}
        | {"MetricCI", "available_metrics", "make_metric_ci"}
    )

    def __dir__():
        return __all__


# Metric names are collected from the classes that the imports above have declared.
from skci.metrics.names import available_metrics as available_metrics
