"""Command line, cached results, tables and figures, shared by all benchmarks."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
