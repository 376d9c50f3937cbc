r"""Samples of a few rows with the moments of many rows, for functions of means.

The influence value of a smooth function of weighted means is linear in the columns
:math:`x_i` of a row. The value and variance of the function are therefore determined by
the weights :math:`w_i`, their squares, and the sums :math:`\sum w_i x_i`,
:math:`\sum w_i x_i x_i^T` and :math:`\sum w_i^2 x_i x_i^T`. With clusters, cluster
totals replace the rows. A few rows can have the same sums: one row at the mean, and
pairs of rows on either side of the mean (Julier and Uhlmann, 2004).

References
----------
Julier, S. J. and Uhlmann, J. K. (2004). Unscented filtering and nonlinear estimation.
Proceedings of the IEEE 92, 401-422.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skci._arrays import ROUNDING, Array, binade, dataclass
from skci._validation import LARGEST
from skci.data.sample import Sample, Scores, Vocabulary, united_design
from skci.inference.designs.design import Component
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.rows import SAME_WEIGHT, Influences, Rows
from skci.measures.functional import FunctionOfMeans

_LARGEST = math.sqrt(LARGEST)
_MAX_COLUMNS = 64
_NEGLIGIBLE = 1e-14  # variance of scaled columns that is attributed to rounding
_NOTHING = 2.0**-100  # share of the weight for rows of negligible weight


class Variable(NamedTuple):
    """Identifier of a numeric variable, such as the loss of a model."""

    name: str
    model: str = ""
    target: int = 0


Monomial = tuple[Variable, ...]
"""A variable minus its origin, or the product of two such differences."""


def with_variables(monomials: Iterable[Monomial]) -> tuple[Monomial, ...]:
    """Return monomials, preceded by the variables that occur in the monomials.

    A monomial is a variable or the product of two variables. Duplicates are removed.
    """
    ordered = [tuple(sorted(monomial)) for monomial in monomials]
    single = [(variable,) for monomial in ordered for variable in monomial]
    return tuple(dict.fromkeys(single + ordered))


@dataclass(frozen=True, eq=False)
class Means:
    """Values of variables, and of products of two variables, in each row.

    A metric such as a correlation is a function of the means of these values. Before
    products are computed, a constant, called the origin, is subtracted from each
    variable. In a `MomentSample`, a few artificial rows with the same moments replace
    the rows of the data.
    """

    monomials: tuple[Monomial, ...]
    origins: Mapping[Variable, float]
    values: Array
    """Values of the columns in each row, of shape (m, columns)."""

    @classmethod
    def of_rows(
        cls,
        monomials: Sequence[Monomial],
        variables: Mapping[Variable, Array],
        weights: Array | None = None,
        sizes: Mapping[Variable, float] | None = None,
    ) -> Means:
        """Compute the values of monomials in each row.

        A monomial is a variable or the product of two variables. If `weights` are
        passed, the weighted mean of each variable is subtracted from the variable. If
        the range of a variable is zero up to rounding error, the variable is treated as
        constant. The rounding error is relative to the size of the variable in `sizes`,
        by default the largest absolute value.
        """
        columns_to_keep, origins, centred = with_variables(monomials), {}, {}
        for v in dict.fromkeys(v for monomial in columns_to_keep for v in monomial):
            values, origins[v] = np.asarray(variables[v], dtype=float), 0.0
            if weights is not None:
                size = (sizes or {}).get(v) or np.abs(values).max()
                origins[v] = float(np.average(values, weights=weights))
                if np.ptp(values) <= ROUNDING * size:
                    origins[v] = float(values.max())
                    values = np.full(values.shape, origins[v])
                values = values - origins[v]
            centred[v] = values
        columns = [
            math.prod(centred[v] for v in monomial) for monomial in columns_to_keep
        ]
        return cls(columns_to_keep, origins, np.stack(columns, axis=1))

    def column(self, monomial: Monomial) -> Array:
        """Return the column of a variable, or of the product of two variables."""
        return self.values[:, self.monomials.index(tuple(sorted(monomial)))]

    def function(
        self,
        function: Callable[..., Any],
        monomials: Sequence[Monomial],
        centred: Collection[str] = (),
    ) -> FunctionOfMeans:
        """Return a metric as a function of the means of monomials.

        A monomial is a variable or a product of two variables. `function` computes the
        metric from the means of the monomials. The means of products are computed from
        centred variables. The mean of a single variable is on the original scale,
        unless `centred` contains the name of the variable.
        """
        origins, units, features = [], [], []
        for monomial in monomials:
            absolute = len(monomial) == 1 and monomial[0].name not in centred
            origins.append(self.origins[monomial[0]] if absolute else 0.0)
            column = self.column(monomial)
            size = np.append(column, origins[-1])
            units.append(binade(size) if size.any() else 1.0)
            features.append(column / units[-1])
        evaluate = partial(_at_means, function, origins, units)
        return FunctionOfMeans(evaluate, np.stack(features, axis=1))

    def among(self, monomials: Iterable[Monomial]) -> Means:
        """Select monomials, together with the variables that occur in the monomials.

        A monomial is a variable or the product of two variables.
        """
        selected = with_variables(monomials)
        if missing := {*selected} - {*self.monomials}:
            names = sorted({v.name for monomial in missing for v in monomial})
            raise ValueError(
                "metrics must be functions of the saved moments, got metrics that also "
                f"need {', '.join(names)}"
            )
        origins = {v: self.origins[v] for monomial in selected for v in monomial}
        index = [self.monomials.index(monomial) for monomial in selected]
        return replace(
            self, monomials=selected, origins=origins, values=self.values[:, index]
        )

    def joined(self, other: Means, share: float) -> Means:
        """Concatenate the rows of this object and of `other`, and centre all rows.

        `share` is the weight of `other` divided by the total weight. The mean over all
        rows is subtracted from each variable. If a variable is constant in both
        objects, and the two constants differ only by rounding errors, the variable
        remains constant.
        """
        both = self, other.among(self.monomials)
        origins, moves = {}, []
        for v in self.origins:
            old_origins = [means.origins[v] for means in both]
            change = old_origins[1] - old_origins[0]
            origins[v] = old_origins[0] + share * change
            moved = [old_origin - origins[v] for old_origin in old_origins]
            varies = any(means.column((v,)).any() for means in both)
            if not varies and abs(change) <= ROUNDING * np.abs(old_origins).max():
                origins[v], moved = max(old_origins), [0.0, 0.0]
            moves.append(moved)
        values = [
            means._moved(dict(zip(origins, move, strict=True)))
            for means, move in zip(both, zip(*moves, strict=True), strict=True)
        ]
        return replace(self, origins=origins, values=np.concatenate(values))

    def _moved(self, moves: Mapping[Variable, float]) -> Array:
        """Return the columns after adding the constants `moves` to the variables."""
        columns = []
        for monomial in self.monomials:
            column = self.column(monomial) + math.prod(moves[v] for v in monomial)
            if len(monomial) == 2:
                for factor, moved in (monomial, monomial[::-1]):
                    column = column + moves[moved] * self.column((factor,))
            columns.append(column)
        return np.stack(columns, axis=1)


def _at_means(
    function: Callable[..., Any],
    origins: Iterable[Any],
    units: Iterable[Any],
    *means: Any,
) -> Any:
    """Convert means to the original scale, and evaluate a function of the means.

    The original scale of a mean is ``origin + unit * mean``.
    """
    columns = zip(means, origins, units, strict=True)
    return function(*(origin + unit * mean for mean, origin, unit in columns))


def few_rows(values: Array, rows: Rows, design: Any) -> tuple[Array, Rows, Any]:
    """Replace the rows of a sample by a few artificial rows with the same moments.

    Moments are means of columns, and means of products of columns. Each cluster is
    replaced by a row at the mean of the cluster. The variation within clusters is
    represented by additional rows, all in the cluster with the largest weight. Without
    clusters, the whole sample is treated as one cluster. Returns the values, the
    weights and the design of the artificial rows.
    """
    squares, weights, starts = rows.all_powers[0], rows.weights, np.array([0])
    square, total, n = squares.sum(), weights.sum(), float(rows.frequencies.sum())
    members, clusters = values, design if isinstance(design, Clusters) else None
    if clusters is not None:
        starts, weights = clusters.starts, clusters.weights
        members = values[clusters.unit]
    totals = np.add.reduceat(weights, starts)
    centres = np.add.reduceat(members * weights[:, np.newaxis], starts)
    centres /= totals[:, np.newaxis]
    sizes = np.diff(starts, append=len(weights))
    deviations = members - np.repeat(centres, sizes, axis=0)
    heaviest = int(totals.argmax())
    remaining = np.delete(np.arange(len(totals)), heaviest)
    columns, few = _around(totals[heaviest], centres[heaviest], deviations, weights)
    number = np.append(remaining, np.full(len(few), heaviest))
    columns = np.concatenate([centres[remaining], columns])
    few = np.concatenate([totals[remaining], few])
    squared_weights = few * (square / total)
    if clusters is None and square * n / total**2 - 1 > SAME_WEIGHT:
        centre = squares @ values / square
        points, point_squares = _around(square, centre, values - centre, squares)
        columns = np.concatenate([columns, points])
        squared_weights = np.append(np.zeros(len(few)), point_squares)
        few = np.append(few, np.full(len(points), _NOTHING * total))
    none = np.zeros(len(few))
    powers = np.array([squared_weights, none, none])
    few_rows_of_sample = Rows(
        few, powers, few * (n / total), rows.scale, are_mixtures=True
    )
    if clusters is None:
        return columns, few_rows_of_sample, IndependentSums(round(n))
    keys = clusters.keys[clusters.number[starts]]
    units = np.arange(len(few))
    drawn = Clusters.from_rows(keys, number, units, few, squared_weights, clusters.kind)
    return columns, few_rows_of_sample, drawn


def _around(
    weight: float, centre: Array, deviations: Array, weights: Array
) -> tuple[Array, Array]:
    """Replace weighted rows by a few rows with the same mean and covariance.

    One of the new rows lies at the mean, `centre`. The other rows form pairs on
    opposite sides of the mean, along the principal axes. Returns the values and the
    weights of the new rows.
    """
    largest = np.abs(deviations).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    deviations = deviations / largest
    products = deviations.T @ (weights[:, np.newaxis] * deviations)
    sizes = np.sqrt(products.diagonal())
    sizes = np.where(sizes > 0, sizes, 1.0)
    values, vectors = np.linalg.eigh(products / sizes / sizes[:, np.newaxis])
    axes = values > _NEGLIGIBLE * len(sizes)
    steps = largest * sizes * (vectors[:, axes] * np.sqrt(values[axes])).T
    share = weight / (4 * max(len(steps), 1))
    steps = steps / np.sqrt(2 * share)
    few = np.full(1 + 2 * len(steps), share)
    few[0] = weight - 2 * len(steps) * share
    return np.concatenate([[centre], centre + steps, centre - steps]), few


class IndependentSums(IndependentRows):
    """Design for a few artificial rows that represent many independent rows."""

    pools_units: ClassVar[bool] = False

    def totals(self, influences: Influences) -> Iterator[Component]:
        rows = influences.rows
        effective = 1 / float(rows.shares**2 @ rows.repeats[1])
        yield Component(
            influences,
            repeats=rows.repeats,
            ddof=self.ddof,
            degrees_of_freedom=effective - 1,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentSample(Sample):
    """Sample that stores moments, such as mean squares, instead of the data."""

    means: Means

    @classmethod
    def of(
        cls,
        sample: Sample,
        monomials: Sequence[Monomial],
        variables: Mapping[Variable, Array],
    ) -> MomentSample:
        """Compute the moments of variables over the rows of a sample."""
        n_columns = len(with_variables(monomials))
        if n_columns > _MAX_COLUMNS:
            raise ValueError(
                f"moments=True supports at most {_MAX_COLUMNS} columns of losses or "
                f"numbers for all models and metrics together, got {n_columns}; pass "
                "fewer models or metrics at a time"
            )
        for v, values in variables.items():
            if not (largest := np.abs(values).max()) < _LARGEST:
                raise ValueError(
                    "y_true and y_pred must contain numbers so small that moments "
                    f"are finite floats, got values of {v.name.replace('_', ' ')} up "
                    f"to {largest:.3g}"
                )
        means = Means.of_rows(monomials, variables, sample.rows.weights)
        return cls._of_few_rows(sample, means, sample.rows, sample.design)

    @classmethod
    def _of_few_rows(
        cls,
        sample: Sample,
        means: Means,
        rows: Rows,
        design: Any,
        vocabulary: Vocabulary | None = None,
    ) -> MomentSample:
        """Return a few weighted rows with the same moments as `rows`.

        The names of the models are copied from `sample`. If `vocabulary` is None, the
        labels are also copied from `sample`.
        """
        vocabulary = sample.vocabulary if vocabulary is None else vocabulary
        values, rows, design = few_rows(means.values, rows, design)
        none = np.zeros((0, len(vocabulary.targets)))
        return cls(
            rows=rows,
            design=design,
            vocabulary=vocabulary,
            codes=none,
            labelled=sample.labelled,
            scores=dict.fromkeys(sample.scores, Scores(none)),
            numbers=dict.fromkeys(sample.numbers, none),
            items=dict.fromkeys(sample.items, none),
            means=replace(means, values=values),
        )

    def __add__(self, other: Sample) -> MomentSample:
        vocabulary = self.check_addable(other)
        assert isinstance(other, MomentSample)
        samples = self, other
        first, second = (sample.rows.total_weight for sample in samples)
        means = self.means.joined(other.means, second / (first + second))
        rows = Rows.concatenate([sample.rows for sample in samples])
        design = united_design(samples, np.arange(len(rows)), rows.scale)
        return self._of_few_rows(self, means, rows, design, vocabulary)

    def check_addable(self, other: Sample) -> Vocabulary:
        vocabulary = super().check_addable(other)
        assert isinstance(other, MomentSample)
        if {*self.means.monomials} != {*other.means.monomials}:
            raise ValueError("batches must have moments of the same metrics")
        # Scores refer to all labels except the first.
        for sample_vocabulary in (self.vocabulary, other.vocabulary):
            if sample_vocabulary.labels[1:] != vocabulary.labels[1:]:
                raise ValueError(
                    "batches must have the same labels or targets, got "
                    f"{self.vocabulary.classes} and {other.vocabulary.classes}; pass "
                    "all labels as labels="
                )
        return vocabulary
