"""Do the intervals cover?

    python -m benchmarks.coverage [--quick] [page ...]

Samples are drawn from known populations, and it is counted how often the intervals
cover the true values, on these pages: individual and joint intervals for labels
("coverage"), joint intervals for other data ("chapters"), comparisons ("decisions"),
small samples, by the default and by the former one ("small_samples"), weights and
clusters where errors are few ("unequal"), means, differences and ranks of many models
("leaderboard"), strengths of models from votes ("votes"), grades between 0 and 1
("bounded_grades"), rows of which few have a truth ("partial_truth"), labels that real
rows need ("labels_saved"), several training
seeds and readers ("runs"), two-way tables, time and suites of tasks ("designs"), word
error rates, BLEU and functions of rows ("new_metrics_items"), rankings and detections
("rankings"), clinical metrics ("new_metrics"), times to an event ("survival"), their
standard errors beside published ones and the bootstrap ("standard_errors"), verdicts
of pipelines ("gate"), the tables of the pages on theory and importance, which are
printed ("theory", "importance"), and models that are cross-validated
("cross_validation_default", and by all methods "cross_validation", which takes hours);
of the last four fewer samples by --draws.
Results are cached in the folder --work, so that a stopped run resumes as long as the
code is the same. With the folder --data of ``abalone.data`` and
``letter-recognition.data`` of the UCI Machine Learning Repository, "decisions" also
compares the models of the paper on them.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.common.command import BENCHMARKS, page_folder, parser
from benchmarks.coverage import (
    bounded_grades,
    certificate,
    chapters,
    cross_validation,
    cross_validation_default,
    decisions,
    designs,
    gate,
    importance,
    labels_saved,
    leaderboard,
    new_metrics,
    new_metrics_items,
    partial_truth,
    rankings,
    runs,
    small_samples,
    standard_errors,
    survival,
    theory,
    unequal,
    votes,
    warned,
)

PAGES = {
    "coverage": certificate.run,
    "chapters": chapters.run,
    "decisions": decisions.run,
    "small_samples": small_samples.run,
    "unequal": unequal.run,
    "warned": warned.run,
    "leaderboard": leaderboard.run,
    "bounded_grades": bounded_grades.run,
    "votes": votes.run,
    "partial_truth": partial_truth.run,
    "labels_saved": labels_saved.run,
    "new_metrics": new_metrics.run,
    "new_metrics_items": new_metrics_items.run,
    "rankings": rankings.run,
    "survival": survival.run,
    "standard_errors": standard_errors.run,
    "runs": runs.run,
    "designs": designs.run,
    "gate": gate.run,
    "theory": theory.run,
    "importance": importance.run,
    "cross_validation_default": cross_validation_default.run,
    "cross_validation": cross_validation.run,
}


def main() -> None:
    command = parser("coverage", __doc__, simulates=True, data=True)
    command.add_argument("pages", nargs="*", help=f"{', '.join(PAGES)}; all by default")
    command.add_argument(
        "--work", type=Path, help="folder of cached results and tables"
    )
    command.add_argument(
        "--draws",
        type=int,
        help="samples of each setting of theory, importance and cross_validation",
    )
    options = command.parse_args()
    if unknown := set(options.pages).difference(PAGES):
        command.error(f"pages must be among {', '.join(PAGES)}, not {unknown.pop()}")
    output = page_folder(options)
    root = options.work or (None if options.quick else BENCHMARKS / "parts")
    for page in options.pages or PAGES:
        PAGES[page](options, root and root / page, output)


if __name__ == "__main__":
    main()
