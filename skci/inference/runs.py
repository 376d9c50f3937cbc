r"""Rows crossed with runs: the covariance of means over several runs of a model.

The variance of a mean over runs is

.. math:: V = V_\text{rows} + V_\text{runs} - V_\text{both} ,

of the mean influence values of the rows, of the values of the runs, and of what both
count: the deviations of the influence values of each run from their mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit

from skci._arrays import Array, cached_property, dataclass
from skci.inference.designs.design import SmallSampleReason
from skci.inference.estimates import Estimates
from skci.inference.intervals.methods import AvailableData, Task
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, Parameter, given_parameter
from skci.inference.row_estimates import RowEstimates

_LEVEL = 0.975  # at which quantiles are matched
_NORMAL = 1e7  # degrees of freedom that are as good as infinite
_NO_VARIANCE = 1e-12  # share of the largest possible variance that is rounding


class VarianceComponents(NamedTuple):
    """Variances of an estimate: due to rows, to runs, and counted in both."""

    rows: float
    runs: float
    both: float


class Variances(NamedTuple):
    """Variances of K estimates, due to rows and to each of B sets of runs."""

    rows: Array
    """Due to rows, (K,)."""
    runs: Array
    """Due to the runs of each set, (B, K)."""
    both: Array
    """Counted with rows as well as with the runs of each set, (B, K)."""
    at_least_rows: bool = True
    """Whether a total is at least that due to rows."""

    @property
    def of_rows_alone(self) -> Array:
        """Variances due to rows that are not counted with runs as well, (K,)."""
        return np.maximum(self.rows - self.both.sum(axis=0), 0.0)

    @property
    def total(self) -> Array:
        """Variances of the estimates, never less than due to rows or to runs, (K,)."""
        runs = self.runs.sum(axis=0)
        total = self.rows + runs - self.both.sum(axis=0)
        least = [self.rows, runs] if self.at_least_rows else [runs]
        return np.max([total, *least], axis=0)


class RunSet(NamedTuple):
    """A set of runs, and covariances of the p of all means that are over them."""

    size: int
    """Number of runs."""
    members: Array
    """Positions of the means, (p,)."""
    runs: Array
    """Covariance due to runs, (p, p)."""
    both: Array
    """Covariance that is counted with rows as well as with runs, (p, p)."""


@dataclass(frozen=True, eq=False)
class CrossedMeans:
    """Covariance of P means over runs, of rows that are crossed with sets of runs.

    Sets of runs vary independently: those of each model, or one of paired runs.
    """

    rows: Array
    """Covariance due to rows, (P, P)."""
    sets: tuple[RunSet, ...]
    at_least_rows: bool = True
    """Whether a variance is at least that due to rows. Not of permutations of rows,
    each of which adds to the influence values what is counted with both."""

    @classmethod
    def of(
        cls,
        source: RowEstimates,
        means: Array,
        sets: Sequence[Sequence[Array]],
        at_least_rows: bool = True,
    ) -> CrossedMeans:
        """Add up the J parameters of all runs to means, with coefficients (P, J).

        `sets` are positions of the parameters of each run, by set of runs.
        """
        covariance = source.covariance
        values = np.nan_to_num([each.estimate for each in source.parameters])

        def due_to_rows(members: Any, of: Array) -> Array:
            coefficients = means[np.ix_(members, of)]
            return coefficients @ covariance[np.ix_(of, of)] @ coefficients.T

        found = []
        for runs in sets:
            size, every = len(runs), np.concatenate(runs)
            members = np.flatnonzero(means[:, every].any(axis=1))
            shares = [means[np.ix_(members, run)] @ values[run] for run in runs]
            deviations = np.array(shares) - np.mean(shares, axis=0)
            of_each = np.sum([due_to_rows(members, run) for run in runs], axis=0)
            both = size * of_each - due_to_rows(members, every)
            products = size * deviations.T @ deviations
            factor = 1 / (size - 1)
            found.append(RunSet(size, members, factor * products, factor * both))
        return cls(means @ covariance @ means.T, tuple(found), at_least_rows)

    @property
    def sizes(self) -> Array:
        """Numbers of runs, (B,)."""
        return np.array([each.size for each in self.sets])

    def variances(self, coefficients: Array) -> Variances:
        """Variances of K linear combinations, zero where they are rounding."""
        of_sets = [(coefficients[:, each.members], each) for each in self.sets]
        variances = Variances(
            _squares(coefficients, self.rows),
            np.array([_squares(of_set, each.runs) for of_set, each in of_sets]),
            np.array([_squares(of_set, each.both) for of_set, each in of_sets]),
        )
        largest = self.rows.diagonal().copy()
        for each in self.sets:
            largest[each.members] += each.runs.diagonal()
        least = _NO_VARIANCE * (np.abs(coefficients) @ np.sqrt(largest)) ** 2
        rows, runs, both = (np.where(each > least, each, 0.0) for each in variances[:3])
        return Variances(rows, runs, both, self.at_least_rows)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the means without negative eigenvalues, (P, P)."""
        total = self.rows.copy()
        for each in self.sets:
            total[np.ix_(each.members, each.members)] += each.runs - each.both
        values, vectors = np.linalg.eigh((total + total.T) / 2)
        return (vectors * np.maximum(values, 0)) @ vectors.T


def _squares(coefficients: Array, covariance: Array) -> Array:
    """Variances of linear combinations, (K,)."""
    return ((coefficients @ covariance) * coefficients).sum(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunEstimates(Estimates):
    """Means over runs, or contrasts of these, with a covariance of rows and runs."""

    parameters: tuple[Parameter, ...]
    means: CrossedMeans
    coefficients: Array
    """Of each of the K parameters in the P means, (K, P)."""
    of_rows: Estimates
    """The same parameters of rows alone, the runs being given."""
    df_method: str
    """How degrees of freedom follow from those of runs and of rows."""
    runs_in_words: str
    """What the header of a report says of the runs."""
    of_runs: Estimates
    """Parameters of each run."""
    runs: tuple[tuple[Key, str | None], ...]
    """Key of the mean that each of them is part of, and the name of its run."""
    available: ClassVar[AvailableData] = "skewness"
    preferred: ClassVar[Sequence[str]] = ("logit",)

    rows = property(attrgetter("of_rows.rows"))
    is_simple = property(attrgetter("of_rows.is_simple"))
    design_effects = property(attrgetter("of_rows.design_effects"))
    table_sizes = property(attrgetter("of_rows.table_sizes"))
    n_groups = property(attrgetter("of_rows.n_groups"))

    @cached_property
    def by_source(self) -> Variances:
        """Variances due to rows and to runs."""
        return self.means.variances(self.coefficients)

    @cached_property
    def components(self) -> list[VarianceComponents]:
        """Variance components of each estimate."""
        rows, runs, both, _ = self.by_source
        columns = rows, runs.sum(axis=0), both.sum(axis=0)
        return [VarianceComponents(*row) for row in np.transpose(columns).tolist()]

    @cached_property
    def variances(self) -> Array:
        variances = self.by_source.total
        variances[~self.is_linear] = 0.0
        return variances

    @cached_property
    def covariance(self) -> Array:  # type: ignore[override]
        coefficients = self.coefficients
        products = coefficients @ self.means.covariance @ coefficients.T
        before = products.diagonal()
        has_covariance = (self.variances > 0) & (before > 0)
        scale = np.where(has_covariance, self.variances, 0.0)
        scale = np.sqrt(scale / np.where(has_covariance, before, 1.0))
        covariance: Array = products * np.outer(scale, scale)
        np.fill_diagonal(covariance, self.variances)
        return covariance

    @cached_property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        return self._degrees_of_freedom(self.by_source, self.means.sizes - 1.0)

    def _degrees_of_freedom(self, variances: Variances, of_runs: Array) -> Array:
        """Degrees of freedom of sums of variances, those of each set of runs given."""
        of_sets, of_rows = variances.runs, self.of_rows.degrees_of_freedom
        runs = of_sets.sum(axis=0)
        shares = np.array([runs, variances.of_rows_alone])
        shares = shares / np.where(runs, variances.total, 1.0)
        degrees = of_rows.astype(float)
        for k in np.flatnonzero(runs).tolist():
            df = float(runs[k] ** 2 / (of_sets[:, k] ** 2 / of_runs).sum())
            share, of_alone = shares[:, k].tolist()
            degrees[k] = united_df(
                self.df_method, share, of_alone, df, float(of_rows[k])
            )
        return degrees

    @cached_property
    def is_linear(self) -> Array:
        defined = [parameter.defined for parameter in self.parameters]
        return self.of_rows.is_linear & np.array(defined, dtype=bool)

    def n_rows(self, k: int) -> int | None:
        return self.of_rows.n_rows(k)

    @property
    def design_in_words(self) -> str:
        return f"{self.of_rows.design_in_words} {self.runs_in_words}".strip()

    def select(self, positions: Sequence[int]) -> Self:
        return replace(
            super().select(positions),
            coefficients=self.coefficients[list(positions)],
            of_rows=self.of_rows.select(positions),
        )

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Linear combinations, whose rows and runs are added up anew."""
        coefficients = slopes @ self.coefficients
        return replace(self, parameters=tuple(parameters), coefficients=coefficients)

    def each_run(self, header: str) -> Estimates:
        """Parameters of each run of the means, which names a subgroup in `header`."""
        order = {parameter.key: k for k, parameter in enumerate(self.parameters)}
        kept = [j for j, (key, run) in enumerate(self.runs) if run and key in order]
        kept.sort(key=lambda j: order[self.runs[j][0]])
        each = self.of_runs.select(kept)
        named = [
            replace(p, key=replace(key, subgroup=(*key.subgroup, (header, str(run)))))
            for p, (key, run) in zip(
                each.parameters, (self.runs[j] for j in kept), strict=True
            )
        ]
        source: Any = each
        return replace(source, parameters=tuple(named))

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons why an interval may be too narrow, those of its rows included."""
        reasons = super().small_sample_reasons(k) + self.of_rows.small_sample_reasons(k)
        return list(dict.fromkeys(reasons))

    def task(self, k: int, standard_error: float) -> Task:
        task = super().task(k, standard_error)
        return task._replace(hall=self.of_rows.task(k, standard_error).hall)

    def half_widths(self, normal_quantile: float, n: int, n_runs: int) -> Array:
        """Half widths to expect of n rows and so many runs of each model, (K,)."""
        per_row = self.rows.n_samples / n
        per_run = self.means.sizes[:, np.newaxis] / n_runs
        _, runs, both, at_least_rows = self.by_source
        of_both = both * per_row * per_run
        of_rows = self.by_source.of_rows_alone * per_row
        planned = Variances(
            of_rows + of_both.sum(axis=0),
            np.maximum(runs - both, 0.0) * per_run + of_both,
            of_both,
            at_least_rows,
        )
        degrees = self._degrees_of_freedom(planned, np.full(len(runs), n_runs - 1.0))
        t = -stdtrit(np.minimum(degrees, _NORMAL), ndtr(-normal_quantile))
        return t * np.sqrt(planned.total)


def mean_over_runs(
    joint: JointEstimate,
    models: Mapping[str, tuple[str, str | None]],
    paired: bool,
    df_method: str,
    runs_in_words: str,
    *,
    at_least_rows: bool = True,
) -> JointEstimate:
    """Average estimates over the runs of each model.

    `models` are the model and the run of each column of predictions; the run is None
    for a model that has one.
    """
    source: Any = joint.source
    of_runs = source.parameters
    sources = [models[parameter.key.model] for parameter in of_runs]
    members: dict[Key, list[int]] = {}
    sets: dict[str, dict[str, list[int]]] = {}
    keys = []
    for j, (model, run) in enumerate(sources):
        key = replace(of_runs[j].key, model=model)
        keys.append((key, run))
        members.setdefault(key, []).append(j)
        if run is not None:
            runs = sets.setdefault("" if paired else model, {})
            runs.setdefault(run, []).append(j)
    contrasts = [
        (key, dict.fromkeys(positions, 1 / len(positions)))
        for key, positions in members.items()
    ]
    parameters = [
        _mean_parameter(key, [of_runs[j] for j in positions])
        for key, positions in members.items()
    ]
    means = np.zeros((len(members), len(of_runs)))
    for row, positions in zip(means, members.values(), strict=True):
        row[positions] = 1 / len(positions)
    of_sets = [[np.array(run) for run in runs.values()] for runs in sets.values()]
    estimates = RunEstimates(
        parameters=tuple(parameters),
        means=CrossedMeans.of(source, means, of_sets, at_least_rows),
        coefficients=np.eye(len(parameters)),
        of_rows=source.contrast(contrasts).with_methods(parameters),
        df_method=df_method,
        runs_in_words=runs_in_words,
        of_runs=source,
        runs=tuple(keys),
    )
    return replace(joint, source=estimates)


def _mean_parameter(key: Key, of_runs: Sequence[Parameter]) -> Parameter:
    """Parameter of a mean over runs, which is undefined where that of a run is."""
    values = [each.value for each in of_runs]
    mean = given_parameter(of_runs[0], float(np.mean(values)))
    low, high = np.mean([each.extension for each in of_runs], axis=0).tolist()
    return replace(
        mean,
        key=key,
        undefined_as=float(np.mean([each.estimate for each in of_runs])),
        subgroup_size=of_runs[0].subgroup_size,
        extension=(low, high),
    )


def united_df(
    df_method: str, runs: float, rows: float, df_runs: float, df_rows: float
) -> float:
    """Degrees of freedom of a variance with shares of runs and of rows alone.

    Shares add up to less than 1 where the variance is that due to rows, which is then
    the least: the margin in quadrature is that of the shares, or of rows if greater.
    """
    if not runs:
        return df_rows
    if df_method == "hillis":
        return 1 / (runs**2 / df_runs + (1 - runs) ** 2 / df_rows)
    of_runs, of_rows = _quantile(df_runs), _quantile(df_rows)
    if df_method == "quadrature":
        quantile = math.sqrt(runs * of_runs**2 + rows * of_rows**2)
    else:
        quantile = runs * of_runs + (1 - runs) * of_rows
    low, high = sorted([min(df_runs, _NORMAL), min(df_rows, _NORMAL)])
    if quantile <= _quantile(high):
        return math.inf if high == _NORMAL else high
    if quantile >= _quantile(low):
        return low
    return float(brentq(lambda df: _quantile(df) - quantile, low, high))


def _quantile(df: float) -> float:
    return float(stdtrit(min(df, _NORMAL), _LEVEL))
