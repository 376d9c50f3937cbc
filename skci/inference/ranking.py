"""Multiple comparisons with the best, and compact letter displays."""

import itertools
from collections.abc import Sequence

import numpy as np

from skci._arrays import Array
from skci.inference.contrasts import contrast_estimate, pairwise_contrasts
from skci.inference.joint import JointEstimate


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
