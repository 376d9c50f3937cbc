"""Time and memory of counting many rows, in chunks and by a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row, yes
from benchmarks.common.processes import in_new_process, peak_of_process
from benchmarks.scale.many import METRICS, correlated_models

CHUNK = 5_000_000
"""Rows of a chunk, fewer where there are fewer in all."""
_REPEATS = 7
_MOST_PASSES = 1.0  # of np.bincount, that counting one model may take
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Streamed:
    """Counting of rows that come in chunks, in a new process."""

    models: int
    n: int
    seconds: float
    """Processor time of all updates."""
    passes: float
    """Of a chunk, relative to ``np.bincount`` of the truth."""
    memory: tuple[int, int]
    """Peak of the process after the first chunk and after all, in bytes."""


def stream(models: int, n: int) -> Streamed:
    """Count n rows of some models in a new process."""
    return in_new_process(_stream, models, n)


def _stream(models: int, n: int) -> Streamed:
    size = min(CHUNK, n)
    y, predictions = correlated_models(models, size)
    accumulator = skci.JointAccumulator([*METRICS], labels=[0, 1])
    with threadpool_limits(1):
        accumulator.update(y, predictions)
        first = peak_of_process()
        start = time.process_time()
        for _ in range(n // size - 1):
            accumulator.update(y, predictions)
        seconds = (time.process_time() - start) * n / max(n - size, 1)
        assert accumulator.report().n_samples == n // size * size
        peaks = first, peak_of_process()
        ratios = [
            _timed(lambda: accumulator.update(y, predictions))
            / _timed(lambda: np.bincount(y))
            for _ in range(_REPEATS)
        ]
    return Streamed(models, n, seconds, median(ratios), peaks)


def _timed(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def streamed(results: list[Streamed]) -> list[Row]:
    """Rows a second, passes of bincount, and memory, by the number of models."""
    return [
        {
            "rows": f"{each.n:,}",
            "models": str(each.models),
            "seconds": f"{each.seconds:.1f}",
            "million rows a second": f"{each.n / each.seconds / 1e6:.0f}",
            "passes of np.bincount": f"{each.passes:.2f}",
            "goal": f"{_MOST_PASSES:g}" if each.models == 1 else "",
            "met": yes(each.passes <= _MOST_PASSES) if each.models == 1 else "",
            "peak memory, first chunk, MiB": f"{each.memory[0] / _MEBIBYTE:.0f}",
            "all chunks, MiB": f"{each.memory[1] / _MEBIBYTE:.0f}",
        }
        for each in results
    ]


def databases(n: int) -> list[Row]:
    """Reports on a Parquet file by DuckDB, beside its GROUP BY of the same columns."""
    if find_spec("duckdb") is None or find_spec("pyarrow") is None:
        return []
    y, predictions = correlated_models(2, n)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        _write(path, {"y": y, **predictions})
        return [*_databases(path, n, [*predictions])]


def _write(path: Path, columns: dict[str, Array]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)


def _databases(path: Path, n: int, models: list[str]) -> Iterator[Row]:
    import duckdb

    names = ", ".join(f'"{name}"' for name in ["y", *models])
    query = f"SELECT {names}, count(*) FROM '{path}' GROUP BY {names}"

    def report() -> object:
        frame = duckdb.sql(f"SELECT * FROM '{path}'")
        report = skci.joint_report("y", models, data=frame, metrics=[*METRICS])
        return report.to_dict()

    def grouped() -> object:
        return duckdb.sql(query).fetchall()

    report(), grouped()
    pairs = [(_timed(report), _timed(grouped)) for _ in range(_REPEATS)]
    ours, theirs = (median(times) for times in zip(*pairs, strict=True))
    yield {
        "rows": f"{n:,}",
        "report, seconds": f"{ours:.2f}",
        "GROUP BY, seconds": f"{theirs:.2f}",
        "ratio": f"{median(a / b for a, b in pairs):.2f}",
    }
