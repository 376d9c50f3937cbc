"""Tasks in new processes, whose peak memory is theirs alone."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_new_process(task: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Result of a task in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(task, *args, **kwargs).result()


def peak_of_process() -> int:
    """Peak memory of this process, in bytes; at least its parent's at its start."""
    return _peak(resource.RUSAGE_SELF)


def peak_of_children() -> int:
    """Largest peak memory of a child that has ended, in bytes."""
    return _peak(resource.RUSAGE_CHILDREN)


def _peak(whose: int) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(whose).ru_maxrss * unit


def processor_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])
