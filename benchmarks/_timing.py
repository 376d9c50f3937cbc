"""Two ways of doing a thing, timed side by side.

Time is that of the processor, all threads together: what else the machine is doing
does not count, and nobody gains by using more cores.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

Task = Callable[[], Any]
Clock = Callable[[], float]

_SHORTEST = 5e-3
"""Seconds that a measurement lasts at least; shorter tasks are repeated within."""


@dataclass(frozen=True)
class Comparison:
    """Seconds of A and of B, in turns."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def median_a(self) -> float:
        return median(self.a)

    @property
    def median_b(self) -> float:
        return median(self.b)

    @property
    def ratio(self) -> float:
        """Median of A over that of B."""
        return self.median_a / self.median_b

    @property
    def spread(self) -> tuple[float, float]:
        """Quartiles of the ratios of A to the B that followed it."""
        pairwise = [a / b for a, b in zip(self.a, self.b, strict=True)]
        if len(pairwise) < 2:
            return pairwise[0], pairwise[0]
        low, _, high = quantiles(pairwise, n=4, method="inclusive")
        return low, high


def sidebyside(a: Task, b: Task, repeats: int) -> Comparison:
    """Time two tasks in turns (A B A B ...), after one call of each."""
    return in_turns(stopwatch(a), stopwatch(b), repeats)


def in_turns(a: Clock, b: Clock, repeats: int) -> Comparison:
    """Read two clocks in turns; each returns the seconds of what it has just done."""
    pairs = [(a(), b()) for _ in range(repeats)]
    first, second = zip(*pairs, strict=True)
    return Comparison(first, second)


def stopwatch(task: Task) -> Clock:
    """Make a clock that does a task, often enough to be timed, and returns seconds."""
    task()
    calls = max(1, round(_SHORTEST / seconds(task)))

    def clock() -> float:
        return seconds(task, calls)

    return clock


def seconds(task: Task, calls: int = 1) -> float:
    """Time a task."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(calls):
            task()
        return max(time.process_time() - start, 1e-9) / calls
    finally:
        if enabled:
            gc.enable()


def peak_memory(task: Task) -> int:
    """Bytes that a task allocates at most, beyond what there was before it."""
    task()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
