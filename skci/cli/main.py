"""Entry point of the command line, which reports errors in one line."""

import io
import os
import shlex
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from skci._validation import check_distinct, printable
from skci.cli.arguments import options_for, parser
from skci.cli.commands import COMMANDS

_WRONG, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141
_ERRORS = OSError, ImportError, KeyError, MemoryError, TypeError, ValueError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Command-line arguments. Defaults to the arguments of the process.

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
            status = arguments.run(arguments, **options_for(arguments, arguments.run))
            problem = ""
        except KeyboardInterrupt:
            status, problem = _INTERRUPTED, "interrupted"
        except BrokenPipeError:
            # The process that reads the output has ended. Prevent a second error when
            # the output is flushed at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        except _ERRORS as error:
            status, problem = _WRONG, f"error: {_in_a_line(error)}"
    texts = (str(warning.message) for warning in caught)
    messages = (line for text in texts for line in text.splitlines())
    for message in dict.fromkeys(messages):
        print(f"{command}: warning: {printable(message)}", file=sys.stderr)
    if problem:
        print(f"{command}: {problem}", file=sys.stderr)
    return status


def _check_paths(arguments: Namespace) -> None:
    """Check that all files that are read or written have different paths."""
    options = vars(arguments)
    paths = [*options.get("files", []), *options.get("tables", [])]
    paths += [options[name] for name in ("out", "html", "save") if options.get(name)]
    resolved = [str(Path(path).resolve()) for path in paths]
    check_distinct(resolved, "files that are read and written", "paths")


def _in_a_line(error: Exception) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename,) if name is not None]
        text = ": ".join([*names, error.strerror])
    else:
        text = str(error.args[0] if error.args else error)
    return printable(" ".join(text.split()))
