"""Designs of rows: independent, in clusters, or by a design with values for each row.

A sample is simple if it is of independent rows of equal weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dataclass, dot, factorise
from skci._validation import check_integer
from skci.inference.designs.design import (
    Component,
    Design,
    SampleDesign,
    SmallSampleReason,
)
from skci.inference.designs.totals import UnitWeights, covariance, unit_weights
from skci.inference.influences import Influences
from skci.inference.rows import SAME_WEIGHT, Rows


@dataclass(frozen=True, eq=False)
class IndependentRows(SampleDesign):
    """Each row is an independent unit."""

    n_units: int  # type: ignore[misc]
    ddof: int = 1
    rows_are_units: ClassVar[bool] = True

    def totals(self, influences: Influences) -> Iterator[Component]:
        yield Component(influences, repeats=influences.rows.repeats, ddof=self.ddof)

    def regrouped(self, unit: Array) -> IndependentRows:
        """Unite units of one stratum; `unit` is the new index of each."""
        if self.strata is None:
            return self
        strata = np.empty(unit.max() + 1, dtype=self.strata.dtype)
        strata[unit] = self.strata
        if (strata[unit] != self.strata).any():
            raise ValueError("units of several independent samples cannot be united")
        return replace(self, strata=strata)

    def __str__(self) -> str:
        return "" if self.strata is None else super().__str__()


@dataclass(frozen=True, eq=False)
class Clusters(SampleDesign):
    """Clusters of rows: the weight of the rows of each unit in each cluster."""

    number: Array
    """A cluster, ascending, for each unit that occurs in it."""
    unit: Array
    """That unit."""
    weights: Array
    """Total weight of its rows in the cluster, on the scale of the rows."""
    keys: Array
    """Names of the clusters, by number."""
    squares: Array | None = None
    """Sum of the squared weights of these rows, if rows have weights."""
    kind: str = "group"
    """What a cluster is: a "group" or a "query"."""
    ddof: ClassVar[int] = 1

    @classmethod
    def of(
        cls,
        keys: Array,
        number: Array,
        unit: Array,
        weights: Array | None,
        squares: Array | None = None,
        kind: str = "group",
    ) -> Clusters:
        """Add up the weights of rows by cluster and unit; each counts once if None."""
        units = int(unit.max()) + 1
        pairs, pair = np.unique(number * units + unit, return_inverse=True)
        number, unit = np.divmod(pairs, units)
        sums = np.bincount(pair.ravel(), weights)
        if squares is not None:
            squares = np.bincount(pair.ravel(), squares)
        return cls(number, unit, sums, keys, squares, kind)

    @cached_property
    def starts(self) -> Array:
        """Position of the first entry of each cluster."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    @property
    def n_units(self) -> int:
        """Number of clusters that have rows."""
        return len(self.starts)

    @property
    def units_are_groups(self) -> bool:
        return self.kind == "group"

    def totals(self, influences: Influences) -> Iterator[Component]:
        totals = np.empty((self.n_units, influences.shape[1]))
        total = influences.rows.weights.sum()
        weights = {1: self.weights / total}
        if 2 in influences.orders:
            weights[2] = self.known_squares / total**2
        columns = zip(
            influences.values, influences.indices, influences.orders, strict=True
        )
        for k, (values, index, order) in enumerate(columns):
            terms = values[index[self.unit]] * weights[order]
            totals[:, k] = np.add.reduceat(terms, self.starts)
        yield Component(totals, ddof=self.ddof)

    def _blocks(self, rows: Rows) -> tuple[Array, Array]:
        ones = Influences([np.ones(1)], [np.zeros(len(rows), int)], rows)
        sizes = next(self.totals(ones)).totals[:, 0]
        return self.strata[self.unit[self.starts]], sizes

    def simplified(self, rows: Rows) -> Clusters | IndependentRows:
        """Independent rows, if each of several clusters has a single row."""
        is_single = self.strata is not None or self.n_units < 2
        if is_single or not all_units_are_rows(rows, self):
            return self
        return IndependentRows(rows.n_samples)

    def direction(self, influences: Influences) -> Array | None:
        if self.strata is not None:
            return None
        totals = next(self.totals(influences)).totals[:, 0]
        entries = np.diff(self.starts, append=len(self.unit))
        spread = np.bincount(self.unit, self.weights * np.repeat(totals, entries))
        return spread / math.sqrt(dot(totals, totals))

    def regrouped(self, unit: Array) -> Clusters:
        """Unite units without strata; `unit` is the new index of each."""
        columns = self.number, unit[self.unit], self.weights, self.squares
        return self.of(self.keys, *columns, self.kind)

    @property
    def known_squares(self) -> Array:
        """Sums of squared weights, each row of weight 1 if there are none."""
        return self.weights if self.squares is None else self.squares

    def __str__(self) -> str:
        if self.strata is not None:
            return super().__str__()
        kind = self.kind if self.n_units == 1 else _PLURALS[self.kind]
        return f"in {self.n_units} {kind}"


_PLURALS = {"group": "groups", "query": "queries"}


def united(
    parts: Sequence[tuple[IndependentRows | Clusters, float, int]], unit: Array
) -> IndependentRows | Clusters:
    """Unite the designs of parts of a sample, with clusters of the same name.

    Parts are designs, with a factor for their weights and their number of units; `unit`
    is the new index of each unit, of the first part and then of the others.
    """
    first, *others = (design for design, *_ in parts)
    if not others:
        return first.regrouped(unit)
    if isinstance(first, Clusters):
        return _joined(parts, by_name=True).regrouped(unit)
    return replace(first, n_units=sum(design.n_units for design, *_ in parts))


def _joined(parts: Sequence[tuple[Any, float, int]], by_name: bool = False) -> Clusters:
    """Clusters of units side by side, by name the same or all different."""
    keys = number = np.arange(sum(len(clusters.keys) for clusters, *_ in parts))
    if by_name:
        names = [name for clusters, *_ in parts for name in clusters.keys.tolist()]
        keys, number = factorise(np.fromiter(names, dtype=object, count=len(names)))
    entries, first, start = [], 0, 0
    for clusters, factor, size in parts:
        renumbered = number.ravel()[first + clusters.number]
        powers = clusters.weights * factor, clusters.known_squares * factor**2
        entries.append((renumbered, start + clusters.unit, *powers))
        first, start = first + len(clusters.keys), start + size
    numbers, unit, *sums = map(np.concatenate, zip(*entries, strict=True))
    return Clusters(numbers, unit, sums[0], keys, sums[1], parts[0][0].kind)


def census(design: SampleDesign, n: int) -> IndependentRows:
    """Design of n rows that are the whole population, in the strata of a sample."""
    if isinstance(design, IndependentRows):
        return replace(design, n_units=n, ddof=0)
    return IndependentRows(n, ddof=0, strata=design.strata, labels=design.labels)


def stacked(
    parts: Sequence[tuple[Rows, IndependentRows | Clusters]],
) -> tuple[Rows, IndependentRows | Clusters]:
    """Put independent samples side by side, as strata.

    A row of one sample weighs as much as a row of another.
    """
    designs = [design for _, design in parts]
    if any(design.share_covariance is not None for design in designs):
        raise ValueError(
            "reports must not be at a prevalence with a standard error, which they "
            "may have in common"
        )
    strata, labels, first = [], [], 0
    for (rows, _), design in zip(parts, designs, strict=True):
        single = np.zeros(len(rows), dtype=int)
        strata.append(first + (single if design.strata is None else design.strata))
        labels.append(design.labels_of_strata)
        first += len(labels[-1])
    clusters: list[Any] = [each for each in designs if not each.rows_are_units]
    if 0 < len(clusters) < len(parts):
        raise ValueError(
            "reports must all have groups or none, got some of either kind"
        )
    if clusters and not all(design.has_replicates for design in designs):
        raise ValueError("reports must have two groups or more each, got one")
    together = Rows.concatenate([rows.per_row() for rows, _ in parts])
    within: IndependentRows | Clusters = IndependentRows(together.n_samples)
    if clusters:
        factors = [rows.n_samples / float(rows.weights.sum()) for rows, _ in parts]
        sizes = [len(rows) for rows, _ in parts]
        within = _joined([*zip(clusters, factors, sizes, strict=True)])
    by_sample = np.concatenate(strata), np.concatenate(labels)
    return together, replace(within, strata=by_sample[0], labels=by_sample[1])


@dataclass(frozen=True, eq=False)
class RowwiseDesign(SampleDesign):
    """A `Design` that has values of its own for each of n rows.

    If it has strata, its components are those of independent rows within these.
    """

    design: Design
    kept: Any
    """Index of the rows that have weight, which are the units of the sample."""
    n: int
    ddof: ClassVar[int] = 1
    is_rowwise: ClassVar[bool] = True

    @classmethod
    def of_kept(cls, design: Any, kept: Any, n: int) -> RowwiseDesign:
        """A design of n rows, of which some have weight; `kept` is ... if all have.

        Rows without weight are left out of its columns, so that what it counts are
        units that have rows; not out of series, where time passes in them as well.
        """
        columns = getattr(design, "columns", None) or ()
        if kept is ... or not columns or hasattr(design, "with_series"):
            return cls(design, kept, n)
        some = {name: np.asarray(getattr(design, name))[kept] for name in columns}
        return cls(with_columns(design, some), ..., len(some[columns[0]]))

    @property
    def n_units(self) -> int:
        """Number of independent units."""
        return self.design.n_units

    @property
    def rows_are_units(self) -> bool:
        return self.strata is not None

    @property
    def kinds_of_units(self) -> str:
        return getattr(self.design, "kinds_of_units", SampleDesign.kinds_of_units)

    def totals(self, influences: Influences) -> Iterable[Component]:
        if self.strata is None:
            return self._own_components(influences)
        return [Component(influences, repeats=influences.rows.repeats)]

    def variance_components(self, influences: Influences) -> Iterable[Component]:
        own = getattr(self.design, "variance_components", None)
        if own is None:
            return self.components(influences)
        return self._own_components(influences, own)

    def _own_components(
        self, influences: Influences | Array, own: Any = None
    ) -> list[Component]:
        """Components of the design of its user, which are checked."""
        values = self._of_rows(influences)
        components = (own or self.design.components)(values)
        must = f"design {self._name} must give components"
        if not isinstance(components, Iterable):
            raise TypeError(
                f"{must}: an iterable of Component, got {type(components).__name__}"
            )
        checked = [_check_component(each, values.shape, must) for each in components]
        if not any(each.sign > 0 and not each.is_known for each in checked):
            raise ValueError(
                f"{must}: at least one of sign 1 that is not known, got none"
            )
        return checked

    def direction(self, influences: Influences) -> Array | None:
        component, *others = self._own_components(influences)
        if others or component.units is None or component.blocks is not None:
            return None
        totals = component.totals[:, 0]
        spread = totals[component.units[self.kept]] * influences.rows.weights
        return spread / math.sqrt(dot(totals, totals))

    def check(self) -> None:
        """Check the number of units, and the components of some influence values."""
        check_integer(self.n_units, f"n_units of design {self._name}")
        trial = np.linspace(-1, 1, np.arange(self.n)[self.kept].size)[:, np.newaxis]
        components = self._own_components(trial)
        if self.strata is None:
            return
        expected = Component(trial, blocks=self.strata)
        if not np.allclose(covariance(components), covariance([expected])):
            raise ValueError(
                f"design {self._name} with stratum must give components with the "
                "variance of Strata, as tables of strata have it; without stratum it "
                "may be another, as with a finite population correction"
            )

    def small_sample_reason(self, influences: Influences) -> str | SmallSampleReason:
        reason = getattr(self.design, "small_sample_reason", None)
        return reason(self._of_rows(influences)) if reason else ""

    def _of_rows(self, influences: Influences | Array) -> Array:
        """Influence values of all rows, zero of those without weight."""
        values: Array = np.zeros((self.n, influences.shape[1]))
        values[self.kept] = influences
        return values

    @property
    def _name(self) -> str:
        """Name of the class of the design."""
        return type(self.design).__name__

    def __str__(self) -> str:
        describes = type(self.design).__str__ is not object.__str__
        return str(self.design) if describes else f"by design {self._name}"


def with_columns(design: Any, columns: Mapping[str, Any]) -> Any:
    """Copy of a design with other columns, by their names, also if it is frozen."""
    changed = copy(design)
    for name, values in columns.items():
        object.__setattr__(changed, name, values)
    return changed


def _check_component(component: Any, shape: tuple[int, int], must: str) -> Component:
    """Check totals of influence values of a shape, a column for each parameter."""
    if not isinstance(component, Component):
        raise TypeError(
            f"{must}: an iterable of Component, got one of {type(component).__name__}"
        )
    df = component.degrees_of_freedom
    if not (df is None or df > 0):
        raise ValueError(f"{must} with degrees_of_freedom above 0 or None, got {df!r}")
    if component.sign not in (1, -1):
        raise ValueError(f"{must} with sign 1 or -1, got {component.sign!r}")
    totals = np.asarray(component.totals)
    n_units = len(totals) if totals.ndim and totals.size else "units"
    n_rows, n_columns = shape
    shapes = {"totals": f"({n_units}, {n_columns})", "repeats": f"(4, {n_units})"}
    shapes["units"] = f"({n_rows},)"
    checked: dict[str, Any] = {}
    for name in ("totals", "blocks", "sizes", "repeats", "units"):
        if getattr(component, name) is not None:
            values = checked[name] = np.asarray(getattr(component, name))
            expected = shapes.get(name, f"({n_units},)")
            if str(values.shape) != expected:
                raise ValueError(
                    f"{must} with {name} of shape {expected}, got shape {values.shape}"
                )
    for name, values in checked.items():
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ValueError(f"{must} with {name} that are finite numbers")
    for name in {"blocks", "units"} & checked.keys():
        codes, below = checked[name], len(totals) if name == "units" else np.inf
        if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= below:
            limit = f", below {below}" if name == "units" else " on"
            raise ValueError(
                f"{must} with {name} that are whole numbers from 0{limit}, got "
                f"{codes.dtype} from {codes.min()} to {codes.max()}"
            )
    return replace(component, **checked)


def units_with(units: Array, rows: Rows, design: SampleDesign) -> UnitWeights:
    """Weights of the independent units that have rows of some units of a sample.

    These are a bool array, or weights of them.
    """
    values: Array = np.array([0.0, 1.0])
    index: Array
    if units.dtype == bool:
        index = units.view(np.uint8)
    else:
        values, index = np.unique(units, return_inverse=True)
    if design.pools_units:
        rows, index = rows.regrouped(index, len(values)), np.arange(len(values))
    indicator, inside = Influences([values], [index], rows), values[index] > 0
    share = rows.weights / rows.weights.sum()
    found = unit_weights(design.components(indicator), float(share @ inside))
    least = (share @ values[index]) ** 2 / max(rows.n_rows(inside), 1)
    if found.squares < (1 - SAME_WEIGHT) * least:
        # Totals that cancel, such as differences of successive rows, are no weights.
        alone = IndependentRows(rows.n_samples).components(indicator)
        squares, n = unit_weights(alone, found.total).squares, found.n or design.n_units
        found = found._replace(n=n, squares=squares, fourths=squares**2 / n)
    return found


def all_units_are_rows(rows: Rows, design: SampleDesign) -> bool:
    """Whether each row is an independent unit, or a cluster of its own."""
    return _are_rows(np.ones(len(rows), dtype=bool), rows, design)


def _are_rows(units: Array, rows: Rows, design: SampleDesign) -> bool:
    """Whether as many independent units have some of the rows as there are rows."""
    if design.rows_are_units or design.is_rowwise:
        return bool(design.rows_are_units)
    n_units = units_with(units, rows, design).n
    return abs(n_units - rows.n_rows(units)) <= SAME_WEIGHT * n_units


def is_simple(rows: Rows, design: SampleDesign) -> bool:
    """Whether all rows are a simple random sample: equal weights, each a unit."""
    if not rows.are_equal or design.share_covariance is not None:
        return False
    return all_units_are_rows(rows, design)


def is_simple_among(units: Array, rows: Rows, design: SampleDesign) -> bool:
    """Whether the rows of some units are a simple random sample.

    They have equal weights, and as many independent units as there are rows.
    """
    equal = rows.are_equal or rows.are_equal_among(units)
    return equal and _are_rows(units, rows, design)
