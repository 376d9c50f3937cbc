"""One thread for linear algebra whose threads would wait longer than they compute.

BLAS divides all but small products among its threads, which wait for each other. Where
other processes have the processors, or a container has fewer of them than it shows, a
product of a millisecond then takes tens of them.
"""

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
    does not let another thread of Python raise what one has lowered.
    """
    divided = _DIVIDED < multiplications < _WORTHWHILE
    if not (divided and _limited.acquire(blocking=False)):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """Controller of the libraries of BLAS, of a package scikit-learn depends on."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
