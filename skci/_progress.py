"""Progress line of long computations: count, total and remaining time.

The line is written to standard error if standard error is a terminal or a notebook.
Updates overwrite the line, and the end of the computation removes the line.
Computations of less than three seconds show no line. Among nested lines, only the
outermost line is shown.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from threading import Lock
from typing import Any, Self, TypeVar

from skci._validation import printable

_Item = TypeVar("_Item")

_AFTER = 3.0  # seconds before a line is shown
_EVERY = 0.2  # seconds between updates
_WIDTH = 79  # characters of a line

_shown = Lock()  # held while a line is shown


def is_watched() -> bool:
    """Whether the stream stderr is a terminal or the output of a notebook."""
    stream = sys.stderr
    is_notebook = type(stream).__module__.startswith("ipykernel")
    return stream is not None and (is_notebook or stream.isatty())


def show_line(text: str) -> None:
    """Overwrite the progress line, if stderr is a terminal or a notebook."""
    if is_watched():
        line = printable(text)[:_WIDTH].ljust(_WIDTH)
        print(f"\r{line}", end="\r", file=sys.stderr, flush=True)


class Progress:
    """Context manager for a progress line that counts finished parts of a computation.

    The line is drawn by tqdm if it is installed.

    Parameters
    ----------
    noun : str
        Plural noun for the parts of the computation, such as "fits".
    total : int
        Number of parts of the computation, or an upper bound on this number.
    verbose : int, optional
        Value that the user passed as `verbose`. The progress is shown only if this
        value is None.
    """

    def __init__(self, noun: str, total: int, verbose: int | None = None) -> None:
        self._noun, self._total, self._done = noun, total, 0
        self._is_on = verbose is None and is_watched()
        self._start = self._last = time.monotonic()
        self._lock, self._is_shown = Lock(), False
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_shown:
            if self._bar is None:
                show_line("")
            else:
                self._bar.close()
            self._is_shown = False
            _shown.release()

    def add(self, number: int = 1) -> None:
        """Count finished parts, and update the progress line from time to time."""
        with self._lock:
            self._done = min(self._done + number, self._total)
            now = time.monotonic()
            if not self._is_on or now < self._last + _EVERY:
                return
            if not self._is_shown:
                self._open(now)
            if not self._is_shown:
                return
            self._last = now
            if self._bar is not None:
                self._bar.update(self._done - self._bar.n)
                return
            remaining = (now - self._start) * (self._total / max(self._done, 1) - 1)
            duration = (
                f"{remaining:.0f} s" if remaining < 100 else f"{remaining / 60:.0f} min"
            )
            done = f"{self._done:,} of {self._total:,}"
            show_line(f"[skci] {self._noun}: {done}, {duration} left")

    def _open(self, now: float) -> None:
        """Show the progress line of a slow computation, unless one is already shown."""
        if now < self._start + _AFTER or not _shown.acquire(blocking=False):
            return
        self._is_shown = True
        try:
            tqdm = import_module("tqdm").tqdm
        except ImportError:
            return
        options = {"total": self._total, "file": sys.stderr, "leave": False}
        self._bar = tqdm(desc=f"[skci] {self._noun}", **options)
        self._bar.start_t -= now - self._start


def progress(
    items: Iterable[_Item],
    noun: str,
    total: int,
    size: Callable[[_Item], int] = lambda item: 1,
) -> Iterator[_Item]:
    """Yield the items of an iterable, and show the progress in a progress line.

    An item counts as ``size(item)`` finished parts of the computation.
    """
    with Progress(noun, total) as line:
        for item in items:
            yield item
            line.add(size(item))
