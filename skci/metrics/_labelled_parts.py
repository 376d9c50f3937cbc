"""Parts of partially labelled rows, and metrics bound to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.sample import Sample, Subgroups
from skci.inference.intervals import methods
from skci.inference.parameter import Parameter, TableParameter
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet

AUTOMATIC = ("score", "logit", "hall")
"""Methods that "auto" stands for where not all rows have a truth."""

_Subgroup = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Part:
    """A subgroup, or all rows: codes of those with a truth, and of all."""

    subgroup: _Subgroup
    labelled: frozenset[int]
    every: frozenset[int]

    @property
    def codes(self) -> tuple[frozenset[int], frozenset[int]]:
        """Of the rows with a truth, and of all."""
        return self.labelled, self.every


def parted(subgroups: Subgroups | None, labelled: Array) -> Subgroups:
    """Part each subgroup in rows without a truth, of even codes, and rows with one."""
    if subgroups is None:
        subgroups = Subgroups(np.zeros(len(labelled), dtype=int), ((),))
    names = tuple(name for name in subgroups.names for _ in range(2))
    return Subgroups(2 * subgroups.codes + labelled, names)


def parts_of(subgroups: Subgroups, disjoint: bool = False) -> list[Part]:
    """Parts of subgroups by `parted`; `disjoint` if labelled rows are copies."""
    occurring = frozenset(np.unique(subgroups.codes).tolist())
    parts = []
    for code, name in enumerate(subgroups.names[::2]):
        labelled, others = (occurring & {each} for each in (2 * code + 1, 2 * code))
        parts.append(Part(name, labelled, others if disjoint else labelled | others))
    return parts


Bind = Callable[[Sample, frozenset[int]], list[TableParameter]]


def bindings(
    metric_set: MetricSet,
    sample: Sample,
    proxies: Sequence[str],
    parts: Sequence[Part],
) -> Iterator[tuple[Bind, Part]]:
    """How to bind each metric to each model, and each part of the rows."""
    kinds = sample.kinds
    if "scores" in kinds:
        metric_set.scored_labels(sample.vocabulary)
    for model in sample.models:
        for name, metric in metric_set.metrics.items():
            if model in proxies or model not in kinds.get(metric.reads, ()):
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
