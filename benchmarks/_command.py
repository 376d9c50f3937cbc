"""What the benchmarks share as commands: options, where pages go, progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

HERE = Path(__file__).parent
_DOCS = HERE.parent / "docs" / "benchmarks"


def parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser of the options that every benchmark has."""
    own = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    own.add_argument("--quick", action="store_true", help="seconds, rough, no page")
    own.add_argument("--output", type=Path, help="folder of the page, that of the docs")
    return own


def page_folder(options: argparse.Namespace) -> Path | None:
    """Make the folder of the page; a quick run writes one only where it is told to."""
    folder: Path | None = options.output or (None if options.quick else _DOCS)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def progress(parts: Iterable[T], total: int, name: str) -> Iterator[T]:
    """Show a bar of what is done."""
    for done, part in enumerate(parts, 1):
        bar = "#" * (40 * done // total)
        end = "\n" if done == total else ""
        text = f"\r{name} [{bar:<40}] {done} of {total}"
        print(text, end=end, file=sys.stderr, flush=True)
        yield part
