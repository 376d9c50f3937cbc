"""Timing of two tasks side by side, tables of such comparisons, and data for them.

Time is processor time over all threads, which depends little on other work on the
machine and does not reward the use of more cores.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import quantiles
from typing import Any

import numpy as np

from benchmarks.common import Array
from benchmarks.common.pages import yes

Task = Callable[[], Any]
Timer = Callable[[], float]

_SHORTEST = 5e-3
"""Minimum duration of a measurement, in seconds; shorter tasks are repeated."""


@dataclass(frozen=True)
class Comparison:
    """Seconds of A and B, measured alternately."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Shortest time of A over that of B, which other work disturbs least."""
        return min(self.a) / min(self.b)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Quartiles of the ratios of neighbouring measurements."""
        pairwise = [a / b for a, b in zip(self.a, self.b, strict=True)]
        if len(pairwise) < 2:
            return pairwise[0], pairwise[0]
        low, _, high = quantiles(pairwise, n=4, method="inclusive")
        return low, high


def side_by_side(a: Task, b: Task, repeats: int) -> Comparison:
    """Time two tasks alternately (A B A B ...), after one call of each."""
    return alternate(timer(a), timer(b), repeats)


def alternate(a: Timer, b: Timer, repeats: int) -> Comparison:
    """Call two timers alternately."""
    pairs = [(a(), b()) for _ in range(repeats)]
    first, second = zip(*pairs, strict=True)
    return Comparison(first, second)


def timer(task: Task) -> Timer:
    """Make a function that runs a task, often enough to be timed."""
    task()
    return partial(seconds, task, max(1, round(_SHORTEST / seconds(task))))


def seconds(task: Task, calls: int = 1) -> float:
    """Processor time of a task, per call."""
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
    """Peak number of bytes that a task allocates."""
    task()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Row:
    """A comparison, formatted."""

    task: str
    against: str = ""
    ratio: str = ""
    quartiles: str = ""
    goal: str = ""
    met: str = ""
    ours: str = ""
    theirs: str = ""
    error: str = ""
    their_error: str = ""


def goals(rows: Iterable[Row]) -> list[Row]:
    """Comparisons with a goal; for a limit, the time in place of the ratio."""
    details = ("quartiles", "ours", "theirs", "error", "their_error")
    empty = dict.fromkeys(details, "")
    return [
        replace(row, ratio=row.ratio or row.ours, **empty) for row in rows if row.goal
    ]


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Table of rows, without empty columns."""
    names = dict(zip(vars(Row("")), _COLUMNS, strict=True))
    used = [key for key in names if any(vars(row)[key] for row in rows)]
    return [{names[key]: vars(row)[key] for key in used} for row in rows]


_COLUMNS = (
    *("task", "compared with", "ratio", "quartiles", "goal", "met"),
    *("skci", "other", "error", "other's error"),
)


def compared(
    task: str,
    against: str,
    times: Comparison,
    *,
    goal: float | None = None,
) -> Row:
    """Row of a comparison; the goal is the largest ratio."""
    low, high = map(fraction, times.quartiles)
    return Row(
        task,
        against,
        fraction(times.ratio),
        f"{low} to {high}",
        "" if goal is None else fraction(goal),
        is_met(times.ratio, goal),
        duration(min(times.a)),
        duration(min(times.b)),
    )


def limited(task: str, seconds: float, goal: float | None = None) -> Row:
    """Row of a time with a limit but no comparison."""
    return Row(
        task,
        goal="" if goal is None else duration(goal),
        met=is_met(seconds, goal),
        ours=duration(seconds),
    )


def is_met(value: float, goal: float | None) -> str:
    return "" if goal is None else yes(value <= goal)


def fraction(ratio: float) -> str:
    """Format a ratio, as 1/x below a half."""
    if ratio > 0.5:
        return rounded(ratio)
    return f"1/{rounded(1 / ratio)}"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{rounded(1e3 * seconds)} ms"
    return f"{rounded(seconds)} s"


def mebibytes(size: float) -> str:
    return f"{rounded(size / 2**20)} MiB"


def rounded(value: float) -> str:
    """Round to two digits, or to three from 100 on."""
    digits = 2 if value < 99.5 else 3
    number = float(f"{value:.{digits}g}")
    return f"{number:,.0f}" if number >= 10 else f"{number:g}"


def labels(n: int, models: int = 1, dtype: Any = np.int64) -> tuple[Array, list[Array]]:
    """Random labels, and predictions of increasing error rate."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    rates = np.linspace(0.2, 0.3, models)
    predictions = [truth ^ (rng.random(n) < rate) for rate in rates]
    return truth.astype(dtype), [p.astype(dtype) for p in predictions]


def many_labels(n: int, number: int) -> tuple[Array, Array]:
    """Random labels of many classes, and predictions that are right in four of five."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, number, n)
    guess = rng.integers(0, number, n)
    return truth, np.where(rng.random(n) < 0.8, truth, guess)


def scored(n: int, models: int = 1) -> tuple[Array, list[Array]]:
    """Random labels, and scores of decreasing information."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    shifts = np.linspace(0.5, 0.3, models)
    scores = [(shift * truth + rng.random(n)) / (1 + shift) for shift in shifts]
    return truth.astype(np.int64), scores


def named(predictions: list[Array]) -> dict[str, Array]:
    return {f"model {k}": each for k, each in enumerate(predictions)}
