"""From the files that arguments name to reports on their rows."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skci._progress import show_line
from skci._validation import join_names
from skci.accumulation import JointAccumulator
from skci.cli.arguments import flag_of, given
from skci.data.files import parse_label, read_batches, take_rows
from skci.data.frames import leaves
from skci.data.partial_truth import PREDICTION
from skci.designs import Crossed, Strata, TimeOrder
from skci.evaluation import joint_report
from skci.metrics.metric_set import named_metrics
from skci.reports.joint import JointReport

_OF_KEPT_ROWS = "label_probability", "strata", "crossed", "time"
_REFUSED = "labels", "score_bins", "moments", "save"
"""Options that are refused if rows are kept."""
_TEXT = "by", "groups", "query", "strata", "crossed", "first", "second", "outcome"
_NO_COLUMNS = "missing", "position", "scale", "confidence_level"


def options_of_metrics(arguments: Namespace) -> dict[str, Any]:
    """Options of an accumulator that the arguments set."""
    options = given(arguments, JointAccumulator)
    read = str if arguments.text else parse_label
    for name in {"labels", "pos_label", "abstain"} & options.keys():
        value = options[name]
        options[name] = [*map(read, value)] if name == "labels" else read(value)
    return options


def report_rows(arguments: Namespace) -> tuple[JointReport, JointAccumulator | None]:
    """Report on the rows of the files, accumulated unless all have to be kept."""
    if any(getattr(arguments, name) for name in _OF_KEPT_ROWS):
        return _report_kept_rows(arguments), None
    accumulator = accumulate(arguments)
    return accumulator.report(), accumulator


def accumulate(arguments: Namespace) -> JointAccumulator:
    """Accumulate the rows of the files, a batch at a time."""
    accumulator = JointAccumulator(**options_of_metrics(arguments))
    options = _columns(arguments)
    for path, n_before, batch in batches(options, **given(arguments, batches)):
        _add(accumulator, options, batch, path, n_before)
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
            needs = [flag_of(x) for x in _OF_KEPT_ROWS if getattr(arguments, x)]
            raise ValueError(
                f"{flag_of(name)} must not be given with {join_names(needs)}, with "
                "which all rows are kept"
            )
    options = _columns(arguments) | given(arguments, joint_report)
    columns = given(arguments, design_of)
    return joint_report(
        **options,
        **options_of_metrics(arguments),
        data=kept_columns(arguments, options | columns),
        design=design_of(**columns),
    )


def kept_columns(
    arguments: Namespace, names: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Columns of all rows of the files."""
    columns: dict[str, list[Any]] = {}
    for _, _, batch in batches(names, **given(arguments, batches)):
        for column in _leaves(names):
            values: Any = batch[column]
            as_list = getattr(values, "to_pylist", None) or values.tolist
            columns.setdefault(column, []).extend(as_list())
    return columns


def design_of(
    *,
    strata: str | None = None,
    crossed: tuple[str, str] | None = None,
    time: str | None = None,
) -> Any:
    """The design whose columns are named, if one is.

    Parameters
    ----------
    strata : array-like of shape (n_samples,)
        Strata, from each of which a fixed number of rows was drawn.
    crossed : pair of array-like
        Two crossed factors, such as items and users.
    time : array-like of shape (n_samples,)
        Times, or other values, that order the rows; --groups are then the series.
    """
    columns = {"strata": strata, "crossed": crossed, "time": time}
    first, *others = [name for name, x in columns.items() if x] or [""]
    if others:
        raise ValueError(
            f"{flag_of(first)} must not be given with {flag_of(others[0])}: rows have "
            "one design"
        )
    if crossed:
        return Crossed(*crossed)
    if strata:
        return Strata(strata)
    return TimeOrder(time) if time else None


def _columns(arguments: Namespace) -> dict[str, Any]:
    """Options of the rows: names of their columns, and `missing`."""
    options = given(arguments, JointAccumulator.update)
    for name, metric in named_metrics(arguments.metrics).items():
        needed = "y_score" if metric.reads == "scores" else "y_pred"
        if needed not in options:
            must = f"{flag_of(needed)} must be given for metrics of {metric.reads}"
            raise ValueError(f"{must}, got {name}")
    scores, models = (options.get(name) or {} for name in ("y_score", "y_pred"))
    if len(models) == len(scores) and scores == {x: x for x in scores}:
        scores = dict(zip(models, scores.values(), strict=True))
    if scores:
        options["y_score"] = {
            model: column.split(":") if ":" in column else column
            for model, column in scores.items()
        }
    return options


def _leaves(options: Mapping[str, Any], only: Collection[str] = ()) -> list[str]:
    """Names of the columns that are options, or only some of these."""
    listed = [
        value
        for name, value in options.items()
        if (not only or name in only) and name not in _NO_COLUMNS
        if (name, value) != ("proxy", PREDICTION)
    ]
    return [*dict.fromkeys(leaves(listed))]


def batches(
    names: Mapping[str, Any],
    *,
    files: Sequence[str],
    delimiter: str | None = None,
    text: bool = False,
) -> Iterator[tuple[str, int, Any]]:
    """Path, number of rows before, and columns of each batch of rows of some files.

    Parameters
    ----------
    names : mapping
        Names of columns by the parameter that reads them.
    files : list of path
        CSV with a header (.csv, .tsv), Parquet or Arrow; - is CSV from standard input;
        the rows of several files are taken together.
    delimiter : str, optional
        Delimiter of CSV files, by default a comma, or a tab in .tsv.
    text : bool, default=False
        Labels are text even if they look like numbers; in CSV files only empty cells
        are missing, not NA, N/A, nan or null.
    """
    columns = _leaves(names)
    text_columns = _leaves(names, [*_TEXT, *["y_true", "y_pred", "proxy"] * text])
    try:
        for path in files:
            n_rows = 0
            for batch in read_batches(
                path,
                columns,
                text_columns=text_columns,
                delimiter=delimiter,
                only_empty_is_missing=text,
            ):
                yield path, n_rows, batch
                n_rows += len(batch[columns[0]])
                show_line(f"{Path(path).name}: {n_rows:,} rows")
    finally:
        show_line("")


def _add(
    accumulator: JointAccumulator,
    names: dict[str, Any],
    batch: Any,
    path: str,
    n_before: int,
) -> None:
    """Add a batch; an error names the first row that is refused as the batch is."""

    def refusal(start: int, stop: int) -> str:
        try:
            accumulator.update(**names, data=take_rows(batch, start, stop))
            return ""
        except (TypeError, ValueError) as error:
            return str(error)

    start, stop = 0, len(batch[names["y_true"]])
    error = refusal(start, stop)
    must, _, _ = error.partition(" got ")
    while error and stop - start > 1:
        middle = (start + stop) // 2
        is_before = refusal(start, middle).startswith(must)
        start, stop = (start, middle) if is_before else (middle, stop)
    if error:
        of_row = refusal(start, stop).replace(" in row 0", "")
        if of_row.startswith(must):
            path, error = f"{path}, row {n_before + stop}", of_row
        raise ValueError(f"{path}: {error}")
