"""Commands of the command line, and its entry point."""

from __future__ import annotations

import io
import os
import shlex
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from skci._validation import check_distinct, printable
from skci.accumulation import JointAccumulator
from skci.cli import reading
from skci.cli.arguments import Groups, options_for, parser
from skci.cli.output import finish, metric_list, terminal_width
from skci.evaluation import joint_report
from skci.grades import grades_report
from skci.logs.reading import read
from skci.logs.rows import LogRows
from skci.planning import sample_size
from skci.readers.search import trec
from skci.reports.contrasts import ContrastReport
from skci.reports.joint import JointReport
from skci.reports.sequential import SequentialReport
from skci.votes import votes_report


def report(
    arguments: Namespace, *, stop: Sequence[int] | None = None, final: bool = False
) -> int:
    """Report on the metrics of models, from files of predictions.

    Parameters
    ----------
    stop : list of int
        Numbers of rows at which the conditions of --require, or of --fail-if, are
        evaluated, until all conditions are shown or refuted. An incomplete last line,
        as in a file that is still being written, is skipped.
    final : bool
        With --stop, also evaluate the conditions after the last row. Use this option
        only for a file that is complete.
    """
    if stop is not None:
        gate = reading.sequential_rows(arguments, stop, final=final)
        return _show(arguments, {"report": gate.report}, gate=gate)
    if final:
        raise ValueError("--final needs --stop")
    report, rows = reading.report_rows(arguments)
    return _show(arguments, {"report": report}, rows=rows)


def merge(arguments: Namespace, *, tables: Sequence[Path]) -> int:
    """Report on the union of several saved tables.

    Parameters
    ----------
    tables : list of path
        Files saved by --save, or by JointAccumulator.save.
    """
    options = reading.options_of_metrics(arguments)
    total, *further = (JointAccumulator.load(path, **options) for path in tables)
    for path, other in zip(tables[1:], further, strict=True):
        try:
            total.merge(other)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
    report = total.report()
    return _show(arguments, {"report": report}, rows=total)


def compare(arguments: Namespace) -> int:
    """Report on paired differences between models, from files of predictions."""
    report, rows = reading.report_rows(arguments)
    differences = report.differences(**options_for(arguments, JointReport.differences))
    return _show(arguments, {"differences": differences}, rows=rows)


def grades(arguments: Namespace, *, lower_is_better: Sequence[str] = ()) -> int:
    """Report on grades in logs, rank the models and compare the models.

    Parameters
    ----------
    lower_is_better : str or iterable of str, optional
        Scorers for which lower grades are better.
    """
    options = options_for(arguments, read)
    rows = read(_named_logs(options.pop("paths")), **options)
    rows = rows.select(**options_for(arguments, LogRows.select))
    options = options_for(arguments, LogRows.report, grades_report)
    options["higher_is_better"] = dict.fromkeys(lower_is_better, False)
    reports: dict[str, Any] = {"report": rows.report(**options)}
    if len(rows.tasks) > 1:
        reports["tasks"] = rows.report(by="task", **options)
    ranked = reports if len(rows.models) > 1 else {}
    ranks = {f"ranks of {name}": report.ranks() for name, report in ranked.items()}
    return _show(arguments, reports, ranks)


def _named_logs(texts: list[str]) -> Any:
    """Return the paths of logs, or a mapping of models to paths."""
    by_model: dict[str, list[str]] = {}
    for text in texts:
        name, sign, path = text.partition("=")
        is_named = bool(sign) and not Path(text).exists()
        name, path = (name, path) if is_named else ("", text)
        by_model.setdefault(name, []).append(path)
    if "" in by_model and len(by_model) > 1:
        raise ValueError("either all LOGS or no LOGS must have a name, as in NAME=LOGS")
    return by_model.get("", by_model)


def votes(arguments: Namespace) -> int:
    """Report on the strengths of models in votes, and rank and compare models."""
    options: dict[str, Any] = _ARENA_COLUMNS | options_for(arguments, votes_report)
    read = reading.batches(options, **options_for(arguments, reading.batches))
    report = votes_report(**options, data=reading.kept_columns(read, options))
    return _show(arguments, {"report": report}, {"ranks of report": report.ranks()})


def rankings(arguments: Namespace) -> int:
    """Report on metrics of TREC runs, and compare the runs."""
    options = options_for(arguments, joint_report)
    report = joint_report(**trec(**options_for(arguments, trec)), **options)
    return _show(arguments, {"report": report})


def _show(
    arguments: Namespace,
    reports: dict[str, Any],
    ranks: dict[str, Any] | None = None,
    rows: JointAccumulator | None = None,
    gate: SequentialReport | None = None,
    *,
    differences: bool | None = None,
) -> int:
    """Show reports and, if requested by an option, differences between models.

    Parameters
    ----------
    differences : bool
        Also report the paired differences of the models.
    """
    options = options_for(arguments, JointReport.differences)
    if "report" in reports and (options_for(arguments, _show) or options):
        reports["differences"] = reports["report"].differences(**options)
    reports |= ranks or {}
    output = options_for(arguments, finish)
    return finish(arguments.command, arguments.call, reports, rows, gate, **output)


def plan(arguments: Namespace) -> int:
    """Print the number of rows for a required interval width or power."""
    print(_pilot(arguments) if arguments.files else _without_pilot(arguments))
    return 0


def _pilot(arguments: Namespace) -> int:
    """Return the required number of rows, estimated from a pilot sample."""
    assumed = arguments.expected, arguments.disagreement
    if arguments.y_true is None or any(option is not None for option in assumed):
        raise ValueError(
            "with a pilot FILE, --truth must be given, and --expected and "
            "--disagreement must not be given"
        )
    if (arguments.half_width is None) == (arguments.power is None):
        raise ValueError("either --half-width or --power must be given")
    report, _ = reading.accumulate(arguments)
    if arguments.power is None:
        return report.sample_size(arguments.half_width)
    options = options_for(arguments, ContrastReport.sample_size)
    return report.differences().sample_size(power=arguments.power, **options)


def _without_pilot(arguments: Namespace) -> int:
    metric, *further = arguments.metrics
    if further:
        raise ValueError(
            "without a pilot FILE, --metrics must be one metric, got "
            f"{', '.join(arguments.metrics)}"
        )
    planners = JointReport.sample_size, sample_size, ContrastReport.sample_size
    options = options_for(arguments, *planners, JointAccumulator)
    accepted = signature(sample_size).parameters
    return sample_size(metric, **{k: x for k, x in options.items() if k in accepted})


def metrics(arguments: Namespace, *, word: str | None = None) -> int:
    """Print the names and explanations of metrics.

    Parameters
    ----------
    word : str, optional
        List only metrics whose name or explanation has a word that starts with this
        text.
    """
    print(metric_list(word, terminal_width() or 79))
    return 0


_ARENA_COLUMNS = {"first": "model_a", "second": "model_b", "outcome": "winner"}
"""Default names of the columns of votes, as in the data of chatbot arenas."""
_ROWS = "y_pred y_score by missing groups query sample_weight counts"
_DATA = [
    (reading.batches, "files+"),
    (JointAccumulator.update, f"y_true! {_ROWS} proxy"),
    (joint_report, "label_probability"),
    (reading.design_of, "strata crossed time"),
    (JointAccumulator, "score_bins moments"),
    (reading.batches, "delimiter"),
]
_OPTIONS = [
    (JointAccumulator, "confidence_level method pos_label labels abstain"),
    (reading.batches, "text"),
]
_METRICS = [(JointAccumulator, "metrics!"), *_OPTIONS]
_CHOSEN = "the metrics, by default those that are usual for the data"
_CHOSEN_METRICS = [(JointAccumulator, "metrics"), *_OPTIONS]
_OUTPUT = [(finish, "format style wide out html fail_if require")]
_SAVED = [*_OUTPUT, (finish, "save")]
_WITH_DIFFERENCES = [(_show, "differences")]
_DIFFERENCES = [(JointReport.differences, "control scale adjust margin")]

COMMANDS: dict[Any, tuple[str, str, Groups]] = {
    report: (
        "Report metrics of models by joint intervals",
        "skci report test.csv --truth y --models new,old",
        {
            "the data": _DATA,
            _CHOSEN: _CHOSEN_METRICS,
            "the output": [*_WITH_DIFFERENCES, *_SAVED, (report, "stop final")],
        },
    ),
    compare: (
        "Compare models by simultaneous paired differences",
        "skci compare test.csv --truth y --models new,old --require 'f1: new >= old'",
        {
            "the data": _DATA,
            _CHOSEN: _CHOSEN_METRICS,
            "the comparison": _DIFFERENCES,
            "the output": _SAVED,
        },
    ),
    grades: (
        "Rank models by the grades in logs of evaluations",
        "skci grades logs --differences --html report.html",
        {
            "the data": [
                (read, "paths+ groups incomplete"),
                (LogRows.select, "models tasks scorers"),
            ],
            "the grades": [
                (LogRows.report, "samples"),
                (grades_report, "missing_grades average bounds"),
                (grades_report, "confidence_level method"),
                (grades, "lower_is_better"),
            ],
            "the comparison": [*_WITH_DIFFERENCES, *_DIFFERENCES],
            "the output": _OUTPUT,
        },
    ),
    votes: (
        "Rank models by pairwise votes, as of an arena",
        "skci votes battles.jsonl",
        {
            "the votes, by default in columns model_a, model_b and winner": [
                (reading.batches, "files+ delimiter"),
                (votes_report, "first second outcome position covariates groups"),
                (votes_report, "sample_weight scale confidence_level"),
            ],
            "the comparison": [
                *_WITH_DIFFERENCES,
                (JointReport.differences, "control adjust margin"),
            ],
            "the output": _OUTPUT,
        },
    ),
    rankings: (
        "Compare runs of search with judgements, in the formats of TREC",
        "skci rankings old.run new.run --qrels qrels.txt --metrics map,ndcg@10",
        {
            "the data": [(trec, "runs+ qrels!")],
            _CHOSEN: [(joint_report, "metrics confidence_level method")],
            "the output": [*_WITH_DIFFERENCES, *_OUTPUT],
        },
    ),
    plan: (
        "Find the number of rows for a width or a power, from a pilot or without",
        "skci plan --metrics accuracy --half-width 0.02 --expected 0.9",
        {
            "the data": [
                (reading.batches, "files* delimiter"),
                (JointAccumulator.update, f"y_true {_ROWS}"),
            ],
            "the metrics": _METRICS,
            "the plan": [
                (JointReport.sample_size, "half_width"),
                (sample_size, "expected disagreement power"),
                (ContrastReport.sample_size, "difference"),
            ],
        },
    ),
    merge: (
        "Report on the tables of several sites or days together",
        "skci merge here.npz there.npz --metrics f1,accuracy",
        {
            "the data": [(merge, "tables+")],
            "the metrics": _METRICS,
            "the output": [*_WITH_DIFFERENCES, *_SAVED],
        },
    ),
    metrics: (
        "List and explain metrics, all or those that match a word",
        "skci metrics calibration",
        {"the metrics": [(metrics, "word?")]},
    ),
}
"""Summary, example and arguments of each command."""


_WRONG, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141
_ERRORS = OSError, ImportError, KeyError, MemoryError, TypeError, ValueError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command-line interface.

    Parameters
    ----------
    argv : sequence of str, optional
        Command-line arguments. Defaults to the arguments of the process.

    Returns
    -------
    int
        Exit status.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = parser(COMMANDS).parse_args(argv)
    arguments.call = shlex.join(["skci", *(sys.argv[1:] if argv is None else argv)])
    command = f"skci {arguments.command}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            _check_paths(arguments)
            status = arguments.run(arguments, **options_for(arguments, arguments.run))
            problem = ""
        except KeyboardInterrupt:
            status, problem = _INTERRUPTED, "interrupted"
        except BrokenPipeError:
            # The process that reads the output has ended. Prevent a second error when
            # the output is flushed at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        except _ERRORS as error:
            status, problem = _WRONG, f"error: {_in_a_line(error)}"
    texts = (str(warning.message) for warning in caught)
    messages = (line for text in texts for line in text.splitlines())
    for message in dict.fromkeys(messages):
        print(f"{command}: warning: {printable(message)}", file=sys.stderr)
    if problem:
        print(f"{command}: {problem}", file=sys.stderr)
    return status


def _check_paths(arguments: Namespace) -> None:
    """Check that all files that are read or written have different paths."""
    options = vars(arguments)
    paths = [*options.get("files", []), *options.get("tables", [])]
    paths += [options[name] for name in ("out", "html", "save") if options.get(name)]
    resolved = [str(Path(path).resolve()) for path in paths]
    check_distinct(resolved, "files that are read and written", "paths")


def _in_a_line(error: Exception) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename,) if name is not None]
        text = ": ".join([*names, error.strerror])
    else:
        text = str(error.args[0] if error.args else error)
    return printable(" ".join(text.split()))
