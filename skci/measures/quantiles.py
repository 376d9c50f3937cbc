"""Quantiles of values, as functionals of weights on rows.

References
----------
Woodruff, R. S. (1952). Confidence intervals for medians and other position measures.
Journal of the American Statistical Association 47, 635-646.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.functional import Evaluation, Functional
from skci.measures.registry import Link

_ROUNDING = 1e-12  # of a cumulative share
_REACH = 0.98  # 1.96 standard deviations of an indicator of the median, for one row


def quantile(values: Array, weights: Array, level: float) -> float:
    """Weighted quantile: the midpoint of all that satisfy its definition."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    ends = np.searchsorted(share, [level - _ROUNDING, level + _ROUNDING])
    lowest, highest = values[order[np.minimum(ends, len(values) - 1)]]
    return float(lowest + highest) / 2


@dataclass(frozen=True, eq=False)
class Median(Functional):
    """Weighted median of values that are not negative.

    Its influence values are those of the distribution function F at the median, over
    the density there: the slope of F between the ends of an interval as long as the
    95% interval of Woodruff (1952).
    """

    values: Array
    weights: Array

    def estimate(self, p: Array) -> Array:
        return np.asarray(quantile(self.values, p, 0.5))

    def __call__(self, p: Array) -> Evaluation:
        median = self.estimate(p)
        side = np.sign(self.values - median) / 2
        influence = self._spread * (side - p @ side)
        return Evaluation(median, influence, np.array([self._spread]))

    @property
    def link(self) -> Link:
        """The scale of F, on which Wald's interval of the median is Woodruff's."""
        values, shares = self._knots
        density = np.divide(1.0, self._spread) if self._spread else np.inf
        return Link(
            partial(np.interp, xp=values, fp=shares, left=0.0, right=1.0),
            partial(np.full_like, fill_value=density, dtype=float),
            partial(np.interp, xp=shares, fp=values, left=0.0, right=np.inf),
        )

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Distinct values and F at them, interpolated between, 1/2 at the median.

        F counts half of the rows at a value, so that half of them are on either side
        of the interpolated median whatever their number.
        """
        values, inverse = np.unique(self.values, return_inverse=True)
        mass = np.bincount(inverse.ravel(), self.weights) / self.weights.sum()
        shares = np.cumsum(mass) - mass / 2
        median = quantile(self.values, self.weights, 0.5)
        others = values != median
        values, shares = values[others], shares[others]
        place = np.searchsorted(values, median)
        return np.insert(values, place, median), np.insert(shares, place, 0.5)

    @cached_property
    def _spread(self) -> float:
        """Reciprocal of the density at the median; 0 if all values are equal."""
        values, shares = self._knots
        reach = _REACH / np.sqrt(len(self.values))
        ends: Any = np.clip([0.5 - reach, 0.5 + reach], shares[0], shares[-1])
        low, high = np.interp(ends, shares, values)
        return float((high - low) / (ends[1] - ends[0])) if high > low else 0.0
