"""Resampling schemes: which models are fitted, and the variance that follows."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)

from skci._arrays import Array
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.resampling_variance import (
    ResampledMoments,
    bootstrap_632,
    conservative_z,
    corrected_t,
    five_by_two_t,
    fold_t,
    group_jackknife,
    leave_one_out_bootstrap,
    nested,
)
from skci.resampling.fitting import Fit
from skci.resampling.pooling import Losses

Pool = tuple[Fit, ...]
"""Fits whose test sets are disjoint; their predictions are evaluated at once."""

_STRATIFIED = (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
_FEW_UNITS = 12  # whose halves leave too little to a normal quantile
_FOLDS = 5  # of cross-validation, if there is no splitter
_LEAST_SAMPLES = 50  # of a bootstrap, for each row to be out of the bag of some
_BATCH = 16  # splits whose predictions are held at once


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
                f"X must have at least {least} {kind} to divide, got {n_units}"
            )
        return units

    def splits(self, rows: Array | None = None) -> list[Fit]:
        """Splits of all rows, or of some of them, by the splitter."""
        rows = np.arange(self.n) if rows is None else rows
        groups = None if self.groups is None else self.groups[rows]
        # Splitters look at X for its number of rows.
        pairs = self._splitter.split(np.zeros(len(rows)), self.y[rows], groups)
        splits = [Fit(rows[train], rows[test]) for train, test in pairs]
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


class Batch(NamedTuple):
    """Pools whose predictions are held in memory at once.

    The first ones, as many as `n_of_estimate`, are those that the estimate is of.
    `without_information` is whether the metrics are also evaluated on all pairs of a
    true and a predicted value.
    """

    pools: list[Pool]
    n_of_estimate: int
    without_information: bool = False


class Evaluation(NamedTuple):
    """Values of the metrics in a pool, (K,), and what else a scheme needs."""

    values: Array
    covariance: Array | None = None
    """Their covariance given the models, (K, K)."""
    losses: Losses | None = None
    without_information: Array | None = None


class Scheme(ABC):
    """A resampling scheme, and the variance of its estimates."""

    needs_means: ClassVar[bool] = False
    """Whether it is for means over rows alone."""
    needs_covariance: ClassVar[bool] = False
    """Whether it needs the covariance of each pool given the models."""
    needs_losses: ClassVar[bool] = False
    """Whether it needs the loss of each row, and the best value of each metric."""
    needs_spread_of_folds: ClassVar[bool] = False
    """Whether its variance is that between splits, which stratified ones reduce."""
    of_all_rows: ClassVar[bool] = False
    """Whether the estimate is corrected to training sets of all rows."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the variance."""

    @abstractmethod
    def batches(self, rows: Rows) -> Iterator[Batch]:
        """Pools of fits, in batches."""

    @abstractmethod
    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        """Moments of the estimates from the evaluated pools of each batch.

        The splits are those that the estimate is of.
        """

    def effective_df(self, df: float, n_units: int) -> float:
        """Degrees of freedom when there are n independent units."""
        return df

    @abstractmethod
    def __str__(self) -> str:
        """Description of the variance in the title of a report."""


class OwnSplits(Scheme):
    """A scheme that makes its own splits, of a number of parts that may be given."""

    @abstractmethod
    def with_parts(self, n_parts: int) -> Self:
        """Return the same with another number of parts."""


def disjoint_pools(splits: Iterable[Fit]) -> Iterator[Pool]:
    """Unite consecutive splits while their test sets are disjoint."""
    pool: list[Fit] = []
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


def _values(evaluations: Iterable[Evaluation]) -> Array:
    return np.array([evaluation.values for evaluation in evaluations])


def _batched(pools: Iterable[Pool]) -> Iterator[Batch]:
    pools = iter(pools)
    while batch := list(itertools.islice(pools, _BATCH)):
        yield Batch(batch, len(batch))


@dataclass(frozen=True)
class GroupJackknife(OwnSplits):
    """Jackknife over groups of rows; see `inference.resampling_variance`."""

    n_groups: int = 5
    n_partitions: int = 3

    name = "jackknife"

    def with_parts(self, n_parts: int) -> Self:
        """The same with another number of groups."""
        return replace(self, n_groups=check_parts(n_parts, 3))

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """The cross-validation over the groups, and that without each of them."""
        for pools in jackknife_pools(rows, self.n_groups, self.n_partitions):
            yield Batch(pools, 1)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        values = np.stack([_values(batch) for batch in evaluations])
        return group_jackknife(values[:, 0], values[:, 1:])

    def effective_df(self, df: float, n_units: int) -> float:
        r"""Degrees of freedom that partitions of n units share.

        :math:`\nu / (1 + (P - 1)(G - 1)/(n - 1))`: of an estimate that is linear in the
        units, the variances of two random partitions have the correlation
        :math:`(G - 1)/(n - 1)`.
        """
        shared = (self.n_partitions - 1) * (self.n_groups - 1) / (n_units - 1)
        return df / (1 + shared)

    def __str__(self) -> str:
        return (
            f"jackknife over {self.n_groups} groups of rows in {self.n_partitions} "
            f"partition{'s' * (self.n_partitions > 1)}"
        )


def check_parts(n_parts: int, least: int) -> int:
    """Check a number of parts to divide the rows in."""
    if n_parts < least:
        raise ValueError(f"cv must be at least {least} parts, got {n_parts}")
    return n_parts


def jackknife_pools(
    rows: Rows, n_groups: int, n_partitions: int
) -> Iterator[list[Pool]]:
    """Pools of each of several random partitions in groups.

    The cross-validation over the groups, and that without each of them.
    """
    rng = np.random.default_rng(rows.random_state)
    for _ in range(n_partitions):
        group = rows.partition(n_groups, rng)
        tests = [np.flatnonzero(group == k) for k in range(n_groups)]
        whole = tuple(
            Fit(np.flatnonzero(group != k), test) for k, test in enumerate(tests)
        )
        without = [
            tuple(
                Fit(np.flatnonzero((group != k) & (group != left_out)), test)
                for k, test in enumerate(tests)
                if k != left_out
            )
            for left_out in range(n_groups)
        ]
        yield [whole, *without]


@dataclass(frozen=True)
class NestedCrossValidation(OwnSplits):
    """Nested cross-validation, for means of losses."""

    n_folds: int = 5
    n_partitions: int = 10

    name = "nested"
    needs_means: ClassVar[bool] = True
    needs_covariance: ClassVar[bool] = True
    of_all_rows: ClassVar[bool] = True

    def with_parts(self, n_parts: int) -> Self:
        """The same with another number of folds."""
        return replace(self, n_folds=check_parts(n_parts, 3))

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """The same fits as of a jackknife over groups, and each fold by itself."""
        for pools in jackknife_pools(rows, self.n_folds, self.n_partitions):
            yield Batch([*pools, *((fit,) for fit in pools[0])], 1)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        values = np.stack([_values(batch) for batch in evaluations])
        whole, inner, outer = np.split(values, [1, 1 + self.n_folds], axis=1)
        covariance = np.array([[e.covariance for e in batch] for batch in evaluations])
        return nested(
            whole[:, 0],
            inner,
            outer,
            covariance[:, 1 + self.n_folds :],
            covariance[:, 0].mean(axis=0),
        )

    def __str__(self) -> str:
        return (
            f"nested cross-validation in {self.n_folds} folds, "
            f"{self.n_partitions} times, corrected for bias"
        )


@dataclass(frozen=True)
class ConservativeZ(Scheme):
    """The splitter within pairs of disjoint random halves of the rows."""

    n_halves: int = 10

    name = "conservative-z"

    def batches(self, rows: Rows) -> Iterator[Batch]:
        fixed = isinstance(rows.cv, PredefinedSplit | TimeSeriesSplit)
        if fixed or not (rows.makes_folds or hasattr(rows.cv, "split")):
            raise ValueError(
                "cv must be a number of folds or a splitter with "
                "variance='conservative-z', which splits halves of the rows as well, "
                f"got {type(rows.cv).__name__}"
            )
        if rows.n_units < _FEW_UNITS:
            warn_caller(
                f"fewer than {_FEW_UNITS} independent units, {rows.n_units}: the "
                "variance between halves is poorly estimated and the intervals may be "
                "too narrow; variance='jackknife' allows for it",
                ResamplingWarning,
            )
        pools, halves = list(disjoint_pools(rows.splits())), self._halves(rows)
        first = next(halves)  # refused before any fit if halves cannot be split
        yield Batch(pools, len(pools))
        yield from itertools.chain([first], halves)

    def _halves(self, rows: Rows) -> Iterator[Batch]:
        """Splits within each half of random divisions of the rows."""
        rng = np.random.default_rng(rows.random_state)
        for _ in range(self.n_halves):
            half = rows.partition(2, rng)
            for k in range(2):
                splits = rows.splits(np.flatnonzero(half == k))
                yield Batch(list(disjoint_pools(splits)), 0)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        whole, *halves = [_values(batch) for batch in evaluations]
        means = np.array([half.mean(axis=0) for half in halves])
        return conservative_z(whole, means.reshape(self.n_halves, 2, -1))

    def __str__(self) -> str:
        return f"conservative z from {self.n_halves} pairs of halves"


@dataclass(frozen=True)
class SplitT(Scheme):
    """The t interval of the mean over splits, corrected for their overlap or not."""

    corrected: bool = True

    needs_spread_of_folds: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "corrected-t" if self.corrected else "fold-t"

    def batches(self, rows: Rows) -> Iterator[Batch]:
        splits = rows.splits()
        if len(splits) < 2:
            raise ValueError(f"cv must make at least two splits, got {len(splits)}")
        yield from _batched((split,) for split in splits)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        values = np.concatenate([_values(batch) for batch in evaluations])
        if not self.corrected:
            return fold_t(values)
        n_test = sum(len(split.test) for split in splits)
        return corrected_t(values, n_test / sum(len(split.train) for split in splits))

    def __str__(self) -> str:
        return "corrected t" if self.corrected else "t over splits, uncorrected"


@dataclass(frozen=True)
class FiveByTwo(Scheme):
    """Five repetitions of two halves, each tested on the other."""

    name = "5x2-t"
    needs_spread_of_folds: ClassVar[bool] = True

    def batches(self, rows: Rows) -> Iterator[Batch]:
        splits = rows.splits() if rows.cv is not None else list(self._halves(rows))
        pairs = list(zip(splits[::2], splits[1::2], strict=False))
        swapped = [
            np.array_equal(np.sort(one.train), np.sort(other.test))
            and np.array_equal(np.sort(one.test), np.sort(other.train))
            for one, other in pairs
        ]
        if len(splits) != 10 or not all(swapped):
            raise ValueError(
                "cv must make five pairs of halves with variance='5x2-t', as "
                "RepeatedKFold(n_splits=2, n_repeats=5), or be None, got "
                f"{rows.cv!r}"
            )
        yield Batch([(split,) for split in splits], 1)

    @staticmethod
    def _halves(rows: Rows) -> Iterator[Fit]:
        rng = np.random.default_rng(rows.random_state)
        for _ in range(5):
            half = rows.partition(2, rng)
            for k in range(2):
                yield Fit(np.flatnonzero(half != k), np.flatnonzero(half == k))

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        return five_by_two_t(_values(evaluations[0]).reshape(5, 2, -1))

    def __str__(self) -> str:
        return "5 x 2 cv t, estimated on the first half alone"


@dataclass(frozen=True)
class Bootstrap(OwnSplits):
    """The .632 bootstrap of means of losses, or .632+."""

    n_samples: int = 200
    plus: bool = False

    needs_means: ClassVar[bool] = True
    needs_losses: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "bootstrap-632+" if self.plus else "bootstrap-632"

    def with_parts(self, n_parts: int) -> Self:
        """Return the same with another number of bootstrap samples."""
        return replace(self, n_samples=check_parts(n_parts, _LEAST_SAMPLES))

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """All rows, predicted by models fitted to them; and the bootstrap samples."""
        everything = np.arange(rows.n)
        yield Batch([(Fit(everything, everything),)], 0, self.plus)
        yield from _batched((split,) for split in self._samples(rows))

    def _samples(self, rows: Rows) -> Iterator[Fit]:
        """Rows of bootstrap samples of the units, and those out of the bag."""
        rng = np.random.default_rng(rows.random_state)
        units = rows.units(2)
        n_units = int(units.max()) + 1
        for _ in range(self.n_samples):
            drawn = np.ones(n_units, dtype=int)
            while drawn.all():  # some unit must be left out
                drawn = np.bincount(rng.integers(n_units, size=n_units), None, n_units)
            counts = drawn[units]
            yield Fit(np.repeat(np.arange(rows.n), counts), np.flatnonzero(counts == 0))

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Fit],
    ) -> ResampledMoments:
        apparent = evaluations[0][0]
        of_all, *left_out = map(_losses, itertools.chain(*evaluations))
        sizes = np.bincount(of_all.units, of_all.weights)
        counts = np.zeros((len(splits), len(sizes)))
        losses = np.zeros((len(splits), len(of_all.best), len(sizes)))
        for b, (split, found) in enumerate(zip(splits, left_out, strict=True)):
            drawn = of_all.units[split.train]
            counts[b] = np.bincount(drawn, minlength=len(sizes))
            for k, values in enumerate(found.values * found.weights):
                losses[b, k] = np.bincount(found.units, values, len(sizes))
        counts /= np.bincount(of_all.units)
        losses /= np.where(sizes > 0, sizes, 1)
        return bootstrap_632(
            leave_one_out_bootstrap(counts, losses, sizes),
            apparent.values,
            of_all.best,
            apparent.without_information,
        )

    def __str__(self) -> str:
        return f".632{'+' * self.plus} bootstrap from {self.n_samples} samples"


def _losses(evaluation: Evaluation) -> Losses:
    if evaluation.losses is None:
        raise RuntimeError("losses of rows were not evaluated")
    return evaluation.losses


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        GroupJackknife(),
        ConservativeZ(),
        SplitT(),
        NestedCrossValidation(),
        SplitT(corrected=False),
        FiveByTwo(),
        Bootstrap(),
        Bootstrap(plus=True),
    )
}
"""Every variance by its name, with the default sizes."""
