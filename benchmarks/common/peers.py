"""Other software, where it is installed."""

from __future__ import annotations

import contextlib
import subprocess
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def installed(package: str) -> Any:
    """Import a package; None if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        return None


def with_version(package: str) -> str:
    """Name a package with its version, if it has one."""
    with contextlib.suppress(PackageNotFoundError):
        return f"{package} {version(package)}"
    return package


def run_r(code: str, stdin: str = "") -> str:
    """Run an R program and return its output."""
    command = ["Rscript", "--vanilla", "-e", code]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


@cache
def r_version(package: str) -> str | None:
    """Version of an R package; None if it or R is not installed."""
    try:
        return run_r(f'cat(as.character(packageVersion("{package}")))')
    except (OSError, subprocess.CalledProcessError):
        return None
