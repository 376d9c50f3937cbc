"""From the files that arguments name to reports on their rows."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skci._validation import join_names, printable
from skci.accumulation import JointAccumulator
from skci.data.files import parse_label, read_batches, take_rows
from skci.data.frames import leaves
from skci.data.partial_truth import PREDICTION
from skci.designs import Crossed, Strata, TimeOrder
from skci.evaluation import joint_report
from skci.metrics._metric_set import named_metrics
from skci.reports.grading import VotesReport
from skci.reports.joint import JointReport
from skci.votes import votes_report

_COLUMNS = (
    *("y_true", "y_pred", "y_score"),
    *("by", "groups", "query", "sample_weight", "counts"),
)
_DESIGNS: dict[str, Callable[[Any], Any]] = {
    "strata": Strata,
    "crossed": lambda columns: Crossed(*columns),
    "time": TimeOrder,
}
"""Designs by names of columns."""
_OF_KEPT_ROWS = "label_probability", *_DESIGNS
_REFUSED = "labels", "score_bins", "moments", "save"
"""Of rows that are kept."""
_OF_VOTES = "first", "second", "outcome", "covariates", "groups", "sample_weight"
_TEXT = "by", "groups", "query", "strata", "crossed", "first", "second", "outcome"
_LINE_WIDTH = 79


def given_options(arguments: Namespace) -> dict[str, Any]:
    """Options of an accumulator that the arguments set."""
    read = str if arguments.text else parse_label
    pos_label, abstain = arguments.pos_label, arguments.abstain
    options = {
        "labels": arguments.labels and [*map(read, arguments.labels)],
        "pos_label": None if pos_label is None else read(pos_label),
        "abstain": None if abstain is None else read(abstain),
        "confidence_level": arguments.level,
        "method": arguments.method,
        "score_bins": getattr(arguments, "score_bins", None),
        "moments": getattr(arguments, "moments", None) or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def report_rows(arguments: Namespace) -> tuple[JointReport, JointAccumulator | None]:
    """Report on the rows of the files, accumulated unless all have to be kept."""
    if any(getattr(arguments, name) for name in _OF_KEPT_ROWS):
        return _report_kept_rows(arguments), None
    accumulator = accumulate(arguments)
    return accumulator.report(), accumulator


def accumulate(arguments: Namespace) -> JointAccumulator:
    """Accumulate the rows of the files, a batch at a time."""
    accumulator = JointAccumulator(arguments.metrics, **given_options(arguments))
    names = _names(arguments, (*_COLUMNS, "proxy"))
    for path, n_before, batch in _batches(arguments, names):
        _add(accumulator, names | {"missing": arguments.missing}, batch, path, n_before)
    if not accumulator.n_samples:
        raise ValueError(
            f"{join_names(arguments.files)} must have rows of a weight and a count "
            "above 0, got none"
        )
    return accumulator


def _report_kept_rows(arguments: Namespace) -> JointReport:
    """Report on rows with label probabilities, or a design, all of which are kept."""
    for name in _REFUSED:
        if getattr(arguments, name):
            needs = [_flag(x) for x in _OF_KEPT_ROWS if getattr(arguments, x)]
            raise ValueError(
                f"{_flag(name)} must not be given with {join_names(needs)}, with which "
                "all rows are kept"
            )
    names = _names(arguments, (*_COLUMNS, "proxy", "label_probability"))
    of_design = {name: getattr(arguments, name) for name in _DESIGNS}
    options = given_options(arguments) | {"missing": arguments.missing}
    return joint_report(
        **names,
        data=_kept_columns(arguments, names | of_design),
        metrics=arguments.metrics,
        design=_design(of_design),
        **options,
    )


def report_votes(arguments: Namespace) -> VotesReport:
    """Report on the votes of the files."""
    names = {name: getattr(arguments, name) for name in _OF_VOTES}
    return votes_report(
        **names,
        data=_kept_columns(arguments, names),
        position=arguments.position,
        scale=arguments.scale_of_strengths,
        confidence_level=arguments.level,
    )


def _kept_columns(
    arguments: Namespace, names: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Columns of all rows of the files."""
    columns: dict[str, list[Any]] = {}
    for _, _, batch in _batches(arguments, names):
        for column in _leaves(names):
            values: Any = batch[column]
            as_list = getattr(values, "to_pylist", None) or values.tolist
            columns.setdefault(column, []).extend(as_list())
    return columns


def _design(columns: Mapping[str, Any]) -> Any:
    """The design whose columns are named, if one is."""
    given = [name for name, column in columns.items() if column]
    if len(given) > 1:
        raise ValueError(
            f"{_flag(given[0])} must not be given with {_flag(given[1])}: rows have "
            "one design"
        )
    return _DESIGNS[given[0]](columns[given[0]]) if given else None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _names(arguments: Namespace, parameters: Sequence[str]) -> dict[str, Any]:
    """Names of the columns of some parameters."""
    for name, metric in named_metrics(arguments.metrics).items():
        flag, parameter = "--models", "y_pred"
        if metric.reads == "scores":
            flag, parameter = "--scores", "y_score"
        if not getattr(arguments, parameter):
            raise ValueError(
                f"{flag} must be given for metrics of {metric.reads}, got {name}"
            )
    names = {parameter: getattr(arguments, parameter, None) for parameter in parameters}
    names["y_score"] = _by_model(names["y_score"], names["y_pred"])
    return names


def _leaves(names: Mapping[str, Any]) -> Iterator[str]:
    """Names of columns, without the proxy that is none."""
    is_column = names.get("proxy") != PREDICTION
    return leaves([x for k, x in names.items() if k != "proxy" or is_column])


def _batches(
    arguments: Namespace, names: Mapping[str, Any]
) -> Iterator[tuple[str, int, Any]]:
    """Path, number of rows before, and columns of each batch of rows of the files."""
    only_empty_is_missing = getattr(arguments, "text", False)
    text = [*_TEXT, *["y_true", "y_pred", "proxy"] * only_empty_is_missing]
    columns = [*dict.fromkeys(_leaves(names))]
    options = {
        "columns": columns,
        "text_columns": [*_leaves({k: names.get(k) for k in text})],
        "delimiter": arguments.delimiter,
        "only_empty_is_missing": only_empty_is_missing,
    }
    try:
        for path in arguments.files:
            n_rows = 0
            for batch in read_batches(path, **options):
                yield path, n_rows, batch
                n_rows += len(batch[columns[0]])
                _show_progress(f"{Path(path).name}: {n_rows:,} rows")
    finally:
        _show_progress("")


def _by_model(
    scores: dict[str, str] | None, models: dict[str, str] | None
) -> dict[str, Any] | None:
    """Columns of scores by model; in the order of the models if they have no names."""
    if scores is None:
        return None
    if models and len(models) == len(scores) and scores == {x: x for x in scores}:
        scores = dict(zip(models, scores, strict=True))
    return {
        model: column.split(":") if ":" in column else column
        for model, column in scores.items()
    }


def _add(
    accumulator: JointAccumulator,
    names: dict[str, Any],
    batch: Any,
    path: str,
    n_before: int,
) -> None:
    """Add a batch; an error names the first row that is refused as the batch is."""

    def refusal(start: int, stop: int) -> Exception | None:
        try:
            accumulator.update(**names, data=take_rows(batch, start, stop))
            return None
        except (TypeError, ValueError) as error:
            return error

    start, stop = 0, len(batch[names["y_true"]])
    error = refusal(start, stop)
    if error is None:
        return
    must, _, _ = str(error).partition(" got ")
    while stop - start > 1:
        middle = (start + stop) // 2
        refused = str(refusal(start, middle)).startswith(must)
        start, stop = (start, middle) if refused else (middle, stop)
    of_row = str(refusal(start, stop))
    if of_row.startswith(must):
        row = n_before + start + 1
        raise ValueError(f"{path}, row {row}: {of_row.replace(' in row 0', '')}")
    raise ValueError(f"{path}: {error}") from error


def _show_progress(text: str) -> None:
    """Show a line in place of the last on standard error, if that is a terminal."""
    if sys.stderr.isatty():
        line = printable(text)[:_LINE_WIDTH].ljust(_LINE_WIDTH)
        print(f"\r{line}", end="\r", file=sys.stderr, flush=True)
