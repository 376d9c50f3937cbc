"""Command-line options, sample sizes and progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

T = TypeVar("T")

Sizes = SimpleNamespace
"""Sizes by name."""

BENCHMARKS = Path(__file__).parents[1]
DOCS = BENCHMARKS.parent / "docs" / "benchmarks"


def parser(
    name: str, description: str | None, *, simulates: bool = False, data: bool = False
) -> argparse.ArgumentParser:
    """Make a parser of the options that benchmarks share.

    Parameters
    ----------
    name : str
        Name of the folder.
    description : str
    simulates : bool
        Whether to add the options of simulations.
    data : bool
        Whether to add ``--data``.
    """
    options = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--quick", action="store_true", help="few samples, and no page by default")
    add("--output", type=Path, help=f"folder of the pages, {DOCS} by default")
    if simulates:
        add("--jobs", type=int, default=-1, help="processes, all by default")
        add("--seed", type=int, default=0)
        add("--draws", type=int, help="samples of each setting, in place of its own")
        add("--work", type=Path, help="folder of cached results")
    if data:
        add("--data", type=Path, help="folder of data that are not in the checkout")
    return options


def page_folder(options: argparse.Namespace) -> Path | None:
    """Make the folder of the pages; None for a quick run without --output."""
    folder: Path | None = options.output or (None if options.quick else DOCS)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def sizes(quick: bool, **pairs: tuple[Any, Any]) -> Sizes:
    """Choose between the full and the quick size of everything."""
    return Sizes(**{name: pair[quick] for name, pair in pairs.items()})


def progress(results: Iterable[T], total: int, name: str) -> Iterator[T]:
    """Show a progress bar on the standard error."""
    for done, result in enumerate(results, 1):
        bar = "#" * (40 * done // total)
        end = "\n" if done == total else ""
        text = f"\r{name} [{bar:<40}] {done} of {total}"
        print(text, end=end, file=sys.stderr, flush=True)
        yield result
