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
    with np.errstate(all="ignore"):
        for k, form, coefficients in _batches(functionals, counts):
            samples = Samples(counts[k], statistic)
            if form == "mean":
                limits[k] = mean_limits(samples, coefficients, crit[k], bounds[k])
            elif form == "ratio":
                limits[k] = tversky_limits(samples, coefficients, crit[k], bounds[k])
            else:
                distinct, which = coefficients
                problem = Problem(samples, distinct, which, bounds[k])
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
    where no maximum of the likelihood under the null was found, and of a mean where a
    value nearer to the estimate has a greater one.
    """
    counts, nulls, bounds = (
        np.asarray(a, dtype=float) for a in (counts, nulls, bounds)
    )
    roots = np.empty(len(nulls))
    with np.errstate(all="ignore"):
        for k, form, coefficients in _batches(functionals, counts, ratios=False):
            samples = Samples(counts[k], statistic)
            if form == "mean":
                roots[k] = mean_roots(samples, coefficients, nulls[k])
            else:
                distinct, which = coefficients
                problem = Problem(samples, distinct, which, bounds[k])
                roots[k] = path_roots(problem, nulls[k])
    return roots


def _batches(
    functionals: Sequence[Functional], counts: Array, ratios: bool = True
) -> Iterator[tuple[Array, Any, Any]]:
    """Samples that are solved at once, of functionals of one form, and what these are.

    Of means (J, m) the values and of ratios (J, 3, m) the coefficients; of others the
    distinct functionals, and which of them each sample has. Each mixture of strata is a
    form for itself.
    """
    keys = [_key(functional) for functional in functionals]
    distinct = dict(zip(keys, functionals, strict=True))
    samples: dict[object, list[int]] = {key: [] for key in distinct}
    for row, key in enumerate(keys):
        samples[key].append(row)
    cells = counts.shape[-1]
    path_size = 2 * len(LEVELS) * (cells + 1) * cells
    batches: dict[Any, list[tuple[Any, list[int]]]] = {}
    sizes: dict[Any, int] = {"mean": POINTS * cells}
    for key, functional in distinct.items():
        rows = samples[key]
        form: Any = "path"
        found: Any = functional
        if (values := values_of_mean(functional)) is not None:
            form, found = "mean", values
        elif ratios and (
            (ratio := as_tversky(functional, smooth(counts[rows]))) is not None
        ):
            form, found = "ratio", ratio
        elif isinstance(functional, Poststratified):
            form = key
            sizes[form] = 2 * len(LEVELS) * int(functional.occurs.sum()) * cells
        batches.setdefault(form, []).append((found, rows))
    for form, parts in batches.items():
        positions = np.concatenate([rows for _, rows in parts])
        which = np.repeat(np.arange(len(parts)), [len(rows) for _, rows in parts])
        found = [each for each, _ in parts]
        size = max(1, _BATCH_SIZE // sizes.get(form, path_size))
        for first in range(0, len(positions), size):
            of_batch = which[first : first + size]
            coefficients: Any = found, of_batch
            if form in ("mean", "ratio"):
                coefficients = np.stack([found[j] for j in of_batch])
            yield positions[first : first + size], form, coefficients


def _key(functional: Functional) -> object:
    """Return the functional if it is hashable, its identity otherwise."""
    try:
        hash(functional)
    except TypeError:
        return id(functional)
    return functional
