"""Do the intervals cover?

    python -m benchmarks.coverage [--quick] [page ...]

Samples are drawn from known populations, and it is counted how often the intervals
cover the true values, on the pages that are named, or on all; "importance" prints the
tables of its page. Results are cached in the folder --work, so that a
stopped run resumes as long as the code is the same.
"""

from __future__ import annotations

import warnings
from importlib import import_module

from benchmarks.common.command import parser
from benchmarks.common.pages import present
from benchmarks.coverage.harness import Simulator

PAGES = {
    "coverage": "labels",
    "chapters": "chapters",
    "decisions": "decisions",
    "small_samples": "small_samples",
    "unequal": "unequal",
    "warned": "warned",
    "leaderboard": "leaderboard",
    "bounded_grades": "bounded_grades",
    "votes": "votes",
    "partial_truth": "partial_truth",
    "labels_saved": "labels_saved",
    "new_metrics": "clinical",
    "new_metrics_items": "items",
    "new_metrics_rankings": "rankings",
    "new_metrics_survival": "survival",
    "censored": "censored",
    "standard_errors": "standard_errors",
    "runs": "runs",
    "designs": "designs",
    "gate": "gate",
    "methods": "methods",
    "importance": "importance",
    "cross_validation": "cross_validation",
    "uplift": "uplift",
    "target": "target",
    "forecasts": "forecasts",
    "sequential": "sequential",
}
"""Module that has the tables of a page."""


def main() -> None:
    command = parser("coverage", __doc__, simulates=True)
    command.add_argument("pages", nargs="*", help=f"{', '.join(PAGES)}; all by default")
    options = command.parse_args()
    if unknown := set(options.pages).difference(PAGES):
        command.error(f"pages must be among {', '.join(PAGES)}, not {unknown.pop()}")
    simulate = Simulator.of(options)
    for page in options.pages or PAGES:
        module = import_module(f"benchmarks.coverage.{PAGES[page]}")
        present(options, f"{page}.rst", module.tables(simulate))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
