"""Contrasts: linear combinations and ratios of parameters.

A contrast of parameters of a sample is a parameter like any other: a functional on a
table whose cells are the possible combinations of those of its components. Contrasts of
estimates with a given covariance have the covariance that follows from it.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from skci.inference.contrast_parameters import (
    ContrastTables,
    contrast_parameter,
)
from skci.inference.given_sampling import MOST_TABLES, LinearContrasts
from skci.inference.intervals.methods import AUTO, METHODS, automatic
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Contrast, Key, TableParameter
from skci.inference.sampling import RowSampling, with_methods

_MOST_BY_PAIR = 1 << 11  # contrasts of rows that differ from pair to pair


def pairwise_contrasts(
    joint: JointEstimate,
    positions: Sequence[int],
    factor: str = "model",
    control: str | None = None,
    ratio: bool = False,
) -> list[Contrast]:
    """Compare parameters that differ in one factor, "model" or "subgroup".

    All pairs, each once, the first less the second, or over it; with a control, each of
    the others and the control.
    """
    pairs = list(itertools.combinations(positions, 2))
    if control is not None:
        level = {k: joint.parameters[k].key.level(factor) for k in positions}
        seconds = [k for k in positions if level[k] == control]
        pairs = [(i, j) for j in seconds for i in positions if i != j]
    return [comparison(joint, *pair, factor, ratio) for pair in pairs]


def comparison(
    joint: JointEstimate,
    first: int,
    second: int,
    factor: str = "model",
    ratio: bool = False,
    sign: float = 1.0,
) -> Contrast:
    """Compare two parameters that differ in one factor; see `pairwise_contrasts`."""
    keys = [joint.parameters[k].key for k in (first, second)]
    names = [key.level(factor) for key in keys]
    compared = (names[0], "/" if ratio else "-", names[1])
    key = replace(keys[0].without(factor), compared=compared)
    return key, {first: sign, second: -sign}


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
    sampling: Any = joint.sampling
    most = _most_tables(sampling, contrasts)
    if sampling.known == "table" and len(contrasts) <= most:
        tables = ContrastTables(sampling, ratio, method)
        compared = sampling.with_parameters([*map(tables.parameter, contrasts)])
    elif sampling.known == "table":
        compared = _linear_contrasts(sampling, contrasts, ratio, method)
    else:
        compared = _given_contrasts(sampling, contrasts, ratio, method)
    if compared.known == "skewness":
        of_rows = JointEstimate(compared.of_rows)
        of_tables = contrast_estimate(of_rows, contrasts, ratio, method).sampling
        of_rows = with_methods(of_tables, compared.parameters)
        compared = replace(compared, of_rows=of_rows)
    return replace(joint, sampling=compared, simultaneous=simultaneous)


def _most_tables(sampling: Any, contrasts: Sequence[Contrast]) -> int:
    """Most contrasts of which tables are made."""
    positions = {k for _, weights in contrasts for k in weights}
    if not any(sampling.parameters[k].by_pair for k in positions):
        return MOST_TABLES
    if len(contrasts) > _MOST_BY_PAIR:
        raise ValueError(
            f"missing_grades='pairwise' is of at most {_MOST_BY_PAIR:,} differences, "
            f"got {len(contrasts):,}; name a control, select models, or drop the items "
            "that some model has no grade of"
        )
    return _MOST_BY_PAIR


def _linear_contrasts(
    sampling: RowSampling,
    contrasts: Sequence[Contrast],
    ratio: bool,
    method: str | None,
) -> LinearContrasts:
    """Contrasts of so many that their tables are not made."""
    if method not in (None, AUTO) and METHODS[method].needs != "covariance":
        raise ValueError(
            f"method={method!r} needs at most {MOST_TABLES:,} contrasts, got "
            f"{len(contrasts):,}; use method='delta', name a control, or select models"
        )
    parameters = [
        parameter.with_method(automatic(parameter.trait, known="covariance"))
        for parameter in sampling.parameters
    ]
    base = LinearContrasts.from_rows(sampling.with_parameters(parameters))
    limit = f"other methods need at most {MOST_TABLES:,} contrasts"
    return _given_contrasts(base, contrasts, ratio, method, limit)


def _given_contrasts(
    sampling: Any,
    contrasts: Sequence[Contrast],
    ratio: bool,
    method: str | None,
    size_limit: str = "",
) -> Any:
    """Contrasts of estimates with a given covariance."""
    parameters, entries = [], []
    for row, contrast in enumerate(contrasts):
        parameter = contrast_parameter(
            sampling.parameters, contrast, ratio, method, sampling.known, size_limit
        )
        positions = list(contrast[1])
        slope = np.array(list(contrast[1].values()), dtype=float)
        if ratio:
            values = np.array([sampling.parameters[k].estimate for k in positions])
            with np.errstate(all="ignore"):
                slope *= parameter.given / values  # none for a ratio with zero
            slope[~np.isfinite(slope)] = 0
        entries += [(row, k, each) for k, each in zip(positions, slope, strict=True)]
        parameters.append(parameter)
    rows, columns, coefficients = np.reshape(entries, (-1, 3)).T
    places = rows.astype(int), columns.astype(int)
    shape = len(contrasts), len(sampling.parameters)
    slopes = sparse.csr_array((coefficients, places), shape=shape)
    return sampling.contrasts(parameters, slopes, contrasts)
