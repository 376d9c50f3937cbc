"""Which rules may be the best, and which are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skci._arrays import Array
from skci.inference.contrasts import contrast_estimate, pairs
from skci.inference.critical.law import critical_value
from skci.inference.joint import JointEstimate

__all__ = ["compact_letters", "compare_with_best", "pairwise_differences"]


def pairwise_differences(
    joint: JointEstimate, positions: Sequence[int]
) -> JointEstimate:
    """Estimate the differences of all pairs of rules on a metric, the better greater.

    Parameters
    ----------
    joint : JointEstimate
    positions : sequence of int
        Parameters of the same metric.
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
    return contrast_estimate(joint, contrasts)


def compare_with_best(size: int, compared: JointEstimate) -> tuple[Array, Array]:
    """Compare each of several rules, greater being better, with the best.

    Multiple comparisons with the best for any covariance (Edwards and Hsu, 1983; Hsu,
    1996, section 4.2), with limits of the differences by their own interval method.

    Parameters
    ----------
    size : int
        Number of rules R.
    compared : JointEstimate
        The differences of all pairs, the first less the second, as `pairs` lists them.

    Returns
    -------
    low, high : arrays of shape (R,)
        Limits of how far each is above the best of the others, cut off at 0: `high`
        is 0 for one that is not the best, `low` is 0 for the only one that may be.
        Of one without a usable difference nothing is known.
    """
    correlation = compared.correlation
    upper = np.full((size, size), np.inf)  # of the first less the second
    for j in range(size):
        mine = [
            (k, own[own[0] == j], own[0] == j)
            for k, own in enumerate(pairs(range(size)))
            if j in own and compared.usable[k]
        ]
        if not mine:
            continue
        chosen = [k for k, *_ in mine]
        signs = np.array([1 if first else -1 for *_, first in mine])
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
        for (_, other, first), (low, high) in zip(mine, limits, strict=True):
            upper[j, other] = high if first else -low
    # One of which nothing is known may be better or worse by any amount.
    np.fill_diagonal(upper, np.inf)
    high = np.maximum(upper.min(axis=1), 0.0)
    rivals = (high > 0) & ~np.eye(size, dtype=bool)
    low = np.where(rivals, -upper.T, 0.0).min(axis=1)
    return low, high


def compact_letters(differ: Array) -> list[str]:
    """Letters such that two share one exactly if they are not told apart.

    The insert-and-absorb algorithm of Piepho (2004).

    Parameters
    ----------
    differ : bool array of shape (R, R)
        Symmetric.

    Returns
    -------
    list of R str
        Letters in the order of the rows: the first row has an "a".
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
    """Name a group: a .. z, then a1, b1, ..."""
    round_, letter = divmod(k, 26)
    return chr(ord("a") + letter) + (str(round_) if round_ else "")
