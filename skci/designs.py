"""Designs: how the rows of a sample were drawn, where not independently.

A design is the option `design` of an entry point. Clusters and weights have options of
their own, `groups` and `sample_weight`.
"""

from skci.data.design_options import Prevalence, Strata
from skci.data.runs import Runs
from skci.inference.designs.design import Component, Design

__all__ = ["Component", "Design", "Prevalence", "Runs", "Strata"]
