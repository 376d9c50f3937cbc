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
    frequencies: Array
    """Number of rows of each value."""

    def estimate(self, p: Array) -> Array:
        return np.asarray(quantile(self.values, p, 0.5))

    def __call__(self, p: Array) -> Evaluation:
        median = self.estimate(p)
        side = np.sign(self.values - median) / 2
        # As if half of the rows at the median, but for one, were on either side.
        ties = side == 0
        heaviest = (p / self.frequencies)[ties].max(initial=0)
        side /= np.sqrt(max(1 - p[ties].sum() + heaviest, _ROUNDING))
        influence = self._spread * (side - p @ side)
        size = np.maximum(self._spread, median)  # of which a tiny share is rounding
        return Evaluation(median, influence, np.atleast_1d(size))

    @property
    def link(self) -> Link:
        """The scale of F, on which Wald's interval of the median is Woodruff's."""
        with np.errstate(over="ignore"):
            density = np.divide(1.0, self._spread) if self._spread else 0.0
        return Link(
            partial(_share_at, knots=self._knots, neighbours=self._neighbours),
            partial(np.full_like, fill_value=density, dtype=float),
            partial(_quantile_at, knots=self._knots, neighbours=self._neighbours),
        )

    @cached_property
    def _median(self) -> float:
        return quantile(self.values, self.weights, 0.5)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Sorted values and F at them, interpolated between, 1/2 at the median.

        F counts half of the row that it is at. It rises steeply where values repeat, of
        which the lightest row is the first.
        """
        order = np.lexsort((self.weights / self.frequencies, self.values))
        values, mass = self.values[order], self.weights[order] / self.weights.sum()
        row_mass = mass / self.frequencies[order]
        shares = np.cumsum(mass) - row_mass / 2
        shares[np.abs(shares - 0.5) < _ROUNDING] = 0.5
        repeated = np.flatnonzero(self.frequencies[order] > 1)
        of_first_row = (shares - mass + row_mass)[repeated]
        shares = np.insert(shares, repeated, of_first_row)
        values = np.insert(values, repeated, values[repeated])
        place = np.searchsorted(shares, 0.5)
        values = np.insert(values, place, self._median)
        shares = np.insert(shares, place, 0.5)
        ends = values[[0]], values, values[[-1]]
        return np.concatenate(ends), np.concatenate([[0.0], shares, [1.0]])

    @cached_property
    def _neighbours(self) -> tuple[float, float]:
        """Values next to the median; itself where there is none."""
        below = self.values[self.values < self._median]
        above = self.values[self.values > self._median]
        return (
            float(below.max(initial=-np.inf)) if len(below) else self._median,
            float(above.min(initial=np.inf)) if len(above) else self._median,
        )

    @cached_property
    def _spread(self) -> float:
        """Reciprocal of the density at the median; 0 if all values are equal."""
        values, shares = self._knots
        reach = _REACH / np.sqrt(self.frequencies.sum())
        nearest = np.interp(self._neighbours, values, shares)
        low, high = min(0.5 - reach, nearest[0]), max(0.5 + reach, nearest[1])
        ends: Any = np.clip([low, high], shares[1], shares[-2])
        low, high = np.interp(ends, shares, values)
        return float((high - low) / (ends[1] - ends[0])) if high > low else 0.0


def _share_at(
    value: Any, knots: tuple[Array, Array], neighbours: tuple[float, float]
) -> Any:
    """F at a value: where it repeats, the share that is nearest to 1/2.

    It is 1/2 from one neighbour of the median to the other, as every interval holds
    both.
    """
    values, shares = knots
    lowest = -np.interp(-value, -values[::-1], -shares[::-1], left=-1.0, right=0.0)
    highest = np.interp(value, values, shares, left=0.0, right=1.0)
    share = np.clip(0.5, lowest, highest)
    below, above = neighbours
    return np.where((below <= value) & (value <= above), 0.5, share)


def _quantile_at(
    share: Any, knots: tuple[Array, Array], neighbours: tuple[float, float]
) -> Any:
    """Quantile at a share, at least as far from the median as the next value."""
    values, shares = knots
    found = np.interp(share, shares, values, left=0.0, right=np.inf)
    found = np.where(share < 0.5, np.minimum(found, neighbours[0]), found)
    return np.where(share > 0.5, np.maximum(found, neighbours[1]), found)
