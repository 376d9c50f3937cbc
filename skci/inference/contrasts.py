"""Contrasts: from parameters to linear combinations and ratios of them.

A contrast is a parameter like any other: a functional on its own table, whose cells are
the possible combinations of the cells that its parts see. Its covariance with all else,
its critical value and its intervals come from the same places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._typing import Array
from skci.inference.intervals.methods import METHODS, check_serves, refusal
from skci.inference.joint import JointEstimate
from skci.inference.parameter import MOST_CELLS, Parameter, View
from skci.measures.functional import Combination, Part
from skci.measures.registry import IDENTITY, LOG, Trait

__all__ = ["against", "combination", "pairs"]


_MOST_OUTCOMES = 1 << 16
"""Possible outcomes up to which the cells that they make up are listed."""


def pairs(names: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """All pairs, each once, the first before the second."""
    return itertools.combinations(range(len(names)), 2)


def against(names: Sequence[str], control: str) -> Iterator[tuple[int, int]]:
    """Each of the others and the control; none where the control is not among them."""
    both = itertools.permutations(range(len(names)), 2)
    return ((i, j) for i, j in both if names[j] == control)


def combination(
    joint: JointEstimate,
    weights: Mapping[int, float],
    labels: Mapping[str, str],
    *,
    ratio: bool = False,
    method: str | None = None,
) -> Parameter:
    """Combine some of the parameters of a joint estimate into one more.

    Parameters
    ----------
    joint : JointEstimate
    weights : mapping of int to float
        Coefficients of the parameters by their positions.
    labels : mapping of str to str
        Its labels in a report.
    ratio : bool
        Whether the coefficients are of the logarithms.
    method : str, optional
        Interval method; that of the parameters if they have one in common that serves
        contrasts, else "score", or "delta" where that does not.

    Raises
    ------
    ValueError
        If the method cannot serve the contrast, or a ratio is of measures that may be
        negative.
    """
    parameters = [joint.parameters[k] for k in weights]
    coefficients = tuple(float(weight) for weight in weights.values())
    name = labels.get("metric", labels.get("contrast", ""))
    trait = _trait_of(parameters, coefficients, ratio, name)
    listed, smoothing = _possible(parameters)
    if method is not None:
        check_serves(method, trait)
    if listed is None:
        trait = replace(trait, smooth=False)
    if method is None:
        serving = {own.method for own in parameters if not refusal(own.method, trait)}
        fallback = "delta" if refusal("score", trait) else "score"
        method = serving.pop() if len(serving) == 1 else fallback
    elif listed is None and METHODS[method].smooths:
        raise ValueError(
            f"method={method!r} needs contrasts with at most {MOST_CELLS} possible "
            f"outcomes, which {', '.join(labels.values())!r} has not; use one of "
            "['delta', 'blurred']"
        )
    observed = np.stack([own.index for own in parameters], axis=1)
    rows = observed if listed is None else np.concatenate([listed, observed])
    sizes = [own.size for own in parameters]
    if listed is None and (observed < sizes).any(axis=1).all():
        cells, found = observed, np.arange(len(observed))  # each outcome is a cell
    else:
        cells, found = np.unique(rows, axis=0, return_inverse=True)
    index = found.ravel()[len(rows) - len(observed) :]
    nowhere = (cells == sizes).all(axis=1)
    if nowhere.any():  # the last one; outcomes that no part sees
        cells = cells[:-1]
    counts = np.bincount(index, weights=joint.design.weights, minlength=len(cells))
    added = np.bincount(
        found.ravel()[: len(rows) - len(observed)], smoothing, minlength=len(cells)
    )
    moments = tuple(name for own in parameters for name in own.moments)
    return Parameter(
        labels=labels,
        trait=trait,
        functional=Combination(
            tuple(
                Part(own.functional, column, own.size)
                for own, column in zip(parameters, cells.T, strict=True)
            ),
            coefficients,
            moments,
            ratio,
        ),
        method=method,
        counts=counts[: len(cells)],
        index=index,
        moments=moments,
        view=None,
        smoothing=added[: len(cells)],
        sources=tuple(parameters),
        slack=_slack_of(parameters, coefficients, ratio),
    )


def _slack_of(
    parameters: Sequence[Parameter], coefficients: Sequence[float], ratio: bool
) -> tuple[float, float]:
    """How far a combination may be off for what the rows leave open of its parts."""
    low = high = 0.0
    for weight, own in zip(coefficients, parameters, strict=True):
        below, above = own.slack if weight > 0 else reversed(own.slack)
        low += abs(weight) * below
        high += abs(weight) * above
    # Of a ratio, nothing is known.
    return (np.inf, np.inf) if ratio and (low or high) else (low, high)


def _possible(parameters: Sequence[Parameter]) -> tuple[Array | None, Array]:
    """List the own cells that the parameters can be in together.

    Returns
    -------
    cells : int array of shape (m, number of parameters) or None
        None if there are too many.
    smoothing : array of shape (m,)
        Two rows in each sample, spread evenly, so that half a row comes to every cell
        of a single rule.
    """
    listed, smoothing = [], []
    total = 0
    views = [_view(own) for own in parameters]
    if not all(view.listable for view in views):
        return None, np.zeros(0)
    for rows in dict.fromkeys(view.rows for view in views):
        sizes: dict[int, int] = {}
        for view in views:
            if view.rows == rows:
                sizes |= zip(view.columns, view.cells.shape, strict=True)
        number = math.prod(sizes.values())
        total += number
        if total > _MOST_OUTCOMES:
            return None, np.zeros(0)
        grid = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
        values = dict(zip(sizes, grid, strict=True))
        seen = [
            view.cells[tuple(values[column] for column in view.columns)]
            if view.rows == rows
            else np.full(number, own.size)
            for own, view in zip(parameters, views, strict=True)
        ]
        listed.append(np.stack(seen, axis=1))
        smoothing.append(np.full(number, 2 / number))
    cells, outcome = np.unique(np.concatenate(listed), axis=0, return_inverse=True)
    if len(cells) > MOST_CELLS:
        return None, np.zeros(0)
    return cells, np.bincount(outcome.ravel(), np.concatenate(smoothing))


def _view(own: Parameter) -> View:
    if own.view is None:
        raise ValueError(
            f"contrasts must be of estimates, got the contrast {own.rule!r}"
        )
    return own.view


def _trait_of(
    parameters: Sequence[Parameter],
    coefficients: Sequence[float],
    ratio: bool,
    name: str,
) -> Trait:
    """Declare what is known of a contrast."""
    own = [parameter.trait for parameter in parameters]
    if ratio:
        if any(trait.bounds[0] < 0 for trait in own):
            raise ValueError(
                f"scale='ratio' needs measures that are never negative, which {name!r} "
                "is not"
            )
        bounds = (0.0, np.inf)
    else:
        ends = [
            sorted((weight * low, weight * high))
            for weight, (low, high) in zip(
                coefficients, (trait.bounds for trait in own), strict=True
            )
        ]
        bounds = (sum(low for low, _ in ends), sum(high for _, high in ends))
    return Trait(
        name,
        bounds=bounds,
        greater_is_better=own[0].greater_is_better,
        smooth=all(trait.smooth for trait in own),
        scale=LOG if ratio else IDENTITY,
        blurs=all(trait.blurs for trait in own),
        scale_free=all(trait.scale_free for trait in own),
    )
