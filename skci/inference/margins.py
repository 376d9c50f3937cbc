"""Margins of differences: p-values, regions and claims of their intervals."""

from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_positive_number
from skci.inference.joint import JointEstimate
from skci.inference.planning import Region, by_position
from skci.inference.pvalues import pvalues

CLAIMS = ("not worse", "better", "equivalent")
"""What a difference can be shown to be beside a margin."""


def check_margin(margin: Any, joint: JointEstimate) -> dict[str, float]:
    """Check margins of differences, one for all or by metric."""
    margins = {}
    for k, value in by_position(joint, margin, "margin").items():
        most = joint.parameters[k].trait.bounds[1]
        if check_positive_number(value, "margin") >= most:
            raise ValueError(f"margin must be less than {most:g}, got {value!r}")
        margins[joint.parameters[k].key.title] = float(value)
    return margins


def margin_pvalues(joint: JointEstimate, margins: Array) -> dict[str, Array]:
    """Test claims of C differences beside margins m > 0, (C,); NaN where there is none.

    By claim: with d how much better the first is than the second, the p-values of
    d > -m, of d > m, and of both d > -m and d < m. Each is below alpha exactly where
    the interval is on that side of the margin, or within both: the p-values are
    two-sided and, of one difference, twice those of two one-sided tests (Schuirmann,
    1987).
    """
    known = np.nan_to_num(margins)
    signs = np.array([parameter.trait.sign for parameter in joint.parameters])
    gains = signs * joint.estimates
    at_loss, at_gain = (pvalues(joint, side * signs * known) for side in (-1, 1))
    not_worse = np.where(gains > -known, at_loss, 1.0)
    better = np.where(gains > known, at_gain, 1.0)
    equivalent = np.maximum(not_worse, np.where(gains < known, at_gain, 1.0))
    found = zip(CLAIMS, (not_worse, better, equivalent), strict=True)
    return {claim: np.where(np.isnan(margins), np.nan, p) for claim, p in found}


def region_of(claim: str, margins: Array, joint: JointEstimate) -> Region:
    """Where the intervals of differences lie that show a claim."""
    check_choice(claim, CLAIMS, "claim")
    low = margins if claim == "better" else -margins
    high = margins if claim == "equivalent" else np.where(margins > 0, np.inf, np.nan)
    greater = np.array([p.trait.greater_is_better for p in joint.parameters])
    return Region(np.where(greater, low, -high), np.where(greater, high, -low))
