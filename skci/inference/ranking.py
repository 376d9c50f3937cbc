"""Multiple comparisons with the best, and compact letter displays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skci._arrays import Array
from skci.inference.contrasts import contrast_estimate, pairs
from skci.inference.critical.law import critical_value
from skci.inference.joint import JointEstimate

__all__ = ["best_first", "compact_letters", "compare_with_best", "intervals_to_best"]


def best_first(joint: JointEstimate, positions: Sequence[int]) -> list[int]:
    """Sort parameters of one metric from the best estimate to the worst."""
    sign = joint.parameters[positions[0]].trait.sign
    order = np.argsort(-sign * joint.estimates[list(positions)], kind="stable")
    return [positions[k] for k in order]


def intervals_to_best(
    joint: JointEstimate, positions: Sequence[int]
) -> tuple[Array, JointEstimate]:
    """Intervals of how much better each rule is than the best of the others.

    Parameters
    ----------
    joint : JointEstimate
    positions : sequence of R int
        Parameters of one metric.

    Returns
    -------
    intervals : array of shape (R, 2)
        See :func:`compare_with_best`; cut off at the range of a difference.
    differences : JointEstimate
        Differences of all pairs that they follow from.
    """
    parameters = [joint.parameters[k] for k in positions]
    sign = parameters[0].trait.sign
    contrasts = [
        (
            replace(
                parameters[i].key,
                rule="",
                sample="",
                compared=(parameters[i].key.name, "-", parameters[j].key.name),
            ),
            {positions[i]: sign, positions[j]: -sign},
        )
        for i, j in pairs(positions)
    ]
    differences = contrast_estimate(joint, contrasts)
    lowest, highest = parameters[0].trait.bounds
    limits = np.stack(compare_with_best(len(positions), differences), axis=1)
    return np.clip(limits, lowest - highest, highest - lowest), differences


def compare_with_best(size: int, compared: JointEstimate) -> tuple[Array, Array]:
    r"""Compare each of several rules, greater being better, with the best.

    Multiple comparisons with the best for any covariance [1]_, [2]_:

    .. math:: D_j^+ = \Big(\min_{i \ne j} U_{ji}\Big)^+, \qquad
        D_j^- = \min_{i \ne j:\, D_i^+ > 0} -U_{ij}

    with :math:`U_{ji}` the upper limit of :math:`\theta_j - \theta_i` at the one-sided
    joint critical value of the differences of rule j, by their own interval method, and
    :math:`D_j^- = 0` for the only rule with :math:`D_j^+ > 0`.

    Parameters
    ----------
    size : int
        Number of rules R.
    compared : JointEstimate
        The differences of all pairs, the first less the second, as `pairs` lists them.

    Returns
    -------
    low, high : arrays of shape (R,)
        Limits of the difference to the best of the others, cut off at 0; infinite for
        a rule without a usable difference.

    References
    ----------
    .. [1] Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    .. [2] Hsu (1996), Multiple Comparisons, section 4.2.
    """
    correlation = compared.correlation
    upper = np.full((size, size), np.inf)
    indices = list(pairs(range(size)))
    for j in range(size):
        chosen = [k for k, pair in enumerate(indices) if j in pair]
        chosen = [k for k in chosen if compared.usable[k]]
        if not chosen:
            continue
        signs = np.array([1 if indices[k][0] == j else -1 for k in chosen])
        q: float = critical_value(
            correlation[np.ix_(chosen, chosen)] * np.outer(signs, signs),
            compared.confidence_level,
            df=compared.common_df,
            alternative="less",
            random_state=compared.random_state,
        )
        if compared.common_df is not None:
            q = compared.to_normal_quantile(q, chosen[0])
        limits = compared.limits_at_normal_quantile(
            np.array(chosen), float(q), float(q)
        )
        others = [sum(indices[k]) - j for k in chosen]
        upper[j, others] = np.where(signs > 0, limits[:, 1], -limits[:, 0])
    high = np.maximum(upper.min(axis=1), 0.0)
    rivals = (high > 0) & ~np.eye(size, dtype=bool)
    low = np.where(rivals, -upper.T, 0.0).min(axis=1)
    return low, high


def compact_letters(differ: Array) -> list[str]:
    """Letters such that two rows share one exactly if they do not differ.

    The insert-and-absorb algorithm [1]_.

    Parameters
    ----------
    differ : bool array of shape (R, R)
        Symmetric.

    Returns
    -------
    list of R str
        Letters in the order of the rows: the first row has an "a".

    References
    ----------
    .. [1] Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    size = len(differ)
    groups = [frozenset(range(size))]
    for i in range(size):
        for j in range(i + 1, size):
            if differ[i, j]:
                split = []
                for group in groups:
                    both = {i, j} <= group
                    split += [group - {i}, group - {j}] if both else [group]
                distinct = list(dict.fromkeys(split))
                groups = [
                    group
                    for group in distinct
                    if not any(group < other for other in distinct)
                ]
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
