"""Metrics of several truths of the same rows, such as a label, a grade and a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from skci._hints import data_hint
from skci.data.design_options import Prevalence
from skci.data.drawing import RowOptions
from skci.data.rows import Alignment
from skci.data.sample import Sample
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, TableParameter
from skci.metrics._metric_set import MetricSet, named_metrics
from skci.reports.joint import JointReport

_OTHERS = "*"

Samples = Sequence[Sample]
"""A sample for each set of metrics, whose units are the same rows."""


@dataclass(frozen=True, eq=False)
class MetricsByTruth:
    """Metrics of several truths, used as a `MetricSet`; see `skci.joint_report`."""

    sets: Mapping[tuple[str | None, ...], MetricSet]
    """Sets of metrics, by the key of what is given for them: truth and predictions."""
    order: Sequence[str]
    """Names of all metrics."""

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        metrics: Any,
        confidence_level: Any,
        method: Any,
        *settings: Any,
    ) -> MetricsByTruth:
        """Unite metrics that are given the same, and check them."""
        named = named_metrics(metrics)
        keys = [_keys(values, named, name) for name, values in given.items()]
        chosen: dict[tuple[str | None, ...], dict[str, Any]] = {}
        for name, metric in named.items():
            chosen.setdefault(tuple(key[name] for key in keys), {})[name] = metric
        sets = {}
        for key, some in chosen.items():
            methods = method
            if isinstance(method, Mapping):
                others = named.keys() - some.keys()
                methods = {k: each for k, each in method.items() if k not in others}
            sets[key] = copy(MetricSet(some, confidence_level, methods, *settings))
            sets[key].by_rows = True
        return cls(sets, [*named])

    def without_tables(self, *known: Any) -> MetricsByTruth:
        """The same metrics, with interval methods that need no table of counts."""
        sets = {key: each.without_tables(*known) for key, each in self.sets.items()}
        return replace(self, sets=sets)

    def read(
        self,
        y_true: Any,
        y_pred: Any,
        y_score: Any,
        rows: RowOptions,
        data: Any = None,
        **labels: Any,
    ) -> Samples:
        """Read what is given for each set, row by row."""
        if isinstance(rows.design, Prevalence):
            raise ValueError(
                "design=Prevalence is of the label of one y_true, got y_true by metric"
            )
        alignment, samples = Alignment(), {}
        for keys, metric_set in self.sets.items():
            truth, pred, score = (
                values if key is None else values[key]
                for key, values in zip(keys, (y_true, y_pred, y_score), strict=True)
            )
            name = f"y_true[{keys[0]!r}]"
            alignment.check(name, truth)
            reads = metric_set.reads
            pred = pred if reads - {"scores"} else None
            score = score if "scores" in reads else None
            samples[name] = metric_set.read(truth, pred, score, rows, data, **labels)
        sizes = {name: len(sample.rows) for name, sample in samples.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(
                f"y_true must have the same rows for all metrics, got {sizes}"
            )
        return [*samples.values()]

    def bind(self, samples: Samples, parts: Any = None) -> Iterator[TableParameter]:
        """Bind all metrics, by model and in the order in which they were given."""
        pairs = [*zip(self.sets.values(), samples, strict=True)]
        for model in dict.fromkeys(m for sample in samples for m in sample.models):
            for name in self.order:
                for metric_set, sample in pairs:
                    bound = metric_set.bind(sample, only=[name], parts=parts)
                    yield from (p for p in bound if p.key.model == model)

    def estimate(self, samples: Samples) -> JointEstimate:
        """Estimate the metrics of all models."""
        return self.joint(self.bind(samples), samples)

    def joint(
        self, parameters: Iterable[TableParameter], samples: Samples
    ) -> JointEstimate:
        """Estimate parameters of the samples jointly."""
        return next(iter(self.sets.values())).joint(parameters, samples[0])

    def report(self, samples: Samples) -> JointReport:
        """Report the metrics of all models."""

        def references(to: str) -> dict[Key, TableParameter]:
            each = zip(self.sets.values(), samples, strict=True)
            found = [metric_set.references(sample, to) for metric_set, sample in each]
            return {key: value for part in found for key, value in part.items()}

        by = samples[0].subgroups is not None
        return JointReport(self.estimate(samples), references if by else None)


def _keys(given: Any, metrics: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Key of what is given for each metric; None if it is given for all at once."""
    known = {*metrics, _OTHERS}
    is_truth = parameter == "y_true"
    if not isinstance(given, Mapping) or not (is_truth or known.issuperset(given)):
        return dict.fromkeys(metrics)
    keys = {name: name if name in given else _OTHERS for name in metrics}
    unknown = [name for name in given if name not in known]
    if unknown or not {*keys.values()} <= given.keys():
        swapped = is_truth and len(unknown) == len(given)
        hint = data_hint(given, parameter) if swapped else ""
        raise ValueError(
            f"{parameter} by metric must have an entry for each of {[*metrics]}, or "
            f"{_OTHERS!r} for all others, got {[*given]}{hint}"
        )
    return keys


def metrics_of_truths(given: Mapping[str, Any], settings: Sequence[Any]) -> Any:
    """Check metrics and their settings: a `MetricSet`, or sets if truth is by metric.

    `given` are the truth and the predictions, by parameter.
    """
    if not isinstance(given["y_true"], Mapping):
        return MetricSet(*settings)
    return MetricsByTruth.of(given, *settings)
