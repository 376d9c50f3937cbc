"""From the columns of files to accumulated outcomes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_distinct, join_names
from skci.accumulation import JointAccumulator
from skci.cli.progress import Progress
from skci.data.files.delimited import parse_number
from skci.data.files.opening import open_table
from skci.data.files.table import Chunk
from skci.metrics._metric_set import MetricSet

_MISSING_SUBGROUP_HINT = "; --missing=group makes a subgroup of the rows without one"


@dataclass(frozen=True)
class Selection:
    """Columns of a file, by what they are."""

    truth: str
    rules: Mapping[str, str]  # column by rule
    scores: Mapping[str, Sequence[str]]  # columns by rule
    by: Sequence[str]
    missing: str
    groups: str | None
    weights: str | None
    counts: str | None

    @classmethod
    def of(cls, arguments: Namespace, columns: Sequence[str]) -> Selection:
        """Find what the arguments name among the columns of a file."""
        rules = _named("--rules", arguments.rules, columns)
        scores = _named("--scores", arguments.scores, columns)
        in_order = len(rules) == len(scores) and all(k == v for k, v in scores.items())
        if in_order:
            scores = dict(zip(rules, scores.values(), strict=True))
        several = {
            rule: [column] if column in columns else column.split(":")
            for rule, column in scores.items()
        }
        return cls(
            truth=arguments.truth,
            rules=rules,
            scores=several,
            by=arguments.by,
            missing=arguments.missing,
            groups=arguments.groups,
            weights=arguments.weights,
            counts=arguments.counts,
        )

    @property
    def columns(self) -> list[str]:
        """All columns, each once."""
        scores = [column for each in self.scores.values() for column in each]
        optional = (self.groups, self.weights, self.counts)
        rows = [name for name in optional if name is not None]
        every = [self.truth, *self.rules.values(), *scores, *self.by, *rows]
        return list(dict.fromkeys(every))


def _named(
    option: str, entries: Sequence[str], columns: Sequence[str]
) -> dict[str, str]:
    """Columns by the name of their rule, which is their own if none is given."""
    pairs = [
        (entry, entry) if entry in columns or "=" not in entry else entry.split("=", 1)
        for entry in entries
    ]
    check_distinct([name for name, _ in pairs], option)
    return {name: column for name, column in pairs}


class Labels:
    """Labels that arguments name, which are numbers where those of the truth are."""

    def __init__(self, arguments: Namespace, numeric: bool) -> None:
        self.numeric = numeric
        self.pos_label = self._label(arguments.pos_label)
        self.abstain = self._label(arguments.abstain)
        self.all = None
        if arguments.labels is not None:
            self.all = [*map(self._label, arguments.labels)]

    def _label(self, text: str | None) -> Any:
        if text is None or not self.numeric:
            return text
        number = parse_number(text)
        return text if number is None else number


def check_given(metric_set: MetricSet, arguments: Namespace) -> None:
    """Check that there are columns of each kind that the metrics read."""
    options = {"labels": "--rules", "numbers": "--rules", "scores": "--scores"}
    lacking = []
    for kind in sorted(metric_set.reads):
        if not getattr(arguments, options[kind].removeprefix("--")):
            metrics = [n for n, m in metric_set.metrics.items() if m.reads == kind]
            of = f"{kind}: {join_names(metrics)}"
            lacking.append(f"{options[kind]} must be given for metrics of {of}")
    if lacking:
        raise ValueError("; ".join(lacking))


def empty_accumulator(arguments: Namespace, labels: Labels) -> JointAccumulator:
    """Make an accumulator of the metrics that the arguments name."""
    given = vars(arguments)
    return JointAccumulator(
        arguments.metrics,
        labels=labels.all,
        pos_label=labels.pos_label,
        abstain=labels.abstain,
        confidence_level=arguments.level,
        method=arguments.method,
        **{name: given[name] for name in ("score_bins", "moments") if name in given},
    )


def accumulate(arguments: Namespace) -> JointAccumulator:
    """Read the files that the arguments name, a chunk at a time."""
    metric_set = MetricSet(arguments.metrics, arguments.level, arguments.method)
    check_given(metric_set, arguments)
    check_distinct(arguments.files, "FILE", "paths")
    accumulator = labels = None
    with closing(_chunks(arguments)) as chunks:
        for path, selection, chunk in chunks:
            if accumulator is None or labels is None:
                numeric = "numbers" in metric_set.reads or chunk.are_numbers(
                    selection.truth, [*selection.rules.values()]
                )
                labels = Labels(arguments, numeric)
                accumulator = empty_accumulator(arguments, labels)
            _update(accumulator, _batch(chunk, selection, labels, metric_set), path)
    if accumulator is None or not accumulator.n_samples:
        but = "" if accumulator is None else " of a weight and a count above 0"
        raise ValueError(f"{join_names(arguments.files)} must have rows{but}, got none")
    return accumulator


def _chunks(
    arguments: Namespace,
) -> Generator[tuple[str, Selection, Chunk], None, None]:
    """Read chunks of all files, with the name of the file and its selection."""
    options = {"delimiter": arguments.delimiter, "as_text": arguments.text}
    n_rows = 0
    with Progress() as progress:
        for path in arguments.files:
            with open_table(path, **options) as file:
                selection = Selection.of(arguments, file.columns)
                for chunk in file.chunks(selection.columns):
                    n_rows += len(chunk)
                    progress(file.path, file.progress, n_rows)
                    yield file.path, selection, chunk


def _batch(
    chunk: Chunk, selection: Selection, labels: Labels, metric_set: MetricSet
) -> dict[str, Any]:
    """Arguments of `JointAccumulator.update`."""

    def predictions(column: str, abstain: Any = None) -> Array:
        if "numbers" in metric_set.reads:
            return chunk.numbers(column)
        return chunk.labels(column, labels.numeric, abstain)

    batch: dict[str, Any] = {"y_true": predictions(selection.truth)}
    batch["missing"] = selection.missing
    if selection.rules:
        batch["y_pred"] = {
            rule: predictions(column, labels.abstain)
            for rule, column in selection.rules.items()
        }
    if selection.scores:
        batch["y_score"] = {
            rule: np.stack([*map(chunk.numbers, columns)], axis=1)
            for rule, columns in selection.scores.items()
        }
    if selection.by:
        may_miss = selection.missing == "group"
        batch["by"] = {
            column: chunk.names(column, may_miss, _MISSING_SUBGROUP_HINT)
            for column in selection.by
        }
    if selection.groups is not None:
        batch["groups"] = chunk.names(selection.groups)
    if selection.weights is not None:
        batch["sample_weight"] = chunk.numbers(selection.weights)
    if selection.counts is not None:
        batch["counts"] = chunk.numbers(selection.counts)
    return batch


def _update(accumulator: JointAccumulator, batch: dict[str, Any], path: str) -> None:
    try:
        accumulator.update(**batch)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
