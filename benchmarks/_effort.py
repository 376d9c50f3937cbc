"""How much of everything speed.py does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Sizes and numbers."""

    rows: int
    repeats: int
    tables: int
    """On which score intervals are timed."""
    resamples: int
    """Of 1,000, the time of the others being the same."""
    matrices: int
    """Of each kind of correlation."""
    chunks: int
    """Of a million rows."""
    rules: tuple[int, ...]
    parameters: tuple[int, ...]


FULL = Effort(
    rows=1_000_000,
    repeats=31,
    tables=24,
    resamples=20,
    matrices=12,
    chunks=100,
    rules=(1, 2, 5, 10, 15, 20, 50, 100, 200),
    parameters=(1, 2, 5, 10, 20, 40, 100, 200, 400, 1000, 2000),
)
QUICK = Effort(
    rows=100_000,
    repeats=3,
    tables=1,
    resamples=2,
    matrices=1,
    chunks=10,
    rules=(1, 5, 20),
    parameters=(1, 5, 20, 40),
)
