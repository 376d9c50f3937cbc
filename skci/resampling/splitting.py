"""Splits of rows into training and test sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv

from skci._arrays import Array
from skci._options import short_repr
from skci._validation import as_array, check_integer

_FOLDS = 5  # default number of folds


class Split(NamedTuple):
    """Indices of training rows and of test rows."""

    train: Array
    test: Array


Pool = tuple[Split, ...]
"""Splits with disjoint test sets, which are evaluated together."""


def take_rows(X: Any, rows: Array) -> Any:
    """Select rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in np.asarray(rows).tolist()]


def is_number_of_folds(cv: Any) -> bool:
    """Return whether `cv` is a number of folds or None, not a splitter."""
    return cv is None or isinstance(cv, Integral)


@dataclass(frozen=True, eq=False)
class ResampledRows:
    """Rows to be resampled, with their independent units and the splitter."""

    X: Any
    """Features, for splitters that use them."""
    y: Array
    groups: Array | None
    """Cluster index of each row."""
    cv: Any
    random_state: int
    group_names: Array | None = None
    """Cluster of each row as passed by the user, for splitters that use it."""
    sample_weight: Array | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def weights(self) -> Array:
        """Weight of each row, by default 1."""
        return np.ones(self.n) if self.sample_weight is None else self.sample_weight

    @property
    def n_units(self) -> int:
        """Number of independent units, that is, clusters or single rows."""
        return int(self.units().max()) + 1

    def units(self, minimum: int = 1) -> Array:
        """Check the number of independent units, and return the unit of each row."""
        units = np.arange(self.n) if self.groups is None else self.groups
        n_units = int(units.max()) + 1
        if n_units < minimum:
            kind = "rows" if self.groups is None else "groups"
            raise ValueError(
                f"X must have at least {minimum} {kind} to divide, got {n_units}; "
                "choose fewer groups or folds"
            )
        return units

    def partitions(self, n_parts: int, n_partitions: int) -> Iterator[Array]:
        """Yield random partitions of the units into `n_parts` parts.

        A partition is an array with the part index of each row.
        """
        rng = np.random.default_rng(self.random_state)
        units = self.units(n_parts)
        parts = np.arange(self.n_units) % n_parts
        for _ in range(n_partitions):
            yield rng.permutation(parts)[units]

    def splits(self) -> list[Split]:
        """Make the splits, and check them."""
        pairs = self.cv
        if not isinstance(pairs, list):
            pairs = self._splitter.split(self.X, self.y, self.group_names)
        splits = list(_check_splits(pairs, self.n))
        if self.groups is not None:
            for train, test in splits:
                if np.isin(self.groups[test], self.groups[train]).any():
                    raise ValueError(
                        "cv must not divide a group between training and test rows, "
                        f"got {type(self.cv).__name__}; use GroupKFold or "
                        "StratifiedGroupKFold"
                    )
        return splits

    @property
    def _splitter(self) -> Any:
        if is_number_of_folds(self.cv):
            folds = KFold if self.groups is None else GroupKFold
            n_folds = _FOLDS if self.cv is None else check_integer(self.cv, "cv", 2)
            self.units(n_folds)
            return folds(n_folds, shuffle=True, random_state=self.random_state)
        try:
            return check_cv(self.cv)
        except ValueError as error:
            raise ValueError(
                "cv must be a number of folds, a splitter of "
                f"sklearn.model_selection or an iterable of splits, got {self.cv!r}"
            ) from error


def _check_splits(pairs: Iterable[Any], n: int) -> Iterator[Split]:
    """Check the splits of n rows, and yield each split as arrays of row indices."""
    k = -1
    for k, pair in enumerate(pairs):
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise ValueError(
                "cv must make pairs of training and test rows, got "
                f"{short_repr(pair)} as split {k}"
            )
        train, test = (
            _check_part(part, name, n, f" as split {k}")
            for part, name in zip(pair, ("training", "test"), strict=True)
        )
        times = np.bincount(test, minlength=n)
        if times.max() > 1:
            repeated = f"row {times.argmax()} {times.max()} times"
            raise ValueError(
                f"cv must test each row at most once in a split, got {repeated} in "
                f"split {k}"
            )
        if times[train].any():
            raise ValueError(
                "cv must not test training rows, got "
                f"{np.count_nonzero(times[np.unique(train)])} such rows in split {k}"
            )
        yield Split(train, test)
    if k < 0:
        raise ValueError("cv must make at least one split, got none")


def _check_part(values: Any, name: str, n: int, where: str) -> Array:
    """Check the training or test rows of a split, and return row indices."""
    part = as_array(values, f"{name} rows of cv", "an array of row indices")
    if part.shape == (n,) and part.dtype == bool:
        part = np.flatnonzero(part)
    is_valid = part.ndim == 1 and len(part) and part.dtype.kind in "iu"
    if not is_valid or part.min() < 0 or part.max() >= n:
        got = "an empty set"
        if part.size:
            got = f"{part.min()} to {part.max()} of dtype {part.dtype}"
        raise ValueError(
            f"cv must make {name} sets of one or more row indices from 0 to {n - 1}, "
            f"got {got}{where}"
        )
    return part.astype(np.intp)
