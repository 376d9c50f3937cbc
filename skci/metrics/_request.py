"""What a report is asked for, and the counted data that it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from skci._typing import Array
from skci._validation import check_confidence_level, named_pairs
from skci.data.labels import check_pos_label, label_table
from skci.data.rows import Subgroups, check_subgroups, scores_in_messages
from skci.data.sample import OutcomeTable
from skci.inference.critical.law import fixed_seed
from skci.inference.intervals.methods import check_method
from skci.inference.parameter import ONE_RULE, Parameter
from skci.metrics._base import LabelMetricCI, MetricCI
from skci.metrics._names import resolve_metric
from skci.metrics._regression import RegressionMetricCI, numbers_table
from skci.metrics._scores import ScoreMetricCI, kept_scores
from skci.reports.estimate import jointly
from skci.reports.joint import JointReport

__all__ = ["Counted", "Options", "named_metrics", "named_predictions"]


class Options:
    """What a report is asked for, checked."""

    def __init__(
        self,
        metrics: Any,
        confidence_level: Any,
        method: Any,
        pos_label: Any,
        random_state: Any,
    ) -> None:
        self.confidence_level = check_confidence_level(confidence_level)
        self.method = None if method is None else check_method(method)
        self.metrics = named_metrics(metrics)
        self.pos_label = pos_label
        # A report answers the same whatever is looked at first.
        self.seed = fixed_seed(random_state)
        for metric in self.metrics.values():
            self._check(metric)
        if "values" in self.reads and len(self.reads) > 1:
            kinds = {name: own._reads for name, own in self.metrics.items()}
            raise ValueError(
                "metrics must be all of numbers or all of labels and scores, for they "
                f"have one truth, got {kinds}"
            )

    def _check(self, metric: MetricCI) -> None:
        """Check a metric; one of several may need another method than they."""
        try:
            metric._check(self.method)
        except ValueError as error:
            if self.method is None or metric.method or len(self.metrics) == 1:
                raise
            raise ValueError(
                f"{error}; or give a method to metric objects alone, as in "
                "AccuracyCI(method='score')"
            ) from error

    @property
    def reads(self) -> set[str]:
        """What the metrics are computed from: "labels", "scores", "values"."""
        return {metric._reads for metric in self.metrics.values()}

    @property
    def wants_probabilities(self) -> bool:
        """Whether some metric needs probabilities."""
        return any(
            isinstance(metric, ScoreMetricCI) and metric._probabilities
            for metric in self.metrics.values()
        )

    def scored_labels(self, table: OutcomeTable) -> tuple[Any, ...]:
        """Find the labels that scores are of: all, or the positive one of two."""
        if len(table.labels) > 2:
            return table.labels
        labels = {
            label: table.labels[check_pos_label(self._pos_label(metric), table.labels)]
            for label, metric in self.metrics.items()
            if isinstance(metric, ScoreMetricCI)
        }
        if len(set(labels.values())) > 1:
            raise ValueError(
                "pos_label must be the same for all metrics of scores, which are of "
                f"one label, got {labels}"
            )
        return (next(iter(labels.values()), table.labels[1]),)

    def known_labels(self, estimators: Iterable[tuple[str, Any]]) -> set[Any]:
        """Collect the labels that estimators know, if metrics may have many."""
        if not self.several:
            return set()
        known = [np.ravel(getattr(own, "classes_", ())) for _, own in estimators]
        return {label for own in known for label in own.tolist()}

    @property
    def several(self) -> bool:
        """Whether all metrics are of any number of labels."""
        return all(own._several for own in self.metrics.values())

    def _abstain(self, given: Any) -> Any:
        """Find what stands for no answer: as given, or as a metric says."""
        own = {metric.abstain for metric in self.metrics.values()}
        known = {given, *own} - {None}
        if len(known) > 1:
            raise ValueError(
                f"abstain must be one label, got {sorted(map(repr, known))} of the "
                "report and its metrics"
            )
        return known.pop() if known else None

    def _pos_label(self, metric: MetricCI) -> Any:
        """Positive label that a metric asks for."""
        return metric._wanted(self.pos_label)

    def count(
        self,
        y_true: Any,
        y_pred: Mapping[str, Any],
        y_score: Mapping[str, Any] | None = None,
        *,
        truth: str = "y_true",
        labels: Iterable[Any] = (),
        abstain: Any = None,
        by: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Counted:
        """Check what the metrics are computed from, and count outcomes."""
        named = {_in_messages(rule): own for rule, own in y_pred.items()}
        parts = None if by is None else check_subgroups(by, y_true, truth)
        rows: dict[str, Any] = {
            "truth": truth,
            "sample_weight": sample_weight,
            "groups": groups,
            "by": None if parts is None else parts.codes,
        }
        if "values" in self.reads:
            if abstain is not None:
                raise ValueError(
                    f"abstain must not be set for metrics of numbers, got {abstain!r}"
                )
            table, y, columns = numbers_table(y_true, named, **rows)
            numbers = dict(zip(y_pred, columns, strict=True))
            return Counted(table, [], {}, parts, (y, numbers))
        table = self._label_table(y_true, named, labels, abstain, rows)
        if table.multilabel and "scores" in self.reads:
            raise ValueError(
                f"{truth} must be of one target for metrics of scores, got several"
            )
        self.scored_labels(table)
        scores = {
            rule: kept_scores(
                values, scores_in_messages(rule), table, len(y_true), sample_weight
            )
            for rule, values in (y_score or {}).items()
        }
        return Counted(table, list(y_pred), scores, parts)

    def _label_table(
        self,
        y_true: Any,
        named: Mapping[str, Any],
        labels: Iterable[Any],
        abstain: Any,
        rows: dict[str, Any],
    ) -> OutcomeTable:
        """Count the labels of one target."""
        metrics = list(self.metrics.values())
        wanted = [self._pos_label(own) for own in metrics if not own._symmetric]
        asked = [own.labels for own in metrics if own.labels is not None]
        more = {label for own in [*asked, labels] for label in list(own)}
        return label_table(
            y_true,
            named,
            pos_label=next(iter(wanted), self.pos_label),
            any_pos_label=not wanted,
            several=self.several,
            labels=more or None,
            abstain=self._abstain(abstain),
            merged="scores" not in self.reads,
            **rows,
        )

    def report(self, counted: Counted) -> JointReport:
        """Make the report of counted outcomes."""
        parameters, design = self._parameters(counted), counted.table.design
        return JointReport(
            jointly(parameters, design, self.confidence_level, self.seed)
        )

    def _parameters(self, counted: Counted) -> Iterator[Parameter]:
        """Bind each metric to each rule that has what it is computed from."""
        for rule in counted.rules:
            for label, metric in self.metrics.items():
                for of in counted.subgroups:
                    yield from self._bound(counted, rule, label, metric, of)

    def _bound(
        self,
        counted: Counted,
        rule: str,
        label: str,
        metric: MetricCI,
        of: Mapping[str, Any],
    ) -> list[Parameter]:
        """Bind a metric to a rule in a subgroup."""
        names: dict[str, Any]
        names = {"method": self.method, "rule": rule, "metric": label}
        table = counted.table
        if isinstance(metric, RegressionMetricCI):
            y, columns = counted.numbers
            return metric._parameters(table, y, columns[rule], **names, **of)
        names["pos_label"] = self.pos_label
        if isinstance(metric, ScoreMetricCI):
            if rule not in counted.scores:
                return []
            scores = counted.scores[rule]
            return metric._parameters(table, scores, **names, **of)
        assert isinstance(metric, LabelMetricCI)
        if rule not in counted.predicted:
            return []
        position = counted.predicted.index(rule)
        return metric._parameters(table, position, **names, **of)


@dataclass(frozen=True)
class Counted:
    """Outcomes counted, ready for a report."""

    table: OutcomeTable
    predicted: list[str]
    """Rules that have labels."""
    scores: Mapping[str, Any]
    """Scores of rules that have them, row by row of the table."""
    parts: Subgroups | None = None
    """Subgroups of the rows, whose codes are in the last column of the table."""
    numbers: tuple[Array, Mapping[str, Array]] = (np.zeros(0), MappingProxyType({}))
    """True and predicted numbers, row by row of the table."""

    @property
    def rules(self) -> list[str]:
        """Names of all rules."""
        return list(dict.fromkeys([*self.predicted, *self.scores, *self.numbers[1]]))

    @property
    def subgroups(self) -> list[dict[str, Any]]:
        """Which rows to report on, and their labels; all of them without subgroups."""
        if self.parts is None:
            return [{}]
        column = self.table.outcomes.shape[1] - 1
        return [
            {"within": (column, code), "labels": labels}
            for code, labels in enumerate(self.parts.labels)
        ]


def named_metrics(metrics: Any) -> dict[str, MetricCI]:
    """Metric objects by their label in the report."""
    if isinstance(metrics, Mapping):
        return {
            label: resolve_metric(metric)
            for label, metric in named_pairs(metrics, "metrics")
        }
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    labelled = [
        (metric if isinstance(metric, str) else resolve_metric(metric).name, metric)
        for metric in metrics
    ]
    return named_metrics(dict(named_pairs(labelled, "metrics")))


def named_predictions(y_pred: Any, parameter: str = "y_pred") -> dict[str, Any]:
    """Columns of labels or scores by the name of their rule."""
    if hasattr(y_pred, "columns"):  # a data frame
        y_pred = [(name, y_pred[name]) for name in y_pred.columns]
        return dict(named_pairs(y_pred, parameter))
    are_pairs = isinstance(y_pred, list | tuple) and any(
        isinstance(entry, tuple) for entry in y_pred[:1]
    )
    if isinstance(y_pred, Mapping) or are_pairs:
        return dict(named_pairs(y_pred, parameter))
    return {ONE_RULE: y_pred}


def _in_messages(rule: str) -> str:
    return rule if rule == ONE_RULE else f"y_pred[{rule!r}]"
