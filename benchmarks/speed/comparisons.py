"""Timing of two tasks side by side, tables of such comparisons, and data for them.

Time is processor time over all threads, which depends little on other work on the
machine and does not reward the use of more cores.
"""

import gc
import time
from dataclasses import dataclass
from functools import partial
from statistics import quantiles

import numpy as np

from benchmarks.common.pages import yes

_SHORTEST = 5e-3
"""Minimum duration of a measurement, in seconds; shorter tasks are repeated."""
_COLUMNS = ("task", "compared with", "ratio", "quartiles", "goal", "met")
_COLUMNS += ("skci", "other")


@dataclass(frozen=True)
class Comparison:
    """Seconds of A and B, measured alternately."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def ratio(self):
        """Shortest time of A over that of B, which other work disturbs least."""
        return min(self.a) / min(self.b)

    @property
    def quartiles(self):
        """Quartiles of the ratios of neighbouring measurements."""
        pairwise = [a / b for a, b in zip(self.a, self.b, strict=True)]
        if len(pairwise) < 2:
            return pairwise[0], pairwise[0]
        low, _, high = quantiles(pairwise, n=4, method="inclusive")
        return low, high


def side_by_side(a, b, repeats):
    """Time two tasks alternately (A B A B ...), after one call of each."""
    return alternate(timer(a), timer(b), repeats)


def alternate(a, b, repeats):
    """Call two timers alternately."""
    pairs = [(a(), b()) for _ in range(repeats)]
    first, second = zip(*pairs, strict=True)
    return Comparison(first, second)


def timer(task):
    """Make a function that runs a task, often enough to be timed."""
    task()
    return partial(seconds, task, max(1, round(_SHORTEST / seconds(task))))


def seconds(task, calls=1):
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


def compared(task, against, times, *, goal=None):
    """Row of a comparison; the goal is the largest ratio."""
    low, high = map(fraction, times.quartiles)
    row = {
        "task": task,
        "compared with": against,
        "ratio": fraction(times.ratio),
        "quartiles": f"{low} to {high}",
        "skci": duration(min(times.a)),
        "other": duration(min(times.b)),
    }
    if goal is not None:
        row |= {"goal": fraction(goal), "met": yes(times.ratio <= goal)}
    return row


def goals(rows):
    """Comparisons with a goal."""
    shown = "task", "compared with", "ratio", "goal", "met"
    return [{name: row[name] for name in shown} for row in rows if "goal" in row]


def table(rows):
    """Table of rows, without empty columns."""
    used = [name for name in _COLUMNS if any(name in row for row in rows)]
    return [{name: row.get(name, "") for name in used} for row in rows]


def fraction(ratio):
    """Format a ratio, as 1/x below a half."""
    return rounded(ratio) if ratio > 0.5 else f"1/{rounded(1 / ratio)}"


def duration(seconds):
    short = seconds < 1
    return f"{rounded(1e3 * seconds)} ms" if short else f"{rounded(seconds)} s"


def rounded(value):
    """Round to two digits, or to three if at least 100."""
    digits = 2 if value < 99.5 else 3
    number = float(f"{value:.{digits}g}")
    return f"{number:,.0f}" if number >= 10 else f"{number:g}"


def labels(n, models=1, dtype=np.int64):
    """Random labels, and predictions of increasing error rate."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    rates = np.linspace(0.2, 0.3, models)
    predictions = [truth ^ (rng.random(n) < rate) for rate in rates]
    return truth.astype(dtype), [p.astype(dtype) for p in predictions]


def many_labels(n, number):
    """Random labels of many classes, and predictions that are right in four of five."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, number, n)
    guess = rng.integers(0, number, n)
    return truth, np.where(rng.random(n) < 0.8, truth, guess)


def scored(n, models=1):
    """Random labels, and scores of decreasing information."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    shifts = np.linspace(0.5, 0.3, models)
    scores = [(shift * truth + rng.random(n)) / (1 + shift) for shift in shifts]
    return truth.astype(np.int64), scores


def named(predictions):
    return {f"model {k}": each for k, each in enumerate(predictions)}
