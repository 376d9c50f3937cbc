"""Command-line arguments, mostly parameters of public functions.

The name, the default, the choices and the help of such an argument are read from the
signature and the docstring of the function. The type in the docstring determines how
the text of the argument is parsed.
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
from typing import Any, NoReturn

import numpy as np

from skci._options import described, is_synonym
from skci.data.partial_truth import PREDICTION
from skci.reports.decisions import GRAMMAR, split_comparison

_DESCRIPTION = """\
Joint confidence intervals for metrics of models, from files of predictions,
votes or logs of evaluations. Without arguments, a demonstration.
"""
_EPILOG = """\
examples:
  {examples}

skci COMMAND --help lists the options of a command.

exit status: 0 if all requirements are shown to be met; 1 if any is refuted;
3 if none is refuted and any is open; 2 for invalid arguments or data, with a
one-line message on standard error; 130 if interrupted.
"""


_FLAGS = {
    "y_true": "--truth",
    "y_pred": "--models",
    "y_score": "--scores",
    "sample_weight": "--weights",
    "confidence_level": "--level",
    "scorers": "--scorer",
}
"""Flags that differ from the name of the parameter."""


class Parser(argparse.ArgumentParser):
    """Argument parser that reports errors in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)
        self.register("action", None, _Store)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and exit with an error if there are unknown arguments."""
        self._arguments = sys.argv[1:] if args is None else [*args]
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            message = f"unrecognized arguments: {' '.join(unknown)}"
            if not any(text.startswith("-") for text in unknown):
                message += "; separate the names of a list by commas, as in a,b"
            elif closest := self._closest_option(unknown):
                message += f"; did you mean {closest}?"
            self.error(message)
        return namespace, unknown

    def _closest_option(self, arguments: Sequence[str]) -> str | None:
        """Return the option most similar to the first unknown option."""
        actions = self._option_string_actions
        options = [text.partition("=")[0] for text in arguments]
        for option in options:
            if option.startswith("-") and option not in actions:
                name = option.strip("-").replace("-", "_")
                same = [
                    flag
                    for flag, action in actions.items()
                    if name == action.dest or is_synonym(name, action.dest)
                ]
                near = difflib.get_close_matches(option, actions, 1, 0.75)
                return next(iter(same + near), None)
        return None

    def error(self, message: str) -> NoReturn:
        """Exit with an error message in one line."""
        is_missing = "are required" in message
        if is_missing and (closest := self._closest_option(self._arguments)):
            message += f"; did you mean {closest}?"
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


class _Store(argparse.Action):
    """Action that stores an option, and joins repeated lists or mappings."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        before: Any = getattr(namespace, self.dest)
        both = {type(before), type(values)}
        if both == {list}:
            values = before + values
        elif both == {dict} and not before.keys() & values.keys():
            values = before | values
        elif before is not None:
            message = "the option must be given once, or with distinct names"
            raise argparse.ArgumentError(self, message)
        setattr(namespace, self.dest, values)


def decoded(text: str) -> str:
    """Decode an argument as UTF-8, independently of the locale."""
    return text.encode(errors="surrogateescape").decode(errors="surrogateescape")


def names(text: str) -> list[str]:
    """Parse names separated by commas.

    A name that contains a comma needs quotation marks.
    """
    parsed = next(csv.reader([decoded(text)], skipinitialspace=True), [])
    if not all(parsed) or not parsed:
        raise argparse.ArgumentTypeError(
            f"the option requires names separated by commas, as in a,b, got {text!r}"
        )
    return parsed


def pair(text: str) -> tuple[str, ...]:
    """Parse a pair of names."""
    if len(parsed := names(text)) != 2:
        raise argparse.ArgumentTypeError(
            f"the option requires two names, as in a,b, got {text!r}"
        )
    return tuple(parsed)


def truth(text: str) -> str | list[str]:
    """Parse the column name of the truth, or the column names of events and times."""
    parsed = names(text)
    return parsed if len(parsed) > 1 else parsed[0]


def columns(text: str) -> dict[str, str]:
    """Parse pairs of a model name and a column name, as in "new=column".

    Without a model name, the model is named after the column.
    """
    return {name: column or name for name, column in by_name(text).items()}


def proxies(text: str) -> str | dict[str, str]:
    """Parse pairs of a proxy name and a column, or the word "prediction"."""
    return text if text == PREDICTION else columns(text)


def by_name(
    text: str, split: Callable[..., tuple[str, str, str]] = str.partition
) -> dict[str, str]:
    """Parse pairs of a name and a value, as in "a=1,b=2".

    If a name has no value, the value is an empty string.
    """
    pairs = [split(entry, "=") for entry in names(text)]
    values = {name: value for name, _, value in pairs}
    if len(values) < len(pairs):
        raise argparse.ArgumentTypeError(
            f"the option accepts each name only once, got {text!r}"
        )
    return values


def one_or_by_name(
    read: Callable[[str], Any], requirement: str
) -> Callable[[str], Any]:
    """Return a parser for one value, or for pairs of a name and a value.

    An example of such pairs is "f1=.05,*=.1". The function `read` parses each value.
    """

    def parse(text: str) -> Any:
        try:
            if "=" not in text:
                return read(text)
            values = by_name(text, str.rpartition)  # names of metrics may contain "="
            return {name: read(value) for name, value in values.items()}
        except ValueError as error:
            message = f"the option requires {requirement}, got {text!r}"
            raise argparse.ArgumentTypeError(message) from error

    return parse


number = one_or_by_name(
    float, "a number, or numbers by name, as in f1=.05,accuracy=.03"
)
bounds = one_or_by_name(
    lambda text: tuple(map(float, re.split("[,:]", text))),
    "two numbers, or pairs by name, as in 0,1 or rouge=0:1,bleu=0:100",
)
method = one_or_by_name(str, "a method, or methods by metric")


def scorers(text: str) -> list[str] | dict[str, str]:
    """Parse names of scorers (a,b), or the scorer of each task (task=a,...)."""
    return by_name(text) if "=" in text else names(text)


def expected(text: str) -> Any:
    """Parse a number, rates by name, or expected counts in the order tn,fp,fn,tp."""
    if "," in text and "=" not in text:
        return tuple(np.reshape([*map(float, names(text))], (2, 2)).tolist())
    return number(text)


def table(text: str) -> Path:
    """Check the extension of a file of saved counts."""
    if Path(text).suffix not in (".npz", ".json"):
        raise argparse.ArgumentTypeError(
            f"the file name must end in .npz or .json, got {text!r}"
        )
    return Path(text)


def number_or_word(text: str) -> float | str:
    """Convert a number to a float, and return other words unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def looks(text: str) -> list[int]:
    """Parse ascending numbers of rows, as in 200,500,1000 or first:last:step."""
    try:
        numbers = [*map(int, re.split("[,:]", text))]
        if ":" in text:
            first, last, step = numbers
            numbers = [*range(first, last + 1, step)]
        if not numbers or [0, *numbers] != sorted({0, *numbers}):
            raise ValueError
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            "the option requires increasing numbers of rows, as in 200,500,1000 or "
            f"200:2000:200, got {text!r}"
        ) from error
    return numbers


def required(text: str) -> str:
    """Check the syntax of a requirement, such as "new - old accuracy >= -0.02"."""
    if split_comparison(text) is None:
        raise argparse.ArgumentTypeError(
            f"the requirement must be {GRAMMAR}, got {text!r}"
        )
    return text


def failing(text: str) -> str:
    """Convert a failure condition, such as "a accuracy < 0.9", to a requirement."""
    comparison = split_comparison(text)
    if comparison is None or " and " in text:
        message = (
            f"the option requires one condition, {GRAMMAR.replace('>=', '<')}, "
            f"got {text!r}"
        )
        raise argparse.ArgumentTypeError(message)
    subject, sign, value = comparison
    return f"{subject} {'>=' if sign[0] == '<' else '<='} {value}"


_READERS = {
    "bounds": (bounds, "LOW,HIGH|SCORER=LOW:HIGH,..."),
    "crossed": (pair, "COLUMN,COLUMN"),
    "delimiter": (str, "CHARACTER"),
    "expected": (expected, "VALUE|RATE=VALUE,...|TN,FP,FN,TP"),
    "fail_if": (failing, "CONDITION"),
    "missing_grades": (number_or_word, "{error,drop,pairwise}|NUMBER"),
    "paths": (decoded, "[NAME=]LOGS"),
    "proxy": (proxies, "[NAME=]COLUMN,...|prediction"),
    "qrels": (Path, "FILE"),
    "require": (required, "CONDITION"),
    "runs": (Path, "FILE"),
    "save": (table, "TABLE"),
    "score_bins": (int, "N"),
    "scorers": (scorers, "[TASK=]NAME,..."),
    "stop": (looks, "N,N,...|FIRST:LAST:STEP"),
    "tables": (table, "TABLE"),
    "word": (decoded, "WORD"),
    "y_true": (truth, "COLUMN|EVENT,TIME"),
    "y_score": (columns, "[NAME=]COLUMN[:COLUMN...],..."),
}
"""Parser and placeholder for the help, by name of the parameter."""
_READERS_OF_TYPES = {
    r"array-like.* mapping|mapping": (columns, "[NAME=]COLUMN,..."),
    r"array-like of shape": (decoded, "COLUMN"),
    r"float or mapping": (number, "[METRIC=]NUMBER,..."),
    r"float": (float, "NUMBER"),
    r"label": (decoded, "LABEL"),
    r"path": (Path, "FILE"),
    r"list of path": (str, "FILE"),
    r"str or mapping|\{.*\} or mapping": (method, "[METRIC=]NAME,..."),
    r"array-like|str or iterable|str, metric": (names, "NAME,..."),
    r"str": (decoded, "NAME"),
}
"""Parser and placeholder, by a pattern for the type in the docstring."""

Groups = Mapping[str, Sequence[tuple[Any, str]]]
"""Parameters that are arguments of a command, by the title of a section of the help.

Each section lists functions with the names of their parameters. A name with the suffix
! is a required option. A name with the suffix +, * or ? is a positional argument.
"""


def parser(commands: Mapping[Any, tuple[str, str, Groups]]) -> Parser:
    """Create the parser of all commands.

    `commands` contains a summary, an example and the arguments of each command. The
    parsed arguments have an attribute `options`: a dict from each function of a command
    to a list of parameter names. The function `options_for` reads this attribute.
    """
    examples = [example for _, example, _ in commands.values()]
    top = Parser(
        prog="skci",
        description=_DESCRIPTION,
        epilog=_EPILOG.format(examples="\n  ".join(examples)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"skci {version('skci')}")
    subparsers = top.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for run, (summary, example, groups) in commands.items():
        command = subparsers.add_parser(
            run.__name__,
            help=summary,
            description=f"{summary}.",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        options: dict[Any, list[str]] = {}
        for title, listed in groups.items():
            group = command.add_argument_group(title)
            for function, marked in listed:
                for name in marked.split():
                    _add_option(group, function, *re.findall(r"\w+|\W+", name))
                options.setdefault(function, []).extend(re.findall(r"\w+", marked))
        command.set_defaults(run=run, options=options)
    return top


def _add_option(group: Any, function: Any, name: str, mark: str = "") -> None:
    """Add a command-line argument for a parameter of a function.

    The `mark` "!" makes the option required. The marks "+", "*" and "?" create a
    positional argument, and are passed to argparse as the number of values.
    """
    kind, text = described(function, name)
    default = signature(function).parameters[name].default
    keywords: dict[str, Any] = {}
    if kind.startswith("bool"):
        keywords = {"action": "store_true", "default": None}
    elif choices := re.match(r"\{([^}]*)\}(,|$)", kind):
        keywords["choices"] = re.findall('"([^"]*)"', choices[1])
    else:
        starts = (start for start in _READERS_OF_TYPES if re.match(start, kind))
        reader = _READERS.get(name) or _READERS_OF_TYPES[next(starts)]
        keywords["type"], keywords["metavar"] = reader
    if kind.startswith("list of str"):
        keywords["action"] = "append"
    if default not in (None, False, (), Parameter.empty):
        text += f" ({default} by default)"
    if mark in ("+", "*", "?"):
        group.add_argument(name, help=text, nargs=mark, **keywords)
    else:
        required = mark == "!"
        group.add_argument(
            flag_of(name), dest=name, help=text, required=required, **keywords
        )


def flag_of(name: str) -> str:
    """Return the command-line flag of a parameter."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def options_for(arguments: argparse.Namespace, *functions: Any) -> dict[str, Any]:
    """Return the parameters of `functions` that are set on the command line."""
    options = (name for x in functions for name in arguments.options.get(x, ()))
    values = {name: getattr(arguments, name) for name in options}
    return {name: value for name, value in values.items() if value is not None}
