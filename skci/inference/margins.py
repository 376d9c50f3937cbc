"""Margins of differences: p-values, regions and claims of their intervals."""

from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_positive_number
from skci.inference.joint import JointEstimate
from skci.inference.planning import Region, by_metric
from skci.inference.pvalues import pvalues

CLAIMS = ("not worse", "better", "equivalent")
"""What a difference can be shown to be beside a margin."""


def check_margin(margin: Any, joint: JointEstimate) -> dict[str, float]:
    """Check margins of differences, one for all or by metric."""
    margins = {}
    for k, value in by_metric(joint, margin, "margin").items():
        most = joint.parameters[k].trait.bounds[1]
        if check_positive_number(value, "margin") >= most:
            raise ValueError(f"margin must be less than {most:g}, got {value!r}")
        margins[joint.parameters[k].key.title] = float(value)
    return margins


class MarginPvalues(NamedTuple):
    """P-values of what C differences are shown to be, beside margins m > 0, (C,).

    With d how much better the first is than the second, of d > -m, of d > m, and of
    both d > -m and d < m.
    """

    not_worse: Array
    better: Array
    equivalent: Array


def margin_pvalues(joint: JointEstimate, margins: Array) -> MarginPvalues:
    """Test differences against margins, shape (C,); NaN where there is none.

    Each is below alpha exactly where the interval is on that side of the margin, or
    within both: the p-values are two-sided and, of one difference, twice those of two
    one-sided tests (Schuirmann, 1987).
    """
    known = np.nan_to_num(margins)
    signs = np.array([parameter.trait.sign for parameter in joint.parameters])
    gains = signs * joint.estimates
    at_loss, at_gain = (pvalues(joint, side * signs * known) for side in (-1, 1))
    not_worse = np.where(gains > -known, at_loss, 1.0)
    found = MarginPvalues(
        not_worse=not_worse,
        better=np.where(gains > known, at_gain, 1.0),
        equivalent=np.maximum(not_worse, np.where(gains < known, at_gain, 1.0)),
    )
    return MarginPvalues(*(np.where(np.isnan(margins), np.nan, p) for p in found))


def region_of(claim: str, margins: Array, joint: JointEstimate) -> Region:
    """Where the intervals of differences lie that show a claim."""
    check_choice(claim, CLAIMS, "claim")
    low = margins if claim == "better" else -margins
    high = margins if claim == "equivalent" else np.where(margins > 0, np.inf, np.nan)
    greater = np.array([p.trait.greater_is_better for p in joint.parameters])
    return Region(np.where(greater, low, -high), np.where(greater, high, -low))


class Finding(NamedTuple):
    """The most that the interval of a difference shows beside a margin.

    The relation of the better to the other is "better by more" than the margin,
    "better by less", "better", "not worse" or "equivalent".
    """

    first_is_better: bool
    relation: str


def strongest_finding(low: float, high: float, margin: float) -> Finding | None:
    """Find the most that an interval shows, greater being better; None if nothing."""
    first_is_better = not low + high < 0
    if not first_is_better:
        low, high = -high, -low
    if low > margin:
        return Finding(first_is_better, "better by more")
    if low > 0:
        by_less = " by less" if high < margin else ""
        return Finding(first_is_better, f"better{by_less}")
    if low > -margin and high < margin:
        return Finding(True, "equivalent")
    return Finding(first_is_better, "not worse") if low > -margin else None
