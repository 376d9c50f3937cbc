r"""Score intervals of smooth functionals of a multinomial.

The statistic S compares observed proportions p_hat of n observations in m cells with
their maximum likelihood estimate p subject to ``g(p) = M``. The limits are the first
values M, outward from the estimate, at which ``S = crit**2``.

The constrained estimates of Tversky's ratios (`closed_form`) and of means of bounded
values (`bounded_mean`) have a closed form. Those of other functionals lie on a path
that Newton's method computes (`path`) and that is searched for the limits
(`path_solver`).

References
----------
Wilson (1927), JASA 22, 209-212: limits of a proportion with Pearson's statistic.

Tango (1998), Statistics in Medicine 17, 891-908: those of a difference of paired
proportions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.bounded_mean import (
    mean_limits,
    mean_roots,
    values_of_mean,
)
from skci.inference.intervals.closed_form import as_tversky, tversky_limits
from skci.inference.intervals.crossing import POINTS
from skci.inference.intervals.path_solver import LEVELS, path_limits, path_roots
from skci.inference.intervals.problem import Problem
from skci.inference.intervals.statistic import Samples, Statistic, improved, smooth
from skci.measures.functional import Functional
from skci.measures.poststratified import Poststratified

_BATCH_SIZE = 2**18  # numbers in the largest array of a batch, to bound the memory


def score_limits(
    functionals: Sequence[Functional],
    counts: Array,
    crit: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> tuple[Array, Array]:
    """Lower and upper limits of J functionals of multinomials, of shape (J,).

    Counts, of shape (J, m), are of all possible cells, empty ones included. The
    statistic is `improved` or `pearson`, and `crit` the critical values of its square
    root. Equal functionals are evaluated together if they are hashable.

    A limit is the boundary of the range where the estimate lies on it, and where the
    statistic does not reach ``crit**2``. A functional that is undefined at the counts
    has its whole range.
    """
    counts, crit, bounds = (np.asarray(a, dtype=float) for a in (counts, crit, bounds))
    limits = bounds.copy()
    distinct, which = _distinct(functionals)
    ratios: Any = [
        as_tversky(functional, smooth(counts[which == k]))
        for k, functional in enumerate(distinct)
    ]
    closed = np.array([ratio is not None for ratio in ratios], dtype=bool)[which]
    means, is_mean = _means(distinct, which)
    cells = counts.shape[-1]
    with np.errstate(all="ignore"):
        for k in _batches(which, is_mean, POINTS * cells):
            samples = Samples(counts[k], statistic)
            limits[k] = mean_limits(
                samples, _stack(means, which[k]), crit[k], bounds[k]
            )
        for k in _batches(which, closed, _path_size(cells)):
            samples = Samples(counts[k], statistic)
            coefficients = np.stack([ratios[j] for j in which[k]])
            limits[k] = tversky_limits(samples, coefficients, crit[k], bounds[k])
        for k in _path_batches(distinct, which, ~(closed | is_mean), cells):
            samples = Samples(counts[k], statistic)
            problem = Problem(samples, distinct, which[k], bounds[k])
            limits[k] = path_limits(problem, crit[k])
    limits = np.clip(limits, bounds[:, :1], bounds[:, 1:])
    return limits[:, 0], limits[:, 1]


def score_roots(
    functionals: Sequence[Functional],
    counts: Array,
    nulls: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> Array:
    """Signed roots of the score statistics of J functionals at null values.

    Nulls lie in the interior of the ranges; other parameters are those of
    `score_limits`. A root is positive where the estimate exceeds the null, and NaN
    where no maximum of the likelihood under the null was found.
    """
    counts, nulls, bounds = (
        np.asarray(a, dtype=float) for a in (counts, nulls, bounds)
    )
    roots = np.empty(len(nulls))
    distinct, which = _distinct(functionals)
    means, is_mean = _means(distinct, which)
    cells = counts.shape[-1]
    with np.errstate(all="ignore"):
        for k in _batches(which, is_mean, POINTS * cells):
            samples = Samples(counts[k], statistic)
            roots[k] = mean_roots(samples, _stack(means, which[k]), nulls[k])
        for k in _path_batches(distinct, which, ~is_mean, cells):
            samples = Samples(counts[k], statistic)
            problem = Problem(samples, distinct, which[k], bounds[k])
            roots[k] = path_roots(problem, nulls[k])
    return roots


def _distinct(functionals: Sequence[Functional]) -> tuple[list[Functional], Array]:
    """Distinct functionals, and the index of each functional among them."""
    keys = [_key(functional) for functional in functionals]
    distinct = dict(zip(keys, functionals, strict=True))
    index = {key: k for k, key in enumerate(distinct)}
    return list(distinct.values()), np.array([index[key] for key in keys], dtype=int)


def _key(functional: Functional) -> object:
    """Return the functional if it is hashable, its identity otherwise."""
    try:
        hash(functional)
    except TypeError:
        return id(functional)
    return functional


def _means(
    functionals: Sequence[Functional], which: Array
) -> tuple[list[Array | None], Array]:
    """Values that functionals are means of, and which samples have such."""
    values = [values_of_mean(functional) for functional in functionals]
    is_mean = np.array([each is not None for each in values], dtype=bool)
    return values, is_mean[which]


def _stack(values: Sequence[Any], which: Array) -> Array:
    return np.stack([values[k] for k in which])


def _path_size(cells: int) -> int:
    """Numbers in the Jacobians of a sample."""
    return 2 * len(LEVELS) * (cells + 1) * cells


def _path_batches(
    functionals: Sequence[Functional], which: Array, selected: Array, cells: int
) -> Iterator[Array]:
    """Batches of which each has one mixture of strata, or other functionals."""
    mixed = np.array([isinstance(g, Poststratified) for g in functionals])
    yield from _batches(which, selected & ~mixed[which], _path_size(cells))
    for k, functional in enumerate(functionals):
        if isinstance(functional, Poststratified):
            size = 2 * len(LEVELS) * int(functional.occurs.sum()) * cells
            yield from _batches(which, selected & (which == k), size)


def _batches(which: Array, selected: Array, size_of_sample: int) -> list[Array]:
    """Split selected samples into batches, sorted by functional."""
    rows = np.flatnonzero(selected)
    rows = rows[np.argsort(which[rows], kind="stable")]
    size = max(1, _BATCH_SIZE // size_of_sample)
    return [rows[first : first + size] for first in range(0, len(rows), size)]
