"""Designs: how the rows of a sample were drawn, where not independently.

A design is the option `design` of an entry point. Clusters and weights have options of
their own, `groups` and `sample_weight`.
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
