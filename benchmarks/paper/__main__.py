"""The simulation studies of Yuan and Jiang, repeated with skci.

    python -m benchmarks.paper [--quick] [--data FOLDER]

FOLDER holds ``abalone.data`` and ``letter-recognition.data`` of the UCI Machine
Learning Repository; without --data they are fetched from OpenML.
"""

import sys

from benchmarks.common.command import parser, run
from benchmarks.common.pages import present
from benchmarks.coverage.harness import Simulator
from benchmarks.paper.studies import model_a, model_b, model_c
from benchmarks.paper.tables import Result, tables

_POINTS, _QUICK_POINTS = 1_000_000, 20_000


def main():
    options = parser("paper", __doc__, simulates=True, data=True).parse_args()
    studies = model_a(_QUICK_POINTS if options.quick else _POINTS)
    if not options.quick:
        studies += with_data(options.data)
    simulate = Simulator.of(options, "paper")
    found = simulate([study.setting for study in studies], 10_000)
    results = [Result(study, found.where(study=study.title)) for study in studies]
    present(options, "paper.rst", tables(results))


def with_data(folder):
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


if __name__ == "__main__":
    run(main)
