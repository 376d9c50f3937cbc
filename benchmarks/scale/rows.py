"""Time and memory of counting many rows, in chunks and from frames."""

import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

import skci
from benchmarks.common.pages import yes
from benchmarks.common.processes import (
    MEBIBYTE,
    in_new_process,
    peak_of_process,
    processor_seconds,
)
from benchmarks.scale.models import METRICS, correlated_models

_CHUNK = 5_000_000
"""Rows of a chunk, fewer where there are fewer in all."""
_REPEATS = 7


def streamed(n):
    """Rows a second, passes of bincount, and memory, by the number of models."""
    return [in_new_process(_stream, models, n) for models in (1, 2, 5)]


def _stream(models, n):
    size = min(_CHUNK, n // 2)
    y, predictions = correlated_models(models, size)
    accumulator = skci.JointAccumulator([*METRICS], labels=[0, 1])

    def update():
        accumulator.update(y, predictions)

    update()
    peaks = [peak_of_process()]
    seconds = sum(_timed(update) for _ in range(n // size - 1))
    seconds *= n / max(n - size, 1)
    assert accumulator.report().n_samples == n // size * size
    peaks.append(peak_of_process())
    ratios = [_timed(update) / _timed(lambda: np.bincount(y)) for _ in range(_REPEATS)]
    passes = median(ratios)
    return {
        "rows": f"{n:,}",
        "models": str(models),
        "seconds": f"{seconds:.1f}",
        "million rows a second": f"{n / seconds / 1e6:.0f}",
        "passes of np.bincount": f"{passes:.2f}",
        "goal": "1" if models == 1 else "",
        "met": yes(passes <= 1) if models == 1 else "",
        "peak memory, first chunk, MiB": f"{peaks[0] / MEBIBYTE:.0f}",
        "all chunks, MiB": f"{peaks[1] / MEBIBYTE:.0f}",
    }


def _timed(task):
    start = time.process_time()
    task()
    return time.process_time() - start


_FRAMES = {
    "DuckDB": ("duckdb", "read_parquet"),
    "polars, lazy": ("polars", "scan_parquet"),
    "Arrow dataset": ("pyarrow.dataset", "dataset"),
    "Dask": ("dask.dataframe", "read_parquet"),
    "pandas, in memory": ("pandas", "read_parquet"),
}
"""Module, and its function that opens a Parquet file."""


def _report(name, path, models, first):
    """Time and memory of opening a file and of a report, and the report."""
    start = processor_seconds()
    module, function = _FRAMES[name]
    frame = getattr(import_module(module), function)(path)
    report = skci.joint_report("y", [*models], data=frame, metrics=[*METRICS])
    found = report.to_dict()
    seconds = processor_seconds() - start
    return {
        "frame": name,
        "rows": f"{report.n_samples:,}",
        "seconds": f"{seconds:.1f}",
        "peak memory, MiB": f"{peak_of_process() / MEBIBYTE:.0f}",
        "same report": yes(first is None or found == first),
    }, found


def frames(n):
    """Compare the libraries that are installed on n rows of three models."""
    if not find_spec("pyarrow"):
        return []
    rows, first = [], None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # The file too, since processes inherit the peak of this one.
        models = in_new_process(_write, path, n)
        for name, (module, _) in _FRAMES.items():
            if find_spec(module.partition(".")[0]):
                row, found = in_new_process(_report, name, str(path), models, first)
                first = first or found
                rows.append(row)
    return rows


def _write(path, n):
    """Write labels of models to a Parquet file of a million rows a group."""
    import pyarrow as pa
    from pyarrow import parquet

    y, predictions = correlated_models(3, n)
    table = pa.table({"y": y, **predictions})
    parquet.write_table(table, path, row_group_size=1 << 20)
    return [*predictions]
