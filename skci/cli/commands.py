"""What each command does."""

import sys
from argparse import Namespace
from typing import Any

from skci.accumulation import JointAccumulator
from skci.cli.output import Output, write
from skci.cli.reading import (
    accumulate,
    given_options,
    report_rows,
    report_votes,
)
from skci.cli.requirements import exit_status, failures, judge
from skci.logs import read
from skci.planning import sample_size
from skci.reports.base import Report
from skci.reports.joint import JointReport

_OF_DIFFERENCES = {"control", "scale", "adjust", "margin"}
"""Options of differences, which arguments have if they are given."""


def report(arguments: Namespace) -> int:
    """Report metrics of models in files."""
    return _report(arguments, *report_rows(arguments))


def merge(arguments: Namespace) -> int:
    """Report on saved tables together."""
    options = given_options(arguments)
    total, *others = (
        JointAccumulator.load(path, arguments.metrics, **options)
        for path in arguments.tables
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
    differences = _differences(arguments, report)
    return _finish(arguments, {"differences": differences}, rows)


def grades(arguments: Namespace) -> int:
    """Report grades in logs, rank the models, and compare them."""
    rows = read(
        arguments.logs, groups=arguments.groups, incomplete=arguments.incomplete
    ).select(models=arguments.models, tasks=arguments.tasks, scorers=arguments.scorer)
    names = ("bounds", "average", "samples", "method", "missing_grades")
    options = {name: getattr(arguments, name) for name in names}
    options = {name: value for name, value in options.items() if value is not None}
    options["confidence_level"] = arguments.level
    options["higher_is_better"] = dict.fromkeys(arguments.lower_is_better or (), False)
    reports: dict[str, Any] = {"report": rows.report(**options)}
    if len(rows.tasks) > 1:
        reports["tasks"] = rows.report(by="task", **options)
    of_models = [*reports.items()] if len(rows.models) > 1 else []
    if _compares(arguments):
        reports["differences"] = _differences(arguments, reports["report"])
    for name, report in of_models:
        reports[f"ranks of {name}"] = report.ranks()
    return _finish(arguments, reports)


def votes(arguments: Namespace) -> int:
    """Report strengths of models by votes, rank the models, and compare them."""
    report = report_votes(arguments)
    reports: dict[str, Any] = {"report": report}
    if _compares(arguments):
        reports["differences"] = _differences(arguments, report)
    return _finish(arguments, reports | {"ranks of report": report.ranks()})


def _compares(arguments: Namespace) -> bool:
    """Whether differences are asked for, or given an option."""
    return arguments.differences or bool(_given(arguments))


def _given(arguments: Namespace) -> dict[str, Any]:
    """Options of the comparison."""
    return {k: value for k, value in vars(arguments).items() if k in _OF_DIFFERENCES}


def _differences(arguments: Namespace, report: Any) -> Report:
    differences: Report = report.differences(**_given(arguments))
    return differences


def _finish(
    arguments: Namespace,
    reports: dict[str, Any],
    rows: JointAccumulator | None = None,
) -> int:
    """Save the table, judge the requirements, and write the reports."""
    judged = judge(arguments, next(iter(reports.values())))
    if rows is not None and arguments.save:
        rows.save(arguments.save)
    shown = {
        name: each.styled(arguments.style) if isinstance(each, Report) else each
        for name, each in reports.items()
    }
    output = Output(shown, judged, arguments.call, arguments.wide)
    write(output, arguments.format, arguments.out)
    if arguments.html:
        write(output, "html", arguments.html)
    for failure in failures(judged):
        print(f"skci {arguments.command}: failed: {failure}", file=sys.stderr)
    return exit_status(judged)


def plan(arguments: Namespace) -> int:
    """Print the number of rows for a width or a power."""
    planned = _plan_by_pilot if arguments.files else _plan_without_pilot
    print(planned(arguments))
    return 0


def _plan_by_pilot(arguments: Namespace) -> int:
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
    options = {"power": arguments.power, "difference": arguments.difference}
    return report.differences().sample_size(**options)


def _plan_without_pilot(arguments: Namespace) -> int:
    if len(arguments.metrics) > 1:
        raise ValueError(
            "without a pilot FILE, --metrics must be one metric, got "
            f"{', '.join(arguments.metrics)}"
        )
    return sample_size(
        arguments.metrics[0],
        arguments.half_width,
        expected=arguments.expected,
        difference=arguments.difference,
        disagreement=arguments.disagreement,
        power=arguments.power,
        confidence_level=arguments.level,
        method=arguments.method,
    )


COMMANDS = {
    "report": report,
    "compare": compare,
    "grades": grades,
    "votes": votes,
    "plan": plan,
    "merge": merge,
}
