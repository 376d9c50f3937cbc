"""Time and peak memory by the number of rows, models and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, fbeta_score

import skci
from benchmarks.common import Array
from benchmarks.common.command import Sizes
from benchmarks.common.pages import Row as TableRow
from benchmarks.common.pages import saved_figure
from benchmarks.speed.comparisons import (
    Row,
    duration,
    fraction,
    is_met,
    labels,
    mebibytes,
    named,
    peak_memory,
    seconds,
)
from benchmarks.speed.estimates import score_metrics
from skci.data.reading import Reader, Wanted
from skci.data.sample import Sample
from skci.inference.joint import JointEstimate

_CHUNK = 1_000_000
_PATIENCE = 1.0
"""Seconds beyond which a task is timed only once."""

_ROWS, _FEWER_ROWS = 100_000, 10_000


@dataclass(frozen=True)
class Curve:
    """Time, and maybe peak memory, by size."""

    name: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    memory: Sequence[int] = ()
    peer: bool = False
    """Whether it is other software."""


@dataclass(frozen=True)
class Growth:
    """Curves by the size of the same thing; the first has the memory."""

    of: str
    curves: Sequence[Curve]

    def table(self) -> list[TableRow]:
        """Times of all curves and peak memory of the first."""
        first, *others = self.curves
        rows = []
        for size, time, memory in zip(
            first.sizes, first.seconds, first.memory, strict=True
        ):
            row = {
                self.of: f"{size:,}",
                first.name: duration(time),
                "peak memory": mebibytes(memory),
            }
            for curve in others:
                times = dict(zip(curve.sizes, curve.seconds, strict=True))
                row[curve.name] = duration(times[size]) if size in times else ""
            rows.append(row)
        return rows


def growth(size: Sizes) -> list[Growth]:
    """Measure the growth with rows, models and parameters."""
    return [in_rows(size), in_models(size), in_parameters(size)]


def measured(
    name: str,
    task: Callable[[int], Any],
    sizes: Sequence[int],
    *,
    memory: bool = False,
    peer: bool = False,
) -> Curve:
    """Measure the time of a task at each size, and optionally its peak memory."""
    tasks = [partial(task, size) for size in sizes]
    peaks = [*map(peak_memory, tasks)] if memory else []
    return Curve(name, sizes, [*map(median_seconds, tasks)], peaks, peer)


def median_seconds(task: Callable[[], Any]) -> float:
    """Median time of a task, or a single one if it takes long."""
    first = seconds(task)
    if first > _PATIENCE:
        return first
    return median(seconds(task) for _ in range(5))


def in_rows(size: Sizes) -> Growth:
    largest = size.chunks * _CHUNK
    sizes = [10**power for power in range(3, 12) if 10**power <= largest]
    y, (p,) = labels(_CHUNK)

    def ours(n: int) -> Any:
        if n <= _CHUNK:
            return skci.F05CI()(y[:n], p[:n]).confidence_interval()
        return in_chunks([y, p], n // _CHUNK)

    def theirs(n: int) -> float:
        return fbeta_score(y[:n], p[:n], beta=0.5)

    small = [n for n in sizes if n <= _CHUNK]
    return Growth(
        "rows",
        [
            measured("F05CI", ours, sizes, memory=True),
            measured("fbeta_score", theirs, small, peer=True),
        ],
    )


def in_chunks(columns: Sequence[Array], chunks: int) -> Any:
    """Read the same rows repeatedly, add the samples and compute the interval."""
    y, *predictions = columns
    samples: Iterator[Sample] = (
        Reader.open(Wanted(), y).sample(named(predictions)) for _ in range(chunks)
    )
    sample = reduce(add, samples)
    (parameter,) = skci.F05CI().bind(sample, sample.models[0])
    return JointEstimate.from_rows([parameter], sample.rows, sample.design).intervals


def chunk_rows(curve: Curve) -> Iterator[Row]:
    """Compare the largest number of rows with one chunk."""
    chunk, chunks = curve.sizes.index(_CHUNK), curve.sizes[-1] / _CHUNK
    name = f"F05CI, {curve.sizes[-1]:,} rows in chunks"
    for what, ratio in (
        ("time per row", curve.seconds[-1] / curve.seconds[chunk] / chunks),
        ("peak memory", curve.memory[-1] / curve.memory[chunk]),
    ):
        yield Row(
            f"{name}, {what}",
            f"{_CHUNK:,} rows",
            ratio=fraction(ratio),
            goal=fraction(1.1),
            met=is_met(ratio, 1.1),
        )


def memory_rows() -> Iterator[Row]:
    """Peak memory of counting labels."""
    cases: tuple[tuple[int, Any], ...] = (
        (1, np.int64),
        (1, np.bool_),
        (4, np.int64),
        (20, np.int64),
    )
    for models, dtype in cases:
        y, predictions = labels(_CHUNK, models, dtype)
        report = partial(skci.joint_report, y, named(predictions), metrics=["accuracy"])
        memory = peak_memory(report)
        ratio = memory / (_CHUNK * models)
        yield Row(
            f"memory, models: {models}, {_CHUNK:,} {np.dtype(dtype).name}",
            "one byte per row and model",
            ratio=fraction(ratio),
            goal="1",
            met=is_met(ratio, 1),
            ours=mebibytes(memory),
        )


def in_models(size: Sizes) -> Growth:
    y, predictions = labels(_ROWS, max(size.models), np.int8)

    def report(models: int) -> Any:
        named_models = named(predictions[:models])
        return skci.joint_report(y, named_models, metrics=["accuracy"]).to_dict()

    def count(models: int) -> Any:
        return Reader.open(Wanted(), y).sample(named(predictions[:models]))

    def theirs(models: int) -> list[float]:
        return [accuracy_score(y, p) for p in predictions[:models]]

    return Growth(
        "models",
        [
            measured("joint_report", report, size.models, memory=True),
            measured("counting", count, size.models),
            measured("accuracy_score", theirs, size.models, peer=True),
        ],
    )


def in_parameters(size: Sizes) -> Growth:
    metrics = [metric.name for metric in score_metrics()][:20]
    y, predictions = labels(_FEWER_ROWS, -(-max(size.parameters) // len(metrics)))
    correlations = {}

    def report(parameters: int) -> Any:
        models = named(predictions[: -(-parameters // len(metrics))])
        found = skci.joint_report(y, models, metrics=metrics[:parameters])
        correlations[parameters] = found.correlation
        return found.to_dict()

    def solve(parameters: int) -> float:
        return skci.inference.critical_value(correlations[parameters])

    return Growth(
        "parameters",
        [
            measured("joint_report", report, size.parameters, memory=True),
            measured("critical value", solve, size.parameters),
        ],
    )


def figure(growths: Sequence[Growth], path: Path) -> None:
    """Draw time above memory, a column for each kind of size."""
    options = {"figsize": (9, 5), "sharex": "col", "sharey": "row"}
    with saved_figure(path, 2, len(growths), **options) as (_, axes):
        for growth, (above, below) in zip(growths, axes.T, strict=True):
            colours = iter(("C0", "C1"))
            for curve in growth.curves:
                colour = "0.5" if curve.peer else next(colours)
                above.plot(
                    curve.sizes, curve.seconds, ".-", color=colour, label=curve.name
                )
                if curve.memory:
                    below.plot(curve.sizes, np.array(curve.memory) / 2**20, ".-")
            last = np.array([growth.curves[0].sizes[-1], growth.curves[0].seconds[-1]])
            above.axline(last, last / 10, color="0.6", linestyle=":", zorder=0)
            above.legend(frameon=False, loc="upper left")
            below.set_xlabel(growth.of)
        for axis in axes.flat:
            axis.set(xscale="log", yscale="log")
            axis.grid(color="0.92")
        axes[0, 0].set_ylabel("seconds")
        axes[1, 0].set_ylabel("MiB")
