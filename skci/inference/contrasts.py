"""Contrasts: linear combinations and ratios of parameters.

A contrast of parameters of a sample is a parameter like any other: a functional on a
table whose cells are the possible combinations of those of its components. Contrasts of
estimates with a given covariance have the covariance that follows from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.inference.intervals.methods import METHODS, check_serves, refusal
from skci.inference.joint import JointEstimate
from skci.inference.parameter import (
    MAX_ENUMERATED_CELLS,
    CellMap,
    Key,
    Parameter,
    TableParameter,
)
from skci.measures.functional import Component, LinearCombination, Ratio
from skci.measures.registry import IDENTITY, LOG, Trait

__all__ = ["Contrast", "against", "contrast_estimate", "pairs"]

Contrast = tuple[Key, Mapping[int, float]]
"""Name of a contrast, and the coefficients of parameters by their positions."""

_FALLBACK = ("score", "delta")
"""Methods of contrasts whose parameters have none in common that serves."""
_NO_VARIANCE = 1e-12
"""A variance below this share of the largest that there could be is zero."""
_DIGITS = 12
"""Decimals of the range of a contrast, so that K times 1/K is 1."""
_MAX_ENUMERATED_OUTCOMES = 1 << 16
"""Possible outcomes up to which the cells that they make up are enumerated."""


def pairs(names: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """All pairs, each once, the first before the second."""
    return itertools.combinations(range(len(names)), 2)


def against(names: Sequence[str], control: str) -> Iterator[tuple[int, int]]:
    """Each of the others and the control; none where the control is not among them."""
    both = itertools.permutations(range(len(names)), 2)
    return ((i, j) for i, j in both if names[j] == control)


def contrast_estimate(
    joint: JointEstimate,
    contrasts: Sequence[Contrast],
    *,
    ratio: bool = False,
    method: str | None = None,
    simultaneous: bool = True,
) -> JointEstimate:
    r"""Estimate contrasts of the parameters of a joint estimate.

    Their covariance is :math:`L V L^T`, L the coefficients (for ratios, times the
    ratio over the estimate).

    Parameters
    ----------
    joint : JointEstimate
    contrasts : sequence of Contrast
    ratio : bool
        Whether the coefficients are of the logarithms.
    method : str, optional
        Interval method; that of the parameters if they have one in common that serves
        contrasts, else "score", or "delta" where that does not.
    simultaneous : bool
        Whether the intervals shall all cover at once.

    Raises
    ------
    ValueError
        If the method cannot serve a contrast, or a ratio is of measures that may be
        negative.
    """
    if joint.is_of_rows:
        parameters = [
            _table_contrast(joint, key, weights, ratio, method)
            for key, weights in contrasts
        ]
        return joint.with_parameters(parameters, simultaneous)
    return _given_contrasts(joint, contrasts, ratio, method, simultaneous)


def _given_contrasts(
    joint: JointEstimate,
    contrasts: Sequence[Contrast],
    ratio: bool,
    method: str | None,
    simultaneous: bool,
) -> JointEstimate:
    """Contrasts of estimates with a given covariance."""
    traits, methods = [], []
    slopes = np.zeros((len(contrasts), len(joint.parameters)))
    estimates = np.zeros(len(contrasts))
    for row, (key, weights) in enumerate(contrasts):
        parameters = [joint.parameters[k] for k in weights]
        traits.append(_trait_of(parameters, list(weights.values()), ratio, key))
        methods.append(_method_of(parameters, traits[-1], method, table=False))
        own = joint.estimates[list(weights)]
        slope = np.array(list(weights.values()), dtype=float)
        estimates[row] = slope @ own
        if ratio:
            with np.errstate(all="ignore"):
                estimates[row] = np.exp(slope @ np.log(own))
                slope *= estimates[row] / own  # there is none for a ratio with zero
            slope[~np.isfinite(slope)] = 0
        slopes[row, list(weights)] = slope
    sampling = joint.sampling
    covariance = slopes @ sampling.covariance @ slopes.T
    # Of what does not vary there is rounding left, of either sign.
    most = np.abs(slopes) @ np.sqrt(sampling.covariance.diagonal())
    constant = covariance.diagonal() <= _NO_VARIANCE * most**2
    # A zero variance is unknown, and so is that of what depends on it.
    unknown = slopes[:, ~sampling.has_variance].any(axis=1)
    covariance[constant | unknown] = covariance[:, constant | unknown] = 0
    return JointEstimate.from_moments(
        estimates.tolist(),
        covariance,
        float(sampling.degrees_of_freedom[0]),
        [key for key, _ in contrasts],
        traits,
        methods,
        confidence_level=joint.confidence_level,
        simultaneous=simultaneous,
        random_state=joint.random_state,
    )


def _table_contrast(
    joint: JointEstimate,
    key: Key,
    weights: Mapping[int, float],
    ratio: bool,
    method: str | None,
) -> TableParameter:
    """Combine parameters of a sample into one more."""
    terms = _base_terms(joint, weights, ratio)
    parameters = [parameter for parameter, _ in terms]
    coefficients = [coefficient for _, coefficient in terms]
    trait = _trait_of(parameters, coefficients, ratio, key)
    enumerated, pseudo_counts = _enumerate(parameters)
    if enumerated is None:
        if method is not None:
            check_serves(method, trait)
            if METHODS[method].smooths:
                raise ValueError(
                    f"method={method!r} needs contrasts with at most "
                    f"{MAX_ENUMERATED_CELLS} possible outcomes, which {str(key)!r} has "
                    "not; use one of ['delta', 'blurred']"
                )
        trait = replace(trait, smooth=False)
        enumerated = np.zeros((0, len(parameters)), dtype=int)
    method = _method_of(parameters, trait, method)

    sizes = [parameter.size for parameter in parameters]
    observed = np.stack([parameter.index for parameter in parameters], axis=1)
    cells, cell = distinct_rows(np.concatenate([enumerated, observed]))
    n_cells = len(cells)
    if (cells[-1] == sizes).all():  # units that no component depends on
        n_cells -= 1
    index = cell[len(enumerated) :].astype(np.min_scalar_type(len(cells)))
    counts = np.bincount(index, joint.design.counts, len(cells))[:n_cells]
    smoothing = np.bincount(cell[: len(enumerated)], pseudo_counts, len(cells))
    components = [
        Component(parameter.functional, column, parameter.size)
        for parameter, column in zip(parameters, cells[:n_cells].T, strict=True)
    ]
    return TableParameter(
        key=key,
        trait=trait,
        functional=(Ratio if ratio else LinearCombination)(components, coefficients),
        method=method,
        counts=counts,
        index=index,
        smoothing=smoothing[:n_cells],
        components=tuple(parameters),
        extension=_extension_of(parameters, coefficients, ratio),
    )


def _base_terms(
    joint: JointEstimate, weights: Mapping[int, float], ratio: bool
) -> list[tuple[TableParameter, float]]:
    """Parameters and coefficients, with contrasts of the same kind taken apart."""
    kind = Ratio if ratio else LinearCombination
    total: dict[int, float] = {}
    parameters: dict[int, TableParameter] = {}
    for k, weight in weights.items():
        parameter = joint.parameters[k]
        assert isinstance(parameter, TableParameter)
        functional = parameter.functional
        terms = [(parameter, 1.0)]
        if parameter.components and type(functional) is kind:
            inner = functional.coefficients
            terms = list(zip(parameter.components, inner, strict=True))
        for base, coefficient in terms:
            parameters[id(base)] = base
            total[id(base)] = total.get(id(base), 0.0) + float(weight) * coefficient
    used = [base for base, coefficient in total.items() if coefficient] or list(total)
    return [(parameters[base], total[base]) for base in used]


def _method_of(
    parameters: Sequence[Parameter],
    trait: Trait,
    method: str | None,
    table: bool = True,
) -> str:
    """Interval method of a contrast."""
    if method is not None:
        check_serves(method, trait, table=table)
        return method
    serving = {p.method for p in parameters if not refusal(p.method, trait)}
    if len(serving) == 1:
        return serving.pop()
    usable = [name for name in _FALLBACK if table or not METHODS[name].needs_table]
    return next(name for name in usable if not refusal(name, trait))


def _extension_of(
    parameters: Sequence[Parameter], coefficients: Sequence[float], ratio: bool
) -> tuple[float, float]:
    """Extension of the interval for undefined classes of the components."""
    low = high = 0.0
    for coefficient, parameter in zip(coefficients, parameters, strict=True):
        below, above = parameter.extension[:: 1 if coefficient > 0 else -1]
        low += abs(coefficient) * below
        high += abs(coefficient) * above
    # Of a ratio, nothing is known.
    return (np.inf, np.inf) if ratio and (low or high) else (low, high)


def _enumerate(parameters: Sequence[TableParameter]) -> tuple[Array | None, Array]:
    """Enumerate the cells that the parameters can be in together.

    Returns
    -------
    cells : int array of shape (m, number of parameters) or None
        None if there are too many, or they cannot be enumerated.
    pseudo_counts : array of shape (m,)
        Two rows in each sample, spread evenly over the possible outcomes.
    """
    nothing = None, np.zeros(0)
    maps = [parameter.cell_map for parameter in parameters]
    enumerated, pseudo_counts = [], []
    for units in dict.fromkeys(cell_map.units for cell_map in maps if cell_map):
        codes, shares = _possible_codes([m for m in maps if m and m.units == units])
        if codes is None:
            return nothing
        enumerated.append(
            np.stack(
                [
                    cell_map(codes)
                    if cell_map and cell_map.units == units
                    else np.full(len(shares), parameter.size)
                    for parameter, cell_map in zip(parameters, maps, strict=True)
                ],
                axis=1,
            )
        )
        pseudo_counts.append(2 * shares)
    if None in maps or sum(map(len, pseudo_counts)) > _MAX_ENUMERATED_OUTCOMES:
        return nothing
    cells, cell = distinct_rows(np.concatenate(enumerated))
    if len(cells) > MAX_ENUMERATED_CELLS:
        return nothing
    return cells, np.bincount(cell, np.concatenate(pseudo_counts))


def _possible_codes(
    maps: Sequence[CellMap],
) -> tuple[dict[int, Array] | None, Array]:
    """All combinations of codes that maps distinguish, by column, and their shares."""
    representatives: dict[int, Array] = {}
    shares = []
    for column in dict.fromkeys(column for m in maps for column in m.columns):
        symbols = [
            m.symbols[m.columns.index(column)] for m in maps if column in m.columns
        ]
        _, first, counts = np.unique(
            np.stack(symbols, axis=1), axis=0, return_index=True, return_counts=True
        )
        representatives[column] = first
        shares.append(counts / counts.sum())
    sizes = [len(codes) for codes in representatives.values()]
    if math.prod(sizes) > _MAX_ENUMERATED_OUTCOMES:
        return None, np.zeros(0)
    grid = np.indices(sizes).reshape(len(sizes), -1)
    share = np.prod([s[g] for s, g in zip(shares, grid, strict=True)], axis=0)
    codes = zip(representatives.items(), grid, strict=True)
    return {column: values[g] for (column, values), g in codes}, share


def _trait_of(
    parameters: Sequence[Parameter],
    coefficients: Sequence[float],
    ratio: bool,
    key: Key,
) -> Trait:
    """Properties of a contrast."""
    traits = [parameter.trait for parameter in parameters]
    name = key.title
    if ratio:
        if any(trait.bounds[0] < 0 for trait in traits):
            raise ValueError(
                f"scale='ratio' needs measures that are never negative, which {name!r} "
                "is not"
            )
        bounds = (0.0, np.inf)
    else:
        ends = [
            sorted((weight * low, weight * high))
            for weight, (low, high) in zip(
                coefficients, (trait.bounds for trait in traits), strict=True
            )
        ]
        low, high = (sum(each) for each in zip(*ends, strict=True))
        bounds = (round(low, _DIGITS), round(high, _DIGITS))
    return Trait(
        name,
        bounds=bounds,
        greater_is_better=traits[0].greater_is_better,
        smooth=all(trait.smooth for trait in traits),
        scale=LOG if ratio else IDENTITY,
        blurs=all(trait.blurs for trait in traits),
        scale_free=all(trait.scale_free for trait in traits),
    )
