"""What a report is asked for, and the counted data that it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skci._covariance import Design
from skci._critical import fixed_seed
from skci._estimate import warn_of_undefined
from skci._joint import JointEstimate, Parameter
from skci._outcomes import OutcomeTable
from skci._validation import (
    binary_table,
    check_confidence_level,
    check_method,
    check_pos_label,
    named_pairs,
)
from skci.metrics._base import LabelMetricCI, MetricCI
from skci.metrics._names import resolve_metric
from skci.metrics._regression import RegressionMetricCI, numbers_table
from skci.metrics._scores import ScoreMetricCI, kept_scores
from skci.report import JointReport

__all__ = ["ONE_RULE", "Counted", "Options", "named_metrics", "named_predictions"]

ONE_RULE = "y_pred"
"""Name of a rule that has none."""


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
            metric._check(self.method)
        if "values" in self.reads and len(self.reads) > 1:
            kinds = {name: own._reads for name, own in self.metrics.items()}
            raise ValueError(
                "metrics must be all of numbers or all of labels and scores, for they "
                f"have one truth, got {kinds}"
            )

    @property
    def reads(self) -> set[str]:
        """What the metrics are computed from: "labels", "scores"."""
        return {metric._reads for metric in self.metrics.values()}

    @property
    def wants_probabilities(self) -> bool:
        """Whether some metric needs probabilities."""
        return any(
            isinstance(metric, ScoreMetricCI) and metric._probabilities
            for metric in self.metrics.values()
        )

    def scored_label(self, counted: Counted) -> Any:
        """Find the label that all scores are of; the positive one without scores."""
        labels = {
            label: counted.pos_label(label)
            for label, metric in self.metrics.items()
            if isinstance(metric, ScoreMetricCI)
        }
        if len(set(labels.values())) > 1:
            raise ValueError(
                "pos_label must be the same for all metrics of scores, which are of "
                f"one label, got {labels}"
            )
        return next(iter(labels.values()), counted.labels[0])

    def count(
        self,
        y_true: Any,
        y_pred: Mapping[str, Any],
        y_score: Mapping[str, Any] | None = None,
        truth: str = "y_true",
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Counted:
        """Check labels and scores, and count outcomes."""
        wanted = {
            label: self.pos_label if metric.pos_label is None else metric.pos_label
            for label, metric in self.metrics.items()
            if not getattr(metric._measure, "symmetric", False)
        }
        scored = "scores" in self.reads
        table, positive, negative = binary_table(
            y_true,
            {_in_messages(rule): labels for rule, labels in y_pred.items()},
            pos_label=next(iter(wanted.values()), self.pos_label),
            any_pos_label=not wanted,
            truth=truth,
            sample_weight=sample_weight,
            groups=groups,
            merged=not scored,
        )
        scores = {
            rule: kept_scores(values, f"y_score[{rule!r}]", len(y_true), sample_weight)
            for rule, values in (y_score or {}).items()
        }
        exchanged = {
            label: check_pos_label(pos_label, positive, negative)
            for label, pos_label in wanted.items()
        }
        return Counted(table, list(y_pred), scores, exchanged, (positive, negative))

    def compare(
        self,
        y_true: Any,
        y_pred: Mapping[str, Any],
        truth: str = "y_true",
        sample_weight: Any = None,
        groups: Any = None,
    ) -> JointReport:
        """Make the report of predicted numbers."""
        table, y, columns = numbers_table(
            y_true,
            {_in_messages(rule): values for rule, values in y_pred.items()},
            truth=truth,
            sample_weight=sample_weight,
            groups=groups,
        )
        parameters = [
            metric._parameter(
                table, y, values, method=self.method, rule=rule, metric=label
            )
            for rule, values in zip(y_pred, columns, strict=True)
            for label, metric in self.metrics.items()
            if isinstance(metric, RegressionMetricCI)
        ]
        return self._report(parameters, table.design)

    def report(self, counted: Counted) -> JointReport:
        """Make the report of counted outcomes."""
        self.scored_label(counted)
        return self._report(self._parameters(counted), counted.table.design)

    def _report(self, parameters: Iterable[Parameter], design: Design) -> JointReport:
        joint = JointEstimate(
            tuple(parameters),
            design,
            self.confidence_level,
            random_state=self.seed,
        )
        warn_of_undefined(joint)
        return JointReport(joint)

    def _parameters(self, counted: Counted) -> Iterator[Parameter]:
        """Bind each metric to each rule that has what it is computed from."""
        for rule in dict.fromkeys([*counted.rules, *counted.scores]):
            for label, metric in self.metrics.items():
                options = {
                    "method": self.method,
                    "rule": rule,
                    "metric": label,
                    "pos_label": counted.pos_label(label),
                    "exchanged": counted.exchanged.get(label, False),
                }
                if isinstance(metric, ScoreMetricCI):
                    if rule in counted.scores:
                        name = f"y_score[{rule!r}]"
                        yield metric._parameter(
                            counted.table, counted.scores[rule], name=name, **options
                        )
                elif isinstance(metric, LabelMetricCI) and rule in counted.rules:
                    position = counted.rules.index(rule)
                    yield metric._parameter(counted.table, position, **options)


@dataclass(frozen=True)
class Counted:
    """Outcomes counted, ready for a report."""

    table: OutcomeTable
    rules: list[str]
    """Rules that have labels."""
    scores: Mapping[str, Any]
    """Scores of rules that have them, row by row of the table."""
    exchanged: Mapping[str, bool]
    """For which metrics the negative label of the table is the positive one."""
    labels: tuple[Any, Any] = (None, None)
    """The positive and the negative label of the table; None if not known."""

    def pos_label(self, metric: str) -> Any:
        """Positive label of a metric."""
        return self.labels[self.exchanged.get(metric, False)]


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
