"""Reports on the rows of files, as requested on the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import Any

from skci._progress import is_watched, show_line
from skci._validation import join_names
from skci.accumulation import JointAccumulator
from skci.cli.arguments import flag_of, options_for
from skci.data.files import batches_of_rows, parse_label, read_batches, take_rows
from skci.data.frames import leaves
from skci.data.partial_truth import PREDICTION
from skci.designs import Crossed, Strata, TimeOrder
from skci.evaluation import joint_report
from skci.logs.files import LogFile
from skci.metrics.metric_set import named_metrics
from skci.metrics.usual import usual_metrics_of_columns
from skci.reports.joint import JointReport
from skci.reports.sequential import SequentialReport
from skci.sequential import sequential_report

_NEED_ALL_ROWS = "label_probability", "strata", "crossed", "time"
_REFUSED = "labels", "score_bins", "moments", "save"
"""Options that cannot be combined with an option that needs all rows."""
_TEXT = "by", "groups", "query", "strata", "crossed", "first", "second", "outcome"
_NO_COLUMNS = "missing", "position", "scale", "confidence_level"


def options_of_metrics(arguments: Namespace) -> dict[str, Any]:
    """Return the command-line options for creating a `JointAccumulator`."""
    options = options_for(arguments, JointAccumulator)
    read = str if arguments.text else parse_label
    for name in {"labels", "pos_label", "abstain"} & options.keys():
        value = options[name]
        options[name] = [*map(read, value)] if name == "labels" else read(value)
    return options


def report_rows(arguments: Namespace) -> tuple[JointReport, JointAccumulator | None]:
    """Report on the rows of the files.

    Rows are accumulated in batches, unless an option needs all rows in memory.
    """
    if any(getattr(arguments, name) for name in _NEED_ALL_ROWS):
        return _report_all_rows(arguments), None
    return accumulate(arguments)


def sequential_rows(
    arguments: Namespace, looks: Sequence[int], *, final: bool
) -> SequentialReport:
    """Evaluate the requirements at several numbers of rows."""
    for name in (*_NEED_ALL_ROWS, "save"):
        if getattr(arguments, name):
            raise ValueError(f"{flag_of(name)} must not be given with --stop")
    conditions = [x for x in (arguments.require, arguments.fail_if) if x]
    if len(conditions) != 1 or not arguments.metrics:
        raise ValueError("--stop needs --metrics and either --require or --fail-if")
    names = _columns(arguments)
    step = gcd(*looks)
    read = _batches(arguments, names, batch_rows=step, growing=True)
    return sequential_report(
        ({**names, "data": rows} for rows in _split(read, step, _leaves(names)[0])),
        *conditions,
        horizon=looks,
        final=final,
        **options_of_metrics(arguments),
    )


def _split(read: Iterable[Any], step: int, column: str) -> Iterator[Any]:
    """Split batches so that a batch ends at each multiple of `step` rows."""
    n_before = 0
    for _, _, batch in read:
        size = len(batch[column])
        inner = range(-n_before % step, size, step)
        for start, stop in pairwise(sorted({0, *inner, size})):
            yield take_rows(batch, start, stop)
        n_before += size


def accumulate(arguments: Namespace) -> tuple[JointReport, JointAccumulator]:
    """Accumulate the rows of the files in batches, and report on all rows.

    If no metrics are passed, all batches are read first, and the usual metrics for the
    data are chosen.
    """
    columns, options = _columns(arguments), options_of_metrics(arguments)
    read: Iterable[Any] = _batches(arguments, columns)
    usual = None
    if "metrics" not in options:
        read = [*read]
        data = kept_columns(read, columns)
        usual = usual_metrics_of_columns(columns, data, options.get("pos_label"))
        options["metrics"] = arguments.metrics = usual.metrics
        columns = _columns(arguments)
    accumulator = JointAccumulator(**options)
    for path, n_before, batch in read:
        _add(accumulator, columns, batch, path, n_before)
    if not accumulator.n_samples:
        raise ValueError(
            f"{join_names(arguments.files)} must have at least one row with a weight "
            "and a count above 0, got none"
        )
    report = accumulator.report()
    return usual.title(report) if usual else report, accumulator


def _report_all_rows(arguments: Namespace) -> JointReport:
    """Read all rows into memory, and report on the rows.

    Label probabilities and designs require all rows.
    """
    for name in _REFUSED:
        if getattr(arguments, name):
            needs = [flag_of(x) for x in _NEED_ALL_ROWS if getattr(arguments, x)]
            raise ValueError(
                f"{flag_of(name)} must not be given with {join_names(needs)}, because "
                "all rows are read into memory"
            )
    options = _columns(arguments) | options_for(arguments, joint_report)
    columns = options_for(arguments, design_of)
    names = options | columns
    return joint_report(
        **options,
        **options_of_metrics(arguments),
        data=kept_columns(_batches(arguments, names), names),
        design=design_of(**columns),
    )


def kept_columns(read: Iterable[Any], names: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Read the columns from all batches, as lists of values."""
    columns: dict[str, list[Any]] = {column: [] for column in _leaves(names)}
    for _, _, batch in read:
        for column, collected in columns.items():
            values: Any = batch[column]
            collected.extend((getattr(values, "to_pylist", None) or values.tolist)())
    return columns


def design_of(
    *,
    strata: str | None = None,
    crossed: tuple[str, str] | None = None,
    time: str | None = None,
) -> Any:
    """Return the sampling design from named columns, or None if no column is named.

    Parameters
    ----------
    strata : array-like of shape (n_samples,)
        Strata. A fixed number of rows was drawn from each stratum.
    crossed : pair of array-like
        Two crossed factors, such as items and users.
    time : array-like of shape (n_samples,)
        Times, or other values that order the rows in each series of --groups.
    """
    columns = {"strata": strata, "crossed": crossed, "time": time}
    given = [flag_of(name) for name, column in columns.items() if column]
    if len(given) > 1:
        raise ValueError(
            f"{given[0]} must not be given with {given[1]}: rows can have only one "
            "design"
        )
    if crossed:
        return Crossed(*crossed)
    if strata:
        return Strata(strata)
    return TimeOrder(time) if time else None


def _columns(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments that name columns, together with the option `missing`."""
    options = options_for(arguments, JointAccumulator.update)
    metrics = named_metrics(arguments.metrics) if arguments.metrics else {}
    for name, metric in metrics.items():
        needed = "y_score" if metric.reads == "scores" else "y_pred"
        if needed not in options:
            raise ValueError(
                f"{flag_of(needed)} must be given for metrics of {metric.reads}, got "
                f"{name}"
            )
    if not options.keys() & {"y_pred", "y_score"}:
        raise ValueError("--models or --scores must be given")
    scores, models = (options.get(name) or {} for name in ("y_score", "y_pred"))
    if (truth := options.get("y_true")) in models.values():
        raise ValueError(
            f"--models must not name the column of --truth, got {truth}; for a column "
            "that says whether each answer is right, use the command skci grades"
        )
    if len(models) == len(scores) and scores == {x: x for x in scores}:
        scores = dict(zip(models, scores.values(), strict=True))
    if scores:
        options["y_score"] = {
            model: column.split(":") if ":" in column else column
            for model, column in scores.items()
        }
    return options


def _leaves(options: Mapping[str, Any], only: Collection[str] = ()) -> list[str]:
    """Return the column names that occur in the values of options.

    If `only` is not empty, only the options with these names are searched.
    """
    listed = [
        value
        for name, value in options.items()
        if (not only or name in only) and name not in _NO_COLUMNS
        if (name, value) != ("proxy", PREDICTION)
    ]
    return [*dict.fromkeys(leaves(listed))]


def _batches(
    arguments: Namespace, names: Mapping[str, Any], **options: Any
) -> Iterator[tuple[str, int, Any]]:
    """Yield batches of rows.

    If all metrics compare items, such as texts, the items are not converted to numbers.
    """
    metrics = named_metrics(arguments.metrics) if arguments.metrics else {}
    has_items = {metric.reads for metric in metrics.values()} == {"items"}
    items = _leaves(names, ["y_true", "y_pred"]) if has_items else ()
    options |= options_for(arguments, batches)
    return batches(names, item_columns=items, **options)


def batches(
    names: Mapping[str, Any],
    *,
    files: Sequence[str],
    delimiter: str | None = None,
    text: bool = False,
    item_columns: Collection[str] = (),
    batch_rows: int | None = None,
    growing: bool = False,
) -> Iterator[tuple[str, int, Any]]:
    """Yield tuples of a path, the number of earlier rows, and a batch of rows.

    Parameters
    ----------
    names : mapping
        Names of the columns to read, by parameter.
    files : list of path
        CSV with a header (.csv, .tsv), Parquet, Arrow, JSON lines or a JSON array; -
        reads CSV from standard input. The rows of several files are pooled.
    delimiter : str, optional
        Delimiter of CSV files, by default a comma, or a tab in .tsv.
    text : bool, default=False
        Treat labels as text, even if they look like numbers. In CSV files, only empty
        cells are then missing values; NA, N/A, nan and null are text.
    item_columns : collection of str
        Names of columns with items; see `read_batches`.
    batch_rows : int, optional
        Maximum number of rows in a batch.
    growing : bool, default=False
        Skip an incomplete last line, because the file is still being written.
    """
    columns = _leaves(names)
    text_columns = _leaves(names, [*_TEXT, *["y_true", "y_pred", "proxy"] * text])
    try:
        for path in files:
            n_rows, file = 0, LogFile(Path(path), growing=growing)
            read = read_batches(
                path,
                columns,
                text_columns=text_columns,
                item_columns=item_columns,
                delimiter=delimiter,
                only_empty_is_missing=text,
                batch_rows=batch_rows,
                growing=growing,
            )
            if file.kind in ("document", "lines"):
                rows = (
                    [file.field(record, column, line) for column in columns]
                    for record, line in file.records()
                )
                read = batches_of_rows(rows, columns, batch_rows)
            total = _total(file)
            for batch in read:
                yield path, n_rows, batch
                n_rows += len(batch[columns[0]])
                show_line(f"{file.path.name}: {n_rows:,} rows{total}")
    finally:
        show_line("")


def _total(file: LogFile) -> str:
    """Return a text such as " of 1,000 lines" for the progress line.

    The text is empty if no progress is shown, or if the rows of the file are not lines.
    """
    has_lines = file.kind in ("table", "lines") and file.name == file.path.name
    if not (is_watched() and has_lines and file.path.is_file()):
        return ""
    with file.path.open("rb") as lines:
        return f" of {sum(1 for _ in lines):,} lines"


def _add(
    accumulator: JointAccumulator,
    names: dict[str, Any],
    batch: Any,
    path: str,
    n_before: int,
) -> None:
    """Add a batch to the accumulator.

    An error names the first row that causes the error.
    """

    def refusal(start: int, stop: int) -> str:
        try:
            accumulator.update(**names, data=take_rows(batch, start, stop))
            return ""
        except (TypeError, ValueError) as error:
            return str(error)

    start, stop = 0, len(batch[_leaves(names)[0]])
    error = refusal(start, stop)
    prefix, _, _ = error.partition(" got ")
    while error and stop - start > 1:
        middle = (start + stop) // 2
        is_before = refusal(start, middle).startswith(prefix)
        start, stop = (start, middle) if is_before else (middle, stop)
    if error:
        row_error = refusal(start, stop).replace(" in row 0", "")
        if row_error.startswith(prefix):
            path, error = f"{path}, row {n_before + stop}", row_error
        raise ValueError(f"{path}: {error}")
