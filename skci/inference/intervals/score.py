r"""Score intervals of smooth functionals of a multinomial.

The statistic S compares observed proportions p_hat of n observations in m cells with
their maximum likelihood estimate p subject to ``g(p) = M``; see `improved` for its
formula. The limits are the first values M, outward from the estimate, at which ``S =
crit**2``.

For means of bounded values and Tversky's ratios, constrained estimates have a closed
form (`ratio`). Constrained estimates of other functionals lie on a path, which is
computed by Newton's method (`path`) and searched for the limits (`path_solver`).

References
----------
Wilson (1927), JASA 22, 209-212: limits of a proportion with Pearson's statistic.

Tango (1998), Statistics in Medicine 17, 891-908: limits of a difference of paired
proportions.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._progress import progress
from skci.inference.intervals.path_solver import LEVELS, Paths
from skci.inference.intervals.ratio import POINTS, Ratios, as_ratio
from skci.inference.intervals.statistic import Samples
from skci.measures.functional import Functional
from skci.measures.stratified import Poststratified

_BATCH_SIZE = 2**18  # size of the largest array of a batch, to bound the memory
_MANY = 16  # number of limits from which their computation may show its progress


def score_limits(
    functionals: Sequence[Functional],
    counts: Sequence[Array],
    crit: Array,
    bounds: Array,
) -> tuple[Array, Array]:
    """Compute lower and upper score limits for J functionals of cell probabilities.

    Both arrays have shape (J,). `counts` contains J arrays of shape (m,), with all
    possible cells, including empty cells. `crit` contains critical values of the square
    root of the statistic, of shape (J,), or (J, 2) for lower and upper limits. Equal
    functionals are evaluated together if they are hashable.

    A limit is on the boundary of the range if the estimate is on the boundary, or if
    the statistic does not reach ``crit**2``, for example because `crit` is infinite. If
    a functional is undefined at the counts, its limits are the bounds of its range.
    """
    bounds = np.asarray(bounds, dtype=float)
    limits, crits = bounds.copy(), np.empty(bounds.shape)
    crits.T[:] = np.transpose(crit)
    problems = _problems(functionals, counts, bounds)
    if len(limits) >= _MANY:
        problems = progress(problems, "limits", len(limits), lambda pair: len(pair[0]))
    with np.errstate(all="ignore"):
        for k, problem in problems:
            limits[k] = problem.limits(crits[k])
    low, high = np.maximum(np.minimum(limits.T, bounds[:, 1]), bounds[:, 0])
    return low, high


def score_roots(
    functionals: Sequence[Functional],
    counts: Sequence[Array],
    nulls: Array,
    bounds: Array,
) -> Array:
    """Compute signed square roots of the score statistics at null values.

    All null values lie inside the ranges. A root is positive if the estimate exceeds
    the null value. A root is NaN if the limit with this root as critical value differs
    from the null value. The other parameters are described in `score_limits`.
    """
    nulls, bounds = np.asarray(nulls, dtype=float), np.asarray(bounds, dtype=float)
    roots = np.empty(len(nulls))
    with np.errstate(all="ignore"):
        for k, problem in _problems(functionals, counts, bounds):
            roots[k] = problem.roots(nulls[k])
    return roots


def _problems(
    functionals: Sequence[Functional],
    counts: Sequence[Any],
    bounds: Array,
) -> Iterator[tuple[list[int], Ratios | Paths]]:
    """Divide tables of counts into batches for joint computation.

    Yields the indices of the tables in each batch, and an object that computes the
    score intervals of the batch. Each mixture of strata is a separate batch.
    """
    by_functional: dict[object, tuple[list[int], list[Any]]] = {}
    for k, functional in enumerate(functionals):
        try:
            rows, row_counts = by_functional.setdefault(functional, ([], []))
        except TypeError:  # not hashable
            rows, row_counts = by_functional.setdefault(id(functional), ([], []))
        rows.append(k)
        row_counts.append(counts[k])
    batches: dict[Any, list[tuple[Any, list[int], Array]]] = {}
    kind: Any
    data: Any
    for key, (rows, row_counts) in by_functional.items():
        functional = functionals[rows[0]]
        tables = np.array(row_counts, dtype=float)
        kind, data = as_ratio(functional, tables) or (Paths, functional)
        mixture = key if isinstance(functional, Poststratified) else None
        batch_parts = batches.setdefault((kind, mixture, tables.shape[1]), [])
        batch_parts.append((data, rows, tables))
    for (kind, mixture, cells), parts in batches.items():
        data, members, table_parts = zip(*parts, strict=True)
        positions, tables = list(chain(*members)), np.concatenate(table_parts)
        index = np.repeat(np.arange(len(data)), [*map(len, members)])
        numbers = POINTS * cells
        if kind is Paths:
            n_tables = cells + 1 if mixture is None else int(data[0].occurs.sum())
            numbers = 2 * len(LEVELS) * n_tables * cells
        size = max(1, _BATCH_SIZE // numbers)
        for first in range(0, len(positions), size):
            batch = slice(first, first + size)
            samples, part = Samples(tables[batch]), positions[batch]
            yield part, kind(samples, bounds[part], data, index[batch])
