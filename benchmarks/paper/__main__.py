"""The simulation studies of Yuan and Jiang, repeated with skci.

    python -m benchmarks.paper [--quick] [--data FOLDER]

FOLDER holds ``abalone.data`` and ``letter-recognition.data`` of the UCI Machine
Learning Repository; without --data they are fetched from OpenML.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks.common.command import page_folder, parser, progress, sizes
from benchmarks.common.pages import show, write_page
from benchmarks.paper import page, published
from benchmarks.paper.studies import Study, concatenated, model_a, model_b, model_c

_CHUNK = 100


def main() -> None:
    command = parser("paper", __doc__, simulates=True, data=True)
    command.add_argument("--simulations", type=int, help="10,000 by default")
    options = command.parse_args()
    size = sizes(options.quick, points=(1_000_000, 20_000), draws=(10_000, 200))
    studies = model_a(size.points)
    if not options.quick:
        studies += with_data(options.data)
    results = simulate(
        studies, options.simulations or size.draws, options.jobs, options.seed
    )
    sections = [*published.sections(results), *page.sections(results)]
    show(*sections)
    if output := page_folder(options):
        page.figure(results, output / "paper.png")
        blocks = [page.INTRODUCTION, page.FIGURE, *sections]
        title = "The paper's simulations"
        write_page(output / "paper.rst", "paper", title, *blocks)


def with_data(folder: Path | None) -> Iterator[Study]:
    """Studies on data sets, as far as these are available."""
    for study in (model_b, model_c):
        try:
            yield study(folder)
        except OSError as error:
            print(
                f"{study.__name__} is left out: {error}\nGive the folder of the UCI "
                "files by --data, or a network to fetch them from OpenML.",
                file=sys.stderr,
            )


def simulate(
    studies: list[Study], draws: int, jobs: int, seed: int
) -> list[page.Result]:
    """Draw test sets in chunks; results do not depend on the number of processes."""
    chunks = [min(_CHUNK, draws - k) for k in range(0, draws, _CHUNK)]
    tasks = [
        delayed(study.draw)(chunk, seed=[number, k, seed])
        for number, study in enumerate(studies)
        for k, chunk in enumerate(chunks)
    ]
    done = Parallel(jobs, return_as="generator")(tasks)
    done = progress(done, len(tasks), "simulated")
    return [
        page.Result(study, concatenated(islice(done, len(chunks)))) for study in studies
    ]


if __name__ == "__main__":
    main()
