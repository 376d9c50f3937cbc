"""What each command does."""

import sys
from argparse import Namespace

from skci.accumulation import JointAccumulator
from skci.cli.accumulation import accumulate, given_options
from skci.cli.output import write
from skci.cli.requirements import exit_status, failures, judge
from skci.planning import sample_size
from skci.reports.base import Report


def report(arguments: Namespace) -> int:
    """Report metrics of models in files."""
    return _report(arguments, accumulate(arguments))


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
    return _report(arguments, total)


def _report(arguments: Namespace, accumulator: JointAccumulator) -> int:
    report = accumulator.report()
    reports: dict[str, Report] = {"report": report}
    if arguments.differences:
        reports["differences"] = report.differences()
    return _finish(arguments, accumulator, reports)


def compare(arguments: Namespace) -> int:
    """Compare models in files by paired differences."""
    accumulator = accumulate(arguments)
    differences = accumulator.report().differences(
        control=arguments.control,
        scale=arguments.scale,
        adjust=arguments.adjust,
        margin=arguments.margin,
    )
    return _finish(arguments, accumulator, {"differences": differences})


def _finish(
    arguments: Namespace, accumulator: JointAccumulator, reports: dict[str, Report]
) -> int:
    """Save the table, judge the requirements, and write the reports."""
    judged = judge(arguments, next(iter(reports.values())))
    if arguments.save:
        accumulator.save(arguments.save)
    shown = {name: each.styled(arguments.style) for name, each in reports.items()}
    write({**shown, **judged}, arguments.format, arguments.out)
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


COMMANDS = {"report": report, "compare": compare, "plan": plan, "merge": merge}
