"""The entry point: runs a command and tells of what went wrong in one line."""

import os
import sys
import warnings
from collections.abc import Sequence

from skci._validation import printable
from skci.cli.arguments import parser
from skci.cli.commands import COMMANDS

_WRONG, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141


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
    arguments = parser(COMMANDS).parse_args(argv)
    command = f"skci {arguments.command}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            status = arguments.run(arguments)
            problem = ""
        except KeyboardInterrupt:
            status, problem = _INTERRUPTED, "interrupted"
        except BrokenPipeError:
            # Nobody reads on, nor should the flush at exit fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        except (OSError, ImportError, KeyError, TypeError, ValueError) as error:
            status, problem = _WRONG, f"error: {_in_a_line(error)}"
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"{command}: warning: {printable(message)}", file=sys.stderr)
    if problem:
        print(f"{command}: {problem}", file=sys.stderr)
    return status


def _in_a_line(error: Exception) -> str:
    """Write the message of an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename,) if name is not None]
        text = ": ".join([*names, error.strerror])
    else:
        text = str(error.args[0] if error.args else error)
    return printable(" ".join(text.split()))
