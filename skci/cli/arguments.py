"""The arguments of the commands."""

import argparse
import csv
import math
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from skci.cli.output import FORMATS
from skci.cli.requirements import failing, required

_DESCRIPTION = """\
Joint confidence intervals for performance measures of classifiers, from files of
predictions. Without arguments, a demonstration.
"""
_EPILOG = """\
exit status: 0; 1 if a requirement is not met; 2 for wrong arguments or data, of which
one line on standard error tells; 130 if interrupted.
"""


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, of which a command must know all."""
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with one line."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def names(text: str) -> list[str]:
    """Read names with commas between them; one with a comma is in quotation marks."""
    found = next(csv.reader([text], skipinitialspace=True), [])
    if not all(found) or not found:
        raise argparse.ArgumentTypeError(f"must be names, as a,b, got {text!r}")
    return found


def number_or_by_name(text: str) -> float | dict[str, float]:
    """Read a number, or numbers by name, as in f1=.05,accuracy=.03."""
    try:
        if "=" not in text:
            return float(text)
        return {name: float(value) for name, value in by_name(text).items()}
    except ValueError as error:
        must = "must be a number, or numbers by name, as f1=.05,accuracy=.03"
        raise argparse.ArgumentTypeError(f"{must}, got {text!r}") from error


def by_name(text: str) -> dict[str, str]:
    """Read values by name; a name without a value has an empty one."""
    pairs = (entry.partition("=") for entry in names(text))
    return {name: value for name, _, value in pairs}


def method(text: str) -> str | dict[str, str]:
    """Read a method, or methods by metric."""
    return by_name(text) if "=" in text else text


def expected(text: str) -> Any:
    """Read an expected value, rates by name, or the cells tn,fp,fn,tp."""
    value: Any = text
    if "," in text and "=" not in text:
        cells = [*map(_number, names(text))]
        value = [cells[:2], cells[2:]]
        if len(cells) != 4:
            raise argparse.ArgumentTypeError(
                f"must have the four cells tn,fp,fn,tp, got {text!r}"
            )
        return value
    return number_or_by_name(text)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be numbers, got {text!r}")
    return value


def table(text: str) -> Path:
    """Check the name of a table of counts."""
    if Path(text).suffix not in (".npz", ".json"):
        raise argparse.ArgumentTypeError(f"must end in .npz or .json, got {text!r}")
    return Path(text)


def parser(commands: Mapping[str, Callable[[argparse.Namespace], int]]) -> Parser:
    """Make the parser of some commands by name."""
    top = Parser(
        prog="skci",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"skci {version('skci')}")
    subparsers = top.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for name, (summary, *adders) in _COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, description=summary + ".")
        command.set_defaults(run=commands[name])
        for add in adders:
            add(command)
    return top


def _add_files(command: Parser, optional: bool = False) -> None:
    files = command.add_argument_group("the data")
    files.add_argument(
        "files",
        nargs="*" if optional else "+",
        metavar="FILE",
        help="CSV with a header (.csv, .tsv), Parquet or Arrow; - is CSV from "
        "standard input; of several files the rows are taken together",
    )
    files.add_argument(
        "--truth",
        required=not optional,
        metavar="COLUMN",
        help="true labels, or numbers for metrics of regression",
    )
    files.add_argument(
        "--rules",
        type=names,
        default=[],
        metavar="COLUMN,...",
        help="predicted labels or numbers of each rule; NAME=COLUMN names a rule",
    )
    files.add_argument(
        "--scores",
        type=names,
        default=[],
        metavar="COLUMN,...",
        help="scores of the same rules, in their order or as NAME=COLUMN; of more "
        "than two labels a column for each, as NAME=COLUMN:COLUMN:COLUMN",
    )
    files.add_argument(
        "--by", type=names, default=[], metavar="COLUMN,...", help="subgroups"
    )
    files.add_argument(
        "--groups", metavar="COLUMN", help="clusters of rows, such as patients"
    )
    files.add_argument("--weights", metavar="COLUMN", help="sampling weights")
    files.add_argument(
        "--counts", metavar="COLUMN", help="how often each row occurs, 1 if not given"
    )
    files.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="of CSV files, by default a comma, or a tab in .tsv",
    )
    files.add_argument(
        "--text",
        action="store_true",
        help="in CSV files, labels are text even if they look like numbers, and only "
        "empty cells are missing, not NA, N/A, nan or null",
    )


def _add_pilot(command: Parser) -> None:
    _add_files(command, optional=True)


def _add_tables(command: Parser) -> None:
    command.add_argument(
        "tables",
        nargs="+",
        type=table,
        metavar="TABLE",
        help="file saved by --save, or by JointAccumulator.save",
    )


def _add_metrics(command: Parser) -> None:
    metrics = command.add_argument_group("the metrics")
    metrics.add_argument(
        "--metrics",
        type=names,
        required=True,
        metavar="NAME,...",
        help="such as accuracy,f1,roc_auc,f1_macro",
    )
    metrics.add_argument(
        "--level", type=float, default=0.95, help="confidence level, %(default)s"
    )
    metrics.add_argument(
        "--method",
        type=method,
        metavar="NAME",
        help="interval method, or methods by metric, as accuracy=wilson,*=auto",
    )
    metrics.add_argument("--pos-label", metavar="LABEL", help="positive label, 1")
    metrics.add_argument(
        "--labels",
        type=names,
        metavar="LABEL,...",
        help="all labels, where not every part of the data has all of them",
    )
    metrics.add_argument(
        "--abstain", metavar="LABEL", help="prediction that means no answer"
    )


def _add_output(command: Parser) -> None:
    output = command.add_argument_group("the output")
    output.add_argument(
        "--format",
        choices=list(FORMATS),
        help="by default that of the ending of --out, or text",
    )
    output.add_argument(
        "--out", type=Path, metavar="FILE", help="write to a file, when all is done"
    )
    output.add_argument(
        "--save",
        type=table,
        metavar="TABLE",
        help="save the counts of outcomes, without rows, as .npz or .json",
    )
    output.add_argument(
        "--fail-if",
        type=failing,
        action="append",
        default=[],
        metavar="CONDITION",
        help="as 'accuracy < 0.9' or 'a accuracy < 0.9' of the rule a: exit with 1 if "
        "an interval lies where the condition is true; may be repeated",
    )
    output.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 unless the interval lies where the condition is false",
    )
    output.add_argument(
        "--require",
        type=required,
        action="append",
        default=[],
        metavar="CONDITION",
        help="as 'accuracy >= 0.9': exit with 1 unless the interval lies where the "
        "condition is true; the same as --strict --fail-if 'accuracy < 0.9'",
    )


def _add_differences(command: Parser) -> None:
    command.add_argument(
        "--differences",
        action="store_true",
        help="also report the paired differences of the rules",
    )


def _add_comparison(command: Parser) -> None:
    comparison = command.add_argument_group("the comparison")
    comparison.add_argument(
        "--control",
        metavar="RULE",
        help="compare the other rules with this one only",
    )
    comparison.add_argument(
        "--scale", choices=["difference", "ratio"], default="difference"
    )
    comparison.add_argument(
        "--adjust",
        choices=["single-step", "step-down", "none"],
        default="single-step",
        help="adjustment for multiplicity, %(default)s",
    )
    comparison.add_argument(
        "--margin",
        type=number_or_by_name,
        metavar="NUMBER",
        help="largest difference that does not matter, or by metric, as f1=.02",
    )


def _add_plan(command: Parser) -> None:
    plan = command.add_argument_group("the plan")
    plan.add_argument(
        "--half-width",
        type=number_or_by_name,
        metavar="NUMBER",
        help="largest half width of the intervals, or by metric, as f1=.05",
    )
    plan.add_argument(
        "--expected",
        type=expected,
        metavar="VALUE",
        help="without a pilot FILE: the accuracy, rates such as "
        "prevalence=.1,recall=.8,specificity=.95, or the cells tn,fp,fn,tp",
    )
    plan.add_argument(
        "--power",
        type=float,
        metavar="PROBABILITY",
        help="instead of a width: of the differences of rules to be detected",
    )
    plan.add_argument(
        "--difference",
        type=number_or_by_name,
        metavar="NUMBER",
        help="the true difference, or by metric; that of the pilot if not given",
    )


_COMMANDS: dict[str, tuple[Any, ...]] = {
    "report": (
        "Report metrics of rules by joint intervals",
        *(_add_files, _add_metrics, _add_differences, _add_output),
    ),
    "compare": (
        "Compare rules by simultaneous paired differences",
        *(_add_files, _add_metrics, _add_comparison, _add_output),
    ),
    "plan": (
        "Find the number of rows for a width or a power, from a pilot or without",
        *(_add_pilot, _add_metrics, _add_plan),
    ),
    "merge": (
        "Report on the tables of several sites or days together",
        *(_add_tables, _add_metrics, _add_differences, _add_output),
    ),
}
