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

exit status: 0 if all requirements are shown to be met; 1 if one is refuted;
3 if none is and one is open; 2 for wrong arguments or data, with one line on
standard error that says what is wrong; 130 if interrupted.
"""


_FLAGS = {
    "y_true": "--truth",
    "y_pred": "--models",
    "y_score": "--scores",
    "sample_weight": "--weights",
    "confidence_level": "--level",
    "scorers": "--scorer",
}
"""Arguments that have other names than the options."""


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
            name = option.strip("-").replace("-", "_")
            for flag, action in known.items():
                if name == action.dest or is_synonym(name, action.dest):
                    return flag
            if near := difflib.get_close_matches(option, known, 1, 0.75):
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
        before: Any = getattr(namespace, self.dest)
        if self.dest in parser.stored:
            must = "must be given once; leave one of them out"
            if isinstance(before, list) and isinstance(values, list):
                values = before + values
            elif not (isinstance(before, dict) and isinstance(values, dict)):
                raise argparse.ArgumentError(self, must)
            elif twice := before.keys() & values.keys():
                must = f"must have distinct names, got {min(twice)!r} twice"
                raise argparse.ArgumentError(self, must)
            else:
                values = before | values
        parser.stored.add(self.dest)
        setattr(namespace, self.dest, values)


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


def truth(text: str) -> str | list[str]:
    """Read a column, or those of an event and its time."""
    found = names(text)
    return found if len(found) > 1 else found[0]


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


def looks(text: str) -> list[int]:
    """Read ascending numbers of rows, as 200,500,1000 or first:last:step."""
    try:
        numbers = [*map(int, re.split("[,:]", text))]
        if ":" in text:
            first, last, step = numbers
            numbers = [*range(first, last + 1, step)]
        if not numbers or [0, *numbers] != sorted({0, *numbers}):
            raise ValueError
    except ValueError as error:
        must = "must be ascending numbers of rows, as 200,500,1000 or 200:2000:200"
        raise argparse.ArgumentTypeError(f"{must}, got {text!r}") from error
    return numbers


def required(text: str) -> str:
    """Check what must be shown, such as "new - old accuracy >= -0.02"."""
    if split_comparison(text) is None:
        raise argparse.ArgumentTypeError(f"must be {GRAMMAR}, got {text!r}")
    return text


def failing(text: str) -> str:
    """Read what must not be shown, such as "a accuracy < 0.9", as a requirement."""
    found = split_comparison(text)
    if found is None or " and " in text:
        must = f"must be one condition, {GRAMMAR.replace('>=', '<')}, got {text!r}"
        raise argparse.ArgumentTypeError(must)
    subject, sign, value = found
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
"""Readers and metavariables of options, where the type does not tell them."""
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
"""Readers and metavariables by the start of the type of an option."""

Groups = Mapping[str, Sequence[tuple[Any, str]]]
"""Options of functions by the title of their group, whose order is that of the help.

Names that end in ! are required, and those that end in +, * or ? are positional.
"""


def parser(commands: Mapping[Any, tuple[str, str, Groups]]) -> Parser:
    """Make the parser of commands, each with its summary, an example and options.

    Its namespaces name the options of each function as `options`; see `given`.
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
    """Add the argument for an option of a function; see `Groups` for its mark."""
    kind, text = described(function, name)
    default = signature(function).parameters[name].default
    keywords: dict[str, Any] = {}
    if kind.startswith("bool"):
        keywords = {"action": "store_true", "default": None}
    elif choices := re.match(r"\{([^}]*)\}(,|$)", kind):
        keywords["choices"] = re.findall('"([^"]*)"', choices[1])
    else:
        starts = (start for start in _READERS_OF_TYPES if re.match(start, kind))
        found = _READERS.get(name) or _READERS_OF_TYPES[next(starts)]
        keywords["type"], keywords["metavar"] = found
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
    """Argument for an option."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def given(arguments: argparse.Namespace, *functions: Any) -> dict[str, Any]:
    """Options of some functions that arguments set, by name."""
    found = (name for each in functions for name in arguments.options.get(each, ()))
    values = {name: getattr(arguments, name) for name in found}
    return {name: value for name, value in values.items() if value is not None}
