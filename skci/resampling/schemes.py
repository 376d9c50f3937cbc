"""Resampling schemes: which models are fitted, and the variance that follows."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit

from skci._arrays import Array
from skci._validation import check_integer
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
from skci.resampling.pooling import Losses
from skci.resampling.splitting import Pool, Rows, Split, disjoint_pools

_FEW_UNITS = 12  # whose halves leave too little to a normal quantile
_BATCH = 16  # splits whose predictions are held at once


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

    least: ClassVar[Mapping[str, int]] = {}
    """Least values of its sizes, by their names."""
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

    def __post_init__(self) -> None:
        for name, least in self.least.items():
            check_integer(getattr(self, name), name, least)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the variance."""

    @abstractmethod
    def batches(self, rows: Rows) -> Iterator[Batch]:
        """Pools of splits, in batches."""

    @abstractmethod
    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Split],
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
    """A scheme that makes its own splits."""

    def with_parts(self, n_parts: int) -> Self:
        """Return the same with another number of parts, its first size."""
        name, least = next(iter(self.least.items()))
        if n_parts < least:
            raise ValueError(f"cv must be at least {least} parts, got {n_parts}")
        return replace(self, **{name: n_parts})  # type: ignore[type-var]


def _values(evaluations: Iterable[Evaluation]) -> Array:
    return np.array([evaluation.values for evaluation in evaluations])


def _batched(pools: Iterable[Pool]) -> Iterator[Batch]:
    pools = iter(pools)
    while batch := list(itertools.islice(pools, _BATCH)):
        yield Batch(batch, len(batch))


@dataclass(frozen=True)
class GroupJackknife(OwnSplits):
    """Variance of a cross-validation by a jackknife over groups of rows.

    For the parameter `variance` of :func:`cross_validate_report`, to set the sizes that
    "jackknife" has. Each learner is fitted
    ``n_partitions * n_groups * (n_groups + 1) / 2`` times.

    Parameters
    ----------
    n_groups : int, default=5
        Number of groups of a partition of the rows, which are the folds, at least 3.
    n_partitions : int, default=3
        Number of random partitions that are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import GroupJackknife, cross_validate_report
    >>> variance = GroupJackknife(n_groups=7, n_partitions=2)
    >>> report = cross_validate_report(
    ...     GaussianNB(), *load_wine(return_X_y=True), metrics="accuracy",
    ...     variance=variance,
    ... )
    >>> len(report.splits)
    14
    """

    n_groups: int = 5
    n_partitions: int = 3

    name = "jackknife"
    least: ClassVar[Mapping[str, int]] = {"n_groups": 3, "n_partitions": 1}

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """The cross-validation over the groups, and that without each of them."""
        for pools in jackknife_pools(rows, self.n_groups, self.n_partitions):
            yield Batch(pools, 1)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Split],
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
            Split(np.flatnonzero(group != k), test) for k, test in enumerate(tests)
        )
        without = [
            tuple(
                Split(np.flatnonzero((group != k) & (group != left_out)), test)
                for k, test in enumerate(tests)
                if k != left_out
            )
            for left_out in range(n_groups)
        ]
        yield [whole, *without]


@dataclass(frozen=True)
class NestedCrossValidation(OwnSplits):
    """Variance of means over rows by nested cross-validation.

    For the parameter `variance` of :func:`cross_validate_report`, to set the sizes that
    "nested" has. Each learner is fitted ``n_partitions * n_folds * (n_folds + 1) / 2``
    times.

    Parameters
    ----------
    n_folds : int, default=5
        Number of folds of a partition of the rows, at least 3.
    n_partitions : int, default=10
        Number of random partitions that are averaged.

    Examples
    --------
    >>> from skci import NestedCrossValidation
    >>> NestedCrossValidation(n_folds=10, n_partitions=20)
    NestedCrossValidation(n_folds=10, n_partitions=20)
    """

    n_folds: int = 5
    n_partitions: int = 10

    name = "nested"
    least: ClassVar[Mapping[str, int]] = {"n_folds": 3, "n_partitions": 1}
    needs_means: ClassVar[bool] = True
    needs_covariance: ClassVar[bool] = True
    of_all_rows: ClassVar[bool] = True

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """The same splits as of a jackknife over groups, and each fold by itself."""
        for pools in jackknife_pools(rows, self.n_folds, self.n_partitions):
            yield Batch([*pools, *((split,) for split in pools[0])], 1)

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Split],
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
    """Variance of any splits by the same within pairs of disjoint halves of the rows.

    For the parameter `variance` of :func:`cross_validate_report`, to set the number of
    halves that "conservative-z" has. With k splits each learner is fitted
    ``k * (1 + 2 * n_halves)`` times.

    Parameters
    ----------
    n_halves : int, default=10
        Number of random divisions of the rows in two halves, at least 2.

    Examples
    --------
    >>> from skci import ConservativeZ
    >>> ConservativeZ(n_halves=20)
    ConservativeZ(n_halves=20)
    """

    n_halves: int = 10

    name = "conservative-z"
    least: ClassVar[Mapping[str, int]] = {"n_halves": 2}

    def batches(self, rows: Rows) -> Iterator[Batch]:
        fixed = isinstance(rows.cv, PredefinedSplit | TimeSeriesSplit)
        if fixed or not (rows.makes_folds or hasattr(rows.cv, "split")):
            raise ValueError(
                "cv must be a number of folds or a splitter with "
                "variance='conservative-z', which splits halves of the rows as well, "
                f"got {type(rows.cv).__name__}; variance='corrected-t' takes any"
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
        splits: Sequence[Split],
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
        splits: Sequence[Split],
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
    def _halves(rows: Rows) -> Iterator[Split]:
        rng = np.random.default_rng(rows.random_state)
        for _ in range(5):
            half = rows.partition(2, rng)
            for k in range(2):
                yield Split(np.flatnonzero(half != k), np.flatnonzero(half == k))

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Split],
    ) -> ResampledMoments:
        return five_by_two_t(_values(evaluations[0]).reshape(5, 2, -1))

    def __str__(self) -> str:
        return "5 x 2 cv t, estimated on the first half alone"


@dataclass(frozen=True)
class Bootstrap632(OwnSplits):
    """The .632 bootstrap of means over rows, or .632+.

    For the parameter `variance` of :func:`cross_validate_report`, to set the number of
    samples that "bootstrap-632" and "bootstrap-632+" have. Each learner is fitted once
    to each, and to all rows.

    Parameters
    ----------
    n_samples : int, default=200
        Number of bootstrap samples, at least 50 for each row to be out of the bag of
        some.
    plus : bool, default=False
        Whether it is "bootstrap-632+".

    Examples
    --------
    >>> from skci import Bootstrap632
    >>> Bootstrap632(n_samples=500, plus=True)
    Bootstrap632(n_samples=500, plus=True)
    """

    n_samples: int = 200
    plus: bool = False

    least: ClassVar[Mapping[str, int]] = {"n_samples": 50}
    needs_means: ClassVar[bool] = True
    needs_losses: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "bootstrap-632+" if self.plus else "bootstrap-632"

    def batches(self, rows: Rows) -> Iterator[Batch]:
        """All rows, predicted by models fitted to them; and the bootstrap samples."""
        everything = np.arange(rows.n)
        yield Batch([(Split(everything, everything),)], 0, self.plus)
        yield from _batched((split,) for split in self._samples(rows))

    def _samples(self, rows: Rows) -> Iterator[Split]:
        """Rows of bootstrap samples of the units, and those out of the bag."""
        rng = np.random.default_rng(rows.random_state)
        units = rows.units(2)
        n_units = int(units.max()) + 1
        for _ in range(self.n_samples):
            drawn = np.ones(n_units, dtype=int)
            while drawn.all():  # some unit must be left out
                drawn = np.bincount(rng.integers(n_units, size=n_units), None, n_units)
            counts = drawn[units]
            yield Split(
                np.repeat(np.arange(rows.n), counts), np.flatnonzero(counts == 0)
            )

    def moments(
        self,
        evaluations: list[list[Evaluation]],
        splits: Sequence[Split],
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
        Bootstrap632(),
        Bootstrap632(plus=True),
    )
}
"""Every variance by its name, with the default sizes."""
