"""Estimation of all metrics of a report: checks, data and joint estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn import get_config

from skci import _validation
from skci._arrays import Array, distinct_rows
from skci._options import data_hint
from skci._validation import Assumed, join_names, named_columns, named_values
from skci.data.frames import Frame
from skci.data.labels import check_label, is_multilabel
from skci.data.moments import MomentSample
from skci.data.reading import Reader, RequiredData
from skci.data.remote import are_in_blocks, on_host, read_blocks
from skci.data.responses import RANKING_METHODS, SCORE_METHODS, ResponseMethods
from skci.data.row_options import RowOptions
from skci.data.rows import Alignment, check_same_models
from skci.data.sample import KINDS, Sample, Vocabulary
from skci.inference.critical.horizon import Horizon
from skci.inference.designs.strata import Prevalence
from skci.inference.intervals.methods import AUTO, AvailableData, check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_MODEL, ParameterLabels, TableParameter
from skci.metrics.base import MetricCI
from skci.metrics.binding import Binding, bind_references
from skci.metrics.censored import bind_share
from skci.metrics.names import resolve_metric, resolve_metrics
from skci.metrics.scores import ScoreMetricCI
from skci.reports.estimate import warn_of_undefined
from skci.reports.joint import JointReport

_OTHERS = "*"  # key of the entry for all metrics that are not named by another key


class MetricSet:
    """Metrics and settings of a report, after validation.

    The settings are described at `skci.joint_report`.
    """

    def __init__(
        self,
        metrics: Any,
        confidence_level: Any = 0.95,
        method: Any = None,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.confidence_level = _validation.check_confidence_level(confidence_level)
        self.metrics = named_metrics(metrics)
        self.methods = methods_by_metric(method, [*self.metrics])
        self.pos_label = pos_label
        # A fixed seed, so that the report does not depend on the order of computations.
        self.seed = _validation.fixed_seed(random_state)
        self.by_rows = False  # whether each row is a unit, even for metrics of labels
        for name, metric in self.metrics.items():
            metric._check(self.methods[name])
        selected = self.metrics.values()
        # Whether more than two labels, or several targets, are accepted.
        self.several = all(metric._several for metric in selected)
        may_miss = [metric._may_miss for metric in selected if metric.reads == "scores"]
        self.may_miss_scores = bool(may_miss) and all(may_miss)
        self.kinds = {name: metric.reads for name, metric in self.metrics.items()}
        self.reads = set(self.kinds.values())
        if len(self.metrics) > 1:
            self._check_truths()

    def _check_truths(self) -> None:
        """Check that all metrics accept the same array of true values."""
        kinds = {}
        for name, metric in self.metrics.items():
            if metric._truth == "survival":
                kinds[name] = "events and times"
            elif metric.reads != "items":
                kinds[name] = "numbers" if metric.reads == "numbers" else "labels"
        if len(set(kinds.values())) > 1:
            raise ValueError(
                f"metrics must all read one kind of y_true, got {kinds}. To combine "
                "several kinds, pass y_true to joint_report as a mapping by metric. If "
                "y_true has events and times, set the option time of a metric that has "
                "this option, as in NetBenefitCI(0.2, time=365), or convert times to "
                "labels with skci.event_by(y_true, time)"
            )

    def without_tables(
        self, available: AvailableData = "covariance", preferred: Sequence[str] = ()
    ) -> Self:
        """Return a copy with interval methods that need no confusion matrix.

        The arguments are described at `MetricCI.without_table`.
        """
        other = copy(self)
        other.metrics = {
            name: metric.without_table(self.methods[name], available, preferred)
            for name, metric in self.metrics.items()
        }
        return other

    def _score_methods(self) -> list[str]:
        """Return the methods, such as "predict_proba", that all metrics accept."""
        needs = {name: m._score_methods for name, m in self.metrics.items()}
        common = set(RANKING_METHODS).intersection(*needs.values())
        methods = [method for method in RANKING_METHODS if method in common]
        if not methods:
            raise ValueError(
                "metrics must accept scores from the same method of an estimator, got "
                f"metrics that accept the methods {needs}; use separate reports"
            )
        return methods

    def must_read_labels(self) -> None:
        """Check that all metrics are metrics of predicted labels."""
        if self.reads != {"labels"}:
            raise ValueError(f"metrics must read labels, got {self.kinds}")

    def must_be_given(self, y_pred: Any, y_score: Any) -> None:
        """Check that all required predictions and scores are passed."""
        predictions = dict.fromkeys(KINDS, y_pred) | {"scores": y_score}
        for kind in self.reads:
            if predictions[kind] is None:
                parameter = "y_score" if kind == "scores" else "y_pred"
                metrics = [name for name, reads in self.kinds.items() if reads == kind]
                hint = "; a metric of scores needs reads='scores'"
                hint *= any(isinstance(self.kinds[name], Assumed) for name in metrics)
                if kind == "labels" and y_score is not None and not hint:
                    hint = "; with scores alone use threshold_report"
                raise ValueError(
                    f"{parameter}= must be given for metrics of {kind}, got None for "
                    f"{join_names(metrics)}{hint}"
                )
        if y_pred is None or y_score is None:
            return
        self._check_chosen()
        # Several columns of scores may belong to one model without a name.
        may_be_one_model = [*y_pred] == [DEFAULT_MODEL] and len(y_score) > 1
        if {"scores"} < self.reads and not may_be_one_model:
            check_same_models(y_pred, y_score)

    def _check_chosen(self) -> None:
        """Check that custom metrics declare whether they read labels or scores."""
        for name, reads in self.kinds.items():
            if isinstance(reads, Assumed):
                raise ValueError(
                    f"reads must be set for {name!r} if both labels and scores are "
                    "passed; use make_metric_ci(..., reads='labels') or "
                    "make_metric_ci(..., reads='scores')"
                )

    def request(
        self, estimators: Iterable[tuple[str, Any]], scored: tuple[Any, ...]
    ) -> ResponseMethods:
        """Return the estimator methods, such as "predict", that the metrics require.

        `scored` are the labels for which scores are required.
        """
        pairs = product(estimators, SCORE_METHODS)
        if any(hasattr(estimator, method) for (_, estimator), method in pairs):
            self._check_chosen()
        return ResponseMethods(self.reads, scored, self._score_methods())

    def reader(
        self,
        y_true: Any,
        rows: RowOptions | None = None,
        truth: str = "y_true",
        abstain: Any = None,
        labels: Iterable[Any] = (),
    ) -> Reader:
        """Return a reader for the data that the metrics require.

        `labels` contains labels that need not occur in the data.
        """
        require_pos_label, all_labels = False, [*labels]
        truths: frozenset[str] = frozenset()
        distinct = set() if abstain is None else {check_label(abstain, "abstain")}
        positive: dict[str, Any] = {}
        for metric in self.metrics.values():
            requirement = metric.wanted(self.pos_label)
            if requirement.abstain is not None:
                distinct.add(check_label(requirement.abstain, "abstain"))
            if not requirement.infer_pos_label:
                positive.setdefault(min(requirement.kinds), requirement.pos_label)
            require_pos_label |= requirement.require_pos_label
            all_labels += requirement.labels
            truths |= requirement.truths
        if len(distinct) > 1:
            raise ValueError(
                "abstain must have one value for the report and for all metrics, got "
                f"{sorted(map(repr, distinct))}"
            )
        # If any metric reads scores, the positive label is the label of the scores.
        kind = "scores" if "scores" in positive else "labels"
        combined = RequiredData(
            frozenset(self.reads),
            self.several,
            positive.get(kind, self.pos_label),
            infer_pos_label=kind not in positive,
            require_pos_label=require_pos_label,
            labels=tuple(all_labels),
            abstain=next(iter(distinct), None),
            truths=truths,
            missing_scores=self.may_miss_scores,
        )
        return Reader.open(combined, y_true, rows, truth)

    def read(
        self,
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        rows: RowOptions | None = None,
        data: Any = None,
        **labels: Any,
    ) -> Sample:
        """Read rows from arrays, or from the named columns of `data`.

        Dask arrays are read block by block. If arrays are on a device such as a GPU,
        outcomes are counted on the device.
        """
        rows = RowOptions() if rows is None else rows
        columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}
        columns |= rows.columns
        if data is None:
            for parameter, values in columns.items():
                if isinstance(values, str):
                    raise TypeError(
                        f"{parameter} must be an array, got {values!r}; to name a "
                        "column of a data frame, also pass the data frame as data="
                    )
                if values is not None and parameter in ("y_pred", "y_score"):
                    columns[parameter] = named_columns(values, parameter, DEFAULT_MODEL)
            self.must_be_given(columns["y_pred"], columns["y_score"])
        else:
            frame = Frame(data, columns)
            self.must_be_given(frame.names["y_pred"], frame.names["y_score"])
            needs_rows = rows.needs_rows or self.by_rows or "items" in self.reads
            kinds = self.reads | ({"numbers"} if needs_rows else set())
            missing = ["y_score"] if self.may_miss_scores else []
            columns = frame.read(kinds, rows, missing)
        if are_in_blocks(columns):
            read = partial(self._read, rows, labels)
            return read_blocks(read, columns, self.several, rows.design)
        if get_config()["array_api_dispatch"]:
            columns = on_host(columns)
        return self._read(rows, labels, **columns)

    def _read(
        self,
        rows: RowOptions,
        labels: dict[str, Any],
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        **columns: Any,
    ) -> Sample:
        """Read rows from columns in memory."""
        reader = self.reader(y_true, rows.with_columns(columns), **labels)
        return reader.sample(y_pred, y_score, self.by_rows)

    def with_labels_of(
        self, estimators: Sequence[tuple[str, Any]], reader: Reader
    ) -> tuple[Reader, tuple[Any, ...]]:
        """Return a reader that knows the labels of the estimators.

        Also return the labels for which the estimators predict scores. The labels are
        checked before any estimator predicts.
        """
        is_survival = reader.wanted.truth == "survival"
        if is_survival or not self.reads & {"labels", "scores"}:
            return reader, ()
        labels: set[Any] = set()
        if not is_multilabel(reader.y):
            for _, estimator in estimators:
                labels.update(np.ravel(getattr(estimator, "classes_", ())).tolist())
        several = self.several or len(labels) <= 2
        if labels and several and labels >= reader.true_labels:
            reader = reader.with_labels(labels)
        scored = self.scored_labels(reader.vocabulary)
        if len(scored) == 1:
            reader = reader.with_labels((), scored[0])
        return reader, scored

    def scored_labels(self, vocabulary: Vocabulary) -> tuple[Any, ...]:
        """Return the labels for which models predict a score.

        With two labels, only the positive label has scores. With more labels, or with
        several targets, each label or target has scores. If each row is a document of a
        query, only the label 1 (relevant) has scores.
        """
        labels = vocabulary.labels
        if vocabulary.multilabel:
            n = len(vocabulary.targets)
            return tuple(range(n)) if n > 1 else (1,)
        if len(labels) > 2:
            return labels
        positive = {
            name: labels[metric._code(metric._positive(self.pos_label), labels)]
            for name, metric in self.metrics.items()
            if isinstance(metric, ScoreMetricCI)
        }
        if len(set(positive.values())) > 1:
            raise ValueError(
                "pos_label must be equal for all metrics that read scores, because all "
                f"scores refer to one label, got {positive}"
            )
        return (next(iter(positive.values()), labels[1]),)

    def estimate(self, sample: Sample, horizon: Horizon | None = None) -> JointEstimate:
        """Estimate the metrics of all models jointly."""
        return self.joint(self.bind(sample), sample, horizon)

    def joint(
        self,
        parameters: Iterable[TableParameter],
        sample: Sample,
        horizon: Horizon | None = None,
    ) -> JointEstimate:
        """Estimate parameters jointly, with the confidence level of the report."""
        first = self._first(sample)
        joint = JointEstimate.from_rows(
            parameters,
            first.rows,
            first.design,
            confidence_level=self.confidence_level,
            random_state=self.seed,
            horizon=horizon,
        )
        warn_of_undefined(joint)
        return joint

    def report(self, sample: Sample, horizon: Horizon | None = None) -> JointReport:
        """Report on the metrics of all models.

        If `horizon` contains planned sample sizes, the intervals cover simultaneously
        at all these sample sizes.
        """
        has_subgroups = self._first(sample).subgroups is not None
        references = partial(self.references, sample) if has_subgroups else None
        return JointReport(self.estimate(sample, horizon), _references=references)

    def _first(self, sample: Any) -> Sample:
        """Return the sample of the first metric."""
        first: Sample = sample
        return first

    def references(
        self, sample: Sample, to: str
    ) -> dict[ParameterLabels, TableParameter]:
        """Return the metric values with which each subgroup is compared.

        The values are computed from all other rows if `to` is "rest", and from all rows
        if `to` is "overall".
        """
        return bind_references(sample, to, partial(self.bind, sample))

    def bind(
        self, sample: Sample, parts: Iterable[frozenset[int] | None] | None = None
    ) -> Iterator[TableParameter]:
        """Yield the parameters to estimate for all metrics, models and subgroups.

        `parts` replaces the subgroups of the sample. If a model has no data that a
        metric reads, such as scores, the metric is not estimated for this model.
        """
        kinds, metrics = sample.kinds, self.metrics
        if "scores" in kinds:
            self.scored_labels(sample.vocabulary)
        if isinstance(sample, MomentSample):
            metrics = self.without_tables().metrics
        parts = sample.parts if parts is None else list(parts)
        for model in sample.models:
            for name, metric in metrics.items():
                if model not in kinds.get(metric.reads, ()):
                    continue
                for part in parts:
                    settings = self.methods[name], self.pos_label, part
                    yield from metric.bind(sample, model, name, *settings)


def methods_by_metric(method: Any, metrics: Sequence[str]) -> dict[str, str | None]:
    """Return the interval method of each metric.

    `method` is one method for all metrics, or a mapping from metric names to methods.
    """
    if method is None:
        return dict.fromkeys(metrics)
    methods = _validation.by_metric(method, [*metrics, _OTHERS], "method", "a name")
    for name in methods.values():
        if name is not None:
            check_method(name)
    return {name: methods.get(name, methods.get(_OTHERS)) for name in metrics}


def named_metrics(metrics: Any) -> dict[str, MetricCI]:
    """Return a mapping from names in the report to metric objects."""
    if isinstance(metrics, Mapping):
        named = named_values(metrics, "metrics")
        return {name: resolve_metric(metric) for name, metric in named.items()}
    is_single = isinstance(metrics, str) or not _validation.is_iterable(metrics)
    pairs = []
    for entry in [metrics] if is_single else metrics:
        pairs += resolve_metrics(entry)
    return named_values(pairs, "metrics")


class MetricsByTruth(MetricSet):
    """Metrics with different true values, such as labels and survival times.

    The data are a list of samples, one for each metric.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        metrics: Any,
        confidence_level: Any,
        method: Any,
        *settings: Any,
    ) -> None:
        self.metrics = named_metrics(metrics)
        methods = methods_by_metric(method, [*self.metrics])
        self.keys = [_keys(x, self.metrics, name) for name, x in columns.items()]
        """Keys of y_true, y_pred and y_score by metric."""
        self.sets = {
            name: MetricSet({name: metric}, confidence_level, methods[name], *settings)
            for name, metric in self.metrics.items()
        }
        for metric_set in self.sets.values():
            metric_set.by_rows = True
        first = next(iter(self.sets.values()))
        self.confidence_level, self.seed = first.confidence_level, first.seed

    def without_tables(self, *options: Any) -> Self:
        """Return a copy with interval methods that need no confusion matrix."""
        other = copy(self)
        sets = self.sets.items()
        other.sets = {name: each.without_tables(*options) for name, each in sets}
        return other

    def _first(self, sample: Any) -> Sample:
        return super()._first(sample[0])

    def read(
        self,
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        rows: RowOptions | None = None,
        data: Any = None,
        **labels: Any,
    ) -> Any:
        """Read the data of each metric."""
        if rows is not None and isinstance(rows.design, Prevalence):
            raise ValueError(
                "design=Prevalence needs a single y_true, got y_true by metric"
            )
        alignment, samples, sizes = Alignment(), [], {}
        given = y_true, y_pred, y_score
        for metric, metric_set in self.sets.items():
            keys = [keys_by_metric[metric] for keys_by_metric in self.keys]
            truth, pred, score = (
                values if key is None else values[key]
                for key, values in zip(keys, given, strict=True)
            )
            name = f"y_true[{keys[0]!r}]"
            alignment.check(name, truth)
            of_scores = metric_set.reads == {"scores"}
            pred, score = (None, score) if of_scores else (pred, None)
            samples.append(metric_set.read(truth, pred, score, rows, data, **labels))
            sizes[name] = len(samples[-1].rows)
        if len(set(sizes.values())) > 1:
            raise ValueError(
                f"y_true must have the same rows for all metrics, got {sizes}"
            )
        return samples

    def bind(self, samples: Any, *_: Any) -> Iterator[TableParameter]:
        """Yield the parameters to estimate, ordered by model and then by metric."""
        pairs = zip(self.sets.values(), samples, strict=True)
        bound = [[*metric_set.bind(sample)] for metric_set, sample in pairs]
        for model in dict.fromkeys(m for sample in samples for m in sample.models):
            yield from (p for part in bound for p in part if p.key.model == model)

    def references(
        self, samples: Any, to: str
    ) -> dict[ParameterLabels, TableParameter]:
        """Return the metric values with which each subgroup is compared.

        The values are computed from all other rows if `to` is "rest", and from all rows
        if `to` is "overall".
        """
        pairs = zip(self.sets.values(), samples, strict=True)
        references = [metric_set.references(sample, to) for metric_set, sample in pairs]
        return {key: value for part in references for key, value in part.items()}


def _keys(entries: Any, metrics: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Return the key under which `entries` contains the data of each metric.

    For example, ``y_true`` may be passed as a mapping by metric. The keys of such a
    mapping are metric names, or "*" for all other metrics. If `entries` is not a
    mapping by metric, the returned keys are None.
    """
    valid_keys = {*metrics, _OTHERS}
    is_truth = parameter == "y_true"
    if not isinstance(entries, Mapping) or not (
        is_truth or _OTHERS in entries or valid_keys.issuperset(entries)
    ):
        return dict.fromkeys(metrics)
    keys = {name: name if name in entries else _OTHERS for name in metrics}
    unknown = [name for name in entries if name not in valid_keys]
    if unknown or not {*keys.values()} <= entries.keys():
        swapped = is_truth and len(unknown) == len(entries)
        hint = data_hint(entries, parameter) if swapped else ""
        raise ValueError(
            f"{parameter} must have an entry for each of the metrics {[*metrics]}, or "
            f"an entry {_OTHERS!r} for all other metrics, got the entries "
            f"{[*entries]}{hint}"
        )
    return keys


def metrics_of_truths(columns: Mapping[str, Any], *settings: Any) -> MetricSet:
    """Check the metrics and the settings of a report.

    `columns` maps the names "y_true", "y_pred" and "y_score" to the data. Metrics may
    have different true values if "y_true" is a mapping by metric.
    """
    if isinstance(columns["y_true"], Mapping):
        return MetricsByTruth(columns, *settings)
    metric_set = MetricSet(*settings)
    for parameter, entries in columns.items():
        is_by_metric = isinstance(entries, Mapping) and len(entries) > 1
        if is_by_metric and {*metric_set.metrics, _OTHERS}.issuperset(entries):
            raise ValueError(
                f"{parameter} must not be a mapping by metric, unless y_true is a "
                "mapping by metric; pass y_true={'*': y_true}"
            )
    return metric_set


class Points(NamedTuple):
    """Classifiers defined by thresholds for the scores of a model."""

    names: Sequence[str]
    levels: Array
    """Number of thresholds, from 0, that the score of each row reaches."""
    is_positive: Array
    """Whether rows of a level are predicted positive, of shape (levels, thresholds)."""


def keys_at_points(
    column: str, points: Mapping[str, Points]
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the model, the index and the labels of each threshold.

    The labels identify the estimates at a threshold. The labels are the model name, and
    the threshold as a subgroup in the column `column`. If there is only one model and
    it has no name, the threshold is used as the model name.
    """
    is_single = list(points) == [DEFAULT_MODEL]
    for model, model_points in points.items():
        for k, name in enumerate(model_points.names):
            key = {"model": model, "subgroup": ((column, name),)}
            yield model, k, {"model": name, "factor": column} if is_single else key


def estimate_at_points(
    metric_set: MetricSet,
    scored: Sample,
    column: str,
    points: Mapping[str, Points],
    time: float | None = None,
) -> JointEstimate:
    """Estimate metrics at all score thresholds of all models.

    Each threshold defines a classifier. If `time` is passed, the positive label is an
    event by this time. The only metric is then precision, the proportion of events
    among the rows predicted positive.
    """
    parameters = []
    if time is not None:
        (name, method), *_ = metric_set.methods.items()
        for model, k, key in keys_at_points(column, points):
            _, level_of_row, is_positive = points[model]
            binding = Binding(scored, model, name, method or AUTO)
            parameter = bind_share(binding, is_positive[level_of_row, k], time)
            parameters.append(replace(parameter, key=replace(parameter.key, **key)))
        return metric_set.joint(parameters, scored)
    scored.check_both_labels()
    rows, design = scored.rows, scored.design
    levels = [model_points.levels for model_points in points.values()]
    outcomes = np.stack([scored.codes[:, 0], *levels], axis=1)
    if not design.is_rowwise:
        strata = [] if design.strata is None else [design.strata]
        outcomes, unit = distinct_rows(np.column_stack([outcomes, *strata]))
        rows, design = rows.merge_units(unit, len(outcomes)), design.merge_units(unit)
    truth, *levels = outcomes[:, : len(points) + 1].T
    columns = [truth[:, np.newaxis].astype(bool)]
    for model_points, level in zip(points.values(), levels, strict=True):
        columns.append(model_points.is_positive[level])
    numbered = enumerate(keys_at_points(column, points))
    keys = {str(number): key for number, (_, _, key) in numbered}
    codes = np.concatenate(columns, axis=1)
    sample = Sample(rows, design, scored.vocabulary, codes, tuple(keys))
    for parameter in metric_set.bind(sample):
        key = keys[parameter.key.model]
        parameters.append(replace(parameter, key=replace(parameter.key, **key)))
    return metric_set.joint(parameters, sample)
