"""Metrics of a report: with one truth, with several, or at points of scores."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple, Self

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._options import data_hint
from skci._validation import (
    Assumed,
    by_metric,
    check_confidence_level,
    fixed_seed,
    is_iterable,
    join_names,
    named_columns,
    named_values,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.labels import check_label, is_multilabel
from skci.data.moments import MomentSample
from skci.data.reading import Reader, Wanted, check_both_labels
from skci.data.remote import are_in_blocks, check_separable, on_host, read_blocks
from skci.data.responses import RANKING_METHODS, SCORE_METHODS, Request
from skci.data.rows import Alignment, check_same_models
from skci.data.sample import KINDS, Sample, Vocabulary
from skci.inference.critical.horizon import Horizon
from skci.inference.designs.strata import Prevalence
from skci.inference.intervals.methods import AUTO, AvailableData, check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_MODEL, Key, TableParameter
from skci.metrics.base import MetricCI
from skci.metrics.binding import Binding, bind_references
from skci.metrics.censored import bind_share
from skci.metrics.custom import CustomInfluenceCI
from skci.metrics.names import resolve_metric, resolve_metrics
from skci.metrics.scores import ScoreMetricCI
from skci.reports.estimate import warn_of_undefined
from skci.reports.joint import JointReport

_OTHERS = "*"  # key of an entry for all metrics that have none of their own


class MetricSet:
    """The metrics and the settings of a report, checked; see `skci.joint_report`."""

    def __init__(
        self,
        metrics: Any,
        confidence_level: Any = 0.95,
        method: Any = None,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.confidence_level = check_confidence_level(confidence_level)
        self.metrics = named_metrics(metrics)
        self.methods = methods_by_metric(method, [*self.metrics])
        self.pos_label = pos_label
        # Fixed, for a report to be the same whatever is computed first.
        self.seed = fixed_seed(random_state)
        self.by_rows = False  # whether units of samples are rows, whatever is read
        for name, metric in self.metrics.items():
            self._check(metric, self.methods[name])
        chosen = self.metrics.values()
        # Whether there may be more than two labels, or targets.
        self.several = all(metric._several for metric in chosen)
        of_scores = [metric for metric in chosen if metric.reads == "scores"]
        self.may_miss_scores = bool(of_scores) and all(m._may_miss for m in of_scores)
        self.kinds = {name: metric.reads for name, metric in self.metrics.items()}
        self.reads = set(self.kinds.values())
        self._check_truths()

    def _check_truths(self) -> None:
        """Check that one truth can serve all metrics."""
        truths = {n: m._truth for n, m in self.metrics.items() if m.reads != "items"}
        kinds = set(truths.values())
        if "survival" in kinds and len(kinds) > 1:
            others = [name for name, truth in truths.items() if truth != "survival"]
            raise ValueError(
                "metrics must be all of survival or none, whose y_true is events and "
                f"times, got {join_names(others)} beside metrics of "
                "survival; set time of metrics that have it, as NetBenefitCI(0.2, "
                "time=365); joint_report takes y_true by metric, and skci.event_by("
                "y_true, time) cuts times to labels"
            )
        of_numbers = "numbers" in self.reads and "survival" not in kinds
        if of_numbers and self.reads & {"labels", "scores"}:
            raise ValueError(
                "metrics must be all of numbers or all of labels and scores, since "
                f"y_true is either, got {self.kinds}; joint_report takes y_true by "
                "metric"
            )

    def _check(self, metric: MetricCI, method: str | None) -> None:
        """Check a metric; one of several may need a method of its own."""
        try:
            metric._check(method)
        except ValueError as error:
            if method is None or metric.method or len(self.metrics) == 1:
                raise
            name = next(iter(self.metrics))
            raise ValueError(
                f"{error}; or give methods by metric, as in "
                f"method={{{name!r}: {method!r}, {_OTHERS!r}: 'auto'}}"
            ) from error

    def without_tables(
        self, available: AvailableData = "covariance", preferred: Sequence[str] = ()
    ) -> Self:
        """The same metrics, with interval methods that need no table of counts."""
        other = copy(self)
        other.metrics = {
            name: metric.without_table(self.methods[name], available, preferred)
            for name, metric in self.metrics.items()
        }
        return other

    @property
    def score_methods(self) -> list[str]:
        """Methods of estimators whose scores all metrics accept."""
        needs = {name: m._score_methods for name, m in self.metrics.items()}
        methods = [
            method
            for method in RANKING_METHODS
            if all(method in each for each in needs.values())
        ]
        if not methods:
            only = {name: each[0] for name, each in needs.items() if len(each) == 1}
            raise ValueError(
                "metrics must be of the same scores of an estimator, got metrics of "
                f"{only}; report them apart"
            )
        return methods

    def must_read_labels(self) -> None:
        """Check that all metrics are of labels."""
        if self.reads != {"labels"}:
            raise ValueError(f"metrics must be of labels, got {self.kinds}")

    def must_be_given(self, y_pred: Any, y_score: Any) -> None:
        """Check that there are predictions of each kind that the metrics read."""
        given = dict.fromkeys(KINDS, y_pred) | {"scores": y_score}
        for kind in self.reads:
            if given[kind] is None:
                parameter = "y_score" if kind == "scores" else "y_pred"
                metrics = [name for name, reads in self.kinds.items() if reads == kind]
                hint = "; a function of scores needs reads='scores'"
                hint *= any(isinstance(self.kinds[name], Assumed) for name in metrics)
                if kind == "labels" and y_score is not None and not hint:
                    hint = "; with scores alone use threshold_report"
                raise ValueError(
                    f"{parameter}= must be given for metrics of {kind}: "
                    f"{join_names(metrics)}{hint}"
                )
        if y_pred is not None and y_score is not None:
            self._check_chosen()
        both = y_pred is not None and "scores" in self.reads
        # Several columns may be those of one model without a name.
        may_be_one = {*(y_pred or ())} == {DEFAULT_MODEL} and len(y_score or ()) > 1
        if both and self.reads != {"scores"} and not may_be_one:
            check_same_models(y_pred, y_score)

    def _check_chosen(self) -> None:
        """Check that users' functions of the rows need not guess what they read."""
        for name, reads in self.kinds.items():
            if isinstance(reads, Assumed):
                call = "make_metric_ci(..., of='rows', reads={!r})"
                if isinstance(self.metrics[name], CustomInfluenceCI):
                    call = call.replace("of='rows'", "influence=...")
                labels, scores = map(call.format, ("labels", "scores"))
                raise ValueError(
                    f"reads must be set for {name!r} where there are labels and scores "
                    f"of the rows; make it by {labels} or by {scores}"
                )

    def request(
        self, estimators: Iterable[tuple[str, Any]], scored: tuple[Any, ...]
    ) -> Request:
        """Say what is asked of estimators, which score rows for some labels."""
        pairs = product(estimators, SCORE_METHODS)
        if any(hasattr(estimator, method) for (_, estimator), method in pairs):
            self._check_chosen()
        return Request(self.reads, scored, self.score_methods)

    def reader(
        self,
        y_true: Any,
        rows: RowOptions | None = None,
        truth: str = "y_true",
        abstain: Any = None,
        labels: Iterable[Any] = (),
    ) -> Reader:
        """Open a reader that serves all metrics.

        `abstain` and `labels`, which need not occur, apply to all of them.
        """
        wanted = [each.wanted(self.pos_label) for each in self.metrics.values()]
        given = [abstain, *(each.abstain for each in wanted)]
        abstains = {check_label(x, "abstain") for x in given if x is not None}
        if len(abstains) > 1:
            raise ValueError(
                f"abstain must be one label, got {sorted(map(repr, abstains))} of the "
                "report and its metrics"
            )
        positive: dict[str, Any] = {}
        for each in wanted:
            if not each.infer_pos_label:
                positive.setdefault(min(each.kinds), each.pos_label)
        # The positive one of two labels is that of the scores, if there are any.
        kind = "scores" if "scores" in positive else "labels"
        united = Wanted(
            frozenset(self.reads),
            self.several,
            positive.get(kind, self.pos_label),
            infer_pos_label=kind not in positive,
            require_pos_label=any(each.require_pos_label for each in wanted),
            labels=(*chain.from_iterable(each.labels for each in wanted), *labels),
            abstain=next(iter(abstains), None),
            truths=frozenset().union(*(each.truths for each in wanted)),
            missing_scores=self.may_miss_scores,
        )
        return Reader.open(united, y_true, rows, truth)

    def read(
        self,
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        rows: RowOptions | None = None,
        data: Any = None,
        **labels: Any,
    ) -> Sample:
        """Read what is given row by row, or the columns of `data` that it names.

        Dask arrays are read block by block, and arrays on a device counted there.
        """
        rows = RowOptions() if rows is None else rows
        columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}
        columns |= rows.columns
        if data is None:
            for parameter, values in columns.items():
                if isinstance(values, str):
                    raise TypeError(
                        f"{parameter} must be an array, got {values!r}; to name "
                        "columns of a data frame, give it as data="
                    )
                if values is not None and parameter in ("y_pred", "y_score"):
                    columns[parameter] = named_columns(values, parameter, DEFAULT_MODEL)
            self.must_be_given(columns["y_pred"], columns["y_score"])
        else:
            frame = Frame(data, columns)
            self.must_be_given(frame.names["y_pred"], frame.names["y_score"])
            of_rows = rows.needs_rows or self.by_rows or "items" in self.reads
            kinds = self.reads | ({"numbers"} if of_rows else set())
            missing = ["y_score"] if self.may_miss_scores else []
            columns = frame.read(kinds, rows, missing)
        if are_in_blocks(columns):
            check_separable(rows)
            return read_blocks(partial(self._read, rows, labels), columns, self.several)
        by_rows = self.by_rows or rows.needs_rows
        counted = self.reads == {"labels"} and not by_rows
        return self._read(rows, labels, **on_host(columns, counted))

    def _read(
        self,
        rows: RowOptions,
        labels: dict[str, Any],
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        **columns: Any,
    ) -> Sample:
        """Read columns in memory."""
        reader = self.reader(y_true, rows.with_columns(columns), **labels)
        return reader.sample(y_pred, y_score, self.by_rows)

    def with_labels_of(
        self, estimators: Sequence[tuple[str, Any]], reader: Reader
    ) -> tuple[Reader, tuple[Any, ...]]:
        """Add labels that estimators know, and find those that are scored.

        Labels are checked before anything is predicted.
        """
        of_survival = reader.wanted.truth == "survival"
        if of_survival or not self.reads & {"labels", "scores"}:
            return reader, ()
        known: set[Any] = set()
        if not is_multilabel(reader.y):
            classes = (
                getattr(estimator, "classes_", ()) for _, estimator in estimators
            )
            known = {label for each in classes for label in np.ravel(each).tolist()}
        several = self.several or len(known) <= 2
        if known and several and known >= reader.true_labels:
            reader = reader.with_labels(known)
        scored = self.scored_labels(reader.vocabulary)
        if len(scored) == 1:
            reader = reader.with_labels((), scored[0])
        return reader, scored

    def scored_labels(self, vocabulary: Vocabulary) -> tuple[Any, ...]:
        """Labels with a score: all, or the positive one of two; or targets.

        For the relevance of documents, one in each row, the label is 1.
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
                "pos_label must be the same for all metrics of scores, which are of "
                f"one label, got {positive}"
            )
        return (next(iter(positive.values()), labels[1]),)

    def estimate(
        self,
        sample: Sample,
        keys: Mapping[str, Mapping[str, Any]] | None = None,
        horizon: Horizon | None = None,
    ) -> JointEstimate:
        """Estimate the metrics of all models of a sample.

        `keys` are what replaces the model in the keys of its parameters, by model.
        """
        parameters = self.bind(sample)
        if keys is not None:
            parameters = (
                replace(p, key=replace(p.key, **keys[p.key.model])) for p in parameters
            )
        return self.joint(parameters, sample, horizon)

    def joint(
        self,
        parameters: Iterable[TableParameter],
        sample: Sample,
        horizon: Horizon | None = None,
    ) -> JointEstimate:
        """Estimate parameters of a sample jointly, with the settings of the report."""
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
        """Report the metrics of all models of a sample, perhaps at all looks."""
        references = None
        if self._first(sample).subgroups is not None:
            references = partial(self.references, sample)
        return JointReport(self.estimate(sample, horizon=horizon), references)

    def _first(self, sample: Any) -> Sample:
        """Return a sample of all rows, of which there may be one for each truth."""
        first: Sample = sample
        return first

    def references(self, sample: Sample, to: str) -> dict[Key, TableParameter]:
        """Bind the metrics to the rest, or to all, of the rows of each subgroup."""
        return bind_references(sample, to, lambda part: self.bind(sample, parts=[part]))

    def bind(
        self,
        sample: Sample,
        only: Container[str] | None = None,
        parts: Iterable[frozenset[int] | None] | None = None,
    ) -> Iterator[TableParameter]:
        """Bind each metric, or `only` some, to each model with predictions it reads.

        In each subgroup, or in each of some `parts` of the sample.
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
                if only is not None and name not in only:
                    continue
                for part in parts:
                    settings = self.methods[name], self.pos_label, part
                    yield from metric.bind(sample, model, name, *settings)


def methods_by_metric(method: Any, metrics: Sequence[str]) -> dict[str, str | None]:
    """Methods of some metrics: one for all, or by metric with "*" for all others."""
    given = by_metric(method, [*metrics, _OTHERS], "method", "a name")
    for each in given.values():
        if each is not None:
            check_method(each)
    return {name: given.get(name, given.get(_OTHERS)) for name in metrics}


def named_metrics(metrics: Any) -> dict[str, MetricCI]:
    """Metrics by their names in the report."""
    if isinstance(metrics, Mapping):
        named = named_values(metrics, "metrics")
        return {name: resolve_metric(metric) for name, metric in named.items()}
    alone = isinstance(metrics, str) or not is_iterable(metrics)
    pairs = []
    for given in [metrics] if alone else metrics:
        pairs += resolve_metrics(given)
    return named_values(pairs, "metrics")


class MetricsByTruth(MetricSet):
    """Metrics of several truths, whose samples are lists of one for each truth."""

    def __init__(
        self,
        given: Mapping[str, Any],
        metrics: Any,
        confidence_level: Any,
        method: Any,
        *settings: Any,
    ) -> None:
        named = named_metrics(metrics)
        keys = [_keys(values, named, name) for name, values in given.items()]
        chosen: dict[tuple[str | None, ...], dict[str, Any]] = {}
        for name, metric in named.items():
            chosen.setdefault(tuple(key[name] for key in keys), {})[name] = metric
        self.sets: dict[tuple[str | None, ...], MetricSet] = {}
        """Sets of metrics by the keys of their truth and of their predictions."""
        for key, some in chosen.items():
            methods = method
            if isinstance(method, Mapping):
                others = named.keys() - some.keys()
                methods = {k: each for k, each in method.items() if k not in others}
            self.sets[key] = MetricSet(some, confidence_level, methods, *settings)
            self.sets[key].by_rows = True
        first = next(iter(self.sets.values()))
        self.confidence_level, self.seed = first.confidence_level, first.seed
        self.metrics = named

    def without_tables(self, *known: Any) -> Self:
        """The same metrics, with interval methods that need no table of counts."""
        other = copy(self)
        sets = self.sets.items()
        other.sets = {key: each.without_tables(*known) for key, each in sets}
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
        """Read what is given for each set, row by row."""
        if rows is not None and isinstance(rows.design, Prevalence):
            raise ValueError(
                "design=Prevalence is of the label of one y_true, got y_true by metric"
            )
        alignment, samples, sizes = Alignment(), [], {}
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
            samples.append(metric_set.read(truth, pred, score, rows, data, **labels))
            sizes[name] = len(samples[-1].rows)
        if len(set(sizes.values())) > 1:
            raise ValueError(
                f"y_true must have the same rows for all metrics, got {sizes}"
            )
        return samples

    def bind(self, samples: Any, *_: Any) -> Iterator[TableParameter]:
        """Bind all metrics, by model and in the order in which they were given."""
        pairs = [*zip(self.sets.values(), samples, strict=True)]
        for model in dict.fromkeys(m for sample in samples for m in sample.models):
            for name in self.metrics:
                for metric_set, sample in pairs:
                    bound = metric_set.bind(sample, only=[name])
                    yield from (p for p in bound if p.key.model == model)

    def references(self, samples: Any, to: str) -> dict[Key, TableParameter]:
        """Bind the metrics to the rest, or to all, of the rows of each subgroup."""
        each = zip(self.sets.values(), samples, strict=True)
        found = [metric_set.references(sample, to) for metric_set, sample in each]
        return {key: value for part in found for key, value in part.items()}


def _keys(given: Any, metrics: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Key of the entry for each metric; None if all metrics share what is given."""
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


def metrics_of_truths(given: Mapping[str, Any], *settings: Any) -> MetricSet:
    """Check metrics and their settings, which read one truth or a truth by metric.

    `given` are the truth and the predictions, by parameter.
    """
    if isinstance(given["y_true"], Mapping):
        return MetricsByTruth(given, *settings)
    return MetricSet(*settings)


class Points(NamedTuple):
    """P points of the scores of a model, each of which makes it a classifier."""

    names: Sequence[str]
    levels: Array
    """Level of the score of each row, from 0 on, shape (n,)."""
    is_positive: Array
    """Whether rows of each of L levels are predicted positive at each point, (L, P)."""


def keys_at_points(
    column: str, points: Mapping[str, Points]
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Model, index of a point and fields of the key, for the points of each model.

    Keys are those of models named by their points if there is one model, which has no
    name, and else of the models, with the point in a column beside them.
    """
    alone = list(points) == [DEFAULT_MODEL]
    for model, each in points.items():
        for k, name in enumerate(each.names):
            key = {"model": model, "subgroup": ((column, name),)}
            yield model, k, {"model": name, "factor": column} if alone else key


def _events_at_points(
    metric_set: MetricSet,
    scored: Sample,
    column: str,
    points: Mapping[str, Points],
    time: float,
) -> Iterator[TableParameter]:
    """Fractions with an event by a time among the positive rows at each point."""
    (name, method), *_ = metric_set.methods.items()
    for model, k, key in keys_at_points(column, points):
        _, levels, is_positive = points[model]
        binding = Binding(scored, model, name, method or AUTO)
        parameter = bind_share(binding, is_positive[levels, k], time)
        yield replace(parameter, key=replace(parameter.key, **key))


def estimate_at_points(
    metric_set: MetricSet,
    scored: Sample,
    column: str,
    points: Mapping[str, Points],
    time: float | None = None,
) -> JointEstimate:
    """Estimate metrics of labels jointly at points of each model, by name.

    With a time, the labels are events by it, and the metric is the precision.
    """
    if time is not None:
        events = _events_at_points(metric_set, scored, column, points, time)
        return metric_set.joint(events, scored)
    check_both_labels(scored)
    rows, design = scored.rows, scored.design
    outcomes = np.stack(
        [scored.codes[:, 0], *(each.levels for each in points.values())], axis=1
    )
    if not design.is_rowwise:
        strata = [] if design.strata is None else [design.strata]
        outcomes, unit = distinct_rows(np.column_stack([outcomes, *strata]))
        rows, design = rows.merge_units(unit, len(outcomes)), design.merge_units(unit)
    truth, *levels = outcomes[:, : len(points) + 1].T
    columns = [truth[:, np.newaxis].astype(bool)]
    for each, level in zip(points.values(), levels, strict=True):
        columns.append(each.is_positive[level])
    found = enumerate(keys_at_points(column, points))
    keys = {str(number): key for number, (_, _, key) in found}
    codes = np.concatenate(columns, axis=1)
    sample = Sample(rows, design, scored.vocabulary, codes, tuple(keys))
    return metric_set.estimate(sample, keys)
