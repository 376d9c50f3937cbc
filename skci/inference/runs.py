r"""Rows crossed with runs: the covariance of means over several runs of a model.

The variance of a mean over runs is

.. math:: V = V_\text{rows} + V_\text{runs} - V_\text{both} ,

The variance due to rows is computed from influence values averaged over runs. The
variance due to runs is computed from the values of the metric by run. Both variances
include the third term. It is computed from the deviations of influence values in each
run from their mean over runs.
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
from skci.inference.parameter import Parameter, ParameterLabels, with_fixed_estimate

_LEVEL = 0.975  # level at which quantiles are matched
_NORMAL = 1e7  # degrees of freedom that count as infinite
_NO_VARIANCE = 1e-12  # relative size of a variance that counts as zero


class VarianceComponents(NamedTuple):
    """Variance due to rows, variance due to runs, and the overlap of both variances."""

    rows: float
    runs: float
    both: float


class Variances(NamedTuple):
    """Variances of K estimates due to rows, and due to each of B sets of runs."""

    rows: Array
    """Variances due to rows, (K,)."""
    runs: Array
    """Variances due to runs, by set, (B, K)."""
    both: Array
    """Variances included both in the row variances and in the run variances, (B, K)."""
    at_least_rows: bool = True
    """Whether the total is at least the variance due to rows."""

    @property
    def rows_only(self) -> Array:
        """Variances due to rows, without the overlap with the variances due to runs."""
        return np.maximum(self.rows - self.both.sum(axis=0), 0.0)

    @property
    def total(self) -> Array:
        """Total variances of the K estimates, due to rows and runs.

        A total variance is at least the variance due to runs and, by default, at least
        the variance due to rows.
        """
        runs = self.runs.sum(axis=0)
        total = self.rows + runs - self.both.sum(axis=0)
        minima = [self.rows, runs] if self.at_least_rows else [runs]
        return np.max([total, *minima], axis=0)


class RunSet(NamedTuple):
    """Set of runs, with covariances of means over these runs."""

    size: int
    """Number of runs."""
    members: Array
    """Indices of the means, (p,)."""
    runs: Array
    """Covariance due to runs, (p, p)."""
    both: Array
    """Covariance included in both the row covariance and the run covariance, (p, p)."""


def _run_set(
    runs: Sequence[Array], means: Array, values: Array, covariance: Array
) -> RunSet:
    """Compute the covariances of means over a set of runs.

    `runs` contains the positions of the parameters of each run. `means` contains the
    coefficients of the means, with a row for each mean and a column for each parameter.
    `values` contains the estimates of the parameters, and `covariance` is the
    covariance of these estimates due to rows.
    """
    size, all_runs = len(runs), np.concatenate(runs)
    members = np.flatnonzero(means[:, all_runs].any(axis=1))

    def due_to_rows(positions: Array) -> Array:
        coefficients = means[np.ix_(members, positions)]
        block = covariance[np.ix_(positions, positions)]
        return coefficients @ block @ coefficients.T

    shares = [means[np.ix_(members, run)] @ values[run] for run in runs]
    deviations = np.array(shares) - np.mean(shares, axis=0)
    by_run = np.sum([due_to_rows(run) for run in runs], axis=0)
    both = size * by_run - due_to_rows(all_runs)
    products = size * deviations.T @ deviations
    factor = 1 / (size - 1)
    return RunSet(size, members, factor * products, factor * both)


def _squares(coefficients: Array, covariance: Array) -> Array:
    """Compute the variances of K linear combinations."""
    return ((coefficients @ covariance) * coefficients).sum(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunEstimates(Estimates):
    """Means over repeated runs of models, or contrasts of such means.

    There is a set of runs for each model, or a single set of paired runs for all
    models. Each run has predictions for all rows, and sets of runs are independent. The
    covariance includes the variances due to rows and due to runs.
    """

    parameters: tuple[Parameter, ...]
    row_covariance: Array
    """Covariance of the P means due to rows, (P, P)."""
    sets: tuple[RunSet, ...]
    at_least_rows: bool
    """Whether variances are raised to the variances due to rows. The value is False for
    permutations of rows, which add the variance `both` to influence values."""
    coefficients: Array
    """Coefficients of the P means in each of the K parameters, (K, P)."""
    row_estimates: Estimates
    """Estimates of the same parameters with variance due to rows only."""
    df_method: str
    """Method to combine the degrees of freedom of runs and rows; see `united_df`."""
    runs_description: str
    """Description of the runs in the header of a report."""
    run_estimates: Estimates
    """Estimates of the parameters of all runs."""
    runs: tuple[tuple[ParameterLabels, str | None], ...]
    """Key of the mean and name of the run, for each parameter of a run."""
    available: ClassVar[AvailableData] = "skewness"
    preferred: ClassVar[Sequence[str]] = ("logit",)

    rows = property(attrgetter("row_estimates.rows"))
    is_simple = property(attrgetter("row_estimates.is_simple"))
    design_effects = property(attrgetter("row_estimates.design_effects"))
    table_sizes = property(attrgetter("row_estimates.table_sizes"))
    n_groups = property(attrgetter("row_estimates.n_groups"))

    @cached_property
    def by_source(self) -> Variances:
        """Variances due to rows and variances due to runs.

        Variances that are rounding errors become zero.
        """
        coefficients = self.coefficients
        pairs = [(coefficients[:, runs.members], runs) for runs in self.sets]
        variances = (
            _squares(coefficients, self.row_covariance),
            np.array([_squares(columns, runs.runs) for columns, runs in pairs]),
            np.array([_squares(columns, runs.both) for columns, runs in pairs]),
        )
        largest = self.row_covariance.diagonal().copy()
        for run_set in self.sets:
            largest[run_set.members] += run_set.runs.diagonal()
        minimum = _NO_VARIANCE * (np.abs(coefficients) @ np.sqrt(largest)) ** 2
        rows, runs, both = (np.where(v > minimum, v, 0.0) for v in variances)
        return Variances(rows, runs, both, self.at_least_rows)

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
        total = self.row_covariance.copy()
        for runs in self.sets:
            total[np.ix_(runs.members, runs.members)] += runs.runs - runs.both
        values, vectors = np.linalg.eigh((total + total.T) / 2)
        total = (vectors * np.maximum(values, 0)) @ vectors.T
        products = self.coefficients @ total @ self.coefficients.T
        before = products.diagonal()
        has_covariance = (self.variances > 0) & (before > 0)
        scale = np.where(has_covariance, self.variances, 0.0)
        scale = np.sqrt(scale / np.where(has_covariance, before, 1.0))
        covariance: Array = products * np.outer(scale, scale)
        np.fill_diagonal(covariance, self.variances)
        return covariance

    @cached_property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        return self._degrees_of_freedom(self.by_source, self._sizes - 1.0)

    @property
    def _sizes(self) -> Array:
        """Number of runs in each set."""
        return np.array([run_set.size for run_set in self.sets])

    def _degrees_of_freedom(self, variances: Variances, df_of_runs: Array) -> Array:
        """Compute the degrees of freedom of total variances.

        `df_of_runs` contains the degrees of freedom for each set of runs.
        """
        set_variances = variances.runs
        df_of_rows = self.row_estimates.degrees_of_freedom
        runs = set_variances.sum(axis=0)
        shares = np.array([runs, variances.rows_only])
        shares = shares / np.where(runs, variances.total, 1.0)
        degrees = df_of_rows.astype(float)
        for k in np.flatnonzero(runs).tolist():
            df = float(runs[k] ** 2 / (set_variances[:, k] ** 2 / df_of_runs).sum())
            run_share, row_share = shares[:, k].tolist()
            degrees[k] = united_df(
                self.df_method, run_share, row_share, df, float(df_of_rows[k])
            )
        return degrees

    @cached_property
    def is_linear(self) -> Array:
        defined = [parameter.defined for parameter in self.parameters]
        return self.row_estimates.is_linear & np.array(defined, dtype=bool)

    def n_rows(self, k: int) -> int | None:
        return self.row_estimates.n_rows(k)

    @property
    def design_description(self) -> str:
        return (
            f"{self.row_estimates.design_description} {self.runs_description}".strip()
        )

    def select(self, positions: Sequence[int]) -> Self:
        return replace(
            super().select(positions),
            coefficients=self.coefficients[list(positions)],
            row_estimates=self.row_estimates.select(positions),
        )

    def _combine(self, parameters: list[Parameter], slopes: sparse.csr_array) -> Any:
        """Combine the estimates linearly, and update variances due to rows and runs."""
        coefficients = slopes @ self.coefficients
        return replace(self, parameters=tuple(parameters), coefficients=coefficients)

    def by_run(self, header: str) -> Estimates:
        """Return the estimates of single runs.

        Reports show the name of the run in the subgroup column `header`.
        """
        order = {parameter.key: k for k, parameter in enumerate(self.parameters)}
        positions = [
            j for j, (key, run) in enumerate(self.runs) if run and key in order
        ]
        positions.sort(key=lambda j: order[self.runs[j][0]])
        selected = self.run_estimates.select(positions)
        named = [
            replace(p, key=replace(key, subgroup=(*key.subgroup, (header, str(run)))))
            for p, (key, run) in zip(
                selected.parameters, (self.runs[j] for j in positions), strict=True
            )
        ]
        source: Any = selected
        return replace(source, parameters=tuple(named))

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Return the reasons why an interval may be too narrow.

        The reasons include few rows and few runs.
        """
        reasons = super().small_sample_reasons(k)
        reasons = reasons + self.row_estimates.small_sample_reasons(k)
        return list(dict.fromkeys(reasons))

    def task(self, k: int, standard_error: float) -> Task:
        task = super().task(k, standard_error)
        return task._replace(hall=self.row_estimates.task(k, standard_error).hall)

    def half_widths(self, normal_quantile: float, n: int, n_runs: int) -> Array:
        """Predict half widths of intervals from the numbers of rows and of runs.

        `n_runs` is the number of runs of each model.
        """
        per_row = self.rows.n_samples / n
        per_run = self._sizes[:, np.newaxis] / n_runs
        _, runs, both, at_least_rows = self.by_source
        planned_both = both * per_row * per_run
        planned_rows = self.by_source.rows_only * per_row
        planned = Variances(
            planned_rows + planned_both.sum(axis=0),
            np.maximum(runs - both, 0.0) * per_run + planned_both,
            planned_both,
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
    runs_description: str,
    *,
    at_least_rows: bool = True,
) -> JointEstimate:
    """Average estimates over the runs of each model.

    `models` maps each column of predictions to a model and a run. The run is None for a
    model with a single run.
    """
    source: Any = joint.source
    run_parameters = source.parameters
    sources = [models[parameter.key.model] for parameter in run_parameters]
    members: dict[ParameterLabels, list[int]] = {}
    sets: dict[str, dict[str, list[int]]] = {}
    keys = []
    for j, (model, run) in enumerate(sources):
        key = replace(run_parameters[j].key, model=model)
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
        _mean_parameter(key, [run_parameters[j] for j in positions])
        for key, positions in members.items()
    ]
    means = np.zeros((len(members), len(run_parameters)))
    for row, positions in zip(means, members.values(), strict=True):
        row[positions] = 1 / len(positions)
    covariance = source.covariance
    values = np.nan_to_num([parameter.estimate for parameter in run_parameters])
    run_sets = [[np.array(run) for run in runs.values()] for runs in sets.values()]
    estimates = RunEstimates(
        parameters=tuple(parameters),
        row_covariance=means @ covariance @ means.T,
        sets=tuple(_run_set(runs, means, values, covariance) for runs in run_sets),
        at_least_rows=at_least_rows,
        coefficients=np.eye(len(parameters)),
        row_estimates=source.contrast(contrasts).with_methods(parameters),
        df_method=df_method,
        runs_description=runs_description,
        run_estimates=source,
        runs=tuple(keys),
    )
    return replace(joint, source=estimates)


def _mean_parameter(key: ParameterLabels, parameters: Sequence[Parameter]) -> Parameter:
    """Return the parameter that describes a mean over runs.

    The mean is undefined if the metric is undefined for some run.
    """
    values = [parameter.value for parameter in parameters]
    mean = with_fixed_estimate(parameters[0], float(np.mean(values)))
    low, high = np.mean([p.extension for p in parameters], axis=0).tolist()
    return replace(
        mean,
        key=key,
        undefined_as=float(np.mean([parameter.estimate for parameter in parameters])),
        subgroup_size=parameters[0].subgroup_size,
        extension=(low, high),
    )


def united_df(
    df_method: str, runs: float, rows: float, df_runs: float, df_rows: float
) -> float:
    """Compute the degrees of freedom of a variance due to rows and runs.

    `runs` and `rows` are the shares of the variance that are due to runs and to rows.
    With the method "quadrature", the squared t quantiles for runs and rows are
    averaged, with the shares as weights. The shares add up to less than 1 if the
    variance was raised to its minimum, the variance due to rows.
    """
    if not runs:
        return df_rows
    if df_method == "hillis":
        return 1 / (runs**2 / df_runs + (1 - runs) ** 2 / df_rows)
    runs_quantile, rows_quantile = _quantile(df_runs), _quantile(df_rows)
    if df_method == "quadrature":
        quantile = math.sqrt(runs * runs_quantile**2 + rows * rows_quantile**2)
    else:
        quantile = runs * runs_quantile + (1 - runs) * rows_quantile
    low, high = sorted([min(df_runs, _NORMAL), min(df_rows, _NORMAL)])
    if quantile <= _quantile(high):
        return math.inf if high == _NORMAL else high
    if quantile >= _quantile(low):
        return low
    return float(brentq(lambda df: _quantile(df) - quantile, low, high))


def _quantile(df: float) -> float:
    return float(stdtrit(min(df, _NORMAL), _LEVEL))
