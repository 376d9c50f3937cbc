"""The simulation studies of Yuan and Jiang's paper, repeated with skci.

    python benchmarks/paper.py --data FOLDER

FOLDER holds ``abalone.data`` and ``letter-recognition.data`` of the UCI Machine
Learning Repository; without --data they are fetched from OpenML. The tables are printed
and, unless --quick is given without --output, written to ``paper.rst`` in the output
folder, with a picture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from _results import Result, page, picture, text
from _studies import Study, abalone, joined, letter, model_a
from joblib import Parallel, delayed

T = TypeVar("T")

_DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"
_CHUNK = 100


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the two files")
    parser.add_argument("--simulations", type=int, help="10,000 by default")
    parser.add_argument("--quick", action="store_true", help="seconds, model A only")
    parser.add_argument("--output", type=Path, help=f"folder, {_DOCS.name} by default")
    parser.add_argument(
        "--jobs", type=int, default=-1, help="processes, all by default"
    )
    options = parser.parse_args()
    if options.quick:
        studies = model_a(points=20_000)
    else:
        studies = [*model_a(points=1_000_000), *with_data(options.data)]
    simulations = options.simulations or (200 if options.quick else 10_000)
    results = simulated(studies, simulations, options.jobs)
    print(text(results))
    output = options.output or (None if options.quick else _DOCS)
    if output:
        output.mkdir(parents=True, exist_ok=True)
        (output / "paper.rst").write_text(page(results), encoding="utf-8")
        picture(results, output / "paper.png")


def with_data(folder: Path | None) -> Iterator[Study]:
    """Make the studies whose data are there; say what is left out."""
    for study in (abalone, letter):
        try:
            yield from study(folder)
        except OSError as error:
            print(
                f"{study.__name__} is left out: {error}\nGive the folder of the UCI "
                "files by --data, or a network to fetch them from OpenML.",
                file=sys.stderr,
            )


def simulated(studies: list[Study], simulations: int, jobs: int) -> list[Result]:
    """Draw test sets in chunks, which are the same on any number of processes."""
    sizes = [min(_CHUNK, simulations - k) for k in range(0, simulations, _CHUNK)]
    tasks = [
        delayed(study.draw)(size, seed=[number, chunk])
        for number, study in enumerate(studies)
        for chunk, size in enumerate(sizes)
    ]
    done = progress(Parallel(jobs, return_as="generator")(tasks), len(tasks))
    return [Result(study, joined(islice(done, len(sizes)))) for study in studies]


def progress(parts: Iterable[T], total: int) -> Iterator[T]:
    """Show a bar of what is done."""
    for done, part in enumerate(parts, 1):
        bar = "#" * (40 * done // total)
        end = "\n" if done == total else ""
        print(f"\r[{bar:<40}] {done} of {total}", end=end, file=sys.stderr, flush=True)
        yield part


if __name__ == "__main__":
    main()
