"""Sampling covariance of estimates that is given, as by resampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, combinations
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci.inference.designs.design import SmallSampleReason
from skci.inference.intervals.methods import Known, Task
from skci.inference.parameter import Key, Parameter
from skci.inference.parameter_sampling import HEAVY_TAIL
from skci.inference.rows import Rows
from skci.inference.sampling import RowSampling, Sampling

NO_VARIANCE_OF_CONTRAST = 1e-12
"""Share of the largest possible variance of a contrast that is zero."""

_MOST_EXCESS = 0.6  # share of the variance of a comparison that may be removed


@dataclass(frozen=True, eq=False)
class GivenCovariance(Sampling):
    """Given estimates with a given covariance, zero where it is unknown.

    They are those of resampling, or of another program.
    """

    parameters: tuple[Parameter, ...]
    covariance: Array
    df: float
    """Degrees of freedom of each variance; infinite for a normal quantile."""
    common_variance: bool = False
    """Whether they are those of one variance, as of the residuals of a linear model."""
    excess: Mapping[frozenset[str], float] = field(default_factory=dict)
    """Share of the variance that comparisons of two models, by name, are free of."""
    known: ClassVar[Known] = "covariance"

    @property
    def degrees_of_freedom(self) -> Array:  # type: ignore[override]
        return np.full(len(self.parameters), self.df)

    @property
    def common_df(self) -> float | None:  # type: ignore[override]
        return self.df if self.common_variance and self.df < np.inf else None

    def select(self, positions: Sequence[int]) -> Self:
        block = self.covariance[np.ix_(positions, positions)]
        return replace(super().select(positions), covariance=block)

    def contrasts(
        self,
        parameters: Sequence[Parameter],
        slopes: Array,
        pairs: Sequence[frozenset[str]],
    ) -> GivenCovariance:
        r"""Linear combinations of the estimates, with covariance :math:`L V L^T`.

        Of the variances of comparisons of two models, which are named, the excess is
        removed; correlations stay.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # then it is unknown
            covariance = slopes @ self.covariance @ slopes.T
            covariance[~np.isfinite(covariance)] = 0
            # Of what does not vary there is rounding left, of either sign.
            most = np.abs(slopes) @ np.sqrt(self.covariance.diagonal())
            constant = covariance.diagonal() <= NO_VARIANCE_OF_CONTRAST * most**2
        # A zero variance is unknown, and so is that of what depends on it.
        unknown = slopes[:, ~(self.variances > 0)].any(axis=1)
        covariance[constant | unknown] = covariance[:, constant | unknown] = 0
        if self.excess:
            kept = np.sqrt([1 - self.excess.get(pair, 0.0) for pair in pairs])
            covariance *= np.outer(kept, kept)
        return replace(
            self, parameters=tuple(parameters), covariance=covariance, excess={}
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class EstimatesOfRows(GivenCovariance):
    """Estimates of rows whose contrasts follow from their covariance alone."""

    of_rows: RowSampling

    @classmethod
    def of(cls, sampling: RowSampling) -> EstimatesOfRows:
        """Take the covariance of estimates, and their least degrees of freedom."""
        number = len(sampling.parameters)
        known = np.array([sampling.is_usable(k, 0.0) for k in range(number)])
        covariance, df = np.zeros((number, number)), 1.0
        if known.any():
            covariance = sampling.covariance * np.outer(known, known)
            df = float(sampling.degrees_of_freedom[known].min())
        return cls(
            parameters=sampling.parameters,
            covariance=covariance,
            df=df,
            of_rows=sampling,
        )

    @property
    def rows(self) -> Rows:  # type: ignore[override]
        return self.of_rows.rows

    @property
    def design_in_words(self) -> str:
        return self.of_rows.design_in_words

    @property
    def n_groups(self) -> int | None:
        return self.of_rows.n_groups

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons that hold for all estimates, and so for contrasts of them."""
        of_rows = self.of_rows
        each = map(of_rows.small_sample_reasons, range(len(of_rows.parameters)))
        return list(dict.fromkeys(chain.from_iterable(each)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ResampledEstimates(GivenCovariance):
    """Estimates with the covariance of a resampling, and the skewness of their losses.

    Their skewness, and whether tails are heavy, follow from the losses of rows that
    were predicted out of fold, as if the models were given.
    """

    of_rows: Sampling
    """The same parameters of these rows, each predicted once."""
    models: ResampledEstimates | None = None
    """The estimates that contrasts are of."""
    known: ClassVar[Known] = "skewness"

    def select(self, positions: Sequence[int]) -> Self:
        of_rows = self.of_rows.select(positions)
        return replace(super().select(positions), of_rows=of_rows)

    def contrasts(
        self,
        parameters: Sequence[Parameter],
        slopes: Array,
        pairs: Sequence[frozenset[str]],
    ) -> ResampledEstimates:
        """Linear combinations, of losses with a variance not below that of the rows.

        That of comparisons which are freed of an excess may be, but models that other
        rows train only add to the variance of the losses of models that are given.
        """
        compared: Any = super().contrasts(parameters, slopes, pairs)
        freed = [
            parameter.interval_method.corrects_skewness and pair in self.excess
            for parameter, pair in zip(parameters, pairs, strict=True)
        ]
        if any(freed):
            rows = self.of_rows.covariance
            least = np.where(freed, ((slopes @ rows) * slopes).sum(axis=1), 0)
            variances = np.where(compared.variances > 0, compared.variances, np.inf)
            scale = np.sqrt(np.maximum(least / variances, 1))
            raised = compared.covariance * np.outer(scale, scale)
            compared = replace(compared, covariance=raised)
        return replace(compared, models=self.models or self)

    def small_sample_reasons(self, k: int) -> list[SmallSampleReason]:
        """Reasons why an interval may be too narrow, those of the losses included.

        Heavy tails are also those of the models that a contrast is of: the losses of
        models that are given may be close, but not what other rows would train.
        """
        reasons, parameter = super().small_sample_reasons(k), self.parameters[k]
        if parameter.interval_method.corrects_skewness:
            of_losses = self.of_rows.small_sample_reasons(k)
            reasons += [reason for reason in of_losses if reason != HEAVY_TAIL]
        of_models = self.models.heavy_tails if self.models else self.heavy_tails
        if {parameter, *parameter.components} & (self.heavy_tails | of_models):
            reasons.append(HEAVY_TAIL)
        return reasons

    @cached_property
    def heavy_tails(self) -> set[Parameter]:
        """Parameters whose losses seem to be without a variance.

        The estimates of models have losses whose least is about zero.
        """
        rows: Any = self.of_rows
        return {
            parameter
            for k, parameter in enumerate(self.parameters)
            if parameter.trait.heavy_tails
            and (
                HEAVY_TAIL in rows.small_sample_reasons(k)
                or (self.models is None and rows.each[k].has_heavy_losses)
            )
        }

    def task(self, k: int, standard_error: float) -> Task:
        task = super().task(k, standard_error)
        if not self.parameters[k].interval_method.corrects_skewness:
            return task
        error = math.sqrt(self.of_rows.variances[k])
        return task._replace(hall=self.of_rows.task(k, error).hall)


def excess_shares(
    parameters: Sequence[Parameter], covariance: Array, excess: Array
) -> dict[frozenset[str], float]:
    """Share of an excess in the variance of the differences of each two models.

    The mean over all measures that compare them, and at most `_MOST_EXCESS`.
    """
    places: dict[Key, list[int]] = {}
    for k in np.flatnonzero(covariance.diagonal() > 0).tolist():
        places.setdefault(parameters[k].key.without("model"), []).append(k)
    shares: dict[frozenset[str], list[float]] = {}
    for i, j in chain(*(combinations(each, 2) for each in places.values())):
        variance, removed = (
            float(V[i, i] + V[j, j] - 2 * V[i, j]) for V in (covariance, excess)
        )
        most = math.sqrt(covariance[i, i]) + math.sqrt(covariance[j, j])
        if variance > NO_VARIANCE_OF_CONTRAST * most**2:
            pair = frozenset((parameters[i].key.name, parameters[j].key.name))
            shares.setdefault(pair, []).append(removed / variance)
    return {
        pair: min(sum(each) / len(each), _MOST_EXCESS) for pair, each in shares.items()
    }
