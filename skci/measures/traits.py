"""Properties of measures that inference uses, and the scales of their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

from skci._arrays import Array

CELLS = ("tp", "fp", "fn", "tn")
"""The order of the cells everywhere. Read backwards it is the order of the
table with positive and negative exchanged."""

NEGATED = "neg_"
"""What names of negated measures begin with, as those of scikit-learn's scorers."""


@dataclass(frozen=True)
class Link:
    """A monotone scale on which a symmetric interval is formed."""

    forward: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    backward: Callable[[Any], Any]

    def negated(self) -> Link:
        """Return the same scale for values times -1, itself times -1."""
        return Link(
            partial(_odd, self.forward),
            partial(_even, self.slope),
            partial(_odd, self.backward),
        )


def _odd(function: Callable[[Any], Any], x: Any) -> Any:
    return -function(-x)


def _even(function: Callable[[Any], Any], x: Any) -> Any:
    return function(-x)


def _identity(x: Any) -> Any:
    return x


def _one(x: Any) -> Any:
    return 1.0


def _log_slope(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.reciprocal(x)


def _logit_slope(x: Any) -> Any:
    return _log_slope(x * (1 - x))


def _exp(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.exp(x)


def _square_slope(x: Any) -> Any:
    return 2 * x


def _root(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0))


def _dice(jaccard: Any) -> Any:
    return 2 * jaccard / (1 + jaccard)


def _dice_slope(jaccard: Any) -> Any:
    return 2 / (1 + jaccard) ** 2


def _jaccard(dice: Any) -> Any:
    dice = np.minimum(dice, 1.0)  # the range; beyond 2 the sign would change
    return dice / (2 - dice)


IDENTITY = Link(_identity, _one, _identity)
LOGIT = Link(logit, _logit_slope, expit)
LOG = Link(np.log, _log_slope, _exp)
SQUARE = Link(np.square, _square_slope, _root)
DICE = Link(_dice, _dice_slope, _jaccard)


@dataclass(frozen=True)
class Trait:
    """Properties of a measure that inference uses.

    Parameters
    ----------
    name, bounds, greater_is_better
        Its string name, its range, and whether a greater value is a better one.
    has_better : bool
        Whether a value is better than another at all, or only lower or higher.
    smooth : bool
        Whether it has a derivative everywhere in the range, and a table of possible
        outcomes.
    has_curvature : bool
        Whether second differences in the weights of rows estimate a derivative.
    heavy_tails : bool
        Whether influence values may have no variance, as those of squared errors. Those
        of labels and ranks are bounded, and those of probabilities grow slowly.
    scale : Link
        Scale of the delta and blurred intervals.
    plus_four : Link or None
        Scale of the plus-four interval; None where that interval is unreliable.
    blurs : bool
        Whether it is a function of the moments that blurring perturbs.
    proportion : (str, str) or None
        For a proportion of a count: the cells that are successes and the cells that are
        trials, as in ``("tp", "tp fp")`` for the precision.
    automatic : tuple of str
        Interval methods that "auto" stands for: the first that can serve, or "delta".
    automatic_of_contrasts : tuple of str
        Those that it stands for in differences and ratios, where they are others.
    is_scaled_area : bool
        Whether it is an area or a share but for a factor and an offset, so that its
        share of the range has a logit.
    scale_free : bool
        Whether counts give the same value as proportions. The estimate is then taken
        from counts, which are exact.
    chance : float or None
        Value of scores that are unrelated to the truth, where a value near the other
        end of the range is that of scores of the other label.
    undefined_by : str
        What makes it undefined.
    negative_of : Trait or None
        For a measure times -1, properties of the measure itself, whose intervals are
        negated.
    reach : (float, float) or None
        Range of the estimator, where it exceeds that of the measure. Limits are
        computed within it and reported within the bounds.
    reads : str
        What a user's function of the rows reads, which reports name.
    function : callable
        For a measure of labels, its formula ``g(tp, fp, fn, tn)``, safe for complex
        arrays.
    symmetric : bool
        Whether it does not change when positive and negative are exchanged, so that it
        has no ``pos_label``.
    """

    name: str
    _: KW_ONLY
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool = True
    has_better: bool = True
    smooth: bool = True
    has_curvature: bool = True
    heavy_tails: bool = False
    scale: Link = IDENTITY
    plus_four: Link | None = None
    blurs: bool = True
    proportion: tuple[str, str] | None = None
    automatic: tuple[str, ...] = ("score", "blurred")
    automatic_of_contrasts: tuple[str, ...] = ()
    is_scaled_area: bool = False
    scale_free: bool = True
    chance: float | None = None
    undefined_by: str = "a division of zero by zero"
    negative_of: Trait | None = None
    reach: tuple[float, float] | None = None
    reads: str = ""
    function: Any = None
    symmetric: bool = False

    @property
    def range_of_estimator(self) -> tuple[float, float]:
        """Range of the estimator, that of the measure if no other is known."""
        return self.bounds if self.reach is None else self.reach

    @property
    def sign(self) -> int:
        """1 where a greater value is a better one, else -1."""
        return 1 if self.greater_is_better else -1

    def worded(self, predicate: str) -> str:
        """Say "lower" and "higher" for "worse" and "better" if there is no better."""
        if self.has_better:
            return predicate
        worse, better = ("lower", "higher")[:: self.sign]
        return predicate.replace("worse", worse).replace("better", better)

    def of_classes(self, name: str) -> Trait:
        """Properties of the measure of several classes, alone or averaged."""
        return replace(self, name=name, plus_four=None, proportion=None)

    def negated(self) -> Trait:
        """Properties of the measure times -1."""
        low, high = self.bounds
        return replace(
            self,
            name=f"{NEGATED}{self.name}",
            bounds=(-high, -low),
            greater_is_better=not self.greater_is_better,
            scale=self.scale.negated(),
            chance=None,
            negative_of=self,
            reach=self.reach and (-self.reach[1], -self.reach[0]),
        )

    def successes_and_trials(self, cells: Array) -> tuple[float, float]:
        """Count the successes and the trials of a proportion."""
        if self.proportion is None:
            raise ValueError(f"{self.name} is not a proportion of a count")
        successes, trials = (
            float(sum(cells[CELLS.index(cell)] for cell in group.split()))
            for group in self.proportion
        )
        return successes, trials


EDGE = 1e-12
"""Estimates this near to the boundary of the range are on it."""

LOSS: dict[str, Any] = {"bounds": (0.0, np.inf), "greater_is_better": False}
SKILL: dict[str, Any] = {"bounds": (-np.inf, 1.0), "greater_is_better": True}
BY_INFLUENCE: dict[str, Any] = {"automatic": ("delta",)} | dict.fromkeys(
    ("smooth", "has_curvature", "blurs"), False
)
"""Properties of estimates whose influence values are known, but not their function."""
