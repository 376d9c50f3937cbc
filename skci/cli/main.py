"""The entry point: runs a command and reports an error in one line."""

import io
import os
import shlex
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from skci._validation import check_distinct, printable
from skci.cli.arguments import given, parser
from skci.cli.commands import COMMANDS

_WRONG, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141
_ERRORS = OSError, ImportError, KeyError, MemoryError, TypeError, ValueError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process if not given.

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
            status = arguments.run(arguments, **given(arguments, arguments.run))
            problem = ""
        except KeyboardInterrupt:
            status, problem = _INTERRUPTED, "interrupted"
        except BrokenPipeError:
            # Nobody reads on, nor should the flush at exit fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        except _ERRORS as error:
            status, problem = _WRONG, f"error: {_in_a_line(error)}"
    messages = (line for each in caught for line in str(each.message).splitlines())
    for message in dict.fromkeys(messages):
        print(f"{command}: warning: {printable(message)}", file=sys.stderr)
    if problem:
        print(f"{command}: {problem}", file=sys.stderr)
    return status


def _check_paths(arguments: Namespace) -> None:
    """Check that no file is read twice, or written and read, or written twice."""
    given = vars(arguments)
    paths = [*given.get("files", []), *given.get("tables", [])]
    paths += [given[each] for each in ("out", "html", "save") if given.get(each)]
    resolved = [str(Path(path).resolve()) for path in paths]
    check_distinct(resolved, "files that are read and written", "paths")


def _in_a_line(error: Exception) -> str:
    """Write the message of an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename,) if name is not None]
        text = ": ".join([*names, error.strerror])
    else:
        text = str(error.args[0] if error.args else error)
    return printable(" ".join(text.split()))
