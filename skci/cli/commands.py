"""What each command does."""

import sys
from argparse import Namespace
from pathlib import Path

from skci._validation import check_distinct
from skci.accumulation import JointAccumulator
from skci.cli.accumulation import Labels, accumulate, empty_accumulator
from skci.cli.output import Reports, write
from skci.data.storage import read_sample
from skci.planning import sample_size
from skci.reports.base import Report

FAILED = 1


def report(arguments: Namespace) -> int:
    """Report metrics of rules in files."""
    return _report(arguments, accumulate(arguments))


def merge(arguments: Namespace) -> int:
    """Report on saved tables together."""
    check_distinct(arguments.tables, "TABLE", "paths")
    known = read_sample(arguments.tables[0]).vocabulary.labels
    labels = Labels(arguments, not any(isinstance(label, str) for label in known))
    total = empty_accumulator(arguments, labels)
    options = {"confidence_level": arguments.level, "method": arguments.method}
    for path in arguments.tables:
        part = JointAccumulator.load(path, arguments.metrics, **options)
        try:
            total.merge(part)
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
    """Compare rules in files by paired differences."""
    accumulator = accumulate(arguments)
    differences = accumulator.report().differences(
        control=arguments.control,
        scale=arguments.scale,
        adjust=arguments.adjust,
        margin=arguments.margin,
    )
    return _finish(arguments, accumulator, {"differences": differences})


def _finish(
    arguments: Namespace, accumulator: JointAccumulator, reports: Reports
) -> int:
    """Write the reports, save the table, and look at the requirements."""
    if arguments.strict and not arguments.fail_if:
        hint = "; --require is as strict without it" if arguments.require else ""
        raise ValueError(f"--strict needs a condition, --fail-if{hint}")
    failures = _failures(arguments, next(iter(reports.values())))
    inputs = getattr(arguments, "files", None) or arguments.tables
    for path in (arguments.out, arguments.save):
        if path and path.resolve() in [Path(each).resolve() for each in inputs]:
            raise ValueError(f"{path} is read; choose another file to write")
    if arguments.save:
        accumulator.save(arguments.save)
    write(reports, arguments.format, arguments.out)
    for failure in failures:
        print(f"skci {arguments.command}: failed: {failure}", file=sys.stderr)
    return FAILED if failures else 0


def _failures(arguments: Namespace, report: Report) -> list[str]:
    """Say which requirements the report does not meet."""
    requirements = [(each, arguments.strict) for each in arguments.fail_if]
    requirements += [(each, True) for each in arguments.require]
    return [
        failure
        for requirement, strict in requirements
        for failure in requirement.failures(report, strict)
    ]


def plan(arguments: Namespace) -> int:
    """Print the number of rows for a width or a power."""
    has_width = arguments.half_width is not None
    if has_width == (arguments.power is not None):
        raise ValueError("either --half-width or --power must be given")
    if not arguments.files:
        print(_plan_without_pilot(arguments))
        return 0
    assumed = arguments.expected, arguments.disagreement
    if arguments.truth is None or any(each is not None for each in assumed):
        raise ValueError(
            "with a pilot FILE, --truth must be given, --expected and --disagreement "
            "not"
        )
    pilot = accumulate(arguments).report()
    if has_width:
        print(pilot.sample_size(arguments.half_width))
    else:
        print(
            pilot.differences().sample_size(
                power=arguments.power, difference=arguments.difference
            )
        )
    return 0


def _plan_without_pilot(arguments: Namespace) -> int:
    of_power = arguments.difference, arguments.disagreement
    if arguments.half_width is not None and arguments.expected is None:
        raise ValueError(
            "without a pilot FILE, --expected must be given with --half-width"
        )
    if arguments.power is not None and any(each is None for each in of_power):
        raise ValueError(
            "without a pilot FILE, --difference and --disagreement must be given with "
            "--power"
        )
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
