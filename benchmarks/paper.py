"""The simulation studies of Yuan and Jiang's paper, repeated with skci.

    python benchmarks/paper.py --data FOLDER

FOLDER holds ``abalone.data`` and ``letter-recognition.data`` of the UCI Machine
Learning Repository; without --data they are fetched from OpenML. The tables are printed
and, unless --quick is given without --output, written to ``paper.rst`` in the output
folder, with a picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from _command import page_folder, parser, progress
from _results import Result, page, picture, text
from _studies import Study, abalone, joined, letter, model_a
from joblib import Parallel, delayed

_CHUNK = 100


def main() -> None:
    own = parser(__doc__)
    own.add_argument("--data", type=Path, help="folder of the two files")
    own.add_argument("--simulations", type=int, help="10,000 by default")
    own.add_argument("--jobs", type=int, default=-1, help="processes, all by default")
    options = own.parse_args()
    if options.quick:
        studies = model_a(points=20_000)
    else:
        studies = [*model_a(points=1_000_000), *with_data(options.data)]
    simulations = options.simulations or (200 if options.quick else 10_000)
    results = simulated(studies, simulations, options.jobs)
    print(text(results))
    if output := page_folder(options):
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
    done = progress(
        Parallel(jobs, return_as="generator")(tasks), len(tasks), "simulated"
    )
    return [Result(study, joined(islice(done, len(sizes)))) for study in studies]


if __name__ == "__main__":
    main()
