"""The score interval of a smooth functional of a multinomial.

Let c be counts of n rows in m cells, ``p_hat = c / n``, g a functional of the cell
probabilities and L(p) its influence values, so that ``sum p L = 0``. A value M is
accepted when the statistic S is at most ``crit**2``, where S compares p_hat with the
maximum of the likelihood among the p with ``g(p) = M``. The limits are the first
values, going outward from the estimate, at which S reaches ``crit**2``.

For most ratios the constrained maxima have a closed form (`_tversky`). For any other
functional they are points of a curve that Newton's method finds (`_curve`), along
which two roads lead to the limit (`_roads`).

References
----------
Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
inference. JASA 22, 209-212. The limits of a proportion when S is Pearson's statistic.

Agresti, A. and Coull, B. A. (1998). Approximate is better than "exact" for interval
estimation of binomial proportions. The American Statistician 52, 119-126.

Tango, T. (1998). Equivalence test and confidence interval for the difference in
proportions for the paired-sample design. Statistics in Medicine 17, 891-908. The
limits of a difference of paired proportions when S is Pearson's statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._typing import Array
from skci.inference.intervals.closed_form import as_tversky, tversky_limits
from skci.inference.intervals.path_solver import LANDINGS, road_limits, road_roots
from skci.inference.intervals.statistic import Samples, Statistic, improved, pearson
from skci.measures.functional import Functional

__all__ = ["improved", "pearson", "score_limits", "score_roots"]


_WEIGHTS = 2**18  # weights in a batch, which bounds the memory in use


def score_limits(
    functionals: Sequence[Functional],
    counts: Array,
    crit: Array,
    bounds: Array,
    *,
    statistic: Statistic = improved,
) -> tuple[Array, Array]:
    """Limits of the score intervals of J functionals of multinomials.

    Parameters
    ----------
    functionals : sequence of J callables
        Each gives value and influence values at positive weights p of shape (..., m).
        Equal ones are evaluated together, if they can be hashed. One that has an
        attribute ``ratio``, its coefficients as a ratio of linear forms, may be
        served by a closed form.
    counts : array of shape (J, m)
        Rows in each cell; every cell counts, those without rows as well.
    crit : array of shape (J,)
        Critical values of the root of the statistic.
    bounds : array of shape (J, 2)
        Range of each functional.
    statistic : callable, default=improved
        ``statistic(p_hat, p, influence, n)``: `improved` or `pearson`.

    Returns
    -------
    low, high : arrays of shape (J,)
        A limit is the end of the range where the estimate is at that end, and where
        the statistic does not reach ``crit**2`` on the way there. A functional that
        is undefined at the counts has its whole range.
    """
    counts, crit = np.asarray(counts, dtype=float), np.asarray(crit, dtype=float)
    bounds = np.array(bounds, dtype=float)
    limits = bounds.copy()
    distinct, which = _distinct(functionals)
    ratios = [as_tversky(functional) for functional in distinct]
    closed = np.array([ratio is not None for ratio in ratios], dtype=bool)[which]
    roads: Any = ((tversky_limits, ratios, closed), (road_limits, distinct, ~closed))
    with np.errstate(all="ignore"):
        for solve, members, mine in roads:
            for part in _batches(which, mine, counts.shape[-1]):
                samples = Samples(counts[part], statistic)
                limits[part] = solve(
                    samples, members, which[part], crit[part], bounds[part]
                )
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

    Parameters
    ----------
    functionals, counts, bounds, statistic
        See `score_limits`.
    nulls : array of shape (J,)
        Values inside of the ranges.

    Returns
    -------
    array of shape (J,)
        Positive where the estimate is above the null, NaN where no maximum of the
        likelihood under the null was found.
    """
    counts, nulls = np.asarray(counts, dtype=float), np.asarray(nulls, dtype=float)
    bounds = np.array(bounds, dtype=float)
    roots = np.empty(len(nulls))
    distinct, which = _distinct(functionals)
    with np.errstate(all="ignore"):
        for part in _batches(which, np.full(len(nulls), True), counts.shape[-1]):
            samples = Samples(counts[part], statistic)
            roots[part] = road_roots(
                samples, distinct, which[part], nulls[part], bounds[part]
            )
    return roots


def _distinct(functionals: Sequence[Functional]) -> tuple[list[Functional], Array]:
    """Distinct functionals, and which of them each one is."""
    keys = [_key(functional) for functional in functionals]
    distinct = dict(zip(keys, functionals, strict=True))
    position = {key: k for k, key in enumerate(distinct)}
    return list(distinct.values()), np.array([position[key] for key in keys], dtype=int)


def _key(functional: Functional) -> object:
    """Return what functionals that are evaluated together have in common."""
    try:
        hash(functional)
    except TypeError:
        return id(functional)
    return functional


def _batches(which: Array, mine: Array, cells: int) -> list[Array]:
    """Split rows into batches, in which equal functionals are neighbours."""
    rows = np.flatnonzero(mine)
    rows = rows[np.argsort(which[rows], kind="stable")]
    size = max(1, _WEIGHTS // (2 * len(LANDINGS) * (cells + 1) * cells))
    return [rows[first : first + size] for first in range(0, len(rows), size)]
