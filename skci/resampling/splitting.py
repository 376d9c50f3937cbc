"""Splits of rows in training and test sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, overload

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from skci._arrays import Array

_STRATIFIED = (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
_FOLDS = 5  # of cross-validation, if there is no splitter


class Split(NamedTuple):
    """Rows to fit to, and rows to predict."""

    train: Array
    test: Array

    @property
    def training_set(self) -> bytes:
        """Identity of the rows to fit to, to look up what was fitted to them."""
        return self.train.tobytes()


class PackedRows(NamedTuple):
    """Numbers of rows in little memory: a bit mask, or the smallest integers.

    A mask needs numbers that increase; others may be in any order, and repeat.
    """

    values: Array
    is_bit_mask: bool

    @classmethod
    def of(cls, rows: Array) -> Self:
        """Pack the numbers of rows."""
        largest = int(rows.max(initial=0))
        if not (rows[1:] > rows[:-1]).all():
            return cls(rows.astype(np.min_scalar_type(largest)), False)
        mask = np.zeros(largest + 1, dtype=bool)
        mask[rows] = True
        return cls(np.packbits(mask), True)

    @property
    def rows(self) -> Array:
        """The numbers of the rows."""
        if self.is_bit_mask:
            return np.flatnonzero(np.unpackbits(self.values))
        return self.values.astype(np.intp)


class Splits(Sequence[Split]):
    """Splits in little memory, whose rows are made when they are looked at."""

    def __init__(self, splits: Iterable[tuple[Array, Array]] = ()) -> None:
        pairs = ((PackedRows.of(train), PackedRows.of(test)) for train, test in splits)
        self._packed = tuple(pairs)

    def __add__(self, other: Splits) -> Splits:
        splits = Splits()
        splits._packed = self._packed + other._packed
        return splits

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, key: int) -> Split: ...

    @overload
    def __getitem__(self, key: slice) -> list[Split]: ...

    def __getitem__(self, key: int | slice) -> Split | list[Split]:
        if isinstance(key, slice):
            return [self[k] for k in range(len(self))[key]]
        train, test = self._packed[key]
        return Split(train.rows, test.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} splits>"


Pool = tuple[Split, ...]
"""Splits whose test sets are disjoint; their predictions are evaluated at once."""


def unique_training_sets(pools: Iterable[Pool]) -> list[Split]:
    """Different training sets, each with all rows that it is tested on, in order."""
    splits = list(itertools.chain(*pools))
    n_rows = 1 + max(int(rows.max()) for split in splits for rows in split)
    trains: dict[bytes, Array] = {}
    tested: dict[bytes, Array] = {}
    for split in splits:
        name = split.training_set
        trains[name] = split.train
        tested.setdefault(name, np.zeros(n_rows, dtype=bool))[split.test] = True
    return [Split(trains[name], np.flatnonzero(tested[name])) for name in trains]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to resample, in independent units, and the splitter for parts of them."""

    y: Array
    groups: Array | None
    """Number of the cluster of each row."""
    cv: Any
    random_state: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_units(self) -> int:
        """Number of independent units: clusters, or rows."""
        return self.n if self.groups is None else int(self.groups.max()) + 1

    def partition(self, n_parts: int, rng: np.random.Generator) -> Array:
        """Number of the part of each row, in a random partition of the units."""
        units = self.units(n_parts)
        n_units = int(units.max()) + 1
        parts: Array = rng.permutation(np.arange(n_units) % n_parts)[units]
        return parts

    def units(self, least: int) -> Array:
        """Number of the independent unit of each row, of which there are so many."""
        units = np.arange(self.n) if self.groups is None else self.groups
        n_units = int(units.max()) + 1
        if n_units < least:
            kind = "rows" if self.groups is None else "groups"
            raise ValueError(
                f"X must have at least {least} {kind} to divide, got {n_units}; choose "
                "fewer groups or folds"
            )
        return units

    def splits(self, rows: Array | None = None) -> Splits:
        """Splits of all rows, or of some of them, by the splitter."""
        rows = np.arange(self.n) if rows is None else rows
        groups = None if self.groups is None else self.groups[rows]
        # Splitters look at X for its number of rows.
        pairs = self._splitter.split(np.zeros(len(rows)), self.y[rows], groups)
        splits = Splits((rows[train], rows[test]) for train, test in pairs)
        if self.groups is not None:
            for train, test in splits:
                if np.isin(self.groups[test], self.groups[train]).any():
                    raise ValueError(
                        "cv must not divide groups, which may be dependent within, "
                        f"got {type(self.cv).__name__}; use GroupKFold or "
                        "StratifiedGroupKFold"
                    )
        return splits

    @property
    def makes_folds(self) -> bool:
        """Whether there is but a number of folds, and no splitter."""
        return self.cv is None or isinstance(self.cv, int | np.integer)

    @property
    def is_stratified(self) -> bool:
        """Whether all splits have the same share of each label.

        Those that are given, and not made by a splitter, are looked at.
        """
        if isinstance(self.cv, list | PredefinedSplit) and self.y.ndim == 1:
            return have_equal_shares([test for _, test in self.splits()], self.y)
        return isinstance(self.cv, _STRATIFIED)

    @property
    def _splitter(self) -> Any:
        if self.makes_folds:
            n_folds = _FOLDS if self.cv is None else int(self.cv)
            if self.groups is not None:
                return GroupKFold(n_folds, shuffle=True, random_state=self.random_state)
            return KFold(n_folds, shuffle=True, random_state=self.random_state)
        try:
            return check_cv(self.cv)
        except ValueError as error:
            raise ValueError(
                "cv must be a number of folds, a splitter of "
                f"sklearn.model_selection or an iterable of splits, got {self.cv!r}"
            ) from error


def have_equal_shares(tests: Sequence[Array], y: Array) -> bool:
    """Whether test sets have the numbers of rows of each label that are expected.

    As exactly as whole rows allow: the share of the label among all rows times the
    number of rows, less than one row off, where test sets are of equal size.
    """
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.array([np.bincount(codes[test], None, len(labels)) for test in tests])
    sizes = counts.sum(axis=1)
    shares = np.bincount(codes) / len(y)
    off = np.abs(counts - np.outer(sizes, shares))
    slack = np.outer(np.abs(sizes - sizes.mean()), shares)
    return bool((off < 1 + slack).all())


def disjoint_pools(splits: Iterable[Split]) -> Iterator[Pool]:
    """Unite consecutive splits while their test sets are disjoint."""
    pool: list[Split] = []
    tested: set[int] = set()
    for split in splits:
        rows = set(split.test.tolist())
        if pool and tested & rows:
            yield tuple(pool)
            pool, tested = [], set()
        pool.append(split)
        tested |= rows
    if pool:
        yield tuple(pool)
