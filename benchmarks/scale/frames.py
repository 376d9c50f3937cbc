"""Time and memory of one report on the same Parquet file, by data frame library."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import skci
from benchmarks.common.pages import Row
from benchmarks.common.processes import (
    in_new_process,
    peak_of_children,
    peak_of_process,
    processor_seconds,
)
from benchmarks.scale.many import METRICS, correlated_models

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


def _pyspark(path: str) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config(map=_SPARK).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session.read.parquet(path)


_SPARK = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def _stop_java() -> None:
    """Stop the Java process that PySpark started, so that its resources are known."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._active_spark_context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


FRAMES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "DuckDB": ("duckdb", _duckdb),
    "polars, lazy": ("polars", _polars),
    "Arrow dataset": ("pyarrow", _arrow),
    "Dask": ("dask", _dask),
    "PySpark, local": ("pyspark", _pyspark),
    "pandas, in memory": ("pandas", _pandas),
}
"""Package, and how a Parquet file is opened."""


@dataclass(frozen=True)
class Reported:
    """A report from a frame, in a new process."""

    seconds: float
    """Processor time of opening the file and of the report."""
    memory: int
    """Peak of the process, in bytes."""
    java_memory: int
    """Peak of the Java process, in bytes, 0 if there is none."""
    report: dict[str, Any]


def _report(name: str, path: str, models: Sequence[str]) -> Reported:
    start = processor_seconds()
    frame = FRAMES[name][1](path)
    report = skci.joint_report("y", [*models], data=frame, metrics=[*METRICS])
    found = report.to_dict()
    _stop_java()
    seconds = processor_seconds() - start
    return Reported(seconds, peak_of_process(), peak_of_children(), found)


def _is_there(package: str) -> bool:
    """Whether a package is installed, and Java if it needs it."""
    if package == "pyspark" and not (shutil.which("java") or "JAVA_HOME" in os.environ):
        return False
    return find_spec(package) is not None


def frames(n: int) -> list[Row]:
    """Compare the libraries that are installed on n rows of three models."""
    installed = [name for name, (package, _) in FRAMES.items() if _is_there(package)]
    if find_spec("pyarrow") is None:
        return []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # The file too, since processes inherit the peak of this one.
        models = in_new_process(_write, path, n)
        found = {
            name: in_new_process(_report, name, str(path), models) for name in installed
        }
    first = next(iter(found.values())).report
    return [
        {
            "frame": name,
            "rows": f"{n:,}",
            "seconds": f"{each.seconds:.1f}",
            "peak memory of Python, MiB": f"{each.memory / _MEBIBYTE:.0f}",
            "of Java, MiB": (
                f"{each.java_memory / _MEBIBYTE:.0f}" if each.java_memory else ""
            ),
            "same report": "yes" if each.report == first else "no",
        }
        for name, each in found.items()
    ]


def _write(path: Path, n: int) -> list[str]:
    """Write labels of models to a Parquet file of a million rows a group."""
    import pyarrow as pa
    from pyarrow import parquet

    y, predictions = correlated_models(3, n)
    table = pa.table({"y": y, **predictions})
    parquet.write_table(table, path, row_group_size=1 << 20)
    return [*predictions]
