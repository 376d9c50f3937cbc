"""R, where it is installed."""

from __future__ import annotations

import subprocess
from functools import cache


def run_r(code: str, stdin: str = "") -> str:
    """Run a program and return what it prints."""
    command = ["Rscript", "--vanilla", "-e", code]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


@cache
def r_version(package: str) -> str | None:
    """Version of a package; None if it or R is not there."""
    try:
        return run_r(f'cat(as.character(packageVersion("{package}")))')
    except (OSError, subprocess.CalledProcessError):
        return None
