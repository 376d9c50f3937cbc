"""Time and memory of batches of rows in groups."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

import skci
from benchmarks.common.pages import Row
from benchmarks.common.processes import in_new_process, peak_of_process

_ROWS, _GROUPS = 400, 40  # of a batch
_MEBIBYTE = 1 << 20


def grouped(numbers: Sequence[int]) -> list[Row]:
    """Seconds and memory by the number of batches, each in a process of its own."""
    rows = []
    for number in numbers:
        seconds, memory = in_new_process(_update, number)
        rows.append(
            {
                "batches": f"{number:,}",
                "groups": f"{number * _GROUPS:,}",
                "updates and report, seconds": f"{seconds:.2f}",
                "peak memory, MiB": f"{memory / _MEBIBYTE:.0f}",
            }
        )
    return rows


def _update(number: int) -> tuple[float, int]:
    """Processor time of the updates and the report, and the peak of the process."""
    y, predicted = np.random.default_rng(0).integers(0, 2, (2, _ROWS))
    groups = np.arange(_ROWS) % _GROUPS
    accumulator = skci.JointAccumulator(["accuracy", "f1"])
    start = time.process_time()
    for k in range(number):
        accumulator.update(y, predicted, groups=groups + k * _GROUPS)
    accumulator.report().to_dict()
    return time.process_time() - start, peak_of_process()
