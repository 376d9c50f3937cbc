"""What intervals show of models, also beside a margin, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from skci._arrays import Array
from skci._validation import join_names

_PREDICATES = {
    "better by more": "is better than {} by more than {:g}",
    "better by less": "is better than {}, by less than {:g}",
    "better": "is better than {}",
    "not worse": "is not worse than {} by more than {:g}",
    "equivalent": "is equivalent to {} within {:g}",
}
"""What the better of two is by a relation, with the names of others and the margin."""


class Finding(NamedTuple):
    """The most that the interval of a difference shows, perhaps beside a margin.

    The relation of the better to the other is "better by more" than the margin,
    "better by less", "better", "not worse" or "equivalent"; or it is "open".
    """

    first_is_better: bool
    relation: str

    @property
    def verdict(self) -> str:
        """What is shown of both.

        One of "first is better", "second is better" and "open"; with a margin also
        "equivalent", "first is not worse" and "second is not worse".
        """
        relation = self.relation.removesuffix(" by more").removesuffix(" by less")
        if relation in ("equivalent", "open"):
            return relation
        return f"{'first' if self.first_is_better else 'second'} is {relation}"


def strongest_findings(limits: Array, signs: Array, margins: Array) -> list[Finding]:
    """Find the most that intervals of C differences show.

    Limits are of shape (C, 2), signs 1 where greater is better and -1 elsewhere, and
    margins NaN where there is none.
    """
    low, high = np.sort(signs[:, np.newaxis] * limits, axis=1).T
    first = high >= -low
    low, high = np.where(first, low, -high), np.where(first, high, -low)
    shown = {
        "better by more": low > margins,
        "better by less": (low > 0) & (high < margins),
        "better": low > 0,
        "equivalent": (low > -margins) & (high < margins),
        "not worse": low > -margins,
    }
    relations = np.select([*shown.values()], [*shown], "open")
    first |= relations == "equivalent"
    return [*map(Finding, first.tolist(), relations.tolist())]


def sentences(
    panel: str,
    found: Iterable[tuple[str, str, str]],
    none: str,
    margin: float = np.nan,
) -> list[str]:
    """Say what is found on a metric of models, or subgroups, or that nothing is.

    Each finding is of a model, what it is, such as "is worse than {}", and of another.
    """
    others: dict[tuple[str, str], list[str]] = {}
    for name, predicate, other in found:
        others.setdefault((name, predicate), []).append(other)
    return [
        f"On {panel}, {name} {predicate.format(join_names(names), margin)}."
        for (name, predicate), names in others.items()
    ] or [f"On {panel}, {none}."]


def margin_sentences(
    panel: str,
    margin: float,
    pairs: Sequence[tuple[str, str]],
    findings: Sequence[Finding],
    kind: str = "model",
    worded: Callable[[str], str] = str,
) -> list[str]:
    """Say what the differences of pairs of models show beside a margin on a metric.

    See `Trait.worded` for a metric without a better.
    """
    found = []
    for (first, second), (first_is_better, relation) in zip(
        pairs, findings, strict=True
    ):
        if relation != "open":
            names = (first, second) if first_is_better else (second, first)
            found.append((names[0], worded(_PREDICATES[relation]), names[1]))
    none = worded(f"no {kind} is shown not to be worse than another by more than ")
    none += f"{margin:g}"
    return sentences(panel, found, none, margin)


def describe_margins(margins: Mapping[str, float]) -> str:
    """Write margins as one if they are the same."""
    if len(set(margins.values())) == 1:
        return f"margin {next(iter(margins.values())):g}"
    each = [f"{value:g} of {metric}" for metric, value in margins.items()]
    return f"margins {join_names(each)}"
