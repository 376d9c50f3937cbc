"""Multiple comparisons with the best, ranks, and compact letter displays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci.inference.contrasts import contrast_estimate, pairwise_contrasts
from skci.inference.critical.law import step_down_directions
from skci.inference.joint import JointEstimate
from skci.inference.pvalues import signed_statistics

_NO_VARIANCE = 1e-12  # share of the variances of two estimates that is rounding


def best_first(joint: JointEstimate, positions: Sequence[int]) -> list[int]:
    """Sort parameters of one metric from the best estimate to the worst."""
    sign = joint.parameters[positions[0]].trait.sign
    order = np.argsort(-sign * joint.estimates[list(positions)], kind="stable")
    return [positions[k] for k in order]


def intervals_to_best(
    joint: JointEstimate, positions: Sequence[int]
) -> tuple[Array, JointEstimate]:
    """Intervals of how much better each rule is than the best of the others, (R, 2).

    See `compare_with_best`; cut off at the range of a difference. Also the differences
    of all pairs that they follow from.
    """
    trait = joint.parameters[positions[0]].trait
    differences = contrast_estimate(
        joint,
        [
            (key, {k: trait.sign * weight for k, weight in weights.items()})
            for key, weights in pairwise_contrasts(joint, positions)
        ],
    )
    lowest, highest = trait.bounds
    limits = np.stack(compare_with_best(len(positions), differences), axis=1)
    return np.clip(limits, lowest - highest, highest - lowest), differences


def compare_with_best(size: int, compared: JointEstimate) -> tuple[Array, Array]:
    r"""Compare each of R rules, greater being better, with the best of the others.

    Multiple comparisons with the best for any covariance [1]_, [2]_:

    .. math:: D_j^+ = \Big(\min_{i \ne j} U_{ji}\Big)^+, \qquad
        D_j^- = \min_{i \ne j:\, D_i^+ > 0} -U_{ij}

    with :math:`U_{ji}` the upper limit of :math:`\theta_j - \theta_i` at the one-sided
    joint critical value of the differences of rule j, by their own interval method, and
    :math:`D_j^- = 0` for the only rule with :math:`D_j^+ > 0`.

    The differences are of all pairs. Limits, of shape (R,), are infinite for a rule
    without a usable difference.

    References
    ----------
    .. [1] Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    .. [2] Hsu (1996), Multiple Comparisons, section 4.2.
    """
    correlation = compared.correlation
    upper = np.full((size, size), np.inf)
    indices = list(itertools.combinations(range(size), 2))
    for j in range(size):
        chosen = [k for k, pair in enumerate(indices) if j in pair]
        chosen = [k for k in chosen if compared.usable[k]]
        if not chosen:
            continue
        signs = np.array([1 if indices[k][0] == j else -1 for k in chosen])
        signed = correlation[np.ix_(chosen, chosen)] * np.outer(signs, signs)
        law = compared.law_of(signed, compared.common_df, "less")
        q: float = law.quantile(compared.confidence_level)
        if compared.common_df is not None:
            q = float(compared.to_normal_quantile(q, chosen[0]))
        limits = compared.limits_at_normal_quantile(np.array(chosen), q, q)
        others = [sum(indices[k]) - j for k in chosen]
        upper[j, others] = np.where(signs > 0, limits[:, 1], -limits[:, 0])
    high = np.maximum(upper.min(axis=1), 0.0)
    rivals = (high > 0) & ~np.eye(size, dtype=bool)
    low = np.where(rivals, -upper.T, 0.0).min(axis=1)
    return low, high


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
    r"""Confidence intervals of the ranks of R rules on each of some panels, (R, 2).

    The rank is 1 plus the number of better rules. By step-down tests of all ordered
    pairs of all panels [1]_,

    .. math:: 1 + \#\{i: i \text{ is shown to be better}\} \le r_j \le
        R - \#\{i: i \text{ is shown to be worse}\}

    with the confidence level for all rules at once; individual intervals, with it for
    each, rest on the pairs of one rule. Panels hold positions of parameters.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91,
       476-518.
    """
    if joint.horizon is not None:
        raise ValueError("ranks need a report without a horizon")
    pairs = _ordered_pairs(joint, panels)
    size = len(joint.parameters)
    if joint.simultaneous:
        n_better, n_worse = pairs.counts(joint, size)
    else:
        n_better, n_worse = np.zeros((2, size), dtype=int)
        for k in itertools.chain(*panels):
            counts = pairs.of(k).counts(joint, size)
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
    loadings: Array
    """Factor of the covariance of the differences, better less worse."""

    def of(self, k: int) -> _OrderedPairs:
        """Pairs with one of the parameters."""
        rows = (self.better == k) | (self.worse == k)
        return _OrderedPairs(*(each[rows] for each in self))

    def counts(self, joint: JointEstimate, size: int) -> Array:
        """How many are shown to be better, and worse, than each parameter, (2, P)."""
        if not len(self.df):
            return np.zeros((2, size), dtype=int)
        df = joint.common_df
        statistics = self.statistics
        if df is None:  # each is taken to a normal quantile
            statistics = np.asarray(stats.norm.isf(stats.t.sf(statistics, self.df)))
        pvalues = step_down_directions(
            statistics, self.loadings, df or np.inf, joint.random_state
        )
        shown = pvalues < 1 - joint.confidence_level
        return np.array([np.bincount(k[shown], minlength=size) for k in self[1::-1]])


def _ordered_pairs(
    joint: JointEstimate, panels: Sequence[Sequence[int]]
) -> _OrderedPairs:
    """Compare all parameters of each panel, those of one with the others at a time."""
    values, vectors = np.linalg.eigh(np.nan_to_num(joint.covariance))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    variances = (factor**2).sum(axis=1)
    blocks = []
    for positions in map(list, panels):
        sign = joint.parameters[positions[0]].trait.sign
        for row in range(1, len(positions)):
            second, first = positions[row], np.array(positions[:row])
            name = joint.parameters[second].key.level("rule")
            contrasts = pairwise_contrasts(joint, [*positions[: row + 1]], control=name)
            compared = contrast_estimate(joint, contrasts)
            statistics = sign * signed_statistics(compared)
            loadings = factor[first] - factor[second]
            noise = _NO_VARIANCE * (variances[first] + variances[second])
            known = compared.usable & ((loadings**2).sum(axis=1) > noise)
            is_better = statistics > 0
            columns = _OrderedPairs(
                np.where(is_better, first, second),
                np.where(is_better, second, first),
                np.abs(statistics),
                compared.degrees_of_freedom,
                np.where(is_better, 1, -1)[:, np.newaxis] * loadings,
            )
            blocks.append([column[known] for column in columns])
    return _OrderedPairs(*map(np.concatenate, zip(*blocks, strict=True)))


def compact_letters(differ: Array) -> list[str]:
    """Letters such that two of R rows share one exactly if they do not differ.

    Which differ is a symmetric matrix; the first row has an "a". The insert-and-absorb
    algorithm of Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    size = len(differ)
    groups = [frozenset(range(size))]
    for i, j in np.argwhere(np.triu(differ, 1)).tolist():
        split = []
        for group in groups:
            both = {i, j} <= group
            split += [group - {i}, group - {j}] if both else [group]
        distinct = list(dict.fromkeys(split))
        groups = [g for g in distinct if not any(g < other for other in distinct)]
    groups.sort(key=sorted)
    letters = [_letter(k) for k in range(len(groups))]
    return [
        "".join(
            letter for letter, group in zip(letters, groups, strict=True) if i in group
        )
        for i in range(size)
    ]


def _letter(k: int) -> str:
    """Return one of a to z, then a1, b1, ..."""
    round_, letter = divmod(k, 26)
    return chr(ord("a") + letter) + (str(round_) if round_ else "")
