"""A joint report beside the bootstrap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from _effort import Effort
from _labels import Array, labels, named
from _points import METRICS, estimates
from _rows import Row, Section, compared
from _timing import in_turns, seconds, stopwatch
from scipy.stats import bootstrap

import skci

_ROWS, _RESAMPLES = 10_000, 1_000

_TEXT = """\
A joint report of 12 estimates, 4 rules and 3 metrics, with both kinds of intervals,
beside 1,000 resamples of the rows. Each resample is drawn once for all 12: the plain
loop and the statistic that scipy is given (``paired=True, vectorized=False``) compute
12 scikit-learn metrics. {resamples} resamples are timed and the rest is taken to cost
the same; BCa evaluates the statistic once more for each row, and the evaluations that
scipy makes are counted. Each report has a seed of its own, so that no points of its
critical value are left from the one before. The bootstrap's intervals are individual
ones.
"""


def bootstraps(effort: Effort) -> Section:
    text = _TEXT.format(resamples=effort.resamples)
    return Section("A joint report and the bootstrap", text, list(rows(effort)))


def rows(effort: Effort) -> Iterator[Row]:
    y, responses = labels(_ROWS, rules=4)
    seeds = itertools.count()

    def ours() -> Any:
        predictions, seed = named(responses), next(seeds)
        report = skci.joint_report(y, predictions, metrics=METRICS, random_state=seed)
        return report.to_dict()

    resample = effort.resamples
    cases = {
        "a loop of {:,} resamples": (partial(loop, resample), _RESAMPLES),
        "scipy.stats.bootstrap, percentile, {:,} resamples": (
            partial(scipy_bootstrap, resample, "percentile"),
            evaluations("percentile"),
        ),
        # Without its evaluations row by row, one of BCa costs what another costs.
        "scipy.stats.bootstrap, BCa, {:,} resamples": (
            partial(scipy_bootstrap, resample, "percentile"),
            evaluations("BCa"),
        ),
    }
    for name, (task, number) in cases.items():

        def theirs(task: Any = task, number: int = number) -> float:
            return seconds(partial(task, estimates, y, *responses)) * number / resample

        times = in_turns(stopwatch(ours), theirs, max(1, effort.repeats // 4))
        yield compared(
            f"joint_report, 4 rules x 3 metrics, {_ROWS:,} int64",
            name.format(_RESAMPLES),
            times,
            goal=1 / 1000,
        )


def loop(number: int, statistic: Any, *columns: Array) -> Array:
    """Find percentile intervals as one writes them down."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(number):
        drawn = rng.integers(len(columns[0]), size=len(columns[0]))
        found.append(statistic(*(column[drawn] for column in columns)))
    return np.quantile(found, [0.025, 0.975], axis=0)


def scipy_bootstrap(
    number: int, method: str, statistic: Any, *columns: Array
) -> tuple[Array, Array]:
    low, high = bootstrap(
        columns,
        statistic,
        n_resamples=number,
        batch=100,  # for all at once the memory does not suffice
        paired=True,
        vectorized=False,
        method=method,
    ).confidence_interval
    return low, high


def evaluations(method: str) -> int:
    """Count how often scipy evaluates a statistic that costs nothing."""
    calls = itertools.count()

    def statistic(*columns: Array) -> float:
        next(calls)
        return float(columns[0][0])

    y, _ = labels(_ROWS)
    scipy_bootstrap(_RESAMPLES, method, statistic, y)
    return next(calls)
