"""Samples of which only moments of losses and numbers are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import ROUNDING, Array, binade
from skci._validation import LARGEST
from skci.data.sample import Sample
from skci.inference.moment_design import MomentDesign
from skci.measures.functional import FunctionOfMeans

_NOTHING = 2.0**-500  # unit of a variable that does not vary
_MOST_COLUMNS = 64


class Variable(NamedTuple):
    """A number of each row: a loss of a rule, or what some measures need besides."""

    name: str
    rule: str = ""
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
        if len(chosen) > _MOST_COLUMNS:
            raise ValueError(
                f"moments=True keeps at most {_MOST_COLUMNS} losses and numbers of all "
                f"rules and metrics, got {len(chosen)}; give fewer at a time"
            )
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
        """Matrix from (1, x) to that of other origins and units, of some columns."""
        positions = [0, *(1 + self.position(m) for m in other.monomials)]
        matrix = np.zeros((len(positions), 1 + len(self.monomials)))
        matrix[0, 0] = 1
        moves = {v: self._move(v, other) for v in other.origins}
        for row, monomial in enumerate(other.monomials, start=1):
            matrix[row, positions[row]] = np.prod([moves[v][0] for v in monomial])
            matrix[row, 0] = np.prod([moves[v][1] for v in monomial])
            if len(monomial) == 2:
                for kept, moved in (monomial, monomial[::-1]):
                    term = moves[kept][0] * moves[moved][1]
                    matrix[row, 1 + self.position((kept,))] += term
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


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentSample(Sample):
    """Moments of the rows of a sample; what the metrics read of them is not kept."""

    design: MomentDesign
    summands: Columns
    predicted: Mapping[str, Sequence[str]]
    """Rules by the kind of what was read of them."""

    @classmethod
    def of(
        cls,
        sample: Sample,
        monomials: Sequence[Monomial],
        variables: Mapping[Variable, Array],
    ) -> MomentSample:
        """Moments of the variables of the rows of a sample."""
        weights = sample.design.weights
        columns = Columns.of(monomials)
        origins, units, centred = {}, {}, {}
        for v in columns.origins:
            values = np.asarray(variables[v], dtype=float)
            _check_size(values, v, LARGEST)
            origins[v] = float(np.average(values, weights=weights))
            centred[v] = values - origins[v]
            if np.ptp(values) <= ROUNDING * np.abs(values).max():
                origins[v], centred[v] = float(values.max()), np.zeros(len(values))
            units[v] = max(_NOTHING, _size(centred[v]))
        columns = replace(columns, origins=origins, units=units)
        for monomial in columns.monomials:
            if columns.unit(monomial) >= LARGEST:
                _check_size(centred[monomial[0]], monomial[0], np.sqrt(LARGEST))
        design = MomentDesign.of_columns(columns.values(centred), sample.design)
        return cls(
            design=design,
            vocabulary=sample.vocabulary,
            codes=np.zeros((len(design.weights), 0), dtype=bool),
            summands=columns,
            predicted=sample.kinds,
        )

    @property
    def rules(self) -> list[str]:
        return list(dict.fromkeys(r for each in self.predicted.values() for r in each))

    @property
    def kinds(self) -> dict[str, list[str]]:
        return {kind: list(rules) for kind, rules in self.predicted.items()}

    @property
    def size(self) -> int:
        return self.design.n_groups or 1

    def restricted(self, monomials: Sequence[Monomial]) -> MomentSample:
        """Moments of some of the columns."""
        wanted = Columns.of(monomials).monomials
        missing = sorted({m[0].name for m in wanted} - {m[0].name for m in self._known})
        if missing or not set(wanted) <= set(self._known):
            names = missing or sorted({v.name for m in wanted for v in m})
            raise ValueError(
                f"metrics must be of moments that were kept, got some of "
                f"{', '.join(names)}"
            )
        if wanted == self._known:
            return self
        kept = {v for monomial in wanted for v in monomial}
        columns = Columns(
            wanted,
            {v: x for v, x in self.summands.origins.items() if v in kept},
            {v: x for v, x in self.summands.units.items() if v in kept},
        )
        return self._moved(columns)

    @property
    def _known(self) -> tuple[Monomial, ...]:
        return self.summands.monomials

    def _moved(self, columns: Columns) -> MomentSample:
        design = self.design.mapped(self.summands.shift_to(columns))
        codes = np.zeros((len(design.weights), 0), dtype=bool)
        return replace(self, design=design, summands=columns, codes=codes)

    def __add__(self, other: Sample) -> MomentSample:
        vocabulary = self.check_addable(other)
        assert isinstance(other, MomentSample)
        first, second = (each.design.total_weight for each in (self, other))
        columns = self.summands.united(other.summands, second / (first + second))
        designs = [each._moved(columns).design for each in (self, other)]
        return replace(
            self,
            design=designs[0] + designs[1],
            vocabulary=vocabulary,
            summands=columns,
        )

    def check_addable(self, other: Sample) -> Any:
        self._check_same_kind(other)
        assert isinstance(other, MomentSample)
        must = "batches must be"
        if set(self._known) != set(other._known):
            raise ValueError(f"{must} of moments of the same metrics")
        mine, others = self.vocabulary, other.vocabulary
        same = mine.targets == others.targets and len(mine.labels) == len(others.labels)
        known = (mine.labels[1:], others.labels[1:])
        if mine.binary:
            negatives = {mine.labels[0], others.labels[0]} - {None}
            same &= len(negatives) <= 1
        else:
            known = (mine.labels, others.labels)
        if not same or known[0] != known[1]:
            raise ValueError(
                f"{must} of the same labels or targets, got "
                f"{mine.classes} and {others.classes}; name all labels by labels="
            )
        return mine if mine.labels[0] is not None else others

    def function_of_means(
        self,
        function: Callable[..., Any],
        monomials: Sequence[Monomial],
        centred: Collection[str] = (),
    ) -> FunctionOfMeans:
        """Function of the means of some columns, of which those named are centred."""
        origins, units, sizes = [], [], []
        for monomial in monomials:
            absolute = len(monomial) == 1 and monomial[0].name not in centred
            origins.append(self.summands.origins[monomial[0]] if absolute else 0.0)
            units.append(self.summands.unit(monomial))
            sizes.append(max(units[-1], _size(origins[-1])))
        positions = [1 + self.summands.position(m) for m in monomials]
        features = np.eye(len(self.design.weights))[:, positions]
        features *= np.array(units) / sizes
        at_means = partial(_at_means, function, origins, sizes)
        return FunctionOfMeans(at_means, features)


def _at_means(
    function: Callable[..., Any],
    origins: Sequence[float],
    units: Sequence[float],
    *means: Any,
) -> Any:
    """Evaluate a function of means that are given from some origins, in some units."""
    columns = zip(means, origins, units, strict=True)
    return function(*(origin + unit * mean for mean, origin, unit in columns))


def _size(values: Any) -> float:
    """Power of two of the size of the largest value; 0 if all are 0."""
    return binade(np.asarray(values)) if np.any(values) else 0.0


def _check_size(values: Array, variable: Variable, most: float) -> None:
    largest = np.abs(values).max()
    if not largest < most:
        raise ValueError(
            "y_true and y_pred must hold numbers of which moments are in the range of "
            f"floats, got values of {variable.name.replace('_', ' ')} up to "
            f"{largest:.3g}"
        )
