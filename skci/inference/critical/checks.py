"""Validation of correlation matrices, numbers and random states."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skci._arrays import Array
from skci.inference.critical.exceedances import pivoted_cholesky

__all__ = [
    "ROUNDING",
    "SCRAMBLES",
    "RandomState",
    "check_correlation",
    "check_number",
    "draw_seeds",
    "fixed_seed",
]

RandomState = int | np.random.Generator | np.random.RandomState | None

ROUNDING = 1e-8
"""How far rounding may take a matrix away from a correlation."""
SCRAMBLES = 8
"""Independent randomisations of the points; their spread is the error estimate."""

_LARGE = 512
"""Size from which a matrix is checked through its pivoted Cholesky factor."""
_BLOCK = 1 << 19
"""Numbers in a temporary array."""


def check_correlation(correlation: ArrayLike) -> tuple[Array, Array | None]:
    """Validate a correlation matrix and undo what rounding did to it.

    Returns
    -------
    array of shape (K, K), and its pivoted Cholesky factor if it is large
    """
    given = np.asarray(correlation)
    must = "correlation must be"
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{must} a matrix of numbers, got values of type {given.dtype}")
    matrix = np.atleast_2d(given.astype(float, copy=False))
    size = len(matrix)
    if matrix.shape != (size, size) or not size:
        raise ValueError(f"{must} a square matrix, got shape {given.shape}")
    if not _is_correlation(matrix):
        with np.errstate(invalid="ignore"):
            wrong = {
                "finite": ~np.isfinite(matrix),
                "1 on the diagonal": np.diag(np.abs(np.diag(matrix) - 1) > ROUNDING),
                "within [-1, 1]": np.abs(matrix) > 1 + ROUNDING,
                "symmetric": np.abs(matrix - matrix.T) > ROUNDING,
            }
        for wanted, where in wrong.items():
            if where.any():
                i, j = np.argwhere(where)[0]
                raise ValueError(f"{must} {wanted}, got {matrix[i, j]} at [{i}, {j}]")
    repaired: Array = matrix + matrix.T
    repaired /= 2
    np.clip(repaired, -1, 1, out=repaired)
    np.fill_diagonal(repaired, 1)
    cholesky = None
    try:
        if size > _LARGE:
            cholesky = pivoted_cholesky(repaired)
        else:
            np.linalg.cholesky(repaired + size * ROUNDING * np.eye(size))
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(repaired)[0]
        raise ValueError(
            f"{must} positive semidefinite, got an eigenvalue of {least:.2g}"
        ) from None
    return repaired, cholesky


def _is_correlation(matrix: Array) -> bool:
    """Whether entries are those of a correlation, looked at in blocks that fit."""
    if not np.abs(matrix.diagonal() - 1).max() <= ROUNDING:
        return False
    rows = max(1, _BLOCK // len(matrix))
    for row in range(0, len(matrix), rows):
        block, mirrored = matrix[row : row + rows], matrix[:, row : row + rows].T
        with np.errstate(invalid="ignore"):
            if not np.abs(block).max() <= 1 + ROUNDING:  # or not a number
                return False
            if not np.abs(block - mirrored).max() <= ROUNDING:
                return False
    return True


def check_number(name: str, value: Any, below: float) -> float:
    """Validate a number strictly between 0 and an upper limit."""
    wanted = f"{name} must be a number strictly between 0 and {below}"
    if not isinstance(value, Real):
        raise TypeError(f"{wanted}, got {value!r}")
    number = float(value)
    if not 0 < number < below:
        raise ValueError(f"{wanted}, got {value}")
    return number


def fixed_seed(random_state: RandomState) -> int | None:
    """Draw a seed once, so that it may be used again and again."""
    seeds = draw_seeds(random_state)
    return None if random_state is None else seeds[0]


def draw_seeds(random_state: RandomState) -> list[int]:
    """Seed the scrambles."""
    source: Any = 0 if random_state is None else random_state
    if isinstance(source, np.random.RandomState):
        source = source.randint(1 << 31, dtype=np.int64)
    try:
        generator = np.random.default_rng(source)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "random_state must be an int of at least 0, a numpy Generator, a "
            f"RandomState or None, got {random_state!r}"
        ) from error
    return [int(seed) for seed in generator.integers(1 << 31, size=SCRAMBLES)]
