"""Tasks in new processes, whose time and peak memory are theirs alone."""

import multiprocessing
import os
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from threadpoolctl import threadpool_limits

MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30


class Measured(NamedTuple):
    """Processor seconds of one thread, and memory in bytes."""

    seconds: float
    added: int
    """Peak memory above that of the process with its data."""
    peak: int


def measured(start, *args):
    """Measure a task in a new process, that is started from its arguments."""
    return in_new_process(_measured, start, *args)


def _measured(start, *args):
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        task, before = start(*args), peak_of_process()
        began = time.process_time()
        task()
        seconds = time.process_time() - began
    return Measured(seconds, peak_of_process() - before, peak_of_process())


def in_new_process(task, *args, **kwargs):
    """Result of a task in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(task, *args, **kwargs).result()


def peak_of_process():
    """Peak memory of this process, in bytes; at least its parent's at its start."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def processor_seconds():
    """Processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])
