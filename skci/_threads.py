"""One thread for linear algebra whose threads would wait longer than they compute.

BLAS divides all but small products among its threads, which wait for each other. Where
other processes have the processors, or a container has fewer of them than it shows, a
product of a millisecond then takes tens of them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_DIVIDED = 1 << 13  # multiplications that BLAS may divide among threads
_WORTHWHILE = 1 << 33  # multiplications that take seconds, where threads gain more

_limited = Lock()


@contextmanager
def few_threads(multiplications: float) -> Iterator[None]:
    """Context in which BLAS has one thread, if so much is to be done in it.

    The first to enter limits the threads of the process, and restores them: OpenBLAS
    does not let another thread of Python raise what one has lowered. What is limited
    already is left alone, as that may end before this does.
    """
    divided = _DIVIDED < multiplications < _WORTHWHILE
    if not (divided and _limited.acquire(blocking=False)):
        yield
        return
    try:
        libraries = _controller()
        if all(each.num_threads == 1 for each in libraries.lib_controllers):
            yield
        else:
            with libraries.limit(limits=1, user_api="blas"):
                yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """Controller of the libraries of BLAS, of a package scikit-learn depends on."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _unlock() -> None:
    """Release the lock of a thread that a forked process does not have."""
    if _limited.locked():
        _limited.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_unlock)
