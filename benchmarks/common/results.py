"""Simulation results: computed in parallel, cached on disk, summarised."""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

import skci
from benchmarks.common.command import BENCHMARKS, progress

Record = dict[str, Any]


class Simulation(Protocol):
    """A dataclass that says what is to be simulated."""

    @property
    def cost(self) -> float:
        """Relative computing time; the longest simulations start first."""

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Run the simulation."""


@dataclass(frozen=True)
class Runner:
    """Runs simulations and caches their results, so that a stopped run can resume.

    Parameters
    ----------
    folder : Path or None
        Folder of the cache; None caches nothing. A result is identified by its
        simulation, the seed and the code.
    seed : int
    jobs : int
        Number of processes.
    modules : sequence of str
        Benchmark modules, as paths below ``benchmarks``, that the results depend on
        beside skci. Changing one invalidates the cache.
    """

    folder: Path | None
    seed: int
    jobs: int
    modules: Sequence[str]

    def run(self, simulations: Sequence[Simulation], name: str) -> Records:
        """Run what is not in the cache; the records are in the order of completion."""
        code = self._fingerprint()
        longest_first = sorted(simulations, key=lambda each: -each.cost)
        results = Parallel(n_jobs=self.jobs, return_as="generator_unordered")(
            delayed(self._records)(simulation, code) for simulation in longest_first
        )
        done = progress(results, len(longest_first), name)
        return Records(record for records in done for record in records)

    def _records(self, simulation: Simulation, code: str) -> list[Record]:
        fields: Any = asdict(simulation)  # type: ignore[call-overload]
        key = json.dumps([type(simulation).__name__, fields, self.seed], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()
        rng = np.random.default_rng(int(digest[:16], 16))
        if self.folder is None:
            return simulation.records(rng)
        file = self.folder / code / f"{digest[:16]}.json"
        if file.exists():
            cached: list[Record] = json.loads(file.read_text(encoding="utf-8"))
            return cached
        records = simulation.records(rng)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(records), encoding="utf-8")
        unfinished.replace(file)
        return records

    def _fingerprint(self) -> str:
        modules = [BENCHMARKS / f"{module}.py" for module in self.modules]
        package = Path(skci.__file__).parent.rglob("*.py")
        digest = hashlib.sha256()
        for file in sorted([*modules, *package]):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]


class Records:
    """Records of simulated coverage and their summaries."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __add__(self, other: Records) -> Records:
        return Records([*self, *other])

    def where(self, **values: Any) -> Records:
        """Select the records with these values."""
        return Records(
            each
            for each in self.records
            if all(each[key] == value for key, value in values.items())
        )

    def unique(self, key: str) -> list[Any]:
        """Distinct values of a key, in order of appearance."""
        return list(dict.fromkeys(self.column(key)))

    def column(self, key: str) -> list[Any]:
        return [each[key] for each in self.records]

    def mean(self, key: str = "coverage") -> float:
        return fmean(self.column(key))

    def lowest(self, number: int, key: str = "coverage") -> list[Record]:
        """The records with the smallest values of a key."""
        return heapq.nsmallest(number, self.records, key=lambda each: each[key])

    @property
    def minimum(self) -> float:
        """Smallest coverage."""
        return float(min(self.column("coverage")))

    @property
    def error(self) -> float:
        """Monte Carlo error of the smallest coverage."""
        (lowest,) = self.lowest(1)
        return monte_carlo_error(lowest["coverage"], lowest["draws"])

    @property
    def mean_absolute_error(self) -> float:
        """Mean absolute difference between coverage and nominal level."""
        return fmean(
            abs(each["coverage"] - each["confidence_level"]) for each in self.records
        )

    @property
    def relative_width(self) -> float:
        """Geometric mean of the widths relative to Pearson's."""
        ratios = np.array(self.column("relative_width"))
        return float(np.exp(np.log(ratios[ratios > 0]).mean()))


def monte_carlo_error(share: float, draws: int) -> float:
    """Standard error of a simulated share."""
    return math.sqrt(share * (1 - share) / draws)
