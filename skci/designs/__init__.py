"""Sampling designs, for rows that are not a simple random sample.

A design is passed to a report function as `design`. Clusters and weights are passed as
`groups` and `sample_weight`.
"""

from skci.data.runs import Runs
from skci.designs.calibrated import Calibrated
from skci.inference.designs.crossed import Crossed
from skci.inference.designs.design import Component, Design
from skci.inference.designs.strata import Prevalence, Strata
from skci.inference.designs.time_order import TimeOrder

__all__ = [
    "Calibrated",
    "Component",
    "Crossed",
    "Design",
    "Prevalence",
    "Runs",
    "Strata",
    "TimeOrder",
]


def __dir__() -> list[str]:
    return __all__
