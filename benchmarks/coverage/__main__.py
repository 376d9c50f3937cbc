"""Do the intervals cover?

    python -m benchmarks.coverage [--quick] [page ...]

Samples are drawn from known populations, and it is counted how often the intervals
cover the true values, on the pages that are named, or on all; "importance" prints the
tables of its page. Results are cached in the folder --work, so that a
stopped run resumes as long as the code is the same.
"""

from importlib import import_module

from benchmarks.common.command import parser, run
from benchmarks.common.pages import present
from benchmarks.coverage.harness import Simulator

_PAGES = (
    *("coverage", "chapters", "decisions", "small_samples", "unequal", "warned"),
    *("leaderboard", "bounded_grades", "votes", "partial_truth", "labels_saved"),
    *("new_metrics", "new_metrics_items", "new_metrics_rankings"),
    *("new_metrics_survival", "censored", "standard_errors", "runs", "designs"),
    *("gate", "methods", "importance", "cross_validation", "uplift", "target"),
    *("forecasts", "sequential"),
)
_OTHERWISE = {"coverage": "labels", "new_metrics": "clinical"}
PAGES = {
    page: _OTHERWISE.get(page, page.removeprefix("new_metrics_")) for page in _PAGES
}
"""Module that has the tables of a page."""


def main():
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
    run(main)
