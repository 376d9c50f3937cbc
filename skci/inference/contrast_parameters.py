"""Properties and tables of contrasts; each contrast is itself a parameter.

The table of a contrast of two models has a cell for each possible pair of outcomes. The
table of a contrast of means over the same rows has a cell for each value of the linear
combination.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._validation import join_names
from skci.inference.agreement import agreement_of
from skci.inference.intervals.methods import (
    AGREEMENT,
    AUTO,
    METHODS,
    AvailableData,
    automatic,
    check_serves,
)
from skci.inference.intervals.ratio import values_of_mean
from skci.inference.parameter import (
    CANCELLED,
    MAX_ENUMERATED_CELLS,
    CellMap,
    Contrast,
    Parameter,
    ParameterLabels,
    TableParameter,
)
from skci.inference.stratified import smoothed_by_stratum
from skci.measures.functional import LinearCombination, Mean, MergedFunctional, Ratio
from skci.measures.traits import IDENTITY, LOG, MeasureProperties

_Enumeration = tuple[Array, Array]
"""Possible combinations of the cells of K parameters, (m, K); pseudo-counts, (m,)."""

_Parameter = TypeVar("_Parameter", bound=Parameter)

_NEEDED_BY_ALL = "smooth", "has_curvature", "blurs", "scale_free"
"""Properties of a contrast that all of its components must have."""

_DIGITS = 12  # significant digits of the range of a contrast: K times 1/K is 1
_MAX_ENUMERATED_OUTCOMES = 1 << 16  # possible outcomes before cells are merged


_Table = dict[str, Any]
"""Fields of `TableParameter` that `Parameter` does not have."""


class ContrastTables:
    """Construct differences or ratios of parameters, each with a table of counts.

    The table of a difference or ratio counts the rows with each combination of
    outcomes. An example of a combination is a true label and the labels predicted by
    two models.
    """

    def __init__(self, estimates: Any, ratio: bool, method: str | None) -> None:
        self.estimates, self.ratio, self.method = estimates, ratio, method
        self._enumerations: dict[object, _Enumeration | None] = {}

    def parameter(self, contrast: Contrast) -> TableParameter:
        """Return a contrast as a parameter with a table of counts.

        The interval method and the table depend on whether all possible outcomes are
        known.
        """
        parameters, rows = self.estimates.parameters, self.estimates.rows
        if any(parameters[k].by_pair for k in contrast[1]):
            parameters = self._on_common_units([*contrast[1]])
        expanded = _expanded_coefficients(parameters, contrast, self.ratio)
        components, coefficients = tuple(expanded), tuple(expanded.values())
        if self._are_means(components):
            is_enumerated = all(component.extremes for component in components)
            table = _mean_table(components, coefficients, rows.counts)
        else:
            possible = self._possible_cells(components, coefficients)
            is_enumerated = possible is not None
            functional = Ratio if self.ratio else LinearCombination
            table = _combined_table(
                components, coefficients, functional, possible, rows.counts
            )
        parameter: TableParameter = contrast_parameter(
            parameters,
            contrast,
            self.ratio,
            self.method,
            is_enumerated=is_enumerated,
            **table,
        )
        sample = rows, self.estimates.simplified_design
        agreement = agreement_of(components, coefficients, self.ratio, *sample)
        if agreement is not None:
            parameter = replace(parameter, agreement=agreement)
            adds_variance = parameter.interval_method.adds_variance
            if agreement.parts or (parameter.trait.smooth and not adds_variance):
                parameter = replace(parameter, method=AGREEMENT)
        if self.estimates.design.strata is None:
            return parameter
        return smoothed_by_stratum(parameter, rows, self.estimates.design)

    def _on_common_units(self, positions: list[int]) -> dict[int, TableParameter]:
        """Restrict parameters to the rows or items that all parameters cover."""
        compared = {k: self.estimates.parameters[k] for k in positions}
        units = np.logical_and.reduce([p.units for p in compared.values()])
        if not units.any():
            raise ValueError(
                "missing_grades='pairwise' needs at least one item that is graded for "
                "both models of a pair, got no such item for "
                f"{join_names([p.key.name for p in compared.values()])}"
            )
        counts = self.estimates.rows.counts
        return {k: p.subset(units, counts) for k, p in compared.items()}

    def _are_means(self, parameters: Sequence[TableParameter]) -> bool:
        """Whether the contrast is a linear combination of means over the same rows."""
        return not self.ratio and all(
            (parameter.covers_all_units or parameter.by_pair)
            and values_of_mean(parameter.functional) is not None
            for parameter in parameters
        )

    def _possible_cells(
        self, parameters: Sequence[TableParameter], coefficients: Sequence[float]
    ) -> _Enumeration | None:
        """Enumerate the possible outcomes of a contrast, with caching.

        If the contrast is a linear combination of means of bounded values, only the
        smallest and the largest value of the linear combination are returned. The
        result is None if the possible outcomes are unknown or too many.
        """
        maps = [parameter.cell_map for parameter in parameters if parameter.cell_map]
        if len(maps) < len(parameters):
            units = parameters[0].units
            are_bounded_means = not self.ratio and all(
                p.extremes and np.array_equal(p.units, units) for p in parameters
            )
            if are_bounded_means:
                return _extreme_cells(parameters, coefficients)
            return None
        columns = [*itertools.chain(*map(attrgetter("columns"), maps))]
        shared = tuple(map(columns.index, columns))  # first position of each column
        patterns = _coverage_patterns(maps)
        key = shared, tuple(map(attrgetter("content"), maps)), tuple(patterns)
        if key not in self._enumerations:
            self._enumerations[key] = _enumerate(maps, patterns)
        return self._enumerations[key]


def _mean_table(
    means: Sequence[TableParameter], coefficients: Sequence[float], counts: Array
) -> _Table:
    """Create a table that counts the rows with each value of a linear combination.

    The linear combination adds up means over the same rows. If the means have bounded
    values, the smallest and the largest possible value of the linear combination are
    added to the table. Each of these two values has a pseudo-count of half a row.
    """
    bounded, units = all(mean.extremes for mean in means), means[0].units
    combined: Array = np.zeros(2 * bounded + np.count_nonzero(units))
    for mean, coefficient in zip(means, coefficients, strict=True):
        cells: Array = mean.index[units]
        if mean.extremes and bounded:
            extreme_cells = np.array(mean.extremes)[:: 1 if coefficient > 0 else -1]
            cells = np.concatenate([extreme_cells, cells])
        values: Any = values_of_mean(mean.functional)
        combined += coefficient * values[cells]
    levels, cells = np.unique(combined, return_inverse=True)
    extremes, cells = np.split(cells, [2 * bounded])
    index = np.full(len(units), len(levels), np.min_scalar_type(len(levels)))
    index[units] = cells
    smoothing = np.bincount(extremes, minlength=len(levels)) / 2 if bounded else 0.0
    return {
        "functional": Mean(levels),
        "counts": np.bincount(cells, counts[units], len(levels)),
        "index": index,
        "pseudo_counts": smoothing,
        "extremes": tuple(extremes.tolist()) or None,
    } | ({} if units.all() else {"by_pair": True, "components": (), "coefficients": ()})


def _combined_table(
    parameters: Sequence[TableParameter],
    coefficients: Sequence[float],
    functional: type[LinearCombination],
    enumeration: _Enumeration | None,
    counts: Array,
) -> _Table:
    """Create a table that counts the rows with each combination of outcomes.

    The outcomes belong to the parameters of a contrast. The table has a cell for each
    possible combination. If the possible combinations are unknown, the table has a cell
    for each observed combination.
    """
    if enumeration is None:
        enumeration = np.zeros((0, len(parameters)), dtype=int), np.zeros(0)
    enumerated, pseudo_counts = enumeration
    observed = np.stack([parameter.index for parameter in parameters])
    enumerated = enumerated.T.astype(observed.dtype)
    cells, cell = distinct_rows(np.concatenate([enumerated, observed], axis=1).T)
    # The last combination belongs to units outside all tables, if any.
    outside = (cells[-1] == [parameter.size for parameter in parameters]).all()
    n_cells = len(cells) - int(outside)
    index = cell[len(pseudo_counts) :].astype(np.min_scalar_type(len(cells)))
    smoothing = np.bincount(cell[: len(pseudo_counts)], pseudo_counts, len(cells))
    components = [
        MergedFunctional(parameter.functional, column, parameter.size)
        for parameter, column in zip(parameters, cells[:n_cells].T, strict=True)
    ]
    return {
        "functional": functional(components, coefficients),
        "counts": np.bincount(index, counts, len(cells))[:n_cells],
        "index": index,
        "pseudo_counts": smoothing[:n_cells],
    }


def contrast_parameter(
    parameters: Sequence[_Parameter] | Mapping[int, _Parameter],
    contrast: Contrast,
    ratio: bool,
    method: str | None,
    available: AvailableData = "table",
    size_limit: str = "",
    is_enumerated: bool = True,
    **table: Any,
) -> Any:
    """Return a contrast, such as the difference of two models, as a parameter.

    A compared parameter that is itself a contrast is replaced by its components. The
    keyword arguments `table` contain the fields of a `TableParameter`; without these
    arguments, the result is a `Parameter`. Set `is_enumerated` to false if some
    possible outcomes are unknown.
    """
    key, by_position = contrast
    expanded = _expanded_coefficients(parameters, contrast, ratio)
    trait, where = _trait_of(expanded, ratio, key), ""
    compared = [parameters[k] for k in by_position]
    if trait.smooth and not is_enumerated:
        trait = replace(trait, smooth=False)
        where = f" unless it has at most {MAX_ENUMERATED_CELLS} possible outcomes"
    check_serves(method or AUTO, trait, where, available=available)
    if not ratio and any(parameter.trait.reach for parameter in compared):
        bounds = _range_of(compared, by_position.values())
        trait = replace(trait, bounds=bounds, reach=trait.bounds)
    components, coefficients = tuple(expanded), tuple(expanded.values())
    values = np.array([component.value for component in components])
    with np.errstate(all="ignore"):
        estimate = np.dot(coefficients, np.log(values) if ratio else values)
        estimate = float(np.exp(estimate) if ratio else estimate)
    lowest, highest = trait.bounds
    extension = _extension_of(components, coefficients, ratio)
    fields: dict[str, Any] = {
        "key": key,
        "trait": trait,
        "method": _method_of(compared, trait, method, available),
        "fixed_estimate": min(max(estimate, lowest), highest),
        "components": components,
        "coefficients": coefficients,
        "extension": extension,
        "size_limit": size_limit,
    }
    if not table:
        return Parameter(**fields)
    if not trait.smooth:
        fields["size_limit"] = _size_limit(compared, components, trait, method)
    if any(component.binning_error for component in components):
        fields["binning_error"] = max(extension)
    return TableParameter(**fields | table)


def _expanded_coefficients(
    parameters: Sequence[_Parameter] | Mapping[int, _Parameter],
    contrast: Contrast,
    ratio: bool,
) -> dict[_Parameter, float]:
    """Compute the coefficient of each component of a contrast.

    Differences of differences and ratios of ratios are multiplied out, so that no
    component is itself a contrast. Components with coefficients that cancel are
    dropped.
    """
    key, by_position = contrast
    products: dict[Any, list[float]] = {}
    for k, outer in by_position.items():
        parameter = parameters[k]
        terms: Iterable[tuple[Parameter, float]] = [(parameter, 1.0)]
        if parameter.components and (parameter.trait.scale == LOG) == ratio:
            terms = zip(parameter.components, parameter.coefficients, strict=True)
        for component, inner in terms:
            products.setdefault(component, []).append(float(outer) * inner)
    coefficients = {
        component: sum(terms)
        for component, terms in products.items()
        if abs(sum(terms)) > CANCELLED * sum(map(abs, terms))
    }
    if not coefficients:
        raise ValueError(
            "matrix must not have a contrast in which all terms cancel, got "
            f"{key.title!r}"
        )
    return coefficients


def _size_limit(
    compared: Sequence[Parameter],
    components: Sequence[Any],
    trait: MeasureProperties,
    method: str | None,
) -> str:
    """Return the reason why the default method is unavailable for a contrast.

    The reason is a contrast with too many possible outcomes. The result is an empty
    string if the default method is available, or if another method was chosen.
    """
    default = automatic(replace(trait, smooth=True))
    chosen = method not in (None, AUTO) or any(
        parameter.method != automatic(parameter.trait) for parameter in compared
    )
    if chosen or default == automatic(trait):
        return ""
    if limits := [part.size_limit for part in components if part.size_limit]:
        return limits[0]
    if all(component.cell_map for component in components):
        return f"{default} needs at most {MAX_ENUMERATED_CELLS} possible outcomes"
    return ""


def _method_of(
    parameters: Sequence[Parameter],
    trait: MeasureProperties,
    method: str | None,
    available: AvailableData = "table",
) -> str:
    """Select the interval method of a contrast.

    A `method` other than "auto" is returned unchanged. If `method` is None, the
    method that the user chose for the compared parameters is returned. If this choice
    is ambiguous or not supported, the default method is returned.
    """
    if method not in (None, AUTO):
        return method
    methods, were_chosen = set(), False
    for parameter in parameters:
        if parameter.method != AGREEMENT:
            methods.add(parameter.method)
            default = automatic(parameter.trait, available=available)
            were_chosen = were_chosen or parameter.method != default
    if were_chosen and not method:
        supported = [m for m in methods if METHODS[m].serves(trait, available)]
        if len(supported) == 1:
            return supported[0]
    return automatic(trait, available=available)


def _extension_of(
    parameters: Sequence[Parameter], coefficients: Sequence[float], ratio: bool
) -> tuple[float, float]:
    """Compute by how much to extend the two limits of a contrast.

    The value of a metric is not known exactly if the metric is undefined for some
    class, or if scores are binned. The extended interval contains the contrast for all
    possible values of the metrics. If a metric in a ratio is undefined for some class,
    the limits are extended to infinity.
    """
    extended = [parameter for parameter in parameters if any(parameter.extension)]
    if not extended:
        return 0.0, 0.0
    if ratio and not all(parameter.binning_error for parameter in extended):
        return np.inf, np.inf
    values = np.array([parameter.value for parameter in parameters])
    low, high = np.array([parameter.extension for parameter in parameters]).T
    bounds = np.array([values - low, values + high])
    if ratio:
        bounds = np.maximum(bounds, 0)
    powers: Array = np.array(coefficients)
    lower, upper = (np.where(powers > 0, *pair) for pair in (bounds, bounds[::-1]))
    points = np.array([lower, values, upper])
    with np.errstate(all="ignore"):
        contrasts = np.prod(points**powers, axis=1) if ratio else points @ powers
        reach = np.diff(contrasts)
    below, above = np.nan_to_num(reach, nan=np.inf, posinf=np.inf).tolist()
    return below, above


def _extreme_cells(
    parameters: Sequence[TableParameter], coefficients: Sequence[float]
) -> _Enumeration:
    """Return the outcomes with the smallest and the largest value of a contrast.

    The contrast is a linear combination of means. Each of the two outcomes has a
    pseudo-count of half a row.
    """
    pairs = [
        parameter.extremes if coefficient > 0 else parameter.extremes[::-1]
        for parameter, coefficient in zip(parameters, coefficients, strict=True)
        if parameter.extremes
    ]
    return np.transpose(pairs), np.full(2, 0.5)


def _enumerate(
    maps: Sequence[CellMap], patterns: Sequence[tuple[bool, ...]]
) -> _Enumeration | None:
    """Enumerate the possible combinations of outcomes of several parameters.

    Each element of `patterns` is a set of parameters that can depend on the same row.
    For each of these sets, pseudo-counts of two rows are divided equally among the
    possible combinations of labels. The result is None if there are too many
    combinations.
    """
    enumerated, pseudo_counts = [], []
    for covered in patterns:
        possible = _possible_codes(list(itertools.compress(maps, covered)))
        if possible is None:
            return None
        codes, shares = possible
        pseudo_counts.append(2 * shares)
        outside = np.zeros(len(shares), dtype=int)
        columns = [
            m(*map(codes.__getitem__, m.columns)) if has_cell else outside + m.size
            for m, has_cell in zip(maps, covered, strict=True)
        ]
        enumerated.append(np.stack(columns, axis=1))
    if sum(map(len, enumerated)) > _MAX_ENUMERATED_OUTCOMES:
        return None
    cells, cell = distinct_rows(np.concatenate(enumerated))
    if len(cells) > MAX_ENUMERATED_CELLS:
        return None
    return cells, np.bincount(cell, np.concatenate(pseudo_counts))


def _coverage_patterns(maps: Sequence[CellMap]) -> list[tuple[bool, ...]]:
    """Return the distinct sets of parameters that can depend on the same row.

    A set is a tuple with one bool per parameter. For example, the parameters of two
    subgroups never depend on the same row.
    """
    patterns = set()
    for cell_map in maps:
        for subgroup in cell_map.subgroups or [None]:
            covers = [other.covers(cell_map.sample, subgroup) for other in maps]
            patterns.add(tuple(covers))
    return sorted(patterns, reverse=True)


def _possible_codes(maps: Sequence[CellMap]) -> tuple[dict[int, Array], Array] | None:
    """Return the possible combinations of label codes, and the share of each one.

    Labels with the same effect on all parameters are represented by one code. The
    combinations are returned as a dict. The keys of the dict are the indices of label
    columns, and the values are arrays of codes.
    """
    representatives: dict[int, Array] = {}
    shares = []
    columns = itertools.chain(*map(attrgetter("columns"), maps))
    for column in dict.fromkeys(columns):
        symbols = [
            m.symbols[m.columns.index(column)] for m in maps if column in m.columns
        ]
        stacked = np.stack(symbols, axis=1)
        observed_codes = np.flatnonzero((stacked >= 0).all(axis=1))
        _, first, counts = np.unique(
            stacked[observed_codes], axis=0, return_index=True, return_counts=True
        )
        representatives[column] = observed_codes[first]
        shares.append(counts / counts.sum())
    if math.prod(map(len, shares)) > _MAX_ENUMERATED_OUTCOMES:
        return None
    grid = map(np.ravel, np.meshgrid(*representatives.values(), indexing="ij"))
    codes = dict(zip(representatives, grid, strict=True))
    return codes, reduce(np.multiply.outer, shares).ravel()


def _trait_of(
    expanded: Mapping[_Parameter, float], ratio: bool, key: ParameterLabels
) -> MeasureProperties:
    """Return the properties of a contrast, such as the range, from its components."""
    traits = [parameter.trait for parameter in expanded]
    if ratio:
        if any(trait.bounds[0] < 0 for trait in traits):
            raise ValueError(
                "scale='ratio' needs metrics that are never negative, got "
                f"{key.title!r}; use scale='difference', or select other metrics with "
                "metrics=[...]"
            )
        low, high = 0.0, np.inf
    else:
        low, high = _range_of(expanded, expanded.values())
    common: Any = {name: all(map(attrgetter(name), traits)) for name in _NEEDED_BY_ALL}
    automatic: dict[str, None] = {}
    for trait in traits:
        automatic |= dict.fromkeys(trait.automatic_of_contrasts or trait.automatic)
    return MeasureProperties(
        key.title,
        bounds=(low, high),
        greater_is_better=traits[0].greater_is_better,
        has_better=traits[0].has_better,
        heavy_tails=any(map(attrgetter("heavy_tails"), traits)),
        scale=LOG if ratio else IDENTITY,
        automatic=tuple(automatic),
        **common,
    )


def _range_of(
    parameters: Iterable[Parameter], coefficients: Iterable[float]
) -> tuple[float, float]:
    """Compute the range of a linear combination of parameters."""
    bounds = np.array([parameter.trait.bounds for parameter in parameters])
    ranges = np.sort(bounds * np.array([*coefficients])[:, np.newaxis], axis=1)
    sizes = np.abs(ranges)
    largest = sizes[(sizes > 0) & np.isfinite(sizes)].max(initial=0.0) or 1.0
    decimals = _DIGITS - math.floor(math.log10(largest))
    low, high = ranges.sum(axis=0, initial=0.0).tolist()
    return round(low, decimals), round(high, decimals)
