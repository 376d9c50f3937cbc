"""Properties of measures for inference, and scales of intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

from skci._arrays import Array

CELLS = ("tp", "fp", "fn", "tn")
"""Order of the cells in all tables. The reversed order belongs to the table with
positive and negative exchanged."""

NEGATED = "neg_"
"""Prefix of the names of negated measures, as in scikit-learn's scorers."""


@dataclass(frozen=True)
class Link:
    """Monotone transformation to a scale on which intervals are symmetric."""

    forward: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    backward: Callable[[Any], Any]

    def negated(self) -> Link:
        """Return the link function for negated values, x -> -forward(-x)."""
        return Link(
            partial(_odd, self.forward),
            partial(_even, self.slope),
            partial(_odd, self.backward),
        )


def _odd(function: Callable[[Any], Any], x: Any) -> Any:
    return -function(-x)


def _even(function: Callable[[Any], Any], x: Any) -> Any:
    return function(-x)


def identity(x: Any) -> Any:
    """Return the argument."""
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
    dice = np.minimum(dice, 1.0)  # 1 is the maximum; beyond 2 the sign would change
    return dice / (2 - dice)


IDENTITY = Link(identity, _one, identity)
LOGIT = Link(logit, _logit_slope, expit)
LOG = Link(np.log, _log_slope, _exp)
SQUARE = Link(np.square, _square_slope, _root)
DICE = Link(_dice, _dice_slope, _jaccard)


@dataclass(frozen=True)
class MeasureProperties:
    """Properties of a measure that are relevant for inference.

    Parameters
    ----------
    name, bounds, greater_is_better
        Name and range of the measure, and whether higher values are better.
    has_better : bool
        Whether some values of the measure are better than other values. False for a
        neutral measure, such as a selection rate.
    smooth : bool
        Whether the measure is a differentiable function of the shares of possible
        outcomes, in the whole range of the measure.
    has_curvature : bool
        Whether the second derivative with respect to row weights can be estimated by
        second differences.
    heavy_tails : bool
        Whether influence values may have an infinite variance, as for squared errors.
        Influence values of label and ranking metrics are bounded, and influence values
        of log losses grow slowly.
    scale : Link
        Scale on which delta and blurred intervals are symmetric.
    plus_four : Link or None
        Scale on which the plus-four interval is symmetric. None if the plus-four
        interval is unreliable.
    blurs : bool
        Whether the "blurred" interval method supports the measure.
    proportion : (str, str) or None
        If the measure is a proportion of counts, the names of the counts that are
        successes, and the names of the counts that are trials. An example is ``("tp",
        "tp fp")`` for the precision.
    automatic : tuple of str
        Interval methods from which "auto" selects the first that is supported. If no
        method is supported, "auto" selects "delta".
    automatic_of_contrasts : tuple of str
        Interval methods from which "auto" selects a method for differences and ratios
        of models. Defaults to `automatic`.
    is_scaled_area : bool
        Whether the measure is a linear function of an area or a proportion. If so, it
        can be rescaled to values between 0 and 1, which have a logit.
    is_deviation : bool
        Whether the measure is a deviation from a nominal value, so that 0 is ideal.
    scale_free : bool
        Whether counts give the same value as proportions. The estimate is then computed
        from counts, which are exact.
    chance : float or None
        Value of the measure if scores are independent of the truth. If this value is
        set, a warning is raised for estimates near the worst bound, because scores may
        then refer to the wrong label.
    undefined_by : str
        Reason for an undefined value, for messages.
    zero_variance_by : str
        Reason for a variance that is zero or unknown, for messages.
    negative_of : MeasureProperties or None
        Properties of the original measure, if this measure is its negative. Intervals
        of the original measure are then negated.
    reach : (float, float) or None
        Range of the estimator, if it exceeds the range of the measure. Limits are
        computed within `reach`, then clipped to `bounds`.
    reads : str
        Kind of predictions that a user-defined function reads, such as "labels". The
        header of a report states this kind.
    function : callable
        Formula ``g(tp, fp, fn, tn)`` of a measure of labels, safe for complex arrays.
    symmetric : bool
        Whether the measure is unchanged if positive and negative are exchanged, so that
        it has no ``pos_label``.
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
    is_deviation: bool = False
    scale_free: bool = True
    chance: float | None = None
    undefined_by: str = "a division of zero by zero"
    zero_variance_by: str = "the estimated variance is zero"
    negative_of: MeasureProperties | None = None
    reach: tuple[float, float] | None = None
    reads: str = ""
    function: Any = None
    symmetric: bool = False

    @property
    def range_of_estimator(self) -> tuple[float, float]:
        """Range of the estimator, by default the range of the measure."""
        return self.bounds if self.reach is None else self.reach

    @property
    def sign(self) -> int:
        """1 if higher values are better, else -1."""
        return 1 if self.greater_is_better else -1

    def phrase(self, predicate: str) -> str:
        """Replace "worse" and "better" in a text if the measure is neutral.

        Higher values of a neutral measure are neither better nor worse. The
        replacements are "lower" and "higher".
        """
        if self.has_better:
            return predicate
        worse, better = ("lower", "higher")[:: self.sign]
        return predicate.replace("worse", worse).replace("better", better)

    def of_classes(self, name: str) -> MeasureProperties:
        """Return properties for single classes, or for an average over classes."""
        return replace(self, name=name, plus_four=None, proportion=None)

    def negated(self) -> MeasureProperties:
        """Return the properties of the measure multiplied by -1."""
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
            raise ValueError(
                f"{self.name} must be a proportion, because other metrics do not have "
                "successes and trials"
            )
        successes, trials = (
            float(sum(cells[CELLS.index(cell)] for cell in group.split()))
            for group in self.proportion
        )
        return successes, trials


EDGE = 1e-12
"""Largest distance from the boundary at which an estimate counts as on it."""

LOSS: dict[str, Any] = {"bounds": (0.0, np.inf), "greater_is_better": False}
SKILL: dict[str, Any] = {"bounds": (-np.inf, 1.0), "greater_is_better": True}
BOUNDED_MEAN: dict[str, Any] = {
    "smooth": True,
    "automatic": ("score", "hall"),
    "automatic_of_contrasts": ("hall",),
}
"""Properties of means of numbers in a finite range, which have a score interval.

The score interval allows for an unseen row with an extreme number, which matters for
few rows. Differences of models are usually small compared with this allowance.
"""
BY_INFLUENCE: dict[str, Any] = {"automatic": ("delta",)} | dict.fromkeys(
    ("smooth", "has_curvature", "blurs"), False
)
"""Properties of estimates with influence values but without a functional."""
