"""Time and memory of one report on the same Parquet file, by data frame library."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import skci
from benchmarks.common.pages import Row
from benchmarks.common.processes import in_new_process, peak_of_process
from benchmarks.scale.many import METRICS, correlated_rules

_MEBIBYTE = 1 << 20


def _arrow(path: str) -> Any:
    from pyarrow import dataset

    return dataset.dataset(path)


def _duckdb(path: str) -> Any:
    import duckdb

    return duckdb.read_parquet(path)


def _polars(path: str) -> Any:
    import polars

    return polars.scan_parquet(path)


def _dask(path: str) -> Any:
    import dask.dataframe

    return dask.dataframe.read_parquet(path)


def _pandas(path: str) -> Any:
    import pandas

    return pandas.read_parquet(path)


FRAMES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "DuckDB": ("duckdb", _duckdb),
    "polars, lazy": ("polars", _polars),
    "Arrow dataset": ("pyarrow", _arrow),
    "Dask": ("dask", _dask),
    "pandas, in memory": ("pandas", _pandas),
}
"""Package, and how a Parquet file is opened."""


@dataclass(frozen=True)
class Reported:
    """A report from a frame, in a new process."""

    seconds: tuple[float, float]
    """Of opening the file and of the report, wall time."""
    memory: int
    """Peak of the process, in bytes."""
    report: dict[str, Any]


def _report(name: str, path: str, rules: Sequence[str]) -> Reported:
    start = time.perf_counter()
    frame = FRAMES[name][1](path)
    opened = time.perf_counter()
    report = skci.joint_report("y", [*rules], data=frame, metrics=[*METRICS])
    found = report.to_dict()
    seconds = opened - start, time.perf_counter() - opened
    return Reported(seconds, peak_of_process(), found)


def frames(n: int) -> list[Row]:
    """Compare the libraries that are installed on n rows of three rules."""
    installed = [name for name, (package, _) in FRAMES.items() if find_spec(package)]
    if find_spec("pyarrow") is None:
        return []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # The file too, since processes inherit the peak of this one.
        rules = in_new_process(_write, path, n)
        found = {
            name: in_new_process(_report, name, str(path), rules) for name in installed
        }
    first = next(iter(found.values())).report
    return [
        {
            "frame": name,
            "rows": f"{n:,}",
            "opening, seconds": f"{each.seconds[0]:.1f}",
            "report, seconds": f"{each.seconds[1]:.1f}",
            "peak memory, MiB": f"{each.memory / _MEBIBYTE:.0f}",
            "same report": "yes" if each.report == first else "no",
        }
        for name, each in found.items()
    ]


def _write(path: Path, n: int) -> list[str]:
    """Write labels of rules to a Parquet file of a million rows a group."""
    import pyarrow as pa
    from pyarrow import parquet

    y, predictions = correlated_rules(3, n)
    table = pa.table({"y": y, **predictions})
    parquet.write_table(table, path, row_group_size=1 << 20)
    return [*predictions]
