"""Multiple comparisons with the best, ranks, and compact letter displays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci.inference.contrasts import comparison
from skci.inference.critical.correlation import (
    Loadings,
    covariance_factor,
    differences_of,
)
from skci.inference.critical.max_distribution import step_down_directions
from skci.inference.joint import JointEstimate
from skci.inference.linear_estimates import MOST_TABLES
from skci.inference.pvalues import signed_statistics

_NO_VARIANCE = 1e-12  # share of the variances of two estimates that is rounding
_LEAST_QUANTILE = 1e-6  # in standard errors, about that of the lowest two-sided level


def best_first(joint: JointEstimate, positions: Sequence[int]) -> list[int]:
    """Sort parameters of one metric from the best estimate to the worst."""
    sign = joint.parameters[positions[0]].trait.sign
    order = np.argsort(-sign * joint.estimates[list(positions)], kind="stable")
    return [positions[k] for k in order]


def intervals_to_best(
    joint: JointEstimate, positions: Sequence[int]
) -> tuple[Array, JointEstimate]:
    """Intervals of how much better each model is than the best of the others, (R, 2).

    See `compare_with_best`; cut off at the range of a difference. Also the differences
    that they follow from: of many models, not those between two that the one with the
    best estimate shows to be worse, however many comparisons are made.
    """
    trait = joint.parameters[positions[0]].trait
    size = len(positions)
    pairs = list(itertools.combinations(range(size), 2))
    if len(pairs) > MOST_TABLES:
        settled = _settled(joint, positions)
        pairs = [(i, j) for i, j in pairs if not (settled[i] and settled[j])]
    differences = _better_by(joint, positions, pairs)
    lowest, highest = trait.bounds
    limits = np.stack(compare_with_best(size, pairs, differences), axis=1)
    return np.clip(limits, lowest - highest, highest - lowest), differences


def _better_by(
    joint: JointEstimate, positions: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> JointEstimate:
    """Estimate how much better the first of each pair is than the second."""
    sign = joint.parameters[positions[0]].trait.sign
    contrasts = [
        comparison(joint, positions[i], positions[j], sign=sign) for i, j in pairs
    ]
    return joint.contrast(contrasts)


def _settled(joint: JointEstimate, positions: Sequence[int]) -> Array:
    """Which of R models are worse than the one with the best estimate, (R,).

    By Bonferroni's inequality, and so by any joint critical value of R - 1 comparisons.
    """
    size = len(positions)
    best = list(positions).index(best_first(joint, positions)[0])
    others = [k for k in range(size) if k != best]
    compared = _better_by(joint, positions, [(best, k) for k in others])
    settled = np.zeros(size, dtype=bool)
    settled[others] = _tails(compared) < (1 - joint.confidence_level) / (size - 1)
    return settled


def _tails(compared: JointEstimate) -> Array:
    """One-sided p-value of each difference by itself, of the first being better, (K,).

    They settle nothing with a horizon, of which there are several looks.
    """
    if compared.horizon is not None:
        return np.full(len(compared.parameters), 0.5)
    df = compared.common_df or compared.degrees_of_freedom
    return np.asarray(stats.t.sf(signed_statistics(compared), df))


def compare_with_best(
    size: int, pairs: Sequence[tuple[int, int]], compared: JointEstimate
) -> tuple[Array, Array]:
    r"""Compare each of R models, greater being better, with the best of the others.

    Multiple comparisons with the best for any covariance [1]_, [2]_:

    .. math:: D_j^+ = \Bigl(\min_{i \ne j} U_{ji}\Bigr)^+, \qquad
        D_j^- = \min_{i \ne j:\, D_i^+ > 0} -U_{ij}

    with :math:`U_{ji}` the upper limit of :math:`\theta_j - \theta_i` at the one-sided
    joint critical value of the differences of model j, by their own interval method,
    and :math:`D_j^- = 0` for the only model with :math:`D_j^+ > 0`.

    The differences are of the first and the second of each pair. Where a difference
    excludes 0 even by Bonferroni's inequality, :math:`D_j^+ = 0` without a critical
    value. Limits, of shape (R,), are infinite for a model without a usable difference.

    References
    ----------
    .. [1] Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    .. [2] Hsu (1996), Multiple Comparisons, section 4.2.
    """
    upper = np.full((size, size), np.inf)
    if len(pairs) and compared.usable.any():
        usable = np.flatnonzero(compared.usable)
        first, second = np.array(pairs)[usable].T
        quantiles = _one_sided_quantiles(size, first, second, usable, compared)
        sides = np.stack([quantiles[second], quantiles[first]], axis=1)
        limits = compared.limits_at_normal_quantile(usable, sides, compared.z)
        upper[second, first], upper[first, second] = limits.T * [[-1], [1]]
        upper[quantiles == np.inf] = -np.inf
    high = np.maximum(upper.min(axis=1), 0.0)
    rivals = (high > 0) & ~np.eye(size, dtype=bool)
    low = np.where(rivals, -upper.T, 0.0).min(axis=1)
    return low, high


def _one_sided_quantiles(
    size: int, first: Array, second: Array, usable: Array, compared: JointEstimate
) -> Array:
    """One-sided joint normal quantiles of the differences of each of R models, (R,).

    Of usable differences of the first and the second of each pair. Infinite for a model
    that is worse than another by Bonferroni's inequality, NaN for one without any. They
    are above 0, as quantiles of low confidence levels are not, so that no limit
    excludes its estimate.
    """
    quantiles = np.full(size, np.nan)
    tails = _tails(compared)[usable]
    alpha = min(1 - compared.confidence_level, 0.5)
    for j in range(size):
        chosen = np.flatnonzero((first == j) | (second == j))
        is_first = first[chosen] == j
        worse: Array = np.where(is_first, 1 - tails[chosen], tails[chosen])
        if not len(chosen):
            continue
        if worse.min() < alpha / len(chosen):
            quantiles[j] = np.inf
            continue
        maximum = compared.max_distribution_of(
            usable[chosen], np.where(is_first, 1, -1)
        )
        q: float = maximum.quantile(compared.confidence_level)
        if compared.common_df is not None:
            q = float(compared.to_normal_quantile(q, usable[chosen[0]]))
        quantiles[j] = max(q, _LEAST_QUANTILE)
    return quantiles


def estimated_ranks(joint: JointEstimate, positions: Sequence[int]) -> Array:
    """Ranks of the estimates of parameters sorted from the best to the worst, (R,).

    Equal estimates have equal ranks, and undefined ones NaN.
    """
    rows = list(positions)
    undefined = joint.is_undefined[rows]
    losses = -joint.parameters[rows[0]].trait.sign * joint.estimates[rows]
    found = 1.0 + np.searchsorted(losses[~undefined], losses, side="left")
    return np.where(undefined, np.nan, found)


def rank_intervals(
    joint: JointEstimate, panels: Sequence[Sequence[int]]
) -> list[Array]:
    r"""Confidence intervals of the ranks of R models on each of some panels, (R, 2).

    The rank is 1 plus the number of better models. By step-down tests of all ordered
    pairs of all panels [1]_,

    .. math:: 1 + \#\{i: i \text{ is shown to be better}\} \le r_j \le
        R - \#\{i: i \text{ is shown to be worse}\}

    with the confidence level for all models at once; individual intervals, with it for
    each, rest on the pairs of one model. Panels hold positions of parameters.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91,
       476-518.
    """
    if joint.horizon is not None:
        raise ValueError("ranks need a report without a horizon")
    factor = covariance_factor(np.nan_to_num(joint.covariance))
    pairs = _ordered_pairs(joint, panels, factor)
    if joint.simultaneous:
        n_better, n_worse = pairs.counts(joint, factor)
    else:
        n_better, n_worse = np.zeros((2, len(joint.parameters)), dtype=int)
        for k in itertools.chain(*panels):
            counts = pairs.of(k).counts(joint, factor)
            n_better[k], n_worse[k] = counts[:, k]
    return [
        np.stack([1 + n_better[rows], len(rows) - n_worse[rows]], axis=1)
        for rows in map(list, panels)
    ]


class _OrderedPairs(NamedTuple):
    """Pairs of parameters, and what tells them apart."""

    better: Array
    worse: Array
    statistics: Array
    """Critical values at which intervals of the differences reach 0."""
    df: Array

    def of(self, k: int) -> _OrderedPairs:
        """Pairs with one of the parameters."""
        rows = (self.better == k) | (self.worse == k)
        return _OrderedPairs(*(each[rows] for each in self))

    def counts(self, joint: JointEstimate, factor: Array) -> Array:
        """How many are shown to be better, and worse, than each parameter, (2, P)."""
        size = len(joint.parameters)
        if not len(self.df):
            return np.zeros((2, size), dtype=int)
        df = joint.common_df
        statistics = self.statistics
        if df is None:  # each is taken to a normal quantile
            statistics = np.asarray(stats.norm.isf(stats.t.sf(statistics, self.df)))
        loadings = _loadings(joint, factor, self.better, self.worse)
        pvalues = step_down_directions(
            statistics, loadings, df or np.inf, joint.random_state
        )
        shown = pvalues < 1 - joint.confidence_level
        return np.array([np.bincount(k[shown], minlength=size) for k in self[1::-1]])


def _ordered_pairs(
    joint: JointEstimate, panels: Sequence[Sequence[int]], factor: Array
) -> _OrderedPairs:
    """Compare all pairs of parameters of each panel."""
    variances = (factor**2).sum(axis=1)
    blocks = []
    for positions in map(list, panels):
        pairs = list(itertools.combinations(range(len(positions)), 2))
        if not pairs:
            continue
        compared = _better_by(joint, positions, pairs)
        first, second = np.array(positions)[np.transpose(pairs)]
        statistics = signed_statistics(compared)
        varying = ((factor[first] - factor[second]) ** 2).sum(axis=1)
        noise = _NO_VARIANCE * (variances[first] + variances[second])
        known = compared.usable & (varying > noise)
        is_better = statistics > 0
        columns = _OrderedPairs(
            np.where(is_better, first, second),
            np.where(is_better, second, first),
            np.abs(statistics),
            compared.degrees_of_freedom,
        )
        blocks.append([column[known] for column in columns])
    if not blocks:
        none = np.zeros(0, dtype=int)
        return _OrderedPairs(none, none, np.zeros(0), np.zeros(0))
    return _OrderedPairs(*map(np.concatenate, zip(*blocks, strict=True)))


def _loadings(
    joint: JointEstimate, factor: Array, better: Array, worse: Array
) -> Loadings:
    """Loadings of the differences of pairs, given those of the parameters.

    Differences by pair, of units that are others for each, have a covariance of theirs.
    """
    if not any(parameter.by_pair for parameter in joint.parameters):
        return differences_of(factor, better, worse)
    pairs = zip(better.tolist(), worse.tolist(), strict=True)
    contrasts = [
        comparison(joint, *pair, sign=joint.parameters[pair[0]].trait.sign)
        for pair in pairs
    ]
    return Loadings(covariance_factor(joint.contrast(contrasts).covariance))


def compact_letters(differ: Array) -> list[str]:
    """Letters such that two of R rows share one exactly if they do not differ.

    Which differ is a symmetric matrix; the first row has an "a". Each letter is of a
    largest possible group of rows of which no two differ, as by the insert-and-absorb
    algorithm of Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    alike = [frozenset(np.flatnonzero(~row).tolist()) for row in differ]
    groups = sorted(map(sorted, _maximal_cliques(alike)))
    letters: list[str] = [""] * len(alike)
    for place, group in enumerate(groups):
        for row in group:
            letters[row] += _letter(place)
    return letters


def _maximal_cliques(neighbours: Sequence[frozenset[int]]) -> Iterator[frozenset[int]]:
    """All maximal sets of vertices that are neighbours of one another.

    Each vertex is a neighbour of itself. The algorithm of Bron and Kerbosch (1973,
    Comm. ACM 16, 575-577) with pivots.
    """
    none: frozenset[int] = frozenset()
    stack = [(none, frozenset(range(len(neighbours))), none)]
    while stack:
        clique, candidates, excluded = stack.pop()
        if not candidates and not excluded:
            yield clique
        if not candidates:
            continue
        reach = {k: len(neighbours[k] & candidates) for k in candidates | excluded}
        pivot = max(reach, key=reach.__getitem__)
        for k in candidates - (neighbours[pivot] - {pivot}):
            others = neighbours[k] - {k}
            stack.append((clique | {k}, candidates & others, excluded & others))
            candidates, excluded = candidates - {k}, excluded | {k}


def _letter(k: int) -> str:
    """Return one of a to z, then a1, b1, ..."""
    round_, letter = divmod(k, 26)
    return chr(ord("a") + letter) + (str(round_) if round_ else "")
