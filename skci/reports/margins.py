"""What differences show beside a margin, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skci._arrays import Array
from skci._validation import join_names
from skci.inference.margins import strongest_finding

_WORDS = {
    "better by more": ("is better than", " by more than {:g}"),
    "better by less": ("is better than", ", by less than {:g}"),
    "better": ("is better than", ""),
    "not worse": ("is not worse than", " by more than {:g}"),
    "equivalent": ("is equivalent to", " within {:g}"),
}
"""Verb of a relation, and its extent by the margin."""


def verdict_of(low: float, high: float, margin: float) -> str:
    """Say what the interval of a difference shows of both; without a margin it is NaN.

    One of "first is better", "second is better" and "open"; with a margin also
    "equivalent", "first is not worse" and "second is not worse". Greater is better.
    """
    finding = strongest_finding(low, high, margin)
    if finding is None:
        return "open"
    relation = finding.relation.removesuffix(" by more").removesuffix(" by less")
    if relation == "equivalent":
        return relation
    return f"{'first' if finding.first_is_better else 'second'} is {relation}"


def margin_sentences(
    panel: str,
    margin: float,
    pairs: Sequence[tuple[str, str]],
    intervals: Array,
    sign: int,
    kind: str = "rule",
) -> list[str]:
    """Say what the differences of pairs of rules show beside a margin on a metric."""
    others: dict[tuple[str, str], list[str]] = {}
    for (first, second), limits in zip(pairs, intervals, strict=True):
        low, high = np.sort(sign * limits).tolist()
        finding = strongest_finding(low, high, margin)
        if finding is not None:
            names = (first, second) if finding.first_is_better else (second, first)
            others.setdefault((names[0], finding.relation), []).append(names[1])
    found = []
    for (rule, relation), worse in others.items():
        verb, extent = _WORDS[relation]
        extent = extent.format(margin)
        found.append(f"On {panel}, {rule} {verb} {join_names(worse)}{extent}.")
    return found or [
        f"On {panel}, no {kind} is shown not to be worse than another by more than "
        f"{margin:g}."
    ]


def margins_in_words(margins: Mapping[str, float]) -> str:
    """Write margins as one if they are the same."""
    if len(set(margins.values())) == 1:
        return f"margin {next(iter(margins.values())):g}"
    each = [f"{value:g} of {metric}" for metric, value in margins.items()]
    return f"margins {join_names(each)}"
