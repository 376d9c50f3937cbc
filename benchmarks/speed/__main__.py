"""How fast is skci?

    python -m benchmarks.speed [--quick]

Everything is timed side by side with something that users know, alternately in one
process. Claim ratios only: the milliseconds were measured on one machine.
"""

import os
import platform

from benchmarks.common.command import parser, run, sizes
from benchmarks.common.pages import present
from benchmarks.common.peers import with_version
from benchmarks.speed.comparisons import goals, table
from benchmarks.speed.tasks import (
    bootstraps,
    cross_validations,
    many_models,
    point_estimates,
)

_SECTIONS = {
    "Intervals and point estimates": point_estimates,
    "A joint report and the bootstrap": bootstraps,
    "Reports of many models": many_models,
    "Cross-validation": cross_validations,
}


def main():
    options = parser("speed", __doc__).parse_args()
    size = sizes(
        options.quick,
        rows=(1_000_000, 10_000),
        repeats=(31, 3),
        few_repeats=(7, 1),
        resamples=(20, 2),  # timed, in the place of 1,000
        models=(60, 4),
        columns=((20, 100, 500), (20,)),  # of the cross-validated rows
    )
    rows = {title: list(measure(size)) for title, measure in _SECTIONS.items()}
    with_goal = goals(row for of_section in rows.values() for row in of_section)
    tables = {title: [table(of_section)] for title, of_section in rows.items()}
    present(options, "speed.rst", {"": [table(with_goal)], **tables})
    named = [with_version(each) for each in ("skci", "scikit-learn", "numpy", "scipy")]
    versions = ", ".join([f"Python {platform.python_version()}", *named])
    print(f"\n{versions}; {os.cpu_count()} cores.")


if __name__ == "__main__":
    run(main, threads=1)
