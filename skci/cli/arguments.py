"""The arguments of the commands, most of which are options of entry points.

An argument that is an option has the name, the default, the choices and the first
sentence that the signature and the docstring of its function have, and is read by the
type that is stated there.
"""

import argparse
import csv
import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from skci._docstrings import described
from skci._hints import option_hint
from skci._validation import join_names
from skci.accumulation import JointAccumulator
from skci.cli.output import FORMATS
from skci.data.partial_truth import PREDICTION
from skci.evaluation import joint_report
from skci.grades import grades_report
from skci.logs.reading import FORMATS as LOGS
from skci.logs.reading import read
from skci.logs.rows import LogRows
from skci.planning import sample_size
from skci.reports.contrasts import ContrastReport
from skci.reports.joint import JointReport
from skci.reports.rendering import INTERVAL_STYLES
from skci.reports.requirements import SIGNS, split_comparison
from skci.reports.votes import VotesReport
from skci.votes import votes_report

_DESCRIPTION = """\
Joint confidence intervals for performance measures of classifiers, from files of
predictions. Without arguments, a demonstration.
"""
_EPILOG = """\
exit status: 0 if all requirements are shown to be met; 1 if one is refuted; 3 if none
is and one is open; 2 for wrong arguments or data, of which one line on standard error
tells; 130 if interrupted.
"""


_NEEDS_ROWS = {"--design", "--runs", "--strata", "--crossed", "--time"}
FLAGS = {
    "y_true": "--truth",
    "y_pred": "--models",
    "y_score": "--scores",
    "sample_weight": "--weights",
    "confidence_level": "--level",
    "scorers": "--scorer",
}
"""Arguments that have other names than the options."""
_SYNONYMS = {
    **dict.fromkeys(("--alpha", "--confidence-level", "--confidence"), "--level"),
    **dict.fromkeys(("--compare", "--diff", "--pairwise"), "--differences"),
    **dict.fromkeys(("--baseline", "--reference"), "--control"),
    **dict.fromkeys(("--predictions", "--pred", "--y-pred"), "--models"),
    **dict.fromkeys(("--y-true", "--target", "--label"), "--truth"),
    **dict.fromkeys(("--sample-weight", "--weight"), "--weights"),
    **dict.fromkeys(("--cluster", "--clusters"), "--groups"),
}
"""Arguments by the names that users guess."""


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)
        self.register("action", None, _Store)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, of which a command must know all."""
        self._given = sys.argv[1:] if args is None else [*args]
        self.stored: set[str] = set()
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            message = f"unrecognized arguments: {' '.join(unknown)}"
            if not any(text.startswith("-") for text in unknown):
                message += "; names of a list have commas between them, as a,b"
            elif _NEEDS_ROWS & {text.partition("=")[0] for text in unknown}:
                message += (
                    "; report and compare take --strata, --crossed or --time, and "
                    f"{option_hint((), 'design', None)}"
                )
            elif near := self._near(unknown):
                message += f"; did you mean {near}?"
            self.error(message)
        return namespace, unknown

    def _near(self, given: Sequence[str]) -> str | None:
        """Option that one of some arguments, which is none, is meant as."""
        known = self._option_string_actions
        for text in given:
            option = text.partition("=")[0]
            if option in known or not option.startswith("-"):
                continue
            name = option.replace("_", "-")
            if name in known:
                return name
            if _SYNONYMS.get(name) in known:
                return _SYNONYMS[name]
            if near := difflib.get_close_matches(name, known, 1, 0.75):
                return near[0]
        return None

    def error(self, message: str) -> NoReturn:
        """Exit with one line."""
        if "are required" in message and (near := self._near(self._given)):
            message += f"; did you mean {near}?"
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


class _Store(argparse.Action):
    """Store a value; lists, and values by name, of a repeated option add up."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        if self.dest in parser.stored:
            values = self._sum(getattr(namespace, self.dest), values)
        parser.stored.add(self.dest)
        setattr(namespace, self.dest, values)

    def _sum(self, before: Any, values: Any) -> Any:
        """Add the values of a repetition to those before."""
        if isinstance(before, list) and isinstance(values, list):
            return before + values
        if not (isinstance(before, dict) and isinstance(values, dict)):
            got = f"{_told(before)} and {_told(values)}"
            must = f"must be given once, got {got}; leave one of them out"
            raise argparse.ArgumentError(self, must)
        if twice := [name for name in values if name in before]:
            must = f"must have distinct names, got {twice[0]!r} twice"
            raise argparse.ArgumentError(self, must)
        return before | values


def _told(value: Any) -> str:
    """Write a value of an option as it is given."""
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_told, value))
    return str(value)


class _Logs(argparse.Action):
    """Read paths of logs, or those of each model that is named."""

    def __call__(self, parser: Any, namespace: Any, values: Any, _: Any = None) -> None:
        by_model: dict[str, list[str]] = {}
        for text in map(decoded, values):
            name, sign, path = text.partition("=")
            is_named = sign and not Path(text).exists()
            by_model.setdefault(name * bool(is_named), []).append(
                path if is_named else text
            )
        if "" in by_model and len(by_model) > 1:
            parser.error("LOGS must all have a name before them, as NAME=LOGS, or none")
        setattr(namespace, self.dest, by_model.get("", by_model))


def decoded(text: str) -> str:
    """Read a name in UTF-8, whatever the locale."""
    return text.encode(errors="surrogateescape").decode(errors="surrogateescape")


def names(text: str) -> list[str]:
    """Read names with commas between them; one with a comma is in quotation marks."""
    found = next(csv.reader([decoded(text)], skipinitialspace=True), [])
    if not all(found) or not found:
        raise argparse.ArgumentTypeError(f"must be names, as a,b, got {text!r}")
    return found


def pair(text: str) -> tuple[str, ...]:
    """Read two names, which are one value."""
    if len(found := names(text)) != 2:
        raise argparse.ArgumentTypeError(f"must be two names, as a,b, got {text!r}")
    return tuple(found)


def columns(text: str) -> dict[str, str]:
    """Read columns by name; a column without a name has its own."""
    return {name: column or name for name, column in by_name(text).items()}


def proxies(text: str) -> str | dict[str, str]:
    """Read columns by name, or "prediction"."""
    return text if text == PREDICTION else columns(text)


def by_name(text: str) -> dict[str, str]:
    """Read values by name; a name without a value has an empty one."""
    pairs = [entry.partition("=") for entry in names(text)]
    values = {name: value for name, _, value in pairs}
    if len(values) < len(pairs):
        raise argparse.ArgumentTypeError(f"must have distinct names, got {text!r}")
    return values


def one_or_by_name(read: Callable[[str], Any], wanted: str) -> Callable[[str], Any]:
    """Make a reader of what is wanted, a value or values by name, as in f1=.05,*=.1."""

    def parse(text: str) -> Any:
        try:
            if "=" not in text:
                return read(text)
            return {name: read(value) for name, value in by_name(text).items()}
        except ValueError as error:
            must = f"must be {wanted}, got {text!r}"
            raise argparse.ArgumentTypeError(must) from error

    return parse


number = one_or_by_name(float, "a number, or numbers by name, as f1=.05,accuracy=.03")
bounds = one_or_by_name(
    lambda text: tuple(map(float, re.split("[,:]", text))),
    "two numbers, or pairs by name, as 0,1 or rouge=0:1,bleu=0:100",
)
method = one_or_by_name(str, "a method, or methods by metric")


def scorers(text: str) -> list[str] | dict[str, str]:
    """Read scorers, or the scorer of each task."""
    return by_name(text) if "=" in text else names(text)


def expected(text: str) -> Any:
    """Read an expected value, rates by name, or the cells tn,fp,fn,tp."""
    if "," in text and "=" not in text:
        return tuple(np.reshape([*map(float, names(text))], (2, 2)).tolist())
    return number(text)


def table(text: str) -> Path:
    """Check the name of a table of counts."""
    if Path(text).suffix not in (".npz", ".json"):
        raise argparse.ArgumentTypeError(f"must end in .npz or .json, got {text!r}")
    return Path(text)


def number_or_word(text: str) -> float | str:
    """Read a number, or a word in place of it."""
    try:
        return float(text)
    except ValueError:
        return text


def required(text: str) -> str:
    """Read what must be shown, such as "new - old accuracy >= -0.02"."""
    return _condition(text, dict(zip(SIGNS, SIGNS, strict=True)))


def failing(text: str) -> str:
    """Read what must not be shown, such as "a accuracy < 0.9", as a requirement."""
    return _condition(text, dict(zip("<>", SIGNS, strict=True)))


def _condition(text: str, signs: Mapping[str, str]) -> str:
    """Read a comparison by some signs, each of which stands for that required."""
    found = split_comparison(text, [*signs])
    if found is None:
        raise argparse.ArgumentTypeError(
            "must be a metric, perhaps after a model or a difference of two, "
            f"{' or '.join(signs)}, and a number, as 'accuracy {next(iter(signs))} "
            f"0.9', got {text!r}"
        )
    subject, sign, value = found
    return f"{subject} {signs[sign]} {value!r}"


_BY_NAME = {
    "y_score": (columns, "[NAME=]COLUMN[:COLUMN...],..."),
    "proxy": (proxies, "[NAME=]COLUMN,...|prediction"),
    "bounds": (bounds, "LOW,HIGH|SCORER=LOW:HIGH,..."),
    "expected": (expected, "VALUE|RATE=VALUE,...|TN,FP,FN,TP"),
    "missing_grades": (number_or_word, "{error,drop,pairwise}|NUMBER"),
    "scorers": (scorers, "[TASK=]NAME,..."),
    "score_bins": (int, "N"),
}
"""Readers and metavariables of options, where the type does not tell them."""
_BY_TYPE = {
    r"array-like.* mapping|mapping": (columns, "[NAME=]COLUMN,..."),
    r"array-like of shape": (decoded, "COLUMN"),
    r"float or mapping": (number, "[METRIC=]NUMBER,..."),
    r"float": (float, "NUMBER"),
    r"label": (decoded, "LABEL"),
    r"str or mapping|\{.*\} or mapping": (method, "[METRIC=]NAME,..."),
    r"array-like|str or iterable|str, metric": (names, "NAME,..."),
    r"str": (decoded, "NAME"),
}
"""Readers and metavariables by the start of the type of an option."""


class Argument(NamedTuple):
    """Argument of a command, and the function whose option it is, if any."""

    flag: str
    keywords: dict[str, Any]
    """Those of `ArgumentParser.add_argument`."""
    function: Any = None


def _options(function: Any, listed: str, **others: Any) -> list[Argument]:
    """Arguments for options of a function; those that end in ! are required."""
    arguments = []
    for name in listed.split():
        keywords: dict[str, Any] = {"required": True} if name.endswith("!") else {}
        name = name.removesuffix("!")
        kind, keywords["help"] = described(function, name)
        default = signature(function).parameters[name].default
        if kind.startswith("bool"):
            keywords["action"] = "store_true"
        elif choices := re.match(r"\{([^}]*)\}(,|$)", kind):
            keywords["choices"] = re.findall('"([^"]*)"', choices[1])
        else:
            of_type = (x for start, x in _BY_TYPE.items() if re.match(start, kind))
            chosen = _BY_NAME[name] if name in _BY_NAME else next(of_type)
            keywords["type"], keywords["metavar"] = chosen
        keywords |= others
        if default not in (None, False, Parameter.empty) and not others:
            keywords["default"] = default
            keywords["help"] += " (%(default)s by default)"
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
        arguments.append(Argument(flag, {"dest": name, **keywords}, function))
    return arguments


def _argument(
    flag: str, help: str, metavar: str | None = None, type: Any = None, **others: Any
) -> Argument:
    """Argument that is no option of a function."""
    return Argument(flag, {"help": help, "metavar": metavar, "type": type, **others})


def _flag(flag: str, help: str) -> Argument:
    return Argument(flag, {"help": help, "action": "store_true"})


_FILES = (
    "CSV with a header (.csv, .tsv), Parquet or Arrow; - is CSV from standard input; "
    "of several files the rows are taken together",
    "FILE",
)
_DELIMITER = _argument(
    "--delimiter", "of CSV files, by default a comma, or a tab in .tsv", "CHARACTER"
)
_ROWS = [
    *_options(
        JointAccumulator.update,
        "y_pred y_score by missing groups query sample_weight counts",
    ),
    _DELIMITER,
]
_DATA = [
    _argument("files", *_FILES, nargs="+"),
    *_options(JointAccumulator.update, "y_true!"),
    *_ROWS,
    *_options(JointAccumulator, "score_bins moments"),
    *_options(JointAccumulator.update, "proxy"),
    *_options(joint_report, "label_probability"),
    _argument(
        "--strata",
        "strata, from each of which a fixed number of rows was drawn",
        "COLUMN",
        decoded,
    ),
    _argument(
        "--crossed",
        "two crossed factors, such as items and users",
        "COLUMN,COLUMN",
        pair,
    ),
    _argument(
        "--time",
        "what rows are in order of; --groups are then the series",
        "COLUMN",
        decoded,
    ),
]
_PILOT = [
    _argument("files", *_FILES, nargs="*"),
    *_options(JointAccumulator.update, "y_true"),
    *_ROWS,
]
_TABLES = [
    _argument(
        "tables",
        "file saved by --save, or by JointAccumulator.save",
        "TABLE",
        table,
        nargs="+",
    )
]
_METRICS = [
    *_options(
        JointAccumulator,
        "metrics! confidence_level method pos_label labels abstain",
    ),
    _flag(
        "--text",
        "labels are text even if they look like numbers; in CSV files only empty cells "
        "are missing, not NA, N/A, nan or null",
    ),
]
_OUTPUT = [
    _argument(
        "--format",
        "by default that of the ending of --out, or text",
        choices=[*FORMATS],
    ),
    _argument(
        "--style",
        "pm: estimates ± half widths, in tables for readers",
        choices=[*INTERVAL_STYLES],
        default=next(iter(INTERVAL_STYLES)),
    ),
    _flag(
        "--wide",
        "tables for readers have a column for each metric, as for a paper; in Markdown "
        "and LaTeX with the models that may be the best in bold",
    ),
    _argument("--out", "write to a file, when all is done", "FILE", Path),
    _argument("--html", "also write a page to send", "FILE", Path),
    _argument(
        "--fail-if",
        "as --require, with < or >: exit with 1 if the interval lies where the "
        "condition is true, else with 0; may be repeated",
        "CONDITION",
        failing,
        action="append",
        default=[],
    ),
    _argument(
        "--require",
        "as 'accuracy >= 0.9', 'a accuracy >= 0.9' of the model a, or 'a - b accuracy "
        ">= -0.02' of a difference: exit with 0 if the interval lies where the "
        "condition is true, with 1 if it lies where it is false, else with 3; may be "
        "repeated",
        "CONDITION",
        required,
        action="append",
        default=[],
    ),
]
_SAVED = _argument(
    "--save",
    "save the counts of outcomes, without rows, as .npz or .json",
    "TABLE",
    table,
)
_DIFFERENCES = _flag(
    "--differences", "also report the paired differences of the models"
)


def _comparison(function: Any, listed: str = "control scale adjust margin") -> Any:
    """Arguments for the options of differences, None if they are not given."""
    return _options(function, listed, default=None)


_VOTES = [
    _argument("files", *_FILES, nargs="+"),
    *_options(
        votes_report,
        "first! second! outcome! position covariates groups sample_weight scale "
        "confidence_level",
    ),
    _DELIMITER,
]
_LOGS = [
    _argument(
        "logs",
        f"log of one of the formats {join_names([*LOGS])}, or a folder with logs; "
        "NAME=LOGS names a model",
        "LOGS",
        nargs="+",
        action=_Logs,
    ),
    *_options(LogRows.select, "models tasks scorers"),
    *_options(read, "groups incomplete"),
]
_GRADES = [
    *_options(LogRows.report, "samples"),
    *_options(grades_report, "missing_grades average bounds confidence_level method"),
    _argument(
        "--lower-is-better", "scorers whose lower grades are better", "NAME,...", names
    ),
]
_PLAN = [
    *_options(JointReport.sample_size, "half_width"),
    *_options(sample_size, "expected disagreement power"),
    *_options(ContrastReport.sample_size, "difference"),
]

_OF_DATA, _OF_METRICS = ("the data", _DATA), ("the metrics", _METRICS)
_OF_OUTPUT = ("the output", [*_OUTPUT, _SAVED])
_COMMANDS: dict[str, tuple[str, list[tuple[str | None, list[Argument]]]]] = {
    "report": (
        "Report metrics of models by joint intervals",
        [_OF_DATA, _OF_METRICS, (None, [_DIFFERENCES]), _OF_OUTPUT],
    ),
    "compare": (
        "Compare models by simultaneous paired differences",
        [
            _OF_DATA,
            _OF_METRICS,
            ("the comparison", _comparison(JointReport.differences)),
            _OF_OUTPUT,
        ],
    ),
    "grades": (
        "Rank models by the grades in logs of evaluations",
        [
            ("the data", _LOGS),
            ("the grades", _GRADES),
            (
                "the comparison",
                [_DIFFERENCES, *_comparison(JointReport.differences)],
            ),
            ("the output", _OUTPUT),
        ],
    ),
    "votes": (
        "Rank models by pairwise votes, as of an arena",
        [
            ("the votes", _VOTES),
            (
                "the comparison",
                [
                    _DIFFERENCES,
                    *_comparison(VotesReport.differences, "control adjust margin"),
                ],
            ),
            ("the output", _OUTPUT),
        ],
    ),
    "plan": (
        "Find the number of rows for a width or a power, from a pilot or without",
        [("the data", _PILOT), _OF_METRICS, ("the plan", _PLAN)],
    ),
    "merge": (
        "Report on the tables of several sites or days together",
        [(None, _TABLES), _OF_METRICS, (None, [_DIFFERENCES]), _OF_OUTPUT],
    ),
}
"""Summary and arguments of each command, in groups with a title."""


def parser(commands: Mapping[str, Callable[[argparse.Namespace], int]]) -> Parser:
    """Make the parser of some commands by name.

    Its namespaces name the options of each function as `options`; see `given`.
    """
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
    for name, (summary, groups) in _COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, description=summary + ".")
        options: dict[Any, list[str]] = {}
        for title, arguments in groups:
            group = command.add_argument_group(title) if title else command
            for argument in arguments:
                group.add_argument(argument.flag, **argument.keywords)
                if argument.function:
                    of_function = options.setdefault(argument.function, [])
                    of_function.append(argument.keywords["dest"])
        command.set_defaults(run=commands[name], options=options)
    return top


def given(arguments: argparse.Namespace, *functions: Any) -> dict[str, Any]:
    """Options of some functions that arguments set, by name."""
    found = (name for each in functions for name in arguments.options[each])
    values = {name: getattr(arguments, name) for name in found}
    return {name: value for name, value in values.items() if value is not None}
