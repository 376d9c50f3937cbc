"""The metrics of a report: what they are computed from, and the report they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from skci._validation import check_confidence_level, join_names, named_pairs
from skci.data.labels import check_pos_label
from skci.data.reading import Reader
from skci.data.sample import Sample, Vocabulary
from skci.inference.critical.law import fixed_seed
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.metrics._base import MetricCI, open_reader
from skci.metrics._binding import Settings
from skci.metrics._names import resolve_metric
from skci.reports.estimate import warn_of_undefined
from skci.reports.joint import JointReport

__all__ = ["MetricSet", "known_labels", "named_metrics"]


class MetricSet:
    """The metrics of a report and its settings, checked.

    Parameters
    ----------
    metrics : str, metric object, list of them, or mapping of str to them
    confidence_level, method, pos_label, random_state
        See :func:`skci.joint_report`.
    """

    def __init__(
        self,
        metrics: Any,
        *,
        confidence_level: Any = 0.95,
        method: Any = None,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.confidence_level = check_confidence_level(confidence_level)
        self.method = None if method is None else check_method(method)
        self.metrics = named_metrics(metrics)
        self.pos_label = pos_label
        # A report answers the same whatever is looked at first.
        self.seed = fixed_seed(random_state)
        for metric in self.metrics.values():
            self._check(metric)
        if "numbers" in self.reads and len(self.reads) > 1:
            raise ValueError(
                "metrics must be all of numbers or all of labels and scores, for they "
                f"have one truth, got {self._kinds}"
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
    def _kinds(self) -> dict[str, str]:
        return {name: metric.reads for name, metric in self.metrics.items()}

    @property
    def reads(self) -> set[str]:
        """What the metrics are computed from: "labels", "scores", "numbers"."""
        return set(self._kinds.values())

    def must_read_labels(self) -> None:
        """Check that all metrics are of labels."""
        if self.reads != {"labels"}:
            raise ValueError(f"metrics must be of labels, got {self._kinds}")

    def must_be_given(self, y_pred: Any, y_score: Any) -> None:
        """Check that there is what the metrics are computed from."""
        given = {"labels": y_pred, "numbers": y_pred, "scores": y_score}
        for kind, values in given.items():
            if kind in self.reads and values is None:
                needy = [name for name, own in self._kinds.items() if own == kind]
                parameter = "y_score" if kind == "scores" else "y_pred"
                raise ValueError(
                    f"{parameter}= must be given for metrics of {kind}: "
                    f"{join_names(needy)}"
                )
        both = {"labels", "scores"} <= self.reads
        if both and set(y_pred) != set(y_score):
            raise ValueError(
                f"y_score must name the rules of y_pred, {list(y_pred)}, got "
                f"{list(y_score)}"
            )

    @property
    def several(self) -> bool:
        """Whether all metrics are of any number of labels."""
        return all(metric._several for metric in self.metrics.values())

    @property
    def needs_probabilities(self) -> bool:
        """Whether some metric needs probabilities."""
        return any(metric._needs_probabilities for metric in self.metrics.values())

    def reader(self, y_true: Any, **rows: Any) -> Reader:
        """Open a reader of what the metrics are computed from; see `Reader`."""
        return open_reader(
            self.metrics.values(), y_true, pos_label=self.pos_label, **rows
        )

    def scored_labels(self, vocabulary: Vocabulary) -> tuple[Any, ...]:
        """Find the labels that scores are of: all, or the positive one of two."""
        labels = vocabulary.labels
        if len(labels) > 2:
            return labels
        wanted = {
            name: labels[check_pos_label(self._pos_label(metric), labels)]
            for name, metric in self.metrics.items()
            if metric.reads == "scores"
        }
        if len(set(wanted.values())) > 1:
            raise ValueError(
                "pos_label must be the same for all metrics of scores, which are of "
                f"one label, got {wanted}"
            )
        return (next(iter(wanted.values()), labels[1]),)

    def _pos_label(self, metric: MetricCI) -> Any:
        return self.pos_label if metric.pos_label is None else metric.pos_label

    def estimate(self, sample: Sample) -> JointEstimate:
        """Estimate the metrics of all rules of a sample."""
        joint = JointEstimate.from_rows(
            self._bind(sample),
            sample.design,
            self.confidence_level,
            True,
            self.seed,
        )
        warn_of_undefined(joint)
        return joint

    def report(self, sample: Sample) -> JointReport:
        """Report the metrics of all rules of a sample."""
        return JointReport(self.estimate(sample))

    def _bind(self, sample: Sample) -> Iterator[TableParameter]:
        """Bind each metric to each rule that has what it is computed from."""
        if sample.scores:
            self.scored_labels(sample.vocabulary)
        has = {
            "labels": sample.labelled,
            "scores": sample.scores,
            "numbers": sample.numbers,
        }
        subgroups: list[int | None] = [None]
        if sample.subgroups is not None:
            subgroups = list(range(len(sample.subgroups.names)))
        for rule in sample.rules:
            for name, metric in self.metrics.items():
                for subgroup in subgroups if rule in has[metric.reads] else []:
                    settings = Settings(name, self.method, self.pos_label, subgroup)
                    yield from metric.bind(sample, rule, settings)


def known_labels(estimators: Iterable[tuple[str, Any]]) -> set[Any]:
    """Collect the labels that estimators know."""
    known = [np.ravel(getattr(each, "classes_", ())) for _, each in estimators]
    return {label for labels in known for label in labels.tolist()}


def named_metrics(metrics: Any) -> dict[str, MetricCI]:
    """Metric objects by their name in the report."""
    if isinstance(metrics, Mapping):
        return {
            name: resolve_metric(metric)
            for name, metric in named_pairs(metrics, "metrics")
        }
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    named = [
        (metric if isinstance(metric, str) else resolve_metric(metric).name, metric)
        for metric in metrics
    ]
    return named_metrics(dict(named_pairs(named, "metrics")))
