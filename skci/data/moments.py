"""Samples of which only moments of losses and numbers are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import ROUNDING, Array, binade, dataclass
from skci._validation import LARGEST
from skci.data.sample import Sample, Scores, Vocabulary, united_design
from skci.inference.designs.sums import SumsOfRows, mapped_design, sums_of_rows
from skci.measures.functional import FunctionOfMeans

_NOTHING = 2.0**-500  # unit of a variable that does not vary
_LARGEST = math.sqrt(LARGEST)
_MOST_COLUMNS = 64


class Variable(NamedTuple):
    """A number of each row: a loss of a model, or what some measures need besides."""

    name: str
    model: str = ""
    target: int = 0


Monomial = tuple[Variable, ...]
"""A variable, or two to be multiplied, each less its mean."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a sample: monomials of variables, centred and in units.

    A column is a variable less its origin, over its unit, or a product of two of these,
    which are columns as well.
    """

    monomials: tuple[Monomial, ...]
    origins: Mapping[Variable, float]
    units: Mapping[Variable, float]

    @classmethod
    def of(cls, monomials: Sequence[Monomial]) -> Columns:
        """Each variable, then each product, once; with origin 0 and no spread."""
        single = dict.fromkeys((v,) for monomial in monomials for v in monomial)
        chosen = tuple(single | dict.fromkeys(tuple(sorted(m)) for m in monomials))
        variables = [v for monomial in single for v in monomial]
        none = dict.fromkeys(variables, 0.0)
        return cls(chosen, none, dict.fromkeys(variables, _NOTHING))

    def position(self, monomial: Monomial) -> int:
        """Position of a column."""
        return self.monomials.index(tuple(sorted(monomial)))

    def unit(self, monomial: Monomial) -> float:
        """Unit of a column."""
        return float(np.prod([self.units[v] for v in monomial]))

    def values(self, variables: Mapping[Variable, Array]) -> Array:
        """Columns of rows, of shape (columns, n), from variables less their origin."""
        n = len(next(iter(variables.values())))
        columns = np.empty((len(self.monomials), n))
        for column, monomial in zip(columns, self.monomials, strict=True):
            first, *others = monomial
            np.divide(variables[first], self.unit(monomial), out=column)
            for other in others:
                column *= variables[other]
        return columns

    def shift_to(self, other: Columns) -> Array:
        """Matrix from cells to those of other origins and units, of some columns."""
        matrix = np.zeros((1 + len(other.monomials), 1 + len(self.monomials)))
        moves = {v: self._move(v, other) for v in other.origins}
        for row, monomial in zip(matrix[1:], other.monomials, strict=True):
            row += np.prod([moves[v][1] for v in monomial])
            row[1 + self.position(monomial)] += np.prod([moves[v][0] for v in monomial])
            if len(monomial) == 2:
                for kept, moved in (monomial, monomial[::-1]):
                    term = moves[kept][0] * moves[moved][1]
                    row[1 + self.position((kept,))] += term
        matrix[0] = 1 - matrix.sum(axis=0)
        return matrix

    def _move(self, variable: Variable, other: Columns) -> tuple[float, float]:
        """Factor of a variable, and what is added to it."""
        unit = other.units[variable]
        if unit == _NOTHING:  # origins differ by rounding
            return 1.0, 0.0
        moved = self.origins[variable] - other.origins[variable]
        return self.units[variable] / unit, moved / unit

    def united(self, other: Columns, share: float) -> Columns:
        """Columns of two samples together, of which the other has a share of weight."""
        origins, units = {}, {}
        for v, origin in self.origins.items():
            distance = other.origins[v] - origin
            both = max(self.units[v], other.units[v])
            size = max(abs(origin), abs(other.origins[v]))
            if both == _NOTHING and abs(distance) <= ROUNDING * size:
                origins[v], units[v] = max(origin, other.origins[v]), both
                continue
            origins[v] = origin + share * distance
            units[v] = max(both, _size(distance))
        return replace(self, origins=origins, units=units)


@dataclass(frozen=True, eq=False)
class Means:
    """Columns of the cells of a sample, of whose means metrics are functions.

    Cells are rows, or those whose weights are the means themselves.
    """

    columns: Columns
    values: Array
    """Columns of the cells, (m, columns)."""

    @classmethod
    def of_rows(
        cls,
        monomials: Sequence[Monomial],
        variables: Mapping[Variable, Array],
        weights: Array | None = None,
        sizes: Mapping[Variable, float] | None = None,
    ) -> Means:
        """Columns of rows, with weights less the means of variables.

        A variable that varies less than the rounding of its size does not vary. It is
        that of its values, or what they are differences of.
        """
        columns = Columns.of(monomials)
        origins, units, centred = dict(columns.origins), {}, {}
        for v in origins:
            values = np.asarray(variables[v], dtype=float)
            if weights is not None:
                size = (sizes or {}).get(v) or np.abs(values).max()
                origins[v] = float(np.average(values, weights=weights))
                if np.ptp(values) <= ROUNDING * size:
                    origins[v], values = float(values.max()), values.max()
                values = values - origins[v]
            centred[v] = np.broadcast_to(values, np.shape(variables[v]))
            units[v] = max(_NOTHING, _size(values))
        columns = replace(columns, origins=origins, units=units)
        return cls(columns, columns.values(centred).T)

    def column(self, monomial: Monomial) -> Array:
        """Values of a column, in its unit."""
        return self.values[:, self.columns.position(monomial)]

    def function(
        self,
        function: Callable[..., Any],
        monomials: Sequence[Monomial],
        centred: Collection[str] = (),
    ) -> FunctionOfMeans:
        """Function of the means of some columns, of which those named are centred."""
        origins, units, sizes = [], [], []
        for monomial in monomials:
            absolute = len(monomial) == 1 and monomial[0].name not in centred
            origin = self.columns.origins[monomial[0]] if absolute else 0.0
            origins.append(origin)
            units.append(self.columns.unit(monomial))
            sizes.append(max(units[-1], _size(origin)))
        features = np.stack([self.column(monomial) for monomial in monomials], axis=1)
        features *= np.array(units) / sizes
        return FunctionOfMeans(partial(_at_means, function, origins, sizes), features)


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentSample(Sample):
    """Moments of the rows of a sample; what the metrics read of them is not kept."""

    rows: SumsOfRows
    summands: Columns

    @classmethod
    def of(
        cls,
        sample: Sample,
        monomials: Sequence[Monomial],
        variables: Mapping[Variable, Array],
    ) -> MomentSample:
        """Moments of the variables of the rows of a sample."""
        n_columns = len(Columns.of(monomials).monomials)
        if n_columns > _MOST_COLUMNS:
            raise ValueError(
                f"moments=True keeps at most {_MOST_COLUMNS} losses and numbers of all "
                f"models and metrics, got {n_columns}; give fewer at a time"
            )
        for v, values in variables.items():
            if not (largest := np.abs(values).max()) < _LARGEST:
                raise ValueError(
                    "y_true and y_pred must hold numbers of which moments are in the "
                    f"range of floats, got values of {v.name.replace('_', ' ')} up to "
                    f"{largest:.3g}"
                )
        means = Means.of_rows(monomials, variables, sample.rows.weights)
        rows, design = sums_of_rows(means.values.T, sample.rows, sample.design)
        return cls.of_sums(
            *(rows, design, sample.vocabulary, means.columns),
            *(sample.labelled, sample.scores, sample.numbers, sample.items),
        )

    @classmethod
    def of_sums(
        cls,
        rows: SumsOfRows,
        design: Any,
        vocabulary: Vocabulary,
        summands: Columns,
        labelled: Iterable[str],
        *others: Iterable[str],
    ) -> MomentSample:
        """Moments of rows, with the models of each of `KINDS`, labels first."""
        none = np.zeros((0, len(vocabulary.targets)))
        scores, numbers, items = others
        return cls(
            rows=rows,
            design=design,
            vocabulary=vocabulary,
            codes=none,
            labelled=tuple(labelled),
            scores=dict.fromkeys(scores, Scores(none)),
            numbers=dict.fromkeys(numbers, none),
            items=dict.fromkeys(items, none),
            summands=summands,
        )

    @property
    def means(self) -> Means:
        """Columns, each of which is a cell."""
        return Means(self.summands, np.eye(len(self.rows))[:, 1:])

    @property
    def size(self) -> int:
        return (self.design.n_entries or len(self.rows)) // len(self.rows)

    def restricted(self, monomials: Sequence[Monomial]) -> MomentSample:
        """Moments of some of the columns."""
        wanted = Columns.of(monomials)
        if missing := {*wanted.monomials} - {*self._known}:
            names = sorted({v.name for monomial in missing for v in monomial})
            raise ValueError(
                f"metrics must be of moments that were kept, got some of "
                f"{', '.join(names)}"
            )
        if wanted.monomials == self._known:
            return self
        origins = {v: self.summands.origins[v] for v in wanted.origins}
        units = {v: self.summands.units[v] for v in wanted.origins}
        return self._moved(replace(wanted, origins=origins, units=units))

    @property
    def _known(self) -> tuple[Monomial, ...]:
        return self.summands.monomials

    def _moved(self, columns: Columns) -> MomentSample:
        matrix = self.summands.shift_to(columns)
        return replace(
            self,
            rows=self.rows.mapped(matrix),
            design=mapped_design(self.design, matrix),
            summands=columns,
        )

    def __add__(self, other: Sample) -> MomentSample:
        vocabulary = self.check_addable(other)
        assert isinstance(other, MomentSample)
        first, second = (each.rows.total_weight for each in (self, other))
        columns = self.summands.united(other.summands, second / (first + second))
        both = [each._moved(columns) for each in (self, other)]
        scale = max(self.rows.scale, other.rows.scale)
        rows, more = (each.rows.times(each.rows.scale / scale) for each in both)
        cell = np.tile(np.arange(len(rows)), 2)
        return replace(
            both[0],
            rows=rows.plus(more),
            design=united_design(both, cell, scale),
            vocabulary=vocabulary,
        )

    def check_addable(self, other: Sample) -> Vocabulary:
        vocabulary = super().check_addable(other)
        assert isinstance(other, MomentSample)
        if set(self._known) != set(other._known):
            raise ValueError("batches must be of moments of the same metrics")
        # Scores are of the labels that come after the first.
        for each in (self.vocabulary, other.vocabulary):
            if each.labels[1:] != vocabulary.labels[1:]:
                raise ValueError(
                    "batches must be of the same labels or targets, got "
                    f"{self.vocabulary.classes} and {other.vocabulary.classes}; name "
                    "all labels by labels="
                )
        return vocabulary


def _at_means(
    function: Callable[..., Any],
    origins: Iterable[Any],
    units: Iterable[Any],
    *means: Any,
) -> Any:
    """Evaluate a function of means that are given from some origins, in some units."""
    columns = zip(means, origins, units, strict=True)
    return function(*(origin + unit * mean for mean, origin, unit in columns))


def _size(values: Any) -> float:
    """Power of two of the size of the largest value; 0 if all are 0."""
    return binade(np.asarray(values)) if np.any(values) else 0.0
