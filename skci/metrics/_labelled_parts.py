"""Parts of rows of which some have a truth, and metrics bound to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skci.data.sample import Sample
from skci.inference.intervals import methods
from skci.inference.parameter import Parameter, TableParameter
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet

FLAG = "has a truth"
LABELLED, OTHER = "yes", "no"
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


def parts_of(sample: Sample, disjoint: bool) -> list[Part]:
    """Subgroups with their codes; `disjoint` if all rows are beside those labelled."""
    assert sample.subgroups is not None
    found: dict[_Subgroup, dict[str, int]] = {}
    for code, names in enumerate(sample.subgroups.names):
        kept = tuple(pair for pair in names if pair[0] != FLAG)
        found.setdefault(kept, {})[dict(names)[FLAG]] = code
    parts = []
    for subgroup, codes in found.items():
        if LABELLED not in codes:
            where = ", ".join(f"{column} = {name}" for column, name in subgroup)
            raise ValueError(f"y_true must have a label in {where}, got none")
        labelled = frozenset({codes[LABELLED]})
        every = frozenset({codes[OTHER]}) if disjoint else frozenset(codes.values())
        parts.append(Part(subgroup, labelled, every))
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
