"""Designs of rows: independent rows, clusters, or a user's design with values by row.

A sample is simple if its rows are independent and have equal weight.
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
from skci.inference.designs.totals import UnitWeights, unit_weights
from skci.inference.rows import SAME_WEIGHT, Influences, Rows


@dataclass(frozen=True, eq=False)
class IndependentRows(SampleDesign):
    """Design in which each row is an independent unit."""

    n_units: int  # type: ignore[misc]
    ddof: int = 1
    rows_are_units: ClassVar[bool] = True

    def totals(self, influences: Influences) -> Iterator[Component]:
        yield Component(influences, repeats=influences.rows.repeats, ddof=self.ddof)

    def merge_units(self, unit: Array) -> IndependentRows:
        """Merge units that belong to the same stratum.

        `unit` contains the new index of each unit.
        """
        if self.strata is None:
            return self
        strata = np.empty(unit.max() + 1, dtype=self.strata.dtype)
        strata[unit] = self.strata
        if (strata[unit] != self.strata).any():
            raise ValueError("a unit must not contain rows of independent samples")
        return replace(self, strata=strata)

    def __str__(self) -> str:
        return "" if self.strata is None else super().__str__()


@dataclass(frozen=True, eq=False)
class Clusters(SampleDesign):
    """Design of clustered rows.

    Identical rows are merged to one unit of the sample, even if the rows belong to
    different clusters. An entry of the design is a combination of a cluster and a unit
    with rows in this cluster.
    """

    number: Array
    """Cluster index of each entry, ascending."""
    unit: Array
    """Unit index of each entry."""
    weights: Array
    """Total weight of each entry, on the scale of the rows."""
    keys: Array
    """Names of the clusters, by index."""
    squares: Array | None = None
    """Sum of squared weights of rows, by entry; None without weights."""
    kind: str = "group"
    """Name of a cluster: "group" or "query"."""
    ddof: ClassVar[int] = 1

    @classmethod
    def from_rows(
        cls,
        keys: Array,
        number: Array,
        unit: Array,
        weights: Array | None,
        squares: Array | None = None,
        kind: str = "group",
    ) -> Clusters:
        """Create the design from the cluster index and the unit index of each row.

        A unit is a set of identical rows. Rows have weight 1 by default.
        """
        units = int(unit.max()) + 1
        pairs, pair = np.unique(number * units + unit, return_inverse=True)
        number, unit = np.divmod(pairs, units)
        sums = np.bincount(pair.ravel(), weights)
        if squares is not None:
            squares = np.bincount(pair.ravel(), squares)
        return cls(number, unit, sums, keys, squares, kind)

    @cached_property
    def starts(self) -> Array:
        """Index of the first entry of each cluster, with entries sorted by cluster."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    @property
    def n_units(self) -> int:
        """Number of clusters with rows."""
        return len(self.starts)

    def totals(self, influences: Influences) -> Iterator[Component]:
        totals = np.empty((self.n_units, influences.shape[1]))
        total = influences.rows.weights.sum()
        weights = {1: self.weights / total}
        orders = influences.orders or [1] * len(influences.values)
        if 2 in orders:
            weights[2] = self.all_squares / total**2
        columns = zip(influences.values, influences.indices, orders, strict=True)
        for k, (values, index, order) in enumerate(columns):
            terms = values[index[self.unit]] * weights[order]
            totals[:, k] = np.add.reduceat(terms, self.starts)
        yield Component(totals, ddof=self.ddof)

    def _blocks(self, rows: Rows) -> tuple[Array, Array]:
        ones = Influences([np.ones(1)], [np.zeros(len(rows), int)], rows)
        sizes = next(self.totals(ones)).totals[:, 0]
        return self.strata[self.unit[self.starts]], sizes

    def simplified(self, rows: Rows) -> Clusters | IndependentRows:
        """Return a design of independent rows if each cluster has a single row.

        A single cluster, and clusters within strata, remain clusters.
        """
        is_single = self.strata is not None or self.n_units < 2
        if is_single or not all_units_are_rows(rows, self):
            return self
        return IndependentRows(rows.n_samples)

    def direction(self, influences: Influences) -> Array | None:
        if self.strata is not None:
            return None
        totals = next(self.totals(influences)).totals[:, 0]
        entries = np.diff(self.starts, append=len(self.unit))
        changes = np.bincount(self.unit, self.weights * np.repeat(totals, entries))
        return changes / math.sqrt(dot(totals, totals))

    def merge_units(self, unit: Array) -> Clusters:
        """Merge units, that is, sets of identical rows.

        `unit` contains the new index of each unit.
        """
        columns = self.number, unit[self.unit], self.weights, self.squares
        return self.from_rows(self.keys, *columns, self.kind)

    @property
    def all_squares(self) -> Array:
        """Sum of squared row weights, for each pair of a cluster and a unit."""
        return self.weights if self.squares is None else self.squares

    def __str__(self) -> str:
        if self.strata is not None:
            return super().__str__()
        kind = self.kind if self.n_units == 1 else _PLURALS[self.kind]
        return f"in {self.n_units} {kind}"


_PLURALS = {"group": "groups", "query": "queries"}


def merge_designs(
    parts: Sequence[tuple[IndependentRows | Clusters, float, int]], unit: Array
) -> IndependentRows | Clusters:
    """Merge the designs of several parts of one sample.

    Clusters with the same name become one cluster. Each part is a tuple of a design, a
    factor for the weights, and a number of units. `unit` contains the new index of each
    unit, in the order of the parts.
    """
    first, *remaining = (design for design, *_ in parts)
    if not remaining:
        return first.merge_units(unit)
    if isinstance(first, Clusters):
        return _joined(parts, by_name=True).merge_units(unit)
    return replace(first, n_units=sum(design.n_units for design, *_ in parts))


def _joined(parts: Sequence[tuple[Any, float, int]], by_name: bool = False) -> Clusters:
    """Concatenate the clusters of several parts of a sample.

    If `by_name` is true, clusters with the same name are merged.
    """
    keys = number = np.arange(sum(len(clusters.keys) for clusters, *_ in parts))
    if by_name:
        names = [name for clusters, *_ in parts for name in clusters.keys.tolist()]
        keys, number = factorise(np.fromiter(names, dtype=object, count=len(names)))
    entries, first, start = [], 0, 0
    for clusters, factor, size in parts:
        renumbered = number.ravel()[first + clusters.number]
        powers = clusters.weights * factor, clusters.all_squares * factor**2
        entries.append((renumbered, start + clusters.unit, *powers))
        first, start = first + len(clusters.keys), start + size
    numbers, unit, *sums = map(np.concatenate, zip(*entries, strict=True))
    return Clusters(numbers, unit, sums[0], keys, sums[1], parts[0][0].kind)


def stack_samples(
    parts: Sequence[tuple[Rows, IndependentRows | Clusters]],
) -> tuple[Rows, IndependentRows | Clusters]:
    """Concatenate independent samples, and treat each sample as a stratum.

    Weights are scaled such that the rows of each sample have mean weight 1.
    """
    designs = [design for _, design in parts]
    if any(design.share_covariance is not None for design in designs):
        raise ValueError(
            "reports must be independent and therefore must not use a prevalence with "
            "a standard error, because this error may affect all reports"
        )
    strata, labels, first = [], [], 0
    for (rows, _), design in zip(parts, designs, strict=True):
        single = np.zeros(len(rows), dtype=int)
        strata.append(first + (single if design.strata is None else design.strata))
        labels.append(design.labels_of_strata)
        first += len(labels[-1])
    clusters: list[Any] = [design for design in designs if not design.rows_are_units]
    if 0 < len(clusters) < len(parts):
        raise ValueError(
            "either all reports or no report must have groups, got both kinds"
        )
    if clusters and not all(design.has_replicates for design in designs):
        raise ValueError("each report must have at least two groups, got one")
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
    """Adapter of a user-defined design for internal use."""

    design: Design
    weighted_rows: Any
    """Index of the rows with positive weight, which are the units of the sample."""
    n: int
    ddof: ClassVar[int] = 1
    is_rowwise: ClassVar[bool] = True

    @classmethod
    def from_weighted_rows(
        cls, design: Any, weighted_rows: Any, n: int
    ) -> RowwiseDesign:
        """Create a design for n rows, including rows with weight zero.

        `weighted_rows` contains the indices of the rows with positive weight, or is
        ``...`` for all rows. Rows with weight zero are dropped, so that they are not
        counted as units. In time series, rows with weight zero are kept, because each
        row marks a point in time.
        """
        columns = getattr(design, "columns", None) or ()
        if weighted_rows is ... or not columns or hasattr(design, "with_series"):
            return cls(design, weighted_rows, n)
        values = {
            name: np.asarray(getattr(design, name))[weighted_rows] for name in columns
        }
        return cls(with_columns(design, values), ..., len(values[columns[0]]))

    @property
    def n_units(self) -> int:
        return self.design.n_units

    @property
    def kinds_of_units(self) -> str:
        return getattr(self.design, "kinds_of_units", SampleDesign.kinds_of_units)

    def totals(self, influences: Influences) -> Iterable[Component]:
        return self._checked_components(influences)

    def variance_components(self, influences: Influences) -> Iterable[Component]:
        components = getattr(self.design, "variance_components", None)
        return self._checked_components(influences, components)

    def _checked_components(
        self, influences: Influences | Array, method: Any = None
    ) -> list[Component]:
        """Call a method of the user's design, and check the components it returns."""
        values = self._for_all_rows(influences)
        components = (method or self.design.components)(values)
        name = f"design {self._name}"
        if not isinstance(components, Iterable):
            raise TypeError(
                f"{name} must return an iterable of Component objects, got an object "
                f"of type {type(components).__name__}"
            )
        checked = [_check_component(part, values.shape, name) for part in components]
        if not any(part.sign > 0 and not part.is_known for part in checked):
            raise ValueError(
                f"{name} must return at least one component with sign=1 and "
                "is_known=False, got none"
            )
        return checked

    def direction(self, influences: Influences) -> Array | None:
        component, *further = self._checked_components(influences)
        if further or component.units is None or component.blocks is not None:
            return None
        totals = component.totals[:, 0]
        changes = totals[component.units[self.weighted_rows]] * influences.rows.weights
        return changes / math.sqrt(dot(totals, totals))

    def check(self) -> None:
        """Check the number of units and the components of a user's design.

        The components are computed for arbitrary numbers.
        """
        check_integer(self.n_units, f"n_units of design {self._name}")
        trial = np.linspace(-1, 1, np.arange(self.n)[self.weighted_rows].size)[
            :, np.newaxis
        ]
        self._checked_components(trial)

    def small_sample_reason(self, influences: Influences) -> str | SmallSampleReason:
        reason = getattr(self.design, "small_sample_reason", None)
        return reason(self._for_all_rows(influences)) if reason else ""

    def _for_all_rows(self, influences: Influences | Array) -> Array:
        """Return influence values for all rows, with zeros for rows without weight."""
        values: Array = np.zeros((self.n, influences.shape[1]))
        values[self.weighted_rows] = influences
        return values

    @property
    def _name(self) -> str:
        return type(self.design).__name__

    def __str__(self) -> str:
        describes = type(self.design).__str__ is not object.__str__
        return str(self.design) if describes else f"by design {self._name}"


def with_columns(design: Any, columns: Mapping[str, Any]) -> Any:
    """Return a copy of a design in which some attributes have other values.

    `columns` maps the names of these attributes to the values.
    """
    changed = copy(design)
    for name, values in columns.items():
        object.__setattr__(changed, name, values)
    return changed


def _check_component(component: Any, shape: tuple[int, int], name: str) -> Component:
    """Check a component that a user's design returned for values of the given shape."""
    if not isinstance(component, Component):
        raise TypeError(
            f"{name} must return an iterable of Component objects, got items of type "
            f"{type(component).__name__}"
        )
    df = component.degrees_of_freedom
    if not (df is None or df > 0):
        raise ValueError(
            f"{name} must return components with degrees_of_freedom None or above 0, "
            f"got {df!r}"
        )
    if component.sign not in (1, -1):
        raise ValueError(
            f"{name} must return components with sign 1 or -1, got {component.sign!r}"
        )
    totals = np.asarray(component.totals)
    n_units = len(totals) if totals.ndim and totals.size else "units"
    by_unit = f"({n_units},)"
    shapes = {
        "totals": f"({n_units}, {shape[1]})",
        "blocks": by_unit,
        "sizes": by_unit,
        "repeats": f"(4, {n_units})",
        "units": f"({shape[0]},)",
    }
    checked: dict[str, Any] = {}
    for field, expected in shapes.items():
        if getattr(component, field) is None:
            continue
        values = checked[field] = np.asarray(getattr(component, field))
        if str(values.shape) != expected:
            raise ValueError(
                f"{name} must return components in which {field} has shape {expected}, "
                f"got shape {values.shape}"
            )
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ValueError(
                f"{name} must return components in which {field} has finite numbers"
            )
        below = len(totals) if field == "units" else np.inf
        if field in ("blocks", "units") and (
            values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= below
        ):
            limit = f" below {below}" if field == "units" else ""
            raise ValueError(
                f"{name} must return components in which {field} has nonnegative "
                f"integers{limit}, got {values.dtype} from {values.min()} to "
                f"{values.max()}"
            )
    return replace(component, **checked)


def unit_weights_of_rows(units: Array, rows: Rows, design: SampleDesign) -> UnitWeights:
    """Compute the weights of the independent units that contain given rows.

    `units` is a mask of units of the sample, or an array of their weights. A unit of
    the sample is a row, or a set of identical rows.
    """
    values: Array = np.array([0.0, 1.0])
    index: Array
    if units.dtype == bool:
        index = units.view(np.uint8)
    else:
        values, index = np.unique(units, return_inverse=True)
    if design.pools_units:
        rows, index = rows.merge_units(index, len(values)), np.arange(len(values))
    indicator, inside = Influences([values], [index], rows), values[index] > 0
    share = rows.weights / rows.weights.sum()
    weights = unit_weights(design.components(indicator), float(share @ inside))
    minimum = (share @ values[index]) ** 2 / max(rows.n_rows(inside), 1)
    if weights.squares < (1 - SAME_WEIGHT) * minimum:
        # Totals that cancel, such as differences of successive rows, are not weights.
        independent = IndependentRows(rows.n_samples).components(indicator)
        squares = unit_weights(independent, weights.total).squares
        n = weights.n or design.n_units
        weights = weights._replace(n=n, squares=squares, fourths=squares**2 / n)
    return weights


def all_units_are_rows(rows: Rows, design: SampleDesign, units: Any = None) -> bool:
    """Return whether no two rows are in the same independent unit, such as a cluster.

    `units` is a mask of the rows, or of the sets of identical rows, to consider. By
    default, all rows are considered.
    """
    if design.rows_are_units or design.is_rowwise:
        return not design.is_rowwise
    units = np.ones(len(rows), dtype=bool) if units is None else units
    n_units = unit_weights_of_rows(units, rows, design).n
    return abs(n_units - rows.n_rows(units)) <= SAME_WEIGHT * n_units


def is_simple(rows: Rows, design: SampleDesign) -> bool:
    """Return whether all rows are a simple random sample.

    The rows must have equal weights and be independent units.
    """
    if not rows.are_equal or design.share_covariance is not None:
        return False
    return all_units_are_rows(rows, design)
