"""Contrasts: linear combinations and ratios of parameters.

A contrast of parameters of a sample is a parameter like any other: a functional on a
table whose cells are the possible combinations of those of its components. Contrasts of
estimates with a given covariance have the covariance that follows from it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.inference.given_covariance import GivenCovariance
from skci.inference.intervals.methods import (
    AUTO,
    METHODS,
    automatic,
    check_serves,
    refusal,
)
from skci.inference.joint import JointEstimate
from skci.inference.parameter import (
    MAX_ENUMERATED_CELLS,
    CellMap,
    Key,
    Parameter,
    TableParameter,
)
from skci.inference.sampling import RowSampling, Sampling
from skci.inference.stratified import smoothed_by_stratum
from skci.measures.functional import Component, LinearCombination, Ratio
from skci.measures.registry import IDENTITY, LOG, Trait

Contrast = tuple[Key, Mapping[int, float]]
"""Name of a contrast, and the coefficients of parameters by their positions."""

_Enumeration = tuple[Array, Array]
"""Cells that K parameters can be in together, (m, K), and pseudo-counts, (m,)."""

_Parameter = TypeVar("_Parameter", bound=Parameter)

_CANCELLED = 1e-12  # share of the terms of a coefficient that is rounding
_DIGITS = 12  # of the range of a contrast, so that K times 1/K is 1
_MAX_ENUMERATED_OUTCOMES = 1 << 16  # possible outcomes of which cells are listed


def pairwise_contrasts(
    joint: JointEstimate,
    positions: Sequence[int],
    factor: str = "rule",
    control: str | None = None,
    ratio: bool = False,
) -> list[Contrast]:
    """Compare parameters that differ in one factor, "rule" or "subgroup".

    All pairs, each once, the first less the second, or over it; with a control, each of
    the others and the control.
    """
    keys = [joint.parameters[k].key for k in positions]
    names = [key.level(factor) for key in keys]
    contrasts: list[Contrast] = []
    for i, j in itertools.permutations(range(len(keys)), 2):
        if i < j if control is None else names[j] == control:
            compared = (names[i], "/" if ratio else "-", names[j])
            key = replace(keys[i].without(factor), compared=compared)
            contrasts.append((key, {positions[i]: 1.0, positions[j]: -1.0}))
    return contrasts


def contrasts_with(
    joint: JointEstimate,
    positions: Sequence[int],
    references: Mapping[Key, TableParameter],
    name: str,
    ratio: bool = False,
) -> tuple[JointEstimate, list[Contrast]]:
    """Compare parameters of subgroups each with a reference, found by its key.

    Returns the joint estimate of the parameters and the references, and the contrasts.
    """
    keys = [joint.parameters[k].key for k in positions]
    added = list(dict.fromkeys(references[key] for key in keys))
    contrasts: list[Contrast] = []
    for k, key in zip(positions, keys, strict=True):
        compared = (key.level("subgroup"), "/" if ratio else "-", name)
        reference = len(joint.parameters) + added.index(references[key])
        key = replace(key.without("subgroup"), compared=compared)
        contrasts.append((key, {k: 1.0, reference: -1.0}))
    return joint.extended(added), contrasts


def reverse(joint: JointEstimate) -> JointEstimate:
    """Take all differences or ratios of a joint estimate the other way round."""
    keys = [parameter.key for parameter in joint.parameters]
    contrasts = [(key.reverse, {k: -1.0}) for k, key in enumerate(keys)]
    ratio = any(key.compared and key.compared[1] == "/" for key in keys)
    return contrast_estimate(joint, contrasts, ratio, simultaneous=joint.simultaneous)


def contrast_estimate(
    joint: JointEstimate,
    contrasts: Sequence[Contrast],
    ratio: bool = False,
    method: str | None = None,
    simultaneous: bool = True,
) -> JointEstimate:
    r"""Estimate contrasts of the parameters of a joint estimate.

    Their covariance is :math:`L V L^T`, L the coefficients (for ratios, which are
    contrasts of logarithms, times the ratio over the estimate); to first order where
    the method smooths, and without the excess of a given covariance. The default method
    is that of the parameters if they have one in common that serves contrasts and is
    not what "auto" stands for, else "auto". A method that cannot serve a contrast is a
    ValueError, as are a ratio of signed measures and terms that all cancel.
    """
    sampling = joint.sampling
    if isinstance(sampling, RowSampling):
        known: dict[object, _Enumeration | None] = {}
        tables = [
            _table_contrast(sampling, *each, ratio, method, known) for each in contrasts
        ]
        contrasted: Sampling = RowSampling(tuple(tables), sampling.design)
    else:
        contrasted = _given_contrasts(sampling, contrasts, ratio, method)
    return replace(joint, sampling=contrasted, simultaneous=simultaneous)


def _given_contrasts(
    sampling: GivenCovariance,
    contrasts: Sequence[Contrast],
    ratio: bool,
    method: str | None,
) -> GivenCovariance:
    """Contrasts of estimates with a given covariance."""
    parameters = []
    slopes = np.zeros((len(contrasts), len(sampling.parameters)))
    for row, (key, weights) in enumerate(contrasts):
        combined = [sampling.parameters[k] for k in weights]
        terms = _base_terms(sampling.parameters, key, weights, ratio)
        trait = _trait_of(terms, ratio, key)
        serving = _method_of(combined, trait, method, table=False)
        values = np.array([parameter.estimate for parameter in combined])
        slope = np.array(list(weights.values()), dtype=float)
        estimate = slope @ values
        if ratio:
            with np.errstate(all="ignore"):
                estimate = np.exp(slope @ np.log(values))
                slope *= estimate / values  # there is none for a ratio with zero
            slope[~np.isfinite(slope)] = 0
        slopes[row, list(weights)] = slope
        low, high = trait.bounds
        parameters.append(
            Parameter(
                key=key,
                trait=trait,
                method=serving,
                given=min(max(float(estimate), low), high),
                components=tuple(terms),
                coefficients=tuple(terms.values()),
            )
        )
    pairs = [_compared_rules(sampling, weights) for _, weights in contrasts]
    return sampling.contrasts(parameters, slopes, pairs)


def _compared_rules(
    sampling: GivenCovariance, weights: Mapping[int, float]
) -> frozenset[str]:
    """Names of two rules that are compared on the same measure; none for others."""
    keys = [sampling.parameters[k].key for k in weights]
    balanced = abs(sum(weights.values())) < _CANCELLED
    same = len({key.without("rule") for key in keys}) == 1
    return frozenset(key.name for key in keys if balanced and same and len(keys) == 2)


def _table_contrast(
    sampling: RowSampling,
    key: Key,
    weights: Mapping[int, float],
    ratio: bool,
    method: str | None,
    known: dict[object, _Enumeration | None],
) -> TableParameter:
    """Combine parameters of a sample into one more.

    `known` are the enumerations of contrasts of other rules, whose labels are the same.
    """
    kind = Ratio if ratio else LinearCombination
    terms = _base_terms(sampling.parameters, key, weights, ratio)
    parameters, coefficients = tuple(terms), tuple(terms.values())
    trait = _trait_of(terms, ratio, key)
    enumeration = _enumeration_of(parameters, coefficients, ratio, known)
    if enumeration is None:
        if method not in (None, AUTO):
            check_serves(method, trait)
            if METHODS[method].smooths:
                raise ValueError(
                    f"method={method!r} needs contrasts with at most "
                    f"{MAX_ENUMERATED_CELLS} possible outcomes, which {str(key)!r} has "
                    "not; use one of ['delta', 'blurred']"
                )
        trait = replace(trait, smooth=False)
        enumeration = np.zeros((0, len(parameters)), dtype=int), np.zeros(0)
    enumerated, pseudo_counts = enumeration

    observed = np.stack([parameter.index for parameter in parameters])
    enumerated = enumerated.T.astype(observed.dtype)
    cells, cell = distinct_rows(np.concatenate([enumerated, observed], axis=1).T)
    # The last cell may be that of units that no component depends on.
    outside = (cells[-1] == [parameter.size for parameter in parameters]).all()
    n_cells = len(cells) - int(outside)
    index = cell[len(pseudo_counts) :].astype(np.min_scalar_type(len(cells)))
    counts = np.bincount(index, sampling.design.counts, len(cells))[:n_cells]
    smoothing = np.bincount(cell[: len(pseudo_counts)], pseudo_counts, len(cells))
    components = [
        Component(parameter.functional, column, parameter.size)
        for parameter, column in zip(parameters, cells[:n_cells].T, strict=True)
    ]
    extension = _extension_of(parameters, coefficients, ratio)
    binned = any(parameter.binning_error for parameter in parameters)
    parameter = TableParameter(
        key=key,
        trait=trait,
        functional=kind(components, coefficients),
        method=_method_of([sampling.parameters[k] for k in weights], trait, method),
        counts=counts,
        index=index,
        smoothing=smoothing[:n_cells],
        components=parameters,
        coefficients=coefficients,
        extension=extension,
        binning_error=max(extension) if binned else 0.0,
    )
    return smoothed_by_stratum(parameter, sampling.design)


def _base_terms(
    parameters: Sequence[_Parameter],
    key: Key,
    weights: Mapping[int, float],
    ratio: bool,
) -> dict[_Parameter, float]:
    """Coefficients by parameter, with contrasts of the same kind taken apart.

    Those that cancel are left out.
    """
    terms: dict[_Parameter, list[float]] = {}
    for k, weight in weights.items():
        for base, coefficient in _terms_of(parameters[k], ratio).items():
            terms.setdefault(base, []).append(float(weight) * coefficient)
    coefficients = {
        base: sum(each)
        for base, each in terms.items()
        if abs(sum(each)) > _CANCELLED * sum(map(abs, each))
    }
    if not coefficients:
        raise ValueError(
            "matrix must have no row of which all terms cancel, as those of "
            f"{key.title!r} do"
        )
    return coefficients


def _terms_of(parameter: _Parameter, ratio: bool) -> dict[_Parameter, float]:
    """Coefficients of a ratio or of a linear contrast; of others, of itself."""
    if parameter.components and (parameter.trait.scale is LOG) == ratio:
        components = cast(tuple[_Parameter, ...], parameter.components)
        return dict(zip(components, parameter.coefficients, strict=True))
    return {parameter: 1.0}


def _method_of(
    parameters: Sequence[Parameter],
    trait: Trait,
    method: str | None,
    table: bool = True,
) -> str:
    """Interval method of a contrast."""
    if method not in (None, AUTO):
        check_serves(method, trait, table=table)
        return method
    others = [p for p in parameters if p.method != automatic(p.trait, table=table)]
    methods = {parameter.method for parameter in parameters if not method and others}
    serving = [m for m in methods if not refusal(m, trait, table=table)]
    if len(serving) == 1:
        return serving[0]
    return automatic(trait, table=table)


def _extension_of(
    parameters: Sequence[TableParameter], coefficients: Sequence[float], ratio: bool
) -> tuple[float, float]:
    """Extension of the interval for undefined classes, or bins, of the components."""
    if not any(any(parameter.extension) for parameter in parameters):
        return 0.0, 0.0
    if ratio:
        return _extension_of_ratio(parameters, np.array(coefficients))
    extensions = [
        parameter.extension if coefficient > 0 else parameter.extension[::-1]
        for coefficient, parameter in zip(coefficients, parameters, strict=True)
    ]
    low, high = (np.abs(coefficients) @ extensions).tolist()
    return low, high


def _extension_of_ratio(
    parameters: Sequence[TableParameter], coefficients: Array
) -> tuple[float, float]:
    """Extension of a ratio by what bins can change in its estimate.

    With undefined classes nothing is known.
    """
    if any(any(each.extension) and not each.binning_error for each in parameters):
        return np.inf, np.inf
    values = np.array([parameter.value for parameter in parameters])
    low, high = np.array([parameter.extension for parameter in parameters]).T
    ends = np.maximum(values - low, 0), values + high
    least, greatest = (np.where(coefficients > 0, *each) for each in (ends, ends[::-1]))
    with np.errstate(all="ignore"):
        factors = np.array([least, values, greatest]) ** coefficients
        reach = np.diff(factors.prod(axis=1))
    below, above = np.nan_to_num(reach, nan=np.inf, posinf=np.inf).tolist()
    return below, above


def _enumeration_of(
    parameters: Sequence[TableParameter],
    coefficients: Sequence[float],
    ratio: bool,
    known: dict[object, _Enumeration | None],
) -> _Enumeration | None:
    """Enumerate the cells of parameters, or look them up.

    Of bounded means only the least and the greatest values of a linear combination need
    be known. None if there are too many cells, or they cannot be enumerated.
    """
    first = parameters[0].units
    if all(p.extremes and np.array_equal(p.units, first) for p in parameters):
        return None if ratio else _extreme_cells(parameters, coefficients)
    maps = [parameter.cell_map for parameter in parameters if parameter.cell_map]
    if len(maps) < len(parameters):
        return None
    columns = [column for cell_map in maps for column in cell_map.columns]
    same = tuple(map(columns.index, columns))  # which of the columns are one
    key = same, tuple(cell_map.content for cell_map in maps)
    if key not in known:
        known[key] = _enumerate(maps)
    return known[key]


def _extreme_cells(
    parameters: Sequence[TableParameter], coefficients: Sequence[float]
) -> _Enumeration:
    """Cells in which a linear combination of bounded means is least and greatest.

    The pseudo-counts are half a row each, as those of a gain and a loss of one rule on
    another in labels.
    """
    pairs = [
        parameter.extremes if coefficient > 0 else parameter.extremes[::-1]
        for parameter, coefficient in zip(parameters, coefficients, strict=True)
        if parameter.extremes
    ]
    return np.transpose(pairs), np.full(2, 0.5)


def _enumerate(maps: Sequence[CellMap]) -> _Enumeration | None:
    """Cells that maps can lead to together, unless they are too many.

    The pseudo-counts are two rows in each part of the units whose maps are the same,
    spread evenly over the possible outcomes.
    """
    enumerated, pseudo_counts = [], []
    for covered in _parts(maps):
        possible = _possible_codes(list(itertools.compress(maps, covered)))
        if possible is None:
            return None
        codes, shares = possible
        pseudo_counts.append(2 * shares)
        outside = np.zeros(len(shares), dtype=int)
        columns = [
            cell_map(codes) if has_cell else outside + cell_map.size
            for cell_map, has_cell in zip(maps, covered, strict=True)
        ]
        enumerated.append(np.stack(columns, axis=1))
    if sum(map(len, enumerated)) > _MAX_ENUMERATED_OUTCOMES:
        return None
    cells, cell = distinct_rows(np.concatenate(enumerated))
    if len(cells) > MAX_ENUMERATED_CELLS:
        return None
    return cells, np.bincount(cell, np.concatenate(pseudo_counts))


def _parts(maps: Sequence[CellMap]) -> list[tuple[bool, ...]]:
    """Parts of the units by the maps that have a cell for them: which of the maps."""
    parts = {
        tuple(other.covers(cell_map.sample, subgroup) for other in maps)
        for cell_map in maps
        for subgroup in cell_map.subgroups or [None]
    }
    return sorted(parts, reverse=True)


def _possible_codes(maps: Sequence[CellMap]) -> tuple[dict[int, Array], Array] | None:
    """All combinations of codes that maps distinguish, by column, and their shares.

    Of labels that occur.
    """
    representatives: dict[int, Array] = {}
    shares = []
    for column in dict.fromkeys(column for m in maps for column in m.columns):
        symbols = [
            m.symbols[m.columns.index(column)] for m in maps if column in m.columns
        ]
        stacked = np.stack(symbols, axis=1)
        occurring = np.flatnonzero((stacked >= 0).all(axis=1))
        _, first, counts = np.unique(
            stacked[occurring], axis=0, return_index=True, return_counts=True
        )
        representatives[column] = occurring[first]
        shares.append(counts / counts.sum())
    sizes = [len(codes) for codes in representatives.values()]
    if math.prod(sizes) > _MAX_ENUMERATED_OUTCOMES:
        return None
    grid = np.indices(sizes).reshape(len(sizes), -1)
    share = np.prod([s[g] for s, g in zip(shares, grid, strict=True)], axis=0)
    codes = zip(representatives.items(), grid, strict=True)
    return {column: values[g] for (column, values), g in codes}, share


def _trait_of(terms: Mapping[_Parameter, float], ratio: bool, key: Key) -> Trait:
    """Properties of a contrast."""
    traits = [parameter.trait for parameter in terms]
    if ratio:
        if any(trait.bounds[0] < 0 for trait in traits):
            raise ValueError(
                "scale='ratio' needs measures that are never negative, which "
                f"{key.title!r} is not"
            )
        low, high = 0.0, np.inf
    else:
        low, high = _range_of(terms)
    return Trait(
        key.title,
        bounds=(low, high),
        greater_is_better=traits[0].greater_is_better,
        smooth=all(trait.smooth for trait in traits),
        has_curvature=all(trait.has_curvature for trait in traits),
        heavy_tails=any(trait.heavy_tails for trait in traits),
        scale=LOG if ratio else IDENTITY,
        blurs=all(trait.blurs for trait in traits),
        automatic=tuple(
            dict.fromkeys(
                method
                for trait in traits
                for method in trait.automatic_of_contrasts or trait.automatic
            )
        ),
        scale_free=all(trait.scale_free for trait in traits),
    )


def _range_of(terms: Mapping[_Parameter, float]) -> tuple[float, float]:
    """Range of a linear combination; of its ends only digits above rounding count."""
    ranges = [
        sorted(coefficient * end for end in parameter.trait.bounds)
        for parameter, coefficient in terms.items()
    ]
    sizes = [abs(end) for pair in ranges for end in pair]
    greatest = max((size for size in sizes if 0 < size < np.inf), default=1.0)
    decimals = _DIGITS - math.floor(math.log10(greatest))
    low, high = (round(sum(ends), decimals) for ends in zip(*ranges, strict=True))
    return low, high
