"""What differences show beside a margin, in words and as regions of their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_positive_number, join_names
from skci.inference.joint import JointEstimate
from skci.inference.planning import Region, by_metric

CLAIMS = ("not worse", "better", "equivalent")
"""What a difference can be shown to be."""


def check_margin(margin: Any, joint: JointEstimate) -> dict[str, float]:
    """Check margins of differences, one for all or by metric."""
    margins = {}
    for k, value in by_metric(joint, margin, "margin").items():
        most = joint.parameters[k].trait.bounds[1]
        if check_positive_number(value, "margin") >= most:
            raise ValueError(f"margin must be less than {most:g}, got {value!r}")
        margins[joint.parameters[k].key.title] = float(value)
    return margins


def region_of(claim: str, margins: Array, joint: JointEstimate) -> Region:
    """Where the intervals of differences lie that show a claim."""
    check_choice(claim, CLAIMS, "claim")
    low = margins if claim == "better" else -margins
    high = margins if claim == "equivalent" else np.where(margins > 0, np.inf, np.nan)
    greater = np.array([p.trait.greater_is_better for p in joint.parameters])
    return Region(np.where(greater, low, -high), np.where(greater, high, -low))


class Claim(NamedTuple):
    """What an interval shows of how one rule compares with another."""

    first_is_better: bool
    relation: str
    extent: str = ""


def claim_of(low: float, high: float, margin: float) -> Claim | None:
    """Say the most that the interval of a difference shows; greater is better."""
    first = not low + high < 0
    if not first:
        low, high = -high, -low
    if low > margin:
        return Claim(first, "is better than", f" by more than {margin:g}")
    if low > 0:
        extent = f", by less than {margin:g}" if high < margin else ""
        return Claim(first, "is better than", extent)
    if low > -margin and high < margin:
        return Claim(True, "is equivalent to", f" within {margin:g}")
    if low > -margin:
        return Claim(first, "is not worse than", f" by more than {margin:g}")
    return None


def verdict_of(low: float, high: float, margin: float) -> str:
    """Say what the interval of a difference shows of both; without a margin it is NaN.

    One of "first is better", "second is better" and "open"; with a margin also
    "equivalent", "first is not worse" and "second is not worse". Greater is better.
    """
    claim = claim_of(low, high, margin)
    if claim is None:
        return "open"
    relation = claim.relation.removeprefix("is ").rsplit(maxsplit=1)[0]
    if relation == "equivalent":
        return relation
    return f"{'first' if claim.first_is_better else 'second'} is {relation}"


def margin_sentences(
    panel: str,
    margin: float,
    pairs: Sequence[tuple[str, str]],
    intervals: Array,
    sign: int,
) -> list[str]:
    """Say what the differences of pairs of rules show beside a margin on a metric."""
    others: dict[tuple[str, str, str], list[str]] = {}
    for (first, second), limits in zip(pairs, intervals, strict=True):
        low, high = np.sort(sign * limits)
        claim = claim_of(low, high, margin)
        if claim is not None:
            names = (first, second) if claim.first_is_better else (second, first)
            key = (names[0], claim.relation, claim.extent)
            others.setdefault(key, []).append(names[1])
    return [
        f"On {panel}, {rule} {relation} {join_names(names)}{extent}."
        for (rule, relation, extent), names in others.items()
    ] or [
        f"On {panel}, no rule is shown not to be worse than another by more than "
        f"{margin:g}."
    ]


def margins_in_words(margins: Mapping[str, float]) -> str:
    """Write margins as one if they are the same."""
    if len(set(margins.values())) == 1:
        return f"margin {next(iter(margins.values())):g}"
    each = [f"{value:g} of {metric}" for metric, value in margins.items()]
    return f"margins {join_names(each)}"
