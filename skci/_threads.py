"""Single-threaded linear algebra for products of moderate size.

BLAS divides all but small products among its threads, which wait for each other. If
other processes use the processors, or a container has fewer processors than it reports,
a product of one millisecond then takes tens of milliseconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_DIVIDED = 1 << 13  # multiplications from which BLAS may use several threads
_WORTHWHILE = 1 << 33  # multiplications from which all threads are used

_limited = Lock()


@contextmanager
def few_threads(multiplications: float) -> Iterator[None]:
    """Limit BLAS to one thread for a product of moderate size.

    The limit applies to the whole process. If several Python threads use this context
    manager, only the first thread sets and removes the limit. OpenBLAS does not allow
    another thread to remove the limit.
    """
    divided = _DIVIDED < multiplications < _WORTHWHILE
    if not (divided and _limited.acquire(blocking=False)):
        yield
        return
    try:
        controller = _controller()
        if all(library.num_threads == 1 for library in controller.lib_controllers):
            yield
        else:
            with controller.limit(limits=1, user_api="blas"):
                yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """Return the controller of the BLAS threads, from the package threadpoolctl."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
