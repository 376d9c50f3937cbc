"""Command-line options, sample sizes and progress."""

import argparse
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

from threadpoolctl import threadpool_limits

BENCHMARKS = Path(__file__).parents[1]
DOCS = BENCHMARKS.parent / "docs" / "benchmarks"


def parser(name, description, *, simulates=False, data=False):
    """Make a parser with common options, and options for simulations and data."""
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


def run(main, threads=None):
    """Run a command without warnings, and exit with the status that it returns."""
    with warnings.catch_warnings(), threadpool_limits(threads):
        warnings.simplefilter("ignore")
        sys.exit(main())


def sizes(quick, **pairs):
    """Choose between the full and the quick size of everything."""
    return SimpleNamespace(**{name: pair[quick] for name, pair in pairs.items()})


def progress(results, total, name):
    """Show a progress bar on the standard error."""
    for done, result in enumerate(results, 1):
        bar = "#" * (40 * done // total)
        end = "\n" if done == total else ""
        text = f"\r{name} [{bar:<40}] {done} of {total}"
        print(text, end=end, file=sys.stderr, flush=True)
        yield result
