"""Progress of long work: a line with the number done, the total and the time left.

The line is written to standard error if that is a terminal or a notebook, overwritten
with each of its updates, and removed at the end. Work of less than three seconds has
none, and of lines within each other only the first one is shown.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from threading import Lock
from typing import Any, Self, TypeVar

from skci._validation import printable

_Item = TypeVar("_Item")

_AFTER = 3.0  # seconds of work without a line
_EVERY = 0.2  # seconds between updates
_WIDTH = 79  # characters of a line

_shown = Lock()  # of the line that is shown


def is_watched() -> bool:
    """Whether standard error is a terminal or the output of a notebook."""
    stream = sys.stderr
    is_notebook = type(stream).__module__.startswith("ipykernel")
    return stream is not None and (is_notebook or stream.isatty())


def show_line(text: str) -> None:
    """Show a line instead of the last one on standard error, if that is watched."""
    if is_watched():
        line = printable(text)[:_WIDTH].ljust(_WIDTH)
        print(f"\r{line}", end="\r", file=sys.stderr, flush=True)


class Progress:
    """Number of finished parts of some work; a context that ends with the work.

    The line is drawn by tqdm if it is installed.

    Parameters
    ----------
    what : str
        Plural noun of the parts, such as "fits".
    total : int
        Number of the parts, or a bound on it.
    verbose : int, optional
        Nothing is shown if the user asked for no output, or for a line of each part.
    """

    def __init__(self, what: str, total: int, verbose: int | None = None) -> None:
        self._what, self._total, self._done = what, total, 0
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
        """Count more finished parts, and update the line now and then."""
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
            left = (now - self._start) * (self._total / max(self._done, 1) - 1)
            duration = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
            done = f"{self._done:,} of {self._total:,}"
            show_line(f"[skci] {self._what}: {done}, {duration} left")

    def _open(self, now: float) -> None:
        """Show the line if the work is long, and no other line is shown."""
        if now < self._start + _AFTER or not _shown.acquire(blocking=False):
            return
        self._is_shown = True
        try:
            tqdm = import_module("tqdm").tqdm
        except ImportError:
            return
        options = {"total": self._total, "file": sys.stderr, "leave": False}
        self._bar = tqdm(desc=f"[skci] {self._what}", **options)
        self._bar.start_t -= now - self._start


def progress(
    items: Iterable[_Item], what: str, total: int, verbose: int | None = None
) -> Iterator[_Item]:
    """Iterate over items, and show how many are done; see `Progress`."""
    with Progress(what, total, verbose) as line:
        for item in items:
            yield item
            line.add()
