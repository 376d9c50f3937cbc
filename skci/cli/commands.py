"""What each command does."""

import sys
from argparse import Namespace
from typing import Any

from skci.accumulation import JointAccumulator
from skci.cli.arguments import given
from skci.cli.output import Output, write
from skci.cli.reading import accumulate, options_of_metrics, report_rows, report_votes
from skci.grades import grades_report
from skci.logs.reading import read
from skci.logs.rows import LogRows
from skci.planning import sample_size
from skci.reports.base import Report
from skci.reports.contrasts import ContrastReport
from skci.reports.joint import JointReport
from skci.reports.votes import VotesReport

_STATUS = {"shown": 0, "open": 3, "refuted": 1}
"""Exit status by verdict."""
_FAILING = {"requirements": ("open", "refuted"), "fail_if": ("refuted",)}
"""Failing verdicts by option."""


def report(arguments: Namespace) -> int:
    """Report metrics of models in files."""
    return _report(arguments, *report_rows(arguments))


def merge(arguments: Namespace) -> int:
    """Report on saved tables together."""
    options = options_of_metrics(arguments)
    total, *others = (
        JointAccumulator.load(path, **options) for path in arguments.tables
    )
    for path, other in zip(arguments.tables[1:], others, strict=True):
        try:
            total.merge(other)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
    return _report(arguments, total.report(), total)


def _report(
    arguments: Namespace, report: JointReport, rows: JointAccumulator | None
) -> int:
    reports: dict[str, Any] = {"report": report}
    if arguments.differences:
        reports["differences"] = report.differences()
    return _finish(arguments, reports, rows)


def compare(arguments: Namespace) -> int:
    """Compare models in files by paired differences."""
    report, rows = report_rows(arguments)
    differences = report.differences(**given(arguments, JointReport.differences))
    return _finish(arguments, {"differences": differences}, rows)


def grades(arguments: Namespace) -> int:
    """Report grades in logs, rank the models, and compare them."""
    rows = read(arguments.logs, **given(arguments, read))
    rows = rows.select(**given(arguments, LogRows.select))
    options = given(arguments, LogRows.report, grades_report)
    options["higher_is_better"] = dict.fromkeys(arguments.lower_is_better or (), False)
    reports: dict[str, Any] = {"report": rows.report(**options)}
    if len(rows.tasks) > 1:
        reports["tasks"] = rows.report(by="task", **options)
    ranked = reports if len(rows.models) > 1 else {}
    ranks = {f"ranks of {name}": each.ranks() for name, each in ranked.items()}
    compared = _compared(arguments, reports["report"], JointReport.differences)
    return _finish(arguments, reports | compared | ranks)


def votes(arguments: Namespace) -> int:
    """Report strengths of models by votes, rank the models, and compare them."""
    report = report_votes(arguments)
    compared = _compared(arguments, report, VotesReport.differences)
    reports = {"report": report, **compared, "ranks of report": report.ranks()}
    return _finish(arguments, reports)


def _compared(arguments: Namespace, report: Any, function: Any) -> dict[str, Any]:
    """Differences, where they are asked for, or given an option."""
    options = given(arguments, function)
    wanted = arguments.differences or options
    return {"differences": report.differences(**options)} if wanted else {}


def _finish(
    arguments: Namespace,
    reports: dict[str, Any],
    rows: JointAccumulator | None = None,
) -> int:
    """Save the table, judge the requirements, and write the reports."""
    conditions = {"requirements": arguments.require, "fail_if": arguments.fail_if}
    first = next(iter(reports.values()))
    gates = {k: first.requirements(each) for k, each in conditions.items() if each}
    if rows is not None and arguments.save:
        rows.save(arguments.save)
    shown = {
        name: each.styled(arguments.style) if isinstance(each, Report) else each
        for name, each in reports.items()
    }
    output = Output(shown, gates, arguments.call, arguments.wide)
    write(output, arguments.format, arguments.out)
    if arguments.html:
        write(output, "html", arguments.html)
    for name, gate in gates.items():
        for failure in gate._sentences(*_FAILING[name]):
            print(f"skci {arguments.command}: failed: {failure}", file=sys.stderr)
    failing = {x.verdict for name, x in gates.items() if x.verdict in _FAILING[name]}
    return _STATUS[min(failing, key=_STATUS.__getitem__, default="shown")]


def plan(arguments: Namespace) -> int:
    """Print the number of rows for a width or a power."""
    print(_pilot(arguments) if arguments.files else _without_pilot(arguments))
    return 0


def _pilot(arguments: Namespace) -> int:
    """Plan from the rows of the files."""
    assumed = arguments.expected, arguments.disagreement
    if arguments.y_true is None or any(each is not None for each in assumed):
        raise ValueError(
            "with a pilot FILE, --truth must be given, --expected and --disagreement "
            "not"
        )
    if (arguments.half_width is None) == (arguments.power is None):
        raise ValueError("either --half-width or --power must be given")
    report = accumulate(arguments).report()
    if arguments.power is None:
        return report.sample_size(arguments.half_width)
    options = given(arguments, ContrastReport.sample_size)
    return report.differences().sample_size(power=arguments.power, **options)


def _without_pilot(arguments: Namespace) -> int:
    metric, *others = arguments.metrics
    if others:
        raise ValueError(
            "without a pilot FILE, --metrics must be one metric, got "
            f"{', '.join(arguments.metrics)}"
        )
    return sample_size(
        metric,
        confidence_level=arguments.confidence_level,
        method=arguments.method,
        **given(
            arguments, JointReport.sample_size, sample_size, ContrastReport.sample_size
        ),
    )


COMMANDS = {
    "report": report,
    "compare": compare,
    "grades": grades,
    "votes": votes,
    "plan": plan,
    "merge": merge,
}
