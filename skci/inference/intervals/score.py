r"""Score intervals of smooth functionals of a multinomial.

The statistic S compares observed proportions p_hat of n observations in m cells with
their maximum likelihood estimate p subject to ``g(p) = M``. The limits are the first
values M, outward from the estimate, at which ``S = crit**2``.

The constrained estimates of means of bounded values and of Tversky's ratios have a
closed form (`ratio`). Those of other functionals lie on a path
that Newton's method computes (`path`) and that is searched for the limits
(`path_solver`).

References
----------
Wilson (1927), JASA 22, 209-212: limits of a proportion with Pearson's statistic.

Tango (1998), Statistics in Medicine 17, 891-908: those of a difference of paired
proportions.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._progress import Progress
from skci.inference.intervals.path_solver import LEVELS, Paths
from skci.inference.intervals.ratio import POINTS, Ratios, as_ratio
from skci.inference.intervals.statistic import Samples, Statistic, improved
from skci.measures.functional import Functional
from skci.measures.stratified import Poststratified

_BATCH_SIZE = 2**18  # numbers in the largest array of a batch, to bound the memory


def score_limits(
    functionals: Sequence[Functional],
    counts: Sequence[Array],
    crit: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> tuple[Array, Array]:
    """Lower and upper limits of J functionals of multinomials, of shape (J,).

    Counts, J arrays of shape (m,), are of all possible cells, empty ones included. The
    statistic is `improved` or `pearson`, and `crit` the critical values of its square
    root, (J,) or, of lower and upper limits, (J, 2). Equal functionals are evaluated
    together if they are hashable.

    A limit is the boundary of the range where the estimate lies on it, and where the
    statistic does not reach ``crit**2``, as none does an infinite one. A functional
    that is undefined at the counts has its whole range.
    """
    bounds = np.asarray(bounds, dtype=float)
    limits, crits = bounds.copy(), np.empty(bounds.shape)
    crits.T[:] = np.transpose(crit)
    with np.errstate(all="ignore"), Progress("limits", len(limits)) as line:
        for k, problem in _problems(functionals, counts, bounds, statistic):
            limits[k] = problem.limits(crits[k])
            line.add(len(k))
    low, high = np.maximum(np.minimum(limits.T, bounds[:, 1]), bounds[:, 0])
    return low, high


def score_roots(
    functionals: Sequence[Functional],
    counts: Sequence[Array],
    nulls: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> Array:
    """Signed roots of the score statistics of J functionals at null values.

    Nulls lie in the interior of the ranges; other parameters are those of
    `score_limits`. A root is positive where the estimate exceeds the null, and NaN
    where the null is not the limit that has the root for a critical value.
    """
    nulls, bounds = np.asarray(nulls, dtype=float), np.asarray(bounds, dtype=float)
    roots = np.empty(len(nulls))
    with np.errstate(all="ignore"):
        for k, problem in _problems(functionals, counts, bounds, statistic):
            roots[k] = problem.roots(nulls[k])
    return roots


def _problems(
    functionals: Sequence[Functional],
    counts: Sequence[Any],
    bounds: Array,
    statistic: Statistic,
) -> Iterator[tuple[list[int], Ratios | Paths]]:
    """Problems of samples that are solved at once, and the positions of these.

    Each mixture of strata is a problem of its own.
    """
    alike: dict[object, list[int]] = {}
    for k, functional in enumerate(functionals):
        alike.setdefault(_key(functional), []).append(k)
    batches: dict[Any, list[tuple[Any, list[int], Array]]] = {}
    kind: Any
    found: Any
    for key, rows in alike.items():
        functional = functionals[rows[0]]
        tables = np.array([counts[k] for k in rows], dtype=float)
        kind, found = as_ratio(functional, tables) or (Paths, functional)
        alone = key if isinstance(functional, Poststratified) else None
        alike_too = batches.setdefault((kind, alone, tables.shape[1]), [])
        alike_too.append((found, rows, tables))
    for (kind, alone, cells), parts in batches.items():
        found, members, each = zip(*parts, strict=True)
        positions, tables = list(chain(*members)), np.concatenate(each)
        which = np.repeat(np.arange(len(found)), [*map(len, members)])
        numbers = POINTS * cells
        if kind is Paths:
            n_tables = cells + 1 if alone is None else int(found[0].occurs.sum())
            numbers = 2 * len(LEVELS) * n_tables * cells
        size = max(1, _BATCH_SIZE // numbers)
        for first in range(0, len(positions), size):
            batch = slice(first, first + size)
            samples, part = Samples(tables[batch], statistic), positions[batch]
            yield part, kind(samples, bounds[part], found, which[batch])


def _key(functional: Functional) -> object:
    """Return the functional if it is hashable, its identity otherwise."""
    try:
        hash(functional)
    except TypeError:
        return id(functional)
    return functional
