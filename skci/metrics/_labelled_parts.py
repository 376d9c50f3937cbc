"""Metrics bound to parts of partially labelled rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from skci.data.partial_truth import Part
from skci.data.sample import Sample
from skci.inference.intervals import methods
from skci.inference.parameter import Parameter, TableParameter
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet

AUTOMATIC = ("score", "logit", "hall")
"""Methods that "auto" stands for where not all rows have a truth."""

Bind = Callable[[Sample, frozenset[int]], list[TableParameter]]


def bindings(
    metric_set: MetricSet, sample: Sample, parts: Sequence[Part]
) -> Iterator[tuple[Bind, Part]]:
    """How to bind each metric to each model, and each part of the rows."""
    kinds = sample.kinds
    if "scores" in kinds:
        metric_set.scored_labels(sample.vocabulary)
    for model in sample.models:
        for name, metric in metric_set.metrics.items():
            if model not in kinds.get(metric.reads, ()):
                continue
            settings = model, name, metric_set.methods[name], metric_set.pos_label

            def bind(
                sample: Sample,
                codes: frozenset[int],
                metric: Any = metric,
                settings: Any = settings,
            ) -> list[TableParameter]:
                return [*metric.bind(sample, *settings, codes)]

            for part in parts:
                yield bind, part


def method_for(parameter: Parameter, trait: Trait) -> str:
    """Method of a parameter, if it was chosen, for an estimate with another trait."""
    if parameter.method == methods.automatic(parameter.trait):
        return methods.automatic(trait)
    methods.check_serves(parameter.method, trait)
    return parameter.method
