"""How often do the intervals cover?

    python benchmarks/coverage.py [--quick]

The certificate: tables are drawn from known populations, every interval is computed,
and it is counted how often it holds the truth. What is done is kept in the folder
--work, so that a run that was stopped goes on where it was, as long as the code is the
same. Tidy tables go there, too; the page and its pictures go to --output.
"""

from __future__ import annotations

import csv
import heapq
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from _certificate import write
from _command import HERE, page_folder, parser
from _coverage import LEVELS, JointPart, SinglePart, check_batch
from _resume import Record, Shelf
from _sample import Sample
from _settings import joint_settings, main_grid, stress_set


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    draws: int
    stress: int
    """Settings of the stress set."""
    stress_draws: int
    joint_draws: int
    worst: int
    """Settings in which "score" covers least, at each level, that are drawn afresh."""
    afresh_draws: int
    joint_worst: int
    joint_afresh_draws: int
    every: int = 1
    """Only every so many of the settings are simulated."""


FULL = Effort(
    draws=20_000,
    stress=150,
    stress_draws=5_000,
    joint_draws=1_000,
    worst=10,
    afresh_draws=200_000,
    joint_worst=5,
    joint_afresh_draws=20_000,
)
QUICK = Effort(
    draws=200,
    stress=30,
    stress_draws=200,
    joint_draws=10,
    worst=1,
    afresh_draws=400,
    joint_worst=1,
    joint_afresh_draws=20,
    every=30,
)


def main() -> None:
    own = parser(__doc__)
    own.add_argument("--jobs", type=int, default=-1, help="processes, all by default")
    own.add_argument("--seed", type=int, default=0)
    own.add_argument("--work", type=Path, help="folder of what is already done")
    options = own.parse_args()
    effort = QUICK if options.quick else FULL
    work = options.work or (None if options.quick else HERE / "parts" / "coverage")
    shelf = Shelf(work, options.seed, ("_coverage", "_batch", "_reports", "_settings"))

    check_batch(options.seed)
    main_parts = [SinglePart("main", own, effort.draws) for own in main_grid()]
    stress = stress_set(effort.stress, options.seed)
    stress_parts = [SinglePart("stress", own, effort.stress_draws) for own in stress]
    parts = [*main_parts, *stress_parts][:: effort.every]
    single = shelf.complete(parts, options.jobs, "one rule")
    parts = worst_again(single, parts, effort)
    single += shelf.complete(parts, options.jobs, "its worst settings")

    joint_parts = [
        JointPart("grid", own, effort.joint_draws) for own in joint_settings()
    ]
    joint_parts = joint_parts[:: effort.every]
    joint = shelf.complete(joint_parts, options.jobs, "several rules")
    joint_parts = joint_worst_again(joint, joint_parts, effort)
    joint += shelf.complete(joint_parts, options.jobs, "their worst settings")

    if work is not None:
        write_table(single, work / "single.csv")
        write_table(joint, work / "joint.csv")
    write(single, joint, asdict(effort), page_folder(options))


def worst_again(
    records: Sequence[Record], parts: Sequence[SinglePart], effort: Effort
) -> list[SinglePart]:
    """Draw the worst settings and metrics of "score" on the main grid afresh.

    The least of many coverages is as low as its settings and chance make it; only new
    samples tell what its settings do.
    """
    setting_of = {json.dumps(asdict(part.setting)): part.setting for part in parts}
    worst = {}
    for level in LEVELS:
        own = Sample(records).where(
            chapter="main", method="score", confidence_level=level
        )
        for each in heapq.nsmallest(effort.worst, own.records, key=_coverage):
            worst[each["setting"], each["metric"]] = None
    return [
        SinglePart(
            "afresh", setting_of[key], effort.afresh_draws, (metric,), ("score",)
        )
        for key, metric in worst
    ]


def joint_worst_again(
    records: Sequence[Record], parts: Sequence[JointPart], effort: Effort
) -> list[JointPart]:
    """Draw the worst settings of joint score intervals afresh."""
    part_of = {json.dumps(asdict(part.setting)): part for part in parts}
    own = Sample(records).where(method="score")
    return [
        replace(
            part_of[each["setting"]],
            chapter="afresh",
            draws=effort.joint_afresh_draws,
            methods=("score",),
        )
        for each in heapq.nsmallest(effort.joint_worst, own.records, key=_coverage)
    ]


def _coverage(record: Record) -> float:
    return float(record["coverage"])


def write_table(records: Sequence[Record], file: Path) -> None:
    """Write a tidy table, a line for each record."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
