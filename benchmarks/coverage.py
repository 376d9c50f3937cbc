"""How often do the intervals cover? ``python benchmarks/coverage.py [--quick]``

The certificate: tables are drawn from known populations, each interval is computed,
and it is counted how often it holds the truth. What is done is kept in the folder
--work, so that a run that was stopped goes on where it was. The tables and pictures
for the documentation go to --output.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _batch import Batch, disagreements, methods_of
from _certificate import write
from _settings import (
    JointSetting,
    Setting,
    distinct_tables,
    joint_settings,
    main_grid,
    stress_set,
)
from joblib import Parallel, delayed
from numpy.typing import NDArray

import skci
from skci._functionals import CellFunctional
from skci._measures import MEASURES
from skci._outcomes import OutcomeTable
from skci.evaluation import _Counted, _Options

Array = NDArray[Any]
Record = dict[str, Any]

LEVELS = (0.9, 0.95, 0.99)
METRICS = (
    "accuracy",
    "precision",
    "recall",
    "specificity",
    "f0.5",
    "f1",
    "f2",
    "jaccard",
    "balanced_accuracy",
    "matthews_corrcoef",
    "cohen_kappa",
    "g_mean",
    "lift",
    "cosine",
)
JOINT_METHODS = ("delta", "blurred", "score")
JOINT_LEVEL = 0.95

_HERE = Path(__file__).parent
_DOCS = _HERE.parent / "docs" / "benchmarks"


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    draws: int
    lengths: int
    """Draws whose lengths are compared with Pearson's."""
    stress: int
    """Settings of the stress set."""
    stress_draws: int
    joint_draws: int
    every: int = 1
    """Only every so many of the settings are simulated."""


FULL = Effort(
    draws=10_000, lengths=150, stress=150, stress_draws=5_000, joint_draws=1_000
)
QUICK = Effort(
    draws=200, lengths=20, stress=30, stress_draws=200, joint_draws=10, every=30
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough")
    parser.add_argument(
        "--jobs", type=int, default=-1, help="processes, all by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="folder of what is already done")
    parser.add_argument("--output", type=Path, help=f"folder, {_DOCS.name} by default")
    parser.add_argument(
        "--only", choices=("single", "joint"), help="simulate only these"
    )
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    work = options.work or (None if options.quick else _HERE / "work" / "coverage")

    check_batch(options.seed)
    single = [*main_grid(), *stress_set(effort.stress, options.seed)][:: effort.every]
    joint = [*joint_settings()][:: effort.every]
    simulate = partial(_simulated, effort=effort, seed=options.seed, work=work)
    records: dict[str, list[Record]] = {}
    for name, function, settings in (
        ("single", simulate_setting, single),
        ("joint", simulate_joint, joint),
    ):
        if options.only in (None, name):
            records[name] = in_parallel(
                partial(simulate, function), settings, options.jobs, name
            )
    if len(records) < 2:
        return
    if work is not None:
        for name, found in records.items():
            write_table(found, work / f"{name}.csv")
    output = options.output or (None if options.quick else _DOCS)
    write(records["single"], records["joint"], asdict(effort), output)


def in_parallel(
    task: Callable[[Any], list[Record]], settings: Sequence[Any], jobs: int, name: str
) -> list[Record]:
    """Do a task for all settings, the slow ones first, and show how far it is."""
    order = sorted(settings, key=lambda setting: -setting.n)
    done = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(task)(setting) for setting in order
    )
    records: list[Record] = []
    for number, part in enumerate(done, 1):
        records += part
        print(f"\r{name}: {number} of {len(order)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return records


def _simulated(
    function: Callable[..., list[Record]],
    setting: Any,
    *,
    effort: Effort,
    seed: int,
    work: Path | None,
) -> list[Record]:
    """Simulate a setting, or read what an earlier run has found."""
    key = json.dumps([asdict(setting), asdict(effort), seed], sort_keys=True)
    digest = hashlib.sha256(key.encode()).hexdigest()
    rng = np.random.default_rng(int(digest[:16], 16))
    if work is None:
        return function(setting, effort, rng)
    file = work / f"{digest[:16]}.json"
    if file.exists():
        found: list[Record] = json.loads(file.read_text(encoding="utf-8"))
        return found
    records = function(setting, effort, rng)
    work.mkdir(parents=True, exist_ok=True)
    partial_file = file.with_suffix(f".{os.getpid()}")
    partial_file.write_text(json.dumps(records), encoding="utf-8")
    partial_file.replace(file)
    return records


# --------------------------------------------------------------------------------------
# One rule
# --------------------------------------------------------------------------------------


def simulate_setting(setting: Setting, effort: Effort, rng: Any) -> list[Record]:
    """Coverage of every metric, method and level in one setting."""
    draws = effort.draws if setting.chapter == "main" else effort.stress_draws
    tables, times = distinct_tables(setting, draws, rng)
    records = []
    for metric in METRICS:
        functional = CellFunctional(MEASURES[metric].function)
        truth = float(functional.estimate(setting.cells))
        defined = ~np.isnan(functional.estimate(tables.astype(float)))
        often = times[defined]
        if not len(often):
            continue
        batch = Batch(metric, tables[defined], truth)
        some = batch.take(rng.choice(len(often), effort.lengths, p=often / often.sum()))
        for level in LEVELS:
            yardstick = mean_length(some.pearson_limits(level))
            for method in methods_of(metric):
                held = batch.holds(method, level)
                limits = some.limits(method, level)
                records.append(
                    {
                        "chapter": setting.chapter,
                        "metric": metric,
                        "n": setting.n,
                        "prevalence": setting.prevalence,
                        "miss_rate": setting.miss,
                        "false_positive_rate": setting.alarm,
                        "quality": setting.quality,
                        "method": method,
                        "confidence_level": level,
                        "truth": truth,
                        "draws": int(often.sum()),
                        "coverage": float(often[held].sum() / often.sum()),
                        **faults(limits, batch.measure.bounds),
                        "relative_length": mean_length(limits) / yardstick,
                    }
                )
    return records


def faults(limits: Array, bounds: tuple[float, float]) -> Record:
    """Share of the limits that have no width, and of those that leave the range."""
    low, high = limits.T
    return {
        "zero_width": float((~(high > low)).mean()),
        "outside": float(((low < bounds[0]) | (high > bounds[1])).mean()),
    }


def mean_length(limits: Array) -> float:
    """Mean of the lengths that are finite."""
    lengths = np.diff(limits)
    finite = lengths[np.isfinite(lengths)]
    return float(finite.mean()) if len(finite) else np.nan


def check_batch(seed: int) -> None:
    """Stop if a user would get other intervals than are certified here."""
    rng = np.random.default_rng(seed)
    wrong = []
    for setting in [*main_grid()][::17]:
        tables, _ = distinct_tables(setting, 3, rng)
        for metric in METRICS:
            functional = CellFunctional(MEASURES[metric].function)
            truth = float(functional.estimate(setting.cells))
            defined = ~np.isnan(functional.estimate(tables.astype(float)))
            batch = Batch(metric, tables[defined], truth)
            for method in methods_of(metric):
                wrong += disagreements(batch, method, level=0.95)
    if wrong:
        raise SystemExit("\n".join(wrong))


# --------------------------------------------------------------------------------------
# Several rules
# --------------------------------------------------------------------------------------


def simulate_joint(setting: JointSetting, effort: Effort, rng: Any) -> list[Record]:
    """How often all intervals of a report hold at once, by method."""
    outcomes, p = setting.outcomes()
    rules = [f"rule {k}" for k in range(setting.rules)]
    truths = report_of(outcomes, 1e9 * p, rules, setting, "delta").estimates
    held = dict.fromkeys(JOINT_METHODS, 0)
    for counts in rng.multinomial(setting.n, p, size=effort.joint_draws):
        seen = counts > 0
        for method in JOINT_METHODS:
            report = report_of(outcomes[seen], counts[seen], rules, setting, method)
            # The joint intervals are the wider ones: what individual ones hold needs
            # no critical value.
            held[method] += holds(report.individual(), truths) or holds(report, truths)
    return [
        {
            "n": setting.n,
            "prevalence": setting.prevalence,
            "quality": setting.quality,
            "rules": setting.rules,
            "metrics": " ".join(setting.metrics),
            "method": method,
            "confidence_level": JOINT_LEVEL,
            "draws": effort.joint_draws,
            "coverage": held[method] / effort.joint_draws,
        }
        for method in JOINT_METHODS
    ]


def report_of(
    outcomes: Array, counts: Array, rules: list[str], setting: JointSetting, method: str
) -> skci.JointReport:
    """Make the report of outcomes that were counted."""
    options = _Options(list(setting.metrics), JOINT_LEVEL, method, None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return options.report(_Counted(OutcomeTable(outcomes, counts), rules, {}))


def holds(report: skci.JointReport, truths: Array) -> bool:
    """Whether all intervals of a report hold their truths."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = np.array([report[key].confidence_interval() for key in report]).T
    return bool(((low <= truths) & (truths <= high)).all())


def write_table(records: Sequence[Record], file: Path) -> None:
    """Write a tidy table, a line for each record."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
