"""Joint estimates of many contrasts, whose tables are made in blocks and not kept.

What is known of each contrast by itself follows from its table. Their correlation
follows from that of the few parameters that they are made of, and is not computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skci._arrays import Array, cached_property, dataclass
from skci.inference.contrast_parameters import ContrastTables
from skci.inference.critical.correlation import shrinkage
from skci.inference.critical.horizon import HorizonLaw
from skci.inference.critical.law import Alternative, LawOfLoadings, MaximumLaw
from skci.inference.critical.loadings import Loadings
from skci.inference.intervals.methods import IntervalMethod, Task
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, TableParameter
from skci.inference.parameter_sampling import SmallSampleReason
from skci.inference.sampling import RowSampling, Sampling
from skci.inference.terms import base_slopes

MOST_TABLES = 1 << 10
"""Most contrasts whose tables and covariance are kept."""

_MOST_BY_PAIR = 1 << 11  # contrasts of units that differ, whose covariance is needed
_BLOCK = 1 << 8  # contrasts whose tables are in memory at once
_MOST = 1 << 14  # contrasts whose covariance is computed where it is asked for
_TOLERANCE = 5e-3  # of quantiles of some of them: as accurate as p-values
_CONSTANT = 1e-12  # share of the largest variance of a contrast that is zero


class _Facts(NamedTuple):
    """What is known of each contrast by itself, all of shape (K,)."""

    variances: Array
    degrees_of_freedom: Array
    is_linear: Array
    has_variance: Array
    is_usable: Array
    is_usable_with_noise: Array
    is_degenerate: Array
    has_noise: Array
    design_effects: Array
    spans_strata: Array
    n_rows: Array
    table_sizes: Array
    reasons: Array
    tasks: Array
    """Intervals to compute, without tables."""
    null_roots: Array
    """Roots at no difference, or a ratio of 1; NaN for methods that read no tables."""


def taken_from(path: str) -> Any:
    """Attribute that a sampling has from another object."""
    return property(attrgetter(path))


@dataclass(frozen=True, eq=False)
class ContrastSampling(Sampling):
    """Contrasts of parameters of a sample, without their tables."""

    tables: ContrastTables
    parameters: tuple[Parameter, ...]

    rows = taken_from("tables.sampling.rows")
    design = taken_from("tables.sampling.design")
    simplified_design = taken_from("tables.sampling.simplified_design")
    shows_variance = taken_from("tables.sampling.shows_variance")
    is_simple = taken_from("tables.sampling.is_simple")
    n_groups = taken_from("tables.sampling.n_groups")
    design_in_words = taken_from("tables.sampling.design_in_words")
    variances = taken_from("_facts.variances")
    degrees_of_freedom = taken_from("_facts.degrees_of_freedom")
    is_linear = taken_from("_facts.is_linear")
    design_effects = taken_from("_facts.design_effects")
    spans_strata = taken_from("_facts.spans_strata")
    table_sizes = taken_from("_facts.table_sizes")

    def with_tables(self, positions: Sequence[int]) -> RowSampling:
        """Make the tables of some contrasts."""
        made = (self.tables.with_table(self.parameters[k]) for k in positions)
        return RowSampling(tuple(made), self.rows, self.design)

    @property
    def with_all_tables(self) -> RowSampling:
        """Make the tables of all contrasts."""
        return self.with_tables(range(len(self.parameters)))

    def with_parameters(self, parameters: Sequence[TableParameter]) -> RowSampling:
        """Other parameters of the same rows."""
        return self.tables.sampling.with_parameters(parameters)

    @property
    def null(self) -> float:
        """No difference, or a ratio of 1."""
        return 1.0 if self.tables.ratio else 0.0

    @cached_property
    def standard_errors(self) -> Array:
        # At the observed tables, which no test or interval needs.
        each = (self.with_tables(block).standard_errors for block in self._blocks)
        return np.concatenate([*each])

    @cached_property
    def _facts(self) -> _Facts:
        columns = zip(*map(self._facts_of, self._blocks), strict=True)
        return _Facts(*map(np.concatenate, columns))

    @property
    def _blocks(self) -> list[range]:
        size = len(self.parameters)
        return [range(k, min(k + _BLOCK, size)) for k in range(0, size, _BLOCK)]

    def _facts_of(self, positions: Sequence[int]) -> _Facts:
        sampling = self.with_tables(positions)
        each = range(len(positions))
        variances = sampling.variances
        usable = np.array([sampling.is_usable(k, 0.0) for k in each], dtype=bool)
        tasks, reasons = np.empty((2, len(positions)), dtype=object)
        for k in each:
            task = sampling.task(k, float(np.sqrt(variances[k])))
            tasks[k] = task._replace(functional=None, counts=None)
            reasons[k] = sampling.small_sample_reasons(k)
        roots = np.full(len(positions), np.nan)
        read = [p.interval_method.reads_table for p in sampling.parameters]
        if len(known := np.flatnonzero(usable & read)):
            joint = JointEstimate(sampling)
            nulls = np.full(len(known), self.null)
            roots[known] = joint.roots(known, nulls, joint.estimates[known] > nulls)
        return _Facts(
            variances,
            sampling.degrees_of_freedom,
            sampling.is_linear,
            np.array([sampling.has_variance(k) for k in each], dtype=bool),
            usable,
            np.array([sampling.is_usable(k, 1.0) for k in each], dtype=bool),
            np.array([sampling.is_degenerate(k) for k in each], dtype=bool),
            np.broadcast_to(sampling.noise_variances(1.0) > 0, usable.shape),
            sampling.design_effects,
            sampling.spans_strata,
            np.array([sampling.n_rows(k) for k in each]),
            sampling.table_sizes,
            reasons,
            tasks,
            roots,
        )

    def has_variance(self, k: int) -> bool:
        return bool(self._facts.has_variance[k])

    def is_usable(self, k: int, total: float) -> bool:
        noisy = self._facts.is_usable_with_noise if total > 0 else self._facts.is_usable
        return bool(noisy[k])

    def is_degenerate(self, k: int) -> bool:
        return bool(self._facts.is_degenerate[k])

    def n_rows(self, k: int) -> int:
        return int(self._facts.n_rows[k])

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        return self._facts.reasons[k]

    def noise_variances(self, z: float) -> Array:
        variances = np.zeros(len(self.parameters))
        noisy = np.flatnonzero(self._facts.has_noise)
        for first in range(0, len(noisy), _BLOCK):
            block = noisy[first : first + _BLOCK]
            variances[block] = self.with_tables(block.tolist()).noise_variances(z)
        return variances

    def task(self, k: int, standard_error: float) -> Task:
        task: Task = self._facts.tasks[k]
        if not any(task.hall):
            return task._replace(standard_error=standard_error)
        share = (self.variances[k] / standard_error**2) ** 1.5  # the rest is symmetric
        a, b, c = task.hall
        hall = a * share, b * share, c * share
        return task._replace(standard_error=standard_error, hall=hall)

    def loadings(self, z: float) -> Loadings:
        """Loadings of the contrasts on factors of the parameters they are made of.

        Contrasts that do not vary, as of copies of a model, are taken to be independent
        of others and, unless they are more than the parameters, of one another.
        """
        columns: dict[Any, int] = {}
        entries = [
            (slope, row, columns.setdefault((base, parameter.method), len(columns)))
            for row, parameter in enumerate(self.parameters)
            for base, slope in self._slopes(parameter)
        ]
        bases = [base.with_method(method) for base, method in columns]
        sampling = self.tables.sampling.with_parameters(bases)
        values, vectors = np.linalg.eigh(sampling.unsmoothed + sampling.noise(z))
        size = len(bases)
        factor = np.eye(2 * size)
        factor[:size, :size] = vectors * np.sqrt(np.maximum(values, 0.0))
        slopes, rows, places = map(np.array, zip(*entries, strict=True))
        slopes = np.nan_to_num(slopes)
        deviations = np.linalg.norm(factor, axis=1)
        reach = np.bincount(rows, np.abs(slopes) * deviations[places])
        shape = len(self.parameters), 2 * size
        loadings = Loadings(factor, sparse.csr_array((slopes, (rows, places)), shape))
        constant = loadings.variances <= _CONSTANT * reach**2
        alone = np.flatnonzero(constant)
        slopes = np.append(slopes * ~constant[rows], np.ones(len(alone)))
        rows = np.append(rows, alone)
        places = np.append(places, size + np.arange(len(alone)) % size)
        return Loadings(factor, sparse.csr_array((slopes, (rows, places)), shape))

    def _slopes(self, contrast: Parameter) -> Iterator[tuple[Any, float]]:
        """Parameters that a contrast is made of, and the slope in each."""
        components: Any = contrast.components
        for component, coefficient in zip(
            components, contrast.coefficients, strict=True
        ):
            slope = coefficient
            if self.tables.ratio:
                weights = component.with_method(contrast.method).weights
                with np.errstate(all="ignore"):
                    slope = coefficient / component.functional.estimate(weights)
            for base, inner in base_slopes(component):
                yield base, float(slope) * inner


class ManyContrasts(JointEstimate):
    """Joint estimate of contrasts that are too many to keep their tables."""

    sampling: ContrastSampling

    def select(self, positions: Sequence[int]) -> JointEstimate:
        return estimate_contrasts(self, self.sampling.select(positions))

    @property
    def with_tables(self) -> JointEstimate:
        return _of_class(JointEstimate, self, self.sampling.with_all_tables)

    def _batches(
        self, positions: Array
    ) -> Iterator[tuple[IntervalMethod, list[int], list[Task]]]:
        for first in range(0, len(positions), _BLOCK):
            block = positions[first : first + _BLOCK]
            for method, rows, tasks in super()._batches(block):
                if method.reads_table:
                    sampling = self.sampling.with_tables(block[rows].tolist())
                    errors = (task.standard_error for task in tasks)
                    tasks = [sampling.task(k, error) for k, error in enumerate(errors)]
                yield method, [first + row for row in rows], tasks

    def roots(self, positions: Array, nulls: Array, above: Array) -> Array:
        null = self.sampling.null
        roots = self.sampling._facts.null_roots[positions]
        known = above == (self.estimates[positions] > null)
        known &= ~np.isnan(roots) & (nulls == null)
        rest = np.flatnonzero(~known)
        if len(rest):
            roots[rest] = super().roots(positions[rest], nulls[rest], above[rest])
        return roots

    @cached_property
    def _loadings(self) -> Loadings:
        """Standardised loadings of usable contrasts; 0 of others."""
        loadings = self.sampling.loadings(self.z)
        return loadings.scaled(self.usable / np.sqrt(loadings.variances))

    @cached_property
    def _noise(self) -> float:
        """Share of the variance that is made independent, by shrinkage."""
        known = np.flatnonzero(self.usable)
        df = self.degrees_of_freedom[known]
        if np.isinf(df).all():
            return 0.0
        return shrinkage(*self._loadings.taken(known).squared_correlations(), df)

    def law(self, alternative: Alternative = "two-sided") -> MaximumLaw | HorizonLaw:
        if self.is_individual or self.horizon is not None:
            return super().law(alternative)
        if alternative not in self._laws:
            known = np.flatnonzero(self.usable)
            loadings = self._loadings.taken(known)
            self._laws[alternative] = LawOfLoadings(
                loadings,
                self._noise,
                alternative=alternative,
                random_state=self.random_state,
            )
        return self._laws[alternative]

    def law_among(self, positions: Array, signs: Array) -> MaximumLaw | HorizonLaw:
        if self.horizon is not None:
            return super().law_among(positions, signs)
        rows = self._loadings.rows(positions) * signs[:, np.newaxis]
        correlation: Array = (1 - self._noise) * rows @ rows.T
        np.fill_diagonal(correlation, 1.0)
        return self.law_of(correlation, None, "less", tol=_TOLERANCE)

    @property
    def _covariance(self) -> Array:
        size = len(self.parameters)
        if size > _MOST:
            raise ValueError(
                f"covariance and correlation need at most {_MOST:,} contrasts, got "
                f"{size:,}; select some, or name a control"
            )
        rows = self._loadings.rows(np.arange(size))
        correlation: Array = rows @ rows.T
        np.fill_diagonal(correlation, 1.0)
        deviations = np.sqrt(self._variances)
        correlation *= deviations
        correlation *= deviations[:, np.newaxis]
        return correlation


def estimate_contrasts(
    joint: JointEstimate, sampling: ContrastSampling, **options: Any
) -> JointEstimate:
    """Estimate contrasts, whose tables are kept unless they are many."""
    number, most = len(sampling.parameters), MOST_TABLES
    if any(part.by_pair for p in sampling.parameters for part in p.components):
        most = _MOST_BY_PAIR
        if number > most:
            raise ValueError(
                f"missing_grades='pairwise' is of at most {most:,} differences, got "
                f"{number:,}; name a control, select models, or drop the items that "
                "some model has no grade of"
            )
    if number > most:
        return _of_class(ManyContrasts, joint, sampling, **options)
    return _of_class(JointEstimate, joint, sampling.with_all_tables, **options)


def _of_class(
    kind: type[JointEstimate], joint: JointEstimate, sampling: Any, **options: Any
) -> JointEstimate:
    """Take over the options of another joint estimate."""
    taken = {
        field.name: getattr(joint, field.name) for field in fields(joint) if field.init
    }
    return kind(**taken | {"sampling": sampling} | options)
