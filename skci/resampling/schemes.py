"""Resampling schemes: splits of the data, and variances of resampled estimates."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array
from skci._validation import check_integer
from skci.inference.resampling_variance import (
    ResampledMoments,
    bootstrap_632,
    corrected_t,
    five_by_two_t,
    group_jackknife,
    leave_one_out_bootstrap,
)
from skci.resampling.pooling import EvaluatedPool
from skci.resampling.splitting import Pool, ResampledRows, Split, is_number_of_folds

_BATCH = 16  # number of splits whose predictions are in memory at once
_CORRECTED, HALVES = "corrected-t", "5x2-t"
_SPLIT_TS = {
    _CORRECTED: "corrected t",
    "fold-t": "t over splits, uncorrected",
    HALVES: "5 x 2 cv t, estimated on the first half only",
}
"""Descriptions of the schemes with variances between splits."""

Batch = tuple[list[Pool], int]
"""Pools with predictions in memory at the same time, and the number of leading pools
from which the estimate is computed."""

Summaries = Sequence[Sequence[Any]]
"""Summaries of the pools of each batch."""


class Scheme(ABC):
    """Resampling scheme, which determines the splits and the variance of estimates."""

    name: str
    min_sizes: ClassVar[Mapping[str, int]] = {}
    """Minimum of each size of the scheme, such as the number of groups, by name.

    A scheme with sizes makes the splits, and a number `cv` is the first size.
    """
    needs_means: ClassVar[bool] = False
    """Whether the scheme requires metrics that are means of a loss per row."""

    def __post_init__(self) -> None:
        for name, minimum in self.min_sizes.items():
            check_integer(getattr(self, name), name, minimum)

    @abstractmethod
    def batches(self, rows: ResampledRows) -> Iterator[Batch]:
        """Yield batches of pools.

        A pool is a set of splits that are evaluated together.
        """

    def summary(self, pool: EvaluatedPool) -> Any:
        """Return the results of a pool of splits that the method `moments` requires."""
        return pool.values

    @abstractmethod
    def moments(self, rows: ResampledRows, summaries: Summaries) -> ResampledMoments:
        """Compute estimates and their covariance from the summaries of all pools."""

    @abstractmethod
    def __str__(self) -> str:
        """Return a description of the scheme for the title of a report."""


def _batched(splits: Iterable[Split]) -> Iterator[Batch]:
    splits = iter(splits)
    while batch := list(itertools.islice(splits, _BATCH)):
        yield [(split,) for split in batch], len(batch)


@dataclass(frozen=True)
class GroupJackknife(Scheme):
    """Jackknife over groups of rows, for random partitions into groups.

    Pass this object as ``resampling=`` to :func:`.cross_validate_report` to change the
    numbers of groups and partitions of ``resampling="jackknife"``. Each model is fitted
    ``n_partitions * n_groups * (n_groups + 1) / 2`` times.

    Parameters
    ----------
    n_groups : int, default=5
        Number of groups into which rows are divided, at least 3. The groups are the
        folds of the cross-validation.
    n_partitions : int, default=3
        Number of random partitions over which results are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import cross_validate_report
    >>> from skci.resampling import GroupJackknife
    >>> resampling = GroupJackknife(n_groups=7, n_partitions=2)
    >>> report = cross_validate_report(
    ...     GaussianNB(), *load_wine(return_X_y=True), metrics="accuracy",
    ...     resampling=resampling,
    ... )
    >>> len(report.splits)
    14
    """

    n_groups: int = 5
    n_partitions: int = 3

    name = "jackknife"
    min_sizes: ClassVar[Mapping[str, int]] = {"n_groups": 3, "n_partitions": 1}

    def batches(self, rows: ResampledRows) -> Iterator[Batch]:
        """Yield the pools of each partition of the rows into groups.

        The first pool is a cross-validation over all groups. In each further pool, one
        group is left out.
        """
        for group in rows.partitions(self.n_groups, self.n_partitions):
            tests = [np.flatnonzero(group == k) for k in range(self.n_groups)]
            pools: list[Pool] = [
                tuple(
                    Split(np.flatnonzero((group != k) & (group != left_out)), test)
                    for k, test in enumerate(tests)
                    if k != left_out
                )
                for left_out in (-1, *range(self.n_groups))
            ]
            yield pools, 1

    def moments(self, rows: ResampledRows, summaries: Summaries) -> ResampledMoments:
        r"""Compute estimates and their covariance from P partitions into G groups.

        For independent partitions, the covariance would have :math:`\nu` degrees of
        freedom. The variances from two random partitions are correlated. If an estimate
        is linear in the n units, this correlation is :math:`(G - 1)/(n - 1)`. The
        degrees of freedom :math:`\nu` are therefore divided by :math:`1 + (P - 1)(G -
        1)/(n - 1)`.
        """
        values: Array = np.array(summaries)
        moments = group_jackknife(values[:, 0], values[:, 1:])
        shared = (self.n_partitions - 1) * (self.n_groups - 1) / (rows.n_units - 1)
        return moments._replace(df=moments.df / (1 + shared))

    def __str__(self) -> str:
        # Relative standard deviation of the root sum of squares.
        chance = 1 / math.sqrt(2 * self.n_partitions * (self.n_groups - 1))
        return (
            f"jackknife over {self.n_groups} groups of rows in {self.n_partitions} "
            f"random partition{'s' * (self.n_partitions > 1)}, whose choice moves "
            f"standard errors by about {chance:.0%}"
        )


@dataclass(frozen=True)
class SplitT(Scheme):
    """Resampling scheme with a t interval from the variance between splits."""

    name: str
    default_for: str = ""
    """Type of `cv`, if the scheme is the default for this type; else empty."""

    def batches(self, rows: ResampledRows) -> Iterator[Batch]:
        if self.name == HALVES:
            yield [(split,) for split in _halves(rows)], 1
            return
        splits = rows.splits()
        if len(splits) < 2:
            raise ValueError(
                f"cv must make at least two splits with resampling={self.name!r}, got "
                f"{len(splits)}; target='fold-models' accepts one split"
            )
        yield from _batched(splits)

    def summary(self, pool: EvaluatedPool) -> Any:
        return pool.values, [*map(len, pool.pool[0])]

    def moments(self, rows: ResampledRows, summaries: Summaries) -> ResampledMoments:
        pools = [*itertools.chain(*summaries)]
        n_train, n_test = np.sum([sizes for _, sizes in pools], axis=0)
        values = np.array([values for values, _ in pools])
        if self.name == HALVES:
            return five_by_two_t(values.reshape(5, 2, -1))
        return corrected_t(values, n_test / n_train if self.name == _CORRECTED else 0.0)

    def __str__(self) -> str:
        if self.default_for:
            return (
                f"corrected t, the default for splits by {self.default_for}; a number "
                "as cv selects the jackknife"
            )
        return _SPLIT_TS[self.name]


def _halves(rows: ResampledRows) -> Sequence[Split]:
    """Make the splits of five repetitions of two-fold cross-validation."""
    splits = [
        Split(np.flatnonzero(half != k), np.flatnonzero(half == k))
        for half in (rows.partitions(2, 5) if rows.cv is None else ())
        for k in range(2)
    ] or rows.splits()
    swapped = (
        np.array_equal(np.sort(rows_1), np.sort(rows_2))
        for first, second in zip(splits[::2], splits[1::2], strict=False)
        for rows_1, rows_2 in zip(first, second[::-1], strict=True)
    )
    if len(splits) != 10 or not all(swapped):
        raise ValueError(
            "cv must divide the rows into halves five times with resampling='5x2-t', "
            "such as RepeatedKFold(n_splits=2, n_repeats=5), or be None, got "
            f"{rows.cv!r}"
        )
    return splits


@dataclass(frozen=True)
class Bootstrap632(Scheme):
    """.632 or .632+ bootstrap, for metrics that are means over rows.

    Pass this object as ``resampling=`` to :func:`.cross_validate_report` to set the
    number of bootstrap samples. Each model is fitted once to each bootstrap sample, and
    once to all rows.

    Parameters
    ----------
    n_samples : int, default=200
        Number of bootstrap samples, at least 50, so that each row is out of the bag in
        some samples.
    plus : bool, default=False
        True for "bootstrap-632+", False for "bootstrap-632".

    Examples
    --------
    >>> from skci.resampling import Bootstrap632
    >>> Bootstrap632(n_samples=500, plus=True)
    Bootstrap632(n_samples=500, plus=True)
    """

    n_samples: int = 200
    plus: bool = False

    min_sizes: ClassVar[Mapping[str, int]] = {"n_samples": 50}
    needs_means = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return "bootstrap-632+" if self.plus else "bootstrap-632"

    def batches(self, rows: ResampledRows) -> Iterator[Batch]:
        """Yield a split that trains on all rows, then the bootstrap splits."""
        everything = np.arange(rows.n)
        yield [(Split(everything, everything),)], 0
        yield from _batched(self._samples(rows))

    def _samples(self, rows: ResampledRows) -> Iterator[Split]:
        """Yield splits that train on a bootstrap sample and test the remaining rows."""
        rng = np.random.default_rng(rows.random_state)
        units, n_units = rows.units(2), rows.n_units
        for _ in range(self.n_samples):
            drawn = np.ones(n_units, dtype=int)
            while drawn.all():  # repeat until some unit is out of the bag
                drawn = np.bincount(rng.integers(n_units, size=n_units), None, n_units)
            counts = drawn[units]
            train = np.repeat(np.arange(rows.n), counts)
            yield Split(train, np.flatnonzero(counts == 0))

    def summary(self, pool: EvaluatedPool) -> Any:
        ((train, test),) = pool.pool
        if train is test:  # apparent values
            plus = self.plus
            return pool.values, pool.best, pool.without_information if plus else None
        return train, test, pool.losses

    def moments(self, rows: ResampledRows, summaries: Summaries) -> ResampledMoments:
        units, weights = rows.units(), rows.weights
        sizes = np.bincount(units, weights)
        (apparent,), *batches = summaries
        counts, losses = [], []
        for train, test, row_losses in itertools.chain(*batches):
            test = test[weights[test] > 0]
            weighted = row_losses * weights[test]
            counts.append(np.bincount(units[train], minlength=len(sizes)))
            losses.append([np.bincount(units[test], x, len(sizes)) for x in weighted])
        left_out = leave_one_out_bootstrap(
            np.array(counts) / np.bincount(units),
            np.array(losses) / np.where(sizes > 0, sizes, 1),
            sizes,
        )
        return bootstrap_632(left_out, *apparent)

    def __str__(self) -> str:
        return f".632{'+' * self.plus} bootstrap from {self.n_samples} samples"


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        GroupJackknife(),
        *map(SplitT, _SPLIT_TS),
        Bootstrap632(),
        Bootstrap632(plus=True),
    )
}
"""All schemes by name, with default sizes."""


def scheme_of(
    resampling: Any, cv: Any, names: Sequence[str] = tuple(SCHEMES)
) -> Scheme:
    """Return the resampling scheme for the options `resampling` and `cv`."""
    if resampling is None and not is_number_of_folds(cv):
        return SplitT(_CORRECTED, default_for=type(cv).__name__)
    if resampling is None:
        resampling = "jackknife"
    scheme = SCHEMES.get(resampling) if isinstance(resampling, str) else resampling
    if not (isinstance(scheme, Scheme) and scheme.name in names):
        raise ValueError(
            f"resampling must be one of {[*names]}, or a resampling scheme such as "
            f"GroupJackknife(n_groups=7), got {resampling!r}"
        )
    if cv is None or not scheme.min_sizes:
        return scheme
    if scheme is resampling or not is_number_of_folds(cv):
        requirement = "None" if scheme is resampling else "a number or None"
        raise ValueError(
            f"cv must be {requirement} with resampling={resampling!r}, got {cv!r}; the "
            "resampling method makes the splits"
        )
    size, minimum = next(iter(scheme.min_sizes.items()))
    return replace(scheme, **{size: check_integer(cv, "cv", minimum)})  # type: ignore
