r"""Rows beside runs: the covariance of means over several outputs of a model.

Rows and runs are crossed, and the variance of a mean over runs is

.. math:: V = V_\text{rows} + V_\text{runs} - V_\text{both} ,

of the mean influence values of the rows, of the values of the runs, and of what both
count, the deviations of the influence values of each run from the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, Parameter, given_parameter
from skci.inference.parameter_sampling import SmallSampleReason
from skci.inference.sampling import (
    NO_VARIANCE_OF_CONTRAST,
    GivenCovariance,
    RowSampling,
)

_LEVEL = 0.975  # at which quantiles are matched
_NORMAL = 1e7  # degrees of freedom that are as good as infinite
_FEW_RUNS = SmallSampleReason(
    "only two runs: the variance between runs has one degree of freedom"
)


class VarianceComponents(NamedTuple):
    """Variances of an estimate: due to rows, to runs, and counted in both."""

    rows: float
    runs: float
    both: float


@dataclass(frozen=True, eq=False)
class CrossedRuns:
    """Parameters of all runs on the same rows, and which run each is of."""

    sampling: RowSampling
    blocks: Array
    """Number of the set of runs that each of the J parameters is of, -1 without."""
    runs: Array
    """Number of the run of each parameter in its set."""
    at_least_rows: bool = True
    """Whether a variance is at least that due to rows. Not of permutations, each of
    which adds to the influence values what is counted with both."""

    @property
    def values(self) -> Array:
        """Values of the J parameters."""
        return np.array([each.estimate for each in self.sampling.parameters])

    def sets_of_runs(self) -> list[list[Array]]:
        """Which parameters are of each run, in each set of runs."""
        return [
            [
                (self.blocks == block) & (self.runs == run)
                for run in np.unique(self.runs[self.blocks == block])
            ]
            for block in np.unique(self.blocks[self.blocks >= 0])
        ]

    def of_rows(self, coefficients: Array) -> Array:
        """Covariance due to rows of linear combinations, (K, K)."""
        products: Array = coefficients @ self.sampling.covariance @ coefficients.T
        return products

    def of_runs(self, coefficients: Array) -> list[tuple[Array, int]]:
        """Covariance due to runs, and its degrees of freedom, of each set of runs."""
        values = np.nan_to_num(self.values)
        found = []
        for runs in self.sets_of_runs():
            of_run = np.stack(
                [coefficients[:, run] @ values[run] for run in runs], axis=1
            )
            deviations = of_run - of_run.mean(axis=1, keepdims=True)
            size = len(runs)
            # Coefficients hold the 1 / S of a mean.
            found.append((deviations @ deviations.T * size / (size - 1), size - 1))
        return found

    def of_both(self, coefficients: Array) -> Array:
        """Covariance that is counted with rows as well as with runs, (K, K)."""
        size = len(coefficients)
        total: Array = np.zeros((size, size))
        for runs in self.sets_of_runs():
            of_block = np.where(np.any(runs, axis=0), coefficients, 0.0)
            each = [self.of_rows(np.where(run, coefficients, 0.0)) for run in runs]
            s = len(runs)
            total += (s * np.sum(each, axis=0) - self.of_rows(of_block)) / (s - 1)
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class RunEstimates(GivenCovariance):
    """Estimates that are means over runs, or contrasts of these."""

    crossed: CrossedRuns
    coefficients: Array
    """Of each estimate in those of all runs, (K, J)."""
    rule: str
    """How degrees of freedom follow from those of runs and of rows."""
    header: str
    """What the header of a report says of rows and runs."""
    df: float = np.inf
    degrees: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(
        cls,
        parameters: Sequence[Parameter],
        crossed: CrossedRuns,
        coefficients: Array,
        rule: str,
        header: str,
    ) -> RunEstimates:
        """Add rows and runs up, and what follows for degrees of freedom."""
        rows, both = crossed.of_rows(coefficients), crossed.of_both(coefficients)
        of_sets = crossed.of_runs(coefficients)
        runs = np.sum([each for each, _ in of_sets], axis=0)
        least = [rows, runs] if crossed.at_least_rows else [runs]
        covariance = _at_least(rows + runs - both, *least)
        most = np.abs(coefficients) @ np.sqrt(crossed.sampling.covariance.diagonal())
        constant = covariance.diagonal() <= NO_VARIANCE_OF_CONTRAST * most**2
        covariance[constant] = covariance[:, constant] = 0
        return cls(
            parameters=tuple(parameters),
            covariance=covariance,
            crossed=crossed,
            coefficients=coefficients,
            rule=rule,
            header=header,
            degrees=_degrees_of_freedom(
                covariance.diagonal(),
                [(each.diagonal(), df) for each, df in of_sets],
                _degrees_of_rows(crossed.sampling, coefficients),
                rule,
            ),
        )

    @property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        return self.degrees

    @property
    def design_in_words(self) -> str:
        return self.header

    @property
    def components(self) -> list[VarianceComponents]:
        """Variance components of each estimate."""
        parts = [
            self.crossed.of_rows(self.coefficients).diagonal(),
            np.sum(
                [
                    each.diagonal()
                    for each, _ in self.crossed.of_runs(self.coefficients)
                ],
                axis=0,
            ),
            self.crossed.of_both(self.coefficients).diagonal(),
        ]
        return [VarianceComponents(*row) for row in np.transpose(parts).tolist()]

    def select(self, positions: Sequence[int]) -> RunEstimates:
        selected: Any = super().select(positions)
        kept = list(positions)
        return replace(
            selected,
            coefficients=self.coefficients[kept],
            degrees=self.degrees[kept],
        )

    def contrasts(
        self,
        parameters: Sequence[Parameter],
        slopes: Array,
        pairs: Sequence[frozenset[str]],
    ) -> RunEstimates:
        """Linear combinations, whose rows and runs are added up anew."""
        return self.of(
            parameters,
            self.crossed,
            slopes @ self.coefficients,
            self.rule,
            self.header,
        )

    def half_widths(self, normal_quantile: float, n: int, n_runs: int) -> Array:
        """Half widths to expect of n rows and so many runs of each model, (K,)."""
        per_row = self.crossed.sampling.rows.n_samples / n
        sizes = [len(runs) for runs in self.crossed.sets_of_runs()]
        per_run = float(np.mean(sizes)) / n_runs
        df_of_rows = _degrees_of_rows(self.crossed.sampling, self.coefficients)
        widths = []
        for (rows, runs, both), df_rows in zip(
            self.components, df_of_rows.tolist(), strict=True
        ):
            of_both = both * per_row * per_run
            of_rows = max(rows - both, 0.0) * per_row + of_both
            of_runs = max(runs - both, 0.0) * per_run + of_both
            variance = of_rows + of_runs - of_both
            df = df_rows
            if of_runs:
                df = _united(self.rule, of_runs / variance, n_runs - 1, df_rows)
            t = -stdtrit(min(df, _NORMAL), ndtr(-normal_quantile))
            widths.append(t * np.sqrt(variance))
        return np.array(widths)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons why an interval may be too narrow, those of its runs included."""
        reasons = super().small_sample_reasons(k)
        columns = np.flatnonzero(self.coefficients[k])
        for j in columns.tolist():
            reasons += self.crossed.sampling.small_sample_reasons(j)
        if any(len(runs) == 2 for runs in self.crossed.sets_of_runs()):
            reasons.append(_FEW_RUNS)
        return list(dict.fromkeys(reasons))


def mean_over_runs(
    joint: JointEstimate,
    models: Mapping[str, tuple[str, int | None]],
    paired: bool,
    rule: str,
    header: Callable[[RowSampling], str],
    *,
    at_least_rows: bool = True,
) -> JointEstimate:
    """Average estimates over the runs of each model.

    `models` are the model and the run of each column of predictions; the run is None
    for a model that has one.
    """
    sampling: Any = joint.sampling
    names = list(dict.fromkeys(model for model, _ in models.values()))
    of = [models[parameter.key.model] for parameter in sampling.parameters]
    blocks = [-1 if s is None else 0 if paired else names.index(m) for m, s in of]
    crossed = CrossedRuns(
        sampling,
        np.array(blocks),
        np.array([-1 if s is None else s for _, s in of]),
        at_least_rows,
    )
    positions: dict[Key, list[int]] = {}
    for j, (parameter, (model, _)) in enumerate(
        zip(sampling.parameters, of, strict=True)
    ):
        positions.setdefault(replace(parameter.key, model=model), []).append(j)
    coefficients = np.zeros((len(positions), len(of)))
    parameters = []
    for k, (key, columns) in enumerate(positions.items()):
        coefficients[k, columns] = 1 / len(columns)
        mean = float(np.mean(crossed.values[columns]))
        given = given_parameter(sampling.parameters[columns[0]], mean)
        parameters.append(replace(given, key=key))
    estimates = RunEstimates.of(
        parameters, crossed, coefficients, rule, header(sampling)
    )
    return replace(joint, sampling=estimates)


def _at_least(covariance: Array, *least: Array) -> Array:
    """Make a covariance positive semidefinite, with variances of at least some."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if values.min() < 0:
        covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    floor = np.max([each.diagonal() for each in least], axis=0)
    variances = covariance.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.sqrt(np.maximum(floor / variances, 1.0))
    raised = np.where(np.isfinite(factor), factor, 1.0)
    covariance = covariance * np.outer(raised, raised)
    np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), floor))
    return covariance


def _degrees_of_rows(sampling: RowSampling, coefficients: Array) -> Array:
    """Least degrees of freedom of the estimates that each is made of."""
    degrees = np.where(coefficients != 0, sampling.degrees_of_freedom, np.inf)
    least: Array = degrees.min(axis=1)
    return least


def _degrees_of_freedom(
    variances: Array,
    of_runs: Sequence[tuple[Array, int]],
    of_rows: Array,
    rule: str,
) -> Array:
    """Degrees of freedom of sums of variances due to rows and to runs."""
    degrees = np.full(len(variances), np.inf)
    for k, (variance, df_rows) in enumerate(
        zip(variances.tolist(), of_rows.tolist(), strict=True)
    ):
        parts = [(float(each[k]), df) for each, df in of_runs if each[k] > 0]
        runs = sum(part for part, _ in parts)
        if not runs or not variance:
            degrees[k] = df_rows
            continue
        df_runs = runs**2 / sum(part**2 / df for part, df in parts)
        degrees[k] = _united(rule, runs / variance, df_runs, df_rows)
    return degrees


def _united(rule: str, share: float, df_runs: float, df_rows: float) -> float:
    """Degrees of freedom of a variance of which some share is due to runs."""
    if rule == "hillis":
        return 1 / (share**2 / df_runs + (1 - share) ** 2 / df_rows)
    wide, narrow = (_quantile(df) for df in (df_runs, df_rows))
    power = 2 if rule == "quadrature" else 1
    quantile = (share * wide**power + (1 - share) * narrow**power) ** (1 / power)
    if quantile <= _quantile(_NORMAL):
        return np.inf
    low, high = min(df_runs, df_rows), max(df_runs, min(df_rows, _NORMAL))
    if _quantile(low) <= quantile:
        return low
    return float(brentq(lambda df: _quantile(df) - quantile, low, high))


def _quantile(df: float) -> float:
    return float(stdtrit(min(df, _NORMAL), _LEVEL))
