"""Time and memory of metrics of numbers, from moments and from rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common.pages import Row
from benchmarks.common.processes import in_new_process, peak_of_process

CHUNK = 1_000_000
"""Rows of a chunk, fewer where there are fewer in all."""
_METRICS = ["mean_squared_error", "mean_absolute_error", "r2"]
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Summed:
    """A report on numbers that come in chunks, in a new process."""

    models: int
    n: int
    moments: bool
    updates: float
    """Processor time of all updates."""
    report: float
    """That of the report, with its limits and all differences."""
    memory: tuple[int, int]
    """Peak of the process after the first chunk and after all, in bytes."""


def add_up(models: int, n: int, moments: bool) -> Summed:
    """Report on n rows of some models in a new process."""
    return in_new_process(_add_up, models, n, moments)


def _add_up(models: int, n: int, moments: bool) -> Summed:
    rng, size = np.random.default_rng(0), min(CHUNK, n)
    y = rng.normal(size=size)
    predicted = {f"model {k}": y + rng.normal(size=size) for k in range(models)}
    accumulator = skci.JointAccumulator(_METRICS, moments=moments)
    with threadpool_limits(1):
        start = time.process_time()
        accumulator.update(y, predicted)
        first = peak_of_process()
        for _ in range(n // size - 1):
            accumulator.update(y, predicted)
        updated = time.process_time()
        report = accumulator.report()
        assert report.n_samples == n // size * size
        report.to_dict()
        if models > 1:
            report.differences().to_dict()
        done = time.process_time()
    peaks = first, peak_of_process()
    return Summed(models, n, moments, updated - start, done - updated, peaks)


def summed(results: list[Summed]) -> list[Row]:
    """Rows a second, time of the report, and memory, by what is kept."""
    return [
        {
            "rows": f"{each.n:,}",
            "models": str(each.models),
            "kept": "moments" if each.moments else "rows",
            "million rows a second": f"{each.n / each.updates / 1e6:.1f}",
            "report, seconds": f"{each.report:.1f}",
            "peak memory, first chunk, MiB": f"{each.memory[0] / _MEBIBYTE:.0f}",
            "all chunks, MiB": f"{each.memory[1] / _MEBIBYTE:.0f}",
        }
        for each in results
    ]
