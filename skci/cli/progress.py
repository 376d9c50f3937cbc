"""Progress of reading, on a terminal."""

import sys
import time
from pathlib import Path

from skci._validation import printable

_SECONDS = 0.1  # between two lines


class Progress:
    """A line on standard error that tells how far reading is, if it is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._width, self._next = 0, 0.0

    def __call__(self, path: str, share: float | None, n_rows: int) -> None:
        """Show the share of a file that was read, and the rows so far."""
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + _SECONDS
            percent = "" if share is None else f"{share:.0%}, "
            self._write(f"{printable(Path(path).name)}: {percent}{n_rows:,} rows")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._width:
            self._write("")
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width) + "\r" * (not text))
        sys.stderr.flush()
        self._width = len(text)
