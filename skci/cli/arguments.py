"""The arguments of the commands."""

import argparse
import csv
import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from skci._hints import option_hint
from skci._validation import join_names
from skci.cli.output import FORMATS
from skci.cli.requirements import failing, required
from skci.data.partial_truth import PREDICTION
from skci.logs import reading, rows
from skci.reports.rendering import INTERVAL_STYLES

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
_SYNONYMS = {
    **dict.fromkeys(("--alpha", "--confidence-level", "--confidence"), "--level"),
    **dict.fromkeys(("--compare", "--diff", "--pairwise"), "--differences"),
    **dict.fromkeys(("--baseline", "--reference"), "--control"),
    **dict.fromkeys(("--predictions", "--pred", "--y-pred"), "--models"),
    **dict.fromkeys(("--y-true", "--target", "--label"), "--truth"),
    **dict.fromkeys(("--sample-weight", "--weight"), "--weights"),
    **dict.fromkeys(("--cluster", "--clusters"), "--groups"),
}
"""Options by the names that users guess."""


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
    for name, (summary, groups) in _COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, description=summary + ".")
        command.set_defaults(run=commands[name])
        for title, options in groups:
            group = command.add_argument_group(title) if title else command
            for flag, option in options.items():
                group.add_argument(flag, **option)
    return top


def _option(
    help: str, metavar: str | None = None, type: Any = None, **others: Any
) -> dict[str, Any]:
    """Keywords of `ArgumentParser.add_argument`."""
    return {"help": help, "metavar": metavar, "type": type, **others}


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _flag(help: str) -> dict[str, Any]:
    return {"help": help, "action": "store_true"}


def _names(metavar: str, help: str, **others: Any) -> dict[str, Any]:
    return _option(help, f"{metavar},...", names, **others)


def _column(help: str, **others: Any) -> dict[str, Any]:
    return _option(help, "COLUMN", decoded, **others)


def _columns(help: str, **others: Any) -> dict[str, Any]:
    return _option(help, "COLUMN,...", columns, **others)


def _number(help: str) -> dict[str, Any]:
    """Option of a number, or of numbers by metric."""
    return _option(help, "NUMBER", number)


def _conditions(type: Any, help: str) -> dict[str, Any]:
    return _option(help, "CONDITION", type, action="append", default=[])


def _choice(choices: Sequence[str], help: str | None = None) -> dict[str, Any]:
    """Option of which the first choice is the default."""
    return {"help": help, "choices": choices, "default": choices[0]}


_TRUTH = "true labels, or numbers for metrics of regression"
_DATA = {
    "files": _option(
        "CSV with a header (.csv, .tsv), Parquet or Arrow; - is CSV from standard "
        "input; of several files the rows are taken together",
        "FILE",
        nargs="+",
    ),
    "--truth": _column(_TRUTH, dest="y_true", required=True),
    "--models": _columns(
        "predicted labels or numbers of each model; NAME=COLUMN names a model",
        dest="y_pred",
    ),
    "--scores": _columns(
        "scores of the same models, in their order or as NAME=COLUMN; of more than two "
        "labels a column for each, as NAME=COLUMN:COLUMN:COLUMN",
        dest="y_score",
    ),
    "--by": _names("COLUMN", "subgroups"),
    "--missing": _choice(
        ["error", "group"],
        "what rows without a subgroup are; group: one of their own",
    ),
    "--groups": _column("clusters of rows, such as patients"),
    "--query": _column("query that each row is a document of, for rankings"),
    "--weights": _column("sampling weights", dest="sample_weight"),
    "--counts": _column("how often each row occurs, 1 if not given"),
    "--delimiter": _option(
        "of CSV files, by default a comma, or a tab in .tsv", "CHARACTER"
    ),
}
_KEPT = {
    "--score-bins": _option(
        "count scores of two labels in so many bins from 0 to 1, in place of rows",
        "N",
        int,
    ),
    "--moments": _flag(
        "keep moments of losses, in place of rows: of log_loss, brier_score, and "
        "metrics of numbers that are functions of means"
    ),
}
_PARTLY = {
    "--proxy": _option(
        "proxies of the truth, such as the labels of a judge, where it is missing in "
        "some rows; 'prediction' where it depends on the prediction alone",
        "COLUMN,...",
        proxies,
    ),
    "--label-probability": _column("probability with which a row was to be labelled"),
}
_DESIGN = {
    "--strata": _column("strata, from each of which a fixed number of rows was drawn"),
    "--crossed": _option(
        "two crossed factors, such as items and users", "COLUMN,COLUMN", pair
    ),
    "--time": _column("what rows are in order of; --groups are then the series"),
}
_PILOT = _DATA | {
    "files": _DATA["files"] | {"nargs": "*"},
    "--truth": _column(_TRUTH, dest="y_true"),
}
_TABLES = {
    "tables": _option(
        "file saved by --save, or by JointAccumulator.save", "TABLE", table, nargs="+"
    ),
}
_METRICS = {
    "--metrics": _names("NAME", "such as accuracy,f1,roc_auc,f1_macro", required=True),
    "--level": _option("confidence level, %(default)s", type=float, default=0.95),
    "--method": _option(
        "interval method, or methods by metric, as accuracy=wilson,*=auto",
        "NAME",
        method,
    ),
    "--pos-label": _option("positive label, 1", "LABEL", decoded),
    "--labels": _names(
        "LABEL", "all labels, where not every part of the data has all of them"
    ),
    "--abstain": _option("prediction that means no answer", "LABEL", decoded),
    "--text": _flag(
        "labels are text even if they look like numbers; in CSV files only empty cells "
        "are missing, not NA, N/A, nan or null"
    ),
}
_OUTPUT = {
    "--format": _option(
        "by default that of the ending of --out, or text", choices=list(FORMATS)
    ),
    "--style": _choice(
        [*INTERVAL_STYLES], "pm: estimates ± half widths, in tables for readers"
    ),
    "--wide": _flag(
        "tables for readers have a column for each metric, as for a paper; in Markdown "
        "and LaTeX with the models that may be the best in bold"
    ),
    "--out": _option("write to a file, when all is done", "FILE", Path),
    "--html": _option("also write a page to send", "FILE", Path),
    "--fail-if": _conditions(
        failing,
        "as --require, with < or >: exit with 1 if the interval lies where the "
        "condition is true, else with 0; may be repeated",
    ),
    "--require": _conditions(
        required,
        "as 'accuracy >= 0.9', 'a accuracy >= 0.9' of the model a, or 'a - b accuracy "
        ">= -0.02' of a difference: exit with 0 if the interval lies where the "
        "condition is true, with 1 if it lies where it is false, else with 3; may be "
        "repeated",
    ),
}
_SAVED = {
    "--save": _option(
        "save the counts of outcomes, without rows, as .npz or .json", "TABLE", table
    ),
}
_DIFFERENCES = {
    "--differences": _flag("also report the paired differences of the models")
}
_UNSET = {"default": argparse.SUPPRESS}  # no attribute of arguments if not given
_COMPARISON = {
    "--control": _option("compare the other models with this one only", "MODEL")
    | _UNSET,
    "--scale": _choice(["difference", "ratio"]) | _UNSET,
    "--adjust": _choice(
        ["single-step", "step-down", "none"],
        "adjustment for multiplicity, single-step by default",
    )
    | _UNSET,
    "--margin": _number(
        "largest difference that does not matter, or by metric, as f1=.02"
    )
    | _UNSET,
}
_COMPARISON_OF_STRENGTHS = {
    name: option for name, option in _COMPARISON.items() if name != "--scale"
}
_VOTES = {
    "files": _DATA["files"],
    "--first": _column("first model of each vote", required=True),
    "--second": _column("second model of each vote", required=True),
    "--outcome": _column(
        "first, second or tie; or as arenas write them, model_a, model_b, tie, and tie "
        "(bothbad) or both_bad",
        required=True,
    ),
    "--position": _flag("estimate the advantage of the model that comes first"),
    "--covariates": _names(
        "COLUMN", "what the outcome depends on besides the models, first minus second"
    ),
    "--groups": _column("clusters of votes, such as voters or prompts"),
    "--weights": _DATA["--weights"],
    "--delimiter": _DATA["--delimiter"],
    "--scale": {"dest": "scale_of_strengths"}
    | _choice(["logit", "elo"], "of strengths: log-odds, or 400 for odds of ten"),
    "--level": _METRICS["--level"],
}
_LOGS = {
    "logs": _option(
        f"log of one of the formats {join_names([*reading.FORMATS])}, or a folder with "
        "logs; NAME=LOGS names a model",
        "LOGS",
        nargs="+",
        action=_Logs,
    ),
    "--models": _names("NAME", "models, all if not given"),
    "--tasks": _names("NAME", "tasks, all if not given"),
    "--groups": _option(
        "field of each item that is its cluster, such as a passage", "FIELD", decoded
    ),
    "--incomplete": _choice(
        ["error", "warn"], "what a log with fewer samples than it states is"
    ),
}
_GRADES = {
    "--scorer": _option(
        "scorers, all if not given; or one for each task, as TASK=NAME,...",
        "NAME,...",
        scorers,
    ),
    "--samples": _choice(
        rows.SAMPLES,
        "what the runs or epochs of an item are: independent answers, which are "
        "averaged, or runs that all items share, such as training seeds, and models "
        "too if paired",
    ),
    "--missing-grades": _option(
        "what becomes of items that some model has no grade of: drop, pairwise, or a "
        "number that counts as a missing grade; an error by default",
        "CHOICE",
        _number_or_word,
    ),
    "--average": _choice(
        ["macro", "micro"], "mean over the suite: of the means of tasks, or of items"
    ),
    "--bounds": _option(
        "least and greatest grade, or by scorer as rouge=0:1; by default 0,1 of "
        "scorers whose grades are all 0, 0.5 or 1",
        "LOW,HIGH",
        bounds,
    ),
    "--lower-is-better": _names("NAME", "scorers whose lower grades are better"),
    "--level": _METRICS["--level"],
    "--method": _METRICS["--method"],
}
_PLAN = {
    "--half-width": _number(
        "largest half width of the intervals, or by metric, as f1=.05"
    ),
    "--expected": _option(
        "without a pilot FILE: the accuracy, rates such as "
        "prevalence=.1,recall=.8,specificity=.95, or the cells tn,fp,fn,tp",
        "VALUE",
        expected,
    ),
    "--power": _option(
        "instead of a width: of the differences of models to be detected",
        "PROBABILITY",
        float,
    ),
    "--difference": _number(
        "the true difference, or by metric; that of the pilot if not given"
    ),
    "--disagreement": _option(
        "without a pilot FILE: the proportion of rows on which exactly one of two "
        "models is right",
        "PROPORTION",
        float,
    ),
}

_Group = tuple[str | None, dict[str, dict[str, Any]]]
_OF_DATA, _OF_METRICS = (
    ("the data", _DATA | _KEPT | _PARTLY | _DESIGN),
    ("the metrics", _METRICS),
)
_OF_OUTPUT = ("the output", _OUTPUT | _SAVED)
_COMMANDS: dict[str, tuple[str, list[_Group]]] = {
    "report": (
        "Report metrics of models by joint intervals",
        [_OF_DATA, _OF_METRICS, (None, _DIFFERENCES), _OF_OUTPUT],
    ),
    "compare": (
        "Compare models by simultaneous paired differences",
        [_OF_DATA, _OF_METRICS, ("the comparison", _COMPARISON), _OF_OUTPUT],
    ),
    "grades": (
        "Rank models by the grades in logs of evaluations",
        [
            ("the data", _LOGS),
            ("the grades", _GRADES),
            ("the comparison", _DIFFERENCES | _COMPARISON),
            ("the output", _OUTPUT),
        ],
    ),
    "votes": (
        "Rank models by pairwise votes, as of an arena",
        [
            ("the votes", _VOTES),
            ("the comparison", _DIFFERENCES | _COMPARISON_OF_STRENGTHS),
            ("the output", _OUTPUT),
        ],
    ),
    "plan": (
        "Find the number of rows for a width or a power, from a pilot or without",
        [("the data", _PILOT), _OF_METRICS, ("the plan", _PLAN)],
    ),
    "merge": (
        "Report on the tables of several sites or days together",
        [(None, _TABLES), _OF_METRICS, (None, _DIFFERENCES), _OF_OUTPUT],
    ),
}
"""Summary and options of each command, in groups with a title."""
